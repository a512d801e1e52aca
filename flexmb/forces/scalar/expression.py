"""Force laws as formulas: `-k*x - k3*x**3 - c*min(xdot, 0)`."""

import keyword
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.shown import shown
from flexmb.errors import ExpressionError
from flexmb.forces.scalar.functions import array_function, compiled_function, shared_function
from flexmb.forces.scalar.parse import CONSTANTS, Reader
from flexmb.forces.scalar.program import FUNCTIONS, Program

VARIABLES = ("t", "x", "xdot")
"""Time, the coordinate of the element, and its rate."""
SIZES, PLACES = 10.0 ** np.arange(-6, 7), np.outer([1.0, -1.0], [0.9700177, 0.6100133, 0.2700119]).ravel()
"""Sizes of coordinates, in whatever unit, and places relative to each, no round numbers, at which a formula may have a
kink, where stored energies are compared with efforts."""
MISFIT = 2e-3
"""Largest difference between an effort at rest and the derivative of the stored energy, relative to the largest at
coordinates of the same size: constants of formulas are often rounded to three digits."""


@shown
@dataclass(frozen=True, eq=False)
class Expression:
    """A force law given by a formula of `t`, `x`, `xdot` and parameters; `expression` makes it.

    - `text`: the formula. `parameters`: the values of its other names.
    - `stored`: the formula of the energy that the law stores, or None.
    - `program`: the steps of its value; `slopes_program`: those of its derivatives with respect to t, x and xdot, too.
    """

    text: str
    parameters: Mapping[str, float]
    program: Program = field(repr=False)
    slopes_program: Program = field(repr=False)
    stored: "Expression | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, program in (("_value", self.program), ("_slopes", self.slopes_program)):
            object.__setattr__(self, name, array_function(program, VARIABLES, self.parameters))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.text, dict(self.parameters), None if self.stored is None else self.stored.text)

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {value:g}" for name, value in self.parameters.items())
        return f"{self.text} with {given}" if given else self.text

    def __call__(self, t: float, x: float, xdot: float) -> float:
        """The effort."""
        return float(self._value(t, x, xdot))  # type: ignore[attr-defined]

    def over(self, t: Any, x: Any, xdot: Any) -> Float[np.ndarray, "nt"]:
        """The efforts (nt,) at times `t`, coordinates `x` and rates `xdot`, each (nt,) or a number."""
        shape = np.broadcast_shapes(*(np.shape(a) for a in (t, x, xdot)))
        return np.broadcast_to(self._value(t, x, xdot), shape)  # type: ignore[attr-defined]

    def slopes(self, t: Any, x: Any, xdot: Any) -> Float[np.ndarray, "4 nt"]:
        """The efforts and their derivatives with respect to `t`, `x` and `xdot`, (4, nt)."""
        shape = np.broadcast_shapes(*(np.shape(a) for a in (t, x, xdot)))
        parts = self._slopes(t, x, xdot)  # type: ignore[attr-defined]
        return np.stack([np.broadcast_to(part, shape) for part in parts])

    @property
    def loses(self) -> bool:
        """Whether the effort may exchange more than the energy that the law stores: it depends on the rate or the
        time."""
        return any(step.operation == "name" and step.value in ("t", "xdot") for step in self.program.steps)

    def require_stored(self) -> None:
        """Raise `ExpressionError` where the derivative of the stored energy is not minus the effort at rest.

        Both are compared at coordinates of all sizes, where they are defined; a law whose effort at rest depends on the
        time is not checked.
        """
        if self.stored is None:
            return
        found = _misfit(self.text, self.stored.text, tuple(self.parameters.items()))
        if found is not None:
            x, slope, effort = found
            raise ExpressionError(
                f"Expression {self.text!r}: expected a stored energy whose derivative is minus the effort at rest, "
                f"which is {effort:.6g} at x = {x:g}; found {self.stored.text!r} with the derivative {slope:.6g}. The "
                "stored energy of -k*x is k*x**2/2, that of -k*x**3 k*x**4/4; a law that stores nothing has "
                'stored="0", and one whose stored energy is not known omits stored=.'
            )

    @property
    def compiled(self) -> Any:
        """The function `effort(t, x, xdot)`, compiled by numba; a new one at each access."""
        return compiled_function(self.program, VARIABLES, self.parameters)

    @property
    def shared(self) -> tuple[Any, Sequence[float]]:
        """The compiled function `effort(address, t, x, xdot)` that all formulas of this text share, and the numbers
        that it reads at the address."""
        return shared_function(self.program, VARIABLES, self.parameters)

    @property
    def compiled_slopes(self) -> Any:
        """The function of (t, x, xdot) that returns the effort and its three derivatives, compiled by numba."""
        return compiled_function(self.slopes_program, VARIABLES, self.parameters)


def expression(text: str, /, *, stored: str | None = None, **parameters: float) -> Expression:
    """A force law as a formula of the time `t`, the coordinate `x` of its element, its rate `xdot` and parameters.

        law = flexmb.expression("-k*x - k3*x**3 - c*max(xdot, 0)", k=100.0, k3=2e4, c=5.0)
        system.spring_damper("strut", wheel["hub"], body["top"], law=law)

    The sign is that of all force laws: the effort is positive if it increases `x`, so that a spring is `-k*x`. In a
    `spring_damper` `x` is the stretch beyond the free length and the effort pushes the ends apart; in a `joint_spring`
    and a `motor` it is the angle (radians) or the displacement of the joint, beyond `free`, and the effort acts on the
    second body.

    A formula consists of numbers, `t`, `x`, `xdot`, `pi` and the names of `parameters`; `+ - * / **`;
    `a if condition else b` with conditions of `< <= > >= == !=`, `and`, `or`, `not`; and the functions abs, sign, sqrt,
    exp, log, sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, min and max. Exponents are numbers or
    parameters. It is compiled and costs some nanoseconds a call; the text is never executed. Units: consistent.

    `stored`: the formula of the energy that the law stores, of `x` and some of the parameters, such as `"k*x**2/2"`.
    The ledger then counts what the law takes and does not store as heat; otherwise all that it gives is work. Its
    derivative is minus the effort at `xdot = 0`, which is checked when the law is given to an element.

    Raises `ExpressionError`, which states the column, what was expected and what was found, when the text is anything
    else, when a parameter is not used, not a finite number or has the name of something else.
    """
    values = _checked(parameters)
    program, slopes = _programs(text, tuple(values)) if isinstance(text, str) else _read(text, tuple(values))
    return Expression(text, MappingProxyType(values), program, slopes, _energy(stored, values))


def _energy(text: str | None, values: Mapping[str, float]) -> Expression | None:
    """The formula of a stored energy, a function of `x` alone."""
    if text is None:
        return None
    names = set(re.findall(r"\b[A-Za-z_]\w*", text)) if isinstance(text, str) else set()
    if moving := sorted(names & {"t", "xdot"}):
        raise ExpressionError(
            f"Expression {text!r}: expected a stored energy that depends on x alone; found {moving[0]!r}. What depends "
            "on the rate or the time is no stored energy: omit stored=."
        )
    used = {name: value for name, value in values.items() if name in names}
    return expression(text, stored=None, **used)


@lru_cache(maxsize=256)
def _misfit(text: str, stored: str, parameters: tuple[tuple[str, float], ...]) -> tuple[float, float, float] | None:
    """Where the derivative of a stored energy differs from minus the effort at rest: the coordinate nearest to one, and
    both numbers; None if it does not."""
    law = expression(text, stored=stored, **dict(parameters))
    assert law.stored is not None
    x = np.outer(SIZES, PLACES).ravel()
    effort, later = law.over(0.0, x, 0.0), law.over(1.3, x, 0.0)
    slope = law.stored.slopes(0.0, x, 0.0)[2]
    known = np.isfinite(effort) & np.isfinite(slope)
    if (effort[known] != later[known]).any():
        return None
    both = np.where(known, np.maximum(np.abs(effort), np.abs(slope)), 0.0).reshape(len(SIZES), -1)
    apart = np.where(known, np.abs(np.where(known, effort + slope, 0.0)), 0.0)
    ratio = apart / np.maximum(np.repeat(both.max(axis=1), len(PLACES)), np.finfo(float).tiny)
    wrong = np.flatnonzero(ratio > MISFIT)
    k = min(wrong, key=lambda k: abs(np.log(abs(x[k]))), default=None)
    return None if k is None else (float(x[k]), float(slope[k]) + 0.0, float(effort[k]) + 0.0)


def _again(text: str, parameters: Mapping[str, float], stored: str | None = None) -> Expression:
    return expression(text, stored=stored, **parameters)


def _checked(parameters: Mapping[str, float]) -> dict[str, float]:
    for name, value in parameters.items():
        if not name.isidentifier() or keyword.iskeyword(name) or name in (*VARIABLES, *CONSTANTS, *FUNCTIONS):
            raise ExpressionError(
                f"Expected a parameter with a name of its own; found {name!r}, which "
                + ("is no name" if not name.isidentifier() else "has a meaning in expressions already")
                + "."
            )
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise ExpressionError(f"Parameter {name!r}: expected a finite number; found {value!r}.")
    return {name: float(value) for name, value in parameters.items()}


def _read(text: str, parameters: tuple[str, ...]) -> tuple[Program, Program]:
    """The programs of the value, and of the value and its three derivatives."""
    reader = Reader(text, VARIABLES, parameters)
    value = reader.read()
    if unused := [name for name in parameters if name not in reader.used]:
        names = ", ".join(sorted(reader.used - set(VARIABLES))) or "no parameter"
        raise ExpressionError(
            f"Expression {text!r}: expected parameters that it contains ({names}); found {unused[0]!r}, which it does "
            "not contain."
        )
    formula = reader.formula
    try:
        slopes = [formula.slope(value, name) for name in VARIABLES]
    except (ArithmeticError, ValueError) as error:
        raise ExpressionError(f"Expression {text!r}: its derivative is not a finite number ({error}).") from None
    return formula.program(value), formula.program(value, *slopes)


_programs = lru_cache(maxsize=256)(_read)

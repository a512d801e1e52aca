"""Laws of controllers: commands as functions of time, inputs and own states, and their calls from compiled code."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from jaxtyping import Float

from flexmb.errors import LawError
from flexmb.kernels.base.frame_call import ENTRY, SIZES, compiled_law, control_call
from flexmb.kernels.base.law_call import repeated_law
from flexmb.kernels.base.library import law_key, library_call
from flexmb.kernels.equations.controllers import pass_on
from flexmb.mechanism.laws.array_call import ArrayCall, first
from flexmb.mechanism.laws.binding import (
    given,
    home_of,
    initial_of,
    law_named,
    names_of,
    numbers_of,
    require_different,
    state_names,
)
from flexmb.mechanism.laws.compilation import cause_of

ARGUMENTS = ("t", "inputs", "states", "parameters", "commands", "rates")


@dataclass(frozen=True, eq=False)
class ControlLaw:
    """The law of a controller; made by the decorator `flexmb.control_law`.

    `function(t, inputs, states, parameters, commands, rates)` writes the `commands` (nu,) and the rates (nz,) of the
    states; with a sample time it writes, in place of the rates, the states after the sample. `inputs` (ni,), `states`
    (nz,) and `parameters` (np,) must not be changed.

    - `inputs`: names of the inputs; those in `constants` have this value where nothing is connected to them.
    - `advice`: what to do where an input is not connected, for errors.

    Call the law with values of its `parameters`, by name, to bind them: `law(gain=3.0, sample_time=0.01)`.
    """

    function: Any
    name: str
    inputs: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    constants: Mapping[str, float] = field(default_factory=dict)
    defaults: Mapping[str, float] = field(default_factory=dict)
    sampled: bool | None = None
    advice: str = ""

    def __call__(
        self,
        *,
        initial: Sequence[float] | Mapping[str, float] | None = None,
        sample_time: float | None = None,
        **values: float,
    ) -> "BoundController":
        """The law with values of its parameters, and initial values of its states (default: zeros).

        With a `sample_time`, the law is evaluated at its multiples, and its commands are held in between; otherwise it
        is continuous.

        Raises `LawError` when a parameter or state is missing, unknown or not a finite number, or when the sample time
        is not positive, or does not fit the law.
        """
        numbers = tuple(numbers_of(self.name, self.parameters, self.defaults, values).values())
        return BoundController(self, numbers, initial_of(self.name, self.states, initial), self._checked(sample_time))

    def _checked(self, sample_time: float | None) -> float | None:
        if sample_time is not None and not (
            isinstance(sample_time, float | int | np.number) and np.isfinite(sample_time) and sample_time > 0
        ):
            raise LawError(f"The sample time of the law {self.name!r} must be positive; found {sample_time!r}.")
        if self.sampled and sample_time is None:
            raise LawError(f"The law {self.name!r} returns states after a sample: give it a sample_time.")
        if self.sampled is False and sample_time is not None:
            raise LawError(
                f"The law {self.name!r} returns rates of its states and is continuous; found sample_time={sample_time}."
                " A sampled law returns the states after a sample (updates=True)."
            )
        return None if sample_time is None else float(sample_time)

    @property
    def entry(self) -> Any:
        """The compiled call of the law; None for a function that only Python can call, and for all that the library
        lacks in runs without compilation.

        Raises `LawError` when a function of `numba.njit` cannot be compiled for these arguments.
        """
        try:
            return _compiled(self.function)
        except numba.core.errors.NumbaError as error:
            if hasattr(self.function, "py_func"):
                raise LawError(f"The law {self.name!r} cannot be compiled: {cause_of(error)}") from None
            return None

    def __reduce__(self) -> tuple[Any, ...]:
        home = home_of(self)
        if home is not None:
            return law_named, home
        return ControlLaw, tuple(getattr(self, f.name) for f in fields(self))

    def __str__(self) -> str:
        states = f", states {', '.join(self.states)}" if self.states else ""
        return (
            f"law {self.name!r}: {', '.join(self.commands)} from {', '.join(self.inputs) or 'no inputs'}; parameters "
            f"{', '.join(self.parameters) or 'none'}{states}"
        )


class ColumnTitle(NamedTuple):
    """The `title` of the column of a file from which the values of an input or command come, the name of the file in
    messages (`source`), and the factor of the column, None for an input."""

    title: str
    source: str
    scale: float | None = None


@dataclass(frozen=True, eq=False)
class BoundController:
    """The law of a controller with values of its parameters (np,), initial states (nz,) and its sample time (None for
    a continuous controller).

    `titles`: those of the columns of a file, by input or command, whose units are those of what they are connected to.
    """

    law: ControlLaw
    parameters: tuple[float, ...]
    initial: tuple[float, ...]
    sample_time: float | None = None
    titles: Mapping[str, ColumnTitle] = field(default_factory=dict)

    def __str__(self) -> str:
        how = "continuous" if self.sample_time is None else f"sampled every {self.sample_time:.6g}"
        return f"{self.law}; {how}"


def control_law(
    function: Any = None,
    *,
    inputs: Sequence[str] | Mapping[str, float | None],
    commands: Sequence[str],
    states: int | Sequence[str] = (),
    parameters: Sequence[str] | Mapping[str, float | None] = (),
    updates: bool = False,
    name: str | None = None,
) -> Any:
    """Decorator that makes the law of a controller of a function; see `ControlLaw`.

        @flexmb.control_law(inputs=("angle", "rate"), commands=("torque",), parameters=("k", "c"))
        def hold(t, inputs, states, parameters, commands, rates):
            k, c = parameters
            commands[0] = -k * inputs[0] - c * inputs[1]

    - `inputs`: names of the inputs, or a mapping with the values of those that may remain unconnected (None: must be
      connected).
    - `commands`: names of the commands.
    - `states`: names of the states, or their number.
    - `parameters`: names of the parameters, or a mapping with default values (None: no default).
    - `updates`: the function writes the states after a sample instead of their rates; the law needs a sample time.

    The function is compiled with numba; if that is impossible, it is called in Python, which takes some microseconds.
    A law without states may be continuous or sampled.

    Raises `LawError` when the function does not have the six arguments, or names are missing or repeated.
    """

    def keep(function: Any) -> ControlLaw:
        title = str(name or getattr(function, "__name__", "law"))
        found = (
            tuple(inspect.signature(getattr(function, "py_func", function)).parameters) if callable(function) else ()
        )
        if len(found) != len(ARGUMENTS):
            raise LawError(
                f"The law of a controller is a function of {', '.join(ARGUMENTS)}; {title!r} has "
                f"{', '.join(found) or 'no arguments'}."
            )
        own = state_names(states)
        entries = {"inputs": inputs, "commands": commands, "parameters": parameters}
        named = {what: names_of(names) for what, names in entries.items()} | {"states": own}
        require_different(title, named)
        if not named["commands"]:
            raise LawError(f"The law {title!r} has no commands, so that it has no effect.")
        return ControlLaw(
            function,
            title,
            named["inputs"],
            named["commands"],
            named["states"],
            named["parameters"],
            given(inputs),
            given(parameters),
            updates if own else None,
        )

    return keep if function is None else keep(function)


def passing(inputs: tuple[str, ...], constants: Mapping[str, float]) -> ControlLaw:
    """The law of a controller whose commands are its `inputs`; see `flexmb.law`."""
    return ControlLaw(pass_on, "inputs", inputs, inputs, constants=constants)


class ControlCall(ArrayCall):
    """The call of a control law by a controller."""

    law: ControlLaw

    def __init__(self, law: ControlLaw, name: str) -> None:
        super().__init__(law, name, 1 + len(law.inputs) + len(law.states))
        self._parameters = np.zeros(0)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of inputs, states, commands and parameters."""
        law = self.law
        return len(law.inputs), len(law.states), len(law.commands), len(law.parameters)

    def __call__(self, record: int, t: float, inputs: Any, states: Any, parameters: Any, out: Any) -> None:
        """The call by compiled code, with the arguments of `ENTRY`; the sizes precede the parameters."""
        ni, nz, nu, count = self.sizes
        own = first(parameters, SIZES + count)[SIZES:]
        self.evaluate(t, first(inputs, ni), first(states, nz), own, first(out, nu + nz))

    def evaluate(self, t: float, inputs: Any, states: Any, parameters: Any, out: Any, function: Any = None) -> None:
        """Evaluate the law, or another `function` of it, in Python; `out` (nu + nz,) receives the commands, and the
        rates or new states."""
        self._parameters, nu = parameters, len(self.law.commands)
        given = [np.array(x) for x in (inputs, states, parameters)]
        for x in given:
            x.flags.writeable = False

        def evaluate() -> None:
            (function or self.law.function)(t, *given, out[:nu], out[nu:])

        def where() -> str:
            return self._where(t, inputs, states)

        sound = bool(np.isfinite(inputs).all())
        if not self._attempt(evaluate, out, sound, where):
            return
        if not np.isfinite(out).all() and sound and np.isfinite(states).all():
            law = self.law
            wrong = [n for n, x in zip((*law.commands, *law.states), out, strict=True) if not np.isfinite(x)]
            self._failure = LawError(
                f"The law of {self.name!r} returned values of {', '.join(map(repr, wrong))} that are not finite, "
                f"{out.tolist()}, at {where()}."
            )
            out[:] = np.nan

    def over(
        self,
        times: Float[np.ndarray, "n"],
        inputs: Float[np.ndarray, "ni"],
        states: Float[np.ndarray, "nz"],
        parameters: Float[np.ndarray, "np"],
    ) -> Float[np.ndarray, "n nu+nz"]:
        """The commands, and the rates of the states or new states, at `times`, with fixed inputs and states, by calls
        from Python.

        Raises `LawError` on failure.
        """
        count = len(self.law.commands) + len(states)
        return self.answers(times, count, lambda t, out: self.evaluate(t, inputs, states, parameters, out))

    def _where(self, t: float, inputs: np.ndarray, states: np.ndarray) -> str:
        seen = [f"{n} = {x:.6g}" for n, x in zip((*self.law.inputs, *self.law.states), (*inputs, *states), strict=True)]
        return ", ".join([f"t = {t:.6g}", *seen])

    def bind(self, parameters: Sequence[float]) -> None:
        """Set the parameters of the evaluation that is repeated after a failure of compiled code."""
        self._parameters = np.array(parameters, dtype=float)

    def _repeat(self, arguments: np.ndarray) -> None:
        ni, nz, nu, _ = self.sizes
        inputs, states = np.split(arguments[1:], [ni])
        repeated = repeated_law(self.law.function)
        self.evaluate(float(arguments[0]), inputs, states, self._parameters, np.zeros(nu + nz), repeated)


@cache
def _compiled(function: Any) -> Any:
    """The compiled call of `function` for any numbers of inputs and states: that of the library, or by numba."""
    known = library_call(law_key(function))
    if known or numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return known
    return numba.cfunc(ENTRY)(control_call(compiled_law(function)))

"""Frame laws: forces and moments between two frames as functions of their relative motion and of own states."""

import ctypes
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numba
import numpy as np
from jaxtyping import Float

from fem.errors import unknown_name
from flexmb.contact.shapes import Meshes
from flexmb.errors import LawError
from flexmb.kernels.base.frame_call import ENTRY, Relative, compiled_law, frame_call, tangent_call
from flexmb.kernels.base.law_call import repeated_law
from flexmb.kernels.base.library import law_key, library_call
from flexmb.mechanism.laws.array_call import POINTER, ArrayCall, first
from flexmb.mechanism.laws.binding import (
    given,
    home_of,
    initial_of,
    law_named,
    names_of,
    numbers_of,
    require_different,
    signature_of,
    state_names,
)
from flexmb.mechanism.laws.compilation import cause_of
from flexmb.mechanism.laws.tangents import require_tangent, seems_right

MOST_COMPARED = 10
"""Number of different parameters of a law for which its tangent is compared with differences."""
MOST_NAMES = 20
"""Number of parameters that the text of a law names."""


def _names(function: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(getattr(function, "py_func", function)).parameters)


@dataclass(frozen=True, eq=False, repr=False)
class FrameLaw:
    """A force law between two frames; made by the decorator `flexmb.law`.

    `function(t, relative, states, parameters, wrench, rates)` writes the force `wrench[:3]` and the moment `wrench[3:]`
    on frame `b`, at its origin and in axes of frame `a`, and the rates of the states, or with `updates` the states at
    the end of the step. It may return the energy that the element stores; what the element takes from the bodies and
    does not store is then heat in the ledger, and otherwise all that it gives is work. `relative` is a `Relative`;
    `states` (ns,) and `parameters` (np,) must not be changed.

    `floors` names, for states, the parameters that are the lowest values at which the law holds, and `below` tells what
    happens there and what to do; a motion with lower states ends with a `LawRangeWarning`. `limits` names, for states,
    a parameter and a factor: their product is the largest magnitude at which the law holds, and `beyond` tells the
    same.

    `tangent(t, relative, states, parameters, stiffness, damping)`, of a law without states, adds the derivatives to the
    matrices `stiffness` (6, 6) and `damping` (6, 6), which are zero: minus those of the wrench with respect to the
    displacement and a small rotation of frame `b`, and with respect to `v` and `omega`, all in axes of frame `a`.

    A law with `inputs` is `function(t, relative, inputs, states, parameters, wrench, rates)`; its elements connect the
    inputs (ni,) to measures, functions of time or numbers. Those in `constants` have this value where nothing is
    connected to them.

    With `axle`, y of frame `b` is the axle of a wheel; see `System.force`.

    `repeated` is a function in Python, of the arguments of `function`, that raises the errors by which `function`
    usually fails. It repeats a failed call of compiled code without a compilation; where it finds nothing, `function`
    does.

    Call the law with values of its `parameters`, by name, to bind them: `law(stiffness=1e6)`. `help(law)` tells what
    its function does, its parameters, inputs and states.
    """

    function: Any
    name: str
    states: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    defaults: Mapping[str, float] = field(default_factory=dict)
    updates: bool = False
    positive: tuple[str, ...] = ()
    non_negative: tuple[str, ...] = ()
    increasing: tuple[str, ...] = ()
    floors: Mapping[str, str] = field(default_factory=dict)
    below: str = ""
    limits: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    beyond: str = ""
    tangent: Any = None
    inputs: tuple[str, ...] = ()
    constants: Mapping[str, float] = field(default_factory=dict)
    axle: bool = False
    repeated: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self._text())
        object.__setattr__(self, "__signature__", signature_of(self.parameters, self.defaults))

    def _text(self) -> str:
        """What the function does, with the names of its parameters, inputs and states."""
        names = []
        for name in self.parameters:
            range_ = "positive" if name in self.positive else "zero or positive" if name in self.non_negative else ""
            value = f"{self.defaults[name]:g}" if name in self.defaults else ""
            known = ", ".join(filter(None, (range_, value and f"default {value}")))
            names.append(f"`{name}` ({known})" if known else f"`{name}`")
        lists = {
            "Parameters": names,
            "Inputs, which `System.force(..., inputs={...})` connects": [f"`{name}`" for name in self.inputs],
            "States, whose values at the start `initial={...}` gives": [f"`{name}`" for name in self.states],
        }
        told = [f"{title}: {', '.join(x)}." for title, x in lists.items() if x]
        about = inspect.getdoc(getattr(self.function, "py_func", self.function)) or str(self)
        return "\n\n".join([about, *(textwrap.fill(line, 116, break_on_hyphens=False) for line in told)])

    def __call__(self, *, initial: Sequence[float] | Mapping[str, float] | None = None, **values: float) -> "BoundLaw":
        """The law with values of its parameters, and initial values of its states (default: zeros).

        Raises `LawError` when a parameter or state is missing, unknown or not a finite number, or a parameter is
        outside of its range or above one that it must not exceed.
        """
        numbers = numbers_of(self.name, self.parameters, self.defaults, values)
        for name, number in numbers.items():
            if (name in self.positive and not number > 0) or (name in self.non_negative and number < 0):
                expected = "positive" if name in self.positive else "zero or positive"
                what = f"The parameter {name!r} of the law {self.name!r}"
                raise LawError(f"{what} must be {expected}; found {values.get(name, number)!r}.")
        for low, high in pairwise(self.increasing):
            if numbers[low] > numbers[high]:
                raise LawError(
                    f"The parameter {low!r} of the law {self.name!r} must not be above {high!r}; found "
                    f"{numbers[low]:g} and {numbers[high]:g}."
                )
        begin = initial_of(self.name, self.states, initial)
        return BoundLaw(self, tuple(numbers.values()), begin)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of states and parameters, and of inputs if there are any."""
        return len(self.states), len(self.parameters), *([len(self.inputs)] if self.inputs else [])

    @cached_property
    def entry(self) -> Any:
        """The compiled call of the law, which all its elements share; None for a function that only Python can call,
        and for all that the library lacks in runs without compilation.

        Raises `LawError` when a function of `numba.njit` cannot be compiled for these arguments.
        """
        function, sizes = self.function, self.sizes
        if known := library_call(law_key(function, *sizes)):
            return known
        if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
            return None
        try:
            return numba.cfunc(ENTRY)(frame_call(compiled_law(function), *sizes))
        except numba.core.errors.NumbaError as error:
            if hasattr(function, "py_func"):
                raise LawError(f"The law {self.name!r} cannot be compiled: {cause_of(error)}") from None
            return None

    @cached_property
    def tangent_entry(self) -> Any:
        """The compiled call of the tangent; None for a law without one, and in runs without compilation.

        Raises `LawError` when the tangent cannot be compiled.
        """
        if self.tangent is None or numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
            return None
        count = len(self.parameters)
        if known := library_call(law_key(self.tangent, count)):
            return known
        try:
            return numba.cfunc(ENTRY)(tangent_call(compiled_law(self.tangent), count))
        except numba.core.errors.NumbaError as error:
            raise LawError(f"The tangent of the law {self.name!r} cannot be compiled: {cause_of(error)}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        home = home_of(self)
        if home is not None:
            return law_named, home
        return FrameLaw, tuple(getattr(self, f.name) for f in fields(self))

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        named = ", ".join(self.parameters[:MOST_NAMES]) or "no parameters"
        if (more := len(self.parameters) - MOST_NAMES) > 0:
            named += f" and {more} more"
        own = {"inputs": self.inputs, "states": self.states}
        return f"law {self.name!r} of {named}" + "".join(f" with {k} {', '.join(x)}" for k, x in own.items() if x)


@dataclass(frozen=True, eq=False)
class BoundLaw:
    """A frame law with values of its parameters (np,) and initial states (ns,); `meshes` as in `FrameForce`."""

    law: FrameLaw
    parameters: tuple[float, ...]
    initial: tuple[float, ...]
    meshes: Meshes = field(default_factory=dict)


def law(
    function: Any = None,
    *,
    states: int | Sequence[str] = (),
    parameters: Sequence[str] | Mapping[str, float | None] = (),
    inputs: Sequence[str] | Mapping[str, float | None] = (),
    updates: bool = False,
    positive: Sequence[str] = (),
    non_negative: Sequence[str] = (),
    increasing: Sequence[str] = (),
    floors: Mapping[str, str] | None = None,
    below: str = "",
    limits: Mapping[str, tuple[str, float]] | None = None,
    beyond: str = "",
    tangent: Any = None,
    axle: bool = False,
    name: str | None = None,
) -> Any:
    """Decorator that makes a force law between two frames of a function; see `FrameLaw`.

        @flexmb.law(parameters={"stiffness": None, "damping": 0.0})
        def strut(t, relative, states, parameters, wrench, rates):
            k, c = parameters
            for i in range(3):
                wrench[i] = -k * relative.d[i] - c * relative.v[i]
            return 0.5 * k * (relative.d @ relative.d)

    - `states`: names of the states, or their number. States are local to each element: they change in the step in which
      the law is evaluated (order 2), and are accepted with it.
    - `parameters`: names of the parameters, or a mapping with default values (None: no default).
    - `inputs`: names of the inputs, or a mapping with the values of those that may remain unconnected (None: must be
      connected). The function then has the argument `inputs` after `relative`; `System.force(..., inputs=...)` connects
      them to measures of the mechanism, functions of time, numbers or commands of controllers.
    - `updates`: the function writes the states at the end of the step, computed from those at its beginning, instead of
      their rates: for plasticity and other laws without a rate.
    - `positive`, `non_negative`: names of the parameters that must be positive, or at least zero; `increasing`: names
      of parameters none of which may be above the next one.
    - `floors`: for states, the names of the parameters that are the lowest values at which the law holds; `below`: a
      sentence on what happens there and what to do, which ends the warning of a motion with lower states.
    - `limits`: for states, the name of a parameter and a factor, whose product is the largest magnitude at which the
      law holds; `beyond`: such a sentence.
    - `tangent`: a function of `(t, relative, states, parameters, stiffness, damping)` that writes minus the derivatives
      of the wrench with respect to the displacement and a small rotation of `b` to `stiffness` (6, 6), and with respect
      to `v` and `omega` to `damping` (6, 6), all in axes of `a`. The iterations of implicit methods and the direct and
      adjoint derivatives then use it in place of differences, which evaluate the law six times. It is compared with
      differences where a mechanism first uses it. Not for laws with states or inputs.
    - `axle`: the y axis of frame `b` is the axle of a wheel, so that it must be an axis about which the body of `b`
      turns, if joints give it any.

    The function is compiled with numba; if that is impossible, it is called in Python, which takes some microseconds.

    Raises `LawError` when a function does not have these arguments, names are repeated or unknown, or a law with states
    or inputs has a tangent.
    """

    def keep(function: Any) -> FrameLaw:
        title = str(name or getattr(function, "__name__", "law"))
        read = names_of(inputs)
        expected = ("t", "relative", *(["inputs"] if read else []), "states", "parameters", "wrench", "rates")
        if not callable(function) or len(_names(function)) != len(expected):
            raise LawError(
                f"A law is a function of {', '.join(expected)}; {title!r} has "
                f"{', '.join(_names(function)) if callable(function) else 'no arguments'}."
            )
        own, named = state_names(states), names_of(parameters)
        require_different(title, {"inputs": read, "states": own, "parameters": named})
        for entry in (*(floors or {}), *(limits or {})):
            if entry not in own:
                raise LawError(unknown_name(f"state of the law {title!r}", entry, own))
        for entry in (
            *positive,
            *non_negative,
            *increasing,
            *(floors or {}).values(),
            *(which for which, _ in (limits or {}).values()),
        ):
            if entry not in named:
                raise LawError(unknown_name(f"parameter of the law {title!r}", entry, named))
        if tangent is not None and (own or read or not callable(tangent) or len(_names(tangent)) != 6):
            which, names = ("states", own) if own else ("inputs", read)
            remedy = f" and the {which} {', '.join(names)}. Omit it: differences follow the {which}" if names else ""
            raise LawError(
                f"The tangent of the law {title!r} is a function of t, relative, states, parameters, stiffness, damping"
                f" of a law without states and inputs; found {tangent!r}{remedy}."
            )
        signs = tuple(positive), tuple(non_negative), tuple(increasing)
        return FrameLaw(
            function, title, own, named, given(parameters), updates, *signs, dict(floors or {}), below,
            dict(limits or {}), beyond, tangent, read, given(inputs), axle,
        )  # fmt: skip

    return keep if function is None else keep(function)


_COMPARED: WeakKeyDictionary[FrameLaw, set[tuple[float, ...]]] = WeakKeyDictionary()
"""The parameters of laws whose tangents have been compared with differences."""


class FrameLawCall(ArrayCall):
    """The call of a frame law by an element. Elements of one law share its compiled code.

    `failed_rates` (6,): the relative velocity and angular velocity at a failure.
    """

    law: FrameLaw

    def __init__(self, law: FrameLaw, element: str) -> None:
        super().__init__(law, element, 1 + 18 + len(law.inputs) + len(law.states) + len(law.parameters))
        self.failed_rates = np.zeros(6)

    def __call__(self, record: int, t: float, seen: Any, states: Any, parameters: Any, out: Any) -> None:
        """The call by compiled code, with the arguments of `ENTRY`."""
        self.evaluate(t, seen, states, parameters, out)

    @property
    def seen(self) -> int:
        """Number of what the law sees: the relative motion (18) and its inputs."""
        return 18 + len(self.law.inputs)

    def evaluate(self, t: float, seen: Any, states: Any, parameters: Any, out: Any, function: Any = None) -> None:
        """Evaluate the law, or another `function` of it, in Python; `out` (7 + ns,) receives the wrench, the energy
        (NaN if the law does not tell it) and rates or new states."""
        motion, z, p, answer = map(
            first, (seen, states, parameters, out), (self.seen, *self.law.sizes[:2], 7 + len(self.law.states))
        )
        for argument in (motion, z, p):
            argument.flags.writeable = False
        read = [motion[18:]] if self.law.inputs else []

        energy: Any = None

        def evaluate() -> None:
            nonlocal energy
            energy = (function or self.law.function)(t, _relative(motion), *read, z, p, answer[:6], answer[7:])
            answer[6] = 0.0 if energy is None else energy

        def where() -> str:
            return self._where(t, motion, z)

        sound, before = bool(np.isfinite(motion).all()), self._failure
        if not self._attempt(evaluate, answer, sound, where):
            if self._failure is not before:
                self.failed_rates = motion[12:18].copy()
            return
        if not np.isfinite(answer).all() and sound and np.isfinite(z).all():
            self._failure = LawError(
                f"The law of {self.name!r} returned {answer.tolist()} (force, moment, energy, states) at "
                f"{where()}. Not finite: {', '.join(self._wrong(answer))}."
            )
            self.failed_rates = motion[12:18].copy()
            answer[:] = np.nan
        if energy is None:
            answer[6] = np.nan

    def _wrong(self, answer: np.ndarray) -> list[str]:
        """The names of the entries of an answer that are not finite."""
        parts = [f"{kind} {axis}" for kind in ("force", "moment") for axis in "xyz"]
        what = "" if self.law.updates else "the rate of "
        names = [*parts, "the energy", *(f"{what}{state!r}" for state in self.law.states)]
        return [name for name, value in zip(names, answer, strict=True) if not np.isfinite(value)]

    def answer(self, t: float, seen: np.ndarray, states: np.ndarray, parameters: np.ndarray, out: np.ndarray) -> None:
        """As `evaluate`, but a function of `numba.njit` by its compiled call, as in a simulation: numba would compile
        it for calls from Python again. The arrays are contiguous."""
        if hasattr(self.law.function, "py_func"):
            arrays = (x.ctypes.data_as(POINTER) for x in (seen, states, parameters, out))
            self.law.entry.ctypes(self.record, t, *arrays)
        else:
            self.evaluate(t, seen, states, parameters, out)

    def _where(self, t: float, motion: np.ndarray, z: np.ndarray) -> str:
        own = "".join(f", {name} = {x:.6g}" for name, x in zip(self.law.inputs, motion[18:], strict=True))
        own += f", states {z.tolist()}" if len(z) else ""
        return f"t = {t:.6g}, d = {motion[:3].tolist()}, v = {motion[12:15].tolist()}{own}"

    def _repeat(self, arguments: np.ndarray) -> None:
        ns = len(self.law.states)
        motion, z, p = np.split(arguments[1:], [self.seen, self.seen + ns])
        if self.law.repeated is not None:
            self.evaluate(float(arguments[0]), motion, z, p, np.zeros(7 + ns), self.law.repeated)
        if self._failure is None and self.stopped is None:
            self.evaluate(float(arguments[0]), motion, z, p, np.zeros(7 + ns), repeated_law(self.law.function))
        if self._failure is None and self.stopped is None and self.law.tangent is not None:
            try:
                self.sound_tangent(float(arguments[0]), motion, p)
            except LawError as error:
                self._failure = error

    def sound_tangent(
        self, t: float, seen: Float[np.ndarray, "18"], parameters: Float[np.ndarray, "np"]
    ) -> Float[np.ndarray, "2 6 6"]:
        """`tangent(t, seen, parameters)`. Raises `LawError` when it fails at a motion of finite numbers."""
        try:
            found = self.tangent(t, seen, parameters)
            if np.isfinite(found).all() or not np.isfinite(seen).all():
                return found
            problem = "returned numbers that are not finite"
        except Exception as error:
            problem = f"failed with {type(error).__name__}: {str(error).rstrip('.')}"
        raise LawError(f"The tangent of the law of {self.name!r} {problem}, at {self._where(t, seen, np.zeros(0))}.")

    def require_tangent(self, t: float, seen: np.ndarray, parameters: np.ndarray, scales: tuple[float, float]) -> None:
        """`compare_tangent`, once for equal `parameters`."""
        known = _COMPARED.setdefault(self.law, set())
        if self.law.tangent is None or tuple(parameters) in known or len(known) >= MOST_COMPARED:
            return
        self.compare_tangent(t, seen, parameters, scales, briefly=False)
        known.add(tuple(parameters))

    def compare_tangent(
        self,
        t: float,
        seen: np.ndarray,
        parameters: np.ndarray,
        scales: tuple[float, float],
        *,
        briefly: bool = True,
    ) -> None:
        """Compare the tangent of the law with differences near the relative motion `seen` (18,); `scales` are a length
        and a rate. `briefly`: at `seen` only, unless it seems wrong there. Raises `LawError` when it is wrong."""

        def wrench(motion: np.ndarray) -> np.ndarray:
            out, function = np.zeros(7), self.law.function
            self.evaluate(t, motion.copy(), np.zeros(0), parameters, out, getattr(function, "py_func", function))
            return out[:6]

        def given(motion: np.ndarray) -> np.ndarray:
            return self.sound_tangent(t, motion, parameters)

        try:
            if not (briefly and seems_right(wrench, given, seen, *scales)):
                require_tangent(f"The law {self.law.name!r} of {self.name!r}", wrench, given, seen, *scales)
        finally:
            self.forget()

    def tangent(
        self, t: float, seen: Float[np.ndarray, "18"], parameters: Float[np.ndarray, "np"]
    ) -> Float[np.ndarray, "2 6 6"]:
        """The stiffness and the damping that the tangent of the law gives for a relative motion."""
        found, function = np.zeros((2, 6, 6)), self.law.tangent
        getattr(function, "py_func", function)(t, _relative(seen), np.zeros(0), parameters, found[0], found[1])
        return found

    def over(
        self,
        times: Float[np.ndarray, "n"],
        seen: Float[np.ndarray, "18+ni"],
        states: Float[np.ndarray, "ns"],
        parameters: Float[np.ndarray, "np"],
    ) -> Float[np.ndarray, "n 6+ns"]:
        """Force and moment, and the rates of the states or new states, at `times`, at one relative motion and with
        fixed inputs and states, by calls from Python.

        Raises `LawError` on failure.
        """
        found = self.answers(times, 7 + len(states), lambda t, out: self.evaluate(t, seen, states, parameters, out))
        return np.delete(found, 6, axis=1)

    @property
    def tangent_address(self) -> int:
        """Address of the tangent for compiled code; 0 for a law without one, and in runs without compilation."""
        if self.law.tangent_entry is None:
            return 0
        return ctypes.cast(self.law.tangent_entry.ctypes, ctypes.c_void_p).value or 0


def _relative(motion: Float[np.ndarray, "18"]) -> Relative:
    return Relative(motion[:3], motion[3:12].reshape(3, 3), motion[12:15], motion[15:18])

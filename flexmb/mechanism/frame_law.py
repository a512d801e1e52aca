"""Frame laws: forces and moments between two frames as functions of their relative motion and of own states."""

import ctypes
import importlib
import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
from jaxtyping import Float

from fem.errors import unknown_name
from flexmb.contact.shapes import Meshes
from flexmb.errors import LawError
from flexmb.kernels.base.frame_call import ENTRY, Relative, compiled_law, frame_call
from flexmb.kernels.base.law_call import LawCall, repeated_law
from flexmb.kernels.base.library import library_law

MOST_NAMES = 20
"""Number of parameters that the text of a law names."""
POINTER = ctypes.POINTER(ctypes.c_double)


class LibraryLaw(NamedTuple):
    """The compiled call of a law of the library of the package; `ctypes` as that of numba's functions."""

    ctypes: Any


def _names(function: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(getattr(function, "py_func", function)).parameters)


@dataclass(frozen=True, eq=False)
class FrameLaw:
    """A force law between two frames; made by the decorator `flexmb.law`.

    `function(t, relative, states, parameters, wrench, rates)` writes the force `wrench[:3]` and the moment `wrench[3:]`
    on frame `b`, at its origin and in axes of frame `a`, and the rates of the states, or with `updates` the states at
    the end of the step. It may return the energy that the element stores; what the element takes from the bodies and
    does not store is then heat in the ledger, and otherwise all that it gives is work. `relative` is a `Relative`;
    `states` (ns,) and `parameters` (np,) must not be changed.

    `floors` names, for states, the parameters that are the lowest values at which the law holds, and `below` tells what
    happens there and what to do; a motion with lower states ends with a `LawRangeWarning`. `library` is the name of the
    law among those that are compiled with the package (`flexmb.kernels.calls.LAWS`), for which numba is not needed.

    Call the law with values of its `parameters`, by name, to bind them: `law(stiffness=1e6)`.
    """

    function: Any
    name: str
    states: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    defaults: Mapping[str, float] = field(default_factory=dict)
    updates: bool = False
    positive: tuple[str, ...] = ()
    non_negative: tuple[str, ...] = ()
    floors: Mapping[str, str] = field(default_factory=dict)
    below: str = ""
    library: str = ""

    def __call__(self, *, initial: Sequence[float] | Mapping[str, float] | None = None, **values: float) -> "BoundLaw":
        """The law with values of its parameters, and initial values of its states (default: zeros).

        Raises `LawError` when a parameter or state is missing, unknown or not a finite number, or a parameter is
        outside of its range.
        """
        for name in values:
            if name not in self.parameters:
                raise LawError(unknown_name(f"parameter of the law {self.name!r}", name, self.parameters))
        given = {**self.defaults, **values}
        if missing := [name for name in self.parameters if name not in given]:
            raise LawError(f"The law {self.name!r} needs values of {', '.join(map(repr, missing))}.")
        numbers = tuple(self._number(name, given[name]) for name in self.parameters)
        start = dict.fromkeys(self.states, 0.0)
        if isinstance(initial, Mapping):
            for name in initial:
                if name not in start:
                    raise LawError(unknown_name(f"state of the law {self.name!r}", name, self.states))
            start |= dict(initial)
        elif initial is not None:
            if len(initial) != len(start):
                raise LawError(f"The law {self.name!r} has {len(start)} states; found {len(initial)} initial values.")
            start = dict(zip(self.states, initial, strict=True))
        begin = tuple(_finite(x, f"the initial value of {n!r} of the law {self.name!r}") for n, x in start.items())
        return BoundLaw(self, numbers, begin)

    def _number(self, name: str, value: Any) -> float:
        """The value of a parameter."""
        what = f"{name} of the law {self.name!r}"
        number = _finite(value, what)
        if (name in self.positive and not number > 0) or (name in self.non_negative and number < 0):
            expected = "positive" if name in self.positive else "zero or positive"
            raise LawError(f"{what[0].upper()}{what[1:]} must be {expected}; found {value!r}.")
        return number

    @cached_property
    def entry(self) -> Any:
        """The compiled call of the law, which all its elements share; None for a function that only Python can call.

        Raises `LawError` when a function of `numba.njit` cannot be compiled for these arguments.
        """
        function, address = self.function, library_law(self.library)
        if address:
            return LibraryLaw(ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_double, *[POINTER] * 4)(address))
        try:
            return numba.cfunc(ENTRY)(frame_call(compiled_law(function), len(self.states), len(self.parameters)))
        except numba.core.errors.NumbaError as error:
            if hasattr(function, "py_func"):
                raise LawError(f"The law {self.name!r} cannot be compiled: {str(error).splitlines()[0]}") from None
            return None

    def __reduce__(self) -> tuple[Any, ...]:
        """Laws of modules travel by their names: the decorator has taken the place of the function there."""
        function = getattr(self.function, "py_func", self.function)
        module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
        if module and _law_named(module, name) is self:
            return _law_named, (module, name)
        return FrameLaw, tuple(getattr(self, f.name) for f in fields(self))

    def __str__(self) -> str:
        named = ", ".join(self.parameters[:MOST_NAMES]) or "no parameters"
        if (more := len(self.parameters) - MOST_NAMES) > 0:
            named += f" and {more} more"
        return f"law {self.name!r} of {named}" + (f" with states {', '.join(self.states)}" if self.states else "")


def _law_named(module: str, name: str) -> Any:
    """The object of this name in a module; None if there is none."""
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


@dataclass(frozen=True, eq=False)
class BoundLaw:
    """A frame law with values of its parameters (np,) and initial states (ns,); `meshes` as in `FrameForce`."""

    law: FrameLaw
    parameters: tuple[float, ...]
    initial: tuple[float, ...]
    meshes: Meshes = field(default_factory=dict)


def _finite(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, bool) or not np.isfinite(number):
        raise LawError(f"{what[0].upper()}{what[1:]} must be a finite number; found {value!r}.")
    return number


def law(
    function: Any = None,
    *,
    states: int | Sequence[str] = (),
    parameters: Sequence[str] | Mapping[str, float | None] = (),
    updates: bool = False,
    positive: Sequence[str] = (),
    non_negative: Sequence[str] = (),
    floors: Mapping[str, str] | None = None,
    below: str = "",
    name: str | None = None,
    library: str = "",
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
    - `updates`: the function writes the states at the end of the step, computed from those at its beginning, instead of
      their rates: for plasticity and other laws without a rate.
    - `positive`, `non_negative`: names of the parameters that must be positive, or at least zero.
    - `floors`: for states, the names of the parameters that are the lowest values at which the law holds; `below`: a
      sentence on what happens there and what to do, which ends the warning of a motion with lower states.

    The function is compiled with numba; if that is impossible, it is called in Python, which takes some microseconds.

    Raises `LawError` when the function does not have the six arguments, or names are repeated or unknown.
    """

    def keep(function: Any) -> FrameLaw:
        title = str(name or getattr(function, "__name__", "law"))
        expected = ("t", "relative", "states", "parameters", "wrench", "rates")
        if not callable(function) or len(_names(function)) != 6:
            raise LawError(
                f"A law is a function of {', '.join(expected)}; {title!r} has "
                f"{', '.join(_names(function)) if callable(function) else 'no arguments'}."
            )
        own = tuple(f"state {k + 1}" for k in range(states)) if isinstance(states, int) else tuple(states)
        named = tuple(parameters)
        for what, entries in (("states", own), ("parameters", named)):
            if len(set(entries)) != len(entries):
                raise LawError(f"The {what} of the law {title!r} must have different names; found {entries}.")
        for entry in floors or {}:
            if entry not in own:
                raise LawError(unknown_name(f"state of the law {title!r}", entry, own))
        for entry in (*positive, *non_negative, *(floors or {}).values()):
            if entry not in named:
                raise LawError(unknown_name(f"parameter of the law {title!r}", entry, named))
        defaults = {k: v for k, v in parameters.items() if v is not None} if isinstance(parameters, Mapping) else {}
        signs = tuple(positive), tuple(non_negative)
        return FrameLaw(function, title, own, named, defaults, updates, *signs, dict(floors or {}), below, library)

    return keep if function is None else keep(function)


class FrameLawCall(LawCall):
    """The call of a frame law by an element: compiled or in Python. Elements of one law share its compiled code."""

    def __init__(self, law: FrameLaw, element: str) -> None:
        super().__init__(element, 1 + 18 + len(law.states) + len(law.parameters))
        self.law = law

    def __reduce__(self) -> tuple[Any, ...]:
        return FrameLawCall, (self.law, self.name)

    def __call__(self, record: int, t: float, seen: Any, states: Any, parameters: Any, out: Any) -> None:
        """The call by compiled code, with the arguments of `ENTRY`."""
        self.evaluate(t, seen, states, parameters, out)

    def evaluate(self, t: float, seen: Any, states: Any, parameters: Any, out: Any, function: Any = None) -> None:
        """Evaluate the law, or another `function` of it, in Python; `out` (7 + ns,) receives the wrench, the energy
        (NaN if the law does not tell it) and rates or new states."""
        ns, count = len(self.law.states), len(self.law.parameters)
        arrays = [
            x[:n] if isinstance(x, np.ndarray) else np.ctypeslib.as_array(x, (n,))[:] if n else np.zeros(0)
            for x, n in zip((seen, states, parameters, out), (18, ns, count, 7 + ns), strict=True)
        ]
        motion, z, p, answer = arrays
        for given in (motion, z, p):
            given.flags.writeable = False
        answer[:] = 0.0
        if self.stopped is not None:
            answer[:] = np.nan
            return
        energy = None
        try:
            energy = (function or self.law.function)(t, _relative(motion), z, p, answer[:6], answer[7:])
            answer[6] = 0.0 if energy is None else energy
        except Exception as error:
            if self._failure is None or np.isfinite(motion).all():  # otherwise it follows from an earlier failure
                self._failure = LawError(
                    f"The law of {self.name!r} failed at {self._where(t, motion, z)}: {type(error).__name__}: {error}."
                )
                self._failure.__cause__ = error
            answer[:] = np.nan
            return
        except BaseException as error:  # Ctrl-C, sys.exit()
            self.stopped = error
            answer[:] = np.nan
            return
        if not np.isfinite(answer).all() and np.isfinite(motion).all() and np.isfinite(z).all():
            self._failure = LawError(
                f"The law of {self.name!r} returned {answer.tolist()} (force, moment, energy, states) at "
                f"{self._where(t, motion, z)}."
            )
            answer[:] = np.nan
        if energy is None:
            answer[6] = np.nan

    def _where(self, t: float, motion: np.ndarray, z: np.ndarray) -> str:
        own = f", states {z.tolist()}" if len(z) else ""
        return f"t = {t:.6g}, d = {motion[:3].tolist()}, v = {motion[12:15].tolist()}{own}"

    def _repeat(self, arguments: np.ndarray) -> None:
        ns = len(self.law.states)
        motion, z, p = np.split(arguments[1:], [18, 18 + ns])
        self.evaluate(float(arguments[0]), motion, z, p, np.zeros(7 + ns), repeated_law(self.law.function))

    def over(
        self,
        times: Float[np.ndarray, "n"],
        seen: Float[np.ndarray, "18"],
        states: Float[np.ndarray, "ns"],
        parameters: Float[np.ndarray, "np"],
    ) -> Float[np.ndarray, "n 6"]:
        """Force and moment at `times`, at one relative motion and with fixed states. Raises `LawError` on failure."""
        found = np.zeros((len(times), 7 + len(states)))
        compiled = None if self.law.entry is None else self.law.entry.ctypes
        given = [np.ascontiguousarray(x, dtype=float) for x in (seen, states, parameters)]
        record = np.zeros(2 + 18 + len(states) + len(parameters))
        arguments = [x.ctypes.data_as(POINTER) for x in given]
        for k, t in enumerate(times):
            if compiled is not None:
                compiled(record.ctypes.data, float(t), *arguments, found[k].ctypes.data_as(POINTER))
                if np.isfinite(found[k, :6]).all():
                    continue
            self.forget()
            self.evaluate(float(t), seen, states, parameters, found[k])
            if error := self.stopped or self._failure:
                raise error
        return found[:, :6]

    @cached_property
    def _callback(self) -> Any:
        if self.law.entry is not None:
            return self.law.entry.ctypes
        return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_double, *[POINTER] * 4)(self)

    @property
    def address(self) -> int:
        """Address of the function for compiled code, valid during the lifetime of this object."""
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0


def _relative(motion: Float[np.ndarray, "18"]) -> Relative:
    return Relative(motion[:3], motion[3:12].reshape(3, 3), motion[12:15], motion[15:18])

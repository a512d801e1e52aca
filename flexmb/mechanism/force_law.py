"""Force laws: forces and torques as functions of time, a relative coordinate and its rate, and a registry of their
names for model files."""

import ctypes
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import numba
import numpy as np
from jaxtyping import Float

from fem.renamed import refuse_old_names
from flexmb.errors import LawError
from flexmb.kernels.base.law_call import LawCall
from flexmb.kernels.base.memory import stored

SIGNATURE = "float64(float64, float64, float64)"

Effort = Callable[[float, float, float], float]
E = TypeVar("E", bound=Callable[..., Any])
_REGISTERED: dict[str, Any] = {}
LAWS: Mapping[str, Any] = MappingProxyType(_REGISTERED)
"""Registered laws by name."""


def register_law(name: str) -> Callable[[E], E]:
    """Decorator that registers a function `effort(t, x, xdot)`, compiled or not, or a law between two frames
    (`flexmb.law`) for model files: `law = "name"`.

    Model files refer to laws by name only; they contain no code. Raises `LawError` when the name is taken or empty, or
    when the decorated object is not a function.
    """

    def keep(effort: E) -> E:
        known = _REGISTERED.get(name)
        if known is not None and _home(known) != _home(effort):
            raise LawError(f"There is a law {name!r} already: {'.'.join(_home(known))}. Choose another name.")
        if not name or not callable(effort):
            raise LawError(f"A law needs a name and a function effort(t, x, xdot); found {name!r} and {effort!r}.")
        _REGISTERED[name] = effort
        return effort

    return keep


def _home(effort: Effort) -> tuple[str, str]:
    """Module and name of a function, by which two definitions from repeated runs of a file are recognised as the
    same."""
    function = getattr(effort, "function", effort)  # of a law between frames
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", repr(function))


class ForceLaw(LawCall):
    """A force law `effort = function(t, x, xdot)`, for instance a controller, a nonlinear spring or regularised
    friction.

    A call of a function compiled with `numba.njit` costs about as much as an addition; a call of a Python function
    takes about a microsecond, three to eight times per step. An exception, or a value that is not finite, ends the
    simulation with a `LawError` that names the law and has the exception as its cause. `KeyboardInterrupt` and
    `SystemExit` stop the simulation as they stop any program.

    Exceptions do not propagate through compiled code. A failed evaluation therefore returns NaN, at which the step
    fails, and stores its cause in `failure` or `stopped`.

    Records of laws, such as `flexmb.expression` returns, are functions with a property `compiled`, the function that
    numba compiled, and a method `over(t, x, xdot)` for arrays. An `interpreted` law is called as a Python function in
    any case, which saves the time of its compilation where it is rarely called. A law with a property `stored`, an
    expression, tells the energy that it stores.
    """

    def __init__(
        self, function: Callable[[float, float, float], float], name: str, *, interpreted: bool = False
    ) -> None:
        super().__init__(name, 3)
        self.function: Any = function
        self.interpreted = interpreted

    def __reduce__(self) -> tuple[Any, ...]:
        return _law, (self.function, self.name, self.interpreted)

    def __call__(self, t: float, x: float, xdot: float) -> float:
        """The effort. It is NaN if the function fails, with the cause in `failure`, and after an interrupt."""
        try:
            if self.stopped is not None:
                return math.nan
            effort = float(self.function(t, x, xdot))
        except Exception as error:
            if self._failure is None or math.isfinite(x + xdot):  # otherwise it follows from an earlier failure
                self._failure = LawError(
                    f"The law of {self.name!r} failed at {_where(t, x, xdot)}: {type(error).__name__}: "
                    f"{str(error).rstrip('.')}."
                )
                self._failure.__cause__ = error
            return math.nan
        except BaseException as error:  # Ctrl-C, sys.exit()
            self.stopped = error
            return math.nan
        if not math.isfinite(effort) and math.isfinite(x) and math.isfinite(xdot):
            self._failure = LawError(f"The law of {self.name!r} returned {effort} at {_where(t, x, xdot)}.")
        return effort

    def over(
        self, t: Float[np.ndarray, "nt"], x: Float[np.ndarray, "nt"], xdot: Float[np.ndarray, "nt"]
    ) -> Float[np.ndarray, "nt"]:
        """The efforts (nt,) at the times `t` (nt,), coordinates `x` (nt,) and rates `xdot` (nt,).

        Raises `LawError` when the function fails.
        """
        several = getattr(self.function, "over", None)
        try:
            if several is not None:
                return np.array(several(t, x, xdot), dtype=float)
            states = zip(t.tolist(), x.tolist(), xdot.tolist(), strict=True)
            return np.array([float(self.function(*state)) for state in states])
        except Exception as error:
            raise LawError(f"The law of {self.name!r} failed: {type(error).__name__}: {error}") from error

    def _repeat(self, arguments: np.ndarray) -> None:
        self(*arguments.tolist())

    @cached_property
    def _callback(self) -> Any:
        function = self.function if self.interpreted else getattr(self.function, "compiled", self.function)
        if hasattr(function, "py_func") and not self.interpreted:
            try:
                function.compile(SIGNATURE)
                in_python = any(made.lifted for made in function.overloads.values())
                if not in_python:
                    return _guarded(function, self._refused.ctypes.data).ctypes
            except numba.core.errors.NumbaError as error:
                raise LawError(
                    f"The law of {self.name!r} cannot be compiled for (t, x, xdot) as floats: "
                    f"{str(error).splitlines()[0]}"
                ) from None
        return ctypes.CFUNCTYPE(*[ctypes.c_double] * 4)(self)

    @property
    def address(self) -> int:
        """Address of the function for compiled code, valid during the lifetime of this object."""
        return self._known(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)

    @cached_property
    def stored(self) -> "ForceLaw | None":
        """The energy that the law stores, as a law; None if it does not tell it."""
        energy = getattr(self.function, "stored", None)
        return None if energy is None else ForceLaw(energy, self.name, interpreted=self.interpreted)

    @property
    def store_address(self) -> int:
        """Address of the function of the stored energy, 0 if the law does not tell it."""
        return 0 if self.stored is None else self.stored.address


def _law(function: Callable[[float, float, float], float], name: str, interpreted: bool) -> ForceLaw:
    return ForceLaw(function, name, interpreted=interpreted)


def _where(t: float, x: float, xdot: float) -> str:
    return f"t = {t:.6g}, x = {x:.6g}, xdot = {xdot:.6g}"


def _guarded(function: Any, refused: int) -> Any:
    """A compiled function that returns NaN if `function` raises, and stores 1 and the arguments at the address
    `refused` if the value is not finite."""

    def call(t: float, x: float, xdot: float) -> float:
        effort = np.nan
        try:  # noqa: SIM105 (compiled code)
            effort = function(t, x, xdot)
        except Exception:
            pass
        if not np.isfinite(effort):
            stored(refused, 1.0)
            stored(refused + 8, t)
            stored(refused + 16, x)
            stored(refused + 24, xdot)
        return effort

    return numba.cfunc(SIGNATURE)(call)


refuse_old_names(__name__)

"""Force laws: forces and torques as functions of time, a relative coordinate and its rate, and a registry of their
names for model files."""

import ctypes
import math
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

import numba
import numpy as np
from jaxtyping import Float

from fem.renamed import refuse_old_names
from flexmb.errors import LawError
from flexmb.kernels.base.law_call import LawCall
from flexmb.kernels.base.memory import stored
from flexmb.mechanism.laws.compilation import cause_of

SIGNATURE = "float64(float64, float64, float64)"
ENTRY = "float64(int64, float64, float64, float64)"
"""The call of a law by compiled code: the address of its record, and the arguments."""
FUNCTION, REFUSED, PARAMETERS = 0, 1, 5
"""Entries of the record of a law: the address of its function; 1 after a failure of compiled code, followed by the
arguments there; the numbers of a formula."""

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
        if not isinstance(name, str) or not name or not callable(effort):
            raise LawError(f"A law needs a name and a function effort(t, x, xdot); found {name!r} and {effort!r}.")
        known = _REGISTERED.get(name)
        if known is not None and _home(known) != _home(effort):
            raise LawError(f"There is a law {name!r} already: {'.'.join(_home(known))}. Choose another name.")
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
    fails, and stores its cause in `failure` or `stopped`, and the rate at a failure in `failed_rate`.

    Records of laws, such as `flexmb.expression` returns, are functions with a property `compiled`, the function that
    numba compiled, and a method `over(t, x, xdot)` for arrays. An `interpreted` law is called as a Python function in
    any case, which saves the time of its compilation where it is rarely called. A law with a property `stored`, an
    expression, tells the energy that it stores. One with a property `shared`, an expression, has a compiled function
    that it shares with others, which differ from it by the numbers in the record only. Compiled code calls a law by the
    address of its record.
    """

    def __init__(
        self, function: Callable[[float, float, float], float], name: str, *, interpreted: bool = False
    ) -> None:
        super().__init__(name, 3)
        self.function: Any = function
        self.interpreted = interpreted
        self.failed_rate = 0.0
        self._record = np.zeros(PARAMETERS)
        self._refused = self._record[REFUSED:PARAMETERS]

    def __reduce__(self) -> tuple[Any, ...]:
        return _law, (self.function, self.name, self.interpreted)

    def __call__(self, record: int, t: float, x: float, xdot: float) -> float:
        """The call by compiled code, with the arguments of `ENTRY`."""
        return self.evaluate(t, x, xdot)

    def evaluate(self, t: float, x: float, xdot: float) -> float:
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
                self.failed_rate = xdot
            return math.nan
        except BaseException as error:  # Ctrl-C, sys.exit()
            self.stopped = error
            return math.nan
        if not math.isfinite(effort) and math.isfinite(x) and math.isfinite(xdot):
            self._failure = LawError(f"The law of {self.name!r} returned {effort} at {_where(t, x, xdot)}.")
            self.failed_rate = xdot
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
        self.evaluate(*arguments.tolist())

    @cached_property
    def _callback(self) -> Any:
        if not self.interpreted and hasattr(self.function, "shared"):
            function, numbers = self.function.shared
            self._record = np.concatenate([self._record, numbers])
            self._refused = self._record[REFUSED:PARAMETERS]
            return _guarded(function, True)
        function = self.function if self.interpreted else getattr(self.function, "compiled", self.function)
        if hasattr(function, "py_func") and not self.interpreted:
            try:
                function.compile(SIGNATURE)
                in_python = any(made.lifted for made in function.overloads.values())
                if not in_python:
                    return _guarded(function, False)
            except numba.core.errors.NumbaError as error:
                raise LawError(
                    f"The law of {self.name!r} cannot be compiled for (t, x, xdot) as floats: {cause_of(error)}"
                ) from None
        return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, *[ctypes.c_double] * 3)(self)

    @property
    def address(self) -> int:
        """Address of the record for compiled code, valid during the lifetime of this object."""
        compiled = getattr(self._callback, "ctypes", self._callback)
        self._record[FUNCTION : FUNCTION + 1].view(np.int64)[0] = ctypes.cast(compiled, ctypes.c_void_p).value or 0
        return self._known(self._record.ctypes.data)

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


@lru_cache(maxsize=256)
def _guarded(function: Any, numbers: bool) -> Any:
    """A compiled function for `call_law`, which all laws of one `function` share. It returns NaN if the function
    raises, and stores 1 and the arguments in the record of the law if the value is not finite at finite arguments.

    A function of `numbers` takes their address in the record first.
    """

    def call(record: int, t: float, x: float, xdot: float) -> float:
        effort = np.nan
        try:  # noqa: SIM105 (compiled code)
            effort = function(record + 8 * PARAMETERS, t, x, xdot) if numbers else function(t, x, xdot)
        except Exception:
            pass
        if not np.isfinite(effort) and np.isfinite(x + xdot):  # otherwise it follows from an earlier failure
            stored(record + 8 * REFUSED, 1.0)
            stored(record + 8 * REFUSED + 8, t)
            stored(record + 8 * REFUSED + 16, x)
            stored(record + 8 * REFUSED + 24, xdot)
        return effort

    return numba.cfunc(ENTRY)(call)


refuse_old_names(__name__)

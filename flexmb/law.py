"""Force laws: efforts that a user's function gives from time, a relative coordinate and its rate."""

import ctypes
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numba

from fem.errors import FlexmbError
from flexmb.kernels.call import KNOWN

SIGNATURE = "float64(float64, float64, float64)"


class LawError(FlexmbError, RuntimeError):
    """A user's force law failed."""


class Law:
    """`effort = function(t, x, xdot)`: controllers, nonlinear springs, friction smoothed by its author.

    A function compiled with `numba.njit` is called at the price of an addition; a plain Python function takes about a microsecond, three to eight times a step.
    An exception, or a value that is not finite, ends the simulation and is told.
    """

    def __init__(self, function: Callable[[float, float, float], float], name: str) -> None:
        self.function, self.name = function, name
        self.failure: LawError | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Law, (self.function, self.name)

    def __call__(self, t: float, x: float, xdot: float) -> float:
        """The effort; not a number where the function fails, which is kept in `failure`."""
        try:
            effort = float(self.function(t, x, xdot))
        except Exception as error:
            self.failure = LawError(
                f"The law of {self.name!r} failed at t = {t:.6g}, x = {x:.6g}, xdot = {xdot:.6g}: {type(error).__name__}: {error}."
            )
            return math.nan
        if not math.isfinite(effort):
            self.failure = LawError(
                f"The law of {self.name!r} is {effort} at t = {t:.6g}, x = {x:.6g}, xdot = {xdot:.6g}."
            )
        return effort

    @cached_property
    def _callback(self) -> Any:
        if hasattr(self.function, "py_func"):
            try:
                return numba.cfunc(SIGNATURE)(self.function.py_func).ctypes
            except numba.core.errors.NumbaError as error:
                raise LawError(
                    f"The law of {self.name!r} cannot be compiled for (t, x, xdot) as floats: {str(error).splitlines()[0]}"
                ) from None
        return ctypes.CFUNCTYPE(*[ctypes.c_double] * 4)(self)

    @property
    def address(self) -> int:
        """Where compiled code finds it, as long as this object lives."""
        address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        KNOWN[address] = self
        return address

"""Compiled calls of the laws between two frames, by their addresses."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

from flexmb.kernels.base.memory import stored

ENTRY = numba.types.void(numba.int64, numba.float64, *[numba.types.CPointer(numba.float64)] * 4)
"""The record of failures, the time, relative motion, states, parameters, and the answer."""


class Relative(NamedTuple):
    """The motion of frame `b` relative to frame `a`, in axes of `a`.

    - `d` (3,): position of the origin of `b`.
    - `S` (3, 3): rotation; its columns are the axes of `b`.
    - `v` (3,): rate of `d` as observed in `a`.
    - `omega` (3,): angular velocity of `b` relative to `a`.
    """

    d: np.ndarray
    S: np.ndarray
    v: np.ndarray
    omega: np.ndarray


@intrinsic
def _read_only(typingctx: Any, array: Any) -> Any:
    """The same array, of a type to which compiled functions cannot write."""

    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, arguments[0])

    return array.copy(readonly=True)(array), make


read_only: Any = _read_only
"""`read_only(array)` is the array as an argument that a law must not change, in compiled code."""


def compiled_law(function: Any) -> Any:
    """The function of a law for compiled code, which raises `IndexError` beyond the bounds of its arrays."""
    python, options = getattr(function, "py_func", function), dict(getattr(function, "targetoptions", {}))
    options.pop("nopython", None)
    return numba.njit(**{**options, "boundscheck": True})(python)


def _given_types() -> tuple[Any, Any, Any]:
    """The types of the relative motion, the states and the parameters in compiled laws, which must not change them."""
    fixed = numba.types.Array(numba.float64, 1, "C", readonly=True)
    square = numba.types.Array(numba.float64, 2, "C", readonly=True)
    return numba.types.NamedTuple((fixed, square, fixed, fixed), Relative), fixed, fixed


def frame_call(function: Any, ns: int, count: int) -> Callable[..., None]:
    """The function with the arguments of `ENTRY` that calls a law with `ns` states and `count` parameters.

    It returns NaN if `function` raises or returns a number that is not finite, and stores 1 and the arguments in the
    record at the address `record`.
    """
    signature = (numba.float64, *_given_types(), *[numba.types.Array(numba.float64, 1, "C")] * 2)
    function.compile(signature)
    silent = function.overloads[signature].signature.return_type == numba.types.none

    @numba.njit(inline="always")
    def evaluated(t: Any, relative: Any, z: Any, p: Any, wrench: Any, rates: Any) -> Any:
        if silent:
            function(t, relative, z, p, wrench, rates)
            return 0.0
        return function(t, relative, z, p, wrench, rates)

    def call(record: Any, t: Any, seen: Any, states: Any, parameters: Any, out: Any) -> None:
        motion, answer = read_only(numba.carray(seen, 18)), numba.carray(out, 7 + ns)
        z, p = read_only(numba.carray(states, ns)), read_only(numba.carray(parameters, count))
        for k in range(7 + ns):
            answer[k] = 0.0
        relative = Relative(motion[:3], motion[3:12].reshape(3, 3), motion[12:15], motion[15:18])
        try:
            answer[6] = evaluated(t, relative, z, p, answer[:6], answer[7:])
        except Exception:
            answer[0] = np.nan
        total = 0.0
        for k in range(7 + ns):
            total += answer[k]
        if silent:
            answer[6] = np.nan
        if not np.isfinite(total):
            answer[0] = np.nan
            reached = motion.sum() + z.sum()
            if np.isfinite(reached):  # a motion that is not finite follows from an earlier failure
                stored(record, 1.0)
                stored(record + 8, t)
                for k in range(18):
                    stored(record + 16 + 8 * k, motion[k])
                for k in range(ns):
                    stored(record + 160 + 8 * k, z[k])
                for k in range(count):
                    stored(record + 160 + 8 * ns + 8 * k, p[k])

    return call


def tangent_call(function: Any, count: int) -> Callable[..., None]:
    """The function with the arguments of `ENTRY` that calls a tangent, whose answer is stiffness and damping (72).

    It records failures as laws do.
    """
    function.compile((numba.float64, *_given_types(), *[numba.types.Array(numba.float64, 2, "C")] * 2))

    def call(record: Any, t: Any, seen: Any, states: Any, parameters: Any, out: Any) -> None:
        motion, answer = read_only(numba.carray(seen, 18)), numba.carray(out, 72)
        z, p = read_only(numba.carray(states, 0)), read_only(numba.carray(parameters, count))
        for k in range(72):
            answer[k] = 0.0
        relative = Relative(motion[:3], motion[3:12].reshape(3, 3), motion[12:15], motion[15:18])
        try:
            function(t, relative, z, p, answer[:36].reshape(6, 6), answer[36:].reshape(6, 6))
        except Exception:
            answer[0] = np.nan
        if not np.isfinite(answer.sum()):
            answer[0] = np.nan
            if np.isfinite(motion.sum()):
                stored(record, 1.0)
                stored(record + 8, t)
                for k in range(18):
                    stored(record + 16 + 8 * k, motion[k])
                for k in range(count):
                    stored(record + 160 + 8 * k, p[k])

    return call

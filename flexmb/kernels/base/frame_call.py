"""Compiled calls of the laws between two frames and of controllers, by their addresses."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

from flexmb.kernels.base.memory import stored

ENTRY = numba.types.void(numba.int64, numba.float64, *[numba.types.CPointer(numba.float64)] * 4)
"""The record of failures, the time, relative motion or inputs, states, parameters, and the answer."""
SIZES = 4
"""Numbers before the parameters of a controller in compiled code: of inputs, states, commands and parameters."""


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


read_only: Any = (lambda array: array) if numba.config.DISABLE_JIT else _read_only  # type: ignore[attr-defined]
"""`read_only(array)` is the array as an argument that a law must not change, in compiled code."""


@intrinsic
def _pointer_to(typingctx: Any, pointer: Any, index: Any) -> Any:
    """The pointer to the number at `index` of those at a pointer."""

    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, numba.types.int64), make


_from: Any = _pointer_to


@numba.njit(inline="always")
def _relative(seen: Any) -> Any:
    """The relative motion in the numbers (18) at a pointer, which a law must not change."""
    d, S = numba.carray(seen, 3), numba.carray(_from(seen, 3), (3, 3))
    v, omega = numba.carray(_from(seen, 12), 3), numba.carray(_from(seen, 15), 3)
    return Relative(read_only(d), read_only(S), read_only(v), read_only(omega))


@numba.njit(inline="always")
def _finite(numbers: Any) -> Any:
    """Whether all numbers are finite."""
    sound = True
    for k in range(len(numbers)):
        sound &= numbers[k] - numbers[k] == 0.0
    return sound


def compiled_law(function: Any) -> Any:
    """The function of a law for compiled code, which raises `IndexError` beyond the bounds of its arrays."""
    python, options = getattr(function, "py_func", function), dict(getattr(function, "targetoptions", {}))
    options.pop("nopython", None)
    return numba.njit(**{**options, "boundscheck": True, "forceinline": True})(python)


def _given_types() -> tuple[Any, Any, Any]:
    """The types of the relative motion, the states and the parameters in compiled laws, which must not change them."""
    fixed = numba.types.Array(numba.float64, 1, "C", readonly=True)
    square = numba.types.Array(numba.float64, 2, "C", readonly=True)
    return numba.types.NamedTuple((fixed, square, fixed, fixed), Relative), fixed, fixed


@numba.njit(inline="always")
def _record(record: Any, t: Any, seen: Any, states: Any, parameters: Any) -> None:
    """Store 1, the time and the arguments at the address `record`, unless they follow from an earlier failure."""
    reached = seen.sum() + states.sum()
    if np.isfinite(reached):
        stored(record, 1.0)
        stored(record + 8, t)
        at = record + 16
        for k in range(len(seen)):
            stored(at + 8 * k, seen[k])
        at += 8 * len(seen)
        for k in range(len(states)):
            stored(at + 8 * k, states[k])
        at += 8 * len(states)
        for k in range(len(parameters)):
            stored(at + 8 * k, parameters[k])


def frame_call(function: Any, ns: int, count: int, ni: int = 0) -> Callable[..., None]:
    """The function with the arguments of `ENTRY` that calls a law with `ns` states, `count` parameters and `ni` inputs,
    which follow the relative motion.

    It returns NaN if `function` raises or returns a number that is not finite, and stores 1 and the arguments in the
    record at the address `record`.
    """
    motion_type, *fixed = _given_types()
    signature = (
        numba.float64, motion_type, *fixed[: int(ni > 0)], *fixed, *[numba.types.Array(numba.float64, 1, "C")] * 2
    )  # fmt: skip
    function.compile(signature)
    silent = function.overloads[signature].signature.return_type == numba.types.none

    if ni > 0:

        @numba.njit(inline="always")
        def called(t: Any, relative: Any, y: Any, z: Any, p: Any, wrench: Any, rates: Any) -> Any:
            return function(t, relative, y, z, p, wrench, rates)

    else:

        @numba.njit(inline="always")
        def called(t: Any, relative: Any, y: Any, z: Any, p: Any, wrench: Any, rates: Any) -> Any:
            return function(t, relative, z, p, wrench, rates)

    @numba.njit(inline="always")
    def evaluated(t: Any, relative: Any, y: Any, z: Any, p: Any, wrench: Any, rates: Any) -> Any:
        if silent:
            called(t, relative, y, z, p, wrench, rates)
            return 0.0
        return called(t, relative, y, z, p, wrench, rates)

    def call(record: Any, t: Any, seen: Any, states: Any, parameters: Any, out: Any) -> None:
        motion, answer = read_only(numba.carray(seen, 18 + ni)), numba.carray(out, 7 + ns)
        z, p = read_only(numba.carray(states, ns)), read_only(numba.carray(parameters, count))
        for k in range(7 + ns):
            answer[k] = 0.0
        try:
            answer[6] = evaluated(t, _relative(seen), motion[18:], z, p, answer[:6], answer[7:])
        except Exception:
            answer[0] = np.nan
        sound = _finite(answer)
        if silent:
            answer[6] = np.nan
        if not sound:
            answer[0] = np.nan
            _record(record, t, motion, z, p)

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
        try:
            function(t, _relative(seen), z, p, numba.carray(out, (6, 6)), numba.carray(_from(out, 36), (6, 6)))
        except Exception:
            answer[0] = np.nan
        if not _finite(answer):
            answer[0] = np.nan
            _record(record, t, motion, z, p)

    return call


def control_call(function: Any) -> Callable[..., None]:
    """The function with the arguments of `ENTRY` that calls the law of a controller with any numbers of inputs, states,
    commands and parameters, which precede the parameters. It records failures as laws do, without the parameters."""
    array = numba.types.Array(numba.float64, 1, "C")
    fixed = array.copy(readonly=True)
    function.compile((numba.float64, fixed, fixed, fixed, array, array))

    def call(record: Any, t: Any, inputs: Any, states: Any, parameters: Any, out: Any) -> None:
        sizes = numba.carray(parameters, SIZES)
        ni, nz, nu, count = int(sizes[0]), int(sizes[1]), int(sizes[2]), int(sizes[3])
        y, z = read_only(numba.carray(inputs, ni)), read_only(numba.carray(states, nz))
        p, answer = read_only(numba.carray(parameters, SIZES + count))[SIZES:], numba.carray(out, nu + nz)
        for k in range(nu + nz):
            answer[k] = 0.0
        try:
            function(t, y, z, p, answer[:nu], answer[nu:])
        except Exception:
            answer[0] = np.nan
        if not _finite(answer):
            answer[0] = np.nan
            _record(record, t, y, z, p[:0])

    return call

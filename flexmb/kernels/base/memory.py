"""Numbers of arrays that compiled functions read and write by address."""

import ctypes
from typing import Any

from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic


@intrinsic
def _loaded(typingctx: Any, address: Any, index: Any) -> Any:
    """The number at `index` of the array of floats at an address."""

    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())
        return builder.load(builder.gep(data, [arguments[1]]))

    return types.float64(types.int64, types.int64), make


def _read(address: int, index: int) -> float:
    return ctypes.c_double.from_address(int(address) + 8 * int(index)).value


number_at: Any = _read if config.DISABLE_JIT else _loaded  # type: ignore[attr-defined]
"""`number_at(address, index)`: the number at `index` of the array of floats at an address."""


@intrinsic
def _written(typingctx: Any, address: Any, value: Any) -> Any:
    """Store a number at an address."""

    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], ir.DoubleType().as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.float64), make


def _write(address: int, value: float) -> None:
    ctypes.c_double.from_address(int(address)).value = value


stored: Any = _write if config.DISABLE_JIT else _written  # type: ignore[attr-defined]
"""`stored(address, value)` stores a number at an address."""


@njit(cache=True)
def interval_of(address: int, n: int, s: float) -> int:
    """The interval 0 to n - 2 of the increasing numbers (n,) at an address that contains `s`, or is nearest to it."""
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        if s < number_at(address, middle):
            high = middle
        else:
            low = middle
    return low


@njit(cache=True)
def repeated(s: float, first: float, period: float) -> float:
    """The number in the first period from `first` on that is whole periods from `s`."""
    return s - period * float((s - first) // period)

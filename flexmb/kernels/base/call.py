"""Calls of a function `f(t, x, xdot)` by its address from compiled code."""

from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

KNOWN: WeakValueDictionary[int, Callable[[float, float, float], float]] = WeakValueDictionary()
"""Functions by address, for runs without compilation."""


@intrinsic
def _by_pointer(typingctx: Any, address: Any, t: Any, x: Any, xdot: Any) -> Any:
    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.DoubleType()
        pointer = ir.FunctionType(number, [number] * 3).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], pointer), arguments[1:])

    return types.float64(types.int64, types.float64, types.float64, types.float64), make


def _by_table(address: int, t: float, x: float, xdot: float) -> float:
    return KNOWN[int(address)](t, x, xdot)


call_law = _by_table if config.DISABLE_JIT else _by_pointer  # type: ignore[attr-defined]
"""`call_law(address, t, x, xdot)` calls the function at an address."""

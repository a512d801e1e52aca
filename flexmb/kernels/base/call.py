"""Calls of functions by their addresses from compiled code: of scalar laws `f(t, x, xdot)` and of frame laws."""

from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

KNOWN: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Functions by address, and calls by the addresses of their records, for runs without compilation."""


@intrinsic
def _by_pointer(typingctx: Any, record: Any, t: Any, x: Any, xdot: Any) -> Any:
    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.DoubleType()
        pointer = ir.FunctionType(number, [ir.IntType(64)] + [number] * 3).as_pointer()
        function = builder.load(builder.inttoptr(arguments[0], pointer.as_pointer()))
        return builder.call(function, arguments)

    return types.float64(types.int64, types.float64, types.float64, types.float64), make


def _by_table(record: int, t: float, x: float, xdot: float) -> float:
    return KNOWN[int(record)](record, t, x, xdot)


@intrinsic
def _frame_law_by_pointer(
    typingctx: Any, address: Any, record: Any, t: Any, seen: Any, states: Any, parameters: Any, out: Any
) -> Any:
    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.DoubleType()
        kinds = [ir.IntType(64), number] + [number.as_pointer()] * 4
        pointer = ir.FunctionType(ir.VoidType(), kinds).as_pointer()
        data = [
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[3:], arguments[3:], strict=True)
        ]
        builder.call(builder.inttoptr(arguments[0], pointer), [*arguments[1:3], *data])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float64, seen, states, parameters, out), make


def _frame_law_by_table(
    address: int, record: int, t: float, seen: np.ndarray, states: np.ndarray, parameters: np.ndarray, out: np.ndarray
) -> None:
    KNOWN[int(record)](record, t, seen, states, parameters, out)


call_law = _by_table if config.DISABLE_JIT else _by_pointer  # type: ignore[attr-defined]
"""`call_law(record, t, x, xdot)` calls the function whose address is the first entry of the record of a law at the
address `record`, with the same arguments; see flexmb/mechanism/force_law.py."""
call_frame_law: Any = _frame_law_by_table if config.DISABLE_JIT else _frame_law_by_pointer  # type: ignore[attr-defined]
"""`call_frame_law(address, record, t, seen, states, parameters, out)` calls the frame law at an address for the element
whose failures are recorded at the address `record`; see flexmb/kernels/equations/elements.py. `out` receives the wrench
(6), the stored energy (NaN if the law does not tell it), and rates or new states."""

"""Loops over the bodies and rows of large mechanisms, which several threads share.

A shared loop is a function of flexmb/kernels/calls.py whose last three arguments are its first place, its end, and the
number of the thread, 0 for the caller. Its turns neither depend on each other nor write to the same place, so that
numbers are the same for any threads. The pool of threads is that of the library (flexmb/kernels/library.c); a run whose
functions are compiled by numba has none.

`Workspace.pool` contains the address of the function that shares a loop, 0 for a run in one thread, and the number of
threads. `Workspace.shared` has a row for each loop: the address of its function, the number of its arguments as
numbers, and these numbers, which are written by the caller (`put`, `put_array`) except the last three.
"""

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

LOOPS = ("place_used", "rows_of", "forces_of", "balance_bodies", "respond_bodies", "respond_again", "move_bodies")
"""The names of the shared loops, in the order of the rows of `Workspace.shared`."""
PLACE, ROWS, FORCES, BALANCE, RESPOND, AGAIN, MOVE = range(len(LOOPS))
THREADS = 8
"""Largest number of threads, each of which has work arrays of its own."""
LENGTH = 24
"""Length of a row of `Workspace.shared`."""


@intrinsic
def _address(typingctx: Any, record: Any) -> Any:
    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(arguments[0], ir.IntType(64))

    return types.int64(record), make


@intrinsic
def _share(typingctx: Any, pool: Any, row: Any, count: Any, threads: Any) -> Any:
    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(64)
        pointer = ir.FunctionType(number, [number.as_pointer(), number, number]).as_pointer()
        data = context.make_array(signature.args[1])(context, builder, arguments[1]).data
        return builder.call(builder.inttoptr(arguments[0], pointer), [data, *arguments[2:]])

    return types.int64(types.int64, row, types.int64, types.int64), make


@njit(cache=True, inline="always")
def put(row, at, record):
    """Write the argument `record` at a place of a row; returns the next place."""
    row[at] = _address(record)
    return at + 1


@njit(cache=True, inline="always")
def put_array(row, at, array):
    """Write the argument `array`, with one dimension."""
    row[at], row[at + 1] = array.ctypes.data, len(array)
    return at + 2


@njit(cache=True, inline="always")
def put_table(row, at, array):
    """Write the argument `array`, with two dimensions."""
    row[at], row[at + 1], row[at + 2] = array.ctypes.data, array.shape[0], array.shape[1]
    return at + 3


@njit(cache=True, inline="always")
def share(workspace, loop, at, count):
    """Do all turns of a loop, whose arguments in front of the last three end at place `at` of its row, in several
    threads. Returns 0, or another number if a turn raised an exception."""
    workspace.shared[loop, 1] = at + 1  # three more, without the first two places
    return _share(workspace.pool[0], workspace.shared[loop], count, workspace.pool[1])

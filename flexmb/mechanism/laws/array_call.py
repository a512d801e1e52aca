"""Calls of laws that read and write arrays, from compiled code: of force laws between frames and of controllers."""

import ctypes
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from flexmb.errors import LawError
from flexmb.kernels.base.law_call import LawCall

POINTER = ctypes.POINTER(ctypes.c_double)


class ArrayCall(LawCall):
    """The call of `law` by the element or controller `name`: compiled or in Python.

    `law.entry` is its compiled call, or None for a function that only Python can call.
    """

    def __init__(self, law: Any, name: str, count: int) -> None:
        super().__init__(name, count)
        self.law = law

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.law, self.name)

    def __call__(self, record: int, t: float, read: Any, states: Any, parameters: Any, out: Any, /) -> None:
        """The call by compiled code, with the arguments of `ENTRY`."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__().")

    def _attempt(self, evaluate: Callable[[], None], out: np.ndarray, sound: bool, where: Callable[[], str]) -> bool:
        """Let `evaluate` fill `out`, and tell whether it does; a failure is kept and leaves NaN in `out`.

        - `sound`: whether what the law reads is finite; otherwise the failure follows from an earlier one.
        - `where`: the time and what the law reads, for messages.
        """
        out[:] = 0.0
        if self.stopped is None:
            try:
                evaluate()
                return True
            except Exception as error:
                if self._failure is None or sound:
                    stateless = isinstance(error, IndexError) and not self.law.states
                    self._failure = LawError(
                        f"The law of {self.name!r} failed at {where()}: {type(error).__name__}: {error}."
                        f"{' It has no states: declare those whose rates it writes by states=.' if stateless else ''}"
                    )
                    self._failure.__cause__ = error
            except BaseException as error:  # Ctrl-C, sys.exit()
                self.stopped = error
        out[:] = np.nan
        return False

    @cached_property
    def _callback(self) -> Any:
        if self.law.entry is not None:
            return self.law.entry.ctypes
        return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_double, *[POINTER] * 4)(self)

    @property
    def address(self) -> int:
        """Address of the function for compiled code, valid during the lifetime of this object."""
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0


def first(array: Any, count: int) -> np.ndarray:
    """The first `count` numbers of an array, or of the pointer by which compiled code passes it."""
    if isinstance(array, np.ndarray):
        return array[:count]
    return np.ctypeslib.as_array(array, (count,)) if count else np.zeros(0)

"""Calls of force laws from compiled code, with a record of their failures.

Exceptions do not propagate through compiled code. A failed evaluation returns NaN, at which a step fails, and stores
its arguments in a record; it is repeated in Python for its cause.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from flexmb.errors import LawError
from flexmb.kernels.base.call import KNOWN
from flexmb.kernels.base.frame_call import compiled_law


class LawCall:
    """The call of a law by the element `name`, with a record of `count` arguments at a failure.

    Subclasses are called with the arguments of the law; they evaluate it in Python, store its failure in `_failure` or
    `stopped`, and repeat a recorded evaluation in `_repeat`.
    """

    def __init__(self, name: str, count: int) -> None:
        self.name = name
        self.stopped: BaseException | None = None
        self._failure: LawError | None = None
        self._refused = np.zeros(1 + count)  # 1 after a failure of compiled code, then its arguments

    def _repeat(self, arguments: np.ndarray) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define _repeat().")

    def answers(self, times: np.ndarray, count: int, evaluate: Callable[[float, np.ndarray], None]) -> np.ndarray:
        """The `count` numbers that `evaluate` fills in at each of `times`, (n, count), by calls from Python.

        Raises `LawError` on failure.
        """
        found = np.zeros((len(times), count))
        self.forget()
        for t, out in zip(times, found, strict=True):
            evaluate(float(t), out)
            if error := self.stopped or self._failure:
                raise error
        return found

    def forget(self) -> None:
        """Clear recorded failures at the beginning of a run."""
        self.stopped = self._failure = None
        self._refused[:] = 0.0

    @property
    def failure(self) -> LawError | None:
        """The error of the last failed evaluation, which may belong to a rejected trial step; None if none failed."""
        if self._refused[0]:
            self._refused[0] = 0.0
            self._repeat(self._refused[1:].copy())
        return self._failure

    @property
    def record(self) -> int:
        """Address of the record of failures for compiled code, valid during the lifetime of this object."""
        return self._known(self._refused.ctypes.data)

    def _known(self, address: int) -> int:
        """The address, by which this call is then known (`KNOWN`)."""
        KNOWN[address] = self
        _listen()
        return address


def repeated_law(function: Any) -> Any:
    """The function of a law for a call from Python that repeats a failed one of compiled code."""
    return compiled_law(function) if hasattr(function, "py_func") else function


def require_sound(laws: Iterable[Any]) -> None:
    """Raise the exception that interrupted one of the laws: `KeyboardInterrupt` or `SystemExit`."""
    for law in laws:
        if law.stopped is not None:
            error, law.stopped = law.stopped, None
            raise error


_listening: Callable[[Any], Any] | None = None


def _listen() -> None:
    """Install a hook for exceptions that ctypes discards: those raised by a signal before the first line of a call.

    Python reports them only to `sys.unraisablehook`, together with the object that was called.
    """
    global _listening
    if sys.unraisablehook is _listening:
        return
    before = sys.unraisablehook

    def hear(dropped: Any) -> None:
        law: Any = next((law for law in list(KNOWN.values()) if _called(law, dropped)), None)
        if law is not None:
            law.stopped = law.stopped or dropped.exc_value
        else:
            before(dropped)

    sys.unraisablehook = _listening = hear


def _called(law: Any, dropped: Any) -> bool:
    """Whether an exception was discarded in a call of `law`; Python 3.13 and later names the law only in the
    message."""
    return dropped.object is law or (dropped.object is None and repr(law) in (dropped.err_msg or ""))

"""Calls with another working directory, of one thread alone where the system allows it.

Solver libraries that write files to the working directory are called here.
"""

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
CLONE_FS = 0x200
"""Linux: what the threads of a process share about directories."""
_shared = threading.RLock()


def call_inside(directory: Path, function: Callable[[], T]) -> T:
    """The answer of `function`, called with `directory` as the working directory.

    On Linux a thread of its own calls it, and no other thread sees the change. Elsewhere, in containers that forbid
    this, and at the end of a program, the working directory of the whole process changes during the call.
    """
    answers: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        if not _own_directory():
            return
        try:
            os.chdir(directory)
            answers.append(function())
        except BaseException as error:  # raised again in the calling thread
            errors.append(error)

    with contextlib.suppress(RuntimeError):  # no new threads at the end of a program
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    if errors:
        raise errors[0]
    if answers:
        return answers[0]
    with _shared, contextlib.chdir(directory):
        return function()


def _own_directory() -> bool:
    """Whether the calling thread has a working directory of its own from now on."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return ctypes.CDLL(None).unshare(CLONE_FS) == 0
    except (OSError, AttributeError):
        return False

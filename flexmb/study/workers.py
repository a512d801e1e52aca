"""Processes that compute variants: what is sent to them, their threads, and their end when their client is gone."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

import cloudpickle
import loky
import psutil
from threadpoolctl import threadpool_limits

from flexmb.study.identity import is_installed

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS"), "1")
"""What numerical libraries read when they are loaded."""
WATCHED = 2.0
"""Seconds between two looks of a worker at its client."""
_sent: dict[str, bytes] = {}


def packed(parts: Any, for_other_hosts: bool) -> bytes:
    """Functions and values as bytes.

    `for_other_hosts`: modules of the user, which only this host can import, are sent with them.
    """
    if for_other_hosts:
        try:
            with _by_value(_own_modules()):
                return cloudpickle.dumps(parts)
        except Exception:  # a module with what cannot be sent: its name must do
            pass
    return cloudpickle.dumps(parts)


def _own_modules() -> list[ModuleType]:
    """Imported modules that belong neither to Python nor to an installed package nor to flexmb."""
    return [
        module
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType)
        and getattr(module, "__file__", None)
        and module.__name__ == name
        and not is_installed(name)
        and name != "__main__"
    ]


@contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    with ExitStack() as stack:
        for module in modules:
            if module.__name__ not in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.register_pickle_by_value(module)
                stack.callback(cloudpickle.unregister_pickle_by_value, module)
        yield


def pool(count: int, key: str, task: bytes) -> "loky.ProcessPoolExecutor":
    """Processes of this machine, each with one thread, to which the `task` is sent once."""
    return loky.ProcessPoolExecutor(count, initializer=_begin, initargs=(key, task, os.getpid()), env=ONE_THREAD)


def _begin(key: str, task: bytes, client: int) -> None:
    _sent.clear()
    _sent[key] = task
    threading.Thread(target=_end_with, args=(client,), daemon=True).start()


def _end_with(client: int) -> None:
    """End this process when its client is gone, which may be killed."""
    while _is_there(client):
        time.sleep(WATCHED)
    os._exit(1)


def _is_there(client: int) -> bool:
    """Whether the client that started this process lives.

    A killed client keeps its number until its own parent asks for its end; but the system gives its children another
    parent at once, perhaps before they have imported anything. Windows does not.
    """
    return os.getppid() == client if os.name == "posix" else psutil.pid_exists(client)


def received(key: str) -> bytes:
    """The task that this process was sent at its beginning."""
    return _sent[key]


@contextmanager
def one_thread() -> Iterator[None]:
    """Numerical libraries use one thread, those that the block loads, too."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        import scipy.linalg  # noqa: F401 - loads its OpenBLAS before the limit

        with threadpool_limits(1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

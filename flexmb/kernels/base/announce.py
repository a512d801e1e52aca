"""Tells that the step is being compiled, when it is: once on a machine."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

from numba.core.event import Listener, install_listener

LOGGER = logging.getLogger("flexmb")
PATIENCE = 3.0
"""Seconds that loading compiled code may take in silence."""
TEXT = "The time step is being compiled: half a minute, once on this machine."


class _Compiling(Listener):
    """Whether the compiler is at work."""

    def __init__(self) -> None:
        self.depth = 0

    def on_start(self, event: Any) -> None:
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1

    def tell(self) -> None:
        if self.depth:
            LOGGER.warning(TEXT)


@contextmanager
def announced() -> Iterator[None]:
    """Code compiled inside is announced by a warning to the logger "flexmb" when it takes longer than loading does."""
    compiling = _Compiling()
    timer = Timer(PATIENCE, compiling.tell)
    timer.daemon = True
    with install_listener("numba:compiler_lock", compiling):
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

"""A message for the user while kernels are compiled, which happens once on a machine."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

from numba.core.event import Listener, install_listener

LOGGER = logging.getLogger("flexmb")
PATIENCE = 3.0
"""Time in seconds after which compilation is announced; loading of compiled code takes less."""
TEXT = "The time step is being compiled. This takes about half a minute, once on this machine."


class _Compiling(Listener):
    """The number of compilations in progress, and a timer that starts with the first."""

    def __init__(self) -> None:
        self.depth = 0
        self.timer: Timer | None = None

    def on_start(self, event: Any) -> None:
        self.depth += 1
        if self.timer is None:
            self.timer = Timer(PATIENCE, self.tell)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: Any) -> None:
        self.depth -= 1

    def tell(self) -> None:
        if self.depth:
            LOGGER.warning(TEXT)

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()


@contextmanager
def announced() -> Iterator[None]:
    """Announce compilation inside the context by a warning to the logger "flexmb" if it takes longer than
    `PATIENCE`."""
    compiling = _Compiling()
    with install_listener("numba:compiler_lock", compiling):
        try:
            yield
        finally:
            compiling.stop()

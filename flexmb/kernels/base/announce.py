"""A message for the user while functions are compiled: those of the time step without the library of the package."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

from numba.core.event import Listener, install_listener

from flexmb.kernels.base.library import choice

LOGGER = logging.getLogger("flexmb")
PATIENCE = 3.0
"""Time in seconds after which compilation is announced; loading of compiled code takes less."""
STEP = "{}. This takes several minutes, once on this machine."
LAWS = "Functions of the model are being compiled."


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
            library, text = choice()
            LOGGER.warning(STEP.format(text) if library is None else LAWS)

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

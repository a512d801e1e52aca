"""Output of the commands on the screen: a console, progress bars, and warnings."""

import logging
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

console = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 160)  # for files and pipes


@contextmanager
def bars() -> Iterator[Callable[[str, float], None]]:
    """Give `say(what, fraction)`, which draws one progress bar for each `what`; show warnings as yellow lines."""
    columns = (
        TextColumn("{task.description:12}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress, yellow_warnings():
        tasks: dict[str, int] = {}

        def say(what: str, fraction: float) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=1.0)
            progress.update(tasks[what], completed=fraction)  # type: ignore[arg-type]

        yield say


@contextmanager
def yellow_warnings() -> Iterator[None]:
    """Show each warning as one line of text, without its position in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *args, **kwargs: console.print(
            f"Note: {message}", style="yellow", markup=False
        )
        yield


@contextmanager
def at_work(what: str) -> Iterator[None]:
    """Show a status line with the latest message of the package "fem"; show warnings as yellow lines."""
    logger = logging.getLogger("fem")
    level = logger.level
    with yellow_warnings(), console.status(what) as status:
        teller = _Teller(lambda text: status.update(f"{what}: {text}"))
        logger.addHandler(teller)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(teller)
            logger.setLevel(level)


class _Teller(logging.Handler):
    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(escape(record.getMessage()))


def say_text(text: object) -> None:
    """Print a text without interpreting markup."""
    console.print(str(text), markup=False, soft_wrap=True)


def say_left_out(events: Iterable[Any] | None, *, stops: bool = False) -> None:
    """Name the events of a model file that an analysis leaves out, because they act in simulations only; `stops`: these
    are left out, too, and not examined."""
    from flexmb.mechanism.features import few
    from flexmb.simulation.events import StopImpact

    names = [event.name for event in events or () if stops or not isinstance(event.do, StopImpact)]
    if names:
        say_text(f"left out, as they act in simulations only: {few(names)}")

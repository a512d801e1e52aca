"""Threads of numerical libraries that share one machine with each other and with other programs.

NumPy's and SciPy's OpenBLAS and Intel's MKL each keep a pool of threads of their own, and idle threads of one pool
keep spinning for a while on the cores that the other needs. Threads that work together wait for the slowest one, also
by spinning: if another program uses its core, all of them lose what it takes. Therefore

- OpenBLAS works in the calling thread (`one_openblas_thread`): products here are slim, limited by memory and not by
  arithmetic;
- MKL, which factorises, takes the cores that nobody else uses (`threads_for`), and its idle threads sleep;
- steps of mechanisms with many flexible bodies share their loops over bodies with threads that nobody else uses
  (`threads_for_loops`), and wait for none that has not begun;
- all else works in the calling thread.
"""

import os
import time
from contextlib import ContextDecorator
from types import TracebackType
from typing import NamedTuple

import psutil
from threadpoolctl import ThreadpoolController

LARGE = 20_000
"""Equations from which on a factorisation lasts much longer than `LOOK`, and two threads take less time than one."""
LOOK = 0.05
"""Shortest time in seconds over which the use of the cores is measured; operating systems count in steps of 0.01."""
STALE = 1.0
"""Time in seconds after which a measurement begins anew."""
DECIDED = ("MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables by which a user decides the number of threads of MKL."""


class one_openblas_thread(ContextDecorator):  # noqa: N801 - a context, and a decorator of functions
    """Within this context OpenBLAS works in the calling thread; MKL keeps its threads."""

    def _recreate_cm(self) -> "one_openblas_thread":
        return type(self)()

    def __enter__(self) -> None:
        self._limit = ThreadpoolController().select(internal_api="openblas").limit(limits=1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limit.restore_original_limits()


class Use(NamedTuple):
    """At a time in seconds: CPU seconds that all programs, and this process, have spent on its cores."""

    time: float
    all: float
    own: float


def own_cores() -> list[int]:
    """The numbers of the cores on which this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def use_of_cores() -> Use:
    """What has been used until now."""
    cores = psutil.cpu_times(percpu=True)
    spent = (cores[k] for k in own_cores() if k < len(cores))
    busy = sum(sum(core) - core.idle - getattr(core, "iowait", 0.0) - getattr(core, "guest", 0.0) for core in spent)
    own = os.times()
    return Use(time.perf_counter(), busy, own.user + own.system)


def taken_by_others(before: Use, after: Use) -> float:
    """The number of cores that other programs used, on average, between two times."""
    return max(after.all - before.all - (after.own - before.own), 0.0) / (after.time - before.time)


class _Others:
    """The latest measurement of the cores that other programs use."""

    def __init__(self) -> None:
        self.since: Use | None = None
        self.cores = 0.0

    def look(self) -> float:
        """The number of cores since the last look; the first look lasts `LOOK` seconds."""
        now = use_of_cores()
        if self.since is None or now.time - self.since.time > STALE:
            time.sleep(LOOK)
            self.since, now = now, use_of_cores()
        if now.time - self.since.time >= LOOK:
            self.cores, self.since = taken_by_others(self.since, now), now
        return self.cores


_others = _Others()


def threads_for(equations: int, most: int) -> int:
    """The number of threads of MKL for a factorisation or a solution: `most`, which MKL would take, where the
    environment decides it; otherwise one for a small system, and for others one for each core that nobody else uses."""
    if most <= 1 or any(name in os.environ for name in DECIDED):
        return most
    if equations < LARGE:
        return 1
    return max(1, min(most, int(len(own_cores()) - _others.look() + 0.5)))


def threads_for_loops(most: int) -> int:
    """The number of threads for loops that last long: what the environment decides for MKL or OpenMP, otherwise one for
    each core that nobody else uses; at most `most`."""
    decided = [os.environ[name] for name in DECIDED if name in os.environ]
    numbers = [int(text) for text in decided if text.isdigit()]
    if decided:
        return max(1, min(most, *numbers)) if numbers else 1
    return max(1, min(most, int(len(own_cores()) - _others.look() + 0.5)))

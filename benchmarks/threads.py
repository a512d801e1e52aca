"""A reduction and its second-order field with the threads that flexmb chooses, beside a program that takes one core and without it, over the same with one thread."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from benchmarks.parts import steel_block
from benchmarks.process import in_own_process, measured
from benchmarks.row import Row

COMMAND = "python -m benchmarks threads"
PAIRS = 5
SIZE, MODES = "80k", 30
BESIDE = 1.1
"""Largest ratio beside a busy program: the error of a median of pairs, for what must not be slower than one thread."""
ALONE = 1 / 1.5
"""The same without one, where two cores are free."""


def run() -> list[Row]:
    """Medians of ratios of pairs that alternate."""
    rows = []
    for what, programs, goal in (("beside busy programs", free_cores() - 1, BESIDE), ("alone", 0, ALONE)):
        with busy(programs):
            pairs = [[in_own_process(__name__, threads=count) for count in (None, 1)] for _ in range(PAIRS)]
        for quantity in ("wall", "cpu"):
            ratio = median(ours[quantity] / one[quantity] for ours, one in pairs)
            one = median(one[quantity] for _, one in pairs)
            limit = goal if quantity == "wall" else 1.3
            rows.append(
                Row(
                    f"threads: reduction, {what}, chosen / one thread",
                    ratio * one,
                    one,
                    limit,
                    f"s {quantity}",
                    COMMAND,
                )
            )
    return rows


def free_cores() -> int:
    """The number of cores on which this process may run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Within a `with`, so many programs take a core each."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def main() -> None:
    """In a process of its own: `python -m benchmarks.threads` prints one JSON object."""
    import reduction

    part = steel_block(SIZE).with_interfaces(a="x0", b="x1")
    part.K, part.M  # noqa: B018  assembled on first use
    _, cost = measured(lambda: reduction.second_order(part, reduction.craig_bampton(part, MODES)))
    print(json.dumps(cost))


if __name__ == "__main__":
    main()

"""What is stored of a motion: a table of a known size, in memory or in a file."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fem.errors import FlexmbError
from flexmb.integrators.integrator import Snapshot
from flexmb.mechanism import Mechanism
from flexmb.result import Ledger, Result, Statistics


class HistoryError(FlexmbError, OSError):
    """A history cannot be kept in a file."""


class History:
    """One row of numbers for each time to store.

    In a file, whose whole size is taken at the start, a row costs a copy: the operating system writes it when it has time, and memory stays free for others,
    however long the run. What was stored before a process died is there, rows of zeros after it.
    """

    def __init__(self, mechanism: Mechanism, count: int, path: str | Path | None = None) -> None:
        first = mechanism.initial
        widths = (1, len(first.q), len(first.w), len(first.w), mechanism.joint_rows, 4, 4)
        ends = np.cumsum(widths)
        self._mechanism, self._filled = mechanism, 0
        self._parts = [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]
        shape = (count, int(ends[-1]))
        self._table = np.zeros(shape) if path is None else _table_in(Path(path), shape)

    def store(self, snapshot: Snapshot) -> None:
        """The next row."""
        row = self._table[self._filled]
        for part, value in zip(self._parts, snapshot, strict=True):
            row[part] = value
        self._filled += 1

    def result(self, statistics: Statistics) -> Result:
        """All of it; arrays are views of the table."""
        t, q, w, wdot, multipliers, work, energies = (self._table[:, part] for part in self._parts)
        ledger = Ledger(t[:, 0], *energies.T, *work.T)
        return Result(self._mechanism, t[:, 0], q, w, wdot, multipliers, ledger, statistics)


def _table_in(path: Path, shape: Sequence[int]) -> np.ndarray:
    size = 8 * int(np.prod(shape))
    try:
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise HistoryError(
            f"The history of {size / 1e6:.3g} MB cannot be kept in {path}: {error.strerror}. Free space there, name another file, or store fewer times (output_step)."
        ) from None
    return np.memmap(path, dtype=float, mode="r+", shape=tuple(shape))

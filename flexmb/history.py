"""What is stored of a motion: tables of a known size, in memory or in a file."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fem.errors import FlexmbError
from flexmb.integrators.snapshot import Snapshot
from flexmb.mechanism import Mechanism
from flexmb.result import Happening, Ledger, Result, Statistics

CHUNK = 2**21
"""Numbers written at a time."""


class HistoryError(FlexmbError, OSError):
    """A history cannot be kept in a file."""


class History:
    """A table for each quantity, one row a time.

    In a file, whose whole size is taken at the start, a row costs a copy: the operating system writes it when it has time, and memory stays free for others,
    however long the run. What was stored before a process died is there, rows of zeros after it.
    """

    def __init__(self, mechanism: Mechanism, count: int, path: str | Path | None = None) -> None:
        first = mechanism.initial
        widths = np.array([1, len(first.q), len(first.w), len(first.w), mechanism.joint_rows, 4, 4, 1])
        numbers = count * int(widths.sum())
        whole = np.zeros(numbers) if path is None else _numbers_in(Path(path), numbers)
        parts = np.split(whole, np.cumsum(count * widths)[:-1])
        self._tables = [part.reshape(count, width) for part, width in zip(parts, widths, strict=True)]
        self._mechanism, self._filled = mechanism, 0

    def store(self, snapshot: Snapshot) -> None:
        """The next row of every table."""
        for table, value in zip(self._tables, snapshot, strict=True):
            table[self._filled] = value
        self._filled += 1

    def result(self, statistics: Statistics, happened: Sequence[Happening] = ()) -> Result:
        """All that was stored; arrays are the tables."""
        t, q, w, wdot, multipliers, work, energies, lost = (table[: self._filled] for table in self._tables)
        ledger = Ledger(t[:, 0], *np.hstack([energies, work, lost]).T)
        return Result(self._mechanism, t[:, 0], q, w, wdot, multipliers, ledger, statistics, tuple(happened))


def _numbers_in(path: Path, count: int) -> np.ndarray:
    try:
        with path.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, 8 * count)
            else:  # no such call: write it once
                for first in range(0, count, CHUNK):
                    file.write(bytes(8 * min(CHUNK, count - first)))
    except OSError as error:
        path.unlink(missing_ok=True)
        raise HistoryError(
            f"The history of {8e-6 * count:.3g} MB cannot be kept in {path}: {error.strerror}. Free space there, name another file, or store fewer times (output_step)."
        ) from None
    return np.memmap(path, dtype=float, mode="r+", shape=(count,))

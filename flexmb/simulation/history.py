"""Storage of a motion in tables of a fixed size, in memory or in a file.

A history file begins with `HEADER` bytes: the word `MAGIC` and one line of JSON with the number of stored times and the
widths of the tables. The tables follow one after the other, with rows of doubles in the byte order of the machine; each
has space for all requested times.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np
import psutil

from fem.user_files import real_path, unfinished
from flexmb.equations.snapshot import Snapshot, Snapshots
from flexmb.errors import HistoryError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.ledger import ledger_of
from flexmb.results.result import EventRecord, Result, Statistics
from flexmb.results.verdict import iteration_energy, round_off_energy

CHUNK = 2**21
"""Numbers per write."""
HEADER = 4096
MAGIC = b"flexmb history\n"


class History:
    """A table for each quantity, with one row per stored time.

    The file is allocated in full at the start and mapped into memory. To store a row is to copy it: the operating
    system writes it later, and the run occupies little memory, however long it is. The file is written beside `path`
    and renamed in `result`, so that an older history is preserved until the run is complete. An exception in the
    context removes the file. A process that is killed leaves the file `.NAME.*.part`, with rows of zeros after the last
    stored time, until the next run with the same history removes it.
    """

    def __init__(self, mechanism: Mechanism, count: int, path: str | Path | None = None) -> None:
        first = mechanism.initial
        nv, nj, na, nz = len(first.w), mechanism.joint_rows, len(mechanism.turning), len(mechanism.initial_states)
        widths = np.array([1, len(first.q), nv, nv, nj, 4, 5, na, 1, nz])
        numbers = count * int(widths.sum())
        if path is None and 8 * numbers > (available := psutil.virtual_memory().available):
            raise HistoryError(
                f"The motion at {count} stored times takes {8e-9 * numbers:.3g} GB, and {1e-9 * available:.3g} GB of "
                "memory are available. Store fewer times (output_step), or in a file (history=...)."
            )
        self._file = None if path is None else _HistoryFile(Path(path), numbers)
        whole = np.zeros(numbers) if self._file is None else self._file.numbers
        parts = np.split(whole, np.cumsum(count * widths)[:-1])
        self._tables = [part.reshape(count, width) for part, width in zip(parts, widths, strict=True)]
        self._mechanism, self._filled = mechanism, 0

    def __enter__(self) -> "History":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._file is not None:
            self._file.remove()

    def store(self, snapshot: Snapshot) -> None:
        """Append a snapshot to the tables."""
        for table, value in zip(self._tables, snapshot, strict=True):
            table[self._filled] = value
        self._filled += 1

    def store_all(self, snapshots: Snapshots) -> None:
        """Append several snapshots, without impacts between them, to the tables."""
        reached = self._filled + len(snapshots.t)
        for name, table in zip(Snapshot._fields, self._tables, strict=True):
            if name == "lost":
                table[self._filled : reached] = 0.0
            else:
                rows = getattr(snapshots, name)
                table[self._filled : reached] = rows[:, None] if rows.ndim == 1 else rows
        self._filled = reached

    def result(self, statistics: Statistics, happened: Sequence[EventRecord] = (), *, tolerance: float = 0.0) -> Result:
        """The result, whose arrays are the tables. A file is given its final name.

        `tolerance`: that of variable steps, 0 for fixed ones.
        """
        if self._file is not None:
            self._file.publish(
                self._filled, dict(zip(Snapshot._fields, (t.shape[1] for t in self._tables), strict=True))
            )
        filled = (table[: self._filled] for table in self._tables)
        t, q, w, wdot, multipliers, work, energies, angles, lost, states = filled
        left = iteration_energy(
            self._mechanism,
            states,
            duration=float(t[-1, 0] - t[0, 0]),
            steps=statistics.steps,
            longest=statistics.largest_step,
            tolerance=tolerance,
        )
        rounded = round_off_energy(self._mechanism, q, multipliers)
        ledger = ledger_of(t[:, 0], energies, work, lost[:, 0], rounded + left)
        return Result(
            self._mechanism,
            t[:, 0],
            q,
            w,
            wdot,
            multipliers,
            angles,
            states,
            ledger,
            statistics,
            tuple(happened),
        )


class _HistoryFile:
    """A file of `numbers`, under a temporary name until it is published."""

    def __init__(self, path: Path, count: int) -> None:
        size = HEADER + 8 * count
        try:
            self._path = real_path(path)
            require_own(self._path)
            self._part = unfinished(self._path)
        except OSError as error:
            raise HistoryError(f"The history cannot be stored in {str(path)!r}: {error.strerror}.") from None
        try:
            with self._part.open("xb") as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:  # without this call, write zeros
                    for first in range(0, size, 8 * CHUNK):
                        file.write(bytes(min(8 * CHUNK, size - first)))
        except OSError as error:
            self.remove()
            raise HistoryError(
                f"The history of {1e-6 * size:.3g} MB cannot be stored in {path}: {error.strerror}. Free space there, "
                "name another file, or store fewer times (output_step)."
            ) from None
        self._bytes = np.memmap(self._part, dtype=np.uint8, mode="r+", shape=(size,))
        self._bytes[: len(MAGIC)] = np.frombuffer(MAGIC, np.uint8)
        self.numbers = self._bytes[HEADER:].view(float)

    def publish(self, times: int, widths: dict[str, int]) -> None:
        """Complete the header and rename the file to its final name, replacing an older history.

        Raises `HistoryError` when the file cannot be renamed.
        """
        header = MAGIC + json.dumps({"format": 1, "times": times, "widths": widths}).encode()
        self._bytes[: len(header)] = np.frombuffer(header, np.uint8)
        self._bytes.flush()
        require_own(self._path)
        try:
            self._part.replace(self._path)
        except OSError as error:
            raise HistoryError(f"The history cannot be renamed to {self._path}: {error.strerror}.") from None

    def remove(self) -> None:
        """Delete the temporary file; a file at the final path is not changed."""
        with suppress(OSError):
            self._part.unlink(missing_ok=True)


def require_own(path: str | Path | None) -> None:
    """Raises `HistoryError` when something other than a history exists at the path, which a new history would
    replace."""
    if path is None or not os.path.lexists(path):
        return
    if not _is_history(Path(path)):
        raise HistoryError(
            f"{path} exists and is not a history of flexmb; a history there would replace it. Nothing was changed. "
            "Name another file (history=...), or move the existing one."
        )


def _is_history(path: Path) -> bool:
    if not path.is_file():  # a folder, a device, a broken link
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False

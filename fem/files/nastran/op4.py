"""OUTPUT4 files of Nastran: matrices by name, in text or binary, in any byte order, dense or sparse.

A file holds one matrix after another, each a header, its columns, and an empty column beyond the last. A dense column
is one run of values from its first nonzero row on; a sparse column is several such runs, each with a header of its own,
of one word or (BIGMAT) two. Binary files are Fortran records with words of 4 or 8 bytes.
Source: MSC Nastran DMAP Programmer's Guide, module OUTPUT4, and Quick Reference Guide, ASSIGN.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from fem.errors import MatrixError

COMPLEX = (3, 4)
SINGLE = (1, 3)
HEADERS = {24: 4, 48: 8}
"""Length of a binary header in bytes -> that of a word."""
MOST_ROWS = 65535
"""More make the headers of runs those of BIGMAT."""


@dataclass
class Matrix:
    """Header of a matrix and, while it is read, its runs of values; also for OUTPUT2 files."""

    columns: int
    rows: int
    kind: int
    name: str
    big: bool
    starts: list[tuple[int, int]] = field(default_factory=list)
    runs: list[np.ndarray] = field(default_factory=list)

    @staticmethod
    def begun(columns: int, rows: int, kind: int, name: str) -> "Matrix":
        """A matrix without values yet. Raises `ValueError` for a header that no matrix has."""
        if kind not in (1, 2, 3, 4) or columns <= 0 or rows == 0:
            raise ValueError(f"the header of matrix {name!r} states {rows} rows, {columns} columns and type {kind}")
        return Matrix(columns, abs(rows), kind, name.strip(), rows < 0 or rows > MOST_ROWS)

    def add(self, row: int, column: int, numbers: np.ndarray) -> None:
        """A run of numbers down a column, from a row (both counted from 1). Raises `ValueError` for one that the matrix
        has no place for."""
        length = len(numbers) // (2 if self.kind in COMPLEX else 1)
        if row < 1 or column < 1 or row + length - 1 > self.rows or column > self.columns:
            raise ValueError(
                f"{length} values from row {row} of column {column} are outside of {self.name!r}, {self.rows} by "
                f"{self.columns}"
            )
        self.starts.append((row - 1, column - 1))
        self.runs.append(numbers[0::2] + 1j * numbers[1::2] if self.kind in COMPLEX else numbers)

    def assembled(self) -> sp.coo_array:
        """The matrix. Raises `ValueError` where a value is given twice."""
        lengths = np.array([len(run) for run in self.runs], dtype=np.int64)
        starts = np.array(self.starts, dtype=np.int64).reshape(-1, 2)
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        row, column = np.repeat(starts, lengths, axis=0).T
        row = row + within
        order = np.lexsort((row, column))
        twice = np.flatnonzero((np.diff(row[order]) == 0) & (np.diff(column[order]) == 0))
        if len(twice):
            k = order[twice[0]]
            raise ValueError(f"the value in row {row[k] + 1} of column {column[k] + 1} of {self.name!r} is given twice")
        values = np.concatenate([np.zeros(0), *self.runs])
        return sp.coo_array((values, (row, column)), shape=(self.rows, self.columns))


def read_op4(path: Path) -> list[tuple[str, sp.coo_array]]:
    """Names and matrices of a file, in their order; a name can occur more than once.

    Raises `MatrixError` when it is no OUTPUT4 file, or ends early.
    """
    data = path.read_bytes()
    found: list[tuple[str, sp.coo_array]] = []
    try:
        binary = [order for order in "<>" if len(data) >= 4 and struct.unpack(f"{order}i", data[:4])[0] in HEADERS]
        for matrix in _binary(data, binary[0]) if binary else _text(data.decode("ascii").splitlines()):
            found.append((matrix.name, matrix.assembled()))
    except (ValueError, IndexError, KeyError, struct.error) as error:  # decoding errors are ValueErrors
        after = f", after matrix {found[-1][0]!r}" if found else ""
        raise MatrixError(f"{path} cannot be read as an OUTPUT4 file{after}: {error}.") from None
    if not found:
        raise MatrixError(f"{path} holds no matrix.")
    return found


def _text(lines: list[str]) -> Iterator[Matrix]:
    """Lines of integers in fields of 8 and of numbers in fields whose width the header states (1P,3E23.16)."""
    at = 0
    while at < len(lines) and lines[at].strip():
        head, form = lines[at], lines[at][40:].upper()
        columns, rows, _, kind = (int(head[k : k + 8]) for k in range(0, 32, 8))
        width = int(form.replace("D", "E").split("E")[1].split(".")[0])
        matrix = Matrix.begun(columns, rows, kind, head[32:40])
        column = row = 0
        at += 1
        while True:
            integers = [int(word) for word in lines[at].split()]
            at += 1
            if len(integers) == 3:
                column, row = integers[:2]
                if column > columns:
                    break
                if row == 0:
                    continue  # the header of a run follows
            elif len(integers) == 2:
                row = integers[1]
            else:
                row = integers[0] % (MOST_ROWS + 1)
            numbers: list[float] = []
            while "." in lines[at]:
                line = lines[at].rstrip().upper().replace("D", "E")
                numbers += [float(line[k : k + width]) for k in range(0, len(line), width)]
                at += 1
            matrix.add(row, column, np.array(numbers))
        at += 1  # the number of the empty column
        yield matrix


def _binary(data: bytes, order: str) -> Iterator[Matrix]:
    """Fortran records: each between two counts of its bytes."""
    view, at = memoryview(data), 0

    def record() -> memoryview:
        nonlocal at
        (size,) = struct.unpack_from(f"{order}i", view, at)
        inside = view[at + 4 : at + 4 + size]
        if struct.unpack_from(f"{order}i", view, at + 4 + size)[0] != size:
            raise ValueError(f"the record at byte {at} does not end with its length")
        at += size + 8
        return inside

    while at < len(view):
        head = record()
        word = HEADERS[len(head)]
        integer = np.dtype(f"{order}i{word}")
        columns, rows, _, kind = map(int, np.frombuffer(head[: 4 * word], integer))
        name = bytes(head[4 * word :]).decode("ascii")
        matrix = Matrix.begun(
            columns, rows, kind, name[0:4] + name[8:12] if word == 8 and name[4:8].isspace() else name
        )
        number = np.dtype(f"{order}f{4 if word == 4 and kind in SINGLE else 8}")
        while True:
            inside = record()
            column, row, words = map(int, np.frombuffer(inside[: 3 * word], integer))
            if column > columns:
                break
            values = inside[3 * word : (3 + words) * word]
            if row > 0:
                matrix.add(row, column, np.frombuffer(values, number).astype(float))
                continue
            while len(values):
                if matrix.big:
                    length, row = map(int, np.frombuffer(values[: 2 * word], integer))
                    values = values[2 * word :]
                else:
                    length, row = divmod(int(np.frombuffer(values[:word], integer)[0]), MOST_ROWS + 1)
                    values = values[word:]
                size = (length - 1) * word
                matrix.add(row, column, np.frombuffer(values[:size], number).astype(float))
                values = values[size:]
        yield matrix

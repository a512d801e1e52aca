"""OUTPUT2 files of Nastran: the matrices among their data blocks, in any byte order, of words of 4 or 8 bytes.

A file is a sequence of Fortran records, each between two counts of its bytes; a record of one word is a marker. A data
block is

    2, its name, -1, 7, seven words (number, columns, rows, form, type, ...), then groups -2, -3, ... and 0,

each group a negative marker, 1 and its kind: 0 for words of a table, 1 for a column of a matrix, which follow as
pairs of their number of words and a record, until the next negative marker. A column consists of runs of values, each
after the number of its first row. The last group has the kind 0 and no record.
Source: MSC Nastran DMAP Programmer's Guide, module OUTPUT2, and bytes of files that Nastran wrote.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from fem.errors import MatrixError
from fem.files.nastran.op4 import SINGLE, Matrix

COLUMN = 1
"""The kind of a group that is a column of a matrix."""


def read_op2(path: Path) -> list[tuple[str, sp.coo_array]]:
    """Names and matrices of a file, in their order; other data blocks are passed over. A name can occur more than once.

    Raises `MatrixError` when it is no OUTPUT2 file, or ends early.
    """
    data = path.read_bytes()
    found: list[tuple[str, sp.coo_array]] = []
    try:
        for matrix in _matrices(data):
            found.append((matrix.name, matrix.assembled()))
    except (ValueError, IndexError, struct.error) as error:
        after = f", after matrix {found[-1][0]!r}" if found else ""
        raise MatrixError(f"{path} cannot be read as an OUTPUT2 file{after}: {error}.") from None
    if not found:
        raise MatrixError(f"{path} holds no matrix; OUTPUT2 files with results alone have none.")
    return found


class _Records:
    """The records of a file, in their order."""

    def __init__(self, data: bytes) -> None:
        self.view, self.at = memoryview(data), 0
        forms = [(order, word) for order in "<>" for word in (4, 8) if data[:4] == struct.pack(f"{order}i", word)]
        if not forms:
            raise ValueError("it does not begin with a marker of one word")
        self.order, self.word = forms[0]

    def __bool__(self) -> bool:
        return self.at < len(self.view)

    def take(self) -> memoryview:
        """The next record."""
        (size,) = struct.unpack_from(f"{self.order}i", self.view, self.at)
        after = self.at + 4 + size
        if size < 0 or struct.unpack_from(f"{self.order}i", self.view, after)[0] != size:
            raise ValueError(f"the record at byte {self.at} does not end with its length")
        inside, self.at = self.view[self.at + 4 : after], after + 4
        return inside

    def integers(self) -> list[int]:
        """The next record as whole numbers."""
        return [int(k) for k in np.frombuffer(self.take(), f"{self.order}i{self.word}")]

    def marker(self, *expected: int) -> int:
        """The next record, which must be a marker, and one of those `expected` if any are given."""
        at, found = self.at, self.integers()
        if len(found) != 1 or (expected and found[0] not in expected):
            raise ValueError(f"at byte {at}, a marker {' or '.join(map(str, expected))} should stand, found {found}")
        return found[0]


def _matrices(data: bytes) -> Iterator[Matrix]:
    records = _Records(data)
    while records:
        start = records.marker()
        if start == 3:  # a label of the file: date, text, name, end
            records.take()
            records.marker(7)
            records.take()
            records.marker(2)
            _name(records)
            records.marker(0)
        elif start == 2:
            matrix = _block(records)
            if matrix is not None:
                yield matrix
        elif start != 0:
            raise ValueError(f"a data block begins with 2; found {start} before byte {records.at}")


def _block(records: _Records) -> Matrix | None:
    """A data block, after its first marker; None for a table."""
    name = _name(records)
    records.marker(7)
    _, columns, rows, _, kind, *_ = records.integers()
    matrix: Matrix | None = None
    group, column = records.marker(-2), 0
    while True:
        records.marker(1)
        kept = records.marker(0, COLUMN) == COLUMN
        if kept:
            matrix = matrix or Matrix.begun(columns, rows, kind, name)
            column += 1
        empty, group = True, group - 1
        while (count := records.marker()) > 0:
            inside, empty = records.take(), False
            if len(inside) != (count + kept) * records.word:  # the row of a run is not counted
                raise ValueError(f"a record of {count} words has {len(inside)} bytes before byte {records.at}")
            if kept and matrix is not None:
                _add_run(matrix, records, inside, column)
        if count == 0 and not kept and empty:
            return matrix
        if count != group:
            raise ValueError(f"group {group} of {name.strip()!r} should follow, found {count} before byte {records.at}")


def _name(records: _Records) -> str:
    """The name of a data block, or of the file; the version of the program may stand beside it."""
    name = bytes(records.take()).decode("ascii")
    while records.marker() > 0:
        records.take()
    return name[:4] + name[8:12] if records.word == 8 else name


def _add_run(matrix: Matrix, records: _Records, inside: memoryview, column: int) -> None:
    word, order = records.word, records.order
    row = int(np.frombuffer(inside[:word], f"{order}i{word}")[0])
    size = 4 if word == 4 and matrix.kind in SINGLE else 8
    numbers = np.frombuffer(inside[word:], f"{order}f{size}").astype(float)
    matrix.add(row, column, numbers)

"""The form of a matrix that factorisations store, and checks before any solver library receives it; errors name the
row.

The functions work on slices of rows, so that only the stored copy takes memory beside the matrix itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int, Shaped

from fem.errors import FactorisationError, MatrixError
from fem.linear_algebra.factorisations.record import Kind

ASYMMETRY = 1e-9  # |A - A^T| allowed, relative to the size of a row
SLICE = 2**21  # entries of a slice of rows
MAX_ENTRIES = 2**31 - 1  # 32-bit row pointers


@dataclass(frozen=True, eq=False)
class PreparedMatrix:
    """A matrix in the form that solver libraries take.

    `part` contains the upper triangle of symmetric kinds, every diagonal entry included, and all of a general matrix;
    sorted, with 32-bit indices, and arrays of its own. `entries`: number of entries of the whole matrix.
    """

    kind: Kind
    part: sp.csr_matrix
    entries: int

    @property
    def n(self) -> int:
        """Number of equations."""
        return int(self.part.shape[0])

    @property
    def dtype(self) -> np.dtype:
        """float64 or complex128."""
        return np.dtype(self.part.dtype)

    def multiply(self, X: Shaped[np.ndarray, "n k"]) -> Shaped[np.ndarray, "n k"]:
        """The whole matrix times X."""
        if self.kind == "general":
            return np.asarray(self.part @ X)
        return np.asarray(self.part @ X + self.part.T @ X - self.part.diagonal()[:, None] * X)

    def whole(self) -> sp.csr_matrix:
        """The whole matrix."""
        if self.kind == "general":
            return self.part
        return sp.csr_matrix(self.part + self.part.T - sp.diags_array(self.part.diagonal()))


def prepare(
    A: sp.spmatrix | sp.sparray | np.ndarray, kind: Kind, keep: Int[np.ndarray, " k"] | None = None
) -> PreparedMatrix:
    """Check A, or its rows and columns `keep` (ascending), and store it in the form that solver libraries take.

    A is neither changed nor needed afterwards. Raises MatrixError when it cannot be factorised as a matrix of this
    kind.
    """
    A = _rows_of_numbers(A, kind)
    if kind != "general":
        _insist_on_symmetry(A, kind)
    n = A.shape[0] if keep is None else len(keep)
    symmetric = kind != "general"
    room = (A.nnz if not symmetric else A.nnz // 2 + A.shape[0]) + n
    values, columns = np.empty(room, A.dtype), np.empty(room, np.int32)
    pointers, entries, end = np.zeros(n + 1, np.int64), 0, 0
    for first, rows in _slices(A, keep):
        entries += rows.nnz
        _insist_on_rows(rows, first, n, kind)
        if symmetric:
            rows = _upper(rows, first)
        start, end = end, end + rows.nnz
        if end > MAX_ENTRIES:
            raise MatrixError(
                f"The matrix has more than {MAX_ENTRIES} stored entries, the most that solver libraries take. Use a "
                "coarser mesh, or split the part at interfaces and reduce the pieces."
            )
        if end > len(values):  # not symmetric in what is stored
            values, columns = (np.concatenate([a, np.empty_like(a, shape=room)]) for a in (values, columns))
        values[start:end], columns[start:end] = rows.data, rows.indices
        pointers[first + 1 : first + 1 + rows.shape[0]] = start + rows.indptr[1:]
    for array in (values, columns):
        array.resize(end, refcheck=False)
    part = sp.csr_matrix((values, columns, pointers.astype(np.int32)), shape=(n, n))
    part.has_canonical_format = True
    return PreparedMatrix(kind, part, entries)


def _rows_of_numbers(A: sp.spmatrix | sp.sparray | np.ndarray, kind: Kind) -> sp.csr_matrix:
    """A as compressed rows of finite float64 or complex128, sorted, without duplicates; it shares A's arrays where they
    are right already."""
    if len(A.shape) != 2 or A.shape[0] != A.shape[1] or A.shape[0] == 0:
        raise MatrixError(f"A matrix to factorise must be square and not empty; got shape {A.shape}.")
    if A.dtype.kind not in "buifc":
        raise MatrixError(f"A matrix to factorise must hold numbers; got dtype {A.dtype}.")
    A = sp.csr_matrix(A)
    if A.dtype.kind == "c" and kind in ("positive-definite", "symmetric"):
        raise MatrixError(
            f"Kind {kind!r} means a real matrix, this one is complex: use 'complex-symmetric' or 'general'."
        )
    A = A.astype(np.complex128 if A.dtype.kind == "c" or kind == "complex-symmetric" else np.float64, copy=False)
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()  # sorts as well
    if not np.isfinite(A.data).all():
        row = int(np.searchsorted(A.indptr, np.flatnonzero(~np.isfinite(A.data))[0], side="right")) - 1
        raise MatrixError(f"The matrix holds NaN or infinite values (first in row {row}); check material and mesh.")
    return A


def _slices(A: sp.csr_matrix, keep: np.ndarray | None = None) -> Iterator[tuple[int, sp.csr_matrix]]:
    """Slices of rows: the number of the first, and the rows; of the submatrix of rows and columns `keep` where it is
    given."""
    n = A.shape[0]
    count = max(1, int(SLICE * n / max(A.nnz, 1)))
    if keep is None:
        for first in range(0, n, count):
            pointers = A.indptr[first : first + count + 1]
            inside = slice(pointers[0], pointers[-1])
            yield (
                first,
                sp.csr_matrix(
                    (A.data[inside], A.indices[inside], pointers - pointers[0]), shape=(len(pointers) - 1, n)
                ),
            )
        return
    place = np.full(n, -1, np.int32)
    place[keep] = np.arange(len(keep))
    for first in range(0, len(keep), count):
        rows = A[keep[first : first + count]]
        columns = place[rows.indices]
        inside = columns >= 0
        pointers = np.concatenate([[0], np.cumsum(inside)])[rows.indptr]
        yield first, sp.csr_matrix((rows.data[inside], columns[inside], pointers), shape=(rows.shape[0], len(keep)))


def _row_numbers(rows: sp.csr_matrix) -> np.ndarray:
    return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))


def _upper(rows: sp.csr_matrix, first: int) -> sp.csr_matrix:
    """The entries of a slice on and right of the diagonal, with an explicit zero wherever the diagonal has none."""
    number = first + _row_numbers(rows)
    on = np.bincount(number[rows.indices == number] - first, minlength=rows.shape[0])
    bare = np.flatnonzero(on == 0)
    if len(bare):
        triplets = (
            np.concatenate([rows.data, np.zeros(len(bare))]),
            (np.concatenate([number - first, bare]), np.concatenate([rows.indices, first + bare])),
        )
        return _upper(sp.csr_matrix(triplets, shape=rows.shape), first)
    inside = rows.indices >= number
    pointers = np.concatenate([[0], np.cumsum(inside)])[rows.indptr]
    return sp.csr_matrix((rows.data[inside], rows.indices[inside], pointers), shape=rows.shape)


def _insist_on_rows(rows: sp.csr_matrix, first: int, n: int, kind: Kind) -> None:
    """Every equation has an entry, and a positive diagonal where the matrix is to be positive definite."""
    number = _row_numbers(rows)
    empty = np.flatnonzero(np.bincount(number, np.abs(rows.data), rows.shape[0]) == 0.0)
    if len(empty):
        raise FactorisationError(
            f"The matrix is singular: some of its {n} rows are zero (first: {first + empty[0]}, counted from 0). "
            "Such a dof has no stiffness: remove nodes that belong to no element, or hold the dof."
        )
    if kind == "positive-definite":
        on = rows.indices == first + number
        diagonal = np.bincount(number[on], rows.data[on], rows.shape[0])
        wrong = np.flatnonzero(diagonal <= 0.0)
        if len(wrong):
            raise FactorisationError(
                f"The matrix is not positive definite: some of its {n} diagonal entries are not positive (first: "
                f"equation {first + wrong[0]}, counted from 0). Look for inverted elements or a negative modulus; a "
                "matrix meant to be indefinite needs kind='symmetric'."
            )


def _insist_on_symmetry(A: sp.csr_matrix, kind: Kind) -> None:
    """A = A^T up to round-off, seen through one random vector (no transpose is formed)."""
    v = np.random.default_rng(0).uniform(0.5, 1.5, A.shape[0])
    difference, bound = np.zeros(A.shape[0], A.dtype), np.zeros(A.shape[0])
    for first, rows in _slices(A):
        here = slice(first, first + rows.shape[0])
        size = sp.csr_matrix((np.abs(rows.data), rows.indices, rows.indptr), shape=rows.shape)
        difference[here] += rows @ v
        difference -= rows.T @ v[here]
        bound[here] += size @ v
        bound += size.T @ v[here]
    if (np.abs(difference) <= ASYMMETRY * bound).all():
        return
    apart = abs(A - A.T).tocoo()
    worst = int(np.argmax(apart.data))
    i, j = int(apart.row[worst]), int(apart.col[worst])
    raise MatrixError(
        f"The matrix is not symmetric, as kind={kind!r} promises: A[{i}, {j}] = {A[i, j]:.6g} but "
        f"A[{j}, {i}] = {A[j, i]:.6g}. Give the whole matrix, not one triangle "
        "(A + A.T - diag(A) completes it), or use kind='general'."
    )

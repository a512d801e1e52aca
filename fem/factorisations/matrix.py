"""Checks of a matrix before any solver library sees it: what is wrong is said in words, with the row."""

import numpy as np
import scipy.sparse as sp

from fem.errors import FactorisationError, MatrixError
from fem.factorisations.record import Kind

ASYMMETRY = 1e-9  # |A - A^T| allowed, relative to the size of a row


def checked(A: sp.spmatrix | sp.sparray | np.ndarray, kind: Kind) -> sp.csr_matrix:
    """A as compressed rows of float64 or complex128, sorted, without duplicates; or an error that says why.

    A is not written to; the result shares its arrays where they are right already.
    """
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
    _insist_on_rows(A, kind)
    if kind != "general":
        _insist_on_symmetry(A, kind)
    return A


def _insist_on_rows(A: sp.csr_matrix, kind: Kind) -> None:
    """Every equation has an entry, and a positive diagonal where the matrix is to be positive definite."""
    scale = np.add.reduceat(np.append(np.abs(A.data), 0.0), A.indptr[:-1]) * (np.diff(A.indptr) > 0)
    empty = np.flatnonzero(scale == 0.0)
    if len(empty):
        raise FactorisationError(
            f"The matrix is singular: {len(empty)} of its rows are zero (first: {empty[0]}, counted from 0). "
            "Such a dof has no stiffness: remove nodes that belong to no element, or hold the dof."
        )
    if kind == "positive-definite":
        wrong = np.flatnonzero(A.diagonal() <= 0.0)
        if len(wrong):
            raise FactorisationError(
                f"The matrix is not positive definite: {len(wrong)} of its diagonal entries are not "
                f"positive (first: equation {wrong[0]}, counted from 0). Look for inverted elements or a negative "
                "modulus; a matrix meant to be indefinite needs kind='symmetric'."
            )


def _insist_on_symmetry(A: sp.csr_matrix, kind: Kind) -> None:
    """A = A^T up to round-off, seen through one random vector (two products, no transpose is formed)."""
    v = np.random.default_rng(0).uniform(0.5, 1.5, A.shape[0])
    size = sp.csr_matrix((np.abs(A.data), A.indices, A.indptr), shape=A.shape)
    bound = ASYMMETRY * (size @ v)
    if (np.abs(A @ v - A.T @ v) <= bound + ASYMMETRY * (size.T @ v)).all():
        return
    difference = abs(A - A.T).tocoo()
    worst = int(np.argmax(difference.data))
    i, j = int(difference.row[worst]), int(difference.col[worst])
    raise MatrixError(
        f"The matrix is not symmetric, as kind={kind!r} promises: A[{i}, {j}] = {A[i, j]:.6g} but "
        f"A[{j}, {i}] = {A[j, i]:.6g}. Give the whole matrix, not one triangle "
        "(A + A.T - diag(A) completes it), or use kind='general'."
    )

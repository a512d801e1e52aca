"""The meaning of MUMPS's counters, for the two backends that read them (users' guide of MUMPS 5, INFOG)."""

from fem.linear_algebra.factorisations.diagnosis import explain_singularity
from fem.linear_algebra.factorisations.matrix import PreparedMatrix

MILLION = 10**6
"""MUMPS's megabyte."""


def entries(count: int) -> int:
    """A count. MUMPS stores one that is too large for an integer as a negative number of millions."""
    return count if count >= 0 else -MILLION * count


def indefinite(matrix: PreparedMatrix, negative: int) -> str:
    """The explanation for a matrix that should be positive definite and is not."""
    return (
        f"The matrix is not positive definite: {negative} of its eigenvalues are negative. "
        f"{explain_singularity(matrix.whole(), None)}"
    )

"""What a factorisation backend gives back: the record of its work, and the protocol it follows."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from jaxtyping import Shaped

from fem.factorisations.storage import Solver

Kind = Literal["positive-definite", "symmetric", "complex-symmetric", "general"]


@dataclass(frozen=True)
class FactorRecord:
    """Facts about one factorisation.

    `entries` and `flops` are the backend's count of stored entries and arithmetic of the factor (`flops` is
    None where the backend keeps no count), `nbytes` its memory. `inertia` counts the positive, negative and
    zero eigenvalues of a real symmetric matrix (Sylvester), or is None where the backend cannot vouch for
    it. `perturbed_pivots` were too small to divide by and were replaced. `residual` is |b - A x| / |b| of one
    random b (NaN until measured). `seconds` is wall time. `disk`: bytes of an out-of-core factor on disk, 0 for one in memory.
    """

    backend: str
    kind: str
    equations: int
    matrix_entries: int
    entries: int
    flops: float | None
    nbytes: int
    inertia: tuple[int, int, int] | None
    perturbed_pivots: int
    seconds: float
    residual: float = float("nan")
    disk: int = 0


@runtime_checkable
class Factorisation(Protocol):
    """What a backend's `prepare(A, kind, solver)` returns: analysed, with what it needs of A; then factorised; then a solver of A X = B.

    `record` is there after `factorise`.
    """

    record: FactorRecord

    def factorise(self) -> None:
        """The numerical factorisation. A failure releases everything and says why."""
        ...

    def multiply(self, X: Shaped[np.ndarray, "n k"]) -> Shaped[np.ndarray, "n k"]:
        """A X, from what was kept of A."""
        ...

    def matrix(self) -> sp.csr_matrix:
        """All of A again, for a diagnosis."""
        ...

    def solve(self, B: Shaped[np.ndarray, "n k"]) -> Shaped[np.ndarray, "n k"]:
        """X with A X = B; B in Fortran order and of A's number type, not written to; X is a new array."""
        ...

    def release(self) -> None:
        """Give the memory back now; allowed more than once."""
        ...


@runtime_checkable
class Backend(Protocol):
    """A module of this package: one solver library."""

    def missing(self) -> str | None:
        """Why the library cannot be used here, with the remedy; None where it can."""
        ...

    def prepare(self, A: sp.csr_matrix, kind: Kind, solver: Solver) -> Factorisation:
        """Analyse a checked matrix: square, finite, sorted columns, no duplicates, no empty row. It goes to disk where the budget of `solver` asks for it.

        The caller may drop A before it calls `factorise`: that is when memory is short.
        """
        ...


def with_mirror(triangle: sp.csr_matrix) -> sp.csr_matrix:
    """The symmetric matrix of a triangle."""
    return sp.csr_matrix(triangle + triangle.T - sp.diags_array(triangle.diagonal()))


def multiply_mirrored(triangle: sp.csr_matrix, X: Shaped[np.ndarray, "n k"]) -> Shaped[np.ndarray, "n k"]:
    """The symmetric matrix of a triangle times X, without forming it."""
    return np.asarray(triangle @ X + triangle.T @ X - triangle.diagonal()[:, None] * X)

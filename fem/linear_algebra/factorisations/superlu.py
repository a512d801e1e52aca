"""SuperLU backend (part of SciPy, on every machine): the fallback without MKL and MUMPS.

Every matrix is factorised as a general one, symmetric kinds with diagonal pivots and a symmetric ordering. It takes
about 7 times the time and 4 times the memory of PARDISO or MUMPS at 80,000 tet10 dofs.
Source: Li, "An overview of SuperLU", ACM Trans. Math. Software 31 (2005) 302-325.
"""

import time

import numpy as np
import scipy
import scipy.sparse as sp
from jaxtyping import Shaped
from scipy.sparse.linalg import SuperLU, splu

from fem.errors import FactorisationError
from fem.linear_algebra.factorisations.diagnosis import explain_singularity
from fem.linear_algebra.factorisations.matrix import PreparedMatrix
from fem.linear_algebra.factorisations.record import FactorRecord, Kind
from fem.linear_algebra.factorisations.storage import SolverOptions

DIAGONAL_PREFERENCE = {"positive-definite": 0.0, "symmetric": 1e-3, "complex-symmetric": 1e-3}


def missing() -> str | None:
    """SuperLU comes with SciPy: never missing."""
    return None


def analyse(matrix: PreparedMatrix, solver: SolverOptions) -> "SuperLUFactorisation":
    """Keep a matrix. SuperLU works in memory only: a budget is refused."""
    if solver.memory is not None:
        raise FactorisationError(
            "SuperLU cannot keep to a memory budget. Install MUMPS (`pip install casadi`) or, on x86-64, MKL, "
            "or give no budget."
        )
    return SuperLUFactorisation(matrix)


class SuperLUFactorisation:
    """A SuperLU object of SciPy."""

    record: FactorRecord

    def __init__(self, matrix: PreparedMatrix) -> None:
        self.matrix = matrix

    @property
    def forecast(self) -> None:
        """There is no separate analysis."""

    def factorise(self) -> None:
        """All of the work: SuperLU has no separate analysis."""
        start, A, kind = time.perf_counter(), self.matrix.whole(), self.matrix.kind
        columns = sp.csc_matrix(A)
        columns.indices, columns.indptr = columns.indices.astype(np.int32), columns.indptr.astype(np.int32)
        self._lu = _decompose(columns, A, kind)
        pivots = self._pivots(kind)
        if kind == "positive-definite" and (pivots is None or not (pivots > 0).all()):
            equation = None if pivots is None else int(np.argsort(self._lu.perm_c)[np.argmin(pivots)])
            raise FactorisationError(f"The matrix is not positive definite. {explain_singularity(A, equation)}")
        entries = int(self._lu.nnz)
        self.record = FactorRecord(
            backend="superlu",
            kind=kind,
            equations=A.shape[0],
            matrix_entries=A.nnz,
            entries=entries,
            flops=None,
            nbytes=entries * (columns.dtype.itemsize + 4),
            inertia=None if pivots is None else (int((pivots > 0).sum()), int((pivots < 0).sum()), 0),
            perturbed_pivots=0,
            seconds=time.perf_counter() - start,
            library=f"SuperLU of SciPy {scipy.__version__}, BSD-3-Clause",
        )

    def _pivots(self, kind: Kind) -> np.ndarray | None:
        """D of P A P^T = L D L^T, whose signs are the inertia; None otherwise, or after row exchanges."""
        symmetric = kind in ("positive-definite", "symmetric")
        return self._lu.U.diagonal() if symmetric and np.array_equal(self._lu.perm_r, self._lu.perm_c) else None

    def solve(self, B: Shaped[np.ndarray, "n k"]) -> Shaped[np.ndarray, "n k"]:
        """X with A X = B."""
        return self._lu.solve(B)

    def release(self) -> None:
        """Drop the SuperLU object, and its memory with it."""
        self._lu = None


def _decompose(columns: sp.csc_matrix, A: sp.csr_matrix, kind: Kind) -> SuperLU:
    try:
        if kind == "general":
            return splu(columns)
        options = {"SymmetricMode": True}
        return splu(columns, "MMD_AT_PLUS_A", diag_pivot_thresh=DIAGONAL_PREFERENCE[kind], options=options)
    except MemoryError as error:
        text = (
            "SuperLU ran out of memory. Free memory, use a coarser mesh, or install MUMPS, which needs a third "
            "(`pip install casadi`)."
        )
        raise FactorisationError(text) from error
    except RuntimeError as error:
        text = f"SuperLU could not factorise the matrix ({kind}): {error}. {explain_singularity(A, None)}"
        raise FactorisationError(text) from error

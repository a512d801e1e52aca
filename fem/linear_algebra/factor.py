"""Factorise a sparse matrix once, solve with it many times.

    with factor(K, "positive-definite") as inverse:
        X = inverse.solve(B)

Every backend (see `fem.linear_algebra.factorisations`) follows one protocol; they differ in speed and memory.
"""

import warnings
from dataclasses import replace
from functools import cache
from types import TracebackType
from typing import get_args

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int, Num

from fem.errors import (
    DoesNotFitError,
    FactorisationError,
    IllConditionedWarning,
    MatrixError,
    SlowSolverWarning,
    unknown_name,
)
from fem.linear_algebra.factorisations import BACKENDS, Backend, Factorisation, FactorRecord, Kind, Solutions
from fem.linear_algebra.factorisations.diagnosis import explain_singularity
from fem.linear_algebra.factorisations.forecast import log_forecast
from fem.linear_algebra.factorisations.matrix import PreparedMatrix, prepare
from fem.linear_algebra.factorisations.petsc import gather_texts
from fem.linear_algebra.factorisations.solution_cache import SolutionCache, alone, cache_directory
from fem.linear_algebra.factorisations.storage import SolverOptions, return_free_memory

INACCURATE = 1e-5  # a relative residual that deserves a warning
SINGULAR = 1e-3  # a relative residual that no regular matrix of use here has
LARGE = 20_000
"""Equations of a matrix from which on the fallback costs seconds."""


class Factor:
    """A factorised matrix A, made by `factor`: `solve(B)` returns A^-1 B.

    `release()`, the end of a `with` block, or the deletion of the object release its memory. `record` contains the
    entries, memory, arithmetic, inertia, residual and time of the factorisation.
    """

    def __init__(self, factorisation: Solutions, record: FactorRecord, dtype: np.dtype) -> None:
        self._factorisation: Solutions | None = factorisation
        self._dtype = dtype
        self.record = record

    @property
    def backend(self) -> str:
        """Name of the library that holds the factor."""
        return self.record.backend

    @property
    def inertia(self) -> tuple[int, int, int] | None:
        """Numbers of (positive, negative, zero) eigenvalues of A; None where they are not certain."""
        return self.record.inertia

    @property
    def nnz(self) -> int:
        """Stored entries of the factor."""
        return self.record.entries

    @property
    def nbytes(self) -> int:
        """Memory of the factor in bytes."""
        return self.record.nbytes

    def solve(self, B: Num[np.ndarray, " n"] | Num[np.ndarray, "n k"]) -> np.ndarray:
        """X with A X = B, of B's shape, a new array (blocks are in Fortran order).

        A block is much cheaper than its columns one by one, because the factor is read once for all of them. A real
        factor also solves for complex right-hand sides. Raises MatrixError for a wrong length or NaN in B, and
        FactorisationError after `release`.
        """
        if self._factorisation is None:
            raise FactorisationError("This factor has been released; call factor(A, ...) again before solve().")
        B = np.asarray(B)
        n = self.record.equations
        if B.ndim not in (1, 2) or B.shape[0] != n:
            raise MatrixError(f"The right-hand side must have shape ({n},) or ({n}, k); got {B.shape}.")
        if not np.isfinite(B).all():
            raise MatrixError("The right-hand side holds NaN or infinite values; check the loads.")
        block = B.reshape(n, -1)
        if block.shape[1] == 0:
            return np.zeros(B.shape, np.result_type(self._dtype, B.dtype))
        if np.iscomplexobj(block) and self._dtype.kind != "c":
            parts = self._factorisation.solve(np.asfortranarray(np.hstack([block.real, block.imag]), self._dtype))
            X = parts[:, : block.shape[1]] + 1j * parts[:, block.shape[1] :]
        else:
            X = self._factorisation.solve(np.asfortranarray(block, self._dtype))
        return X.reshape(B.shape, order="F")

    def release(self) -> None:
        """Release the memory of the factor; `record` remains. Further calls have no effect."""
        if self._factorisation is not None:
            self._factorisation.release()
            self._factorisation = None

    def __enter__(self) -> "Factor":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        record = self.record
        state = "" if self._factorisation is not None else ", released"
        return (
            f"Factor({record.kind}, {record.equations} equations, {record.entries} entries, "
            f"{record.nbytes / 2**20:.1f} MB, {record.backend}{state})"
        )


def factor(
    A: sp.spmatrix | sp.sparray | np.ndarray,
    kind: str = "positive-definite",
    backend: str = "auto",
    solver: SolverOptions | None = None,
    keep: Int[np.ndarray, " k"] | None = None,
) -> Factor:
    """Factorise A (n, n), or its rows and columns `keep` (ascending) without making a matrix of them.

    - `kind`: "positive-definite" (real: the stiffness matrix of a restrained body), "symmetric" (real, indefinite:
      shifted K - s M, saddle points; with inertia), "complex-symmetric" (K + i w D - w^2 M) or "general" (real or
      complex). Matrices of symmetric kinds are passed whole, not as a triangle. A is neither changed nor referenced
      afterwards.
    - `backend`: one of the names, or "auto": "pardiso" where MKL is installed, else "mumps" where its library is
      (`pip install casadi`, the extra `mumps`), else "superlu". A factor that must go to disk is left to "mumps" where
      it is available (see its module).
    - `solver`: backend, memory budget and directories together (`fem.SolverOptions`). A factor that exceeds the budget
      goes to disk; with a checkpoint directory an interrupted run can resume.

    The logger "fem" reports entries, place and expected time before the work starts. The residual of one random
    right-hand side is measured (`record.residual`, relative to it): above 1e-5 an IllConditionedWarning is issued,
    above 1e-3 an error is raised. Where "auto" finds nothing better than SuperLU for 20,000 equations or more, a
    SlowSolverWarning is issued, once in a process. Cost of PARDISO and of MUMPS at 100,000 tet10 dofs: 5 CPU seconds,
    0.55 GB.

    Raises MatrixError (not square, NaN, not symmetric) and FactorisationError (singular, not positive definite,
    memory).
    """
    solver = SolverOptions(backend=backend) if solver is None else solver
    known, chosen = _kind(kind), _choose(solver.backend)
    matrix = prepare(A, known, keep)
    if solver.backend == "auto" and chosen is BACKENDS["superlu"] and matrix.n >= LARGE:
        _warn_of_superlu()
    if solver.checkpoint is None:
        factorisation = _made(matrix, chosen, solver)
        return Factor(factorisation, factorisation.record, matrix.dtype)
    gather = gather_texts if chosen is BACKENDS["petsc"] else alone
    directory, dtype = cache_directory(matrix, solver.checkpoint, gather), matrix.dtype
    del matrix
    kept = SolutionCache(directory, lambda: _made(prepare(A, known, keep), chosen, solver), gather)
    return Factor(kept, kept.record, dtype)


def _made(matrix: PreparedMatrix, backend: Backend, solver: SolverOptions) -> Factorisation:
    """A factorisation whose residual has been measured."""
    return_free_memory()
    n, dtype = matrix.n, matrix.dtype
    try:
        factorisation = backend.analyse(matrix, solver)
    except DoesNotFitError:
        factorisation = BACKENDS["mumps"].analyse(matrix, solver)
    del matrix  # the factorisation keeps what it needs
    return_free_memory()  # of the analysis
    log_forecast(factorisation.forecast, n)
    factorisation.factorise()
    residual, solution = _residual(n, dtype, factorisation)
    record = replace(factorisation.record, residual=residual)
    if not residual <= SINGULAR:  # NaN too
        worst = int(np.argmax(np.abs(solution))) if np.isfinite(solution).all() else None
        text = (
            "The matrix is singular to working accuracy: a random load leaves a relative residual of "
            f"{residual:.1e}. {explain_singularity(factorisation.matrix.whole(), worst)}"
        )
        factorisation.release()
        raise FactorisationError(text)
    if residual > INACCURATE:
        warnings.warn(
            f"The matrix is badly conditioned: a random load leaves a relative residual of {residual:.1e} "
            f"(expected below {INACCURATE:.0e}). Look for very soft or very small parts beside stiff ones, "
            "for a body that is barely held, or for a shift close to an eigenvalue.",
            IllConditionedWarning,
            stacklevel=3,
        )
        if record.perturbed_pivots:
            record = replace(record, inertia=None)
    factorisation.record = record
    return factorisation


@cache
def _warn_of_superlu() -> None:
    """Say, once in a process, that a faster library can be installed."""
    warnings.warn(
        f"Matrices of {LARGE} equations and more are factorised by SciPy's SuperLU here, because neither MKL nor MUMPS "
        "is installed: at 80,000 equations it takes 7 times the time and 4 times the memory of either. `pip install "
        "casadi` brings MUMPS (licences: CeCILL-C, and LGPL of casadi), on x86-64 `pip install pypardiso` MKL. "
        "SolverOptions(backend='superlu') chooses SuperLU without this warning.",
        SlowSolverWarning,
        stacklevel=3,
    )


def _kind(name: str) -> Kind:
    for kind in get_args(Kind):
        if name == kind:
            return kind
    raise MatrixError(unknown_name("kind of matrix", name, get_args(Kind)))


def _choose(backend: str) -> Backend:
    if backend == "auto":
        return next(module for module in BACKENDS.values() if module.missing() is None)
    if backend not in BACKENDS:
        raise FactorisationError(unknown_name("factorisation backend", backend, ["auto", *BACKENDS]))
    reason = BACKENDS[backend].missing()
    if reason is not None:
        raise FactorisationError(f"The factorisation backend {backend!r} is not available: {reason}")
    return BACKENDS[backend]


def _residual(n: int, dtype: np.dtype, factorisation: Factorisation) -> tuple[float, np.ndarray]:
    """|b - A x| / |b| of one random b of A's number type, and its x."""
    b = np.random.default_rng(1).standard_normal((n, 1)).astype(dtype)
    x = factorisation.solve(b)
    return float(np.linalg.norm(b - factorisation.matrix.multiply(x)) / np.linalg.norm(b)), x[:, 0]

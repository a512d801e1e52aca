"""MUMPS backend (python-mumps, where it is installed): in core or out of core, with cheap out-of-core solves in blocks.

Out of core the factor is written to a private directory and read once for each block of right-hand sides, while PARDISO
reads it once for each vector: MUMPS suits parts whose factor does not fit the memory. Of symmetric kinds one triangle
is passed.
Source: Amestoy, Duff, L'Excellent and Koster, SIAM J. Matrix Anal. Appl. 23 (2001) 15-41; parameters from the MUMPS
users' guide.
"""

import os
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Shaped

from fem.errors import FactorisationError
from fem.linear_algebra.factorisations.diagnosis import explain_singularity
from fem.linear_algebra.factorisations.forecast import Forecast
from fem.linear_algebra.factorisations.matrix import PreparedMatrix
from fem.linear_algebra.factorisations.mumps_counts import MILLION, entries, indefinite
from fem.linear_algebra.factorisations.record import FactorRecord
from fem.linear_algebra.factorisations.storage import (
    SolverOptions,
    private_directory,
    resident,
    too_small,
    within,
    working_memories,
)

BLOCK = 64  # right-hand sides of one pass over the factor
RELAXATION = 30  # per cent of working memory beyond the estimate, for pivots that are put off
EXACT = 5  # the same where no pivot is
OUT_OF_MEMORY = (-8, -9, -11, -13, -17, -19, -20)
DISK = (-90,)
SINGULAR = (-6, -10)


def missing() -> str | None:
    """Why MUMPS cannot be used here, with the remedy; None where it can."""
    try:
        import mumps
    except ImportError:
        return (
            "python-mumps is not installed: `pip install python-mumps` (built against the system's MUMPS, on Debian "
            "libmumps-seq-dev)."
        )
    return None if hasattr(mumps, "Context") else "the installed module named mumps is not python-mumps."


def analyse(matrix: PreparedMatrix, solver: SolverOptions) -> "MumpsFactorisation":
    """Analyse a matrix."""
    return MumpsFactorisation(matrix, solver)


def _give_back(context: Any, clean: list[Callable[[], None]]) -> None:
    context.mumps_instance = None  # its destructor frees MUMPS's memory
    context.data = context.row = context.col = None
    for remove in clean:
        remove()


class MumpsFactorisation:
    """One MUMPS instance with its factor."""

    record: FactorRecord

    def __init__(self, matrix: PreparedMatrix, solver: SolverOptions) -> None:
        import mumps
        from mumps import _mumps

        self._start = time.perf_counter()
        self._kind, self._n, self._type, self._entries = matrix.kind, matrix.n, matrix.dtype, matrix.entries
        self._solver, self._clean = solver, list[Callable[[], None]]()
        letter = "z" if self._type.kind == "c" else "d"
        self._context = mumps.Context()
        self._context.mumps_instance = getattr(_mumps, letter + "mumps")(False, 0 if self._kind == "general" else 2)
        self._context.dtype = letter  # MUMPS's own set_matrix would copy the triangle once more to find it symmetric
        self.release = weakref.finalize(self, _give_back, self._context, self._clean)
        rows = np.repeat(np.arange(self._n, dtype=np.int32), np.diff(matrix.part.indptr))
        with self._failures_explained():
            triplets = sp.coo_array((matrix.part.data, (rows, matrix.part.indices)), shape=matrix.part.shape)
            del rows, matrix
            self._context.set_matrix(triplets, overwrite_a=True)
            del triplets
            self._context.analyze(ordering="metis")

    @property
    def forecast(self) -> Forecast:
        """From MUMPS's analysis."""
        instance = self._context.mumps_instance
        return Forecast(self._size(), float(instance.rinfog[1]), self._exceeds())

    def _exceeds(self) -> bool:
        return bool(resident() + self._context.mumps_instance.infog[17] * MILLION > self._solver.budget)

    def _size(self) -> int:
        """Bytes of the factor, as the analysis expects them."""
        return entries(int(self._context.mumps_instance.infog[20])) * self._type.itemsize

    def factorise(self) -> None:
        """In memory, or on disk where the budget asks for it."""
        instance, kind = self._context.mumps_instance, self._kind
        instance.icntl[14], instance.icntl[27] = EXACT if kind == "positive-definite" else RELAXATION, BLOCK
        pivoting, disk = 0.0 if kind == "positive-definite" else 0.01, 0
        with self._failures_explained():
            if self._exceeds():
                disk = self._to_disk(pivoting)
            else:
                self._context.factor(pivot_tol=pivoting, reuse_analysis=True)
        negative = int(instance.infog[12])
        if kind == "positive-definite" and negative:
            text = indefinite(self.matrix, negative)
            self.release()
            raise FactorisationError(text)
        real = kind in ("positive-definite", "symmetric")
        self.record = FactorRecord(
            backend="mumps",
            kind=kind,
            equations=self._n,
            matrix_entries=self._entries,
            entries=entries(int(instance.infog[29])),
            flops=float(instance.rinfog[3]),
            nbytes=int(instance.infog[22]) * MILLION,
            inertia=(self._n - negative, negative, 0) if real else None,
            perturbed_pivots=0,
            seconds=time.perf_counter() - self._start,
            disk=disk,
        )

    @contextmanager
    def _failures_explained(self) -> Iterator[None]:
        import mumps

        try:
            yield
        except mumps.MUMPSError as error:
            text = _failure(int(error.error), self.matrix)
            self.release()
            raise FactorisationError(text) from None

    @property
    def matrix(self) -> PreparedMatrix:
        """What was factorised, from the triplets that MUMPS works with."""
        context = self._context
        part = sp.csr_matrix((context.data, (context.row - 1, context.col - 1)), shape=(self._n, self._n))
        return PreparedMatrix(self._kind, part, self._entries)

    def _to_disk(self, pivoting: float) -> int:
        """Factorise to disk with the memory that is left; bytes on disk.

        The smallest working memory is found by trial.
        """
        import mumps

        instance, solver, there = self._context.mumps_instance, self._solver, resident()
        directory, remove = private_directory(solver, self._size())
        self._clean.append(remove)
        os.environ["MUMPS_OOC_TMPDIR"] = str(directory)
        for core in working_memories(solver, there, 8 * self._size() + 2**28):
            instance.icntl[23] = max(core // MILLION, 1)
            try:
                self._context.factor(ooc=True, pivot_tol=pivoting, reuse_analysis=True)
                break
            except mumps.MUMPSError as error:
                if error.error not in OUT_OF_MEMORY:
                    raise
        else:
            raise FactorisationError(_failure(OUT_OF_MEMORY[0], self.matrix))
        if not within(solver, there, core):
            self.release()
            raise too_small(solver, self._n, there, core)
        return sum(file.stat().st_size for file in directory.iterdir())

    def solve(self, B: Shaped[np.ndarray, "n k"]) -> Shaped[np.ndarray, "n k"]:
        """X with A X = B, B in Fortran order; out of core the factor is read once for BLOCK columns."""
        block = np.array(B[:, 0] if B.shape[1] == 1 else B, order="F")
        return np.asarray(self._context.solve(block, overwrite_b=True)).reshape(B.shape, order="F")


def _failure(error: int, matrix: PreparedMatrix) -> str:
    if error in OUT_OF_MEMORY:
        return f"MUMPS ran out of memory (error {error}). Raise the memory budget, free memory, or use a coarser mesh."
    if error in DISK:
        return (
            "MUMPS cannot write or read the files of its factor: the disk may be full. Name another directory: "
            "SolverOptions(scratch=...)."
        )
    if error in SINGULAR:
        return f"The matrix is singular. {explain_singularity(matrix.whole(), None)}"
    return (
        f"MUMPS could not factorise the matrix ({matrix.kind}): error {error}. "
        f"{explain_singularity(matrix.whole(), None)}"
    )

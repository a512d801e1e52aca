"""MUMPS backend: in core or out of core, all matrix kinds, inertia, and cheap out-of-core solves in blocks.

In core it takes about the time and the memory of PARDISO, and its library comes with a wheel also where MKL does not
exist (see `mumps_library`). Out of core the factor is written to a private directory and read once for each block of
right-hand sides, while PARDISO reads it once for each vector: MUMPS suits parts whose factor does not fit the memory.
Of symmetric kinds one triangle is passed. A complex matrix is factorised as a real one of twice the size where the
library is that of real numbers: twice the arithmetic of complex numbers.
Source: Amestoy, Duff, L'Excellent and Koster, SIAM J. Matrix Anal. Appl. 23 (2001) 15-41; parameters from the MUMPS
users' guide. The real form of complex matrices: Day and Heroux, SIAM J. Sci. Comput. 23 (2001) 480-498.
"""

import os
import time
import weakref
from collections.abc import Callable

import numpy as np
from jaxtyping import Shaped

from fem.errors import FactorisationError
from fem.linear_algebra.factorisations import mumps_library
from fem.linear_algebra.factorisations.diagnosis import explain_singularity
from fem.linear_algebra.factorisations.forecast import Forecast
from fem.linear_algebra.factorisations.matrix import PreparedMatrix
from fem.linear_algebra.factorisations.mumps_library import MILLION, Instance, entries, indefinite
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
MOST = 1000  # the same after repeated doubling: beyond, the matrix is hopeless
TOO_LITTLE_SPACE = (-8, -9)  # beyond the estimate
OUT_OF_MEMORY = (-8, -9, -11, -13, -17, -19, -20)
DISK = (-90,)
SINGULAR = (-6, -10)
METIS = 5
THRESHOLD = 0.01  # of partial pivoting, relative to the largest entry of a column


def missing() -> str | None:
    """Why MUMPS cannot be used here, with the remedy; None where it can."""
    if mumps_library.library("d") is not None:
        return None
    return (
        "no library of MUMPS was found. `pip install casadi` brings one (the extra `mumps` of flexmb does the same), "
        "libmumps-seq-dev of Debian and Ubuntu too."
    )


def analyse(matrix: PreparedMatrix, solver: SolverOptions) -> "MumpsFactorisation":
    """Analyse a matrix. Cost at 80,000 tet10 dofs, factorisation included: 4 CPU seconds, 0.5 GB."""
    return MumpsFactorisation(matrix, solver)


def _give_back(instance: Instance, clean: list[Callable[[], None]]) -> None:
    instance.release()
    for remove in clean:
        remove()


class MumpsFactorisation:
    """One MUMPS instance with its factor."""

    record: FactorRecord

    def __init__(self, matrix: PreparedMatrix, solver: SolverOptions) -> None:
        self._start = time.perf_counter()
        self.matrix, self._solver, self._clean = matrix, solver, list[Callable[[], None]]()
        complex_numbers = mumps_library.library("z") if matrix.dtype.kind == "c" else None
        library = complex_numbers or mumps_library.library("d")
        assert library is not None  # see missing()
        self._as_real = matrix.dtype.kind == "c" and complex_numbers is None
        self._instance = instance = Instance(library, symmetric=matrix.kind != "general")
        self.release = weakref.finalize(self, _give_back, instance, self._clean)
        self._triplets = _real_triplets(matrix) if self._as_real else _triplets(matrix)
        instance.given.n, instance.given.nnz = (1 + self._as_real) * matrix.n, len(self._triplets[2])
        for name, array in zip(("irn", "jcn", "a"), self._triplets, strict=True):
            instance.point(name, array)
        definite = matrix.kind == "positive-definite"
        instance.icntl[7], instance.icntl[14] = METIS, EXACT if definite else RELAXATION
        instance.icntl[27], instance.cntl[1] = BLOCK, 0.0 if definite else THRESHOLD
        self._insist(instance.run(mumps_library.ANALYSE))

    @property
    def forecast(self) -> Forecast:
        """From MUMPS's analysis."""
        return Forecast(self._size(), float(self._instance.rinfog[1]), self._exceeds())

    def _exceeds(self) -> bool:
        return resident() + int(self._instance.infog[17]) * MILLION > self._solver.budget

    def _size(self) -> int:
        """Bytes of the factor, as the analysis expects them."""
        number = 8 if self._as_real else self.matrix.dtype.itemsize
        return entries(int(self._instance.infog[20])) * number

    def factorise(self) -> None:
        """In memory, or on disk where the budget asks for it."""
        instance, matrix, disk = self._instance, self.matrix, 0
        if self._exceeds():
            disk = self._to_disk()
        else:
            self._insist(self._in_enough_space())
        del self._triplets  # MUMPS has what it needs
        for name in ("irn", "jcn", "a"):
            setattr(instance.given, name, None)
        negative = int(instance.infog[12])
        if matrix.kind == "positive-definite" and negative:
            self.release()
            raise FactorisationError(indefinite(matrix, negative))
        real = matrix.kind in ("positive-definite", "symmetric")
        self.record = FactorRecord(
            backend="mumps",
            kind=matrix.kind,
            equations=matrix.n,
            matrix_entries=matrix.entries,
            entries=entries(int(instance.infog[29])),
            flops=float(instance.rinfog[3]),
            nbytes=int(instance.infog[22]) * MILLION,
            inertia=(matrix.n - negative, negative, 0) if real else None,
            perturbed_pivots=0,
            seconds=time.perf_counter() - self._start,
            disk=disk,
            library=f"MUMPS {instance.library.version}, CeCILL-C",
        )

    def _insist(self, error: int) -> None:
        if error < 0:
            self.release()
            raise FactorisationError(_failure(error, self.matrix))

    def _in_enough_space(self, codes: tuple[int, ...] = TOO_LITTLE_SPACE) -> int:
        """Factorise; MUMPS's error code. Working arrays whose estimate fell short are doubled."""
        icntl = self._instance.icntl
        while (error := self._instance.run(mumps_library.FACTORISE)) in codes and icntl[14] < MOST:
            icntl[14] *= 2
        return error

    def _to_disk(self) -> int:
        """Factorise to disk with the memory that is left; bytes on disk.

        The smallest working memory is found by trial.
        """
        instance, solver, there = self._instance, self._solver, resident()
        directory, remove = private_directory(solver, self._size())
        self._clean.append(remove)
        instance.given.ooc_tmpdir, instance.icntl[22] = os.fsencode(directory), 1
        for core in working_memories(solver, there, 8 * self._size() + 2**28):
            instance.icntl[23] = max(core // MILLION, 1)
            error = self._in_enough_space(TOO_LITTLE_SPACE[:1])
            if error not in OUT_OF_MEMORY:
                break
        self._insist(error)
        if not within(solver, there, core):
            self.release()
            raise too_small(solver, self.matrix.n, there, core)
        return sum(file.stat().st_size for file in directory.iterdir())

    def solve(self, B: Shaped[np.ndarray, "n k"]) -> Shaped[np.ndarray, "n k"]:
        """X with A X = B, B in Fortran order; out of core the factor is read once for BLOCK columns."""
        given, sign = self._instance.given, 1.0 if self.matrix.kind == "general" else -1.0
        if self._as_real:
            X = np.empty((2 * B.shape[0], B.shape[1]), order="F")
            X[0::2], X[1::2] = B.real, sign * B.imag
        else:
            X = np.array(B, order="F")
        self._instance.point("rhs", X)
        given.nrhs, given.lrhs = X.shape[1], X.shape[0]
        error = self._instance.run(mumps_library.SOLVE)
        if error < 0:
            raise FactorisationError(_failure(error, self.matrix))
        return X[0::2] + 1j * X[1::2] if self._as_real else X


def _triplets(matrix: PreparedMatrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns (counted from 1) and values of the stored entries."""
    part, one = matrix.part, np.int32(1)
    rows = np.repeat(np.arange(1, matrix.n + 1, dtype=np.int32), np.diff(part.indptr))
    return rows, part.indices + one, part.data


def _real_triplets(matrix: PreparedMatrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The real matrix of twice the size for real and imaginary parts of the unknowns by turns.

    An entry p + iq becomes [[p, -q], [q, p]] in a general matrix and, with the imaginary equations multiplied by -1,
    [[p, -q], [-q, -p]] in a symmetric one, which is symmetric then; below the diagonal nothing is passed.
    """
    rows, columns, values = _triplets(matrix)
    sign = 1.0 if matrix.kind == "general" else -1.0
    below = np.ones(len(rows), bool) if matrix.kind == "general" else rows != columns
    first, second = 2 * rows - 1, 2 * columns - 1
    p, q = values.real, values.imag
    return (
        np.concatenate([first, first, first + 1, (first + 1)[below]]),
        np.concatenate([second, second + 1, second + 1, second[below]]),
        np.concatenate([p, -q, sign * p, sign * q[below]]),
    )


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

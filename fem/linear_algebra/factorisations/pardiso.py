"""PARDISO backend (Intel oneMKL, x86-64): in core or out of core, all matrix kinds, blocks of right-hand sides,
inertia.

Of symmetric kinds only the upper triangle is passed. One factorisation owns one PARDISO handle and releases it when the
object is deleted, so the handle's memory follows Python's lifetimes.
Source: Schenk and Gaertner, "Solving unsymmetric sparse systems of linear equations with PARDISO", Future Generation
Computer Systems 20 (2004) 475-487; parameters from the oneMKL Developer Reference.
"""

import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, Shaped

from fem.errors import DoesNotFitError, FactorisationError
from fem.linear_algebra.factorisations import mkl, mumps
from fem.linear_algebra.factorisations.diagnosis import explain_singularity
from fem.linear_algebra.factorisations.forecast import Forecast
from fem.linear_algebra.factorisations.matrix import PreparedMatrix
from fem.linear_algebra.factorisations.record import FactorRecord, Kind
from fem.linear_algebra.factorisations.storage import (
    MEGABYTE,
    SolverOptions,
    call_inside,
    private_directory,
    resident,
    too_small,
    within,
    working_memories,
)

RESERVE = 40  # vectors of the problem's size that its callers need beside an out-of-core factor


def missing() -> str | None:
    """Why PARDISO cannot be used here, with the remedy; None where it can."""
    if mkl.library() is not None:
        return None
    return "libmkl_rt was not found. On x86-64, `pip install mkl` brings it; elsewhere use backend='mumps'."


def analyse(matrix: PreparedMatrix, solver: SolverOptions) -> "PardisoFactorisation":
    """Analyse a matrix. Cost at 100,000 tet10 dofs, factorisation included: 5 CPU seconds, 0.55 GB."""
    return PardisoFactorisation(matrix, solver)


def matrix_type(kind: Kind, is_complex: bool) -> int:
    """PARDISO's number for a kind of matrix."""
    if kind == "general":
        return 13 if is_complex else 11
    return {"positive-definite": 2, "symmetric": -2, "complex-symmetric": 6}[kind]


def parameters(mtype: int) -> Int[np.ndarray, "64"]:
    """The 64 parameters of a matrix type: MKL's defaults, and by name what is decided here."""
    iparm = mkl.default_parameters(mtype)

    def put(number: int, value: int) -> None:
        iparm[number - 1] = value

    pivoting = mtype != 2
    put(2, 3)  # nested dissection in parallel: MKL's default, same fill as 2 and shorter in wall time
    put(8, 0)  # no refinement: 3x cheaper solves; MKL still refines twice where pivots were perturbed
    put(10, 13)  # a pivot below 1e-13 of the matrix is replaced; MKL's 1e-8 spoils bodies held by a small shift
    put(11, int(pivoting))  # scaling
    put(13, int(pivoting))  # large entries permuted towards the diagonal
    put(18, -1)  # count the factor's entries
    put(19, -1)  # count its operations
    put(21, int(pivoting))  # 1x1 and 2x2 pivots (Bunch-Kaufman) in symmetric indefinite matrices
    put(24, 0)  # classic parallel factorisation: two-level scheduling pays above 8 threads
    put(27, 0)  # the matrix has been checked before it comes here
    put(35, 1)  # rows and columns are counted from 0
    put(60, 0)  # in core, unless the analysis shows that it does not fit
    return iparm


@dataclass
class _OnDisk:
    """Where a factor's files are; both None while it is in memory."""

    directory: Path | None = None
    remove: Callable[[], None] | None = None

    def call(self, function: Callable[[], int]) -> int:
        """PARDISO's error code. It finds the files of a factor in the working directory."""
        return function() if self.directory is None else call_inside(self.directory, function)


def _give_back(handle: Int[np.ndarray, "64"], mtype: int, n: int, iparm: Int[np.ndarray, "64"], disk: _OnDisk) -> None:
    disk.call(lambda: mkl.pardiso(handle, mtype, mkl.RELEASE, n, iparm))
    if disk.remove is not None:
        disk.remove()


class PardisoFactorisation:
    """One PARDISO handle with its factor."""

    record: FactorRecord

    def __init__(self, matrix: PreparedMatrix, solver: SolverOptions) -> None:
        self._start = time.perf_counter()
        self.matrix, self._n, self._solver, self._disk = matrix, matrix.n, solver, 0
        self._mtype = matrix_type(matrix.kind, matrix.dtype.kind == "c")
        self._arrays = (
            matrix.part.data,
            matrix.part.indptr,
            matrix.part.indices,
        )  # PARDISO reads them again in every solve
        self._handle, self._iparm = np.zeros(64, np.int64), parameters(self._mtype)
        self._on_disk = _OnDisk()
        self.release = weakref.finalize(
            self, _give_back, self._handle, self._mtype, self._n, self._iparm.copy(), self._on_disk
        )  # runs once: at the first call, when dropped, or at the end of the program
        self._insist(self._call(mkl.ANALYSE))
        if self._exceeds() and solver.backend == "auto" and mumps.missing() is None:
            self.release()
            raise DoesNotFitError

    @property
    def forecast(self) -> Forecast:
        """From PARDISO's analysis."""
        factor, megaflops = 1024 * max(int(self._iparm[16]), 0), max(int(self._iparm[18]), 0)
        return Forecast(factor, 1e6 * megaflops, self._exceeds())

    def factorise(self) -> None:
        """In memory, or on disk where the budget asks for it."""
        self._insist(self._out_of_core() if self._exceeds() else self._call(mkl.FACTORISE))
        self.record = self._record(time.perf_counter() - self._start)

    def _exceeds(self) -> bool:
        """Whether a factor in memory would exceed the budget, by the analysis."""
        peak, permanent, factor = (1024 * max(int(self._iparm[k - 1]), 0) for k in (15, 16, 17))
        return resident() + max(peak, permanent + factor) - permanent > self._solver.budget

    def _insist(self, error: int) -> None:
        if error:
            text = _failure(error, self.matrix, int(self._iparm[29]))
            self.release()
            raise FactorisationError(text)

    def _call(self, phase: int) -> int:
        return self._on_disk.call(
            lambda: mkl.pardiso(self._handle, self._mtype, phase, self._n, self._iparm, self._arrays)
        )

    def _out_of_core(self) -> int:
        """Factorise to disk with the memory that is left; PARDISO's error code.

        The smallest working memory is found by trial.
        """
        solver, there, factor = self._solver, resident(), 1024 * max(int(self._iparm[16]), 0)
        held = there + RESERVE * self._n * self.matrix.dtype.itemsize
        self._iparm[59] = 2  # all of it on disk; 1 would let PARDISO decide by itself
        directory, remove = private_directory(solver, factor)
        self._on_disk.directory, self._on_disk.remove = directory, remove
        for core in working_memories(solver, held, 8 * factor + 2**28):
            with mkl.out_of_core(core // MEGABYTE):
                error = self._call(mkl.FACTORISE)
            if error != mkl.TOO_LITTLE_CORE:
                break
            self._call(mkl.RELEASE)  # PARDISO keeps the first size otherwise
            error = self._call(mkl.ANALYSE)
            if error:
                break
        else:
            error = mkl.TOO_LITTLE_CORE
        if not error and not within(solver, held, core):
            self.release()
            raise too_small(solver, self._n, held, core)
        self._disk = sum(file.stat().st_size for file in directory.iterdir())
        return error

    def _record(self, seconds: float) -> FactorRecord:
        permanent, factor = (1024 * int(self._iparm[number - 1]) for number in (16, 17))
        entries, megaflops = int(self._iparm[17]), int(self._iparm[18])
        positive, negative = int(self._iparm[21]), int(self._iparm[22])
        inertia = {2: (self._n, 0, 0), -2: (positive, negative, self._n - positive - negative)}.get(self._mtype)
        return FactorRecord(
            backend="pardiso",
            kind=self.matrix.kind,
            equations=self._n,
            matrix_entries=self.matrix.entries,
            entries=entries if entries > 0 else factor // self.matrix.dtype.itemsize,  # the 32-bit count has overflowed
            flops=1e6 * megaflops if megaflops >= 0 else None,
            nbytes=permanent + (0 if self._disk else factor),
            inertia=inertia,
            perturbed_pivots=int(self._iparm[13]),
            seconds=seconds,
            disk=self._disk,
            library=f"PARDISO of oneMKL {mkl.version()}, Intel Simplified Software License",
        )

    def solve(self, B: Shaped[np.ndarray, "n k"]) -> Shaped[np.ndarray, "n k"]:
        """X with A X = B, B in Fortran order; the factor is read once for the whole block."""
        X = np.empty_like(B, order="F")
        error = self._on_disk.call(
            lambda: mkl.pardiso(self._handle, self._mtype, mkl.SOLVE, self._n, self._iparm, self._arrays, B, X)
        )
        if error:
            raise FactorisationError(f"PARDISO's solve failed: {mkl.ERRORS.get(error, f'error {error}')}.")
        return X


def schur_complement(
    matrix: PreparedMatrix, marked: Int[np.ndarray, " k"], solver: SolverOptions
) -> Float[np.ndarray, "k k"] | None:
    """The Schur complement of a positive-definite matrix in the equations `marked`: the inverse of the block (k, k) of
    its inverse there. None where memory is short or PARDISO fails.

    PARDISO orders these equations last and stops before them. Cost: about one and a quarter factorisations.
    """
    mtype, n, k = matrix_type(matrix.kind, False), matrix.n, len(marked)
    iparm, handle, S = parameters(mtype), np.zeros(64, np.int64), np.zeros((k, k), order="F")
    iparm[35] = 1  # the complement is returned in the place of a solution
    order = np.zeros(n, np.int32)
    order[marked] = 1
    arrays = (matrix.part.data, matrix.part.indptr, matrix.part.indices)
    try:
        if mkl.pardiso(handle, mtype, mkl.ANALYSE, n, iparm, arrays, None, S, order):
            return None
        peak, permanent, factor = (1024 * max(int(iparm[number - 1]), 0) for number in (15, 16, 17))
        if resident() + max(peak, permanent + factor) > solver.budget:
            return None
        failed = mkl.pardiso(handle, mtype, mkl.FACTORISE, n, iparm, arrays, None, S, order)
        return None if failed else S
    finally:
        mkl.pardiso(handle, mtype, mkl.RELEASE, n, iparm)


def _failure(error: int, matrix: PreparedMatrix, equation: int) -> str:
    if error == -4 and matrix.kind == "positive-definite":
        return (
            "The matrix is not positive definite. "
            f"{explain_singularity(matrix.whole(), equation - 1 if equation > 0 else None)}"
        )
    text = f"PARDISO could not factorise the matrix ({matrix.kind}): {mkl.ERRORS.get(error, f'error {error}')}."
    return f"{text} {explain_singularity(matrix.whole(), None)}" if error in (-4, -6, -7) else text

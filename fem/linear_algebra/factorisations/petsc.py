"""PETSc backend (petsc4py, where it is installed): MUMPS over the processes of an MPI run, for parts of tens of
millions of dofs on a cluster.

Every process runs the same script with the same model (`mpiexec -n 8 python reduce.py`) and calls the same functions in
the same order. The matrix is distributed by rows, the factor over all processes, and each process receives whole
solutions. Every process stores the whole model, which limits the size. "auto" never selects this backend. A memory
budget, for each process, sends the factor to disk. PETSc's usual build supports real matrices only.

Processes that disagree would wait for each other for ever. Before all that they do together they compare what each has:
matrices, right-hand sides, folders, stored solutions. What one of them cannot do is an error on all.
Source: Balay et al., PETSc/TAO users manual, ANL-21/39 (2021); Amestoy, Duff, L'Excellent and Koster, SIAM J. Matrix
Anal. Appl. 23 (2001) 15-41.
"""

import hashlib
import os
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Shaped

from fem.errors import FactorisationError, MatrixError
from fem.linear_algebra.factorisations.diagnosis import explain_singularity
from fem.linear_algebra.factorisations.matrix import PreparedMatrix
from fem.linear_algebra.factorisations.mumps_library import MILLION, entries, indefinite
from fem.linear_algebra.factorisations.record import FactorRecord
from fem.linear_algebra.factorisations.storage import SolverOptions, private_directory, raise_first, resident

LONGEST = 2000
"""Bytes of what one process tells the others."""


def missing() -> str | None:
    """Why PETSc cannot be used here, with the remedy; None where it can."""
    try:
        if "petsc4py.PETSc" not in sys.modules:
            import petsc4py

            petsc4py.init([*sys.argv[:1], "-no_signal_handler"])  # PETSc's ends Python at a pipe that was closed
        from petsc4py import PETSc  # noqa: F401
    except (ImportError, ValueError) as error:  # ValueError: built against another NumPy
        return (
            f"petsc4py cannot be imported ({error}). Install the one of your cluster or system, built against this "
            "NumPy: on Debian libpetsc-real-dev, then `PETSC_DIR=/usr/lib/petsc pip install --no-build-isolation "
            "petsc4py==<PETSc's version>`."
        )
    return None


def gather_texts(text: str) -> list[str]:
    """The texts that all processes of the run give, in their order; every process must call this."""
    from petsc4py import PETSc

    comm = PETSc.COMM_WORLD
    if comm.size == 1:
        return [text]
    told = np.zeros(LONGEST)
    data = np.frombuffer(text.encode()[:LONGEST], np.uint8)
    told[: len(data)] = data
    spread = PETSc.Vec().createMPI((LONGEST, None), comm=comm)
    spread.setArray(told)
    scatter, whole = PETSc.Scatter.toAll(spread)
    scatter.scatter(spread, whole)
    everything = whole.getArray().real.reshape(comm.size, LONGEST).astype(np.uint8)
    for thing in (scatter, spread, whole):
        thing.destroy()
    return [bytes(row).rstrip(b"\0").decode(errors="ignore") for row in everything]


def _check_equal(what: str, mine: str) -> None:
    """Raise `MatrixError` on all processes when what they describe by `mine` differs."""
    told = gather_texts(mine)
    for rank, other in enumerate(told):
        if other != told[0]:
            raise MatrixError(
                f"The processes of this MPI run have different {what}: process 0 {told[0]}; process {rank} {other}. "
                "All must run the same script with the same files and options, in the same order."
            )


def analyse(matrix: PreparedMatrix, solver: SolverOptions) -> "PetscFactorisation":
    """Hand the matrix over. PETSc analyses and factorises in one."""
    return PetscFactorisation(matrix, solver)


def _give_back(objects: list[Any], clean: list[Callable[[], None]]) -> None:
    for thing in objects:
        thing.destroy()
    for remove in clean:
        remove()


class PetscFactorisation:
    """A preconditioner of PETSc that holds MUMPS's factor."""

    record: FactorRecord

    def __init__(self, matrix: PreparedMatrix, solver: SolverOptions) -> None:
        from petsc4py import PETSc

        if matrix.dtype.kind == "c" and not np.issubdtype(PETSc.ScalarType, np.complexfloating):
            raise MatrixError(
                "This PETSc was built for real numbers, the matrix is complex. Use another backend, or a PETSc for "
                "complex numbers."
            )
        self.matrix, self._solver, self._start = matrix, solver, time.perf_counter()
        self._comm = PETSc.COMM_WORLD
        n = matrix.n
        pattern = hashlib.blake2b(matrix.part.indptr.tobytes() + matrix.part.indices.tobytes(), digest_size=8)
        _check_equal(
            "matrices",
            f"{n} equations, {matrix.entries} entries at places {pattern.hexdigest()}, {matrix.kind}, {matrix.dtype}, "
            f"of norm {np.linalg.norm(matrix.part.data):.5e}, memory {solver.memory}",
        )
        first = n * self._comm.rank // self._comm.size
        last = n * (self._comm.rank + 1) // self._comm.size
        self._rows = slice(first, last)
        self._sizes = ((last - first, n), (last - first, n))
        rows = sp.csr_matrix(matrix.whole()[first:last]).astype(PETSc.ScalarType)
        csr = (rows.indptr.astype(PETSc.IntType), rows.indices.astype(PETSc.IntType), rows.data)
        self._A = PETSc.Mat().createAIJ(self._sizes, csr=csr, comm=self._comm)
        if matrix.kind != "general":
            self._A.setOption(PETSc.Mat.Option.SYMMETRIC, True)
        self._pc = PETSc.PC().create(self._comm)
        self._objects, self._clean = [self._pc, self._A], list[Callable[[], None]]()
        self.release = weakref.finalize(self, _give_back, self._objects, self._clean)

    @property
    def forecast(self) -> None:
        """There is no separate analysis."""

    def factorise(self) -> None:
        """Analysis and factorisation, over all processes."""
        from petsc4py import PETSc

        pc, kind = self._pc, self.matrix.kind
        pc.setOperators(self._A)
        pc.setType("lu" if kind == "general" else "cholesky")
        pc.setFactorSolverType("mumps")
        pc.setFactorSetUpSolverType()
        self._factor = pc.getFactorMatrix()
        self._objects.append(self._factor)
        self._factor.setMumpsCntl(1, 0.0 if kind == "positive-definite" else 0.01)
        directory = None
        if self._solver.memory is not None:
            directory = self._directory()
            os.environ["MUMPS_OOC_TMPDIR"] = str(directory)
            self._factor.setMumpsIcntl(22, 1)
            self._factor.setMumpsIcntl(23, max((self._solver.budget - resident()) // MILLION, 1))
        try:
            pc.setUp()
        except PETSc.Error as error:
            self._fail(f"error {error.ierr}")
        state = int(self._factor.getMumpsInfog(1))
        if state < 0:
            self._fail(f"MUMPS error {state}")
        negative = int(self._factor.getMumpsInfog(12))
        if kind == "positive-definite" and negative:
            text = indefinite(self.matrix, negative)
            self.release()
            raise FactorisationError(text)
        n = self.matrix.n
        self.record = FactorRecord(
            backend="petsc",
            kind=kind,
            equations=n,
            matrix_entries=self.matrix.entries,
            entries=entries(int(self._factor.getMumpsInfog(29))),
            flops=float(self._factor.getMumpsRinfog(3)),
            nbytes=int(self._factor.getMumpsInfog(22)) * MILLION,
            inertia=(n - negative, negative, 0) if kind in ("positive-definite", "symmetric") else None,
            perturbed_pivots=0,
            seconds=time.perf_counter() - self._start,
            disk=0 if directory is None else sum(file.stat().st_size for file in directory.iterdir()),
            library=f"MUMPS through PETSc {'.'.join(map(str, PETSc.Sys.getVersion()))}, CeCILL-C and BSD-2-Clause",
        )

    def _directory(self) -> Path:
        """A folder of this process for its part of the factor; an error on all processes if one has no place."""
        problem = ""
        try:
            directory, remove = private_directory(self._solver, 0)
            self._clean.append(remove)
        except FactorisationError as error:
            problem = str(error)
        raise_first(gather_texts(problem))
        return directory

    def _fail(self, what: str) -> None:
        text = (
            f"PETSc and MUMPS could not factorise the matrix ({self.matrix.kind}) on {self._comm.size} processes: "
            f"{what} (-9, -13, -19: raise the memory budget or take more processes; -90: the disk is full). "
            f"{explain_singularity(self.matrix.whole(), None)}"
        )
        self.release()
        raise FactorisationError(text)

    def solve(self, B: Shaped[np.ndarray, "n k"]) -> Shaped[np.ndarray, "n k"]:
        """X with A X = B, whole on every process."""
        from petsc4py import PETSc

        k, local = B.shape[1], self._rows.stop - self._rows.start
        _check_equal("right-hand sides", f"{k} columns, of norm {np.linalg.norm(B):.5e}")
        given = np.asfortranarray(B[self._rows], dtype=PETSc.ScalarType)
        right = PETSc.Mat().createDense(((local, self.matrix.n), (None, k)), array=given, comm=self._comm)
        right.assemble()
        left = PETSc.Mat().createDense(((local, self.matrix.n), (None, k)), comm=self._comm)
        left.setUp()
        left.assemble()
        self._factor.matSolve(right, left)
        X = np.empty((self.matrix.n, k), self.matrix.dtype, order="F")
        spread = PETSc.Vec().createMPI((local, self.matrix.n), comm=self._comm)
        scatter, whole = PETSc.Scatter.toAll(spread)
        found = left.getDenseArray()
        for column in range(k):
            spread.setArray(found[:, column])
            scatter.scatter(spread, whole)
            X[:, column] = whole.getArray()
        for thing in (right, left, scatter, spread, whole):
            thing.destroy()
        return X

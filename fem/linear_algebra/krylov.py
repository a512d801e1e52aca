"""A growing M-orthonormal Krylov space of a symmetric operator: the workspace of the block Lanczos method.

Vectors are stored as ROWS here: each is contiguous, all products are plain matrix products of BLAS, and a block's
transpose is the Fortran-ordered block of right-hand sides that solvers want, without a copy.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.linalg.blas import dgemm

from fem.errors import MatrixError

Inverse = Callable[[np.ndarray], np.ndarray]

NEGLIGIBLE = 1e-14  # a direction this small beside what it came from is round-off
ORTHOGONAL = 1e-13  # departure of V M V^T from I that is left alone
ROUND_OFF = 1e6  # times the length of a negligible direction: a negative square beyond it is no round-off
COLUMNS = 2**14  # of the rows, combined at a time
WEAK = 1e-4  # directions this much shorter than the longest are orthonormalised in a later turn
ASYMMETRIC = 1e-6  # relative asymmetry of the inverse that cannot be round-off
NOISE = 1e-14  # a square this small beside the sum of its terms without those between dofs is round-off
CLEAN = 1e-6  # a part of this relative size has been removed to round-off


class KrylovSpace:
    """Rows V with V M V^T = I and T = V M K^-1 M V^T, grown a block at a time.

    `coupling` (pending, k): of the rows `last`, those of the latest `expand` or `restart`, to the pending ones, whose
    products will contain them. `asymmetry`: of T, relative
    to its norm; a measure of the round-off of the operator. Rows below `done` have been multiplied by the operator K^-1
    M; those from `done` to `size` are pending. Memory: one array (capacity, n) and M times the pending rows.
    """

    def __init__(self, inverse: Inverse, M: Any, capacity: int) -> None:
        n = M.shape[0]
        self._inverse, self._M = inverse, M
        self._diagonal = np.asarray(M.diagonal()) if hasattr(M, "diagonal") else np.zeros(n)
        self._V, self._MP = np.empty((capacity, n)), np.empty((0, n))
        self._T = np.zeros((capacity, capacity))
        self.coupling, self.last = np.zeros((0, 0)), slice(0, 0)
        self.n, self.capacity, self.done, self.size = n, capacity, 0, 0
        self.solves, self._scale = 0, 0.0
        self.asymmetry, self._complete = 0.0, True

    @property
    def closed(self) -> bool:
        """Nothing is pending: the operator maps the space into itself."""
        return self.done == self.size

    def apply(self, P: np.ndarray) -> np.ndarray:
        """Rows K^-1 P, checked."""
        block = np.asarray(self._inverse(P.T))
        if block.shape != P.T.shape or not np.isfinite(block).all():
            raise MatrixError(
                f"The inverse must turn a block of shape {P.T.shape} into a finite one of that shape; got shape "
                f"{block.shape}, {int((~np.isfinite(block)).sum())} values not finite."
            )
        self.solves += P.shape[0]
        return np.array(block.T, order="C")

    def mass_times(self, U: np.ndarray) -> np.ndarray:
        """Rows M U."""
        return np.ascontiguousarray((self._M @ U.T).T)

    def add(self, U: np.ndarray) -> int:
        """Append the directions of the rows U that the space does not hold yet; returns how many there were."""
        U, before = np.array(U, order="C"), self.size
        length = np.sqrt(max(np.einsum("ij,ij->i", U, self.mass_times(U)).max(initial=0.0), 0.0))
        self._project_out(U)
        self._append(U, NEGLIGIBLE * length)
        return self.size - before

    def expand(self) -> None:
        """Multiply the pending rows (if any) by the operator and append what is new in the product."""
        if self.closed:
            return
        rows = slice(self.done, self.size)
        U = self.apply(self._MP)
        expected = np.zeros((len(U), self.size))
        expected[: len(self.coupling), self.last] = self.coupling
        expected[:, rows] = U @ self._MP.T
        near = slice(min(self.last.start, rows.start), rows.stop)
        _subtract(U, expected[:, near], self._V[near])
        H = expected + self._project_out(U, float(np.abs(expected).max()))
        diagonal = H[:, rows]
        self._scale = max(self._scale, float(np.linalg.norm(H, 2)))
        self.asymmetry = max(
            self.asymmetry, float(np.abs(diagonal - diagonal.T).max()) / max(self._scale, np.finfo(float).tiny)
        )
        if self.asymmetry > ASYMMETRIC:
            raise MatrixError(
                "The inverse is not symmetric: x^T K^-1 y and y^T K^-1 x differ. Constraints must be projected out "
                "on both sides of the solve."
            )
        self._T[rows, : self.size] = H
        self._T[: self.size, rows] = H.T
        self._T[rows, rows] = 0.5 * (diagonal + diagonal.T)
        self.done, self._MP = self.size, self._MP[:0]
        self._append(U, NEGLIGIBLE * self._scale)
        self.coupling, self.last = self._MP @ U.T, rows
        self._complete &= len(self._MP) == len(U)

    def ritz(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """After `expand`: Ritz values (largest magnitude first), their coordinates (columns), the M-norms of their
        residuals."""
        theta, S = eigh(self._T[: self.done, : self.done])
        order = np.argsort(-np.abs(theta), kind="stable")
        theta, S = theta[order], np.ascontiguousarray(S[:, order])
        return theta, S, np.linalg.norm(self.coupling @ S[self.last], axis=0)

    def improved(self, theta: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues (ascending) of the inverse of the operator, and rows of M-orthonormal vectors: Ritz vectors X
        (values theta, coordinates S) after one more application of the operator. Gives the memory of the space back.

        Without a solve: K^-1 M V^T = V^T T + P^T C with the pending rows P and their coupling C. Where directions were
        dropped as negligible (their part without mass need not be), by one solve for each vector.
        """
        if self._complete:
            beyond = self.coupling @ S[self.last]
            values, C = eigh(np.diag(theta), np.diag(theta**2) + beyond.T @ beyond)
            vectors = (np.vstack([S * theta, beyond]) @ C).T @ self._V[: self.size]
        else:
            MX = self.mass_times(S.T @ self._V[: self.done])
            Y = self.apply(MX)
            stiffness, mass = Y @ MX.T, self.mass_times(Y) @ Y.T
            values, C = eigh(0.5 * (stiffness + stiffness.T), 0.5 * (mass + mass.T))
            vectors = C.T @ Y
        self._V, self._MP = np.empty((0, self.n)), np.empty((0, self.n))
        return values, vectors

    def restart(self, theta: np.ndarray, S: np.ndarray) -> None:
        """Shrink the processed rows to Ritz vectors (values theta, coordinates S); the pending block stays."""
        keep, pending = S.shape[1], self.size - self.done
        self.coupling, self.last = self.coupling @ S[self.last], slice(0, keep)
        for start in range(0, self.n, COLUMNS):  # in place
            part = slice(start, start + COLUMNS)
            self._V[:keep, part] = S.T @ self._V[: self.done, part]
        self._V[keep : keep + pending] = self._V[self.done : self.size].copy()
        self._T[:] = 0.0
        self._T[:keep, :keep] = np.diag(theta)
        self.done, self.size = keep, keep + pending

    def drop_pending(self) -> None:
        """Forget the pending block: the processed rows are taken as closed."""
        self.size, self._MP, self._complete = self.done, self._MP[:0], False
        self.coupling = self.coupling[:0]

    def _project_out(self, U: np.ndarray, removed: float = 0.0) -> np.ndarray:
        """Remove the space's part from the rows U, in place; returns its coordinates (rows).

        It is removed again unless it was small beside the largest coordinate `removed` before, because round-off of
        what is removed remains; twice is enough (Giraud et al., Numer. Math. 101 (2005) 87-100).
        """
        V = self._V[: self.size]
        coordinates = np.zeros((U.shape[0], self.size))
        if coordinates.size == 0:
            return coordinates
        for _ in range(2):
            H = self.mass_times(U) @ V.T
            _subtract(U, H, V)
            coordinates += H
            if np.abs(H).max() <= CLEAN * removed:
                break
        return coordinates

    def _append(self, U: np.ndarray, floor: float) -> None:
        """M-orthonormalise rows U that are M-orthogonal to the space, dropping directions below `floor`."""
        while len(U) and self.size < self.n:
            MU = self.mass_times(U)
            squares, Z = eigh(U @ MU.T)
            noise = NOISE * ((Z.T @ U) ** 2 @ self._diagonal)  # what remains of motions without kinetic energy
            if squares[0] < -max((ROUND_OFF * floor) ** 2, 1e-10 * squares[-1], noise[0]):
                raise MatrixError(
                    "The mass matrix is not positive definite: some motions have negative kinetic energy. Export a "
                    "consistent mass matrix with positive densities."
                )
            lengths = np.sqrt(np.maximum(squares, 0.0))
            strong = np.flatnonzero((lengths > max(floor, WEAK * lengths[-1])) & (squares > noise))
            if len(strong) == 0:
                return
            to_unit = (Z[:, strong] / lengths[strong]).T
            rows = slice(self.size, self.size + len(strong))
            V = self._V[rows]
            np.matmul(to_unit, U, out=V)
            MV = to_unit @ MU
            unit = V @ MV.T
            if np.abs(unit - np.eye(len(strong))).max() > ORTHOGONAL:
                again = solve_triangular(cholesky(unit, lower=True), np.eye(len(strong)), lower=True)
                V[:], MV = again @ V, again @ MV
            self.size, self._MP = self.size + len(strong), np.vstack([self._MP, MV])
            U = np.delete(Z, strong, axis=1).T @ U
            if len(U):
                self._project_out(U)


def _subtract(U: np.ndarray, H: np.ndarray, V: np.ndarray) -> None:
    """U -= H V, in place."""
    dgemm(-1.0, V.T, H.T, 1.0, U.T, overwrite_c=True)

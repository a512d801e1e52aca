"""A growing M-orthonormal Krylov space of a symmetric operator: the workspace of the block Lanczos method."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.linalg import cholesky, eigh, solve_triangular

from fem.errors import MatrixError

Inverse = Callable[[np.ndarray], np.ndarray]

NEGLIGIBLE = 1e-13  # a direction this small beside what it came from is round-off
WEAK = 1e-4  # directions this much shorter than the longest are orthonormalised in a second turn


class KrylovSpace:
    """V with V^T M V = I, P = M V, and T = V^T M (K^-1 M) V, grown a block at a time.

    Columns below `done` have been multiplied by the operator; those from `done` to `size` are pending.
    Every product with V or P is one matrix product of BLAS; memory is two arrays (n, capacity).
    """

    def __init__(self, inverse: Inverse, M: Any, capacity: int) -> None:
        n = M.shape[0]
        self._inverse, self._M = inverse, M
        self._V, self._P = np.empty((n, capacity), order="F"), np.empty((n, capacity), order="F")
        self._T = np.zeros((capacity, capacity))
        self._coupling, self._last = np.zeros((0, 0)), slice(0, 0)
        self.n, self.capacity, self.done, self.size = n, capacity, 0, 0
        self.solves, self.scale = 0, 0.0

    @property
    def closed(self) -> bool:
        """Nothing is pending: the operator maps the space into itself."""
        return self.done == self.size

    def apply(self, P: np.ndarray) -> np.ndarray:
        """The inverse's image of a block, checked."""
        U = np.asfortranarray(self._inverse(P))
        if U.shape != P.shape or not np.isfinite(U).all():
            raise MatrixError(
                f"The inverse must turn a block of shape {P.shape} into a finite one of that shape; got shape {U.shape}"
                f"{'' if np.isfinite(U).all() else ' with NaN or infinite values'}."
            )
        self.solves += P.shape[1]
        return U

    def mass_times(self, U: np.ndarray) -> np.ndarray:
        """M U."""
        return self._M @ U

    def add(self, U: np.ndarray) -> int:
        """Append the directions of U that the space does not hold yet; returns how many there were."""
        floor = NEGLIGIBLE * np.sqrt(max(np.abs(np.sum(U * (self._M @ U), axis=0)).max(initial=0.0), 0.0))
        before = self.size
        U = np.array(U, order="F")
        self._project_out(U)
        self._append(U, floor)
        return self.size - before

    def expand(self) -> None:
        """Multiply the pending block by the operator and append what is new in the product."""
        columns = slice(self.done, self.size)
        U = self.apply(self._P[:, columns])
        H = self._project_out(U)
        diagonal = H[columns]
        self.scale = max(self.scale, float(np.linalg.norm(H, 2)))
        if np.abs(diagonal - diagonal.T).max() > 1e-6 * self.scale:
            raise MatrixError(
                "The inverse is not symmetric: x^T K^-1 y and y^T K^-1 x differ. Constraints must be projected out on "
                "both sides of the solve."
            )
        self._T[: self.size, columns] = H
        self._T[columns, : self.size] = H.T
        self._T[columns, columns] = 0.5 * (diagonal + diagonal.T)
        self.done = self.size
        self._append(U, NEGLIGIBLE * self.scale)
        self._coupling, self._last = self._P[:, self.done : self.size].T @ U, columns

    def ritz(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ritz values of the operator (descending), their coordinates, and the M-norms of their residuals."""
        theta, S = eigh(self._T[: self.done, : self.done])
        theta, S = theta[::-1], S[:, ::-1]
        return theta, S, np.linalg.norm(self._coupling @ S[self._last], axis=0)

    def vectors(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """V S and M V S, for coordinates S of processed columns."""
        S = np.asfortranarray(S)
        return self._V[:, : self.done] @ S, self._P[:, : self.done] @ S

    def restart(self, theta: np.ndarray, S: np.ndarray) -> None:
        """Shrink the processed columns to Ritz vectors (values theta, coordinates S); the pending block stays."""
        keep, pending = S.shape[1], self.size - self.done
        for array in (self._V, self._P):
            array[:, :keep] = array[:, : self.done] @ np.ascontiguousarray(S)
            array[:, keep : keep + pending] = array[:, self.done : self.size].copy()
        self._T[:] = 0.0
        self._T[:keep, :keep] = np.diag(theta)
        self._coupling, self._last = self._coupling @ S[self._last], slice(0, keep)
        self.done, self.size = keep, keep + pending

    def drop_pending(self) -> None:
        """Forget the pending block: the processed columns are taken as closed."""
        self.size, self._coupling = self.done, self._coupling[:0]

    def _project_out(self, U: np.ndarray) -> np.ndarray:
        """Remove the space's part from U, in place and twice; returns its coordinates."""
        V, P = self._V[:, : self.size], self._P[:, : self.size]
        coordinates = np.zeros((self.size, U.shape[1]))
        for _ in range(2):
            H = P.T @ U
            dgemm(-1.0, V, H, 1.0, U, overwrite_c=True)
            coordinates += H
        return coordinates

    def _append(self, U: np.ndarray, floor: float) -> None:
        """M-orthonormalise U, whose columns are M-orthogonal to the space, dropping directions below `floor`."""
        while U.shape[1] and self.size < self.n:
            MU = self._M @ U
            squares, Z = eigh(U.T @ MU)
            strong = (squares > max(floor, WEAK * np.sqrt(max(squares[-1], 0.0))) ** 2).nonzero()[0]
            strong = strong[max(0, len(strong) - (self.n - self.size)) :]
            if len(strong) == 0:
                return
            to_unit = Z[:, strong] / np.sqrt(squares[strong])
            Q, MQ = U @ to_unit, MU @ to_unit
            columns = slice(self.size, self.size + len(strong))
            again = solve_triangular(cholesky(Q.T @ MQ), np.eye(len(strong)))  # orthogonal to round-off
            np.matmul(Q, again, out=self._V[:, columns])
            np.matmul(MQ, again, out=self._P[:, columns])
            self.size += len(strong)
            U = np.asfortranarray(U @ np.delete(Z, strong, axis=1))
            if U.shape[1]:
                self._project_out(U)

"""The small dense system that gives average interfaces their motion."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.linalg import eigh, lu_factor, lu_solve

from fem.errors import InterfaceError

SINGULAR = 1e-12


@dataclass(frozen=True, eq=False)
class SaddlePoint:
    """Factor of `[[0, Phi^T B], [B^T Phi, -B^T G B]]`, equilibrated; the first row only for a pinned body."""

    B: sp.csr_matrix
    floating: int
    scale: Float[np.ndarray, " n"]
    lu: tuple[np.ndarray, np.ndarray]

    @classmethod
    def make(cls, B: sp.csr_matrix, GB: np.ndarray, Phi: np.ndarray, names: list[str]) -> Self:
        """`Phi` (ndof, 6): rigid motions of a pinned body, or no columns; `names`: the average interfaces."""
        nq, na = Phi.shape[1], B.shape[1]
        if na == 0:
            return cls(B, 0, np.ones(0), (np.zeros((0, 0)), np.zeros(0, dtype=int)))
        A = np.zeros((nq + na, nq + na))
        A[nq:, :nq] = B.T @ Phi
        A[:nq, nq:] = A[nq:, :nq].T
        flexibility = B.T @ GB
        A[nq:, nq:] = -0.5 * (flexibility + flexibility.T)
        scale = np.ones(len(A))
        for _ in range(8):  # rows and columns to a largest entry of one (Ruiz 2001)
            largest = np.abs(A * np.outer(scale, scale)).max(axis=1)
            scale /= np.sqrt(np.where(largest > 0, largest, 1.0))
        A *= np.outer(scale, scale)
        values, vectors = eigh(A)
        weakest = np.abs(values).argmin()
        if abs(values[weakest]) < SINGULAR * np.abs(values).max():
            share = (vectors[nq:, weakest].reshape(-1, 6) ** 2).sum(axis=1)
            guilty = [name for name, part in zip(names, share, strict=True) if part > 0.01]
            raise InterfaceError(
                f"The motions of the average interfaces {', '.join(map(repr, guilty))} are not independent of each other "
                "and of the rigid ones: they share the same nodes. Remove one, or give them different nodes."
            )
        return cls(B, nq, scale, lu_factor(A))

    def solve(self, load: np.ndarray | None, d: Float[np.ndarray, "na k"]) -> tuple[np.ndarray, np.ndarray]:
        """Rigid motions q (6 or 0, k) and wrenches lambda (na, k) for right-hand sides `load` (None: zero) and `d`."""
        top = np.zeros((self.floating, d.shape[1])) if load is None else load[: self.floating]
        x = self.scale[:, None] * lu_solve(self.lu, self.scale[:, None] * np.vstack([top, d]))
        return x[: self.floating], x[self.floating :]

    def motion_of(self, U: Float[np.ndarray, "ndof k"]) -> Float[np.ndarray, "na k"]:
        """Mean motions `B^T U` of the average interfaces."""
        return np.asarray(self.B.T @ U)

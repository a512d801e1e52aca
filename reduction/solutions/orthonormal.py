"""M-orthonormal sets of shapes, enlarged block by block with directions outside their span."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

DEFLATION = 1e-8
"""A direction of a block of unit columns is new when what is left of it is longer than this."""
WEAK = 1e-4
"""Directions this much shorter than the longest are made orthonormal in a turn of their own, cleaned of the others
first."""


COLUMNS = 16
"""Columns of a block of a projection."""


def projection(A: Any, V: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "m m"]:
    """`V^T A V` of a symmetric A, a block of columns at a time, so that A V is never stored as a whole.

    The result is the mean of both triangles: for thin parts its round-off is a tenth of that of one triangle.
    """
    m = V.shape[1]
    result = np.empty((m, m))
    for start in range(0, m, COLUMNS):
        block = slice(start, start + COLUMNS)
        result[:, block] = V.T @ (A @ V[:, block])
    return 0.5 * (result + result.T)


def new_directions(
    M: Any,
    Z: Float[np.ndarray, "n k"],
    MZ: Float[np.ndarray, "n k"],
    U: Float[np.ndarray, "n p"],
    deflation: float = DEFLATION,
) -> tuple[Float[np.ndarray, "n q"], Float[np.ndarray, "n q"]]:
    """Q and M Q: the directions of `U` outside the span of the M-orthonormal `Z`, M-orthonormal, longest first.

    Orthogonalisation is done twice (twice is enough: Giraud et al., Numer. Math. 101 (2005) 87-100) and once more after
    a block was made orthonormal in itself. Cost: 6 n p (k + p) flops and three products with M.
    """
    length = np.sqrt(np.einsum("ij,ij->j", U, M @ U))
    U = U[:, length > 0] / length[length > 0]
    k = Z.shape[1]
    while U.shape[1]:
        for _ in range(2):
            U = U - Z @ (MZ.T @ U)
        squares, C = eigh(U.T @ (M @ U))
        length = np.sqrt(np.maximum(squares, 0.0))
        strong = length > max(WEAK * length[-1], deflation)
        if not strong.any():
            break
        Q = U @ (C[:, strong] / length[strong])[:, ::-1]
        Q -= Z @ (MZ.T @ Q)
        MQ = M @ Q
        squares, turn = eigh(Q.T @ MQ)
        turn = (turn / np.sqrt(squares)) @ turn.T  # nearest orthonormal: keeps the order
        Z, MZ = np.hstack([Z, Q @ turn]), np.hstack([MZ, MQ @ turn])
        U = U @ C[:, ~strong]
    return Z[:, k:], MZ[:, k:]

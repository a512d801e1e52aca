"""Check that imported matrices are those of a free part with three dofs a node at the given points."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from fem.errors import MatrixError
from fem.interface import rigid_motion

SYMMETRY = 1e-8
"""Allowed asymmetry, relative to the largest entry."""

RIGID = 1e-6
"""Allowed resistance of K to rigid motion and allowed deviation of M from a rigid body, relative."""


def checked_free_matrices(M: Any, K: Any, points: np.ndarray, name: str) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Symmetric CSR copies of `M` and `K`. Raises MatrixError, which states the defect and its remedy."""
    M, K = (_symmetric(A, letter, len(points), name) for A, letter in ((M, "M"), (K, "K")))
    rigid = rigid_motion(points, points.mean(axis=0))
    if len(points) > 1:
        rigid[:, 3:] /= np.abs(rigid[:, 3:]).max()
    _insist_on_rigid_mass(M, rigid, name)
    _insist_on_free_stiffness(K, rigid, name)
    return M, K


def _symmetric(A: Any, letter: str, nodes: int, name: str) -> sp.csr_matrix:
    try:
        A = sp.csr_matrix(A, dtype=float)
    except (TypeError, ValueError) as error:
        raise MatrixError(f"Model {name!r}: {letter} is not a matrix of numbers ({error}).") from None
    size = 3 * nodes
    if A.shape != (size, size):
        hint = (
            " Matrices with rotational dofs are not supported: export solid elements."
            if A.shape[0] == 6 * nodes
            else ""
        )
        raise MatrixError(
            f"Model {name!r}: {letter} has shape {A.shape}; {nodes} nodes with 3 dofs each need ({size}, {size}).{hint}"
        )
    if not np.isfinite(A.data).all():
        raise MatrixError(f"Model {name!r}: {letter} contains NaN or infinite entries.")
    largest = float(abs(A).max()) if A.nnz else 0.0
    if largest == 0.0:
        raise MatrixError(f"Model {name!r}: {letter} is empty; all its entries are zero.")
    off = float(abs(A - A.T).max())
    if off > SYMMETRY * largest:
        raise MatrixError(
            f"Model {name!r}: {letter} is not symmetric (difference {off:.3g}, largest entry {largest:.3g}). If only "
            "one triangle was exported, complete it: A + A.T - diag(A)."
        )
    A = sp.csr_matrix((A + A.T) / 2)
    A.sort_indices()
    return A


def _insist_on_rigid_mass(M: sp.csr_matrix, rigid: np.ndarray, name: str) -> None:
    negative = np.flatnonzero(M.diagonal() < 0)
    if len(negative):
        raise MatrixError(
            f"Model {name!r}: M has {len(negative)} negative diagonal entries (first: dof {negative[0]}). Export a "
            "consistent mass matrix, not a lumped one of quadratic elements."
        )
    total = rigid.T @ (M @ rigid)
    masses = np.diag(total)[:3]
    if not (masses > 0).all():
        raise MatrixError(
            f"Model {name!r}: M gives the masses {masses} along x, y, z; they must be positive. Are M and K swapped?"
        )
    coupling = total[:3, :3] - np.eye(3) * masses.mean()
    lever = total[:3, 3:] + total[:3, 3:].T  # skew for a rigid body
    worst = max(np.abs(coupling).max(), np.abs(lever).max()) / masses.mean()
    if worst > RIGID:
        raise MatrixError(
            f"Model {name!r}: in rigid motion M is not the mass of a body: along x, y, z it gives {masses} (relative "
            f"deviation {worst:.2g}). Are the dofs numbered node by node (3 * node + component), and is the part free "
            "of supports?"
        )


def _insist_on_free_stiffness(K: sp.csr_matrix, rigid: np.ndarray, name: str) -> None:
    resisted = np.abs(K @ rigid).max(axis=0) / abs(K).max()
    if resisted.max() > RIGID:
        which = "translation" if resisted[:3].max() > RIGID else "rotation"
        raise MatrixError(
            f"Model {name!r}: K resists rigid {which} (relative force {resisted.max():.2g}). A flexible body needs the "
            "matrices of the free part: export K without supports and contacts, and give the coordinates in the order "
            "of its nodes."
        )

"""Check that imported matrices are those of a free part at the given points, and order them as flexmb does."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from fem.dofs.dof_map import DofMap
from fem.errors import MatrixError
from fem.interface import rigid_motion

SYMMETRY = 1e-8
"""Allowed asymmetry, relative to the largest entry."""

RIGID = 1e-6
"""Allowed resistance of K to rigid motion and allowed deviation of M from a rigid body, relative."""


def checked_free_matrices(
    M: Any, K: Any, points: np.ndarray, name: str, dofs: Any = None, D: Any = None
) -> tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix | None, DofMap]:
    """CSR copies of `M` and `K`, symmetric, and `D`, over the dofs of all nodes of the returned `DofMap`.

    Rows are those of `dofs` (ndof, 2), node and component; by default three dofs a node, or six. Rotations without any
    mass and stiffness are no dofs of the part. Raises MatrixError, which states the defect and its remedy.
    """
    M, K = (_matrix(A, letter, name) for A, letter in ((M, "M"), (K, "K")))
    D = None if D is None else _matrix(D, "D", name, empty=True)
    at = _rows(dofs, M.shape[0], len(points), name)
    for letter, A in (("M", M), ("K", K), ("D", D)):
        if A is not None and A.shape != (len(at), len(at)):
            raise MatrixError(f"Model {name!r}: {letter} has shape {A.shape}; {_expected(len(points), len(at))}.")
    turning = at[:, 1] >= 3
    used = _used(M, K)
    rotations = np.unique(at[turning & used, 0])
    free = DofMap.of(points, rotations)
    there = ~turning | np.isin(at[:, 0], rotations)
    number = np.full(len(at), -1)
    number[~turning] = 3 * at[~turning, 0] + at[~turning, 1]
    on = turning & there
    number[on] = 3 * len(points) + 3 * np.searchsorted(rotations, at[on, 0]) + at[on, 1] - 3
    rows = np.flatnonzero(there)
    if len(rows) < len(number) or (np.diff(number) != 1).any():
        to = sp.csr_matrix((np.ones(len(rows)), (number[rows], rows)), shape=(free.size_of_all, len(at)))
        M, K = (sp.csr_matrix(to @ A @ to.T) for A in (M, K))
        D = None if D is None else sp.csr_matrix(to @ D @ to.T)
    length = max(float(np.ptp(points, axis=0).max(initial=0.0)), np.finfo(float).tiny) if len(points) > 1 else 1.0
    unit = np.ones(free.size_of_all)
    unit[3 * len(points) :] = 1 / length  # rotations as displacements of the part, moments as forces
    M, K = (_symmetric(A, unit, letter, name) for A, letter in ((M, "M"), (K, "K")))
    rigid = np.vstack(
        [
            rigid_motion(points, points.mean(axis=0)),
            np.tile(np.hstack([np.zeros((3, 3)), length * np.eye(3)]), (len(rotations), 1)),
        ]
    )
    if len(points) > 1:
        rigid[:, 3:] /= np.abs(rigid[:, 3:]).max()
    _insist_on_rigid_mass(_scaled(M, unit), rigid, name)
    _insist_on_free_stiffness(_scaled(K, unit), rigid, name)
    if D is not None:
        _insist_on_free_damping(_scaled(D, unit), rigid, name)
    return M, K, D, _without_idle_rotations(free, M, K)


def _rows(dofs: Any, size: int, nodes: int, name: str) -> np.ndarray:
    """Node and component (ndof, 2) of every row."""
    if dofs is None:
        if size not in (3 * nodes, 6 * nodes):
            raise MatrixError(f"Model {name!r}: M has {size} rows; {_expected(nodes, 3 * nodes)}.")
        return np.argwhere(np.ones((nodes, size // max(nodes, 1))))
    at = np.asarray(dofs)
    if at.ndim != 2 or at.shape[1] != 2 or at.dtype.kind not in "iu" or not len(at):
        raise MatrixError(f"Model {name!r}: dofs must be whole numbers of shape (ndof, 2); found shape {at.shape}.")
    if (at < 0).any() or at[:, 0].max() >= nodes or at[:, 1].max() > 5:
        raise MatrixError(
            f"Model {name!r}: dofs should name nodes 0 to {nodes - 1} and components 0 to 5; found "
            f"{at[:, 0].min()} to {at[:, 0].max()} and {at[:, 1].min()} to {at[:, 1].max()}. Without dofs, rows "
            "are taken node by node, with 3 or 6 components as their number says."
        )
    if len(np.unique(at, axis=0)) != len(at):
        raise MatrixError(f"Model {name!r}: dofs names a component of a node twice.")
    lacking = np.setdiff1d(np.argwhere(np.ones((nodes, 3))) @ [6, 1], at @ [6, 1])
    if len(lacking):
        raise MatrixError(
            f"Model {name!r}: {len(lacking)} translations are missing in dofs (first: component {lacking[0] % 6} of "
            f"node {lacking[0] // 6}). Export the free part, without supports."
        )
    return at


def _expected(nodes: int, size: int) -> str:
    if size == 3 * nodes:
        return f"{nodes} nodes with 3 dofs each need ({size}, {size}), with 6 dofs each ({2 * size}, {2 * size})"
    return f"expected ({size}, {size})"


def _matrix(A: Any, letter: str, name: str, empty: bool = False) -> sp.csr_matrix:
    try:
        A = sp.csr_matrix(A, dtype=float, copy=True)
    except (TypeError, ValueError) as error:
        raise MatrixError(f"Model {name!r}: {letter} is not a matrix of numbers ({error}).") from None
    if A.shape[0] != A.shape[1]:
        raise MatrixError(f"Model {name!r}: {letter} has shape {A.shape}; expected a square matrix.")
    if not np.isfinite(A.data).all():
        raise MatrixError(f"Model {name!r}: {letter} contains NaN or infinite entries.")
    A.sum_duplicates()
    A.eliminate_zeros()
    if not empty and not _largest(A):
        raise MatrixError(f"Model {name!r}: {letter} is empty; all its entries are zero.")
    return A


def _symmetric(A: sp.csr_matrix, unit: np.ndarray, letter: str, name: str) -> sp.csr_matrix:
    A.sort_indices()
    turned = sp.csr_matrix(A.T)
    if turned.nnz == A.nnz and (turned.indices == A.indices).all() and (turned.indptr == A.indptr).all():
        apart = sp.csr_matrix((A.data - turned.data, A.indices, A.indptr), shape=A.shape)
    else:
        apart = sp.csr_matrix(A - turned)
    off, largest = (_largest(_scaled(part, unit)) for part in (apart, A))
    if off > SYMMETRY * largest:
        raise MatrixError(
            f"Model {name!r}: {letter} is not symmetric (difference {off:.3g}, largest entry {largest:.3g}). If only "
            "one triangle was exported, complete it: A + A.T - diag(A)."
        )
    return A if off == 0.0 else sp.csr_matrix((A + turned) / 2)


def _scaled(A: sp.csr_matrix, unit: np.ndarray) -> sp.csr_matrix:
    """The rows and columns of A times the entries of `unit`; A itself if all are one."""
    if (unit == 1.0).all():
        return A
    scale = sp.diags_array(unit)
    return sp.csr_matrix(scale @ A @ scale)


def _largest(A: sp.csr_matrix) -> float:
    """The largest entry, by its absolute value."""
    return float(max(A.data.max(initial=0.0), -A.data.min(initial=0.0)))


def _used(M: sp.csr_matrix, K: sp.csr_matrix) -> np.ndarray:
    """Whether a row of M or K has an entry that is not zero."""
    return (np.diff(M.indptr) > 0) | (np.diff(K.indptr) > 0)


def _without_idle_rotations(free: DofMap, M: sp.csr_matrix, K: sp.csr_matrix) -> DofMap:
    """The dofs without rotations of single directions that nothing resists and no mass follows, such as those about the
    normals of flat shells."""
    used = _used(M, K)
    used[: 3 * free.nodes] = True
    if used.all():
        return free
    independent = np.flatnonzero(used)
    shape = (len(used), len(independent))
    T = sp.csr_matrix((np.ones(len(independent)), (independent, np.arange(len(independent)))), shape)
    return DofMap(free.nodes, free.rotation_nodes, independent, T)


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
            f"deviation {worst:.2g}). Are the dofs numbered node by node (3 * node + component, or 6 * node + "
            "component; give dofs= otherwise), and is the part free of supports?"
        )


def _insist_on_free_stiffness(K: sp.csr_matrix, rigid: np.ndarray, name: str) -> None:
    resisted = np.abs(K @ rigid).max(axis=0) / _largest(K)
    if resisted.max() > RIGID:
        which = "translation" if resisted[:3].max() > RIGID else "rotation"
        raise MatrixError(
            f"Model {name!r}: K resists rigid {which} (relative force {resisted.max():.2g}). A flexible body needs the "
            "matrices of the free part: export K without supports and contacts, and give the coordinates in the order "
            "of its nodes."
        )


def _insist_on_free_damping(D: sp.csr_matrix, rigid: np.ndarray, name: str) -> None:
    even = D + D.T  # the rest is gyroscopic, and acts in rigid motion too
    largest = _largest(even)
    if largest <= SYMMETRY * _largest(D):
        return
    resisted = float(np.abs(even @ rigid).max() / largest)
    if resisted > RIGID:
        raise MatrixError(
            f"Model {name!r}: the symmetric part of D damps rigid motion (relative force {resisted:.2g}). The damping "
            "matrix of a body acts between its own points: leave out dampers to the ground and mass-proportional "
            "damping, and give them to the system (dampers) or to flexible_body(rayleigh=...)."
        )
    if (D.diagonal() < -RIGID * largest).any():
        raise MatrixError(
            f"Model {name!r}: D has a negative diagonal entry (dof {int(D.diagonal().argmin())}), which supplies "
            "energy. The force of damping on the part is -D times the velocity."
        )

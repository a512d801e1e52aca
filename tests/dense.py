"""Brute-force references for reductions: dense matrices, constraints as equations, null spaces by SVD."""

import numpy as np
from scipy.linalg import eigh, null_space

from fem.model import Model


def rigid_columns(points: np.ndarray, about: np.ndarray) -> np.ndarray:
    """Displacements for three translations and three rotations about a point, by cross products."""
    columns = [np.tile(e, (len(points), 1)) for e in np.eye(3)]
    columns += [np.cross(e, points - about) for e in np.eye(3)]
    return np.stack([c.ravel() for c in columns], axis=1)


def stiff_sets(model: Model) -> np.ndarray:
    """Rows C with C u = 0 when every rigid interface moves as one."""
    rows = [np.zeros((0, model.ndof))]
    for interface in model.interfaces.values():
        if interface.kind == "rigid":
            L = rigid_columns(model.points[interface.nodes], interface.point)
            C = np.zeros((len(L), model.ndof))
            C[:, interface.dofs] = np.eye(len(L)) - L @ np.linalg.pinv(L)
            rows.append(C)
    return np.vstack(rows)


def motion(model: Model, name: str) -> np.ndarray:
    """B (ndof, 6) of an interface by the normal equations of the weighted least-squares fit."""
    interface = model.interfaces[name]
    w = np.ones(len(interface.nodes)) if interface.kind == "rigid" else interface.weights
    L = rigid_columns(model.points[interface.nodes], interface.point)
    WL = np.repeat(w, 3)[:, None] * L
    B = np.zeros((model.ndof, 6))
    B[interface.dofs] = WL @ np.linalg.inv(L.T @ WL)
    return B


def all_motions(model: Model) -> np.ndarray:
    """B of all interfaces side by side (ndof, 6 ni)."""
    return np.hstack([motion(model, name) for name in model.interfaces])


def eigenvalues(model: Model, fixed: list[str] | tuple = ()) -> np.ndarray:
    """All eigenvalues of the model with stiff sets, the interfaces `fixed` at rest; six are zero when none is."""
    rows = np.vstack([stiff_sets(model), *(motion(model, name).T for name in fixed)])
    T = null_space(rows / max(np.abs(rows).max(), 1.0)) if len(rows) else np.eye(model.ndof)
    return eigh(T.T @ (model.K @ T), T.T @ (model.M @ T), eigvals_only=True)


def static_shapes(model: Model, load: np.ndarray, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Least energy of `u^T K u / 2 - load^T u` with stiff sets and `rows u = values`, by the dense KKT system."""
    C = stiff_sets(model)
    equations = np.vstack([C / max(np.abs(C).max(), 1.0), rows]) if len(C) else rows
    right = np.vstack([np.zeros((len(C), values.shape[1])), values])
    scale = model.K.diagonal().max()
    K = model.K.toarray() / scale
    n, c = len(K), len(equations)
    A = np.block([[K, equations.T], [equations, np.zeros((c, c))]])
    return np.linalg.lstsq(A, np.vstack([load / scale, right]), rcond=1e-13)[0][:n]


def without_rigid_motion(model: Model, U: np.ndarray) -> np.ndarray:
    """U M-orthogonal to the rigid motions."""
    R = rigid_columns(model.points, model.centre_of_mass)
    return U - R @ np.linalg.solve(R.T @ (model.M @ R), R.T @ (model.M @ U))

"""What a basis lacks of the static response of a part to inertia forces and weight.

Each point of a rigid motion has the acceleration `a + Gamma X`, less gravity, in body axes: twelve patterns, three
translations and nine moments. Their forces f are carried by loads at interfaces, `f - B lambda` in equilibrium. A basis
that holds the static response to balanced loads at interfaces lacks the same of it whichever of them carry it:

    U = G (f - B lambda) - Psi diag(1 / w^2) Psi^T (f - B lambda)

with G the static compliance of the free part. The second term is the Galerkin solution in the span of the basis. Where
a basis lacks responses to loads at interfaces as well (modal), lambda is that of least norm, and U an estimate.
"""

import numpy as np
from jaxtyping import Float

from fem.model import Model
from reduction.basis import Basis
from reduction.solutions.statics import Statics, elastic, inertia_relief_solution, statics

PATTERNS = 12
"""Accelerations `e_b` (column b), then `X_a e_b` (column 3 + 3 a + b), X from the origin of the mesh."""


def acceleration_loads(model: Model) -> Float[np.ndarray, "n_all k"]:
    """Forces of the twelve accelerations on the dofs of all nodes, then the six unit loads of each interface."""
    translations = model.rigid_body_modes_of_all()[:, :3]
    rows = [interface.nodal_matrix(model).toarray() for interface in model.interfaces.values()]
    return np.column_stack([model.mass_of_all @ translations, model.moment_loads_of_all(), *rows])


def truncated_statics(model: Model, basis: Basis) -> Float[np.ndarray, "ndof 12"]:
    """The static displacements under forces of the twelve accelerations that `basis` lacks.

    Cost: 12 solves and 6 for each interface, with the factor that the reduction kept or a new one.
    `reduction.second_order` has these solutions already.
    """
    body = statics(model)
    loads = model.dof_map.gather(acceleration_loads(model))
    U = inertia_relief_solution(body, loads)
    body.keep(long=True)
    return truncated(body, basis, loads, loads - body.MR @ (body.R.T @ loads), U)


def truncated(
    body: Statics,
    basis: Basis,
    loads: Float[np.ndarray, "ndof k"],
    balanced: Float[np.ndarray, "ndof k"],
    U: Float[np.ndarray, "ndof k"],
) -> Float[np.ndarray, "ndof 12"]:
    """`truncated_statics` from the `loads` of `acceleration_loads`, the same `balanced` by forces of inertia or at one
    interface, and the displacements `U` under the balanced ones."""
    length = np.sqrt(np.trace(body.model.inertia()) / (2 * body.model.mass))
    units = np.tile(np.repeat([1.0, length], 3), len(body.model.interfaces))
    share = np.vstack([np.eye(PATTERNS), np.zeros((len(units), PATTERNS))])
    if len(units):
        wrenches = body.R.T @ loads
        carried = np.linalg.lstsq(wrenches[:, PATTERNS:] * units, wrenches[:, :PATTERNS], rcond=None)[0]
        share[PATTERNS:] = -units[:, None] * carried
    F, Psi = balanced @ share, np.asarray(basis.Psi)
    return np.asarray(elastic(body, U @ share - Psi @ ((Psi.T @ F) / basis.eigenvalues[:, None])))

"""The second-order displacement field itself, for pictures and displacement files.

Dynamics needs only its integrals (`reduction.second_order`), which cost 12 solves. The field is a shape for each pair
of elastic coordinates; those of the softest pairs are kept.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int

from fem.model import Model
from reduction.basis import Basis
from reduction.solutions.statics import Statics, inertia_relief_solution

SMALLEST = 1e-2
"""Pairs that displace, at equal strain energy, less than about this fraction of the softest pair are left out ..."""
PER_MODE = 2
"""... and so are those beyond this many pairs for each elastic coordinate: the field takes at most so many times the
memory of Psi."""


@dataclass(frozen=True, eq=False)
class SecondOrderModes:
    """Nodal displacements of second order: `1/2 sum_p weight_p shapes_p eta_i eta_j` over `pairs` (i, j), i <= j;
    weight 2 for i < j.

    `shapes` (n, 3, p), in the frame of the basis. Units: consistent.
    """

    pairs: Int[np.ndarray, "p 2"]
    shapes: Float32[np.ndarray, "n 3 p"]

    def displacements(self, eta: Float[np.ndarray, " m"], nodes: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k 3"]:
        """Displacements of second order of `nodes`."""
        i, j = self.pairs.T
        return self.shapes[nodes] @ (np.where(i == j, 0.5, 1.0) * eta[i] * eta[j])


def leading_pairs(eigenvalues: Float[np.ndarray, " m"]) -> Int[np.ndarray, "p 2"]:
    """The softest pairs of elastic coordinates: equal strain energy makes amplitudes go as `1 / omega`."""
    m = len(eigenvalues)
    pairs = np.column_stack(np.triu_indices(m))
    weight = eigenvalues[0] / np.sqrt(eigenvalues[pairs].prod(axis=1))
    order = np.argsort(-weight, kind="stable")[: PER_MODE * m]
    return pairs[order[weight[order] >= SMALLEST]]


def second_order_modes(body: Statics, basis: Basis, pairs: Int[np.ndarray, "p 2"]) -> SecondOrderModes:
    """Solve equation (1) of `reduction.second_order` for each of `pairs`. Cost: one static solve each, in one block."""
    model = body.model
    particular = _particular(model, basis, pairs)
    loads = model.quadratic_strain_loads(np.asarray(basis.Psi), pairs) + model.K @ particular
    g = particular - inertia_relief_solution(body, loads)
    linked = model.dof_map.link_motion(np.asarray(basis.Psi), pairs)
    whole = model.dof_map.expand(g) + linked
    if basis.reference_frame is None:
        R = model.dof_map.expand(body.R)
        whole -= R @ ((model.mass_of_all @ R).T @ whole)
    else:
        interface = model.interfaces[basis.reference_frame]
        whole -= model.rigid_body_modes_of_all(interface.point) @ (interface.nodal_matrix(model).T @ whole)
    n = 3 * len(model.points)
    return SecondOrderModes(pairs, whole[:n].reshape(-1, 3, len(pairs)).astype(np.float32))


def _particular(model: Model, basis: Basis, pairs: np.ndarray) -> np.ndarray:
    """`theta_i x (theta_j x x)`, symmetrised, on the nodes of the rigid interfaces: (ndof, p)."""
    field = np.zeros((model.ndof, len(pairs)))
    for name, interface in model.interfaces.items():
        if interface.kind != "rigid":
            continue
        a, b = (basis.interface_modes[name][3:, k] for k in pairs.T)
        turn = 0.5 * (np.einsum("ap,bp->abp", a, b) + np.einsum("ap,bp->abp", b, a))
        turn -= np.einsum("cp,cp->p", a, b) * np.eye(3)[..., None]
        x = model.points[interface.nodes] - interface.point
        field[model.dof_map.places(interface.translation_dofs)] = np.einsum("abp,nb->nap", turn, x).reshape(
            -1, len(pairs)
        )
    return field

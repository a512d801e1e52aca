"""Stresses of a body that touches others with its flexible surfaces, exact in statics wherever the contact is.

The elastic coordinates of a small basis do not resolve the stresses of a load that wanders over a surface. The static
displacements that they lack are known for the forces at the nodes,

    u = Psi eta + (G - Psi diag(1/w^2) Psi^T) f,

with the static response G of the free part (`reduction.residual_displacements`), and their stresses are added here to
those of the elastic coordinates. A solution with the finite element model is needed for each time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

import reduction
from fem.matrices.stress import von_mises
from fem.mesh.mesh import Mesh, label_of
from fem.model import Model
from flexmb.errors import StressError
from flexmb.results.elements.surface_contact import surface_forces
from flexmb.results.result import Result
from flexmb.results.stress import shapes_of

SAME = 1e-9
"""Relative difference of the stiffnesses of a basis and of a body that was made from it."""


@dataclass(frozen=True, eq=False)
class ContactStress:
    """Stresses of a body over its skin, with those of the static response to the forces on its surfaces.

    - `t` (nt,): the times; `nodes` (p,): nodes of the mesh; `x` (p, 3): places in the body frame.
    - `stress` (nt, p, 6): xx, yy, zz, xy, yz, zx in body axes (force/length^2).
    - `mesh`: that of the body, whose file numbers the nodes.
    """

    body: str
    t: Float[np.ndarray, "nt"]
    nodes: Int[np.ndarray, "p"]
    x: Float[np.ndarray, "p 3"]
    stress: Float[np.ndarray, "nt p 6"]
    mesh: Mesh | None = None

    @property
    def von_mises(self) -> Float[np.ndarray, "nt p"]:
        """Equivalent stress of von Mises."""
        return von_mises(self.stress)

    def __str__(self) -> str:
        values = self.von_mises
        k, i = np.unravel_index(int(values.argmax()), values.shape)
        place = ", ".join(f"{c:.6g}" for c in self.x[i])
        node = int(self.nodes[i])
        where = f"node {label_of(self.mesh, node)}" if node >= 0 else "a fibre of a beam or shell"
        return (
            f"largest von Mises stress of {self.body!r} with its contacts: {values[k, i]:.6g} at t = {self.t[k]:.6g}, "
            f"{where} at ({place}) of its frame"
        )


def contact_stress(
    result: Result, body: str, model: Model, basis: reduction.Basis, times: Sequence[int] | None = None
) -> ContactStress:
    """The stresses of a body that touches others with its flexible surfaces, at stored times.

    - `model`, `basis`: the part and the basis from which `flexible_body` made the body.
    - `times`: numbers of the stored times; all of them if not given.

    Cost: one solution with the factor of the part and 48 bytes for each node of the skin and time.

    Raises `StressError` when the body has no stresses or no flexible surface in contact, or the basis is another one.
    """
    shapes, index = shapes_of(result, body), result.mechanism.body_index(body)
    stiffness = result.mechanism.bodies[index].stiffness
    if len(basis.eigenvalues) != len(stiffness) or not np.allclose(basis.eigenvalues, stiffness, rtol=SAME, atol=0.0):
        raise StressError(
            f"Body {body!r}: the basis has the stiffnesses {basis.eigenvalues[:3]}..., the body {stiffness[:3]}...; "
            "give the model and the basis from which flexible_body made it."
        )
    nodes, forces = surface_forces(result, index)
    if not len(nodes):
        touching = {b for c in result.mechanism.surface_contacts for b in (c.body, c.other) if b >= 0}
        having = [result.mechanism.bodies[b].name for b in sorted(touching)]
        raise StressError(
            f"Body {body!r} has no forces on flexible surfaces; largest_stress and stress_at give its stresses. Bodies "
            f"with such contacts: {having or 'none'}."
        )
    chosen = np.arange(len(result.t)) if times is None else np.asarray(times, dtype=np.int64)
    residual = reduction.residual_displacements(model, basis, nodes, np.moveaxis(forces[chosen], 0, 2))
    _, _, lacking = model.stresses(residual)
    stress = np.einsum("pim,tm->tpi", shapes.rows, result.elastic(body)[chosen]) + np.moveaxis(lacking, 2, 0)
    mesh = result.mechanism.bodies[index].mesh
    return ContactStress(body, result.t[chosen], shapes.nodes, shapes.x, stress, mesh)

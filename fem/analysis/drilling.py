"""Moments about the normals of shells that act on the drilling stiffness of single nodes."""

import warnings

import numpy as np
from jaxtyping import Float

from fem.errors import MeshWarning
from fem.mesh.mesh import triple
from fem.model import Model

SHARE = 0.01
"""Part of the moment on a node from which one about the normal counts, whatever acts elsewhere."""
PASSED = 0.1
"""The same for the moment that beams pass on, as a part of their moments and forces: stiffeners in the surface of a
shell have up to 0.02."""
DRILLED = 0.01
"""Part of a strain energy in the drilling stiffness of shells from which a warning says so; usual fields have 1e-6."""
ROUND_OFF = 1e-9
"""Moment relative to the largest force times the size of the part, and turn relative to the largest, that count as
none."""


def warn_of_drilling(model: Model, load: Float[np.ndarray, " ndof"], q: Float[np.ndarray, " ndof"]) -> None:
    """Issue a `MeshWarning` where the `load`, or beams under the displacements `q`, turn single nodes of shells about
    the normal: shells have almost no stiffness there.

    Each node is judged by its own moment: the size of other loads does not matter. What else may turn nodes (springs,
    supports of single nodes), the strain energy tells.
    """
    if model.mesh is None or not len(model.mesh.shell_nodes):
        return
    dofs, u = model.dof_map, model.dof_map.expand(q)
    applied = np.zeros(dofs.size_of_all)
    applied[dofs.independent] = load
    turns = slice(3 * dofs.nodes, dofs.start_of_rates)
    least, passed = SHARE * np.linalg.norm(applied[turns].reshape(-1, 3), axis=1), applied.copy()
    forces = float(np.abs(applied[: 3 * dofs.nodes]).max(initial=0.0))
    for beams, of_cells in model.elements.beams:
        ends = np.einsum("eab,eb->ea", beams.stiffness(), u[of_cells])
        np.subtract.at(passed, of_cells, ends)
        forces = max(forces, float(np.abs(ends[:, :3]).max(initial=0.0)))
        length = np.linalg.norm(beams.x[:, -1] - beams.x[:, 0], axis=1)
        for first in (0, 6):
            at = (of_cells[:, first + 3] - 3 * dofs.nodes) // 3
            force, moment = (np.linalg.norm(ends[:, k : k + 3], axis=1) for k in (first, first + 3))
            np.maximum.at(least, at, PASSED * (moment + force * length))
    rigid = [i.nodes for i in model.interfaces.values() if i.kind == "rigid" and len(i.nodes) > 1]
    normals = model.mesh.shell_normals[dofs.rotation_nodes]
    normals[np.isin(dofs.rotation_nodes, np.concatenate([np.zeros(0, dtype=np.int64), *rigid]))] = 0.0
    moments, turned = (np.abs((A[turns].reshape(-1, 3) * normals).sum(axis=1)) for A in (passed, u))
    floor = ROUND_OFF * max(forces * model.mesh.size, float(np.abs(passed[turns]).max(initial=0.0)))
    drilled = (moments > np.maximum(least, floor)) & (turned > ROUND_OFF * np.abs(u[turns]).max(initial=0.0))
    if not drilled.any():
        warn_of_drilled_fields(model, q[:, None], "the solution")
        return
    worst = int(np.argmax(np.where(drilled, moments, 0.0)))
    node = int(dofs.rotation_nodes[worst])
    warnings.warn(
        MeshWarning(
            f"Model {model.name!r}: a moment of {moments[worst]:.4g} about the normal of the shell acts on node "
            f"{model.mesh.node_label(node)} at {triple(model.points[node])} alone (nodes with such moments: "
            f"{int(drilled.sum())}), and turns it by {turned[worst]:.3g}, much too far: shells have almost no "
            "stiffness there (Shell.drilling). Let it act on several nodes, which displacements hold: an interface of "
            'the nodes around, Interface(nodes, kind="average"), or a fem.RigidLink to them.'
        ),
        stacklevel=3,
    )


def warn_of_drilled_fields(model: Model, U: Float[np.ndarray, "ndof k"], what: str) -> None:
    """Issue a `MeshWarning` where the strain energy of one of the displacement fields `U` is that of the drilling
    stiffness of shells, a number of the discretisation: a moment about the normal of a shell acts on single nodes
    there, and they turn much too far. `what`: the fields, for the message."""
    if not model.has_elements or not model.elements.shells:
        return
    source = model.elements
    u, energy = model.dof_map.expand(U), np.einsum("ik,ik->k", U, model.K @ U)
    drilling = [(shells.drilling_energy(u, dofs), dofs) for shells, dofs in source.shells]
    share = sum(cells.sum(axis=0) for cells, _ in drilling) / np.where(energy > 0, energy, np.inf)
    worst = int(np.argmax(share))
    if share[worst] <= DRILLED:
        return
    most, dofs = max(drilling, key=lambda d: d[0][:, worst].max())
    own = dofs[int(most[:, worst].argmax())].reshape(-1, 6)
    node = int(own[np.abs(u[own[:, 3:], worst]).sum(axis=1).argmax(), 0] // 3)
    warnings.warn(
        MeshWarning(
            f"Model {model.name!r}: {100 * share[worst]:.2g} % of the strain energy of {what} is that of shells "
            f"whose nodes turn about the normal, most of it near node {source.mesh.node_label(node)} at "
            f"{model.points[node]}. Shells have almost no stiffness there (Shell.drilling), so that a moment about "
            "the normal of a single node turns it much too far. Let it act on several nodes, which displacements "
            'hold: an interface of the nodes around, Interface(nodes, kind="average"), or a fem.RigidLink to them.'
        ),
        stacklevel=3,
    )

"""Flexible surfaces that touch (flexmb/kernels/equations/skins.py): what their points see at a configuration, the
residual compliance between them, and checks."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from fem.errors import ConvergenceError
from fem.mesh.mesh import label_of
from flexmb.equations.evaluation import Equations
from flexmb.errors import MechanismError
from flexmb.kernels.base.data import GROUND, NO_MATE, RIGID_MESH
from flexmb.kernels.calls import place_markers, place_skins, skin_rows
from flexmb.kernels.equations.facing import EDGE, OPPOSED
from flexmb.mechanism.contacts.surface import FORCES
from flexmb.mechanism.mechanism import Mechanism

DRAWN = 1e-6
"""Overlap, relative to the length of the mechanism, with which a motion may begin."""


@dataclass(frozen=True, eq=False)
class SurfacePoints:
    """The points (n) of all flexible surfaces at a configuration, with the forces of the states of `equations`.

    - `gap` (n,): distance of each point from what it touches; infinite where it faces nothing.
    - `slip` (n, 3): displacement of each point relative to what it touches, along its normal and the two directions
      across it, since its nodes were at the places `before` of `see_points`.
    - `rows` (n, 3, nv): derivatives of the positions along these directions by the motions of the bodies.
    - `shares` (3 n, 3 nk): forces on the nodes (nk), in the axes of their bodies, of unit forces at the points.
    """

    equations: Equations
    gap: Float[np.ndarray, "n"]
    slip: Float[np.ndarray, "n 3"]
    rows: Float[np.ndarray, "n 3 nv"]
    shares: sp.csr_matrix

    @property
    def places(self) -> Float[np.ndarray, "n 3"]:
        """Gap and slip of each point, along its directions."""
        return np.column_stack([self.gap, self.slip[:, 1:]])

    def pushed(self, forces: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "nv"]:
        """The generalised forces of `forces` at the points."""
        return np.einsum("kc,kcj->j", forces, self.rows)

    @property
    def own_compliance(self) -> Float[np.ndarray, "n"]:
        """The residual compliance of each point alone, along its normal."""
        flat, shares = self.equations.flat, self.shares[::3]
        out = np.zeros(len(self.gap))
        for k in range(len(out)):
            used, weights = (
                shares.indices[shares.indptr[k] : shares.indptr[k + 1]],
                shares.data[shares.indptr[k] : shares.indptr[k + 1]],
            )
            for b in _flexible(flat.node_body[used // 3]):
                compliance = self.equations.mechanism.bodies[b].compliance
                assert compliance is not None
                own = flat.node_body[used // 3] == b
                at = 3 * flat.node_place[used[own] // 3] + used[own] % 3
                out[k] += weights[own] @ compliance.matrix[np.ix_(at, at)] @ weights[own]
        return out

    def flexed(self, forces: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
        """The residual displacements of the points along their directions by `forces` in these."""
        pushed = self.shares.T @ forces.ravel()
        return np.asarray(self.shares @ self._yielding(pushed[:, None])[:, 0]).reshape(-1, 3)

    def compliance(self, chosen: np.ndarray, forces: np.ndarray | None = None) -> Float[np.ndarray, "m m"]:
        """The residual compliance between the directions `chosen` (m,), numbered `3 k + c` for point k; with the slopes
        of the approaches of local contacts at `forces` (n, 3), by default those of the states."""
        own = self.shares[chosen]
        C = np.asarray(own @ self._yielding(own.T.toarray()))
        flat = self.equations.flat
        at = self.equations.states[flat.skin_state :] if forces is None else forces.ravel()
        for i, place in enumerate(chosen.tolist()):
            if flat.skin_local[flat.node_skin[place // 3]] == 1 and place % 3 == 0 and at[place] > 0.0:
                stiffness, excess = self.equations.workspace.skin_soft[place // 3]
                C[i, i] += 2.0 / 3.0 / np.cbrt(stiffness**2 * at[place]) - excess
        return 0.5 * (C + C.T)

    def approached(self, forces: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n"]:
        """What local contacts add to the gaps for `forces`, in place of those of the states, by the tangent at `forces`
        and not the change along it (flexmb/kernels/contact/local.py)."""
        flat, out = self.equations.flat, np.zeros(len(forces))
        old = self.equations.states[flat.skin_state :].reshape(-1, 3)[:, 0]
        for k in np.flatnonzero((flat.skin_local[flat.node_skin] == 1) & (forces[:, 0] > 0.0)):
            stiffness = self.equations.workspace.skin_soft[k, 0]
            new, before = (np.cbrt(max(f, 0.0) / stiffness) for f in (forces[k, 0], old[k]))
            slope = 2.0 / 3.0 / (stiffness * new)
            out[k] = new**2 - before**2 - slope * (forces[k, 0] - max(old[k], 0.0))
        return out

    def _yielding(self, forces: np.ndarray) -> np.ndarray:
        """The residual displacements (3 nk, m) of all nodes by forces (3 nk, m) on them."""
        flat, out = self.equations.flat, np.zeros_like(forces)
        for b in _flexible(flat.node_body):
            compliance = self.equations.mechanism.bodies[b].compliance
            assert compliance is not None
            nodes = np.flatnonzero(flat.node_body == b)
            own = (3 * nodes[:, None] + np.arange(3)).ravel()
            loaded = np.flatnonzero(np.abs(forces[own]).max(axis=1, initial=0.0) > 0.0)
            places = (3 * flat.node_place[nodes][:, None] + np.arange(3)).ravel()
            out[own] = compliance.matrix[places][:, places[loaded]] @ forces[own[loaded]]
        return out


def _flexible(bodies: Int[np.ndarray, "n"]) -> list[int]:
    """The flexible ones among the `bodies` of nodes."""
    return [int(b) for b in np.unique(bodies) if b != RIGID_MESH]


def without_surfaces(mechanism: Mechanism) -> Mechanism:
    """A mechanism without the contacts of its flexible surfaces, and without their forces in its initial state."""
    states = mechanism.initial.element_states
    own = len(mechanism.initial_states) - FORCES * sum(contact.nodes for contact in mechanism.surface_contacts)
    initial = replace(mechanism.initial, element_states=states[:own])
    return replace(mechanism, surface_contacts=(), initial=initial)


def see_points(equations: Equations, q: np.ndarray, before: np.ndarray | None = None) -> SurfacePoints:
    """What the points of flexible surfaces see at `q` (nq,), with the forces in `equations.states`; those of points
    that face nothing are set to zero. `before` (nk, 3): the places of nodes (`workspace.skin_seen`) from which slip is
    measured, by default the present ones."""
    flat, space, kinematics = equations.flat, equations.workspace, equations.kinematics
    gap, slip = look_at_points(equations, q, before)
    n, sides = len(flat.node_skin), sides_of_points(equations)
    rows = np.zeros((n, 3, int(flat.v_start[-1])))
    found: list[tuple[int, int, float]] = []
    for k in np.flatnonzero(np.isfinite(gap)).tolist():
        s = flat.node_skin[k]
        skin_rows(flat, q, kinematics, space, k, sides[k])
        for side, b in enumerate((flat.marker_body[flat.skin_marker[s]], flat.skin_body[s])):
            if b != GROUND:
                first, last = flat.v_start[b], flat.v_start[b + 1]
                rows[k, : sides[k], first:last] += space.skin_G[k, : sides[k], side, : last - first]
        used = slice(flat.stencil_start[k], flat.stencil_start[k] + space.stencil_count[k])
        nodes, weights = space.stencil_node[used], space.stencil_weight[used]
        for j, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            own = space.skin_axes[k] if j < n or flat.skin_local[s] else space.skin_axes[k] @ space.skin_turn[s].T
            found += [(3 * k + c, 3 * j + i, weight * own[c, i]) for c in range(int(sides[k])) for i in range(3)]
    forces = equations.states[flat.skin_state :].reshape(-1, 3)
    forces[~np.isfinite(gap)] = 0.0
    places = np.array([x[:2] for x in found], dtype=np.int64).reshape(-1, 2).T
    shares = sp.csr_matrix(([x[2] for x in found], tuple(places)), shape=(3 * n, 3 * len(flat.node_body)))
    return SurfacePoints(equations, gap, slip, rows, shares)


def look_at_points(
    equations: Equations, q: np.ndarray, before: np.ndarray | None = None
) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n 3"]]:
    """Gap (n,) and slip (n, 3) of the points at `q` (nq,), as of `SurfacePoints`; the workspace of `equations` then has
    their directions and stencils."""
    flat, space, kinematics = equations.flat, equations.workspace, equations.kinematics
    space.states[flat.skin_state :] = equations.states[flat.skin_state :]
    place_markers(flat, q, kinematics)
    place_skins(flat, q, kinematics, space, True)
    gap, slip = space.skin_gap.copy(), np.zeros((len(flat.node_skin), 3))
    if before is None:
        return gap, slip
    rubs = np.isfinite(gap) & (sides_of_points(equations) == 3)
    point = np.repeat(np.arange(len(gap)), np.diff(flat.stencil_start))
    used = rubs[point] & (np.arange(len(point)) - flat.stencil_start[point] < space.stencil_count[point])
    nodes, moved = space.stencil_node[used], np.zeros((len(gap), 3))
    moves = space.stencil_weight[used, None] * (space.skin_seen[nodes] - before[nodes])
    np.add.at(moved, point[used], moves)
    turns = kinematics.attitude[flat.skin_body].swapaxes(1, 2) @ kinematics.axes[flat.skin_marker]
    across = space.skin_axes[rubs] @ turns[flat.node_skin[rubs]]
    slip[rubs] = (across @ moved[rubs][:, :, None])[:, :, 0]
    return gap, slip


def forces_of_points(equations: Equations, q: np.ndarray, points: np.ndarray) -> Float[np.ndarray, "nv"]:
    """The generalised forces of some `points`, after `look_at_points` at `q` (nq,)."""
    flat, space, out = equations.flat, equations.workspace, np.zeros(int(equations.flat.v_start[-1]))
    forces, sides = equations.states[flat.skin_state :].reshape(-1, 3), sides_of_points(equations)
    for k in points.tolist():
        skin_rows(flat, q, equations.kinematics, space, k, sides[k])
    for s in np.unique(flat.node_skin[points]):
        own = points[flat.node_skin[points] == s]
        most = sides[own[0]]
        pushed = np.einsum("kc,kcbj->bj", forces[own, :most], space.skin_G[own, :most])
        for side, b in enumerate((flat.marker_body[flat.skin_marker[s]], flat.skin_body[s])):
            if b != GROUND:
                first, last = flat.v_start[b], flat.v_start[b + 1]
                out[first:last] += pushed[side, : last - first]
    return out


def sides_of_points(equations: Equations) -> Int[np.ndarray, "n"]:
    """The number of directions in which each point carries a force: the normal alone without friction."""
    flat = equations.flat
    return np.where(flat.skin_friction[flat.node_skin] > 0.0, 3, 1)


def require_apart(equations: Equations) -> None:
    """Raises `MechanismError` when a node overlaps what it touches at the last state, with the forces of this state."""
    mechanism, gaps = equations.mechanism, equations.workspace.skin_gap
    if not len(gaps):
        return
    limit = DRAWN * float(equations.flat.scales[0])
    for k in np.argsort(gaps)[: np.count_nonzero(gaps < -limit)].tolist():
        depth = _depth(equations, k)
        if depth <= limit:
            continue
        s = int(equations.flat.node_skin[k])
        contact = mechanism.surface_contacts[s]
        body = mechanism.bodies[contact.body]
        node = body.surfaces[contact.surface].nodes[k - equations.flat.skin_node[s]]
        place = "the nearest point" if contact.local else f"node {label_of(body.mesh, int(node))}"
        shape = contact.rigid
        what = repr(mechanism.bodies[contact.other].name) if shape is None else f"the {shape.title}"
        raise MechanismError(
            f"Contact {contact.name!r}: {place} of the surface {contact.surface!r} of {body.name!r} begins "
            f"inside {what}, {depth:.6g} deep (at most {limit:.3g}, {DRAWN:g} of the mechanism). "
            "Move the body away, or turn the axis of a plane, which points away from its body."
        )


def _depth(equations: Equations, k: int) -> float:
    """How deep point `k` is inside what it touches: by its gap, and where surfaces face each other without conforming,
    also by its place. The linear function that is fitted to the gap below curved faces, at rest a square of the
    distance from where they touch, is negative there."""
    flat, space, kinematics = equations.flat, equations.workspace, equations.kinematics
    s, depth = int(flat.node_skin[k]), -float(space.skin_gap[k])
    first, middle, last = flat.skin_facet[s]
    if flat.skin_other[s] == NO_MATE or flat.facet_excess[first:last].any():
        return depth
    used = slice(flat.stencil_start[k], flat.stencil_start[k] + space.stencil_count[k])
    nodes, weights = space.stencil_node[used], space.stencil_weight[used]
    own = nodes < len(flat.node_skin)
    x = weights[own] @ space.skin_seen[nodes[own]]
    e = kinematics.axes[flat.skin_marker[s]].T @ kinematics.attitude[flat.skin_body[s]] @ space.skin_axes[k, 0]
    corners = space.skin_seen[flat.facet_nodes[middle:last, :3]]
    a, edges = corners[:, 0], corners[:, 1:] - corners[:, :1]
    normals = np.cross(edges[:, 0], edges[:, 1])
    below = normals @ e > OPPOSED * np.linalg.norm(normals, axis=1)
    sides = np.concatenate([edges[below], np.broadcast_to(e, (below.sum(), 1, 3))], axis=1).swapaxes(1, 2)
    at = np.linalg.solve(sides, (x - a[below])[:, :, None])[:, :, 0]
    met = (at[:, :2] >= -EDGE).all(axis=1) & (at[:, :2].sum(axis=1) <= 1.0 + EDGE)
    if not met.any():
        return depth
    apart = at[met, 2]
    return min(depth, -float(apart[np.abs(apart).argmin()]))


def no_forces(equations: Equations, t: float, h: float) -> ConvergenceError:
    """The error to raise when no forces of the nodes satisfy unilateral contact and friction in a step of size `h`."""
    names = ", ".join(repr(contact.name) for contact in equations.mechanism.surface_contacts)
    return ConvergenceError(
        f"At t = {t:.6g} no forces of the contacts {names} of {equations.mechanism.name!r} were found that satisfy "
        f"unilateral contact and friction, with a step of {h:.3g}. Take smaller steps, or less friction: a body may "
        "jam."
    )

"""Contacts of flexible surfaces over a stored motion: pressure, gap and slip of every node."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fem.errors import unknown_name
from fem.shown import shown
from flexmb.bodies.surfaces import BodySurface
from flexmb.contact.local import LocalHertz
from flexmb.contact.shapes import Capsule, Cylinder, Sphere
from flexmb.errors import MechanismError
from flexmb.kernels.base.data import (
    NO_MATE,
    RIGID_MESH,
    CompiledModel,
    Workspace,
    make_marker_kinematics,
    make_workspace,
)
from flexmb.kernels.calls import skins_along
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.contacts.local import PARALLEL
from flexmb.mechanism.contacts.surface import SurfaceContact, node_forces
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.elements.motion import marker_motion
from flexmb.results.motion import Motion, attitudes
from flexmb.results.table import Column

AWAY = 1.5
"""Distance from an edge of a surface, in node spacings, below which local contact has no basis: on a block of 4 to 8
elements a side, forces are off by 1 % at 1.5 spacings, by 4 % at 1.2 and 12 % at 0.8, against 16 elements."""
WIDE = 1.0
"""Contact radius, in node spacings, above which the mesh begins to resolve a local contact."""
CARRIED = 1e-12
"""Force of a node, relative to the largest one of the motion, above which it is no round-off."""
SLIPS = 1e-6
"""Distance of a force from the edge of the cone of friction, relative to its grip, up to which a point slips."""
WHOLE = 0.99
"""Part of the share of a node, without its deformation, from which on all of it faces another surface."""


@dataclass(frozen=True, eq=False)
class OtherSurfaceMotion:
    """What the second of two flexible surfaces in contact feels at the stored times, node by node (n).

    - `body`: its number; `nodes` (n,): numbers of the nodes in its mesh; `areas` (n,): their shares of the area.
    - `point`, `force` (nt, n, 3): position of each node and force on it, in world axes.
    - `pressure` (nt, n): sum of the normal forces on it over its share of the area (force/length^2).
    """

    body: int
    nodes: Int[np.ndarray, " n"]
    areas: Float[np.ndarray, " n"]
    point: Float[np.ndarray, "nt n 3"]
    force: Float[np.ndarray, "nt n 3"]
    pressure: Float[np.ndarray, "nt n"]


@dataclass(frozen=True, eq=False)
class LocalMotion:
    """The patch of a local contact at the stored times (nt,), by Hertz.

    - `approach`, `radius`: of the sphere and the surface; of the circle of contact, or the geometric mean of the
      semi-axes of a nearly round ellipse.
    - `largest_pressure`: in the middle of the patch (force/length^2).
    - `spacing`: of the nodes of the surface beside the point.
    - `edge`: distance of the point from the border of the surface, or from an edge at which its normal jumps, without
      the deformation; infinite without contact.
    """

    approach: Float[np.ndarray, "nt"]
    radius: Float[np.ndarray, "nt"]
    largest_pressure: Float[np.ndarray, "nt"]
    spacing: Float[np.ndarray, "nt"]
    edge: Float[np.ndarray, "nt"]


@shown
@dataclass(frozen=True, eq=False)
class SurfaceContactMotion:
    """What a flexible surface in contact does at the stored times `t` (nt,), node by node (n).

    - `nodes` (n,): numbers of the nodes in the mesh of the body; `areas` (n,): their shares of the area.
    - `facing` (nt, n): of two flexible surfaces, and of one and a mesh, the part of this share that faces the other
      one; else the share.
    - `gap` (nt, n): distance from what it touches (length), zero to round-off where a node touches; of two flexible
      surfaces that of linear functions fitted on the faces about the node, infinite where they do not face each other.
    - `point`, `normal`, `force` (nt, n, 3): position, direction in which it is pushed, and force on the node, in
      world axes. Of two flexible surfaces `force` acts at the node, or where the other surface ends between nodes, at
      the place next to the node where both face each other, and `moment` is the moment of that.
    - `pressure` (nt, n): at the node (force/length^2): the normal force over its share of the area, or over the part of
      it that faces another flexible surface or a mesh. Where this ends within a face, it is the pressure at this edge.
      Of local contacts, `local.largest_pressure` is that of Hertz, and this one is the force spread over the mesh.
    - `slip` (nt, n): speed (length/time) across the normal, relative to what it touches, of nodes that touch; zero
      where friction holds them. The rate of the residual displacement in it is that of differences between the stored
      times.
    - `moment` (nt, 3): of all forces about the place of the shape, or about the frame of the other flexible body, in
      world axes.
    - `stored` (nt,): strain energy of the residual displacements.
    - `other`: what the other flexible surface feels; None for a rigid shape.
    - `local`: the patch of a local contact. The nodes of a face share its force; gap and normal of all nodes, and slip
      of these, are those of the point.
    """

    name: str
    t: Float[np.ndarray, "nt"]
    nodes: Int[np.ndarray, " n"]
    areas: Float[np.ndarray, " n"]
    facing: Float[np.ndarray, "nt n"]
    gap: Float[np.ndarray, "nt n"]
    point: Float[np.ndarray, "nt n 3"]
    normal: Float[np.ndarray, "nt n 3"]
    force: Float[np.ndarray, "nt n 3"]
    pressure: Float[np.ndarray, "nt n"]
    slip: Float[np.ndarray, "nt n"]
    moment: Float[np.ndarray, "nt 3"]
    stored: Float[np.ndarray, "nt"]
    other: OtherSurfaceMotion | None = None
    local: LocalMotion | None = None

    @property
    def normal_force(self) -> Float[np.ndarray, "nt n"]:
        """The force of each node along its normal, which pushes."""
        return np.asarray((self.force * self.normal).sum(axis=2))

    @property
    def friction_force(self) -> Float[np.ndarray, "nt n"]:
        """The size of the rest."""
        return np.asarray(np.linalg.norm(self.force - self.normal_force[..., None] * self.normal, axis=2))

    @property
    def wear_power(self) -> Float[np.ndarray, "nt n"]:
        """Friction force times slip."""
        return self.friction_force * self.slip

    @property
    def carries(self) -> Bool[np.ndarray, "nt n"]:
        """Whether a node carries a force, of more than round-off of the largest one of the motion."""
        push = self.normal_force
        return np.asarray(push > CARRIED * push.max(initial=0.0))

    @property
    def area(self) -> Float[np.ndarray, "nt"]:
        """The area in contact: what faces the other surface about the nodes that carry a force, or the patch of a local
        contact."""
        if self.local is not None:
            return np.asarray(np.pi * self.local.radius**2)
        return np.asarray((self.facing * self.carries).sum(axis=1))

    @property
    def total(self) -> Float[np.ndarray, "nt 3"]:
        """The resultant force on the surface in world axes."""
        return np.asarray(self.force.sum(axis=1))

    def columns(self) -> dict[str, Column]:
        """Time, least gap, contact area, largest pressure and slip, resultant forces and wear power (nt,) as columns of
        a table."""
        return {
            "t": Column(self.t, "time"),
            "gap": Column(self.gap.min(axis=1), "length"),
            "contact area": Column(self.area, "area"),
            "pressure": Column(
                self.pressure.max(axis=1) if self.local is None else self.local.largest_pressure, "stress"
            ),
            "normal force": Column(self.normal_force.sum(axis=1), "force"),
            "friction force": Column(self.friction_force.sum(axis=1), "force"),
            "largest slip": Column(self.slip.max(axis=1), "velocity"),
            "wear power": Column(self.wear_power.sum(axis=1), "power"),
        }

    def __str__(self) -> str:
        if self.local is not None:
            return (
                f"contact {self.name!r}: local, at a point; largest radius {self.local.radius.max():.6g}, pressure "
                f"{self.local.largest_pressure.max():.6g}, normal force {self.normal_force.sum(axis=1).max():.6g}"
            )
        most = self.carries.sum(axis=1).max()
        return (
            f"contact {self.name!r}: {len(self.nodes)} nodes, of which at most {most} carry a force; largest contact "
            f"area {self.area.max():.6g}, pressure {self.pressure.max():.6g}, normal force "
            f"{self.normal_force.sum(axis=1).max():.6g}"
        )


class _Nodes(NamedTuple):
    """Gap (nt, nn), directions (nt, nn, 3, 3) in rows, and rates along them (nt, nn, 3) of all points; place and force
    (nt, nk, 3) and sum of normal forces (nt, nk) of all nodes; the strain energies (nt, ns) of all contacts; and the
    areas (nt, nn) with which points face another surface, and the pressures (nt, nn) there."""

    gap: np.ndarray
    point: np.ndarray
    axes: np.ndarray
    rates: np.ndarray
    push: np.ndarray
    force: np.ndarray
    stored: np.ndarray
    share: np.ndarray
    pressure: np.ndarray


def surface_contact_of(mechanism: Mechanism, name: str) -> SurfaceContact | None:
    """The contact of a flexible surface of a name, or None."""
    return next((contact for contact in mechanism.surface_contacts if contact.name == name), None)


def surface_contact_motion(motion: Motion, name: str) -> SurfaceContactMotion:
    """What the flexible surface in the contact `name` does over a motion.

    Raises `MechanismError` when there is none of this name, or the motion does not have its forces, which only
    simulated motions have.
    """
    mechanism = motion.mechanism
    contact = surface_contact_of(mechanism, name)
    if contact is None:
        raise MechanismError(
            unknown_name("contact of a flexible surface", name, [c.name for c in mechanism.surface_contacts])
        )
    states = np.asarray(getattr(motion, "element_states", np.zeros((len(motion.t), 0))))
    if not states.size:
        raise MechanismError(
            f"The motion does not have the forces of the contact {name!r}; only simulated motions have them."
        )
    every, flat = _nodes(motion, states), compiled(mechanism)
    s = mechanism.surface_contacts.index(contact)
    own = slice(flat.skin_node[s], flat.skin_node[s + 1])
    forces = node_forces(states, contact, mechanism.contact_state(name))
    force = np.einsum("tkc,tkci->tki", forces, every.axes[:, own])
    surface, there = contact.surface_of(mechanism.bodies), marker_motion(motion, contact.marker).position
    if contact.local:
        mates = slice(flat.mate_node[s], flat.mate_node[s + 1])
        return _local(motion, contact, surface, every, (own.start, mates, s), forces[:, 0], there)
    return SurfaceContactMotion(
        name,
        np.asarray(motion.t),
        surface.nodes,
        surface.areas,
        every.share[:, own] if contact.mate != NO_MATE else np.tile(surface.areas, (len(motion.t), 1)),
        every.gap[:, own],
        every.point[:, own],
        every.axes[:, own, 0],
        force,
        every.pressure[:, own] if contact.mate != NO_MATE else forces[..., 0] / surface.areas,
        _slip(contact, forces, every.rates[:, own]),
        np.cross(every.point[:, own] - there[:, None], every.force[:, own]).sum(axis=1),
        every.stored[:, s],
        _other(contact, mechanism, every, slice(flat.mate_node[s], flat.mate_node[s + 1])),
    )


def pressure_films(motion: Motion) -> dict[int, dict[str, Float[np.ndarray, "nt n"]]]:
    """The pressures (nt, n) at the nodes of flexible surfaces that touch, from all of their contacts, by the number of
    the body, if it has a mesh, and the name of the surface."""
    films: dict[int, dict[str, np.ndarray]] = {}
    for contact in motion.mechanism.surface_contacts:
        over = surface_contact_motion(motion, contact.name)
        pressed = [(contact.body, contact.surface, over.pressure)]
        if over.other is not None:
            pressed.append((contact.other, contact.other_surface, over.other.pressure))
        for body, surface, pressure in pressed:
            if motion.mechanism.bodies[body].mesh is not None:
                own = films.setdefault(body, {})
                own[surface] = own.get(surface, 0.0) + pressure
    return films


def _local(
    motion: Motion,
    contact: SurfaceContact,
    surface: BodySurface,
    every: _Nodes,
    where: tuple[int, slice, int],
    forces: np.ndarray,
    there: np.ndarray,
) -> SurfaceContactMotion:
    """The motion of a local contact: number of its point, its nodes and its own number in `where`; `forces` (nt, 3)."""
    k, own, s = where
    push, n = forces[:, 0], len(surface.nodes)
    parts = every.push[:, own] / np.where(push > 0.0, push, 1.0)[:, None]
    modulus = LocalHertz(*contact.local).modulus
    stiffness = parts @ compiled(motion.mechanism).node_hertz[own]
    approach = np.zeros(len(push))
    approach[push > 0.0] = (push[push > 0.0] / stiffness[push > 0.0]) ** (2.0 / 3.0)
    radius = np.sqrt(approach) * stiffness * 0.75 / modulus
    pressure = np.divide(1.5 * push, np.pi * radius**2, out=np.zeros(len(push)), where=push > 0.0)
    slip = _slip(contact, forces, every.rates[:, k])
    force = every.force[:, own]
    return SurfaceContactMotion(
        contact.name,
        np.asarray(motion.t),
        surface.nodes,
        surface.areas,
        np.tile(surface.areas, (len(motion.t), 1)),
        np.repeat(every.gap[:, k, None], n, axis=1),
        every.point[:, own],
        np.repeat(every.axes[:, k, None, 0], n, axis=1),
        force,
        every.push[:, own] / surface.areas,
        np.where(parts > 0.0, slip[:, None], 0.0),
        np.cross(every.point[:, own] - there[:, None], force).sum(axis=1),
        every.stored[:, s],
        local=LocalMotion(approach, radius, pressure, parts @ surface.spacing, _to_edges(surface, parts, push > 0.0)),
    )


def _slip(contact: SurfaceContact, forces: Float[np.ndarray, "*at 3"], rates: Float[np.ndarray, "*at 3"]) -> np.ndarray:
    """Speeds across the normal of points that touch and are not held by friction; both arrays have the normal first."""
    push, across = forces[..., 0], np.linalg.norm(forces[..., 1:], axis=-1)
    held = across < (1.0 - SLIPS) * contact.friction * push
    return np.where((push > 0.0) & ~held, np.linalg.norm(rates[..., 1:], axis=-1), 0.0)


def _to_edges(surface: BodySurface, parts: np.ndarray, touches: np.ndarray) -> Float[np.ndarray, "nt"]:
    """The distances of points with the shares `parts` (nt, n) of nodes from the edges of a surface where it `touches`
    (nt,)."""
    t = surface.triangles
    pairs = np.sort(np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]]), axis=1)
    normals = np.cross(
        surface.points[t[:, 1]] - surface.points[t[:, 0]], surface.points[t[:, 2]] - surface.points[t[:, 0]]
    )
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    edges, which, count = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    sums = np.zeros((len(edges), 3))
    np.add.at(sums, which.ravel(), np.tile(normals, (3, 1)))
    # the cosine between two unit normals follows from the length of their sum
    sharp = (count == 1) | ((count == 2) & (0.5 * (sums**2).sum(axis=1) - 1.0 < PARALLEL))
    far = np.full(len(parts), np.inf)
    a, b = (surface.points[edges[sharp, i]] for i in (0, 1))
    for k in np.flatnonzero(touches) if sharp.any() else ():
        x = parts[k] @ surface.points
        along = np.clip(((x - a) * (b - a)).sum(axis=1) / ((b - a) ** 2).sum(axis=1), 0.0, 1.0)
        far[k] = np.linalg.norm(a + along[:, None] * (b - a) - x, axis=1).min()
    return far


def wide_contacts(motion: Motion, over: Callable[[str], SurfaceContactMotion]) -> list[str]:
    """Warnings of local contacts where they do not hold: with a radius above the node spacing, and beside edges."""
    found = []
    for contact in motion.mechanism.surface_contacts:
        if not contact.local:
            continue
        patch = over(contact.name).local
        assert patch is not None
        k = int((patch.radius - WIDE * patch.spacing).argmax())
        if patch.radius[k] > WIDE * patch.spacing[k]:
            found.append(
                f"Contact {contact.name!r}: at t = {motion.t[k]:.6g} the contact radius was {patch.radius[k]:.4g}, the "
                f"node spacing {patch.spacing[k]:.4g}; local contact holds for radii up to {WIDE:g} of the spacing. "
                "Coarsen the mesh, or leave out local= if it resolves the contact."
            )
        k = int((patch.edge - AWAY * patch.spacing).argmin())
        if patch.edge[k] < AWAY * patch.spacing[k]:
            found.append(
                f"Contact {contact.name!r}: at t = {motion.t[k]:.6g} the point was {patch.edge[k]:.4g} from an edge of "
                f"the surface {contact.surface!r}, the node spacing {patch.spacing[k]:.4g}; local contact takes the "
                f"body for a half-space, which needs {AWAY:g} spacings. Refine the mesh there, or enlarge the surface "
                "if the body goes on beyond it."
            )
    return found


def narrow_contacts(motion: Motion, over: Callable[[str], SurfaceContactMotion]) -> list[str]:
    """Warnings of contacts with round shapes that are narrower than a face when they press most: no face has a force at
    all of its corners, and the pressure is that of the node spacing."""
    found: list[str] = []
    for contact in motion.mechanism.surface_contacts:
        shape = contact.rigid
        if contact.local or contact.mate != NO_MATE or not isinstance(shape, Sphere | Cylinder | Capsule):
            continue
        does = over(contact.name)
        k = int(does.normal_force.sum(axis=1).argmax())
        loaded = does.normal_force[k] > 0.0
        surface = contact.surface_of(motion.mechanism.bodies)
        if loaded.any() and not loaded[surface.triangles].all(axis=1).any():
            found.append(
                f"Contact {contact.name!r}: at t = {motion.t[k]:.6g}, where it presses most, the {shape.title} touches "
                f"{np.count_nonzero(loaded)} node(s) of the surface {contact.surface!r} of "
                f"{motion.mechanism.bodies[contact.body].name!r}, {_to_next(surface, loaded):.4g} apart from the next "
                "ones, and no face with all of its corners: the contact is narrower than the mesh, and its pressure "
                "and area are those of the node spacing. Refine the surface there, or give a sphere local=."
            )
    return found


def _to_next(surface: BodySurface, loaded: Bool[np.ndarray, " n"]) -> float:
    """The largest distance of a `loaded` node of a surface from the nearest of its neighbours without a force: along
    faces that are long and thin, the spacing in which a contact is narrow."""
    t = surface.triangles
    a, b = np.concatenate([t[:, [i, j]] for i in range(3) for j in range(3) if i != j]).T
    a, b = a[loaded[a] & ~loaded[b]], b[loaded[a] & ~loaded[b]]
    nearest = np.full(len(surface.nodes), np.inf)
    np.minimum.at(nearest, a, np.linalg.norm(surface.points[a] - surface.points[b], axis=1))
    return float(nearest[np.isfinite(nearest)].max())


def surface_forces(motion: Motion, body: int) -> tuple[Int[np.ndarray, " k"], Float[np.ndarray, "nt k 3"]]:
    """The nodes of body number `body` that are in contacts of its flexible surfaces, and the forces on them in its
    axes; a node in several contacts appears for each of them."""
    states = np.asarray(getattr(motion, "element_states", np.zeros((len(motion.t), 0))))
    mechanism, flat = motion.mechanism, compiled(motion.mechanism)
    own = np.flatnonzero(flat.node_body == body)
    found, mated = [], []
    for contact in mechanism.surface_contacts:
        surface, other = contact.surface_of(mechanism.bodies), contact.faced_of(mechanism.bodies)
        found.append(surface.nodes[:1] if contact.local else surface.nodes)
        if contact.local or other is not None:
            mated.append(surface.nodes if other is None else other.nodes)
    found += mated
    nodes = np.concatenate([np.zeros(0, dtype=np.int64), *found])[own]
    if not len(own) or not states.size:
        return nodes[:0], np.zeros((len(motion.t), 0, 3))
    return nodes, np.einsum("tji,tkj->tki", attitudes(motion, body), _nodes(motion, states).force[:, own])


def _other(contact: SurfaceContact, mechanism: Mechanism, every: _Nodes, own: slice) -> OtherSurfaceMotion | None:
    surface = contact.other_of(mechanism.bodies)
    if surface is None:
        return None
    pressure = every.push[:, own] / surface.areas
    return OtherSurfaceMotion(
        contact.other, surface.nodes, surface.areas, every.point[:, own], every.force[:, own], pressure
    )


def _nodes(motion: Motion, states: np.ndarray) -> _Nodes:
    flat, nt = compiled(motion.mechanism), len(motion.t)
    nn, nk, ns = len(flat.node_skin), len(flat.node_body), len(flat.skin_body)
    shapes = ((nn,), (nk, 3), (nn, 3, 3), (nn, 3), (nk,), (nk, 3), (ns,), (nn,), (nn,))
    found = _Nodes(*(np.zeros((nt, *shape)) for shape in shapes))
    kinematics, workspace, stencils = make_marker_kinematics(flat), make_workspace(flat), []
    q, w = np.asarray(motion.q), np.asarray(motion.w)
    contacts = motion.mechanism.surface_contacts
    facing = [(s, c) for s, c in enumerate(contacts) if c.mate != NO_MATE]
    # one by one where points move over faces, for their stencils, and the areas that face each other
    moving = bool(facing) or any(contact.local for contact in contacts)
    looks = [slice(at, at + 1) for at in range(nt)] if moving else [slice(0, nt)]
    for now in looks:
        skins_along(flat, q[now], w[now], states[now], kinematics, workspace, *(x[now] for x in found[:-2]))
        stencils.append(_stencils(flat, workspace))
        for s, contact in facing:
            at, own = now.start, slice(flat.skin_node[s], flat.skin_node[s + 1])
            surface = contact.surface_of(motion.mechanism.bodies)
            found.share[at, own] = _facing(surface, found.point[at, own], workspace.skin_share[own])
    push = states[:, flat.skin_state + 3 * np.arange(nn)]
    np.divide(push, found.share, out=found.pressure, where=found.share > 0.0)
    velocities = _residual_velocities(motion, flat, found.force)
    for now, (points, nodes, weights) in zip(looks, stencils, strict=True):
        own = weights[:, None] * velocities[now][:, nodes]
        rates = np.einsum("tkci,tki->ktc", found.axes[now][:, points], own)
        np.add.at(found.rates[now].swapaxes(0, 1), points, rates)
    return found


def _stencils(flat: CompiledModel, workspace: Workspace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, nodes and weights (k,) of the entries of the stencils of all points."""
    counts = workspace.stencil_count
    points = np.repeat(np.arange(len(counts)), counts)
    places = flat.stencil_start[points] + np.arange(len(points)) - np.repeat(np.cumsum(counts) - counts, counts)
    return points, workspace.stencil_node[places], workspace.stencil_weight[places]


def _residual_velocities(motion: Motion, flat: CompiledModel, force: np.ndarray) -> Float[np.ndarray, "nt nk 3"]:
    """The rates of the residual displacements of all nodes relative to their bodies, in world axes, for the forces on
    them, `force` (nt, nk, 3): second-order differences between the stored times. Rows at the same time have the rate of
    the first one; there is none without a second time."""
    found = np.zeros_like(force)
    t, first, inverse = np.unique(np.asarray(motion.t), return_index=True, return_inverse=True)
    if len(t) < 2:
        return found
    for b in np.unique(flat.node_body[flat.node_body != RIGID_MESH]):
        own = np.flatnonzero(flat.node_body == b)
        places = (3 * flat.node_place[own, None] + np.arange(3)).ravel()
        compliance = motion.mechanism.bodies[b].compliance
        assert compliance is not None
        R = attitudes(motion, b)
        f = np.einsum("tji,tkj->tki", R, force[:, own]).reshape(len(force), -1)
        u = (f @ compliance.matrix[np.ix_(places, places)]).reshape(len(force), -1, 3)
        found[:, own] = np.einsum("tij,tkj->tki", R, np.gradient(u[first], t, axis=0)[inverse])
    return found


def _facing(
    surface: BodySurface, points: Float[np.ndarray, "n 3"], share: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """The undeformed areas of the parts of the nodes' shares that face, from those `share` at the deformed `points`."""
    area = np.zeros((2, len(points)))
    for about, x in zip(area, (surface.points, points), strict=True):
        a, b, c = (x[surface.triangles[:, i]] for i in range(3))
        np.add.at(about, surface.triangles, np.linalg.norm(np.cross(b - a, c - a), axis=1)[:, None])
    found = share * area[0] / area[1]
    return np.where(found > WHOLE * surface.areas, surface.areas, found)


def surface_contact_wrench(motion: Motion, contact: SurfaceContact) -> Float[np.ndarray, "nt 6"]:
    """Force and moment (nt, 6) of a contact on its flexible body, about the place of the shape, in world axes."""
    over = surface_contact_motion(motion, contact.name)
    return np.hstack([over.total, over.moment])


def surface_contact_power(motion: Motion, contact: SurfaceContact) -> Float[np.ndarray, "nt"]:
    """The power (nt,) that the friction of a contact delivers to the bodies, which is not positive."""
    return -surface_contact_motion(motion, contact.name).wear_power.sum(axis=1)

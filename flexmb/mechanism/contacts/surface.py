"""Contact of the flexible surface of a body with a rigid shape, a rigid triangle mesh or the flexible surface of
another body (`System.contact` with `body.surface(name)`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from fem.axes.limits import is_number
from flexmb.bodies.body import Body
from flexmb.bodies.surfaces import BodySurface
from flexmb.contact.local import LocalHertz
from flexmb.contact.mesh_data import tree_of
from flexmb.contact.shape import ContactShape
from flexmb.contact.shapes import Sphere, shape_of_code
from flexmb.contact.triangle_mesh import TriangleMesh, meshes_from_tree, meshes_tree
from flexmb.errors import MechanismError
from flexmb.kernels.base.data import NO_MATE, RIGID_MESH
from flexmb.mechanism.contacts.conforming import conforms, facet_heights
from flexmb.mechanism.contacts.local import LOCAL_ROOM, excess_compliance, node_stiffness

FORCES = 3
"""States of each node: its force along the normal of the shape and in two directions across it."""


RIGID = -1
"""In the place of the other body, if the surface touches a rigid shape or mesh."""
FACING = (-1.0, 0.0, 0.0, 0.0)
"""In the place of the code and the dimensions of a shape, if the surface faces another flexible one or a mesh."""
RANGE = 2.0
"""Distance to both sides of a facet, in its least heights, within which it faces another surface."""


@dataclass(frozen=True)
class SurfaceContact:
    """A surface of a flexible body that touches a rigid shape or mesh, or the surface of another one, without overlap.

    - `marker`: place and axes of the shape, or those of the frame of the other body; `shape` (4): its code and
      dimensions (flexmb/kernels/contact/shapes.py), or `FACING`.
    - `body`, `surface`: the body and the name of its surface; `nodes`: how many points it has, which are its nodes, or
      one with `local`.
    - `friction`: coefficient of Coulomb friction.
    - `local`: the materials of a local contact, or none (`LocalHertz.numbers`).
    - `other`, `other_surface`: the other flexible body and its surface; `RIGID` and no name for a shape.
    - `mesh`: the rigid mesh that it faces in the axes of the marker, or none.

    Raises `MechanismError` when the coefficient is not a number of at least zero.
    """

    name: str
    marker: int
    shape: tuple[float, ...]
    body: int
    surface: str
    nodes: int
    friction: float = 0.0
    other: int = RIGID
    other_surface: str = ""
    local: tuple[float, ...] = ()
    mesh: TriangleMesh | None = None

    def __post_init__(self) -> None:
        value = self.friction
        if isinstance(value, bool) or not (is_number(value) and value >= 0.0):
            raise MechanismError(
                f"Contact {self.name!r}: the friction of a flexible surface is one number >= 0, for points that stick "
                f"and that slide; found {value!r}."
            )

    @property
    def rigid(self) -> ContactShape | None:
        """The rigid shape; None if the surface touches another flexible one."""
        if self.mesh is not None:
            return self.mesh
        return shape_of_code(self.shape[0], self.shape[1:]) if self.other == RIGID else None

    @property
    def mate(self) -> int:
        """The body of the surface that it faces, `RIGID_MESH` for a mesh and `NO_MATE` for a simple shape."""
        if self.mesh is not None:
            return RIGID_MESH
        return NO_MATE if self.other == RIGID else self.other

    def surface_of(self, bodies: Sequence[Body]) -> BodySurface:
        """The surface among those of `bodies`. Raises `MechanismError` when the body lacks it or its compliance."""
        return self._flexible(bodies[self.body], self.surface)

    def other_of(self, bodies: Sequence[Body]) -> BodySurface | None:
        """The other flexible surface, or None. Raises as `surface_of`."""
        return None if self.other == RIGID else self._flexible(bodies[self.other], self.other_surface)

    def faced_of(self, bodies: Sequence[Body]) -> BodySurface | None:
        """The surface that it faces: the other flexible one, or that of the mesh; None for a simple shape. Raises as
        `surface_of`."""
        return self.other_of(bodies) if self.mesh is None else _surface_of_mesh(self.mesh)

    def _flexible(self, body: Body, surface: str) -> BodySurface:
        if surface not in body.surfaces or body.compliance is None:
            raise MechanismError(
                f"Contact {self.name!r}: the body {body.name!r} has no flexible surface {surface!r}, whose nodes "
                "have a residual compliance. A rigid body, such as those of Mechanism.rigid(), touches with simple "
                "shapes; a flexible one needs a part with with_surfaces(...)."
            )
        return body.surfaces[surface]


def surface_contact(
    name: str,
    body: Body,
    index: int,
    surface: str,
    shape: ContactShape,
    friction: Any,
    local: LocalHertz | None = None,
) -> SurfaceContact:
    """A contact of a surface of a `body`, the number `index` of a mechanism, with a shape, still without its marker.

    Raises `MechanismError` when a `local` contact is not that of a sphere."""
    nodes = len(body.surfaces[surface].nodes)
    if local is None and isinstance(shape, TriangleMesh):
        return SurfaceContact(name, -1, FACING, index, surface, nodes, friction, mesh=shape)
    code = (float(shape.code), *shape.dimensions)
    if local is None:
        return SurfaceContact(name, -1, code, index, surface, nodes, friction)
    if not isinstance(local, LocalHertz):
        raise MechanismError(
            f"Contact {name!r}: local= needs flexmb.contact.LocalHertz(young, poisson); found {type(local).__name__} "
            f"{local!r}."
        )
    if not isinstance(shape, Sphere):
        raise MechanismError(
            f"Contact {name!r}: local Hertz contact with a surface is that of a sphere; found a {shape.title}. Refine "
            "the mesh at the contact, and leave out local=."
        )
    return SurfaceContact(name, -1, code, index, surface, 1, friction, local=local.numbers)


def surface_contact_arrays(
    contacts: tuple[SurfaceContact, ...], bodies: tuple[Body, ...], first_state: int, mmax: int
) -> dict[str, Any]:
    """The entries of `CompiledModel` for contacts of flexible surfaces, whose states begin at `first_state`."""
    own = [(contact.body, contact.surface_of(bodies)) for contact in contacts]
    found = [(contact.mate, contact.faced_of(bodies)) for contact in contacts]
    # a local contact has one point, and its nodes behind all points
    points = [(b, _single(s) if c.local else s) for c, (b, s) in zip(contacts, own, strict=True)]
    mated = [(c.body, s) if c.local else x for c, x, (_, s) in zip(contacts, found, own, strict=True)]
    mates = [(b, surface) for b, surface in mated if surface is not None]
    nodes = _node_arrays(points + mates, mmax)
    balls = _bounds([surface for _, surface in own], mmax)
    others = _bounds([surface for _, surface in found], mmax)
    start = np.concatenate([[0], np.cumsum([len(surface.nodes) for _, surface in points])]).astype(np.int64)
    mate = start[-1] + np.concatenate([[0], np.cumsum([0 if x is None else len(x.nodes) for _, x in mated])])
    there = {b: bodies[b].compliance for b, _ in own + mates if b != RIGID_MESH}
    matrices = [np.zeros((0, 0)) if (c := there.get(b)) is None else c.matrix for b in range(len(bodies))]
    shapes = [shape for contact in contacts if (shape := contact.rigid) is not None]
    reach = iter([shape.reach for shape in shapes])
    return {
        "skin_body": np.array([c.body for c in contacts], dtype=np.int64),
        "skin_marker": np.array([c.marker for c in contacts], dtype=np.int64),
        "skin_shape": np.array([c.shape for c in contacts], dtype=float).reshape(-1, 4),
        "skin_reach": np.array([next(reach) if c.other == RIGID else np.inf for c in contacts], dtype=float),
        "skin_friction": np.array([c.friction for c in contacts], dtype=float),
        **{f"skin_{name}": value for name, value in balls.items()},
        "skin_other": np.array([c.mate for c in contacts], dtype=np.int64),
        **{f"other_{name}": value for name, value in others.items()},
        "skin_node": start,
        "mate_node": mate.astype(np.int64),
        "node_across": np.concatenate([np.zeros((0, 3)), *(_across(surface.normals) for _, surface in points)]),
        "node_skin": np.repeat(np.arange(len(contacts)), np.diff(start)).astype(np.int64),
        **nodes,
        **_facet_arrays(contacts, bodies, [(a, b) for (_, a), (_, b) in zip(own, found, strict=True)], start, mate),
        "skin_local": np.array([bool(c.local) for c in contacts], dtype=np.int64),
        "node_hertz": _hertz(contacts, bodies, points, mated),
        "compliance_start": np.concatenate([[0], np.cumsum([C.size for C in matrices])])[:-1].astype(np.int64),
        "compliance_size": np.array([len(C) for C in matrices], dtype=np.int64),
        "compliance_entries": np.concatenate([np.zeros(0), *(C.ravel() for C in matrices)]),
        "skin_state": first_state,
    }


def _node_arrays(surfaces: Sequence[tuple[int, BodySurface]], mmax: int) -> dict[str, np.ndarray]:
    """The nodes of `surfaces` of bodies, one after the other."""
    counts = [len(surface.nodes) for _, surface in surfaces]
    total, second = sum(counts), any(surface.second.any() for _, surface in surfaces)
    rows, bends, at = np.zeros((total, 3, mmax)), np.zeros((total if second else 0, 3, mmax, mmax)), 0
    for _, surface in surfaces:
        n = len(surface.nodes)
        rows[at : at + n, :, : surface.rows.shape[-1]] = surface.rows
        if second and len(surface.pairs):
            i, j = surface.pairs.T
            bends[at : at + n, :, i, j] = bends[at : at + n, :, j, i] = surface.second
        at += n
    return {
        "node_body": np.repeat([b for b, _ in surfaces], counts).astype(np.int64),
        "node_place": np.concatenate([np.zeros(0), *(s.places for _, s in surfaces)]).astype(np.int64),
        "node_point": np.concatenate([np.zeros((0, 3)), *(s.points for _, s in surfaces)]),
        "node_rows": rows,
        "node_second": bends,
    }


def _across(normals: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    """Unit vectors across `normals`, each nearest to the axis farthest from its normal."""
    axes = np.eye(3)[np.abs(normals).argmin(axis=1)]
    across = axes - (axes * normals).sum(axis=1, keepdims=True) * normals
    return np.asarray(across / np.linalg.norm(across, axis=1, keepdims=True))


def _bounds(surfaces: Sequence[BodySurface | None], mmax: int) -> dict[str, np.ndarray]:
    """Balls about the undeformed nodes of surfaces, and the largest displacements of first and second order."""
    ball, swing, bend = np.zeros((len(surfaces), 4)), np.zeros((len(surfaces), mmax)), np.zeros(len(surfaces))
    for s, surface in enumerate(surfaces):
        if surface is None:
            continue
        middle = 0.5 * (surface.points.min(axis=0) + surface.points.max(axis=0))
        ball[s] = [*middle, np.linalg.norm(surface.points - middle, axis=1).max()]
        swing[s, : surface.rows.shape[-1]] = np.linalg.norm(surface.rows, axis=1).max(axis=0)
        twice = np.where(np.equal(*surface.pairs.T), 1.0, 2.0)
        bend[s] = 0.5 * np.sqrt((twice * surface.second**2).sum(axis=(1, 2)).max())
    return {"ball": ball, "swing": swing, "bend": bend}


def _single(surface: BodySurface) -> BodySurface:
    """A surface of one node, in the place of the point of a local contact."""
    none = np.zeros((0, 3), dtype=np.int64)
    fields_of = ("nodes", "points", "areas", "normals", "curvatures", "spacing", "rows", "second", "places")
    return replace(
        surface,
        triangles=none,
        halves=none[:, :2],
        lacking=None,
        **{key: getattr(surface, key)[:1] for key in fields_of},
    )


def _surface_of_mesh(mesh: TriangleMesh) -> BodySurface:
    """The corners of a rigid mesh as the nodes of a surface that does not deform, in the axes of the mesh."""
    n, none = len(mesh.points), np.zeros((0, 2), dtype=np.int64)
    numbers, shapes = np.arange(n), np.zeros((n, 3, 0))
    unused = {"areas": np.zeros(n), "normals": np.zeros((n, 3)), "curvatures": np.zeros((n, 2)), "spacing": np.zeros(n)}
    return BodySurface(
        nodes=numbers,
        points=mesh.points,
        triangles=mesh.triangles,
        rows=shapes,
        pairs=none,
        second=shapes,
        places=np.zeros(n, dtype=np.int64),
        **unused,
    )


def _hertz(
    contacts: Sequence[SurfaceContact], bodies: Sequence[Body], points: Sequence[Any], mated: Sequence[Any]
) -> np.ndarray:
    """Stiffness of Hertz at all nodes: zero for the points and for those of contacts that are not local."""
    parts = [np.zeros(len(surface.nodes)) for _, surface in points]
    for contact, (_, surface) in zip(contacts, mated, strict=True):
        if surface is not None:
            local = LocalHertz(*contact.local) if contact.local else None
            none, mesh = np.zeros(len(surface.nodes)), bodies[contact.body].mesh
            parts.append(none if local is None else node_stiffness(local, surface, contact, mesh))
    return np.concatenate([np.zeros(0), *parts])


def _facet_arrays(
    contacts: Sequence[SurfaceContact],
    bodies: Sequence[Body],
    pairs: Sequence[tuple[BodySurface, BodySurface | None]],
    start: np.ndarray,
    mate: np.ndarray,
) -> dict[str, np.ndarray]:
    """Facets of surfaces that face each other, the trees over those of the second ones, and the room for stencils."""
    excess: list[np.ndarray] = [np.zeros((0, 4, 4))]
    room, bend, area = np.ones(start[-1], dtype=np.int64), np.zeros((start[-1], 3)), np.zeros(start[-1])
    heights = [np.zeros(0)]
    facets, boxes = [np.zeros((0, 4), dtype=np.int64)], [np.zeros((0, 6))]
    places, trees = np.zeros((len(pairs), 3), dtype=np.int64), np.zeros((len(pairs), 2), dtype=np.int64)
    ranges = np.zeros(len(pairs))
    for s, (own, other) in enumerate(pairs):
        if contacts[s].local:
            about, first = _facets(own), sum(map(len, facets))
            room[start[s]] = LOCAL_ROOM
            places[s] = first + np.array([0, len(about), len(about)])
            facets.append(np.where(about < 0, -1, mate[s] + about))
            heights.append(np.zeros(len(about)))
            excess.append(
                excess_compliance(
                    contacts[s].name, LocalHertz(*contacts[s].local), bodies[contacts[s].body], own, about
                )
            )
        if other is None:
            continue
        points = slice(start[s], start[s + 1])
        pairs_first = np.concatenate([own.halves.ravel(), np.setdiff1d(np.arange(len(own.triangles)), own.halves)])
        corners = own.points[own.triangles[pairs_first]]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
        heights += [RANGE * np.linalg.norm(normals, axis=1) / longest, np.zeros(len(other.triangles))]
        ranges[s] = heights[-2].max()
        mean = np.zeros_like(own.points)
        np.add.at(mean, own.triangles[pairs_first], normals[:, None])
        area[points] = own.areas
        bend[points] = own.normals - mean / np.linalg.norm(mean, axis=1, keepdims=True)
        about, there = _facets(own)[pairs_first], _facets(other)
        room[points] = _faced(own, other) + 4 * np.bincount(about[about >= 0], minlength=len(own.nodes))
        tree = tree_of(other.points[there[:, :3]])
        first = sum(map(len, facets))
        places[s] = first + np.cumsum([0, len(own.triangles), len(other.triangles)])
        trees[s] = sum(map(len, boxes)), tree.levels
        there = there[tree.order]
        facets += [np.where(about < 0, -1, start[s] + about), np.where(there < 0, -1, mate[s] + there)]
        boxes.append(np.column_stack([tree.low, tree.high]))
        if contacts[s].mesh is None and conforms(own, other):
            excess += [facet_heights(own, about), facet_heights(other, there)]
        else:
            excess.append(np.zeros((len(about) + len(there), 4, 4)))
    return {
        "skin_range": ranges,
        "facet_range": np.concatenate(heights),
        "skin_facet": places,
        "skin_tree": trees,
        "facet_excess": np.concatenate(excess),
        "facet_nodes": np.concatenate(facets).astype(np.int64),
        "tree_boxes": np.concatenate(boxes),
        "stencil_start": np.concatenate([[0], np.cumsum(room)]).astype(np.int64),
        "node_bend": bend,
        "node_area": area,
    }


def _faced(own: BodySurface, other: BodySurface) -> int:
    """How many nodes of the `other` surface the faces about a node can face at most: those in a ball of the diameter
    that these faces and the facets below them span, which is within that of twice the size about one of the nodes."""
    own_edge, there = (
        np.linalg.norm(s.points[s.triangles] - np.roll(s.points[s.triangles], 1, axis=1), axis=2).max()
        for s in (own, other)
    )
    tree = scipy.spatial.cKDTree(other.points)
    span = 2.0 * ((2.0 + RANGE) * own_edge + there)
    return int(tree.query_ball_point(other.points, 2.0 * span, return_length=True).max())


def _facets(surface: BodySurface) -> np.ndarray:
    """The nodes (nt, 4) of the triangles of a surface, with the rest of a quadrilateral or -1; the second corner is
    opposite to the fourth."""
    nodes = np.column_stack([surface.triangles, np.full(len(surface.triangles), -1)])
    first, second = surface.halves.T
    a, b, c = surface.triangles[first].T
    d = surface.triangles[second, 2]
    nodes[first, 3] = d
    nodes[second] = np.column_stack([c, d, a, b])
    return nodes


def surface_contact_tree(contact: SurfaceContact) -> dict[str, Any]:
    """A contact for a result file, which `surface_contact_from_tree` reads."""
    tree = {field.name: getattr(contact, field.name) for field in fields(SurfaceContact) if field.name != "mesh"}
    return tree | {"meshes": meshes_tree({} if contact.mesh is None else {0: contact.mesh})}


def surface_contact_from_tree(tree: Mapping[str, Any]) -> SurfaceContact:
    """A contact of a result file. Raises `MechanismError` and `MeshError` when its values cannot be."""
    own = {key: value for key, value in tree.items() if key != "meshes"}
    whole = {**own, **{key: int(tree[key]) for key in ("marker", "body", "nodes", "other") if key in tree}}
    tuples = {key: tuple(float(x) for x in tree[key]) for key in ("shape", "local") if key in tree}
    return SurfaceContact(**{**whole, **tuples}, mesh=meshes_from_tree(tree.get("meshes", [])).get(0))


def node_forces(
    states: Float[np.ndarray, "... nz"], contact: SurfaceContact, first: int
) -> Float[np.ndarray, "... n 3"]:
    """The forces of the nodes (n), along the normal and across it, of a contact whose states begin at `first`."""
    own = states[..., first : first + FORCES * contact.nodes]
    return own.reshape(*own.shape[:-1], contact.nodes, FORCES)

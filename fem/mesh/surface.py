"""Surfaces of a part where other bodies touch it: their nodes and triangles, and at each node an area, a normal and the
curvature.

The normal of a node is the mean of the normals of its faces there. Those of quadratic faces are the normals of the
curved surface, weighted by the node's share of their areas. Those of linear faces have the weights
`|a x b| / (|a|^2 |b|^2)`, with the edges a and b of the face at the node: the mean is exact where the nodes are on a
sphere, and on a cylinder with rectangular faces, divided into triangles or not, of any lengths. Where the surface ends,
faces are on one side alone; the normals of linear faces are turned there so that `(n_i + n_j) . (x_j - x_i) = 0`, as on
arcs and spheres, for neighbours j about which faces span a larger angle.

The curvature is that of the symmetric shape operator `S` that fits `n_j - n_i = S (x_j - x_i)` best, in the tangent
plane of node i, for its neighbours j. Nodes on sharp edges (30 degrees) have no curvature.

Sources: Max, "Weights for computing vertex normals from facet normals", J. Graphics Tools 4(2) (1999) 1-6;
Rusinkiewicz, "Estimating curvatures and their derivatives on triangle meshes", 3DPVT (2004) 486-493.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from fem.elements import Element, element
from fem.errors import MeshError, unknown_name
from fem.mesh.face_area import face_shares
from fem.mesh.mesh import CellBlock, Mesh, is_selection
from fem.mesh.skin import FACE_TRIANGLES, SHARP
from fem.shown import shown

WELL_POSED = 1e-6
"""Eigenvalues of the fit of a curvature, relative to the largest, below which a direction has no neighbour."""
WIDER = 1.1
"""Ratio of the angles that faces span about a node and about its neighbour, from which on the neighbour turns it."""
COARSE = 0.2
"""Angle (rad) between the normals of neighbouring nodes above which a surface is told to be coarse."""

Place: TypeAlias = tuple[CellBlock, tuple[int, ...], np.ndarray, np.ndarray]


@shown
@dataclass(frozen=True, eq=False)
class Surface:
    """A surface of a part where other bodies may touch it. Made by `Model.with_surfaces`.

    - `faces` (nf, 2): the faces of solid cells, (cell, face of the cell), all on the skin.
    - `nodes` (n,): sorted node numbers; `triangles` (nt, 3): places in `nodes`, mid-side nodes included, with normals
      that point out of the part.
    - `points` (n, 3), in the axes of the mesh.
    - `areas` (n,): the area that each node stands for; their sum is that of the faces.
    - `normals` (n, 3): unit vectors out of the part.
    - `curvatures` (n, 2): principal curvatures (1/length), the larger in size first, positive where the part is convex;
      zero at sharp edges.
    - `spacing` (n,): mean distance to the neighbours.
    - `sharp` (n,): whether faces of the surface meet at more than 30 degrees there.
    - `halves` (nq, 2): the triangles (a, b, c) and (a, c, d) of each face with four nodes.

    Units: consistent.
    """

    name: str
    faces: Int[np.ndarray, "nf 2"]
    nodes: Int[np.ndarray, " n"]
    points: Float[np.ndarray, "n 3"]
    triangles: Int[np.ndarray, "nt 3"]
    areas: Float[np.ndarray, " n"]
    normals: Float[np.ndarray, "n 3"]
    curvatures: Float[np.ndarray, "n 2"]
    spacing: Float[np.ndarray, " n"]
    sharp: Bool[np.ndarray, " n"]
    halves: Int[np.ndarray, "nq 2"]

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def area(self) -> float:
        """Area of the surface."""
        return float(self.areas.sum())

    @property
    def turn(self) -> Float[np.ndarray, " n"]:
        """Angle (rad) by which the normal turns from a node to its neighbours: largest curvature times spacing."""
        return np.asarray(np.abs(self.curvatures[:, 0]) * self.spacing)

    @property
    def quadratic(self) -> bool:
        """Whether some faces have mid-side nodes: they have four triangles or more, linear ones one or two halves."""
        return len(self.triangles) - len(self.halves) > len(self.faces)

    def __str__(self) -> str:
        low, high = self.spacing.min(), self.spacing.max()
        lines = [
            f"surface {self.name!r}: {len(self.nodes)} nodes, {len(self.triangles)} triangles, area {self.area:.6g}",
            f"  node spacing {low:.4g} to {high:.4g} (length)",
        ]
        curved = np.abs(self.curvatures[:, 0])
        worst = int(self.turn.argmax())
        if curved.max() * self.spacing.max() < 1e-6:
            lines.append("  flat")
        else:
            lines.append(
                f"  smallest radius of curvature {1 / curved.max():.4g} (length); the normal turns by at most "
                f"{self.turn[worst]:.3g} rad from node to node, near {np.round(self.points[worst], 9)}"
            )
        if self.turn[worst] > COARSE:
            lines.append(
                f"  note: more than {COARSE} rad from node to node; refine the mesh there if the pressure matters"
            )
        if self.quadratic:
            lines.append(
                "  note: quadratic faces; forces in contact are right, but those of a uniform pressure differ between "
                "corners and mid-sides: pressures at nodes are 0 to 1.2 of it, areas 0.84 to 0.92; take linear faces "
                "if they matter"
            )
        if self.sharp.any():
            lines.append(f"  {int(self.sharp.sum())} nodes on sharp edges, with the mean of the normals on both sides")
        return "\n".join(lines)


def surface_of(mesh: Mesh, name: str, where: Any, owner: str) -> Surface:
    """The surface called `name` of a mesh.

    - `where`: the name of a set of faces, of nodes or of cells; a selection or node numbers (k,), for the faces of the
      skin all of whose nodes are among them; or faces (nf, 2), as (cell, face of the cell).
    - `owner`: the name of the part, for messages.

    Raises `MeshError` when there is no such set, a face is not on the skin, or no face is found.
    """
    what = f"Surface {name!r} of {owner!r}"
    faces = _faces(mesh, where, what)
    if not len(faces):
        raise MeshError(
            f"{what}: no face of the skin has all of its nodes in the {_told(where)}.{_thin(mesh)} "
            "Name a set of faces, or select all nodes of the faces, mid-side nodes included."
        )
    places = list(mesh.by_face(faces))
    nodes = mesh.nodes_of_faces(faces)
    local = np.full(len(mesh.points), -1)
    local[nodes] = np.arange(len(nodes))
    areas, sums, normals_of = np.zeros(len(nodes)), np.zeros((len(nodes), 3)), []
    spanned = np.zeros(len(nodes))
    for block, side, rows, _ in places:
        shape, number = element(block.kind), element(block.kind).faces.index(side)
        x, own = mesh.points[block.connectivity[rows]], local[block.connectivity[rows][:, side]]
        shares, n = face_shares(shape, number, x), _face_normals(shape, side, x)
        np.add.at(areas, own, shares)
        weights = shares
        if all(node < shape.corners for node in side):
            weights, angles = _at_corners(x[:, side])
            np.add.at(spanned, own, angles)
        np.add.at(sums, own, weights[..., None] * n)
        normals_of.append((own, n))
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    if not (length > 0).all():
        node = mesh.node_label(int(nodes[int(length.argmin())]))
        raise MeshError(f"{what}: the normals of the faces at node {node} cancel; divide the surface there.")
    normals = sums / length
    sharp = np.zeros(len(nodes), dtype=bool)
    for own, n in normals_of:
        turned = np.einsum("fnk,fnk->fn", n, normals[own]) < np.cos(0.5 * np.arccos(SHARP))
        sharp[own[turned]] = True
    triangles = local[_triangles(places)]
    points = mesh.points[nodes]
    normals = _turned_at_ends(points, normals, triangles, sharp, spanned)
    curvatures, spacing = _curvatures(points, normals, triangles, sharp)
    return Surface(name, faces, nodes, points, triangles, areas, normals, curvatures, spacing, sharp, _halves(places))


def require_distinct(surfaces: Sequence[Surface], owner: str) -> None:
    """Raise `MeshError` if two surfaces have a face in common."""
    taken: dict[tuple[int, int], str] = {}
    for surface in surfaces:
        for face in map(tuple, surface.faces.tolist()):
            if face in taken:
                raise MeshError(
                    f"Surfaces {taken[face]!r} and {surface.name!r} of {owner!r} both contain face {face[1]} of cell "
                    f"{face[0]}; each face belongs to one surface. Remove it from one of them."
                )
            taken[face] = surface.name


def _faces(mesh: Mesh, where: Any, what: str) -> np.ndarray:
    skin = mesh.boundary_faces
    if isinstance(where, str):
        if where in mesh.face_sets:
            return _on_skin(mesh, np.asarray(mesh.face_sets[where]), what)
        if where in mesh.cell_sets and where not in mesh.node_sets:
            return skin[np.isin(skin[:, 0], mesh.cell_sets[where])]
        if where not in mesh.node_sets:
            known = [*mesh.face_sets, *mesh.node_sets, *mesh.cell_sets]
            raise MeshError(f"{what}: {unknown_name('set', where, known)}{_thin(mesh)}")
    elif not is_selection(where) and np.ndim(where) == 2:
        return _on_skin(mesh, np.asarray(where), what)
    member = np.zeros(len(mesh.points), dtype=bool)
    member[mesh.nodes(where)] = True
    inside = np.zeros(len(skin), dtype=bool)
    for block, side, rows, places in mesh.by_face(skin):
        inside[places] = member[block.connectivity[rows][:, side]].all(axis=1)
    return skin[inside]


def _on_skin(mesh: Mesh, faces: np.ndarray, what: str) -> np.ndarray:
    """The faces without repetition. Raises MeshError for those between two cells, and for other numbers."""
    if faces.shape[1] != 2 or faces.dtype.kind not in "iu":
        raise MeshError(
            f"{what}: faces are whole numbers (nf, 2), cell and face of the cell; found {faces.dtype} of shape "
            f"{faces.shape}."
        )
    faces = np.unique(faces.astype(np.int64).reshape(-1, 2), axis=0)
    there = {tuple(face) for face in mesh.boundary_faces.tolist()}
    buried = [face for face in faces.tolist() if tuple(face) not in there]
    if buried:
        raise MeshError(
            f"{what}: {len(buried)} faces are not on the skin of the mesh (first: face {buried[0][1]} of cell "
            f"{buried[0][0]}): they are between two cells, or do not exist. Leave them out."
        )
    return faces


def _thin(mesh: Mesh) -> str:
    """What a message adds where the mesh has cells without faces."""
    if len(mesh.solids) == len(mesh.cells):
        return ""
    return (
        " Shells and beams have no faces; contact needs those of solid cells. With fem.read_mesh(..., expand=True) "
        "those of a deck become solids, and its surfaces of shells (SPOS, SNEG) sets of faces."
    )


def _told(where: Any) -> str:
    if isinstance(where, str):
        return f"set {where!r}"
    return f"selection ({where})" if is_selection(where) else "given nodes"


def _face_normals(
    shape: Element, side: tuple[int, ...], x: Float[np.ndarray, "nf nn 3"]
) -> Float[np.ndarray, "nf k 3"]:
    """Unit normals of one face of cells with node positions x, at the nodes of the face."""
    xi = np.asarray(shape.coordinates, dtype=float)[list(side)]
    corners = [k for k, node in enumerate(side) if node < shape.corners]
    tangents = np.stack([xi[corners[1]] - xi[corners[0]], xi[corners[-1]] - xi[corners[0]]], axis=1)
    t = np.einsum("fnk,qna,at->fqtk", x, shape.gradient(xi), tangents)
    normal = np.cross(t[:, :, 0], t[:, :, 1])
    return np.asarray(normal / np.linalg.norm(normal, axis=2, keepdims=True))


def _at_corners(x: Float[np.ndarray, "nf k 3"]) -> tuple[Float[np.ndarray, "nf k"], Float[np.ndarray, "nf k"]]:
    """The weights of the normals of linear faces with corners x at each of these, and the angles there."""
    a, b = np.roll(x, -1, axis=1) - x, np.roll(x, 1, axis=1) - x
    crossed, along = np.linalg.norm(np.cross(a, b), axis=2), (a * b).sum(axis=2)
    return crossed / ((a**2).sum(axis=2) * (b**2).sum(axis=2)), np.arctan2(crossed, along)


def _turned_at_ends(
    x: Float[np.ndarray, "n 3"],
    normals: Float[np.ndarray, "n 3"],
    triangles: np.ndarray,
    sharp: np.ndarray,
    spanned: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "n 3"]:
    """The normals, at nodes where the surface ends by the least turn after which they make opposite angles with the
    edges to neighbours as these do, of which faces span larger angles `spanned` (zero: on quadratic faces)."""
    i, j = np.unique(np.concatenate([triangles[:, [a, b]] for a in range(3) for b in range(3) if a != b]), axis=0).T
    used = (spanned[i] > 0.0) & (spanned[j] > WIDER * spanned[i]) & ~(sharp[i] | sharp[j])
    i, j = i[used], j[used]
    d = x[j] - x[i]
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    A, f = np.zeros((len(x), 3, 3)), np.zeros((len(x), 3))
    np.add.at(A, i, d[:, :, None] * d[:, None])
    np.add.at(f, i, -d * ((normals[i] + normals[j]) * d).sum(axis=1, keepdims=True))
    found = normals + np.einsum("nab,nb->na", np.linalg.pinv(A, rcond=WELL_POSED, hermitian=True), f)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def _triangles(places: Sequence[Place]) -> np.ndarray:
    """Node numbers (nt, 3) of the triangles of faces."""
    found = [np.zeros((0, 3), dtype=np.int64)]
    for block, side, rows, _ in places:
        nodes = block.connectivity[rows][:, list(side)]
        found += [nodes[:, list(part)] for part in FACE_TRIANGLES[len(side)]]
    return np.concatenate(found)


def _halves(places: Sequence[Place]) -> np.ndarray:
    """The places (nq, 2) among `_triangles` of both halves of the faces with four nodes."""
    found, first = [np.zeros((0, 2), dtype=np.int64)], 0
    for _, side, rows, _ in places:
        if len(side) == 4:
            found.append(first + np.column_stack([np.arange(len(rows)), len(rows) + np.arange(len(rows))]))
        first += len(rows) * len(FACE_TRIANGLES[len(side)])
    return np.concatenate(found)


def _curvatures(
    x: Float[np.ndarray, "n 3"], normals: Float[np.ndarray, "n 3"], triangles: np.ndarray, sharp: np.ndarray
) -> tuple[Float[np.ndarray, "n 2"], Float[np.ndarray, " n"]]:
    """Principal curvatures and mean distances to the neighbours."""
    n = len(x)
    pairs = np.concatenate([triangles[:, [a, b]] for a in range(3) for b in range(3) if a != b])
    i, j = np.unique(pairs, axis=0).T
    d = x[j] - x[i]
    spacing = np.bincount(i, np.linalg.norm(d, axis=1), n) / np.bincount(i, minlength=n)
    smooth = ~(sharp[i] | sharp[j])
    i, j, d = i[smooth], j[smooth], d[smooth]
    axis = np.eye(3)[np.abs(normals).argmin(axis=1)]
    first = np.cross(normals, axis)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    frame = np.stack([first, np.cross(normals, first)], axis=1)  # n, 2, 3
    a = np.einsum("eka,ea->ek", frame[i], d)
    b = np.einsum("eka,ea->ek", frame[i], normals[j] - normals[i])
    zero = np.zeros(len(a))
    rows = np.stack([np.stack([a[:, 0], a[:, 1], zero], axis=1), np.stack([zero, a[:, 0], a[:, 1]], axis=1)], axis=1)
    A, f = np.zeros((n, 3, 3)), np.zeros((n, 3))
    np.add.at(A, i, np.einsum("eka,ekb->eab", rows, rows))
    np.add.at(f, i, np.einsum("eka,ek->ea", rows, b))
    s = np.einsum("nab,nb->na", np.linalg.pinv(A, rcond=WELL_POSED, hermitian=True), f)
    principal = np.linalg.eigvalsh(np.stack([s[:, [0, 1]], s[:, [1, 2]]], axis=1))
    order = np.argsort(-np.abs(principal), axis=1)
    return np.take_along_axis(principal, order, axis=1), spacing

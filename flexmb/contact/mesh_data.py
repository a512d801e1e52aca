"""The numbers of a triangle mesh for the kernels (flexmb/kernels/contact/mesh.py), and where a mesh crosses itself."""

from typing import NamedTuple

import numpy as np
import scipy
from jaxtyping import Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fem.errors import MeshError
from flexmb.kernels.contact import mesh as layout
from flexmb.kernels.contact.shapes import MOST_CORNERS

LEAF = 1
"""Triangles in a leaf of the tree, at least; fewer than twice as many."""
FLAT = 1e-4
"""Angle (rad) of two faces of a hull below which they are one."""
THIN = 1e-9
"""Height of a triangle relative to the size of a mesh below which it has no normal, and depth of a crossing."""
AT_ONCE = 1_000_000
"""Pairs of triangles that are compared at once."""


class Hull(NamedTuple):
    """The convex hull of points.

    - `corners` (n, 3), `shares` (n,): the parts of their solid angles of directions in the whole, times 8.
    - `normals` (nf, 3), `offsets` (nf,): outer normals and distances from the origin of the faces.
    - `faces`: the numbers of the corners of each face, counter-clockwise seen from outside.
    """

    corners: Float[np.ndarray, "n 3"]
    shares: Float[np.ndarray, "n"]
    normals: Float[np.ndarray, "nf 3"]
    offsets: Float[np.ndarray, "nf"]
    faces: tuple[tuple[int, ...], ...]
    volume: float

    @property
    def width(self) -> float:
        """The least distance of two parallel planes that hold the hull between them, of which one has a face."""
        parts = max(1, len(self.normals) * len(self.corners) // AT_ONCE)
        nearest = [(n @ self.corners.T).min(axis=1) for n in np.array_split(self.normals, parts)]
        return float((self.offsets - np.concatenate(nearest)).min())


class Tree(NamedTuple):
    """Boxes `low`, `high` (n, 3) about triangles, as a heap, and the `order` (nt,) of the triangles in its leaves."""

    low: Float[np.ndarray, "n 3"]
    high: Float[np.ndarray, "n 3"]
    order: Int[np.ndarray, "nt"]
    levels: int


def convex_hull(points: Float[np.ndarray, "n 3"]) -> Hull:
    """The convex hull of points that span a volume; triangles in one plane are one face."""
    found = scipy.spatial.ConvexHull(points)
    normals = found.equations[:, :3]
    one, other = np.repeat(np.arange(len(normals)), 3), found.neighbors.ravel()
    flat = np.linalg.norm(normals[one] - normals[other], axis=1) < FLAT
    links = coo_array((np.ones(flat.sum()), (one[flat], other[flat])), shape=(len(normals), len(normals)))
    count, face = connected_components(links, directed=False)
    p = points[found.simplices]
    areas = np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1)
    total = np.zeros((count, 3))
    np.add.at(total, face, areas[:, None] * normals)
    total /= np.linalg.norm(total, axis=1, keepdims=True)
    belongs = np.unique(np.column_stack([found.simplices.ravel(), np.repeat(face, 3)]), axis=0)
    vertices, faces_of = np.unique(belongs[:, 0], return_counts=True)
    kept = vertices[faces_of >= 3]  # others are within a face or on an edge
    number = np.full(len(points), -1)
    number[kept] = np.arange(len(kept))
    corners, faces, turned = points[kept], [], np.zeros(len(kept))
    by_face = belongs[np.argsort(belongs[:, 1], kind="stable")]
    of_faces = np.split(number[by_face[:, 0]], np.searchsorted(by_face[:, 1], np.arange(1, count)))
    for f, numbers in enumerate(of_faces):
        own = numbers[numbers >= 0]
        own = own[_around(corners[own], total[f])]
        faces.append(tuple(own.tolist()))
        turned[own] += _angles(corners[own])
    offsets = np.array([(corners[list(face)] @ n).max() for face, n in zip(faces, total, strict=True)])
    return Hull(corners, 4.0 - 2.0 * turned / np.pi, total, offsets, tuple(faces), float(found.volume))


def _around(points: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """The order of the corners of a convex polygon, counter-clockwise about its normal."""
    x = points - points.mean(axis=0)
    e = x[np.linalg.norm(x, axis=1).argmax()]
    return np.argsort(np.arctan2(x @ np.cross(normal, e), x @ e))


def _angles(polygon: np.ndarray) -> np.ndarray:
    """The inner angles (n,) of a convex polygon."""
    after, before = np.roll(polygon, -1, axis=0) - polygon, np.roll(polygon, 1, axis=0) - polygon
    turn = np.linalg.norm(np.cross(after, before), axis=1)
    return np.arctan2(turn, (after * before).sum(axis=1))


def tree_of(points: Float[np.ndarray, "nt 3 3"]) -> Tree:
    """The tree about triangles, whose boxes are divided at the median along the longest spread of the centres."""
    count = len(points)
    levels = max(int(np.floor(np.log2(max(count / LEAF, 1.0)))), 0)
    centre, order = points.mean(axis=1), np.arange(count)
    for level in range(levels):
        first = (np.arange(1 << level) * count) >> level
        node = np.searchsorted(first, np.arange(count), side="right") - 1
        x = centre[order]
        spread = np.maximum.reduceat(x, first) - np.minimum.reduceat(x, first)
        along = x[np.arange(count), spread.argmax(axis=1)[node]]
        order = order[np.lexsort((along, node))]
    low, high = np.empty((2 << levels, 3))[1:], np.empty((2 << levels, 3))[1:]
    first = (np.arange(1 << levels) * count) >> levels
    leaves = (1 << levels) - 1
    low[leaves:] = np.minimum.reduceat(points[order].min(axis=1), first)
    high[leaves:] = np.maximum.reduceat(points[order].max(axis=1), first)
    for k in range(leaves - 1, -1, -1):
        low[k], high[k] = np.minimum(low[2 * k + 1], low[2 * k + 2]), np.maximum(high[2 * k + 1], high[2 * k + 2])
    return Tree(low, high, order, levels)


def unit_normals(points: Float[np.ndarray, "n 3"], triangles: Int[np.ndarray, "nt 3"], name: str) -> np.ndarray:
    """The unit normals (nt, 3). Raises `MeshError` when a triangle has no height."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    longest = np.sqrt(np.max([((q - p) ** 2).sum(axis=1) for p, q in ((a, b), (b, c), (c, a))], axis=0))
    area = np.linalg.norm(n, axis=1)
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    if (thin := area <= THIN * size * longest).any():
        near = np.array2string(a[int(np.argmax(thin))], precision=6, separator=", ")
        raise MeshError(
            f"The surface of {name!r} has {int(thin.sum())} triangles without an area, as at {near}, whose direction "
            "is unknown. Remove them in the program that wrote it."
        )
    return np.asarray(n / area[:, None])


def _neighbours(triangles: np.ndarray, name: str, points: np.ndarray) -> np.ndarray:
    """The triangle (nt, 3) across each edge. Raises `MeshError` where more than two triangles share an edge."""
    count, most = len(triangles), int(triangles.max()) + 1
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    own, twin = start * most + end, end * most + start
    order = np.argsort(own)
    repeated = np.flatnonzero(np.diff(own[order]) == 0)
    if len(repeated):
        near = np.array2string(points[start[order[repeated[0]]]], precision=6, separator=", ")
        raise MeshError(
            f"Edges of {name!r} belong to more than two triangles, {len(repeated)} of them, as at {near}: its pieces "
            "touch each other there. Make a mesh of each piece, or unite them in the program that wrote it."
        )
    return np.asarray(order[np.searchsorted(own[order], twin)] // 3).reshape(count, 3)


def mesh_numbers(
    points: Float[np.ndarray, "n 3"], triangles: Int[np.ndarray, "nt 3"], hull: Hull, name: str
) -> Float[np.ndarray, "k"]:
    """The numbers of a closed mesh whose coinciding points are one; see flexmb/kernels/contact/mesh.py.

    The hull is left out if it has more corners than a contact may have. Raises `MeshError` as `unit_normals`, and where
    more than two triangles share an edge.
    """
    n = unit_normals(points, triangles, name)
    across = _neighbours(triangles, name, points)
    corners = points[triangles]
    along = np.roll(corners, -1, axis=1) - corners
    along /= np.linalg.norm(along, axis=2, keepdims=True)
    into = np.cross(n[across], -along)
    rows = np.concatenate(
        [corners.reshape(-1, 9), n, into.reshape(-1, 9), (n[:, None] + n[across]).reshape(-1, 9), triangles], axis=1
    )
    tree = tree_of(corners)
    angles = np.arccos(np.clip(-(along * np.roll(along, 1, axis=1)).sum(axis=2), -1.0, 1.0))
    weighted = np.zeros_like(points)
    np.add.at(weighted, triangles.ravel(), (angles[:, :, None] * n[:, None]).reshape(-1, 3))
    order = np.argsort(triangles.ravel(), kind="stable")
    following = np.roll(triangles, -1, axis=1).ravel()[order]
    ends = np.cumsum(np.bincount(triangles.ravel(), minlength=len(points)))
    vertices = np.column_stack([points, weighted, ends - np.diff(ends, prepend=0), ends])
    small = len(hull.corners) <= MOST_CORNERS
    face_starts = np.cumsum([0, *(len(face) for face in hull.faces)])
    blocks = [
        np.column_stack([hull.corners, hull.shares]) if small else np.zeros(0),
        np.column_stack([hull.normals, hull.offsets]),
        face_starts,
        np.array([k for face in hull.faces for k in face]),
        np.column_stack([tree.low, tree.high]),
        rows[tree.order],
        vertices,
        following,
    ]
    places = layout.HEADER + np.cumsum([0, *(np.size(block) for block in blocks)])
    header = np.zeros(layout.HEADER)
    header[layout.CORNERS], header[layout.FACES] = (len(hull.corners) if small else 0), len(hull.faces)
    header[layout.TRIANGLES], header[layout.LEVELS] = len(triangles), tree.levels
    wanted = ("CORNER_AT", "FACE_AT", "FACE_START_AT", "FACE_CORNER_AT", "TREE_AT", "TRIANGLE_AT", "VERTEX_AT")
    for what, place in zip((*wanted, "NEIGHBOUR_AT"), places[:-1], strict=True):
        header[getattr(layout, what)] = place
    return np.concatenate([header, *(np.ravel(block) for block in blocks)]).astype(float)


def crossings(points: Float[np.ndarray, "n 3"], triangles: Int[np.ndarray, "nt 3"]) -> Int[np.ndarray, "k 2"]:
    """Pairs of triangles without a common point that cross each other, beyond rounding."""
    corners = points[triangles]
    tree = tree_of(corners)
    leaves = (1 << tree.levels) - 1
    a, b = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for _ in range(tree.levels):
        same = a == b
        halves = [(~same, i, j) for i, j in _ALL] + [(same, i, j) for i, j in _HALF]
        a, b = (
            np.concatenate([2 * a[chosen] + 1 + i for chosen, i, _ in halves]),
            np.concatenate([2 * b[chosen] + 1 + j for chosen, _, j in halves]),
        )
        meet = ((tree.low[a] <= tree.high[b]) & (tree.low[b] <= tree.high[a])).all(axis=1)
        a, b = a[meet], b[meet]
    first = (np.arange((1 << tree.levels) + 1) * len(triangles)) >> tree.levels
    widest = int(np.diff(first).max())
    i, j = np.meshgrid(np.arange(widest), np.arange(widest), indexing="ij")
    found = [np.zeros((0, 2), dtype=np.int64)]
    for begin in range(0, len(a), max(AT_ONCE // widest**2, 1)):
        chunk = slice(begin, begin + max(AT_ONCE // widest**2, 1))
        x, y = a[chunk, None] - leaves, b[chunk, None] - leaves
        p, q = first[x] + i.ravel(), first[y] + j.ravel()
        real = (p < first[x + 1]) & (q < first[y + 1]) & (p < q)
        found.append(_crossing(corners, triangles, tree.order[p[real]], tree.order[q[real]]))
    return np.concatenate(found)


_ALL, _HALF = ((0, 0), (0, 1), (1, 0), (1, 1)), ((0, 0), (0, 1), (1, 1))
"""Pairs of the halves of two boxes, and of one."""


def _crossing(corners: np.ndarray, triangles: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The pairs among triangles `p`, `q` (n,) of which an edge of one passes through the other."""
    low, high = corners.min(axis=1), corners.max(axis=1)
    meet = ((low[p] <= high[q]) & (low[q] <= high[p])).all(axis=1)
    p, q = p[meet], q[meet]
    apart = (triangles[p][:, :, None] != triangles[q][:, None, :]).all(axis=(1, 2))
    p, q = p[apart], q[apart]
    least = THIN * float(np.linalg.norm(np.ptp(corners, axis=(0, 1))))
    crosses = np.zeros(len(p), dtype=bool)
    for one, other in ((p, q), (q, p)):
        a, b, c = (corners[other][:, k] for k in range(3))
        n = np.cross(b - a, c - a)
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        for k in range(3):
            start, end = corners[one][:, k], corners[one][:, (k + 1) % 3]
            u, v = (((x - a) * n).sum(axis=1) for x in (start, end))
            through = (np.minimum(u, v) < -least) & (np.maximum(u, v) > least)
            part = np.divide(u, u - v, out=np.zeros_like(u), where=through)
            x = start + part[:, None] * (end - start)
            for s, e in ((a, b), (b, c), (c, a)):
                through &= (np.cross(e - s, x - s) * n).sum(axis=1) > -least * np.linalg.norm(e - s, axis=1)
            crosses |= through
    return np.column_stack([p[crosses], q[crosses]])

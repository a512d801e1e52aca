"""Curved surfaces through the corners of coarse triangles: Nagata's quadratic patches, divided into flat triangles.

Each edge becomes a parabola that is perpendicular to the normals at its ends, and each triangle the quadratic patch of
its three corners and the middles of its edges. The normal at a corner is the mean of those of the triangles around it,
weighted by their angles. Edges between triangles that meet at more than a given angle stay edges: a corner has a normal
for each of its smooth sides, and the parabola of the edge is perpendicular to those of both sides, so that the rim of a
cylinder becomes a circle and the edge of a box stays straight. Neighbours share the points of their edge: the surface
stays closed.

Source: Nagata, Simple local interpolation of surfaces using normal vectors, Computer Aided Geometric Design 22 (2005)
327-347.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from flexmb.bodies.shape import Shape

ALIKE = 0.02
"""Singular value of the normals at the ends of an edge, relative to the largest, below which they are parallel."""
MOST_PARTS = 64
"""Most parts of an edge."""


def smooth_shape(
    points: Float[np.ndarray, "n 3"], triangles: Int[np.ndarray, "nt 3"], parts: int, sharp: float
) -> Shape:
    """The patches through a closed surface, whose edges are divided into a number of `parts`; edges at which the
    surface turns by more than `sharp` (rad) stay edges."""
    corner_normals = _corner_normals(points, triangles, sharp)
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    ends = np.sort(np.column_stack([start, end]), axis=1)
    edges, edge = np.unique(ends, axis=0, return_inverse=True)
    edge = edge.ravel()
    order = np.argsort(edge, kind="stable").reshape(-1, 2)  # both half-edges of each edge
    at_start, at_end = corner_normals.reshape(-1, 3), np.roll(corner_normals, -1, axis=1).reshape(-1, 3)
    along = points[edges[:, 1]] - points[edges[:, 0]]
    rows, sides = [], []
    for half in order.T:
        forward = (start[half] == edges[:, 0])[:, None]
        low, high = np.where(forward, at_start[half], at_end[half]), np.where(forward, at_end[half], at_start[half])
        rows += [low, high]
        sides += [(low * along).sum(axis=1), -(high * along).sum(axis=1)]
    curvature = np.linalg.pinv(np.stack(rows, axis=1), rcond=ALIKE) @ np.stack(sides, axis=1)[:, :, None]
    middles = 0.5 * (points[edges[:, 0]] + points[edges[:, 1]]) - 0.25 * curvature[:, :, 0]
    return _divided(points, triangles, middles, edges, edge.reshape(-1, 3), parts)


def _corner_normals(points: np.ndarray, triangles: np.ndarray, sharp: float) -> np.ndarray:
    """The unit normals (nt, 3, 3) of the smooth surface at the corners of triangles."""
    p = points[triangles]
    after, before = np.roll(p, -1, axis=1) - p, np.roll(p, 1, axis=1) - p
    crossed = np.cross(after, before)
    normals = crossed[:, 0] / np.linalg.norm(crossed[:, 0], axis=1, keepdims=True)
    angles = np.arctan2(np.linalg.norm(crossed, axis=2), (after * before).sum(axis=2))
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    most = len(points)
    own, twin = np.argsort(start * most + end), np.argsort(end * most + start)
    across = np.empty(len(own), dtype=np.int64)
    across[own] = twin  # the half-edge in the other direction
    half = np.arange(len(own))
    smooth = (normals[half // 3] * normals[across // 3]).sum(axis=1) >= np.cos(sharp)
    following = 3 * (across // 3) + (across + 1) % 3  # the same corner in the triangle across the edge
    links = coo_array((np.ones(smooth.sum()), (half[smooth], following[smooth])), shape=(len(half), len(half)))
    count, fan = connected_components(links, directed=False)
    total = np.zeros((count, 3))
    np.add.at(total, fan, angles.ravel()[:, None] * np.repeat(normals, 3, axis=0))
    total /= np.linalg.norm(total, axis=1, keepdims=True)
    return np.asarray(total[fan].reshape(-1, 3, 3))


def _divided(
    points: np.ndarray, triangles: np.ndarray, middles: np.ndarray, edges: np.ndarray, edge: np.ndarray, parts: int
) -> Shape:
    """The quadratic patches with corners (nt, 3) and edges (nt, 3), each divided into `parts`^2 triangles."""
    n, inner = len(points), parts - 1
    x = (np.arange(1, parts) / parts)[None, :, None]
    low, high = points[edges[:, 0], None], points[edges[:, 1], None]
    on_edges = (1 - x) * (1 - 2 * x) * low + x * (2 * x - 1) * high + 4 * x * (1 - x) * middles[:, None]
    weights = [(i, j) for i in range(1, parts) for j in range(1, parts - i)]
    u, v = (np.array([w[k] for w in weights], dtype=float).reshape(1, -1, 1) / parts for k in range(2))
    w = 1 - u - v
    a, b, c = (points[triangles[:, k], None] for k in range(3))
    ab, bc, ca = (middles[edge[:, k], None] for k in range(3))
    inside = (2 * w - 1) * w * a + (2 * u - 1) * u * b + (2 * v - 1) * v * c
    inside = inside + 4 * (w * u * ab + u * v * bc + v * w * ca)
    number = np.empty((len(triangles), parts + 1, parts + 1), dtype=np.int64)  # by steps towards the second, the third
    number[:, 0, 0], number[:, parts, 0], number[:, 0, parts] = triangles.T
    for k in range(1, parts):
        for side, place in ((0, (k, 0)), (1, (parts - k, k)), (2, (0, parts - k))):
            same = triangles[:, side] == edges[edge[:, side], 0]
            number[:, place[0], place[1]] = n + edge[:, side] * inner + np.where(same, k - 1, inner - k)
    base = n + len(edges) * inner
    for k, (i, j) in enumerate(weights):
        number[:, i, j] = base + np.arange(len(triangles)) * len(weights) + k
    found = []
    for i in range(parts):
        for j in range(parts - i):
            found.append(np.column_stack([number[:, i, j], number[:, i + 1, j], number[:, i, j + 1]]))
            if i + j < parts - 1:
                found.append(np.column_stack([number[:, i + 1, j], number[:, i + 1, j + 1], number[:, i, j + 1]]))
    every = np.concatenate([points, on_edges.reshape(-1, 3), inside.reshape(-1, 3)])
    return Shape(every, np.concatenate(found))

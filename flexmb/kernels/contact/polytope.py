"""Overlap of two convex shapes of which one is a mesh.

With `w(n)` of flexmb/kernels/contact/convex.py, the points `w(n)` span the set of all differences of points of both
shapes. The shapes are apart if the origin is outside of it; its distance from the set follows by the method of Gilbert,
Johnson and Keerthi, from the closest points of simplexes. Otherwise the depth is the distance of the origin from the
surface of the set: a polytope within the set grows at its face that is closest to the origin, until this is a face of
the set (van den Bergen). Both are exact for polyhedra; with cylinders they converge to `SAME`.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import add, cross, dot, scale, sub, vector
from flexmb.kernels.contact.convex import AXES, BOX, MESH, span
from flexmb.kernels.contact.triangle import on_triangle

SAME, MEET = 1e-12, 1e-11
"""Error of a distance, and the distance of shapes that meet, relative to their extents."""
LOOKS, GROWTHS = 80, 160
"""Supporting points of both searches."""
FACES = 2 * GROWTHS + 8
_OF_TETRAHEDRON = ((0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 3, 1), (1, 2, 3, 0))
"""The corners of each face of a tetrahedron, and its apex."""


@njit(cache=True)
def extent(kind, size):
    """A length that bounds the distance of the points of a core from its place."""
    if kind == MESH:
        return size[2]
    if kind == BOX:
        return 0.5 * math.sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2])
    return math.hypot(size[0], 0.5 * size[1])


@njit(cache=True)
def _set(rows, k, x):
    rows[k, 0], rows[k, 1], rows[k, 2] = x[0], x[1], x[2]


@njit(cache=True)
def _on_line(a, b):
    """The point of a line that is closest to the origin, and the ends that span it, as bits."""
    ab = sub(b, a)
    square = dot(ab, ab)
    t = -dot(a, ab) / square if square > 0.0 else 0.0
    if t <= 0.0:
        return a, 1
    if t >= 1.0:
        return b, 2
    return add(a, scale(t, ab)), 3


@njit(cache=True)
def _on_simplex(simplex, count):
    """The point of a simplex that is closest to the origin; keeps the corners that span it, and returns their number,
    4 if the origin is inside."""
    a = vector(simplex, 0)
    if count == 1:
        return a, 1
    b = vector(simplex, 1)
    if count == 2:
        x, bits = _on_line(a, b)
    else:
        c = vector(simplex, 2)
        x, bits = on_triangle(a, b, c)
        if count == 4:
            best, outside, chosen = math.inf, False, x
            for face in range(4):
                i, j, k, apex = _OF_TETRAHEDRON[face]
                p, q, r, o = vector(simplex, i), vector(simplex, j), vector(simplex, k), vector(simplex, apex)
                n = cross(sub(q, p), sub(r, p))
                if dot(n, p) * dot(n, sub(o, p)) < 0.0:
                    continue  # the origin is on the side of the fourth corner
                outside = True
                y, own = on_triangle(p, q, r)
                if dot(y, y) < best:
                    best, chosen = dot(y, y), y
                    bits = ((own & 1) << i) | ((own >> 1 & 1) << j) | ((own >> 2 & 1) << k)
            if not outside:
                return (0.0, 0.0, 0.0), 4
            x = chosen
    kept = 0
    for k in range(count):
        if bits & (1 << k):
            for i in range(3):
                simplex[kept, i] = simplex[k, i]
            kept += 1
    return x, kept


@njit(cache=True)
def _face(vertices, i, j, k, faces, normals, distances, at, least):
    """Write the face of three vertices, which is passed counter-clockwise seen from outside; a face without area is
    never the closest."""
    a, b, c = vector(vertices, i), vector(vertices, j), vector(vertices, k)
    n = cross(sub(b, a), sub(c, a))
    size = math.sqrt(dot(n, n))
    faces[at, 0], faces[at, 1], faces[at, 2] = i, j, k
    if size > least * least:
        n = scale(1.0 / size, n)
        distances[at] = dot(n, a)
    else:
        distances[at] = math.inf
    _set(normals, at, n)


@njit(cache=True)
def _tetrahedron(a, A, b, B, d, S, vertices, least):
    """Four supporting points that span a volume; returns False if there are none."""
    _set(vertices, 0, span(a, A, b, B, d, S, AXES[0]))
    _set(vertices, 1, span(a, A, b, B, d, S, (-1.0, 0.0, 0.0)))
    p, e = vector(vertices, 0), sub(vector(vertices, 1), vector(vertices, 0))
    most = -1.0
    for k in range(1, 3):
        for side in (1.0, -1.0):
            x = span(a, A, b, B, d, S, scale(side, AXES[k]))
            across = cross(e, sub(x, p))
            if dot(across, across) > most:
                most = dot(across, across)
                _set(vertices, 2, x)
    n = cross(e, sub(vector(vertices, 2), p))
    size = math.sqrt(dot(n, n))
    if not size > least * least:
        return False
    n = scale(1.0 / size, n)
    x, y = span(a, A, b, B, d, S, n), span(a, A, b, B, d, S, scale(-1.0, n))
    up, down = dot(n, sub(x, p)), dot(n, sub(p, y))
    _set(vertices, 3, x if up >= down else y)
    return max(up, down) > least


@njit(cache=True)
def _depth(a, A, b, B, d, S, length):
    """The direction of least overlap of two shapes that meet, and the overlap."""
    vertices, least = np.empty((GROWTHS + 4, 3)), 1e-9 * length
    faces, normals, distances = np.empty((FACES, 3), np.int64), np.empty((FACES, 3)), np.empty(FACES)
    edges = np.empty((FACES, 2), np.int64)
    n, overlap = (0.0, 0.0, 1.0), math.inf
    if not _tetrahedron(a, A, b, B, d, S, vertices, least):
        return n, overlap
    middle = (0.0, 0.0, 0.0)
    for k in range(4):
        middle = add(middle, scale(0.25, vector(vertices, k)))
    count, points = 4, 4
    for f in range(4):
        i, j, k, _ = _OF_TETRAHEDRON[f]
        _face(vertices, i, j, k, faces, normals, distances, f, 0.0)
        if dot(vector(normals, f), middle) > distances[f]:
            _face(vertices, i, k, j, faces, normals, distances, f, 0.0)
    for _ in range(GROWTHS):
        best = 0
        for f in range(count):
            if distances[f] < distances[best]:
                best = f
        n = vector(normals, best)
        w = span(a, A, b, B, d, S, n)
        overlap = dot(n, w)
        if not overlap - distances[best] > SAME * length or points == len(vertices):
            break
        _set(vertices, points, w)
        rim, left = 0, 0
        for f in range(count):  # the faces that see the new point go, and leave their rim
            if distances[f] < math.inf and dot(vector(normals, f), w) - distances[f] > 0.1 * SAME * length:
                for k in range(3):
                    i, j, twin = faces[f, k], faces[f, (k + 1) % 3], -1
                    for e in range(rim):
                        if edges[e, 0] == j and edges[e, 1] == i:
                            twin = e
                    if twin >= 0:
                        rim -= 1
                        edges[twin, 0], edges[twin, 1] = edges[rim, 0], edges[rim, 1]
                    else:
                        edges[rim, 0], edges[rim, 1] = i, j
                        rim += 1
            else:
                for k in range(3):
                    faces[left, k], normals[left, k] = faces[f, k], normals[f, k]
                distances[left] = distances[f]
                left += 1
        if left + rim > FACES:
            break
        for e in range(rim):
            _face(vertices, edges[e, 0], edges[e, 1], points, faces, normals, distances, left + e, 1e-3 * least)
        count, points = left + rim, points + 1
    return n, overlap


@njit(cache=True)
def polytope_overlap(a, A, b, B, d, S):
    """The unit vector `n` from `a` to `b` along which the cores of two shapes overlap least, and the overlap; as
    `least_overlap`."""
    length = extent(a, A) + extent(b, B)
    simplex, count = np.empty((4, 3)), 1
    v = span(a, A, b, B, d, S, AXES[2] if dot(d, d) == 0.0 else scale(1.0 / math.sqrt(dot(d, d)), d))
    _set(simplex, 0, v)
    for _ in range(LOOKS):
        distance = math.sqrt(dot(v, v))
        if count == 4 or not distance > MEET * length:
            break
        n = scale(-1.0 / distance, v)
        w = span(a, A, b, B, d, S, n)
        if dot(n, w) + distance <= SAME * length:
            return n, dot(n, w)
        for k in range(count):
            if w[0] == simplex[k, 0] and w[1] == simplex[k, 1] and w[2] == simplex[k, 2]:
                return n, dot(n, w)
        _set(simplex, count, w)
        v, count = _on_simplex(simplex, count + 1)
    return _depth(a, A, b, B, d, S, length)

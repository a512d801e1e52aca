"""Triangle meshes as shapes of contacts: their data, and the points at which they touch spheres and planes.

The dimensions of a mesh are the address of its numbers (flexmb/contact/mesh_data.py), its size and its reach. The
numbers begin with counts and places:

- the corners of its convex hull, rows (x, y, z, share);
- the faces of the hull, rows (normal, distance from the origin), the first corner of each, and the corners in order;
- a tree of boxes about the triangles, rows (low, high), a heap with `LEVELS` levels below its root: the triangles of
  its leaf `j` are `j nt >> LEVELS` to `(j + 1) nt >> LEVELS`;
- the triangles, rows (three corners; normal; for each edge, the direction across it into the neighbour; for each edge,
  the sum of both normals; numbers of the vertices);
- the vertices, rows (x, y, z; normal, weighted by angles; first and end of the numbers of their neighbours).

A sphere touches a mesh where the distance of its centre is a local minimum over the surface: on a face, on an edge from
which both faces fall away, or at such a vertex. Minima whose normals are within 6 degrees belong to one place of a
curved surface, of which the deepest counts.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import add, cross, dot, scale, sub
from flexmb.kernels.base.memory import number_at
from flexmb.kernels.contact.triangle import on_triangle

CORNERS, CORNER_AT, FACES, FACE_AT, FACE_START_AT, FACE_CORNER_AT = range(6)
TRIANGLES, LEVELS, TREE_AT, TRIANGLE_AT, VERTEX_AT, NEIGHBOUR_AT = range(6, 12)
HEADER = 12
CORNER_ROW, FACE_ROW, BOX_ROW, TRIANGLE_ROW, VERTEX_ROW = 4, 4, 6, 33, 8
NORMAL, INTO, EDGE_NORMAL, VERTICES = 9, 12, 21, 30
"""Places in the row of a triangle."""
ONE_PLACE = 0.9945
"""Cosine of the angle of two normals within which two minima of the distance belong to one place."""
LEVEL = 1e-9
"""Slope across an edge, relative to the distance, below which a surface does not rise there."""
STACK = 64
INSIDE = 0
FEATURES = (-1, 4, 5, 1, 6, 3, 2, INSIDE)
"""The feature of a triangle that is nearest, by the corners that span it, as bits: its inside, edges 1 to 3 (from each
corner to the next), corners 4 to 6."""


@njit(cache=True, inline="always")
def _whole(address, k):
    return int(number_at(address, k))


@njit(cache=True, inline="always")
def _three(address, k):
    return (number_at(address, k), number_at(address, k + 1), number_at(address, k + 2))


@njit(cache=True)
def count_of(mesh, what):
    """A number of the header of the mesh with the address `mesh` (a float)."""
    return _whole(int(mesh), what)


@njit(cache=True)
def corner_of(mesh, k):
    """Corner `k` of the convex hull."""
    address = int(mesh)
    return _three(address, _whole(address, CORNER_AT) + CORNER_ROW * k)


@njit(cache=True)
def share_of(mesh, k):
    """The share of corner `k` in eight forces of a law: the part of its solid angle of directions in the whole one."""
    address = int(mesh)
    return number_at(address, _whole(address, CORNER_AT) + CORNER_ROW * k + 3)


@njit(cache=True)
def furthest_corner(mesh, n):
    """The number of the corner that is furthest along `n`."""
    address = int(mesh)
    at, best, most = _whole(address, CORNER_AT), 0, -math.inf
    for k in range(_whole(address, CORNERS)):
        row = at + CORNER_ROW * k
        along = n[0] * number_at(address, row) + n[1] * number_at(address, row + 1) + n[2] * number_at(address, row + 2)
        if along > most:
            best, most = k, along
    return best


@njit(cache=True)
def face_of(mesh, i):
    """The outer normal of face `i` of the hull, its distance from the origin, and the places of its corners, for
    `face_corner`."""
    address = int(mesh)
    row, start = _whole(address, FACE_AT) + FACE_ROW * i, _whole(address, FACE_START_AT) + i
    return _three(address, row), number_at(address, row + 3), _whole(address, start), _whole(address, start + 1)


@njit(cache=True)
def face_corner(mesh, place):
    """A corner of a face of the hull."""
    return corner_of(mesh, face_number(mesh, place))


@njit(cache=True)
def face_number(mesh, place):
    """The number of a corner of a face of the hull."""
    address = int(mesh)
    return _whole(address, _whole(address, FACE_CORNER_AT) + place)


@njit(cache=True)
def flattest_face(mesh, n):
    """The face of the hull whose normal is closest to `n`, and the cosine between them."""
    address = int(mesh)
    at, best, most = _whole(address, FACE_AT), 0, -math.inf
    for i in range(_whole(address, FACES)):
        c = dot(n, _three(address, at + FACE_ROW * i))
        if c > most:
            best, most = i, c
    return best, most


@njit(cache=True)
def _closest(address, at, x):
    """The point of the triangle at `at` that is closest to `x`, and its feature."""
    a, b, c = _three(address, at), _three(address, at + 3), _three(address, at + 6)
    between, corners = on_triangle(sub(a, x), sub(b, x), sub(c, x))
    return add(x, between), FEATURES[corners]


@njit(cache=True)
def _normal_at(address, at, feature):
    """The outer normal of a feature of a triangle, not of unit length on edges and at vertices."""
    if feature == INSIDE:
        return _three(address, at + NORMAL)
    if feature < 4:
        return _three(address, at + EDGE_NORMAL + 3 * (feature - 1))
    vertex = _whole(address, at + VERTICES + feature - 4)
    return _three(address, _whole(address, VERTEX_AT) + VERTEX_ROW * vertex + 3)


@njit(cache=True)
def _falls_away(address, at, feature, u):
    """Whether the surface around the closest point of a triangle is nowhere closer; `u` points from there to the
    sphere."""
    limit = LEVEL * math.sqrt(dot(u, u))
    if feature == INSIDE:
        return True
    if feature < 4:
        return dot(u, _three(address, at + INTO + 3 * (feature - 1))) <= limit
    vertices, row = _whole(address, VERTEX_AT), _whole(address, at + VERTICES + feature - 4)
    row = vertices + VERTEX_ROW * row
    here, neighbours = _three(address, row), _whole(address, NEIGHBOUR_AT)
    for k in range(_whole(address, row + 6), _whole(address, row + 7)):
        e = sub(_three(address, vertices + VERTEX_ROW * _whole(address, neighbours + k)), here)
        if dot(u, e) > limit * math.sqrt(dot(e, e)):
            return False
    return True


@njit(cache=True)
def _box_distance(address, at, x):
    """The square of the distance of `x` from a box of the tree."""
    total = 0.0
    for i in range(3):
        out = max(number_at(address, at + i) - x[i], x[i] - number_at(address, at + 3 + i), 0.0)
        total += out * out
    return total


@njit(cache=True)
def _nearest(address, x):
    """The place of the triangle that is closest to `x`."""
    count, levels = _whole(address, TRIANGLES), _whole(address, LEVELS)
    tree, rows, leaves = _whole(address, TREE_AT), _whole(address, TRIANGLE_AT), (1 << levels) - 1
    stack = np.empty(STACK, np.int64)
    stack[0], height, found, best = 0, 1, -1, math.inf
    while height > 0:
        height -= 1
        k = stack[height]
        if not _box_distance(address, tree + BOX_ROW * k, x) < best:
            continue
        if k < leaves:
            near, far = 2 * k + 1, 2 * k + 2
            if _box_distance(address, tree + BOX_ROW * near, x) > _box_distance(address, tree + BOX_ROW * far, x):
                near, far = far, near
            stack[height], stack[height + 1] = far, near
            height += 2
            continue
        for i in range(((k - leaves) * count) >> levels, ((k - leaves + 1) * count) >> levels):
            p, _ = _closest(address, rows + TRIANGLE_ROW * i, x)
            u = sub(x, p)
            if dot(u, u) < best:
                found, best = rows + TRIANGLE_ROW * i, dot(u, u)
    return found


@njit(cache=True)
def _write(points, k, x, n, distance, radius):
    """Write the point of a sphere about `x` whose centre is at a signed `distance` along `n`."""
    row, half = points[k], 0.5 * (distance + radius)
    row[0], row[1], row[2] = x[0] - half * n[0], x[1] - half * n[1], x[2] - half * n[2]
    row[3], row[4], row[5], row[6], row[7] = n[0], n[1], n[2], radius - distance, 1.0


@njit(cache=True)
def _add_minimum(points, count, x, n, distance, radius):
    """Add a minimum of the distance, unless a deeper one has its place; returns the number of points."""
    for k in range(count):
        row = points[k]
        if row[3] * n[0] + row[4] * n[1] + row[5] * n[2] > ONE_PLACE:
            if radius - distance > row[6]:
                _write(points, k, x, n, distance, radius)
            return count
    if count < len(points):
        _write(points, count, x, n, distance, radius)
        return count + 1
    return count


@njit(cache=True)
def _write_nearest(address, at, x, radius, points):
    """Write the point of a sphere about `x` at the triangle at `at`, which is nearest; returns 1."""
    p, feature = _closest(address, at, x)
    u, n = sub(x, p), _normal_at(address, at, feature)
    distance, side = math.sqrt(dot(u, u)), dot(u, n)
    n = scale(math.copysign(1.0, side) / distance, u) if distance > 0.0 else scale(1.0 / math.sqrt(dot(n, n)), n)
    _write(points, 0, x, n, math.copysign(distance, side), radius)
    return 1


@njit(cache=True, forceinline=True)
def ball_at_mesh(mesh, radius, x, points):
    """Write the points at which a sphere about `x` touches a mesh; returns their number, at least one."""
    address = int(mesh)
    count, levels = _whole(address, TRIANGLES), _whole(address, LEVELS)
    tree, rows, leaves = _whole(address, TREE_AT), _whole(address, TRIANGLE_AT), (1 << levels) - 1
    stack = np.empty(STACK, np.int64)
    stack[0], height, found, limit = 0, 1, 0, radius * radius
    nearest, best, outside = -1, math.inf, False
    while height > 0:
        height -= 1
        k = stack[height]
        if not _box_distance(address, tree + BOX_ROW * k, x) < limit:
            continue
        if k < leaves:
            stack[height], stack[height + 1] = 2 * k + 1, 2 * k + 2
            height += 2
            continue
        for i in range(((k - leaves) * count) >> levels, ((k - leaves + 1) * count) >> levels):
            at = rows + TRIANGLE_ROW * i
            p, feature = _closest(address, at, x)
            u = sub(x, p)
            square = dot(u, u)
            if not square < limit:
                continue
            before = dot(u, _normal_at(address, at, feature)) > 0.0
            if square < best:
                nearest, best, outside = at, square, before
            if before and _falls_away(address, at, feature, u):
                distance = math.sqrt(square)
                found = _add_minimum(points, found, x, scale(1.0 / distance, u), distance, radius)
    if nearest < 0:  # apart, or deep inside
        nearest = _nearest(address, x)
    elif outside and found > 0:
        return found
    return _write_nearest(address, nearest, x, radius, points)


@njit(cache=True)
def cut_by_face(mesh, i, k):
    """The middle of edge `k` of face `i` of the hull, and the direction across it out of the face."""
    n, _, first, end = face_of(mesh, i)
    p = face_corner(mesh, first + k)
    q = face_corner(mesh, first + k + 1 if first + k + 1 < end else first)
    e = cross(sub(q, p), n)
    return scale(0.5, add(p, q)), scale(1.0 / math.sqrt(dot(e, e)), e)

"""Contact points of two convex shapes: capsules, cylinders, boxes and meshes, from the direction of least overlap.

The kinds of contact, and the shares of the points in the force of the law:

- *On a face*, within 6 degrees: the face, edge or rim of the other shape is cut off at the borders of the face; each
  corner that is left is a point, with its own depth below the face. The corners of an area share four forces of the law
  by the angles by which the outline turns there, so that a corner that splits into two changes nothing; both ends of a
  line have one force each. The end of a cylinder is drawn with eight points, the lowest one of its rim among them.
- *Along two axes*, of capsules or sides of cylinders, which are both across the normal within 6 degrees: the deepest
  point, and the shallower one of the ends of the common length, with the depth there. Where the axes are parallel these
  are the two ends.
- *Otherwise* one point, between vertices, rims and edges.

The depth is that of flexmb/kernels/contact/convex.py, so that the energy of the deepest point is continuous.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import NOTHING, ONE, add, cross, dot, rotate, rotate_inv, scale, sub
from flexmb.kernels.contact.convex import BOX, CAPSULE, CYLINDER, MESH, PARALLEL, axis_of, furthest, least_overlap
from flexmb.kernels.contact.mesh import (
    CORNERS,
    corner_of,
    count_of,
    cut_by_face,
    face_corner,
    face_of,
    flattest_face,
    furthest_corner,
)
from flexmb.kernels.contact.polytope import polytope_overlap

FLAT = 0.9945
"""Cosine of the largest angle between the normal and that of a face on which the contact is."""
ACROSS = 0.1
"""Cosine of the least angle between the normal and the axes of two shapes that touch along their length."""
CAP = 8
"""Corners by which the end of a cylinder is represented."""
SPLIT = 0.7
"""Cosine of the angle between a direction and the axis of a cylinder beyond which its end is nearest."""
CLOSE = 1e-2
"""Gap, relative to the least size of two shapes, below which all points of a face are given."""
MOST_CORNERS = 257
COINCIDENT = 1e-10
"""Distance of corners, relative to the longest edge, below which they are one."""


@njit(cache=True)
def _at(S, d, x):
    """The point `x` of a shape at `d` with the axes `S`."""
    return add(d, rotate(S, x))


@njit(cache=True)
def _set(polygon, k, x):
    polygon[k, 0], polygon[k, 1], polygon[k, 2] = x[0], x[1], x[2]


@njit(cache=True)
def _get(polygon, k):
    return (polygon[k, 0], polygon[k, 1], polygon[k, 2])


@njit(cache=True)
def _feature(kind, size, d, S, n, polygon):
    """The corners of the face, rim or line of a shape's core that is furthest along `n`; returns their number."""
    m = rotate_inv(S, n)
    if kind == MESH:
        _, _, first, end = face_of(size[0], flattest_face(size[0], m)[0])
        for k in range(first, end):
            _set(polygon, k - first, _at(S, d, face_corner(size[0], k)))
        return end - first
    h = math.copysign(0.5 * size[1], m[2])
    if kind == CAPSULE:
        _set(polygon, 0, _at(S, d, (0.0, 0.0, h)))
        _set(polygon, 1, _at(S, d, (0.0, 0.0, -h)))
        return 2
    if kind == CYLINDER:
        rho = math.sqrt(m[0] * m[0] + m[1] * m[1])
        x, y = (m[0] / rho, m[1] / rho) if rho > PARALLEL else (1.0, 0.0)
        x, y = size[0] * x, size[0] * y
        if abs(m[2]) < SPLIT:
            _set(polygon, 0, _at(S, d, (x, y, h)))
            _set(polygon, 1, _at(S, d, (x, y, -h)))
            return 2
        for k in range(CAP):
            u, v = math.cos(2.0 * math.pi * k / CAP), math.sin(2.0 * math.pi * k / CAP)
            _set(polygon, k, _at(S, d, (u * x - v * y, u * y + v * x, h)))
        return CAP
    i = 0 if abs(m[0]) >= abs(m[1]) and abs(m[0]) >= abs(m[2]) else (1 if abs(m[1]) >= abs(m[2]) else 2)
    j, k = (i + 1) % 3, (i + 2) % 3
    top = scale(math.copysign(0.5 * size[i], m[i]), axis_of(BOX, i, S))
    u, v = scale(0.5 * size[j], axis_of(BOX, j, S)), scale(0.5 * size[k], axis_of(BOX, k, S))
    middle = add(d, top)
    _set(polygon, 0, add(middle, add(u, v)))
    _set(polygon, 1, add(middle, sub(v, u)))
    _set(polygon, 2, sub(middle, add(u, v)))
    _set(polygon, 3, add(middle, sub(u, v)))
    return 4


@njit(cache=True)
def _cut(polygon, count, middle, e, most, out):
    """Keep the part of a polygon, or of a line of two points, where `e . (x - middle) <= most`."""
    kept = 0
    for k in range(count):
        p, q = _get(polygon, k), _get(polygon, (k + 1) % count)
        u, v = dot(e, sub(p, middle)) - most, dot(e, sub(q, middle)) - most
        if u <= 0.0:
            _set(out, kept, p)
            kept += 1
        if (u < 0.0 < v or v < 0.0 < u) and (count > 2 or k == 0):
            _set(out, kept, add(p, scale(u / (u - v), sub(q, p))))
            kept += 1
    return kept


@njit(cache=True)
def _trim(kind, size, d, S, i, polygon, count, spare):
    """Cut a polygon at the borders of the face of a shape with the normal along its axis `i`, or of face `i` of a mesh;
    returns what is left, in `polygon`."""
    if kind == MESH:
        _, _, first, end = face_of(size[0], i)
        for k in range(end - first):
            x, e = cut_by_face(size[0], i, k)
            count = _cut(polygon, count, _at(S, d, x), rotate(S, e), 0.0, spare)
            for j in range(count):
                _set(polygon, j, _get(spare, j))
        return count
    if kind == BOX:
        for step in range(1, 3):
            j = (i + step) % 3
            e = axis_of(BOX, j, S)
            count = _cut(polygon, count, d, e, 0.5 * size[j], spare)
            count = _cut(spare, count, d, scale(-1.0, e), 0.5 * size[j], polygon)
        return count
    for k in range(0, CAP, 2):
        u, v = math.cos(2.0 * math.pi * k / CAP), math.sin(2.0 * math.pi * k / CAP)
        count = _cut(polygon, count, d, rotate(S, (u, v, 0.0)), size[0], spare)
        u, v = math.cos(2.0 * math.pi * (k + 1) / CAP), math.sin(2.0 * math.pi * (k + 1) / CAP)
        count = _cut(spare, count, d, rotate(S, (u, v, 0.0)), size[0], polygon)
    return count


@njit(cache=True)
def _without_repeated(polygon, count):
    """Remove corners that coincide with the one before; returns the number of those that are left."""
    if count < 3:
        return count
    around = 0.0
    for k in range(count):
        step = sub(_get(polygon, (k + 1) % count), _get(polygon, k))
        around = max(around, dot(step, step))
    kept = 0
    for k in range(count):
        x = _get(polygon, k)
        step = sub(_get(polygon, (k + 1) % count), x)
        if dot(step, step) > COINCIDENT * COINCIDENT * around:
            _set(polygon, kept, x)
            kept += 1
    return kept


@njit(cache=True)
def _flattest(kind, size, S, n):
    """The axis of a shape whose face has a normal closest to `n` or its opposite, and the cosine between them; of a
    mesh, the face whose normal is closest to `n`."""
    if kind == MESH:
        return flattest_face(size[0], rotate_inv(S, n))
    if kind == CAPSULE:
        return -1, 0.0
    if kind == CYLINDER:
        return 2, dot(axis_of(kind, 2, S), n)
    best, most = 0, 0.0
    for i in range(3):
        c = dot(axis_of(kind, i, S), n)
        if abs(c) > abs(most):
            best, most = i, c
    return best, most


@njit(cache=True)
def _store(points, k, x, n, depth, share):
    row = points[k]
    row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7] = x[0], x[1], x[2], n[0], n[1], n[2], depth, share


@njit(cache=True)
def _on_face(kind, size, d, S, i, f, other, other_size, e, R, radius, sign, points):
    """The points of another shape, at `e` with the axes `R`, on the face of a shape with the outer normal `f`, the
    axis `i`; `radius` is that of the other shape around its core, `sign` 1 where the face is that of `a`."""
    polygon, spare = np.empty((MOST_CORNERS, 3)), np.empty((MOST_CORNERS, 3))
    count = _feature(other, other_size, e, R, scale(-1.0, f), polygon)
    count = _trim(kind, size, d, S, i, polygon, count, spare)
    count = _without_repeated(polygon, count)
    if kind == MESH:
        top = dot(f, d) + face_of(size[0], i)[1]
    else:
        top = dot(f, d) + 0.5 * (size[i] if kind == BOX else size[1])
    for k in range(count):
        x = _get(polygon, k)
        depth = top - dot(f, x) + radius
        share = 1.0
        if count > 2:
            after, before = sub(_get(polygon, (k + 1) % count), x), sub(x, _get(polygon, (k + count - 1) % count))
            turn = cross(before, after)
            share = 2.0 / math.pi * math.atan2(math.sqrt(dot(turn, turn)), dot(before, after))
        _store(points, k, add(x, scale(0.5 * depth - radius, f)), scale(sign, f), depth, share)
    return count


@njit(cache=True)
def _support_of_mesh(size, d, S, n, m):
    """The `_support` of a mesh along `n`, which is `m` in its own axes."""
    mesh = size[0]
    best, count, second = furthest_corner(mesh, m), 0, 0
    x = corner_of(mesh, best)
    for k in range(count_of(mesh, CORNERS)):
        if k != best and dot(m, sub(x, corner_of(mesh, k))) < PARALLEL * size[2]:
            second = k
            count += 1
    if count == 1:
        y = corner_of(mesh, second)
        e, length = sub(y, x), math.sqrt(dot(sub(y, x), sub(y, x)))
        return 1, _at(S, d, scale(0.5, add(x, y))), rotate(S, scale(1.0 / length, e)), 0.5 * length
    return min(count, 2), _at(S, d, x), n, 0.0


@njit(cache=True)
def _support(kind, size, d, S, n):
    """Where the core of a shape is furthest along `n`: the dimension of this set (0: vertex, 1: edge or axis, 2: face),
    a point in its middle, and the direction and half of the length of a line."""
    m = rotate_inv(S, n)
    if kind == MESH:
        return _support_of_mesh(size, d, S, n, m)
    s = furthest(kind, size, m)
    if kind == BOX:
        flat = 0
        for i in range(3):
            flat += 1 if abs(m[i]) < PARALLEL else 0
        for i in range(3):
            if abs(m[i]) < PARALLEL:
                e = axis_of(BOX, i, S)
                return flat, sub(add(d, rotate(S, s)), scale(s[i], e)), e, 0.5 * size[i]
    elif abs(m[2]) < PARALLEL:
        return 1, add(d, rotate(S, (s[0], s[1], 0.0))), axis_of(kind, 2, S), 0.5 * size[1]
    elif kind == CYLINDER and m[0] * m[0] + m[1] * m[1] < PARALLEL * PARALLEL:
        return 2, add(d, rotate(S, (0.0, 0.0, s[2]))), n, 0.0
    return 0, add(d, rotate(S, s)), n, 0.0


@njit(cache=True)
def _closest(c, u, half, x, v):
    """The point of a line of a length `2 half`, with the middle `c` and the direction `u`, that is closest to the line
    through `x` along `v`, or to `x` where they are parallel."""
    r, k = sub(x, c), dot(u, v)
    t, det = dot(u, r), 1.0 - k * k
    if det > PARALLEL:
        t = (t - k * dot(v, r)) / det
    return add(c, scale(min(max(t, -half), half), u))


@njit(cache=True)
def _single(a, A, b, B, d, S, n, depth, radius_a, radius_b, points):
    """The point between a vertex or edge of `a` and one of `b`."""
    flat_a, x, u, half = _support(a, A, NOTHING, ONE, n)
    flat_b, y, v, _ = _support(b, B, d, S, scale(-1.0, n))
    if flat_b < flat_a:
        _store(points, 0, sub(y, scale(radius_b - 0.5 * depth, n)), n, depth, 1.0)
        return 1
    if flat_a == 1 and flat_b == 1:
        x = _closest(x, u, half, y, v)
    _store(points, 0, add(x, scale(radius_a - 0.5 * depth, n)), n, depth, 1.0)
    return 1


@njit(cache=True)
def _axis_end(along, B, d, v, radius_a, radius_b, points, k):
    """Write the point of shape `b` at a distance `along` its axis, at the side of `a`, to row `k`; returns its
    depth."""
    x = add(d, scale(along, v))
    length = math.sqrt(x[0] * x[0] + x[1] * x[1])
    if length == 0.0:
        return -math.inf
    n = (x[0] / length, x[1] / length, 0.0)
    depth = radius_a + radius_b - length
    reach = radius_a - 0.5 * depth
    _store(points, k, (reach * n[0], reach * n[1], x[2]), n, depth, 1.0)
    return depth


@njit(cache=True)
def _second_end(A, B, d, S, radius_a, radius_b, points):
    """Add the shallower end of the common length of two shapes that touch along their axes, and put the deepest point
    at the deeper one where the axes are parallel; returns the number of points."""
    v = axis_of(CYLINDER, 2, S)
    if abs(v[2]) < SPLIT:  # crossed
        return 1
    low, high = (-0.5 * A[1] - d[2]) / v[2], (0.5 * A[1] - d[2]) / v[2]
    low, high = max(min(low, high), -0.5 * B[1]), min(max(low, high), 0.5 * B[1])
    if low >= high:
        return 1
    one = _axis_end(low, B, d, v, radius_a, radius_b, points, 1)
    other = _axis_end(high, B, d, v, radius_a, radius_b, points, 2)
    deeper = 1 if one >= other else 2
    if 1.0 - v[2] * v[2] < PARALLEL:
        for i in range(3):
            points[0, i] = points[deeper, i]
    if deeper == 1:
        for i in range(8):
            points[1, i] = points[2, i]
    return 2


@njit(cache=True)
def _least(kind, size):
    if kind == MESH:
        return size[1]
    return min(size[0], size[1], size[2]) if kind == BOX else min(size[0], size[1])


@njit(cache=True)
def _outwards(kind, size, S, i, cosine):
    """The outer normal of the face along axis `i` of a shape, on the side of `cosine`, or of face `i` of a mesh."""
    if kind == MESH:
        return rotate(S, face_of(size[0], i)[0])
    return scale(math.copysign(1.0, cosine), axis_of(kind, i, S))


@njit(cache=True)
def _is_first(a, A, own, b, B, other):
    """Whether the face of `a`, and not that of `b`, is the one on which the contact is: the flatter one of boxes and
    meshes, which are before cylinders; the larger one of two cylinders."""
    if a == CYLINDER and b == CYLINDER:
        return A[0] >= B[0]
    if a == CYLINDER or b == CYLINDER:
        return b == CYLINDER
    return abs(own) >= abs(other)


@njit(cache=True, forceinline=True)
def convex_points(a, A, b, B, d, S, points):
    """Write the contact points of two convex shapes to `points` (`MOST`, 8); returns their number. Arguments are those
    of `least_overlap`, columns as in flexmb/kernels/contact/shapes.py. Shapes that are farther apart than `CLOSE` have
    one point."""
    radius_a, radius_b = (A[0] if a == CAPSULE else 0.0), (B[0] if b == CAPSULE else 0.0)
    if a == MESH or b == MESH:
        n, overlap = polytope_overlap(a, A, b, B, d, S)
    else:
        n, overlap = least_overlap(a, A, b, B, d, S)
    depth = overlap + radius_a + radius_b
    if depth > -CLOSE * min(_least(a, A), _least(b, B)):
        i, own = _flattest(a, A, ONE, n)
        j, other = _flattest(b, B, S, n if b != MESH else scale(-1.0, n))
        if b == MESH:
            other = -other
        first, second = abs(own) > FLAT, abs(other) > FLAT
        if first and second:
            first = _is_first(a, A, own, b, B, other)
        count = 0
        if first:
            f = _outwards(a, A, ONE, i, own)
            count = _on_face(a, A, NOTHING, ONE, i, f, b, B, d, S, radius_b, 1.0, points)
        elif second:
            f = _outwards(b, B, S, j, -other)
            count = _on_face(b, B, d, S, j, f, a, A, NOTHING, ONE, radius_a, -1.0, points)
        if count > 0:
            return count
    count = _single(a, A, b, B, d, S, n, depth, radius_a, radius_b, points)
    if (
        depth > -CLOSE * min(A[0], B[0])
        and a in (CAPSULE, CYLINDER)
        and b in (CAPSULE, CYLINDER)
        and abs(n[2]) < ACROSS
        and abs(dot(n, axis_of(b, 2, S))) < ACROSS
    ):
        return _second_end(A, B, d, S, A[0], B[0], points)
    return count

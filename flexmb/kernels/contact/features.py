"""Points of an exact contact of two polyhedra or capsules: pairs of features that keep their identity as bodies move.

A corner, edge or face of one shape and one of the other have a gap that is a smooth function of the motion, whose
rate is that of the relative velocity along the normal. A pair of features is a number (`_pack`), its point a row as in
flexmb/kernels/contact/shapes.py. The pairs, with the sum `r` of the radii of rounding:

- a corner and a face: the distance of the corner from the plane of the face, less `r`;
- two edges: the distance of their lines along the normal of both, less `r`;
- a corner and an edge, and two corners: their distance less `r`. These touch only if a shape is a capsule.

A pair is valid while the closest points of both features are within their borders; how far they are outside is the
margin. Two polyhedra that a plane separates do not overlap at any valid pair, so that the bodies are free where all
valid pairs near the direction of least overlap have positive gaps. On a face, within 6 degrees, these are all pairs of
features of the two faces that look at each other; elsewhere those of the corners or edges that are furthest.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import add, cross, dot, rotate, rotate_inv, scale, sub
from flexmb.kernels.contact.convex import BOX, CAPSULE, MESH, least_overlap
from flexmb.kernels.contact.manifold import FLAT
from flexmb.kernels.contact.mesh import CORNERS, corner_of, count_of, cut_by_face, face_number, face_of, flattest_face
from flexmb.kernels.contact.polytope import extent, polytope_overlap
from flexmb.kernels.contact.rims import PLANE, rim_point

CORNER, EDGE, FACE = 1, 2, 3
"""Kinds of features, by the dimension of the points that they hold, plus one."""
BORDER = 1e-9
"""Margin of a valid pair, relative to the extents of the shapes."""
CROSSED = 1e-4
"""Sine of the angle of two edges below which they do not cross."""
UPRIGHT = 0.1
"""Cosine of the angle between the normal of two edges and that of a face beyond which they do not touch there."""
ONE_EDGE = 0.02
"""Distance of a second corner behind the furthest one, relative to the extents, up to which both are an edge."""
MOST_PAIRS = 64
"""Room for the pairs of two shapes that are listed."""


@njit(cache=True)
def _pack(kind, i, j, other_kind, k, m, turned):
    """The number of a pair: kind and numbers of the feature of `a` (a corner `i`, an edge between the corners `i` and
    `j`, or a face `i`), of that of `b`, and 1 if the product of two edges is the opposite of the normal."""
    return ((((((kind << 8 | i) << 8 | j) << 2 | other_kind) << 8 | k) << 8 | m) << 1) | turned


@njit(cache=True)
def _corner(kind, size, i):
    """Corner `i` of the core of a shape, in its axes; bits of `i` are the signs of the coordinates of simple ones."""
    if kind == MESH:
        return corner_of(size[0], i)
    if kind == CAPSULE:
        return (0.0, 0.0, 0.5 * size[1] if i == 1 else -0.5 * size[1])
    return (
        0.5 * size[0] if i & 1 else -0.5 * size[0],
        0.5 * size[1] if i & 2 else -0.5 * size[1],
        0.5 * size[2] if i & 4 else -0.5 * size[2],
    )


@njit(cache=True)
def _corners(kind, size):
    if kind == MESH:
        return count_of(size[0], CORNERS)
    return 8 if kind == BOX else 2


@njit(cache=True)
def _face(kind, size, i):
    """The outer normal of face `i` and its distance from the origin; those of a box are `2 axis + (1 if positive)`."""
    if kind == MESH:
        n, top, _, _ = face_of(size[0], i)
        return n, top
    axis, sign = i >> 1, (1.0 if i & 1 else -1.0)
    return (sign if axis == 0 else 0.0, sign if axis == 1 else 0.0, sign if axis == 2 else 0.0), 0.5 * size[axis]


@njit(cache=True)
def _outside(kind, size, i, x):
    """How far the foot of a point on face `i` is outside of its borders; negative inside."""
    most = -math.inf
    if kind == MESH:
        _, _, first, end = face_of(size[0], i)
        for k in range(end - first):
            p, e = cut_by_face(size[0], i, k)
            most = max(most, dot(e, sub(x, p)))
        return most
    for k in range(3):
        if k != i >> 1:
            most = max(most, abs(x[k]) - 0.5 * size[k])
    return most


@njit(cache=True)
def _outline(kind, size, n, corners):
    """Write the numbers of the corners of the face that is flattest across `n`, in axes of the shape, in order; returns
    their number, the number of the face (-1 for the axis of a capsule), and the cosine of its normal with `n`."""
    if kind == CAPSULE:
        corners[0], corners[1] = 0, 1
        return 2, -1, 0.0
    if kind == MESH:
        i, cosine = flattest_face(size[0], n)
        _, _, first, end = face_of(size[0], i)
        for k in range(end - first):
            corners[k] = face_number(size[0], first + k)
        return end - first, i, cosine
    axis = 0
    for k in range(1, 3):
        if abs(n[k]) > abs(n[axis]):
            axis = k
    side = 1 if n[axis] > 0.0 else 0
    j, k = (axis + 1) % 3, (axis + 2) % 3
    for c in range(4):
        corners[c] = (side << axis) | ((1 if c == 1 or c == 2 else 0) << j) | ((1 if c >= 2 else 0) << k)
    return 4, 2 * axis + side, abs(n[axis])


@njit(cache=True)
def _write(row, x, n, gap):
    row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7] = x[0], x[1], x[2], n[0], n[1], n[2], -gap, 1.0


@njit(cache=True)
def _between(row, x, y, radius_a, radius_b, n, gap):
    """Write the point midway between the surfaces about `x` of `a` and `y` of `b`."""
    _write(row, scale(0.5, add(add(x, scale(radius_a, n)), sub(y, scale(radius_b, n)))), n, gap)


@njit(cache=True)
def _foot(x, p, q):
    """The foot of a point on the line from `p` to `q`, and how far it is beyond the ends."""
    e = sub(q, p)
    length = math.sqrt(dot(e, e))
    along = dot(sub(x, p), e) / length
    return add(p, scale(along / length, e)), max(-along, along - length)


@njit(cache=True)
def _lines(p, q, x, y):
    """The closest points of the lines from `p` to `q` and from `x` to `y`, the unit product of their directions, the
    sine of their angle, and how far the points are beyond the ends."""
    u, v, r = sub(q, p), sub(y, x), sub(x, p)
    one, other = math.sqrt(dot(u, u)), math.sqrt(dot(v, v))
    u, v = scale(1.0 / one, u), scale(1.0 / other, v)
    n, k = cross(u, v), dot(u, v)
    sine = math.sqrt(dot(n, n))
    if sine < CROSSED:
        return p, x, n, sine, math.inf
    s = (dot(u, r) - k * dot(v, r)) / (sine * sine)
    t = k * s - dot(v, r)
    beyond = max(max(-s, s - one), max(-t, t - other))
    return add(p, scale(s, u)), add(x, scale(t, v)), scale(1.0 / sine, n), sine, beyond


@njit(cache=True)
def _at(S, d, x):
    return add(d, rotate(S, x))


@njit(cache=True)
def feature_point(a, A, b, B, d, S, pair, row):
    """Write the point of a pair of features to `row` (8,); returns its margin. Shapes as in `least_overlap`, or a
    cylinder and a plane, whose points (flexmb/kernels/contact/rims.py) have no borders on the shapes."""
    if a == PLANE or b == PLANE:
        rim_point(a, A, B, d, S, pair, row)
        return -math.inf
    radius_a, radius_b = (A[0] if a == CAPSULE else 0.0), (B[0] if b == CAPSULE else 0.0)
    turned, m, k = pair & 1, pair >> 1 & 255, pair >> 9 & 255
    other, j, i, kind = pair >> 17 & 3, pair >> 19 & 255, pair >> 27 & 255, pair >> 35
    both = radius_a + radius_b
    if kind == FACE:
        n, top = _face(a, A, i)
        y = _at(S, d, _corner(b, B, k))
        gap = dot(n, y) - top - both
        _write(row, sub(y, scale(radius_b + 0.5 * gap, n)), n, gap)
        return _outside(a, A, i, y)
    x = _corner(a, A, i)
    if other == FACE:
        n, top = _face(b, B, k)
        seen = rotate_inv(S, sub(x, d))
        gap = dot(n, seen) - top - both
        n = scale(-1.0, rotate(S, n))
        _write(row, add(x, scale(radius_a + 0.5 * gap, n)), n, gap)
        return _outside(b, B, k, seen)
    y = _at(S, d, _corner(b, B, k))
    beyond = -math.inf
    if kind == EDGE and other == EDGE:
        x, y, n, _, beyond = _lines(x, _corner(a, A, j), y, _at(S, d, _corner(b, B, m)))
        if turned:
            n = scale(-1.0, n)
        gap = dot(n, sub(y, x)) - both
        _between(row, x, y, radius_a, radius_b, n, gap)
        return beyond
    if kind == EDGE:
        x, beyond = _foot(y, x, _corner(a, A, j))
    elif other == EDGE:
        y, beyond = _foot(x, y, _at(S, d, _corner(b, B, m)))
    n = sub(y, x)
    length = math.sqrt(dot(n, n))
    n = scale(1.0 / length, n) if length > 0.0 else (0.0, 0.0, 1.0)
    _between(row, x, y, radius_a, radius_b, n, length - both)
    return beyond


@njit(cache=True)
def _keep(a, A, b, B, d, S, pair, least, limit, n, pairs, rows, count):
    """Add a pair to the list if it is new and valid, and its normal is within the cosine `least` of `n`."""
    for k in range(count):
        if pairs[k] == pair:
            return count
    if count < len(rows) and feature_point(a, A, b, B, d, S, pair, rows[count]) <= limit:
        row = rows[count]
        if row[3] * n[0] + row[4] * n[1] + row[5] * n[2] > least:
            pairs[count] = pair
            return count + 1
    return count


@njit(cache=True)
def _crossing(a, A, b, B, d, S, i, j, k, m, limit, n, pairs, rows, count):
    """Add the pair of two edges to the list, with the normal on the side of `n`."""
    u, v = sub(_corner(a, A, j), _corner(a, A, i)), rotate(S, sub(_corner(b, B, m), _corner(b, B, k)))
    turned = 1 if dot(cross(u, v), n) < 0.0 else 0
    return _keep(a, A, b, B, d, S, _pack(EDGE, i, j, EDGE, k, m, turned), UPRIGHT, limit, n, pairs, rows, count)


@njit(cache=True)
def _furthest(kind, size, n):
    """The corner of a shape that is furthest along `n`, in its axes, and the second one, or -1 if it is far behind."""
    first, second, most, next_most = 0, -1, -math.inf, -math.inf
    for k in range(_corners(kind, size)):
        along = dot(n, _corner(kind, size, k))
        if along > most:
            first, second, most, next_most = k, first, along, most
        elif along > next_most:
            second, next_most = k, along
    return first, (second if most - next_most < ONE_EDGE * extent(kind, size) else -1)


@njit(cache=True)
def _list_single(a, A, b, B, d, S, n, limit, pairs, rows, count):
    """Add the pairs of the corners or edges of two shapes that are furthest along `n` and its opposite."""
    i, j = _furthest(a, A, n)
    k, m = _furthest(b, B, rotate_inv(S, scale(-1.0, n)))
    if j >= 0 and m >= 0:
        count = _crossing(a, A, b, B, d, S, i, j, k, m, limit, n, pairs, rows, count)
    if a == CAPSULE or b == CAPSULE:
        for c in range(2):
            p, q = (i if c == 0 else j), (k if c == 0 else m)
            if m >= 0 and p >= 0:
                pair = _pack(CORNER, p, 0, EDGE, k, m, 0)
                count = _keep(a, A, b, B, d, S, pair, UPRIGHT, limit, n, pairs, rows, count)
            if j >= 0 and q >= 0:
                pair = _pack(EDGE, i, j, CORNER, q, 0, 0)
                count = _keep(a, A, b, B, d, S, pair, UPRIGHT, limit, n, pairs, rows, count)
    if count == 0:
        count = _keep(a, A, b, B, d, S, _pack(CORNER, i, 0, CORNER, k, 0, 0), -1.0, limit, n, pairs, rows, count)
    return count


@njit(cache=True)
def list_features(a, A, b, B, d, S, n, pairs, rows):
    """Write the valid pairs of features near the direction `n` of least overlap to `pairs` (`MOST_PAIRS`,) and their
    points to `rows` (`MOST_PAIRS`, 8); returns their number."""
    limit = BORDER * (extent(a, A) + extent(b, B))
    P, Q = np.empty(256, np.int64), np.empty(256, np.int64)
    np_, i, own = _outline(a, A, n, P)
    nq, k, other = _outline(b, B, rotate_inv(S, scale(-1.0, n)), Q)
    if own <= FLAT and other <= FLAT:
        return _list_single(a, A, b, B, d, S, n, limit, pairs, rows, 0)
    if own >= other:  # the face of the other shape that looks at this one
        f = _face(a, A, i)[0]
        nq, k, _ = _outline(b, B, rotate_inv(S, scale(-1.0, f)), Q)
    else:
        f = scale(-1.0, rotate(S, _face(b, B, k)[0]))
        np_, i, _ = _outline(a, A, f, P)
    count = 0
    if i >= 0:
        for y in range(nq):
            pair = _pack(FACE, i, 0, CORNER, Q[y], 0, 0)
            count = _keep(a, A, b, B, d, S, pair, UPRIGHT, limit, f, pairs, rows, count)
    if k >= 0:
        for x in range(np_):
            pair = _pack(CORNER, P[x], 0, FACE, k, 0, 0)
            count = _keep(a, A, b, B, d, S, pair, UPRIGHT, limit, f, pairs, rows, count)
    for x in range(np_ if np_ > 2 else 1):
        for y in range(nq if nq > 2 else 1):
            p, q, r, s = P[x], P[(x + 1) % np_], Q[y], Q[(y + 1) % nq]
            count = _crossing(a, A, b, B, d, S, p, q, r, s, limit, f, pairs, rows, count)
    if i >= 0 and own >= other:  # corners and edges that are furthest need not belong to the flattest faces
        k, _ = _furthest(b, B, rotate_inv(S, scale(-1.0, f)))
        count = _keep(a, A, b, B, d, S, _pack(FACE, i, 0, CORNER, k, 0, 0), UPRIGHT, limit, f, pairs, rows, count)
    elif k >= 0:
        i, _ = _furthest(a, A, f)
        count = _keep(a, A, b, B, d, S, _pack(CORNER, i, 0, FACE, k, 0, 0), UPRIGHT, limit, f, pairs, rows, count)
    return _list_single(a, A, b, B, d, S, n, limit, pairs, rows, count)


@njit(cache=True)
def features_apart(a, A, b, B, d, S):
    """The direction of least overlap of two shapes, their cores without the radii of rounding, and the overlap."""
    if a == MESH or b == MESH:
        return polytope_overlap(a, A, b, B, d, S)
    return least_overlap(a, A, b, B, d, S)

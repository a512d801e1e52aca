"""Overlap of two convex shapes: capsules, cylinders and boxes. Those of meshes are in
flexmb/kernels/contact/polytope.py.

With the furthest point `s(n)` of a shape along a direction `n`, its core included and its radius of rounding `r` left
out, `w(n) = s_a(n) - s_b(-n)` and `g(n) = n . w(n)`, the shapes overlap by `g(n) + r_a + r_b` along the unit vector
`n`, which points from `a` to `b`. The depth of the overlap is the least over all `n`; where it is negative, it is minus
the distance of the shapes. Both are exact. The gradient of `g` is `w`, which jumps where the furthest points of a shape
are a face or an edge. The least is therefore

- at the normal of a face, or at the product of two edges (or axes), where both jump;
- on the circle across an edge or axis, where one jumps: the other has a vertex or a rim there;
- or inside, where `w` is parallel to `n`: between vertices and rims.

The candidates are tried in this order; a circle is searched by bisection of the slope, the inside by Newton's method
from the best candidate. All vectors are tuples in axes of `a`.
"""

import math

from numba import njit

from flexmb.kernels.base.algebra import add, cross, dot, rotate, rotate_inv, scale, sub
from flexmb.kernels.contact.mesh import corner_of, furthest_corner

CAPSULE, CYLINDER, BOX, MESH = 3, 4, 6, 7
"""The codes of flexmb/kernels/contact/shapes.py."""
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
PARALLEL = 1e-9
"""Sine of the angle below which two directions are parallel."""
ROUND = 1e-12
"""Sine of the angle below which a direction is the axis of a cylinder."""
NUDGE = 1e-2
"""Step (rad) away from the axis of a cylinder."""
BETTER = 1e-12
"""Decrease of the overlap, relative to the sizes, that counts."""
HALVINGS, TURN, TURNS = 55, 0.35, 9
"""Bisections of a circle, and the steps (rad) by which it is bracketed."""
NEWTONS, SHORTENED = 30, 12
ROUNDS = 4
"""Searches of all circles and the inside, of which the last finds nothing better."""


@njit(cache=True)
def furthest(kind, size, n):
    """The furthest point along `n` of the core of a shape: the axis of a capsule, the hull of a mesh, or the whole
    shape."""
    if kind == MESH:
        return corner_of(size[0], furthest_corner(size[0], n))
    h = math.copysign(0.5 * size[1], n[2])
    if kind == CAPSULE:
        return (0.0, 0.0, h)
    if kind == CYLINDER:
        rho = math.sqrt(n[0] * n[0] + n[1] * n[1])
        if rho < ROUND:  # the middle of the end, from which the slope in any direction follows
            return (0.0, 0.0, h)
        return (size[0] * n[0] / rho, size[0] * n[1] / rho, h)
    return (
        math.copysign(0.5 * size[0], n[0]),
        math.copysign(0.5 * size[1], n[1]),
        math.copysign(0.5 * size[2], n[2]),
    )


@njit(cache=True)
def span(a, A, b, B, d, S, n):
    """`w(n)` for the shapes with codes `a`, `b` and sizes `A`, `B`, the second at `d` with the axes `S`."""
    s = furthest(a, A, n)
    t = rotate(S, furthest(b, B, rotate_inv(S, scale(-1.0, n))))
    return sub(sub(s, t), d)


@njit(cache=True)
def axis_of(kind, i, S):
    """Axis `i` of a box, or the only axis of another shape."""
    k = i if kind == BOX else 2
    return (S[k], S[3 + k], S[6 + k])


@njit(cache=True)
def _towards(n, d):
    """`n` or its opposite, on the side of `d`."""
    return n if dot(n, d) >= 0.0 else scale(-1.0, n)


@njit(cache=True)
def _unit(x):
    return scale(1.0 / math.sqrt(dot(x, x)), x)


@njit(cache=True)
def _across(n, e):
    """The unit vector closest to `n` across the unit vector `e`."""
    x = sub(n, scale(dot(n, e), e))
    if dot(x, x) < PARALLEL * PARALLEL:
        x = cross(e, AXES[0] if abs(e[0]) < 0.6 else AXES[1])
    return _unit(x)


@njit(cache=True)
def _on_circle(a, A, b, B, d, S, e, n):
    """The direction across `e` of least overlap, near `n`."""
    x = _across(n, e)
    y = cross(e, x)
    slope = dot(span(a, A, b, B, d, S, x), y)
    if slope == 0.0:
        return x
    step, low, high = (-TURN if slope > 0.0 else TURN), 0.0, 0.0
    for _ in range(TURNS):
        high = low + step
        u, v = math.cos(high), math.sin(high)
        along = add(scale(-v, x), scale(u, y))
        if dot(span(a, A, b, B, d, S, add(scale(u, x), scale(v, y))), along) * step >= 0.0:
            break
        low = high
    for _ in range(HALVINGS):
        angle = 0.5 * (low + high)
        u, v = math.cos(angle), math.sin(angle)
        along = add(scale(-v, x), scale(u, y))
        if dot(span(a, A, b, B, d, S, add(scale(u, x), scale(v, y))), along) * step >= 0.0:
            high = angle
        else:
            low = angle
    u, v = math.cos(low), math.sin(low)
    return add(scale(u, x), scale(v, y))


@njit(cache=True)
def _curvature(kind, size, n, x, y):
    """Second derivatives of `n . s(n)` along `x x`, `x y`, `y y`: those of the rim of a cylinder."""
    rho = math.sqrt(n[0] * n[0] + n[1] * n[1])
    if kind != CYLINDER:
        return 0.0, 0.0, 0.0
    if rho < ROUND:  # a kink: a short step down the slope
        return size[0] / NUDGE, 0.0, size[0] / NUDGE
    p = (-n[1] * x[0] + n[0] * x[1]) / rho
    q = (-n[1] * y[0] + n[0] * y[1]) / rho
    k = size[0] / rho
    return k * p * p, k * p * q, k * q * q


@njit(cache=True)
def _inside(a, A, b, B, d, S, n, least):
    """Newton's method from the direction `n` for a smooth minimum: the direction and its overlap."""
    w = span(a, A, b, B, d, S, n)
    g = dot(n, w)
    for _ in range(NEWTONS):
        x = _across(AXES[0] if abs(n[0]) < 0.6 else AXES[1], n)
        y = cross(n, x)
        p, q = dot(w, x), dot(w, y)
        xx, xy, yy = _curvature(a, A, n, x, y)
        other = _curvature(b, B, rotate_inv(S, n), rotate_inv(S, x), rotate_inv(S, y))
        xx, xy, yy = xx + other[0] - g, xy + other[1], yy + other[2] - g
        det = xx * yy - xy * xy
        if det > 0.0 and xx > 0.0:
            u, v = (xy * q - yy * p) / det, (xy * p - xx * q) / det
        else:
            u, v = -p / (abs(g) + least), -q / (abs(g) + least)
        length = math.sqrt(u * u + v * v)
        part = min(1.0, TURN / length) if length > 0.0 else 0.0
        found = False
        for _ in range(SHORTENED):
            m = _unit(add(n, add(scale(part * u, x), scale(part * v, y))))
            ahead = span(a, A, b, B, d, S, m)
            if dot(m, ahead) < g - BETTER * least:
                found = True
                break
            part *= 0.5
        if not found:
            if det > 0.0 and xx > 0.0 and length < 1e-3:  # the last, quadratic step, if `w` comes closer to `n`
                m = _unit(add(n, add(scale(u, x), scale(v, y))))
                ahead = span(a, A, b, B, d, S, m)
                off = cross(m, ahead)
                if dot(off, off) < p * p + q * q:
                    return m, dot(m, ahead)
            return n, g
        n, w, g = m, ahead, dot(m, ahead)
    return n, g


@njit(cache=True)
def least_overlap(a, A, b, B, d, S):
    """The unit vector `n` from `a` to `b` along which the cores of two shapes overlap least, and the overlap."""
    unit = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    many_a, many_b = 3 if a == BOX else 1, 3 if b == BOX else 1
    size = BETTER * (max(A[0], A[1], A[2]) + max(B[0], B[1], B[2]))
    best, n = math.inf, (0.0, 0.0, 1.0)
    for side in range(2):
        kind, axes, many = (a, unit, many_a) if side == 0 else (b, S, many_b)
        for i in range(many):
            if kind != CAPSULE:
                e = _towards(axis_of(kind, i, axes), d)
                g = dot(e, span(a, A, b, B, d, S, e))
                if g < best - size:
                    best, n = g, e
    for i in range(many_a):
        for j in range(many_b):
            e = cross(axis_of(a, i, unit), axis_of(b, j, S))
            if dot(e, e) > PARALLEL * PARALLEL:
                e = _towards(_unit(e), d)
                g = dot(e, span(a, A, b, B, d, S, e))
                if g < best - size:
                    best, n = g, e
    if a == BOX and b == BOX and best > 0.0:
        return n, best
    if best == math.inf:  # parallel capsules
        n = _across(d, axis_of(a, 0, unit))
    for _ in range(ROUNDS):
        before = best
        for side in range(2):
            kind, axes, many = (a, unit, many_a) if side == 0 else (b, S, many_b)
            for i in range(many):
                e = _on_circle(a, A, b, B, d, S, axis_of(kind, i, axes), n)
                g = dot(e, span(a, A, b, B, d, S, e))
                if g < best - size:
                    best, n = g, e
        m, g = _inside(a, A, b, B, d, S, n, size / BETTER)
        if g < best - size:
            best, n = g, m
        if not best < before:
            break
    return n, best

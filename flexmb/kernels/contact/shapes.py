"""Points at which two simple shapes touch, in closed form.

Shape `a` is in its own frame; shape `b` has its centre at `d` and its axes in the columns of `S`. Each row of `points`
is a point: its position (3), midway through the overlap; the unit normal (3) along which `a` pushes `b`; the depth of
the overlap, negative for a gap; and its share of the load of a line contact. All in axes of `a`.

A plane is z = 0, with the other shape above; a cylinder, a bore and a capsule have z as their axis; all others are
centred at the origin. The point of a smooth pair always exists, with a gap if the shapes are apart. Edges that touch a
plane are represented by points: the corners of a box, and four of each rim of a cylinder, the lowest one among them, or
those along the axes of the plane while the cylinder stands upright.
Other pairs of capsules, cylinders, boxes and convex meshes are those of flexmb/kernels/contact/manifold.py. A mesh
touches a plane with the corners of its hull; spheres at meshes are in flexmb/kernels/contact/mesh.py.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.frame_call import read_only
from flexmb.kernels.contact.manifold import convex_points
from flexmb.kernels.contact.mesh import CORNERS, ball_at_mesh, corner_of, count_of, share_of

PLANE, SPHERE, SOCKET, CAPSULE, CYLINDER, BORE, BOX, MESH = range(8)
PAIRS = (
    (PLANE, SPHERE),
    (PLANE, CAPSULE),
    (PLANE, CYLINDER),
    (PLANE, BOX),
    (SPHERE, SPHERE),
    (SOCKET, SPHERE),
    (CAPSULE, SPHERE),
    (CYLINDER, SPHERE),
    (BOX, SPHERE),
    (BORE, CYLINDER),
    (BORE, CAPSULE),
    (BORE, SPHERE),
    (CAPSULE, CAPSULE),
    (CAPSULE, CYLINDER),
    (CAPSULE, BOX),
    (CYLINDER, CYLINDER),
    (CYLINDER, BOX),
    (BOX, BOX),
    (PLANE, MESH),
    (MESH, SPHERE),
    (CAPSULE, MESH),
    (CYLINDER, MESH),
    (BOX, MESH),
    (MESH, MESH),
)
"""The pairs of shapes in the order of `_points`; the other order is the same contact."""
MOST_CORNERS = 128
"""Most corners of the hull of a mesh."""
MOST = 2 * MOST_CORNERS
"""Most points of a pair."""
UPRIGHT = 1e-9
"""Sine of the tilt of a cylinder on a plane up to which it stands upright: the direction of its tilt is rounding."""
GAUSS = 0.5 / math.sqrt(3.0)
"""Distance of the two points of a line contact from its middle, relative to its length."""


@njit(cache=True, inline="always")
def _put(points, k, x, y, z, nx, ny, nz, depth, share):
    row = points[k]
    row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7] = x, y, z, nx, ny, nz, depth, share


@njit(cache=True)
def _above(points, k, x, y, z):
    """A point of `b` above (or below) the plane."""
    _put(points, k, x, y, 0.5 * z, 0.0, 0.0, 1.0, -z, 1.0)


@njit(cache=True, forceinline=True)
def _apart(points, x, y, z, from_z, radius_a, radius_b):
    """Spheres of two radii about (0, 0, from_z) and (x, y, z)."""
    z -= from_z
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        raise ValueError("the centres of two round shapes coincide, so that the direction of contact is undefined")
    nx, ny, nz = x / length, y / length, z / length
    depth = radius_a + radius_b - length
    reach = radius_a - 0.5 * depth
    _put(points, 0, reach * nx, reach * ny, from_z + reach * nz, nx, ny, nz, depth, 1.0)


@njit(cache=True, forceinline=True)
def _plane(b, b0, b1, b2, d, S, points):
    """The points of shape `b` that may touch the plane z = 0."""
    if b == SPHERE:
        _above(points, 0, d[0], d[1], d[2] - b0)
        return 1
    if b == CAPSULE:
        for k in range(2):
            h = 0.5 * b1 if k == 0 else -0.5 * b1
            _above(points, k, d[0] + h * S[0, 2], d[1] + h * S[1, 2], d[2] + h * S[2, 2] - b0)
        return 2
    if b == BOX:
        for k in range(8):
            x = 0.5 * b0 if k & 1 else -0.5 * b0
            y = 0.5 * b1 if k & 2 else -0.5 * b1
            z = 0.5 * b2 if k & 4 else -0.5 * b2
            _above(
                points,
                k,
                d[0] + x * S[0, 0] + y * S[0, 1] + z * S[0, 2],
                d[1] + x * S[1, 0] + y * S[1, 1] + z * S[1, 2],
                d[2] + x * S[2, 0] + y * S[2, 1] + z * S[2, 2],
            )
        return 8
    if b == MESH:
        for k in range(count_of(b0, CORNERS)):
            x, y, z = corner_of(b0, k)
            _above(
                points,
                k,
                d[0] + x * S[0, 0] + y * S[0, 1] + z * S[0, 2],
                d[1] + x * S[1, 0] + y * S[1, 1] + z * S[1, 2],
                d[2] + x * S[2, 0] + y * S[2, 1] + z * S[2, 2],
            )
            points[k, 7] = share_of(b0, k)
        return count_of(b0, CORNERS)
    # the lowest point of each rim, and the points at quarter turns from it
    ux, uy, uz = S[0, 2], S[1, 2], S[2, 2]
    level = math.sqrt(ux * ux + uy * uy)
    if level > UPRIGHT:
        ex, ey, ez = uz * ux / level, uz * uy / level, -level
    else:
        ex, ey, ez = 1.0, 0.0, 0.0
    px, py, pz = uy * ez - uz * ey, uz * ex - ux * ez, ux * ey - uy * ex
    for k in range(8):
        h = 0.5 * b1 if k < 4 else -0.5 * b1
        along = (b0, 0.0, -b0, 0.0)[k % 4]
        across = (0.0, b0, 0.0, -b0)[k % 4]
        _above(
            points,
            k,
            d[0] + h * ux + along * ex + across * px,
            d[1] + h * uy + along * ey + across * py,
            d[2] + h * uz + along * ez + across * pz,
        )
    return 8


@njit(cache=True, forceinline=True)
def _round(radius, half, r, d, points):
    """A sphere of radius `r` at a solid cylinder."""
    rho = math.hypot(d[0], d[1])
    cx, cy = (d[0] / rho, d[1] / rho) if rho > 0.0 else (1.0, 0.0)
    out, up = rho - radius, abs(d[2]) - half
    top = 1.0 if d[2] >= 0.0 else -1.0
    if max(out, up) <= 0.0:  # the centre is inside: the nearest of side and ends
        n, t = (1.0, 0.0) if out >= up else (0.0, top)
        depth = r - max(out, up)
        reach = 0.5 * (r + max(out, up))
        x, z = rho - n * reach, d[2] - t * reach
    else:
        n, t = max(out, 0.0), top * max(up, 0.0)
        length = math.hypot(n, t)
        depth = r - length
        n, t = n / length, t / length
        reach = r - 0.5 * depth
        x, z = rho - n * reach, d[2] - t * reach
    _put(points, 0, x * cx, x * cy, z, n * cx, n * cy, t, depth, 1.0)


@njit(cache=True, forceinline=True)
def _edged(a0, a1, a2, r, d, points):
    """A sphere of radius `r` at a box."""
    out = (abs(d[0]) - 0.5 * a0, abs(d[1]) - 0.5 * a1, abs(d[2]) - 0.5 * a2)
    sx, sy, sz = math.copysign(1.0, d[0]), math.copysign(1.0, d[1]), math.copysign(1.0, d[2])
    most = max(out[0], out[1], out[2])
    if most <= 0.0:  # the centre is inside: the nearest face
        n = (1.0, 0.0, 0.0) if most == out[0] else ((0.0, 1.0, 0.0) if most == out[1] else (0.0, 0.0, 1.0))
        length = most
    else:
        w = (max(out[0], 0.0), max(out[1], 0.0), max(out[2], 0.0))
        length = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
        n = (w[0] / length, w[1] / length, w[2] / length)
    nx, ny, nz = sx * n[0], sy * n[1], sz * n[2]
    reach = 0.5 * (r + length)
    _put(points, 0, d[0] - reach * nx, d[1] - reach * ny, d[2] - reach * nz, nx, ny, nz, r - length, 1.0)


@njit(cache=True, forceinline=True)
def _line(radius, length, r, size, d, S, points):
    """A cylinder in a bore: two points of the line along which they touch."""
    count = 0
    for side in (1.0, -1.0):
        h = side * GAUSS * min(size, length)
        x, y, z = d[0] + h * S[0, 2], d[1] + h * S[1, 2], d[2] + h * S[2, 2]
        rho = math.hypot(x, y)
        if rho == 0.0 or abs(z) > 0.5 * length:
            continue
        nx, ny, depth = -x / rho, -y / rho, rho + r - radius
        reach = radius + 0.5 * depth
        _put(points, count, -reach * nx, -reach * ny, z, nx, ny, 0.0, depth, 0.5)
        count += 1
    return count


@njit(cache=True)
def _mouth(points, k, x, y, z, u, radius, r, half):
    """A ball of radius `r`, or a shaft with the direction `u` of its axis, at (x, y, z) in a bore: on the wall, or on
    the rim of the mouth of the bore, where the normal is across the axis of a shaft."""
    rho = math.hypot(x, y)
    if rho == 0.0:
        return 0
    mx, my, beyond = x / rho, y / rho, abs(z) - half
    nx, ny, nz = -mx, -my, 0.0
    depth = rho + r - radius
    if beyond > 0.0:  # a ball outside: the nearest point of the rim
        gap = radius - rho
        length = math.hypot(gap, beyond)
        depth = r - length
        nx, ny, nz = -mx * gap / length, -my * gap / length, math.copysign(beyond / length, z)
    elif beyond == 0.0:  # a shaft that passes through the mouth
        lean = mx * u[0] + my * u[1]
        nx, ny, nz = -(mx - lean * u[0]), -(my - lean * u[1]), lean * u[2]
        length = math.sqrt(nx * nx + ny * ny + nz * nz)
        nx, ny, nz = nx / length, ny / length, nz / length
        depth = r - (radius - rho) * length
    reach = r - 0.5 * depth
    _put(points, k, x - reach * nx, y - reach * ny, z - reach * nz, nx, ny, nz, depth, 1.0)
    return 1


@njit(cache=True, forceinline=True)
def _tube(radius, length, b, r, size, d, S, points):
    """A sphere or a capsule in a bore: a capsule at both ends of the length that is inside."""
    half = 0.5 * length
    if b == SPHERE:
        return _mouth(points, 0, d[0], d[1], d[2], (0.0, 0.0, 1.0), radius, r, half)
    ux, uy, uz = S[0, 2], S[1, 2], S[2, 2]
    low, high = -0.5 * size, 0.5 * size
    if uz != 0.0:
        one, other = (-half - d[2]) / uz, (half - d[2]) / uz
        low, high = max(low, min(one, other)), min(high, max(one, other))
    elif abs(d[2]) > half:
        return 0
    if low > high:  # outside: the end that is nearest to the mouth
        low = high = -0.5 * size if (d[2] > 0.0) == (uz > 0.0) else 0.5 * size
    count = 0
    for k in range(2):
        h = low if k == 0 else high
        z = d[2] + h * uz
        if abs(h) < 0.5 * size:
            z = math.copysign(half, z)
        if k == 0 or high > low:
            count += _mouth(points, count, d[0] + h * ux, d[1] + h * uy, z, (ux, uy, uz), radius, r, half)
    return count


@njit(cache=True, forceinline=False)
def _points(a, a0, a1, a2, b, b0, b1, b2, d, S, points):
    """The points of a pair in the order of `PAIRS`; returns their number.

    The geometry is inlined here, and this function nowhere. numba hands `forceinline` down to functions that do not
    state it: laws of contact, which have it, would each contain all geometry twice. Arrays are read-only for all
    callers, because numba compiles functions once for each kind of arrays.
    """
    if a == PLANE:
        return _plane(b, b0, b1, b2, d, S, points)
    if a == BORE:
        return _line(a0, a1, b0, b1, d, S, points) if b == CYLINDER else _tube(a0, a1, b, b0, b1, d, S, points)
    if b != SPHERE:
        axes = (S[0, 0], S[0, 1], S[0, 2], S[1, 0], S[1, 1], S[1, 2], S[2, 0], S[2, 1], S[2, 2])
        return convex_points(a, (a0, a1, a2), b, (b0, b1, b2), (d[0], d[1], d[2]), axes, points)
    if a == MESH:
        return ball_at_mesh(a0, b0, (d[0], d[1], d[2]), points)
    if a == SPHERE:
        _apart(points, d[0], d[1], d[2], 0.0, a0, b0)
    elif a == CAPSULE:
        _apart(points, d[0], d[1], d[2], min(max(d[2], -0.5 * a1), 0.5 * a1), a0, b0)
    elif a == SOCKET:
        length = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        if length == 0.0:
            return 0
        nx, ny, nz, depth = -d[0] / length, -d[1] / length, -d[2] / length, length + b0 - a0
        reach = a0 + 0.5 * depth
        _put(points, 0, -reach * nx, -reach * ny, -reach * nz, nx, ny, nz, depth, 1.0)
    elif a == CYLINDER:
        _round(a0, 0.5 * a1, b0, d, points)
    elif a == BOX:
        _edged(a0, a1, a2, b0, d, points)
    return 1


@njit(cache=True)
def shape_points(a, a0, a1, a2, b, b0, b1, b2, d, S, points):
    """Write the contact points of shape `b` at `d` (3,), `S` (3, 3), with shape `a` to `points` (`MOST`, 8); returns
    their number. The three numbers of each shape are its dimensions (flexmb/contact/shapes.py)."""
    ordered = a == b
    for pair in PAIRS:
        if pair[0] == a and pair[1] == b:
            ordered = True
    if ordered:
        return _points(a, a0, a1, a2, b, b0, b1, b2, read_only(d), read_only(S), points)
    back, turn = np.empty(3), np.empty((3, 3))
    for i in range(3):
        back[i] = -(S[0, i] * d[0] + S[1, i] * d[1] + S[2, i] * d[2])
        for j in range(3):
            turn[i, j] = S[j, i]
    count = _points(b, b0, b1, b2, a, a0, a1, a2, read_only(back), read_only(turn), points)
    for k in range(count):
        x, y, z = points[k, 0], points[k, 1], points[k, 2]
        u, v, w = points[k, 3], points[k, 4], points[k, 5]
        for i in range(3):
            points[k, i] = d[i] + S[i, 0] * x + S[i, 1] * y + S[i, 2] * z
            points[k, 3 + i] = -(S[i, 0] * u + S[i, 1] * v + S[i, 2] * w)
    return count

"""Points at which a cylinder touches a plane in an exact contact, which keep their identity as the cylinder moves.

The lowest point of a rim moves smoothly along it while the cylinder leans. Where it stands, the whole rim touches, and
nearby the lowest point runs around it within a step: there, points that are fixed to the cylinder take its place. As
any point of the rim can become one, the cylinder stands on all of it, and tips over in every direction.

A point is a number: `LOWEST` and the end of the cylinder (0 for -z, 1 for z), or `FIXED`, twice its angle about the
axis in `PARTS` of a turn, and the end.
"""

import math

from numba import njit

from flexmb.kernels.base.algebra import add, rotate, scale, store

PLANE = 0
"""The code of flexmb/kernels/contact/shapes.py."""
LOWEST, FIXED = 2, 4
PARTS = 1 << 40


@njit(cache=True)
def fixed_point(end, angle):
    """The number of the point at an angle (rad) on the rim of an end."""
    part = int(angle / (2.0 * math.pi) * PARTS) % PARTS
    return FIXED + 2 * part + end


@njit(cache=True)
def angle_of(number):
    """The angle (rad) of a fixed point about the axis."""
    return 2.0 * math.pi * ((number - FIXED) >> 1) / PARTS


@njit(cache=True)
def above_plane(a, A, B, d, S):
    """Size, position and rotation of the cylinder in axes of the plane, one of which is `a`; shapes as in
    flexmb/kernels/contact/shapes.py, as tuples."""
    if a == PLANE:
        return B, d, S
    back = (S[0], S[3], S[6], S[1], S[4], S[7], S[2], S[5], S[8])
    return A, scale(-1.0, rotate(back, d)), back


@njit(cache=True)
def lean(R):
    """The sine of the angle between the axis of a cylinder with the rotation `R` and the normal of the plane."""
    return math.hypot(R[6], R[7])


@njit(cache=True)
def lowest_angle(R):
    """The end of a leaning cylinder that is lower, and the angle (rad) of its lowest point about the axis."""
    return 0 if R[8] > 0.0 else 1, math.atan2(-R[7], -R[6])


@njit(cache=True)
def rim_point(a, A, B, d, S, number, row):
    """Write a point to `row` (8,), as in flexmb/kernels/contact/shapes.py."""
    size, centre, R = above_plane(a, A, B, d, S)
    radius, h = size[0], 0.5 * size[1] if number & 1 else -0.5 * size[1]
    if number >= FIXED:
        angle = angle_of(number)
        x, y, z = add(centre, rotate(R, (radius * math.cos(angle), radius * math.sin(angle), h)))
    else:
        level = math.hypot(R[2], R[5])
        e = (R[8] * R[2] / level, R[8] * R[5] / level, -level) if level > 0.0 else (1.0, 0.0, 0.0)
        x, y, z = add(centre, add(scale(h, (R[2], R[5], R[8])), scale(radius, e)))
    if a == PLANE:
        store(row, 0, (x, y, 0.5 * z))
        store(row, 3, (0.0, 0.0, 1.0))
    else:
        store(row, 0, add(d, rotate(S, (x, y, 0.5 * z))))
        store(row, 3, (-S[2], -S[5], -S[8]))
    row[6], row[7] = -z, 1.0

"""The force of a continuous contact in a step of the energy-momentum scheme: a discrete gradient of its energy.

The depth `g` of a point of contact changes from `g0` to `g1` in the step. The elastic force along its normal is the
quotient

    f = (V(g1) - V(g0)) / (g1 - g0),

the mean of the elastic law over the depths of the step, with `V = 0` for gaps. It acts at the point in the middle of
the step. The displacement of the two bodies at this point along the normal differs from `g1 - g0` to third order where
surfaces are curved or normals turn; this difference is added along the relative motion, so that the work of the force
is exactly `V(g0) - V(g1)`. At planes there is no difference, and no force across the normal. Damping takes its rate
from `g1 - g0`, and friction its slip from the displacement in the step, so that both take energy.

The points of a pair need an identity, which corners at planes and the points of spheres and shafts have. Other pairs
(manifolds of common areas, several places of a mesh) have the elastic force in the middle of the step.

Source: Gonzalez, Exact energy and momentum conserving algorithms for general models in nonlinear elasticity (2000), of
whose quotient this is an application.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.contact.forces import (
    DAMPING,
    LINE,
    SHAPE_A,
    SHAPE_B,
    elastic_force,
    largest_line_depth,
    point_motion,
    push,
)
from flexmb.kernels.contact.shapes import BORE, CYLINDER, MESH, MOST, PLANE, SPHERE, shape_points

CLOSE = 1e-2
"""Change of a depth, relative to the depth, below which the mean force is a quadrature instead of a quotient."""
NODE = 0.5 * math.sqrt(0.6)
"""Distance of the outer points of Gauss' rule of three points from the middle of an interval of length one."""
RESTING = 1e-8
"""Displacement in a step, in lengths of the mechanism or radians, below which bodies are at rest."""
EXACT = 1e-15
"""Difference, in lengths of the mechanism, between the change of a depth and the displacement that is rounding."""


@njit(cache=True)
def _keep_identity(a, b):
    """Whether the points of two shapes are the same ones throughout a motion."""
    if a == PLANE or b == PLANE:
        return True
    if a == SPHERE or b == SPHERE:
        return a != MESH and b != MESH
    return (a == BORE and b == CYLINDER) or (a == CYLINDER and b == BORE)


@njit(cache=True)
def mean_force(g0, g1, p):
    """The mean of the elastic force over depths from `g0` to `g1`, negative for gaps; NaN beyond the range of a line
    contact."""
    d0, d1 = max(g0, 0.0), max(g1, 0.0)
    if d0 + d1 == 0.0:
        return 0.0
    if p[LINE] > 0.0 and max(d0, d1) >= largest_line_depth(p[LINE]):
        return np.nan
    change, middle = g1 - g0, 0.5 * (d0 + d1)
    if abs(change) <= CLOSE * middle:
        f, _ = elastic_force(middle, p)
        low, _ = elastic_force(middle - NODE * change, p)
        high, _ = elastic_force(middle + NODE * change, p)
        return (8.0 * f + 5.0 * (low + high)) / 18.0
    before = elastic_force(d0, p)[1] if d0 > 0.0 else 0.0
    after = elastic_force(d1, p)[1] if d1 > 0.0 else 0.0
    return (after - before) / change


@njit(cache=True)
def _place(p, pose, points):
    a, b = SHAPE_A, SHAPE_B
    return shape_points(
        int(p[a]), p[a + 1], p[a + 2], p[a + 3], int(p[b]), p[b + 1], p[b + 2], p[b + 3], pose[:3],
        pose[3:12].reshape(3, 3), points,
    )  # fmt: skip


@njit(cache=True)
def step_wrench(p, before, middle, after, change, h, length, wrench):
    """Write the force and moment (6,) on `b` in a step of size `h` to `wrench`.

    `before`, `middle` and `after` (12,) hold the position and, row by row, the rotation of `b` seen from `a`; `change`
    (6,) is its displacement and rotation in the step, all in axes of `a`. `p` are the parameters of the contact, and
    `length` is that of the mechanism.
    """
    first, points, last = np.empty((MOST, 8)), np.empty((MOST, 8)), np.empty((MOST, 8))
    count = _place(p, middle, points)
    wrench[:] = 0.0
    same = _keep_identity(int(p[SHAPE_A]), int(p[SHAPE_B]))
    if same:
        same = _place(p, before, first) == count and _place(p, after, last) == count
    d, v, omega, square = middle[:3], np.empty(3), np.empty(3), 0.0
    for i in range(3):
        v[i], omega[i] = change[i] / h, change[3 + i] / h
        square += change[i] * change[i] + length * length * change[3 + i] * change[3 + i]
    for k in range(count):
        point = points[k]
        approach, _, _, _ = point_motion(point, d, v, omega)
        missing = 0.0
        if same:
            force = mean_force(first[k, 6], last[k, 6], p)
            moved = last[k, 6] - first[k, 6]
            missing = moved - h * approach
            approach = moved / h
        else:
            force = elastic_force(point[6], p)[0] if point[6] > 0.0 else 0.0
        normal = point[7] * force * max(1.0 + p[DAMPING] * approach, 0.0)
        if normal == 0.0:
            continue
        push(point, d, v, omega, normal, p, wrench)
        if abs(missing) > EXACT * length:
            factor = normal * missing / (square + RESTING * RESTING * length * length)
            for i in range(3):
                wrench[i] -= factor * change[i]
                wrench[3 + i] -= factor * length * length * change[3 + i]

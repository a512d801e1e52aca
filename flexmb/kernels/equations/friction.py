"""Dry friction in joints: an effort along the free motion of a joint that the reaction of the joint bounds.

The effort of a sliding joint is `-direction * bound`, in which `direction` is the sign of the sliding rate and

    bound = constant + radial (|F_1| + |F_2|) + axial |F_z|

with the forces of two bearings at `z = +-span/2` that transmit the radial force and the bending moment of the joint,

    F_1, F_2 = (F_x, F_y) / 2 +- (M_y, -M_x) / span.

They are multipliers of the equations of the joint. A joint that sticks has an equation for its free motion instead
(flexmb/simulation/friction.py), and direction zero.
"""

import math

from numba import njit

RADIAL, AXIAL, BENDING, CONSTANT = 0, 1, 2, 3
"""Entries of `CompiledModel.friction_factors`; `BENDING` is the reciprocal of the span."""


@njit(cache=True, inline="always")
def _forces(flat, k, multipliers):
    """Half the radial force (2), the axial force and the bending moments over the span (2) of joint `k`.

    Of the equations ("dot", 0, 2) and ("dot", 1, 2), the first has the covector y and the second -x, so that both
    multipliers add to those of the translations x and y.
    """
    source, over_span = flat.friction_source[k], flat.friction_factors[k, BENDING]
    return (
        0.5 * multipliers[source[0]] if source[0] >= 0 else 0.0,
        0.5 * multipliers[source[1]] if source[1] >= 0 else 0.0,
        multipliers[source[2]] if source[2] >= 0 else 0.0,
        over_span * multipliers[source[3]] if source[3] >= 0 else 0.0,
        over_span * multipliers[source[4]] if source[4] >= 0 else 0.0,
    )


@njit(cache=True)
def friction_bound(flat, k, multipliers):
    """Largest effort that the sliding joint `k` transmits, at the `multipliers` (nj,) of the joint equations."""
    factors = flat.friction_factors[k]
    x, y, z, u, v = _forces(flat, k, multipliers)
    return (
        factors[CONSTANT]
        + factors[RADIAL] * (math.hypot(x + u, y + v) + math.hypot(x - u, y - v))
        + factors[AXIAL] * abs(z)
    )


@njit(cache=True)
def friction_change(flat, k, multipliers, change):
    """Derivative of `friction_bound` in the direction of a `change` (nj,) of the multipliers."""
    factors = flat.friction_factors[k]
    x, y, z, u, v = _forces(flat, k, multipliers)
    dx, dy, dz, du, dv = _forces(flat, k, change)
    total = factors[AXIAL] * (dz if z > 0.0 else -dz)
    for side in (1.0, -1.0):
        a, b = x + side * u, y + side * v
        size = math.hypot(a, b)
        if size > 0.0:
            total += factors[RADIAL] * (a * (dx + side * du) + b * (dy + side * dv)) / size
    return total


@njit(cache=True)
def add_friction(flat, multipliers, efforts):
    """Add the efforts of sliding joints to `efforts` (nr,)."""
    for k in range(len(flat.friction_row)):
        if flat.friction_direction[k] != 0.0:
            efforts[flat.friction_row[k]] -= flat.friction_direction[k] * friction_bound(flat, k, multipliers)


@njit(cache=True)
def friction_heat(flat, multipliers, rates):
    """Power that sliding joints dissipate at the `rates` (nr,) of the rows."""
    heat = 0.0
    for k in range(len(flat.friction_row)):
        if flat.friction_direction[k] != 0.0:
            effort = flat.friction_direction[k] * friction_bound(flat, k, multipliers)
            heat += effort * rates[flat.friction_row[k]]
    return heat


@njit(cache=True)
def friction_bounds(flat, multipliers, bounds):
    """Write the largest efforts of all joints with dry friction to `bounds` (nf,)."""
    for k in range(len(bounds)):
        bounds[k] = friction_bound(flat, k, multipliers)

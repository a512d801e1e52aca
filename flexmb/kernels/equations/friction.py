"""Dry friction in joints: efforts along the free motions of a joint that the reaction of the joint bounds.

The efforts of a sliding joint are `-direction_c * bound`, one for each free motion `c`, with

    bound = constant + radial (|F_1| + |F_2|) + axial |F_z|

and the forces of two bearings at `z = +-span/2` that transmit the radial force and the bending moment of the joint,

    F_1, F_2 = (F_x, F_y) / 2 +- (M_y, -M_x) / span.

In a round (spherical) joint, `F_1 = F_2` is half of the whole force. The forces are multipliers of the equations of the
joint. The sliding velocity has the components `u_c = arm_c rate_c`. There are two kinds of friction:

- Exact: one free motion, whose `direction` is the sign of the sliding rate, which does not change in a step. A joint
  that sticks has an equation for its free motion instead (flexmb/simulation/friction.py), and direction zero.
- Regularised, with a `speed`: `direction_c = arm_c tanh(|u| / speed) u_c / |u|`. The efforts of several free motions
  are those of one force opposite to the sliding velocity.
"""

import math

import numpy as np
from numba import njit

RADIAL, AXIAL, BENDING, CONSTANT, ROUND = 0, 1, 2, 3, 4
"""Entries of `CompiledModel.friction_factors`; `BENDING` is the reciprocal of the span, `ROUND` is 1 for a spherical
joint, else 0."""
SMALL = 1e-3
"""Ratio of the sliding velocity to its regularising speed below which the slope of `tanh(s)/s` is its series."""


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
    c = 0.5 * factors[ROUND] * z
    return (
        factors[CONSTANT]
        + factors[RADIAL] * (math.hypot(math.hypot(x + u, y + v), c) + math.hypot(math.hypot(x - u, y - v), c))
        + factors[AXIAL] * abs(z)
    )


@njit(cache=True)
def friction_slopes(flat, k, multipliers):
    """Derivatives of `friction_bound` with respect to the multipliers of the five equations
    `CompiledModel.friction_source`."""
    factors, over_span = flat.friction_factors[k], flat.friction_factors[k, BENDING]
    x, y, z, u, v = _forces(flat, k, multipliers)
    half = 0.5 * factors[ROUND]
    of_x, of_y, of_z, of_u, of_v = 0.0, 0.0, factors[AXIAL] if z > 0.0 else -factors[AXIAL], 0.0, 0.0
    for side in (1.0, -1.0):
        a, b, c = x + side * u, y + side * v, half * z
        size = math.hypot(math.hypot(a, b), c)
        if size > 0.0:
            part = factors[RADIAL] / size
            of_x, of_y, of_z = of_x + part * a, of_y + part * b, of_z + part * half * c
            of_u, of_v = of_u + side * part * a, of_v + side * part * b
    return 0.5 * of_x, 0.5 * of_y, of_z, over_span * of_u, over_span * of_v


@njit(cache=True)
def friction_change(flat, k, multipliers, change):
    """Derivative of `friction_bound` in the direction of a `change` (nj,) of the multipliers."""
    slopes, total = friction_slopes(flat, k, multipliers), 0.0
    for i in range(len(slopes)):
        r = flat.friction_source[k, i]
        total += slopes[i] * change[r] if r >= 0 else 0.0
    return total


@njit(cache=True, inline="always")
def slides(flat, k):
    """Whether joint `k` with friction slides; one with regularised friction always does."""
    return flat.friction_speed[k] > 0.0 or flat.friction_direction[k] != 0.0


@njit(cache=True)
def friction_directions(flat, k, rates, directions, slopes):
    """Write the directions (nc,) of the friction of joint `k` at the `rates` (nc,) of its free motions to `directions`,
    and their derivatives with respect to these rates to `slopes` (nc, nc); each array has entries for all joints."""
    first, last = flat.friction_start[k], flat.friction_start[k + 1]
    speed = flat.friction_speed[k]
    if speed == 0.0:
        directions[first], slopes[first, 0] = flat.friction_direction[k], 0.0
        return
    size = 0.0
    for c in range(first, last):
        size = math.hypot(size, flat.friction_arm[c] * rates[c])
    s = size / speed
    if s > SMALL:
        steep = math.tanh(s) / s
        turn = (1.0 - math.tanh(s) ** 2 - steep) / (s * s)
    else:
        steep, turn = 1.0 - s * s / 3.0, -2.0 / 3.0
    for c in range(first, last):
        arm = flat.friction_arm[c]
        directions[c] = arm * steep * arm * rates[c] / speed
        for d in range(first, last):
            product = arm * rates[c] * flat.friction_arm[d] * rates[d] / (speed * speed)
            slopes[c, d - first] = arm * flat.friction_arm[d] / speed * (turn * product + (steep if c == d else 0.0))


@njit(cache=True)
def all_directions(flat, workspace):
    """Write the rates of the free motions of joints with friction, their directions and the derivatives of these to
    `workspace`, at `workspace.rates` (nr,)."""
    rates = workspace.sliding_rates
    for c in range(len(rates)):
        rates[c] = workspace.rates[flat.friction_row[c]]
    for k in range(len(flat.friction_speed)):
        friction_directions(flat, k, rates, workspace.sliding_direction, workspace.sliding_slopes)


@njit(cache=True)
def add_friction(flat, multipliers, workspace):
    """Add the efforts of sliding joints to `workspace.efforts` (nr,), at `workspace.rates` (nr,)."""
    all_directions(flat, workspace)
    for k in range(len(flat.friction_speed)):
        if slides(flat, k):
            bound = friction_bound(flat, k, multipliers)
            for c in range(flat.friction_start[k], flat.friction_start[k + 1]):
                workspace.efforts[flat.friction_row[c]] -= workspace.sliding_direction[c] * bound


@njit(cache=True)
def friction_heat(flat, multipliers, workspace):
    """Power that sliding joints dissipate, at `workspace.rates` (nr,)."""
    all_directions(flat, workspace)
    heat = 0.0
    for k in range(len(flat.friction_speed)):
        if slides(flat, k):
            bound = friction_bound(flat, k, multipliers)
            for c in range(flat.friction_start[k], flat.friction_start[k + 1]):
                heat += workspace.sliding_direction[c] * bound * workspace.rates[flat.friction_row[c]]
    return heat


@njit(cache=True)
def friction_bounds(flat, multipliers, bounds):
    """Write the largest efforts of all joints with dry friction to `bounds` (nf,)."""
    for k in range(len(bounds)):
        bounds[k] = friction_bound(flat, k, multipliers)


@njit(cache=True)
def friction_efforts(flat, k, multipliers, rates, efforts):
    """Write the efforts of joint `k` with friction at the `rates` (nc,) of the free motions of all joints with friction
    to `efforts` (nc,)."""
    directions, slopes = np.zeros(len(rates)), np.zeros((len(rates), 3))
    friction_directions(flat, k, rates, directions, slopes)
    bound = friction_bound(flat, k, multipliers)
    for c in range(flat.friction_start[k], flat.friction_start[k + 1]):
        efforts[c] = -directions[c] * bound

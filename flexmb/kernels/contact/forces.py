"""Forces of continuous contact: a normal force as a function of the depth and its rate, and friction of the slip.

Source of the law of friction: Brown and McPhee (2016).
"""

import math

from numba import njit

(
    SHAPE_A,
    SHAPE_B,
    STIFFNESS,
    EXPONENT,
    DAMPING,
    LINE,
    FRICTION,
    STATIC,
    SLIP_SPEED,
    DEEPEST,
    ROLLING,
    SPINNING,
    TURN_SPEED,
) = (0, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18)
"""Entries of the parameters of a contact: the code and the dimensions of both shapes, the normal law, friction, the
depth beyond which the law has lost its meaning, and the friction of rolling and spinning."""
TURNS, SETTLED = 50, 1e-14
"""Newton iterations for a line contact, and their relative accuracy."""


@njit(cache=True)
def elastic_force(depth, p):
    """Force and energy of the elastic law at a depth > 0: `K depth^n`, or a line contact of cylinders."""
    if p[LINE] > 0.0:
        return _line_force(depth, p[STIFFNESS], p[LINE])
    force = p[STIFFNESS] * depth ** p[EXPONENT]
    return force, force * depth / (p[EXPONENT] + 1.0)


@njit(cache=True)
def largest_line_depth(radius):
    """The depth at which a line contact with the difference of radii `radius` has lost its meaning."""
    return 4.0 * radius * math.exp(-2.0)


@njit(cache=True)
def _line_force(depth, stiffness, radius):
    """The force `f` and the energy of `depth = f / k (log(4 k R / f) - 1)`, with the stiffness `k = pi E* L` and the
    difference of radii `R` (Johnson). The law holds while the depth increases with the force."""
    largest = stiffness * largest_line_depth(radius)
    if depth >= largest / stiffness:
        raise ValueError("the depth is beyond the range of the line contact of two cylinders")
    f = stiffness * depth
    low, high = 0.0, largest
    for _ in range(TURNS):
        logarithm = math.log(4.0 * stiffness * radius / f)
        left = f / stiffness * (logarithm - 1.0) - depth
        if left > 0.0:
            high = f
        else:
            low = f
        slope = (logarithm - 2.0) / stiffness
        new = f - left / slope if slope > 0.0 else 0.5 * (low + high)
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - f) <= SETTLED * f:
            f = new
            break
        f = new
    logarithm = math.log(4.0 * stiffness * radius / f)
    return f, f * depth - 0.5 * f * f / stiffness * (logarithm - 0.5)


@njit(cache=True)
def friction_ratio(slip, p):
    """Friction over normal force and slip speed (Brown and McPhee): smooth, the static coefficient at the slip
    speed `v` of the parameters, the dynamic one far above it."""
    if p[STATIC] == 0.0:
        return 0.0
    x = slip / p[SLIP_SPEED]
    steep = math.tanh(4.0 * x) / x if x > 1e-8 else 4.0
    peak = 0.25 * x * x + 0.75
    return (p[FRICTION] * steep + (p[STATIC] - p[FRICTION]) / (peak * peak)) / p[SLIP_SPEED]


@njit(cache=True)
def point_motion(point, d, v, omega):
    """The velocity of `b` relative to `a` at a contact point: its rate of approach and slip velocity (3)."""
    x, y, z = point[0] - d[0], point[1] - d[1], point[2] - d[2]
    vx = v[0] + omega[1] * z - omega[2] * y
    vy = v[1] + omega[2] * x - omega[0] * z
    vz = v[2] + omega[0] * y - omega[1] * x
    away = vx * point[3] + vy * point[4] + vz * point[5]
    return -away, vx - away * point[3], vy - away * point[4], vz - away * point[5]


@njit(cache=True)
def normal_force(point, d, v, omega, p):
    """The normal force of a law without memory at a contact point, and its energy; 0 where there is no overlap."""
    if point[6] <= 0.0:
        return 0.0, 0.0
    force, energy = elastic_force(point[6], p)
    approach, _, _, _ = point_motion(point, d, v, omega)
    return point[7] * force * max(1.0 + p[DAMPING] * approach, 0.0), point[7] * energy


@njit(cache=True)
def point_loads(points, d, v, omega, p):
    """The sums over contact points (n, 8) of the normal forces of a law without memory, and of their friction."""
    pushes, grips = 0.0, 0.0
    for k in range(len(points)):
        force, _ = normal_force(points[k], d, v, omega, p)
        _, sx, sy, sz = point_motion(points[k], d, v, omega)
        slip = math.sqrt(sx * sx + sy * sy + sz * sz)
        pushes += force
        grips += force * slip * friction_ratio(slip, p)
    return pushes, grips


@njit(cache=True)
def push(point, d, v, omega, normal, p, wrench):
    """Add the normal force `normal` at a contact point, with its friction, to the wrench (6,) on `b`."""
    _, sx, sy, sz = point_motion(point, d, v, omega)
    grip = normal * friction_ratio(math.sqrt(sx * sx + sy * sy + sz * sz), p)
    fx, fy, fz = normal * point[3] - grip * sx, normal * point[4] - grip * sy, normal * point[5] - grip * sz
    x, y, z = point[0] - d[0], point[1] - d[1], point[2] - d[2]
    wrench[0] += fx
    wrench[1] += fy
    wrench[2] += fz
    wrench[3] += y * fz - z * fy
    wrench[4] += z * fx - x * fz
    wrench[5] += x * fy - y * fx
    if p[ROLLING] > 0.0 or p[SPINNING] > 0.0:
        _resist_turning(point, omega, normal, p, wrench)


@njit(cache=True)
def _resist_turning(point, omega, normal, p, wrench):
    """Add the moments against rolling, across the normal, and against spinning, along it."""
    nx, ny, nz = point[3], point[4], point[5]
    spin = omega[0] * nx + omega[1] * ny + omega[2] * nz
    x, y, z = omega[0] - spin * nx, omega[1] - spin * ny, omega[2] - spin * nz
    roll = normal * p[ROLLING] * _saturated(math.sqrt(x * x + y * y + z * z), p[TURN_SPEED])
    twist = normal * p[SPINNING] * _saturated(abs(spin), p[TURN_SPEED]) * spin
    wrench[3] -= roll * x + twist * nx
    wrench[4] -= roll * y + twist * ny
    wrench[5] -= roll * z + twist * nz


@njit(cache=True)
def _saturated(speed, full):
    """`tanh(4 speed / full) / speed`: one over the speed, but finite where it vanishes."""
    x = speed / full
    return (math.tanh(4.0 * x) / x if x > 1e-8 else 4.0) / full

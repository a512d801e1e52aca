"""The nearest point of a plane curve, and the signed distance from it.

The data of a curve at an address are: the number of intervals `n`, 1 if it is closed, its knots (n+1,) and for each
interval the coefficients of the quintics `x` and `y` (12,), highest first; flexmb/mechanism/curves/plane.py makes them.
The gradient of the signed distance is the normal of the curve at the nearest point, exactly and everywhere within its
radius of curvature, so that the parameter of the point is not an unknown of the equations.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.memory import interval_of, number_at

ATTEMPTS, SETTLED = 30, 1e-15
"""Newton iterations for the nearest point, and their accuracy relative to the range of the parameter."""
END = 1e-9
"""How far beyond the end of an open curve, relative to the range of its parameter, a point may be by round-off."""


@njit(cache=True)
def _quintic(address, c, u):
    """Value and first two derivatives at `u` of the quintic with coefficients from `c` on."""
    value, slope, bend = number_at(address, c), 0.0, 0.0
    for k in range(1, 6):
        bend = bend * u + slope
        slope = slope * u + value
        value = value * u + number_at(address, c + k)
    return value, slope, 2.0 * bend


@njit(cache=True)
def curve_at(address, s):
    """Point (2), first derivative (2) and second derivative (2) of a curve at the parameter `s`."""
    n = int(number_at(address, 0))
    k = interval_of(address + 16, n + 1, s)
    u, c = s - number_at(address, 2 + k), 3 + n + 12 * k
    x, dx, ddx = _quintic(address, c, u)
    y, dy, ddy = _quintic(address, c + 6, u)
    return x, y, dx, dy, ddx, ddy


@njit(cache=True)
def nearest_parameter(address, x, y):
    """The parameter of the point of the curve that is nearest to `x`, `y`; NaN if the foot is beyond an end."""
    n, closed = int(number_at(address, 0)), number_at(address, 1) > 0.0
    first, last = number_at(address, 2), number_at(address, 2 + n)
    best, s = math.inf, first
    for k in range(n if closed else n + 1):
        at = number_at(address, 2 + k)
        c = 3 + n + 12 * min(k, n - 1)
        u = at - number_at(address, 2 + min(k, n - 1))
        px, py = _quintic(address, c, u)[0], _quintic(address, c + 6, u)[0]
        squared = (px - x) * (px - x) + (py - y) * (py - y)
        if squared < best:
            best, s = squared, at
    span = last - first
    step = 0.0
    for _ in range(ATTEMPTS):
        px, py, dx, dy, ddx, ddy = curve_at(address, s)
        speed = dx * dx + dy * dy
        slope = speed + (px - x) * ddx + (py - y) * ddy
        step = -((px - x) * dx + (py - y) * dy) / (slope if slope > 0.5 * speed else speed)
        s += step
        if closed:
            if s < first:
                s += span
            elif s > last:
                s -= span
        elif s < first - END * span or s > last + END * span:
            edge = first if s < first else last
            if abs(s - step - edge) <= END * span:  # it already was at the end, and goes on beyond it
                return np.nan
            s = edge
        if abs(step) <= SETTLED * span:
            return s
    return s


@njit(cache=True)
def distance_from_curve(address, x, y):
    """Signed distance of `x`, `y` from the curve (positive on the left), its left unit normal (2) and its curvature
    there."""
    s = nearest_parameter(address, x, y)
    if math.isnan(s):
        return np.nan, np.nan, np.nan, np.nan
    px, py, dx, dy, ddx, ddy = curve_at(address, s)
    speed = math.sqrt(dx * dx + dy * dy)
    nx, ny = -dy / speed, dx / speed
    return (x - px) * nx + (y - py) * ny, nx, ny, (dx * ddy - dy * ddx) / speed**3

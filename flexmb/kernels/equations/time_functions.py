"""Functions of time by formulas: what compiled steps evaluate without a call of Python.

The formulas of a mechanism are one array of numbers: for each function its kind, the number of its parameters, and
these (flexmb/mechanism/time_functions.py, where the formulas stand too).
"""

import math

from numba import njit

POLYNOMIAL, HARMONIC, SMOOTH_STEP, SPIN_UP, PULSE = range(5)


@njit(cache=True)
def functions_at(formulas, t, out):
    """Set `out` (nf, 3) to value, rate and acceleration of every function at `t`; the last row is that of time."""
    at = row = 0
    while at < len(formulas):
        kind, count = int(formulas[at]), int(formulas[at + 1])
        p = formulas[at + 2 : at + 2 + count]
        if kind == POLYNOMIAL:
            found = _polynomial(p, t)
        elif kind == HARMONIC:
            found = _harmonic(p, t)
        elif kind == SMOOTH_STEP:
            found = _smooth_step(p, t)
        elif kind == SPIN_UP:
            found = _spin_up(p, t)
        else:
            found = _pulse(p, t)
        out[row, 0], out[row, 1], out[row, 2] = found
        at += 2 + count
        row += 1
    out[row, 0], out[row, 1], out[row, 2] = t, 1.0, 0.0


@njit(cache=True)
def functions_over(formulas, times, out):
    """`functions_at` at all `times` (nt,): `out` (nt, nf, 3)."""
    for k in range(len(times)):
        functions_at(formulas, times[k], out[k])


@njit(cache=True)
def _polynomial(p, t):
    """Coefficients, lowest first."""
    value, slope, bend = 0.0, 0.0, 0.0
    for k in range(len(p) - 1, -1, -1):
        bend = bend * t + slope
        slope = slope * t + value
        value = value * t + p[k]
    return value, slope, 2.0 * bend


@njit(cache=True)
def _harmonic(p, t):
    """Amplitude, angular frequency, phase, offset."""
    a, w, angle = p[0], p[1], p[1] * t + p[2]
    return p[3] + a * math.sin(angle), a * w * math.cos(angle), -a * w * w * math.sin(angle)


@njit(cache=True)
def _smooth_step(p, t):
    """Start, duration, height; two continuous derivatives."""
    duration, height = p[1], p[2]
    s = min(max((t - p[0]) / duration, 0.0), 1.0)
    value = height * (s**3 * (10.0 - 15.0 * s + 6.0 * s**2))
    slope = 30.0 * height * (s * (1.0 - s)) ** 2 / duration
    return value, slope, 60.0 * height * (s * (1.0 - s)) * (1.0 - 2.0 * s) / duration**2


@njit(cache=True)
def _spin_up(p, t):
    """Speed, duration."""
    w, T = p[0], p[1]
    k, s = 2.0 * math.pi / T, min(max(t, 0.0), T)
    half = math.sin(k * s / 2.0)
    value = w / T * (s**2 / 2.0 - 2.0 * half**2 / k**2) + w * max(t - T, 0.0)
    return value, w / T * (s - math.sin(k * s) / k), 2.0 * w / T * half**2


@njit(cache=True)
def _pulse(p, t):
    """Start, duration, height, period (0 for none)."""
    duration, height, period = p[1], p[2], p[3]
    s = t - p[0]
    if period > 0.0 and s > 0.0:
        s = s % period
    if not 0.0 < s < duration:
        return 0.0, 0.0, 0.0
    k = math.pi / duration
    sine, cosine = math.sin(k * s), math.cos(k * s)
    acceleration = height * k * k * 4.0 * (3.0 * sine**2 * cosine**2 - sine**4)
    return height * sine**4, height * k * 4.0 * sine**3 * cosine, acceleration

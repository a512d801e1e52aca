"""Rolling bearing in an elastic ring: the elements load the ring, and the ring yields under all of them."""

import math
from typing import Any

import numpy as np
from numba import njit

from flexmb.forces.frame.rolling import MOST
from flexmb.kernels.base.dense import solve_small
from flexmb.mechanism.frame_law import law

MOST_SECTORS = 24
"""Largest number of sectors of a ring."""
ITERATIONS, HALVINGS, DECREASE = 100, 40, 1e-4
"""Newton iterations for the loads, halvings of each, and the least decrease of the energy relative to its slope."""
SETTLED = 1e-13
"""Change of the loads, relative to the largest, at which they are found."""
ROUNDING = 1e-12
"""Slope of the energy relative to the energy, below which its decrease is lost to rounding."""
FIRST = 8
"""Number of parameters before the compliances."""


ENTRIES = {f"compliance_{i + 1}_{j + 1}": 0.0 for i in range(MOST_SECTORS) for j in range(i + 1)}


@njit(cache=True, inline="always")
def _place(row: Any, column: Any) -> Any:
    """The place of an entry in the lower triangle, row by row, counted from 0."""
    return row * (row + 1) // 2 + column


@njit(cache=True)
def _elements_compliance(count: Any, m: Any, turned: Any, entries: Any, C: Any) -> None:
    """Write the compliance (count, count) of the ring at its elements to `C`, from the lower triangle `entries` of that
    of `m` sectors; `turned` is the angle of the first element beyond the first sector."""
    weights, spread = np.empty((count, m)), np.zeros((count, m))
    for k in range(count):
        for i in range(m):
            # the trigonometric polynomial that is one at sector i and zero at the others
            half = 0.5 * turned + math.pi * k / count - math.pi * i / m
            half -= math.pi * math.floor(half / math.pi + 0.5)
            sine = math.sin(half)
            if abs(sine) < 1e-12:
                weights[k, i] = 1.0
            else:
                weights[k, i] = math.sin(m * half) / (m * sine) * (math.cos(half) if m % 2 == 0 else 1.0)
    for k in range(count):
        for i in range(m):
            for j in range(m):
                spread[k, i] += weights[k, j] * entries[_place(max(i, j), min(i, j))]
    for k in range(count):
        for j in range(count):
            total = 0.0
            for i in range(m):
                total += spread[k, i] * weights[j, i]
            C[k, j] = total


@njit(cache=True)
def _energy(stiffness: Any, exponent: Any, approach: Any, C: Any, load: Any, pushed: Any) -> Any:
    """The energy `load C load / 2` of the ring and that of the elements; writes `C load` to `pushed`."""
    energy = 0.0
    for k in range(len(load)):
        pushed[k] = 0.0
        for j in range(len(load)):
            pushed[k] += C[k, j] * load[j]
        energy += 0.5 * load[k] * pushed[k]
        energy += stiffness * max(approach[k] - pushed[k], 0.0) ** (exponent + 1.0) / (exponent + 1.0)
    return energy


@njit(cache=True)
def _loads(stiffness: Any, exponent: Any, approach: Any, C: Any, load: Any) -> Any:
    """Write the loads (count,) of the elements to `load`, by Newton's method for the loads that minimise `_energy`;
    returns that energy, or a negative number if they are not found."""
    n = len(approach)
    change, left, trial, A = np.zeros(n), np.zeros(n), np.zeros(n), np.empty((n, n))
    pushed, moved = np.zeros(n), np.zeros(n)
    load[:] = 0.0
    energy = _energy(stiffness, exponent, approach, C, load, pushed)
    for _ in range(ITERATIONS):
        largest, last, slope = 0.0, 0.0, 0.0
        for k in range(n):
            compression, carried, stiff = approach[k] - pushed[k], 0.0, 0.0
            if compression > 0.0:
                carried = stiffness * compression**exponent
                stiff = exponent * carried / compression
            change[k] = left[k] = carried - load[k]
            largest = max(largest, carried)
            for j in range(n):
                A[k, j] = stiff * C[k, j] + (1.0 if j == k else 0.0)
        solve_small(A, change)
        for k in range(n):
            last = max(last, abs(change[k]))
            for j in range(n):
                slope -= change[k] * C[k, j] * left[j]
        if last <= SETTLED * largest or energy == 0.0:
            return energy
        factor, before = 1.0, energy
        for _half in range(HALVINGS):
            for k in range(n):
                trial[k] = load[k] + factor * change[k]
            energy = _energy(stiffness, exponent, approach, C, trial, moved)
            if energy <= before + DECREASE * factor * slope or abs(slope) <= ROUNDING * before:
                break
            factor *= 0.5
        load[:], pushed[:] = trial, moved
    return -1.0


@law(
    states=("cage angle",),
    parameters={
        "elements": None,
        "stiffness": None,
        "sectors": None,
        "exponent": 1.5,
        "clearance": 0.0,
        "cage_ratio": 0.5,
        "damping": 0.0,
        "first_angle": 0.0,
        **ENTRIES,
    },
    positive=("elements", "exponent", "stiffness", "sectors"),
    non_negative=("clearance", "cage_ratio", "damping"),
)
def flexible_ring_bearing(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """A radial rolling bearing about the axis z in an elastic ring; frame `a` where the ring is held, `b` on the shaft.

    Each of the `elements` carries `stiffness * compression^exponent`, without tension, as in `rolling_bearing`, where
    the compression is the approach of the shaft less half the `clearance` (length) less the outward displacement of the
    ring at the element. The loads `Q` of all elements displace the ring by `C Q`: at its `sectors`, which follow each
    other counter-clockwise at equal angles from `first_angle` (radians) on, `C` has the entries `compliance_I_J`
    (length/force, I >= J); between them the trigonometric polynomial through the sectors. They are the parameters of a
    `RingCompliance`. The loads are the unique minimum of the energy of the ring and the elements. The ring has no
    inertia of its own. State, `cage_ratio` and `damping` are those of `rolling_bearing`. Source: Zeischka (Euromech
    524, 2012).
    """
    count, stiffness, m, exponent = int(parameters[0]), parameters[1], int(parameters[2]), parameters[3]
    gap, damping, first = 0.5 * parameters[4], parameters[6], parameters[7]
    if count != parameters[0] or count > MOST:
        raise ValueError("the number of rolling elements must be whole, and at most 10,000")
    if m != parameters[2] or m > MOST_SECTORS:
        raise ValueError("the number of sectors must be whole, and at most 24")
    x, y, turned = relative.d[0], relative.d[1], 2.0 * math.pi / count
    approach, load, C = np.empty(count), np.empty(count), np.empty((count, count))
    for k in range(count):
        angle = states[0] + k * turned
        approach[k] = x * math.cos(angle) + y * math.sin(angle) - gap
    _elements_compliance(count, m, states[0] - first, parameters[FIRST:], C)
    energy = _loads(stiffness, exponent, approach, C, load)
    if energy < 0.0:
        raise ValueError("the loads of the rolling elements were not found; is the compliance of the ring positive?")
    wrench[0], wrench[1] = -damping * relative.v[0], -damping * relative.v[1]
    for k in range(count):
        angle = states[0] + k * turned
        wrench[0] -= load[k] * math.cos(angle)
        wrench[1] -= load[k] * math.sin(angle)
    rates[0] = parameters[5] * relative.omega[2]
    return energy

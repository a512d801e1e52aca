"""A step of generalised-alpha, Newton's iteration, and the time loop, compiled."""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.data import GROUND, TRANSLATION
from flexmb.kernels.base.dense import copy
from flexmb.kernels.equations.displacement import fastest_turn, largest_vector
from flexmb.kernels.equations.pivots import unwind
from flexmb.kernels.equations.residual import law_slopes, powers_of, residual
from flexmb.kernels.equations.rows import add_turns, angles_at, as_driven
from flexmb.kernels.equations.tree import joint_velocities, place_bodies
from flexmb.kernels.steps.solve import INACTIVE, solve_step

BELOW_ERROR = 3e4  # the scale of Newton's tolerance over the local error: with a tolerance of 1e-8 corrections end at 3e-4 of the error of the step
ROUNDING = 2e-15  # Newton corrections, as a displacement over the mechanism's length, that rounding allows
STALLED = 1e-8  # the same where the joints are all but dependent (a mechanism that passes a singular position) and corrections stop to shrink: a motion they hardly feel

CONVERGED, DIVERGED, NO_MASS, TOO_LARGE, UNSUITED = 0, 1, 2, 3, 4
"""Outcomes of `advance`: steps done; Newton's iteration failed; a mass matrix is not positive definite; the error of a step, not taken, is too large; that of a step, taken, is so far
from the tolerance that the next should have another size."""
SUITED = (0.42, 0.85)
"""Errors over the tolerance that call for no other step size: it would change by less than 5 % down or 20 % up."""

SLOW = 0.1  # contraction above which a new matrix is made within a step
FORGET = 1.25  # factor by which the contraction of later corrections is believed to have grown at every step that did not measure it: ninety in twenty steps
SETTLED = 5
"""Correction at which the multipliers are settled: those of driven bodies still change where positions do not, by as
much of their latest correction as the mechanism has moved since the matrix was made."""
REMEASURE = 20  # steps after which the contraction of the iteration is measured again


class Scheme(NamedTuple):
    """Coefficients of the generalised-alpha method."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    error_constant: float  # |1/6 - beta - (alpha_m - alpha_f)/2|: local error of the position over h^2 da
    tolerance: float  # of the Newton corrections, relative to h^2 times the accelerations, or to BELOW_ERROR times the local error
    iterations: int


class IntegratorState(NamedTuple):
    """Everything a step advances, in place, and what it becomes."""

    q: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    v: np.ndarray  # (ny,) velocities of the coordinates that are integrated
    vdot: np.ndarray
    a: np.ndarray  # (ny,) the algorithm's own accelerations
    pose: np.ndarray  # (nb, 7) of the joints of the tree
    next_v: np.ndarray
    next_vdot: np.ndarray
    next_a: np.ndarray
    next_pose: np.ndarray
    increment: np.ndarray  # (ny,)
    correction: np.ndarray  # (ny,)
    multipliers: np.ndarray  # (joint_rows,)
    angles: np.ndarray  # (na,) at the end of the latest step, turns counted
    expected: np.ndarray  # (na,) near which those of the step being made are
    powers: np.ndarray  # (2, 4) at the present and at the previous step
    work: np.ndarray  # (4,) their integrals
    past: np.ndarray  # (DEGREE, ny) `a` of earlier steps of the same size, the latest first
    last: np.ndarray  # (9,) see below


SIZE, ERROR, ITERATIONS, BEFORE, KNOWN, ORDER, RATE, AGE, LATER = range(9)
"""Entries of `IntegratorState.last`: the step size that `a` belongs to; the error of the last step; iterations so far; the size of the step before the last (0: none); how many rows of
`past` are in use; the degree of the best prediction; the contraction of the iteration (0: unknown) and the steps since it was measured; the contraction of its later corrections (0: unknown)."""
DEGREE = 3
"""Highest degree of the polynomials that predict accelerations."""


@njit(cache=True)
def move(h, beta, gamma, alpha_m, alpha_f, v0, a0, vdot0, a, increment, v, vdot):
    """Displacement, velocities and accelerations at the end of a step, from the method's accelerations `a`."""
    scale = 1.0 / (1.0 - alpha_f)
    for i in range(len(v)):
        increment[i] = h * v0[i] + h * h * ((0.5 - beta) * a0[i] + beta * a[i])
        v[i] = v0[i] + h * ((1.0 - gamma) * a0[i] + gamma * a[i])
        vdot[i] = ((1.0 - alpha_m) * a[i] + alpha_m * a0[i] - alpha_f * vdot0[i]) * scale


@njit(cache=True)
def row_compliances(flat, workspace, functions, gamma, compliance):
    """Compliance (nr,) of every row in the matrix of a step: zero for joints, else one over its stiffness with `gamma` times its damping."""
    compliance[: flat.joint_rows] = 0.0
    for r in range(flat.joint_rows, len(compliance)):
        stiffness, damping = law_slopes(flat, workspace, functions, r)
        total = flat.row_stiffness[r] + stiffness + gamma * (flat.row_damping[r] + damping)
        compliance[r] = 1.0 / total if total > 0.0 else INACTIVE


@njit(cache=True)
def step_factors(scheme, h):
    """What a change of the displacement at the end of a step is multiplied by for that of the accelerations, of the velocities, and of the method's own accelerations."""
    to_a = 1.0 / (scheme.beta * h * h)
    return (1.0 - scheme.alpha_m) / (1.0 - scheme.alpha_f) * to_a, scheme.gamma / (scheme.beta * h), to_a


@njit(cache=True)
def as_displacement(flat, beta, change):
    """Largest change of a multiplier as the displacement, over the mechanism's length, that its force alone would
    give the heavier of its two bodies; `beta`: accelerations per displacement."""
    size = 0.0
    for r in range(flat.joint_rows):
        mass = 0.0
        for side in range(2):
            b = flat.marker_body[flat.row_markers[r, side]]
            if b != GROUND:
                mass = max(mass, flat.mass[b])
        force = abs(change[r]) if flat.row_kind[r] == TRANSLATION else abs(change[r]) / flat.scales[0]
        size = max(size, force / mass)
    return size / (beta * flat.scales[0])


@njit(cache=True, inline="always")
def _newton(flat, tree, weight, scheme, h, functions, motion, kinematics, workspace, powers, rate, later, null_rows):
    """Iterate one step to convergence; `motion.next_a`, `workspace.multipliers` hold the prediction. Returns (outcome, iterations, rate, later).

    The matrix of the first correction serves the others while they shrink fast. `rate` is the contraction of the iteration as last measured, 0 when unknown: with it one correction can be known to be the last
    (Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8). `later`: the same of the second correction and those after it, as last measured. The first correction may lie where the matrix is
    good, in a driven body for one, and hide that of another body, where it is not: the second over the first is then far below what the third will be over the second.
    """
    q, w, wdot, multipliers = workspace.q, workspace.w, workspace.wdot, workspace.multipliers
    v, vdot, a, increment, correction = (
        motion.next_v,
        motion.next_vdot,
        motion.next_a,
        motion.increment,
        motion.correction,
    )
    unbalanced, x, change = workspace.unbalanced, workspace.x, workspace.change
    row_rhs, compliance, energies = workspace.row_rhs, workspace.compliance, workspace.energies
    nv, nj = len(w), flat.joint_rows
    beta, gamma, to_a = step_factors(scheme, h)
    row_compliances(flat, workspace, functions, gamma, compliance)
    row_rhs[:] = 0.0
    q0, v0, a0, vdot0 = motion.q, motion.v, motion.a, motion.vdot
    expected, values = motion.expected, workspace.values
    copy(motion.angles, expected)
    add_turns(flat, motion.w, h, expected)
    as_driven(flat, functions, expected)
    fastest, strongest = fastest_turn(flat, motion.w), largest_vector(tree, vdot0, weight)
    scale = min(1.0, max(h * h * (strongest + fastest * fastest), BELOW_ERROR * motion.last[ERROR]))
    tolerance = max(scheme.tolerance * scale, ROUNDING)
    previous, slow, moved, unsettled = np.inf, True, 0.0, False
    for iteration in range(1, scheme.iterations + 1):
        move(h, scheme.beta, scheme.gamma, scheme.alpha_m, scheme.alpha_f, v0, a0, vdot0, a, increment, v, vdot)
        place_bodies(flat, tree, motion.pose, q0, increment, v, vdot, q0, motion.next_pose, q, w, wdot)
        if iteration > 1 and previous <= tolerance and not unsettled:
            powers_of(flat, functions, multipliers, w, workspace, powers)
            return CONVERGED, iteration - 1, rate, later
        residual(flat, q, w, wdot, multipliers, functions, expected, kinematics, workspace, unbalanced, energies)
        for i in range(nv):
            unbalanced[i] = -unbalanced[i]
        for r in range(nj):
            row_rhs[r] = -values[r]
            workspace.previous_multipliers[flat.row_place[r]] = multipliers[r]
        outcome, null_rows = solve_step(
            slow, null_rows, flat, workspace, beta, gamma, compliance, unbalanced, row_rhs, x, change
        )
        if outcome < 0:
            return NO_MASS, iteration, rate, later
        joint_velocities(flat, tree, kinematics, q, x, correction)
        unwind(tree, increment, correction)
        size = largest_vector(tree, correction, weight)
        for i in range(len(a)):
            a[i] += to_a * correction[i]
        for r in range(nj):
            multipliers[r] += change[r]
        if not np.isfinite(size):
            return DIVERGED, iteration, rate, later
        if slow:
            moved = 0.0
        pull = as_displacement(flat, beta, change) if 1 < iteration < SETTLED else 0.0
        unsettled = pull * moved > tolerance
        moved += size
        slow = size > SLOW * previous
        if iteration == 1 and rate > 0.0 and rate**0.8 * size <= 0.1 * tolerance:
            size = tolerance  # what is left is known to be small enough
        elif iteration == 2 and previous > 0.0:
            rate = max(max(size, pull) / previous, 1e-8)
        elif iteration == 3 and previous > 0.0:
            later = min(max(size / previous, 1e-8), SLOW)
        if size > tolerance and iteration > 3 and size > 0.7 * previous:
            if size < (1e3 * ROUNDING if iteration <= 6 else STALLED):  # nothing more to gain
                size = tolerance
            elif iteration > 6:
                return DIVERGED, iteration, rate, later
        elif (
            not unsettled
            and iteration > 1
            and size < SLOW * previous
            and size * max(size, later * previous) < tolerance * previous
        ):
            size = tolerance  # at this rate the next correction is below the tolerance
        previous = size
    return DIVERGED, scheme.iterations, rate, later


@njit(cache=True, inline="always")
def _integrate_powers(motion, h, powers):
    """Add the work of one step: parabola through three steps (third order), trapezoid at the start."""
    last = motion.last[BEFORE]
    for k in range(4):
        p1, p0 = motion.powers[0, k], motion.powers[1, k]
        p2 = powers[k]
        if last == 0.0:
            motion.work[k] += 0.5 * h * (p1 + p2)
        else:
            curvature = ((p2 - p1) / h - (p1 - p0) / last) / (h + last)
            motion.work[k] += 0.5 * h * (p1 + p2) - curvature * h**3 / 6.0
        motion.powers[1, k] = p1
        motion.powers[0, k] = p2


@njit(cache=True, inline="always")
def _predict(order, alpha_m, vdot, now, past, out):
    """Accelerations of the next step: by the method's own rule (order 0), or a polynomial of degree 1 to 3 through the latest steps."""
    for i in range(len(now)):
        if order == 0:
            out[i] = (vdot[i] - alpha_m * now[i]) / (1.0 - alpha_m)
        elif order == 1:
            out[i] = 2.0 * now[i] - past[0, i]
        elif order == 2:
            out[i] = 3.0 * (now[i] - past[0, i]) + past[1, i]
        else:
            out[i] = 4.0 * (now[i] + past[1, i]) - 6.0 * past[0, i] - past[2, i]


@njit(cache=True, inline="always")
def _best_order(weight, alpha_m, vdot, now, past, known, a):
    """The prediction (see `_predict`) that would have come closest to the accelerations `a` of the step just made, with `known` rows of `past`.

    Motion that the step resolves is extrapolated; where fast vibration is left to the method's damping, its own rule is better.
    """
    own, line, parabola, cubic = 0.0, 0.0, 0.0, 0.0
    for i in range(len(a)):
        own = max(own, abs(a[i] - (vdot[i] - alpha_m * now[i]) / (1.0 - alpha_m)) * weight[i])
        off = a[i] - 2.0 * now[i] + past[0, i]
        line = max(line, abs(off) * weight[i])
        off -= now[i] - 2.0 * past[0, i] + past[1, i]
        parabola = max(parabola, abs(off) * weight[i])
        off -= now[i] - 3.0 * (past[0, i] - past[1, i]) - past[2, i]
        cubic = max(cubic, abs(off) * weight[i])
    best, order = own, 0
    if known > 0 and line < best:
        best, order = line, 1
    if known > 1 and parabola < best:
        best, order = parabola, 2
    if known > 2 and cubic < best:
        order = 3
    return order


@njit(cache=True, inline="always")
def _count_turns(flat, h, functions, motion, kinematics, workspace):
    """The angles at the end of a step: next to where the mean of the rates at both ends takes them, so that steps may be longer than half a turn."""
    angles = motion.angles
    add_turns(flat, motion.w, 0.5 * h, angles)
    add_turns(flat, workspace.w, 0.5 * h, angles)
    as_driven(flat, functions, angles)
    angles_at(flat, kinematics, angles)
    copy(angles, motion.expected)


@njit(cache=True)
def advance(flat, tree, weight, scheme, h, steps, tolerance, functions, motion, kinematics, workspace):
    """Advance `motion` in place by `steps` steps of size `h`, the size its accelerations belong to.

    `tolerance`: of the local error of a step (infinite: none is refused, and the size suits). `functions` (steps, nf, 3): the functions of time at the ends of the steps. `tree`: of the coordinates that are integrated, `weight`: their error weight. `kinematics`, `workspace`: arrays of `make_marker_kinematics` and `make_workspace`.

    Generalised-alpha on the Lie group of the tree's motions, index 3 (Bruls, Cardona, Arnold 2012, eqs 12-16).
    Returns `(outcome, steps done)`; when a step fails or is refused, `motion` stays at the last good step.
    """
    a, multipliers = motion.next_a, workspace.multipliers
    powers = np.empty(4)
    a0, past, last, change, null_rows = motion.a, motion.past, motion.last, motion.increment, np.zeros((0, 0))
    for step in range(steps):
        now = functions[step]
        copy(motion.multipliers, multipliers)  # not extrapolated: of redundant joints a part is never corrected
        _predict(int(last[ORDER]), scheme.alpha_m, motion.vdot, a0, past, a)
        measured = last[RATE] if last[AGE] < REMEASURE else 0.0
        believed = min(FORGET * last[LATER], SLOW) if last[LATER] > 0.0 else SLOW
        outcome, iterations, rate, later = _newton(
            flat, tree, weight, scheme, h, now, motion, kinematics, workspace, powers, measured, believed, null_rows
        )
        last[ITERATIONS] += iterations
        if outcome != CONVERGED:
            return outcome, step
        last[AGE] = 0.0 if iterations > 1 else last[AGE] + 1.0
        last[RATE], last[LATER] = rate, later
        for i in range(len(a)):
            change[i] = a[i] - a0[i]
        last[ERROR] = scheme.error_constant * h * h * largest_vector(tree, change, weight)
        if not last[ERROR] <= tolerance:
            return TOO_LARGE, step
        _integrate_powers(motion, h, powers)
        last[ORDER] = _best_order(weight, scheme.alpha_m, motion.vdot, a0, past, int(last[KNOWN]), a)
        last[KNOWN] = min(last[KNOWN] + 1.0, DEGREE)
        for k in range(DEGREE - 1, 0, -1):
            copy(past[k - 1], past[k])
        copy(a0, past[0])
        last[SIZE] = h
        last[BEFORE] = h
        _count_turns(flat, h, now, motion, kinematics, workspace)
        copy(workspace.q, motion.q)
        copy(workspace.w, motion.w)
        copy(workspace.wdot, motion.wdot)
        copy(a, motion.a)
        copy(motion.next_v, motion.v)
        copy(motion.next_vdot, motion.vdot)
        for b in range(len(tree.order)):
            copy(motion.next_pose[b], motion.pose[b])
        copy(multipliers, motion.multipliers)
        if tolerance < np.inf and not SUITED[0] * tolerance < last[ERROR] < SUITED[1] * tolerance:
            return UNSUITED, step + 1
    return CONVERGED, steps

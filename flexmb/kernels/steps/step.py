"""Compiled steps of the generalised-alpha method: the Newton iteration of one step, and the loop over steps."""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.data import COUPLED, FORCES, GROUND, INACTIVE, VELOCITY_KINDS
from flexmb.kernels.base.dense import copy
from flexmb.kernels.equations.controllers import control
from flexmb.kernels.equations.displacement import fastest_rotation, largest_vector
from flexmb.kernels.equations.elements import act, element_tangents
from flexmb.kernels.equations.residual import correct_efforts, law_slopes, powers_of, residual
from flexmb.kernels.equations.rows import add_turns, all_rows, angles_at, as_driven, row_rates
from flexmb.kernels.joint_coordinates.pivots import unwind
from flexmb.kernels.joint_coordinates.tree import joint_velocities, place_bodies
from flexmb.kernels.steps.carried import carry_lines
from flexmb.kernels.steps.commanded import follow_commands, respond_to_commands
from flexmb.kernels.steps.pressing import begin_skins, press_skins
from flexmb.kernels.steps.sliding import respond, slide
from flexmb.kernels.steps.solve import solve_step
from flexmb.kernels.steps.touching import add_touch_forces, press, respond_to_touch, touch

BELOW_ERROR = 3e4
"""Scale of the Newton tolerance over the local error: with a tolerance of 1e-8 the last correction is at most 3e-4 of
the error of the step."""
ROUNDING = 2e-15
"""Smallest Newton corrections that round-off permits, as displacements relative to the length of the mechanism."""
STALLED = 1e-8
"""The same for almost dependent joint equations (a mechanism that passes a singular configuration), when corrections no
longer decrease: the equations hardly depend on the remaining motion."""

CONVERGED, DIVERGED, NO_MASS, TOO_LARGE, UNSUITED, JAMMED, CHANGES = range(7)
"""Outcomes of `advance`:

- `CONVERGED`: all steps are complete.
- `DIVERGED`: the Newton iteration failed.
- `NO_MASS`: a mass matrix is not positive definite.
- `TOO_LARGE`: the error of a step is too large, and the step is rejected.
- `UNSUITED`: the step is accepted, but its error differs so much from the tolerance that the step size should change.
- `JAMMED`: no forces of touching points were found.
- `CHANGES`: a point that did not touch overlaps at the end of the step, or begins or ceases to slide in it; the step is
  not kept.
"""
SUITED = (0.42, 0.85)
"""Range of the error over the tolerance in which the step size is kept: it would decrease by less than 5 % or increase
by less than 20 %."""

SLOW = 0.1
"""Contraction above which a new iteration matrix is evaluated within a step."""
FORGET = 1.25
"""Assumed growth, per step without a measurement, of the contraction of later corrections: a factor of ninety in twenty
steps."""
SETTLED = 5
"""Number of the correction from which the multipliers are taken as converged. The multipliers of driven bodies still
change when the positions do not, by their latest correction times the displacement of the mechanism since the
evaluation of the matrix."""
COMPLIANCES, SUFFICIENT = (0.0, 1e-6, 1e-4), 4
"""Compliances of points of exact contacts, relative to their mean response: each next one is taken where no forces are
found, or after a number of corrections."""
STATE_TIME = 0.1
"""Time in which the rate of a state makes its least size for the tolerance, relative to that of the mechanism: states
that begin at zero have no size of their own."""
REMEASURE = 20
"""Number of steps after which the contraction of the iteration is measured again."""


class Scheme(NamedTuple):
    """Coefficients of the generalised-alpha method."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    error_constant: float  # |1/6 - beta - (alpha_m - alpha_f)/2|: local error of the position over h^2 da
    # tolerance of the Newton corrections, relative to h^2 times the accelerations or to BELOW_ERROR times the local
    # error
    tolerance: float
    iterations: int  # largest number of iterations


class IntegratorState(NamedTuple):
    """The variables that a step advances in place, and their values at the end of the step."""

    q: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    v: np.ndarray  # (ny,) velocities of the integrated coordinates
    vdot: np.ndarray
    a: np.ndarray  # (ny,) the algorithm's own accelerations
    pose: np.ndarray  # (nb, 7) rigid motions of the joints of the tree
    next_v: np.ndarray
    next_vdot: np.ndarray
    next_a: np.ndarray
    next_pose: np.ndarray
    increment: np.ndarray  # (ny,)
    correction: np.ndarray  # (ny,)
    multipliers: np.ndarray  # (joint_rows,)
    states: np.ndarray  # (nz,) states of the frame forces at the end of the latest step
    state_rates: np.ndarray  # (nz,) their rates there
    past_rates: np.ndarray  # (nz,) their rates one step before
    largest_states: np.ndarray  # (nz,) their largest magnitudes so far
    angles: np.ndarray  # (na,) continuous angles at the end of the latest step
    expected: np.ndarray  # (na,) predicted angles at the end of the present step
    powers: np.ndarray  # (2, 4) powers after the latest step and the step before
    work: np.ndarray  # (4,) integrals of the powers
    past: np.ndarray  # (DEGREE, ny) `a` of earlier steps of the same size, the latest first
    last: np.ndarray  # (13,) step size, error and statistics; its entries are listed below


SIZE, ERROR, ITERATIONS, BEFORE, KNOWN, ORDER, RATE, AGE, LATER, AFRESH, RUBBING, USUAL, WORST = range(13)
"""Entries of `IntegratorState.last`:

- `SIZE`: the step size to which `a` belongs.
- `ERROR`: the error of the motion in the last step.
- `ITERATIONS`: the number of iterations so far.
- `BEFORE`: the size of the step before the next one; 0 if there is none.
- `KNOWN`: the number of rows of `past` in use.
- `ORDER`: the degree of the best prediction.
- `RATE`: the contraction of the iteration; 0 if it is unknown.
- `AGE`: the number of steps since the contraction was measured.
- `LATER`: the contraction of later corrections; 0 if it is unknown.
- `AFRESH`: 1 if the next step with exact contacts does not use the accelerations of the method.
- `RUBBING`: the power that the friction of exact contacts takes.
- `USUAL`: the size of whole steps with exact contacts, which changes divide.
- `WORST`: the error of the motion or of a state in the last step, whichever is larger.
"""
DEGREE = 3
"""Highest degree of the polynomials that predict accelerations."""


@njit(cache=True)
def move(h, beta, gamma, alpha_m, alpha_f, v0, a0, vdot0, a, increment, v, vdot):
    """Write the increment, velocities and accelerations at the end of a step, from the accelerations `a` of the method
    (the auxiliary variable of generalised-alpha)."""
    scale = 1.0 / (1.0 - alpha_f)
    for i in range(len(v)):
        increment[i] = h * v0[i] + h * h * ((0.5 - beta) * a0[i] + beta * a[i])
        v[i] = v0[i] + h * ((1.0 - gamma) * a0[i] + gamma * a[i])
        vdot[i] = ((1.0 - alpha_m) * a[i] + alpha_m * a0[i] - alpha_f * vdot0[i]) * scale


@njit(cache=True)
def row_compliances(flat, workspace, functions, gamma, compliance):
    """Write the compliance of every row in the iteration matrix to `compliance` (nr,).

    It is zero for joint equations, and the reciprocal of the stiffness plus `gamma` times the damping for force
    elements. The rows of frame forces are `COUPLED`.
    """
    compliance[: flat.joint_rows] = 0.0
    for r in range(flat.joint_rows, len(compliance)):
        stiffness, damping = law_slopes(flat, workspace, functions, r)
        total = flat.row_stiffness[r] + stiffness + gamma * (flat.row_damping[r] + damping)
        compliance[r] = 1.0 / total if total > 0.0 else INACTIVE
    for e in range(len(flat.element_row)):
        for r in range(flat.element_row[e], flat.element_row[e] + 6):
            compliance[r] = COUPLED


@njit(cache=True)
def step_factors(scheme, h):
    """Derivatives of the accelerations, of the velocities and of the accelerations of the method with respect to the
    displacement at the end of a step."""
    to_a = 1.0 / (scheme.beta * h * h)
    return (1.0 - scheme.alpha_m) / (1.0 - scheme.alpha_f) * to_a, scheme.gamma / (scheme.beta * h), to_a


@njit(cache=True)
def as_displacement(flat, beta, change):
    """The largest change of a multiplier as a displacement relative to the length of the mechanism.

    It is the displacement that the force of the multiplier alone would cause for the heavier of its two bodies. `beta`
    is the derivative of accelerations with respect to displacements.
    """
    size = 0.0
    for r in range(flat.joint_rows):
        mass = 0.0
        for side in range(2):
            b = flat.marker_body[flat.row_markers[r, side]]
            if b != GROUND:
                mass = max(mass, flat.mass[b])
        force = abs(change[r]) if flat.row_kind[r] in FORCES else abs(change[r]) / flat.scales[0]
        size = max(size, force / mass)
    return size / (beta * flat.scales[0])


@njit(cache=True)
def _require_rates(flat, workspace, w, gamma, row_rhs):
    """Set the right-hand side of joint equations for velocities: the displacement that makes their rates vanish."""
    row_rates(flat, workspace.G, w, workspace.rates)
    for r in range(flat.joint_rows):
        if flat.row_kind[r] in VELOCITY_KINDS:
            row_rhs[r] = -workspace.rates[r] / gamma


@njit(cache=True, inline="always")
def newton(flat, tree, weight, scheme, h, functions, motion, kinematics, workspace, powers, rate, later, null_rows, X):
    """Solve the equations of one step by Newton iteration, from the prediction in `motion.next_a` and
    `workspace.multipliers`.

    Points of exact contacts that touch, `workspace.touch_point`, are included; `X` are the responses to their forces.
    Returns `(outcome, iterations, rate, later, X)`. The matrix of the first correction is reused while the corrections
    decrease fast. `rate` is the last measured contraction of the iteration, or 0 if it is unknown; with it, the first
    correction can be accepted as the last one (Hairer and Wanner, Solving Ordinary Differential Equations II, section
    IV.8). `later` is the last measured contraction from the second correction on. It is measured separately because the
    first correction may be dominated by a body for which the matrix is accurate, such as a driven one, and hide the
    correction of another body, for which it is not. The ratio of the second to the first correction is then far below
    that of the third to the second.
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
    fastest, strongest = fastest_rotation(flat, motion.w), largest_vector(tree, vdot0, weight)
    scale = min(1.0, max(h * h * (strongest + fastest * fastest), BELOW_ERROR * motion.last[ERROR]))
    tolerance = max(scheme.tolerance * scale, ROUNDING)
    previous, slow, moved, unsettled = np.inf, True, 0.0, False
    touching, pushed, pressing = workspace.touch_count[0] > 0, null_rows, len(flat.skin_body) > 0
    soft, enough = 0, 6 if not touching else 6 + SUFFICIENT * (len(COMPLIANCES) - 1)
    if pressing:
        begin_skins(flat, motion, kinematics, workspace)
    least = 1 if len(flat.friction_row) == 0 else 2  # friction depends on the multipliers, whose first change is large
    for iteration in range(1, scheme.iterations + 1):
        move(h, scheme.beta, scheme.gamma, scheme.alpha_m, scheme.alpha_f, v0, a0, vdot0, a, increment, v, vdot)
        place_bodies(flat, tree, motion.pose, q0, increment, v, vdot, q0, motion.next_pose, q, w, wdot)
        if iteration > least and previous <= tolerance and not unsettled:
            if len(values) > nj:  # forces and states at the motion after the last correction
                correct_efforts(flat, functions, gamma, x, workspace)
            if flat.contact_state > 0 or flat.follows == 1:
                all_rows(flat, q, functions, expected, kinematics, values, workspace.G)
                row_rates(flat, workspace.G, w, workspace.rates)
                if len(flat.control_law) > 0:
                    control(flat, q, w, functions, expected, kinematics, workspace)
                act(flat, functions, kinematics, workspace)
            powers_of(flat, functions, multipliers, w, workspace, powers)
            return CONVERGED, iteration - 1, rate, later, X
        residual(flat, q, w, wdot, multipliers, functions, expected, kinematics, workspace, unbalanced, energies)
        for i in range(nv):
            unbalanced[i] = -unbalanced[i]
        if touching:
            touch(flat, kinematics, workspace)
            add_touch_forces(flat, workspace, 1.0, unbalanced)
        for r in range(nj):
            row_rhs[r] = -values[r]
            workspace.previous_multipliers[flat.row_place[r]] = multipliers[r]
        if flat.velocity_rows > 0:
            _require_rates(flat, workspace, w, gamma, row_rhs)
        if slow and len(flat.element_row) > 0:
            element_tangents(flat, functions, workspace, gamma)
        outcome, null_rows = solve_step(
            slow, null_rows, flat, workspace, beta, gamma, compliance, unbalanced, row_rhs, x, change
        )
        if outcome < 0:
            return NO_MASS, iteration, rate, later, X
        if len(flat.line_kind) > 0:
            carry_lines(flat, q, w, functions, kinematics, workspace, null_rows, beta, gamma, compliance, x, change)
        if len(flat.friction_row) > 0:
            if slow:
                respond(flat, workspace, null_rows, beta, compliance)
            slide(flat, workspace, multipliers, gamma, x, change)
        if flat.follows == 1:
            if slow:
                respond_to_commands(flat, functions, kinematics, workspace, null_rows, beta, compliance)
            follow_commands(flat, kinematics, workspace, gamma, x, change)
        if touching:
            if slow:
                X, pushed = respond_to_touch(flat, workspace, null_rows, beta, compliance)
            soft = max(soft, min((iteration - 1) // SUFFICIENT, len(COMPLIANCES) - 1))
            while not press(flat, workspace, X, pushed, gamma, COMPLIANCES[soft], w, x, change):
                if soft == len(COMPLIANCES) - 1:
                    return JAMMED, iteration, rate, later, X
                soft += 1
        if pressing and not press_skins(flat, q, kinematics, workspace, null_rows, beta, compliance, slow, x, change):
            return JAMMED, iteration, rate, later, X
        joint_velocities(flat, tree, kinematics, q, x, correction)
        unwind(tree, increment, correction)
        size = largest_vector(tree, correction, weight)
        for i in range(len(a)):
            a[i] += to_a * correction[i]
        for r in range(nj):
            multipliers[r] += change[r]
        if not np.isfinite(size):
            return DIVERGED, iteration, rate, later, X
        if slow:
            moved = 0.0
        pull = as_displacement(flat, beta, change) if 1 < iteration < SETTLED else 0.0
        unsettled = pull * moved > tolerance
        moved += size
        slow = size > SLOW * previous
        if iteration == 1 and least == 1 and rate > 0.0 and rate**0.8 * size <= 0.1 * tolerance:
            size = tolerance  # the remaining error is below the tolerance
        elif iteration == 2 and previous > 0.0:
            rate = max(max(size, pull) / previous, 1e-8)
        elif iteration == 3 and previous > 0.0:
            later = min(max(size / previous, 1e-8), SLOW)
        if size > tolerance and iteration > 3 and size > 0.7 * previous:
            if size < (1e3 * ROUNDING if iteration <= 6 else STALLED):  # round-off prevents further improvement
                size = tolerance
            elif iteration > enough:
                return DIVERGED, iteration, rate, later, X
        elif (
            not unsettled
            and iteration > 1
            and size < SLOW * previous
            and size * max(size, later * previous) < tolerance * previous
        ):
            size = tolerance  # with this contraction the next correction is below the tolerance
        previous = size
    return DIVERGED, scheme.iterations, rate, later, X


@njit(cache=True, inline="always")
def integrate_powers(motion, h, powers):
    """Add the work of one step: the integral of a parabola through the powers of three steps (third order), and the
    trapezoidal rule in the first step."""
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
def predict(order, alpha_m, vdot, now, past, out):
    """Predict the accelerations of the next step: by the recurrence of the method (order 0), or by a polynomial of
    degree 1 to 3 through those of the latest steps."""
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
def best_order(weight, alpha_m, vdot, now, past, known, a):
    """The order of the prediction (see `predict`) that is closest to the accelerations `a` of the completed step.

    `known` is the number of rows of `past` in use. Extrapolation is best for motions that the step resolves. The
    recurrence of the method is better for high-frequency vibrations that its numerical damping removes.
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
def believed_rate(last):
    """The convergence rates of Newton's method that a step may rely on: the measured one of its matrix, 0 if it is too
    old, and that of later corrections."""
    measured = last[RATE] if last[AGE] < REMEASURE else 0.0
    return measured, (min(FORGET * last[LATER], SLOW) if last[LATER] > 0.0 else SLOW)


@njit(cache=True, inline="always")
def remember(motion, h):
    """Add the present accelerations to those of the latest steps, and the size `h` of the step."""
    for k in range(DEGREE - 1, 0, -1):
        copy(motion.past[k - 1], motion.past[k])
    copy(motion.a, motion.past[0])
    motion.last[SIZE] = motion.last[BEFORE] = h


@njit(cache=True, inline="always")
def count_turns(flat, h, functions, motion, kinematics, workspace):
    """Update the continuous angles at the end of a step.

    The mean of the rates at both ends predicts them, so that a joint may rotate by more than half a turn in a step.
    """
    angles = motion.angles
    add_turns(flat, motion.w, 0.5 * h, angles)
    add_turns(flat, workspace.w, 0.5 * h, angles)
    as_driven(flat, functions, angles)
    angles_at(flat, kinematics, angles)
    copy(angles, motion.expected)


@njit(cache=True)
def predict_states(flat, h, states, rates, workspace):
    """Set the part of the states at the end of a step of size `h` that is known at its beginning, from the states and
    their rates there."""
    workspace.half[0] = 0.5 * h
    for e in range(len(flat.element_row)):
        part = 0.5 * h if flat.element_updates[e] == 0 else 0.0
        for k in range(flat.element_state[e], flat.element_state[e + 1]):
            workspace.state_base[k] = states[k] + part * rates[k]
            workspace.state_rates[k] = rates[k]
    for c in range(len(flat.control_law)):
        part = 0.5 * h if flat.control_sampled[c] == 0 else 0.0
        for k in range(flat.control_state[c], flat.control_state[c + 1]):
            workspace.state_base[k] = states[k] + part * rates[k]
            workspace.state_rates[k] = rates[k]


@njit(cache=True)
def _error_of_states(flat, h, motion, workspace):
    """The largest local error of the trapezoidal rule for continuous states, `h^3/12 z'''`, relative to the state."""
    worst = 0.0
    for e in range(len(flat.element_row)):
        if flat.element_updates[e] == 0:
            first, end = flat.element_state[e], flat.element_state[e + 1]
            worst = max(worst, _error_of(flat, h, first, end, motion, workspace))
    for c in range(len(flat.control_law)):
        if flat.control_sampled[c] == 0:
            first, end = flat.control_state[c], flat.control_state[c + 1]
            worst = max(worst, _error_of(flat, h, first, end, motion, workspace))
    return worst


@njit(cache=True)
def _error_of(flat, h, first, end, motion, workspace):
    """`_error_of_states` for the states from `first` to `end` - 1. The first step has no rates before it."""
    worst, last, short = 0.0, motion.last[BEFORE], STATE_TIME / flat.scales[1]
    for k in range(first, end):
        before, now = motion.state_rates[k], workspace.state_rates[k]
        if last > 0.0:
            bend = h * h / (6.0 * (h + last)) * (now - before - h / last * (before - motion.past_rates[k]))
        else:
            bend = h / 12.0 * (now - before)
        size = max(motion.largest_states[k], abs(workspace.states[k]), short * max(abs(before), abs(now)))
        if size > 0.0:
            worst = max(worst, abs(bend) / size)
    return worst


@njit(cache=True)
def keep_step(flat, tree, h, functions, motion, kinematics, workspace):
    """Take the end of a step of size `h` as the present motion."""
    count_turns(flat, h, functions, motion, kinematics, workspace)
    copy(workspace.q, motion.q)
    copy(workspace.w, motion.w)
    copy(workspace.wdot, motion.wdot)
    copy(workspace.states, motion.states)
    copy(motion.state_rates, motion.past_rates)
    copy(workspace.state_rates, motion.state_rates)
    for k in range(len(motion.states)):
        motion.largest_states[k] = max(motion.largest_states[k], abs(motion.states[k]))
    copy(motion.next_a, motion.a)
    copy(motion.next_v, motion.v)
    copy(motion.next_vdot, motion.vdot)
    for b in range(len(tree.order)):
        copy(motion.next_pose[b], motion.pose[b])
    copy(workspace.multipliers, motion.multipliers)


@njit(cache=True)
def advance(flat, tree, weight, scheme, h, steps, tolerance, functions, motion, kinematics, workspace):
    """Advance `motion` in place by `steps` steps of size `h`, to which its accelerations belong.

    - `tree`, `weight`: tree of the integrated coordinates, and their error weights.
    - `tolerance`: bound of the local error of a step. If it is infinite, no step is rejected and `h` is kept.
    - `functions` (steps, nf, 3): functions of time at the ends of the steps.
    - `kinematics`, `workspace`: arrays of `make_marker_kinematics` and `make_workspace`.

    The method is generalised-alpha on the Lie group of the motions of the tree, for the equations of index 3 (Brüls,
    Cardona and Arnold 2012, equations 12 to 16). Returns `(outcome, completed steps)`. If a step fails or is rejected,
    `motion` remains at the last completed step.
    """
    a, multipliers = motion.next_a, workspace.multipliers
    powers = np.empty(4)
    a0, past, last, change, null_rows = motion.a, motion.past, motion.last, motion.increment, np.zeros((0, 0))
    for step in range(steps):
        now = functions[step]
        # multipliers are not extrapolated: some components are never corrected if joints are redundant
        copy(motion.multipliers, multipliers)
        predict(int(last[ORDER]), scheme.alpha_m, motion.vdot, a0, past, a)
        if flat.contact_state > 0:
            predict_states(flat, h, motion.states, motion.state_rates, workspace)
        measured, believed = believed_rate(last)
        outcome, iterations, rate, later, _ = newton(
            flat,
            tree,
            weight,
            scheme,
            h,
            now,
            motion,
            kinematics,
            workspace,
            powers,
            measured,
            believed,
            null_rows,
            null_rows,
        )
        last[ITERATIONS] += iterations
        if outcome != CONVERGED:
            return outcome, step
        last[AGE] = 0.0 if iterations > 1 else last[AGE] + 1.0
        last[RATE], last[LATER] = rate, later
        for i in range(len(a)):
            change[i] = a[i] - a0[i]
        last[ERROR] = scheme.error_constant * h * h * largest_vector(tree, change, weight)
        last[WORST] = last[ERROR]
        if tolerance < np.inf and flat.contact_state > 0:
            last[WORST] = max(last[ERROR], _error_of_states(flat, h, motion, workspace))
        if not last[WORST] <= tolerance:
            return TOO_LARGE, step
        integrate_powers(motion, h, powers)
        if len(flat.skin_body) > 0:
            motion.work[3] += workspace.skin_heat[0]
        last[ORDER] = best_order(weight, scheme.alpha_m, motion.vdot, a0, past, int(last[KNOWN]), a)
        last[KNOWN] = min(last[KNOWN] + 1.0, DEGREE)
        remember(motion, h)
        keep_step(flat, tree, h, now, motion, kinematics, workspace)
        if tolerance < np.inf and not SUITED[0] * tolerance < last[WORST] < SUITED[1] * tolerance:
            return UNSUITED, step + 1
    return CONVERGED, steps

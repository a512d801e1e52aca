"""Compiled steps of the generalised-alpha method with exact contacts: smooth motion between impacts.

The points that touch act within the Newton iteration of a step (flexmb/kernels/steps/touching.py). After a change, of a
mode or by an impact, the accelerations of the method belong to another motion: a step with `a` as its only acceleration
(`alpha_m = alpha_f = 0`, `beta = 1/2`, `gamma = 1`) makes a new start, with an error of second order for each change.
Impacts are left to the caller: a step is not kept in which a point that did not touch overlaps at the end.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.dense import copy, inner
from flexmb.kernels.equations.displacement import largest_vector
from flexmb.kernels.equations.residual import DRIVER
from flexmb.kernels.equations.rows import place_markers
from flexmb.kernels.steps.step import (
    AFRESH,
    AGE,
    BEFORE,
    CHANGES,
    CONVERGED,
    DEGREE,
    ERROR,
    ITERATIONS,
    KNOWN,
    LATER,
    ORDER,
    RATE,
    RUBBING,
    SLOW,
    USUAL,
    believed_rate,
    best_order,
    integrate_powers,
    keep_step,
    newton,
    predict,
    predict_states,
    remember,
)
from flexmb.kernels.steps.touching import (
    AT_REST,
    OPEN,
    SLIDES,
    STICKS,
    all_gaps,
    close_gaps,
    gather,
    keep_touch,
    loosen,
    mode_of,
    rates_of,
    release,
    rubbing_power,
    touch,
    touch_rates,
    turning_of,
)
from flexmb.kernels.steps.tracking import rim_limits

HIT = 1e-11
"""Overlap of an open point, relative to the length of the mechanism, at which it hits."""
FREELY, PROBE, THROUGH = 0, 1, 2
"""The end of a step in `advance_touching`: kept unless something changes; computed only; kept."""
LOCATED = 32
"""Touching points up to which the beginning and the end of sliding are changes."""


@njit(cache=True)
def _overlaps(flat, workspace, states):
    """Whether a point overlaps that does not touch in the modes of `states`."""
    limit = -HIT * flat.scales[0]
    for k in range(len(flat.point_contact)):
        if workspace.point_gap[k] < limit and states[flat.contact_state + 4 * k] == OPEN:
            return True
    return False


@njit(cache=True)
def _turning_changes(was, now, before, rate, quiet):
    """Whether spinning or rolling stops or turns back, in a step from the mode `was` to `now` and from the rates
    `before` (3) to `rate` (3)."""
    for bit, low, high in ((1.0, 0, 0), (2.0, 1, 2)):
        if (was - 1.0) % (2.0 * bit) < bit or was == OPEN or now == OPEN:
            continue
        across, fast = 0.0, 0.0
        for c in range(low, high + 1):
            across += before[c] * rate[c]
            fast = max(fast, abs(before[c]))
        if fast > quiet and ((now - 1.0) % (2.0 * bit) < bit or across < 0.0):
            return True
    return False


@njit(cache=True)
def _slip_changes(flat, workspace, states, w, quiet):
    """Whether a point that sticks in the modes of `states` slides at the end of the step, with less friction, or one
    that slides sticks or slides backwards; `w` (nv,) are the velocities at the beginning of the step, and the rates of
    the points are those at its end."""
    count = workspace.touch_count[0]
    if count > LOCATED:
        return False
    for j in range(count):
        k, rate = workspace.touch_point[j], workspace.touch_rate[j]
        if workspace.touch_turns[j] == 1:
            was, before = states[flat.turn_state[k]], rates_of(flat, workspace, j, w)
            if _turning_changes(was, turning_of(flat, workspace, j, quiet), before, rate, quiet):
                return True
            continue
        was, now = states[flat.contact_state + 4 * k], mode_of(workspace, j, quiet)
        sliding, sticking = flat.contact_friction[flat.point_contact[k]]
        if was == STICKS and now == SLIDES and sticking > sliding:
            return True
        if was == SLIDES and sliding > 0.0 and now != OPEN:
            _, s, t = rates_of(flat, workspace, j, w)
            if math.hypot(s, t) > quiet and (now == STICKS or s * rate[1] + t * rate[2] < 0.0):
                return True
    return False


@njit(cache=True)
def advance_touching(flat, tree, weight, scheme, start, h, steps, end, functions, motion, kinematics, workspace):
    """As `advance`, for fixed steps with exact contacts.

    - `start`: the coefficients of a step after a change.
    - `end`: FREELY, PROBE or THROUGH. After PROBE, `workspace` holds the end of the step, with the gaps of all points.

    After FREELY and PROBE, the outcome is CHANGES if a point hits, begins or ceases to slide, or leaves the borders of
    its pair of features.
    """
    a, multipliers, past, last = motion.next_a, workspace.multipliers, motion.past, motion.last
    powers, change, none, X = np.empty(4), motion.increment, np.zeros((0, 0)), np.zeros((0, 0))
    weight_of_all = math.sqrt(flat.gravity[0] ** 2 + flat.gravity[1] ** 2 + flat.gravity[2] ** 2)
    for step in range(steps):
        now, afresh = functions[step], last[AFRESH] == 1.0
        used = start if afresh else scheme
        gather(flat, motion.states, workspace, afresh)
        measured, believed = (0.0, SLOW) if afresh else believed_rate(last)
        quiet, changes, slip = 0.0, False, none
        if afresh and end != PROBE:
            place_markers(flat, motion.q, kinematics)
            touch(flat, kinematics, workspace)
            touch_rates(flat, workspace, motion.w)
            slip = workspace.touch_rate[: workspace.touch_count[0]].copy()
        while True:
            copy(motion.multipliers, multipliers)
            if afresh:  # the accelerations of a short part before an impact may be those of a jolt
                a[:] = 0.0
            else:
                predict(int(last[ORDER]), scheme.alpha_m, motion.vdot, motion.a, past, a)
            if flat.contact_state > 0:
                predict_states(flat, h, motion.states, motion.state_rates, workspace)
            outcome, iterations, rate, later, X = newton(
                flat,
                tree,
                weight,
                used,
                h,
                now,
                motion,
                kinematics,
                workspace,
                powers,
                measured,
                believed,
                none,
                none,
            )
            last[ITERATIONS] += iterations
            if outcome != CONVERGED:
                return outcome, step
            quiet = (
                AT_REST
                * last[USUAL]
                * (weight_of_all + flat.scales[0] * largest_vector(tree, motion.next_vdot, weight))
            )
            place_markers(flat, workspace.q, kinematics)
            touch(flat, kinematics, workspace)
            touch_rates(flat, workspace, workspace.w)
            release(flat, workspace, X, h, quiet)
            changes = end != THROUGH and _slip_changes(flat, workspace, motion.states, motion.w, quiet)
            if changes or loosen(flat, workspace, quiet) == 0:
                break
        rim_limits(flat, kinematics, workspace, workspace.w, workspace.wdot, last[USUAL])
        all_gaps(flat, kinematics, workspace, motion.states)
        if end != THROUGH:
            changes = changes or workspace.touch_count[2] > 0 or _overlaps(flat, workspace, motion.states)
            if changes or end == PROBE:
                return CHANGES if changes else CONVERGED, step
        if close_gaps(flat, tree, kinematics, workspace, X, workspace.q, motion.next_pose):
            touch_rates(flat, workspace, workspace.w)
        before = last[RUBBING]
        if afresh:
            before = 0.0
            for j in range(len(slip)):
                before -= inner(slip[j], workspace.touch_force[j], 3)
        last[RUBBING] = rubbing_power(workspace)
        if afresh:  # the reactions before a change are others
            motion.powers[0, DRIVER] = powers[DRIVER]
            last[BEFORE] = 0.0
        integrate_powers(motion, h, powers)
        motion.work[3] += 0.5 * h * (before + last[RUBBING])
        last[AGE] = 0.0 if iterations > 1 else last[AGE] + 1.0
        last[RATE], last[LATER] = rate, later
        for i in range(len(a)):
            change[i] = a[i] - motion.a[i]
        last[ERROR] = 0.0 if afresh else scheme.error_constant * h * h * largest_vector(tree, change, weight)
        last[ORDER] = 0.0
        if not afresh:
            last[ORDER] = best_order(weight, scheme.alpha_m, motion.vdot, motion.a, past, int(last[KNOWN]), a)
        last[KNOWN] = 0.0 if afresh else min(last[KNOWN] + 1.0, DEGREE)
        remember(motion, h)
        for k in range(flat.contact_state, len(motion.states)):
            workspace.states[k] = motion.states[k]
        changed = keep_touch(flat, workspace, quiet, workspace.states)
        keep_step(flat, tree, h, now, motion, kinematics, workspace)
        last[AFRESH] = 1.0 if changed > 0 else 0.0
    return CONVERGED, steps

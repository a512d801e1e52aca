"""Derivatives of every step of a recorded motion with respect to a parameter (direct differentiation).

The steps of flexmb/kernels/derivatives/adjoint.py are differentiated. The derivative of the state at the end of a step
follows from that at its start and from the derivatives of `a'` and of the multipliers. These satisfy the differentiated
residual and joint equations: a linear system whose matrix is that of a Newton step except for neglected terms, so that
a few corrections solve it. Terms that are linear in the derivative (masses times accelerations, joint equations,
reactions) are evaluated exactly, and the wrenches of frame forces change by the derivatives of their laws
(flexmb/kernels/derivatives/elements.py). The others are differences of two residuals: once per step with the parameter
increased and decreased, and in every correction with the state displaced to both sides, by an amount that is
independent of the size of the derivative.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.data import VELOCITY_KINDS, CompiledModel
from flexmb.kernels.base.dense import copy
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.derivatives.adjoint import ENOUGH, ITERATIONS, extrapolate, increment_of, settled
from flexmb.kernels.derivatives.controllers import telling_scale
from flexmb.kernels.derivatives.elements import element_changes, element_slopes, scales_of_states
from flexmb.kernels.derivatives.rubbing import changed_friction, with_friction
from flexmb.kernels.equations.displacement import displace, largest
from flexmb.kernels.equations.elements import element_tangents
from flexmb.kernels.equations.residual import residual
from flexmb.kernels.equations.rows import add_row_forces, row_rates
from flexmb.kernels.joint_coordinates.pivots import add_moved, changes_from_pivots, pivot_increment
from flexmb.kernels.steps.sliding import respond
from flexmb.kernels.steps.solve import mass_times, solve_step
from flexmb.kernels.steps.step import as_displacement, move, predict_states, row_compliances, step_factors

KEPT = 5
"""Number of previous steps from which the next derivative is extrapolated."""
STALLED = 1e-6
"""Correction, relative to the derivative of the accelerations, at which an iteration that stagnates by rounding
ends."""
HELD = 1e-10
"""The same relative to the derivative of the reactions, as accelerations: where the motion is held, those of the bodies
are round-off."""
UNCHANGED = 2e-15
"""Rounding error of the displacement of a step, relative to the length of the mechanism."""
ASIDE = 1e-4
"""Difference step of the state: displacement relative to the length of the mechanism, velocity relative to the largest
of the motion. The relative error is its square; twelve digits of a residual remain."""


class Variation(NamedTuple):
    """Derivatives with respect to the parameter, and work arrays.

    `q`, `w`, `wdot` are those of the state after the last step, in coordinates of pivots and attitudes
    (flexmb/kernels/joint_coordinates/pivots.py); `end_q`, `end_w`, `end_wdot` those after the next step; `next_q`,
    `next_w`, `next_wdot` the same for body frames.
    """

    q: np.ndarray  # (nv,) displacements of the pivots, rotations, elastic increments
    w: np.ndarray
    wdot: np.ndarray
    a: np.ndarray  # (KEPT + 1, nv) of the next and of earlier steps
    multipliers: np.ndarray  # (KEPT + 1, nj)
    pivot: np.ndarray  # (nb, 3) of the positions of the pivots in the bodies
    end_q: np.ndarray
    end_w: np.ndarray
    end_wdot: np.ndarray
    next_q: np.ndarray  # (nv,) twists of the frames, elastic increments
    next_w: np.ndarray
    next_wdot: np.ndarray
    increment: np.ndarray  # (nv,) increment of the motion
    change: np.ndarray  # (nv,) derivative of the increment
    moved_q: np.ndarray  # (nq,)
    moved_w: np.ndarray
    below: np.ndarray
    above: np.ndarray
    forced: np.ndarray  # (nv,) partial derivative of the residual
    joints: np.ndarray  # (nr,) partial derivative of the joint equations
    values: np.ndarray  # (nr,)
    efforts: np.ndarray  # (nr,)
    rates: np.ndarray  # (nr,) of the rates of the rows
    states: np.ndarray  # (nz,) states of frame forces and controllers after the last step
    state_rates: np.ndarray  # (nz,)
    base: np.ndarray  # (nz,) of their part that is known at the beginning of the step
    next_states: np.ndarray  # (nz,) after the next step
    next_state_rates: np.ndarray  # (nz,)
    commands: np.ndarray  # (nu,) of controllers


def make_variation(
    flat: CompiledModel,
    q: np.ndarray,
    w: np.ndarray,
    wdot: np.ndarray,
    a: np.ndarray,
    pivot: np.ndarray,
    states: np.ndarray,
    state_rates: np.ndarray,
) -> Variation:
    """A variation with the derivatives of the initial state."""
    nq, nv, nr, nu = int(flat.q_start[-1]), len(w), len(flat.row_kind), int(flat.control_command[-1])
    earlier, multipliers = np.zeros((KEPT + 1, nv)), np.zeros((KEPT + 1, flat.joint_rows))
    earlier[0] = a
    nz = len(states)
    rest = (nv,) * 8 + (nq,) + (nv,) * 4 + (nr,) * 4
    state = (q.copy(), w.copy(), wdot.copy(), earlier, multipliers, pivot.copy())
    own = (states.copy(), state_rates.copy(), *(np.zeros(n) for n in (nz, nz, nz, nu)))
    return pointed(Variation(*state, *(np.zeros(n) for n in rest), *own))


@njit(cache=True)
def _next(flat, tree, scheme, h, track, step, v):
    """Derivatives of the state at the end of a step from those of the accelerations."""
    move(
        h,
        scheme.beta,
        scheme.gamma,
        scheme.alpha_m,
        scheme.alpha_f,
        v.w,
        v.a[1],
        v.wdot,
        v.a[0],
        v.change,
        v.end_w,
        v.end_wdot,
    )
    v.end_q[:] = 0.0
    add_moved(flat, tree, v.increment, v.q, v.change, v.end_q)
    changes_from_pivots(
        flat,
        tree,
        v.pivot,
        track.q[step],
        track.w[step],
        track.wdot[step],
        v.end_q,
        v.end_w,
        v.end_wdot,
        v.next_q,
        v.next_w,
        v.next_wdot,
    )


@njit(cache=True)
def _force(flats, size, bends, tables, track, step, couplings, variation, kinematics, scratch):
    """Partial derivatives of the residual and of the joint equations with respect to the parameter, by central
    differences; if they are nonlinear in the parameter (`bends`), of fourth order."""
    v, nj = variation, len(track.multipliers[step])
    for i in range(len(v.forced)):
        v.forced[i] = couplings[step - 1, i]
    v.joints[:] = 0.0
    for side in range(1, 5 if bends else 3):
        weight = (-0.5 if side % 2 == 1 else 0.5) / size  # side: below, above, below by half, above by half
        if bends:
            weight *= -1.0 / 3.0 if side < 3 else 8.0 / 3.0
        residual(
            flats[side],
            track.q[step],
            track.w[step],
            track.wdot[step],
            track.multipliers[step],
            tables[side][step - 1],
            track.angles[step],
            kinematics[side],
            scratch,
            v.below,
            scratch.energies,
        )
        for i in range(len(v.forced)):
            v.forced[i] += weight * v.below[i]
        for r in range(nj):
            v.joints[r] += weight * scratch.values[r]
        if flats[side].velocity_rows > 0:
            row_rates(flats[side], scratch.G, track.w[step], v.values)
            for r in range(nj):
                if flats[side].row_kind[r] in VELOCITY_KINDS:
                    v.joints[r] += weight * (v.values[r] - scratch.values[r])


@njit(cache=True)
def _moved_residual(flat, bare, functions, size, h, track, step, variation, kinematics, workspace, wrenches, out):
    """The residual for a state displaced by `size` times its derivatives, with unchanged accelerations, multipliers and
    `wrenches` (nr,) of frame forces, which `bare` has not.

    What this side gives to central differences of the rates of the rows, of commands, and of the states of controllers
    and their rates is added to these in `variation`."""
    v, weight = variation, 0.5 / size
    if len(v.base) > 0:
        predict_states(flat, h, track.states[step - 1], track.state_rates[step - 1], workspace)
        for k in range(len(v.base)):
            workspace.state_base[k] += size * v.base[k]
    for i in range(len(v.w)):
        v.change[i] = size * v.next_q[i]
        v.moved_w[i] = track.w[step, i] + size * v.next_w[i]
    displace(flat, track.q[step], v.change, v.moved_q)
    residual(
        bare,
        v.moved_q,
        v.moved_w,
        track.wdot[step],
        track.multipliers[step],
        functions,
        track.angles[step],
        kinematics,
        workspace,
        out,
        workspace.energies,
    )
    for k in range(flat.control_state[0], len(v.base)):
        v.next_states[k] += weight * workspace.states[k]
        v.next_state_rates[k] += weight * workspace.state_rates[k]
    for k in range(len(v.commands)):
        v.commands[k] += weight * workspace.commands[k]
    if len(flat.element_row) > 0:
        v.efforts[:] = 0.0
        for first in flat.element_row:
            for r in range(first, first + 6):
                v.efforts[r] = -wrenches[r]
        add_row_forces(flat, workspace.G, v.efforts, out)
    if flat.velocity_rows > 0 or len(flat.friction_row) + len(flat.element_row) > 0:
        row_rates(flat, workspace.G, v.moved_w, v.values)
        for r in range(len(v.rates)):
            v.rates[r] += weight * v.values[r]


@njit(cache=True)
def _change_elements(flat, half, variation, scratch):
    """Set the derivatives of the reactions on frame forces in `variation.efforts`, and those of the states of frame
    forces, from those of the coordinates of rows, `variation.values`, and of their rates."""
    v = variation
    for e in range(len(flat.element_row)):
        element_changes(
            flat, half, e, v.values, v.rates, v.commands, v.base, scratch, scratch.efforts, v.next_states,
            v.next_state_rates,
        )  # fmt: skip
        for r in range(flat.element_row[e], flat.element_row[e] + 6):
            v.efforts[r] = -scratch.efforts[r]


@njit(cache=True)
def _turning_of_slip(flat, workspace, rates):
    """The largest derivative of a sliding velocity, relative to itself, from the derivatives `rates` (nr,) of the rates
    of the rows."""
    most = 0.0
    for k in range(len(flat.friction_speed)):
        change, size = 0.0, flat.friction_speed[k]
        if size == 0.0:  # the direction does not change
            continue
        for c in range(flat.friction_start[k], flat.friction_start[k + 1]):
            arm = flat.friction_arm[c]
            change = math.hypot(change, arm * rates[flat.friction_row[c]])
            size = math.hypot(size, arm * workspace.sliding_rates[c])
        most = max(most, change / size)
    return most


@njit(cache=True)
def _base_of_states(flat, h, t, v, workspace, scratch):
    """Set the derivatives of the part of the states that is known at the beginning of a step of size `h`, which ends at
    `t`; returns the largest of controllers, relative to the scales of their states."""
    largest_change, states, answers = 0.0, scratch.states, workspace.control_answer
    for e in range(len(flat.element_row)):
        part = 0.5 * h if flat.element_updates[e] == 0 else 0.0
        for k in range(flat.element_state[e], flat.element_state[e + 1]):
            v.base[k] = v.states[k] + part * v.state_rates[k]
    for k in range(flat.control_state[0], len(v.base)):
        v.base[k] = v.states[k] + 0.5 * h * v.state_rates[k]
    for c in range(len(flat.control_law)):
        own = range(flat.control_state[c], flat.control_state[c + 1])
        for k in own:
            states[k] = workspace.states[k]
        for k in own:
            scale = scratch.state_scale[k]
            scale = telling_scale(flat, c, t, workspace.signals, states, k, scale, answers[0], answers[1])
            largest_change = max(largest_change, abs(v.base[k]) / scale)
    return largest_change


@njit(cache=True)
def vary(
    flats,
    bare,
    tree,
    size,
    bends,
    speed,
    scheme,
    h,
    tables,
    couplings,
    of_states,
    of_rates,
    track,
    first,
    last,
    variation,
    kinematics,
    workspace,
    beside,
    scratch,
):
    """Derivatives with respect to a parameter along the steps `first` + 1 to `last` of a track.

    - `tree`: the coordinates of the motion.
    - `flats`, `tables` (n, nf, 3), `kinematics`: compiled models, functions of time and marker kinematics for the given
      parameter, the parameter decreased and increased by `size`, and by half of it. The last two are used only if
      residuals are nonlinear in the parameter (`bends`).
    - `speed`: the largest speed of the motion, in lengths of the mechanism per unit of time.
    - `couplings` (n, nv): derivatives of forces that the compiled models beside the first do not contain: those of
      frame forces, and between elastic coordinates.
    - `of_states`, `of_rates` (n, nz): partial derivatives of the states of frame forces, and of their rates, at the
      ends of the steps.
    - `bare`: the compiled model for the given parameter without frame forces.
    - `workspace`, `beside`: workspaces of the motion and of displaced states.
    - `scratch`: work arrays for the derivatives of laws (flexmb/kernels/derivatives/transposed.py).

    Returns zero, or the number of the step whose iteration fails.
    """
    flat = flats[0]
    v, nv, nj = variation, len(flat.weight), flat.joint_rows
    beta, gamma, to_a = step_factors(scheme, h)
    rhs, row_rhs, x, change, compliance = (
        workspace.unbalanced,
        workspace.row_rhs,
        workspace.x,
        workspace.change,
        workspace.compliance,
    )
    row_rhs[:], most, rate = 0.0, 0.0, 0.0
    rubs, no_rates, rubbed = len(flat.friction_row) > 0, np.zeros(len(compliance)), np.empty(len(flat.friction_row))
    coupled = len(flat.element_row) > 0
    scales_of_states(flat, track.states, 0.5 * h, track.state_rates, scratch.state_scale)
    for step in range(first + 1, last + 1):
        q, w, wdot, memory, now = (
            track.q[step],
            track.w[step],
            track.wdot[step],
            track.angles[step],
            tables[0][step - 1],
        )
        if len(v.base) > 0:
            predict_states(flat, h, track.states[step - 1], track.state_rates[step - 1], workspace)
        residual(
            flat, q, w, wdot, track.multipliers[step], now, memory, kinematics[0], workspace, rhs, workspace.energies
        )
        row_compliances(flat, workspace, now, gamma, compliance)
        if coupled:
            element_tangents(flat, now, workspace, gamma)
            element_slopes(flat, now, workspace, scratch)
        controlled = _base_of_states(flat, h, now[len(now) - 1, 0], v, workspace, scratch)
        _force(flats, size, bends, tables, track, step, couplings, v, kinematics, beside)
        for k in range(KEPT, 0, -1):
            copy(v.a[k - 1], v.a[k])
            copy(v.multipliers[k - 1], v.multipliers[k])
        extrapolate(v.a, 1, min(step, KEPT), v.a[0])
        extrapolate(v.multipliers, 1, min(step - 1, KEPT), v.multipliers[0])
        increment_of(flat, tree, scheme, h, track, step, v.increment)
        done, previous, null_rows = False, 0.0, np.zeros((0, 0))
        for iteration in range(ITERATIONS):
            _next(flat, tree, scheme, h, track, step, v)
            aside = largest(v.next_q, flat.weight) + largest(v.next_w, flat.weight) / speed + controlled
            aside = ASIDE / aside if aside > 0.0 else 1.0
            while True:
                v.rates[:], v.commands[:], v.next_states[:], v.next_state_rates[:] = 0.0, 0.0, 0.0, 0.0
                for displaced, out in ((-aside, v.below), (aside, v.above)):
                    _moved_residual(
                        flat,
                        bare,
                        now,
                        displaced,
                        h,
                        track,
                        step,
                        v,
                        kinematics[0],
                        beside,
                        workspace.efforts,
                        out,
                    )
                turning = _turning_of_slip(flat, workspace, v.rates) if rubs else 0.0
                if not aside * turning > 2.0 * ASIDE:
                    break
                aside = ASIDE / turning
            mass_times(flat, workspace, v.next_wdot, rhs)
            row_rates(flat, workspace.G, v.next_q, v.values)
            v.efforts[:] = 0.0
            copy(v.multipliers[0], v.efforts)
            if rubs:
                changed_friction(flat, workspace, track.multipliers[step], no_rates, v.efforts, rubbed)
                for c in range(len(rubbed)):
                    v.efforts[flat.friction_row[c]] = rubbed[c]
            if coupled:
                _change_elements(flat, 0.5 * h, v, scratch)
            add_row_forces(flat, workspace.G, v.efforts, rhs)
            for i in range(nv):
                rhs[i] = (v.below[i] - v.above[i]) / (2.0 * aside) - v.forced[i] - rhs[i]
            for r in range(nj):
                row_rhs[r] = -v.values[r] - v.joints[r]
                if flat.row_kind[r] in VELOCITY_KINDS:
                    row_rhs[r] = (-v.rates[r] - v.joints[r]) / gamma
                workspace.previous_multipliers[flat.row_place[r]] = v.multipliers[0, r]
            outcome, null_rows = solve_step(
                iteration == 0, null_rows, flat, workspace, beta, gamma, compliance, rhs, row_rhs, x, change
            )
            if outcome < 0:
                return step
            if rubs:
                if iteration == 0:
                    respond(flat, workspace, null_rows, beta, compliance)
                with_friction(flat, workspace, track.multipliers[step], gamma, x, change)
            pivot_increment(flat, tree, q, x, v.end_q)
            for i in range(nv):
                v.a[0, i] += to_a * v.end_q[i]
            for r in range(nj):
                v.multipliers[0, r] += change[r]
            magnitude, corrected = largest(v.a[0], flat.weight), to_a * largest(v.end_q, flat.weight)
            reacted = to_a * as_displacement(flat, beta, v.multipliers[0])
            most = max(most, magnitude, reacted)
            small, rate = settled(step, corrected, previous, rate, magnitude, most, ENOUGH)
            stalled = 0.0 < 0.5 * previous < corrected and (
                corrected <= max(STALLED * magnitude, HELD * reacted) or corrected * aside <= UNCHANGED * to_a
            )
            previous = corrected
            done = stalled or small
            if done:
                break
        if not done:
            return step
        if coupled:  # the states follow the last correction
            row_rates(flat, workspace.G, x, v.efforts)
            for r in range(len(v.efforts)):
                v.values[r] += v.efforts[r]
                v.rates[r] += gamma * v.efforts[r]
            _change_elements(flat, 0.5 * h, v, scratch)
        _next(flat, tree, scheme, h, track, step, v)
        copy(v.end_q, v.q)
        copy(v.end_w, v.w)
        copy(v.end_wdot, v.wdot)
        for k in range(len(v.base)):
            v.states[k] = v.next_states[k] + of_states[step - 1, k]
            v.state_rates[k] = v.next_state_rates[k] + of_rates[step - 1, k]
    return 0

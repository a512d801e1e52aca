"""The adjoint of the generalised-alpha method: adjoint variables of all steps of a recorded motion.

A step from `(q, w, wdot, a)` determines `a'` and the multipliers from (flexmb/integrators/generalised_alpha.py)

    q' = q o exp(xi),  xi = h v + h^2 ((1/2 - beta) a + beta a'),      v' = v + h ((1 - gamma) a + gamma a'),
    (1 - alpha_f) vdot' + alpha_f vdot = (1 - alpha_m) a' + alpha_m a,
    residual(q', w', wdot', multipliers') = 0,     g(q') = 0,

where `q` stands for positions of pivots, attitudes and elastic coordinates
(flexmb/kernels/joint_coordinates/pivots.py), `v` for their velocities, and `w`, `wdot` follow from `v` and `vdot`.

Let Q, W, D, A be the costates at the end of a step in these coordinates, `y` and `mu` the adjoint variables of its
residual and of its joint equations, and `Q* = Q + K^T y + G^T mu`, `W* = W + C^T y`, `D* = D + M y` (K, C, M:
derivatives of the residual with respect to q, w, wdot). The result is stationary with respect to `a'` and the
multipliers if

    h^2 beta T^T Q* + h gamma W* + (1 - alpha_m)/(1 - alpha_f) D* + A = 0,
    G y = -(derivative of the result with respect to the multipliers),

where T is the tangent operator of the increment `xi`. Joint equations for velocities, `G w = 0`, contribute `G^T mu`
to `W*` instead of `Q*`, and the derivative of `mu . G w` to `Q*`. The states of force elements have costates of their
own (flexmb/kernels/derivatives/elements.py).

Divided by `h^2 beta T^T`, the matrix of this system is that of a Newton step except for the terms which the latter
neglects; an iteration with its factors solves the system. The costates of the previous step then follow.

Source of the approach: Bruls, Sonneville, "Sensitivity analysis for flexible multibody systems formulated on a Lie
group" (EUROMECH Colloquium 524, 2012). Here the equations are discretised first, so that the gradient is that of the
computed motion.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    add,
    attitude,
    cross,
    dot,
    load3,
    matrix,
    rotate,
    rotate_inv,
    store,
    store_matrix,
    sub,
)
from flexmb.kernels.base.data import VELOCITY_KINDS, CompiledModel
from flexmb.kernels.base.dense import copy, inner
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.derivatives.controllers import control_slopes, controllers_transposed
from flexmb.kernels.derivatives.elements import (
    earlier_costates,
    element_slopes,
    element_transposed,
    scales_of_states,
    transposed_tangents,
)
from flexmb.kernels.derivatives.probed import probe_points, settle_points, takes_differences
from flexmb.kernels.derivatives.rubbing import add_pulled_friction, before_transposed
from flexmb.kernels.derivatives.skins import (
    begin_slip,
    correct_points,
    find_modes,
    follow_points,
    invert_points,
    keep_points,
    load_states,
    probed_transposed,
    skins_transposed,
    slip_transposed,
    surfaces_rub,
)
from flexmb.kernels.derivatives.transposed import add_rates_transposed, transposed
from flexmb.kernels.equations.displacement import largest
from flexmb.kernels.equations.residual import balance_body, balance_rows, law_slopes
from flexmb.kernels.equations.rows import add_row_forces, row_rates
from flexmb.kernels.joint_coordinates.pivots import (
    BEFORE,
    OF_INCREMENT,
    UNWOUND,
    add_slope_of_pivots,
    carried_back,
    forces_at_frames,
    forces_at_pivots,
    pivot_increment,
)
from flexmb.kernels.steps.sliding import respond
from flexmb.kernels.steps.solve import solve_again, solve_step
from flexmb.kernels.steps.step import CONVERGED, advance, as_displacement, predict_states, row_compliances, step_factors

ENOUGH = 1e-9
"""Relative error of the solution, estimated from the last correction and the contraction rate, at which the iteration
ends."""
SHARPER = 1e-12
"""The same with joint equations for velocities. Products with their adjoint variables, which converge later, are not
updated for the last correction."""
ROUNDING = 1e-14
"""Correction, relative to the largest solution so far, at which the iteration ends in any case. The solution includes
the adjoint variables of joint equations, as the displacements that they cause: all else of a held motion is
round-off."""
STALLED = 1e-10
"""The same at which an iteration ends that stagnates by rounding."""
REMEASURE = 50
"""Number of steps after which the contraction rate is measured again."""
FASTEST = 1e-4
"""Lower bound of the contraction rate, which differs between directions."""
ITERATIONS = 50


class Track(NamedTuple):
    """All steps of a motion, beginning with the initial state."""

    q: np.ndarray  # (n+1, nq)
    w: np.ndarray  # (n+1, nv)
    wdot: np.ndarray  # (n+1, nv)
    a: np.ndarray  # (n+1, nv)
    multipliers: np.ndarray  # (n+1, nj)
    angles: np.ndarray  # (n+1, na) angles that select the turns of the next ones
    states: np.ndarray  # (n+1, nz) states of the force elements between frames
    state_rates: np.ndarray  # (n+1, nz)


class Costates(NamedTuple):
    """Derivatives of the result with respect to the state at the end of a step."""

    q: np.ndarray  # (nv,)
    w: np.ndarray
    wdot: np.ndarray
    a: np.ndarray
    states: np.ndarray  # (nz,)
    state_rates: np.ndarray  # (nz,)


class BackwardPass(NamedTuple):
    """Work arrays of `backward_pass`."""

    to_q: np.ndarray  # (nv,)
    to_w: np.ndarray
    to_wdot: np.ndarray
    q_force: np.ndarray  # the same with respect to pivots and attitudes
    w_force: np.ndarray
    wdot_force: np.ndarray
    term: np.ndarray
    increment: np.ndarray
    force: np.ndarray
    before: np.ndarray
    powers: np.ndarray  # (nr,)
    efforts: np.ndarray  # (nr,)
    gravity: np.ndarray  # (3,) derivative of the result with respect to gravity
    pivot: np.ndarray  # (nb, 3) derivative with respect to the positions of the pivots


def _states(flat: CompiledModel) -> int:
    """The number of states, the last of which are the forces of flexible surfaces."""
    return flat.skin_state + 3 * len(flat.node_skin)


def make_track(flat: CompiledModel, steps: int) -> Track:
    """A track with space for `steps` steps."""
    nq, nv, n, nz = int(flat.q_start[-1]), int(flat.v_start[-1]), steps + 1, _states(flat)
    widths = (nq, nv, nv, nv, flat.joint_rows, len(flat.angle_driver), nz, nz)
    return pointed(Track(*(np.zeros((n, width)) for width in widths)))


def make_costates(flat: CompiledModel) -> Costates:
    """Costates of zero."""
    nv, nz = int(flat.v_start[-1]), _states(flat)
    return pointed(Costates(*(np.zeros(n) for n in (nv, nv, nv, nv, nz, nz))))


def make_backward_pass(flat: CompiledModel) -> BackwardPass:
    """Work arrays of `backward_pass`, filled with zeros."""
    nv, nr = int(flat.v_start[-1]), len(flat.row_kind)
    return pointed(BackwardPass(*(np.zeros(n) for n in (*(nv,) * 10, nr, nr, 3, (len(flat.modes), 3)))))


@njit(cache=True)
def keep(motion, track, at):
    """Write the current state of a motion to position `at` of the track."""
    copy(motion.q, track.q[at])
    copy(motion.w, track.w[at])
    copy(motion.wdot, track.wdot[at])
    copy(motion.a, track.a[at])
    copy(motion.multipliers, track.multipliers[at])
    copy(motion.angles, track.angles[at])
    copy(motion.states, track.states[at])
    copy(motion.state_rates, track.state_rates[at])


@njit(cache=True)
def advance_recorded(flat, tree, weight, scheme, h, functions, motion, kinematics, workspace, track, first):
    """Fixed steps of size `h` by `advance`, one for each row of `functions`, which are written to the track after
    position `first`. Returns the outcome and the number of completed steps."""
    for step in range(len(functions)):
        outcome, _ = advance(
            flat, tree, weight, scheme, h, 1, np.inf, functions[step : step + 1], motion, kinematics, workspace
        )
        if outcome != CONVERGED:
            return outcome, step
        keep(motion, track, first + step + 1)
    return CONVERGED, len(functions)


@njit(cache=True)
def extrapolate(y, step, known, out):
    """The value that precedes those of `y` from position `step` on, extrapolated by a polynomial through `known`
    values, of degree `known - 1`, at most four."""
    for i in range(len(out)):
        if known == 1:
            out[i] = y[step, i]
        elif known == 2:
            out[i] = 2.0 * y[step, i] - y[step + 1, i]
        elif known == 3:
            out[i] = 3.0 * (y[step, i] - y[step + 1, i]) + y[step + 2, i]
        elif known == 4:
            out[i] = 4.0 * (y[step, i] + y[step + 2, i]) - 6.0 * y[step + 1, i] - y[step + 3, i]
        elif known > 4:
            out[i] = 5.0 * (y[step, i] - y[step + 3, i]) - 10.0 * (y[step + 1, i] - y[step + 2, i]) + y[step + 4, i]


@njit(cache=True)
def increment_of(flat, tree, scheme, h, track, step, out):
    """The increment `out` (nv,) of pivots, attitudes and elastic coordinates in a step of a track."""
    pivot_increment(flat, tree, track.q[step - 1], track.w[step - 1], out)
    for i in range(len(out)):
        out[i] = h * out[i] + h * h * ((0.5 - scheme.beta) * track.a[step - 1, i] + scheme.beta * track.a[step, i])


@njit(cache=True)
def settled(step, corrected, previous, rate, size, most, enough):
    """Whether the iteration has converged to the relative error `enough`, and the updated contraction rate (0:
    unknown).

    `corrected` and `previous` are the sizes of the last two corrections (0: none), `size` is that of the solution and
    `most` that of the largest solution so far.
    """
    if previous > 0.0:
        rate = max(FASTEST, corrected / previous)
    believed = rate > 0.0 and (previous > 0.0 or step % REMEASURE != 0)
    return corrected <= max(enough * size / rate if believed else 0.0, ROUNDING * most), rate


@njit(cache=True, inline="always")
def _follow(flat, workspace, scratch, costates, acting, functions, beta, gamma, x, rhs, change, arrays):
    """Update the products for the last, small correction `x` with the matrix of the step instead of another evaluation;
    `acting` (nj,) are the multipliers of the step.

    The terms of `rhs = beta M x + gamma D x + K x + G^T change` are added to the respective products.
    """
    to_q, to_w, to_wdot, rest, efforts = arrays.to_q, arrays.to_w, arrays.to_wdot, arrays.term, arrays.efforts
    copy(change, efforts)
    rest[:] = 0.0
    add_row_forces(flat, workspace.G, efforts, rest)
    for i in range(len(x)):
        to_q[i] += rest[i]
        rhs[i] -= rest[i]
    if len(efforts) > flat.joint_rows or flat.velocity_rows > 0:
        for r in range(len(efforts)):
            damping = (
                flat.row_damping[r] + law_slopes(flat, workspace, functions, r)[1] if r >= flat.joint_rows else 0.0
            )
            efforts[r] = change[r] * damping * max(workspace.compliance[r], 0.0)
            if r < flat.joint_rows and flat.row_kind[r] in VELOCITY_KINDS:
                efforts[r] = change[r] / gamma
        _follow_elements(flat, workspace, scratch, costates, x, arrays.powers, efforts)
        rest[:] = 0.0
        add_row_forces(flat, workspace.G, efforts, rest)
        for i in range(len(x)):
            to_q[i] -= gamma * rest[i]
            to_w[i] += rest[i]
    if len(flat.friction_row) > 0:
        row_rates(flat, workspace.G, x, arrays.powers)
        efforts[:], rest[:] = 0.0, 0.0
        add_pulled_friction(flat, workspace, acting, arrays.powers, efforts, scratch.to_multipliers)
        add_row_forces(flat, workspace.G, efforts, rest)
        for i in range(len(x)):
            to_w[i] += rest[i]
            rhs[i] -= gamma * rest[i]
    for b in range(len(flat.modes)):
        e = flat.v_start[b] + 6
        first = flat.v_start[b] - 6 * b
        for i in range(flat.modes[b]):
            stiff, damped = flat.stiffness[first + i] * x[e + i], flat.damping[first + i] * x[e + i]
            to_q[e + i] += stiff
            to_w[e + i] += damped
            rhs[e + i] -= stiff + gamma * damped
    for i in range(len(x)):
        to_wdot[i] += rhs[i] / beta


@njit(cache=True)
def _follow_elements(flat, workspace, scratch, costates, x, powers, efforts):
    """Add the effect of the correction `x` to the costates of the states of frame forces at the beginning of the step,
    and set the part of the `efforts` of their rows that depends on velocities."""
    if len(flat.element_row) == 0:
        return
    row_rates(flat, workspace.G, x, powers)
    for e in range(len(flat.element_row)):
        r, first, pulled = flat.element_row[e], flat.element_state[e], scratch.pulled[e]
        element_transposed(flat, workspace.half[0], e, powers, costates.states, costates.state_rates, scratch, pulled)
        for k in range(6):
            efforts[r + k] = pulled[6 + k]
        for k in range(flat.element_state[e + 1] - first):
            scratch.base[first + k] += pulled[12 + k]


@njit(cache=True)
def _add_seeds(seeds, to_q, to_w, to_wdot):
    """Add the direct derivatives of the result with respect to configuration, velocities and accelerations at an
    instant."""
    n = len(to_q)
    for i in range(n):
        to_q[i] += seeds[i]
        to_w[i] += seeds[n + i]
        to_wdot[i] += seeds[2 * n + i]


@njit(cache=True)
def _at_pivots(flat, tree, q, w, wdot, costates, arrays):
    """Derivatives with respect to pivots and attitudes, including the costates of later steps."""
    q_force, w_force, wdot_force = arrays.q_force, arrays.w_force, arrays.wdot_force
    forces_at_pivots(flat, tree, q, w, wdot, arrays.to_q, arrays.to_w, arrays.to_wdot, q_force, w_force, wdot_force)
    for i in range(len(q_force)):
        q_force[i] += costates.q[i]
        w_force[i] += costates.w[i]
        wdot_force[i] += costates.wdot[i]


@njit(cache=True)
def backward_pass(
    flat,
    tree,
    scheme,
    h,
    functions,
    track,
    seeded,
    seeds,
    y,
    mu,
    of_states,
    of_rates,
    kinematics,
    workspace,
    scratch,
    displaced,
    arrays,
    costates,
    skins,
    kept,
):
    """Adjoint variables `y` (n, nv) and `mu` (n, nj) of the steps of a track, and the costates of its initial state.

    The costates of states of frame forces and of their rates at the ends of the steps are written to `of_states` and
    `of_rates` (n, nz); the adjoint variables of points of flexible surfaces, and their modes, to `kept` (n, 4 nn).

    - `functions` (n, nf, 3): functions of time at the ends of the steps.
    - `seeded` (ns,): increasing positions in the track on which the result depends.
    - `seeds` (ns, 3 nv + nj + nz): derivatives of the result there with respect to configuration, velocities,
      accelerations, multipliers and states of frame forces.

    Returns zero, or the number of the step whose iteration fails.
    """
    nv, nj = len(flat.weight), flat.joint_rows
    beta, gamma, to_a = step_factors(scheme, h)
    to_q, to_w, to_wdot, force, before = arrays.to_q, arrays.to_w, arrays.to_wdot, arrays.force, arrays.before
    q_force, w_force, wdot_force = arrays.q_force, arrays.w_force, arrays.wdot_force
    increment, powers, efforts = arrays.increment, arrays.powers, arrays.efforts
    compliance, row_rhs, rhs, x, change, energies = (
        workspace.compliance,
        workspace.row_rhs,
        workspace.unbalanced,
        workspace.x,
        workspace.change,
        workspace.energies,
    )
    seed = len(seeded) - 1
    row_rhs[:], most, known, rate = 0.0, 0.0, 0, 0.0
    was_given, coupled, nz, half = False, len(flat.element_row) > 0, len(costates.states), 0.5 * h
    rubs, guess = len(flat.friction_row) > 0, np.empty(len(row_rhs))
    pressing, slipping, points, inverse = len(flat.skin_body) > 0, surfaces_rub(flat), 0, np.zeros((0, 0))
    probing, slopes = pressing and takes_differences(flat), np.zeros((0, 0))
    enough = SHARPER if flat.velocity_rows > 0 or pressing else ENOUGH
    scales_of_states(flat, track.states, half, track.state_rates, scratch.state_scale)
    for step in range(seeded[seed], 0, -1):
        now, here, multipliers = functions[step - 1], y[step - 1], mu[step - 1]
        given = seed >= 0 and seeded[seed] == step
        if given != was_given:
            known, was_given = 0, given
        q, w, wdot, memory = track.q[step], track.w[step], track.wdot[step], track.angles[step]
        if nz > 0:
            predict_states(flat, h, track.states[step - 1], track.state_rates[step - 1], workspace)
        if slipping:
            begin_slip(flat, track.q[step - 1], track.states[step - 1], kinematics, workspace)
        if pressing:
            load_states(flat, track.states[step], workspace)
        balance_rows(flat, q, w, track.multipliers[step], now, memory, kinematics, workspace, x, energies)
        if probing:
            settle_points(flat, q, track.states[step], kinematics, workspace)
        if pressing:
            points = find_modes(flat, q, kinematics, workspace, skins)
        if probing and points > 0:
            slopes = probe_points(flat, q, track.states[step], kinematics, workspace, skins.listed[:points])
            rate = 0.0  # that of other steps is not that of these, whose corrections know the weights of nodes as fixed
        row_compliances(flat, workspace, now, gamma, compliance)
        if coupled:
            transposed_tangents(flat, now, workspace, gamma)
            element_slopes(flat, now, workspace, scratch)
        if flat.follows == 1:
            control_slopes(flat, now, kinematics, workspace, scratch)
        for k in range(nz):
            costates.states[k] += seeds[seed, 3 * nv + nj + k] if given else 0.0
            of_states[step - 1, k], of_rates[step - 1, k] = costates.states[k], costates.state_rates[k]
        increment_of(flat, tree, scheme, h, track, step, increment)
        extrapolate(y, step, known, here)
        extrapolate(mu, step, known, multipliers)
        done, previous, null_rows = False, 0.0, np.zeros((0, 0))
        for iteration in range(ITERATIONS):
            transposed(
                flat,
                q,
                w,
                wdot,
                here,
                track.multipliers[step],
                now,
                memory,
                kinematics,
                workspace,
                scratch,
                displaced,
                costates,
                to_q,
                to_w,
                to_wdot,
            )
            if flat.follows == 1:
                controllers_transposed(
                    flat, q, w, here, memory, kinematics, workspace, scratch, displaced, costates, to_q, to_w
                )
            if flat.velocity_rows > 0:
                add_rates_transposed(
                    flat, q, w, multipliers, now, memory, kinematics, workspace, scratch, displaced, to_q, to_w
                )
            efforts[nj:] = 0.0
            for r in range(nj):
                efforts[r] = 0.0 if flat.row_kind[r] in VELOCITY_KINDS else multipliers[r]
            add_row_forces(flat, workspace.G, efforts, to_q)
            if pressing:
                for i in range(nv):
                    to_q[i] += skins.earlier[i]
                if not probing:
                    skins_transposed(flat, q, here, kinematics, workspace, skins, points, to_q)
                elif points > 0:
                    probed_transposed(flat, here, workspace, skins, points, slopes, to_q)
            if given:
                _add_seeds(seeds[seed], to_q, to_w, to_wdot)
            _at_pivots(flat, tree, q, w, wdot, costates, arrays)
            for i in range(nv):
                force[i] = gamma * w_force[i] + beta * wdot_force[i] + to_a * costates.a[i]
            carried_back(flat, tree, increment, UNWOUND, force, rhs)
            for i in range(nv):
                rhs[i] = -(rhs[i] + q_force[i])
            forces_at_frames(flat, tree, q, rhs)
            copy(rhs, before)
            row_rates(flat, workspace.G, here, powers)
            for r in range(nj):
                row_rhs[r] = -powers[r] - (seeds[seed, 3 * nv + r] if given else 0.0)
                if rubs:
                    row_rhs[r] -= scratch.to_multipliers[r]
                part = gamma if flat.row_kind[r] in VELOCITY_KINDS else 1.0
                workspace.previous_multipliers[flat.row_place[r]] = part * multipliers[r]
            if iteration == 0 or not rubs:
                outcome, null_rows = solve_step(
                    iteration == 0, null_rows, flat, workspace, beta, gamma, compliance, rhs, row_rhs, x, change
                )
                if outcome < 0:
                    return step
            if rubs:
                if iteration == 0:
                    copy(workspace.previous_multipliers, guess)
                    respond(flat, workspace, null_rows, beta, compliance)
                    copy(guess, workspace.previous_multipliers)
                before_transposed(flat, workspace, track.multipliers[step], gamma, rhs, row_rhs)
                solve_again(flat, workspace, null_rows, beta, compliance, rhs, row_rhs, x, change)
            if points > 0:
                if iteration == 0:
                    inverse = invert_points(flat, workspace, null_rows, beta, compliance, skins, points)
                correct_points(flat, workspace, skins, points, inverse, costates.states, x, change)
            for i in range(nv):
                here[i] += x[i]
            for r in range(nj):
                part = gamma if flat.row_kind[r] in VELOCITY_KINDS else 1.0
                multipliers[r] += change[r] / part
                powers[r] = part * multipliers[r]
            size = largest(here, flat.weight)
            most = max(most, size, as_displacement(flat, beta, powers))
            corrected = largest(x, flat.weight)
            done, rate = settled(step, corrected, previous, rate, size, most, enough)
            if 0.0 < 0.5 * previous < corrected <= STALLED * most:
                done = True
            previous = corrected
            if done:
                break
        if not done:
            return step
        if points > 0:
            follow_points(flat, workspace, skins, points, to_q, before)
        costates.states[:], costates.state_rates[:] = 0.0, 0.0  # corrections add to `scratch.base` without them
        _follow(
            flat,
            workspace,
            scratch,
            costates,
            track.multipliers[step],
            now,
            beta,
            gamma,
            x,
            before,
            change,
            arrays,
        )
        if flat.follows == 1:
            controllers_transposed(
                flat, q, w, x, memory, kinematics, workspace, scratch, displaced, costates, to_q, to_w
            )
        _at_pivots(flat, tree, q, w, wdot, costates, arrays)
        for b in range(len(flat.modes)):
            vs = flat.v_start[b]
            momentum = load3(to_wdot, vs)
            if given:
                momentum = sub(momentum, load3(seeds[seed], 2 * nv + vs))
            store(arrays.gravity, 0, sub(load3(arrays.gravity, 0), rotate(matrix(kinematics.attitude, b), momentum)))
        add_slope_of_pivots(flat, w, wdot, to_q, to_w, to_wdot, arrays.pivot)
        carried_back(flat, tree, increment, OF_INCREMENT, q_force, force)
        for i in range(nv):
            costates.w[i] = h * force[i] + w_force[i]
            costates.a[i] = h * h * (0.5 - scheme.beta) * force[i] + h * (1.0 - scheme.gamma) * w_force[i]
            costates.a[i] += scheme.alpha_m / (1.0 - scheme.alpha_f) * wdot_force[i]
            costates.wdot[i] = -scheme.alpha_f / (1.0 - scheme.alpha_f) * wdot_force[i]
        carried_back(flat, tree, increment, BEFORE, q_force, costates.q)
        if nz > 0:
            earlier_costates(flat, half, scratch.base, costates.states, costates.state_rates)
        if pressing:
            keep_points(flat, skins, kept[step - 1])
            slip_transposed(
                flat,
                q,
                track.q[step - 1],
                track.states[step - 1],
                kinematics,
                workspace,
                skins,
                points,
                costates.states,
            )
        known += 1
        if given:
            seed -= 1
    return 0


@njit(cache=True)
def rigid_slopes(flat, b, track, y, out):
    """Derivatives `out` (13,) of `sum y . residual` over the steps of a track with respect to the mass of a rigid body,
    its first moment (3) and its inertia tensor (9, by rows)."""
    s = flat.v_start[b]
    out[:] = 0.0
    for k in range(len(y)):
        q, w, wdot = track.q[k + 1], track.w[k + 1], track.wdot[k + 1]
        R = attitude(flat, q, b)
        v, omega, yv, yw = load3(w, s), load3(w, s + 3), load3(y[k], s), load3(y[k], s + 3)
        acceleration, turning = sub(load3(wdot, s), rotate_inv(R, load3(flat.gravity, 0))), load3(wdot, s + 3)
        cv, cw = add(cross(yv, omega), cross(yw, v)), cross(yw, omega)
        out[0] += dot(yv, acceleration) + dot(cv, v)
        first = add(add(cross(yv, turning), cross(acceleration, yw)), add(cross(cv, omega), cross(v, cw)))
        store(out, 1, add(load3(out, 1), first))
        for i in range(3):
            for j in range(3):
                out[4 + 3 * i + j] += yw[i] * turning[j] + cw[i] * omega[j]


@njit(cache=True)
def _virtual_power(flat, acting, bodies, functions, track, step, y, mu, kinematics, workspace, out):
    q, w, wdot, power = track.q[step], track.w[step], track.wdot[step], 0.0
    if acting:
        out[:] = 0.0
        balance_rows(
            flat,
            q,
            w,
            track.multipliers[step],
            functions,
            track.angles[step],
            kinematics,
            workspace,
            out,
            workspace.energies,
        )
        if flat.velocity_rows > 0:
            row_rates(flat, workspace.G, w, workspace.rates)
        for r in range(flat.joint_rows):
            power += mu[r] * (workspace.rates[r] if flat.row_kind[r] in VELOCITY_KINDS else workspace.values[r])
        power -= inner(y, out, len(out))
    for b in bodies:
        vs, n = flat.v_start[b], 6 + flat.modes[b]
        store_matrix(kinematics.attitude, b, attitude(flat, q, b))
        out[vs : vs + n] = 0.0
        balance_body(flat, b, q, w, wdot, kinematics, workspace, 0, out)
        power += inner(y[vs:], out[vs:], n)
    return power


@njit(cache=True)
def difference_of_work(
    low, high, acting, bodies, functions, others, track, y, mu, kinematics, other_kinematics, workspace, out
):
    """The difference of `sum y . residual + mu . g` over the steps of a track between the mechanisms `high` and `low`.

    `others` and `functions` (n, nf, 3) are their functions of time. The sum contains the terms of the `bodies` in the
    list and, if `acting`, those of all rows and loads of the two mechanisms. `out` (nv,) is a work array.
    """
    total = 0.0
    for k in range(len(y)):
        total += _virtual_power(
            high, acting, bodies, others[k], track, k + 1, y[k], mu[k], other_kinematics, workspace, out
        )
        total -= _virtual_power(
            low, acting, bodies, functions[k], track, k + 1, y[k], mu[k], kinematics, workspace, out
        )
    return total

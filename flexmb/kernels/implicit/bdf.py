"""Compiled steps of backward differentiation formulas; see flexmb/integrators/bdf.py.

Sources: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections V.1 and VII.3; Brayton,
Gustavson, Hachtel, Proc. IEEE 60 (1972) 98-108.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.dense import copy
from flexmb.kernels.base.exponential import exponential_rates
from flexmb.kernels.equations.displacement import displace, displacement_between, fastest_rotation
from flexmb.kernels.equations.residual import powers_of
from flexmb.kernels.equations.rows import add_turns, angles_reached
from flexmb.kernels.equations.time_functions import functions_at
from flexmb.kernels.implicit.motion import (
    accelerate,
    add_turning,
    carry,
    next_step,
    project,
    relative_change,
    seen_from,
    travel,
)
from flexmb.kernels.implicit.progress import (
    AGE,
    ATTEND,
    CHANGE,
    COUNT,
    CROWDED,
    DIVERGED,
    FACTORED,
    FACTORISATIONS,
    FAILED,
    FIXED,
    GOOD,
    ITERATIONS,
    LARGEST,
    MOST,
    ORDER,
    PLANNED,
    REACHED,
    REFUSED,
    REJECTED,
    SAME,
    SIZE,
    SMALLEST,
    START,
    TAKEN,
    TOLERANCE,
    TOO_FAST,
    TOO_OLD,
    USED,
    WANTED,
    T,
)
from flexmb.kernels.implicit.saddle import (
    broken_rates,
    evaluate_blocks,
    push,
    residual_with_states,
    settle,
    step_matrix,
)
from flexmb.kernels.implicit.sparse import ROOM, SINGULAR, factorise, solve_factors

HIGHEST = 5
"""The highest order; the method of order six is unstable for stiff equations."""
KEPT = HIGHEST + 2
"""Number of previous configurations that are kept."""
CORRECTIONS = 25
"""Largest number of Newton corrections in a step."""
NEWTON, ROUNDING, LEAST = 1e-3, 1e-11, 1e-15
"""Tolerances of the Newton iteration: relative to the tolerance of the step; for fixed steps, relative to the
displacement due to the accelerations; and a lower bound, relative to the length of the mechanism."""
RESTEP = 0.3
"""Relative change of the coefficient of the step up to which a factorisation is reused."""
TURN, REACH = 1.0, 2.5
"""Largest rotation (rad) of a body in a step, and in all steps that a formula uses. Beyond pi, exponential coordinates
are ambiguous."""
LOBATTO = 0.5 + 0.5 * np.array([-1.0, -((3 / 7) ** 0.5), 0.0, (3 / 7) ** 0.5, 1.0])
"""Nodes in a step at which powers are evaluated, with configurations interpolated between its ends."""
GAUSS, GAUSS_WEIGHT = np.array([-(0.6**0.5), 0.0, 0.6**0.5]), np.array([5 / 9, 8 / 9, 5 / 9])


class BDFState(NamedTuple):
    """The motion at the ends of the last steps, the last first, and the attempt of a step."""

    times: np.ndarray  # (KEPT,)
    turns: np.ndarray  # (KEPT,) largest rotation of a body in each step
    places: np.ndarray  # (KEPT, nq)
    speeds: np.ndarray  # (KEPT, nv)
    reactions: np.ndarray  # (KEPT, nj)
    past: np.ndarray  # (KEPT, nz) states
    theta: np.ndarray  # (HIGHEST + 1, nv) displacements and velocities, relative to the last configuration and to
    slow: np.ndarray  # (HIGHEST + 1, nv) frames that move with unsupported bodies
    flown: np.ndarray  # (nb, 3) velocities of these frames
    piece: np.ndarray  # (nb,) first body of the piece of each unsupported body, -1 for supported ones
    wdot: np.ndarray
    multipliers: np.ndarray
    moving: np.ndarray  # (nz,) rates of the states
    most: np.ndarray  # (nz,) largest values of the states so far
    angles: np.ndarray  # (na,) continuous angles at the end of the last step
    expected: np.ndarray  # (na,) predicted angles
    work: np.ndarray  # (4,)
    before: np.ndarray  # (4,) at the beginning of the last step
    powers: np.ndarray  # (5, 4) at the nodes of the last step
    formulas: np.ndarray  # of the functions of time; see kernels/equations/time_functions.py
    functions: np.ndarray  # (5, nf, 3) functions of time: at the beginning of an attempt, its end, its inner nodes
    following: np.ndarray  # (nz, nv) see `step_matrix`
    next_theta: np.ndarray  # the attempt: exponential coordinates,
    next_w: np.ndarray
    next_wdot: np.ndarray
    next_multipliers: np.ndarray
    next_states: np.ndarray
    next_moving: np.ndarray
    last: np.ndarray  # times, sizes and statistics; see flexmb/kernels/implicit/progress.py


@njit(cache=True)
def lagrange(times, count, t, out):
    """Weights `out` of the values at the first `count` times in the value at `t` of the polynomial through them."""
    for k in range(count):
        out[k] = 1.0
        for j in range(count):
            if j != k:
                out[k] *= (t - times[j]) / (times[k] - times[j])


@njit(cache=True)
def _slopes(times, count, t, out):
    """Weights `out` (count + 1,) of the values at `t` and at the first `count` times in the derivative, at `t`, of the
    polynomial through them."""
    out[0] = 0.0
    for k in range(count):
        out[0] += 1.0 / (t - times[k])
        up, down = 1.0, times[k] - t
        for j in range(count):
            if j != k:
                up *= t - times[j]
                down *= times[k] - times[j]
        out[k + 1] = up / down


@njit(cache=True)
def integral(start, end, until, powers, out):
    """Add to `out` (4,) the integral from `start` to `until` of the polynomial through `powers` (5, 4) at the Lobatto
    nodes of the interval from `start` to `end`."""
    half, nodes, weights = 0.5 * (until - start), start + LOBATTO * (end - start), np.empty(5)
    for g in range(3):
        lagrange(nodes, 5, start + half * (1.0 + GAUSS[g]), weights)
        for k in range(5):
            for i in range(4):
                out[i] += half * GAUSS_WEIGHT[g] * weights[k] * powers[k, i]


@njit(cache=True)
def _weighted(weights, first, count, rows, factor, out):
    """`out = factor sum of weights[first + k] rows[k]` over `count` rows."""
    out[:] = 0.0
    for k in range(count):
        scaled = factor * weights[first + k]
        for i in range(len(out)):
            out[i] += scaled * rows[k, i]


@njit(cache=True)
def within(run, most):
    """The number, at most `most`, of previous configurations within `REACH` of the last one."""
    turned, count, known = 0.0, 1, min(most, int(run.last[COUNT]))
    while count < known:
        turned += run.turns[count - 1]
        if turned > REACH:
            break
        count += 1
    return count


@njit(cache=True)
def bdf_relative(flat, run):
    """Set the last displacements and velocities relative to the last configuration and to frames that move with
    unsupported bodies."""
    latest, seen, q = run.places[0], np.empty(len(run.wdot)), np.empty(run.places.shape[1])
    travel(flat, run.piece, latest, run.speeds[0], run.flown)
    for k in range(within(run, HIGHEST + 1)):
        copy(run.places[k], q)
        seen_from(flat, run.piece, run.flown, q, seen)
        for i in range(len(seen)):
            run.slow[k, i] = run.speeds[k, i] - seen[i]
        carry(flat, run.piece, run.flown, run.times[0] - run.times[k], q)
        displacement_between(flat, latest, q, run.theta[k])


@njit(cache=True)
def bdf_steps(
    flat, run, saddle, factors, scratch, apart, plain, attended, target, change, longest, kinematics, workspace
):  # fmt: skip
    """Take steps until the time `target` is passed or reached; returns the outcome.

    `factors` are those of the matrix, and `scratch` others that are overwritten if masses are far `apart`. A mechanism
    is `plain` if `accelerate` gives its reactions. If the run is `attended`, `ATTEND` is returned before every attempt.
    `change` and `longest` are the next change of a function of time and the largest step until then.
    """
    last, energies = run.last, np.empty(5)
    while last[T] < target - last[SAME]:
        if last[PLANNED] == 0.0:
            if last[T] >= change - last[SAME]:
                return CHANGE
            size, fastest = last[SIZE], fastest_rotation(flat, run.speeds[0])
            if fastest * size > TURN:
                if last[FIXED] > 0.0:
                    return TOO_FAST
                size = TURN / fastest
            h = next_step(last[T], size, change, longest)
            last[PLANNED] = h
            if not h >= (1.0 if last[REFUSED] > 0.0 else 0.01) * last[SAME]:
                return DIVERGED
            if last[FIXED] > 0.0 and last[COUNT] < HIGHEST:
                return START
            last[ORDER] = min(last[ORDER], within(run, HIGHEST + 1))
            last[WANTED] = 1.0 if _needs_matrix(run, h) else 0.0
            if attended:
                return ATTEND
        h = last[PLANNED]
        if not attended:
            functions_at(run.formulas, last[T], run.functions[0])
            functions_at(run.formulas, last[T] + h, run.functions[1])
            for k in range(1, 4):
                functions_at(run.formulas, last[T] + h * LOBATTO[k], run.functions[k + 1])
        anew, outcome = last[WANTED] > 0.0, 0
        if anew:
            outcome = _factorise(flat, run, saddle, factors, h, kinematics, workspace, energies)
            if outcome == ROOM:
                return CROWDED
        last[WANTED] = 0.0
        solved = outcome != SINGULAR and _solve(flat, run, saddle, factors, h, kinematics, workspace, energies)
        if not solved and not anew and last[AGE] > 0.0:  # the factors were those of an earlier step
            last[WANTED] = 1.0
            if attended:
                return ATTEND
            continue
        last[PLANNED] = 0.0
        if not solved:
            last[REJECTED] += 1
            last[REFUSED] += 1
            last[SIZE], last[ORDER] = 0.25 * h, max(1.0, last[ORDER] - 1)
            return FAILED
        order = int(last[ORDER])
        lower, error, higher = _error(flat, run, h, order - 1), _error(flat, run, h, order), -1.0
        if order < HIGHEST:
            higher = _error(flat, run, h, order + 1)
        if last[FIXED] == 0.0 and not error <= 1.0:
            last[REJECTED] += 1
            last[REFUSED] += 1
            last[SIZE] = h * max(0.2, 0.9 * error ** (-1 / (order + 1)))
            if last[REFUSED] > 2.0:
                last[ORDER] = 1.0
            continue
        _accept(flat, run, saddle, scratch, apart, plain, h, kinematics, workspace, energies)
        if last[FIXED] == 0.0:
            _choose(last, h, lower, error, higher)
    return REACHED


@njit(cache=True)
def _coefficient(run, h):
    """The coefficient `s` of the step: velocities are `s` times accelerations, up to known terms."""
    total = 0.0
    for k in range(int(run.last[ORDER])):
        total += 1.0 / (run.times[0] + h - run.times[k])
    return 1.0 / total


@njit(cache=True)
def _needs_matrix(run, h):
    """Whether an attempt of size `h` needs new factors."""
    last = run.last
    return last[AGE] >= TOO_OLD or abs(_coefficient(run, h) - last[FACTORED]) > RESTEP * last[FACTORED]


@njit(cache=True)
def bdf_rate(flat, run, rate):
    """Set `rate` (nv,) to the accelerations at the end of the last step relative to frames that move with unsupported
    bodies."""
    seen = np.empty(len(rate))
    for i in range(len(rate)):
        seen[i], rate[i] = run.speeds[0, i] - run.slow[0, i], run.wdot[i]
    add_turning(flat, run.piece, seen, run.slow[0], -1.0, rate)


@njit(cache=True)
def _factorise(flat, run, saddle, factors, h, kinematics, workspace, energies):
    """Evaluate and factorise the matrix of a step; returns the outcome."""
    last, rate, s = run.last, np.empty(len(run.wdot)), _coefficient(run, h)
    bdf_rate(flat, run, rate)
    last[AGE] = TOO_OLD  # the factors are overwritten, also if this fails
    copy(run.angles, run.expected)
    evaluate_blocks(
        flat, saddle, run.functions[0], run.places[0], run.slow[0], rate, run.multipliers, run.past[0], run.expected,
        kinematics, workspace, energies,
    )  # fmt: skip
    entries = np.empty(len(saddle.M))
    step_matrix(saddle, s, run.following, entries)
    outcome = factorise(saddle.start, saddle.rows, entries, factors, factors.L, factors.U)
    if outcome == 0:
        last[FACTORED], last[AGE] = s, 0.0
        last[FACTORISATIONS] += 1
        last[MOST] = max(last[MOST], saddle.kept.sum())
    return outcome


@njit(cache=True)
def _solve(flat, run, saddle, factors, h, kinematics, workspace, energies):
    """Newton iteration for the end of a step; returns whether it converges."""
    last, nv, nj, nz, weight = run.last, len(run.wdot), flat.joint_rows, len(run.moving), flat.weight
    k, t = int(last[ORDER]), run.times[0] + h
    count = min(k + 1, within(run, HIGHEST + 1))
    alpha, guess = np.empty(k + 1), np.empty(count)
    _slopes(run.times, k, t, alpha)
    lagrange(run.times, count, t, guess)
    s = 1.0 / alpha[0]
    behind, slower, kept = np.empty(nv), np.empty(nv), np.empty(nz)
    _weighted(alpha, 1, k, run.theta, s, behind)
    _weighted(alpha, 1, k, run.slow, s, slower)
    _weighted(alpha, 1, k, run.past, s, kept)
    moved, w, wdot, multipliers = run.next_theta, run.next_w, run.next_wdot, run.next_multipliers
    states, moving = run.next_states, run.next_moving
    _weighted(guess, 0, count, run.theta, 1.0, moved)
    _weighted(guess, 0, count, run.reactions, 1.0, multipliers)
    for r in range(nj):
        multipliers[r] *= saddle.kept[r]
    if count > 1:
        _weighted(guess, 0, count, run.slow, 1.0, wdot)
        _weighted(guess, 0, count, run.past, 1.0, moving)
        for i in range(nv):
            wdot[i] = alpha[0] * (wdot[i] + slower[i])
        for z in range(nz):
            moving[z] = alpha[0] * (moving[z] + kept[z])
    else:
        bdf_rate(flat, run, wdot)
        copy(run.moving, moving)
    factored, strongest, previous = last[FACTORED], 0.0, np.inf
    exact = abs(s - factored) < 1e-9 * s
    damp = 1.0 if exact else 2.0 / (1.0 + (s / factored) ** 2)  # the stiffness is proportional to its square
    for i in range(nv):
        strongest = max(strongest, s * s * abs(wdot[i]) * weight[i])
    tolerance = max(NEWTON * last[TOLERANCE] if last[FIXED] == 0.0 else ROUNDING * strongest, LEAST)
    rates, settled, force, q = np.empty(nv), np.empty((nz, 1)), np.empty(nv + nj), np.empty(run.places.shape[1])
    for iteration in range(CORRECTIONS):
        last[ITERATIONS] += 1
        for i in range(nv):
            w[i] = s * wdot[i] - slower[i]
        for _ in range(3):
            exponential_rates(flat.v_start, moved, w, rates)
            for i in range(nv):
                moved[i] = s * rates[i] - behind[i]
        for z in range(nz):
            states[z] = s * moving[z] - kept[z]
        displace(flat, run.places[0], moved, q)
        copy(run.angles, run.expected)
        add_turns(flat, moved, 1.0, run.expected)
        residual_with_states(
            flat, states, run.functions[1], q, w, wdot, multipliers, run.expected, kinematics, workspace, force[:nv],
            energies,
        )  # fmt: skip
        if previous <= tolerance:
            last[AGE] = TOO_OLD if saddle.kept.sum() < last[MOST] else last[AGE] + 1
            return True
        for i in range(nv):
            force[i] = -force[i]
        broken_rates(flat, run.functions[1], w, workspace, force[nv:])
        for r in range(nj):
            force[nv + r] *= -saddle.kept[r] / s
        if nz > 0:
            for z in range(nz):
                settled[z, 0] = workspace.state_rates[z] - moving[z]
            settle(saddle, factored, settled)
            push(saddle, factored, settled[:, 0], force)
        solve_factors(factors, factors.L, factors.U, force, force)
        for z in range(nz):
            for i in range(nv):
                settled[z, 0] += run.following[z, i] * force[i]
        if not (np.isfinite(force).all() and np.isfinite(settled).all()):
            return False
        size = 0.0
        for i in range(nv):
            size = max(size, s * s * abs(force[i]) * weight[i])
        size = max(size, relative_change(settled[:, 0], states, run.most, s))
        if iteration > 1 and size > 2.0 * previous and size > tolerance:
            return False
        for i in range(nv):
            wdot[i] += damp * force[i]
        for r in range(nj):
            multipliers[r] += force[nv + r]
        for z in range(nz):
            moving[z] += settled[z, 0]
        if 0.3 * previous < size < 1000 * LEAST or (
            exact and previous < np.inf and size * size <= tolerance * (previous - size)
        ):
            size = min(size, tolerance)  # round-off, or at this rate the remaining error is below the tolerance
        previous = size
    return False


@njit(cache=True)
def _error(flat, run, h, order):
    """Local error of an order, relative to the tolerance; -1 if there are not enough previous steps."""
    last, nv, nz, weight = run.last, len(run.wdot), len(run.moving), flat.weight
    count = min(order + 1, within(run, HIGHEST + 1))
    if order < 1 or (order != last[ORDER] and count <= order):
        return -1.0
    t, guess, size = run.times[0] + h, np.empty(count), 0.0
    lagrange(run.times, count, t, guess)
    part = h / (t - run.times[count - 1])
    for i in range(nv):
        off, faster = run.next_theta[i], run.next_w[i]
        for k in range(count):
            off -= guess[k] * run.theta[k, i]
            faster -= guess[k] * run.slow[k, i]
        size = max(size, abs(off) * weight[i], h * abs(faster) * weight[i])
    if nz > 0:
        change = np.empty(nz)
        for z in range(nz):
            change[z] = run.next_states[z]
            if count > 1:
                for k in range(count):
                    change[z] -= guess[k] * run.past[k, z]
            else:
                change[z] -= run.past[0, z] + h * run.moving[z]
        size = max(size, relative_change(change, run.next_states, run.most, 1.0))
    return part * size / last[TOLERANCE]


@njit(cache=True)
def _choose(last, h, lower, error, higher):
    """Choose the order and size of the next step that permit the largest step.

    The order changes by one at most, and only after as many steps as the order.
    """
    k = int(last[ORDER])
    factor = _growth(error, k)
    if last[GOOD] > k:
        best, most = k, factor
        for order, value in ((k - 1, lower), (k + 1, higher)):
            if value >= 0.0 and _growth(value, order) - 0.1 > most:
                best, most, factor = order, _growth(value, order) - 0.1, _growth(value, order)
        if best != k:
            last[ORDER], last[GOOD] = best, 0.0
    if factor < 1.0 or factor > 1.2:
        last[SIZE] = h * min(max(factor, 0.3), 2.0 if last[TAKEN] > 3.0 else 10.0)


@njit(cache=True)
def _growth(error, order):
    return 0.9 * max(error, 1e-8) ** (-1 / (order + 1))


@njit(cache=True)
def _accept(flat, run, saddle, scratch, apart, plain, h, kinematics, workspace, energies):
    """Complete a step: its end is projected onto the joint equations."""
    nv = len(run.wdot)
    q, w, seen, angles = np.empty(run.places.shape[1]), run.next_w, np.empty(nv), np.empty(len(run.angles))
    copy(run.next_moving, run.moving)
    copy(run.angles, run.expected)
    add_turns(flat, run.next_theta, 1.0, run.expected)
    displace(flat, run.places[0], run.next_theta, q)
    project(
        flat, saddle, scratch, apart, run.functions[1], run.next_states, q, w, run.next_wdot, run.next_multipliers,
        run.expected, kinematics, workspace, energies,
    )  # fmt: skip
    angles_reached(flat, run.functions[1], kinematics, run.expected, angles)
    carry(flat, run.piece, run.flown, h, q)
    seen_from(flat, run.piece, run.flown, q, seen)
    add_turning(flat, run.piece, seen, w, 1.0, run.next_wdot)
    for i in range(nv):
        w[i] += seen[i]
    bdf_keep(
        flat, run, saddle, scratch, apart, plain, h, q, w, run.next_wdot, run.next_multipliers, run.next_states,
        angles, kinematics, workspace,
    )  # fmt: skip


@njit(cache=True)
def bdf_keep(
    flat, run, saddle, scratch, apart, plain, h, q, w, wdot, multipliers, states, angles, kinematics, workspace
):  # fmt: skip
    """Add the motion at the end of a step of size `h`, and the work of this step."""
    last, turned, most = run.last, np.empty(len(w)), 0.0
    displacement_between(flat, q, run.places[0], turned)
    for b in range(len(flat.modes)):
        s = flat.v_start[b] + 3
        most = max(most, turned[s] ** 2 + turned[s + 1] ** 2 + turned[s + 2] ** 2)
    for k in range(KEPT - 1, 0, -1):
        run.times[k], run.turns[k] = run.times[k - 1], run.turns[k - 1]
        copy(run.places[k - 1], run.places[k])
        copy(run.speeds[k - 1], run.speeds[k])
        copy(run.reactions[k - 1], run.reactions[k])
        copy(run.past[k - 1], run.past[k])
    run.times[0], run.turns[0] = run.times[1] + h, np.sqrt(most)
    copy(q, run.places[0])
    copy(w, run.speeds[0])
    copy(multipliers, run.reactions[0])
    copy(states, run.past[0])
    copy(wdot, run.wdot)
    copy(multipliers, run.multipliers)
    for z in range(len(states)):
        run.most[z] = max(run.most[z], abs(states[z]))
    copy(angles, run.angles)
    copy(angles, run.expected)
    last[T], last[REFUSED], last[PLANNED] = run.times[0], 0.0, 0.0
    last[COUNT] = min(KEPT, last[COUNT] + 1)
    if last[FIXED] > 0.0:
        last[ORDER] = min(HIGHEST, last[COUNT])
    last[USED] = last[ORDER]
    last[TAKEN] += 1
    last[GOOD] += 1
    last[SMALLEST], last[LARGEST] = min(last[SMALLEST], h), max(last[LARGEST], h)
    bdf_relative(flat, run)
    _do_work(flat, run, saddle, scratch, apart, plain, kinematics, workspace)


@njit(cache=True)
def _do_work(flat, run, saddle, scratch, apart, plain, kinematics, workspace):
    """Add the work of the last step."""
    q, w, states = np.empty(run.places.shape[1]), np.empty(len(run.wdot)), np.empty(len(run.moving))
    t0, t = run.times[1], run.times[0]
    copy(run.work, run.before)
    copy(run.powers[4], run.powers[0])
    for k in range(1, 4):
        at = t0 + LOBATTO[k] * (t - t0)
        bdf_between(flat, run, saddle, scratch, apart, at, run.functions[k + 1], kinematics, workspace, q, w, states)
        power_there(flat, run, plain, at, run.functions[k + 1], states, q, w, kinematics, workspace, run.powers[k])
    copy(run.angles, run.expected)
    power_there(
        flat, run, plain, t, run.functions[1], run.past[0], run.places[0], run.speeds[0], kinematics, workspace,
        run.powers[4],
    )  # fmt: skip
    integral(t0, t, t, run.powers, run.work)


@njit(cache=True)
def power_there(flat, run, plain, t, functions, states, q, w, kinematics, workspace, powers):
    """Powers (4,) at a state that satisfies the joint equations, at the `run.expected` angles, with its reactions;
    those of a mechanism that is not `plain` are interpolated between steps."""
    nv, nj, energies = len(w), flat.joint_rows, np.empty(5)
    wdot, multipliers = np.zeros(nv), np.zeros(nj)
    if plain:
        accelerate(flat, functions, states, q, w, run.expected, kinematics, workspace, wdot, multipliers, energies)
    else:
        count = within(run, int(run.last[USED]) + 1)
        weights = np.empty(count)
        lagrange(run.times, count, t, weights)
        _weighted(weights, 0, count, run.reactions, 1.0, multipliers)
        residual_with_states(
            flat, states, functions, q, w, wdot, multipliers, run.expected, kinematics, workspace,
            workspace.unbalanced, energies,
        )  # fmt: skip
    powers_of(flat, functions, multipliers, w, workspace, powers)


@njit(cache=True)
def bdf_between(flat, run, saddle, scratch, apart, t, functions, kinematics, workspace, q, w, states):
    """Configuration and velocities at a time within the last step, from the polynomial of its order, projected onto the
    joint equations. `run.expected` receives the expected angles."""
    count, turned, seen = within(run, int(run.last[USED]) + 1), np.empty(len(w)), np.empty(len(w))
    weights, energies = np.empty(count), np.empty(5)
    lagrange(run.times, count, t, weights)
    _weighted(weights, 0, count, run.theta, 1.0, turned)
    _weighted(weights, 0, count, run.slow, 1.0, w)
    _weighted(weights, 0, count, run.past, 1.0, states)
    copy(run.angles, run.expected)
    add_turns(flat, turned, 1.0, run.expected)
    displace(flat, run.places[0], turned, q)
    project(
        flat, saddle, scratch, apart, functions, states, q, w, run.wdot, run.multipliers, run.expected, kinematics,
        workspace, energies,
    )  # fmt: skip
    carry(flat, run.piece, run.flown, t - run.times[0], q)
    seen_from(flat, run.piece, run.flown, q, seen)
    for i in range(len(w)):
        w[i] += seen[i]

"""Compiled steps of Radau IIA with three stages; see flexmb/integrators/radau.py.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections IV.8 and VII.4.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.dense import copy
from flexmb.kernels.base.exponential import exponential_rates
from flexmb.kernels.equations.displacement import displace, fastest_rotation
from flexmb.kernels.equations.residual import powers_of
from flexmb.kernels.equations.rows import add_turns, angles_reached
from flexmb.kernels.equations.time_functions import functions_at
from flexmb.kernels.implicit.motion import (
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
    BEGIN,
    CHANGE,
    CROWDED,
    DIVERGED,
    FACTORED,
    FACTORISATIONS,
    FAILED,
    FIXED,
    ITERATIONS,
    LARGEST,
    LENGTH,
    MOST,
    PLANNED,
    REACHED,
    REFUSED,
    REJECTED,
    SAME,
    SIZE,
    SMALLEST,
    TAKEN,
    TOLERANCE,
    TOO_OLD,
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
from flexmb.kernels.implicit.sparse import ROOM, SINGULAR, factorise, multiply_columns, solve_factors

ROOT = np.sqrt(6.0)
NODES = np.array([(4 - ROOT) / 10, (4 + ROOT) / 10, 1.0])
A = np.array([
    [(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225],
    [(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225],
    [(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9],
])  # fmt: skip
TWICE = A @ A
_EIGENVALUES, _VECTORS = np.linalg.eig(A)
# the real eigenvalue first, then the pair with the positive imaginary part first
_ORDER = np.lexsort((-_EIGENVALUES.imag, np.abs(_EIGENVALUES.imag) > 1e-9))
_VECTORS = np.ascontiguousarray(_VECTORS[:, _ORDER])
_INVERSE = np.linalg.inv(_VECTORS)
REAL, PAIR = float(_EIGENVALUES[_ORDER[0]].real), complex(_EIGENVALUES[_ORDER[1]])
"""Eigenvalues of `A`: the real one, and one of the two conjugate ones."""
REAL_VECTOR, PAIR_VECTOR = _VECTORS[:, 0].real.copy(), 2.0 * _VECTORS[:, 1]
REAL_INVERSE, PAIR_INVERSE = _INVERSE[0].real.copy(), _INVERSE[1].copy()
"""Vectors of the transformation: `x = REAL_VECTOR a + Re(PAIR_VECTOR b)` with `a = REAL_INVERSE x`, `b = PAIR_INVERSE
x`."""
ESTIMATE = REAL / 3 * np.array([-13 - 7 * ROOT, -13 + 7 * ROOT, -1.0])
"""Weights of the stages in the error estimate (Hairer and Wanner, eq. IV.8.19, scaled by the real eigenvalue)."""
LAGRANGE = np.linalg.inv(np.vander(NODES, 3, increasing=True))
"""Coefficients of the polynomial that is one at node k and zero at the others, as column k."""
TURN = 3.0
"""Largest rotation (rad) of a body in a variable step. Beyond half a turn the exponential coordinates are not unique,
and near a whole turn their rates are singular."""
CORRECTIONS = 25
SLOW = 5
"""Number of iterations in a step after which the matrix is factorised again."""
NEWTON = 1e-4
"""Tolerance of the Newton iteration for variable steps, relative to that of the step."""
ROUNDING, LEAST, STUCK = 1e-12, 1e-17, 1e-13
"""Tolerances of the Newton iteration for fixed steps, near round-off: relative to the displacement by the accelerations
of a step, and to the length of the mechanism; and the size below which corrections that do not decrease are
round-off."""


class RadauState(NamedTuple):
    """The motion at the end of the last step, the stages of this step and of the present attempt."""

    q: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    multipliers: np.ndarray
    states: np.ndarray  # (nz,)
    most: np.ndarray  # (nz,) largest values of the states so far
    angles: np.ndarray  # (na,) continuous angles at the end of the last step
    expected: np.ndarray  # (na,) predicted angles
    work: np.ndarray  # (4,)
    formulas: np.ndarray  # of the functions of time; see kernels/equations/time_functions.py
    functions: np.ndarray  # (4, nf, 3) functions of time at the beginning of an attempt and in its stages
    piece: np.ndarray  # (nb,) first body of the piece of each unsupported body, -1 for supported ones
    flown: np.ndarray  # (nb, 3) velocities of the frames that move with them
    slow: np.ndarray  # (nv,) velocities relative to these at the beginning of the step
    rate: np.ndarray  # (nv,) and accelerations
    begun: np.ndarray  # (nz,) rates of the states at the beginning of the step
    begin_q: np.ndarray  # the beginning of the step
    begin_states: np.ndarray
    begin_work: np.ndarray
    begin_angles: np.ndarray
    theta: np.ndarray  # (3, nv) exponential coordinates of the stages
    stages: np.ndarray  # (3, nv + nj) accelerations and multipliers
    moving: np.ndarray  # (3, nz) rates of the states
    powers: np.ndarray  # (3, 4)
    next_theta: np.ndarray  # the stages of the attempt
    next_stages: np.ndarray
    next_moving: np.ndarray
    next_powers: np.ndarray
    following: np.ndarray  # (nz, nv) see `step_matrix`, for the real eigenvalue
    following_pair: np.ndarray  # (nz, 2 nv) and for one of the pair
    last: np.ndarray  # times, sizes and statistics; see flexmb/kernels/implicit/progress.py


@njit(cache=True)
def _needs_matrix(last, h):
    """Whether an attempt of size `h` needs new factors."""
    return last[AGE] >= TOO_OLD or abs(h - last[FACTORED]) > 1e-9 * h


@njit(cache=True)
def radau_steps(flat, run, saddle, real, pair, apart, attended, target, change, longest, kinematics, workspace):
    """Take steps until the time `target` is passed or reached; returns the outcome.

    `real` and `pair` are the factors for the two eigenvalues. With `apart`, masses are far apart. If the run is
    `attended`, `ATTEND` is returned before every attempt. `change` and `longest` are the next change of a function of
    time and the largest step until then.
    """
    last, energies = run.last, np.empty(5)
    while last[T] < target - last[SAME]:
        if last[PLANNED] == 0.0:
            if last[T] >= change - last[SAME]:
                return CHANGE
            if last[REFUSED] == 0.0:
                take_along(flat, run)
            size, fastest = last[SIZE], fastest_rotation(flat, run.w)
            if last[FIXED] == 0.0 and fastest * size > TURN:
                size = TURN / fastest
            h = next_step(last[T], size, change, longest)
            if not h >= (1.0 if last[REFUSED] > 0.0 else 0.01) * last[SAME]:
                last[PLANNED] = h
                return DIVERGED
            last[PLANNED] = h
            last[WANTED] = 1.0 if _needs_matrix(last, h) else 0.0
            if attended:
                return ATTEND
        h = last[PLANNED]
        if not attended:
            for k in range(4):
                functions_at(run.formulas, last[T] + (h * NODES[k - 1] if k > 0 else 0.0), run.functions[k])
        anew, outcome = last[WANTED] > 0.0, 0
        if anew:
            outcome = _factorise(flat, run, saddle, real, pair, h, kinematics, workspace, energies)
            if outcome == ROOM:
                return CROWDED
        solved = outcome != SINGULAR and _solve(flat, run, saddle, real, pair, h, kinematics, workspace, energies)
        if not solved and not anew and last[AGE] > 0.0:  # the factors were those of an earlier step
            last[WANTED] = 1.0
            if attended:
                return ATTEND
            continue
        last[PLANNED] = 0.0
        if not solved:
            last[REJECTED] += 1
            last[REFUSED] += 1
            last[SIZE] = 0.4 * h
            return FAILED
        error = 0.0
        if last[FIXED] == 0.0:
            error = _error(flat, run, saddle, real, h) / last[TOLERANCE]
        growth = 0.9 * max(error, 1e-6) ** -0.25
        if error > 1.0:
            last[REJECTED] += 1
            last[REFUSED] += 1
            last[SIZE] = h * max(0.2, growth)
            continue
        _accept(flat, run, saddle, real, apart, h, kinematics, workspace, energies)
        if last[FIXED] == 0.0:
            proposed = h if 1.0 <= growth < 1.2 else h * min(5.0, growth)
            last[SIZE] = proposed if h > 0.9 * last[SIZE] else max(proposed, last[SIZE])
    return REACHED


@njit(cache=True)
def take_along(flat, run):
    """Set velocities and accelerations at the beginning of a step relative to frames that move with unsupported
    bodies."""
    seen = np.empty(len(run.w))
    travel(flat, run.piece, run.q, run.w, run.flown)
    seen_from(flat, run.piece, run.flown, run.q, seen)
    for i in range(len(seen)):
        run.slow[i] = run.w[i] - seen[i]
        run.rate[i] = run.wdot[i]
    add_turning(flat, run.piece, seen, run.slow, -1.0, run.rate)
    copy(run.moving[2 if run.last[LENGTH] > 0.0 else 0], run.begun)


@njit(cache=True)
def _factorise(flat, run, saddle, real, pair, h, kinematics, workspace, energies):
    """Evaluate and factorise the matrices of a step for both eigenvalues; returns the outcome."""
    last, nz = run.last, len(run.states)
    last[AGE] = TOO_OLD  # the factors are overwritten, also if this fails
    copy(run.angles, run.expected)
    evaluate_blocks(
        flat, saddle, run.functions[0], run.q, run.slow, run.rate, run.multipliers, run.states, run.expected,
        kinematics, workspace, energies,
    )  # fmt: skip
    entries, others = np.empty(len(saddle.M)), np.empty(len(saddle.M), dtype=np.complex128)
    step_matrix(saddle, h * REAL, run.following, entries)
    outcome = factorise(saddle.start, saddle.rows, entries, real, real.L, real.U)
    if outcome != 0:
        return outcome
    following = np.empty((nz, run.following.shape[1]), dtype=np.complex128)
    step_matrix(saddle, h * PAIR, following, others)
    for z in range(nz):
        for i in range(following.shape[1]):
            run.following_pair[z, 2 * i], run.following_pair[z, 2 * i + 1] = following[z, i].real, following[z, i].imag
    outcome = factorise(saddle.start, saddle.rows, others, pair, pair.L.view(np.complex128), pair.U.view(np.complex128))
    if outcome == 0:
        last[FACTORED], last[AGE] = h, 0.0
        last[FACTORISATIONS] += 1
        last[MOST] = max(last[MOST], saddle.kept.sum())
    return outcome


@njit(cache=True)
def _predict(run, h, stages, out):
    """Values `out` (3, n) in the stages of a step, extrapolated from those of the last step by their polynomial."""
    for k in range(3):
        ahead = 1.0 + NODES[k] * h / run.last[LENGTH] if run.last[LENGTH] > 0.0 else 0.0
        weights = np.zeros(3)
        weights[k] = 1.0
        if run.last[LENGTH] > 0.0:
            for j in range(3):
                weights[j] = LAGRANGE[0, j] + ahead * (LAGRANGE[1, j] + ahead * LAGRANGE[2, j])
        for i in range(stages.shape[1]):
            out[k, i] = weights[0] * stages[0, i] + weights[1] * stages[1, i] + weights[2] * stages[2, i]


@njit(cache=True)
def _combine(matrix, x, count, factor, begin, out):
    """`out = begin + factor matrix x` (3, n) for the first `count` columns of `x`."""
    for k in range(3):
        a, b, c = factor * matrix[k, 0], factor * matrix[k, 1], factor * matrix[k, 2]
        for i in range(count):
            out[k, i] = begin[i] + (a * x[0, i] + b * x[1, i] + c * x[2, i])


@njit(cache=True)
def _solve(flat, run, saddle, real, pair, h, kinematics, workspace, energies):
    """Newton iteration for the stages of a step; returns whether it converges."""
    last, nv, nj, nz = run.last, len(run.w), flat.joint_rows, len(run.states)
    stages, theta, moving = run.next_stages, run.next_theta, run.next_moving
    _predict(run, h, run.stages, stages)
    for k in range(3):
        for r in range(nj):
            stages[k, nv + r] *= saddle.kept[r]
    _predict(run, h, run.moving, moving)
    w, rates, reached, none = np.empty((3, nv)), np.empty((3, nv)), np.empty((3, nz)), np.zeros(nv)
    unbalanced, change = np.empty((3, nv + nj + nz)), np.empty((3, nv + nj + nz))
    seen, velocity, q, moved = np.empty(nv), np.empty(nv), np.empty(len(run.q)), np.empty((3, max(nv, nz)))
    theta[:] = 0.0
    weight, strongest, previous = flat.weight, 0.0, np.inf
    for k in range(3):
        for i in range(nv):
            strongest = max(strongest, h * h * abs(stages[k, i]) * weight[i])
    tolerance = max(ROUNDING * strongest, NEWTON * last[TOLERANCE] if last[FIXED] == 0.0 else 0.0, LEAST)
    for iteration in range(CORRECTIONS):
        last[ITERATIONS] += 1
        _combine(A, stages, nv, h, run.slow, w)
        for _ in range(3):
            for k in range(3):
                exponential_rates(flat.v_start, theta[k], w[k], rates[k])
            _combine(A, rates, nv, h, none, theta)
        _combine(A, moving, nz, h, run.states, reached)
        complete = previous <= tolerance
        for k in range(3):
            functions, own = run.functions[k + 1], unbalanced[k]
            displace(flat, run.q, theta[k], q)
            copy(run.angles, run.expected)
            add_turns(flat, theta[k], 1.0, run.expected)
            residual_with_states(
                flat, reached[k], functions, q, w[k], stages[k, :nv], stages[k, nv:], run.expected, kinematics,
                workspace, own[:nv], energies,
            )  # fmt: skip
            if complete:
                seen_from(flat, run.piece, run.flown, q, seen)
                for i in range(nv):
                    velocity[i] = w[k, i] + seen[i]
                powers_of(flat, functions, stages[k, nv:], velocity, workspace, run.next_powers[k])
                continue
            broken_rates(flat, functions, w[k], workspace, own[nv : nv + nj])
            for r in range(nj):
                own[nv + r] *= saddle.kept[r]
            for z in range(nz):
                own[nv + nj + z] = moving[k, z] - workspace.state_rates[z]
        if complete:
            kept = saddle.kept.sum()
            last[AGE] = TOO_OLD if iteration > SLOW or kept < last[MOST] else last[AGE] + 1
            return True
        _correct(run, saddle, real, pair, h, nv, nj, unbalanced, change)
        if not np.isfinite(change).all():
            return False
        size = 0.0
        _combine(TWICE, change, nv, h * h, none, moved)
        for k in range(3):
            for i in range(nv):
                size = max(size, abs(moved[k, i]) * weight[i])
        if nz > 0:
            _combine(A, change[:, nv + nj :], nz, h, np.zeros(nz), moved)
            for k in range(3):
                size = max(size, relative_change(moved[k, :nz], reached[k], run.most, 1.0))
        if size > 2.0 * previous and size > tolerance:
            return False
        for k in range(3):
            for i in range(nv + nj):
                stages[k, i] += change[k, i]
            for z in range(nz):
                moving[k, z] += change[k, nv + nj + z]
        if 0.3 * previous < size < STUCK:
            size = min(size, tolerance)  # round-off
        elif previous < np.inf and size < previous and size * size <= tolerance * (previous - size):
            size = min(size, tolerance)  # at this rate, the remaining error is below the tolerance
        previous = size
    return False


@njit(cache=True)
def _correct(run, saddle, real, pair, h, nv, nj, unbalanced, change):
    """Newton corrections `change` (3, nv + nj + nz) of accelerations, multipliers and rates of the states, from the
    real system and one of the two conjugate complex systems."""
    n, all_ = nv + nj, unbalanced.shape[1]
    nz = all_ - n
    own, other = np.empty(all_), np.empty(all_, dtype=np.complex128)
    for i in range(all_):
        a, b, c = unbalanced[0, i], unbalanced[1, i], unbalanced[2, i]
        own[i] = -(REAL_INVERSE[0] * a + REAL_INVERSE[1] * b + REAL_INVERSE[2] * c)
        other[i] = -(PAIR_INVERSE[0] * a + PAIR_INVERSE[1] * b + PAIR_INVERSE[2] * c)
    real_step, pair_step = h * REAL, h * PAIR
    for i in range(nv, n):
        own[i] /= real_step
        other[i] /= pair_step
    if nz > 0:
        settle(saddle, real_step, own[n:].reshape(nz, 1))
        settle(saddle, pair_step, other[n:].reshape(nz, 1))
        push(saddle, real_step, own[n:], own)
        push(saddle, pair_step, other[n:], other)
    solve_factors(real, real.L, real.U, own[:n], own[:n])
    solve_factors(pair, pair.L.view(np.complex128), pair.U.view(np.complex128), other[:n], other[:n])
    for z in range(nz):
        for i in range(nv):
            own[n + z] += run.following[z, i] * own[i]
            factor = complex(run.following_pair[z, 2 * i], run.following_pair[z, 2 * i + 1])
            other[n + z] += factor * other[i]
    for k in range(3):
        for i in range(all_):
            change[k, i] = REAL_VECTOR[k] * own[i] + (PAIR_VECTOR[k] * other[i]).real


@njit(cache=True)
def _error(flat, run, saddle, real, h):
    """Local error of positions, of velocities times the step, and of states relative to their largest values so far,
    filtered by the real system (Hairer and Wanner, eq. IV.8.20)."""
    nv, nj, nz, step, weight = len(run.w), flat.joint_rows, len(run.states), REAL * h, flat.weight
    off, faster, increments = np.empty(nv), np.empty(nv), np.empty((3, max(nv, nz)))
    _combine(A, run.next_stages, nv, h, np.zeros(nv), increments)
    for i in range(nv):
        off[i], faster[i] = step * run.slow[i], step * run.rate[i]
        for k in range(3):
            off[i] += ESTIMATE[k] * run.next_theta[k, i]
            faster[i] += ESTIMATE[k] * increments[k, i]
    force, changed = np.zeros(nv + nj), np.zeros(nz)
    multiply_columns(saddle.start, saddle.rows, saddle.M, nv, faster, 1.0, force)
    multiply_columns(saddle.start, saddle.rows, saddle.K, nv, off, -step, force)
    if nz > 0:
        _combine(A, run.next_moving, nz, h, np.zeros(nz), increments)
        for z in range(nz):
            changed[z] = step * run.begun[z]
            for k in range(3):
                changed[z] += ESTIMATE[k] * increments[k, z]
            for i in range(nv):
                changed[z] += step * saddle.by_place[z, i] * off[i]
        settle(saddle, step, changed.reshape(nz, 1))
        push(saddle, step, changed, force)
    solve_factors(real, real.L, real.U, force, force)
    found = 0.0
    for i in range(nv):
        found = max(found, abs(off[i] + step * force[i]) * weight[i], h * abs(force[i]) * weight[i])
    if nz > 0:
        reached = np.empty(nz)
        for z in range(nz):
            reached[z] = run.states[z] + increments[2, z]
            for i in range(nv):
                changed[z] += run.following[z, i] * force[i]
        found = max(found, relative_change(changed, reached, run.most, 1.0))
    return found


@njit(cache=True)
def _accept(flat, run, saddle, real, apart, h, kinematics, workspace, energies):
    """Complete a step: its end is projected onto the joint equations."""
    last, nv, nz = run.last, len(run.w), len(run.states)
    copy(run.q, run.begin_q)
    copy(run.states, run.begin_states)
    copy(run.work, run.begin_work)
    copy(run.angles, run.begin_angles)
    last[BEGIN], last[LENGTH] = last[T], h
    for k in range(3):
        copy(run.next_theta[k], run.theta[k])
        copy(run.next_stages[k], run.stages[k])
        copy(run.next_moving[k], run.moving[k])
        copy(run.next_powers[k], run.powers[k])
    seen, w = np.empty(nv), run.w
    for i in range(nv):
        w[i] = run.slow[i]
        for k in range(3):
            w[i] += h * A[2, k] * run.stages[k, i]
    for z in range(nz):
        for k in range(3):
            run.states[z] += h * A[2, k] * run.moving[k, z]
        run.most[z] = max(run.most[z], abs(run.states[z]))
    for i in range(4):
        for k in range(3):
            run.work[i] += h * A[2, k] * run.powers[k, i]
    copy(run.angles, run.expected)
    add_turns(flat, run.theta[2], 1.0, run.expected)
    displace(flat, run.begin_q, run.theta[2], run.q)
    project(
        flat, saddle, real, apart, run.functions[3], run.states, run.q, w, run.wdot, run.multipliers, run.expected,
        kinematics, workspace, energies,
    )  # fmt: skip
    if apart:
        last[AGE] = TOO_OLD  # the projection has overwritten the matrix and its factors
    angles_reached(flat, run.functions[3], kinematics, run.expected, run.angles)
    copy(run.angles, run.expected)
    seen_from(flat, run.piece, run.flown, run.q, seen)
    carry(flat, run.piece, run.flown, h, run.q)
    for i in range(nv):
        run.wdot[i] = run.stages[2, i]
    add_turning(flat, run.piece, seen, w, 1.0, run.wdot)
    for i in range(nv):
        w[i] += seen[i]
    copy(run.stages[2, nv:], run.multipliers)
    last[T] += h
    last[REFUSED] = 0.0
    last[TAKEN] += 1
    last[SMALLEST], last[LARGEST] = min(last[SMALLEST], h), max(last[LARGEST], h)


@njit(cache=True)
def radau_between(flat, run, saddle, scratch, apart, t, functions, kinematics, workspace, q, w, states, work):
    """The motion at a time `t` within the last step: that of the collocation polynomial, projected onto the joint
    equations.

    `scratch` are factors that are overwritten if masses are far `apart`. `run.expected` receives the expected angles.
    """
    last, nv, nz = run.last, len(run.w), len(run.states)
    h, weights, integrals, energies = last[LENGTH] or 1.0, np.ones(3), np.zeros(3), np.empty(5)
    s = (t - last[BEGIN]) / h
    for k in range(3):
        weights[k] = s / NODES[k]
        for j in range(3):
            if j != k:
                weights[k] *= (s - NODES[j]) / (NODES[k] - NODES[j])
            integrals[k] += h * LAGRANGE[j, k] * s ** (j + 1) / (j + 1)
    turned, seen = np.zeros(nv), np.empty(nv)
    for i in range(nv):
        w[i] = run.slow[i]
        for k in range(3):
            turned[i] += weights[k] * run.theta[k, i]
            w[i] += integrals[k] * run.stages[k, i]
    for z in range(nz):
        states[z] = run.begin_states[z]
        for k in range(3):
            states[z] += integrals[k] * run.moving[k, z]
    for i in range(4):
        work[i] = run.begin_work[i]
        for k in range(3):
            work[i] += integrals[k] * run.powers[k, i]
    copy(run.begin_angles, run.expected)
    add_turns(flat, turned, 1.0, run.expected)
    displace(flat, run.begin_q, turned, q)
    project(
        flat, saddle, scratch, apart, functions, states, q, w, run.wdot, run.multipliers, run.expected, kinematics,
        workspace, energies,
    )  # fmt: skip
    if apart:
        last[AGE] = TOO_OLD
    seen_from(flat, run.piece, run.flown, q, seen)
    carry(flat, run.piece, run.flown, t - last[BEGIN], q)
    for i in range(nv):
        w[i] += seen[i]

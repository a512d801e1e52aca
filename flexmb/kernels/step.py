"""Residual of the equations of motion and the generalised-alpha time loop, compiled."""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.algebra import compose, cross, dot, matrix, part, put, turn_back
from flexmb.kernels.bodies import add_elastic_inertia, body_terms, scratch_size
from flexmb.kernels.rows import add_loads, add_row_forces, all_rows, make_work, row_rates
from flexmb.kernels.solve import INACTIVE, solve_rows

KINETIC, ELASTIC, GRAVITY, SPRING = 0, 1, 2, 3  # entries of the energies
DRIVER, LOAD, MODAL_HEAT, DAMPER_HEAT = 0, 1, 2, 3  # entries of the powers

ROUNDING = 2e-15  # Newton corrections, as a displacement over the mechanism's length, that rounding allows

CONVERGED, DIVERGED, NO_MASS = 0, 1, 2  # outcomes of `advance`


class Scheme(NamedTuple):
    """Coefficients of the generalised-alpha method."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    error_constant: float  # |1/6 - beta - (alpha_m - alpha_f)/2|: local error of the position over h^2 da
    tolerance: float  # of the Newton corrections, relative to h^2 times the accelerations
    iterations: int


class Motion(NamedTuple):
    """Everything a step advances, in place."""

    q: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    a: np.ndarray  # the algorithm's own accelerations
    multipliers: np.ndarray  # (joint_rows,)
    angle_memory: np.ndarray  # (nr,)
    powers: np.ndarray  # (2, 4) at the present and at the previous step
    work: np.ndarray  # (4,) their integrals
    last: (
        np.ndarray
    )  # (4,) step size `a` belongs to, error of the last step, iterations so far, previous step size (0: none)


@njit(cache=True)
def residual(flat, q, w, wdot, multipliers, functions, angle_memory, work, Mrr, Mre, G, values, out, energies, powers):
    """Unbalanced generalised forces `out` (nv,) and row values; energies and powers on the way.

    `out = M wdot + bias + K eta + D etadot - applied + G^T multipliers`; `values[:joint_rows]` are the joint equations.
    """
    energies[:] = 0.0
    powers[:] = 0.0
    mmax = flat.marker_rows.shape[2]
    scratch = np.empty(scratch_size(mmax))
    bias = np.empty(6 + mmax)
    Lrr = np.empty((6, 6))
    gravity = part(flat.gravity, 0)
    all_rows(flat, q, functions, angle_memory, work, values, G)
    attitude = work[4]
    out[:] = 0.0
    powers[LOAD] = add_loads(flat, w, functions, work, bias, out)
    rates = np.empty(len(values))
    efforts = np.empty(len(values))
    row_rates(flat.row_markers, flat.marker_body, flat.v_start, G, w, rates)
    for r in range(flat.joint_rows, len(values)):
        stretch = values[r] - flat.row_offset[r]
        effort = functions[flat.row_function[r], 0] if flat.row_function[r] >= 0 else 0.0
        efforts[r] = effort - flat.row_stiffness[r] * stretch - flat.row_damping[r] * rates[r]
        energies[SPRING] += 0.5 * flat.row_stiffness[r] * stretch * stretch
        powers[DAMPER_HEAT] += flat.row_damping[r] * rates[r] * rates[r]
        powers[LOAD] += effort * rates[r]
    for r in range(flat.joint_rows):
        efforts[r] = -multipliers[r]
        if flat.row_function[r] >= 0:
            powers[DRIVER] -= multipliers[r] * functions[flat.row_function[r], 1]
    add_row_forces(flat.row_markers, flat.marker_body, flat.v_start, G, efforts, out)

    for b in range(len(flat.modes)):
        m = flat.modes[b]
        qs, vs = flat.q_start[b], flat.v_start[b]
        first = vs - 6 * b
        eta = q[qs + 7 : qs + 7 + m]
        wb = w[vs : vs + 6 + m]
        kinetic, s = body_terms(flat, b, eta, wb, scratch, Mrr[b], Lrr, Mre[b], bias)
        g = turn_back(matrix(attitude, b), gravity)
        torque = cross(s, g)
        energies[KINETIC] += kinetic
        energies[GRAVITY] -= flat.mass[b] * dot(gravity, part(q, qs)) + dot(g, s)
        for i in range(6):
            total = bias[i] - out[vs + i]
            for k in range(6):
                total += Mrr[b, i, k] * wdot[vs + k]
            for k in range(m):
                total += Mre[b, i, k] * wdot[vs + 6 + k]
            out[vs + i] = total
        for i in range(3):
            out[vs + i] -= flat.mass[b] * g[i]
            out[vs + 3 + i] -= torque[i]
        add_elastic_inertia(flat, b, Lrr, Mre[b], wdot[vs + 6 : vs + 6 + m], bias[6 : 6 + m])
        for i in range(m):
            stiffness, damping = flat.stiffness[first + i], flat.damping[first + i]
            total = bias[6 + i] + stiffness * eta[i] + damping * wb[6 + i] - out[vs + 6 + i]
            for k in range(6):
                total += Mre[b, k, i] * wdot[vs + k]
            for k in range(3):
                total -= Mre[b, k, i] * g[k]
            out[vs + 6 + i] = total
            energies[ELASTIC] += 0.5 * stiffness * eta[i] * eta[i]
            powers[MODAL_HEAT] += damping * wb[6 + i] * wb[6 + i]


@njit(cache=True)
def displace(flat, q, increment, out):
    """`out = q o exp(increment)`: configuration moved by twists (6 per body) and elastic increments."""
    for b in range(len(flat.modes)):
        qs, vs, m = flat.q_start[b], flat.v_start[b], flat.modes[b]
        quaternion = (q[qs + 3], q[qs + 4], q[qs + 5], q[qs + 6])
        r, p = compose(part(q, qs), quaternion, part(increment, vs), part(increment, vs + 3))
        put(out, qs, r)
        out[qs + 3], out[qs + 4], out[qs + 5], out[qs + 6] = p
        for i in range(m):
            out[qs + 7 + i] = q[qs + 7 + i] + increment[vs + 6 + i]


@njit(cache=True)
def _newton(flat, scheme, h, functions, motion, q, w, wdot, a, multipliers, work, Mrr, Mre, G, values, powers):
    """Iterate one step to convergence; `a`, `multipliers` hold the prediction. Returns (outcome, iterations)."""
    nv = len(w)
    nr = len(flat.row_kind)
    nj = flat.joint_rows
    to_wdot = (1.0 - scheme.alpha_m) / (1.0 - scheme.alpha_f)
    beta = to_wdot / (scheme.beta * h * h)
    gamma = scheme.gamma / (scheme.beta * h)
    compliance = np.zeros(nr)
    for r in range(nj, nr):
        stiffness = flat.row_stiffness[r] + gamma * flat.row_damping[r]
        compliance[r] = 1.0 / stiffness if stiffness > 0.0 else INACTIVE
    unbalanced = np.empty(nv)
    row_rhs = np.zeros(nr)
    x = np.empty(nv)
    change = np.zeros(nr)
    energies = np.empty(4)
    increment = np.empty(nv)
    fastest = 0.0
    strongest = 0.0
    for i in range(nv):
        fastest = max(fastest, abs(motion.w[i]) * flat.weight[i])
        strongest = max(strongest, abs(motion.wdot[i]) * flat.weight[i])
    tolerance = max(scheme.tolerance * min(1.0, h * h * (strongest + fastest * fastest)), ROUNDING)
    previous = np.inf
    for iteration in range(1, scheme.iterations + 1):
        for i in range(nv):
            increment[i] = h * motion.w[i] + h * h * ((0.5 - scheme.beta) * motion.a[i] + scheme.beta * a[i])
            w[i] = motion.w[i] + h * ((1.0 - scheme.gamma) * motion.a[i] + scheme.gamma * a[i])
            wdot[i] = (
                (1.0 - scheme.alpha_m) * a[i] + scheme.alpha_m * motion.a[i] - scheme.alpha_f * motion.wdot[i]
            ) / (1.0 - scheme.alpha_f)
        displace(flat, motion.q, increment, q)
        if iteration > 1 and previous <= tolerance:
            return CONVERGED, iteration - 1
        residual(
            flat,
            q,
            w,
            wdot,
            multipliers,
            functions,
            motion.angle_memory,
            work,
            Mrr,
            Mre,
            G,
            values,
            unbalanced,
            energies,
            powers,
        )
        for i in range(nv):
            unbalanced[i] = -unbalanced[i]
        for r in range(nj):
            row_rhs[r] = -values[r]
        outcome = solve_rows(flat, beta, gamma, 1.0, Mrr, Mre, G, compliance, unbalanced, row_rhs, x, change)
        if outcome < 0:
            return NO_MASS, iteration
        size = 0.0
        for i in range(nv):
            a[i] += x[i] / (scheme.beta * h * h)
            size = max(size, abs(x[i]) * flat.weight[i])
        for r in range(nj):
            multipliers[r] += change[r]
        if not np.isfinite(size):
            return DIVERGED, iteration
        if size > tolerance and iteration > 3 and size > 0.7 * previous:
            if size < 1e3 * ROUNDING:  # nothing more to gain
                size = tolerance
            elif iteration > 6:
                return DIVERGED, iteration
        elif iteration > 1 and size < 0.1 * previous and size * size < tolerance * previous:
            size = tolerance  # at this rate the next correction is below the tolerance
        previous = size
    return DIVERGED, scheme.iterations


@njit(cache=True)
def _integrate_powers(motion, h, powers):
    """Add the work of one step: parabola through three steps (third order), trapezoid at the start."""
    last = motion.last[3]
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


@njit(cache=True)
def advance(flat, scheme, h, steps, functions, motion):
    """Advance `motion` in place by `steps` steps of size `h`, the size its accelerations belong to.

    `functions` (steps, nf, 3): the functions of time at the ends of the steps.

    Generalised-alpha on the Lie group of the bodies' rigid motions, index 3 (Bruls, Cardona, Arnold 2012, eqs 12-16).
    Returns `(outcome, steps done)`; on failure `motion` stays at the last good step.
    """
    nv = len(motion.w)
    nb = len(flat.modes)
    nr = len(flat.row_kind)
    mmax = flat.marker_rows.shape[2]
    q, w, wdot, a = np.empty_like(motion.q), np.empty(nv), np.empty(nv), np.empty(nv)
    multipliers = np.empty(flat.joint_rows)
    Mrr, Mre = np.zeros((nb, 6, 6)), np.zeros((nb, 6, mmax))
    G = np.zeros((nr, 2, 6 + mmax))
    work = make_work(flat)
    values = np.empty(nr)
    powers = np.empty(4)
    for step in range(steps):
        now = functions[step]
        multipliers[:] = motion.multipliers
        for i in range(nv):
            a[i] = (motion.wdot[i] - scheme.alpha_m * motion.a[i]) / (1.0 - scheme.alpha_m)
        outcome, iterations = _newton(
            flat, scheme, h, now, motion, q, w, wdot, a, multipliers, work, Mrr, Mre, G, values, powers
        )
        motion.last[2] += iterations
        if outcome != CONVERGED:
            return outcome, step
        _integrate_powers(motion, h, powers)
        error = 0.0
        for i in range(nv):
            error = max(error, scheme.error_constant * h * h * abs(a[i] - motion.a[i]) * flat.weight[i])
        motion.last[1] = error
        motion.last[0] = h
        motion.last[3] = h
        motion.q[:] = q
        motion.w[:] = w
        motion.wdot[:] = wdot
        motion.a[:] = a
        motion.multipliers[:] = multipliers
        for r in range(flat.joint_rows, nr):
            motion.angle_memory[r] = values[r]
    return CONVERGED, steps

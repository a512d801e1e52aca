"""States on the joint equations: projected motions, and the accelerations and multipliers there."""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    add,
    attitude,
    cross,
    load3,
    rotate,
    rotate_inv,
    scale,
    store,
)
from flexmb.kernels.base.data import INACTIVE, VELOCITY_KINDS
from flexmb.kernels.base.dense import copy
from flexmb.kernels.equations.displacement import displace, largest
from flexmb.kernels.implicit.saddle import broken_rates, fill_mass, residual_with_states
from flexmb.kernels.implicit.sparse import FACTORISED, factorise, solve_factors
from flexmb.kernels.steps.solve import solve_joints


@njit(cache=True)
def on_joints(flat, workspace, force, wanted, without_velocities, x, multipliers):
    """Solve `M x + G^T multipliers = force` (nv,) and `G x = wanted` (nj,) at the last evaluated state.

    With `without_velocities`, the joint equations that hold for velocities only are ignored.
    """
    nr, nj = len(flat.row_kind), flat.joint_rows
    compliance, rows, all_multipliers = np.empty(nr), np.zeros(nr), np.zeros(nr)
    for r in range(nr):
        free = r >= nj
        if not free and without_velocities:
            for kind in VELOCITY_KINDS:
                free = free or flat.row_kind[r] == kind
        compliance[r] = INACTIVE if free else 0.0
        rows[r] = 0.0 if r >= nj else wanted[r]
    workspace.previous_multipliers[:] = 0.0
    solve_joints(flat, workspace, compliance, force, rows, x, all_multipliers)
    copy(all_multipliers[:nj], multipliers)


@njit(cache=True)
def _least_change(flat, saddle, factors, apart, workspace, wanted, without_velocities, x):
    """The displacement or velocity change `x` (nv,) of least kinetic energy that changes the joint equations by
    `wanted` (nj,), at the last evaluated state.

    If masses are far `apart`, the saddle point matrix is factorised, in which heavy bodies are not lost beside light
    ones.
    """
    nv, nj = len(x), len(wanted)
    if not apart:
        on_joints(flat, workspace, np.zeros(nv), wanted, without_velocities, x, np.empty(nj))
        return
    fill_mass(flat, saddle, workspace)
    b, y, left = np.zeros(nv + nj), np.zeros(nv + nj), np.zeros(nv + nj)
    for r in range(nj):
        b[nv + r] = wanted[r] * saddle.kept[r]
        if without_velocities:
            for kind in VELOCITY_KINDS:
                if flat.row_kind[r] == kind:
                    b[nv + r] = 0.0
    if factorise(saddle.start, saddle.rows, saddle.M, factors, factors.L, factors.U) != FACTORISED:
        x[:] = np.nan
        return
    solve_factors(factors, factors.L, factors.U, b, y)
    for _ in range(2):
        copy(b, left)
        for j in range(nv + nj):
            for p in range(saddle.start[j], saddle.start[j + 1]):
                left[saddle.rows[p]] -= saddle.M[p] * y[j]
        solve_factors(factors, factors.L, factors.U, left, left)
        for j in range(nv + nj):
            y[j] += left[j]
    copy(y[:nv], x)


@njit(cache=True)
def project(
    flat, saddle, factors, apart, functions, states, q, w, wdot, multipliers, angles, kinematics, workspace, energies
):  # fmt: skip
    """Project a configuration `q` (nq,) and velocities `w` (nv,) onto the joint equations, with least change in the
    mass metric.

    The equations are evaluated at the last configuration.

    Source: Sofer, Bach, Brauchli, "Dynamics of constrained systems based on mass-orthogonal projections" (NATO ASI
    1993).
    """
    nv, nj = len(w), flat.joint_rows
    x, wanted, moved, out = np.empty(nv), np.empty(nj), np.empty(len(q)), workspace.unbalanced
    for _ in range(2 if nj > 0 else 0):
        residual_with_states(
            flat, states, functions, q, w, wdot, multipliers, angles, kinematics, workspace, out, energies
        )
        for r in range(nj):
            wanted[r] = -workspace.values[r]
        _least_change(flat, saddle, factors, apart, workspace, wanted, True, x)
        displace(flat, q, x, moved)
        copy(moved, q)
    residual_with_states(flat, states, functions, q, w, wdot, multipliers, angles, kinematics, workspace, out, energies)
    if nj > 0:
        broken_rates(flat, functions, w, workspace, wanted)
        _least_change(flat, saddle, factors, apart, workspace, wanted, False, x)
        for i in range(nv):
            w[i] -= x[i]


@njit(cache=True)
def accelerate(flat, functions, states, q, w, angles, kinematics, workspace, wdot, multipliers, energies):
    """Set `wdot` (nv,) and `multipliers` (nj,) at a state that satisfies the joint equations, without sliding joints.

    They solve `M wdot + bias - forces + G^T lambda = 0` together with the second derivative of the joint equations. The
    velocity-dependent part of that derivative is computed by fourth-order differences along the motion.
    """
    nv, nj, out = len(w), flat.joint_rows, workspace.unbalanced
    wanted, rates, still, none = np.zeros(nj), np.empty(nj), np.zeros(nv), np.zeros(nj)
    speed = largest(w, flat.weight)
    if nj > 0 and speed > 0.0:
        eps, shift, moved, shifted = 1e-3 / speed, np.empty(nv), np.empty(len(q)), functions.copy()
        for offset in (1, -1, 2, -2):
            factor = (8.0 if abs(offset) == 1 else -1.0) * (1.0 if offset > 0 else -1.0) / (12 * eps)
            for i in range(nv):
                shift[i] = offset * eps * w[i]
            displace(flat, q, shift, moved)
            for f in range(len(functions)):
                shifted[f, 0] = functions[f, 0] + offset * eps * functions[f, 1]
            residual_with_states(
                flat, states, shifted, moved, w, still, none, angles, kinematics, workspace, out, energies
            )
            broken_rates(flat, functions, w, workspace, rates)
            for r in range(nj):
                driven = flat.row_function[r] >= 0
                wanted[r] -= factor * (rates[r] + (functions[flat.row_function[r], 1] if driven else 0.0))
    for r in range(nj):
        if flat.row_function[r] >= 0:
            wanted[r] += functions[flat.row_function[r], 2]
    residual_with_states(flat, states, functions, q, w, still, none, angles, kinematics, workspace, out, energies)
    for i in range(nv):
        still[i] = -out[i]
    on_joints(flat, workspace, still, wanted, False, wdot, multipliers)


# frames that move with unsupported bodies (flexmb/integrators/travel.py) -------------------------------------------


@njit(cache=True)
def travel(flat, piece, q, w, flown):
    """Set `flown` (nb, 3) to the velocity of the mass centre of the piece of each unsupported body, with undeformed
    bodies; it is zero for supported bodies, whose `piece` (nb,) is -1."""
    flown[:] = 0.0
    for b in range(len(piece)):
        if piece[b] != b:  # the first body of a piece has its number
            continue
        total, mass = (0.0, 0.0, 0.0), 0.0
        for c in range(b, len(piece)):
            if piece[c] == b:
                s = flat.v_start[c]
                momentum = add(scale(flat.mass[c], load3(w, s)), cross(load3(w, s + 3), load3(flat.s0[c], 0)))
                total, mass = add(total, rotate(attitude(flat, q, c), momentum)), mass + flat.mass[c]
        if mass > 0.0:
            for c in range(b, len(piece)):
                if piece[c] == b:
                    store(flown[c], 0, scale(1.0 / mass, total))


@njit(cache=True)
def seen_from(flat, piece, flown, q, out):
    """The difference `out` (nv,) of velocities between the ground and the moving frames, in body axes."""
    out[:] = 0.0
    for b in range(len(piece)):
        if piece[b] >= 0:
            store(out, flat.v_start[b], rotate_inv(attitude(flat, q, b), load3(flown[b], 0)))


@njit(cache=True)
def carry(flat, piece, flown, time, q):
    """Translate the unsupported bodies of `q` (nq,) with the velocities of their frames for some time."""
    for b in range(len(piece)):
        if piece[b] >= 0:
            s = flat.q_start[b]
            for k in range(3):
                q[s + k] += time * flown[b, k]


@njit(cache=True)
def add_turning(flat, piece, seen, w, factor, out):
    """Add `factor` times the difference of accelerations between the ground and the moving frames, due to the rotation
    of the body axes, to `out` (nv,)."""
    for b in range(len(piece)):
        if piece[b] >= 0:
            s = flat.v_start[b]
            turned = cross(load3(w, s + 3), load3(seen, s))
            for k in range(3):
                out[s + k] -= factor * turned[k]


@njit(cache=True)
def next_step(t, size, change, longest):
    """A step of at most `size` and `longest` that does not pass the time `change` and does not leave a small remainder
    before it."""
    left, h = change - t, min(size, longest)
    count = np.ceil(left / h * (1 - 1e-9))
    return left / count if count < 4.0 else h


@njit(cache=True)
def relative_change(change, states, most, scale_of_change):
    """The largest `change` (nz,) of states, times a factor, relative to the largest of the values `most` and `states`
    (nz,)."""
    size = 0.0
    for z in range(len(change)):
        reach = max(most[z], abs(states[z]))
        if reach > 0.0:
            size = max(size, abs(scale_of_change * change[z]) / reach)
    return size

"""Newton corrections with sliding joints, whose friction depends on the multipliers and on the sliding velocity.

The matrix of a step (flexmb/kernels/steps/solve.py) does not contain the derivatives of friction. The responses `X` of
the displacements and `R` of the multipliers to a unit effort in each sliding joint, found with the factors of this
matrix, correct its solution: the changes `s` of the efforts `e` satisfy

    e + s = -d(u + gamma G (x + X s)) b(multipliers + change + R s)

with the directions `d`, the bounds `b` and the rates `u` of sliding. These few equations are solved by Newton's method
with damping, because regularised friction may turn round within a step.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import solve_small
from flexmb.kernels.equations.friction import friction_bound, friction_change, friction_directions, slides
from flexmb.kernels.steps.solve import solve_again

CORRECTIONS, HALVINGS = 50, 30
"""Corrections of the efforts in one correction of the step, and halvings of each, at most."""
BALANCED = 1e-14
"""Error of the efforts at the end, relative to their bounds."""


@njit(cache=True)
def respond(flat, workspace, null_rows, beta, compliance):
    """Write the responses to a unit effort in every free motion of a sliding joint to `workspace.sliding_x` (nc, nv)
    and `workspace.sliding_change` (nc, nr)."""
    force, none = workspace.sliding_force, workspace.sliding_none
    workspace.previous_multipliers[:] = 0.0
    for k in range(len(flat.friction_speed)):
        if not slides(flat, k):
            continue
        for c in range(flat.friction_start[k], flat.friction_start[k + 1]):
            r = flat.friction_row[c]
            force[:] = 0.0
            for side in range(2):
                b = flat.marker_body[flat.row_markers[r, side]]
                if b != GROUND:
                    start = flat.v_start[b]
                    for i in range(flat.v_start[b + 1] - start):
                        force[start + i] += workspace.G[r, side, i]
            solve_again(
                flat,
                workspace,
                null_rows,
                beta,
                compliance,
                force,
                none,
                workspace.sliding_x[c],
                workspace.sliding_change[c],
            )


@njit(cache=True)
def _rate(flat, workspace, c, x):
    """The change of free motion `c` with friction for a displacement `x` (nv,)."""
    r, total = flat.friction_row[c], 0.0
    for side in range(2):
        b = flat.marker_body[flat.row_markers[r, side]]
        if b != GROUND:
            start = flat.v_start[b]
            for i in range(flat.v_start[b + 1] - start):
                total += workspace.G[r, side, i] * x[start + i]
    return total


@njit(cache=True)
def _imbalance(flat, workspace, u, turned, reaction, s, rates, multipliers, out):
    """Write the error of the efforts (nc,) at their changes `s` to `out`, with the `rates` (nc,) and `multipliers`
    (nj,) there; returns its size squared, and the sum of the squared bounds."""
    n = len(s)
    for c in range(n):
        rates[c] = u[c]
        for j in range(n):
            rates[c] += turned[c, j] * s[j]
    for i in range(len(multipliers)):
        multipliers[i] = reaction[i]
        for j in range(n):
            if s[j] != 0.0:
                multipliers[i] += s[j] * workspace.sliding_change[j, i]
    error, scale = 0.0, 0.0
    for k in range(len(flat.friction_speed)):
        friction_directions(flat, k, rates, workspace.sliding_direction, workspace.sliding_slopes)
        bound = friction_bound(flat, k, multipliers) if slides(flat, k) else 0.0
        scale += bound * bound
        for c in range(flat.friction_start[k], flat.friction_start[k + 1]):
            out[c] = s[c] + workspace.efforts[flat.friction_row[c]] + workspace.sliding_direction[c] * bound
            if not slides(flat, k):
                out[c] = 0.0
            error += (out[c] / flat.friction_arm[c]) ** 2
    return error, scale


@njit(cache=True)
def slide(flat, workspace, multipliers, gamma, x, change):
    """Correct the solution `x` (nv,), `change` (nr,) of a step by the changes of friction that it causes; `gamma` is
    the derivative of velocities with respect to displacements."""
    n, nj = len(flat.friction_row), len(multipliers)
    u, turned, s = np.zeros(n), np.zeros((n, n)), np.zeros(n)
    rates, there, out = np.zeros(n), np.zeros(nj), np.zeros(n)
    reaction = multipliers + change[:nj]
    for k in range(len(flat.friction_speed)):
        for c in range(flat.friction_start[k], flat.friction_start[k + 1]):
            u[c] = workspace.sliding_rates[c] + gamma * _rate(flat, workspace, c, x)
            for j in range(n):
                turned[c, j] = gamma * _rate(flat, workspace, c, workspace.sliding_x[j])
    error, scale = _imbalance(flat, workspace, u, turned, reaction, s, rates, there, out)
    A, trial = np.zeros((n, n)), np.zeros(n)
    for _ in range(CORRECTIONS):
        if not error > BALANCED * BALANCED * scale:
            break
        A[:] = 0.0
        for k in range(len(flat.friction_speed)):
            bound, first = friction_bound(flat, k, there), flat.friction_start[k]
            for c in range(first, flat.friction_start[k + 1]):
                A[c, c] = 1.0
                if not slides(flat, k):
                    continue
                for j in range(n):
                    A[c, j] += workspace.sliding_direction[c] * friction_change(
                        flat, k, there, workspace.sliding_change[j]
                    )
                    for d in range(first, flat.friction_start[k + 1]):
                        A[c, j] += bound * workspace.sliding_slopes[c, d - first] * turned[d, j]
        solve_small(A, out)
        factor, before = 1.0, error
        for _ in range(HALVINGS):
            for c in range(n):
                trial[c] = s[c] - factor * out[c]
            error, scale = _imbalance(flat, workspace, u, turned, reaction, trial, rates, there, A[0])
            if error < before:
                break
            factor *= 0.5
        if not error < before:
            break
        s[:], out[:] = trial, A[0]
    for j in range(n):
        if s[j] != 0.0:
            for i in range(len(x)):
                x[i] += s[j] * workspace.sliding_x[j, i]
            for r in range(len(change)):
                change[r] += s[j] * workspace.sliding_change[j, r]

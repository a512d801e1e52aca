"""Newton corrections with sliding joints, whose friction depends on the multipliers and on the sliding velocity.

The matrix of a step (flexmb/kernels/steps/solve.py) does not contain the derivatives of friction. The responses `X` of
the displacements and `R` of the multipliers to a unit effort in each sliding joint, found with the factors of this
matrix, correct its solution: the changes `s` of the efforts `e` satisfy

    e + s = -d(u + gamma G (x + X s)) b(multipliers + change + R s)

with the directions `d`, the bounds `b` and the rates `u` of sliding. These few equations are solved by Newton's method
with damping.

Where the direction follows the sliding velocity, the law `f = -g(|v|) v / |v|` of the force `f` at the sliding velocity
`v`, with `g = b tanh(|v| / speed)`, is steep near rest, where a small change of `v` turns the force round. It is solved
in the form

    f = -g(m) z / |z|,  z = rho v - f,  rho m + g(m) = |z|

that is equivalent, because `z` has the direction of `v` and `m = |v|`, and has slopes of order one for any `speed`: the
projection of `f - rho v` on the ball of the forces within the bound, if the speed vanishes. The reciprocal of `rho` is
the response of the sliding velocity to a force.

Source: Alart and Curnier, "A mixed formulation for frictional contact problems prone to Newton like solution methods",
Computer Methods in Applied Mechanics and Engineering 92 (1991) 353-375.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import solve_small
from flexmb.kernels.equations.friction import friction_bound, friction_change, slides
from flexmb.kernels.steps.solve import solve_again

CORRECTIONS, HALVINGS = 50, 30
"""Corrections of the efforts in one correction of the step, and halvings of each, at most."""
BALANCED = 1e-14
"""Error of the efforts at the end, relative to their bounds."""
LED = 1e-12
"""Response of a sliding velocity to a force, relative to the velocity over the bound, of a joint that is driven."""
PARTS = 100
"""Iterations for the sliding velocity from the sum of its parts, which increase monotonically."""


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
def _sliding_speed(size, rho, bound, speed):
    """The sliding velocity `m` with `rho m + bound tanh(m / speed) = size`.

    The left side is increasing and concave, so that Newton's method from below increases up to the solution.
    """
    m = max(size - bound, 0.0) / rho
    for _ in range(PARTS):
        share = math.tanh(m / speed)
        step = (size - rho * m - bound * share) / (rho + bound * (1.0 - share * share) / speed)
        if not step > 1e-16 * m:
            break
        m += step
    return m


@njit(cache=True)
def _imbalance(flat, workspace, u, turned, reaction, rho, s, rates, multipliers, out):
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
        first, last = flat.friction_start[k], flat.friction_start[k + 1]
        if not slides(flat, k):
            out[first:last] = 0.0
            continue
        bound, size, share = friction_bound(flat, k, multipliers), 0.0, 0.0
        scale += bound * bound
        if flat.friction_speed[k] > 0.0:
            for c in range(first, last):
                size = math.hypot(size, _pushed(flat, workspace, rho[k], rates, s, c))
            if size > 0.0:
                speed = flat.friction_speed[k]
                share = bound * math.tanh(_sliding_speed(size, rho[k], bound, speed) / speed) / size
        for c in range(first, last):
            arm, effort = flat.friction_arm[c], s[c] + workspace.efforts[flat.friction_row[c]]
            if flat.friction_speed[k] > 0.0:
                out[c] = effort + arm * share * _pushed(flat, workspace, rho[k], rates, s, c)
            else:
                out[c] = effort + flat.friction_direction[k] * bound
            error += (out[c] / arm) ** 2
    return error, scale


@njit(cache=True, inline="always")
def _pushed(flat, workspace, rho, rates, s, c):
    """Component `c` of `z = rho v - f`."""
    arm = flat.friction_arm[c]
    return rho * arm * rates[c] - (s[c] + workspace.efforts[flat.friction_row[c]]) / arm


@njit(cache=True)
def _slopes(flat, workspace, k, turned, rho, s, rates, multipliers, A):
    """Write the derivatives of the errors of the efforts of joint `k` with respect to `s` to its rows of `A`."""
    n, first, last, speed = len(s), flat.friction_start[k], flat.friction_start[k + 1], flat.friction_speed[k]
    bound, z, dz = friction_bound(flat, k, multipliers), np.zeros(last - first), np.zeros(last - first)
    if speed == 0.0:
        for j in range(n):
            A[first, j] = flat.friction_direction[k] * friction_change(
                flat, k, multipliers, workspace.sliding_change[j]
            )
        A[first, first] += 1.0
        return
    size = 0.0
    for c in range(first, last):
        z[c - first] = _pushed(flat, workspace, rho, rates, s, c)
        size = math.hypot(size, z[c - first])
    if size == 0.0:
        for c in range(first, last):
            A[c, c] = 1.0
        return
    m = _sliding_speed(size, rho, bound, speed)
    share = math.tanh(m / speed)
    moves = 1.0 / (rho + bound * (1.0 - share * share) / speed)
    along, across, grows = 1.0 - rho * moves, bound * share / size, share * rho * moves
    for j in range(n):
        projected = 0.0
        for c in range(first, last):
            arm = flat.friction_arm[c]
            dz[c - first] = rho * arm * turned[c, j] - (1.0 / arm if c == j else 0.0)
            projected += dz[c - first] * z[c - first] / size
        grown = grows * friction_change(flat, k, multipliers, workspace.sliding_change[j])
        for c in range(first, last):
            unit = z[c - first] / size
            change = along * projected * unit + across * (dz[c - first] - projected * unit) + grown * unit
            A[c, j] = (1.0 if c == j else 0.0) + flat.friction_arm[c] * change


@njit(cache=True)
def slide(flat, workspace, multipliers, gamma, x, change):
    """Correct the solution `x` (nv,), `change` (nr,) of a step by the changes of friction that it causes; `gamma` is
    the derivative of velocities with respect to displacements."""
    n, nj, nf = len(flat.friction_row), len(multipliers), len(flat.friction_speed)
    u, turned, s, rho = np.zeros(n), np.zeros((n, n)), np.zeros(n), np.ones(nf)
    rates, there, out = np.zeros(n), np.zeros(nj), np.zeros(n)
    reaction = multipliers + change[:nj]
    for k in range(nf):
        response, size = 0.0, 0.0
        for c in range(flat.friction_start[k], flat.friction_start[k + 1]):
            u[c] = workspace.sliding_rates[c] + gamma * _rate(flat, workspace, c, x)
            for j in range(n):
                turned[c, j] = gamma * _rate(flat, workspace, c, workspace.sliding_x[j])
            arm = flat.friction_arm[c]
            response, size = response + arm * arm * turned[c, c], math.hypot(size, arm * u[c])
        bound = friction_bound(flat, k, reaction)
        if response > 0.0 and response * bound > LED * size:
            rho[k] = 1.0 / response
        elif bound > 0.0 and size > 0.0:
            rho[k] = bound / size
    error, scale = _imbalance(flat, workspace, u, turned, reaction, rho, s, rates, there, out)
    A, trial = np.zeros((n, n)), np.zeros(n)
    for _ in range(CORRECTIONS):
        if not error > BALANCED * BALANCED * scale:
            break
        A[:] = 0.0
        for k in range(nf):
            if slides(flat, k):
                _slopes(flat, workspace, k, turned, rho[k], s, rates, there, A)
            else:
                for c in range(flat.friction_start[k], flat.friction_start[k + 1]):
                    A[c, c] = 1.0
        solve_small(A, out)
        factor, before = 1.0, error
        for _ in range(HALVINGS):
            for c in range(n):
                trial[c] = s[c] - factor * out[c]
            error, scale = _imbalance(flat, workspace, u, turned, reaction, rho, trial, rates, there, A[0])
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

"""Derivatives of dry friction in joints that slide, for the derivatives of steps.

The efforts `e = -d(u) b(multipliers)` of flexmb/kernels/equations/friction.py are a part `-G_f^T e` of the residual,
with the Jacobian `G_f` of the free motions and their rates `u = G_f w`. With the derivatives `D` of the directions `d`
and `B` of the bounds `b`, the matrix `K` of a step without friction, and `gamma` the derivative of velocities with
respect to displacements, the whole matrix is

    K + P R^T,  P = [G_f^T; 0],  R = [gamma G_f^T (b D)^T; B^T d] .

Because `K` is symmetric, the responses `X = K^-1 P` to efforts (flexmb/kernels/steps/sliding.py) are enough for the
solution with this matrix, `z - X (1 + R^T X)^-1 R^T z` with `z = K^-1 f`, and for that with its transpose,
`K^-1 (f - R (1 + X^T R)^-1 X^T f)`.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.dense import inner, solve_small
from flexmb.kernels.equations.friction import add_friction, friction_bound, friction_slopes, slides
from flexmb.kernels.equations.rows import add_row_forces, all_rows, row_rates


@njit(cache=True)
def add_pulled_friction(flat, workspace, multipliers, powers, to_rates, to_multipliers):
    """Add the derivatives of the virtual power of friction with respect to the rates of the free motions to `to_rates`
    (nr,), and those with respect to the `multipliers` (nj,) to `to_multipliers` (nj,).

    `powers` (nr,): the virtual velocities `G y` of all rows, which may not be `to_rates`. The directions in `workspace`
    must be those of the state.
    """
    directions, slopes = workspace.sliding_direction, workspace.sliding_slopes
    for k in range(len(flat.friction_speed)):
        if not slides(flat, k):
            continue
        first, last = flat.friction_start[k], flat.friction_start[k + 1]
        bound, of_bound, power = friction_bound(flat, k, multipliers), friction_slopes(flat, k, multipliers), 0.0
        for c in range(first, last):
            virtual = powers[flat.friction_row[c]]
            power += virtual * directions[c]
            for d in range(first, last):
                to_rates[flat.friction_row[d]] += virtual * bound * slopes[c, d - first]
        for i in range(len(of_bound)):
            r = flat.friction_source[k, i]
            if r >= 0:
                to_multipliers[r] += power * of_bound[i]


@njit(cache=True)
def changed_friction(flat, workspace, multipliers, rates, change, out):
    """Write minus the change of the efforts of friction to `out` (nc,), for changes of the `rates` (nr,) of the rows
    and a `change` (nr,) of the multipliers."""
    for k in range(len(flat.friction_speed)):
        first, last = flat.friction_start[k], flat.friction_start[k + 1]
        out[first:last] = 0.0
        if not slides(flat, k):
            continue
        bound, of_bound, growth = friction_bound(flat, k, multipliers), friction_slopes(flat, k, multipliers), 0.0
        for i in range(len(of_bound)):
            r = flat.friction_source[k, i]
            growth += of_bound[i] * change[r] if r >= 0 else 0.0
        for c in range(first, last):
            out[c] = workspace.sliding_direction[c] * growth
            for d in range(first, last):
                out[c] += bound * workspace.sliding_slopes[c, d - first] * rates[flat.friction_row[d]]


@njit(cache=True)
def _coupling(flat, workspace, multipliers, gamma):
    """The matrix `1 + R^T X` (nc, nc)."""
    n, nr = len(flat.friction_row), len(flat.row_kind)
    A, rates, column = np.empty((n, n)), np.empty(nr), np.empty(n)
    for c in range(n):
        row_rates(flat, workspace.G, workspace.sliding_x[c], rates)
        for r in range(nr):
            rates[r] *= gamma
        changed_friction(flat, workspace, multipliers, rates, workspace.sliding_change[c], column)
        for d in range(n):
            A[d, c] = column[d] + (1.0 if c == d else 0.0)
    return A


@njit(cache=True)
def with_friction(flat, workspace, multipliers, gamma, x, change):
    """Correct the solution `x` (nv,), `change` (nr,) of a step without friction to that with it."""
    n, nr = len(flat.friction_row), len(flat.row_kind)
    A, rates, s = _coupling(flat, workspace, multipliers, gamma), np.empty(nr), np.empty(n)
    row_rates(flat, workspace.G, x, rates)
    for r in range(nr):
        rates[r] *= gamma
    changed_friction(flat, workspace, multipliers, rates, change, s)
    solve_small(A, s)
    for c in range(n):
        if s[c] != 0.0:
            for i in range(len(x)):
                x[i] -= s[c] * workspace.sliding_x[c, i]
            for r in range(nr):
                change[r] -= s[c] * workspace.sliding_change[c, r]


@njit(cache=True)
def before_transposed(flat, workspace, multipliers, gamma, rhs, row_rhs):
    """Correct the right-hand side `rhs` (nv,), `row_rhs` (nr,) so that the solution without friction is that of the
    transposed matrix with it."""
    n, nr = len(flat.friction_row), len(flat.row_kind)
    A = np.ascontiguousarray(_coupling(flat, workspace, multipliers, gamma).T)
    s, powers, to_rates, to_multipliers = np.empty(n), np.zeros(nr), np.zeros(nr), np.zeros(len(multipliers))
    for c in range(n):
        s[c] = inner(workspace.sliding_x[c], rhs, len(rhs)) + inner(workspace.sliding_change[c], row_rhs, nr)
    solve_small(A, s)
    for c in range(n):
        powers[flat.friction_row[c]] = s[c]
    add_pulled_friction(flat, workspace, multipliers, powers, to_rates, to_multipliers)
    for r in range(nr):
        to_rates[r] *= -gamma
    add_row_forces(flat, workspace.G, to_rates, rhs)
    for r in range(len(multipliers)):
        row_rhs[r] -= to_multipliers[r]


@njit(cache=True)
def friction_forces(flat, track, functions, kinematics, workspace, forces):
    """The part of dry friction in the residuals (n, nv) of the steps of a track."""
    efforts = workspace.efforts
    for step in range(len(functions)):
        w, memory = track.w[step + 1], track.angles[step + 1]
        all_rows(flat, track.q[step + 1], functions[step], memory, kinematics, workspace.values, workspace.G)
        row_rates(flat, workspace.G, w, workspace.rates)
        efforts[:] = 0.0
        add_friction(flat, track.multipliers[step + 1], workspace)
        for r in range(len(efforts)):
            efforts[r] = -efforts[r]
        forces[step] = 0.0
        add_row_forces(flat, workspace.G, efforts, forces[step])

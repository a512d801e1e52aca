"""Newton corrections with loads along lines of bodies: fluid in pipes and wind.

The matrix `A` of a step (flexmb/kernels/steps/solve.py) does not contain the derivatives `J` of these loads with
respect to the displacements at the end of the step, which are unsymmetric and fill the blocks of their bodies. The
correction `x` satisfies

    x = x_0 + A^-1 J x

with the solution `x_0` without them. It is found by the method of generalised minimal residuals (GMRES), in the inner
product of the kinetic energy, so that it does not depend on units. Products with `J` are derivatives in a direction,
and products with `A^-1` are solutions with the factors of the step: the cost is linear in the number of bodies. Source:
Saad and Schultz, "GMRES: A generalized minimal residual algorithm for solving nonsymmetric linear systems", SIAM
Journal on Scientific and Statistical Computing 7 (1986) 856-869.
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.dense import inner
from flexmb.kernels.loads.line_changes import add_line_changes
from flexmb.kernels.steps.solve import mass_times, solve_again

VECTORS = 12
"""Largest number of products in one correction."""
LOOSE = 1e-3
"""Error of a correction, relative to it, at which no further products are taken: the next corrections are smaller by
this factor, as Newton's method usually achieves."""


@njit(cache=True)
def carry_lines(flat, q, w, functions, kinematics, workspace, null_rows, beta, gamma, compliance, x, change):
    """Correct the solution `x` (nv,), `change` (nr,) of a step by the changes of the loads along lines that it causes;
    `gamma` is the derivative of velocities with respect to displacements."""
    nv, nr = len(x), len(change)
    V, MV = np.empty((VECTORS + 1, nv)), np.empty((VECTORS + 1, nv))
    Y, R = np.empty((VECTORS, nv)), np.empty((VECTORS, nr))
    H, c, s, g = np.zeros((VECTORS + 1, VECTORS)), np.zeros(VECTORS), np.zeros(VECTORS), np.zeros(VECTORS + 1)
    force, none = np.empty(nv), np.zeros(nr)
    mass_times(flat, workspace, x, MV[0])
    size = math.sqrt(max(inner(x, MV[0], nv), 0.0))
    if not (size > 0.0 and np.isfinite(size)):
        return
    for i in range(nv):
        V[0, i], MV[0, i] = x[i] / size, MV[0, i] / size
    g[0] = size
    count = 0
    for j in range(VECTORS):
        force[:] = 0.0
        add_line_changes(flat, q, w, V[j], gamma, functions, kinematics, force)
        workspace.previous_multipliers[:] = 0.0
        solve_again(flat, workspace, null_rows, beta, compliance, force, none, Y[j], R[j])
        for i in range(nv):
            V[j + 1, i] = V[j, i] - Y[j, i]
        for _ in range(2):  # orthogonal to round-off
            for k in range(j + 1):
                part = inner(V[j + 1], MV[k], nv)
                H[k, j] += part
                for i in range(nv):
                    V[j + 1, i] -= part * V[k, i]
        mass_times(flat, workspace, V[j + 1], MV[j + 1])
        beyond = math.sqrt(max(inner(V[j + 1], MV[j + 1], nv), 0.0))
        count = j + 1
        for k in range(j):
            a, b = H[k, j], H[k + 1, j]
            H[k, j], H[k + 1, j] = c[k] * a + s[k] * b, c[k] * b - s[k] * a
        whole = math.hypot(H[j, j], beyond)
        if not (whole > 0.0 and np.isfinite(whole)):
            count = j
            break
        c[j], s[j] = H[j, j] / whole, beyond / whole
        H[j, j] = whole
        g[j], g[j + 1] = c[j] * g[j], -s[j] * g[j]
        if abs(g[j + 1]) <= LOOSE * size:
            break
        for i in range(nv):
            V[j + 1, i], MV[j + 1, i] = V[j + 1, i] / beyond, MV[j + 1, i] / beyond
    for j in range(count - 1, -1, -1):
        for k in range(j + 1, count):
            g[j] -= H[j, k] * g[k]
        g[j] /= H[j, j]
    for j in range(count):
        for i in range(nv):
            x[i] += g[j] * Y[j, i]
        for r in range(nr):
            change[r] += g[j] * R[j, r]

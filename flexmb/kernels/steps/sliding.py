"""Newton corrections with sliding joints, whose friction depends on the multipliers.

The matrix of a step (flexmb/kernels/steps/solve.py) does not contain the derivative of friction with respect to the
multipliers. The response to a unit effort in each sliding joint, found with the factors of this matrix, corrects its
solution: the changes `s` of the efforts satisfy `s = -d b'(change + R s)`, with the signs `d` of sliding, the
derivative `b'` of the bounds and the responses `R` of the multipliers.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import solve_small
from flexmb.kernels.equations.friction import friction_change
from flexmb.kernels.steps.solve import solve_again


@njit(cache=True)
def respond(flat, workspace, null_rows, beta, compliance):
    """Write the responses to a unit effort in every sliding joint to `workspace.sliding_x` (nf, nv) and
    `workspace.sliding_change` (nf, nr)."""
    force, none = workspace.sliding_force, workspace.sliding_none
    workspace.previous_multipliers[:] = 0.0
    for k in range(len(flat.friction_row)):
        if flat.friction_direction[k] == 0.0:
            continue
        r = flat.friction_row[k]
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
            workspace.sliding_x[k],
            workspace.sliding_change[k],
        )


@njit(cache=True)
def slide(flat, workspace, multipliers, x, change):
    """Correct the solution `x` (nv,), `change` (nr,) of a step by the changes of friction that it causes."""
    n = len(flat.friction_row)
    A, s = np.zeros((n, n)), np.zeros(n)
    for k in range(n):
        A[k, k] = 1.0
        sign = flat.friction_direction[k]
        if sign != 0.0:
            s[k] = -sign * friction_change(flat, k, multipliers, change)
            for j in range(n):
                if flat.friction_direction[j] != 0.0:
                    A[k, j] += sign * friction_change(flat, k, multipliers, workspace.sliding_change[j])
    solve_small(A, s)
    for k in range(n):
        if s[k] != 0.0:
            for i in range(len(x)):
                x[i] += s[k] * workspace.sliding_x[k, i]
            for r in range(len(change)):
                change[r] += s[k] * workspace.sliding_change[k, r]

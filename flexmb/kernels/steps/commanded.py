"""Newton corrections with controllers, which couple bodies that no row connects.

The matrix of a step (flexmb/kernels/steps/solve.py) does not contain the derivatives of the commands of controllers.
The responses to commands of one, found with the factors of this matrix, correct its solution: the changes `s` of the
commands satisfy `s = T D (x + X s)`, with the responses `X`, the derivatives `D` of the signals with respect to the
displacements at the end of the step and the slopes `T` of the commands, in which the states of the controllers follow.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.dense import copy, solve_small
from flexmb.kernels.equations.controllers import command_forces, command_slopes, signal_change
from flexmb.kernels.equations.elements import add_input_forces
from flexmb.kernels.steps.solve import solve_again


@njit(cache=True)
def respond_to_commands(flat, functions, kinematics, workspace, null_rows, beta, compliance):
    """Write the slopes of all commands, and the responses to commands of one, to `workspace.command_x` (nu, nv) and
    `workspace.command_change` (nu, nr)."""
    command_slopes(flat, functions, workspace)
    command_forces(flat, kinematics, workspace)
    add_input_forces(flat, functions, workspace, workspace.command_force)
    workspace.previous_multipliers[:] = 0.0
    for k in range(len(workspace.commands)):
        copy(workspace.command_force[k], workspace.command_rhs)
        solve_again(
            flat,
            workspace,
            null_rows,
            beta,
            compliance,
            workspace.command_rhs,
            workspace.command_none,
            workspace.command_x[k],
            workspace.command_change[k],
        )


@njit(cache=True)
def follow_commands(flat, kinematics, workspace, gamma, x, change):
    """Correct the solution `x` (nv,), `change` (nr,) of a step by the changes of the commands that it causes."""
    n, T = len(workspace.commands), workspace.command_slopes
    A, s = np.zeros((n, n)), np.zeros(n)
    for i in range(len(workspace.signals)):
        own = signal_change(flat, kinematics, workspace, gamma, i, x)
        for k in range(n):
            s[k] += T[k, i] * own
        for j in range(n):
            other = signal_change(flat, kinematics, workspace, gamma, i, workspace.command_x[j])
            for k in range(n):
                A[k, j] -= T[k, i] * other
    for k in range(n):
        A[k, k] += 1.0
    solve_small(A, s)
    for k in range(n):
        if s[k] != 0.0:
            for i in range(len(x)):
                x[i] += s[k] * workspace.command_x[k, i]
            for r in range(len(change)):
                change[r] += s[k] * workspace.command_change[k, r]

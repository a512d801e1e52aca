"""The loop over stored times of generalised-alpha: steps, and a copy of the motion after some of them."""

import numpy as np
from numba import njit

from flexmb.kernels.base.dense import copy
from flexmb.kernels.equations.residual import residual
from flexmb.kernels.equations.rows import angles_reached
from flexmb.kernels.steps.step import CONVERGED, advance


@njit(cache=True)
def advance_stored(
    flat, tree, weight, scheme, h, functions, motion, kinematics, workspace, q, w, wdot, multipliers, work, energies,
    angles, states,
):  # fmt: skip
    """Advance `motion` to several stored times, and write the motion at each of them to a row of the tables `q` to
    `states`.

    `h` (nt,) are the sizes of the steps before each stored time, to which the accelerations of `motion` belong, and
    `functions` (nt, steps, nf, 3) the functions of time at their ends. Returns the outcome (see `advance`), and the
    numbers of stored times and of steps after the last of them.
    """
    steps = functions.shape[1]
    for k in range(len(h)):
        outcome, done = advance(
            flat, tree, weight, scheme, h[k], steps, np.inf, functions[k], motion, kinematics, workspace
        )
        if outcome != CONVERGED:
            return outcome, k, done
        now = functions[k, steps - 1]
        workspace.half[0] = 0.0
        copy(motion.states, workspace.state_base)
        residual(
            flat, motion.q, motion.w, motion.wdot, motion.multipliers, now, motion.expected, kinematics, workspace,
            workspace.unbalanced, energies[k],
        )  # fmt: skip
        angles_reached(flat, now, kinematics, motion.expected, angles[k])
        copy(motion.q, q[k])
        copy(motion.w, w[k])
        copy(motion.wdot, wdot[k])
        copy(motion.multipliers, multipliers[k])
        copy(motion.work, work[k])
        copy(motion.states, states[k])
    return CONVERGED, len(h), 0

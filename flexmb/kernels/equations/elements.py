"""Force elements between two frames: a force and a moment from the relative motion of the frames and own states.

Frame `b` is seen from frame `a`: position `d`, rotation `S = R_a^T R_b`, velocity `v = d'` and angular velocity
`omega`, all resolved in `a`. A law returns the force and the moment on `b`, in axes of `a`; the opposite wrench acts on
`a`. Each element has six rows, whose rates are `v` and `omega` (flexmb/kernels/equations/rows.py), and its wrench is
the efforts of these rows, so that all that is done with rows is done with elements.

A law with inputs receives them after the relative motion: commands of controllers, which are evaluated before.

States are local. Their value at the end of a step is `state_base + half * rate`, with the rate of the law at the end of
the step, in which `state_base` holds the value and half of the rate at the beginning (trapezoidal rule, order 2). A law
that returns new states computes them from `state_base`, the states at the beginning. With `half = 0` the states are
those of `state_base`. The iteration for the states is nested in the evaluation of an element; the equations of the
mechanism have no further unknowns.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import matrix, relative
from flexmb.kernels.base.call import call_frame_law
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import copy, inner, solve_small

SLOPE, NEAR = 1e-6, 1e-3
"""Step of differences relative to a displacement or state, and the lower bound of the latter relative to the length of
the mechanism, to an angle of one, or to the largest state of the element."""
ATTEMPTS, SETTLED = 12, 1e-13
"""Newton iterations for the states of an element, and their relative accuracy."""


@njit(cache=True)
def answer(flat, e, t, seen, states, out):
    """Call the law of element `e`: wrench (6), stored energy and rates of states, or new states, in `out`."""
    k, p = flat.element_state[e], flat.element_parameter[e]
    call_frame_law(flat.element_law[e], flat.element_record[e], t, seen, states[k:], flat.element_parameters[p:], out)


@njit(cache=True)
def answer_over(flat, e, times, seen, states, out):
    """`answer` at `times` (n,), at one relative motion and with fixed states, in `out` (n, 7 + the states)."""
    for k in range(len(times)):
        answer(flat, e, times[k], seen, states, out[k])


@njit(cache=True)
def _settle(flat, workspace, e, t, seen, states, out):
    """Evaluate element `e` for the relative motion `seen` (18,): its `states` (nz,) and what its law returns, `out`."""
    first, last = flat.element_state[e], flat.element_state[e + 1]
    half, base, n = workspace.half[0], workspace.state_base, last - first
    for k in range(first, last):
        states[k] = base[k]
    if n == 0 or half == 0.0 or flat.element_updates[e] == 1:
        answer(flat, e, t, seen, states, out)
        if half != 0.0:
            for k in range(n):
                states[first + k] = out[7 + k]
        return
    for k in range(n):
        states[first + k] = base[first + k] + half * workspace.state_rates[first + k]
    J, left, ahead = workspace.settling, workspace.settling[len(workspace.settling) - 1, :n], workspace.answer[3]
    size = 0.0  # the largest of all attempts: states may settle at zero
    for _ in range(ATTEMPTS):
        answer(flat, e, t, seen, states, out)
        error = 0.0
        for k in range(n):
            left[k] = states[first + k] - base[first + k] - half * out[7 + k]
            size = max(size, abs(states[first + k]), abs(half * out[7 + k]))
            error = max(error, abs(left[k]))
        if not error > SETTLED * size or not np.isfinite(error):
            return
        for j in range(n):
            kept = states[first + j]
            shift = SLOPE * max(abs(kept), NEAR * size)
            states[first + j] = kept + shift
            answer(flat, e, t, seen, states, ahead)
            states[first + j] = kept
            for k in range(n):
                J[k, j] = (1.0 if j == k else 0.0) - half * (ahead[7 + k] - out[7 + k]) / shift
        solve_small(J, left)
        moved = 0.0
        for k in range(n):
            states[first + k] -= left[k]
            moved = max(moved, abs(left[k]))
        if moved <= SETTLED * size:
            answer(flat, e, t, seen, states, out)
            return
    out[:7] = np.nan


@njit(cache=True)
def _see(flat, kinematics, workspace, e, seen):
    """The relative motion of the frames of element `e`: `d`, `S` row by row, `v` and `omega`; then its inputs."""
    r = flat.element_row[e]
    a, b = flat.row_markers[r, 0], flat.row_markers[r, 1]
    S = relative(matrix(kinematics.axes, a), matrix(kinematics.axes, b))
    for k in range(3):
        seen[k] = workspace.values[r + k]
        seen[12 + k] = workspace.rates[r + k]
        seen[15 + k] = workspace.rates[r + 3 + k]
    for k in range(9):
        seen[3 + k] = S[k]
    for k in range(flat.element_command[e, 1]):
        seen[18 + k] = workspace.commands[flat.element_command[e, 0] + k]


@njit(cache=True)
def act(flat, functions, kinematics, workspace):
    """Set the efforts of the rows of all elements, their stored energies, their states and rates of states; returns the
    sum of the energies.

    The values and rates of the rows must have been evaluated. The relative motions remain in `workspace.seen`.
    """
    t, out, total = functions[len(functions) - 1, 0], workspace.answer[0], 0.0
    for e in range(len(flat.element_row)):
        seen = workspace.seen[e]
        _see(flat, kinematics, workspace, e, seen)
        _settle(flat, workspace, e, t, seen, workspace.states, out)
        r, first = flat.element_row[e], flat.element_state[e]
        for k in range(6):
            workspace.efforts[r + k] = out[k]
        workspace.stored[e] = out[6]
        total += out[6] if out[6] == out[6] else 0.0
        if flat.element_updates[e] == 0:
            for k in range(flat.element_state[e + 1] - first):
                workspace.state_rates[first + k] = out[7 + k]
    return total


@njit(cache=True)
def follow_correction(flat, workspace, stretch):
    """Change the efforts of all elements by their tangents, for changes `stretch` (nr,) of the coordinates of rows."""
    for e in range(len(flat.element_row)):
        r = flat.element_row[e]
        for i in range(6):
            workspace.efforts[r + i] -= inner(workspace.tangents[e, i], stretch[r:], 6)


@njit(cache=True)
def element_tangents(flat, functions, workspace, gamma):
    """Effective stiffnesses `workspace.tangents` (ne, 6, 6) of all elements at the last evaluated state.

    They are minus the derivatives of the wrench with respect to the relative displacement and rotation of `b`, in axes
    of `a`, plus `gamma` times those with respect to velocities: those that the law gives, or by differences, in which
    the states follow.
    """
    t, seen = functions[len(functions) - 1, 0], workspace.seen[len(flat.element_row)]
    out, states, tangents = workspace.answer[1], workspace.answer[2], workspace.tangents
    for e in range(len(flat.element_row)):
        r, first, count = flat.element_row[e], flat.element_state[e], flat.element_state[e + 1] - flat.element_state[e]
        if flat.element_tangent[e] != 0:
            given, p = workspace.given, flat.element_parameter[e]
            call_frame_law(
                flat.element_tangent[e],
                flat.element_record[e],
                t,
                workspace.seen[e],
                workspace.states[first:],
                flat.element_parameters[p:],
                given,
            )
            for i in range(6):
                for j in range(6):
                    tangents[e, i, j] = given[6 * i + j] + gamma * given[36 + 6 * i + j]
            continue
        copy(workspace.seen[e], seen)
        for k in range(count):
            states[k] = workspace.states[first + k]
        size = np.sqrt(seen[0] * seen[0] + seen[1] * seen[1] + seen[2] * seen[2])
        for j in range(6):
            shift, velocity = SLOPE, seen[12 + j]
            if j < 3:
                shift *= NEAR * flat.scales[0] + size
                kept = seen[j]
                seen[j] = kept + shift
                shift = seen[j] - kept
            else:
                turn(seen, j - 3, shift)
            seen[12 + j] = velocity + gamma * shift
            _settle(flat, workspace, e, t, seen, workspace.states, out)
            for i in range(6):
                tangents[e, i, j] = (workspace.efforts[r + i] - out[i]) / shift
            seen[12 + j] = velocity
            if j < 3:
                seen[j] = kept
            else:
                turn(seen, j - 3, -shift)
        for k in range(count):
            workspace.states[first + k] = states[k]


@njit(cache=True)
def add_input_forces(flat, functions, workspace, forces):
    """Add the derivatives of the generalised forces of elements by their inputs, which are commands, to `forces`
    (nu, nv), at the last evaluated state. States follow."""
    t, seen = functions[len(functions) - 1, 0], workspace.seen[len(flat.element_row)]
    out, states = workspace.answer[1], workspace.answer[2]
    for e in range(len(flat.element_row)):
        if flat.element_command[e, 1] == 0:
            continue
        copy(workspace.seen[e], seen)
        r, first, count = flat.element_row[e], flat.element_state[e], flat.element_state[e + 1] - flat.element_state[e]
        for k in range(count):
            states[k] = workspace.states[first + k]
        for j in range(flat.element_command[e, 1]):
            command, kept = flat.element_command[e, 0] + j, seen[18 + j]
            seen[18 + j] = kept + SLOPE * max(abs(kept), NEAR * flat.command_scale[command])
            _settle(flat, workspace, e, t, seen, workspace.states, out)
            for i in range(6):
                change = (out[i] - workspace.efforts[r + i]) / (seen[18 + j] - kept)
                for side in range(2):
                    b = flat.marker_body[flat.row_markers[r + i, side]]
                    if b != GROUND:
                        start = flat.v_start[b]
                        for k in range(flat.v_start[b + 1] - start):
                            forces[command, start + k] += change * workspace.G[r + i, side, k]
            seen[18 + j] = kept
        for k in range(count):
            workspace.states[first + k] = states[k]


@njit(cache=True, inline="always")
def turn(seen, axis, angle):
    """Turn frame `b` of a relative motion by a small angle (its square is round-off) about an axis of `a`."""
    p, q = 3 + 3 * ((axis + 1) % 3), 3 + 3 * ((axis + 2) % 3)
    for k in range(3):
        y, z = seen[p + k], seen[q + k]
        seen[p + k] = y - angle * z
        seen[q + k] = z + angle * y

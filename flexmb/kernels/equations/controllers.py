"""Controllers: commands as functions of time, measured signals and own states.

A controller reads signals and computes commands. A command is an effort of rows, the factor of loads, or an input of a
law between frames (flexmb/kernels/equations/elements.py). Signals are
coordinates of pairs of markers and their rates, with the geometry of rows (flexmb/kernels/equations/rows.py), elastic
displacements and coordinates, functions of time, and commands of controllers that come before.

The states of continuous controllers follow their rates as those of frame forces do
(flexmb/kernels/equations/elements.py): their value at the end of a step is `state_base + half * rate`, found by an
iteration that is nested in the evaluation. The last states of a sampled controller are its commands, which it holds
between two samples (flexmb/simulation/sampling.py).
"""

from typing import Any

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import load3, matrix, rotate, vector
from flexmb.kernels.base.call import call_frame_law
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import solve_small
from flexmb.kernels.equations.rows import add_wrench, row_geometry, to_bodies

VALUE, RATE, DEFLECTION, ELASTIC, ELASTIC_RATE, FUNCTION, COMMAND, CONSTANT = range(8)
"""Sorts of signals."""
SLOPE, NEAR = 1e-6, 1e-3
"""Step of differences relative to a signal or state, and the lower bound of the latter relative to the scale of the
signal, or to the largest state of the controller."""
ATTEMPTS, SETTLED = 12, 1e-13
"""Newton iterations for the states of a controller, and their relative accuracy."""


def pass_on(t: Any, inputs: Any, states: Any, parameters: Any, commands: Any, rates: Any) -> None:
    """The law of a controller whose commands are its inputs; they are the inputs of a law between frames."""
    for k in range(len(commands)):
        commands[k] = inputs[k]


@njit(cache=True)
def signal_geometry(flat, i, angles, kinematics):
    """The value of signal `i`, between two markers, and its covector in the axes of the first one."""
    a, b = flat.signal_markers[i, 0], flat.signal_markers[i, 1]
    return row_geometry(
        flat.signal_kind[i],
        flat.signal_axes[i, 0],
        flat.signal_axes[i, 1],
        flat.signal_given[i],
        angles[flat.signal_angle[i]] if flat.signal_angle[i] >= 0 else 0.0,
        0,
        vector(kinematics.position, a),
        matrix(kinematics.axes, a),
        vector(kinematics.position, b),
        matrix(kinematics.axes, b),
    )


@njit(cache=True)
def _sense(flat, q, w, functions, angles, kinematics, workspace):
    """Evaluate all signals, and the derivatives of those between markers with respect to the motions of both bodies."""
    signals = workspace.signals
    for i in range(len(flat.signal_sort)):
        sort, k = flat.signal_sort[i], flat.signal_index[i]
        a, b = flat.signal_markers[i, 0], flat.signal_markers[i, 1]
        if sort in (VALUE, RATE):
            G = workspace.signal_G[i]
            value, nv, nw = signal_geometry(flat, i, angles, kinematics)
            to_bodies(flat, kinematics, a, b, nv, nw, G)
            signals[i] = value if sort == VALUE else _along(flat, i, G, w)
        elif sort == DEFLECTION:
            axis = flat.signal_axes[i, 0]
            signals[i] = kinematics.body_point[a, axis] - flat.marker_point[a, axis]
        elif sort == ELASTIC:
            signals[i] = q[k] if k >= 0 else 0.0
        elif sort == ELASTIC_RATE:
            signals[i] = w[k] if k >= 0 else 0.0
        elif sort == FUNCTION:
            signals[i] = functions[k, 0]
        elif sort == CONSTANT:
            signals[i] = flat.signal_given[i]


@njit(cache=True)
def _along(flat, i, G, x):
    """The change of the coordinate of signal `i` due to the displacement `x` (nv,)."""
    total = 0.0
    for side in range(2):
        b = flat.marker_body[flat.signal_markers[i, side]]
        if b != GROUND:
            start = flat.v_start[b]
            for j in range(flat.v_start[b + 1] - start):
                total += G[side, j] * x[start + j]
    return total


@njit(cache=True)
def signal_change(flat, kinematics, workspace, gamma, i, x):
    """The change of signal `i` due to the displacement `x` (nv,) at the end of a step, which changes velocities by
    `gamma x`."""
    sort, k = flat.signal_sort[i], flat.signal_index[i]
    if sort == VALUE:
        return _along(flat, i, workspace.signal_G[i], x)
    if sort == RATE:
        return gamma * _along(flat, i, workspace.signal_G[i], x)
    if sort == DEFLECTION:
        marker, axis, total = flat.signal_markers[i, 0], flat.signal_axes[i, 0], 0.0
        b = flat.marker_body[marker]
        if flat.marker_moves[marker]:
            for j in range(flat.modes[b]):
                total += kinematics.rows[marker, axis, j] * x[flat.v_start[b] + 6 + j]
        return total
    if sort in (ELASTIC, ELASTIC_RATE) and k >= 0:
        return x[flat.signal_rate[i]] * (1.0 if sort == ELASTIC else gamma)
    return 0.0


@njit(cache=True)
def command_answer(flat, c, t, signals, states, out):
    """Call the law of controller `c`: commands and rates of states in `out`."""
    i, k, p = flat.control_signal[c], flat.control_state[c], flat.control_parameter[c]
    call_frame_law(
        flat.control_law[c], flat.control_record[c], t, signals[i:], states[k:], flat.control_parameters[p:], out
    )


@njit(cache=True)
def _settle(flat, workspace, c, t, out):
    """Evaluate the continuous controller `c`: its states, and what its law returns, `out`."""
    first, last = flat.control_state[c], flat.control_state[c + 1]
    half, base, n, states = workspace.half[0], workspace.state_base, last - first, workspace.states
    count = flat.control_command[c + 1] - flat.control_command[c]
    for k in range(first, last):
        states[k] = base[k] + half * workspace.state_rates[k]
    command_answer(flat, c, t, workspace.signals, states, out)
    if n == 0 or half == 0.0:
        return
    J = workspace.control_settling
    left, ahead = J[len(J) - 1, :n], workspace.control_answer[1]
    size = 0.0  # the largest of all attempts: states may settle at zero
    for _ in range(ATTEMPTS):
        error = 0.0
        for k in range(n):
            left[k] = states[first + k] - base[first + k] - half * out[count + k]
            size = max(size, abs(states[first + k]), abs(half * out[count + k]))
            error = max(error, abs(left[k]))
        if not error > SETTLED * size or not np.isfinite(error):
            return
        for j in range(n):
            kept = states[first + j]
            shift = SLOPE * max(abs(kept), NEAR * size)
            states[first + j] = kept + shift
            command_answer(flat, c, t, workspace.signals, states, ahead)
            states[first + j] = kept
            for k in range(n):
                J[k, j] = (1.0 if j == k else 0.0) - half * (ahead[count + k] - out[count + k]) / shift
        solve_small(J, left)
        moved = 0.0
        for k in range(n):
            states[first + k] -= left[k]
            moved = max(moved, abs(left[k]))
        command_answer(flat, c, t, workspace.signals, states, out)
        if moved <= SETTLED * size:
            return
    out[: count + n] = np.nan


@njit(cache=True)
def _command(flat, t, workspace):
    """Set the commands, states and rates of states of all controllers for the present signals."""
    signals, commands, out = workspace.signals, workspace.commands, workspace.control_answer[0]
    for c in range(len(flat.control_law)):
        first, last = flat.control_state[c], flat.control_state[c + 1]
        begin, count = flat.control_command[c], flat.control_command[c + 1] - flat.control_command[c]
        if flat.control_sampled[c] == 1:
            for k in range(first, last):
                workspace.states[k] = workspace.state_base[k]
                workspace.state_rates[k] = 0.0
            for k in range(count):
                commands[begin + k] = workspace.state_base[last - count + k]
            continue
        for i in range(flat.control_signal[c], flat.control_signal[c + 1]):
            if flat.signal_sort[i] == COMMAND:
                signals[i] = commands[flat.signal_index[i]]
        _settle(flat, workspace, c, t, out)
        for k in range(count):
            commands[begin + k] = out[k]
        for k in range(last - first):
            workspace.state_rates[first + k] = out[count + k]


@njit(cache=True)
def control(flat, q, w, functions, angles, kinematics, workspace):
    """Set the signals and the commands, states and rates of states of all controllers at the placed markers."""
    _sense(flat, q, w, functions, angles, kinematics, workspace)
    _command(flat, functions[len(functions) - 1, 0], workspace)


@njit(cache=True)
def command_slopes(flat, functions, workspace):
    """Set the derivatives `workspace.command_slopes` (nu, ni) of all commands with respect to the measured signals at
    the last evaluated state, by differences; states, and controllers that read others, follow."""
    t, signals, commands = functions[len(functions) - 1, 0], workspace.signals, workspace.commands
    kept = workspace.command_kept
    slopes = workspace.command_slopes
    slopes[:] = 0.0
    for k in range(len(commands)):
        kept[k] = commands[k]
    for i in range(len(signals)):
        if flat.signal_sort[i] >= FUNCTION:
            continue
        value = signals[i]
        shift = SLOPE * max(abs(value), NEAR * flat.signal_scale[i])
        signals[i] = value + shift
        _command(flat, t, workspace)
        for k in range(len(commands)):
            slopes[k, i] = (commands[k] - kept[k]) / (signals[i] - value)
        signals[i] = value
    _command(flat, t, workspace)


@njit(cache=True)
def command_forces(flat, kinematics, workspace):
    """Set the generalised forces `workspace.command_force` (nu, nv) of commands of one at the last evaluated state."""
    forces = workspace.command_force
    forces[:] = 0.0
    for r in range(flat.joint_rows, len(flat.row_kind)):
        k = flat.row_command[r]
        if k >= 0:
            for side in range(2):
                b = flat.marker_body[flat.row_markers[r, side]]
                if b != GROUND:
                    start = flat.v_start[b]
                    for i in range(flat.v_start[b + 1] - start):
                        forces[k, start + i] += workspace.G[r, side, i]
    for l in range(len(flat.load_marker)):
        k, marker = flat.load_command[l], flat.load_marker[l]
        if k >= 0:
            force, moment = load3(flat.load_wrench[l], 0), load3(flat.load_wrench[l], 3)
            if flat.load_follower[l] == 1:
                A = matrix(kinematics.axes, marker)
                force, moment = rotate(A, force), rotate(A, moment)
            add_wrench(flat, marker, force, moment, kinematics, workspace.bias, forces[k])

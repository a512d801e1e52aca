"""Derivatives of continuous controllers, for the adjoint equations.

A controller gives its commands `u` and the rates `f` of its states `z` from its signals `s`; the states at the end of a
step are `z = base + half f(s, z)`. With the derivatives `U` of the result with respect to the commands, and the
costates `Z`, `R` of the states and their rates,

    (1 - half df/dz)^T nu = Z + (df/dz)^T R + (du/dz)^T U,

`nu` is the derivative with respect to `base`, and `(df/ds)^T (half nu + R) + (du/ds)^T U` that with respect to the
signals. Controllers are taken backward, because some read the commands of others. Signals that are rates of
coordinates depend on positions too: their second derivatives are those of rows
(flexmb/kernels/derivatives/transposed.py).
"""

from numba import njit

from flexmb.kernels.base.data import SPIN
from flexmb.kernels.base.dense import inner, solve_small
from flexmb.kernels.derivatives.elements import SLOPE, tells
from flexmb.kernels.derivatives.transposed import DIFFERENCE, add_covector, add_turned, without_coordinate
from flexmb.kernels.equations.controllers import (
    COMMAND,
    DEFLECTION,
    ELASTIC,
    ELASTIC_RATE,
    NEAR,
    RATE,
    VALUE,
    command_answer,
    command_forces,
    signal_geometry,
)
from flexmb.kernels.equations.displacement import displace
from flexmb.kernels.equations.rows import place_markers


@njit(cache=True)
def telling_scale(flat, c, t, signals, states, k, scale, low, high):
    """The `scale` of state `k` of controller `c`, if need be enlarged until a change by it tells in the commands or in
    the rates of the states; unchanged if no change up to one does. A state may be zero but for rounding."""
    kept, size = states[k], scale
    commands = flat.control_command[c + 1] - flat.control_command[c]
    rates = flat.control_state[c + 1] - flat.control_state[c]
    command_answer(flat, c, t, signals, states, low)
    while size < 1.0:
        states[k] = kept + size
        command_answer(flat, c, t, signals, states, high)
        states[k] = kept
        if tells(low, high, 0, commands) or tells(low, high, commands, commands + rates):
            return size
        size *= 10.0
    return scale


@njit(cache=True)
def control_slopes(flat, functions, kinematics, workspace, scratch):
    """Set the derivatives `scratch.control_slopes` of commands, then of rates of states, with respect to the signals of
    each controller, then to its states, and the forces `workspace.command_force` of commands of one.

    The controllers must have been evaluated in `workspace`.
    """
    t, signals, states = functions[len(functions) - 1, 0], workspace.signals, scratch.states
    low, high = workspace.control_answer[0], workspace.control_answer[1]
    command_forces(flat, kinematics, workspace)
    for c in range(len(flat.control_law)):
        begin, first = flat.control_signal[c], flat.control_state[c]
        count, n = flat.control_signal[c + 1] - begin, flat.control_state[c + 1] - first
        slopes, returned = scratch.control_slopes[c], flat.control_command[c + 1] - flat.control_command[c] + n
        for k in range(first, first + n):
            states[k] = workspace.states[k]
        for j in range(count + n):
            own = j < count
            k = begin + j if own else first + j - count
            given = signals if own else states
            if own:
                scale = NEAR * flat.signal_scale[k]
            else:
                scale = telling_scale(flat, c, t, signals, states, k, scratch.state_scale[k], low, high)
            kept = given[k]
            size = SLOPE * max(abs(kept), scale)
            given[k] = kept - size
            command_answer(flat, c, t, signals, states, low)
            shift = kept + size - given[k]
            given[k] = kept + size
            command_answer(flat, c, t, signals, states, high)
            given[k] = kept
            for i in range(returned):
                slopes[i, j] = (high[i] - low[i]) / shift


@njit(cache=True)
def _control_transposed(flat, half, c, to_states, to_rates, scratch):
    """Add the derivatives with respect to the signals of controller `c`, and to the `base` of its states, to
    `scratch.to_signals` and `scratch.base`, from those with respect to its commands, `scratch.to_commands`."""
    begin, first, own = flat.control_signal[c], flat.control_state[c], flat.control_command[c]
    count, n = flat.control_signal[c + 1] - begin, flat.control_state[c + 1] - first
    commands, slopes, J = flat.control_command[c + 1] - own, scratch.control_slopes[c], scratch.control_settling
    left = J[len(J) - 1, :n]
    for j in range(n):
        left[j] = to_states[first + j]
        for i in range(commands):
            left[j] += slopes[i, count + j] * scratch.to_commands[own + i]
        for i in range(n):
            left[j] += slopes[commands + i, count + j] * to_rates[first + i]
            J[j, i] = (1.0 if i == j else 0.0) - half * slopes[commands + i, count + j]
    if n > 0:
        solve_small(J, left)
    for j in range(n):
        scratch.base[first + j] += left[j]
    for j in range(count):
        total = 0.0
        for i in range(commands):
            total += slopes[i, j] * scratch.to_commands[own + i]
        for i in range(n):
            total += slopes[commands + i, j] * (half * left[i] + to_rates[first + i])
        scratch.to_signals[begin + j] = total
        if flat.signal_sort[begin + j] == COMMAND:
            scratch.to_commands[flat.signal_index[begin + j]] += total


@njit(cache=True)
def _add_signals(flat, sort, angles, kinematics, scratch, out):
    """Add the covectors of the signals of a `sort` between markers, times `scratch.to_signals`, to `out` (nv,)."""
    for i in range(len(flat.signal_sort)):
        if flat.signal_sort[i] == sort and scratch.to_signals[i] != 0.0:
            a, b = flat.signal_markers[i, 0], flat.signal_markers[i, 1]
            _, linear, angular = signal_geometry(flat, i, angles, kinematics)
            add_covector(flat, a, b, linear, angular, scratch.to_signals[i], kinematics, scratch.row_G, out)


@njit(cache=True)
def _add_change_of_rates(flat, q, w, angles, kinematics, scratch, displaced, to_q):
    """Add the derivatives of the signals that are rates with respect to the configuration; `scratch.forces` holds
    their covectors."""
    forces, moved = scratch.forces, scratch.moved_forces
    add_turned(flat, w, forces, -1.0, to_q)
    size = 0.0
    for i in range(len(w)):
        size = max(size, abs(w[i]) * flat.weight[i])
    for i in range(len(flat.signal_sort)):
        if flat.signal_sort[i] == RATE and flat.signal_kind[i] == SPIN and scratch.to_signals[i] != 0.0:
            a, b, axis = flat.signal_markers[i, 0], flat.signal_markers[i, 1], flat.signal_axes[i, 0]
            linear, angular = without_coordinate(flat, SPIN, axis, 0, 0.0, a, b, w, kinematics)
            add_covector(flat, a, b, linear, angular, scratch.to_signals[i], kinematics, scratch.row_G, to_q)
    if size == 0.0:
        return
    epsilon = DIFFERENCE / size
    for i in range(len(w)):
        scratch.change[i] = epsilon * w[i]
    displace(flat, q, scratch.change, scratch.q)
    place_markers(flat, scratch.q, displaced)
    moved[:] = 0.0
    _add_signals(flat, RATE, angles, displaced, scratch, moved)
    for i in range(len(w)):
        to_q[i] += (moved[i] - forces[i]) / epsilon


@njit(cache=True)
def controllers_transposed(flat, q, w, y, angles, kinematics, workspace, scratch, displaced, costates, to_q, to_w):
    """Add the derivatives of the virtual power `y . residual` by the commands of controllers, and of the states of
    controllers with their `costates`, with respect to the configuration and the velocities, and to `scratch.base`.

    `control_slopes` must have been evaluated at this state, and the derivatives by the inputs of elements be in
    `scratch.pulled`.
    """
    for k in range(len(scratch.to_commands)):
        scratch.to_commands[k] = -inner(workspace.command_force[k], y, len(y))
    for e in range(len(flat.element_row)):
        after = 12 + flat.element_state[e + 1] - flat.element_state[e]
        for j in range(flat.element_command[e, 1]):
            scratch.to_commands[flat.element_command[e, 0] + j] += scratch.pulled[e, after + j]
    for c in range(len(flat.control_law) - 1, -1, -1):
        _control_transposed(flat, workspace.half[0], c, costates.states, costates.state_rates, scratch)
    _add_signals(flat, VALUE, angles, kinematics, scratch, to_q)
    scratch.forces[:] = 0.0
    _add_signals(flat, RATE, angles, kinematics, scratch, scratch.forces)
    for i in range(len(to_w)):
        to_w[i] += scratch.forces[i]
    _add_change_of_rates(flat, q, w, angles, kinematics, scratch, displaced, to_q)
    for i in range(len(flat.signal_sort)):
        sort, weight = flat.signal_sort[i], scratch.to_signals[i]
        if sort == DEFLECTION:
            marker, axis = flat.signal_markers[i, 0], flat.signal_axes[i, 0]
            b = flat.marker_body[marker]
            if flat.marker_moves[marker]:
                for j in range(flat.modes[b]):
                    to_q[flat.v_start[b] + 6 + j] += weight * kinematics.rows[marker, axis, j]
        elif sort in (ELASTIC, ELASTIC_RATE) and flat.signal_index[i] >= 0:
            if sort == ELASTIC:
                to_q[flat.signal_rate[i]] += weight
            else:
                to_w[flat.signal_rate[i]] += weight

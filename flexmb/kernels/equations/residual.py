"""The residual of the equations of motion, energies and powers. Gravity is in `balance_body`."""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import cross, dot, load3, matrix, rotate_inv
from flexmb.kernels.base.call import call_law
from flexmb.kernels.base.data import ANGLE
from flexmb.kernels.base.dense import FAST, add_coupled, copy, inner
from flexmb.kernels.base.sharing import BALANCE, FORCES, PLACE, ROWS, put, put_array, put_table, share
from flexmb.kernels.equations.bodies import add_elastic_inertia, body_terms
from flexmb.kernels.equations.contact_groups import POWER, add_group_forces
from flexmb.kernels.equations.controllers import control
from flexmb.kernels.equations.elements import act, follow_correction
from flexmb.kernels.equations.friction import add_friction, friction_heat
from flexmb.kernels.equations.rows import (
    add_row_forces,
    add_wrenches,
    all_rows,
    load_wrenches,
    row_rates,
    turn_bodies,
)
from flexmb.kernels.equations.skins import add_skin_forces
from flexmb.kernels.loads.lines import add_lines
from flexmb.kernels.loads.velocities import add_velocity_forces, velocity_heat

KINETIC, ELASTIC, GRAVITY, SPRING, ELEMENT = 0, 1, 2, 3, 4  # entries of the energies; the last of frame forces
DRIVER, LOAD, MODAL_HEAT, DAMPER_HEAT = 0, 1, 2, 3  # entries of the powers

SLOPE, NEAR = 1e-6, 1e-3
"""Difference step of the slopes of force laws, relative to the coordinate (or its rate), and the lower bound of the
latter, relative to the length of the mechanism or to an angle of one (times the rate of the mechanism)."""


@njit(cache=True, fastmath=FAST)
def _balance_elastic(m, bias, stiffness, damping, eta, rate, Mre, acceleration, g, out):
    """Overwrite the applied forces `out` (m,) by the elastic part of the residual of a body; returns its strain
    energy."""
    a, b, c = acceleration[0] - g[0], acceleration[1] - g[1], acceleration[2] - g[2]
    d, e, f = acceleration[3], acceleration[4], acceleration[5]
    energy = 0.0
    for i in range(m):
        coupled = Mre[0, i] * a + Mre[1, i] * b + Mre[2, i] * c + Mre[3, i] * d + Mre[4, i] * e + Mre[5, i] * f
        force = stiffness[i] * eta[i]
        out[i] = bias[6 + i] + force + damping[i] * rate[i] - out[i] + coupled
        energy += force * eta[i]
    return 0.5 * energy


@njit(cache=True, inline="always")
def balance_rows(flat, q, w, multipliers, functions, angles, kinematics, workspace, out, energies):
    """Store values, Jacobians and efforts of all rows in `workspace`, and the generalised forces of rows and loads in
    `out` (nv,)."""
    values, G, efforts, rates = workspace.values, workspace.G, workspace.efforts, workspace.rates
    if workspace.pool[0] == 0:
        all_rows(flat, q, functions, angles, kinematics, values, G)
    else:
        _share_rows(flat, q, functions, angles, kinematics, workspace)
    if len(flat.control_law) > 0:
        control(flat, q, w, functions, angles, kinematics, workspace)
    workspace.loads[:] = 0.0
    load_wrenches(flat, functions, workspace.commands, kinematics, workspace.wrenches)
    add_wrenches(flat, workspace.wrenches, kinematics, workspace.bias, workspace.loads)
    if len(flat.line_kind) > 0:
        add_lines(flat, q, w, functions, kinematics, workspace.loads)
    copy(workspace.loads, out)
    if len(flat.velocity_body) > 0:
        add_velocity_forces(flat, w, out)
    nj = flat.joint_rows
    if len(values) > nj:
        row_rates(flat, G, w, rates)
    for r in range(nj, len(values)):
        stretch = values[r] - flat.row_offset[r]
        effort = functions[flat.row_function[r], 0] if flat.row_function[r] >= 0 else 0.0
        if flat.row_law[r] != 0:
            workspace.laws[r] = call_law(flat.row_law[r], functions[len(functions) - 1, 0], stretch, rates[r])
            effort += workspace.laws[r]
            if flat.row_store[r] != 0:
                energies[ELEMENT] += call_law(flat.row_store[r], functions[len(functions) - 1, 0], stretch, rates[r])
        if flat.row_command[r] >= 0:
            effort += workspace.commands[flat.row_command[r]]
        efforts[r] = effort - flat.row_stiffness[r] * stretch - flat.row_damping[r] * rates[r]
        energies[SPRING] += 0.5 * flat.row_stiffness[r] * stretch * stretch
    if len(flat.element_row) > 0:
        energies[ELEMENT] += act(flat, functions, kinematics, workspace)
    if len(flat.group_marker) > 0:
        energies[ELEMENT] += add_group_forces(flat, w, kinematics, workspace, out)
    if len(flat.skin_body) > 0:
        energies[SPRING] += add_skin_forces(flat, q, kinematics, workspace, out)
    if len(flat.friction_row) > 0:
        add_friction(flat, multipliers, workspace)
    for r in range(nj):
        efforts[r] = -multipliers[r]
    if workspace.pool[0] == 0:
        add_row_forces(flat, G, efforts, out)
    else:
        _share_forces(flat, workspace, out)


@njit(cache=True)
def _share_rows(flat, q, functions, angles, kinematics, workspace):
    """`all_rows` with the values and Jacobians of `workspace`, in several threads."""
    turn_bodies(flat, q, kinematics)
    row = workspace.shared[PLACE]
    at = put(row, put_array(row, put(row, 2, flat), q), kinematics)
    failed = share(workspace, PLACE, at, len(flat.marker_body))
    row = workspace.shared[ROWS]
    at = put_array(row, put_table(row, put(row, 2, flat), functions), angles)
    at = put(row, put(row, at, kinematics), workspace)
    if failed + share(workspace, ROWS, at, len(workspace.values)) != 0:
        workspace.values[:] = np.nan


@njit(cache=True)
def _share_forces(flat, workspace, out):
    """`add_row_forces` with the Jacobians and efforts of `workspace`, in several threads."""
    row = workspace.shared[FORCES]
    at = put_array(row, put(row, put(row, 2, flat), workspace), out)
    if share(workspace, FORCES, at, len(flat.modes)) != 0:
        out[:] = np.nan


@njit(cache=True)
def balance_bodies(flat, q, w, wdot, kinematics, workspace, out, first, end, lane):
    """`balance_body` for the bodies from `first` to `end` - 1, in thread `lane`."""
    for b in range(first, end):
        balance_body(flat, b, q, w, wdot, kinematics, workspace, lane, out)


@njit(cache=True, inline="always")
def balance_body(flat, b, q, w, wdot, kinematics, workspace, lane, out):
    """Overwrite the forces on body `b` in `out` (nv,) by its residual, and store its mass blocks and energies in
    `workspace`.

    The attitudes of the bodies must be set (`turn_bodies`). The work arrays are those of thread `lane`.
    """
    m, qs, vs = flat.modes[b], flat.q_start[b], flat.v_start[b]
    first = vs - 6 * b
    Mrr, Mre, mass, bias = workspace.Mrr[b], workspace.Mre[b], flat.mass[b], workspace.lane_bias[lane]
    Lrr, six, energies = workspace.lane_Lrr[lane], workspace.lane_six[lane], workspace.body_energies[b]
    eta = q[qs + 7 : qs + 7 + m]
    wb, acceleration = w[vs : vs + 6 + m], wdot[vs : vs + 6 + m]
    kinetic, s = body_terms(flat, b, eta, wb, workspace.lane_scratch[lane], Mrr, Lrr, Mre, six, bias)
    gravity = load3(flat.gravity, 0)
    g = rotate_inv(matrix(kinematics.attitude, b), gravity)
    torque = cross(s, g)
    energies[KINETIC] = kinetic
    energies[GRAVITY] = -(mass * dot(gravity, load3(q, qs)) + dot(g, s))
    for i in range(6):
        total = bias[i] - out[vs + i]
        for k in range(6):
            total += Mrr[i, k] * acceleration[k]
        out[vs + i] = total
    for i in range(3):
        out[vs + i] -= mass * g[i]
        out[vs + 3 + i] -= torque[i]
    if m > 0:
        add_coupled(Mre, m, 1.0, acceleration[6:], out[vs:])
        add_elastic_inertia(flat, b, Lrr, Mre, acceleration[6:], six, bias[6 : 6 + m])
        energies[ELASTIC] = _balance_elastic(
            m, bias, flat.stiffness[first:], flat.damping[first:], eta, wb[6:], Mre, acceleration, g, out[vs + 6 :]
        )


@njit(cache=True)
def residual(flat, q, w, wdot, multipliers, functions, angles, kinematics, workspace, out, energies):
    """The residual forces `out` (nv,), the `energies` (5,) and, in `workspace`, the row values and all blocks.

    `out = M wdot + bias + K eta + D etadot - applied + G^T multipliers`; `workspace.values[:joint_rows]` are the
    residuals of the joint equations.
    """
    energies[:] = 0.0
    balance_rows(flat, q, w, multipliers, functions, angles, kinematics, workspace, out, energies)
    if workspace.pool[0] == 0:
        for b in range(len(flat.modes)):
            balance_body(flat, b, q, w, wdot, kinematics, workspace, 0, out)
    else:
        _share_balance(flat, q, w, wdot, kinematics, workspace, out)
    of_bodies = workspace.body_energies
    for b in range(len(flat.modes)):
        energies[KINETIC] += of_bodies[b, KINETIC]
        energies[ELASTIC] += of_bodies[b, ELASTIC]
        energies[GRAVITY] += of_bodies[b, GRAVITY]


@njit(cache=True)
def _share_balance(flat, q, w, wdot, kinematics, workspace, out):
    """`balance_bodies` in several threads."""
    row = workspace.shared[BALANCE]
    at = put_array(row, put_array(row, put_array(row, put(row, 2, flat), q), w), wdot)
    at = put_array(row, put(row, put(row, at, kinematics), workspace), out)
    if share(workspace, BALANCE, at, len(flat.modes)) != 0:
        out[:] = np.nan


@njit(cache=True, fastmath=FAST)
def _heat(damping, rate, m):
    total = 0.0
    for i in range(m):
        total += damping[i] * rate[i] * rate[i]
    return total


@njit(cache=True)
def correct_efforts(flat, functions, gamma, x, workspace):
    """Bring the efforts of laws, which were evaluated before the correction `x` (nv,) of the motion, to its end.

    `gamma` is the derivative of velocities with respect to displacements.
    """
    stretch, t = workspace.t, functions[len(functions) - 1, 0]
    row_rates(flat, workspace.G, x, stretch)
    for r in range(flat.joint_rows, len(stretch)):
        if flat.row_law[r] != 0:
            value, rate = workspace.values[r] - flat.row_offset[r], workspace.rates[r]
            workspace.laws[r] = call_law(flat.row_law[r], t, value + stretch[r], rate + gamma * stretch[r])
    follow_correction(flat, workspace, stretch)


@njit(cache=True)
def powers_of(flat, functions, multipliers, w, workspace, powers):
    """Powers (4,) of drivers and loads and dissipated powers, at velocities `w` (nv,) and the configuration of
    `workspace`.

    What laws take from the bodies counts as heat if they tell the energy that they store, which the ledger subtracts;
    what other laws give is work of loads.
    """
    powers[:] = 0.0
    nj, nr = flat.joint_rows, len(flat.row_kind)
    powers[LOAD] = inner(workspace.loads, w, len(w))
    for r in range(nj):
        if flat.row_function[r] >= 0:
            powers[DRIVER] -= multipliers[r] * functions[flat.row_function[r], 1]
    if nr > nj:
        row_rates(flat, workspace.G, w, workspace.rates)
    for r in range(nj, nr):
        effort = functions[flat.row_function[r], 0] if flat.row_function[r] >= 0 else 0.0
        if flat.row_command[r] >= 0:
            effort += workspace.commands[flat.row_command[r]]
        powers[DAMPER_HEAT] += flat.row_damping[r] * workspace.rates[r] * workspace.rates[r]
        powers[LOAD] += effort * workspace.rates[r]
        if flat.row_store[r] != 0:
            powers[DAMPER_HEAT] -= workspace.laws[r] * workspace.rates[r]
        else:
            powers[LOAD] += workspace.laws[r] * workspace.rates[r]
    if len(flat.group_marker) > 0:
        powers[DAMPER_HEAT] -= workspace.group_energy[POWER]
    if len(flat.friction_row) > 0:
        powers[DAMPER_HEAT] += friction_heat(flat, multipliers, workspace)
    for e in range(len(flat.element_row)):
        given = 0.0
        for r in range(flat.element_row[e], flat.element_row[e] + 6):
            given += workspace.efforts[r] * workspace.rates[r]
        if workspace.stored[e] == workspace.stored[e]:
            powers[DAMPER_HEAT] -= given
        else:
            powers[LOAD] += given
    for b in range(len(flat.modes)):
        start = flat.v_start[b]
        powers[MODAL_HEAT] += _heat(flat.damping[start - 6 * b :], w[start + 6 :], flat.modes[b])
    if len(flat.velocity_body) > 0:
        powers[MODAL_HEAT] += velocity_heat(flat, w)


@njit(cache=True)
def law_slopes(flat, workspace, functions, r):
    """Stiffness and damping of the force law of row `r` at the last evaluated state, by differences."""
    if flat.row_law[r] == 0:
        return 0.0, 0.0
    t, x, xdot = functions[len(functions) - 1, 0], workspace.values[r] - flat.row_offset[r], workspace.rates[r]
    unit = 1.0 if flat.row_kind[r] == ANGLE else flat.scales[0]
    dx, dv = SLOPE * (NEAR * unit + abs(x)), SLOPE * (NEAR * unit * flat.scales[1] + abs(xdot))
    law = flat.row_law[r]
    k = (call_law(law, t, x - dx, xdot) - call_law(law, t, x + dx, xdot)) / (2.0 * dx)
    d = (call_law(law, t, x, xdot - dv) - call_law(law, t, x, xdot + dv)) / (2.0 * dv)
    return k, d

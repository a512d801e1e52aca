"""Derivatives of force elements between frames, for the derivatives of steps.

A law gives the wrench `F` and the rates `f` of its states `z` from the relative motion `s` (displacement, rotation,
velocity, angular velocity). At the end of a step the states are `z = base + half f(s, z)`, with `base` from the end of
the step before (flexmb/kernels/equations/elements.py). A law with updates gives `F` and new states from `base`.

Let `p` be the virtual velocities `G y` of the rows of an element, so that its part of the virtual power is `-p . F`,
and let `Z` and `R` be the costates of the states and of their rates at the end of the step. With

    (1 - half df/dz)^T nu = Z + (df/dz)^T R - (dF/dz)^T p

the derivative with respect to `base` is `nu`, and that with respect to `s` is
`(df/ds)^T (half nu + R) - (dF/ds)^T p`, as is that with respect to the inputs of the law. Forwards, the states change
by `dz = (1 - half df/dz)^-1 (dbase + half (df/ds) ds)`, their rates by `(df/ds) ds + (df/dz) dz`, and so does `F`.

The derivatives of the law are central differences, of the law alone: the states are not determined anew, so that the
accuracy of their iteration does not limit that of the derivatives. Their steps are short, whatever moves beside the
frames: a law may vary over a small clearance, or have a kink close to the motion, as where a material yields.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.dense import copy, solve_small
from flexmb.kernels.equations.elements import answer, element_tangents, turn
from flexmb.kernels.equations.residual import balance_rows
from flexmb.kernels.steps.step import predict_states

SLOPE, NEAR = 1e-7, 1e-3
"""Step of differences relative to a displacement, velocity or state, and the lower bound of the latter relative to the
length of the mechanism (times its rate for velocities), or to the largest state of the element in the motion. The
errors of central differences by curvature over lengths of a thousandth, and by rounding, are about 1e-8."""
TELLING = 1e-3
"""Change of the wrench, or of the rates, relative to the largest component, by a change of a state that tells."""


@njit(cache=True)
def scales_of_states(flat, states, half, rates, scale):
    """Set the `scale` (nz,) of each state: its largest magnitude in a motion, or a part of the largest of its element,
    from `states` and `rates` (n, nz)."""
    for k in range(len(scale)):
        scale[k] = 0.0
        for step in range(len(states)):
            scale[k] = max(scale[k], abs(states[step, k]), abs(half * rates[step, k]))
    elements = len(flat.element_row)
    for e in range(elements + len(flat.control_law)):
        starts, k = (flat.element_state, e) if e < elements else (flat.control_state, e - elements)
        first, last, most = starts[k], starts[k + 1], 0.0
        for k in range(first, last):
            most = max(most, scale[k])
        for k in range(first, last):
            scale[k] = max(scale[k], NEAR * most) if most > 0.0 else 1.0


@njit(cache=True)
def tells(low, high, first, end):
    """Whether two answers of a law differ by more than rounding, in their entries from `first` to `end` - 1."""
    largest, change = 0.0, 0.0
    for i in range(first, end):
        largest, change = max(largest, abs(low[i])), max(change, abs(high[i] - low[i]))
    return change > TELLING * largest


@njit(cache=True)
def _telling_scale(flat, e, t, seen, states, k, scale, low, high):
    """The `scale` of state `k` of element `e`, if need be enlarged until a change by it tells in the wrench or, without
    updates, in the rates of the states; unchanged if no change up to one does.

    A state that is zero but for rounding, such as a plastic strain which is found from the total and the elastic one
    before the material yields, does not tell how far it must change.
    """
    kept, size = states[k], scale
    rates = 0 if flat.element_updates[e] == 1 else flat.element_state[e + 1] - flat.element_state[e]
    answer(flat, e, t, seen, states, low)
    while size < 1.0:
        states[k] = kept + size
        answer(flat, e, t, seen, states, high)
        states[k] = kept
        if tells(low, high, 0, 6) or tells(low, high, 7, 7 + rates):
            return size
        size *= 10.0
    return scale


@njit(cache=True)
def element_slopes(flat, functions, workspace, scratch):
    """Set the derivatives `scratch.slopes` (ne, 6 + most, 12 + most + inputs) of wrenches, then of rates or new states,
    with respect to the relative displacement, rotation, velocity and angular velocity, to the states and to the inputs.

    The rows must have been evaluated in `workspace`.
    """
    t, seen, low, high = (
        functions[len(functions) - 1, 0],
        workspace.seen[len(flat.element_row)],
        workspace.answer[1],
        workspace.answer[2],
    )
    states = scratch.states
    for e in range(len(flat.element_row)):
        copy(workspace.seen[e], seen)
        first, n, slopes = flat.element_state[e], flat.element_state[e + 1] - flat.element_state[e], scratch.slopes[e]
        for k in range(first, first + n):
            states[k] = workspace.state_base[k] if flat.element_updates[e] == 1 else workspace.states[k]
        distance = NEAR * flat.scales[0] + np.sqrt(seen[0] ** 2 + seen[1] ** 2 + seen[2] ** 2)
        speed = NEAR * flat.scales[0] * flat.scales[1] + np.sqrt(seen[12] ** 2 + seen[13] ** 2 + seen[14] ** 2)
        turning = NEAR * flat.scales[1] + np.sqrt(seen[15] ** 2 + seen[16] ** 2 + seen[17] ** 2)
        for j in range(12 + n + flat.element_command[e, 1]):
            if 3 <= j < 6:
                shift = 2.0 * SLOPE
                turn(seen, j - 3, -SLOPE)
                answer(flat, e, t, seen, states, low)
                turn(seen, j - 3, shift)
                answer(flat, e, t, seen, states, high)
                turn(seen, j - 3, -SLOPE)
            else:
                if j < 12:
                    given, k = seen, j if j < 3 else j + 6
                    scale = distance if j < 3 else speed if j < 9 else turning
                elif j < 12 + n:
                    given, k = states, first + j - 12
                    scale = _telling_scale(flat, e, t, seen, states, k, scratch.state_scale[k], low, high)
                else:
                    given, k = seen, 18 + j - 12 - n
                    scale = max(abs(seen[k]), NEAR * flat.command_scale[flat.element_command[e, 0] + k - 18])
                kept, size = given[k], SLOPE * scale
                given[k] = kept - size
                answer(flat, e, t, seen, states, low)
                shift = kept + size - given[k]
                given[k] = kept + size
                answer(flat, e, t, seen, states, high)
                given[k] = kept
            for i in range(6):
                slopes[i, j] = (high[i] - low[i]) / shift
            for i in range(n):
                slopes[6 + i, j] = (high[7 + i] - low[7 + i]) / shift


@njit(cache=True)
def transposed_tangents(flat, functions, workspace, gamma):
    """Set the transposed effective stiffnesses of all elements, for the matrix of the adjoint equations."""
    element_tangents(flat, functions, workspace, gamma)
    for e in range(len(flat.element_row)):
        K = workspace.tangents[e]
        for i in range(6):
            for j in range(i):
                K[i, j], K[j, i] = K[j, i], K[i, j]


@njit(cache=True)
def element_transposed(flat, half, e, powers, to_states, to_rates, scratch, out):
    """Derivatives `out` (12 + n + inputs,) of the virtual power of element `e`, and of its states with their costates,
    with respect to the relative motion of its frames, to the `base` of its states and to its inputs.

    `powers` (nr,): the virtual velocities `G y` of all rows; `to_states`, `to_rates` (nz,): the costates `Z` and `R`.
    """
    r, first, n = flat.element_row[e], flat.element_state[e], flat.element_state[e + 1] - flat.element_state[e]
    slopes, J, updates = scratch.slopes[e], scratch.settling, flat.element_updates[e] == 1
    left = J[len(J) - 1, :n]
    for j in range(n):
        left[j] = 0.0 if updates else to_states[first + j]
        for i in range(6):
            left[j] -= slopes[i, 12 + j] * powers[r + i]
        for i in range(n):
            left[j] += slopes[6 + i, 12 + j] * (to_states[first + i] if updates else to_rates[first + i])
    if n > 0 and not updates:
        for j in range(n):
            for i in range(n):
                J[j, i] = (1.0 if i == j else 0.0) - half * slopes[6 + i, 12 + j]
        solve_small(J, left)
    for j in range(12 + n + flat.element_command[e, 1]):
        if 12 <= j < 12 + n:
            continue
        out[j] = 0.0
        for i in range(6):
            out[j] -= slopes[i, j] * powers[r + i]
        for i in range(n):
            weight = to_states[first + i] if updates else half * left[i] + to_rates[first + i]
            out[j] += slopes[6 + i, j] * weight
    for j in range(n):
        out[12 + j] = left[j]


@njit(cache=True)
def element_changes(flat, half, e, stretch, rates, commands, base, scratch, efforts, states, state_rates):
    """Set the derivatives of the wrench of element `e` in `efforts` (nr,), and of its `states` and `state_rates` (nz,),
    from those of the displacements `stretch` and the `rates` (nr,) of all rows, of all `commands` (nu,) and of the
    `base` (nz,) of the states."""
    r, first, n = flat.element_row[e], flat.element_state[e], flat.element_state[e + 1] - flat.element_state[e]
    slopes, J, updates = scratch.slopes[e], scratch.settling, flat.element_updates[e] == 1
    acting, command = J[len(J) - 1, :n], flat.element_command[e, 0]
    for i in range(6 + n):
        total = 0.0
        for j in range(6):
            total += slopes[i, j] * stretch[r + j] + slopes[i, 6 + j] * rates[r + j]
        for j in range(flat.element_command[e, 1]):
            total += slopes[i, 12 + n + j] * commands[command + j]
        if i < 6:
            efforts[r + i] = total
        else:
            state_rates[first + i - 6] = total
    for i in range(n):
        acting[i] = base[first + i] + (0.0 if updates else half * state_rates[first + i])
        for j in range(n):
            J[i, j] = (1.0 if i == j else 0.0) - half * slopes[6 + i, 12 + j]
    if n > 0 and not updates:
        solve_small(J, acting)
    for j in range(n):
        for i in range(6):
            efforts[r + i] += slopes[i, 12 + j] * acting[j]
        for i in range(n):
            state_rates[first + i] += slopes[6 + i, 12 + j] * acting[j]
    for i in range(n):
        states[first + i] = state_rates[first + i] if updates else acting[i]
        if updates:
            state_rates[first + i] = 0.0


@njit(cache=True)
def earlier_costates(flat, half, base, to_states, to_rates):
    """Set the costates of states and rates at the beginning of a step from those of the `base` (nz,) of the states.
    Laws with updates have no rates, and no use for their costates."""
    for k in range(flat.control_state[len(flat.control_law)]):
        to_states[k], to_rates[k] = base[k], half * base[k]


@njit(cache=True)
def element_forces(flat, track, h, functions, kinematics, workspace, forces, states, rates):
    """The part of rows and loads in the residuals (n, nv) of the steps of a track, and the states of elements and
    controllers and their rates (n, nz) at the ends of the steps, with the states at their beginnings from the track."""
    out = workspace.unbalanced
    for step in range(len(functions)):
        predict_states(flat, h, track.states[step], track.state_rates[step], workspace)
        balance_rows(
            flat,
            track.q[step + 1],
            track.w[step + 1],
            track.multipliers[step + 1],
            functions[step],
            track.angles[step + 1],
            kinematics,
            workspace,
            out,
            workspace.energies,
        )
        for i in range(len(out)):
            forces[step, i] = -out[i]
        copy(workspace.states[: states.shape[1]], states[step])
        copy(workspace.state_rates[: rates.shape[1]], rates[step])

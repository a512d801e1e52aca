"""Compiled steps of the energy-momentum scheme, whose equations flexmb/integrators/energy_momentum.py describes.

A step is iterated by Broyden's method, which begins with the matrix of generalised-alpha. Where this converges too
slowly, Python continues with Newton's method, which evaluates the same equations (`balance_step`).
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    NOTHING,
    add,
    attitude,
    cross,
    dot,
    left_jacobian,
    load3,
    matrix,
    relative,
    rotate,
    rotate_inv,
    rotation_exp,
    scale,
    store,
    sub,
    transposed,
)
from flexmb.kernels.base.call import call_law
from flexmb.kernels.base.data import COUPLED, GROUND, INACTIVE, SECOND_ORDER, SPIN
from flexmb.kernels.base.dense import add_coupled, add_transposed, copy, inner
from flexmb.kernels.contact.discrete import step_wrench
from flexmb.kernels.equations.bodies import (
    add_elastic_inertia,
    inertia_at,
    lower_factor,
    products_of,
    rigid_block,
    terms_of_products,
)
from flexmb.kernels.equations.displacement import displace, fastest_rotation, largest
from flexmb.kernels.equations.elements import element_tangents
from flexmb.kernels.equations.residual import balance_rows
from flexmb.kernels.equations.rows import (
    add_row_forces,
    add_turns,
    all_rows,
    angles_reached,
    place_markers,
    row_rates,
    to_bodies,
)
from flexmb.kernels.steps.mean_rows import FEWEST, SIMPSON, mean_rows, points_of
from flexmb.kernels.steps.solve import solve_step

MOST_ITERATIONS = 60
SLOW, SLOW_ITERATIONS = 0.5, 12
"""Contraction rate above which an iteration is slow, and the number of slow iterations of a step after which its matrix
is computed by differences."""
KEPT = 20
"""Number of corrections that Broyden's method keeps; then it begins again."""
SINGULAR = 0.05
"""Smallest factor by which a change of the equations may differ from that of a singular matrix for it to be used."""
FARTHEST = 4 * math.pi
"""Largest rotation (rad) of a body in a step."""
ROUNDING = 1e-13
"""Size, in lengths of the mechanism or radians, below which corrections that do not decrease are round-off."""
SMALLEST = 1e-16
"""Size of a correction at which the iteration ends in any case."""
SURE = 1e-2
"""Part of `SMALLEST` that the next correction may have, by the rate of the last two, for the iteration to end."""
BALANCED, MORE = 1e-15, 4
"""Work of the residual forces in a step, relative to the works that balance, that is round-off; and the largest number
of further corrections of a solution, whose corrections are round-off, to reach it. Rounding affects light, soft
directions most; directions with more energy, and the reactions, may converge later with the matrix of an earlier
step."""
EXACT = 1e-15
"""Defect of the mean Jacobian, in lengths of the mechanism or radians, that is rounding. Divided by a small relative
motion it would give an arbitrary force."""
RESTING = 1e-8
"""Relative motion of two markers in a step, in lengths of the mechanism or radians, below which they are at rest. The
defect of the mean Jacobian is proportional to this motion times the square of the rotation in the step."""

CONVERGED, TOO_SLOW, NO_MASS = 0, 1, 2
"""Outcomes of the iteration of a step. `NO_MASS`: a mass matrix is not positive definite."""

PREDICTED = 0.1
"""Largest change of a displacement, in lengths of the mechanism or radians, up to which it is extrapolated."""
MOVED = 1e-2
"""Size of a correction up to which the matrix of the iteration is kept."""


class ConservingState(NamedTuple):
    """The motion at the end of the latest step, the present step, and work arrays of its equations."""

    q: np.ndarray
    w: np.ndarray
    multipliers: np.ndarray  # (nj,)
    values: np.ndarray  # (nr,) values of the rows
    angles: np.ndarray  # (na,)
    work: np.ndarray  # (4,) work of drivers and loads, and dissipated work
    alone: np.ndarray  # (nb,) 1 for bodies whose steps are computed relative to frames that move with them
    # the beginning of the step
    flown: np.ndarray  # (nb, 3) velocities of these frames
    begin_G: np.ndarray  # (nt, 2, 6+mmax) Jacobian
    poses: np.ndarray  # (ne, 12) relative positions and rotations of the frames of contacts
    slow: np.ndarray  # (nv,) velocities relative to them
    momenta: np.ndarray  # (nv,)
    Mrr: np.ndarray  # (nb, 6, 6)
    Lrr: np.ndarray  # (nb, 6, 6)
    Mre: np.ndarray  # (nb, 6, mmax)
    moment: np.ndarray  # (nb, 3) first moments
    P: np.ndarray  # (nb, slices mmax) products of the inertia invariants with eta, and
    P_slow: np.ndarray  # with its rates; those at other states of the step are their combinations
    gained: np.ndarray  # (nv,) change of the velocities in the step before, and
    size: np.ndarray  # (1,) its size, 0 if there is none
    # the step
    D: np.ndarray  # (nv,) displacement
    trial: np.ndarray  # (nj,) multipliers
    mean: np.ndarray  # (nv,) velocities
    middle_q: np.ndarray
    end_q: np.ndarray
    end_w: np.ndarray
    end_values: np.ndarray
    end_angles: np.ndarray
    end_work: np.ndarray
    end_moment: np.ndarray  # (nb, 3)
    end_poses: np.ndarray  # (ne, 12)
    forces: np.ndarray  # (nv,) residual
    G: np.ndarray  # (nt, 2, 6+mmax) mean Jacobian
    # work arrays
    expected: np.ndarray
    change: np.ndarray  # (nr,) of the rows in the step
    efforts: np.ndarray  # (nr,)
    rates: np.ndarray  # (nr,)
    reactions: np.ndarray  # (nv,)
    moved: np.ndarray  # (nv,)
    moved_q: np.ndarray
    moved_values: np.ndarray
    end_G: np.ndarray
    back: np.ndarray  # (nb, 12)
    row: np.ndarray  # (2, 6+mmax)
    vectors: np.ndarray  # (6, 6+mmax)
    eta: np.ndarray  # (mmax,)
    P_D: np.ndarray  # (slices mmax,)
    P_there: np.ndarray  # (slices mmax,)
    there_Mrr: np.ndarray  # (6, 6)
    there_Mre: np.ndarray  # (6, mmax)
    energies: np.ndarray  # (5,)
    corrections: np.ndarray  # (KEPT, nv+nj) of displacement and multipliers with one matrix
    squares: np.ndarray  # (KEPT,) of the lengths of their displacements
    nodes: np.ndarray  # (MOST+1, MOST) Gauss points in [0, 1], and
    weights: np.ndarray  # their weights, by number
    iterations: np.ndarray  # (1,) iterations so far


@njit(cache=True)
def _blocks(flat, b, eta, P, scratch, Mrr, Mre):
    """Fill the mass blocks of body `b` at `eta` (m,) with products `P`; returns its first moment."""
    m = flat.modes[b]
    length = flat.slices[b] * m
    forms, dJ = scratch[2 * length + 6 * m :], scratch[2 * length : 2 * length + 6 * m].reshape(6, m)
    s, J = inertia_at(flat, b, eta, P, forms, dJ, Mre, False)
    rigid_block(flat.mass[b], s, J, Mrr)
    return s


@njit(cache=True)
def _mass_times(flat, b, Mrr, Lrr, Mre, sixes, x, out):
    """`out = M x` (6+m,) for body `b`; `Lrr` is the factor of `Mrr` if it has a second-order field."""
    m = flat.modes[b]
    for i in range(6):
        out[i] = inner(Mrr[i], x, 6)
    if m > 0:
        elastic = out[6 : 6 + m]
        elastic[:] = 0.0
        add_elastic_inertia(flat, b, Lrr, Mre, x[6:], sixes, elastic)
        add_coupled(Mre, m, 1.0, x[6:], out)
        add_transposed(Mre, m, 1.0, x, elastic)


@njit(cache=True)
def _keep_poses(flat, values, kinematics, poses):
    """Store the positions and, row by row, the rotations of the second frame of each contact seen from the first."""
    for e in range(len(flat.element_row)):
        if flat.element_contact[e] == 0:
            continue
        r = flat.element_row[e]
        S = relative(matrix(kinematics.axes, flat.row_markers[r, 0]), matrix(kinematics.axes, flat.row_markers[r, 1]))
        for k in range(3):
            poses[e, k] = values[r + k]
        for k in range(9):
            poses[e, 3 + k] = S[k]


@njit(cache=True)
def begin_step(flat, h, functions, state, there, workspace):
    """Set Jacobian, mass, momenta, velocities relative to moving frames, and the prediction of displacement and
    multipliers. `functions` (nf, 3) are the functions of time at the beginning.

    Velocities are assumed to change as in the step before, unless they change much.
    """
    ratio = 0.0 if state.size[0] == 0.0 else 0.5 * h * h / state.size[0]
    if not abs(ratio) * largest(state.gained, flat.weight) < PREDICTED:
        ratio = 0.0
    all_rows(flat, state.q, functions, state.angles, there, state.moved_values, state.begin_G)
    if len(flat.element_row) > 0:
        place_markers(flat, state.q, there)
        _keep_poses(flat, state.values, there, state.poses)
    for b in range(len(flat.modes)):
        m, qs, vs = flat.modes[b], flat.q_start[b], flat.v_start[b]
        w, slow, D = state.w[vs : vs + 6 + m], state.slow[vs:], state.D[vs:]
        eta, P = state.q[qs + 7 : qs + 7 + m], state.P[b]
        if m > 0:
            products_of(flat, b, 0, eta, w[6:], P, state.P_slow[b])
        s = _blocks(flat, b, eta, P, workspace.scratch, state.Mrr[b], state.Mre[b])
        store(state.moment[b], 0, s)
        if flat.slices[b] == SECOND_ORDER:
            lower_factor(state.Mrr[b], state.Lrr[b])
        copy(w, slow)
        if state.alone[b] == 1:
            p = state.vectors[0]
            _mass_times(flat, b, state.Mrr[b], state.Lrr[b], state.Mre[b], workspace.six, w, p)
            R = attitude(flat, state.q, b)
            flown = rotate(R, scale(1.0 / flat.mass[b], load3(p, 0)))
            store(state.flown[b], 0, flown)
            store(slow, 0, sub(load3(w, 0), rotate_inv(R, flown)))
        _mass_times(flat, b, state.Mrr[b], state.Lrr[b], state.Mre[b], workspace.six, slow, state.momenta[vs:])
        for i in range(6 + m):
            D[i] = h * slow[i] + ratio * state.gained[vs + i]
        for i in range(m):
            if flat.stiffness[vs - 6 * b + i] * h * h > 1.0:
                D[6 + i] = 0.0  # vibration that the step does not resolve
    copy(state.multipliers, state.trial)


@njit(cache=True, inline="always")
def _adjoint_transposed(theta, x, p):
    """`Ad(exp [x, theta])^T p` for momenta `p` (6,)."""
    R, shift = rotation_exp(theta), rotate(left_jacobian(theta), x)
    return rotate_inv(R, load3(p, 0)), rotate_inv(R, sub(load3(p, 3), cross(shift, load3(p, 0))))


@njit(cache=True)
def _rates_of_momenta(flat, b, h, state, workspace):
    """Write the rates of the momenta of body `b` in the middle axes to `state.forces`.

    From the elastic equations the discrete derivative of the kinetic energy with respect to eta is subtracted, with
    exact work over the step. The mass blocks in the middle of the step are in `workspace`.
    """
    m, qs, vs = flat.modes[b], flat.q_start[b], flat.v_start[b]
    n, length, vectors = 6 + m, 7 + m, state.vectors
    D, slow, w1, mean = (
        state.D[vs : vs + n],
        state.slow[vs : vs + n],
        state.end_w[vs : vs + n],
        state.mean[vs : vs + n],
    )
    p0, out = state.momenta[vs : vs + n], state.forces[vs : vs + n]
    p1, crossed, first, side, half, by_place = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5]
    Mrr, Mre, Lrr, scratch, six = state.there_Mrr, state.there_Mre, workspace.Lrr, workspace.scratch, workspace.six
    second = flat.slices[b] == SECOND_ORDER
    P, P_slow, P_D, P_there = state.P[b], state.P_slow[b], state.P_D, state.P_there
    size = flat.slices[b] * m
    if m > 0:
        products_of(flat, b, flat.slices[b], D[6:], D[6:], P_D, P_there)
        for k in range(size):
            P_there[k] = P[k] + P_D[k]
    s = _blocks(flat, b, state.end_q[qs + 7 : qs + length], P_there, scratch, Mrr, Mre)
    store(state.end_moment[b], 0, s)
    if second:
        lower_factor(Mrr, Lrr)
    _mass_times(flat, b, Mrr, Lrr, Mre, six, w1, p1)
    theta, x = scale(0.5, load3(D, 3)), scale(0.5, load3(D, 0))
    f1, t1 = _adjoint_transposed(scale(-1.0, theta), scale(-1.0, x), p1)
    f0, t0 = _adjoint_transposed(theta, x, p0)
    store(out, 0, scale(1.0 / h, sub(f1, f0)))
    store(out, 3, scale(1.0 / h, sub(t1, t0)))
    eta, bias = state.middle_q[qs + 7 : qs + length], workspace.bias
    if m == 0:
        for k in range(6):
            copy(state.Mrr[b, k], workspace.Mrr[b, k])
        return
    _mass_times(flat, b, Mrr, Lrr, Mre, six, slow, crossed)
    _mass_times(flat, b, state.Mrr[b], state.Lrr[b], state.Mre[b], six, w1, first)
    for i in range(n):
        half[i] = 0.5 * (w1[i] - slow[i])
        by_place[i] = 0.5 * (p1[i] + crossed[i] - first[i] - p0[i]) / h  # of the mean velocities, and then
    there = state.eta[:m]
    for sign in (-1.0, 1.0):  # of their change
        reach = sign * 0.5 * h
        for i in range(m):
            there[i] = eta[i] + reach * half[6 + i]
        for k in range(size):
            P_there[k] = P[k] + 0.5 * P_D[k] + reach * (P_D[k] / h - P_slow[k])
        _blocks(flat, b, there, P_there, scratch, Mrr, Mre)
        if second:
            lower_factor(Mrr, Lrr)
        _mass_times(flat, b, Mrr, Lrr, Mre, six, half, side)
        for i in range(6, n):
            by_place[i] -= sign * side[i] / h
    for k in range(size):
        scratch[k], scratch[size + k] = P[k] + 0.5 * P_D[k], P_D[k] / h - P_slow[k]
    terms_of_products(flat, b, eta, half[:n], scratch, workspace.Mrr[b], Lrr, workspace.Mre[b], six, bias)
    for i in range(6, n):
        by_place[i] += bias[i]
    for k in range(size):
        scratch[k], scratch[size + k] = P[k] + 0.5 * P_D[k], P_D[k] / h
    terms_of_products(flat, b, eta, mean, scratch, workspace.Mrr[b], Lrr, workspace.Mre[b], six, bias)
    exact, along, square = 0.0, 0.0, 0.0
    for i in range(n):
        exact += 0.5 * (crossed[i] - p0[i]) * w1[i]
    for i in range(6, n):
        by_place[i] -= bias[i]
        along += by_place[i] * D[i]
        square += D[i] * D[i]
    missing = (exact - along) / square if square > 0.0 else 0.0
    for i in range(6, n):
        out[i] = (p1[i] - p0[i]) / h - by_place[i] - missing * D[i]


@njit(cache=True)
def _subtract_weight(flat, b, state, kinematics, workspace):
    """Subtract the forces of gravity on body `b`, whose work in the step is the change of the potential."""
    m, vs = flat.modes[b], flat.v_start[b]
    D, out, Mre = state.D[vs:], state.forces[vs:], workspace.Mre[b]
    g = rotate_inv(matrix(kinematics.attitude, b), load3(flat.gravity, 0))
    theta = load3(D, 3)
    angle = math.sqrt(dot(theta, theta))
    chord, axis = 1.0, NOTHING
    if angle > 0.0:
        chord, axis = math.sin(0.5 * angle) / (0.5 * angle), scale(1.0 / angle, theta)
    pull = add(scale(chord, g), scale((1.0 - chord) * dot(axis, g), axis))
    store(out, 0, sub(load3(out, 0), scale(flat.mass[b], pull)))
    moment = scale(0.5 * chord, add(load3(state.moment[b], 0), load3(state.end_moment[b], 0)))
    store(out, 3, sub(load3(out, 3), cross(moment, g)))
    turn = rotation_exp(scale(0.5, theta))
    f = scale(0.5, add(rotate(turn, g), rotate(transposed(turn), g)))
    for i in range(m):
        out[6 + i] -= Mre[0, i] * f[0] + Mre[1, i] * f[1] + Mre[2, i] * f[2]


@njit(cache=True)
def _fastest_turn(flat, D):
    """The largest rotation (rad) of a body; NaN if an entry of `D` (nv,) is not finite."""
    for i in range(len(D)):
        if not abs(D[i]) < np.inf:
            return np.nan
    return fastest_rotation(flat, D)


@njit(cache=True)
def _far(flat, q):
    """Factor of rounding errors by the distance of the bodies from the origin."""
    far = 0.0
    for b in range(len(flat.modes)):
        r = load3(q, flat.q_start[b])
        far = max(far, abs(r[0]), abs(r[1]), abs(r[2]))
    return 1.0 + far / flat.scales[0]


@njit(cache=True)
def _smallest_defect(flat, state, r, far):
    """The rounding error of the change of row `r` by the mean Jacobian."""
    nr, total = len(flat.row_kind), 0.0
    for x in range(flat.term_start[r] - 1, flat.term_start[r + 1]):
        k = r if x < flat.term_start[r] else nr + x
        for side in range(2):
            b = flat.marker_body[flat.term_markers[k, side]]
            if b != GROUND:
                for i in range(flat.v_start[b], flat.v_start[b + 1]):
                    total += abs(state.G[k, side, i - flat.v_start[b]]) / flat.weight[i]
    return EXACT * far * total


@njit(cache=True)
def _act_along_relative_motion(flat, state, kinematics, r, missing):
    """Add to the mean Jacobian of row `r` the multiple of the relative motion of its markers that adds `missing` to the
    change of the row: with it, the Jacobian is a discrete derivative."""
    a, b, row, length2 = flat.row_markers[r, 0], flat.row_markers[r, 1], state.row, flat.scales[0] ** 2
    square, moved, turned = 0.0, NOTHING, NOTHING
    for k in range(6):
        axis = (1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0)
        if k < 3:
            to_bodies(flat, kinematics, a, b, axis, NOTHING, row)
        else:
            to_bodies(flat, kinematics, a, b, NOTHING, axis, row)
        twist = 0.0
        for side in range(2):
            n = flat.marker_body[flat.row_markers[r, side]]
            if n != GROUND:
                twist += inner(row[side], state.D[flat.v_start[n] :], 6 + flat.modes[n])
        if k < 3:
            square += twist * twist
            moved = add(moved, scale(twist, axis))
        else:
            square += length2 * twist * twist
            turned = add(turned, scale(length2 * twist, axis))
    to_bodies(flat, kinematics, a, b, moved, turned, row)
    factor = missing / (square + RESTING * RESTING * length2)
    for side in range(2):
        n = flat.marker_body[flat.row_markers[r, side]]
        if n != GROUND:
            for i in range(6 + flat.modes[n]):
                state.G[r, side, i] += factor * row[side, i]


@njit(cache=True)
def _set_changes(flat, before, after, state, far):
    """Set the changes of all rows in the step, and their `rates` times the step by the mean Jacobian; returns whether
    they are equal. Where they differ by round-off only, the latter are set to the former.

    Changes of joint equations with drivers contain those of the prescribed values.
    """
    change, rates, equal = state.change, state.rates, True
    row_rates(flat, state.G, state.D, rates)
    for r in range(len(change)):
        change[r] = state.end_values[r] - state.values[r]
        if r < flat.joint_rows and flat.row_function[r] >= 0:
            change[r] += after[flat.row_function[r], 0] - before[flat.row_function[r], 0]
        if flat.row_kind[r] == SPIN:  # these rows have a rate, but no coordinate
            change[r] = rates[r]
        missing = change[r] - rates[r]
        if missing != 0.0 and abs(missing) > _smallest_defect(flat, state, r, far):
            equal = False
        else:
            rates[r] = change[r]
    return equal


@njit(cache=True)
def _set_mean_rows(flat, turn, before, after, state, kinematics, there, workspace):
    """Set the changes of all rows in the step, and the mean Jacobian, a discrete derivative."""
    n, far = points_of(turn), _far(flat, state.q)
    while True:
        mean_rows(
            flat, state.q, state.D, state.nodes[n][:n], state.weights[n][:n], before, state.angles, there,
            state.moved_values, state.moved_q, state.moved, state.back, state.begin_G, workspace.G, state.end_G,
            state.G,
        )  # fmt: skip
        if _set_changes(flat, before, after, state, far):
            return
        if n > SIMPSON:
            break
        n = FEWEST  # directions between bodies turn more than these
    for r in range(len(state.change)):
        if state.rates[r] != state.change[r]:
            _act_along_relative_motion(flat, state, kinematics, r, state.change[r] - state.rates[r])


@njit(cache=True)
def _set_efforts(flat, h, middle, state, kinematics, workspace):
    """Set the efforts of all force elements in the step; returns their work as loads and what they take from the bodies
    as dampers, or as laws that tell the energy that they store."""
    nj, efforts, change = flat.joint_rows, state.efforts, state.change
    t, given, heat = middle[len(middle) - 1, 0], 0.0, 0.0
    for r in range(nj, len(efforts)):
        stretch = 0.5 * (state.end_values[r] + state.values[r]) - flat.row_offset[r]
        rate = change[r] / h
        effort = middle[flat.row_function[r], 0] if flat.row_function[r] >= 0 else 0.0
        if flat.row_law[r] != 0:
            law = call_law(flat.row_law[r], t, stretch, rate)
            if flat.row_store[r] != 0:
                heat -= law * change[r]
            else:
                given += law * change[r]
            given += effort * change[r]
            efforts[r] = effort + law
        else:
            given += effort * change[r]
            efforts[r] = effort
    for e in range(len(flat.element_row)):
        first, work = flat.element_row[e], 0.0
        if flat.element_contact[e] == 1:
            parameters = flat.element_parameters[flat.element_parameter[e] : flat.element_parameter[e + 1]]
            step_wrench(
                parameters, state.poses[e], workspace.seen[e], state.end_poses[e], change[first : first + 6], h,
                flat.scales[0], efforts[first : first + 6],
            )  # fmt: skip
        else:
            copy(workspace.efforts[first : first + 6], efforts[first : first + 6])
        for r in range(first, first + 6):
            work += efforts[r] * change[r]
        if workspace.stored[e] == workspace.stored[e]:
            heat -= work
        else:
            given += work
    for r in range(nj, len(efforts)):
        stretch = 0.5 * (state.end_values[r] + state.values[r]) - flat.row_offset[r]
        heat += flat.row_damping[r] * change[r] * change[r] / h
        efforts[r] -= flat.row_stiffness[r] * stretch + flat.row_damping[r] * change[r] / h
    return given, heat


@njit(cache=True)
def balance_step(flat, h, before, middle, after, state, kinematics, there, workspace):
    """Evaluate the equations of a step of size `h` at `state.D` and `state.trial`.

    `before`, `middle` and `after` (nf, 3) are the functions of time. Writes the residual forces to `state.forces`, the
    joint equations to `state.end_values[:nj]`, and what the end of the step consists of. Returns the work of the
    residual forces, relative to the works that balance; NaN if the equations cannot be evaluated.
    """
    nj, nv, D, mean, forces = flat.joint_rows, len(state.D), state.D, state.mean, state.forces
    turn = _fastest_turn(flat, D)
    if not turn <= FARTHEST:
        return np.nan
    for i in range(nv):
        mean[i] = D[i] / h
        state.end_w[i] = 2.0 * mean[i] - state.slow[i]
        state.moved[i] = 0.5 * D[i]
    displace(flat, state.q, D, state.end_q)
    displace(flat, state.q, state.moved, state.middle_q)
    copy(state.angles, state.expected)
    add_turns(flat, D, 1.0, state.expected)
    all_rows(flat, state.end_q, after, state.expected, there, state.end_values, state.end_G)
    angles_reached(flat, after, there, state.expected, state.end_angles)
    _keep_poses(flat, state.end_values, there, state.end_poses)
    copy(state.angles, state.expected)
    add_turns(flat, D, 0.5, state.expected)
    balance_rows(
        flat, state.middle_q, mean, state.trial, middle, state.expected, kinematics, workspace, workspace.unbalanced,
        state.energies,
    )  # fmt: skip
    gravity = load3(flat.gravity, 0)
    for b in range(len(flat.modes)):
        _rates_of_momenta(flat, b, h, state, workspace)
        if gravity != NOTHING:
            _subtract_weight(flat, b, state, kinematics, workspace)
    _set_mean_rows(flat, turn, before, after, state, kinematics, there, workspace)
    given, heat = _set_efforts(flat, h, middle, state, kinematics, workspace)
    efforts, reactions, loads, work = state.efforts, state.reactions, workspace.loads, state.end_work
    work[:] = 0.0
    work[1], work[3] = given, heat
    for r in range(nj):
        if flat.row_function[r] >= 0:
            work[0] -= state.trial[r] * (after[flat.row_function[r], 0] - before[flat.row_function[r], 0])
        efforts[r] = 0.0
    reactions[:] = 0.0
    add_row_forces(flat, state.G, efforts, reactions)
    for i in range(nv):
        forces[i] -= reactions[i] + loads[i]
    for r in range(len(efforts)):
        efforts[r] = state.trial[r] if r < nj else 0.0
    reactions[:] = 0.0
    add_row_forces(flat, state.G, efforts, reactions)
    left, balanced = 0.0, 0.0
    for b in range(len(flat.modes)):
        m, qs, vs = flat.modes[b], flat.q_start[b], flat.v_start[b]
        first = vs - 6 * b
        for i in range(m):
            rate = mean[vs + 6 + i]
            forces[vs + 6 + i] += (
                flat.stiffness[first + i] * state.middle_q[qs + 7 + i] + flat.damping[first + i] * rate
            )
            work[2] += h * flat.damping[first + i] * rate * rate
        if state.alone[b] == 1:
            flown = rotate_inv(matrix(kinematics.attitude, b), load3(state.flown[b], 0))
            work[1] += h * dot(load3(loads, vs), flown)
    for i in range(nv):
        forces[i] += reactions[i]
        left += forces[i] * D[i]
        work[1] += loads[i] * D[i]
        balanced += (abs(state.momenta[i]) / h + abs(reactions[i]) + abs(loads[i])) * abs(D[i])
    for r in range(nj):
        left += 0.0 * state.end_values[r]  # NaN if a joint equation is not finite
    if not abs(left) < np.inf:
        return np.nan
    return abs(left) / balanced if balanced > 0.0 else 0.0


@njit(cache=True)
def _correct(anew, null_rows, flat, h, middle, state, kinematics, workspace):
    """Write the correction of displacement and multipliers with the matrix of generalised-alpha to `workspace.x` and
    `workspace.change`; returns the outcome of `solve_rows` and the basis of the null space for the next call.

    The matrix is that of the present iteration if `anew`, otherwise that of the last call.
    """
    nj, compliance, row_rhs = flat.joint_rows, workspace.compliance, workspace.row_rhs
    for r in range(len(compliance)):
        row_rhs[r] = -state.end_values[r] if r < nj else 0.0
    if anew:
        for r in range(len(compliance)):
            stiffness = flat.row_stiffness[r] + 2.0 / h * flat.row_damping[r] if r >= nj else np.inf
            compliance[r] = 1.0 / stiffness if stiffness > 0.0 else INACTIVE
        if len(flat.element_row) > 0:
            element_tangents(flat, middle, workspace, 2.0 / h)
            for e in range(len(flat.element_row)):
                for r in range(flat.element_row[e], flat.element_row[e] + 6):
                    compliance[r] = COUPLED
    for i in range(len(state.forces)):
        workspace.unbalanced[i] = -2.0 * state.forces[i]
    workspace.previous_multipliers[:] = 0.0
    return solve_step(
        anew, null_rows, flat, workspace, 4.0 / (h * h), 2.0 / h, compliance, workspace.unbalanced, row_rhs,
        workspace.x, workspace.change,
    )  # fmt: skip


@njit(cache=True)
def _update(weight, kept, state, x, multipliers):
    """Replace the correction by that of Broyden's method, whose matrix agrees with the last `kept` changes of the
    equations, and keep it; returns the number of corrections that are kept.

    Source: Kelley, Iterative Methods for Linear and Nonlinear Equations, 1995, section 7.3. Lengths are those of the
    displacements, in lengths of the mechanism or radians.
    """
    n, along = len(x), 0.0
    if kept == KEPT:
        kept = 0
    for k in range(kept):
        step, along = state.corrections[k], 0.0
        for i in range(n):
            along += weight[i] * weight[i] * step[i] * x[i]
        along /= state.squares[k]
        if k < kept - 1:
            following = state.corrections[k + 1]
            for i in range(n):
                x[i] += along * following[i]
            for r in range(len(multipliers)):
                multipliers[r] += along * following[n + r]
    if abs(1.0 - along) < SINGULAR or not abs(along) < np.inf:
        kept = 0  # the changes do not determine a matrix
    factor = 1.0 / (1.0 - along) if kept > 0 else 1.0
    step, square = state.corrections[kept], 0.0
    for i in range(n):
        x[i] *= factor
        step[i] = x[i]
        square += (weight[i] * x[i]) ** 2
    for r in range(len(multipliers)):
        multipliers[r] *= factor
        step[n + r] = multipliers[r]
    state.squares[kept] = square
    return kept + 1 if square > 0.0 else 0


@njit(cache=True)
def _iterate(flat, h, before, middle, after, state, kinematics, there, workspace):
    """Solve the equations of a step by Broyden's method, which begins with a matrix without gyroscopic terms and
    without those of the reactions; returns `CONVERGED`, `TOO_SLOW` or `NO_MASS`."""
    previous, settled, rounding, nj = np.inf, 0, ROUNDING * _far(flat, state.q), flat.joint_rows
    kept, slow = 0, 0
    null_rows = np.zeros((0, 0))
    for iteration in range(MOST_ITERATIONS):
        unbalanced = balance_step(flat, h, before, middle, after, state, kinematics, there, workspace)
        if not unbalanced < np.inf:
            return TOO_SLOW
        if settled > MORE or (settled > 0 and unbalanced <= BALANCED):
            return CONVERGED
        anew = iteration < 4 and previous > MOVED
        outcome, null_rows = _correct(anew, null_rows, flat, h, middle, state, kinematics, workspace)
        if outcome < 0:
            return NO_MASS
        kept = _update(flat.weight, 0 if anew else kept, state, workspace.x, workspace.change[:nj])
        size = largest(workspace.x, flat.weight)
        state.iterations[0] += 1.0
        if iteration > 3 and size > max(SLOW * previous, rounding):
            slow += 1
        if not size < np.inf or slow > SLOW_ITERATIONS:
            return TOO_SLOW
        for i in range(len(state.D)):
            state.D[i] += workspace.x[i]
        for r in range(nj):
            state.trial[r] += 0.5 * workspace.change[r]
        if settled > 0 or size <= SMALLEST or (size < rounding and size > 0.3 * previous):
            settled += 1
        elif previous < np.inf and size * size <= SURE * SMALLEST * previous:  # the next one would be far below it
            settled = 1
        previous = size
    return TOO_SLOW


@njit(cache=True)
def accept_step(flat, h, state, workspace):
    """Take the end of the step that was evaluated last as the present motion, relative to the ground.

    The mass centres of bodies that nothing holds move with their momenta, so that the angular momenta about them are
    preserved too.
    """
    for i in range(len(state.w)):
        state.gained[i] = state.end_w[i] - state.slow[i]
    state.size[0] = h
    for b in range(len(flat.modes)):
        if state.alone[b] != 1:
            continue
        m, qs, vs, over = flat.modes[b], flat.q_start[b], flat.v_start[b], 1.0 / flat.mass[b]
        Mrr, Mre, p, P = state.there_Mrr, state.there_Mre, state.vectors[0], state.P_there
        eta = state.end_q[qs + 7 : qs + 7 + m]
        if m > 0:
            products_of(flat, b, flat.slices[b], eta, eta, P, state.P_D)
        s = _blocks(flat, b, eta, P, workspace.scratch, Mrr, Mre)
        if flat.slices[b] == SECOND_ORDER:
            lower_factor(Mrr, workspace.Lrr)
        _mass_times(flat, b, Mrr, workspace.Lrr, Mre, workspace.six, state.end_w[vs : vs + 6 + m], p)
        R, flown = attitude(flat, state.end_q, b), load3(state.flown[b], 0)
        now = add(scale(over, rotate(R, s)), load3(state.end_q, qs))
        was = add(scale(over, rotate(attitude(flat, state.q, b), load3(state.moment[b], 0))), load3(state.q, qs))
        carried = add(scale(h, add(flown, scale(0.5 * over, rotate(R, load3(p, 0))))), sub(was, now))
        store(state.end_q, qs, add(load3(state.end_q, qs), carried))
        store(state.end_w, vs, add(load3(state.end_w, vs), rotate_inv(R, flown)))
    copy(state.end_q, state.q)
    copy(state.end_w, state.w)
    copy(state.trial, state.multipliers)
    copy(state.end_values, state.values)
    copy(state.end_angles, state.angles)
    for k in range(4):
        state.work[k] += state.end_work[k]


@njit(cache=True)
def conserve(flat, h, functions, state, kinematics, there, workspace):
    """Integrate steps of size `h`; returns the outcome of the last iteration and the number of complete steps.

    `functions` (2 n + 1, nf, 3) are the functions of time at the ends and in the middles of n steps. A step whose
    iteration fails is the last one, and is not complete.
    """
    steps = len(functions) // 2
    for k in range(steps):
        before, middle, after = functions[2 * k], functions[2 * k + 1], functions[2 * k + 2]
        begin_step(flat, h, before, state, there, workspace)
        outcome = _iterate(flat, h, before, middle, after, state, kinematics, there, workspace)
        if outcome != CONVERGED:
            return outcome, k
        accept_step(flat, h, state, workspace)
    return CONVERGED, steps

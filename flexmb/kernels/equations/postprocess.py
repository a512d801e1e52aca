"""Evaluation of stored motions: paths of markers, momenta, wrenches of joints, violations of joint equations."""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import add, cross, load3, matrix, rotate, scale, store, vector
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import three_rows
from flexmb.kernels.equations.bodies import inertia_at, products_of
from flexmb.kernels.equations.rows import (
    angles_at,
    joint_given,
    place_marker,
    row_geometry,
    term_geometry,
    turn_bodies,
)


@njit(cache=True)
def marker_paths(flat, k, q, kinematics, position, axes):
    """World `position` (nt, 3) and `axes` (nt, 3, 3) of marker `k` at the configurations `q` (nt, nq)."""
    for t in range(len(q)):
        turn_bodies(flat, q[t], kinematics)
        place_marker(flat, q[t], kinematics, k)
        for i in range(3):
            position[t, i] = kinematics.position[k, i]
            for j in range(3):
                axes[t, i, j] = kinematics.axes[k, i, j]


@njit(cache=True)
def angles_along(flat, q, kinematics, follow, angles):
    """The continuous `angles` (nt, na) at the configurations `q` (nt, nq).

    Each is within half a turn of its given value or, with `follow`, of its value at the previous time.
    """
    for t in range(len(q)):
        turn_bodies(flat, q[t], kinematics)
        for k in range(angles.shape[1]):
            place_marker(flat, q[t], kinematics, flat.angle_markers[k, 0])
            place_marker(flat, q[t], kinematics, flat.angle_markers[k, 1])
        if follow and t > 0:
            angles[t] = angles[t - 1]
        angles_at(flat, kinematics, angles[t])


@njit(cache=True)
def marker_velocities(flat, k, q, w, kinematics, velocity, angular):
    """World `velocity` (nt, 3) of the point of marker `k`, and `angular` velocity (nt, 3) of its axes, at the states
    `q` (nt, nq), `w` (nt, nv)."""
    b = flat.marker_body[k]
    if b == GROUND:
        return
    s, m = flat.v_start[b], flat.modes[b]
    for t in range(len(q)):
        turn_bodies(flat, q[t], kinematics)
        place_marker(flat, q[t], kinematics, k)
        v, omega = load3(w[t], s), load3(w[t], s + 3)
        rows, rates = kinematics.rows[k], w[t, s + 6 : s + 6 + m]
        u, theta = np.zeros(3), np.zeros(3)
        if flat.marker_moves[k]:
            for i in range(3):
                for j in range(m):
                    u[i] += rows[i, j] * rates[j]
                    theta[i] += rows[3 + i, j] * rates[j]
        point = vector(kinematics.body_point, k)
        R = matrix(kinematics.attitude, b)
        moved = rotate(R, add(add(v, cross(omega, point)), load3(u, 0)))
        turned = rotate(R, add(omega, rotate(matrix(kinematics.tangent, k), load3(theta, 0))))
        for i in range(3):
            velocity[t, i] = moved[i]
            angular[t, i] = turned[i]


@njit(cache=True)
def momenta_along(flat, b, q, w, kinematics, scratch, Mre, centre, linear, angular):
    """World position of the mass centre of body `b`, its linear momentum and its angular momentum about the origin of
    the world, each (nt, 3), at the states `q` (nt, nq), `w` (nt, nv).

    `scratch` (see `scratch_size`) and `Mre` (6, m) are work arrays.
    """
    m, mass, qs, vs = flat.modes[b], flat.mass[b], flat.q_start[b], flat.v_start[b]
    length = flat.slices[b] * m
    P, R = scratch[:length], scratch[length : 2 * length]
    forms, dJ = scratch[2 * length + 6 * m :], scratch[2 * length : 2 * length + 6 * m].reshape(6, m)
    for t in range(len(q)):
        turn_bodies(flat, q[t], kinematics)
        attitude, r = matrix(kinematics.attitude, b), load3(q[t], qs)
        v, omega = load3(w[t], vs), load3(w[t], vs + 3)
        eta, rate = q[t, qs + 7 : qs + 7 + m], w[t, vs + 6 : vs + 6 + m]
        if m > 0:
            products_of(flat, b, 6, eta, rate, P, R)
        s, J = inertia_at(flat, b, eta, P, forms, dJ, Mre, True)
        momentum = add(scale(mass, v), cross(omega, s))
        swing = add(cross(s, v), rotate(J, omega))
        if m > 0:
            momentum, swing = add(momentum, three_rows(Mre, 0, rate, m)), add(swing, three_rows(Mre, 3, rate, m))
        momentum = rotate(attitude, momentum)
        store(centre[t], 0, add(r, rotate(attitude, scale(1.0 / mass, s))))
        store(linear[t], 0, momentum)
        store(angular[t], 0, add(rotate(attitude, swing), cross(r, momentum)))


@njit(cache=True)
def row_wrenches(flat, rows, q, functions, multipliers, kinematics, out):
    """Add to `out` (nt, 6) the wrenches of `rows` on the second body, at its marker, in world axes.

    `functions` (nt, nf, 3) are the functions of time, `multipliers` (nt, nr) those of the rows.
    """
    for t in range(len(q)):
        turn_bodies(flat, q[t], kinematics)
        placed_a, placed_b = -1, -1
        for r in rows:
            a, b = flat.row_markers[r, 0], flat.row_markers[r, 1]
            if a != placed_a or b != placed_b:  # the rows of a joint share their markers
                place_marker(flat, q[t], kinematics, a)
                place_marker(flat, q[t], kinematics, b)
                placed_a, placed_b = a, b
            given = joint_given(flat, r, functions[t]) if r < flat.joint_rows else 0.0
            A = matrix(kinematics.axes, a)
            _, nv, nw = row_geometry(
                flat.row_kind[r],
                flat.row_axes[r, 0],
                flat.row_axes[r, 1],
                given,
                0.0,
                flat.row_law[r],
                vector(kinematics.position, a),
                A,
                vector(kinematics.position, b),
                matrix(kinematics.axes, b),
            )
            force, moment = rotate(A, nv), rotate(A, nw)
            for i in range(3):
                out[t, i] -= multipliers[t, r] * force[i]
                out[t, 3 + i] -= multipliers[t, r] * moment[i]


@njit(cache=True)
def largest_violations(flat, q, functions, angles, acts, kinematics, worst, when):
    """The largest violation `worst` (nj,) of every joint equation over the configurations `q` (nt, nq), and the index
    `when` (nj,) of its time.

    `acts` (nt, nj) marks the times at which an equation is active; `angles` (nt, na) and `functions` (nt, nf, 3) are
    the continuous angles and the functions of time.
    """
    for t in range(len(q)):
        turn_bodies(flat, q[t], kinematics)
        placed_a, placed_b = -1, -1
        for r in range(flat.joint_rows):
            if not acts[t, r]:
                continue
            a, b = flat.row_markers[r, 0], flat.row_markers[r, 1]
            if a != placed_a or b != placed_b:
                place_marker(flat, q[t], kinematics, a)
                place_marker(flat, q[t], kinematics, b)
                placed_a, placed_b = a, b
            given = joint_given(flat, r, functions[t])
            near = angles[t, flat.row_angle[r]] if flat.row_angle[r] >= 0 else 0.0
            value, _, _ = row_geometry(
                flat.row_kind[r],
                flat.row_axes[r, 0],
                flat.row_axes[r, 1],
                given,
                near,
                flat.row_law[r],
                vector(kinematics.position, a),
                matrix(kinematics.axes, a),
                vector(kinematics.position, b),
                matrix(kinematics.axes, b),
            )
            for x in range(flat.term_start[r], flat.term_start[r + 1]):
                k = len(flat.row_kind) + x
                place_marker(flat, q[t], kinematics, flat.term_markers[k, 0])
                place_marker(flat, q[t], kinematics, flat.term_markers[k, 1])
                value += term_geometry(flat, x, kinematics, angles[t])[0]
            if abs(value) > worst[r]:
                worst[r], when[r] = abs(value), t

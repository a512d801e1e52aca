"""Stored motion looked at again: paths of markers, wrenches of joints; compiled, because it is done for every stored time."""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import add, cross, load3, matrix, rotate, vector
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.equations.rows import angles_at, place_marker, row_geometry, turn_bodies


@njit(cache=True)
def marker_paths(flat, k, q, kinematics, position, axes):
    """World `position` (nt, 3) and `axes` (nt, 3, 3) of marker k at the configurations `q` (nt, nq)."""
    for t in range(len(q)):
        turn_bodies(flat, q[t], kinematics)
        place_marker(flat, q[t], kinematics, k)
        for i in range(3):
            position[t, i] = kinematics.position[k, i]
            for j in range(3):
                axes[t, i, j] = kinematics.axes[k, i, j]


@njit(cache=True)
def angles_along(flat, q, kinematics, follow, angles):
    """The `angles` (nt, na) at the configurations `q` (nt, nq), each in the turn next to what its row holds; with `follow` next to the row before it, but for the first."""
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
    """World `velocity` (nt, 3) of marker k's point and `angular` velocity (nt, 3) of its axes, at the states `q` (nt, nq), `w` (nt, nv)."""
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
def row_wrenches(flat, rows, q, functions, multipliers, kinematics, out):
    """Sum over `rows` of the wrench (nt, 6) on the second body, at its marker, world axes; `functions` (nt, nf, 3) of time."""
    for t in range(len(q)):
        turn_bodies(flat, q[t], kinematics)
        placed_a, placed_b = -1, -1
        for r in rows:
            a, b = flat.row_markers[r, 0], flat.row_markers[r, 1]
            if a != placed_a or b != placed_b:  # most rows of a joint share their markers
                place_marker(flat, q[t], kinematics, a)
                place_marker(flat, q[t], kinematics, b)
                placed_a, placed_b = a, b
            given = functions[t, flat.row_function[r], 0] if flat.row_function[r] >= 0 else 0.0
            A = matrix(kinematics.axes, a)
            _, nv, nw = row_geometry(
                flat.row_kind[r], flat.row_axes[r, 0], flat.row_axes[r, 1], given, 0.0, vector(kinematics.position, a), A,
                vector(kinematics.position, b), matrix(kinematics.axes, b),
            )  # fmt: skip
            force, moment = rotate(A, nv), rotate(A, nw)
            for i in range(3):
                out[t, i] -= multipliers[t, r] * force[i]
                out[t, 3 + i] -= multipliers[t, r] * moment[i]


@njit(cache=True)
def largest_violations(flat, q, functions, angles, acts, kinematics, worst, when):
    """The largest |value| (nj,) of every joint equation over the configurations `q` (nt, nq) at which it `acts` (nt, nj), with `angles` (nt, na), and `when` (nj,) it is reached; `functions` (nt, nf, 3) of time."""
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
            given = functions[t, flat.row_function[r], 0] if flat.row_function[r] >= 0 else 0.0
            near = angles[t, flat.row_angle[r]] if flat.row_angle[r] >= 0 else 0.0
            value, _, _ = row_geometry(
                flat.row_kind[r], flat.row_axes[r, 0], flat.row_axes[r, 1], given, near, vector(kinematics.position, a),
                matrix(kinematics.axes, a), vector(kinematics.position, b), matrix(kinematics.axes, b),
            )  # fmt: skip
            if abs(value) > worst[r]:
                worst[r], when[r] = abs(value), t

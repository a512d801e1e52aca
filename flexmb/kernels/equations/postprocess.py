"""Stored motion looked at again: paths of markers, wrenches of joints; compiled, because it is done for every stored time."""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import cross, matrix, part, plus, turn, vector
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.equations.rows import angles_at, place_marker, row_geometry, turn_bodies


@njit(cache=True)
def marker_paths(flat, k, q, places, position, axes):
    """World `position` (nt, 3) and `axes` (nt, 3, 3) of marker k at the configurations `q` (nt, nq)."""
    for t in range(len(q)):
        turn_bodies(flat, q[t], places)
        place_marker(flat, q[t], places, k)
        for i in range(3):
            position[t, i] = places.position[k, i]
            for j in range(3):
                axes[t, i, j] = places.axes[k, i, j]


@njit(cache=True)
def angles_along(flat, q, places, follow, angles):
    """The `angles` (nt, na) at the configurations `q` (nt, nq), each in the turn next to what its row holds; with `follow` next to the row before it, but for the first."""
    for t in range(len(q)):
        turn_bodies(flat, q[t], places)
        for k in range(angles.shape[1]):
            place_marker(flat, q[t], places, flat.angle_markers[k, 0])
            place_marker(flat, q[t], places, flat.angle_markers[k, 1])
        if follow and t > 0:
            angles[t] = angles[t - 1]
        angles_at(flat, places, angles[t])


@njit(cache=True)
def marker_velocities(flat, k, q, w, places, velocity, angular):
    """World `velocity` (nt, 3) of marker k's point and `angular` velocity (nt, 3) of its axes, at the states `q` (nt, nq), `w` (nt, nv)."""
    b = flat.marker_body[k]
    if b == GROUND:
        return
    s, m = flat.v_start[b], flat.modes[b]
    for t in range(len(q)):
        turn_bodies(flat, q[t], places)
        place_marker(flat, q[t], places, k)
        v, omega = part(w[t], s), part(w[t], s + 3)
        rows, rates = places.rows[k], w[t, s + 6 : s + 6 + m]
        u, theta = np.zeros(3), np.zeros(3)
        if flat.marker_moves[k]:
            for i in range(3):
                for j in range(m):
                    u[i] += rows[i, j] * rates[j]
                    theta[i] += rows[3 + i, j] * rates[j]
        point = vector(places.body_point, k)
        R = matrix(places.attitude, b)
        moved = turn(R, plus(plus(v, cross(omega, point)), part(u, 0)))
        turned = turn(R, plus(omega, turn(matrix(places.tangent, k), part(theta, 0))))
        for i in range(3):
            velocity[t, i] = moved[i]
            angular[t, i] = turned[i]


@njit(cache=True)
def row_wrenches(flat, rows, q, functions, multipliers, places, out):
    """Sum over `rows` of the wrench (nt, 6) on the second body, at its marker, world axes; `functions` (nt, nf, 3) of time."""
    for t in range(len(q)):
        turn_bodies(flat, q[t], places)
        placed_a, placed_b = -1, -1
        for r in rows:
            a, b = flat.row_markers[r, 0], flat.row_markers[r, 1]
            if a != placed_a or b != placed_b:  # most rows of a joint share their markers
                place_marker(flat, q[t], places, a)
                place_marker(flat, q[t], places, b)
                placed_a, placed_b = a, b
            given = functions[t, flat.row_function[r], 0] if flat.row_function[r] >= 0 else 0.0
            A = matrix(places.axes, a)
            _, nv, nw = row_geometry(
                flat.row_kind[r], flat.row_axes[r, 0], flat.row_axes[r, 1], given, 0.0, vector(places.position, a), A,
                vector(places.position, b), matrix(places.axes, b),
            )  # fmt: skip
            force, moment = turn(A, nv), turn(A, nw)
            for i in range(3):
                out[t, i] -= multipliers[t, r] * force[i]
                out[t, 3 + i] -= multipliers[t, r] * moment[i]


@njit(cache=True)
def largest_violations(flat, q, functions, angles, acts, places, worst, when):
    """The largest |value| (nj,) of every joint equation over the configurations `q` (nt, nq) at which it `acts` (nt, nj), with `angles` (nt, na), and `when` (nj,) it is reached; `functions` (nt, nf, 3) of time."""
    for t in range(len(q)):
        turn_bodies(flat, q[t], places)
        placed_a, placed_b = -1, -1
        for r in range(flat.joint_rows):
            if not acts[t, r]:
                continue
            a, b = flat.row_markers[r, 0], flat.row_markers[r, 1]
            if a != placed_a or b != placed_b:
                place_marker(flat, q[t], places, a)
                place_marker(flat, q[t], places, b)
                placed_a, placed_b = a, b
            given = functions[t, flat.row_function[r], 0] if flat.row_function[r] >= 0 else 0.0
            near = angles[t, flat.row_angle[r]] if flat.row_angle[r] >= 0 else 0.0
            value, _, _ = row_geometry(
                flat.row_kind[r], flat.row_axes[r, 0], flat.row_axes[r, 1], given, near, vector(places.position, a),
                matrix(places.axes, a), vector(places.position, b), matrix(places.axes, b),
            )  # fmt: skip
            if abs(value) > worst[r]:
                worst[r], when[r] = abs(value), t

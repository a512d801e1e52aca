"""Markers and the scalar rows that couple them: joint equations and force elements.

A row is a relative coordinate `delta` of marker `b` against marker `a` with the covector `(n_v, n_w)`, resolved
in marker `a`, that maps relative velocity to its rate: `deltadot = n_v . d' + n_w . omega_ab`, with `d'` the rate
of the relative position seen in `a`. Its transpose maps a scalar force to the wrenches on both bodies.
"""

import numpy as np
from numba import njit

from flexmb.kernels.data import ANGLE, ANGLE_SINE, DISTANCE, DOT, GROUND, TRANSLATION
from flexmb.lie import (
    cross,
    left_jacobian,
    left_jacobian_inverse,
    matmul,
    relative,
    rotation_exp,
    rotation_from_quaternion,
    rotation_log,
    turn,
    turn_back,
)


@njit(cache=True)
def place_markers(flat, q, body_point, tangent, position, axes, attitude, rows):
    """Place every marker: point in its body, tangent operator of its elastic rotation, world position and axes.

    `rows` (nm, 6, mmax) become the derivatives of each marker's elastic translation and rotation vector by eta.
    """
    for b in range(len(flat.modes)):
        attitude[b] = rotation_from_quaternion(q[flat.q_start[b] + 3 : flat.q_start[b] + 7])
    for k in range(len(flat.marker_body)):
        b = flat.marker_body[k]
        c = flat.marker_point[k].copy()
        if b == GROUND:
            body_point[k] = c
            position[k] = c
            axes[k] = flat.marker_axes[k]
            continue
        start = flat.q_start[b]
        m = flat.modes[b]
        local = flat.marker_axes[k]
        if m > 0:
            eta = q[start + 7 : start + 7 + m]
            theta = np.zeros(3)
            second = flat.marker_second_of[k]
            for r in range(6):
                moved = 0.0
                for i in range(m):
                    row = flat.marker_rows[k, r, i]
                    change = 0.0
                    if second >= 0:
                        for j in range(m):
                            change += flat.marker_second[second, r, i, j] * eta[j]
                    rows[k, r, i] = row + change
                    moved += (row + 0.5 * change) * eta[i]
                if r < 3:
                    c[r] += moved
                else:
                    theta[r - 3] = moved
            local = matmul(rotation_exp(theta), local)
            tangent[k] = left_jacobian(theta)
        body_point[k] = c
        position[k] = q[start : start + 3] + turn(attitude[b], c)
        axes[k] = matmul(attitude[b], local)


@njit(cache=True)
def row_geometry(kind, i, j, given, memory, xa, A, xb, B, nv, nw):
    """Value of a row between markers at `xa`, `xb` with axes `A`, `B`: its coordinate minus the `given` one.

    Fills the covector `nv`, `nw`. `memory` is the last value of an unwrapped angle. (The inner functions take what
    they need and not the whole of `flat`: passing a record of thirty arrays costs more than their work.)
    """
    nv[:] = 0.0
    nw[:] = 0.0
    if kind == TRANSLATION:
        nv[i] = 1.0
        value = -given
        for k in range(3):
            value += A[k, i] * (xb[k] - xa[k])
        return value
    if kind == DISTANCE:
        d = turn_back(A, xb - xa)
        length = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        nv[:] = d / length
        return length - given
    S = relative(A, B)
    if kind == DOT:
        column = S[:, j].copy()
        e = np.zeros(3)
        e[i] = 1.0
        nw[:] = cross(column, e)
        return S[i, j]
    if kind == ANGLE_SINE:
        sine, cosine = np.sin(given), np.cos(given)
        # rate of S_10 is omega . (S e_x x e_y), of S_00 omega . (S e_x x e_x)
        x = S[:, 0].copy()
        nw[:] = cosine * cross(x, np.array([0.0, 1.0, 0.0])) - sine * cross(x, np.array([1.0, 0.0, 0.0]))
        return cosine * S[1, 0] - sine * S[0, 0]
    if kind == ANGLE:
        nw[2] = 1.0
        angle = np.arctan2(S[1, 0] - S[0, 1], S[0, 0] + S[1, 1])
        return angle + 2.0 * np.pi * np.round((memory - angle) / (2.0 * np.pi))
    theta = rotation_log(S)  # ROTATION_VECTOR
    nw[:] = left_jacobian_inverse(theta)[i]
    return theta[i]


@njit(cache=True)
def wrench_to_body(force, moment, point, tangent, rows, attitude, m, out):
    """Generalised force (6+m,) on a body of a wrench in world axes at a marker with elastic `rows` (6, m)."""
    f = turn_back(attitude, force)
    t = turn_back(attitude, moment)
    out[0:3] = f
    out[3:6] = cross(point, f) + t
    if m > 0:
        tt = turn_back(tangent, t)
        for i in range(m):
            total = 0.0
            for r in range(3):
                total += rows[r, i] * f[r] + rows[3 + r, i] * tt[r]
            out[6 + i] = total


@njit(cache=True)
def all_rows(flat, q, functions, angle_memory, work, values, G):
    """Values of all rows and their Jacobians `G` (nr, 2, 6+mmax) with respect to the twists of both bodies."""
    body_point, tangent, position, axes, attitude, rows = work
    place_markers(flat, q, body_point, tangent, position, axes, attitude, rows)
    nv = np.empty(3)
    nw = np.empty(3)
    for r in range(len(values)):
        a, b = flat.row_markers[r, 0], flat.row_markers[r, 1]
        given = functions[flat.row_function[r], 0] if r < flat.joint_rows and flat.row_function[r] >= 0 else 0.0
        values[r] = row_geometry(
            flat.row_kind[r], flat.row_axes[r, 0], flat.row_axes[r, 1], given, angle_memory[r],
            position[a], axes[a], position[b], axes[b], nv, nw,
        )  # fmt: skip
        force = turn(axes[a], nv)
        moment = turn(axes[a], nw)
        n = flat.marker_body[b]
        if n != GROUND:
            wrench_to_body(force, moment, body_point[b], tangent[b], rows[b], attitude[n], flat.modes[n], G[r, 1])
        n = flat.marker_body[a]
        if n != GROUND:
            moment += cross(position[b] - position[a], force)
            wrench_to_body(-force, -moment, body_point[a], tangent[a], rows[a], attitude[n], flat.modes[n], G[r, 0])


@njit(cache=True)
def add_loads(flat, w, functions, work, forces):
    """Add the applied wrenches to the generalised `forces`; return their power. Markers must have been placed."""
    body_point, tangent, _, axes, attitude, rows = work
    power = 0.0
    out = np.empty(6 + flat.marker_rows.shape[2])
    for l in range(len(flat.load_marker)):
        k = flat.load_marker[l]
        b = flat.marker_body[k]
        factor = functions[flat.load_function[l], 0] if flat.load_function[l] >= 0 else 1.0
        force = factor * flat.load_wrench[l, 0:3]
        moment = factor * flat.load_wrench[l, 3:6]
        if flat.load_follows[l] == 1:
            force = turn(axes[k], force)
            moment = turn(axes[k], moment)
        wrench_to_body(force, moment, body_point[k], tangent[k], rows[k], attitude[b], flat.modes[b], out)
        start = flat.v_start[b]
        for i in range(6 + flat.modes[b]):
            forces[start + i] += out[i]
            power += out[i] * w[start + i]
    return power


@njit(cache=True)
def row_rates(row_markers, marker_body, v_start, G, w, rates):
    """Rates (nr,) of the rows' coordinates: `G w` over their two bodies (without the rates of functions of time)."""
    for r in range(len(rates)):
        total = 0.0
        for side in range(2):
            b = marker_body[row_markers[r, side]]
            if b != GROUND:
                for i in range(v_start[b], v_start[b + 1]):
                    total += G[r, side, i - v_start[b]] * w[i]
        rates[r] = total


@njit(cache=True)
def add_row_forces(row_markers, marker_body, v_start, G, efforts, forces):
    """`forces += sum_r efforts_r G_r^T` over the two bodies of every row."""
    for r in range(len(efforts)):
        for side in range(2):
            b = marker_body[row_markers[r, side]]
            if b != GROUND:
                for i in range(v_start[b], v_start[b + 1]):
                    forces[i] += efforts[r] * G[r, side, i - v_start[b]]


@njit(cache=True)
def make_work(flat):
    """Work arrays of `place_markers`: points in bodies, tangents, positions, axes of markers, attitudes of bodies, rows."""
    nm = len(flat.marker_body)
    tangent = np.zeros((nm, 3, 3))
    for k in range(nm):
        tangent[k] = np.eye(3)
    attitude, rows = np.zeros((len(flat.modes), 3, 3)), np.zeros(flat.marker_rows.shape)
    return np.zeros((nm, 3)), tangent, np.zeros((nm, 3)), np.zeros((nm, 3, 3)), attitude, rows

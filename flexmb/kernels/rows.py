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
    rotation_exp,
    rotation_from_quaternion,
    rotation_log,
)


@njit(cache=True)
def place_markers(flat, q, body_point, tangent, position, axes, attitude):
    """Place every marker: point in its body, tangent operator of its elastic rotation, world position and axes."""
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
            for r in range(3):
                for i in range(m):
                    c[r] += flat.marker_rows[k, r, i] * eta[i]
                    theta[r] += flat.marker_rows[k, 3 + r, i] * eta[i]
            local = np.dot(rotation_exp(theta), local)
            tangent[k] = left_jacobian(theta)
        body_point[k] = c
        position[k] = q[start : start + 3] + np.dot(attitude[b], c)
        axes[k] = np.dot(attitude[b], local)


@njit(cache=True)
def row_geometry(flat, r, functions, angle_memory, position, axes, nv, nw):
    """Value of row `r`: its equation (joint rows) or its coordinate (force rows); fills the covector `nv`, `nw`."""
    a, b = flat.row_markers[r, 0], flat.row_markers[r, 1]
    i, j = flat.row_axes[r, 0], flat.row_axes[r, 1]
    kind = flat.row_kind[r]
    given = functions[flat.row_function[r], 0] if r < flat.joint_rows and flat.row_function[r] >= 0 else 0.0
    A = axes[a]
    nv[:] = 0.0
    nw[:] = 0.0
    if kind == TRANSLATION:
        nv[i] = 1.0
        value = -given
        for k in range(3):
            value += A[k, i] * (position[b, k] - position[a, k])
        return value
    if kind == DISTANCE:
        d = np.dot(A.T, position[b] - position[a])
        length = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        nv[:] = d / length
        return length - given
    S = np.dot(A.T, axes[b])
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
        return angle + 2.0 * np.pi * np.round((angle_memory[r] - angle) / (2.0 * np.pi))
    theta = rotation_log(S)  # ROTATION_VECTOR
    nw[:] = left_jacobian_inverse(theta)[i]
    return theta[i]


@njit(cache=True)
def wrench_to_body(flat, k, force, moment, body_point, tangent, attitude, out):
    """Generalised force (6+m,) on the body of marker `k` of a wrench given in world axes at the marker."""
    b = flat.marker_body[k]
    f = np.dot(attitude[b].T, force)
    t = np.dot(attitude[b].T, moment)
    out[0:3] = f
    out[3:6] = cross(body_point[k], f) + t
    m = flat.modes[b]
    if m > 0:
        tt = np.dot(tangent[k].T, t)
        for i in range(m):
            total = 0.0
            for r in range(3):
                total += flat.marker_rows[k, r, i] * f[r] + flat.marker_rows[k, 3 + r, i] * tt[r]
            out[6 + i] = total


@njit(cache=True)
def all_rows(flat, q, functions, angle_memory, work, values, G):
    """Values of all rows and their Jacobians `G` (nr, 2, 6+mmax) with respect to the twists of both bodies."""
    body_point, tangent, position, axes, attitude = work
    place_markers(flat, q, body_point, tangent, position, axes, attitude)
    nv = np.empty(3)
    nw = np.empty(3)
    for r in range(len(values)):
        values[r] = row_geometry(flat, r, functions, angle_memory, position, axes, nv, nw)
        a, b = flat.row_markers[r, 0], flat.row_markers[r, 1]
        force = np.dot(axes[a], nv)
        moment = np.dot(axes[a], nw)
        if flat.marker_body[b] != GROUND:
            wrench_to_body(flat, b, force, moment, body_point, tangent, attitude, G[r, 1])
        if flat.marker_body[a] != GROUND:
            arm = position[b] - position[a]
            wrench_to_body(flat, a, -force, -moment - cross(arm, force), body_point, tangent, attitude, G[r, 0])


@njit(cache=True)
def add_loads(flat, w, functions, work, forces):
    """Add the applied wrenches to the generalised `forces`; return their power. Markers must have been placed."""
    body_point, tangent, position, axes, attitude = work
    power = 0.0
    out = np.empty(6 + flat.marker_rows.shape[2])
    for l in range(len(flat.load_marker)):
        k = flat.load_marker[l]
        b = flat.marker_body[k]
        factor = functions[flat.load_function[l], 0] if flat.load_function[l] >= 0 else 1.0
        force = factor * flat.load_wrench[l, 0:3]
        moment = factor * flat.load_wrench[l, 3:6]
        if flat.load_follows[l] == 1:
            force = np.dot(axes[k], force)
            moment = np.dot(axes[k], moment)
        wrench_to_body(flat, k, force, moment, body_point, tangent, attitude, out)
        start = flat.v_start[b]
        for i in range(6 + flat.modes[b]):
            forces[start + i] += out[i]
            power += out[i] * w[start + i]
    return power


@njit(cache=True)
def row_rate(flat, r, G, w):
    """Rate of row `r`'s coordinate: `G w` over its two bodies (without the rate of its function of time)."""
    total = 0.0
    for side in range(2):
        b = flat.marker_body[flat.row_markers[r, side]]
        if b != GROUND:
            start = flat.v_start[b]
            for i in range(6 + flat.modes[b]):
                total += G[r, side, i] * w[start + i]
    return total


@njit(cache=True)
def add_row_force(flat, r, G, scale, forces):
    """`forces += scale * G_r^T` over the two bodies of row `r`."""
    for side in range(2):
        b = flat.marker_body[flat.row_markers[r, side]]
        if b != GROUND:
            start = flat.v_start[b]
            for i in range(6 + flat.modes[b]):
                forces[start + i] += scale * G[r, side, i]


@njit(cache=True)
def make_work(flat):
    """Work arrays of `place_markers`: points in bodies, tangents, positions, axes of markers, attitudes of bodies."""
    nm = len(flat.marker_body)
    tangent = np.zeros((nm, 3, 3))
    for k in range(nm):
        tangent[k] = np.eye(3)
    return np.zeros((nm, 3)), tangent, np.zeros((nm, 3)), np.zeros((nm, 3, 3)), np.zeros((len(flat.modes), 3, 3))

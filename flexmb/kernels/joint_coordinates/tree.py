"""Joint coordinates: kinematics of the bodies along the tree of their joints, from the ground outwards.

The joint of a body is a rigid motion `H` of a marker of the body relative to a marker of its parent, within a subgroup:
translations along, and rotations about, some axes of its marker. Its velocities are the components of the twist
`[xi_v, xi_w]` on these axes, in the axes of the marker of the body. A body without a joint either has a joint with the
ground that leaves all axes free, or moves about a pivot (flexmb/kernels/joint_coordinates/pivots.py). Absolute
coordinates are those of a tree without joints.

Sources: Wittenburg, Dynamics of Multibody Systems (2008), chapter 5; Featherstone, Rigid Body Dynamics Algorithms
(2008), chapters 4 and 5. The equations of motion are solved with the matrix of all joint equations. Joint coordinates
satisfy those of the tree, and the elimination along the chain is the same.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    NOTHING,
    ONE,
    add,
    attitude,
    compose,
    cross,
    dot,
    left_jacobian,
    load3,
    matrix,
    product,
    relative,
    rotate,
    rotate_inv,
    rotation_exp,
    rotation_from_quaternion,
    scale,
    store,
    sub,
    transposed,
    vector,
)
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.dense import three_rows
from flexmb.kernels.joint_coordinates.pivots import place_about_pivot, velocity_of_pivot

FREE = -1
"""Marker number of a body and of the ground without a joint; it stands for the body frame or the world frame."""


class Tree(NamedTuple):
    """The tree of a mechanism.

    The velocities `v` (ny,) in joint coordinates contain, for every body b from `start[b]` on, the velocities of its
    joint and then etadot.
    """

    order: np.ndarray  # (nb,) bodies, parents first
    parent: np.ndarray  # (nb,) marker of the parent, FREE for none
    child: np.ndarray  # (nb,) marker of the body itself, FREE for none
    start: np.ndarray  # (nb+1,) first entries of the bodies in v
    axis_start: np.ndarray  # (nb+1,) first entries of the bodies in axes
    axes: np.ndarray  # numbers 0 to 5 of the free components of the twists
    weight: np.ndarray  # (ny,) error weights: displacement per unit of each coordinate
    # (nb,) whether a body without a joint has the coordinates of flexmb/kernels/joint_coordinates/pivots.py; its
    # velocities are the twist of its frame otherwise
    pivoted: np.ndarray
    pivot: np.ndarray  # (nb, 3) position of the pivot in the body
    # (nb,) body in whose axes the velocity of the pivot is given, which is not later in `order`, or GROUND
    carrier: np.ndarray


@njit(cache=True)
def _curved(quadratic, k, x, y, m):
    """Values of the bilinear forms k to k + 2 of `quadratic` (6, m, m) for x and y (m,)."""
    out = NOTHING
    for r in range(3):
        total = 0.0
        for i in range(m):
            row = 0.0
            for j in range(m):
                row += quadratic[k + r, i, j] * y[j]
            total += x[i] * row
        out = (total, out[1], out[2]) if r == 0 else ((out[0], total, out[2]) if r == 1 else (out[0], out[1], total))
    return out


@njit(cache=True)
def _turning(theta, rate, rate2):
    """Angular velocity and acceleration of the rotation `exp(theta)`, in the fixed axes, from the first and second rate
    of the rotation vector."""
    T = left_jacobian(theta)
    x2, along = dot(theta, theta), dot(theta, rate)
    if x2 < 1e-4:
        b, c = 0.5 - x2 / 24.0, 1.0 / 6.0 - x2 / 120.0
        db, dc = -along / 12.0 * (1.0 - x2 / 30.0), -along / 60.0 * (1.0 - x2 / 42.0)
    else:
        x = np.sqrt(x2)
        sine, cosine = np.sin(x), np.cos(x)
        b, c = (1.0 - cosine) / x2, (x - sine) / (x2 * x)
        db = along * (sine / x - 2.0 * b) / x2
        dc = along * ((1.0 - cosine) / x2 - 3.0 * c) / x2
    twisted = cross(theta, rate)
    second = add(add(scale(db, twisted), scale(dc, cross(theta, twisted))), scale(c, cross(rate, twisted)))
    return rotate(T, rate), add(rotate(T, rate2), second)


@njit(cache=True)
def _elastic_marker(flat, k, eta, rate, rate2, m):
    """Position and axes of marker k in its body, and the velocity, angular velocity, acceleration and angular
    acceleration that the deformation of the body causes, in body axes."""
    c, axes = vector(flat.marker_point, k), matrix(flat.marker_axes, k)
    if not flat.marker_moves[k]:
        return c, axes, NOTHING, NOTHING, NOTHING, NOTHING
    rows, second = flat.marker_rows[k], flat.marker_second_of[k]
    theta, cdot, cddot = three_rows(rows, 3, eta, m), three_rows(rows, 0, rate, m), three_rows(rows, 0, rate2, m)
    c = add(c, three_rows(rows, 0, eta, m))
    thetadot, thetaddot = three_rows(rows, 3, rate, m), three_rows(rows, 3, rate2, m)
    if second >= 0:
        Q = flat.marker_second[second]
        c = add(c, scale(0.5, _curved(Q, 0, eta, eta, m)))
        theta = add(theta, scale(0.5, _curved(Q, 3, eta, eta, m)))
        cdot, thetadot = add(cdot, _curved(Q, 0, rate, eta, m)), add(thetadot, _curved(Q, 3, rate, eta, m))
        cddot = add(cddot, add(_curved(Q, 0, rate2, eta, m), _curved(Q, 0, rate, rate, m)))
        thetaddot = add(thetaddot, add(_curved(Q, 3, rate2, eta, m), _curved(Q, 3, rate, rate, m)))
    spin, spinning = _turning(theta, thetadot, thetaddot)
    return c, product(rotation_exp(theta), axes), cdot, spin, cddot, spinning


@njit(cache=True)
def _quaternion(R, near):
    """The unit quaternion of a rotation matrix; of the two with opposite signs, the one closer to `near`."""
    trace = R[0] + R[4] + R[8]
    if trace >= R[0] and trace >= R[4] and trace >= R[8]:
        p = (1.0 + trace, R[7] - R[5], R[2] - R[6], R[3] - R[1])
    elif R[0] >= R[4] and R[0] >= R[8]:
        p = (R[7] - R[5], 1.0 + R[0] - R[4] - R[8], R[1] + R[3], R[2] + R[6])
    elif R[4] >= R[8]:
        p = (R[2] - R[6], R[1] + R[3], 1.0 - R[0] + R[4] - R[8], R[5] + R[7])
    else:
        p = (R[3] - R[1], R[2] + R[6], R[5] + R[7], 1.0 - R[0] - R[4] + R[8])
    s = 1.0 / np.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    if p[0] * near[0] + p[1] * near[1] + p[2] * near[2] + p[3] * near[3] < 0.0:
        s = -s
    return (s * p[0], s * p[1], s * p[2], s * p[3])


@njit(cache=True)
def _moved_marker(flat, k, q, w, wdot):
    """Position, axes, velocity, angular velocity, acceleration and angular acceleration of marker k, in world axes."""
    if k == FREE:
        return NOTHING, ONE, NOTHING, NOTHING, NOTHING, NOTHING
    b = flat.marker_body[k]
    if b == GROUND:
        return vector(flat.marker_point, k), matrix(flat.marker_axes, k), NOTHING, NOTHING, NOTHING, NOTHING
    s, e, m = flat.v_start[b], flat.q_start[b], flat.modes[b]
    eta, rate, rate2 = q[e + 7 : e + 7 + m], w[s + 6 : s + 6 + m], wdot[s + 6 : s + 6 + m]
    c, local, cdot, spin, cddot, spinning = _elastic_marker(flat, k, eta, rate, rate2, m)
    R = attitude(flat, q, b)
    v, omega, vdot, omegadot = load3(w, s), load3(w, s + 3), load3(wdot, s), load3(wdot, s + 3)
    carried = add(cross(omega, c), cdot)
    velocity = add(v, carried)
    acceleration = add(add(vdot, cross(omega, velocity)), add(add(cross(omegadot, c), cross(omega, cdot)), cddot))
    turning = add(add(omegadot, spinning), cross(omega, spin))
    return (
        add(load3(q, e), rotate(R, c)),
        product(R, local),
        rotate(R, velocity),
        rotate(R, add(omega, spin)),
        rotate(R, acceleration),
        rotate(R, turning),
    )


@njit(cache=True)
def joint_twist(tree, b, values, offset):
    """The twist of the joint of body `b`, from the values on its free axes in `values` from entry `offset`."""
    out = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for k in range(tree.axis_start[b], tree.axis_start[b + 1]):
        value, axis = values[offset + k - tree.axis_start[b]], tree.axes[k]
        out = (
            value if axis == 0 else out[0],
            value if axis == 1 else out[1],
            value if axis == 2 else out[2],
            value if axis == 3 else out[3],
            value if axis == 4 else out[4],
            value if axis == 5 else out[5],
        )
    return (out[0], out[1], out[2]), (out[3], out[4], out[5])


@njit(cache=True)
def place_bodies(flat, tree, pose, q0, increment, v, vdot, near, moved, q, w, wdot):
    """Write the absolute configuration `q`, velocities `w` and accelerations `wdot` of all bodies, from joint
    coordinates.

    The motion starts from the rigid motions `pose` (nb, 7) of the joints, and from the elastic coordinates and the
    attitudes of bodies with a pivot in the configuration `q0`. It is moved by `increment` (ny,), with the velocities
    `v` and the accelerations `vdot` (ny,). `moved` (nb, 7) is set to the rigid motions of the joints after the
    increment. The signs of quaternions are chosen such that they are close to those of the configuration `near`.
    """
    for place in range(len(tree.order)):
        b = tree.order[place]
        y, s, e, m = tree.start[b], flat.v_start[b], flat.q_start[b], flat.modes[b]
        free = tree.axis_start[b + 1] - tree.axis_start[b]
        for i in range(m):
            q[e + 7 + i] = q0[e + 7 + i] + increment[y + free + i]
            w[s + 6 + i], wdot[s + 6 + i] = v[y + free + i], vdot[y + free + i]
        if tree.pivoted[b]:
            place_about_pivot(flat, tree, b, pose[b], q0, increment, v, vdot, moved[b], q, w, wdot)
            continue
        rho, theta = joint_twist(tree, b, increment, y)
        d, p = compose(load3(pose[b], 0), (pose[b, 3], pose[b, 4], pose[b, 5], pose[b, 6]), rho, theta)
        store(moved[b], 0, d)
        moved[b, 3], moved[b, 4], moved[b, 5], moved[b, 6] = p
        x, A, velocity, spin, acceleration, spinning = _moved_marker(flat, tree.parent[b], q, w, wdot)
        xi, tau = joint_twist(tree, b, v, y)
        xidot, taudot = joint_twist(tree, b, vdot, y)
        B = product(A, rotation_from_quaternion(p))
        r, xi, tau = rotate(A, d), rotate(B, xi), rotate(B, tau)
        omega = add(spin, tau)
        drift = add(cross(spin, r), xi)
        x = add(x, r)
        acceleration = add(
            add(acceleration, cross(spinning, r)), add(cross(spin, drift), add(rotate(B, xidot), cross(omega, xi)))
        )
        spinning = add(spinning, add(rotate(B, taudot), cross(omega, tau)))
        velocity = add(velocity, drift)
        # from the marker of the body to its frame
        k = tree.child[b]
        c, local, cdot, own, cddot, owning = NOTHING, ONE, NOTHING, NOTHING, NOTHING, NOTHING
        if k != FREE:
            eta, rate, rate2 = q[e + 7 : e + 7 + m], w[s + 6 : s + 6 + m], wdot[s + 6 : s + 6 + m]
            c, local, cdot, own, cddot, owning = _elastic_marker(flat, k, eta, rate, rate2, m)
        R = product(B, transposed(local))
        store(q, e, sub(x, rotate(R, c)))
        q[e + 3], q[e + 4], q[e + 5], q[e + 6] = _quaternion(R, (near[e + 3], near[e + 4], near[e + 5], near[e + 6]))
        omega = sub(rotate_inv(R, omega), own)
        velocity = rotate_inv(R, velocity)
        omegadot = sub(rotate_inv(R, spinning), add(owning, cross(omega, own)))
        carried = add(add(cross(omega, velocity), cross(omegadot, c)), add(cross(omega, cdot), cddot))
        store(w, s, sub(velocity, add(cross(omega, c), cdot)))
        store(w, s + 3, omega)
        store(wdot, s, sub(rotate_inv(R, acceleration), carried))
        store(wdot, s + 3, omegadot)


@njit(cache=True)
def marker_velocity(flat, k, kinematics, x):
    """Velocity and angular velocity of marker k in world axes, for the generalised velocities `x`, at the configuration
    of `kinematics`."""
    if k == FREE or flat.marker_body[k] == GROUND:
        return NOTHING, NOTHING
    b = flat.marker_body[k]
    s, m = flat.v_start[b], flat.modes[b]
    v, omega, R = load3(x, s), load3(x, s + 3), matrix(kinematics.attitude, b)
    v = add(v, cross(omega, vector(kinematics.body_point, k)))
    if flat.marker_moves[k]:
        rows = kinematics.rows[k]
        v = add(v, three_rows(rows, 0, x[s + 6 :], m))
        omega = add(omega, rotate(matrix(kinematics.tangent, k), three_rows(rows, 3, x[s + 6 :], m)))
    return rotate(R, v), rotate(R, omega)


@njit(cache=True)
def joint_velocities(flat, tree, kinematics, q, x, out):
    """Write the velocities in joint coordinates to `out` (ny,), from the generalised velocities `x` (nv,).

    `kinematics` must have been evaluated at the configuration `q`. Components on the axes that joints constrain are
    omitted.
    """
    for b in range(len(tree.order)):
        s, e, y, k, parent = flat.v_start[b], flat.q_start[b], tree.start[b], tree.child[b], tree.parent[b]
        if tree.pivoted[b]:
            R, S = matrix(kinematics.attitude, b), matrix(kinematics.attitude, max(tree.carrier[b], 0))
            velocity_of_pivot(tree, b, R, S, x, s, out)
            for i in range(6, 6 + flat.modes[b]):
                out[y + i] = x[s + i]
            continue
        velocity, spin = marker_velocity(flat, parent, kinematics, x)
        if k == FREE:
            B, own, turning, r = matrix(kinematics.attitude, b), load3(x, s), load3(x, s + 3), load3(q, e)
            own, turning = rotate(B, own), rotate(B, turning)
        else:
            B = matrix(kinematics.axes, k)
            own, turning = marker_velocity(flat, k, kinematics, x)
            r = sub(vector(kinematics.position, k), vector(kinematics.position, parent))
        xi = rotate_inv(B, sub(own, add(velocity, cross(spin, r))))
        tau = rotate_inv(B, sub(turning, spin))
        free = tree.axis_start[b + 1] - tree.axis_start[b]
        for i in range(free):
            axis = tree.axes[tree.axis_start[b] + i]
            out[y + i] = xi[axis] if axis < 3 else tau[axis - 3]
        for i in range(flat.modes[b]):
            out[y + free + i] = x[s + 6 + i]


@njit(cache=True)
def joint_poses(flat, tree, kinematics, q, pose):
    """Write the rigid motions of the joints, and the positions of pivots, to `pose` (nb, 7).

    `kinematics` must have been evaluated at the configuration `q`.
    """
    for b in range(len(tree.order)):
        k, parent, e = tree.child[b], tree.parent[b], flat.q_start[b]
        if k == FREE:
            for i in range(7):
                pose[b, i] = q[e + i]
            if tree.pivoted[b]:
                store(pose[b], 0, add(load3(q, e), rotate(matrix(kinematics.attitude, b), vector(tree.pivot, b))))
            continue
        A = matrix(kinematics.axes, parent)
        store(pose[b], 0, rotate_inv(A, sub(vector(kinematics.position, k), vector(kinematics.position, parent))))
        p = _quaternion(relative(A, matrix(kinematics.axes, k)), (1.0, 0.0, 0.0, 0.0))
        pose[b, 3], pose[b, 4], pose[b, 5], pose[b, 6] = p

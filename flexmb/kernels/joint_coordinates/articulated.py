"""Accelerations of an open tree of rigid bodies in joint coordinates by the articulated-body algorithm, in O(bodies).

The articulated inertia of a body, which determines its reaction on its parent, is its own inertia plus those of its
children after elimination of the free axes of their joints. Vectors are in body axes; gravity is an acceleration of the
ground. There is one unknown for each free axis of a joint.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 7.3.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    NOTHING,
    add,
    compose,
    cross,
    dot,
    load3,
    matrix,
    product,
    rotate,
    rotate_inv,
    rotation_from_quaternion,
    scale,
    store,
    store_matrix,
    sub,
    transposed,
    vector,
)
from flexmb.kernels.base.data import GROUND, CompiledModel
from flexmb.kernels.base.exponential import bernoulli_rates
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.joint_coordinates.tree import FREE, Tree, joint_twist

FAST = {"contract"}


class Articulated(NamedTuple):
    """Data and work arrays of the recursion; the joint axes S are constant."""

    parent: np.ndarray  # (nb,) body, GROUND for none
    place: np.ndarray  # (nb, 3, 3) axes of the marker on the parent, in the parent
    point: np.ndarray  # (nb, 3) point of the marker on the parent
    back: np.ndarray  # (nb, 3, 3) axes of the marker on the body, transposed
    own: np.ndarray  # (nb, 3) point of the marker on the body
    S: np.ndarray  # (na, 6) twist of each body for each free axis of its joint
    attitude: np.ndarray  # (nb, 3, 3) attitude of the body relative to its parent
    arm: np.ndarray  # (nb, 3) position of the body frame in the parent
    twist: np.ndarray  # (nb, 6)
    drift: np.ndarray  # (nb, 6) velocity-dependent acceleration of the joint
    inertia: np.ndarray  # (nb, 3, 3, 3): blocks vv, v-omega, omega-omega
    force: np.ndarray  # (nb, 6)
    acceleration: np.ndarray  # (nb, 6)
    U: np.ndarray  # (na, 6)
    D: np.ndarray  # (na,) inverse
    u: np.ndarray  # (na,)


def make_articulated(flat: CompiledModel, tree: Tree) -> Articulated:
    """The data of a tree of rigid bodies."""
    nb, axes = len(tree.order), []
    place, point, back, own = (
        np.tile(np.eye(3), (nb, 1, 1)),
        np.zeros((nb, 3)),
        np.tile(np.eye(3), (nb, 1, 1)),
        np.zeros((nb, 3)),
    )
    parent = np.full(nb, GROUND)
    for b in range(nb):
        k, child = tree.parent[b], tree.child[b]
        if k != FREE:
            parent[b], place[b], point[b] = flat.marker_body[k], flat.marker_axes[k], flat.marker_point[k]
        if child != FREE:
            back[b], own[b] = flat.marker_axes[child].T, flat.marker_point[child]
        for axis in tree.axes[tree.axis_start[b] : tree.axis_start[b + 1]]:
            direction = back[b][axis % 3]
            if axis < 3:
                axes.append(np.concatenate([direction, np.zeros(3)]))
            else:
                axes.append(np.concatenate([np.cross(own[b], direction), direction]))
    na = len(axes)
    sizes = ((nb, 3, 3), (nb, 3), (nb, 6), (nb, 6), (nb, 3, 3, 3), (nb, 6), (nb, 6), (na, 6), (na,), (na,))
    rest = (np.zeros(size) for size in sizes)
    return pointed(Articulated(parent, place, point, back, own, np.array(axes).reshape(na, 6), *rest))


@njit(cache=True, fastmath=FAST)
def _six(a, k):
    """Row k of an array (n, 6) as two vectors."""
    return (a[k, 0], a[k, 1], a[k, 2]), (a[k, 3], a[k, 4], a[k, 5])


@njit(cache=True)
def _put_six(a, k, v, w):
    a[k, 0], a[k, 1], a[k, 2], a[k, 3], a[k, 4], a[k, 5] = v[0], v[1], v[2], w[0], w[1], w[2]


@njit(cache=True)
def _add_nine(a, k, i, X):
    a[k, i, 0, 0] += X[0]
    a[k, i, 0, 1] += X[1]
    a[k, i, 0, 2] += X[2]
    a[k, i, 1, 0] += X[3]
    a[k, i, 1, 1] += X[4]
    a[k, i, 1, 2] += X[5]
    a[k, i, 2, 0] += X[6]
    a[k, i, 2, 1] += X[7]
    a[k, i, 2, 2] += X[8]


@njit(cache=True, fastmath=FAST)
def _less_outer(X, a, b):
    """`X - a b^T`."""
    return (
        X[0] - a[0] * b[0], X[1] - a[0] * b[1], X[2] - a[0] * b[2],
        X[3] - a[1] * b[0], X[4] - a[1] * b[1], X[5] - a[1] * b[2],
        X[6] - a[2] * b[0], X[7] - a[2] * b[1], X[8] - a[2] * b[2],
    )  # fmt: skip


@njit(cache=True, fastmath=FAST)
def _crossed(X, r):
    """`X skew(r)`."""
    x, y, z = r
    return (
        X[1] * z - X[2] * y, X[2] * x - X[0] * z, X[0] * y - X[1] * x,
        X[4] * z - X[5] * y, X[5] * x - X[3] * z, X[3] * y - X[4] * x,
        X[7] * z - X[8] * y, X[8] * x - X[6] * z, X[6] * y - X[7] * x,
    )  # fmt: skip


@njit(cache=True, fastmath=FAST)
def _difference(X, Y):
    return (
        X[0] - Y[0], X[1] - Y[1], X[2] - Y[2],
        X[3] - Y[3], X[4] - Y[4], X[5] - Y[5],
        X[6] - Y[6], X[7] - Y[7], X[8] - Y[8],
    )  # fmt: skip


@njit(cache=True, fastmath=FAST)
def _outward(flat, tree, pose, v, t):
    """Outward recursion: relative poses, twists and inertia forces of all bodies."""
    for k in range(len(tree.order)):
        b = tree.order[k]
        y, first, last = tree.start[b], tree.axis_start[b], tree.axis_start[b + 1]
        p = t.parent[b]
        turned = rotation_from_quaternion((pose[b, 3], pose[b, 4], pose[b, 5], pose[b, 6]))
        A = matrix(t.place, b)
        R = product(product(A, turned), matrix(t.back, b))
        r = sub(add(vector(t.point, b), rotate(A, (pose[b, 0], pose[b, 1], pose[b, 2]))), rotate(R, vector(t.own, b)))
        store_matrix(t.attitude, b, R)
        store(t.arm[b], 0, r)
        own_v, own_w = NOTHING, NOTHING
        for a in range(first, last):
            s, w = _six(t.S, a)
            own_v, own_w = add(own_v, scale(v[y + a - first], s)), add(own_w, scale(v[y + a - first], w))
        velocity, omega = own_v, own_w
        if p != GROUND:
            u, w = _six(t.twist, p)
            velocity = add(velocity, rotate_inv(R, add(u, cross(w, r))))
            omega = add(omega, rotate_inv(R, w))
        _put_six(t.twist, b, velocity, omega)
        _put_six(t.drift, b, add(cross(omega, own_v), cross(velocity, own_w)), cross(omega, own_w))
        mass, s, J = flat.mass[b], vector(flat.s0, b), matrix(flat.J0, b)
        l = add(scale(mass, velocity), cross(omega, s))
        pi = add(cross(s, velocity), rotate(J, omega))
        f, m = _six(t.force, b)
        _put_six(t.force, b, sub(cross(omega, l), f), sub(add(cross(omega, pi), cross(velocity, l)), m))
        store_matrix(t.inertia[b], 0, (mass, 0.0, 0.0, 0.0, mass, 0.0, 0.0, 0.0, mass))
        store_matrix(t.inertia[b], 1, (0.0, s[2], -s[1], -s[2], 0.0, s[0], s[1], -s[0], 0.0))
        store_matrix(t.inertia[b], 2, J)


@njit(cache=True, fastmath=FAST)
def _inward(tree, t):
    """Inward recursion: articulated inertias and forces, with eliminated joints."""
    for k in range(len(tree.order) - 1, -1, -1):
        b = tree.order[k]
        A, B, C = matrix(t.inertia[b], 0), matrix(t.inertia[b], 1), matrix(t.inertia[b], 2)
        f, m = _six(t.force, b)
        for a in range(tree.axis_start[b], tree.axis_start[b + 1]):
            s, w = _six(t.S, a)
            n, l = add(rotate(A, s), rotate(B, w)), add(rotate_inv(B, s), rotate(C, w))
            inverse = 1.0 / (dot(s, n) + dot(w, l))
            effort = -(dot(s, f) + dot(w, m))
            _put_six(t.U, a, n, l)
            t.D[a], t.u[a] = inverse, effort
            p, q = scale(inverse, n), scale(inverse, l)
            A, B, C = _less_outer(A, n, p), _less_outer(B, n, q), _less_outer(C, l, q)
            f, m = add(f, scale(effort, p)), add(m, scale(effort, q))
        parent = t.parent[b]
        if parent == GROUND:
            continue
        d, e = _six(t.drift, b)
        f = add(f, add(rotate(A, d), rotate(B, e)))
        m = add(m, add(rotate_inv(B, d), rotate(C, e)))
        R, r = matrix(t.attitude, b), vector(t.arm, b)
        back = transposed(R)
        A, B, C = product(product(R, A), back), product(product(R, B), back), product(product(R, C), back)
        f, m = rotate(R, f), rotate(R, m)
        moved = _difference(B, _crossed(A, r))
        inner = _difference(C, _crossed(transposed(B), r))
        # skew(r) X, from the transpose of X
        outer = _crossed(transposed(moved), r)
        _add_nine(t.inertia, parent, 0, A)
        _add_nine(t.inertia, parent, 1, moved)
        _add_nine(t.inertia, parent, 2, _difference(inner, transposed(outer)))
        g, h = _six(t.force, parent)
        _put_six(t.force, parent, add(g, f), add(h, add(m, cross(r, f))))


@njit(cache=True, fastmath=FAST)
def tree_accelerations(flat, tree, pose, v, t, vdot):
    """Accelerations `vdot` (ny,) of the joints at relative poses `pose` (nb, 7) and velocities `v` (ny,).

    `t.force` (nb, 6) holds the applied forces on the bodies in body axes; it is overwritten.
    """
    _outward(flat, tree, pose, v, t)
    _inward(tree, t)
    ground = scale(-1.0, load3(flat.gravity, 0))
    for k in range(len(tree.order)):
        b = tree.order[k]
        y, first, last, p = tree.start[b], tree.axis_start[b], tree.axis_start[b + 1], t.parent[b]
        R, r = matrix(t.attitude, b), vector(t.arm, b)
        above, turning = ground, NOTHING
        if p != GROUND:
            above, turning = _six(t.acceleration, p)
        a, alpha = rotate_inv(R, add(above, cross(turning, r))), rotate_inv(R, turning)
        d, e = _six(t.drift, b)
        a, alpha = add(a, d), add(alpha, e)
        for i in range(last - 1, first - 1, -1):
            n, l = _six(t.U, i)
            rate = (t.u[i] - dot(n, a) - dot(l, alpha)) * t.D[i]
            vdot[y + i - first] = rate
            s, w = _six(t.S, i)
            a, alpha = add(a, scale(rate, s)), add(alpha, scale(rate, w))
        _put_six(t.acceleration, b, a, alpha)


@njit(cache=True)
def moved_joints(tree, pose, increment, out):
    """The relative poses `out` (nb, 7) of the joints after an `increment` (ny,) on their free axes."""
    for b in range(len(tree.order)):
        rho, theta = joint_twist(tree, b, increment, tree.start[b])
        d, p = compose(load3(pose[b], 0), (pose[b, 3], pose[b, 4], pose[b, 5], pose[b, 6]), rho, theta)
        store(out[b], 0, d)
        out[b, 3], out[b, 4], out[b, 5], out[b, 6] = p


@njit(cache=True)
def joint_exponential_rates(tree, theta, v, out):
    """Rates `out` (ny,) of the exponential coordinates `theta` (ny,) of the joints for velocities `v` (ny,).

    As the free motions of a joint form a group, the rates have no components along blocked axes.
    """
    for b in range(len(tree.order)):
        y, first, last = tree.start[b], tree.axis_start[b], tree.axis_start[b + 1]
        linear, angular = bernoulli_rates(joint_twist(tree, b, theta, y), joint_twist(tree, b, v, y))
        for a in range(first, last):
            axis = tree.axes[a]
            out[y + a - first] = linear[axis] if axis < 3 else angular[axis - 3]

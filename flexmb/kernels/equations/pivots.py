"""Bodies that move as a point and turn about it: the pivot along the axes of what carries it, the attitude by rotation vectors.

The coordinates of such a body are the place of its pivot in the world, its attitude, and its elastic coordinates; their velocities `[u, omega, etadot]` are that of the pivot and the angular
velocity in body axes. `u` is in the axes `S` of the body's carrier, which is the ground, with the world's axes: a uniform motion of the pivot is integrated exactly at any rotation, and a uniform
velocity of everything (Galilei) changes nothing else. Or another body, whose rotation takes the pivot along on a circle, or the body itself: the pivot and the axes of the carrier are a rigid motion,
which moves by the twist `[u, omega of the carrier]`, so that circles are exact too.

With the velocity `V = S u` of the pivot and `Vdot = S (udot + omega_S x u)`, its place `c` in the body, `l = R^T V` and `A = R^T Vdot`, the twist of the body's frame is `v = l - omega x c`,
`vdot = A - omegadot x c - omega x l`. The tangents of this map and their transposes are below; a change of attitude is a rotation vector in body axes, that of a pivot's place is in the axes of its carrier.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    add,
    cross,
    left_jacobian,
    left_jacobian_inverse,
    load3,
    quaternion_exp,
    quaternion_product,
    rotate,
    rotate_inv,
    rotation_exp,
    rotation_from_quaternion,
    scale,
    store,
    sub,
    vector,
)
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.exponential import carried, unwound_back


@njit(cache=True)
def place_about_pivot(flat, tree, b, place, q0, increment, v, vdot, moved, q, w, wdot):
    """Frame and twist in `q`, `w` and `wdot` of body `b`: from its pivot's `place` and its attitude in `q0`, moved by the increment (ny,), with velocities and accelerations (ny,). Its carrier
    has been placed. `moved` becomes the place of the pivot."""
    s, e, y, c, k = flat.v_start[b], flat.q_start[b], tree.start[b], vector(tree.pivot, b), tree.carrier[b]
    omega, omegadot = load3(v, y + 3), load3(vdot, y + 3)
    p0 = (q0[e + 3], q0[e + 4], q0[e + 5], q0[e + 6])
    p = quaternion_product(p0, quaternion_exp(load3(increment, y + 3)))
    unit = 1.0 / np.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    p = (unit * p[0], unit * p[1], unit * p[2], unit * p[3])
    q[e + 3], q[e + 4], q[e + 5], q[e + 6] = p
    R = rotation_from_quaternion(p)
    way, velocity, acceleration = load3(increment, y), load3(v, y), load3(vdot, y)
    if k != GROUND:
        turning, S = tree.start[k] + 3, R if k == b else _attitude(flat, k, q)
        way = rotate(S, rotate(left_jacobian(scale(-1.0, load3(increment, turning))), way))
        acceleration = add(acceleration, cross(load3(v, turning), velocity))
        if k != b:
            velocity, acceleration = rotate(S, velocity), rotate(S, acceleration)
    if k != b:
        velocity, acceleration = rotate_inv(R, velocity), rotate_inv(R, acceleration)
    point = add(load3(place, 0), way)
    store(moved, 0, point)
    store(q, e, sub(point, rotate(R, c)))
    store(w, s, sub(velocity, cross(omega, c)))
    store(w, s + 3, omega)
    store(wdot, s, sub(acceleration, add(cross(omegadot, c), cross(omega, velocity))))
    store(wdot, s + 3, omegadot)


@njit(cache=True)
def velocity_of_pivot(tree, b, R, S, x, s, out):
    """`[u, omega]` of body `b` in `out` (ny,) of the twist in `x` from entry `s`; `R`, `S`: axes of the body, and of its carrier if that is another body."""
    y, k, turning = tree.start[b], tree.carrier[b], load3(x, s + 3)
    velocity = add(load3(x, s), cross(turning, vector(tree.pivot, b)))
    if k != b:
        velocity = rotate(R, velocity)
        if k != GROUND:
            velocity = rotate_inv(S, velocity)
    store(out, y, velocity)
    store(out, y + 3, turning)


@njit(cache=True)
def unwind(tree, increment, x):
    """Changes `x` (ny,) of where increments of pivots and attitudes end become, in place, changes of these increments, to their first order: what a correction leaves would ring in the reactions."""
    for place in range(len(tree.order) - 1, -1, -1):  # what is carried first
        b = tree.order[place]
        if not tree.pivoted[b]:
            continue
        y, k = tree.start[b], tree.carrier[b]
        if k != GROUND:
            r = tree.start[k] + 3
            turned = add(cross(load3(increment, r), load3(x, y)), cross(load3(increment, y), load3(x, r)))
            _add(x, y, scale(0.5, turned))
        _add(x, y + 3, scale(0.5, cross(load3(increment, y + 3), load3(x, y + 3))))


@njit(cache=True)
def _state(c, w, wdot, s):
    """`omega`, `l` and `A` of a body."""
    omega, omegadot = load3(w, s + 3), load3(wdot, s + 3)
    velocity = add(load3(w, s), cross(omega, c))
    return omega, velocity, add(load3(wdot, s), add(cross(omegadot, c), cross(omega, velocity)))


@njit(cache=True)
def _add(x, s, y):
    store(x, s, add(load3(x, s), y))


@njit(cache=True)
def _attitude(flat, b, q):
    e = flat.q_start[b]
    return rotation_from_quaternion((q[e + 3], q[e + 4], q[e + 5], q[e + 6]))


@njit(cache=True)
def _seen(flat, tree, b, q, x):
    """A vector of the world in the axes of a body's carrier."""
    k = tree.carrier[b]
    return x if k == GROUND else rotate_inv(_attitude(flat, k, q), x)


@njit(cache=True)
def _unseen(flat, tree, b, q, x):
    """A vector in the axes of a body's carrier in those of the world."""
    k = tree.carrier[b]
    return x if k == GROUND else rotate(_attitude(flat, k, q), x)


@njit(cache=True)
def pivot_increment(flat, tree, q, w, out):
    """`out = [u, omega, etadot]` (nv,) of all bodies."""
    for b in range(len(flat.modes)):
        s, k = flat.v_start[b], tree.carrier[b]
        R = _attitude(flat, b, q)
        velocity_of_pivot(tree, b, R, R if k == GROUND else _attitude(flat, k, q), w, s, out)
        for i in range(s + 6, flat.v_start[b + 1]):
            out[i] = w[i]


@njit(cache=True)
def changes_from_pivots(flat, tree, moved, q, w, wdot, dq, dw, dwdot, to_q, to_w, to_wdot):
    """Changes of frames and twists, `to_q`, `to_w` and `to_wdot` (nv,), from those of pivots, attitudes and their rates, `dq`, `dw` and `dwdot`; `moved` (nb, 3): what the pivots change by in their bodies."""
    for i in range(len(dq)):
        to_q[i], to_w[i], to_wdot[i] = dq[i], dw[i], dwdot[i]
    for b in range(len(flat.modes)):
        s, c, shift, k = flat.v_start[b], vector(tree.pivot, b), vector(moved, b), tree.carrier[b]
        R = _attitude(flat, b, q)
        omega, velocity, acceleration = _state(c, w, wdot, s)
        theta, turned, turned2 = load3(dq, s + 3), load3(dw, s + 3), load3(dwdot, s + 3)
        dV, dA = load3(dw, s), load3(dwdot, s)
        if k != GROUND:
            r, u, A = (
                flat.v_start[k] + 3,
                _seen(flat, tree, b, q, rotate(R, velocity)),
                _seen(flat, tree, b, q, rotate(R, acceleration)),
            )
            dA = add(add(dA, cross(load3(w, r), dV)), add(cross(load3(dw, r), u), cross(load3(dq, r), A)))
            dV = add(dV, cross(load3(dq, r), u))
        dX, dV, dA = (
            _unseen(flat, tree, b, q, load3(dq, s)),
            _unseen(flat, tree, b, q, dV),
            _unseen(flat, tree, b, q, dA),
        )
        faster = add(rotate_inv(R, dV), cross(velocity, theta))
        store(to_q, s, sub(add(rotate_inv(R, dX), cross(c, theta)), shift))
        store(to_w, s, sub(add(faster, cross(c, turned)), cross(omega, shift)))
        rates = add(rotate_inv(R, dA), add(cross(acceleration, theta), cross(c, turned2)))
        rates = add(rates, sub(cross(velocity, turned), cross(omega, faster)))
        store(to_wdot, s, sub(rates, cross(load3(wdot, s + 3), shift)))


@njit(cache=True)
def forces_at_pivots(flat, tree, q, w, wdot, to_q, to_w, to_wdot, q_force, w_force, wdot_force):
    """The transpose of `changes_from_pivots`: derivatives by pivots, attitudes and their rates, from those by frames and twists."""
    for i in range(len(to_q)):
        q_force[i], w_force[i], wdot_force[i] = to_q[i], to_w[i], to_wdot[i]
    for b in range(len(flat.modes)):
        s, c, k = flat.v_start[b], vector(tree.pivot, b), tree.carrier[b]
        R = _attitude(flat, b, q)
        omega, velocity, acceleration = _state(c, w, wdot, s)
        f, fw, fd = load3(to_q, s), load3(to_w, s), load3(to_wdot, s)
        both = add(fw, cross(omega, fd))
        store(q_force, s, _seen(flat, tree, b, q, rotate(R, f)))
        _add(q_force, s + 3, add(cross(f, c), add(cross(both, velocity), cross(fd, acceleration))))
        _add(w_force, s + 3, add(cross(fw, c), cross(fd, velocity)))
        _add(wdot_force, s + 3, cross(fd, c))
        by_rate, by_velocity = _seen(flat, tree, b, q, rotate(R, fd)), _seen(flat, tree, b, q, rotate(R, both))
        store(wdot_force, s, by_rate)
        if k != GROUND:
            r, u, A = (
                flat.v_start[k] + 3,
                _seen(flat, tree, b, q, rotate(R, velocity)),
                _seen(flat, tree, b, q, rotate(R, acceleration)),
            )
            _add(q_force, r, add(cross(u, by_velocity), cross(A, by_rate)))
            _add(w_force, r, cross(u, by_rate))
            by_velocity = add(by_velocity, cross(by_rate, load3(w, r)))
        store(w_force, s, by_velocity)


@njit(cache=True)
def forces_at_frames(flat, tree, q, forces):
    """Derivatives by pivots and attitudes become, in place, those by the twists of the frames."""
    for b in range(len(flat.modes)):
        s = flat.v_start[b]
        f = rotate_inv(_attitude(flat, b, q), _unseen(flat, tree, b, q, load3(forces, s)))
        store(forces, s, f)
        _add(forces, s + 3, cross(vector(tree.pivot, b), f))


@njit(cache=True)
def add_slope_of_pivots(flat, w, wdot, to_q, to_w, to_wdot, out):
    """Add to `out` (nb, 3) the derivatives by the places of the pivots in their bodies."""
    for b in range(len(flat.modes)):
        s = flat.v_start[b]
        slope = add(cross(load3(w, s + 3), load3(to_w, s)), cross(load3(wdot, s + 3), load3(to_wdot, s)))
        _add(out[b], 0, sub(slope, load3(to_q, s)))


@njit(cache=True)
def add_moved(flat, tree, increment, dq, change, out):
    """`out += ` what a change `dq` before a step, and `change` of its increment, make of pivots and attitudes after it."""
    for b in range(len(flat.modes)):
        s = flat.v_start[b]
        back = scale(-1.0, load3(increment, s + 3))
        turned = add(rotate(rotation_exp(back), load3(dq, s + 3)), rotate(left_jacobian(back), load3(change, s + 3)))
        _add(out, s + 3, turned)
        start, way, k = load3(dq, s), load3(change, s), tree.carrier[b]
        if k != GROUND:
            r = flat.v_start[k] + 3
            xi = (load3(increment, s), load3(increment, r))
            start, way = (
                carried(xi, (start, load3(dq, r)), False, False)[0],
                carried(xi, (way, load3(change, r)), True, False)[0],
            )
        _add(out, s, add(start, way))
        for i in range(s + 6, flat.v_start[b + 1]):
            out[i] += dq[i] + change[i]


BEFORE, OF_INCREMENT, UNWOUND = 0, 1, 2
"""Of `carried_back`: derivatives by the state before a step; by its increment; and the inverse of these."""


@njit(cache=True)
def carried_back(flat, tree, increment, kind, x, out):
    """Derivatives `out` from those, `x`, by pivots and attitudes after a step: the transpose of one of the two maps of `add_moved`, or the inverse of that of the increment."""
    for i in range(len(x)):
        out[i] = x[i]
    still = (0.0, 0.0, 0.0)
    for b in range(len(flat.modes)):
        s = flat.v_start[b] + 3
        theta = load3(increment, s)
        if kind == BEFORE:
            R = rotation_exp(theta)
        elif kind == OF_INCREMENT:
            R = left_jacobian(theta)
        else:
            R = left_jacobian_inverse(theta)
        store(out, s, rotate(R, load3(x, s)))
    for b in range(len(flat.modes)):
        s, k = flat.v_start[b], tree.carrier[b]
        if k == GROUND:
            continue
        r = flat.v_start[k] + 3
        xi, f = (load3(increment, s), load3(increment, r)), (load3(x, s), still)
        f = unwound_back(xi, f) if kind == UNWOUND else carried(xi, f, kind == OF_INCREMENT, True)
        store(out, s, f[0])
        _add(out, r, f[1])

"""Bodies that move as a point and turn about it: the pivot in world axes, the attitude by rotation vectors.

Bodies that joints hold at points to the ground move as their frames do, by twists in body axes, instead (flexmb/kernels/exponential.py): where all turns, and nothing flies, uniform rotation about
any axis is exact. `tree.pivoted` tells which body moves how.

The coordinates of a body about its pivot are the place of its pivot in the world, its attitude, and its elastic coordinates; their velocities `[V, omega, etadot]` are that of the pivot in world
axes and the angular velocity in body axes. A uniform motion of the pivot is integrated exactly at any rotation, and a uniform velocity of everything (Galilei) changes nothing else.

With the place `c` of the pivot in the body, `l = R^T V` and `A = R^T Vdot`, the twist of the body's frame is `v = l - omega x c`, `vdot = A - omegadot x c - omega x l`. The tangents of
this map and their transposes are below; a change of attitude is a rotation vector in body axes.
"""

import numpy as np
from numba import njit

from flexmb.kernels.algebra import (
    cross,
    left_jacobian,
    left_jacobian_inverse,
    minus,
    part,
    plus,
    put,
    quaternion_exp,
    quaternion_product,
    rotation_exp,
    rotation_from_quaternion,
    times,
    turn,
    turn_back,
    vector,
)
from flexmb.kernels.exponential import carried, unwound_back


@njit(cache=True)
def place_about_pivot(c, s, e, y, place, q0, increment, v, vdot, moved, q, w, wdot):
    """Frame and twist in `q` from entry `e`, `w` and `wdot` from entry `s`, of a body with the pivot `c`: from its pivot's `place` and its attitude in `q0`, moved by the increment, with velocities and
    accelerations, from entry `y`. `moved` becomes the place of the pivot."""
    omega, omegadot = part(v, y + 3), part(vdot, y + 3)
    p0 = (q0[e + 3], q0[e + 4], q0[e + 5], q0[e + 6])
    p = quaternion_product(p0, quaternion_exp(part(increment, y + 3)))
    scale = 1.0 / np.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    p = (scale * p[0], scale * p[1], scale * p[2], scale * p[3])
    R = rotation_from_quaternion(p)
    point = plus(part(place, 0), part(increment, y))
    put(moved, 0, point)
    put(q, e, minus(point, turn(R, c)))
    q[e + 3], q[e + 4], q[e + 5], q[e + 6] = p
    velocity, acceleration = turn_back(R, part(v, y)), turn_back(R, part(vdot, y))
    put(w, s, minus(velocity, cross(omega, c)))
    put(w, s + 3, omega)
    put(wdot, s, minus(acceleration, plus(cross(omegadot, c), cross(omega, velocity))))
    put(wdot, s + 3, omegadot)


@njit(cache=True)
def velocity_of_pivot(c, R, x, s, out, y):
    """`[V, omega]` in `out` from entry `y` of the twist in `x` from entry `s`."""
    turning = part(x, s + 3)
    put(out, y, turn(R, plus(part(x, s), cross(turning, c))))
    put(out, y + 3, turning)


@njit(cache=True)
def _state(c, w, wdot, s):
    """`omega`, `l` and `A` of a body."""
    omega, omegadot = part(w, s + 3), part(wdot, s + 3)
    velocity = plus(part(w, s), cross(omega, c))
    return omega, velocity, plus(part(wdot, s), plus(cross(omegadot, c), cross(omega, velocity)))


@njit(cache=True)
def _attitude(flat, b, q):
    e = flat.q_start[b]
    return rotation_from_quaternion((q[e + 3], q[e + 4], q[e + 5], q[e + 6]))


@njit(cache=True)
def _twist(x, s):
    return part(x, s), part(x, s + 3)


@njit(cache=True)
def pivot_increment(flat, tree, q, w, out):
    """`out = [V, omega, etadot]` (nv,) of all bodies, and the twist of a frame as it is."""
    for i in range(len(w)):
        out[i] = w[i]
    for b in range(len(flat.modes)):
        s = flat.v_start[b]
        if tree.pivoted[b]:
            velocity_of_pivot(vector(tree.pivot, b), _attitude(flat, b, q), w, s, out, s)


@njit(cache=True)
def changes_from_pivots(flat, tree, moved, q, w, wdot, dq, dw, dwdot, to_q, to_w, to_wdot):
    """Changes of frames and twists, `to_q`, `to_w` and `to_wdot` (nv,), from those of pivots, attitudes and their rates, `dq`, `dw` and `dwdot`; `moved` (nb, 3): what the pivots change by in their bodies."""
    for i in range(len(dq)):
        to_q[i], to_w[i], to_wdot[i] = dq[i], dw[i], dwdot[i]
    for b in range(len(flat.modes)):
        if not tree.pivoted[b]:
            continue
        s, c, shift = flat.v_start[b], vector(tree.pivot, b), vector(moved, b)
        R = _attitude(flat, b, q)
        omega, velocity, acceleration = _state(c, w, wdot, s)
        theta, turned, turned2 = part(dq, s + 3), part(dw, s + 3), part(dwdot, s + 3)
        faster = plus(turn_back(R, part(dw, s)), cross(velocity, theta))
        put(to_q, s, minus(plus(turn_back(R, part(dq, s)), cross(c, theta)), shift))
        put(to_w, s, minus(plus(faster, cross(c, turned)), cross(omega, shift)))
        rates = plus(turn_back(R, part(dwdot, s)), plus(cross(acceleration, theta), cross(c, turned2)))
        rates = plus(rates, minus(cross(velocity, turned), cross(omega, faster)))
        put(to_wdot, s, minus(rates, cross(part(wdot, s + 3), shift)))


@njit(cache=True)
def forces_at_pivots(flat, tree, q, w, wdot, to_q, to_w, to_wdot, q_force, w_force, wdot_force):
    """The transpose of `changes_from_pivots`: derivatives by pivots, attitudes and their rates, from those by frames and twists."""
    for i in range(len(to_q)):
        q_force[i], w_force[i], wdot_force[i] = to_q[i], to_w[i], to_wdot[i]
    for b in range(len(flat.modes)):
        if not tree.pivoted[b]:
            continue
        s, c = flat.v_start[b], vector(tree.pivot, b)
        R = _attitude(flat, b, q)
        omega, velocity, acceleration = _state(c, w, wdot, s)
        f, fw, fd = part(to_q, s), part(to_w, s), part(to_wdot, s)
        both = plus(fw, cross(omega, fd))
        put(q_force, s, turn(R, f))
        moment = plus(cross(f, c), plus(cross(both, velocity), cross(fd, acceleration)))
        put(q_force, s + 3, plus(part(to_q, s + 3), moment))
        put(w_force, s, turn(R, both))
        put(w_force, s + 3, plus(part(to_w, s + 3), plus(cross(fw, c), cross(fd, velocity))))
        put(wdot_force, s, turn(R, fd))
        put(wdot_force, s + 3, plus(part(to_wdot, s + 3), cross(fd, c)))


@njit(cache=True)
def forces_at_frames(flat, tree, q, forces):
    """Derivatives by pivots and attitudes become, in place, those by the twists of the frames."""
    for b in range(len(flat.modes)):
        if not tree.pivoted[b]:
            continue
        s = flat.v_start[b]
        f = turn_back(_attitude(flat, b, q), part(forces, s))
        put(forces, s, f)
        put(forces, s + 3, plus(part(forces, s + 3), cross(vector(tree.pivot, b), f)))


@njit(cache=True)
def add_slope_of_pivots(flat, tree, w, wdot, to_q, to_w, to_wdot, out):
    """Add to `out` (nb, 3) the derivatives by the places of the pivots in their bodies."""
    for b in range(len(flat.modes)):
        if not tree.pivoted[b]:
            continue
        s = flat.v_start[b]
        slope = plus(cross(part(w, s + 3), part(to_w, s)), cross(part(wdot, s + 3), part(to_wdot, s)))
        put(out[b], 0, plus(part(out[b], 0), minus(slope, part(to_q, s))))


@njit(cache=True)
def add_moved(flat, tree, increment, dq, change, out):
    """`out += ` what a change `dq` before a step, and `change` of its increment, make of pivots and attitudes after it."""
    for b in range(len(flat.modes)):
        s = flat.v_start[b]
        for i in range(s + 6, flat.v_start[b + 1]):
            out[i] += dq[i] + change[i]
        if not tree.pivoted[b]:
            x = _twist(increment, s)
            start, way = carried(x, _twist(dq, s), False, False), carried(x, _twist(change, s), True, False)
            put(out, s, plus(part(out, s), plus(start[0], way[0])))
            put(out, s + 3, plus(part(out, s + 3), plus(start[1], way[1])))
            continue
        back = times(-1.0, part(increment, s + 3))
        turned = plus(turn(rotation_exp(back), part(dq, s + 3)), turn(left_jacobian(back), part(change, s + 3)))
        put(out, s, plus(part(out, s), plus(part(dq, s), part(change, s))))
        put(out, s + 3, plus(part(out, s + 3), turned))


BEFORE, OF_INCREMENT, UNWOUND = 0, 1, 2
"""Of `carried_back`: derivatives by the state before a step; by its increment; and the inverse of these."""


@njit(cache=True)
def carried_back(flat, tree, increment, kind, x, out):
    """Derivatives `out` from those, `x`, by pivots and attitudes after a step: the transpose of one of the two maps of `add_moved`, or the inverse of that of the increment."""
    for i in range(len(x)):
        out[i] = x[i]
    for b in range(len(flat.modes)):
        s = flat.v_start[b] + 3
        if not tree.pivoted[b]:
            xi, f = _twist(increment, s - 3), _twist(x, s - 3)
            f = unwound_back(xi, f) if kind == UNWOUND else carried(xi, f, kind == OF_INCREMENT, True)
            put(out, s - 3, f[0])
            put(out, s, f[1])
            continue
        theta = part(increment, s)
        if kind == BEFORE:
            R = rotation_exp(theta)
        elif kind == OF_INCREMENT:
            R = left_jacobian(theta)
        else:
            R = left_jacobian_inverse(theta)
        put(out, s, turn(R, part(x, s)))

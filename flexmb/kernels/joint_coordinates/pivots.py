"""Bodies without a joint, described by the position of a pivot and by their attitude.

The coordinates of such a body are the position of its pivot, its attitude and its elastic coordinates. Its velocities
are `[u, omega, etadot]`: the velocity `u` of the pivot, in the axes `S` of the carrier of the body, and the angular
velocity `omega`, in body axes. The increment of the attitude is a rotation vector in body axes. The carrier is one of:

- the ground, with the world axes. A uniform motion of the pivot is integrated exactly during any rotation, and a
  superposed uniform velocity (Galilean transformation) changes no other quantity.
- another body, whose rotation moves the pivot on a circle, or the body itself. The pivot and the axes of the carrier
  then form a rigid motion with the twist `[u, omega of the carrier]`, so that circular motions are integrated exactly.

The velocity of the pivot is `V = S u` and its acceleration `Vdot = S (udot + omega_S x u)`. With the position `c` of
the pivot in the body, `l = R^T V` and `A = R^T Vdot`, the twist of the body frame is `v = l - omega x c` with the rate
`vdot = A - omegadot x c - omega x l`. This file contains the tangents of this map and their transposes. Variations of
an attitude are rotation vectors in body axes, and variations of the position of a pivot are in the axes of its carrier.
"""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    add,
    attitude,
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
    """Write the frame and the twist of body `b`, and the rate of the twist, to `q`, `w` and `wdot`.

    The pivot starts at `place` and the attitude at that of `q0`; both are moved by `increment` (ny,). `v` and `vdot`
    (ny,) are the velocities and accelerations. `moved` is set to the new position of the pivot. The carrier of the body
    must have been placed before.
    """
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
        turning, S = tree.start[k] + 3, R if k == b else attitude(flat, q, k)
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
    """Write `[u, omega]` of body `b` to `out` (ny,), from its twist in the entries of `x` from `s`.

    `R` are the axes of the body, and `S` those of its carrier, if the carrier is another body.
    """
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
    """Convert variations `x` (ny,) of pivots and attitudes after a step to variations of their increments, in place.

    The conversion is the inverse of the tangent map to first order in the increments. Without it, the residual error of
    a Newton correction causes oscillations of the reactions.
    """
    for place in range(len(tree.order) - 1, -1, -1):  # carried bodies before their carriers
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
    """The vectors `omega`, `l` and `A` of a body."""
    omega, omegadot = load3(w, s + 3), load3(wdot, s + 3)
    velocity = add(load3(w, s), cross(omega, c))
    return omega, velocity, add(load3(wdot, s), add(cross(omegadot, c), cross(omega, velocity)))


@njit(cache=True)
def _add(x, s, y):
    store(x, s, add(load3(x, s), y))


@njit(cache=True)
def _seen(flat, tree, b, q, x):
    """The vector `x`, given in world axes, in the axes of the carrier of body `b`."""
    k = tree.carrier[b]
    return x if k == GROUND else rotate_inv(attitude(flat, q, k), x)


@njit(cache=True)
def _unseen(flat, tree, b, q, x):
    """The vector `x`, given in the axes of the carrier of body `b`, in world axes."""
    k = tree.carrier[b]
    return x if k == GROUND else rotate(attitude(flat, q, k), x)


@njit(cache=True)
def pivot_increment(flat, tree, q, w, out):
    """Write the velocities `[u, omega, etadot]` of all bodies to `out` (nv,), from their twists `w` (nv,)."""
    for b in range(len(flat.modes)):
        s, k = flat.v_start[b], tree.carrier[b]
        R = attitude(flat, q, b)
        velocity_of_pivot(tree, b, R, R if k == GROUND else attitude(flat, q, k), w, s, out)
        for i in range(s + 6, flat.v_start[b + 1]):
            out[i] = w[i]


@njit(cache=True)
def changes_from_pivots(flat, tree, moved, q, w, wdot, dq, dw, dwdot, to_q, to_w, to_wdot):
    """Variations `to_q`, `to_w` and `to_wdot` (nv,) of frames, twists and their rates, from the variations `dq`, `dw`
    and `dwdot` (nv,) of pivots and attitudes, their velocities and accelerations.

    `moved` (nb, 3) holds the variations of the positions of the pivots in their bodies.
    """
    for i in range(len(dq)):
        to_q[i], to_w[i], to_wdot[i] = dq[i], dw[i], dwdot[i]
    for b in range(len(flat.modes)):
        s, c, shift, k = flat.v_start[b], vector(tree.pivot, b), vector(moved, b), tree.carrier[b]
        R = attitude(flat, q, b)
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
    """The transpose of `changes_from_pivots`: derivatives with respect to pivots, attitudes and their rates, from
    derivatives with respect to frames, twists and their rates."""
    for i in range(len(to_q)):
        q_force[i], w_force[i], wdot_force[i] = to_q[i], to_w[i], to_wdot[i]
    for b in range(len(flat.modes)):
        s, c, k = flat.v_start[b], vector(tree.pivot, b), tree.carrier[b]
        R = attitude(flat, q, b)
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
    """Convert derivatives with respect to pivots and attitudes to derivatives with respect to displacements of the body
    frames, in place."""
    for b in range(len(flat.modes)):
        s = flat.v_start[b]
        f = rotate_inv(attitude(flat, q, b), _unseen(flat, tree, b, q, load3(forces, s)))
        store(forces, s, f)
        _add(forces, s + 3, cross(vector(tree.pivot, b), f))


@njit(cache=True)
def add_slope_of_pivots(flat, w, wdot, to_q, to_w, to_wdot, out):
    """Add to `out` (nb, 3) the derivatives with respect to the positions of the pivots in their bodies."""
    for b in range(len(flat.modes)):
        s = flat.v_start[b]
        slope = add(cross(load3(w, s + 3), load3(to_w, s)), cross(load3(wdot, s + 3), load3(to_wdot, s)))
        _add(out[b], 0, sub(slope, load3(to_q, s)))


@njit(cache=True)
def add_moved(flat, tree, increment, dq, change, out):
    """Add to `out` (nv,) the variation of pivots and attitudes after a step, from the variation `dq` (nv,) before the
    step and the variation `change` (nv,) of its increment."""
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
"""Kinds of `carried_back`: derivatives with respect to the state before a step, derivatives with respect to its
increment, and the inverse of the latter."""


@njit(cache=True)
def carried_back(flat, tree, increment, kind, x, out):
    """Write derivatives to `out` (nv,), from the derivatives `x` (nv,) with respect to pivots and attitudes after a
    step.

    `kind` selects the transpose of one of the two maps of `add_moved`, or the inverse of the transpose for the
    increment.
    """
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

"""Displacements of all bodies: displaced configurations, and the size of displacements."""

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    attitude,
    compose,
    left_jacobian_inverse,
    load3,
    product,
    rotate,
    rotate_inv,
    rotation_log,
    store,
    sub,
    transposed,
)


@njit(cache=True)
def displace(flat, q, increment, out):
    """The displaced configuration `out = q o exp(increment)` (nq,), with twists (6 per body) and elastic increments."""
    for b in range(len(flat.modes)):
        qs, vs, m = flat.q_start[b], flat.v_start[b], flat.modes[b]
        quaternion = (q[qs + 3], q[qs + 4], q[qs + 5], q[qs + 6])
        r, p = compose(load3(q, qs), quaternion, load3(increment, vs), load3(increment, vs + 3))
        store(out, qs, r)
        out[qs + 3], out[qs + 4], out[qs + 5], out[qs + 6] = p
        for i in range(m):
            out[qs + 7 + i] = q[qs + 7 + i] + increment[vs + 6 + i]


@njit(cache=True)
def displacement_between(flat, a, b, out):
    """The displacement `out` (nv,) with `b = a o exp(out)`; rotations are at most half a turn."""
    for k in range(len(flat.modes)):
        qs, vs, m = flat.q_start[k], flat.v_start[k], flat.modes[k]
        R0 = attitude(flat, a, k)
        theta = rotation_log(product(transposed(R0), attitude(flat, b, k)))
        store(out, vs, rotate(left_jacobian_inverse(theta), rotate_inv(R0, sub(load3(b, qs), load3(a, qs)))))
        store(out, vs + 3, theta)
        for i in range(m):
            out[vs + 6 + i] = b[qs + 7 + i] - a[qs + 7 + i]


@njit(cache=True)
def largest(x, weight):
    """The largest weighted entry of `x` in magnitude; NaN if an entry is not finite."""
    size = 0.0
    for i in range(len(x)):
        value = abs(x[i]) * weight[i]
        if not value < np.inf:
            return np.nan
        size = max(size, value)
    return size


@njit(cache=True)
def largest_vector(tree, x, weight):
    """The largest weighted displacement, rotation or elastic coordinate of a body in the coordinates of the tree; NaN
    if an entry is not finite.

    Displacements and rotations are measured by their norms, so that the result does not depend on the orientation of
    the world axes, in which pivots move.
    """
    size = 0.0
    for b in range(len(tree.order)):
        first, start = tree.axis_start[b], tree.start[b]
        elastic = start + tree.axis_start[b + 1] - first
        displacement, rotation = 0.0, 0.0
        for i in range(start, elastic):
            value = x[i] * weight[i]
            if tree.axes[first + i - start] < 3:
                displacement += value * value
            else:
                rotation += value * value
        if not displacement + rotation < np.inf:
            return np.nan
        size = max(size, np.sqrt(max(displacement, rotation)))
        for i in range(elastic, tree.start[b + 1]):
            value = abs(x[i]) * weight[i]
            if not value < np.inf:
                return np.nan
            size = max(size, value)
    return size


@njit(cache=True)
def fastest_rotation(flat, w):
    """The largest angular velocity of a body at velocities `w` (nv,), or rotation in a displacement."""
    fastest = 0.0
    for b in range(len(flat.modes)):
        s = flat.v_start[b] + 3
        fastest = max(fastest, w[s] * w[s] + w[s + 1] * w[s + 1] + w[s + 2] * w[s + 2])
    return np.sqrt(fastest)

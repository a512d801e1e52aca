"""Vectors, matrices and rotations as tuples.

Tuples are held in registers, whereas small arrays would be allocated and reference-counted. A vector is a tuple of 3
floats, a (3, 3) matrix a tuple of 9 by rows, a quaternion a tuple of 4, scalar first and of unit norm; `R` maps body to
world. A rigid motion is `(r, R)`; its body twist is `[v, omega]` with `rdot = R v`, `Rdot = R skew(omega)`.
`flexmb.spatial.lie` has the same functions for arrays.

Sources: Sonneville, Cardona, Bruls, "Geometrically exact beam finite element formulated on the special Euclidean group
SE(3)" (2014), Appendix A; Bruls, Cardona, Arnold, "Lie group generalized-alpha" (2012).
"""

import math

from numba import njit

NOTHING = (0.0, 0.0, 0.0)
ONE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@njit(cache=True)
def vector(a, k):
    """Row `k` of an array (n, 3)."""
    return (a[k, 0], a[k, 1], a[k, 2])


@njit(cache=True)
def load3(a, k):
    """Entries `k` to `k + 2` of a one-dimensional array."""
    return (a[k], a[k + 1], a[k + 2])


@njit(cache=True)
def matrix(A, k):
    """Matrix `k` of an array (n, 3, 3)."""
    return (A[k, 0, 0], A[k, 0, 1], A[k, 0, 2], A[k, 1, 0], A[k, 1, 1], A[k, 1, 2], A[k, 2, 0], A[k, 2, 1], A[k, 2, 2])


@njit(cache=True)
def store_matrix(A, k, R):
    """Write the matrix `R` to entry `k` of an array (n, 3, 3)."""
    A[k, 0, 0], A[k, 0, 1], A[k, 0, 2] = R[0], R[1], R[2]
    A[k, 1, 0], A[k, 1, 1], A[k, 1, 2] = R[3], R[4], R[5]
    A[k, 2, 0], A[k, 2, 1], A[k, 2, 2] = R[6], R[7], R[8]


@njit(cache=True)
def store(a, k, x):
    """Write the vector `x` to entries `k` to `k + 2` of a one-dimensional array."""
    a[k], a[k + 1], a[k + 2] = x[0], x[1], x[2]


@njit(cache=True)
def add(a, b):
    """`a + b`."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@njit(cache=True)
def sub(a, b):
    """`a - b`."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@njit(cache=True)
def scale(s, a):
    """`s a` for a number `s` and a vector `a`."""
    return (s * a[0], s * a[1], s * a[2])


@njit(cache=True)
def dot(a, b):
    """`a . b`."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True)
def cross(a, b):
    """`a x b`."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@njit(cache=True)
def rotate(R, a):
    """`R a`."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@njit(cache=True)
def rotate_inv(R, a):
    """`R^T a`."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@njit(cache=True)
def transposed(A):
    """`A^T`."""
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


@njit(cache=True)
def product(A, B):
    """`A B`."""
    x = rotate_inv(B, (A[0], A[1], A[2]))
    y = rotate_inv(B, (A[3], A[4], A[5]))
    z = rotate_inv(B, (A[6], A[7], A[8]))
    return (x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2])


@njit(cache=True)
def relative(A, B):
    """`A^T B`: the rotation of B relative to A, resolved in A."""
    return product(transposed(A), B)


@njit(cache=True)
def rotation_from_quaternion(p):
    """The rotation matrix of a unit quaternion."""
    w, x, y, z = p
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


@njit(cache=True)
def attitude(flat, q, b):
    """The rotation matrix of body `b` at the configuration `q` (nq,)."""
    k = flat.q_start[b] + 3
    return rotation_from_quaternion((q[k], q[k + 1], q[k + 2], q[k + 3]))


@njit(cache=True)
def quaternion_product(a, b):
    """The quaternion of the rotation `R(a) R(b)`."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


SMALL = 0.25
"""Square of the angle below which the functions of a rotation vector are summed as series: steps turn bodies by less,
sums are four times as fast as sines and do not cancel, and the terms left out are below 1e-17."""


@njit(cache=True)
def quaternion_exp(theta):
    """Unit quaternion of a rotation vector."""
    x2 = dot(theta, theta)
    if x2 < SMALL:
        y = 0.25 * x2
        s = 0.5 * (1.0 - y * (1 / 6 - y * (1 / 120 - y * (1 / 5040 - y * (1 / 362880 - y / 39916800)))))
        c = 1.0 - y * (1 / 2 - y * (1 / 24 - y * (1 / 720 - y * (1 / 40320 - y * (1 / 3628800 - y / 479001600)))))
        return (c, s * theta[0], s * theta[1], s * theta[2])
    angle = math.sqrt(x2)
    s = math.sin(0.5 * angle) / angle
    return (math.cos(0.5 * angle), s * theta[0], s * theta[1], s * theta[2])


@njit(cache=True)
def rotation_exp(theta):
    """The rotation matrix of a rotation vector."""
    return rotation_from_quaternion(quaternion_exp(theta))


@njit(cache=True)
def rotation_log(R):
    """The rotation vector, of length at most pi, of a rotation matrix."""
    a = (R[7] - R[5], R[2] - R[6], R[3] - R[1])  # 2 sin(angle) axis
    sine = 0.5 * math.sqrt(dot(a, a))
    cosine = 0.5 * (R[0] + R[4] + R[8] - 1.0)
    angle = math.atan2(sine, cosine)
    if sine < 1e-7 and cosine < 0.0:  # close to half a turn: the axis is the dominant column of R + I
        axis = (R[0] + 1.0, R[3], R[6])
        if R[4] >= R[0] and R[4] >= R[8]:
            axis = (R[1], R[4] + 1.0, R[7])
        elif R[8] >= R[0]:
            axis = (R[2], R[5], R[8] + 1.0)
        return scale(angle / math.sqrt(dot(axis, axis)), axis)
    return scale(0.5 * (1.0 + angle * angle / 6.0) if angle < 1e-4 else 0.5 * angle / sine, a)


@njit(cache=True)
def _tangent(theta, a, b):
    """`I + a skew(theta) + b skew(theta)^2`."""
    x, y, z = theta
    return (
        1.0 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y,
        b * x * y + a * z, 1.0 - b * (x * x + z * z), b * y * z - a * x,
        b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y),
    )  # fmt: skip


@njit(cache=True)
def left_jacobian(theta):
    """The left tangent operator `T(theta)`: `d/dt exp(theta) = skew(T thetadot) exp(theta)`."""
    x2 = dot(theta, theta)
    if x2 < SMALL:
        b = 1 / 40320 - x2 * (1 / 3628800 - x2 * (1 / 479001600 - x2 / 87178291200))
        c = 1 / 362880 - x2 * (1 / 39916800 - x2 * (1 / 6227020800 - x2 / 1307674368000))
        b = 1 / 2 - x2 * (1 / 24 - x2 * (1 / 720 - x2 * b))
        c = 1 / 6 - x2 * (1 / 120 - x2 * (1 / 5040 - x2 * c))
        return _tangent(theta, b, c)
    x = math.sqrt(x2)
    return _tangent(theta, (1.0 - math.cos(x)) / x2, (x - math.sin(x)) / (x2 * x))


@njit(cache=True)
def left_jacobian_inverse(theta):
    """The inverse of `left_jacobian(theta)`, regular for angles below a full turn."""
    x2 = dot(theta, theta)
    if x2 < 1e-4:
        return _tangent(theta, -0.5, 1.0 / 12.0 + x2 / 720.0 + x2 * x2 / 30240.0)
    x = math.sqrt(x2)
    return _tangent(theta, -0.5, (1.0 - 0.5 * x / math.tan(0.5 * x)) / x2)


@njit(cache=True)
def compose(r, p, rho, theta):
    """The rigid motion `(r, p) o exp([rho, theta])` with the exponential of SE(3): position and unit quaternion."""
    position = add(r, rotate(rotation_from_quaternion(p), rotate(left_jacobian(theta), rho)))
    q = quaternion_product(p, quaternion_exp(theta))
    s = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return position, (s * q[0], s * q[1], s * q[2], s * q[3])


@njit(cache=True)
def tangents(n):
    """Two unit vectors across a unit vector `n` and each other: fixed ones, across a direction `v` that is not an axis,
    turned as `v` is on the shortest way to `n`. They are a smooth function of `n`, except at `-v`."""
    along = 1.0 / max(1.0 + (2.0 * n[0] + 3.0 * n[1] + 6.0 * n[2]) / 7.0, 1e-16)
    x, y, z = 2.0 / 7.0 + n[0], 3.0 / 7.0 + n[1], 6.0 / 7.0 + n[2]
    share = along * (3.0 * n[0] - 6.0 * n[1] + 2.0 * n[2]) / 7.0
    t = (3.0 / 7.0 - share * x, -6.0 / 7.0 - share * y, 2.0 / 7.0 - share * z)
    return t, cross(n, t)


@njit(cache=True)
def tangents_near(n, a):
    """Two unit vectors across a unit vector `n` and each other, the first in the plane of `n` and the unit vector `a`:
    they change smoothly with `n`, unless it is within 6 degrees of `a` or of its opposite."""
    along = dot(a, n)
    t = (a[0] - along * n[0], a[1] - along * n[1], a[2] - along * n[2])
    square = dot(t, t)
    if square < 0.01:
        return tangents(n)
    size = 1.0 / math.sqrt(square)
    t = (size * t[0], size * t[1], size * t[2])
    return t, cross(n, t)

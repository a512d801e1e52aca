"""Rotations and rigid motions: the only place, with `integrate`, where they are touched.

Quaternions are scalar-first `(w, x, y, z)` of unit norm; `R` maps body to world. A rigid motion is
`(r, R)`; its body twist is `[v, omega]` with `rdot = R v`, `Rdot = R skew(omega)`.
Compiled functions; they work on plain float64 arrays and can be called from Python.

Sources: Sonneville, Cardona, Bruls, "Geometrically exact beam finite element formulated on the special
Euclidean group SE(3)" (2014), Appendix A; Bruls, Cardona, Arnold, "Lie group generalized-alpha" (2012).
"""

import numpy as np
from numba import njit


@njit(cache=True)
def cross(a, b):
    """Vector product `a x b` of two 3-vectors."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@njit(cache=True)
def turn(R, a):
    """`R @ a` for a (3, 3) matrix and a 3-vector, unrolled: a library call would cost more than the product."""
    out = np.empty(3)
    for i in range(3):
        out[i] = R[i, 0] * a[0] + R[i, 1] * a[1] + R[i, 2] * a[2]
    return out


@njit(cache=True)
def turn_back(R, a):
    """`R.T @ a`."""
    out = np.empty(3)
    for i in range(3):
        out[i] = R[0, i] * a[0] + R[1, i] * a[1] + R[2, i] * a[2]
    return out


@njit(cache=True)
def matmul(A, B):
    """`A @ B` for (3, 3) matrices."""
    out = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]
    return out


@njit(cache=True)
def relative(A, B):
    """`A.T @ B` for (3, 3) matrices: axes of B seen in A."""
    out = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            out[i, j] = A[0, i] * B[0, j] + A[1, i] * B[1, j] + A[2, i] * B[2, j]
    return out


@njit(cache=True)
def skew(a):
    """Matrix (3, 3) with `skew(a) @ b = a x b`."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


@njit(cache=True)
def rotation_from_quaternion(p):
    """Rotation matrix (3, 3) of the unit quaternion `p` (w, x, y, z)."""
    w, x, y, z = p[0], p[1], p[2], p[3]
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


@njit(cache=True)
def quaternion_product(a, b):
    """Quaternion of the rotation `R(a) R(b)`."""
    return np.array(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )


@njit(cache=True)
def quaternion_exp(theta):
    """Unit quaternion of the rotation vector `theta`."""
    angle2 = theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2]
    angle = np.sqrt(angle2)
    s = 0.5 * (1.0 - angle2 / 24.0 * (1.0 - angle2 / 80.0)) if angle < 1e-2 else np.sin(0.5 * angle) / angle
    return np.array([np.cos(0.5 * angle), s * theta[0], s * theta[1], s * theta[2]])


@njit(cache=True)
def rotation_exp(theta):
    """Rotation matrix (3, 3) of the rotation vector `theta`."""
    return rotation_from_quaternion(quaternion_exp(theta))


@njit(cache=True)
def rotation_log(R):
    """Rotation vector (3,) of the rotation matrix `R`, of length at most pi."""
    a = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])  # 2 sin(angle) axis
    sine = 0.5 * np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    cosine = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0)
    angle = np.arctan2(sine, cosine)
    if sine < 1e-7 and cosine < 0.0:  # close to half a turn: the axis is the dominant column of R + I
        k = 0
        if R[1, 1] > R[k, k]:
            k = 1
        if R[2, 2] > R[k, k]:
            k = 2
        axis = R[:, k].copy()
        axis[k] += 1.0
        return axis * (angle / np.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2))
    factor = 0.5 * (1.0 + angle * angle / 6.0) if angle < 1e-4 else 0.5 * angle / sine
    return factor * a


@njit(cache=True)
def left_jacobian(theta):
    """Tangent operator `T(theta)` (3, 3): `d/dt exp(theta) = skew(T thetadot) exp(theta)`."""
    x2 = theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2]
    if x2 < 1e-4:
        a = 0.5 - x2 / 24.0 + x2 * x2 / 720.0
        b = 1.0 / 6.0 - x2 / 120.0 + x2 * x2 / 5040.0
    else:
        x = np.sqrt(x2)
        a = (1.0 - np.cos(x)) / x2
        b = (x - np.sin(x)) / (x2 * x)
    S = skew(theta)
    return np.eye(3) + a * S + b * matmul(S, S)


@njit(cache=True)
def left_jacobian_inverse(theta):
    """Inverse of `left_jacobian(theta)`, regular up to a full turn."""
    x2 = theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2]
    if x2 < 1e-4:
        b = 1.0 / 12.0 + x2 / 720.0 + x2 * x2 / 30240.0
    else:
        x = np.sqrt(x2)
        b = (1.0 - 0.5 * x / np.tan(0.5 * x)) / x2
    S = skew(theta)
    return np.eye(3) - 0.5 * S + b * matmul(S, S)


@njit(cache=True)
def compose(r, p, twist):
    """Rigid motion `(r, p) o exp(twist)`: new position (3,) and unit quaternion (4,).

    `twist` (6,) is the body-frame increment `[rho, theta]` (exponential of SE(3)).
    """
    theta = twist[3:6]
    position = r + turn(rotation_from_quaternion(p), turn(left_jacobian(theta), twist[0:3]))
    quaternion = quaternion_product(p, quaternion_exp(theta))
    return position, quaternion / np.sqrt(np.sum(quaternion * quaternion))


def quaternion_from_rotation(R: np.ndarray) -> np.ndarray:
    """Unit quaternion (4,) with non-negative scalar part of the rotation matrix `R` (3, 3)."""
    return quaternion_exp(rotation_log(np.ascontiguousarray(R, dtype=np.float64)))


def frame_with_axis(axis: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
    """Rotation matrix (3, 3) whose third column is `axis`; its first column is as close to `second` as can be.

    Without `second` the first column is made from the coordinate axis least aligned with `axis`.
    """
    z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    x = np.eye(3)[np.argmin(np.abs(z))] if second is None else np.asarray(second, dtype=float)
    x = x - z * (x @ z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])

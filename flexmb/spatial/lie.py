"""Rotations as arrays, for code outside the compiled kernels; the formulas are those of `flexmb.kernels.base.algebra`.

Quaternions are scalar-first `(w, x, y, z)` of unit norm; `R` maps body to world.
"""

from collections.abc import Sequence

import numpy as np

from flexmb.kernels import calls

Numbers = Sequence[float] | np.ndarray
PARALLEL = 1e-6
"""Sine of the angle between two directions below which no frame follows from both."""


def skew(a: Numbers) -> np.ndarray:
    """Matrix (3, 3) with `skew(a) @ b = a x b`."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation_from_quaternion(p: Numbers) -> np.ndarray:
    """Rotation matrix (3, 3) of the unit quaternion `p` (w, x, y, z)."""
    return np.reshape(calls.rotation_from_quaternion(_floats(p)), (3, 3))


def rotation_exp(theta: Numbers) -> np.ndarray:
    """Rotation matrix (3, 3) of the rotation vector `theta`."""
    return np.reshape(calls.rotation_exp(_floats(theta)), (3, 3))


def quaternion_from_rotation(R: np.ndarray) -> np.ndarray:
    """Unit quaternion (4,) with non-negative scalar part of the rotation matrix `R` (3, 3)."""
    return np.array(calls.quaternion_exp(calls.rotation_log(_floats(np.ravel(R)))))


def frame_with_axis(axis: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
    """Rotation matrix (3, 3) whose third column is the direction of `axis` (3,) and whose first column is the direction
    perpendicular to it that is closest to `second` (3,).

    Without `second`, the first column follows from a field of directions that varies smoothly with `axis`: it is x if
    the axis is y or z, and y if the axis is x. No such field is smooth everywhere; this one is singular along the
    directions (1, 0.66, 0.26) and their opposites, which are uncommon in drawings.
    """
    z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    if second is None:
        second = np.array([1.0, z[0] ** 2, 0.6 * z[0] * z[1]])
        if np.linalg.norm(np.cross(z, second)) < 1e-8:
            second = np.eye(3)[2]
    x = np.asarray(second, dtype=float)
    x = x - z * (x @ z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def parallel(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the vectors `a` (3,) and `b` (3,) have the same or opposite directions, or one of them has none."""
    return not np.linalg.norm(np.cross(a, b)) > PARALLEL * np.linalg.norm(a) * np.linalg.norm(b)


def _floats(numbers: Numbers) -> tuple[float, ...]:
    return tuple(float(x) for x in numbers)

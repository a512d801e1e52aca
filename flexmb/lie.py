"""Rotations as arrays, for everything but the compiled loop; the formulas are those of `flexmb.kernels.algebra`.

Quaternions are scalar-first `(w, x, y, z)` of unit norm; `R` maps body to world.
"""

from collections.abc import Sequence

import numpy as np

from flexmb.kernels import algebra

Numbers = Sequence[float] | np.ndarray


def skew(a: Numbers) -> np.ndarray:
    """Matrix (3, 3) with `skew(a) @ b = a x b`."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation_from_quaternion(p: Numbers) -> np.ndarray:
    """Rotation matrix (3, 3) of the unit quaternion `p` (w, x, y, z)."""
    return np.reshape(algebra.rotation_from_quaternion(_floats(p)), (3, 3))


def rotation_exp(theta: Numbers) -> np.ndarray:
    """Rotation matrix (3, 3) of the rotation vector `theta`."""
    return np.reshape(algebra.rotation_exp(_floats(theta)), (3, 3))


def quaternion_from_rotation(R: np.ndarray) -> np.ndarray:
    """Unit quaternion (4,) with non-negative scalar part of the rotation matrix `R` (3, 3)."""
    return np.array(algebra.quaternion_exp(algebra.rotation_log(_floats(np.ravel(R)))))


def frame_with_axis(axis: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
    """Rotation matrix (3, 3) whose third column is `axis`; its first column is as close to `second` as can be.

    Without `second` the first column is made from the coordinate axis least aligned with `axis`.
    """
    z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    x = np.eye(3)[np.argmin(np.abs(z))] if second is None else np.asarray(second, dtype=float)
    x = x - z * (x @ z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _floats(numbers: Numbers) -> tuple[float, ...]:
    return tuple(float(x) for x in numbers)

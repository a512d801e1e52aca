"""Places on bodies where things attach, and the checks of what a user gives to say where and how."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fem.renamed import refuse_old_names
from flexmb.bodies.body import Body
from flexmb.errors import MechanismError
from flexmb.spatial.lie import rotation_exp


@dataclass(frozen=True, eq=False)
class Attachment:
    """A point of a body (or of the ground) where something attaches: an interface, or a body-frame point."""

    body: int
    point: np.ndarray
    interface: str | None = None


@dataclass(frozen=True, eq=False)
class BodyHandle:
    """A body inside a `System`. `handle["big"]` is an interface, `handle.at(point)` a body-frame point of a rigid body."""

    index: int
    body: Body | None  # None: the ground

    def at(self, point: ArrayLike) -> Attachment:
        """The body-frame `point` (3,) of a rigid body, or the world point of the ground."""
        if self.body is not None and self.body.is_flexible:
            raise MechanismError(
                f"Flexible body {self.body.name!r} can be attached at its interfaces only, found the point {np.asarray(point)}. "
                f"Existing interfaces: {', '.join(map(repr, self.body.interfaces)) or 'none'}."
            )
        return Attachment(self.index, vector(point, "point"))

    def __getitem__(self, interface: str) -> Attachment:
        if self.body is None:
            raise MechanismError(f"The ground has no interface {interface!r}; write ground.at(point).")
        return Attachment(self.index, self.body.interface(interface).point, interface)


def vector(value: ArrayLike, what: str, size: int = 3) -> np.ndarray:
    """The `size` finite numbers of `value` as an array; `what` names it in the error."""
    array = np.asarray(value, dtype=float)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise MechanismError(f"{what}: expected {size} finite numbers, found {value!r}.")
    return array


def rotation_matrix(value: ArrayLike, what: str) -> np.ndarray:
    """Rotation matrix from a (3, 3) matrix, a quaternion (4,) scalar first, or a rotation vector (3,)."""
    array = np.asarray(value, dtype=float)
    if array.shape == (3,) and np.isfinite(array).all():
        return rotation_exp(array)
    if array.shape == (4,) and np.isfinite(array).all() and np.linalg.norm(array) > 0:
        w, x, y, z = array / np.linalg.norm(array)
        angle = 2 * np.arctan2(np.linalg.norm([x, y, z]), w)
        axis = np.array([x, y, z])
        return rotation_exp(axis / max(np.linalg.norm(axis), 1e-300) * angle)
    if array.shape == (3, 3) and np.allclose(array @ array.T, np.eye(3), atol=1e-8) and np.linalg.det(array) > 0:
        return array
    raise MechanismError(
        f"{what}: expected a rotation vector (3), a quaternion (4, scalar first) or a proper rotation matrix (3, 3); found {value!r}."
    )


def non_negative(value: float, name: str) -> float:
    """A stiffness or damping constant of the element `name`, refused when negative or not finite."""
    if not (np.isfinite(value) and value >= 0):
        raise MechanismError(f"{name!r}: stiffness and damping must be finite and not negative; found {value}.")
    return float(value)


refuse_old_names(__name__)

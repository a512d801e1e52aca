"""Attachment points on bodies, and checks of the vectors and rotations that define them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fem.renamed import refuse_old_names
from flexmb.bodies.body import Body
from flexmb.errors import MechanismError
from flexmb.spatial.lie import rotation_exp


@dataclass(frozen=True, eq=False)
class Attachment:
    """A place on a body, or on the ground, to which joints and forces attach.

    `point` (3,) is in the body frame, for the ground in the world; `interface` is the name of an interface, or None.
    """

    body: int
    point: np.ndarray
    interface: str | None = None


@dataclass(frozen=True, eq=False)
class BodyHandle:
    """A body of a `System`: `handle["big"]` is an interface, `handle.at(point)` a point of a rigid body.

    Raises `MechanismError` for an interface of the ground, `InterfaceError` for an interface that does not exist.
    """

    index: int
    body: Body | None  # None: the ground

    def at(self, point: ArrayLike) -> Attachment:
        """The `point` (3,) of a rigid body, in its frame, or of the ground, in the world.

        Raises `MechanismError` for a flexible body, which has no points other than its interfaces.
        """
        if self.body is not None and self.body.is_flexible:
            raise MechanismError(
                f"Flexible body {self.body.name!r} can be attached only at its interfaces; found the point "
                f"{np.asarray(point)}. "
                f"Existing interfaces: {', '.join(map(repr, self.body.interfaces)) or 'none'}."
            )
        return Attachment(self.index, vector(point, "point"))

    def __getitem__(self, interface: str) -> Attachment:
        if self.body is None:
            raise MechanismError(f"The ground has no interface {interface!r}; write ground.at(point).")
        return Attachment(self.index, self.body.interface(interface).point, interface)


def vector(value: ArrayLike, what: str, size: int = 3) -> np.ndarray:
    """`value` as an array of `size` finite numbers. Raises `MechanismError`, which names `what`, for anything else."""
    array = np.asarray(value, dtype=float)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise MechanismError(f"{what}: expected {size} finite numbers, found {value!r}.")
    return array


def rotation_matrix(value: ArrayLike, what: str) -> np.ndarray:
    """The rotation matrix of a matrix (3, 3), a quaternion (4,), scalar first, or a rotation vector (3,).

    Raises `MechanismError`, which names `what`, for anything else.
    """
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
        f"{what}: expected a rotation vector (3), a quaternion (4, scalar first) or a proper rotation matrix (3, 3); "
        f"found {value!r}."
    )


def non_negative(value: float, name: str) -> float:
    """A stiffness or damping constant of the element `name`. Raises `MechanismError` when it is negative or not
    finite."""
    if not (np.isfinite(value) and value >= 0):
        raise MechanismError(f"{name!r}: stiffness and damping must be finite and not negative; found {value}.")
    return float(value)


refuse_old_names(__name__)

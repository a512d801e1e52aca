"""Attachment points on bodies, and checks of the vectors and rotations that define them."""

from dataclasses import dataclass, field
from typing import Literal, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from fem.axes.limits import LARGEST, floats, scaled, within_limits
from fem.errors import FlexmbError, unknown_name
from fem.renamed import refuse_old_names
from fem.shown import shown
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
class FlexibleSurface:
    """The surface `name` of a flexible body, for `System.contact`; made by `BodyHandle.surface`."""

    index: int
    body: Body
    name: str


@shown
@dataclass(frozen=True, eq=False)
class BodyHandle:
    """A body of a `System`: `handle["big"]` is an interface, `handle.at(point)` a point of a rigid body, and
    `handle.surface("teeth")` a surface of a flexible one.

    Raises `MechanismError` for an interface of the ground, `InterfaceError` for an interface that does not exist.
    """

    index: int
    body: Body | None  # None: the ground
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))  # of the body frame in the world, as drawn
    attitude: np.ndarray = field(default_factory=lambda: np.eye(3))  # body to world, as drawn

    def at(self, point: ArrayLike, *, frame: Literal["body", "world"] | None = None) -> Attachment:
        """The `point` (3,) of a rigid body or of the ground.

        - `frame`: "body", in the frame of the body (the default for bodies), or "world", in the world as drawn (for the
          ground, the only one).

        Raises `MechanismError` for a flexible body, which has no points other than its interfaces, and for another
        frame.
        """
        if frame not in (None, "body", "world"):
            raise MechanismError(unknown_name("frame of a point", str(frame), ("body", "world")))
        if self.body is None and frame == "body":
            raise MechanismError('The ground has one frame, the world; write ground.at(point) or frame="world".')
        if self.body is not None and self.body.is_flexible:
            raise MechanismError(
                f"Flexible body {self.body.name!r} can be attached only at its interfaces; found the point "
                f"{np.asarray(point)}. "
                f"Existing interfaces: {', '.join(map(repr, self.body.interfaces)) or 'none'}."
            )
        given = vector(point, "point")
        if self.body is not None and frame == "world":
            given = self.attitude.T @ (given - self.position)
        return Attachment(self.index, given)

    def surface(self, name: str) -> FlexibleSurface:
        """The surface `name` of a flexible body, which its model got from `Model.with_surfaces`.

        Raises `MechanismError` when there is none of this name.
        """
        if self.body is None or name not in self.body.surfaces:
            names = [] if self.body is None else list(self.body.surfaces)
            owner = "The ground" if self.body is None else f"Body {self.body.name!r}"
            raise MechanismError(f"{owner}: {unknown_name('surface', name, names)}")
        return FlexibleSurface(self.index, self.body, name)

    def __str__(self) -> str:
        return "the ground" if self.body is None else f"{self.body} at {self.position} (length) as drawn"

    def __getitem__(self, interface: str) -> Attachment:
        if self.body is None:
            raise MechanismError(f"The ground has no interface {interface!r}; write ground.at(point).")
        return Attachment(self.index, self.body.interface(interface).point, interface)


def require_name(name: object, what: str) -> None:
    """Raise `MechanismError` when the name of a `what`, such as "body", is not a text."""
    if not isinstance(name, str) or not name:
        raise MechanismError(f"The name of a {what} is a text that is not empty; found {name!r}.")


def vector(value: ArrayLike, what: str, size: int = 3) -> np.ndarray:
    """`value` as an array of `size` finite numbers of at most 1e100. Raises `MechanismError`, which names `what`, for
    anything else."""
    array = floats(value)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise MechanismError(f"{what}: expected {size} finite numbers, found {value!r}.")
    _require_limits(array, what)
    return array


def _require_limits(array: np.ndarray, what: str) -> None:
    if np.isfinite(array).all() and not within_limits(array):
        raise MechanismError(f"{what}: expected numbers of at most {LARGEST:.0e}, found {array.tolist()}.")


def direction(value: ArrayLike, what: str, error: type[FlexmbError] = MechanismError) -> np.ndarray:
    """`value` as a vector (3,) of length about one, else, of zero, an `error` that names `what`; `MechanismError` if it
    is no vector."""
    found = scaled(vector(value, what))
    if not np.linalg.norm(found) > 0:
        raise error(f"{what} has no direction: expected three numbers that are not all zero; found {value!r}.")
    return found


def rotation_matrix(value: ArrayLike, what: str) -> np.ndarray:
    """The rotation matrix of a matrix (3, 3), a quaternion (4,), scalar first, or a rotation vector (3,).

    Raises `MechanismError`, which names `what`, for anything else.
    """
    array = floats(value)
    _require_limits(array, what)
    if array.shape == (3,) and np.isfinite(array).all():
        return rotation_exp(array)
    if array.shape == (4,) and np.isfinite(array).all() and array.any():
        w, x, y, z = scaled(array) / np.linalg.norm(scaled(array))
        angle = 2 * np.arctan2(np.linalg.norm([x, y, z]), w)
        axis = np.array([x, y, z])
        return rotation_exp(axis / max(np.linalg.norm(axis), 1e-300) * angle)
    if array.shape == (3, 3) and np.allclose(array @ array.T, np.eye(3), atol=1e-8) and np.linalg.det(array) > 0:
        return array
    raise MechanismError(
        f"{what}: expected a rotation vector (3), a quaternion (4, scalar first) or a proper rotation matrix (3, 3); "
        f"found {value!r}."
    )


def number(value: float, what: str, advice: str = "") -> float:
    """`value` as a finite number. Raises `MechanismError`, which names `what` and ends with `advice`, for others."""
    plain = isinstance(value, SupportsFloat) and np.ndim(value) == 0
    if not plain or not np.isfinite(float(value)):
        raise MechanismError(f"{what} must be a finite number; found {type(value).__name__} {value!r}.{advice}")
    return float(value)


def not_below_zero(value: float, what: str) -> float:
    """`value` as a number that is not negative. Raises `MechanismError`, which names `what`, for anything else."""
    if (found := number(value, what)) < 0:
        raise MechanismError(f"{what} must not be negative; found {value!r}.")
    return found


def non_negative(value: float, name: str) -> float:
    """A stiffness or damping constant of the element `name`. Raises `MechanismError` when it is negative or not
    a finite number."""
    if callable(value):
        raise MechanismError(
            f"{name!r}: stiffness and damping are numbers; found {type(value).__name__}. For a nonlinear spring in a "
            "joint write motor(name, joint, effort), between two places spring_damper(..., law=...)."
        )
    value = number(value, f"{name!r}: stiffness or damping")
    if value < 0:
        raise MechanismError(f"{name!r}: stiffness and damping must be finite and not negative; found {value}.")
    return float(value)


refuse_old_names(__name__)

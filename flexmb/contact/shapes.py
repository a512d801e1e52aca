"""Simple shapes of contact surfaces, and their places on bodies. Lengths in the units of the mechanism."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from flexmb.errors import MechanismError
from flexmb.kernels.contact import shapes as codes


@dataclass(frozen=True)
class ContactShape:
    """A shape in its own frame; see the kinds below.

    Raises `MechanismError` when a dimension is not a positive number.
    """

    code: ClassVar[int]
    title: ClassVar[str]

    def __post_init__(self) -> None:
        for name, value in self._named():
            if isinstance(value, bool) or not (np.isreal(value) and 0.0 < value < np.inf):
                raise MechanismError(f"The {name} of a {self.title} must be a positive number; found {value!r}.")

    def _named(self) -> list[tuple[str, float]]:
        return [(field.name, getattr(self, field.name)) for field in fields(self)]

    @property
    def dimensions(self) -> tuple[float, float, float]:
        """Up to three lengths in the order of the arguments, then zeros."""
        given = [float(value) for _, value in self._named()]
        return tuple([*given, 0.0, 0.0, 0.0][:3])  # type: ignore[return-value]

    @property
    def size(self) -> float:
        """The smallest dimension, with half of an edge or length; infinite for a plane."""
        return min((v if name == "radius" else 0.5 * v for name, v in self._named()), default=np.inf)

    @property
    def reach(self) -> float:
        """The radius of the sphere about its place that holds the shape; infinite for a plane."""
        radius, length = getattr(self, "radius", 0.0), getattr(self, "length", 0.0)
        return float(np.hypot(radius, 0.5 * length))

    def on(self, place: Any, axis: ArrayLike | None = None, x_axis: ArrayLike | None = None) -> "Surface":
        """The shape at a place of a body or of the ground, such as `body.at(point)` or `body["interface"]`.

        - `axis` (3,): the z axis of the shape, a world direction in the initial configuration: the normal of a plane,
          the axis of a cylinder, bore or capsule (default: the z axis of the body frame).
        - `x_axis` (3,): the direction to which the x axis of the shape is closest, for boxes.
        """
        return Surface(self, place, axis, x_axis)


@dataclass(frozen=True)
class Plane(ContactShape):
    """The half space below z = 0; the other shape is above."""

    code, title = codes.PLANE, "plane"

    @property
    def reach(self) -> float:
        return float("inf")


@dataclass(frozen=True)
class Sphere(ContactShape):
    """A ball of a `radius` about its place."""

    code, title = codes.SPHERE, "sphere"
    radius: float


@dataclass(frozen=True)
class Socket(ContactShape):
    """A spherical cavity of a `radius` about its place, for a sphere inside."""

    code, title = codes.SOCKET, "socket"
    radius: float


@dataclass(frozen=True)
class Cylinder(ContactShape):
    """A solid cylinder of a `radius` and a `length` along z, about its place."""

    code, title = codes.CYLINDER, "cylinder"
    radius: float
    length: float


@dataclass(frozen=True)
class Bore(ContactShape):
    """A cylindrical bore of a `radius` and a `length` along z, about its place, for a cylinder inside."""

    code, title = codes.BORE, "bore"
    radius: float
    length: float


@dataclass(frozen=True)
class Capsule(ContactShape):
    """A cylinder of a `radius` and a `length` along z with hemispheres at its ends, about its place."""

    code, title = codes.CAPSULE, "capsule"
    radius: float
    length: float

    @property
    def reach(self) -> float:
        return self.radius + 0.5 * self.length


@dataclass(frozen=True)
class Box(ContactShape):
    """A box with edges `x`, `y`, `z` along its axes, about its place."""

    code, title = codes.BOX, "box"
    x: float
    y: float
    z: float

    @property
    def reach(self) -> float:
        return 0.5 * float(np.linalg.norm(self.dimensions))


@dataclass(frozen=True, eq=False)
class Surface:
    """A shape at a place; made by `ContactShape.on`."""

    shape: ContactShape
    place: Any
    axis: ArrayLike | None = None
    x_axis: ArrayLike | None = None


SHAPES = {kind.title: kind for kind in (Plane, Sphere, Socket, Cylinder, Bore, Capsule, Box)}
"""The kinds of shapes by their names in model files."""
_BY_CODE = {kind.code: kind for kind in SHAPES.values()}
PAIRS = tuple((_BY_CODE[a], _BY_CODE[b]) for a, b in codes.PAIRS)


def require_pair(a: ContactShape, b: ContactShape, name: str) -> None:
    """Raises `MechanismError` when the contact of two shapes is not known."""
    kinds = {(x.code, y.code) for x, y in PAIRS}
    if (a.code, b.code) not in kinds and (b.code, a.code) not in kinds:
        known = ", ".join(f"{x.title} and {y.title}" for x, y in PAIRS)
        raise MechanismError(
            f"Contact {name!r}: there is no contact of a {a.title} with a {b.title}; expected one of: {known}. Compose "
            "the surface of such shapes, with a contact for each."
        )


def shape_of_code(code: float, dimensions: tuple[float, ...]) -> ContactShape:
    """The shape of a code with its dimensions."""
    kind = _BY_CODE[int(code)]
    return kind(*dimensions[: len(fields(kind))])

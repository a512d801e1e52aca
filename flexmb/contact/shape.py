"""Shapes of contact surfaces and their places on bodies. Lengths in the units of the mechanism."""

from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from flexmb.errors import MechanismError


@dataclass(frozen=True)
class ContactShape:
    """A shape in its own frame; see the kinds below.

    Raises `MechanismError` when a dimension is not a positive number.
    """

    code: ClassVar[int]
    title: ClassVar[str]

    def __post_init__(self) -> None:
        for name, value in self._named():
            if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < value < np.inf:
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


@dataclass(frozen=True, eq=False)
class Surface:
    """A shape at a place; made by `ContactShape.on`."""

    shape: ContactShape
    place: Any
    axis: ArrayLike | None = None
    x_axis: ArrayLike | None = None

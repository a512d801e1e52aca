"""Axes of shells along the sides of their cells."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.axes.limits import is_number
from fem.errors import MaterialError
from fem.shown import shown


@shown
@dataclass(frozen=True)
class SideAxes:
    """The first axis of a shell along the first side of each cell, from its first node to its second, turned by
    `angle` degrees about the normal.

    Raises `MaterialError` when the angle is not finite.
    """

    angle: float = 0.0

    def __post_init__(self) -> None:
        if not is_number(self.angle):
            raise MaterialError(f"The angle of axes along sides must be finite, in degrees; found {self.angle}.")

    def __str__(self) -> str:
        return f"axes at {self.angle:g} degrees from the first side of each cell"

    def along(self, sides: Float[np.ndarray, "e 3"], normals: Float[np.ndarray, "e 3"]) -> Float[np.ndarray, "e 3"]:
        """The first axis of cells with first `sides` and unit `normals`."""
        flat = sides - np.einsum("ex,ex->e", sides, normals)[:, None] * normals
        angle = np.deg2rad(self.angle)
        return np.asarray(np.cos(angle) * flat + np.sin(angle) * np.cross(normals, flat))

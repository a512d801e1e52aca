"""Axes of a material about the axis of a cylinder."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.axes.limits import LARGEST, floats, is_number, is_whole, within_limits
from fem.errors import MaterialError
from fem.shown import shown

ON_AXIS = 1e-10
"""Distance from the axis, relative to that from its point, below which there is no radial direction."""


@shown
@dataclass(frozen=True)
class CylindricalAxes:
    """The radial, the tangential and the axial direction of a cylinder, by the right-hand rule.

    - `point` (3,) on its axis; `direction` (3,) of the axis.
    - `turn`: degrees by which the first two axes are turned about the third, or the axes of `turned_about` (0 radial, 1
      tangential, 2 axial) about that one.

    Raises `MaterialError` when a number is not usable.
    """

    point: tuple[float, float, float]
    direction: tuple[float, float, float]
    turn: float = 0.0
    turned_about: int = 2

    def __post_init__(self) -> None:
        for name in ("point", "direction"):
            value = floats(getattr(self, name))
            if value.shape != (3,) or not within_limits(value):
                raise MaterialError(
                    f"Cylindrical axes: {name} needs three finite numbers of at most {LARGEST:.0e}; found "
                    f"{value.tolist() or getattr(self, name)!r}."
                )
        about = self.turned_about
        if not np.linalg.norm(self.direction) > 0:
            raise MaterialError("Cylindrical axes: the direction of the axis must not be zero.")
        if not (is_number(self.turn) and is_whole(about) and 0 <= about <= 2):
            raise MaterialError(
                f"Cylindrical axes: turn needs degrees, turned_about 0, 1 or 2; found {self.turn}, {about}."
            )

    def __str__(self) -> str:
        turned = f", turned by {self.turn:g} degrees about axis {self.turned_about}" if self.turn else ""
        return f"cylindrical axes about {tuple(self.direction)} through {tuple(self.point)}{turned}"

    def at(self, x: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "k 3 3"]:
        """Unit vectors, in rows, at the places `x`. Raises `MaterialError` for places on the axis."""
        axial = np.asarray(self.direction, dtype=float) / np.linalg.norm(self.direction)
        r = x - np.asarray(self.point, dtype=float)
        radial = r - (r @ axial)[:, None] * axial
        size = np.linalg.norm(radial, axis=1)
        if not (size > ON_AXIS * np.linalg.norm(r, axis=1)).all():
            bad = x[int(np.argmin(size))]
            raise MaterialError(f"{str(self).capitalize()} have no radial direction at {bad.tolist()}, on the axis.")
        radial /= size[:, None]
        axes = np.stack([radial, np.cross(axial, radial), np.broadcast_to(axial, radial.shape)], axis=1)
        return np.asarray(turn_about(self.turned_about, self.turn) @ axes)


def turn_about(axis: int, degrees: float) -> Float[np.ndarray, "3 3"]:
    """Matrix by which axes, in rows, turn about one of them."""
    c, s = float(np.cos(np.deg2rad(degrees))), float(np.sin(np.deg2rad(degrees)))
    R = np.eye(3)
    a, b = (axis + 1) % 3, (axis + 2) % 3
    R[a, a], R[a, b], R[b, a], R[b, b] = c, s, -s, c
    return R

"""Local axes of nodes and of orientations."""

from dataclasses import dataclass

import numpy as np

from fem.axes.cylindrical import turn_about
from fem.errors import MeshError

SMALL = 1e-12
"""Lengths of cross products and distances from an axis, relative to those of what they are made of, that count as
none: rounding leaves as much of them."""


@dataclass(frozen=True)
class Axes:
    """Local axes: rectangular, or cylindrical about the line through two points; turned by degrees about one of
    them."""

    cylindrical: bool
    a: np.ndarray
    b: np.ndarray
    turn: float = 0.0
    turned_about: int = 2

    def same(self, other: "Axes") -> bool:
        """Whether both are given alike."""
        return self.cylindrical == other.cylindrical and np.array_equal([self.a, self.b], [other.a, other.b])

    def at(self, x: np.ndarray) -> np.ndarray:
        """Axes (3, 3) in rows at the point `x`. Raises `MeshError` where there are none."""
        if not self.cylindrical:
            first, third = self.a, np.cross(self.a, self.b)
            defined = np.linalg.norm(third) > SMALL * np.linalg.norm(self.a) * np.linalg.norm(self.b)
        else:
            third, r = self.b - self.a, x - self.a
            size = max(float(np.linalg.norm(p)) for p in (self.a, self.b, x))
            length = np.linalg.norm(third)
            first = r - (r @ third) / (third @ third) * third if length > SMALL * size else np.zeros(3)
            defined = np.linalg.norm(first) > SMALL * size
        if not defined:
            one_line = "their two points lie on one line with the origin"
            why = "it lies on their axis, or this has no direction" if self.cylindrical else one_line
            raise MeshError(f"its axes are not defined at {x.tolist()}: {why}")
        first, third = first / np.linalg.norm(first), third / np.linalg.norm(third)
        return np.asarray(turn_about(self.turned_about, self.turn) @ np.stack([first, np.cross(third, first), third]))

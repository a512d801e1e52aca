"""Local axes of nodes and of orientations."""

from dataclasses import dataclass

import numpy as np

from fem.axes.cylindrical import turn_about
from fem.errors import MeshError


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
        """Axes (3, 3) in rows at the point `x`."""
        if not self.cylindrical:
            first, third = self.a, np.cross(self.a, self.b)
        else:
            third = self.b - self.a
            r = x - self.a
            first = r - (r @ third) / (third @ third) * third
        for v in (first, third):
            if not np.linalg.norm(v) > 0:
                raise MeshError(f"its axes are not defined at {x}")
        first, third = first / np.linalg.norm(first), third / np.linalg.norm(third)
        return np.asarray(turn_about(self.turned_about, self.turn) @ np.stack([first, np.cross(third, first), third]))

"""Coordinate systems of a Nastran deck: CORD2R, CORD2C, CORD2S, in chains; CORD1R, CORD1C, CORD1S by three nodes."""

from collections.abc import Mapping

import numpy as np

from fem.errors import MeshError
from fem.files.nastran.cards import Card

KINDS = ("CORD1R", "CORD1C", "CORD1S", "CORD2R", "CORD2C", "CORD2S")
_SMALL = 1e-12


class Systems:
    """The coordinate systems of a deck by number; 0 is the basic one.

    `nodes`: place (3,) of each node that is known already, for systems through nodes.
    """

    def __init__(self, cards: Mapping[int, Card], nodes: Mapping[int, np.ndarray]) -> None:
        self._cards, self._nodes = cards, nodes
        self._frames: dict[int, tuple[np.ndarray, np.ndarray]] = {0: (np.zeros(3), np.eye(3))}

    def frame(self, number: int, user: str) -> tuple[np.ndarray, np.ndarray]:
        """Origin (3,) and axes (3, 3), in rows, of a system, in basic coordinates; `user`: who asks, for messages.

        Raises `MeshError` for systems that the deck does not define, that refer to each other in a circle, or whose
        points lie on a line.
        """
        return self._frame(number, user, ())

    def kind(self, number: int) -> str:
        """R, C or S: rectangular, cylindrical or spherical; R for systems that are not defined."""
        return self._cards[number].name[-1] if number in self._cards else "R"

    def _frame(self, number: int, user: str, inside: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        if number in self._frames:
            return self._frames[number]
        if number not in self._cards or number in inside:
            why = "refers to itself" if number in inside else "is not defined in the deck"
            raise MeshError(f"{user}: coordinate system {number} {why}.")
        card = self._cards[number]
        if card.name.startswith("CORD1"):
            first = 1 if card.whole(1) == number else 5
            points = [self._place_of(card.whole(first + k), card) for k in (1, 2, 3)]
        else:
            reference = card.whole(2, 0)
            numbers = np.array([card.real(k, 0.0) for k in range(3, 12)]).reshape(3, 3)
            self._frame(reference, card.place, (*inside, number))
            points = [self.place(reference, p, card.place) for p in numbers]
        a, b, c = points
        z = b - a
        y = np.cross(z, c - a)
        if not np.linalg.norm(y) > _SMALL * np.linalg.norm(z) * max(float(np.linalg.norm(c - a)), _SMALL):
            raise MeshError(f"{card.place}: the three points of {card.name} {number} lie on a line.")
        z, y = z / np.linalg.norm(z), y / np.linalg.norm(y)
        self._frames[number] = a, np.stack([np.cross(y, z), y, z])
        return self._frames[number]

    def _place_of(self, node: int, card: Card) -> np.ndarray:
        if node not in self._nodes:
            raise MeshError(
                f"{card.place}: {card.name} is given by node {node}, which the deck does not define in basic "
                "coordinates."
            )
        return self._nodes[node]

    def place(self, number: int, x: np.ndarray, user: str) -> np.ndarray:
        """The basic coordinates of a point given in a system: rectangular, (r, angle, z) or (r, angle from z, angle),
        angles in degrees."""
        origin, axes = self.frame(number, user)
        kind = self._cards[number].name[-1] if number else "R"
        if kind == "C":
            angle = np.radians(x[1])
            x = np.array([x[0] * np.cos(angle), x[0] * np.sin(angle), x[2]])
        elif kind == "S":
            theta, phi = np.radians(x[1:])
            x = x[0] * np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
        return np.asarray(origin + x @ axes)

    def axes_at(self, number: int, point: np.ndarray, user: str) -> np.ndarray:
        """Axes (3, 3), in rows, of the components of vectors at a point: those of the system, or of its curves."""
        origin, axes = self.frame(number, user)
        kind = self._cards[number].name[-1] if number else "R"
        if kind == "R":
            return axes
        x = axes @ (point - origin)
        radius = float(np.hypot(x[0], x[1]))
        c, s = (x[0] / radius, x[1] / radius) if radius > _SMALL * max(float(np.linalg.norm(x)), _SMALL) else (1.0, 0.0)
        local = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        if kind == "S":
            along, up = radius / max(float(np.linalg.norm(x)), _SMALL), x[2] / max(float(np.linalg.norm(x)), _SMALL)
            local = np.array([[along * c, along * s, up], [up * c, up * s, -along], [-s, c, 0]])
        return np.asarray(local @ axes)

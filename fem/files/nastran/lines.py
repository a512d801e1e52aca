"""Lines of a Nastran deck: the ends of CBAR and CBEAM with offsets and releases; rods (CROD, CONROD, CTUBE)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fem.errors import MeshError
from fem.files.nastran.cards import Card
from fem.mesh.constraints import Equation, RigidLink

BEAMS = ("CBAR", "CBEAM")
RODS = ("CROD", "CONROD", "CTUBE")
DEFAULTS = {"BAROR": "CBAR", "BEAMOR": "CBEAM"}
"""Cards that hold the property, vector and offset axes of all beams that leave these blank."""
_FLAGS = {"1": "GGG", "2": "GGG"}
"""What the field of the offset axes held in older decks: whether the vector is given by components (1) or a node
(2)."""


@dataclass(frozen=True)
class Ends:
    """A beam from `a` to `b` (3,), with the direction `y` (3,) of its first plane; `offset`: whether each end is beside
    its node; `released`: components 0 to 5, in the axes of the beam, that each end does not share with its node."""

    a: np.ndarray
    b: np.ndarray
    y: tuple[float, float, float]
    offset: tuple[bool, bool]
    released: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def axes(self) -> np.ndarray:
        """The axes x, y, z in rows."""
        x = (self.b - self.a) / np.linalg.norm(self.b - self.a)
        z = np.cross(x, self.y)
        z /= np.linalg.norm(z)
        return np.stack([x, np.cross(z, x), z])


def with_defaults(card: Card, defaults: Card | None) -> Card:
    """A beam with the property, the vector of the first plane and the offset axes of BAROR or BEAMOR where it has none;
    a vector is taken as a whole.

    Raises `MeshError` where a beam gives some components of the vector and the defaults other ones: programs differ.
    """
    if defaults is None:
        return card
    vector = [card.text_at(k) for k in (5, 6, 7)]
    node = vector[0].isdigit()
    if (
        any(vector)
        and not node
        and any(not own and defaults.real(k, 0.0) for k, own in zip((5, 6, 7), vector, strict=True))
    ):
        raise MeshError(
            f"{card.place}: {card.name} {card.whole(1)} gives some components of the vector of its first plane, and "
            f"{defaults.name} (line {defaults.line} of {defaults.file}) others. Give all three in one place."
        )
    taken = (2, 8) if any(vector) else (2, 5, 6, 7, 8)
    fields = [card.text_at(k) or (defaults.text_at(k) if k in taken else "") for k in range(1, 9)]
    return replace(card, fields=[*fields, *card.fields[8:]])


def ends(card: Card, points: Mapping[int, np.ndarray], axes: Mapping[int, np.ndarray]) -> Ends:
    """The ends of a CBAR or CBEAM. The vector of its first plane is in the axes of its first node (OFFT "G") or basic
    ones ("B"); offsets are in the axes of their nodes ("G"), or in those of the line between the nodes and the vector
    ("O").

    Raises `MeshError` for other offset axes, and cards without a vector."""
    given = _FLAGS.get(card.text_at(8), card.text_at(8).upper()) or "GGG"
    if len(given) != 3 or given[0] not in "GB" or set(given[1:]) - {*"GO"}:
        raise MeshError(f"offset axes {card.text_at(8)}")
    first, text = card.whole(3), card.text_at(5)
    by_node = text.isdigit() and not card.text_at(6) and not card.text_at(7)
    if by_node and int(text) not in points:
        raise MeshError(f"its vector is given by node {text}, which the deck does not define")
    if by_node:  # from the first node, not from the end beside it
        v = points[int(text)] - points[first]
    else:
        v = np.array([card.real(k, 0.0) for k in (5, 6, 7)])
        v = v @ axes[first] if first in axes and given[0] == "G" else v
    places, offset = [], []
    for k, at, of in ((3, 11, given[1]), (4, 14, given[2])):
        number = card.whole(k)
        arm = np.array([card.real(at + j, 0.0) for j in range(3)])
        if of == "O" and arm.any():
            arm = arm @ _between(points[first], points[card.whole(4)], v)
        elif number in axes:
            arm = arm @ axes[number]
        places.append(points[number] + arm)
        offset.append(bool(arm.any()))
    if not np.linalg.norm(v) > 0:
        raise MeshError("the vector of its first plane is missing")
    x = places[1] - places[0]
    if not np.linalg.norm(np.cross(x, v)) > 1e-6 * np.linalg.norm(x) * np.linalg.norm(v):
        raise MeshError("its ends are at one place, or its vector runs along it")
    released = tuple(_released(card, k) for k in (9, 10))
    y1, y2, y3 = (v / np.linalg.norm(v)).tolist()
    return Ends(places[0], places[1], (y1, y2, y3), (offset[0], offset[1]), (released[0], released[1]))


def _between(a: np.ndarray, b: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Axes in rows: from `a` to `b`, and y in the plane of this line and `v`. Raises `MeshError` when they are one
    line."""
    x, z = b - a, np.cross(b - a, v)
    if not np.linalg.norm(z) > 1e-6 * np.linalg.norm(x) * np.linalg.norm(v):
        raise MeshError("its ends are at one place, or its vector runs along it")
    x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
    return np.stack([x, np.cross(z, x), z])


def _released(card: Card, number: int) -> tuple[int, ...]:
    text = card.text_at(number)
    if text in ("", "0"):
        return ()
    if set(text) - set("123456"):
        raise MeshError(f"releases {text!r}, which are digits from 1 to 6")
    return tuple(sorted({int(digit) - 1 for digit in text}))


def connections(node: int, beside: int, end: int, made: Ends, middle: int | None) -> Iterator[RigidLink | Equation]:
    """How the end of a beam, the node `beside`, follows its `node`: by a rigid arm to the node `middle` (None: there is
    none beside the end), and by the components that are not released."""
    free = made.released[1] if end else made.released[0]
    if made.offset[end]:
        yield RigidLink(np.array([beside if middle is None else middle]), node)
    if not free:
        return
    follows = node if middle is None else middle
    for first in (0, 3):
        kept = [c for c in range(first, first + 3) if c not in free]
        R = np.eye(3) if len(kept) == 3 else made.axes
        for c in kept:
            order = np.argsort(-np.abs(R[c % 3]))
            order = order[np.abs(R[c % 3][order]) > 1e-12]
            nodes = np.repeat([beside, follows], len(order))
            values = np.concatenate([R[c % 3][order], -R[c % 3][order]])
            yield Equation(nodes, np.tile(first + order, 2), values)


def rod(card: Card) -> tuple[int, float, float, float]:
    """Material, area, torsion constant and mass per length of a PROD, a PTUBE or a CONROD."""
    if card.name == "PTUBE":
        outer, wall = card.real(3), card.real(4, 0.0)
        if card.real(6, outer) not in (0.0, outer):
            raise MeshError("a tube whose diameter varies")
        if not (outer > 0 and 0 <= wall <= outer / 2):
            raise MeshError(f"a tube of the diameter {outer:g} and the wall {wall:g}, of which one cannot be")
        inner = outer - 2 * wall if wall else 0.0
        area, J = np.pi * (outer**2 - inner**2) / 4, np.pi * (outer**4 - inner**4) / 32
        return card.whole(2), float(area), float(J), card.real(5, 0.0)
    first = 4 if card.name == "CONROD" else 2
    area = card.real(first + 1, 0.0)
    if not area > 0:
        raise MeshError("a rod without an area")
    return card.whole(first), area, card.real(first + 2, 0.0), card.real(first + 4, 0.0)

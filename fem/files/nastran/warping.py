"""Rates of twist of a Nastran deck: the scalar points SA and SB of CBEAM, at the ends of beams with a warping constant.

Beams that continue each other share a rate of twist at their node (`fem.dofs.warping`), and so they must name one
scalar point there; those of other directions must name another one. A point ties the rates of ends that have nodes of
their own (offsets, releases).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from fem.dofs.warping import ALIGNED
from fem.errors import MeshError
from fem.files.nastran.cards import Card
from fem.files.nastran.deck import not_obeyed
from fem.mesh.constraints import Equation
from fem.mesh.unread import Stated, Unread


@dataclass(frozen=True, eq=False)
class _End:
    card: Card
    point: int
    node: int
    axes: np.ndarray

    def continues(self, other: "_End") -> bool:
        """Whether both beams are one line with sections the same way up."""
        return bool(np.abs((self.axes[:2] * other.axes[:2]).sum(axis=1)).min() > ALIGNED)


@dataclass
class WarpingEnds:
    """The ends of beams whose warping is held or passed on."""

    ends: list[_End] = field(default_factory=list)

    def add(self, card: Card, points: tuple[int, int], nodes: list[int], axes: np.ndarray) -> None:
        """The ends of a beam: their scalar points and nodes."""
        self.ends += [_End(card, point, node, axes) for point, node in zip(points, nodes, strict=True)]

    def rows(self, row: Mapping[int, int]) -> dict[int, int]:
        """The row of a node for each scalar point."""
        return {end.point: row[end.node] for end in reversed(self.ends)}

    def ties(self, row: Mapping[int, int]) -> Iterator[Stated]:
        """Equations between the rates of ends that name one point and have nodes of their own."""
        first = self.rows(row)
        tied: set[int] = set()
        for end in self.ends:
            here = row[end.node]
            if here != first[end.point] and here not in tied:
                tied.add(here)
                source = not_obeyed(end.card)
                nodes = np.array([here, first[end.point]])
                yield Stated(Equation(nodes, np.array([6, 6]), np.array([1.0, -1.0]), source.label), source)

    def contradictions(self) -> Iterator[Unread]:
        """Beams whose scalar points are not those of the rule."""
        at: dict[int, list[_End]] = {}
        for end in self.ends:
            at.setdefault(end.node, []).append(end)
        for ends in at.values():
            for a, b in combinations(ends, 2):
                if a.continues(b) != (a.point == b.point):
                    other = f"{a.card.name} {a.card.whole(1)}"
                    told = f"its warping is apart from that of {other}, which it continues"
                    if a.point == b.point:
                        told = f"its warping is that of {other}, in whose direction it does not run"
                    yield not_obeyed(b.card, reason=told)


def scalar_points(card: Card, known: Mapping[int, object]) -> tuple[int, int]:
    """SA and SB of a CBEAM, zero for none. Raises `MeshError` for one of them only, and for grid points."""
    words = [card.text_at(k) or "0" for k in (17, 18)]
    if not all(word.isdigit() for word in words):
        raise MeshError(f"scalar points {' and '.join(words)} for the warping of its ends, which are whole numbers")
    points = int(words[0]), int(words[1])
    if bool(points[0]) != bool(points[1]):
        raise MeshError("a scalar point for the warping of one end only (SA, SB)")
    if any(point in known for point in points):
        raise MeshError(f"grid points {points} for the warping of its ends; scalar points are read")
    return points

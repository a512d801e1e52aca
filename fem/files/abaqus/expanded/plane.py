"""Plane and axisymmetric elements of a deck, as CalculiX solves them: one layer of solids, whose nodes follow those of
the elements.

A node of the deck keeps the displacements in its plane. Its copies at the faces of the layer have the same (plane
stress, plane strain), or those that rotation about the y axis makes of them (axisymmetric: a sector of two degrees).
Across the layer nothing moves in plane strain, and both faces move oppositely in plane stress.
The user's manual of CalculiX describes it under "Eight-node plane stress element" and following.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from fem.errors import MeshError
from fem.files.abaqus.deck import Deck, Thin
from fem.files.abaqus.element_types import kind_of
from fem.files.abaqus.numbers import Numbers
from fem.mesh.constraints import Equation
from fem.mesh.unread import Stated, Unread

SECTOR = np.radians(1.0)
"""Half the angle of the sector of an axisymmetric element."""
SOLID = {3: "C3D6", 4: "C3D8", 6: "C3D15", 8: "C3D20"}
"""Solid of a plane element with so many nodes; an R at its end means reduced integration in both."""


@dataclass
class Layers:
    """The copies of nodes: (node, half thickness or angle, side -1 or 1) -> its number, and the keyword of its
    elements."""

    numbers: dict[tuple[int, str, float, int], int] = field(default_factory=dict)
    sources: dict[int, Unread] = field(default_factory=dict)


def expand_plane(deck: Deck) -> Layers:
    """Put solids in the place of the plane elements of a deck that have a section; the others remain surfaces.

    Raises `MeshError` for plane elements outside of the plane z = 0, and at negative radii.
    """
    made, numbers = Layers(), Numbers(deck, [], {})
    size: dict[int, float] = {}
    for section in deck.materials.sections:
        if section.plane is not None:
            size |= dict.fromkeys(numbers.of_elements(section.elset), section.plane)
    for number, plane in deck.plane.items():
        if number in size:
            _expand(deck, made, number, plane, size[number])
    return made


def _expand(deck: Deck, made: Layers, number: int, plane: Thin, thickness: float) -> None:
    n = len(plane.nodes)
    corners, half = (4 if n in (4, 8) else 3), (SECTOR if plane.family == "CAX" else thickness / 2)
    solid = SOLID[n] + ("R" if plane.name.endswith("R") and n in (4, 8) else "")
    low, high = ([_copy(deck, made, node, plane, half, side) for node in plane.nodes] for side in (-1, 1))
    if plane.family == "CAX":  # +z, from which the sector is entered, lies at negative angles about y
        low, high = high, low
    nodes = [*low[:corners], *high[:corners]]
    if n > corners:
        nodes += [*low[corners:], *high[corners:], *plane.nodes[:corners]]
    found = kind_of(solid, True)
    assert found is not None
    deck.elements.setdefault(found[0], []).append([number, *nodes])
    surface = deck.elements[plane.kind]
    surface[:] = [row for row in surface if row[0] != number]
    if not surface:
        del deck.elements[plane.kind]
    deck.not_solid[plane.name] -= 1
    deck.not_solid += type(deck.not_solid)()  # without zeros
    if plane.source in deck.unread:
        deck.unread.remove(plane.source)
    deck.expanded.add(number)


def _copy(deck: Deck, made: Layers, node: int, plane: Thin, half: float, side: int) -> int:
    key = (node, plane.family, half, side)
    if key not in made.numbers:
        if node not in deck.nodes:
            raise MeshError(f"{plane.source.label}: element on node {node}, which the deck does not define.")
        x, y, z = deck.nodes[node]
        if z != 0.0 or (plane.family == "CAX" and x < 0):
            raise MeshError(
                f"{plane.source.label}: node {node} at ({x:g}, {y:g}, {z:g}); plane elements lie in z = 0, "
                "axisymmetric ones at x >= 0."
            )
        turned = (x * np.cos(half), y, -side * x * np.sin(half))
        copy = made.numbers[key] = deck.add_node(turned if plane.family == "CAX" else (x, y, side * half))
        made.sources[copy] = plane.source
    return made.numbers[key]


def layer_constraints(made: Layers, node_of: dict[int, int]) -> Iterator[Stated]:
    """How the copies follow their nodes, in rows of the raw mesh."""
    still: set[int] = set()
    for (node, family, half, side), copy in made.numbers.items():
        source = made.sources[copy]
        o, c = node_of[node], node_of[copy]

        def stated(*terms: tuple[int, int, float], source: Unread = source) -> Stated:
            nodes, components, factors = (np.array(column) for column in zip(*terms, strict=True))
            return Stated(Equation(nodes, components, factors.astype(float), source.label), source)

        if family == "CAX":
            yield stated((c, 0, 1.0), (o, 0, -np.cos(half)))
            yield stated((c, 2, 1.0), (o, 0, side * np.sin(half)))
        else:
            yield stated((c, 0, 1.0), (o, 0, -1.0))
            if family == "CPE":
                yield stated((c, 2, 1.0))
            elif side == 1:
                yield stated((c, 2, 1.0), (node_of[made.numbers[node, family, half, -1]], 2, 1.0))
        yield stated((c, 1, 1.0), (o, 1, -1.0))
        if node not in still:
            still.add(node)
            yield stated((o, 2, 1.0))

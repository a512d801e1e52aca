"""Shells and beams of a deck as the solids by which CalculiX solves them, where `expand=True` asks for it.

A shell of n nodes becomes one solid of twice as many corners through its thickness, a beam one hexahedron along its
length with its section as cross-section. Elements around a node whose normals differ by less than 20 degrees share the
nodes of the solids; at other nodes there are several expansions, and `links` joins them.
See the CalculiX CrunchiX User's Manual, sections "Four-node shell element (S4 and S4R)" and following.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from fem.elements import ELEMENTS, LINE, element, register_element
from fem.elements.quadrature import Rule
from fem.errors import MeshError
from fem.files.abaqus.deck import Deck, Thin
from fem.files.abaqus.element_types import kind_of
from fem.files.abaqus.materials import DeckSection
from fem.files.abaqus.numbers import Numbers
from fem.mesh.unread import Unread

SOLID = {"S3": "C3D6", "S4": "C3D8I", "S6": "C3D15", "S8": "C3D20", "B31": "C3D8I", "B32": "C3D20"}
"""Solids of shells and beams; those of types with an R at the end are C3D8R and C3D20R."""
SHARED = np.cos(np.radians(20.0))
"""Least cosine between the normals of elements that share the nodes of an expansion."""
PARALLEL = np.cos(np.radians(0.5))
"""Least cosine between normals that count as one."""
SAME = 1e-10
"""Largest difference, relative to their size, of thicknesses and offsets that count as equal."""
ALONG, ACROSS = np.array([-0.5, -0.5, 0.5, 0.5, -0.5, 0, 0.5, 0]), np.array([0.5, -0.5, -0.5, 0.5, 0, -0.5, 0, 0.5])
"""Places of the eight nodes of a rectangular section along its first and its second axis, over its widths."""
ROUND = np.array([np.sqrt(0.5)] * 4 + [1.0] * 4)
"""Places of corners and middles of a round section over those of the square around it."""


@dataclass(eq=False)
class Expansion:
    """The nodes that stand for a node of the deck in the solids around it.

    - `places` (k, 3): where they are; `copies`: the numbers of those that are used. Shells: bottom, middle, top; beams:
      four corners and four middles of sides of the section;
    - `normal` (3,) of shells, None for beams; `quadratic`: whether the solids have nodes in the middle of the
      thickness here.
    """

    node: int
    places: np.ndarray
    normal: np.ndarray | None
    quadratic: bool = False
    copies: dict[int, int] = field(default_factory=dict)

    def copy(self, deck: Deck, place: int) -> int:
        """The number of the node at a place."""
        if place not in self.copies:
            self.copies[place] = deck.add_node(self.places[place].tolist())
        return self.copies[place]


@dataclass
class Expansions:
    """The expansions of every node of shells and beams.

    - `bent`: nodes whose expansions lie neither on one line nor in one plane; `knots`: for nodes with more than one
      expansion the number of a node at the same place, which moves along x and y against it by the stretches;
    - `sources`: the keyword of an element at each node.
    """

    of: dict[int, list[Expansion]] = field(default_factory=dict)
    bent: set[int] = field(default_factory=set)
    knots: dict[int, int] = field(default_factory=dict)
    sources: dict[int, Unread] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _At:
    """An element at one of its nodes: its number, the place of the node in it, thickness and offset of shells or widths
    and axis of the beam, and the normal: of shells, or the second axis of the section of beams."""

    number: int
    place: int
    thin: Thin
    section: DeckSection
    normal: np.ndarray
    axis: np.ndarray

    @property
    def beam(self) -> bool:
        return self.thin.family == "B"

    @property
    def size(self) -> np.ndarray:
        """Thickness and offset, or the widths of the section."""
        if not self.beam:
            return np.array([self.section.thickness or 0.0, self.section.offset])
        assert self.section.shape is not None
        kind, sizes = self.section.shape
        if kind == "CIRC":
            return np.array([2 * sizes[0], 2 * sizes[-1]])
        return np.array([2 * sizes[0]] * 2 if kind == "PIPE" else sizes[:2])

    def shares(self, other: "_At") -> bool:
        """Whether both elements have one expansion here."""
        same = self.beam == other.beam and np.allclose(self.size, other.size, rtol=SAME, atol=0)
        return bool(same and self.normal @ other.normal > SHARED and self.axis @ other.axis > SHARED)


def expand_thin(deck: Deck) -> Expansions:
    """Put solids in the place of the shells and beams of a deck that have a section.

    Raises `MeshError` for elements that cannot be expanded."""
    made = Expansions()
    if not deck.expand:
        return made
    elements = _elements(deck)
    around: dict[int, list[_At]] = {}
    for at in elements:
        around.setdefault(at.thin.nodes[at.place], []).append(at)
    own: dict[tuple[int, int], Expansion] = {}
    for node, ats in around.items():
        own |= dict(_grouped(deck, made, node, ats))
    for number in dict.fromkeys(at.number for at in elements):
        thin = deck.thin[number]
        _replace(deck, number, thin, [own[number, k] for k in range(len(thin.nodes))])
    gone = {at.number for at in elements}
    for kind in {deck.thin[number].kind for number in gone}:
        deck.elements[kind] = [row for row in deck.elements[kind] if row[0] not in gone]
        if not deck.elements[kind]:
            del deck.elements[kind]
    deck.shells = {number: source for number, source in deck.shells.items() if number not in gone}
    for node, found in made.of.items():
        made.sources[node] = around[node][0].thin.source
        if len(found) > 1:
            made.knots[node] = deck.add_node(deck.nodes[node])
            for expansion in found:
                for place in range(len(expansion.places)):
                    expansion.copy(deck, place)
    return made


def _elements(deck: Deck) -> list[_At]:
    """Shells and beams with a section, at each of their nodes."""
    numbers, found = Numbers(deck, [], {}), []
    for section in deck.materials.sections:
        if section.thickness is None and section.shape is None:
            continue
        for number in sorted(numbers.of_elements(section.elset) & set(deck.thin)):
            thin = deck.thin[number]
            if (thin.family == "B") != (section.shape is not None):
                continue
            if any(n not in deck.nodes for n in thin.nodes):
                raise MeshError(f"{thin.source.label}: element {number} is on nodes that the deck does not define.")
            kind = section.shape[0] if section.shape else ""
            if kind == "CIRC" and len(thin.nodes) == 2:
                raise MeshError(
                    f"{section.source.label}: a beam of two nodes with a round section has no solid. Use beams of "
                    "three nodes, or read the deck without expand=True."
                )
            if kind in ("BOX", "PIPE") and not (deck.as_named and thin.name == "B32R"):
                raise MeshError(
                    f"{section.source.label}: hollow sections are expanded to compare with CalculiX only "
                    "(fem.read_steps), in beams of type B32R. Read the deck without expand=True."
                )
            x = np.array([deck.nodes[n] for n in thin.nodes])
            found += [_At(number, k, thin, section, *_axes(thin, section, x, k)) for k in range(len(x))]
    return found


def _axes(thin: Thin, section: DeckSection, x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit normal and axis of an element with nodes `x` at its node k; the axis of a shell is its normal."""
    if thin.family == "S":
        shape = element(thin.kind)
        a, b = (x.T @ shape.gradient(shape.coordinates[k][None])[0])[:, :2].T
        normal = np.cross(a, b)
        axis = normal
    else:
        xi = -1.0 if k == 0 else 1.0 if k == len(x) - 1 else 0.0
        axis = x[-1] - x[0] if len(x) == 2 else np.array([xi - 0.5, -2 * xi, xi + 0.5]) @ x
        normal = np.cross(axis, np.array(section.direction))
    for v in (axis, normal):
        if not np.linalg.norm(v) > 0:
            raise MeshError(
                f"{thin.source.label}: the axes of an element on nodes {', '.join(map(str, thin.nodes))} are not "
                "defined; it has no extent, or its first axis is along the beam."
            )
    return normal / np.linalg.norm(normal), axis / np.linalg.norm(axis)


def _grouped(deck: Deck, made: Expansions, node: int, ats: list[_At]) -> Iterator[tuple[tuple[int, int], Expansion]]:
    """The expansion of each element at a node: (number, place of the node in it) -> expansion."""
    left = sorted(ats, key=lambda at: (at.beam, at.number))
    made.of[node] = []
    if any(at.beam for at in ats):
        made.bent.add(node)
    while left:
        first = left[0]
        group = [at for at in left if at is first or at.shares(first)]
        if any(abs(at.normal @ first.normal) < PARALLEL for at in left if not at.beam):
            made.bent.add(node)
        left = [at for at in left if at not in group]
        normal, axis = (np.sum([getattr(at, name) for at in group], axis=0) for name in ("normal", "axis"))
        x = np.array(deck.nodes[node])
        if first.beam:
            axis = axis / np.linalg.norm(axis)
            second = normal - (normal @ axis) * axis
            second = second / np.linalg.norm(second)
            frame = np.stack([np.cross(second, axis), second])
            assert first.section.shape is not None
            scale = ROUND if first.section.shape[0] == "CIRC" else np.ones(8)
            places = x + (np.stack([ALONG, ACROSS], axis=1) * scale[:, None] * first.size) @ frame
            expansion = Expansion(node, places, None)
        else:
            thickness, offset = first.size
            normal = normal / np.linalg.norm(normal)
            places = x + np.outer(offset + thickness * np.array([-0.5, 0.0, 0.5]), normal)
            expansion = Expansion(node, places, normal)
        made.of[node].append(expansion)
        for at in group:
            yield (at.number, at.place), expansion


def _replace(deck: Deck, number: int, thin: Thin, of_nodes: list[Expansion]) -> None:
    """Add the solid of a shell or beam to the deck."""
    reduced = thin.name.endswith("R") and thin.name[:2] not in ("S3", "S6")
    name = SOLID[thin.name.removesuffix("R")]
    if reduced:
        name = name.removesuffix("I") + "R"
    n = len(of_nodes)
    if thin.family == "B":
        a, b = of_nodes[0], of_nodes[-1]
        where = [(a, 0), (b, 0), (b, 1), (a, 1), (a, 3), (b, 3), (b, 2), (a, 2)]
        if n == 3:
            m = of_nodes[1]
            where += [(m, 0), (b, 4), (m, 1), (a, 4), (m, 3), (b, 6), (m, 2), (a, 6), (a, 7), (b, 7), (b, 5), (a, 5)]
    else:
        corners = 4 if n in (4, 8) else 3
        where = [(e, side) for side in (0, 2) for e in of_nodes[:corners]]
        if n > corners:
            where += [(e, side) for side in (0, 2) for e in of_nodes[corners:]]
            where += [(e, 1) for e in of_nodes[:corners]]
            for e in of_nodes[:corners]:
                e.quadratic = True
    found = kind_of(name, deck.as_named)
    assert found is not None
    kind = _kind_of_beam(deck, number, found[0]) if thin.kind == LINE else found[0]
    deck.elements.setdefault(kind, []).append([number, *(e.copy(deck, place) for e, place in where)])


# points of integration in the section ----------------------------------------------------------------------------


def _kind_of_beam(deck: Deck, number: int, kind: str) -> str:
    """The hexahedron of a beam, as CalculiX integrates it: with reduced integration two points along the beam, and in
    the section five by five, or those of the walls when it is hollow."""
    if kind != "hexahedron20-reduced":
        return kind
    numbers = Numbers(deck, [], {})
    section = next(s for s in deck.materials.sections if s.shape and number in numbers.of_elements(s.elset))
    assert section.shape is not None
    shape, sizes = section.shape
    own = f"{kind}-{shape.lower()}"
    if shape in ("PIPE", "BOX"):
        own += "-" + ",".join(f"{s / sizes[0]:.17g}" for s in sizes[1:])
    if own not in ELEMENTS:
        rule = _along(*{"PIPE": _pipe, "BOX": _box}.get(shape, _solid)(sizes))
        register_element(replace(ELEMENTS[kind], kind=own, stiffness_rule=rule, mass_rule=rule))
    return own


def _along(y: np.ndarray, w: np.ndarray) -> Rule:
    """Two Gauss points along the beam for each point `y` (k, 2) of the section of weight `w` (k,)."""
    xi = np.repeat([-1, 1], len(y)) / np.sqrt(3.0)
    return np.column_stack([xi, np.vstack([y, y])]), np.tile(w, 2)


def _solid(sizes: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Kronrod's five points in each direction, in the square around the section of any sizes."""
    y = np.array([-np.sqrt(6 / 7), -np.sqrt(1 / 3), 0.0, np.sqrt(1 / 3), np.sqrt(6 / 7)])
    w = np.array([98 / 495, 27 / 55, 28 / 45, 27 / 55, 98 / 495])
    return np.stack(np.meshgrid(y, y, indexing="ij"), axis=-1).reshape(-1, 2), np.outer(w, w).ravel()


def _pipe(sizes: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Eight points on the circle that halves the area of a wall, in the square around it; outer radius and wall."""
    inner = (1 - sizes[1] / sizes[0]) ** 2
    angle = np.pi / 4 * np.arange(8)
    r = np.sqrt((inner + 1) / 2)
    return r * np.column_stack([np.cos(angle), np.sin(angle)]), np.full(8, np.pi / 8 * (1 - inner))


def _box(sizes: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Simpson's rule with five points on the middle line of each wall; widths along the first and second axis, and the
    walls at the ends of the first, second, minus first and minus second axis."""
    a, b, *t = sizes
    corners = np.array([[1 - t[3] / b, 1 - t[0] / a], [t[1] / b - 1, 1 - t[0] / a]])
    corners = np.vstack([corners, [[t[1] / b - 1, t[2] / a - 1], [1 - t[3] / b, t[2] / a - 1]]])
    y, w = [], []
    for k, (wall, width) in enumerate(zip(t, (a, b, a, b), strict=True)):
        p, q = corners[k], corners[(k + 1) % 4]
        y.append(p + np.outer(np.arange(5) / 4, q - p))
        w.append(np.array([1, 4, 2, 4, 1]) / 12 * np.abs(q - p).sum() * 2 * wall / width)
    return np.vstack(y), np.concatenate(w)

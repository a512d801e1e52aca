"""How the nodes of expanded shells and beams move with the nodes of the deck, as in CalculiX.

Nodes with one expansion move with the mean of its copies, and turn with their mean rotation, where supports, loads,
constraints or other elements act on them. Nodes with several are knots: all copies move with the node as one rigid
body, which may stretch along its line, or in its plane in two directions.
See the CalculiX CrunchiX User's Manual, sections "Eight-node shell element (S8 and S8R)" and "Knot" of the theory.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fem.elements import ELEMENTS
from fem.errors import MeshError
from fem.files.abaqus.constraints.multipoint import mean_rotation
from fem.files.abaqus.constraints.record import Constraints, Replaced
from fem.files.abaqus.deck import Statement
from fem.files.abaqus.expanded.solids import Expansion, Expansions
from fem.files.abaqus.lines import fields, number
from fem.files.abaqus.numbers import Numbers
from fem.mesh.constraints import Equation
from fem.mesh.unread import Stated

FLAT = 1e-10
"""Second moments of the places of a knot below this count as zero (CalculiX)."""
SIDES = ((4, 0, 1), (5, 1, 2), (6, 2, 3), (7, 3, 0))
"""The middles of the sides of a section, and the corners between which they are."""


@dataclass(frozen=True)
class Touched:
    """What acts on nodes with expansions, by row: dofs (1 to 6) that are held, and those that are loaded."""

    held: frozenset[tuple[int, int]]
    loaded: frozenset[tuple[int, int]]
    turned: frozenset[int]

    @property
    def turning(self) -> set[int]:
        """Nodes of whose rotations something is said."""
        acted = self.held | self.loaded
        return {row for row, dof in acted if dof > 3} | set(self.turned)


def touched(made: Expansions, numbers: Numbers, points: np.ndarray) -> Touched:
    """What the deck says of the dofs of nodes with expansions."""
    rows = {numbers.node_of[node] for node in made.of}
    knots = {numbers.node_of[node] for node in made.knots}
    if not rows:
        return Touched(frozenset(), frozenset(), frozenset())
    all_turn = Constraints(numbers, points, set(rows), [], [], [])
    held, loaded, turned = set(), set(), set(knots)
    for s in (*numbers.deck.statements, *numbers.deck.history):
        try:
            if s.keyword == "BOUNDARY":
                held |= {(row, dof) for row, dof, _ in all_turn.held(s) if row in rows}
            elif s.keyword == "CLOAD":
                loaded |= {(row, dof) for row, dof in _loads(all_turn, s) if row in rows}
            elif s.keyword == "EQUATION":
                turned |= {row for row, dof in _terms(all_turn, s) if row in rows and dof > 3}
        except (MeshError, ValueError, IndexError, KeyError):
            continue  # its reader says what is wrong
    return Touched(frozenset(held), frozenset(loaded), frozenset(turned))


def _loads(c: Constraints, s: Statement) -> Iterator[tuple[int, int]]:
    for _, line in s.rows:
        who, dof = fields(line)[:2]
        yield from ((row, int(dof)) for row in c.nodes(who))


def _terms(c: Constraints, s: Statement) -> Iterator[tuple[int, int]]:
    entries = [f for _, line in s.rows for f in fields(line) if f]
    while entries:
        count = int(number(entries[0]))
        for k in range(1, 3 * count, 3):
            yield from ((row, int(entries[k + 1])) for row in c.nodes(entries[k]))
        entries = entries[1 + 3 * count :]


def links(made: Expansions, acted: Touched, c: Constraints, members: set[int], shown: bool) -> Iterator[Stated]:
    """The equations between nodes of the deck and their copies, in rows of the raw mesh. `members`: nodes on which
    constraints, springs or masses act; `shown`: whether the displacements of all nodes are wanted."""
    if not made.of:
        return
    node_of = c.numbers.node_of
    members = members | {int(n) for kind, rows in c.numbers.blocks if kind in ELEMENTS for n in rows.ravel()}
    members |= set(c.transforms)
    for node, found in made.of.items():
        row, source = node_of[node], made.sources[node]

        def stated(terms: list[tuple[int, int, float]]) -> Stated:
            rows, components, factors = (np.array(column) for column in zip(*terms, strict=True))
            return Stated(Equation(rows, components, factors.astype(float), source.label), source)  # noqa: B023

        if node in made.knots:
            yield from map(stated, _knot(made, c, node))
            continue
        (expansion,) = found
        copies = {place: node_of[n] for place, n in expansion.copies.items()}
        for k in range(3):
            weights = _weights(expansion, (row, k + 1), acted, row in members, shown)
            if weights:
                yield stated([(row, k, 1.0), *((copies[p], k, -w) for p, w in weights.items() if p in copies)])
        if row in acted.turning:
            x = np.stack([c.points[copies[p]] if p in copies else np.full(3, np.nan) for p in range(8)])
            yield from map(stated, _mean_rotation(expansion, row, copies, x))


def replaced(made: Expansions, acted: Touched, numbers: Numbers, twins: dict[int, int]) -> Replaced:
    """What the expansions, and the `twins` of nodes at cuts, mean for supports and temperatures. Supports hold the
    middle of a shell too, and rotations that are held keep the sides of a section straight."""
    node_of = numbers.node_of
    brought: dict[tuple[int, int], list[Equation]] = {}
    for node, found in made.of.items():
        if node in made.knots:
            continue
        row, source = node_of[node], made.sources[node].label
        copies = {place: node_of[n] for place, n in found[0].copies.items()}
        if found[0].quadratic:
            brought |= {(row, k + 1): [Equation([copies[1], row], [k, k], [1.0, -1.0], source)] for k in range(3)}
        elif 4 in copies:
            sides = [[copies[p] for p in side] for side in SIDES]
            straight = [Equation(side, [k] * 3, [2.0, -1.0, -1.0], source) for side in sides for k in range(3)]
            brought |= {(row, dof): straight for dof in (4, 5, 6)}
    copies_of = {
        node_of[n]: tuple(node_of[k] for e in found for k in e.copies.values()) for n, found in made.of.items()
    }
    return Replaced(acted.turning, brought, copies_of | {row: (twin,) for row, twin in twins.items()})


def _weights(expansion: Expansion, dof: tuple[int, int], acted: Touched, member: bool, shown: bool) -> dict[int, float]:
    """The weights of the copies in the displacement of their node along a dof; none where nothing asks for it."""
    mean = dict.fromkeys(range(4), 0.25) if expansion.normal is None else {0: 0.5, 2: 0.5}
    if member or dof in acted.held or (dof in acted.loaded and not expansion.quadratic):
        return mean
    if dof in acted.loaded:
        return {0: -0.5, 1: 2.0, 2: -0.5}
    if shown and expansion.quadratic:
        return {0: 1 / 6, 1: 2 / 3, 2: 1 / 6}
    return mean if shown else {}


def _mean_rotation(
    expansion: Expansion, row: int, copies: dict[int, int], x: np.ndarray
) -> Iterator[list[tuple[int, int, float]]]:
    """The rotations of a node: those of the line between bottom and top of a shell, none about it; the mean ones of the
    corners of a section."""
    places = range(4) if expansion.normal is None else (0, 2)
    corners = x[list(places)]
    for k in range(3):
        e = np.eye(3)[k]
        if expansion.normal is None:
            weights = mean_rotation(e, corners)
        else:
            arm = (corners[1] - corners[0]) / np.sum((corners[1] - corners[0]) ** 2)
            weights = np.outer([-1.0, 1.0], np.cross(e, arm))
        moved = [(copies[q], j, -w) for q, own in zip(places, weights.tolist(), strict=True) for j, w in enumerate(own)]
        yield [(row, 3 + k, 1.0), *(term for term in moved if term[2])]


def _knot(made: Expansions, c: Constraints, node: int) -> Iterator[list[tuple[int, int, float]]]:
    """`u = u_ref + theta x d + a stretch` of all copies at a node; lines do not turn about themselves. Stretches are
    differences of the displacements of two nodes at one place, which rigid motions of the part leave zero."""
    node_of = c.numbers.node_of
    row, stretch = node_of[node], node_of[made.knots[node]]
    copies = [node_of[n] for expansion in made.of[node] for n in expansion.copies.values()]
    d = c.points[copies] - c.points[row]
    centred = d - d.mean(axis=0)
    extent, axes = np.linalg.eigh(centred.T @ centred)
    sections = any(expansion.normal is None for expansion in made.of[node])
    plane = sections and extent[0] < FLAT <= extent[1]
    stretches = [np.outer(e, e) for e in axes[:, 1:].T] if plane else [np.eye(3)]
    for copy, arm in zip(copies, d, strict=True):
        for k in range(3):
            turned = np.cross(arm, np.eye(3)[k])  # e . (theta x d) = theta . (d x e)
            terms = [(copy, k, 1.0), (row, k, -1.0), *((row, 3 + j, -turned[j]) for j in range(3) if turned[j])]
            moved = [(j, float((S @ arm)[k])) for j, S in enumerate(stretches) if (S @ arm)[k]]
            yield [*terms, *((stretch, j, -c) for j, c in moved), *((row, j, c) for j, c in moved)]
    normal = made.of[node][0].normal
    if node not in made.bent and normal is not None:
        yield [(row, 3 + k, normal[k]) for k in np.argsort(-np.abs(normal)).tolist() if normal[k]]
    for k in range(len(stretches), 3):
        yield [(stretch, k, 1.0), (row, k, -1.0)]

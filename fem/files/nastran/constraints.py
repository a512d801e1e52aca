"""Constraints, supports, lumped masses, springs and dampers of a Nastran deck: RBE2, RBE3, RBAR, MPC, SPC, SPC1,
GRID PS, CONM1, CONM2, CMASS1, CMASS2, CELAS1, CELAS2, CDAMP1, CDAMP2, CVISC, CBUSH.

A card that is not understood in full is not obeyed at all, with the reason.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from fem.errors import MeshError
from fem.files.nastran.cards import Card
from fem.files.nastran.systems import Systems
from fem.mesh.constraints import Equation, MeanLink, NodeMass, NodeSpring, RigidLink
from fem.mesh.unread import SUPPORTS, Stated, Unread

SAME = 1e-9
"""Distance of nodes, relative to the size of the part, below which they are at one place."""
ROUNDED = 1e-3
"""Relative difference of entries of a mass matrix that is taken for the rounding of fields of eight characters."""
Made = Equation | RigidLink | MeanLink | NodeMass | NodeSpring


@dataclass
class Connections:
    """What connects, holds and loads nodes; the points, to which the masses of lumps with inertia are added.

    - `row`: row of a node by its number; `axes` of the nodes whose components are turned; `turning`: rows of nodes with
      rotations; `properties`: PELAS, PDAMP, PVISC and PMASS, `bushes`: PBUSH, by number; `mass_factor`: WTMASS;
      `rates`: row of the node of a scalar point that is the rate of twist of beams there;
    - `carriers`: for each node that follows another one rigidly, that one.
    """

    row: Mapping[int, int]
    points: list[np.ndarray]
    axes: Mapping[int, np.ndarray]
    turning: set[int]
    properties: Mapping[tuple[str, int], Card]
    bushes: Mapping[int, Card]
    systems: Systems
    mass_factor: float
    rates: Mapping[int, int] = field(default_factory=dict)
    constraints: list[Stated] = field(default_factory=list)
    supports: list[Stated] = field(default_factory=list)
    masses: list[tuple[NodeMass, Unread]] = field(default_factory=list)
    springs: list[tuple[NodeSpring, Unread]] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    carriers: dict[int, int] = field(default_factory=dict)

    def take(self, card: Card, keyword: str = "") -> None:
        """Add what a card says, or the card to those that are not obeyed."""
        source = Unread(keyword or card.name, card.file, card.line, card.text)
        to = self.supports if source.keyword in SUPPORTS else self.constraints
        try:
            made = [replace(m, source=source.label) for m in _READERS[source.keyword](self, card)]
        except MeshError as error:
            self.refuse(card, error, source.keyword)
            return
        for m in made:
            if isinstance(m, NodeMass):
                self.masses.append((m, source))
            elif isinstance(m, NodeSpring):
                self.springs.append((m, source))
            else:
                to.append(Stated(m, source))
            if isinstance(m, RigidLink) and set(m.components) == set(range(6)):
                self.carriers |= dict.fromkeys(m.nodes.tolist(), m.reference)

    def refuse(self, card: Card, error: MeshError, keyword: str = "") -> None:
        """Add a card to those that are not obeyed, with the reason."""
        reason = str(error).removeprefix(f"{card.place}: ").rstrip(".")
        text = f"{card.text} (not obeyed: {reason})"
        self.unread.append(Unread(keyword or card.name, card.file, card.line, text))

    def carrier(self, row: int) -> int:
        """The node that a node follows as one rigid body, through all such links; itself where it follows none."""
        seen = {row}
        while (row := self.carriers.get(row, row)) not in seen:
            seen.add(row)
        return row

    def node(self, number: int) -> int:
        """Row of a node. Raises `MeshError` for an unknown one."""
        if number not in self.row:
            raise MeshError(f"the deck has no node {number}")
        return self.row[number]

    def named(self, words: list[str], gaps: bool = False, beside: Mapping[int, int] | None = None) -> list[int]:
        """Numbers of the nodes of a list with ranges, and of points `beside` them. Raises `MeshError` for unknown ones;
        ranges may have `gaps`, but must have a node."""
        known = {**self.row, **(beside or {})}
        found: list[int] = []
        for numbers in numbered(words):
            few = len(numbers) <= len(known)
            there = [n for n in (numbers if few else sorted(known)) if n in known and n in numbers]
            if not there and len(numbers) > 1:
                raise MeshError(f"the deck has none of the nodes {numbers[0]} to {numbers[-1]}")
            if len(there) < len(numbers) and not (gaps and len(numbers) > 1):
                raise MeshError(f"the deck has no node {next(n for n in numbers if n not in known)}")
            found += there
        if not found:
            raise MeshError("it names no node")
        return found

    def terms(self, row: int, component: int, value: float) -> tuple[list[int], list[int], list[float]]:
        """Nodes, components (0 to 5) and coefficients of a component 1 to 6 of a node, in basic axes, the largest
        first."""
        if not 1 <= component <= 6:
            raise MeshError(
                f"there is no component {component} of a node; 1 to 6 are read, and a blank one counts as 0"
            )
        if component > 3 and row not in self.turning:
            raise MeshError(f"a rotation of node {self._label(row)}, which has none")
        axes, k = self.axes.get(row), component - 1
        if axes is None:
            return [row], [k], [value]
        order = np.argsort(-np.abs(axes[k % 3]))
        order = order[np.abs(axes[k % 3][order]) > 1e-15]
        return [row] * len(order), (k // 3 * 3 + order).tolist(), (value * axes[k % 3][order]).tolist()

    def _label(self, row: int) -> int:
        return next(number for number, r in self.row.items() if r == row)


def components(text: str, place: str) -> list[int]:
    """Digits 1 to 6. Raises `MeshError` for others."""
    if not text or set(text) - set("123456"):
        raise MeshError(f"{place}: components are digits from 1 to 6; found {text!r}.")
    return sorted({int(d) for d in text})


def numbered(words: list[str]) -> list[range]:
    """Whole numbers and ranges (3 THRU 7), which may be long. Raises `MeshError` for anything else."""
    found: list[range] = []
    words = [w for w in words if w]
    k = 0
    while k < len(words):
        if not words[k].isdigit():
            raise MeshError(f"a number of a node is needed, found {words[k]!r}")
        if k + 2 < len(words) and words[k + 1].upper() == "THRU":
            if not words[k + 2].isdigit():
                raise MeshError(f"THRU needs a number after it, found {words[k + 2]!r}")
            found.append(range(int(words[k]), int(words[k + 2]) + 1))
            if not found[-1]:
                raise MeshError(f"{words[k]} THRU {words[k + 2]} has no numbers")
            k += 3
        else:
            found.append(range(int(words[k]), int(words[k]) + 1))
            k += 1
    return found


def _rbe2(c: Connections, card: Card) -> Iterator[Made]:
    """RBE2: EID, the independent node, components of the dependent ones, these."""
    reference = c.node(card.whole(2))
    words = [w for w in card.fields[3:] if w]
    if words and not words[-1].isdigit():  # thermal expansion
        if float(card.real(3 + card.fields[3:].index(words[-1]) + 1)) != 0:
            raise MeshError("thermal expansion of a rigid element")
        words = words[:-1]
    nodes = [c.node(n) for n in c.named(words)]
    if reference in nodes:
        raise MeshError(f"its independent node {card.whole(2)} is among the dependent ones")
    yield RigidLink(np.array(nodes), reference, _linked(c, card, card.text_at(3), nodes))


def _linked(c: Connections, card: Card, text: str, nodes: list[int]) -> tuple[int, ...]:
    """Components (0 to 5) of nodes that a rigid element moves: all three of a translation or rotation have no axes."""
    dofs = components(text, card.place)
    if dofs not in ([1, 2, 3], [4, 5, 6], [1, 2, 3, 4, 5, 6]) and any(n in c.axes for n in nodes):
        raise MeshError("some components in the axes of a node that is turned")
    return tuple(d - 1 for d in dofs)


def _rbe3(c: Connections, card: Card) -> Iterator[Made]:
    """RBE3: EID, blank, the dependent node and its components; then weight, components and nodes, repeatedly. UM names
    other dependent ones, which leaves the equations as they are; ALPHA is thermal expansion."""
    reference = c.node(card.whole(3))
    dofs = _linked(c, card, card.text_at(4), [reference])
    words = [w for w in card.fields[4:] if w]
    words = words[: next((k for k, w in enumerate(words) if w.upper() in ("UM", "ALPHA")), len(words))]
    weights: dict[int, float] = {}
    k = 0
    while k < len(words):
        if "." not in words[k]:
            raise MeshError(f"a weight is needed in the place of {words[k]!r}")
        if k + 1 >= len(words):
            raise MeshError(f"components and nodes are missing after the weight {words[k]!r}")
        weight = Card(card.name, [words[k]], card.file, card.line, card.text).real(1)
        if components(words[k + 1], card.place) != [1, 2, 3]:
            raise MeshError(f"components {words[k + 1]} of the nodes that it averages; 123 is read")
        k += 2
        first = k
        while k < len(words) and "." not in words[k]:
            k += 1
        for n in c.named(words[first:k]):
            weights[c.node(n)] = weights.get(c.node(n), 0.0) + weight
    yield MeanLink(np.array(list(weights)), reference, np.array(list(weights.values())), dofs)


def _mpc(c: Connections, card: Card) -> Iterator[Made]:
    """MPC: SID, then node, component and coefficient; after every second a blank at both ends of a line."""
    words = [card.fields[k] for k in range(len(card.fields)) if k % 8 not in (0, 7)]
    nodes: list[int] = []
    dofs: list[int] = []
    values: list[float] = []
    for k in range(0, len(words), 3):
        if not any(words[k : k + 3]):
            continue
        term = Card(card.name, words[k : k + 3], card.file, card.line, card.text)
        row, component = c.node(term.whole(1)), term.whole(2, 0)
        n, d, v = c.terms(row, component, term.real(3))
        nodes, dofs, values = nodes + n, dofs + d, values + v
    yield Equation(np.array(nodes), np.array(dofs), np.array(values))


def _supports(c: Connections, card: Card) -> Iterator[Made]:
    """SPC: two nodes a card, each with components and a value; SPC1: components and nodes; GRID PS."""
    if card.name == "SPC":
        held = [(card.whole(k), card.text_at(k + 1), card.real(k + 2, 0.0)) for k in (2, 5) if card.text_at(k)]
    elif card.name == "SPC1":
        held = [(n, card.text_at(2), 0.0) for n in c.named(card.fields[2:], gaps=True, beside=c.rates)]
    else:
        held = [(card.whole(1), card.text_at(7), 0.0)]
    for number, dofs, value in held:
        if value:
            raise MeshError(f"a component is held at {value:g}, not at zero")
        if number in c.rates and dofs in ("", "0", "1"):
            yield Equation(np.array([c.rates[number]]), np.array([6]), np.ones(1))
            continue
        row = c.node(number)
        for dof in components(dofs, card.place):
            if dof <= 3 or row in c.turning:
                n, d, v = c.terms(row, dof, 1.0)
                yield Equation(np.array(n), np.array(d), np.array(v))


def _mass(c: Connections, card: Card) -> Iterator[Made]:
    """CONM2: EID, node, system, mass, offset, moments and products of inertia about the centre of mass. In the system
    -1 the offset is the place of the centre of mass in basic coordinates."""
    row, mass = c.node(card.whole(2)), card.real(4, 0.0)
    xx, yx, yy, zx, zy, zz = (card.real(k, 0.0) for k in range(9, 15))
    J = np.array([[xx, -yx, -zx], [-yx, yy, -zy], [-zx, -zy, zz]])
    x = np.array([card.real(k, 0.0) for k in (5, 6, 7)])
    if card.whole(3, 0) == -1:
        yield from _lump(c, row, mass, x - c.points[row], J)
    else:
        axes = c.systems.axes_at(card.whole(3, 0), c.points[row], card.place)
        yield from _lump(c, row, mass, x @ axes, axes.T @ J @ axes)


def _mass_matrix(c: Connections, card: Card) -> Iterator[Made]:
    """CONM1: EID, node, system, the lower triangle of the mass matrix (6, 6) of the node, row by row: that of a rigid
    lump, whose mass resists motion in all directions alike."""
    row = c.node(card.whole(2))
    M = np.zeros((6, 6))
    M[np.tril_indices(6)] = [card.real(k, 0.0) for k in range(4, 25)]
    M += np.tril(M, -1).T
    mass = float(np.trace(M[:3, :3]) / 3)
    moment = (M[3:, :3] - M[3:, :3].T) / 2
    for what, wrong, scale in (
        ("masses that differ with the direction of motion", M[:3, :3] - mass * np.eye(3), mass),
        ("a motion that turns it with a force along that motion", M[3:, :3] - moment, np.abs(M[3:, :3]).max()),
    ):
        if np.abs(wrong).max() > ROUNDED * abs(scale):
            raise MeshError(f"{what}, which no lump has, and which would turn with the part")
    if not mass > 0:
        raise MeshError("a moment of inertia without a mass" if M.any() else "no mass")
    axes = c.systems.axes_at(card.whole(3, 0), c.points[row], card.place)
    offset = np.array([moment[2, 1], moment[0, 2], moment[1, 0]]) / mass
    J = M[3:, 3:] - mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    rounding = ROUNDED * float(np.abs(M[3:, 3:]).max())
    yield from _lump(c, row, mass, offset @ axes, axes.T @ J @ axes, rounding)


def lumps_of_components(c: Connections, cards: list[Card]) -> None:
    """CMASS1, CMASS2: EID, property or mass, node and component of one end and of the other. Those that load the three
    translations of a node alike are a point mass there; others are not obeyed, because a mass that resists one
    direction alone would turn with the part."""
    at_node: dict[int, dict[int, float]] = {}
    sources: dict[int, list[Card]] = {}
    for card in cards:
        try:
            mass = card.real(2) if card.name == "CMASS2" else _property(c, card, "PMASS").real(2, 0.0)
            ends = [(card.whole(k), card.whole(k + 1, 0)) for k in (3, 5) if card.text_at(k) not in ("", "0")]
            if len(ends) != 1 or ends[0][1] not in (1, 2, 3):
                raise MeshError("a mass of a rotation, of a scalar point or between two components")
            row = c.node(ends[0][0])
        except MeshError as error:
            c.refuse(card, error)
            continue
        own = at_node.setdefault(row, {})
        own[ends[0][1]] = own.get(ends[0][1], 0.0) + mass
        sources.setdefault(row, []).append(card)
    for row, own in at_node.items():
        first = sources[row][0]
        if len(own) == 3 and max(own.values()) - min(own.values()) <= SAME * max(own.values()):
            source = Unread(first.name, first.file, first.line, first.text)
            c.masses.append((NodeMass(row, own[1] * c.mass_factor, source.label), source))
            continue
        for card in sources[row]:
            c.refuse(card, MeshError(f"the masses of components {sorted(own)} of its node, which no lump has"))


def _lump(
    c: Connections, row: int, mass: float, offset: np.ndarray, J: np.ndarray, rounding: float = 0.0
) -> Iterator[Made]:
    """A mass whose centre is beside a node, with the inertia `J` about the centre, which is known up to `rounding`.
    With an offset or inertia six masses on a rigid link stand for it, which have the same mass, centre and inertia."""
    mass, J, rounding = mass * c.mass_factor, J * c.mass_factor, rounding * c.mass_factor
    if not offset.any() and not J.any():
        yield NodeMass(row, mass)
        return
    if not mass > 0:
        raise MeshError("a moment of inertia without a mass")
    carrier = row if row in c.turning else c.carrier(row)
    if carrier not in c.turning:
        raise MeshError("an offset or inertia at a node without rotations")
    principal, directions = np.linalg.eigh(J)
    squares = 1.5 / mass * (principal.sum() - 2 * principal)
    if squares.min() < -1e-9 * np.abs(squares).max() - 3 / mass * rounding:
        raise MeshError(f"principal moments of inertia {principal}, of which one exceeds the sum of the others")
    arms = directions * np.sqrt(np.maximum(squares, 0.0))
    places = c.points[row] + offset + np.concatenate([arms.T, -arms.T])
    first = len(c.points)
    c.points.extend(places)
    yield RigidLink(np.arange(first, first + 6), carrier)
    yield from (NodeMass(first + k, mass / 6) for k in range(6))


def _spring(c: Connections, card: Card) -> Iterator[Made]:
    """CELAS1, CELAS2: EID, property or stiffness, node and component of one end and of the other."""
    values = card if card.name == "CELAS2" else _property(c, card, "PELAS")
    if values.real(7 if values is card else 3, 0.0):
        raise MeshError("structural damping (GE) of a spring")
    yield _between(c, card, stiffness=values.real(2))


def _damper(c: Connections, card: Card) -> Iterator[Made]:
    """CDAMP1, CDAMP2: EID, property or damping, node and component of one end and of the other."""
    values = card if card.name == "CDAMP2" else _property(c, card, "PDAMP")
    yield _between(c, card, damping=values.real(2))


def _between(c: Connections, card: Card, stiffness: float = 0.0, damping: float = 0.0) -> NodeSpring:
    """A spring or damper between a component of a node, fields 3 and 4, and one of another, or of the ground."""
    nodes: list[int] = []
    dofs: list[int] = []
    values: list[float] = []
    for k, sign in ((3, 1.0), (5, -1.0)):
        if card.text_at(k) not in ("", "0"):
            number, component = card.whole(k), card.whole(k + 1, 0)
            if not component and number not in c.row:
                raise MeshError(f"an end at scalar point {number}; ends at components of nodes are read")
            n, d, v = c.terms(c.node(number), component, sign)
            nodes, dofs, values = nodes + n, dofs + d, values + v
    return NodeSpring(np.array(nodes, int), np.array(dofs, int), np.array(values), stiffness, damping=damping)


def _property(c: Connections, card: Card, kind: str) -> Card:
    if (kind, card.whole(2)) not in c.properties:
        raise MeshError(f"the deck has no {kind} {card.whole(2)}")
    return c.properties[kind, card.whole(2)]


def _viscous(c: Connections, card: Card) -> Iterator[Made]:
    """CVISC with PVISC: EID, property, two nodes; dampers of the motion along their line and of the twist about it."""
    values = _property(c, card, "PVISC")
    ends = [c.node(card.whole(k)) for k in (3, 4)]
    e = c.points[ends[1]] - c.points[ends[0]]
    if not np.linalg.norm(e) > 0:
        raise MeshError("its ends coincide, and it has no direction")
    e = e / np.linalg.norm(e)
    axes = np.flatnonzero(np.abs(e) > 1e-12)
    for first, damping in ((0, values.real(2, 0.0)), (3, values.real(3, 0.0))):
        if first and damping and not set(ends) <= c.turning:
            raise MeshError("a damper of the twist of nodes without rotations")
        if damping:
            nodes, dofs = np.repeat(ends, len(axes)), np.tile(first + axes, 2)
            yield NodeSpring(nodes, dofs, np.concatenate([-e[axes], e[axes]]), damping=damping)


def _rbar(c: Connections, card: Card) -> Iterator[Made]:
    """RBAR: EID, two nodes, the independent components of each, the dependent ones: one node follows the other."""
    a, b = c.node(card.whole(2)), c.node(card.whole(3))
    for independent, dependent, own, theirs, follow in ((a, b, 4, 5, 7), (b, a, 5, 4, 6)):
        if card.text_at(own) == "123456" and card.text_at(theirs) in ("", "0"):
            given = card.text_at(follow)
            dofs = _linked(c, card, "123456" if given in ("", "0") else given, [dependent])
            yield RigidLink(np.array([dependent]), independent, dofs)
            return
    raise MeshError("its independent components are not 123456 at one end and none at the other")


def _bush(c: Connections, card: Card) -> Iterator[Made]:
    """CBUSH with PBUSH: six springs and dampers between two nodes, or a node and the ground, at a point between them to
    which both have rigid arms."""
    made = c.bushes.get(card.whole(2, card.whole(1)))
    if made is None:
        raise MeshError("the deck has no PBUSH for it")
    stiffness, damping = _strength_of_bush(made)
    if card.whole(10, -1) != -1:  # else the place along the line counts, and an offset does not
        raise MeshError("a bushing with an offset (OCID)")
    nodes = [c.node(card.whole(k)) for k in (3, 4) if card.text_at(k)]
    x = np.array([c.points[n] for n in nodes])
    along = card.real(9, 0.5)
    place = x[0] if len(x) == 1 else (1 - along) * x[0] + along * x[1]
    axes = _axes_of_bush(c, card, x, place, [k for k in range(6) if stiffness[k] or damping[k]])
    size = np.ptp(c.points, axis=0).max()
    for k in range(6):
        if not stiffness[k] and not damping[k]:
            continue
        e = axes[k % 3]
        rows: list[int] = []
        dofs: list[int] = []
        values: list[float] = []
        for n, sign in zip(nodes, (1.0, -1.0), strict=False):
            arm = place - c.points[n]
            parts = [(0, e), (3, np.cross(arm, e))] if k < 3 else [(3, e)]
            for first, v in parts:
                small = 1e-12 if first == 0 or k >= 3 else SAME * size
                if first == 3 and np.abs(v).max() > small and n not in c.turning:
                    raise MeshError(
                        "a bushing that turns nodes without rotations, such as those of solids: end it at the "
                        "reference node of an RBE2 or RBE3, or leave out K4 to K6, and let it lie at its nodes"
                    )
                for j in np.flatnonzero(np.abs(v) > small):
                    rows.append(n)
                    dofs.append(first + int(j))
                    values.append(sign * float(v[j]))
        yield NodeSpring(np.array(rows), np.array(dofs), np.array(values), stiffness[k], damping=damping[k])


def _strength_of_bush(card: Card) -> tuple[list[float], list[float]]:
    """The stiffnesses K and dampings B of a PBUSH, whose lines each begin with a letter."""
    found = {"K": [0.0] * 6, "B": [0.0] * 6}
    for first in range(1, len(card.fields) + 1, 8):
        letter = card.text_at(first + 1).upper()
        values = [card.real(first + 2 + k, 0.0) for k in range(6)]
        if letter in found:
            found[letter] = values
        elif letter != "RCV" and any(values):
            raise MeshError(f"a line {letter or 'without a letter'} of its PBUSH; K, B and RCV are read")
    return found["K"], found["B"]


def _axes_of_bush(c: Connections, card: Card, x: np.ndarray, place: np.ndarray, used: list[int]) -> np.ndarray:
    """The axes, in rows, of a bushing: those of its coordinate system, or its line with a vector or node; along the
    line only where nothing else is stiff."""
    if card.text_at(8):
        return c.systems.axes_at(card.whole(8), x[0], card.place)
    size = np.ptp(c.points, axis=0).max()
    if len(x) < 2 or not np.linalg.norm(x[1] - x[0]) > SAME * size:
        raise MeshError("a bushing at one place, or to the ground, without a coordinate system (CID)")
    first = (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
    text, n = card.text_at(5), c.node(card.whole(3))
    if text.isdigit() and not card.text_at(6) and not card.text_at(7):
        v = c.points[c.node(int(text))] - x[0]
    elif any(card.text_at(k) for k in (5, 6, 7)):
        v = np.array([card.real(k, 0.0) for k in (5, 6, 7)])
        v = v @ c.axes[n] if n in c.axes else v
    elif {k % 3 for k in used} == {0}:
        v = np.eye(3)[int(np.argmin(np.abs(first)))]
    else:
        raise MeshError("a bushing that acts across its line, without a vector or a coordinate system")
    z = np.cross(first, v)
    if not np.linalg.norm(z) > 1e-6 * np.linalg.norm(v):
        raise MeshError("a bushing whose vector is along its line")
    z /= np.linalg.norm(z)
    return np.stack([first, np.cross(z, first), z])


_READERS: dict[str, Callable[[Connections, Card], Iterator[Made]]] = {
    "RBE2": _rbe2,
    "RBE3": _rbe3,
    "MPC": _mpc,
    "SPC": _supports,
    "SPC1": _supports,
    "GRID PS": _supports,
    "CONM1": _mass_matrix,
    "CONM2": _mass,
    "RBAR": _rbar,
    "CBUSH": _bush,
    "CELAS1": _spring,
    "CELAS2": _spring,
    "CDAMP1": _damper,
    "CDAMP2": _damper,
    "CVISC": _viscous,
}

"""Shells, beams and rods of a Nastran deck with their sections, and the nodes at the ends of beams beside theirs."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from fem.elements import LINE, TRUSS
from fem.errors import MaterialError, MeshError
from fem.files.nastran import lines
from fem.files.nastran.cards import Card
from fem.files.nastran.constraints import Connections
from fem.files.nastran.deck import NEW_NODES, Deck, material_of, not_obeyed
from fem.files.nastran.materials import SLACK
from fem.files.nastran.sections import BEAM_PROPERTIES, beam, tapered, varies
from fem.files.nastran.shells import SHELL_PROPERTIES, SURFACES, card_of_element, is_membrane, shell
from fem.files.nastran.systems import Systems
from fem.files.nastran.warping import WarpingEnds, scalar_points
from fem.mesh.constraints import NodeMass, NodeSpring
from fem.mesh.unread import Declared, Stated, Unread
from fem.shell import Shell


def split_rods(deck: Deck) -> None:
    """Make trusses of the CROD and CTUBE whose property is read; others mark places."""
    rows, numbers, sources = deck.cells.pop(LINE, ([], [], []))
    for nodes, number, card in zip(rows, numbers, sources, strict=True):
        is_rod = card.name in lines.RODS and deck.owner(card, number) is not None
        deck.add(TRUSS if is_rod else LINE, nodes, card, number)


@dataclass
class Beams:
    """Nodes that stand for the ends of beams beside their nodes, and what lines add to nodes.

    - `arms`: card, node, end, the node of the end and that between both, and the beam;
    - `masses`: card, node and mass; `twisted`: card, two nodes and torsional stiffness of rods;
    - `warping`: ends of beams whose warping is held or passed on;
    - `untwisted`: properties without torsion constant, with the number of their beams.
    """

    points: dict[int, np.ndarray]
    axes: dict[int, np.ndarray]
    arms: list[tuple[Card, int, int, tuple[int, int | None], lines.Ends]] = field(default_factory=list)
    masses: list[tuple[Card, int, float]] = field(default_factory=list)
    twisted: list[tuple[Card, tuple[int, int], float]] = field(default_factory=list)
    warping: WarpingEnds = field(default_factory=WarpingEnds)
    untwisted: dict[str, int] = field(default_factory=dict)
    added: int = 0

    def add(self, place: np.ndarray) -> int:
        """A new node."""
        number = NEW_NODES + self.added
        self.added += 1
        self.points[number] = place
        return number

    def place(self, card: Card, nodes: list[int], made: lines.Ends) -> None:
        """Put new nodes in the place of the ends of a beam that are offset or released."""
        for end in (0, 1):
            if made.offset[end] or made.released[end]:
                place = (made.a, made.b)[end]
                middle = self.add(place) if made.offset[end] and made.released[end] else None
                number, nodes[end] = nodes[end], self.add(place)
                self.arms.append((card, number, end, (nodes[end], middle), made))

    def lump(self, card: Card, nodes: list[int], mass: float) -> None:
        """Add a mass per length, half of it at each end."""
        if mass:
            length = float(np.linalg.norm(self.points[nodes[1]] - self.points[nodes[0]]))
            self.masses += [(card, n, mass * length / 2) for n in nodes]

    def state(self, to: Connections, row: dict[int, int]) -> tuple[str, ...]:
        """Add constraints, masses and springs to the others of the deck; notes on rods and beams whose twist is
        free."""
        free = []
        for card, node, end, (beside, middle), made in self.arms:
            source = not_obeyed(card)
            for c in lines.connections(row[node], row[beside], end, made, None if middle is None else row[middle]):
                to.constraints.append(Stated(replace(c, source=source.label), source))
        to.constraints += self.warping.ties(row)
        to.unread += self.warping.contradictions()
        for card, node, mass in self.masses:
            source = not_obeyed(card)
            to.masses.append((NodeMass(row[node], mass, source.label), source))
        for card, (a, b), stiffness in self.twisted:
            if (row[a] in to.turning) != (row[b] in to.turning):
                free.append(f"{card.name}, line {card.line} of {card.file}")
            elif row[a] in to.turning:  # elsewhere nothing else resists or loads the twist
                source, x = not_obeyed(card), self.points[b] - self.points[a]
                x = x / np.linalg.norm(x)
                ends = np.repeat([row[a], row[b]], 3)
                turns = np.tile([3, 4, 5], 2)
                to.springs.append((NodeSpring(ends, turns, np.concatenate([-x, x]), stiffness, source.label), source))
        note = "rods twist freely at an end that nothing else gives rotations, also where supports hold these; first:"
        soft = [
            f"{what} has no torsion constant J, which is zero in Nastran: its {count} beams do not resist twist; give "
            "J, or a fem.Beam of your own, if they should"
            for what, count in self.untwisted.items()
        ]
        return (*((f"{len(free)} {note} {free[0]}",) if free else ()), *soft)


def sectioned(deck: Deck, beams: Beams, unread_lines: list[Unread]) -> Iterator[Declared]:
    """The sections of shells, beams and rods, cells of the same section together; cells whose section is not understood
    are not obeyed."""
    groups: dict[tuple, list[tuple[int, int]]] = {}
    made_of: dict[tuple, Declared] = {}
    shells: dict[tuple, tuple[int, Shell]] = {}
    systems = Systems(deck.systems, beams.points)
    has_shells = any(card.name in SHELL_PROPERTIES for card in deck.properties.values())
    for block, (kind, (rows, numbers, sources)) in enumerate(deck.cells.items()):
        for place, (nodes, number, card) in enumerate(zip(rows, numbers, sources, strict=True)):
            owner = deck.owner(card, number)
            try:
                if any(n not in beams.points for n in nodes):
                    continue  # refused with all others
                if owner is None and kind == LINE and (others := deck.of_others(number)):
                    raise MeshError(f"its property {number} is a {others[0].name}, which is none of {card.name}")
                if kind == LINE:
                    key = _beam_key(deck, beams, owner, card, nodes, made_of)
                elif kind == TRUSS:
                    key = _rod_key(deck, beams, owner, card, nodes, made_of)
                elif card.name in SURFACES and owner is not None and owner.name in SHELL_PROPERTIES:
                    key = _shell_key(deck, owner, card, systems, shells, made_of)
                elif card.name in SURFACES and has_shells:
                    raise MeshError(f"its property {number} is no PSHELL, PCOMP or PCOMPG of the deck")
                else:
                    continue  # it is a solid, or marks a place in a deck without shells
            except (MeshError, MaterialError) as error:
                bare = kind == LINE and owner is None and not deck.of_others(number)
                (unread_lines if bare else deck.unread).append(not_obeyed(card, reason=str(error)))
                continue
            groups.setdefault(key, []).append((block, place))
    for key, places in groups.items():
        yield replace(made_of[key], cells=np.array(places, dtype=np.int64))


_NONE = np.zeros((0, 2), dtype=np.int64)


def _beam_key(
    deck: Deck, beams: Beams, owner: Card | None, card: Card, nodes: list[int], made_of: dict[tuple, Declared]
) -> tuple:
    """The section of a CBAR or CBEAM, whose ends get nodes of their own where they are beside their nodes."""
    if owner is None or owner.name not in BEAM_PROPERTIES or card.name not in lines.BEAMS:
        raise MeshError(f"a property that is read ({', '.join(BEAM_PROPERTIES)}) is missing")
    ends = lines.ends(card, beams.points, beams.axes)
    points = scalar_points(card, beams.points)
    if varies(owner):
        if points[0]:
            raise MeshError("warping of the ends of a beam that varies")
        return _tapered_key(deck, beams, owner, card, nodes, made_of, ends)
    number, section, theory, mass, aside = beam(owner)
    if not section.J:
        said = f"{owner.name} {owner.whole(1)} (line {owner.line} of {owner.file})"
        beams.untwisted[said] = beams.untwisted.get(said, 0) + 1
    torsion = "vlasov" if points[0] and section.warping else "saint-venant"
    key = (owner.name, owner.whole(1), ends.y, torsion)
    if key not in made_of:
        name, known, source = material_of(deck, number, owner, "beams")
        common = (name, known.elasticity, known.density, source, _NONE)
        made_of[key] = Declared(
            *common, beam=(section, ends.y, aside), wrong=known.wrong, theory=theory, torsion=torsion
        )
    beams.place(card, nodes, ends)
    if torsion == "vlasov":
        beams.warping.add(card, points, nodes, ends.axes)
    beams.lump(card, nodes, mass * deck.mass_factor)
    return key


def _tapered_key(
    deck: Deck,
    beams: Beams,
    owner: Card,
    card: Card,
    nodes: list[int],
    made_of: dict[tuple, Declared],
    ends: lines.Ends,
) -> tuple:
    """The section of a CBEAM that varies along it, which is one of its own for every place."""
    key = (owner.name, owner.whole(1), ends.y, tuple(ends.a.tolist()), tuple(ends.b.tolist()))
    if key not in made_of:
        name, known, source = material_of(deck, owner.whole(2), owner, "beams")
        table = tapered(owner, name, known, deck.mass_factor, ends.a, ends.b, ends.y)
        common = (
            f"{name}, {table.name} of {card.name} {card.whole(1)}",
            known.elasticity,
            known.density,
            source,
            _NONE,
        )
        made_of[key] = Declared(*common, wrong=known.wrong, table=table)
    beams.place(card, nodes, ends)
    return key


def _rod_key(
    deck: Deck, beams: Beams, owner: Card | None, card: Card, nodes: list[int], made_of: dict[tuple, Declared]
) -> tuple:
    """The section of a CROD, CTUBE or CONROD, which also twists where its nodes have rotations."""
    assert owner is not None  # rods without a property are no trusses
    number, area, J, mass = lines.rod(owner)
    key = (number, area)
    name, known, source = material_of(deck, number, owner, "rods")
    twists = J and material_of(deck, number, owner, "beams")[1].elasticity is not None  # E alone: no shear modulus
    if key not in made_of:
        made_of[key] = Declared(name, known.elasticity, known.density, source, _NONE, wrong=known.wrong, area=area)
    length = float(np.linalg.norm(beams.points[nodes[1]] - beams.points[nodes[0]]))
    if twists and known.elasticity is not None and length > 0:
        G = float(1 / np.linalg.inv(known.elasticity)[3, 3])
        beams.twisted.append((card, (nodes[0], nodes[1]), G * J / length))
    beams.lump(card, nodes, mass * deck.mass_factor)
    return key


def _shell_key(
    deck: Deck,
    owner: Card,
    card: Card,
    systems: Systems,
    shells: dict[tuple, tuple[int, Shell]],
    made_of: dict[tuple, Declared],
) -> tuple:
    """The section of a shell element; the direction of its material counts only where the shell has one."""
    element = card_of_element(card)
    known = (owner.whole(1), element)
    if known not in shells:
        shells[known] = shell(owner, element, deck.materials, systems, deck.mass_factor, card.place)
    number, made = shells[known]
    key = (owner.name, owner.whole(1), element[:2], made.x_axis)
    if key not in made_of:
        name, own, source = material_of(deck, number, owner, "shells")
        if is_membrane(owner) and not any(k[:2] == key[:2] for k in made_of):
            deck.notes.append(
                f"{owner.name} {owner.whole(1)} (line {owner.line} of {owner.file}) is a membrane; here it bends and "
                f"shears across with {SLACK:g} of the stiffness of a plate, and nodes that nothing else holds along "
                "its normal move almost freely"
            )
        plain = not made.plies and (made.bending_ratio, made.shear_ratio, made.added_mass) == (1.0, 1.0, 0.0)
        plain = plain and made.x_axis is None and made.stiffness is None
        name = name if plain else f"{name}, {owner.name} {owner.whole(1)}"
        common = (name, own.elasticity, own.density, source, _NONE, made.thickness, made.offset)
        made_of[key] = Declared(*common, wrong=own.wrong, shell=None if plain else made)
    return key

"""Reader of Nastran bulk data (.bdf, .nas, .fem): nodes, solids, shells, beams, their sections, constraints.

Read: GRID in any coordinate system, CTETRA, CPYRAM, CPYRA, CPENTA, CHEXA in every format and continuation of cards;
CQUAD4, CTRIA3 with PSHELL, CBAR, CBEAM with PBAR, PBARL, PBEAM, PBEAML (`fem.files.nastran.sections`); constraints,
supports, masses and springs (`fem.files.nastran.constraints`). Case control selects the sets of SPC and MPC. Elements
of one property are the group "property N". MAT1 gives the materials. Surfaces and lines without a section mark places.
Every other card that changes the part is kept with its line as not obeyed, and so is one that is not understood in
full.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from fem.elements import ELEMENTS, LINE
from fem.errors import MeshError
from fem.files.nastran.cards import Card, cards, selections
from fem.files.nastran.constraints import Connections
from fem.files.nastran.sections import BEAM_PROPERTIES, Constants, beam, constants, shell, vector
from fem.files.nastran.systems import KINDS, Systems
from fem.mesh.raw_mesh import RawMesh
from fem.mesh.unread import Declared, Unread
from fem.user_files import IncludedFiles

SURFACES = {"CTRIA3": ("triangle", 3), "CTRIAR": ("triangle", 3), "CTRIA6": ("triangle6", 6), "CQUAD4": ("quad", 4),
"CQUADR": ("quad", 4), "CQUAD8": ("quad8", 8)}  # fmt: skip
SHELLS = {"CTRIA3": 7, "CTRIAR": 7, "CQUAD4": 8, "CQUADR": 8}
"""Surfaces that are shells where their property is a PSHELL, and the field of the offset."""
LINES = {"CBAR", "CBEAM", "CROD"}
_SHELL_PROPERTIES = ("PSHELL", "PCOMP", "PCOMPG")
_WITHOUT_EFFECT = """
PARAM MDLPRM NASTRAN EIGR EIGRL EIGB EIGC EIGP FREQ FREQ1 FREQ2 FREQ3 FREQ4 FREQ5 TSTEP TSTEPNL NLPARM NLSTEP
TABLED1 TABLED2 TABLED3 TABLED4 TABDMP1 PLOTEL PLOTEL3 PLOTEL4 SET SET1 SET3 TITLE SUBTITLE LABEL ECHO MATT1 SPOINT
"""
HARMLESS = {*_WITHOUT_EFFECT.split(), *_SHELL_PROPERTIES, *BEAM_PROPERTIES, "PELAS"}
"""Cards that do not change a free, linear elastic part by themselves; any other that is not read counts as
not obeyed."""
CONNECTING = ("RBE2", "RBE3", "RBAR", "CONM2", "CELAS1", "CELAS2", "CBUSH")
SELECTED = {"MPC": "MPC", "SPC": "SPC", "SPC1": "SPC"}
"""Cards that act if case control selects their number."""
_NEUTRAL = {"G": 0.0, "ALPHA1": 0.0, "ALPHA2": 0.0}
"""Parameters that change the part, and the value at which they do not."""
CONSISTENT = 0.01
"""Relative difference of E and 2 G (1 + nu) beyond which Nastran too says that a material is not isotropic."""
NEW_NODES = 10**9
"""Number of the first node that this reader adds."""


@dataclass
class _Deck:
    """What the cards say, in the numbers of the file."""

    nodes: dict[int, Card] = field(default_factory=dict)
    cells: dict[str, tuple[list[list[int]], list[int], list[Card]]] = field(default_factory=dict)
    properties: dict[int, Card] = field(default_factory=dict)
    materials: dict[int, Card] = field(default_factory=dict)
    systems: dict[int, Card] = field(default_factory=dict)
    used_systems: set[int] = field(default_factory=set)
    springs: dict[int, Card] = field(default_factory=dict)
    bushes: dict[int, Card] = field(default_factory=dict)
    connecting: list[Card] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)  # of solid elements
    unread: list[Unread] = field(default_factory=list)
    mass_factor: float = 1.0

    def add(self, kind: str, nodes: list[int], card: Card, group: int) -> None:
        rows, groups, sources = self.cells.setdefault(kind, ([], [], []))
        rows.append(nodes)
        groups.append(group)
        sources.append(card)


def read_nastran_mesh(path: Path) -> RawMesh:
    """The contents of a Nastran deck as a raw mesh. Raises `MeshError`, which names file and line."""
    included = IncludedFiles(path, MeshError)
    try:
        return _read(path, included)
    except MeshError as error:
        raise included.without_quotes(error) from None


def _read(path: Path, included: IncludedFiles) -> RawMesh:
    deck = _Deck()
    for card in cards(path, included):
        _take(deck, card)
    return _raw(deck, path)


def _not_obeyed(card: Card, keyword: str = "", reason: str = "") -> Unread:
    text = f"{card.text} (not obeyed: {reason})" if reason else card.text
    return Unread(keyword or card.name, card.file, card.line, text)


def _take(deck: _Deck, card: Card) -> None:
    """Add one card to the deck."""
    if card.name == "GRID":
        known = deck.nodes.setdefault(card.whole(1), card)
        if [card.text_at(k) for k in range(2, 6)] != [known.text_at(k) for k in range(2, 6)]:
            raise MeshError(
                f"{card.place}: node {card.whole(1)} is given twice, at {known.fields[1:5]} and {card.fields[1:5]}."
            )
    elif any(card.name in e.nastran for e in ELEMENTS.values()):
        _take_cell(deck, card)
    elif card.name in SURFACES:
        kind, count = SURFACES[card.name]
        if not all(card.text_at(k).isdigit() for k in range(3, 3 + count)):
            deck.unread.append(_not_obeyed(card, reason="nodes on its sides are left out"))
            return
        deck.add(kind, [card.whole(k) for k in range(3, 3 + count)], card, card.whole(2, 0))
    elif card.name in LINES:
        deck.add(LINE, [card.whole(3), card.whole(4)], card, card.whole(2, 0))
    elif card.name in ("PSOLID", *_SHELL_PROPERTIES, *BEAM_PROPERTIES):
        deck.properties[card.whole(1)] = card
        if card.name == "PSOLID":
            deck.used_systems.add(_system(card, 3))
    elif card.name == "MAT1":
        deck.materials[card.whole(1)] = card
        if card.real(8, 0.0):
            deck.unread.append(_not_obeyed(card, "MAT1 GE"))
        E, G, nu = (card.real(k, np.nan) for k in (2, 3, 4))
        if abs(E - 2 * G * (1 + nu)) > CONSISTENT * E:  # never of a number that is left out
            deck.unread.append(_not_obeyed(card, "MAT1 G"))
    elif card.name in KINDS:
        deck.systems[card.whole(1)] = card
        if card.name.startswith("CORD1") and card.text_at(5):
            deck.systems[card.whole(5)] = card
    elif card.name == "PBUSH":
        deck.bushes[card.whole(1)] = card
    elif card.name == "PELAS":
        deck.springs[card.whole(1)] = card
        if card.text_at(5):
            deck.springs[card.whole(5)] = replace(card, fields=card.fields[4:])
    elif card.name == "PARAM" and card.text_at(1).upper() == "WTMASS":
        deck.mass_factor = card.real(2)
    elif card.name == "PARAM" and card.text_at(1).upper() in _NEUTRAL:
        if card.real(2) != _NEUTRAL[card.text_at(1).upper()]:
            deck.unread.append(_not_obeyed(card, f"PARAM {card.text_at(1).upper()}"))
    elif card.name in CONNECTING or card.name in SELECTED:
        deck.connecting.append(card)
    elif card.name not in HARMLESS:
        deck.unread.append(_not_obeyed(card))


def _system(card: Card, number: int) -> int:
    text = card.text_at(number)
    return int(text) if text.lstrip("-").isdigit() else 0


def _take_cell(deck: _Deck, card: Card) -> None:
    found = [card.text_at(k) for k in range(3, len(card.fields) + 1)]
    while found and found[-1] in ("", "0"):
        found.pop()
    counts = {e.nodes: e for e in ELEMENTS.values() if card.name in e.nastran and e.own_cell}
    if len(found) not in counts:
        raise MeshError(
            f"{card.place}: a {card.name} has {' or '.join(map(str, counts))} nodes; found {len(found)}. Nodes left "
            "out on edges are not supported."
        )
    shape = counts[len(found)]
    nodes = [card.whole(k + 3) for k in range(len(found))]
    if card.whole(1) in deck.numbers:
        raise MeshError(
            f"{card.place}: element {card.whole(1)} is given twice. Every element needs a number of its own."
        )
    deck.numbers.add(card.whole(1))
    group = card.whole(2, card.whole(1))
    deck.add(shape.kind, [nodes[k] for k in shape.nastran_order or range(shape.nodes)], card, group)


def _placed(deck: _Deck) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """Places of the nodes in basic coordinates, and the axes of those whose components are turned."""
    points: dict[int, np.ndarray] = {}
    systems = Systems(deck.systems, points)
    given = {n: np.array([card.real(k, 0.0) for k in (3, 4, 5)]) for n, card in deck.nodes.items()}
    for number, card in deck.nodes.items():  # those in basic coordinates first: systems may be given by nodes
        if _system(card, 2) == 0:
            points[number] = given[number]
    for number, card in deck.nodes.items():
        if _system(card, 2) != 0:
            points[number] = systems.place(_system(card, 2), given[number], card.place)
    axes = {}
    for number, card in deck.nodes.items():
        if _system(card, 6) > 0:
            axes[number] = systems.axes_at(_system(card, 6), points[number], card.place)
    for number in deck.used_systems - {0}:
        if number in deck.systems:
            deck.unread.append(_not_obeyed(deck.systems[number]))
    return points, axes


def _raw(deck: _Deck, path: Path) -> RawMesh:
    points, axes = _placed(deck)
    ids = sorted(points)
    row = {number: k for k, number in enumerate(ids)}
    blocks, groups = [], []
    for kind, (rows, properties, _) in deck.cells.items():
        missing = sorted({n for nodes in rows for n in nodes} - set(row))
        if missing:
            raise MeshError(
                f"{path.name}: {kind} cells refer to {len(missing)} nodes that the deck does not define (first: "
                f"{missing[0]})."
            )
        blocks.append((kind, np.array([[row[n] for n in nodes] for nodes in rows], dtype=np.int64)))
        groups.append(np.array(properties, dtype=np.int64))
    every = sorted({int(p) for values in groups for p in np.unique(values)} - {0})
    named = {f"property {p}": [np.flatnonzero(values == p) for values in groups] for p in every}
    unread_lines: list[Unread] = []
    declared = [*_solids(deck, named), *_sectioned(deck, points, axes, unread_lines)]
    structure = _structure(deck, declared)
    turning = {int(n) for block, (rows, _) in structure.items() for n in blocks[block][1][rows].ravel()}
    connections = _connections(deck, path, [points[n] for n in ids], row, axes, turning)
    new = NEW_NODES + np.arange(len(connections.points) - len(ids))
    return RawMesh(
        np.array(connections.points).reshape(-1, 3),
        np.concatenate([np.array(ids, dtype=np.int64), new]),
        tuple(blocks),
        named,
        beams=True,
        unread=(*deck.unread, *connections.unread),
        unread_lines=tuple(unread_lines),
        declared=tuple(declared),
        constraints=tuple(connections.constraints),
        supports=tuple(connections.supports),
        shells=structure,
        masses=tuple(connections.masses),
        springs=tuple(connections.springs),
    )


def _connections(
    deck: _Deck,
    path: Path,
    points: list[np.ndarray],
    row: dict[int, int],
    axes: dict[int, np.ndarray],
    turning: set[int],
) -> Connections:
    """Constraints, supports, masses and springs; those of sets that case control does not select are none."""
    for card in deck.connecting:
        if card.name in ("RBE2", "RBE3", "RBAR"):
            first = card.whole(3 if card.name == "RBE3" or (card.text_at(4) == "" and card.name == "RBAR") else 2, 0)
            turning |= {row[first]} if first in row else set()
    turned = {row[n]: R for n, R in axes.items()}
    frames = Systems(deck.systems, {n: points[k] for n, k in row.items()})
    found = Connections(row, points, turned, turning, deck.springs, deck.bushes, frames, deck.mass_factor)
    chosen = selections(path)
    for card in deck.connecting:
        kind = SELECTED.get(card.name, "")
        mine = {c.whole(1) for c in deck.connecting if SELECTED.get(c.name) == kind} if kind else set()
        active = chosen.get(kind, mine)
        if kind and len(active) > 1:
            reason = f"the deck has the sets {sorted(active)}, and one must be selected"
            found.unread.append(_not_obeyed(card, reason=reason))
        elif not kind or card.whole(1) in active:
            found.take(card)
    for card in deck.nodes.values():
        if card.text_at(7) not in ("", "0"):
            found.take(card, "GRID PS")
    return found


def _structure(deck: _Deck, declared: list[Declared]) -> dict[int, tuple[np.ndarray, Unread]]:
    """Rows of the blocks of surfaces and lines that have a section."""
    found: dict[int, tuple[np.ndarray, Unread]] = {}
    cards_of = [sources for _, _, sources in deck.cells.values()]
    for d in declared:
        if d.thickness is not None or d.beam is not None:
            for block in np.unique(d.cells[:, 0]).tolist():
                rows = d.cells[d.cells[:, 0] == block, 1]
                known = found[block][0] if block in found else np.zeros(0, dtype=np.int64)
                found[block] = np.union1d(known, rows), _not_obeyed(cards_of[block][int(rows[0])])
    return found


def _material(deck: _Deck, number: int, source: Card, beam: bool = False) -> tuple[str, Constants, Unread]:
    card = deck.materials.get(number)
    if card is None:
        return f"material {number}", Constants(None, None), _not_obeyed(source)
    return f"MAT1 {number}", constants(card, deck.mass_factor, beam), _not_obeyed(card)


def _solids(deck: _Deck, named: dict[str, list[np.ndarray]]) -> Iterator[Declared]:
    for number, card in deck.properties.items():
        if card.name == "PSOLID":
            members = named.get(f"property {number}", [])
            cells = [np.column_stack([np.full(len(rows), block), rows]) for block, rows in enumerate(members)]
            places = np.vstack([np.zeros((0, 2), dtype=np.int64), *cells])
            name, known, source = _material(deck, card.whole(2), card)
            yield Declared(name, known.elasticity, known.density, source, places, wrong=known.wrong)


def _sectioned(
    deck: _Deck, points: dict[int, np.ndarray], axes: dict[int, np.ndarray], unread_lines: list[Unread]
) -> Iterator[Declared]:
    """The sections of shells and beams, cells of the same section together; cells whose section is not understood are
    not obeyed."""
    groups: dict[tuple, list[tuple[int, int]]] = {}
    first: dict[tuple, Card] = {}
    for block, (kind, (_, numbers, sources)) in enumerate(deck.cells.items()):
        for place, (number, card) in enumerate(zip(numbers, sources, strict=True)):
            made = deck.properties.get(number)
            try:
                if kind == LINE:
                    if made is None or made.name not in BEAM_PROPERTIES or card.name == "CROD":
                        raise MeshError(f"a property that is read ({', '.join(BEAM_PROPERTIES)}) is missing")
                    key: tuple = (number, vector(card, points, axes))
                elif card.name in SHELLS and made is not None:
                    key = (number, _offset(card))
                elif made is not None and made.name in _SHELL_PROPERTIES:
                    raise MeshError("its shape functions")
                else:
                    continue  # it marks a place
                if key not in first:
                    (beam if kind == LINE else _shell)(made)
            except MeshError as error:
                bare = kind == LINE and (made is None or made.name not in BEAM_PROPERTIES)
                (unread_lines if bare else deck.unread).append(_not_obeyed(card, reason=str(error)))
                continue
            first.setdefault(key, made)
            groups.setdefault(key, []).append((block, place))
    for key, places in groups.items():
        card, cells = first[key], np.array(places, dtype=np.int64)
        if card.name in BEAM_PROPERTIES:
            number, section, theory = beam(card)
            name, known, source = _material(deck, number, card, beam=True)
            common = (name, known.elasticity, known.density, source, cells)
            yield Declared(*common, beam=(section, key[1]), wrong=known.wrong, theory=theory)
        else:
            number, thickness = _shell(card)
            name, known, source = _material(deck, number, card)
            yield Declared(name, known.elasticity, known.density, source, cells, thickness, key[1], wrong=known.wrong)


def _shell(card: Card) -> tuple[int, float]:
    if card.name != "PSHELL":
        raise MeshError(f"{card.name}, layers")
    return shell(card)


def _offset(card: Card) -> float:
    """Distance of the middle surface from the nodes of a shell. Refuses thicknesses that vary."""
    offset = SHELLS[card.name]
    if any(text not in ("", "0") for text in card.fields[offset:]):
        raise MeshError("thicknesses of its own (T1 to T4)")
    return card.real(offset, 0.0)

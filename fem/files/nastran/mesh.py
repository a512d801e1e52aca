"""Reader of Nastran decks: nodes and solid elements. All other cards that would change the part are recorded as not
obeyed.

Properties become groups "property N". Surface elements without a property card of shells only mark the faces of a set.
`MAT1` with `PSOLID` is compared with the materials of the model. Reference: MSC Nastran Quick Reference Guide, bulk
data entries.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fem.elements import ELEMENTS
from fem.errors import MaterialError, MeshError
from fem.files.nastran.cards import Card, cards
from fem.material import Material
from fem.mesh.raw_mesh import RawMesh
from fem.mesh.unread import Declared, Unread

SURFACES = {"CTRIA3": ("triangle", 3), "CTRIAR": ("triangle", 3), "CTRIA6": ("triangle6", 6), "CQUAD4": ("quad", 4),
"CQUADR": ("quad", 4), "CQUAD8": ("quad8", 8)}  # fmt: skip
LINES = {"CBAR", "CBEAM", "CROD"}
_SHELLS = ("PSHELL", "PCOMP", "PCOMPG")
_WITHOUT_EFFECT = """
PARAM MDLPRM NASTRAN EIGR EIGRL EIGB EIGC EIGP FREQ FREQ1 FREQ2 FREQ3 FREQ4 FREQ5 TSTEP TSTEPNL NLPARM NLSTEP
TABLED1 TABLED2 TABLED3 TABLED4 TABDMP1 PLOTEL PLOTEL3 PLOTEL4 SET SET1 SET3 TITLE SUBTITLE LABEL ECHO MATT1 SPOINT
"""
HARMLESS = {*_WITHOUT_EFFECT.split(), *_SHELLS}
"""Cards that do not change a free, linear elastic part by themselves; any other that is not read counts as
not obeyed."""
_NEUTRAL = {"WTMASS": 1.0, "G": 0.0, "ALPHA1": 0.0, "ALPHA2": 0.0}
"""Parameters that change the part, and the value at which they do not."""
CONSISTENT = 0.01
"""Relative difference of E and 2 G (1 + nu) beyond which Nastran too says that a material is not isotropic."""
Rows = dict[str, tuple[list[list[int]], list[int]]]


@dataclass
class _Deck:
    """What the cards say, in the numbers of the file."""

    nodes: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    cells: Rows = field(default_factory=dict)  # kind -> nodes and properties
    surfaces: list[Card] = field(default_factory=list)
    shells: set[int] = field(default_factory=set)
    solids: dict[int, Card] = field(default_factory=dict)  # property -> its card
    numbers: set[int] = field(default_factory=set)  # of solid elements
    materials: dict[int, Card] = field(default_factory=dict)
    systems: dict[int, Card] = field(default_factory=dict)
    used_systems: set[int] = field(default_factory=set)
    unread: list[Unread] = field(default_factory=list)
    unread_lines: list[Unread] = field(default_factory=list)

    def add(self, kind: str, nodes: list[int], group: int) -> None:
        rows, groups = self.cells.setdefault(kind, ([], []))
        rows.append(nodes)
        groups.append(group)


def read_nastran_mesh(path: Path) -> RawMesh:
    """The contents of a Nastran deck as a raw mesh. Raises `MeshError`, which names file and line."""
    deck = _Deck()
    for card in cards(path):
        _take(deck, card)
    for card in deck.surfaces:
        if card.whole(2, 0) in deck.shells:
            deck.unread.append(_not_obeyed(card))
    deck.unread += [_not_obeyed(card) for number, card in deck.systems.items() if number in deck.used_systems]
    return _raw(deck, path)


def _not_obeyed(card: Card, keyword: str = "") -> Unread:
    return Unread(keyword or card.name, card.file, card.line, card.text)


def _take(deck: _Deck, card: Card) -> None:
    """Add one card to the deck."""
    if card.name == "GRID":
        _take_node(deck, card)
    elif any(card.name in e.nastran for e in ELEMENTS.values()):
        _take_cell(deck, card)
    elif card.name in SURFACES:
        kind, count = SURFACES[card.name]
        deck.add(kind, [card.whole(k) for k in range(3, 3 + count)], card.whole(2, 0))
        deck.surfaces.append(card)
    elif card.name in LINES:
        deck.add("line", [card.whole(3), card.whole(4)], card.whole(2, 0))
        deck.unread_lines.append(_not_obeyed(card))
    elif card.name == "PSOLID":
        deck.solids[card.whole(1)] = card
        deck.used_systems.add(_system(card, 3))
    elif card.name == "MAT1":
        deck.materials[card.whole(1)] = card
        if card.real(8, 0.0):
            deck.unread.append(_not_obeyed(card, "MAT1 GE"))
        E, G, nu = (card.real(k, np.nan) for k in (2, 3, 4))
        if abs(E - 2 * G * (1 + nu)) > CONSISTENT * E:  # never of a number that is left out
            deck.unread.append(_not_obeyed(card, "MAT1 G"))
    elif card.name.startswith("CORD") and card.text_at(1):
        deck.systems[card.whole(1)] = card
    elif card.name == "PARAM" and card.text_at(1).upper() in _NEUTRAL:
        if card.real(2) != _NEUTRAL[card.text_at(1).upper()]:
            deck.unread.append(_not_obeyed(card, f"PARAM {card.text_at(1).upper()}"))
    elif card.name not in HARMLESS:
        deck.unread.append(_not_obeyed(card))
    if card.name in _SHELLS:
        deck.shells.add(card.whole(1))


def _system(card: Card, number: int) -> int:
    text = card.text_at(number)
    return int(text) if text.lstrip("-").isdigit() else 0


def _take_node(deck: _Deck, card: Card) -> None:
    if card.text_at(2) not in ("", "0"):
        raise MeshError(
            f"{card.place}: the node is given in coordinate system {card.text_at(2)}; only the basic system is read. "
            "Export the mesh in basic coordinates."
        )
    number, place = card.whole(1), (card.real(3, 0.0), card.real(4, 0.0), card.real(5, 0.0))
    if deck.nodes.setdefault(number, place) != place:
        raise MeshError(f"{card.place}: node {number} is given twice, at {deck.nodes[number]} and {place}.")
    deck.used_systems.add(_system(card, 6))
    if card.text_at(7) not in ("", "0"):
        deck.unread.append(_not_obeyed(card, "GRID PS"))


def _take_cell(deck: _Deck, card: Card) -> None:
    found = [card.text_at(k) for k in range(3, len(card.fields) + 1)]
    while found and found[-1] in ("", "0"):
        found.pop()
    counts = {e.nodes: e for e in ELEMENTS.values() if card.name in e.nastran}
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
    deck.add(shape.kind, [nodes[k] for k in shape.nastran_order or range(shape.nodes)], card.whole(2, card.whole(1)))


def _raw(deck: _Deck, path: Path) -> RawMesh:
    ids = np.array(sorted(deck.nodes), dtype=np.int64)
    points = np.array([deck.nodes[int(n)] for n in ids]).reshape(-1, 3)
    blocks, properties = [], []
    for kind, (rows, groups) in deck.cells.items():
        nodes = np.array(rows, dtype=np.int64)
        missing = np.setdiff1d(nodes, ids)
        if len(missing):
            raise MeshError(
                f"{path.name}: {kind} cells refer to {len(missing)} nodes that the deck does not define (first: "
                f"{missing[0]})."
            )
        blocks.append((kind, np.searchsorted(ids, nodes)))
        properties.append(np.array(groups, dtype=np.int64))
    every = sorted({int(p) for values in properties for p in np.unique(values)} - {0})
    named = {f"property {p}": [np.flatnonzero(values == p) for values in properties] for p in every}
    declared = [
        _declared(deck.materials.get(card.whole(2)), card, named.get(f"property {p}", []))
        for p, card in deck.solids.items()
    ]
    return RawMesh(
        points,
        ids,
        tuple(blocks),
        named,
        beams=True,
        unread=tuple(deck.unread),
        unread_lines=tuple(deck.unread_lines),
        declared=tuple(declared),
    )


def _declared(card: Card | None, solid: Card, members: list[np.ndarray]) -> Declared:
    """The material of a MAT1 card: two of E, G and nu, and the density; without constants where the deck has no such
    card for the PSOLID card `solid`."""
    cells = [np.column_stack([np.full(len(rows), block), rows]) for block, rows in enumerate(members)]
    places = np.vstack([np.zeros((0, 2), dtype=np.int64), *cells])
    if card is None:
        return Declared(f"material {solid.whole(2)}", None, None, _not_obeyed(solid), places)
    E, G, nu = (card.real(k, np.nan) for k in (2, 3, 4))
    if np.isnan(nu) and G:
        nu = E / (2 * G) - 1
    if np.isnan(E):
        E = 2 * G * (1 + nu)
    elasticity, wrong = None, ""
    try:
        elasticity = None if np.isnan([E, nu]).any() else Material.isotropic(float(E), float(nu)).elasticity
    except MaterialError as error:
        wrong = str(error)
    density = card.real(5, 0.0) or None
    return Declared(f"MAT1 {card.text_at(1)}", elasticity, density, _not_obeyed(card), places, wrong=wrong)

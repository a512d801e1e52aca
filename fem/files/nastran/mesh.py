"""Reader of Nastran bulk data (.bdf, .nas, .fem): nodes, solids, shells, beams, their sections, constraints.

Read: GRID in any coordinate system, CTETRA, CPYRAM, CPYRA, CPENTA, CHEXA in every format and continuation of cards,
also without nodes on edges;
shells with PSHELL, PCOMP, PCOMPG (`shells`); CBAR, CBEAM with PBAR, PBARL, PBEAM, PBEAML, and rods (`lines`,
`sections`); constraints, supports, masses, springs and dampers (`constraints`). Case control selects the sets of SPC
and MPC. Elements of one property are the group "property N". Materials are MAT1, MAT2, MAT8, MAT9 and MAT11
(`materials`). Surfaces and lines without a section mark places. Every other card that changes the part is kept with its
line as not obeyed, and so is one that is not understood in full.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from fem.elements import ELEMENTS, LINE, SHELLS, TRUSS
from fem.errors import MeshError
from fem.files.nastran import lines
from fem.files.nastran.cards import Card, cards, selections
from fem.files.nastran.constraints import Connections, lumps_of_components
from fem.files.nastran.deck import NEW_NODES, PROPERTY_OF, Deck, material_of, not_obeyed
from fem.files.nastran.materials import KINDS as MATERIALS
from fem.files.nastran.materials import in_system, not_understood
from fem.files.nastran.sections import BEAM_PROPERTIES
from fem.files.nastran.shells import SHELL_PROPERTIES, SURFACES
from fem.files.nastran.structure import Beams, sectioned, split_rods
from fem.files.nastran.systems import KINDS as SYSTEMS
from fem.files.nastran.systems import Systems
from fem.mesh.constraints import Equation
from fem.mesh.raw_mesh import RawMesh
from fem.mesh.unread import Declared, Stated, Unread
from fem.user_files import IncludedFiles

_WITHOUT_EFFECT = """
PARAM MDLPRM NASTRAN EIGR EIGRL EIGB EIGC EIGP FREQ FREQ1 FREQ2 FREQ3 FREQ4 FREQ5 TSTEP TSTEPNL NLPARM NLSTEP
TABLED1 TABLED2 TABLED3 TABLED4 PLOTEL PLOTEL3 PLOTEL4 SET SET1 SET3 TITLE SUBTITLE LABEL ECHO MATT1 SPOINT
TABLEM1 TABLEM2 TABLEM3 TABLEM4 TABRND1 TABRNDG RANDPS RANDT1 TSTEP1 USET USET1 SUPORT SUPORT1 CBARAO ECHOON ECHOOFF
MAT4 MAT5 MATT4 MATT5 PSHEAR PBEND PELAST PBUSH1D PBUSHT PWELD PFAST PGAP DRESP1 DRESP2 DCONSTR
DOPTPRM DESVAR SEQGP ASET ASET1 BSET BSET1 BNDFIX BNDFIX1 BNDFREE BNDFREE1 BNDFRE1 CSET CSET1 OMIT OMIT1 QSET QSET1
"""
HARMLESS = {*_WITHOUT_EFFECT.split(), *SHELL_PROPERTIES, *BEAM_PROPERTIES, *lines.DEFAULTS}
"""Cards that do not change a free, linear elastic part by themselves; any other that is not read counts as
not obeyed. Properties do nothing without their elements."""
LUMPS = ("CMASS1", "CMASS2")
"""Masses of components of nodes, of which three make a point mass."""
CONNECTING = (
    "RBE2",
    "RBE3",
    "RBAR",
    "CONM1",
    "CONM2",
    "CELAS1",
    "CELAS2",
    "CBUSH",
    "CDAMP1",
    "CDAMP2",
    "CVISC",
    *LUMPS,
)
SELECTED = {"MPC": "MPC", "SPC": "SPC", "SPC1": "SPC", "TABDMP1": "SDAMP"}
"""Cards that act if case control selects their number."""
LUMPED_PROPERTIES = {"PELAS": 4, "PDAMP": 2, "PVISC": 4, "PMASS": 2}
"""Properties of springs, dampers and masses, of which a card may have several, and the number of fields of each."""
_NEUTRAL = {"G": 0.0, "ALPHA1": 0.0, "ALPHA2": 0.0}
"""Parameters that change the part, and the value at which they do not."""
FIELDS = {
    "BAROR": 8, "BEAMOR": 8, "CMASS1": 6, "CMASS2": 6,
    "GRID": 8, "CBAR": 16, "CBEAM": 18, "CROD": 4, "CTUBE": 4, "CONROD": 8, "CQUAD4": 14, "CTRIA3": 13, "PBAR": 19,
    "PROD": 6, "PTUBE": 6, "MAT1": 12, "CONM1": 24, "CONM2": 14, "CELAS1": 6, "CELAS2": 8, "CDAMP1": 6, "CDAMP2": 6,
    "CVISC": 4, "CBUSH": 14, "RBAR": 9, "CORD1R": 8, "CORD1C": 8, "CORD1S": 8, "CORD2R": 11, "CORD2C": 11, "CORD2S": 11,
}  # fmt: skip
"""Numbers of fields of cards of a fixed length; Nastran stops where more are given."""


def read_nastran_mesh(path: Path) -> RawMesh:
    """The contents of a Nastran deck as a raw mesh. Raises `MeshError`, which names file and line."""
    included = IncludedFiles(path, MeshError)
    try:
        return _read(path, included)
    except MeshError as error:
        raise included.without_quotes(error) from None


def _read(path: Path, included: IncludedFiles) -> RawMesh:
    deck, found = Deck(), list(cards(path, included))
    for card in found:
        if card.name in lines.DEFAULTS:  # which may stand behind the elements
            deck.once(card.name, card)
            deck.overall[lines.DEFAULTS[card.name]] = card
    for card in found:
        _take(deck, lines.with_defaults(card, deck.overall.get(card.name)))
    return _raw(deck, path)


_WITHOUT_MIDDLES = {"triangle6": "triangle", "quad8": "quad"}
"""The shells of cards that leave out all nodes on sides."""


def _take(deck: Deck, card: Card) -> None:
    """Add one card to the deck."""
    last = FIELDS.get(card.name, len(card.fields))
    if surplus := [text for text in card.fields[last:] if text]:
        deck.unread.append(not_obeyed(card, reason=f"it has {last} fields, and {surplus[0]!r} stands beyond them"))
    if card.name == "GRID":
        known = deck.nodes.setdefault(card.whole(1), card)
        if card.meaning != known.meaning:
            raise MeshError(
                f"{card.place}: node {card.whole(1)} is given twice, as {known.fields[1:7]} and {card.fields[1:7]}."
            )
    elif any(card.name in e.nastran for e in ELEMENTS.values()):
        _take_cell(deck, card)
    elif card.name in SURFACES:
        kind, count = SURFACES[card.name]
        corners = SHELLS[kind].corners
        if count > corners and not any(card.text_at(k) not in ("", "0") for k in range(3 + corners, 3 + count)):
            kind, count = _WITHOUT_MIDDLES[kind], corners
        if not all(card.text_at(k).isdigit() for k in range(3, 3 + count)):
            reason = (
                "some nodes on its sides are left out, beside which shells are far too stiff: give it all of them, or "
                "none"
            )
            deck.unread.append(not_obeyed(card, reason=reason))
            return
        deck.number(card)
        deck.add(kind, [card.whole(k) for k in range(3, 3 + count)], card, card.whole(2, card.whole(1)))
    elif card.name in (*lines.BEAMS, "CROD", "CTUBE"):
        deck.number(card)
        deck.add(LINE, [card.whole(3), card.whole(4)], card, card.whole(2, card.whole(1)))
    elif card.name == "CONROD":
        deck.number(card)
        deck.add(TRUSS, [card.whole(2), card.whole(3)], card, 0)
    elif card.name == "GRDSET":
        deck.once("GRDSET", card)
        deck.defaults = card
    elif card.name in ("SPCADD", "MPCADD"):
        deck.once(f"{card.name} {card.whole(1)}", card)
        sets = {card.whole(k) for k in range(2, len(card.fields) + 1) if card.text_at(k)}
        deck.together[card.name[:3], card.whole(1)] = card, sets
    elif card.name in PROPERTY_OF:
        kind = PROPERTY_OF[card.name]
        deck.once(f"property {card.whole(1)} of {kind}", card)
        deck.properties[kind, card.whole(1)] = card
        if card.name == "PSOLID" and card.text_at(7).upper() not in ("", "SMECH"):
            deck.unread.append(not_obeyed(card, reason=f"its elements are of the kind {card.text_at(7)}, not SMECH"))
        if card.name == "PSOLID" and card.text_at(6).upper() in ("REDUCED", "0"):
            deck.notes.append(f"{card.place}: ISOP of REDUCED: its elements are integrated in full, not reduced")
    elif card.name in MATERIALS:
        deck.once(f"material {card.whole(1)}", card)
        deck.materials[card.whole(1)] = card
        for keyword, reason in not_understood(card):
            deck.unread.append(not_obeyed(card, keyword, reason))
    elif card.name in SYSTEMS:
        for k in (1, 5) if card.name.startswith("CORD1") and card.text_at(5) else (1,):
            deck.once(f"coordinate system {card.whole(k)}", card)
            deck.systems[card.whole(k)] = card
    elif card.name == "PBUSH":
        deck.once(f"PBUSH {card.whole(1)}", card)
        deck.bushes[card.whole(1)] = card
    elif card.name in LUMPED_PROPERTIES:
        width = LUMPED_PROPERTIES[card.name]
        for first in range(1, len(card.fields) + 1, width):
            if card.text_at(first):
                own = replace(card, fields=card.fields[first - 1 : first - 1 + width])
                deck.once(f"{card.name} {card.whole(first)}", own)
                deck.lumped[card.name, card.whole(first)] = own
    elif card.name == "PARAM" and card.text_at(1).upper() == "WTMASS":
        deck.once("PARAM,WTMASS", card)
        deck.mass_factor = card.real(2)
    elif card.name == "PARAM" and card.text_at(1).upper() in _NEUTRAL:
        if card.real(2) != _NEUTRAL[card.text_at(1).upper()]:
            deck.unread.append(not_obeyed(card, f"PARAM {card.text_at(1).upper()}"))
    elif card.name in CONNECTING or card.name in SELECTED:
        if card.name in CONNECTING:
            deck.number(card)
        deck.connecting.append(card)
    elif card.name not in HARMLESS and (card.name, card.text_at(1).upper()) != ("DTI", "UNITS"):
        deck.unread.append(not_obeyed(card))


def _system(card: Card, number: int) -> int:
    text = card.text_at(number)
    return int(text) if text.lstrip("-").isdigit() else 0


def _take_cell(deck: Deck, card: Card) -> None:
    found = [card.text_at(k) for k in range(3, len(card.fields) + 1)]
    while found and found[-1] in ("", "0"):
        found.pop()
    shapes = sorted((e for e in ELEMENTS.values() if card.name in e.nastran and e.own_cell), key=lambda e: e.nodes)
    shape = next((e for e in shapes if len(found) <= e.nodes), None)
    if shape is None or len(found) < shape.corners:
        counts = " to ".join(str(e.nodes) for e in shapes)
        raise MeshError(f"{card.place}: a {card.name} has {counts} nodes; found {len(found)}.")
    nodes = [card.whole(k + 3) if k < shape.corners else card.whole(k + 3, 0) for k in range(shape.nodes)]
    deck.number(card)
    group = card.whole(2, card.whole(1))
    own = [nodes[k] for k in shape.nastran_order or range(shape.nodes)]
    deck.add(shape.kind, deck.with_middles(own, shape, card), card, group)


def _with_defaults(card: Card, defaults: Card | None) -> Card:
    """A GRID with the coordinate systems and supports of GRDSET where it says none."""
    if defaults is None:
        return card
    fields = [card.text_at(k) or (defaults.text_at(k) if k in (2, 6, 7) else "") for k in range(1, 9)]
    return replace(card, fields=fields)


def _placed(deck: Deck) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
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
    return points, axes


def _raw(deck: Deck, path: Path) -> RawMesh:
    deck.nodes = {number: _with_defaults(card, deck.defaults) for number, card in deck.nodes.items()}
    split_rods(deck)
    points, axes = _placed(deck)
    for (a, b), (number, _) in deck.middles.items():
        if a in points and b in points:  # others are refused
            points[number] = (points[a] + points[b]) / 2
    beams = Beams(points, axes, added=len(deck.middles))
    unread_lines: list[Unread] = []
    sections = list(sectioned(deck, beams, unread_lines))
    ids = sorted(points)
    row = {number: k for k, number in enumerate(ids)}
    blocks, groups = [], []
    for kind, (rows, properties, sources) in deck.cells.items():
        missing = sorted({n for nodes in rows for n in nodes} - set(row))
        if missing:
            raise MeshError(
                f"{path.name}: {kind} cells refer to {len(missing)} nodes that the deck does not define (first: "
                f"{missing[0]})."
            )
        blocks.append((kind, np.array([[row[n] for n in nodes] for nodes in rows], dtype=np.int64)))
        known = [
            n if card.text_at(2) or deck.owner(card, n) is not None else 0
            for n, card in zip(properties, sources, strict=True)
        ]
        groups.append(
            np.array(known, dtype=np.int64)
        )  # an element that names no property, and has none, is in no group
    every = sorted({int(p) for values in groups for p in np.unique(values)} - {0})
    named = {f"property {p}": [np.flatnonzero(values == p) for values in groups] for p in every}
    declared = [
        *_solids(deck, named, [kind in ELEMENTS for kind, _ in blocks], Systems(deck.systems, points)),
        *sections,
    ]
    structure = _structure(deck, declared)
    turning = {int(n) for block, (rows, _) in structure.items() for n in blocks[block][1][rows].ravel()}
    turning -= {int(n) for kind, rows in blocks if kind == TRUSS for n in rows.ravel()} - {
        int(n)
        for block, (rows, _) in structure.items()
        if blocks[block][0] != TRUSS
        for n in blocks[block][1][rows].ravel()
    }
    turning |= {row[n] for _, n, _, _, _ in beams.arms}
    rates = beams.warping.rows(row)
    connections = _connections(deck, path, [points[n] for n in ids], row, axes, turning, rates)
    new = max(NEW_NODES, ids[-1] + 1 if ids else 0) + np.arange(len(connections.points) - len(ids))
    notes = [*beams.state(connections, row), *_follow_edges(deck, row, connections)]
    return RawMesh(
        np.array(connections.points).reshape(-1, 3),
        np.concatenate([np.array(ids, dtype=np.int64), new]),
        tuple(blocks),
        named,
        warnings=(*deck.shared, *deck.notes, *notes, *connections.notes),
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


def _follow_edges(deck: Deck, row: dict[int, int], to: Connections) -> Iterator[str]:
    """Make nodes on edges that solids leave out follow the ends of these, which gives the shape functions of a cell
    without them; a note that counts them."""
    for (a, b), (number, card) in deck.middles.items():
        source, nodes = not_obeyed(card), np.array([row[number], row[a], row[b]])
        for dof in range(3):
            edge = Equation(nodes, np.full(3, dof), np.array([1.0, -0.5, -0.5]), source=source.label)
            to.constraints.append(Stated(edge, source))
    if deck.middles:
        _, first = next(iter(deck.middles.values()))
        yield (
            f"{len(deck.middles)} nodes that solids leave out on their edges follow the ends of these, as in Nastran; "
            f"first: {first.name}, line {first.line} of {first.file}"
        )


def _connections(
    deck: Deck,
    path: Path,
    points: list[np.ndarray],
    row: dict[int, int],
    axes: dict[int, np.ndarray],
    turning: set[int],
    rates: dict[int, int],
) -> Connections:
    """Constraints, supports, masses, springs and dampers; those of sets that case control does not select are none.
    `rates`: rows of the nodes of scalar points."""
    for card in deck.connecting:
        if card.name in ("RBE2", "RBE3", "RBAR"):
            first = card.whole(3 if card.name == "RBE3" or (card.text_at(4) == "" and card.name == "RBAR") else 2, 0)
            turning |= {row[first]} if first in row else set()
    turned = {row[n]: R for n, R in axes.items()}
    frames = Systems(deck.systems, {n: points[k] for n, k in row.items()})
    found = Connections(row, points, turned, turning, deck.lumped, deck.bushes, frames, deck.mass_factor, rates)
    chosen = selections(path)
    for kind, commands in chosen.items():
        found.unread += _missing(deck, kind, commands)
    for card in sorted(deck.connecting, key=lambda c: c.name in ("CONM1", "CONM2")):  # lumps are carried by rigid links
        kind = SELECTED.get(card.name, "")
        mine = {c.whole(1) for c in deck.connecting if SELECTED.get(c.name) == kind} if kind else set()
        selected = chosen.get(kind)
        active = mine if selected is None else _together(deck, kind, set(selected))
        if kind and len(mine if selected is None else selected) > 1:
            reason = f"the deck has the sets {sorted(active)}, and one must be selected"
            found.unread.append(not_obeyed(card, reason=reason))
        elif card.name == "TABDMP1" and card.whole(1) in active:
            reason = "damping ratios of modes; give them to the body, flexible_body(..., modal_damping=...)"
            found.unread.append(not_obeyed(card, reason=reason))
        elif card.name not in LUMPS and (not kind or card.whole(1) in active):
            found.take(card)
    lumps_of_components(found, [card for card in deck.connecting if card.name in LUMPS])
    found.notes += _passed_over(deck, chosen)
    for card in deck.nodes.values():
        if card.text_at(7) not in ("", "0"):
            found.take(card, "GRID PS")
    return found


def _missing(deck: Deck, kind: str, selected: dict[int, Card]) -> Iterator[Unread]:
    """The sets that case control selects, or a selected SPCADD or MPCADD adds, and the deck does not have."""
    there = {c.whole(1) for c in deck.connecting if SELECTED.get(c.name) == kind}
    known = f"it has {sorted(there)}" if there else "it has none"
    for number, command in selected.items():
        card, wanted = deck.together.get((kind, number), (command, {number}))
        for lost in sorted(wanted - there):
            why = f", and a {card.name} adds no other one" if (kind, lost) in deck.together else ""
            yield not_obeyed(card, reason=f"the deck has no set {lost} of {kind}{why}; {known}")


def _passed_over(deck: Deck, chosen: dict[str, dict[int, Card]]) -> Iterator[str]:
    """Notes on the sets that case control does not select."""
    for kind, commands in chosen.items():
        selected = set(commands)
        idle = [c for c in deck.connecting if SELECTED.get(c.name) == kind]
        idle = [c for c in idle if c.whole(1) not in _together(deck, kind, selected)]
        if idle:
            sets = sorted({c.whole(1) for c in idle})
            which = f"selects {kind} {sorted(selected)}" if selected else f"selects no {kind}"
            yield (
                f"case control {which}, and the sets {sets} ({idle[0].name}, line {idle[0].line} of {idle[0].file}) "
                "have no effect, as in Nastran"
            )


def _together(deck: Deck, kind: str, selected: set[int]) -> set[int]:
    """The sets that selected numbers stand for: those of an SPCADD or MPCADD, elsewhere themselves."""
    return {n for number in selected for n in deck.together.get((kind, number), (None, {number}))[1]}


def _structure(deck: Deck, declared: list[Declared]) -> dict[int, tuple[np.ndarray, Unread]]:
    """Rows of the blocks of surfaces and lines that have a section."""
    found: dict[int, tuple[np.ndarray, Unread]] = {}
    cards_of = [sources for _, _, sources in deck.cells.values()]
    for d in declared:
        if any(x is not None for x in (d.thickness, d.beam, d.table, d.area)):
            for block in np.unique(d.cells[:, 0]).tolist():
                rows = d.cells[d.cells[:, 0] == block, 1]
                known = found[block][0] if block in found else np.zeros(0, dtype=np.int64)
                found[block] = np.union1d(known, rows), not_obeyed(cards_of[block][int(rows[0])])
    return found


def _solids(deck: Deck, named: dict[str, list[np.ndarray]], solid: list[bool], systems: Systems) -> Iterator[Declared]:
    """The materials of the blocks that are `solid`."""
    for (_, number), card in deck.properties.items():
        if card.name == "PSOLID":
            members = named.get(f"property {number}", [])
            cells = [np.column_stack([np.full(len(m), k), m]) for k, m in enumerate(members) if solid[k]]
            places = np.vstack([np.zeros((0, 2), dtype=np.int64), *cells])
            name, known, source = material_of(deck, card.whole(2), card, "solids")
            axes = None
            if (material := deck.materials.get(card.whole(2))) is not None:
                known, axes = in_system(known, material, _system(card, 3), systems, card.place)
            name += f", system {_system(card, 3)}" if _system(card, 3) and not name.startswith("MAT1 ") else ""
            yield Declared(name, known.elasticity, known.density, source, places, wrong=known.wrong, axes=axes)

"""Reader of Abaqus and CalculiX input decks: nodes, elements, and every kind of set.

Read: `*NODE` (NSET), `*ELEMENT` (TYPE, ELSET), `*NSET` and `*ELSET` (GENERATE, names of other sets), `*SURFACE`
(TYPE=ELEMENT with S1..S6 or whole element sets, TYPE=NODE), `*INCLUDE`, INPUT=, `*PART` with one `*INSTANCE`, moved or
not, or with several, which `fem.files.abaqus.instances.flat` writes as a flat deck. Keywords that generate or transform
nodes are refused. `fem.files.abaqus.materials` reads materials and sections, `constraints` constraints and supports,
`steps` the loads of analysis steps. Output and kinds of analysis are passed over (fem/files/abaqus/keywords.py); every
other keyword is kept with its line as not obeyed. Abaqus numbers the nodes of its solid elements as VTK does. Names
keep the spelling of their first use; the case of letters does not matter, nor do blanks in keywords.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from fem.elements import LINE
from fem.errors import MeshError
from fem.files.abaqus.element_types import AS_NAMED, kind_of, not_known
from fem.files.abaqus.instances.flat import Instance, flat, owner
from fem.files.abaqus.instances.place import is_turned, placement, turned
from fem.files.abaqus.keywords import HARMLESS, OPTIONS, meant
from fem.files.abaqus.lines import Place, Rows, beside, blocks, dotted, fields, lines, member, number, required, whole
from fem.files.abaqus.materials import Materials, take_material
from fem.mesh.unread import Unread, canonical
from fem.user_files import IncludedFiles

REFUSED = ("SYSTEM", "NGEN", "NFILL", "NCOPY", "NMAP", "ELGEN", "ELCOPY")
"""Keywords that make or move nodes and elements: a deck read without them would be another mesh."""
STATEMENTS = ("EQUATION", "MPC", "RIGIDBODY", "TIE", "COUPLING", "TRANSFORM", "ORIENTATION", "BOUNDARY")
"""Keywords that connect or hold nodes, which `fem.files.abaqus.constraints` reads."""
SHELL_TYPES = ("S3", "S3R", "S4", "S4R", "S6", "S8", "S8R")
"""Elements that are shells where a `*SHELL SECTION` gives them a thickness; those with reduced integration are not
integrated so, of which a note tells."""
IN_FULL = "integrated in full, not reduced"
"""How elements with reduced integration are taken."""
BEAM_TYPES = {"B31": 2, "B31R": 2, "B32": 3, "B32R": 3}
"""Beams, where a section is given, and their number of nodes; those of three nodes are two beams."""
SLENDER = ("B33", "B33H")
"""Beams by Euler and Bernoulli."""
BEAM_TYPES_OF_ABAQUS = {
    **BEAM_TYPES,
    **dict.fromkeys(("B31H", "PIPE31", "PIPE31H", *SLENDER), 2),
    **dict.fromkeys(("B32H", "PIPE32", "PIPE32H"), 3),
}
"""The same with the types that CalculiX does not know; hybrid ones and pipes move as the others where all is linear."""
LUMPED = {"MASS": 1, **dict.fromkeys(("SPRING1", "DASHPOT1"), 1), "DCOUP3D": 1} | dict.fromkeys(
    ("SPRING2", "SPRINGA", "DASHPOT2", "DASHPOTA"), 2
)
"""Elements without extent and their number of nodes, which `fem.files.abaqus.lumped` reads."""
LUMPED_VALUES = ("MASS", "SPRING", "DASHPOT", "DISTRIBUTINGCOUPLING")
"""Keywords that say what these are."""
MOST_GENERATED = 10_000_000
"""Largest number of members that the GENERATE of a deck may add to its sets."""
PLANE = ("CPS", "CPE", "CAX")
"""First letters of plane stress, plane strain and axisymmetric elements."""
COPIES = 5 * 10**8
"""Numbers of new nodes begin here, above those of decks and below those of assemblies."""
ASSEMBLY_NODES = 10**9
"""Added to the numbers of nodes of an assembly, which are numbered apart from those of its part."""


@dataclass
class Sets:
    """Sets of one level (part or assembly): upper-case name -> members, numbers or names of other sets.

    Surfaces have names of their own: a set and a surface of the same name, `surfaces` of faces or `node_surfaces` of
    nodes, have nothing to do with each other.
    """

    nodes: dict[str, list[str | int]] = field(default_factory=dict)
    elements: dict[str, list[str | int]] = field(default_factory=dict)
    surfaces: dict[str, list[list[str]]] = field(default_factory=dict)
    node_surfaces: dict[str, list[str | int]] = field(default_factory=dict)


@dataclass
class Statement:
    """A keyword that connects, holds or loads nodes, with its data lines.

    `kind` and `details`: the keyword that completes a coupling, and its options; `step`: number of the analysis step, 0
    before the first; `move`: data lines of the instance in which it is, with which its axes turn, none in the assembly.
    """

    keyword: str
    source: Unread
    options: dict[str, str]
    rows: Rows
    step: int = 0
    kind: str = ""
    details: dict[str, str] = field(default_factory=dict)
    move: list[list[float]] = field(default_factory=list)

    def option(self, key: str) -> str:
        """The value of an option. Raises `MeshError` where it is missing."""
        if not self.options.get(key):
            raise MeshError(f"its option {key}=... is missing")
        return self.options[key]

    def entries(self, row: int, least: int, what: str) -> list[str]:
        """The entries of a data line, of which there are at `least` so many. Raises `MeshError`, which says `what` they
        are, for others."""
        found = fields(self.rows[row][1]) if row < len(self.rows) else []
        if len(found) < least or not all(found[:least]):
            raise MeshError(f"data line {row + 1} needs {what}; found {', '.join(found) or 'no line'}")
        return found


@dataclass
class Lumped:
    """An element of nodes without extent: its type, the numbers of its nodes, and its keyword."""

    kind: str
    nodes: list[int]
    source: Unread


@dataclass(frozen=True)
class Thin:
    """An element that stands for a solid: its type, family (CPS, CPE, CAX; S for shells, B for beams), kind of surface
    or line cell, nodes and keyword."""

    name: str
    family: str
    kind: str
    nodes: tuple[int, ...]
    source: Unread


@dataclass
class Deck:
    """The contents of a deck, in the numbers of the file. A flat deck consists of `part` only."""

    path: Path
    included: IncludedFiles
    as_named: bool = False
    expand: bool = False
    nodes: dict[int, tuple[float, ...]] = field(default_factory=dict)
    elements: dict[str, list[list[int]]] = field(default_factory=dict)  # kind -> rows of element number and nodes
    given: dict[int, tuple[str, list[int]]] = field(default_factory=dict)  # element number -> kind and row
    part: Sets = field(default_factory=Sets)
    assembly: Sets = field(default_factory=Sets)
    spelling: dict[str, str] = field(default_factory=dict)
    internal: set[str] = field(default_factory=set)
    unsorted: set[str] = field(default_factory=set)  # sets of nodes that keep the order of the deck
    otherwise: dict[str, str] = field(default_factory=dict)  # types that are integrated otherwise -> how
    not_solid: Counter[str] = field(default_factory=Counter)
    unread: list[Unread] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)  # what says nothing here
    unread_lines: list[Unread] = field(default_factory=list)
    materials: Materials = field(default_factory=Materials)
    in_step: bool = False
    steps: int = 0
    statements: list[Statement] = field(default_factory=list)
    lumped: dict[int, Lumped] = field(default_factory=dict)  # masses, springs, dampers: by number
    lumped_values: list[Statement] = field(default_factory=list)  # *MASS, *SPRING, *DASHPOT, ...
    pretension: list[Statement] = field(default_factory=list)  # *PRE-TENSION SECTION
    cyclic: list[Statement] = field(default_factory=list)  # *CYCLIC SYMMETRY MODEL
    plane: dict[int, Thin] = field(default_factory=dict)  # plane elements by number, for solids in their place
    thin: dict[int, Thin] = field(default_factory=dict)  # shells and beams by number
    copies: int = 0  # nodes of solids in the place of other elements
    expanded: set[int] = field(default_factory=set)  # numbers of those that have become solids
    shells: dict[int, Unread] = field(default_factory=dict)  # number of a shell or beam -> its keyword
    rods: dict[int, Unread] = field(default_factory=dict)  # number of a T3D2 element -> its keyword
    history: list[Statement] = field(default_factory=list)  # what is in steps, and states before them
    move: list[list[float]] = field(default_factory=list)  # translation, then axis points and angle of the one instance
    instances: list[Instance] = field(default_factory=list)  # where there are several
    here: list[list[float]] = field(default_factory=list)  # data lines of the instance that is being read
    level: str = ""  # where the reading is: "", PART, ASSEMBLY, INSTANCE
    scope: int = 0  # which part or instance that is, 0 outside of them
    scopes: set[int] = field(default_factory=set)  # those that define nodes
    scopes_so_far: int = 0
    generated: int = 0  # members of sets by GENERATE
    weights: dict[str, list[tuple[str, float]]] = field(default_factory=dict)  # of the nodes of surfaces of nodes
    normals: Place = ""  # where the first node with a normal is
    surface_lines: dict[tuple[str, int, str], list[list[str]]] = field(default_factory=dict)  # level, part, name
    moved_nodes: dict[int, Place] = field(default_factory=dict)  # nodes that are given twice and differently

    def add_node(self, x: Sequence[float]) -> int:
        """The number of a new node at `x`."""
        self.copies += 1
        self.nodes[COPIES + self.copies] = tuple(x)
        return COPIES + self.copies

    @property
    def in_part(self) -> bool:
        """Whether the reading is inside a part or an instance."""
        return self.level in ("PART", "INSTANCE")

    @property
    def sets(self) -> Sets:
        """The sets of the level that is being read."""
        return self.assembly if self.level == "ASSEMBLY" else self.part

    @property
    def own_move(self) -> list[list[float]]:
        """The data lines of the instance in which a statement is; none in the assembly."""
        return self.here if self.in_part else []

    def who(self, number: int) -> str:
        """A node or an element for messages: its number, or INSTANCE.NUMBER where there are several instances."""
        instance, own = owner(self.instances, number % ASSEMBLY_NODES)
        return str(own) if instance is None else f"{instance.name}.{own}"

    def not_obeyed(self, place: Place, line: str, keyword: str, group: str = "") -> Unread:
        """The record of a keyword that is not obeyed."""
        path, _, number = place.rpartition(", line ")
        return Unread(keyword, Path(path).name, int(number), line, "STEP" if self.in_step else group)

    def named(self, name: str) -> str:
        """The key of a name; remembers its first spelling."""
        self.spelling.setdefault(name.upper(), name)
        return name.upper()


def shown(unread: Sequence[Unread]) -> tuple[Unread, ...]:
    """Keywords that are not obeyed, for the user: those of a part once, however many instances it has."""
    return tuple(dict.fromkeys(replace(u, text=dotted(u.text)) for u in unread))


def read_deck(path: Path, included: IncludedFiles, as_named: bool = False, expand: bool = False) -> Deck:
    """The contents of an input deck; `as_named`: elements with the integration and modes of their types in CalculiX;
    `expand`: shells and beams are to become solids. Raises `MeshError`, which names file and line."""
    deck = Deck(path, included, as_named, expand)
    deck.here = deck.move  # filled when the one instance follows its part
    deck.materials.expand, deck.materials.warm = expand, as_named
    for place, line, options, rows in flat(blocks(path, included), path, included, deck.instances):
        keyword = canonical(line.split(",")[0])
        try:
            _take(deck, place, line, keyword, options, rows)
        except ValueError as error:
            if isinstance(error, MeshError):
                raise
            raise MeshError(f"{place}: *{_spelt(line)} cannot be read: {str(error).rstrip('.')}.") from None
    _without_effect(deck)
    _name_instances(deck)
    if deck.moved_nodes:
        (node, place), more = next(iter(deck.moved_nodes.items())), len(deck.moved_nodes) - 1
        others = f" ({more} others too)" if more else ""
        told = f"node {deck.who(node)} is given twice and differently{others}; the last place counts: keep one"
        deck.unread.append(deck.not_obeyed(place, told, "NODE"))
    if deck.normals and deck.shells:
        reason = "the last three numbers of nodes (not obeyed: normals of shells and beams)"
        deck.unread.append(deck.not_obeyed(deck.normals, reason, "NODE"))
    return deck


def _name_instances(deck: Deck) -> None:
    """Add the sets of all nodes and all elements of each of several instances, which bear its name where that is
    free."""
    nodes: dict[str, list[str | int]] = {i.name: [] for i in deck.instances}
    elements: dict[str, list[str | int]] = {i.name: [] for i in deck.instances}
    for members, numbers in ((nodes, deck.nodes), (elements, deck.given)):
        for k in numbers if deck.instances else ():
            instance = owner(deck.instances, k)[0]
            if instance is not None:
                members[instance.name].append(k)
    for i in deck.instances:
        deck.internal.add(deck.named(i.inside("")))
        deck.sets.elements[i.inside("").upper()] = elements[i.name]
        for sets, own in ((deck.sets.nodes, nodes[i.name]), (deck.sets.elements, elements[i.name])):
            if own:
                sets.setdefault(deck.named(i.name), own)
    if deck.instances:
        last = deck.instances[-1]
        deck.idle.append(
            f"the deck has {len(deck.instances)} instances; {deck.instances[0].first} is added to the numbers of the "
            f"first one, and so on: node 1 of {last.name} has the number {last.first + 1}"
        )


def _without_effect(deck: Deck) -> None:
    """Take nodal thicknesses that no section asks for from what is not obeyed."""
    if not any("NODALTHICKNESS" in canonical(u.text) and "SECTION" in canonical(u.keyword) for u in deck.unread):
        idle = [u for u in deck.unread if canonical(u.keyword) == "NODALTHICKNESS"]
        deck.unread = [u for u in deck.unread if u not in idle]
        deck.idle += [f"{u.label} has no effect: no section has the option NODAL THICKNESS" for u in idle]


# one keyword --------------------------------------------------------------------------------------------------------


def _take(deck: Deck, place: Place, line: str, keyword: str, options: dict[str, str], rows: Rows) -> None:
    """Add one keyword to the deck."""
    deck.in_step = (deck.in_step or keyword == "STEP") and keyword != "ENDSTEP"
    deck.steps += keyword == "STEP"
    if deck.in_step or keyword in ("BOUNDARY", "INITIALCONDITIONS", "ENDSTEP"):
        deck.history.append(Statement(keyword, deck.not_obeyed(place, line, _spelt(line)), options, rows, deck.steps))
    if meant(keyword) in ("NODE", "ELEMENT", "NSET", "ELSET"):
        raise MeshError(f"{place}: flexmb knows no keyword *{_spelt(line)}; did you mean *{meant(keyword)}?")
    known = OPTIONS.get(keyword, frozenset(options))
    if unknown := sorted(set(options) - known):
        there = f"; known are {', '.join(sorted(known))}" if known else ""
        told = f"{line} (unknown options {', '.join(unknown)}{there})"
        deck.unread.append(deck.not_obeyed(place, told, _spelt(line)))
    if keyword in REFUSED:
        raise MeshError(f"{place}: *{keyword} is not supported. Write a flat deck, with every node and element in it.")
    if keyword in ("NODE", "ELEMENT", "NSET", "ELSET") and options.get("INPUT"):
        path = Path(place.rpartition(", line ")[0])
        rows = [*rows, *lines(beside(path, place, options["INPUT"], deck.path), deck.included)]
    if keyword == "NODE":
        _take_nodes(deck, options, rows)
    elif keyword == "ELEMENT":
        _take_elements(deck, place, line, options, rows)
    elif keyword in ("NSET", "ELSET"):
        _take_set(deck, place, line, options, rows)
    elif keyword == "SURFACE":
        _take_surface(deck, place, line, options, rows)
    elif keyword in ("PART", "ASSEMBLY", "INSTANCE"):
        deck.level = keyword
        deck.scopes_so_far += 1
        deck.scope = deck.scopes_so_far
        if keyword == "INSTANCE":
            if deck.instances:
                deck.here = placement(place, rows)
            else:
                deck.move[:] = placement(place, rows)
    elif keyword in ("ENDPART", "ENDASSEMBLY", "ENDINSTANCE"):
        deck.level, deck.scope = "ASSEMBLY" if keyword == "ENDINSTANCE" else "", 0
        deck.here = [] if deck.instances else deck.move
    elif keyword == "CYCLICSYMMETRYMODEL":
        source = deck.not_obeyed(place, line, _spelt(line))
        deck.cyclic.append(Statement(keyword, source, options, rows))
        deck.unread.append(source)
    elif keyword == "PRE-TENSIONSECTION":
        deck.pretension.append(Statement(keyword, deck.not_obeyed(place, line, _spelt(line)), options, rows))
    elif keyword in LUMPED_VALUES:
        source = deck.not_obeyed(place, line, _spelt(line))
        deck.lumped_values.append(Statement(keyword, source, options, rows, move=deck.own_move))
    elif keyword == "CONTACTPAIR":
        source = deck.not_obeyed(place, line, _spelt(line))
        pairs = " and of ".join(" with ".join(repr(name) for name in fields(row)[:2]) for _, row in rows)
        told = (
            f"contact of {pairs}: accept the keyword (ignore), make a body of each part (fem.extract_cells), with "
            "these names of surfaces (Model.with_surfaces), and use System.contact"
        )
        deck.unread.append(replace(source, text=told))
    elif keyword in STATEMENTS:
        source = deck.not_obeyed(place, line, _spelt(line))
        if keyword == "ORIENTATION":
            _require_new_orientation(deck, source, options, rows)
        deck.statements.append(Statement(keyword, source, options, rows, deck.steps, move=deck.own_move))
    elif keyword in ("KINEMATIC", "DISTRIBUTING") and deck.statements and deck.statements[-1].keyword == "COUPLING":
        deck.statements[-1] = replace(deck.statements[-1], kind=keyword, rows=rows, details=options)
    elif keyword == "MATERIAL":
        source = deck.not_obeyed(place, line, "MATERIAL")
        name = deck.named(required(place, options, "NAME"))
        if name in deck.materials.records:
            other = deck.materials.records[name].source.label
            told = f"{line} (the deck defines this material twice, first by {other}; the last one counts: keep one)"
            deck.unread.append(replace(source, text=told))
        deck.materials.begin(name, source)
    else:
        _take_material(deck, deck.not_obeyed(place, line, _spelt(line)), keyword, options, rows)


def _require_new_orientation(deck: Deck, source: Unread, options: dict[str, str], rows: Rows) -> None:
    """Name an orientation that the deck defines twice and differently."""
    name, own = options.get("NAME", "").upper(), [fields(row) for _, row in rows]
    for s in deck.statements:
        if s.keyword == "ORIENTATION" and s.options.get("NAME", "").upper() == name:
            if own != [fields(row) for _, row in s.rows]:
                told = f"{source.text} (the deck defines it twice, first by {s.source.label}, which counts: keep one)"
                deck.unread.append(replace(source, text=told))
            return


def _take_material(deck: Deck, source: Unread, keyword: str, options: dict[str, str], rows: Rows) -> None:
    known = len(deck.materials.sections)
    try:
        if not take_material(deck.materials, source, keyword, options, rows) and keyword not in HARMLESS:
            near = meant(keyword)
            hint = f"{source.text} (flexmb knows no keyword *{source.keyword}; did you mean *{near}?)"
            deck.unread.append(replace(source, text=hint) if near else source)
    except MeshError as error:
        deck.unread.append(replace(source, text=f"{source.text} (not obeyed: {error})"))
    for section in deck.materials.sections[known:]:
        section.move = deck.here
        if deck.instances and is_turned(deck.here) and section.y_axis is not None:
            a, b, c = turned(np.array([section.y_axis]), deck.here)[0].tolist()
            section.y_axis = a, b, c


def _spelt(line: str) -> str:
    return " ".join(line[1:].split(",")[0].upper().split())


def _take_surface(deck: Deck, place: Place, line: str, options: dict[str, str], rows: Rows) -> None:
    """Faces of elements, or nodes, each of which may have a weight in couplings."""
    name = deck.named(required(place, options, "NAME"))
    kind = options.get("TYPE", "ELEMENT").upper()
    known, given = deck.surface_lines, [fields(row) for _, row in rows]
    if known.setdefault((deck.level, deck.scope, name), given) != given:
        told = f"{line} (the deck defines this surface twice and differently; the last one counts: keep one)"
        deck.unread.append(deck.not_obeyed(place, told, "SURFACE"))
    if set(options) & {"COMBINE", "CROP"}:
        return  # its lines name other surfaces; the option is named
    if kind not in ("ELEMENT", "NODE"):
        deck.unread.append(deck.not_obeyed(place, f"{line} (not obeyed: its type {kind} is not read)", "SURFACE"))
    elif kind == "NODE":
        entries = [fields(row) for _, row in rows]
        deck.sets.node_surfaces[name] = [member(row[0]) for row in entries]
        if any(row[1:] for row in entries):
            deck.weights[name] = [(row[0], number(row[1]) if row[1:] and row[1] else 1.0) for row in entries]
    else:
        deck.sets.surfaces[name] = [fields(row) for _, row in rows]


def _take_set(deck: Deck, place: Place, line: str, options: dict[str, str], rows: Rows) -> None:
    keyword = canonical(line.split(",")[0])
    name = deck.named(required(place, options, keyword))
    if "INTERNAL" in options:
        deck.internal.add(name)
    if "UNSORTED" in options and keyword == "NSET":
        deck.unsorted.add(name)
    members = (deck.sets.nodes if keyword == "NSET" else deck.sets.elements).setdefault(name, [])
    found: list[str | int] = []
    for row_place, row in rows:
        found += _generated(deck, row_place, row) if "GENERATE" in options else [member(f) for f in fields(row) if f]
    if deck.level == "ASSEMBLY" and "INSTANCE" not in options:  # numbers of reference points
        nodes = keyword == "NSET"
        found = [m + ASSEMBLY_NODES if isinstance(m, int) else m for m in found if nodes or isinstance(m, str)]
    members += found
    if keyword == "NSET" and options.get("ELSET"):
        members.append(f"elset:{options['ELSET'].upper()}")


def _generated(deck: Deck, place: Place, line: str) -> list[str | int]:
    numbers = [whole(f) for f in fields(line)]
    if len(numbers) not in (2, 3) or (len(numbers) == 3 and numbers[2] <= 0):
        raise MeshError(f"{place}: GENERATE needs first, last and a positive increment; found {line!r}.")
    if numbers[1] < numbers[0]:
        raise MeshError(f"{place}: GENERATE runs from the lower number to the higher one; found {line!r}.")
    members = range(numbers[0], numbers[1] + 1, numbers[2] if len(numbers) == 3 else 1)
    deck.generated += max(numbers[1] - numbers[0] + 1, 0) // members.step
    if (numbers[1] - numbers[0]) % members.step:
        where = deck.not_obeyed(place, line, "GENERATE").label
        deck.idle.append(f"{where}: {line.strip()!r} does not reach its last number and ends at {members[-1]}")
    if deck.generated > MOST_GENERATED:
        raise MeshError(
            f"{place}: GENERATE adds more than {MOST_GENERATED} members to the sets of the deck; found {line!r}. Name "
            "the numbers that exist."
        )
    return list(members)


def _take_nodes(deck: Deck, options: dict[str, str], rows: Rows) -> None:
    if options.get("SYSTEM", "R").upper() != "R":
        raise MeshError(
            f"{rows[0][0] if rows else deck.path}: *NODE, SYSTEM={options['SYSTEM']} is not supported. Write "
            "rectangular coordinates."
        )
    first = ASSEMBLY_NODES if deck.level == "ASSEMBLY" else 0
    if not first:
        deck.scopes.add(deck.scope)
    if (
        len(deck.scopes) > 1 and not deck.instances
    ):  # each part has node numbers of its own: read together they would overwrite each other
        place = rows[0][0] if rows else deck.path
        raise MeshError(
            f"{place}: the deck defines nodes in a part and outside of it; write them all in the part, or a deck "
            "without parts."
        )
    numbers: list[str | int] = []
    for place, line in rows:
        entries = fields(line)
        try:
            x = [number(f) if f else 0.0 for f in entries[1:4]]
            own = (*x, *[0.0] * (3 - len(x)))
            if deck.nodes.get(first + int(entries[0]), own) != own:
                deck.moved_nodes.setdefault(first + int(entries[0]), place)
            deck.nodes[first + int(entries[0])] = own
            if not deck.normals and any(number(f) for f in entries[4:7] if f):
                deck.normals = place
        except (ValueError, IndexError):
            raise MeshError(f"{place}: a node needs a number and coordinates; found {line!r}.") from None
        numbers.append(first + int(entries[0]))
    if options.get("NSET"):
        deck.sets.nodes.setdefault(deck.named(options["NSET"]), []).extend(numbers)


def _take_elements(deck: Deck, place: Place, line: str, options: dict[str, str], rows: Rows) -> None:
    given = options.get("TYPE", "").upper()
    if given in LUMPED:
        first = ASSEMBLY_NODES if deck.level == "ASSEMBLY" else 0
        source = deck.not_obeyed(place, line, f"ELEMENT TYPE={given}", group="ELEMENT")
        table = _element_rows(deck, place, given, LUMPED[given] + 1, rows)
        for row in ([first + k for k in row] for row in table):
            if _is_new(deck, place, given, row):
                deck.lumped[row[0]] = Lumped(given, row[1:], source)
        if options.get("ELSET"):
            deck.sets.elements.setdefault(deck.named(options["ELSET"]), []).extend(first + row[0] for row in table)
        return
    if deck.level == "ASSEMBLY":
        source = deck.not_obeyed(place, line, f"ELEMENT TYPE={given}", group="ELEMENT")
        deck.unread.append(replace(source, text=f"{line} (not obeyed: elements of the assembly are not read)"))
        return
    members = deck.sets.elements.setdefault(deck.named(options["ELSET"]), []) if options.get("ELSET") else []
    if given in (BEAM_TYPES if deck.as_named or deck.expand else BEAM_TYPES_OF_ABAQUS):
        _take_beams(deck, place, line, given, rows, members)
        return
    found = kind_of(given, deck.as_named)
    if deck.as_named and deck.instances and deck.here and given[:3] in PLANE:
        raise MeshError(
            f"{place}: plane elements ({given}) of one of several instances that is moved are not read; write a flat "
            "deck."
        )
    shell = found is not None and given in SHELL_TYPES
    if found is None or not (found[2] or found[0] == LINE or shell):
        deck.not_solid[given or "(without TYPE)"] += len(rows)
    source = deck.not_obeyed(place, line, f"ELEMENT TYPE={given}", group="ELEMENT")
    if found is None:
        source = replace(source, text=f"{line} ({not_known(given)})")
    if (found is None or not found[2]) and not given.startswith("CPS") and not shell:
        unread = deck.unread_lines if found is not None and found[0] == LINE else deck.unread
        unread.append(source)
    if found is not None and found[2] and AS_NAMED.get(given) != found[0]:
        if given.rstrip("HI").endswith("R"):
            deck.otherwise[given] = IN_FULL
        elif given == "C3D8":
            deck.otherwise[given] = "given incompatible modes, as C3D8I has"
        elif given == "C3D6":
            deck.otherwise[given] = "integrated in full, not at two points, which makes them stiffer still in bending"
    if found is not None:
        table = _element_rows(deck, place, given, found[1] + 1, rows)
        members += [row[0] for row in table]
        if given == "T3D2":
            deck.rods |= dict.fromkeys((row[0] for row in table), source)
        if shell:
            deck.shells |= dict.fromkeys((row[0] for row in table), source)
            deck.thin |= {row[0]: Thin(given, "S", found[0], tuple(row[1:]), source) for row in table}
        if deck.as_named and given[:3] in PLANE:
            deck.plane |= {row[0]: Thin(given, given[:3], found[0], tuple(row[1:]), source) for row in table}
        deck.elements.setdefault(found[0], []).extend(row for row in table if _is_new(deck, place, found[0], row))


def _take_beams(deck: Deck, place: Place, line: str, given: str, rows: Rows, members: list[str | int]) -> None:
    """Beams of two nodes; of three nodes (end, middle, end) two of them."""
    table = _element_rows(deck, place, given, BEAM_TYPES_OF_ABAQUS[given] + 1, rows)
    source = deck.not_obeyed(place, line, f"ELEMENT TYPE={given}", group="ELEMENT")
    members += [row[0] for row in table]
    for row in table:
        if _is_new(deck, place, LINE, row):
            deck.shells[row[0]] = source
            deck.thin[row[0]] = Thin(given, "B", LINE, tuple(row[1:]), source)
            deck.elements.setdefault(LINE, []).extend([row[0], a, b] for a, b in pairwise(row[1:]))


def _is_new(deck: Deck, place: Place, kind: str, row: list[int]) -> bool:
    """Whether an element is not yet in the deck: some programs write those of several sets once for each."""
    known = deck.given.setdefault(row[0], (kind, row))
    if known != (kind, row):
        one, other = (f"{k} of nodes {', '.join(map(deck.who, r[1:]))}" for k, r in (known, (kind, row)))
        raise MeshError(f"{place}: element {deck.who(row[0])} is given twice, as {one} and as {other}.")
    return known[1] is row


def _element_rows(deck: Deck, place: Place, given: str, width: int, rows: Rows) -> list[list[int]]:
    """Number and nodes of each element, which may go on in further lines; surplus numbers in a line mean nothing, and
    are noted, but those of beams in Abaqus, which are not obeyed.

    Raises `MeshError` where an element that goes on leaves some: the line before is short."""
    table: list[list[int]] = []
    values: list[int] = []
    surplus: list[str] = []
    first = place
    for row_place, line in rows:
        first, goes_on = (first, True) if values else (row_place, False)
        try:
            values += [int(f) for f in fields(line) if f]
        except ValueError:
            raise MeshError(f"{row_place}: element data must be integers; found {line!r}.") from None
        if goes_on and len(values) > width:
            raise MeshError(
                f"{first}: *ELEMENT of type {given} needs {width - 1} nodes an element; the line of element "
                f"{values[0]} has fewer, and with the next line it has {len(values) - 1}. Complete the line."
            )
        if len(values) >= width:
            surplus += [row_place.rpartition(", ")[2]] if len(values) > width else []
            table.append(values[:width])
            values = []
    if values:
        raise MeshError(
            f"{place}: *ELEMENT of type {given} needs {width - 1} nodes an element; the last one has {len(values) - 1}."
        )
    if surplus and given in BEAM_TYPES_OF_ABAQUS and not (deck.as_named or deck.expand):
        told = (
            f"*ELEMENT, TYPE={given} (not obeyed: {surplus[0]} has a node after the {width - 1} of the element, which "
            "in Abaqus gives the first axis of its section; give that axis in the section, and remove the node)"
        )
        source = deck.not_obeyed(place, told, f"ELEMENT TYPE={given}", group="ELEMENT")
        deck.unread.append(source)
    elif surplus:
        label = deck.not_obeyed(place, "", "ELEMENT").label
        deck.idle.append(
            f"{label}: elements of type {given} have {width - 1} nodes, and {len(surplus)} lines have more numbers, "
            f"which mean nothing (first: {surplus[0]})"
        )
    return table

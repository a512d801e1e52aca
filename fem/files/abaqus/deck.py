"""Reader of Abaqus and CalculiX input decks: nodes, elements, and every kind of set.

Read: `*NODE` (NSET), `*ELEMENT` (TYPE, ELSET), `*NSET` and `*ELSET` (GENERATE, names of other sets), `*SURFACE`
(TYPE=ELEMENT with S1..S6 or whole element sets, TYPE=NODE), `*INCLUDE`, INPUT=, one `*PART` with one `*INSTANCE`, moved
or not. Keywords that generate or transform nodes are refused. `*MATERIAL` with `*ELASTIC` and `*DENSITY`, and
`*SOLID SECTION`, are kept for comparison with the materials of the model; constraints and supports are read by
`fem.files.abaqus.constraints`. Output and kinds of analysis are passed over
(fem/files/abaqus/keywords.py); every other keyword is kept with its line as not obeyed. Abaqus numbers the nodes of its
solid elements as VTK does. Names keep the spelling of their first use; the case of letters does not matter, nor do
blanks in keywords.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fem.elements import LINE
from fem.errors import MeshError
from fem.files.abaqus.element_types import kind_of
from fem.files.abaqus.keywords import HARMLESS
from fem.mesh.unread import Unread, canonical

REFUSED = ("SYSTEM", "NGEN", "NFILL", "NCOPY", "NMAP", "ELGEN", "ELCOPY")
"""Keywords that make or move nodes and elements: a deck read without them would be another mesh."""
STATEMENTS = ("EQUATION", "MPC", "RIGIDBODY", "TIE", "COUPLING", "TRANSFORM", "ORIENTATION", "BOUNDARY")
"""Keywords that connect or hold nodes, which `fem.files.abaqus.constraints` reads."""
SHELL_TYPES = ("S3", "S3R", "S4", "S4R", "S6", "S8", "S8R")
"""Elements that are shells where a `*SHELL SECTION` gives them a thickness; those with reduced integration are not
integrated so."""
ASSEMBLY_NODES = 10**9
"""Added to the numbers of nodes of an assembly, which are numbered apart from those of its part."""
Place = str
Rows = list[tuple[Place, str]]


@dataclass
class Sets:
    """Sets of one level (part or assembly): upper-case name -> members, numbers or names of other sets."""

    nodes: dict[str, list[str | int]] = field(default_factory=dict)
    elements: dict[str, list[str | int]] = field(default_factory=dict)
    surfaces: dict[str, list[list[str]]] = field(default_factory=dict)


@dataclass
class DeckMaterial:
    """The constants of a `*MATERIAL`; None for a constant that is missing or not a number."""

    source: Unread
    youngs_modulus: float | None = None
    poissons_ratio: float | None = None
    density: float | None = None


@dataclass
class Statement:
    """A keyword that connects or holds nodes, with its data lines.

    `kind`: the keyword that completes a coupling; `step`: number of the analysis step, 0 before the first.
    """

    keyword: str
    source: Unread
    options: dict[str, str]
    rows: Rows
    step: int = 0
    kind: str = ""


@dataclass
class Deck:
    """The contents of a deck, in the numbers of the file. A flat deck consists of `part` only."""

    path: Path
    nodes: dict[int, tuple[float, ...]] = field(default_factory=dict)
    elements: dict[str, list[list[int]]] = field(default_factory=dict)  # kind -> rows of element number and nodes
    given: dict[int, tuple[str, list[int]]] = field(default_factory=dict)  # element number -> kind and row
    part: Sets = field(default_factory=Sets)
    assembly: Sets = field(default_factory=Sets)
    spelling: dict[str, str] = field(default_factory=dict)
    internal: set[str] = field(default_factory=set)
    reduced: Counter[str] = field(default_factory=Counter)  # types whose integration is full here
    not_solid: Counter[str] = field(default_factory=Counter)
    unread: list[Unread] = field(default_factory=list)
    unread_lines: list[Unread] = field(default_factory=list)
    materials: dict[str, DeckMaterial] = field(default_factory=dict)
    sections: list[tuple[str, str, Unread]] = field(default_factory=list)  # element set, material, place
    material: str = ""  # whose constants are being read
    in_step: bool = False
    steps: int = 0
    statements: list[Statement] = field(default_factory=list)
    masses: dict[int, tuple[int, Unread]] = field(default_factory=dict)  # number -> node, keyword
    mass_values: list[tuple[str, float, Unread]] = field(default_factory=list)
    shells: dict[int, Unread] = field(default_factory=dict)  # element number -> its keyword
    shell_sections: list[tuple[str, str, float, float, Unread]] = field(default_factory=list)
    move: list[list[float]] = field(default_factory=list)  # translation, then axis points and angle of the instance
    level: str = ""  # where the reading is: "", PART, ASSEMBLY, INSTANCE
    scope: int = 0  # which part or instance that is, 0 outside of them
    scopes: set[int] = field(default_factory=set)  # those that define nodes
    scopes_so_far: int = 0
    instances: int = 0
    passed_over: int = 0  # nodes and elements of the assembly: reference points

    @property
    def sets(self) -> Sets:
        """The sets of the level that is being read."""
        return self.assembly if self.level == "ASSEMBLY" else self.part

    def not_obeyed(self, place: Place, line: str, keyword: str, group: str = "") -> Unread:
        """The record of a keyword that is not obeyed."""
        path, _, number = place.rpartition(", line ")
        return Unread(keyword, Path(path).name, int(number), line, "STEP" if self.in_step else group)

    def named(self, name: str) -> str:
        """The key of a name; remembers its first spelling."""
        self.spelling.setdefault(name.upper(), name)
        return name.upper()


def read_deck(path: Path) -> Deck:
    """The contents of an input deck. Raises `MeshError`, which names file and line."""
    deck = Deck(path)
    for place, line, options, rows in _blocks(path):
        keyword = canonical(line.split(",")[0])
        try:
            _take(deck, place, line, keyword, options, rows)
        except ValueError as error:
            if isinstance(error, MeshError):
                raise
            raise MeshError(f"{place}: *{keyword} cannot be read: {error}.") from None
    return deck


# lines and keywords -------------------------------------------------------------------------------------------------


def _lines(path: Path, inside: tuple[Path, ...] = ()) -> Iterator[tuple[Place, str]]:
    """Lines without comments, with their place, included files spliced in."""
    if path.resolve() in inside:
        raise MeshError(f"{path}: the file includes itself.")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise MeshError(f"The input deck {path} cannot be read: {error.strerror}.") from None
    including = ""
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("**"):
            continue
        place = f"{path}, line {number}"
        if including and line[0].isalpha():
            line = including + line
        including = ""
        if canonical(line.split(",")[0]) != "INCLUDE":
            yield place, line
        elif line.endswith(","):  # goes on in the next line
            including = line
        else:
            other = _beside(path, place, _options(line).get("INPUT", ""), (*inside, path)[0])
            yield from _lines(other, (*inside, path.resolve()))


def _beside(path: Path, place: Place, name: str, deck: Path) -> Path:
    """A file that is named relative to the file that names it, or to the deck."""
    found = [folder / name for folder in (path.parent, deck.parent) if name and (folder / name).is_file()]
    if not found:
        raise MeshError(
            f"{place}: the file {name!r} that the deck refers to does not exist beside it ({path.parent.resolve()})."
        )
    return found[0]


def _options(line: str) -> dict[str, str]:
    options = {}
    for part in line.split(",")[1:]:
        key, _, value = part.partition("=")
        options["".join(key.upper().split())] = value.strip().strip('"')
    return options


def _blocks(path: Path) -> Iterator[tuple[Place, str, dict[str, str], Rows]]:
    """Place, line, options and data lines of every keyword."""
    current: tuple[Place, str, dict[str, str], Rows] | None = None
    pending = ""
    for place, line in _lines(path):
        if pending and line[0].isalpha():  # a keyword that ends with a comma goes on, where a name of an option follows
            current = (current[0], pending + line, _options(pending + line), []) if current is not None else None
            pending = pending + line if line.endswith(",") else ""
            continue
        pending = line if line.startswith("*") and line.endswith(",") else ""
        if line.startswith("*"):
            if current is not None:
                yield current
            current = (place, line, _options(line), [])
        elif current is not None:
            current[3].append((place, line))
    if current is not None:
        yield current


def fields(line: str) -> list[str]:
    """The entries of a data line."""
    return [f.strip() for f in line.rstrip(",").split(",")]


# one keyword --------------------------------------------------------------------------------------------------------


def _take(deck: Deck, place: Place, line: str, keyword: str, options: dict[str, str], rows: Rows) -> None:
    """Add one keyword to the deck."""
    deck.in_step = (deck.in_step or keyword == "STEP") and keyword != "ENDSTEP"
    deck.steps += keyword == "STEP"
    if keyword in REFUSED:
        raise MeshError(f"{place}: *{keyword} is not supported. Write a flat deck, with every node and element in it.")
    if keyword in ("NODE", "ELEMENT", "NSET", "ELSET") and options.get("INPUT"):
        path = Path(place.rpartition(", line ")[0])
        rows = [*rows, *_lines(_beside(path, place, options["INPUT"], deck.path))]
    if keyword == "NODE":
        _take_nodes(deck, options, rows)
    elif keyword == "ELEMENT":
        _take_elements(deck, place, line, options, rows)
    elif keyword in ("NSET", "ELSET"):
        _take_set(deck, place, keyword, options, rows)
    elif keyword == "SURFACE":
        name = deck.named(_required(place, options, "NAME"))
        if options.get("TYPE", "ELEMENT").upper() == "NODE":
            deck.sets.nodes[name] = [member(fields(line)[0]) for _, line in rows]
        else:
            deck.sets.surfaces[name] = [fields(line) for _, line in rows]
    elif keyword in ("PART", "ASSEMBLY", "INSTANCE"):
        deck.level = keyword
        deck.scopes_so_far += 1
        deck.scope = deck.scopes_so_far
        if keyword == "INSTANCE":
            deck.instances += 1
            deck.move = [[float(f) for f in fields(line)] for _, line in rows]
            if deck.instances > 1:
                raise MeshError(
                    f"{place}: the deck has more than one instance of a part. One flexible body is one part: write a "
                    "deck of it alone."
                )
            if [len(r) for r in deck.move] not in ([], [3], [3, 7]):
                raise MeshError(
                    f"{place}: an instance is moved by 3 numbers and turned by 7 (two points, an angle in degrees); "
                    f"found {deck.move}."
                )
    elif keyword in ("ENDPART", "ENDASSEMBLY", "ENDINSTANCE"):
        deck.level, deck.scope = "ASSEMBLY" if keyword == "ENDINSTANCE" else "", 0
    elif keyword == "MASS" and set(options) == {"ELSET"} and rows and len(fields(rows[0][1])) == 1:
        source = deck.not_obeyed(place, line, "MASS")
        deck.mass_values.append((str(member(options["ELSET"])), number(fields(rows[0][1])[0]), source))
    elif keyword in STATEMENTS:
        source = deck.not_obeyed(place, line, _spelt(line))
        deck.statements.append(Statement(keyword, source, options, rows, deck.steps))
    elif keyword in ("KINEMATIC", "DISTRIBUTING") and deck.statements and deck.statements[-1].keyword == "COUPLING":
        deck.statements[-1].kind, deck.statements[-1].rows = keyword, rows
    elif not _take_material(deck, place, line, keyword, options, rows) and keyword not in HARMLESS:
        deck.unread.append(deck.not_obeyed(place, line, _spelt(line)))


def _spelt(line: str) -> str:
    return " ".join(line[1:].split(",")[0].upper().split())


def _take_material(deck: Deck, place: Place, line: str, keyword: str, options: dict[str, str], rows: Rows) -> bool:
    """Whether the keyword is one of a linear elastic isotropic material, and of where it is; those that say more are
    not obeyed."""
    values = [fields(row) for _, row in rows]
    if keyword == "MATERIAL":
        deck.material = deck.named(_required(place, options, "NAME"))
        deck.materials[deck.material] = DeckMaterial(deck.not_obeyed(place, line, "MATERIAL"))
    elif (
        keyword == "SOLIDSECTION"
        and not {"ORIENTATION", "COMPOSITE"} & set(options)
        and options.get("MATERIAL")
        and options.get("ELSET")
    ):
        source = deck.not_obeyed(place, line, "SOLID SECTION")
        deck.sections.append((str(member(options["ELSET"])), options["MATERIAL"].upper(), source))
    elif (
        keyword == "SHELLSECTION"
        and not {"ORIENTATION", "COMPOSITE", "NODALTHICKNESS"} & set(options)
        and options.get("MATERIAL")
        and options.get("ELSET")
        and values
    ):
        thickness = number(values[0][0])
        shift = {"SPOS": 0.5, "SNEG": -0.5}.get(options.get("OFFSET", "0").upper())
        shift = number(options["OFFSET"]) if shift is None and options.get("OFFSET") else shift or 0.0
        source = deck.not_obeyed(place, line, "SHELL SECTION")
        where = (str(member(options["ELSET"])), options["MATERIAL"].upper())
        deck.shell_sections.append((*where, thickness, -shift * thickness, source))
    elif (
        keyword == "ELASTIC" and deck.material and options.get("TYPE", "ISO").upper()[:3] == "ISO" and len(values) == 1
    ):
        material = deck.materials[deck.material]
        material.youngs_modulus, material.poissons_ratio = (
            number(values[0][0]),
            number(values[0][1]) if values[0][1:] else 0.0,
        )
    elif keyword == "DENSITY" and deck.material and len({row[0] for row in values}) == 1:
        deck.materials[deck.material].density = number(values[0][0])
    else:
        return False
    return True


def number(text: str) -> float:
    """A number as Fortran writes it."""
    return float(text.upper().replace("D", "E"))


def _required(place: Place, options: dict[str, str], key: str) -> str:
    if not options.get(key):
        raise MeshError(f"{place}: the name is missing, {key}=... is needed.")
    return options[key]


def member(text: str) -> str | int:
    """A number, or the upper-case name of a set (without its instance)."""
    return int(text) if text.lstrip("+-").isdigit() else text.strip('"').rpartition(".")[2].upper()


def _take_set(deck: Deck, place: Place, keyword: str, options: dict[str, str], rows: Rows) -> None:
    name = deck.named(_required(place, options, keyword))
    if "INTERNAL" in options:
        deck.internal.add(name)
    members = (deck.sets.nodes if keyword == "NSET" else deck.sets.elements).setdefault(name, [])
    found: list[str | int] = []
    for row_place, line in rows:
        found += _generated(row_place, line) if "GENERATE" in options else [member(f) for f in fields(line) if f]
    if deck.level == "ASSEMBLY" and "INSTANCE" not in options:  # numbers of reference points
        nodes = keyword == "NSET"
        found = [m + ASSEMBLY_NODES if isinstance(m, int) else m for m in found if nodes or isinstance(m, str)]
    members += found
    if keyword == "NSET" and options.get("ELSET"):
        members.append(f"elset:{options['ELSET'].upper()}")


def _generated(place: Place, line: str) -> list[str | int]:
    numbers = [int(f) for f in fields(line)]
    if len(numbers) not in (2, 3) or (len(numbers) == 3 and numbers[2] <= 0):
        raise MeshError(f"{place}: GENERATE needs first, last and a positive increment; found {line!r}.")
    return list(range(numbers[0], numbers[1] + 1, numbers[2] if len(numbers) == 3 else 1))


def _take_nodes(deck: Deck, options: dict[str, str], rows: Rows) -> None:
    if options.get("SYSTEM", "R").upper() != "R":
        raise MeshError(
            f"{rows[0][0] if rows else deck.path}: *NODE, SYSTEM={options['SYSTEM']} is not supported. Write "
            "rectangular coordinates."
        )
    first = ASSEMBLY_NODES if deck.level == "ASSEMBLY" else 0
    if not first:
        deck.scopes.add(deck.scope)
    if len(deck.scopes) > 1:  # each part has node numbers of its own: read together they would overwrite each other
        place = rows[0][0] if rows else deck.path
        raise MeshError(
            f"{place}: the deck defines nodes in more than one part. One flexible body is one part: write a deck of it "
            "alone."
        )
    numbers: list[str | int] = []
    for place, line in rows:
        entries = fields(line)
        try:
            x = [number(f) if f else 0.0 for f in entries[1:4]]
            deck.nodes[first + int(entries[0])] = (*x, *[0.0] * (3 - len(x)))
        except (ValueError, IndexError):
            raise MeshError(f"{place}: a node needs a number and coordinates; found {line!r}.") from None
        numbers.append(first + int(entries[0]))
    if options.get("NSET"):
        deck.sets.nodes.setdefault(deck.named(options["NSET"]), []).extend(numbers)


def _take_elements(deck: Deck, place: Place, line: str, options: dict[str, str], rows: Rows) -> None:
    given = options.get("TYPE", "").upper()
    if given == "MASS":
        first = ASSEMBLY_NODES if deck.level == "ASSEMBLY" else 0
        source = deck.not_obeyed(place, line, "ELEMENT TYPE=MASS", group="ELEMENT")
        found_masses = {first + row[0]: (first + row[1], source) for row in _element_rows(place, given, 2, rows)}
        deck.masses |= found_masses
        if options.get("ELSET"):
            deck.sets.elements.setdefault(deck.named(options["ELSET"]), []).extend(found_masses)
        return
    if deck.level == "ASSEMBLY":
        deck.passed_over += len(rows)
        return
    members = deck.sets.elements.setdefault(deck.named(options["ELSET"]), []) if options.get("ELSET") else []
    found = kind_of(given)
    if found is None or not (found[2] or found[0] == LINE or given in SHELL_TYPES):
        deck.not_solid[given or "(without TYPE)"] += len(rows)
    shell = found is not None and given in SHELL_TYPES
    if (found is None or not found[2]) and not given.startswith("CPS") and not shell:
        unread = deck.unread_lines if found is not None and found[0] == LINE else deck.unread
        unread.append(deck.not_obeyed(place, line, f"ELEMENT TYPE={given}", group="ELEMENT"))
    if found is not None and found[2] and given.rstrip("HI").endswith("R"):
        deck.reduced[given] += len(rows)
    if found is not None:
        table = _element_rows(place, given, found[1] + 1, rows)
        members += [row[0] for row in table]
        if shell:
            source = deck.not_obeyed(place, line, f"ELEMENT TYPE={given}", group="ELEMENT")
            deck.shells |= dict.fromkeys((row[0] for row in table), source)
        deck.elements.setdefault(found[0], []).extend(row for row in table if _is_new(deck, place, found[0], row))


def _is_new(deck: Deck, place: Place, kind: str, row: list[int]) -> bool:
    """Whether an element is not yet in the deck: some programs write those of several sets once for each."""
    known = deck.given.setdefault(row[0], (kind, row))
    if known != (kind, row):
        raise MeshError(
            f"{place}: element {row[0]} is given twice, as {known[0]} of nodes {known[1][1:]} and as {kind} of nodes "
            f"{row[1:]}."
        )
    return known[1] is row


def _element_rows(place: Place, given: str, width: int, rows: Rows) -> list[list[int]]:
    """Number and nodes of each element, which may go on in further lines; surplus numbers in a line mean nothing."""
    table: list[list[int]] = []
    values: list[int] = []
    for row_place, line in rows:
        try:
            values += [int(f) for f in fields(line) if f]
        except ValueError:
            raise MeshError(f"{row_place}: element data must be integers; found {line!r}.") from None
        if len(values) >= width:
            table.append(values[:width])
            values = []
    if values:
        raise MeshError(
            f"{place}: *ELEMENT of type {given} needs {width - 1} nodes an element; the last one has {len(values) - 1}."
        )
    return table

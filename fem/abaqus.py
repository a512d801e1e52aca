"""Reader of Abaqus and CalculiX input decks: nodes, solid elements, and every kind of set.

Read: `*NODE` (NSET), `*ELEMENT` (TYPE, ELSET), `*NSET` and `*ELSET` (GENERATE, names of other sets), `*SURFACE` (TYPE=ELEMENT
with S1..S6 or whole element sets, TYPE=NODE), `*INCLUDE`, one `*PART` with one untransformed `*INSTANCE`. Everything else
(materials, steps, loads) is passed over. Abaqus numbers the nodes of its solid elements as VTK does.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fem.elements import element
from fem.errors import MeshError, unknown_name
from fem.mesh import CellBlock, Mesh

KINDS = {
    "C3D4": "tetra", "C3D10": "tetra10", "C3D8": "hexahedron", "C3D20": "hexahedron20", "C3D6": "wedge", "C3D15": "wedge15",
    "C3D5": "pyramid", "C3D13": "pyramid13",
}  # fmt: skip
"""Abaqus' solid elements; variants (C3D8R, C3D10M, C3D20RH, DC3D..., AC3D...) have the nodes of their base type."""

_FACES = {
    # corners of the faces S1, S2, ... (counted from 0)
    4: ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)),
    8: ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0)),
    6: ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0)),
    5: ((0, 1, 2, 3), (0, 4, 1), (1, 4, 2), (2, 4, 3), (3, 4, 0)),
}


@dataclass
class _Deck:
    """What has been read so far, in the numbers of the file."""

    nodes: dict[int, tuple[float, ...]] = field(default_factory=dict)
    elements: dict[str, list[list[int]]] = field(default_factory=dict)  # kind -> rows of element number and nodes
    node_sets: dict[str, list[str | int]] = field(default_factory=dict)
    element_sets: dict[str, list[str | int]] = field(default_factory=dict)
    surfaces: dict[str, list[list[str]]] = field(default_factory=dict)
    unsupported: Counter[str] = field(default_factory=Counter)
    instances: int = 0


def read_abaqus(path: str | Path) -> Mesh:
    """The solid mesh of an input deck with its node, element and surface sets. Raises `MeshError` naming file and line."""
    path = Path(path)
    deck = _Deck()
    for place, keyword, options, rows in _blocks(path):
        try:
            _take(deck, place, keyword, options, rows)
        except ValueError as error:
            if isinstance(error, MeshError):
                raise
            raise MeshError(f"{place}: *{keyword} cannot be read: {error}.") from None
    return _mesh(deck, path)


# reading the file ---------------------------------------------------------------------------------------------------


def _lines(path: Path, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Lines without comments, with their place, included files spliced in."""
    if depth > 20:
        raise MeshError(f"{path}: *INCLUDE goes deeper than 20 files; does a file include itself?")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise MeshError(f"The input deck {path} cannot be read: {error.strerror}.") from None
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("**"):
            continue
        if line.upper().replace(" ", "").startswith("*INCLUDE,"):
            name = _options(line).get("INPUT", "")
            inner = path.parent / name
            if not name or not inner.is_file():
                raise MeshError(f"{path}, line {number}: the included file {name!r} does not exist beside the deck.")
            yield from _lines(inner, depth + 1)
        else:
            yield f"{path}, line {number}", line


def _options(line: str) -> dict[str, str]:
    options = {}
    for part in line.split(",")[1:]:
        key, _, value = part.partition("=")
        options[key.strip().upper()] = value.strip().strip('"')
    return options


def _blocks(path: Path) -> Iterator[tuple[str, str, dict[str, str], list[tuple[str, str]]]]:
    """Place, keyword, options and data lines of every keyword."""
    current: tuple[str, str, dict[str, str], list[tuple[str, str]]] | None = None
    pending = ""
    for place, line in _lines(path):
        if line.startswith("*") or pending:
            line = pending + line
            if line.rstrip().endswith(","):  # a keyword goes on in the next line
                pending = line
                continue
            pending = ""
            if current is not None:
                yield current
            current = (place, line[1:].split(",")[0].strip().upper(), _options(line), [])
        elif current is not None:
            current[3].append((place, line))
    if current is not None:
        yield current


def _fields(line: str) -> list[str]:
    return [f.strip() for f in line.rstrip(",").split(",")]


def _take(deck: _Deck, place: str, keyword: str, options: dict[str, str], rows: list[tuple[str, str]]) -> None:
    """Add one keyword to the deck."""
    if keyword == "NODE":
        _take_nodes(deck, options, rows)
    elif keyword == "ELEMENT":
        _take_elements(deck, place, options, rows)
    elif keyword in ("NSET", "ELSET"):
        name = _set_name(place, options, keyword)
        target = deck.node_sets if keyword == "NSET" else deck.element_sets
        members = target.setdefault(name, [])
        for row_place, line in rows:
            members += _generated(row_place, line) if "GENERATE" in options else [_member(f) for f in _fields(line) if f]
        if keyword == "NSET" and "ELSET" in options:
            members.append(f"elset:{options['ELSET'].upper()}")
    elif keyword == "SURFACE":
        name = _set_name(place, options, "NAME")
        if options.get("TYPE", "ELEMENT").upper() == "NODE":
            deck.node_sets[name] = [_member(_fields(line)[0]) for _, line in rows]
        else:
            deck.surfaces[name] = [_fields(line) for _, line in rows]
    elif keyword == "INSTANCE":
        deck.instances += 1
        if rows or deck.instances > 1:
            what = "a moved instance" if rows else "more than one instance"
            raise MeshError(f"{place}: the deck has {what} of a part. Write a flat deck (no parts and instances), or one part in place.")


def _set_name(place: str, options: dict[str, str], key: str) -> str:
    if not options.get(key):
        raise MeshError(f"{place}: the name is missing, {key}=... is needed.")
    return options[key].upper()


def _member(text: str) -> str | int:
    return int(text) if text.lstrip("-").isdigit() else text.strip('"').rpartition(".")[2].upper()


def _generated(place: str, line: str) -> list[str | int]:
    numbers = [int(f) for f in _fields(line)]
    if len(numbers) not in (2, 3) or (len(numbers) == 3 and numbers[2] <= 0):
        raise MeshError(f"{place}: GENERATE needs first, last and a positive increment; found {line!r}.")
    return list(range(numbers[0], numbers[1] + 1, numbers[2] if len(numbers) == 3 else 1))


def _take_nodes(deck: _Deck, options: dict[str, str], rows: list[tuple[str, str]]) -> None:
    numbers: list[str | int] = []
    for place, line in rows:
        fields = _fields(line)
        try:
            number = int(fields[0])
            deck.nodes[number] = tuple(float(f) for f in (fields[1:4] + ["0", "0", "0"])[:3] if f != "") or (0.0, 0.0, 0.0)
        except (ValueError, IndexError):
            raise MeshError(f"{place}: a node needs a number and coordinates; found {line!r}.") from None
        if len(deck.nodes[number]) != 3:
            deck.nodes[number] = tuple([*deck.nodes[number], 0.0, 0.0][:3])
        numbers.append(number)
    if options.get("NSET"):
        deck.node_sets.setdefault(options["NSET"].upper(), []).extend(numbers)


def _take_elements(deck: _Deck, place: str, options: dict[str, str], rows: list[tuple[str, str]]) -> None:
    given = options.get("TYPE", "").upper()
    kind = _kind(given)
    if options.get("ELSET"):
        deck.element_sets.setdefault(options["ELSET"].upper(), [])
    if kind is None:
        deck.unsupported[given or "without TYPE"] += len(rows)
        return
    table = _element_rows(place, given, element(kind).nodes + 1, rows)
    deck.elements.setdefault(kind, []).extend(table)
    if options.get("ELSET"):
        deck.element_sets.setdefault(options["ELSET"].upper(), []).extend(row[0] for row in table)


def _element_rows(place: str, given: str, width: int, rows: list[tuple[str, str]]) -> list[list[int]]:
    """Number and nodes of each element, which may go on in further lines; surplus numbers in a line mean nothing."""
    table: list[list[int]] = []
    values: list[int] = []
    for row_place, line in rows:
        try:
            values += [int(f) for f in _fields(line) if f]
        except ValueError:
            raise MeshError(f"{row_place}: element data must be integers; found {line!r}.") from None
        if len(values) >= width:
            table.append(values[:width])
            values = []
    if values:
        raise MeshError(f"{place}: *ELEMENT of type {given} needs {width - 1} nodes an element; the last one has {len(values) - 1}.")
    return table


def _kind(given: str) -> str | None:
    """The element kind of an Abaqus type: its base name is followed by letters only."""
    start = given.find("C3D")
    if start < 0 or given[:start] not in ("", "D", "A"):
        return None
    digits = "".join(c for c in given[start + 3 :] if c.isdigit())
    return KINDS.get(f"C3D{digits}")


# making the mesh ----------------------------------------------------------------------------------------------------


def _mesh(deck: _Deck, path: Path) -> Mesh:
    if not deck.elements:
        there = ", ".join(f"{n} of type {kind}" for kind, n in deck.unsupported.items()) or "none"
        raise MeshError(f"The deck {path} has no solid elements that flexmb knows ({', '.join(KINDS)}); elements found: {there}.")
    notes = [f"{n} elements of type {kind} are not supported and were left out" for kind, n in deck.unsupported.items()]
    blocks, element_ids = [], []
    tables = {kind: np.array(rows, dtype=np.int64) for kind, rows in deck.elements.items()}
    used = np.unique(np.concatenate([t[:, 1:].ravel() for t in tables.values()]))
    missing = [int(n) for n in used if int(n) not in deck.nodes]
    if missing:
        raise MeshError(f"The deck {path}: elements refer to {len(missing)} nodes that are not defined (first: {missing[0]}).")
    if len(used) < len(deck.nodes):
        notes.append(f"{len(deck.nodes) - len(used)} nodes that no solid element uses were left out")
    points = np.array([deck.nodes[int(n)] for n in used])
    for kind, table in tables.items():
        blocks.append(CellBlock(kind, np.searchsorted(used, table[:, 1:])))
        element_ids.append(table[:, 0])
    ids = np.concatenate(element_ids)
    node_of = {int(n): k for k, n in enumerate(used)}
    cell_of = {int(e): k for k, e in enumerate(ids)}
    plain = Mesh(points, tuple(blocks), node_ids=used, name=path.stem)
    cell_sets = {name: _numbers(deck.element_sets, name, cell_of, path) for name in deck.element_sets}
    node_sets = _node_sets(deck, node_of, cell_sets, plain, path)
    face_sets = {name: _surface(rows, name, deck, plain, cell_of, path) for name, rows in deck.surfaces.items()}
    return Mesh(
        points, tuple(blocks), _not_empty(node_sets), _not_empty(cell_sets), _not_empty(face_sets), used, path.stem, tuple(notes)
    )


def _not_empty(sets: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: members for name, members in sets.items() if len(members)}


def _numbers(sets: dict[str, list[str | int]], name: str, places: dict[int, int], path: Path, inside: tuple[str, ...] = ()) -> np.ndarray:
    """Members of a set in the mesh's numbers, sets inside it resolved; numbers of other element kinds are passed over."""
    if name in inside:
        raise MeshError(f"The deck {path}: the set {name!r} contains itself.")
    found: list[int] = []
    for member in sets[name]:
        if isinstance(member, int):
            if member in places:
                found.append(places[member])
        elif member == name:
            continue  # says nothing new
        elif member in sets:
            found += _numbers(sets, member, places, path, (*inside, name)).tolist()
        elif not member.startswith("elset:"):
            raise MeshError(f"The deck {path}, set {name!r}: " + unknown_name("set", member, sets))
    return np.unique(np.array(found, dtype=np.int64))


def _node_sets(deck: _Deck, node_of: dict[int, int], cell_sets: dict[str, np.ndarray], mesh: Mesh, path: Path) -> dict[str, np.ndarray]:
    sets = {}
    for name, members in deck.node_sets.items():
        nodes = [_numbers(deck.node_sets, name, node_of, path)]
        for member in members:
            if isinstance(member, str) and member.startswith("elset:"):
                elements = cell_sets.get(member.removeprefix("elset:"), np.zeros(0, dtype=int))
                rows = [mesh.block_of(int(c)) for c in elements]
                nodes += [block.connectivity[row] for block, row in rows]
        sets[name] = np.unique(np.concatenate(nodes))
    return sets


def _surface(rows: list[list[str]], name: str, deck: _Deck, mesh: Mesh, cell_of: dict[int, int], path: Path) -> np.ndarray:
    """(cell, face) of an element surface; a row without a face means the outer faces of its elements."""
    skin = {(int(c), int(f)) for c, f in mesh.boundary_faces}
    faces: set[tuple[int, int]] = set()
    for row in rows:
        who = _member(row[0]) if row and row[0] else None
        if who is None:
            cells = np.arange(mesh.cell_count)
        elif isinstance(who, int):
            cells = np.array([cell_of[who]] if who in cell_of else [], dtype=int)
        elif who in deck.element_sets:
            cells = _numbers(deck.element_sets, who, cell_of, path)
        else:
            raise MeshError(f"The deck {path}, surface {name!r}: " + unknown_name("element set", str(who), deck.element_sets))
        side = row[1].upper() if len(row) > 1 and row[1] else None
        for cell in cells.tolist():
            if side is None:
                faces |= {(c, f) for c, f in skin if c == cell}
            else:
                faces.add((cell, _face_number(mesh, cell, side, name, path)))
    return np.array(sorted(faces), dtype=np.int64).reshape(-1, 2)


def _face_number(mesh: Mesh, cell: int, side: str, name: str, path: Path) -> int:
    block, _ = mesh.block_of(cell)
    shape = element(block.kind)
    table = _FACES[shape.corners]
    if not (side.startswith("S") and side[1:].isdigit() and 1 <= int(side[1:]) <= len(table)):
        raise MeshError(f"The deck {path}, surface {name!r}: a {block.kind} has faces S1 to S{len(table)}, found {side!r}.")
    wanted = set(table[int(side[1:]) - 1])
    return next(k for k, face in enumerate(shape.faces) if {n for n in face if n < shape.corners} == wanted)

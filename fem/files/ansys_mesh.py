"""Meshes of Ansys: archives in blocked format (`.cdb`), as `CDWRITE,DB` writes them.

NBLOCK and EBLOCK give nodes and elements, CMBLOCK sets, MP and MPDATA materials, SECDATA, SECBLOCK and real constants
the thickness of shells, D supports. Bricks whose nodes coincide are the tetrahedra, wedges and pyramids that Ansys
makes of them; an edge of a quadratic element without a node in its middle stays straight. Other commands that change
the part are named.
See Ansys Mechanical APDL, Programmer's Reference, section "Coded Database File Commands".
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fem.elements import element
from fem.errors import MaterialError, MeshError
from fem.material import Material
from fem.mesh.constraints import Equation
from fem.mesh.raw_mesh import RawMesh
from fem.mesh.unread import Declared, Stated, Unread
from fem.user_files import WINDOWS, text_of

SOLIDS = {5, 45, 64, 70, 73, 87, 90, 92, 95, 122, 123, 148, 164, 168, 185, 186, 187, 226, 227, 278, 279, 285, 291, 292}
_QUADRATIC_TYPES = dict.fromkeys((87, 92, 123, 148, 168, 187, 227, 291), 10) | dict.fromkeys(
    (90, 95, 122, 186, 226, 279), 20
)
"""Number of nodes of elements with nodes in the middle of edges."""
SHELLS = {43, 63, 93, 143, 181, 281}
MARKS = {151, 152, 153, 154, 155, 200}
"""Element types on surfaces and lines that carry loads or mark places."""
NAMED = {
    "CE", "CERIG", "CP", "CPINTF", "RBE3", "TB", "TBDATA", "D", "F", "SF", "SFE", "BF", "BFE", "SECOFFSET", "CMSFILE",
    "EMODIF", "ENDRELEASE", "NROTAT", "NMODIF", "NSCALE", "NDELE", "EDELE", "DDELE", "RMODIF", "MPCHG", "MPDELE",
    "ETDELE", "RDELE", "SDELETE", "CMDELE", "NUMMRG", "NUMCMP", "NGEN", "EGEN", "NSYM", "ESYM", "ENSYM",
    "ESURF", "CEINTF", "CEGEN", "CPNGEN", "CPLGEN", "*DO", "*DOWHILE", "*REPEAT",
}  # fmt: skip
"""Commands that change the part or load it."""
_IN_PART = {63, 181, 281}
"""Shells that are membranes, or bend alone, by their first option."""
_REFUSED = {"E", "EMORE", "K", "L", "A", "V", "VMESH", "AMESH", "CDREAD", "IGESIN"}
_DOFS = {"UX": (0,), "UY": (1,), "UZ": (2,), "ROTX": (3,), "ROTY": (4,), "ROTZ": (5,), "ALL": tuple(range(6))}
_BRICK = {
    # what is left of the nodes of a brick where corners coincide: corners, then the nodes in the middle of edges
    "tetra": ((0, 1, 2, 4), (8, 9, 11, 16, 17, 18)),
    "pyramid": ((0, 1, 2, 3, 4), (8, 9, 10, 11, 16, 17, 18, 19)),
    "wedge": ((0, 1, 2, 4, 5, 6), (8, 9, 11, 12, 13, 15, 16, 17, 18)),
    "hexahedron": (tuple(range(8)), tuple(range(8, 20))),
}
_QUADRATIC = {"tetra": "tetra10", "pyramid": "pyramid13", "wedge": "wedge15", "hexahedron": "hexahedron20"}
MOST_MEMBERS = 10_000_000
"""Largest number of members of all components of an archive."""
ROUNDED = 1e-2
"""Relative difference of a shear modulus from that of an isotropic material, as archives round it."""
FIELDS = 1000
"""Fields in a line of a block, at most; archives have up to thirty."""
_FORMAT = re.compile(r"(\d*)([aieg])(\d+)", re.IGNORECASE)


@dataclass
class _Archive:
    """What an archive says, in its own numbers."""

    path: Path
    points: dict[int, list[float]] = field(default_factory=dict)
    turned: set[int] = field(default_factory=set)  # nodes with axes of their own
    types: dict[int, int] = field(default_factory=dict)
    options: list[tuple[int, Unread]] = field(default_factory=list)  # types whose first option is not zero
    elements: dict[int, list[int]] = field(default_factory=dict)  # number -> nodes
    cells: dict[str, list[tuple[int, list[int]]]] = field(default_factory=dict)  # kind -> element and nodes
    attributes: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)  # material, type, real, section
    middle: dict[tuple[int, int], int] = field(default_factory=dict)  # ends of an edge without a node -> the one added
    sets: dict[str, tuple[str, list[int]]] = field(default_factory=dict)
    constants: dict[int, dict[str, list[float]]] = field(default_factory=dict)
    placed: dict[int, Unread] = field(default_factory=dict)  # materials
    real: dict[int, list[float]] = field(default_factory=dict)
    reals_said: dict[int, Unread] = field(default_factory=dict)
    layers: dict[int, list[tuple[float, int]]] = field(
        default_factory=dict
    )  # section -> thickness and material of each
    held: list[tuple[int, tuple[int, ...], Unread]] = field(default_factory=list)
    block: int = 0  # line of the last EBLOCK
    left: Counter[int] = field(default_factory=Counter)  # element types that are not read
    unread: list[Unread] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    again: dict[str, list[str]] = field(default_factory=dict)  # what is defined twice and differently: kind -> which

    def keep(self, table: dict[Any, Any], key: Any, value: Any, what: str, line: int) -> None:
        """Define an entry of a table. The last definition counts, as in Ansys; one that differs from an earlier one is
        noted."""
        if key in table and table[key] != value:
            self.again.setdefault(what, []).append(f"{key} in line {line}")
        table[key] = value

    def said(self, keyword: str, line: int, text: str) -> Unread:
        return Unread(keyword, self.path.name, line, text)


def read_ansys_mesh(path: Path) -> RawMesh:
    """The contents of an archive. Raises `MeshError`, which names file and line."""
    archive = _Archive(path)
    lines = enumerate(text_of(path, MeshError, "archive", errors=WINDOWS).splitlines(), 1)
    section = 0
    for number, line in lines:
        for text in line.split("!")[0].split("$"):
            words = [w.strip() for w in text.split(",")]
            name = words[0].upper()
            try:
                if name == "SECTYPE":
                    section = int(words[1]) if "".join(words[2:3])[:4].upper() in ("SHEL", "") else 0
                _take(archive, lines, number, name, words, section)
            except (ValueError, IndexError, StopIteration) as error:
                raise MeshError(f"{path.name}, line {number}: {name} cannot be read: {error}.") from None
    if not archive.elements:
        raise MeshError(
            f"The archive {path.name!r} has no EBLOCK with elements. Write it in blocked format: CDWRITE,DB,NAME,CDB."
        )
    return _raw_mesh(archive)


def _take(
    archive: _Archive, lines: Iterator[tuple[int, str]], number: int, name: str, words: list[str], section: int
) -> None:
    """One command with its data lines."""
    if name == "NBLOCK":
        _take_nodes(archive, lines, number, words)
    elif name == "EBLOCK":
        _take_elements(archive, lines, number, words)
    elif name == "ET":
        archive.keep(archive.types, int(words[1]), int(words[2]), "element types", number)
        _take_option(archive, int(words[1]), words[3:4], archive.said(name, number, ",".join(words)))
    elif name.startswith("KEYO") and words[2] == "1":
        _take_option(archive, int(words[1]), words[3:4], archive.said(name, number, ",".join(words)))
    elif name == "ETBLOCK":
        widths = _widths(next(lines)[1])
        for number, line in lines:
            row = _whole(line, widths)
            if row[0] < 0:
                break
            archive.keep(archive.types, row[0], row[1], "element types", number)
            _take_option(archive, row[0], [str(value) for value in row[2:3]], archive.said(name, number, line.strip()))
    elif name == "CMBLOCK":
        widths, count = _widths(next(lines)[1]), int(words[3])
        found: list[int] = []
        while len(found) < count:
            found += _whole(next(lines)[1], widths)
        known = sum(len(members) for _, members in archive.sets.values())
        component = words[2].upper(), _ranges(found, MOST_MEMBERS - known)
        name = next((known for known in archive.sets if known.upper() == words[1].upper()), words[1])
        archive.keep(archive.sets, name, component, "components", number)
    elif name == "CM":
        archive.unsupported.append(f"the component {words[1]} (CM, line {number}), a selection; write it by CMBLOCK")
    elif name in ("MP", "MPDATA"):
        if name == "MP":  # a constant, then factors of powers of the temperature
            key, material, at, given = words[1], words[2], 1, words[3:4] + [w for w in words[4:] if w and float(w)]
        else:
            key, material, at, given = words[3], words[4], int(words[5] or "1"), words[6:]
        _take_constants(archive, int(material), key.upper(), at, [float(w) for w in given if w], number)
        archive.placed.setdefault(int(material), archive.said(name, number, ",".join(words)))
    elif name == "R" and len(words) > 2:
        archive.reals_said[int(words[1])] = archive.said(name, number, ",".join(words))
        constants = [float(w or "0") for w in words[2:8]] + [0.0] * (8 - len(words))
        archive.keep(archive.real, int(words[1]), constants, "sets of real constants", number)
    elif name == "RMORE":
        rest = [float(w or "0") for w in words[1:7]]
        archive.real[list(archive.real)[-1]] += rest + [0.0] * (6 - len(rest))
    elif name == "RLBLOCK":
        first, more = _widths(next(lines)[1]), _widths(next(lines)[1])
        for _ in range(int(words[1])):
            line = next(lines)[1]
            own_number, count = _whole(line, first[:2])
            values = _reals(line, first)[2:]
            while len(values) < count:
                values += _reals(next(lines)[1], more)
            archive.keep(archive.real, own_number, values, "sets of real constants", number)
            archive.reals_said[own_number] = archive.said(name, number, f"the set {own_number} of real constants")
    elif name == "SECDATA" and section:
        archive.layers.setdefault(section, []).append(_layer(words[1:]))
    elif name == "SECBLOCK" and section:
        for _ in range(int(words[1])):
            archive.layers.setdefault(section, []).append(_layer(next(lines)[1].split(",")))
    elif name.startswith("SECC") and not any(float(w) for w in words[1:] if w):
        pass  # shear stiffness and added mass of their own: none
    elif name == "SECOFFSET" and words[1:2] and words[1].upper().startswith("MID"):
        pass
    elif name == "D" and _holds_one_node(words):
        source = archive.said(name, number, ",".join(words))
        archive.held.append((int(words[1]), _DOFS[words[2].upper()], source))
    elif name in NAMED or name.startswith("SECC") or (name == "*IF" and "_CDRDOFF" not in words[1].upper()):
        archive.unread.append(archive.said(name, number, ",".join(words)))
    elif name in _REFUSED or (name in ("N", "EN") and "-1" not in words):
        raise ValueError("nodes and elements are read from blocks; write the archive by CDWRITE,DB,NAME,CDB")


def _take_constants(archive: _Archive, material: int, key: str, first: int, given: list[float], line: int) -> None:
    """Constants of a material from a place (1, 2, ...) in the table of temperatures on."""
    own = archive.constants.setdefault(material, {}).setdefault(key, [])
    places = slice(first - 1, first - 1 + len(given))
    if len(own) > first - 1 and own[places] != given[: len(own[places])]:
        archive.again.setdefault("constants of materials", []).append(f"{key} of {material} in line {line}")
    own[places] = given


def _holds_one_node(words: list[str]) -> bool:
    """Whether a D holds a dof of one node, or all of them, at zero: without a range of nodes, and without more
    labels."""
    place = len(words) > 3 and words[1].isdigit() and words[2].upper() in _DOFS
    return place and not float(words[3]) and not float((words[4:5] and words[4]) or 0) and not any(words[5:])


def _layer(words: list[str]) -> tuple[float, int]:
    """Thickness and material of a layer; no material (0) where that of the element applies."""
    return float(words[0]), int(float(words[1].strip() or "0")) if len(words) > 1 else 0


def _take_option(archive: _Archive, kind: int, value: list[str], source: Unread) -> None:
    if value and value[0] and int(float(value[0])):
        archive.options.append((kind, source))


def _widths(text: str) -> list[int]:
    """Widths of the fields of a format such as (3i9,6e21.13e3)."""
    found = [(int(count or "1"), int(width)) for count, _, width in _FORMAT.findall(text)]
    if not found:
        raise ValueError(f"{text.strip()!r} is no format")
    if sum(count for count, _ in found) > FIELDS:
        raise ValueError(f"the format {text.strip()!r} has more than {FIELDS} fields in a line")
    return [width for count, width in found for _ in range(count)]


def _fields(line: str, widths: list[int]) -> list[str]:
    ends = np.cumsum(widths).tolist()
    used = len(line.rstrip())
    return [line[end - width : end].strip() for end, width in zip(ends, widths, strict=True) if end - width < used]


def _whole(line: str, widths: list[int]) -> list[int]:
    entries = _fields(line, widths)
    try:
        return [int(f or "0") for f in entries]
    except ValueError:
        wrong = next((f for f in entries if not re.fullmatch(r"(?:[+-]?\d{1,99})?", f)), "one of too many digits")
        raise ValueError(f"a whole number is needed, found {wrong!r} in {line.strip()!r}") from None


def _reals(line: str, widths: list[int]) -> list[float]:
    return [float((f or "0").upper().replace("D", "E")) for f in _fields(line, widths)]


def _ranges(values: list[int], most: int) -> list[int]:
    """Numbers of a component, in which a negative one ends a range that the one before it begins. Raises `ValueError`
    when they are more than `most`."""
    found: list[int] = []
    for value in values:
        if value < 0 and (not found or -value <= found[-1]):
            raise ValueError(f"a range of a component ends at {-value}, after {found[-1] if found else 'no number'}")
        if len(found) + max(-value - found[-1] if value < 0 else 1, 0) > most:
            raise ValueError(f"components have more than {MOST_MEMBERS} members")
        found += range(found[-1] + 1, -value + 1) if value < 0 else [value]
    return found


def _note_count(archive: _Archive, what: str, line: int, words: list[str], found: int) -> None:
    """Note a block of another number of entries than its command states, such as one that was cut off."""
    stated = int(words[4]) if words[4:] and words[4].isdigit() else 0
    if stated and stated != found:
        archive.unsupported.append(f"line {line} announces {stated} {what}, and {found} follow")


def _take_nodes(archive: _Archive, lines: Iterator[tuple[int, str]], start: int, words: list[str]) -> None:
    form = next(lines)[1]
    widths, first = _widths(form), sum(int(n or "1") for n, kind, _ in _FORMAT.findall(form) if kind.lower() == "i")
    for count, (number, line) in enumerate(lines):
        if line.strip()[:1].upper() == "N" or line.strip() == "-1" or not line.strip():
            _note_count(archive, "nodes", start, words, count)
            return
        values = _reals(line, widths)
        node = int(values[0])
        archive.keep(archive.points, node, [*values[first : first + 3], 0.0, 0.0, 0.0][:3], "nodes", number)
        (archive.turned.add if any(values[first + 3 :]) else archive.turned.discard)(node)


def _take_elements(archive: _Archive, lines: Iterator[tuple[int, str]], number: int, words: list[str]) -> None:
    if len(words) < 3 or words[2].upper() != "SOLID":
        raise ValueError("blocks with the option SOLID are read")
    widths, archive.block = _widths(next(lines)[1]), number
    for count, (number, line) in enumerate(lines):
        row = _whole(line, widths)
        if not row or row[0] < 0:
            _note_count(archive, "elements", archive.block, words, count)
            return
        if len(row) < 12:
            raise ValueError(f"an element needs eleven numbers and its nodes; found {line.strip()!r}")
        nodes = row[11:]
        while len(nodes) < row[8]:
            nodes += _whole(next(lines)[1], widths)
        if row[1] not in archive.types:
            raise ValueError(f"the type {row[1]} of element {row[10]} has no ET")
        attributes = row[0], row[1], row[2], row[3]
        if (row[10] in archive.elements) and archive.elements[row[10]] == nodes[: row[8]]:
            archive.keep(archive.attributes, row[10], attributes, "elements", number)
        archive.attributes[row[10]] = attributes
        archive.keep(archive.elements, row[10], nodes[: row[8]], "elements", number)


def _take_element(archive: _Archive, number: int, routine: int, nodes: list[int]) -> None:
    """The cell of an element; its type is known by the number of the routine at its end (SOLID185)."""
    full = _QUADRATIC_TYPES.get(routine, 0)
    if (4 if full == 10 else 7) < len(nodes) < full:  # nodes that are missing at the end
        nodes = [*nodes, *[0] * (full - len(nodes))]
    n = len(nodes)
    if routine in SOLIDS and n in (4, 10):
        kind, corners, edges = "tetra", nodes[:4], nodes[4:]
    elif routine in SOLIDS and n in (8, 20):
        kind = _shape(nodes)
        corners, edges = ([nodes[k] for k in places if k < n] for places in _BRICK[kind])
    elif routine in SHELLS and n in (3, 4, 6, 8):
        kind = "triangle" if n in (3, 6) or nodes[2] == nodes[3] else "quad"
        corners = nodes[: 3 if kind == "triangle" else 4]
        middles = range(3, 6) if n == 6 else (4, 5, 7) if kind == "triangle" else range(4, 8)
        edges = [nodes[k] for k in middles] if n > 4 else []
    else:
        archive.left[routine] += 1
        return
    if any(edges):
        kind = _QUADRATIC.get(kind, {"triangle": "triangle6", "quad": "quad8"}.get(kind, ""))
        ends = [(corners[a], corners[b]) for a, b, _ in element(kind).edges]
        edges = [m or _middle(archive, *pair) for m, pair in zip(edges, ends, strict=True)]
    archive.cells.setdefault(kind, []).append((number, [*corners, *edges] if any(edges) else corners))


def _shape(nodes: list[int]) -> str:
    """What a brick is where its corners coincide."""
    top = len(set(nodes[4:8]))
    if top == 1:
        return "tetra" if nodes[2] == nodes[3] else "pyramid"
    return "wedge" if nodes[2] == nodes[3] and nodes[6] == nodes[7] else "hexahedron"


def _middle(archive: _Archive, a: int, b: int) -> int:
    """The node that is added in the middle of an edge."""
    key = (min(a, b), max(a, b))
    for node in key:
        if node not in archive.points:
            raise MeshError(
                f"The archive {archive.path.name!r} is damaged: elements refer to node {node}, which it does not "
                "define."
            )
    if key not in archive.middle:
        archive.middle[key] = max(archive.points) + 1
        archive.points[archive.middle[key]] = np.mean([archive.points[a], archive.points[b]], axis=0).tolist()
    return archive.middle[key]


def _raw_mesh(archive: _Archive) -> RawMesh:
    for number, nodes in archive.elements.items():
        _take_element(archive, number, archive.types[archive.attributes[number][1]], nodes)
    ids = np.array(sorted(archive.points), dtype=np.int64)
    row_of = {int(n): k for k, n in enumerate(ids)}
    blocks: list[tuple[str, np.ndarray]] = []
    place: dict[int, tuple[int, int]] = {}
    for block, (kind, cells) in enumerate(archive.cells.items()):
        missing = {n for _, nodes in cells for n in nodes} - set(row_of)
        if missing:
            raise MeshError(
                f"The archive {archive.path.name!r} is damaged: {kind} elements refer to {len(missing)} nodes that it "
                f"does not define (first: {min(missing)})."
            )
        blocks.append((kind, np.array([[row_of[n] for n in nodes] for _, nodes in cells], dtype=np.int64)))
        place |= {number: (block, row) for row, (number, _) in enumerate(cells)}
    groups, node_groups = {}, {}
    strangers = []
    for name, (what, members) in archive.sets.items():
        known = archive.points if what.startswith("NODE") else archive.elements
        if absent := [n for n in members if n not in known]:
            of = "nodes" if what.startswith("NODE") else "elements"
            strangers.append(f"component {name} has {len(absent)} {of} that are not defined (first: {absent[0]})")
        if what.startswith("NODE"):
            node_groups[name] = np.array([row_of[n] for n in members if n in row_of], dtype=np.int64)
        else:
            pairs = np.array([place[n] for n in members if n in place], dtype=np.int64).reshape(-1, 2)
            groups[name] = [np.sort(pairs[pairs[:, 0] == block, 1]) for block in range(len(blocks))]
    for routine, count in archive.left.items():
        told = f"{count} elements of type {routine}"
        if routine in MARKS:
            archive.unsupported.append(told)
        else:
            archive.unread.append(
                archive.said("EBLOCK", archive.block, f"{told}, which is no solid or shell that is read")
            )
    sized = {number: _thickness(archive, number) for number in place if _is_shell(archive, number)}
    bare = [number for number, thickness in sized.items() if thickness is None]
    if bare:
        reason = f"{len(bare)} shells have no thickness that is read: one layer, the same at all corners"
        archive.unread.append(archive.said("EBLOCK", archive.block, f"{reason} (first: element {bare[0]})"))
    archive.unread.extend(_shells_with_more(archive, sized))
    shells: dict[int, tuple[np.ndarray, Unread]] = {}
    for block, (kind, _) in enumerate(blocks):
        rows = np.array(sorted(place[n][1] for n in sized if place[n][0] == block), dtype=np.int64)
        if len(rows):
            shells[block] = rows, archive.said("EBLOCK", archive.block, f"{kind} elements that are shells")
    turning = {int(n) for block, (rows, _) in shells.items() for n in blocks[block][1][rows].flat}
    supports = tuple(_supports(archive, row_of, turning))  # adds to what is not obeyed
    bound = [(m, *ends) for ends, m in archive.middle.items()]
    source = archive.said("EBLOCK", archive.block, "edges without a node in their middle")
    straight = [
        Stated(Equation(rows, np.full(3, k), np.array([1.0, -0.5, -0.5]), source.label), source)
        for rows in (np.array([row_of[n] for n in triple]) for triple in bound)
        for k in range(3)
    ]
    archive.unsupported += strangers
    archive.unsupported += [
        f"{len(which)} {what} are defined again and differently ({', '.join(which[:3])}); the last definition counts, "
        "as in Ansys"
        for what, which in archive.again.items()
    ]
    return RawMesh(
        np.array([archive.points[int(n)] for n in ids]).reshape(-1, 3),
        ids,
        tuple(blocks),
        groups,
        node_groups,
        warnings=(f"{len(bound)} edges without a node in their middle stay straight",) if bound else (),
        unsupported=tuple(archive.unsupported),
        unread=tuple(archive.unread),
        declared=tuple(_declared(archive, place, sized)),
        constraints=tuple(straight),
        supports=supports,
        shells=shells,
    )


def _is_shell(archive: _Archive, number: int) -> bool:
    return archive.types[archive.attributes[number][1]] in SHELLS


def _thickness(archive: _Archive, number: int) -> float | None:
    """The thickness of a shell of one layer, None for others."""
    _, _, real, section = archive.attributes[number]
    if section in archive.layers:
        layers = [thickness for thickness, _ in archive.layers[section]]
    else:
        values = [t for t in archive.real.get(real, [])[:4] if t]
        layers = values[:1] if len(set(values)) == 1 else []
    return layers[0] if len(layers) == 1 and layers[0] > 0 else None


def _material_number(archive: _Archive, number: int) -> int:
    """The material of an element; that of its layer takes its place in a shell."""
    material, _, _, section = archive.attributes[number]
    return (_is_shell(archive, number) and archive.layers.get(section, [(0.0, 0)])[0][1]) or material


def _shells_with_more(archive: _Archive, shells: Iterable[int]) -> Iterator[Unread]:
    """What the shells have beyond a thickness: first options, and further real constants."""
    kinds, reals = set(), set()
    for number in shells:
        _, kind, real, section = archive.attributes[number]
        kinds.add(kind)
        reals |= set() if section in archive.layers else {real}
    for kind, source in archive.options:
        if kind in kinds and archive.types[kind] in _IN_PART:
            yield source
    for real in sorted(reals):
        if any(archive.real.get(real, [])[4:]):
            yield replace(archive.reals_said[real], text=f"{archive.reals_said[real].text}: more than a thickness")


def _declared(
    archive: _Archive, place: dict[int, tuple[int, int]], sized: dict[int, float | None]
) -> Iterator[Declared]:
    """The materials of the cells; shells of one thickness together."""
    together: dict[tuple[int, float | None], list[tuple[int, int]]] = {}
    for number, where in place.items():
        together.setdefault((_material_number(archive, number), sized.get(number)), []).append(where)
    for (material, thickness), cells in together.items():
        if material in archive.constants:
            C, density, wrong = _material(archive.constants[material])
            name, where_said = f"MAT{material}", archive.placed[material]
            yield Declared(name, C, density, where_said, np.array(cells, dtype=np.int64), thickness, wrong=wrong)


def _material(constants: dict[str, list[float]]) -> tuple[np.ndarray | None, float | None, str]:
    """Elasticity, density, and the reason where there is none."""
    if any(len(values) > 1 for values in constants.values()):
        return None, None, "has constants that depend on temperature"
    one = {key: values[0] for key, values in constants.items() if values}
    if {"EY", "EZ", "GYZ", "GXZ"} & set(one):
        return None, one.get("DENS"), "has orthotropic constants, which are not read from archives"
    if "EX" not in one:
        return None, one.get("DENS"), "has no EX"
    nu = one.get("PRXY", one.get("NUXY", 0.3))
    if not np.isclose(nu, one.get("NUXY", nu), rtol=ROUNDED):
        return None, one.get("DENS"), "has PRXY and NUXY that differ"
    if "GXY" in one and not np.isclose(one["GXY"] * 2 * (1 + nu), one["EX"], rtol=ROUNDED):
        return None, one.get("DENS"), "has a shear modulus GXY that is not that of EX and Poisson's ratio"
    try:
        return Material.isotropic(one["EX"], nu).elasticity, one.get("DENS"), ""
    except MaterialError as error:
        return None, one.get("DENS"), str(error)


def _supports(archive: _Archive, row_of: dict[int, int], turning: set[int]) -> Iterator[Stated]:
    """Dofs that are held at zero, rotations at the nodes of shells, which are `turning`. Some of those of nodes with
    axes of their own are not obeyed; all of them are the same in any axes."""
    for node, components, source in archive.held:
        if node not in row_of:
            archive.unread.append(replace(source, text=f"{source.text} (there is no node {node})"))
        elif node in archive.turned and components != _DOFS["ALL"]:
            archive.unread.append(source)
        else:
            for k in components:
                if k < 3 or row_of[node] in turning:
                    yield Stated(Equation(np.array([row_of[node]]), np.array([k]), np.ones(1), source.label), source)

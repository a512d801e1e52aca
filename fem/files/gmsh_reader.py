"""Reader of Gmsh's .msh files, formats 2.2 and 4.1, text and binary.

meshio loses several contents of these files: groups of one name in several dimensions, cells in two groups (repeated in
format 2.2), and whole files in which some cells are in no group. Format:
https://gmsh.info/doc/texinfo/gmsh.html#MSH-file-format.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from fem.elements import ELEMENTS
from fem.errors import MeshError
from fem.mesh.raw_mesh import RawMesh, dimension

_HEX, _WEDGE, _PYRAMID = (
    next(e for e in ELEMENTS.values() if word in e.larger) for word in ("hexahedron27", "wedge18", "pyramid14")
)
_OTHERS: dict[int, tuple[str, int, tuple[int, ...]]] = {
    1: ("line", 2, ()), 2: ("triangle", 3, ()), 3: ("quad", 4, ()), 8: ("line3", 3, ()), 9: ("triangle6", 6, ()), 10:
    ("quad9", 9, ()),
    12: ("hexahedron27", 27, (*_HEX.gmsh_order, *range(20, 27))), 13: ("wedge18", 18, (*_WEDGE.gmsh_order, 15, 16, 17)),
    14: ("pyramid14", 14, (*_PYRAMID.gmsh_order, 13)), 15: ("vertex", 1, ()), 16: ("quad8", 8, ()),
}  # fmt: skip


def cells() -> dict[int, tuple[str, int, tuple[int, ...]]]:
    """Gmsh's element types: meshio's name, number of nodes, and Gmsh's place of each node (empty: the same; nodes
    inside faces and cells are not used further)."""
    own = {e.gmsh: (e.kind, e.nodes, e.gmsh_order) for e in ELEMENTS.values() if e.gmsh is not None and e.own_cell}
    return _OTHERS | own


_UNNAMED = ("point", "curve", "surface", "volume")
SAID = 10
"""Numbers of partitions that a message names, at most: a damaged file may say that there are billions."""


@dataclass
class _Section:
    """The numbers of one section, taken from front to back."""

    data: bytes
    start: int
    binary: bool
    title: str
    tokens: list[bytes] | None = None

    def __post_init__(self) -> None:
        if not self.binary:
            self.tokens = self.data[self.start : self.data.find(b"$End", self.start)].split()
            self.start = 0

    def take(self, code: str, count: int) -> np.ndarray:
        """`count` numbers: "i" int32, "n" sizes (64 bit), "d" doubles."""
        kind = np.dtype({"i": "<i4", "n": "<u8", "d": "<f8"}[code])
        left = (
            len(self.tokens) - self.start if self.tokens is not None else (len(self.data) - self.start) // kind.itemsize
        )
        if count > left:
            raise MeshError(f"its section ${self.title} ends too early: {count} numbers expected, {left} found")
        if self.tokens is not None:
            values = np.array(self.tokens[self.start : self.start + count], dtype="S").astype(
                float if code == "d" else np.int64
            )
            self.start += count
            return values
        values = np.frombuffer(self.data, kind, count, self.start)
        self.start += count * kind.itemsize
        return values if code == "d" else values.astype(np.int64)


def read_gmsh(path: Path) -> RawMesh:
    """Nodes, cells and physical groups of a .msh file; groups without a name are called "surface 2", "volume 1" and so
    on."""
    data = path.read_bytes()
    try:
        header = data[data.index(b"$MeshFormat") + 11 :].split(None, 3)
        version, binary, eight = header[0].decode(), header[1] == b"1", header[2] == b"8"
    except (ValueError, IndexError, UnicodeDecodeError):
        if data.lstrip().startswith(b"$NOD"):
            raise MeshError(
                f"The Gmsh file {path} has the old format 1; 4.1 and 2.2 are read. Save it again: gmsh FILE -save "
                "-format msh41 -o part.msh."
            ) from None
        raise MeshError(f"The file {path} is no Gmsh mesh: it does not begin with $MeshFormat.") from None
    if not (version == "4.1" or version.startswith("2")):
        raise MeshError(
            f"The Gmsh file {path} has format {version}; 4.1 and 2.2 are read. Save it again as version 4.1 "
            "(Mesh.MshFileVersion = 4.1)."
        )
    if binary and not (eight and data.find(b"\n\x01\x00\x00\x00") > 0):
        raise MeshError(
            f"The Gmsh file {path} was written on a machine of another byte order or word length. Save it again as "
            "text (Mesh.Binary = 0)."
        )
    try:
        return (_read_41 if version == "4.1" else _read_2)(data, binary)
    except (MeshError, ValueError, IndexError, KeyError, OverflowError) as error:
        raise MeshError(
            f"The Gmsh file {path} (format {version}) cannot be read: {error}. If it is cut off or damaged, write it "
            "again."
        ) from None


def _section(data: bytes, title: str, binary: bool) -> _Section:
    start = data.find(b"$" + title.encode())
    end = data.find(b"$End" + title.encode(), start)
    if start < 0 or end < 0:
        raise MeshError(f"it has no {'complete ' if start >= 0 else ''}section ${title}")
    again = data.find(b"\n$" + title.encode(), end)
    if again >= 0 and data[again + 2 + len(title) :][:1].isspace():
        raise MeshError(f"it has two sections ${title}, of which a file has one")
    return _Section(data, data.index(b"\n", start) + 1, binary, title)


def _names(data: bytes) -> dict[tuple[int, int], str]:
    """(dimension, tag) -> name of the physical groups."""
    if b"$PhysicalNames" not in data:
        return {}
    start = data.index(b"$PhysicalNames")
    text = data[start : data.index(b"$EndPhysicalNames", start)].decode("utf-8", "replace")
    names: dict[tuple[int, int], str] = {}
    for d, t, name in re.findall(r'^\s*(\d)\s+(-?\d+)\s+"(.*)"\s*$', text, re.MULTILINE):
        if names.setdefault((int(d), int(t)), name) != name:
            known = names[int(d), int(t)]
            raise MeshError(f"the group {t} of dimension {d} has two names in $PhysicalNames, {known!r} and {name!r}")
    return names


def _raw(
    ids: np.ndarray,
    points: np.ndarray,
    found: list[tuple[int, np.ndarray, list[tuple[int, np.ndarray]]]],
    names: dict[tuple[int, int], str],
) -> RawMesh:
    """A raw mesh from blocks of (element type, node numbers of the file, [(tag, rows)])."""
    order = np.argsort(ids, kind="stable")
    again = np.flatnonzero(np.diff(ids[order]) == 0)
    apart = again[(points[order[again]] != points[order[again + 1]]).any(axis=1)]
    if len(apart):
        raise MeshError(f"node {ids[order[apart[0]]]} is given twice, at different places")
    blocks: list[tuple[str, np.ndarray]] = []
    groups: dict[str, list[np.ndarray]] = {}
    nothing, known = np.zeros(0, dtype=np.int64), cells()
    for number, (code, nodes, members) in enumerate(found):
        kind, _, to_vtk = known[code]
        place = np.searchsorted(ids, nodes, sorter=order)
        rows = order[np.minimum(place, len(ids) - 1)]
        if not np.array_equal(ids[rows], nodes):
            raise MeshError(f"{kind} cells refer to nodes that are not in $Nodes")
        blocks.append((kind, rows[:, to_vtk] if to_vtk else rows))
        for tag, rows in members:
            key = (dimension(kind), abs(tag))
            name = names.get(key) or names.get((key[0], tag)) or f"{_UNNAMED[key[0]]} {abs(tag)}"
            lists = groups.setdefault(name, [nothing] * len(found))
            lists[number] = np.union1d(lists[number], rows)
    return RawMesh(points, ids, tuple(blocks), groups)


def _kind(code: int) -> tuple[str, int]:
    known = cells()
    if code not in known:
        raise MeshError(
            f"it has elements of Gmsh type {code}; lines, triangles, quadrangles and solids of order 1 and 2 are read "
            "(in Gmsh: Mesh.ElementOrder)"
        )
    return known[code][:2]


def _read_41(data: bytes, binary: bool) -> RawMesh:
    tags: dict[tuple[int, int], list[int]] = {}
    if b"$Entities" in data:
        s = _section(data, "Entities", binary)
        for dim, count in enumerate(s.take("n", 4)):
            for _ in range(count):
                entity = int(s.take("i", 1)[0])
                s.take("d", 6 if dim else 3)
                tags[dim, entity] = s.take("i", int(s.take("n", 1)[0])).tolist()
                if dim:
                    s.take("i", int(s.take("n", 1)[0]))
    parts = _partitions(data, binary, tags)
    s = _section(data, "Nodes", binary)
    ids, points = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 3))]
    total = 0
    blocks, stated, *_ = s.take("n", 4).tolist()
    for _ in range(blocks):
        dim, _, parametric = s.take("i", 3).tolist()
        count = int(s.take("n", 1)[0])
        ids.append(s.take("n", count))
        total += count
        width = 3 + (dim if parametric else 0)
        points.append(s.take("d", count * width).reshape(count, width)[:, :3])
    _require_stated("Nodes", stated, total)
    s = _section(data, "Elements", binary)
    total, found = 0, []
    there: set[tuple[int, int]] = set()
    blocks, stated, *_ = s.take("n", 4).tolist()
    for _ in range(blocks):
        dim, entity, code = s.take("i", 3).tolist()
        count = int(s.take("n", 1)[0])
        total += count
        if not count:  # an entity without cells, of whatever type
            continue
        width = _kind(code)[1]
        nodes = s.take("n", count * (width + 1)).reshape(count, width + 1)[:, 1:]
        if (dim, entity) in parts.ghosts:
            continue
        there.add((dim, entity))
        found.append((code, nodes, [(tag, np.arange(count)) for tag in tags.get((dim, entity), [])]))
    _require_stated("Elements", stated, total)
    highest = max((dim for dim, _ in there), default=0)
    owners = {place: owned for place, owned in parts.owners.items() if place[0] == highest}
    _require_all(
        {p for k in there & set(owners) for p in owners[k]}, sorted({p for own in owners.values() for p in own})
    )
    return _raw(np.concatenate(ids), np.concatenate(points), _joined(found), _names(data))


def _require_stated(title: str, stated: int, found: int) -> None:
    """Raise `MeshError` for a section whose blocks have another number of entries than it states."""
    if stated != found:
        raise MeshError(f"its section ${title} states {stated} entries, and its blocks have {found}")


@dataclass
class _Partitions:
    """What a file says of partitions: those of each entity (dimension, tag), and the entities that hold copies of the
    cells of other partitions."""

    owners: dict[tuple[int, int], list[int]]
    ghosts: set[tuple[int, int]]


def _partitions(data: bytes, binary: bool, tags: dict[tuple[int, int], list[int]]) -> _Partitions:
    """The partitions of a file, whose entities have physical groups, which are added to `tags`."""
    found = _Partitions({}, set())
    if b"$PartitionedEntities" not in data:
        return found
    s = _section(data, "PartitionedEntities", binary)
    s.take("n", 1)  # how many there are
    ghosts = [int(s.take("i", 2)[0]) for _ in range(s.take("n", 1)[0])]
    found.ghosts = {(dim, tag) for dim in range(4) for tag in ghosts}
    for dim, count in enumerate(s.take("n", 4)):
        for _ in range(count):
            entity = int(s.take("i", 3)[0])
            found.owners[dim, entity] = s.take("i", int(s.take("n", 1)[0])).tolist()
            s.take("d", 6 if dim else 3)
            tags[dim, entity] = s.take("i", int(s.take("n", 1)[0])).tolist()
            if dim:
                s.take("i", int(s.take("n", 1)[0]))
            found.ghosts.discard((dim, entity))
    return found


def _require_all(owners: set[int], expected: Iterable[int]) -> None:
    """Raise `MeshError` for a file with the cells of some of the partitions of a mesh; `expected` ascending."""
    lost = list(islice((p for p in expected if p not in owners), SAID + 1))
    if lost:
        there, missing = (f"{rows[:SAID]}{' and more' if len(rows) > SAID else ''}" for rows in (sorted(owners), lost))
        raise MeshError(
            f"it holds the cells of the partitions {there}, and those of {missing} are in other files; write all into "
            "one file (Mesh.PartitionSplitMeshFiles = 0)"
        )


def _joined(
    found: list[tuple[int, np.ndarray, list[tuple[int, np.ndarray]]]],
) -> list[tuple[int, np.ndarray, list[tuple[int, np.ndarray]]]]:
    """One block for each element type."""
    joined: dict[int, tuple[list[np.ndarray], list[tuple[int, np.ndarray]]]] = {}
    for code, nodes, members in found:
        rows, groups = joined.setdefault(code, ([], []))
        first = sum(len(r) for r in rows)
        rows.append(nodes)
        groups += [(tag, first + r) for tag, r in members]
    return [(code, np.concatenate(rows), groups) for code, (rows, groups) in joined.items()]


def _read_2(data: bytes, binary: bool) -> RawMesh:
    s = _section(data, "Nodes", False)
    count = int(s.take("n", 1)[0])
    if binary:
        start = data.index(b"\n", data.index(b"\n", data.index(b"$Nodes")) + 1) + 1
        table = np.frombuffer(data, [("id", "<i4"), ("x", "<f8", 3)], count, start)
        ids, points = table["id"].astype(np.int64), table["x"].astype(float)
    else:
        values = s.take("d", 4 * count).reshape(count, 4)
        ids, points = values[:, 0].astype(np.int64), values[:, 1:]
    of_partitions: set[tuple[int, ...]] = set()
    rows = (_elements_2_binary if binary else _elements_2_text)(data, of_partitions)
    mentioned = max((abs(p) for partitions in of_partitions for p in partitions), default=0)
    _require_all({partitions[0] for partitions in of_partitions}, range(1, mentioned + 1))
    found = []
    for code, (tags, nodes) in rows.items():
        tag, rows_of = np.array(tags), np.array(nodes).reshape(-1, _kind(code)[1])
        # a cell of two groups occurs twice: the second one, under another tag, only says the group
        _, index, inverse = np.unique(np.sort(rows_of, axis=1), axis=0, return_index=True, return_inverse=True)
        original = index[inverse.ravel()]
        keep = (original == np.arange(len(rows_of))) | (tag == tag[original])
        number = np.cumsum(keep) - 1
        target = number[np.where(keep, np.arange(len(rows_of)), original)]
        found.append((code, rows_of[keep], [(int(t), np.unique(target[tag == t])) for t in np.unique(tag) if t]))
    return _raw(ids, points, found, _names(data))


def _elements_2_text(data: bytes, of_partitions: set[tuple[int, ...]]) -> dict[int, tuple[list[int], list[int]]]:
    section = _section(data, "Elements", False)
    values = section.take("n", len(section.tokens or [])).tolist()
    rows: dict[int, tuple[list[int], list[int]]] = {}
    at = 1
    for _ in range(values[0]):
        code, ntags = values[at + 1], values[at + 2]
        end = at + 3 + ntags + _kind(code)[1]
        tags, nodes = rows.setdefault(code, ([], []))
        tags.append(values[at + 3] if ntags else 0)
        if ntags > 3:  # the third is their number; those of neighbours, which have copies, are negative
            of_partitions.add(tuple(values[at + 6 : at + 3 + ntags]))
        nodes += values[at + 3 + ntags : end]
        at = end
    if at != len(values):
        raise MeshError(f"its section $Elements should hold {at} numbers, it holds {len(values)}")
    return rows


def _elements_2_binary(data: bytes, of_partitions: set[tuple[int, ...]]) -> dict[int, tuple[list[int], list[int]]]:
    s = _section(data, "Elements", True)
    line = data.index(b"\n", s.start)
    total, s.start = int(data[s.start : line]), line + 1
    rows: dict[int, tuple[list[int], list[int]]] = {}
    done = 0
    while done < total:
        code, count, ntags = s.take("i", 3).tolist()
        width = 1 + ntags + _kind(code)[1]
        table = s.take("i", count * width).reshape(count, width)
        tags, nodes = rows.setdefault(code, ([], []))
        tags += table[:, 1].tolist() if ntags else [0] * count
        if ntags > 3:
            of_partitions |= {tuple(row) for row in np.unique(table[:, 4 : 1 + ntags], axis=0).tolist()}
        nodes += table[:, 1 + ntags :].ravel().tolist()
        done += count
    return rows

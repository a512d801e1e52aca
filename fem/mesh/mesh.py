"""`Mesh`: points, blocks of solid cells, and named sets of nodes, cells and faces."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import index
from typing import Any, SupportsIndex

import numpy as np
from jaxtyping import Float, Int

from fem.axes.limits import LARGEST, as_array, floats
from fem.elements import ELEMENTS, LINE, SHELLS, TRUSS, element
from fem.errors import MeshError, unknown_name
from fem.mesh.constraints import Constraint, NodeMass, NodeSpring, RigidLink, turning_nodes
from fem.mesh.directors import Directors, directors
from fem.mesh.unread import SHOWN, SUPPORTS, Declared, Unread, listed
from fem.renamed import renamed
from fem.shown import shown


@dataclass(frozen=True, eq=False)
class CellBlock:
    """Cells of one kind: meshio name and node numbers (ne, nn) in VTK order, counted from 0.

    Raises `MeshError` when cells have another number of nodes than their kind.
    """

    kind: str
    connectivity: Int[np.ndarray, "ne nn"]

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str):
            raise MeshError(f"The kind of a block of cells is a name, such as 'tetra'; found {self.kind!r}.")
        nodes = element(self.kind).nodes
        cells = _integers(self.connectivity, f"Node numbers of {self.kind!r} cells")
        if cells.ndim != 2 or cells.shape[1] != nodes:
            raise MeshError(
                f"A block of {self.kind!r} needs {nodes} nodes a cell; its connectivity has shape {cells.shape}."
            )
        object.__setattr__(self, "connectivity", cells)

    def __len__(self) -> int:
        return len(self.connectivity)


@shown
@renamed(notes="warnings")
@dataclass(frozen=True, eq=False)
class Mesh:
    """A mesh of solid cells, of triangles and quadrilaterals for shells, and of lines for beams. Units are the user's.

    - `points` (n, 3); `cells`: blocks, whose cells are numbered through all blocks in order.
    - `node_sets`: name -> node numbers; `cell_sets`: name -> cell numbers; `face_sets`: name -> (nf, 2) of (cell, face
      of the cell).
    - `node_ids` (n,): numbers of the nodes in their file, for messages; `warnings`: changes and losses in reading.
    - `unread`: keywords of the file that change the part and are not obeyed; `flexible_body` and every reduction refuse
      the part until `read_mesh(..., ignore=...)` accepts them.
    - `declared`: materials of the file, which a `Model` compares with its own.
    - `constraints`: linear constraints between nodes, which a `Model` eliminates (`fem.Equation`, `fem.RigidLink`,
      `fem.MeanLink`).
    - `masses` at nodes (`fem.NodeMass`) and `springs` and dampers between nodes (`fem.NodeSpring`), which a
      `Model` adds.
    - `instances`: names of the instances of a deck with several, each with what `node_ids` add to its numbers: the
      first multiple of the first one's, the second, and so on.
    - `untied`: ties of the file that leave nodes of their slave free, of which a `Model` warns.

    Raises `MeshError` when points are not (n, 3) finite numbers, or `node_ids`, cells or sets do not fit them.
    """

    points: Float[np.ndarray, "n 3"]
    cells: tuple[CellBlock, ...]
    node_sets: Mapping[str, Int[np.ndarray, "_"]] = field(default_factory=dict)
    cell_sets: Mapping[str, Int[np.ndarray, "_"]] = field(default_factory=dict)
    face_sets: Mapping[str, Int[np.ndarray, "_ 2"]] = field(default_factory=dict)
    node_ids: Int[np.ndarray, " n"] | None = None
    name: str = "mesh"
    warnings: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    declared: tuple[Declared, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    masses: tuple[NodeMass, ...] = ()
    springs: tuple[NodeSpring, ...] = ()
    instances: tuple[tuple[str, int], ...] = ()
    untied: tuple[Unread, ...] = ()

    def __post_init__(self) -> None:
        points = floats(self.points)
        if points.ndim != 2 or points.shape[1] != 3:
            raise MeshError(f"Mesh {self.name!r}: points must have shape (n, 3); found {points.shape}.")
        if self.node_ids is not None:
            ids = _integers(self.node_ids, f"Mesh {self.name!r}: node_ids")
            if ids.shape != (len(points),):
                raise MeshError(f"Mesh {self.name!r} has {len(points)} nodes, but node_ids of shape {ids.shape}.")
            object.__setattr__(self, "node_ids", ids)
        if not np.isfinite(points).all():
            bad = int(np.argmin(np.isfinite(points).all(axis=1)))
            raise MeshError(
                f"Mesh {self.name!r}: node {self.node_label(bad)} has the coordinates {points[bad]}; all must be "
                "finite. Look for NaN or an overflow in the file or the program that made the mesh."
            )
        if np.abs(points).max(initial=0.0) > LARGEST:
            bad = int(np.argmax(np.abs(points).max(axis=1)))
            raise MeshError(
                f"Mesh {self.name!r}: node {self.node_label(bad)} has the coordinates {points[bad]}; volumes need "
                f"coordinates of at most {LARGEST:.0e}. Look for an overflow in the file, or use other units."
            )
        points.setflags(write=False)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "cells", tuple(self.cells))
        self._check_cells()
        self._check_sets()
        placed = [(m.source, m.node) for m in self.masses] + [(s.source, n) for s in self.springs for n in s.members]
        wrong = [(source, node) for source, node in placed if not 0 <= node < len(points)]
        if wrong:
            raise MeshError(
                f"Mesh {self.name!r}: {wrong[0][0]} is at node {wrong[0][1]}; nodes run from 0 to {len(points) - 1}."
            )
        self._check_constraints()

    def _check_cells(self) -> None:
        if not self.cells or not self.cell_count:
            raise MeshError(f"Mesh {self.name!r} has no cells.")
        for block in self.cells:
            if not len(block):
                continue
            low, high = block.connectivity.min(), block.connectivity.max()
            if low < 0 or high >= len(self.points):
                raise MeshError(
                    f"Mesh {self.name!r}: a {block.kind!r} cell refers to node {high if low >= 0 else low}, but nodes "
                    f"run from 0 to {len(self.points) - 1}."
                )

    def _check_constraints(self) -> None:
        connected = [c.members for c in self.constraints]
        nodes = np.concatenate([np.zeros(0, dtype=np.int64), *connected])
        outside = np.flatnonzero((nodes < 0) | (nodes >= len(self.points)))
        if len(outside):
            which = int(np.searchsorted(np.cumsum([len(own) for own in connected]), outside[0], side="right"))
            raise MeshError(
                f"Mesh {self.name!r}: {self.constraints[which].source} refers to node {nodes[outside[0]]}; nodes run "
                f"from 0 to {len(self.points) - 1}."
            )

    def _check_sets(self) -> None:
        faces = np.concatenate([np.full(len(b), len(element(b.kind).faces)) for b in self.cells])
        limits = {"node_sets": len(self.points), "cell_sets": self.cell_count, "face_sets": self.cell_count}
        for attribute, limit in limits.items():
            checked = {}
            for key, members in getattr(self, attribute).items():
                what = f"Mesh {self.name!r}: {attribute[:4]} set {key!r}"
                if not isinstance(key, str) or not key:
                    raise MeshError(f"{what}: a set needs a name that is a text; found {key!r}.")
                array = _integers(members, what)
                if attribute == "face_sets":
                    array = array.reshape(-1, 2) if array.size == 0 else array
                if array.shape[1:] != ((2,) if attribute == "face_sets" else ()):
                    raise MeshError(
                        f"{what} must have the shape {'(k, 2)' if attribute == 'face_sets' else '(k,)'}; found "
                        f"{array.shape}."
                    )
                first = array[:, 0] if attribute == "face_sets" else array
                if first.size and (first.min() < 0 or first.max() >= limit):
                    wrong = first.min() if first.min() < 0 else first.max()
                    raise MeshError(f"{what} refers to number {wrong}, but they run from 0 to {limit - 1}.")
                if (
                    attribute == "face_sets"
                    and array.size
                    and ((array[:, 1] < 0) | (array[:, 1] >= faces[first])).any()
                ):
                    cell, face = array[np.argmax((array[:, 1] < 0) | (array[:, 1] >= faces[first]))]
                    raise MeshError(
                        f"{what} refers to face {face} of cell {cell}, whose faces run from 0 to {faces[cell] - 1}."
                    )
                checked[key] = array
            object.__setattr__(self, attribute, checked)

    @property
    def cell_count(self) -> int:
        """Number of cells in all blocks."""
        return sum(len(block) for block in self.cells)

    @property
    def size(self) -> float:
        """Diagonal of the bounding box."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))

    def node_label(self, node: int) -> str:
        """The name of a node in messages: its number in the mesh, and its number in the file when that differs."""
        if self.node_ids is None:
            return str(node)
        number = int(self.node_ids[node])
        k = number // self.instances[0][1] if self.instances else 0
        of = self.instances[k - 1] if 1 <= k <= len(self.instances) else None
        return f"{node} (number {number if of is None else f'{of[0]}.{number - of[1]}'} in the file)"

    def numbered(self, *numbers: SupportsIndex | str) -> Int[np.ndarray, " k"]:
        """The nodes that have these numbers in the file: `mesh.numbered(17)` is node 17 of a deck,
        `mesh.numbered("LEFT.17")` that of its instance LEFT.

        Raises `MeshError` for a number that no node of the mesh has.
        """
        wrong = [n for n in numbers if not isinstance(n, str) and (as_array(n).ndim or not hasattr(n, "__index__"))]
        if wrong:
            raise MeshError(f"Mesh {self.name!r}: numbers of nodes are whole numbers or texts; found {wrong[0]!r}.")
        wanted = [self._number_of(n) if isinstance(n, str) else index(n) for n in numbers]
        ids = np.arange(len(self.points)) if self.node_ids is None else self.node_ids
        place = {int(number): k for k, number in enumerate(ids)}
        missing = [n for n in wanted if n not in place]
        if missing:
            raise MeshError(
                f"Mesh {self.name!r}: no node has the number {missing[0]} in the file; numbers run from {ids.min()} to "
                f"{ids.max()}. Nodes of no cell and no constraint are left out in reading."
            )
        return np.array([place[n] for n in wanted], dtype=np.int64)

    def _number_of(self, text: str) -> int:
        """The number of INSTANCE.NUMBER among `node_ids`."""
        name, _, number = text.rpartition(".")
        first = [first for known, first in self.instances if known.upper() == name.upper()]
        if not first or not number.isdecimal() or len(number) > 18 or not 0 < int(number) < self.instances[0][1]:
            known = ", ".join(known for known, _ in self.instances) or "none"
            raise MeshError(
                f"Mesh {self.name!r}: {text!r} is no INSTANCE.NUMBER of its file, which has the instances {known}."
            )
        return first[0] + int(number)

    def block_of(self, cell: SupportsIndex) -> tuple[CellBlock, int]:
        """The block that holds cell number `cell`, and its place in the block.

        Raises `MeshError` when there is no such cell.
        """
        row = index(cell)
        for block in self.cells if row >= 0 else ():
            if row < len(block):
                return block, row
            row -= len(block)
        raise MeshError(f"Mesh {self.name!r} has {self.cell_count} cells; there is no cell {cell}.")

    def face_nodes(self, cell: SupportsIndex, face: SupportsIndex) -> Int[np.ndarray, " k"]:
        """Node numbers of a face of a cell, corners first, normal outward."""
        block, row = self.block_of(cell)
        return block.connectivity[row, list(element(block.kind).faces[index(face)])]

    def face_corners(self, cell: SupportsIndex, face: SupportsIndex) -> Int[np.ndarray, " k"]:
        """Corner node numbers of a face of a cell, normal outward."""
        block, row = self.block_of(cell)
        shape = element(block.kind)
        return block.connectivity[row, [k for k in shape.faces[index(face)] if k < shape.corners]]

    def nodes(self, selection: Any) -> Int[np.ndarray, " k"]:
        """Sorted node numbers of a set, of a `Selection`, of given numbers, or of a mask (n,) of truth values.

        A name is looked for among the node sets, then the face sets (their nodes), then the cell sets. Raises
        `MeshError` for an unknown name, numbers out of range, or a selection that finds nothing.
        """
        if isinstance(selection, str):
            return self._nodes_of_set(selection)
        if is_selection(selection):
            return selection.nodes(self)
        given = as_array(selection)
        if given.dtype == bool:
            if given.shape != (len(self.points),):
                raise MeshError(
                    f"Mesh {self.name!r} has {len(self.points)} nodes; a mask of shape {given.shape} was given."
                )
            return np.flatnonzero(given)
        numbers = np.unique(_integers(given, f"Mesh {self.name!r}: node numbers"))
        if numbers.size and (numbers[0] < 0 or numbers[-1] >= len(self.points)):
            raise MeshError(
                f"Mesh {self.name!r}: nodes run from 0 to {len(self.points) - 1}; found {numbers[0]} to {numbers[-1]}."
            )
        return numbers

    def _nodes_of_set(self, name: str) -> np.ndarray:
        if name in self.node_sets:
            return np.unique(self.node_sets[name])
        if name in self.face_sets:
            return self.nodes_of_faces(self.face_sets[name])
        if name in self.cell_sets:
            return self.nodes_of_cells(self.cell_sets[name])
        node = f" The node of this number in the file is mesh.numbered({name}), in texts node/{name}."
        raise MeshError(
            f"Mesh {self.name!r}: "
            + unknown_name("set", name, {*self.node_sets, *self.face_sets, *self.cell_sets})
            + (node if name.isdecimal() else "")
        )

    def nodes_of_faces(self, faces: Int[np.ndarray, "nf 2"]) -> Int[np.ndarray, " k"]:
        """Sorted node numbers of `faces`: number of the cell, number of the face in the cell."""
        found = [block.connectivity[rows][:, list(local)].ravel() for block, local, rows, _ in self.by_face(faces)]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    def nodes_of_cells(self, cells: Int[np.ndarray, " nc"]) -> Int[np.ndarray, " k"]:
        """Sorted node numbers of the given cells."""
        first, used = 0, np.zeros(len(self.points), dtype=bool)
        for block in self.cells:
            used[block.connectivity[cells[(cells >= first) & (cells < first + len(block))] - first]] = True
            first += len(block)
        return np.flatnonzero(used)

    def corner_keys(self, faces: Int[np.ndarray, "nf 2"]) -> Int[np.ndarray, "nf 4"]:
        """Sorted corner nodes of each face, -1 before those of a triangle: faces with equal keys coincide."""
        keys = np.full((len(faces), 4), -1, dtype=np.int64)
        for block, local, rows, places in self.by_face(faces):
            corners = [k for k in local if k < element(block.kind).corners]
            keys[places, 4 - len(corners) :] = np.sort(block.connectivity[rows][:, corners], axis=1)
        return keys

    def by_face(
        self, faces: Int[np.ndarray, "nf 2"]
    ) -> Iterator[tuple[CellBlock, tuple[int, ...], np.ndarray, np.ndarray]]:
        """Faces in groups of one block and one face of its cells: block, local nodes of the face, rows in the block,
        places in `faces`."""
        first = 0
        for block in self.cells:
            inside = np.flatnonzero((faces[:, 0] >= first) & (faces[:, 0] < first + len(block)))
            for number, local in enumerate(element(block.kind).faces):
                places = inside[faces[inside, 1] == number]
                if len(places):
                    yield block, local, faces[places, 0] - first, places
            first += len(block)

    @cached_property
    def boundary_faces(self) -> Int[np.ndarray, "nf 2"]:
        """The skin: (cell, face of the cell) of every face that belongs to one cell only, by block, face number and
        cell."""
        every, first = [], 0
        for block in self.cells:
            cell, side = np.arange(first, first + len(block)), np.arange(len(element(block.kind).faces))
            every.append(np.column_stack([np.tile(cell, len(side)), np.repeat(side, len(cell))]))
            first += len(block)
        faces = np.concatenate(every)
        _, first_of, count = np.unique(self.corner_keys(faces), axis=0, return_index=True, return_counts=True)
        return faces[np.sort(first_of[count == 1])]

    @cached_property
    def skin_nodes(self) -> Int[np.ndarray, " k"]:
        """Sorted node numbers of the skin, of shells and of line cells."""
        lines = [self.line_nodes, self.truss_nodes]
        return np.unique(np.concatenate([self.nodes_of_faces(self.boundary_faces), self.shell_nodes, *lines]))

    @cached_property
    def line_nodes(self) -> Int[np.ndarray, " k"]:
        """Sorted node numbers of the line cells."""
        lines = [block.connectivity.ravel() for block in self.cells if block.kind == LINE]
        return np.unique(np.concatenate(lines)) if lines else np.zeros(0, dtype=np.int64)

    @cached_property
    def truss_nodes(self) -> Int[np.ndarray, " k"]:
        """Sorted node numbers of the truss cells."""
        rods = [block.connectivity.ravel() for block in self.cells if block.kind == TRUSS]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *rods]))

    @cached_property
    def shell_nodes(self) -> Int[np.ndarray, " k"]:
        """Sorted node numbers of the cells of shells."""
        cells = [block.connectivity.ravel() for block in self.cells if block.kind in SHELLS]
        return np.unique(np.concatenate(cells)) if cells else np.zeros(0, dtype=np.int64)

    @cached_property
    def rotation_nodes(self) -> Int[np.ndarray, " k"]:
        """Sorted numbers of the nodes that have rotations: those of line cells and of shells, and those that
        constraints turn."""
        return np.unique(np.concatenate([self.line_nodes, self.shell_nodes, turning_nodes(self.constraints)]))

    @cached_property
    def directors(self) -> Directors:
        """The directors of the shells, by their blocks."""
        return directors(self.points, [block.connectivity for block in self.cells if block.kind in SHELLS])

    @cached_property
    def shell_normals(self) -> Float[np.ndarray, "n 3"]:
        """The normal of the shell at nodes of one smooth piece of shells that no constraint turns; zero at all
        others."""
        normals = np.zeros((len(self.points), 3))
        if not len(self.shell_nodes):
            return normals
        nodes, first, pieces = np.unique(self.directors.node, return_index=True, return_counts=True)
        smooth = (pieces == 1) & ~np.isin(nodes, turning_nodes(self.constraints))
        normals[nodes[smooth]] = self.directors.vectors[first[smooth]]
        return normals

    @cached_property
    def free_normals(self) -> Float[np.ndarray, "n 3"]:
        """The normal of the shell at nodes that nothing but the drilling stiffness of one smooth piece of shells keeps
        from turning about it; zero at all others."""
        normals = self.shell_normals.copy()
        normals[self.line_nodes] = 0.0
        return normals

    @cached_property
    def linked_nodes(self) -> Int[np.ndarray, " k"]:
        """Sorted numbers of the nodes of constraints, point masses and springs."""
        masses = np.array([m.node for m in self.masses], dtype=np.int64)
        return np.unique(np.concatenate([masses, *(c.members for c in (*self.constraints, *self.springs))]))

    @cached_property
    def lumps(self) -> dict[str, tuple[int, Int[np.ndarray, " k"]]]:
        """Rigid lumps with inertia, as CONM2 states them: source -> the node that carries it, and the nodes of its
        point masses. The file knows nothing of the latter."""
        weighed: dict[str, list[int]] = {}
        for m in self.masses:
            weighed.setdefault(m.source, []).append(m.node)
        return {
            c.source: (c.reference, np.asarray(c.nodes))
            for c in self.constraints
            if isinstance(c, RigidLink) and sorted(weighed.get(c.source, ())) == sorted(c.nodes.tolist())
        }

    @property
    def lump_nodes(self) -> Int[np.ndarray, " k"]:
        """Sorted numbers of the nodes of point masses that stand for `lumps`."""
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(nodes for _, nodes in self.lumps.values())]))

    @cached_property
    def bare_nodes(self) -> Int[np.ndarray, " k"]:
        """Sorted numbers of the nodes of no cell, without a point mass and a spring."""
        used = self.nodes_of_cells(np.arange(self.cell_count))
        lumped = [*(m.node for m in self.masses), *(n for s in self.springs for n in s.members)]
        return np.setdiff1d(np.arange(len(self.points)), [*used, *lumped])

    @property
    def unturned_nodes(self) -> Int[np.ndarray, " k"]:
        """Sorted numbers of the nodes whose rotations only constraints may move: of no beam, shell and spring."""
        turned = [*self.line_nodes, *self.shell_nodes, *(n for s in self.springs for n in s.members)]
        return np.setdiff1d(self.rotation_nodes, turned)

    @property
    def solids(self) -> tuple[CellBlock, ...]:
        """The blocks of solid cells."""
        return tuple(block for block in self.cells if block.kind in ELEMENTS)

    @property
    def kinds(self) -> dict[str, int]:
        """Number of cells of each kind."""
        count: dict[str, int] = {}
        for block in self.cells:
            count[block.kind] = count.get(block.kind, 0) + len(block)
        return count

    def __str__(self) -> str:
        cells = ", ".join(f"{n} {kind}" for kind, n in self.kinds.items())
        points, lumps = np.delete(self.points, self.lump_nodes, axis=0), self.lumps
        low, high = points.min(axis=0), points.max(axis=0)
        lines = [f"mesh {self.name!r}: {len(points)} nodes, {cells}", f"  box {triple(low)} to {triple(high)}"]
        for title, sets in (("node", self.node_sets), ("face", self.face_sets), ("cell", self.cell_sets)):
            lines += [f"  {title} set {key!r}: {len(value)} {title}s" for key, value in sets.items()]
        lines += [f"  note: {note}" for note in self.warnings]
        lines += [f"  {s.strength}, {s.source}" for s in self.springs]
        lines += [
            f"  point mass: {m.mass:g} at node {self.node_label(m.node)}" for m in self.masses if m.source not in lumps
        ]
        for source, (carrier, nodes) in lumps.items():
            mass = sum(m.mass for m in self.masses if m.source == source)
            lines.append(
                f"  rigid lump: {mass:g} with inertia at node {self.node_label(carrier)}, {source}: {len(nodes)} more "
                "nodes stand for it"
            )
        left = [c.source for c in self.constraints if c.source not in lumps]
        lines += [f"  constraint: {text}" for text in _together(left)]
        lines += [f"  material of the file: {declared}, {len(declared.cells)} cells" for declared in self.declared]
        lines += [f"  not obeyed: {text}" for text in listed(self.unread)]
        if any(u.keyword in SUPPORTS for u in self.unread):
            lines.append(
                "    (supports hold no body, whose interfaces joints hold; natural modes and static load cases are "
                'held with fem.read_mesh(..., supports="keep"), as `flexmb frequencies` does)'
            )
        return "\n".join(lines)


def _together(sources: list[str]) -> list[str]:
    """Places of constraints, those of one keyword in one line."""
    by_keyword: dict[str, list[str]] = {}
    for source in dict.fromkeys(sources):
        by_keyword.setdefault(source.partition(", line ")[0], []).append(source)
    return [
        ", ".join(found) if len(found) <= SHOWN else f"{found[0]}, and {len(found) - 1} more of {keyword}"
        for keyword, found in by_keyword.items()
    ]


def is_selection(where: Any) -> bool:
    """Whether nodes are given by a record of `fem.mesh.selection`, and not by a name or numbers."""
    return callable(getattr(where, "nodes", None))


def label_of(mesh: Mesh | None, node: int) -> str:
    """The name of a node in messages, also of a model without a mesh."""
    return str(node) if mesh is None else mesh.node_label(node)


def triple(x: np.ndarray) -> str:
    """Coordinates as messages tell them."""
    return "(" + ", ".join(f"{v:.6g}" for v in x) + ")"


def _integers(values: Any, what: str) -> np.ndarray:
    """A read-only int64 array of whole numbers; anything else is refused, as it would be cut off silently."""
    array = as_array(values)
    if (array.size or array.dtype == object) and not np.issubdtype(array.dtype, np.integer):
        raise MeshError(f"{what} must be whole numbers, counted from 0; found values of type {array.dtype}.")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array

"""`Mesh`: points, blocks of solid cells, and named sets of nodes, cells and faces."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fem.elements import element
from fem.errors import MeshError, unknown_name


@dataclass(frozen=True, eq=False)
class CellBlock:
    """Cells of one kind: meshio name and node numbers (ne, nn) in VTK order, counted from 0."""

    kind: str
    connectivity: Int[np.ndarray, "ne nn"]

    def __post_init__(self) -> None:
        nodes = element(self.kind).nodes
        cells = np.array(self.connectivity, dtype=np.int64)
        if cells.ndim != 2 or cells.shape[1] != nodes:
            raise MeshError(
                f"A block of {self.kind!r} needs {nodes} nodes a cell; its connectivity has shape {cells.shape}."
            )
        cells.setflags(write=False)
        object.__setattr__(self, "connectivity", cells)

    def __len__(self) -> int:
        return len(self.connectivity)


@dataclass(frozen=True, eq=False)
class Mesh:
    """A solid mesh. Units are the user's.

    - `points` (n, 3); `cells`: blocks, whose cells are numbered through all blocks in order;
    - `node_sets`: name -> node numbers; `cell_sets`: name -> cell numbers; `face_sets`: name -> (nf, 2) of (cell, face of the cell);
    - `node_ids` (n,): numbers of the nodes in the file they came from, for messages; `notes`: what reading changed or lost.
    """

    points: Float[np.ndarray, "n 3"]
    cells: tuple[CellBlock, ...]
    node_sets: Mapping[str, Int[np.ndarray, " k"]] = field(default_factory=dict)
    cell_sets: Mapping[str, Int[np.ndarray, " k"]] = field(default_factory=dict)
    face_sets: Mapping[str, Int[np.ndarray, "k 2"]] = field(default_factory=dict)
    node_ids: Int[np.ndarray, " n"] | None = None
    name: str = "mesh"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        points = np.array(self.points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3:
            raise MeshError(f"Mesh {self.name!r}: points must have shape (n, 3); found {points.shape}.")
        if not np.isfinite(points).all():
            bad = int(np.argmin(np.isfinite(points).all(axis=1)))
            raise MeshError(
                f"Mesh {self.name!r}: node {self.node_label(bad)} has the coordinates {points[bad]}; all must be finite."
            )
        points.setflags(write=False)
        object.__setattr__(self, "points", points)
        if not self.cells or not self.cell_count:
            raise MeshError(f"Mesh {self.name!r} has no solid cells.")
        for block in self.cells:
            low, high = block.connectivity.min(), block.connectivity.max()
            if low < 0 or high >= len(points):
                raise MeshError(
                    f"Mesh {self.name!r}: a {block.kind!r} cell refers to node {high if low >= 0 else low}, but nodes run from 0 to {len(points) - 1}."
                )
        limits = (
            ("node_sets", "node set", len(points)),
            ("cell_sets", "cell set", self.cell_count),
            ("face_sets", "face set", self.cell_count),
        )
        for attribute, what, limit in limits:
            checked = {}
            for key, members in getattr(self, attribute).items():
                array = np.array(members, dtype=np.int64)
                first = array[:, 0] if attribute == "face_sets" and array.size else array
                if first.size and (first.min() < 0 or first.max() >= limit):
                    raise MeshError(
                        f"Mesh {self.name!r}: {what} {key!r} refers to number {first.max()}, but they run from 0 to {limit - 1}."
                    )
                array.setflags(write=False)
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
        """A node as messages name it: its number here, and in the file when that differs."""
        if self.node_ids is None:
            return str(node)
        return f"{node} (number {self.node_ids[node]} in the file)"

    def block_of(self, cell: int) -> tuple[CellBlock, int]:
        """The block that holds cell number `cell`, and its place in the block."""
        for block in self.cells:
            if cell < len(block):
                return block, cell
            cell -= len(block)
        raise MeshError(f"Mesh {self.name!r} has {self.cell_count} cells; there is no cell {cell}.")

    def face_nodes(self, cell: int, face: int) -> Int[np.ndarray, " k"]:
        """Node numbers of a face of a cell, corners first, normal outward."""
        block, row = self.block_of(cell)
        return block.connectivity[row, list(element(block.kind).faces[face])]

    def face_corners(self, cell: int, face: int) -> Int[np.ndarray, " k"]:
        """Corner node numbers of a face of a cell, normal outward."""
        block, row = self.block_of(cell)
        shape = element(block.kind)
        return block.connectivity[row, [k for k in shape.faces[face] if k < shape.corners]]

    def nodes(self, selection: Any) -> Int[np.ndarray, " k"]:
        """Sorted node numbers of a set name (node, face or cell set), of a `Selection`, or of given numbers."""
        if isinstance(selection, str):
            return self._nodes_of_set(selection)
        if callable(getattr(selection, "nodes", None)):
            return selection.nodes(self)
        numbers = np.unique(np.asarray(selection, dtype=np.int64))
        if numbers.size and (numbers[0] < 0 or numbers[-1] >= len(self.points)):
            raise MeshError(
                f"Mesh {self.name!r}: nodes run from 0 to {len(self.points) - 1}; found {numbers[0]} to {numbers[-1]}."
            )
        return numbers

    def _nodes_of_set(self, name: str) -> np.ndarray:
        if name in self.node_sets:
            return np.unique(self.node_sets[name])
        if name in self.face_sets:
            return np.unique(np.concatenate([self.face_nodes(int(c), int(f)) for c, f in self.face_sets[name]]))
        if name in self.cell_sets:
            rows = [self.block_of(int(c)) for c in self.cell_sets[name]]
            return np.unique(np.concatenate([block.connectivity[row] for block, row in rows]))
        raise MeshError(
            f"Mesh {self.name!r}: " + unknown_name("set", name, {*self.node_sets, *self.face_sets, *self.cell_sets})
        )

    @cached_property
    def boundary_faces(self) -> Int[np.ndarray, "nf 2"]:
        """The skin: (cell, face of the cell) of every face that belongs to one cell only."""
        owners, keys = [], []
        first = 0
        for block in self.cells:
            shape = element(block.kind)
            for number, local in enumerate(shape.faces):
                corners = [k for k in local if k < shape.corners]
                key = np.sort(block.connectivity[:, corners], axis=1)
                if key.shape[1] == 3:
                    key = np.column_stack([np.full(len(key), -1), key])
                keys.append(key)
                owners.append(np.column_stack([first + np.arange(len(block)), np.full(len(block), number)]))
            first += len(block)
        keys_array, owners_array = np.concatenate(keys), np.concatenate(owners)
        _, index, count = np.unique(keys_array, axis=0, return_index=True, return_counts=True)
        return owners_array[np.sort(index[count == 1])]

    @cached_property
    def skin_nodes(self) -> Int[np.ndarray, " k"]:
        """Sorted node numbers of the skin."""
        return np.unique(np.concatenate([self.face_nodes(int(c), int(f)) for c, f in self.boundary_faces]))

    def __str__(self) -> str:
        kinds: dict[str, int] = {}
        for block in self.cells:
            kinds[block.kind] = kinds.get(block.kind, 0) + len(block)
        lines = [
            f"mesh {self.name!r}: {len(self.points)} nodes, " + ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        ]
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        lines.append(f"  box {np.round(low, 9)} to {np.round(high, 9)}")
        for title, sets in (("node set", self.node_sets), ("face set", self.face_sets), ("cell set", self.cell_sets)):
            lines += [f"  {title} {key!r}: {len(value)}" for key, value in sets.items()]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

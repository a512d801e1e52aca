"""Sets of a mesh as fields, in formats that have none: "node set NAME" (0/1), "cell set NAME" (0/1), "face set NAME"
(bit k: face k)."""

from collections.abc import Mapping

import numpy as np

from fem.errors import MeshError
from fem.mesh.mesh import Mesh

MARK = " set "


def read_set_fields(
    groups: dict[str, list[np.ndarray]],
    nodes: dict[str, np.ndarray],
    point_data: Mapping[str, np.ndarray],
    cell_data: Mapping[str, list[np.ndarray]],
) -> dict[str, np.ndarray]:
    """Add the sets of cells and of nodes that are kept as fields; returns those of faces, with rows (block, cell in it,
    face).

    Raises `MeshError` for a field that has several numbers for each node or cell.
    """
    for key, marks in (*point_data.items(), *((key, v) for key, blocks in cell_data.items() for v in blocks)):
        if MARK in key and np.ndim(marks) != 1:
            shape = np.shape(marks)
            raise MeshError(f"its field {key!r} keeps a set by one number for each node or cell; found {shape}.")
    faces = {}
    for key, marks in point_data.items():
        if key.startswith("node" + MARK):
            nodes[_name_in(key)] = np.flatnonzero(marks)
    for key, blocks in cell_data.items():
        if key.startswith("cell" + MARK):
            groups[_name_in(key)] = [np.flatnonzero(v) for v in blocks]
        elif key.startswith("face" + MARK):
            found = [
                (k, row, face)
                for k, v in enumerate(blocks)
                for face in range(6)
                for row in np.flatnonzero(np.asarray(v, dtype=int) >> face & 1)
            ]
            faces[_name_in(key)] = np.array(found, dtype=np.int64).reshape(-1, 3)
    return faces


def _name_in(field: str) -> str:
    return field.partition(MARK)[2]


def by_block(mesh: Mesh, values: np.ndarray) -> list[np.ndarray]:
    """Values of all cells, cut into blocks."""
    return np.split(values, np.cumsum([len(b) for b in mesh.cells])[:-1])


def set_fields(mesh: Mesh) -> tuple[dict, dict]:
    """The fields of nodes and of cells, these by blocks, that keep the sets of a mesh."""
    point_data, cell_data = {}, {}
    for name, nodes in mesh.node_sets.items():
        point_data["node" + MARK + name] = np.isin(np.arange(len(mesh.points)), nodes).astype(np.int32)
    for name, cells in mesh.cell_sets.items():
        cell_data["cell" + MARK + name] = by_block(mesh, np.isin(np.arange(mesh.cell_count), cells).astype(np.int32))
    for name, faces in mesh.face_sets.items():
        bits = np.zeros(mesh.cell_count, dtype=np.int32)
        np.bitwise_or.at(bits, faces[:, 0], (1 << faces[:, 1]).astype(np.int32))
        cell_data["face" + MARK + name] = by_block(mesh, bits)
    return point_data, cell_data

"""VTK files by VTK itself (through pyvista): .vtk in every version, .vtu with compressed or appended data, every kind
of cell; .stl."""

import zipfile
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from fem.elements import ELEMENTS, file_cell
from fem.errors import MeshError
from fem.files import vtk_process
from fem.user_files import alone

_OTHERS = {
    1: ("vertex", 1), 3: ("line", 2), 5: ("triangle", 3), 8: ("quad", 4), 9: ("quad", 4), 11: ("hexahedron", 8), 21:
    ("line3", 3), 22: ("triangle6", 6),
    23: ("quad8", 8), 28: ("quad9", 9), 29: ("hexahedron27", 27), 32: ("wedge18", 18), 37: ("pyramid19", 19), 42:
    ("polyhedron", 0), 33: ("hexahedron24", 24), 34: ("triangle7", 7),
}  # fmt: skip


def _kinds() -> dict[int, tuple[str, int]]:
    """VTK's cell types: meshio's name and number of nodes (0: not of one number)."""
    return _OTHERS | {e.vtk: (e.kind, e.nodes) for e in ELEMENTS.values() if e.vtk is not None and e.own_cell}


SECONDS, BYTES_PER_SECOND = 20.0, 1e6
"""Processor time that VTK may take to read a file, and the slowest speed of a long one."""
LEAST_MEMORY = 2**31
"""Memory that the process may take, in bytes, where less is available."""
_ROW_BY_ROW = {8: [0, 1, 3, 2], 11: [0, 1, 3, 2, 4, 5, 7, 6]}
"""Pixels and voxels, whose nodes follow each other along the axes, and the places of those of a quadrilateral and a
hexahedron among them."""


@dataclass(frozen=True, eq=False)
class VtkFields:
    """Contents of a VTK file: points (n, 3), blocks of (kind, node rows), and fields: name -> values (n, ...), name ->
    a list of the values of each block."""

    points: np.ndarray
    blocks: tuple[tuple[str, np.ndarray], ...]
    point_data: dict[str, np.ndarray]
    cell_data: dict[str, list[np.ndarray]]


def read_vtk(path: Path) -> VtkFields:
    """Read a file; consecutive cells of one type form a block. Raises `MeshError` when VTK cannot read it.

    VTK runs in a process of its own (`fem/files/vtk_process.py`), because damaged files can crash or block it.
    """
    found = _contents(path)
    if "problem" in found:
        text = {
            "damaged": f"VTK cannot read {str(path)!r}. It may be damaged or cut off; write it again.",
            "empty": f"{str(path)!r} holds no cells. It may be damaged or cut off; write it again.",
        }
        problem = str(found["problem"])
        raise MeshError(text.get(problem, f"{str(path)!r} holds a {problem}; save one unstructured grid."))
    points, types, nodes, offset = (found[name] for name in ("points", "types", "nodes", "offsets"))
    if nodes.size and not (nodes.min() >= 0 and nodes.max() < len(points)):
        raise MeshError(
            f"{str(path)!r}: its cells name the points {nodes.min()} to {nodes.max()}; it holds {len(points)} points, "
            "counted from 0. It may be damaged; write it again."
        )
    cuts = [0, *(np.flatnonzero(np.diff(types)) + 1).tolist(), len(types)]
    blocks, kinds = [], _kinds()
    for first, last in pairwise(cuts):
        kind, width = kinds.get(int(types[first]), (f"VTK type {types[first]}", 0))
        used = nodes[offset[first] : offset[last]] if width else np.zeros(0)
        if len(used) != width * (last - first):
            raise MeshError(
                f"{str(path)!r}: {last - first} cells of the kind {kind} have {len(used)} nodes in all, expected "
                f"{width} each. It may be damaged; write it again."
            )
        rows = np.asarray(used, dtype=np.int64).reshape(last - first, width)
        blocks.append((kind, rows[:, _ROW_BY_ROW.get(int(types[first]), slice(None))]))
    point_data = {name: found[f"point {name}"] for name in _fields(found, "point ")}
    cell_data = {name: [found[f"cell {name}"][a:b] for a, b in pairwise(cuts)] for name in _fields(found, "cell ")}
    return VtkFields(points, tuple(blocks), point_data, cell_data)


def _fields(found: dict[str, np.ndarray], which: str) -> list[str]:
    return [key.removeprefix(which) for key in found if key.startswith(which)]


def _contents(path: Path) -> dict[str, np.ndarray]:
    """What the process that reads the file writes. Raises `MeshError` when it ends without."""
    seconds = SECONDS + path.stat().st_size / BYTES_PER_SECOND
    done = alone.ended(vtk_process.__file__, path, seconds=seconds, memory=LEAST_MEMORY)
    if isinstance(done, str):
        raise MeshError(f"VTK has not read {str(path)!r} after {done}. It may be damaged; write it again.")
    try:
        with np.load(BytesIO(done.stdout), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, EOFError, zipfile.BadZipFile):
        raise MeshError(
            f"VTK cannot read {str(path)!r}: {alone.ending(done)}. It may be damaged or cut off; write it again."
        ) from None


def write_vtk(path: Path, fields: VtkFields) -> None:
    """Write an unstructured grid (.vtu, .vtk; binary). Raises `MeshError` for names of fields that the file cannot
    hold, OSError when it cannot be written."""
    import pyvista

    codes = {kind: code for code, (kind, _) in _kinds().items() if code not in _ROW_BY_ROW}
    cells = [np.column_stack([np.full(len(rows), rows.shape[1]), rows]).ravel() for _, rows in fields.blocks]
    types = [np.full(len(rows), codes[file_cell(kind)], dtype=np.uint8) for kind, rows in fields.blocks]
    grid = pyvista.UnstructuredGrid(np.concatenate(cells), np.concatenate(types), fields.points)
    ending = path.suffix.lower()
    named = _in_xml if ending == ".vtu" else str
    for name, values in fields.point_data.items():
        grid.point_data[named(name)] = values
    for name, lists in fields.cell_data.items():
        grid.cell_data[named(name)] = np.concatenate(lists)
    path.write_bytes(_as_file(grid, ending))


def _in_xml(name: str) -> str:
    """A name as it stands between quotation marks of XML, in which VTK writes it as it is. Raises `MeshError` for
    characters that XML does not have."""
    if any(c < " " and c not in _ESCAPED for c in name):
        raise MeshError(f"The name {name!r} has a control character, which a .vtu file cannot hold. Rename it.")
    return escape(name, _ESCAPED)


_ESCAPED = {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def _as_file(grid: Any, ending: str) -> bytes:
    """The content of the file of an unstructured grid: VTK itself crashes, or says nothing, when a disk is full."""
    from vtkmodules.vtkIOLegacy import vtkUnstructuredGridWriter
    from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridWriter

    writer: Any = vtkUnstructuredGridWriter() if ending == ".vtk" else vtkXMLUnstructuredGridWriter()
    writer.SetInputData(grid)
    writer.WriteToOutputStringOn()
    if ending == ".vtk":
        writer.SetFileTypeToBinary()
        writer.Write()
        content = writer.GetOutputStdString()  # a text where the bytes happen to be one
        return content if isinstance(content, bytes) else str(content).encode()
    writer.SetDataModeToBinary()
    writer.Write()
    return str(writer.GetOutputString()).encode()

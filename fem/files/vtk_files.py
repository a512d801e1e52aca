"""VTK files by VTK itself (through pyvista): .vtk in every version, .vtu with compressed or appended data, every kind
of cell; .stl."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fem.elements import ELEMENTS, file_cell
from fem.errors import MeshError

_OTHERS = {
    1: ("vertex", 1), 3: ("line", 2), 5: ("triangle", 3), 8: ("quad", 4), 9: ("quad", 4), 11: ("hexahedron", 8), 21:
    ("line3", 3), 22: ("triangle6", 6),
    23: ("quad8", 8), 28: ("quad9", 9), 29: ("hexahedron27", 27), 32: ("wedge18", 18), 37: ("pyramid14", 14), 42:
    ("polyhedron", 0),
}  # fmt: skip


def _kinds() -> dict[int, tuple[str, int]]:
    """VTK's cell types: meshio's name and number of nodes (0: not of one number)."""
    return _OTHERS | {e.vtk: (e.kind, e.nodes) for e in ELEMENTS.values() if e.vtk is not None and e.own_cell}


_PIXEL, _VOXEL = 8, 11
_VOXEL_ORDER = (0, 1, 3, 2, 4, 5, 7, 6)


@dataclass(frozen=True, eq=False)
class VtkFields:
    """Contents of a VTK file: points (n, 3), blocks of (kind, node rows), and fields: name -> values (n, ...), name ->
    a list of the values of each block."""

    points: np.ndarray
    blocks: tuple[tuple[str, np.ndarray], ...]
    point_data: dict[str, np.ndarray]
    cell_data: dict[str, list[np.ndarray]]


def read_vtk(path: Path) -> VtkFields:
    """Read a file; consecutive cells of one type form a block. Raises `MeshError` when VTK cannot read it."""
    import pyvista
    from vtkmodules.vtkCommonCore import vtkObject
    from vtkmodules.vtkIOGeometry import vtkSTLReader
    from vtkmodules.vtkIOLegacy import vtkGenericDataObjectReader
    from vtkmodules.vtkIOXML import vtkXMLGenericDataObjectReader

    readers = {".vtk": vtkGenericDataObjectReader, ".stl": vtkSTLReader}
    reader: Any = readers.get(path.suffix.lower(), vtkXMLGenericDataObjectReader)()
    reader.SetFileName(str(path))
    before = vtkObject.GetGlobalWarningDisplay()
    vtkObject.SetGlobalWarningDisplay(0)  # VTK prints what went wrong instead of telling its caller
    try:
        reader.Update()
        data = pyvista.wrap(reader.GetOutputDataObject(0))
    finally:
        vtkObject.SetGlobalWarningDisplay(before)
    if data is None or reader.GetErrorCode():
        raise MeshError(f"VTK cannot read {str(path)!r}. It may be damaged or cut off; write it again.")
    if not isinstance(data, pyvista.DataSet):
        raise MeshError(f"{str(path)!r} holds a {type(data).__name__}; save one unstructured grid.")
    grid = data if isinstance(data, pyvista.UnstructuredGrid) else data.cast_to_unstructured_grid()
    if not grid.n_cells:
        raise MeshError(f"{str(path)!r} holds no cells. It may be damaged or cut off; write it again.")
    types, nodes = grid.celltypes, grid.cell_connectivity
    offset = pyvista.convert_array(grid.GetCells().GetOffsetsArray())
    cuts = [0, *(np.flatnonzero(np.diff(types)) + 1).tolist(), len(types)]
    blocks, kinds = [], _kinds()
    for first, last in pairwise(cuts):
        kind, width = kinds.get(int(types[first]), (f"VTK type {types[first]}", 0))
        used = nodes[offset[first] : offset[last]] if width else np.zeros(0)
        rows = np.asarray(used, dtype=np.int64).reshape(last - first, width)
        blocks.append((kind, rows[:, _VOXEL_ORDER] if types[first] == _VOXEL else rows))
    cell_data = {name: [np.asarray(values[a:b]) for a, b in pairwise(cuts)] for name, values in grid.cell_data.items()}
    point_data = {name: np.asarray(values) for name, values in grid.point_data.items()}
    return VtkFields(np.asarray(grid.points, dtype=float), tuple(blocks), point_data, cell_data)


def write_vtk(path: Path, fields: VtkFields) -> None:
    """Write an unstructured grid (.vtu, .vtk; binary). Raises OSError when the file cannot be written."""
    import pyvista

    codes = {kind: code for code, (kind, _) in _kinds().items() if code not in (_PIXEL, _VOXEL)}
    cells = [np.column_stack([np.full(len(rows), rows.shape[1]), rows]).ravel() for _, rows in fields.blocks]
    types = [np.full(len(rows), codes[file_cell(kind)], dtype=np.uint8) for kind, rows in fields.blocks]
    grid = pyvista.UnstructuredGrid(np.concatenate(cells), np.concatenate(types), fields.points)
    for name, values in fields.point_data.items():
        grid.point_data[name] = values
    for name, lists in fields.cell_data.items():
        grid.cell_data[name] = np.concatenate(lists)
    path.write_bytes(b"")  # VTK says nothing of a path that it cannot write
    grid.save(path)
    if not path.stat().st_size:
        raise OSError(f"VTK wrote nothing to {path}; is the disk full?")

"""Reading and writing meshes: any meshio format, and Abaqus/CalculiX decks by the reader in `fem.abaqus`."""

import contextlib
import io
from pathlib import Path

import meshio
import numpy as np

from fem.elements import ELEMENTS
from fem.errors import MeshError
from fem.mesh import CellBlock, Mesh

_SURFACE = ("triangle", "quad")


def read_mesh(path: str | Path) -> Mesh:
    """The solid mesh in a file, with its named sets. Units stay the file's.

    Volume groups become cell sets; surface groups face sets (matched to faces of solid cells) or node sets; line and point
    groups node sets. Nodes that no solid cell uses are left out. What was changed or lost is in `mesh.notes`.
    Raises `MeshError` for a missing or damaged file, an unknown format, or a file without solid cells.
    """
    path = Path(path)
    if not path.is_file():
        raise MeshError(f"There is no mesh file {str(path)!r} (looked in {path.resolve().parent}).")
    if path.suffix.lower() == ".inp":
        from fem.abaqus import read_abaqus

        return read_abaqus(path)
    return from_meshio(_meshio_read(path), path.stem)


def _meshio_read(path: Path) -> meshio.Mesh:
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return meshio.read(path)
    except (Exception, SystemExit) as error:  # meshio calls sys.exit on some files
        detail = f"{type(error).__name__}: {error}" if not isinstance(error, SystemExit) else said.getvalue().strip()
        raise MeshError(
            f"The mesh file {str(path)!r} cannot be read as {path.suffix or 'a file without ending'}: {detail or 'no reason given'}. "
            "It may be damaged or of another format than its name says. Gmsh 4.1 (.msh), VTU and Abaqus (.inp) files carry named sets best."
        ) from None


def from_meshio(data: meshio.Mesh, name: str = "mesh") -> Mesh:
    """A `Mesh` from a meshio mesh: solid cells, groups of any dimension as sets."""
    solid = [k for k, block in enumerate(data.cells) if block.type in ELEMENTS and len(block.data)]
    if not solid:
        there = ", ".join(f"{len(b.data)} {b.type}" for b in data.cells) or "no cells at all"
        raise MeshError(
            f"The mesh {name!r} has no solid cells; it has {there}. Supported: {', '.join(ELEMENTS)}. Export the volume mesh."
        )
    notes = []
    lost = {b.type: len(b.data) for b in data.cells if b.type not in ELEMENTS and element_dimension(b.type) == 3}
    notes += [f"{n} {kind} cells are not supported and were left out" for kind, n in lost.items()]
    cells = [np.asarray(data.cells[k].data, dtype=np.int64) for k in solid]
    used = np.unique(np.concatenate([c.ravel() for c in cells]))
    if len(used) < len(data.points):
        notes.append(f"{len(data.points) - len(used)} nodes that no solid cell uses were left out")
    number = np.full(len(data.points), -1)
    number[used] = np.arange(len(used))
    points = np.zeros((len(used), 3))
    points[:, : data.points.shape[1]] = data.points[used]
    blocks = tuple(CellBlock(data.cells[k].type, number[c]) for k, c in zip(solid, cells, strict=True))
    plain = Mesh(points, blocks, name=name)
    node_sets, cell_sets, face_sets = _groups(data, solid, number, plain)
    for key, nodes in data.point_sets.items():
        node_sets[key] = number[np.asarray(nodes)][number[np.asarray(nodes)] >= 0]
    ids = used + 1 if len(used) < len(data.points) else None
    return Mesh(points, blocks, node_sets, cell_sets, face_sets, ids, name, tuple(notes))


def element_dimension(kind: str) -> int:
    """Dimension of a meshio cell type."""
    if kind.startswith(("vertex",)):
        return 0
    if kind.startswith("line"):
        return 1
    return 2 if kind.startswith(_SURFACE) or kind == "polygon" else 3


def _members(data: meshio.Mesh) -> dict[str, list[np.ndarray]]:
    """Name -> for each cell block of the file, the rows that belong to the group."""
    groups: dict[str, list[np.ndarray]] = {}
    for name, rows in data.cell_sets.items():
        if name.startswith("gmsh:"):  # gmsh's own bounding entities
            continue
        groups[name] = [np.asarray(r if r is not None else [], dtype=np.int64) for r in rows]
    tags = data.cell_data.get("gmsh:physical")
    if tags is not None:
        for name, (tag, dimension) in data.field_data.items():
            groups.setdefault(
                name,
                [
                    np.flatnonzero(np.asarray(t) == tag)
                    if element_dimension(b.type) == dimension
                    else np.zeros(0, dtype=np.int64)
                    for b, t in zip(data.cells, tags, strict=True)
                ],
            )
    return groups


def _groups(data: meshio.Mesh, solid: list[int], number: np.ndarray, mesh: Mesh) -> tuple[dict, dict, dict]:
    """Node, cell and face sets (in the numbers of `mesh`) from the groups of a file."""
    node_sets: dict[str, np.ndarray] = {}
    cell_sets: dict[str, np.ndarray] = {}
    face_sets: dict[str, np.ndarray] = {}
    first = dict(zip(solid, np.cumsum([0] + [len(b) for b in mesh.cells])[:-1], strict=True))
    for name, rows in _members(data).items():
        in_solid = [first[k] + r for k, r in enumerate(rows) if k in first and len(r)]
        if in_solid:
            cell_sets[name] = np.concatenate(in_solid)
            continue
        lower = [np.asarray(data.cells[k].data)[r] for k, r in enumerate(rows) if k not in first and len(r)]
        if not lower:
            continue
        nodes = number[np.concatenate([c.ravel() for c in lower])]
        faces = (
            _faces_of(mesh, lower, number)
            if all(element_dimension(data.cells[k].type) == 2 for k, r in enumerate(rows) if len(r))
            else None
        )
        if faces is not None:
            face_sets[name] = faces
        else:
            node_sets[name] = np.unique(nodes[nodes >= 0])
    return node_sets, cell_sets, face_sets


def _faces_of(mesh: Mesh, surface_cells: list[np.ndarray], number: np.ndarray) -> np.ndarray | None:
    """The (cell, face) of the skin that surface cells lie on; `None` when one lies on no outer face."""
    skin = mesh.boundary_faces
    lookup = {tuple(sorted(mesh.face_corners(int(c), int(f)))): k for k, (c, f) in enumerate(skin)}
    found = []
    for block in surface_cells:
        corners = 4 if block.shape[1] in (4, 8, 9) else 3
        for cell in number[block[:, :corners]]:
            place = lookup.get(tuple(sorted(cell.tolist())))
            if place is None:
                return None
            found.append(place)
    return skin[np.unique(found)]


def write_mesh(mesh: Mesh, path: str | Path) -> Path:
    """Write a mesh by meshio in the format of the path's ending; node and cell sets where the format keeps them."""
    path = Path(path)
    cell_sets = {}
    for key, cells in mesh.cell_sets.items():
        starts = np.cumsum([0] + [len(b) for b in mesh.cells])
        cell_sets[key] = [cells[(cells >= a) & (cells < b)] - a for a, b in zip(starts[:-1], starts[1:], strict=True)]
    sets = {**mesh.node_sets, **{key: mesh.nodes(key) for key in mesh.face_sets}}
    keeps_sets = path.suffix.lower() in (".inp", ".xdmf", ".cgns")
    data = meshio.Mesh(
        mesh.points, [(b.kind, b.connectivity) for b in mesh.cells],
        point_sets=sets if keeps_sets else None, cell_sets=cell_sets if keeps_sets else None,
    )  # fmt: skip
    try:
        meshio.write(path, data)
    except (Exception, SystemExit) as error:
        raise MeshError(f"The mesh cannot be written to {path}: {type(error).__name__}: {error}.") from None
    return path

"""Tetrahedra of a CAD part in a STEP file, by Gmsh; surfaces keep the labels of the file.

Gmsh passes on the names of solids and not those of faces, which are read from the text here: a face of the file and a
surface of Gmsh are the same where they follow each other in the same order and have the same vertices.
"""

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from fem.errors import MeshError
from fem.files.gmsh_reader import read_gmsh
from fem.mesh.mesh import Mesh
from fem.mesh.raw_mesh import RawMesh, mesh_and_steps
from fem.meshing.gmsh_program import gmsh_model
from fem.user_files import require_file, text_of

UNITS = {"mm": 1.0, "m": 1e-3}
"""Units of the mesh, in millimetres of the part."""
CELLS = 15
"""Cells along the diagonal of the part, where curvature asks for no more."""
AROUND = 12
"""Cells around a circle, by default."""
SAME = 1e-5
"""Distance of vertices that are the same, relative to the size of the part."""
_ENTITY = re.compile(r"#(\d+)\s*=\s*([A-Z_0-9]+)\s*\(((?:[^;']|'(?:[^']|'')*')*)\)\s*;", re.DOTALL)
_BOUNDS = ("FACE_OUTER_BOUND", "FACE_BOUND", "EDGE_LOOP", "VERTEX_LOOP", "ORIENTED_EDGE", "EDGE_CURVE", "VERTEX_POINT")


def mesh_cad(path: str | Path, size: float | None = None, order: int = 2, units: str = "mm") -> Mesh:
    """The mesh of tetrahedra of a part in a STEP file, by Gmsh.

        part = fem.mesh_cad("bracket.step", size=3.0)  # tet10; face sets by the labels of the faces

    - `size`: largest cell, by default a fifteenth of the diagonal; curved faces have finer ones.
    - `order`: 1 or 2, linear or quadratic cells. `units` of the coordinates: "mm" or "m", whatever the file has.

    Faces are face sets by their labels, "face 7" where they have none; solids are cell sets by theirs. `fem.read_mesh`
    and all verbs read STEP files with the defaults.

    Raises `MeshError` where Gmsh is missing, for a file that it cannot read or mesh, and for numbers out of range.
    """
    return mesh_and_steps(_raw(Path(path), size, order, units), Path(path).stem)[0]


def read_step(path: Path) -> RawMesh:
    """The mesh of a STEP file as `mesh_cad` makes it by default. Raises `MeshError` as it does."""
    return _raw(path, None, 2, "mm")


def _raw(path: Path, size: float | None, order: int, units: str) -> RawMesh:
    if size is not None and not (np.isfinite(size) and size > 0):
        raise MeshError(f"The size of the cells of {path.name} must be positive and finite; found {size}.")
    if order not in (1, 2) or units not in UNITS:
        raise MeshError(f'A CAD part has cells of order 1 or 2, in "mm" or "m"; found order {order}, units {units!r}.')
    require_file(path, MeshError, "CAD file")
    faces = _faces(text_of(path, MeshError, "STEP file", errors="replace"), path.name)
    options: dict[str, float | str] = {
        "Geometry.OCCTargetUnit": units.upper(),
        "Mesh.MeshSizeFromCurvature": AROUND,
        "Mesh.ElementOrder": order,
        "Mesh.HighOrderOptimize": 1,
        "Mesh.MeshSizeMax": 1e22,  # the default of Gmsh: the box of the part says more
    }
    otherwise = "Or mesh it with another program, and read the mesh."
    try:
        with gmsh_model("part", f"The CAD part {path.name}", otherwise, options) as gmsh:
            gmsh.model.occ.importShapes(str(path))
            gmsh.model.occ.synchronize()
            if not gmsh.model.getEntities(3):
                raise MeshError(f"{path.name} has no solid. Export the part as a solid, not as surfaces.")
            box = np.array(gmsh.model.getBoundingBox(-1, -1))
            diagonal = float(np.linalg.norm(box[3:] - box[:3]))
            told = _name(gmsh, faces, UNITS[units], diagonal)
            gmsh.option.setNumber("Mesh.MeshSizeMax", size or diagonal / CELLS)
            gmsh.model.mesh.generate(3)
            with tempfile.TemporaryDirectory() as folder:
                made = Path(folder) / "part.msh"
                gmsh.write(str(made))
                raw = read_gmsh(made)
    except MeshError:
        raise
    except Exception as error:
        raise MeshError(f"Gmsh cannot mesh {path.name}: {error}.") from None
    return replace(raw, warnings=(*raw.warnings, f"coordinates are in {units}, meshed by Gmsh", *told))


def _faces(text: str, name: str) -> list[tuple[str, np.ndarray]]:
    """Label and vertices (k, 3) of the faces of the shells, in their order, in the units of the file."""
    if "ISO-10303-21" not in text[:200]:
        raise MeshError(f"{name} is no STEP file: it does not begin with ISO-10303-21.")
    entities = {int(m[1]): (m[2], m[3]) for m in _ENTITY.finditer(text)}
    refers = {number: [int(k) for k in re.findall(r"#(\d+)", re.sub(r"'(?:[^']|'')*'", "", arguments))]
              for number, (_, arguments) in entities.items()}  # fmt: skip

    def vertices(number: int) -> list[list[float]]:
        kind, arguments = entities.get(number, ("", ""))
        if kind == "CARTESIAN_POINT":
            return [[float(x) for x in arguments[arguments.rindex("(") + 1 :].rstrip(") \n").split(",")]]
        if kind not in _BOUNDS:
            return []
        return [x for k in refers[number] for x in vertices(k)]

    found = []
    for number, (kind, _) in entities.items():
        if kind in ("CLOSED_SHELL", "OPEN_SHELL"):
            for face in refers[number]:
                arguments = entities.get(face, ("", ""))[1]
                label = re.match(r"\s*'((?:[^']|'')*)'", arguments)
                places = [x for k in refers.get(face, ()) for x in vertices(k)]
                found.append((label[1].replace("''", "'").strip() if label else "", np.array(places).reshape(-1, 3)))
    return found


def _name(gmsh, faces: list[tuple[str, np.ndarray]], scale: float, diagonal: float) -> list[str]:  # type: ignore[no-untyped-def]
    """Make physical groups of the solids and of the faces, by their labels; what is to be told of it."""
    surfaces = [tag for _, tag in gmsh.model.getEntities(2)]
    groups: dict[str, list[int]] = {}
    placed = _labels(gmsh, surfaces, faces, scale, diagonal)
    for tag in surfaces:
        groups.setdefault(placed.get(tag) or f"face {tag}", []).append(tag)
    for label, tags in groups.items():
        gmsh.model.addPhysicalGroup(2, tags, name=label)
    solids: dict[str, list[int]] = {}
    for dimension, tag in gmsh.model.getEntities(3):
        label = gmsh.model.getEntityName(dimension, tag).rpartition("/")[2]
        solids.setdefault(label or f"solid {tag}", []).append(tag)
    for label, tags in solids.items():
        gmsh.model.addPhysicalGroup(3, tags, name=label)
    lost = sorted({label for label, _ in faces if label} - set(groups))
    return [f"faces with these labels were not found in the part: {', '.join(lost)}"] if lost else []


def _labels(  # type: ignore[no-untyped-def]
    gmsh, surfaces: list[int], faces: list[tuple[str, np.ndarray]], scale: float, diagonal: float
) -> dict[int, str]:
    """The label of each surface whose vertices are those of the face of the same place in the file, or of one face
    only."""
    corners = {}
    for tag in surfaces:
        points = {abs(p) for _, p in gmsh.model.getBoundary([(2, tag)], recursive=True)}
        corners[tag] = np.array([gmsh.model.getValue(0, p, []) for p in sorted(points)]).reshape(-1, 3)
    ratio = _ratio(corners, faces, diagonal, scale)
    found: dict[int, str] = {}
    for k, tag in enumerate(surfaces):
        if len(faces) == len(surfaces) and _same(corners[tag], ratio * faces[k][1], SAME * diagonal):
            found[tag] = faces[k][0]
            continue
        alike = [label for label, x in faces if _same(corners[tag], ratio * x, SAME * diagonal)]
        if len(alike) == 1:
            found[tag] = alike[0]
    return found


def _ratio(corners: dict[int, np.ndarray], faces: list[tuple[str, np.ndarray]], diagonal: float, scale: float) -> float:
    """Ratio of the units of the mesh to those of the file, from the extents of all vertices."""
    ours = np.concatenate([*corners.values(), np.zeros((0, 3))])
    theirs = np.concatenate([*(x for _, x in faces), np.zeros((0, 3))])
    if not len(ours) or not len(theirs):
        return scale
    extents = [float(np.linalg.norm(np.ptp(x, axis=0))) for x in (ours, theirs)]
    return extents[0] / extents[1] if min(extents) > 0 else scale


def _same(a: np.ndarray, b: np.ndarray, slack: float) -> bool:
    """Whether two sets of points are the same."""
    if not len(a) or not len(b):
        return len(a) == len(b)
    distance = np.linalg.norm(a[:, None] - b, axis=2)
    return bool(distance.min(axis=0).max() < slack and distance.min(axis=1).max() < slack)

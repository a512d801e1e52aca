"""Meshing of a STEP file by Gmsh, as a program of its own (`fem/user_files/alone.py`). Imports nothing of fem.

Gmsh passes on the names of solids and not those of faces, which are read from the text here: a face of the file and a
surface of Gmsh are the same where they follow each other in the same order and have the same vertices.
"""

import json
import re
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

UNITS = {"mm": 1.0, "m": 1e-3}
"""Units of the mesh, in millimetres of the part."""
CELLS = 15
"""Cells along the diagonal of the part, where curvature asks for no more."""
AROUND = 12
"""Cells around a circle, by default."""
SAME = 1e-5
"""Distance of vertices that are the same, relative to the size of the part."""
_ENTITY = re.compile(r"#(\d+)\s*=\s*([A-Z_0-9]+)\s*\(((?:[^;']++|'[^']*+')*+);")
_NUMBER = re.compile(r"[-+]?[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?")
_BOUNDS = ("FACE_OUTER_BOUND", "FACE_BOUND", "EDGE_LOOP", "VERTEX_LOOP", "ORIENTED_EDGE", "EDGE_CURVE", "VERTEX_POINT")


def main(output: BinaryIO, path: str, made: str, read: str, *options: str) -> None:
    """Mesh the file `path`, and write the mesh in the format of Gmsh to `made`.

    - `read`: a file that is made when the part has been read.
    - `options`: the size of the largest cell, 0 by default; the order of the cells; the units.

    The output is JSON: `missing`, why there is no Gmsh, `problem`, or `told`, what is to be said of the mesh.
    """
    output.write(json.dumps(meshed(Path(path), made, Path(read), *options)).encode())


def meshed(path: Path, made: str, read: Path, size: str, order: str, units: str) -> dict[str, Any]:
    """Mesh a file into another one; what is to be told, or `problem`."""
    try:
        import gmsh
    except (ImportError, OSError) as error:  # OSError: a library of the system that Gmsh links is missing
        return {"missing": "is not installed" if isinstance(error, ImportError) else f"cannot be loaded ({error})"}
    faces = _faces(path.read_text(encoding="utf-8", errors="replace"))
    gmsh.initialize(readConfigFiles=False, interruptible=False)
    options = {
        "General.Terminal": 0,
        "Mesh.MeshSizeFromCurvature": AROUND,
        "Mesh.ElementOrder": int(order),
        "Mesh.HighOrderOptimize": 1,
    }
    for option, value in options.items():
        gmsh.option.setNumber(option, value)
    gmsh.option.setString("Geometry.OCCTargetUnit", units.upper())
    try:
        gmsh.model.occ.importShapes(str(path))
        gmsh.model.occ.synchronize()
        read.touch()
        if not gmsh.model.getEntities(3):
            return {"problem": f"{path.name} has no solid. Export the part as a solid, not as surfaces."}
        box = np.array(gmsh.model.getBoundingBox(-1, -1))
        diagonal = float(np.linalg.norm(box[3:] - box[:3]))
        told = _name(gmsh, faces, UNITS[units], diagonal)
        gmsh.option.setNumber("Mesh.MeshSizeMax", float(size) or diagonal / CELLS)
        gmsh.model.mesh.generate(3)
        gmsh.write(made)
    except Exception as error:
        return {"problem": f"Gmsh cannot mesh {path.name}: {error}."}
    return {"told": told}


def _faces(text: str) -> list[tuple[str, np.ndarray]]:
    """Label and vertices (k, 3) of the faces of the shells, in their order, in the units of the file."""
    entities = {int(m[1]): (m[2], m[3].rstrip().removesuffix(")")) for m in _ENTITY.finditer(text)}
    refers = {number: [int(k) for k in re.findall(r"#(\d+)", re.sub(r"'(?:[^']|'')*'", "", arguments))]
              for number, (_, arguments) in entities.items()}  # fmt: skip

    def vertices(number: int, level: int = 0) -> list[list[float]]:
        kind, arguments = entities.get(number, ("", ""))
        if kind == "CARTESIAN_POINT":
            numbers = [float(x) for x in _NUMBER.findall(arguments.rpartition("(")[2])]
            return [numbers] if len(numbers) == 3 else []
        if kind not in _BOUNDS[level:]:  # the kinds follow each other: what refers to itself ends here
            return []
        return [x for k in refers[number] for x in vertices(k, _BOUNDS.index(kind) + 1)]

    found = []
    for number, (kind, _) in entities.items():
        if kind in ("CLOSED_SHELL", "OPEN_SHELL"):
            for face in refers[number]:
                arguments = entities.get(face, ("", ""))[1]
                label = re.match(r"\s*'((?:[^']|'')*)'", arguments)
                name = label[1].replace("''", "'").strip() if label else ""
                places = [x for k in refers.get(face, ()) for x in vertices(k)]
                found.append((name, np.array(places, dtype=float).reshape(-1, 3)))
    return found


def _name(gmsh: Any, faces: list[tuple[str, np.ndarray]], scale: float, diagonal: float) -> list[str]:
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


def _labels(
    gmsh: Any, surfaces: list[int], faces: list[tuple[str, np.ndarray]], scale: float, diagonal: float
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

"""Writer of Gmsh's .msh files, format 4.1 (text): cells and every set, a set of nodes as points, a set of faces as
surface cells."""

from pathlib import Path

import numpy as np

from fem.elements import element
from fem.errors import MeshError
from fem.files.gmsh_reader import cells as known_cells
from fem.mesh.mesh import Mesh
from fem.mesh.raw_mesh import dimension

_SURFACE = {3: "triangle", 6: "triangle6", 4: "quad", 8: "quad8"}


def write_gmsh(mesh: Mesh, path: Path) -> None:
    """Write mesh and sets.

    Node numbers count from 1 in the order of the mesh; cells that are in the same sets form one entity.
    """
    names: dict[tuple[int, str], int] = {}
    for size, sets in ((0, mesh.node_sets), (2, mesh.face_sets), (3, mesh.cell_sets)):
        for name in sets:
            if '"' in name or "\n" in name:
                raise MeshError(
                    f"Mesh {mesh.name!r}: the set name {name!r} has a quotation mark or a line break, which a .msh "
                    "file cannot hold."
                )
            names[size, name] = len(names) + 1
    entities: dict[int, dict[tuple[int, ...], int]] = {0: {}, 1: {}, 2: {}, 3: {}}
    blocks: list[tuple[int, int, str, np.ndarray]] = []
    for kind, rows, tags in _cells(mesh, names):
        for groups in sorted(set(tags)):
            entity = entities[dimension(kind)].setdefault(groups, len(entities[dimension(kind)]) + 1)
            blocks.append((dimension(kind), entity, kind, rows[[k for k, t in enumerate(tags) if t == groups]]))
    low, high = (" ".join(f"{x:.17g}" for x in corner) for corner in (mesh.points.min(axis=0), mesh.points.max(axis=0)))
    named = [
        f'{d} {tag} "{name}"'
        for (size, name), tag in names.items()
        for d in (_dimensions(mesh, mesh.cell_sets[name]) if size == 3 else (size,))
    ]
    lines = ["$MeshFormat", "4.1 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(named)), *named]
    lines += ["$EndPhysicalNames", "$Entities", " ".join(str(len(entities[d])) for d in range(4))]
    for size, numbered in entities.items():
        box = f"{low} {high}" if size else low
        end = " 0" if size else ""
        lines += [
            f"{entity} {box} {len(groups)} {' '.join(map(str, groups))}{end}" for groups, entity in numbered.items()
        ]
    n = len(mesh.points)
    lines += ["$EndEntities", "$Nodes", f"1 {n} 1 {n}", f"3 1 0 {n}", *map(str, range(1, n + 1))]
    lines += [f"{x:.17g} {y:.17g} {z:.17g}" for x, y, z in mesh.points.tolist()]
    count = sum(len(rows) for *_, rows in blocks)
    lines += ["$EndNodes", "$Elements", f"{len(blocks)} {count} 1 {count}"]
    number, codes = 1, {kind: code for code, (kind, *_) in known_cells().items()}
    for size, entity, kind, rows in blocks:
        lines.append(f"{size} {entity} {codes[kind]} {len(rows)}")
        lines += [f"{number + k} {' '.join(map(str, row))}" for k, row in enumerate((rows + 1).tolist())]
        number += len(rows)
    path.write_text("\n".join([*lines, "$EndElements", ""]), encoding="utf-8")


def _dimensions(mesh: Mesh, cells: np.ndarray) -> list[int]:
    """The dimensions of the cells of a set: 1 for beams, 2 for shells."""
    of_cells = np.concatenate([np.full(len(b), dimension(element(b.kind).cell)) for b in mesh.cells])
    return [int(d) for d in np.unique(of_cells[cells])] or [3]


def _cells(mesh: Mesh, names: dict[tuple[int, str], int]) -> list[tuple[str, np.ndarray, list[tuple[int, ...]]]]:
    """Kind, node rows in Gmsh's order and group tags of every solid cell, set face and set node."""
    blocks = []
    tags: list[tuple[int, ...]] = [()] * mesh.cell_count
    for name, cells in mesh.cell_sets.items():
        for cell in np.unique(cells).tolist():
            tags[cell] = (*tags[cell], names[3, name])
    first = 0
    for block in mesh.cells:
        shape = element(element(block.kind).cell)
        order = shape.gmsh_order or range(shape.nodes)
        blocks.append((shape.kind, block.connectivity[:, np.argsort(order)], tags[first : first + len(block)]))
        first += len(block)
    faces: dict[tuple[int, int], tuple[int, ...]] = {}
    for name, members in mesh.face_sets.items():
        for cell, face in np.unique(members, axis=0).tolist():
            faces[cell, face] = (*faces.get((cell, face), ()), names[2, name])
    by_kind: dict[str, tuple[list[np.ndarray], list[tuple[int, ...]]]] = {}
    for (cell, face), groups in faces.items():
        nodes = mesh.face_nodes(cell, face)
        rows, lists = by_kind.setdefault(_SURFACE[len(nodes)], ([], []))
        rows.append(nodes)
        lists.append(groups)
    blocks += [(kind, np.array(rows), lists) for kind, (rows, lists) in by_kind.items()]
    points: dict[int, tuple[int, ...]] = {}
    for name, nodes in mesh.node_sets.items():
        for node in np.unique(nodes).tolist():
            points[node] = (*points.get(node, ()), names[0, name])
    if points:
        blocks.append(("vertex", np.array(list(points))[:, None], list(points.values())))
    return blocks

"""Structured meshes of boxes and tubes, in every element kind: for first steps, tests and benchmarks."""

from collections.abc import Sequence

import numpy as np

from fem.elements import LINE, SHELLS, element
from fem.errors import MeshError
from fem.mesh.check import merge_nodes
from fem.mesh.mesh import CellBlock, Mesh


def block(kind: str, size: tuple[float, float, float], divisions: tuple[int, int, int]) -> Mesh:
    """A box from the origin to `size` with `divisions` cubes along x, y, z, filled with cells of `kind`.

    A cube is one hexahedron, two wedges, six tetrahedra or six pyramids (about its middle). Face sets "x0", "x1", "y0",
    "y1", "z0", "z1" and the cell set "all". Units: the user's.

    Raises `MeshError` when a size or a number of divisions is not positive.
    """
    if min(divisions) < 1 or not min(size) > 0:
        raise MeshError(
            f"A block needs positive sizes and at least one division each way; found size {size}, divisions "
            f"{divisions}."
        )
    cube = element(kind).cube
    if not cube:
        raise MeshError(f"Elements of the kind {kind!r} do not say how they fill a cube.")
    nx, ny, nz = divisions
    axes = [np.linspace(0, s, d + 1) for s, d in zip(size, divisions, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(len(points)).reshape(nx + 1, ny + 1, nz + 1)
    offsets = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
    cubes = np.stack([number[i : nx + i, j : ny + j, k : nz + k].ravel() for i, j, k in offsets], axis=1)
    if max(map(max, cube)) == 8:
        middles = points[cubes].mean(axis=1)
        cubes = np.column_stack([cubes, len(points) + np.arange(len(cubes))])
        points = np.vstack([points, middles])
    cells = np.concatenate([cubes[:, list(corners)] for corners in cube])
    if element(kind).edges:
        points, cells = _add_mid_nodes(points, cells, kind)
    mesh = Mesh(points, (CellBlock(kind, cells),), name=f"block of {kind}")
    return Mesh(
        mesh.points, mesh.cells, cell_sets={"all": np.arange(len(cells))}, face_sets=_sides(mesh, size), name=mesh.name
    )


def _add_mid_nodes(points: np.ndarray, cells: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """A node in the middle of every edge."""
    ends = np.stack([np.sort(cells[:, [a, b]], axis=1) for a, b, _ in element(kind).edges], axis=1)
    edges, inverse = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
    middle = len(points) + inverse.reshape(len(cells), -1)
    return np.vstack([points, points[edges].mean(axis=1)]), np.column_stack([cells, middle])


def _sides(mesh: Mesh, size: tuple[float, float, float]) -> dict[str, np.ndarray]:
    faces = mesh.boundary_faces
    corners = mesh.corner_keys(faces)
    sides = {}
    for axis, letter in enumerate("xyz"):
        for end, position in enumerate((0.0, size[axis])):
            there = np.abs(mesh.points[corners, axis] - position) < 1e-9 * size[axis]
            sides[f"{letter}{end}"] = faces[(there | (corners < 0)).all(axis=1)]
    return sides


def line(start: Sequence[float], end: Sequence[float], divisions: int, kind: str = LINE) -> Mesh:
    """Cells for a straight beam (`kind` "line"), or for rods ("truss"), with node sets "start" and "end" and the cell
    set "all".

    Raises `MeshError` when the ends coincide, or there is no division.
    """
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    if a.shape != (3,) or b.shape != (3,) or not np.linalg.norm(b - a) > 0 or divisions < 1:
        raise MeshError(f"A line needs two different points and a division; found {start}, {end}, {divisions}.")
    points = a + np.linspace(0.0, 1.0, divisions + 1)[:, None] * (b - a)
    cells = np.column_stack([np.arange(divisions), np.arange(1, divisions + 1)])
    ends = {"start": np.array([0]), "end": np.array([divisions])}
    sets = {"all": np.arange(divisions)}
    return Mesh(points, (CellBlock(kind, cells),), node_sets=ends, cell_sets=sets, name="line")


_NINE = ((0, 0), (2, 0), (2, 2), (0, 2), (1, 0), (2, 1), (1, 2), (0, 1), (1, 1))
"""Places of the nodes of a quadrilateral of nine nodes on the grid of all nodes; two triangles share its diagonal."""


def sheet(kind: str, size: tuple[float, float], divisions: tuple[int, int]) -> Mesh:
    """A rectangle in the plane z = 0 of cells for shells, "quad", "quad8", "quad9", "triangle" or "triangle6", with
    normals along z.

    Node sets "x0", "x1", "y0", "y1" and the cell set "all". Units: the user's.

    Raises `MeshError` for another kind of cell, or without divisions.
    """
    if kind not in SHELLS or min(divisions) < 1 or not min(size) > 0:
        raise MeshError(
            f"A sheet has {' or '.join(map(repr, SHELLS))} cells, two lengths and divisions; found {kind!r}, {size}, "
            f"{divisions}."
        )
    quadratic = len(SHELLS[kind].edges) > 0
    n, m = (2 * d for d in divisions) if quadratic else divisions
    x, y = (k.ravel() for k in np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij"))
    number = np.arange((n + 1) * (m + 1)).reshape(n + 1, m + 1)
    corners = (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:])
    cells = np.stack(corners, axis=-1).reshape(-1, 4)
    if quadratic:
        own = [number[a::2, b::2][: n // 2, : m // 2] for a, b in _NINE]
        cells = np.stack(own, axis=-1).reshape(-1, 9)
    if SHELLS[kind].corners == 3:
        halves = ([0, 1, 2], [0, 2, 3]) if not quadratic else ([0, 1, 2, 4, 5, 8], [0, 2, 3, 8, 6, 7])
        cells = np.stack([cells[:, half] for half in halves], axis=1).reshape(-1, len(halves[0]))
    if kind == "quad8":
        cells = cells[:, :8]
        kept, cells = np.unique(cells, return_inverse=True)
        x, y, cells = x[kept], y[kept], cells.reshape(-1, 8)
    points = np.column_stack([size[0] * x / n, size[1] * y / m, 0 * x])
    ends = {"x0": x == 0, "x1": x == n, "y0": y == 0, "y1": y == m}
    sets = {name: np.flatnonzero(there) for name, there in ends.items()}
    every = {"all": np.arange(len(cells))}
    return Mesh(points, (CellBlock(kind, cells),), node_sets=sets, cell_sets=every, name=f"sheet of {kind}")


def tube(kind: str, radii: tuple[float, float], length: float, divisions: tuple[int, int, int]) -> Mesh:
    """A tube along z from z = 0, between two `radii`, with `divisions` radially, around and along.

    Face sets "inner", "outer", "z0", "z1" and the cell set "all". Nodes of quadratic cells lie on the cylinders. Units:
    the user's.

    Raises `MeshError` when the radii do not rise from 0, or there are fewer than three divisions around.
    """
    inner, outer = radii
    if not 0 < inner < outer or divisions[1] < 3:
        raise MeshError(
            f"A tube needs 0 < inner < outer radius and three divisions around; found radii {radii}, divisions "
            f"{divisions}."
        )
    flat = block(kind, (outer - inner, 2 * np.pi, length), divisions)
    r, angle, z = flat.points.T
    points = np.column_stack([(inner + r) * np.cos(angle), (inner + r) * np.sin(angle), z])
    names = {"inner": "x0", "outer": "x1", "z0": "z0", "z1": "z1"}
    faces = {new: flat.face_sets[old] for new, old in names.items()}
    return merge_nodes(Mesh(points, flat.cells, cell_sets=flat.cell_sets, face_sets=faces, name=f"tube of {kind}"))

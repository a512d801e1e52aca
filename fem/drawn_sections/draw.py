"""Sections of beams from what is drawn: a polygon with holes, rectangles that touch or overlap, or a mesh."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fem.beam import Section
from fem.drawn_sections.solver import constants_of
from fem.errors import MaterialError, MeshError
from fem.mesh.mesh import CellBlock, Mesh

ACROSS = 6
"""Cells across the thinnest rectangle."""


def drawn_section(shape: Any, holes: Sequence[Any] = (), size: float | None = None) -> Section:
    """A cross-section of any shape, with its constants by finite elements.

        fem.drawn_section([(0, 0), (60, 0), (60, 5), (5, 5), (5, 40), (0, 40)])  # an angle

    - `shape` (p, 2): the corners (y, z) of a polygon, which Gmsh meshes; or a `fem.Mesh` of triangles and
      quadrilaterals, whose x and y are y and z of the beam;
    - `holes`: polygons inside; `size` of the triangles, by default a third of the wall where the section is thin.

    The nodes of a beam lie at the centroid; `offset=section.drawn_centroid` of `fem.Beam` puts them at the origin of
    the drawing. Principal axes may be turned, and the shear centre may lie beside the centroid: beams take both into
    account, and with `torsion="vlasov"` warping that is held. Constants are within
    0.1 per cent with the default size where walls are straight.

    Raises `MeshError` when the shape is no polygon, a mesh of other cells or in pieces, and where Gmsh is missing.
    """
    if isinstance(shape, Mesh):
        mesh = shape
    else:
        from fem.meshing.polygon import mesh_of_polygon

        mesh = mesh_of_polygon(shape, holes, size)
    return _section(mesh)


def section_of_rectangles(rectangles: Sequence[tuple[float, float, float, float]]) -> Section:
    """The section that rectangles (y, z of one corner, y, z of the other) cover together.

    Raises `MaterialError` for rectangles without area.
    """
    boxes = np.array(rectangles, dtype=float)
    if not (boxes[:, 2:] > boxes[:, :2]).all():
        raise MaterialError(f"A section of rectangles needs sides of positive length; found {boxes.tolist()}.")
    thin = (boxes[:, 2:] - boxes[:, :2]).min()
    lines = [_divided(np.unique(boxes[:, [k, k + 2]]), thin / ACROSS) for k in (0, 1)]
    y, z = lines
    at = [(line[1:] + line[:-1]) / 2 for line in lines]
    inside = np.zeros((len(at[0]), len(at[1])), dtype=bool)
    for a, b, c, d in boxes:
        inside |= np.outer((at[0] > a) & (at[0] < c), (at[1] > b) & (at[1] < d))
    i, j = np.nonzero(inside)
    rows = np.column_stack([i * len(z) + j, (i + 1) * len(z) + j, (i + 1) * len(z) + j + 1, i * len(z) + j + 1])
    used, rows = np.unique(rows, return_inverse=True)
    points = np.stack(np.meshgrid(y, z, indexing="ij"), axis=-1).reshape(-1, 2)[used]
    points = np.column_stack([points, np.zeros(len(points))])
    return _section(Mesh(points, (CellBlock("quad", rows.reshape(-1, 4)),), name="rectangles"))


def _divided(lines: np.ndarray, size: float) -> np.ndarray:
    """Lines with others between them, at most eight times as far apart as `size` and finer near the ends."""
    found = [lines[:1]]
    for a, b in pairwise(lines.tolist()):
        n = int(np.clip(np.ceil((b - a) / size - 1e-6), 2, 24))
        t = (1 - np.cos(np.pi * np.arange(1, n + 1) / n)) / 2 if n > ACROSS else np.arange(1, n + 1) / n
        found.append(a + (b - a) * t)
    return np.concatenate(found)


def _section(mesh: Mesh) -> Section:
    c = constants_of(mesh)
    if not min(c.J, c.shear_y, c.shear_z) > 0:
        raise MeshError(f"Section {mesh.name!r}: its torsion constant {c.J:g} or shear factors are not positive.")
    outline = tuple((float(y), float(z)) for y, z in c.outline)
    return Section(
        c.area,
        c.Iy,
        c.Iz,
        c.J,
        c.shear_y,
        c.shear_z,
        outline,
        outline,
        angle=c.angle,
        shear_centre=c.shear_centre,
        warping=max(c.warping, 0.0),
        drawn_centroid=c.centroid,
        fibre_warping=tuple(c.outline_warping.tolist()),
        fibre_shear=tuple((float(y), float(z)) for y, z in c.outline_shear),
    )

"""Triangles of a polygon with holes, by Gmsh."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem.axes.limits import floats, is_number
from fem.errors import MeshError
from fem.mesh.mesh import CellBlock, Mesh
from fem.meshing.gmsh_program import gmsh_model

FEWEST = 400
"""Triangles of a compact section, about."""


def mesh_of_polygon(shape: Any, holes: Sequence[Any], size: float | None) -> Mesh:
    """Triangles of second order of a polygon (p, 2) with holes. Raises `MeshError` where Gmsh is missing, and when the
    polygons are none or cross each other."""
    loops = [_loop(shape, "the polygon"), *(_loop(hole, f"hole {k}") for k, hole in enumerate(holes))]
    area = abs(_area(loops[0])) - sum(abs(_area(loop)) for loop in loops[1:])
    around = sum(float(np.linalg.norm(np.roll(loop, -1, axis=0) - loop, axis=1).sum()) for loop in loops)
    if not area > 1e-12 * around**2:
        raise MeshError("A section needs a polygon with an area, and holes that leave some of it.")
    _insist_on_order(loops)
    wall = 2 * area / around  # of a thin section; half the radius of a circle
    size = min(wall / 3, float(np.sqrt(2 * area / FEWEST))) if size is None else size
    if not (is_number(size) and size > 0):
        raise MeshError(f"The size of the triangles of a section must be positive and finite; found {size}.")
    without = "Without it give a fem.Mesh of triangles or quadrilaterals of the section."
    try:
        with gmsh_model("section", "A drawn section", without, {"General.AbortOnError": 2}) as gmsh:
            unit = float(np.ptp(loops[0], axis=0).max())  # Gmsh has tolerances of its own
            made = []
            for loop in loops:
                corners = [gmsh.model.geo.addPoint(y / unit, z / unit, 0.0, size / unit) for y, z in loop.tolist()]
                sides = [gmsh.model.geo.addLine(a, b) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)]
                made.append(gmsh.model.geo.addCurveLoop(sides))
            gmsh.model.geo.addPlaneSurface(made)
            gmsh.model.geo.synchronize()
            gmsh.model.mesh.generate(2)
            gmsh.model.mesh.setOrder(2)
            tags, x, _ = gmsh.model.mesh.getNodes()
            _, nodes = gmsh.model.mesh.getElementsByType(9)
    except MeshError:
        raise
    except Exception as error:
        raise MeshError(
            f"Gmsh cannot mesh the section ({str(error) or 'it gives no reason'}). Its polygons must not cross each "
            "other, and triangles must not be far larger or smaller than its walls."
        ) from None
    row = np.zeros(int(tags.max()) + 1, dtype=np.int64)
    row[tags.astype(np.int64)] = np.arange(len(tags))
    cells = row[nodes.astype(np.int64)].reshape(-1, 6)
    points = x.reshape(-1, 3)[np.unique(cells)] * unit
    cells = np.unique(cells, return_inverse=True)[1].reshape(-1, 6)
    return Mesh(points, (CellBlock("triangle6", cells),), name="section")


def _insist_on_order(loops: list[np.ndarray]) -> None:
    """Refuse sides that cross or touch others than their neighbours, and holes that are not inside."""
    a = np.concatenate(loops)
    b = np.concatenate([np.roll(loop, -1, axis=0) for loop in loops])
    n = len(a)
    after = np.concatenate(
        [np.roll(np.arange(len(loop)), -1) + k for loop, k in zip(loops, _firsts(loops), strict=True)]
    )

    def side(p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """On which side of the lines p q (rows) the points x (columns) are."""
        d = (q - p)[:, None]
        r = x[None] - p[:, None]
        turn = d[..., 0] * r[..., 1] - d[..., 1] * r[..., 0]
        small = 1e-9 * np.linalg.norm(d, axis=2) * np.ptp(a, axis=0).max()
        return np.where(np.abs(turn) <= small, 0, np.sign(turn))

    of_a, of_b = side(a, b, a), side(a, b, b)
    overlap = (np.minimum(a, b)[:, None] <= np.maximum(a, b)[None]) & (
        np.minimum(a, b)[None] <= np.maximum(a, b)[:, None]
    )
    crossing = (of_a * of_b <= 0) & (of_a * of_b <= 0).T & overlap.all(axis=2)
    k = np.arange(n)
    crossing[k, k] = crossing[k, after] = crossing[after, k] = False
    if crossing.any():
        i, j = np.argwhere(crossing)[0]
        raise MeshError(
            f"The polygons of a section must not cross or touch: the sides from {a[i].tolist()} to {b[i].tolist()} and "
            f"from {a[j].tolist()} to {b[j].tolist()} do."
        )
    for number, hole in enumerate(loops[1:]):
        others = [loop for k, loop in enumerate(loops) if k != number + 1]
        inside = [_inside(loop, hole[0]) for loop in others]
        if not inside[0] or any(inside[1:]):
            raise MeshError(
                f"Hole {number} of a section lies outside its polygon, or in another hole; they must not cross."
            )


def _firsts(loops: list[np.ndarray]) -> list[int]:
    return [0, *np.cumsum([len(loop) for loop in loops[:-1]]).tolist()]


def _inside(loop: np.ndarray, x: np.ndarray) -> bool:
    """Whether a point is inside a loop: the rays that it sends cross it an odd number of times."""
    a, b = loop, np.roll(loop, -1, axis=0)
    over = (a[:, 1] > x[1]) != (b[:, 1] > x[1])
    at = a[over, 0] + (x[1] - a[over, 1]) / (b[over, 1] - a[over, 1]) * (b[over, 0] - a[over, 0])
    return bool((at > x[0]).sum() % 2)


def _loop(shape: Any, what: str) -> np.ndarray:
    loop = floats(shape)
    if loop.ndim != 2 or loop.shape[1] != 2 or len(loop) < 3 or not np.isfinite(loop).all():
        raise MeshError(f"A section: {what} needs three or more finite corners (y, z); found shape {loop.shape}.")
    return loop[:-1] if np.array_equal(loop[0], loop[-1]) else loop


def _area(loop: np.ndarray) -> float:
    after = np.roll(loop, -1, axis=0)
    return float((loop[:, 0] * after[:, 1] - loop[:, 1] * after[:, 0]).sum() / 2)

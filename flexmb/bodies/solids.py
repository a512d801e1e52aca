"""Shapes of bodies: simple solids, several together, and those of files and meshes."""

from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fem.axes.limits import floats, is_number
from fem.errors import MeshError
from fem.files.mesh_files import read_raw
from fem.mesh.mesh import Mesh
from fem.mesh.raw_mesh import dimension, mesh_and_steps
from fem.mesh.skin import FACE_TRIANGLES, skin_triangles
from flexmb.bodies.shape import Shape, VolumeIntegrals
from flexmb.spatial.lie import frame_with_axis

SIDES = 48
"""Number of sides by which round solids are drawn."""
_FACES = {"triangle": 3, "triangle6": 6, "quad": 4, "quad8": 8, "quad9": 8}
"""From the kind of a surface cell to the number of its nodes by which it is drawn."""


def box(edges: ArrayLike, centre: ArrayLike = (0.0, 0.0, 0.0)) -> Shape:
    """A box with `edges` (3,) along the axes x, y, z. Raises `MeshError` for edges that are not positive."""
    size, middle = _numbers("box", 3, edges=edges), _numbers("box", 3, centre=centre)
    if not (size > 0).all():
        raise MeshError(f"A box needs edges above zero; found {size!r}.")
    a, b, c = size / 2
    return prism([(-a, -b), (a, -b), (a, b), (-a, b)], -c, c).moved(middle)


def cylinder(start: ArrayLike, end: ArrayLike, radius: float, inner: float = 0.0) -> Shape:
    """A cylinder around the line from `start` (3,) to `end` (3,); `inner`: the radius of a bore through it.

    It is drawn with 48 sides; its integrals are those of the cylinder. Raises `MeshError` when it has no length or no
    wall.
    """
    first, last = _numbers("cylinder", 3, start=start), _numbers("cylinder", 3, end=end)
    length = float(np.linalg.norm(last - first))
    _positive("cylinder", length=length, radius=radius)
    if not (is_number(inner) and 0 <= inner < radius):
        raise MeshError(f"The bore of a cylinder has a radius from 0 to that of the cylinder, {radius}; found {inner}.")
    axes = frame_with_axis(last - first)[:, [2, 0, 1]]
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    ring = np.cos(angle)[:, None] * axes[:, 1] + np.sin(angle)[:, None] * axes[:, 2]
    radii = (radius, inner) if inner else (radius,)
    points = np.concatenate([place + r * ring for r in radii for place in (first, last)])
    k, after = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    if inner:
        quads = [(0, 1), (1, 3), (3, 2), (2, 0)]  # rings that faces connect: outside, end, bore, start
        triangles = [_band(a * SIDES, b * SIDES, k, after) for a, b in quads]
    else:
        points = np.concatenate([points, [first, last]])
        caps = (np.column_stack([np.full(SIDES, 2 * SIDES), after, k]),
                np.column_stack([np.full(SIDES, 2 * SIDES + 1), SIDES + k, SIDES + after]))  # fmt: skip
        triangles = [_band(0, SIDES, k, after), *caps]
    volume, middle = np.pi * (radius**2 - inner**2) * length, (first + last) / 2
    across = (radius**2 + inner**2) / 4
    central = axes @ np.diag([length**2 / 12, across, across]) @ axes.T
    return Shape(points, np.concatenate(triangles), _about(volume, middle, central))


def _band(a: int, b: int, k: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The triangles between the rings whose points begin at `a` and `b`."""
    return np.concatenate([np.column_stack([a + k, a + after, b + after]), np.column_stack([a + k, b + after, b + k])])


def sphere(radius: float, centre: ArrayLike = (0.0, 0.0, 0.0)) -> Shape:
    """A sphere. It is drawn with 48 sides; its integrals are those of the sphere. Raises `MeshError` for radii <= 0."""
    middle = _numbers("sphere", 3, centre=centre)
    _positive("sphere", radius=radius)
    height, turn = np.pi * np.arange(1, SIDES // 2) / (SIDES // 2), 2 * np.pi * np.arange(SIDES) / SIDES
    ring = np.column_stack([np.cos(turn), np.sin(turn), np.zeros(SIDES)])
    rings = [np.sin(h) * ring - [0, 0, np.cos(h)] for h in height]
    last = len(height) * SIDES
    k, after = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    triangles = [_band(i * SIDES, (i + 1) * SIDES, k, after) for i in range(len(height) - 1)]
    triangles += [
        np.column_stack([np.full(SIDES, last), after, k]),
        np.column_stack([np.full(SIDES, last + 1), last - SIDES + k, last - SIDES + after]),
    ]
    points = np.concatenate([*rings, [[0, 0, -1.0], [0, 0, 1.0]]])
    exact = _about(4 / 3 * np.pi * radius**3, middle, radius**2 / 5 * np.eye(3))
    return Shape(middle + radius * points, np.concatenate(triangles), exact)


def prism(outline: ArrayLike, low: float, high: float) -> Shape:
    """The solid between z = `low` and z = `high` over a convex `outline` (n, 2) in the plane of x and y.

    Raises `MeshError` when the outline is not convex, or passed clockwise, or the prism has no height. Divide other
    outlines into convex ones, and put their prisms together.
    """
    corners = floats(outline)
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3 or not np.isfinite(corners).all():
        raise MeshError(
            f"The outline of a prism has at least 3 points (x, y); found an array of shape {corners.shape}."
        )
    _positive("prism", height=high - low if is_number(low) and is_number(high) else (low, high))
    along = np.roll(corners, -1, axis=0) - corners
    after = np.roll(along, -1, axis=0)
    turns = along[:, 0] * after[:, 1] - along[:, 1] * after[:, 0]
    angle = np.arctan2(turns, np.einsum("nk,nk->n", along, after)).sum()
    if turns.min() < -1e-9 * np.ptp(corners, axis=0).max() ** 2 or not np.isclose(angle, 2 * np.pi):
        raise MeshError(
            "The outline of a prism should be convex and counter-clockwise; found a corner that turns the other way. "
            "Reverse the outline, or divide it into convex ones, and join their prisms by together."
        )
    n = len(corners)
    k, following = np.arange(n), (np.arange(n) + 1) % n
    points = np.concatenate([np.column_stack([corners, np.full(n, z)]) for z in (low, high)])
    cap = np.column_stack([np.zeros(n - 2, dtype=np.int64), k[1:-1], k[2:]])
    return Shape(points, np.concatenate([_band(0, n, k, following), cap[:, ::-1], cap + n]))


def together(*shapes: Shape) -> Shape:
    """Several shapes as one. Volume that lies in two of them counts twice. Raises `MeshError` when there are none."""
    if not shapes:
        raise MeshError("together joins at least one shape; found none.")
    first = np.cumsum([0, *(len(shape.points) for shape in shapes)])
    points = np.concatenate([shape.points for shape in shapes])
    triangles = np.concatenate([shape.triangles + start for shape, start in zip(shapes, first, strict=False)])
    rounded = any(shape.exact is not None for shape in shapes)
    return Shape(points, triangles, reduce(add, [shape.integrals() for shape in shapes]) if rounded else None)


def shape_of(source: "Shape | Mesh | str | Path", name: str = "body") -> Shape:
    """The shape that a `Shape`, the skin of a mesh of solid cells, or a file gives; `name`: the body, for messages.

    Files: surfaces (.stl, .ply, .obj, .vtk, .vtp, .vtu and others that meshio reads), or meshes of solid cells, whose
    skin is taken. Coordinates keep the unit of the file (see `Shape.scaled`).

    Raises `MeshError` when there is nothing to draw, or the file cannot be read.
    """
    if isinstance(source, Shape):
        return source
    if isinstance(source, Mesh):
        triangles = skin_triangles(source)
        if not len(triangles):
            raise MeshError(f"The mesh {source.name!r} of {name!r} has no solid cells, and lines have no surface.")
        return _used(source.points, triangles)
    if not isinstance(source, str | Path):
        raise MeshError(
            f"The mesh of {name!r} is a shape (flexmb.solids), a fem.Mesh, or the path of a file; found "
            f"{type(source).__name__}."
        )
    raw = read_raw(source)
    if any(dimension(kind) == 3 and len(rows) for kind, rows in raw.blocks):
        return shape_of(mesh_and_steps(raw, Path(source).stem)[0], name)
    drawn = [
        rows[:, list(part)] for kind, rows in raw.blocks if kind in _FACES for part in FACE_TRIANGLES[_FACES[kind]]
    ]
    if not any(len(rows) for rows in drawn):
        there = ", ".join(f"{len(rows)} {kind}" for kind, rows in raw.blocks if len(rows)) or "no cells at all"
        raise MeshError(
            f"The file {str(source)!r} of {name!r} holds no surface that flexmb knows ({', '.join(_FACES)}); it has "
            f"{there}. Write triangles."
        )
    try:
        return _used(raw.points, np.concatenate(drawn))
    except MeshError as error:
        raise MeshError(f"The file {str(source)!r} of {name!r}: {error}") from None


def _used(points: np.ndarray, triangles: np.ndarray) -> Shape:
    """The shape without the points that no triangle has."""
    nodes, numbered = np.unique(triangles, return_inverse=True)
    return Shape(points[nodes], numbered.reshape(-1, 3))


def _about(volume: float, centre: np.ndarray, central: np.ndarray) -> VolumeIntegrals:
    """Integrals of a volume with the mean `central` (3, 3) of x x^T about its centroid."""
    return VolumeIntegrals(float(volume), volume * centre, volume * (central + np.outer(centre, centre)))


def _numbers(what: str, count: int, **given: ArrayLike) -> np.ndarray:
    ((name, value),) = given.items()
    numbers = floats(value)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise MeshError(f"The {name} of a {what} should be {count} finite numbers; found {value!r}.")
    return numbers


def _positive(what: str, **values: Any) -> None:
    for name, value in values.items():
        if not (is_number(value) and value > 0):
            raise MeshError(f"A {what} needs {name} above zero; found {value!r}.")

"""Triangle meshes as shapes of contacts: of files, of parts, and convex hulls."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from jaxtyping import Float, Int

from fem.axes.limits import as_array, floats, is_whole
from fem.errors import MeshError
from fem.mesh.mesh import Mesh
from flexmb.bodies.shape import Shape, welded
from flexmb.bodies.solids import shape_of
from flexmb.contact.mesh_data import Hull, convex_hull, crossings, mesh_numbers, unit_normals
from flexmb.contact.shape import ContactShape
from flexmb.contact.smooth import MOST_PARTS, smooth_shape
from flexmb.kernels.contact import shapes as codes

CONVEX = 1e-5
"""Part of the volume of the hull that a convex mesh may lack."""
SHARP = 0.7
"""Angle (rad) between two triangles of a mesh above which the edge between them is one of the body, by default."""
INSTEAD = "touch the body with its convex hull, flexmb.contact.hull(...), or with simple shapes"


@dataclass(frozen=True, eq=False)
class TriangleMesh(ContactShape):
    """The solid inside a closed surface of triangles, in the axes of its place.

    - `points` (n, 3); `triangles` (nt, 3), counter-clockwise seen from outside. Points that coincide become one.
    - `name`: the name of the mesh in messages.

    It touches spheres and planes and, if it is convex, capsules, cylinders, boxes and other convex meshes.

    Raises `MeshError` when the mesh is empty, open, inside out or crosses itself, triangles face different sides or
    have no area, or more than two of them share an edge.
    """

    points: Float[np.ndarray, "n 3"]
    triangles: Int[np.ndarray, "nt 3"]
    name: str = field(default="mesh")
    code, title = codes.MESH, "mesh"

    def __post_init__(self) -> None:
        given = Shape(floats(self.points), as_array(self.triangles))
        given.integrals(self.name, instead=INSTEAD)
        numbers = welded(given.points, given.triangles)
        _, first, triangles = np.unique(numbers, return_index=True, return_inverse=True)
        points, triangles = given.points[given.triangles.ravel()[first]], triangles.reshape(-1, 3)
        proper = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
        for name, value in (("points", points), ("triangles", triangles[proper])):
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        unit_normals(self.points, self.triangles, self.name)
        if len(found := crossings(self.points, self.triangles)):
            near = np.array2string(self.points[self.triangles[found[0]]].mean(axis=(0, 1)), precision=6, separator=", ")
            raise MeshError(
                f"The surface of {self.name!r} crosses itself: {len(found)} pairs of its triangles do, as near {near}, "
                f"so that inside and outside are not distinct. Unite its pieces in the program that wrote it, or "
                f"{INSTEAD}."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.points, self.triangles, self.name)

    @cached_property
    def hull(self) -> Hull:
        """The convex hull."""
        return convex_hull(self.points)

    @cached_property
    def convex(self) -> bool:
        """Whether the mesh is its own convex hull."""
        inside = Shape(self.points, self.triangles).integrals(self.name).volume
        return inside >= (1.0 - CONVEX) * self.hull.volume

    @cached_property
    def numbers(self) -> Float[np.ndarray, "k"]:
        """The numbers for the kernels (flexmb/kernels/contact/mesh.py)."""
        return mesh_numbers(self.points, self.triangles, self.hull, self.name)

    @property
    def dimensions(self) -> tuple[float, float, float]:
        """The address of the numbers, valid during the lifetime of this object in this process, size and reach."""
        return float(self.numbers.ctypes.data), self.size, self.reach

    @cached_property
    def size(self) -> float:
        """Half of the least width of the hull."""
        return 0.5 * self.hull.width

    @property
    def reach(self) -> float:
        """The radius of the sphere about the place that holds the mesh."""
        return float(np.linalg.norm(self.points, axis=1).max())

    def __str__(self) -> str:
        return f"mesh {self.name!r} of {len(self.triangles)} triangles{', convex' if self.convex else ''}"

    __repr__ = __str__


def _again(points: np.ndarray, triangles: np.ndarray, name: str) -> TriangleMesh:
    """A mesh that has been checked, of its points and triangles."""
    mesh = object.__new__(TriangleMesh)
    for key, value in (("points", points), ("triangles", triangles), ("name", name)):
        object.__setattr__(mesh, key, value)
    return mesh


def meshes_tree(meshes: Mapping[int, TriangleMesh]) -> list[dict[str, Any]]:
    """Meshes by their places for a result file, which `meshes_from_tree` reads."""
    return [
        {"place": place, "points": mesh.points, "triangles": mesh.triangles, "name": mesh.name}
        for place, mesh in meshes.items()
    ]


def meshes_from_tree(trees: Iterable[Mapping[str, Any]]) -> dict[int, TriangleMesh]:
    """The meshes of a result file. Raises `MeshError` as `TriangleMesh`."""
    return {
        index(tree["place"]): TriangleMesh(np.asarray(tree["points"]), np.asarray(tree["triangles"]), str(tree["name"]))
        for tree in trees
    }


def mesh(
    source: Shape | Mesh | str | Path, *, scale: float = 1.0, smooth: int = 1, sharp: float = SHARP
) -> TriangleMesh:
    """The mesh of a file (.stl, .ply, .obj, .vtk and all meshes that flexmb reads; of solid cells the skin), of a part
    (`fem.Mesh`), or of a shape (`flexmb.solids`).

    - `scale`: factor of the coordinates: 0.001 takes millimetres to metres.
    - `smooth`: the number of parts of each edge, at most 64. With more than one, the triangles become curved patches
      through the corners of the mesh, each divided into flat ones (the square of `smooth`): the edges that a sphere
      feels when it rolls over a coarse mesh of a curved surface become blunter by this number.
    - `sharp` (rad): the angle between two triangles above which the edge between them stays an edge.

    Raises `MeshError` as `TriangleMesh`, also for the smooth surface, when the source has no surface, and when `smooth`
    or `sharp` are out of range.
    """
    name = _name(source)
    if not (is_whole(smooth) and 1 <= smooth <= MOST_PARTS):
        raise MeshError(f"The edges of the smooth mesh {name!r} have from 1 to {MOST_PARTS} parts; found {smooth!r}.")
    if isinstance(sharp, bool) or not (isinstance(sharp, int | float) and 0.0 < sharp < np.pi):
        raise MeshError(f"The angle of sharp edges of the mesh {name!r} is between 0 and pi rad; found {sharp!r}.")
    shape = shape_of(source, name).scaled(scale)
    found = TriangleMesh(shape.points, shape.triangles, name)
    if smooth == 1:
        return found
    curved = smooth_shape(found.points, found.triangles, int(smooth), sharp)
    return TriangleMesh(curved.points, curved.triangles, name)


def hull(
    source: Shape | Mesh | TriangleMesh | str | Path, *, scale: float = 1.0, corners: int = codes.MOST_CORNERS
) -> TriangleMesh:
    """The convex hull of a source, as of `mesh`; its surface need not be closed.

    - `corners`: the largest number of corners. A hull with more is approximated from inside by those that matter most.

    Raises `MeshError` when the points do not span a volume, or the number of corners is not from 4 to 128.
    """
    name = source.name if isinstance(source, TriangleMesh) else _name(source)
    shape = Shape(source.points, source.triangles) if isinstance(source, TriangleMesh) else shape_of(source, name)
    return hull_of_points(shape.scaled(scale).points, corners, name)


def hull_of_points(points: Float[np.ndarray, "n 3"], corners: int, name: str) -> TriangleMesh:
    """The convex hull of points, with at most a number of `corners`. Raises `MeshError` as `hull`."""
    if not (is_whole(corners) and 4 <= corners <= codes.MOST_CORNERS):
        raise MeshError(f"A hull has from 4 to {codes.MOST_CORNERS} corners; found {corners!r}.")
    try:
        whole = convex_hull(points)
    except (scipy.spatial.QhullError, ValueError) as error:
        raise MeshError(
            f"The points of {name!r} span no volume, so that they have no convex hull of one: they are in a plane, or "
            "too few."
        ) from error
    chosen = whole.corners if len(whole.corners) <= corners else _most_distant(whole.corners, corners)
    found = convex_hull(chosen)
    triangles = [(f[0], f[k], f[k + 1]) for f in found.faces for k in range(1, len(f) - 1)]
    return TriangleMesh(found.corners, np.array(triangles), name)


def _most_distant(points: np.ndarray, count: int) -> np.ndarray:
    """`count` points, chosen one by one as the most distant from the hull of those before."""
    ends = np.unique([f(points[:, k]) for k in range(3) for f in (np.argmin, np.argmax)]).tolist()
    ends = ends[:count]
    while len(ends) < 4:
        ends.append(next(k for k in range(len(points)) if k not in ends))
    while len(ends) < count:
        try:
            sides = scipy.spatial.ConvexHull(points[ends]).equations
            out = (points @ sides[:, :3].T + sides[:, 3]).max(axis=1)
        except scipy.spatial.QhullError:
            out = np.linalg.norm(points - points[ends].mean(axis=0), axis=1)
        out[ends] = -np.inf
        ends.append(int(out.argmax()))
    return np.asarray(points[ends])


def _name(source: Any) -> str:
    if isinstance(source, str | Path):
        return Path(source).stem
    return getattr(source, "name", None) or "mesh"

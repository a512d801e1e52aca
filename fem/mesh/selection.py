"""Nodes selected by geometry: on a plane, a cylinder, a sphere, in a box, nearest to a point; or by their numbers.

Surface selections consider the skin of the mesh only; of a part made from matrices, which has no cells, all nodes. Each
selection is a small record whose `nodes(mesh)` returns sorted node numbers; it can replace the name of a set
everywhere. Default tolerance: 1e-6 of the diagonal of the mesh's box.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fem.axes.limits import LARGEST, floats, is_whole, within_limits
from fem.errors import MeshError, MeshWarning, unknown_name
from fem.mesh.mesh import Mesh

RELATIVE_TOLERANCE = 1e-6
Vector = Sequence[float] | np.ndarray


@dataclass(frozen=True, eq=False)
class Points:
    """The nodes of a part without cells, such as one made from matrices: `points` (n, 3). All count as skin."""

    points: Float[np.ndarray, "n 3"]
    name: str

    @property
    def size(self) -> float:
        """Diagonal of the bounding box."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))

    @property
    def skin_nodes(self) -> Int[np.ndarray, " n"]:
        """All node numbers."""
        return np.arange(len(self.points))

    def node_label(self, node: int) -> str:
        """The name of a node in messages."""
        return str(node)


@dataclass(frozen=True, eq=False)
class Selection:
    """Nodes whose `distance(points)` (n,) from a geometric place is within `tolerance`; `what` names it in messages."""

    what: str
    distance: Callable[[np.ndarray], np.ndarray]
    tolerance: float | None = None
    skin_only: bool = True

    def __post_init__(self) -> None:
        if self.tolerance is not None:
            _size(self.tolerance, "tolerance", least=0.0)

    def nodes(self, mesh: Mesh | Points) -> Int[np.ndarray, " k"]:
        """Sorted numbers of the picked nodes. Raises `MeshError` when there are none, with the nearest miss."""
        tolerance = RELATIVE_TOLERANCE * mesh.size if self.tolerance is None else self.tolerance
        candidates = mesh.skin_nodes if self.skin_only else np.arange(len(mesh.points))
        distance = self.distance(mesh.points[candidates])
        picked = candidates[distance <= tolerance]
        if not len(picked):
            low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
            nearest = candidates[int(distance.argmin())]
            raise MeshError(
                f"Mesh {mesh.name!r}: no node {self.what} within a tolerance of {tolerance:.3g}. The nearest, node "
                f"{mesh.node_label(int(nearest))} at {mesh.points[nearest]}, is {distance.min():.3g} away; the mesh "
                f"spans {low} to {high}. Give tolerance=... or move the selection."
            )
        return np.sort(picked)

    def __str__(self) -> str:
        return f"nodes {self.what}"


def _vector(value: Vector, what: str) -> np.ndarray:
    array = floats(value)
    if array.shape != (3,) or not within_limits(array):
        raise MeshError(f"A selection's {what} needs three finite numbers of at most {LARGEST:.0e}; found {value!r}.")
    return array


def _size(value: float, what: str, least: float = np.finfo(float).tiny) -> float:
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not (real and np.isfinite(value) and value >= least):
        which = "finite and not negative" if least == 0.0 else "positive and finite"
        raise MeshError(f"A selection's {what} must be {which}; found {value!r}.")
    return float(value)


def _direction(value: Vector, what: str) -> np.ndarray:
    array = _vector(value, what)
    if not np.linalg.norm(array) > 0:
        raise MeshError(f"A selection's {what} has no direction; found {value!r}.")
    return array / np.linalg.norm(array)


def on_plane(point: Vector, normal: Vector, tolerance: float | None = None) -> Selection:
    """Skin nodes on the plane through `point` with the given `normal`.

    Raises `MeshError` for a point, a normal or a tolerance that cannot be.
    """
    p, n = _vector(point, "point"), _direction(normal, "normal")
    return Selection(f"on the plane through {p} with normal {n}", lambda x: np.abs((x - p) @ n), tolerance)


def on_cylinder(
    point: Vector, axis: Vector, radius: float, length: float | None = None, tolerance: float | None = None
) -> Selection:
    """Skin nodes on the cylinder of `radius` about the line through `point` along `axis`.

    `length` limits the cylinder to half of it on both sides of `point`. A coarse mesh may need a larger tolerance,
    because meshes with corner nodes only do not follow a curved surface between their nodes.

    Raises `MeshError` for a point, an axis, a radius, a length or a tolerance that cannot be.
    """
    p, a, radius = _vector(point, "point"), _direction(axis, "axis"), _size(radius, "radius")
    half = np.inf if length is None else _size(length, "length") / 2

    def distance(x: np.ndarray) -> np.ndarray:
        along = (x - p) @ a
        radial = np.abs(np.linalg.norm(x - p - along[:, None] * a, axis=1) - radius)
        return np.maximum(radial, np.abs(along) - half)

    return Selection(f"on the cylinder of radius {radius} about {p} along {a}", distance, tolerance)


def on_sphere(centre: Vector, radius: float, tolerance: float | None = None) -> Selection:
    """Skin nodes on a sphere of `radius` about `centre`, in the axes of the mesh.

    Raises `MeshError` for a centre, a radius or a tolerance that cannot be.
    """
    c, radius = _vector(centre, "centre"), _size(radius, "radius")
    return Selection(
        f"on the sphere of radius {radius} about {c}",
        lambda x: np.abs(np.linalg.norm(x - c, axis=1) - radius),
        tolerance,
    )


def in_box(low: Vector, high: Vector, tolerance: float | None = None) -> Selection:
    """All nodes, inner ones too, inside a box with edges along the axes.

    Raises `MeshError` when `low` is not below `high`, and for a tolerance that cannot be.
    """
    a, b = _vector(low, "low corner"), _vector(high, "high corner")
    if not (a <= b).all():
        raise MeshError(f"A box selection needs low <= high in every direction; found {a} and {b}.")
    return Selection(
        f"in the box {a} to {b}",
        lambda x: np.maximum(np.maximum(a - x, x - b), 0).max(axis=1),
        tolerance,
        skin_only=False,
    )


@dataclass(frozen=True, eq=False)
class Nearest:
    """The `count` nodes nearest to a point."""

    point: np.ndarray
    count: int

    def nodes(self, mesh: Mesh | Points) -> Int[np.ndarray, " k"]:
        """Sorted numbers of the nearest nodes. Issues a `MeshWarning` where even the first is farther from the point
        than the mesh is large."""
        if self.count > len(mesh.points):
            raise MeshError(
                f"Mesh {mesh.name!r} has {len(mesh.points)} nodes; the nearest {self.count} were asked for."
            )
        distance = np.linalg.norm(mesh.points - self.point, axis=1)
        if distance.min() > mesh.size:
            warnings.warn(
                f"The node of mesh {mesh.name!r} that is nearest to {self.point} lies at "
                f"{mesh.points[distance.argmin()]}, {distance.min():.4g} away from it, and the diagonal of the mesh is "
                f"{mesh.size:.4g}. Check the coordinates of the point and their unit.",
                MeshWarning,
                stacklevel=2,
            )
        return np.sort(np.argpartition(distance, self.count - 1)[: self.count])

    def __str__(self) -> str:
        return f"the node nearest to {self.point}" if self.count == 1 else f"{self.count} nodes nearest to {self.point}"


def nearest(point: Vector, count: int = 1) -> Nearest:
    """The `count` nodes nearest to `point`, inner ones too.

    Raises `MeshError` for a point that cannot be, and a count that is no whole number above zero.
    """
    if not is_whole(count) or count < 1:
        raise MeshError(f"A selection of the nearest nodes needs their number, 1 or more; found {count!r}.")
    return Nearest(_vector(point, "point"), count)


@dataclass(frozen=True)
class Numbered:
    """The nodes that have these numbers in the file of the mesh."""

    numbers: tuple[int | str, ...]

    def nodes(self, mesh: Mesh | Points) -> Int[np.ndarray, " k"]:
        """Sorted numbers, counted from 0. Raises `MeshError` for a number that no node has."""
        if not isinstance(mesh, Mesh):
            raise MeshError(
                f"The part {mesh.name!r} has no file whose nodes had numbers; found {NODE}/{self.numbers[0]}."
            )
        return np.sort(mesh.numbered(*self.numbers))

    def __str__(self) -> str:
        return f"{NODE}/{','.join(map(str, self.numbers))}"


NODE = "node"
"""The kind of selection by numbers in texts."""
_FORMS: dict[str, tuple[Callable[..., Any], tuple[int, ...], str]] = {
    "plane": (on_plane, (3, 3), "plane/POINT/NORMAL"),
    "cylinder": (on_cylinder, (3, 3, 1, 1), "cylinder/POINT/AXIS/RADIUS[/LENGTH]"),
    "sphere": (on_sphere, (3, 1), "sphere/CENTRE/RADIUS"),
    "box": (in_box, (3, 3), "box/LOW/HIGH"),
    "nearest": (nearest, (3, 1), "nearest/POINT[/COUNT]"),
}
_OPTIONAL = ("cylinder", "nearest")


def from_text(text: str) -> str | Selection | Nearest | Numbered:
    """A selection from its text on the command line or in a model file: "plane/0,0,0/0,0,1", "nearest/1,0,0/4",
    "node/9001,9002" (numbers of the file), ...

    A text without "/" is the name of a set and is returned unchanged. Raises `MeshError` for an unknown form.
    """
    kind, *parts = text.split("/")
    if not parts:
        return text
    if kind == NODE and len(parts) == 1 and all(words := parts[0].split(",")):
        return Numbered(tuple(int(word) if word.isdecimal() else word for word in words))
    forms = "; ".join([*(form for _, _, form in _FORMS.values()), f"{NODE}/NUMBER[,NUMBER...]"])
    if kind not in _FORMS:
        raise MeshError(
            f"{text!r}: " + unknown_name("geometric selection", kind, [*_FORMS, NODE]) + f" Forms: {forms}."
        )
    make, widths, form = _FORMS[kind]
    try:
        numbers = [[float(x) for x in part.split(",")] for part in parts]
    except ValueError:
        numbers = []
    fitting = [len(n) for n in numbers] == list(widths[: len(numbers)])
    if not fitting or not len(widths) - (kind in _OPTIONAL) <= len(numbers) <= len(widths):
        raise MeshError(f"{text!r} is not of the form {form}, points and directions as x,y,z.")
    if kind == "nearest":
        count = numbers[1][0] if len(numbers) == 2 else 1.0
        return nearest(numbers[0], int(count) if count.is_integer() else count)  # type: ignore[arg-type]
    values: list[Any] = [n if len(n) == 3 else n[0] for n in numbers]
    return make(*values)

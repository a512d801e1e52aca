"""Simple shapes of contact surfaces, and the pairs of shapes that can touch. Lengths in the units of the mechanism."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from flexmb.contact.shape import ContactShape
from flexmb.contact.triangle_mesh import TriangleMesh
from flexmb.errors import MechanismError
from flexmb.kernels.contact import shapes as codes


@dataclass(frozen=True)
class Plane(ContactShape):
    """The half space below z = 0; the other shape is above."""

    code, title = codes.PLANE, "plane"

    @property
    def reach(self) -> float:
        return float("inf")


@dataclass(frozen=True)
class Sphere(ContactShape):
    """A ball of a `radius` about its place."""

    code, title = codes.SPHERE, "sphere"
    radius: float


@dataclass(frozen=True)
class Socket(ContactShape):
    """A spherical cavity of a `radius` about its place, for a sphere inside."""

    code, title = codes.SOCKET, "socket"
    radius: float

    @property
    def reach(self) -> float:
        return float("inf")


@dataclass(frozen=True)
class Cylinder(ContactShape):
    """A solid cylinder of a `radius` and a `length` along z, about its place."""

    code, title = codes.CYLINDER, "cylinder"
    radius: float
    length: float


@dataclass(frozen=True)
class Bore(ContactShape):
    """A cylindrical bore of a `radius` and a `length` along z, about its place, for a cylinder inside."""

    code, title = codes.BORE, "bore"
    radius: float
    length: float


@dataclass(frozen=True)
class Capsule(ContactShape):
    """A cylinder of a `radius` and a `length` along z with hemispheres at its ends, about its place."""

    code, title = codes.CAPSULE, "capsule"
    radius: float
    length: float

    @property
    def reach(self) -> float:
        return self.radius + 0.5 * self.length


@dataclass(frozen=True)
class Box(ContactShape):
    """A box with edges `x`, `y`, `z` along its axes, about its place."""

    code, title = codes.BOX, "box"
    x: float
    y: float
    z: float

    @property
    def reach(self) -> float:
        return 0.5 * float(np.linalg.norm(self.dimensions))


SHAPES = {kind.title: kind for kind in (Plane, Sphere, Socket, Cylinder, Bore, Capsule, Box)}
"""The simple shapes by their names in model files."""
_BY_CODE: dict[int, type[ContactShape]] = {kind.code: kind for kind in (*SHAPES.values(), TriangleMesh)}
PAIRS = tuple((_BY_CODE[a], _BY_CODE[b]) for a, b in codes.PAIRS)


def require_pair(a: ContactShape, b: ContactShape, name: str) -> None:
    """Raises `MechanismError` when the contact of two shapes is not known, or needs meshes that are convex or have few
    corners."""
    kinds = {(x.code, y.code) for x, y in PAIRS}
    if (a.code, b.code) not in kinds and (b.code, a.code) not in kinds:
        known = ", ".join(f"{x.title} and {y.title}" for x, y in PAIRS)
        raise MechanismError(
            f"Contact {name!r}: there is no contact of a {a.title} with a {b.title}; expected one of: {known}. Compose "
            "the surface of such shapes, with a contact for each."
        )
    for mesh, other in ((a, b), (b, a)):
        if isinstance(mesh, TriangleMesh) and not isinstance(other, Sphere):
            _require_hull(mesh, other, name)


def _require_hull(mesh: TriangleMesh, other: ContactShape, name: str) -> None:
    if len(mesh.hull.corners) > codes.MOST_CORNERS:
        raise MechanismError(
            f"Contact {name!r}: the mesh {mesh.name!r} touches a {other.title} with the corners of its convex hull, "
            f"which are {len(mesh.hull.corners)}; at most {codes.MOST_CORNERS} expected. Give this contact "
            f"flexmb.contact.hull(..., corners={codes.MOST_CORNERS}), which has those that matter most."
        )
    if not (mesh.convex or isinstance(other, Plane)):
        raise MechanismError(
            f"Contact {name!r}: the mesh {mesh.name!r} is not convex, and only convex ones touch a {other.title}. "
            "Divide it into convex meshes, several of which may be on one body, or give this contact its hull "
            "(flexmb.contact.hull)."
        )


def shape_of_code(code: float, dimensions: Sequence[float]) -> ContactShape:
    """The simple shape of a code with its dimensions."""
    kind = _BY_CODE[int(code)]
    return kind(*dimensions[: len(fields(kind))])


FIRST, SECOND = 1, 5
"""Places of the dimensions of both shapes in the numbers of a pair."""
Meshes = Mapping[int, TriangleMesh]
"""Meshes by the places of their dimensions in the numbers of a pair, which do not hold their addresses."""


def pair_numbers(a: ContactShape, b: ContactShape) -> tuple[tuple[float, ...], Meshes]:
    """The codes and dimensions (8) of two shapes, and those that are meshes."""
    numbers: list[float] = []
    for shape in (a, b):
        numbers += [float(shape.code), *(shape.dimensions if not isinstance(shape, TriangleMesh) else (0.0, 0.0, 0.0))]
    return tuple(numbers), {k: x for k, x in ((FIRST, a), (SECOND, b)) if isinstance(x, TriangleMesh)}


def addressed(numbers: Sequence[float], meshes: Meshes) -> tuple[float, ...]:
    """Numbers that begin with those of a pair, with the dimensions of its meshes for compiled code: valid in this
    process, during the lifetime of the meshes."""
    found = list(numbers)
    for place, mesh in meshes.items():
        found[place : place + 3] = mesh.dimensions
    return tuple(found)


def pair_of(numbers: Sequence[float], meshes: Meshes) -> tuple[ContactShape, ContactShape]:
    """The shapes of `pair_numbers`. Raises `MechanismError` when meshes and codes do not belong together."""
    for place in (FIRST, SECOND):
        if (numbers[place - 1] == TriangleMesh.code) != (place in meshes) or not {*meshes} <= {FIRST, SECOND}:
            raise MechanismError(
                f"A pair of shapes with the codes {numbers[0]:g} and {numbers[4]:g} has meshes at the places "
                f"{sorted(meshes)}; expected one for each code {TriangleMesh.code}, at {FIRST} or {SECOND}."
            )
    a, b = (
        meshes[place] if place in meshes else shape_of_code(numbers[place - 1], numbers[place : place + 3])
        for place in (FIRST, SECOND)
    )
    return a, b

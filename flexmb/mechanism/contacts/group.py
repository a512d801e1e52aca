"""Groups of contacts of a mechanism under construction: what they refuse, and their compiled arrays."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from fem.mesh.mesh import LARGEST
from flexmb.contact.group import ContactGroup
from flexmb.contact.laws import NormalLaw, TurningFriction
from flexmb.contact.shape import ContactShape, Surface
from flexmb.contact.shapes import Plane, require_pair
from flexmb.errors import MechanismError
from flexmb.kernels.contact.forces import DEEPEST, STIFFNESS
from flexmb.mechanism.contacts.added import drawn_shape
from flexmb.mechanism.contacts.element import DEEP, PARAMETERS, law_numbers, require_apart

ROOM = 64
"""Pairs within reach for which there is room, on average for each shape."""
LARGE = 4.0
"""Radius of the sphere about a shape, relative to the median, above which it is compared with all others."""


def group_parameters(
    name: str,
    surfaces: Sequence[Surface],
    normal: NormalLaw,
    friction: tuple[float, float | None, float | None, TurningFriction | None],
    frames: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[tuple[float, ...], list[tuple[np.ndarray, np.ndarray]]]:
    """The parameters of a group of contacts, and the world position (3,) and axes (3, 3) of each shape as drawn.

    Raises as `System.contact_group`.
    """
    if len(surfaces) < 2:
        raise MechanismError(
            f"The group {name!r} of contacts is among at least two shapes at places; found {len(surfaces)}."
        )
    drawn = [drawn_shape(name, surface, frames) for surface in surfaces]
    if not isinstance(normal, NormalLaw):
        raise MechanismError(
            f"Contacts of the group {name!r}: law is one of flexmb.contact, such as power_law(stiffness); found "
            f"{type(normal).__name__} {normal!r}."
        )
    if normal.each_impact or normal.restitution is not None or normal.line:
        raise MechanismError(
            f"Contacts of the group {name!r} have laws without memory: power_law(..., speed=...) without each_impact; "
            f"found {normal.title}. Give the pairs that need another law to System.contact, one by one."
        )
    require_kinds([(surface.shape, surface.place.body) for surface in surfaces], name)
    parameters = law_numbers(name, normal, *friction, DEEP)
    for i, j in _near(surfaces, drawn, name):
        (x, A), (y, B) = drawn[i], drawn[j]
        a, b = surfaces[i].shape, surfaces[j].shape
        own = ((float(s.code), *s.dimensions) for s in (a, b))
        numbers = [*(x for side in own for x in side), *parameters]
        numbers[DEEPEST] = DEEP * min(a.size, b.size)
        label = f"Contacts of the group {name!r}: shape {i}, a {a.title}, and shape {j}, a {b.title},"
        require_apart(label, tuple(numbers), (a, b), A.T @ (y - x), A.T @ B)
    return parameters, drawn


def require_kinds(shapes: Sequence[tuple[ContactShape, int]], name: str) -> None:
    """Raises `MechanismError` when the contact of two `shapes`, each with its body, that may meet is not known."""
    for a, b in _kinds_that_meet(shapes):
        require_pair(a, b, name)


def _kinds_that_meet(shapes: Sequence[tuple[ContactShape, int]]) -> Iterator[tuple[ContactShape, ContactShape]]:
    """A pair of shapes of each two kinds that are on different bodies."""
    bodies: dict[type, dict[int, ContactShape]] = {}
    for shape, body in shapes:
        bodies.setdefault(type(shape), {})[body] = shape
    for own in bodies.values():
        if len(own) > 1 and Plane not in map(type, own.values()):
            yield tuple(own.values())[:2]  # type: ignore[misc]
    for one, other in combinations(bodies.values(), 2):
        if len({*one, *other}) > 1:
            yield next(iter(one.values())), next(iter(other.values()))


def _near(
    surfaces: Sequence[Surface], drawn: Sequence[tuple[np.ndarray, np.ndarray]], name: str
) -> Iterator[tuple[int, int]]:
    """The pairs of shapes on different bodies whose spheres touch as drawn."""
    reach = np.array([surface.shape.reach for surface in surfaces])
    points = np.array([x for x, _ in drawn])
    if not np.abs(points).max(initial=0.0) < LARGEST or not reach[np.isfinite(reach)].max(initial=0.0) < LARGEST:
        raise MechanismError(
            f"The group {name!r} has a shape whose size or distance from the origin is more than {LARGEST:g}: "
            "distances cannot be computed. Correct its numbers, or choose other units."
        )
    large = np.flatnonzero(reach > LARGE * np.median(reach))
    small = np.setdiff1d(np.arange(len(reach)), large)
    found = [(int(i), int(j)) for i in large for j in range(len(reach)) if j not in large or j > i]
    if len(small):
        tree = scipy.spatial.cKDTree(points[small])
        found += [(int(small[i]), int(small[j])) for i, j in tree.query_pairs(2 * reach[small].max())]
    for i, j in found:
        a, b = surfaces[i], surfaces[j]
        planes = isinstance(a.shape, Plane) and isinstance(b.shape, Plane)
        if a.place.body != b.place.body and not planes and np.linalg.norm(points[i] - points[j]) < reach[i] + reach[j]:
            yield i, j


def group_arrays(groups: Sequence[ContactGroup]) -> dict[str, Any]:
    """The entries of groups of contacts for the kernels (flexmb/kernels/equations/contact_groups.py)."""
    shapes = [shape for group in groups for shape in group.shapes]
    rooms = []
    for group in groups:
        n, planes = len(group.shapes), sum(isinstance(shape, Plane) for shape in group.shapes)
        rooms.append(min(n * (n - 1) // 2, (ROOM + planes) * n))
    laws = np.zeros((len(groups), len(PARAMETERS)))  # without the shapes, which differ by pair
    for row, group in zip(laws, groups, strict=True):
        row[STIFFNESS:] = group.parameters
    return {
        "group_start": np.concatenate([[0], np.cumsum([len(group.shapes) for group in groups])]).astype(np.int64),
        "group_pair": np.concatenate([[0], np.cumsum(rooms)]).astype(np.int64),
        "group_record": np.array([group.call.record for group in groups], dtype=np.int64),
        "group_law": laws,
        "group_marker": np.array([k for group in groups for k in group.markers], dtype=np.int64),
        "group_shape": np.array([(s.code, *s.dimensions) for s in shapes], dtype=float).reshape(-1, 4),
        "group_reach": np.array([shape.reach for shape in shapes], dtype=float),
        "group_size": np.array([DEEP * shape.size for shape in shapes], dtype=float),
    }

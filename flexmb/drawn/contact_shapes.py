"""Shapes of contacts as triangles, for bodies that have no shape of their own, and for the ground."""

from collections.abc import Iterator

import numpy as np

from flexmb.contact.shape import ContactShape
from flexmb.contact.shapes import Bore, Box, Capsule, Cylinder, Plane, Socket, Sphere
from flexmb.contact.triangle_mesh import TriangleMesh
from flexmb.drawn.simple_shapes import Triangles, box, together
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.contacts.element import contact_shapes, is_contact
from flexmb.mechanism.mechanism import Mechanism
from flexmb.spatial.layout import starts_of
from flexmb.spatial.lie import rotation_from_quaternion

ROUND, ARC = 24, 7
"""Sides of round shapes, and points of a quarter of a circle."""
WALL = 0.15
"""Thickness of the wall that is drawn around a bore or a socket, relative to its radius."""
BEYOND, THIN = 1.3, 0.02
"""Half edge of a drawn plane relative to the distance of the farthest body on it, and its thickness relative to the
half edge."""
UPRIGHT = 0.1
"""Cosine of the angle between the normal of a plane and the direction against gravity below which it is a wall. Walls
are lattices, because plates would hide what is behind."""
WINDOWS = 6
"""Openings of the lattice of a wall along its longer edge."""
SQUARE = 1e-6
"""Cosine of an angle that is a right one: walls end at floors that are square to them."""


def shapes_in(mechanism: Mechanism) -> Iterator[tuple[int, ContactShape]]:
    """All shapes of contacts, with their markers."""
    for force in mechanism.frame_forces:
        if is_contact(force) and force.name in mechanism.force_elements:
            markers = mechanism.rows[mechanism.force_elements[force.name][0]].markers
            yield from zip(markers, contact_shapes(force), strict=True)
    for contact in mechanism.contacts:
        yield from zip(contact.markers, contact.pair, strict=True)
    for surface in mechanism.surface_contacts:
        if (shape := surface.rigid) is not None:
            yield surface.marker, shape
    for group in mechanism.contact_groups:
        yield from zip(group.markers, group.shapes, strict=True)


def drawn_shapes(mechanism: Mechanism) -> dict[int, list[Triangles]]:
    """The shapes of contacts on each body, in its frame, and on the ground (`GROUND`) in the world; each one once."""
    found: dict[int, dict[tuple[object, ...], Triangles]] = {}
    upwards = -np.asarray(mechanism.gravity)
    for k, shape in shapes_in(mechanism):
        marker = mechanism.markers[k]
        key = (shape, *np.round(marker.point, 9), *np.round(marker.axes.ravel(), 9))
        own = found.setdefault(marker.body, {})
        if key in own:
            continue
        if not isinstance(shape, Plane):
            points, triangles = triangles_of(shape)
        elif marker.body != GROUND:
            continue
        elif _lies(marker.axes[:, 2], upwards):
            points, triangles = _plate(mechanism, marker.point, marker.axes)
        else:
            points, triangles = _lattice(mechanism, marker.point, marker.axes, upwards)
        own[key] = (marker.point + points @ marker.axes.T, triangles)
    return {body: list(own.values()) for body, own in found.items() if own}


def triangles_of(shape: ContactShape) -> Triangles:
    """The triangles of a shape in its own frame; bores and sockets have a wall around them."""
    quarter = np.linspace(0.0, 0.5 * np.pi, ARC)
    match shape:
        case TriangleMesh():
            return shape.points, shape.triangles
        case Box(x, y, z):
            return box(np.zeros(3), np.array([x, y, z]), np.eye(3))
        case Sphere(r):
            half = np.linspace(0.0, np.pi, 2 * ARC - 1)
            return _revolved(r * np.sin(half), -r * np.cos(half))
        case Capsule(r, length):
            low, rim = -r * np.cos(quarter) - 0.5 * length, r * np.sin(quarter)
            return _revolved(np.r_[rim, rim[::-1]], np.r_[low, -low[::-1]])
        case Cylinder(r, length):
            return _revolved(*_sharp([0.0, r, r, 0.0], [-0.5, -0.5, 0.5, 0.5], length))
        case Bore(r, length):
            wide = (1 + WALL) * r
            return _revolved(*_sharp([r, wide, wide, r, r], [-0.5, -0.5, 0.5, 0.5, -0.5], length))
        case Socket(r):
            wide = (1 + WALL) * r
            outside, inside = (quarter, quarter[::-1])
            return _revolved(
                np.r_[wide * np.sin(outside), r * np.sin(inside)], np.r_[-wide * np.cos(outside), -r * np.cos(inside)]
            )
    raise ValueError(f"no triangles of a {shape.title}")


def _sharp(radius: list[float], height: list[float], length: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array(radius), length * np.array(height)


def _revolved(radius: np.ndarray, height: np.ndarray) -> Triangles:
    """The surface of revolution about z of a line (n,), which is passed upwards on the outside."""
    turn = 2 * np.pi * np.arange(ROUND) / ROUND
    ring = np.column_stack([np.cos(turn), np.sin(turn)])
    points = np.concatenate(
        [np.column_stack([r * ring, np.full(ROUND, z)]) for r, z in zip(radius, height, strict=True)]
    )
    k, after = np.arange(ROUND), (np.arange(ROUND) + 1) % ROUND
    bands = []
    for i in range(len(radius) - 1):
        a, b = i * ROUND, (i + 1) * ROUND
        if radius[i] > 0:
            bands.append(np.column_stack([a + k, a + after, b + after]))
        if radius[i + 1] > 0:
            bands.append(np.column_stack([a + k, b + after, b + k]))
    return points, np.concatenate(bands)


def _lies(normal: np.ndarray, upwards: np.ndarray) -> bool:
    size = float(np.linalg.norm(upwards))
    return size == 0.0 or float(normal @ upwards) > UPRIGHT * size


def _plate(mechanism: Mechanism, point: np.ndarray, axes: np.ndarray) -> Triangles:
    """A thin plate below a plane, under all bodies as they begin, in the frame of the plane."""
    low, high = _extent(mechanism, point, axes[:, :2])
    half = 0.5 * (high - low).max() + mechanism.length
    edges = np.array([2 * half, 2 * half, THIN * half])
    return box(np.array([*(0.5 * (low + high)), -0.5 * edges[2]]), edges, np.eye(3))


def _lattice(mechanism: Mechanism, point: np.ndarray, axes: np.ndarray, upwards: np.ndarray) -> Triangles:
    """A lattice behind a wall, beside all bodies as they begin and above the floors, in the frame of the plane."""
    normal = axes[:, 2]
    up = upwards - (upwards @ normal) * normal
    up = up / np.linalg.norm(up) if np.linalg.norm(up) > SQUARE * np.linalg.norm(upwards) else axes[:, 1]
    along = np.column_stack([np.cross(up, normal), up])
    low, high = _extent(mechanism, point, along)
    for height, rise in _floors(mechanism, point, along, upwards):
        low[1] = max(low[1], height / rise) if height / rise < high[1] else low[1]
    own, size = axes.T @ np.column_stack([along, normal]), high - low
    bar = THIN * 0.5 * size.max()
    numbers = np.maximum(np.round(WINDOWS * size / size.max()), 1).astype(int)
    bars = []
    for k in range(2):
        edges = np.full(3, bar)
        edges[1 - k] = size[1 - k]
        for place in np.linspace(low[k] + 0.5 * bar, high[k] - 0.5 * bar, numbers[k] + 1):
            centre = np.array([*(0.5 * (low + high)), -0.5 * bar])
            centre[k] = place
            bars.append(box(own @ centre, edges, own))
    return together(bars)


def _floors(
    mechanism: Mechanism, point: np.ndarray, along: np.ndarray, upwards: np.ndarray
) -> Iterator[tuple[float, float]]:
    """The heights above a point of a wall, along their normals, of the floors that are square to the horizontal axis of
    the wall, the first column of `along` (3, 2), and how much they rise along the second one."""
    for k, shape in shapes_in(mechanism):
        marker = mechanism.markers[k]
        floor = marker.axes[:, 2]
        if isinstance(shape, Plane) and marker.body == GROUND and _lies(floor, upwards):
            across, rise = floor @ along
            if abs(across) < SQUARE and rise > UPRIGHT:
                yield float(floor @ (marker.point - point)), float(rise)


def _extent(mechanism: Mechanism, point: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest coordinates (2,) of all bodies as they begin, from a point along two axes (3, 2), with
    a margin."""
    starts = starts_of(np.array([body.modes for body in mechanism.bodies]))[0]
    q, places = mechanism.initial.q, []
    for body, s in zip(mechanism.bodies, starts, strict=False):
        own = np.zeros((1, 3)) if body.mesh is None else body.mesh.points
        places.append(q[s : s + 3] + own @ rotation_from_quaternion(q[s + 3 : s + 7]).T)
    across = (np.concatenate(places) - point) @ along
    low, high = across.min(axis=0, initial=0.0), across.max(axis=0, initial=0.0)
    reaches = [shape.reach for k, shape in shapes_in(mechanism) if mechanism.markers[k].body != GROUND]
    reach = max(filter(np.isfinite, reaches), default=0.0)
    margin = BEYOND * reach + (BEYOND - 1) * 0.5 * (high - low).max()
    return low - margin, high + margin

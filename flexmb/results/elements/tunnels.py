"""Contacts that a body may have passed through: between two steps of a simulation, or between the nodes of a flexible
surface, which alone touch simple shapes; and those of flexible surfaces whose facets their gap shows."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import scipy
from jaxtyping import Float

from flexmb.bodies.surfaces import BodySurface
from flexmb.contact.shape import ContactShape
from flexmb.contact.shapes import Bore, Box, Capsule, Cylinder, Plane, Socket, Sphere
from flexmb.kernels.base.data import NO_MATE
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.contacts.conforming import CLOSE, conforms, edge_heights
from flexmb.mechanism.contacts.element import contact_shapes, is_contact
from flexmb.mechanism.contacts.surface import SurfaceContact
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.elements.motion import MarkerMotion, marker_motion
from flexmb.results.elements.surface_contact import (
    SurfaceContactMotion,
    narrow_contacts,
    surface_contact_motion,
    wide_contacts,
)
from flexmb.results.motion import Motion, attitudes
from flexmb.spatial.layout import starts_of

LOOKS = 1000
"""Largest number of stored times, evenly spread, at which shapes are looked at."""
DEEP = 0.1
"""Depth of a shape below a face between its nodes, relative to the longest edge of its triangles, above which it is
named. A sphere of radius r on nodes h apart, which resolve its contact for h well below r, is h^2 / 4 r deep in a
square face."""
COARSE = 1e-4
"""Difference of the heights of both surfaces above the middles of their edges, relative to their radius, above which
they are named: a tenth of the interference of common press fits."""


def tunnels(motion: Motion, step: float) -> Iterator[str]:
    """A sentence for each contact whose shapes come near each other at a relative speed that takes them
    through each other in a `step`: it is then larger than the smaller shape. Planes have no end to come out at."""
    mechanism = motion.mechanism
    t = np.asarray(motion.t)
    looks, interval = _looks(t, step)
    speed = _largest_speed(motion)
    for name, markers, shapes in _contacts(mechanism):
        size = min((shape.size for shape in shapes if np.isfinite(shape.reach)), default=np.inf)
        if 2 * speed * step <= size:
            continue
        bodies = np.array([mechanism.markers[k].body for k in markers])
        paths = [marker_motion(motion, k) for k in markers]
        x, v = (np.stack([getattr(path, what)[looks] for path in paths], 1) for what in ("position", "velocity"))
        found = _fastest(x, v, bodies, shapes, step, interval)
        if found is None:
            continue
        fast, at, i, j = found
        a, b = (f"{shapes[k].title} on {_body(mechanism, bodies[k])}" for k in (i, j))
        thin = min(shapes[i].size, shapes[j].size)
        yield (
            f"Near t = {t[looks[at]]:.6g} the {a} and the {b} of the contact {name!r} of {mechanism.name!r} move by "
            f"{fast * step:.3g} (length) relative to each other in a step of up to {step:.3g}, and the size of the "
            f"smaller one is {thin:.3g}: they may pass through each other between two steps. Take steps of at most "
            f"{thin / fast:.3g} (step= or max_step=)."
        )


def surface_tunnels(motion: Motion, step: float) -> Iterator[str]:
    """A sentence for each contact of a flexible surface whose points come near what it touches at a speed along their
    normals that takes them past it in a `step`.

    Surfaces that face each other, or a mesh, find each other within a range of every facet, behind it too; a simple
    shape pushes points out on the side from which they came up to its size. Planes, sockets and bores have no end to
    come out at.
    """
    mechanism = motion.mechanism
    t = np.asarray(motion.t)
    looks, interval = _looks(t, step)
    for s, contact in enumerate(mechanism.surface_contacts):
        limit = _passed(mechanism, contact, s)
        worst, where = limit, None
        for path in _paths(motion, contact, s) if np.isfinite(limit) else ():
            for at in looks if path.speed * step > limit else ():
                approach = step * path.approach(at, interval)
                if approach > worst:
                    worst, where = approach, at
        if where is not None:
            shape, body = contact.rigid, mechanism.markers[contact.marker].body
            other = f"the {shape.title}" if shape is not None else f"the flexible surface {contact.other_surface!r}"
            found = (
                f"they find each other within {limit:.3g}, twice the least height of the triangles there"
                if contact.mate != NO_MATE
                else f"the size of the {other.removeprefix('the ')} is {limit:.3g}"
            )
            yield (
                f"Near t = {t[where]:.6g} the flexible surface {contact.surface!r} of "
                f"{_body(mechanism, contact.body)} and {other} on {_body(mechanism, body)} of the contact "
                f"{contact.name!r} of {mechanism.name!r} approach each other by {worst:.3g} (length) in a step of up "
                f"to {step:.3g}, and {found}: they may pass through each other between two steps. Take steps of at "
                f"most {step * limit / worst:.3g} (step= or max_step=)."
            )


def doubtful_contacts(motion: Motion) -> list[str]:
    """Sentences on contacts of flexible surfaces that their meshes, or the range of local contact, do not hold."""
    if not np.asarray(getattr(motion, "element_states", ())).size:  # a motion without what contacts do
        return []
    over = cache(partial(surface_contact_motion, motion))
    between = list(between_nodes(motion, over))
    narrow = [] if between else narrow_contacts(motion, over)
    return [*wide_contacts(motion, over), *between, *narrow, *unlike_facets(motion, over)]


def between_nodes(motion: Motion, over: Callable[[str], SurfaceContactMotion]) -> Iterator[str]:
    """A sentence for each contact of a flexible surface with a simple shape that is inside a face, between its
    nodes."""
    mechanism = motion.mechanism
    looks, _ = _looks(np.asarray(motion.t), 0.0)
    for contact in mechanism.surface_contacts:
        shape = contact.rigid
        if contact.local or contact.mate != NO_MATE or not isinstance(shape, Sphere | Cylinder | Capsule | Box):
            continue
        there, faces = marker_motion(motion, contact.marker), contact.surface_of(mechanism.bodies).triangles
        points = over(contact.name).point
        worst, found = DEEP, None
        for at in looks:
            corners = ((points[at] - there.position[at]) @ there.axes[at])[faces]
            edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
            middles = 0.5 * (corners + np.roll(corners, 1, axis=1))  # of the edges, also that across a quadrilateral
            depth = _depth(shape, middles).max(axis=1)
            k = int((depth / edges).argmax())
            if depth[k] > worst * edges[k]:
                worst, found = depth[k] / edges[k], (at, depth[k], edges[k])
        if found is not None:
            at, depth, edge = found
            yield (
                f"Contact {contact.name!r}: at t = {motion.t[at]:.6g} the {shape.title} was {depth:.4g} deep in a face "
                f"of the surface {contact.surface!r} of {mechanism.bodies[contact.body].name!r}, between its nodes, "
                f"which alone touch it; at most {DEEP:g} of the longest edge there, {edge:.4g}, expected. Refine the "
                "surface there, or give a sphere local=."
            )


def unlike_facets(motion: Motion, over: Callable[[str], SurfaceContactMotion]) -> Iterator[str]:
    """A sentence for each contact of two flexible surfaces that conform where they touch, but not as a whole, and whose
    facets stand back by different heights from the curved surfaces there."""
    bodies = motion.mechanism.bodies
    for contact in motion.mechanism.surface_contacts:
        own, mate = contact.surface_of(bodies), contact.other_of(bodies)
        if mate is None or conforms(own, mate):
            continue
        does = over(contact.name)
        assert does.other is not None
        at = int(does.normal_force.sum(axis=1).argmax())
        near = np.flatnonzero(np.isfinite(does.gap[at]))
        there = scipy.spatial.cKDTree(does.other.point[at]).query(does.point[at, near])[1]
        (a, h), (b, g) = (edge_heights(own, near), edge_heights(mate, there))
        larger = np.maximum(np.abs(a), np.abs(b))
        touching = np.abs(does.gap[at, near]) <= np.abs(h) + np.abs(g)
        alike = touching & (a * b < 0.0) & (np.abs(a + b) <= CLOSE * larger)
        apart = np.where(alike, np.abs(h + g) * larger, 0.0)
        if apart.max(initial=0.0) > COARSE:
            k = int(apart.argmax())
            place = np.round(does.point[at, near[k]], 9)
            yield (
                f"Contact {contact.name!r}: the surfaces {contact.surface!r} of {bodies[contact.body].name!r} and "
                f"{contact.other_surface!r} of {bodies[contact.other].name!r} conform near {place}, with radii of "
                f"{1 / abs(a[k]):.4g} and {1 / abs(b[k]):.4g}, but between nodes their facets stand back from the "
                f"curved surfaces by {abs(h[k]):.3g} and {abs(g[k]):.3g} (length), and the gap is that between facets. "
                f"Expected a difference of at most {COARSE / larger[k]:.3g}, or one that is small beside interference "
                "or clearance. Divide both alike, refine them (the heights fall with the square of the node spacing), "
                "or give the convex and the concave face as surfaces of their own: gaps of surfaces that conform as a "
                "whole are those between the curved surfaces."
            )


def _depth(shape: ContactShape, x: Float[np.ndarray, "*k 3"]) -> Float[np.ndarray, "*k"]:
    """How deep points `x` in the axes of a shape are inside it; negative outside."""
    if isinstance(shape, Box):
        return np.asarray((0.5 * np.array(shape.dimensions) - np.abs(x)).min(axis=-1))
    if isinstance(shape, Sphere):
        return np.asarray(shape.radius - np.linalg.norm(x, axis=-1))
    assert isinstance(shape, Cylinder | Capsule)
    beyond = np.abs(x[..., 2]) - 0.5 * shape.length
    around = np.hypot(x[..., 0], x[..., 1])
    if isinstance(shape, Cylinder):
        return np.minimum(shape.radius - around, -beyond)
    return np.asarray(shape.radius - np.hypot(around, np.maximum(beyond, 0.0)))


def _looks(t: np.ndarray, step: float) -> tuple[np.ndarray, float]:
    """The numbers of the times at which shapes are looked at, and the longest interval between them."""
    looks = np.unique(np.linspace(0, len(t) - 1, min(len(t), LOOKS)).round().astype(int))
    return looks, float(np.diff(t[looks]).max(initial=step))


class _Path(NamedTuple):
    """A surface with its body's frame, elastic coordinates (nt, m) and rates over a motion; the frame of what it may
    pass, with its box (2, 3) there; and a bound of the speed with which they approach."""

    surface: BodySurface
    frame: MarkerMotion
    eta: np.ndarray
    rate: np.ndarray
    there: MarkerMotion
    box: np.ndarray
    speed: float

    def approach(self, at: int, interval: float) -> float:
        """The largest speed along its normal of a point that meets the box within an interval after the time `at`."""
        eta, rate, R, A = self.eta[at], self.rate[at], self.frame.axes[at], self.there.axes[at]
        x = (self.surface.points + self.surface.displacements(eta)) @ R.T
        # the displacements are of second order in the coordinates, so that this is their exact rate
        deformed = 0.5 * (self.surface.displacements(eta + rate) - self.surface.displacements(eta - rate))
        v = self.frame.velocity[at] + np.cross(self.frame.angular_velocity[at], x) + deformed @ R.T
        x = x + self.frame.position[at] - self.there.position[at]
        v = v - self.there.velocity[at] - np.cross(self.there.angular_velocity[at], x)
        speeds = (v * (self.surface.normals @ R.T)).sum(axis=1)
        x, moved = x @ A, interval * (v @ A)
        with np.errstate(divide="ignore", invalid="ignore"):
            enters, leaves = ((side - x) / moved for side in self.box)
        inside = (self.box[0] <= x) & (x <= self.box[1])
        first = np.where(moved == 0.0, np.where(inside, -np.inf, np.inf), np.minimum(enters, leaves)).max(axis=1)
        last = np.where(moved == 0.0, np.inf, np.maximum(enters, leaves)).min(axis=1)
        return float(speeds[(first <= np.minimum(last, 1.0)) & (last >= 0.0)].max(initial=0.0))


def _passed(mechanism: Mechanism, contact: SurfaceContact, s: int) -> float:
    """How far a point of a surface may move in a step towards what it touches, contact number `s`."""
    shape, flat = contact.rigid, compiled(mechanism)
    if contact.mate == NO_MATE:
        assert shape is not None
        return np.inf if isinstance(shape, Plane | Socket | Bore) else shape.size
    surface = contact.surface_of(mechanism.bodies)
    first, last = flat.skin_facet[s, :2]
    ranges = np.zeros(len(surface.nodes))
    np.maximum.at(ranges, surface.triangles, flat.facet_range[first:last, None])
    return float(ranges[np.unique(surface.triangles)].min())


def _paths(motion: Motion, contact: SurfaceContact, s: int) -> Iterator[_Path]:
    """The way of a surface past what it touches, and that of the other flexible surface past it."""
    mechanism, shape = motion.mechanism, contact.rigid
    own, there = contact.surface_of(mechanism.bodies), marker_motion(motion, contact.marker)
    frame, other = _frame(motion, contact.body), contact.other_of(mechanism.bodies)
    eta, rate = _elastic(motion, contact.body)
    if other is None:
        assert shape is not None
        faced = contact.faced_of(mechanism.bodies)
        points = np.full((1, 3), shape.reach) * [[1.0], [-1.0]] if faced is None else faced.points
        yield _path(own, frame, eta, rate, there, points)
        return
    other_eta, other_rate = _elastic(motion, contact.other)
    yield _path(own, frame, eta, rate, there, _swept(other, other_eta))
    yield _path(other, there, other_eta, other_rate, frame, _swept(own, eta))


def _path(
    surface: BodySurface,
    frame: MarkerMotion,
    eta: np.ndarray,
    rate: np.ndarray,
    there: MarkerMotion,
    points: np.ndarray,
) -> _Path:
    swept = _swept(surface, eta)
    reach = float(np.linalg.norm(np.abs(swept).max(axis=0)))
    far = np.linalg.norm(frame.position - there.position, axis=1) + reach
    bend = 2 * np.linalg.norm(surface.second, axis=1).sum(axis=1).max(initial=0.0)
    elastic = np.abs(rate) @ np.linalg.norm(surface.rows, axis=1).max(axis=0)
    elastic = elastic + bend * np.abs(eta).max(axis=1, initial=0.0) * np.abs(rate).max(axis=1, initial=0.0)
    turning = [np.linalg.norm(x.angular_velocity, axis=1) for x in (frame, there)]
    sliding = np.linalg.norm(frame.velocity - there.velocity, axis=1)
    speed = float((sliding + turning[0] * reach + turning[1] * far + elastic).max())
    return _Path(surface, frame, eta, rate, there, np.array([points.min(axis=0), points.max(axis=0)]), speed)


def _swept(surface: BodySurface, eta: np.ndarray) -> np.ndarray:
    """The corners (2, 3) of a box that holds the points of a surface for all of its elastic coordinates (nt, m)."""
    most = np.abs(eta).max(axis=0, initial=0.0)
    i, j = surface.pairs.T
    moved = np.abs(surface.rows) @ most + np.abs(surface.second) @ (most[i] * most[j])
    return np.array([(surface.points - moved).min(axis=0), (surface.points + moved).max(axis=0)])


def _frame(motion: Motion, body: int) -> MarkerMotion:
    """The motion of the frame of a body."""
    s, v = (starts[body] for starts in starts_of(np.array([b.modes for b in motion.mechanism.bodies], dtype=int)))
    R, w = attitudes(motion, body), np.asarray(motion.w)
    velocity, turning = (np.einsum("tij,tj->ti", R, w[:, k : k + 3]) for k in (v, v + 3))
    return MarkerMotion(np.asarray(motion.q)[:, s : s + 3], R, velocity, turning)


def _elastic(motion: Motion, body: int) -> tuple[np.ndarray, np.ndarray]:
    """The elastic coordinates (nt, m) of a body, and their rates."""
    modes = np.array([b.modes for b in motion.mechanism.bodies], dtype=int)
    s, v = (starts[body] for starts in starts_of(modes))
    return (
        np.asarray(motion.q)[:, s + 7 : s + 7 + modes[body]],
        np.asarray(motion.w)[:, v + 6 : v + 6 + modes[body]],
    )


def _contacts(mechanism: Mechanism) -> Iterator[tuple[str, tuple[int, ...], tuple[ContactShape, ...]]]:
    for force in mechanism.frame_forces:
        if is_contact(force) and force.name in mechanism.force_elements:
            markers = mechanism.rows[mechanism.force_elements[force.name][0]].markers
            yield force.name, markers, contact_shapes(force)
    for group in mechanism.contact_groups:
        yield group.name, group.markers, group.shapes
    for contact in mechanism.contacts:
        yield contact.name, contact.markers, contact.pair


def _largest_speed(motion: Motion) -> float:
    """A bound of the speeds of all bodies, within the length of the mechanism from their origins."""
    first = starts_of(np.array([body.modes for body in motion.mechanism.bodies], dtype=int))[1][:-1]
    w, length = np.asarray(motion.w), motion.mechanism.length
    each = [
        np.linalg.norm(w[:, s : s + 3], axis=1) + length * np.linalg.norm(w[:, s + 3 : s + 6], axis=1) for s in first
    ]
    return float(np.max(each, initial=0.0))


def _fastest(
    x: np.ndarray,
    v: np.ndarray,
    bodies: np.ndarray,
    shapes: tuple[ContactShape, ...],
    step: float,
    interval: float,
) -> tuple[float, int, int, int] | None:
    """The largest excess of the relative speed of two shapes (speed, number of the time, both shapes) that approach and
    may meet before the next stored time."""
    reach, size = (np.array([getattr(shape, what) for shape in shapes]) for what in ("reach", "size"))
    ends = np.flatnonzero(np.isfinite(reach))
    worst, found = 1.0, None
    for at in range(len(x)):
        speed = np.linalg.norm(v[at, ends], axis=1)
        if not 2 * speed.max(initial=0.0) * step > size[ends].min(initial=np.inf):
            continue
        near = 2 * (reach[ends].max() + interval * speed.max())
        for a, b in scipy.spatial.cKDTree(x[at, ends]).query_pairs(near):
            i, j = int(ends[a]), int(ends[b])
            gap, rate = x[at, j] - x[at, i], v[at, j] - v[at, i]
            fast, apart = float(np.linalg.norm(rate)), float(np.linalg.norm(gap)) - reach[i] - reach[j]
            ratio = fast * step / min(size[i], size[j])
            if bodies[i] != bodies[j] and ratio > worst and apart < interval * fast and gap @ rate < 0:
                worst, found = ratio, (fast, at, i, j)
    return found


def _body(mechanism: Mechanism, index: int) -> str:
    return "the ground" if index < 0 else repr(mechanism.bodies[index].name)

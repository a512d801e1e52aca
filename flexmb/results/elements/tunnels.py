"""Contacts that a body may have passed through between two steps of a simulation."""

from collections.abc import Iterator

import numpy as np
import scipy

from flexmb.contact.shape import ContactShape
from flexmb.mechanism.contacts.element import contact_shapes, is_contact
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.elements.motion import marker_motion
from flexmb.results.motion import Motion
from flexmb.spatial.layout import starts_of

LOOKS = 1000
"""Largest number of stored times, evenly spread, at which shapes are looked at."""


def tunnels(motion: Motion, step: float) -> Iterator[str]:
    """A sentence for each contact whose shapes come near each other at a relative speed that takes them
    through each other in a `step`: it is then larger than the smaller shape. Planes have no end to come out at."""
    mechanism = motion.mechanism
    t = np.asarray(motion.t)
    looks = np.unique(np.linspace(0, len(t) - 1, min(len(t), LOOKS)).round().astype(int))
    interval = float(np.diff(t[looks]).max(initial=step))
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

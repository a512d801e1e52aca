"""Lines for what connects bodies and has no surface: rods, springs, cables, force elements, relations, curves.

A spring is a coil, a cable the way over its places, a rod (a distance joint) and a force element a straight line. A
relation between joints, such as a gear or a belt, is a line from joint to joint, and the curve of a cam or slot is
itself. Elements whose places coincide, such as most bushings, show nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from jaxtyping import Float

from flexmb.kernels.base.data import CURVE, DISTANCE, GROUND
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.contacts.element import is_contact
from flexmb.mechanism.mechanism import Mechanism, Row
from flexmb.spatial.lie import frame_with_axis, rotation_from_quaternion

TURNS, ROUND, STRAIGHT = 8, 12, 0.12
"""Turns of a coil, points of each turn, and the part of the length at each end that is straight."""
COIL, SLIM = 0.015, 0.04
"""Radius of a coil relative to the length of the mechanism, and the least one relative to the spring as drawn."""
FINE = 4
"""Points of a drawn curve for each of its own."""

Sort = Literal["spring", "cable", "rod", "element", "relation", "curve"]


@dataclass(frozen=True, eq=False)
class Link:
    """A line through `markers` (k,), or along the points `curve` (n, 3) in the frame of the only one; `radius` is that
    of a coil."""

    name: str
    sort: Sort
    markers: tuple[int, ...]
    curve: Float[np.ndarray, "n 3"] | None = None
    radius: float = 0.0


def links_of(mechanism: Mechanism) -> tuple[Link, ...]:
    """The lines of a mechanism, in the order of its joints and force elements."""
    found = []
    for joint in mechanism.joints:
        rows = [mechanism.rows[r] for r in joint.rows]
        for row in rows:
            if row.kind == CURVE:
                found.append(Link(joint.name, "curve", (row.markers[0],), _points_of_curve(mechanism, row)))
            elif row.terms:
                found.append(Link(joint.name, "relation", _joined(row)))
            elif row.kind == DISTANCE:
                found.append(Link(joint.name, "rod", row.markers))
    touching = {force.name for force in mechanism.frame_forces if is_contact(force)}
    rubbing = {friction.name for friction in mechanism.frictions}
    for name, numbers in mechanism.force_elements.items():
        row = mechanism.rows[numbers[0]]
        if name in touching or name in rubbing:
            continue
        if row.terms:
            found.append(Link(name, "cable" if row.kind == DISTANCE else "relation", _joined(row)))
        elif row.kind == DISTANCE:
            a, b = (_place(mechanism, k, mechanism.initial.q, 1.0)[0] for k in row.markers)
            radius = max(COIL * mechanism.length, SLIM * float(np.linalg.norm(b - a)))
            found.append(Link(name, "spring", row.markers, radius=radius))
        elif len(numbers) == 6:
            found.append(Link(name, "element", row.markers))
    return tuple(found)


def link_points(
    mechanism: Mechanism, links: Sequence[Link], q: Float[np.ndarray, "nq"], magnification: float = 1.0
) -> list[Float[np.ndarray, "n 3"]]:
    """The points (n, 3) of each line in world axes at the configuration `q` (nq,), the deformation drawn
    `magnification` times larger. The number of points of a line does not change with `q`."""
    used = {k for link in links for k in link.markers}
    places = {k: _place(mechanism, k, q, magnification) for k in used}
    lines = []
    for link in links:
        if link.curve is not None:
            at, axes = places[link.markers[0]]
            lines.append(at + link.curve @ axes.T)
        else:
            way = np.array([places[k][0] for k in link.markers])
            lines.append(_coil(way[0], way[1], link.radius) if link.sort == "spring" else way)
    return lines


def _joined(row: Row) -> tuple[int, ...]:
    """The markers of a row with terms, each once in its way: all of a cable, one of each joint of a relation."""
    pairs = [row.markers, *(term.markers for term in row.terms)]
    way = [k for pair in pairs for k in pair] if row.kind == DISTANCE else [b for _, b in pairs]
    return (way[0], *(k for before, k in pairwise(way) if k != before))


def _points_of_curve(mechanism: Mechanism, row: Row) -> np.ndarray:
    curve = mechanism.curves[row.curve]
    points = curve.at(np.linspace(curve.parameters[0], curve.parameters[-1], FINE * len(curve.parameters)))
    return np.column_stack([points, np.zeros(len(points))])


def _place(mechanism: Mechanism, k: int, q: np.ndarray, magnification: float) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) and axes (3, 3) of marker `k` in the world; the axes as those of the undeformed body."""
    marker = mechanism.markers[k]
    if marker.body == GROUND:
        return np.asarray(marker.point), np.asarray(marker.axes)
    start, body, point = int(compiled(mechanism).q_start[marker.body]), mechanism.bodies[marker.body], marker.point
    if marker.interface is not None and body.modes:
        moved = body.interfaces[marker.interface].motion(q[start + 7 : start + 7 + body.modes])
        point = point + magnification * moved[:3]
    R = rotation_from_quaternion(q[start + 3 : start + 7])
    return q[start : start + 3] + R @ point, R @ marker.axes


def _coil(start: np.ndarray, end: np.ndarray, radius: float) -> np.ndarray:
    """A coil from `start` to `end` (3,); a straight line where they coincide."""
    t = np.linspace(0.0, 1.0, TURNS * ROUND + 1)
    ring = np.zeros((len(t), 3))
    if np.linalg.norm(end - start) > 0:
        axes = frame_with_axis(end - start)
        ring = radius * (np.outer(np.cos(2 * np.pi * TURNS * t), axes[:, 0]))
        ring += radius * np.outer(np.sin(2 * np.pi * TURNS * t), axes[:, 1])
    middle = start + np.outer(STRAIGHT + (1 - 2 * STRAIGHT) * t, end - start)
    return np.concatenate([start[None], middle[:1], middle + ring, middle[-1:], end[None]])

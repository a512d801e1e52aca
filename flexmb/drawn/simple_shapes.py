"""Simple shapes for what has no surface of its own: boxes of inertia, bars to markers, tubes along beams."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from flexmb.bodies.body import Body
from flexmb.spatial.lie import frame_with_axis

SIDES = 12
"""Number of sides of a tube."""
SLENDER = 0.02
"""Smallest edge of a box relative to its largest one, and radius of a bar relative to its length."""
_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))

Triangles = tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "nt 3"]]
"""Points and triangles."""


def box(centre: np.ndarray, edges: np.ndarray, axes: np.ndarray) -> Triangles:
    """A box with `edges` (3,) along the columns of `axes` (3, 3)."""
    triangles = [(q[0], q[k], q[k + 1]) for q in _QUADS for k in (1, 2)]
    return centre + (_CORNERS * edges) @ axes.T, np.array(triangles)


def box_of_inertia(body: Body) -> Triangles:
    """The homogeneous box with the mass, mass centre and inertia of a body; no edge shorter than `SLENDER` times the
    longest one."""
    c, inertia = body.centre, body.invariants.J0
    about_centre = inertia - body.invariants.mass * (c @ c * np.eye(3) - np.outer(c, c))
    moments, axes = np.linalg.eigh(about_centre)
    edges = np.sqrt(np.maximum(6 / body.invariants.mass * (moments.sum() - 2 * moments), 0.0))
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return box(c, np.maximum(edges, SLENDER * edges.max()), axes)


def tube(start: np.ndarray, end: np.ndarray, radius: float) -> Triangles:
    """A tube between two points; its first `SIDES` points are around `start`, the others around `end`."""
    axes = frame_with_axis(end - start)
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    ring = radius * (np.outer(np.cos(angle), axes[:, 0]) + np.outer(np.sin(angle), axes[:, 1]))
    k, following = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    sides = [np.column_stack([k, following, following + SIDES]), np.column_stack([k, following + SIDES, k + SIDES])]
    fan = np.column_stack([np.zeros(SIDES - 2, dtype=np.int64), k[1:-1], k[2:]])
    return np.concatenate([start + ring, end + ring]), np.concatenate([*sides, fan[:, ::-1], fan + SIDES])


def shape_of_inertia(body: Body, markers: Sequence[np.ndarray]) -> Triangles:
    """The box of a body's inertia, and a bar from the mass centre to each of its `markers` outside of that box."""
    parts = [box_of_inertia(body)]
    low, high = parts[0][0].min(axis=0), parts[0][0].max(axis=0)
    for point in markers:
        length = float(np.linalg.norm(point - body.centre))
        if ((point < low) | (point > high)).any():
            parts.append(tube(body.centre, point, SLENDER * length))
    return together(parts)


def together(parts: Sequence[Triangles]) -> Triangles:
    """Several shapes as one."""
    first = np.cumsum([0, *(len(points) for points, _ in parts)])
    return np.concatenate([p for p, _ in parts]), np.concatenate(
        [triangles + start for (_, triangles), start in zip(parts, first, strict=False)]
    )

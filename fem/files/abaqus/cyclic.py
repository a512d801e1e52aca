"""Cyclic symmetry of decks: `*CYCLIC SYMMETRY MODEL` with `*TIE, CYCLIC SYMMETRY`, for steps with
`*SELECT CYCLIC SYMMETRY MODES`.

Nodes of the one side, turned by the angle of the sector, follow the nodes of the other side, or its faces where the
meshes do not match.
"""

import numpy as np

from fem.errors import MeshError
from fem.files.abaqus.constraints.record import Constraints
from fem.files.abaqus.constraints.ties import closest_points
from fem.files.abaqus.lines import number
from fem.mesh.steps import CyclicSymmetry

MATCHING = 1e-3
"""Largest distance of matching nodes, relative to that of neighbouring nodes of a side."""

BULGE = 0.1
"""Largest distance of nodes from the faces of the other side, relative to the largest distance of two nodes of a
face: plane faces on a curved side are apart from its nodes."""


def read_cyclic(c: Constraints) -> CyclicSymmetry | None:
    """The symmetry of a deck; None for a deck without.

    Raises `MeshError` for more than one, for sides that are apart, and for another number of sectors than that by which
    the nodes of the sides match.
    """
    models = c.numbers.deck.cyclic
    ties = [s for s in c.numbers.deck.statements if s.keyword == "TIE" and "CYCLICSYMMETRY" in s.options]
    if not models:
        return None
    if len(models) != 1 or len(ties) != 1:
        raise MeshError(
            f"{len(models)} *CYCLIC SYMMETRY MODEL and {len(ties)} *TIE, CYCLIC SYMMETRY; one of each is read"
        )
    values = [number(f) for f in models[0].entries(0, 6, "two points of the axis, of three coordinates each")[:6]]
    given = number(models[0].option("N"))
    a, b = np.array(values[:3]), np.array(values[3:6])
    if not (given >= 2 and given % 1 == 0 and np.linalg.norm(b - a) > 0):
        raise MeshError(
            f"{given:g} sectors about the line through {values}; two different points and a whole number of two or "
            "more sectors are needed"
        )
    sectors = int(given)
    slaves, masters = (
        np.array(c.surface_nodes(name)) for name in ties[0].entries(0, 2, "the slave and the master surface")[:2]
    )
    axis = (b - a) / np.linalg.norm(b - a)
    turned, angle = min(
        ((_turned(c.points[slaves], a, axis, angle), angle) for angle in (2 * np.pi / sectors, -2 * np.pi / sectors)),
        key=lambda choice: float(_apart(choice[0], c.points[masters]).min(axis=1).mean()),
    )
    apart = _apart(turned, c.points[masters])
    near = MATCHING * _spacing(c.points[slaves], c.points[masters])
    if apart.min(axis=1).max() <= near:
        followed = tuple((masters[[k]], np.ones(1)) for k in apart.argmin(axis=1))
    else:
        between = _angle_between(c.points[slaves], c.points[masters], a, axis)
        if _apart(_turned(c.points[slaves], a, axis, between), c.points[masters]).min(axis=1).max() <= near:
            raise MeshError(
                f"the nodes of its sides match where they are turned by {abs(np.degrees(between)):.6g} degrees, and "
                f"{sectors} sectors have {360 / sectors:.6g} degrees each: check N and the axis"
            )
        followed = _interpolated(c, turned, set(masters.tolist()))
    return CyclicSymmetry(sectors, axis, angle, slaves, followed)


def _spacing(slaves: np.ndarray, masters: np.ndarray) -> float:
    """The smallest distance of two nodes of a side, or that of the sides where each has one node."""
    for x, y in ((slaves, slaves), (masters, masters), (slaves, masters)):
        gaps = _apart(x, y)
        if (gaps > 0).any():
            return float(gaps[gaps > 0].min())
    return 0.0  # one node on the axis


def _angle_between(slaves: np.ndarray, masters: np.ndarray, a: np.ndarray, axis: np.ndarray) -> float:
    """The angle about the axis from the centre of the slaves to that of the masters."""
    x, y = slaves.mean(axis=0) - a, masters.mean(axis=0) - a
    return float(np.arctan2(axis @ np.cross(x, y), x @ y - (axis @ x) * (axis @ y)))


def _interpolated(c: Constraints, turned: np.ndarray, masters: set[int]) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Nodes and shape functions of the faces of the masters at the places of the slaves."""
    numbers = c.numbers
    skin = [(b, r, f) for b, r in numbers.cells(numbers.element_of) for f in numbers._outer(b, r)]
    faces = np.array([face for face in skin if set(numbers.face_nodes(*face)) <= masters]).reshape(-1, 3)
    if not len(faces):
        raise MeshError("its sides do not match, and the nodes of the master are those of no faces")
    points = np.vstack([c.points, turned])
    found, _, distances, _ = closest_points(points, numbers.blocks, faces, len(c.points) + np.arange(len(turned)))
    across = max(float(_apart(x, x).max()) for x in (c.points[numbers.face_nodes(*face)] for face in faces.tolist()))
    if distances.max() > BULGE * across:
        raise MeshError(
            f"nodes of its slave are up to {distances.max():.3g} away from the faces of its master, which are up to "
            f"{across:.3g} across"
        )
    return tuple(found)


def _apart(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(x[:, None] - y[None], axis=2))


def _turned(x: np.ndarray, a: np.ndarray, axis: np.ndarray, angle: float) -> np.ndarray:
    """Points turned about the axis through `a`."""
    r = x - a
    along = np.outer(r @ axis, axis)
    return np.asarray(a + along + np.cos(angle) * (r - along) + np.sin(angle) * np.cross(axis, r))

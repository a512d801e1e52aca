"""`*MPC`: planes, straight lines and mean rotations of CalculiX, pins, links and beams."""

from collections.abc import Iterator

import numpy as np

from fem.errors import MeshError
from fem.files.abaqus.constraints.couplings import weighted
from fem.files.abaqus.constraints.record import Constraints
from fem.files.abaqus.deck import Statement
from fem.files.abaqus.lines import fields
from fem.mesh.constraints import Constraint, Equation, RigidLink

AXIAL = 1e-10
"""Squares of distances from an axis below this part of the largest count as none."""


def multipoint(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*MPC`: PLANE, STRAIGHT and MEANROT (CalculiX), PIN, TIE, LINK and BEAM (Abaqus). A line that does not begin
    with a node begins another one; zeros stand for nothing."""
    found: list[tuple[str, list[list[int]]]] = []
    for _, row in s.rows:
        entries = [f for f in fields(row) if f and f != "0"]
        if entries and not (found and c.is_node(entries[0])):
            found.append((entries.pop(0).upper(), []))
        for text in entries:
            found[-1][1].append(c.nodes(text))
    for kind, groups in found:
        if kind in ("PIN", "TIE", "LINK", "BEAM") and len(groups) == 2:
            size = max(map(len, groups))
            if {len(g) for g in groups} - {1, size}:
                raise MeshError(f"{kind} of sets of {len(groups[0])} and {len(groups[1])} nodes, which are paired")
            for k in range(size):
                yield from _of_pair(c, kind, [g[k if len(g) > 1 else 0] for g in groups])
        else:
            yield from _of_many(c, kind, [n for g in groups for n in g])
    if any(kind == "BEAM" for kind, _ in found) and not _of_calculix(c):
        c.warnings.append(
            f"{s.source.label}: BEAM is a rigid link, as in Abaqus; CalculiX keeps the distance of its nodes: for a "
            "deck of CalculiX write LINK, or use expand=True or fem.read_steps"
        )


def _of_calculix(c: Constraints) -> bool:
    """Whether a deck is read as CalculiX reads it where both programs differ."""
    return c.numbers.deck.as_named or c.numbers.deck.expand


def _of_pair(c: Constraints, kind: str, rows: list[int]) -> Iterator[Constraint]:
    """PIN, TIE, LINK or BEAM of two nodes, of which the first follows the second. BEAM is a rigid link in Abaqus; in
    CalculiX it keeps the distance, as LINK does."""
    x = c.points[rows]
    if kind == "BEAM" and not _of_calculix(c):
        c.turning.add(rows[1])
        yield RigidLink(np.array(rows[:1]), rows[1])
        return
    if kind in ("LINK", "BEAM"):
        if not np.linalg.norm(x[1] - x[0]) > 0:
            raise MeshError(f"{kind} of two nodes at one place, which has no direction")
        yield weighted(rows[0], rows[1:], np.ones(1), (x[1] - x[0]) / np.linalg.norm(x[1] - x[0]))
        return
    turns = kind == "TIE" and set(rows) <= c.turning
    for k in range(6 if turns else 3):
        yield Equation(np.array(rows), np.array([k, k]), np.array([1.0, -1.0]))


def _of_many(c: Constraints, kind: str, rows: list[int]) -> Iterator[Constraint]:
    """PLANE, STRAIGHT and MEANROT."""
    x = c.points[rows]
    if kind == "PLANE" and len(rows) > 3:
        far = int(np.linalg.norm(x - x[0], axis=1).argmax())
        aside = np.linalg.norm(np.cross(x - x[0], x[far] - x[0]), axis=1)
        corners = [0, far, int(aside.argmax())]
        if not aside.max() > 0:
            raise MeshError("its nodes lie on one line")
        sides = x[corners[1:]] - x[0]
        normal = np.cross(*sides)
        for k in set(range(len(rows))) - set(corners):
            w = np.linalg.lstsq(sides.T, x[k] - x[0], rcond=None)[0]
            others = [rows[j] for j in corners]
            yield weighted(rows[k], others, np.array([1 - w.sum(), *w]), normal / np.linalg.norm(normal))
    elif kind == "STRAIGHT" and len(rows) > 2:
        along = x[1] - x[0]
        if not np.linalg.norm(along) > 0:
            raise MeshError("its first two nodes, which give the straight line, are at one place")
        along = along / np.linalg.norm(along)
        across = np.linalg.svd(along[None])[2][1:]
        for k in range(2, len(rows)):
            w = float((x[k] - x[0]) @ along / np.linalg.norm(x[1] - x[0]))
            yield from (weighted(rows[k], rows[:2], np.array([1 - w, w]), e) for e in across)
    elif kind == "MEANROT" and len(rows) > 4 and len(rows) % 3 == 1 and rows[0::3][:-1] == rows[2::3]:
        yield _mean_rotation(rows[:-1:3], x[:-1:3], rows[-1], x[-1])
    else:
        raise MeshError(f"{kind} with {len(rows)} nodes; PLANE, STRAIGHT, MEANROT, PIN, TIE, LINK and BEAM are read")


def mean_rotation(e: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Weights (k, 3) of the displacements of points `x` (k, 3) in their mean rotation about the direction `e`, each
    angle about their centre counting alike; points on the axis add none (CalculiX)."""
    p = x - x.mean(axis=0)
    across = p - np.outer(p @ e, e)
    size = (across**2).sum(axis=1)
    there = size > AXIAL * size.max()
    weights = np.where(there[:, None], np.cross(e, p) / np.where(there, size, 1.0)[:, None], 0.0) / len(p)
    return np.asarray(weights - weights.mean(axis=0))


def _mean_rotation(nodes: list[int], x: np.ndarray, angle: int, direction: np.ndarray) -> Equation:
    """The first dof of a node is the mean rotation of others about the direction of its coordinates."""
    size = float(np.linalg.norm(direction))
    if not size > 0:
        raise MeshError("the coordinates of its last node, the direction of the axis, are zero")
    w = mean_rotation(direction / size, x)
    where = [(node, k, -float(w[i, k])) for i, node in enumerate(nodes) for k in range(3) if w[i, k]]
    n, components, factors = (np.array(a) for a in zip((angle, 0, 1.0), *where, strict=True))
    return Equation(n.astype(np.int64), components.astype(np.int64), factors)

"""Ties: nodes of one surface follow the faces of another that they touch."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import scipy

from fem.elements import Element, element
from fem.errors import MeshError
from fem.files.abaqus.constraints.record import Constraints
from fem.files.abaqus.deck import Statement
from fem.files.abaqus.lines import number
from fem.mesh.constraints import Constraint, Equation

TOLERANCE = 0.025
"""Default distance, relative to the mean size of the master's faces, within which nodes are tied (CalculiX)."""
NEAR = 12
"""Faces that may be nearest to a node, which are tried where it is farther away than the mean size of a face."""
BULGE = 1.25
"""Radius of a curved face about its centre, relative to that of its nodes, at most."""
APART = 1e-3
"""Distance of tied surfaces, relative to the mean size of the master's faces, up to which ADJUST=NO changes nothing."""
STEPS = 30
Block = tuple[str, np.ndarray]


def closest_points(
    points: np.ndarray, blocks: Sequence[Block], faces: np.ndarray, nodes: np.ndarray
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray, np.ndarray, float]:
    """For each of `nodes` (k,) the nearest of `faces` ((block, row, face), (f, 3)): its nodes and their shape functions
    there, the nearest points (k, 3), the distances (k,), and the mean size of the faces."""
    shapes = [element(blocks[b][0]) for b, _, _ in faces]
    of_face = [np.asarray(blocks[b][1][r]) for b, r, _ in faces]
    local = [np.asarray(s.faces[f]) for s, (_, _, f) in zip(shapes, faces, strict=True)]
    centres = np.array([points[n[k]].mean(axis=0) for n, k in zip(of_face, local, strict=True)])
    size = float(np.mean([np.ptp(points[n[k]], axis=0).max() for n, k in zip(of_face, local, strict=True)]))
    radii = BULGE * np.array(
        [np.linalg.norm(points[n[k]] - x, axis=1).max() for n, k, x in zip(of_face, local, centres, strict=True)]
    )
    tree = scipy.spatial.cKDTree(centres)
    away, first = tree.query(points[nodes])
    found, places, distances = [], [], []
    for node, reach in zip(nodes, away + radii[first] + radii.max(), strict=True):
        around = np.array(tree.query_ball_point(points[node], reach))
        least = np.linalg.norm(centres[around] - points[node], axis=1) - radii[around]  # no face is nearer than this
        best = None
        for tried, k in enumerate(np.argsort(least)):
            if best is not None and (best[0][1] <= least[k] or (tried >= NEAR and best[0][1] > size)):
                break
            c = around[k]
            item = _project(shapes[c], int(faces[c][2]), points[of_face[c]], points[node])
            if best is None or item[1] < best[0][1]:
                best = item, c
        assert best is not None  # the face whose centre is nearest is among them
        (N, distance, place), c = best
        found.append((of_face[c][local[c]], N[local[c]]))
        places.append(place)
        distances.append(distance)
    return found, np.array(places).reshape(-1, 3), np.array(distances), size


def _project(shape: Element, face: int, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Shape functions (nn,) at the point of a face of the cell `x` (nn, 3) that is nearest to `p`, the distance, and
    the point."""
    corners = shape.coordinates[[k for k in shape.faces[face] if k < shape.corners]]
    triangle = len(corners) == 3
    origin = corners[0] if triangle else corners.mean(axis=0)
    edges = corners[1:] - corners[0] if triangle else np.array([[-1, 1, 1, -1], [-1, -1, 1, 1]]) @ corners / 4
    s = np.full(2, 1 / 3) if triangle else np.zeros(2)
    for _ in range(STEPS):
        xi = (origin + s @ edges)[None]
        r = p - shape.shape(xi)[0] @ x
        A = (shape.gradient(xi)[0].T @ x).T @ edges.T
        step = _inside(s + np.linalg.lstsq(A, r, rcond=None)[0], triangle) - s
        s = s + step
        if np.abs(step).max() < 1e-12:
            break
    N = shape.shape((origin + s @ edges)[None])[0]
    return N, float(np.linalg.norm(p - N @ x)), N @ x


def _inside(s: np.ndarray, triangle: bool) -> np.ndarray:
    """The coordinates, brought to the face where they are outside."""
    if not triangle:
        return np.clip(s, -1.0, 1.0)
    s = np.maximum(s, 0.0)
    return s if s.sum() <= 1 else np.clip(np.array([0.5, 0.5]) + (s[0] - s[1]) / 2 * np.array([1, -1]), 0.0, 1.0)


def tie(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*TIE`: pairs of surfaces, one a line."""
    if "CYCLICSYMMETRY" in s.options:
        raise MeshError("fem.read_steps and fem.solve_step find frequencies of a sector; a body needs the whole wheel")
    unknown = set(s.options) - {"NAME", "POSITIONTOLERANCE", "ADJUST", "TYPE", "NOROTATION"}
    if s.options.get("TYPE", "SURFACE TO SURFACE").upper() not in ("SURFACE TO SURFACE", "NODE TO SURFACE"):
        unknown.add("TYPE")
    if unknown:
        raise MeshError(f"{', '.join(sorted(unknown))} of a tie is not read")
    for row in range(len(s.rows)):
        slave, master, *rest = s.entries(row, 2, "the slave and the master surface")
        if any(rest):
            raise MeshError(f"data line {row + 1} has a third entry, {', '.join(rest)}")
        yield from _tied(c, s, slave, master)


def _tied(c: Constraints, s: Statement, slave: str, master: str) -> Iterator[Constraint]:
    """The slave's nodes within the tolerance follow the master's faces, onto which they are moved; with ADJUST=NO they
    stay where they are, which has no place in bodies beyond `APART`."""
    faces = c.faces(master)
    if faces is None or not len(faces):
        raise MeshError(f"the master {master!r} is no surface of element faces that were read")
    own = {n for b, r, f in faces.tolist() for n in c.numbers.face_nodes(b, r, f)}
    of_slave = c.surface_nodes(slave)
    if not of_slave:
        raise MeshError(f"the slave {slave!r} has no node of an element that is read")
    nodes = np.array([n for n in of_slave if n not in own], dtype=np.int64)
    if not len(nodes):
        return
    found, places, distances, size = closest_points(c.points, c.numbers.blocks, faces, nodes)
    tolerance = number(s.options["POSITIONTOLERANCE"]) if s.options.get("POSITIONTOLERANCE") else TOLERANCE * size
    near = distances <= tolerance
    if not near.any():
        raise MeshError(
            f"no node of {slave!r} is within {tolerance:g} of {master!r}; the nearest is {distances.min():g} away"
        )
    if not near.all():
        some = ", ".join(c.numbers.label(int(n)) for n in nodes[~near][:5])
        told = (
            f"{int((~near).sum())} of {len(nodes)} nodes of {slave!r} are farther than {tolerance:g} from {master!r} "
            f"and are not tied (first: {some})"
        )
        c.warnings.append(f"{s.source.label}: {told}")
        c.untied.append(replace(s.source, text=told))
    adjusts = s.options.get("ADJUST", "YES").upper() != "NO"
    if not (adjusts or c.numbers.deck.as_named):
        if distances[near].max() > APART * size:
            raise MeshError(
                f"ADJUST=NO, and nodes of {slave!r} are up to {distances[near].max():.3g} away from {master!r}: such "
                "a tie resists rotations of the part; close the gap, or let them be moved by ADJUST=YES"
            )
        adjusts = True
    if adjusts and distances[near].max() > 1e-9 * size:
        c.warnings.append(
            f"{s.source.label}: nodes of {slave!r} were moved onto {master!r}, by at most {distances[near].max():.3g}"
        )
    for k in np.flatnonzero(near):
        if adjusts:
            c.points[nodes[k]] = places[k]
        rows, weights = found[k]
        for component in range(3):
            yield Equation(
                np.append(nodes[k], rows), np.full(len(rows) + 1, component), np.concatenate([[1.0], -weights])
            )

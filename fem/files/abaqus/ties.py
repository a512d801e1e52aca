"""Ties: nodes of one surface follow the faces of another that they touch."""

from collections.abc import Sequence

import numpy as np
import scipy

from fem.elements import Element, element

TOLERANCE = 0.025
"""Default distance, relative to the mean size of the master's faces, within which nodes are tied (CalculiX)."""
NEAR = 12
"""Faces whose centres are nearest to a node, which are tried."""
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
    _, near = scipy.spatial.cKDTree(centres).query(points[nodes], k=min(NEAR, len(faces)))
    found, places, distances = [], [], []
    for node, candidates in zip(nodes, near.reshape(len(nodes), -1), strict=True):
        best = min(
            ((_project(shapes[c], int(faces[c][2]), points[of_face[c]], points[node]), c) for c in candidates),
            key=lambda item: item[0][1],
        )
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

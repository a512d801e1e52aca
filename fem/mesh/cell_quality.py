"""Shape quality of solid cells: the scaled Jacobian, and the node order of mirrored cells."""

import numpy as np
from jaxtyping import Float

from fem.elements import Element

BATCH = 20_000
COLLAPSED = 1e-14
"""A determinant below this fraction of the cube of the cell's extent is taken for zero."""


def integrable(shape: Element, x: Float[np.ndarray, "ne nn 3"]) -> np.ndarray:
    """Whether the determinants of cells (ne,) are positive at all points of integration, of stiffness and of mass: a
    model needs no more, and no less."""
    xi = np.vstack([shape.stiffness_rule[0], shape.mass_rule[0]])
    good = np.zeros(len(x), dtype=bool)
    for k in range(0, len(x), BATCH):
        part = x[k : k + BATCH]
        J = np.einsum("qnk,enx->eqkx", shape.gradient(xi), part, optimize=True)
        extent = np.ptp(part, axis=1).max(axis=1)
        good[k : k + BATCH] = np.linalg.det(J).min(axis=1) > COLLAPSED * extent**3
    return good


def scaled_jacobian(shape: Element, x: Float[np.ndarray, "ne nn 3"]) -> tuple[np.ndarray, np.ndarray]:
    """Scaled Jacobian (ne,) and volume (ne,) of cells with node positions x.

    The scaled Jacobian is the lowest of two values: the volume spanned by the unit tangents of the three edges at each
    corner, relative to the regular cell (without the apex of a pyramid); and det J at the integration points, relative
    to its mean. 1 is ideal, 0 collapsed, negative inverted. Cost: linear in the number of cells.

    Source of the corner part: Knupp, "Algebraic mesh quality metrics", SIAM J. Sci. Comput. 23 (2001) 193-218.
    """
    parts = [_batch(shape, x[k : k + BATCH]) for k in range(0, len(x), BATCH)]
    return np.concatenate([q for q, _ in parts]), np.concatenate([v for _, v in parts])


def _batch(shape: Element, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    xi, weights = shape.stiffness_rule
    corners = 4 if shape.corners == 5 else shape.corners
    J = np.einsum("qnk,enx->eqkx", shape.gradient(np.vstack([shape.coordinates[:corners], xi])), x, optimize=True)
    t = np.einsum("cdk,eckx->ecdx", _edge_directions(shape)[:corners], J[:, :corners])
    length = np.prod(np.linalg.norm(t, axis=3), axis=2)
    corner = np.linalg.det(t) / np.where(length > 0, length, 1.0) / shape.corner_volume
    det = np.linalg.det(J[:, corners:])
    mean = np.abs(det).mean(axis=1, keepdims=True)
    inner = det / np.where(mean > 0, mean, 1.0)
    return np.minimum(1.0, np.minimum(corner.min(axis=1), inner.min(axis=1))), det @ weights


def _edge_directions(shape: Element) -> np.ndarray:
    """The three edges at each corner on the reference cell (corners, 3, 3), in right-handed order."""
    neighbours: list[list[int]] = [[] for _ in range(shape.corners)]
    for face in shape.faces:
        cycle = [n for n in face if n < shape.corners]
        for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            neighbours[a].append(b)
    x = shape.coordinates[: shape.corners]
    d = np.array([x[found[:3]] - x[c] for c, found in enumerate(neighbours)])
    wrong = np.linalg.det(d) < 0
    d[wrong] = d[wrong][:, [0, 2, 1]]
    return d

"""Directors of shells: unit vectors through the thickness at the corners of their cells."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from scipy.sparse.csgraph import connected_components

FOLD = np.cos(np.deg2rad(30.0))
"""Cosine of the angle between neighbouring cells from which on their common edge is a fold."""


@dataclass(frozen=True, eq=False)
class Directors:
    """Directors (v, 3) of vertices; `node` (v,): their nodes; `of_cells`: vertices (e, nn) of each block of cells.

    A node has a director for each smooth piece of the shell around it, the mean normal of that piece.
    """

    vectors: Float[np.ndarray, "v 3"]
    node: Int[np.ndarray, " v"]
    of_cells: tuple[Int[np.ndarray, "_ _"], ...]


def directors(points: Float[np.ndarray, "n 3"], blocks: list[np.ndarray]) -> Directors:
    """Directors at the corners of `blocks` of triangles (e, 3) and quadrilaterals (e, 4) between `points`."""
    sizes = [b.size for b in blocks]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    node = np.concatenate([b.ravel() for b in blocks])
    normal, ends, corners = [], [], []
    for block, start in zip(blocks, starts, strict=False):
        x, count = points[block], block.shape[1]
        place = start + np.arange(block.size).reshape(block.shape)
        after, before = np.roll(x, -1, axis=1), np.roll(x, 1, axis=1)
        n = np.cross(after - x, before - x)
        normal.append((n / np.maximum(np.linalg.norm(n, axis=2, keepdims=True), np.finfo(float).tiny)).reshape(-1, 3))
        for k in range(count):
            ends.append(block[:, [k, (k + 1) % count]])
            corners.append(place[:, [k, (k + 1) % count]])
    normals = np.concatenate(normal)
    edge, of_edge = np.concatenate(ends), np.concatenate(corners)
    swapped = edge[:, 0] > edge[:, 1]
    edge[swapped], of_edge[swapped] = edge[swapped, ::-1], of_edge[swapped, ::-1]
    order = np.lexsort(edge.T)
    edge, of_edge = edge[order], of_edge[order]
    a, b = of_edge[:-1], of_edge[1:]
    smooth = (edge[:-1] == edge[1:]).all(axis=1)
    smooth &= (np.einsum("ekx,ekx->ek", normals[a], normals[b]) >= FOLD).all(axis=1)
    joined = sp.coo_array(
        (np.ones(2 * int(smooth.sum())), (a[smooth].ravel(), b[smooth].ravel())), shape=(len(node), len(node))
    )
    count, vertex = connected_components(joined, directed=False)
    vectors = np.zeros((count, 3))
    np.add.at(vectors, vertex, normals)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(float).tiny)
    of_vertex = np.zeros(count, dtype=np.int64)
    of_vertex[vertex] = node
    of_cells = tuple(
        vertex[start : start + b.size].reshape(b.shape).astype(np.int64)
        for b, start in zip(blocks, starts, strict=False)
    )
    return Directors(vectors, of_vertex, of_cells)

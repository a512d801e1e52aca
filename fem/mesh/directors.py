"""Directors of shells: unit vectors through the thickness at the nodes of their cells."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from scipy.sparse.csgraph import connected_components

from fem.elements import SHELLS

FOLD = np.cos(np.deg2rad(30.0))
"""Cosine of the angle between neighbouring cells from which on their common edge is a fold."""


SIDES = {3: (0, 1, 2), 4: (0, 1, 2, 3), 6: (0, 3, 1, 4, 2, 5), 8: (0, 4, 1, 5, 2, 6, 3, 7), 9: (0, 4, 1, 5, 2, 6, 3, 7)}
"""The nodes around a cell by its number of nodes."""
_PARTS = {
    6: ((0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)),
    8: ((0, 4, 7), (4, 1, 5), (5, 2, 6), (6, 3, 7), (4, 5, 7), (5, 6, 7)),
    9: ((0, 4, 8, 7), (4, 1, 5, 8), (8, 5, 2, 6), (7, 8, 6, 3)),
}
"""Triangles or quadrilaterals that make up a quadratic cell."""


def drawn_cells(cells: Int[np.ndarray, "e nn"]) -> Int[np.ndarray, "k n"]:
    """Cells of three or four nodes that draw cells of shells."""
    parts = _PARTS.get(cells.shape[1])
    return cells if parts is None else np.concatenate([cells[:, list(part)] for part in parts])


def drawn_triangles(cells: Int[np.ndarray, "e nn"]) -> Int[np.ndarray, "k 3"]:
    """Triangles that draw cells of shells."""
    cells = drawn_cells(cells)
    return np.concatenate([cells[:, [0, k, k + 1]] for k in range(1, cells.shape[1] - 1)])


def inside(x: Float[np.ndarray, "e 8 3"]) -> tuple[np.ndarray, np.ndarray]:
    """Places and directors (e, 3) in the middle of cells of eight nodes at these places."""
    N = SHELLS["quad8"].shape(np.zeros((1, 3)))[0]
    slopes = SHELLS["quad8"].gradient(np.zeros((1, 3)))[0]
    n = np.cross(*(np.einsum("i,eix->ex", slopes[:, c], x) for c in (0, 1)))
    middle = n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), np.finfo(float).tiny)
    return np.einsum("i,eix->ex", N, x), middle


@dataclass(frozen=True, eq=False)
class Directors:
    """Directors (v, 3) of vertices; `node` (v,): their nodes; `of_cells`: vertices (e, nn) of each block of cells.

    A node has a director for each smooth piece of the shell around it, the mean normal of that piece.
    """

    vectors: Float[np.ndarray, "v 3"]
    node: Int[np.ndarray, " v"]
    of_cells: tuple[Int[np.ndarray, "_ _"], ...]


def directors(points: Float[np.ndarray, "n 3"], blocks: list[np.ndarray]) -> Directors:
    """Directors at the nodes of `blocks` of triangles (e, 3 or 6) and quadrilaterals (e, 4, 8 or 9)."""
    sizes = [b.size for b in blocks]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    node = np.concatenate([b.ravel() for b in blocks])
    normal, ends, corners = [], [], []
    for block, start in zip(blocks, starts, strict=False):
        x, count = points[block], block.shape[1]
        place = start + np.arange(block.size).reshape(block.shape)
        if count > 4:
            shape = next(s for s in SHELLS.values() if s.nodes == count)
            slopes = shape.gradient(shape.coordinates)
            n = np.cross(*(np.einsum("ki,eix->ekx", slopes[:, :, c], x) for c in (0, 1)))
        else:
            n = np.cross(np.roll(x, -1, axis=1) - x, np.roll(x, 1, axis=1) - x)
        normal.append((n / np.maximum(np.linalg.norm(n, axis=2, keepdims=True), np.finfo(float).tiny)).reshape(-1, 3))
        ring = SIDES[count]
        for side in zip(ring, (*ring[1:], ring[0]), strict=True):
            ends.append(block[:, list(side)])
            corners.append(place[:, list(side)])
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


def opposite_cells(blocks: list[np.ndarray]) -> tuple[Int[np.ndarray, "k 2"], Int[np.ndarray, " t"]]:
    """Edges between cells of `blocks` (e, nn) with opposite normals, and the cells, counted through the blocks, that
    must be turned to agree with most of those that they continue; none of those that have two sides nowhere (a Moebius
    strip).

    Cells continue each other at edges of two: three have no common side.
    """
    sides, owner, count = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
    for cells in blocks:
        corners = 3 if cells.shape[1] in (3, 6) else 4
        sides += [cells[:, [k, (k + 1) % corners]] for k in range(corners)]
        owner += [count + np.arange(len(cells))] * corners
        count += len(cells)
    ends, of_cell = np.concatenate(sides), np.concatenate(owner)
    edges, of_side, meeting = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(of_side.ravel(), kind="stable")
    pairs = order[np.isin(of_side.ravel()[order], np.flatnonzero(meeting == 2))].reshape(-1, 2)
    against = (ends[pairs[:, 0]] == ends[pairs[:, 1]]).all(axis=1)
    a, b = of_cell[pairs].T
    # each cell as it is, and turned: of two neighbours, the first as it is goes with one of the other's two sides
    rows = np.concatenate([a, a + count])
    columns = np.concatenate([b + count * against, b + count * ~against])
    graph = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(2 * count, 2 * count))
    _, label = connected_components(graph, directed=False)
    as_is, turned = label[:count], label[count:]
    size = np.bincount(as_is, minlength=int(label.max(initial=-1)) + 1)
    wrong = (as_is != turned) & ((size[as_is] < size[turned]) | ((size[as_is] == size[turned]) & (as_is > turned)))
    return edges[of_side.ravel()[pairs[against, 0]]], np.flatnonzero(wrong)

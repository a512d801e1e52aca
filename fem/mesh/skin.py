"""The skin of a mesh as triangles, with vertices that are split along its sharp edges."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from scipy.sparse.csgraph import connected_components

from fem.elements import SHELLS, element
from fem.mesh.directors import drawn_triangles
from fem.mesh.mesh import Mesh

SHARP = np.cos(np.deg2rad(30.0))
"""Cosine of the angle between neighbouring triangles above which their common edge is sharp."""
FACE_TRIANGLES = {
    3: ((0, 1, 2),),
    4: ((0, 1, 2), (0, 2, 3)),
    6: ((0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)),
    8: ((0, 4, 7), (4, 1, 5), (5, 2, 6), (6, 3, 7), (4, 5, 6), (4, 6, 7)),
}
"""From the number of nodes of a face to its triangles: indices into the nodes of the face."""


def skin_triangles(mesh: Mesh) -> Int[np.ndarray, "nt 3"]:
    """The nodes of the triangles of the skin, mid-side nodes included; their normals point outwards."""
    faces = mesh.boundary_faces
    drawn, first = [np.zeros((0, 3), dtype=np.int64)], 0
    for block in mesh.cells:
        for number, local in enumerate(element(block.kind).faces):
            inside = (faces[:, 0] >= first) & (faces[:, 0] < first + len(block)) & (faces[:, 1] == number)
            nodes = block.connectivity[faces[inside, 0] - first][:, list(local)]
            drawn += [nodes[:, list(part)] for part in FACE_TRIANGLES[len(local)]]
        first += len(block)
    return np.concatenate(drawn)


def shell_triangles(mesh: Mesh) -> Int[np.ndarray, "nt 3"]:
    """The nodes of the triangles of shells, quadrilaterals in two."""
    drawn = [np.zeros((0, 3), dtype=np.int64)]
    for block in mesh.cells:
        if block.kind in SHELLS:
            drawn.append(drawn_triangles(block.connectivity))
    return np.concatenate(drawn)


def split_at_sharp_edges(
    points: Float[np.ndarray, "n 3"], triangles: Int[np.ndarray, "nt 3"]
) -> tuple[Int[np.ndarray, "nt 3"], Int[np.ndarray, " nv"]]:
    """The triangles by vertices, and the node of each vertex.

    A node has a vertex for each smooth piece of the surface around it, so that each vertex has one normal.
    """
    normals = np.cross(*(points[triangles[:, k]] - points[triangles[:, 0]] for k in (1, 2)))
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(float).tiny)
    corner = np.arange(triangles.size).reshape(-1, 3)
    ends = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    corners = np.concatenate([corner[:, [k, (k + 1) % 3]] for k in range(3)])
    swapped = ends[:, 0] > ends[:, 1]
    ends[swapped], corners[swapped] = ends[swapped, ::-1], corners[swapped, ::-1]
    order = np.lexsort(ends.T)
    ends, corners = ends[order], corners[order]
    a, b = corners[:-1], corners[1:]
    smooth = (ends[:-1] == ends[1:]).all(axis=1)
    smooth &= np.einsum("ek,ek->e", normals[a[:, 0] // 3], normals[b[:, 0] // 3]) >= SHARP
    joined = sp.coo_array(
        (np.ones(2 * smooth.sum()), (a[smooth].ravel(), b[smooth].ravel())), shape=(corner.size, corner.size)
    )
    _, vertex = connected_components(joined, directed=False)
    node = np.zeros(vertex.max(initial=-1) + 1, dtype=np.int64)
    node[vertex] = triangles.ravel()
    return vertex.reshape(-1, 3), node

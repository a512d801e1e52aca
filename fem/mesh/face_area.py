"""The area of the skin that each node of a set stands for."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from fem.elements import Element, element
from fem.mesh.mesh import Mesh

# points (a, b) and weights on the reference triangle and square, exact for the square of quadratic shape functions
_LINE = (np.array([-(0.6**0.5), 0.0, 0.6**0.5]), np.array([5.0, 8.0, 5.0]) / 9.0)


def lumped_area(mesh: Mesh, nodes: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"] | None:
    """Area (n,) of each of `nodes` (sorted), or None when they are not all on whole faces of the skin.

    The faces whose nodes are all in the set share their area among their nodes in the ratio of the diagonal of the
    face mass matrix `int N_i^2 dA`: positive weights for every element, unlike `int N_i dA`, which is zero or negative
    at the corners of quadratic faces. Source: Hinton, Rock and Zienkiewicz, "A note on mass lumping and related
    processes in the finite element method", Earthquake Eng. Struct. Dyn. 4 (1976) 245-249. Cost: one pass over
    the skin.
    """
    area = np.zeros(len(mesh.points))
    member = np.zeros(len(mesh.points), dtype=bool)
    member[nodes] = True
    cell, side = np.asarray(mesh.boundary_faces).T
    first = 0
    for block in mesh.cells:
        shape = element(block.kind)
        for number, corners in enumerate(shape.faces):
            chosen = cell[(side == number) & (cell >= first) & (cell < first + len(block.connectivity))] - first
            local = np.asarray(corners)
            whole = block.connectivity[chosen[member[block.connectivity[chosen][:, local]].all(axis=1)]]
            if len(whole):
                np.add.at(area, whole[:, local], face_shares(shape, number, mesh.points[whole]))
        first += len(block.connectivity)
    area = area[nodes]
    return area if (area > 0).all() else None


def face_shares(
    shape: Element, number: int, x: Float[np.ndarray, "nf nn 3"], consistent: bool = False
) -> Float[np.ndarray, "nf k"]:
    """The parts (nf, face nodes) of the area of face `number` of cells, with node positions x, that its nodes stand
    for; `consistent`: the integrals `int N_i dA` themselves."""
    local = np.asarray(shape.faces[number])
    xi, tangents, weights = _face_points(shape, number)
    N = shape.shape(xi)[:, local]  # points, face nodes
    along = np.einsum("qna,qat->qnt", shape.gradient(xi), tangents)
    t = np.einsum("fnk,qnt->fqtk", x, along)
    dA = np.linalg.norm(np.cross(t[:, :, 0], t[:, :, 1]), axis=2) * weights
    if consistent:
        return np.asarray(dA @ N)
    diagonal = dA @ (N * N)
    return diagonal * (dA.sum(axis=1) / diagonal.sum(axis=1))[:, None]


def shell_shares(shape: Element, local: tuple[int, ...], x: Float[np.ndarray, "nn 3"]) -> Float[np.ndarray, " k"]:
    """The parts of the area of a shell with the nodes `x` that its nodes stand for; or of the length of an edge, whose
    nodes are at the places `local`, first its ends."""
    if len(local) == shape.nodes:
        return np.asarray(face_shares(replace(shape, faces=(local,)), 0, x[None])[0])
    parts = np.array([1.0, 1.0]) / 2 if len(local) == 2 else np.array([1.0, 1.0, 4.0]) / 6
    return np.asarray(parts * np.linalg.norm(x[local[1]] - x[local[0]]))


def _face_points(shape: Element, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quadrature of one face in the cell's reference coordinates: points (q, 3), tangents (q, 3, 2), weights (q,)."""
    local = [node for node in shape.faces[number] if node < shape.corners]
    corner = np.asarray(shape.coordinates)[local]
    s, w = _LINE
    a, b = np.meshgrid(s, s, indexing="ij")
    a, b, weights = (1 + a.ravel()) / 2, (1 + b.ravel()) / 2, np.outer(w, w).ravel() / 4
    if len(local) == 3:  # the square collapsed onto the triangle
        weights = weights * (1 - a)
        b = b * (1 - a)
        u, v = corner[1] - corner[0], corner[2] - corner[0]
        return corner[0] + np.outer(a, u) + np.outer(b, v), np.tile(np.stack([u, v], axis=1), (len(a), 1, 1)), weights
    N = np.stack([(1 - a) * (1 - b), a * (1 - b), a * b, (1 - a) * b], axis=1)
    du = np.stack([b - 1, 1 - b, b, -b], axis=1) @ corner
    dv = np.stack([a - 1, -a, a, 1 - a], axis=1) @ corner
    return N @ corner, np.stack([du, dv], axis=2), weights

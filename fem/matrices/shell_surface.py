"""Stresses of shells through their thickness, and their surface as pictures show it: bottom, top and edges."""

import numpy as np
from jaxtyping import Float, Int

from fem.matrices.assumed_strains import shapes
from fem.matrices.beam_surface import BeamSurface
from fem.matrices.cell_matrices import VOIGT
from fem.matrices.shell_matrices import CHUNK, Shells, cartesian

_GAUSS = 1 / np.sqrt(3)


def layers(
    shells: Shells, fields: Float[np.ndarray, "e d k"], heights: tuple[float, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Places (p, 3), displacements (p, 3, k) and stresses (p, 6, k; xx, yy, zz, xy, yz, zx) of fields at the directors
    of shells, at `heights` from -1 (bottom) to 1 (top), height by height; and the places in the list of the corners of
    cells (e, n) at the first height.

    In each cell the stresses are those of the assumed strains, linear between the points where they are most accurate;
    at a director the mean over its cells, weighted by area.
    """
    vertices, local = np.unique(shells.vertex, return_inverse=True)
    local = local.reshape(shells.vertex.shape)
    count, n, k = len(vertices), shells.corners, fields.shape[2]
    places, moved, stresses = [], [], []
    for t in heights:
        z = shells.shell.offset + t * shells.shell.thickness / 2
        x = np.zeros((count, 3))
        x[local] = shells.x + z * shells.V
        nodal = fields.reshape(len(shells.x), n, 6, k)
        u = np.zeros((count, 3, k))
        u[local] = nodal[:, :, :3] + z * np.cross(nodal[:, :, 3:], shells.V[..., None], axis=2)
        total, weights = np.zeros((count, 6, k)), np.zeros(count)
        for chunk in (slice(i, i + CHUNK) for i in range(0, len(shells.x), CHUNK)):
            stress, area = corner_stresses(shells, chunk, fields[chunk], t)
            np.add.at(total, local[chunk], stress * area[:, None, None, None])
            np.add.at(weights, local[chunk], np.broadcast_to(area[:, None], local[chunk].shape))
        places.append(x)
        moved.append(u)
        stresses.append(total / weights[:, None, None])
    return np.concatenate(places), np.concatenate(moved), np.concatenate(stresses), local


def corner_stresses(shells: Shells, chunk: slice, fields: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Stresses (e, n, 6, k) at the corners of cells at the height t, in the axes of the mesh, and areas (e,)."""
    quadrilateral = shells.corners == 4
    plane = [(r, s) for r in (-_GAUSS, _GAUSS) for s in (-_GAUSS, _GAUSS)] if quadrilateral else [(1 / 3, 1 / 3)]
    points = tuple((r, s, t) for r, s in plane)
    B, det = shells.strains(chunk, points)
    strain = B @ (shells.follow(chunk) @ fields)[:, None]
    S = shells.shell.elasticity @ strain  # e, q, 5, k
    g, axis = shells.bases(chunk, points), shells.first_axis(chunk)
    _, _, axes = cartesian(g, axis[:, None])
    tensor = np.zeros((*S.shape[:2], 3, 3, S.shape[3]))
    for row, (i, j) in enumerate(((0, 0), (1, 1), (0, 1), (0, 2), (1, 2))):
        tensor[:, :, i, j] = tensor[:, :, j, i] = S[:, :, row]
    world = np.einsum("eqai,eqabk,eqbj->eqijk", axes, tensor, axes, optimize=True)
    at = np.stack([world[:, :, i, j] for i, j in VOIGT], axis=2)
    if not quadrilateral:
        return np.repeat(at, 3, axis=1), det[:, 0]
    spread = np.stack([shapes(4, np.sqrt(3) * r, np.sqrt(3) * s)[0] for r, s in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    return np.einsum("cq,eqik->ecik", spread[:, [0, 3, 1, 2]], at), det.sum(axis=1)


def shell_surface(shells: Shells, nodes: Int[np.ndarray, "e n"], fields: Float[np.ndarray, "e d k"]) -> BeamSurface:
    """The surface of shells with the `nodes` of their cells, for the values of `fields` at their dofs."""
    x, u, stress, local = layers(shells, fields, (-1.0, 1.0))
    count = len(x) // 2
    n = shells.corners
    fans = [local[:, [0, k, k + 1]] for k in range(1, n - 1)]
    top = np.concatenate(fans) + count
    bottom = np.concatenate(fans)[:, ::-1]
    ends = np.concatenate([local[:, [k, (k + 1) % n]] for k in range(n)])
    _, first, times = np.unique(np.sort(ends, axis=1), axis=0, return_index=True, return_counts=True)
    rim = ends[first[times == 1]]
    sides = np.concatenate(
        [np.column_stack([rim, rim[:, 1] + count]), np.column_stack([rim[:, 0], rim[:, 1] + count, rim[:, 0] + count])]
    )
    node = np.zeros(count, dtype=np.int64)
    node[local] = nodes
    both = np.tile(np.column_stack([node, node]), (2, 1))
    triangles = np.concatenate([bottom, top, sides])
    return BeamSurface(x, triangles, both, np.zeros(len(x)), u.astype(np.float32), stress.astype(np.float32))

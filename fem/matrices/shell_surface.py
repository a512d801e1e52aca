"""Stresses of shells through their thickness, and their surface as pictures show it: bottom, top and edges."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Int

from fem.elements import SHELLS
from fem.matrices.assumed_strains import CENTRE, Point, plane_rule
from fem.matrices.beam_surface import BeamSurface
from fem.matrices.cell_matrices import VOIGT
from fem.matrices.shell_matrices import Shells
from fem.matrices.shell_strains import cartesian
from fem.mesh.directors import SIDES, drawn_triangles
from fem.sections.layup import turn_of_strains


def layers(
    shells: Shells, fields: Float[np.ndarray, "e d k"], levels: tuple[tuple[int, float], ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Places (p, 3), displacements (p, 3, k) and stresses (p, 6, k; xx, yy, zz, xy, yz, zx) of fields at the directors
    of shells, at the plies and heights of `levels`, one after the other; and the places in the list of the corners of
    cells (e, n) at the first level.

    In each cell the stresses are those of the assumed strains, linear between the points where they are most accurate;
    at a director the mean over its cells, weighted by area.
    """
    vertices, local = np.unique(shells.vertex, return_inverse=True)
    local = local.reshape(shells.vertex.shape)
    count, n, k = len(vertices), shells.count, fields.shape[2]
    places, moved, stresses = [], [], []
    for ply, height in levels:
        z = shells.shell.offset + height
        x = np.zeros((count, 3))
        x[local] = shells.x[:, :n] + z * shells.V[:, :n]
        nodal = fields.reshape(len(shells.x), n, 6, k)
        u = np.zeros((count, 3, k))
        u[local] = nodal[:, :, :3] + z * np.cross(nodal[:, :, 3:], shells.V[:, :n, :, None], axis=2)
        total, weights = np.zeros((count, 6, k)), np.zeros(count)
        for chunk in shells.chunks():
            stress, area = corner_stresses(shells, chunk, fields[chunk], ply, height)
            np.add.at(total, local[chunk], stress * area[:, None, None, None])
            np.add.at(weights, local[chunk], np.broadcast_to(area[:, None], local[chunk].shape))
        places.append(x)
        moved.append(u)
        stresses.append(total / weights[:, None, None])
    return np.concatenate(places), np.concatenate(moved), np.concatenate(stresses), local


def corner_stresses(
    shells: Shells, chunk: slice, fields: np.ndarray, ply: int, z: float
) -> tuple[np.ndarray, np.ndarray]:
    """Stresses (e, count, 6, k) at the nodes of cells in a ply at the height z, in the axes of the mesh, and areas
    (e,)."""
    local, axes, area = _stresses_at_points(shells, chunk, fields, ply, z)
    tensor = np.zeros((*local.shape[:2], 3, 3, local.shape[3]))
    for row, (i, j) in enumerate(((0, 0), (1, 1), (0, 1), (0, 2), (1, 2))):
        tensor[:, :, i, j] = tensor[:, :, j, i] = local[:, :, row]
    world = np.einsum("eqai,eqabk,eqbj->eqijk", axes, tensor, axes, optimize=True)
    at = np.stack([world[:, :, i, j] for i, j in VOIGT], axis=2)
    return np.einsum("cq,eqik->ecik", _spread(shells.n)[: shells.count], at), area


@dataclass(frozen=True, eq=False)
class PlyStresses:
    """Stresses of the plies of a group of shell cells, bottom and top of each, from the bottom of the shell.

    - `nodes` (v,): numbers of the nodes; one at a fold has several places;
    - `ply`, `height` (s,): number of the ply, and distance from the middle of the shell;
    - `places` (s, v, 3); `stresses` (s, v, 5, k) of k fields, 11, 22, 12, 13, 23 in the axes of the ply's material.
    """

    nodes: Int[np.ndarray, " v"]
    ply: Int[np.ndarray, " s"]
    height: Float[np.ndarray, " s"]
    places: Float[np.ndarray, "s v 3"]
    stresses: Float[np.ndarray, "s v 5 k"]


def ply_stresses(shells: Shells, nodes: Int[np.ndarray, "e n"], fields: Float[np.ndarray, "e d k"]) -> PlyStresses:
    """Stresses of fields at the `nodes` of cells, at the bottom and the top of every ply; at a director the mean over
    its cells, weighted by area."""
    vertices, local = np.unique(shells.vertex, return_inverse=True)
    local = local.reshape(shells.vertex.shape)
    node = np.zeros(len(vertices), dtype=np.int64)
    node[local] = nodes
    section = shells.shell.section
    levels = [(k, float(z)) for k in range(len(section.plies)) for z in section.heights[k : k + 2]]
    places = np.zeros((len(levels), len(vertices), 3))
    found = np.zeros((len(levels), len(vertices), 5, fields.shape[2]))
    for level, (ply, z) in enumerate(levels):
        places[level][local] = shells.x[:, : shells.count] + (shells.shell.offset + z) * shells.V[:, : shells.count]
        T, R = turn_of_strains(section.plies[ply].angle)
        turn = np.zeros((5, 5))
        turn[:3, :3], turn[3:, 3:] = np.linalg.inv(T).T, R
        weights = np.zeros(len(vertices))
        for chunk in shells.chunks():
            at, _, area = _stresses_at_points(shells, chunk, fields[chunk], ply, z)
            corners = np.einsum("cq,eqik->ecik", _spread(shells.n)[: shells.count], turn @ at)
            np.add.at(found[level], local[chunk], corners * area[:, None, None, None])
            np.add.at(weights, local[chunk], np.broadcast_to(area[:, None], local[chunk].shape))
        found[level] /= weights[:, None, None]
    ply_of, heights = (np.array(values) for values in zip(*levels, strict=True))
    return PlyStresses(node, ply_of, heights, places, found)


def _stresses_at_points(
    shells: Shells, chunk: slice, fields: np.ndarray, ply: int, z: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stresses (e, q, 5, k; xx, yy, xy, xz, yz) in a ply at the height z, in the local axes (e, q, 3, 3), where they
    are most accurate in a cell; areas (e,)."""
    points = _accurate(shells.n)
    B, area = shells.strains(chunk, points)
    strain = B @ shells.follow(chunk, fields)[:, None]
    _, _, axes = cartesian(shells.bases(chunk, points), shells.first_axis(chunk)[:, None])
    return shells.shell.section.stresses(ply, z) @ strain, axes, area.sum(axis=1)


def _accurate(n: int) -> tuple[Point, ...]:
    """The points of a cell whose strains are most accurate."""
    if n == 3:
        return (CENTRE[3],)
    return plane_rule(4)[0] if n != 6 else ((1 / 6, 1 / 6), (2 / 3, 1 / 6), (1 / 6, 2 / 3))


@cache
def _spread(n: int) -> np.ndarray:
    """Values at the nodes of cells (n, q) from those at the accurate points, linear or bilinear between them."""
    kind = {3: "triangle", 4: "quad", 6: "triangle6", 9: "quad9"}[n]
    nodes, points = SHELLS[kind].coordinates, np.array(_accurate(n))
    if n == 3:
        return np.ones((3, 1))

    def terms(x: np.ndarray) -> np.ndarray:
        columns = [np.ones(len(x)), x[:, 0], x[:, 1]]
        return np.column_stack(columns if n == 6 else [*columns, x[:, 0] * x[:, 1]])

    return np.asarray(terms(nodes) @ np.linalg.inv(terms(points)))


def shell_surface(shells: Shells, nodes: Int[np.ndarray, "e n"], fields: Float[np.ndarray, "e d k"]) -> BeamSurface:
    """The surface of shells with the `nodes` of their cells, for the values of `fields` at their dofs."""
    x, u, stress, local = layers(shells, fields, (shells.shell.section.levels[0], shells.shell.section.levels[-1]))
    count = len(x) // 2
    fans = drawn_triangles(local)
    top, bottom, ring = fans + count, fans[:, ::-1], SIDES[shells.count]
    ends = np.concatenate([local[:, [a, b]] for a, b in zip(ring, (*ring[1:], ring[0]), strict=True)])
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

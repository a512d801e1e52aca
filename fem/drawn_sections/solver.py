"""Constants of a cross-section from a mesh of it: area, inertia, torsion, shear centre, warping, shear factors.

The warping of Saint-Venant's torsion and the stress functions of shear forces (for Poisson's ratio 0, so that a
rectangle has the factor 5/6) are found by finite elements of second order. Shear factors are those of equal energy.
Sources: Pilkey, "Analysis and Design of Elastic Beams" (2002), chapters 5 and 6; Gruttmann and Wagner, "Shear
correction factors in Timoshenko's beam theory for arbitrary shaped cross-sections", Comput. Mech. 27 (2001) 199-207.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from scipy.sparse.csgraph import connected_components

from fem.elements import SHELLS
from fem.errors import MeshError
from fem.mesh.mesh import Mesh

_QUADRATIC = {"triangle": "triangle6", "quad": "quad8", "triangle6": "triangle6", "quad8": "quad8", "quad9": "quad9"}
SHARP = float(np.deg2rad(30.0))
"""Angle by which the outline turns at a sharp corner; smaller ones draw a curve."""
_XI, _W = np.polynomial.legendre.leggauss(4)
_SQUARE = (np.array([(a, b, 0.0) for a in _XI for b in _XI]), np.array([a * b for a in _W for b in _W]))
_TRIANGLE = (  # the square, folded onto the triangle
    np.array([((1 + a) / 2, (1 - a) / 2 * (1 + b) / 2, 0.0) for a, b, _ in _SQUARE[0].tolist()]),
    np.array([w * (1 - a) / 8 for (a, _, _), w in zip(_SQUARE[0].tolist(), _SQUARE[1].tolist(), strict=True)]),
)


@dataclass(frozen=True, eq=False)
class SectionConstants:
    """Constants of a section, in its principal axes through the centroid where nothing else is said.

    - `area`; `centroid` (y, z) in the drawing; `angle`: degrees from the axes of the drawing to the principal ones, by
      the right-hand rule about x; `Iy`, `Iz`; `J`; `shear_centre` (y, z); `warping`: the constant about it;
    - `shear_y`, `shear_z`: shear factors;
    - `outline` (p, 2): the outer boundary, from y towards z: its corners, and the middles of sides that end at a sharp
      one; `outline_warping` (p,): the warping function there, zero in the mean and about the shear centre;
      `outline_shear` (p, 2): the shear strains (xy, xz) of torsion there per unit rate of twist. They are zero at sharp
      corners; at those that point inwards, where they are infinite in theory, they are limited to those in the middles
      of the sides beside.
    """

    area: float
    centroid: tuple[float, float]
    angle: float
    Iy: float
    Iz: float
    J: float
    shear_centre: tuple[float, float]
    warping: float
    shear_y: float
    shear_z: float
    outline: np.ndarray
    outline_warping: np.ndarray
    outline_shear: np.ndarray


def constants_of(mesh: Mesh) -> SectionConstants:
    """Constants of the section that a mesh of triangles and quadrilaterals in its x-y plane draws: x and y there are y
    and z of the beam.

    Raises `MeshError` for other cells, points out of the plane, cells that are folded, and a section in several pieces.
    """
    size = float(np.ptp(mesh.points, axis=0).max())
    if any(block.kind not in _QUADRATIC for block in mesh.cells) or np.ptp(mesh.points[:, 2]) > 1e-9 * size:
        raise MeshError(
            f"Section {mesh.name!r}: a section is a mesh of {', '.join(_QUADRATIC)} cells in the plane of x and y; "
            f"found {', '.join(mesh.kinds)} cells, and z from {mesh.points[:, 2].min():g} to "
            f"{mesh.points[:, 2].max():g}."
        )
    points, blocks = _of_second_order(mesh)
    cells = [_Cells.of(mesh.name, kind, points, rows) for kind, rows in blocks]
    joined = sp.coo_matrix(
        (np.ones(sum(rows.size for _, rows in blocks)), (
            np.concatenate([rows.ravel() for _, rows in blocks]),
            np.concatenate([np.repeat(rows[:, 0], rows.shape[1]) for _, rows in blocks]),
        )),
        shape=(len(points), len(points)),
    )  # fmt: skip
    pieces, _ = connected_components(joined, directed=False)
    if pieces > 1:
        raise MeshError(
            f"Section {mesh.name!r}: its cells are {pieces} pieces without common nodes; "
            "fem.merge_nodes joins those that touch."
        )
    area = sum(float(c.dA.sum()) for c in cells)
    centroid = sum(np.einsum("eq,eqx->x", c.dA, c.x) for c in cells) / area
    second = sum(np.einsum("eq,eqx,eqy->xy", c.dA, c.x - centroid, c.x - centroid, optimize=True) for c in cells)
    turn = 0.5 * np.arctan2(2 * second[0, 1], second[0, 0] - second[1, 1])
    if abs(second[0, 1]) < 1e-9 * np.trace(second):
        turn = 0.0  # the axes of the drawing are principal, or all are
    R = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    cells = [c.moved(centroid, R) for c in cells]
    Iz, Iy = np.diag(R @ second @ R.T)
    found = _Fields.of(len(points), cells, Iy, Iz)
    y, z = found.shear_centre
    boundary, turns = _outline(mesh, points, blocks)
    places = (points - centroid) @ R.T
    sheared = _twisting_shear(places, blocks, found.potential, boundary)
    beside = np.linalg.norm(sheared, axis=1)
    beside = np.maximum(np.roll(beside, 1), np.roll(beside, -1))
    inwards = turns < -SHARP
    sheared[inwards] *= np.minimum(1, beside / np.linalg.norm(sheared, axis=1))[inwards, None]
    sheared[turns > SHARP] = 0.0  # both sides are free
    at = places[boundary]
    return SectionConstants(
        area=float(area),
        centroid=(float(centroid[0]), float(centroid[1])),
        angle=float(np.rad2deg(turn)),
        Iy=float(Iy),
        Iz=float(Iz),
        J=found.J,
        shear_centre=(y, z),
        warping=found.warping,
        shear_y=1 / (area * found.flexible[0]),
        shear_z=1 / (area * found.flexible[1]),
        outline=at,
        outline_warping=found.potential[boundary] - z * at[:, 0] + y * at[:, 1],
        outline_shear=sheared,
    )


def _of_second_order(mesh: Mesh) -> tuple[np.ndarray, list[tuple[str, np.ndarray]]]:
    """Points (n, 2) and cells with nodes in the middle of their sides."""
    points = [mesh.points[:, :2]]
    count = len(mesh.points)
    middle: dict[tuple[int, int], int] = {}
    blocks = []
    for block in mesh.cells:
        rows = block.connectivity
        corners = SHELLS[block.kind].corners
        if rows.shape[1] == corners:
            added = np.empty_like(rows)
            for e, nodes in enumerate(rows.tolist()):
                for k in range(corners):
                    a, b = sorted((nodes[k], nodes[(k + 1) % corners]))
                    if (a, b) not in middle:
                        middle[a, b] = count
                        count += 1
                        points.append((mesh.points[a, :2] + mesh.points[b, :2])[None] / 2)
                    added[e, k] = middle[a, b]
            rows = np.column_stack([rows, added])
        blocks.append((_QUADRATIC[block.kind], rows))
    return np.concatenate(points), blocks


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells at their points of integration: N (q, n), gradients (e, q, 2, n), places (e, q, 2), areas (e, q)."""

    rows: np.ndarray
    N: np.ndarray
    gradients: np.ndarray
    x: np.ndarray
    dA: np.ndarray

    @staticmethod
    def of(name: str, kind: str, points: np.ndarray, rows: np.ndarray) -> "_Cells":
        shape = SHELLS[kind]
        xi, weights = _TRIANGLE if shape.corners == 3 else _SQUARE
        N, dN = shape.shape(xi), shape.gradient(xi)[:, :, :2]
        J = np.einsum("qnk,enx->eqkx", dN, points[rows])
        determinant = np.linalg.det(J)
        sign = np.sign(determinant.mean(axis=1, keepdims=True))  # the mesh may be seen from behind
        least = (determinant * sign).min(axis=1)
        if not (least > 1e-9 * np.ptp(points[rows], axis=1).max(axis=1) ** 2).all():
            bad = int(np.argmin(least))
            raise MeshError(f"Section {name!r}: {kind} cell {bad} is collapsed, or folded over itself.")
        gradients = np.einsum("eqxk,qnk->eqxn", np.linalg.inv(J), dN)
        return _Cells(rows, N, gradients, np.einsum("qn,enx->eqx", N, points[rows]), np.abs(determinant) * weights)

    def moved(self, origin: np.ndarray, R: np.ndarray) -> "_Cells":
        """The same in axes R (rows) about an origin."""
        gradients = np.einsum("ij,eqjn->eqin", R, self.gradients)
        return _Cells(self.rows, self.N, gradients, (self.x - origin) @ R.T, self.dA)


@dataclass(frozen=True, eq=False)
class _Fields:
    """Results of the three potentials."""

    J: float
    shear_centre: tuple[float, float]
    warping: float
    flexible: tuple[float, float]
    potential: np.ndarray
    """The warping function about the centroid at the points."""

    @staticmethod
    def of(n: int, cells: list[_Cells], Iy: float, Iz: float) -> "_Fields":
        loads = np.zeros((n, 4))  # of torsion, of shear along y and z; integrals of the shape functions
        K, M = sp.csr_matrix((n, n)), sp.csr_matrix((n, n))
        for c in cells:
            y, z = c.x[..., 0], c.x[..., 1]
            turned = np.einsum("eq,eqn->en", c.dA * z, c.gradients[:, :, 0]) - np.einsum(
                "eq,eqn->en", c.dA * y, c.gradients[:, :, 1]
            )
            own = [turned, *((c.dA * w) @ c.N for w in (y / Iz, z / Iy, np.ones_like(y)))]
            for column, values in enumerate(own):
                np.add.at(loads[:, column], c.rows, values)
            stiff = np.einsum("eq,eqxa,eqxb->eab", c.dA, c.gradients, c.gradients, optimize=True)
            mass = np.einsum("eq,qa,qb->eab", c.dA, c.N, c.N, optimize=True)
            k = c.rows.shape[1]
            i, j = np.repeat(c.rows, k, axis=1).ravel(), np.tile(c.rows, (1, k)).ravel()
            K = K + sp.csr_matrix((stiff.ravel(), (i, j)), shape=(n, n))
            M = M + sp.csr_matrix((mass.ravel(), (i, j)), shape=(n, n))
        border = sp.csr_matrix(loads[:, 3:])
        A = sp.bmat([[K, border], [border.T, None]], format="csc")  # potentials of zero mean
        w, psi_y, psi_z = sl.splu(A).solve(np.vstack([loads[:, :3], np.zeros((1, 3))]))[:-1].T
        J = Iy + Iz - float(w @ loads[:, 0])
        moments = np.array([w @ loads[:, 1] * Iz, w @ loads[:, 2] * Iy])  # of the warping with y and z
        at = -float(moments[1]) / Iy, float(moments[0]) / Iz
        about_centroid = float(w @ (M @ w))
        warping = about_centroid - Iz * at[1] ** 2 - Iy * at[0] ** 2
        return _Fields(J, at, warping, (float(psi_y @ loads[:, 1]), float(psi_z @ loads[:, 2])), w)


def _twisting_shear(
    points: np.ndarray, blocks: list[tuple[str, np.ndarray]], potential: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """Shear strains (p, 2) of a unit rate of twist at `wanted` points, means over their cells."""
    total, count = np.zeros((len(points), 2)), np.zeros(len(points))
    for kind, rows in blocks:
        dN = SHELLS[kind].gradient(SHELLS[kind].coordinates)[:, :, :2]
        J = np.einsum("qnk,enx->eqkx", dN, points[rows])
        slope = np.linalg.solve(J, np.einsum("qnk,en->eqk", dN, potential[rows])[..., None])[..., 0]
        np.add.at(total, rows, slope)
        np.add.at(count, rows, 1.0)
    at = points[wanted]
    return np.asarray(total[wanted] / count[wanted, None] + np.column_stack([-at[:, 1], at[:, 0]]))


def _outline(mesh: Mesh, points: np.ndarray, blocks: list[tuple[str, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Points of the longest loop of sides that belong to one cell only, counter-clockwise, and the angles by which it
    turns there, to the left: its corners, and the points in the middles of sides that end at a sharp one. `points` and
    `blocks`: the cells with nodes in the middles of their sides."""
    sides: dict[tuple[int, int], tuple[int, int]] = {}
    for block in mesh.cells:
        corners = SHELLS[block.kind].corners
        for nodes in block.connectivity[:, :corners].tolist():
            for a, b in zip(nodes, nodes[1:] + nodes[:1], strict=True):
                key = (min(a, b), max(a, b))
                if sides.pop(key, None) is None:
                    sides[key] = (a, b)
    after = dict(sides.values())
    loops = []
    while after:
        first, node = after.popitem()
        loop = [first]
        while node != first and node in after:
            loop.append(node)
            node = after.pop(node)
        loops.append(np.array(loop))
    areas = [_area(mesh.points[loop, :2]) for loop in loops]
    outer = loops[int(np.argmax(np.abs(areas)))]
    outer = outer if max(areas, key=abs) > 0 else outer[::-1]
    turn = _turns(mesh.points[outer, :2])
    corner = np.flatnonzero(np.abs(turn) > 1e-6)
    middle = _middles(blocks)
    found, turns = [], []
    for a, b in zip(corner.tolist(), np.roll(corner, -1).tolist(), strict=True):
        found.append(int(outer[a]))
        turns.append(turn[a])
        if max(abs(turn[a]), abs(turn[b])) > SHARP:
            along = np.roll(outer, -a)[: (b - a) % len(outer) + 1]
            between = [middle[min(p, q), max(p, q)] for p, q in pairwise(along.tolist())]
            inside = np.array([*along[1:-1], *between])
            apart = np.linalg.norm(points[inside] - points[outer[[a, b]]].mean(axis=0), axis=1)
            found.append(int(inside[np.argmin(apart)]))
            turns.append(0.0)
    return np.array(found), np.array(turns)


def _middles(blocks: list[tuple[str, np.ndarray]]) -> dict[tuple[int, int], int]:
    """The node in the middle of each side, by the corners at its ends."""
    found = {}
    for kind, rows in blocks:
        corners = SHELLS[kind].corners
        for nodes in rows.tolist():
            for k in range(corners):
                a, b = nodes[k], nodes[(k + 1) % corners]
                found[min(a, b), max(a, b)] = nodes[corners + k]
    return found


def _area(loop: np.ndarray) -> float:
    after = np.roll(loop, -1, axis=0)
    return float((loop[:, 0] * after[:, 1] - loop[:, 1] * after[:, 0]).sum() / 2)


def _turns(loop: np.ndarray) -> np.ndarray:
    """Angles (radians) by which a loop turns at its points, to the left."""
    before, after = loop - np.roll(loop, 1, axis=0), np.roll(loop, -1, axis=0) - loop
    across = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    return np.asarray(np.arctan2(across, (before * after).sum(axis=1)))

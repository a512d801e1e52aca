"""Kinematics of shell cells: assumed strains as quadratic forms of positions and directors, and their local axes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from fem.axes.cylindrical import CylindricalAxes
from fem.axes.sides import SideAxes
from fem.errors import MeshError
from fem.matrices.assumed_strains import CENTRE, PAIRS, Point, Tables, distortion, plane_rule, shapes, tables
from fem.shell import Shell

CHUNK = 128
"""Cells a batch."""
FLAT = 1e-8
"""A cell whose area at a point is below this fraction of the square of its extent counts as collapsed."""


@dataclass(frozen=True, eq=False)
class ShellCells:
    """Cells of one shell and one number of nodes.

    - `x`, `V` (e, n, 3): nodes and directors. Cells of eight nodes have n = 9: the last is inside the cell;
    - `vertex` (e, count): numbers of the directors, of the nodes of the mesh;
    - `on_solids` (e,): which cells of eight nodes are faces of solids.
    """

    shell: Shell
    x: Float[np.ndarray, "e n 3"]
    V: Float[np.ndarray, "e n 3"]
    vertex: Int[np.ndarray, "e count"]
    on_solids: Bool[np.ndarray, " e"]

    @property
    def n(self) -> int:
        """Number of nodes of the interpolation: 3, 4, 6 or 9."""
        return int(self.x.shape[1])

    @property
    def count(self) -> int:
        """Number of nodes of the mesh in a cell."""
        return int(self.vertex.shape[1])

    @property
    def bubbles(self) -> int:
        """Number of dofs of the bubble."""
        return 2 if self.n in (3, 6) else 0

    @property
    def inner(self) -> int:
        """Number of dofs inside a cell: of a node, of the bubble, of the enhanced strains."""
        return 6 * (self.n - self.count) + self.bubbles + (4 if self.n == 4 else 0)

    @cached_property
    def middle(self) -> Float[np.ndarray, "e n 3"]:
        """Positions of the middle surface at the nodes."""
        return self.x + self.shell.offset * self.V

    def chunks(self) -> Iterator[slice]:
        """Batches of cells."""
        return (slice(k, min(k + CHUNK, len(self.x))) for k in range(0, len(self.x), CHUNK))

    def bases(self, chunk: slice, points: tuple[Point, ...]) -> np.ndarray:
        """Covariant base vectors (e, q, 3, 3) in rows: of the middle surface, and the director."""
        table = [shapes(self.n, *p) for p in points]
        dN, N = np.stack([t[1] for t in table]), np.stack([t[0] for t in table])
        g = (dN.reshape(-1, self.n) @ self.middle[chunk]).reshape(-1, len(points), 2, 3)
        return np.concatenate([g, (N @ self.V[chunk])[:, :, None]], axis=2)

    def first_axis(self, chunk: slice) -> np.ndarray:
        """Directions (e, 3) close to which the first local axis of cells is."""
        given = self.shell.x_axis
        if isinstance(given, CylindricalAxes):
            return given.at(np.einsum("i,eix->ex", shapes(self.n, *CENTRE[self.n])[0], self.x[chunk]))[:, 0]
        g = self.bases(chunk, (CENTRE[self.n],))[:, 0]
        if isinstance(given, SideAxes):
            normals = np.cross(g[:, 0], g[:, 1])
            sides = self.x[chunk][:, 1] - self.x[chunk][:, 0]
            return given.along(sides, normals / np.linalg.norm(normals, axis=1, keepdims=True))
        if given is not None:
            return np.broadcast_to(np.asarray(given, dtype=float), (len(self.x[chunk]), 3))
        return np.asarray(g[:, 0])

    def insist_on_area(self, chunk: slice) -> None:
        """Refuse cells that are collapsed or folded over, also at a corner, where the strains of quadrilaterals that
        are triangles have no limit."""
        corners = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)) if self.n == 4 else ()
        g = self.bases(chunk, (*plane_rule(self.n)[0], *corners))
        area = np.cross(g[:, :, 0], g[:, :, 1])
        extent = np.ptp(self.x[chunk], axis=1).max(axis=1)
        across = np.einsum("epx,epx->ep", area, g[:, :, 2]).min(axis=1) / extent**2
        alike = np.einsum("epx,ex->ep", area, area.mean(axis=1)).min(axis=1) / extent**4
        least = np.minimum(across, alike)
        if not (least > FLAT).all():
            bad = int(np.argmin(least))
            raise MeshError(
                f"A shell cell with the nodes {np.round(self.x[chunk][bad], 6).tolist()} is collapsed, or folded "
                "over itself. Check the order of its nodes."
            )

    def bubble(self, chunk: slice) -> tuple[np.ndarray, np.ndarray]:
        """The director (e, 3) in the middle of triangles, and the two directions (e, 3, 2) of its bubble."""
        N = shapes(self.n, *CENTRE[self.n])[0]
        V = np.einsum("i,eix->ex", N, self.V[chunk])
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        a = np.cross(V, self.x[chunk, 1] - self.x[chunk, 0])
        a /= np.linalg.norm(a, axis=1, keepdims=True)
        return V, np.stack([a, np.cross(V, a)], axis=2)

    def rows(self, chunk: slice, table: Tables) -> np.ndarray:
        """Tied strain rows (e, j, 6 n + bubbles), for [u, theta] of the nodes and the bubble."""
        x, V, n = self.middle[chunk], self.V[chunk], self.n
        u = (table.H.reshape(-1, n) @ x + table.G.reshape(-1, n) @ V).reshape(len(x), -1, n, 3)
        lever = (table.G.transpose(0, 2, 1).reshape(-1, n) @ x).reshape(u.shape)
        if self.shell.offset:
            lever += self.shell.offset * u
        theta = np.cross(V[:, None], lever)
        rows = np.concatenate([u, theta], axis=3).reshape(len(x), -1, 6 * n)
        if not self.bubbles:
            return rows
        return np.concatenate([rows, (table.F @ x) @ self.bubble(chunk)[1]], axis=2)

    def strain_map(self, chunk: slice, points: tuple[Point, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The map (e, 8 q, j) from the tied rows to the strains at points in local axes, and the areas (e, q) of the
        middle surface there."""
        table, x = tables(self.n, points), self.x[chunk]
        along = self.first_axis(chunk)[:, None]
        T, area, _ = cartesian(self.bases(chunk, points), along)
        e, q = area.shape
        if len(table.W) > 1:
            W = (distortion(x) @ table.W.reshape(len(table.W), -1)).reshape(e, q, 8, -1)
        else:
            W = table.W.reshape(1, q, 8, -1)
        made = T @ W
        if table.lost is not None:
            own, weights = plane_rule(self.n)
            Tk, areas, _ = cartesian(self.bases(chunk, own), along) if points != own else (T, area, None)
            share = areas * weights / (areas @ weights)[:, None]
            for first in (0, 1):  # of strains, of curvatures
                rows = slice(3 * first, 3 * first + 3)
                mean = (share[..., None] * Tk[:, :, rows, 3 * first + 2]).swapaxes(1, 2) @ table.lost[first::2]
                made[:, :, rows] += mean[:, None]
        return made.reshape(e, 8 * q, -1), area

    def strains(self, chunk: slice, points: tuple[Point, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Assumed strains (e, q, 8, d) of cells at points in local axes, for all their dofs, and areas (e, q)."""
        made, area = self.strain_map(chunk, points)
        B = (made @ self.rows(chunk, tables(self.n, points))).reshape(len(area), len(points), 8, -1)
        if self.n != 4:
            return B, area
        T0, area0, _ = cartesian(self.bases(chunk, (CENTRE[4],)), self.first_axis(chunk)[:, None])
        r, s = np.array(points).T
        modes = np.zeros((len(points), 3, 4))
        modes[:, 0, 0], modes[:, 1, 1], modes[:, 2, 2], modes[:, 2, 3] = r, s, r, s
        enhanced = np.zeros((*B.shape[:3], 4))
        enhanced[:, :, :3] = (area0 / area)[..., None, None] * (T0[:, :, :3, :3] @ modes)
        return np.concatenate([B, enhanced], axis=3), area


def cartesian(g: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From covariant rows to local axes (e, p, 8, 8), the first close to `along`; areas (e, p), as thickness is
    measured along the directors; and the axes (e, p, 3, 3) in rows."""
    cross = np.cross(g[:, :, 0], g[:, :, 1])
    n = cross / np.maximum(np.linalg.norm(cross, axis=2, keepdims=True), np.finfo(float).tiny)
    area = np.einsum("epx,epx->ep", cross, g[:, :, 2])
    first = along - (along * n).sum(axis=2, keepdims=True) * n
    first = first / np.linalg.norm(first, axis=2, keepdims=True)
    axes = np.stack([first, np.cross(n, first), n], axis=2)
    cofactors = np.stack([np.cross(g[:, :, (k + 1) % 3], g[:, :, (k + 2) % 3]) for k in range(3)], axis=3)
    c = axes @ cofactors / np.where(area != 0, area, 1.0)[..., None, None]  # e_k . g^b
    T = np.zeros((*area.shape, 8, 8))
    for j, (a, b) in enumerate(PAIRS):
        for i, (k, m) in enumerate(PAIRS):
            T[..., i, j] = (c[..., k, a] * c[..., m, b] + c[..., k, b] * c[..., m, a]) * (0.5 if k == m else 1.0)
        for k in range(2):
            T[..., 6 + k, j] = c[..., k, a] * c[..., 2, b] + c[..., k, b] * c[..., 2, a]
    T[..., 3:6, 3:6] = T[..., :3, :3]
    T[..., 6:, 6:] = c[..., :2, :2] * c[..., 2:, 2:]
    return T, area, axes

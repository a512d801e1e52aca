"""Shells with six dofs a node: stiffness, mass and geometric stiffness of triangles and quadrilaterals.

A cell is a solid whose material lines across it stay straight and keep their length: the point at the distance z from
the nodes moves by

    u + sum_i F_i z (theta_i x V_i + theta_i x (theta_i x V_i) / 2)

with the directors V_i of its nodes. Every strain is a linear part B q and a quadratic part q N q / 2; assumed strains
(`fem.matrices.assumed_strains`) replace both alike, so that the geometric stiffness is the exact stress part of the
element. Inner dofs, bubble and enhanced strains, are condensed in each cell.

The rotation about the normal has no stiffness in a flat shell; a small one couples it to the rotation of the surface,
(theta - curl u / 2) . n. The mass has the rotary inertia of the directors, and none about them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fem.errors import MaterialError, MeshError
from fem.matrices.assumed_strains import PAIRS, Point, assumption, distortion, plane_rule, rule, shapes
from fem.matrices.beam_matrices import LineMass
from fem.shell import Shell

CHUNK = 256
"""Cells a batch."""
FEW = 32
"""Cells a batch where every pair of fields is needed."""
FLAT = 1e-8
"""A cell whose area at a point is below this fraction of the square of its extent counts as collapsed."""
_SPIN = np.array(
    [
        [[0, 0, 0], [0, 0, -1], [0, 1, 0]],
        [[0, 0, 1], [0, 0, 0], [-1, 0, 0]],
        [[0, -1, 0], [1, 0, 0], [0, 0, 0]],
    ],
    dtype=float,
)


@dataclass(frozen=True, eq=False)
class Shells:
    """Cells of one shell and one number of corners n.

    - `x`, `V` (e, n, 3): nodes and directors; `vertex` (e, n): numbers of the directors.
    """

    shell: Shell
    x: Float[np.ndarray, "e n 3"]
    V: Float[np.ndarray, "e n 3"]
    vertex: Int[np.ndarray, "e n"]

    @property
    def corners(self) -> int:
        """Number of corners of a cell."""
        return int(self.x.shape[1])

    @property
    def field_dofs(self) -> int:
        """Dofs of the displacements of a cell, those of the bubble included."""
        return 6 * self.corners + (2 if self.corners == 3 else 0)

    def _chunks(self, size: int) -> Iterator[slice]:
        return (slice(k, min(k + size, len(self.x))) for k in range(0, len(self.x), size))

    @cached_property
    def _condensed(self) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness (e, 6 n, 6 n), and how all dofs of a cell follow its nodes (e, d, 6 n)."""
        m = 6 * self.corners
        found = []
        for chunk in self._chunks(CHUNK):
            self._insist_on_area(chunk)
            B, dV = self.strains(chunk, rule(self.corners)[0])
            dV = dV * rule(self.corners)[1]
            CB = self.shell.elasticity @ B
            e, q, k, d = B.shape
            weighted = (CB * dV[..., None, None]).reshape(e, q * k, d)
            K = B.reshape(e, q * k, d).transpose(0, 2, 1) @ weighted
            follow = np.zeros((e, d, m))
            follow[:, :m] = np.eye(m)
            follow[:, m:] = -np.linalg.solve(K[:, m:, m:], K[:, m:, :m])
            K = K[:, :m, :m] + K[:, :m, m:] @ follow[:, m:] + self._drilling(chunk)
            found.append(((K + K.transpose(0, 2, 1)) / 2, follow))
        return np.concatenate([K for K, _ in found]), np.concatenate([follow for _, follow in found])

    def _insist_on_area(self, chunk: slice) -> None:
        """Refuse cells that are collapsed or folded over, by their corners."""
        g = self.bases(chunk, rule(self.corners)[0])
        area = np.cross(g[:, :, 0], g[:, :, 1])
        extent = np.ptp(self.x[chunk], axis=1).max(axis=1)
        across = np.einsum("epx,epx->ep", area, g[:, :, 2]).min(axis=1) / (extent**2 * self.shell.thickness)
        alike = np.einsum("epx,ex->ep", area, area.mean(axis=1)).min(axis=1) / extent**4
        least = np.minimum(across, alike)
        if not (least > FLAT).all():
            bad = int(np.argmin(least))
            raise MeshError(
                f"A shell cell with the corners {np.round(self.x[chunk][bad], 6).tolist()} is collapsed, or folded "
                "over itself. Check the order of its nodes."
            )

    def stiffness(self) -> Float[np.ndarray, "e d d"]:
        """Stiffness matrices over the dofs [u, theta] of the nodes."""
        return self._condensed[0]

    def strains(self, chunk: slice, points: tuple[Point, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Assumed strains (e, q, 5, d) of cells at points r, s, t in local axes, for all their dofs, and the
        determinants (e, q)."""
        B, T, det, _, centre = self._tied(chunk, points)
        B = T @ B
        if self.corners == 4:
            T0, det0, _ = cartesian(centre[:, None], self._axis(centre[:, 0])[:, None])
            r, s = (np.array([p[k] for p in points]) for k in (0, 1))
            modes = np.zeros((len(points), 5, 4))
            modes[:, 0, 0], modes[:, 1, 1], modes[:, 2, 2], modes[:, 2, 3] = r, s, r, s
            T0 = T0 * (np.arange(5) < 3)  # no enhanced shear
            B = np.concatenate([B, (det0 / det)[..., None, None] * (T0 @ modes)], axis=3)
        return B, det

    def _tied(
        self, chunk: slice, points: tuple[Point, ...]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Covariant assumed strains, the map to local axes, determinants, bases, and the basis at the centre."""
        ties, weights = assumption(self.corners, points)
        x = self.x[chunk]
        rows = self._rows(chunk, ties)
        factors = distortion(x)
        W = np.einsum("ec,cqj->eqj", factors, weights) if weights.shape[0] > 1 else weights
        B = (W @ rows).reshape(len(x), len(points), 5, -1)
        g = self.bases(chunk, points)
        centre = self._centre(chunk)
        T, det, _ = cartesian(g, self._axis(centre[:, 0])[:, None])
        return B, T, det, g, centre

    def _centre(self, chunk: slice) -> np.ndarray:
        middle = (0.0, 0.0, 0.0) if self.corners == 4 else (1 / 3, 1 / 3, 0.0)
        return self.bases(chunk, (middle,))[:, 0]

    def first_axis(self, chunk: slice) -> np.ndarray:
        """Directions (e, 3) close to which the first local axis of cells is."""
        return self._axis(self._centre(chunk)[:, 0])

    def follow(self, chunk: slice) -> np.ndarray:
        """How all dofs of cells follow their nodes (e, d, 6 n)."""
        return self._condensed[1][chunk]

    def _axis(self, along: np.ndarray) -> np.ndarray:
        x_axis = self.shell.x_axis
        return along if x_axis is None else np.broadcast_to(np.asarray(x_axis, dtype=float), along.shape)

    def _heights(self, points: tuple[Point, ...]) -> np.ndarray:
        return self.shell.offset + np.array([t for *_, t in points]) * self.shell.thickness / 2

    def bases(self, chunk: slice, points: tuple[Point, ...]) -> np.ndarray:
        """Covariant base vectors (e, p, 3, 3) in rows."""
        table = [shapes(self.corners, r, s) for r, s, _ in points]
        dN = np.stack([t[1] for t in table])  # p, 2, n
        N, z = np.stack([t[0] for t in table]), self._heights(points)
        x, V = self.x[chunk], self.V[chunk]
        g = np.einsum("pki,eix->epkx", dN, x) + np.einsum("p,pki,eix->epkx", z, dN, V)
        across = self.shell.thickness / 2 * np.einsum("pi,eix->epx", N, V)
        return np.concatenate([g, across[:, :, None]], axis=2)

    def _bubble(self, chunk: slice) -> tuple[np.ndarray, np.ndarray]:
        """The director (e, 3) in the middle of triangles, and how it moves with the two bubble rotations (e, 3, 2)."""
        V = self.V[chunk].sum(axis=1)
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        a = np.cross(V, self.x[chunk, 1] - self.x[chunk, 0])
        a /= np.linalg.norm(a, axis=1, keepdims=True)
        return V, np.stack([a, np.cross(V, a)], axis=2)

    def _rows(self, chunk: slice, ties: tuple[tuple[int, Point], ...]) -> np.ndarray:
        """Covariant strain rows (e, j, d) at tying points."""
        n, h = self.corners, self.shell.thickness
        points = tuple(p for _, p in ties)
        table = [shapes(n, r, s) for r, s, _ in points]
        dN, F, dF = (np.stack([t[k] for t in table]) for k in (1, 2, 3))
        z = self._heights(points)
        turn = np.concatenate([z[:, None, None] * dF, h / 2 * F[:, None]], axis=1)  # p, 3, directors
        move = np.concatenate([dN, np.zeros((len(points), 1, n))], axis=1)
        a, b = (np.array([PAIRS[k][c] for k, _ in ties]) for c in (0, 1))
        half = np.where(a == b, 0.5, 1.0)
        p = np.arange(len(points))
        g = self.bases(chunk, points)
        ga, gb = g[:, p, a], g[:, p, b]
        V = self.V[chunk]
        u = (half[:, None] * move[p, b][:, :n])[..., None] * ga[:, :, None]
        u += (half[:, None] * move[p, a][:, :n])[..., None] * gb[:, :, None]
        lever = (half[:, None] * turn[p, b][:, :n])[..., None] * ga[:, :, None]
        lever += (half[:, None] * turn[p, a][:, :n])[..., None] * gb[:, :, None]
        theta = np.cross(V[:, None], lever)
        rows = np.concatenate([u, theta], axis=3).reshape(len(V), len(points), 6 * n)
        if n == 4:
            return rows
        _, A = self._bubble(chunk)
        lever = (half * turn[p, b, n])[:, None] * ga + (half * turn[p, a, n])[:, None] * gb
        return np.concatenate([rows, lever @ A], axis=2)

    def _surface(self, chunk: slice) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """At the points of the middle surface: N, dN, bases (e, 3, 3), normals (e, 3) and volumes (e,)."""
        for r, s, w in plane_rule(self.corners):
            N, dN, _, _ = shapes(self.corners, r, s)
            g = self.bases(chunk, ((r, s, 0.0),))[:, 0]
            n = np.cross(g[:, 0], g[:, 1])
            area = np.linalg.norm(n, axis=1)
            yield N, dN, g, n / area[:, None], area * w * self.shell.thickness

    def _drilling(self, chunk: slice) -> np.ndarray:
        """((theta - curl u / 2) . n)^2 times `drilling` G h."""
        m = 6 * self.corners
        K = np.zeros((len(self.x[chunk]), m, m))
        stiff = self.shell.drilling * self.shell.elasticity[2, 2]
        for N, dN, _, _, volume in self._surface(chunk):
            g = np.einsum("ki,eix->ekx", dN, self.x[chunk])  # of the surface of the nodes
            n = np.cross(g[:, 0], g[:, 1])
            n /= np.linalg.norm(n, axis=1, keepdims=True)
            dual = np.linalg.inv(np.stack([g[:, 0], g[:, 1], n], axis=1))[:, :, :2]
            slopes = np.einsum("exk,ki->eix", dual, dN)
            row = np.concatenate([-np.cross(n[:, None], slopes) / 2, N[:, None] * n[:, None]], axis=2).reshape(-1, m)
            K += (row * (stiff * volume)[:, None])[:, :, None] * row[:, None]
        return K

    # mass

    @property
    def _density(self) -> float:
        if self.shell.density is None:
            raise MaterialError(f"Shell material {self.shell.name!r} has no density, and a mass matrix needs one.")
        return self.shell.density

    def _layers(self, chunk: slice) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
        """Point masses that have the mass and the rotary inertia of the shell: shape functions (n,), masses (e,) and
        height of each."""
        for z in self.shell.offset + np.array([-1.0, 1.0]) * self.shell.thickness / np.sqrt(12):
            for N, _, _, _, volume in self._surface(chunk):
                yield N, self._density * volume / 2, float(z)

    def _motion(self, chunk: slice, N: np.ndarray, z: float) -> np.ndarray:
        """Motion (e, 3, 6 n) of the points of a layer."""
        V = self.V[chunk]
        turned = -z * np.einsum("i,kab,eik->eaib", N, _SPIN, V)  # theta x V = -V x theta
        moved = np.broadcast_to(np.einsum("i,ab->aib", N, np.eye(3)), turned.shape)
        return np.concatenate([moved, turned], axis=3).reshape(len(V), 3, -1)

    def mass(self) -> Float[np.ndarray, "e d d"]:
        """Consistent mass matrices with the rotary inertia of the directors."""
        m = 6 * self.corners
        M = np.zeros((len(self.x), m, m))
        for chunk in self._chunks(CHUNK):
            for N, w, z in self._layers(chunk):
                U = self._motion(chunk, N, z)
                M[chunk] += U.transpose(0, 2, 1) @ (w[:, None, None] * U)
        return M

    def line_mass(self, dofs: Int[np.ndarray, "e d"], values: Float[np.ndarray, "n_all k"]) -> LineMass:
        """The mass as points in two layers, with the fields `values` there."""
        parts = []
        for chunk in self._chunks(CHUNK):
            for N, w, z in self._layers(chunk):
                x = np.einsum("i,eix->ex", N, self.x[chunk] + z * self.V[chunk])
                parts.append((w, x, self._motion(chunk, N, z) @ values[dofs[chunk]]))
        w, x, u = (np.concatenate(part) for part in zip(*parts, strict=True))
        return LineMass(w, x, u, np.zeros_like(u), np.zeros((len(w), 3, 3)))

    def moment_loads(self, dofs: Int[np.ndarray, "e d"], ndof: int) -> Float[np.ndarray, "ndof 9"]:
        """Forces `int U^T X_a e_b` over the mass, column 3 a + b."""
        total = np.zeros((ndof, 9))
        for chunk in self._chunks(CHUNK):
            for N, w, z in self._layers(chunk):
                x = np.einsum("i,eix->ex", N, self.x[chunk] + z * self.V[chunk])
                values = np.einsum("e,ea,ebd->edab", w, x, self._motion(chunk, N, z))
                np.add.at(total, dofs[chunk], values.reshape(*values.shape[:2], 9))
        return total

    def second_moments(
        self, dofs: Int[np.ndarray, "e d"], values: Float[np.ndarray, "n_all m"]
    ) -> tuple[Float[np.ndarray, "3 m m"], Float[np.ndarray, "3 3 m m"]]:
        """Integrals over the mass of the second-order motion of the directors, `p_ij`, and of `X_a (p_ij)_b`."""
        m = values.shape[1]
        total = np.zeros((4, 3, m, m))
        for chunk in self._chunks(CHUNK):
            lever = np.zeros((len(self.x[chunk]), self.corners, 4))
            for N, w, z in self._layers(chunk):
                x = np.einsum("i,eix->ex", N, self.x[chunk] + z * self.V[chunk])
                lever[:, :, 0] += (z * w)[:, None] * N
                lever[:, :, 1:] += (z * w)[:, None, None] * N[:, None] * x[:, None]
            theta = values[dofs[chunk]].reshape(-1, self.corners, 6, m)[:, :, 3:].reshape(-1, 3, m)
            V, weights = self.V[chunk].reshape(-1, 3), lever.reshape(-1, 4)
            along = np.einsum("nx,nxi->ni", V, theta)
            flat = theta.reshape(-1, m)
            for a in range(4):
                for b in range(3):
                    part = (theta[:, b] * weights[:, a, None]).T @ along
                    across = (flat * np.repeat(V[:, b] * weights[:, a], 3)[:, None]).T @ flat
                    total[a, b] += (part + part.T) / 2 - across
        return total[0], total[1:]

    def gradients(self, fields: Float[np.ndarray, "e d k"]) -> tuple[np.ndarray, np.ndarray]:
        """Places (p, 3) of the centres of cells at the bottom and the top, and `du_i / dx_j` (p, 3, 3, k) of `fields`
        there: the assumed strains, and the rotation of the interpolated displacements."""
        k = fields.shape[2]
        middle = (0.0, 0.0) if self.corners == 4 else (1 / 3, 1 / 3)
        points = tuple((*middle, t) for t in (-1.0, 1.0))
        N, dN, _, _ = shapes(self.corners, *middle)
        places, found = [], []
        for chunk in self._chunks(CHUNK):
            B, _ = self.strains(chunk, points)
            strain = B @ (self.follow(chunk) @ fields[chunk])[:, None]
            _, _, axes = cartesian(self.bases(chunk, points), self.first_axis(chunk)[:, None])
            E = np.zeros((*strain.shape[:2], 3, 3, k))
            for row, (i, j) in enumerate(PAIRS):
                E[:, :, i, j] = E[:, :, j, i] = strain[:, :, row] * (1.0 if i == j else 0.5)
            E = np.einsum("eqai,eqabk,eqbj->eqijk", axes, E, axes, optimize=True)
            nodal = fields[chunk].reshape(-1, self.corners, 6, k)
            theta = np.einsum("i,eixk->exk", N, nodal[:, :, 3:])
            g, V = self.bases(chunk, points), self.V[chunk]
            for q, z in enumerate(self._heights(points)):
                D = np.cross(nodal[:, :, 3:], V[..., None], axis=2)
                P = np.einsum("ai,eixk->eaxk", dN, nodal[:, :, :3] + z * D)
                n = axes[:, q, 2]
                P = np.concatenate([P, np.cross(theta, n[..., None], axis=1)[:, None]], axis=1)
                basis = np.concatenate([g[:, q, :2], n[:, None]], axis=1)
                H = np.einsum("eaxk,eya->exyk", P, np.linalg.inv(basis))
                found.append(E[:, q] + 0.5 * (H - H.swapaxes(1, 2)))
                places.append(np.einsum("i,eix->ex", N, self.x[chunk] + z * V))
        return np.concatenate(places), np.concatenate(found)

    # second order

    def _stress_map(self, chunk: slice) -> np.ndarray:
        """Stresses (e, j, 6 n) that work on the tied rows, integrated, for motions of the nodes."""
        points, weights = rule(self.corners)
        _, table = assumption(self.corners, points)
        _, T, det, _, _ = self._tied(chunk, points)
        B, _ = self.strains(chunk, points)
        S = self.shell.elasticity @ B * (det * weights)[..., None, None]
        S = (T.transpose(0, 1, 3, 2) @ S).reshape(len(S), -1, S.shape[3]) @ self._condensed[1][chunk]
        W = np.einsum("ec,cqj->eqj", distortion(self.x[chunk]), table) if len(table) > 1 else table
        return np.asarray(np.swapaxes(W, 1, 2) @ S)

    def _quadratic_rows(self, chunk: slice, fields: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Quadratic parts (e, j, p) of the tied rows for pairs of fields (e, d, m) over all dofs of the
        displacements."""
        n, h = self.corners, self.shell.thickness
        ties, _ = assumption(n, rule(n)[0])
        V = self.V[chunk]
        nodal = fields[:, : 6 * n].reshape(len(V), n, 6, -1)
        u, theta = nodal[:, :, :3], nodal[:, :, 3:]
        D = np.cross(theta, V[..., None], axis=2)
        director = V
        if n == 3:
            middle, A = self._bubble(chunk)
            D = np.concatenate([D, (A @ fields[:, 6 * n :])[:, None]], axis=1)
            director = np.concatenate([V, middle[:, None]], axis=1)
        by_point: dict[Point, list[tuple[int, int]]] = {}
        for j, (k, point) in enumerate(ties):
            by_point.setdefault(point, []).append((j, k))
        i, j = pairs.T
        out = np.zeros((len(V), len(ties), len(pairs)))
        for point, wanted in by_point.items():
            _, dN, F, dF = shapes(n, point[0], point[1])
            z = float(self._heights((point,))[0])
            turn = np.concatenate([z * dF, h / 2 * F[None]])  # 3, directors
            P = np.einsum("kd,edxm->ekxm", turn, D)
            P[:, :2] += np.einsum("ki,eixm->ekxm", dN, u)
            g = self.bases(chunk, (point,))[:, 0]
            for row, k in wanted:
                a, b = PAIRS[k]
                half = 0.5 if a == b else 1.0
                value = np.einsum("exp,exp->ep", P[:, a][..., i], P[:, b][..., j])
                value += np.einsum("exp,exp->ep", P[:, b][..., i], P[:, a][..., j])
                y = turn[b][:, None] * g[:, None, a] + turn[a][:, None] * g[:, None, b]  # e, directors, 3
                M = np.einsum("edx,edy->edxy", y, director)
                M = (M + M.swapaxes(2, 3)) / 2 - np.trace(M, axis1=2, axis2=3)[..., None, None] * np.eye(3)
                turned = np.einsum("enxy,enym->enxm", M[:, :n], theta)
                value += np.einsum("enxp,enxp->ep", theta[..., i], turned[..., j])
                if n == 3:
                    q = fields[:, 6 * n :]
                    across = -np.einsum("ex,ex->e", y[:, n], director[:, n])
                    value += across[:, None] * np.einsum("exp,exp->ep", q[..., i], q[..., j])
                out[:, row] = half * value
        return out

    def _all_fields(self, chunk: slice, fields: np.ndarray) -> np.ndarray:
        return np.asarray(self._condensed[1][chunk, : self.field_dofs] @ fields)

    def geometric_stiffness(self, v: Float[np.ndarray, "e d"]) -> Float[np.ndarray, "e d d"]:
        """Stress part of the geometric stiffness for motions `v` of the nodes."""
        d = 6 * self.corners
        pairs = np.column_stack(np.triu_indices(d))
        K = np.zeros((len(v), d, d))
        for chunk in self._chunks(FEW):
            S = np.einsum("ejd,ed->ej", self._stress_map(chunk), v[chunk])
            unit = np.broadcast_to(np.eye(d), (len(S), d, d))
            values = np.einsum("ej,ejp->ep", S, self._quadratic_rows(chunk, self._all_fields(chunk, unit), pairs))
            K[chunk, pairs[:, 0], pairs[:, 1]] = K[chunk, pairs[:, 1], pairs[:, 0]] = values
        return K

    def projected_geometric_stiffness(
        self, U: Float[np.ndarray, "e d p"], V: Float[np.ndarray, "e d m"]
    ) -> Float[np.ndarray, "p m m"]:
        """`V^T K_G(u) V` for each field u of U."""
        m = V.shape[2]
        pairs = np.column_stack(np.triu_indices(m))
        total = np.zeros((U.shape[2], m, m))
        for chunk in self._chunks(FEW):
            S = self._stress_map(chunk) @ U[chunk]  # e, j, p
            rows = self._quadratic_rows(chunk, self._all_fields(chunk, V[chunk]), pairs)
            total[:, pairs[:, 0], pairs[:, 1]] += S.reshape(-1, S.shape[2]).T @ rows.reshape(-1, len(pairs))
        total[:, pairs[:, 1], pairs[:, 0]] = total[:, pairs[:, 0], pairs[:, 1]]
        return total

    def quadratic_strain_loads(
        self, V: Float[np.ndarray, "e d m"], pairs: Int[np.ndarray, "p 2"]
    ) -> Float[np.ndarray, "e d p"]:
        """Loads of cells whose work on u is `v_i^T K_G(u) v_j` for each of `pairs` (i, j) of fields V."""
        found = [
            np.swapaxes(self._stress_map(chunk), 1, 2)
            @ self._quadratic_rows(chunk, self._all_fields(chunk, V[chunk]), pairs)
            for chunk in self._chunks(FEW)
        ]
        return np.concatenate(found)


def cartesian(g: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From covariant rows to local axes (e, p, 5, 5), the first close to `along`, the determinants (e, p), and the axes
    (e, p, 3, 3) in rows."""
    n = np.cross(g[:, :, 0], g[:, :, 1])
    area = np.linalg.norm(n, axis=2, keepdims=True)
    n = n / np.where(area > 0, area, 1.0)
    det = np.einsum("epx,epx->ep", np.cross(g[:, :, 0], g[:, :, 1]), g[:, :, 2])
    first = along - (along * n).sum(axis=2, keepdims=True) * n
    first = first / np.linalg.norm(first, axis=2, keepdims=True)
    axes = np.stack([first, np.cross(n, first), n], axis=2)
    cofactors = np.stack([np.cross(g[:, :, (k + 1) % 3], g[:, :, (k + 2) % 3]) for k in range(3)], axis=3)
    c = axes @ cofactors / np.where(det != 0, det, 1.0)[..., None, None]  # e_k . g^b
    a, b = (np.array([p[k] for p in PAIRS]) for k in (0, 1))
    i, k = a[:, None], b[:, None]
    T = c[..., i, a] * c[..., k, b] + c[..., i, b] * c[..., k, a]
    return T * np.where(a == b, 0.5, 1.0)[:, None], det, axes

"""Shells with six dofs a node: stiffness, mass and geometric stiffness of triangles and quadrilaterals.

A cell is a solid whose material lines across it stay straight and keep their length: the point at the distance z from
the middle surface moves by

    u + sum_i N_i z (theta_i x V_i + theta_i x (theta_i x V_i) / 2)

with the directors V_i of its nodes. Strains are kept up to first order in z: those of the middle surface, its
curvature, and the transverse shear, so that the stiffness through the thickness is that of the section
(`fem.sections.layup.Layup`). Every strain is a quadratic form of positions and directors
(`fem.matrices.assumed_strains`), and the geometric stiffness is the exact stress part of the element. Inner dofs, a
middle node, bubble and enhanced strains, are condensed in each cell. The middle node of a cell of eight nodes on a face
of a solid moves with this face: free, it would leave a thin curved skin without a part of its membrane stiffness.

The rotation about the normal has no stiffness in a flat shell; a small one couples it to the rotation of the surface,
(theta - curl u / 2) . n. The mass has the rotary inertia of the directors, and none about them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fem.elements import SHELLS
from fem.matrices.assumed_strains import CENTRE, PAIRS, plane_rule, shapes, tables
from fem.matrices.beam_matrices import SPIN, LineMass, work_of_turning
from fem.matrices.shell_strains import ShellCells, cartesian


@dataclass(frozen=True, eq=False)
class Shells(ShellCells):
    """Cells of one shell and one number of nodes, with their matrices over the dofs [u, theta] of the nodes."""

    @cached_property
    def _condensed(self) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness (e, 6 count, 6 count), and how inner dofs follow the nodes (e, inner, 6 count)."""
        m, all_nodes = 6 * self.count, 6 * self.n
        C = self.shell.section.stiffness
        points, weights = plane_rule(self.n)
        K_found, follow_found = np.zeros((len(self.x), m, m)), np.zeros((len(self.x), self.inner, m))
        for chunk in self.chunks():
            self.insist_on_area(chunk)
            B, area = self.strains(chunk, points)
            e, q, k, d = B.shape
            weighted = (C @ B) * (area * weights)[..., None, None]
            K = B.reshape(e, q * k, d).swapaxes(1, 2) @ weighted.reshape(e, q * k, d)
            K[:, :all_nodes, :all_nodes] += self._drilling(chunk)
            if d > m:
                F, held = -np.linalg.solve(K[:, m:, m:], K[:, m:, :m]), self.on_solids[chunk]
                if held.any():
                    F[held] = _on_faces(K[held], m)
                loads = K[held, m:, :m] + K[held, m:, m:] @ F[held]  # on the node inside, which does not move freely
                K = K[:, :m, :m] + K[:, :m, m:] @ F
                K[held] += F[held].swapaxes(1, 2) @ loads
                follow_found[chunk] = F
            K_found[chunk] = (K + K.swapaxes(1, 2)) / 2
        return K_found, follow_found

    def stiffness(self) -> Float[np.ndarray, "e d d"]:
        """Stiffness matrices over the dofs [u, theta] of the nodes."""
        return self._condensed[0]

    def follow(self, chunk: slice, fields: Float[np.ndarray, "e d k"]) -> Float[np.ndarray, "e all k"]:
        """All dofs of cells, for fields at their nodes."""
        if not self.inner:
            return fields
        return np.concatenate([fields, self._condensed[1][chunk] @ fields], axis=1)

    def _over_nodes(self, chunk: slice, A: np.ndarray) -> np.ndarray:
        """`F^T A F` of matrices over the first dofs of cells (e, k, k), F how these follow the nodes."""
        m, k = 6 * self.count, A.shape[1]
        if k == m:
            return A
        F = self._condensed[1][chunk][:, : k - m]
        side = A[:, :m, m:] @ F
        return A[:, :m, :m] + side + side.swapaxes(1, 2) + F.swapaxes(1, 2) @ A[:, m:, m:] @ F

    def _loads_of_nodes(self, chunk: slice, loads: np.ndarray) -> np.ndarray:
        """Loads (e, 6 count, k) with the work of `loads` (e, 6 n, k), also on the node inside cells."""
        m, inside = 6 * self.count, 6 * (self.n - self.count)
        if not inside:
            return loads
        return np.asarray(loads[:, :m] + self._condensed[1][chunk][:, :inside].swapaxes(1, 2) @ loads[:, m:])

    def _surface(self, chunk: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """At the points of the rule: N (q, n), dN (q, 2, n), and areas (e, q) of the middle surface."""
        points, weights = plane_rule(self.n)
        N, dN = (np.stack([shapes(self.n, *p)[k] for p in points]) for k in (0, 1))
        g = self.bases(chunk, points)
        return N, dN, np.linalg.norm(np.cross(g[:, :, 0], g[:, :, 1]), axis=2) * weights

    def _drilling(self, chunk: slice) -> np.ndarray:
        """((theta - curl u / 2) . n)^2 times `drilling` G h, with the mean of G over the directions in the plane."""
        N, dN, area = self._surface(chunk)
        g = (dN.reshape(-1, self.n) @ self.x[chunk]).reshape(*area.shape, 2, 3)  # of the surface of the nodes
        n = np.cross(g[:, :, 0], g[:, :, 1])
        size = np.linalg.norm(n, axis=2, keepdims=True)
        n /= size
        dual = np.stack([np.cross(g[:, :, 1], n), np.cross(n, g[:, :, 0])], axis=2) / size[..., None]
        turned = np.cross(n[:, :, None], dual)  # n x grad of the coordinates
        u = -0.5 * (dN.swapaxes(1, 2) @ turned)
        row = np.concatenate([u, np.broadcast_to(N[:, :, None] * n[:, :, None], u.shape)], axis=3)
        row = row.reshape(*area.shape, -1)
        stiff = self.shell.drilling * self.shell.section.mean_shear_stiffness
        return np.asarray(row.swapaxes(1, 2) @ (row * (stiff * area)[..., None]))

    def drilling_energy(
        self, u: Float[np.ndarray, "n_all k"], dofs: Int[np.ndarray, "e d"]
    ) -> Float[np.ndarray, "e k"]:
        """Twice the strain energy of each cell in the rotation of its nodes about the normal relative to the surface,
        for fields `u`, of which cells have the dofs `dofs`."""
        found = np.zeros((len(self.x), u.shape[1]))
        for chunk in self.chunks():
            every = self.follow(chunk, u[dofs[chunk]])[:, : 6 * self.n]
            found[chunk] = np.einsum("eik,eik->ek", every, self._drilling(chunk) @ every)
        return found

    # mass

    def _layers(self, chunk: slice) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
        """Point masses that have the mass and the rotary inertia of the shell: shape functions (n,), masses (e,) and
        height above the nodes of each."""
        mass, first, second = self.shell.section.inertia
        centre = first / mass
        arm = np.sqrt(second / mass - centre**2)
        N, _, area = self._surface(chunk)
        for z in (centre - arm, centre + arm):
            for k, own in enumerate(N):
                yield own, mass * area[:, k] / 2, float(self.shell.offset + z)

    def _motion(self, chunk: slice, N: np.ndarray, z: float, nodal: np.ndarray) -> np.ndarray:
        """Motion (e, 3, k) of the points of a layer for fields (e, n, 6, k)."""
        moved = nodal[:, :, :3] + z * np.cross(nodal[:, :, 3:], self.V[chunk][..., None], axis=2)
        return np.einsum("i,eixk->exk", N, moved)

    def _nodal(self, chunk: slice, fields: np.ndarray) -> np.ndarray:
        """Fields at all nodes (e, n, 6, k), for those of the mesh."""
        return self.follow(chunk, fields)[:, : 6 * self.n].reshape(len(fields), self.n, 6, -1)

    def mass(self) -> Float[np.ndarray, "e d d"]:
        """Consistent mass matrices with the rotary inertia of the directors."""
        m, n = 6 * self.count, self.n
        (mass, first, second), z = self.shell.section.inertia, self.shell.offset
        M_found = np.zeros((len(self.x), m, m))
        for chunk in self.chunks():
            N, _, area = self._surface(chunk)
            products = (area @ (N[:, :, None] * N[:, None]).reshape(len(N), -1)).reshape(-1, n, n)
            moments = np.array([mass, first + z * mass, second + 2 * z * first + z * z * mass])[:, None, None, None]
            moments = moments * products
            D = -np.einsum("kab,eik->eiab", SPIN, self.V[chunk])  # theta x V
            M = np.zeros((len(D), n, 6, n, 6))
            M[:, :, :3, :, :3] = moments[0][:, :, None, :, None] * np.eye(3)[:, None]
            M[:, :, :3, :, 3:] = np.einsum("eik,ekab->eiakb", moments[1], D)
            M[:, :, 3:, :, :3] = M[:, :, :3, :, 3:].transpose(0, 3, 4, 1, 2)
            M[:, :, 3:, :, 3:] = np.einsum("eica,eik,ekcb->eiakb", D, moments[2], D, optimize=True)
            M_found[chunk] = self._over_nodes(chunk, M.reshape(len(D), 6 * n, 6 * n))
        return M_found

    def line_mass(self, fields: Float[np.ndarray, "e d k"]) -> LineMass:
        """The mass as points in two layers, with `fields` there."""
        parts = []
        for chunk in self.chunks():
            nodal = self._nodal(chunk, fields[chunk])
            for N, w, z in self._layers(chunk):
                x = np.einsum("i,eix->ex", N, self.x[chunk] + z * self.V[chunk])
                parts.append((w, x, self._motion(chunk, N, z, nodal)))
        w, x, u = (np.concatenate(part) for part in zip(*parts, strict=True))
        return LineMass(w, x, u, np.zeros_like(u), np.zeros((len(w), 3, 3)))

    def moment_loads(self) -> Float[np.ndarray, "e d 9"]:
        """Forces `int U^T X_a e_b` over the mass, column 3 a + b."""
        found = np.zeros((len(self.x), 6 * self.count, 9))
        for chunk in self.chunks():
            force, lever = (np.zeros((len(self.x[chunk]), self.n, 3)) for _ in range(2))
            for N, w, z in self._layers(chunk):
                x = np.einsum("e,i,eix->ex", w, N, self.x[chunk] + z * self.V[chunk])
                force += N[:, None] * x[:, None]
                lever += z * N[:, None] * x[:, None]
            loads = np.zeros((len(force), self.n, 6, 3, 3))
            loads[:, :, :3] = np.einsum("eia,bc->eicab", force, np.eye(3))
            loads[:, :, 3:] = np.einsum("eik,cbk,eia->eicab", self.V[chunk], SPIN, lever)
            found[chunk] = self._loads_of_nodes(chunk, loads.reshape(len(force), 6 * self.n, 9))
        return found

    def second_moments(
        self, fields: Float[np.ndarray, "e d m"]
    ) -> tuple[Float[np.ndarray, "3 m m"], Float[np.ndarray, "3 3 m m"]]:
        """Integrals over the mass of its second-order motion `p_ij` with the directors, about the middle surface and,
        with an offset, about the nodes, and of `X_a (p_ij)_b`."""
        m, z0 = fields.shape[2], self.shell.offset
        total = np.zeros((12, m, m))
        for chunk in self.chunks():
            lever = np.zeros((len(self.x[chunk]), self.n, 4))
            for N, w, z in self._layers(chunk):
                x = np.einsum("i,eix->ex", N, self.x[chunk] + z * self.V[chunk])
                lever[:, :, 0] += ((z - z0) * w)[:, None] * N
                lever[:, :, 1:] += ((z - z0) * w)[:, None, None] * N[:, None] * x[:, None]
            theta = self._nodal(chunk, fields[chunk])[:, :, 3:].reshape(-1, 3, m)
            forces = np.einsum("pa,bc->pbac", lever.reshape(-1, 4), np.eye(3)).reshape(-1, 3, 12)
            total += work_of_turning(self.V[chunk].reshape(-1, 3), theta, forces)
        if z0:  # the middle surface moves with its nodes, also where nodes inside cells follow them
            along = self.mass() @ np.tile(np.eye(6)[:, :3], (self.count, 1))
            forces = np.concatenate([along, self.moment_loads()], axis=2).reshape(-1, 6, 12)[:, :3]
            arm = z0 * self.V[:, : self.count].reshape(-1, 3)
            total += work_of_turning(arm, fields.reshape(-1, 6, m)[:, 3:], forces)
        return total[:3], total[3:].reshape(3, 3, m, m)

    def gradients(self, fields: Float[np.ndarray, "e d k"]) -> tuple[np.ndarray, np.ndarray]:
        """Places (p, 3) of the centres of cells at the bottom and the top, and `du_i / dx_j` (p, 3, 3, k) of `fields`
        there: the assumed strains, and the rotation of the interpolated displacements."""
        middle, h = CENTRE[self.n], self.shell.thickness
        N, dN, _, _ = shapes(self.n, *middle)
        places, found = [], []
        for chunk in self.chunks():
            B, _ = self.strains(chunk, (middle,))
            strain = B[:, 0] @ self.follow(chunk, fields[chunk])
            g = self.bases(chunk, (middle,))
            _, _, axes = cartesian(g, self.first_axis(chunk)[:, None])
            nodal, V = self._nodal(chunk, fields[chunk]), self.V[chunk]
            theta = np.einsum("i,eixk->exk", N, nodal[:, :, 3:])
            turned = np.cross(nodal[:, :, 3:], V[..., None], axis=2)
            n = axes[:, 0, 2]
            for z in (-h / 2, h / 2):
                E = np.zeros((len(V), 3, 3, fields.shape[2]))
                plane = strain[:, :3] + z * strain[:, 3:6]
                for row, (i, j) in enumerate(PAIRS):
                    E[:, i, j] = E[:, j, i] = plane[:, row] * (1.0 if i == j else 0.5)
                for i in range(2):
                    E[:, i, 2] = E[:, 2, i] = strain[:, 6 + i] / 2
                E = np.einsum("eai,eabk,ebj->eijk", axes[:, 0], E, axes[:, 0], optimize=True)
                P = np.einsum("ai,eixk->eaxk", dN, nodal[:, :, :3] + (self.shell.offset + z) * turned)
                P = np.concatenate([P, np.cross(theta, n[..., None], axis=1)[:, None]], axis=1)
                basis = np.concatenate([g[:, 0, :2] + z * dN @ V, n[:, None]], axis=1)
                H = np.einsum("eaxk,eya->exyk", P, np.linalg.inv(basis))
                found.append(E + 0.5 * (H - H.swapaxes(1, 2)))
                places.append(np.einsum("i,eix->ex", N, self.x[chunk] + (self.shell.offset + z) * V))
        return np.concatenate(places), np.concatenate(found)

    def area_loads(self) -> Float[np.ndarray, "e d"]:
        """Loads of cells of a unit of traction along the normal of the middle surface."""
        found = np.zeros((len(self.x), 6 * self.count))
        points, weights = plane_rule(self.n)
        N = np.stack([shapes(self.n, *p)[0] for p in points])
        for chunk in self.chunks():
            g = self.bases(chunk, points)
            forces = np.einsum("qi,eqx->eix", N * weights[:, None], np.cross(g[:, :, 0], g[:, :, 1]))
            turning = self.shell.offset * np.cross(self.V[chunk], forces)
            loads = np.concatenate([forces, turning], axis=2).reshape(len(g), -1, 1)
            found[chunk] = self._loads_of_nodes(chunk, loads)[..., 0]
        return found

    # second order

    def _stress_map(self, chunk: slice) -> np.ndarray:
        """Stresses (e, j, 6 count) that work on the tied rows, integrated, for motions of the nodes."""
        points, weights = plane_rule(self.n)
        made, area = self.strain_map(chunk, points)
        B, _ = self.strains(chunk, points)
        e, q, k, d = B.shape
        S = (self.shell.section.stiffness @ B) * (area * weights)[..., None, None]
        S = made.swapaxes(1, 2) @ S.reshape(e, q * k, d)
        m = 6 * self.count
        return S if d == m else np.asarray(S[:, :, :m] + S[:, :, m:] @ self._condensed[1][chunk])

    def _of_stress(self, chunk: slice, S: np.ndarray) -> np.ndarray:
        """Geometric stiffness (e, 6 count, 6 count) of stresses (e, j) on the tied rows."""
        table, n, z = tables(self.n, plane_rule(self.n)[0]), self.n, self.shell.offset
        x, V, e = self.middle[chunk], self.V[chunk], len(S)
        H, G = ((S @ form.reshape(len(form), -1)).reshape(e, n, n) for form in (table.H, table.G))
        y = G.swapaxes(1, 2) @ x  # works on the second-order motion of the directors
        if z:
            y = y + z * (H @ x + G @ V)
        D = -np.einsum("kab,eik->eiab", SPIN, V)
        size = 6 * n + self.bubbles
        K = np.zeros((e, size, size))
        nodes = K[:, : 6 * n, : 6 * n].reshape(e, n, 6, n, 6)
        nodes[:, :, :3, :, :3] = H[:, :, None, :, None] * np.eye(3)[:, None]
        nodes[:, :, :3, :, 3:] = np.einsum("eik,ekab->eiakb", z * H + G, D)
        nodes[:, :, 3:, :, :3] = nodes[:, :, :3, :, 3:].transpose(0, 3, 4, 1, 2)
        both = z * (z * H + G + G.swapaxes(1, 2))
        nodes[:, :, 3:, :, 3:] = np.einsum("eica,eik,ekcb->eiakb", D, both, D, optimize=True)
        yV = np.einsum("eix,eiy->eixy", y, V)
        turning = (yV + yV.swapaxes(2, 3)) / 2 - np.trace(yV, axis1=2, axis2=3)[..., None, None] * np.eye(3)
        for i in range(n):
            nodes[:, i, 3:, i, 3:] += turning[:, i]
        K[:, : 6 * n, : 6 * n] = nodes.reshape(e, 6 * n, 6 * n)
        if self.bubbles:
            middle, A = self.bubble(chunk)
            F = S @ table.F
            yb = np.einsum("ei,eix->ex", F, x)
            side = np.zeros((e, n, 6, 2))
            side[:, :, :3] = F[:, :, None, None] * A[:, None]
            side[:, :, 3:] = z * np.einsum("ei,eica,ecq->eiaq", F, D, A)
            side[:, :, 3:] -= np.cross(yb[..., None], A, axis=1)[:, None] / n  # the bubble turns with the nodes
            K[:, : 6 * n, 6 * n :] = side.reshape(e, 6 * n, 2)
            K[:, 6 * n :, : 6 * n] = side.reshape(e, 6 * n, 2).swapaxes(1, 2)
            K[:, 6 * n :, 6 * n :] = -np.einsum("ex,ex->e", yb, middle)[:, None, None] * np.eye(2)
        return self._over_nodes(chunk, K)

    def geometric_stiffness(self, v: Float[np.ndarray, "e d"]) -> Float[np.ndarray, "e d d"]:
        """Stress part of the geometric stiffness for motions `v` of the nodes."""
        parts = [self._of_stress(c, (self._stress_map(c) @ v[c][..., None])[..., 0]) for c in self.chunks()]
        return np.concatenate(parts)

    def projected_geometric_stiffness(
        self, U: Float[np.ndarray, "e d p"], V: Float[np.ndarray, "e d m"]
    ) -> Float[np.ndarray, "p m m"]:
        """`V^T K_G(u) V` for each field u of U."""
        m = V.shape[2]
        total = np.zeros((U.shape[2], m, m))
        for chunk in self.chunks():
            S, shapes_of = self._stress_map(chunk) @ U[chunk], np.ascontiguousarray(V[chunk])
            for p in range(len(total)):
                moved = self._of_stress(chunk, S[..., p]) @ shapes_of
                total[p] += shapes_of.reshape(-1, m).T @ moved.reshape(-1, m)
        return total

    def quadratic_strain_loads(
        self, V: Float[np.ndarray, "e d m"], pairs: Int[np.ndarray, "p 2"]
    ) -> Float[np.ndarray, "e d p"]:
        """Loads of cells whose work on u is `v_i^T K_G(u) v_j` for each of `pairs` (i, j) of fields V."""
        found = [
            self._stress_map(chunk).swapaxes(1, 2) @ self._quadratic_rows(chunk, V[chunk], pairs)
            for chunk in self.chunks()
        ]
        return np.concatenate(found)

    def _quadratic_rows(self, chunk: slice, fields: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Second-order parts (e, j, p) of the tied rows for pairs of fields of the nodes (e, d, m)."""
        table, n, z = tables(self.n, plane_rule(self.n)[0]), self.n, self.shell.offset
        x, V, e = self.middle[chunk], self.V[chunk], len(fields)
        everything = self.follow(chunk, fields)
        nodal = everything[:, : 6 * n].reshape(e, n, 6, -1)
        theta = nodal[:, :, 3:]
        d = np.cross(theta, V[..., None], axis=2)
        u = nodal[:, :, :3] + z * d
        i, j = pairs.T
        a, b = theta[..., i], theta[..., j]
        second = 0.5 * (
            a * (b * V[..., None]).sum(axis=2, keepdims=True) + b * (a * V[..., None]).sum(axis=2)[:, :, None]
        )
        second -= V[..., None] * (a * b).sum(axis=2, keepdims=True)  # of the directors
        forces = (table.H.reshape(-1, n) @ x + table.G.reshape(-1, n) @ V).reshape(e, -1, 3 * n)
        levers = (table.G.transpose(0, 2, 1).reshape(-1, n) @ x).reshape(e, -1, 3 * n)
        out = (z * forces + levers) @ second.reshape(e, 3 * n, -1)
        uu = np.einsum("eixp,ekxp->eikp", u[..., i], u[..., j], optimize=True)
        ud = np.einsum("eixp,ekxp->eikp", u[..., i], d[..., j], optimize=True)
        ud += np.einsum("eixp,ekxp->eikp", u[..., j], d[..., i], optimize=True)
        out += table.H.reshape(-1, n * n) @ uu.reshape(e, n * n, -1) + table.G.reshape(-1, n * n) @ ud.reshape(
            e, n * n, -1
        )
        if self.bubbles:
            middle, A = self.bubble(chunk)
            q = everything[:, 6 * n : 6 * n + 2]
            bubble = A @ q
            turn = theta.mean(axis=1)
            moved = np.cross(turn[..., i], bubble[..., j], axis=1) + np.cross(turn[..., j], bubble[..., i], axis=1)
            moved -= middle[..., None] * (q[..., i] * q[..., j]).sum(axis=1, keepdims=True)
            ub = np.einsum("eixp,exp->eip", u[..., i], bubble[..., j]) + np.einsum(
                "eixp,exp->eip", u[..., j], bubble[..., i]
            )
            out += (table.F @ x) @ moved + table.F @ ub
        return out


def _on_faces(K: Float[np.ndarray, "e d d"], m: int) -> Float[np.ndarray, "e 6 m"]:
    """How the inner node of cells of eight nodes follows these when it moves with the face of a solid, and turns
    freely."""
    F = np.zeros((len(K), 6, m))
    F[:, :3] = np.kron(SHELLS["quad8"].shape(np.zeros((1, 3)))[0], np.eye(3, 6))
    F[:, 3:] = -np.linalg.solve(K[:, m + 3 :, m + 3 :], K[:, m + 3 :, :m] + K[:, m + 3 :, m : m + 3] @ F[:, :3])
    return F

"""Beams with general sections that vary along them: two nodes, straight, from the equilibrium of their section forces.

The section forces of an unloaded beam follow from those at its end, whatever the sections are. With the compliance of
the sections at Gauss points they give the flexibility of the end and its inverse the stiffness: exact for coupled and
tapered sections, free of locking. Displacements between the nodes are the integrals of the strains of these forces;
with them the mass matrix and the geometric stiffness (`fem.matrices.beam_matrices`) are made.

All integrals are sums over pieces of a beam, which end at the stations of the table, where its values have kinks, and
in which no stiffness more than doubles: the poles of the compliance of a piece then lie so far outside of it that five
Gauss points integrate it to `((sqrt(2) - 1) / (sqrt(2) + 1))^10 = 2e-8`, whatever the taper of the beam.
Source: Spacone, Filippou and Taucer, "Fibre beam-column model for non-linear analysis of R/C frames: part I", Earthq.
Eng. Struct. Dyn. 25 (1996) 711-725.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.errors import MeshError
from fem.matrices.beam_matrices import SPIN, Beams, LineMass, directions, stress_work
from fem.sections.beam_table import BeamTable, centroids

_XI, _W = np.polynomial.legendre.leggauss(5)
_XI, _W = (_XI + 1) / 2, _W / 2
RATIO = 2.0
"""Largest ratio of the stiffnesses of a section at the ends of a piece of a beam."""
TURN = float(np.cos(np.deg2rad(40.0)))
"""Cosine of the largest angle by which a section turns along a piece."""
HALVINGS = 60
"""Times that a piece may be halved: it is then as short as the round-off of its place."""
_ABOUT_X = SPIN[0]
"""e_x times a vector."""


@dataclass(frozen=True, eq=False)
class TableBeams(Beams):
    """Beams of one table; what `Beams` has, and

    - `K` (e, 12, 12); `forces` (e, q, 6, 12): section forces of motions of the nodes, in local axes;
    - `S`, `M` (e, q, 6, 6): section stiffness and mass in local axes.
    """

    K: np.ndarray
    forces: np.ndarray
    S: np.ndarray
    M: np.ndarray

    @staticmethod
    def of(
        beam: BeamTable,  # type: ignore[override]
        points: Float[np.ndarray, "e 2 3"],
        rule: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> "TableBeams":
        """Beams between pairs of points in the direction of the table; `rule`: places from 0 to 1 along them and their
        weights, by default Gauss's.

        Raises `MeshError` for a beam without length, and `MaterialError` for one outside the table or along its y axis.
        """
        direction, length = directions(points)
        axes = _axes(direction, beam.at(points.mean(axis=1))[2])
        pieces = _pieces(beam, points)
        inner, inner_weights = _points_of(pieces)
        xi, weights = (inner, inner_weights) if rule is None else (np.tile(A, (len(points), 1)) for A in rule)
        S_inner, M_inner = _sections(beam, points, axes, inner)
        compliance = np.linalg.inv(S_inner)
        to_end = _to_end(inner, length)
        flexible = np.einsum("eqia,eqij,eqjb,eq->eab", to_end, compliance, to_end, inner_weights, optimize=True)
        flexible *= length[:, None, None]
        relative = np.zeros((len(length), 6, 12))
        relative[:, :, 6:] = np.eye(6)
        relative[:, :, :6] = -np.eye(6)
        relative[:, :3, 3:6] += length[:, None, None] * _ABOUT_X  # - (theta_1 x L e_x)
        to_local = np.zeros((len(length), 12, 12))
        for k in range(0, 12, 3):
            to_local[:, k : k + 3, k : k + 3] = axes
        end = np.linalg.solve(flexible, relative @ to_local)  # forces at the end
        K = (relative @ to_local).swapaxes(1, 2) @ end
        strain = compliance @ to_end @ end[:, None]  # e, inner points, 6, 12
        reach = _running(xi, pieces) * length[:, None, None]  # e, q, inner points
        twice = reach @ _running(inner, pieces) * length[:, None, None]
        first = to_local[:, None, :6]  # motion of the first node
        theta = first[:, :, 3:] + np.einsum("eqg,egid->eqid", reach, strain[:, :, 3:], optimize=True)
        turned = first[:, :, 3:] * (xi * length[:, None])[..., None, None]
        turned = turned + np.einsum("eqg,egid->eqid", twice, strain[:, :, 3:], optimize=True)
        u = first[:, :, :3] + np.einsum("eqg,egid->eqid", reach, strain[:, :, :3], optimize=True) - _ABOUT_X @ turned
        S, M = (S_inner, M_inner) if rule is None else _sections(beam, points, axes, xi)
        forces = _to_end(xi, length) @ end[:, None]
        here = np.linalg.solve(S, forces)
        du = here[:, :, :3] - _ABOUT_X @ theta
        none = np.zeros((len(length), 2, 12))
        dV = weights * length[:, None]
        K = (K + K.swapaxes(1, 2)) / 2
        zero = np.zeros_like(theta)
        no_twist = np.zeros((len(length), 12)), np.zeros((len(length), 12, 12))  # all is in K
        return TableBeams(
            beam, u, theta, du, here[:, :, 3:], zero, none, dV, axes, _at(points, xi), *no_twist, K, forces, S, M
        )

    def stiffness(self) -> Float[np.ndarray, "e 12 12"]:
        """Stiffness matrices."""
        return self.K

    def mass(self) -> Float[np.ndarray, "e 12 12"]:
        """Consistent mass matrices."""
        both = np.concatenate([self.u, self.theta], axis=2)
        M = np.einsum("eqia,eqij,eqjb,eq->eab", both, self.M, both, self.dV, optimize=True)
        return np.asarray((M + M.swapaxes(1, 2)) / 2)

    def _lumps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Masses (e, q), mass centres relative to the line (e, q, 3) and moments of inertia about them (e, q, 3, 3),
        in local axes."""
        m = np.einsum("eqii->eq", self.M[:, :, :3, :3]) / 3
        A = self.M[:, :, 3:, :3]  # m c x
        c = np.stack([A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]], axis=-1)
        c = c / (2 * m[..., None])
        square = (c * c).sum(axis=-1)[..., None, None] * np.eye(3) - c[..., :, None] * c[..., None, :]
        return m * self.dV, c, (self.M[:, :, 3:, 3:] - m[..., None, None] * square) * self.dV[..., None, None]

    def line_mass(self, fields: Float[np.ndarray, "e 12 k"]) -> LineMass:
        """The mass at the mass centres of sections at Gauss points, with `fields` there."""
        (m, c, J), k = self._lumps(), fields.shape[2]
        theta = np.einsum("eqja,eak->eqjk", self.theta, fields)
        u = np.einsum("eqja,eak->eqjk", self.u, fields) + np.cross(theta, c[..., None], axis=2)
        u, theta = (np.einsum("eji,eqjk->eqik", self.axes, A).reshape(-1, 3, k) for A in (u, theta))
        x = self.x + np.einsum("eji,eqj->eqi", self.axes, c)
        rotary = np.einsum("eai,eqab,ebj->eqij", self.axes, J, self.axes, optimize=True)
        return LineMass(m.ravel(), x.reshape(-1, 3), u, theta, rotary.reshape(-1, 3, 3))

    def _fibres(self) -> tuple[np.ndarray, np.ndarray]:
        arms, sizes = super()._fibres()
        if not self.beam.section_is_mean or any(self.beam.moduli):
            return arms, sizes
        (centre, radii), (mean, of_mean) = (
            centroids(S.reshape(-1, 6, 6)) for S in (self.S, self.beam.stiffness.mean(axis=0))
        )
        sizes = (radii / of_mean).reshape(sizes.shape)
        across = centre.reshape(sizes.shape) + (arms[..., 1:] - mean) * sizes
        return np.concatenate([arms[..., :1], across], axis=-1), sizes

    def moment_loads(self) -> Float[np.ndarray, "e 12 9"]:
        """Forces of accelerations `X_a e_b` of the mass, column 3 a + b."""
        m, c, J = self._lumps()
        x = self.x + np.einsum("eji,eqj->eqi", self.axes, c)
        N = self.u - np.einsum("eqij,eqjd->eqid", _cross(c), self.theta)
        N, T = (np.einsum("eji,eqjd->eqid", self.axes, A) for A in (N, self.theta))
        loads = np.einsum("eq,eqa,eqbd->edab", m, x, N, optimize=True)
        # a point y of the section moves by theta x y: its second moments, from J = tr(S) I - S
        J = np.einsum("eai,eqab,ebj->eqij", self.axes, J, self.axes, optimize=True)
        spread = 0.5 * np.trace(J, axis1=2, axis2=3)[..., None, None] * np.eye(3) - J
        loads += np.einsum("eqay,eqcd,cby->edab", spread, T, SPIN, optimize=True)
        return np.asarray(loads.reshape(len(loads), 12, 9))

    def second_moments(
        self, fields: Float[np.ndarray, "e 12 m"]
    ) -> tuple[Float[np.ndarray, "3 m m"], Float[np.ndarray, "3 3 m m"]]:
        """Integrals over the mass of the second-order motion `p_ij` of the mass centres, which turn with the sections,
        and of `X_a (p_ij)_b`."""
        m, c, _ = self._lumps()
        theta = np.einsum("eji,eqja,eak->eqik", self.axes, self.theta, fields, optimize=True)
        theta = theta.reshape(-1, 3, fields.shape[2])
        arm = np.einsum("eji,eqj->eqi", self.axes, c).reshape(-1, 3)
        x = self.x.reshape(-1, 3) + arm
        along = np.einsum("nx,nxi->ni", arm, theta)
        p = np.einsum("nai,nj->naij", theta, along)
        p = (p + p.swapaxes(2, 3)) / 2 - np.einsum("na,nbi,nbj->naij", arm, theta, theta, optimize=True)
        return np.einsum("n,naij->aij", m.ravel(), p), np.einsum("n,nx,naij->xaij", m.ravel(), x, p, optimize=True)

    def geometric_stiffness(self, v: Float[np.ndarray, "e 12"]) -> Float[np.ndarray, "e 12 12"]:
        """Stress part of the geometric stiffness for nodal displacements `v`."""
        R = np.einsum("eqkd,ed->eqk", self.forces, v)
        zero = np.zeros_like(R[..., 0])
        m = np.stack([zero, -R[..., 5], R[..., 4]], axis=-1)
        V = np.stack([zero, R[..., 1], R[..., 2]], axis=-1)
        spread = np.zeros((*zero.shape, 3, 3))
        S = self.S / self.S[..., :1, :1]
        spread[..., 1, 1], spread[..., 2, 2] = S[..., 5, 5], S[..., 4, 4]
        spread[..., 1, 2] = spread[..., 2, 1] = -S[..., 4, 5]
        centroid = np.stack([np.zeros_like(S[..., 0, 5]), -S[..., 0, 5], S[..., 0, 4]], axis=-1)
        bent = centroid[..., :, None] * (m - R[..., :1] * centroid)[..., None, :]  # second moments of bending beside it
        Q = R[..., :1, None] * spread + bent + bent.swapaxes(-1, -2)
        return stress_work(self, R[..., 0], R[..., 3], m, V, Q)


def _cross(c: np.ndarray) -> np.ndarray:
    """The matrices (..., 3, 3) of c times a vector."""
    return np.asarray(np.einsum("...k,kby->...by", c, SPIN))


def _axes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Axes x, y, z in rows, from directions x and vectors y in their planes.

    Raises `MeshError` when both are one line.
    """
    z = np.cross(x, y)
    size = np.linalg.norm(z, axis=-1, keepdims=True)
    if (size < 1e-6 * np.linalg.norm(y, axis=-1, keepdims=True)).any():
        raise MeshError("A beam of a table runs along the y_axis of its sections: give another y_axis.")
    z = z / size
    return np.stack([x, np.cross(z, x), z], axis=-2)


def _at(points: np.ndarray, xi: np.ndarray) -> np.ndarray:
    """Points (e, q, 3) at places (e, q) between pairs of points (e, 2, 3)."""
    return np.asarray(points[:, None, 0] + xi[:, :, None] * (points[:, 1] - points[:, 0])[:, None])


def _sections(beam: BeamTable, points: np.ndarray, axes: np.ndarray, xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Section stiffness and mass (e, q, 6, 6) in the axes of the cells, which run along the table, at places (e, q)
    along them."""
    S, M, y = beam.at(_at(points, xi))
    own = _axes(np.broadcast_to(axes[:, :1], y.shape), y)
    R = own @ axes[:, None].swapaxes(2, 3)  # from the axes of the cell
    T = np.zeros((*R.shape[:2], 6, 6))
    T[..., :3, :3] = T[..., 3:, 3:] = R
    return T.swapaxes(2, 3) @ S @ T, T.swapaxes(2, 3) @ M @ T


def _to_end(xi: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Section forces (e, q, 6, 6) at places (e, q) along beams, for forces at their end."""
    H = np.tile(np.eye(6), (*xi.shape, 1, 1))
    H[:, :, 3:, :3] = ((1 - xi) * length[:, None])[..., None, None] * _ABOUT_X
    return H


def _pieces(beam: BeamTable, points: np.ndarray) -> np.ndarray:
    """Places (e, s + 1) from 0 to 1 along beams where pieces end; where there are fewer, the last ones have no
    length."""
    s = points @ beam.along
    run = s[:, 1] - s[:, 0]
    station = (beam.positions - s[:, :1]) / np.where(run == 0, np.inf, run)[:, None]
    slack = 1e-9  # a station at a node
    cell, k = np.nonzero((station > slack) & (station < 1 - slack))
    low = np.concatenate([np.zeros(len(s)), station[cell, k]])
    cell = np.concatenate([np.arange(len(s)), cell])
    order = np.lexsort((low, cell))
    cell, low = cell[order], low[order]
    high = np.roll(low, -1)
    high[high == 0] = 1.0
    for _ in range(HALVINGS):
        wide = _varies(beam, points[cell], low, high)
        if not wide.any():
            break
        middle = (low + high)[wide] / 2
        cell, low = np.concatenate([cell, cell[wide]]), np.concatenate([low, middle])
        high = np.concatenate([high, high[wide]])
        high[np.flatnonzero(wide)] = middle
    order = np.lexsort((low, cell))
    cell, low = cell[order], low[order]
    count = np.bincount(cell)
    places = np.ones((len(s), count.max() + 1))
    places[cell, np.arange(len(cell)) - (np.cumsum(count) - count)[cell]] = low
    return places


def _varies(beam: BeamTable, points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether sections vary too much between places of beams for one rule of integration."""
    S, _, y = beam.at(_at(points, np.column_stack([low, high])))
    scale = 1 / np.sqrt(np.einsum("eii->ei", S[:, 0]))
    first, last = (S[:, k] * scale[:, :, None] * scale[:, None] for k in (0, 1))
    ratios = np.linalg.eigvals(np.linalg.solve(first, last)).real
    y = y / np.linalg.norm(y, axis=2, keepdims=True)
    turned = np.einsum("ei,ei->e", y[:, 0], y[:, 1]) < TURN
    return np.asarray((ratios > RATIO).any(axis=1) | (ratios < 1 / RATIO).any(axis=1) | turned)


def _points_of(pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss points (e, q) of all pieces, and their weights, zero in pieces without length."""
    size = np.diff(pieces, axis=1)[..., None]
    inner, weights = pieces[:, :-1, None] + size * _XI, size * _W
    return inner.reshape(len(pieces), -1), weights.reshape(len(pieces), -1)


def _running(xi: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Integrals (e, q, g) from 0 to places (e, q) of the functions that are one at a Gauss point, zero at the others,
    and polynomials in each piece."""
    size = np.diff(pieces, axis=1)[:, None]
    local = np.clip((xi[..., None] - pieces[:, None, :-1]) / np.where(size > 0, size, 1.0), 0.0, 1.0)
    powers = np.arange(len(_XI))
    values = np.linalg.inv(_XI[:, None] ** powers)  # coefficients of the polynomials in columns
    found = size[..., None] * ((local[..., None] ** (powers + 1) / (powers + 1)) @ values)
    return np.asarray(found.reshape(*xi.shape, -1))

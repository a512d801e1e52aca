"""Two-node beams in space: stiffness, mass and geometric stiffness, by Gauss points along the beam.

Displacement of the centroid line `u(x)` and rotation `theta(x)` of the sections are interpolated such that the
equations of an unloaded Timoshenko beam are met (cubic deflection, quadratic rotation, constant shear strain; no
locking, exact static solutions between nodes); without shear flexibility the interpolation is that of Euler and
Bernoulli (Hermite). The mass has rotary inertia.
Source: Friedman and Kosmatka, "An improved two-node Timoshenko beam finite element", Comput. Struct. 47 (1993) 473-481.

Geometric stiffness is the stress part of that of the solid whose sections turn rigidly, `u + theta x y` for a point y
of the section, with the stresses of normal force, bending moments, shear forces and torque:

    S_ij(v) = int sigma(v) : (grad phi_i^T grad phi_j + grad p_ij),
    p_ij = (theta_i x (theta_j x y) + theta_j x (theta_i x y)) / 2

where p undoes the stretch theta^2/2 of a section that turns by theta in the linear kinematics. Sections are taken as
doubly symmetric in the stresses of second order (no Wagner term of the moments).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fem.beam import Beam, Truss
from fem.errors import MeshError
from fem.material import required_density
from fem.sections.twist import Twist, decay

_XI, _W = np.polynomial.legendre.leggauss(4)
_XI, _W = (_XI + 1) / 2, _W / 2
MOST = 60
"""Largest number of Gauss points of a beam."""
SPIN = np.array(
    [
        [[0, 0, 0], [0, 0, -1], [0, 1, 0]],
        [[0, 0, 1], [0, 0, 0], [-1, 0, 0]],
        [[0, -1, 0], [1, 0, 0], [0, 0, 0]],
    ],
    dtype=float,
)
"""`SPIN[k] @ v`: the unit vector k times v."""


@dataclass(frozen=True, eq=False)
class LineMass:
    """Mass of beams at points, in the axes of the mesh.

    - `mass` (p,), positions `x` (p, 3);
    - displacements `u` and rotations `theta` (p, 3, k) of k fields;
    - `rotary` (p, 3, 3): moments of inertia of the sections;
    - `warping` (p, 3, k): motion of sections that warp, as that of a unit mass with the same kinetic energy, whose
      first moments vanish; None where none does.
    """

    mass: np.ndarray
    x: np.ndarray
    u: np.ndarray
    theta: np.ndarray
    rotary: np.ndarray
    warping: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Beams:
    """Beams of one kind at their Gauss points, in local axes, over the d = 12 dofs [u1, theta1, u2, theta2] in mesh
    axes, or 14 with the rates of twist [phi1, phi2] of torsion by Vlasov.

    - `u`, `theta` (e, q, 3, d) and their derivatives `du`, `dtheta` along the beam, `ddtheta` the second;
    - `shear` (e, 2, d): shear strains, constant; `dV` (e, q): weights times length;
    - `axes` (e, 3, 3): local axes in rows; `x` (e, q, 3): Gauss points;
    - `torque` (e, d): about the shear centre, constant; `torsion` (e, d, d): stiffness of the twist.
    """

    beam: Any
    u: np.ndarray
    theta: np.ndarray
    du: np.ndarray
    dtheta: np.ndarray
    ddtheta: np.ndarray
    shear: np.ndarray
    dV: np.ndarray
    axes: np.ndarray
    x: np.ndarray
    torque: np.ndarray
    torsion: np.ndarray

    @staticmethod
    def of(
        beam: Beam, points: Float[np.ndarray, "e 2 3"], rule: tuple[np.ndarray, np.ndarray] | None = None
    ) -> "Beams":
        """Beams between pairs of points; `rule`: places from 0 to 1 along them and their weights, by default Gauss's.

        Raises `MeshError` for a beam without length.
        """
        x, length = directions(points)
        xi, weights = rule or gauss_rule(beam, length)
        E, G = beam.moduli
        s = beam.section
        given, axes = beam.axes(x), beam.principal_axes(x)
        flexible = beam.theory == "timoshenko"
        phi_y, phi_z = (
            12 * E * inertia / (k * G * s.area * length**2) if flexible else np.zeros(len(length))
            for inertia, k in ((s.Iz, s.shear_y), (s.Iy, s.shear_z))
        )
        twist = Twist.of(beam, length, xi)
        turns = [3, 9, 12, 13][: twist.value.shape[2]]
        e, q, d = len(length), len(xi), 10 + len(turns)
        u, theta, du, dtheta, ddtheta = (np.zeros((e, q, 3, d)) for _ in range(5))
        shear, torque, bimoments = np.zeros((e, 2, d)), np.zeros((e, d)), np.zeros((e, 2, d))
        u[:, :, 0, 0], u[:, :, 0, 6] = 1 - xi, xi
        du[:, :, 0, 0], du[:, :, 0, 6] = -1 / length[:, None], 1 / length[:, None]
        theta[:, :, 0, turns], dtheta[:, :, 0, turns], ddtheta[:, :, 0, turns] = twist.value, twist.rate, twist.change
        torque[:, turns], bimoments[:, :, turns] = twist.torque, twist.bimoments
        for phi, shift, turn, sign, k in ((phi_y, 1, 2, 1.0, 0), (phi_z, 2, 1, -1.0, 1)):
            N, dN, T, dT, ddT, gamma = _bending(length, phi, xi)
            dofs = np.array([shift, 3 + turn, 6 + shift, 9 + turn])
            signs = np.array([1.0, sign, 1.0, sign])
            u[:, :, shift, dofs], du[:, :, shift, dofs] = N * signs, dN * signs
            theta[:, :, turn, dofs], dtheta[:, :, turn, dofs], ddtheta[:, :, turn, dofs] = (
                sign * A * signs for A in (T, dT, ddT)
            )
            shear[:, k, dofs] = gamma * signs
        ys, zs = s.shear_centre  # the sections turn about it; u is the motion of the centroid
        for motion, turned in ((u, theta), (du, dtheta)):
            motion[:, :, 1] += zs * turned[:, :, 0]
            motion[:, :, 2] -= ys * turned[:, :, 0]
        to_local = np.zeros((e, d, d))
        oy, oz = beam.offset
        arm = oy * given[:, 1] + oz * given[:, 2]  # from node to centroid
        places = points[:, None, 0] + xi[:, None] * (points[:, 1] - points[:, 0])[:, None] + arm[:, None]
        beside = arm + ys * axes[:, 1] + zs * axes[:, 2]  # from node to shear centre
        lever, of_shear = (np.einsum("kab,ek->eab", SPIN, a) for a in (arm, beside))  # arm x
        for node in range(2):
            b = 6 * node
            to_local[:, b : b + 3, b : b + 3] = axes
            to_local[:, b, b + 3 : b + 6] = -(axes @ lever)[:, 0]  # theta x arm
            to_local[:, b + 1 : b + 3, b + 3 : b + 6] = -(axes @ of_shear)[:, 1:]
            to_local[:, b + 3 : b + 6, b + 3 : b + 6] = axes
        to_local[:, range(12, d), range(12, d)] = 1.0
        u, theta, du, dtheta, ddtheta = (A @ to_local[:, None] for A in (u, theta, du, dtheta, ddtheta))
        torque, bimoments = (torque[:, None] @ to_local)[:, 0], bimoments @ to_local
        torsion = (to_local[:, 9] - to_local[:, 3])[:, :, None] * torque[:, None]  # work of the forces at the ends
        if d > 12:
            torsion[:, 12] -= bimoments[:, 0]
            torsion[:, 13] += bimoments[:, 1]
        dV = weights * length[:, None]
        return Beams(beam, u, theta, du, dtheta, ddtheta, shear @ to_local, dV, axes, places, torque, torsion)

    def stiffness(self) -> Float[np.ndarray, "e d d"]:
        """Stiffness matrices."""
        E, G = self.beam.moduli
        s = self.beam.section
        K = _weighted(self.du[:, :, :1], np.array([E * s.area]), self.dV) + self.torsion
        K += _weighted(self.dtheta[:, :, 1:], np.array([E * s.Iy, E * s.Iz]), self.dV)
        if self.beam.theory == "timoshenko":
            stiff = G * s.area * np.array([s.shear_y, s.shear_z])
            K += np.einsum("eka,k,ekb,e->eab", self.shear, stiff, self.shear, self.dV.sum(axis=1))
        return (K + K.transpose(0, 2, 1)) / 2

    def mass(self) -> Float[np.ndarray, "e d d"]:
        """Consistent mass matrices with rotary inertia, and that of warping where torsion is Vlasov's."""
        density, s = self._density, self.beam.section
        M = _weighted(self.u, density * s.area * np.ones(3), self.dV)
        M += _weighted(self.theta, density * np.array([s.Iy + s.Iz, s.Iy, s.Iz]), self.dV)
        if self._warps:
            M += _weighted(self.dtheta[:, :, :1], np.array([density * s.warping]), self.dV)
        return (M + M.transpose(0, 2, 1)) / 2

    @property
    def _warps(self) -> bool:
        """Whether the nodes have rates of twist."""
        return self.u.shape[3] > 12

    @property
    def _density(self) -> float:
        return required_density(self.beam.name, self.beam.density, "Beam material")

    def line_mass(self, fields: Float[np.ndarray, "e d k"]) -> LineMass:
        """The mass at the Gauss points, with `fields` there."""
        density, s = self._density, self.beam.section
        u, theta = (np.einsum("eji,eqja,eak->eqik", self.axes, A, fields, optimize=True) for A in (self.u, self.theta))
        rotary = np.einsum("eki,k,ekj->eij", self.axes, density * np.array([s.Iy + s.Iz, s.Iy, s.Iz]), self.axes)
        k, warping = fields.shape[2], None
        if self._warps:
            rate = np.einsum("eqa,eak->eqk", self.dtheta[:, :, 0], fields) * self.dV[..., None] ** 0.5
            warping = (density * s.warping) ** 0.5 * self.axes[:, None, 0, :, None] * rate[:, :, None]
            warping = warping.reshape(-1, 3, k)
        return LineMass(
            (density * s.area * self.dV).ravel(),
            self.x.reshape(-1, 3),
            u.reshape(-1, 3, k),
            theta.reshape(-1, 3, k),
            (rotary[:, None] * self.dV[..., None, None]).reshape(-1, 3, 3),
            warping,
        )

    def gradients(self, fields: Float[np.ndarray, "e d k"]) -> tuple[np.ndarray, np.ndarray]:
        """Places (p, 3) of the section's fibres at each Gauss point, and `du_i / dx_j` (p, 3, 3, k) there, in the axes
        of the mesh."""
        du, theta, dtheta, ddtheta = (
            np.einsum("eqia,eak->eqik", A, fields) for A in (self.du, self.theta, self.dtheta, self.ddtheta)
        )
        places, found = [], []
        section = self.beam.placed_section
        warping = section.fibre_warping if self._warps and section.fibre_warping else (0.0,) * len(section.fibres)
        arms, sizes = self._fibres()
        slopes = section.torsion_shear - np.array([1, -1]) * np.array(section.shear_centre)[::-1]
        for (y, z), arm, omega, (xy, xz) in zip(section.fibres, arms, warping, slopes.tolist(), strict=True):
            lever = np.einsum("kab,eqb->eqak", SPIN, arm)  # theta x arm = lever theta
            H = np.stack(
                [du + np.einsum("eqij,eqjk->eqik", lever, dtheta)]
                + [np.einsum("kab,b->ak", SPIN, axis) @ theta for axis in np.eye(3)[1:]],
                axis=3,
            )  # e, q, i, j, k
            H[:, :, 0, 0] += omega * ddtheta[:, :, 0]
            H[:, :, 0, 1] += sizes[:, :, 1:] * (xy + z) * dtheta[:, :, 0]  # the slope of the warping across the section
            H[:, :, 0, 2] += sizes[:, :, :1] * (xz - y) * dtheta[:, :, 0]
            H = np.einsum("eai,eqabk,ebj->eqijk", self.axes, H, self.axes, optimize=True)
            places.append((self.x + np.einsum("eai,eqa->eqi", self.axes, arm)).reshape(-1, 3))
            found.append(H.reshape(-1, 3, 3, fields.shape[2]))
        return np.concatenate(places), np.concatenate(found)

    def _fibres(self) -> tuple[np.ndarray, np.ndarray]:
        """Places (f, e, q, 3) of the fibres from the line of the nodes in local axes, and sizes (e, q, 2) of the
        sections along y and z, relative to the one with these fibres."""
        fibres = np.array(self.beam.placed_section.fibres).reshape(-1, 1, 1, 2)
        arms = np.broadcast_to(np.pad(fibres, [(0, 0)] * 3 + [(1, 0)]), (len(fibres), *self.x.shape))
        return arms, np.ones((*self.x.shape[:2], 2))

    def moment_loads(self) -> Float[np.ndarray, "e d 9"]:
        """Forces of the accelerations `X_a e_b` of the mass, column 3 a + b."""
        density, s = self._density, self.beam.section
        N, T = (np.einsum("eji,eqja->eqia", self.axes, A) for A in (self.u, self.theta))
        loads = np.einsum("eq,eqx,eqba->eaxb", density * s.area * self.dV, self.x, N, optimize=True)
        # a point y of the section moves by theta x y, and X by y
        spread = np.einsum("eki,k,ekj->eij", self.axes, density * np.array([0.0, s.Iz, s.Iy]), self.axes)
        loads += np.einsum("eq,exy,eqca,cby->eaxb", self.dV, spread, T, SPIN, optimize=True)
        return np.asarray(loads.reshape(len(loads), -1, 9))

    def line_loads(self) -> Float[np.ndarray, "e d 3"]:
        """Loads of a unit force per length along each axis of the mesh, on the line whose motion is `u`."""
        return np.einsum("eji,eqja,eq->eai", self.axes, self.u, self.dV)

    def second_moments(
        self, fields: Float[np.ndarray, "e d m"]
    ) -> tuple[Float[np.ndarray, "3 m m"], Float[np.ndarray, "3 3 m m"]]:
        """Integrals over the mass of the second-order motion `p_ij` of the centroids, which turn with the nodes on the
        arms of an offset, and of `X_a (p_ij)_b`. The motion of sections about their centroids follows from the rotary
        inertia in `line_mass`."""
        m = fields.shape[2]
        first, moments = no_second_moments(m)
        if not any(self.beam.offset):
            return first, moments
        arm, N = self._arm, np.einsum("eji,eqja->eqia", self.axes, self.u)
        moved = np.einsum("eq,eqba->eab", self._density * self.beam.section.area * self.dV, N)
        loads = np.concatenate(
            [moved, self.moment_loads()], axis=2
        )  # of all nodes moved as one, and in proportion to X
        total = np.zeros((12, m, m))
        for b in (0, 6):
            total += work_of_turning(arm, fields[:, b + 3 : b + 6], loads[:, b : b + 3])
        return total[:3], total[3:].reshape(3, 3, m, m)

    @property
    def _arm(self) -> np.ndarray:
        """From the nodes to the centroid (e, 3)."""
        turn = np.deg2rad(self.beam.section.angle)
        c, s = float(np.cos(turn)), float(np.sin(turn))
        y, z = np.array([[c, s], [-s, c]]) @ self.beam.offset
        return np.asarray(y * self.axes[:, 1] + z * self.axes[:, 2])

    def projected_geometric_stiffness(
        self, U: Float[np.ndarray, "e d p"], V: Float[np.ndarray, "e d m"]
    ) -> Float[np.ndarray, "p m m"]:
        """`V^T K_G(u) V` for each field u of U."""
        found = [
            np.einsum("eai,eab,ebj->ij", V, self.geometric_stiffness(U[..., k]), V, optimize=True)
            for k in range(U.shape[2])
        ]
        return np.array(found).reshape(U.shape[2], V.shape[2], V.shape[2])

    def quadratic_strain_loads(
        self, V: Float[np.ndarray, "e d m"], pairs: Int[np.ndarray, "p 2"]
    ) -> Float[np.ndarray, "e d p"]:
        """Loads whose work on u is `v_i^T K_G(u) v_j` for each of `pairs` (i, j) of fields V."""
        loads = np.zeros((*V.shape[:2], len(pairs)))
        for a, unit in enumerate(np.eye(V.shape[1])):
            K = self.geometric_stiffness(np.broadcast_to(unit, V.shape[:2]))
            KV = np.einsum("eab,ebp->eap", K, V[..., pairs[:, 1]])
            loads[:, a] = np.einsum("eap,eap->ep", V[..., pairs[:, 0]], KV)
        return loads

    def geometric_stiffness(self, v: Float[np.ndarray, "e d"]) -> Float[np.ndarray, "e d d"]:
        """Stress part of the geometric stiffness for nodal displacements `v`."""
        E, _ = self.beam.moduli
        s = self.beam.section
        along, curve, change = (np.einsum("eqkd,ed->eqk", A, v) for A in (self.du, self.dtheta, self.ddtheta))
        N = E * s.area * along[..., 0]
        zero = np.zeros_like(N)
        T = zero + np.einsum("ed,ed->e", self.torque, v)[:, None]
        m = np.stack([zero, -E * s.Iz * curve[..., 2], E * s.Iy * curve[..., 1]], axis=-1)  # int sigma_xx y dA
        V = np.stack([zero, -E * s.Iz * change[..., 2], E * s.Iy * change[..., 1]], axis=-1)
        ys, zs = s.shear_centre
        T = T + ys * V[..., 2] - zs * V[..., 1]  # about the centroid
        K = stress_work(self, N, T, m, V, N[..., None, None] / s.area * np.diag([0.0, s.Iz, s.Iy]))
        return self._with_arms(K, v) if any(self.beam.offset) else K

    def _with_arms(self, K: np.ndarray, v: np.ndarray) -> np.ndarray:
        """`K` plus the work of the forces at the ends on the second-order motion of arms from the nodes to the
        centroid, `theta x (theta x arm) / 2`."""
        arm = self._arm
        forces = np.einsum("eab,eb->ea", self.stiffness(), v)
        for b in (0, 6):
            f = forces[:, b : b + 3]
            both = f[:, :, None] * arm[:, None]
            K[:, b + 3 : b + 6, b + 3 : b + 6] += (both + both.swapaxes(1, 2)) / 2
            K[:, b + 3 : b + 6, b + 3 : b + 6] -= np.einsum("ex,ex->e", f, arm)[:, None, None] * np.eye(3)
        return K


@dataclass(frozen=True, eq=False)
class Trusses:
    """Rods of one kind over the 6 dofs [u1, u2], `x` (e, 2, 3) their ends, `length` (e,).

    Raises `MeshError` for a rod without length.
    """

    truss: Truss
    x: Float[np.ndarray, "e 2 3"]
    length: Float[np.ndarray, " e"] = field(init=False)
    _along: Float[np.ndarray, "e 3"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        along, length = directions(self.x, "Truss cell {} of a set")
        object.__setattr__(self, "_along", along)
        object.__setattr__(self, "length", length)

    @property
    def _strain(self) -> np.ndarray:
        """The strain (e, 6) of the dofs."""
        row = self._along / self.length[:, None]
        return np.concatenate([-row, row], axis=1)

    @property
    def _mass(self) -> np.ndarray:
        return required_density(self.truss.name, self.truss.density, "Truss material") * self.truss.area * self.length

    def stiffness(self) -> Float[np.ndarray, "e 6 6"]:
        """Stiffness matrices."""
        B = self._strain
        return np.asarray(
            (self.truss.modulus * self.truss.area * self.length)[:, None, None] * B[:, :, None] * B[:, None]
        )

    def mass(self) -> Float[np.ndarray, "e 6 6"]:
        """Consistent mass matrices."""
        return np.asarray(self._mass[:, None, None] * np.kron(np.array([[2.0, 1.0], [1.0, 2.0]]) / 6, np.eye(3)))

    def line_mass(self, fields: Float[np.ndarray, "e 6 k"]) -> LineMass:
        """The mass at two Gauss points a rod, with `fields` there."""
        k = fields.shape[2]
        u, (xi, w) = fields.reshape(len(fields), 2, 3, k), np.polynomial.legendre.leggauss(2)
        N = np.stack([1 - xi, 1 + xi], axis=1) / 2
        moved, x = (np.einsum("qi,ei...->eq...", N, A) for A in (u, self.x))
        moved = moved.reshape(-1, 3, k)
        mass = np.outer(self._mass, w / 2).ravel()
        return LineMass(mass, x.reshape(-1, 3), moved, 0 * moved, np.zeros((len(mass), 3, 3)))

    def moment_loads(self) -> Float[np.ndarray, "e 6 9"]:
        """Forces `int N^T X_a e_b` over the mass, column 3 a + b."""
        M = self._mass[:, None, None] * np.array([[2.0, 1.0], [1.0, 2.0]]) / 6
        return np.asarray(np.einsum("eij,eja,bc->eicab", M, self.x, np.eye(3)).reshape(len(M), 6, 9))

    def line_loads(self) -> Float[np.ndarray, "e 6 3"]:
        """Loads of a unit force per length along each axis of the mesh."""
        return np.asarray(self.length[:, None, None] / 2 * np.tile(np.eye(3), (2, 1)))

    def second_moments(
        self, fields: Float[np.ndarray, "e 6 m"]
    ) -> tuple[Float[np.ndarray, "3 m m"], Float[np.ndarray, "3 3 m m"]]:
        """Zero for all `fields`: the points of rods move linearly with the nodes."""
        return no_second_moments(fields.shape[2])

    def gradients(self, fields: Float[np.ndarray, "e 6 k"]) -> tuple[np.ndarray, np.ndarray]:
        """Places (p, 3) of the middles, and `du_i / dx_j` (p, 3, 3, k) there of `fields`, along the rods only."""
        slope = (fields[:, 3:] - fields[:, :3]) / self.length[:, None, None]
        return self.x.mean(axis=1), np.einsum("eik,ej->eijk", slope, self._along)

    def stresses(self, fields: Float[np.ndarray, "e 6 k"]) -> Float[np.ndarray, "e 6 k"]:
        """Stresses xx, yy, zz, xy, yz, zx of `fields` in the axes of the mesh."""
        t = self._along
        pairs = np.stack([t[:, i] * t[:, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))], axis=1)
        return np.asarray(
            self.truss.modulus * pairs[..., None] * np.einsum("ed,edk->ek", self._strain, fields)[:, None]
        )

    def geometric_stiffness(self, v: Float[np.ndarray, "e 6"]) -> Float[np.ndarray, "e 6 6"]:
        """Stress part of the geometric stiffness for nodal displacements `v`."""
        force = self.truss.modulus * self.truss.area * (self._strain * v).sum(axis=1)
        return np.asarray(
            (force / self.length)[:, None, None] * np.kron(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.eye(3))
        )

    def projected_geometric_stiffness(
        self, U: Float[np.ndarray, "e 6 p"], V: Float[np.ndarray, "e 6 m"]
    ) -> Float[np.ndarray, "p m m"]:
        """`V^T K_G(u) V` for each field u of U."""
        force = self.truss.modulus * self.truss.area * np.einsum("ed,edp->ep", self._strain, U)
        apart = V[:, 3:] - V[:, :3]
        return np.asarray(np.einsum("ep,e,exi,exj->pij", force, 1 / self.length, apart, apart, optimize=True))

    def quadratic_strain_loads(
        self, V: Float[np.ndarray, "e 6 m"], pairs: Int[np.ndarray, "p 2"]
    ) -> Float[np.ndarray, "e 6 p"]:
        """Loads whose work on u is `v_i^T K_G(u) v_j` for each of `pairs` (i, j) of fields V."""
        apart = V[:, 3:] - V[:, :3]
        strain = (apart[..., pairs[:, 0]] * apart[..., pairs[:, 1]]).sum(axis=1) / self.length[:, None] ** 2
        stiff = self.truss.modulus * self.truss.area * self.length
        return np.asarray((stiff[:, None] * self._strain)[..., None] * strain[:, None])


def gauss_rule(beam: Any, length: Float[np.ndarray, " e"]) -> tuple[np.ndarray, np.ndarray]:
    """Gauss points from 0 to 1 along beams and their weights: four, which integrate the work of polynomials; and more
    for the exponentials of warping that decays within a beam, without which a stressed beam would resist a rigid
    rotation."""
    if not isinstance(beam, Beam) or beam.torsion != "vlasov":
        return _XI, _W
    xi, weights = np.polynomial.legendre.leggauss(min(6 + int(np.ceil(decay(beam) * length.max(initial=0.0))), MOST))
    return (xi + 1) / 2, weights / 2


def directions(
    points: Float[np.ndarray, "e 2 3"], what: str = "Line cell {} of a beam set"
) -> tuple[Float[np.ndarray, "e 3"], Float[np.ndarray, " e"]]:
    """Unit vectors along cells between pairs of points, and lengths. Raises `MeshError` for a cell without length,
    which is called `what`."""
    along = points[:, 1] - points[:, 0]
    length = np.linalg.norm(along, axis=1)
    if not (length > 0).all():
        raise MeshError(f"{what.format(int(np.argmin(length)))} has no length; merge or remove it.")
    return along / length[:, None], length


def no_second_moments(m: int) -> tuple[Float[np.ndarray, "3 m m"], Float[np.ndarray, "3 3 m m"]]:
    """The integrals `second_moments` of m fields where no point has a motion of second order."""
    return np.zeros((3, m, m)), np.zeros((3, 3, m, m))


def work_of_turning(
    arm: Float[np.ndarray, "p 3"], theta: Float[np.ndarray, "p 3 m"], forces: Float[np.ndarray, "p 3 k"]
) -> Float[np.ndarray, "k m m"]:
    """Work of `forces` on the second-order motion of the ends of arms that turn by pairs of rotations `theta`:
    `(theta_i x (theta_j x arm) + theta_j x (theta_i x arm)) / 2`."""
    k, m = forces.shape[2], theta.shape[2]
    total, flat = np.zeros((k, m, m)), theta.reshape(-1, m)
    along = np.einsum("px,pxi->pi", arm, theta)
    for f in range(k):
        part = np.einsum("px,pxi->pi", forces[:, :, f], theta).T @ along
        lever = np.repeat(np.einsum("px,px->p", arm, forces[:, :, f]), 3)
        total[f] = (part + part.T) / 2 - (flat * lever[:, None]).T @ flat
    return total


def stress_work(
    beams: Beams, N: np.ndarray, T: np.ndarray, m: np.ndarray, V: np.ndarray, Q: np.ndarray
) -> Float[np.ndarray, "e d d"]:
    """Geometric stiffness of normal forces and torques (e, q), first moments of the normal stress `int sigma y dA` and
    shear forces (e, q, 3), and second moments `int sigma y y^T dA` (e, q, 3, 3), in local axes."""
    spread = np.trace(Q, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - Q
    cross_m, cross_V = (np.einsum("kab,eqk->eqab", SPIN, a) for a in (m, V))  # a x
    ex = np.array([1.0, 0.0, 0.0])
    along_x = T[..., None, None] / 2 * np.array([[0.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    pairs = (
        (beams.du, N[..., None, None] / 2 * np.eye(3), beams.du),
        (beams.du, -cross_m, beams.dtheta),
        (beams.dtheta, spread / 2, beams.dtheta),
        (beams.du, -cross_V, beams.theta),
        (beams.dtheta, along_x, beams.theta),
        (beams.dtheta, 0.5 * ex[:, None] * m[..., None, :], beams.theta),
        (beams.theta, 0.5 * ex[:, None] * m[..., None, :], beams.dtheta),
        (beams.theta, 0.5 * ex[:, None] * V[..., None, :], beams.theta),
    )
    half = sum(np.einsum("eqia,eqij,eqjb,eq->eab", a, A, b, beams.dV, optimize=True) for a, A, b in pairs)
    return np.asarray(half + np.swapaxes(half, 1, 2))


def _bending(length: np.ndarray, phi: np.ndarray, xi: np.ndarray) -> tuple[np.ndarray, ...]:
    """Deflection N and rotation T (e, q, 4) over [v1, t1, v2, t2], derivatives along the beam, and the shear strain
    (e, 4)."""
    x, L, p = xi[None, :], length[:, None], phi[:, None]
    f = 1 / (1 + p)
    one = np.ones_like(x * L)
    N = np.stack([
        f * (1 - 3 * x**2 + 2 * x**3 + p * (1 - x)), f * L * (x - 2 * x**2 + x**3 + p * (x - x**2) / 2),
        f * (3 * x**2 - 2 * x**3 + p * x), f * L * (-(x**2) + x**3 + p * (x**2 - x) / 2),
    ], axis=-1)  # fmt: skip
    dN = np.stack([
        f / L * (-6 * x + 6 * x**2 - p), f * (1 - 4 * x + 3 * x**2 + p * (1 - 2 * x) / 2),
        f / L * (6 * x - 6 * x**2 + p), f * (-2 * x + 3 * x**2 + p * (2 * x - 1) / 2),
    ], axis=-1)  # fmt: skip
    T = np.stack([
        6 * f / L * (x**2 - x), f * (1 - 4 * x + 3 * x**2 + p * (1 - x)),
        6 * f / L * (x - x**2), f * (-2 * x + 3 * x**2 + p * x),
    ], axis=-1)  # fmt: skip
    dT = np.stack([
        6 * f / L**2 * (2 * x - 1), f / L * (-4 + 6 * x - p), 6 * f / L**2 * (1 - 2 * x), f / L * (-2 + 6 * x + p),
    ], axis=-1)  # fmt: skip
    ddT = np.stack([12 * f / L**3 * one, 6 * f / L**2 * one, -12 * f / L**3 * one, 6 * f / L**2 * one], axis=-1)
    gamma = (dN - T)[:, 0]
    return N, dN, T, dT, ddT, gamma


def _weighted(A: np.ndarray, weights: np.ndarray, dV: np.ndarray) -> np.ndarray:
    return np.einsum("eqka,k,eqkb,eq->eab", A, weights, A, dV, optimize=True)

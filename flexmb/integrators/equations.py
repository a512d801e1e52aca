"""The equations of motion of a mechanism for integrators: the compiled residual with its arrays."""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from fem.errors import ConvergenceError, FlexmbError
from flexmb.integrators.snapshot import Snapshot
from flexmb.kernels.data import ANGLE, SECOND_ORDER, Flat, Places, Terms, make_places, make_terms
from flexmb.kernels.exponential import exponential_rates
from flexmb.kernels.rows import place_markers, row_rates
from flexmb.kernels.solve import INACTIVE, solve_rows
from flexmb.kernels.step import displace, powers_of, residual
from flexmb.mechanism import Mechanism


@dataclass
class Equations:
    """Residual, energies and powers at one state at a time; `terms` holds the blocks of the last one asked for."""

    mechanism: Mechanism
    q: np.ndarray
    flat: Flat = field(init=False)
    places: Places = field(init=False)
    terms: Terms = field(init=False)
    angles: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.flat = self.mechanism.flat()
        self.places, self.terms = make_places(self.flat), make_terms(self.flat)
        for law in self.mechanism.laws:
            law.failure = None
        self.angles = initial_angles(self.mechanism, self.flat, self.q)

    def residual(
        self, functions: np.ndarray, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Unbalanced forces (nv,), overwritten by the next call, and energies (4,)."""
        energies, out = np.zeros(4), self.terms.unbalanced
        residual(self.flat, q, w, wdot, multipliers, functions, self.angles, self.places, self.terms, out, energies)
        return out, energies

    def powers(self, functions: np.ndarray, w: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Powers (4,) of drivers and loads, and heats, where the residual was evaluated last."""
        powers = np.zeros(4)
        powers_of(self.flat, functions, multipliers, w, self.terms, powers)
        return powers

    def accelerations(self, functions: np.ndarray, q: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations (nv,) and joint multipliers (nj,) of a state on the joints; `functions` (nf, 3) at its time.

        Solves `M wdot + bias - forces + G^T lambda = 0` with the second derivative of the joint equations; the
        velocity-dependent part of that derivative is taken along the motion by fourth-order differences.
        """
        flat, nj, nv = self.flat, self.flat.joint_rows, len(w)
        nr = len(flat.row_kind)
        none, still, rows = np.zeros(nj), np.zeros(nv), np.zeros(nr)
        speed = (np.abs(w) * flat.weight).max(initial=0.0)
        if nj and speed > 0:
            eps, rates = 1e-3 / speed, np.zeros(nr)
            for offset, weight in (
                (1, 8.0),
                (-1, -8.0),
                (2, -1.0),
                (-2, 1.0),
            ):  # fourth-order difference of G w along w
                moved, shifted = self.displaced(q, offset * eps * w), functions.copy()
                shifted[:, 0] += offset * eps * functions[:, 1]
                self.residual(shifted, moved, w, still, none)
                row_rates(flat.row_markers, flat.marker_body, flat.v_start, self.terms.G, w, rates)
                rows[:nj] -= weight / (12 * eps) * rates[:nj]
        driven = flat.row_function[:nj] >= 0
        rows[:nj][driven] += functions[flat.row_function[:nj][driven], 2]
        unbalanced, _ = self.residual(functions, q, w, still, none)
        return self._on_joints(-unbalanced, rows[:nj])

    def broken_rates(self, functions: np.ndarray, w: np.ndarray) -> np.ndarray:
        """By how much the velocities `w` break each joint equation (nj,), where the residual was evaluated last."""
        flat, nj = self.flat, self.flat.joint_rows
        rates = np.zeros(len(flat.row_kind))
        row_rates(flat.row_markers, flat.marker_body, flat.v_start, self.terms.G, w, rates)
        driven = flat.row_function[:nj] >= 0
        rates[:nj][driven] -= functions[flat.row_function[:nj][driven], 1]
        return rates[:nj]

    def least_change(self, wanted: np.ndarray) -> np.ndarray:
        """The change (nv,) of velocities, or displacement, of least kinetic energy that changes the joint equations by `wanted` (nj,)."""
        return self._on_joints(np.zeros(len(self.flat.weight)), wanted)[0]

    def _on_joints(self, force: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`x` (nv,) and multipliers (nj,) with `M x + G^T multipliers = force` and `G x = wanted` (nj,), where the residual was evaluated last."""
        nr, nj = len(self.flat.row_kind), self.flat.joint_rows
        compliance, rows = np.full(nr, INACTIVE), np.zeros(nr)
        compliance[:nj], rows[:nj] = 0.0, wanted
        x, multipliers = np.zeros(len(force)), np.zeros(nr)
        self.terms.standing[:] = 0.0
        solve_rows(self.flat, self.terms, 1.0, 0.0, 0.0, compliance, force, rows, x, multipliers)
        return x, multipliers[:nj]

    def displaced(self, q: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """The configuration moved by twists and elastic increments `theta` (nv,)."""
        moved = np.empty_like(q)
        displace(self.flat, q, theta, moved)
        return moved

    def exponential_rates(self, theta: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Rates (nv,) of exponential coordinates `theta` of a configuration that moves with `w`."""
        out = np.empty_like(w)
        exponential_rates(self.flat.v_start, theta, w, out)
        return out

    def put_back(
        self, t: float, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities on the joints, by the least change of both in the metric of the mass; angles that go round are remembered.

        Source: Sofer, Bach, Brauchli, "Dynamics of constrained systems based on mass-orthogonal projections" (NATO ASI 1993).
        """
        nj = self.flat.joint_rows
        functions = self.mechanism.function_values(t)
        for _ in range(2 if nj else 1):
            self.residual(functions, q, w, wdot, multipliers)
            self.angles[nj:] = self.terms.values[nj:]
            if nj:
                q = self.displaced(q, self.least_change(-self.terms.values[:nj]))
        if nj:
            self.residual(functions, q, w, wdot, multipliers)
            w = w - self.least_change(self.broken_rates(functions, w))
        return q, w

    def snapshot(self, t: float, q: np.ndarray, w: np.ndarray, work: np.ndarray) -> Snapshot:
        """What is stored of a state on the joints."""
        functions = self.mechanism.function_values(t)
        wdot, multipliers = self.accelerations(functions, q, w)
        energies = self.residual(functions, q, w, wdot, multipliers)[1]
        return Snapshot(t, q, w, wdot, multipliers, work, energies)

    def mass(self) -> sp.csr_matrix:
        """The mass matrix (nv, nv) where the residual was evaluated last."""
        flat, terms, masses = self.flat, self.terms, []
        for b, m in enumerate(flat.modes):
            Mrr, Mre, Mee = terms.Mrr[b], terms.Mre[b][:, :m], np.eye(m)
            if flat.slices[b] == SECOND_ORDER and m:
                at_rest = flat.rest_Mre[b][:, :m]
                Mee += Mre.T @ np.linalg.solve(Mrr, Mre) - at_rest.T @ np.linalg.solve(flat.rest_Mrr[b], at_rest)
            masses.append(np.block([[Mrr, Mre], [Mre.T, Mee]]))
        return sp.csr_matrix(sp.block_diag(masses))

    def fastest_body(self, w: np.ndarray) -> str:
        """The body of the largest velocity."""
        place = int((np.abs(w) * self.flat.weight).argmax())
        return self.mechanism.bodies[int(np.searchsorted(self.flat.v_start, place, side="right")) - 1].name

    def no_mass(self, t: float) -> ConvergenceError:
        """The error of a body that was deformed until its mass matrix lost its definiteness."""
        return ConvergenceError(
            f"At t = {t:.6g} the mass matrix of a body of {self.mechanism.name!r} lost its definiteness: its elastic deformation is far outside the range of the reduced body."
        )

    def diverged(self, t: float, h: float, w: np.ndarray) -> FlexmbError:
        """The error of a step whose iteration failed, or of the user's law that made it fail."""
        for law in self.mechanism.laws:
            if law.failure is not None:
                return law.failure
        return ConvergenceError(
            f"The Newton iteration of {self.mechanism.name!r} fails at t = {t:.6g} with a step of {h:.3g}; the fastest body is {self.fastest_body(w)!r}. "
            "Likely causes: the step is too large for the motion (give a smaller step=, or none to let it adapt), a driver jumps, "
            "or a mechanism passes a position in which its joints lock."
        )


def initial_angles(mechanism: Mechanism, flat: Flat, q: np.ndarray) -> np.ndarray:
    """Start values (nr,) of the unwrapped angles of angular springs: within half a turn of zero."""
    memory = np.zeros(len(mechanism.rows))
    if not (flat.row_kind == ANGLE).any():
        return memory
    places = make_places(flat)
    place_markers(flat, q, places)
    for k, row in enumerate(mechanism.rows):
        if row.kind == ANGLE:
            S = places.axes[row.markers[0]].T @ places.axes[row.markers[1]]
            memory[k] = np.arctan2(S[1, 0] - S[0, 1], S[0, 0] + S[1, 1])
    return memory

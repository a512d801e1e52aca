"""The equations of motion of a mechanism for integrators: the compiled residual with its arrays."""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from fem.errors import ConvergenceError, FlexmbError
from flexmb.initial import initial_angles
from flexmb.kernels.data import SECOND_ORDER, Flat, Places, Terms, make_places, make_terms
from flexmb.kernels.rows import row_rates
from flexmb.kernels.solve import INACTIVE, solve_rows
from flexmb.kernels.step import powers_of, residual
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
        nv, nr, nj = len(self.flat.weight), len(self.flat.row_kind), self.flat.joint_rows
        compliance, rows = np.full(nr, INACTIVE), np.zeros(nr)
        compliance[:nj], rows[:nj] = 0.0, wanted
        x = np.zeros(nv)
        self.terms.standing[:] = 0.0
        solve_rows(self.flat, self.terms, 1.0, 0.0, 0.0, compliance, np.zeros(nv), rows, x, np.zeros(nr))
        return x

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

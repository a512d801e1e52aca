"""The energy ledger: what energy there is, what work brought it, where it went, and what is left unexplained."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

REST_OF_MOTION = 1e-2
"""Part of the largest kinetic energy that the ledger takes as exchanged where less energy changes its form: a body in steady rotation exchanges nothing."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Energies and works at the stored times, all (nt,); units: consistent.

    `residual = kinetic + elastic + gravity + springs + heat + lost in impacts - work - (its start)`: what is neither energy, nor work, nor
    heat. It is the error of the simulation together with the numerical dissipation of the integrator.

    `driver_work`: of prescribed motions; `load_work`: of loads, motors and force laws. Their powers: `powers_of` in flexmb/kernels/equations/residual.py.
    """

    t: Float[np.ndarray, "nt"]
    kinetic: Float[np.ndarray, "nt"]
    elastic: Float[np.ndarray, "nt"]
    gravity: Float[np.ndarray, "nt"]
    springs: Float[np.ndarray, "nt"]
    driver_work: Float[np.ndarray, "nt"]
    load_work: Float[np.ndarray, "nt"]
    modal_heat: Float[np.ndarray, "nt"]
    damper_heat: Float[np.ndarray, "nt"]
    impacts: Float[np.ndarray, "nt"]

    @property
    def total(self) -> Float[np.ndarray, "nt"]:
        """Mechanical energy: kinetic + elastic + gravity + springs."""
        return self.kinetic + self.elastic + self.gravity + self.springs

    @property
    def residual(self) -> Float[np.ndarray, "nt"]:
        """Energy that appears from nowhere (positive) or vanishes (negative) since the start."""
        balance = self.total + self.modal_heat + self.damper_heat + self.impacts - self.driver_work - self.load_work
        return balance - balance[0]

    @property
    def exchange(self) -> float:
        """The energy that moved: the largest range of any potential energy, work or heat.

        The kinetic energy changes by their sum alone, so its own range would count the error as motion. It sets the floor: at least
        `REST_OF_MOTION` of its largest value, for motions that exchange nothing.
        """
        terms = (self.elastic, self.gravity, self.springs, self.driver_work, self.load_work, self.modal_heat, self.damper_heat, self.impacts)  # fmt: skip
        moved = max(float(np.ptp(term)) for term in terms)
        return max(moved, REST_OF_MOTION * float(self.kinetic.max()))

    @property
    def imbalance(self) -> float:
        """Largest |residual| over the energy exchanged; zero where nothing moves."""
        error, scale = float(np.abs(self.residual).max()), self.exchange
        return error / scale if scale > 0 else 0.0

    @property
    def strain_ratio(self) -> float:
        """Largest |residual| over the largest strain energy; zero where nothing is elastic."""
        strain = float(self.elastic.max())
        return float(np.abs(self.residual).max()) / strain if strain > 0 else 0.0

    def __str__(self) -> str:
        rows = [
            ("kinetic energy", self.kinetic), ("elastic energy", self.elastic), ("gravity potential", self.gravity), ("spring energy", self.springs),
            ("work of drivers", self.driver_work), ("work of loads", self.load_work), ("heat of modal damping", self.modal_heat), ("heat of dampers", self.damper_heat), ("lost in impacts", self.impacts),
            ("residual", self.residual),
        ]  # fmt: skip
        lines = [f"{'energy ledger':24}{'start':>14}{'end':>14}{'lowest':>14}{'highest':>14}"]
        lines += [
            f"{name:24}{x[0]:14.6g}{x[-1]:14.6g}{x.min():14.6g}{x.max():14.6g}"
            for name, x in rows
            if x.any() or name == "residual"
        ]
        if self.exchange > 0:
            lines.append(f"largest |residual| / energy exchanged:         {self.imbalance:.2e}")
        else:
            lines.append("no motion")
        if self.elastic.max() > 0:
            lines.append(f"largest |residual| / largest strain energy:   {self.strain_ratio:.2e}  ({strain_verdict(self.strain_ratio)})")  # fmt: skip
        return "\n".join(lines)


def strain_verdict(ratio: float) -> str:
    """What the residual over the largest strain energy says about the elastic motion (Huang 1998, section 1.3.3)."""
    if ratio <= 1e-3:
        return "the elastic motion is resolved"
    if ratio <= 1e-1:
        return "the elastic motion is coarse: reduce the step"
    return "the elastic motion is noise: reduce the step or check the model"

"""The energy ledger: energies, works and heat over time, and the residual of their balance."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from fem.shown import shown

REST_OF_MOTION = 1e-2
"""Least exchanged energy, relative to the largest kinetic energy.

A body in steady rotation exchanges no energy at all.
"""
GIVEN = 1e-9
"""Energy given by impacts, relative to the energy exchanged, above which the ledger says so."""

RESOLVED, NOISE = 1e-3, 1e-1
"""Largest |residual|, relative to the largest strain energy, of an elastic motion that is resolved, and of one that is
more than noise."""


@shown
@dataclass(frozen=True, eq=False)
class Ledger:
    """Energies and works at the stored times, all (nt,), in consistent units.

    `residual = kinetic + elastic + gravity + springs + heat + lost in impacts - work - (its initial value)` is the
    error of the simulation together with the numerical dissipation of the integrator.

    `springs` contains what laws store. `driver_work`: work of prescribed motions; `load_work`: work of loads (forces
    and torques), motors and force laws, except those that tell their stored energy: what these take and do not store is
    in `damper_heat`, with the heat of dampers and of friction in joints and contacts.
    `powers_of` in flexmb/kernels/equations/residual.py computes their powers.

    `round_off`: the energy below which a residual is that of round-off and of iterations that end at a tolerance,
    whatever was exchanged. A body at rest exchanges no more.
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
    round_off: float = field(default=0.0, kw_only=True)

    @property
    def series(self) -> dict[str, Float[np.ndarray, "nt"]]:
        """The energies, works and heats by name, and the times `t`."""
        return {name: values for name, values in vars(self).items() if name != "round_off"}

    @property
    def total(self) -> Float[np.ndarray, "nt"]:
        """Mechanical energy: kinetic + elastic + gravity + springs."""
        return self.kinetic + self.elastic + self.gravity + self.springs

    @property
    def residual(self) -> Float[np.ndarray, "nt"]:
        """Error of the energy balance since the start: positive where energy appears, negative where it vanishes."""
        balance = self.total + self.modal_heat + self.damper_heat + self.impacts - self.driver_work - self.load_work
        return balance - balance[0]

    @property
    def balances(self) -> bool:
        """Whether a simulation connects the states: a single state, such as an equilibrium, has energies only, and the
        states of a path not even these (NaN)."""
        return len(self.t) > 1 and not bool(np.isnan(self.total).any())

    @property
    def exchange(self) -> float:
        """The energy exchanged: the largest range of any potential energy, work or heat.

        The kinetic energy changes by the sum of these alone, so that its own range would count the error as motion. It
        sets a lower bound: `REST_OF_MOTION` times its largest value, for motions that exchange no energy.
        """
        terms = (
            self.elastic,
            self.gravity,
            self.springs,
            self.driver_work,
            self.load_work,
            self.modal_heat,
            self.damper_heat,
            self.impacts,
        )
        moved = max(float(np.ptp(term)) for term in terms)
        return max(moved, REST_OF_MOTION * float(self.kinetic.max()))

    @property
    def imbalance(self) -> float:
        """Largest |residual| relative to the energy exchanged, or to `round_off` where less was exchanged; zero without
        motion."""
        error, scale = float(np.abs(self.residual).max()), max(self.exchange, self.round_off)
        return error / scale if scale > 0 else 0.0

    @property
    def strain_ratio(self) -> float:
        """Largest |residual| relative to the largest strain energy; zero without strain energy, and where that is
        round-off of the energy exchanged, as in free fall."""
        return float(np.abs(self.residual).max() / self.elastic.max()) if self.deforms else 0.0

    @property
    def deforms(self) -> bool:
        """Whether bodies deform: their strain energy is more than round-off of the energy exchanged."""
        return bool(self.elastic.max() > np.finfo(float).eps * self.exchange)

    @property
    def impact_gain(self) -> float:
        """The energy that impacts gave: the sum of the falls of `impacts` between stored times.

        Newton's law and the algebraic law may give energy with friction; the laws of Poisson and Stronge do not.
        """
        return float(-np.minimum(np.diff(self.impacts), 0.0).sum())

    def __str__(self) -> str:
        rows = [
            ("kinetic energy", self.kinetic),
            ("elastic energy", self.elastic),
            ("gravity potential", self.gravity),
            ("spring energy", self.springs),
            ("work of drivers", self.driver_work),
            ("work of loads", self.load_work),
            ("heat of modal damping", self.modal_heat),
            ("damper and friction heat", self.damper_heat),
            ("lost in impacts", self.impacts),
            ("residual", self.residual),
        ]
        if np.isnan(self.total).any():
            return "energies unknown"
        if not self.balances:
            return "\n".join([f"{'energies':24}", *(f"{name:24}{x[0]:14.6g}" for name, x in rows if x.any())])
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
        if self.impact_gain > GIVEN * self.exchange:
            lines.append(f"impacts under Newton's or the algebraic law with friction gave:  {self.impact_gain:.2e}")
        if self.deforms:
            strain = strain_verdict(self.strain_ratio)
            lines.append(f"largest |residual| / largest strain energy:   {self.strain_ratio:.2e}  ({strain})")
        elif self.elastic.max() > 0:
            lines.append("the strain energy is round-off: no body deforms")
        return "\n".join(lines)


def ledger_of(
    t: Float[np.ndarray, "nt"],
    energies: Float[np.ndarray, "nt 5"],
    work: Float[np.ndarray, "nt 4"],
    lost: Float[np.ndarray, "nt"],
    round_off: float,
) -> Ledger:
    """The ledger from the `energies`, the `work` and the energies `lost` in impacts of snapshots.

    The work of dampers contains all that force elements took from the bodies whose laws tell their stored energy; what
    they did not store is heat.
    """
    kinetic, elastic, gravity, springs, stored = np.asarray(energies).T
    driver, load, modal, damper = np.asarray(work).T
    heat = damper - (stored - stored[:1])
    springs = springs + stored
    return Ledger(
        t, kinetic, elastic, gravity, springs, driver, load, modal, heat, np.asarray(lost), round_off=round_off
    )


def strain_verdict(ratio: float) -> str:
    """What the residual relative to the strain energy means for the elastic motion (Huang 1998, section 1.3.3)."""
    if ratio <= RESOLVED:
        return "the elastic motion is resolved"
    if ratio <= NOISE:
        return f"the elastic motion is coarse: reduce the step, {times_smaller(ratio)}"
    return f"the elastic motion is noise: reduce the step, {times_smaller(ratio)}, or check the model"


def times_smaller(ratio: float) -> str:
    """How much smaller the step must be so that a residual of the relative size `ratio` falls to `RESOLVED`."""
    return f"about {np.sqrt(ratio / RESOLVED):.2g} times if the residual falls with its square"

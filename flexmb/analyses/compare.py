"""Comparison of the same mechanism at several fidelities, from rigid to flexible."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.errors import unknown_name
from fem.shown import shown
from flexmb.analyses.adapted import adapted
from flexmb.analyses.fidelity import Fidelity, with_fidelity
from flexmb.errors import EquilibriumError, MechanismError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.results.result import Result
from flexmb.results.stress import LargestStress, largest_stress
from flexmb.simulation.simulate import Progress, simulate

SAME_END = 1e-9
"""Relative difference of the end times of two results that is due to round-off."""
EVEN = 1e-6
"""Relative difference up to which steps are evenly spaced."""


def amplitudes(values: Float[np.ndarray, "n"]) -> Float[np.ndarray, "k"]:
    """Amplitudes (n // 2 + 1,) of evenly spaced `values` over frequency, by a Hann window, without their linear trend.

    They are those of `scipy.signal.periodogram(..., "hann", detrend="linear", scaling="spectrum")`, whose import takes
    as long as most plots.
    """
    n = len(values)
    k = np.arange(n)
    trend = np.column_stack([np.ones(n), k / n])
    plain = values - trend @ np.linalg.lstsq(trend, values, rcond=None)[0]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * k / n)
    found = np.abs(np.fft.rfft(plain * window)) / window.sum()
    sides = np.full(len(found), 2.0)
    sides[0] = 1.0
    if n % 2 == 0:
        sides[-1] = 1.0
    return np.asarray(np.sqrt(2 * sides) * found)


@shown
@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of one mechanism at several fidelities, stored at the same times; the last one is the reference."""

    results: Mapping[str, Result]

    @property
    def reference(self) -> Result:
        """The result with which the others are compared: the last one."""
        return self.results[list(self.results)[-1]]

    @property
    def rigid(self) -> Result:
        """The result without elastic coordinates. Raises `MechanismError` when there is none."""
        return self._at("rigid")

    @property
    def flexible(self) -> Result:
        """The reference."""
        return self.reference

    @property
    def t(self) -> Float[np.ndarray, "nt"]:
        """The stored times (nt,), common to all results."""
        return self.reference.t

    def difference(self, marker: str, fidelity: str = "rigid") -> Float[np.ndarray, "nt 3"]:
        """World position (nt, 3) of a marker in the reference minus that at another fidelity.

        Raises `MechanismError` when no result has this fidelity.
        """
        return self.reference.position(marker) - self._at(fidelity).position(marker)

    def _at(self, fidelity: str) -> Result:
        if fidelity not in self.results:
            raise MechanismError(unknown_name("fidelity", fidelity, self.results))
        return self.results[fidelity]

    def moving_markers(self) -> list[str]:
        """The markers at the interfaces of the mechanism's bodies."""
        return self.reference.mechanism.interface_markers()

    def forces(self, joint: str) -> dict[str, np.ndarray]:
        """Magnitude (nt,) of the force in a joint at every fidelity."""
        return {name: np.linalg.norm(r.reaction(joint)[:, :3], axis=1) for name, r in self.results.items()}

    def most_different_joint(self) -> str:
        """The joint whose force differs most between the fidelities. Raises `MechanismError` without joints."""
        names = [j.name for j in self.reference.mechanism.joints]
        if not names:
            raise MechanismError(f"{self.reference.mechanism.name!r} has no joint whose forces could differ.")
        return max(names, key=lambda joint: np.ptp(np.array(list(self.forces(joint).values())), axis=0).max())

    def stresses(self, body: str) -> dict[str, LargestStress]:
        """Largest von Mises stress of a body, at every fidelity at which it has stresses."""
        if body not in self._stresses:
            records = {name: r.mechanism.bodies[r.mechanism.body_index(body)] for name, r in self.results.items()}
            self._stresses[body] = {
                name: largest_stress(r, body) for name, r in self.results.items() if records[name].stress is not None
            }
        return dict(self._stresses[body])

    @cached_property
    def _stresses(self) -> dict[str, dict[str, LargestStress]]:
        """The stresses of the bodies that were asked for."""
        return {}

    def stressed_bodies(self) -> list[str]:
        """The bodies that have stresses in the reference."""
        return [b.name for b in self.reference.mechanism.bodies if b.stress is not None]

    @property
    def evenly_spaced(self) -> int:
        """Number of stored times that are evenly spaced, from the first one; 0 without even spacing.

        The end is not counted where it follows the last multiple of the output step at a shorter distance.
        """
        steps = np.diff(self.t)
        if len(steps) > 2 and steps[-1] < steps[0] * (1 - EVEN):
            steps = steps[:-1]
        return len(steps) + 1 if len(steps) > 1 and np.ptp(steps) <= EVEN * steps.mean() else 0

    def spectra(self, measure: Callable[[Result], np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Frequencies (cycles per unit of time), and the amplitudes of a measure (nt,) of each result over them.

        The spectra cover the stored times that are evenly spaced. Raises `MechanismError` when there are none.
        """
        count = self.evenly_spaced
        if not count:
            raise MechanismError("A spectrum needs evenly spaced times: give output_step=.")
        found = {name: amplitudes(measure(result)[:count]) for name, result in self.results.items()}
        return np.fft.rfftfreq(count, float(np.diff(self.t[:count]).mean())), found

    def __str__(self) -> str:
        names = list(self.results)
        wide = max(14, *(len(name) + 2 for name in names))
        lines = [f"{name}: {result.statistics}" for name, result in self.results.items()]
        lines += [
            "",
            f"{'largest over time':32}" + "".join(f"{name:>{wide}}" for name in names) + f"{'difference':>{wide}}",
        ]

        def row(what: str, values: Sequence[float | None], difference: float | None, note: str = "") -> None:
            cells = [" " * wide if v is None else f"{v:{wide}.6g}" for v in (*values, difference)]
            lines.append(f"{what:32}{''.join(cells)}{note}")

        for joint in self.reference.mechanism.joints:
            forces = list(self.forces(joint.name).values())
            row(f"force in {joint.name}", [f.max() for f in forces], np.abs(forces[0] - forces[-1]).max())
        for marker in self.moving_markers():
            off = [np.linalg.norm(self.difference(marker, name), axis=1).max() for name in names[:-1]]
            e = np.linalg.norm(self.reference.deflection(marker), axis=1).max()
            note = f"   (deflection in its body {e:.4g})" if e else ""
            row(f"path of {marker}, off by", [*off, None], None, note)
        for body in self.stressed_bodies():
            stresses = self.stresses(body)
            row(
                f"von Mises stress of {body}",
                [stresses[n].values.max() if n in stresses else None for n in names],
                None,
            )
        for energy in ("kinetic", "elastic"):
            values = [getattr(r.ledger, energy) for r in self.results.values()]
            row(f"{energy} energy", [v.max() for v in values], np.abs(values[0] - values[-1]).max())
        row("|residual| of the energy ledger", [np.abs(r.ledger.residual).max() for r in self.results.values()], None)
        row("CPU time of the simulation", [r.statistics.cpu_seconds for r in self.results.values()], None)
        return "\n".join(lines)


def compare(
    system: System | Mechanism,
    duration: float,
    fidelities: Sequence[Fidelity] = ("rigid", "flexible"),
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Simulate a mechanism at several fidelities, the last of which is the reference.

    `options`: those of `simulate`. With `initial_state=flexmb.linear.settled` each variant starts from its own
    equilibrium. The fidelities are

    - `"rigid"`: rigid bodies with the same mass, inertia and interfaces;
    - a number of elastic coordinates for each flexible body;
    - `"linear"`: without geometric stiffness;
    - `"adapted 3"`: this number of coordinates for each body, derived for the rigid motion (`flexmb.analyses.adapted`),
      or for that of the unchanged mechanism if flexible surfaces touch, which rigid bodies do not have;
    - `"flexible"`: the unchanged mechanism.

    Raises `MechanismError` when no body is flexible, when there are fewer than two different fidelities, when events
    end the simulations at different times, or when flexible surfaces touch and one of the fidelities is `"rigid"`;
    `EquilibriumError`, with the fidelity, when a variant has no equilibrium from which it is to start.
    """
    mechanism = system.build() if isinstance(system, System) else system
    if not any(b.is_flexible for b in mechanism.bodies):
        raise MechanismError(
            f"No body of {mechanism.name!r} is flexible, so there is nothing to compare. Make one with "
            "flexmb.flexible_body(model, basis)."
        )
    if isinstance(fidelities, str) or len(set(fidelities)) < max(2, len(fidelities)):
        raise MechanismError(
            "A comparison needs at least two different fidelities, of which the last one is the reference; found "
            f'{fidelities!r}. Write ("rigid", "flexible"), for instance. A simulation of one is '
            "flexmb.simulate(system, ...), or flexmb.simulate(system.build().rigid(), ...) with rigid bodies."
        )
    if mechanism.surface_contacts and "rigid" in fidelities:
        others = [name for name in fidelities if name not in ("rigid", "flexible")] or ["linear"]
        raise MechanismError(
            f"Contact {mechanism.surface_contacts[0].name!r} of {mechanism.name!r} is that of a flexible surface, "
            "which a rigid body does not have, so that the fidelity 'rigid' cannot be simulated; found the fidelities "
            f"{list(fidelities)}. Leave it out, as in {[*others, 'flexible']}, or give the contact simple shapes."
        )
    variants, nominal = {}, None
    nominal_name = "flexible" if mechanism.surface_contacts else "rigid"
    for name in fidelities:
        if isinstance(name, str) and (asked := re.fullmatch(r"adapted (\d+)", name)):
            nominal = nominal or _at(nominal_name, with_fidelity(mechanism, nominal_name), duration, **options)
            variants[name] = adapted(mechanism, nominal, int(asked[1]))
        else:
            variants[name if isinstance(name, str) else f"{name} modes"] = with_fidelity(mechanism, name)
    results = {}
    for k, (name, variant) in enumerate(variants.items()):
        if name == nominal_name and nominal is not None:
            results[name] = nominal
            continue
        report = None if progress is None else lambda done, k=k: progress((k + done) / len(variants))
        results[name] = _at(name, variant, duration, progress=report, **options)
    _require_same_times(mechanism, results)
    return Comparison(results)


def _at(fidelity: str, variant: Mechanism, duration: float, **options: Any) -> Result:
    """The simulation of a variant. Raises an `EquilibriumError` that names the fidelity for one without rest."""
    try:
        return simulate(variant, duration, **options)
    except EquilibriumError as error:
        raise type(error)(f"At the fidelity {fidelity!r}: {error}") from error


def _require_same_times(mechanism: Mechanism, results: Mapping[str, Result]) -> None:
    """Raise `MechanismError` if events end the results at different times."""
    ends = {name: float(result.t[-1]) for name, result in results.items()}
    if max(ends.values()) - min(ends.values()) > SAME_END * max(map(abs, ends.values())):
        told = ", ".join(f"{name!r} at t = {end:.9g}" for name, end in ends.items())
        raise MechanismError(
            f"An event ends the simulations of {mechanism.name!r} at different times, which cannot be compared: "
            f"{told}. Choose a duration below {min(ends.values()):.6g}, or an event without action."
        )

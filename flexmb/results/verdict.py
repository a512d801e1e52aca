"""The verdict on a simulation: energy balance, drift of the joints, and validity of the bodies' deformations."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.shown import shown
from flexmb.bodies.validity import out_of_range
from flexmb.errors import (
    EnergyBalanceWarning,
    JointDriftWarning,
    MechanismError,
    SmallDeformationWarning,
    UnresolvedWarning,
)
from flexmb.kernels.base.data import FORCES, make_marker_kinematics
from flexmb.kernels.calls import largest_violations, place_markers
from flexmb.kernels.implicit.bdf import NEWTON
from flexmb.kernels.steps.step import COMPLIANCES, ROUNDING
from flexmb.kernels.steps.touching import CONES
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.contacts.element import points_of
from flexmb.mechanism.contacts.exact import OPEN as OPEN_MODE
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.ledger import NOISE, RESOLVED, Ledger, strain_verdict, times_smaller

CLOSED, OPEN = RESOLVED, NOISE
"""Largest |residual|, relative to the energy exchanged, of a balance that closes, and of one that closes coarsely."""
ROUND_OFF = 1e-12
"""Energy below which a balance consists of round-off, relative to the work of the largest reaction along the
mechanism's length. A mechanism at rest exchanges no more.
"""
YIELDS = COMPLIANCES[1]
"""Speed at which points of exact contacts that touch may approach each other, relative to that which their forces give
the mechanism in a step, where the iteration of a step does not end before forces become unique by a compliance."""
DRIFT = 1e-4
"""Largest acceptable opening of a joint, relative to the mechanism's length or in rad. Noise of mesh coordinates in
redundant joints reaches a tenth of it.
"""
LENGTHS = FORCES
"""Kinds of rows whose values are lengths; the values of the other rows are angles, or sines of angles."""
LOOKS = 1000
"""Largest number of stored times, evenly spread, at which the joints are measured."""


@dataclass(frozen=True)
class Drift:
    """The largest opening of a joint, relative to the mechanism's length or in rad, and its time."""

    joint: str
    opening: float
    t: float


@shown
@dataclass(frozen=True)
class Verdict:
    """The assessment of a simulation.

    - `imbalance`: largest |residual| of the energy ledger relative to the energy exchanged; NaN where no simulation
      connects the states.
    - `strain_ratio`: the same relative to the largest strain energy (0 where no body deforms, to round-off).
    - `drift`: opening of the joint that opens most.
    - `findings`: a warning category and a sentence for each defect; empty for a sound simulation.
    """

    imbalance: float
    strain_ratio: float
    drift: Drift | None
    findings: tuple[tuple[type[Warning], str], ...]

    @property
    def sound(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    def __str__(self) -> str:
        lines = [f"verdict: {balance_verdict(self.imbalance)}"]
        if self.strain_ratio > 0:
            lines[0] += f"; {strain_verdict(self.strain_ratio)}"
        if self.drift is not None:
            opening = f"{self.drift.opening:.1e} of the mechanism's length or rad"
            lines.append(f"joints stay closed to {opening} ({self.drift.joint!r} at t = {self.drift.t:.6g})")
        lines += [f"- {text}" for _, text in self.findings]
        return "\n".join(lines)


def judge(
    mechanism: Mechanism,
    ledger: Ledger,
    q: Float[np.ndarray, "nt nq"],
    multipliers: Float[np.ndarray, "nt nj"],
    angles: Float[np.ndarray, "nt na"],
    unresolved: Sequence[str] = (),
) -> Verdict:
    """The verdict on a motion of `mechanism` at the stored times of its `ledger`.

    `q` (nt, nq), `angles` (nt, na), `multipliers` (nt, nj): configurations, joint angles and joint multipliers. A joint
    whose multipliers are zero at a time is inactive then, since events release and lock joints. `unresolved`: messages
    on functions of time that the steps do not resolve.

    Cost: some microseconds per joint and stored time, for at most `LOOKS` times.
    """
    findings: list[tuple[type[Warning], str]] = []
    residual = ledger.residual
    worst = int(np.abs(residual).argmax())
    imbalance = ledger.imbalance if abs(residual[worst]) > ledger.round_off else 0.0
    if not ledger.balances:
        imbalance = np.nan
    if imbalance > OPEN:
        text = (
            f"The energy balance of {mechanism.name!r} does not close: {residual[worst]:.3g} at t = "
            f"{ledger.t[worst]:.6g} of {ledger.exchange:.3g} exchanged is neither energy, work nor heat (at most "
            f"{OPEN:.0%} expected). Reduce the step or the tolerance, resolve the load that changes fastest, or choose "
            "another integrator."
        )
        findings.append((EnergyBalanceWarning, text))
    drift = joint_drift(mechanism, ledger.t, q, multipliers, angles)
    if drift is not None and drift.opening > DRIFT:
        text = (
            f"Joint {drift.joint!r} of {mechanism.name!r} is open by {drift.opening:.3g} of the mechanism's length (or "
            f"rad) at t = {drift.t:.6g}; at most {DRIFT:g} expected. Reduce the step or the tolerance, or choose "
            "another integrator. If it opens at the same time again, the joints lock there, and the mechanism cannot "
            "move on."
        )
        findings.append((JointDriftWarning, text))
    findings += [(SmallDeformationWarning, text) for text in left_ranges(mechanism, ledger.t, q)]
    findings += [(UnresolvedWarning, text) for text in unresolved]
    return Verdict(imbalance, ledger.strain_ratio, drift, tuple(findings))


def left_ranges(mechanism: Mechanism, t: Float[np.ndarray, "nt"], q: Float[np.ndarray, "nt nq"]) -> list[str]:
    """A sentence for each body that bends beyond the range of small deformation, at times `t` (nt,) and configurations
    `q` (nt, nq)."""
    found: list[str] = []
    for body, start in zip(mechanism.bodies, compiled(mechanism).q_start[:-1], strict=True):
        if body.validity is not None and body.is_flexible:
            eta = q[:, start + 7 : start + 7 + body.modes]
            found += out_of_range(body.name, body.validity, body.invariants.second_order, t, eta)
    return found


def iteration_energy(
    mechanism: Mechanism,
    states: Float[np.ndarray, "nt nz"],
    *,
    duration: float,
    steps: int,
    longest: float,
    tolerance: float,
) -> float:
    """The energy of a balance at rest that the iterations of a simulation leave beside round-off.

    Variable steps with the `tolerance` (0: fixed steps) end their iterations at a part of it, along which weights and
    loads do work in each of the `steps`, at random. In fixed steps, points of exact contacts approach each other at
    speeds within the accuracy of their forces, which do work throughout the `duration`; `longest` is the step, and
    `states` (nt, nz) are those of the elements, with these forces.
    """
    weight, _, loads = _forces(mechanism)
    error = NEWTON * tolerance * np.sqrt(steps) * (weight * mechanism.length + loads)
    if not mechanism.contacts:
        return float(error)
    flat = compiled(mechanism)
    at = flat.contact_state + 4 * np.arange(len(flat.point_contact))
    force = float(np.where(states[:, at] != OPEN_MODE, states[:, at + 1], 0.0).sum(axis=1).mean())
    gained = force / sum(b.invariants.mass for b in mechanism.bodies) * longest
    held = YIELDS if CONES * gained * longest > ROUNDING * mechanism.length else CONES
    return float(error + held * gained * force * duration)


def _forces(mechanism: Mechanism) -> tuple[float, float, float]:
    """The weight of a mechanism, the sum of the forces of its loads, and the work of its loads along its length and
    along an angle of one."""
    weight = sum(b.invariants.mass for b in mechanism.bodies) * float(np.linalg.norm(mechanism.gravity))
    wrenches = [np.asarray(load.wrench) for load in mechanism.loads]
    pushes = sum(float(np.linalg.norm(x[:3])) for x in wrenches)
    return weight, pushes, pushes * mechanism.length + sum(float(np.linalg.norm(x[3:])) for x in wrenches)


def round_off_energy(
    mechanism: Mechanism, q: Float[np.ndarray, "nt nq"], multipliers: Float[np.ndarray, "nt nj"]
) -> float:
    """The energy below which a balance is round-off: of weights, loads and reactions along the mechanism's length, of
    springs that round-off stretches, and of weights and loads along the depth at which shapes of exact contacts begin
    inside each other, which the first step closes."""
    moments = ~np.isin(compiled(mechanism).row_kind[: mechanism.joint_rows], LENGTHS)
    work = np.abs(multipliers).max(axis=0, initial=0.0) * np.where(moments, 1.0, mechanism.length)
    weight, pushes, loads = _forces(mechanism)
    springs = mechanism.rows[mechanism.joint_rows :]
    stretched = sum(row.stiffness * (mechanism.length if row.kind in LENGTHS else 1.0) ** 2 for row in springs)
    closing = (weight + pushes) * _drawn_depth(mechanism, q[0])
    rounded = ROUND_OFF * (float(work.max(initial=0.0)) + weight * mechanism.length + loads)
    return rounded + ROUND_OFF**2 * stretched + closing


def _drawn_depth(mechanism: Mechanism, q: Float[np.ndarray, "nq"]) -> float:
    """The largest depth at which shapes of exact contacts are inside each other."""
    if not mechanism.contacts:
        return 0.0
    flat = compiled(mechanism)
    kinematics = make_marker_kinematics(flat)
    place_markers(flat, np.ascontiguousarray(q), kinematics)
    x, S, depth = kinematics.position, kinematics.axes, 0.0
    for contact in mechanism.contacts:
        a, b = contact.markers
        with suppress(MechanismError):  # centres that coincide are not inside each other
            points = points_of(contact.numbers, S[a].T @ (x[b] - x[a]), S[a].T @ S[b])
            depth = max(depth, float(points[:, 6].max(initial=0.0)))
    return depth


def balance_verdict(ratio: float) -> str:
    """What the residual relative to the energy exchanged means for the motion as a whole; NaN: there is none."""
    if np.isnan(ratio):
        return "no energy balance, as no simulation connects the states"
    if ratio <= CLOSED:
        return "the energy balance closes"
    if ratio <= OPEN:
        return f"the energy balance closes coarsely: reduce the tolerance, or the step, {times_smaller(ratio)}"
    return "the energy balance does not close: reduce the step or the tolerance, or check the model"


def joint_drift(
    mechanism: Mechanism,
    t: Float[np.ndarray, "nt"],
    q: Float[np.ndarray, "nt nq"],
    multipliers: Float[np.ndarray, "nt nj"],
    angles: Float[np.ndarray, "nt na"],
) -> Drift | None:
    """The joint that opens most over the stored times; None without joints.

    `t` (nt,), `q` (nt, nq), `angles` (nt, na): times, configurations and joint angles. A joint whose `multipliers` (nt,
    nj) are all zero at a time is inactive then.
    """
    nj = mechanism.joint_rows
    if nj == 0:
        return None
    looks = np.unique(np.linspace(0, len(t) - 1, min(len(t), LOOKS)).round().astype(int))
    flat, functions = compiled(mechanism), mechanism.function_table(np.asarray(t)[looks])
    acts = np.zeros((len(looks), nj), dtype=bool)
    for joint in mechanism.joints:
        acts[:, joint.rows] = multipliers[np.ix_(looks, np.array(joint.rows))].any(axis=1)[:, None]
    worst, when = np.zeros(nj), np.zeros(nj, dtype=np.int64)
    largest_violations(
        flat,
        np.ascontiguousarray(q[looks]),
        functions,
        np.ascontiguousarray(angles[looks]),
        acts,
        make_marker_kinematics(flat),
        worst,
        when,
    )
    lengths = np.isin(flat.row_kind[:nj], LENGTHS)
    worst = np.where(lengths, worst / mechanism.length, worst)
    row = int(worst.argmax())
    owner = next(joint.name for joint in mechanism.joints if row in joint.rows)
    return Drift(owner, float(worst[row]), float(t[looks[when[row]]]))


def warn(findings: Sequence[tuple[type[Warning], str]], stacklevel: int) -> None:
    """Issue one warning for each finding."""
    for category, text in findings:
        warnings.warn(text, category, stacklevel=stacklevel + 1)

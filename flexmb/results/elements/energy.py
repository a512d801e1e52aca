"""The energy ledger by element: what each spring, damper, motor, load, driver and body stores, dissipates and does."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from jaxtyping import Float

from fem.errors import unknown_name
from fem.shown import shown
from flexmb.errors import CoarseOutputWarning, MechanismError
from flexmb.kernels.base.data import DISTANCE
from flexmb.kernels.loads.lines import FLOW, WIND
from flexmb.mechanism.contacts.element import is_contact
from flexmb.mechanism.mechanism import FrameForce, Mechanism, Row
from flexmb.results.elements.contact_group import group_motion
from flexmb.results.elements.control import command_over, is_held
from flexmb.results.elements.exact import exact_contact_power
from flexmb.results.elements.forces import RowEffort, driver_power, load_power, row_effort
from flexmb.results.elements.frame import frame_answers, frame_force_of, relative_motion
from flexmb.results.elements.friction import friction_of
from flexmb.results.elements.lines import line_power
from flexmb.results.elements.motion import row_motion
from flexmb.results.elements.surface_contact import surface_contact_motion
from flexmb.results.ledger import Ledger
from flexmb.results.motion import Motion
from flexmb.results.table import Column
from flexmb.spatial.layout import starts_of

LINES = {FLOW: "pipe flow", WIND: "wind"}
"""Loads along lines of bodies."""
GIVEN_OUT = 1e-2
"""Heat that a law has given out, relative to the energy exchanged, above which it is reported."""
COARSE = 1e-2
"""Difference between the sum of the elements and the ledger, relative to the energy exchanged, that is reported. Where
flexible surfaces have heat, whose rates are differences between the stored times, it is relative to the heat of dampers
and friction."""
SEEN = 1e-4
"""Difference of this heat, relative to the energy exchanged, below which none is reported, because the ledger has an
error of the steps."""


@dataclass(frozen=True, eq=False)
class ElementEnergy:
    """What one element stores, dissipates and does, all (nt,).

    - `name`, `kind`: "spring", "cable", "bushing", "joint force" (joint springs and motors), "elastic relation",
      "friction", "actuator" (commands of controllers), "frame force", "contact", "contacts" (of a group), "exact
      contact" (its friction; what impacts lose is `Ledger.impacts`), "surface contact" (its friction, and the strain
      energy of the residual displacements), "load", "pipe flow", "wind", "driver" or "body".
    - `stored`: the energy of its springs, that which its law tells, or the strain energy of a body.
    - `heat_power`: dissipated by its dampers or friction, or by a law that tells its stored energy
      (negative where such a law supplies energy); `work_power`: delivered by its function of time, its law, a load or
      a driver.
    - `heat`, `work`: their integrals since the start.
    """

    name: str
    kind: str
    stored: Float[np.ndarray, "nt"]
    heat_power: Float[np.ndarray, "nt"]
    work_power: Float[np.ndarray, "nt"]
    heat: Float[np.ndarray, "nt"]
    work: Float[np.ndarray, "nt"]


@shown
@dataclass(frozen=True, eq=False)
class EnergyByElement:
    """The energies of all `elements` at the stored times `t` (nt,), and the `ledger` that they add up to.

    Stored energies and powers add up to those of the ledger to round-off. Heat and work are integrals over the stored
    times; what is missing to the ledger, which integrates over the steps, is `heat_apart` and `work_apart`: of the sum,
    not of each element. The heat of a flexible surface in contact is that of the ledger if nothing but this contact has
    heat there.
    """

    t: Float[np.ndarray, "nt"]
    elements: tuple[ElementEnergy, ...]
    ledger: Ledger

    def __getitem__(self, name: str) -> ElementEnergy:
        """The element, or the first of several, of this name. Raises `MechanismError` when there is none."""
        for element in self.elements:
            if element.name == name:
                return element
        raise MechanismError(unknown_name("element", name, [element.name for element in self.elements]))

    @property
    def heat_apart(self) -> Float[np.ndarray, "nt"]:
        """Heat of the ledger since the start, minus that of the elements."""
        total = self.ledger.damper_heat + self.ledger.modal_heat
        return np.asarray(total - total[0] - sum(element.heat for element in self.elements))

    @property
    def work_apart(self) -> Float[np.ndarray, "nt"]:
        """Work of the ledger since the start, minus that of the elements."""
        total = self.ledger.driver_work + self.ledger.load_work
        return np.asarray(total - total[0] - sum(element.work for element in self.elements))

    def columns(self) -> dict[str, Column]:
        """Time and, of each element, what it stores, its heat and its work (nt,), without those that are zero."""
        found = {"t": Column(self.t, "time")}
        for e in self.elements:
            parts = (("stored", e.stored), ("heat", e.heat), ("work", e.work))
            found |= {f"{e.name} {sort}": Column(values, "energy") for sort, values in parts if values.any()}
        return found

    def __str__(self) -> str:
        name = max([26, *(len(e.name) + 2 for e in self.elements)])
        kind = max([14, *(len(e.kind) + 2 for e in self.elements)])
        head = f"{'energy by element':{name}}{'kind':{kind}}"
        lines = [f"{head}{'stored, start':>14}{'stored, end':>14}{'heat':>14}{'work':>14}"]
        for e in self.elements:
            stored = f"{e.stored[0]:14.6g}{e.stored[-1]:14.6g}"
            lines.append(f"{e.name:{name}}{e.kind:{kind}}{stored}{e.heat[-1]:14.6g}{e.work[-1]:14.6g}")
        apart = f"{self.heat_apart[-1]:14.3g}{self.work_apart[-1]:14.3g}"
        return "\n".join([*lines, f"{'ledger minus the sum':{name}}{'':{kind}}{'':28}{apart}"])


def energy_by_element(motion: Motion, multipliers: Float[np.ndarray, "nt nj"], ledger: Ledger) -> EnergyByElement:
    """The energies of the force elements, loads, driven joints and flexible bodies of a motion with its `ledger`.

    Warns with `CoarseOutputWarning` when heat or work of the elements differ from the ledger by more than `COARSE` of
    the energy exchanged, or where flexible surfaces have heat, of the heat of dampers and friction, because the stored
    times do not resolve the powers. Raises `LawError` when a law fails.
    """
    mechanism = motion.mechanism
    found = [_of_element(motion, name) for name in mechanism.force_elements]
    none = np.zeros(len(motion.t))
    for contact in mechanism.contacts:
        heat = -exact_contact_power(motion, contact)
        found.append(_made(motion, contact.name, "exact contact", none, heat, none))
    for surface in mechanism.surface_contacts:
        over_time = surface_contact_motion(motion, surface.name)
        heat = over_time.wear_power.sum(axis=1)
        found.append(_made(motion, surface.name, "surface contact", over_time.stored, heat, none))
    for load in mechanism.loads:
        made = _made(motion, load.name, "load", none, none, load_power(motion, load))
        if is_held(mechanism, load.command):
            unit = load_power(motion, replace(load, command=-1))
            made = replace(
                made, work=_held_work(command_over(motion, load.command), _integral(np.asarray(motion.t), unit))
            )
        found.append(made)
    found += [
        _made(motion, line.name, LINES[line.kind], none, none, line_power(motion, line)) for line in mechanism.lines
    ]
    for joint in mechanism.joints:
        if any(mechanism.rows[r].function >= 0 for r in joint.rows):
            power = driver_power(motion, multipliers, joint.name)
            found.append(_made(motion, joint.name, "driver", none, none, power))
    for group in mechanism.contact_groups:
        over = group_motion(motion, group.name)
        heat = _integral(over.t, -over.power) - (over.stored - over.stored[0])
        rate = -over.power - _rate(over.t, over.stored)
        found.append(ElementEnergy(group.name, "contacts", over.stored, rate, none, heat, none))
    result = EnergyByElement(np.asarray(motion.t), tuple(_of_ledger(found, ledger) + _bodies(motion)), ledger)
    for told in _apart(result, mechanism.name):
        warnings.warn(told, CoarseOutputWarning, stacklevel=3)
    return result


def _of_ledger(found: list[ElementEnergy], ledger: Ledger) -> list[ElementEnergy]:
    """The elements, with the heat of the ledger for the friction of a flexible surface that alone has heat there."""
    hot = [e for e in found if e.heat_power.any() or e.heat.any()]
    if not ledger.balances or [e.kind for e in hot] != ["surface contact"]:
        return found
    exact = replace(hot[0], heat=ledger.damper_heat - ledger.damper_heat[0])
    return [exact if e is hot[0] else e for e in found]


def _apart(energies: EnergyByElement, name: str) -> list[str]:
    """A sentence for heat and work of the elements of the mechanism `name` that do not add up to the ledger."""
    ledger, told = energies.ledger, []
    checks = {"heat": (energies.heat_apart, COARSE * ledger.exchange)}
    if any(e.kind == "surface contact" and e.heat_power.any() for e in energies.elements):
        total = ledger.damper_heat - ledger.damper_heat[0]
        apart = total - sum(e.heat for e in energies.elements if e.kind != "body")
        checks["heat of dampers and friction"] = (apart, max(COARSE * np.abs(total).max(), SEEN * ledger.exchange))
    checks["work"] = (energies.work_apart, COARSE * ledger.exchange)
    rubbing = [repr(e.name) for e in energies.elements if e.kind != "body" and (e.heat_power.any() or e.heat.any())]
    for sort, (apart, limit) in checks.items():
        if (worst := float(np.abs(apart).max())) > limit:
            which = f", of {', '.join(rubbing)} together," if sort.endswith("friction") and len(rubbing) > 1 else ","
            told.append(
                f"The {sort} of the elements of {name!r}{which} integrated over {len(apart)} stored times, differs "
                f"from the energy ledger by {worst:.3g} of {ledger.exchange:.3g} exchanged (at most {limit:.3g} "
                "expected). Store the motion more often: simulate(..., output_step=...)."
            )
    return told


def negative_heats(motion: Motion, ledger: Ledger) -> list[str]:
    """A sentence for each law of a force element that tells its stored energy and has given out heat by the end."""
    mechanism, found = motion.mechanism, []
    rows = [r for r in range(mechanism.joint_rows, len(mechanism.rows)) if mechanism.rows[r].law >= 0]
    for r in rows if ledger.balances else ():
        law, times = mechanism.laws[mechanism.rows[r].law], np.asarray(motion.t)
        if law.stored is None or not getattr(law.function, "loses", False):
            continue
        moved = row_motion(motion, mechanism.rows[r])
        taken = -law.over(times, moved.stretch, moved.rate)
        slope = law.stored.function.slopes(times, moved.stretch, moved.rate)[2]
        heat = float(_integral(times, (taken - slope) * moved.rate)[-1])
        if heat < -GIVEN_OUT * ledger.exchange:
            found.append(
                f"The law of {law.name!r} of {mechanism.name!r} has a negative heat of {heat:.4g} by the end, of "
                f"{ledger.exchange:.4g} exchanged: it tells what it stores, and what it takes beyond that is heat, "
                "which no damper gives out. Check the sign of what depends on xdot (a damper is -c*xdot). If it is "
                "meant to drive, omit stored=: what it gives is then work."
            )
    return found


def _made(
    motion: Motion, name: str, kind: str, stored: np.ndarray, heat: np.ndarray, work: np.ndarray
) -> ElementEnergy:
    times = np.asarray(motion.t)
    return ElementEnergy(name, kind, stored, heat, work, _integral(times, heat), _integral(times, work))


def _integral(t: np.ndarray, power: np.ndarray) -> np.ndarray:
    """The integral (nt,) of a power (nt,) since the start."""
    if len(t) < 2 or not power.any():
        return np.zeros(len(t))
    if not np.isfinite(power).all():
        return np.full(len(t), np.nan)
    return np.asarray(scipy.interpolate.PchipInterpolator(t, power).antiderivative()(t))


def _held_work(held: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """The work (nt,) of a command that is constant from each stored time to the next; `moved` (nt,) is the work of a
    command of one."""
    return np.concatenate([[0.0], np.cumsum(held[:-1] * np.diff(moved))])


def _of_element(motion: Motion, name: str) -> ElementEnergy:
    mechanism = motion.mechanism
    rows = mechanism.force_elements[name]
    if (frame := frame_force_of(mechanism, rows[0])) is not None:
        return _of_frame_force(motion, frame[0])
    efforts = [(mechanism.rows[r], row_effort(motion, r)) for r in rows]
    stored = sum(0.5 * row.stiffness * effort.motion.stretch**2 for row, effort in efforts)
    heat = sum(-effort.damper * effort.motion.rate for _, effort in efforts)
    work = sum(effort.applied * effort.motion.rate for _, effort in efforts)
    kind = _kind(mechanism, rows)
    made = _made(motion, name, kind, np.asarray(stored), np.asarray(heat), np.asarray(work))
    for row, effort in efforts:
        made = _with_store(motion, made, row, effort)
    row, effort = efforts[0]
    if is_held(mechanism, row.command):
        held = command_over(motion, row.command)
        other = _integral(np.asarray(motion.t), made.work_power - held * effort.motion.rate)
        made = replace(made, work=other + _held_work(held, effort.motion.stretch))
    return made


def _with_store(motion: Motion, made: ElementEnergy, row: Row, effort: RowEffort) -> ElementEnergy:
    """The energies with what the law of a row stores: what it takes and does not store is then heat, not work."""
    law = motion.mechanism.laws[row.law] if row.law >= 0 else None
    if law is None or law.stored is None:
        return made
    times, moved = np.asarray(motion.t), effort.motion
    power = law.over(times, moved.stretch, moved.rate) * moved.rate
    energy, _, slope, _ = law.stored.function.slopes(times, moved.stretch, moved.rate)
    heat, work = made.heat_power - power - slope * moved.rate, made.work_power - power
    return _made(motion, made.name, made.kind, made.stored + energy, heat, work)


def _rate(times: np.ndarray, energy: np.ndarray) -> np.ndarray:
    """The rate (nt,) of an energy (nt,)."""
    if len(times) < 2:
        return np.zeros(len(times))
    return np.asarray(scipy.interpolate.PchipInterpolator(times, energy).derivative()(times))


def _of_frame_force(motion: Motion, force: FrameForce) -> ElementEnergy:
    """What a law between frames gives is work; if it tells its stored energy, what it takes and does not store is
    heat."""
    seen, answers, times = relative_motion(motion, force), frame_answers(motion, force), np.asarray(motion.t)
    given, none = (answers[:, :6] * seen[:, 12:]).sum(axis=1), np.zeros(len(times))
    stored = answers[:, 6]
    kind = "contact" if is_contact(force) else "frame force"
    if np.isnan(stored).any():
        return _made(motion, force.name, kind, none, none, given)
    heat = _integral(times, -given) - (stored - stored[0])
    return ElementEnergy(force.name, kind, stored, -given - _rate(times, stored), none, heat, none)


def _kind(mechanism: Mechanism, rows: Sequence[int]) -> str:
    first = mechanism.rows[rows[0]]
    if first.terms:
        return "cable" if first.kind == DISTANCE else "elastic relation"
    if first.kind == DISTANCE:
        return "spring"
    if friction_of(mechanism, rows[0]) is not None:
        return "friction"
    if mechanism.rows[rows[0]].command >= 0:
        return "actuator"
    return "bushing" if len(rows) == 6 else "joint force"


def _bodies(motion: Motion) -> list[ElementEnergy]:
    """Strain energies and modal damping of the flexible bodies."""
    bodies, none = motion.mechanism.bodies, np.zeros(len(motion.t))
    qs, vs = starts_of(np.array([body.modes for body in bodies]))
    found = []
    for k, body in enumerate(bodies):
        if body.modes:
            eta = motion.q[:, qs[k] + 7 : qs[k] + 7 + body.modes]
            rate = motion.w[:, vs[k] + 6 : vs[k] + 6 + body.modes]
            stored, heat = 0.5 * eta**2 @ body.stiffness, rate**2 @ body.damping
            if body.velocity_matrix is not None:
                own = motion.w[:, vs[k] : vs[k] + 6 + body.modes]
                heat = heat + np.einsum("ti,ij,tj->t", own, body.velocity_matrix, own)
            found.append(_made(motion, body.name, "body", stored, heat, none))
    return found

"""Samples of a motion: the values and rates of the measures of all events at one time."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flexmb.equations.snapshot import Snapshot
from flexmb.errors import EventError
from flexmb.integrators.integrator import Integrator
from flexmb.kernels.calls import displace
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import JointFriction, Mechanism
from flexmb.results.attitude import Attitudes
from flexmb.results.elements.motion import row_motion
from flexmb.results.result import Result, followed_angles, result_of_states
from flexmb.simulation.contacts import Contacts
from flexmb.simulation.detection.in_force import InForce
from flexmb.simulation.events import Slide, Stick
from flexmb.simulation.friction import holding_efforts, prescribed_velocities, usual_rate

LOOK = 0.25
"""Largest motion between two samples, in lengths of the mechanism and radians."""
FEWEST, MOST_LOOKS = 200, 20_000
"""Bounds of the number of samples in a simulation, in addition to those at the stored times."""
STICKING = 2_000
"""Number of samples in a simulation while a joint sticks, at least: a shorter excess over its bound may be missed."""
NEAR = 1e-4
"""Difference step of the rates of measures, relative to the time between samples."""
RESTING, RESTED = 3e-10, 1e-7
"""Sliding velocity in several directions at which a joint is at rest, relative to the usual one of the mechanism, and
to that at the last sample: the error of a step that ends at rest."""
CLEAR = 1e-3
"""Force, relative to the largest so far, above which a contact persists without further examination."""


class Leg(NamedTuple):
    """The integration between two events: its mechanism, the work (4,) before it and the energy lost in impacts."""

    run: Integrator
    mechanism: Mechanism
    work: np.ndarray
    lost: float = 0.0


class Look(NamedTuple):
    """A sample: the motion at one time, and values and rates (n,) of the measures of all events."""

    snapshot: Snapshot
    values: np.ndarray
    rates: np.ndarray


class Looks:
    """Samples of a simulation of the length `span` in time, with what is `in_force`.

    `last`: the last sample, if there is one; `turned`: all angles at it.
    """

    def __init__(self, in_force: InForce, span: float, turned: np.ndarray) -> None:
        self._in_force, self._span = in_force, span
        self.last: Look | None = None
        self.turned = turned
        self._attitudes: Attitudes = {}  # that measures read last

    def spacing(self, leg: Leg, s: Snapshot) -> float:
        """The time in which the mechanism moves by `LOOK`, within the bounds of cost."""
        weight = leg.run.equations.flat.weight
        speed, rate = (float((np.abs(x) * weight).max(initial=0.0)) for x in (s.w, s.wdot))
        time = min(LOOK / speed if speed > 0 else np.inf, np.sqrt(2 * LOOK / rate) if rate > 0 else np.inf)
        fewest = STICKING if self._in_force.some_stick else FEWEST
        return float(np.clip(time, self._span / MOST_LOOKS, self._span / fewest))

    def at(self, leg: Leg, s: Snapshot) -> Look:
        """The sample at a snapshot of an integration."""
        wide = self._wide(leg, s)
        wide = wide._replace(q=wide.q.copy(), w=wide.w.copy(), wdot=wide.wdot.copy())
        return Look(wide, *self._measures(leg, wide))

    def _wide(self, leg: Leg, s: Snapshot) -> Snapshot:
        """The snapshot with the reactions of all possible locks and contacts, all angles, and the work and losses of
        all integrations."""
        whole = self.complete(leg.mechanism, s)
        return whole._replace(work=leg.work + s.work, lost=leg.lost + s.lost)

    def complete(self, mechanism: Mechanism, s: Snapshot) -> Snapshot:
        """The snapshot of a variant of the mechanism with the reactions of all possible locks and contacts, and with
        all angles, also those of released joints."""
        full = self._in_force.mechanism
        multipliers = np.zeros(full.joint_rows)
        multipliers[[r for j in mechanism.joints for r in full.joint(j.name).rows]] = s.multipliers
        known = dict(zip(mechanism.turning, s.angles, strict=True))
        near = [known.get(pair, before) for pair, before in zip(full.turning, self.turned, strict=True)]
        return s._replace(multipliers=multipliers, angles=followed_angles(full, s.q[None], np.array([near]))[0])

    def _measures(self, leg: Leg, s: Snapshot) -> tuple[np.ndarray, np.ndarray]:
        """Values and rates (n,) of the measures of all possible events; NaN for others.

        For persistent contacts the value is the tensile force, and for joints that stick the excess of the effort that
        holds them over its bound; their rates are unknown.
        """
        in_force, full = self._in_force, self._in_force.mechanism
        near, flat = NEAR * self.spacing(leg, s), leg.run.equations.flat
        states = []
        for shift in (0.0, -near, near):
            q = np.empty_like(s.q)
            displace(flat, s.q, shift * s.w, q)
            states.append((s.t + shift, q, s.w + shift * s.wdot, s.wdot, s.multipliers))
        columns = [np.array(x) for x in zip(*states, strict=True)]
        angles = followed_angles(full, columns[1], np.tile(s.angles, (3, 1)))
        seen = result_of_states(full, *columns, angles=angles, element_states=np.tile(s.states, (3, 1)))
        seen = replace(seen, before=self._attitudes)
        values, rates = np.full(len(in_force.events), np.nan), np.full(len(in_force.events), np.nan)
        pulls, efforts, sliding = self._pulls(leg, s), self._efforts(leg, s), self._rates(leg, s, seen)
        for k, event in enumerate(in_force.events):
            if event.name in pulls:
                values[k] = pulls[event.name]
            elif in_force.is_idle(event):
                continue
            elif isinstance(event.do, Slide):
                name = event.do.friction
                noticed = in_force.unnoticed(in_force.frictions[name])
                moves = float(np.linalg.norm(sliding[name][0])) - noticed if name in sliding else -noticed
                values[k] = max(efforts[name] - 1, moves / noticed) if name in efforts else moves
            elif isinstance(event.do, Stick):
                friction, u = in_force.frictions[event.do.friction], sliding[event.do.friction]
                if friction.several:
                    values[k], rates[k] = self._slowing(friction, k, u, (u[2] - u[1]) / (2 * near), s.t)
                else:
                    value = -in_force.sliding[friction.name] * u[:, 0]
                    values[k], rates[k] = value[0], (value[2] - value[1]) / (2 * near)
            else:
                value = np.asarray(event.when(seen), dtype=float)
                if value.shape != (3,) or not np.isfinite(value).all():
                    raise EventError(
                        f"Event {event.name!r}: its measure must be one finite number for each time of a result; found "
                        f"{value!r} for three times near t = {s.t:.6g}."
                    )
                values[k], rates[k] = value[0], (value[2] - value[1]) / (2 * near)
        return values, rates

    def _pulls(self, leg: Leg, s: Snapshot) -> dict[str, float]:
        """The tensile forces needed to keep the persistent contacts closed; negative under compression."""
        in_force = self._in_force
        pressing = [name for name in in_force.held if name in in_force.stops]
        pushes = {n: in_force.sign(n) * float(s.multipliers[in_force.mechanism.joint(n).rows[0]]) for n in pressing}
        for name, push in pushes.items():
            in_force.strongest[name] = max(in_force.strongest.get(name, 0.0), push)
        if all(push > CLEAR * in_force.strongest[name] for name, push in pushes.items()):
            return {name: -push for name, push in pushes.items()}
        contacts = Contacts(
            leg.mechanism, in_force.state_in(leg.mechanism, s), {n: -in_force.sign(n) for n in pressing}
        )
        response = contacts.response_of(pressing)
        forces = contacts.forces(s.w, [], pressing)
        return {n: f.rate / response[n] - f.push if response[n] else -f.push for n, f in forces.items()}

    def _slowing(
        self, friction: JointFriction, event: int, velocities: np.ndarray, acceleration: np.ndarray, t: float
    ) -> tuple[float, float]:
        """The negative magnitude of a sliding velocity (nc,) in several directions, and its rate, which is unknown
        after the joint has come to rest; then the value is positive.

        A velocity is zero up to the error of a step that ends at rest, relative to the one at the last sample.
        """
        size = float(np.linalg.norm(velocities[0]))
        least = RESTING * usual_rate(compiled(self._in_force.mechanism), friction)
        if self.last is not None and self.last.snapshot.t < t:
            least = max(least, RESTED * -float(np.nan_to_num(self.last.values[event])))
        if size <= least:
            return least, np.nan
        return -size, -float(velocities[0] @ acceleration) / size

    def _rates(self, leg: Leg, s: Snapshot, seen: Result) -> dict[str, np.ndarray]:
        """The sliding velocities (3, nc) of the joints with friction that do not stick, at the times of `seen`, and of
        those that are driven; of driven joints, those of the driver, because after an event the velocities are those of
        the driver."""
        in_force, found = self._in_force, {}
        for f in in_force.frictions.values():
            if f.joint not in in_force.released and not in_force.is_stuck(f):
                rows = [in_force.mechanism.rows[r] for r in in_force.mechanism.force_elements[f.name]]
                found[f.name] = np.stack([row_motion(seen, row).rate for row in rows], axis=1) * f.arms
        if driven := in_force.driven:
            state = in_force.state_in(leg.mechanism, s)
            times = zip(seen.t, seen.q, seen.w, strict=True)
            e = in_force.equations_of(leg.mechanism, state)
            exact = [prescribed_velocities(e, replace(state, t=t, q=q, w=w)) for t, q, w in times]
            found |= {name: np.array([velocities[name] for velocities in exact]) for name in driven if name in exact[0]}
        return found

    def _efforts(self, leg: Leg, s: Snapshot) -> dict[str, float]:
        """The efforts that hold the joints that stick, relative to their bounds."""
        if not self._in_force.some_stick:
            return {}
        state = self._in_force.state_in(leg.mechanism, s)
        return holding_efforts(self._in_force.equations_of(leg.mechanism, state), state, self._in_force.freedoms)

"""Integration with detection, location and execution of events.

**Sampling.** The measures of events are sampled such that no body moves by more than a quarter of a radian, or of the
length of the mechanism, between two samples, independently of the stored times (within the cost bounds `FEWEST` and
`MOST_LOOKS`). A measure that rises above its level and returns between two samples is detected from its rates at both.

**Location.** The integration is restarted from the last sample and ends at trial times, until the first instant at
which a measure has passed its level is located to machine precision.

**Execution.** All events at one instant are executed together: first releases, then locks, then impacts of all contacts
that touch (`flexmb.simulation.contacts`). Contact forces then determine which contacts persist. The measures are
evaluated again; events that the jump of velocities causes are executed at the same instant.

**Friction.** Joints with dry friction (`System.friction`) stick or slide. Each has two events: its sliding rate becomes
zero, or the effort that holds it exceeds its bound. At every instant of events the modes of all joints at rest are
determined anew (`flexmb.simulation.friction`), after impacts, which transmit no impulses of friction. The sliding
velocity of a joint with several free motions vanishes without a change of sign: a step that passes the instant ends at
rest (flexmb/kernels/steps/sliding.py), and the instant is located from the velocities before it. As the direction of
friction turns faster and faster towards this instant, fixed steps are shortened with the root of the velocity, which
keeps the error of second order (docs/theory.md, "Dry friction in joints").

**Arming.** An event is executed once and armed again when its measure has been negative. A stop is always armed,
because it must not be passed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import Start, consistent_state
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.time_features import Pace
from flexmb.errors import ConvergenceError, EventError
from flexmb.integrators.integrator import Integrator, Run, together
from flexmb.integrators.method import Method
from flexmb.kernels.calls import displace
from flexmb.kernels.equations.residual import DRIVER
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import joint_dof
from flexmb.mechanism.locking import EVENT, SPINS, LockedJoint, locked_row, with_locked_joints, with_sliding
from flexmb.mechanism.mechanism import JointFriction, Mechanism, Row
from flexmb.mechanism.state import State, Topology
from flexmb.mechanism.time_functions import TimeFunction
from flexmb.results.attitude import BEFORE
from flexmb.results.elements.motion import row_motion
from flexmb.results.result import EventRecord, Result, Statistics, followed_angles, result_of_states
from flexmb.simulation.contacts import Contacts, Force
from flexmb.simulation.events import Event, Lock, Release, Slide, Stick, StopImpact, Terminate
from flexmb.simulation.friction import (
    Freedom,
    at_rest,
    freedoms_of,
    holding_efforts,
    locked_coordinates,
    modes_of,
    prescribed_velocities,
    sliding_velocities,
    usual_rate,
    with_beginnings,
)
from flexmb.simulation.instants import Sight, first_instant, peak

LOOK = 0.25
"""Largest motion between two samples, in lengths of the mechanism and radians."""
FEWEST, MOST_LOOKS = 200, 20_000
"""Bounds of the number of samples in a simulation, in addition to those at the stored times."""
STICKING = 2_000
"""Number of samples in a simulation while a joint sticks, at least: a shorter excess over its bound may be missed."""
MOVING = 1e-9
"""Rate of a driven joint, relative to the characteristic rate of the mechanism, above which its friction acts."""
GRADED, RESOLVED, PASSED = 4.0, 1e-3, 1.5
"""Sliding velocity in several directions, as a reciprocal part of the largest so far, below which steps are shortened;
as a part, below which an adaptive method passes the instant at which it vanishes; and the time to the next sample,
relative to the expected one to this instant, that passes it."""
BEFORE_REST = 0.5
"""Part of the expected time to rest that the initial values of a method use."""
SHORTER = (1.0, 0.37, 0.13, 0.05)
"""Parts of a fixed step that are taken in turn where its equations are not solved."""
RESTING, RESTED = 3e-10, 1e-7
"""Sliding velocity in several directions at which a joint is at rest, relative to the usual one of the mechanism, and
to that at the last sample: the error of a step that ends at rest."""
NOTICED = 1 - 1e-6
"""Velocity of a driven joint at the located instant at which it is noticed, relative to the one that is noticed."""
NEAR = 1e-4
"""Difference step of the rates of measures, relative to the time between samples."""
ROUND = 2e-15
"""Accuracy of the located instants, relative to the largest time of the simulation."""
TOUCHING = 1e-9
"""Distance at which a contact touches, relative to the length of the mechanism for displacements, in radians for
rotations; and the value of other measures, relative to their largest so far, below zero at which they count as
negative."""
GRAZING, BACK = 1e-3, 1e-6
"""Distance, relative to the touching distance, by which rounding may return a contact that separates with an
acceleration, or with a speed, before it counts as closed again."""
CARRIED, LEAVING = 1e-9, 0.25
"""Tensile force of a contact due to rounding, relative to its largest force; and the fraction of it at which the
contact separates at an instant of another event."""
CLEAR = 1e-3
"""Force, relative to the largest so far, above which a contact persists without further examination."""
COLLAPSE = 50
"""Rounds of impacts at one instant, plus ten for every contact, after which impacts are plastic."""
MOST_AT_ONCE = 100
"""Largest number of rounds of events at one instant."""
MOST = 10_000
"""Largest number of events in one simulation."""


class Leg(NamedTuple):
    """The integration between two events: its mechanism, and the work (4,) before it."""

    run: Integrator
    mechanism: Mechanism
    work: np.ndarray


class Look(NamedTuple):
    """A sample: the motion at one time, and values and rates (n,) of the measures of all events."""

    snapshot: Snapshot
    values: np.ndarray
    rates: np.ndarray


class EventDetection(Run):
    """An integrator (see `flexmb.integrators.integrator.Integrator`) that executes events as described above."""

    def __init__(
        self,
        mechanism: Mechanism,
        begin: Start | None,
        events: Sequence[Event],
        method: Method,
        pace: Pace,
        end: float,
        longest: float,
    ) -> None:
        self._base, self._method, self._pace = mechanism, method, pace
        self._events = (*events, *_friction_events(mechanism))
        initial = mechanism.initial if begin is None else begin.state
        self._longest, self._span, self._end = longest, end - initial.t, end
        self._round = ROUND * max(abs(end), abs(initial.t))
        _require_events(mechanism, self._events)
        _require_names(mechanism, self._events)
        self._frictions = {f.name: f for f in mechanism.exact_frictions}
        self._sliding: dict[str, float] = {}  # signs of the rates of joints with friction
        self._freedoms: dict[str, Freedom] = {}  # of joints with friction
        self._sampled: Equations | None = None  # of the mechanism of the last sample
        self._quickest: dict[str, float] = {}  # largest sliding velocities in several directions since they began
        self._stops = {e.name: e.do for e in self._events if isinstance(e.do, StopImpact)}
        self._sticks = {name: f for f in self._frictions.values() for name in f.locks}
        locks = [e.name for e in self._events if isinstance(e.do, Lock | StopImpact)]
        self._history = {name: _Values() for name in (*locks, *self._sticks)}
        locked = [self._locked_joint(name, values.motion()) for name, values in self._history.items()]
        self.mechanism = with_locked_joints(mechanism, locked, kind=EVENT)
        self._held: dict[str, float] = {}  # values of locked coordinates and of persistent contacts
        self._released: set[str] = set()
        self._strongest: dict[str, float] = {}  # largest force of each contact
        self._armed = np.array([isinstance(e.do, StopImpact) for e in self._events])
        self._levels, self._largest = np.zeros(len(self._events)), np.zeros(len(self._events))
        self._turned = initial.angles  # all angles at the last sample
        self._attitudes: dict[tuple[str, str], np.ndarray] = {}  # that measures read last, by name and form
        self._happened: list[EventRecord] = []
        self.ended, self._lost, self._driven, self._statistics = False, 0.0, 0.0, list[Statistics]()
        self._prepared = False
        self._last: Look | None = None  # the last sample, if there is one
        self.topologies: list[tuple[float, Topology]] = []
        self._take_over(mechanism.initial)
        if begin is not None and self._frictions:
            state = self._rub(begin.state, {})
            self._note_topology(state.t)
            self._leg = self._start_from(state, np.zeros(4))()
        elif begin is not None:
            self._leg = Leg(method.begin(mechanism, begin, end=end, longest=longest, pace=pace), mechanism, np.zeros(4))
        else:
            self._adopt_frictions(initial)
            self._leg = self._start_from(initial, np.zeros(4))()
        self._looked(self._look(self._leg, self._leg.run.now()))
        self._begin()

    def _take_over(self, state: State) -> None:
        """Adopt the changes by events up to a state."""
        topology = state.topology
        self._held, self._released = dict(topology.locked), set(topology.released)
        self._fastest, self._sliding = dict(topology.fastest), dict(topology.sliding)
        for name, value in topology.locked.items():
            self._history[name].note(state.t, value)
        if topology != Topology():
            self.topologies.append((state.t, topology))

    def _adopt_frictions(self, state: State) -> None:
        """Find the freedom of joints with friction, and which of them slide in several directions."""
        if self._frictions:
            others = {name: value for name, value in self._held.items() if name not in self._sticks}
            mechanism = with_sliding(self._mechanism_with(others), {})
            self._freedoms = freedoms_of(mechanism, self._state_of(mechanism, state))
            self._quickest = {n: 0.0 for n, sign in self._sliding.items() if sign and self._frictions[n].several}

    # interface of an integrator --------------------------------------------------------------------------------------

    @property
    def equations(self) -> Equations:
        """The equations of the current mechanism."""
        return self._leg.run.equations

    @property
    def happened(self) -> list[EventRecord]:
        """The events so far."""
        return self._happened

    def now(self) -> Snapshot:
        """The motion at the current time."""
        return self._at.snapshot

    def prepare(self) -> None:
        """Compile the kernels and start, unless an event at the initial time has done so."""
        if not self._prepared:
            self._leg.run.prepare()

    def to(self, target: float) -> Snapshot:
        """Integrate to a later time and execute the events in between; the motion there, or where a `Terminate` ended
        it."""
        while not self.ended and self._at.snapshot.t < target - self._round:
            time = self._next_look(target)
            again = _Again(self)
            try:
                look = self._look(self._leg, self._leg.run.to(time)._replace(t=time))
            except ConvergenceError:
                if not self._may_shorten():
                    raise
                again(time)
                look = self._go_on(again, time)
            low, high = self._sight(self._at), self._sight(look)
            hidden = high if high.passed(self._round).any() else self._between(again, low, high)
            if hidden is None:
                self._looked(look)
            else:
                self._meet(again, low, hidden.t)
        return self._at.snapshot

    def _may_shorten(self) -> bool:
        """Whether fixed steps may be shortened: while joints slide in several directions, in which a step may end
        between sliding and rest, where its equations are hardest to solve."""
        return bool(self._quickest) and self._method.step is not None

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of all integrations together."""
        return together([*self._statistics, self._leg.run.statistics(0.0)], cpu)

    # sampling --------------------------------------------------------------------------------------------------------

    def _spacing(self, s: Snapshot) -> float:
        """The time in which the mechanism moves by `LOOK`, within the bounds of cost."""
        weight = self._leg.run.equations.flat.weight
        speed, rate = (float((np.abs(x) * weight).max(initial=0.0)) for x in (s.w, s.wdot))
        time = min(LOOK / speed if speed > 0 else np.inf, np.sqrt(2 * LOOK / rate) if rate > 0 else np.inf)
        fewest = STICKING if any(self._is_stuck(f) for f in self._frictions.values()) else FEWEST
        return float(np.clip(time, self._span / MOST_LOOKS, self._span / fewest))

    def _is_stuck(self, friction: JointFriction) -> bool:
        return any(name in self._held for name in friction.locks)

    def _next_look(self, target: float) -> float:
        """The time of the next sample; fixed steps are not changed."""
        t, spacing, step = self._at.snapshot.t, self._spacing(self._at.snapshot), self._method.step
        left = target - t
        if (near := self._until_slow(self._at)) < min(left, spacing):
            return t + near
        if step is None:
            count = int(np.ceil(left / spacing * (1 - 1e-9)))
            return target if count <= 1 else t + left / count
        steps = int(np.ceil(left / step * (1 - 1e-9)))
        together = max(1, int(spacing * steps / left))
        return target if together >= steps else t + left * together / steps

    def _until_slow(self, look: Look) -> float:
        """The largest time to the next sample, in which the direction of sliding in several directions turns; it ends
        before an expected instant at which a joint sticks, not just before it, or after it."""
        time = np.inf
        for k, event in enumerate(self._events):
            if not isinstance(event.do, Stick) or event.do.friction not in self._quickest or self._idle(event):
                continue
            slip, slowing = -float(look.values[k]), float(look.rates[k])
            if not slip > 0:
                continue
            part = GRADED * slip / max(self._quickest[event.do.friction], slip)
            left = slip / slowing if slowing > 0 else np.inf
            if self._method.step is None:
                own = 0.5 * left if part < 1 else np.inf
                own = own if slip > RESOLVED * self._quickest[event.do.friction] else PASSED * left
            elif part < 1:
                own = self._method.step * part**0.5
            else:
                continue
            time = min(time, own if own < left / PASSED else PASSED * left)
        return max(time, 4 * self._round)

    def _look(self, leg: Leg, s: Snapshot) -> Look:
        wide = self._wide(leg, s)
        wide = wide._replace(q=wide.q.copy(), w=wide.w.copy(), wdot=wide.wdot.copy())
        return Look(wide, *self._measures(leg, wide))

    def _wide(self, leg: Leg, s: Snapshot) -> Snapshot:
        """The snapshot with the reactions of all possible locks and contacts, all angles and the work of all
        integrations."""
        multipliers = np.zeros(self.mechanism.joint_rows)
        multipliers[[r for j in leg.mechanism.joints for r in self.mechanism.joint(j.name).rows]] = s.multipliers
        known = dict(zip(leg.mechanism.turning, s.angles, strict=True))
        near = [known.get(pair, before) for pair, before in zip(self.mechanism.turning, self._turned, strict=True)]
        angles = followed_angles(self.mechanism, s.q[None], np.array([near]))[0]  # also those of released joints
        return s._replace(multipliers=multipliers, work=leg.work + s.work, angles=angles, lost=self._lost)

    def _measures(self, leg: Leg, s: Snapshot) -> tuple[np.ndarray, np.ndarray]:
        """Values and rates (n,) of the measures of all possible events; NaN for others.

        For persistent contacts the value is the tensile force, and for joints that stick the excess of the effort that
        holds them over its bound; their rates are unknown.
        """
        near, flat = NEAR * self._spacing(s), leg.run.equations.flat
        states = []
        for shift in (0.0, -near, near):
            q = np.empty_like(s.q)
            displace(flat, s.q, shift * s.w, q)
            states.append((s.t + shift, q, s.w + shift * s.wdot, s.wdot, s.multipliers))
        columns = [np.array(x) for x in zip(*states, strict=True)]
        angles = followed_angles(self.mechanism, columns[1], np.tile(s.angles, (3, 1)))
        seen = result_of_states(self.mechanism, *columns, angles=angles, element_states=np.tile(s.states, (3, 1)))
        seen.__dict__[BEFORE] = self._attitudes
        values, rates = np.full(len(self._events), np.nan), np.full(len(self._events), np.nan)
        pulls, efforts, sliding = self._pulls(leg, s), self._efforts(leg, s), self._rates(leg, s, seen)
        for k, event in enumerate(self._events):
            if event.name in pulls:
                values[k] = pulls[event.name]
            elif isinstance(event.do, Slide) and not self._idle(event):
                name = event.do.friction
                noticed = self._unnoticed(self._frictions[name])
                moves = float(np.linalg.norm(sliding[name][0])) - noticed if name in sliding else -noticed
                values[k] = max(efforts[name] - 1, moves / noticed) if name in efforts else moves
            elif isinstance(event.do, Stick) and not self._idle(event):
                friction, u = self._frictions[event.do.friction], sliding[event.do.friction]
                if friction.several:
                    values[k], rates[k] = self._slowing(friction, k, u, (u[2] - u[1]) / (2 * near), s.t)
                else:
                    value = -self._sliding[friction.name] * u[:, 0]
                    values[k], rates[k] = value[0], (value[2] - value[1]) / (2 * near)
            elif not self._idle(event):
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
        pressing = [name for name in self._held if name in self._stops]
        pushes = {n: self._sign(n) * float(s.multipliers[self.mechanism.joint(n).rows[0]]) for n in pressing}
        for name, push in pushes.items():
            self._strongest[name] = max(self._strongest.get(name, 0.0), push)
        if all(push > CLEAR * self._strongest[name] for name, push in pushes.items()):
            return {name: -push for name, push in pushes.items()}
        contacts = Contacts(leg.mechanism, self._state_of(leg.mechanism, s), {n: -self._sign(n) for n in pressing})
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
        least = RESTING * usual_rate(compiled(self.mechanism), friction)
        if self._last is not None and self._last.snapshot.t < t:
            least = max(least, RESTED * -float(np.nan_to_num(self._last.values[event])))
        if size <= least:
            return least, np.nan
        return -size, -float(velocities[0] @ acceleration) / size

    def _rates(self, leg: Leg, s: Snapshot, seen: Result) -> dict[str, np.ndarray]:
        """The sliding velocities (3, nc) of the joints with friction that do not stick, at the times of `seen`, and of
        those that are driven; of driven joints, those of the driver, because after an event the velocities are those of
        the driver."""
        found, driven = {}, [n for n, freedom in self._freedoms.items() if len(freedom.locks) < self._motions(n)]
        for f in self._frictions.values():
            if f.joint not in self._released and not self._is_stuck(f):
                rows = [self.mechanism.rows[r] for r in self.mechanism.force_elements[f.name]]
                found[f.name] = np.stack([row_motion(seen, row).rate for row in rows], axis=1) * f.arms
        if driven:
            state = self._state_of(leg.mechanism, s)
            times = zip(seen.t, seen.q, seen.w, strict=True)
            e = self._equations_of(leg.mechanism, state)
            exact = [prescribed_velocities(e, replace(state, t=t, q=q, w=w)) for t, q, w in times]
            found |= {name: np.array([velocities[name] for velocities in exact]) for name in driven if name in exact[0]}
        return found

    def _motions(self, friction: str) -> int:
        return len(self._frictions[friction].locks)

    def _efforts(self, leg: Leg, s: Snapshot) -> dict[str, float]:
        """The efforts that hold the joints that stick, relative to their bounds."""
        if not any(self._is_stuck(f) for f in self._frictions.values()):
            return {}
        state = self._state_of(leg.mechanism, s)
        return holding_efforts(self._equations_of(leg.mechanism, state), state, self._freedoms)

    def _equations_of(self, mechanism: Mechanism, state: State) -> Equations:
        """Equations for evaluations at samples."""
        if self._sampled is None or self._sampled.mechanism is not mechanism:
            self._sampled = Equations(mechanism, state.q, state.angles, state.element_states)
        return self._sampled

    def _idle(self, event: Event) -> bool:
        """Whether an event is impossible: it is in force already, its stop has been released, or there is nothing to
        release."""
        if isinstance(event.do, Stick | Slide):
            friction = self._frictions[event.do.friction]
            sliding = bool(self._sliding.get(friction.name))
            return friction.joint in self._released or sliding == isinstance(event.do, Slide)
        if isinstance(event.do, Release):
            name = event.do.joint
            return name in self._released or (
                name in self._history and name not in self._stops and name not in self._held
            )
        return event.name in self._held or event.name in self._released

    def _sight(self, look: Look) -> Sight:
        above = np.where(self._armed, look.values - self._levels, np.nan)
        return Sight(look.snapshot.t, above, look.rates)

    def _looked(self, look: Look) -> None:
        """Advance to a sample without events; arm the events whose measures have been negative."""
        self._at, self._last, self._turned = look, look, look.snapshot.angles
        known = ~np.isnan(look.values)
        for k, event in enumerate(self._events):
            if isinstance(event.do, Stick) and (name := event.do.friction) in self._quickest and known[k]:
                self._quickest[name] = max(self._quickest[name], -float(look.values[k]))
        self._largest[known] = np.maximum(self._largest[known], np.abs(look.values[known]))
        for k, event in enumerate(self._events):
            band = self._reach(event.name) if event.name in self._stops else TOUCHING * self._largest[k]
            if known[k] and event.name not in self._held and look.values[k] < -band:
                self._armed[k], self._levels[k] = True, 0.0

    def _reach(self, stop: str) -> float:
        """The distance at which a stop touches."""
        do = self._stops[stop]
        dof = joint_dof(do.joint, self._base.joint(do.joint).kind, do.dof)
        return TOUCHING * (self._base.length if dof == "translation" else 1.0)

    # location --------------------------------------------------------------------------------------------------------

    def _between(self, again: "_Again", low: Sight, high: Sight, depth: int = 3) -> Sight | None:
        """A time between two samples at which a measure has passed its level, although it has not at the samples; or
        None."""
        times = [t for k in range(len(self._events)) if (t := peak(low, high, k)) is not None]
        if not times or not depth or high.t - low.t <= self._round:
            return None
        sight = again(min(times))
        if sight.passed(self._round).any():
            return sight
        return self._between(again, low, sight, depth - 1) or self._between(again, sight, high, depth - 1)

    def _meet(self, again: "_Again", low: Sight, time: float) -> None:
        """Locate the first event between the last sample and `time`, and execute it."""
        high = again(time)
        if high.passed(self._round).any():
            found = first_instant(again, low, high, self._round)
            look = self._go_on(again, found.t)
            self._happen(look, found.passed(self._round))
        else:  # with these steps the measure does not reach its level; the integration continues with them
            self._looked(self._go_on(again, time))

    def _go_on(self, again: "_Again", time: float) -> Look:
        """Continue the integration from the end of a trial."""
        self._statistics.append(self._leg.run.statistics(0.0))
        self._leg, look = again.tried[time]
        return look

    # execution -------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Execute the events at the initial time: measures that rise from zero, stops that touch, and adopted contacts
        without pressure.

        Raises `EventError` when the initial state is beyond a stop.
        """
        values, rates = self._at.values, self._at.rates
        lasting = [name for name in self._stops if name in self._held]
        self._press(lasting)
        for k, event in enumerate(self._events):
            if event.name in self._stops and event.name not in lasting and values[k] > self._reach(event.name):
                raise EventError(
                    f"{self._base.name!r} starts beyond the stop {event.name!r} by {values[k]:.3g}. Change the initial "
                    "state or the limit of the stop."
                )
        stops = np.array([e.name in self._stops for e in self._events])
        reach = np.array([self._reach(e.name) if e.name in self._stops else 0.0 for e in self._events])
        held = np.isin([e.name for e in self._events], lasting)
        touching = stops & ~held & (values >= -reach)
        pulled = held & (values > self._levels)
        rising = ~stops & (np.abs(values) <= np.abs(rates) * self._round) & (rates > 0)
        if (touching | rising | pulled).any():
            self._happen(self._at, rising | pulled)

    def _press(self, lasting: Sequence[str]) -> None:
        """Pulls at which contacts that are taken over leave."""
        if not lasting:
            return
        s, mechanism = self._at.snapshot, self._leg.mechanism
        contacts = Contacts(mechanism, self._state_of(mechanism, s), {n: -self._sign(n) for n in lasting})
        forces, response = contacts.forces(s.w, [], lasting), contacts.response_of(lasting)
        for k, event in enumerate(self._events):
            if event.name in forces:
                self._levels[k] = self._level(event.name, forces[event.name], response[event.name], False)

    def _happen(self, look: Look, passed: np.ndarray) -> None:
        """Execute the events of an instant, and those that they cause."""
        for _ in range(MOST_AT_ONCE):
            self._armed[passed & ~np.isin([e.name for e in self._events], list(self._stops))] = False
            state = self._carry_out([e for e, yes in zip(self._events, passed, strict=True) if yes], look)
            if len(self._happened) > MOST:
                raise EventError(
                    f"More than {MOST} events occurred up to t = {state.t:.6g}, the last of them "
                    f"{self._happened[-1].event!r}. Give the stop less restitution or a larger rest speed."
                )
            self._statistics.append(self._leg.run.statistics(0.0))
            work = look.snapshot.work.copy()
            work[DRIVER], self._driven = work[DRIVER] + self._driven, 0.0
            self._leg = self._start_from(state, work)()
            look = self._look(self._leg, self._leg.run.now())
            self._leave(look)
            self._looked(look)
            passed = self._sight(look).passed(self._round)
            if self.ended or not passed.any():
                return
        names = ", ".join(repr(e.name) for e, yes in zip(self._events, passed, strict=True) if yes)
        raise EventError(
            f"At t = {look.snapshot.t:.6g} the events {names} cause each other indefinitely. Let one of them occur at "
            "another value."
        )

    def _leave(self, look: Look) -> None:
        """Set the levels of stops that touch and are not in force to their present values, and those of joints that
        begin to slide beyond theirs: the method changes velocities at its start within its own error."""
        for k, event in enumerate(self._events):
            if event.name in self._stops and not self._idle(event) and abs(look.values[k]) <= self._reach(event.name):
                self._levels[k] += max(look.values[k], 0.0)
            elif isinstance(event.do, Stick) and self._levels[k] > 0 and event.do.friction not in self._quickest:
                self._levels[k] += 2 * max(look.values[k], 0.0)

    def _carry_out(self, events: Sequence[Event], look: Look) -> State:
        """Execute releases, then locks and impacts; returns the state after them."""
        s = look.snapshot
        state = replace(s.state, q=s.q.copy(), w=s.w.copy())
        for event in events:
            if isinstance(event.do, Release):
                self._release(event.do.joint)
        events = [e for e in events if isinstance(e.do, Release) or e.name not in self._released]
        lost = {e.name: 0.0 for e in events}
        locks = [e.name for e in events if isinstance(e.do, Lock)]
        stopping = [e.do.friction for e in events if isinstance(e.do, Stick)]
        resting = self._loosened(stopping)
        state = self._slowed(state, resting)
        touching = self._touching(look, lost)
        if locks or touching:
            before, state = state, self._impact(state, locks, touching, lost)
            resting = resting if np.array_equal(before.w, state.w) else []
        yielding = [e.do.friction for e in events if isinstance(e.do, Slide)]
        state = self._rub(state, lost, resting, yielding)
        self.ended = any(isinstance(e.do, Terminate) for e in events)
        self._lost += sum(lost.values())
        self._note_topology(float(s.t))
        self._happened += [EventRecord(float(s.t), e.name, lost[e.name]) for e in self._events if e.name in lost]
        return state

    def _note_topology(self, t: float) -> None:
        now = Topology(dict(self._held), frozenset(self._released), dict(self._fastest), dict(self._sliding))
        self.topologies.append((t, now))

    def _loosened(self, stopping: Sequence[str]) -> list[str]:
        """The frictions of the joints that stick, which no equation holds any more, and of those that are
        `stopping`."""
        resting = [f.name for f in self._frictions.values() if self._is_stuck(f) or f.name in stopping]
        for name in resting:
            for lock in self._frictions[name].locks:
                self._held.pop(lock, None)
        return resting

    def _slowed(self, state: State, resting: Sequence[str]) -> State:
        """The state without sliding rates of the joints with the frictions `resting`."""
        if not resting:
            return state
        mechanism = self._mechanism_with(self._held)
        return replace(state, w=at_rest(mechanism, self._state_of(mechanism, state), resting).w)

    def _rub(
        self, state: State, lost: dict[str, float], resting: Sequence[str] = (), yielding: Sequence[str] = ()
    ) -> State:
        """The state with the modes of joints with friction; their changes are added to the events of `lost`.

        Joints with the frictions `resting`, and others without sliding rate up to rounding, are at rest. The holding
        efforts of those `yielding` have reached their bounds.
        """
        if not self._frictions:
            return state
        mechanism = with_sliding(self._mechanism_with(self._held), {})
        own = self._state_of(mechanism, state)
        slow = {name for name, velocity in sliding_velocities(mechanism, own).items() if velocity.still}
        state = self._slowed(state, [*slow, *resting])
        own = replace(own, w=state.w)
        self._freedoms = freedoms_of(mechanism, own)
        driven = [n for n, freedom in self._freedoms.items() if len(freedom.locks) < self._motions(n)]
        exact = prescribed_velocities(self._equations_of(mechanism, own), own) if driven else {}
        moving = {
            n
            for n in driven
            if (n in yielding and not self._freedoms[n].locks)
            or np.linalg.norm(exact[n]) > NOTICED * self._unnoticed(self._frictions[n])
        }
        still = {*slow, *resting, *driven} - moving
        modes = modes_of(mechanism, own, still, yielding, self._freedoms)
        seen = self._seen(state)
        for name, friction in self._frictions.items():
            lost.pop(friction.stuck, None)
            lost.pop(f"{name} slides", None)
            if name in modes.sticking:
                for lock in self._freedoms[name].locks:
                    self._held[lock] = self._coordinate(seen, friction.joint, friction.locks[lock], friction)
                    self._history[lock].note(state.t, self._held[lock])
                if self._sliding.get(name):
                    lost[friction.stuck] = 0.0
            elif modes.sliding.get(name) and (modes.sliding[name] != self._sliding.get(name) or name in modes.begun):
                lost[f"{name} slides"] = 0.0
        self._sliding = dict(modes.sliding)
        if modes.begun:
            variant = self._mechanism_with(self._held)
            state = replace(state, w=with_beginnings(variant, self._state_of(variant, state), modes.begun).w)
        quickest = {n: self._quickest.get(n, 0.0) for n, sign in modes.sliding.items() if sign}
        self._quickest = {n: x for n, x in quickest.items() if self._frictions[n].several}
        self._quickest |= dict.fromkeys(modes.begun, 0.0)
        for k, event in enumerate(self._events):
            if isinstance(event.do, Stick) and modes.sliding.get(name := event.do.friction):
                self._armed[k] = True
                resting_one = name in still and not self._frictions[name].several
                self._levels[k] = self._unnoticed(self._frictions[name]) if resting_one else 0.0
        return state

    def _unnoticed(self, friction: JointFriction) -> float:
        """A sliding rate that is not noticed."""
        return MOVING * usual_rate(compiled(self.mechanism), friction)

    def _seen(self, state: State) -> Result:
        """A state of all bodies as a result, for measures."""
        none = np.zeros((1, self.mechanism.joint_rows))
        q, w = state.q[None], state.w[None]
        return result_of_states(self.mechanism, np.array([state.t]), q, w, w, none, angles=state.angles[None])

    def _release(self, name: str) -> None:
        """Remove a joint with its locks and stops, or a single lock or stop."""
        gone = (
            [name] if name in self._history else [n for n in self._history if self._locked_joint(n, 0.0).joint == name]
        )
        for held in gone:
            self._held.pop(held, None)
        if name not in self._history:
            self._released |= {name, *gone}
        elif name in self._stops:
            self._released.add(name)

    def _touching(self, look: Look, passed: Mapping[str, float]) -> list[str]:
        """The stops in contact."""
        near = {e.name: value for e, value in zip(self._events, look.values, strict=True)}
        return [
            name
            for name in self._stops
            if name not in self._released
            and (name in self._held or name in passed or abs(near[name]) <= self._reach(name))
        ]

    def _impact(self, state: State, locks: Sequence[str], stops: Sequence[str], lost: dict[str, float]) -> State:
        """The state after locks and impacts; updates the losses of their events and the persistent contacts.

        Raises `EventError` when joints and drivers prescribe the motion of a coordinate that an event stops.
        """
        seen = self._seen(state)
        values = {name: self._held.get(name, self._value(seen, name)) for name in (*locks, *stops)}
        lasted = [name for name in stops if name in self._held]
        for name in lasted:
            del self._held[name]
        mechanism = self._mechanism_with({**self._held, **values})
        contacts = Contacts(mechanism, self._state_of(mechanism, state), {n: -self._sign(n) for n in values})
        w = contacts.on_joints(state.w, lasted)
        for name in values:
            if (rate := contacts.led(w, name)) < 0 or (rate and name in locks):
                raise EventError(
                    f"At t = {state.t:.6g} joints and drivers prescribe a speed of {abs(rate):.3g} of the coordinate "
                    f"of {name!r}; no impact can stop it. Change the driver, or remove the event."
                )
        forces = contacts.forces(w, [], lasted)
        response = contacts.response_of(stops)
        lasting = [name for name, force in forces.items() if force.push * response[name] > force.noise]
        for k, name in enumerate(locks):
            w, losses = contacts.locked(w, name, locks[:k], lasting)
            _add(lost, losses, (name,))
        w = self._bounce(contacts, w, locks, stops, lasting, lost)
        self._driven += contacts.driven
        resting = [n for n in stops if response[n] and contacts.separation(w, n) <= contacts.noise(n)]
        forces = contacts.forces(w, locks, resting)
        levels = {n: self._level(n, f, response[n], n in lasted and n in lost) for n, f in forces.items()}
        staying = [name for name, force in forces.items() if force.rate <= LEAVING * levels[name] * response[name]]
        for name in {*staying} ^ {*lasted}:
            lost.setdefault(name, 0.0)
        for name in (*locks, *staying):
            self._held[name] = values[name]
            self._history[name].note(state.t, values[name])
        for k, event in enumerate(self._events):
            if event.name in staying:
                self._levels[k], self._strongest[event.name] = levels[event.name], forces[event.name].push
            elif event.name in stops:
                self._levels[k] = (
                    BACK if contacts.separation(w, event.name) > contacts.noise(event.name) else GRAZING
                ) * self._reach(event.name)
        return replace(state, w=w)

    def _level(self, name: str, force: Force, response: float, pulled: bool) -> float:
        """The tensile force at which a contact separates: the rounding error of its forces so far, or twice the last
        level if it has just persisted at that level."""
        if not response:
            return np.inf
        before = 2 * self._levels[[e.name for e in self._events].index(name)] if pulled else 0.0
        slow = 2 * self._reach(name) / self._span**2  # less than the touching distance in the whole simulation
        return max(max(force.noise, slow) / response, CARRIED * max(force.push, self._strongest.get(name, 0.0)), before)

    def _bounce(
        self,
        contacts: Contacts,
        w: np.ndarray,
        locks: Sequence[str],
        stops: Sequence[str],
        lasting: Sequence[str],
        lost: dict[str, float],
    ) -> np.ndarray:
        """Velocities after impacts, repeated until no contact closes.

        Each round contains the closing contacts together with the persistent ones.
        """
        rounds = 0
        while True:
            speeds = {name: -contacts.separation(w, name) for name in stops}
            closing = [name for name in stops if speeds[name] > contacts.noise(name)]
            if not closing:
                return w
            if rounds > COLLAPSE + 10 * len(stops):
                meeting = dict.fromkeys(stops, 0.0)
            else:
                meeting = {name: self._restitution(name, speeds[name]) for name in closing}
                meeting |= {n: 0.0 for n in lasting if abs(speeds[n]) <= contacts.noise(n)}
            w, losses = contacts.bounced(w, meeting, locks)
            _add(lost, losses, closing)
            rounds += 1

    def _restitution(self, stop: str, speed: float) -> float:
        """The coefficient of restitution of an impact; zero if it is slow compared with the fastest one so far."""
        do = self._stops[stop]
        self._fastest[stop] = max(self._fastest.get(stop, 0.0), speed)
        return do.restitution if speed > do.rest * self._fastest[stop] else 0.0

    # the current mechanism -------------------------------------------------------------------------------------------

    def _sign(self, name: str) -> float:
        """The sign of the motion that a stop limits; 1 for a lock."""
        return -1.0 if name in self._stops and not self._stops[name].upper else 1.0

    def _value(self, seen: Result, name: str) -> float:
        """The coordinate that an event locks."""
        do = next(e.do for e in self._events if e.name == name)
        assert isinstance(do, Lock | StopImpact)
        return float(seen.coordinate(do.joint, do.dof)[0])

    def _coordinate(self, seen: Result, joint: str, dof: str, friction: JointFriction) -> float:
        """The coordinate that a lock of a joint with friction holds."""
        if dof not in SPINS:
            return float(seen.coordinate(joint, dof)[0])
        row = self.mechanism.rows[self.mechanism.force_elements[friction.name][SPINS.index(dof)]]
        return float(row_motion(seen, row).stretch[0])

    def _locked_joint(self, name: str, value: float | TimeFunction) -> LockedJoint:
        """The equation of a lock, a lasting contact or a joint that sticks."""
        if name in self._sticks:
            return locked_coordinates(self._sticks[name], {name: value})[0]
        do = next(e.do for e in self._events if e.name == name)
        assert isinstance(do, Lock | StopImpact)
        return LockedJoint(name, do.joint, value, do.dof)

    def _mechanism_with(self, held: Mapping[str, float]) -> Mechanism:
        locked = [self._locked_joint(name, held[name]) for name in self._history if name in held]
        variant = with_locked_joints(self._base, locked, without=self._released - {*self._history})
        return with_sliding(variant, self._sliding)

    def _state_of(self, mechanism: Mechanism, s: State | Snapshot) -> State:
        """The state with the angles of this variant of the mechanism."""
        state = s if isinstance(s, State) else s.state
        return replace(state, angles=mechanism.angles_of(self.mechanism, s.angles), topology=Topology())

    def _start_from(self, state: State, work: np.ndarray) -> Callable[..., Leg]:
        """A function that starts an integration from a state with the current joints; its argument, if any, is the part
        of a fixed step that it takes.

        Raises `EventError` when the method cannot integrate locked coordinates.
        """
        if self._held and not self._method.may_lock:
            raise EventError(
                f"From t = {state.t:.6g} on, {', '.join(map(repr, self._held))} locks a coordinate, which "
                f"{self._method} does not support. Use coordinates='absolute', or generalised-alpha."
            )
        variant = self._mechanism_with(self._held)
        variant = replace(variant, initial=self._state_of(variant, state))
        begin = consistent_state(variant)

        def leg(part: float = 1.0) -> Leg:
            pace = self._pace if self._method.step is None else self._pace.until(self._slipping(variant, begin))
            step = self._method.step
            method = self._method if step is None else replace(self._method, step=part * step)
            run = method.begin(variant, begin, end=self._end, longest=self._longest, pace=pace)
            if state.t < self._end - self._round:
                run.prepare()
            self._prepared = True
            return Leg(run, variant, work)

        return leg

    def _slipping(self, mechanism: Mechanism, begin: Start) -> float:
        """A time up to which joints slide in several directions if their sliding velocities decrease as at first. The
        initial values of a method must not use the motion beyond the instant of rest, where friction turns round."""
        if not self._quickest:
            return np.inf
        velocities = sliding_velocities(mechanism, begin.state)
        accelerations = sliding_velocities(mechanism, replace(begin.state, w=begin.wdot))
        times = [np.inf]
        for name in self._quickest:
            u = velocities[name].value
            slowing = -float(u @ accelerations[name].value)
            if slowing > 0:
                times.append(begin.state.t + BEFORE_REST * float(u @ u) / slowing)
        return min(times)


class _Again:
    """Trial integrations from the last sample; `tried` holds their ends."""

    def __init__(self, watched: EventDetection) -> None:
        self._watched, self._from = watched, watched._at
        self.tried: dict[float, tuple[Leg, Look]] = {}

    @cached_property
    def _leg(self) -> Callable[..., Leg]:
        s = self._from.snapshot
        return self._watched._start_from(s.state, s.work)

    def __call__(self, t: float) -> Sight:
        """The measures at `t`."""
        for part in SHORTER:
            leg = self._leg(part)
            try:
                look = self._watched._look(leg, leg.run.to(t)._replace(t=t))
            except ConvergenceError:
                if part == SHORTER[-1] or not self._watched._may_shorten():
                    raise
            else:
                break
        self.tried[t] = leg, look
        return self._watched._sight(look)


class _Values:
    """The value of a locked coordinate over time, for files and reactions."""

    def __init__(self) -> None:
        self._times, self._values = [-np.inf], [0.0]

    def note(self, t: float, value: float) -> None:
        """Record the value from time `t` on."""
        self._times.append(t)
        self._values.append(value)

    def motion(self) -> TimeFunction:
        """The values as a function of time."""

        def value(t: np.ndarray) -> np.ndarray:
            return np.asarray(self._values)[np.searchsorted(self._times, t, side="right") - 1]

        return TimeFunction(value, np.zeros_like, np.zeros_like, "held")


def _add(lost: dict[str, float], losses: Mapping[str, float], names: Sequence[str]) -> None:
    for name in names:
        lost[name] = lost.get(name, 0.0) + losses[name]


def _friction_events(mechanism: Mechanism) -> list[Event]:
    """Two events for each joint with friction: it comes to rest, and it begins to slide."""

    def unseen(result: Result) -> np.ndarray:
        raise AssertionError("the effort that holds a joint is not a measure of a result")

    made = []
    for f in mechanism.exact_frictions:
        made += [Event(f.stuck, unseen, Stick(f.name)), Event(f"{f.name} slides", unseen, Slide(f.name))]
    return made


def _require_events(mechanism: Mechanism, events: Sequence[Event]) -> None:
    """Raises `EventError` when events that are not given have locked or released something at the initial state."""
    state = mechanism.initial
    names = {e.name for e in events if isinstance(e.do, Lock | StopImpact)}
    names |= {name for friction in mechanism.exact_frictions for name in friction.locks}
    missing = state.topology.locked.keys() - names
    missing |= state.topology.released - names - {joint.name for joint in mechanism.joints}
    if missing:
        raise EventError(
            f"The state at t = {state.t:.6g} is changed by {', '.join(map(repr, sorted(missing)))} "
            f"({state.topology}); start from it with the events of that simulation."
        )


def _require_names(mechanism: Mechanism, events: Sequence[Event]) -> None:
    names = [e.name for e in events]
    taken = {*names} & {*(j.name for j in mechanism.joints), *mechanism.force_elements}
    taken |= {n for n in names if names.count(n) > 1}
    if taken:
        raise EventError(f"Events need names of their own; these are taken: {sorted(taken)}.")
    for event in events:
        if isinstance(event.do, Lock | StopImpact):
            locked_row(mechanism, event.do.joint, event.do.dof)
        elif isinstance(event.do, Release) and event.do.joint not in names:
            _require_unrelated(
                mechanism, event.name, event.do.joint, [e.do.joint for e in events if isinstance(e.do, Release)]
            )


def _require_unrelated(mechanism: Mechanism, event: str, name: str, released: Sequence[str]) -> None:
    """Raises `EventError` when an event releases a joint of a relation that no event releases."""
    joint = mechanism.joint(name)
    for relation in mechanism.joints:
        row = mechanism.rows[relation.rows[0]]
        if row.terms and relation.name not in released and joint.markers in _pairs(row):
            raise EventError(
                f"Event {event!r} releases joint {name!r}, whose coordinate is part of the "
                f"{relation.kind} {relation.name!r}. Release {relation.name!r} by an event too."
            )


def _pairs(row: Row) -> list[tuple[int, int]]:
    return [row.markers, *(term.markers for term in row.terms)]

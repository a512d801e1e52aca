"""Integration with detection, location and execution of events; flexmb/simulation/detection holds its parts.

**Sampling.** The measures of events are sampled such that no body moves by more than a quarter of a radian, or of the
length of the mechanism, between two samples, independently of the stored times (within the cost bounds `FEWEST` and
`MOST_LOOKS`), and before and after each impact of exact contacts, at which velocities jump. A measure that rises above
its level and returns between two samples is detected from its rates at both.

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

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import Start, consistent_state
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.time_features import Pace
from flexmb.errors import ConvergenceError, EventError
from flexmb.integrators.integrator import Finding, Run, together
from flexmb.integrators.method import Method
from flexmb.kernels.equations.residual import DRIVER
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State, Topology
from flexmb.results.result import EventRecord, Result, Statistics
from flexmb.simulation.detection.arming import Arming
from flexmb.simulation.detection.checks import require_events, require_names, require_relations_gone
from flexmb.simulation.detection.impacts import Impacts
from flexmb.simulation.detection.in_force import InForce
from flexmb.simulation.detection.looks import Leg, Look, Looks
from flexmb.simulation.detection.rubbing import adopt_frictions, rubbed, slowed
from flexmb.simulation.events import Event, Lock, Release, Slide, Stick, Terminate
from flexmb.simulation.friction import sliding_velocities
from flexmb.simulation.instants import Sight, first_instant, peak
from flexmb.simulation.sampling import Sampled

GRADED, RESOLVED, PASSED = 4.0, 1e-3, 1.5
"""Sliding velocity in several directions, as a reciprocal part of the largest so far, below which steps are shortened;
as a part, below which an adaptive method passes the instant at which it vanishes; and the time to the next sample,
relative to the expected one to this instant, that passes it."""
BEFORE_REST = 0.5
"""Part of the expected time to rest that the initial values of a method use."""
SHORTER = (1.0, 0.37, 0.13, 0.05)
"""Parts of a fixed step that are taken in turn where its equations are not solved."""
BESIDE = 1e-9
"""Distance of the samples before and after an impact of exact contacts from it, relative to the time since the last."""
ROUND = 2e-15
"""Accuracy of the located instants, relative to the largest time of the simulation."""
MOST_AT_ONCE = 100
"""Largest number of rounds of events at one instant."""
MOST = 10_000
"""Largest number of events in one simulation."""


class EventDetection(Run):
    """An integrator (see `flexmb.integrators.integrator.Integrator`) that executes events as described above.

    - `mechanism`: with rows for all that events may hold; the motion contains their reactions.
    - `topologies`: what has been in force from which time on; `ended`: whether a `Terminate` has ended the simulation.
    """

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
        self._base, self._pace = mechanism, pace
        events = (*events, *_friction_events(mechanism))
        require_events(mechanism, events)
        require_names(mechanism, events)
        initial = mechanism.initial if begin is None else begin.state
        self._longest, self._end = longest, end
        self._round = ROUND * max(abs(end), abs(initial.t))
        span = end - initial.t
        self._in_force = in_force = InForce(mechanism, events)
        self._arming = Arming(in_force)
        self._looks = Looks(in_force, span, initial.angles)
        self._impacts = Impacts(in_force, self._arming, span)
        self._method = replace(method, complete=self._complete) if isinstance(method, Sampled) else method
        self.mechanism = in_force.mechanism
        self._happened: list[EventRecord] = []
        self._struck: list[EventRecord] = []  # impacts of exact contacts before the present integration
        self._found: dict[Finding, None] = {}  # warnings of the integrations before
        self.topologies: list[tuple[float, Topology]] = []
        self.ended, self._prepared, self._statistics = False, False, list[Statistics]()
        in_force.take_over(mechanism.initial)
        if mechanism.initial.topology != Topology():
            self.topologies.append((mechanism.initial.t, mechanism.initial.topology))
        if begin is not None and in_force.frictions:
            state = rubbed(in_force, self._arming, begin.state, {})
            self._note_topology(state.t)
            self._leg = self._start_from(state, np.zeros(4))()
        elif begin is not None:
            run = self._method.begin(mechanism, begin, end=end, longest=longest, pace=pace)
            self._leg = Leg(run, mechanism, np.zeros(4))
        else:
            adopt_frictions(in_force, initial)
            self._leg = self._start_from(initial, np.zeros(4))()
        self._looked(self._looks.at(self._leg, self._leg.run.now()))
        self._begin()

    # interface of an integrator --------------------------------------------------------------------------------------

    @property
    def equations(self) -> Equations:
        """The equations of the current mechanism."""
        return self._leg.run.equations

    @property
    def happened(self) -> list[EventRecord]:
        """The events, and the impacts of exact contacts, so far."""
        return sorted([*self._happened, *self._struck, *self._leg.run.happened], key=lambda record: record.t)

    @property
    def findings(self) -> list[Finding]:
        """Warnings of all integrations so far."""
        return list(self._found | dict.fromkeys(self._leg.run.findings))

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
                looks = self._on_the_way(self._leg, time)
            except ConvergenceError:
                if not self._may_shorten():
                    raise
                again(time)
                looks = [self._go_on(again, time)]
            self._examine(again, looks)
        return self._at.snapshot

    def _on_the_way(self, leg: Leg, time: float) -> list[Look]:
        """Integrate to a time; the samples beside the impacts of exact contacts on the way, and the one there."""
        leg.run.beside_impacts()
        end = leg.run.to(time)._replace(t=time)
        return [*self._beside(leg, time), self._looks.at(leg, end)]

    def _beside(self, leg: Leg, time: float) -> list[Look]:
        """The samples before and after each impact of an integration from the last sample to a time."""
        aside = max(BESIDE * (time - self._at.snapshot.t), 4 * self._round)
        sides = leg.run.beside_impacts()
        return [self._looks.at(leg, s._replace(t=s.t + (aside if k % 2 else -aside))) for k, s in enumerate(sides)]

    def _examine(self, again: "_Again", looks: Sequence[Look]) -> None:
        """Execute the first event up to the last of the next samples. Without one, advance to the last one, or to one
        between, at which an event is armed again."""
        low, start = self._arming.sight(self._at), self._at.snapshot.t
        first, before = low, self._at
        for look in looks:
            high = self._arming.sight(look)
            hidden = high if high.passed(self._round).any() else self._between(again, low, high)
            if hidden is not None:
                self._meet(again, first, hidden.t)
                return
            own = [look.snapshot.t] if look is not looks[-1] and self._arming.arms(look).any() else []
            for t in (t for t in (*self._arming.dips(before, look), *own) if t - start > 4 * self._round):
                again(t)
                if self._arming.arms(again.tried[t][1]).any():
                    self._looked(self._go_on(again, t))
                    return
            low, before = high, look
        self._looked(looks[-1])

    def _may_shorten(self) -> bool:
        """Whether fixed steps may be shortened: while joints slide in several directions, in which a step may end
        between sliding and rest, where its equations are hardest to solve."""
        return bool(self._in_force.quickest) and self._method.step is not None

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of all integrations together."""
        return together([*self._statistics, self._leg.run.statistics(0.0)], cpu)

    # sampling --------------------------------------------------------------------------------------------------------

    def _complete(self, mechanism: Mechanism, s: Snapshot) -> tuple[Mechanism, Snapshot]:
        """A snapshot of a variant of the mechanism, with all joints."""
        return self.mechanism, self._looks.complete(mechanism, s)

    def _next_look(self, target: float) -> float:
        """The time of the next sample; fixed steps are not changed."""
        t, step = self._at.snapshot.t, self._method.step
        spacing = self._looks.spacing(self._leg, self._at.snapshot)
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
        time, quickest = np.inf, self._in_force.quickest
        for k, event in enumerate(self._in_force.events):
            if not isinstance(event.do, Stick) or event.do.friction not in quickest or self._in_force.is_idle(event):
                continue
            slip, slowing = -float(look.values[k]), float(look.rates[k])
            if not slip > 0:
                continue
            part = GRADED * slip / max(quickest[event.do.friction], slip)
            left = slip / slowing if slowing > 0 else np.inf
            if self._method.step is None:
                own = 0.5 * left if part < 1 else np.inf
                own = own if slip > RESOLVED * quickest[event.do.friction] else PASSED * left
            elif part < 1:
                own = self._method.step * part**0.5
            else:
                continue
            time = min(time, own if own < left / PASSED else PASSED * left)
        return max(time, 4 * self._round)

    def _looked(self, look: Look) -> None:
        """Advance to a sample without events."""
        self._at, self._looks.last, self._looks.turned = look, look, look.snapshot.angles
        quickest = self._in_force.quickest
        for event, value in zip(self._in_force.events, look.values, strict=True):
            if isinstance(event.do, Stick) and (name := event.do.friction) in quickest and not np.isnan(value):
                quickest[name] = max(quickest[name], -float(value))
        self._arming.looked(look)

    # location --------------------------------------------------------------------------------------------------------

    def _between(self, again: "_Again", low: Sight, high: Sight, depth: int = 3) -> Sight | None:
        """A time between two samples at which a measure has passed its level, although it has not at the samples; or
        None."""
        times = [t for k in range(len(self._in_force.events)) if (t := peak(low, high, k)) is not None]
        if not times or not depth or high.t - low.t <= self._round:
            return None
        sight = again(min(times))
        if sight.passed(self._round).any():
            return sight
        return self._between(again, low, sight, depth - 1) or self._between(again, sight, high, depth - 1)

    def _meet(self, again: "_Again", low: Sight, time: float) -> None:
        """Locate the first event between the last sample and `time`, and execute it."""
        high = again(time)
        if not high.passed(self._round).any():  # an impact may occur at a slightly other instant
            beside = [self._arming.sight(look) for look in self._beside(again.tried[time][0], time)]
            high = next((again(sight.t) for sight in beside if sight.passed(self._round).any()), high)
        if high.passed(self._round).any():
            found = first_instant(again, low, high, self._round)
            look = self._go_on(again, found.t)
            self._happen(look, found.passed(self._round))
        else:  # with these steps the measure does not reach its level; the integration continues with them
            self._looked(self._go_on(again, high.t))

    def _go_on(self, again: "_Again", time: float) -> Look:
        """Continue the integration from the end of a trial."""
        self._end_leg(self._at.snapshot.t)
        self._leg, look = again.tried[time]
        return look

    def _end_leg(self, t: float) -> None:
        """Keep what is to be known of the integration that another one replaces from `t` on."""
        run = self._leg.run
        self._statistics.append(run.statistics(0.0))
        self._struck += [record for record in run.happened if record.t <= t]
        self._found |= dict.fromkeys(run.findings)

    # execution -------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Execute the events at the initial time: measures that rise from zero, stops that touch, and adopted contacts
        without pressure.

        Raises `EventError` when the initial state is beyond a stop.
        """
        values, rates, in_force = self._at.values, self._at.rates, self._in_force
        lasting = [name for name in in_force.stops if name in in_force.held]
        self._impacts.press(self._leg.mechanism, self._at, lasting)
        for event, value in zip(in_force.events, values, strict=True):
            if event.name in in_force.stops and event.name not in lasting and value > in_force.reach(event.name):
                raise EventError(
                    f"{self._base.name!r} starts beyond the stop {event.name!r} by {value:.3g}. Change the initial "
                    "state or the limit of the stop."
                )
        stops = np.array([e.name in in_force.stops for e in in_force.events])
        reach = np.array([in_force.reach(e.name) if e.name in in_force.stops else 0.0 for e in in_force.events])
        held = np.isin([e.name for e in in_force.events], lasting)
        touching = stops & ~held & (values >= -reach)
        pulled = held & (values > self._arming.levels)
        rising = ~stops & (np.abs(values) <= np.abs(rates) * self._round) & (rates > 0)
        if (touching | rising | pulled).any():
            self._happen(self._at, rising | pulled)

    def _happen(self, look: Look, passed: np.ndarray) -> None:
        """Execute the events of an instant, and those that they cause."""
        for _ in range(MOST_AT_ONCE):
            self._arming.disarm(passed)
            events = [e for e, yes in zip(self._in_force.events, passed, strict=True) if yes]
            state, lost = self._carry_out(events, look)
            if len(self._happened) > MOST:
                raise EventError(
                    f"More than {MOST} events occurred up to t = {state.t:.6g}, the last of them "
                    f"{self._happened[-1].event!r}. Give the stop less restitution or a larger rest speed."
                )
            self._end_leg(look.snapshot.t)
            work = look.snapshot.work.copy()
            work[DRIVER], self._impacts.driven = work[DRIVER] + self._impacts.driven, 0.0
            self._leg = self._start_from(state, work, look.snapshot.lost + lost)()
            look = self._looks.at(self._leg, self._leg.run.now())
            self._arming.leave(look)
            self._looked(look)
            passed = self._arming.sight(look).passed(self._round)
            if self.ended or not passed.any():
                return
        names = ", ".join(repr(e.name) for e, yes in zip(self._in_force.events, passed, strict=True) if yes)
        raise EventError(
            f"At t = {look.snapshot.t:.6g} the events {names} cause each other indefinitely. Take smaller steps, which "
            "resolve the vibrations that they excite, or let one of them occur at another value."
        )

    def _carry_out(self, events: Sequence[Event], look: Look) -> tuple[State, float]:
        """Execute releases, then locks and impacts; returns the state after them, and the energy that they took."""
        s, in_force = look.snapshot, self._in_force
        state = replace(s.state, q=s.q.copy(), w=s.w.copy())
        for event in events:
            if isinstance(event.do, Release):
                in_force.release(event.do.joint)
        require_relations_gone(self._base, in_force.released, float(s.t))
        events = [e for e in events if isinstance(e.do, Release) or e.name not in in_force.released]
        lost = {e.name: 0.0 for e in events}
        locks = [e.name for e in events if isinstance(e.do, Lock)]
        resting = in_force.loosen([e.do.friction for e in events if isinstance(e.do, Stick)])
        state = slowed(in_force, state, resting)
        touching = self._impacts.touching(look, lost)
        if locks or touching:
            before, state = state, self._impacts.after(state, locks, touching, lost)
            resting = resting if np.array_equal(before.w, state.w) else []
        yielding = [e.do.friction for e in events if isinstance(e.do, Slide)]
        state = rubbed(in_force, self._arming, state, lost, resting, yielding)
        self.ended = any(isinstance(e.do, Terminate) for e in events)
        self._note_topology(float(s.t))
        self._happened += [EventRecord(float(s.t), e.name, lost[e.name]) for e in in_force.events if e.name in lost]
        return state, sum(lost.values())

    def _note_topology(self, t: float) -> None:
        self.topologies.append((t, self._in_force.topology))

    # integrations ----------------------------------------------------------------------------------------------------

    def _start_from(self, state: State, work: np.ndarray, lost: float = 0.0) -> Callable[..., Leg]:
        """A function that starts an integration from a state with the current joints, after the `work` (4,) and losses
        of those before; its argument, if any, is the part of a fixed step that it takes.

        Raises `EventError` when the method cannot integrate locked coordinates.
        """
        if self._in_force.held and not self._method.may_lock:
            raise EventError(
                f"From t = {state.t:.6g} on, {', '.join(map(repr, self._in_force.held))} locks a coordinate, which "
                f"{self._method} does not support. Use coordinates='absolute', or generalised-alpha."
            )
        variant = self._in_force.variant()
        variant = replace(variant, initial=self._in_force.state_in(variant, state))
        begin = consistent_state(variant)

        def leg(part: float = 1.0) -> Leg:
            pace = self._pace if self._method.step is None else self._pace.until(self._slipping(variant, begin))
            step = self._method.step
            method = self._method if step is None else replace(self._method, step=part * step)
            run = method.begin(variant, begin, end=self._end, longest=self._longest, pace=pace)
            if state.t < self._end - self._round:
                run.prepare()
            self._prepared = True
            return Leg(run, variant, work, lost)

        return leg

    def _slipping(self, mechanism: Mechanism, begin: Start) -> float:
        """A time up to which joints slide in several directions if their sliding velocities decrease as at first. The
        initial values of a method must not use the motion beyond the instant of rest, where friction turns round."""
        if not self._in_force.quickest:
            return np.inf
        velocities = sliding_velocities(mechanism, begin.state)
        accelerations = sliding_velocities(mechanism, replace(begin.state, w=begin.wdot))
        times = [np.inf]
        for name in self._in_force.quickest:
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
        return self._watched._start_from(s.state, s.work, s.lost)

    def __call__(self, t: float) -> Sight:
        """The measures at `t`."""
        for part in SHORTER:
            leg = self._leg(part)
            try:
                leg.run.beside_impacts()
                look = self._watched._looks.at(leg, leg.run.to(t)._replace(t=t))
            except ConvergenceError:
                if part == SHORTER[-1] or not self._watched._may_shorten():
                    raise
            else:
                break
        self.tried[t] = leg, look
        return self._watched._arming.sight(look)


def _friction_events(mechanism: Mechanism) -> list[Event]:
    """Two events for each joint with friction: it comes to rest, and it begins to slide."""

    def unseen(result: Result) -> np.ndarray:
        raise AssertionError("the effort that holds a joint is not a measure of a result")

    made = []
    for f in mechanism.exact_frictions:
        made += [Event(f.stuck, unseen, Stick(f.name)), Event(f"{f.name} slides", unseen, Slide(f.name))]
    return made

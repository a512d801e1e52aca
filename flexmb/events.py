"""Events: what happens when a measure of the motion passes zero. Joints lock, are released, hit stops; the simulation restarts or ends."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from fem.errors import FlexmbError
from flexmb.held import Hold, held_row, with_holds
from flexmb.initial import Start, quiet_start
from flexmb.integrators.equations import Equations, initial_angles
from flexmb.integrators.integrator import Integrator
from flexmb.integrators.method import Method
from flexmb.integrators.snapshot import Snapshot
from flexmb.kernels.data import ANGLE
from flexmb.measure import Measure
from flexmb.mechanism import Mechanism, State
from flexmb.motion import Motion
from flexmb.result import Happening, Statistics, result_of_states

FIRST_LOOKS = 8
"""Halvings of the time after an event before the first look whether another one follows it."""
ROUND = 1e-14
"""Of the end of the simulation: how well instants are found."""
TOUCHING = 1e-9
"""Distance from a stop at the start, relative to the mechanism's length, or angle, that counts as contact."""
MOST = 10_000
"""Events in one simulation."""


class EventError(FlexmbError, ValueError):
    """An event cannot be watched or carried out."""


@dataclass(frozen=True)
class Lock:
    """The free motion of a joint is held from then on: the speed that it had is lost in a plastic impact."""

    joint: str
    along: str | None = None


@dataclass(frozen=True)
class Release:
    """A joint, or what the event of that name locked, is let go."""

    joint: str


@dataclass(frozen=True)
class Bounce:
    """The free motion of a joint is thrown back with a part `restitution` of its speed; below `rest` times the speed of the first impact it stays in contact until it is pulled away.
    `upper`: the stop ends the motion upwards."""

    joint: str
    upper: bool
    restitution: float = 0.0
    rest: float = 1e-3
    along: str | None = None


@dataclass(frozen=True)
class End:
    """The simulation ends."""


Action = Lock | Release | Bounce | End | None


@dataclass(frozen=True, eq=False)
class Event:
    """When the measure `when` rises through zero, `do` happens; with None the integration only restarts, as at a switch in a force law.

    `when` takes a result and gives one number for each time, of that time alone (see `flexmb.measure`); angles of joints count from minus to plus half a turn.
    """

    name: str
    when: Measure
    do: Action = None


def stop(name: str, joint: str, limit: float, *, upper: bool = True, restitution: float = 0.0, along: str | None = None) -> Event:  # fmt: skip
    """A stop at a value of a joint's free motion, from below (`upper`) or from above; angles within half a turn."""
    if not 0 <= restitution <= 1:
        raise EventError(f"Stop {name!r}: restitution is between 0 (plastic) and 1 (elastic); found {restitution}.")
    sign = 1.0 if upper else -1.0
    return Event(name, lambda result: sign * (result.coordinate(joint, along) - limit), Bounce(joint, upper, restitution, along=along))  # fmt: skip


class Watched:
    """An integration that looks for events at every time it is asked for, finds their instants to round-off, and goes on from there with second-order start values.

    An impact changes velocities at once; the generalised momenta that the joints leave free are kept (least change of kinetic energy), and the kinetic energy that is lost is entered.
    """

    def __init__(
        self, mechanism: Mechanism, begin: Start, events: Sequence[Event], method: Method, end: float, longest: float
    ) -> None:
        self._base, self._events, self._method = mechanism, tuple(events), method
        self._end, self._longest = end, longest
        _require_names(mechanism, self._events)
        self._held = {e.name: _Told() for e in self._events if isinstance(e.do, Lock | Bounce)}
        self.mechanism = with_holds(mechanism, [self._hold(name, told.motion()) for name, told in self._held.items()])
        self._values: dict[str, float] = {}  # of what is held now
        self._pressing: dict[str, float] = {}  # contacts that last, and their side
        self._released: set[str] = set()
        self._fastest: dict[str, float] = {}  # impact of each stop
        self._shift = np.zeros(len(mechanism.rows) - mechanism.joint_rows)
        self.happened: list[Happening] = []
        self.ended, self._lost, self._work = False, 0.0, np.zeros(4)
        self._statistics: list[Statistics] = []
        self._prepared = False
        self._run, self._variant = method.run(mechanism, begin, end, longest), mechanism
        self._looked(self._run.now())
        self._touch()

    # what an integrator gives ----------------------------------------------------------------------------------------

    @property
    def equations(self) -> Equations:
        """Of the mechanism as it is now."""
        return self._run.equations

    def now(self) -> Snapshot:
        """The motion where it is."""
        return self._wide(self._run.now())

    def prepare(self) -> None:
        """Compile what needs it, and start; what began in contact has started."""
        if not self._prepared:
            self._run.prepare()

    def to(self, target: float) -> Snapshot:
        """To a later time, through the events on the way."""
        while not self.ended and self._at.t < target - ROUND * self._end:
            for look in self._looks(target):
                snapshot = self._run.to(look)
                crossed = self._crossed(snapshot)
                if crossed:
                    self._meet(crossed, look)
                    break
                self._looked(snapshot)
        return self._at

    def statistics(self, cpu: float) -> Statistics:
        """Of all its integrations."""
        parts = [p for p in (*self._statistics, self._run.statistics(0.0)) if p.steps]
        sizes = [size for p in parts for size in (p.smallest_step, p.largest_step)]
        steps, rejected, iterations = (sum(getattr(p, n) for p in parts) for n in ("steps", "rejected", "iterations"))
        return Statistics(steps, rejected, iterations, cpu, min(sizes, default=0.0), max(sizes, default=0.0))

    def _touch(self) -> None:
        """Before the first step: stops at which the motion starts."""
        length = self._base.length
        for event in self._events:
            value = self._before.get(event.name, -np.inf)
            if not isinstance(event.do, Bounce) or value < -TOUCHING * length or event.name in self._values:
                continue
            if value > TOUCHING * length:
                raise EventError(
                    f"{self._base.name!r} starts beyond the stop {event.name!r} by {value:.3g}. Move its start, or the stop."
                )
            self._happen(event, self._run.now())
            if event.name not in self._values and not self.happened[-1].lost:
                self.happened.pop()  # it leaves by itself

    # looking ---------------------------------------------------------------------------------------------------------

    def _looks(self, target: float) -> list[float]:
        """Times at which to look; several after an event, because another may follow it at once."""
        t = self._at.t
        halvings = FIRST_LOOKS if self.happened and self.happened[-1].t == t else 0
        return [t + (target - t) * 0.5**k for k in range(halvings, -1, -1)]

    def _wide(self, s: Snapshot) -> Snapshot:
        """With places for the reactions of everything that can be held, and the works of all integrations."""
        multipliers = np.zeros(self.mechanism.joint_rows)
        multipliers[[r for j in self._variant.joints for r in self.mechanism.joint(j.name).rows]] = s.multipliers
        return s._replace(multipliers=multipliers, work=self._work + s.work, lost=self._lost)

    def _measures(self, s: Snapshot) -> dict[str, float]:
        """Of all events that can happen, and the pull of contacts that last."""
        wide, values = self._wide(s), {}
        states = (x[None] for x in (wide.q, wide.w, wide.wdot, wide.multipliers))
        seen = result_of_states(self.mechanism, np.array([s.t]), *states)
        for event in self._events:
            if event.name in self._pressing:
                row = self.mechanism.joint(event.name).rows[0]
                values[event.name] = -self._pressing[event.name] * float(wide.multipliers[row])
            elif event.name not in self._values and not self._spent(event):
                value = np.asarray(event.when(seen), dtype=float)
                if value.shape != (1,) or not np.isfinite(value).all():
                    raise EventError(
                        f"Event {event.name!r}: its measure must be one finite number for each time of a result; found {value!r} at t = {s.t:.6g}."
                    )
                values[event.name] = float(value[0])
        return values

    def _spent(self, event: Event) -> bool:
        """Whether there is nothing left to release."""
        if not isinstance(event.do, Release):
            return False
        return event.do.joint in self._released or (event.do.joint in self._held and event.do.joint not in self._values)

    def _looked(self, s: Snapshot) -> None:
        """Nothing happened up to here."""
        wide = self._wide(s)
        self._at = wide._replace(q=wide.q.copy(), w=wide.w.copy(), wdot=wide.wdot.copy())
        self._before = self._measures(s)
        self._angles = self._angles_now()

    def _crossed(self, s: Snapshot) -> list[str]:
        return [name for name, value in self._measures(s).items() if value >= 0 > self._before.get(name, 0.0)]

    def _meet(self, crossed: list[str], look: float) -> None:
        """Find the first of the events between the last look and this one, and let it happen."""
        begin, before, angles = self._at, dict(self._before), self._angles
        state = State(begin.t, begin.q, begin.w)
        self._statistics.append(self._run.statistics(0.0))
        self._work = begin.work

        def reached(t: float) -> Snapshot:
            self._run, self._variant = self._integration(state, angles)
            return self._run.to(t)

        def measure(t: float, name: str) -> float:
            return before[name] if t == begin.t else self._measures(reached(t))[name]

        instants = {
            name: brentq(measure, begin.t, look, args=(name,), xtol=ROUND * self._end, rtol=1e-14) for name in crossed
        }
        name = min(instants, key=lambda n: instants[n])
        snapshot = reached(max(instants[name], begin.t + ROUND * self._end))
        self._angles = self._angles_now()
        self._happen(next(e for e in self._events if e.name == name), snapshot)

    # happening -------------------------------------------------------------------------------------------------------

    def _happen(self, event: Event, s: Snapshot) -> None:
        state, kinetic = State(s.t, s.q.copy(), s.w.copy()), float(s.energies[0])
        self._work = self._work + s.work
        self._statistics.append(self._run.statistics(0.0))
        lost = 0.0
        if event.name in self._pressing:
            del self._pressing[event.name], self._values[event.name]
        elif isinstance(event.do, Lock | Bounce):
            state, lost = self._impact(event.name, event.do, state, kinetic)
        elif isinstance(event.do, Release):
            if event.do.joint in self._held:
                self._values.pop(event.do.joint, None)
                self._pressing.pop(event.do.joint, None)
            else:
                self._released.add(event.do.joint)
        elif isinstance(event.do, End):
            self.ended = True
        self._lost += lost
        self.happened.append(Happening(s.t, event.name, lost))
        if len(self.happened) > MOST:
            raise EventError(
                f"More than {MOST} events happened until t = {s.t:.6g}, the last of them {event.name!r}. Give a stop less restitution, or a larger rest speed."
            )
        self._run, self._variant = self._integration(state, self._angles)
        self._let_go_what_pulls(event.name, state)
        self._looked(self._run.now())

    def _let_go_what_pulls(self, name: str, state: State) -> None:
        """A contact that would have to pull from the beginning does not last."""
        if name in self._pressing and self._measures(self._run.now())[name] > 0:
            del self._pressing[name], self._values[name]
            self._run, self._variant = self._integration(state, self._angles)

    def _impact(self, name: str, do: Lock | Bounce, state: State, kinetic: float) -> tuple[State, float]:
        """The state after an impact, and the kinetic energy lost in it; takes note of what is held from now on."""
        place = self._run.now()
        seen = result_of_states(self._variant, np.array([state.t]), state.q[None], state.w[None], state.w[None], place.multipliers[None])  # fmt: skip
        value = float(seen.coordinate(do.joint, do.along)[0])
        self._values[name] = value
        held = self._mechanism_now()
        e = Equations(held, state.q)
        functions, none = held.function_values(state.t), np.zeros_like(state.w)
        e.residual(functions, state.q, none, none, np.zeros(held.joint_rows))
        broken = e.broken_rates(functions, state.w)
        row = held.joint(name).rows[0]
        speed = float(broken[row])
        if isinstance(do, Bounce) and speed * (1 if do.upper else -1) < 0:  # leaves by itself
            del self._values[name]
            return state, 0.0
        wanted = -broken
        if isinstance(do, Bounce):
            fastest = self._fastest.setdefault(name, abs(speed))
            if do.restitution > 0 and abs(speed) > do.rest * fastest:
                wanted[row] = -(1 + do.restitution) * speed
                del self._values[name]
            else:
                self._pressing[name] = 1.0 if do.upper else -1.0
        if name in self._values:
            self._held[name].note(state.t, value)
        w = state.w + e.least_change(wanted)
        return replace(state, w=w), kinetic - 0.5 * float(w @ (e.mass() @ w))

    # the mechanism as it is now --------------------------------------------------------------------------------------

    def _hold(self, name: str, value: float | Motion) -> Hold:
        do = next(e.do for e in self._events if e.name == name)
        assert isinstance(do, Lock | Bounce)
        return Hold(name, do.joint, value, do.along)

    def _mechanism_now(self) -> Mechanism:
        holds = [self._hold(name, self._values[name]) for name in self._held if name in self._values]
        return with_holds(self._base, holds, without=self._released)

    def _integration(self, state: State, angles: np.ndarray) -> tuple[Integrator, Mechanism]:
        """A new integration from a state, with the joints as they are; torsion springs stay wound up to their `angles`."""
        variant = replace(self._mechanism_now(), initial=state)
        if any(row.kind == ANGLE for row in variant.rows):
            nj = variant.joint_rows
            within = initial_angles(variant, variant.flat(), state.q)[nj:]
            turning = np.array([row.kind == ANGLE for row in variant.rows[nj:]])
            self._shift = np.where(turning, 2 * np.pi * np.round((angles - within) / (2 * np.pi)), 0.0)
            forces = [replace(row, offset=row.offset - turn) for row, turn in zip(variant.rows[nj:], self._shift, strict=True)]  # fmt: skip
            variant = replace(variant, rows=(*variant.rows[:nj], *forces))
        run = self._method.run(variant, quiet_start(variant), self._end, self._longest)
        run.prepare()
        self._prepared = True
        return run, variant

    def _angles_now(self) -> np.ndarray:
        """Of the force elements, turns counted."""
        return np.asarray(self._run.equations.angles[self._variant.joint_rows :] + self._shift)


class _Told:
    """The value at which something was held, over time: what files and reactions need."""

    def __init__(self) -> None:
        self._times, self._values = [-np.inf], [0.0]

    def note(self, t: float, value: float) -> None:
        """Held from now on."""
        self._times.append(t)
        self._values.append(value)

    def motion(self) -> Motion:
        """As a function of time."""

        def value(t: np.ndarray) -> np.ndarray:
            return np.asarray(self._values)[np.searchsorted(self._times, t, side="right") - 1]

        return Motion(value, np.zeros_like, np.zeros_like, "held")


def _require_names(mechanism: Mechanism, events: Sequence[Event]) -> None:
    names = [e.name for e in events]
    taken = {*names} & {*(j.name for j in mechanism.joints), *mechanism.force_elements}
    taken |= {n for n in names if names.count(n) > 1}
    if taken:
        raise EventError(f"Events need names of their own; these are taken: {sorted(taken)}.")
    for event in events:
        if isinstance(event.do, Lock | Bounce):
            held_row(mechanism, event.do.joint, event.do.along)
        elif isinstance(event.do, Release) and event.do.joint not in names:
            mechanism.joint(event.do.joint)

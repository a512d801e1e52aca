"""What events have changed so far: locked coordinates, contacts that last, joints released, joints that slide or stick.

The mechanism never changes: each change is another variant of it, with rows for what is held.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.snapshot import Snapshot
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import joint_dof
from flexmb.mechanism.locking import EVENT, SPINS, LockedJoint, with_locked_joints, with_sliding
from flexmb.mechanism.mechanism import JointFriction, Mechanism
from flexmb.mechanism.state import State, Topology
from flexmb.mechanism.time_functions import TimeFunction
from flexmb.results.elements.motion import row_motion
from flexmb.results.result import Result, result_of_states
from flexmb.simulation.events import Event, Lock, Release, Slide, Stick, StopImpact
from flexmb.simulation.friction import Freedom, locked_coordinates, usual_rate

MOVING = 1e-9
"""Rate of a driven joint, relative to the characteristic rate of the mechanism, above which its friction acts."""
TOUCHING = 1e-9
"""Distance at which a contact touches, relative to the length of the mechanism for displacements, in radians for
rotations."""


def touching_distance(mechanism: Mechanism, do: StopImpact) -> float:
    """The distance at which a stop touches."""
    dof = joint_dof(do.joint, mechanism.joint(do.joint).kind, do.dof)
    return TOUCHING * (mechanism.length if dof == "translation" else 1.0)


class InForce:
    """What events have changed so far, and the variants of the mechanism with it.

    - `base`: the mechanism without events; `mechanism`: the one with rows for all that events may hold.
    - `events`: all events; `stops`: the stops among them; `frictions`: the exact frictions of joints.
    - `held`: values of locked coordinates, of contacts that last and of joints that stick; `released`: joints, locks
      and stops that act no more.
    - `strongest`: the largest force of each contact; `fastest`: the fastest impact on each stop.
    - `sliding`: the signs of the rates of joints with friction; `freedoms`: of these joints; `quickest`: the largest
      velocities of those that slide in several directions, since they began.
    """

    def __init__(self, base: Mechanism, events: Sequence[Event]) -> None:
        self.base, self.events = base, tuple(events)
        self.frictions = {f.name: f for f in base.exact_frictions}
        self.stops = {e.name: e.do for e in self.events if isinstance(e.do, StopImpact)}
        self._sticks = {name: f for f in self.frictions.values() for name in f.locks}
        locks = [e.name for e in self.events if isinstance(e.do, Lock | StopImpact)]
        self._history = {name: _Values() for name in (*locks, *self._sticks)}
        locked = [self._locked_joint(name, values.motion()) for name, values in self._history.items()]
        self.mechanism = with_locked_joints(base, locked, kind=EVENT)
        self.held: dict[str, float] = {}
        self.released: set[str] = set()
        self.strongest: dict[str, float] = {}
        self.fastest: dict[str, float] = {}
        self.sliding: dict[str, float] = {}
        self.freedoms: dict[str, Freedom] = {}
        self.quickest: dict[str, float] = {}
        self._evaluated: Equations | None = None  # of the mechanism of the last evaluation

    # what is in force ------------------------------------------------------------------------------------------------

    @property
    def topology(self) -> Topology:
        """What is in force, for a state."""
        return Topology(dict(self.held), frozenset(self.released), dict(self.fastest), dict(self.sliding))

    def take_over(self, state: State) -> None:
        """Adopt the changes by events up to a state."""
        topology = state.topology
        self.held, self.released = dict(topology.locked), set(topology.released)
        self.fastest, self.sliding = dict(topology.fastest), dict(topology.sliding)
        for name, value in topology.locked.items():
            self._history[name].note(state.t, value)

    def hold(self, name: str, value: float, t: float) -> None:
        """Hold a coordinate from a time on."""
        self.held[name] = value
        self._history[name].note(t, value)

    def release(self, name: str) -> None:
        """Remove a joint with its locks and stops, or a single lock or stop."""
        gone = (
            [name] if name in self._history else [n for n in self._history if self._locked_joint(n, 0.0).joint == name]
        )
        for held in gone:
            self.held.pop(held, None)
        if name not in self._history:
            self.released |= {name, *gone}
        elif name in self.stops:
            self.released.add(name)

    def loosen(self, stopping: Sequence[str] = ()) -> list[str]:
        """Hold the joints no more that stick; returns their frictions and those that are `stopping`."""
        resting = [f.name for f in self.frictions.values() if self.is_stuck(f) or f.name in stopping]
        for name in resting:
            for lock in self.frictions[name].locks:
                self.held.pop(lock, None)
        return resting

    def is_stuck(self, friction: JointFriction) -> bool:
        """Whether a joint with friction sticks."""
        return any(name in self.held for name in friction.locks)

    @property
    def some_stick(self) -> bool:
        """Whether any joint with friction sticks."""
        return any(self.is_stuck(f) for f in self.frictions.values())

    @property
    def others(self) -> dict[str, float]:
        """What is held, without the joints that stick."""
        return {name: value for name, value in self.held.items() if name not in self._sticks}

    @property
    def driven(self) -> list[str]:
        """The frictions of joints that joints and drivers lead in some of their directions."""
        return [n for n, freedom in self.freedoms.items() if len(freedom.locks) < len(self.frictions[n].locks)]

    def is_idle(self, event: Event) -> bool:
        """Whether an event is impossible: it is in force already, its stop has been released, or there is nothing to
        release."""
        if isinstance(event.do, Stick | Slide):
            friction = self.frictions[event.do.friction]
            sliding = bool(self.sliding.get(friction.name))
            return friction.joint in self.released or sliding == isinstance(event.do, Slide)
        if isinstance(event.do, Release):
            name = event.do.joint
            return name in self.released or (name in self._history and name not in self.stops and name not in self.held)
        return event.name in self.held or event.name in self.released

    # scales ----------------------------------------------------------------------------------------------------------

    def reach(self, stop: str) -> float:
        """The distance at which a stop touches."""
        return touching_distance(self.base, self.stops[stop])

    def unnoticed(self, friction: JointFriction) -> float:
        """A sliding rate that is not noticed."""
        return MOVING * usual_rate(compiled(self.mechanism), friction)

    def sign(self, name: str) -> float:
        """The sign of the motion that a stop limits; 1 for a lock."""
        return -1.0 if name in self.stops and not self.stops[name].upper else 1.0

    # variants of the mechanism, and their states ---------------------------------------------------------------------

    def variant(self, held: Mapping[str, float] | None = None) -> Mechanism:
        """The mechanism without what is released, with the coordinates that are `held` (all that are in force if it is
        not given) and with the friction of joints that slide."""
        held = self.held if held is None else held
        locked = [self._locked_joint(name, held[name]) for name in self._history if name in held]
        kept = with_locked_joints(self.base, locked, without=self.released - {*self._history})
        return with_sliding(kept, self.sliding)

    def state_in(self, mechanism: Mechanism, s: State | Snapshot) -> State:
        """The state with the angles of a variant of the mechanism."""
        state = s if isinstance(s, State) else s.state
        return replace(state, angles=mechanism.angles_of(self.mechanism, s.angles), topology=Topology())

    def equations_of(self, mechanism: Mechanism, state: State) -> Equations:
        """Equations of a variant for evaluations; those of the last one are kept."""
        if self._evaluated is None or self._evaluated.mechanism is not mechanism:
            self._evaluated = Equations(mechanism, state.q, state.angles, state.element_states)
        return self._evaluated

    # values of coordinates -------------------------------------------------------------------------------------------

    def seen(self, state: State) -> Result:
        """A state of all bodies as a result, for measures."""
        none = np.zeros((1, self.mechanism.joint_rows))
        q, w = state.q[None], state.w[None]
        return result_of_states(self.mechanism, np.array([state.t]), q, w, w, none, angles=state.angles[None])

    def value(self, seen: Result, name: str) -> float:
        """The coordinate that an event locks."""
        do = self._do(name)
        return float(seen.coordinate(do.joint, do.dof)[0])

    def coordinate(self, seen: Result, friction: JointFriction, lock: str) -> float:
        """The coordinate that a lock of a joint with friction holds."""
        dof = friction.locks[lock]
        if dof not in SPINS:
            return float(seen.coordinate(friction.joint, dof)[0])
        row = self.mechanism.rows[self.mechanism.force_elements[friction.name][SPINS.index(dof)]]
        return float(row_motion(seen, row).stretch[0])

    def _do(self, name: str) -> Lock | StopImpact:
        do = next(e.do for e in self.events if e.name == name)
        assert isinstance(do, Lock | StopImpact)
        return do

    def _locked_joint(self, name: str, value: float | TimeFunction) -> LockedJoint:
        """The equation of a lock, a lasting contact or a joint that sticks."""
        if name in self._sticks:
            return locked_coordinates(self._sticks[name], {name: value})[0]
        do = self._do(name)
        return LockedJoint(name, do.joint, value, joint_dof(do.joint, self.base.joint(do.joint).kind, do.dof))


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

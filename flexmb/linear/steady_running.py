"""Steady running: joint rates and the states of force elements are constant, as of a vehicle on a circle.

The rates of the coordinates of joints (and, in its own axes, of a body without a joint) are constant, and only
coordinates change that have no effect: place and heading, angles of wheels, angles of drivers. Newton's method changes
configuration, velocities and states as little as possible, with a tangent by differences. A family of steady motions,
over the speed for instance, thus gives its nearest member.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fem.shown import shown
from flexmb.equations.evaluation import Equations, angles_near
from flexmb.equations.initial_conditions import accelerations, consistent_state
from flexmb.equations.state_tangent import state_tangent
from flexmb.equations.stationary import state_names
from flexmb.equations.tangent import DEPENDENT
from flexmb.errors import EquilibriumError, FlexmbError, LawError
from flexmb.linear.independent import Independent
from flexmb.linear.joint_motions import joint_names
from flexmb.linear.velocity_freedom import velocity_freedom
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.features import SMOOTH, refuse
from flexmb.mechanism.mechanism import Mechanism, require_state
from flexmb.mechanism.scales import rate_at
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.results.result import Result, result_of_states

ITERATIONS = 30
SHIFTS = (2e-3, 2e-4, 2e-5, 2e-6)
"""Difference steps of fourth order, relative to the length of the mechanism, an angle of one, the scale of a state, or
the speed; the first one at which no law fails is taken."""
HALVINGS = 12
"""Largest number of lengths that are tried for a step at whose end a law fails."""
SETTLED, BALANCED = 1e-8, 1e-10
"""Largest last step, and largest relative accelerations and rates, of a steady motion."""
LARGEST = 0.2
"""Largest step of an iteration, relative to the length, an angle of one, the speed, or the scale of a state."""
EFFECT = 1e-7
"""Relative effect of a coordinate that may change steadily."""
CUT = 1e-7
"""Relative singular value below which a change leads to another steady motion."""
LATER, STILL = 0.02, 1e-4
"""Displacement (relative, or radians) after which the motion must still be steady, and the accuracy of that test."""


@shown
@dataclass(frozen=True, eq=False)
class SteadyRunning:
    """A steady motion with constant joint rates and constant states of force elements.

    - `state`, accelerations `wdot` (nv,) and `multipliers` (nj,): at the time of the initial state.
    - `iterations`: those of Newton's method.
    """

    mechanism: Mechanism
    state: State
    wdot: np.ndarray
    multipliers: np.ndarray
    iterations: int

    @property
    def result(self) -> Result:
        """A result with one time, for positions, velocities, reactions, forces and pictures."""
        s = self.state
        return result_of_states(
            self.mechanism,
            np.array([s.t]),
            s.q[None],
            s.w[None],
            self.wdot[None],
            self.multipliers[None],
            angles=s.angles[None],
            element_states=s.element_states[None],
        )

    def __str__(self) -> str:
        return f"{self.mechanism.name!r} runs steadily; {self.iterations} iterations"


def steady_running(system: System | Mechanism, state: State | None = None) -> SteadyRunning:
    """The steady motion with constant joint rates that is nearest to `state`, by default the initial state.

    Examples are a vehicle or a bicycle in straight running and in a corner, and a rolling disc on its circle. Speeds
    and angles that are to have given values are best driven. `linearise` accepts the result; `steady_motion` is for
    bodies of constant velocity. A motion that settles can be followed first: `steady_running(car, result.state(-1))`.
    Cost: some hundred evaluations of the accelerations.

    Raises `EquilibriumError` when there is no such motion near the state, when a law fails on the way to it, or when it
    does not remain steady, as with drivers that accelerate or a mechanism that changes its shape.
    """
    mechanism = system.build() if isinstance(system, System) else system
    refuse(mechanism, "Steady running", includes=SMOOTH)
    start = mechanism
    if state is not None:
        require_state(mechanism, state)
        start = replace(mechanism, initial=state, start_rows=())
    begin = replace(consistent_state(start).state, element_states=start.initial_states)
    try:
        return _searched(mechanism, begin)
    except LawError as error:
        starts = zip(mechanism.bodies, compiled(mechanism).q_start, strict=False)
        places = "; ".join(f"{body.name!r} at {np.round(begin.q[s : s + 3], 12).tolist()}" for body, s in starts)
        raise EquilibriumError(
            f"The search for steady running of {mechanism.name!r} leaves the places at which its laws have values. "
            f"{error} It began at t = {begin.t:.6g} with {places}. Begin nearer to steady running, from a motion that "
            "settles: steady_running(system, result.state(-1)) after a simulation."
        ) from error


def _searched(mechanism: Mechanism, state: State) -> SteadyRunning:
    """The steady motion nearest to a consistent state. Raises `LawError` where a law fails on the way."""
    worst, began = "", _Search(mechanism, state).speed
    for iteration in range(1, ITERATIONS + 1):
        search = _Search(mechanism, state)
        if not search.allowed:
            raise search.failure
        change, size, worst = search.newton()
        if size < SETTLED and search.largest < BALANCED:
            nearer = _Search(mechanism, search.moved(change))
            search = nearer if nearer.largest < search.largest else search
            if began > 0 and search.speed < SETTLED * began:
                raise EquilibriumError(
                    f"{mechanism.name!r} has no steady running near its initial state but rest, since nothing keeps up "
                    "its speed. Drive what is to be given, such as the speed of a joint, or an axle by its torque."
                )
            search.require_lasting()
            return SteadyRunning(mechanism, search.state, search.wdot, search.multipliers, iteration)
        state = search.moved_within(change * min(1.0, LARGEST / max(size, LARGEST)))
    raise EquilibriumError(
        f"{mechanism.name!r} found no steady running in {ITERATIONS} iterations near its initial state; {worst} "
        "changes most. Start nearer to it, with speeds and angles that fit together or from a motion that settles, "
        "steady_running(system, result.state(-1)), or drive those that are known."
    )


@dataclass(frozen=True, eq=False)
class _Search:
    """One iteration at a consistent state.

    Changes (nf + nu + nz,) are displacements, independent velocities and states, relative to their scales.
    """

    mechanism: Mechanism
    state: State

    @cached_property
    def _accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        return accelerations(self.mechanism, self.state, self.mechanism.function_values(self.state.t))

    @property
    def wdot(self) -> np.ndarray:
        return self._accelerations[0]

    @property
    def multipliers(self) -> np.ndarray:
        return self._accelerations[1]

    @property
    def speed(self) -> float:
        """The largest velocity, relative to the length of the mechanism, or angular velocity."""
        return float((np.abs(self.state.w) * compiled(self.mechanism).weight).max(initial=0.0))

    @property
    def allowed(self) -> bool:
        """Whether no law fails at the state."""
        return bool(np.isfinite(self.wdot).all())

    @property
    def failure(self) -> FlexmbError:
        """The error to raise where a law fails at the state, or near it."""
        found = [law.failure for law in self.mechanism.calls if law.failure is not None]
        return found[0] if found else EquilibriumError(f"The accelerations of {self.mechanism.name!r} are not finite.")

    @cached_property
    def _rate(self) -> float:
        return rate_at(compiled(self.mechanism), self.state.w, 0 * self.state.w)

    @cached_property
    def _independent(self) -> Independent:
        return Independent(self.mechanism, self.state, self.wdot)

    @cached_property
    def _sizes(self) -> np.ndarray:
        """Displacements (nf,), relative to the length or angles, of units of the independent coordinates."""
        sizes = (np.abs(self._independent.motions[0]) * compiled(self.mechanism).weight[:, None]).max(axis=0, initial=0)
        return np.where(sizes > 0, sizes, 1.0)

    @cached_property
    def _motions(self) -> tuple[np.ndarray, np.ndarray]:
        """Displacements (nv, nf) and velocities (nv, nu) in units of their scales."""
        flat, T = compiled(self.mechanism), self._independent.motions
        fast = T[0] @ velocity_freedom(self._independent, T, T[0].shape[1]).V
        sizes = (np.abs(fast) * flat.weight[:, None]).max(axis=0, initial=0.0)
        return T[0] / self._sizes, self._rate * fast / np.maximum(sizes, np.finfo(float).tiny)

    @cached_property
    def _scale(self) -> np.ndarray:
        """Scales (nz,) of the states."""
        m, s = self.mechanism, self.state
        if not len(s.element_states):
            return np.zeros(0)
        e = Equations(m, s.q, s.angles, s.element_states)
        return state_tangent(e, m.function_values(s.t), s.q, s.w, self.wdot, self.multipliers)[2]

    @cached_property
    def _residual(self) -> np.ndarray:
        return self._unsteady(self.state, self.wdot)

    @property
    def largest(self) -> float:
        """The largest relative acceleration of a joint, or rate of a state."""
        return float(np.abs(self._residual).max(initial=0.0))

    def _unsteady(self, state: State, wdot: np.ndarray) -> np.ndarray:
        """Relative accelerations (ny,) of the coordinates of joints, and rates (nz,) of the states."""
        m = self.mechanism
        own = Independent(m, state, wdot)
        second = own.joint_rates[1] * own.joint_weight / self._rate**2
        if not len(state.element_states):
            return np.asarray(second)
        e = Equations(m, state.q, state.angles, state.element_states)
        e.residual(m.function_values(state.t), state.q, state.w, wdot, self.multipliers)
        return np.concatenate([second, e.workspace.state_rates / (self._scale * self._rate)])

    def moved(self, change: np.ndarray) -> State:
        """The consistent state after a change."""
        m, s = self.mechanism, self.state
        first, fast = self._motions
        nf, nu = first.shape[1], fast.shape[1]
        e = Equations(m, s.q, s.angles, s.element_states)
        q = e.displaced(s.q, first @ change[:nf])
        w = s.w + fast @ change[nf : nf + nu]
        rates = np.linalg.lstsq(self._independent.of_joints(s.q), w, rcond=None)[0]
        none = np.zeros(m.joint_rows)
        q, w = e.project(s.t, q, self._independent.of_joints(q) @ rates, 0 * w, none)
        states = s.element_states + change[nf + nu :] * self._scale
        return State(s.t, q, w, angles_near(m, q, s.angles), s.topology, states)

    def moved_within(self, change: np.ndarray) -> State:
        """The state after a change, or after the largest half, quarter, and so on of it at which no law fails."""
        for halvings in range(HALVINGS):
            state = self.moved(0.5**halvings * change)
            if _Search(self.mechanism, state).allowed:
                break
        return state

    def newton(self) -> tuple[np.ndarray, float, str]:
        """The change of least size that makes the motion steady to first order, its size, and what changes most."""
        first, fast = self._motions
        nf, count = first.shape[1], first.shape[1] + fast.shape[1] + len(self._scale)
        J = np.column_stack([np.zeros((len(self._residual), 0)), *(self._slope(k, count) for k in range(count))])
        steady = self._steady_directions(J[:, :nf])
        onto = np.eye(nf) - steady @ steady.T
        weight = self._independent.joint_weight
        drawn = self._independent.in_joints / self._sizes * weight[:, None]
        seen = onto @ np.linalg.pinv(drawn) * weight / self._rate  # rates of displacements, from those of joints
        spun = np.linalg.lstsq(self._independent.of_joints(self.state.q), fast, rcond=None)[0]
        below = np.zeros((nf, count))
        below[:, nf : nf + fast.shape[1]] = seen @ spun
        A = np.vstack([J, below])
        A[:, :nf] = A[:, :nf] @ onto
        wrong = np.concatenate([self._residual, seen @ self._independent.joint_rates[0]])
        change = np.linalg.lstsq(A, -wrong, rcond=CUT)[0]
        return change, float(np.abs(change).max(initial=0.0)), self._name(int(np.abs(wrong).argmax()))

    def _slope(self, k: int, count: int) -> np.ndarray:
        """The derivative of the residual with respect to change number `k`.

        The differences are as small as the range of all laws asks for. Raises `LawError` where one fails beside the
        state.
        """
        for shift in SHIFTS:
            unit = np.zeros(count)
            unit[k] = shift
            near = [_Search(self.mechanism, self.moved(offset * unit)) for offset in (1, -1, 2, -2)]
            if all(search.allowed for search in near):
                ends = np.array([self._unsteady(search.state, search.wdot) for search in near])
                return np.asarray(np.array([8.0, -8.0, -1.0, 1.0]) @ ends / (12 * shift))
        raise self.failure

    def _steady_directions(self, J: np.ndarray) -> np.ndarray:
        """Orthonormal displacements (nf, n), in units of their scales, that have no effect: first those that are likely
        to have none, which are known to rounding."""
        if not J.shape[1]:
            return np.zeros((0, 0))
        nothing = EFFECT * max(1.0, float(np.linalg.norm(J, 2)))
        likely = self._independent.likely_symmetries * self._sizes[:, None]
        likely /= np.linalg.norm(likely, axis=0)
        left, s, _ = np.linalg.svd(likely[:, np.linalg.norm(J @ likely, axis=0) <= nothing])
        rank = int((s > DEPENDENT * s.max(initial=0.0)).sum())
        known, rest = left[:, :rank], left[:, rank:]
        _, s, right = np.linalg.svd(J @ rest)
        sizes = np.concatenate([s, np.zeros(rest.shape[1])])[: rest.shape[1]]
        return np.hstack([known, rest @ right[sizes <= nothing].T])

    def _name(self, k: int) -> str:
        names = [repr(name) for name in joint_names(self.mechanism)]
        states = [f"{state!r} of {element!r}" for element, state in state_names(self.mechanism)]
        return ([*names, *states] + ["the shape"] * (k + 1))[k]

    def require_lasting(self) -> None:
        """Raise `EquilibriumError` unless the motion is still steady a little later."""
        m, s = self.mechanism, self.state
        if self.speed == 0:
            return
        dt = LATER / self.speed
        ends = []
        for t in (dt, -dt):
            e = Equations(m, s.q, s.angles, s.element_states)
            q = e.displaced(s.q, t * s.w + 0.5 * t**2 * self.wdot)
            q, w = e.project(s.t + t, q, s.w + t * self.wdot, self.wdot, self.multipliers)
            later = State(s.t + t, q, w, angles_near(m, q, s.angles), s.topology, s.element_states)
            ends.append(self._unsteady(later, accelerations(m, later, m.function_values(later.t))[0]))
        found = 0.5 * (ends[0] - ends[1])
        if np.abs(found).max(initial=0.0) > STILL:
            k = int(np.abs(found).argmax())
            raise EquilibriumError(
                f"{m.name!r} does not run steadily: {dt:.3g} later {self._name(k)} changes by {abs(found[k]):.2g}, "
                "relative to its scale and the rate of the mechanism. Steady running needs drivers of constant speed, "
                "and a mechanism that keeps its shape."
            )

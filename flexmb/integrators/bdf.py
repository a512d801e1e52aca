"""Backward differentiation formulas (BDF) of order 1 to 5 with variable order and step, for the equations of index 2.

Previous configurations are expressed in exponential coordinates relative to the last one, so that the formulas apply to
vectors. These coordinates are unique within half a turn: configurations from which a body has rotated by more than
`REACH` are not used, and no body rotates by more than `TURN` in a step. The joint equations are satisfied by the
velocities at the end of every step; the positions are then projected onto them. The formulas apply to the states of
force elements too. Work is integrated from powers at the
Lobatto nodes of each step. Order and step size follow from the differences between predictors and corrector.

Sources: Gear, Gupta, Leimkuhler, J. Comput. Appl. Math. 12 (1985) 77-90 (index 2, positions and velocities of order k);
Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections V.1 and VII.3; Brayton, Gustavson,
Hachtel, Proc. IEEE 60 (1972) 98-108 (coefficients and error of variable steps).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.time_features import Pace
from flexmb.errors import IntegratorError
from flexmb.integrators.integrator import Run, Steps, fastest_rotation, first_step, whole
from flexmb.integrators.method import AdaptiveMethod, register
from flexmb.integrators.radau import RadauRun
from flexmb.integrators.saddle import blocks_of
from flexmb.integrators.travel import Travel, flying
from flexmb.mechanism.features import CONTINUOUS, SMOOTH, Feature
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import Statistics
from flexmb.spatial.configuration import difference

HIGHEST = 5
"""The highest order; the method of order six is unstable for stiff equations."""
ITERATIONS, TOO_OLD = 25, 20
"""Largest number of Newton corrections in a step, and number of steps after which the matrix is factorised again."""
NEWTON, ROUNDING, LEAST = 1e-3, 1e-11, 1e-15
"""Tolerances of the Newton iteration: relative to the tolerance of the step; for fixed steps, relative to the
displacement due to the accelerations; and a lower bound, relative to the length of the mechanism."""
RESTEP = 0.3
"""Relative change of the coefficient of the step up to which a factorisation is reused."""
START_PART = 0.05
"""Error of the first step, which has order 1, relative to the tolerance."""
LOCAL = 0.02
"""Error of a step relative to the tolerance; the errors of many steps accumulate."""
TURN, REACH = 1.0, 2.5
"""Largest rotation (rad) of a body in a step, and in all steps that a formula uses. Beyond pi, exponential coordinates
are ambiguous."""
LOBATTO = 0.5 + 0.5 * np.array([-1.0, -((3 / 7) ** 0.5), 0.0, (3 / 7) ** 0.5, 1.0])
"""Nodes in a step at which powers are evaluated, with configurations interpolated between its ends."""


@register("bdf")
@dataclass(frozen=True, kw_only=True)
class BDF(AdaptiveMethod):
    """Backward differentiation of orders 1 to 5, as in established programs, in absolute coordinates.

    Fixed steps have order 5. A turn of the fastest body takes at least six steps.
    """

    order: ClassVar[int] = 5
    includes: ClassVar[frozenset[Feature]] = SMOOTH - CONTINUOUS | {"sampled controllers"}

    def begin(self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace) -> "BDFRun":
        return BDFRun(mechanism, start, step=self.step, tolerance=self.tolerance, end=end, pace=pace)


class BDFRun(Run):
    """A running integration; see `Integrator`. With fixed steps the order is five, and Radau IIA computes the first
    steps."""

    def __init__(
        self, mechanism: Mechanism, begin: Start, *, step: float | None, tolerance: float, end: float, pace: Pace
    ) -> None:
        state = begin.state
        self.equations = e = Equations(mechanism, state.q, state.angles, state.element_states)
        self.flat, self.tolerance, self.fixed, self.pace = e.flat, LOCAL * tolerance, step, pace
        self.wdot, self.multipliers, self.work = begin.wdot.copy(), begin.multipliers.copy(), np.zeros(4)
        self._travel = Travel(e.flat, flying(e.flat))
        self.times, self.places, self.speeds = [state.t], [state.q.copy()], [state.w.copy()]  # the last first
        self.reactions, self.turns = [begin.multipliers.copy()], [0.0]
        self._before, self._nodes = self.work, [state.t]
        self._powers = [self._power(state.t, state.q, state.w)]
        self.states, self._moving = [e.states.copy()], e.workspace.state_rates.copy()  # the last first; its rates
        self._largest = np.abs(e.states)
        e.warn_far_apart()
        span = end - state.t
        self._size = (
            whole(step, span)
            if step
            else START_PART**0.5 * first_step(state.w, begin.wdot, e.flat.weight, tolerance, span)
        )
        self._seen: tuple[np.ndarray, ...] | None = None  # of `_flown`, with the configuration that it belongs to
        self._order, self._good, self._steps = 1, 0, Steps()
        self._factor: Any = None
        self._kept, self._most, self._factored, self._age = np.ones(0, dtype=bool), 0, 0.0, TOO_OLD
        self._spins = np.concatenate([start + np.arange(3, 6) for start in e.flat.v_start[:-1]]).astype(int)
        self._starter = RadauRun(mechanism, begin, step=step, tolerance=tolerance, end=end, pace=pace) if step else None

    def prepare(self) -> None:
        """Compile the kernels before the integration is timed."""
        self.equations.exponential_rates(np.zeros_like(self.speeds[0]), self.speeds[0])
        self._on_joints(self.times[0], self.places[0], self.speeds[0])
        self._power(self.times[0], self.places[0], self.speeds[0])

    def now(self) -> Snapshot:
        """The motion at the end of the last step."""
        self.equations.expect()
        self.equations.states[:] = self.states[0]
        return self.equations.snapshot(self.times[0], self.places[0], self.speeds[0], self.work)

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of the integration, which took `cpu` seconds."""
        return self._steps.statistics(cpu)

    def to(self, target: float) -> Snapshot:
        """Integrate to `target`; the motion there is interpolated within the last step and projected onto the
        joints."""
        while self.times[0] < target - self.pace.same:
            self._step()
        if abs(target - self.times[0]) <= self.pace.same:
            return self.now()
        q, w = self._between(target)
        work = self._before + _integral(self._nodes, self.times[1], target) @ np.array(self._powers)
        return self.equations.snapshot(target, q, w, work)

    def _between(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocities at a time within the last step, from the polynomial of its order, projected onto
        the joint equations; `equations.states` are those of this time."""
        count = self._within(self._last + 1)
        weights = _lagrange(self.times[:count], t)
        flown, theta, speeds = self._flown(count)
        turned = weights @ theta
        self.equations.expect(turned)
        self.equations.states[:] = weights @ np.array(self.states[:count])
        q, w = self._on_joints(t, self.equations.displaced(self.places[0], turned), weights @ speeds)
        return self._travel.carried(flown, q, t - self.times[0]), w + self._travel.seen(flown, q)

    def _flown(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The uniform velocities of unsupported bodies, and the last displacements and velocities (count, nv) relative
        to frames that move with them."""
        travel, latest = self._travel, self.places[0]
        if self._seen is None or self._seen[0] is not latest:
            most = self._within(HIGHEST + 1)
            flown = travel.velocity(latest, self.speeds[0])
            past = list(zip(self.times[:most], self.places[:most], self.speeds[:most], strict=True))
            theta = [difference(self.flat, latest, travel.carried(flown, q, self.times[0] - t)) for t, q, _ in past]
            speeds = [w - travel.seen(flown, q) for _, q, w in past]
            self._seen = latest, flown, np.array(theta), np.array(speeds)
        return self._seen[1], self._seen[2][:count], self._seen[3][:count]

    def _within(self, most: int) -> int:
        """The number, at most `most`, of previous configurations within `REACH` of the last one."""
        turned, count = 0.0, 1
        while count < min(most, len(self.times)):
            turned += self.turns[count - 1]
            if turned > REACH:
                break
            count += 1
        return count

    def _step(self) -> None:
        failures = 0
        while True:
            t = self.times[0]
            h = self.pace.step(t, self._limited())
            if h < (1.0 if failures else 0.01) * self.pace.same:
                raise self.equations.diverged(t, h, self.speeds[0])
            if self._starter is not None and len(self.times) < HIGHEST:
                self._keep(self._starter.to(t + h), h)
                return
            count = self._within(HIGHEST + 1)
            flown, theta, speeds = self._flown(count)
            self._order = min(self._order, count)
            solved = self._solve(h, theta, speeds)
            if solved is None and self._age:  # the factorisation was that of an earlier step
                self._age = TOO_OLD
                solved = self._solve(h, theta, speeds)
            if solved is None:
                if self.fixed is not None:
                    raise self.equations.diverged(t, h, self.speeds[0])
                failures, self._size, self._order = failures + 1, 0.25 * h, max(1, self._order - 1)
                self._steps.rejected += 1
                continue
            moved, w, wdot, multipliers, states, moving = solved
            errors = self._errors(h, theta, speeds, moved, w, states)
            if self.fixed is not None or errors[self._order] <= 1.0:
                break
            self._steps.rejected += 1
            failures += 1
            self._size = h * max(0.2, 0.9 * errors[self._order] ** (-1 / (self._order + 1)))
            if failures > 2:
                self._order = 1
        e, travel = self.equations, self._travel
        self.wdot, self.multipliers, self._moving = wdot, multipliers, moving
        e.expect(moved)
        q, w = self._on_joints(t + h, e.displaced(self.places[0], moved), w)
        q, seen = travel.carried(flown, q, h), travel.seen(flown, q)
        w, wdot = w + seen, wdot + travel.turning(seen, w)
        angles = e.angles_there(e.mechanism.function_values(t + h))
        self._keep(Snapshot(t + h, q, w, wdot, multipliers, self.work, np.zeros(4), angles, states=states), h)
        self._choose(h, errors)

    def _limited(self) -> float:
        """The step size from the error control, limited by the rotation of the bodies.

        Raises `IntegratorError` when fixed steps exceed this limit.
        """
        fastest = fastest_rotation(self.flat, self.speeds[0])
        if self.fixed is not None and fastest * self._size > TURN:
            raise IntegratorError(
                f"In a step of {self._size:.3g} a body of {self.equations.mechanism.name!r} rotates by "
                f"{fastest * self._size:.3g} rad at t = {self.times[0]:.6g} "
                f"(the fastest is {self.equations.fastest_body(self.speeds[0])!r}); backward differentiation requires "
                f"{TURN:g} rad or less. Give a smaller step=, or none for variable steps."
            )
        return min(self._size, TURN / fastest) if fastest > 0 else self._size

    def _power(self, t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Powers (4,) at a state that satisfies the joint equations, with its reactions."""
        e = self.equations
        functions = e.mechanism.function_values(t)
        return e.powers(functions, w, e.accelerations(functions, q, w)[1])

    def _do_work(self) -> None:
        """Add the work of the last step."""
        t0, t = self.times[1], self.times[0]
        self._before = self.work
        self._nodes = [t0 + x * (t - t0) for x in LOBATTO]
        inner = [self._power(node, *self._between(node)) for node in self._nodes[1:-1]]
        self.equations.expect()
        self.equations.states[:] = self.states[0]
        self._powers = [self._powers[-1], *inner, self._power(t, self.places[0], self.speeds[0])]
        self.work = self.work + _integral(self._nodes, t0, t) @ np.array(self._powers)

    def _keep(self, at: Snapshot, h: float) -> None:
        """Accept a step and store its end."""
        kept = HIGHEST + 2
        turned = difference(self.flat, at.q, self.places[0])[self._spins].reshape(-1, 3)
        self.turns = [float(np.sqrt((turned**2).sum(axis=1)).max(initial=0.0)), *self.turns][:kept]
        self.times, self.places = [at.t, *self.times][:kept], [at.q.copy(), *self.places][:kept]
        self.speeds, self.reactions = (
            [at.w.copy(), *self.speeds][:kept],
            [at.multipliers.copy(), *self.reactions][:kept],
        )
        self.wdot, self.multipliers = at.wdot.copy(), at.multipliers.copy()
        self.states = [at.states.copy(), *self.states][:kept]
        self._largest = np.maximum(self._largest, np.abs(at.states))
        self.equations.states[:] = at.states
        self.equations.angles[:] = at.angles
        self.equations.expect()
        self._order = self._order if self._starter is None else min(HIGHEST, len(self.times))
        self._last = self._order
        self._do_work()
        self._steps.take(1, h)
        self._good += 1

    def _choose(self, h: float, errors: dict[int, float]) -> None:
        """Choose the order and size of the next step that permit the largest step.

        The order changes by one at most, and only after as many steps as the order.
        """
        k = self._order
        if self.fixed is not None:
            return
        growth = {order: 0.9 * max(error, 1e-8) ** (-1 / (order + 1)) for order, error in errors.items()}
        if self._good > k:
            best = max(growth, key=lambda order: growth[order] - (0.0 if order == k else 0.1))
            if best != k:
                self._order, self._good = best, 0
        factor = growth[self._order]
        if factor < 1.0 or factor > 1.2:
            self._size = h * min(max(factor, 0.3), 2.0 if self._steps.taken > 3 else 10.0)

    def _errors(
        self, h: float, theta: np.ndarray, speeds: np.ndarray, moved: np.ndarray, w: np.ndarray, states: np.ndarray
    ) -> dict[int, float]:
        """Local errors, relative to the tolerance, of the current order and of the orders next to it, as far as there
        are enough previous steps."""
        t, weight, found = self.times[0] + h, self.flat.weight, {}
        for order in (self._order - 1, self._order, self._order + 1):
            count = min(order + 1, len(theta))
            if order < 1 or order > HIGHEST or (order != self._order and count <= order):
                continue
            guess = _lagrange(self.times[:count], t)
            part = h / (t - self.times[count - 1])
            off, faster = moved - guess @ theta[:count], w - guess @ speeds[:count]
            size = max((np.abs(off) * weight).max(initial=0.0), h * (np.abs(faster) * weight).max(initial=0.0))
            predicted = guess @ np.array(self.states[:count]) if count > 1 else self.states[0] + h * self._moving
            size = max(size, self._relative(states - predicted, states))
            found[order] = float(part * size / self.tolerance)
        return found

    def _relative(self, change: np.ndarray, states: np.ndarray) -> float:
        """The largest change of the states, relative to their largest values so far."""
        largest = np.maximum(self._largest, np.abs(states))
        return float(np.divide(np.abs(change), largest, out=np.zeros_like(change), where=largest > 0).max(initial=0.0))

    def _solve(self, h: float, theta: np.ndarray, speeds: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Exponential coordinates, velocities, accelerations, multipliers, states and their rates at the end of a step;
        None if the iteration fails."""
        e, nv, k, weight = self.equations, len(self.wdot), self._order, self.flat.weight
        t = self.times[0] + h
        functions = e.mechanism.function_values(t)
        alpha = _rates([t, *self.times[:k]])
        s = 1.0 / alpha[0]
        behind, slower = s * (alpha[1:] @ theta[:k]), s * (alpha[1:] @ speeds[:k])
        count = min(k + 1, len(theta))
        guess = _lagrange(self.times[:count], t)
        seen = self.speeds[0] - speeds[0]
        rate = self.wdot - self._travel.turning(seen, speeds[0])
        wdot = alpha[0] * (guess @ speeds[:count] + slower) if count > 1 else rate
        multipliers = guess @ np.array(self.reactions[:count])
        past = np.array(self.states[:count])
        kept = s * (alpha[1:] @ past[:k])
        moving = alpha[0] * (guess @ past + kept) if count > 1 else self._moving
        if self._age >= TOO_OLD or abs(s - self._factored) > RESTEP * self._factored:
            e.expect()
            e.states[:] = self.states[0]
            state = (self.times[0], self.places[0], speeds[0], rate, self.multipliers)
            self._blocks = blocks = blocks_of(e, *state)
            self._factor, self._factored, self._age, self._kept = blocks.factor(s), s, 0, blocks.kept
            self._following = blocks.following(s)
            self._most = max(self._most, int(blocks.kept.sum()))
        exact, previous = abs(s - self._factored) < 1e-9 * s, np.inf
        damp = 1.0 if exact else 2.0 / (1.0 + (s / self._factored) ** 2)  # the stiffness is proportional to its square
        strongest = s * s * (np.abs(wdot) * weight).max(initial=0.0)
        tolerance = max(NEWTON * self.tolerance if self.fixed is None else ROUNDING * strongest, LEAST)
        moved = guess @ theta[:count]
        for iteration in range(ITERATIONS):
            self._steps.iterations += 1
            w = s * wdot - slower
            for _ in range(3):
                moved = s * e.exponential_rates(moved, w) - behind
            q = e.displaced(self.places[0], moved)
            e.expect(moved)
            e.states[:] = states = s * moving - kept
            unbalanced, _ = e.residual(functions, q, w, wdot, multipliers)
            settled = self._blocks.settled(self._factored, e.workspace.state_rates - moving)
            unbalanced = unbalanced + self._blocks.pushed(self._factored, settled)
            force = np.concatenate([-unbalanced, np.where(self._kept, -e.broken_rates(functions, w) / s, 0.0)])
            if previous <= tolerance:
                self._age = TOO_OLD if self._kept.sum() < self._most else self._age + 1
                return moved, w, wdot, multipliers, states, moving
            change = self._factor.solve(force)
            rates = settled + self._following @ change[:nv]
            size = float((s * s * np.abs(change[:nv]) * weight).max(initial=0.0))
            size = max(size, self._relative(s * rates, states))
            if not np.isfinite(size) or (iteration > 1 and size > 2.0 * previous and size > tolerance):
                return None
            wdot, multipliers = wdot + damp * change[:nv], multipliers + change[nv:]
            moving = moving + rates
            if 0.3 * previous < size < 1000 * LEAST:
                size = min(size, tolerance)  # round-off
            elif exact and previous < np.inf and size * size <= tolerance * (previous - size):
                size = min(size, tolerance)
            previous = size
        return None

    def _on_joints(self, t: float, q: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.equations.project(t, q, w, self.wdot, self.multipliers)


def _lagrange(times: list[float], t: float) -> np.ndarray:
    """Weights of values at `times` in the value at `t` of the polynomial through them."""
    return np.array([np.prod([(t - b) / (a - b) for b in times if b != a]) for a in times])


def _integral(times: list[float], start: float, end: float) -> np.ndarray:
    """Weights of values at `times` in the integral, from `start` to `end`, of the polynomial through them, of degree 5
    at most."""
    half = 0.5 * (end - start)
    gauss = ((5 / 9, -(0.6**0.5)), (8 / 9, 0.0), (5 / 9, 0.6**0.5))
    return np.asarray(half * sum(weight * _lagrange(times, start + half * (1 + x)) for weight, x in gauss))


def _rates(times: list[float]) -> np.ndarray:
    """Weights of values at `times` in the derivative, at the first of them, of the polynomial through them."""
    t, *others = times
    first = sum(1.0 / (t - b) for b in others)
    return np.array(
        [
            first,
            *(np.prod([(t - c) for c in others if c != b]) / np.prod([b - c for c in times if c != b]) for b in others),
        ]
    )

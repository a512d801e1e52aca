"""Backward differentiation formulas of order 1 to 5, variable in order and step: the method of the classical programs, on the equations of index 2.

Earlier positions are taken as exponential coordinates from the latest one, so that the formulas act on numbers. These are one-to-one within half a turn: positions from which any body has turned by
more than `REACH` on its way are left out, and a step turns no body by more than `TURN`. Joint equations are met in their velocities at the end of every step; positions are put back on the joints
after it. Works are integrals of powers at the nodes of Lobatto within each step. The order and the step follow from the differences of predictors and corrector.

Sources: Gear, Gupta, Leimkuhler, J. Comput. Appl. Math. 12 (1985) 77-90 (index 2, positions and velocities of order k); Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections
V.1 and VII.3; Brayton, Gustavson, Hachtel, Proc. IEEE 60 (1972) 98-108 (coefficients and error of variable steps).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.time_features import Pace
from flexmb.errors import IntegratorError
from flexmb.integrators.integrator import Steps, fastest_rotation, first_step, whole
from flexmb.integrators.method import AdaptiveMethod, register
from flexmb.integrators.radau import RadauRun
from flexmb.integrators.saddle import blocks_of
from flexmb.integrators.travel import Travel, flying
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import Statistics
from flexmb.spatial.configuration import difference

HIGHEST = 5
"""Order; that of six is unstable."""
ITERATIONS, TOO_OLD = 25, 20
"""Most Newton corrections of a step; steps after which the factors are made anew."""
NEWTON, ROUNDING, LEAST = 1e-3, 1e-11, 1e-15
"""Newton corrections end at this part of the tolerance; without one (fixed steps), at this part of the displacement by the accelerations; at least at this displacement over the mechanism's length."""
RESTEP = 0.3
"""Relative change of the step's coefficient for which the factors still serve."""
START_PART = 0.05
"""Of the tolerance that the first step, of order 1, may take."""
LOCAL = 0.02
"""Part of the tolerance for the error of a step: those of many steps add up."""
TURN, REACH = 1.0, 2.5
"""Rotation (rad) of any body in a step, and in all steps that a formula looks back over; below pi, beyond which positions are ambiguous."""
LOBATTO = 0.5 + 0.5 * np.array([-1.0, -((3 / 7) ** 0.5), 0.0, (3 / 7) ** 0.5, 1.0])
"""Nodes of a step at which powers are evaluated: between its ends by the polynomial of the positions."""


@register("bdf")
@dataclass(frozen=True, kw_only=True)
class BDF(AdaptiveMethod):
    """Backward differentiation of orders 1 to 5, as in classical programs; of order 5 at fixed steps. Absolute coordinates; at least six steps a turn of the fastest body."""

    order: ClassVar[int] = 5

    def begin(self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace) -> "BDFRun":
        return BDFRun(mechanism, start, step=self.step, tolerance=self.tolerance, end=end, pace=pace)


class BDFRun:
    """A running integration; see `simulate`. With fixed steps the order is five; Radau IIA makes the first steps."""

    def __init__(
        self, mechanism: Mechanism, begin: Start, *, step: float | None, tolerance: float, end: float, pace: Pace
    ) -> None:
        state = begin.state
        self.equations = e = Equations(mechanism, state.q, state.angles)
        self.flat, self.tolerance, self.fixed, self.pace = e.flat, LOCAL * tolerance, step, pace
        self.wdot, self.multipliers, self.work = begin.wdot.copy(), begin.multipliers.copy(), np.zeros(4)
        self._travel = Travel(e.flat, flying(e.flat))
        self.times, self.places, self.speeds = [state.t], [state.q.copy()], [state.w.copy()]  # the latest first
        self.reactions, self.turns = [begin.multipliers.copy()], [0.0]
        self._before, self._nodes = self.work, [state.t]
        self._powers = [self._power(state.t, state.q, state.w)]
        e.warn_far_apart()
        span = end - state.t
        self._size = whole(step, span) if step else START_PART**0.5 * first_step(state.w, begin.wdot, e.flat.weight, tolerance, span)  # fmt: skip
        self._order, self._good, self._steps = 1, 0, Steps()
        self._factor: Any = None
        self._kept, self._most, self._factored, self._age = np.ones(0, dtype=bool), 0, 0.0, TOO_OLD
        self._spins = np.concatenate([start + np.arange(3, 6) for start in e.flat.v_start[:-1]]).astype(int)
        self._starter = RadauRun(mechanism, begin, step=step, tolerance=tolerance, end=end, pace=pace) if step else None

    def prepare(self) -> None:
        """Let what it needs be compiled before the clock runs."""
        self.equations.exponential_rates(np.zeros_like(self.speeds[0]), self.speeds[0])
        self._on_joints(self.times[0], self.places[0], self.speeds[0])
        self._power(self.times[0], self.places[0], self.speeds[0])

    def now(self) -> Snapshot:
        """The motion at the end of the latest step."""
        self.equations.expect()
        return self.equations.snapshot(self.times[0], self.places[0], self.speeds[0], self.work)

    def statistics(self, cpu: float) -> Statistics:
        """What was done in `cpu` seconds."""
        return self._steps.statistics(cpu)

    def to(self, target: float) -> Snapshot:
        """Steps until `target` is reached; the motion there, between two steps by the polynomial through the latest, put back on the joints."""
        while self.times[0] < target - self.pace.same:
            self._step()
        if abs(target - self.times[0]) <= self.pace.same:
            return self.now()
        q, w = self._between(target)
        work = self._before + _integral(self._nodes, self.times[1], target) @ np.array(self._powers)
        return self.equations.snapshot(target, q, w, work)

    def _between(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocities at a time within the latest step, by the polynomial of its order, put back on the joints."""
        count = self._within(self._last + 1)
        weights = _lagrange(self.times[:count], t)
        flown, theta, speeds = self._flown(count)
        turned = weights @ theta
        self.equations.expect(turned)
        q, w = self._on_joints(t, self.equations.displaced(self.places[0], turned), weights @ speeds)
        return self._travel.carried(flown, q, t - self.times[0]), w + self._travel.seen(flown, q)

    def _flown(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The uniform velocities of what flies, and the latest displacements and velocities (count, nv) seen from axes that fly along."""
        travel, latest = self._travel, self.places[0]
        flown = travel.velocity(latest, self.speeds[0])
        past = list(zip(self.times[:count], self.places[:count], self.speeds[:count], strict=True))
        theta = [difference(self.flat, latest, travel.carried(flown, q, self.times[0] - t)) for t, q, _ in past]
        return flown, np.array(theta), np.array([w - travel.seen(flown, q) for _, q, w in past])

    def _within(self, most: int) -> int:
        """How many of the latest positions, at most, lie within reach of the latest."""
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
            if solved is None and self._age:  # with the factors of an earlier step
                self._age = TOO_OLD
                solved = self._solve(h, theta, speeds)
            if solved is None:
                if self.fixed is not None:
                    raise self.equations.diverged(t, h, self.speeds[0])
                failures, self._size, self._order = failures + 1, 0.25 * h, max(1, self._order - 1)
                self._steps.rejected += 1
                continue
            moved, w, wdot, multipliers = solved
            errors = self._errors(h, theta, speeds, moved, w)
            if self.fixed is not None or errors[self._order] <= 1.0:
                break
            self._steps.rejected += 1
            failures += 1
            self._size = h * max(0.2, 0.9 * errors[self._order] ** (-1 / (self._order + 1)))
            if failures > 2:
                self._order = 1
        e, travel = self.equations, self._travel
        self.wdot, self.multipliers = wdot, multipliers
        e.expect(moved)
        q, w = self._on_joints(t + h, e.displaced(self.places[0], moved), w)
        q, seen = travel.carried(flown, q, h), travel.seen(flown, q)
        w, wdot = w + seen, wdot + travel.turning(seen, w)
        angles = e.angles_there(e.mechanism.function_values(t + h))
        self._keep(Snapshot(t + h, q, w, wdot, multipliers, self.work, np.zeros(4), angles), h)
        self._choose(h, errors)

    def _limited(self) -> float:
        """The step that the order and the errors ask for, no longer than bodies may turn in it."""
        fastest = fastest_rotation(self.flat, self.speeds[0])
        if self.fixed is not None and fastest * self._size > TURN:
            raise IntegratorError(
                f"In a step of {self._size:.3g} a body of {self.equations.mechanism.name!r} turns by {fastest * self._size:.3g} rad at t = {self.times[0]:.6g} "
                f"(the fastest is {self.equations.fastest_body(self.speeds[0])!r}); backward differentiation needs {TURN:g} rad or less. Give a smaller step=, or none to let it adapt."
            )
        return min(self._size, TURN / fastest) if fastest > 0 else self._size

    def _power(self, t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Powers (4,) at a state on the joints, with the reactions that belong to it."""
        e = self.equations
        functions = e.mechanism.function_values(t)
        return e.powers(functions, w, e.accelerations(functions, q, w)[1])

    def _do_work(self) -> None:
        """Add the work of the latest step."""
        t0, t = self.times[1], self.times[0]
        self._before = self.work
        self._nodes = [t0 + x * (t - t0) for x in LOBATTO]
        inner = [self._power(node, *self._between(node)) for node in self._nodes[1:-1]]
        self.equations.expect()
        self._powers = [self._powers[-1], *inner, self._power(t, self.places[0], self.speeds[0])]
        self.work = self.work + _integral(self._nodes, t0, t) @ np.array(self._powers)

    def _keep(self, at: Snapshot, h: float) -> None:
        """The end of a step joins the latest ones."""
        kept = HIGHEST + 2
        turned = difference(self.flat, at.q, self.places[0])[self._spins].reshape(-1, 3)
        self.turns = [float(np.sqrt((turned**2).sum(axis=1)).max(initial=0.0)), *self.turns][:kept]
        self.times, self.places = [at.t, *self.times][:kept], [at.q.copy(), *self.places][:kept]
        self.speeds, self.reactions = (
            [at.w.copy(), *self.speeds][:kept],
            [at.multipliers.copy(), *self.reactions][:kept],
        )
        self.wdot, self.multipliers = at.wdot.copy(), at.multipliers.copy()
        self.equations.angles[:] = at.angles
        self.equations.expect()
        self._order = self._order if self._starter is None else min(HIGHEST, len(self.times))
        self._last = self._order
        self._do_work()
        self._steps.take(1, h)
        self._good += 1

    def _choose(self, h: float, errors: dict[int, float]) -> None:
        """Order and size of the next step: those that go farthest; one order more or less, after as many steps as the order."""
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
        self, h: float, theta: np.ndarray, speeds: np.ndarray, moved: np.ndarray, w: np.ndarray
    ) -> dict[int, float]:
        """Local errors over the tolerance of this order, and of its neighbours as far as earlier steps reach."""
        t, weight, found = self.times[0] + h, self.flat.weight, {}
        for order in (self._order - 1, self._order, self._order + 1):
            count = min(order + 1, len(theta))
            if order < 1 or order > HIGHEST or (order != self._order and count <= order):
                continue
            guess = _lagrange(self.times[:count], t)
            part = h / (t - self.times[count - 1])
            off, faster = moved - guess @ theta[:count], w - guess @ speeds[:count]
            size = max((np.abs(off) * weight).max(initial=0.0), h * (np.abs(faster) * weight).max(initial=0.0))
            found[order] = float(part * size / self.tolerance)
        return found

    def _solve(self, h: float, theta: np.ndarray, speeds: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Exponential coordinates, velocities, accelerations and multipliers at the end of a step; None where the iteration fails."""
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
        if self._age >= TOO_OLD or abs(s - self._factored) > RESTEP * self._factored:
            e.expect()
            state = (self.times[0], self.places[0], speeds[0], rate, self.multipliers)
            blocks = blocks_of(e, *state)
            self._factor, self._factored, self._age, self._kept = blocks.factor(s), s, 0, blocks.kept
            self._most = max(self._most, int(blocks.kept.sum()))
        exact, previous = abs(s - self._factored) < 1e-9 * s, np.inf
        damp = 1.0 if exact else 2.0 / (1.0 + (s / self._factored) ** 2)  # the stiffness goes with its square
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
            unbalanced, _ = e.residual(functions, q, w, wdot, multipliers)
            force = np.concatenate([-unbalanced, np.where(self._kept, -e.broken_rates(functions, w) / s, 0.0)])
            if previous <= tolerance:
                self._age = TOO_OLD if self._kept.sum() < self._most else self._age + 1
                return moved, w, wdot, multipliers
            change = self._factor.solve(force)
            size = float((s * s * np.abs(change[:nv]) * weight).max(initial=0.0))
            if not np.isfinite(size) or (iteration > 1 and size > 2.0 * previous and size > tolerance):
                return None
            wdot, multipliers = wdot + damp * change[:nv], multipliers + change[nv:]
            if 0.3 * previous < size < 1000 * LEAST:
                size = min(size, tolerance)  # round-off
            elif exact and previous < np.inf and size * size <= tolerance * (previous - size):
                size = min(size, tolerance)
            previous = size
        return None

    def _on_joints(self, t: float, q: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.equations.project(t, q, w, self.wdot, self.multipliers)


def _lagrange(times: list[float], t: float) -> np.ndarray:
    """Weights of values at some times for that at `t` of the polynomial through them."""
    return np.array([np.prod([(t - b) / (a - b) for b in times if b != a]) for a in times])


def _integral(times: list[float], start: float, end: float) -> np.ndarray:
    """Weights of values at some times for the integral, from `start` to `end`, of the polynomial through them, of degree 5 at most."""
    half = 0.5 * (end - start)
    gauss = ((5 / 9, -(0.6**0.5)), (8 / 9, 0.0), (5 / 9, 0.6**0.5))
    return np.asarray(half * sum(weight * _lagrange(times, start + half * (1 + x)) for weight, x in gauss))


def _rates(times: list[float]) -> np.ndarray:
    """Weights of values at some times for the rate at the first of them, of the polynomial through all."""
    t, *others = times
    first = sum(1.0 / (t - b) for b in others)
    return np.array([first, *(np.prod([(t - c) for c in others if c != b]) / np.prod([b - c for c in times if c != b]) for b in others)])  # fmt: skip

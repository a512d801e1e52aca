"""Backward differentiation formulas of order 1 to 5, variable in order and step: the method of the classical programs, on the equations of index 2.

Earlier positions are taken as exponential coordinates from the latest one, so that the formulas act on numbers. Joint equations are met in their velocities at the end of every step; positions are
put back on the joints after it. The order and the step follow from the differences of predictors and corrector.

Sources: Gear, Gupta, Leimkuhler, J. Comput. Appl. Math. 12 (1985) 77-90 (index 2, positions and velocities of order k); Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections
V.1 and VII.3; Brayton, Gustavson, Hachtel, Proc. IEEE 60 (1972) 98-108 (coefficients and error of variable steps).
"""

from typing import Any

import numpy as np

from flexmb.configuration import difference
from flexmb.initial import Start
from flexmb.integrators.equations import Equations
from flexmb.integrators.integrator import Steps, first_step
from flexmb.integrators.radau import Radau
from flexmb.integrators.saddle import blocks_of
from flexmb.integrators.snapshot import Snapshot
from flexmb.mechanism import Mechanism
from flexmb.result import Statistics

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


class Bdf:
    """A running integration; see `simulate`. With fixed steps the order is five; Radau IIA makes the first steps."""

    def __init__(self, mechanism: Mechanism, begin: Start, *, step: float | None, tolerance: float, end: float) -> None:
        state = begin.state
        self.equations = e = Equations(mechanism, state.q)
        self.flat, self.tolerance, self.end, self.fixed = e.flat, tolerance, end, step
        self.wdot, self.multipliers = begin.wdot.copy(), begin.multipliers.copy()
        self.times, self.places, self.speeds = [state.t], [state.q.copy()], [state.w.copy()]  # the latest first
        self.works, self.reactions = [np.zeros(4)], [begin.multipliers.copy()]
        self._size = step or START_PART**0.5 * first_step(state.w, begin.wdot, self.flat.weight, tolerance, end - state.t)  # fmt: skip
        self._order, self._good, self._steps = 1, 0, Steps()
        self._factor: Any = None
        self._factored, self._age = 0.0, TOO_OLD
        self._starter = Radau(mechanism, begin, step=step, tolerance=tolerance, end=end) if step is not None else None

    def prepare(self) -> None:
        """Let what it needs be compiled before the clock runs."""
        self.equations.exponential_rates(np.zeros_like(self.speeds[0]), self.speeds[0])
        self._on_joints(self.times[0], self.places[0], self.speeds[0])
        functions = self.equations.mechanism.function_values(self.times[0])
        self.equations.powers(functions, self.speeds[0], self.multipliers)

    def now(self) -> Snapshot:
        """The motion at the end of the latest step."""
        return self.equations.snapshot(self.times[0], self.places[0], self.speeds[0], self.works[0])

    def statistics(self, cpu: float) -> Statistics:
        """What was done in `cpu` seconds."""
        return self._steps.statistics(cpu)

    def to(self, target: float) -> Snapshot:
        """Steps until `target` is reached; the motion there, between two steps by the polynomial through the latest, put back on the joints."""
        while self.times[0] < target - 1e-12 * self.end:
            self._step()
        if abs(target - self.times[0]) <= 1e-12 * self.end:
            return self.now()
        count = min(self._order + 1, len(self.times))
        weights = _lagrange(self.times[:count], target)
        theta = [difference(self.flat, self.places[0], q) for q in self.places[:count]]
        q = self.equations.displaced(self.places[0], weights @ np.array(theta))
        q, w = self._on_joints(target, q, weights @ np.array(self.speeds[:count]))
        return self.equations.snapshot(target, q, w, weights @ np.array(self.works[:count]))

    def _step(self) -> None:
        failures = 0
        while True:
            t = self.times[0]
            h = min(self._size, self.end - t)
            if self.end - t - h < 0.1 * h:
                h = self.end - t
            if h < 1e-14 * max(abs(self.end), 1e-300):
                raise self.equations.diverged(t, h, self.speeds[0])
            if self._starter is not None and len(self.times) < HIGHEST:
                self._keep(self._starter.to(t + h), h)
                return
            theta = np.array([difference(self.flat, self.places[0], q) for q in self.places])
            solved = self._solve(h, theta)
            if solved is None and self._age:  # with the factors of an earlier step
                self._age = TOO_OLD
                solved = self._solve(h, theta)
            if solved is None:
                if self.fixed is not None:
                    raise self.equations.diverged(t, h, self.speeds[0])
                failures, self._size, self._order = failures + 1, 0.25 * h, max(1, self._order - 1)
                self._steps.rejected += 1
                continue
            moved, w, wdot, multipliers, powers = solved
            errors = self._errors(h, theta, moved, w)
            if self.fixed is not None or errors[self._order] <= 1.0:
                break
            self._steps.rejected += 1
            failures += 1
            self._size = h * max(0.2, 0.9 * errors[self._order] ** (-1 / (self._order + 1)))
            if failures > 2:
                self._order = 1
        self._take(h, moved, w, wdot, multipliers, powers)
        self._choose(h, errors)

    def _take(
        self, h: float, moved: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray, powers: np.ndarray
    ) -> None:
        """The end of a step joins the latest ones."""
        t, k = self.times[0] + h, self._order
        times = [t, *self.times[:k]]
        alpha = _rates(times)
        work = (powers - alpha[1:] @ np.array(self.works[:k])) / alpha[0]
        q, w = self._on_joints(t, self.equations.displaced(self.places[0], moved), w)
        self._keep(Snapshot(t, q, w, wdot, multipliers, work, np.zeros(4)), h)

    def _keep(self, at: Snapshot, h: float) -> None:
        kept = HIGHEST + 2
        self.times, self.places = [at.t, *self.times][:kept], [at.q.copy(), *self.places][:kept]
        self.speeds, self.works = [at.w.copy(), *self.speeds][:kept], [at.work.copy(), *self.works][:kept]
        self.reactions = [at.multipliers.copy(), *self.reactions][:kept]
        self.wdot, self.multipliers = at.wdot.copy(), at.multipliers.copy()
        self._order = self._order if self._starter is None else min(HIGHEST, len(self.times))
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

    def _errors(self, h: float, theta: np.ndarray, moved: np.ndarray, w: np.ndarray) -> dict[int, float]:
        """Local errors over the tolerance of this order, and of its neighbours as far as earlier steps reach."""
        t, weight, found = self.times[0] + h, self.flat.weight, {}
        for order in (self._order - 1, self._order, self._order + 1):
            count = min(order + 1, len(self.times))
            if order < 1 or order > HIGHEST or (order != self._order and count <= order):
                continue
            guess = _lagrange(self.times[:count], t)
            part = h / (t - self.times[count - 1])
            off, faster = moved - guess @ theta[:count], w - guess @ np.array(self.speeds[:count])
            size = max((np.abs(off) * weight).max(initial=0.0), h * (np.abs(faster) * weight).max(initial=0.0))
            found[order] = float(part * size / self.tolerance)
        return found

    def _solve(self, h: float, theta: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Exponential coordinates, velocities, accelerations, multipliers and powers at the end of a step; None where the iteration fails."""
        e, nv, k, weight = self.equations, len(self.wdot), self._order, self.flat.weight
        t = self.times[0] + h
        functions = e.mechanism.function_values(t)
        alpha = _rates([t, *self.times[:k]])
        s = 1.0 / alpha[0]
        behind, slower = s * (alpha[1:] @ theta[:k]), s * (alpha[1:] @ np.array(self.speeds[:k]))
        count = min(k + 1, len(self.times))
        guess = _lagrange(self.times[:count], t)
        wdot = alpha[0] * (guess @ np.array(self.speeds[:count]) + slower) if count > 1 else self.wdot.copy()
        multipliers = guess @ np.array(self.reactions[:count])
        if self._age >= TOO_OLD or abs(s - self._factored) > RESTEP * self._factored:
            state = (self.times[0], self.places[0], self.speeds[0], self.wdot, self.multipliers)
            self._factor, self._factored, self._age = blocks_of(e, *state).factor(s), s, 0
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
            unbalanced, _ = e.residual(functions, q, w, wdot, multipliers)
            force = np.concatenate([-unbalanced, -e.broken_rates(functions, w) / s])
            if previous <= tolerance:
                self._age += 1
                return moved, w, wdot, multipliers, e.powers(functions, w, multipliers)
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
        return self.equations.put_back(t, q, w, self.wdot, self.multipliers)


def _lagrange(times: list[float], t: float) -> np.ndarray:
    """Weights of values at some times for that at `t` of the polynomial through them."""
    return np.array([np.prod([(t - b) / (a - b) for b in times if b != a]) for a in times])


def _rates(times: list[float]) -> np.ndarray:
    """Weights of values at some times for the rate at the first of them, of the polynomial through all."""
    t, *others = times
    first = sum(1.0 / (t - b) for b in others)
    return np.array([first, *(np.prod([(t - c) for c in others if c != b]) / np.prod([b - c for c in times if c != b]) for b in others)])  # fmt: skip

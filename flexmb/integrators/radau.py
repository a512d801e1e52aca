"""Radau IIA with three stages (order 5) for mechanisms: few, accurate steps, for reference solutions.

The velocities of the stages satisfy the joint equations (index 2); positions are projected onto them after every step.
Rigid motions are integrated in the exponential coordinates of each step, and the states of force elements are
unknowns of the stages. The stage equations are solved by a simplified
Newton iteration, transformed to one real and one complex sparse system of the size of the mechanism.

Sources: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections IV.8 and VII.4 (orders for index
2: 5 in positions and velocities, 3 in multipliers); Munthe-Kaas, High order Runge-Kutta methods on manifolds (1999).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.time_features import Pace
from flexmb.integrators.integrator import Run, Steps, fastest_rotation, first_step, whole
from flexmb.integrators.method import AdaptiveMethod, register
from flexmb.integrators.saddle import blocks_of
from flexmb.integrators.travel import Travel, flying
from flexmb.mechanism.features import SMOOTH, Feature
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import Statistics

ROOT = np.sqrt(6.0)
NODES = np.array([(4 - ROOT) / 10, (4 + ROOT) / 10, 1.0])
A = np.array([
    [(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225],
    [(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225],
    [(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9],
])  # fmt: skip
EIGENVALUES, VECTORS = np.linalg.eig(A)
# the real eigenvalue first, then the pair with the positive imaginary part first
ORDER = np.lexsort((-EIGENVALUES.imag, np.abs(EIGENVALUES.imag) > 1e-9))
EIGENVALUES, VECTORS = EIGENVALUES[ORDER], VECTORS[:, ORDER]
INVERSE = np.linalg.inv(VECTORS)
REAL = float(EIGENVALUES[0].real)
ESTIMATE = REAL / 3 * np.array([-13 - 7 * ROOT, -13 + 7 * ROOT, -1.0])
"""Weights of the stages in the error estimate (Hairer and Wanner, eq. IV.8.19, scaled by the real eigenvalue)."""
LAGRANGE = np.linalg.inv(np.vander(NODES, 3, increasing=True))
"""Coefficients of the polynomial that is one at node k and zero at the others, as column k."""
TURN = 3.0
"""Largest rotation (rad) of a body in a variable step. Beyond half a turn the exponential coordinates are not unique,
and near a whole turn their rates are singular."""
ITERATIONS = 25
SLOW, TOO_OLD = 5, 20
"""Numbers of iterations in a step, and of steps, after which the matrix is factorised again."""
NEWTON = 1e-4
"""Tolerance of the Newton iteration for variable steps, relative to that of the step."""
ROUNDING, LEAST, STUCK = 1e-12, 1e-17, 1e-13
"""Tolerances of the Newton iteration for fixed steps, near round-off: relative to the displacement by the accelerations
of a step, and to the length of the mechanism; and the size below which corrections that do not decrease are
round-off."""


@register("radau")
@dataclass(frozen=True, kw_only=True)
class Radau(AdaptiveMethod):
    """Radau IIA of order 5, in absolute coordinates, for reference solutions.

    It takes far fewer steps than generalised-alpha, at a higher cost each. Vibration that a step does not resolve is
    damped.
    """

    order: ClassVar[int] = 5
    includes: ClassVar[frozenset[Feature]] = SMOOTH | {"sampled controllers"}

    def begin(self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace) -> "RadauRun":
        return RadauRun(mechanism, start, step=self.step, tolerance=self.tolerance, end=end, pace=pace)


class RadauRun(Run):
    """A running integration; see `Integrator`."""

    def __init__(
        self, mechanism: Mechanism, begin: Start, *, step: float | None, tolerance: float, end: float, pace: Pace
    ) -> None:
        state = begin.state
        self.equations = e = Equations(mechanism, state.q, state.angles, state.element_states)
        self.flat, self.tolerance, self.end, self.fixed, self.pace = e.flat, tolerance, end, step, pace
        self.t, self.q, self.w = state.t, state.q.copy(), state.w.copy()
        self.wdot, self.multipliers, self.work = begin.wdot.copy(), begin.multipliers.copy(), np.zeros(4)
        span = end - state.t
        self._size = whole(step, span) if step else first_step(state.w, begin.wdot, e.flat.weight, tolerance, span)
        self._steps = Steps()
        self._travel = Travel(e.flat, flying(e.flat))
        self._take_along()
        self._stages = np.tile(np.concatenate([self._rate, self.multipliers]), (3, 1))
        self._states, self._largest_states = e.states.copy(), np.abs(e.states)
        self._moving = np.tile(self._state_rates(), (3, 1))  # rates of the states in the stages of the last step
        self._factors: list[Any] = []
        self._following: list[np.ndarray] = []  # rates of the states for units of the accelerations
        self._factored, self._age = 0.0, TOO_OLD
        self._span: Any = None
        self._kept, self._most = np.ones(e.flat.joint_rows, dtype=bool), 0

    def prepare(self) -> None:
        """Compile the kernels before the integration is timed."""
        self.equations.exponential_rates(np.zeros_like(self.w), self.w)
        self._on_joints(self.t, self.q, self.w)
        self.equations.powers(self.equations.mechanism.function_values(self.t), self.w, self.multipliers)

    def now(self) -> Snapshot:
        """The motion at the end of the last step."""
        self.equations.expect()
        self.equations.states[:] = self._states
        return self.equations.snapshot(self.t, self.q, self.w, self.work)

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of the integration, which took `cpu` seconds."""
        return self._steps.statistics(cpu)

    def to(self, target: float) -> Snapshot:
        """Integrate to `target`; the motion there is that of the collocation polynomial, projected onto the joints."""
        while self.t < target - self.pace.same:
            self._step()
        if abs(target - self.t) <= self.pace.same:
            return self.now()
        t0, h, q0, theta, flown, w0, rates, work0, powers, angles0, states0, moving = self._span
        s = (target - t0) / h
        integrals = h * (LAGRANGE.T @ (s ** np.arange(1, 4) / np.arange(1, 4)))
        nodes = np.concatenate([[0.0], NODES])
        weights = np.array([np.prod([(s - b) / (a - b) for b in nodes if b != a]) for a in nodes])[1:]
        self.equations.expect(weights @ theta, angles0)
        q, w = self._on_joints(target, self.equations.displaced(q0, weights @ theta), w0 + integrals @ rates)
        q, w = self._travel.carried(flown, q, target - t0), w + self._travel.seen(flown, q)
        self.equations.states[:] = states0 + integrals @ moving
        return self.equations.snapshot(target, q, w, work0 + integrals @ powers)

    def _state_rates(self) -> np.ndarray:
        """The rates (nz,) of the states at the beginning of a step."""
        e = self.equations
        if not len(self._states):
            return np.zeros(0)
        e.states[:] = self._states
        e.expect()
        e.residual(e.mechanism.function_values(self.t), self.q, self.w, self.wdot, self.multipliers)
        return e.workspace.state_rates.copy()

    def _take_along(self) -> None:
        """Set velocities and accelerations at the beginning of a step relative to frames that move with unsupported
        bodies."""
        self._flown = self._travel.velocity(self.q, self.w)
        seen = self._travel.seen(self._flown, self.q)
        self._slow, self._rate = self.w - seen, self.wdot - self._travel.turning(seen, self.w)

    # one step ------------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        rejected = self._steps.rejected
        self._take_along()
        self._begun = self._moving[2] if self._span is not None else self._moving[0]
        while True:
            h = self.pace.step(self.t, self._largest())
            if h < (0.01 if self._steps.rejected == rejected else 1.0) * self.pace.same:
                raise self.equations.diverged(self.t, h, self.w)
            solved = self._solve(h)
            if solved is None and self._age:  # the factorisation was that of an earlier step
                self._age = TOO_OLD
                solved = self._solve(h)
            if solved is None:
                if self.fixed is not None:
                    raise self.equations.diverged(self.t, h, self.w)
                self._steps.rejected += 1
                self._size = 0.4 * h
                continue
            theta, stages, powers, moving = solved
            error = 0.0 if self.fixed is not None else self._error(h, theta, stages, moving) / self.tolerance
            growth = 0.9 * max(error, 1e-6) ** -0.25
            if error > 1.0:
                self._steps.rejected += 1
                self._size = h * max(0.2, growth)
                continue
            break
        nv = len(self.w)
        e, travel = self.equations, self._travel
        self._span = (
            self.t,
            h,
            self.q,
            theta,
            self._flown,
            self._slow,
            stages[:, :nv],
            self.work,
            powers,
            e.angles.copy(),
            self._states,
            moving,
        )
        self._steps.take(1, h)
        self.t, self._stages, self._moving = self.t + h, stages, moving
        self._states = self._states + h * (A[2] @ moving)
        self._largest_states = np.maximum(self._largest_states, np.abs(self._states))
        e.states[:] = self._states
        self.work = self.work + h * (A[2] @ powers)
        e.expect(theta[2])
        q, w = self._on_joints(self.t, e.displaced(self.q, theta[2]), self._slow + h * (A[2] @ stages[:, :nv]))
        seen = travel.seen(self._flown, q)
        self.q, self.w = travel.carried(self._flown, q, h), w + seen
        e.keep_angles(e.mechanism.function_values(self.t))
        self.wdot, self.multipliers = stages[2, :nv] + travel.turning(seen, w), stages[2, nv:].copy()
        if self.fixed is None:
            proposed = h * min(5.0, growth) if not 1.0 <= growth < 1.2 else h
            self._size = proposed if h > 0.9 * self._size else max(proposed, self._size)

    def _largest(self) -> float:
        """The step size from the error control; variable steps are limited to a rotation by `TURN` of the fastest
        body."""
        fastest = fastest_rotation(self.flat, self.w)
        return self._size if self.fixed is not None or fastest * self._size <= TURN else TURN / fastest

    def _solve(self, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
        """Exponential coordinates (3, nv), accelerations and multipliers (3, nv + nj), powers (3, 4) and rates of the
        states (3, nz) of the stages; None if the iteration fails."""
        e, nv, nj = self.equations, len(self.w), self.flat.joint_rows
        functions = e.mechanism.function_table(self.t + h * NODES)
        stages, theta, moving = self._predicted(h, self._stages), np.zeros((3, nv)), self._predicted(h, self._moving)
        if self._age >= TOO_OLD or abs(h - self._factored) > 1e-9 * h:
            self._factors, self._factored, self._age = self._factorised(h), h, 0
        unbalanced, powers = np.empty((3, nv + nj + len(self._states))), np.empty((3, 4))
        weight, previous = self.flat.weight, np.inf
        strongest = h * h * (np.abs(stages[:, :nv]) * weight).max(initial=0.0)
        tolerance = max(ROUNDING * strongest, NEWTON * self.tolerance if self.fixed is None else 0.0, LEAST)
        for iteration in range(ITERATIONS):
            self._steps.iterations += 1
            w = self._slow + h * (A @ stages[:, :nv])
            for _ in range(3):
                theta = h * (
                    A @ np.array([self.equations.exponential_rates(*pair) for pair in zip(theta, w, strict=True)])
                )
            reached = self._states + h * (A @ moving)
            for k in range(3):
                q = e.displaced(self.q, theta[k])
                e.expect(theta[k])
                e.states[:] = reached[k]
                out, _ = e.residual(functions[k], q, w[k], stages[k, :nv], stages[k, nv:])
                unbalanced[k, :nv] = out
                unbalanced[k, nv : nv + nj] = np.where(self._kept, e.broken_rates(functions[k], w[k]), 0.0)
                unbalanced[k, nv + nj :] = moving[k] - e.workspace.state_rates
                powers[k] = e.powers(functions[k], w[k] + self._travel.seen(self._flown, q), stages[k, nv:])
            if previous <= tolerance:
                self._age = TOO_OLD if iteration > SLOW or self._kept.sum() < self._most else self._age + 1
                return theta, stages, powers, moving
            change = self._corrections(h, unbalanced)
            if not np.isfinite(change).all():
                return None
            size = float((h * h * np.abs(A @ (A @ change[:, :nv])) * weight).max(initial=0.0))
            off, largest = h * np.abs(A @ change[:, nv + nj :]), np.maximum(self._largest_states, np.abs(reached))
            size = max(size, float(np.divide(off, largest, out=np.zeros_like(off), where=largest > 0).max(initial=0.0)))
            if size > 2.0 * previous and size > tolerance:
                return None
            stages, moving = stages + change[:, : nv + nj], moving + change[:, nv + nj :]
            if 0.3 * previous < size < STUCK:
                size = min(size, tolerance)  # round-off
            elif previous < np.inf and size < previous and size * size <= tolerance * (previous - size):
                size = min(size, tolerance)  # at this rate, the remaining error is below the tolerance
            previous = size
        return None

    def _predicted(self, h: float, stages: np.ndarray) -> np.ndarray:
        """Values of the stages (3, n) from those of the last step, extrapolated by its polynomial."""
        if self._span is None:
            return stages
        ahead = 1.0 + NODES * h / self._span[1]
        return np.asarray(np.vander(ahead, 3, increasing=True) @ (LAGRANGE @ stages))

    def _corrections(self, h: float, unbalanced: np.ndarray) -> np.ndarray:
        """Newton corrections of accelerations, multipliers and rates of the states (3, nv + nj + nz), from the real
        system and one of the two conjugate complex systems."""
        nv, n = len(self.w), len(self.w) + self.flat.joint_rows
        turned = -(INVERSE @ unbalanced)
        change = np.empty(turned.shape, dtype=complex)
        for k, factor in enumerate(self._factors):
            step = h * EIGENVALUES[k]
            turned[k, nv:n] /= step
            own = turned[k].real if k == 0 else turned[k]
            step = step.real if k == 0 else step
            rates = self._blocks.settled(step, own[n:])
            own[:nv] -= self._blocks.pushed(step, rates)
            change[k, :n] = factor.solve(own[:n])
            change[k, n:] = rates + self._following[k] @ change[k, :nv]
        change[2] = change[1].conj()
        return np.asarray((VECTORS @ change).real)

    def _error(self, h: float, theta: np.ndarray, stages: np.ndarray, moving: np.ndarray) -> float:
        """Local error of positions, of velocities times the step, and of states relative to their largest values so
        far, filtered by the real system (Hairer and Wanner, eq. IV.8.20)."""
        nv = len(self.w)
        off = REAL * h * self._slow + ESTIMATE @ theta
        faster = REAL * h * self._rate + ESTIMATE @ (h * (A @ stages[:, :nv]))
        step, changed = REAL * h, np.zeros(0)
        if len(self._states):
            changed = REAL * h * self._begun + ESTIMATE @ (h * (A @ moving))
            by_place = step * (self._blocks.states.by_place @ off)  # type: ignore[union-attr]
            changed = self._blocks.settled(step, changed + by_place)
        force = np.zeros(stages.shape[1])
        force[:nv] = self._blocks.M @ faster - step * (self._blocks.K @ off)
        if len(changed):
            force[:nv] -= self._blocks.pushed(step, changed)
        filtered = self._factors[0].solve(force)[:nv]
        weight = self.flat.weight
        found = max((np.abs(off + step * filtered) * weight).max(), h * (np.abs(filtered) * weight).max())
        if not len(changed):
            return float(found)
        changed = changed + self._following[0] @ filtered
        largest = np.maximum(self._largest_states, np.abs(self._states + h * (A[2] @ moving)))
        relative = np.divide(np.abs(changed), largest, out=np.zeros_like(changed), where=largest > 0)
        return float(max(found, relative.max(initial=0.0)))

    def _on_joints(self, t: float, q: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.equations.project(t, q, w, self.wdot, self.multipliers)

    def _factorised(self, h: float) -> list[Any]:
        """Factors of the matrix of a step for the real eigenvalue and for one of the pair."""
        self.equations.expect()
        self.equations.states[:] = self._states
        self._blocks = blocks_of(self.equations, self.t, self.q, self._slow, self._rate, self.multipliers)
        self._kept = self._blocks.kept
        self._most = max(self._most, int(self._kept.sum()))
        self._following = [self._blocks.following(h * mu) for mu in (REAL, EIGENVALUES[1])]
        return [self._blocks.factor(h * mu) for mu in (REAL, EIGENVALUES[1])]

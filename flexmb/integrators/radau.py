"""Radau IIA with three stages (order 5) for mechanisms: few, accurate steps, for reference solutions.

The velocities of the stages satisfy the joint equations (index 2); positions are projected onto them after every step.
Rigid motions are integrated in the exponential coordinates of each step, and the states of force elements are
unknowns of the stages. The stage equations are solved by a simplified
Newton iteration, transformed to one real and one complex sparse system of the size of the mechanism.

Sources: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), sections IV.8 and VII.4 (orders for index
2: 5 in positions and velocities, 3 in multipliers); Munthe-Kaas, High order Runge-Kutta methods on manifolds (1999).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.failures import diverged, sound_snapshot
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.state_tangent import usual_states
from flexmb.equations.time_features import Pace
from flexmb.integrators.integrator import Run, first_step, whole
from flexmb.integrators.method import AdaptiveMethod, register
from flexmb.integrators.saddle import Matrices, statistics
from flexmb.integrators.travel import pieces
from flexmb.kernels.base.law_call import require_sound
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.calls import radau_between, radau_steps, take_along
from flexmb.kernels.implicit.progress import (
    AGE,
    ATTEND,
    CROWDED,
    DIVERGED,
    ENTRIES,
    FAILED,
    FIXED,
    PLANNED,
    REACHED,
    SAME,
    SIZE,
    SMALLEST,
    TOLERANCE,
    TOO_OLD,
    WANTED,
    T,
)
from flexmb.kernels.implicit.radau import NODES, RadauState
from flexmb.mechanism.features import SMOOTH, Feature
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import Statistics


@register("radau")
@dataclass(frozen=True, kw_only=True)
class Radau(AdaptiveMethod):
    """Radau IIA of order 5, in absolute coordinates, for reference solutions.

    It takes far fewer steps than generalised-alpha, at a higher cost each. Vibration that a step does not resolve is
    damped.
    """

    order: ClassVar[int] = 5
    includes: ClassVar[frozenset[Feature]] = SMOOTH | {"sampled controllers", "regularised friction"}

    def begin(self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace) -> "RadauRun":
        return RadauRun(mechanism, start, step=self.step, tolerance=self.tolerance, end=end, pace=pace)


class RadauRun(Run):
    """A running integration; see `Integrator`. The steps are those of flexmb/kernels/implicit/radau.py."""

    def __init__(
        self, mechanism: Mechanism, begin: Start, *, step: float | None, tolerance: float, end: float, pace: Pace
    ) -> None:
        state = begin.state
        self.equations = e = Equations(mechanism, state.q, state.angles, state.element_states)
        self._pace, self._matrices, flat = pace, Matrices(e), e.flat
        span, nv, nz, na = end - state.t, len(state.w), len(e.states), len(e.angles)
        size = whole(step, span) if step else first_step(state.w, begin.wdot, flat.weight, tolerance, span)
        last = np.zeros(ENTRIES)
        last[[T, SIZE, AGE, SMALLEST]] = state.t, size, TOO_OLD, np.inf
        last[[FIXED, TOLERANCE, SAME]] = step is not None, tolerance, pace.same
        functions = np.tile(mechanism.function_values(state.t), (4, 1, 1))
        e.residual(functions[0], state.q, state.w, begin.wdot, begin.multipliers)
        rates = e.workspace.state_rates[:nz].copy()
        width = nv + flat.joint_rows
        usual = usual_states(e, state, begin.wdot, begin.multipliers)
        self._run = pointed(
            RadauState(
                state.q.copy(), state.w.copy(), begin.wdot.copy(), begin.multipliers.copy(), e.states.copy(),
                usual, e.angles, e.expected, np.zeros(4), self._matrices.formulas, functions, pieces(flat),
                np.zeros((len(flat.modes), 3)), np.zeros(nv), np.zeros(nv), np.zeros(nz),
                np.zeros(len(state.q)), np.zeros(nz), np.zeros(4), np.zeros(na), np.zeros((3, nv)),
                np.zeros((3, width)), np.tile(rates, (3, 1)), np.zeros((3, 4)), np.zeros((3, nv)),
                np.zeros((3, width)), np.zeros((3, nz)), np.zeros((3, 4)), np.zeros((nz, nv)), np.zeros((nz, 2 * nv)),
                last,
            )
        )  # fmt: skip
        run = self._run
        run.begin_q[:] = state.q
        take_along(flat, run)
        run.stages[:] = np.concatenate([run.rate, begin.multipliers])
        self._make_room()

    def _make_room(self) -> None:
        self._real, self._pair = self._matrices.factors(1), self._matrices.factors(2)

    def prepare(self) -> None:
        """Compile the kernels before the integration is timed."""
        self._steps_to(self._run.last[T])
        self._between(float(self._run.last[T]))
        self.equations.forget_failures()

    def now(self) -> Snapshot:
        """The motion at the end of the last step."""
        e, run = self.equations, self._run
        e.expect()
        e.states[:] = run.states
        return sound_snapshot(e, float(run.last[T]), run.q.copy(), run.w.copy(), run.work.copy())

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of the integration, which took `cpu` seconds."""
        return statistics(self._run.last, cpu)

    def to(self, target: float) -> Snapshot:
        """Integrate to `target`; the motion there is that of the collocation polynomial, projected onto the joints."""
        run, e, last = self._run, self.equations, self._run.last
        while (outcome := self._steps_to(target)) != REACHED:
            require_sound(e.mechanism.calls)
            h = float(last[PLANNED])
            if outcome == ATTEND:
                run.functions[1:] = e.mechanism.function_table(last[T] + h * NODES)
                if last[WANTED]:
                    run.functions[0] = e.mechanism.function_values(float(last[T]))
                    e.expect()
                    e.states[:] = run.states
                    self._matrices.follow_states(run.functions[0], run.q, run.slow, run.rate, run.multipliers)
            elif outcome == CROWDED:
                self._matrices.enlarge()
                self._make_room()
            elif outcome == DIVERGED or (outcome == FAILED and last[FIXED]):
                h = h or float(last[SIZE]) / 0.4
                raise diverged(e, float(last[T]), h, run.w, q=run.q, states=run.states)
        require_sound(e.mechanism.calls)
        if abs(target - last[T]) <= self._pace.same:
            return self.now()
        q, w, work = self._between(target)
        return sound_snapshot(e, target, q, w, work)

    def _steps_to(self, target: float) -> int:
        change, longest = self._pace.ahead(float(self._run.last[T]))
        m, e = self._matrices, self.equations
        return int(
            radau_steps(
                e.flat, self._run, m.saddle, self._real, self._pair, m.apart, m.attended, target, change, longest,
                e.kinematics, e.workspace,
            )
        )  # fmt: skip

    def _between(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Configuration, velocities and work at a time within the last step; `equations.states` are those there."""
        e, run, m = self.equations, self._run, self._matrices
        q, w, work = np.empty_like(run.q), np.empty_like(run.w), np.empty(4)
        functions = e.mechanism.function_values(t)
        radau_between(
            e.flat, run, m.saddle, self._real, m.apart, t, functions, e.kinematics, e.workspace, q, w, e.states, work
        )
        return q, w, work

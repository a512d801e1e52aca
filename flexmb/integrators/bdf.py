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
from typing import ClassVar

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.failures import diverged, fastest_body, sound_snapshot
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.state_tangent import usual_states
from flexmb.equations.time_features import Pace
from flexmb.errors import IntegratorError
from flexmb.integrators.integrator import Run, fastest_rotation, first_step, whole
from flexmb.integrators.method import AdaptiveMethod, register
from flexmb.integrators.radau import RadauRun
from flexmb.integrators.saddle import Matrices, statistics
from flexmb.integrators.travel import pieces
from flexmb.kernels.base.law_call import require_sound
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.calls import bdf_between, bdf_keep, bdf_rate, bdf_relative, bdf_steps, integral
from flexmb.kernels.implicit.bdf import HIGHEST, KEPT, LOBATTO, TURN, BDFState
from flexmb.kernels.implicit.progress import (
    AGE,
    ATTEND,
    COUNT,
    CROWDED,
    DIVERGED,
    ENTRIES,
    FAILED,
    FIXED,
    GOOD,
    ORDER,
    PLANNED,
    REACHED,
    SAME,
    SIZE,
    SMALLEST,
    START,
    TOLERANCE,
    TOO_FAST,
    TOO_OLD,
    USED,
    WANTED,
    T,
)
from flexmb.mechanism.features import SMOOTH, Feature
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import Statistics

START_PART = 0.05
"""Error of the first step, which has order 1, relative to the tolerance."""
LOCAL = 0.02
"""Error of a step relative to the tolerance; the errors of many steps accumulate."""

LONGER = 5.0
"""Length of a previous step relative to the next one from which on it is forgotten at a change of a function of
time."""


@register("bdf")
@dataclass(frozen=True, kw_only=True)
class BDF(AdaptiveMethod):
    """Backward differentiation of orders 1 to 5, as in established programs, in absolute coordinates.

    Fixed steps have order 5. A turn of the fastest body takes at least six steps.
    """

    order: ClassVar[int] = 5
    includes: ClassVar[frozenset[Feature]] = SMOOTH | {"sampled controllers", "regularised friction"}

    def begin(self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace) -> "BDFRun":
        return BDFRun(mechanism, start, step=self.step, tolerance=self.tolerance, end=end, pace=pace)


class BDFRun(Run):
    """A running integration; see `Integrator`. The steps are those of flexmb/kernels/implicit/bdf.py. With fixed steps
    the order is five, and Radau IIA computes the first steps."""

    def __init__(
        self, mechanism: Mechanism, begin: Start, *, step: float | None, tolerance: float, end: float, pace: Pace
    ) -> None:
        state = begin.state
        self.equations = e = Equations(mechanism, state.q, state.angles, state.element_states)
        self._pace, self._matrices, flat = pace, Matrices(e), e.flat
        self._change, self._tolerance = pace.ahead(state.t)[0], tolerance
        span, nq, nv, nj, nz = end - state.t, len(state.q), len(state.w), flat.joint_rows, len(e.states)
        first = first_step(state.w, begin.wdot, flat.weight, tolerance, span)
        last = np.zeros(ENTRIES)
        last[[T, AGE, SMALLEST]] = state.t, TOO_OLD, np.inf
        last[SIZE] = whole(step, span) if step else START_PART**0.5 * first
        last[[FIXED, TOLERANCE, SAME]] = step is not None, LOCAL * tolerance, pace.same
        last[[ORDER, COUNT, USED]] = 1.0
        functions = mechanism.function_values(state.t)
        powers = np.zeros((5, 4))
        powers[4] = e.powers(functions, state.w, e.accelerations(functions, state.q, state.w)[1])
        e.warn_far_apart()
        self._plain, moving = e.plain, e.workspace.state_rates[:nz].copy()
        usual = usual_states(e, state, begin.wdot, begin.multipliers)
        self._run = run = pointed(
            BDFState(
                np.full(KEPT, state.t), np.zeros(KEPT), np.zeros((KEPT, nq)), np.zeros((KEPT, nv)),
                np.zeros((KEPT, nj)), np.zeros((KEPT, nz)), np.zeros((HIGHEST + 1, nv)), np.zeros((HIGHEST + 1, nv)),
                np.zeros((len(flat.modes), 3)), pieces(flat), begin.wdot.copy(), begin.multipliers.copy(), moving,
                usual, e.angles, e.expected, np.zeros(4), np.zeros(4), powers,
                self._matrices.formulas, np.tile(functions, (5, 1, 1)), np.zeros((nz, nv)), np.zeros(nv), np.zeros(nv),
                np.zeros(nv), np.zeros(nj), np.zeros(nz), np.zeros(nz), last,
            )
        )  # fmt: skip
        run.places[0], run.speeds[0], run.reactions[0], run.past[0] = state.q, state.w, begin.multipliers, e.states
        bdf_relative(flat, run)
        self._make_room()
        self._starter = RadauRun(mechanism, begin, step=step, tolerance=tolerance, end=end, pace=pace) if step else None

    def _make_room(self) -> None:
        self._factors = self._matrices.factors(1)
        self._scratch = self._matrices.factors(1) if self._matrices.apart else self._factors

    def prepare(self) -> None:
        """Compile the kernels before the integration is timed."""
        self._steps_to(float(self._run.last[T]))
        self._between(float(self._run.last[T]))
        if self._starter is not None:
            self._starter.prepare()
        self.equations.forget_failures()

    def now(self) -> Snapshot:
        """The motion at the end of the last step."""
        e, run = self.equations, self._run
        e.expect()
        e.states[:] = run.past[0]
        return sound_snapshot(e, float(run.last[T]), run.places[0].copy(), run.speeds[0].copy(), run.work.copy())

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of the integration, which took `cpu` seconds."""
        return statistics(self._run.last, cpu)

    def to(self, target: float) -> Snapshot:
        """Integrate to `target`; the motion there is interpolated within the last step and projected onto the
        joints.

        Raises `IntegratorError` when a fixed step rotates a body too far.
        """
        run, e, last = self._run, self.equations, self._run.last
        while (outcome := self._steps_to(target)) != REACHED:
            require_sound(e.mechanism.calls)
            t, h = float(last[T]), float(last[PLANNED])
            if outcome == ATTEND:
                self._attend(t, h)
            elif outcome == START:
                self._start(t, h)
            elif outcome == CROWDED:
                self._matrices.enlarge()
                self._make_room()
            elif outcome == TOO_FAST:
                raise self._too_fast(t, float(last[SIZE]))
            elif outcome == DIVERGED or (outcome == FAILED and last[FIXED]):
                h = h or float(last[SIZE]) / 0.25
                raise diverged(e, t, h, run.speeds[0], q=run.places[0], states=run.past[0])
        require_sound(e.mechanism.calls)
        if abs(target - last[T]) <= self._pace.same:
            return self.now()
        q, w = self._between(target)
        work = run.before.copy()
        integral(float(run.times[1]), float(run.times[0]), target, run.powers, work)
        return sound_snapshot(e, target, q, w, work)

    def _attend(self, t: float, h: float) -> None:
        """Evaluate the functions of time of the next attempt and, for a new matrix, derivatives of the states."""
        run, e = self._run, self.equations
        run.functions[:] = e.mechanism.function_table(t + h * np.array([0.0, 1.0, *LOBATTO[1:-1]]))
        if run.last[WANTED] and len(e.states):
            rate = np.empty_like(run.wdot)
            bdf_rate(e.flat, run, rate)
            e.expect()
            e.states[:] = run.past[0]
            self._matrices.follow_states(run.functions[0], run.places[0], run.slow[0], rate, run.multipliers)

    def _start(self, t: float, h: float) -> None:
        """Compute one of the first fixed steps with Radau IIA."""
        assert self._starter is not None
        run, e, m = self._run, self.equations, self._matrices
        self._attend(t, h)
        end = self._starter.to(t + h)
        bdf_keep(
            e.flat, run, m.saddle, self._scratch, m.apart, self._plain, h, end.q, end.w, end.wdot, end.multipliers,
            end.states, end.angles, e.kinematics, e.workspace,
        )  # fmt: skip

    def _too_fast(self, t: float, h: float) -> IntegratorError:
        """The error to raise when a fixed step of `h` rotates a body by more than `TURN`."""
        e, w = self.equations, self._run.speeds[0]
        return IntegratorError(
            f"In a step of {h:.3g} a body of {e.mechanism.name!r} rotates by "
            f"{fastest_rotation(e.flat, w) * h:.3g} rad at t = {t:.6g} "
            f"(the fastest is {fastest_body(e, w)!r}); backward differentiation requires "
            f"{TURN:g} rad or less. Give a smaller step=, or none for variable steps."
        )

    def _forget(self, next_size: float) -> None:
        """Forget steps that were far longer than the next one, at a change of a function of time.

        The error of a step is estimated from the motion over all steps of its formula. Where the accelerations have
        changed their character since, that of a short step after long ones would be underestimated by their ratio.
        """
        run, last = self._run, self._run.last
        lengths, known = -np.diff(run.times), int(last[COUNT])
        kept = 1 + int(np.argmax(np.append(lengths[: known - 1] > LONGER * next_size, True)))
        if kept < known and not last[FIXED]:
            last[COUNT], last[ORDER], last[GOOD] = kept, min(last[ORDER], kept), 0.0
            span = first_step(run.speeds[0], run.wdot, self.equations.flat.weight, self._tolerance, next_size)
            last[SIZE] = START_PART**0.5 * span if kept == 1 else last[SIZE]
            bdf_relative(self.equations.flat, run)

    def _steps_to(self, target: float) -> int:
        t, size = (float(self._run.last[k]) for k in (T, SIZE))
        change, longest = self._pace.ahead(t)
        if change != self._change and t < target - self._pace.same:
            self._change = change
            self._forget(min(size, longest, change - t))
        m, e = self._matrices, self.equations
        return int(
            bdf_steps(
                e.flat, self._run, m.saddle, self._factors, self._scratch, m.apart, self._plain, m.attended, target,
                change, longest, e.kinematics, e.workspace,
            )
        )  # fmt: skip

    def _between(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocities at a time within the last step; `equations.states` are those there."""
        e, run, m = self.equations, self._run, self._matrices
        q, w = np.empty(run.places.shape[1]), np.empty_like(run.wdot)
        functions = e.mechanism.function_values(t)
        bdf_between(
            e.flat, run, m.saddle, self._scratch, m.apart, t, functions, e.kinematics, e.workspace, q, w, e.states
        )
        return q, w

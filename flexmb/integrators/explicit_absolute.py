"""Explicit Runge-Kutta steps with projection, for mechanisms without fast vibration.

The equations of motion are solved for accelerations. After every step, positions and velocities are projected onto the
joint equations by the least change in the mass metric, which does no work on admissible motions. Rigid motions are
integrated in the exponential coordinates of each step.

Sources: Dormand and Prince, J. Comput. Appl. Math. 6 (1980) 19-26 (order 5 with an error estimate of order 4); Sofer,
Bach, Brauchli, "Dynamics of constrained systems based on mass-orthogonal projections" (NATO ASI 1993); Munthe-Kaas,
High order Runge-Kutta methods on manifolds (1999).
"""

import numpy as np
import scipy

from fem.errors import FlexmbError
from flexmb.equations.evaluation import Equations
from flexmb.equations.failures import diverged, sound_snapshot
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.state_tangent import usual_states
from flexmb.equations.time_features import Pace
from flexmb.integrators.integrator import Run, Steps, first_step
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import Statistics

FARTHEST = 10.0
"""Rotation, elastic motion or deviation from uniform motion in a step, in lengths of the mechanism or radians, beyond
which the step has diverged."""
UNSTABLE = 10_000
"""Number of steps for one stored time, without those limited by functions of time, beyond which the integration stops:
the mechanism probably has fast vibration, which limits the stability of the method."""


def translations(v_start: np.ndarray) -> np.ndarray:
    """A mask (nv,) of the velocities that are translations of body frames."""
    found = np.zeros(v_start[-1], dtype=bool)
    for start in v_start[:-1]:
        found[start : start + 3] = True
    return found


class ExplicitAbsoluteRun(Run):
    """A running integration; see `Integrator`. Steps end at the stored times."""

    def __init__(
        self, mechanism: Mechanism, begin: Start, *, step: float | None, tolerance: float, end: float, pace: Pace
    ) -> None:
        state = begin.state
        self.equations = e = Equations(mechanism, state.q, state.angles, state.element_states)
        self.tolerance, self.end, self.fixed, self.pace = tolerance, end, step, pace
        self.t, self.q, self.v, self.weight = state.t, state.q.copy(), state.w.copy(), e.flat.weight
        self._wdot, self._multipliers, self.work = begin.wdot.copy(), begin.multipliers.copy(), np.zeros(4)
        self._size = step or first_step(state.w, begin.wdot, e.flat.weight, tolerance, end - state.t)
        self._steps = Steps()
        self._uniform = translations(e.flat.v_start)
        self._states, self._largest = e.states.copy(), np.abs(e.states)  # of elements, and what their errors refer to
        if step is None and len(e.states):
            self._largest = usual_states(e, state, begin.wdot, begin.multipliers)

    def prepare(self) -> None:
        """Compile the kernels before the integration is timed."""
        self._rates(self.t, np.zeros_like(self.v), self.v)
        self._take(np.zeros_like(self.v), self.v)

    def now(self) -> Snapshot:
        """The motion at the end of the last step."""
        self.equations.expect()
        self.equations.states[:] = self._states
        return sound_snapshot(self.equations, self.t, self.q, self.v, self.work)

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of the integration, which took `cpu` seconds."""
        return self._steps.statistics(cpu)

    def to(self, target: float) -> Snapshot:
        """Integrate to `target`, where the last step ends."""
        taken = 0
        while self.t < target - self.pace.same:
            change, longest = self.pace.ahead(self.t)
            left, free = min(target, change) - self.t, min(self._size, longest)
            h = left / np.ceil(left / free * (1 - 1e-9))
            error = self._step(h)
            taken += free < longest
            lost = self.fixed is not None and error > 1
            if lost or np.isnan(error) or h < 0.1 * self.pace.same or taken > UNSTABLE:
                raise self._lost(h)
            self._steps.rejected += error > 1
            if self.fixed is None:
                growth = float(np.clip(0.9 * max(error, 1e-6) ** -0.2, 0.2, 5.0))
                self._size = h * growth if error > 1 else max(self._size, h) if 1 <= growth < 1.1 else h * growth
        return self.now()

    def _step(self, h: float) -> float:
        """Attempt a step; returns its error relative to the tolerance.

        The error is 0 for fixed steps and infinite if the step diverges. A step with an error above 1 is rejected. The
        errors of the states of elements are relative to their largest values so far, or to their usual ones.
        """
        nv, weight, states = len(self.v), self.weight, self.equations.states
        tableau = scipy.integrate.RK45  # of Dormand and Prince; the last error weight belongs to the end of the step
        A, B, C, E = tableau.A, tableau.B, tableau.C, tableau.E
        theta, velocity, work = np.zeros((7, nv)), np.zeros((7, nv)), np.zeros((7, 4))
        changing = np.zeros((7, len(states)))
        for stage in range(6):
            offset = h * (A[stage, :stage] @ theta[:stage]) if stage else np.zeros(nv)
            v = self.v + h * (A[stage, :stage] @ velocity[:stage]) if stage else self.v
            if self._runs_away(h, v):
                return np.inf
            states[:] = self._states + h * (A[stage, :stage] @ changing[:stage]) if stage else self._states
            theta[stage], velocity[stage], work[stage] = self._rates(self.t + C[stage] * h, offset, v)
            changing[stage] = self._state_rates()
        moved, faster = h * (B @ theta[:6]), self.v + h * (B @ velocity[:6])
        reached = self._states + h * (B @ changing[:6])
        if self._runs_away(h, faster):
            return np.inf
        error = 0.0
        states[:] = reached
        if self.fixed is None:
            theta[6], velocity[6], _ = self._rates(self.t + h, moved, faster)
            changing[6] = self._state_rates()
            error = float(
                max((np.abs(h * (E @ theta)) * weight).max(), h * (np.abs(h * (E @ velocity)) * weight).max())
            )
            scale = np.maximum(self._largest, np.abs(reached))
            off = np.divide(np.abs(h * (E @ changing)), scale, out=np.zeros(len(scale)), where=scale > 0)
            error = max(error, float(off.max(initial=0.0))) / self.tolerance
        if error > 1.0:
            return error
        self.t += h
        self._states, self._largest = reached, np.maximum(self._largest, np.abs(reached))
        self.work = self.work + h * (B @ work[:6])
        self._take(moved, faster)
        self._steps.take(1, h)
        return error

    def _runs_away(self, h: float, v: np.ndarray) -> bool:
        """Whether a step with velocities `v` diverges; uniform translations are not limited."""
        return not h * (np.abs(v - self._uniform * self.v) * self.weight).max(initial=0.0) < FARTHEST

    def _take(self, moved: np.ndarray, faster: np.ndarray) -> None:
        """Accept a step: displace the configuration by `moved` (nv,), set the velocities `faster` (nv,) and project
        both onto the joint equations."""
        e = self.equations
        e.expect(moved)
        self.q, self.v = e.project(self.t, e.displaced(self.q, moved), faster, self._wdot, self._multipliers)
        e.keep_angles(e.mechanism.function_values(self.t))

    def _state_rates(self) -> np.ndarray:
        """The rates (nz,) of the states of elements where `_rates` was evaluated last."""
        return self.equations.workspace.state_rates

    def _lost(self, h: float) -> FlexmbError:
        return diverged(self.equations, self.t, h, self.v, q=self.q, states=self._states, explicit=True)

    def _rates(self, t: float, theta: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rates of the exponential coordinates and of the velocities (nv,), and powers (4,)."""
        e = self.equations
        functions = e.mechanism.function_values(t)
        q = e.displaced(self.q, theta)
        e.expect(theta)
        wdot, multipliers = e.accelerations(functions, q, w)  # the residual was evaluated at this state
        return e.exponential_rates(theta, w), wdot, e.powers(functions, w, multipliers)

"""An integration with the generalised-alpha method (flexmb/integrators/generalised_alpha.py) in progress."""

import warnings
from dataclasses import replace

import numpy as np

from fem.errors import ConvergenceError
from flexmb.equations.contact.skins import look_at_points, no_forces, require_apart
from flexmb.equations.evaluation import Equations
from flexmb.equations.failures import diverged, no_mass
from flexmb.equations.initial_conditions import Start, consistent_state
from flexmb.equations.projection import as_sparse, velocity_rows
from flexmb.equations.snapshot import Snapshot, Snapshots
from flexmb.equations.spanning_tree import integrated_tree
from flexmb.equations.time_features import Pace
from flexmb.errors import RingingReactionsWarning
from flexmb.integrators.explicit_absolute import ExplicitAbsoluteRun
from flexmb.integrators.integrator import Run, Steps, first_step
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.law_call import require_sound
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.calls import (
    advance,
    advance_stored,
    joint_poses,
    joint_velocities,
    place_bodies,
    place_markers,
    row_rates,
)
from flexmb.kernels.joint_coordinates.tree import Tree
from flexmb.kernels.steps.step import (
    CONVERGED,
    DEGREE,
    DIVERGED,
    ERROR,
    ITERATIONS,
    JAMMED,
    KNOWN,
    NO_MASS,
    ORDER,
    RATE,
    RUBBING,
    SIZE,
    TOO_LARGE,
    UNSUITED,
    WORST,
    IntegratorState,
    Scheme,
)
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.results.result import Statistics

UNDAMPED = 1e-3
"""`gamma - 1/2`, the numerical damping, below which errors of the joint equations are not damped."""
RINGING = 1e-2
"""Largest permitted alternating part of the accelerations that violate the joint equations, relative to their bound."""
SUDDEN = 10.0
"""Growth of the step size above which the method restarts."""
BRIEF, LEAP_TOLERANCE = 1e-4, 1e-10
"""Length of an interval, relative to the step, below which an explicit method integrates it, and the tolerance of that
method."""
KEPT = [ITERATIONS, RUBBING]
"""What goes on through a jump of the forces, of the entries of `IntegratorState.last`."""
LONGEST_BLOCK = 64
"""Largest number of steps without a change of the step size; the functions of time are evaluated for all of them in
advance."""
LONGEST_RUN = 2**16
"""Largest number of fixed steps in one call of the compiled loop, for which functions of time are tabulated at once."""


class GeneralisedAlphaRun(Run):
    """An integration in progress, with the arrays that `advance` changes.

    Steps are fixed if `step` is given. Otherwise they vary such that the local error of positions stays below
    `tolerance`.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        begin: Start,
        scheme: Scheme,
        *,
        step: float | None,
        tolerance: float,
        longest: float,
        project: bool = False,
        coordinates: str = "absolute",
        pace: Pace | None = None,
    ) -> None:
        state = begin.state
        self.equations = Equations(mechanism, state.q, state.angles, state.element_states)
        self.flat, self.scheme, self.project = self.equations.flat, scheme, project
        self.equations.share_loops()
        self.step, self.tolerance, self.t = step, tolerance, state.t
        self._at_end = mechanism.function_values(self.t)
        self.tree = integrated_tree(mechanism, coordinates)
        self.weight = self.tree.weight
        self._turns, self._carried = _commuting_not(self.tree)
        self._put(begin)
        self.equations.warn_far_apart()
        require_apart(self.equations)
        self._size = first_step(state.w, begin.wdot, self.flat.weight, tolerance, longest) if step is None else step
        self._brief = BRIEF * self._size
        self._steps, self._pace = Steps(), pace
        self._size = self._starting(self._size)
        self._without_damping = self._undamped = scheme.gamma - 0.5 < UNDAMPED

    def _starting(self, h: float) -> float:
        """The largest step up to `h` with which to start here: initial values use the motion over two steps, which must
        not contain a change of a function of time or the end of the run."""
        if self._pace is None:
            return h
        change, most = self._pace.ahead(self.t)
        return min(h, most, 0.5 * max(change - self.t, self._pace.same))

    def jump(self, before: Start, after: Start) -> None:
        """Continue after a jump of the forces at the present time, from the initial conditions before and after it.

        What the motion differs by from the initial values before the jump is kept. It is small where the step resolves
        the motion. In vibrations that it does not resolve, the method damps its own accelerations and velocities;
        initial values, which are those of the displacements, would feed these vibrations at each jump.
        """
        h, going_on = self._starting(self.motion.last[SIZE]), self.motion.last[KEPT]
        present = [x.copy() for x in _derivatives(self.motion)]
        self.t, self._at_end = after.state.t, self.equations.mechanism.function_values(after.state.t)
        self.equations.angles[:] = after.state.angles
        starts = []
        for begin in (before, after):
            self._put(begin)
            self._start(h)
            starts.append(_derivatives(self.motion))
        for x, start, now in zip(starts[1], starts[0], present, strict=True):
            x += now - start
        self._evaluate()
        self.motion.powers[0] = self._powers()
        self.motion.last[KEPT] = going_on

    def _put(self, begin: Start) -> None:
        """Set the motion and its powers to initial conditions."""
        self._begin = begin
        if len(begin.state.element_states):
            self.equations.states[:] = begin.state.element_states
        self.motion = self._motion(begin)
        if len(self.flat.facet_nodes):  # which nodes share the forces of two surfaces must have settled
            look_at_points(self.equations, begin.state.q)
        self._evaluate()
        self.motion.state_rates[:] = self.equations.workspace.state_rates
        self.motion.powers[0] = self._powers()

    def _powers(self) -> np.ndarray:
        """The powers (4,) of the present motion, whose equations of motion were evaluated in the workspace."""
        return self.equations.powers(self._at_end, self.motion.w, self.motion.multipliers)

    def _motion(self, begin: Start) -> IntegratorState:
        """The arrays of the motion at initial conditions, in absolute or joint coordinates."""
        e, q, w, wdot = self.equations, begin.state.q.copy(), begin.state.w.copy(), begin.wdot.copy()
        ny, pose = len(self.weight), np.zeros((len(self.flat.modes), 7))
        place_markers(self.flat, q, e.kinematics)
        joint_poses(self.flat, self.tree, e.kinematics, q, pose)
        v = self._in_joints(q, w)
        vdot = self._in_joints(q, wdot - self._placed(pose, q, np.zeros(ny), v, np.zeros(ny))[2])
        return pointed(
            IntegratorState(
                q=q,
                w=w,
                wdot=wdot,
                v=v,
                vdot=vdot,
                a=vdot.copy(),
                pose=pose,
                next_v=np.zeros(ny),
                next_vdot=np.zeros(ny),
                next_a=np.zeros(ny),
                next_pose=np.zeros_like(pose),
                increment=np.zeros(ny),
                correction=np.zeros(ny),
                multipliers=begin.multipliers.copy(),
                states=e.states,
                state_rates=np.zeros(len(e.states)),
                past_rates=np.zeros(len(e.states)),
                largest_states=np.abs(e.states),
                angles=e.angles,
                expected=e.expected,
                powers=np.zeros((2, 4)),
                work=np.zeros(4),
                past=np.zeros((DEGREE, ny)),
                last=np.zeros(WORST + 1),
            )
        )

    def _in_joints(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Velocities, or changes of accelerations, in the integrated coordinates, at `q`."""
        out = np.zeros(len(self.weight))
        place_markers(self.flat, q, self.equations.kinematics)
        joint_velocities(self.flat, self.tree, self.equations.kinematics, q, x, out)
        return out

    def _placed(
        self, pose: np.ndarray, q: np.ndarray, increment: np.ndarray, v: np.ndarray, vdot: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Absolute configuration, velocities and accelerations, from the integrated coordinates that are moved by
        `increment` from `pose` and `q`."""
        moved = np.empty_like(q)
        w, wdot = np.zeros(len(self.flat.weight)), np.zeros(len(self.flat.weight))
        place_bodies(self.flat, self.tree, pose, q, increment, v, vdot, q, np.empty_like(pose), moved, w, wdot)
        return moved, w, wdot

    def _evaluate(self) -> np.ndarray:
        """The energies at the present state; its equations of motion are evaluated in the workspace."""
        m = self.motion
        self.equations.expect()
        return self.equations.residual(self._at_end, m.q, m.w, m.wdot, m.multipliers)[1]

    def now(self) -> Snapshot:
        """The present motion; with `project`, its velocities satisfy the joint equations.

        The velocities of the method violate them by a term proportional to the square of the step, which the method
        requires for the accuracy of its reactions.
        """
        m, e = self.motion, self.equations
        energies, w = self._evaluate(), m.w
        if self._undamped:
            self._listen()
        if self.project and self.flat.joint_rows:
            w = w - e.mass_weighted_projection(e.broken_rates(self._at_end, w))
            energies = e.residual(self._at_end, m.q, w, m.wdot, m.multipliers)[1]
        angles = e.angles_there(self._at_end)
        return Snapshot(self.t, m.q, w, m.wdot, m.multipliers, m.work, energies, angles, states=e.states.copy())

    def _listen(self) -> None:
        """Warn, once, when the accelerations that violate the joint equations alternate from step to step.

        The Jacobian of the joint equations is that of their last evaluation.
        """
        m, flat = self.motion, self.flat
        if not flat.joint_rows or m.last[KNOWN] < DEGREE:
            return
        third = (m.a - m.past[2] - 3.0 * (m.past[0] - m.past[1])) / 8.0
        G, none = as_sparse(flat, self.equations.workspace.G)[: flat.joint_rows], np.zeros_like(third)
        alternating, whole = (self._placed(m.pose, m.q, none, x, none)[1] for x in (third, m.a))
        possible = float((np.abs(whole) * flat.weight).max()) * (abs(G) @ (1 / flat.weight))
        if (np.abs(G @ alternating) > RINGING * possible).any():
            self._undamped = False
            warnings.warn(
                f"The reactions of {self.equations.mechanism.name!r} oscillate from step to step at t = {self.t:.6g}. "
                "Without numerical damping (rho_inf = 1) the error of the joint equations is undamped and grows until "
                "the simulation fails. Use rho_inf = 0.95 or less, or coordinates='joint' for a tree of joints.",
                RingingReactionsWarning,
                stacklevel=2,
            )

    def prepare(self) -> None:
        """Compile the step, unless the library of the package contains it, and set the initial values of the method."""
        self._run(1.0, np.zeros((0, *self._at_end.shape)))
        self._start(self._size)

    def _start(self, h: float) -> None:
        """Set initial values of second order for steps of `h` (Arnold, Brüls and Cardona 2015).

        The accelerations of the method are approximations at the time `t + (alpha_m - alpha_f) h`. The velocities
        receive the component of order h^2 that violates the constraints, as the velocities of the method do. It follows
        from the local error of the increment, which is `h v + h^2/2 vdot + h^3 (vddot / 6 + [v, vdot] / 12)` for the
        exact motion (Magnus expansion).
        """
        e, flat, scheme, motion = self.equations, self.flat, self.scheme, self.motion
        c = scheme.alpha_m - scheme.alpha_f
        rate = self._jerk(h)
        motion.a[:] += c * h * rate
        motion.last[SIZE] = h
        if nj := flat.joint_rows:
            q, none, across = self._begin.state.q, np.zeros_like(rate), np.zeros(len(flat.row_kind))
            self._evaluate()
            local = (1 / 6 - scheme.beta - c / 2) * rate + self._commutator(motion.v, motion.vdot) / 12
            row_rates(flat, e.workspace.G, self._placed(motion.pose, q, none, local, none)[1], across)
            across[velocity_rows(flat)] = 0.0  # the velocities of the method satisfy these
            motion.v[:] += h * h * self._in_joints(q, e.mass_weighted_projection(across[:nj]))
            motion.w[:] = self._placed(motion.pose, q, none, motion.v, motion.vdot)[1]

    def _commutator(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The commutator `[x, y]` (ny,) of velocities in the integrated coordinates.

        Its components are not zero for rotations about three axes and for pivots with a carrier; all others commute.
        """
        out, k, (moved, turn) = np.zeros_like(x), self._turns, self._carried
        if len(k):
            out[k] = np.cross(x[k], y[k])
        if len(moved):
            out[moved] = np.cross(x[turn], y[moved]) + np.cross(x[moved], y[turn])
        return out

    def _jerk(self, h: float) -> np.ndarray:
        """The rate (ny,) of the initial accelerations, from one-sided differences over `2 h` (second order).

        With the initial accelerations at the time to which those of the method belong, the method is second-order
        accurate from the first step (Arnold, Brüls and Cardona 2015).
        """
        m, mechanism, t = self.motion, self.equations.mechanism, self._begin.state.t
        rates, states = [m.vdot.copy()], m.states.copy()
        for s in (h, 2 * h):
            v = m.v + s * m.vdot
            q, w, bias = self._placed(m.pose, m.q, s * m.v + 0.5 * s * s * m.vdot, v, np.zeros_like(v))
            self.equations.expect(s * m.w)
            self.equations.states[:] = states + s * m.state_rates
            wdot = self.equations.accelerations(mechanism.function_values(t + s), q, w)[0]
            rates.append(self._in_joints(q, wdot - bias))
        self.equations.expect()
        self.equations.states[:] = states
        return np.asarray(-3 * rates[0] + 4 * rates[1] - rates[2]) / (2 * h)

    def to(self, target: float) -> Snapshot:
        """Integrate to the time `target`."""
        if self.step is not None and 0 < target - self.t < self._brief:
            self._leap(target)
        elif self.step is not None:
            self.fixed(target, self.step)
        else:
            while self.t < target:
                self._adaptive(target)
        return self.now()

    def several(self, targets: np.ndarray) -> Snapshots | None:
        """Integrate to as many of the `targets` (nt,), the next times, as one call of the compiled loop takes, and
        return the motion there; None if `to` is needed."""
        if self.step is None or self.project or self._undamped:
            return None
        ends = np.concatenate([[self.t], targets[:LONGEST_BLOCK]])
        spans = np.diff(ends)
        steps = np.maximum(1, np.ceil(spans / self.step * (1 - 1e-9)))
        sizes, last = spans / steps, self.motion.last[SIZE]
        alike = (steps == steps[0]) & (np.abs(sizes - last) <= 1e-9 * sizes) & (spans >= self._brief)
        count = min(int(np.argmin(np.append(alike, False))), max(1, LONGEST_BLOCK // int(steps[0])))
        if count < 2:
            return None
        h, e = sizes[:count], self.equations
        times = ends[:count, None] + h[:, None] * np.arange(1, int(steps[0]) + 1)
        functions = e.mechanism.function_table(times.ravel())
        rows = Snapshots.empty(ends[1 : count + 1], self.motion, len(e.angles))
        outcome, stored, done = advance_stored(
            self.flat,
            self.tree,
            self.weight,
            self.scheme,
            h,
            functions.reshape(*times.shape, *functions.shape[1:]),
            self.motion,
            e.kinematics,
            e.workspace,
            rows.q,
            rows.w,
            rows.wdot,
            rows.multipliers,
            rows.work,
            rows.energies,
            rows.angles,
            rows.states,
        )
        require_sound(e.mechanism.calls)
        complete = stored * int(steps[0]) + done
        self._steps.take(complete, float(h.max()))
        if complete:
            self._at_end = functions[complete - 1]
        self.t = float(ends[stored]) + done * float(h[0])
        if outcome != CONVERGED:
            self._fail(outcome, self.step)
        return rows

    def statistics(self, cpu: float) -> Statistics:
        """The numbers of steps and iterations, for a computing time of `cpu` seconds."""
        self._steps.iterations = int(self.motion.last[ITERATIONS])
        return self._steps.statistics(cpu)

    def _run(self, h: float, functions: np.ndarray, tolerance: float = np.inf) -> tuple[int, int]:
        e = self.equations
        outcome: tuple[int, int] = advance(
            self.flat,
            self.tree,
            self.weight,
            self.scheme,
            h,
            len(functions),
            tolerance,
            functions,
            self.motion,
            e.kinematics,
            e.workspace,
        )
        return outcome

    def _advance(self, h: float, steps: int, tolerance: float = np.inf) -> tuple[int, int]:
        if abs(h - self.motion.last[SIZE]) > 1e-9 * h:
            self._change_step(h)
        functions = self.equations.mechanism.function_table(self.t + h * np.arange(1, steps + 1))
        outcome, done = self._run(h, functions, tolerance)
        self.t += h * done
        if done:
            self._at_end = functions[done - 1]
        self._steps.take(done, h)
        return outcome, done

    def _change_step(self, h: float) -> None:
        """Convert the accelerations of the method and the velocities to a new step size.

        The accelerations belong to the time `t + (alpha_m - alpha_f) h`, and the velocities violate the constraints by
        a term proportional to `h^2`. Without the correction, a change of the step size causes an error of order one in
        the multipliers. After a much shorter step, the correction would consist of round-off errors, amplified by the
        square of the ratio, and the method restarts instead.
        """
        ratio = h / self.motion.last[SIZE]
        if ratio > SUDDEN:
            self._restart(self._here(), np.zeros(4), h)
            ratio = h / self.motion.last[SIZE]
        motion = self.motion
        self._change_rates(ratio * ratio - 1.0)
        motion.a[:] = motion.vdot + (motion.a - motion.vdot) * ratio
        motion.last[SIZE] = h
        motion.last[ERROR] *= min(ratio, 1.0) ** 3  # the Newton iteration relies on it
        motion.last[KNOWN] = motion.last[ORDER] = motion.last[RATE] = 0.0

    def _change_rates(self, factor: float) -> None:
        """Change the violation of the joint equations by the velocities, by `factor` times its value, with the change
        of least kinetic energy."""
        if self.flat.joint_rows:
            self._evaluate()
            m = self.motion
            change = self.equations.mass_weighted_projection(factor * self.equations.broken_rates(self._at_end, m.w))
            m.v[:] += self._in_joints(m.q, change)
            m.w[:] += change

    def _here(self) -> State:
        """The present state."""
        return self.now().state

    def _started(self, state: State) -> Start:
        return consistent_state(replace(self.equations.mechanism, initial=state, start_rows=()))

    def _restart(self, state: State, work: np.ndarray, h: float) -> None:
        """Restart from a state with steps of up to `h`; `work` (4,) is the work done between the present state and
        it."""
        work, iterations = self.motion.work + work, self.motion.last[ITERATIONS]
        self.t, self._at_end = state.t, self.equations.mechanism.function_values(state.t)
        begin = self._started(state)
        self.equations.angles[:] = begin.state.angles
        self._put(begin)
        self.motion.work[:] = work
        self._start(self._starting(h))
        self.motion.last[ITERATIONS] = iterations

    def _leap(self, target: float) -> None:
        """Integrate an interval that is much shorter than a step by an explicit method.

        In the accelerations of generalised-alpha, the round-off errors of the joint equations are divided by the square
        of the step.
        """
        state = self._here()
        run = ExplicitAbsoluteRun(
            self.equations.mechanism,
            self._started(state),
            step=None,
            tolerance=LEAP_TOLERANCE,
            end=target,
            pace=Pace((), state.t, target),
        )
        s = run.to(target)
        self._steps.take(1, target - state.t)
        self._restart(replace(s.state, t=target), s.work, self.motion.last[SIZE])

    def fixed(self, target: float, step: float) -> None:
        """Integrate to `target` by equal steps that are at most `step` long."""
        steps = max(1, int(np.ceil((target - self.t) / step * (1 - 1e-9))))
        h = (target - self.t) / steps
        for first in range(0, steps, LONGEST_RUN):
            outcome, _ = self._advance(h, min(LONGEST_RUN, steps - first))
            if outcome != CONVERGED:
                self._fail(outcome, step)
        self.t = target

    def _adaptive(self, target: float) -> None:
        """Integrate to `target`, or to an earlier change of a function of time, by steps with error estimates below the
        tolerance."""
        block, longest = 1, np.inf
        if self._pace is not None:
            change, longest = self._pace.ahead(self.t)
            target = min(target, change)
        self._size = min(self._size, longest)
        if 0 < target - self.t < max(self._brief, BRIEF * self._size):
            self._leap(target)
        while self.t < target:
            remaining = target - self.t
            left = int(np.ceil(remaining / self._size * (1 - 1e-9)))
            h = remaining / left
            if h < 1e-14 * max(abs(target), remaining):
                self._fail(DIVERGED, h)
            outcome, done = self._advance(h, min(left, block), self.tolerance)
            if outcome == NO_MASS:
                self._fail(outcome, h)
            if done == left:
                self.t = target
            error = self.motion.last[WORST] / self.tolerance if outcome != DIVERGED else np.inf
            block = min(2 * block, LONGEST_BLOCK) if outcome == CONVERGED else 1
            if outcome in (DIVERGED, TOO_LARGE):
                self._steps.rejected += 1
                self._size = h * (max(0.2, 0.9 * error ** (-1 / 3)) if np.isfinite(error) else 0.25)
            elif outcome == UNSUITED and h > 0.5 * self._size:
                self._size = min(longest, h * min(1.5, 0.9 * max(error, 1e-4) ** (-1 / 3)))

    def _fail(self, outcome: int, h: float) -> None:
        if outcome == NO_MASS:
            raise no_mass(self.equations, self.t)
        if outcome == JAMMED:
            raise no_forces(self.equations, self.t, h)
        error = diverged(self.equations, self.t, h, self.motion.w, diagonal=True)
        if self._without_damping and self.flat.joint_rows and isinstance(error, ConvergenceError):
            raise ConvergenceError(
                f"The Newton iteration of {self.equations.mechanism.name!r} fails at t = {self.t:.6g}. The likely "
                "cause is rho_inf = 1: without numerical damping the error of the joint equations grows from step to "
                "step, at any step size. Use rho_inf = 0.95 or less, or coordinates='joint' for a tree of joints."
            ) from error
        raise error


def _derivatives(motion: IntegratorState) -> tuple[np.ndarray, ...]:
    """The velocities, accelerations and multipliers of a motion."""
    return motion.v, motion.w, motion.vdot, motion.wdot, motion.a, motion.multipliers


def _commuting_not(tree: Tree) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """The places (n, 3) of velocities that do not commute: rotations about three axes; and pivots with a carrier,
    beside the rotation of this."""
    turns, moved, carriers = [], [], []
    for b, start in enumerate(tree.start[:-1]):
        axes = list(tree.axes[tree.axis_start[b] : tree.axis_start[b + 1]])
        if axes[-3:] == [3, 4, 5]:
            turns.append(start + len(axes) - 3)
        if tree.carrier[b] != GROUND:
            moved.append(start)
            carriers.append(tree.start[tree.carrier[b]] + 3)
    places, pivots, rotations = (np.add.outer(np.array(x, dtype=int), np.arange(3)) for x in (turns, moved, carriers))
    return places, (pivots, rotations)

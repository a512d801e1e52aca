"""Generalised-alpha on the Lie group of rigid motions, index 3; the loop itself is compiled (flexmb/kernels/step.py).

Sources: Chung, Hulbert (1993) for the coefficients; Bruls, Cardona, Arnold, "Lie group generalized-alpha time
integration of constrained flexible multibody systems" (2012); Arnold, Bruls, Cardona (2015) for start values of
second order.
"""

import numpy as np

from flexmb.initial import Start, least_change, row_jacobian
from flexmb.integrators.equations import Equations
from flexmb.integrators.integrator import IntegratorError, Steps, first_step
from flexmb.integrators.snapshot import Snapshot
from flexmb.joint_tree import tree_of
from flexmb.kernels.pointed import pointed
from flexmb.kernels.rows import place_markers
from flexmb.kernels.step import (
    CONVERGED,
    DEGREE,
    DIVERGED,
    ERROR,
    ITERATIONS,
    KNOWN,
    NO_MASS,
    ORDER,
    RATE,
    SIZE,
    TOO_LARGE,
    UNSUITED,
    Motion,
    Scheme,
    advance,
    displace,
)
from flexmb.kernels.tree import joint_poses, joint_velocities, place_bodies
from flexmb.mechanism import Mechanism
from flexmb.result import Statistics

LONGEST_BLOCK = 64
"""Steps between looks at the step size, for which the functions of time are evaluated ahead."""


def coefficients(
    rho_inf: float = 0.9, *, newton_tolerance: float = 1e-8, iterations: int = 20, hht: bool = False
) -> Scheme:
    """Coefficients for a spectral radius `rho_inf` at infinite frequency; `hht`: those of Hilber, Hughes and Taylor (1977), which damp low frequencies more for the same `rho_inf`.

    Smaller values damp what the step does not resolve. `rho_inf = 1` has no numerical damping at all: right for bodies
    without drivers, but the multipliers of joints then ring without decay. Second-order accurate for every value in
    [0, 1) (index 3: also in the multipliers). `newton_tolerance`: error of the accelerations that the Newton iteration
    leaves, relative to the largest.
    """
    if not 0.0 <= rho_inf <= 1.0:
        raise IntegratorError(f"rho_inf is a spectral radius between 0 and 1; found {rho_inf}.")
    if not 0.0 < newton_tolerance < 1e-2:
        raise IntegratorError(
            f"newton_tolerance is relative to the accelerations, above 0 and well below 1e-2; found {newton_tolerance}."
        )
    if hht and rho_inf < 0.5:
        raise IntegratorError(f"The HHT method reaches spectral radii from 0.5 to 1; found rho_inf = {rho_inf}.")
    alpha_m = 0.0 if hht else (2 * rho_inf - 1) / (rho_inf + 1)
    alpha_f = (1 - rho_inf) / (1 + rho_inf) if hht else rho_inf / (rho_inf + 1)
    gamma = 0.5 + alpha_f - alpha_m
    beta = 0.25 * (gamma + 0.5) ** 2
    error = abs(1 / 6 - beta - (alpha_m - alpha_f) / 2)
    return Scheme(alpha_m, alpha_f, beta, gamma, error, newton_tolerance, iterations)


class GeneralisedAlpha:
    """A running integration: the arrays that `advance` moves. With `step` fixed steps, otherwise the local error of the positions stays below `tolerance`."""

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
    ) -> None:
        state = begin.state
        self.equations = Equations(mechanism, state.q)
        self.flat, self.scheme, self.project = self.equations.flat, scheme, project
        self.step, self.tolerance, self.t = step, tolerance, state.t
        self._at_end = mechanism.function_values(self.t)
        self.tree = tree_of(mechanism) if coordinates == "joint" else None
        self.weight = self.flat.weight if self.tree is None else self.tree.weight
        self.motion = self._motion(begin)
        self._evaluate()
        self.motion.powers[0] = self.equations.powers(self._at_end, state.w, begin.multipliers)
        self._size = first_step(state.w, begin.wdot, self.flat.weight, tolerance, longest) if step is None else step
        self._steps, self._begin = Steps(), begin

    def _motion(self, begin: Start) -> Motion:
        """At the start, in absolute or joint coordinates."""
        e, q, w, wdot = self.equations, begin.state.q.copy(), begin.state.w.copy(), begin.wdot.copy()
        nb = len(self.flat.modes)
        pose, v, vdot, next_v, next_vdot, correction = np.zeros((0, 7)), w, wdot, e.terms.w, e.terms.wdot, e.terms.x
        if self.tree is not None:
            place_markers(self.flat, q, e.places)
            pose = np.zeros((nb, 7))
            joint_poses(self.flat, self.tree, e.places, q, pose)
            v, vdot = self._in_joints(q, w), np.zeros(len(self.weight))
            vdot = self._in_joints(q, wdot - self._placed(pose, q, np.zeros_like(v), v, vdot)[2])
            next_v, next_vdot, correction = np.zeros_like(v), np.zeros_like(v), np.zeros_like(v)
        ny = len(v)
        return pointed(Motion(
            q=q, w=w, wdot=wdot, v=v, vdot=vdot, a=vdot.copy(), pose=pose, next_v=next_v, next_vdot=next_vdot, next_a=np.zeros(ny), next_pose=np.zeros_like(pose),
            increment=np.zeros(ny), correction=correction, multipliers=begin.multipliers.copy(), angle_memory=e.angles, powers=np.zeros((2, 4)),
            work=np.zeros(4), past=np.zeros((DEGREE, ny)), last=np.zeros(8),
        ))  # fmt: skip

    def _in_joints(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Velocities, or changes of accelerations, in the coordinates that are integrated, at `q`."""
        if self.tree is None:
            return x
        out = np.zeros(len(self.weight))
        place_markers(self.flat, q, self.equations.places)
        joint_velocities(self.flat, self.tree, self.equations.places, q, x, out)
        return out

    def _placed(
        self, pose: np.ndarray, q: np.ndarray, increment: np.ndarray, v: np.ndarray, vdot: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Absolute configuration, velocities and accelerations from the coordinates that are integrated, moved by `increment` from `pose` and `q`."""
        moved = np.empty_like(q)
        if self.tree is None:
            displace(self.flat, q, increment, moved)
            return moved, v, vdot
        w, wdot = np.zeros(len(self.flat.weight)), np.zeros(len(self.flat.weight))
        place_bodies(self.flat, self.tree, pose, q, increment, v, vdot, q, np.empty_like(pose), moved, w, wdot)
        return moved, w, wdot

    def _evaluate(self) -> np.ndarray:
        """Energies at the present state; the terms of its equations."""
        m = self.motion
        return self.equations.residual(self._at_end, m.q, m.w, m.wdot, m.multipliers)[1]

    def now(self) -> Snapshot:
        """The motion where it is."""
        m = self.motion
        return Snapshot(self.t, m.q, m.w, m.wdot, m.multipliers, m.work, self._evaluate())

    def prepare(self) -> None:
        """Let the step be compiled, which takes half a minute once on a machine: no steps."""
        self._run(1.0, np.zeros((0, *self._at_end.shape)))
        self._start()

    def _start(self) -> None:
        """Start values of second order for the method's accelerations and multipliers (Arnold, Bruls, Cardona 2015).

        The accelerations start at `t + (alpha_m - alpha_f) h`, where the method keeps them; the velocities get the
        part across the constraints, of size h^2, that the method's own velocities have.
        """
        mechanism, flat, h, scheme, motion = self.equations.mechanism, self.flat, self._size, self.scheme, self.motion
        c = scheme.alpha_m - scheme.alpha_f
        rate = self._jerk(h)
        motion.a[:] += c * h * rate
        motion.last[SIZE] = h
        if nj := mechanism.joint_rows:
            q = self._begin.state.q
            J = row_jacobian(mechanism, flat, q, self._at_end)[1][:nj]
            none = np.zeros_like(rate)
            across = J @ self._placed(motion.pose, q, none, rate, none)[1]
            change = h * h * (1 / 6 - scheme.beta - c / 2) * least_change(J, across, flat)
            motion.v[:] += self._in_joints(q, change)
            if self.tree is not None:
                motion.w[:] = self._placed(motion.pose, q, none, motion.v, motion.vdot)[1]

    def _jerk(self, h: float) -> np.ndarray:
        """Rate (ny,) of the accelerations at the start, by one-sided differences over `2 h` (second order).

        Starting the method's accelerations where it keeps them makes it second-order accurate from the first step (Arnold, Bruls, Cardona 2015).
        """
        m, mechanism, t = self.motion, self.equations.mechanism, self._begin.state.t
        rates = [m.vdot.copy()]
        for s in (h, 2 * h):
            v = m.v + s * m.vdot
            q, w, bias = self._placed(m.pose, m.q, s * m.v + 0.5 * s * s * m.vdot, v, np.zeros_like(v))
            wdot = self.equations.accelerations(mechanism.function_values(t + s), q, w)[0]
            rates.append(self._in_joints(q, wdot - bias))
        return np.asarray(-3 * rates[0] + 4 * rates[1] - rates[2]) / (2 * h)

    def to(self, target: float) -> Snapshot:
        """Steps that end at `target`."""
        if self.step is not None:
            self.fixed(target, self.step)
        else:
            self._adaptive(target)
        return self.now()

    def statistics(self, cpu: float) -> Statistics:
        """What was done in `cpu` seconds."""
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
            e.places,
            e.terms,
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
        """Move the method's own accelerations and velocities to a new step size.

        The accelerations live at `t + (alpha_m - alpha_f) h`; the velocities break the constraints by an amount that goes with
        `h^2`. Without the correction a change of the step leaves an error of order one in the multipliers.
        """
        motion = self.motion
        ratio = h / motion.last[SIZE]
        self._change_rates(ratio * ratio - 1.0)
        motion.a[:] = motion.vdot + (motion.a - motion.vdot) * ratio
        motion.last[SIZE] = h
        motion.last[KNOWN] = motion.last[ORDER] = motion.last[RATE] = 0.0

    def _change_rates(self, factor: float) -> None:
        """Change what the velocities break of the joint equations by `factor` of it (-1: not at all), with the least kinetic energy."""
        if self.flat.joint_rows:
            self._evaluate()
            m = self.motion
            change = self.equations.least_change(factor * self.equations.broken_rates(self._at_end, m.w))
            m.v[:] += self._in_joints(m.q, change)
            if self.tree is not None:
                m.w[:] += change

    def fixed(self, target: float, step: float) -> None:
        """Equal steps to `target`, at most `step` long."""
        steps = max(1, int(np.ceil((target - self.t) / step * (1 - 1e-9))))
        h = (target - self.t) / steps
        for _ in range(steps if self.project else 1):
            outcome, _ = self._advance(h, 1 if self.project else steps)
            if outcome != CONVERGED:
                self._fail(outcome, step)
            if self.project:
                self._change_rates(-1.0)
        self.t = target

    def _adaptive(self, target: float) -> None:
        """Steps to `target` whose error estimate stays below the tolerance."""
        block = 1
        while self.t < target:
            remaining = target - self.t
            left = int(np.ceil(remaining / self._size * (1 - 1e-9)))
            h = remaining / left
            if h < 1e-14 * max(abs(target), remaining):
                self._fail(DIVERGED, h)
            outcome, done = self._advance(h, 1 if self.project else min(left, block), self.tolerance)
            if outcome == NO_MASS:
                self._fail(outcome, h)
            if done == left:
                self.t = target
            if done and self.project:
                self._change_rates(-1.0)
            error = self.motion.last[ERROR] / self.tolerance if outcome != DIVERGED else np.inf
            block = min(2 * block, LONGEST_BLOCK) if outcome == CONVERGED else 1
            if outcome in (DIVERGED, TOO_LARGE):
                self._steps.rejected += 1
                self._size = h * (max(0.2, 0.9 * error ** (-1 / 3)) if np.isfinite(error) else 0.25)
            elif outcome == UNSUITED and h > 0.5 * self._size:
                self._size = h * min(1.5, 0.9 * max(error, 1e-4) ** (-1 / 3))

    def _fail(self, outcome: int, h: float) -> None:
        if outcome == NO_MASS:
            raise self.equations.no_mass(self.t)
        raise self.equations.diverged(self.t, h, self.motion.w)

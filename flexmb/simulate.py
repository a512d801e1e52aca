"""`simulate`: from a system to a result."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import process_time

import numpy as np

from fem.errors import ConvergenceError
from flexmb.gauge import warn_when_left
from flexmb.initial import Start, initial_angles, jerk, least_change, row_jacobian, start
from flexmb.integrators.generalised_alpha import IntegratorError, generalised_alpha
from flexmb.kernels.data import Flat, Terms, make_places, make_terms
from flexmb.kernels.pointed import pointed
from flexmb.kernels.rows import row_rates
from flexmb.kernels.solve import INACTIVE, solve_rows
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
    powers_of,
    residual,
)
from flexmb.mechanism import Mechanism, State
from flexmb.result import Ledger, Result, Statistics
from flexmb.system import System

LONGEST_BLOCK = 64
"""Steps between looks at the step size, for which the functions of time are evaluated ahead."""

Progress = Callable[[float], None]
"""Called with the fraction done, about a hundred times in a run."""


def simulate(
    system: System | Mechanism,
    duration: float,
    *,
    step: float | None = None,
    tolerance: float = 1e-6,
    output_step: float | None = None,
    rho_inf: float = 0.9,
    project: bool = False,
    newton_tolerance: float = 1e-8,
    progress: Progress | None = None,
) -> Result:
    """Move a mechanism for `duration` from its consistent start; the generalised-alpha method.

    - `step`: fixed time step; without it the step adapts so that the local error of the positions stays below
      `tolerance` times the length of the mechanism.
    - `output_step`: spacing of the stored times (default: about 1,000 of them). Steps land on them exactly.
    - `rho_inf`: spectral radius at infinite frequency, 1 (no numerical damping) to 0.
    - `project`: velocities too are projected on the constraints after every step.

    Raises `AssemblyError` when the joints cannot be closed, `ConvergenceError` when the Newton iteration fails
    at a step that cannot be made smaller; the message names time and cause.
    Cost per step: O(m^2) per flexible body for its inertia terms, O(m) for the solve; for the joints, linear in the length of a chain, quadratic in the rows that
    closed loops and branches carry along.
    """
    mechanism = system.build() if isinstance(system, System) else system
    if not (np.isfinite(duration) and duration > 0):
        raise IntegratorError(f"duration must be positive and finite; found {duration}.")
    if step is not None and not 0 < step <= duration:
        raise IntegratorError(f"step must be positive and at most the duration {duration}; found {step}.")
    if not 0 < tolerance < 1:
        raise IntegratorError(
            f"tolerance is relative to the length of the mechanism, between 0 and 1; found {tolerance}."
        )
    scheme = generalised_alpha(rho_inf, newton_tolerance=newton_tolerance)
    flat = mechanism.flat()
    times = mechanism.initial.t + _output_times(duration, step, output_step)
    count = len(times) - 1

    begin = start(mechanism, flat)
    run = Run(mechanism, flat, scheme, begin.state, begin.wdot, begin.multipliers, project)
    run.store()
    run.compile()
    size = step if step is not None else _first_step(run, tolerance, times[1] - times[0])
    second_order_start(run, begin, size)
    clock = process_time()
    for k, target in enumerate(times[1:]):
        if step is not None:
            run.fixed(target, step)
        else:
            size = run.adaptive(target, size, tolerance)
        run.store()
        if progress is not None and (k * 100) // count != ((k + 1) * 100) // count:
            progress((k + 1) / count)
    result = run.result(process_time() - clock)
    for body in mechanism.bodies:
        if body.gauge is not None and body.is_flexible:
            warn_when_left(body.name, body.gauge, body.invariants.second_order, result.t, result.elastic(body.name))
    return result


def _output_times(duration: float, step: float | None, output_step: float | None) -> np.ndarray:
    """Times to store, from 0 to `duration`: multiples of `output_step`, or about 1,000, whole numbers of fixed steps."""
    steps = int(np.ceil(duration / step * (1 - 1e-9))) if step is not None else None
    if output_step is not None:
        if not 0 < output_step <= duration * (1 + 1e-9):
            raise IntegratorError(
                f"output_step must be positive and at most the duration {duration}; found {output_step}."
            )
        count = max(1, round(duration / output_step))
    elif steps is None:
        count = 1000
    else:
        stride = max(1, round(steps / 1000))
        return duration * np.append(np.arange(0, steps, stride), steps) / steps
    return duration * np.arange(count + 1) / count


def second_order_start(run: "Run", begin: Start, h: float) -> None:
    """Start values of second order for the method's accelerations and multipliers (Arnold, Bruls, Cardona 2015).

    The accelerations start at `t + (alpha_m - alpha_f) h`, where the method keeps them; the velocities get the
    part across the constraints, of size h^2, that the method's own velocities have.
    """
    mechanism, flat, scheme = run.mechanism, run.flat, run.scheme
    rate = jerk(mechanism, flat, begin, h)
    c = scheme.alpha_m - scheme.alpha_f
    run.motion.a[:] += c * h * rate
    run.motion.last[SIZE] = h
    if mechanism.joint_rows:
        nj = mechanism.joint_rows
        J = row_jacobian(mechanism, flat, begin.state.q, mechanism.function_values(run.t))[1][:nj]
        run.motion.w[:] += h * h * (1 / 6 - scheme.beta - c / 2) * least_change(J, J @ rate, flat)


def _first_step(run: "Run", tolerance: float, longest: float) -> float:
    """A step small enough for the start: the motion in it stays below the tolerance's cube root of the length."""
    rate = (np.abs(run.motion.wdot) * run.flat.weight).max(initial=0.0)
    speed = (np.abs(run.motion.w) * run.flat.weight).max(initial=0.0)
    size = min(np.sqrt(tolerance / rate) if rate > 0 else np.inf, tolerance ** (1 / 3) / speed if speed > 0 else np.inf)
    return float(min(longest, size))


@dataclass
class Run:
    """A running integration: the arrays that `advance` moves, and what has been stored."""

    mechanism: Mechanism
    flat: Flat
    scheme: Scheme
    state: State
    wdot: np.ndarray
    multipliers: np.ndarray
    project: bool = False
    motion: Motion = field(init=False)
    t: float = field(init=False)
    stored: list = field(default_factory=list)
    energies: list = field(default_factory=list)
    steps: int = 0
    rejected: int = 0
    sizes: list = field(default_factory=lambda: [np.inf, 0.0])

    def __post_init__(self) -> None:
        self.t = self.state.t
        self._places, self._terms = make_places(self.flat), make_terms(self.flat)
        memory = initial_angles(self.mechanism, self.flat, self.state.q)
        self.motion = pointed(Motion(
            q=self.state.q.copy(), w=self.state.w.copy(), wdot=self.wdot.copy(), a=self.wdot.copy(), multipliers=self.multipliers.copy(),
            angle_memory=memory, powers=np.zeros((2, 4)), work=np.zeros(4), past=np.zeros((DEGREE, len(self.wdot))), last=np.zeros(8),
        ))  # fmt: skip
        self.motion.powers[0] = self._evaluate()[1]

    def _evaluate(self) -> tuple[np.ndarray, np.ndarray, Terms]:
        """Energies and powers at the present state, and the terms of its equations."""
        flat, m = self.flat, self.motion
        energies, powers, terms = np.zeros(4), np.zeros(4), self._terms
        functions = self.mechanism.function_values(self.t)
        residual(
            flat,
            m.q,
            m.w,
            m.wdot,
            m.multipliers,
            functions,
            m.angle_memory,
            self._places,
            terms,
            terms.unbalanced,
            energies,
        )
        powers_of(flat, functions, m.multipliers, m.w, terms, powers)
        return energies, powers, terms

    def store(self) -> None:
        m = self.motion
        self.stored.append((self.t, m.q.copy(), m.w.copy(), m.wdot.copy(), m.multipliers.copy(), m.work.copy()))
        self.energies.append(self._evaluate()[0])

    def compile(self) -> None:
        """Let the step be compiled (half a minute, once on a machine) before the clock runs: no steps."""
        self._run(1.0, np.zeros((0, *self.mechanism.function_values(self.t).shape)))

    def _run(self, h: float, functions: np.ndarray, tolerance: float = np.inf) -> tuple[int, int]:
        outcome: tuple[int, int] = advance(
            self.flat, self.scheme, h, len(functions), tolerance, functions, self.motion, self._places, self._terms
        )
        return outcome

    def _advance(self, h: float, steps: int, tolerance: float = np.inf) -> tuple[int, int]:
        if abs(h - self.motion.last[SIZE]) > 1e-9 * h:
            self._change_step(h)
        functions = self.mechanism.function_table(self.t + h * np.arange(1, steps + 1))
        outcome, done = self._run(h, functions, tolerance)
        self.t += h * done
        self.steps += done
        if done:
            self.sizes = [min(self.sizes[0], h), max(self.sizes[1], h)]
        return outcome, done

    def _change_step(self, h: float) -> None:
        """Move the method's own accelerations and velocities to a new step size.

        The accelerations live at `t + (alpha_m - alpha_f) h`; the velocities break the constraints by an amount that goes with
        `h^2`. Without the correction a change of the step leaves an error of order one in the multipliers.
        """
        motion = self.motion
        ratio = h / motion.last[SIZE]
        self._change_rates(ratio * ratio - 1.0)
        motion.a[:] = motion.wdot + (motion.a - motion.wdot) * ratio
        motion.last[SIZE] = h
        motion.last[KNOWN] = motion.last[ORDER] = motion.last[RATE] = 0.0

    def _change_rates(self, factor: float) -> None:
        """Change what the velocities break of the joint equations by `factor` of it (-1: not at all), with the least kinetic energy."""
        flat, w, nj = self.flat, self.motion.w, self.mechanism.joint_rows
        if nj == 0:
            return
        terms = self._evaluate()[2]
        functions = self.mechanism.function_values(self.t)
        broken = np.zeros(len(flat.row_kind))
        row_rates(flat.row_markers, flat.marker_body, flat.v_start, terms.G, w, broken)
        driven = flat.row_function[:nj] >= 0
        broken[:nj][driven] -= functions[flat.row_function[:nj][driven], 1]
        compliance = np.full(len(broken), INACTIVE)
        compliance[:nj] = 0.0
        x = np.zeros(len(w))
        solve_rows(flat, terms, 1.0, 0.0, 0.0, compliance, np.zeros(len(w)), factor * broken, x, np.zeros(len(broken)))
        w += x

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

    def adaptive(self, target: float, size: float, tolerance: float) -> float:
        """Steps to `target` whose error estimate stays below `tolerance`; returns the size to go on with."""
        block = 1
        while self.t < target:
            remaining = target - self.t
            left = int(np.ceil(remaining / size * (1 - 1e-9)))
            h = remaining / left
            if h < 1e-14 * max(abs(target), remaining):
                self._fail(DIVERGED, h)
            outcome, done = self._advance(h, 1 if self.project else min(left, block), tolerance)
            if outcome == NO_MASS:
                self._fail(outcome, h)
            if done == left:
                self.t = target
            if done and self.project:
                self._change_rates(-1.0)
            error = self.motion.last[ERROR] / tolerance if outcome != DIVERGED else np.inf
            block = min(2 * block, LONGEST_BLOCK) if outcome == CONVERGED else 1
            if outcome in (DIVERGED, TOO_LARGE):
                self.rejected += 1
                size = h * (max(0.2, 0.9 * error ** (-1 / 3)) if np.isfinite(error) else 0.25)
            elif outcome == UNSUITED and h > 0.5 * size:
                size = h * min(1.5, 0.9 * max(error, 1e-4) ** (-1 / 3))
        return float(size)

    def _fail(self, outcome: int, h: float) -> None:
        flat = self.flat
        if outcome == NO_MASS:
            raise ConvergenceError(
                f"At t = {self.t:.6g} the mass matrix of a body of {self.mechanism.name!r} lost its definiteness: its elastic deformation is far outside the range of the reduced body."
            )
        speed = np.abs(self.motion.w) * flat.weight
        body = self.mechanism.bodies[int(np.searchsorted(flat.v_start, int(speed.argmax()), side="right")) - 1]
        raise ConvergenceError(
            f"The Newton iteration of {self.mechanism.name!r} fails at t = {self.t:.6g} with a step of {h:.3g}; the fastest body is {body.name!r}. "
            "Likely causes: the step is too large for the motion (give a smaller step=, or none to let it adapt), a driver jumps, "
            "or a mechanism passes a position in which its joints lock."
        )

    def result(self, cpu: float) -> Result:
        t, q, w, wdot, multipliers, work = (np.array(x) for x in zip(*self.stored, strict=True))
        e = np.array(self.energies)
        ledger = Ledger(t, e[:, 0], e[:, 1], e[:, 2], e[:, 3], work[:, 0], work[:, 1], work[:, 2], work[:, 3])
        iterations = int(self.motion.last[ITERATIONS])
        statistics = Statistics(self.steps, self.rejected, iterations, cpu, float(self.sizes[0]), float(self.sizes[1]))
        return Result(self.mechanism, t, q, w, wdot, multipliers, ledger, statistics)

"""Periodic motions by the shooting method, and their stability by Floquet multipliers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fem.axes.limits import is_number, is_whole
from fem.errors import ConvergenceError
from fem.renamed import renamed
from fem.shown import shown
from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import consistent_state, row_jacobian
from flexmb.equations.tangent import DEPENDENT, allowed_motions, carrying, tangent
from flexmb.errors import LinearError, MotionError
from flexmb.integrators.method import AdaptiveMethod, methods
from flexmb.kernels.base.data import ANGLE, CompiledModel
from flexmb.kernels.calls import displace
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.features import CONTINUOUS, SMOOTH, Feature, refuse
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.results.result import Result, followed_angles
from flexmb.simulation.simulate import simulate
from flexmb.spatial.configuration import difference

PERTURBATION = 1e-4
"""Perturbation of the initial state, in lengths of the mechanism or radians, and in these per period for velocities.
The errors of central differences are proportional to its square.
"""
OF_RUNS = 1e-2
"""Tolerance of variable steps, relative to that of the closure."""
SHOTS = 20
SAME = 1e-12
"""Relative difference of values that are equal up to round-off."""
REPEATED = 1e-6
"""Relative difference of a time-dependent quantity after a period above which it has another period."""
SAMPLES = 23
"""Number of states, and of times, at which the dependence of force laws on time is examined."""


@shown
@renamed(closing="closure_error")
@dataclass(frozen=True, eq=False)
class Periodic:
    """A periodic motion.

    - `result`: one `period` of the motion.
    - `closure_error`: difference of the end from the start, in lengths of the mechanism or radians, and in these per
      period for velocities.
    - `monodromy` (2 nf + nz, 2 nf + nz): the linear map over a period of independent deviations, their velocities, and
      deviations of the states of force elements.
    """

    period: float
    result: Result
    closure_error: float
    monodromy: np.ndarray

    @property
    def multipliers(self) -> np.ndarray:
        """Floquet multipliers (2 nf + nz,), complex, by descending magnitude: growth factors of small deviations."""
        values = np.linalg.eigvals(self.monodromy)
        return np.asarray(values[np.argsort(-np.abs(values), kind="stable")])

    @property
    def stable(self) -> bool:
        """Whether no deviation grows: no multiplier exceeds one by more than the accuracy of the monodromy matrix.

        An undamped or unrestrained motion has multipliers of magnitude one.
        """
        return bool(np.abs(self.multipliers).max(initial=0.0) < 1 + 1e-4)

    def __str__(self) -> str:
        verdict = "stable" if self.stable else "unstable"
        largest = f"largest multiplier {np.abs(self.multipliers).max(initial=0.0):.6g}"
        closes = f"closes to {self.closure_error:.1e}"
        return f"{self.result.mechanism.name!r} repeats itself every {self.period:.8g} ({verdict}; {largest}; {closes})"


def periodic_motion(
    system: System | Mechanism,
    period: float,
    *,
    tolerance: float = 1e-7,
    correct: bool = True,
    steps: int = 4000,
    **options: Any,
) -> Periodic:
    """The periodic motion near the initial state, by Newton's method on the map of one period (shooting).

    - `period`: that of the drivers and loads. For an autonomous mechanism (functions of time are constant, and no force
      law depends on time) it is a first guess of the period of its own motion, such as that of a swing, a clock, or a
      self-excited oscillator.
    - `tolerance`: largest `closure_error`. Variable steps of a `method` given by name have a hundredth of it as their
      own: errors of steps enter the multipliers over the perturbation, 1e-4.
    - `correct=False` takes the initial state as that of the periodic motion.
    - `steps`: number of steps of a period; `options`: those of `simulate` (`method="radau", tolerance=1e-9`, or
      `method=flexmb.Radau(tolerance=1e-11)`, for high accuracy; `events=[...]`, such as stops, whose impacts are part
      of the motion and of its multipliers).

    Rotations by whole revolutions count as periodic. States of force elements are periodic too, relative to their
    largest values. Cost: four simulations of a period for each degree of freedom, two for each state, and iteration.

    Raises `LinearError` when the period, the tolerance or `steps` is not positive, when the period is not that of
    drivers, loads and laws, and when events end the motion or have changed the joints at the end of a period;
    `ConvergenceError` when no periodic motion is found near the initial state.

    Source: Nayfeh, Balachandran, Applied Nonlinear Dynamics (1995), sections 5.2 (shooting) and 7.2 (monodromy matrix).
    """
    for name, number in (("period", period), ("tolerance", tolerance)):
        if not (is_number(number) and number > 0):
            raise LinearError(f"{name} must be positive and finite; found {number}.")
    if not is_whole(steps) or steps < 1:
        raise LinearError(f"steps is a whole number of steps of a period, at least 1; found {steps!r}.")
    mechanism = system.build() if isinstance(system, System) else system
    included: frozenset[Feature] = SMOOTH - CONTINUOUS - {"velocity rows"} | {"new states"}
    refuse(mechanism, "The search for a periodic motion", includes=included)
    options = _steps(options, period / steps, tolerance) | options
    mechanism = replace(mechanism, initial=consistent_state(mechanism).state, start_rows=())
    own: bool | None = None
    closure_error = np.inf
    for _ in range(SHOTS):
        shot = _Shot(mechanism, period, options)
        missed = shot.deviation(shot.result)
        if own is None:
            own = is_autonomous(shot.result)
            if not own:
                _require_period(shot.result, period)
        before, closure_error = closure_error, float(np.abs(missed).max(initial=0.0))
        if not correct or closure_error <= tolerance:
            return Periodic(period, shot.result, closure_error, shot.monodromy())
        if closure_error > 1e3 * before:
            break
        A = shot.monodromy() - np.eye(len(missed))
        if own:
            A = np.column_stack([A, shot.rate() * period])
        step = np.linalg.lstsq(A, -missed, rcond=1e-5)[0]
        step *= min(1.0, 0.3 / np.abs(step).max())
        if own:
            period *= 1 + step[-1]
            options = options | ({"step": period / steps} if "step" in options else {})
        mechanism = replace(mechanism, initial=consistent_state(shot.moved(step[: len(missed)])).state)
    raise ConvergenceError(
        f"No periodic motion of {mechanism.name!r} was found near its initial state: after {SHOTS} corrections the end "
        f"of one period of {period:.6g} still differs from its start by {closure_error:.2g} (lengths of the mechanism, "
        "radians). Start nearer to one: simulate until the motion has settled and start from there."
    )


def _steps(options: dict[str, Any], step: float, tolerance: float) -> dict[str, float]:
    """The step of runs without a method, or the tolerance of those by the name of a method whose steps are variable."""
    method = options.get("method")
    if method is None:
        return {"step": step}
    known = methods().get(method) if isinstance(method, str) and options.get("step") is None else None
    return {"tolerance": OF_RUNS * tolerance} if known is not None and issubclass(known, AdaptiveMethod) else {}


def is_autonomous(result: Result) -> bool:
    """Whether nothing in a mechanism depends explicitly on time.

    Functions of time are then constant over the motion, and force laws give the same values at other times.
    """
    table = result.mechanism.function_table(result.t)[:, :-1]
    if (np.ptp(table[:, :, 0], axis=0) > SAME * np.abs(table[:, :, 0]).max(axis=0, initial=0.0)).any():
        return False
    asked = result.t[np.linspace(0, len(result.t) - 1, SAMPLES).astype(int)]
    efforts = _efforts(result, lambda t: asked)
    sizes = np.abs(efforts).max(axis=(1, 2), initial=0.0)
    return bool((np.ptp(efforts, axis=2).max(axis=1, initial=0.0) <= SAME * sizes).all())


def _efforts(result: Result, asked: Callable[[float], np.ndarray]) -> np.ndarray:
    """Efforts (rows, SAMPLES, n) of all force laws at states of a motion, at the times `asked(t)` (n,) of each: those
    of one coordinate, then the components of the wrenches of laws between frames (`_owners`)."""
    mechanism, times = result.mechanism, result.t
    ruled = [(r, row) for r, row in enumerate(mechanism.rows) if row.law >= 0]
    owners = _owners(mechanism)
    found = np.zeros((len(owners), SAMPLES, len(asked(times[0]))))
    for i, k in enumerate(np.linspace(0, len(times) - 1, SAMPLES).astype(int)) if owners else ():
        state = result.state(int(k))
        e = Equations(mechanism, state.q, state.angles, state.element_states)
        e.residual(mechanism.function_values(times[k]), result.q[k], result.w[k], result.wdot[k], result.multipliers[k])
        for j, (r, row) in enumerate(ruled):
            law, x, rate = (
                mechanism.laws[row.law],
                float(e.workspace.values[r] - row.offset),
                float(e.workspace.rates[r]),
            )
            found[j, i] = [law.evaluate(float(t), x, rate) for t in asked(float(times[k]))]
            if law.failure is not None:
                raise law.failure
        for j in range(len(mechanism.frame_forces)):
            first = len(ruled) + 6 * j
            found[first : first + 6, i] = e.law_over_time(j, asked(float(times[k])))[:, :6].T
    return found


def _owners(mechanism: Mechanism) -> list[str]:
    """The names of the elements to which the rows of `_efforts` belong."""
    scalar = [mechanism.laws[row.law].name for row in mechanism.rows if row.law >= 0]
    return scalar + [force.name for force in mechanism.frame_forces for _ in range(6)]


def _require_period(result: Result, period: float) -> None:
    """Raise `LinearError` unless functions of time and force laws repeat themselves after a period.

    Drivers of joints may advance by whole revolutions.
    """
    mechanism = result.mechanism
    times = result.t[0] + period * (np.arange(SAMPLES) + 0.5) / SAMPLES
    turned = {row.function for row in mechanism.rows[: mechanism.joint_rows] if row.kind == ANGLE}
    for k, function in enumerate(mechanism.functions):
        now = function.over(times)[:, 0]
        try:
            change = function.over(times + period)[:, 0] - now
        except MotionError:  # defined for one period only
            change = np.diff(function.over(result.t[0] + np.array([0.0, period]))[:, 0])
        if k in turned:
            change -= 2 * np.pi * np.round(change / (2 * np.pi))
        if np.abs(change).max() > REPEATED * (np.ptp(now) or np.abs(now).max()):
            _refuse_period(mechanism, period, f"the function of time {function.description!r}")
    efforts = _efforts(result, lambda t: np.array([t, t + period]))
    for name, effort in zip(_owners(mechanism), efforts, strict=True):
        if np.ptp(effort, axis=1).max() > REPEATED * np.abs(effort).max():
            _refuse_period(mechanism, period, f"the law of {name!r}")


def _refuse_period(mechanism: Mechanism, period: float, what: str) -> None:
    raise LinearError(
        f"In {mechanism.name!r} {what} does not repeat itself in the period {period:.8g}, so no motion does. Give a "
        "period of all drivers, loads and laws, with all digits."
    )


def _require_same_joints(result: Result, period: float) -> None:
    """Raise `LinearError` where events end a period, or leave joints at its end that those at its start are not: the
    end is no deviation from the start then."""
    end = result.state(-1)
    if result.t[-1] - result.t[0] < (1 - REPEATED) * period:
        raise LinearError(
            f"The event {result.happened[-1].event!r} ends the motion of {result.mechanism.name!r} at t = "
            f"{result.t[-1]:.6g}, within the period {period:.6g}. Give events that do not end it."
        )
    if end.topology.changed:
        raise LinearError(
            f"At the end of a period, t = {end.t:.6g}, events have changed the joints of {result.mechanism.name!r} "
            f"({end.topology}), and at its start they have not. Begin at a phase of the motion at which stops and "
            "locks are open, and let locks be released within the period."
        )


class _Shot:
    """One period from an initial state, and deviations from it in independent coordinates.

    Deviations (2 nf + nz,) are displacements, velocities per period, and states over their largest values.
    """

    def __init__(self, mechanism: Mechanism, period: float, options: dict[str, Any]) -> None:
        self._mechanism, self._period, self._options = mechanism, period, options
        self._flat: CompiledModel = compiled(mechanism)
        state = mechanism.initial
        e = Equations(mechanism, state.q, state.angles)
        none = np.zeros(len(state.w))
        G = tangent(
            e, mechanism.function_values(state.t), state.q, none, none, np.zeros(mechanism.joint_rows)
        ).G.toarray()
        self._N = allowed_motions(G, self._flat.weight)
        self._carried = carrying(self._flat, state.w)
        self.result = self._run(mechanism)
        largest = np.abs(self.result.element_states).max(axis=0, initial=0.0)
        self._scale = np.where(largest > 0, largest, largest.max(initial=0.0) or 1.0)

    def _run(self, mechanism: Mechanism) -> Result:
        result = simulate(mechanism, self._period, **{"output_step": self._period / 200} | self._options)
        _require_same_joints(result, self._period)
        return result

    def deviation(self, result: Result) -> np.ndarray:
        """Deviation (2 nf + nz,) of the end of a run from its start."""
        start = self._mechanism.initial
        q, w = result.q[-1], result.w[-1]
        x = difference(self._flat, start.q, q)
        rates = w - start.w - self._carried @ x
        return self._independent(x, rates, result.element_states[-1] - self._mechanism.initial_states)

    def _independent(self, x: np.ndarray, rates: np.ndarray, states: np.ndarray) -> np.ndarray:
        square = self._flat.weight**2
        parts = [self._N.T @ (square * x), self._N.T @ (square * rates) * self._period, states / self._scale]
        return np.concatenate(parts)

    def moved(self, deviation: np.ndarray) -> Mechanism:
        """The mechanism with an initial state that deviates by `deviation` (2 nf + nz,)."""
        state, nf = self._mechanism.initial, self._N.shape[1]
        x = self._N @ deviation[:nf]
        q = np.empty_like(state.q)
        displace(self._flat, state.q, x, q)
        w = state.w + self._N @ deviation[nf : 2 * nf] / self._period + self._carried @ x
        w += self._least_closing(q, w)
        states = self._mechanism.initial_states + self._scale * deviation[2 * nf :]
        angles = followed_angles(self._mechanism, q[None], state.angles[None])[0]
        return replace(self._mechanism, initial=State(state.t, q, w, angles, element_states=states))

    def _least_closing(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The least velocity (nv,) that makes `w` satisfy the joint equations at `q`.

        It is across the independent motions, so that the velocity along these remains as it was given. The change of
        least kinetic energy, by which a simulation closes the joints, is not.
        """
        mechanism, nj = self._mechanism, self._mechanism.joint_rows
        functions = mechanism.function_values(mechanism.initial.t)
        G = row_jacobian(mechanism, self._flat, q, functions)[1][:nj]
        rates = np.array([functions[row.function, 1] if row.function >= 0 else 0.0 for row in mechanism.rows[:nj]])
        scaled = G.toarray() / self._flat.weight
        return np.asarray(np.linalg.lstsq(scaled, rates - G @ w, rcond=DEPENDENT)[0] / self._flat.weight)

    def monodromy(self) -> np.ndarray:
        """The derivative (2 nf + nz, 2 nf + nz) of the end with respect to the start, in the coordinates of
        deviations."""
        columns, count = [], 2 * self._N.shape[1] + len(self._scale)
        for direction in np.eye(count):
            ahead, behind = (self.deviation(self._run(self.moved(sign * PERTURBATION * direction))) for sign in (1, -1))
            columns.append((ahead - behind) / (2 * PERTURBATION))
        return np.array(columns).T.reshape(count, count)

    def rate(self) -> np.ndarray:
        """The rate (2 nf + nz,) of the deviation at the end of the period."""
        end, m = self.result.state(-1), self._mechanism
        e = Equations(m, end.q, end.angles, end.element_states)
        wdot = self.result.wdot[-1]
        e.residual(m.function_values(end.t), end.q, end.w, wdot, self.result.multipliers[-1])
        return self._independent(end.w, wdot, e.workspace.state_rates)

"""Periodic motions: found by shooting, and their stability by Floquet multipliers."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fem.errors import ConvergenceError
from flexmb.configuration import difference
from flexmb.initial import quiet_start
from flexmb.integrators.equations import Equations
from flexmb.kernels.data import Flat
from flexmb.kernels.step import displace
from flexmb.linear.linearise import LinearError
from flexmb.linear.tangent import allowed_motions, carrying, tangent
from flexmb.mechanism import Mechanism, State
from flexmb.result import Result
from flexmb.simulate import simulate
from flexmb.system import System

PERTURBATION = 1e-4
"""Of the start, in lengths of the mechanism or radians, and velocities of that in a period; central differences leave errors of its square."""
SHOTS = 20


@dataclass(frozen=True, eq=False)
class Periodic:
    """A periodic motion: one `period` from its start as a `result`; `closing`: by how much it misses its start (lengths or radians, velocities those in a period).

    `multipliers` (2 nf,): factors by which small deviations grow in a period, largest first; `monodromy` (2 nf, 2 nf) the map of independent deviations and their velocities.
    """

    period: float
    result: Result
    closing: float
    monodromy: np.ndarray

    @property
    def multipliers(self) -> np.ndarray:
        """Floquet multipliers, complex, by descending magnitude."""
        values = np.linalg.eigvals(self.monodromy)
        return np.asarray(values[np.argsort(-np.abs(values), kind="stable")])

    @property
    def stable(self) -> bool:
        """Whether no deviation grows: no multiplier is larger than one by more than the accuracy of this map (an undamped, or a free, motion has multipliers of size one)."""
        return bool(np.abs(self.multipliers).max(initial=0.0) < 1 + 1e-4)

    def __str__(self) -> str:
        verdict = "stable" if self.stable else "unstable"
        return f"{self.result.mechanism.name!r} repeats itself every {self.period:.8g} ({verdict}; largest multiplier {np.abs(self.multipliers).max(initial=0.0):.6g}; closes to {self.closing:.1e})"


def periodic_motion(
    system: System | Mechanism,
    period: float,
    *,
    tolerance: float = 1e-7,
    correct: bool = True,
    steps: int = 4000,
    **options: Any,
) -> Periodic:
    """The periodic motion near the start, by Newton's method on the map of one period (shooting), and its Floquet multipliers.

    `period`: that of the drivers and loads; a mechanism without functions of time finds its own, near the given one. Turning by whole turns counts as coming back.
    `correct=False` takes the start as periodic. `steps`: of a period; `options` are those of `simulate` (`integrator="radau", tolerance=1e-9` for the last digits).
    Cost: four simulations of a period for each degree of freedom and iteration.
    Source: Nayfeh, Balachandran, Applied Nonlinear Dynamics (1995), sections 5.2 (shooting) and 7.2 (monodromy matrix).
    """
    if not (np.isfinite(period) and period > 0):
        raise LinearError(f"period must be positive and finite; found {period}.")
    mechanism = system.build() if isinstance(system, System) else system
    options = ({} if "integrator" in options else {"step": period / steps}) | options
    mechanism = replace(mechanism, initial=quiet_start(mechanism).state, start_rows=())
    own = not mechanism.functions and not mechanism.laws
    closing = np.inf
    for _ in range(SHOTS):
        shot = _Shot(mechanism, period, options)
        missed = shot.deviation(shot.result)
        before, closing = closing, float(np.abs(missed).max(initial=0.0))
        if not correct or closing <= tolerance:
            return Periodic(period, shot.result, closing, shot.monodromy())
        if closing > 1e3 * before:
            break
        A = shot.monodromy() - np.eye(len(missed))
        if own:
            A = np.column_stack([A, shot.rate() * period])
        step = np.linalg.lstsq(A, -missed, rcond=1e-5)[0]
        step *= min(1.0, 0.3 / np.abs(step).max())
        if own:
            period *= 1 + step[-1]
            options = options | ({"step": period / steps} if "step" in options else {})
        mechanism = replace(mechanism, initial=quiet_start(shot.moved(step[: len(missed)])).state)
    raise ConvergenceError(
        f"No periodic motion of {mechanism.name!r} was found near its start: after {SHOTS} corrections one period of {period:.6g} still misses it by {closing:.2g} "
        "(lengths of the mechanism, radians). Start nearer to one: simulate until the motion has settled and start from there."
    )


class _Shot:
    """One period from a start, and deviations from it in independent coordinates: displacements and, per period, velocities."""

    def __init__(self, mechanism: Mechanism, period: float, options: dict[str, Any]) -> None:
        self._mechanism, self._period, self._options = mechanism, period, options
        self._flat: Flat = mechanism.flat()
        state = mechanism.initial
        e = Equations(mechanism, state.q)
        none = np.zeros(len(state.w))
        G = tangent(
            e, mechanism.function_values(state.t), state.q, none, none, np.zeros(mechanism.joint_rows)
        ).G.toarray()
        self._N = allowed_motions(G, self._flat.weight)
        self._carried = carrying(self._flat, state.w)
        self.result = self._run(mechanism)

    def _run(self, mechanism: Mechanism) -> Result:
        return simulate(mechanism, self._period, **{"output_step": self._period / 200} | self._options)

    def deviation(self, result: Result) -> np.ndarray:
        """How far the end of a run is from the start (2 nf,)."""
        start = self._mechanism.initial
        q, w = result.q[-1], result.w[-1]
        x = difference(self._flat, start.q, q)
        rates = w - start.w - self._carried @ x
        return self._independent(x, rates)

    def _independent(self, x: np.ndarray, rates: np.ndarray) -> np.ndarray:
        square = self._flat.weight**2
        return np.concatenate([self._N.T @ (square * x), self._N.T @ (square * rates) * self._period])

    def moved(self, deviation: np.ndarray) -> Mechanism:
        """The mechanism with another start."""
        state, nf = self._mechanism.initial, self._N.shape[1]
        x = self._N @ deviation[:nf]
        q = np.empty_like(state.q)
        displace(self._flat, state.q, x, q)
        w = state.w + self._N @ deviation[nf:] / self._period + self._carried @ x
        return replace(self._mechanism, initial=State(state.t, q, w))

    def monodromy(self) -> np.ndarray:
        """The derivative of the end by the start, in these coordinates."""
        columns = []
        for direction in np.eye(2 * self._N.shape[1]):
            ahead, behind = (self.deviation(self._run(self.moved(sign * PERTURBATION * direction))) for sign in (1, -1))
            columns.append((ahead - behind) / (2 * PERTURBATION))
        return np.array(columns).T.reshape(2 * self._N.shape[1], -1)

    def rate(self) -> np.ndarray:
        """Rate of the deviation at the end of the period."""
        return self._independent(self.result.w[-1], self.result.wdot[-1])

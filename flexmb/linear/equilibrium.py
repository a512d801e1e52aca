"""Static equilibrium: where a mechanism rests under gravity, springs, loads and drivers."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from fem.errors import FlexmbError
from flexmb.initial import quiet_start
from flexmb.integrators.equations import Equations
from flexmb.kernels.step import displace
from flexmb.linear.tangent import allowed_motions, tangent
from flexmb.mechanism import Mechanism, State
from flexmb.system import System

ITERATIONS = 100
LARGEST = 0.2
"""Displacement of one iteration, relative to the mechanism's length, or angle."""
TOLERANCE = 1e-11
FLAT = 1e-9
"""Stiffness relative to the stiffest motion below which a motion counts as free."""


class EquilibriumError(FlexmbError, RuntimeError):
    """A mechanism has no equilibrium near its start, or no isolated one."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """The state of rest, the multipliers of its joints, and the stiffness of the softest motion that the joints allow (negative: unstable), per unit of mass."""

    mechanism: Mechanism
    state: State
    multipliers: np.ndarray
    softest: float
    iterations: int

    @property
    def stable(self) -> bool:
        """Whether the potential energy has a minimum there."""
        return self.softest > 0

    def __str__(self) -> str:
        verdict = "stable" if self.stable else "unstable"
        return f"{self.mechanism.name!r} rests, {verdict}: softest motion {self.softest:.4g} per time squared; {self.iterations} iterations"


def equilibrium(system: System | Mechanism, t: float | None = None) -> Equilibrium:
    """The equilibrium near the start, with functions of time at `t` (default: that of the start).

    Newton's method with the tangent of the whole model, joints included; where it would go uphill, downhill instead, so that it ends in a stable equilibrium unless it starts at an
    unstable one. Raises `EquilibriumError` when there is none near, or a motion is free: then the place is not determined.
    Cost: dense matrices of the mechanism's size.
    """
    mechanism = system.build() if isinstance(system, System) else system
    flat = mechanism.flat()
    begin = quiet_start(mechanism)
    q = begin.state.q.copy()
    e = Equations(mechanism, q)
    functions = mechanism.function_values(begin.state.t if t is None else t)
    nv, nj = len(begin.state.w), mechanism.joint_rows
    none, multipliers = np.zeros(nv), np.zeros(nj)
    e.residual(functions, q, none, none, multipliers)
    for iteration in range(1, ITERATIONS + 1):
        K, G, N = _stiffness(e, functions, q, multipliers)
        out = e.residual(functions, q, none, none, multipliers)[0].copy()
        values = e.terms.values[:nj].copy()
        closing = np.linalg.lstsq(G, -values, rcond=1e-10)[0] if nj else none
        small = 0.5 * (N.T @ K @ N + N.T @ K.T @ N)
        along = _downhill(small, -N.T @ (out + K @ closing))
        step = closing + N @ along
        multipliers = multipliers + np.linalg.lstsq(G.T, -(out + K @ step), rcond=1e-10)[0] if nj else multipliers
        size = float((np.abs(step) * flat.weight).max(initial=0.0))
        moved = np.empty_like(q)
        displace(flat, q, step * min(1.0, LARGEST / size) if size > 0 else step, moved)
        q = moved
        e.angles[nj:] = e.terms.values[nj:]
        if size < TOLERANCE:
            softest = _softest(mechanism, small, N.T @ e.mass() @ N)
            return Equilibrium(mechanism, State(begin.state.t, q, none), multipliers, softest, iteration)
    raise EquilibriumError(
        f"{mechanism.name!r} found no equilibrium in {ITERATIONS} iterations; the last moved it by {size:.2g} of its length. Start nearer to one, or add a spring that holds it."
    )


def _stiffness(e: Equations, functions: np.ndarray, q: np.ndarray, multipliers: np.ndarray) -> tuple:
    """Stiffness (nv, nv), Jacobian of the joints (nj, nv), motions that they allow (nv, nf)."""
    none = np.zeros(len(e.flat.weight))
    t = tangent(e, functions, q, none, none, multipliers)
    G = t.G.toarray()
    return t.K.toarray(), G, allowed_motions(G, e.flat.weight)


def _downhill(K: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Newton's step with negative stiffnesses turned round, and small ones raised."""
    if not len(K):
        return np.zeros(0)
    values, vectors = np.linalg.eigh(K)
    least = max(FLAT * np.abs(values).max(), np.finfo(float).tiny ** 0.5)
    return np.asarray(vectors @ ((vectors.T @ force) / np.maximum(np.abs(values), least)))


def _softest(mechanism: Mechanism, small: np.ndarray, mass: np.ndarray) -> float:
    """The lowest eigenvalue of the stiffness; refuses motions that nothing holds."""
    if not len(small):
        return np.inf
    values = eigh(small, mass, eigvals_only=True)
    free = int((np.abs(values) < FLAT * np.abs(values).max()).sum()) if values.any() else len(values)
    if free:
        raise EquilibriumError(
            f"{mechanism.name!r} has {free} motion(s) that nothing holds or returns, so its place of rest is not determined. Drive or hold them, or add a spring."
        )
    return float(values[0])

"""Stationary states of force elements, solved together with an equilibrium.

At an equilibrium the rates of all states vanish: `zdot + Zx x + Zz z = 0` for a displacement `x` and a change `z` of
the states. Where `Zz` has an inverse, the states follow the displacement and change the stiffness. The others are of
two kinds. Where the rate vanishes at rest whatever the configuration (the deflection of a tyre), it is that of a
displacement: the change follows `Zv x`, with `Zv` the derivative of the rate by velocities. Where it depends on the
configuration only (the integral of a controller), it restricts the displacement, and the state is a reaction.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space

from flexmb.equations.evaluation import Equations
from flexmb.equations.state_tangent import state_tangent
from flexmb.equations.tangent import DEPENDENT, carrying, require_derivatives
from flexmb.errors import EquilibriumError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.scales import rate_at

STATIONARY = 1e-8
"""Largest rate of a stationary state, relative to its scale and the rate of the mechanism."""
ENDED = 1e-12
"""Size of a state, or of what states push, relative to their scale, below which it is what rounding leaves of zero."""


@dataclass(frozen=True, eq=False)
class StationaryStates:
    """Changes `at_once + by_motion x + free r` (nz,) of the states that make them stationary, with reactions `r` (nr,).

    - `by_motion` (nz, nv), `free` (nz, nr); `scale` (nz,): of the states.
    - `restrict` (nc, nv), `wanted` (nc,): displacements must satisfy `restrict x = wanted`.
    - `force`, `force_error` (nv, nz): residual forces of units of the states, and bounds of their errors.
    """

    at_once: np.ndarray
    by_motion: np.ndarray
    free: np.ndarray
    scale: np.ndarray
    restrict: np.ndarray
    wanted: np.ndarray
    force: np.ndarray
    force_error: np.ndarray

    @property
    def stiffness(self) -> np.ndarray:
        """What the states add to the stiffness (nv, nv)."""
        return np.asarray(self.force @ self.by_motion)

    @property
    def stiffness_error(self) -> np.ndarray:
        """A bound of the errors of `stiffness` (nv, nv)."""
        return np.asarray(
            self.force_error @ np.abs(self.by_motion) + 1e-11 * np.abs(self.force) @ np.abs(self.by_motion)
        )

    @property
    def offset(self) -> np.ndarray:
        """What the states add to the residual forces (nv,)."""
        return np.asarray(self.force @ self.at_once)

    @property
    def pushing(self) -> np.ndarray:
        """Residual forces (nv, nr) of units of the reactions; none of those that are rounding beside the forces of
        states as large as their scale."""
        pushes = np.asarray(self.force @ self.free)
        largest = float(np.linalg.norm(np.abs(self.force) @ self.scale))
        return np.where(np.linalg.norm(pushes, axis=0) > ENDED * largest, pushes, 0.0)

    def held(self, N: np.ndarray, closing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The combinations (nf, n) of allowed motions `N` (nv, nf) that the states do not restrict, and the
        displacement (nv,) within `N` that they ask for beside `closing` (nv,)."""
        if not len(self.restrict):
            return np.eye(N.shape[1]), np.zeros(len(N))
        rows = self.restrict @ N
        return null_space(rows), N @ np.linalg.lstsq(rows, self.wanted - self.restrict @ closing, rcond=DEPENDENT)[0]

    def change(self, x: np.ndarray, reactions: np.ndarray) -> np.ndarray:
        """The change (nz,) of the states for a displacement `x` (nv,) and `reactions` (nr,), relative to their
        scale."""
        return (self.at_once + self.by_motion @ x + self.free @ reactions) / self.scale

    def changed(self, states: np.ndarray, change: np.ndarray) -> np.ndarray:
        """The `states` (nz,) after a `change` (nz,) relative to their scale. What rounding leaves of a state that comes
        to zero is zero: it would be the scale of one that no motion changes."""
        found = states + self.scale * change
        return np.where(np.abs(found) < ENDED * self.scale, 0.0, found)


def stationary_states(
    e: Equations, functions: np.ndarray, q: np.ndarray, w: np.ndarray, multipliers: np.ndarray
) -> StationaryStates:
    """The stationary states near `e.states` at a configuration `q` (nq,) with constant velocities `w` (nv,).

    Raises `LawError` when a law has no values there, or right beside.
    """
    nv, nz = len(w), len(e.states)
    if not nz:
        none, wide = np.zeros((0, nv)), np.zeros((0, 0))
        return StationaryStates(np.zeros(0), none, wide, np.zeros(0), none, np.zeros(0), none.T, none.T)
    still = np.zeros(nv)
    t, errors, scale = state_tangent(e, functions, q, w, still, multipliers)
    require_derivatives(e, functions, errors.by_speed, errors.by_place, errors.by_state, errors.force)
    rate, rates = rate_at(e.flat, w, still), e.workspace.state_rates.copy()
    over, unit = 1.0 / (scale * rate), 1.0 / e.flat.weight
    by_state = t.by_state * over[:, None] * scale
    by_place = (t.by_place + t.by_speed @ carrying(e.flat, w)) * over[:, None] * unit
    by_speed = t.by_speed / scale[:, None] * unit
    follows, given = _invariants(by_state, by_place, by_speed)
    others = null_space(follows) if len(follows) else np.eye(nz)
    by_place = others.T @ (by_place + by_state @ follows.T @ given)
    own, rates = others.T @ by_state @ others, others.T @ (rates * over)
    U, s, _ = np.linalg.svd(own)
    regular = s > DEPENDENT * max(1.0, s.max(initial=0.0))
    solved, restricting = U[:, regular].T, U[:, ~regular].T
    back = np.linalg.pinv(solved @ own, rcond=DEPENDENT)
    at_once = -others @ back @ (solved @ rates)
    by_motion = follows.T @ given - others @ back @ (solved @ by_place)
    return StationaryStates(
        at_once * scale,
        by_motion * scale[:, None] / unit,
        others @ (null_space(solved @ own) if len(solved) else np.eye(len(own))) * scale[:, None],
        scale,
        restricting @ by_place / unit,
        -restricting @ rates,
        t.force,
        errors.force,
    )


def _invariants(by_state: np.ndarray, by_place: np.ndarray, by_speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal combinations (n, nz) of the states whose rates vanish at rest, whatever the configuration and the
    other states, and their changes (n, nv) by displacements.

    They are found in turn: while some are constant, so are others, as the oil in a cylinder whose valve they close.
    """
    nz, nv = by_place.shape
    follows, given = np.zeros((0, nz)), np.zeros((0, nv))
    while len(follows) < nz:
        others = null_space(follows) if len(follows) else np.eye(nz)
        place = others.T @ (by_place + by_state @ follows.T @ given)
        U, s, _ = np.linalg.svd(others.T @ by_state @ others)
        left = U[:, s <= DEPENDENT * max(1.0, s.max(initial=0.0))].T
        V, s, _ = np.linalg.svd(left @ place)
        acts = np.concatenate([s, np.zeros(len(V))])[: len(V)] > DEPENDENT
        more = V[:, ~acts].T @ left @ others.T
        if not len(more):
            break
        follows, given = np.vstack([follows, more]), np.vstack([given, more @ by_speed])
    return follows, given


def require_stationary(
    e: Equations, functions: np.ndarray, q: np.ndarray, w: np.ndarray, multipliers: np.ndarray
) -> None:
    """Raise `EquilibriumError` when the states `e.states` change at a configuration."""
    if not len(e.states):
        return
    scale = state_tangent(e, functions, q, w, np.zeros(len(w)), multipliers)[2]
    rates = e.workspace.state_rates / (scale * rate_at(e.flat, w, np.zeros(len(w))))
    k = int(np.abs(rates).argmax())
    if not abs(rates[k]) <= STATIONARY:
        element, state = state_names(e.mechanism)[k]
        raise EquilibriumError(
            f"The state {state!r} of {element!r} of {e.mechanism.name!r} has no stationary value near "
            f"{e.states[k]:.6g}: it changes at {e.workspace.state_rates[k]:.4g} per unit of time. Start nearer to its "
            "stationary value (initial= of the law), or simulate: a state that grows steadily has none."
        )


def state_names(mechanism: Mechanism) -> list[tuple[str, str]]:
    """The name of the element and of the state, for all states of force elements and controllers."""
    frames = [(force.name, state) for force in mechanism.frame_forces for state in force.call.law.states]
    return frames + [(own.name, state) for own in mechanism.controllers for state in own.state_names]

"""The softest motion of an equilibrium, and whether forces may feed energy to it."""

import numpy as np
import scipy.sparse as sp

from flexmb.differences import ROUNDING
from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import as_sparse
from flexmb.equations.stationary import stationary_states
from flexmb.equations.tangent import allowed_motions, carrying, measured_tangent
from flexmb.errors import EquilibriumError
from flexmb.linear.rest.motions import creeping, motions_by_stiffness, moved_most
from flexmb.linear.touching import Touching
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State

CIRCULATES = 1e-6
"""Ratio of the stiffness across two motions to the mean of theirs, beyond which its forces have no potential; and of a
damping that feeds a motion to the largest of all."""


def softest_motion(
    e: Equations,
    functions: np.ndarray,
    state: State,
    multipliers: np.ndarray,
    moving: bool,
    touching: Touching | None,
) -> tuple[float, float, bool]:
    """The lowest stiffness per unit of mass, a bound of its error, and whether forces at rest may feed energy to
    motions.

    Raises `EquilibriumError` for unrestrained motions of mechanisms at rest; at a critical speed, moving bodies have
    one. The error of its own stiffness decides whether a motion is restrained, not the stiffness of others: gravity
    restrains a hanging bar of steel, with a stiffness ten orders of magnitude below that of its bending.
    """
    q, w = state.q, state.w
    none = np.zeros_like(w)
    t, errors = measured_tangent(e, functions, q, w, none, multipliers)
    carried = carrying(e.flat, w)
    e.residual(functions, q, w, none, multipliers)
    N = allowed_motions(as_sparse(e.flat, e.workspace.G)[: e.flat.joint_rows].toarray(), e.flat.weight)
    stationary = stationary_states(e, functions, q, w, multipliers)
    N = N @ stationary.held(N, none)[0]
    feeds = _remembers(e.mechanism, moving)
    if not N.shape[1]:
        return np.inf, 0.0, feeds
    K = t.K + t.D @ carried
    closed = None if touching is None else touching.closed(q)
    whole = K.toarray() + stationary.stiffness + (0.0 if closed is None else closed.stiffness)
    x, stiffness = motions_by_stiffness(e, whole, N)
    size = np.abs(x)
    wrong = errors.K + errors.D @ abs(carried) + ROUNDING * abs(K)
    bounds = size.T @ (wrong @ size + stationary.stiffness_error @ size)
    bounds = bounds if closed is None else bounds + closed.errors(x)
    across = np.abs(x.T @ whole @ x - np.diag(stiffness)) - bounds
    if not moving and touching is None:
        round_ = bool((across > CIRCULATES * np.sqrt(np.abs(np.outer(stiffness, stiffness)))).any())
        feeds = feeds or round_ or _pushes_on(x, t.D, errors.D)
    error = np.diag(bounds)
    free = np.flatnonzero(np.abs(stiffness) <= error)
    if len(free) and not moving:
        raise EquilibriumError(
            f"{e.mechanism.name!r} has {len(free)} motion(s) that nothing restrains{moved_most(e, x[:, free])}, so "
            "its equilibrium is not unique. Drive or lock them, or add a spring; linearise(system), or flexmb modes "
            f"--start, takes the state as drawn.{creeping(e.mechanism)}"
        )
    k = int(stiffness.argmin())
    return float(stiffness[k]), float(error[k]), feeds


def _pushes_on(x: np.ndarray, D: sp.csr_matrix, errors: sp.csr_matrix) -> bool:
    """Whether forces push along the velocity of one of the motions `x` (nv, n), by the derivative `D` (nv, nv) of the
    residual with respect to the velocities and its `errors`."""
    damping, size = x.T @ (D @ x), np.abs(x)
    values = np.linalg.eigvalsh(0.5 * (damping + damping.T))
    error = float(np.linalg.norm(size.T @ ((errors + ROUNDING * abs(D)) @ size)))
    return bool(values[0] < -error - CIRCULATES * np.abs(values).max())


def _remembers(mechanism: Mechanism, moving: bool) -> bool:
    """Whether a force element has states, such as pressures, or at rest a controller that measures has them, such as an
    integral, or holds its commands, with which forces come later than motions."""
    controllers = not moving and any(own.initial and own.signals for own in mechanism.controllers)
    return controllers or any(force.call.law.states for force in mechanism.frame_forces)

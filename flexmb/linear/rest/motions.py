"""The stiffness at a place of the search, and the motions that it does not couple."""

import numpy as np
from scipy.linalg import eigh

from flexmb.differences import ROUNDING
from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import as_sparse
from flexmb.equations.tangent import allowed_motions, carrying, tangent
from flexmb.errors import EquilibriumError
from flexmb.mechanism.contacts.element import rubs
from flexmb.mechanism.features import few
from flexmb.mechanism.mechanism import Mechanism

HELD = 1e-6
"""Part of the largest stiffness, and length by which joints open for one of all bodies, below which nothing holds a
translation of all bodies."""


def stiffness_of(
    e: Equations, functions: np.ndarray, q: np.ndarray, w: np.ndarray, multipliers: np.ndarray, difference: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stiffness (nv, nv) at constant world velocities, Jacobian of the joints (nj, nv), allowed motions (nv, nf)."""
    t = tangent(e, functions, q, w, np.zeros_like(w), multipliers, difference)
    e.residual(functions, q, w, np.zeros_like(w), multipliers)
    G = as_sparse(e.flat, e.workspace.G)[: e.flat.joint_rows].toarray()
    return (t.K + t.D @ carrying(e.flat, w)).toarray(), G, allowed_motions(G, e.flat.weight)


def motions_by_stiffness(e: Equations, K: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Displacements (nv, nf) of unit mass that the joints allow and `K` does not couple, and their stiffnesses (nf,).

    The stiffness of soft motions is accurate even if others are stiffer by many orders of magnitude.
    """
    M = e.mass()
    small = N.T @ K @ N
    vectors = eigh(0.5 * (small + small.T), N.T @ (M @ N))[1]
    x = N @ vectors
    return x, np.einsum("ik,ik->k", x, K @ x) / np.einsum("ik,ik->k", x, M @ x)


def motions_with_errors(
    e: Equations, K: np.ndarray, N: np.ndarray, rounded: np.ndarray, wrong: np.ndarray, difference: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`motions_by_stiffness`, and the errors (nf,) of the stiffnesses, for the round-off of forces `rounded` (nv,) and
    the errors `wrong` (nv, nv) of `K` by states."""
    x, stiffness = motions_by_stiffness(e, K, N)
    size = np.abs(x)
    error = (size.T @ (ROUNDING * np.abs(K) + wrong) * size.T).sum(axis=1)
    return x, stiffness, error + (size.T @ rounded) * (size.T @ e.flat.weight) / difference


def drifting(e: Equations, step: np.ndarray, x: np.ndarray, stiffness: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Those of the motions `x` (nv, nf) that nothing restrains, of a `stiffness` (nf,) within its `error`, if a `step`
    (nv,) goes along them for the most part; none otherwise."""
    M = e.mass()
    free: np.ndarray = x[:, np.abs(stiffness) <= error]
    along = free @ ((free.T @ (M @ step)) / np.einsum("ik,ik->k", free, M @ free))
    rest, size = (float((np.abs(v) * e.flat.weight).max(initial=0.0)) for v in (step - along, along))
    found: np.ndarray = free if rest < size else free[:, :0]
    return found


def moved_most(e: Equations, x: np.ndarray) -> str:
    """The body that moves most in the motions `x` (nv, n), and how, as text."""
    sizes = np.abs(x) * e.flat.weight[:, None]
    place, which = np.unravel_index(int(sizes.argmax()), sizes.shape)
    b = int(np.searchsorted(e.flat.v_start, place, side="right")) - 1
    first = int(e.flat.v_start[b])
    how = "it deforms"
    if place < first + 6:
        turns = place >= first + 3
        axis = x[first + 3 : first + 6, which] if turns else x[first : first + 3, which]
        axis = axis / axis[np.abs(axis).argmax()]
        numbers = ", ".join(f"{v:.2g}" for v in np.round(axis, 3) + 0.0)
        how = f"it {'turns about' if turns else 'moves along'} ({numbers}) of its frame"
    return f" ({e.mechanism.bodies[b].name!r} moves most: {how})"


def accelerating(e: Equations, K: np.ndarray, G: np.ndarray, out: np.ndarray, along: np.ndarray) -> str:
    """A sentence on the acceleration that loads, such as a thrust, give to a mechanism that may move as a whole in some
    directions; empty where there is none beside gravity.

    - `K` (nv, nv), `G` (nj, nv): tangent and joint equations; `out` (nv,): the residual without reactions.
    - `along` (nv, 3): translations of all bodies along the world axes.
    """
    held = np.vstack([G @ along, K @ along / (np.abs(K).max(initial=0.0) or 1.0)])
    sizes, directions = np.linalg.svd(held, full_matrices=True)[1:]
    free = directions[np.count_nonzero(sizes > HELD) :].T
    felt = free @ (free.T @ (along.T @ -out)) / e.flat.mass.sum()
    falls = free @ (free.T @ e.mechanism.gravity)
    if not np.abs(felt - falls).max() > HELD * (np.abs(felt).max() + np.abs(falls).max()):
        return ""
    felt = np.where(np.abs(felt) > HELD * np.abs(felt).max(), felt, 0.0)
    return (
        f" Its loads accelerate all of it by ({', '.join(f'{a:.4g}' for a in felt)}). For its steady state in "
        "axes that accelerate with it, hold one body by a fixed joint to the ground, and give equilibrium this "
        "acceleration=."
    )


def creeping(mechanism: Mechanism) -> str:
    """A sentence on the friction of continuous contacts, which holds nothing at rest; empty without any."""
    creep = [force.name for force in mechanism.frame_forces if rubs(force)]
    if not creep:
        return ""
    return (
        f" The friction of {few(creep)} creeps and holds nothing at rest; that of exact contacts, without law=, of "
        "boxes and meshes on planes does."
    )


def require_answers(e: Equations, found: np.ndarray) -> None:
    """Raise `EquilibriumError` when forces or stiffnesses at a place of the search are no numbers, with the failure of
    the law that gave none."""
    if np.isfinite(found).all():
        return
    failures = [law.failure for law in e.mechanism.calls if law.failure is not None]
    cause = failures[0] if failures else "Forces there are no numbers."
    raise EquilibriumError(
        f"The search for an equilibrium of {e.mechanism.name!r} leaves the places at which its laws have values. "
        f"{cause} Start nearer to an equilibrium, or add a spring that holds what nothing restrains."
        f"{creeping(e.mechanism)}"
    ) from (failures[0] if failures else None)

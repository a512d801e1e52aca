"""One iteration of the search for an equilibrium: Newton's step, without and with flexible surfaces that touch."""

from typing import NamedTuple

import numpy as np

from flexmb.differences import ROUNDING
from flexmb.equations.evaluation import Equations
from flexmb.errors import EquilibriumError
from flexmb.linear.rest.motions import motions_with_errors
from flexmb.linear.touching import CHANGES, OPEN, OVERLAP, SLIPS, STICKS, Motions, Touching

LARGEST = 0.2
"""Largest displacement of one iteration, relative to the mechanism's length, or angle."""
TOLERANCE = 1e-11
CROSSED = 0.1
"""Ratio of the stiffness across two motions to the geometric mean of those along them (downhill: to the largest one),
beyond which all of it determines a step."""
SOFTEST = 1e-12
"""Least stiffness, relative to the largest, of motions that only contacts restrain, while points are chosen."""
STIFFER = (1.0, 1e2, 1e4)
"""Factors of the stiffness of motions that only contacts restrain, which are tried one after the other: that of bodies
which may travel far leaves few digits to the cone problem of parts with an interference."""
KEPT = 1e-9
"""Change of the forces of points, relative to the largest, below which they may begin and cease to touch at the end."""


class Pressed(NamedTuple):
    """A step with flexible surfaces that touch: the displacement `step` (nv,) and the `changes` (n, 3) of the forces of
    their points; the residual forces `out` (nv,) with the changed forces, and the stiffness `K` (nv, nv) with constant
    ones; the displacement that round-off leaves `open`; and whether the points keep what they do and yield by round-off
    only (`settled`)."""

    step: np.ndarray
    changes: np.ndarray
    out: np.ndarray
    K: np.ndarray
    open: float
    settled: bool


def pressed_step(
    touching: Touching,
    e: Equations,
    q: np.ndarray,
    K: np.ndarray,
    N: np.ndarray,
    start: np.ndarray,
    out: np.ndarray,
    rounded: np.ndarray,
    wrong: np.ndarray,
    difference: float,
    downhill: bool,
    swings: int,
) -> Pressed:
    """Newton's step with flexible surfaces that touch (flexmb/linear/touching.py).

    `start` (nv,): a displacement to add to the allowed motions `N`; `out` (nv,) and `K` (nv, nv): residual forces and
    stiffness of the mechanism `e` without these surfaces; `swings`: how often points have returned to what they did
    before, since they may slip by less than the cone problem of bodies that may travel far resolves.
    """
    length = e.mechanism.length
    K = K + touching.stiffness(q)
    seen, before, old = touching.see(q), touching.does.copy(), touching.forces.copy()
    out = out - seen.pushed(old)
    rounded = rounded + ROUNDING * np.einsum("kc,kcj->j", np.abs(old), np.abs(seen.rows))
    x, stiffness, error = motions_with_errors(e, K, N, rounded, wrong, difference)
    size = np.abs(x)
    # motions that nothing else restrains move by the largest step under all of their forces, those of overlaps included
    restrained = stiffness > error
    bent = ((seen.rows[:, 0] @ x[:, restrained]) ** 2 / stiffness[restrained]).sum(axis=1)
    overlaps = np.maximum(-seen.gap, 0.0) / np.maximum(bent + seen.own_compliance, np.finfo(float).tiny)
    felt = rounded / ROUNDING + (overlaps + np.linalg.norm(old, axis=1)) @ np.abs(seen.rows).sum(axis=1)
    floor = (size.T @ felt) * (size.T @ e.flat.weight) / LARGEST
    floor = np.maximum(floor, SOFTEST * np.abs(stiffness).max(initial=0.0))
    for stiffer in STIFFER[min(swings, len(STIFFER) - 1) :]:
        motions = Motions(x, np.maximum(np.abs(stiffness), stiffer * floor))
        free = start - motions.respond(out + K @ start)
        try:
            new = touching.choose(seen, motions, free, exact=stiffer != STIFFER[-1])
            break
        except EquilibriumError:
            if stiffer == STIFFER[-1]:
                raise
    gaps = seen.places.ravel()
    gaps[::3] += seen.approached(new)
    for _ in range(CHANGES):
        held = touching.held(seen, new, touching.does)
        already = old.ravel()[held.loaded]
        yields = held.rows @ (gaps[held.loaded] - held.C @ already)
        stiff = held.G.T @ held.pushes @ np.linalg.inv(held.flexing)
        whole = K + stiff @ held.rows @ held.G
        force = -(out + held.G.T @ already + stiff @ yields)
        force -= whole @ start
        shaken = ROUNDING * length * stiff @ held.rows
        along, reachable = newton_step(e, whole, N, force, rounded, wrong, difference, downhill, shaken)
        if (touching.does == SLIPS).any():  # not symmetric, so that the motions by stiffness do not uncouple it
            along = N @ np.linalg.lstsq(N.T @ whole @ N, N.T @ force)[0]
        step = start + along
        if float((np.abs(step) * e.flat.weight).max(initial=0.0)) > LARGEST:
            break
        unknown = -np.linalg.solve(held.flexing, yields + held.rows @ held.G @ step)
        forces = np.zeros(3 * len(new))
        forces[held.loaded] = held.pushes @ unknown
        changes = forces.reshape(-1, 3) - old
        flexed = seen.flexed(changes)[:, 0]
        push = forces[::3]
        opens = (touching.does != OPEN) & (push < -OVERLAP * push.max(initial=0.0))
        there = seen.gap + seen.rows[:, 0] @ step + flexed
        closes = (touching.does == OPEN) & np.isfinite(seen.gap) & (there < -OVERLAP * length)
        if touching.friction.any() or not (opens.any() or closes.any()):
            kept = (touching.does == before).all() and not opens.any() and not closes.any()
            kept = kept or np.abs(changes).max() <= KEPT * push.max()
            moved = float(np.abs(flexed).max(initial=0.0)) / length
            settled = bool(kept) and moved < max(TOLERANCE, reachable)
            return Pressed(step, changes, out - seen.pushed(changes), K, reachable, settled)
        touching.does[opens], touching.does[closes] = OPEN, STICKS
    touching.require_support()
    changes = new - old
    pushed = seen.pushed(changes)
    return Pressed(free + motions.respond(pushed), changes, out - pushed, K, 0.0, False)


def newton_step(
    e: Equations,
    K: np.ndarray,
    N: np.ndarray,
    force: np.ndarray,
    rounded: np.ndarray,
    wrong: np.ndarray,
    difference: float,
    downhill: bool,
    shaken: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """Newton's step (nv,) within the allowed motions `N`, and the displacement that round-off leaves open.

    `rounded` (nv,): round-off of the forces; `shaken` (nv, n): forces by round-off of `n` positions; `wrong` (nv, nv):
    errors of `K` by states; `difference`: the relative steps of the differences in `K`. Stiffnesses below their error
    are raised to it; a motion with such a stiffness is not changed if its force is round-off. `downhill`: reverse the
    sign of negative stiffnesses.
    """
    if not N.shape[1]:
        return np.zeros(len(force)), 0.0
    weight = e.flat.weight
    x, stiffness, error = motions_with_errors(e, K, N, rounded, wrong, difference)
    size = np.abs(x)
    along, noise = x.T @ force, size.T @ rounded
    if shaken is not None:
        noise += np.abs(x.T @ shaken).sum(axis=1)
    flat = np.abs(stiffness) <= error
    raised = np.maximum(np.abs(stiffness), np.maximum(error, np.finfo(float).tiny))
    raised *= 1.0 if downhill else np.where(stiffness < 0, -1.0, 1.0)
    part = np.where(flat & (np.abs(along) <= noise), 0.0, along / raised)
    # downhill, the rest of K is also that of moments off the equilibrium, which must not undo the signs above
    sizes = np.full(len(part), np.abs(stiffness).max()) if downhill else np.abs(raised)
    scale = np.sqrt(sizes[~flat])
    across = (x.T @ K @ x - np.diag(stiffness))[np.ix_(~flat, ~flat)]  # not symmetric, as that of films
    across /= np.outer(scale, scale)
    if np.abs(across).max(initial=0.0) > CROSSED:
        whole = np.diag(stiffness[~flat] / sizes[~flat]) + across
        part[~flat] = np.linalg.lstsq(whole, along[~flat] / scale)[0] / scale
    open_ = np.where(flat, 0.0, noise / np.abs(raised))
    return np.asarray(x @ part), float(((size @ open_) * weight).max(initial=0.0))

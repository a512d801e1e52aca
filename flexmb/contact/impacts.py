"""Impacts of several contacts at once: impulses by the restitution of velocities (Newton).

A contact that closes with the rate `-u` leaves with at least `e u`, with equality where it transmits an impulse; the
friction is that of Coulomb with the slip after the impact. With friction, this law may gain energy.
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from flexmb.contact.cones import Coulomb, solve_contacts


def newton_impact(
    response: Float[np.ndarray, "n n"],
    before: Float[np.ndarray, "n"],
    friction: ArrayLike,
    restitution: ArrayLike,
) -> Float[np.ndarray, "n"]:
    """Impulses (n,) of contacts with three rows each: the normal, then two directions across it.

    - `response` W (n, n): velocities per impulse; `before` (n,): rates before the impact.
    - `friction`, `restitution`: coefficients of each contact.

    Raises `UnilateralError` when no impulses are found.
    """
    free = np.array(before, dtype=float)
    free[::3] += np.asarray(restitution) * np.minimum(before[::3], 0.0)
    scale = float(np.abs(before).max(initial=0.0))
    return solve_contacts(response, free, [Coulomb(float(mu)) for mu in np.asarray(friction)], scale=scale).impulses

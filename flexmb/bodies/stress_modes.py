"""Stresses of the shapes of a flexible body, from which its stresses follow for given elastic coordinates."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fem.model import Model
from reduction.basis import Basis

SQUARE = np.diag([1.5, 1.5, 1.5, 3.0, 3.0, 3.0])
SQUARE[:3, :3] -= 0.5
"""The square of the von Mises stress as a quadratic form of the stresses xx, yy, zz, xy, yz, zx."""


@dataclass(frozen=True, eq=False)
class StressShapes:
    """Stresses of the shapes at selected points.

    - `nodes` (p,): the nodes of the skin of the mesh, those between materials once for each of these, the stiffest
      first; -1 for points of beams and shells.
    - `x` (p, 3): positions in the body frame.
    - `rows` (p, 6, m): stresses xx, yy, zz, xy, yz, zx in body axes per unit of each elastic coordinate.
    - `lacking` (k, 6, 12): the static stresses that the shapes lack under forces of unit accelerations `e_b` and
      `X_a e_b` (`reduction.error.truncated_statics`), at the points number `lacking_at` (k,), where they are largest.
      None where they are not known.
    """

    nodes: Int[np.ndarray, "p"]
    x: Float[np.ndarray, "p 3"]
    rows: Float[np.ndarray, "p 6 m"]
    lacking: Float[np.ndarray, "k 6 12"] | None = None
    lacking_at: Int[np.ndarray, "k"] | None = None


def stress_shapes(model: Model, basis: Basis, truncated: Float[np.ndarray, "ndof 12"]) -> StressShapes | None:
    """The stresses of the shapes of `basis` on `model`, and of the static displacements that it lacks; None where none
    is known, as of beams of a section table without moduli.

    Cost: the gradients of m + 12 fields, once, and 24 bytes for each skin node and elastic coordinate.
    """
    nodes, x, rows = model.stresses(np.hstack([np.asarray(basis.Psi), truncated]))
    if not rows.any():
        return None
    lacking = rows[:, :, basis.n_modes :]
    at = _largest(model, lacking)
    return StressShapes(nodes, x, rows[:, :, : basis.n_modes].astype(np.float32), lacking[at], at)


def _largest(model: Model, rows: Float[np.ndarray, "p 6 12"]) -> Int[np.ndarray, "k"]:
    """The points with the largest von Mises stress for each acceleration about the mass centre, and for the sum and the
    difference of any two: in a motion, several act at once."""
    T = np.eye(12)
    T[:3, 3:] = -np.kron(model.centre_of_mass, np.eye(3))
    T[:, 3:] /= np.sqrt(np.trace(model.inertia()) / (2 * model.mass))
    own = rows @ T
    weighed = np.einsum("kl,pli->pki", SQUARE, own)
    squares, found = np.einsum("pki,pki->pi", own, weighed), []
    for i in range(12 if len(rows) else 0):
        twice = 2 * np.einsum("pk,pki->pi", own[:, :, i], weighed)
        both = squares + squares[:, i, None]
        found += [*(both + twice).argmax(axis=0), *(both - twice).argmax(axis=0)]
    return np.unique(np.array(found, dtype=np.int64))

"""Frictionless unilateral contact: impulses or forces that can push and cannot pull.

Given a symmetric, positive semidefinite matrix `W` (the response of the relative velocities, or accelerations, to the
pushes) and the velocities `b` without pushes, find pushes `p` with

    v = W p + b,        v_k = 0                              on bilateral rows,
                        v_k >= 0,  p_k >= 0,  v_k p_k = 0    on unilateral rows.

If a solution exists, `v` is unique. `p` is not unique if rows are dependent; the pushes of least norm, with each row
scaled by its own response, are then chosen.

These are the optimality conditions of the convex problem `min 1/2 p.W p + b.p` with `p_k >= 0`. With `W = A A^T`, its
dual is to find the least change `x = A^T p` with `A x + b >= 0` ("least distance programming"). This is equivalent to a
least-squares problem with sign constraints, `min |A^T u|^2 + (b.u + 1)^2`, where `p` is proportional to `u`. The
active-set method of Lawson and Hanson solves it in a finite number of steps, exactly up to rounding. The values `b` of
dependent rows may differ: contacts at one place can have different coefficients of restitution.

Sources: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23; Cottle, Pang, Stone, The Linear
Complementarity Problem (1992); Moreau, "Unilateral contact and dry friction in finite freedom dynamics" (1988).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from flexmb.errors import UnilateralError

ROUNDING = 1e-13
"""Rounding error of eigenvalues and gradients, relative to the largest, for scaled rows."""
RANK = 1e-10
"""Singular value of the scaled active rows, relative to the largest, below which they are dependent."""
UNMET = 1e-8
"""Violated velocity, relative to the largest, beyond which the problem has no solution."""
REGULAR = 1e-4
"""Weight of the norm of the pushes in the choice of the active rows; the pushes are computed without it."""


class Pushes(NamedTuple):
    """The solution of a unilateral problem: pushes (n,) and velocities (n,)."""

    push: Float[np.ndarray, "n"]
    velocity: Float[np.ndarray, "n"]


def complementary(
    response: Float[np.ndarray, "n n"],
    free: Float[np.ndarray, "n"],
    bilateral: Bool[np.ndarray, "n"] | None = None,
    noise: Float[np.ndarray, "n"] | None = None,
) -> Pushes:
    """Pushes and velocities of the problem above, with `response` W (n, n) and `free` velocities b (n,).

    Rows are unilateral except those in the mask `bilateral` (n,). `noise` (n,): the rounding errors of `free` (default:
    none beside the largest of them), by which the conditions of dependent rows may be violated.

    Raises `UnilateralError` when there is no solution, because bilateral rows contradict each other or a closing
    contact cannot be opened.
    """
    both = np.zeros(len(free), dtype=bool) if bilateral is None else bilateral
    diagonal = np.diagonal(response)
    scale = np.where(diagonal > 0, np.where(diagonal > 0, diagonal, 1.0) ** -0.5, 0.0)
    W, b = response * np.outer(scale, scale), free * scale
    values, vectors = np.linalg.eigh(0.5 * (W + W.T))
    kept = values > ROUNDING * values.max(initial=0.0)
    root = vectors[:, kept] * np.sqrt(values[kept])  # W = root root^T
    size = np.abs(b).max(initial=0.0) or 1.0
    distance = np.vstack([root.T, b / size, REGULAR * np.eye(len(b))])
    carrying = _carrying(distance, np.append(np.zeros(len(root.T)), [1.0, *np.zeros(len(b))]), both)
    push = np.zeros(len(b))
    change = np.linalg.lstsq(root[carrying], -b[carrying], rcond=RANK)[0]
    push[carrying] = np.linalg.lstsq(root.T[:, carrying], change, rcond=RANK)[0]
    push = np.where(both, push, np.maximum(push, 0.0)) * scale
    velocity = response @ push + free
    unit = np.where(scale > 0, scale, 1.0)
    _require_met(velocity * unit, b, both, np.zeros(len(b)) if noise is None else noise * unit)
    velocity[carrying] = 0.0
    velocity[~both] = np.maximum(velocity[~both], 0.0)
    return Pushes(push, velocity)


def _carrying(A: np.ndarray, c: np.ndarray, both: np.ndarray) -> np.ndarray:
    """The mask (n,) of active rows in `min |A p + c|` with `p >= 0` for rows not in `both` (Lawson and Hanson)."""
    p, carrying = np.zeros(A.shape[1]), both.copy()
    p[both] = _solved(A, c, both)
    size = float(np.linalg.norm(c))
    for _ in range(10 * (len(p) + 1)):
        gradient = -A.T @ (A @ p + c)
        gradient[carrying] = -np.inf
        if not (gradient > ROUNDING * size).any():
            break
        carrying[int(gradient.argmax())] = True
        while True:
            target = np.zeros_like(p)
            target[carrying] = _solved(A, c, carrying)
            negative = carrying & ~both & (target <= 0)
            if not negative.any():
                p = target
                break
            drop = p[negative] - target[negative]
            part = float((p[negative] / np.where(drop > 0, drop, 1.0)).min())
            p += part * (target - p)
            emptied = negative & (p <= ROUNDING * np.abs(p).max(initial=0.0))
            carrying &= ~emptied
            p[emptied] = 0.0
    return carrying


def _solved(A: np.ndarray, c: np.ndarray, carrying: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(A[:, carrying], -c, rcond=ROUNDING)[0]


def _require_met(velocity: np.ndarray, b: np.ndarray, both: np.ndarray, noise: np.ndarray) -> None:
    size = float(np.abs(b).max(initial=0.0))
    wrong = np.where(both, np.abs(velocity), -velocity) > np.maximum(UNMET * size, noise)
    if wrong.any():
        rows = ", ".join(str(k) for k in np.flatnonzero(wrong)[:6])
        raise UnilateralError(
            f"No pushes satisfy the conditions of rows {rows}: bilateral rows contradict each other, or no push can "
            "open a closing contact. Remove one of these constraints."
        )

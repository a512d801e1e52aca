"""The cone problem: impulses or forces of contacts with dry friction, from the response of the bodies to them.

The conditions and the method are those of flexmb/kernels/contact/cone.py. Where `W` is singular, because there are more
contacts than freedoms, the impulses are not unique; those of least norm are chosen, as for redundant joints: with
`r = Q c`, in which the orthonormal columns of `Q` are the directions in which the impulses of the solution may change
(all of a contact that sticks, one of a contact that slips, none of a contact that is open; moments of turning at their
bounds change with the normal impulse), `c` is replaced by its part in the range of `Q^T W Q`, as far as the cones
permit. With friction that slips, even the velocities need not be unique.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from flexmb.errors import UnilateralError
from flexmb.kernels.calls import solve_cones

TOLERANCE = 1e-10
"""Largest entry of the natural map of a solution, relative to the scale of the velocities."""
RANK = 1e-10
"""Eigenvalue of the scaled response, relative to the largest, below which contacts are dependent."""
WITHIN = 1e-9
"""Distance from a bound, relative to the bound or to the largest impulse, below which an impulse is at the bound."""
SYMMETRIC = 1e-9
"""Permitted asymmetry of the response, relative to its largest entry."""
SWEEPS = 20


@dataclass(frozen=True)
class Bounded:
    """A row without friction, with an impulse between bounds. The default is a unilateral contact; (-inf, inf) is a
    joint equation.

    Raises `UnilateralError` when the bounds are not in order, or are not numbers.
    """

    lower: float = 0.0
    upper: float = np.inf

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise UnilateralError(
                f"The lower bound of an impulse must not be above the upper one; found {self.lower} and {self.upper}."
            )

    rows = 1


@dataclass(frozen=True)
class Turning:
    """Friction of turning at a contact with dry friction or without: the row of spinning, or the two of rolling, with
    angular velocities and moments. The moment is at most `length` times the normal impulse of its contact, and opposes
    the angular velocity.

    - `contact`: the number of the block of the contact, a `Coulomb` or a `Bounded` with the lower bound 0.
    - `length`: a moment over a force.
    - `rows`: 1 for spinning, 2 for rolling.

    Raises `UnilateralError` when the length is negative or not finite, or there are other numbers of rows.
    """

    contact: int
    length: float
    rows: int = 2

    def __post_init__(self) -> None:
        if not (self.length >= 0.0 and np.isfinite(self.length)):
            raise UnilateralError(f"The friction of turning is a length >= 0; found {self.length}.")
        if self.rows not in (1, 2):
            raise UnilateralError(f"Friction of turning has 1 row, of spinning, or 2, of rolling; found {self.rows}.")


@dataclass(frozen=True)
class Coulomb:
    """A contact with dry friction: the row of the normal, then those of one (plane) or two tangential directions.

    - `friction`: the coefficient.
    - `rows`: 3, or 2 for a plane contact.

    Raises `UnilateralError` when the coefficient is negative or not finite, or there are other numbers of rows.
    """

    friction: float
    rows: int = 3

    def __post_init__(self) -> None:
        if not (self.friction >= 0.0 and np.isfinite(self.friction)):
            raise UnilateralError(f"A coefficient of friction is a number >= 0; found {self.friction}.")
        if self.rows not in (2, 3):
            raise UnilateralError(f"A contact with friction has 2 or 3 rows; found {self.rows}.")


Block = Bounded | Coulomb | Turning


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """Impulses (n,), or forces, and velocities (n,), or accelerations, of the cone problem.

    - `residual`: the largest entry of the natural map, in units of the velocities: above the tolerance where round-off
      is.
    - `sweeps`, `iterations`: the work, of Gauss-Seidel and of Newton's method.
    """

    impulses: Float[np.ndarray, "n"]
    velocities: Float[np.ndarray, "n"]
    residual: float
    sweeps: int
    iterations: int


def solve_contacts(
    response: Float[np.ndarray, "n n"],
    free: Float[np.ndarray, "n"],
    blocks: Sequence[Block],
    *,
    start: Float[np.ndarray, "n"] | None = None,
    scale: float | None = None,
    tolerance: float = TOLERANCE,
) -> ConeSolution:
    """Impulses `r` and velocities `response r + free` that satisfy the laws of all `blocks`.

    - `response` W (n, n): symmetric, positive semidefinite; velocities per impulse.
    - `free` b (n,): the velocities without impulses, for instance `u^+ + e u^-` for an impact with restitution.
    - `blocks`: the law of each block of rows, in order.
    - `start` (n,): a guess, such as the impulses of the step before. Dependent contacts that carry nothing at the
      guess may then remain without load: the norm is the least for the contacts that carry.
    - `scale`: the velocity to which `tolerance` refers (default: the largest entry of `free`). Where no solution
      meets it, one is taken whose residual is below the round-off of `response r`.

    Raises `UnilateralError` when the arrays do not fit together, and when no solution is found: the message names the
    blocks that violate their laws.
    """
    sizes = np.array([block.rows for block in blocks], dtype=np.int64)
    n = int(sizes.sum())
    W, f = np.array(response, dtype=float), np.array(free, dtype=float)
    _require_fitting(W, f, n)
    first = np.concatenate([[0], np.cumsum(sizes)])
    _require_contacts(blocks)
    mu = np.array([b.length if isinstance(b, Turning) else getattr(b, "friction", 0.0) for b in blocks], dtype=float)
    owner = np.array([b.contact if isinstance(b, Turning) else -1 for b in blocks], dtype=np.int64)
    low, high = (np.array([getattr(block, side, 0.0) for block in blocks], dtype=float) for side in ("lower", "upper"))
    velocity = float(np.abs(f).max(initial=0.0)) if scale is None else float(scale)
    target = tolerance * (velocity or 1.0)
    r = np.zeros(n) if start is None else np.array(start, dtype=float)
    if r.shape != (n,) or not np.isfinite(r).all():
        raise UnilateralError(f"The guess of the impulses must be ({n},) finite numbers; found {start!r}.")
    law = (W, f, first, owner, mu, low, high, target)
    done = solve_cones(*law, SWEEPS, r) if start is not None else (np.inf, 0, 0)
    if done[0] <= target:
        r, least = _of_least_norm(W, f, r, blocks, first, velocity, target)
    if not done[0] <= target or not least:
        r = np.zeros(n)
        done = solve_cones(*law, 0, r)
        if not done[0] <= target:
            r = np.zeros(n)
            done = solve_cones(*law, SWEEPS, r)
        if not done[0] <= max(target, _rounding(W, f, r)):
            _refuse(W @ r + f, blocks, first, done[0], velocity)
        r, _ = _of_least_norm(W, f, r, blocks, first, velocity, target)
    return ConeSolution(r, W @ r + f, *done)


def _require_contacts(blocks: Sequence[Block]) -> None:
    for k, block in enumerate(blocks):
        if not isinstance(block, Turning):
            continue
        own = blocks[block.contact] if 0 <= block.contact < len(blocks) else None
        if not (isinstance(own, Coulomb) or (isinstance(own, Bounded) and own.lower == 0.0)):
            raise UnilateralError(
                f"Friction of turning, block {k}, belongs to a contact, a Coulomb or a Bounded with the lower bound 0; "
                f"block {block.contact} is {own!r}."
            )


def _require_fitting(W: np.ndarray, b: np.ndarray, n: int) -> None:
    if W.shape != (n, n) or b.shape != (n,):
        raise UnilateralError(
            f"The blocks have {n} rows, so that the response is ({n}, {n}) and the free velocities are ({n},); found "
            f"{W.shape} and {b.shape}."
        )
    if not (np.isfinite(W).all() and np.isfinite(b).all()):
        raise UnilateralError("The response and the free velocities must be finite numbers.")
    if n and np.abs(W - W.T).max() > SYMMETRIC * np.abs(W).max():
        raise UnilateralError("The response must be symmetric: W = H M^-1 H^T with the rows H and the masses M.")


def _rounding(W: np.ndarray, b: np.ndarray, r: np.ndarray) -> float:
    """The velocity that round-off leaves open: that of the largest sum of the terms of `W r + b`."""
    return float(np.finfo(float).eps * (np.abs(W) @ np.abs(r) + np.abs(b)).max(initial=0.0))


def _refuse(
    u: np.ndarray,
    blocks: Sequence[Block],
    first: np.ndarray,
    residual: float,
    velocity: float,
) -> None:
    said = []
    for k, block in enumerate(blocks):
        own = slice(first[k], first[k + 1])
        closing = isinstance(block, Coulomb) or (block == Bounded())
        if closing and u[own][0] < -0.5 * residual:
            said.append(f"block {k} closes with {-u[own][0]:.3g}")
    raise UnilateralError(
        f"No impulses of {len(blocks)} contacts were found that satisfy their laws: velocities are wrong by "
        f"{residual:.3g} (scale {velocity:.3g}){': ' if said else ''}{', '.join(said[:6])}. Constraints contradict "
        "each other, or a contact that closes has no response; remove one of them."
    )


def _of_least_norm(
    W: np.ndarray,
    b: np.ndarray,
    r: np.ndarray,
    blocks: Sequence[Block],
    first: np.ndarray,
    scale: float,
    target: float,
) -> tuple[Float[np.ndarray, "n"], bool]:
    """The impulses of least norm with the velocities of `r`, as far as the cones permit, and whether no contact at rest
    is at the boundary of its cone, where other directions might lead to a lesser norm.

    Where the response is small in some directions, but not zero, impulses may be needed in them: if a change of the
    impulses changes velocities by more than `target` and round-off, `r` remains.
    """
    n, size, u, inside = len(r), float(np.abs(r).max(initial=0.0)), W @ r + b, True
    directions, within = [], []
    for k, block in enumerate(blocks):
        own = slice(int(first[k]), int(first[k]) + block.rows)
        rests = bool(np.abs(u[own]).max() <= WITHIN * scale)
        grip, push = float(np.linalg.norm(r[own][1:])), float(r[own][0])
        if isinstance(block, Turning):
            bound = block.length * float(r[first[block.contact]])
            free = float(np.linalg.norm(r[own])) < (1 - WITHIN) * bound
        elif isinstance(block, Bounded):
            free = block.lower + WITHIN * size < push < block.upper - WITHIN * size
        else:
            free = push > WITHIN * size and grip < (1 - WITHIN) * block.friction * push
        if free:
            directions += list(np.eye(n)[own])
            within.append(k)
            continue
        inside = inside and not rests
        if isinstance(block, Coulomb) and push > WITHIN * size:
            along = np.zeros(n)
            along[own] = r[own]
            directions.append(along / np.linalg.norm(along))
            within.append(k)
    if not directions:
        return r, inside
    Q = _with_bound_moments(np.array(directions).T, r, blocks, first, within, WITHIN * size)
    S, c = Q.T @ W @ Q, Q.T @ r
    values, vectors = np.linalg.eigh(0.5 * (S + S.T))
    kept = vectors[:, values > RANK * values[-1]]
    change = Q @ (kept @ (kept.T @ c) - c)
    if np.abs(W @ change).max() > max(target, _rounding(W, b, r)):
        return r, inside
    part = _furthest(r, change, blocks, first, within)
    found = r + part * change
    normals = [first[k] for k, block in enumerate(blocks) if isinstance(block, Coulomb)]
    found[normals] = np.maximum(found[normals], 0.0)  # round-off where the way ends at the tip of a cone
    return found, inside and part == 1.0


def _with_bound_moments(
    Q: np.ndarray, r: np.ndarray, blocks: Sequence[Block], first: np.ndarray, within: Sequence[int], least: float
) -> np.ndarray:
    """Directions of impulses, orthonormal again, in which moments of turning at their bounds, those of blocks that are
    not `within`, change with the normal impulses of their contacts, if these are above the `least`."""
    moved = Q.copy()
    for k, block in enumerate(blocks):
        if isinstance(block, Turning) and k not in within and r[first[block.contact]] > least:
            own, normal = slice(first[k], first[k] + block.rows), first[block.contact]
            moved[own] = np.outer(r[own] / r[normal], Q[normal])
    if np.array_equal(moved, Q):
        return Q
    return np.where(moved.any(axis=1, keepdims=True), np.linalg.qr(moved)[0], 0.0)  # exact zeros for the others


def _furthest(
    r: np.ndarray, change: np.ndarray, blocks: Sequence[Block], first: np.ndarray, within: Sequence[int]
) -> float:
    """The largest part, up to one, of a change of the impulses that stays within the cones of the contacts `within`,
    which are at rest, and within the bounds of friction of turning."""
    part = 1.0
    for k in [*within, *(k for k, block in enumerate(blocks) if isinstance(block, Turning) and k not in within)]:
        block, i = blocks[k], first[k]
        x, dx = r[i : i + block.rows], change[i : i + block.rows]
        if isinstance(block, Turning):
            o, mu2 = first[block.contact], block.length**2
            part = min(part, _within_cone(x, dx, r[o], change[o], mu2))
            continue
        if isinstance(block, Bounded):
            for bound, side in ((block.lower, -1.0), (block.upper, 1.0)):
                if side * dx[0] > 0 and np.isfinite(bound):
                    part = min(part, (bound - x[0]) / dx[0])
            continue
        if dx[0] < 0:
            part = min(part, -x[0] / dx[0])
        part = min(part, _within_cone(x[1:], dx[1:], x[0], dx[0], block.friction**2))
    return max(float(part), 0.0)


def _within_cone(x: np.ndarray, dx: np.ndarray, push: float, change: float, mu2: float) -> float:
    """The part, up to one, of a change up to which `|x + s dx| <= mu (push + s change)`; one for a slipping force,
    along which the change is.

    It is the first root of `a s^2 + 2 half s - room`. A later one may lie on the opposite cone, of forces that pull.
    """
    a = dx @ dx - mu2 * change**2
    half = x @ dx - mu2 * push * change
    room = mu2 * push**2 - x @ x
    inside = half**2 + a * room
    if room <= WITHIN * mu2 * push**2 or inside < 0.0 or (a <= 0.0 and half <= 0.0):
        return 1.0
    root = np.sqrt(inside)
    return min(float(room / (half + root) if half > 0 else (root - half) / a), 1.0)

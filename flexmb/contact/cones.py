"""The cone problem: impulses or forces of contacts with dry friction, from the response of the bodies to them.

The conditions and the method are those of flexmb/kernels/contact/cone.py. Where `W` is singular, because there are more
contacts than freedoms, the impulses are not unique; those of least norm are chosen, as for redundant joints
(flexmb/contact/least_norm.py). With friction that slips, even the velocities need not be unique.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from jaxtyping import Float

from fem.axes.limits import floats, is_number, is_whole
from flexmb.contact.least_norm import Laws, of_least_norm
from flexmb.errors import UnilateralError
from flexmb.kernels.calls import solve_cones

TOLERANCE = 1e-10
"""Largest entry of the natural map of a solution, relative to the scale of the velocities."""
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
        if not all(isinstance(x, Real) for x in (self.lower, self.upper)) or not self.lower <= self.upper:
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
        if not (is_number(self.length) and self.length >= 0.0):
            raise UnilateralError(f"The friction of turning is a length >= 0; found {self.length}.")
        if not is_number(self.rows) or self.rows not in (1, 2):
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
        if not (is_number(self.friction) and self.friction >= 0.0):
            raise UnilateralError(f"A coefficient of friction is a number >= 0; found {self.friction}.")
        if not is_whole(self.rows) or self.rows not in (2, 3):
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
    - `start` (n,): a guess, such as the impulses of the step before.
    - `scale`: the velocity to which `tolerance` refers (default: the largest entry of `free`). Where no solution
      meets it, one is taken whose residual is below the round-off of `response r`.

    Raises `UnilateralError` when the arrays do not fit together, and when no solution is found: the message names the
    blocks that violate their laws.
    """
    if not isinstance(blocks, Sequence) or not all(isinstance(block, Bounded | Coulomb | Turning) for block in blocks):
        raise UnilateralError(f"The blocks are a list of Bounded, Coulomb and Turning; found {blocks!r}.")
    if not (is_number(tolerance) and tolerance > 0 and (scale is None or is_number(scale))):
        raise UnilateralError(f"The tolerance is a positive number, and so is a scale; found {tolerance!r}, {scale!r}.")
    sizes = np.array([block.rows for block in blocks], dtype=np.int64)
    n = int(sizes.sum())
    W, f = floats(response), floats(free)
    _require_fitting(W, f, n)
    first = np.concatenate([[0], np.cumsum(sizes)])
    _require_contacts(blocks)
    mu = np.array([b.length if isinstance(b, Turning) else getattr(b, "friction", 0.0) for b in blocks], dtype=float)
    owner = np.array([b.contact if isinstance(b, Turning) else -1 for b in blocks], dtype=np.int64)
    low, high = (np.array([getattr(block, side, 0.0) for block in blocks], dtype=float) for side in ("lower", "upper"))
    velocity = float(np.abs(f).max(initial=0.0)) if scale is None else float(scale)
    target = tolerance * (velocity or 1.0)
    r = np.zeros(n) if start is None else floats(start)
    if r.shape != (n,) or not np.isfinite(r).all():
        raise UnilateralError(f"The guess of the impulses must be ({n},) finite numbers; found {start!r}.")
    laws = Laws(first, owner, mu, low, high)
    done = solve_cones(W, f, *laws, target, SWEEPS, r) if start is not None else (np.inf, 0, 0)
    for sweeps in (0, SWEEPS):
        if done[0] <= target:
            break
        r = np.zeros(n)
        done = solve_cones(W, f, *laws, target, sweeps, r)
    error = max(target, _rounding(W, f, r))
    if not done[0] <= error:
        _refuse(W @ r + f, blocks, first, done[0], velocity)
    r = of_least_norm(W, f, laws, r, velocity, error)
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

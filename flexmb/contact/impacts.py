"""Impacts: impulses of contacts with friction and restitution.

- Newton's law: a contact that closes with the rate `-u` leaves with at least `e u`, with equality where it transmits an
  impulse. Friction is that of Coulomb with the slip after the impact. With friction, this law may gain energy.
- Poisson's law: the normal impulse of the expansion is `e` times that of the compression, which ends when the contact
  no longer closes.
- Stronge's law: the work of the normal impulse in the expansion is `e^2` times that in the compression.
- The algebraic law of Pereira and Nikravesh: Newton's restitution; the point sticks if friction permits, otherwise the
  friction opposes the slip before the impact or, in space, has the direction in which most energy is lost.

In an impact at one point, the laws of Poisson and Stronge follow the slip while the normal impulse grows (Routh 1905;
Keller 1986): Coulomb's law holds at every instant. In an impact at several points, for which the order of the impulses
is not known, there are two phases. The impulses `r_c` of the compression are those of the cone problem. In the
expansion, the normal impulses are `e` times those of the compression, by either law, and friction satisfies Coulomb's
law with them and the velocities after it: friction that has stopped a slip does not turn it back. Points that still
close follow, without restitution. Points that do not act on each other strike as alone.

This gains no energy: of all impulses within the bounds, friction takes the most, and all impulses of the compression
times `1 + e` would take `-(1 + e) r_c . ((1 + e) u_c + (1 - e) u-) / 2 >= 0`, with the velocities `u-` before and `u_c`
after the compression. Of points with different coefficients, the expansion may give more than the compression took. It
is then shortened, in the same ratio at all points, until it gives back the part `e^2`, with the largest coefficient.

Friction of turning has moments within the bounds of the normal impulses, in the same problems. With it, an impact at
one point by another law than Newton's is taken in these two phases, too.

Sources: Stronge, Impact Mechanics (2000), chapters 2 to 5; Keller, "Impact with friction" (1986); Glocker and Pfeiffer,
"Multiple impacts with friction in rigid multibody systems" (1995); Pereira and Nikravesh, "Impact dynamics of multibody
systems with frictional contact using joint coordinates and canonical equations of motion" (1996).
"""

from collections.abc import Callable, Sequence

import numpy as np
import scipy
from jaxtyping import Float
from numpy.typing import ArrayLike

from flexmb.contact.cones import TOLERANCE, Block, Coulomb, Turning, solve_contacts
from flexmb.errors import UnilateralError

Reached = Callable[[np.ndarray, float, float], float]
"""A function of velocities, normal impulse and its work that rises to zero at the end of a phase of an impact."""
RESTS = 1e-10
"""Slip, relative to the velocities before an impact, at which a point sticks or turns."""
CLOSES = 10 * TOLERANCE
"""Rate, relative to the velocities before an impact, at which a contact still closes: more than the error with which
the cone problem is solved."""
ACCURACY = 1e-12
"""Relative accuracy of the velocities while the slip turns."""
LONGEST = 1e6
"""Normal impulse, relative to that which stops the point without friction, at which an impact does not end."""
DIRECTIONS = 360
"""Directions of friction among which that of the largest loss is bracketed."""
ROUNDS = 20
"""Compressions one after the other until no contact closes."""
HALVINGS = 40
"""Halvings of the part of an expansion that gives back no more than Stronge's law permits."""


def impact_impulses(
    response: Float[np.ndarray, "n n"],
    before: Float[np.ndarray, "n"],
    friction: ArrayLike,
    restitution: ArrayLike,
    laws: Sequence[str],
    *,
    turning: Float[np.ndarray, "k 2"] | None = None,
    scale: float = 0.0,
) -> Float[np.ndarray, "n"]:
    """Impulses (n,) of `k` contacts with three rows each: the normal, then two directions across it. The rows of their
    friction of turning follow.

    - `response` W (n, n): velocities per impulse; `before` (n,): rates before the impact.
    - `friction`, `restitution` (k,): coefficients of the contacts; `laws`: "newton", "poisson", "stronge" or
      "algebraic" of each. An impact in which they differ is one of several points without gain of energy.
    - `turning` (k, 2): the lengths of rolling and spinning, over the arms that turn angular velocities into rates. A
      contact has one row of spinning, about the normal, and then two of rolling, where these lengths are not zero.
    - `scale`: a velocity; the impulses of several points are found to a part of it, or of the largest of `before`.

    Raises `UnilateralError` when no impulses are found.
    """
    mu, e = np.asarray(friction, dtype=float), np.asarray(restitution, dtype=float)
    fast, normal = max(scale, float(np.abs(before).max(initial=0.0))), slice(0, 3 * len(laws), 3)
    blocks: list[Block] = [Coulomb(float(x)) for x in mu]
    for k, (rolling, spinning) in enumerate(() if turning is None else turning.tolist()):
        blocks += [Turning(k, spinning, rows=1)] if spinning > 0.0 else []
        blocks += [Turning(k, rolling)] if rolling > 0.0 else []
    if set(laws) == {"newton"}:
        free = np.array(before, dtype=float)
        free[normal] += e * np.minimum(before[normal], 0.0)
        return solve_contacts(response, free, blocks, scale=fast).impulses
    if len(blocks) == 1 and laws[0] == "algebraic":
        return algebraic_impact(response, before, float(mu[0]), float(e[0]))
    if len(blocks) == 1:
        return impact_at_point(response, before, float(mu[0]), float(e[0]), laws[0])
    return _in_two_phases(response, before, blocks, e, fast)


def _in_two_phases(W: np.ndarray, before: np.ndarray, blocks: list[Block], e: np.ndarray, fast: float) -> np.ndarray:
    pressed = solve_contacts(W, before, blocks, scale=fast).impulses
    allowed = (1.0 - e.max() ** 2) * _given(W, before, pressed)

    def impulses(share: float) -> np.ndarray:
        return _expanded(W, before, pressed, share * e, blocks, fast)

    whole = impulses(1.0)
    if _given(W, before, whole) <= allowed + CLOSES * fast * float(np.abs(whole).sum()):
        return whole
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _given(W, before, impulses(middle)) > allowed else (middle, high)
    return impulses(low)


def _given(W: np.ndarray, before: np.ndarray, impulses: np.ndarray) -> float:
    """The kinetic energy that impulses give."""
    return float(impulses @ (before + 0.5 * W @ impulses))


def _expanded(
    W: np.ndarray, before: np.ndarray, pressed: np.ndarray, e: np.ndarray, blocks: list[Block], fast: float
) -> np.ndarray:
    """The impulses of a compression, `pressed`, of the expansion with `e` times its normal impulses, and of
    compressions without restitution that follow where points still close."""
    normal = slice(0, 3 * len(e), 3)
    total = pressed + _expansion(W, before + W @ pressed, blocks, e * pressed[normal], fast)
    for _ in range(ROUNDS):
        u = before + W @ total
        if not (u[normal] < -CLOSES * fast).any():
            return total
        total = total + solve_contacts(W, u, blocks, scale=fast).impulses
    raise UnilateralError(f"Contacts still close after {ROUNDS} impulses at one instant; they jam.")


def _expansion(W: np.ndarray, u: np.ndarray, blocks: list[Block], push: np.ndarray, fast: float) -> np.ndarray:
    """Given normal impulses `push` (k,), and the friction and moments of turning that satisfy their laws with them, for
    rates `u` before: the cone problem without the response of other rows on the normals."""
    if not push.any():
        return np.zeros(len(u))
    normal = np.arange(0, 3 * len(push), 3)
    size = np.trace(W) / len(W)
    response, free = np.array(W), u + W[:, normal] @ push
    response[normal], response[:, normal] = 0.0, 0.0
    response[normal, normal], free[normal] = size, -size * push
    return solve_contacts(response, free, blocks, scale=fast).impulses


def impact_at_point(
    response: Float[np.ndarray, "3 3"], before: Float[np.ndarray, "3"], mu: float, e: float, law: str
) -> Float[np.ndarray, "3"]:
    """The impulse (3,) of an impact at one point by Poisson's or Stronge's law; arguments as of `impact_impulses`.

    Raises `UnilateralError` when the impact does not end, because friction presses the bodies together.
    """
    path = _Path(np.asarray(response, dtype=float), np.array(before, dtype=float), mu)
    path.grow(lambda u, impulse, work: u[0])
    stopped, needed = path.impulse[0], e * e * abs(path.work)
    path.work, path.u[0] = 0.0, 0.0
    if e > 0 and law == "poisson":
        path.grow(lambda u, impulse, work: impulse - (1.0 + e) * stopped)
    elif e > 0:
        path.grow(lambda u, impulse, work: work - needed)
    return path.impulse


def algebraic_impact(
    response: Float[np.ndarray, "3 3"], before: Float[np.ndarray, "3"], mu: float, e: float
) -> Float[np.ndarray, "3"]:
    """The impulse (3,) of an impact at one point by the law of Pereira and Nikravesh; arguments as of
    `impact_impulses`.

    Raises `UnilateralError` when friction along the slip prevents the rebound.
    """
    W, u = np.asarray(response, dtype=float), np.asarray(before, dtype=float)
    stick = -np.linalg.lstsq(W, np.array([(1.0 + e) * u[0], u[1], u[2]]), rcond=RESTS)[0]  # no force where none acts
    if stick[0] > 0.0 and np.linalg.norm(stick[1:]) <= mu * stick[0] and stick[1:] @ u[1:] <= 0.0:
        return stick

    def along(direction: np.ndarray) -> np.ndarray:
        whole = np.array([1.0, *(mu * direction)])
        eased = float(W[0] @ whole)
        return -(1.0 + e) * u[0] / eased * whole if eased > 0.0 else np.full(3, np.inf)

    slip = np.linalg.norm(u[1:])
    against = -u[1:] / slip if slip > 0.0 else np.zeros(2)
    across = np.array([-against[1], against[0]])
    plane = abs(float(across @ W[1:, 0])) + abs(float(across @ W[1:, 1:] @ against)) <= RESTS * float(np.abs(W).max())
    found = along(against)
    if mu > 0.0 and not plane:

        def gained(angle: float) -> float:
            p = along(np.array([np.cos(angle), np.sin(angle)]))
            return float(p @ (u + 0.5 * W @ p)) if np.isfinite(p).all() else np.inf

        angles = np.linspace(0.0, 2 * np.pi, DIRECTIONS, endpoint=False)
        best, width = angles[int(np.argmin([gained(x) for x in angles]))], 2 * np.pi / DIRECTIONS
        bounds = (best - width, best + width)
        least = scipy.optimize.minimize_scalar(gained, bounds=bounds, method="bounded", options={"xatol": 1e-12})
        found = along(np.array([np.cos(least.x), np.sin(least.x)]))
    if not np.isfinite(found).all():
        raise UnilateralError("Friction along the slip prevents the rebound; the algebraic law has no impulse.")
    return found


class _Path:
    """The velocities `u` (3,), impulses (3,) and the work of the normal impulse while this impulse grows."""

    def __init__(self, W: np.ndarray, u: np.ndarray, mu: float) -> None:
        self.W, self.u, self.mu = W, u, mu
        self.impulse, self.work = np.zeros(3), 0.0
        self._fast = float(np.abs(u).max())
        self._unit = abs(u[0]) / W[0, 0]

    def grow(self, reached: Reached) -> None:
        """Let the normal impulse grow until `reached(u, impulse, work)`, the normal impulse among its arguments, rises
        to zero."""
        if self.mu == 0.0:
            self._straight(np.array([1.0, 0.0, 0.0]), reached)
            return
        if np.linalg.norm(self.u[1:]) > RESTS * self._fast and self._slide(reached):
            return
        self.u[1:] = 0.0
        if reached(self.u, self.impulse[0], self.work) < 0.0:
            self._straight(self._at_rest(), reached)

    def _slide(self, reached: Reached) -> bool:
        """Grow while the point slips; whether `reached` has risen to zero then."""
        W, mu = self.W, self.mu
        sizes = np.repeat([self._fast, self._unit, self._fast * self._unit], [3, 3, 1])

        def rates(_: float, y: np.ndarray) -> np.ndarray:
            slip = y[1:3] / np.linalg.norm(y[1:3])
            direction = np.array([1.0, *(-mu * slip)])
            return np.concatenate([W @ direction, direction, [y[0]]]) * self._unit

        def end(_: float, y: np.ndarray) -> float:
            return float(reached(y[:3], y[3], y[6]))

        def rests(_: float, y: np.ndarray) -> float:
            return float(np.linalg.norm(y[1:3]) - RESTS * self._fast)

        end.terminal = rests.terminal = True  # type: ignore[attr-defined]
        end.direction, rests.direction = 1.0, -1.0  # type: ignore[attr-defined]
        found = scipy.integrate.solve_ivp(
            rates,
            (0.0, LONGEST),
            np.concatenate([self.u, self.impulse, [self.work]]),
            method="DOP853",
            rtol=ACCURACY,
            atol=ACCURACY * RESTS * sizes,
            events=(end, rests),
        )
        if not found.success or found.status == 0:
            raise UnilateralError("An impact with friction does not end: the friction presses the bodies together.")
        y = found.y[:, -1]
        self.u, self.impulse, self.work = y[:3].copy(), y[3:6].copy(), float(y[6])
        return len(found.t_events[0]) > 0

    def _at_rest(self) -> np.ndarray:
        """The impulse per normal impulse of a point without slip: it sticks if friction can hold it; otherwise it slips
        in the direction in which the bounded friction holds it best."""
        A, b = self.W[1:, 1:], self.W[1:, 0]
        held = -np.linalg.lstsq(A, b, rcond=RESTS)[0]
        if np.linalg.norm(held) <= self.mu:
            return np.array([1.0, *held])
        values, vectors = np.linalg.eigh(A)
        c = vectors.T @ b
        low, high = 0.0, float(np.linalg.norm(b)) / self.mu
        for _ in range(200):  # |(A + x I)^-1 b| = mu
            middle = 0.5 * (low + high)
            longer = np.linalg.norm(c / (values + middle)) > self.mu
            low, high = (middle, high) if longer else (low, middle)
        return np.array([1.0, *(-vectors @ (c / (values + high)))])

    def _straight(self, direction: np.ndarray, reached: Reached) -> None:
        """Grow with a constant direction: velocities are linear, the work is quadratic in the impulse."""
        change = self.W @ direction

        def at(p: float) -> tuple[np.ndarray, np.ndarray, float]:
            work = self.work + self.u[0] * p + 0.5 * change[0] * p * p
            return self.u + change * p, self.impulse + direction * p, work

        def early(p: float) -> bool:
            u, impulse, work = at(p)
            return reached(u, impulse[0], work) < 0.0

        low, high = 0.0, self._unit
        while early(high):
            low, high = high, 2.0 * high
            if high > LONGEST * self._unit:
                raise UnilateralError("An impact with friction does not end: the friction presses the bodies together.")
        while high - low > 1e-16 * high:
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (middle, high) if early(middle) else (low, middle)
        self.u, self.impulse, self.work = at(high)

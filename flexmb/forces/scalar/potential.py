"""The energy that a curve of efforts over the coordinate stores: minus its integral."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float
from numba import njit

from flexmb.forces.scalar.expression import expression
from flexmb.forces.scalar.points import OUTSIDE, SAME
from flexmb.kernels.base.memory import interval_of, number_at, repeated

NOTHING = expression("0")
"""The energy of a law that only dissipates."""
_HEAD = 3
"""Numbers before the knots: how many knots there are, the period (0: none), and whether slopes continue outside."""


@dataclass(frozen=True, eq=False)
class Potential:
    """Minus the integral of a piecewise cubic over the coordinate, zero at `x = 0` or at the end of the curve that is
    nearest to it; `potential` makes it.

    `data`: the number of knots (m), the period or 0, and 1 where the curve continues with its slope outside the knots;
    the knots (m,); and for each of the m - 1 intervals the five coefficients, highest first.
    """

    data: Float[np.ndarray, "n"] = field(repr=False)

    def __call__(self, t: float, x: float, xdot: float) -> float:
        """The energy."""
        return float(self.over(t, x, xdot))

    def over(self, t: Any, x: Any, xdot: Any) -> Float[np.ndarray, "nt"]:
        """The energies (nt,) at coordinates `x`, (nt,) or a number; `t` and `xdot` have no influence."""
        return self.slopes(t, x, xdot)[0]

    def slopes(self, t: Any, x: Any, xdot: Any) -> Float[np.ndarray, "4 nt"]:
        """The energies and their derivatives with respect to `t`, `x` and `xdot`, (4, nt)."""
        _, x, _ = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (t, x, xdot)))
        m, period, continues = int(self.data[0]), self.data[1], self.data[2]
        knots, parts = self.data[_HEAD : _HEAD + m], self.data[_HEAD + m :].reshape(-1, 5)
        if period > 0.0:
            x = x - period * np.floor((x - knots[0]) / period)
        inside = np.clip(x, knots[0], knots[-1])
        k = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, m - 2)
        u, (a, b, c, d, e) = inside - knots[k], np.moveaxis(parts[k], -1, 0)
        beyond, bend = x - inside, continues * ((12.0 * a * u + 6.0 * b) * u + 2.0 * c)
        slope = ((4.0 * a * u + 3.0 * b) * u + 2.0 * c) * u + d
        energy = (((a * u + b) * u + c) * u + d) * u + e + (slope + 0.5 * bend * beyond) * beyond
        none = np.zeros_like(energy)
        return np.stack([energy, none, slope + bend * beyond, none])

    @property
    def shared(self) -> tuple[Any, np.ndarray]:
        """The compiled function `energy(address, t, x, xdot)` of all potentials, and the numbers at the address."""
        return energy_at, self.data


@njit(cache=True, error_model="numpy")
def energy_at(address: int, t: float, x: float, xdot: float) -> float:
    """The energy at `x` of the potential with the data at an address (see `Potential`)."""
    m, period = int(number_at(address, 0)), number_at(address, 1)
    knots = address + 8 * _HEAD
    first, last = number_at(knots, 0), number_at(knots, m - 1)
    if period > 0.0:
        x = repeated(x, first, period)
    inside = min(max(x, first), last)
    beyond, k = x - inside, interval_of(knots, m, inside)
    u, place = inside - number_at(knots, k), m + 5 * k
    a, b, c = number_at(knots, place), number_at(knots, place + 1), number_at(knots, place + 2)
    d, e = number_at(knots, place + 3), number_at(knots, place + 4)
    slope = ((4.0 * a * u + 3.0 * b) * u + 2.0 * c) * u + d
    bend = number_at(address, 2) * ((12.0 * a * u + 6.0 * b) * u + 2.0 * c)
    return (((a * u + b) * u + c) * u + d) * u + e + (slope + 0.5 * bend * beyond) * beyond


def potential(
    knots: Float[np.ndarray, "m"], cubics: Float[np.ndarray, "m-1 4"], outside: str, period: float | None
) -> Potential | None:
    """The energy that efforts over the coordinate store: `cubics`, highest first, from each of the `knots` on.

    None for a periodic curve whose mean is not zero: it gives or takes energy in each period.
    """
    steps, powers = np.diff(knots), np.arange(4, 0, -1)
    parts = np.column_stack([-cubics / powers, np.zeros(len(cubics))])
    gained = sum(parts[:, k] * steps ** powers[k] for k in range(4))
    parts[1:, 4] = np.cumsum(gained)[:-1]
    if period is not None and abs(gained.sum()) > SAME * np.abs(gained).sum():
        return None
    head = [len(knots), period or 0.0, float(outside == OUTSIDE[2])]
    data = np.concatenate([head, knots, parts.ravel()])
    start = float(Potential(data).over(0.0, 0.0 if period else np.clip(0.0, knots[0], knots[-1]), 0.0))
    parts[:, 4] -= start
    return Potential(np.concatenate([head, knots, parts.ravel()]))

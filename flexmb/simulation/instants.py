"""Location of the first instant at which one of several measures passes its level, from values and rates at two times.

Each evaluation of the measures may require an integration. As evaluations at the same time with different steps may
differ in the last digits, the algorithm does not rely on reproducible signs: it keeps a bracket from a time at which no
measure has passed its level to a time at which some have, and only shrinks it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

SLOW = 4
"""Evaluations after which a bracket that has not shrunk to a quarter is bisected."""
ASIDE = 0.2
"""Offset from the estimate, relative to its last change, by which the bracket shrinks from both sides."""
DOUBT = 0.5
"""Error of the estimated maximum of a measure, relative to its rise above the ends."""


class Sight(NamedTuple):
    """Values of measures (n,) above their levels at a time, and their rates; NaN for inactive measures and unknown
    rates."""

    t: float
    above: np.ndarray
    rates: np.ndarray

    def passed(self, resolution: float) -> np.ndarray:
        """A mask (n,) of the measures that have passed their levels, or will have within the `resolution` of time."""
        with np.errstate(invalid="ignore"):
            soon = self.above + np.nan_to_num(self.rates) * resolution
            return np.asarray((self.above >= 0) | (soon >= 0))


def first_instant(look: Callable[[float], Sight], low: Sight, high: Sight, resolution: float) -> Sight:
    """The first passage of a level, to the `resolution` of time; no measure has passed at `low`, some have at `high`.

    `look(t)` evaluates the measures.
    """
    last, width, since = low.t, high.t - low.t, 0
    while high.t - low.t > resolution:
        passed = high.passed(resolution)
        guess = min(_crossing(low, high, int(k)) for k in np.flatnonzero(passed))
        aside = max(ASIDE * abs(guess - last), 0.5 * resolution)
        last = guess
        since += 1
        if since > SLOW:
            guess, width, since = 0.5 * (low.t + high.t), 0.5 * (high.t - low.t), 0
        elif high.t - guess < guess - low.t:
            guess = max(guess - aside, 0.5 * (low.t + guess))
        else:
            guess = min(guess + aside, 0.5 * (high.t + guess))
        at = min(max(guess, low.t + 0.25 * resolution), high.t - 0.25 * resolution)
        if not low.t < at < high.t:
            break
        sight = look(at)
        low, high = (low, sight) if sight.passed(resolution).any() else (sight, high)
        if high.t - low.t <= 0.25 * width:
            width, since = high.t - low.t, 0
    return high


def peak(low: Sight, high: Sight, k: int) -> float | None:
    """The time between two evaluations at which measure `k` may have passed its level and returned; None if it has not
    risen that far."""
    h, (f0, f1), (d0, d1) = high.t - low.t, (low.above[k], high.above[k]), (low.rates[k], high.rates[k])
    if not (f0 < 0 and f1 < 0 and d0 > 0 and d1 < 0):  # false if one is NaN
        return None
    c = _cubic(f0, f1, h * d0, h * d1)
    turns = np.roots([3 * c[3], 2 * c[2], c[1]])
    inside = [s.real for s in turns if abs(s.imag) < 1e-12 and 0 < s.real < 1 and 6 * c[3] * s.real + 2 * c[2] < 0]
    if not inside:
        return None
    s = inside[0]
    highest = float(np.polynomial.polynomial.polyval(s, c))
    return float(low.t + s * h) if highest + DOUBT * (highest - max(f0, f1)) >= 0 else None


def _cubic(f0: float, f1: float, d0: float, d1: float) -> np.ndarray:
    """Coefficients of the cubic on [0, 1] with these values and slopes at its ends."""
    return np.array([f0, d0, 3 * (f1 - f0) - 2 * d0 - d1, 2 * (f0 - f1) + d0 + d1])


def _crossing(low: Sight, high: Sight, k: int) -> float:
    """The time at which measure `k` passes its level between two evaluations: from the cubic if rates are known, from
    the tangent if only the first one is, else from the secant."""
    h, (f0, f1) = high.t - low.t, (low.above[k], high.above[k])
    if np.isnan(f0) or f1 < 0:
        return 0.5 * (low.t + high.t) if f1 >= 0 else high.t
    if not np.isnan(low.rates[k] + high.rates[k]):
        c = _cubic(f0, f1, h * low.rates[k], h * high.rates[k])
        for s in sorted(r.real for r in np.roots(c[::-1]) if abs(r.imag) < 1e-9):
            if 0 < s < 1 and c[1] + 2 * c[2] * s + 3 * c[3] * s * s > 0:
                return float(low.t + s * h)
    if low.rates[k] > 0 and np.isnan(high.rates[k]):  # the measure has no slope after its passage
        return float(low.t + min(-f0 / low.rates[k], h))
    return float(low.t + h * min(max(-f0 / (f1 - f0), 0.0), 1.0)) if f1 > f0 else 0.5 * (low.t + high.t)

"""When measures of a motion pass their levels: the first instant of several, from values and rates at two times.

A measure is known where somebody looks, and a look may cost an integration. Two looks at the same time from different steps may disagree in the last digits, so nothing here depends on signs that
come back: a bracket is kept from a time at which no measure had passed to one at which some have, and only shrinks.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

SLOW = 4
"""Looks after which a bracket that has not become a quarter is halved."""
ASIDE = 0.2
"""Of the last change of a guess: how far beside the guess to look, so that the bracket closes from both sides."""
DOUBT = 0.5
"""Of the rise of a measure above its ends: what its greatest value may be wrong by."""


class Sight(NamedTuple):
    """Measures (n,) at a time: how far they are above their levels, and their rates; nan for a measure that does not count, or an unknown rate."""

    t: float
    above: np.ndarray
    rates: np.ndarray

    def passed(self, resolution: float) -> np.ndarray:
        """Which measures (n,) have passed their levels, or will have within the resolution of time."""
        with np.errstate(invalid="ignore"):
            soon = self.above + np.nan_to_num(self.rates) * resolution
            return np.asarray((self.above >= 0) | (soon >= 0))


def first_instant(look: Callable[[float], Sight], low: Sight, high: Sight, resolution: float) -> Sight:
    """The first sight of a passage, to the `resolution` of time; nothing has passed at `low`, something has at `high`."""
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
    """The time between two sights at which measure `k` may have passed and come back; None where it has not risen that far."""
    h, (f0, f1), (d0, d1) = high.t - low.t, (low.above[k], high.above[k]), (low.rates[k], high.rates[k])
    if not (f0 < 0 and f1 < 0 and d0 > 0 and d1 < 0):  # false where one is not a number
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
    """Where measure `k` passes its level between two sights: by the cubic where rates are known, else by a chord."""
    h, (f0, f1) = high.t - low.t, (low.above[k], high.above[k])
    if np.isnan(f0) or f1 < 0:
        return 0.5 * (low.t + high.t) if f1 >= 0 else high.t
    if not np.isnan(low.rates[k] + high.rates[k]):
        c = _cubic(f0, f1, h * low.rates[k], h * high.rates[k])
        for s in sorted(r.real for r in np.roots(c[::-1]) if abs(r.imag) < 1e-9):
            if 0 < s < 1 and c[1] + 2 * c[2] * s + 3 * c[3] * s * s > 0:
                return float(low.t + s * h)
    return float(low.t + h * min(max(-f0 / (f1 - f0), 0.0), 1.0)) if f1 > f0 else 0.5 * (low.t + high.t)

"""Derivatives by central differences of fourth order, with smaller steps where a law does not resolve the usual ones.

The usual steps are relative to the size of the mechanism. A Hertzian contact that is compressed by a millionth of this
size changes its stiffness within them: the differences at two sizes of the step disagree, and the disagreement is the
bound of the error. Steps are then halved, for these entries only, until the bound is small or rounding exceeds it.
Likewise where a law has no value within the steps, as that of a film beyond its clearance.

Source: Richardson and Gaunt, "The deferred approach to the limit", Phil. Trans. R. Soc. A 226 (1927) 299-361.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

ROUNDING = 4e-16
"""Relative rounding error of a force that is the sum of a few terms."""
MEASURED = 2e-4
"""Difference step of fourth order, with errors of 1e-12 by rounding and less by curvature."""
ACCURATE = 1e-8
"""Error relative to the scale of an entry above which its steps are halved."""
HALVINGS = 18
"""Largest number of halvings; rounding of positions is then a millionth of the step."""
SLOWEST, FASTEST = 1.05, 4.0
"""Smallest ratio of successive deviations from which the error is extrapolated, and the largest that is believed; it is
16 for smooth laws, and anything by chance where a contact opens within the steps."""

BENT = 1e-3
"""Difference of the slopes on both sides, relative to the largest slope, above which a kink is suspected."""
FINER, FALLS = 0.1, 0.05
"""A step, relative to the first, and the ratio of the differences of both sides from which they do not vanish as those
of a smooth function: they fall to 0.01 there, to 0.03 with the power 3/2, to 0.1 at a kink, and not at a jump."""
JUMPS = 0.5
"""The same ratio for jumps, also those beside the place, and not for kinks."""
NOISE = 1e-12
"""Rounding of a function, relative to its value."""

Entries = np.ndarray


def measured_derivatives(
    central: Callable[[float], Entries],
    noise: Callable[[], Entries],
    shaken: Callable[[Entries], Entries],
    scale: Callable[[Entries], Entries],
) -> tuple[Entries, Entries]:
    """Derivatives (n,) to fourth order and bounds of their errors (n,).

    - `central(h)`: the derivatives by central differences of second order with steps `h`.
    - `noise()`: the effect on each derivative of the rounding of forces in steps `MEASURED`, after these were taken.
    - `shaken(value)`: that of the rounding of positions, which counts where laws are steep, in smaller steps.
    - `scale(value)`: the size of an entry that its error is compared with, for the derivatives found so far.

    A bound is the deviation from the result of coarser differences plus the effects of rounding. With halved steps it
    is at least a quarter of the previous deviation, so that two results that agree by chance do not count as accurate.
    Deviations that fall by less than a half, as those of a contact that opens within the steps do, are summed as the
    geometric series that they begin. Where a law has no value within all of the steps, the derivative is zero and its
    bound infinite.

    Cost: `central` is called three times, and once more for each halving of the step.
    """
    fine, middle, coarse = (central(factor * MEASURED) for factor in (1.0, 2.0, 4.0))
    value, before = (4 * fine - middle) / 3, (4 * middle - coarse) / 3
    deviation, rounded = np.abs(value - before), noise()
    bound = deviation + ROUNDING * np.abs(value) + rounded
    known = np.isfinite(bound)
    best, bound = np.where(known, value, 0.0), np.where(known, bound, np.inf)
    for halving in range(1, HALVINGS + 1):
        expected = 2.0**halving * (rounded + shaken(best))
        unsolved = (bound > ACCURATE * scale(best)) & (2 * expected < bound)
        if not unsolved.any():
            break
        coarser, before, last = fine, value, deviation
        fine = central(0.5**halving * MEASURED)
        value = (4 * fine - coarser) / 3
        deviation = np.abs(value - before)
        known = np.isfinite(last)  # the law had values within the steps before
        ratio = np.divide(last, deviation, out=np.full_like(last, 2.0), where=known & (deviation > 0))
        slow = np.clip(ratio, SLOWEST, 2.0) - 1
        ahead = deviation / slow
        if halving == 1:  # the first deviation begins such a series, too
            bound = np.where(unsolved & known, np.maximum(bound, np.where(known, last, 0.0) / slow), bound)
        found = np.maximum(ahead, np.where(known, last, 0.0) / FASTEST) + ROUNDING * np.abs(value) + expected
        better = unsolved & (found < bound)
        best, bound = np.where(better, value, best), np.where(better, found, bound)
    return best, bound


def broken(
    middle: Float[np.ndarray, " m"],
    sides: Callable[[float], tuple[Float[np.ndarray, "m n"], Float[np.ndarray, "m n"]]],
    falls: float = FALLS,
) -> Bool[np.ndarray, " m"]:
    """Which of m functions have a kink or a jump at a place, where central differences are no derivatives.

    Examples are the largest of several equal numbers, a magnitude at zero, and what friction turns off. Differences
    along n directions do not add up there, and those at a jump grow with the reciprocal of the step.

    - `middle`: values at the place; `sides(part)`: those on both sides of it in each direction, at this part of the
      steps of the differences. Steps of all directions are of comparable size.
    - `falls`: the ratio of the differences of both sides from which they do not vanish; `JUMPS` for jumps only.

    Cost: `sides` is called once, and once more where a function is suspected.
    """

    def bend(part: float) -> tuple[Entries, Entries]:
        below, above = sides(part)
        apart = np.abs(above + below - 2.0 * middle[:, None]).max(axis=1, initial=0.0)
        return apart, np.abs(above - below).max(axis=1, initial=0.0)

    rounded = NOISE * np.abs(middle)
    first, slope = bend(1.0)
    suspected = first > np.maximum(BENT * slope, rounded)
    if not suspected.any():
        return suspected
    return np.asarray(suspected & (bend(FINER)[0] > np.maximum(falls * first, rounded)))

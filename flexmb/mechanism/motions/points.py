"""Functions of time through points: splines, straight lines, and speeds along straight lines."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from fem.axes.limits import are_numbers, floats
from flexmb.errors import MotionError, UnresolvedWarning
from flexmb.mechanism.motions.time_function import (
    Origin,
    TimeFunction,
    everywhere,
    knots,
    length_of_feature,
    number,
    some,
)

SWING, ROUNDING, BETWEEN = 0.5, 1e-9, np.arange(1, 8) / 8
"""How far a spline may pass its values without a warning, relative to their range and to their size, and where it is
looked at between two points."""
STRAIGHT = 1e-9
"""Change of the slope of a speed at a point, relative to the largest slope, up to which the point is no corner."""


def table(
    times: np.ndarray | list, values: np.ndarray | list, *, feature: float | None = None, monotone: bool = False
) -> TimeFunction:
    """The cubic spline through the `values` (n,) at the `times` (n,), for instance of a measurement.

    The spline has two continuous derivatives. With `monotone=True` it is the piecewise cubic that does not overshoot
    (PCHIP), as `flexmb.table`: for ramps and plateaus, such as a gust or a test cycle, with few points at their
    corners; its acceleration jumps at the points. Neither is extrapolated: an evaluation outside `times` raises
    `MotionError`. Integrators with variable steps end a step at each point, as any point may be a peak, unless
    `feature` gives the length of the shortest rise, half-wave or peak, which a dense table resolves with many points.

    Issues an `UnresolvedWarning` when the spline passes the values by more than half of their range. Raises
    `MotionError` when there are fewer than four points, the times do not increase, or a number is not finite.
    """
    made = spline_table(times, values, feature=feature, monotone=monotone)
    _warn_of_swings(*_points(times, values, 4, "table"), made.value)
    return made


def spline_table(
    times: np.ndarray | list, values: np.ndarray | list, *, feature: float | None = None, monotone: bool = False
) -> TimeFunction:
    """`table` without its warning, which was issued where the table was made first."""
    t, y = _points(times, values, 4, "table")
    try:
        with np.errstate(all="ignore"):
            smooth = scipy.interpolate
            spline: Any = smooth.PchipInterpolator(t, y) if monotone else smooth.CubicSpline(t, y)
    except (ValueError, ArithmeticError):
        raise MotionError(
            f"The spline through a table is not finite: its times are from {t[0]:.4g} to {t[-1]:.4g}, at least "
            f"{np.diff(t).min():.4g} apart, and its values from {y.min():.4g} to {y.max():.4g}. Use other units."
        ) from None

    def inside(order: int) -> Callable[[Any], Any]:
        def f(at: Any) -> Any:
            require_inside(np.asarray(at), t, "The table of a motion")
            return spline(at, order)

        return f

    return TimeFunction(
        inside(0),
        inside(1),
        inside(2),
        f"table of {len(t)} points",
        # a peak at a point extends over the two adjacent intervals
        ahead=knots(t, np.r_[np.inf, 2.0 * np.diff(t)]) if feature is None else everywhere(length_of_feature(feature)),
        made_by=Origin("table", {"times": t, "values": y, "monotone": int(monotone)} | some(feature=feature)),
    )


def piecewise_linear(
    times: np.ndarray | list, values: np.ndarray | list, *, feature: float | None = None
) -> TimeFunction:
    """Straight lines through the `values` (n,) at the `times` (n,): a load that rises and falls in ramps.

    The first value holds before the first time, the last one after the last time. Steps of variable size end at each
    point, and fixed steps that are longer than a ramp cause an `UnresolvedWarning`, as they may pass over a peak;
    unless `feature` gives the length of the shortest rise, half-wave or peak of a dense table.

    The rate jumps at the points, so that the function is for loads, efforts and inputs; drivers refuse it. A motion in
    ramps is a `speed_profile`.

    Raises `MotionError` when there are fewer than two points, the times do not increase, a number is not finite, or
    `feature` is not positive.
    """
    what = "piecewise linear function"
    t, y = _points(times, values, 2, what)
    slopes = _slopes_between(t, y, what)
    # a peak at a point extends over the two adjacent ramps
    changes = knots(t, np.r_[np.inf, np.where(np.diff(y) != 0, 2.0 * np.diff(t), np.inf)])
    return TimeFunction(
        lambda at: np.interp(at, t, y),
        lambda at: slopes[np.searchsorted(t, at, side="right")],
        lambda at: np.zeros(np.shape(at)),
        f"{what} of {len(t)} points",
        ahead=changes if feature is None else everywhere(length_of_feature(feature)),
        drives=False,
        made_by=Origin("piecewise_linear", {"times": t, "values": y} | some(feature=feature)),
    )


def speed_profile(
    times: np.ndarray | list, speeds: np.ndarray | list, *, rounding: float, start: float = 0.0
) -> TimeFunction:
    """The motion whose speed follows straight lines through the `speeds` (n,) at the `times` (n,), with rounded
    corners: a trapezoid is `speed_profile([0.1, 1.1, 4.1, 5.1], [0, 2, 2, 0], rounding=0.2)`, which travels 8.

    At each point the acceleration changes from that of one line to that of the next over the time `rounding`, half of
    it before the point: with `s` from 0 to 1 in this time, the part `3 s^2 - 2 s^3` of the change has occurred, so that
    the jerk is continuous. A driver needs this: reactions to a jump of the acceleration or of the jerk err for some
    steps, by 13 % of the change with 20 steps of generalised-alpha in `rounding`; here it is 0.5 %, and 2 % with 10
    steps. The largest jerk is 1.5 times the largest change of acceleration divided by `rounding`. Fixed steps longer
    than a quarter of `rounding` cause an `UnresolvedWarning`.

    The first speed holds before the first corner, the last one after the last corner. The value is `start` where the
    first corner begins, at `times[0] - rounding / 2`: a body that rests at t = 0 needs its first point at
    `rounding / 2` or later.

    Raises `MotionError` when there are fewer than two points, the times do not increase, a number is not finite, or
    `rounding` is not positive and shorter than the time between any two points.
    """
    t, v = _points(times, speeds, 2, "speed profile")
    begin, rounded = number(start, "start of a speed profile"), number(rounding, "rounding of a speed profile")
    if not np.isfinite(begin):
        raise MotionError(f"The start of a speed profile must be a finite number; found {start}.")
    corners = np.stack([t - rounded / 2, t + rounded / 2], axis=1)
    shortest = float(np.diff(t).min())
    if not (0 < rounded < shortest and (np.diff(corners.ravel()) > 0).all()):
        raise MotionError(
            "The rounding of a speed profile must be positive, and shorter than the time between any two of its "
            f"points, here {shortest:.6g}; found {rounding}."
        )
    slopes = _slopes_between(t, v, "speed profile")
    changes, lengths = np.diff(slopes), np.diff(corners, axis=1)[:, 0]
    pieces = np.zeros((4, 2 * len(t) + 1))  # before, and then at and behind each corner
    pieces[3] = np.repeat(slopes, 2)[:-1]
    pieces[:2, 1::2] = -2 * changes / lengths**3, 3 * changes / lengths**2
    ends = np.r_[corners[0, 0] - rounded, corners.ravel(), corners[-1, 1] + rounded]
    acceleration = scipy.interpolate.PPoly(pieces, ends)
    rate = acceleration.antiderivative()
    rate.c[-1, 1::2], rate.c[-1, 2::2] = v - slopes[:-1] * lengths / 2, v + slopes[1:] * lengths / 2
    rate.c[-1, 0] = v[0]  # these are the integrals up to rounding, so that rest is rest
    travel = rate.antiderivative()
    begin -= float(travel(ends[1]))
    bent = np.abs(changes) > STRAIGHT * np.abs(slopes).max()
    features = np.stack([np.full(len(t), np.inf), np.where(bent, rounded / 2, np.inf)], axis=1)
    return TimeFunction(
        lambda at: begin + travel(at),
        rate,
        acceleration,
        f"speed profile of {len(t)} points",
        ahead=knots(ends[1:-1], features.ravel()),  # the jerk rises and falls in half of the rounding each
        from_speeds=True,
        made_by=Origin("speed_profile", {"times": t, "speeds": v, "rounding": rounded, "start": float(start)}),
    )


def require_inside(asked: np.ndarray, known: np.ndarray, what: str) -> None:
    """Raises `MotionError` when one of the `asked` times lies outside the `known` times by more than round-off."""
    slack = 1e-9 * (known[-1] - known[0])
    outside = asked[(asked < known[0] - slack) | (asked > known[-1] + slack)]
    if len(outside):
        raise MotionError(
            f"{what} is defined from t = {known[0]} to {known[-1]} only; it was evaluated at {outside[0]}. Extend it, "
            "or shorten the run."
        )


def _points(times: Any, values: Any, fewest: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """The points of a curve over the time, copied into two arrays (n,).

    Raises `MotionError` when there are fewer than `fewest`, the times do not increase, or a number is not finite.
    """
    needs = f"A {what} needs at least {fewest} finite points at strictly increasing times"
    t, y = floats(times), floats(values)
    if not are_numbers(times) or not are_numbers(values):
        raise MotionError(f"{needs}; found {times!r} and {values!r}. Give two lists of numbers.")
    if t.ndim != 1 or t.shape != y.shape or len(t) < fewest:
        raise MotionError(f"{needs}; found shapes {t.shape} and {y.shape}. Give a value for each time.")
    if len(wrong := np.flatnonzero(~(np.isfinite(t) & np.isfinite(y)))):
        k = int(wrong[0])
        raise MotionError(f"{needs}; found {y[k]:g} at t = {t[k]:g}, which is point {k + 1}.")
    if len(back := np.flatnonzero(np.diff(t) <= 0)):
        k = int(back[0])
        advice = "Write a jump as a short ramp." if t[k + 1] == t[k] else "Sort the points by their times."
        raise MotionError(f"{needs}; found t = {t[k + 1]:g} (point {k + 2}) after t = {t[k]:g}. {advice}")
    return t, y


def _slopes_between(t: np.ndarray, y: np.ndarray, what: str) -> np.ndarray:
    """The slopes (n + 1,) of straight lines through points (n,), which are zero outside.

    Raises `MotionError` when one of them is too large for a number.
    """
    with np.errstate(all="ignore"):
        slopes = np.r_[0.0, np.diff(y) / np.diff(t), 0.0]
    if not np.isfinite(slopes).all():
        k = int(np.flatnonzero(~np.isfinite(slopes))[0])
        raise MotionError(
            f"A {what} rises from {y[k - 1]:g} to {y[k]:g} within {t[k] - t[k - 1]:.3g}: the slope is too large for a "
            "number. Use other units."
        )
    return slopes


def _warn_of_swings(t: np.ndarray, y: np.ndarray, spline: Any) -> None:
    """Warn of a `spline` that passes the values `y` (n,) at the times `t` (n,) by far."""
    at = t[:-1, None] + BETWEEN * np.diff(t)[:, None]
    with np.errstate(all="ignore"):
        found = spline(at)
        beyond = np.maximum(found - y.max(), y.min() - found)
        far = beyond.max() > SWING * np.ptp(y) + ROUNDING * np.abs(y).max()
    if far:
        worst = np.unravel_index(beyond.argmax(), beyond.shape)
        warnings.warn(
            f"The spline through a table of {len(t)} points with values from {y.min():.4g} to {y.max():.4g} passes "
            f"{found[worst]:.4g} at t = {at[worst]:.4g}: splines swing beside corners between points that are far "
            "apart. Write table(..., monotone=True) or piecewise_linear for a curve that does not overshoot, or give "
            "more points.",
            UnresolvedWarning,
            stacklevel=3,
        )

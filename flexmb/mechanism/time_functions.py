"""Functions of time for drivers and loads, with their first two derivatives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np
import scipy
from jaxtyping import Float

from fem.renamed import refuse_old_names
from fem.shown import shown
from flexmb.errors import MotionError
from flexmb.kernels.equations.time_functions import HARMONIC, POLYNOMIAL, PULSE, SMOOTH_STEP, SPIN_UP


class Ahead(NamedTuple):
    """The behaviour of a function of time after some time: the next `change` of its character, and the length of the
    shortest `feature` until then. Both are infinite if there is none.

    A feature is a rise, a fall, a half-wave or a peak; steps of half its length resolve it.
    """

    change: float
    feature: float


NOTHING_AHEAD = Ahead(np.inf, np.inf)


@shown
@dataclass(frozen=True)
class TimeFunction:
    """A scalar function of time with its first and second derivatives.

    The value is a displacement or an angle (radians) for drivers and a factor for loads; time is in the unit of the
    model.

    - `description`: the text in files and reports.
    - `arrays`: whether the three functions take arrays of times as well as numbers.
    - `ahead(t)`: the behaviour after time `t`; if it is None, integrators sample the function.
    - `breakpoints`: further times at which the function changes its character.
    - `formula`: its kind and parameters for compiled code (flexmb/kernels/equations/time_functions.py), which then
      evaluates it in place of the three functions; empty if there is none.
    """

    value: Callable[[Any], Any]
    rate: Callable[[Any], Any]
    acceleration: Callable[[Any], Any]
    description: str = "function"
    arrays: bool = True
    ahead: Callable[[float], Ahead] | None = None
    breakpoints: tuple[float, ...] = ()
    formula: tuple[float, ...] = ()

    def __str__(self) -> str:
        return self.description

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration at time `t`."""
        return float(self.value(t)), float(self.rate(t)), float(self.acceleration(t))

    def over(self, times: Float[np.ndarray, "nt"]) -> Float[np.ndarray, "nt 3"]:
        """Value, rate and acceleration at the `times` (nt,)."""
        if not self.arrays:
            return np.array([self(float(t)) for t in times]).reshape(-1, 3)
        parts = (self.value(times), self.rate(times), self.acceleration(times))
        return np.stack([np.broadcast_to(np.asarray(part, dtype=float), times.shape) for part in parts], axis=1)


def _nothing(t: float) -> Ahead:
    return NOTHING_AHEAD


def _everywhere(feature: float) -> Callable[[float], Ahead]:
    """A feature of the same length at all times."""
    return lambda t: Ahead(np.inf, feature)


def _between(start: float, end: float) -> Callable[[float], Ahead]:
    """A single feature from `start` to `end`."""

    def ahead(t: float) -> Ahead:
        if t < start:
            return Ahead(start, np.inf)
        return Ahead(end, end - start) if t < end else NOTHING_AHEAD

    return ahead


def _repeated(start: float, duration: float, period: float) -> Callable[[float], Ahead]:
    """A feature of the given `duration` at the beginning of each `period`."""

    def ahead(t: float) -> Ahead:
        begin = start + max(np.floor((t - start) / period), 0.0) * period
        if t < start:
            return Ahead(start, np.inf)
        return Ahead(begin + duration, duration) if t < begin + duration else Ahead(begin + period, np.inf)

    return ahead


def _knots(times: np.ndarray) -> Callable[[float], Ahead]:
    """Features of a table: a peak at one of its points extends over the two adjacent intervals."""

    def ahead(t: float) -> Ahead:
        k = int(np.searchsorted(times, t, side="right"))
        if k == len(times):
            return NOTHING_AHEAD
        return Ahead(float(times[k]), 2.0 * float(times[k] - times[k - 1]) if k else np.inf)

    return ahead


def constant(value: float) -> TimeFunction:
    """`f(t) = value`."""
    return polynomial(value)


def polynomial(*coefficients: float) -> TimeFunction:
    """`f(t) = c0 + c1 t + c2 t^2 + ...`

    Raises `MotionError` when there is no coefficient, or one is not a finite number.
    """
    if not coefficients or np.ndim(coefficients[0]) or not np.isfinite(coefficients).all():
        raise MotionError(f"A polynomial needs finite coefficients, polynomial(c0, c1, ...); found {coefficients}.")
    p = np.polynomial.Polynomial(coefficients)
    formula = (POLYNOMIAL, *(float(c) for c in coefficients))
    return TimeFunction(p, p.deriv(), p.deriv(2), f"polynomial{coefficients}", ahead=_nothing, formula=formula)


def constant_speed(speed: float, start: float = 0.0) -> TimeFunction:
    """`f(t) = start + speed t`: rotation or translation at constant speed, without a start-up phase."""
    return polynomial(start, speed)


def harmonic(amplitude: float, frequency: float, phase: float = 0.0, offset: float = 0.0) -> TimeFunction:
    """`f(t) = offset + amplitude sin(2 pi frequency t + phase)`, with the frequency in cycles per unit of time and the
    phase in radians."""
    w = 2 * np.pi * frequency
    return TimeFunction(
        lambda t: offset + amplitude * np.sin(w * t + phase),
        lambda t: amplitude * w * np.cos(w * t + phase),
        lambda t: -amplitude * w * w * np.sin(w * t + phase),
        f"harmonic(amplitude={amplitude}, frequency={frequency}, phase={phase}, offset={offset})",
        ahead=_everywhere(0.5 / abs(frequency)) if amplitude and frequency else _nothing,
        formula=(HARMONIC, amplitude, w, phase, offset),
    )


MOST_DERIVATIVES = 30
"""Largest number of continuous derivatives of `smooth_step`: beyond, the rise is a jump to working accuracy."""


def smooth_step(start: float, duration: float, height: float, *, derivatives: int = 2) -> TimeFunction:
    """A rise from 0 to `height` between `start` and `start + duration`, with continuous `derivatives`: quintic for two.

    With `s = (t - start) / duration` and k derivatives, it is the integral of `(s (1 - s))**k`, normalised.

    Raises `MotionError` when the duration is not positive, or `derivatives` is not from 2 to 30.
    """
    if not duration > 0:
        raise MotionError(f"smooth_step needs a positive duration; found {duration}.")
    if not 2 <= derivatives <= MOST_DERIVATIVES:
        raise MotionError(
            f"smooth_step has two to {MOST_DERIVATIVES} continuous derivatives; found derivatives={derivatives}."
        )
    k, slope = derivatives, height * (2 * derivatives + 1) * comb(2 * derivatives, derivatives)

    def part(t: Any) -> Any:
        return np.clip((t - start) / duration, 0.0, 1.0)

    def value(t: Any) -> Any:
        s = part(t)
        return height * (s**3 * (10 - 15 * s + 6 * s**2) if k == 2 else scipy.special.betainc(k + 1, k + 1, s))

    def rate(t: Any) -> Any:  # as a product: exactly zero at both ends
        s = part(t)
        return slope * (s * (1 - s)) ** k / duration

    def acceleration(t: Any) -> Any:
        s = part(t)
        return slope * k * (s * (1 - s)) ** (k - 1) * (1 - 2 * s) / duration**2

    smoother = "" if k == 2 else f", derivatives={k}"
    return TimeFunction(
        value,
        rate,
        acceleration,
        f"smooth_step(start={start}, duration={duration}, height={height}{smoother})",
        ahead=_between(start, start + duration),
        formula=(SMOOTH_STEP, start, duration, height) if k == 2 else (),
    )


def spin_up(speed: float, duration: float) -> TimeFunction:
    """The angle of the standard spin-up: its rate is zero until t = 0, rises to `speed` over `duration` as a raised
    cosine and then remains constant.

    Source: Kane, Ryan, Banerjee, "Dynamics of a cantilever beam attached to a moving base" (1987).

    Raises `MotionError` when the duration is not positive.
    """
    if not duration > 0:
        raise MotionError(f"spin_up needs a positive duration; found {duration}.")
    w, T = speed, duration
    k = 2 * np.pi / T

    def rising(t: Any) -> Any:
        """Time since the beginning of the rise, limited to its duration."""
        return np.clip(t, 0.0, T)

    return TimeFunction(
        lambda t: w / T * (rising(t) ** 2 / 2 - 2 * np.sin(k * rising(t) / 2) ** 2 / k**2) + w * np.maximum(t - T, 0.0),
        lambda t: w / T * (rising(t) - np.sin(k * rising(t)) / k),
        lambda t: 2 * w / T * np.sin(k * rising(t) / 2) ** 2,
        f"spin_up(speed={speed}, duration={duration})",
        ahead=_between(0.0, duration),
        formula=(SPIN_UP, w, T),
    )


def pulse(start: float, duration: float, height: float, period: float | None = None) -> TimeFunction:
    """A smooth pulse `height sin^4` between `start` and `start + duration`, repeated every `period` if one is given.

    Raises `MotionError` when the duration is not positive or the period is shorter than the duration.
    """
    if not duration > 0 or (period is not None and period < duration):
        raise MotionError(
            f"pulse needs a positive duration and a period of at least the duration; found {duration} and {period}."
        )
    k = np.pi / duration

    def phase(t: Any) -> Any:
        """The phase from 0 to pi within a pulse, 0 outside; the first three derivatives of the pulse vanish at its
        ends."""
        s = np.asarray(t) - start
        if period is not None:
            s = np.where(s > 0, s % period, s)
        return np.where((s > 0.0) & (s < duration), k * s, 0.0)

    def value(t: Any) -> Any:
        return height * np.sin(phase(t)) ** 4

    def rate(t: Any) -> Any:
        p = phase(t)
        return height * k * 4 * np.sin(p) ** 3 * np.cos(p)

    def acceleration(t: Any) -> Any:
        p = phase(t)
        return height * k * k * 4 * (3 * np.sin(p) ** 2 * np.cos(p) ** 2 - np.sin(p) ** 4)

    return TimeFunction(
        value,
        rate,
        acceleration,
        f"pulse(start={start}, duration={duration}, height={height}, period={period})",
        ahead=_between(start, start + duration) if period is None else _repeated(start, duration, period),
        formula=(PULSE, start, duration, height, period or 0.0),
    )


def table(times: np.ndarray | list, values: np.ndarray | list, *, feature: float | None = None) -> TimeFunction:
    """The cubic spline through the `values` (n,) at the `times` (n,), for instance of a measurement.

    The spline has two continuous derivatives. It is not extrapolated: an evaluation outside `times` raises
    `MotionError`. Integrators with variable steps end a step at each point, as any point may be a peak, unless
    `feature` gives the length of the shortest rise, half-wave or peak, which a dense table resolves with many points.

    Raises `MotionError` when there are fewer than four points, the times do not increase, or a number is not finite.
    """
    t = np.asarray(times, dtype=float)
    y = np.asarray(values, dtype=float)
    if (
        t.ndim != 1
        or t.shape != y.shape
        or len(t) < 4
        or not (np.isfinite(t).all() and np.isfinite(y).all() and (np.diff(t) > 0).all())
    ):
        raise MotionError(
            f"A table needs at least 4 finite points at strictly increasing times; found shapes {t.shape} and "
            f"{y.shape}."
        )
    try:
        with np.errstate(all="ignore"):
            spline = scipy.interpolate.CubicSpline(t, y)
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
        ahead=_knots(t) if feature is None else _everywhere(_length(feature)),
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


def function(
    value: Callable[[float], float],
    rate: Callable[[float], float],
    acceleration: Callable[[float], float],
    *,
    arrays: bool = False,
    feature: float | None = None,
    breakpoints: Sequence[float] = (),
) -> TimeFunction:
    """A user-defined function of time with its two derivatives, which `check_derivatives` compares when it is attached.

    - `arrays`: whether the functions take arrays of times (written with numpy, or compiled with `numba.vectorize`).
      This saves three Python calls per time step: about 3 microseconds for short functions, while the step takes 4 to
      20.
    - `feature`: the length of the shortest rise, half-wave or peak, which integrators with variable steps resolve. If
      it is None, they sample the function and find features longer than a thousandth of the run (see
      `flexmb.equations.time_features`).
    - `breakpoints`: times at which the function changes its character; variable steps end there.

    Raises `MotionError` when a breakpoint is not finite, or `feature` is not positive.
    """
    if not np.isfinite(np.asarray(breakpoints, dtype=float)).all():
        raise MotionError(f"The breakpoints of a function must be finite times; found {breakpoints!r}.")
    ahead = None if feature is None else _everywhere(_length(feature))
    marked = tuple(sorted(float(t) for t in breakpoints))
    return TimeFunction(value, rate, acceleration, arrays=arrays, ahead=ahead, breakpoints=marked)


def _length(feature: float) -> float:
    """The length of a feature. Raises `MotionError` when it is not positive."""
    if not feature > 0:
        raise MotionError(f"The feature of a function must be a positive length of time; found {feature!r}.")
    return float(feature)


DECADES = range(-24, 25)
"""Powers of ten of the times, in the unit of the model, at which `check_derivatives` compares; whatever the unit, some
of them resolve a function."""
SHRUNK = (1.0, 0.618034, 0.381966)
"""Relative sizes of three difference steps, in no simple ratio, so that no periodic function appears constant to
all."""
RESOLVED, WRONG = 1e-4, 1e-3
"""Relative deviation up to which three differences agree, and beyond which a derivative contradicts them."""


def require_time_function(motion: Any, what: str) -> None:
    """Check that `motion` is a function of time with its derivatives.

    Raises `MotionError`, which names `what`, when it is anything else.
    """
    if not isinstance(motion, TimeFunction):
        raise MotionError(
            f"The {what} must be a function of time with two derivatives; found {type(motion).__name__} {motion!r}. "
            "Write flexmb.time_functions.function(value, rate, acceleration) for functions of yours, "
            "time_functions.constant(x) for a number, or one of the others there, such as harmonic or table."
        )


def check_derivatives(motion: TimeFunction) -> None:
    """Raises `MotionError` when the rate or the acceleration contradicts differences of the function.

    When a function is attached, its time scale is unknown. The check therefore takes one time in every decade, with a
    step of a hundredth of that time, and compares where the step resolves the function (see `_slopes`). Times at which
    the function is not defined are omitted.
    """
    for f, df, what in ((motion.value, motion.rate, "rate"), (motion.rate, motion.acceleration, "acceleration")):
        found, failures = [], []
        for decade in DECADES:
            t = 0.7371 * 10.0**decade
            try:
                with np.errstate(all="ignore"):
                    slopes = _slopes(f, df, t, 0.01 * t)
            except (MotionError, ArithmeticError) as error:  # outside a table, or overflow
                failures.append(error)
                continue
            if slopes is not None:
                found.append((t, *slopes))
        if len(failures) == len(DECADES):
            raise failures[0]
        apart = [x for x in found if abs(x[1] - x[2]) > WRONG * max(abs(x[1]), abs(x[2]))]
        agreed = any(x[2] != 0 for x in found if x not in apart)
        # if all differences are exactly zero, cancellation, for instance in 1 - cos(w t), may hide a small change
        wrong = [x for x in apart if x[1] != 0 or not agreed]
        if wrong:
            t, numerical, given = wrong[-1]
            raise MotionError(
                f"Motion {motion.description!r}: its {what} at t = {t:.6g} is {given:.6g}, but differences of the "
                f"function give {numerical:.6g}. Correct the {what}."
            )


def _slopes(f: Callable[[Any], Any], df: Callable[[Any], Any], t: float, h: float) -> tuple[float, float] | None:
    """The slope of `f` at `t` by central differences and by its derivative `df`; None if the step `h` does not resolve
    it.

    It is resolved if three differences agree, rounding does not dominate them, and `df` is smooth over the step.
    """
    given, found = float(df(t)), []
    for shrunk in SHRUNK:
        before, after = float(df(t - shrunk * h)), float(df(t + shrunk * h))
        if not abs(before - 2 * given + after) <= 0.01 * max(abs(before), abs(given), abs(after)):
            return None
        ahead, behind = float(f(t + shrunk * h)), float(f(t - shrunk * h))
        slope = (ahead - behind) / (2 * shrunk * h)
        rounding = 2 * np.finfo(float).eps * max(abs(ahead), abs(behind)) / (shrunk * h)
        if not np.isfinite(slope) or rounding > RESOLVED * max(abs(slope), abs(given)):
            return None
        found.append(slope)
    resolved = max(found) - min(found) <= RESOLVED * max(map(abs, found))
    return (found[-1], given) if resolved else None


refuse_old_names(__name__)

"""Functions of time for drivers and loads, with the first two derivatives that drivers need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicSpline

from fem.renamed import refuse_old_names
from flexmb.errors import MotionError


class Ahead(NamedTuple):
    """What a function of time does after some time: the next time at which it changes its character, and its shortest feature until then (both infinite where there is none).

    A feature is a rise, a fall, a half-wave or a peak. Steps of half its length see it.
    """

    change: float
    feature: float


NOTHING_AHEAD = Ahead(np.inf, np.inf)


@dataclass(frozen=True)
class TimeFunction:
    """A scalar function of time with its rate and its second derivative.

    For drivers the value is a displacement or an angle (radians), for loads a factor; time in the model's unit.
    `description` is what files and reports show; `arrays`: the three functions take arrays of times as well as numbers.
    `ahead(t)`: what it does after time `t`; None where nobody knows, so that an integrator has to sample it. `breakpoints`: times at which it changes its character beside those.
    """

    value: Callable[[Any], Any]
    rate: Callable[[Any], Any]
    acceleration: Callable[[Any], Any]
    description: str = "function"
    arrays: bool = True
    ahead: Callable[[float], Ahead] | None = None
    breakpoints: tuple[float, ...] = ()

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration at time `t`."""
        return float(self.value(t)), float(self.rate(t)), float(self.acceleration(t))

    def over(self, times: Float[np.ndarray, "nt"]) -> Float[np.ndarray, "nt 3"]:
        """The same at many times: at once when the functions take `arrays` of times, else one by one."""
        if not self.arrays:
            return np.array([self(float(t)) for t in times]).reshape(-1, 3)
        parts = (self.value(times), self.rate(times), self.acceleration(times))
        return np.stack([np.broadcast_to(np.asarray(part, dtype=float), times.shape) for part in parts], axis=1)


def _nothing(t: float) -> Ahead:
    return NOTHING_AHEAD


def _everywhere(feature: float) -> Callable[[float], Ahead]:
    """One feature at all times."""
    return lambda t: Ahead(np.inf, feature)


def _between(start: float, end: float) -> Callable[[float], Ahead]:
    """One feature, from `start` to `end`."""

    def ahead(t: float) -> Ahead:
        if t < start:
            return Ahead(start, np.inf)
        return Ahead(end, end - start) if t < end else NOTHING_AHEAD

    return ahead


def _repeated(start: float, duration: float, period: float) -> Callable[[float], Ahead]:
    """A feature of some `duration` at the beginning of each `period`."""

    def ahead(t: float) -> Ahead:
        begin = start + max(np.floor((t - start) / period), 0.0) * period
        if t < start:
            return Ahead(start, np.inf)
        return Ahead(begin + duration, duration) if t < begin + duration else Ahead(begin + period, np.inf)

    return ahead


def _knots(times: np.ndarray) -> Callable[[float], Ahead]:
    """A peak at any of the points of a table is two of their distances long."""

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
    """`f(t) = c0 + c1 t + c2 t^2 + ...` Raises `MotionError` when a coefficient is not finite."""
    if not coefficients or not np.isfinite(coefficients).all():
        raise MotionError(f"A polynomial needs finite coefficients c0, c1, ...; found {coefficients}.")
    p = np.polynomial.Polynomial(coefficients)
    return TimeFunction(p, p.deriv(), p.deriv(2), f"polynomial{coefficients}", ahead=_nothing)


def constant_speed(speed: float, start: float = 0.0) -> TimeFunction:
    """`f(t) = start + speed t`: turns, or slides, at constant speed from the first moment on."""
    return polynomial(start, speed)


def harmonic(amplitude: float, frequency: float, phase: float = 0.0, offset: float = 0.0) -> TimeFunction:
    """`f(t) = offset + amplitude sin(2 pi frequency t + phase)`; frequency in cycles per unit of time, phase in radians."""
    w = 2 * np.pi * frequency
    return TimeFunction(
        lambda t: offset + amplitude * np.sin(w * t + phase),
        lambda t: amplitude * w * np.cos(w * t + phase),
        lambda t: -amplitude * w * w * np.sin(w * t + phase),
        f"harmonic(amplitude={amplitude}, frequency={frequency}, phase={phase}, offset={offset})",
        ahead=_everywhere(0.5 / abs(frequency)) if amplitude and frequency else _nothing,
    )


def smooth_step(start: float, duration: float, height: float) -> TimeFunction:
    """Rises from 0 to `height` between `start` and `start + duration`, with two continuous derivatives (quintic).

    Raises `MotionError` when the duration is not positive.
    """
    if not duration > 0:
        raise MotionError(f"smooth_step needs a positive duration; found {duration}.")

    def part(t: Any) -> Any:
        return np.clip((t - start) / duration, 0.0, 1.0)

    def value(t: Any) -> Any:
        s = part(t)
        return height * s**3 * (10 - 15 * s + 6 * s**2)

    def rate(t: Any) -> Any:  # in factors: exactly zero at both ends
        s = part(t)
        return 30 * height * (s * (1 - s)) ** 2 / duration

    def acceleration(t: Any) -> Any:
        s = part(t)
        return 60 * height * s * (1 - s) * (1 - 2 * s) / duration**2

    return TimeFunction(
        value, rate, acceleration, f"smooth_step(start={start}, duration={duration}, height={height})",
        ahead=_between(start, start + duration),
    )  # fmt: skip


def spin_up(speed: float, duration: float) -> TimeFunction:
    """Angle of the standard spin-up: zero until t = 0, then its rate rises from 0 to `speed` over `duration` by a raised cosine, and stays.

    Source: Kane, Ryan, Banerjee, "Dynamics of a cantilever beam attached to a moving base" (1987).

    Raises `MotionError` when the duration is not positive.
    """
    if not duration > 0:
        raise MotionError(f"spin_up needs a positive duration; found {duration}.")
    w, T = speed, duration
    k = 2 * np.pi / T

    def rising(t: Any) -> Any:
        """Time since the beginning of the rise, within it."""
        return np.clip(t, 0.0, T)

    return TimeFunction(
        lambda t: w / T * (rising(t) ** 2 / 2 - 2 * np.sin(k * rising(t) / 2) ** 2 / k**2) + w * np.maximum(t - T, 0.0),
        lambda t: w / T * (rising(t) - np.sin(k * rising(t)) / k),
        lambda t: 2 * w / T * np.sin(k * rising(t) / 2) ** 2,
        f"spin_up(speed={speed}, duration={duration})",
        ahead=_between(0.0, duration),
    )


def pulse(start: float, duration: float, height: float, period: float | None = None) -> TimeFunction:
    """A smooth pulse `height sin^4` between `start` and `start + duration`, repeated every `period` when given.

    Raises `MotionError` when the duration is not positive, or the period shorter.
    """
    if not duration > 0 or (period is not None and period < duration):
        raise MotionError(f"pulse needs a positive duration, and a period no shorter; found {duration} and {period}.")
    k = np.pi / duration

    def phase(t: Any) -> Any:
        """From 0 to pi within a pulse, 0 outside: all derivatives but the fourth vanish there."""
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
        value, rate, acceleration, f"pulse(start={start}, duration={duration}, height={height}, period={period})",
        ahead=_between(start, start + duration) if period is None else _repeated(start, duration, period),
    )  # fmt: skip


def table(times: np.ndarray | list, values: np.ndarray | list, *, feature: float | None = None) -> TimeFunction:
    """Cubic spline through measured points (twice differentiable); constant slope beyond the ends is refused.

    Ask for values inside `times` only: a simulation that leaves the table stops with an error. Integrators that choose their steps end one at each point, because any point may be a peak;
    `feature`: the length of the shortest rise, half-wave or peak of a table that is denser than what it describes.

    Raises `MotionError` when there are fewer than four points, times do not increase, or a number is not finite.
    """
    t = np.asarray(times, dtype=float)
    y = np.asarray(values, dtype=float)
    if t.ndim != 1 or t.shape != y.shape or len(t) < 4 or not (np.diff(t) > 0).all() or not np.isfinite(y).all():
        raise MotionError(
            f"A table needs at least 4 finite points at strictly increasing times; found shapes {t.shape} and {y.shape}."
        )
    spline = CubicSpline(t, y)

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
    """Raises `MotionError` when one of the `asked` times lies outside the `known` ones, by more than round-off."""
    slack = 1e-9 * (known[-1] - known[0])
    outside = asked[(asked < known[0] - slack) | (asked > known[-1] + slack)]
    if len(outside):
        raise MotionError(
            f"{what} is known from t = {known[0]} to {known[-1]} only; it was asked for {outside[0]}. Extend it, or shorten the run."
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
    """A user's own function with its two derivatives, checked against each other by `check_derivatives` when attached.

    `feature`: the length of its shortest rise, half-wave or peak, which integrators that choose their steps resolve; `breakpoints`: times at which it begins or ends to change, at which they end a step.
    Without `feature` they sample the function, which shows what is longer than a thousandth of the run (see `flexmb.equations.time_features`).

    `arrays`: the functions take an array of times (written with numpy, or compiled with `numba.vectorize`), which spares three calls of Python a
    time step: some 3 microseconds for short functions, beside 4 to 20 that the step itself takes.

    Raises `MotionError` when a breakpoint is not finite.
    """
    if not np.isfinite(np.asarray(breakpoints, dtype=float)).all():
        raise MotionError(f"The breakpoints of a function are finite times; found {breakpoints!r}.")
    ahead = None if feature is None else _everywhere(_length(feature))
    marked = tuple(sorted(float(t) for t in breakpoints))
    return TimeFunction(value, rate, acceleration, arrays=arrays, ahead=ahead, breakpoints=marked)


def _length(feature: float) -> float:
    """Raises `MotionError` for what cannot be the length of a feature."""
    if not feature > 0:
        raise MotionError(f"The feature of a function is a positive length of time; found {feature!r}.")
    return float(feature)


DECADES = range(-24, 25)
"""Powers of ten of the times, in the unit of the model, at which `check_derivatives` looks: some of them resolve any function, whatever the unit."""
SHRUNK = (1.0, 0.618034, 0.381966)
"""Three steps of differences, in no simple ratio, so that a periodic function does not look constant to all of them."""
RESOLVED, WRONG = 1e-4, 1e-3
"""Relative departure at which three differences agree with each other, and beyond which the derivative given contradicts them."""


def check_derivatives(motion: TimeFunction) -> None:
    """Raises `MotionError` when the rate or the acceleration contradicts differences of the function.

    No time scale is known when a function is attached, so the check takes one time in every decade, with a step of a hundredth of that time, and
    judges where the step resolves the function (see `_slopes`). Times at which the function is not defined are left out.
    """
    for f, df, what in ((motion.value, motion.rate, "rate"), (motion.rate, motion.acceleration, "acceleration")):
        found, failures = [], []
        for decade in DECADES:
            t = 0.7371 * 10.0**decade
            try:
                with np.errstate(all="ignore"):
                    slopes = _slopes(f, df, t, 0.01 * t)
            except (MotionError, ArithmeticError) as error:  # outside a table, or too large a number
                failures.append(error)
                continue
            if slopes is not None:
                found.append((t, *slopes))
        if len(failures) == len(DECADES):
            raise failures[0]
        apart = [x for x in found if abs(x[1] - x[2]) > WRONG * max(abs(x[1]), abs(x[2]))]
        agreed = any(x[2] != 0 for x in found if x not in apart)
        # where all differences are exactly zero, a cancellation such as in 1 - cos(w t) may hide a small change
        wrong = [x for x in apart if x[1] != 0 or not agreed]
        if wrong:
            t, numerical, given = wrong[-1]
            raise MotionError(
                f"Motion {motion.description!r}: its {what} at t = {t:.6g} is given as {given:.6g}, but differences of the function give {numerical:.6g}."
            )


def _slopes(f: Callable[[Any], Any], df: Callable[[Any], Any], t: float, h: float) -> tuple[float, float] | None:
    """The slope of `f` at `t` by central differences, and the one given; None where the step `h` does not resolve them.

    They are resolved where three differences agree, rounding does not hide them, and the derivative given is smooth over the step.
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

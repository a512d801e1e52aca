"""Functions of time for drivers and loads, with the first two derivatives that drivers need."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from fem.errors import FlexmbError


class MotionError(FlexmbError, ValueError):
    """A function of time is not usable: wrong shape, not finite, or not smooth enough."""


@dataclass(frozen=True)
class Motion:
    """A scalar function of time with its rate and its second derivative.

    For drivers the value is a displacement or an angle (radians), for loads a factor; time in the model's unit.
    `description` is what files and reports show.
    """

    value: Callable[[float], float]
    rate: Callable[[float], float]
    acceleration: Callable[[float], float]
    description: str = "function"

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration at time `t`."""
        return self.value(t), self.rate(t), self.acceleration(t)


def constant(value: float) -> Motion:
    """`f(t) = value`."""
    return polynomial(value)


def polynomial(*coefficients: float) -> Motion:
    """`f(t) = c0 + c1 t + c2 t^2 + ...`; `polynomial(0, w)` turns at constant speed `w`."""
    if not coefficients or not np.isfinite(coefficients).all():
        raise MotionError(f"A polynomial needs finite coefficients c0, c1, ...; found {coefficients}.")
    p = np.polynomial.Polynomial(coefficients)
    return Motion(p, p.deriv(), p.deriv(2), f"polynomial{coefficients}")


def harmonic(amplitude: float, frequency: float, phase: float = 0.0, offset: float = 0.0) -> Motion:
    """`f(t) = offset + amplitude sin(2 pi frequency t + phase)`; frequency in cycles per unit of time, phase in radians."""
    w = 2 * np.pi * frequency
    return Motion(
        lambda t: offset + amplitude * np.sin(w * t + phase),
        lambda t: amplitude * w * np.cos(w * t + phase),
        lambda t: -amplitude * w * w * np.sin(w * t + phase),
        f"harmonic(amplitude={amplitude}, frequency={frequency}, phase={phase}, offset={offset})",
    )


def smooth_step(start: float, duration: float, height: float) -> Motion:
    """Rises from 0 to `height` between `start` and `start + duration`, with two continuous derivatives (quintic)."""
    if not duration > 0:
        raise MotionError(f"smooth_step needs a positive duration; found {duration}.")
    p = height * np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])

    def derivative(order: int) -> Callable[[float], float]:
        q = p.deriv(order) if order else p
        return lambda t: float(q(np.clip((t - start) / duration, 0.0, 1.0))) / duration**order

    return Motion(
        derivative(0), derivative(1), derivative(2), f"smooth_step(start={start}, duration={duration}, height={height})"
    )


def spin_up(speed: float, duration: float) -> Motion:
    """Angle of the standard spin-up: rate rises from 0 to `speed` over `duration` by a raised cosine, then stays.

    Source: Kane, Ryan, Banerjee, "Dynamics of a cantilever beam attached to a moving base" (1987).
    """
    if not duration > 0:
        raise MotionError(f"spin_up needs a positive duration; found {duration}.")
    w, T = speed, duration
    k = 2 * np.pi / T
    return Motion(
        lambda t: w / T * (t**2 / 2 - 2 * np.sin(k * t / 2) ** 2 / k**2) if t < T else w * (t - T / 2),
        lambda t: w / T * (t - np.sin(k * t) / k) if t < T else w,
        lambda t: 2 * w / T * np.sin(k * t / 2) ** 2 if t < T else 0.0,
        f"spin_up(speed={speed}, duration={duration})",
    )


def pulse(start: float, duration: float, height: float, period: float | None = None) -> Motion:
    """A smooth pulse `height sin^4` between `start` and `start + duration`, repeated every `period` when given."""
    if not duration > 0 or (period is not None and period < duration):
        raise MotionError(f"pulse needs a positive duration, and a period no shorter; found {duration} and {period}.")
    k = np.pi / duration

    def phase(t: float) -> float | None:
        s = t - start
        if period is not None and s > 0:
            s %= period
        return k * s if 0.0 < s < duration else None

    def value(t: float) -> float:
        p = phase(t)
        return 0.0 if p is None else height * np.sin(p) ** 4

    def rate(t: float) -> float:
        p = phase(t)
        return 0.0 if p is None else height * k * 4 * np.sin(p) ** 3 * np.cos(p)

    def acceleration(t: float) -> float:
        p = phase(t)
        return 0.0 if p is None else height * k * k * 4 * (3 * np.sin(p) ** 2 * np.cos(p) ** 2 - np.sin(p) ** 4)

    return Motion(
        value, rate, acceleration, f"pulse(start={start}, duration={duration}, height={height}, period={period})"
    )


def table(times: np.ndarray | list, values: np.ndarray | list) -> Motion:
    """Cubic spline through measured points (twice differentiable); constant slope beyond the ends is refused.

    Ask for values inside `times` only: a simulation that leaves the table stops with an error.
    """
    t = np.asarray(times, dtype=float)
    y = np.asarray(values, dtype=float)
    if t.ndim != 1 or t.shape != y.shape or len(t) < 4 or not (np.diff(t) > 0).all() or not np.isfinite(y).all():
        raise MotionError(
            f"A table needs at least 4 finite points at strictly increasing times; found shapes {t.shape} and {y.shape}."
        )
    spline = CubicSpline(t, y)

    def inside(order: int) -> Callable[[float], float]:
        def f(at: float) -> float:
            if not t[0] - 1e-9 * (t[-1] - t[0]) <= at <= t[-1] + 1e-9 * (t[-1] - t[0]):
                raise MotionError(
                    f"The table of a motion covers times {t[0]} to {t[-1]}; it was asked for {at}. Extend the table or shorten the run."
                )
            return float(spline(at, order))

        return f

    return Motion(inside(0), inside(1), inside(2), f"table of {len(t)} points")


def function(
    value: Callable[[float], float], rate: Callable[[float], float], acceleration: Callable[[float], float]
) -> Motion:
    """A user's own function with its two derivatives, checked against each other by `check_derivatives` when attached."""
    return Motion(value, rate, acceleration)


def check_derivatives(motion: Motion, t: float, span: float) -> None:
    """Raise `MotionError` when rate or acceleration contradict central differences at `t` (scale `span` of time)."""
    h = 1e-4 * span
    for f, df, what in ((motion.value, motion.rate, "rate"), (motion.rate, motion.acceleration, "acceleration")):
        numerical = (f(t + h) - f(t - h)) / (2 * h)
        given = df(t)
        if not np.isfinite([numerical, given]).all():
            raise MotionError(f"Motion {motion.description!r} is not finite near t = {t}.")
        scale = max(abs(numerical), abs(given), abs(f(t)) / span)
        if abs(numerical - given) > 1e-3 * scale:
            raise MotionError(
                f"Motion {motion.description!r}: its {what} at t = {t} is given as {given:.6g}, but differences of the function give {numerical:.6g}."
            )

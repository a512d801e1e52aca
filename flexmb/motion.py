"""Functions of time for drivers and loads, with the first two derivatives that drivers need."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicSpline

from fem.errors import FlexmbError


class MotionError(FlexmbError, ValueError):
    """A function of time is not usable: wrong shape, not finite, or not smooth enough."""


@dataclass(frozen=True)
class Motion:
    """A scalar function of time with its rate and its second derivative.

    For drivers the value is a displacement or an angle (radians), for loads a factor; time in the model's unit.
    `description` is what files and reports show; `arrays`: the three functions take arrays of times as well as numbers.
    """

    value: Callable[[Any], Any]
    rate: Callable[[Any], Any]
    acceleration: Callable[[Any], Any]
    description: str = "function"
    arrays: bool = True

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration at time `t`."""
        return float(self.value(t)), float(self.rate(t)), float(self.acceleration(t))

    def over(self, times: Float[np.ndarray, "nt"]) -> Float[np.ndarray, "nt 3"]:
        """The same at many times: at once when the functions take `arrays` of times, else one by one."""
        if not self.arrays:
            return np.array([self(float(t)) for t in times]).reshape(-1, 3)
        parts = (self.value(times), self.rate(times), self.acceleration(times))
        return np.stack([np.broadcast_to(np.asarray(part, dtype=float), times.shape) for part in parts], axis=1)


def constant(value: float) -> Motion:
    """`f(t) = value`."""
    return polynomial(value)


def polynomial(*coefficients: float) -> Motion:
    """`f(t) = c0 + c1 t + c2 t^2 + ...`"""
    if not coefficients or not np.isfinite(coefficients).all():
        raise MotionError(f"A polynomial needs finite coefficients c0, c1, ...; found {coefficients}.")
    p = np.polynomial.Polynomial(coefficients)
    return Motion(p, p.deriv(), p.deriv(2), f"polynomial{coefficients}")


def constant_speed(speed: float, start: float = 0.0) -> Motion:
    """`f(t) = start + speed t`: turns, or slides, at constant speed from the first moment on."""
    return polynomial(start, speed)


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

    def derivative(order: int) -> Callable[[Any], Any]:
        q = p.deriv(order) if order else p
        return lambda t: q(np.clip((t - start) / duration, 0.0, 1.0)) / duration**order

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
        lambda t: np.where(t < T, w / T * (t**2 / 2 - 2 * np.sin(k * t / 2) ** 2 / k**2), w * (t - T / 2)),
        lambda t: np.where(t < T, w / T * (t - np.sin(k * t) / k), w),
        lambda t: np.where(t < T, 2 * w / T * np.sin(k * t / 2) ** 2, 0.0),
        f"spin_up(speed={speed}, duration={duration})",
    )


def pulse(start: float, duration: float, height: float, period: float | None = None) -> Motion:
    """A smooth pulse `height sin^4` between `start` and `start + duration`, repeated every `period` when given."""
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

    def inside(order: int) -> Callable[[Any], Any]:
        def f(at: Any) -> Any:
            require_inside(np.asarray(at), t, "The table of a motion")
            return spline(at, order)

        return f

    return Motion(inside(0), inside(1), inside(2), f"table of {len(t)} points")


def require_inside(asked: np.ndarray, known: np.ndarray, what: str) -> None:
    """Raise `MotionError` when a time lies outside the `known` ones, by more than round-off."""
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
) -> Motion:
    """A user's own function with its two derivatives, checked against each other by `check_derivatives` when attached.

    `arrays`: the functions take an array of times (written with numpy, or compiled with `numba.vectorize`), which spares three calls of Python a
    time step: some 3 microseconds for short functions, beside 4 to 20 that the step itself takes.
    """
    return Motion(value, rate, acceleration, arrays=arrays)


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

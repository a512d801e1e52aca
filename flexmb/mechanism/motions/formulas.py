"""Functions of time by formulas, which compiled steps evaluate without a call of Python."""

from math import comb
from typing import Any

import numpy as np
import scipy

from fem.axes.limits import is_number, is_whole
from flexmb.errors import MotionError
from flexmb.kernels.equations.time_functions import HARMONIC, POLYNOMIAL, PULSE, SMOOTH_STEP, SPIN_UP
from flexmb.mechanism.motions.time_function import Origin, TimeFunction, between, everywhere, nothing, repeated, some


def _require_numbers(what: str, **numbers: Any) -> None:
    """Raise `MotionError` for a parameter of a function that is no finite number."""
    wrong = [f"{name} = {value!r}" for name, value in numbers.items() if not is_number(value)]
    if wrong:
        raise MotionError(f"{what} needs finite numbers; found {', '.join(wrong)}.")


def constant(value: float) -> TimeFunction:
    """`f(t) = value`."""
    return polynomial(value)


def polynomial(*coefficients: float) -> TimeFunction:
    """`f(t) = c0 + c1 t + c2 t^2 + ...`

    Raises `MotionError` when there is no coefficient, or one is not a finite number.
    """
    if not coefficients or not all(map(is_number, coefficients)):
        raise MotionError(f"A polynomial needs finite coefficients, polynomial(c0, c1, ...); found {coefficients}.")
    p = np.polynomial.Polynomial(coefficients)
    numbers = tuple(float(c) for c in coefficients)
    return TimeFunction(
        p,
        p.deriv(),
        p.deriv(2),
        f"polynomial{coefficients}",
        ahead=nothing,
        formula=(POLYNOMIAL, *numbers),
        made_by=Origin("polynomial", {"coefficients": np.array(numbers)}),
    )


def constant_speed(speed: float, start: float = 0.0) -> TimeFunction:
    """`f(t) = start + speed t`: rotation or translation at constant speed, without a start-up phase."""
    return polynomial(start, speed)


def harmonic(amplitude: float, frequency: float, phase: float = 0.0, offset: float = 0.0) -> TimeFunction:
    """`f(t) = offset + amplitude sin(2 pi frequency t + phase)`, with the frequency in cycles per unit of time and the
    phase in radians.

    Raises `MotionError` when a parameter is not a finite number.
    """
    _require_numbers("harmonic", amplitude=amplitude, frequency=frequency, phase=phase, offset=offset)
    w = 2 * np.pi * frequency
    return TimeFunction(
        lambda t: offset + amplitude * np.sin(w * t + phase),
        lambda t: amplitude * w * np.cos(w * t + phase),
        lambda t: -amplitude * w * w * np.sin(w * t + phase),
        f"harmonic(amplitude={amplitude}, frequency={frequency}, phase={phase}, offset={offset})",
        ahead=everywhere(0.5 / abs(frequency)) if amplitude and frequency else nothing,
        formula=(HARMONIC, amplitude, w, phase, offset),
        made_by=Origin("harmonic", {"amplitude": amplitude, "frequency": frequency, "phase": phase, "offset": offset}),
    )


MOST_DERIVATIVES = 30
"""Largest number of continuous derivatives of `smooth_step`: beyond, the rise is a jump to working accuracy."""


def smooth_step(start: float, duration: float, height: float, *, derivatives: int = 2) -> TimeFunction:
    """A rise from 0 to `height` between `start` and `start + duration`, with continuous `derivatives`: quintic for two.

    With `s = (t - start) / duration` and k derivatives, it is the integral of `(s (1 - s))**k`, normalised. With two,
    the jerk jumps at both ends, by `60 height / duration**3`. Give drivers three with generalised-alpha or HHT: with
    two, the effort errs by 28 % of its largest value with 100 steps in the rise (`DriverEffortWarning`).

    Raises `MotionError` when the duration is not positive, a parameter is not a finite number, or `derivatives` is not
    from 2 to 30.
    """
    _require_numbers("smooth_step", start=start, duration=duration, height=height, derivatives=derivatives)
    if not duration > 0:
        raise MotionError(f"smooth_step needs a positive duration; found {duration}.")
    if not is_whole(derivatives) or not 2 <= derivatives <= MOST_DERIVATIVES:
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
        ahead=between(start, start + duration),
        formula=(SMOOTH_STEP, start, duration, height) if k == 2 else (),
        made_by=Origin(
            "smooth_step", {"start": start, "duration": duration, "height": height, "derivatives": derivatives}
        ),
    )


def spin_up(speed: float, duration: float) -> TimeFunction:
    """The angle of the standard spin-up: its rate is zero until t = 0, rises to `speed` over `duration` as a raised
    cosine and then remains constant.

    Source: Kane, Ryan, Banerjee, "Dynamics of a cantilever beam attached to a moving base" (1987).

    Raises `MotionError` when the duration is not positive, or a parameter is not a finite number.
    """
    _require_numbers("spin_up", speed=speed, duration=duration)
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
        ahead=between(0.0, duration),
        formula=(SPIN_UP, w, T),
        made_by=Origin("spin_up", {"speed": speed, "duration": duration}),
    )


def pulse(start: float, duration: float, height: float, period: float | None = None) -> TimeFunction:
    """A smooth pulse `height sin^4` between `start` and `start + duration`, repeated every `period` if one is given.

    Raises `MotionError` when the duration is not positive, the period is shorter than the duration, or a parameter is
    not a finite number.
    """
    _require_numbers("pulse", start=start, duration=duration, height=height, **some(period=period))
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
        ahead=between(start, start + duration) if period is None else repeated(start, duration, period),
        formula=(PULSE, start, duration, height, period or 0.0),
        made_by=Origin("pulse", {"start": start, "duration": duration, "height": height} | some(period=period)),
    )

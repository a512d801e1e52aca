"""Whether a function of time is one, whether bodies can follow it, and whether its derivatives are right."""

from collections.abc import Callable
from typing import Any

import numpy as np

from flexmb.errors import MotionError
from flexmb.mechanism.motions.time_function import TimeFunction

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


def require_driver(motion: Any, what: str) -> None:
    """Check that `motion` is a function of time that bodies can follow.

    Raises `MotionError`, which names `what`, when it is anything else, or its rate jumps.
    """
    require_time_function(motion, what)
    if not motion.drives:
        raise MotionError(
            f"The {what} cannot be a {motion.description}: its rate jumps at each point, and no body does. Give the "
            "rate as flexmb.time_functions.speed_profile(times, speeds, rounding=...), or take smooth_step or table."
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

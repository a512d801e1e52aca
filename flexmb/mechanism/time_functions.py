"""Functions of time for drivers and loads, with their first two derivatives."""

from collections.abc import Callable, Sequence

import numpy as np

from fem.axes.limits import is_number
from fem.renamed import refuse_old_names
from flexmb.errors import MotionError
from flexmb.mechanism.motions.checks import check_derivatives, require_driver, require_time_function
from flexmb.mechanism.motions.formulas import (
    MOST_DERIVATIVES,
    constant,
    constant_speed,
    harmonic,
    polynomial,
    pulse,
    smooth_step,
    spin_up,
)
from flexmb.mechanism.motions.points import piecewise_linear, require_inside, speed_profile, table
from flexmb.mechanism.motions.time_function import NOTHING_AHEAD, Ahead, TimeFunction, everywhere, length_of_feature

__all__ = [
    "MOST_DERIVATIVES",
    "NOTHING_AHEAD",
    "Ahead",
    "TimeFunction",
    "check_derivatives",
    "constant",
    "constant_speed",
    "function",
    "harmonic",
    "piecewise_linear",
    "polynomial",
    "pulse",
    "require_driver",
    "require_inside",
    "require_time_function",
    "smooth_step",
    "speed_profile",
    "spin_up",
    "table",
]


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

    Raises `MotionError` when a breakpoint is not finite, `feature` is not positive, or one of the three is no function.
    """
    if not (callable(value) and callable(rate) and callable(acceleration)):
        raise MotionError(
            f"A function of time is three functions of t; found {value!r}, {rate!r} and {acceleration!r}."
        )
    if not np.iterable(breakpoints) or not all(map(is_number, breakpoints)):
        raise MotionError(f"The breakpoints of a function must be finite times; found {breakpoints!r}.")
    ahead = None if feature is None else everywhere(length_of_feature(feature))
    marked = tuple(sorted(float(t) for t in breakpoints))
    return TimeFunction(value, rate, acceleration, arrays=arrays, ahead=ahead, breakpoints=marked)


refuse_old_names(__name__)

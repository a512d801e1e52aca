"""The stored times of a simulation, and checks of its duration and step."""

import numpy as np

from fem.axes.limits import is_number
from flexmb.errors import IntegratorError

ROUND = 1e-9
"""Relative deviation up to which a step is taken to divide a duration."""


MOST_STEPS = 10**11
"""Largest number of steps of a simulation: a day of computation, if each takes a microsecond."""
MOST_TIMES = 10**8
"""Largest number of stored times."""
SHORTEST = 1e-100
"""Shortest duration: the square of a step, by which equations are divided, is a number other than zero."""


def check_times(duration: float, step: float | None, max_step: float | None = None) -> None:
    """Raises `IntegratorError` when the duration or the fixed step is not positive, the step exceeds the duration, the
    steps are too many to be computed, or so short that their squares vanish."""
    if not (is_number(duration) and duration > 0):
        raise IntegratorError(f"duration must be positive and finite; found {duration!r}.")
    if duration < SHORTEST:
        raise IntegratorError(f"duration must be at least {SHORTEST:g}; found {duration}. Is its unit correct?")
    if step is not None and not 0 < step <= duration:
        raise IntegratorError(f"step must be positive and at most the duration {duration}; found {step}.")
    for name, size in (("step", step), ("max_step", max_step)):
        if size is not None and duration > MOST_STEPS * size:
            raise IntegratorError(
                f"{name} = {size} makes {duration / size:.3g} steps in the duration {duration}; at most "
                f"{MOST_STEPS:.0e} can be computed. Give a larger {name}, or a shorter duration."
            )


def output_times(duration: float, step: float | None, output_step: float | None) -> np.ndarray:
    """The times to store, from 0 to `duration`: multiples of `output_step`, or about 1,000 times at multiples of a
    fixed step.

    The end is always stored. Raises `IntegratorError` when `output_step` is not positive or exceeds the duration.
    """
    if output_step is not None:
        if not (is_number(output_step) and 0 < output_step <= duration * (1 + ROUND)):
            raise IntegratorError(
                f"output_step must be positive and at most the duration {duration}; found {output_step}."
            )
        if duration > MOST_TIMES * output_step:
            raise IntegratorError(
                f"output_step = {output_step} stores {duration / output_step:.3g} times in the duration {duration}; "
                f"at most {MOST_TIMES:.0e} can be stored. Give a larger output_step."
            )
        whole = round(duration / output_step)
        if abs(duration - whole * output_step) <= ROUND * duration:
            return duration * np.arange(whole + 1) / whole
        return np.append(output_step * np.arange(int(duration / output_step) + 1), duration)
    if step is None:
        return duration * np.arange(1001) / 1000
    steps = int(np.ceil(duration / step * (1 - ROUND)))
    stride = max(1, round(steps / 1000))
    return duration * np.append(np.arange(0, steps, stride), steps) / steps

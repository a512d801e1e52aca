"""The stored times of a simulation, and checks of its duration and step."""

import numpy as np

from flexmb.errors import IntegratorError

ROUND = 1e-9
"""Relative deviation up to which a step is taken to divide a duration."""


def check_times(duration: float, step: float | None) -> None:
    """Raises `IntegratorError` when the duration or the fixed step is not positive, or the step exceeds the
    duration."""
    if not (np.isfinite(duration) and duration > 0):
        raise IntegratorError(f"duration must be positive and finite; found {duration}.")
    if step is not None and not 0 < step <= duration:
        raise IntegratorError(f"step must be positive and at most the duration {duration}; found {step}.")


def output_times(duration: float, step: float | None, output_step: float | None) -> np.ndarray:
    """The times to store, from 0 to `duration`: multiples of `output_step`, or about 1,000 times at multiples of a
    fixed step.

    The end is always stored. Raises `IntegratorError` when `output_step` is not positive or exceeds the duration.
    """
    if output_step is not None:
        if not 0 < output_step <= duration * (1 + ROUND):
            raise IntegratorError(
                f"output_step must be positive and at most the duration {duration}; found {output_step}."
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

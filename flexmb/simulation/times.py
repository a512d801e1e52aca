"""The times of a simulation: its steps, and what is stored."""

import numpy as np

from flexmb.errors import IntegratorError

ROUND = 1e-9
"""Relative: a step that divides a duration but for this divides it."""


def check_times(duration: float, step: float | None) -> None:
    """Raises `IntegratorError` for a duration or a fixed step that cannot be."""
    if not (np.isfinite(duration) and duration > 0):
        raise IntegratorError(f"duration must be positive and finite; found {duration}.")
    if step is not None and not 0 < step <= duration:
        raise IntegratorError(f"step must be positive and at most the duration {duration}; found {step}.")


def output_times(duration: float, step: float | None, output_step: float | None) -> np.ndarray:
    """Times to store, from 0 to `duration`: multiples of `output_step`, or about 1,000, whole numbers of fixed steps. The end is stored in any case."""
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

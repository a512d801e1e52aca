"""The times of a simulation: its steps, and what is stored."""

import numpy as np

from flexmb.integrators.integrator import IntegratorError


def check_times(duration: float, step: float | None) -> None:
    """Raises `IntegratorError` for a duration, or a fixed step, that cannot be."""
    if not (np.isfinite(duration) and duration > 0):
        raise IntegratorError(f"duration must be positive and finite; found {duration}.")
    if step is not None and not 0 < step <= duration:
        raise IntegratorError(f"step must be positive and at most the duration {duration}; found {step}.")


def output_times(duration: float, step: float | None, output_step: float | None) -> np.ndarray:
    """Times to store, from 0 to `duration`: multiples of `output_step`, or about 1,000, whole numbers of fixed steps."""
    steps = int(np.ceil(duration / step * (1 - 1e-9))) if step is not None else None
    if output_step is not None:
        if not 0 < output_step <= duration * (1 + 1e-9):
            raise IntegratorError(
                f"output_step must be positive and at most the duration {duration}; found {output_step}."
            )
        count = max(1, round(duration / output_step))
    elif steps is None:
        count = 1000
    else:
        stride = max(1, round(steps / 1000))
        return duration * np.append(np.arange(0, steps, stride), steps) / steps
    return duration * np.arange(count + 1) / count

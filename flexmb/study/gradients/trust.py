"""The reliability of derivatives of a motion.

A motion that amplifies small disturbances also amplifies the errors of its steps, and the errors of their derivatives
even more. If a disturbance has grown by a factor `g` at the end of a chaotic motion, the end changes by `g` times the
disturbance, and the derivatives there change, relative to their values, by `g` times the disturbance over a length. The
growth is visible without a further simulation: in the adjoint variables, which are the effects of disturbances on the
result, and in the change of the motion with a parameter. The latter also grows where the parameter begins to act late;
the change by a push at the beginning then decides. The disturbances are the errors of the steps. If growth and errors
together are suspicious, the derivatives are computed again with another step, and the differences give the estimate of
the error.
"""

import warnings
from collections.abc import Mapping

import numpy as np

from flexmb.errors import SensitivityWarning
from flexmb.simulation.recorded import Recording

SUSPICIOUS = 1e-4
"""Product of the errors of the steps, over the mechanism's length, and the growth of disturbances above which
derivatives are computed again.
"""
WRONG = 1e-2
"""Error, relative to the largest relative derivative of a measure, above which a warning is issued."""


def suspicious(recording: Recording, sizes: np.ndarray) -> bool:
    """Whether errors of the steps may have spoiled derivatives.

    `sizes` (n,): magnitudes of a disturbance in the steps, in the order of its growth.
    """
    half = sizes[: max(len(sizes) // 2, 1)].max(initial=0.0)
    growth = 1.0
    if half > 0:  # half of the time amplifies by the square root of the factor of the whole
        growth = (sizes.max(initial=0.0) / half) ** 2
    return bool(growth * _errors_of_steps(recording) > SUSPICIOUS)


def _errors_of_steps(recording: Recording) -> float:
    """Sum over the steps of the local errors of positions, over the mechanism's length."""
    run = recording.run
    jumps = np.abs(np.diff(recording.track.a, axis=0)) * run.equations.flat.weight
    return float(run.scheme.error_constant * recording.h**2 * jumps.max(axis=1, initial=0.0).sum())


def other_step(recording: Recording) -> float:
    """A step with which another simulation stores the same times.

    It is about twice as long, or half as long if every step is stored.
    """
    between = int(np.diff(recording.stored).max())
    return recording.h * between / -(-between // 2) if between > 1 else 0.5 * recording.h


def error_of(first: np.ndarray, second: np.ndarray, ratio: float) -> np.ndarray:
    """The error of derivatives of second order, from those with a step `ratio` times as long.

    For a longer step the whole difference counts.
    """
    return np.asarray(np.abs(second - first) / min(1.0, abs(ratio**2 - 1.0)))


def warn_of_errors(
    values: Mapping[str, float],
    derivatives: Mapping[str, np.ndarray],
    errors: Mapping[str, np.ndarray],
    step: float,
    times: np.ndarray,
) -> None:
    """Issue a `SensitivityWarning` for the measure with the least reliable derivatives, if these are not reliable."""
    scale = np.array([abs(v) or 1.0 for v in values.values()])
    worst, told = WRONG, ""
    for name, slopes in derivatives.items():
        part = errors[name] * scale / max(float(np.abs(slopes * scale).max()), 1e-300)
        k = int(part.argmax())
        if part[k] > worst:
            worst, told = float(part[k]), f"{name!r} by {list(values)[k]!r} is {slopes[k]:.4g} +- {errors[name][k]:.2g}"
    if told:
        warnings.warn(
            f"The motion from t = {times[0]:.6g} to {times[-1]:.6g} amplifies small disturbances so much that the "
            f"errors of its steps ({step:.3g}) spoil its derivatives: that of {told} (the difference to another "
            "step). Reduce the step or the duration; for a chaotic motion, derivatives over long times are useless, "
            "averages are not.",
            SensitivityWarning,
            stacklevel=3,
        )

"""How well derivatives of a motion are known: motions that enlarge small disturbances enlarge the errors of their steps too, and those of their derivatives still more.

A disturbance that has grown `g` times by the end of a chaotic motion moves the end `g` times its size, and the derivatives there by `g` times its size over a length, relative to what they are. What grows is seen without
another simulation: in the adjoint variables, which are the effects of disturbances on the result, and in the change of the motion with a parameter. The disturbances are the errors of the steps. Where both together are
suspicious the derivatives are computed a second time, with another step, and differences are the error told.
"""

import warnings
from collections.abc import Mapping

import numpy as np

from flexmb.errors import SensitivityWarning
from flexmb.simulation.recorded import Recording

SUSPICIOUS = 1e-4
"""Errors of the steps, over the mechanism's length, times the growth of disturbances, from which derivatives are computed a second time."""
WRONG = 1e-2
"""Error, relative to the largest of the relative derivatives of a measure, from which there is a warning."""


def suspicious(recording: Recording, sizes: np.ndarray) -> bool:
    """Whether errors of the steps may have spoiled derivatives; `sizes` (n,): what a disturbance has become, step by step in the order of its growth."""
    half = sizes[: max(len(sizes) // 2, 1)].max(initial=0.0)
    growth = (
        (sizes.max(initial=0.0) / half) ** 2 if half > 0 else 1.0
    )  # half the time enlarges by the root of the whole
    return bool(growth * _errors_of_steps(recording) > SUSPICIOUS)


def _errors_of_steps(recording: Recording) -> float:
    """Sum over the steps of the local errors of positions, over the mechanism's length."""
    run = recording.run
    jumps = np.abs(np.diff(recording.track.a, axis=0)) * run.equations.flat.weight
    return float(run.scheme.error_constant * recording.h**2 * jumps.max(axis=1, initial=0.0).sum())


def other_step(recording: Recording) -> float:
    """A step with which another simulation stores the same times: about twice as long, or half as long where every step is stored."""
    between = int(np.diff(recording.stored).max())
    return recording.h * between / -(-between // 2) if between > 1 else 0.5 * recording.h


def error_of(first: np.ndarray, second: np.ndarray, ratio: float) -> np.ndarray:
    """The error of derivatives, by those with a step `ratio` times as long: they are of second order; where the step was enlarged the whole difference counts."""
    return np.asarray(np.abs(second - first) / min(1.0, abs(ratio**2 - 1.0)))


def warn_of_errors(
    values: Mapping[str, float],
    derivatives: Mapping[str, np.ndarray],
    errors: Mapping[str, np.ndarray],
    step: float,
    times: np.ndarray,
) -> None:
    """A `SensitivityWarning` of the measure whose derivatives are worst known, when they are not known well."""
    scale = np.array([abs(v) or 1.0 for v in values.values()])
    worst, told = WRONG, ""
    for name, slopes in derivatives.items():
        part = errors[name] * scale / max(float(np.abs(slopes * scale).max()), 1e-300)
        k = int(part.argmax())
        if part[k] > worst:
            worst, told = float(part[k]), f"{name!r} by {list(values)[k]!r} is {slopes[k]:.4g} +- {errors[name][k]:.2g}"
    if told:
        warnings.warn(
            f"The motion from t = {times[0]:.6g} to {times[-1]:.6g} enlarges small disturbances so much that the errors of its steps ({step:.3g}) spoil its derivatives: that of {told} "
            "(the difference to another step). Take shorter steps, or a shorter duration; where the motion is chaotic, derivatives over long times have no use, averages do.",
            SensitivityWarning,
            stacklevel=3,
        )

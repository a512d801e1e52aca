"""Controllers by tables: curves, and gains that depend on a measured quantity."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from flexmb.controllers.linear import REFERENCE
from flexmb.errors import LawError
from flexmb.mechanism.control.law import BoundController, ControlLaw


def _curve(t: Any, inputs: Any, states: Any, parameters: Any, commands: Any, rates: Any) -> None:
    """A piecewise cubic; the parameters are the points (n,) and four coefficients for each of the n-1 pieces."""
    n = (len(parameters) + 4) // 5
    x = min(max(inputs[0], parameters[0]), parameters[n - 1])
    k = 0
    while k < n - 2 and x > parameters[k + 1]:
        k += 1
    s, at = x - parameters[k], n + 4 * k
    commands[0] = ((parameters[at] * s + parameters[at + 1]) * s + parameters[at + 2]) * s + parameters[at + 3]


def _scheduled(t: Any, inputs: Any, states: Any, parameters: Any, commands: Any, rates: Any) -> None:
    """`commands = -K(s) (x - x_ref)`; the inputs are s, x and x_ref, the parameters the points (n,) and the gains."""
    p, m = len(commands), (len(inputs) - 1) // 2
    n = len(parameters) // (1 + p * m)
    s = min(max(inputs[0], parameters[0]), parameters[n - 1])
    k = 0
    while k < n - 2 and s > parameters[k + 1]:
        k += 1
    weight = (s - parameters[k]) / (parameters[k + 1] - parameters[k])
    for i in range(p):
        total = 0.0
        for j in range(m):
            low, high = parameters[n + (k * p + i) * m + j], parameters[n + ((k + 1) * p + i) * m + j]
            total -= (low + weight * (high - low)) * (inputs[1 + j] - inputs[1 + m + j])
        commands[i] = total


CURVE, SCHEDULE = _curve, _scheduled
"""The functions of the laws of curves and gain schedules."""


def _points(x: ArrayLike, what: str) -> np.ndarray:
    points = np.asarray(x, dtype=float)
    if points.ndim != 1 or len(points) < 2 or not np.isfinite(points).all() or not (np.diff(points) > 0).all():
        raise LawError(
            f"The points of {what} must be finite, increasing numbers, at least two; found {points.tolist()}."
        )
    return points


def curve(x: ArrayLike, y: ArrayLike, *, sample_time: float | None = None) -> BoundController:
    """A command that depends on one input by a curve through points, constant outside of them.

    The curve is a piecewise cubic with a continuous slope that does not overshoot (PCHIP). Input: "input"; command:
    "command". Raises `LawError` when the points are not increasing, or not finite.
    """
    points, values = _points(x, "a curve"), np.asarray(y, dtype=float)
    if values.shape != points.shape or not np.isfinite(values).all():
        raise LawError(f"A curve through {len(points)} points needs as many finite values; found {values.tolist()}.")
    pieces = scipy.interpolate.PchipInterpolator(points, values).c.T
    numbers = np.concatenate([points, pieces.ravel()])
    names = tuple(f"p{k + 1}" for k in range(len(numbers)))
    law = ControlLaw(_curve, "curve", ("input",), ("command",), (), names)
    return law(sample_time=sample_time, **dict(zip(names, numbers.tolist(), strict=True)))


def gain_schedule(
    points: ArrayLike,
    gains: ArrayLike,
    inputs: Sequence[str],
    *,
    commands: Sequence[str] = ("command",),
    sample_time: float | None = None,
) -> BoundController:
    """State feedback `u = -K(s) (x - x_ref)` whose gains depend on the input "schedule", s.

    - `points` (n,): values of s; `gains` (n, nu, nx), or (n, nx) for one command: the gains there. Between the points
      they are interpolated linearly, and outside they are constant.
    - `inputs`: names of the states x (nx,), each with a further input "NAME reference", zero where nothing is
      connected.

    Raises `LawError` when the points are not increasing, or the numbers of gains and names differ.
    """
    at, K = _points(points, "a gain schedule"), np.asarray(gains, dtype=float)
    K = K[:, None, :] if K.ndim == 2 else K
    if K.shape != (len(at), len(commands), len(inputs)) or not np.isfinite(K).all():
        raise LawError(
            f"A gain schedule of {len(inputs)} inputs to {len(commands)} commands at {len(at)} points needs finite "
            f"gains ({len(at)}, {len(commands)}, {len(inputs)}); found {K.shape}."
        )
    numbers = np.concatenate([at, K.ravel()])
    references = tuple(f"{name}{REFERENCE}" for name in inputs)
    names = tuple(f"p{k + 1}" for k in range(len(numbers)))
    law = ControlLaw(
        _scheduled,
        "gain-schedule",
        ("schedule", *inputs, *references),
        tuple(commands),
        (),
        names,
        dict.fromkeys(references, 0.0),
    )
    return law(sample_time=sample_time, **dict(zip(names, numbers.tolist(), strict=True)))

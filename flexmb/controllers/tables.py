"""Controllers by tables: curves, and gains that depend on a measured quantity."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fem.axes.limits import floats
from flexmb.controllers import formulas
from flexmb.controllers.linear import REFERENCE
from flexmb.errors import LawError
from flexmb.forces.scalar.points import checked_axis, monotone, read_columns, require_finite, two_columns
from flexmb.forces.scalar.table import closed
from flexmb.mechanism.control.law import BoundController, ColumnTitle, ControlLaw


def _points(x: ArrayLike, what: str) -> np.ndarray:
    points = floats(x)
    if points.ndim != 1 or len(points) < 2 or not np.isfinite(points).all() or not (np.diff(points) > 0).all():
        raise LawError(
            f"The points of {what} must be finite, increasing numbers, at least two; found {points.tolist()}."
        )
    return points


def curve(
    x: ArrayLike, y: ArrayLike, *, period: float | None = None, sample_time: float | None = None
) -> BoundController:
    """A command that depends on one input by a curve through points, constant outside of them: also a force over the
    coordinate of another joint, such as that of gas on a piston over the crank angle.

    The curve is a piecewise cubic with a continuous slope that does not overshoot (PCHIP). Input: "input"; command:
    "command".

    - `period`: the curve repeats itself after this length; the points lie within one period, and a last point a whole
      period after the first must have the same value.

    Raises `LawError` when the points are not increasing, or not finite, and `TableError` when they do not fit the
    period, or their curve overflows.
    """
    points, values = _points(x, "a curve"), floats(y)
    if values.shape != points.shape or not np.isfinite(values).all():
        raise LawError(f"A curve through {len(points)} points needs as many finite values; found {values.tolist()}.")
    if period is not None:
        points, values = closed(points, values, period, "A periodic curve")
    pieces = monotone(points, values, "A curve").c.T
    if period is not None:  # the second of three periods
        n = (len(points) - 1) // 3
        points, pieces = points[n : 2 * n + 1], pieces[n : 2 * n]
    numbers = np.concatenate([points, pieces.ravel()])
    names = tuple(f"p{k + 1}" for k in range(len(numbers)))
    function, title = (formulas.curve, "curve") if period is None else (formulas.periodic_curve, "periodic-curve")
    law = ControlLaw(function, title, ("input",), ("command",), (), names)
    return law(sample_time=sample_time, **dict(zip(names, numbers.tolist(), strict=True)))


def curve_from_csv(
    path: str | Path,
    *,
    columns: tuple[int | str, int | str] = (0, 1),
    period: float | None = None,
    scale: float = 1.0,
    sample_time: float | None = None,
) -> BoundController:
    """A `curve` through the points in a text file with columns, such as a measured pressure over the crank angle.

    - `columns`: the columns of the input and of the command, by number from 0 or by title; `scale`: a factor of the
      commands. Files are those of `flexmb.table_from_csv`, and messages name the line. Units are not converted: a
      system with `units` refuses columns whose titles name others than those of the coordinate or rate and the effort,
      force or moment to which a continuous curve is connected, unless `scale` is the factor of the unit. Another scale,
      such as the area of a piston, may be that from another quantity.

    Raises `TableError` when the file cannot be read, or its points are no function.
    """
    found = read_columns(path)
    first, second = two_columns(found, columns, path)
    what, places = f"The table {Path(path).name}", [f"line {line}" for line in found.lines]
    x = checked_axis(found.numbers[:, first], "x", what, places)
    require_finite(found.numbers[:, second], x.shape, what, places)
    made = curve(x, scale * found.numbers[:, second], period=period, sample_time=sample_time)
    titles = {
        "input": ColumnTitle(found.title(first), what),
        "command": ColumnTitle(found.title(second), what, float(scale)),
    }
    return replace(made, titles=titles)


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
    at, K = _points(points, "a gain schedule"), floats(gains)
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
        formulas.gain_schedule,
        "gain-schedule",
        ("schedule", *inputs, *references),
        tuple(commands),
        (),
        names,
        dict.fromkeys(references, 0.0),
    )
    return law(sample_time=sample_time, **dict(zip(names, numbers.tolist(), strict=True)))

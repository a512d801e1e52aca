"""Functions of time in files of results: what made them, or their values at the stored times."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from flexmb.errors import UnsoundError
from flexmb.files.storage.sound import require_numbers
from flexmb.files.storage.tree import Tree
from flexmb.mechanism.motions.points import spline_table
from flexmb.mechanism.time_functions import (
    TimeFunction,
    harmonic,
    piecewise_linear,
    polynomial,
    pulse,
    require_inside,
    smooth_step,
    speed_profile,
    spin_up,
)

_STORED = " (stored values)"


def _polynomial(coefficients: np.ndarray) -> TimeFunction:
    return polynomial(*np.atleast_1d(coefficients).tolist())


def _smooth_step(derivatives: float, **numbers: float) -> TimeFunction:
    return smooth_step(**numbers, derivatives=int(derivatives))


def _table(monotone: float, **points: Any) -> TimeFunction:
    return spline_table(**points, monotone=bool(monotone))


MADE: dict[str, Callable[..., TimeFunction]] = {
    "polynomial": _polynomial,
    "harmonic": harmonic,
    "smooth_step": _smooth_step,
    "spin_up": spin_up,
    "pulse": pulse,
    "table": _table,
    "piecewise_linear": piecewise_linear,
    "speed_profile": speed_profile,
}
"""What makes the functions of `flexmb.time_functions`, from the arguments that `TimeFunction.made_by` tells."""


def function_tree(function: TimeFunction, t: np.ndarray) -> Tree:
    """The description of a function of time, its values at the stored times `t` (nt,), and what made it."""
    tree: Tree = {"description": function.description, "values": np.array([function(x) for x in t])}
    if function.made_by is not None:
        tree["made_by"], tree["arguments"] = function.made_by.name, dict(function.made_by.arguments)
    return tree


def function_from_tree(tree: Tree, t: np.ndarray) -> TimeFunction:
    """The function of time that `function_tree` stored; of one that the file does not tell, as those of users and of
    files of older versions, the one through its values.

    Raises `UnsoundError` for values and arguments that are no finite numbers, and `MotionError` for arguments from
    which no function can be made.
    """
    description, values = str(tree["description"]), tree["values"]
    require_numbers(t, (np.size(t),), "the stored times")
    require_numbers(values, (len(t), 3), f"the function of time {description!r}")
    if "made_by" not in tree:
        return _stored_motion(description, t, values)
    name, arguments = str(tree["made_by"]), {}
    for key, value in tree["arguments"].items():
        number = np.asarray(value, dtype=float)
        require_numbers(number, number.shape[:1], f"{key} of the function of time {description!r}")
        arguments[str(key)] = number if number.ndim else float(number)
    if name not in MADE:
        raise UnsoundError(f"the function of time {description!r} is made by {name!r}, which does not exist")
    return replace(MADE[name](**arguments), description=description)


def _stored_motion(description: str, t: np.ndarray, values: np.ndarray) -> TimeFunction:
    """The function of time with the given value, rate and acceleration (nt, 3) at `t`, quintic between these times."""
    curves = [_quintic(t, values).derivative(order) for order in range(3)]

    def column(order: int) -> Callable[[Any], Any]:
        def at(time: Any) -> Any:
            require_inside(np.asarray(time), t, repr(text))
            index = np.minimum(np.searchsorted(t, time), len(t) - 1)
            return np.where(t[index] == time, values[index, order], curves[order](time))

        return at

    text = description if description.endswith(_STORED) else description + _STORED
    return TimeFunction(column(0), column(1), column(2), text, stored_times=len(t))


def _quintic(t: np.ndarray, values: np.ndarray) -> "scipy.interpolate.PPoly":
    """The piecewise quintic Hermite polynomial with the given value, rate and acceleration (nt, 3) at `t`; of a single
    time the parabola."""
    if len(t) == 1:
        return scipy.interpolate.PPoly(values[:, ::-1].T / [[2.0], [1.0], [1.0]], np.array([t[0], t[0] + 1.0]))
    h = np.diff(t)
    c0, c1, c2 = values[:-1, 0], h * values[:-1, 1], h**2 * values[:-1, 2] / 2
    d = values[1:, 0] - c0 - c1 - c2
    e = h * values[1:, 1] - c1 - 2 * c2
    g = h**2 * values[1:, 2] - 2 * c2
    c3, c4, c5 = 10 * d - 4 * e + g / 2, -15 * d + 7 * e - g, 6 * d - 3 * e + g / 2
    return scipy.interpolate.PPoly(np.stack([c5 / h**5, c4 / h**4, c3 / h**3, c2 / h**2, c1 / h, c0]), t)

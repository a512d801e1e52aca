"""A function of time with its first two derivatives, and what integrators know of it in advance."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from fem.shown import shown
from flexmb.errors import MotionError


class Ahead(NamedTuple):
    """The behaviour of a function of time after some time: the next `change` of its character, and the length of the
    shortest `feature` until then. Both are infinite if there is none.

    A feature is a rise, a fall, a half-wave or a peak; steps of half its length resolve it.
    """

    change: float
    feature: float


NOTHING_AHEAD = Ahead(np.inf, np.inf)


class Origin(NamedTuple):
    """What made a function of time: the name of a function of `flexmb.time_functions`, and its arguments, which are
    numbers and arrays (n,)."""

    name: str
    arguments: Mapping[str, Any]


@shown
@dataclass(frozen=True)
class TimeFunction:
    """A scalar function of time with its first and second derivatives.

    The value is a displacement or an angle (radians) for drivers and a factor for loads; time is in the unit of the
    model.

    - `description`: the text in files and reports.
    - `arrays`: whether the three functions take arrays of times as well as numbers.
    - `ahead(t)`: the behaviour after time `t`; if it is None, integrators sample the function.
    - `breakpoints`: further times at which the function changes its character.
    - `formula`: its kind and parameters for compiled code (flexmb/kernels/equations/time_functions.py), which then
      evaluates it in place of the three functions; empty if there is none.
    - `drives`: whether it can be the motion of a driver. One whose rate jumps cannot: the velocities of bodies would
      have to jump, too.
    - `from_speeds`: whether its value is the place reached by given speeds, which is no reference of a speed.
    - `made_by`: the name and the arguments of what made it, by which files store it; None for functions of users.
    - `stored_times`: of a function of a user that was read from a file, the number of times at which the file has its
      values; zero for all others.
    """

    value: Callable[[Any], Any]
    rate: Callable[[Any], Any]
    acceleration: Callable[[Any], Any]
    description: str = "function"
    arrays: bool = True
    ahead: Callable[[float], Ahead] | None = None
    breakpoints: tuple[float, ...] = ()
    formula: tuple[float, ...] = ()
    drives: bool = True
    from_speeds: bool = False
    made_by: Origin | None = field(default=None, compare=False, repr=False)
    stored_times: int = 0

    def __str__(self) -> str:
        return self.description

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Value, rate and acceleration at time `t`."""
        return float(self.value(t)), float(self.rate(t)), float(self.acceleration(t))

    def over(self, times: Float[np.ndarray, "nt"]) -> Float[np.ndarray, "nt 3"]:
        """Value, rate and acceleration at the `times` (nt,)."""
        if not self.arrays:
            return np.array([self(float(t)) for t in times]).reshape(-1, 3)
        parts = (self.value(times), self.rate(times), self.acceleration(times))
        return np.stack([np.broadcast_to(np.asarray(part, dtype=float), times.shape) for part in parts], axis=1)


def some(**given: Any) -> dict[str, Any]:
    """The arguments that are not None."""
    return {name: value for name, value in given.items() if value is not None}


def nothing(t: float) -> Ahead:
    return NOTHING_AHEAD


def everywhere(feature: float) -> Callable[[float], Ahead]:
    """A feature of the same length at all times."""
    return lambda t: Ahead(np.inf, feature)


def between(start: float, end: float) -> Callable[[float], Ahead]:
    """A single feature from `start` to `end`."""

    def ahead(t: float) -> Ahead:
        if t < start:
            return Ahead(start, np.inf)
        return Ahead(end, end - start) if t < end else NOTHING_AHEAD

    return ahead


def repeated(start: float, duration: float, period: float) -> Callable[[float], Ahead]:
    """A feature of the given `duration` at the beginning of each `period`."""

    def ahead(t: float) -> Ahead:
        begin = start + max(np.floor((t - start) / period), 0.0) * period
        if t < start:
            return Ahead(start, np.inf)
        return Ahead(begin + duration, duration) if t < begin + duration else Ahead(begin + period, np.inf)

    return ahead


def knots(times: np.ndarray, features: np.ndarray) -> Callable[[float], Ahead]:
    """Changes at the `times` (n,), with a shortest feature (n,) before each."""

    def ahead(t: float) -> Ahead:
        k = int(np.searchsorted(times, t, side="right"))
        return Ahead(float(times[k]), float(features[k])) if k < len(times) else NOTHING_AHEAD

    return ahead


def length_of_feature(feature: float) -> float:
    """The length of a feature. Raises `MotionError` when it is not positive."""
    if not (length := number(feature, "feature of a function")) > 0:
        raise MotionError(f"The feature of a function must be a positive length of time; found {feature!r}.")
    return length


def number(given: Any, what: str) -> float:
    """A number. Raises `MotionError`, which names `what`, when `given` is anything else."""
    if not isinstance(given, int | float | np.integer | np.floating) or isinstance(given, bool):
        raise MotionError(f"The {what} must be a number; found {type(given).__name__} {given!r}.")
    return float(given)

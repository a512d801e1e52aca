"""Functions of time in a model file: `{ kind = "...", ... }`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from fem.user_files import quotes_inside
from flexmb.errors import MotionError, TableError
from flexmb.files.models.key_types import Keys, Positive, refusal
from flexmb.forces.scalar.points import Columns, column_index, read_columns, require_no_turns, require_unit
from flexmb.forces.scalar.table import RATE
from flexmb.mechanism import time_functions as motion
from flexmb.mechanism.time_functions import TimeFunction


class Polynomial(Keys):
    """`c0 + c1 t + c2 t^2 + ...`"""

    kind: Literal["polynomial"]
    coefficients: Annotated[list[float], Field(min_length=1)]

    def motion(self, folder: Path) -> TimeFunction:
        return motion.polynomial(*self.coefficients)


class ConstantSpeed(Keys):
    """`start + speed t`"""

    kind: Literal["constant-speed"]
    speed: float
    start: float = 0.0

    def motion(self, folder: Path) -> TimeFunction:
        return motion.constant_speed(self.speed, self.start)


class Harmonic(Keys):
    """`offset + amplitude sin(2 pi frequency t + phase)`"""

    kind: Literal["harmonic"]
    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0

    def motion(self, folder: Path) -> TimeFunction:
        return motion.harmonic(self.amplitude, self.frequency, self.phase, self.offset)


class SmoothStep(Keys):
    """From 0 to `height` between `start` and `start + duration`, with continuous `derivatives`."""

    kind: Literal["smooth-step"]
    start: float = 0.0
    duration: Positive
    height: float
    derivatives: Annotated[int, Field(ge=2, le=motion.MOST_DERIVATIVES)] = 2

    def motion(self, folder: Path) -> TimeFunction:
        return motion.smooth_step(self.start, self.duration, self.height, derivatives=self.derivatives)


class SpinUp(Keys):
    """Angle whose rate rises smoothly from 0 to `speed` over `duration`."""

    kind: Literal["spin-up"]
    speed: float
    duration: Positive

    def motion(self, folder: Path) -> TimeFunction:
        return motion.spin_up(self.speed, self.duration)


class Pulse(Keys):
    """A smooth pulse of the given `height`, repeated with the period `period` if one is given."""

    kind: Literal["pulse"]
    start: float = 0.0
    duration: Positive
    height: float
    period: Positive | None = None

    def motion(self, folder: Path) -> TimeFunction:
        return motion.pulse(self.start, self.duration, self.height, self.period)


class Points(Keys):
    """Points of a curve over the time, given in the model file or in a CSV file with two columns beside it."""

    MADE: ClassVar[Callable[..., TimeFunction]]
    WHAT: ClassVar[str]
    OWN: ClassVar[str] = "values"
    MORE: ClassVar[tuple[str, ...]] = ("feature",)

    times: list[float] | None = None
    csv: str | None = None
    columns: list[int | str] = Field([0, 1], min_length=2, max_length=2)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = (self.times is not None, getattr(self, self.OWN) is not None, self.csv is not None)
        if given not in ((True, True, False), (False, False, True)):
            raise refusal(f"{self.WHAT} needs either times and {self.OWN}, or csv = (a file with two columns)")
        return self

    def _places(self, found: Columns, path: Path) -> tuple[int, ...]:
        """The indices of the columns of the time and of the values."""
        return tuple(column_index(found, column, path) for column in self.columns)

    def _require_units(self, found: Columns, path: Path, units: str | None, measures: str | None) -> None:
        """Raise `TableError` where the titles of a CSV file name other units than those of the system `units`, for the
        time or for what the motion `measures`."""
        time, value = map(found.title, self._places(found, path))
        require_unit(time, "time", units, f"The table {path}")
        if measures is not None:
            dimension = RATE[measures] if isinstance(self, SpeedProfile) else measures
            require_unit(value, dimension, units, f"The table {path}")
        else:
            require_no_turns(value, f"The table {path}")

    def motion(self, folder: Path, units: str | None = None, measures: str | None = None) -> TimeFunction:
        """The motion, of a model with the system `units`, or None. It `measures` a "length" or an "angle"; None for a
        factor or a reference.

        Raises `TableError` when a CSV file cannot be read, or its titles name other units, and `MotionError` when its
        points are no function of time.
        """
        made, more = type(self).MADE, {name: getattr(self, name) for name in self.MORE}
        if self.csv is None:
            return made(self.times or [], getattr(self, self.OWN) or [], **more)
        path = folder / self.csv
        with quotes_inside(path, folder, TableError), quotes_inside(path, folder, MotionError):
            found = read_columns(path)
            self._require_units(found, path, units, measures)
            times, values = (found.numbers[:, place] for place in self._places(found, path))
            try:
                return made(times, values, **more)
            except MotionError as error:
                raise MotionError(f"The table {path}: {error}") from None


class Table(Points):
    """Cubic spline or monotone curve through points."""

    MADE, WHAT, MORE = motion.table, "a table", ("feature", "monotone")
    kind: Literal["table"]
    values: list[float] | None = None
    feature: Positive | None = None
    monotone: bool = False


class PiecewiseLinear(Points):
    """Straight lines through points, for loads and efforts."""

    MADE, WHAT = motion.piecewise_linear, "a piecewise linear function"
    kind: Literal["piecewise-linear"]
    values: list[float] | None = None
    feature: Positive | None = None


class SpeedProfile(Points):
    """The motion whose speed follows straight lines through points, with corners rounded over the time `rounding`, from
    `start` where the first corner begins."""

    MADE, WHAT, OWN, MORE = motion.speed_profile, "a speed profile", "speeds", ("rounding", "start")
    kind: Literal["speed-profile"]
    speeds: list[float] | None = None
    rounding: Positive
    start: float = 0.0


MotionKeys = Annotated[
    Polynomial | ConstantSpeed | Harmonic | SmoothStep | SpinUp | Pulse | Table | PiecewiseLinear | SpeedProfile,
    Field(discriminator="kind"),
]


def _of_number(given: Any) -> Any:
    if given is None or isinstance(given, dict):
        return given
    if isinstance(given, bool) or not isinstance(given, int | float) or not np.isfinite(given):
        raise refusal(f'expected a finite number or a table such as {{ kind = "pulse", ... }}; found {given!r}')
    return {"kind": "polynomial", "coefficients": [given]}


def motion_of(keys: MotionKeys, folder: Path, units: str | None, measures: str | None = None) -> TimeFunction:
    """The function of time that keys define, in a model with the system `units`, or None. It `measures` a "length", an
    "angle", or is a factor or a reference. Errors as of `Points.motion`."""
    return keys.motion(folder, units, measures) if isinstance(keys, Points) else keys.motion(folder)


FactorKeys = Annotated[MotionKeys, BeforeValidator(_of_number)]
"""A factor over time, also a number. Of a motion a number is refused: it could be a place or a speed."""

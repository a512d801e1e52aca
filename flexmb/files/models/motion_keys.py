"""Functions of time in a model file: `{ kind = "...", ... }`."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from fem.user_files import quotes_inside
from flexmb.errors import MotionError, TableError
from flexmb.files.models.key_types import Keys, Positive, refusal
from flexmb.forces.scalar.points import column_index, read_columns
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


class Table(Keys):
    """Cubic spline through points, given in the model file or in a CSV file with two columns beside it."""

    kind: Literal["table"]
    times: list[float] | None = None
    values: list[float] | None = None
    csv: str | None = None
    columns: list[int | str] = Field([0, 1], min_length=2, max_length=2)
    feature: Positive | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = (self.times is not None, self.values is not None, self.csv is not None)
        if given not in ((True, True, False), (False, False, True)):
            raise refusal("a table needs either times and values, or csv = (a file with two columns)")
        return self

    def motion(self, folder: Path) -> TimeFunction:
        if self.csv is None:
            return motion.table(self.times or [], self.values or [], feature=self.feature)
        path = folder / self.csv
        with quotes_inside(path, folder, TableError), quotes_inside(path, folder, MotionError):
            found = read_columns(path)
            times, values = (found.numbers[:, column_index(found, column, path)] for column in self.columns)
            try:
                return motion.table(times, values, feature=self.feature)
            except MotionError as error:
                raise MotionError(f"The table {path}: {error}") from None


MotionKeys = Annotated[
    Polynomial | ConstantSpeed | Harmonic | SmoothStep | SpinUp | Pulse | Table, Field(discriminator="kind")
]


def _of_number(given: Any) -> Any:
    if given is None or isinstance(given, dict):
        return given
    if isinstance(given, bool) or not isinstance(given, int | float) or not np.isfinite(given):
        raise refusal(f'expected a finite number or a table such as {{ kind = "pulse", ... }}; found {given!r}')
    return {"kind": "polynomial", "coefficients": [given]}


FactorKeys = Annotated[MotionKeys, BeforeValidator(_of_number)]
"""A factor over time, also a number. Of a motion a number is refused: it could be a place or a speed."""

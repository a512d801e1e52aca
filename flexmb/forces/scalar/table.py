"""Force laws as tables: a smooth monotone curve through points."""

import math
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numba import njit
from numpy.typing import ArrayLike

from fem.axes.limits import are_numbers, floats, is_number
from fem.shown import shown
from flexmb.errors import NegativeHeatWarning, TableError
from flexmb.forces.scalar.expression import Expression
from flexmb.forces.scalar.points import (
    OUTSIDE,
    SAME,
    checked_axis,
    monotone,
    read_columns,
    require_choice,
    require_finite,
    require_unit,
    two_columns,
)
from flexmb.forces.scalar.potential import NOTHING, Potential, potential
from flexmb.kernels.base.memory import interval_of, number_at, repeated

OVER = ("x", "xdot", "t")
"""The argument of a table: the coordinate of the element, its rate, or the time."""
RATE = {"length": "velocity", "angle": "angular velocity"}
"""Dimensions of coordinates and those of their rates."""


@shown
@dataclass(frozen=True, eq=False)
class Table:
    """A force law through points; `table` and `table_from_csv` make it.

    - `x` (n,), `y` (n,): the points. `over`: the argument, "x", "xdot" or "t".
    - `period`: after which the curve repeats itself, or None. `outside`: what it does outside the points.
    - `source`: its name in messages. `titles`: those of its columns in a file, with their units, or none; `scale`: the
      factor by which the second column has been multiplied.
    - `data`: the knots (m,) and, for each of the m - 1 intervals, the four coefficients of the cubic, highest first.
    """

    x: Float[np.ndarray, "n"]
    y: Float[np.ndarray, "n"]
    argument: str
    period: float | None
    outside: str
    source: str
    data: np.ndarray = field(repr=False)
    titles: tuple[str, ...] = ()
    scale: float = 1.0

    def __str__(self) -> str:
        again = f", period {self.period:g}" if self.period is not None else f", {self.outside} outside"
        span = f"{self.x[0]:g} to {self.x[-1]:g}"
        return f"{self.source}: {len(self.x)} points over {self.argument} from {span}{again}"

    @property
    def knots(self) -> int:
        """Number of knots."""
        return (len(self.data) + 4) // 5

    def __call__(self, t: float, x: float, xdot: float) -> float:
        """The effort. Raises `TableError` outside the range of a table that does not continue."""
        return float(self.over(t, x, xdot))

    def over(self, t: Any, x: Any, xdot: Any) -> Float[np.ndarray, "nt"]:
        """The efforts (nt,) at times `t`, coordinates `x` and rates `xdot`, each (nt,) or a number.

        Raises `TableError` outside the range of a table that does not continue.
        """
        return self._curve(t, x, xdot)[0]

    def slopes(self, t: Any, x: Any, xdot: Any) -> Float[np.ndarray, "4 nt"]:
        """The efforts and their derivatives with respect to `t`, `x` and `xdot`, (4, nt); errors as of `over`."""
        value, slope = self._curve(t, x, xdot)
        none = np.zeros_like(value)
        return np.stack([value, *(slope if self.argument == name else none for name in ("t", "x", "xdot"))])

    def _curve(self, t: Any, x: Any, xdot: Any) -> tuple[np.ndarray, np.ndarray]:
        """Values and slopes of the curve."""
        t, x, xdot = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (t, x, xdot)))
        s = {"t": t, "x": x, "xdot": xdot}[self.argument]
        knots, cubics = self.data[: self.knots], self.data[self.knots :].reshape(-1, 4)
        if self.period is not None:
            s = s - self.period * np.floor((s - knots[0]) / self.period)
        elif self.outside == "error" and ((s < knots[0]) | (s > knots[-1])).any():
            beyond = s[(s < knots[0]) | (s > knots[-1])].flat[0]
            raise TableError(
                f"{self.source}: expected {self.argument} from {knots[0]:g} to {knots[-1]:g}; found {beyond:g}. "
                'Extend the table, or choose outside="hold" or "extrapolate".'
            )
        inside = np.clip(s, knots[0], knots[-1])
        k = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(cubics) - 1)
        u, (a, b, c, d) = inside - knots[k], np.moveaxis(cubics[k], -1, 0)
        value, slope = ((a * u + b) * u + c) * u + d, (3.0 * a * u + 2.0 * b) * u + c
        if self.outside == "hold":
            slope = np.where(s == inside, slope, 0.0)
        return value + np.where(s == inside, 0.0, slope * (s - inside)), slope

    def require_units(self, units: str | None, coordinate: str, effort: str) -> None:
        """Raise `TableError` where the titles of the columns name other units than those of the system `units` for the
        dimensions of an element's `coordinate` and `effort`; without a system, other quantities and turns."""
        if self.titles:
            argument = {"x": coordinate, "xdot": RATE[coordinate], "t": "time"}[self.argument]
            require_unit(self.titles[0], argument, units, self.source)
            require_unit(self.titles[1], effort, units, self.source, self.scale)

    def over_time(self) -> tuple[Float[np.ndarray, "m"], float | None] | None:
        """The knots (m,) of a curve over the time and its period, for integrators to end steps at what it does; None
        for a curve over a coordinate or a rate."""
        return (self.data[: self.knots], self.period) if self.argument == "t" else None

    def beyond(self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray) -> str | None:
        """What to say of states, each (nt,), outside the points; None if there are none, or if the table is periodic.

        For tables that continue outside their points.
        """
        s = {"t": t, "x": x, "xdot": xdot}[self.argument]
        if self.period is not None or ((s >= self.x[0]) & (s <= self.x[-1])).all():
            return None
        return (
            f"{self.source}: {self.argument} reached from {s.min():.4g} to {s.max():.4g}, beyond the points from "
            f"{self.x[0]:g} to {self.x[-1]:g}"
        )

    @property
    def stored(self) -> Expression | Potential | None:
        """The energy that the law stores: of a curve over the coordinate minus its integral; nothing, for a curve over
        the rate that opposes it, as that of a damper.

        None for what gives energy: curves over the time, over the coordinate with a period and a mean that is not zero
        (as gas forces over a crank angle), and over the rate of motors, or that push at rest.
        """
        knots, cubics = self.data[: self.knots], self.data[self.knots :].reshape(-1, 4)
        if self.argument == "x":
            return potential(knots, cubics, self.outside, self.period)
        return NOTHING if self.argument == "xdot" and self._has_sign(-1.0) else None

    @property
    def drives(self) -> bool:
        """Whether a curve over the rate has the sign of it wherever it acts, and does not push at rest: as that of a
        damper with the wrong sign."""
        inside = self.x[0] <= 0.0 <= self.x[-1]
        return bool(self.argument == "xdot" and inside and self.y.any() and self._has_sign(1.0))

    def _has_sign(self, sign: float) -> bool:
        """Whether a curve over the rate has the sign of `sign` times the rate at its points and beyond them, and does
        not push at rest: without a point there, it pushes by less than both points beside it."""
        if self.period is not None or (sign * self.x * self.y < 0.0).any():
            return False
        ends, resisted = self.x[[0, -1]], SAME * np.abs(self.y).max()
        inside = ends[0] <= 0.0 <= ends[1]
        if inside and (self.x != 0.0).all():
            k = int(np.searchsorted(self.x, 0.0))
            resisted = np.abs(self.y[k - 1 : k + 1]).min()
        if (inside or self.outside != "error") and abs(self._curve(0.0, 0.0, 0.0)[0]) > resisted:
            return False
        return self.outside != "extrapolate" or bool((sign * self._curve(0.0, 0.0, ends)[1] >= 0.0).all())

    @property
    def compiled(self) -> Any:
        """The function `effort(t, x, xdot)`, compiled by numba, valid while this record exists; NaN where `over`
        raises an error."""
        address, knots, outside = self.data.ctypes.data, self.knots, OUTSIDE.index(self.outside)
        period = self.period or 0.0
        if self.argument == "x":
            return njit(lambda t, x, xdot: curve_at(address, knots, outside, period, x))
        if self.argument == "xdot":
            return njit(lambda t, x, xdot: curve_at(address, knots, outside, period, xdot))
        return njit(lambda t, x, xdot: curve_at(address, knots, outside, period, t))


@njit(cache=True, error_model="numpy")
def curve_at(address: int, knots: int, outside: int, period: float, s: float) -> float:
    """The value at `s` of the curve with the data at an address (see `Table`)."""
    first, last = number_at(address, 0), number_at(address, knots - 1)
    if period > 0.0:
        s = repeated(s, first, period)
    beyond = 0.0
    if s < first:
        beyond, s = s - first, first
    elif s > last:
        beyond, s = s - last, last
    if beyond != 0.0 and outside == 0 and period == 0.0:
        return math.nan
    k = interval_of(address, knots, s)
    u, place = s - number_at(address, k), knots + 4 * k
    a, b = number_at(address, place), number_at(address, place + 1)
    c, d = number_at(address, place + 2), number_at(address, place + 3)
    value = ((a * u + b) * u + c) * u + d
    if beyond != 0.0 and outside == 2:
        value += ((3.0 * a * u + 2.0 * b) * u + c) * beyond
    return value


def table(
    x: ArrayLike,
    y: ArrayLike,
    *,
    over: str = "x",
    period: float | None = None,
    outside: str = "error",
    scale: float = 1.0,
    source: str = "Table",
) -> Table:
    """A force law through the points `x` (n,), `y` (n,): the effort over a coordinate, a rate, or the time.

        spring = flexmb.table([-0.1, 0.0, 0.1, 0.12], [80.0, 0.0, -80.0, -300.0])
        damper = flexmb.table(speeds, forces, over="xdot", scale=-1.0)
        gas = flexmb.table(angles, torques, period=4 * math.pi)

    The curve is a piecewise cubic with a continuous slope that is monotone between two points (PCHIP): it does not
    overshoot. As for all laws, the effort is positive if it increases the coordinate, so that a spring falls with `x`.

    - `over`: the argument: "x", the coordinate of the element (a stretch, or the angle or displacement of a joint);
      "xdot", its rate; or "t", the time.
    - `period`: the curve repeats itself after this length, with a continuous slope. The points lie within one period; a
      last point a whole period after the first must have the same value.
    - `outside`: outside the points, "error" ends the simulation; "hold" keeps the value of the last point and
      "extrapolate" continues with the slope there, both with a `TableRangeWarning` at the end of the simulation.
    - `scale`: factor of `y`, such as -1 for a characteristic that is positive in tension, or that of a unit.
    - `source`: the name of the table in messages.

    In the energy ledger a table over "x" stores energy (`Table.stored`), one over "xdot" whose points oppose the rate
    makes heat, and what others exchange is work.

    Source: Fritsch and Carlson, "Monotone piecewise cubic interpolation", SIAM J. Numer. Anal. 17 (1980) 238-246.

    Raises `TableError`, which names the point, when the points are not a function (repeated or decreasing `x`, numbers
    that are not finite, different sizes) or do not fit the period. Warns with `NegativeHeatWarning` when a curve over
    "xdot" that vanishes at rest has the sign of the rate, and hence drives as a damper never does.
    """
    return _table(x, y, over, period, outside, scale, source, None)


def table_from_csv(
    path: str | Path,
    *,
    columns: tuple[int | str, int | str] = (0, 1),
    over: str = "x",
    period: float | None = None,
    outside: str = "error",
    scale: float = 1.0,
) -> Table:
    """A force law through the points in a text file with columns; the other arguments and errors are those of `table`.

    - `columns`: the columns of `x` and `y`, by number from 0 or by title.

    Columns are separated by semicolons, tabs, commas or blanks; with the first two, numbers may have decimal commas. Up
    to two rows of titles and units precede the numbers. Empty lines, and what follows a `#`, are skipped. Messages name
    the line. Units are not converted: an element of a system with `units` refuses a table whose titles name others
    ("travel [mm]" in SI), unless `scale` is the factor of the unit of `y`.
    """
    found = read_columns(path)
    first, second = two_columns(found, columns, path)
    places = [f"line {line}" for line in found.lines]
    made = _table(
        found.numbers[:, first],
        found.numbers[:, second],
        over,
        period,
        outside,
        scale,
        f"The table {Path(path).name}",
        places,
    )
    return replace(made, titles=(found.title(first), found.title(second)), scale=float(scale))


def _table(
    x: ArrayLike,
    y: ArrayLike,
    over: str,
    period: float | None,
    outside: str,
    scale: float,
    what: str,
    places: list[str] | None,
) -> Table:
    require_choice(over, OVER, "argument of a table (over)", what)
    require_choice(outside, OUTSIDE, "behaviour outside a table", what)
    axis = checked_axis(x, over, what, places)
    values = floats(y)
    if not are_numbers(y) or not is_number(scale):
        raise TableError(f"{what}: expected numbers y and scale; found {y!r} and {scale!r}.")
    values = values * float(scale)
    require_finite(values, axis.shape, what, places)
    knots, curve = (axis, values) if period is None else closed(axis, values, period, what)
    cubics = monotone(knots, curve, what).c
    if period is not None:
        middle = slice((len(knots) - 1) // 3, 2 * (len(knots) - 1) // 3)
        cubics, knots = cubics[:, middle], knots[middle.start : middle.stop + 1]
    data = np.concatenate([knots, cubics.T.ravel()])
    for array in (axis, values, data):
        array.flags.writeable = False
    made = Table(axis, values, over, None if period is None else float(period), outside, what, data)
    if made.drives:
        k = int(np.abs(values).argmax())
        warnings.warn(
            f"{what}: expected efforts over the rate xdot that oppose it, as those of a damper; found {values[k]:g} at "
            f"xdot = {axis[k]:g}, and everywhere the sign of the rate: this damper drives. Reverse it with scale=-1. "
            "If it is meant to drive, give its efforts as a formula.",
            NegativeHeatWarning,
            stacklevel=3,
        )
    return made


def closed(axis: np.ndarray, values: np.ndarray, period: float, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Three periods of a curve: `axis` (3 n + 1,) and `values` (3 n + 1, ...) of n points in one period.

    Raises `TableError` when the points are too few, exceed the period, or do not close.
    """
    span = axis[-1] - axis[0]
    if not (is_number(period) and period > 0) or span > period * (1 + SAME):
        raise TableError(f"{what}: expected a period of at least the range of the points, {span:g}; found {period!r}.")
    if abs(span - period) <= SAME * period:
        apart = np.abs(values[-1] - values[0]).max()
        if apart > SAME * np.ptp(values):
            raise TableError(
                f"{what}: expected equal values at both ends of the period {period:g}; found {values[0]} and "
                f"{values[-1]}."
            )
        axis, values = axis[:-1], values[:-1]
    if len(axis) < 3:
        raise TableError(f"{what}: expected at least three points within a period; found {len(axis)}.")
    around = np.concatenate([axis - period, axis, axis + period, [axis[0] + 2 * period]])
    return around, np.concatenate([values, values, values, values[:1]])

"""Force laws as maps: a smooth surface over the coordinate and its rate."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numba import njit
from numpy.typing import ArrayLike

from fem.axes.limits import are_numbers, floats, is_number
from fem.shown import shown
from flexmb.errors import TableError
from flexmb.forces.scalar.points import (
    OUTSIDE,
    SAME,
    checked_axis,
    column_index,
    monotone,
    read_columns,
    require_choice,
    require_finite,
    require_unit,
)
from flexmb.forces.scalar.potential import Potential, potential
from flexmb.forces.scalar.table import closed
from flexmb.kernels.base.memory import interval_of, number_at, repeated

_HERMITE = np.array([[2.0, -2.0, 1.0, 1.0], [-3.0, 3.0, -2.0, -1.0], [0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
"""Coefficients of a cubic on 0 to 1, highest first, for its values at both ends and its slopes there."""


@shown
@dataclass(frozen=True, eq=False)
class ForceMap:
    """A force law over the coordinate `x` and its rate `xdot`; `force_map` and `force_map_from_csv` make it.

    - `x` (n,), `xdot` (m,), `values` (n, m): the points.
    - `period`: of the coordinate, or None. `outside`: what the map does outside the points. `source`: its name.
    - `titles`: that of the column of coordinates in a file, with its unit, or none.
    - `data`: the knots of both arguments and, for each patch, the 16 coefficients of the bicubic, highest first.
    """

    x: Float[np.ndarray, "n"]
    xdot: Float[np.ndarray, "m"]
    values: Float[np.ndarray, "n m"]
    period: float | None
    outside: str
    source: str
    knots: int
    data: np.ndarray = field(repr=False)
    titles: tuple[str, ...] = ()

    def __str__(self) -> str:
        again = f", period {self.period:g}" if self.period is not None else ""
        return (
            f"{self.source}: {len(self.x)} by {len(self.xdot)} points over x from {self.x[0]:g} to {self.x[-1]:g}"
            f"{again} and xdot from {self.xdot[0]:g} to {self.xdot[-1]:g}, {self.outside} outside"
        )

    def __call__(self, t: float, x: float, xdot: float) -> float:
        """The effort. Raises `TableError` outside the range of a map that does not continue."""
        return float(self.over(t, x, xdot))

    def over(self, t: Any, x: Any, xdot: Any) -> Float[np.ndarray, "nt"]:
        """The efforts (nt,) at coordinates `x` and rates `xdot`, each (nt,) or a number; `t` has no influence.

        Raises `TableError` outside the range of a map that does not continue.
        """
        _, x, xdot = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (t, x, xdot)))
        n, m = self.knots, len(self.xdot)
        first, second = self.data[:n], self.data[n : n + m]
        x = self._first_period(x)
        i, u, past = _within(first, x)
        j, v, beyond = _within(second, xdot)
        if self.outside == "error" and (past.any() or beyond.any()):
            k = int(np.flatnonzero((past != 0) | (beyond != 0))[0])
            raise TableError(
                f"{self.source}: expected x from {first[0]:g} to {first[-1]:g} and xdot from {second[0]:g} to "
                f"{second[-1]:g}; found {x.flat[k]:g} and {xdot.flat[k]:g}. Extend the map, or choose "
                'outside="hold" or "extrapolate".'
            )
        patch = self.data[n + m :].reshape(n - 1, m - 1, 4, 4)[i, j]
        powers, slopes = (np.stack([w**3, w**2, w, np.ones_like(w)], axis=-1) for w in (u, v))
        value = np.einsum("...a,...ab,...b->...", powers, patch, slopes)
        if self.outside == "extrapolate":
            rises = (np.stack([3 * w**2, 2 * w, np.ones_like(w), np.zeros_like(w)], axis=-1) for w in (u, v))
            along, across = rises
            value = value + past * np.einsum("...a,...ab,...b->...", along, patch, slopes)
            value = value + beyond * np.einsum("...a,...ab,...b->...", powers, patch, across)
        return np.asarray(value)

    def _first_period(self, x: np.ndarray) -> np.ndarray:
        """Coordinates in the first period of the map; as they are without one."""
        return x if self.period is None else x - self.period * np.floor((x - self.data[0]) / self.period)

    def require_units(self, units: str | None, coordinate: str, effort: str) -> None:
        """Raise `TableError` where the title of the coordinates names another unit than that of the system `units` for
        the dimension of an element's `coordinate`. Titles do not tell the units of rates and of efforts."""
        del effort
        for title in self.titles:
            require_unit(title, coordinate, units, self.source)

    def beyond(self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray) -> str | None:
        """What to say of states, each (nt,), outside the points; None if there are none.

        For maps that continue outside their points.
        """
        over = [] if self.period is not None else [("x", x, self.x)]
        for name, s, axis in (*over, ("xdot", xdot, self.xdot)):
            if (s < axis[0]).any() or (s > axis[-1]).any():
                return (
                    f"{self.source}: {name} reached from {s.min():.4g} to {s.max():.4g}, beyond the points from "
                    f"{axis[0]:g} to {axis[-1]:g}"
                )
        return None

    @property
    def stored(self) -> Potential | None:
        """The energy that the law stores: minus the integral of the efforts at rest, if the points of the map contain
        that (`xdot = 0`) and what other rates add to them opposes the rate, so that it is heat; otherwise None.

        None, too, for a map with a period and a mean at rest that is not zero, which gives energy.
        """
        n, rates = self.knots, self.xdot
        if not rates[0] <= 0.0 <= rates[-1]:
            return None
        j = int(_within(rates, np.zeros(()))[0])
        patches = self.data[n + len(rates) :].reshape(n - 1, len(rates) - 1, 4, 4)
        cubics = patches[:, j] @ (-rates[j]) ** np.arange(3, -1, -1.0)
        k, u, _ = _within(self.data[:n], self._first_period(self.x))
        at_rest = np.einsum("ka,ka->k", u[:, None] ** np.arange(3, -1, -1.0), cubics[k])
        added = (self.values - at_rest[:, None]) * rates
        if self.outside == "extrapolate":  # a span of the rates beyond each end
            span = np.ptp(rates) * np.array([-1.0, 1.0])
            risen = self.over(0.0, self.x[:, None], rates[[0, -1]] + span) - self.values[:, [0, -1]]
            added = np.hstack([added, risen * span])
        if (added > SAME * np.abs(self.values).max() * np.abs(rates).max()).any():
            return None
        return potential(self.data[:n], cubics, self.outside, self.period)

    @property
    def compiled(self) -> Any:
        """The function `effort(t, x, xdot)`, compiled by numba, valid while this record exists; NaN where `over`
        raises an error."""
        address, n, m, outside = self.data.ctypes.data, self.knots, len(self.xdot), OUTSIDE.index(self.outside)
        period = self.period or 0.0
        return njit(lambda t, x, xdot: surface_at(address, n, m, outside, period, x, xdot))


def _within(knots: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The interval of each `s`, the distance from its start (at most its length), and how far `s` is outside."""
    inside = np.clip(s, knots[0], knots[-1])
    k = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
    return k, inside - knots[k], s - inside


@njit(cache=True, error_model="numpy")
def surface_at(address: int, n: int, m: int, outside: int, period: float, x: float, xdot: float) -> float:
    """The value at `x`, `xdot` of the surface with the data at an address (see `ForceMap`)."""
    if period > 0.0:
        x = repeated(x, number_at(address, 0), period)
    inner_x = min(max(x, number_at(address, 0)), number_at(address, n - 1))
    inner_v = min(max(xdot, number_at(address, n)), number_at(address, n + m - 1))
    past, beyond = x - inner_x, xdot - inner_v
    if outside == 0 and not (past == 0.0 and beyond == 0.0):
        return math.nan
    rates = address + 8 * n
    i, j = interval_of(address, n, inner_x), interval_of(rates, m, inner_v)
    u, v = inner_x - number_at(address, i), inner_v - number_at(rates, j)
    place = n + m + 16 * (i * (m - 1) + j)
    value, along, across = 0.0, 0.0, 0.0
    for k in range(4):
        a, b = number_at(address, place + 4 * k), number_at(address, place + 4 * k + 1)
        c, d = number_at(address, place + 4 * k + 2), number_at(address, place + 4 * k + 3)
        row = ((a * v + b) * v + c) * v + d
        along = along * u + value
        value = value * u + row
        across = across * u + (3.0 * a * v + 2.0 * b) * v + c
    if outside == 2:
        value += along * past + across * beyond
    return value


def force_map(
    x: ArrayLike,
    xdot: ArrayLike,
    values: ArrayLike,
    *,
    period: float | None = None,
    outside: str = "error",
    scale: float = 1.0,
    source: str = "Force map",
) -> ForceMap:
    """A force law through the `values` (n, m) at the coordinates `x` (n,) and their rates `xdot` (m,).

    The surface has continuous slopes and is monotone between two points along the lines of the grid. The other
    arguments, the sign of the effort and the errors are those of `flexmb.table`; `period` is that of the coordinate.
    """
    return _force_map(x, xdot, values, period, outside, scale, source, None)


def force_map_from_csv(
    path: str | Path, *, period: float | None = None, outside: str = "error", scale: float = 1.0
) -> ForceMap:
    """A force law through the values in a text file; the other arguments and errors are those of `force_map`.

    The first row of numbers holds any number, for instance 0, and the rates; each further row a coordinate and its
    values. Columns, titles and comments are as of `flexmb.table_from_csv`.

    Raises `TableError`, which names the line, when the file cannot be read or its points are not a function.
    """
    found = read_columns(path)
    numbers = found.numbers
    if min(numbers.shape) < 3:
        raise TableError(
            f"The table {path}: expected a row of rates, and at least two rows with a coordinate and its values; found "
            f"{numbers.shape[0]} rows of {numbers.shape[1]} numbers."
        )
    column_index(found, 0, path)
    places = [f"line {line}" for line in found.lines[1:]]
    what = f"The table {Path(path).name}"
    made = _force_map(numbers[1:, 0], numbers[0, 1:], numbers[1:, 1:], period, outside, scale, what, places)
    return replace(made, titles=(found.title(0),))


def _force_map(
    x: ArrayLike,
    xdot: ArrayLike,
    values: ArrayLike,
    period: float | None,
    outside: str,
    scale: float,
    what: str,
    places: list[str] | None,
) -> ForceMap:
    require_choice(outside, OUTSIDE, "behaviour outside a map", what)
    axis, rates = checked_axis(x, "x", what, places), checked_axis(xdot, "xdot", what)
    grid = floats(values)
    if not are_numbers(values) or not is_number(scale):
        raise TableError(f"{what}: expected numbers values and scale; found {values!r} and {scale!r}.")
    grid = grid * float(scale)
    require_finite(grid, (len(axis), len(rates)), what, places)
    knots, surface = (axis, grid) if period is None else closed(axis, grid, period, what)
    along = monotone(knots, surface, what)(knots, 1)
    if period is not None:
        middle = slice((len(knots) - 1) // 3, 2 * (len(knots) - 1) // 3 + 1)
        knots, surface, along = knots[middle], surface[middle], along[middle]
    across = monotone(rates, surface, what, axis=1)(rates, 1)
    both = monotone(rates, along, what, axis=1)(rates, 1)
    with np.errstate(all="ignore"):
        patches = _patches(knots, rates, surface, along, across, both)
    require_finite(patches, patches.shape, f"{what}, coefficients between the points (use other units)")
    data = np.concatenate([knots, rates, patches.ravel()])
    for array in (axis, rates, grid, data):
        array.flags.writeable = False
    repeats = None if period is None else float(period)
    return ForceMap(axis, rates, grid, repeats, outside, what, len(knots), data)


def _patches(
    x: np.ndarray, y: np.ndarray, f: np.ndarray, fx: np.ndarray, fy: np.ndarray, fxy: np.ndarray
) -> Float[np.ndarray, "n m 4 4"]:
    """The coefficients of the bicubic patches with the given values and slopes at the points of the grid."""
    h, g = np.diff(x)[:, None, None, None], np.diff(y)[None, :, None, None]
    size = (len(x) - 1, len(y) - 1)
    corners = np.zeros((*size, 4, 4))
    for a in range(2):
        for b in range(2):
            here = (slice(a, a + size[0]), slice(b, b + size[1]))
            corners[:, :, a, b] = f[here]
            corners[:, :, 2 + a, b] = fx[here] * h[:, :, 0, 0]
            corners[:, :, a, 2 + b] = fy[here] * g[:, :, 0, 0]
            corners[:, :, 2 + a, 2 + b] = fxy[here] * h[:, :, 0, 0] * g[:, :, 0, 0]
    unit = np.einsum("ka,nmab,lb->nmkl", _HERMITE, corners, _HERMITE)
    powers = np.arange(3, -1, -1)
    return unit / (h ** powers[:, None]) / (g ** powers[None, :])

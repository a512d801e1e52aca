"""Plane curves for points and sliders: cams, slots, tracks."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy
from jaxtyping import Float
from numpy.typing import ArrayLike

from fem.axes.limits import floats, is_number, is_whole
from fem.shown import shown
from flexmb.errors import CurveError
from flexmb.kernels.calls import distance_from_curve

SAME = 1e-9
"""Distance of two points, relative to the size of the curve, below which they coincide."""
PIECES = 256
"""Number of intervals at which functions are sampled."""


@shown
@dataclass(frozen=True, eq=False)
class Curve:
    """A curve in a plane, the spline of degree five through points; `through` and `of_functions` make it.

    - `parameters` (n,): the parameter of each point. `points` (n, 2): the points; those of a closed curve end with the
      first. `closed`: whether the curve returns to its beginning, with four continuous derivatives.
    - `data`: see flexmb/kernels/equations/curves.py.
    """

    parameters: Float[np.ndarray, "n"]
    points: Float[np.ndarray, "n 2"]
    closed: bool
    data: np.ndarray = field(repr=False)

    def __str__(self) -> str:
        kind = "closed" if self.closed else "open"
        return f"{kind} curve through {len(self.points) - self.closed} points"

    @property
    def address(self) -> int:
        """Address of the data for compiled code, valid while this record exists."""
        return int(self.data.ctypes.data)

    @property
    def size(self) -> float:
        """The larger side of the rectangle that contains the points (length)."""
        return float(np.ptp(self.points, axis=0).max())

    def __reduce__(self) -> tuple[object, ...]:
        return spline, (self.parameters, self.points, self.closed)

    def at(self, s: ArrayLike) -> Float[np.ndarray, "ns 2"]:
        """The points (ns, 2) at parameters `s` (ns,)."""
        return np.asarray(self.polynomial(np.asarray(s, dtype=float)))

    @property
    def polynomial(self) -> "scipy.interpolate.PPoly":
        """The quintics between the knots, with values (2,)."""
        n = int(self.data[0])
        coefficients = self.data[3 + n :].reshape(n, 2, 6).transpose(2, 0, 1)
        return scipy.interpolate.PPoly(coefficients, self.data[2 : 3 + n])

    def distance(self, point: ArrayLike) -> float:
        """The signed distance of a point (2,) from the curve, positive on its left; NaN beyond an end of it."""
        x, y = np.asarray(point, dtype=float)
        return float(distance_from_curve(self.address, float(x), float(y))[0])

    def tangent(self, point: ArrayLike) -> Float[np.ndarray, "2"]:
        """The unit tangent (2,) of the curve at its place nearest to a point (2,); NaN beyond an end of it."""
        x, y = np.asarray(point, dtype=float)
        _, left_x, left_y, _ = distance_from_curve(self.address, float(x), float(y))
        return np.array([left_y, -left_x])


def spline(parameters: np.ndarray, points: np.ndarray, closed: bool) -> Curve:
    """The spline through `points` (n, 2) at increasing `parameters` (n,).

    Raises `CurveError` when the curve has a cusp, crosses itself, or a number is not finite.
    """
    s, p = np.array(parameters, dtype=float), np.array(points, dtype=float)
    if not (np.isfinite(s).all() and np.isfinite(p).all()):
        raise CurveError("A curve needs points that are finite numbers; found one that is not.")
    if closed:
        p[-1] = p[0]
    made = scipy.interpolate.make_interp_spline(s, p, k=5, bc_type="periodic" if closed else None)
    inside = made.t[(made.t >= s[0]) & (made.t <= s[-1])]
    knots = inside[np.concatenate([[True], np.diff(inside) > 0])]
    terms = [made(knots[:-1], order) / math.factorial(order) for order in range(5, -1, -1)]
    data = np.concatenate([[len(knots) - 1, float(closed)], knots, np.stack(terms, axis=-1).ravel()])
    for array in (s, p, data):
        array.flags.writeable = False
    _require_simple(made(np.linspace(s[0], s[-1], 4 * min(len(s), PIECES) + 1)), closed)
    return Curve(s, p, closed, data)


def through(points: ArrayLike, *, closed: bool = False) -> Curve:
    """The smooth curve through the `points` (n, 2): a spline of degree five over the lengths of the chords.

    - `closed`: the curve returns to the first point, which must not be repeated at the end.

    Raises `CurveError` when there are fewer than six points, two neighbours coincide, the curve crosses itself, or a
    number is not finite.
    """
    p = floats(points)
    if p.ndim != 2 or p.shape[1:] != (2,) or len(p) < 6:
        raise CurveError(f"A curve needs at least six points (n, 2) in its plane; found the shape {p.shape}.")
    if not np.isfinite(p).all():
        raise CurveError(f"A curve needs finite points; found {p[~np.isfinite(p).all(axis=1)][0]}.")
    if closed:
        p = np.vstack([p, p[:1]])
    chords = np.linalg.norm(np.diff(p, axis=0), axis=1)
    if not (chords > SAME * np.ptp(p, axis=0).max()).all():
        k = int(np.argmin(chords))
        first = " The first point of a closed curve is not repeated." if closed else ""
        raise CurveError(
            f"A curve needs points that differ from their neighbours; found {p[k]} twice, as points {k + 1} and "
            f"{(k + 1) % (len(p) - closed) + 1}.{first}"
        )
    return spline(np.concatenate([[0.0], np.cumsum(chords)]), p, closed)


def of_functions(
    x: Callable[[float], float],
    y: Callable[[float], float],
    start: float,
    end: float,
    *,
    closed: bool = False,
    pieces: int = PIECES,
) -> Curve:
    """The curve `x(s), y(s)` for `s` from `start` to `end`, sampled in `pieces` intervals.

    Between the samples it is a spline of degree five, whose curvature has an error that falls with the fourth power of
    the interval: 1e-8 for a circle of 256.

    Raises `CurveError` as `through` does, and when `closed` and the ends differ.
    """
    if not (is_number(start) and is_number(end) and start < end and is_whole(pieces) and pieces >= 6):
        raise CurveError(f"A curve needs start < end and at least 6 pieces; found {start}, {end} and {pieces}.")
    s = np.linspace(start, end, pieces + 1)
    if not (callable(x) and callable(y)):
        raise CurveError(f"A curve needs two functions x(s) and y(s); found {x!r} and {y!r}.")
    points = np.array([[float(x(k)), float(y(k))] for k in s])
    size = float(np.ptp(points, axis=0).max())
    if closed and not np.linalg.norm(points[-1] - points[0]) <= SAME * size:
        raise CurveError(
            f"A closed curve ends where it begins; found {points[0]} at {start:g} and {points[-1]} at {end:g}."
        )
    return spline(s, points, closed)


def _require_simple(p: np.ndarray, closed: bool) -> None:
    """Raise `CurveError` when the polygon `p` (m, 2) crosses itself or turns back."""
    a, b = p[:-1], p[1:]
    d = b - a
    length = np.linalg.norm(d, axis=1)
    if not (length > 0).all() or ((d[1:] * d[:-1]).sum(axis=1) < 0).any():
        raise CurveError("A curve must be smooth; found a cusp, at which it turns back. Add points there.")

    def side(start: np.ndarray, along: np.ndarray, point: np.ndarray) -> np.ndarray:
        r = point[None] - start[:, None]
        return along[:, None, 0] * r[:, :, 1] - along[:, None, 1] * r[:, :, 0]

    apart = (side(a, d, a) * side(a, d, b) < 0) & (side(a, d, a) * side(a, d, b) < 0).T
    near = np.abs(np.subtract.outer(np.arange(len(a)), np.arange(len(a))))
    apart &= (near > 1) & (near < len(a) - 1 if closed else True)
    if apart.any():
        k = int(np.argwhere(apart)[0][0])
        raise CurveError(
            f"A curve must not cross itself, since the place on it would not be unique; found a crossing near {a[k]}."
        )


def curvature(curve: Curve) -> Float[np.ndarray, "n"]:
    """The curvature (n,) at many places of a curve, positive where it turns to the left."""
    s = np.linspace(curve.parameters[0], curve.parameters[-1], 4 * len(curve.parameters))
    made = curve.polynomial
    d, dd = made(s, 1), made(s, 2)
    return np.asarray((d[:, 0] * dd[:, 1] - d[:, 1] * dd[:, 0]) / np.linalg.norm(d, axis=1) ** 3)

"""Joints of a place or a slider on a curve: their rows.

With the position `d` of marker `b` in the frame of marker `a`, whose plane of x and y contains the curve, the rows are
the signed distance of `d` from the curve (`CURVE`), the distance from the plane, and for a slider the directions: its z
axis along the normal of the plane, its x axis along the tangent (`ALONG`).
"""

import numpy as np

from flexmb.errors import CurveError
from flexmb.kernels.base.data import ALONG, CURVE, DOT, TRANSLATION
from flexmb.mechanism.curves.plane import Curve, curvature
from flexmb.mechanism.mechanism import Row


def require_curve(name: str, curve: Curve, offset: float) -> None:
    """Raise `CurveError` unless a place can follow `curve` at the distance `offset` (positive on its left)."""
    if not isinstance(curve, Curve):
        raise CurveError(
            f"Joint {name!r}: expected a curve, such as flexmb.curves.through(points); found {type(curve).__name__}."
        )
    bends = curvature(curve) * offset
    if bends.max() >= 1:
        raise CurveError(
            f"Joint {name!r}: a roller at the distance {offset:g} does not fit into the curve, whose smallest "
            f"radius on that side is {offset / bends.max():.6g} (undercut). Use a smaller roller or a smoother curve."
        )


def tangent_at(name: str, curve: Curve, d: np.ndarray) -> np.ndarray:
    """The direction (3,) of the curve at the place nearest to `d` (3,) as drawn, in the frame of the curve.

    Raises `CurveError` when the place is drawn beyond an end of an open curve.
    """
    along = curve.tangent(d[:2])
    if not np.isfinite(along).all():
        raise CurveError(
            f"Joint {name!r}: its place is drawn at {d[:2]} in the frame of the curve, beyond the end of an open curve "
            f"from {curve.points[0]} to {curve.points[-1]}. Draw it on the curve, or extend the curve."
        )
    return np.append(along, 0.0)


def curve_rows(markers: tuple[int, int], number: int, offset: float, slides: bool, in_plane: bool) -> list[Row]:
    """The rows of a place on the curve with this `number`, or of a slider."""
    rows = [Row(CURVE, markers, offset=offset, curve=number)]
    if in_plane or slides:
        rows.append(Row(TRANSLATION, markers, (2, 0)))
    if slides:
        rows += [Row(DOT, markers, (0, 2)), Row(DOT, markers, (1, 2)), Row(ALONG, markers, curve=number)]
    return rows

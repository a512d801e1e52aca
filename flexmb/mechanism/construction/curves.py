"""Places and sliders on curves of a mechanism under construction."""

from numpy.typing import ArrayLike

from flexmb.errors import JointError
from flexmb.mechanism.attachments import Attachment, direction, number
from flexmb.mechanism.construction.rolling import WithRolling
from flexmb.mechanism.curves.plane import Curve
from flexmb.mechanism.curves.rows import curve_rows, require_curve, tangent_at
from flexmb.spatial.lie import frame_with_axis, parallel


class WithCurves(WithRolling):
    """Joints on curves; see `System`."""

    def point_on_curve(
        self,
        name: str,
        a: Attachment,
        b: Attachment,
        curve: Curve,
        *,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        x: ArrayLike = (1.0, 0.0, 0.0),
        offset: float = 0.0,
        in_plane: bool = True,
    ) -> None:
        """Let the place `b` follow a curve that is fixed to the body of `a`: a pin in a slot, a roller on a cam.

        - `curve`: `flexmb.curves.through(points)` or `of_functions`, in the plane with this `normal`; `a` is its
          origin, and `x` the world direction of its first coordinate, both in the initial configuration.
        - `offset`: distance of the place from the curve, positive on its left: the radius of a roller whose rim follows
          the profile.
        - `in_plane`: also keep the place in the plane; False if other joints do, as in a plane mechanism.

        The curve holds to both sides; check the sign of the force across it where a cam only pushes. The end of an open
        curve must not be reached.

        Raises `CurveError` when the place is drawn beyond an end, or the roller does not fit into the curve, and
        `JointError` when `x` is along the normal; `simulate` raises `CurveError` when the place leaves the end.
        """
        self._on_curve("point-on-curve", name, a, b, curve, normal, x, offset, in_plane)

    def slider_on_curve(
        self,
        name: str,
        a: Attachment,
        b: Attachment,
        curve: Curve,
        *,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        x: ArrayLike = (1.0, 0.0, 0.0),
    ) -> None:
        """Let a body slide along a curve and turn with its tangent, as a carriage on a bent rail; see
        `point_on_curve`. Its direction relative to the tangent is that drawn."""
        self._on_curve("slider-on-curve", name, a, b, curve, normal, x, 0.0, True)

    def _on_curve(
        self,
        kind: str,
        name: str,
        a: Attachment,
        b: Attachment,
        curve: Curve,
        normal: ArrayLike,
        x: ArrayLike,
        offset: float,
        in_plane: bool,
    ) -> None:
        if not (isinstance(a, Attachment) and isinstance(b, Attachment)):
            raise JointError(f"Joint {name!r} needs two places, such as body['interface'] or body.at(point).")
        require_curve(name, curve, number(offset, f"Joint {name!r}: offset"))
        up, ahead = (direction(v, f"Joint {name!r}, {what}", JointError) for v, what in ((normal, "normal"), (x, "x")))
        if parallel(up, ahead):
            raise JointError(
                f"Joint {name!r}: x is the direction of the first coordinate of the curve, across its normal; found "
                f"x={tuple(ahead.tolist())} along normal={tuple(up.tolist())}. Give another direction x=."
            )
        axes = frame_with_axis(up, ahead)
        along = axes @ tangent_at(name, curve, axes.T @ (self._world(b) - self._world(a)))
        slides = kind == "slider-on-curve"
        pair = self._pair(name, a, b, None, axes, frame_with_axis(axes[:, 2], along) if slides else None)
        self._curves.append(curve)
        self._joints[name] = (kind, pair, curve_rows(pair, len(self._curves) - 1, float(offset), slides, in_plane))

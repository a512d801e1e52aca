"""Rolling wheels and knife edges of a mechanism under construction."""

import numpy as np
from numpy.typing import ArrayLike

from flexmb.errors import JointError
from flexmb.kernels.base.data import HEIGHT, SKATE, SLIP
from flexmb.mechanism.attachments import Attachment, BodyHandle, direction, number, vector
from flexmb.mechanism.construction.joints import WithJoints
from flexmb.mechanism.mechanism import Row
from flexmb.spatial.lie import frame_with_axis, parallel

FLAT = 1e-6
"""Sine of the angle between the axis of a wheel and the normal of its plane below which it lies flat."""


class WithRolling(WithJoints):
    """Joints that restrict velocities: rolling wheels and knife edges."""

    def rolling(
        self,
        name: str,
        plane: Attachment | BodyHandle,
        wheel: Attachment | BodyHandle,
        *,
        radius: float,
        axis: ArrayLike | None = None,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        at: ArrayLike | None = None,
    ) -> None:
        """Let a thin wheel, or a ball, roll without slip on a plane: its height follows from its attitude, and the
        point of contact is at rest on the plane.

        - `plane`: a place in the plane, or its body; `wheel`: the centre of the wheel, or its body with `at`.
        - `axis` (3,): the axis of the wheel; without one it is a ball. `normal` (3,): that of the plane, on the side of
          the wheel. Both are world directions in the initial configuration, fixed in their bodies.
        - `at` (3,): the centre of the wheel in the world, if `wheel` is a body.

        The contact also pulls: check that the force along the normal, `Result.reaction`, is not negative. The reaction
        is that at the centre of the wheel, its moment included. The two equations for velocities restrict no position:
        periodic motions, inverse dynamics and the energy-momentum scheme refuse the joint by name.

        Raises `JointError` when the radius is not positive, a direction is zero, or the wheel is drawn flat on the
        plane.
        """
        if not number(radius, f"Joint {name!r}: radius") > 0:
            raise JointError(f"Joint {name!r}: the radius must be positive; found {radius!r}.")
        up = frame_with_axis(direction(normal, f"Joint {name!r}, normal", JointError))
        own = up if axis is None else frame_with_axis(direction(axis, f"Joint {name!r}, axis", JointError))
        reach = 1.0 if axis is None else float(np.linalg.norm(np.cross(own[:, 2], up[:, 2])))
        if reach < FLAT:
            raise JointError(
                f"Joint {name!r}: the wheel is drawn flat on the plane, with its axis along the normal {normal!r}, so "
                "that no point of its rim is the contact. Draw it upright or inclined."
            )
        if isinstance(plane, BodyHandle) and (at is not None or isinstance(wheel, Attachment)):
            centre = self._world(wheel) if isinstance(wheel, Attachment) else vector(at, f"{name!r}, at")  # type: ignore[arg-type]
            below = centre - radius * reach * up[:, 2]
            plane = Attachment(plane.index, plane.attitude.T @ (below - plane.position))
        pair = self._pair(name, plane, wheel, at, up, own)
        shape = 1 if axis is None else 0
        rows = [Row(HEIGHT, pair, (2, shape), offset=float(radius))]
        rows += [Row(SLIP, pair, (i, shape), offset=float(radius)) for i in (0, 1)]
        self._joints[name] = ("rolling", pair, rows)

    def knife_edge(
        self,
        name: str,
        plane: Attachment | BodyHandle,
        edge: Attachment | BodyHandle,
        *,
        heading: ArrayLike,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        at: ArrayLike | None = None,
    ) -> None:
        """Let a place on `edge` move along `heading` only, a direction fixed in that body, as a skate or a rear axle
        does: its velocity across the blade is zero, along the direction that is perpendicular to `heading` and `normal`
        as drawn and fixed in that body.

        This is one equation for velocities; add `planar` or `in_plane` to keep the edge in the plane. See `rolling`.

        Raises `JointError` when the heading is along the normal, or one of both is zero.
        """
        up, ahead = (
            direction(x, f"Joint {name!r}, {what}", JointError)
            for x, what in ((normal, "normal"), (heading, "heading"))
        )
        if parallel(up, ahead):
            raise JointError(f"Joint {name!r}: the heading {heading!r} is along the normal {normal!r}.")
        pair = self._pair(name, plane, edge, at, frame_with_axis(up, ahead))
        self._joints[name] = ("knife-edge", pair, [Row(SKATE, pair, (0, 1))])

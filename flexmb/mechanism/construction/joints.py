"""Joints of a mechanism under construction, drivers and initial speeds."""

import numpy as np
from numpy.typing import ArrayLike

from fem.elsewhere import called
from fem.errors import unknown_name
from fem.renamed import renamed
from flexmb.errors import JointError
from flexmb.kernels.base.data import ANGLE, DISTANCE, DOT, TRANSLATION
from flexmb.kernels.equations.rows import MOST_TILTED
from flexmb.mechanism.attachments import Attachment, BodyHandle, direction, number
from flexmb.mechanism.construction.bodies import COINCIDENT, WithBodies
from flexmb.mechanism.joints import joint_dof, joint_kind
from flexmb.mechanism.mechanism import Row, driver_row
from flexmb.mechanism.time_functions import TimeFunction, require_driver
from flexmb.spatial.lie import frame_with_axis, rotation_exp

SAME_SPEED = 1e-9
"""Relative difference of two speeds of one coordinate that counts as rounding."""


class WithJoints(WithBodies):
    """Joints between two places, and the motion that is given in them."""

    def joint(
        self,
        kind: str,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        second_axis: ArrayLike | None = None,
        at: ArrayLike | None = None,
    ) -> None:
        """Add a joint of the given `kind` (see `flexmb.mechanism.joints.JOINTS`) between two places.

        - `axis` (3,): world direction of the axis of the joint, the z axis of its markers. The universal joint, and
          every kind with a second axis, has `axis` fixed in body `a` (the x axis of its markers) and the perpendicular
          `second_axis` (3,) (their y axis) fixed in body `b`. A constant-velocity joint has a shaft along `axis` in
          body `a` and one along `second_axis` (default: the same direction) in body `b`.
        - `at` (3,): world point for bodies without a point; refused where both places have one.

        Raises `JointError` when the kind is unknown, an axis has no direction, two axes are not perpendicular, or the
        shafts of a constant-velocity joint have opposite directions.
        """
        record = joint_kind(kind)
        first = direction(axis, f"Joint {name!r}, axis", JointError)
        if second_axis is not None and not (record.second_axis or record.bends):
            raise JointError(f"Joint {name!r}: a {kind} joint has no second_axis.")
        if record.second_axis:
            other = direction(
                second_axis if second_axis is not None else frame_with_axis(first)[:, 0],
                f"Joint {name!r}, second_axis",
                JointError,
            )
            if abs(first @ other) > 1e-6 * np.linalg.norm(first) * np.linalg.norm(other):
                raise JointError(
                    f"Joint {name!r}: the axes of a {kind} joint must be perpendicular; found {axis!r} and "
                    f"{second_axis!r}."
                )
            axes = frame_with_axis(np.cross(first, other), first)  # x: axis of a, y: axis of b
        else:
            axes = frame_with_axis(first)
        bent = axes if second_axis is None or record.second_axis else self._bent(name, axes, second_axis)
        pair = self._pair(name, a, b, at, axes, bent)
        sorts = {"translation": TRANSLATION, "dot": DOT, "twist": ANGLE}
        made = [Row(sorts[row[0]], pair, ((*row[1:], 0, 0)[0], (*row[1:], 0, 0)[1])) for row in record.equations]
        self._joints[name] = (kind, pair, made)

    def _bent(self, name: str, axes: np.ndarray, second_axis: ArrayLike) -> np.ndarray:
        """The `axes` (3, 3) of a shaft after the shortest rotation that takes their z axis to `second_axis` (3,)."""
        second = direction(second_axis, f"Joint {name!r}, second_axis", JointError)
        size = float(np.linalg.norm(second))
        across, cosine = np.cross(axes[:, 2], second / size), float(axes[:, 2] @ second) / size
        if cosine < MOST_TILTED:
            raise JointError(
                f"Joint {name!r}: its shafts have nearly opposite directions, {axes[:, 2]} and {second_axis!r}, about "
                "which a joint cannot transmit a rotation. Let both point the same way along the drive."
            )
        sine = float(np.linalg.norm(across))
        return rotation_exp(across * (np.arctan2(sine, cosine) / sine if sine > 0 else 1.0)) @ axes

    def fixed(
        self, name: str, a: Attachment | BodyHandle, b: Attachment | BodyHandle, *, at: ArrayLike | None = None
    ) -> None:
        """Add a weld: two places keep their initial relative attitude."""
        self.joint("fixed", name, a, b, at=at)

    def revolute(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        axis: ArrayLike,
        at: ArrayLike | None = None,
    ) -> None:
        """Add a hinge about `axis`; see `joint`."""
        self.joint("revolute", name, a, b, axis=axis, at=at)

    def prismatic(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        axis: ArrayLike,
        at: ArrayLike | None = None,
    ) -> None:
        """Add a slider along `axis`, without rotation; see `joint`.

        Its coordinate is the displacement of the place on `b` from that on `a`, zero where they coincide.
        """
        self.joint("prismatic", name, a, b, axis=axis, at=at)

    def cylindrical(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        axis: ArrayLike,
        at: ArrayLike | None = None,
    ) -> None:
        """Add a joint that slides along `axis` and rotates about it; see `joint`.

        Its coordinates are the angle, zero in the initial configuration, and the displacement of the place on `b` from
        that on `a`, zero where they coincide.
        """
        self.joint("cylindrical", name, a, b, axis=axis, at=at)

    def spherical(
        self, name: str, a: Attachment | BodyHandle, b: Attachment | BodyHandle, *, at: ArrayLike | None = None
    ) -> None:
        """Add a ball joint; see `joint`."""
        self.joint("spherical", name, a, b, at=at)

    def universal(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        axis: ArrayLike,
        second_axis: ArrayLike,
        at: ArrayLike | None = None,
    ) -> None:
        """Add a Cardan joint, with `axis` fixed in `a` and `second_axis` fixed in `b`; see `joint`."""
        self.joint("universal", name, a, b, axis=axis, second_axis=second_axis, at=at)

    @called(axis="normal=")
    def planar(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        normal: ArrayLike,
        at: ArrayLike | None = None,
    ) -> None:
        """Add a joint that keeps `b` in the plane through `a` with the given `normal`; see `joint`."""
        self.joint("planar", name, a, b, axis=normal, at=at)

    def in_line(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        axis: ArrayLike,
        at: ArrayLike | None = None,
    ) -> None:
        """Add a joint that keeps the place on `b` on the line through that on `a` along `axis`, fixed in `a`, and
        leaves all rotations free; see `joint`. Its coordinate is the displacement along the line from the place on
        `a`."""
        self.joint("point-on-line", name, a, b, axis=axis, at=at)

    @called(axis="normal=")
    def in_plane(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        normal: ArrayLike,
        at: ArrayLike | None = None,
    ) -> None:
        """Add a joint that keeps the place on `b` in the plane through that on `a` with the `normal`, fixed in `a`, and
        leaves all rotations free; see `joint`."""
        self.joint("point-on-plane", name, a, b, axis=normal, at=at)

    def constant_velocity(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        axis: ArrayLike,
        second_axis: ArrayLike | None = None,
        at: ArrayLike | None = None,
    ) -> None:
        """Add a homokinetic joint between the shafts `a`, along `axis`, and `b`, along `second_axis` (default: the same
        direction), whose speeds about their axes are equal at any angle between them.

        Their angle must stay below half a turn less 0.1 rad. The moment that the joint transmits is along the bisector
        of the shafts. See `joint`.
        """
        self.joint("constant-velocity", name, a, b, axis=axis, second_axis=second_axis, at=at)

    def distance(self, name: str, a: Attachment, b: Attachment, *, length: float | TimeFunction | None = None) -> None:
        """Add a rod without mass, hinged to two places by ball joints: it keeps their distance at `length`, by default
        that of the initial configuration, or lets it follow a function of time, as a hydraulic cylinder does.

        Its reaction is a force along the rod. A length other than that drawn moves the bodies in the assembly.

        Raises `JointError` when the places coincide, since the rod then has no direction, or the length is not
        positive.
        """
        if not (isinstance(a, Attachment) and isinstance(b, Attachment)):
            raise JointError(f"Joint {name!r} needs two places, such as body['interface'] or body.at(point).")
        line = self._world(b) - self._world(a)
        drawn = float(np.linalg.norm(line))
        if drawn <= COINCIDENT * (np.linalg.norm(self._world(a)) + np.linalg.norm(self._world(b))):
            raise JointError(
                f"Joint {name!r}: its places coincide at {self._world(a)}, so that the rod between them has no "
                "direction. Use a spherical joint, or draw the bodies apart."
            )
        motion = length if isinstance(length, TimeFunction) else None
        if motion is not None:
            wanted = float(motion(0.0)[0])
        else:
            wanted = drawn if length is None else number(length, f"Joint {name!r}: length")  # type: ignore[arg-type]
        if not wanted > 0:
            raise JointError(f"Joint {name!r}: the length of the rod must be positive; found {wanted:g}.")
        function = self._checked(f"length of {name!r}", motion)
        pair = self._pair(name, a, b, None, frame_with_axis(line))
        self._joints[name] = ("distance", pair, [Row(DISTANCE, pair, function=function, offset=wanted)])

    def prescribe(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        x: TimeFunction | None = None,
        y: TimeFunction | None = None,
        z: TimeFunction | None = None,
        rotation: TimeFunction | None = None,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        at: ArrayLike | None = None,
    ) -> None:
        """Prescribe the motion of `b` relative to `a`: translations along the axes of `a` and a rotation about `axis`.

        Components without a function are zero. The axes x, y, z are those of `frame_with_axis(axis)`; for the default
        axis they are the world axes of the initial configuration.

        Raises `JointError` when `axis` has no direction.
        """
        pair = self._pair(name, a, b, at, frame_with_axis(direction(axis, f"Joint {name!r}, axis", JointError)))
        rows = [
            Row(TRANSLATION, pair, (i, 0), self._checked(f"motion of {name!r}", f)) for i, f in enumerate((x, y, z))
        ]
        rows += [
            Row(DOT, pair, (0, 2)),
            Row(DOT, pair, (1, 2)),
            Row(ANGLE, pair, (0, 0), self._checked(f"motion of {name!r}", rotation)),
        ]
        self._joints[name] = ("prescribed", pair, rows)

    def _free_axis(self, joint: str, dof: str | None) -> tuple[str, tuple[int, int], str]:
        """Kind and markers of a joint, and the free motion that `dof` selects (default: the first)."""
        if not isinstance(joint, str):
            raise JointError(
                f"Drivers, motors, speeds and a joint_spring act in a joint: expected the name of a joint, found "
                f"{type(joint).__name__}. Between two places use spring_damper or bushing. Existing: "
                f"{', '.join(map(repr, self._joints)) or 'none'}."
            )
        if joint not in self._joints:
            raise JointError(unknown_name("joint", joint, self._joints))
        kind, pair, _ = self._joints[joint]
        return kind, pair, joint_dof(joint, kind, dof)

    @renamed(along="dof")
    def drive(self, joint: str, motion: TimeFunction, dof: str | None = None) -> None:
        """Prescribe the coordinate of a joint: a continuous angle from the initial configuration, or the displacement
        along the axis of its second place from the first, zero where both places coincide.

        If the motion does not start where the joint is drawn, the mechanism is assembled at its initial value: it is
        moved there by the shortest way, in small steps, so that closed loops stay on their branch. An `AssemblyWarning`
        says so for a displacement that is not zero as drawn.

        `dof`: "rotation" or "translation"; the default is the first that the joint has.

        Raises `JointError` when the joint or its motion does not exist, or has a driver or another speed (`set_speed`)
        already; `MotionError` when the derivatives of the function of time contradict it.
        """
        _, pair, dof = self._free_axis(joint, dof)
        require_driver(motion, f"driver of {joint!r}")
        row = driver_row(pair, dof, self._checked(f"driver of {joint!r}", motion))
        if any((r.kind, r.axes, r.function >= 0) == (row.kind, row.axes, True) for r in self._joints[joint][2]):
            raise JointError(
                f"Joint {joint!r}: its {dof} has a driver already, and two motions of one coordinate contradict each "
                "other. Give one function of time, their sum for instance."
            )
        self._require_one_speed(joint, row, float(self._functions[row.function].over(np.zeros(1))[0, 1]), "a driver")
        self._joints[joint][2].append(row)

    def _require_one_speed(self, joint: str, row: Row, speed: float, what: str) -> None:
        """Refuse a `speed` at the start of the motion of a joint (`row`) that contradicts an earlier one."""
        speeds = [(value, "set_speed") for start, value in self._start_rows if _same_motion(start, row)]
        for own in self._joints[joint][2]:
            if own.function >= 0 and _same_motion(own, row):
                rate = float(self._functions[own.function].over(np.zeros(1))[0, 1])
                speeds.append((rate, f"the driver ({self._functions[own.function].description})"))
        for other, whose in speeds:
            if abs(speed - other) > SAME_SPEED * max(abs(speed), abs(other)):
                dof = "rotation" if row.kind == ANGLE else "translation"
                raise JointError(
                    f"Joint {joint!r}: {what} starts its {dof} at the speed {speed:.6g}, and {whose} at {other:.6g}: "
                    "one coordinate has one speed. Leave one of them out; a driver needs no set_speed."
                )

    @renamed(along="dof")
    def set_speed(self, joint: str, speed: float, dof: str | None = None) -> None:
        """Set the initial speed of the free motion of a joint; the other velocities follow from the constraints.

        `dof`: "rotation" or "translation"; the default is the first that the joint has.

        Raises `JointError` when the joint or its motion does not exist, or has another speed already, that of its
        driver for instance.
        """
        _, pair, dof = self._free_axis(joint, dof)
        row, value = driver_row(pair, dof), number(speed, f"Joint {joint!r}: the speed")
        self._require_one_speed(joint, row, value, "set_speed")
        self._start_rows.append((row, value))


def _same_motion(a: Row, b: Row) -> bool:
    return (a.kind, a.markers, a.axes) == (b.kind, b.markers, b.axes)

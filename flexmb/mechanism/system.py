"""`System`: the builder of a mechanism.

All positions, orientations, points and axes are given in world coordinates of the initial configuration. `build()`
returns an immutable `Mechanism`.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fem.errors import unknown_name
from fem.renamed import renamed
from fem.shown import shown
from flexmb.bodies.body import Body
from flexmb.errors import JointError, MechanismError, PreloadWarning
from flexmb.forces.scalar.one_sided import cable
from flexmb.kernels.base.data import (
    ANGLE,
    DISTANCE,
    DOT,
    GROUND,
    HEIGHT,
    SKATE,
    SLIP,
    SPIN,
    TILT,
    TRANSLATION,
)
from flexmb.kernels.equations.rows import MOST_TILTED
from flexmb.mechanism.attachments import Attachment, BodyHandle, non_negative, number, rotation_matrix, vector
from flexmb.mechanism.curves.plane import Curve
from flexmb.mechanism.curves.rows import curve_rows, require_curve, tangent_at
from flexmb.mechanism.force_law import ForceLaw
from flexmb.mechanism.frame_law import BoundLaw, FrameLaw, FrameLawCall
from flexmb.mechanism.joints import JOINTS, joint_dof, joint_kind
from flexmb.mechanism.mechanism import FrameForce, Joint, JointFriction, Load, Marker, Mechanism, Row, driver_row
from flexmb.mechanism.relations.elastic import belt_factors, belt_law, cable_row
from flexmb.mechanism.relations.linear import Coordinate, relation_row, require_independent
from flexmb.mechanism.state import State
from flexmb.mechanism.time_functions import TimeFunction, check_derivatives, constant, require_time_function
from flexmb.spatial.lie import frame_with_axis, quaternion_from_rotation, rotation_exp
from flexmb.units import require_units

Effort = Callable[[float, float, float], float]
"""`effort(t, x, xdot)`."""
COINCIDENT = 1e-9
"""Distance of two places, relative to their distances from the origin, below which they coincide."""

FLAT = 1e-6
"""Sine of the angle between the axis of a wheel and the normal of its plane below which it lies flat."""


@shown
class System:
    """A mechanism under construction: bodies, joints, drivers, force elements and loads.

        system = flexmb.System(gravity=(0, -9.81, 0))
        crank = system.add(flexmb.uniform_rod("crank", mass=1, length=0.1))
        system.revolute("bearing", system.ground.at((0, 0, 0)), crank, axis=(0, 0, 1))
        system.drive("bearing", flexmb.time_functions.constant_speed(100.0))

    A joint connects two places. A body without a point stands for the place of its partner. `axis` is a direction in
    the world in the initial configuration. `gravity` (3,) is the acceleration of free fall in world axes: (0, 0, -9.81)
    for z upwards, in m and s. Units: consistent; `units`, such as "mm-t-s", "SI" or "in-lbf-s", names those of length,
    mass (or force) and time for tables and plots, and converts nothing.

    Raises `UnitError` when `units` has another form. All methods raise `MechanismError`, or `JointError` for joints,
    when a name is taken or unknown, or a vector is not finite or of a wrong size.
    """

    def __init__(
        self, gravity: ArrayLike = (0.0, 0.0, 0.0), name: str = "mechanism", *, units: str | None = None
    ) -> None:
        self.name = name
        self.units = require_units(units)
        self.gravity = vector(gravity, "gravity")
        self.ground = BodyHandle(GROUND, None)
        self._bodies: list[Body] = []
        self._frames: list[tuple[np.ndarray, np.ndarray]] = []  # world position and attitude
        self._initial: list[tuple[np.ndarray, np.ndarray]] = []  # q and w of each body
        self._markers: list[Marker] = []
        self._joints: dict[str, tuple[str, tuple[int, int], list[Row]]] = {}
        self._forces: dict[str, list[Row]] = {}
        self._loads: dict[str, Load] = {}
        self._functions: list[TimeFunction] = []
        self._start_rows: list[tuple[Row, float]] = []
        self._laws: list[ForceLaw] = []
        self._frame_forces: list[FrameForce] = []
        self._frictions: list[JointFriction] = []
        self._curves: list[Curve] = []

    # bodies ------------------------------------------------------------------------------------------------------

    def add(
        self,
        body: Body,
        *,
        name: str | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (0.0, 0.0, 0.0),
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        eta: ArrayLike | None = None,
    ) -> BodyHandle:
        """Add `body` to the mechanism; returns a handle to which joints attach.

        - `position` (3,): position of the origin of the body frame in the world.
        - `orientation`: rotation vector (3,), quaternion (4,), scalar first, or matrix (3, 3), body to world.
        - `velocity` (3,) of the origin of the body frame and `angular_velocity` (3,), both in world axes.
        - `eta` (m,): initial elastic coordinates (default: undeformed).

        Raises `MechanismError` when the name is taken or a value is not of the shape above.
        """
        name = name or body.name
        if name in [b.name for b in self._bodies]:
            raise MechanismError(f"A body named {name!r} exists already; give this one another name=.")
        what = f"Body {name!r}"
        r = vector(position, f"{what}, position")
        R = rotation_matrix(orientation, f"{what}, orientation")
        v = R.T @ vector(velocity, f"{what}, velocity")
        omega = R.T @ vector(angular_velocity, f"{what}, angular_velocity")
        elastic = np.zeros(body.modes) if eta is None else vector(eta, f"{what}, eta", body.modes)
        body = replace(body, name=name)
        self._bodies.append(body)
        self._frames.append((r, R))
        self._initial.append(
            (
                np.concatenate([r, quaternion_from_rotation(R), elastic]),
                np.concatenate([v, omega, np.zeros(body.modes)]),
            )
        )
        return BodyHandle(len(self._bodies) - 1, body, r, R)

    def _world(self, place: Attachment) -> np.ndarray:
        if place.body == GROUND:
            return place.point
        r, R = self._frames[place.body]
        return r + R @ place.point

    def _places(
        self, name: str, a: Attachment | BodyHandle, b: Attachment | BodyHandle, at: ArrayLike | None
    ) -> tuple[Attachment, Attachment]:
        """Both places of a joint; for a body without a point they are at `at`, or at the place of its partner."""
        point = None if at is None else vector(at, f"{name!r}, at")
        for place in (a, b):
            if point is None and isinstance(place, Attachment):
                point = self._world(place)
        if point is None:
            raise MechanismError(
                f"{name!r}: two bodies do not define a point. Give at=(x, y, z) in the world, or a place such as "
                "body['interface'] or body.at(point)."
            )

        def resolve(x: Attachment | BodyHandle) -> Attachment:
            if isinstance(x, Attachment):
                return x
            if not isinstance(x, BodyHandle):
                raise MechanismError(f"{name!r}: expected a body or a place of one, found {type(x).__name__} {x!r}.")
            if x.body is None:
                return Attachment(GROUND, point)
            r, R = self._frames[x.index]
            return x.at(R.T @ (point - r))

        a, b = resolve(a), resolve(b)
        if a.body == b.body:
            raise JointError(
                f"{name!r} connects {'the ground' if a.body == GROUND else repr(self._bodies[a.body].name)} to itself."
            )
        return a, b

    def _marker(self, name: str, place: Attachment, world_axes: np.ndarray) -> int:
        if place.body == GROUND:
            self._markers.append(Marker(name, GROUND, place.point, world_axes))
        else:
            R = self._frames[place.body][1]
            self._markers.append(Marker(name, place.body, place.point, R.T @ world_axes, place.interface))
        return len(self._markers) - 1

    def _require_free(self, name: str) -> None:
        """Raises `MechanismError` when a joint, force element or load has this name."""
        if name in {*self._joints, *self._forces, *self._loads}:
            raise MechanismError(f"The name {name!r} is taken already by another joint, force element or load.")

    def _pair(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        at: ArrayLike | None,
        axes: np.ndarray,
        axes_of_b: np.ndarray | None = None,
    ) -> tuple[int, int]:
        """The markers of a joint or force, both with the same world axes unless `b` has its own."""
        self._require_free(name)
        first, second = self._places(name, a, b, at)
        return (
            self._marker(f"{name}.a", first, axes),
            self._marker(f"{name}.b", second, axes if axes_of_b is None else axes_of_b),
        )

    def _function(self, motion: TimeFunction | float | None, what: str) -> int:
        if motion is None:
            return -1
        made = constant(float(motion)) if isinstance(motion, float | int) else motion
        require_time_function(made, what)
        self._functions.append(made)
        return len(self._functions) - 1

    # joints ------------------------------------------------------------------------------------------------------

    def _law(self, name: str, effort: Effort) -> int:
        if not callable(effort):
            raise MechanismError(
                f"The law of {name!r} must be a function effort(t, x, xdot), a motion or a number; found "
                f"{type(effort).__name__}."
            )
        self._laws.append(ForceLaw(effort, name))
        return len(self._laws) - 1

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
        - `at` (3,): world point for bodies without a point.

        Raises `JointError` when the kind is unknown, an axis has no direction, two axes are not perpendicular, or the
        shafts of a constant-velocity joint have opposite directions.
        """
        record = joint_kind(kind)
        direction = vector(axis, f"Joint {name!r}, axis")
        if not np.linalg.norm(direction) > 0:
            raise JointError(f"Joint {name!r}: the axis has no direction, found {axis!r}.")
        if second_axis is not None and not (record.second_axis or record.bends):
            raise JointError(f"Joint {name!r}: a {kind} joint has no second_axis.")
        if record.second_axis:
            other = vector(
                second_axis if second_axis is not None else frame_with_axis(direction)[:, 0],
                f"Joint {name!r}, second_axis",
            )
            if abs(direction @ other) > 1e-6 * np.linalg.norm(direction) * np.linalg.norm(other):
                raise JointError(
                    f"Joint {name!r}: the axes of a {kind} joint must be perpendicular; found {axis!r} and "
                    f"{second_axis!r}."
                )
            axes = frame_with_axis(np.cross(direction, other), direction)  # x: axis of a, y: axis of b
        else:
            axes = frame_with_axis(direction)
        bent = axes if second_axis is None or record.second_axis else self._bent(name, axes, second_axis)
        pair = self._pair(name, a, b, at, axes, bent)
        sorts = {"translation": TRANSLATION, "dot": DOT, "twist": ANGLE}
        made = [Row(sorts[row[0]], pair, ((*row[1:], 0, 0)[0], (*row[1:], 0, 0)[1])) for row in record.equations]
        self._joints[name] = (kind, pair, made)

    def _bent(self, name: str, axes: np.ndarray, second_axis: ArrayLike) -> np.ndarray:
        """The `axes` (3, 3) of a shaft after the shortest rotation that takes their z axis to `second_axis` (3,)."""
        second = vector(second_axis, f"Joint {name!r}, second_axis")
        size = float(np.linalg.norm(second))
        if not size > 0:
            raise JointError(f"Joint {name!r}: the second_axis has no direction, found {second_axis!r}.")
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
        """Add a slider along `axis`, without rotation; see `joint`."""
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
        """Add a joint that slides along `axis` and rotates about it; see `joint`."""
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
        leaves all rotations free; see `joint`. Its coordinate is the displacement along the line."""
        self.joint("point-on-line", name, a, b, axis=axis, at=at)

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
        analyses of small motions, the adjoint and the energy-momentum scheme refuse the joint by name.

        Raises `JointError` when the radius is not positive, or the wheel is drawn flat on the plane.
        """
        if not number(radius, f"Joint {name!r}: radius") > 0:
            raise JointError(f"Joint {name!r}: the radius must be positive; found {radius!r}.")
        up = frame_with_axis(vector(normal, f"Joint {name!r}, normal"))
        own = up if axis is None else frame_with_axis(vector(axis, f"Joint {name!r}, axis"))
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
        does: its velocity across, perpendicular to `heading` and `normal`, is zero.

        This is one equation for velocities; add `planar` or `in_plane` to keep the edge in the plane. See `rolling`.

        Raises `JointError` when the heading is along the normal.
        """
        up, ahead = (vector(x, f"Joint {name!r}, {what}") for x, what in ((normal, "normal"), (heading, "heading")))
        if not np.linalg.norm(np.cross(up, ahead)) > FLAT * np.linalg.norm(up) * np.linalg.norm(ahead):
            raise JointError(f"Joint {name!r}: the heading {heading!r} is along the normal {normal!r}.")
        pair = self._pair(name, plane, edge, at, frame_with_axis(up, ahead))
        self._joints[name] = ("knife-edge", pair, [Row(SKATE, pair, (0, 1))])

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

        Raises `CurveError` when the place is drawn beyond an end, or the roller does not fit into the curve; `simulate`
        raises it when the place leaves the end.
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
        axes = frame_with_axis(vector(normal, f"Joint {name!r}, normal"), vector(x, f"Joint {name!r}, x"))
        along = axes @ tangent_at(name, curve, axes.T @ (self._world(b) - self._world(a)))
        slides = kind == "slider-on-curve"
        pair = self._pair(name, a, b, None, axes, frame_with_axis(axes[:, 2], along) if slides else None)
        self._curves.append(curve)
        self._joints[name] = (kind, pair, curve_rows(pair, len(self._curves) - 1, float(offset), slides, in_plane))

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
        """
        pair = self._pair(name, a, b, at, frame_with_axis(vector(axis, f"Joint {name!r}, axis")))
        rows = [
            Row(TRANSLATION, pair, (i, 0), self._checked(f"motion of {name!r}", f)) for i, f in enumerate((x, y, z))
        ]
        rows += [
            Row(DOT, pair, (0, 2)),
            Row(DOT, pair, (1, 2)),
            Row(ANGLE, pair, (0, 0), self._checked(f"motion of {name!r}", rotation)),
        ]
        self._joints[name] = ("prescribed", pair, rows)

    def _checked(self, what: str, motion: TimeFunction | None) -> int:
        if motion is not None:
            require_time_function(motion, what)
            check_derivatives(motion)
        return self._function(motion, what)

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

    # relations between joint coordinates ---------------------------------------------------------------------------

    def relation(self, name: str, factors: Mapping[str, float], *, kind: str = "relation") -> None:
        """Add a linear relation between coordinates of joints: the sum of each coordinate times its factor keeps its
        value in the configuration as drawn.

        `factors`: the factors by coordinate: "JOINT", the first free motion of the joint, or "JOINT:rotation" and
        "JOINT:translation". Angles (radians) count all turns; a factor of a displacement is an angle per length if the
        sum is an angle. `kind` names the relation in pictures and messages.

        A relation is a joint with one equation. Its reaction is the wrench on the second body of the joint of the first
        coordinate (`Result.reaction`); `Result.relation_effort` gives the effort on each coordinate.

        Raises `JointError` when a coordinate does not exist or occurs twice, or a factor is zero or not finite, and
        `MechanismError` when the name is taken; `build` raises `JointError` when a relation follows from other
        relations and drivers.
        """
        if not isinstance(factors, Mapping):
            raise JointError(
                f"Relation {name!r}: factors is a dictionary from coordinates of joints to numbers, such as "
                f'{{"pinion": 0.05, "rack": -1.0}}; found {type(factors).__name__}.'
            )
        row = relation_row(name, [(self._coordinate(text), factor) for text, factor in factors.items()])
        self._require_free(name)
        self._joints[name] = (kind, row.markers, [row])

    def gear(self, name: str, first: str, second: str, *, ratio: float) -> None:
        """Add a gear between two joints: the rate of the angle of the joint `second` is `ratio` times that of `first`.

        For wheels with `z1` and `z2` teeth on parallel axes, `ratio` is `-z1 / z2` outside and `z1 / z2` inside (a ring
        gear). The angles are those of the joints, between their own two bodies; if a joint sits on a moving carrier,
        use `differential`. Friction, play and the elasticity of the teeth are not included. Errors: see `relation`.
        """
        self.relation(name, {f"{first}:rotation": ratio, f"{second}:rotation": -1.0}, kind="gear")

    def rack(self, name: str, pinion: str, rack: str, *, radius: float) -> None:
        """Add a rack and pinion: the displacement of the joint `rack` is `radius` (length) times the angle of `pinion`.

        A negative radius reverses the direction. Errors: see `relation`.
        """
        self.relation(name, {f"{pinion}:rotation": radius, f"{rack}:translation": -1.0}, kind="rack")

    def screw(self, name: str, rotation: str, translation: str | None = None, *, lead: float) -> None:
        """Add a screw: a turn of the joint `rotation` displaces the joint `translation` by `lead` (length).

        `translation` is by default the same joint, which is then cylindrical. A negative lead is that of a left-hand
        thread. Errors: see `relation`.
        """
        slide = f"{rotation if translation is None else translation}:translation"
        self.relation(
            name,
            {f"{rotation}:rotation": number(lead, f"Screw {name!r}: the lead") / (2 * np.pi), slide: -1.0},
            kind="screw",
        )

    def differential(self, name: str, first: str, second: str, carrier: str, *, ratio: float = -1.0) -> None:
        """Add a differential or planetary gear: seen from the carrier, `second` turns `ratio` times as fast as `first`.

        `first`, `second` and `carrier` are joints with parallel axes whose first body is the same, such as the housing:
        `angle_2 - angle_c = ratio (angle_1 - angle_c)`. The ratio of a bevel differential is -1, that of a planetary
        gear with sun `first` and ring `second` is `-z_sun / z_ring`. The planets are not bodies; their inertia is that
        of the carrier. Errors: see `relation`; a ratio of one, which would not contain the carrier, is refused.
        """
        ratio = number(ratio, f"Differential {name!r}: the ratio")
        factors = {f"{first}:rotation": ratio, f"{second}:rotation": -1.0, f"{carrier}:rotation": 1.0 - ratio}
        self.relation(name, factors, kind="differential")

    def _coordinate(self, text: str) -> Coordinate:
        """The coordinate "JOINT", "JOINT:rotation" or "JOINT:translation"."""
        joint, _, dof = text.rpartition(":") if isinstance(text, str) else (text, "", "")
        chosen = (joint, dof) if text not in self._joints and dof in ("rotation", "translation") else (text, None)
        _, pair, dof = self._free_axis(*chosen)
        a, b = (self._markers[k] for k in pair)
        between = self._world(Attachment(b.body, b.point)) - self._world(Attachment(a.body, a.point))
        axes = a.axes if a.body == GROUND else self._frames[a.body][1] @ a.axes
        return Coordinate(chosen[0], dof, pair, 0.0 if dof == "rotation" else float(axes[:, 2] @ between))

    @renamed(along="dof")
    def drive(self, joint: str, motion: TimeFunction, dof: str | None = None) -> None:
        """Prescribe the free motion of a joint: a continuous angle or a displacement from the initial configuration.

        If the motion does not start at zero, the mechanism is assembled at its initial value: it is moved there by the
        shortest way, in small steps, so that closed loops stay on their branch.

        `dof`: "rotation" or "translation"; the default is the first that the joint has.

        Raises `JointError` when the joint or its motion does not exist; `MotionError` when the derivatives of the
        function of time contradict it.
        """
        _, pair, dof = self._free_axis(joint, dof)
        row = driver_row(pair, dof, self._checked(f"driver of {joint!r}", motion))
        self._joints[joint][2].append(row)

    @renamed(along="dof")
    def set_speed(self, joint: str, speed: float, dof: str | None = None) -> None:
        """Set the initial speed of the free motion of a joint; the other velocities follow from the constraints.

        `dof`: "rotation" or "translation"; the default is the first that the joint has.
        """
        _, pair, dof = self._free_axis(joint, dof)
        self._start_rows.append(
            (
                Row(ANGLE, pair) if dof == "rotation" else Row(TRANSLATION, pair, (2, 0)),
                number(speed, f"Joint {joint!r}: the speed"),
            )
        )

    # force elements and loads ------------------------------------------------------------------------------------

    def spring_damper(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        length: float | None = None,
        law: Effort | None = None,
    ) -> None:
        """Add a spring and damper along the line between two places.

        - `length`: free length (default: the initial distance).
        - `law(t, stretch, rate)`: an additional force, positive if it pushes the ends apart: `flexmb.expression`,
          `flexmb.table`, a law of `flexmb.forces`, or a function, in Python or compiled with `numba.njit` (see
          `flexmb.mechanism.force_law.ForceLaw`). The stretch is the distance minus `length`.

        Raises `MechanismError` when an end is not a place, the ends coincide, or a constant is negative.
        """
        if not (isinstance(a, Attachment) and isinstance(b, Attachment)):
            raise MechanismError(f"Spring {name!r} needs two places, such as body['interface'] or body.at(point).")
        distance = float(np.linalg.norm(self._world(b) - self._world(a)))
        if not distance > 0:
            raise MechanismError(
                f"Spring {name!r}: its ends coincide at {self._world(a)}, so that its direction is undefined. Use a "
                "bushing."
            )
        pair = self._pair(name, a, b, None, np.eye(3))
        self._forces[name] = [
            Row(
                DISTANCE,
                pair,
                stiffness=non_negative(stiffness, name),
                damping=non_negative(damping, name),
                offset=distance if length is None else float(length),
                law=-1 if law is None else self._law(name, law),
            )
        ]

    def cable(
        self,
        name: str,
        places: Sequence[Attachment],
        *,
        stiffness: float,
        damping: float = 0.0,
        length: float | None = None,
    ) -> None:
        """Add a cable that runs from the first of the `places` over the others, small pulleys without friction, to the
        last one. It pulls with one tension in all pieces where it is longer than its free length, and never pushes.

        - `stiffness`, `damping`: force per elongation, and per rate of elongation, of the whole cable.
        - `length`: free length of the whole cable (default: as drawn).

        `Result.effort` is minus the tension, `Result.stretch` the elongation; the energy is stored, the damping heat.

        Raises `MechanismError` when there are fewer than two places, neighbours coincide, or neighbours are on one
        flexible body; all pieces within one body need another body somewhere.
        """
        self._require_free(name)
        markers, drawn, pairs, fixed = [], [], [], 0.0
        for k, place in enumerate(places):
            if not isinstance(place, Attachment):
                raise MechanismError(f"Cable {name!r} runs over places, such as body.at(point); found {place!r}.")
            markers.append(self._marker(f"{name}.{k}", place, np.eye(3)))
        for k, (one, other) in enumerate(pairwise(places)):
            apart = float(np.linalg.norm(self._world(other) - self._world(one)))
            if not apart > 0:
                raise MechanismError(f"Cable {name!r}: its places {k + 1} and {k + 2} coincide at {self._world(one)}.")
            if one.body != other.body:
                pairs.append((markers[k], markers[k + 1]))
                drawn.append(apart)
            elif one.body != GROUND and self._bodies[one.body].modes:
                raise MechanismError(
                    f"Cable {name!r}: its places {k + 1} and {k + 2} are on the flexible body "
                    f"{self._bodies[one.body].name!r}. Let it run over another body between them, or use a spring."
                )
            else:
                fixed += apart
        if not pairs:
            raise MechanismError(f"Cable {name!r} needs at least two places on different bodies; found {len(places)}.")
        law = self._law(name, cable(stiffness, damping=damping))
        self._forces[name] = [cable_row(name, pairs, drawn, fixed, length, law)]

    def belt(
        self,
        name: str,
        first: str,
        second: str,
        *,
        radii: Sequence[float],
        stiffness: float,
        damping: float = 0.0,
        preload: float = 0.0,
        crossed: bool = False,
    ) -> None:
        """Add an elastic belt between the wheels of two joints, without slip.

        - `first`, `second`: revolute joints with parallel axes and axes at rest to each other; `radii` (2,) of their
          wheels.
        - `stiffness`, `damping`: of each strand, per elongation and rate of elongation. `preload`: tension of both
          strands as drawn. A strand pulls and never pushes.
        - `crossed`: the wheels turn against each other.

        `Result.effort` is the moment on the first wheel. The forces on the bearings are not included, as in `gear`.

        Raises `MechanismError` when a number is negative or zero, and `JointError` when a joint has no angle.
        """
        factors = belt_factors(name, first, second, radii, crossed)
        self.elastic_relation(name, factors, law=belt_law(name, radii[0], stiffness, damping, preload))

    def elastic_relation(
        self,
        name: str,
        factors: Mapping[str, float],
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        law: Effort | None = None,
    ) -> None:
        """Add a spring and damper along a sum of joint coordinates: an elastic gear mesh, a gear with play, a coupling.

        `factors` are those of `relation`, which holds such a sum exactly. The coordinate `x` is the sum divided by the
        first factor, beyond its value as drawn; the effort acts on the first coordinate, and on the others times their
        relative factors. `stiffness`, `damping` and `law(t, x, xdot)` are as in `joint_spring`.

        Raises `JointError` as `relation`, and `MechanismError` when a constant is negative.
        """
        row = relation_row(name, [(self._coordinate(text), factor) for text, factor in factors.items()])
        self._require_free(name)
        number_of_law = -1 if law is None else self._law(name, law)
        k, c = non_negative(stiffness, name), non_negative(damping, name)
        self._forces[name] = [replace(row, law=number_of_law, stiffness=k, damping=c)]

    def bushing(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike = (0.0,) * 6,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        at: ArrayLike | None = None,
        free: ArrayLike | Literal["drawn"] | None = None,
    ) -> None:
        """Add six springs and dampers: translations x, y, z and rotations x, y, z in the frame of `a` (z along `axis`).

        `free` (3,): the translation of `b` relative to `a`, in the frame of `a`, at which the springs are relaxed;
        "drawn" is that of the initial configuration. By default they are relaxed where the places coincide; a gap
        between them then preloads the bushing, with a `PreloadWarning`.

        `stiffness` (6,) and `damping` (6,) are in this order. Rotation z is the twist of `b` about its own z axis, a
        continuous angle. Rotations x and y are the components, in the axes of `a`, of the tilt: the shortest rotation
        that takes the z axis of `a` to that of `b`. Twist and tilt are independent of each other at any size; for small
        rotations the three are the rotations about x, y and z. The z axes must not come within 0.1 rad of opposite
        directions.

        Raises `MechanismError` when a constant is negative.
        """
        k = [non_negative(s, name) for s in vector(stiffness, f"Bushing {name!r}, stiffness", 6)]
        c = [non_negative(s, name) for s in vector(damping, f"Bushing {name!r}, damping", 6)]
        frame = frame_with_axis(vector(axis, f"Bushing {name!r}, axis"))
        pair = self._pair(name, a, b, at, frame)
        offsets = [*self._relaxed(name, pair, frame, k[:3], free), 0.0, 0.0, 0.0]
        self._forces[name] = [
            Row(kind, pair, (i % 3, 0), stiffness=k[i], damping=c[i], offset=offsets[i])
            for i, kind in enumerate((TRANSLATION, TRANSLATION, TRANSLATION, TILT, TILT, ANGLE))
        ]

    def force(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        law: BoundLaw | FrameLaw,
        *,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        at: ArrayLike | None = None,
    ) -> None:
        """Add a force element between two frames: a force and a moment from their relative motion, time and own states.

        `law` is a law of `flexmb.forces` or of the decorator `flexmb.law`, with values of its parameters:
        `law=strut(stiffness=1e5)`. The frames are at the two places, with z along `axis`, a world direction in the
        initial configuration; the law sees `b` from `a` (`flexmb.Relative`), in axes of `a`.

        Raises `LawError` when parameters have no values, and `MechanismError` as all methods.
        """
        if isinstance(law, FrameLaw):
            law = law()
        if not isinstance(law, BoundLaw):
            raise MechanismError(
                f"Force {name!r}: law is a law of flexmb.forces or of the decorator flexmb.law; found "
                f"{type(law).__name__}."
            )
        pair = self._pair(name, a, b, at, frame_with_axis(vector(axis, f"Force {name!r}, axis")))
        self._forces[name] = [Row(kind, pair, (i, 0)) for kind in (TRANSLATION, SPIN) for i in range(3)]
        self._frame_forces.append(FrameForce(name, FrameLawCall(law.law, name), law.parameters, law.initial))

    def _relaxed(
        self, name: str, pair: tuple[int, int], frame: np.ndarray, stiffness: list[float], free: ArrayLike | str | None
    ) -> list[float]:
        """The translation (3) at which a bushing is relaxed; warns of a gap that preloads it."""
        a, b = (self._world(Attachment(m.body, m.point)) for m in (self._markers[k] for k in pair))
        gap = frame.T @ (b - a)
        if isinstance(free, str):
            if free != "drawn":
                raise MechanismError(f'Bushing {name!r}: free is a translation (3,) or "drawn"; found {free!r}.')
            return list(gap)
        if free is not None:
            return list(vector(free, f"Bushing {name!r}, free"))
        force = float(np.linalg.norm(np.array(stiffness) * gap))
        if force > 0 and np.linalg.norm(gap) > COINCIDENT * (np.linalg.norm(a) + np.linalg.norm(b)):
            warnings.warn(
                f"Bushing {name!r} of {self.name!r} is preloaded: its places are drawn with a gap of {gap} in its "
                f"axes, which its springs close with a force of {force:.4g}. If it is relaxed as drawn, write "
                'free="drawn"; if the preload is meant, free=(0, 0, 0).',
                PreloadWarning,
                stacklevel=3,
            )
        return [0.0, 0.0, 0.0]

    @renamed(along="dof")
    def joint_spring(
        self,
        name: str,
        joint: str,
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        free: float = 0.0,
        law: Effort | None = None,
        dof: str | None = None,
    ) -> None:
        """Add a spring and damper in the free motion of a joint, for instance a torsion spring in a hinge.

        - `free`: the coordinate at which the spring is relaxed. `dof` is as in `drive`.
        - `law(t, x, xdot)`: an additional effort on the second body, a function of the coordinate `x` beyond `free` and
          of its rate, as in `spring_damper`.
        """
        self._joint_force(name, joint, dof, stiffness, damping, free, law)

    @renamed(along="dof", drag="damping")
    def motor(
        self,
        name: str,
        joint: str,
        effort: TimeFunction | float | Effort,
        *,
        damping: float = 0.0,
        dof: str | None = None,
    ) -> None:
        """Add a torque about (or a force along) the axis of a joint: `effort - damping * speed`, between its two
        bodies.

        `effort` is a number, a function of time, or a function `effort(t, x, xdot)` of time, joint coordinate (angles
        are continuous) and its rate, such as a controller or a nonlinear spring: `flexmb.expression`, `flexmb.table`, a
        law of `flexmb.forces`, or a function, in Python or compiled with `numba.njit` (see
        `flexmb.mechanism.force_law.ForceLaw`). It must be smooth on the scale of a step. `dof` is as in `drive`.
        """
        self._joint_force(name, joint, dof, 0.0, damping, 0.0, effort)

    def _joint_force(
        self,
        name: str,
        joint: str,
        dof: str | None,
        stiffness: float,
        damping: float,
        free: float,
        effort: TimeFunction | float | Effort | None,
    ) -> None:
        _, pair, dof = self._free_axis(joint, dof)
        self._require_free(name)
        function, law = -1, -1
        if effort is None or isinstance(effort, TimeFunction | float | int):
            function = self._function(effort, f"effort of {name!r}")
        else:
            law = self._law(name, effort)
        kind, axis = (ANGLE, 0) if dof == "rotation" else (TRANSLATION, 2)
        self._forces[name] = [
            Row(
                kind,
                pair,
                (axis, 0),
                function,
                non_negative(stiffness, name),
                non_negative(damping, name),
                number(free, f"{name!r}: free, the coordinate at which it is relaxed,"),
                law,
            )
        ]

    def friction(
        self,
        name: str,
        joint: str,
        coefficient: float,
        *,
        radius: float | None = None,
        axial_radius: float = 0.0,
        span: float | None = None,
        preload: float = 0.0,
        static: float | None = None,
    ) -> None:
        """Add dry friction (Coulomb) to a joint with one free motion: a revolute or a prismatic joint.

        A joint that slides resists with a moment `coefficient (radius |F_r| + axial_radius |F_a|) + preload`, from the
        force of the joint across (r) and along (a) its axis; a prismatic joint with a force `coefficient |F_r| +
        preload`. A joint that sticks transmits up to that effort times `static / coefficient`. Both are exact: nothing
        is regularised, and the instants of sticking and sliding are located.

        - `radius`, `axial_radius`: of the journal and of the mean circle of the thrust face (lengths; revolute joints).
        - `span`: distance of two bearings along the axis that share the radial force and transmit the moment across the
          axis; the sum of the magnitudes of their forces takes the place of `|F_r|`. By default these moments cause no
          friction.
        - `preload`: effort that does not depend on the reaction, for instance of a seal.
        - `static`: coefficient of sticking joints (default: `coefficient`).

        Impacts do not transmit impulses of friction. Raises `MechanismError` when the joint has not exactly one free
        motion, about or along its axis, a value is negative or unknown for this joint, or `static` is below
        `coefficient`.
        """
        kind, pair, dof = self._free_axis(joint, None)
        self._require_free(name)
        if len(JOINTS[kind].free_axes) != 1:
            raise MechanismError(
                f"Friction {name!r}: joint {joint!r} ({kind}) has several free motions, in which the direction of "
                "sliding is not that of an axis. Give friction to a revolute or a prismatic joint."
            )
        if other := [f.name for f in self._frictions if f.joint == joint]:
            raise MechanismError(
                f"Friction {name!r}: joint {joint!r} has the friction {other[0]!r} already; the efforts of two that "
                "stick are not determined. Add the second to the first, as preload= or a larger coefficient."
            )
        turning = dof == "rotation"
        if turning == (radius is None) or (axial_radius and not turning):
            raise MechanismError(
                f"Friction {name!r} of {joint!r} ({kind}): a revolute joint needs the radius of its journal, a "
                f"prismatic joint has none; found radius={radius}, axial_radius={axial_radius}."
            )
        mu = non_negative(coefficient, name)
        arm = non_negative(radius, name) if radius is not None else 1.0
        stick = mu if static is None else non_negative(static, name)
        if stick < mu or (mu == 0 and stick > 0):
            raise MechanismError(
                f"Friction {name!r}: static={stick} must be at least the coefficient of sliding, {mu}, which is "
                "positive if there is a static one."
            )
        if span is not None and not number(span, f"Friction {name!r}: span") > 0:
            raise MechanismError(f"Friction {name!r}: span must be positive; found {span}.")
        factors = (mu * arm, mu * non_negative(axial_radius, name), 1 / span if span else 0.0)
        row = Row(ANGLE, pair) if turning else Row(TRANSLATION, pair, (2, 0))
        self._forces[name] = [row]
        self._frictions.append(
            JointFriction(name, joint, dof, (*factors, non_negative(preload, name)), stick / mu if mu else 1.0)
        )

    @renamed(follows="follower")
    def load(
        self,
        name: str,
        place: Attachment,
        *,
        force: ArrayLike = (0.0, 0.0, 0.0),
        moment: ArrayLike = (0.0, 0.0, 0.0),
        factor: TimeFunction | None = None,
        follower: bool = False,
    ) -> None:
        """Add a force (3,) and a moment (3,) at a place, multiplied by `factor(t)` (default: one).

        They are given in world axes; with `follower=True` they rotate with the body.

        Raises `MechanismError` when the place is not on a body, or the name is taken.
        """
        if not isinstance(place, Attachment) or place.body == GROUND:
            raise MechanismError(f"Load {name!r} needs a place on a body, such as body['interface'] or body.at(point).")
        self._require_free(name)
        function = self._function(factor, f"factor of {name!r}")
        wrench = np.concatenate([vector(force, f"Load {name!r}, force"), vector(moment, f"Load {name!r}, moment")])
        self._loads[name] = Load(name, self._marker(name, place, np.eye(3)), wrench, follower, function)

    # result ------------------------------------------------------------------------------------------------------

    def build(self) -> Mechanism:
        """The mechanism as an immutable record. Every interface of a body has a marker named "body.interface".

        Raises `MechanismError` when the system has no body, and `JointError` when a relation between joints follows
        from other relations and drivers.
        """
        if not self._bodies:
            raise MechanismError("The system has no body. Add one with system.add(body).")
        markers = list(self._markers)
        for index, body in enumerate(self._bodies):
            markers += [
                Marker(f"{body.name}.{key}", index, i.point, np.eye(3), key) for key, i in body.interfaces.items()
            ]
        require_independent({name: own for name, (_, _, own) in self._joints.items()})
        rows: list[Row] = []
        joints = []
        for name, (kind, pair, own) in self._joints.items():
            joints.append(Joint(name, kind, pair, tuple(range(len(rows), len(rows) + len(own)))))
            rows += own
        forces = {}
        for name, own in self._forces.items():
            forces[name] = tuple(range(len(rows), len(rows) + len(own)))
            rows += own
        q, w = (np.concatenate(x) for x in zip(*self._initial, strict=True))
        return Mechanism(
            name=self.name,
            gravity=self.gravity,
            bodies=tuple(self._bodies),
            markers=tuple(markers),
            rows=tuple(rows),
            joints=tuple(joints),
            force_elements=forces,
            loads=tuple(self._loads.values()),
            functions=tuple(self._functions),
            initial=State(0.0, q, w),
            start_rows=tuple(self._start_rows),
            laws=tuple(self._laws),
            frame_forces=tuple(self._frame_forces),
            frictions=tuple(self._frictions),
            curves=tuple(self._curves),
            units=self.units,
        )

    def __str__(self) -> str:
        return (
            f"System {self.name!r}: {len(self._bodies)} bodies, joints {list(self._joints)}, "
            f"force elements {list(self._forces)}, loads {list(self._loads)}"
        )

"""Bodies of a mechanism under construction, and the places on them."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from flexmb.bodies.body import Body
from flexmb.contact.group import ContactGroup
from flexmb.errors import JointError, MechanismError
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.attachments import Attachment, BodyHandle, require_name, rotation_matrix, vector
from flexmb.mechanism.contacts.exact import ExactContact
from flexmb.mechanism.contacts.surface import SurfaceContact
from flexmb.mechanism.curves.plane import Curve
from flexmb.mechanism.force_law import ForceLaw
from flexmb.mechanism.lines.line import Line
from flexmb.mechanism.mechanism import FrameForce, JointFriction, Load, Marker, Row
from flexmb.mechanism.time_functions import (
    TimeFunction,
    check_derivatives,
    constant,
    require_driver,
    require_time_function,
)
from flexmb.spatial.lie import quaternion_from_rotation
from flexmb.units import require_units

COINCIDENT = 1e-9
"""Distance of two places, relative to their distances from the origin, below which they coincide."""


class WithBodies:
    """A mechanism under construction: bodies, the places where others attach to them, and functions of time."""

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
        self._lines: dict[str, Line] = {}
        self._functions: list[TimeFunction] = []
        self._start_rows: list[tuple[Row, float]] = []
        self._laws: list[ForceLaw] = []
        self._frame_forces: list[FrameForce] = []
        self._contact_groups: list[ContactGroup] = []
        self._frictions: list[JointFriction] = []
        self._curves: list[Curve] = []
        self._contacts: dict[str, ExactContact] = {}
        self._shape_markers: dict[tuple[object, ...], int] = {}
        self._surface_contacts: dict[str, SurfaceContact] = {}

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
        if not isinstance(body, Body):
            raise MechanismError(
                "System.add expects a body, such as flexmb.rigid_body(...) or flexmb.flexible_body(...); found "
                f"{type(body).__name__} {body!r}."
            )
        name = body.name if name is None else name
        require_name(name, "body")
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
        """Both places of a joint; for a body without a point they are at `at`, or at the place of its partner.

        Raises `MechanismError` without a point, and for `at` beside two places that have points.
        """
        point = None if at is None else vector(at, f"{name!r}, at")
        if point is not None and isinstance(a, Attachment) and isinstance(b, Attachment):
            raise MechanismError(
                f"{name!r}: both places have points of their own, which at={at!r} does not move. Leave it out, or give "
                "it with a body instead of one of its points. A flexible body is joined at its interfaces, whose "
                "points are those of fem.Interface(nodes, point=(x, y, z))."
            )
        for place in (a, b):
            if point is None and isinstance(place, Attachment):
                point = self._world(place)
        if point is None:
            raise MechanismError(
                f"{name!r}: bodies and the ground alone do not define a point. Give at=(x, y, z) in the world, or a "
                'place: body["interface"] or body.at(point), "body.interface" or "body.point" in a model file.'
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
        """Raises `MechanismError` when this is not a name, or a joint, force element or load has it."""
        require_name(name, "joint, force element or load")
        groups = {group.name for group in self._contact_groups}
        taken = {*self._joints, *self._forces, *self._loads, *self._lines, *groups}
        if name in {*taken, *self._contacts, *self._surface_contacts}:
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

    def _checked(self, what: str, motion: TimeFunction | None) -> int:
        if motion is not None:
            require_driver(motion, what)
            if not motion.formula:  # those with a formula come from this package
                check_derivatives(motion)
        return self._function(motion, what)

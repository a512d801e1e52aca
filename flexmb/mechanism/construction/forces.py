"""Force elements and loads of a mechanism under construction."""

import warnings
from collections.abc import Callable
from inspect import signature
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fem.axes.limits import floats
from fem.elsewhere import called
from fem.renamed import renamed
from flexmb.errors import ExpressionError, MechanismError, PreloadWarning, TableError
from flexmb.kernels.base.data import ANGLE, DISTANCE, GROUND, SPIN, TILT, TRANSLATION
from flexmb.mechanism.attachments import Attachment, BodyHandle, direction, non_negative, number, vector
from flexmb.mechanism.construction.bodies import COINCIDENT
from flexmb.mechanism.construction.relations import WithRelations
from flexmb.mechanism.force_law import ForceLaw
from flexmb.mechanism.frame_law import BoundLaw, FrameLawCall
from flexmb.mechanism.joints import JOINTS
from flexmb.mechanism.mechanism import ALL, FrameForce, JointFriction, Load, Row, free_rows
from flexmb.mechanism.time_functions import TimeFunction
from flexmb.spatial.lie import frame_with_axis
from flexmb.units import named

Effort = Callable[[float, float, float], float]
"""`effort(t, x, xdot)`."""


class WithForces(WithRelations):
    """Springs, bushings, motors, friction and loads."""

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
                offset=distance if length is None else number(length, f"Spring {name!r}: length"),
                law=-1 if law is None else self._law(name, law, "length", "force"),
            )
        ]

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

        Raises `MechanismError` when a constant is negative, or `axis` has no direction.
        """
        if floats(stiffness).shape == (6, 6):
            raise MechanismError(
                f"Bushing {name!r} has six stiffnesses, one for each axis; found a matrix. Axes that are coupled "
                "need a law between frames, for system.force: flexmb.forces.nonlinear_bushing couples displacement and "
                "tilt, and a law of yours (@flexmb.law) anything."
            )
        k = [non_negative(s, name) for s in vector(stiffness, f"Bushing {name!r}, stiffness", 6)]
        c = [non_negative(s, name) for s in vector(damping, f"Bushing {name!r}, damping", 6)]
        frame = frame_with_axis(direction(axis, f"Bushing {name!r}, axis"))
        pair = self._pair(name, a, b, at, frame)
        offsets = [*self._relaxed(name, pair, frame, k[:3], free), 0.0, 0.0, 0.0]
        self._forces[name] = [
            Row(kind, pair, (i % 3, 0), stiffness=k[i], damping=c[i], offset=offsets[i])
            for i, kind in enumerate((TRANSLATION, TRANSLATION, TRANSLATION, TILT, TILT, ANGLE))
        ]

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

    def _frame_force(self, name: str, pair: tuple[int, int], law: BoundLaw) -> None:
        self._forces[name] = [Row(kind, pair, (i, 0)) for kind in (TRANSLATION, SPIN) for i in range(3)]
        call = FrameLawCall(law.law, name)
        self._frame_forces.append(FrameForce(name, call, law.parameters, law.initial, law.meshes))

    @renamed(along="dof")
    def joint_spring(
        self,
        name: str,
        joint: str,
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        free: float | Literal["drawn"] | None = None,
        law: Effort | None = None,
        dof: str | None = None,
    ) -> None:
        """Add a spring and damper in the free motion of a joint, for instance a torsion spring in a hinge.

        - `free`: the coordinate (see `drive`) at which the spring is relaxed; "drawn" is that of the initial
          configuration. By default it is zero; a spring along a joint whose places are drawn apart is then preloaded,
          with a `PreloadWarning`. `dof` is as in `drive`.
        - `law(t, x, xdot)`: an additional effort on the second body, a function of the coordinate `x` beyond `free` and
          of its rate, as in `spring_damper`.
        """
        _, pair, chosen = self._free_axis(joint, dof)
        relaxed = self._relaxed_at(name, joint, pair, self._drawn(pair, chosen), stiffness, free)
        self._joint_force(name, joint, dof, stiffness, damping, relaxed, law)

    def _relaxed_at(
        self,
        name: str,
        joint: str,
        pair: tuple[int, int],
        drawn: float,
        stiffness: float,
        free: float | Literal["drawn"] | None,
    ) -> float:
        """The coordinate at which the spring of a joint is relaxed; warns of places `drawn` apart that preload it."""
        if isinstance(free, str):
            if free != "drawn":
                raise MechanismError(f'Spring {name!r}: free is a coordinate or "drawn"; found {free!r}.')
            return drawn
        if free is not None:
            return number(free, f"{name!r}: free, the coordinate at which it is relaxed,")
        force = non_negative(stiffness, name) * abs(drawn)
        ends = (self._world(Attachment(m.body, m.point)) for m in (self._markers[k] for k in pair))
        if force > 0 and abs(drawn) > COINCIDENT * sum(float(np.linalg.norm(end)) for end in ends):
            warnings.warn(
                f"Spring {name!r} of {self.name!r} is preloaded: the places of joint {joint!r} are drawn {drawn:.6g} "
                f"apart along its axis, where its coordinate is hence {drawn:.6g}, which the spring closes with a "
                f'force of {force:.4g}. If it is relaxed as drawn, write free="drawn"; if preload is meant, free=0.',
                PreloadWarning,
                stacklevel=4,
            )
        return 0.0

    @renamed(along="dof", drag="damping")
    @called(torque="effort=", force="effort=", moment="effort=")
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
            law = self._law(name, effort, *(("angle", "moment") if dof == "rotation" else ("length", "force")))
        kind, axis = (ANGLE, 0) if dof == "rotation" else (TRANSLATION, 2)
        self._forces[name] = [
            Row(
                kind,
                pair,
                (axis, 0),
                function,
                non_negative(stiffness, name),
                non_negative(damping, name),
                free,
                law,
            )
        ]

    def _law(self, name: str, effort: Effort, *dimensions: str) -> int:
        """The number of the law of an element; `dimensions` are those of its coordinate and its effort, if known."""
        if not callable(effort):
            raise MechanismError(
                f"The law of {name!r} must be a function effort(t, x, xdot), a motion or a number; found "
                f"{type(effort).__name__}."
            )
        try:
            takes = signature(effort)
        except ValueError:
            takes = None  # of a function that tells no arguments
        if takes is not None:
            try:
                takes.bind(0.0, 0.0, 0.0)
            except TypeError as error:
                raise MechanismError(
                    f"The law of {name!r} must take three arguments, effort(t, x, xdot): time, coordinate and its "
                    f"rate; it takes {takes} ({error}). A function of time alone is one of flexmb.time_functions."
                ) from None
        if dimensions and hasattr(effort, "require_units"):
            try:
                effort.require_units(self.units, *dimensions)
            except TableError as error:
                raise TableError(f"The law of {name!r} in {self.name!r}{named(self.units)}: {error}") from None
        if hasattr(effort, "require_stored"):
            try:
                effort.require_stored()
            except ExpressionError as error:
                raise ExpressionError(f"The law of {name!r} in {self.name!r}: {error}") from None
        self._laws.append(ForceLaw(effort, name))
        return len(self._laws) - 1

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
        regularised: float | None = None,
    ) -> None:
        """Add dry friction (Coulomb) to a revolute, prismatic, cylindrical or spherical joint.

        A revolute joint that slides resists with a moment `coefficient (radius |F_r| + axial_radius |F_a|) + preload`,
        from the force of the joint across (r) and along (a) its axis; a prismatic joint with a force
        `coefficient |F_r| + preload`. In joints with several free motions, one force opposes the sliding velocity:

        - A sleeve (cylindrical joint) touches its shaft on lines at `radius`, where the sliding velocity has the
          components `radius` times the angular rate around the shaft and the velocity along it. A force
          `coefficient |F_r| + preload` at the lines is opposite to this velocity; its moment is the component around
          times `radius`.
        - A ball in a socket (spherical joint) resists with a moment `coefficient radius |F| + preload` opposite to the
          relative angular velocity, whatever the direction of the force `F` of the joint.

        A joint that sticks transmits up to that effort times `static / coefficient`, in any direction. This is exact:
        the law has no creep, and the instants of sticking and sliding are located. With `regularised`, the friction is
        `tanh(s / regularised)` of this at the sliding velocity `s`, and the joint creeps instead of sticking.

        - `radius`, `axial_radius`: of the journal, of the ball, or of the sleeve, and of the mean circle of the thrust
          face (lengths; the latter for revolute joints).
        - `span`: distance of two bearings along the axis that share the radial force and transmit the moment across the
          axis; the sum of the magnitudes of their forces takes the place of `|F_r|`. By default these moments cause no
          friction. Not for spherical joints.
        - `preload`: effort that does not depend on the reaction, for instance of a seal.
        - `static`: coefficient of sticking joints (default: `coefficient`); not with `regularised`.
        - `regularised`: the sliding velocity at which the friction is 76 % of its bound; an angular velocity (rad/time)
          in revolute and spherical joints.

        Impacts do not transmit impulses of friction. Raises `MechanismError` when the joint is of another kind, a value
        is negative or unknown for this joint, or `static` is below `coefficient`.
        """
        kind, pair = self._rubbing(name, joint)
        round_, dofs = kind == "spherical", JOINTS[kind].dofs
        dof = dofs[0] if len(dofs) == 1 else ALL
        speed = 0.0 if regularised is None else number(regularised, f"Friction {name!r}: regularised")
        if regularised is not None and not speed > 0:
            raise MechanismError(f"Friction {name!r}: regularised must be positive; found {regularised}.")
        if static is not None and speed:
            raise MechanismError(
                f"Friction {name!r}: static={static} is the coefficient of a joint that sticks, but one with "
                "regularised= creeps. Omit one of them."
            )
        turning = dof != "translation"
        if (
            turning == (radius is None)
            or (axial_radius and kind != "revolute")
            or (kind == "cylindrical" and radius is not None and not number(radius, f"Friction {name!r}: radius") > 0)
        ):
            raise MechanismError(
                f"Friction {name!r} of {joint!r} ({kind}): a revolute or spherical joint needs the radius of its "
                "journal or ball, a cylindrical joint a positive one of its sleeve, a prismatic joint has none, and "
                f"only a revolute joint has an axial_radius; found radius={radius}, axial_radius={axial_radius}."
            )
        mu = non_negative(coefficient, name)
        arm = non_negative(radius, name) if radius is not None else 1.0
        stick = mu if static is None else non_negative(static, name)
        if stick < mu or (mu == 0 and stick > 0):
            raise MechanismError(
                f"Friction {name!r}: static={stick} must be at least the coefficient of sliding, {mu}, which is "
                "positive if there is a static one."
            )
        if span is not None and (round_ or not number(span, f"Friction {name!r}: span") > 0):
            expected = "a spherical joint has no span" if round_ else "span must be positive"
            raise MechanismError(f"Friction {name!r}: {expected}; found {span}.")
        radial = mu if kind == "cylindrical" else mu * arm
        factors = (radial, mu * non_negative(axial_radius, name), 1 / span if span else 0.0)
        arms = (1.0, arm) if kind == "cylindrical" else (1.0,) * (3 if round_ else 1)
        self._forces[name] = list(free_rows(kind, dof, pair))
        self._frictions.append(
            JointFriction(
                name,
                joint,
                dof,
                (*factors, non_negative(preload, name)),
                stick / mu if mu else 1.0,
                speed=speed,
                arms=arms,
            )
        )

    def _rubbing(self, name: str, joint: str) -> tuple[str, tuple[int, int]]:
        """Kind and markers of the joint of a friction."""
        if isinstance(joint, str) and joint in self._joints:
            kind, pair, _ = self._joints[joint]
        else:
            kind, pair, _ = self._free_axis(joint, None)
        self._require_free(name)
        if kind not in ("revolute", "prismatic", "cylindrical", "spherical"):
            raise MechanismError(
                f"Friction {name!r}: joint {joint!r} is of the kind {kind!r}, for which there is no law of friction. "
                "Give friction to a revolute, prismatic, cylindrical or spherical joint."
            )
        if other := [f.name for f in self._frictions if f.joint == joint]:
            raise MechanismError(
                f"Friction {name!r}: joint {joint!r} has the friction {other[0]!r} already; the efforts of two that "
                "stick are not determined. Add the second to the first, as preload= or a larger coefficient."
            )
        return kind, pair

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

        They are given in world axes; with `follower=True` they rotate with the body from the configuration as drawn.
        For the axes of a body that is drawn turned, give them turned alike.

        Raises `MechanismError` when the place is not on a body, or the name is taken.
        """
        if not isinstance(place, Attachment) or place.body == GROUND:
            raise MechanismError(f"Load {name!r} needs a place on a body, such as body['interface'] or body.at(point).")
        self._require_free(name)
        function = self._function(factor, f"factor of {name!r}")
        wrench = np.concatenate([vector(force, f"Load {name!r}, force"), vector(moment, f"Load {name!r}, moment")])
        self._loads[name] = Load(name, self._marker(name, place, np.eye(3)), wrench, follower, function)

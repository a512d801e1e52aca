"""Laws that read measures of a mechanism under construction: laws between frames, and controllers."""

from collections.abc import Mapping

from numpy.typing import ArrayLike

from flexmb.errors import MechanismError
from flexmb.mechanism.attachments import Attachment, BodyHandle, direction, vector
from flexmb.mechanism.construction.axles import frame_about_axle
from flexmb.mechanism.construction.lines import WithLines
from flexmb.mechanism.control.add import INPUTS, Added, added
from flexmb.mechanism.control.law import BoundController, ControlLaw, passing
from flexmb.mechanism.control.signals import Source
from flexmb.mechanism.frame_law import BoundLaw, FrameLaw
from flexmb.spatial.lie import frame_with_axis


class WithControllers(WithLines):
    """Laws between frames, and laws that compute commands; both may have states and read measures."""

    def __init__(
        self, gravity: ArrayLike = (0.0, 0.0, 0.0), name: str = "mechanism", *, units: str | None = None
    ) -> None:
        super().__init__(gravity, name, units=units)
        self._controllers: dict[str, Added] = {}

    def force(
        self,
        name: str,
        a: Attachment | BodyHandle,
        b: Attachment | BodyHandle,
        law: BoundLaw | FrameLaw,
        *,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        axle: ArrayLike | None = None,
        at: ArrayLike | None = None,
        inputs: Mapping[str, Source] | None = None,
    ) -> None:
        """Add a force element between two frames: a force and a moment from their relative motion, time and own states.

        `law` is a law of `flexmb.forces` or of the decorator `flexmb.law`, with values of its parameters:
        `law=strut(stiffness=1e5)`. The frames are at the two places, with z along `axis`, a world direction in the
        initial configuration; the law sees `b` from `a` (`flexmb.Relative`), in axes of `a`. As drawn, their axes are
        parallel, unless `axle`, a world direction in the initial configuration, is y of `b`: for the tyre of a wheel
        that is drawn steered, cambered or with toe.

        `inputs`: for each input of the law, a measure ("coordinate:hinge", "position:arm.tip:y"), a function of time, a
        number, or "command:CONTROLLER:COMMAND", as those of a continuous controller. They are in results as the
        commands of the controller "NAME.inputs", which passes them on: `command:NAME.inputs:INPUT` is a measure.

        Raises `LawError` when parameters have no values, `ControllerError` when an input does not exist or is not
        connected, and `MechanismError` as all methods; `build` raises one when a wheel turns about another axis than
        its tyre (by up to an eighth of a turn), which would wobble.
        """
        if isinstance(law, FrameLaw):
            law = law()
        if not isinstance(law, BoundLaw):
            raise MechanismError(
                f"Force {name!r}: law is a law of flexmb.forces or of the decorator flexmb.law; found "
                f"{type(law).__name__}."
            )
        frame = frame_with_axis(direction(axis, f"Force {name!r}, axis"))
        what = f"Force {name!r}, axle"
        own = None if axle is None else frame_about_axle(vector(axle, what), frame, what)
        pair = self._pair(name, a, b, at, frame, own)
        if law.law.inputs or inputs:
            reader, passed = f"{name}{INPUTS}", passing(law.law.inputs, law.law.constants)
            targets = {key: f"input:{name}:{key}" for key in law.law.inputs}
            self._controllers[reader] = added(self, self._controllers, reader, passed, inputs or {}, targets)
        self._frame_force(name, pair, law)

    def controller(
        self,
        name: str,
        law: BoundController | ControlLaw,
        *,
        inputs: Mapping[str, Source],
        outputs: Mapping[str, str],
    ) -> None:
        """Add a controller: a law that computes commands from inputs, and has states.

        - `law`: a controller of `flexmb.controllers`, such as `flexmb.controllers.pid(kp=20.0)`, or a law of the
          decorator `flexmb.control_law`, with values of its parameters.
        - `inputs`: for each input of the law, a measure ("coordinate:hinge", "position:arm.tip:y"), a function of time,
          a number, or "command:CONTROLLER:COMMAND".
        - `outputs`: for each command of the law that acts on the mechanism, "effort:JOINT", "effort:JOINT:DOF",
          "effort:ELEMENT" (a spring_damper, joint_spring or motor, in addition to its own effort), "force:PLACE:AXIS"
          or "moment:PLACE:AXIS" (in world axes), or "load:LOAD" (times the factor of the load, which is 1 by default).

        Joints, elements and loads must have been added before. The new force elements and loads are called
        "NAME.COMMAND". A continuous controller reads positions, velocities and elastic coordinates; one with a sample
        time reads all measures, just before each sample.

        Raises `ControllerError` when an input or a command does not exist, in an algebraic loop, and for a load whose
        own factor is zero at all times.
        """
        self._controllers[name] = added(self, self._controllers, name, law, inputs, outputs)

"""Controllers of a mechanism under construction."""

from collections.abc import Mapping

from numpy.typing import ArrayLike

from flexmb.mechanism.construction.lines import WithLines
from flexmb.mechanism.control.add import Added, added
from flexmb.mechanism.control.law import BoundController, ControlLaw
from flexmb.mechanism.control.signals import Source


class WithControllers(WithLines):
    """Laws with states that compute commands from measures."""

    def __init__(
        self, gravity: ArrayLike = (0.0, 0.0, 0.0), name: str = "mechanism", *, units: str | None = None
    ) -> None:
        super().__init__(gravity, name, units=units)
        self._controllers: dict[str, Added] = {}

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
          or "moment:PLACE:AXIS" (in world axes), or "load:LOAD" (the factor of a load).

        Joints, elements and loads must have been added before. The new force elements and loads are called
        "NAME.COMMAND". A continuous controller reads positions, velocities and elastic coordinates; one with a sample
        time reads all measures, just before each sample.

        Raises `ControllerError` when an input or a command does not exist, or in an algebraic loop.
        """
        self._controllers[name] = added(self, self._controllers, name, law, inputs, outputs)

"""The explicit Runge-Kutta method of Dormand and Prince, in absolute coordinates or in those of the joints."""

from dataclasses import dataclass
from typing import ClassVar

from flexmb.equations.initial_conditions import Start
from flexmb.equations.time_features import Pace
from flexmb.integrators.explicit_absolute import ExplicitAbsoluteRun
from flexmb.integrators.explicit_joint import ExplicitJointRun
from flexmb.integrators.method import AdaptiveMethod, Coordinates, register, require_coordinates
from flexmb.mechanism.mechanism import Mechanism


@register("explicit")
@dataclass(frozen=True, kw_only=True)
class Explicit(AdaptiveMethod):
    """Dormand and Prince, order 5, with projection on the joints: for rigid mechanisms without stiff springs.

    - `coordinates`: "absolute", or "joint" for open trees of rigid bodies on joints that move freely, which it moves some ten times faster so.
    """

    order: ClassVar[int] = 5

    coordinates: Coordinates = "absolute"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_coordinates(self.coordinates)

    @property
    def may_lock(self) -> bool:
        """In joint coordinates there are no equations that could hold a joint."""
        return self.coordinates == "absolute"

    def begin(
        self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace
    ) -> ExplicitAbsoluteRun:
        kind = ExplicitJointRun if self.coordinates == "joint" else ExplicitAbsoluteRun
        return kind(mechanism, start, step=self.step, tolerance=self.tolerance, end=end, pace=pace)

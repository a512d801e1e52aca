"""The explicit Runge-Kutta method of Dormand and Prince, in absolute or joint coordinates."""

from dataclasses import dataclass
from typing import ClassVar

from flexmb.equations.initial_conditions import Start
from flexmb.equations.time_features import Pace
from flexmb.integrators.explicit_absolute import ExplicitAbsoluteRun
from flexmb.integrators.explicit_joint import ExplicitJointRun
from flexmb.integrators.method import AdaptiveMethod, Coordinates, register, require_coordinates
from flexmb.mechanism.features import SMOOTH, Feature, refuse
from flexmb.mechanism.mechanism import Mechanism


@register("explicit")
@dataclass(frozen=True, kw_only=True)
class Explicit(AdaptiveMethod):
    """Dormand and Prince, order 5, with projection onto the joint equations, for rigid mechanisms without stiff
    springs.

    `coordinates`: "absolute", or "joint" for open trees of rigid bodies on joints without drivers, which is about ten
    times faster.

    Raises `IntegratorError` when the coordinates are unknown.
    """

    order: ClassVar[int] = 5
    includes: ClassVar[frozenset[Feature]] = SMOOTH | {
        "sampled controllers",
        "regularised friction",
        "groups of contacts",
    }

    coordinates: Coordinates = "absolute"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_coordinates(self.coordinates)

    @property
    def may_lock(self) -> bool:
        """Whether events can lock joints: only in absolute coordinates, as joint coordinates have no joint
        equations."""
        return self.coordinates == "absolute"

    def begin(
        self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace
    ) -> ExplicitAbsoluteRun:
        if self.coordinates == "joint":  # there are no reactions
            refuse(
                mechanism, "The explicit method in joint coordinates", includes=self.includes - {"regularised friction"}
            )
        kind = ExplicitJointRun if self.coordinates == "joint" else ExplicitAbsoluteRun
        return kind(mechanism, start, step=self.step, tolerance=self.tolerance, end=end, pace=pace)

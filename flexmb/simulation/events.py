"""Events at zero crossings of measures: joints lock, are released or hit stops; the integration restarts or ends."""

from dataclasses import dataclass

from fem.axes.limits import is_number
from fem.renamed import refuse_old_names, renamed
from flexmb.errors import EventError
from flexmb.results.measure import Measure


@renamed(along="dof")
@dataclass(frozen=True)
class Lock:
    """Lock the free motion of a joint; its speed is lost in a plastic impact."""

    joint: str
    dof: str | None = None


@dataclass(frozen=True)
class Release:
    """Remove a joint, a lock or a stop; locks and stops are named by their events."""

    joint: str


@renamed(along="dof")
@dataclass(frozen=True)
class StopImpact:
    """An impact of the free motion of a joint on a stop, with a coefficient of `restitution`.

    If the speed is less than `rest` times that of the fastest impact so far, the impact is plastic and the contact
    persists until it is pulled apart. `upper`: the stop limits the motion in positive direction.
    """

    joint: str
    upper: bool
    restitution: float = 0.0
    rest: float = 1e-3
    dof: str | None = None


@dataclass(frozen=True)
class Terminate:
    """End the simulation."""


@dataclass(frozen=True)
class Stick:
    """A joint with dry friction comes to rest; made by `System.friction`."""

    friction: str


@dataclass(frozen=True)
class Slide:
    """A joint with dry friction that sticks begins to slide; made by `System.friction`."""

    friction: str


Action = Lock | Release | StopImpact | Terminate | Stick | Slide | None


@dataclass(frozen=True, eq=False)
class Event:
    """An action `do` at each upward zero crossing of the measure `when`.

    With `do=None` the integration only restarts, for instance at a switch in a force law. `when` takes a result and
    returns one number for each time, which depends on that time only (see `flexmb.results.measure`); angles of joints
    are continuous.

    Raises `EventError` when `when` is no function.
    """

    name: str
    when: Measure
    do: Action = None

    def __post_init__(self) -> None:
        if not callable(self.when):
            raise EventError(
                f"Event {self.name!r}: `when` must be a function of a result, such as "
                f"lambda r: r.coordinate('hinge') - 0.3 or flexmb.results.measure.measure('coordinate:hinge'); found "
                f"{self.when!r}."
            )


@renamed(along="dof")
def stop(
    name: str, joint: str, limit: float, *, upper: bool = True, restitution: float = 0.0, dof: str | None = None
) -> Event:
    """A stop at the value `limit` of the free motion of a joint: an upper or a lower limit of a displacement or a
    continuous angle (radians).

    `restitution` is the coefficient of restitution; `dof` selects "rotation" or "translation" where the joint has both.

    Raises `EventError` when the limit is no finite number, or the restitution is not between 0 and 1.
    """
    if not is_number(limit):
        raise EventError(f"Stop {name!r}: its limit is a finite number; found {limit!r}.")
    if not (is_number(restitution) and 0 <= restitution <= 1):
        raise EventError(
            f"Stop {name!r}: restitution must be between 0 (plastic) and 1 (elastic); found {restitution}."
        )
    sign = 1.0 if upper else -1.0
    impact = StopImpact(joint, upper, restitution, dof=dof)
    return Event(name, lambda result: sign * (result.coordinate(joint, dof) - limit), impact)


refuse_old_names(__name__)

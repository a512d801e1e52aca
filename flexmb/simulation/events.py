"""Events: what happens when a measure of the motion passes zero. Joints lock, are released, hit stops; the simulation restarts or ends."""

from dataclasses import dataclass

from fem.renamed import refuse_old_names, renamed
from flexmb.errors import EventError
from flexmb.results.measure import Measure


@renamed(along="dof")
@dataclass(frozen=True)
class Lock:
    """The free motion of a joint is held from then on: the speed that it had is lost in a plastic impact."""

    joint: str
    dof: str | None = None


@dataclass(frozen=True)
class Release:
    """A joint, or what the event of that name locked, is let go; a stop of that name is taken away."""

    joint: str


@renamed(along="dof")
@dataclass(frozen=True)
class StopImpact:
    """The free motion of a joint is thrown back with a part `restitution` of its speed; below `rest` times the speed of the first impact it stays in contact until it is pulled away.
    `upper`: the stop ends the motion upwards."""

    joint: str
    upper: bool
    restitution: float = 0.0
    rest: float = 1e-3
    dof: str | None = None


@dataclass(frozen=True)
class Terminate:
    """The simulation ends."""


Action = Lock | Release | StopImpact | Terminate | None


@dataclass(frozen=True, eq=False)
class Event:
    """When the measure `when` rises through zero, `do` happens, once for each rise; with None the integration only restarts, as at a switch in a force law.

    `when` takes a result and gives one number for each time, of that time alone (see `flexmb.results.measure`); angles of joints count their turns.
    """

    name: str
    when: Measure
    do: Action = None


@renamed(along="dof")
def stop(name: str, joint: str, limit: float, *, upper: bool = True, restitution: float = 0.0, dof: str | None = None) -> Event:  # fmt: skip
    """A stop at a value of a joint's free motion, from below (`upper`) or from above; angles count their turns."""
    if not 0 <= restitution <= 1:
        raise EventError(f"Stop {name!r}: restitution is between 0 (plastic) and 1 (elastic); found {restitution}.")
    sign = 1.0 if upper else -1.0
    return Event(name, lambda result: sign * (result.coordinate(joint, dof) - limit), StopImpact(joint, upper, restitution, dof=dof))  # fmt: skip


refuse_old_names(__name__)

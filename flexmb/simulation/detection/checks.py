"""What is required of the events of a simulation, before it begins."""

from collections.abc import Sequence

import numpy as np

from flexmb.errors import EquilibriumError, EventError
from flexmb.mechanism.joints import joint_dof
from flexmb.mechanism.mechanism import Mechanism, Row
from flexmb.results.result import Result
from flexmb.simulation.detection.in_force import touching_distance
from flexmb.simulation.events import Event, Lock, Release, StopImpact


def require_events(mechanism: Mechanism, events: Sequence[Event]) -> None:
    """Raises `EventError` when events that are not given have locked or released something at the initial state."""
    state = mechanism.initial
    names = {e.name for e in events if isinstance(e.do, Lock | StopImpact)}
    names |= {name for friction in mechanism.exact_frictions for name in friction.locks}
    missing = state.topology.locked.keys() - names
    missing |= state.topology.released - names - {joint.name for joint in mechanism.joints}
    if missing:
        raise EventError(
            f"The state at t = {state.t:.6g} is changed by {', '.join(map(repr, sorted(missing)))} "
            f"({state.topology}); start from it with the events of that simulation."
        )


def require_names(mechanism: Mechanism, events: Sequence[Event]) -> None:
    """Raises `EventError` when names of events are taken, and the errors of `joint_dof` and of unknown joints for what
    they lock or release."""
    names = [e.name for e in events]
    taken = {*names} & {*(j.name for j in mechanism.joints), *mechanism.force_elements}
    taken |= {n for n in names if names.count(n) > 1}
    if taken:
        raise EventError(f"Events need names of their own; these are taken: {sorted(taken)}.")
    for event in events:
        if isinstance(event.do, Lock | StopImpact):
            joint_dof(event.do.joint, mechanism.joint(event.do.joint).kind, event.do.dof)
        elif isinstance(event.do, Release) and event.do.joint not in names:
            _require_unrelated(
                mechanism, event.name, event.do.joint, [e.do.joint for e in events if isinstance(e.do, Release)]
            )


def require_within_stops(rest: Result, events: Sequence[Event]) -> None:
    """Raises `EquilibriumError` when an equilibrium or a steady motion, which include no stops, is beyond a stop."""
    for event in events:
        if not isinstance(event.do, StopImpact):
            continue
        beyond = float(np.asarray(event.when(rest))[-1])
        if beyond > touching_distance(rest.mechanism, event.do):
            raise EquilibriumError(
                f"The equilibrium of {rest.mechanism.name!r} is beyond the stop {event.name!r} by {beyond:.3g}, as "
                f"equilibria do not include stops. For the mechanism that rests on it, drive joint {event.do.joint!r} "
                "to the limit, or take a gap spring in place of the stop."
            )


def _require_unrelated(mechanism: Mechanism, event: str, name: str, released: Sequence[str]) -> None:
    """Raises `EventError` when an event releases a joint of a relation that no event releases."""
    joint = mechanism.joint(name)
    for relation in mechanism.joints:
        row = mechanism.rows[relation.rows[0]]
        if row.terms and relation.name not in released and joint.markers in _pairs(row):
            raise EventError(
                f"Event {event!r} releases joint {name!r}, whose coordinate is part of the "
                f"{relation.kind} {relation.name!r}. Release {relation.name!r} by an event too."
            )


def _pairs(row: Row) -> list[tuple[int, int]]:
    return [row.markers, *(term.markers for term in row.terms)]

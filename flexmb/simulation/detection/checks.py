"""What is required of the events of a simulation, before it begins."""

from collections.abc import Collection, Sequence

import numpy as np

from flexmb.errors import EquilibriumError, EventError, InverseError
from flexmb.mechanism.joints import joint_dof
from flexmb.mechanism.mechanism import Joint, Mechanism, Row
from flexmb.results.result import Result
from flexmb.simulation.detection.in_force import touching_distance
from flexmb.simulation.events import Event, Lock, Release, StopImpact


def require_listed(events: Sequence[Event]) -> None:
    """Raises `EventError` when `events` is no list of events."""
    if not isinstance(events, Sequence) or not all(isinstance(event, Event) for event in events):
        raise EventError(f"events is a list of flexmb.Event and flexmb.stop(...); found {events!r}.")


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
    contacts = {*(c.name for c in mechanism.contacts), *(c.name for c in mechanism.surface_contacts)}
    taken = {*names} & {*(j.name for j in mechanism.joints), *mechanism.force_elements, *contacts}
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


def require_motion_within_stops(motion: Result, events: Sequence[Event]) -> None:
    """Raises `InverseError` when a prescribed motion, in whose efforts stops do not act, passes a stop."""
    for event in events:
        if not isinstance(event.do, StopImpact):
            continue
        beyond = np.asarray(event.when(motion))
        if beyond.max() > touching_distance(motion.mechanism, event.do):
            raise InverseError(
                f"The motion that is asked of {motion.mechanism.name!r} passes the stop {event.name!r}, by "
                f"{beyond.max():.3g} at t = {motion.t[beyond.argmax()]:.6g}, and the efforts of motors do not include "
                f"stops. Let the servos keep joint {event.do.joint!r} within the stop."
            )


def require_relations_gone(mechanism: Mechanism, released: Collection[str], t: float) -> None:
    """Raises `EventError` when a relation still acts at the time `t` on a coordinate of a joint that is `released`."""
    for name in (joint.name for joint in mechanism.joints if joint.name in released):
        for relation in _relations(mechanism, name, released):
            raise EventError(
                f"At t = {t:.6g} joint {name!r} is released, but the {relation.kind} {relation.name!r}, which its "
                f"coordinate is part of, is not. Let an event release {relation.name!r} at that instant or before."
            )


def _require_unrelated(mechanism: Mechanism, event: str, name: str, released: Sequence[str]) -> None:
    """Raises `EventError` when an event releases a joint of a relation that no event releases."""
    for relation in _relations(mechanism, name, released):
        raise EventError(
            f"Event {event!r} releases joint {name!r}, whose coordinate is part of the "
            f"{relation.kind} {relation.name!r}. Release {relation.name!r} by an event too."
        )


def _relations(mechanism: Mechanism, name: str, without: Collection[str]) -> list[Joint]:
    """The relations that a coordinate of the joint `name` is part of, beside those `without`."""
    markers, found = mechanism.joint(name).markers, []
    for relation in mechanism.joints:
        row = mechanism.rows[relation.rows[0]]
        if row.terms and relation.name not in without and markers in _pairs(row):
            found.append(relation)
    return found


def _pairs(row: Row) -> list[tuple[int, int]]:
    return [row.markers, *(term.markers for term in row.terms)]

"""Variants of a mechanism with locked joint coordinates and removed joints."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fem.renamed import refuse_old_names
from flexmb.errors import MechanismError
from flexmb.kernels.base.data import ANGLE, DOT, SPIN
from flexmb.mechanism.joints import JOINTS, joint_dof
from flexmb.mechanism.mechanism import Joint, Marker, Mechanism, Row, driver_row, require_state
from flexmb.mechanism.state import State, Topology
from flexmb.mechanism.time_functions import TimeFunction, constant
from flexmb.spatial.lie import rotation_exp

SPINS = ("rotation x", "rotation y", "rotation z")
"""The free motions of a spherical joint."""
ALIGNED = ((2, 1), (0, 2), (1, 0))
"""Axes of both markers that remain perpendicular in the equations that prevent rotations about x, y and z: their
multipliers are moments about these axes."""
LOCKED, EVENT = "locked", "event"
"""Kinds of locked joints: locked at all times, or only at those times of a result at which an event locks them."""


@dataclass(frozen=True, eq=False)
class LockedJoint:
    """A joint equation, under its own `name`, that holds the free motion of a `joint` at a value or makes it follow a
    function of time.

    The free motions "rotation x", "rotation y" and "rotation z" of a spherical joint are locked together, at an
    attitude whose rotation vector has the three values. With a function of time, their equations are those of the
    relative angular velocity, which have no coordinates.
    """

    name: str
    joint: str
    value: float | TimeFunction = 0.0
    dof: str | None = None


def locked_row(mechanism: Mechanism, joint: str, dof: str | None) -> Row:
    """The equation that locks the free motion of a joint, without its function of time."""
    record = mechanism.joint(joint)
    if dof in SPINS:
        return Row(SPIN, record.markers, (SPINS.index(dof), 0))
    return driver_row(record.markers, joint_dof(joint, record.kind, dof))


def with_locked_joints(
    mechanism: Mechanism,
    locked: Sequence[LockedJoint],
    without: Collection[str] = (),
    kind: str = LOCKED,
    *,
    undriven: bool = False,
) -> Mechanism:
    """The mechanism with the `locked` joints, as joints of a `kind` after its own.

    The joints `without` are removed; with `undriven`, the locked motions lose their drivers.
    """
    for name in without:
        mechanism.joint(name)
    held = [(lock.joint, locked_row(mechanism, lock.joint, lock.dof)) for lock in locked if undriven]
    freed = {(joint, row.kind, row.axes) for joint, row in held}
    functions, joints = list(mechanism.functions), []
    rows: list[Row] = []

    def add(name: str, kind: str, markers: tuple[int, int], own: list[Row]) -> None:
        joints.append(Joint(name, kind, markers, tuple(range(len(rows), len(rows) + len(own)))))
        rows.extend(own)

    for joint in mechanism.joints:
        if joint.name not in without:
            own = [mechanism.rows[r] for r in joint.rows]
            add(
                joint.name,
                joint.kind,
                joint.markers,
                [row for row in own if row.function < 0 or (joint.name, row.kind, row.axes) not in freed],
            )
    markers = list(mechanism.markers)
    balls = dict[str, int]()
    for ball in dict.fromkeys(lock.joint for lock in locked if lock.dof in SPINS):
        marker = _aligned(mechanism, ball, locked)
        if marker is not None:
            balls[ball] = len(markers)
            markers.append(marker)
    for lock in locked:
        row = locked_row(mechanism, lock.joint, lock.dof)
        if lock.dof in SPINS:
            if lock.joint in balls:
                row = Row(DOT, (row.markers[0], balls[lock.joint]), ALIGNED[row.axes[0]])
            add(lock.name, kind, row.markers, [row])
            continue
        add(lock.name, kind, row.markers, [replace(row, function=len(functions))])
        functions.append(lock.value if isinstance(lock.value, TimeFunction) else constant(lock.value))
    forces = {}
    for name, numbers in mechanism.force_elements.items():
        forces[name] = tuple(range(len(rows), len(rows) + len(numbers)))
        rows += [mechanism.rows[r] for r in numbers]
    made = replace(
        mechanism,
        markers=tuple(markers),
        rows=tuple(rows),
        joints=tuple(joints),
        functions=tuple(functions),
        force_elements=forces,
        start_rows=(),
    )
    angles = made.angles_of(mechanism, mechanism.initial.angles)
    return replace(made, initial=replace(mechanism.initial, angles=angles))


def _aligned(mechanism: Mechanism, joint: str, locked: Sequence[LockedJoint]) -> Marker | None:
    """The second marker of a spherical joint with axes that are those of the first one at the locked attitude; None if
    the attitude is not given."""
    values = {lock.dof: lock.value for lock in locked if lock.joint == joint}
    vector = [x for dof in SPINS if not isinstance(x := values[dof], TimeFunction)]
    if len(vector) < len(SPINS):
        return None
    second = mechanism.markers[mechanism.joint(joint).markers[1]]
    return replace(second, name=f"{second.name} of {joint}", axes=second.axes @ rotation_exp(np.array(vector)).T)


def with_joints(
    mechanism: Mechanism, added: Mapping[str, tuple[tuple[int, int], Sequence[Row]]], kind: str
) -> Mechanism:
    """The mechanism with further joints of a `kind`, by name: their markers and equations."""
    first, joints = mechanism.joint_rows, list(mechanism.joints)
    rows = list(mechanism.rows[:first])
    for name, (markers, own) in added.items():
        joints.append(Joint(name, kind, markers, tuple(range(len(rows), len(rows) + len(own)))))
        rows.extend(own)
    moved = len(rows) - first
    forces = {name: tuple(r + moved for r in numbers) for name, numbers in mechanism.force_elements.items()}
    rows += mechanism.rows[first:]
    return replace(mechanism, rows=tuple(rows), joints=tuple(joints), force_elements=forces)


def with_sliding(mechanism: Mechanism, sliding: Mapping[str, float]) -> Mechanism:
    """The mechanism whose joints with dry friction slide in the directions `sliding`; those without do not slide."""
    if not mechanism.frictions:
        return mechanism
    frictions = tuple(replace(f, direction=float(sliding.get(f.name, 0.0))) for f in mechanism.frictions)
    return replace(mechanism, frictions=frictions)


def in_force(mechanism: Mechanism, topology: Topology) -> Mechanism:
    """The mechanism with the topology of a state: with the locks, contacts and sliding directions of `topology`, and
    without the released joints.

    `mechanism` is that of a result. It may be any mechanism if no event has changed the topology, or if events have
    only released joints.

    Raises `MechanismError` when the mechanism has no equations for a lock or contact of the topology.
    """
    events = {joint.name: joint for joint in mechanism.joints if joint.kind == EVENT}
    if topology.locked.keys() - events:
        raise MechanismError(
            f"{mechanism.name!r} has no equations for the locks and contacts of this state ({topology}). Use "
            "result.mechanism of the result to which the state belongs."
        )
    mechanism = with_sliding(mechanism, topology.sliding)
    without = {joint.name for joint in mechanism.joints if joint.name in topology.released} | events.keys()
    if not without:
        return mechanism
    moving = {joint.markers: joint.name for joint in mechanism.joints if joint.kind in JOINTS}
    locked, spins = [], {name: dof for friction in mechanism.frictions for name, dof in friction.locks.items()}
    for name in (name for name in events if name in topology.locked):
        dof = "rotation" if mechanism.rows[events[name].rows[0]].kind == ANGLE else "translation"
        dof = spins.get(name, dof)
        locked.append(LockedJoint(name, moving[events[name].markers], topology.locked[name], dof))
    return with_locked_joints(mechanism, locked, without)


def at_state(mechanism: Mechanism, state: State) -> tuple[Mechanism, State]:
    """The mechanism with the topology of a state (`in_force`), and the state with the continuous angles of this
    mechanism.

    Raises `MechanismError` when the state does not belong to the mechanism.
    """
    require_state(mechanism, state)
    variant = in_force(mechanism, state.topology)
    return variant, replace(state, angles=variant.angles_of(mechanism, state.angles))


def require_no_events(mechanism: Mechanism) -> None:
    """Raises `MechanismError` for the mechanism of a result with events, whose locks act only at some times, and for an
    initial state in which events have released joints of the mechanism."""
    in_force(mechanism, mechanism.initial.topology)
    if gone := sorted(mechanism.initial.topology.released & {joint.name for joint in mechanism.joints}):
        raise MechanismError(
            f"Events have released {', '.join(map(repr, gone))} in the initial state of {mechanism.name!r} at t = "
            f"{mechanism.initial.t:.6g}, and this analysis would begin with them. Leave them out of the system, and "
            "give it this state without its topology, replace(state, topology=flexmb.mechanism.state.Topology()); "
            "simulate(...) goes on from the state with the same events, and linearise(system, state) takes it as it is."
        )
    names = [joint.name for joint in mechanism.joints if joint.kind == EVENT]
    if names:
        raise MechanismError(
            f"{mechanism.name!r} is the mechanism of a result with the events {', '.join(map(repr, names))}, which "
            "lock coordinates only at some times of that result. Use the mechanism that was simulated; to go on from a "
            "stored state, simulate it with initial_state=result.state(-1) and the same events."
        )


refuse_old_names(__name__)

"""Variants of a mechanism with locked joint coordinates and removed joints."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from flexmb.errors import MechanismError
from flexmb.mechanism.joints import joint_dof
from flexmb.mechanism.mechanism import Joint, Mechanism, Row, driver_row
from flexmb.mechanism.time_functions import TimeFunction, constant

LOCKED, EVENT = "locked", "event"
"""Kinds of locked joints: locked at all times, or only at those times of a result at which an event locks them."""


@dataclass(frozen=True, eq=False)
class LockedJoint:
    """A joint equation, under its own `name`, that holds the free motion of a `joint` at a value or makes it follow a
    function of time."""

    name: str
    joint: str
    value: float | TimeFunction = 0.0
    dof: str | None = None


def locked_row(mechanism: Mechanism, joint: str, dof: str | None) -> Row:
    """The equation that locks the free motion of a joint, without its function of time."""
    record = mechanism.joint(joint)
    return driver_row(record.markers, joint_dof(joint, record.kind, dof))


def with_locked_joints(
    mechanism: Mechanism,
    locked: Sequence[LockedJoint],
    without: Collection[str] = (),
    undriven: Collection[str] = (),
    kind: str = LOCKED,
) -> Mechanism:
    """The mechanism with the `locked` joints, as joints of a `kind` after its own.

    The joints `without` are removed; the joints `undriven` lose the drivers of their free motion.
    """
    for name in (*without, *undriven):
        mechanism.joint(name)
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
                [row for row in own if joint.name not in undriven or row.function < 0],
            )
    for lock in locked:
        row = locked_row(mechanism, lock.joint, lock.dof)
        add(lock.name, kind, row.markers, [replace(row, function=len(functions))])
        functions.append(lock.value if isinstance(lock.value, TimeFunction) else constant(lock.value))
    forces = {}
    for name, numbers in mechanism.force_elements.items():
        forces[name] = tuple(range(len(rows), len(rows) + len(numbers)))
        rows += [mechanism.rows[r] for r in numbers]
    made = replace(
        mechanism,
        rows=tuple(rows),
        joints=tuple(joints),
        functions=tuple(functions),
        force_elements=forces,
        start_rows=(),
    )
    angles = made.angles_of(mechanism, mechanism.initial.angles)
    return replace(made, initial=replace(mechanism.initial, angles=angles))


def require_no_events(mechanism: Mechanism) -> None:
    """Raises `MechanismError` for the mechanism of a result with events, whose locks act only at some times."""
    names = [joint.name for joint in mechanism.joints if joint.kind == EVENT]
    if names:
        raise MechanismError(
            f"{mechanism.name!r} is the mechanism of a result with the events {', '.join(map(repr, names))}, which "
            "lock coordinates only at some times of that result. Use the mechanism that was simulated. To continue it "
            "from a "
            "stored state, use replace(system.build(), initial=result.state(-1), start_rows=()) and the same events."
        )

"""A mechanism with coordinates of joints held, and joints taken away."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from flexmb.joints import free_motion
from flexmb.mechanism import Joint, Mechanism, Row, driver_row
from flexmb.motion import Motion, constant


@dataclass(frozen=True, eq=False)
class Hold:
    """The free motion of a joint held at a value, or led by a motion: one more joint equation, under its own name."""

    name: str
    joint: str
    value: float | Motion = 0.0
    along: str | None = None


def held_row(mechanism: Mechanism, joint: str, along: str | None) -> Row:
    """The equation that holds the free motion of a joint, without its function."""
    record = mechanism.joint(joint)
    return driver_row(record.markers, free_motion(joint, record.kind, along))


def with_holds(
    mechanism: Mechanism, holds: Sequence[Hold], without: Collection[str] = (), undriven: Collection[str] = ()
) -> Mechanism:
    """The mechanism with the holds as joints after its own, `without` some joints, and `undriven` ones without the drivers of their free motion."""
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
    for hold in holds:
        row = held_row(mechanism, hold.joint, hold.along)
        add(hold.name, "hold", row.markers, [replace(row, function=len(functions))])
        functions.append(hold.value if isinstance(hold.value, Motion) else constant(hold.value))
    forces = {}
    for name, numbers in mechanism.force_elements.items():
        forces[name] = tuple(range(len(rows), len(rows) + len(numbers)))
        rows += [mechanism.rows[r] for r in numbers]
    return replace(
        mechanism, rows=tuple(rows), joints=tuple(joints), functions=tuple(functions), force_elements=forces, start_rows=()
    )  # fmt: skip

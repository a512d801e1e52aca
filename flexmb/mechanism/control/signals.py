"""Inputs of controllers: what a measure, a function of time, a number or a command of another controller is for
compiled code."""

from typing import TYPE_CHECKING

import numpy as np

from fem.errors import unknown_name
from flexmb.errors import ControllerError
from flexmb.kernels.base.data import ANGLE, DISTANCE, DOT, GROUND, SPIN, TRANSLATION
from flexmb.kernels.equations.controllers import (
    COMMAND,
    CONSTANT,
    DEFLECTION,
    ELASTIC,
    ELASTIC_RATE,
    FUNCTION,
    RATE,
    VALUE,
)
from flexmb.mechanism.attachments import Attachment
from flexmb.mechanism.control.controller import MEASURED, Signal
from flexmb.mechanism.joints import JOINTS, joint_dof
from flexmb.mechanism.laws.binding import finite
from flexmb.mechanism.mechanism import Row
from flexmb.mechanism.time_functions import TimeFunction

if TYPE_CHECKING:
    from flexmb.mechanism.construction.forces import WithForces

Source = str | TimeFunction | float
"""What an input may be connected to."""
LOOPING = ("acceleration", "joint-acceleration", "angular-acceleration", "force", "moment", "effort", "power")
"""Measures that depend on the accelerations or forces at the same instant."""
CONTINUOUS = (
    "coordinate:JOINT[:DOF], rate:JOINT[:DOF], position:PLACE:AXIS, velocity:PLACE:AXIS, angular-velocity:PLACE:AXIS, "
    "attitude:PLACE:matrix:zx, deflection:MARKER:AXIS, elastic:BODY:NUMBER, elastic-rate:BODY:NUMBER, "
    "stretch:ELEMENT, stretch-rate:ELEMENT and command:CONTROLLER:COMMAND"
)
"""The measures that continuous controllers read."""


MATRIX = tuple(row + column for row in "xyz" for column in "xyz")
"""Entries of the rotation matrix of a frame: components, along axes of the world, of its axes."""
ROTATION = "rotation"
"""The former name of `angular-velocity`."""


def renamed_rotation(text: str) -> str:
    """What errors say about an angular velocity under its old name, which was taken for an angle."""
    rest = text.partition(":")[2]
    name = rest.rpartition(":")[0] or rest
    return (
        f"{text!r} is now 'angular-velocity:{rest}', the angular velocity. Angles are attitudes, such as "
        f"'attitude:{name}:ZYX:1', or those of joints, coordinate:JOINT."
    )


def signal_of(system: "WithForces", what: str, source: Source, sampled: bool) -> Signal:
    """The signal of an input, called `what` in errors.

    Raises `ControllerError` when a measure does not exist, when a continuous controller cannot read it, or when the
    source is something else.
    """
    if isinstance(source, TimeFunction):
        return Signal(source.description, FUNCTION, index=system._function(source, what))
    if not isinstance(source, str):
        try:
            float(source)
        except (TypeError, ValueError):
            raise ControllerError(
                f"{what} is connected to a measure, a function of time or a number; found {type(source).__name__} "
                f"{source!r}. Write flexmb.time_functions.function(value, rate, acceleration) for functions of yours, "
                "or one of the others there, such as harmonic or table."
            ) from None
        number = finite(source, what)
        return Signal(f"{number:.6g}", CONSTANT, given=number)
    kind, _, rest = source.partition(":")
    if kind == "command":
        return Signal(source, COMMAND)
    if kind == ROTATION:
        raise ControllerError(f"{what}: {renamed_rotation(source)}")
    if sampled:
        return Signal(source, MEASURED)
    if kind in LOOPING:
        raise ControllerError(
            f"{what}: {source!r} depends on the accelerations or forces at the same instant, which the commands "
            "change: an algebraic loop. Give the law a sample_time; it then reads the values just before each sample."
        )
    if kind in ("coordinate", "rate"):
        return _joint(system, what, source, rest, RATE if kind == "rate" else VALUE)
    if kind in ("position", "velocity", "angular-velocity"):
        return _place(system, what, source, kind)
    if kind == "attitude":
        return _direction(system, what, source, rest)
    if kind == "deflection":
        name, axis = _axis(what, source, rest)
        marker = system._marker(f"{what}, place", _interface(system, what, name), np.eye(3))
        return Signal(source, DEFLECTION, markers=(marker, marker), axes=(axis, 0))
    if kind in ("elastic", "elastic-rate"):
        return _elastic(system, what, source, rest, ELASTIC if kind == "elastic" else ELASTIC_RATE)
    if kind in ("stretch", "stretch-rate"):
        return _element(system, what, source, rest, VALUE if kind == "stretch" else RATE)
    raise ControllerError(
        f"{what}: a continuous controller reads {CONTINUOUS}; found {source!r}. With a sample_time, the law reads all "
        "measures of results, such as attitude:BODY:ZYX:1."
    )


def _joint(system: "WithForces", what: str, source: str, rest: str, sort: int) -> Signal:
    joint, _, dof = rest.partition(":")
    if joint not in system._joints:
        raise ControllerError(f"{what}: {unknown_name('joint', joint, system._joints)}")
    kind, pair, _ = system._joints[joint]
    axes = {f"translation {'xyz'[k]}": k for k in (JOINTS[kind].free_axes if kind in JOINTS else ()) if k < 3}
    if dof in axes:
        return Signal(source, sort, TRANSLATION, pair, (axes[dof], 0))
    chosen = joint_dof(joint, kind, dof or None)
    row_kind, axis = (ANGLE, 0) if chosen == "rotation" else (TRANSLATION, 2)
    return Signal(source, sort, row_kind, pair, (axis, 0))


def _axis(what: str, source: str, rest: str) -> tuple[str, int]:
    """The name and the number of the axis of a vector."""
    name, _, axis = rest.rpartition(":")
    if axis not in ("x", "y", "z") or not name:
        raise ControllerError(
            f"{what}: a continuous controller reads one axis, as in position:rod.end:z; found {source!r}."
        )
    return name, "xyz".index(axis)


def _place(system: "WithForces", what: str, source: str, kind: str) -> Signal:
    name, axis = _axis(what, source, source.partition(":")[2])
    origin, marker = _from_origin(system, what, source, name)
    sort, row = (RATE, SPIN) if kind == "angular-velocity" else (RATE if kind == "velocity" else VALUE, TRANSLATION)
    return Signal(source, sort, row, (origin, marker), (axis, 0))


def _direction(system: "WithForces", what: str, source: str, rest: str) -> Signal:
    """An entry of the rotation matrix of a place. Raises `ControllerError` for angles and quaternions, whose turns and
    signs go on from those before."""
    name, _, part = rest.rpartition(":")
    name, _, form = name.rpartition(":")
    if not name or form != "matrix" or part not in MATRIX:
        place = rest.partition(":")[0] or "PLACE"
        raise ControllerError(
            f"{what}: {source!r} goes on from the turns or the sign before, which a continuous law does not know. Let "
            f"it read the directions of axes, attitude:{place}:matrix:zx to zz and so on (zy is the sine of a turn "
            f"about x, xz about y and yx about z), which have no jumps, or give it a sample_time."
        )
    origin, marker = _from_origin(system, what, source, name)
    return Signal(source, VALUE, DOT, (origin, marker), ("xyz".index(part[0]), "xyz".index(part[1])))


def _from_origin(system: "WithForces", what: str, source: str, name: str) -> tuple[int, int]:
    """The markers at the origin of the world and at a place, with the axes of its body."""
    if name == "ground":
        raise ControllerError(f"{what}: the ground does not move; found {source!r}.")
    place = place_of(system, what, name)
    marker = system._marker(f"{what}, place", place, system._frames[place.body][1])
    return system._marker(f"{what}, origin", Attachment(GROUND, np.zeros(3)), np.eye(3)), marker


def place_of(system: "WithForces", what: str, name: str) -> Attachment:
    """The place called "body.interface", or the frame of a body. Raises `ControllerError` when there is none."""
    names = [body.name for body in system._bodies]
    if name in names:
        return Attachment(names.index(name), np.zeros(3))
    return _interface(system, what, name)


def _interface(system: "WithForces", what: str, name: str) -> Attachment:
    known = {
        f"{body.name}.{key}": Attachment(k, interface.point, key)
        for k, body in enumerate(system._bodies)
        for key, interface in body.interfaces.items()
    }
    if name not in known:
        raise ControllerError(f"{what}: {unknown_name('place', name, [*known, *(b.name for b in system._bodies)])}")
    return known[name]


def _elastic(system: "WithForces", what: str, source: str, rest: str, sort: int) -> Signal:
    name, _, number = rest.rpartition(":")
    names = [body.name for body in system._bodies]
    if name not in names:
        raise ControllerError(f"{what}: {unknown_name('body', name, names)}")
    modes = system._bodies[names.index(name)].modes
    if not number.isdecimal() or not 1 <= int(number) <= modes:
        raise ControllerError(f"{what}: body {name!r} has the elastic coordinates 1 to {modes}; found {source!r}.")
    return Signal(source, sort, body=names.index(name), index=int(number) - 1)


def _element(system: "WithForces", what: str, source: str, rest: str, sort: int) -> Signal:
    if rest not in system._forces:
        raise ControllerError(f"{what}: {unknown_name('force element', rest, system._forces)}")
    row = one_row(system, what, rest)
    if row.terms:
        raise ControllerError(
            f"{what}: the coordinate of {rest!r} is a sum of {1 + len(row.terms)}, as of the pieces of a cable, and a "
            "continuous controller reads the coordinate of a spring_damper, joint_spring or motor; found "
            f"{source!r}. Give the law a sample_time, with which it reads the sum, or let it add coordinates of joints."
        )
    return Signal(source, sort, row.kind, row.markers, row.axes, row.offset if sort == VALUE else 0.0)


def one_row(system: "WithForces", what: str, element: str) -> Row:
    """The row of a force element with one coordinate. Raises `ControllerError` when it has several."""
    rows = system._forces[element]
    if element in [friction.name for friction in system._frictions]:
        raise ControllerError(
            f"{what}: {element!r} is dry friction, whose effort follows from the reaction of its joint."
        )
    if len(rows) != 1 or rows[0].kind not in (ANGLE, TRANSLATION, DISTANCE):
        raise ControllerError(
            f"{what}: {element!r} has {len(rows)} coordinates; a continuous controller needs an element with one: a "
            "spring_damper, joint_spring or motor."
        )
    return rows[0]

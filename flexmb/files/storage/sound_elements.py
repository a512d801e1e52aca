"""Validation of the elements of a mechanism from a file: forces between frames, contacts, friction, lines, controllers.

Compiled code takes rows, markers, bodies, functions and commands from these elements without checks of its own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from flexmb.contact.group import ContactGroup
from flexmb.contact.local import LocalHertz
from flexmb.contact.shape import ContactShape
from flexmb.contact.shapes import Meshes, pair_of, require_pair, shape_of_code
from flexmb.files.storage.sound import KINDS, require, require_index, require_number, require_numbers, require_text
from flexmb.kernels.base.data import ANGLE, SPIN, TRANSLATION
from flexmb.kernels.contact.forces import (
    DAMPING,
    DEEPEST,
    EXPONENT,
    FRICTION,
    LINE,
    ROLLING,
    SHAPE_A,
    SHAPE_B,
    SLIP_SPEED,
    SPINNING,
    STATIC,
    STIFFNESS,
    TURN_SPEED,
)
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
from flexmb.kernels.loads.lines import FLOW, WIND
from flexmb.mechanism.contacts.element import is_contact
from flexmb.mechanism.contacts.exact import OPEN, STICKS, ExactContact, point_states, points_of_pair, require_exact
from flexmb.mechanism.contacts.group import require_kinds
from flexmb.mechanism.contacts.surface import FACING, RIGID, SurfaceContact
from flexmb.mechanism.control.controller import MEASURED, Controller, Signal
from flexmb.mechanism.joints import joint_dof
from flexmb.mechanism.lines.line import Line, nodes_of
from flexmb.mechanism.mechanism import ALL, FrameForce, JointFriction, Mechanism, free_rows

FRAME_ROWS = tuple((kind, (i, 0)) for kind in (TRANSLATION, SPIN) for i in range(3))
"""Kinds and axes of the rows of a force element between two frames."""
ROUNDED = 1e-9
"""By how much the ratio of two equal coefficients may miss 1."""
NOT_NEGATIVE = (STIFFNESS, DAMPING, LINE, FRICTION, STATIC, ROLLING, SPINNING)
POSITIVE = (EXPONENT, SLIP_SPEED, DEEPEST, TURN_SPEED)
"""Entries of the parameters of a contact by their ranges."""


def require_sound_elements(m: Mechanism) -> None:
    """Raise `UnsoundError` or `MechanismError` unless the force elements between frames, the contacts, frictions, lines
    and controllers of a mechanism with sound rows are consistent: indices in range, shapes that can touch, laws with
    numbers in their ranges."""
    for kind in ("frame_forces", "contact_groups", "frictions", "controllers", "lines", "contacts", "surface_contacts"):
        names = [part.name for part in getattr(m, kind)]
        for name in names:
            require_text(name, f"a name in {kind}")
        require(len({*names}) == len(names), f"{kind} have equal names: {names}")
    for force in m.frame_forces:
        _require_frame_force(m, force)
    for group in m.contact_groups:
        _require_group(m, group)
    for contact in m.contacts:
        _require_exact_contact(m, contact)
    for surface in m.surface_contacts:
        _require_surface_contact(m, surface)
    for friction in m.frictions:
        _require_friction(m, friction)
    for line in m.lines:
        _require_line(m, line)
    for controller in m.controllers:
        for signal in controller.signals:
            _require_signal(m, controller, signal)


def require_states(m: Mechanism, states: Any, what: str) -> None:
    """Raise `UnsoundError` unless `states` (nt, nz) are those of the elements of a mechanism: finite, and of points of
    exact contacts a mode that exists."""
    require_numbers(states, (len(states), len(m.initial_states)), f"the states of elements in {what}")
    for contact in m.contacts:
        modes = point_states(states, contact, m.contact_state(contact.name))[..., 0]
        require(
            np.isin(modes, range(OPEN, STICKS + 1)).all(),
            f"a point of contact {contact.name!r} in {what} is neither apart, nor slides, nor sticks",
        )
        if contact.turns:
            modes = point_states(states, contact, m.turning_state(contact))[..., 0]
            require(
                np.isin(modes, range(5)).all(),
                f"the friction of turning of contact {contact.name!r} in {what} has a mode that does not exist",
            )


def _require_frame_force(m: Mechanism, force: FrameForce) -> None:
    what = f"the element {force.name!r}"
    own = _rows_of(m, force.name, what)
    require(own == tuple(range(own[0], own[0] + 6)), f"{what} does not have six rows one after another")
    rows = [m.rows[r] for r in own]
    require(
        tuple((row.kind, row.axes) for row in rows) == FRAME_ROWS and len({row.markers for row in rows}) == 1,
        f"the rows of {what} are not those of the relative motion of two frames",
    )
    read, commands = len(force.call.law.inputs), sum(len(c.call.law.commands) for c in m.controllers)
    lowest, highest = (0, commands - read + 1) if read else (-1, 0)
    require_index(force.command, lowest, highest, f"the command of {what}")
    if is_contact(force):
        p = force.parameters
        require_pair(*_pair(p, force.meshes, what), force.name)
        _require_law_numbers(p, what)
    else:
        require(not force.meshes, f"{what} has meshes, and is no contact")


def _pair(numbers: Sequence[float], meshes: Meshes, what: str) -> tuple[ContactShape, ContactShape]:
    """The shapes of numbers that begin with those of a pair."""
    for code in (numbers[SHAPE_A], numbers[SHAPE_B]):
        require(float(code).is_integer(), f"the code of a shape of {what} is {code}, expected a whole number")
    return pair_of(numbers, meshes)


def _shape(numbers: Sequence[float], what: str) -> ContactShape:
    """A simple shape of its numbers."""
    require(float(numbers[0]).is_integer(), f"the code of a shape of {what} is {numbers[0]}, expected a whole number")
    return shape_of_code(numbers[0], numbers[1:])


def _require_law_numbers(p: Sequence[float], what: str) -> None:
    """The numbers of the law of a contact, at the entries of its parameters `p`."""
    for k in (*NOT_NEGATIVE, *POSITIVE):
        least = "positive" if k in POSITIVE else "not negative"
        require(
            p[k] > 0 or (k in NOT_NEGATIVE and p[k] == 0), f"parameter {k} of {what} is {p[k]}, expected a {least} one"
        )
    require(p[STATIC] >= p[FRICTION], f"the static coefficient of {what} is below that of sliding")


def _require_group(m: Mechanism, group: ContactGroup) -> None:
    what = f"the group {group.name!r} of contacts"
    count = len(group.shapes)
    require(len(group.markers) == count >= 2, f"{what} has {len(group.markers)} markers for {count} shapes")
    require(len(group.call.labels) == count, f"{what} has {len(group.call.labels)} labels for {count} shapes")
    for k in group.markers:
        require_index(k, 0, len(m.markers), f"a marker of {what}")
    require_kinds([(s, m.markers[k].body) for s, k in zip(group.shapes, group.markers, strict=True)], group.name)
    _require_law_numbers([0.0] * STIFFNESS + list(group.parameters), what)


def _require_exact_contact(m: Mechanism, contact: ExactContact) -> None:
    what = f"contact {contact.name!r}"
    require(len(contact.markers) == 2, f"{what} has {len(contact.markers)} markers")
    for k in contact.markers:
        require_index(k, 0, len(m.markers), f"a marker of {what}")
    require(len(contact.shapes) == 8, f"the shapes of {what} have {len(contact.shapes)} numbers, expected 8")
    a, b = _pair(contact.shapes, contact.meshes, what)
    require_pair(a, b, contact.name)
    require_exact(a, b, contact.name)
    require(
        contact.points == points_of_pair(a, b),
        f"{what} of {a.title} and {b.title} has {contact.points} points, expected {points_of_pair(a, b)}",
    )


def _require_surface_contact(m: Mechanism, contact: SurfaceContact) -> None:
    what = f"contact {contact.name!r}"
    require_index(contact.marker, 0, len(m.markers), f"the marker of {what}")
    require_index(contact.body, 0, len(m.bodies), f"the body of {what}")
    require(len(contact.shape) == 4, f"the shape of {what} has {len(contact.shape)} numbers, expected 4")
    if contact.mesh is not None:
        require(contact.other == RIGID and not contact.local, f"{what} faces a mesh and something else")
        require(contact.shape == FACING, f"{what} faces a mesh, and has the shape {contact.shape}")
    elif contact.other == RIGID:
        _shape(contact.shape, what)
    else:
        require_index(contact.other, 0, len(m.bodies), f"the other body of {what}")
        require(m.markers[contact.marker].body == contact.other, f"the marker of {what} is not on its other body")
        contact.other_of(m.bodies)
    nodes = 1 if contact.local else len(contact.surface_of(m.bodies).nodes)
    require(contact.nodes == nodes, f"{what} has {contact.nodes} points, expected {nodes}")
    if contact.local:
        require(len(contact.local) == 4, f"{what} has {len(contact.local)} numbers of its materials, expected 4")
        LocalHertz(*contact.local)
    require(m.markers[contact.marker].body != contact.body, f"{what} is that of a body with itself")


def _require_friction(m: Mechanism, friction: JointFriction) -> None:
    what = f"the friction {friction.name!r}"
    require(all(x >= 0 for x in friction.factors), f"a factor of {what} is negative: {friction.factors}")
    require(
        1 - ROUNDED <= friction.static < np.inf,
        f"{what} sticks with {friction.static} times the effort with which it slides; expected at least 1",
    )
    require(friction.direction in (-1.0, 0.0, 1.0), f"the direction of {what} is {friction.direction}")
    require(0 <= friction.speed < np.inf, f"the sliding velocity that regularises {what} is {friction.speed}")
    require(all(0 < arm < np.inf for arm in friction.arms), f"an arm of {what} is not positive: {friction.arms}")
    own, joint = _rows_of(m, friction.name, what), m.joint(friction.joint)
    if friction.dof == ALL:
        require(joint.kind in ("cylindrical", "spherical"), f"{what} has one free motion")
    else:
        joint_dof(joint.name, joint.kind, friction.dof)
    expected = free_rows(joint.kind, friction.dof, joint.markers)
    found = [(m.rows[r].kind, m.rows[r].axes, m.rows[r].markers) for r in own]
    require(
        found == [(row.kind, row.axes, row.markers) for row in expected] and len(friction.arms) == len(own),
        f"the rows of {what} are not those of the free motions of joint {joint.name!r}",
    )


def _rows_of(m: Mechanism, name: str, what: str) -> tuple[int, ...]:
    require(name in m.force_elements, f"{what} has no rows")
    return m.force_elements[name]


def _require_line(m: Mechanism, line: Line) -> None:
    what = f"the line {line.name!r}"
    require(line.kind in (FLOW, WIND), f"{what} is of kind {line.kind!r}")
    require_index(line.body, 0, len(m.bodies), f"the body of {what}")
    require_index(line.function, -1, len(m.functions), f"the function of {what}")
    require_numbers(line.points, (len(line.points), 3), f"the points of {what}")
    require_numbers(line.numbers, (6,), f"the numbers of {what}")
    require(
        len(line.points) >= 2 and (np.linalg.norm(np.diff(line.points, axis=0), axis=1) > 0).all(),
        f"{what} has fewer than two points, or neighbours that coincide",
    )
    if m.bodies[line.body].modes:
        nodes_of(m.bodies[line.body], line.points, what)


def _require_signal(m: Mechanism, controller: Controller, signal: Signal) -> None:
    what = f"the signal {signal.source!r} of controller {controller.name!r}"
    require_text(signal.source, f"a source of controller {controller.name!r}")
    require_number(signal.given, f"the value of {what}")
    require_index(signal.sort, MEASURED, CONSTANT + 1, f"the sort of {what}")
    if signal.sort == MEASURED:
        require(controller.sample_time is not None, f"{what} is measured at samples, and the controller is continuous")
    elif signal.sort in (VALUE, RATE, DEFLECTION):
        for k in signal.markers:
            require_index(k, 0, len(m.markers), f"a marker of {what}")
        for k in signal.axes:
            require_index(k, 0, 3, f"an axis of {what}")
        require(signal.sort == DEFLECTION or signal.kind in KINDS, f"{what} is of kind {signal.kind}")
        if signal.sort != DEFLECTION and signal.kind == ANGLE:
            require(signal.markers in m.turning, f"{what} is an angle that no joint or force element has")
    elif signal.sort in (ELASTIC, ELASTIC_RATE):
        require_index(signal.body, 0, len(m.bodies), f"the body of {what}")
        require(signal.index >= 0, f"{what} is the elastic coordinate {signal.index}")
    elif signal.sort in (FUNCTION, COMMAND):
        count = len(m.functions) if signal.sort == FUNCTION else sum(len(c.call.law.commands) for c in m.controllers)
        require_index(signal.index, 0, count, f"the index of {what}")

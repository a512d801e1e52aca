"""Exact contacts that remain closed, for equilibria and small motions: a mechanism with joints in their place.

A point that touches is a joint: it keeps its distance from the plane and, if it sticks, its place there. The joints
hold exactly what the contact holds as long as its forces push and stay within their cones; whether they do follows from
the cone problem of all points (`require_closed`), since the multipliers of redundant points are not unique.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flexmb.contact.cones import Bounded, Coulomb, solve_contacts
from flexmb.contact.shapes import Box, Capsule, ContactShape, Plane, Sphere
from flexmb.contact.triangle_mesh import TriangleMesh
from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import as_sparse
from flexmb.errors import EquilibriumError, MechanismError, UnilateralError
from flexmb.kernels.base.data import GROUND, TRANSLATION
from flexmb.mechanism.contacts.element import points_of
from flexmb.mechanism.contacts.exact import OPEN, SLIDES, ExactContact, contact_states, point_states
from flexmb.mechanism.locking import with_joints
from flexmb.mechanism.mechanism import Marker, Mechanism, Row
from flexmb.mechanism.state import State

CLOSED = "closed contact"
"""The kind of the joints."""
TOUCHES = 1e-6
"""Gap, relative to the length of the mechanism, below which a point touches where no simulation says so."""
MOVES = 1e-6
"""Acceleration of a point that does not remain closed, relative to those without its forces."""


class Closed(NamedTuple):
    """A mechanism without exact contacts, its initial state, and the coefficients of the `friction` of its joints in
    the place of points, by name."""

    mechanism: Mechanism
    state: State
    friction: Mapping[str, float]


class _Point(NamedTuple):
    """A point of a body at a plane: in the axes of its shape, at a `height` above the plane where it touches."""

    place: np.ndarray
    height: float


def with_closed_contacts(mechanism: Mechanism, state: State, what: str) -> Closed:
    """The mechanism in which the points of exact contacts that touch at a state are joints.

    Points touch, and stick or slide, as a simulation has left them; a state without this knowledge, such as the initial
    one, has contacts where there is no gap, which stick. `what`: the analysis, for messages.

    Raises `MechanismError` for points that slide with friction, and for shapes that roll, whose contact is no joint.
    """
    e = Equations(mechanism, state.q, state.angles, state.element_states)
    none = np.zeros_like(state.w)
    e.residual(mechanism.function_values(state.t), state.q, none, none, np.zeros(mechanism.joint_rows))
    position, axes = e.kinematics.position, e.kinematics.axes
    markers, joints, friction = list(mechanism.markers), {}, {}
    for contact in mechanism.contacts:
        a, b = contact.pair
        swapped = not isinstance(a, Plane)
        plane, own = contact.markers[::-1] if swapped else contact.markers
        touching = _touching(mechanism, state, contact, position, axes)
        if not len(touching):
            continue
        if contact.turns:
            raise MechanismError(
                f"The contact {contact.name!r} touches and has friction of turning, whose moments {what} does not "
                "include. Leave turning_friction out, or hold the body by a joint."
            )
        marker, mu = mechanism.markers[own], contact.static
        points = _points(contact, a if swapped else b, b if swapped else a, marker, mechanism, what)
        for k in touching:
            place = marker.point + marker.axes @ points[k].place
            name = f"{contact.name}.{k}"
            markers.append(replace(marker, name=name, point=place))
            world = position[own] + axes[own] @ points[k].place
            seen = axes[plane].T @ (world - position[plane])
            pair = (plane, len(markers) - 1)
            rows = [Row(TRANSLATION, pair, (2, 0), offset=points[k].height)]
            rows += [Row(TRANSLATION, pair, (i, 0), offset=float(seen[i])) for i in range(2) if mu > 0]
            joints[name], friction[name] = (pair, rows), mu
    begin = mechanism.initial_states[: len(mechanism.initial_states) - contact_states(mechanism.contacts)]
    without = replace(mechanism, contacts=(), markers=tuple(markers), initial=replace(state, element_states=begin))
    made = with_joints(without, joints, CLOSED)
    states = state.element_states[: len(begin)]
    angles = made.angles_of(mechanism, state.angles)
    return Closed(made, replace(state, angles=angles, element_states=states), friction)


def _touching(
    mechanism: Mechanism, state: State, contact: ExactContact, position: np.ndarray, axes: np.ndarray
) -> np.ndarray:
    """The numbers of the points that touch. Raises `MechanismError` when one of them slides with friction."""
    if len(state.element_states):
        first = mechanism.contact_state(contact.name)
        modes = point_states(state.element_states, contact, first)[:, 0]
        if contact.friction > 0 and (modes == SLIDES).any():
            raise MechanismError(
                f"The contact {contact.name!r} slides at the state, so that its friction is no reaction, and there are "
                "no small motions about it. Take a state at which it sticks."
            )
        return np.flatnonzero(modes != OPEN)
    a, b = contact.markers
    found = points_of(contact.numbers, axes[a].T @ (position[b] - position[a]), axes[a].T @ axes[b])
    return np.flatnonzero(-found[: contact.points, 6] <= TOUCHES * mechanism.length)


def _points(
    contact: ExactContact, shape: ContactShape, plane: ContactShape, marker: Marker, mechanism: Mechanism, what: str
) -> list[_Point]:
    """The points of a shape that touch a plane, in the order of the contact."""
    points = list(_points_of_shape(shape)) if isinstance(plane, Plane) else []
    reason = "their contact point moves on both of them"
    if points and contact.static > 0 and any(point.height for point in points):
        points, reason = [], "it rolls, which is an equation of velocities: use System.rolling, or no friction"
    if points and marker.body != GROUND and mechanism.bodies[marker.body].is_flexible:
        points = points if all(not point.place.any() for point in points) else []
        reason = "its corners are not at an interface of the flexible body"
    if not points:
        raise MechanismError(
            f"{what} includes exact contacts of boxes and meshes with planes, and those of spheres and capsules with "
            f"planes without friction. The contact {contact.name!r} of a {contact.pair[0].title} and a "
            f"{contact.pair[1].title} touches, and is none of them: {reason}. Give it a law= of the normal force."
        )
    return points


def _points_of_shape(shape: ContactShape) -> Iterator[_Point]:
    match shape:
        case Box(x, y, z):
            for k in range(8):
                yield _Point(np.array([(x, -x)[not k & 1], (y, -y)[not k & 2], (z, -z)[not k & 4]]) / 2, 0.0)
        case TriangleMesh():
            yield from (_Point(corner, 0.0) for corner in shape.hull.corners)
        case Sphere(radius):
            yield _Point(np.zeros(3), radius)
        case Capsule(radius, length):
            yield from (_Point(np.array([0, 0, half]), radius) for half in (0.5 * length, -0.5 * length))


def require_closed(closed: Closed, state: State) -> None:
    """Raises `EquilibriumError` unless the points of a mechanism at rest remain closed with forces that push and stay
    within the cones of their friction."""
    mechanism, names = closed.mechanism, list(closed.friction)
    if not names:
        return
    e, functions = (
        Equations(mechanism, state.q, state.angles, state.element_states),
        mechanism.function_values(state.t),
    )
    still, none = np.zeros_like(state.w), np.zeros(mechanism.joint_rows)
    rows = [r for name in names for r in mechanism.joint(name).rows]
    wanted = e.wanted_accelerations(functions, state.q, still)
    unbalanced, _ = e.residual(functions, state.q, still, still, none)
    G = as_sparse(e.flat, e.workspace.G)[rows].toarray()
    X = np.array([e.on_joints(g, none, rows)[0] for g in G]).T
    free = G @ e.on_joints(-unbalanced, wanted, rows)[0]
    W = G @ X
    laws = [Coulomb(mu) if mu > 0 else Bounded() for mu in closed.friction.values()]
    message = (
        f"{mechanism.name!r} has no equilibrium with the contacts that touch: {{}}. Simulate it until it rests, and "
        "take the equilibrium of that state."
    )
    try:
        found = solve_contacts(0.5 * (W + W.T), free, laws).velocities
    except UnilateralError as error:
        raise EquilibriumError(message.format(error)) from error
    worst = int(np.abs(found).argmax())
    if np.abs(found[worst]) > MOVES * np.abs(free).max():
        owner = next(name for name in names if rows[worst] in mechanism.joint(name).rows)
        opens = rows[worst] == mechanism.joint(owner).rows[0]
        raise EquilibriumError(message.format(f"the point {owner!r} {'opens' if opens else 'slides'}"))

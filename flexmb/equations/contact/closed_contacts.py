"""Exact contacts that remain closed, for equilibria, small motions and derivatives: a mechanism with joints in their
place.

A point that touches is a joint: it keeps its distance from the plane and, if it sticks, its place there. The joints
hold exactly what the contact holds as long as its forces push and stay within their cones; whether they do follows from
the cone problem of all points (`closing_forces`), since the multipliers of redundant points are not unique.

In a motion (`with_points_in_motion`), balls, capsules and the rims of cylinders roll where they stick, and points that
slide have dry friction: the force against the slip is the coefficient times the multiplier of the distance.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flexmb.contact.cones import Bounded, Coulomb, solve_contacts
from flexmb.contact.shapes import Box, Capsule, ContactShape, Cylinder, Plane, Sphere
from flexmb.contact.triangle_mesh import TriangleMesh
from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import as_sparse
from flexmb.errors import EquilibriumError, MechanismError, UnilateralError
from flexmb.kernels.base.data import GROUND, HEIGHT, SLIP, TRANSLATION
from flexmb.mechanism.contacts.element import points_of
from flexmb.mechanism.contacts.exact import CLOSED, OPEN, SLIDES, STICKS, ExactContact, contact_states, point_states
from flexmb.mechanism.locking import with_joints
from flexmb.mechanism.mechanism import ALL, JointFriction, Marker, Mechanism, Row
from flexmb.mechanism.state import State

ENDS = 2
"""Points of a cylinder that are the lowest of a rim; it stands on the others."""
TOUCHES = 1e-6
"""Gap, relative to the length of the mechanism, below which a point touches where no simulation says so."""
LEVEL = 1e-9
"""Slope (rad) of a plane below which it is level to round-off."""
RING = 60
"""Points of a rim on which a cylinder stands at rest. It tips about the edge between two of them, which is at 0.9986 of
the radius at least."""
MOVES = 1e-6
"""Acceleration of a point that does not remain closed, relative to those without its forces."""

WITHIN = 1e-9
"""Force by which a point may pull or leave its cone for round-off, relative to the largest of all points."""


class Closed(NamedTuple):
    """A mechanism without exact contacts, its initial state, and the coefficients of the `friction` of its joints in
    the place of points, by name."""

    mechanism: Mechanism
    state: State
    friction: Mapping[str, float]


class _Point(NamedTuple):
    """A point of a body at a plane: a corner, or the lowest point of a ball or of the rim of a disc about the z axis of
    the shape, with its `radius`. `place`: in the axes of the shape, of the corner or the centre."""

    place: np.ndarray
    radius: float = 0.0
    disc: bool = False

    def distance(self, pair: tuple[int, int]) -> Row:
        """The equation of its distance from the plane, the first marker of `pair`."""
        return Row(HEIGHT if self.disc else TRANSLATION, pair, (2, 0), offset=self.radius)

    def across(self, pair: tuple[int, int], seen: np.ndarray) -> list[Row]:
        """The motions across the normal: the coordinates of a corner, now at `seen` (2,), or the slip of a round
        shape."""
        if not self.radius:
            return [Row(TRANSLATION, pair, (i, 0), offset=float(seen[i])) for i in range(2)]
        return [Row(SLIP, pair, (i, 0 if self.disc else 1), offset=self.radius) for i in range(2)]


def with_closed_contacts(mechanism: Mechanism, state: State, what: str) -> Closed:
    """The mechanism in which the points of exact contacts that touch at a state are joints.

    Points touch, and stick or slide, as a simulation has left them; a state without this knowledge, such as the initial
    one, has contacts where there is no gap, which stick. `what`: the analysis, for messages.

    Raises `MechanismError` for points that slide with friction, and for shapes that roll, whose contact is no joint.
    """
    touching = points_that_touch(mechanism, state)
    modes = {c.name: np.where(np.isin(np.arange(c.points), touching[c.name]), STICKS, OPEN) for c in mechanism.contacts}
    return _closed(mechanism, state, modes, what, moving=False)


def with_points_in_motion(mechanism: Mechanism, modes: Mapping[str, np.ndarray], what: str) -> Mechanism:
    """The mechanism in whose initial state the points of each exact contact have the `modes` (n,), by its name, and
    keep them: those that stick are joints, balls and rims that stick roll, and those that slide have dry friction.

    Raises `MechanismError` for shapes whose points are none of these. `what`: the analysis, for messages.
    """
    return _closed(mechanism, mechanism.initial, modes, what, moving=True).mechanism


def _closed(mechanism: Mechanism, state: State, modes: Mapping[str, np.ndarray], what: str, *, moving: bool) -> Closed:
    position, axes = _places(mechanism, state)
    markers, joints, friction = list(mechanism.markers), {}, {}
    rubbing: list[JointFriction] = []
    rows_of: dict[str, list[Row]] = {}
    for contact in mechanism.contacts:
        a, b = contact.pair
        swapped = not isinstance(a, Plane)
        plane, own = contact.markers[::-1] if swapped else contact.markers
        touching = np.flatnonzero(modes[contact.name] != OPEN)
        if not len(touching):
            continue
        if contact.turns:
            raise MechanismError(
                f"The contact {contact.name!r} touches and has friction of turning, whose moments {what} does not "
                "include. Leave turning_friction out, or hold the body by a joint."
            )
        marker = mechanism.markers[own]
        points = _points(contact, a if swapped else b, b if swapped else a, marker, mechanism, what, moving)
        sticks = modes[contact.name] == STICKS
        if contact.on_rims and touching[-1] >= ENDS:
            if moving:
                raise _refused(contact, what, moving, "it stands on its rim")
            points = _ring(a if swapped else b, axes[plane][:, 2] @ axes[own][:, 2] > 0)
            touching, sticks = np.arange(RING), np.ones(RING, dtype=bool)
        elif not moving and contact.static > 0 and any(points[k].radius for k in touching):
            rolls = "it rolls, which is an equation of velocities: use System.rolling, or no friction"
            askew = _askew(contact, touching, axes)
            if askew and askew.upright < askew.lying:
                rolls = (
                    f"{askew}, and rolls there. {askew.remedy}; if it is to lean, use System.rolling, or no friction"
                )
            raise _refused(contact, what, moving, rolls)
        for k in touching:
            point = points[k]
            name = f"{contact.name}.{k}"
            markers.append(replace(marker, name=name, point=marker.point + marker.axes @ point.place))
            world = position[own] + axes[own] @ point.place
            pair = (plane, len(markers) - 1)
            rows, across = [point.distance(pair)], point.across(pair, axes[plane].T @ (world - position[plane]))
            if sticks[k] and contact.static > 0:
                rows += across
            elif contact.friction > 0 and not sticks[k]:
                slides = f"{name} slides"
                rubbing.append(
                    JointFriction(slides, name, ALL, (0.0, contact.friction, 0.0, 0.0), direction=1.0, arms=(1.0, 1.0))
                )
                rows_of[slides] = across
            joints[name], friction[name] = (pair, rows), contact.static
    begin = mechanism.initial_states[: len(mechanism.initial_states) - contact_states(mechanism.contacts)]
    without = replace(mechanism, contacts=(), markers=tuple(markers), initial=replace(state, element_states=begin))
    made = _with_friction(with_joints(without, joints, CLOSED), rubbing, rows_of)
    states = state.element_states[: len(begin)]
    angles = made.angles_of(mechanism, state.angles)
    return Closed(made, replace(state, angles=angles, element_states=states), friction)


def _with_friction(
    mechanism: Mechanism, rubbing: Sequence[JointFriction], rows_of: Mapping[str, Sequence[Row]]
) -> Mechanism:
    """The mechanism with the frictions `rubbing` and their rows, by their names."""
    rows, forces = list(mechanism.rows), dict(mechanism.force_elements)
    for name, own in rows_of.items():
        forces[name] = tuple(range(len(rows), len(rows) + len(own)))
        rows.extend(own)
    frictions = (*mechanism.frictions, *rubbing)
    return replace(mechanism, rows=tuple(rows), force_elements=forces, frictions=frictions)


def _places(mechanism: Mechanism, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) and axes (n, 3, 3) of all markers at a state."""
    e = Equations(mechanism, state.q, state.angles, state.element_states)
    none = np.zeros_like(state.w)
    e.residual(mechanism.function_values(state.t), state.q, none, none, np.zeros(mechanism.joint_rows))
    return e.kinematics.position, e.kinematics.axes


def points_that_touch(mechanism: Mechanism, state: State) -> dict[str, np.ndarray]:
    """The numbers of the points that touch at a state, by the names of the exact contacts, as a simulation has left
    them, or by their gaps. Raises `MechanismError` when one of them slides with friction."""
    position, axes = _places(mechanism, state)
    return {c.name: _touching(mechanism, state, c, position, axes) for c in mechanism.contacts}


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
    touches = -found[: contact.points, 6] <= TOUCHES * mechanism.length
    if contact.on_rims:  # in the order of the points of such a contact: the ends of the axis, and where it stands
        touches = np.array([touches[4], touches[0], touches[[1, 2, 3, 5, 6, 7]].any()])
    return np.flatnonzero(touches)


def _points(
    contact: ExactContact,
    shape: ContactShape,
    plane: ContactShape,
    marker: Marker,
    mechanism: Mechanism,
    what: str,
    moving: bool,
) -> list[_Point]:
    """The points of a shape that touch a plane, in the order of the contact, without those on which cylinders stand."""
    points = list(_points_of_shape(shape)) if isinstance(plane, Plane) else []
    reason = "their contact point moves on both of them"
    if points and marker.body != GROUND and mechanism.bodies[marker.body].is_flexible:
        points = points if not any(point.place.any() for point in points) else []
        reason = "its points are not at an interface of the flexible body"
    if not points:
        raise _refused(contact, what, moving, reason)
    return points


class _Askew(NamedTuple):
    """A cylinder that touches a plane with the rim of one `end` only, its angles (rad) from upright and from lying."""

    end: str
    upright: float
    lying: float

    def __str__(self) -> str:
        angle, place = min((self.upright, "upright"), (self.lying, "lying"))
        point = f"one point of the rim of its end {self.end}"
        return f"its axis is {angle:.3g} rad from {place}, so that it touches with {point}"

    @property
    def remedy(self) -> str:
        if self.upright < self.lying:
            return "If it is to stand, draw it upright, its axis along the normal of the plane, to all digits"
        return "If it is to lie, draw it level, its axis across the normal of the plane, to all digits"


def _askew(contact: ExactContact, touching: np.ndarray, axes: np.ndarray) -> _Askew | None:
    """How a cylinder is askew whose points `touching` are one end of its rim; None for other contacts."""
    if not (contact.on_rims and len(touching) == 1 and touching[0] < ENDS):
        return None
    along, normal = (axes[k][:, 2] for k in contact.markers)
    across, height = float(np.linalg.norm(np.cross(along, normal))), float(abs(along @ normal))
    return _Askew(
        "-z" if touching[0] == 0 else "+z", float(np.arctan2(across, height)), float(np.arctan2(height, across))
    )


def weak_contacts(mechanism: Mechanism, state: State) -> str:
    """Sentences about the contacts that touch at a state and hold less than they may be meant to: cylinders that touch
    with the rim of one end, and planes without friction that slope against gravity."""
    position, axes = _places(mechanism, state)
    weight, found = float(np.linalg.norm(mechanism.gravity)), []
    for contact in mechanism.contacts:
        touching = _touching(mechanism, state, contact, position, axes)
        askew = _askew(contact, touching, axes)
        if askew is not None:
            found.append(f" The cylinder of {contact.name!r} is askew: {askew}. {askew.remedy}.")
        plane = [k for k, shape in zip(contact.markers, contact.pair, strict=True) if isinstance(shape, Plane)]
        if not len(touching) or contact.static > 0 or weight == 0.0 or not plane:
            continue
        down, normal = mechanism.gravity / weight, axes[plane[0]][:, 2]
        slope = float(np.arctan2(np.linalg.norm(np.cross(down, normal)), abs(down @ normal)))
        if slope > LEVEL:
            found.append(
                f" The plane of {contact.name!r} slopes by {slope:.3g} rad, and the contact has no friction to hold "
                "anything on it. Give it friction=, or hold the body by a joint or a spring."
            )
    return "".join(found)


def _ring(shape: ContactShape, upright: bool) -> list[_Point]:
    """The points on which a cylinder stands: on the rim of its end -z if it is `upright`."""
    assert isinstance(shape, Cylinder)
    turn, low = 2 * np.pi * np.arange(RING) / RING, -0.5 * shape.length if upright else 0.5 * shape.length
    return [_Point(np.array([shape.radius * np.cos(x), shape.radius * np.sin(x), low])) for x in turn]


def _refused(contact: ExactContact, what: str, moving: bool, reason: str) -> MechanismError:
    included = (
        "with planes: of boxes and meshes, of spheres and capsules, and of cylinders that touch with the lowest points "
        "of their rims"
        if moving
        else "with planes: of boxes, meshes and cylinders that stand, and without friction of spheres, capsules and "
        "cylinders that lie"
    )
    return MechanismError(
        f"{what} includes exact contacts {included}. The contact {contact.name!r} of a {contact.pair[0].title} and a "
        f"{contact.pair[1].title} touches, and is none of them: {reason}. Give it a law= of the normal force."
    )


def _points_of_shape(shape: ContactShape) -> Iterator[_Point]:
    match shape:
        case Box(x, y, z):
            for k in range(8):
                yield _Point(np.array([(x, -x)[not k & 1], (y, -y)[not k & 2], (z, -z)[not k & 4]]) / 2)
        case TriangleMesh():
            yield from (_Point(corner) for corner in shape.hull.corners)
        case Sphere(radius):
            yield _Point(np.zeros(3), radius)
        case Capsule(radius, length):
            yield from (_Point(np.array([0, 0, half]), radius) for half in (0.5 * length, -0.5 * length))
        case Cylinder(radius, length):
            for half in (-0.5 * length, 0.5 * length):
                yield _Point(np.array([0, 0, half]), radius, disc=True)


def closing_forces(closed: Closed, state: State, multipliers: np.ndarray) -> np.ndarray:
    """The multipliers (nj,) of a mechanism at rest with which the points that are closed push and stay within the cones
    of their friction: the given ones (nj,), of least norm, if they do; otherwise those of least norm that do.

    Raises `EquilibriumError` when there are none.
    """
    mechanism, names = closed.mechanism, list(closed.friction)
    if not names:
        return multipliers
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
        solved = solve_contacts(0.5 * (W + W.T), free, laws)
    except UnilateralError as error:
        raise EquilibriumError(message.format(error)) from error
    found = solved.velocities
    worst = int(np.abs(found).argmax())
    if np.abs(found[worst]) > MOVES * np.abs(free).max():
        owner = next(name for name in names if rows[worst] in mechanism.joint(name).rows)
        opens = rows[worst] == mechanism.joint(owner).rows[0]
        raise EquilibriumError(message.format(f"the point {owner!r} {'opens' if opens else 'slides'}"))
    if _admissible(-multipliers[rows], laws):
        return multipliers
    all_rows = as_sparse(e.flat, e.workspace.G)[: mechanism.joint_rows].toarray()
    pushed = e.on_joints(-unbalanced + G.T @ solved.impulses, wanted, rows)[1]
    pushed[rows] = -solved.impulses
    return pushed - np.linalg.lstsq(all_rows.T, unbalanced + all_rows.T @ pushed, rcond=1e-10)[0]


def _admissible(forces: np.ndarray, laws: Sequence[Coulomb | Bounded]) -> bool:
    """Whether the `forces` (n,) of points push and stay within the cones of their friction."""
    first, small = 0, WITHIN * float(np.abs(forces).max())
    for law in laws:
        normal, across = forces[first], np.linalg.norm(forces[first + 1 : first + law.rows])
        if normal < -small or across > getattr(law, "friction", 0.0) * max(normal, 0.0) + small:
            return False
        first += law.rows
    return True


def require_outside(mechanism: Mechanism, q: np.ndarray) -> None:
    """Raises `EquilibriumError` when shapes of the exact contacts of a mechanism are inside each other at rest at `q`
    (nq,), because points that are apart as drawn hold nothing."""
    inside = _inside(mechanism, replace(mechanism.initial, q=q))
    if inside is not None:
        raise EquilibriumError(
            f"{mechanism.name!r} has no equilibrium with the contacts that touch as drawn: {inside[0]} would be "
            f"{inside[1]:.4g} deep inside each other (length), at points that are apart as drawn. Simulate it until it "
            "rests, and take the equilibrium of that state."
        )


def require_drawn_outside(mechanism: Mechanism, state: State, what: str) -> None:
    """Raises `MechanismError` when shapes of the exact contacts of a mechanism are inside each other at a state, which
    an analysis (`what`) would take as it is."""
    inside = _inside(mechanism, state)
    if inside is not None:
        raise MechanismError(
            f"{what} takes the state of {mechanism.name!r} as it is, in which {inside[0]} are {inside[1]:.4g} deep "
            f"inside each other (length; at most {TOUCHES * mechanism.length:.2g}). Draw them so that they touch, or "
            "take the equilibrium: linearise(equilibrium(system))."
        )


def _inside(mechanism: Mechanism, state: State) -> tuple[str, float] | None:
    """The first exact contact whose shapes are inside each other at a state, and their depth; or None."""
    position, axes = _places(mechanism, state)
    for contact in mechanism.contacts:
        (a, b), pair = contact.markers, contact.pair
        found = points_of(contact.numbers, axes[a].T @ (position[b] - position[a]), axes[a].T @ axes[b])
        depth = float(found[:, 6].max(initial=-np.inf))
        if depth > TOUCHES * mechanism.length:
            return f"the {pair[0].title} and the {pair[1].title} of {contact.name!r}", depth
    return None

"""Contacts of a mechanism under construction: the law and the axes of both shapes as drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fem.axes.limits import scaled
from flexmb.contact.laws import NormalLaw, TurningFriction
from flexmb.contact.local import LocalHertz
from flexmb.contact.shape import Surface
from flexmb.contact.shapes import addressed, pair_numbers, require_pair
from flexmb.errors import MechanismError
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.attachments import Attachment, FlexibleSurface, vector
from flexmb.mechanism.contacts.element import bound_contact, require_apart, require_direction
from flexmb.mechanism.contacts.exact import ExactContact, coefficients, points_of_pair, require_exact, turning_lengths
from flexmb.mechanism.contacts.surface import FACING, SurfaceContact, surface_contact
from flexmb.mechanism.frame_law import BoundLaw
from flexmb.spatial.lie import frame_with_axis, parallel


def drawn_contact(
    name: str,
    surfaces: tuple[Surface, Surface],
    normal: NormalLaw,
    friction: tuple[float, float | None, float | None, TurningFriction | None],
    frames: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[BoundLaw, tuple[np.ndarray, np.ndarray]]:
    """The law of a contact and the world axes (3, 3) of both shapes, for `frames` of bodies as drawn (position,
    attitude); `friction` holds the coefficients, the slip speed and that of turning. Raises as `System.contact`."""
    _require_places(name, surfaces)
    law = bound_contact(name, (surfaces[0].shape, surfaces[1].shape), normal, *friction)
    _require_bodies(name, surfaces)
    (a, A), (b, B) = (drawn_shape(name, surface, frames) for surface in surfaces)
    pair = (surfaces[0].shape, surfaces[1].shape)
    label = f"Contact {name!r}: the {pair[0].title} and the {pair[1].title}"
    require_apart(label, addressed(law.parameters, law.meshes), pair, A.T @ (b - a), A.T @ B)
    return law, (A, B)


def drawn_exact_contact(
    name: str,
    surfaces: tuple[Surface, Surface],
    friction: float | tuple[float, float],
    restitution: float,
    impact: str,
    turning: TurningFriction | None,
    frames: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[ExactContact, tuple[np.ndarray, np.ndarray]]:
    """An exact contact, still without markers, and the world axes (3, 3) of both shapes, as `drawn_contact`."""
    _require_places(name, surfaces)
    pair = (surfaces[0].shape, surfaces[1].shape)
    require_pair(*pair, name)
    require_exact(*pair, name)
    numbers, meshes = pair_numbers(*pair)
    made = ExactContact(
        name,
        (-1, -1),
        numbers,
        *coefficients(name, friction),
        restitution,
        impact,
        points_of_pair(*pair),
        meshes,
        *turning_lengths(name, turning),
    )
    _require_bodies(name, surfaces)
    (a, A), (b, B) = (drawn_shape(name, surface, frames) for surface in surfaces)
    require_direction(f"Contact {name!r}", addressed(numbers, meshes), A.T @ (b - a), A.T @ B)
    return made, (A, B)


def drawn_surface_contact(
    name: str,
    surfaces: tuple[Surface | FlexibleSurface, Surface | FlexibleSurface],
    friction: Any,
    others: Sequence[object],
    frames: Sequence[tuple[np.ndarray, np.ndarray]],
    local: LocalHertz | None = None,
) -> tuple[SurfaceContact, Attachment, np.ndarray]:
    """A contact of a flexible surface, still without its marker, with the place and the world axes (3, 3) of what it
    touches; `others` are the arguments that it does not have."""
    flexible = [surface for surface in surfaces if isinstance(surface, FlexibleSurface)]
    rigid = [surface for surface in surfaces if not isinstance(surface, FlexibleSurface)]
    if any(others):
        raise MechanismError(
            f"Contact {name!r}: a flexible surface has no law=, restitution=, impact=, static_friction=, slip_speed= "
            "and turning_friction=. Its elasticity is that of the reduced body, and its nodes have no mass that could "
            "impact; give friction= alone."
        )
    own = flexible[0]
    if not rigid:
        other = flexible[1]
        if other.index == own.index:
            raise MechanismError(
                f"Contact {name!r}: the surfaces {own.name!r} and {other.name!r} are both of the body "
                f"{own.body.name!r}, which cannot touch itself; give surfaces of two bodies."
            )
        if local is not None:
            raise MechanismError(
                f"Contact {name!r}: local= belongs to the contact of a flexible surface with a rigid sphere; found two "
                "flexible surfaces."
            )
        nodes = len(own.body.surfaces[own.name].nodes)
        facing = SurfaceContact(name, -1, FACING, own.index, own.name, nodes, friction, other.index, other.name)
        return facing, Attachment(other.index, np.zeros(3)), frames[other.index][1]
    shape = rigid[0]
    _, axes = drawn_shape(name, shape, frames)
    made = surface_contact(name, own.body, own.index, own.name, shape.shape, friction, local)
    if shape.place.body == own.index:
        raise MechanismError(f"Contact {name!r}: the body {own.body.name!r} cannot touch a shape of its own.")
    return made, shape.place, axes


def _require_places(name: str, surfaces: tuple[Surface, Surface]) -> None:
    for surface in surfaces:
        _require_place(name, surface)


def _require_bodies(name: str, surfaces: tuple[Surface, Surface]) -> None:
    a, b = surfaces
    if a.place.body == b.place.body:
        body = "the ground" if a.place.body == GROUND else "one body"
        raise MechanismError(
            f"Contact {name!r}: the {a.shape.title} and the {b.shape.title} are both on {body}, which cannot touch "
            "itself. Put them on two bodies, such as parts that a joint connects."
        )


def _require_place(name: str, surface: Surface) -> None:
    if not isinstance(surface, Surface):
        raise MechanismError(
            f"Contact {name!r}: expected a shape at a place, such as flexmb.contact.Sphere(0.1).on(body.at((0, 0, "
            f"0))); found {type(surface).__name__} {surface!r}."
        )
    if not isinstance(surface.place, Attachment):
        raise MechanismError(
            f"Contact {name!r}: the {surface.shape.title} needs a place, such as body.at((0, 0, 0)) or "
            f"body['interface']; found {type(surface.place).__name__} {surface.place!r}."
        )


def drawn_shape(
    name: str, surface: Surface, frames: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """The position (3,) and the axes (3, 3) of a shape in the world as drawn. Raises `MechanismError` when it is not a
    shape at a place, or its axes are not directions."""
    _require_place(name, surface)
    place = surface.place
    position, own = (np.zeros(3), np.eye(3)) if place.body == GROUND else frames[place.body]
    there = position + own @ place.point
    if surface.axis is None and surface.x_axis is None:
        return there, own
    axis, x = (
        None if given is None else vector(given, f"Contact {name!r}, {what} of the {surface.shape.title}")
        for given, what in ((surface.axis, "axis"), (surface.x_axis, "x_axis"))
    )
    axis, x = (None if given is None else scaled(given) for given in (axis, x))
    z = own[:, 2] if axis is None else axis
    if not np.linalg.norm(z) > 0 or (x is not None and parallel(z, x)):
        raise MechanismError(
            f"Contact {name!r}: the axis of the {surface.shape.title} needs a direction, and x_axis another one; found "
            f"{surface.axis!r} and {surface.x_axis!r}."
        )
    return there, frame_with_axis(z, x)

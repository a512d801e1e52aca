"""A warning of shapes of contacts that lie far outside their bodies."""

import warnings

import numpy as np

from flexmb.bodies.body import Body
from flexmb.contact.shape import Surface
from flexmb.errors import ContactPlaceWarning
from flexmb.mechanism.attachments import Attachment

FAR = 20.0
"""Gap between a shape and its body, relative to the radius of the body, beyond which the shape is far outside."""
BESIDE = 1.0
"""The same, if the numbers of its place, read in the world, would be at the body."""


def warn_of_distant_shape(
    name: str, surface: Surface, body: Body, frame: tuple[np.ndarray, np.ndarray], stacklevel: int = 4
) -> None:
    """Warn when the shape of a contact lies far outside its body, whose `frame` is its position and attitude as drawn:
    a point of the world may have been taken for one of the body."""
    place = surface.place
    if not isinstance(place, Attachment) or place.interface is not None or not np.isfinite(surface.shape.reach):
        return
    centre, radius = _ball(body)

    def gap(point: np.ndarray) -> float:
        return float(np.linalg.norm(point - centre)) - surface.shape.reach - radius

    position, attitude = frame
    found, meant = gap(place.point), gap(attitude.T @ (place.point - position))
    mistaken = found > BESIDE * radius and meant < BESIDE * radius
    if not (mistaken or found > FAR * radius):
        return
    advice = (
        "As a point of the world it is at the body: write body.at(point, frame='world')."
        if mistaken
        else "If it should be there, give the body a mesh= that reaches to it, which pictures show too."
    )
    warnings.warn(
        f"Contact {name!r}: the {surface.shape.title} at {place.point} in the frame of the body {body.name!r} is "
        f"{found:.4g} (length) outside the body, whose radius is {radius:.4g}. {advice}",
        ContactPlaceWarning,
        stacklevel=stacklevel,
    )


def _ball(body: Body) -> tuple[np.ndarray, float]:
    """A ball about a body: of its drawn shape or mesh, or of its interfaces and the homogeneous box of its inertia."""
    points = body.shape.points if body.shape is not None else body.mesh.points if body.mesh is not None else None
    if points is not None:
        low, high = points.min(axis=0), points.max(axis=0)
        return 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))
    c, inertia, mass = body.centre, body.invariants.J0, body.invariants.mass
    half = float(np.sqrt(max(1.5 * (np.trace(inertia) / mass - 2.0 * c @ c), 0.0)))
    reach = (float(np.linalg.norm(interface.point - c)) for interface in body.interfaces.values())
    return c, max(half, *reach, 0.0)

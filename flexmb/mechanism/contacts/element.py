"""The force elements of continuous contacts: laws between two frames that see the shapes at both of them.

All contacts share three laws, whose parameters hold the shapes and the numbers of the normal law and of friction: one
without states, one that remembers the speed of approach of each impact, one that remembers the deepest indentation.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numba
import numpy as np
from jaxtyping import Float

from flexmb.contact.laws import NormalLaw, TurningFriction
from flexmb.contact.shape import ContactShape
from flexmb.contact.shapes import Plane, pair_numbers, pair_of, require_pair
from flexmb.contact.triangle_mesh import TriangleMesh
from flexmb.errors import MechanismError
from flexmb.kernels.calls import shape_points
from flexmb.kernels.contact import laws
from flexmb.kernels.contact.forces import DEEPEST, SHAPE_A, SHAPE_B, STATIC
from flexmb.kernels.contact.shapes import MOST
from flexmb.mechanism.attachments import not_below_zero, number
from flexmb.mechanism.frame_law import BoundLaw, FrameLaw, law
from flexmb.mechanism.mechanism import FrameForce

PARAMETERS = (
    *("shape a", "a 1", "a 2", "a 3", "shape b", "b 1", "b 2", "b 3"),
    *("stiffness", "exponent", "damping", "line", "friction", "static", "slip speed", "deepest"),
    *("rolling", "spinning", "turn speed"),
)
DEEP = 1.0
"""Depth relative to the smaller size of two shapes at which their law has lost its meaning."""
DRAWN_DEEP = 0.1
"""Depth relative to the smaller size of two shapes that a drawing may have."""


def _repeated(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> None:
    """Raise the error by which a contact usually fails."""
    depth = float(points_of(tuple(parameters), relative.d, relative.S)[:, 6].max(initial=0.0))
    if depth > parameters[DEEPEST]:
        raise ValueError(
            f"the bodies overlap by more than their size ({depth:.4g} of {parameters[DEEPEST]:.4g}): take smaller "
            "steps or a stiffer contact"
        )


def _contact_law(**options: Any) -> Callable[[Any], FrameLaw]:
    """The decorator of the laws of contacts: `law`, and how a failed call is repeated."""
    return lambda function: replace(law(function, **options), repeated=_repeated)


@_contact_law(parameters=PARAMETERS)
@numba.njit
def contact(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """Elastic and damped contact with friction; the depth of every point has its own force."""
    return laws.contact(t, relative, states, parameters, wrench, rates)


@_contact_law(states=("approach",), parameters=(*PARAMETERS, "least speed"), updates=True)
@numba.njit
def contact_of_each_impact(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, new: Any) -> Any:
    """As `contact`, at one point, with the damping of the speed of approach at the beginning of each impact."""
    return laws.contact_of_each_impact(t, relative, states, parameters, wrench, new)


@_contact_law(states=("deepest",), parameters=(*PARAMETERS, "restitution"), updates=True)
@numba.njit
def contact_with_indentation(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, new: Any) -> Any:
    """Loading along `K d^n`, unloading to a permanent indentation, at one point."""
    return laws.contact_with_indentation(t, relative, states, parameters, wrench, new)


CONTACT_LAWS: Mapping[str, FrameLaw] = MappingProxyType(
    {
        "contact": contact,
        "contact-of-each-impact": contact_of_each_impact,
        "contact-with-indentation": contact_with_indentation,
    }
)
"""The laws of contacts by their names in result files."""


def is_contact(force: FrameForce) -> bool:
    """Whether an element between two frames is a contact."""
    return any(force.call.law is known for known in CONTACT_LAWS.values())


def is_plain_contact(force: FrameForce) -> bool:
    """Whether an element between two frames is a contact without states."""
    return force.call.law is contact


def rubs(force: FrameForce) -> bool:
    """Whether an element between two frames is a contact with friction of slip."""
    return is_contact(force) and force.parameters[STATIC] > 0.0


def bound_contact(
    name: str,
    pair: tuple[ContactShape, ContactShape],
    normal: NormalLaw,
    friction: float,
    static: float | None,
    slip_speed: float | None,
    turning: TurningFriction | None,
) -> BoundLaw:
    """The law of a contact. Raises `MechanismError` when the shapes or the coefficients cannot be."""
    require_pair(*pair, name)
    if not isinstance(normal, NormalLaw):
        raise MechanismError(
            f"Contact {name!r}: law is one of flexmb.contact, such as power_law(stiffness); found "
            f"{type(normal).__name__} {normal!r}. Without law= the contact is exact."
        )
    titles = {shape.title for shape in pair}
    if normal.line and titles != {"bore", "cylinder"}:
        raise MechanismError(
            f"Contact {name!r}: a line contact is that of a cylinder in a bore; found {' and '.join(titles)}."
        )
    memory = "permanent indentation" if normal.restitution is not None else "each_impact" if normal.each_impact else ""
    single = "sphere" in titles and all(shape.convex for shape in pair if isinstance(shape, TriangleMesh))
    if memory and not single:
        raise MechanismError(
            f"Contact {name!r} of {pair[0].title} and {pair[1].title} has several points, and {memory} has the "
            "memory of one. Give a law without memory, power_law(..., speed=...), or compose the shape of spheres."
        )
    shapes, meshes = pair_numbers(*pair)
    deepest = DEEP * min(shape.size for shape in pair)
    numbers = law_numbers(name, normal, friction, static, slip_speed, turning, deepest)
    values = (*shapes, *numbers)
    if normal.each_impact:
        return BoundLaw(contact_of_each_impact, (*values, normal.speed), (0.0,), meshes)
    if normal.restitution is not None:
        return BoundLaw(contact_with_indentation, (*values, normal.restitution), (0.0,), meshes)
    return BoundLaw(contact, values, (), meshes)


def law_numbers(
    name: str,
    normal: NormalLaw,
    friction: float,
    static: float | None,
    slip_speed: float | None,
    turning: TurningFriction | None,
    deepest: float,
) -> tuple[float, ...]:
    """The parameters of a contact after those of its shapes. Raises `MechanismError` when a coefficient cannot be."""
    mu, stick = _coefficients(name, friction, static, slip_speed)
    if not isinstance(turning, TurningFriction | None):
        raise MechanismError(
            f"Contact {name!r}: turning_friction is a flexmb.contact.TurningFriction; found {turning!r}."
        )
    if turning is not None and not turning.speed > 0.0:
        raise MechanismError(
            f"Contact {name!r}: the turning_friction of a continuous contact needs a speed, the angular velocity at "
            "which it is fully there and below which the bodies creep: TurningFriction(rolling, spinning, speed)."
        )
    turns = (0.0, 0.0, 1.0) if turning is None else (turning.rolling, turning.spinning, turning.speed)
    numbers = (normal.stiffness, normal.exponent, normal.damping, normal.line, mu, stick, slip_speed or 1.0, deepest)
    return tuple(float(x) for x in (*numbers, *turns))


def _coefficients(name: str, friction: float, static: float | None, slip_speed: float | None) -> tuple[float, float]:
    mu = not_below_zero(friction, f"Contact {name!r}: friction")
    stick = mu if static is None else not_below_zero(static, f"Contact {name!r}: static_friction")
    if stick < mu:
        raise MechanismError(
            f"Contact {name!r}: static_friction={stick} must be at least the coefficient of sliding, {mu}."
        )
    if stick > 0.0 and not (slip_speed is not None and number(slip_speed, f"Contact {name!r}: slip_speed") > 0.0):
        raise MechanismError(
            f"Contact {name!r}: friction of a continuous contact needs slip_speed, the speed at which it reaches the "
            f"static coefficient and below which it creeps (for instance a hundredth of the speeds of interest); found "
            f"{slip_speed!r}."
        )
    return mu, stick


def contact_shapes(force: FrameForce | BoundLaw) -> tuple[ContactShape, ContactShape]:
    """The shapes of a contact in the order of its places."""
    return pair_of(force.parameters, force.meshes)


def points_of(parameters: tuple[float, ...], d: np.ndarray, S: np.ndarray) -> Float[np.ndarray, "n 8"]:
    """The contact points of a contact, whose `parameters` have the addresses of its meshes, for the position `d` (3,)
    and the rotation `S` (3, 3) of `b`; see flexmb/kernels/contact/shapes.py for their columns.

    Raises `MechanismError` when the centres of round shapes coincide.
    """
    points, p = np.empty((MOST, 8)), [float(x) for x in parameters]
    a, b = (int(p[SHAPE_A]), *p[SHAPE_A + 1 : SHAPE_A + 4]), (int(p[SHAPE_B]), *p[SHAPE_B + 1 : SHAPE_B + 4])
    try:
        count = shape_points(*a, *b, np.ascontiguousarray(d), np.ascontiguousarray(S), points)
    except (ValueError, RuntimeError):
        raise MechanismError(
            "The centres of two round shapes coincide, so that the direction of their contact is undefined. Move them "
            "apart, as drawn or by a stiffer law."
        ) from None
    return points[:count]


def require_apart(
    label: str, parameters: tuple[float, ...], pair: tuple[ContactShape, ContactShape], d: np.ndarray, S: np.ndarray
) -> None:
    """Raises `MechanismError` when the bodies of a contact of a `pair` of shapes are drawn inside each other; `label`
    says which they are."""
    found = require_direction(label, parameters, d, S)
    depth, size = float(found[:, 6].max(initial=-np.inf)), parameters[DEEPEST] / DEEP
    if depth > DRAWN_DEEP * size:
        raise MechanismError(
            f"{label} are drawn inside each other, {depth:.6g} deep (length; at most {DRAWN_DEEP * size:.6g}, a tenth "
            f"of the smaller one). {moved_apart(pair)}"
        )


def require_direction(
    label: str, parameters: tuple[float, ...], d: np.ndarray, S: np.ndarray
) -> Float[np.ndarray, "n 8"]:
    """The points of a contact as drawn (`points_of`). Raises `MechanismError`, beginning with `label`, when the centres
    of round shapes coincide."""
    try:
        return points_of(parameters, d, S)
    except MechanismError as error:
        raise MechanismError(f"{label}: {str(error)[0].lower()}{str(error)[1:]}") from None


def moved_apart(pair: tuple[ContactShape, ContactShape]) -> str:
    """What to do with shapes that begin inside each other."""
    advice = "Move them apart."
    if any(isinstance(shape, Plane) for shape in pair):
        advice = "Move them apart, or turn the axis of the plane, which points away from its body."
    for shape in pair:
        if isinstance(shape, TriangleMesh):
            advice += f" The mesh reaches {shape.reach:.4g} (length) from its place: see its scale=."
    return advice

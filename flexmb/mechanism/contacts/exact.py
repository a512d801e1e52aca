"""Exact contacts: bodies that do not overlap, with Coulomb friction, and impacts with restitution."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from operator import index
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from flexmb.contact.laws import TurningFriction
from flexmb.contact.shape import ContactShape
from flexmb.contact.shapes import Meshes, addressed, pair_of
from flexmb.contact.triangle_mesh import TriangleMesh, meshes_from_tree, meshes_tree
from flexmb.errors import MechanismError

ImpactLaw = Literal["newton", "poisson", "stronge", "algebraic"]
IMPACT_LAWS: tuple[str, ...] = get_args(ImpactLaw)
STATES = 4
"""States of each point of an exact contact: its mode, and its force along the normal and in two directions across."""
OPEN, SLIDES, STICKS = 0, 1, 2
"""Modes of a point: apart, or touching with or without slip."""
CLOSED = "closed contact"
"""The kind of the joints that hold closed points in equilibria, small motions and derivatives."""
POLYHEDRA = ("capsule", "box", "mesh")
"""Shapes that touch each other with corners, edges and faces."""
CORNERS = 8
"""Most points at which a shape touches a plane."""
RIM_POINTS = 12
"""Points of a cylinder on a plane: the lowest ones of its rims, and those on which it stands."""
SINGLE = ("sphere", "socket")
"""Shapes that touch every other one at a single point."""
POINTS = {
    frozenset(("plane", "capsule")): 2,
    frozenset(("bore", "cylinder")): 2,
    frozenset(("bore", "capsule")): 2,
    frozenset(("plane", "cylinder")): RIM_POINTS,
}
"""The most points of other pairs, where they are not those of a plane and a box."""


@dataclass(frozen=True)
class ExactContact:
    """A contact of two shapes that do not overlap (`System.contact` without a law).

    - `markers`: the places and axes of the shapes.
    - `shapes` (8): the codes and the dimensions of both (flexmb/kernels/contact/shapes.py).
    - `friction`, `static`: coefficients of points that slide and that stick.
    - `restitution`: of impacts, by the law `impact`: of velocities (Newton), impulses (Poisson), energies (Stronge), or
      the algebraic law of Pereira and Nikravesh (flexmb/contact/impacts.py).
    - `points`: the most points at which the shapes touch.
    - `rolling`, `spinning` (length): the largest moment of each point, across the normal and about it, over its normal
      force.
    - `meshes`: the shapes that are meshes, by the places of their dimensions in `shapes`.

    Raises `MechanismError` when a coefficient is out of range or the law is unknown.
    """

    name: str
    markers: tuple[int, int]
    shapes: tuple[float, ...]
    friction: float
    static: float
    restitution: float
    impact: str
    points: int
    meshes: Meshes = field(default_factory=dict, compare=False)
    rolling: float = 0.0
    spinning: float = 0.0

    def __post_init__(self) -> None:
        for what in ("friction", "static", "restitution", "rolling", "spinning"):
            value = getattr(self, what)
            if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) < np.inf:
                raise MechanismError(f"Contact {self.name!r}: {what} is a number >= 0; found {value!r}.")
        if self.static < self.friction:
            raise MechanismError(
                f"Contact {self.name!r}: the static coefficient, {self.static}, must be at least that of sliding, "
                f"{self.friction}; friction=(static, dynamic)."
            )
        if self.restitution > 1.0:
            raise MechanismError(
                f"Contact {self.name!r}: restitution is at most 1, the impact without loss; found {self.restitution}."
            )
        if self.impact not in IMPACT_LAWS:
            raise MechanismError(
                f"Contact {self.name!r}: impact is one of {', '.join(map(repr, IMPACT_LAWS))}; found {self.impact!r}."
            )

    @property
    def pair(self) -> tuple[ContactShape, ContactShape]:
        """Both shapes, in the order of the places."""
        return pair_of(self.shapes, self.meshes)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The shapes for compiled code, with the addresses of the meshes."""
        return addressed(self.shapes, self.meshes)

    @property
    def reach(self) -> tuple[float, float]:
        """The radii of the balls about the places that contain the shapes; infinite for unbounded shapes."""
        return self.pair[0].reach, self.pair[1].reach

    @property
    def features(self) -> int:
        """The number of states that hold the pairs of features of its points, after those of `STATES` of all contacts:
        one each, or none (flexmb/kernels/steps/tracking.py)."""
        return self.points if self.on_rims or all(shape.title in POLYHEDRA for shape in self.pair) else 0

    @property
    def on_rims(self) -> bool:
        """Whether it is the contact of a cylinder and a plane: the first two of its points are the lowest ones of the
        rims, in the order of the ends, the others points on which it stands (flexmb/kernels/contact/rims.py)."""
        return {shape.title for shape in self.pair} == {"plane", "cylinder"}

    @property
    def turns(self) -> bool:
        """Whether it has friction of turning: `STATES` more for each point, its mode and its moments about the normal
        and across it, over the arm `size`. They follow the states of pairs of features of all contacts."""
        return self.rolling + self.spinning > 0.0

    @property
    def size(self) -> float:
        """The smallest dimension of both shapes."""
        return min(shape.size for shape in self.pair)


def require_exact(a: ContactShape, b: ContactShape, name: str) -> None:
    """Raises `MechanismError` when two shapes touch with points that have no identity from step to step."""
    titles = {a.title, b.title}
    bored = titles == {"bore", "capsule"}
    if ("cylinder" in titles and titles <= {"cylinder", *POLYHEDRA}) or bored:
        other = "cylinder by a capsule or by the hull of a prism (flexmb.contact.hull)"
        if bored:
            other = "capsule by a cylinder"
        raise MechanismError(
            f"Contact {name!r}: there is no exact contact of a {a.title} with a {b.title}, because the points at which "
            f"rims touch come and go as they move. Give the contact a law= of the normal force, or replace the {other}."
        )
    for mesh in (a, b):
        if isinstance(mesh, TriangleMesh) and "sphere" in (a.title, b.title) and not mesh.convex:
            raise MechanismError(
                f"Contact {name!r}: there is no exact contact of a sphere with the mesh {mesh.name!r}, which is not "
                "convex, because the points of a sphere in a hollow come and go. Give the contact a law= of the normal "
                "force, divide the mesh into convex ones, or take its hull (flexmb.contact.hull)."
            )


def points_of_pair(a: ContactShape, b: ContactShape) -> int:
    """The most points at which two shapes touch; of two polyhedra, the most corners that a common area can have."""
    if a.title in SINGLE or b.title in SINGLE:
        return 1
    if {a.title, b.title} <= {*POLYHEDRA}:
        return _most_of_face(a) + _most_of_face(b)
    for mesh in (a, b):
        if isinstance(mesh, TriangleMesh):
            return len(mesh.hull.corners)
    return POINTS.get(frozenset((a.title, b.title)), CORNERS)


def _most_of_face(shape: ContactShape) -> int:
    if isinstance(shape, TriangleMesh):
        return max(len(face) for face in shape.hull.faces)
    return 4 if shape.title == "box" else 2


def coefficients(name: str, friction: float | tuple[float, float]) -> tuple[float, float]:
    """The coefficients (sliding, sticking) of `friction`, a number or (static, dynamic).

    Raises `MechanismError` for anything else.
    """
    if isinstance(friction, tuple | list):
        if len(friction) != 2:
            raise MechanismError(f"Contact {name!r}: friction is a number or (static, dynamic); found {friction!r}.")
        return friction[1], friction[0]
    return friction, friction


def turning_lengths(name: str, turning: TurningFriction | None) -> tuple[float, float]:
    """The lengths (rolling, spinning) of friction of turning. Raises `MechanismError` for anything else, and when it
    has a speed, which belongs to a continuous contact."""
    if turning is None:
        return 0.0, 0.0
    if not isinstance(turning, TurningFriction):
        raise MechanismError(
            f"Contact {name!r}: turning_friction is a flexmb.contact.TurningFriction; found {turning!r}."
        )
    if turning.speed:
        raise MechanismError(
            f"Contact {name!r}: the turning_friction of an exact contact has no speed below which bodies creep; found "
            f"{turning.speed}. Leave it out, or give the contact a law= of the normal force."
        )
    return float(turning.rolling), float(turning.spinning)


def contact_arrays(contacts: tuple[ExactContact, ...], first_state: int) -> dict[str, Any]:
    """The entries of `CompiledModel` for exact contacts, whose states begin at `first_state`."""
    counts, features = [contact.points for contact in contacts], [contact.features for contact in contacts]
    begin = first_state + STATES * sum(counts) + np.cumsum([0, *features])[:-1]
    turns = np.repeat([contact.turns for contact in contacts], counts).astype(bool)
    turn_begin = first_state + STATES * sum(counts) + sum(features)
    arms = [contact.size if contact.turns else 1.0 for contact in contacts]
    return {
        "contact_markers": np.array([c.markers for c in contacts], dtype=np.int64).reshape(-1, 2),
        "contact_shapes": np.array([c.numbers for c in contacts], dtype=float).reshape(-1, 8),
        "contact_friction": np.array([(c.friction, c.static) for c in contacts], dtype=float).reshape(-1, 2),
        "contact_turning": np.array(
            [(c.rolling / arm, c.spinning / arm, arm) for c, arm in zip(contacts, arms, strict=True)], dtype=float
        ).reshape(-1, 3),
        "turn_state": np.where(turns, turn_begin + STATES * (np.cumsum(turns) - 1), -1).astype(np.int64),
        "contact_reach": np.array([c.reach for c in contacts], dtype=float).reshape(-1, 2),
        "contact_point": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "point_contact": np.repeat(np.arange(len(contacts)), counts).astype(np.int64),
        "contact_state": first_state,
        "contact_feature": np.where(np.array(features) > 0, begin, -1).astype(np.int64),
    }


def contact_states(contacts: Iterable[ExactContact]) -> int:
    """The number of states of exact contacts."""
    return sum(STATES * contact.points * (1 + contact.turns) + contact.features for contact in contacts)


def contact_tree(contact: ExactContact) -> dict[str, Any]:
    """A contact for a result file, which `contact_from_tree` reads."""
    return {f.name: getattr(contact, f.name) for f in fields(ExactContact)} | {"meshes": meshes_tree(contact.meshes)}


def contact_from_tree(tree: Mapping[str, Any]) -> ExactContact:
    """A contact of a result file. Raises `MechanismError` when its values cannot be."""
    whole = {**tree, "markers": tuple(index(k) for k in tree["markers"]), "points": index(tree["points"])}
    whole["shapes"] = tuple(float(x) for x in tree["shapes"])
    whole["meshes"] = meshes_from_tree(tree.get("meshes", []))
    return ExactContact(**whole)


def point_states(
    states: Float[np.ndarray, "... nz"], contact: ExactContact, first: int
) -> Float[np.ndarray, "... n 4"]:
    """Mode and force of the points (n) of a contact whose states begin at entry `first` of `states`."""
    own = states[..., first : first + STATES * contact.points]
    return own.reshape(*own.shape[:-1], contact.points, STATES)

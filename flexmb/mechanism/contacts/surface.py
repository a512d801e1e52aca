"""Contact of the flexible surface of a body with a rigid shape (`System.contact` with `body.surface(name)`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from jaxtyping import Float

from flexmb.bodies.body import Body
from flexmb.bodies.surfaces import BodySurface
from flexmb.contact.shape import ContactShape
from flexmb.contact.shapes import shape_of_code
from flexmb.errors import MechanismError

FORCES = 3
"""States of each node: its force along the normal of the shape and in two directions across it."""


@dataclass(frozen=True)
class SurfaceContact:
    """A surface of a flexible body that touches a rigid shape without overlap.

    - `marker`: place and axes of the shape; `shape` (4): its code and dimensions (flexmb/kernels/contact/shapes.py).
    - `body`, `surface`: the body and the name of its surface; `nodes`: how many it has.
    - `friction`: coefficient of Coulomb friction.

    Raises `MechanismError` when the coefficient is not a number of at least zero.
    """

    name: str
    marker: int
    shape: tuple[float, ...]
    body: int
    surface: str
    nodes: int
    friction: float = 0.0

    def __post_init__(self) -> None:
        value = self.friction
        if isinstance(value, bool | tuple | list) or not (np.isreal(value) and 0.0 <= value < np.inf):
            raise MechanismError(
                f"Contact {self.name!r}: the friction of a flexible surface is one number >= 0, for points that stick "
                f"and that slide; found {value!r}."
            )

    @property
    def rigid(self) -> ContactShape:
        """The shape."""
        return shape_of_code(self.shape[0], self.shape[1:])

    def surface_of(self, bodies: Sequence[Body]) -> BodySurface:
        """The surface among those of `bodies`. Raises `MechanismError` when the body lacks it or its compliance."""
        body = bodies[self.body]
        if self.surface not in body.surfaces or body.compliance is None:
            raise MechanismError(
                f"Contact {self.name!r}: the body {body.name!r} has no flexible surface {self.surface!r}, whose nodes "
                "have a residual compliance. A rigid body, such as those of compare(), touches with simple shapes."
            )
        return body.surfaces[self.surface]


def surface_contact(
    name: str, body: Body, index: int, surface: str, shape: ContactShape, friction: Any
) -> SurfaceContact:
    """A contact of a surface of a `body`, the number `index` of a mechanism, with a shape, still without its marker.

    Raises `MechanismError` when the shape is a triangle mesh."""
    if shape.title == "mesh":
        raise MechanismError(
            f"Contact {name!r}: the flexible surface {surface!r} of {body.name!r} cannot touch a triangle mesh, which "
            "has no smooth normal at its nodes. Compose the rigid shape of planes, spheres, cylinders, capsules and "
            "boxes."
        )
    code = (float(shape.code), *shape.dimensions)
    return SurfaceContact(name, -1, code, index, surface, len(body.surfaces[surface].nodes), friction)


def surface_contact_arrays(
    contacts: tuple[SurfaceContact, ...], bodies: tuple[Body, ...], first_state: int, mmax: int
) -> dict[str, Any]:
    """The entries of `CompiledModel` for contacts of flexible surfaces, whose states begin at `first_state`."""
    found = [contact.surface_of(bodies) for contact in contacts]
    counts = [len(surface.nodes) for surface in found]
    total, second = sum(counts), any(surface.second.any() for surface in found)
    rows, bends = np.zeros((total, 3, mmax)), np.zeros((total if second else 0, 3, mmax, mmax))
    swing, bend, ball, at = np.zeros((len(found), mmax)), np.zeros(len(found)), np.zeros((len(found), 4)), 0
    for s, surface in enumerate(found):
        n, m = len(surface.nodes), surface.rows.shape[-1]
        rows[at : at + n, :, :m] = surface.rows
        swing[s, :m] = np.linalg.norm(surface.rows, axis=1).max(axis=0)
        if second and len(surface.pairs):
            i, j = surface.pairs.T
            bends[at : at + n, :, i, j] = bends[at : at + n, :, j, i] = surface.second
            bend[s] = 0.5 * np.sqrt((bends[at : at + n] ** 2).sum(axis=(1, 2, 3)).max())
        middle = 0.5 * (surface.points.min(axis=0) + surface.points.max(axis=0))
        ball[s] = [*middle, np.linalg.norm(surface.points - middle, axis=1).max()]
        at += n
    there = {contact.body: bodies[contact.body].compliance for contact in contacts}
    matrices = [np.zeros((0, 0)) if (c := there.get(b)) is None else c.matrix for b in range(len(bodies))]
    return {
        "skin_body": np.array([c.body for c in contacts], dtype=np.int64),
        "skin_marker": np.array([c.marker for c in contacts], dtype=np.int64),
        "skin_shape": np.array([c.shape for c in contacts], dtype=float).reshape(-1, 4),
        "skin_reach": np.array([c.rigid.reach for c in contacts], dtype=float),
        "skin_friction": np.array([c.friction for c in contacts], dtype=float),
        "skin_ball": ball,
        "skin_swing": swing,
        "skin_bend": bend,
        "skin_node": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "node_skin": np.repeat(np.arange(len(contacts)), counts).astype(np.int64),
        "node_place": np.concatenate([np.zeros(0), *(s.places for s in found)]).astype(np.int64),
        "node_point": np.concatenate([np.zeros((0, 3)), *(s.points for s in found)]),
        "node_rows": rows,
        "node_second": bends,
        "compliance_start": np.concatenate([[0], np.cumsum([C.size for C in matrices])])[:-1].astype(np.int64),
        "compliance_size": np.array([len(C) for C in matrices], dtype=np.int64),
        "compliance_entries": np.concatenate([np.zeros(0), *(C.ravel() for C in matrices)]),
        "skin_state": first_state,
    }


def surface_contact_tree(contact: SurfaceContact) -> dict[str, Any]:
    """A contact for a result file, which `surface_contact_from_tree` reads."""
    return {field.name: getattr(contact, field.name) for field in fields(SurfaceContact)}


def surface_contact_from_tree(tree: Mapping[str, Any]) -> SurfaceContact:
    """A contact of a result file. Raises `MechanismError` when its values cannot be."""
    whole = {**tree, **{key: int(tree[key]) for key in ("marker", "body", "nodes")}}
    return SurfaceContact(**{**whole, "shape": tuple(float(x) for x in tree["shape"])})


def node_forces(
    states: Float[np.ndarray, "... nz"], contact: SurfaceContact, first: int
) -> Float[np.ndarray, "... n 3"]:
    """The forces of the nodes (n), along the normal and across it, of a contact whose states begin at `first`."""
    own = states[..., first : first + FORCES * contact.nodes]
    return own.reshape(*own.shape[:-1], contact.nodes, FORCES)

"""Contacts of a mechanism under construction."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexmb.contact.group import ContactGroup, GroupCall
from flexmb.contact.laws import NormalLaw, TurningFriction
from flexmb.contact.local import LocalHertz
from flexmb.contact.shape import Surface
from flexmb.errors import MechanismError
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.attachments import Attachment, FlexibleSurface
from flexmb.mechanism.construction.elastic import WithElasticRelations
from flexmb.mechanism.contacts.added import drawn_contact, drawn_exact_contact, drawn_surface_contact
from flexmb.mechanism.contacts.exact import ImpactLaw
from flexmb.mechanism.contacts.group import group_parameters
from flexmb.mechanism.contacts.placed import warn_of_distant_shape


class WithContacts(WithElasticRelations):
    """Surfaces that touch."""

    def contact(
        self,
        name: str,
        a: Surface | FlexibleSurface,
        b: Surface | FlexibleSurface,
        *,
        law: NormalLaw | None = None,
        friction: float | tuple[float, float] = 0.0,
        restitution: float = 0.0,
        impact: ImpactLaw = "newton",
        static_friction: float | None = None,
        slip_speed: float | None = None,
        turning_friction: TurningFriction | None = None,
        local: LocalHertz | None = None,
    ) -> None:
        """Add a contact between two shapes: `flexmb.contact.Plane().on(ground.at(point))` and
        `flexmb.contact.Sphere(radius).on(ball.at(point))`.

        Without `law` the contact is exact: the bodies do not overlap, and friction is that of Coulomb.

        - `friction`: its coefficient, or (static, dynamic), the first for points that stick.
        - `restitution`: the coefficient of restitution of impacts, from 0 to 1, by the law `impact`: "newton",
          "poisson", "stronge" or "algebraic".
        - `turning_friction`: `TurningFriction(rolling, spinning)`, moments against rolling and spinning of bodies that
          touch, at most these lengths times the normal force; impacts do without.

        With `law` it is continuous: the normal force follows from the depth of the overlap and its rate.

        - `law`: `flexmb.contact.power_law(stiffness)`, `hertz`, `elastic_foundation`, `permanent_indentation`,
          `line_contact` or `malca`.
        - `friction`, `static_friction`: coefficients; a smooth law of the slip, which is at the static one at the
          `slip_speed` (length/time) and creeps below it.
        - `turning_friction`: friction of rolling and spinning, with its `speed`.

        One of both, or both, may be flexible surfaces of reduced bodies, `body.surface("teeth")`: their nodes do not
        overlap the rigid shape, with the forces that the elastic body exerts; and of two flexible surfaces, or of one
        and a triangle mesh, weighted means of the gap over the facets of the first one are not negative. They have
        neither a law nor a restitution, because nodes have no mass that could impact; `friction` is one coefficient.
        The pressure is unknown at the nodes of `a`, if both are flexible: take the finer of both meshes.

        - `local`: for a sphere whose contact radius is below the node spacing of the flexible surface,
          `flexmb.contact.LocalHertz(young, poisson)`: one point touches, with Hertz's approach instead of the
          compliance of the mesh.

        Raises `LawError` and `MechanismError` when the contact of the shapes is not known, a coefficient is out of
        range or belongs to the other kind of contact, both shapes or surfaces belong to one body, or they are drawn
        inside each other.
        """
        self._warn_of_distant_shapes(name, (a, b))
        if isinstance(a, FlexibleSurface) or isinstance(b, FlexibleSurface):
            others = (law, restitution, impact != "newton", static_friction, slip_speed, turning_friction)
            self._surface_contact(name, (a, b), friction, others, local)
            return
        if local is not None:
            raise MechanismError(
                f"Contact {name!r}: local= belongs to a flexible surface, body.surface(name). Rigid bodies have "
                "law=flexmb.contact.power_law(flexmb.contact.hertz_stiffness(...))."
            )
        if law is None:
            if static_friction is not None or slip_speed is not None:
                raise MechanismError(
                    f"Contact {name!r}: static_friction and slip_speed belong to a continuous contact, with "
                    "law=. The friction of an exact contact is a number or (static, dynamic)."
                )
            self._exact_contact(name, a, b, friction, restitution, impact, turning_friction)
            return
        if isinstance(friction, tuple | list) or restitution or impact != "newton":
            raise MechanismError(
                f"Contact {name!r}: restitution, impact and friction=(static, dynamic) belong to an exact contact. "
                "With a law, give the restitution to the law, and static_friction=."
            )
        given = (friction, static_friction, slip_speed, turning_friction)
        made, axes = drawn_contact(name, (a, b), law, given, self._frames)
        self._frame_force(name, self._pair(name, a.place, b.place, None, *axes), made)

    def contact_group(
        self,
        name: str,
        surfaces: Sequence[Surface],
        *,
        law: NormalLaw,
        friction: float = 0.0,
        static_friction: float | None = None,
        slip_speed: float | None = None,
        turning_friction: TurningFriction | None = None,
    ) -> None:
        """Add contact of every shape of a group with every other one that is on another body, such as all grains of a
        pile and the planes that hold them. Pairs that are apart cost nothing; hundreds of shapes are possible.

        - `surfaces`: shapes at places, of which several may be on one body.
        - `law`, `friction`, `static_friction`, `slip_speed`, `turning_friction`: as of `contact`; laws without memory.

        The forces are not part of the iteration matrices of implicit methods: the steps must resolve each contact.
        generalised-alpha, HHT and the explicit method include them; the others and linear analyses refuse them.

        Raises `LawError` and `MechanismError` as `contact`.
        """
        self._require_free(name)
        if not isinstance(surfaces, Sequence):
            raise MechanismError(
                f"The group {name!r} of contacts needs a list of shapes at places, such as [Plane().on(...), "
                f"Sphere(0.1).on(...)]; found {type(surfaces).__name__} {surfaces!r}."
            )
        self._warn_of_distant_shapes(name, surfaces)
        given = (friction, static_friction, slip_speed, turning_friction)
        parameters, drawn = group_parameters(name, surfaces, law, given, self._frames)
        markers, owners = [], []
        for k, (surface, (_, axes)) in enumerate(zip(surfaces, drawn, strict=True)):
            markers.append(self._marker(f"{name}.{k}", surface.place, axes))
            body = surface.place.body
            owners.append((surface.shape.title, "the ground" if body == GROUND else repr(self._bodies[body].name)))
        shapes = tuple(surface.shape for surface in surfaces)
        call = GroupCall(name, _labels(owners))
        self._contact_groups.append(ContactGroup(name, tuple(markers), shapes, parameters, call))

    def _surface_contact(
        self,
        name: str,
        surfaces: tuple[Surface | FlexibleSurface, Surface | FlexibleSurface],
        friction: float | tuple[float, float],
        others: Sequence[object],
        local: LocalHertz | None,
    ) -> None:
        self._require_free(name)
        made, place, axes = drawn_surface_contact(name, surfaces, friction, others, self._frames, local)
        self._surface_contacts[name] = replace(made, marker=self._marker(f"{name}.a", place, axes))

    def _warn_of_distant_shapes(self, name: str, surfaces: Sequence[Surface | FlexibleSurface]) -> None:
        for surface in surfaces:
            place = getattr(surface, "place", None)
            if isinstance(place, Attachment) and isinstance(surface, Surface) and place.body != GROUND:
                warn_of_distant_shape(name, surface, self._bodies[place.body], self._frames[place.body])

    def _exact_contact(
        self,
        name: str,
        a: Surface,
        b: Surface,
        friction: float | tuple[float, float],
        restitution: float,
        impact: str,
        turning: TurningFriction | None,
    ) -> None:
        made, axes = drawn_exact_contact(name, (a, b), friction, restitution, impact, turning, self._frames)
        self._require_free(name)
        places = self._places(name, a.place, b.place, None)
        ends = zip((f"{name}.a", f"{name}.b"), places, axes, strict=True)
        first, second = (self._shape_marker(*end) for end in ends)
        self._contacts[name] = replace(made, markers=(first, second))

    def _shape_marker(self, name: str, place: Attachment, axes: np.ndarray) -> int:
        """The marker of a shape of an exact contact: one for all of these contacts with the same place and axes, which
        every step would evaluate for each."""
        key = (place.body, place.interface, place.point.tobytes(), axes.tobytes())
        if key not in self._shape_markers:
            self._shape_markers[key] = self._marker(name, place, axes)
        return self._shape_markers[key]


def _labels(owners: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The shapes of a group by their title and owner, such as "sphere on 'ball'"; those of the same title on one owner
    are numbered in their order: "plane 2 on the ground"."""
    counts = Counter(owners)
    seen: Counter[tuple[str, str]] = Counter()
    labels = []
    for title, owner in owners:
        seen[title, owner] += 1
        number = f" {seen[title, owner]}" if counts[title, owner] > 1 else ""
        labels.append(f"{title}{number} on {owner}")
    return tuple(labels)

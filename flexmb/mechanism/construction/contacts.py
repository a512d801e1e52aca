"""Contacts of a mechanism under construction."""

from collections.abc import Sequence

from flexmb.contact.group import ContactGroup, GroupCall
from flexmb.contact.laws import NormalLaw
from flexmb.contact.shapes import Surface
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.construction.elastic import WithElasticRelations
from flexmb.mechanism.contacts.added import drawn_contact
from flexmb.mechanism.contacts.group import group_parameters


class WithContacts(WithElasticRelations):
    """Surfaces that touch."""

    def contact(
        self,
        name: str,
        a: Surface,
        b: Surface,
        *,
        law: NormalLaw,
        friction: float = 0.0,
        static_friction: float | None = None,
        slip_speed: float | None = None,
    ) -> None:
        """Add a contact between two shapes: `flexmb.contact.Plane().on(ground.at(point))` and
        `flexmb.contact.Sphere(radius).on(ball.at(point))`.

        - `law`: of the normal force, from the depth of the overlap and its rate: `flexmb.contact.power_law(stiffness)`
          and others.
        - `friction`, `static_friction`: coefficients; a smooth law of the slip, which is at the static one at the
          `slip_speed` (length/time) and creeps below it.

        Raises `LawError` and `MechanismError` when the contact of the shapes is not known, a coefficient is out of
        range, both shapes belong to one body, or they are drawn inside each other.
        """
        made, axes = drawn_contact(name, (a, b), law, (friction, static_friction, slip_speed), self._frames)
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
    ) -> None:
        """Add contact of every shape of a group with every other one that is on another body, such as all grains of a
        pile and the planes that hold them. Pairs that are apart cost nothing; hundreds of shapes are possible.

        - `surfaces`: shapes at places, of which several may be on one body.
        - `law`, `friction`, `static_friction`, `slip_speed`: as of `contact`; laws without memory.

        The forces are not part of the iteration matrices of implicit methods: the steps must resolve each contact.
        generalised-alpha, HHT and the explicit method include them; the others and linear analyses refuse them.

        Raises `LawError` and `MechanismError` as `contact`.
        """
        self._require_free(name)
        given = (friction, static_friction, slip_speed)
        parameters, drawn = group_parameters(name, surfaces, law, given, self._frames)
        markers, labels = [], []
        for k, (surface, (_, axes)) in enumerate(zip(surfaces, drawn, strict=True)):
            markers.append(self._marker(f"{name}.{k}", surface.place, axes))
            body = surface.place.body
            where = "the ground" if body == GROUND else repr(self._bodies[body].name)
            labels.append(f"{surface.shape.title} on {where}")
        shapes = tuple(surface.shape for surface in surfaces)
        self._contact_groups.append(
            ContactGroup(name, tuple(markers), shapes, parameters, GroupCall(name, tuple(labels)))
        )

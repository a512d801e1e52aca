"""Contacts of a mechanism under construction."""

from flexmb.contact.laws import NormalLaw
from flexmb.contact.shapes import Surface
from flexmb.mechanism.construction.elastic import WithElasticRelations
from flexmb.mechanism.contacts.added import drawn_contact


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

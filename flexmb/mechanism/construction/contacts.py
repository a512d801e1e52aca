"""Contacts of a mechanism under construction."""

from dataclasses import replace

from flexmb.contact.laws import NormalLaw
from flexmb.contact.shapes import Surface
from flexmb.errors import MechanismError
from flexmb.mechanism.construction.elastic import WithElasticRelations
from flexmb.mechanism.contacts.added import drawn_contact, drawn_exact_contact
from flexmb.mechanism.contacts.exact import ImpactLaw


class WithContacts(WithElasticRelations):
    """Surfaces that touch."""

    def contact(
        self,
        name: str,
        a: Surface,
        b: Surface,
        *,
        law: NormalLaw | None = None,
        friction: float | tuple[float, float] = 0.0,
        restitution: float = 0.0,
        impact: ImpactLaw = "newton",
        static_friction: float | None = None,
        slip_speed: float | None = None,
    ) -> None:
        """Add a contact between two shapes: `flexmb.contact.Plane().on(ground.at(point))` and
        `flexmb.contact.Sphere(radius).on(ball.at(point))`.

        Without `law` the contact is exact: the bodies do not overlap, and friction is that of Coulomb.

        - `friction`: its coefficient, or (static, dynamic), the first for points that stick.
        - `restitution`: of impacts, from 0 to 1, by the law `impact`.

        With `law` it is continuous: the normal force follows from the depth of the overlap and its rate.

        - `law`: `flexmb.contact.power_law(stiffness)` and others.
        - `friction`, `static_friction`: coefficients; a smooth law of the slip, which is at the static one at the
          `slip_speed` (length/time) and creeps below it.

        Raises `LawError` and `MechanismError` when the contact of the shapes is not known, a coefficient is out of
        range or belongs to the other kind of contact, both shapes belong to one body, or they are drawn inside each
        other.
        """
        if law is None:
            if static_friction is not None or slip_speed is not None:
                raise MechanismError(
                    f"Contact {name!r}: static_friction and slip_speed belong to a continuous contact, with law=. "
                    "The friction of an exact contact is a number or (static, dynamic)."
                )
            self._exact_contact(name, a, b, friction, restitution, impact)
            return
        if isinstance(friction, tuple | list) or restitution or impact != "newton":
            raise MechanismError(
                f"Contact {name!r}: restitution, impact and friction=(static, dynamic) belong to an exact contact. "
                "With a law, give the restitution to the law, and static_friction=."
            )
        made, axes = drawn_contact(name, (a, b), law, (friction, static_friction, slip_speed), self._frames)
        self._frame_force(name, self._pair(name, a.place, b.place, None, *axes), made)

    def _exact_contact(
        self, name: str, a: Surface, b: Surface, friction: float | tuple[float, float], restitution: float, impact: str
    ) -> None:
        made, axes = drawn_exact_contact(name, (a, b), friction, restitution, impact, self._frames)
        pair = self._pair(name, a.place, b.place, None, *axes)
        self._contacts[name] = replace(made, markers=pair)

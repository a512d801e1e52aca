"""Contacts over a stored motion: gap, force, slip and the power of friction at the stored times."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.errors import unknown_name
from fem.shown import shown
from flexmb.errors import MechanismError
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.calls import point_loads
from flexmb.mechanism.contacts.element import is_contact, points_of
from flexmb.mechanism.contacts.exact import CLOSED, ExactContact
from flexmb.mechanism.mechanism import FrameForce, Mechanism
from flexmb.results.elements.exact import exact_contact_of, points_over_time
from flexmb.results.elements.frame import frame_answers, relative_motion
from flexmb.results.elements.motion import marker_motion
from flexmb.results.elements.surface_contact import surface_contact_motion, surface_contact_of
from flexmb.results.motion import Motion
from flexmb.results.table import Column

SHUT = 1e-9
"""Gap, relative to the length of the mechanism, at which bodies in exact contact touch."""


@shown
@dataclass(frozen=True, eq=False)
class ContactMotion:
    """What a contact does at the stored times `t` (nt,).

    - `gap` (nt,): the least distance of the surfaces (length), negative where they overlap; infinite where shapes have
      no point in common reach, such as a cylinder outside its bore.
    - `point` (nt, 3): the world position of the point of least gap, and `normal` (nt, 3), the world direction in which
      the first body pushes the second one there.
    - `force` (nt, 3): on the second body, in world axes; `moment` (nt, 3): about the place of its shape.
    - `normal_force` (nt,) and `friction_force` (nt,): the sums over all points of the force along the normal of each,
      and of the size of its friction. Those of a shaft that is held between opposite sides of a bore do not cancel.
    - `slip` (nt,): speed (length/time) with which the second surface slides over the first at `point`; 0 while apart.
    - `wear_power` (nt,): power that friction dissipates at `point` under the whole load, `friction_force * slip`.
    - `shut`: the gap below which the surfaces touch; 0, but positive for exact contacts, whose gaps close to round-off.
    - `impacts` (n, 2): the times of the impacts of an exact contact and the kinetic energies lost in them. Forces are
      those between impacts, which have impulses instead.

    In an exact contact, and in that of a flexible surface, `point` is that of the largest normal force while it
    transmits any. The second body is then that of the flexible surface; `moment` is about the place of the shape, and
    the slip that of the node at `point`.
    """

    name: str
    t: Float[np.ndarray, "nt"]
    gap: Float[np.ndarray, "nt"]
    point: Float[np.ndarray, "nt 3"]
    normal: Float[np.ndarray, "nt 3"]
    force: Float[np.ndarray, "nt 3"]
    moment: Float[np.ndarray, "nt 3"]
    slip: Float[np.ndarray, "nt"]
    normal_force: Float[np.ndarray, "nt"]
    friction_force: Float[np.ndarray, "nt"]
    shut: float = 0.0
    impacts: Float[np.ndarray, "n 2"] = field(default_factory=lambda: np.zeros((0, 2)))

    @property
    def wear_power(self) -> Float[np.ndarray, "nt"]:
        """Friction force times slip."""
        return self.friction_force * self.slip

    @property
    def touching(self) -> Float[np.ndarray, "nt"]:
        """1 where the surfaces overlap, or touch in an exact contact; 0 where they are apart."""
        return np.asarray((self.gap < self.shut).astype(float))

    def columns(self) -> dict[str, Column]:
        """Time, gap, forces, slip and wear power (nt,) as columns of a table."""
        return {
            "t": Column(self.t, "time"),
            "gap": Column(self.gap, "length"),
            "normal force": Column(self.normal_force, "force"),
            "friction force": Column(self.friction_force, "force"),
            "slip": Column(self.slip, "velocity"),
            "wear power": Column(self.wear_power, "power"),
        }

    def __str__(self) -> str:
        part = float(self.touching.mean())
        return (
            f"contact {self.name!r}: closed at {part:.0%} of {len(self.t)} stored times, least gap "
            f"{self.gap.min():.6g}, largest normal force {self.normal_force.max():.6g}, largest slip "
            f"{self.slip.max():.6g}{self._struck()}"
        )

    def _struck(self) -> str:
        """How many impacts there were and what they took, as text."""
        if not len(self.impacts):
            return ""
        count, lost = len(self.impacts), float(self.impacts[:, 1].sum())
        return (
            f"; {count} {'impact' if count == 1 else 'impacts'} without force but with impulses, energy lost {lost:.6g}"
        )


def contacts_of(mechanism: Mechanism) -> list[str]:
    """The names of the contacts."""
    continuous = [force.name for force in mechanism.frame_forces if is_contact(force)]
    surfaces = [contact.name for contact in mechanism.surface_contacts]
    return [*continuous, *(contact.name for contact in mechanism.contacts), *surfaces]


def named_contacts(mechanism: Mechanism) -> list[str]:
    """The names of the contacts and of the groups of contacts."""
    return [*contacts_of(mechanism), *(group.name for group in mechanism.contact_groups)]


def one_of(mechanism: Mechanism, name: str | None, *, single: bool = False) -> list[str]:
    """The contact or group of contacts `name`, or all; with `single`, there must be one only.

    Raises `MechanismError` when there is none of this name, or several and none is named.
    """
    names = named_contacts(mechanism)
    if (name is not None and name not in names) or not names:
        raise MechanismError(_no_contact(mechanism, name))
    if name is None and single and len(names) > 1:
        raise MechanismError(f"There are several contacts; name one of: {', '.join(map(repr, names))}.")
    return names if name is None else [name]


def contact_motion(motion: Motion, name: str) -> ContactMotion:
    """What the contact `name` does over a motion. Raises `MechanismError` when there is none of this name."""
    mechanism = motion.mechanism
    if (exact := exact_contact_of(mechanism, name)) is not None:
        return _of_exact(motion, exact)
    if surface_contact_of(mechanism, name) is not None:
        return _of_surface(motion, name)
    for force in mechanism.frame_forces:
        if force.name == name and is_contact(force):
            return _of_continuous(motion, force)
    raise MechanismError(_no_contact(mechanism, name))


def held_points(mechanism: Mechanism) -> dict[str, list[str]]:
    """The joints `NAME.K` that hold the points of exact contacts in an equilibrium, by the names of the contacts."""
    held: dict[str, list[str]] = {}
    for joint in mechanism.joints:
        if joint.kind == CLOSED:
            held.setdefault(joint.name.rpartition(".")[0], []).append(joint.name)
    return held


def held_contacts(result: Any) -> list[str]:
    """The number of points and the force of each exact contact in the `Result` of an equilibrium, as texts."""
    texts, mechanism = [], result.mechanism
    for name, joints in held_points(mechanism).items():
        x, y, z = sum(result.reaction(joint)[-1, :3] for joint in joints)
        points = f"{len(joints)} {'point' if len(joints) == 1 else 'points'}"
        body = mechanism.markers[mechanism.joint(joints[0]).markers[1]].body
        owner = "the ground" if body == GROUND else repr(mechanism.bodies[body].name)
        texts.append(f"contact {name!r}: held at {points}, force on {owner} ({x:.6g}, {y:.6g}, {z:.6g})")
    return texts


def _no_contact(mechanism: Mechanism, name: str | None) -> str:
    """The message for a contact that does not exist."""
    names = named_contacts(mechanism)
    if name in names:
        return f"{name!r} is a group of contacts, of which result.contact_group({name!r}) tells the pairs and forces."
    if name is not None and (held := held_points(mechanism).get(name)):
        return (
            f"The points of the contact {name!r} are joints in equilibria and derivatives, of which "
            f"result.reaction({held[0]!r}) tells the force; existing: {', '.join(map(repr, held))}."
        )
    if name is None:
        return f"{mechanism.name!r} has no contacts; those that an equilibrium holds are joints NAME.K there."
    return unknown_name("contact", name, names)


def _of_exact(motion: Motion, contact: ExactContact) -> ContactMotion:
    """An exact contact at its point of the largest normal force or, without force, of the least gap."""
    p, each = points_over_time(motion, contact), np.arange(len(motion.t))
    push = (p.force * p.normal).sum(axis=2)
    at = np.where(push.max(axis=1) > 0, push.argmax(axis=1), p.gap.argmin(axis=1))
    normal = p.normal[each, at]
    return ContactMotion(
        contact.name,
        np.asarray(motion.t),
        gap=p.gap.min(axis=1),
        point=p.point[each, at],
        normal=normal,
        force=p.force.sum(axis=1),
        moment=p.moment,
        normal_force=push.sum(axis=1),
        friction_force=np.linalg.norm(p.force - push[..., None] * p.normal, axis=2).sum(axis=1),
        slip=np.where(p.touches[each, at], _slip(p.velocity[each, at], normal), 0.0),
        shut=SHUT * motion.mechanism.length,
    )


def _of_continuous(motion: Motion, force: FrameForce) -> ContactMotion:
    mechanism, nt = motion.mechanism, len(motion.t)
    seen, answers = relative_motion(motion, force), frame_answers(motion, force)
    a = marker_motion(motion, mechanism.rows[mechanism.force_elements[force.name][0]].markers[0])
    gap, point, normal, velocity = np.full(nt, np.inf), np.full((nt, 3), np.nan), np.zeros((nt, 3)), np.zeros((nt, 3))
    numbers, loads = force.numbers, np.zeros((nt, 2))
    memory, law = len(force.initial) > 0, np.array(numbers)
    for k in range(nt):
        d, S = seen[k, :3], seen[k, 3:12].reshape(3, 3)
        points = points_of(numbers, d, S)
        if not len(points):
            continue
        deepest = points[points[:, 6].argmax()]
        gap[k], point[k], normal[k] = -deepest[6], deepest[:3], deepest[3:6]
        velocity[k] = seen[k, 12:15] + np.cross(seen[k, 15:18], deepest[:3] - d)
        if memory:  # a single point
            push = answers[k, :3] @ deepest[3:6]
            loads[k] = push, np.linalg.norm(answers[k, :3] - push * deepest[3:6])
        else:
            loads[k] = point_loads(points, seen[k, :3], seen[k, 12:15], seen[k, 15:18], law)

    def world(x: np.ndarray) -> np.ndarray:
        return np.einsum("tij,tj->ti", a.axes, x)

    return ContactMotion(
        force.name,
        np.asarray(motion.t),
        gap=gap,
        point=a.position + world(point),
        normal=world(normal),
        force=world(answers[:, :3]),
        moment=world(answers[:, 3:6]),
        slip=np.where(answers[:, :3].any(axis=1), _slip(velocity, normal), 0.0),
        normal_force=loads[:, 0],
        friction_force=loads[:, 1],
    )


def _of_surface(motion: Motion, name: str) -> ContactMotion:
    """What the contact of a flexible surface does at the node of the largest force."""
    over, each = surface_contact_motion(motion, name), np.arange(len(motion.t))
    push = over.normal_force
    at = np.where(push.max(axis=1) > 0, push.argmax(axis=1), over.gap.argmin(axis=1))
    return ContactMotion(
        name,
        over.t,
        over.gap.min(axis=1),
        over.point[each, at],
        over.normal[each, at],
        over.total,
        over.moment,
        over.slip[each, at],
        push.sum(axis=1),
        over.friction_force.sum(axis=1),
        shut=SHUT * motion.mechanism.length,
    )


def _slip(velocity: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """The size (nt,) of velocities (nt, 3) across unit vectors (nt, 3)."""
    return np.asarray(np.linalg.norm(velocity - (velocity * normal).sum(axis=1)[:, None] * normal, axis=1))

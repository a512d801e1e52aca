"""Exact contacts over a stored motion: the points at which bodies touch, with their forces."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from flexmb.errors import MechanismError
from flexmb.kernels.calls import feature_point, tangents
from flexmb.kernels.contact.features import BORDER
from flexmb.kernels.contact.rims import LOWEST
from flexmb.mechanism.contacts.element import points_of
from flexmb.mechanism.contacts.exact import OPEN, ExactContact, point_states
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.elements.motion import MarkerMotion, marker_motion
from flexmb.results.motion import Motion


class PointsOverTime(NamedTuple):
    """The points (n) of an exact contact at the stored times (nt), all in world axes.

    - `gap` (nt, n): infinite where a shape has fewer points. `touches` (nt, n): whether the point is closed.
    - `point`, `normal` (nt, n, 3), `force` (nt, n, 3) on the second body, `velocity` (nt, n, 3) of the second surface
      relative to the first.
    - `couple` (nt, n, 3): the moment of friction of turning on the second body, `turning` (nt, 3): its angular velocity
      relative to the first one.
    - `b`: the motion of the place of the second shape.
    """

    gap: Float[np.ndarray, "nt n"]
    touches: Float[np.ndarray, "nt n"]
    point: Float[np.ndarray, "nt n 3"]
    normal: Float[np.ndarray, "nt n 3"]
    force: Float[np.ndarray, "nt n 3"]
    velocity: Float[np.ndarray, "nt n 3"]
    couple: Float[np.ndarray, "nt n 3"]
    turning: Float[np.ndarray, "nt 3"]
    b: MarkerMotion

    @property
    def moment(self) -> Float[np.ndarray, "nt 3"]:
        """The moment of all forces and couples about the place of the second shape."""
        place = self.b.position[:, None]
        arm = np.where(np.isfinite(self.point), self.point, place) - place
        return np.asarray((np.cross(arm, self.force) + self.couple).sum(axis=1))

    @property
    def turning_power(self) -> Float[np.ndarray, "nt"]:
        """The power of friction of turning, which is not positive."""
        return np.asarray((self.couple.sum(axis=1) * self.turning).sum(axis=1))


def exact_contact_of(mechanism: Mechanism, name: str) -> ExactContact | None:
    """The exact contact of a name, or None."""
    return next((contact for contact in mechanism.contacts if contact.name == name), None)


def points_over_time(motion: Motion, contact: ExactContact) -> PointsOverTime:
    """What the points of an exact contact do over a motion.

    Raises `MechanismError` when the motion does not have the states of contacts, which only simulated motions have.
    """
    mechanism, nt = motion.mechanism, len(motion.t)
    states = getattr(motion, "element_states", np.zeros((nt, 0)))
    if not states.size:
        raise MechanismError(
            f"The motion does not have the forces of the contact {contact.name!r}; only simulated motions have them."
        )
    own = point_states(np.asarray(states), contact, mechanism.contact_state(contact.name))
    turns = np.zeros_like(own)
    if contact.turns:
        turns = point_states(np.asarray(states), contact, mechanism.turning_state(contact)) * contact.size
    pairs = np.zeros((nt, 0), dtype=np.int64)
    if contact.features:
        at = mechanism.feature_state(contact)
        pairs = np.asarray(states)[:, at : at + contact.features].astype(np.int64)
    a, b = (marker_motion(motion, k) for k in contact.markers)
    shape = (nt, contact.points, 3)
    gap, point, normal = np.full(shape[:2], np.inf), np.full(shape, np.nan), np.zeros(shape)
    force, velocity, couple = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for k in range(nt):
        A = a.axes[k]
        closed = own[k, :, 0] != OPEN
        found = _points(contact, pairs[k], closed, A.T @ (b.position[k] - a.position[k]), A.T @ b.axes[k])
        for j, row in found.items():
            gap[k, j], point[k, j], normal[k, j] = -row[6], a.position[k] + A @ row[:3], A @ row[3:6]
            across = np.array(tangents(tuple(row[3:6].tolist()))) @ A.T
            force[k, j] = own[k, j, 1] * normal[k, j] + own[k, j, 2:] @ across
            couple[k, j] = turns[k, j, 1] * normal[k, j] + turns[k, j, 2:] @ across
            moving = b.velocity[k] - a.velocity[k] + np.cross(b.angular_velocity[k], point[k, j] - b.position[k])
            velocity[k, j] = moving - np.cross(a.angular_velocity[k], point[k, j] - a.position[k])
    turning = np.asarray(b.angular_velocity) - a.angular_velocity
    return PointsOverTime(gap, own[:, :, 0] != OPEN, point, normal, force, velocity, couple, turning, b)


def _points(
    contact: ExactContact, pairs: np.ndarray, closed: np.ndarray, d: np.ndarray, S: np.ndarray
) -> dict[int, np.ndarray]:
    """The points of a contact by their numbers, rows as in flexmb/kernels/contact/shapes.py, in axes of the first
    shape; `pairs` are the pairs of features of its points, if it has them. The last pair of an open point, which has
    left its borders since, is none. Cylinders that do not touch their planes have the lowest points of their rims."""
    if not contact.features:
        return dict(enumerate(points_of(contact.numbers, d, S)[: contact.points]))
    n, found, placed = contact.numbers, {}, (tuple(d.tolist()), tuple(S.ravel().tolist()))
    limit = BORDER * sum(contact.reach)
    if contact.on_rims and not closed.any():
        pairs = np.array([LOWEST, LOWEST + 1])
    for k, pair in enumerate(pairs.tolist()):
        if pair:
            row = np.empty(8)
            if feature_point(int(n[0]), n[1:4], int(n[4]), n[5:8], *placed, pair, row) <= limit or closed[k]:
                found[k] = row
    return found


def exact_contact_wrench(motion: Motion, contact: ExactContact) -> Float[np.ndarray, "nt 6"]:
    """Force and moment (nt, 6) of an exact contact on its second body, about its place, in world axes."""
    p = points_over_time(motion, contact)
    return np.hstack([p.force.sum(axis=1), p.moment])


def exact_contact_power(motion: Motion, contact: ExactContact) -> Float[np.ndarray, "nt"]:
    """The power (nt,) that an exact contact delivers to the bodies; that of friction is negative."""
    p = points_over_time(motion, contact)
    return np.asarray((p.force * p.velocity).sum(axis=(1, 2)) + p.turning_power)

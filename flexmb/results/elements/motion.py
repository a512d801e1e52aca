"""The relative motions that force elements act on: stretches, their rates, and the directions of the efforts.

A force element consists of scalar rows, each with a relative coordinate of marker `b` with respect to marker `a`
(docs/theory.md, "Markers, joints, force elements"). This file evaluates them over a stored motion, independently of the
compiled loop.
"""

from typing import NamedTuple

import numpy as np
import scipy
from jaxtyping import Float

from fem.errors import unknown_name
from flexmb.errors import JointError, MechanismError
from flexmb.kernels.base.data import ANGLE, DISTANCE, SPIN, TRANSLATION, make_marker_kinematics
from flexmb.kernels.calls import marker_paths, marker_velocities
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism, Row
from flexmb.results.motion import Motion

SMALL = 1e-4
"""Square of the sine of a tilt below which its functions are summed as series."""


class RowMotion(NamedTuple):
    """The coordinate of a row beyond its free value, `stretch` (nt,), its `rate` (nt,), and the `force` (nt, 3) and
    `moment` (nt, 3) that an effort of one exerts on the second body at its marker, in world axes."""

    stretch: Float[np.ndarray, "nt"]
    rate: Float[np.ndarray, "nt"]
    force: Float[np.ndarray, "nt 3"]
    moment: Float[np.ndarray, "nt 3"]


class MarkerMotion(NamedTuple):
    """World position (nt, 3), axes as columns (nt, 3, 3), velocity (nt, 3) and angular velocity (nt, 3) of a marker."""

    position: Float[np.ndarray, "nt 3"]
    axes: Float[np.ndarray, "nt 3 3"]
    velocity: Float[np.ndarray, "nt 3"]
    angular_velocity: Float[np.ndarray, "nt 3"]


def element_rows(mechanism: Mechanism, name: str) -> tuple[int, ...]:
    """The indices of the rows of a force element. Raises `MechanismError` when there is none of this name."""
    if name not in mechanism.force_elements:
        if name in [joint.name for joint in mechanism.joints]:
            raise MechanismError(
                f"{name!r} is a joint, not a force element; its reaction is result.reaction({name!r})."
            )
        raise MechanismError(unknown_name("force element", name, mechanism.force_elements))
    return mechanism.force_elements[name]


def acting(mechanism: Mechanism) -> list[str]:
    """The names of what exerts forces: force elements, exact contacts, contacts of flexible surfaces, loads, and loads
    along lines."""
    contacts, loads = [contact.name for contact in mechanism.contacts], [load.name for load in mechanism.loads]
    contacts += [contact.name for contact in mechanism.surface_contacts]
    return [*mechanism.force_elements, *contacts, *loads, *(line.name for line in mechanism.lines)]


def element_dofs(mechanism: Mechanism, name: str) -> tuple[str, ...]:
    """The names of the coordinates of a force element: "length" of a spring between places, else "translation x" to
    "rotation z" in the axes of its first marker. Raises `MechanismError` when there is none of this name."""
    return tuple(row_dof(mechanism.rows[r]) for r in element_rows(mechanism, name))


def row_dof(row: Row) -> str:
    """The name of the coordinate of a row, "length" or "translation x" to "rotation z"."""
    if row.kind == DISTANCE:
        return "length"
    if row.kind == TRANSLATION:
        return f"translation {'xyz'[row.axes[0]]}"
    if row.kind == SPIN:
        return f"rotation {'xyz'[row.axes[0]]}"
    return "rotation z" if row.kind == ANGLE else f"rotation {'xy'[row.axes[0]]}"


def element_row(mechanism: Mechanism, name: str, dof: str | None = None) -> int:
    """The row of a coordinate of a force element; `dof` may be omitted if it has one only.

    Raises `MechanismError` when there is no such element, `JointError`, which lists the names, when it does not have
    the coordinate, or has several and none is named.
    """
    names = element_dofs(mechanism, name)
    chosen = [k for k, found in enumerate(names) if dof in (None, found, found.partition(" ")[0])]
    if len(chosen) != 1:
        said = "no coordinate is named" if dof is None else f"found dof={dof!r}"
        raise JointError(f"Force element {name!r}: {said}. Name one of: {', '.join(map(repr, names))}.")
    return element_rows(mechanism, name)[chosen[0]]


def marker_motion(motion: Motion, marker: int) -> MarkerMotion:
    """The motion of the marker with this index."""
    flat, nt = compiled(motion.mechanism), len(motion.t)
    q, w = np.asarray(motion.q), np.asarray(motion.w)
    found = MarkerMotion(np.empty((nt, 3)), np.empty((nt, 3, 3)), np.zeros((nt, 3)), np.zeros((nt, 3)))
    kinematics = make_marker_kinematics(flat)
    marker_paths(flat, marker, q, kinematics, found.position, found.axes)
    marker_velocities(flat, marker, q, w, kinematics, found.velocity, found.angular_velocity)
    return found


def row_motion(motion: Motion, row: Row) -> RowMotion:
    """The relative motion of a row of a force element; force and moment are those of its own coordinate."""
    found = _own_motion(motion, row)
    for term in row.terms:
        further = _own_motion(motion, Row(term.kind, term.markers, (term.axis, 0)))
        stretch, rate = found.stretch + term.factor * further.stretch, found.rate + term.factor * further.rate
        found = found._replace(stretch=stretch, rate=rate)
    return found


def _own_motion(motion: Motion, row: Row) -> RowMotion:
    a, b = (marker_motion(motion, k) for k in row.markers)
    A = a.axes
    distance, turning = b.position - a.position, b.angular_velocity - a.angular_velocity
    velocity = b.velocity - a.velocity - np.cross(a.angular_velocity, distance)
    none = np.zeros_like(distance)
    if row.kind in (TRANSLATION, DISTANCE):
        if row.kind == DISTANCE:
            value = np.linalg.norm(distance, axis=1)
            direction = distance / value[:, None]
        else:
            direction = A[:, :, row.axes[0]]
            value = (direction * distance).sum(axis=1)
        return RowMotion(value - row.offset, (direction * velocity).sum(axis=1), direction, none)
    S = np.einsum("tki,tkj->tij", A, b.axes)
    if row.kind == SPIN:  # its coordinate is a component of the rotation vector
        value = scipy.spatial.transform.Rotation.from_matrix(S).as_rotvec()[:, row.axes[0]]
        direction = A[:, :, row.axes[0]]
        return RowMotion(value, (direction * turning).sum(axis=1), none, direction)
    if row.kind == ANGLE:
        value = motion.angles[:, motion.mechanism.turning.index(row.markers)]
        over = 1.0 / (1.0 + S[:, 2, 2])
        local = np.stack([over * S[:, 0, 2], over * S[:, 1, 2], np.ones(len(S))], axis=1)
    else:
        value, local = _tilt(row.axes[0], S[:, :, 2])
    direction = np.einsum("tij,tj->ti", A, local)
    return RowMotion(value - row.offset, (direction * turning).sum(axis=1), none, direction)


def _tilt(axis: int, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Component x (0) or y (1) of the tilt `f (-z_y, z_x)`, `f = angle / sin(angle)`, which takes the z axis of `a` to
    the direction `z` (nt, 3), and its gradient (nt, 3) with respect to rotations."""
    c, s2 = z[:, 2], z[:, 0] ** 2 + z[:, 1] ** 2
    near = (s2 < SMALL) & (c > 0)
    s, safe = np.sqrt(s2), np.where(near, 1.0, s2)
    f = np.where(near, 1 + s2 * (1 / 6 + s2 * (3 / 40 + s2 * 5 / 112)), np.arctan2(s, c) / np.sqrt(safe))
    slope = np.where(near, -1 / 3 - s2 * (2 / 15 + s2 * (8 / 105 + s2 * 16 / 315)), (c * f - 1) / safe)
    none = np.zeros_like(f)
    if axis == 0:
        return -f * z[:, 1], np.cross(z, np.stack([none, -f, -slope * z[:, 1]], axis=1))
    return f * z[:, 0], np.cross(z, np.stack([f, none, slope * z[:, 0]], axis=1))

"""Efforts, forces and powers of force elements, loads and drivers over a stored motion."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from fem.errors import unknown_name
from flexmb.errors import MechanismError
from flexmb.mechanism.mechanism import Load
from flexmb.results.elements.control import command_over
from flexmb.results.elements.exact import exact_contact_of, exact_contact_power, exact_contact_wrench
from flexmb.results.elements.frame import frame_answers, frame_force_of
from flexmb.results.elements.friction import friction_effort, friction_of
from flexmb.results.elements.lines import line_power, line_wrench
from flexmb.results.elements.motion import MarkerMotion, RowMotion, acting, element_rows, marker_motion, row_motion
from flexmb.results.elements.surface_contact import (
    surface_contact_of,
    surface_contact_power,
    surface_contact_wrench,
)
from flexmb.results.motion import Motion


class RowEffort(NamedTuple):
    """What a row of a force element does over time, all (nt,): the effort of its spring, of its damper or dry friction,
    and of its function of time and law, with the motion of the row."""

    motion: RowMotion
    spring: Float[np.ndarray, "nt"]
    damper: Float[np.ndarray, "nt"]
    applied: Float[np.ndarray, "nt"]

    @property
    def total(self) -> Float[np.ndarray, "nt"]:
        """The effort, positive if it increases the coordinate."""
        return self.spring + self.damper + self.applied


def row_effort(motion: Motion, index: int) -> RowEffort:
    """The efforts of the row of a force element with this index. Raises `LawError` when its law fails."""
    mechanism = motion.mechanism
    row, times = mechanism.rows[index], np.asarray(motion.t)
    moved = row_motion(motion, row)
    applied = np.zeros(len(times))
    if row.function >= 0:
        applied = applied + mechanism.functions[row.function].over(times)[:, 0]
    if row.command >= 0:
        applied = applied + command_over(motion, row.command)
    if row.law >= 0:
        applied = applied + mechanism.laws[row.law].over(times, moved.stretch, moved.rate)
    if (frame := frame_force_of(mechanism, index)) is not None:
        applied = applied + frame_answers(motion, frame[0])[:, frame[1]]
    damper = -row.damping * moved.rate
    if (friction := friction_of(mechanism, index)) is not None:
        damper = damper + friction_effort(motion, friction, index)
    return RowEffort(moved, -row.stiffness * moved.stretch, damper, applied)


def element_force(motion: Motion, name: str) -> Float[np.ndarray, "nt 6"]:
    """Force and moment (nt, 6) that a force element or an exact contact exerts on its second body at its marker, or a
    load on its body at its place, in world axes; of a fluid or wind, its resultant at the frame of the body.

    Raises `MechanismError` when there is neither of this name, and `LawError` when a law fails.
    """
    mechanism = motion.mechanism
    for line in mechanism.lines:
        if line.name == name:
            return line_wrench(motion, line)
    for load in mechanism.loads:
        if load.name == name:
            return load_wrench(motion, load, marker_motion(motion, load.marker))
    if (contact := exact_contact_of(mechanism, name)) is not None:
        return exact_contact_wrench(motion, contact)
    if (surface := surface_contact_of(mechanism, name)) is not None:
        return surface_contact_wrench(motion, surface)
    wrench = np.zeros((len(motion.t), 6))
    for r in element_rows(mechanism, name):
        effort = row_effort(motion, r)
        wrench[:, :3] += effort.total[:, None] * effort.motion.force
        wrench[:, 3:] += effort.total[:, None] * effort.motion.moment
    return wrench


def load_wrench(motion: Motion, load: Load, marker: MarkerMotion) -> Float[np.ndarray, "nt 6"]:
    """Force and moment (nt, 6) of a load in world axes, for the motion of its marker."""
    times, mechanism = np.asarray(motion.t), motion.mechanism
    factor = mechanism.functions[load.function].over(times)[:, 0] if load.function >= 0 else np.ones(len(times))
    if load.command >= 0:
        factor = factor * command_over(motion, load.command)
    parts = np.asarray(load.wrench).reshape(2, 3)
    if load.follower:
        parts = np.einsum("tij,kj->tki", marker.axes, parts)
    return factor[:, None] * np.broadcast_to(parts, (len(times), 2, 3)).reshape(-1, 6)


def load_power(motion: Motion, load: Load) -> Float[np.ndarray, "nt"]:
    """Power (nt,) of a load."""
    marker = marker_motion(motion, load.marker)
    moved = np.hstack([marker.velocity, marker.angular_velocity])
    return np.asarray((load_wrench(motion, load, marker) * moved).sum(axis=1))


def driver_power(motion: Motion, multipliers: Float[np.ndarray, "nt nj"], joint: str) -> Float[np.ndarray, "nt"]:
    """Power (nt,) of the prescribed motions of a joint; zero if it has none."""
    mechanism, times = motion.mechanism, np.asarray(motion.t)
    power = np.zeros(len(times))
    for r in mechanism.joint(joint).rows:
        if (function := mechanism.rows[r].function) >= 0:
            power -= multipliers[:, r] * mechanism.functions[function].over(times)[:, 1]
    return power


def power_of(motion: Motion, multipliers: Float[np.ndarray, "nt nj"], name: str) -> Float[np.ndarray, "nt"]:
    """Power (nt,) that a force element, an exact contact, a load or the drivers of a joint deliver to the bodies.

    That of a spring is positive while it gives back energy, that of a damper is negative. Raises `MechanismError` when
    there is nothing of this name, and `LawError` when a law fails.
    """
    mechanism = motion.mechanism
    for line in mechanism.lines:
        if line.name == name:
            return line_power(motion, line)
    for load in mechanism.loads:
        if load.name == name:
            return load_power(motion, load)
    if (contact := exact_contact_of(mechanism, name)) is not None:
        return exact_contact_power(motion, contact)
    if (surface := surface_contact_of(mechanism, name)) is not None:
        return surface_contact_power(motion, surface)
    if name in mechanism.force_elements:
        efforts = [row_effort(motion, r) for r in element_rows(mechanism, name)]
        return np.asarray(sum(effort.total * effort.motion.rate for effort in efforts))
    joints = [joint.name for joint in mechanism.joints]
    if name in joints:
        return driver_power(motion, multipliers, name)
    raise MechanismError(unknown_name("force element, load or joint", name, [*acting(mechanism), *joints]))

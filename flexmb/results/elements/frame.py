"""Force elements between two frames over a stored motion: what their laws returned at the stored times."""

import numpy as np
from jaxtyping import Float

from flexmb.errors import MechanismError
from flexmb.mechanism.mechanism import FrameForce, Mechanism
from flexmb.results.elements.control import command_over
from flexmb.results.elements.motion import marker_motion
from flexmb.results.motion import Motion


def frame_force_of(mechanism: Mechanism, row: int) -> tuple[FrameForce, int] | None:
    """The force element between frames to which a row belongs, and the number of the row in it; None for other rows."""
    for force in mechanism.frame_forces:
        rows = mechanism.force_elements.get(force.name, ())
        if row in rows:
            return force, rows.index(row)
    return None


def relative_motion(motion: Motion, force: FrameForce) -> Float[np.ndarray, "nt 18"]:
    """Position, rotation (row by row), velocity and angular velocity of the second frame of an element, seen from the
    first, as its law sees them (`flexmb.Relative`)."""
    mechanism = motion.mechanism
    first = mechanism.rows[mechanism.force_elements[force.name][0]]
    a, b = (marker_motion(motion, k) for k in first.markers)
    turn = np.swapaxes(a.axes, 1, 2)
    distance = b.position - a.position
    velocity = b.velocity - a.velocity - np.cross(a.angular_velocity, distance)
    return np.hstack(
        [
            np.einsum("tij,tj->ti", turn, distance),
            (turn @ b.axes).reshape(-1, 9),
            np.einsum("tij,tj->ti", turn, velocity),
            np.einsum("tij,tj->ti", turn, b.angular_velocity - a.angular_velocity),
        ]
    )


def frame_seen(motion: Motion, force: FrameForce) -> Float[np.ndarray, "nt 18+ni"]:
    """What the law of an element sees at the stored times: the relative motion and its inputs."""
    seen = relative_motion(motion, force)
    if force.command < 0:
        return seen
    read = range(force.command, force.command + len(force.call.law.inputs))
    return np.column_stack([seen, *(command_over(motion, k) for k in read)])


def frame_answers(motion: Motion, force: FrameForce) -> Float[np.ndarray, "nt 7"]:
    """Force, moment (in axes of the first frame) and stored energy of an element at the stored times.

    Raises `LawError` when its law fails, and `MechanismError` when the motion does not have the states of the element.
    """
    mechanism, begin = motion.mechanism, 0
    for other in mechanism.frame_forces:
        if other.name == force.name:
            break
        begin += len(other.initial)
    count = len(force.initial)
    states = getattr(motion, "element_states", np.zeros((len(motion.t), 0)))
    if count and not states.size:
        raise MechanismError(
            f"The motion does not have the states of {force.name!r}; only simulated motions have them."
        )
    seen, parameters, found = frame_seen(motion, force), np.array(force.numbers), np.zeros((len(motion.t), 7 + count))
    force.call.forget()
    for k, t in enumerate(motion.t):
        own = states[k, begin : begin + count] if count else np.zeros(0)
        force.call.answer(float(t), seen[k], np.ascontiguousarray(own), parameters, found[k])
        if force.call.failure is not None:
            raise force.call.failure
    return found[:, :7]

"""Whether the efforts of drivers are those of their motions.

Generalised-alpha and HHT find accelerations from the positions of several steps. Where the jerk of a driven motion
jumps, they err by two to three times its jump times the step, and where the acceleration jumps, by more than the jump
with steps of any size. What is wrong alternates from step to step, grows for some steps because three roots at infinite
frequency coincide, and vanishes after some tens of them (docs/time.md, "How smooth a driver must be"). The
accelerations of the bodies, and with them the effort of the driver, are therefore compared with the motion at the
stored times.
"""

import numpy as np

from flexmb.kernels.base.data import ANGLE, DISTANCE, TRANSLATION
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Joint, Row
from flexmb.results.elements.motion import row_dof
from flexmb.results.joint_motion import coordinate_motion
from flexmb.results.motion import Motion, frame_motion
from flexmb.results.result import Result, result_of_states

OFF = 0.05
"""Error of a driven acceleration, relative to the largest of the motion, and of the effort, relative to the largest of
the driver, beyond which both are told."""
NOISE = 1e-6
"""Error of a driven acceleration, relative to the largest of the mechanism, that may come from the iteration."""
LOOKS = 20_000
"""Largest number of stored times, evenly spread, at which accelerations are compared."""


def wrong_efforts(result: Result) -> list[str]:
    """A sentence for each driver whose bodies have another acceleration than its motion, if this changes its effort;
    none of mechanisms with exact contacts, whose impacts are in the accelerations.

    The inertia that a driver feels is taken from the kinetic energy where it is fastest, which is not too small where
    other bodies move by themselves: what presses slowly on a spring needs no accurate acceleration.
    """
    mechanism, found = result.mechanism, []
    driven = [(j, r) for j in mechanism.joints for r in j.rows if mechanism.rows[r].function >= 0]
    if not driven or mechanism.contacts:
        return []
    looks = np.unique(np.linspace(0, len(result.t) - 1, min(len(result.t), LOOKS)).round().astype(int))
    seen = result_of_states(
        mechanism,
        *(x[looks] for x in (result.t, result.q, result.w, result.wdot, result.multipliers)),
        angles=result.angles[looks],
        element_states=result.element_states[looks],
    )
    wanted = mechanism.function_table(np.asarray(seen.t))
    noise = NOISE * (np.abs(seen.wdot) * compiled(mechanism).weight).max(initial=0.0)
    kinetic = np.asarray(result.ledger.kinetic)[looks]
    for joint, r in driven:
        row = mechanism.rows[r]
        motion = mechanism.functions[row.function]
        largest = np.abs(wanted[:, row.function, 2]).max()
        if not largest > 0 or row.kind not in (ANGLE, DISTANCE, TRANSLATION):
            continue
        off = np.abs(_acceleration(seen, joint, row) - wanted[:, row.function, 2])
        off[np.asarray(seen.multipliers[:, r]) == 0] = 0.0  # at rest, or released by an event
        worst, fastest = int(off.argmax()), int(np.abs(wanted[:, row.function, 1]).argmax())
        rate, effort = wanted[fastest, row.function, 1], np.abs(seen.multipliers[:, r]).max()
        changes = 2.0 * kinetic[fastest] * off[worst] > OFF * effort * rate**2
        if changes and off[worst] > max(OFF * largest, noise / (mechanism.length if row.kind == ANGLE else 1.0)):
            found.append(
                f"The effort of the driver {joint.name!r} of {mechanism.name!r} errs: at t = {seen.t[worst]:.6g} it is "
                f"that of an acceleration which is off by {off[worst]:.4g}, {off[worst] / largest:.0%} of the largest "
                f"of its motion, {motion.description}. Generalised-alpha and HHT need a motion whose acceleration and "
                "jerk do not jump, and steps that resolve it. Give smooth_step(..., derivatives=3), a speed_profile or "
                "a table with more points, use method='radau' or 'bdf', or shorter steps unless the acceleration jumps."
            )
    return found


def _acceleration(motion: Motion, joint: Joint, row: Row) -> np.ndarray:
    """The second derivative (nt,) of a driven coordinate, from the accelerations of the bodies."""
    if row.kind == TRANSLATION:
        return coordinate_motion(motion, joint, row_dof(row))[2]
    a, b = (frame_motion(motion, motion.mechanism.markers[k].name) for k in row.markers)
    if row.kind == ANGLE:
        omega = a.angular_velocity
        turning = b.angular_acceleration - a.angular_acceleration - np.cross(omega, b.angular_velocity - omega)
        return np.asarray((turning * a.axes[:, :, 2]).sum(axis=1))
    d, rate, second = b.position - a.position, b.velocity - a.velocity, b.acceleration - a.acceleration
    length = np.linalg.norm(d, axis=1)
    along = (d * rate).sum(axis=1) / length
    return np.asarray(((d * second).sum(axis=1) + (rate**2).sum(axis=1) - along**2) / length)

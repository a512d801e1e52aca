"""Whether a motion stayed within the points of the tables and within the states for which its force elements hold."""

import numpy as np

from flexmb.results.elements.motion import row_motion
from flexmb.results.motion import Motion


def beyond_tables(motion: Motion) -> list[str]:
    """A sentence for each law that continues outside its points, if the motion left them at a stored time."""
    mechanism, times = motion.mechanism, np.asarray(motion.t)
    found = []
    for row in mechanism.rows[mechanism.joint_rows :]:
        beyond = getattr(mechanism.laws[row.law].function, "beyond", None) if row.law >= 0 else None
        if beyond is not None:
            moved = row_motion(motion, row)
            if text := beyond(times, moved.stretch, moved.rate):
                name = mechanism.laws[row.law].name
                found.append(
                    f"The law of {name!r} of {mechanism.name!r} was used beyond its points. {text}. Its efforts there "
                    "are those of its continuation: extend the table, or keep the motion inside."
                )
    return found


def below_floors(motion: Motion) -> list[str]:
    """A sentence for each state of a force element between frames that was below the lowest value at which its law
    holds, at a stored time."""
    mechanism, times = motion.mechanism, np.asarray(motion.t)
    states = getattr(motion, "element_states", np.zeros((len(times), 0)))
    found, first = [], 0
    for force in mechanism.frame_forces:
        law = force.call.law
        for k, state in enumerate(law.states):
            if state not in law.floors or states.shape[1] <= first + k:  # pictures of states without own states
                continue
            values, parameter = states[:, first + k], law.floors[state]
            floor, least = force.parameters[law.parameters.index(parameter)], int(values.argmin())
            if values[least] < floor:
                found.append(
                    f"The {state} of {force.name!r} of {mechanism.name!r} fell to {values[least]:.4g} at t = "
                    f"{times[least]:.6g}; the law {law.name!r} holds down to {parameter} = {floor:.4g}. {law.below}"
                )
        first += len(law.states)
    return found

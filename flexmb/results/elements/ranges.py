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


def outside_limits(motion: Motion) -> list[str]:
    """A sentence for each state of a force element between frames that was outside the values for which its law holds,
    at a stored time."""
    mechanism, times = motion.mechanism, np.asarray(motion.t)
    states = getattr(motion, "element_states", np.zeros((len(times), 0)))
    found, first = [], 0
    for force in mechanism.frame_forces:
        law = force.call.law
        given = dict(zip(law.parameters, force.parameters, strict=True))
        for state, values in zip(law.states, states[:, first:].T, strict=False):  # pictures of states have no own ones
            what, k = f"The {state} of {force.name!r} of {mechanism.name!r}", int(np.abs(values).argmax())
            if state in law.limits:
                which, factor = law.limits[state]
                if abs(values[k]) > factor * given[which]:
                    found.append(
                        f"{what} reached {values[k]:.4g} at t = {times[k]:.6g}; the law {law.name!r} holds up to "
                        f"{factor:g} {which} = {factor * given[which]:.4g}. {law.beyond}"
                    )
            least = int(values.argmin())
            if state in law.floors and values[least] < given[law.floors[state]]:
                found.append(
                    f"{what} fell to {values[least]:.4g} at t = {times[least]:.6g}; the law {law.name!r} holds down to "
                    f"{law.floors[state]} = {given[law.floors[state]]:.4g}. {law.below}"
                )
        first += len(law.states)
    return found

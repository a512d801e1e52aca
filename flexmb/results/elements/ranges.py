"""Whether a motion stayed within the points of the tables in its force elements."""

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

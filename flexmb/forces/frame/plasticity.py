"""Plastic hinge: an elastic, perfectly plastic moment."""

import math
from typing import Any

from flexmb.mechanism.frame_law import law


@law(states=("plastic",), parameters=("stiffness", "limit"), updates=True, positive=("stiffness", "limit"))
def plastic_hinge(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, new: Any) -> Any:
    """A moment about the axis (z), elastic with `stiffness` (moment/rad) up to `limit` (moment), and constant beyond.

    The state is the plastic angle (radians), found by return mapping, which may exceed a turn; the elastic angle is
    within half a turn. Together with a revolute joint it models the collapse of a section in bending. Source: Dias and
    Pereira (NATO ASI 1993).
    """
    stiffness, limit = parameters[0], parameters[1]
    angle = math.atan2(relative.S[1, 0], relative.S[0, 0])
    elastic = angle - states[0]
    elastic -= 2.0 * math.pi * math.floor(elastic / (2.0 * math.pi) + 0.5)
    moment = min(max(stiffness * elastic, -limit), limit)
    new[0] = states[0] + elastic - moment / stiffness
    wrench[5] = -moment
    return 0.5 * moment * moment / stiffness

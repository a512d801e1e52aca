"""Aerodynamic drag of a body in wind."""

import math
from typing import Any

from flexmb.mechanism.frame_law import law


@law(
    parameters={"density": None, "area": None, "coefficient": None, "wind_x": 0.0, "wind_y": 0.0, "wind_z": 0.0},
    non_negative=("density", "area", "coefficient"),
)
def drag(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """The force `-density coefficient area |u| u / 2` against the velocity `u` of frame `b` relative to the wind.

    Frame `a` is on the ground; the wind is resolved in its axes. `density` (mass/length^3) of the fluid, `area`
    (length^2) and `coefficient` of the body, `wind_x`, `wind_y`, `wind_z` (length/time).
    """
    density, area, coefficient = parameters[0], parameters[1], parameters[2]
    x, y, z = relative.v[0] - parameters[3], relative.v[1] - parameters[4], relative.v[2] - parameters[5]
    factor = -0.5 * density * coefficient * area * math.sqrt(x * x + y * y + z * z)
    wrench[0], wrench[1], wrench[2] = factor * x, factor * y, factor * z

"""Aerodynamic drag of a body, in wind and in air at rest."""

import math
from typing import Any

import numba

from flexmb.mechanism.frame_law import law


@numba.njit
def resist(factor: float, x: float, y: float, z: float, wrench: Any) -> None:
    """Set the force `-factor |u| u` for a velocity `u` with the components `x`, `y`, `z`."""
    force = -factor * math.sqrt(x * x + y * y + z * z)
    wrench[0], wrench[1], wrench[2] = force * x, force * y, force * z


@law(
    parameters={"density": None, "area": None, "coefficient": None, "wind_x": 0.0, "wind_y": 0.0, "wind_z": 0.0},
    non_negative=("density", "area", "coefficient"),
)
def drag(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """The force `-density coefficient area |u| u / 2` against the velocity `u` of frame `b` relative to the wind.

    Frame `a` is on the ground; the wind is resolved in its axes. `density` (mass/length^3) of the fluid, `area`
    (length^2) and `coefficient` of the body, `wind_x`, `wind_y`, `wind_z` (length/time). All that it gives is work,
    since wind gives energy; `still_drag` makes heat.
    """
    density, area, coefficient = parameters[0], parameters[1], parameters[2]
    x, y, z = relative.v[0] - parameters[3], relative.v[1] - parameters[4], relative.v[2] - parameters[5]
    resist(0.5 * density * coefficient * area, x, y, z, wrench)


@law(parameters=("density", "area", "coefficient"), non_negative=("density", "area", "coefficient"))
def still_drag(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """The force of `drag` in air at rest, which makes heat.

    `density` (mass/length^3) of the fluid, `area` (length^2) and `coefficient` of the body.
    """
    v = relative.v
    resist(0.5 * parameters[0] * parameters[1] * parameters[2], v[0], v[1], v[2], wrench)
    return 0.0

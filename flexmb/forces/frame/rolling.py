"""Rolling bearing: the sum over its rolling elements."""

import math
from typing import Any

from flexmb.mechanism.frame_law import law

MOST = 10_000
"""Largest number of rolling elements."""


@law(
    states=("cage angle",),
    parameters={
        "elements": None,
        "stiffness": None,
        "exponent": 1.5,
        "clearance": 0.0,
        "cage_ratio": 0.5,
        "damping": 0.0,
    },
    positive=("elements", "exponent"),
    non_negative=("stiffness", "cage_ratio", "damping"),
)
def rolling_bearing(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """A radial rolling bearing about the axis z; frame `a` on the outer ring, `b` on the inner ring.

    Each of the `elements` (a number) carries `stiffness * compression^exponent`, without tension: 1.5 for balls, 10/9
    for rollers. `clearance` (length) is the diametral one. The state is the angle of the cage (radians), which turns
    with `cage_ratio` times the angular velocity of the inner ring: `(1 - d cos(contact angle)/D)/2` for elements of
    diameter `d` on a pitch circle `D`. `damping` (force time/length) acts in the plane. Source: Zeischka (Euromech
    524, 2012); Harris, Rolling Bearing Analysis (1966).
    """
    count, stiffness, exponent = int(parameters[0]), parameters[1], parameters[2]
    gap, damping = 0.5 * parameters[3], parameters[5]
    if count != parameters[0] or count > MOST:
        raise ValueError("the number of rolling elements must be whole, and at most 10,000")
    x, y, energy = relative.d[0], relative.d[1], 0.0
    wrench[0], wrench[1] = -damping * relative.v[0], -damping * relative.v[1]
    for k in range(count):
        angle = states[0] + 2.0 * math.pi * k / count
        c, s = math.cos(angle), math.sin(angle)
        compression = x * c + y * s - gap
        if compression > 0.0:
            load = stiffness * compression**exponent
            wrench[0] -= load * c
            wrench[1] -= load * s
            energy += load * compression / (exponent + 1.0)
    rates[0] = parameters[4] * relative.omega[2]
    return energy

"""Hydraulic cylinders and a servo actuator, with their valves."""

import math
from typing import Any

import numba

from flexmb.mechanism.frame_law import law


@numba.njit
def orifice(drop: float, laminar: float) -> float:
    """The root of a pressure drop with its sign, linear below the `laminar` pressure."""
    return drop / math.sqrt(abs(drop) + laminar)


SIZES: Any = dict.fromkeys(("area_a", "area_b", "stroke", "bulk_modulus", "supply", "flow"))
DETAILS: Any = {
    "retracted": 0.0,
    "dead_volume": None,
    "leakage": 0.0,
    "tank": 0.0,
    "laminar": None,
    "vapour": 0.0,
}
"""Parameters of double-acting cylinders before and after those of their own valves, as files have them in order."""
CHAMBERS: Any = {
    "states": ("pressure a", "pressure b"),
    "positive": ("area_a", "area_b", "stroke", "bulk_modulus", "dead_volume", "laminar"),
    "non_negative": ("flow", "leakage"),
    "increasing": ("vapour", "tank", "supply"),
    "floors": {"pressure a": "vapour", "pressure b": "vapour"},
    "below": (
        "The fluid evaporates there and the chamber does not pull, which the law does not include: choose a slower "
        "valve, or a higher pressure of the supply or of the tank. `vapour` is the pressure at which the fluid "
        "evaporates: zero for absolute pressures, about -1e5 Pa for pressures above the atmosphere."
    ),
}
"""What the laws of double-acting cylinders have in common."""


@numba.njit
def double_acting(
    x: float, speed: float, opening: float, valve: Any, volumes: Any, states: Any, wrench: Any, rates: Any
) -> None:
    """The force and the rates of the pressures of a double-acting cylinder at the stroke `x`, by an `opening`.

    `valve`: supply, tank, flow, laminar; `volumes`: both areas, stroke, dead volume, bulk modulus, leakage.
    """
    supply, tank, flow, laminar = valve
    area_a, area_b, stroke, dead, bulk, leakage = volumes
    if x < 0.0 or x > stroke:
        raise ValueError("the rod of the cylinder is beyond its stroke")
    pa, pb = states[0], states[1]
    if opening >= 0.0:
        qa, qb = flow * opening * orifice(supply - pa, laminar), -flow * opening * orifice(pb - tank, laminar)
    else:
        qa, qb = flow * opening * orifice(pa - tank, laminar), -flow * opening * orifice(supply - pb, laminar)
    leak = leakage * (pa - pb)
    rates[0] = bulk * (qa - leak - area_a * speed) / (dead + area_a * x)
    rates[1] = bulk * (qb + leak + area_b * speed) / (dead + area_b * (stroke - x))
    wrench[2] = pa * area_a - pb * area_b


@law(
    parameters={**SIZES, "target": None, "gain": None, **DETAILS},
    **CHAMBERS,
)
def hydraulic_cylinder(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """A double-acting cylinder along z, from frame `a` (its bottom) to frame `b` (its rod), and a four-way valve.

    The chambers have the states `pressure a`, which extends the rod, and `pressure b`: `p' = bulk_modulus (Q - V') / V`
    with the volumes `dead_volume + area * length of the chamber` and the flows `Q` of the valve and of the leak
    `leakage * (pressure difference)`. The valve opens by `gain * (target - z)`, between -1 and 1, and passes `flow *
    opening * root(pressure drop)`, linear in the drop below the `laminar` pressure. That of `commanded_cylinder` opens
    as a controller says.

    `area_a`, `area_b` (length^2), `stroke` and `retracted` (the coordinate z at zero stroke), `target` (length), `gain`
    (1/length), `supply`, `tank`, `laminar` and `bulk_modulus` (pressures), `flow` (volume/time per root of a pressure),
    `leakage` (volume/time per pressure), `dead_volume` (length^3). A rod beyond its stroke is an error. A chamber does
    not cavitate: a pressure below `vapour` is possible, and ends the simulation with a `LawRangeWarning`.
    """
    area_a, area_b, stroke, bulk = parameters[0], parameters[1], parameters[2], parameters[3]
    supply, flow, target, gain = parameters[4], parameters[5], parameters[6], parameters[7]
    retracted, dead, leakage, tank, laminar = (
        parameters[8],
        parameters[9],
        parameters[10],
        parameters[11],
        parameters[12],
    )
    opening = min(max(gain * (target - relative.d[2]), -1.0), 1.0)
    valve, volumes = (supply, tank, flow, laminar), (area_a, area_b, stroke, dead, bulk, leakage)
    double_acting(relative.d[2] - retracted, relative.v[2], opening, valve, volumes, states, wrench, rates)


@law(
    inputs=("opening",),
    parameters={**SIZES, **DETAILS},
    **CHAMBERS,
)
def commanded_cylinder(
    t: Any, relative: Any, inputs: Any, states: Any, parameters: Any, wrench: Any, rates: Any
) -> Any:
    """The `hydraulic_cylinder` whose valve opens by the input `opening`, from -1 to 1 (fully open beyond).

    Connect the input to the command of a controller, `"command:NAME:COMMAND"`, a measure, or a function of time. A
    positive opening connects the chamber that extends the rod with the supply, and the other one with the tank. The
    parameters are those of `hydraulic_cylinder`, without the `target` and `gain` of its valve.
    """
    area_a, area_b, stroke, bulk = parameters[0], parameters[1], parameters[2], parameters[3]
    supply, flow, retracted, dead = parameters[4], parameters[5], parameters[6], parameters[7]
    leakage, tank, laminar = parameters[8], parameters[9], parameters[10]
    opening = min(max(inputs[0], -1.0), 1.0)
    valve, volumes = (supply, tank, flow, laminar), (area_a, area_b, stroke, dead, bulk, leakage)
    double_acting(relative.d[2] - retracted, relative.v[2], opening, valve, volumes, states, wrench, rates)


@law(
    states=("pressure",),
    parameters={
        "area": None,
        "capacity": None,
        "flow": None,
        "leakage": 0.0,
        "damping": 0.0,
        "gain": None,
        "length": None,
        "amplitude": 0.0,
        "frequency": 0.0,
        "phase": 0.0,
    },
    positive=("area", "capacity", "length"),
    non_negative=("flow", "leakage", "damping", "frequency"),
)
def servo_actuator(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """A hydraulic actuator along the line between the frames, with the linear equations of small valve openings.

    The state is the difference of pressure of the chambers, `p' = (flow u - leakage p - area l') / capacity`, in which
    `l` is the distance of the frames and `u` the opening of the valve; the force that pushes them apart is
    `area p - damping l'`. The valve follows a sine: `u = gain (length + amplitude sin(2 pi frequency t + phase) - l)`,
    between -1 and 1.

    `area` (length^2), `capacity` (volume/pressure), `flow` (volume/time, at `u = 1`), `leakage`
    (volume/time per pressure), `damping` (force time/length), `gain` (1/length), `length` and `amplitude` (lengths),
    `frequency` (cycles/time), `phase` (radians). Source: Leimbach and Hahn (NATO ASI 1993).
    """
    area, capacity, flow, leakage, damping = parameters[0], parameters[1], parameters[2], parameters[3], parameters[4]
    gain, mean, amplitude, frequency, phase = parameters[5], parameters[6], parameters[7], parameters[8], parameters[9]
    d, v = relative.d, relative.v
    length = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    if length == 0.0:
        raise ValueError("the ends of the actuator coincide, so that it has no direction")
    speed = (d[0] * v[0] + d[1] * v[1] + d[2] * v[2]) / length
    target = mean + amplitude * math.sin(2.0 * math.pi * frequency * t + phase)
    opening = min(max(gain * (target - length), -1.0), 1.0)
    rates[0] = (flow * opening - leakage * states[0] - area * speed) / capacity
    push = (area * states[0] - damping * speed) / length
    wrench[0], wrench[1], wrench[2] = push * d[0], push * d[1], push * d[2]

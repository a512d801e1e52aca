"""Tyres on a flat road: linear, and with the side force of Bakker, Pacejka and Lidner (1989)."""

import math
from typing import Any

import numba
import numpy as np

from flexmb.mechanism.frame_law import law

_ROOTS = np.polynomial.legendre.leggauss(6)
NODES, WEIGHTS = 0.5 * (_ROOTS[0] + 1.0), 0.5 * _ROOTS[1]
"""Gauss points from zero to the deflection of the tread."""
RISE = 0.05
"""Tangent of a slip angle at which side forces still rise: their nodes lie closer together below it."""
LARGEST_SLIP = 0.3
"""Deflection of the tread, relative to the relaxation length, up to which a force proportional to it is one of a tyre;
tyres slide at slips of 0.1 to 0.2."""


@numba.njit
def contact(relative: Any, radius: float) -> Any:
    """Forward and lateral directions (in the road), the vector to the contact from the wheel's centre, the deflection
    and the camber angle of a wheel with its axle along y of frame `b`, on the plane z = 0 of frame `a`."""
    S, d = relative.S, relative.d
    ax, ay, az = S[0, 1], S[1, 1], S[2, 1]
    level = math.sqrt(ax * ax + ay * ay)
    if level == 0.0 or d[2] <= 0.0:
        raise ValueError("the wheel lies flat on the road or below it")
    forward = (ay / level, -ax / level, 0.0)
    side = (ax / level, ay / level, 0.0)
    # the radius of the wheel that points to the road: perpendicular to the axle in its vertical plane
    down = (az * side[0], az * side[1], -level)
    loaded = d[2] / level
    arm = (loaded * down[0], loaded * down[1], loaded * down[2])
    return forward, side, arm, radius - loaded, math.asin(az)


@numba.njit
def slip_velocities(relative: Any, forward: Any, side: Any, arm: Any) -> Any:
    """Forward speed of the wheel's centre, slip velocities of the tread forward and sideways, and rate of approach."""
    v, w, S = relative.v, relative.omega, relative.S
    spin = w[0] * S[0, 1] + w[1] * S[1, 1] + w[2] * S[2, 1]
    # the wheel without its spin: the slip sideways does not contain the spin of a cambered wheel
    x, y, z = w[0] - spin * S[0, 1], w[1] - spin * S[1, 1], w[2] - spin * S[2, 1]
    held = (v[0] + y * arm[2] - z * arm[1], v[1] + z * arm[0] - x * arm[2], v[2] + x * arm[1] - y * arm[0])
    ahead = held[0] * forward[0] + held[1] * forward[1]
    across = held[0] * side[0] + held[1] * side[1]
    length = math.sqrt(arm[0] * arm[0] + arm[1] * arm[1] + arm[2] * arm[2])
    return ahead, ahead - spin * length, across, -v[2]


@numba.njit
def deflect(
    states: Any,
    ahead: float,
    along: float,
    across: float,
    deflection: float,
    radius: float,
    relaxation: float,
    rates: Any,
) -> None:
    """The rates of the deflections of the tread: `u' = slip velocity - |V| u / relaxation` on the road; in the air they
    vanish as the wheel turns."""
    if deflection > 0.0:
        rates[0] = along - abs(ahead) * states[0] / relaxation
        rates[1] = across - abs(ahead) * states[1] / relaxation
    else:
        turning = abs(ahead) + abs(ahead - along) * radius / (radius - deflection)
        rates[0], rates[1] = -turning * states[0] / relaxation, -turning * states[1] / relaxation


@numba.njit
def apply(
    wrench: Any, forward: Any, side: Any, arm: Any, along: float, across: float, load: float, turn: float
) -> None:
    """The forces at the contact as a wrench at the wheel's centre, with the aligning moment `turn` about z."""
    x, y, z = along * forward[0] + across * side[0], along * forward[1] + across * side[1], load
    wrench[0], wrench[1], wrench[2] = x, y, z
    wrench[3] = arm[1] * z - arm[2] * y
    wrench[4] = arm[2] * x - arm[0] * z
    wrench[5] = arm[0] * y - arm[1] * x + turn


@numba.njit
def pressed(arm: Any, stiffness: float, deflection: float) -> float:
    """The energy of the vertical spring: its force acts along the normal of the road, its deflection along `arm`."""
    if deflection <= 0.0:
        return 0.0
    length = math.sqrt(arm[0] * arm[0] + arm[1] * arm[1] + arm[2] * arm[2])
    return -0.5 * stiffness * deflection * deflection * arm[2] / length


@law(
    states=("forward deflection", "side deflection"),
    axle=True,
    parameters={
        "radius": None,
        "vertical_stiffness": None,
        "vertical_damping": 0.0,
        "slip_stiffness": None,
        "cornering_stiffness": None,
        "relaxation": None,
        "trail": 0.0,
    },
    positive=("radius", "vertical_stiffness", "relaxation"),
    non_negative=("vertical_damping", "slip_stiffness", "cornering_stiffness"),
    limits=dict.fromkeys(["forward deflection", "side deflection"], ("relaxation", LARGEST_SLIP)),
    beyond=(
        "A tyre slides at smaller slips, and the force of the law rises without bound, longest where the wheel turns on"
        " the spot: drive, brake and steer less, or give the side force by pacejka_89."
    ),
)
def linear_tyre(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """A tyre whose forces in the road are proportional to its slip, with a relaxation length.

    Frame `a` is on the road, with its normal as z (the `axis` of `System.force`); frame `b` at the centre of the
    wheel, whose axle is the y axis of `b`: by default, the wheel is drawn upright and rolls along x of `a`; give the
    `axle` of a wheel that is drawn otherwise. The states are the deflections (lengths) of the tread:
    `u' = slip velocity - |V| u / relaxation`, so that the side force is `-cornering_stiffness * tan(slip angle)` in
    steady running, and that of a spring at a standstill. `radius`, `relaxation`, pneumatic `trail` (lengths),
    `vertical_stiffness` (force/length), `vertical_damping` (force time/length), `slip_stiffness`,
    `cornering_stiffness` (force). The forces vanish where the wheel leaves the road, and the deflections as it turns
    in the air. Deflections of more than 0.3 `relaxation` end a simulation with a `LawRangeWarning`: a tyre slides at
    smaller slips, where this law has forces without bound, of a wheel that turns on the spot above all.

    The law stores the energy of the vertical spring and of the springs `slip_stiffness / relaxation` and
    `cornering_stiffness / relaxation` of the tread; the power `force * |V| u / relaxation` of the slip and that of the
    damping are heat.
    Source: Costa and Jones (NATO ASI 1993); Pacejka, Tire and Vehicle Dynamics (2012), chapter 7.
    """
    radius, stiffness, damping = parameters[0], parameters[1], parameters[2]
    slip, cornering, relaxation, trail = parameters[3], parameters[4], parameters[5], parameters[6]
    forward, side, arm, deflection, _ = contact(relative, radius)
    ahead, along, across, approach = slip_velocities(relative, forward, side, arm)
    deflect(states, ahead, along, across, deflection, radius, relaxation, rates)
    if deflection > 0.0:
        load = max(stiffness * deflection + damping * approach, 0.0)
        push = -cornering * states[1] / relaxation
        apply(wrench, forward, side, arm, -slip * states[0] / relaxation, push, load, -trail * push)
    tread = slip * states[0] * states[0] + cornering * states[1] * states[1]
    return pressed(arm, stiffness, deflection) + 0.5 * tread / relaxation


@law(
    states=("forward deflection", "side deflection"),
    axle=True,
    parameters={
        "radius": None,
        "vertical_stiffness": None,
        "vertical_damping": 0.0,
        "slip_stiffness": None,
        "relaxation": None,
        **dict.fromkeys([f"a{k}" for k in range(14)], 0.0),
    },
    positive=("radius", "vertical_stiffness", "relaxation"),
    non_negative=("vertical_damping", "slip_stiffness"),
    limits={"forward deflection": ("relaxation", LARGEST_SLIP)},
    beyond=(
        "The forward force of the law is proportional to the slip, where a tyre slides at smaller ones: drive and brake"
        " less."
    ),
)
def pacejka_89(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """A tyre with the side force of the magic formula of Bakker, Pacejka and Lidner (1989), and a relaxation length;
    otherwise as `linear_tyre`, whose limit of slip holds along the wheel only.

    With the load `F` (kN), the slip angle `s` and the camber `g` (degrees):

        D = a1 F^2 + a2 F,  B C D = a3 sin(2 atan(F / a4)) (1 - a5 |g|),  C = a0,  E = a6 F + a7,
        x = s + a8 g + a9 F + a10,  side force (N) = D sin(C atan(B x - E (B x - atan(B x)))) + a11 g F + a12 F + a13

    The coefficients `a0` to `a13` are those of the literature, in N, kN and degrees; hence a model in SI units. The
    side force opposes the slip. The energy that its spring stores is the integral of the side force over the side
    deflection, at the load of the vertical spring and the camber of the instant. Source: Bakker, Pacejka, Lidner,
    SAE 890087 (1989).
    """
    radius, stiffness, damping, slip, relaxation = (
        parameters[0],
        parameters[1],
        parameters[2],
        parameters[3],
        parameters[4],
    )
    a = parameters[5:]
    forward, side, arm, deflection, camber = contact(relative, radius)
    ahead, along, across, approach = slip_velocities(relative, forward, side, arm)
    deflect(states, ahead, along, across, deflection, radius, relaxation, rates)
    if deflection > 0.0:
        load = max(stiffness * deflection + damping * approach, 0.0)
        push = -side_force(math.degrees(math.atan(states[1] / relaxation)), math.degrees(camber), 1e-3 * load, a)
        apply(wrench, forward, side, arm, -slip * states[0] / relaxation, push, load, 0.0)
    energy = pressed(arm, stiffness, deflection) + 0.5 * slip * states[0] * states[0] / relaxation
    if deflection > 0.0:
        # the force rises to its peak in a few degrees, then hardly falls: the nodes follow a hyperbolic sine
        scale = RISE * relaxation
        reach = math.asinh(states[1] / scale)
        for k in range(len(NODES)):
            angle = math.degrees(math.atan(RISE * math.sinh(NODES[k] * reach)))
            held = side_force(angle, math.degrees(camber), 1e-3 * stiffness * deflection, a)
            energy += WEIGHTS[k] * held * scale * math.cosh(NODES[k] * reach) * reach
    return energy


@numba.njit
def side_force(slip: float, camber: float, load: float, a: Any) -> float:
    """The magic formula (N) for angles in degrees and a load in kN."""
    peak = a[1] * load * load + a[2] * load
    if peak == 0.0:
        return 0.0
    steep = a[3] * math.sin(2.0 * math.atan(load / a[4])) * (1.0 - a[5] * abs(camber)) / (a[0] * peak)
    x = steep * (slip + a[8] * camber + a[9] * load + a[10])
    curved = x - (a[6] * load + a[7]) * (x - math.atan(x))
    return peak * math.sin(a[0] * math.atan(curved)) + a[11] * camber * load + a[12] * load + a[13]

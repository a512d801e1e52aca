"""A ball with exact friction of rolling and spinning on a plane: it rolls to rest, holds on a slope, and spins down.

A ball of radius R that rolls with the lever mu_r of rolling friction is slowed by 5/7 g mu_r / R, because the friction of the point lets it roll, and stays where it stops. On a slope it holds up to tan a = mu_r / R, and is
accelerated by 5/7 g (sin a - mu_r / R cos a) beyond. A ball that spins about the normal is slowed by mu_s m g / J.
"""

import numpy as np

import flexmb
from flexmb.contact import Plane, Sphere, TurningFriction
from validation.plot import Plot
from validation.row import Row

CASE = "rolling-ball"
G, MASS, RADIUS, FRICTION = 9.81, 1.0, 0.1, 0.5
INERTIA = 0.4 * MASS * RADIUS**2
ROLLING, SPINNING = 5e-3, 2e-3
SPEED, SPIN, STEP = 1.0, 20.0, 2e-3


def ball(slope: float = 0.0, speed: float = 0.0, spin: float = 0.0) -> flexmb.System:
    """The ball on a plane, in axes along the slope, with gravity inclined by `slope` (rad)."""
    system = flexmb.System(gravity=(G * np.sin(slope), 0, -G * np.cos(slope)), name="rolling ball")
    body = flexmb.rigid_body("ball", mass=MASS, inertia=(INERTIA,) * 3)
    velocity, angular_velocity = (speed, 0, 0), (0, speed / RADIUS, spin)
    own = system.add(body, position=(0, 0, RADIUS), velocity=velocity, angular_velocity=angular_velocity)
    track, turning = Plane().on(system.ground.at((0, 0, 0))), TurningFriction(ROLLING, SPINNING)
    system.contact("track", track, Sphere(RADIUS).on(own.at((0, 0, 0))), friction=FRICTION, turning_friction=turning)
    return system


def run() -> list[Row | Plot]:
    """Times, ways and accelerations against closed forms."""
    rows: list[Row | Plot] = []

    def add(what: str, reference: float, ours: float, allowed: float, scale: float) -> None:
        rows.append(Row(CASE, what, reference, "exact", ours, abs(ours - reference) / scale, allowed))

    slowed = 5 / 7 * G * ROLLING / RADIUS
    rolled = flexmb.simulate(ball(speed=SPEED), SPEED / slowed + 0.3, step=STEP)
    way, moves = rolled.position("ball")[:, 0], rolled.t < SPEED / slowed - 0.01
    speed = SPEED - slowed * rolled.t[moves]
    largest = float(np.abs(rolled.velocity("ball")[moves, 0] - speed).max())
    add("rolls to rest: largest error of its speed, over that at the start", 0.0, largest, 1e-9, SPEED)
    add("rolls to rest: way", 0.5 * SPEED**2 / slowed, float(way[-1]), 1e-8, float(way[-1]))
    late = rolled.t > SPEED / slowed + 0.01
    add("speed after that", 0.0, float(np.abs(rolled.velocity("ball")[late]).max()), 1e-10, SPEED)
    heat, start = float(rolled.energy_by_element()["track"].heat[-1]), 0.7 * MASS * SPEED**2
    add("heat of rolling, of the energy at the start", start, heat, 1e-3, start)
    for name, part in (("just below (0.999999 of)", 1 - 1e-6), ("beyond (1.01 of)", 1.01)):
        slope = float(np.arctan(part * ROLLING / RADIUS))
        down = max(5 / 7 * G * (np.sin(slope) - ROLLING / RADIUS * np.cos(slope)), 0.0)
        at = float(flexmb.simulate(ball(slope), 0.3, step=STEP).position("ball")[-1, 0])
        scale = 5 / 7 * G * np.sin(slope) * 0.5 * 0.3**2
        add(
            f"way on a slope {name} the angle of rolling, over that without friction",
            0.5 * down * 0.3**2,
            at,
            1e-8,
            scale,
        )
    slower = SPINNING * MASS * G / INERTIA
    spun = flexmb.simulate(ball(spin=SPIN), SPIN / slower + 0.1, step=STEP)
    half = int(np.searchsorted(spun.t, 0.5 * SPIN / slower))
    left = float(spun.angular_velocity("ball")[half, 2])
    add("spin at half of its time", SPIN - slower * float(spun.t[half]), left, 1e-8, SPIN)
    add("spin after it, over that at the start", 0.0, float(spun.angular_velocity("ball")[-1, 2]), 1e-10, SPIN)
    lines = {
        "flexmb": (rolled.t[::20], way[::20]),
        "reference": (rolled.t, np.where(rolled.t < SPEED / slowed, SPEED * rolled.t - 0.5 * slowed * rolled.t**2, 0.5 * SPEED**2 / slowed)),
    }  # fmt: skip
    rows.append(Plot("A ball that rolls to rest", "time", "way", lines))
    return rows

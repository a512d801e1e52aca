"""A knee-like joint: a femoral ball in a tibial socket with a layer of polyethylene, an elastic foundation.

A ball of 20 mm in a socket of 25 mm with a layer of 4 mm (`E` = 500 MPa, Poisson's ratio 0.45) carries a mass of 60 kg. The pressure of the layer is proportional to its compression (Johnson 1985, section 4.3), so that the
force is `pi R k d^2` with `1/R = 1/20 - 1/25`. In closed form: the depth, the natural frequencies `sqrt(2 g / d)` into the socket and `sqrt(g / l)`, `l = 5 mm + d`, across it, the period of a swing about the middle of
the socket, and the loss of twice the coefficient of friction in the angle of each half swing.
"""

import numpy as np

import flexmb
import flexmb.linear
from flexmb.contact import Socket, Sphere, elastic_foundation
from validation.plot import Plot
from validation.row import Row

CASE = "knee"
BALL, CUP, LAYER, YOUNG, POISSON = 0.020, 0.025, 0.004, 500e6, 0.45
MASS, GRAVITY = 60.0, 9.81
FRICTION, SLIP_SPEED = 0.01, 1e-3
STEP, DURATION, TILT = 1e-4, 0.6, 0.1


def joint(tilt: float = 0.0, friction: float = 0.0) -> flexmb.System:
    """The ball, which carries a mass, in the socket; `tilt` is the angle at which it begins."""
    radius = 1 / (1 / BALL - 1 / CUP)
    layer = YOUNG * (1 - POISSON) / ((1 + POISSON) * (1 - 2 * POISSON) * LAYER)
    depth = np.sqrt(MASS * GRAVITY / (np.pi * radius * layer))
    down = (CUP - BALL + depth) * np.array([np.sin(tilt), 0, -np.cos(tilt)])
    system = flexmb.System(gravity=(0, 0, -GRAVITY), name=CASE)
    femur = system.add(flexmb.rigid_body("femur", mass=MASS, inertia=(0.5, 0.5, 0.5)), position=down)
    law = elastic_foundation(YOUNG, POISSON, LAYER, BALL, -CUP)
    cup, ball = Socket(CUP).on(system.ground.at((0, 0, 0))), Sphere(BALL).on(femur.at((0, 0, 0)))
    system.contact("knee", cup, ball, law=law, friction=friction, slip_speed=SLIP_SPEED)
    return system


def run() -> list[Row | Plot]:
    """Depth and frequencies in closed form, the swing, and the heat of friction."""
    radius = 1 / (1 / BALL - 1 / CUP)
    layer = YOUNG * (1 - POISSON) / ((1 + POISSON) * (1 - 2 * POISSON) * LAYER)
    depth = float(np.sqrt(MASS * GRAVITY / (np.pi * radius * layer)))
    still = flexmb.simulate(joint(), 0.01, step=STEP)
    found = -float(still.contact("knee").gap[-1])
    rows: list[Row | Plot] = [
        Row(CASE, "depth under the load (m)", depth, "exact", found, abs(found / depth - 1), 1e-9)
    ]
    length = CUP - BALL + depth
    modes = flexmb.linear.linearise(joint()).modes()
    rates = 2 * np.pi * np.sort(np.asarray(modes.frequencies))[-3:]
    for what, exact, ours in (
        ("rate across the socket (rad/s)", np.sqrt(GRAVITY / length), rates[0]),
        ("rate into the socket (rad/s)", np.sqrt(2 * GRAVITY / depth), rates[2]),
    ):
        rows.append(Row(CASE, what, float(exact), "exact", float(ours), abs(float(ours / exact) - 1), 1e-4))
    swing, rubbed = (flexmb.simulate(joint(TILT, mu), DURATION, step=STEP) for mu in (0.0, FRICTION))
    angles = [np.arctan2(x.position("femur")[:, 0], -x.position("femur")[:, 2]) for x in (swing, rubbed)]
    crossing = np.flatnonzero((angles[0][1:] < 0) != (angles[0][:-1] < 0))
    rise, width = np.diff(angles[0])[crossing], np.diff(swing.t)[crossing]
    period = 2 * float(np.diff(swing.t[crossing] - angles[0][crossing] * width / rise).mean())
    exact = float(2 * np.pi * np.sqrt(length / GRAVITY) * (1 + TILT**2 / 16))
    rows.append(Row(CASE, "period of the swing (s)", exact, "exact", period, abs(period / exact - 1), 5e-4))
    heat, energy = float(rubbed.ledger.damper_heat[-1]), MASS * GRAVITY * length * (1 - np.cos(TILT))
    left = float(np.abs(rubbed.ledger.residual).max()) / energy
    rows.append(Row(CASE, "energy that is missing, relative", 0.0, "exact", left, left, 1e-3))
    touch = rubbed.contact("knee")
    power = float(np.abs(touch.friction_force / touch.normal_force - FRICTION)[touch.slip > 2 * SLIP_SPEED].max())
    rows.append(
        Row(CASE, "friction over normal force, while it slides", FRICTION, "exact", FRICTION + power, power, 1e-4)
    )
    peak, expected = float(angles[1][rubbed.t > 0.75 * period].max()), TILT - 4 * FRICTION
    rows.append(Row(CASE, "angle after two half swings", expected, "exact", peak, abs(peak / expected - 1), 1e-2))
    lines = {"without friction": (swing.t, angles[0]), f"friction {FRICTION}": (rubbed.t, angles[1])}
    return [*rows, Plot(f"Swing in the socket; heat {1e3 * heat:.3g} mJ", "time (s)", "angle (rad)", lines)]

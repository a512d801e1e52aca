"""Dry friction in joints: a rotor that stops on its journal, a pendulum whose swings become shorter by a constant, a block on a slope, a driven pendulum that sticks and slides, a ball that spins in a socket, a body that swings on a ball until it sticks, and sleeves that slide and turn on shafts.

Closed forms: a rotor of moment of inertia J on a horizontal journal of radius r stops at J w / (mu r m g) and stays; each half swing of a pendulum with a constant moment of friction tau is shorter by 2 tau / k than the one before,
with the moment k per angle of a torsion spring; a block slides on a slope beyond tan a = mu. The sliding velocities of the ball and of a sleeve of inertia m r^2 decrease uniformly along their own directions and vanish at u0/b; with regularised friction, they fall as sinh(u/s) = sinh(u0/s) exp(-b t/s). A sleeve that is turned at r w by a driver and pushed by P creeps along its shaft at r w tan(asin(P / (mu N))). For the pendulum on a journal, whose friction depends on its own reaction, the angles after 8 s were computed by SciPy's `solve_ivp` with located
events at a tolerance of 1e-12, with the acceleration that solves the equation of motion with friction; its steps have no term in common with ours. So were those of a sleeve of another inertia under a harmonic force and moment, which sticks and slides again (its direction of friction turns with a power of the time to rest that is not an integer), and of the body on a ball.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import flexmb
from flexmb.mechanism.time_functions import harmonic
from flexmb.results.result import Result
from validation.plot import Plot
from validation.row import Row

CASE = "joint-friction"
G, Z = 9.81, (0.0, 0.0, 1.0)
STEP, TOLERANCE = 5e-4, 1e-9
FREE, DRIVEN = 0.050626468, 0.387231475
"""Angles of the pendulum after 8 s, without and with a driving moment, and the numbers of instants at which it begins to stick or slide."""
TRANSITIONS = {FREE: 4, DRIVEN: 11}


def rotor() -> flexmb.System:
    """A rotor on a horizontal journal."""
    system = flexmb.System(gravity=(0, -G, 0), name="rotor on a journal")
    body = system.add(flexmb.rigid_body("rotor", mass=2.0, inertia=(0.05,) * 3))
    system.revolute("pin", system.ground.at((0, 0, 0)), body, axis=Z)
    system.set_speed("pin", 6.0)
    system.friction("bearing", "pin", 0.2, radius=0.02)
    return system


def torsion_pendulum() -> flexmb.System:
    """A wheel on a torsion spring whose bearing has a constant moment of friction."""
    system = flexmb.System(name="torsion pendulum")
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(0.02,) * 3))
    system.revolute("pin", system.ground.at((0, 0, 0)), wheel, axis=Z)
    system.joint_spring("spring", "pin", stiffness=2.0, free=1.0)
    system.friction("seal", "pin", 0.0, radius=0.0, preload=0.13)
    return system


def pendulum(drive: str | None = None) -> flexmb.System:
    """A pendulum on a journal, with a driving moment as a function of time."""
    system = flexmb.System(gravity=(0, -G, 0), name="pendulum on a journal")
    at = (0.3 * np.sin(0.8), -0.3 * np.cos(0.8), 0)
    bob = system.add(flexmb.rigid_body("bob", mass=2.0, inertia=(0.03,) * 3), position=at, orientation=(0, 0, 0.8))
    system.revolute("pin", system.ground.at((0, 0, 0)), bob, axis=Z, at=(0, 0, 0))
    system.friction("bearing", "pin", 0.25, radius=0.1)
    if drive:
        system.motor("motor", "pin", flexmb.expression(drive))
    return system


def block(angle: float) -> flexmb.System:
    """A block on a slope with a coefficient of friction of 0.3."""
    system = flexmb.System(gravity=(0, 0, -G), name="block on a slope")
    body = system.add(flexmb.rigid_body("block", mass=3.0, inertia=(0.1,) * 3))
    system.prismatic("guide", system.ground.at((0, 0, 0)), body, axis=(np.cos(angle), 0, -np.sin(angle)))
    system.friction("contact", "guide", 0.3)
    return system


SLEEVE = (2.03216569, 20.10017291, 2.15924377, 2.305582949413)
"""Displacement (m) and angle (rad) of the loaded sleeve after 4 s, and the instants (s) at which it sticks and slides."""
BOB = (0.29887380677, (0.02806217748, -0.17957358404, 0.00479084936))
"""Instant (s) and attitude (rotation vector) at which the body on a ball comes to rest."""


def ball(regularised: float | None) -> flexmb.System:
    """A ball that spins in a socket under its weight."""
    system = flexmb.System(gravity=(0, 0, -G), name="ball in a socket")
    body = system.add(flexmb.rigid_body("ball", mass=2.0, inertia=(0.05,) * 3), angular_velocity=(3.0, -1.0, 2.0))
    system.spherical("socket", system.ground.at((0, 0, 0)), body)
    system.friction("rub", "socket", 0.2, radius=0.03, regularised=regularised)
    return system


def sleeve(regularised: float | None) -> flexmb.System:
    """A sleeve with the inertia of a hoop, which slides along a horizontal shaft and turns about it."""
    system = flexmb.System(gravity=(0, -G, 0), name="sleeve on a shaft")
    hoop = flexmb.rigid_body("sleeve", mass=2.0, inertia=(0.05, 0.05, 0.02))
    body = system.add(hoop, velocity=(0, 0, 1.5), angular_velocity=(0, 0, 20.0))
    system.cylindrical("shaft", system.ground.at((0, 0, 0)), body, axis=Z)
    system.friction("rub", "shaft", 0.2, radius=0.1, regularised=regularised)
    return system


def loaded_sleeve() -> flexmb.System:
    """A sleeve with a fifth of that inertia, under a harmonic force along its shaft and a harmonic moment about it."""
    system = flexmb.System(gravity=(0, -G, 0), name="loaded sleeve")
    light = flexmb.rigid_body("sleeve", mass=2.0, inertia=(0.05, 0.05, 0.004))
    body = system.add(light, velocity=(0, 0, 1.5), angular_velocity=(0, 0, 20.0))
    system.cylindrical("shaft", system.ground.at((0, 0, 0)), body, axis=Z)
    system.friction("rub", "shaft", 0.2, radius=0.1)
    force, moment = harmonic(5.0, 3.1 / (2 * np.pi)), harmonic(0.35, 2.3 / (2 * np.pi), 0.7)
    system.load("pull", body.at((0, 0, 0)), force=Z, factor=force)
    system.load("twist", body.at((0, 0, 0)), moment=Z, factor=moment)
    return system


def pushed_sleeve() -> flexmb.System:
    """A sleeve that a driver turns, and a force pushes along its shaft."""
    system = flexmb.System(gravity=(0, -G, 0), name="pushed sleeve")
    body = system.add(flexmb.rigid_body("sleeve", mass=2.0, inertia=(0.05, 0.05, 0.02)))
    system.cylindrical("shaft", system.ground.at((0, 0, 0)), body, axis=Z)
    system.friction("rub", "shaft", 0.2, radius=0.1)
    system.load("push", body.at((0, 0, 0)), force=(0, 0, 0.5))
    system.drive("shaft", flexmb.time_functions.constant_speed(30.0), dof="rotation")
    return system


def bob() -> flexmb.System:
    """A body that hangs on a ball in a socket, beside its equilibrium."""
    system = flexmb.System(gravity=(0, 0, -G), name="body on a ball")
    at, turning = np.array([0.1, 0, -0.3]), np.array([0.5, 0.7, 0])
    block = flexmb.rigid_body("bob", mass=2.0, inertia=(0.02, 0.03, 0.014))
    body = system.add(
        block, position=at, orientation=(0, -0.32, 0), velocity=np.cross(turning, at), angular_velocity=turning
    )
    system.spherical("socket", system.ground.at((0, 0, 0)), body, at=(0, 0, 0))
    system.friction("rub", "socket", 1.0, radius=0.1)
    return system


def _slowed(u: float, deceleration: float, regularised: float, t: float) -> float:
    """The solution of u' = -deceleration tanh(u / regularised)."""
    return float(regularised * np.arcsinh(np.sinh(u / regularised) * np.exp(-deceleration * t / regularised)))


def _turning_points(result: Result) -> np.ndarray:
    """Coordinates of the pin at the instants at which it comes to rest."""
    times = [happened.t for happened in result.happened]
    return np.interp(times, result.t, result.coordinate("pin"))


def run() -> list[Row | Plot]:
    """Instants, angles and accelerations against the closed forms and the independent integration."""
    rows: list[Row | Plot] = []

    def add(what: str, kind: str, reference: float, ours: float, allowed: float, scale: float = 0.0) -> None:
        error = abs(ours - reference) / (scale or abs(reference))
        rows.append(Row(CASE, what, reference, kind, ours, float(error), allowed))

    stopped = flexmb.simulate(rotor(), 5.0, step=0.01)
    add("rotor: time of the stop (s)", "exact", 0.05 * 6 / (0.2 * 0.02 * 2 * G), stopped.happened[0].t, 1e-9)
    add("rotor: speed afterwards (rad/s)", "exact", 0.0, stopped.coordinate_rate("pin")[-1], 1e-12, 6.0)
    swinging = flexmb.simulate(torsion_pendulum(), 4.0, step=STEP, output_step=STEP)
    turned = _turning_points(swinging) - 1.0
    sides = (-1.0) ** np.arange(len(turned) + 1)
    shrunk = np.diff(sides * [-1.0, *turned])
    add("torsion pendulum: half swings", "exact", 8, len(turned), 0.0)
    add("torsion pendulum: decrease of each half swing (rad)", "exact", 2 * 0.13 / 2, shrunk[np.abs(shrunk - 0.13).argmax()], 2e-5)  # fmt: skip
    add("torsion pendulum: angle at which it stays (rad)", "exact", 0.04, abs(swinging.coordinate("pin")[-1] - 1), 1e-4)
    for excess in (-1e-6, 1e-6):
        angle = np.arctan(0.3) * (1 + excess)
        moved = flexmb.simulate(block(angle), 1.0, step=0.01).coordinate("guide")[-1]
        expected = max(0.5 * G * (np.sin(angle) - 0.3 * np.cos(angle)), 0.0)
        add(f"block: way on a slope {'beyond' if excess > 0 else 'below'} the angle of friction by 1e-6 (m)", "exact", expected, moved, 1e-6, 0.5 * G * 3e-7)  # fmt: skip
    for method, tolerance in (("generalised-alpha", 1e-9), ("radau", 1e-9)):
        spun = flexmb.simulate(ball(0.1), 1.6, method=method, output_step=0.4, tolerance=tolerance)
        expected = _slowed(14**0.5, 0.2 * 0.03 * 2 * G / 0.05, 0.1, 1.6)
        add(f"ball in a socket, {method}: angular velocity after 1.6 s, as it comes to rest (rad/s)", "exact", expected, float(np.linalg.norm(spun.w[-1, 3:])), 1e-6, 14**0.5)  # fmt: skip
        moved = flexmb.simulate(sleeve(0.05), 1.3, method=method, output_step=0.1, tolerance=tolerance)
        expected = _slowed(2.5, 0.2 * G, 0.05, 1.3)
        for dof, part in (("translation", 0.6), ("rotation", 8.0)):
            add(f"sleeve, {method}: rate of {dof} after 1.3 s, as it comes to rest (m/s, rad/s)", "exact", part * expected, float(moved.coordinate_rate("shaft", dof)[-1]), 2e-6, part * 2.5)  # fmt: skip
    stopped = flexmb.simulate(ball(None), 2.0, step=0.01)
    add("ball in a socket: time of the stop (s)", "exact", 14**0.5 * 0.05 / (0.2 * 0.03 * 2 * G), stopped.happened[0].t, 1e-8)  # fmt: skip
    stopped = flexmb.simulate(sleeve(None), 1.6, step=0.01)
    add("sleeve: time of the stop (s)", "exact", 2.5 / (0.2 * G), stopped.happened[0].t, 1e-8)
    for dof, part in (("translation", 0.6), ("rotation", 8.0)):
        add(f"sleeve: {dof} at which it stays (m, rad)", "exact", part * 2.5**2 / (0.4 * G), stopped.coordinate("shaft", dof)[-1], 1e-8)  # fmt: skip
    pushed = flexmb.simulate(pushed_sleeve(), 22.0, step=0.05, output_step=2.0)
    creep = 3.0 * np.tan(np.arcsin(0.5 / (0.4 * G)))
    add("pushed sleeve: speed at which it creeps along as it is turned (m/s)", "exact", creep, pushed.coordinate_rate("shaft", "translation")[-1], 1e-6)  # fmt: skip
    found = {h: flexmb.simulate(loaded_sleeve(), 4.0, step=h, output_step=1.0) for h in (1e-2, 5e-3)}
    last = found[5e-3]
    away = [x.coordinate("shaft", "rotation")[-1] - SLEEVE[1] for x in found.values()]
    add("loaded sleeve: displacement after 4 s (m)", "recomputed", SLEEVE[0], last.coordinate("shaft", "translation")[-1], 3e-5)  # fmt: skip
    add("loaded sleeve: angle after 4 s (rad)", "recomputed", SLEEVE[1], last.coordinate("shaft", "rotation")[-1], 3e-5)
    add("loaded sleeve: instant at which it sticks (s)", "recomputed", SLEEVE[2], last.happened[0].t, 1e-6)
    add("loaded sleeve: instant at which it slides again (s)", "recomputed", SLEEVE[3], last.happened[1].t, 1e-10)
    add("loaded sleeve: order of the error in the step", "exact", 2.0, float(np.log2(away[0] / away[1])), 0.02)
    away = []
    for step in (1e-2, 5e-3, 2.5e-3):
        result = flexmb.simulate(bob(), 0.4, step=step, output_step=0.1)
        turned = Rotation.from_quat(np.roll(result.q[-1, 3:7], -1))
        away.append(float(np.linalg.norm((turned * Rotation.from_rotvec(BOB[1]).inv()).as_rotvec())))
    add("body on a ball: instant at which it sticks (s)", "recomputed", BOB[0], result.happened[0].t, 3e-5)
    add("body on a ball: distance from the attitude at which it stays (rad)", "recomputed", 0.0, away[2], 1e-5, 1.0)
    add("body on a ball: order of this error in the step", "exact", 2.0, float(np.log2(away[0] / away[2])) / 2, 0.05)
    lines = {}
    for reference, name, drive in ((FREE, "free", None), (DRIVEN, "driven", "2.5*sin(1.7*t)")):
        result = flexmb.simulate(pendulum(drive), 8.0, tolerance=TOLERANCE, output_step=0.02)
        angle = 0.8 + result.coordinate("pin")
        add(f"{name} pendulum: angle after 8 s (rad)", "recomputed", reference, float(angle[-1]), 1e-5)
        add(f"{name} pendulum: instants of sticking and sliding", "recomputed", TRANSITIONS[reference], len(result.happened), 0.0)  # fmt: skip
        lines[name] = (np.array(result.t), angle)
        lines[f"reference, {name}"] = (np.array([8.0]), np.array([reference]))
    errors = []
    for step in (4e-3, 2e-3):
        result = flexmb.simulate(pendulum("2.5*sin(1.7*t)"), 8.0, step=step, output_step=0.1)
        errors.append(abs(0.8 + result.coordinate("pin")[-1] - DRIVEN))
    add("driven pendulum: order of the error in the step, through 11 instants", "exact", 2.0, float(np.log2(errors[0] / errors[1])), 0.05)  # fmt: skip
    rows.append(Plot("Pendulum on a journal that sticks and slides", "time (s)", "angle (rad)", lines))
    return rows

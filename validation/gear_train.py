"""Gears, a screw and a differential as relations between joint coordinates: reflected inertias, speeds, torques and a pair of rotors whose momenta cancel.

A planetary train with its three planets as bodies, each in mesh with the sun and the fixed ring (teeth 20, 15 and 50), turns as Willis' equation says and accelerates the inertia that its
speed ratios reflect to the sun. A jack sinks on its screw with the inertia of its nut, and rests on a torsion spring that its weight winds up. A differential shares the torque of its carrier equally between two wheels of different
inertia. Two equal rotors that a gear of ratio -1 couples inside a tumbling body have no angular momentum together: the body moves as if they did not spin, although each alone would turn it.
"""

import numpy as np

import flexmb
from flexmb.linear import equilibrium
from flexmb.linear.linearise import linearise
from validation.plot import Plot
from validation.row import Row

CASE = "gear-train"
SUN, PLANET, RING = 20, 15, 50
INERTIA = {"sun": 0.01, "arm": 0.05, "planet": 0.004}
MASS, RADIUS, TORQUE = 0.8, 0.1, 2.0
LEAD, LOAD, NUT, SPRING = 0.01, 50.0, 2e-4, 3.0
Z = (0.0, 0.0, 1.0)


def planetary() -> flexmb.System:
    """A sun that drives an arm with three planets inside a fixed ring."""
    system = flexmb.System(name=CASE)
    for name in ("sun", "arm"):
        body = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(INERTIA[name],) * 3))
        system.revolute(f"{name} shaft", system.ground, body, axis=Z, at=(0, 0, 0))
    arm = body
    for k, angle in enumerate(2 * np.pi * np.arange(3) / 3):
        at = (RADIUS * np.cos(angle), RADIUS * np.sin(angle), 0.0)
        planet = flexmb.rigid_body(f"planet {k}", mass=MASS, inertia=(INERTIA["planet"],) * 3)
        system.revolute(f"pin {k}", arm, system.add(planet, position=at), axis=Z, at=at)
        at_sun = {f"pin {k}": PLANET, "sun shaft": SUN, "arm shaft": -SUN}
        if k == 0:
            system.relation("ring", {"pin 0": PLANET, "arm shaft": RING})
        system.relation(f"sun and planet {k}", at_sun)
    system.motor("engine", "sun shaft", TORQUE)
    return system


def jack(slope: float) -> flexmb.System:
    """A load on a screw, with a torsion spring."""
    system = flexmb.System(gravity=(0, 0, -9.81), name=CASE)
    nut = system.add(flexmb.rigid_body("nut", mass=LOAD, inertia=(1, 1, NUT)))
    system.cylindrical("spindle", system.ground, nut, axis=Z, at=(0, 0, 0))
    system.screw("thread", "spindle", lead=LEAD)
    if slope:
        system.joint_spring("spring", "spindle", stiffness=slope, dof="rotation")
    return system


def axle(left: float, right: float, case: float) -> flexmb.System:
    """Two wheels and the carrier of a bevel differential that drives them."""
    system = flexmb.System(name=CASE)
    for name, inertia in (("left", left), ("right", right), ("carrier", case)):
        body = system.add(flexmb.rigid_body(f"{name} body", mass=1.0, inertia=(inertia,) * 3))
        system.revolute(name, system.ground, body, axis=Z, at=(0, 0, 0))
    system.differential("bevels", "left", "right", "carrier")
    system.motor("engine", "carrier", 10.0)
    return system


def rotors(geared: bool, spin: float) -> flexmb.System:
    """A tumbling body with two equal rotors on one axis, which a gear makes turn against each other."""
    system = flexmb.System(name=CASE)
    hull = system.add(flexmb.rigid_body("hull", mass=2.0, inertia=(0.3, 0.5, 0.4)), angular_velocity=(1.0, -0.4, 0.7))
    for k, x in enumerate((0.2, -0.2)):
        rotor = system.add(flexmb.rigid_body(f"rotor {k}", mass=0.5, inertia=(0.05, 0.03, 0.03)), position=(x, 0, 0))
        system.revolute(f"shaft {k}", hull, rotor, axis=(1, 0, 0), at=(x, 0, 0))
        system.set_speed(f"shaft {k}", (1 - 2 * k if geared else 1) * spin)
    if geared:
        system.gear("mesh", "shaft 0", "shaft 1", ratio=-1.0)
    return system


def _relative(found: np.ndarray, expected: np.ndarray | float) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def _planetary() -> list[Row | Plot]:
    result = flexmb.simulate(planetary(), 2.0, step=5e-3, output_step=0.05, coordinates="joint")
    arm = SUN / (SUN + RING)
    spin = arm * (1 - RING / PLANET)  # of a planet, over that of the sun
    inertia = INERTIA["sun"] + (INERTIA["arm"] + 3 * MASS * RADIUS**2) * arm**2 + 3 * INERTIA["planet"] * spin**2
    t = np.array(result.t)
    sun = 0.5 * TORQUE / inertia * t**2
    expected = {"sun shaft": sun, "arm shaft": arm * sun, "pin 2": (spin - arm) * sun}
    rows: list[Row | Plot] = []
    for name, angle in expected.items():
        error = _relative(result.coordinate(name), angle)
        rows.append(Row(CASE, f"planetary: angle of {name!r} in 2 s, relative error", 0.0, "exact", error, error, 1e-9))
    # the torque that the teeth take from the sun is all but that of its own inertia
    teeth = sum(result.relation_effort(f"sun and planet {k}", "sun shaft") for k in range(3))
    wanted = TORQUE * (INERTIA["sun"] / inertia - 1)
    error = _relative(np.asarray(teeth), wanted)
    rows.append(Row(CASE, "planetary: torque of the teeth on the sun (N m)", wanted, "exact", float(np.asarray(teeth)[-1]), error, 1e-8))  # fmt: skip
    lines = {name: (t, result.coordinate(name)) for name in expected}
    lines |= {f"reference: {name}": (t, angle) for name, angle in expected.items()}
    return [*rows, Plot("Angles of the planetary train", "time (s)", "angle (rad)", lines)]


def _jack() -> list[Row | Plot]:
    free = flexmb.simulate(jack(0.0), 1.0, method="radau", tolerance=1e-10, output_step=0.05)
    turn = 2 * np.pi / LEAD
    fall = LOAD * 9.81 / (LOAD + NUT * turn**2)
    sunk = _relative(free.coordinate("spindle", "translation"), -0.5 * fall * np.array(free.t) ** 2)
    rest = equilibrium(jack(SPRING))
    twist = float(rest.result.coordinate("spindle", "rotation")[0])
    wound = -LOAD * 9.81 / turn / SPRING
    found = float(np.abs(linearise(rest).modes().eigenvalues).max())
    frequency = float(np.sqrt(SPRING / (NUT + LOAD / turn**2)))
    return [
        Row(CASE, "jack: free descent, relative error", 0.0, "exact", sunk, sunk, 1e-9),
        Row(CASE, "jack: angle at rest (rad)", wound, "exact", twist, abs(twist / wound - 1), 1e-8),
        Row(CASE, "jack: natural frequency (rad/s)", frequency, "exact", found, abs(found / frequency - 1), 1e-7),
    ]


def _axle() -> list[Row | Plot]:
    result = flexmb.simulate(axle(0.2, 0.6, 0.1), 1.0, step=5e-3, output_step=0.05)
    rates = np.linalg.solve(
        np.array([[0.2, 0, 0, 1], [0, 0.6, 0, 1], [0, 0, 0.1, -2], [1, 1, -2, 0]]), np.array([0, 0, 10.0, 0])
    )
    error = max(
        _relative(result.coordinate(name), 0.5 * rate * np.array(result.t) ** 2)
        for name, rate in zip(("left", "right", "carrier"), rates[:3], strict=True)
    )
    left, right = (result.relation_effort("bevels", name) for name in ("left", "right"))
    return [
        Row(CASE, "differential: angles of wheels and carrier, relative error", 0.0, "exact", error, error, 1e-9),
        Row(CASE, "differential: torque of the left wheel over that of the right", 1.0, "exact", float(left[-1] / right[-1]), _relative(left, right), 1e-10),
    ]  # fmt: skip


def _rotors() -> list[Row | Plot]:
    options = {"method": "radau", "tolerance": 1e-9, "output_step": 0.05}
    still, spinning, alone = (
        flexmb.simulate(rotors(*which), 4.0, **options)  # type: ignore[arg-type]
        for which in ((True, 0.0), (True, 30.0), (False, 30.0))
    )
    a, b, c = (r.angular_velocity("hull")[:, 1] for r in (still, spinning, alone))
    error, effect = float(np.abs(a - b).max()), float(np.abs(a - c).max())
    t = np.array(still.t)
    lines = {"geared, 30 rad/s": (t, b), "reference: no spin": (t, a), "without gear, 30 rad/s": (t, c)}
    return [
        Row(CASE, "rotors: angular velocity of the body, geared against at rest (rad/s)", 0.0, "exact", error, error, 1e-6),
        Row(CASE, "rotors: without the gear their momentum turns the body (1: yes)", 1, "exact", int(effect > 0.1), 1 - int(effect > 0.1), 0),
        Plot("Angular velocity of the tumbling body about y", "time (s)", "rad/s", lines),
    ]  # fmt: skip


def run() -> list[Row | Plot]:
    """All four."""
    return [*_planetary(), *_jack(), *_axle(), *_rotors()]

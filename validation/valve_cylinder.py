"""A mass on a hydraulic cylinder with a four-way valve: the closed forms of textbooks, and the equations integrated by others.

Trapped oil is a spring, whose stiffness is the sum of bulk modulus times area squared over volume of both chambers, and a leak damps it. A valve that follows the position of the mass makes the two oscillate with growing
amplitude where the gain of velocity exceeds twice the damping ratio times the natural frequency. At a constant opening the load moves at the speed of the orifices, and stops at the load at which the chambers have the pressures of
the supply and of the tank. A path with a valve that reverses and closes fully is compared with SciPy's integration of the equations, which are written here once more, also with commands that are held between samples.
The work of the pump is that of the cylinder (from the energy ledger), the losses of the valve and of the leak, and what compresses the oil, all integrated from the motion.
References: Merritt, Hydraulic Control Systems (1967); Jelali and Kroll, Hydraulic Servo-systems (2003).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import flexmb
import flexmb.forces
from flexmb import linear
from flexmb.mechanism.control.signals import Source
from validation.plot import Plot
from validation.row import Row

CASE = "valve-cylinder"
MASS, G, BULK, SUPPLY, TANK, DEAD, STROKE, RETRACTED = 3000.0, 9.81, 1e9, 2e7, 1e5, 2e-4, 0.8, 0.5
AREAS, FLOW, LEAKAGE, LAMINAR = (5e-3, 3e-3), 1e-6, 2e-11, 1e4
"""Areas (m^2), flow of the valve (m^3/s per root of a Pa), leak (m^3/s per Pa), pressure of laminar flow (Pa)."""
START, MIDDLE = (7.1e6, 2e6), 0.9
"""Pressures (Pa), and height of the load at half of the stroke (m)."""
GAIN, INTEGRAL, SAMPLE = 20.0, 4.0, 0.01
SWING, DURATION = 6.0, 1.5
"""Angular frequency (rad/s) of the path of the load, and duration (s)."""
PATH = flexmb.time_functions.harmonic(0.15, SWING / (2 * np.pi))
"""What the controllers follow: the valve is fully open near the start and reverses several times."""
SERVO = flexmb.controllers.pid(GAIN, INTEGRAL)
HELD = flexmb.controllers.pid(GAIN, INTEGRAL, sample_time=SAMPLE)


def lift(
    opening: Source, law: Any = None, *, gravity: float = G, height: float = MIDDLE, pressures: tuple[float, float] = START, **changed: float
) -> flexmb.System:  # fmt: skip
    """The load on its cylinder, with an opening of the valve, or a controller `law` of the height that commands it."""
    given = {
        "area_a": AREAS[0], "area_b": AREAS[1], "stroke": STROKE, "bulk_modulus": BULK, "supply": SUPPLY, "tank": TANK, "flow": FLOW,
        "leakage": LEAKAGE, "dead_volume": DEAD, "laminar": LAMINAR, "retracted": RETRACTED,
    }  # fmt: skip
    system = flexmb.System(gravity=(0, 0, -gravity), name=CASE)
    load = system.add(flexmb.rigid_body("load", mass=MASS, inertia=(1, 1, 1)), position=(0, 0, height))
    system.prismatic("guide", system.ground, load, axis=(0, 0, 1), at=(0, 0, 0))
    if law is not None:
        inputs = {"measured": "coordinate:guide", "reference": opening}
        system.controller("valve", law, inputs=inputs, outputs={})
        opening = "command:valve:command"
    cylinder = flexmb.forces.commanded_cylinder(**given | changed, initial=pressures)
    system.force("cylinder", system.ground.at((0, 0, 0)), load.at((0, 0, 0)), cylinder, inputs={"opening": opening})
    return system


# independent references ----------------------------------------------------------------------------------------------


def volumes(x: Any) -> tuple[Any, Any]:
    """Volumes of the chambers at the stroke `x`."""
    return DEAD + AREAS[0] * x, DEAD + AREAS[1] * (STROKE - x)


def orifice(drop: Any) -> Any:
    """Root of a pressure drop, linear where it is laminar."""
    return drop / np.sqrt(np.abs(drop) + LAMINAR)


def flows(opening: Any, a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Flows out of the supply into chambers `a` and `b`, and from these into the tank."""
    out, back = FLOW * np.clip(opening, 0.0, 1.0), FLOW * np.clip(-opening, 0.0, 1.0)
    return out * orifice(SUPPLY - a), back * orifice(SUPPLY - b), back * orifice(a - TANK), out * orifice(b - TANK)


def rates(y: np.ndarray, opening: float) -> list[float]:
    """Rates of height, speed and pressures."""
    z, v, a, b = y
    to_a, to_b, from_a, from_b = flows(opening, a, b)
    va, vb = volumes(z - RETRACTED)
    leak = LEAKAGE * (a - b)
    return [
        v,
        (a * AREAS[0] - b * AREAS[1]) / MASS - G,
        BULK * (to_a - from_a - leak - AREAS[0] * v) / va,
        BULK * (to_b - from_b + leak + AREAS[1] * v) / vb,
    ]


def integrated(f: Callable[[float, np.ndarray], Any], span: tuple[float, float], y: Any, times: Any = None) -> Any:
    """SciPy's Radau, whose steps do not step over a reversal of the valve."""
    size = np.array([1.0, 1.0, 1e7, 1e7, 1.0])[: len(y)]
    found = solve_ivp(f, span, y, "Radau", times, rtol=1e-10, atol=1e-11 * size, max_step=1e-2)
    assert found.success, found.message
    return found.y


def servo_path(times: np.ndarray) -> np.ndarray:
    """Height, speed, pressures and integral (5, nt) of the load under the continuous controller."""

    def follow(t: float, y: np.ndarray) -> list[float]:
        error = PATH.value(t) - (y[0] - MIDDLE)
        return [*rates(y[:4], GAIN * error + y[4]), INTEGRAL * error]

    found: np.ndarray = integrated(follow, (0.0, DURATION), [MIDDLE, 0.0, *START, 0.0], times)
    return found


def held_end() -> np.ndarray:
    """Height, speed and pressures at the end under the controller with samples."""
    y, integral = np.array([MIDDLE, 0.0, *START]), 0.0
    for k in range(round(DURATION / SAMPLE)):
        error = PATH.value(k * SAMPLE) - (y[0] - MIDDLE)
        integral += SAMPLE * INTEGRAL * error
        opening = GAIN * error + integral
        y = integrated(lambda t, y, u=opening: rates(y, u), (0.0, SAMPLE), y)[:, -1]  # type: ignore[misc]
    return y


def balance(t: np.ndarray, opening: np.ndarray, motion: np.ndarray) -> Mapping[str, float]:
    """Works of the pump and on the oil, and losses, over a motion (height, speed and pressures over time), by splines."""
    z, _, a, b = motion
    to_a, to_b, from_a, from_b = flows(opening, a, b)
    va, vb = volumes(z - RETRACTED)
    turned = CubicSpline(t, a)(t, 1), CubicSpline(t, b)(t, 1)
    powers = {
        "pump": SUPPLY * (to_a + to_b) - TANK * (from_a + from_b),
        "valve": to_a * (SUPPLY - a) + to_b * (SUPPLY - b) + from_a * (a - TANK) + from_b * (b - TANK),
        "leak": LEAKAGE * (a - b) ** 2,
        "oil": (a * va * turned[0] + b * vb * turned[1]) / BULK,
    }
    return {name: float(CubicSpline(t, power).integrate(t[0], t[-1])) for name, power in powers.items()}


def run() -> list[Row | Plot]:
    """Closed forms, paths, orders and the balance of works."""
    rows: list[Row | Plot] = []

    def add(what: str, kind: str, reference: float, ours: float, allowed: float, scale: float = 0.0) -> None:
        error = abs(ours - reference) / (scale or abs(reference))
        rows.append(Row(CASE, what, float(reference), kind, float(ours), float(error), allowed))

    # small motions
    height = 0.7
    va, vb = volumes(height - RETRACTED)
    natural = np.sqrt(BULK * (AREAS[0] ** 2 / va + AREAS[1] ** 2 / vb) / MASS)
    carried = ((MASS * G + 2e6 * AREAS[1]) / AREAS[0], 2e6)
    rest = linear.equilibrium(lift(0.0, leakage=0.0, height=height, pressures=carried))
    values = linear.linearise(rest).modes().eigenvalues
    add("trapped oil: angular frequency (rad/s)", "exact", natural, values.imag.max(), 1e-9)

    even, volume = AREAS[0], DEAD + AREAS[0] * STROKE / 2
    stiff, half = 2 * BULK * even**2 / volume, (SUPPLY + TANK) / 2
    natural, ratio = np.sqrt(stiff / MASS), BULK * LEAKAGE / volume / np.sqrt(stiff / MASS)
    centred: dict[str, Any] = {"gravity": 0.0, "area_b": even, "pressures": (half, half)}
    values = linear.linearise(lift(0.0, **centred)).modes().eigenvalues
    pair = values[values.imag.argmax()]
    add("trapped oil with a leak: damping ratio", "exact", ratio, -pair.real / abs(pair), 1e-7)
    # s^3 + 2 ratio natural s^2 + natural^2 s + natural^2 Kv
    limit = 2 * ratio * natural / (FLOW * orifice(half - TANK) / even)
    for factor in (0.5, 1.0, 2.0):
        velocity = factor * 2 * ratio * natural
        exact = np.roots([1.0, 2 * ratio * natural, natural**2, natural**2 * velocity])
        exact = exact[exact.imag.argmax()]
        loop = lift(0.0, flexmb.controllers.pid(factor * limit), **centred)
        values = linear.linearise(loop).modes().eigenvalues
        pair = values[values.imag.argmax()]
        what = f"valve that follows the position, {factor:g} times the critical gain"
        add(f"{what}: growth rate (1/s)", "exact", exact.real, pair.real, 1e-7, natural)
        add(f"{what}: angular frequency (rad/s)", "exact", exact.imag, pair.imag, 1e-7, natural)

    # steady speeds and the largest load
    weight, cubes = MASS * G, AREAS[0] ** 3 + AREAS[1] ** 3
    speeds = {0.3: np.sqrt((SUPPLY * AREAS[0] - TANK * AREAS[1] - weight) / cubes)}
    speeds[-0.3] = -np.sqrt((SUPPLY * AREAS[1] - TANK * AREAS[0] + weight) / cubes)
    for opening, root in speeds.items():
        speed = FLOW * abs(opening) * root
        inlet = (opening * root) ** 2 / opening**2  # over area squared, the drop of pressure of an orifice
        drops = AREAS[0] ** 2 * inlet, AREAS[1] ** 2 * inlet
        begin = (SUPPLY - drops[0], TANK + drops[1]) if opening > 0 else (TANK + drops[0], SUPPLY - drops[1])
        begun = lift(opening, leakage=0.0, laminar=1.0, height=MIDDLE - np.sign(opening) * 0.3, pressures=begin)
        found = flexmb.simulate(begun, 2.0, method="radau", tolerance=1e-10, output_step=0.1)
        way = "up" if opening > 0 else "down"
        add(f"valve open by 0.3, {way}: steady speed (m/s)", "exact", speed, found.velocity("load")[-1, 2], 1e-6)
    stalled = lift(1.0, leakage=0.0, gravity=0.0)
    stalled.joint_spring("spring", "guide", stiffness=1e6)
    stall = SUPPLY * AREAS[0] - TANK * AREAS[1]
    force = linear.equilibrium(stalled).result.force("cylinder")[0, 2]
    add("load at which it stops (N)", "exact", stall, force, 1e-9)

    # a path
    times = np.linspace(0.0, DURATION, 1501)
    known = servo_path(times)
    size = np.array([np.ptp(known[0]), np.abs(known[1]).max(), SUPPLY, SUPPLY])
    found = flexmb.simulate(lift(PATH, SERVO), DURATION, method="radau", tolerance=1e-10, output_step=times[1])
    ours = np.array([found.position("load")[:, 2], found.velocity("load")[:, 2], *found.element_states[:, :2].T])
    wrong = np.abs(ours - known[:4]).max(axis=1) / size
    for what, error in zip(("height", "speed", "pressure a", "pressure b"), wrong, strict=True):
        add(f"path under a controller, largest error of the {what}, relative", "recomputed", 0.0, error, 2e-8, 1.0)
    errors = []
    for step in (2e-3, 1e-3):
        coarse = flexmb.simulate(lift(PATH, SERVO), DURATION, step=step, output_step=0.01)
        errors.append(np.abs(coarse.position("load")[:, 2] - known[0, ::10]).max())
    add("order of generalised-alpha", "exact", 2.0, np.log2(errors[0] / errors[1]), 0.05, 1.0)
    held = flexmb.simulate(lift(PATH, HELD), DURATION, method="radau", tolerance=1e-10, output_step=SAMPLE)
    end = held_end()
    add("controller with samples: height at the end (m)", "recomputed", end[0], held.position("load")[-1, 2], 2e-9)
    add("controller with samples: pressure a at the end (Pa)", "recomputed", end[2], held.element_states[-1, 0], 2e-8)

    # works
    openings = np.asarray(found.columns(["command:valve:command"])["command:valve:command"].values)
    works = balance(times, openings, ours)
    work, pump = float(found.ledger.load_work[-1] - found.ledger.load_work[0]), works["pump"]
    lifted = MASS * (G * (known[0, -1] - MIDDLE) + known[1, -1] ** 2 / 2)
    add("work of the cylinder in the ledger (J)", "recomputed", lifted, work, 1e-8)
    given = work + works["valve"] + works["leak"] + works["oil"]
    add(
        "work of the pump: that of the cylinder, and those lost in valve and leak and kept in the oil (J)",
        "exact",
        pump,
        given,
        1e-6,
    )
    lines = {
        "flexmb": (times, ours[0] - MIDDLE),
        "reference": (times, known[0] - MIDDLE),
        "path of the controller": (times, np.array([PATH.value(t) for t in times])),
    }
    rows.append(Plot("Height of the load", "time (s)", "displacement (m)", lines))
    return rows

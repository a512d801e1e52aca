"""A block on a moving belt, held by a spring: it sticks to the belt until the spring exceeds the static friction, slides back, and sticks again.

With mass m, stiffness k, belt speed v and coefficients mu_s > mu_d, the cycle consists of a part in which the block moves with the belt, and of a vibration about the stretch mu_d m g / k with the amplitude
sqrt(((mu_s - mu_d) m g / k)^2 + m v^2 / k), which begins and ends with the speed of the belt. Both follow in closed form, with the period. The instants at which the block begins and ceases to slide are located within steps, so that the
cycle is of second order, and the energy of the belt is the heat of the friction. The belt is a driven body: the contact acts together with joints.
"""

import numpy as np

import flexmb
from flexmb.contact import Box, Plane
from flexmb.results.result import Result
from validation.plot import Plot
from validation.row import Row

CASE = "stick-slip"
G, MASS, STIFFNESS, SPEED, STATIC, DYNAMIC = 9.81, 1.0, 100.0, 0.2, 0.5, 0.3
DURATION, STEP, FAR = 3.0, 1e-3, 100.0
BOUND = 5.0
"""Bound of the error of the period over the square of the step. Errors vary below it with the place of the instants in their steps; those of first order would exceed it with small steps."""


def belt_and_block() -> flexmb.System:
    """A box on a driven body, with a spring to the ground whose far end is so far that it stays horizontal."""
    system = flexmb.System(gravity=(0, 0, -G), name="block on a belt")
    belt = system.add(flexmb.rigid_body("belt", mass=1.0, inertia=(1, 1, 1)))
    system.prismatic("track", system.ground.at((0, 0, 0)), belt, axis=(1, 0, 0))
    system.drive("track", flexmb.time_functions.constant_speed(SPEED))
    block = system.add(flexmb.rigid_body("block", mass=MASS, inertia=(0.1, 0.12, 0.15)), position=(0, 0, 0.05))
    surface = Plane().on(belt.at((0, 0, 0)), axis=(0, 0, 1))
    system.contact("belt", surface, Box(0.4, 0.3, 0.1).on(block.at((0, 0, 0))), friction=(STATIC, DYNAMIC))
    system.spring_damper(
        "spring", system.ground.at((-FAR, 0, 0.05)), block.at((0, 0, 0)), stiffness=STIFFNESS, length=FAR
    )
    return system


def cycle() -> tuple[float, float]:
    """Amplitude about the mean of sliding, and the period."""
    drop, rate = (STATIC - DYNAMIC) * MASS * G / STIFFNESS, np.sqrt(STIFFNESS / MASS)
    amplitude = np.hypot(drop, SPEED / rate)
    slides = np.pi + 2 * np.arctan2(SPEED / rate, drop)  # from the speed of the belt at +drop to that at -drop
    return float(amplitude), float(slides / rate + 2 * drop / SPEED)


def simulated(step: float) -> Result:
    """The motion of the block."""
    return flexmb.simulate(belt_and_block(), DURATION, step=step)


def _amplitude(result: Result) -> float:
    """The largest stretch after a second, beyond that of the friction, from a parabola through three stored times."""
    x = result.position("block")[:, 0]
    k = int(np.argmax(np.where(result.t > 1.0, x, -np.inf)))
    low, top, high = x[k - 1 : k + 2]
    return float(top + (high - low) ** 2 / (8 * (2 * top - low - high)) - DYNAMIC * MASS * G / STIFFNESS)


def _period(result: Result) -> float:
    """The time between the last two instants at which the block moves forward through the mean of sliding."""
    x = result.position("block")[:, 0] - DYNAMIC * MASS * G / STIFFNESS
    k = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
    times = result.t[k] - x[k] * (result.t[k + 1] - result.t[k]) / (x[k + 1] - x[k])
    return float(times[-1] - times[-2])


def run() -> list[Row | Plot]:
    """Amplitude, period, order and energy of the cycle."""
    amplitude, period = cycle()
    found = {step: simulated(step) for step in (4 * STEP, 2 * STEP, STEP)}
    fine = found[STEP]
    ledger, work = fine.ledger, float(fine.ledger.driver_work[-1])
    errors = {step: abs(_period(result) - period) for step, result in found.items()}
    rows: list[Row | Plot] = []
    for what, reference, ours, allowed in (
        ("amplitude about the mean of sliding (m)", amplitude, _amplitude(fine), 5e-5),
        ("period (s)", period, _period(fine), 5e-5),
    ):
        rows.append(Row(CASE, what, reference, "exact", ours, abs(ours / reference - 1), allowed))
    second = max(error / step**2 for step, error in errors.items())
    rows.append(
        Row(CASE, "error of the period over the square of the step (1/s): bounded", 0.0, "exact", second, second, BOUND)
    )
    residual = float(np.abs(ledger.residual).max() / work)
    rows.append(Row(CASE, "energy: residual over the work of the belt", 0.0, "exact", residual, residual, 2e-5))
    stretch, slip = fine.position("block")[:, 0], fine.contact("belt")
    lines = {"stretch of the spring (m)": (fine.t, stretch), "slip (0.1 m/s)": (fine.t, 0.1 * slip.slip)}
    rows.append(Plot("Block on a belt that sticks and slides", "time (s)", "stretch, slip", lines))
    return rows

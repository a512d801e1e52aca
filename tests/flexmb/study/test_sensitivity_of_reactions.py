"""Derivatives of reactions of motions that are held: nothing moves with the parameter but multipliers, or nothing at
all moves."""

import numpy as np
import pytest

import flexmb
from flexmb.contact import Box, Plane, Sphere
from flexmb.study import adjoint_gradient, direct_gradient

pytestmark = pytest.mark.filterwarnings("ignore::flexmb.RedundantConstraintWarning")
G, DURATION = 9.81, 0.1
METHODS = {
    "adjoint": lambda model, at, series, step: adjoint_gradient(model, at, DURATION, series, step=step, over="final"),
    "direct": lambda model, at, series, step: direct_gradient(
        model, at, DURATION, step=step, measure=lambda r: {"result": series(r)[-1]}
    ),
}


def block(mu, mass, push, unit=1.0):
    """A box that a force pushes, and that sticks on a table."""
    system = flexmb.System(gravity=(0, 0, -G * unit))
    body = flexmb.rigid_body("body", mass=mass, inertia=tuple(x * unit**2 for x in (0.01, 0.02, 0.03)))
    body = system.add(body, position=(0, 0, 0.05 * unit))
    size = np.array([0.2, 0.2, 0.1]) * unit
    table = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("table", table, Box(*size).on(body.at((0, 0, 0))), friction=mu)
    system.load("push", body.at((0, 0, 0)), force=(push * unit, 0, 0))
    return system


def ball(mass, mu):
    """A ball that rolls."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = flexmb.rigid_body("body", mass=mass, inertia=(0.01, 0.02, 0.03))
    body = system.add(body, position=(0, 0, 0.1), velocity=(0.5, 0, 0), angular_velocity=(0, 5.0, 0))
    system.contact("table", Plane().on(system.ground.at((0, 0, 0))), Sphere(0.1).on(body.at((0, 0, 0))), friction=mu)
    return system


def chain(mass, arm):
    """Three bodies, each fixed to the one before, that stick out of a wall."""
    system = flexmb.System(gravity=(0, 0, -G))
    last = system.ground
    for k in range(3):
        body = flexmb.rigid_body(f"body {k}", mass=mass, inertia=(0.01, 0.02, 0.03))
        body = system.add(body, position=((k + 0.5) * arm, 0, 0))
        system.fixed(f"joint {k}", last, body.at((-0.5 * arm, 0, 0)))
        last = body
    return system


def arm(mass, length, rate):
    """An arm that a motor turns uniformly."""
    system = flexmb.System(gravity=(0, -G, 0))
    body = flexmb.rigid_body("body", mass=mass, inertia=(0.01, 0.02, 0.03))
    turning = {"velocity": (0, rate * length, 0), "angular_velocity": (0, 0, rate)}
    body = system.add(body, position=(length, 0, 0), **turning)
    system.revolute("hinge", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    system.drive("hinge", flexmb.time_functions.constant_speed(rate))
    return system


def shaker(mass, amplitude):
    """A slide that a motor shakes."""
    system = flexmb.System(gravity=(0, -G, 0))
    body = flexmb.rigid_body("body", mass=mass, inertia=(0.01, 0.02, 0.03))
    body = system.add(body, velocity=(20.0 * amplitude, 0, 0))
    system.prismatic("guide", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    system.drive("guide", flexmb.time_functions.harmonic(amplitude, 10 / np.pi))
    return system


def of_table(axis):
    """A component of the sum of the forces of the points that touch the table."""

    def series(result):
        names = [joint.name for joint in result.mechanism.joints if joint.name.startswith("table.")]
        return sum(result.reaction(name)[:, axis] for name in names)

    return series


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_a_block_that_sticks(method, unit):
    at = {"mu": 0.5, "mass": 2.0, "push": 3.0}
    for axis, known in ((0, (0, 0, -unit)), (2, (0, G * unit, 0))):
        found = METHODS[method](lambda **x: block(**x, unit=unit), at, of_table(axis), 1e-3)
        assert found.derivatives["result"] == pytest.approx(known, abs=1e-7 * G * unit)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_a_ball_that_rolls(method, step):
    for axis, known in ((0, (0, 0)), (2, (G, 0))):
        found = METHODS[method](ball, {"mass": 2.0, "mu": 0.5}, of_table(axis), step)
        assert found.derivatives["result"] == pytest.approx(known, abs=1e-9 * G)


@pytest.mark.parametrize("method", METHODS)
def test_bodies_that_a_wall_holds(method):
    found = METHODS[method](chain, {"mass": 2.0, "arm": 0.3}, lambda r: r.reaction("joint 0")[:, 4], 1e-3)
    assert found.derivatives["result"] == pytest.approx((-4.5 * G * 0.3, -4.5 * G * 2.0), rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("step", [1e-3, 2e-4])
def test_the_torque_of_a_motor(method, step):
    mass, length, rate = 2.0, 0.3, 3.0
    at, angle = {"mass": mass, "length": length, "rate": rate}, rate * DURATION
    found = METHODS[method](arm, at, lambda r: r.drive_effort("hinge"), step)
    known = np.array([length * np.cos(angle), mass * np.cos(angle), -mass * length * DURATION * np.sin(angle)]) * G
    scale = np.array(list(at.values()))
    assert found.derivatives["result"] * scale == pytest.approx(known * scale, abs=1e-4 * mass * length * G)


@pytest.mark.parametrize("method", METHODS)
def test_the_force_of_a_motor_is_proportional_to_its_amplitude(method):
    found = METHODS[method](shaker, {"mass": 2.0, "amplitude": 0.1}, lambda r: r.drive_effort("guide"), 2e-4)
    effort = -2.0 * 0.1 * 400 * np.sin(20 * DURATION)
    assert found.derivatives["result"] == pytest.approx((effort / 2.0, effort / 0.1), rel=2e-4)

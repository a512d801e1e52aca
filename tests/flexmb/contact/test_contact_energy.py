"""Continuous contact in the energy-momentum scheme: conservative laws keep the energy to round-off, others lose it."""

import numpy as np
import pytest
from test_energy_momentum import total_momenta

import flexmb
from flexmb.contact import (
    Bore,
    Box,
    Capsule,
    Cylinder,
    Plane,
    Socket,
    Sphere,
    TurningFriction,
    line_contact,
    mesh,
    power_law,
)
from flexmb.errors import LawError
from flexmb.kernels.contact.discrete import mean_force
from flexmb.kernels.contact.forces import elastic_force
from flexmb.mechanism.contacts.element import PARAMETERS

HERTZ = power_law(1e5)


def thrown(fixed, moving, law, position, velocity, spin, gravity=9.81, **friction):
    """A body with the shape `moving` at the shape `fixed` of the ground."""
    system = flexmb.System(gravity=(0, 0, -gravity))
    body = flexmb.rigid_body("body", mass=1.0, inertia=(0.01, 0.012, 0.015))
    body = system.add(body, position=position, velocity=velocity, angular_velocity=spin)
    ground, own = fixed.on(system.ground.at((0, 0, 0))), moving.on(body.at((0, 0, 0)))
    system.contact("touch", ground, own, law=law, **friction)
    return system


CASES = {
    "ball": (Plane(), Sphere(0.1), HERTZ, (0, 0, 0.102), (0.5, 0, -1.0), (3, 2, 1)),
    "stiff and linear": (Plane(), Sphere(0.1), power_law(1e7, 1.0), (0, 0, 0.102), (0.5, 0, -1.0), (3, 2, 1)),
    "box": (Plane(), Box(0.2, 0.3, 0.1), HERTZ, (0, 0, 0.17), (0.5, 0.2, -1.0), (3, 2, 1)),
    "capsule": (Plane(), Capsule(0.05, 0.2), HERTZ, (0, 0, 0.152), (0.5, 0, -1.0), (1, 5, 1)),
    "socket": (Socket(0.12), Sphere(0.1), HERTZ, (0, 0, -0.019), (0.5, 0.2, 0), (3, 2, 1)),
    "ball on a ball": (Sphere(0.5), Sphere(0.1), HERTZ, (0.05, 0, 0.599), (0.5, 0.3, -1.0), (3, 2, 1)),
    "ball on a drum": (Cylinder(0.5, 2.0), Sphere(0.1), HERTZ, (0.599, 0.05, 0.2), (-1.0, 0.5, 0.3), (3, 2, 1)),
    "shaft": (
        Bore(0.105, 0.3),
        Cylinder(0.1, 0.2),
        line_contact(1e8, 0.2, 0.005),
        (0.0045, 0, 0),
        (0.3, 0.5, 0),
        (0, 0, 5),
    ),
    "cube of triangles": (
        Plane(),
        mesh(flexmb.solids.box((0.2, 0.3, 0.1))),
        HERTZ,
        (0, 0, 0.17),
        (0.5, 0, -1.0),
        (3, 2, 1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_conservative_law_keeps_the_energy_to_round_off(name):
    """Also with few steps in an impact. The heat of the contact is what its law does not give back."""
    result = flexmb.simulate(thrown(*CASES[name]), 0.1, step=1e-3, method="energy-momentum", output_step=1e-3)
    ledger = result.ledger
    assert ledger.springs.max() > 0.03  # it touches
    assert np.ptp(ledger.total) < 1e-11 * ledger.kinetic.max()
    assert np.abs(ledger.damper_heat).max() < 1e-11 * ledger.kinetic.max()
    assert np.abs(ledger.residual).max() < 1e-12 * ledger.kinetic.max()


def test_damping_and_friction_only_take():
    """The heat of every step is positive, with friction of all kinds, through sliding, rolling and lifting off."""
    law = power_law(1e5, restitution=0.6, speed=1.0)
    turning = TurningFriction(rolling=1e-3, spinning=1e-3, speed=0.5)
    for fixed, moving, _, *motion in (CASES["ball"], CASES["box"], CASES["socket"]):
        system = thrown(fixed, moving, law, *motion, friction=0.3, slip_speed=0.05, turning_friction=turning)
        result = flexmb.simulate(system, 0.2, step=5e-4, method="energy-momentum", output_step=5e-4)
        heat = np.diff(result.ledger.damper_heat)
        assert heat.min() > -1e-13
        assert heat.sum() > 0.1
        assert np.abs(result.ledger.residual).max() < 1e-12


def test_a_plane_without_friction_leaves_the_motion_along_it():
    system = thrown(Plane(), Sphere(0.1), HERTZ, (0, 0, 0.102), (0.5, 0.2, -1.0), (0, 0, 0))
    result = flexmb.simulate(system, 0.1, step=2e-3, method="energy-momentum")
    np.testing.assert_allclose(result.velocity("body")[:, :2], np.tile((0.5, 0.2), (len(result.t), 1)), atol=1e-12)


def test_momenta_and_energy_of_two_bodies_that_collide_are_kept():
    system = flexmb.System()
    a = system.add(flexmb.rigid_body("a", mass=1.0, inertia=(0.004,) * 3), angular_velocity=(1, 2, 3))
    b = flexmb.rigid_body("b", mass=2.0, inertia=(0.01, 0.02, 0.015))
    b = system.add(b, position=(0.4, 0.05, 0.02), velocity=(-2.0, 0, 0), angular_velocity=(-5, 3, 9))
    one, other = Sphere(0.1).on(a.at((0, 0, 0))), Sphere(0.15).on(b.at((0.05, 0, 0)))
    system.contact("collide", one, other, law=HERTZ)
    result = flexmb.simulate(system, 0.2, step=1e-3, method="energy-momentum", output_step=1e-3)
    found = total_momenta(result)
    assert result.contact("collide").normal_force.max() > 10
    assert np.abs(found - found[0]).max() < 1e-12 * np.abs(found).max()
    assert np.ptp(result.ledger.total) < 1e-12 * result.ledger.kinetic.max()


def test_the_order_is_two():
    def end(step):
        system = thrown(Plane(), Box(0.2, 0.3, 0.1), power_law(1e4), (0, 0, 0.1), (0.5, 0.2, 0), (3, 2, 1))
        result = flexmb.simulate(system, 0.2, step=step, method="energy-momentum", output_step=0.2)
        return result.position("body")[-1]

    exact = flexmb.simulate(
        thrown(Plane(), Box(0.2, 0.3, 0.1), power_law(1e4), (0, 0, 0.1), (0.5, 0.2, 0), (3, 2, 1)),
        0.2, method="radau", tolerance=1e-10, output_step=0.2,
    ).position("body")[-1]  # fmt: skip
    errors = [np.linalg.norm(end(h) - exact) for h in (1e-3, 5e-4)]
    assert errors[0] < 1e-3
    assert errors[1] < 0.35 * errors[0]


@pytest.mark.parametrize(("g0", "g1"), [(1e-3, 1.2e-3), (1e-3, 1.001e-3), (-1e-3, 2e-4), (3e-4, -1e-3), (1e-3, 1e-3)])
def test_the_mean_force_is_the_quotient_of_energies(g0, g1):
    p = np.zeros(len(PARAMETERS))
    p[8:12] = 1e5, 1.5, 0.0, 0.0
    x, w = np.polynomial.legendre.leggauss(200)
    depths = 0.5 * (g0 + g1) + 0.5 * (g1 - g0) * x
    exact = 0.5 * sum(wk * elastic_force(d, p)[0] for d, wk in zip(depths, w, strict=True) if d > 0)
    assert mean_force(g0, g1, p) == pytest.approx(exact, rel=1e-12 if min(g0, g1) > 0 else 1e-3)


@pytest.mark.parametrize(
    "method",
    [
        "energy-momentum",
        pytest.param("generalised-alpha", marks=pytest.mark.long),
    ],  # which compiles the law to repeat it
)
def test_round_bodies_whose_centres_meet_are_named(method):
    """A step that carries a ball from one side of another one to its centre: no direction of contact."""
    system = flexmb.System()
    ball = flexmb.rigid_body("ball", mass=1.0, inertia=(0.004,) * 3)
    ball = system.add(ball, position=(0.25, 0, 0), velocity=(-25.0, 0, 0))
    fixed, moving = Sphere(0.1).on(system.ground.at((0, 0, 0))), Sphere(0.1).on(ball.at((0, 0, 0)))
    system.contact("hit", fixed, moving, law=power_law(1e3))
    with pytest.raises(LawError, match=r"'hit'.*centres"):
        flexmb.simulate(system, 0.05, method=method, step=0.01)


@pytest.mark.parametrize("depth", [1e-13, 1e-9, 5e-8])
def test_a_body_at_rest_that_is_drawn_with_rounded_numbers_balances(depth):
    """The first step closes what a drawing may overlap; it was all the energy that was exchanged."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    box = system.add(flexmb.rigid_body("box", mass=1.0, inertia=(0.004,) * 3), position=(0, 0, 0.1 - depth))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), Box(0.2, 0.2, 0.2).on(box.at((0, 0, 0))))
    rests = flexmb.simulate(system, 5e-3, step=1e-3)
    assert rests.verdict.sound
    assert rests.ledger.round_off < 2 * 9.81 * (depth + 1e-12)

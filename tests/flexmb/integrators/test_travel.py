"""A uniform velocity of what flies freely changes nothing: bodies that spin fast, joined bodies, flexible ones, with every integrator."""

from dataclasses import replace

import numpy as np
import pytest
from mechanisms import random_flexible_body
from test_energy_momentum import total_momenta

import flexmb
from flexmb.integrators.travel import flying
from flexmb.mechanism.compile import compiled

FIXED = [
    {"method": "generalised-alpha"},
    {"method": "generalised-alpha", "coordinates": "joint"},
    {"method": "hht"},
    {"method": "energy-momentum"},
    {"method": "radau"},
    {"method": "bdf"},
]


def name(options):
    return " ".join(options.values())


def wheel(centre=(0.0, 0.0, 0.0)):
    system = flexmb.System()
    body = flexmb.rigid_body("wheel", mass=1.0, inertia=(0.1, 0.2, 0.3), centre=centre)
    system.add(body, velocity=(30, 0, 0), angular_velocity=(0, 0, 100.0))
    return system


def off_the_straight_line(result, centre):
    """Largest distance of the mass centre from where a uniform motion takes it."""
    place, attitude = result.frame("wheel")
    there = np.array(centre) + np.outer(result.t, np.array([30, 0, 0]) + np.cross([0, 0, 100.0], centre))
    return np.abs(place + attitude @ np.array(centre) - there).max()


@pytest.mark.parametrize("options", FIXED, ids=name)
@pytest.mark.parametrize("adapts", [False, True], ids=["fixed", "adaptive"])
@pytest.mark.parametrize("centre", [(0.0, 0.0, 0.0), (0.2, 0.1, 0.0)], ids=["centred", "off centre"])
def test_a_wheel_that_spins_flies_straight(options, adapts, centre):
    """Half a radian a step, or as the method likes."""
    step = None if adapts and options["method"] != "energy-momentum" else 5e-3
    result = flexmb.simulate(wheel(centre), 0.2, output_step=0.02, step=step, **options)
    assert off_the_straight_line(result, centre) < 1e-10
    assert np.abs(result.ledger.residual).max() < 1e-10 * result.ledger.kinetic[0]


def pair(velocity, flexible, load):
    """Two bodies on a ball joint with a spring and damper, that tumble."""
    system = flexmb.System(name="pair")
    make = lambda k: (  # noqa: E731
        random_flexible_body(np.random.default_rng(5 + k), second_order=True, damping=0.3)
        if flexible
        else flexmb.rigid_body(f"body {k}", mass=1.0 + k, inertia=(0.1, 0.2, 0.25), centre=(0.4, 0.1, 0.0), points={"start": (0, 0, 0), "end": (1, 0, 0)})
    )  # fmt: skip
    first = system.add(make(0), name="first", velocity=velocity, angular_velocity=(1.0, 2.0, -9.0))
    spin = np.array([0.0, 1.0, 7.0])
    joined = np.add(velocity, np.cross((1.0, 2.0, -9.0), (1, 0, 0)))
    second = system.add(make(1), name="second", position=(1, 0, 0), velocity=joined, angular_velocity=spin)
    system.spherical("ball", first["end"], second["start"])
    system.spring_damper("spring", first["start"], second["end"], stiffness=50.0, damping=1.0)
    if load:
        system.load("push", second["end"], force=(0, 3.0, 1.0), factor=flexmb.time_functions.harmonic(1.0, 3.0))
    return system


@pytest.mark.filterwarnings("ignore::flexmb.AssemblyWarning")
@pytest.mark.filterwarnings("ignore::flexmb.EnergyBalanceWarning")
@pytest.mark.parametrize("options", [o for o in FIXED if o["method"] != "energy-momentum"], ids=name)
@pytest.mark.parametrize("flexible", [False, True], ids=["rigid", "flexible"])
def test_a_uniform_velocity_changes_nothing(options, flexible):
    velocity = np.array([30.0, -4.0, 2.0])
    still, moving = (
        flexmb.simulate(pair(v, flexible, True), 0.1, step=5e-3, output_step=0.02, **options)
        for v in (np.zeros(3), velocity)
    )
    for body in ("first", "second"):
        seen = moving.frame(body)[0] - np.outer(moving.t, velocity)
        np.testing.assert_allclose(seen, still.frame(body)[0], atol=3e-9)
        np.testing.assert_allclose(moving.frame(body)[1], still.frame(body)[1], atol=3e-9)
    scale = np.abs(still.multipliers).max()
    np.testing.assert_allclose(moving.multipliers, still.multipliers, atol=1e-6 * scale)


@pytest.mark.filterwarnings("ignore::flexmb.AssemblyWarning")
@pytest.mark.parametrize("flexible", [False, True], ids=["rigid", "flexible"])
def test_energy_momentum_keeps_all_momenta_and_the_balance_of_what_travels(flexible):
    result = flexmb.simulate(pair((30.0, -4.0, 2.0), flexible, False), 0.5, step=0.02, method="energy-momentum")
    found = total_momenta(result)
    assert np.abs(found - found[0]).max() < 1e-12 * np.abs(found[0]).max()
    assert np.abs(result.ledger.residual).max() < 1e-13 * result.ledger.kinetic.max()
    pushed = flexmb.simulate(pair((30.0, -4.0, 2.0), flexible, True), 0.5, step=0.02, method="energy-momentum")
    assert np.abs(pushed.ledger.load_work).max() > 1
    assert np.abs(pushed.ledger.residual).max() < 1e-13 * pushed.ledger.kinetic.max()


@pytest.mark.parametrize("load", [False, True])
def test_energy_momentum_keeps_the_momenta_and_the_balance_of_a_flexible_body_that_travels(load):
    """By itself: in axes that fly along; a load does its work in those of the ground."""
    system = flexmb.System()
    body = random_flexible_body(np.random.default_rng(5), second_order=True, damping=0.3)
    body = system.add(body, velocity=(30.0, -4.0, 2.0), angular_velocity=(1.0, 2.0, -9.0), eta=(0.05, 0, 0.02))
    if load:
        system.load("push", body["end"], force=(0, 3.0, 1.0), factor=flexmb.time_functions.harmonic(1.0, 3.0))
    result = flexmb.simulate(system, 0.3, step=0.01, method="energy-momentum")
    assert np.abs(result.ledger.residual).max() < 1e-13 * result.ledger.kinetic.max()
    found = total_momenta(result)
    assert load or np.abs(found - found[0]).max() < 1e-12 * np.abs(found[0]).max()


def test_energy_momentum_keeps_the_balance_of_a_wheel_that_falls():
    """Half a radian a step: gravity works in the axes of the ground, in which the wheel falls."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = flexmb.rigid_body("wheel", mass=1.0, inertia=(0.1, 0.2, 0.3), centre=(0.2, 0.1, 0.0))
    system.add(body, velocity=(30.0, 0, 5.0), angular_velocity=(40.0, 10.0, 100.0))
    result = flexmb.simulate(system, 0.3, step=5e-3, method="energy-momentum")
    assert np.ptp(result.ledger.gravity) > 1.0
    assert np.abs(result.ledger.residual).max() < 1e-13 * result.ledger.kinetic[0]


def test_pieces_that_fly_are_those_without_a_way_to_the_ground():
    system = flexmb.System()
    bodies = [system.add(flexmb.uniform_rod(f"rod {k}", mass=1.0, length=1.0), position=(k, 0, 0)) for k in range(6)]
    system.revolute("hinge", bodies[0]["end"], bodies[1]["start"], axis=(0, 0, 1))
    system.spring_damper("spring", bodies[3]["start"], bodies[2]["start"], stiffness=1.0)
    system.revolute("foot", system.ground.at((4, 0, 0)), bodies[4], axis=(0, 0, 1))
    assert flying(compiled(system.build())) == [[0, 1], [2, 3], [5]]
    system.spring_damper("tie", system.ground.at((0, 3, 0)), bodies[3]["end"], stiffness=1.0)
    assert flying(compiled(system.build())) == [[0, 1], [5]]


def held(kind):
    """A body that no joint or force element holds, and on which a force from its own place or velocity acts."""
    system = flexmb.System(name=kind)
    body = flexmb.rigid_body("body", mass=1.0, inertia=(0.1, 0.2, 0.3))
    if kind == "matrix":
        turns = np.zeros((6, 6))
        turns[0, 1], turns[1, 0] = 2.0, -2.0  # across the velocity, as on a charge in a magnetic field
        body = replace(body, velocity_matrix=turns)
    body = system.add(body, velocity=(3.0, 0.5, 0), angular_velocity=(0, 0, 1.0))
    second = system.add(flexmb.rigid_body("second", mass=1.0, inertia=(0.1, 0.2, 0.3)), position=(0, 0, 1))
    sensors = {"x": "position:body:x", "v": "velocity:body:x"}
    if kind == "wind":
        system.wind("air", body, [(0, 0, 0), (0, 1.0, 0)], density=1.2, diameter=0.3, velocity=(0, 0, 4.0))
    elif kind == "controller":
        law = flexmb.controllers.state_feedback([[5.0, 2.0]], inputs=("x", "v"), commands=("push",))
        system.controller("hold", law, inputs=sensors, outputs={"push": "force:body:x"})
    elif kind == "inputs":
        system.force("pull", body.at((0, 0, 0)), second.at((0, 0, 0)), pulling(c=2.0), inputs=sensors)
    return system


@flexmb.law(inputs=("x", "v"), parameters=("c",))
def pulling(t, relative, inputs, states, parameters, wrench, rates):
    wrench[0] = -parameters[0] * inputs[1] - inputs[0]


@pytest.mark.parametrize("method", ["radau", "bdf"])
@pytest.mark.parametrize("kind", ["wind", "controller", "inputs", "matrix"])
def test_what_feels_the_ground_or_the_air_does_not_travel(kind, method):
    """Its forces depend on the uniform velocity, although no row connects it."""
    found, sharp = (
        flexmb.simulate(held(kind), 0.2, tolerance=1e-9, output_step=0.05, method=m) for m in (method, "explicit")
    )
    moved = np.abs(sharp.position("body") - np.outer(sharp.t, (3.0, 0.5, 0))).max()
    assert moved > 1e-3
    np.testing.assert_allclose(found.position("body"), sharp.position("body"), atol=1e-4 * moved)
    np.testing.assert_allclose(found.position("second"), sharp.position("second"), atol=1e-4 * moved)


@pytest.mark.parametrize(("method", "options"), [("radau", {"step": 2e-3}), ("bdf", {"tolerance": 1e-9})])
@pytest.mark.parametrize("over", ["the ground", "the other body"])
def test_bodies_on_later_pieces_of_a_cable_do_not_fly_freely(method, options, over):
    """A cable connects what all of its pieces connect, not only the first one."""
    system = flexmb.System(gravity=(0, 0, -1.0))
    one = system.add(flexmb.rigid_body("one", mass=1.0, inertia=(0.1, 0.2, 0.25)), position=(1, 0, 0))
    other = flexmb.rigid_body("other", mass=2.0, inertia=(0.1, 0.2, 0.25))
    other = system.add(other, position=(0, 1.5, 0), angular_velocity=(1, 2, 0.5))
    pulley, first, last = system.ground.at((0, 0, 0.7)), one.at((0.2, 0.1, 0)), other.at((0.1, 0.2, 0.3))
    places = [first, pulley, last] if over == "the ground" else [pulley, first, last]
    system.cable("rope", places, stiffness=6.0, length=0.8)
    exact = flexmb.simulate(system, 0.1, method="explicit", tolerance=1e-11, output_step=0.05)
    found = flexmb.simulate(system, 0.1, method=method, output_step=0.05, **options)
    for body in ("one", "other"):
        np.testing.assert_allclose(found.angular_velocity(body), exact.angular_velocity(body), atol=1e-7)
        np.testing.assert_allclose(found.velocity(body), exact.velocity(body), atol=1e-7)

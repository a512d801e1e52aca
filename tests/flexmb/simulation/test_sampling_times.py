"""Sampled controllers between their samples: stored times and states are those asked for, in every method."""

import numpy as np
import pytest

import flexmb
from flexmb import controllers
from flexmb.contact import Box, Plane
from flexmb.simulation.events import Event

SAMPLE = 0.02


def led(**options):
    """A slider with a speed that a sampled PID controller brings back; its derivative part remembers the last input."""
    system = flexmb.System(gravity=(0, 0, 0))
    body = system.add(flexmb.rigid_body("body", mass=1, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground.at((0, 0, 0)), body, axis=(1, 0, 0))
    system.set_speed("rail", 1.0)
    law = controllers.pid(50.0, 10.0, 5.0, sample_time=SAMPLE)
    system.controller("c", law, inputs={"measured": "coordinate:rail"}, outputs={"command": "effort:rail"})
    return flexmb.simulate(system, 0.12, output_step=0.0075, **options)


@pytest.mark.parametrize("method", ["radau", "bdf", "explicit"])
def test_outputs_between_samples_are_those_of_their_times(method):
    """Under forces that are held from sample to sample, fixed steps of generalised-alpha are exact; all states of the law agree, too."""
    expected, found = led(step=5e-4), led(method=method)
    np.testing.assert_allclose(found.t, 0.0075 * np.arange(17), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.coordinate("rail"), expected.coordinate("rail"), rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.element_states, expected.element_states, rtol=0, atol=1e-5)


@pytest.mark.parametrize("measure", ["attitude:disc:ZYX:1", "attitude:disc:quaternion:w"])
def test_attitudes_that_controllers_read_count_turns_as_those_of_results(measure):
    """Over two turns of a free disc, also where an event begins the integration anew."""
    system = flexmb.System()
    system.add(flexmb.rigid_body("disc", mass=1, inertia=(1, 1, 1.5)), angular_velocity=(0, 0, 2.0))
    law = controllers.linear(([], [], [], [[1.0]]), inputs=["angle"], commands=["angle"], sample_time=0.1)
    system.controller("reader", law, inputs={"angle": measure}, outputs={})
    events = [Event("late", lambda result: result.t - 4.05)]
    for given in ((), events):
        result = flexmb.simulate(system, 6.2, step=1e-2, output_step=0.1, events=given)
        assert len(result.happened) == len(given)
        read = result.controller("reader")
        np.testing.assert_allclose(read.commands["angle"].values, read.inputs["angle"].values, rtol=0, atol=1e-9)
    turned = result.attitude("disc", "ZYX")[:, 0]
    np.testing.assert_allclose(turned, 2.0 * result.t, rtol=0, atol=1e-9)


def coupled(sample_time=None):
    """Two sliders with a spring between them whose vibration is a hundred times faster than a step of 1e-3."""
    system = flexmb.System()
    heavy = system.add(flexmb.rigid_body("heavy", mass=10.0, inertia=(1, 1, 1)), velocity=(1.0, 0, 0))
    light = system.add(flexmb.rigid_body("light", mass=1.0, inertia=(1, 1, 1)), velocity=(1.01, 0, 0))
    system.prismatic("rail", system.ground, heavy, axis=(1, 0, 0), at=(0, 0, 0))
    system.prismatic("gap", heavy, light, axis=(1, 0, 0), at=(0, 0, 0))
    system.joint_spring("spring", "gap", stiffness=1e10 * 10 / 11)
    if sample_time is not None:
        law = controllers.pid(0.0, sample_time=sample_time)
        system.controller("idle", law, inputs={"measured": "coordinate:rail"}, outputs={"command": "effort:rail"})
    return system


@pytest.mark.parametrize("sample_time", [1e-3, 2e-3, 1e-2])
def test_samples_that_change_nothing_leave_vibrations_that_steps_do_not_resolve(sample_time):
    """They fed them from sample to sample until the simulation failed."""
    free = flexmb.simulate(coupled(), 0.2, step=1e-3)
    held = flexmb.simulate(coupled(sample_time), 0.2, step=1e-3)
    np.testing.assert_allclose(held.coordinate("gap"), free.coordinate("gap"), rtol=0, atol=1e-13)
    np.testing.assert_allclose(held.coordinate_rate("gap"), free.coordinate_rate("gap"), rtol=0, atol=1e-8)  # of 0.05


def test_variable_steps_keep_their_size_through_samples_that_change_nothing():
    steps = [
        flexmb.simulate(coupled(sample_time), 0.2, tolerance=1e-5, output_step=0.01).statistics.steps
        for sample_time in (None, 1e-2)
    ]
    assert steps[1] < 1.5 * steps[0] + 20, steps  # 20 samples divide steps


def test_a_box_slides_under_a_sampled_force_as_by_newtons_law():
    """Between samples its acceleration is constant; the floor pushes with its weight, also right after a sample."""
    system = flexmb.System(gravity=(0, 0, -10.0))
    box = system.add(flexmb.rigid_body("box", mass=2.0, inertia=(0.02, 0.03, 0.04)), position=(0, 0, 0.05))
    shapes = Plane().on(system.ground.at((0, 0, 0))), Box(0.3, 0.2, 0.1).on(box.at((0, 0, 0)))
    system.contact("floor", *shapes, friction=0.3)
    law = controllers.pid(10.0, sample_time=SAMPLE)
    inputs = {"measured": "position:box:x", "reference": 1.0}
    system.controller("c", law, inputs=inputs, outputs={"command": "force:box:x"})
    result = flexmb.simulate(system, 0.4, step=1e-3)
    x = v = 0.0
    for _ in range(20):
        a = (10.0 * (1.0 - x) - 0.3 * 20.0) / 2.0
        x, v = x + v * SAMPLE + a * SAMPLE**2 / 2, v + a * SAMPLE
    assert abs(result.position("box")[-1, 0] - x) < 1e-9
    np.testing.assert_allclose(result.contact("floor").normal_force, 20.0, rtol=0, atol=1e-3)
    assert abs(result.energy_by_element()["floor"].heat[-1] - 6.0 * x) < 1e-4 * 6.0 * x

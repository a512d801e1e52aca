"""Sampled controllers between their samples: stored times and states are those asked for, in every method."""

import numpy as np
import pytest

import flexmb
from flexmb import controllers
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

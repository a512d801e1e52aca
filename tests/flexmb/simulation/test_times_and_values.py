"""Times to store and values of joints that a simulation refuses, beside the nearest ones that it accepts."""

import numpy as np
import pytest
from mechanisms import double_pendulum
from refusals import refused

import flexmb
from flexmb.analyses.kinematics import assemble_at
from flexmb.errors import IntegratorError, KinematicsError


@pytest.mark.parametrize("output_step", [0.0, -0.1, 0.1001, float("nan"), float("inf")])
@pytest.mark.parametrize("step", [None, 0.05])
def test_the_output_step_is_positive_and_at_most_the_duration(output_step, step):
    message = f"output_step must be positive and at most the duration 0.1; found {output_step}."
    refused(IntegratorError, message, flexmb.simulate, double_pendulum(), 0.1, step=step, output_step=output_step)


def test_an_output_step_of_the_whole_duration_stores_both_ends():
    result = flexmb.simulate(double_pendulum(), 0.1, step=0.05, output_step=0.1)
    np.testing.assert_array_equal(result.t, [0.0, 0.1])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_values_of_joints_are_finite(value):
    message = f"The value of joint 'elbow' must be a finite number; found {value!r}."
    refused(KinematicsError, message, assemble_at, double_pendulum(), {"hinge": 0.1, "elbow": value})
    assert assemble_at(double_pendulum(), {"hinge": 0.1, "elbow": 0.2}).t == 0.0

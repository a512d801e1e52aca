"""What inverse dynamics and comparisons refuse: each with its message, beside the nearest input they accept."""

from types import SimpleNamespace

import numpy as np
import pytest
from mechanisms import double_pendulum
from refusals import refused

import flexmb
from flexmb.analyses.compare import Comparison
from flexmb.analyses.inverse_dynamics import Servo, inverse_dynamics
from flexmb.errors import InverseError, MechanismError


def pushed(axis="x", before=0.0, after=0.0):
    system = flexmb.System(name="m")
    mass = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, mass, axis=(1, 0, 0), at=(0, 0, 0))
    system.motor("motor", "rail", 0.0)
    servo = Servo("rail.b", axis, flexmb.time_functions.smooth_step(0.0, 0.1, 0.2))
    return inverse_dynamics(system, [servo], ["motor"], 0.1, 0.01, before=before, after=after)


@pytest.mark.parametrize("times", [(-0.01, 0.0), (0.0, -0.01), (float("nan"), 0.0), (0.0, float("nan"))])
def test_times_before_and_after_the_motion_are_not_negative(times):
    message = f"before and after must be finite and not negative; found {times[0]}, {times[1]}."
    refused(InverseError, message, pushed, before=times[0], after=times[1])


def test_names_of_axes_and_actuators():
    refused(InverseError, "The axis of a servo is x, y or z; found 'X'.", pushed, "X")
    found = pushed(before=0.01, after=0.02)
    assert (found.t[0], found.t[-1]) == pytest.approx((-0.01, 0.12))
    assert found.result.position("rail.b")[-1, 0] == pytest.approx(0.2)
    message = "There is no actuator named 'moter'. Did you mean 'motor'? Existing: 'motor'."
    refused(InverseError, message, found.effort, "moter")
    np.testing.assert_allclose([found.effort("motor").value(t) for t in found.t], found.efforts[:, 0])


def test_spectra_need_evenly_spaced_times():
    result = flexmb.simulate(double_pendulum(), 0.1, step=0.01, output_step=0.02)
    angle = lambda found: found.coordinate("hinge")  # noqa: E731
    frequencies, _ = Comparison({"rigid": result, "flexible": result}).spectra(angle)
    assert frequencies[1] == pytest.approx(1 / 0.12)
    uneven = SimpleNamespace(**{**vars(result), "t": result.t**2})
    message = "A spectrum needs evenly spaced times: give output_step=."
    refused(MechanismError, message, Comparison({"rigid": uneven, "flexible": uneven}).spectra, angle)

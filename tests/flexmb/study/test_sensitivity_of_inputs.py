"""Derivatives with laws between frames that read inputs: adjoint and direct method agree with differences."""

import numpy as np
import pytest
from mechanisms import random_flexible_body
from sensitivities import assert_agrees, at_the_end

import flexmb
from flexmb.study import adjoint_gradient, direct_gradient, gradient

STEP, DURATION = 1e-3, 0.05
AT = {"kp": 30.0, "gain": 4.0, "lag": 0.02, "mass": 2.0, "length": 0.6, "amplitude": 0.5, "begin": 0.3}


@flexmb.law(inputs=("seen", "bend", "speed", "other", "wave"), states=("slow", "fast"), parameters=("gain", "lag"))
def muscle(t, relative, inputs, states, parameters, wrench, rates):
    """A force and a moment that depend on everything, not linearly."""
    gain, lag = parameters
    rates[0] = (inputs[0] * (1.0 + inputs[2]) - states[0]) / lag
    rates[1] = (inputs[3] + 20.0 * inputs[1] + relative.v[0] - np.tanh(states[1])) / lag + 0.3 * states[0] * inputs[2]
    wrench[0] = -gain * (states[0] + inputs[0] * relative.d[1]) + inputs[4]
    wrench[2] = gain * (0.2 * states[1] - 0.1 * inputs[2] ** 2 - relative.d[2])
    wrench[4] = 0.1 * gain * inputs[3] * states[0]


def arm(kp, gain, lag, mass, length, amplitude, begin):
    """A spatial arm with a flexible link, a controller, and a law between its ends that reads the motion of other parts,
    a function of time and the command of the controller."""
    system = flexmb.System(gravity=(0, 0.3, -9.81))
    link = flexmb.rigid_body("link", mass=mass, inertia=mass * np.diag([0.02, 0.05, 0.06]))
    link = system.add(link, angular_velocity=(0, 2.0, 0))
    blade = random_flexible_body(np.random.default_rng(3), name="blade", second_order=True, damping=0.4)
    blade = system.add(blade, position=(length, 0, 0))
    system.revolute("shoulder", system.ground.at((0, 0, 0)), link, axis=(0, 1, 0), at=(0, 0, 0))
    system.universal("elbow", link.at((length, 0, 0)), blade["start"], axis=(0, 1, 0), second_axis=(0, 0, 1))
    wave = flexmb.time_functions.harmonic(amplitude, 3.0)
    system.controller(
        "servo",
        flexmb.controllers.pid(kp, 50.0, 2.0, filter=0.01, initial=begin),
        inputs={"measured": "coordinate:shoulder", "reference": wave},
        outputs={"command": "effort:shoulder"},
    )
    inputs = {
        "seen": "velocity:blade.end:z", "bend": "elastic:blade:1", "speed": "rate:shoulder",
        "other": "command:servo:command", "wave": wave,
    }  # fmt: skip
    bound = muscle(gain=gain, lag=lag, initial=(begin, 0.1))
    system.force("muscle", link.at((0.1, 0, 0)), blade["end"], bound, inputs=inputs)
    return system


SERIES = {
    "height": lambda r: r.q[:, 9],
    "angle": lambda r: r.coordinate("shoulder"),
    "slow": lambda r: r.element_states[:, 0],
}


OPTIONS = {"step": STEP, "output_step": STEP, "newton_tolerance": 1e-11}


@pytest.mark.long
def test_derivatives_with_inputs_agree_with_differences():
    options = OPTIONS | {"newton_tolerance": 1e-13}
    measure = at_the_end(SERIES)
    expected = gradient(arm, AT, DURATION, measure=measure, relative_step=5e-3, threads=True, **options)
    forth = direct_gradient(arm, AT, DURATION, measure=measure, **OPTIONS)
    for name, series in SERIES.items():
        back = adjoint_gradient(arm, AT, DURATION, series, over="final", **OPTIONS)
        assert_agrees(back.of("result"), expected, name, AT)
        assert_agrees(forth.of(name), expected, name, AT)


def test_adjoint_and_direct_method_agree_on_a_short_motion():
    at = {name: AT[name] for name in ("gain", "lag", "amplitude", "begin")}
    rest = {name: value for name, value in AT.items() if name not in at}

    def model(**values):
        return arm(**values, **rest)

    back = adjoint_gradient(model, at, 0.02, SERIES["height"], over="final", **OPTIONS).of("result")
    forth = direct_gradient(model, at, 0.02, measure=at_the_end({"x": SERIES["height"]}), **OPTIONS).of("x")
    scale = np.array(list(at.values()))
    assert back * scale == pytest.approx(forth * scale, rel=0, abs=1e-6 * np.abs(forth * scale).max())

"""Derivatives with continuous controllers: adjoint and direct method agree with differences of the motion."""

import numpy as np
import pytest
from mechanisms import random_flexible_body
from sensitivities import assert_agrees, at_the_end

import flexmb
from flexmb.study import adjoint_gradient, direct_gradient, gradient

STEP, DURATION = 1e-3, 0.1
AT = {"kp": 30.0, "ki": 50.0, "gain": 4.0, "lag": 0.02, "mass": 2.0, "length": 0.6, "amplitude": 0.5, "begin": 0.3, "sensor": 0.1}  # fmt: skip


@flexmb.control_law(
    inputs=("seen", "turn", "bend", "speed", "other"), commands=("push", "twist", "thrust"), states=("slow", "fast"),
    parameters=("gain", "lag"),
)  # fmt: skip
def mixing(t, inputs, states, parameters, commands, rates):
    """Commands that depend on everything, not linearly."""
    gain, lag = parameters
    rates[0] = (inputs[0] * (1.0 + inputs[3]) - states[0]) / lag
    rates[1] = (inputs[1] + 20.0 * inputs[2] - np.tanh(states[1])) / lag + 0.3 * states[0] * inputs[3]
    commands[0] = -gain * (states[0] + inputs[1] * inputs[0]) + 0.1 * inputs[4]
    commands[1] = gain * (0.2 * states[1] - 0.1 * inputs[3] ** 2)
    commands[2] = gain * (inputs[1] - 0.5 * states[0])


def arm(kp, ki, gain, lag, mass, length, amplitude, begin, sensor):
    """A spatial arm with a flexible link, a jet that turns with it, and two controllers, one of which reads the command
    of the other."""
    system = flexmb.System(gravity=(0, 0.3, -9.81))
    points = {"sensor": (0.5 * length + sensor, 0.1, 0)}
    link = flexmb.rigid_body("link", mass=mass, inertia=mass * np.diag([0.02, 0.05, 0.06]), points=points)
    link = system.add(link, position=(0, 0, 0), angular_velocity=(0, 2.0, 0))
    blade = random_flexible_body(np.random.default_rng(3), name="blade", second_order=True, damping=0.4)
    blade = system.add(blade, position=(length, 0, 0))
    system.revolute("shoulder", system.ground.at((0, 0, 0)), link, axis=(0, 1, 0), at=(0, 0, 0))
    system.universal("elbow", link.at((length, 0, 0)), blade["start"], axis=(0, 1, 0), second_axis=(0, 0, 1))
    system.load("jet", link["sensor"], force=(0.3, 0.2, 1.0), moment=(0.1, 0, 0.2), follower=True)
    wave = flexmb.time_functions.harmonic(amplitude, 3.0)
    system.controller(
        "servo",
        flexmb.controllers.pid(kp, ki, 2.0, filter=0.01, initial=begin),
        inputs={"measured": "coordinate:shoulder", "reference": wave},
        outputs={"command": "effort:shoulder"},
    )
    system.controller(
        "mixer",
        mixing(gain=gain, lag=lag, initial=(begin, 0.1)),
        inputs={
            "seen": "velocity:blade.end:z", "turn": "angular-velocity:blade.end:y", "bend": "elastic:blade:1",
            "speed": "rate:shoulder", "other": "command:servo:command",
        },
        outputs={"push": "force:link.sensor:z", "twist": "moment:blade.end:y", "thrust": "load:jet"},
    )  # fmt: skip
    return system


SERIES = {
    "tip": lambda r: r.position("blade.end")[:, 2],
    "reaction": lambda r: r.reaction("shoulder")[:, 0],
    "state": lambda r: r.element_states[:, 2],
}
OPTIONS = {"step": STEP, "output_step": STEP, "newton_tolerance": 1e-11}


@pytest.fixture(scope="module")
def expected():
    """By extrapolated differences of simulations."""
    options = OPTIONS | {"newton_tolerance": 1e-13}
    return gradient(arm, AT, DURATION, measure=at_the_end(SERIES), relative_step=5e-3, threads=True, **options)


@pytest.mark.long
@pytest.mark.parametrize("name", SERIES)
def test_the_adjoint_of_controllers_gives_the_derivatives_of_the_simulation(expected, name):
    found = adjoint_gradient(arm, AT, DURATION, SERIES[name], over="final", **OPTIONS)
    assert_agrees(found.of("result"), expected, name, AT)


@pytest.mark.long
def test_the_direct_method_gives_them_all(expected):
    found = direct_gradient(arm, AT, DURATION, measure=at_the_end(SERIES), **OPTIONS)
    for name in SERIES:
        assert_agrees(found.of(name), expected, name, AT)


def test_adjoint_and_direct_method_agree_on_a_short_motion():
    at = {name: AT[name] for name in ("kp", "lag", "amplitude", "begin", "sensor")}
    rest = {name: value for name, value in AT.items() if name not in at}

    def model(**values):
        return arm(**values, **rest)

    back = adjoint_gradient(model, at, 0.02, SERIES["tip"], over="final", **OPTIONS).of("result")
    forth = direct_gradient(model, at, 0.02, measure=lambda r: {"x": float(SERIES["tip"](r)[-1])}, **OPTIONS).of("x")
    scale = np.array(list(at.values()))
    assert back * scale == pytest.approx(forth * scale, rel=0, abs=1e-6 * np.abs(forth * scale).max())


def test_sampled_controllers_are_refused_by_name():
    def model(kp):
        system = flexmb.System()
        rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
        system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
        inputs, outputs = {"measured": "coordinate:hinge"}, {"command": "effort:hinge"}
        system.controller("servo", flexmb.controllers.pid(kp, 0, 0, sample_time=0.1), inputs=inputs, outputs=outputs)
        return system

    with pytest.raises(flexmb.ControllerError, match=r"controllers that are sampled, .* 'servo'"):
        adjoint_gradient(model, {"kp": 1.0}, 0.1, lambda r: r.w[:, 5], step=1e-2)


def test_values_that_laws_of_controllers_hold_are_seen():
    """A servo whose gain is a variable around its function: a mass that it holds moves as `v / w sin(w t)`."""

    def model(gain):
        @flexmb.control_law(inputs=("place",), commands=("push",))
        def servo(t, inputs, states, parameters, commands, rates):
            commands[0] = -gain * inputs[0]

        system = flexmb.System()
        body = system.add(flexmb.rigid_body("body", mass=2.0, inertia=(1, 1, 1)), velocity=(0, 0, 0.4))
        system.prismatic("rail", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
        system.controller("servo", servo(), inputs={"place": "coordinate:rail"}, outputs={"push": "effort:rail"})
        return system

    def place(result):
        return result.coordinate("rail")

    def exact(gain, t=0.1):
        rate = np.sqrt(gain / 2.0)
        return 0.4 / rate * np.sin(rate * t)

    slope = (exact(200.0 + 1e-3) - exact(200.0 - 1e-3)) / 2e-3
    options = {"step": STEP, "newton_tolerance": 1e-12}
    back = adjoint_gradient(model, {"gain": 200.0}, 0.1, place, over="final", **options).of("result")
    forth = direct_gradient(model, {"gain": 200.0}, 0.1, measure=at_the_end({"place": place}), **options).of("place")
    assert back == pytest.approx(slope, rel=1e-3)
    assert forth == pytest.approx(back, rel=1e-6)


@flexmb.control_law(inputs=("place",), commands=("push",), states=("bias",), parameters=("gain",))
def biased(t, inputs, states, parameters, commands, rates):
    """A force with a bias that keeps its beginning, but for rounding."""
    rates[0] = (inputs[0] + 0.3) - 0.3 - inputs[0]
    commands[0] = parameters[0] * (1.0 + inputs[0] + states[0])


def test_a_state_of_rounding_of_a_controller():
    """It tells nothing of the size of changes that matter."""

    def model(begin):
        system = flexmb.System(gravity=(0, 0, -9.81))
        body = system.add(flexmb.rigid_body("body", mass=2.0, inertia=(1, 1, 1)), velocity=(0, 0, 0.4))
        system.prismatic("rail", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
        law = biased(gain=40.0, initial=(begin,))
        system.controller("pusher", law, inputs={"place": "coordinate:rail"}, outputs={"push": "effort:rail"})
        return system

    def place(result):
        return result.coordinate("rail")

    options = {"step": STEP, "newton_tolerance": 1e-12}
    result = flexmb.simulate(model(0.0), 0.05, **options)
    assert 0 < np.abs(result.element_states).max() < 1e-15
    low, high = (place(flexmb.simulate(model(begin), 0.05, **options))[-1] for begin in (-1e-4, 1e-4))
    back = adjoint_gradient(model, {"begin": 0.0}, 0.05, place, over="final", **options).of("result")
    forth = direct_gradient(model, {"begin": 0.0}, 0.05, measure=at_the_end({"place": place}), **options).of("place")
    assert back == pytest.approx((high - low) / 2e-4, rel=1e-6)
    assert forth == pytest.approx((high - low) / 2e-4, rel=1e-6)


@flexmb.control_law(inputs=("wave",), commands=("share",))
def passed_on(t, inputs, states, parameters, commands, rates):
    commands[0] = inputs[0]


def test_a_load_that_a_command_scales_has_the_derivative_by_its_force():
    """What it moves is in proportion to its force, and to the amplitude of its command."""

    def model(force, amplitude):
        system = flexmb.System()
        body = system.add(flexmb.rigid_body("body", mass=2.0, inertia=(1, 1, 1)))
        system.load("pull", body.at((0, 0, 0)), force=(force, 0, 0))
        wave = flexmb.time_functions.harmonic(amplitude, 3.0)
        system.controller("servo", passed_on(), inputs={"wave": wave}, outputs={"share": "load:pull"})
        return system

    at, options = {"force": 4.0, "amplitude": 0.5}, {"step": 1e-2, "output_step": 1e-2}
    back = adjoint_gradient(model, at, 0.1, lambda r: r.position("body")[:, 0], over="final", **options)
    forth = direct_gradient(model, at, 0.1, measure=lambda r: {"x": r.position("body")[-1, 0]}, **options)
    for found, name in ((back, "result"), (forth, "x")):
        np.testing.assert_allclose(found.relative(name), 1.0, rtol=1e-8)

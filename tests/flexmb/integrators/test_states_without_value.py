"""Every method names the element whose states have no value at the end of a step."""

import numpy as np
import pytest
from scipy.linalg import expm

import flexmb
from flexmb.errors import ConvergenceError
from flexmb.results.ringing import _Law, _ringing


@flexmb.law(states=("z",), parameters={"k": None})
def tangent_of_time(t, relative, states, parameters, wrench, rates):
    """`z = tan(t)`, which has no value at a quarter of a turn."""
    rates[0] = 1.0 + states[0] ** 2
    wrench[0] = -parameters[0] * relative.d[0] + 1e-3 * states[0]


@flexmb.law(states=("z",), parameters={"k": None})
def thrown_back(t, relative, states, parameters, wrench, rates):
    """The rate jumps against its own direction at 0.5."""
    rates[0] = 1.0 if states[0] <= 0.5 else -1e4
    wrench[0] = -parameters[0] * relative.d[0] + 1e-3 * states[0]


@flexmb.law(states=("z",), parameters={"k": None})
def logarithm_of_time(t, relative, states, parameters, wrench, rates):
    """`z = -log(1 - 5 t)/5`, which has no value at 0.2."""
    rates[0] = np.exp(5.0 * states[0])
    wrench[0] = -parameters[0] * relative.d[0] + 1e-3 * states[0]


def run(law, method, **options):
    system = flexmb.System(gravity=(0, 0, 0), name="m")
    body = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)))
    system.prismatic("guide", system.ground.at((0, 0, 0)), body, axis=(1, 0, 0))
    system.force("element", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), law(k=10.0))
    flexmb.simulate(system, 2.0, method=method, output_step=0.1, **options)


WAYS = [
    ("generalised-alpha", {"step": 1e-2}),
    ("radau", {"step": 1e-2}),
    ("radau", {}),
    ("bdf", {"step": 1e-2}),
    ("bdf", {}),
    ("explicit", {"step": 1e-2, "coordinates": "joint"}),
    ("explicit", {"step": 1e-2, "coordinates": "absolute"}),
    ("explicit", {}),
]


@pytest.mark.parametrize(("method", "options"), WAYS)
def test_states_that_grow_beyond_all_bounds_are_named(method, options):
    with pytest.raises(ConvergenceError, match=r"At t = 1\.5\d* the states of 'element' of 'm' have no value") as found:
        run(tangent_of_time, method, **options)
    assert "grow too fast with the states, or jump" in str(found.value)


@pytest.mark.parametrize("method", ["generalised-alpha", "radau", "bdf"])
def test_states_that_grow_exponentially_are_named(method):
    with pytest.raises(ConvergenceError, match=r"At t = 0\.19\d* the states of 'element' of 'm' have no value"):
        run(logarithm_of_time, method, step=1e-2)


@pytest.mark.parametrize(("method", "options"), [way for way in WAYS if way[0] != "explicit"] + WAYS[-1:])
def test_states_whose_rates_jump_are_named(method, options):
    with pytest.raises(ConvergenceError, match=r"At t = 0\.(5|49)\d* the states of 'element' of 'm' have no value"):
        run(thrown_back, method, **options)


# states that are far faster than the steps ----------------------------------------------------------------------------


@flexmb.law(states=("force",), parameters=("c", "tau"))
def damper(t, relative, states, parameters, wrench, rates):
    """A damper in series with a stiff spring, along z."""
    c, tau = parameters
    wrench[2] = -states[0]
    rates[0] = (c * relative.v[2] - states[0]) / tau


def damped(tau, begin):
    """A mass on a spring that a damper with a time constant slows."""
    system = flexmb.System()
    mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)), velocity=(0, 0, 1.0))
    system.prismatic("rail", system.ground, mass, axis=(0, 0, 1), at=(0, 0, 0))
    system.joint_spring("spring", "rail", stiffness=100.0)
    law = damper(c=1.0, tau=tau, initial={"force": begin})
    system.force("damper", system.ground.at((0, 0, 0)), mass.at((0, 0, 0)), law)
    return system


def height(tau, begin, end):
    """Of the mass at the end, exactly."""
    A = np.array([[0.0, 1.0, 0.0], [-100.0, 0.0, -1.0], [0.0, 1.0 / tau, -1.0 / tau]])
    return (expm(A * end) @ [0.0, 1.0, begin])[0]


@pytest.mark.parametrize("tau", [1e-5, 1e-7])
def test_states_far_faster_than_the_steps_keep_the_order(tau):
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        result = flexmb.simulate(damped(tau, 1.0), 1.0, step=step)
        assert result.statistics.iterations < 2.5 * result.statistics.steps
        errors.append(abs(result.coordinate("rail")[-1] - height(tau, 1.0, 1.0)))
    assert errors[1] < 0.3 * errors[0]
    assert errors[2] < 0.3 * errors[1]


def test_fast_states_that_do_not_begin_at_rest_alternate_and_are_named():
    """With the trapezoidal rule; warnings of what follows slow motions would fail the other tests."""
    with pytest.warns(flexmb.RingingStatesWarning, match="The state 'force' of 'damper' .* 1e\\+04 times as long"):
        flexmb.simulate(damped(1e-7, 0.0), 1.0, step=1e-3)
    result = flexmb.simulate(damped(1e-7, 0.0), 1.0, method="radau", tolerance=1e-8)
    assert result.coordinate("rail")[-1] == pytest.approx(height(1e-7, 0.0, 1.0), abs=1e-8)


def test_fast_states_of_controllers_that_alternate_are_named():
    system = flexmb.System()
    mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)), velocity=(0, 0, 1.0))
    system.prismatic("rail", system.ground, mass, axis=(0, 0, 1), at=(0, 0, 0))
    inputs = {"input": "rate:rail"}
    law = flexmb.controllers.linear(([-1.0], [1e-7, 1.0]))
    system.controller("lag", law, inputs=inputs, outputs={"command": "effort:rail"})
    with pytest.warns(flexmb.RingingStatesWarning, match="of 'lag' of 'mechanism' alternates"):
        flexmb.simulate(system, 1.0, step=1e-3)


def test_states_that_ring_in_different_units_are_off_by_what_they_lack():
    """Two fast states that act on each other, one of the order of a thousand, with a stationary value beside."""
    scale, stationary = np.array([1.0, 1e3]), np.array([0.3, -200.0])
    rates = np.array([[-1500.0, 500.0], [500.0, -1500.0]]) * scale[:, None] / scale  # -1000 and -2000 per unit of time
    law = _Law("law", ("a", "b"), np.zeros((1, 2)), lambda k, z: rates @ (z - stationary))
    off, state, steps = _ringing(law, 0, scale, 0.02)
    assert (off, state, steps) == (pytest.approx(0.3, rel=1e-6), 0, pytest.approx(40.0, rel=1e-6))

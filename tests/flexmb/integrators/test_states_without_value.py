"""Every method names the element whose states have no value at the end of a step."""

import numpy as np
import pytest

import flexmb
from flexmb.errors import ConvergenceError


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

"""Several stored times in one call of the compiled loop are those of single calls."""

import numpy as np
import pytest
from mechanisms import flexible_pendulum, slider_crank

import flexmb
from flexmb.integrators.alpha_run import GeneralisedAlphaRun

FIELDS = ("t", "q", "w", "wdot", "multipliers", "angles", "element_states")


def driven():
    """A driven slider-crank, with a law of a motor."""
    system = slider_crank()
    system.drive("bearing", flexmb.time_functions.harmonic(amplitude=0.8, frequency=1.3))
    system.motor("brake", "guide", lambda t, x, v: -3.0 * v - 20.0 * x**3)
    return system


@flexmb.law(states=("force",), parameters=("k", "tau"))
def maxwell(t, relative, states, parameters, wrench, rates):
    """A spring and a damper in series, along x."""
    k, tau = parameters
    wrench[0] = -states[0]
    rates[0] = k * relative.v[0] - states[0] / tau


def relaxing():
    """A mass on an element with a state."""
    system = flexmb.System()
    mass = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(0.1, 0.2, 0.3)), velocity=(0.3, -0.2, 0.1))
    system.force("element", system.ground.at((0, 0, 0)), mass.at((0, 0, 0)), maxwell(k=400.0, tau=0.05))
    return system


SYSTEMS = {
    "flexible pendulum": (lambda: flexible_pendulum(np.random.default_rng(1), second_order=True, damping=0.3), {}),
    "joint coordinates": (lambda: flexible_pendulum(np.random.default_rng(1)), {"coordinates": "joint"}),
    "driven": (driven, {}),
    "state": (relaxing, {}),
}


@pytest.mark.parametrize("every", [1, 3, 100])
@pytest.mark.parametrize("name", SYSTEMS)
def test_several_stored_times_are_those_of_single_calls(name, every, monkeypatch, tmp_path):
    make, options = SYSTEMS[name]
    options = {"step": 1e-3, "output_step": every * 1e-3, **options}
    told = []
    together = flexmb.simulate(make(), 0.3, **options, history=tmp_path / "h", progress=told.append)
    assert told[-1] == 1.0
    monkeypatch.setattr(GeneralisedAlphaRun, "several", lambda self, targets: None)
    single = flexmb.simulate(make(), 0.3, **options)
    assert together.statistics.steps == single.statistics.steps == 300
    assert together.statistics.iterations == single.statistics.iterations
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(together, field), getattr(single, field))
    for field in ("kinetic", "residual", "driver_work", "damper_heat"):
        scale = max(single.ledger.exchange, np.abs(single.ledger.driver_work).max())
        np.testing.assert_allclose(getattr(together.ledger, field), getattr(single.ledger, field), atol=1e-14 * scale)


def test_a_law_that_fails_between_stored_times_raises_its_error():
    system = slider_crank(speed=1.0)
    system.motor("brake", "guide", lambda t, x, v: 1.0 / (t < 0.02))
    with pytest.raises(flexmb.LawError, match="division by zero"):
        flexmb.simulate(system, 0.1, step=1e-3)

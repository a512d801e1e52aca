"""Backward differentiation: its order with fixed steps, what its tolerance means, stiff mechanisms."""

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum, turning_loop

import flexmb
from fem.errors import ConvergenceError


@pytest.mark.parametrize("make", [double_pendulum, lambda: flexible_pendulum(np.random.default_rng(1), second_order=True, damping=1.0)])  # fmt: skip
def test_order_is_five_in_positions_velocities_and_reactions(make):
    mechanism = make().build()
    exact = flexmb.simulate(mechanism, 0.4, method="radau", tolerance=1e-13, output_step=0.1)
    steps, errors = np.array([0.004, 0.002, 0.001]), []
    for step in steps:
        result = flexmb.simulate(mechanism, 0.4, method="bdf", step=step, output_step=0.1)
        joint = mechanism.joints[0].name
        pairs = ((result.q, exact.q), (result.w, exact.w), (result.reaction(joint), exact.reaction(joint)))
        errors.append([np.abs(a - b).max() / np.abs(b).max() for a, b in pairs])
    orders = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    np.testing.assert_allclose(orders, 5.0, atol=0.1)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_errors_follow_the_tolerance_and_joints_stay_closed(tolerance):
    mechanism = turning_loop().build()
    exact = flexmb.simulate(mechanism, 0.4, method="radau", tolerance=1e-11, output_step=0.02)
    ours = flexmb.simulate(mechanism, 0.4, method="bdf", tolerance=tolerance, output_step=0.02)
    assert np.abs(ours.q - exact.q).max() < 20 * tolerance
    assert np.abs(ours.ledger.residual).max() < 300 * tolerance * ours.ledger.exchange
    mechanism = ours.mechanism
    for joint in ("pin", "wrist"):
        a, b = mechanism.joint(joint).markers
        gap = ours.position(mechanism.markers[a].name) - ours.position(mechanism.markers[b].name)
        assert np.abs(gap).max() < 1e-12


def test_the_heat_between_its_steps_is_that_of_the_motion():
    """A damped oscillator, whose steps are longer than the stored times are apart."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    system.joint_spring("spring", "rail", stiffness=4.0, damping=0.4)
    system.set_speed("rail", 1.0)
    result = flexmb.simulate(system, 2.0, method="bdf", tolerance=1e-8, output_step=2e-3)
    assert result.statistics.steps < 800
    w = np.sqrt(4.0 - 0.04)
    x, v = np.exp(-0.2 * result.t) * [np.sin(w * result.t) / w, np.cos(w * result.t) - 0.2 * np.sin(w * result.t) / w]
    np.testing.assert_allclose(result.ledger.damper_heat, 0.5 - 0.5 * v**2 - 2.0 * x**2, atol=1e-5)


def test_it_steps_over_vibration_that_has_died_away():
    """A stiff, damped spring in a hinge: the explicit method needs ten times the steps or more; both come to rest at the same place."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    system.joint_spring("stiff", "hinge", stiffness=1e5, damping=1e4)
    runs = {name: flexmb.simulate(system, 1.0, method=name, tolerance=1e-6) for name in ("bdf", "radau")}
    rest = runs["bdf"].coordinate("hinge")[-1]
    assert rest == pytest.approx(9.81 * 0.5 / 1e5, rel=1e-3)
    assert rest == pytest.approx(runs["radau"].coordinate("hinge")[-1], rel=1e-3)
    assert runs["bdf"].statistics.steps < 200


def test_it_starts_again_after_an_impact():
    """A rod that falls on a stop: instants and speeds as by Radau IIA."""
    from flexmb.simulation.events import stop

    system = flexmb.System(gravity=(0, 0, -9.81))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    stops = [stop("floor", "hinge", 0.8, restitution=0.6)]
    runs = [
        flexmb.simulate(system, 0.9, method=name, tolerance=1e-8, output_step=0.01, events=stops) for name in ("bdf", "radau")
    ]  # fmt: skip
    for run in runs:
        np.testing.assert_allclose(run.t, 0.01 * np.arange(91), atol=1e-12)
    assert [h.event for h in runs[0].happened] == [h.event for h in runs[1].happened] == ["floor"] * 2
    np.testing.assert_allclose([h.t for h in runs[0].happened], [h.t for h in runs[1].happened], atol=1e-6)
    assert np.abs(runs[0].q - runs[1].q).max() < 2e-6


def test_a_step_that_is_too_long_is_told():
    with pytest.raises(ConvergenceError, match=r"Newton iteration .* moves by .*smaller step="):
        flexmb.simulate(double_pendulum(), 10.0, method="bdf", step=2.0)

"""The equations of motion at a state, without memory."""

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum, random_flexible_body, slider_crank

import flexmb
from flexmb.bodies import dynamics
from flexmb.equations.evaluate import (
    accelerations,
    constraint_jacobian,
    constraint_values,
    energies,
    evaluate,
    forces,
    mass_matrix,
)  # fmt: skip
from flexmb.equations.evaluation import Equations
from flexmb.equations.failures import fastest_body
from flexmb.equations.initial_conditions import consistent_state
from flexmb.errors import MechanismError
from flexmb.kernels.calls import displace
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.state import State

RNG = np.random.default_rng(3)
SYSTEMS = {
    "double pendulum": double_pendulum(),
    "slider crank": slider_crank(speed=5.0),
    "flexible pendulum": flexible_pendulum(RNG, second_order=True),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_equations_hold_and_the_parts_agree_with_the_whole(name):
    system = SYSTEMS[name]
    mechanism = system.build()
    state = consistent_state(mechanism).state
    whole = evaluate(system, state)
    scale = np.abs(whole.forces).max()
    balance = whole.mass_matrix @ whole.accelerations + whole.constraint_jacobian.T @ whole.multipliers - whole.forces
    np.testing.assert_allclose(balance, 0.0, atol=1e-10 * scale)
    np.testing.assert_allclose(whole.constraint_values, 0.0, atol=1e-10)
    np.testing.assert_allclose(whole.constraint_rates, 0.0, atol=1e-10)
    np.testing.assert_array_equal(mass_matrix(mechanism, state).toarray(), whole.mass_matrix.toarray())
    np.testing.assert_array_equal(forces(mechanism, state), whole.forces)
    np.testing.assert_array_equal(constraint_values(mechanism, state), whole.constraint_values)
    np.testing.assert_array_equal(constraint_jacobian(mechanism, state).toarray(), whole.constraint_jacobian.toarray())
    for found, wanted in zip(accelerations(mechanism, state), (whole.accelerations, whole.multipliers), strict=True):
        np.testing.assert_array_equal(found, wanted)
    kinetic = 0.5 * state.w @ whole.mass_matrix @ state.w
    assert energies(mechanism, state).kinetic == pytest.approx(kinetic, rel=1e-12, abs=1e-30)
    assert whole.energies.total == pytest.approx(energies(mechanism, state).total)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_jacobian_is_the_derivative_of_the_values(name):
    mechanism = SYSTEMS[name].build()
    state, flat = consistent_state(mechanism).state, compiled(mechanism)
    x, h = RNG.normal(size=len(state.w)), 1e-6
    moved = []
    for sign in (1, -1):
        q = state.q.copy()
        displace(flat, state.q, sign * h * x, q)
        moved.append(constraint_values(mechanism, State(state.t, q, state.w, state.angles)))
    found = (moved[0] - moved[1]) / (2 * h)
    np.testing.assert_allclose(constraint_jacobian(mechanism, state) @ x, found, atol=1e-8)


def test_the_fastest_body_is_the_one_that_moves_whatever_its_motion():
    """Messages about steps that fail name it: each component of the velocity of each body, also elastic ones."""
    system, rng = flexmb.System(), np.random.default_rng(1)
    for name in ("first", "second", "third"):
        system.add(random_flexible_body(rng, modes=2, name=name), position=(len(name), 0, 0))
    mechanism = system.build()
    e = Equations(mechanism, mechanism.initial.q)
    found = [fastest_body(e, w) for w in np.eye(24)]
    assert found == [name for name in ("first", "second", "third") for _ in range(8)]


def test_nothing_is_left_behind():
    """Another state in between changes no digit, and neither state is written to."""
    mechanism = double_pendulum().build()
    result = flexmb.simulate(mechanism, 0.5, step=1e-2)
    first, other = result.state(20), result.state(-1)
    kept = first.q.copy(), first.w.copy()
    before = evaluate(mechanism, first)
    evaluate(mechanism, other)
    after = evaluate(mechanism, first)
    np.testing.assert_array_equal(before.accelerations, after.accelerations)
    np.testing.assert_array_equal(before.forces, after.forces)
    np.testing.assert_array_equal(first.q, kept[0])
    np.testing.assert_array_equal(first.w, kept[1])


def test_a_state_of_another_mechanism_is_refused():
    with pytest.raises(MechanismError, match="Is it a state of another mechanism"):
        evaluate(double_pendulum(), consistent_state(SYSTEMS["slider crank"].build()).state)


@pytest.mark.parametrize("second_order", [True, False])
def test_the_mass_matrix_is_that_of_the_deformed_body(second_order):
    system = flexmb.System()
    body = random_flexible_body(np.random.default_rng(6), modes=3, second_order=second_order)
    system.add(body)
    mechanism = system.build()
    q, eta = mechanism.initial.q.copy(), np.array([0.03, -0.02, 0.05])
    q[7:] = eta
    found = mass_matrix(mechanism, State(0.0, q, mechanism.initial.w)).toarray()
    expected = dynamics.mass_matrix(body, eta)
    assert np.abs(expected - dynamics.mass_matrix(body, 0 * eta)).max() > 1e-3
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())

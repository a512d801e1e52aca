"""Bushings at large rotations: a twist that is counted, a tilt that does not depend on it, energy that is kept."""

from dataclasses import replace

import numpy as np
import pytest
from mechanisms import chosen
from test_angles import NAMES, RUNS

import flexmb
from fem.errors import ConvergenceError
from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import row_jacobian
from flexmb.kernels.calls import displace
from flexmb.mechanism.compile import compiled
from flexmb.spatial.lie import quaternion_from_rotation, rotation_exp

SOFT = (200.0, 200.0, 200.0, 3.0, 5.0, 2.0)


def mounted(stiffness=SOFT, axis=(0, 0, 1), damping=(0.0,) * 6, inertia=(0.5, 0.6, 0.7), **motion):
    """A body on a bushing at its mass centre."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=2.0, inertia=inertia), **motion)
    system.bushing("bush", system.ground.at((0, 0, 0)), body, stiffness=stiffness, damping=damping, axis=axis)
    return system


def turned(mechanism, R):
    """A configuration of the one body, turned in its place."""
    return np.concatenate([mechanism.initial.q[:3], quaternion_from_rotation(R)])


def rows_at(mechanism, R, twist):
    """Values and Jacobian of the rotations of a bushing, next to a twist."""
    near = replace(mechanism, initial=replace(mechanism.initial, angles=np.array([twist])))
    values, J = row_jacobian(near, compiled(near), turned(mechanism, R), near.function_values(0.0))
    return values[3:], J.toarray()[3:]


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-3, 0.0099, 0.0101, 0.5, 1.5, 2.5, 3.0])
def test_tilt_and_twist_are_coordinates_of_their_own(tilt):
    """`S = exp(tilt in the plane) exp(twist about z)` gives back both, whatever the other; the tilt is measured in the axes of `a`."""
    mechanism = mounted().build()
    for direction in (0.3, 2.0, 4.4):
        vector = tilt * np.array([np.cos(direction), np.sin(direction), 0.0])
        for twist in (0.0, 1.0, -3.0, 3.3, 40.8, -1000.0):
            values, _ = rows_at(mechanism, rotation_exp(vector) @ rotation_exp((0, 0, twist)), twist + 0.5)
            np.testing.assert_allclose(values, [vector[0], vector[1], twist], atol=2e-9)


@pytest.mark.parametrize("tilt", [0.0, 1e-5, 0.005, 0.02, 1.0, 2.0, 2.8])
def test_jacobians_are_derivatives_at_any_rotation(tilt):
    """Of bushings and of a motor's angle, against differences of fourth order."""
    rng = np.random.default_rng(1)
    mechanism = mounted().build()
    flat = compiled(mechanism)
    R = rotation_exp(tilt * np.array([0.6, -0.8, 0.0])) @ rotation_exp((0, 0, 7.0))
    _, J = rows_at(mechanism, R, 7.0)
    direction, values = rng.normal(size=6), []
    for h in (2e-4, 1e-4, -1e-4, -2e-4):
        moved = np.empty(7)
        displace(flat, turned(mechanism, R), h * direction, moved)
        near = replace(mechanism, initial=replace(mechanism.initial, angles=np.array([7.0])))
        values.append(row_jacobian(near, compiled(near), moved, near.function_values(0.0))[0][3:])
    numerical = (8 * (values[1] - values[2]) - (values[0] - values[3])) / (12 * 1e-4)
    np.testing.assert_allclose(J @ direction, numerical, atol=1e-9 / (np.pi - tilt) ** 3)


def test_small_rotations_are_those_of_a_rotation_vector():
    mechanism = mounted().build()
    theta = 1e-4 * np.array([0.5, -1.0, 0.7])
    values, J = rows_at(mechanism, rotation_exp(theta), 0.0)
    np.testing.assert_allclose(values, theta, atol=2e-8)
    np.testing.assert_allclose(J[:, 3:], np.eye(3), atol=2e-4)


@pytest.mark.parametrize(("integrator", "coordinates", "options"), RUNS, ids=NAMES)
def test_a_torsion_pendulum_winds_a_bushing_up_beyond_half_a_turn(integrator, coordinates, options):
    """Closed form: `J = 0.7`, `k = 2` and 6.4 rad/s give 3.79 rad; ten times as fast, 37.9 rad. Continued from a stored state."""
    omega = np.sqrt(2.0 / 0.7)
    for speed in (6.4, 64.0):
        axis = np.array([1.0, 2.0, 2.0]) / 3
        system = mounted(axis=axis, inertia=(0.7, 0.7, 0.7), angular_velocity=speed * axis)
        settings = options | {"method": integrator} | chosen(coordinates) | {"output_step": 0.5}
        first = flexmb.simulate(system, 0.5, **settings)
        second = flexmb.simulate(replace(first.mechanism, initial=first.state(-1)), 0.5, **settings)
        for result in (first, second):
            np.testing.assert_allclose(
                result.angles[:, 0], speed / omega * np.sin(omega * result.t), rtol=2e-5, atol=1e-12
            )
            np.testing.assert_allclose(result.ledger.springs, result.angles[:, 0] ** 2, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("twist", [0.0, 1.0, 2.5, 3.5, 11.0])
def test_the_tilt_stiffness_of_a_turning_shaft_does_not_vary(twist):
    """A shaft that a soft twist carries round, and its tangent stiffness across: that at rest."""
    from flexmb.equations.tangent import tangent

    mechanism = mounted(stiffness=(200.0, 200, 200, 30, 30, 0)).build()
    e = Equations(mechanism, turned(mechanism, rotation_exp((0, 0, twist))), np.array([twist]))
    none = np.zeros(6)
    K = tangent(e, mechanism.function_values(0.0), e.q, none, none, np.zeros(0)).K.toarray()
    np.testing.assert_allclose(K, np.diag([200.0, 200, 200, 30, 30, 0]), atol=1e-6)


@pytest.mark.parametrize(("integrator", "coordinates", "options"), RUNS, ids=NAMES)
def test_the_energy_of_large_tilts_and_twists_is_kept(integrator, coordinates, options):
    """A body that tumbles on its bushing, twist and tilt of some radians, all stiffnesses different."""
    system = mounted(axis=(0.2, -0.5, 1.0), angular_velocity=(2.5, 1.5, 6.0))
    settings = options | {"method": integrator} | chosen(coordinates) | {"output_step": 0.05}
    result = flexmb.simulate(system, 1.0, **settings)
    assert np.abs(result.angles).max() > 2.0
    assert np.abs(result.ledger.residual).max() < 2e-4 * result.ledger.kinetic[0]


def test_damping_of_twist_and_tilt_is_heat():
    system = mounted(damping=(5.0, 5, 5, 0.3, 0.2, 0.4), angular_velocity=(2.0, 1.0, 7.0))
    result = flexmb.simulate(system, 1.0, method="radau", tolerance=1e-9, output_step=0.1)
    assert (np.diff(result.ledger.damper_heat) > 0).all()
    assert np.abs(result.ledger.residual).max() < 1e-6 * result.ledger.kinetic[0]


@pytest.mark.parametrize("integrator", ["generalised-alpha", "radau", "bdf", "explicit", "energy-momentum"])
def test_a_bushing_turned_over_is_refused(integrator):
    """Axes in opposite directions: neither twist nor tilt has a definition. Without stiffness in them it may be so."""
    step = {"step": 2e-3} if integrator in ("generalised-alpha", "energy-momentum") else {}
    with pytest.raises(ConvergenceError, match=r"'bush'.*tilted"):
        flexmb.simulate(mounted(angular_velocity=(12.0, 0, 0)), 1.0, method=integrator, output_step=0.5, **step)
    free = mounted(stiffness=(200.0, 200, 200, 0, 0, 0), angular_velocity=(12.0, 0, 0))
    result = flexmb.simulate(free, 1.0, method=integrator, output_step=0.5, **step)
    assert np.abs(result.ledger.residual).max() < 1e-6 * result.ledger.kinetic[0]


def test_a_matrix_of_stiffnesses_is_told_where_to_go():
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("mount", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(flexmb.MechanismError, match=r"found a matrix.*nonlinear_bushing"):
        system.bushing("rubber", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), stiffness=np.eye(6))

"""Places of rest and steady motions with forces that have no potential, and with laws of a limited range: films of oil."""

import numpy as np
import pytest

import flexmb
from flexmb.linear import equilibrium, linearise, steady_running

MASS, SWIRL, DAMPING = 2.0, 2e3, 60.0


@flexmb.law(parameters=("k", "swirl", "c"))
def film(t, relative, states, parameters, wrench, rates):
    k, swirl, c = parameters
    d, v = relative.d, relative.v
    wrench[0] = -k * d[0] - swirl * d[1] - c * v[0]
    wrench[1] = -k * d[1] + swirl * d[0] - c * v[1]


def in_a_plane(law):
    system = flexmb.System(gravity=(0, -9.81, 0))
    shaft = system.add(flexmb.rigid_body("shaft", mass=MASS, inertia=(0.01, 0.01, 0.01)))
    system.planar("guide", system.ground, shaft, normal=(0, 0, 1), at=(0, 0, 0))
    system.force("oil", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), law)
    return system


@pytest.mark.parametrize("k", [1e4, 1e3, 1.0])
def test_a_shaft_rests_in_a_film_that_pushes_across(k):
    """k d + swirl (z x d) = m g; it whirls where swirl > c sqrt(k / m), though the film is stiff in all directions."""
    system = in_a_plane(film(k=k, swirl=SWIRL, c=DAMPING))
    system.joint_spring("hold", "guide", stiffness=1.0, dof="rotation")
    rest = equilibrium(system)
    place = np.linalg.solve([[k, SWIRL], [-SWIRL, k]], [0, -MASS * 9.81])
    np.testing.assert_allclose(rest.state.q[:2], place, rtol=1e-9)
    assert rest.iterations < 5
    assert rest.verdict == "not judged"
    assert not rest.stable
    assert "linearise" in str(rest)
    assert linearise(rest).modes().stable == (DAMPING * np.sqrt(k / MASS) > SWIRL)


def test_a_joint_that_a_spring_holds_is_judged():
    system = in_a_plane(film(k=1e3, swirl=0.0, c=1.0))
    system.joint_spring("hold", "guide", stiffness=1.0, dof="rotation")
    assert equilibrium(system).verdict == "stable"


def journal(speed):
    oil = flexmb.forces.journal_bearing(viscosity=0.02, radius=0.05, length=0.03, clearance=1e-4)
    system = flexmb.System()
    shaft = flexmb.rigid_body("shaft", mass=5.0, inertia=(0.01, 0.01, 0.002))
    shaft = system.add(shaft, angular_velocity=(0, 0, speed))
    system.planar("guide", system.ground, shaft, normal=(0, 0, 1), at=(0, 0, 0))
    system.force("oil", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), oil)
    system.load("weight", shaft.at((0, 0, 0)), force=(0, -500.0, 0))
    if speed:
        system.drive("guide", flexmb.time_functions.constant_speed(speed), dof="rotation")
    return system


def test_a_shaft_runs_steadily_in_its_film():
    """The differences about the middle of the bearing would leave its clearance. Ocvirk's load of the eccentricity."""
    running = steady_running(journal(300.0))
    e = np.hypot(*running.state.q[:2]) / 1e-4
    load = 0.02 * 0.05 * 0.03**3 * 300.0 / 1e-8 * e / (4 * (1 - e**2) ** 2) * np.sqrt(16 * e**2 + np.pi**2 * (1 - e**2))
    assert load == pytest.approx(500.0, rel=1e-9)


def test_a_film_that_nothing_turns_carries_no_shaft():
    with pytest.raises(flexmb.EquilibriumError, match=r"'oil'.*touches the housing"):
        equilibrium(journal(0.0))


def test_what_only_comes_to_rest_does_not_run_steadily():
    system = flexmb.System()
    cart = system.add(flexmb.rigid_body("cart", mass=2.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, cart, axis=(1, 0, 0), at=(0, 0, 0))
    system.joint_spring("brake", "rail", damping=3.0)
    system.set_speed("rail", 5.0)
    with pytest.raises(flexmb.EquilibriumError, match="nothing keeps up its speed"):
        steady_running(system)

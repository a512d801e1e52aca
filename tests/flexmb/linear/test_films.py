"""Places of rest and steady motions with forces that have no potential, and with laws of a limited range: films of oil."""

import numpy as np
import pytest

import flexmb
from flexmb.errors import EquilibriumError
from flexmb.linear import equilibrium, linearise, steady_motion, steady_running

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


@pytest.mark.parametrize("speed", [100.0, 250.0])
def test_an_unbalanced_disc_whirls_in_a_film_that_damps_more_than_it_holds(speed):
    """The place of its centre, seen from the shaft: m e W^2 / (k - m W^2 + i c W), below and above the critical speed.

    The damping of the steady whirl is a force across the displacement, small beside the stiffness of tilting.
    """
    k, c, e = 1e5, 3e3, 1e-5
    system = flexmb.System()
    hub = system.add(flexmb.rigid_body("hub", mass=1.0, inertia=(1, 1, 1)))
    disc = flexmb.rigid_body("disc", mass=3.0, inertia=(0.01, 0.01, 0.02), centre=(e, 0, 0))
    disc = system.add(disc, angular_velocity=(0, 0, speed))
    system.revolute("bearing", system.ground, hub, axis=(0, 0, 1), at=(0, 0, 0))
    system.drive("bearing", flexmb.time_functions.constant_speed(speed))
    system.bushing("coupling", hub, disc, at=(0, 0, 0), stiffness=(0, 0, 1e6, 1e8, 1e8, 1e8))
    system.force("oil", system.ground.at((0, 0, 0)), disc.at((0, 0, 0)), film(k=k, swirl=0.0, c=c))
    found = steady_motion(system)
    whirl = 3.0 * e * speed**2 / (k - 3.0 * speed**2 + 1j * c * speed)
    np.testing.assert_allclose(found.result.position("disc")[0], [whirl.real, whirl.imag, 0.0], atol=1e-9 * abs(whirl))
    assert found.iterations < 5


def test_a_joint_that_a_spring_holds_is_judged():
    system = in_a_plane(film(k=1e3, swirl=0.0, c=1.0))
    system.joint_spring("hold", "guide", stiffness=1.0, dof="rotation")
    assert equilibrium(system).verdict == "stable"


@pytest.mark.parametrize("part", [1e-2, 5e-4, 1e-5])
def test_a_weak_push_across_two_equal_stiffnesses_is_not_called_stable(part):
    """The growth rate without damping is swirl / (2 sqrt(k m)), however weak the push is."""
    system = in_a_plane(film(k=1e4, swirl=1e4 * part, c=0.0))
    system.joint_spring("hold", "guide", stiffness=1.0, dof="rotation")
    rest = equilibrium(system)
    assert rest.verdict == "not judged"
    assert not linearise(rest).modes().stable


def test_a_force_along_the_velocity_is_not_called_stable():
    system = in_a_plane(film(k=1e4, swirl=0.0, c=-1.0))
    system.joint_spring("hold", "guide", stiffness=1.0, dof="rotation", damping=100.0)
    rest = equilibrium(system)
    assert rest.verdict == "not judged"
    assert not linearise(rest).modes().stable


@flexmb.law(parameters=("kx", "ky", "cxy", "cyx"))
def crossed(t, relative, states, parameters, wrench, rates):
    """Springs, and forces along each of two axes by the velocity along the other one."""
    kx, ky, cxy, cyx = parameters
    wrench[0] = -kx * relative.d[0] + cxy * relative.v[1]
    wrench[1] = -ky * relative.d[1] + cyx * relative.v[0]


@pytest.mark.parametrize("k", [(1e3, 2e3), (2e3, 1e3)])
@pytest.mark.parametrize("c", [(3.0, 0.0), (0.0, 3.0)])
def test_a_force_by_the_velocity_across_it_is_not_called_stable(k, c):
    """For a velocity (1, 1) it has the power c."""
    system = in_a_plane(crossed(kx=k[0], ky=k[1], cxy=c[0], cyx=c[1]))
    system.joint_spring("hold", "guide", stiffness=1.0, dof="rotation")
    assert equilibrium(system).verdict == "not judged"
    gyroscopic = in_a_plane(crossed(kx=k[0], ky=k[1], cxy=3.0, cyx=-3.0))
    gyroscopic.joint_spring("hold", "guide", stiffness=1.0, dof="rotation")
    assert equilibrium(gyroscopic).verdict == "stable"


@flexmb.control_law(inputs=("angle",), commands=("moment",), parameters=("gain",))
def proportional(t, inputs, states, parameters, commands, rates):
    commands[0] = -parameters[0] * inputs[0]


@pytest.mark.parametrize(("integral", "stable"), [(0.5, True), (3000.0, False)])
def test_a_controller_with_an_integral_is_not_judged_by_its_stiffness(integral, stable):
    """J s^3 + c s^2 + (k + kp) s + ki has roots to the right where J ki > c (k + kp)."""
    system = flexmb.System()
    rod = system.add(flexmb.rigid_body("rod", mass=1.0, inertia=(0.3,) * 3))
    system.revolute("pivot", system.ground, rod, axis=(0, 0, 1), at=(0, 0, 0))
    system.joint_spring("spring", "pivot", stiffness=30.0, damping=0.2)
    inputs = {"measured": "coordinate:pivot", "reference": 0.0}
    law = flexmb.controllers.pid(20.0, integral)
    system.controller("servo", law, inputs=inputs, outputs={"command": "effort:pivot"})
    assert equilibrium(system).verdict == "not judged"
    system.controller(
        "soft", proportional(gain=0.0), inputs={"angle": "coordinate:pivot"}, outputs={"moment": "effort:pivot"}
    )
    rest = equilibrium(system)
    assert rest.verdict == "not judged"  # beside one without states, too
    assert linearise(rest).modes().stable == stable == (0.3 * integral < 0.2 * 50.0)


@pytest.mark.parametrize("seed", range(3))
def test_springs_and_dampers_in_any_attitude_are_judged(seed):
    random = np.random.default_rng(seed)
    system = flexmb.System(gravity=9.0 * random.normal(size=3))
    place = system.ground.at((0, 0, 0))
    for k in range(3):
        body = flexmb.rigid_body(f"body {k}", mass=1.0 + k, inertia=(0.1, 0.2, 0.25), centre=(0.1, 0.05, -0.1))
        body = system.add(body, position=(0.5 * k, 0.1 * k, 0), orientation=random.normal(size=3))
        stiffness, damping = (tuple(10 ** random.uniform(0, 4, 6)) for _ in range(2))
        springs = {"stiffness": stiffness, "damping": damping, "free": (0, 0, 0)}
        system.bushing(f"springs {k}", place, body.at((0, 0, 0)), **springs)
        place = body.at((0.3, 0.1, 0))
    assert equilibrium(system).verdict in ("stable", "unstable")


def journal(speed, load=500.0):
    oil = flexmb.forces.journal_bearing(viscosity=0.02, radius=0.05, length=0.03, clearance=1e-4)
    system = flexmb.System()
    shaft = flexmb.rigid_body("shaft", mass=5.0, inertia=(0.01, 0.01, 0.002))
    shaft = system.add(shaft, angular_velocity=(0, 0, speed))
    system.planar("guide", system.ground, shaft, normal=(0, 0, 1), at=(0, 0, 0))
    system.force("oil", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), oil)
    system.load("weight", shaft.at((0, 0, 0)), force=(0, -load, 0))
    if speed:
        system.drive("guide", flexmb.time_functions.constant_speed(speed), dof="rotation")
    return system


def test_a_shaft_runs_steadily_in_its_film():
    """The differences about the middle of the bearing would leave its clearance. Ocvirk's load of the eccentricity."""
    running = steady_running(journal(300.0))
    e = np.hypot(*running.state.q[:2]) / 1e-4
    load = 0.02 * 0.05 * 0.03**3 * 300.0 / 1e-8 * e / (4 * (1 - e**2) ** 2) * np.sqrt(16 * e**2 + np.pi**2 * (1 - e**2))
    assert load == pytest.approx(500.0, rel=1e-9)


def test_a_search_that_leaves_the_clearance_says_where_it_began():
    system = journal(300.0, load=1e7)
    with pytest.raises(EquilibriumError, match=r"'oil' failed.*housing.*'shaft' at \[0.0, 0.0, 0.0\].*state\(-1\)"):
        steady_running(system)


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


def film_about(clearance, place, speed=100.0):
    """The small motions of a shaft about a `place` of its centre, relative to the clearance; the viscosity grows with
    the square of the clearance."""
    law = flexmb.forces.journal_bearing(viscosity=5e6 * clearance**2, radius=0.03, length=0.035, clearance=clearance)
    system = flexmb.System(units="SI")
    shaft = flexmb.rigid_body("shaft", mass=20.0, inertia=(0.4, 0.4, 0.1))
    at = (clearance * place[0], clearance * place[1], 0)
    shaft = system.add(shaft, position=at, angular_velocity=(0, 0, speed))
    system.planar("guide", system.ground, shaft, normal=(0, 0, 1), at=(0, 0, 0))
    system.force("film", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), law)
    return linearise(system)


def test_small_motions_stay_within_the_clearance():
    """Stiffness times clearance depends on the relative place only, and likewise damping. The differences are those of
    the whole mechanism unless they leave the clearance, as for the two least ones. In body axes, which turn, inertia adds
    the centrifugal stiffness and gyroscopic terms."""
    of_turning = {"K": -20.0 * 100.0**2 * np.eye(2), "D": 2 * 20.0 * 100.0 * np.array([[0, -1], [1, 0]])}
    wide, *others = (film_about(c, (0.1, -0.27)) for c in (2e-3, 6e-5, 2e-6))
    for clearance, small in zip((6e-5, 2e-6), others, strict=True):
        for matrix, error in (("K", "K_error"), ("D", "D_error")):
            cases = (clearance, small), (2e-3, wide)
            found, expected = (c * (getattr(x, matrix).toarray()[:2, :2] - of_turning[matrix]) for c, x in cases)
            bound = clearance * getattr(small, error).toarray()[:2, :2]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
            assert (np.abs(found - expected) <= bound + 1e-9 * np.abs(expected).max()).all()
        assert np.isfinite(small.modes().eigenvalues).all()


def test_a_shaft_at_its_housing_has_no_small_motions():
    with pytest.raises(flexmb.LawError, match=r"no derivatives.*'film'.*touches the housing.*simulation"):
        film_about(6e-5, (0.0, -1.0 + 1e-9))

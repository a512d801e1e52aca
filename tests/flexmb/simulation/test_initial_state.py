"""Simulations start from states, results, equilibria and values of joints."""

from dataclasses import replace

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum, slider_crank

import flexmb
from flexmb.analyses.kinematics import assemble_at
from flexmb.errors import JointError, KinematicsError, MechanismError
from flexmb.linear import equilibrium, steady_motion


def one_step(system, **options):
    return flexmb.simulate(system, 1e-3, step=1e-3, **options)


def test_a_motion_goes_on_from_a_result():
    whole = flexmb.simulate(double_pendulum(), 0.4, method="radau", step=1e-3, output_step=0.1)
    first = flexmb.simulate(double_pendulum(), 0.2, method="radau", step=1e-3, output_step=0.1)
    second = flexmb.simulate(double_pendulum(), 0.2, method="radau", step=1e-3, output_step=0.1, initial_state=first)
    np.testing.assert_allclose(second.q[-1], whole.q[-1], atol=1e-12)
    assert second.t[-1] == pytest.approx(0.4)


def test_a_mechanism_stays_at_its_equilibrium():
    system = flexible_pendulum(np.random.default_rng(1))
    rest = equilibrium(system)
    result = flexmb.simulate(system, 0.1, step=1e-3, initial_state=rest)
    np.testing.assert_allclose(result.q[-1], rest.state.q, atol=1e-9)
    assert result.t[0] == rest.state.t


def test_a_steady_motion_goes_on_turning():
    system = flexmb.System()
    arm = system.add(flexmb.uniform_rod("arm", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), arm, axis=(0, 0, 1))
    system.set_speed("hinge", 4.0)
    result = flexmb.simulate(system, 0.1, step=1e-3, initial_state=steady_motion(system))
    np.testing.assert_allclose(result.coordinate_rate("hinge"), 4.0, rtol=1e-9)


def test_joints_have_the_values_and_rates_that_are_given():
    result = one_step(double_pendulum(), initial_state={"hinge": (0.3, 1.5), "elbow": -4.0})
    assert result.coordinate("hinge")[0] == pytest.approx(0.3, abs=1e-12)
    assert result.coordinate("elbow")[0] == pytest.approx(-4.0, abs=1e-12)
    assert result.coordinate_rate("hinge")[0] == pytest.approx(1.5, abs=1e-12)
    assert result.coordinate_rate("elbow")[0] == pytest.approx(0.0, abs=1e-12)  # a value alone: it is at rest
    free = one_step(double_pendulum(), initial_state={"hinge": (0.3, 1.5)})
    assert abs(free.coordinate_rate("elbow")[0]) > 0.1  # not named: least kinetic energy
    assert free.ledger.kinetic[0] < result.ledger.kinetic[0]


@pytest.mark.parametrize("given", [{}, {"hinge": 0.7}, {"hinge": 0.7, "elbow": 0.0}])
def test_joints_that_are_not_named_start_from_rest_whatever_speeds_the_system_gives(given):
    """Also where only the value of a driver, or nothing, is named: the elbow follows the driven hinge."""
    starts = []
    for speed in (0.0, 5.0):
        system = double_pendulum()
        system.drive("hinge", flexmb.time_functions.constant_speed(2.0, 0.7))
        if speed:
            system.set_speed("elbow", speed)
        assert not assemble_at(system, {name: 0.0 for name in given if name == "elbow"}).w.any()
        starts.append(one_step(system, initial_state=given).w[0])
    np.testing.assert_allclose(starts[1], starts[0], atol=1e-12)


def test_the_rest_of_a_loop_follows():
    result = one_step(slider_crank(), initial_state={"bearing": (1.0, 10.0)})
    x = 0.15 * np.cos(1.0) + np.sqrt(0.3**2 - (0.15 * np.sin(1.0)) ** 2)
    assert result.position("slider")[0, 0] == pytest.approx(x, abs=1e-11)
    h = 1e-5
    near = [0.15 * np.cos(a) + np.sqrt(0.3**2 - (0.15 * np.sin(a)) ** 2) for a in (1 - h, 1 + h)]
    assert result.velocity("slider")[0, 0] == pytest.approx(10 * (near[1] - near[0]) / (2 * h), abs=1e-8)


def test_both_motions_of_a_cylindrical_joint_are_set():
    system = flexmb.System()
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.cylindrical("sleeve", system.ground.at((0, 0, 0)), rod, axis=(0, 0, 1))
    given = {"sleeve:rotation": (0.2, 3.0), "sleeve:translation": (0.5, -1.0)}
    result = one_step(system, initial_state=given)
    for name, (value, rate) in given.items():
        dof = name.partition(":")[2]
        assert result.coordinate("sleeve", dof)[0] == pytest.approx(value, abs=1e-12)
        assert result.coordinate_rate("sleeve", dof)[0] == pytest.approx(rate, abs=1e-12)


def test_the_driven_motion_of_a_cylindrical_joint_stays_with_its_driver_where_the_other_one_is_set():
    """Also while other joints are moved, so that they keep their values."""
    system = flexmb.System()
    arm = system.add(flexmb.uniform_rod("arm", mass=1.0, length=1.0))
    rod = system.add(flexmb.uniform_rod("rod", mass=2.0, length=1.0), position=(1, 0, 0), orientation=(0, 0, 1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), arm["start"], axis=(0, 0, 1))
    system.cylindrical("sleeve", arm["end"], rod["start"], axis=(1, 0.5, 0.2))
    system.drive("sleeve", flexmb.time_functions.polynomial(0.4, 1.5), dof="translation")
    given = {"hinge": (0.7, 2.0), "sleeve:rotation": (0.3, -1.0)}
    result = one_step(system, initial_state=given)
    values = [result.coordinate("hinge")[0], result.coordinate("sleeve", "rotation")[0]]
    np.testing.assert_allclose([*values, result.coordinate("sleeve", "translation")[0]], [0.7, 0.3, 0.4], atol=1e-12)
    rates = [result.coordinate_rate("hinge")[0], result.coordinate_rate("sleeve", "rotation")[0]]
    np.testing.assert_allclose(
        [*rates, result.coordinate_rate("sleeve", "translation")[0]], [2.0, -1.0, 1.5], atol=1e-12
    )


@flexmb.law(states=("level",), parameters=())
def filling(t, relative, states, parameters, wrench, rates):
    """A tank whose level rises evenly, and which pushes as it is full."""
    rates[0] = 1.0
    wrench[0] = states[0]


def test_joints_that_are_moved_leave_the_states_of_elements_as_they_are():
    """A tank that has filled for a second is full where the arm is turned to another angle, and fills on from there."""
    system = double_pendulum()
    tank = system.add(flexmb.rigid_body("tank", mass=1.0, inertia=(1, 1, 1)), position=(5, 0, 0))
    system.force("feed", system.ground.at((5, 0, 0)), tank.at((0, 0, 0)), filling())
    full = flexmb.simulate(system, 1.0, step=1e-2).state(-1)
    assert full.element_states == pytest.approx([1.0])
    moved = assemble_at(replace(system.build(), initial=full), {"hinge": 0.3})
    assert moved.element_states == pytest.approx([1.0])
    later = one_step(replace(system.build(), initial=full), initial_state={"hinge": 0.3})
    assert later.element_states[-1] == pytest.approx([1.001])


def test_the_value_of_a_driven_joint_must_be_that_of_its_driver():
    agrees = one_step(slider_crank(speed=3.0), initial_state={"bearing": 0.0})
    assert agrees.coordinate_rate("bearing")[0] == pytest.approx(3.0)
    for value in (0.1, (0.0, 2.0)):
        with pytest.raises(KinematicsError, match=r"'bearing' is driven.*value 0 and the rate 3.*Leave the joint out"):
            one_step(slider_crank(speed=3.0), initial_state={"bearing": value})


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"hinje": 0.1}, KinematicsError, "'hinje'.*hinge"),
        ({"hinge": np.nan}, KinematicsError, r"finite number, or two"),
        ({"hinge": 1e30}, KinematicsError, r"1e\+30 of joint 'hinge' is farther than 5000"),
        ({"hinge": (1, 2, 3)}, KinematicsError, r"\(value, rate\)"),
        ({"hinge:translation": 1.0}, JointError, "no free translation"),
        (3.0, MechanismError, "An initial state is.*float"),
        (
            flexmb.State(0.0, np.zeros(7), np.zeros(6)),
            MechanismError,
            "14 coordinates and 12 velocities; found 7 and 6",
        ),
        (flexmb.State(0.0, np.full(14, np.nan), np.zeros(12)), MechanismError, "must be finite"),
    ],
    ids=str,
)
def test_what_is_no_initial_state_is_refused(given, error, text):
    with pytest.raises(error, match=text):
        one_step(double_pendulum(), initial_state=given)


def test_the_state_of_another_mechanism_is_refused():
    with pytest.raises(MechanismError, match=r"another mechanism, 'slider-crank'.*'first' \(0 elastic\).*'crank'"):
        one_step(double_pendulum(), initial_state=one_step(slider_crank()))
    flexible = flexible_pendulum(np.random.default_rng(1))
    rest = equilibrium(flexible)
    with pytest.raises(MechanismError, match=r"'random' \(0 elastic\).*'random' \(3 elastic\)"):
        one_step(flexible.build().rigid(), initial_state=rest)


def test_a_position_out_of_reach_names_the_joint():
    with pytest.raises(KinematicsError, match="cannot be brought to 'guide'"):
        one_step(slider_crank(), initial_state={"guide": 1.0})


@pytest.mark.parametrize("length", [1e-4, 1.0, 1e4])
def test_values_of_drivers_are_compared_in_radians_or_relative_to_the_length(length):
    """A thousandth of a nanoradian, or of a nanometre of a metre, is round-off; a thousand times as much is not."""

    def driven(kind):
        system = flexmb.System()
        rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=length))
        if kind == "hinge":
            system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
        else:
            system.prismatic("rail", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
        system.drive(kind, flexmb.time_functions.constant(0.0))
        return system

    for kind, unit in (("hinge", 1.0), ("rail", driven("rail").build().length)):
        one_step(driven(kind), initial_state={kind: 1e-12 * unit})
        with pytest.raises(KinematicsError, match=f"{kind!r} is driven"):
            one_step(driven(kind), initial_state={kind: 1e-6 * unit})

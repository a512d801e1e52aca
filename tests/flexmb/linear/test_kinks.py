"""Linearisations and equilibria where laws have no derivative: a warning names them, and smooth laws cause none."""

import warnings

import numpy as np
import pytest
from smooth_elements import SMOOTH

import flexmb
from flexmb import controllers
from flexmb.contact import Plane, Sphere, power_law
from flexmb.forces import gap_spring, preloaded_spring
from flexmb.linear import equilibrium, linearise
from flexmb.linear.input_output import _before_parting

ORIGIN = (0, 0, 0)


def sliding(*add, gravity=ORIGIN):
    """A body of unit mass on a rail along x, at rest, with what is added to the system and the body."""
    system = flexmb.System(gravity=gravity)
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1,) * 3))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=ORIGIN)
    for one in add:
        one(system, body)
    return system


def spring(**given):
    return lambda system, body: system.joint_spring("spring", "rail", **given)


def cable(name, end):
    def add(system, body):
        system.cable(name, [system.ground.at((end, 0, 0)), body.at(ORIGIN)], stiffness=100.0)

    return add


@flexmb.law(parameters=("k",))
def pull(t, relative, states, parameters, wrench, rates):
    """A spring that pulls only."""
    wrench[0] = -parameters[0] * max(relative.d[0], 0.0)


def between(law):
    return lambda system, body: system.force("law", system.ground.at(ORIGIN), body.at(ORIGIN), law)


@flexmb.law(states=("level",))
def leaking(t, relative, states, parameters, wrench, rates):
    """A level that falls by a root of itself."""
    wrench[0] = -9.0 * relative.d[0] + states[0]
    rates[0] = relative.v[0] - np.sign(states[0]) * np.sqrt(abs(states[0]))


def at_its_limit(system, body):
    """A controller of the force whose command is at its lower limit."""
    law = controllers.pid(9.0, lower=0.0)
    system.controller("servo", law, inputs={"measured": "coordinate:rail"}, outputs={"command": "effort:rail"})


KINKS = {
    "a cable as long as drawn": (cable("cable", -1.0), "'cable': the slope of its force over its coordinate is -100 where its coordinate grows and -?0 where it falls"),
    "a gap that is closed": (spring(law=gap_spring(9.0)), "'spring': the slope of its force over its coordinate is -?0 where its coordinate grows and -9 where it falls"),
    "dry friction": (spring(stiffness=9.0, law=flexmb.expression("-c*sign(xdot)", c=2.0)), "'spring': its force jumps over the rate of its coordinate"),
    "a root": (spring(law=flexmb.expression("-9*sign(x)*sqrt(abs(x))")), "'spring': its force jumps over its coordinate, or is infinitely steep"),
    "an angle of place and speed": (spring(law=flexmb.expression("-9*atan2(x, xdot)")), "'spring': its force jumps over its coordinate"),
    "a law between frames": (between(pull(k=9.0)), "'law': the slope of its force along x over its coordinate is -9 where its coordinate grows and -?0 where it falls"),
    "a state": (between(leaking()), "'law': its rate of state 'level' jumps over states"),
    "a controller at its limit": (at_its_limit, "'servo': the slope of its command 'command' over its coordinate is"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINKS)
def test_a_linearisation_at_a_kink_or_jump_names_the_law_and_both_slopes(name):
    add, message = KINKS[name]
    with pytest.warns(flexmb.SensitivityWarning, match=message):
        linearise(sliding(add))


def test_an_equilibrium_at_a_kink_is_told():
    """Its stiffness is the mean of 101 and 1; dry friction does not change the stiffness."""
    with pytest.warns(flexmb.SensitivityWarning, match="The equilibrium of 'mechanism' is at a kink .* 'cable'"):
        found = equilibrium(sliding(cable("cable", -1.0), spring(stiffness=1.0)))
    assert found.softest == pytest.approx(51.0)
    rubbing = equilibrium(sliding(spring(stiffness=9.0, law=flexmb.expression("-2*sign(xdot)"))))
    assert rubbing.softest == pytest.approx(9.0)


SOUND = {
    "two cables that pull from both sides": ([cable("one", -1.0), cable("other", 1.0)], 100.0),
    "a square of the speed": ([spring(stiffness=9.0, law=flexmb.expression("-5*xdot*abs(xdot)"))], 9.0),
    "a power above one": ([spring(stiffness=9.0, law=gap_spring(1e3, exponent=2.0))], 9.0),
    "a steep law with a width": ([spring(stiffness=9.0, law=flexmb.expression("-2*tanh(xdot/v)", v=1e-6))], 9.0),
    "a seat": ([spring(law=preloaded_spring(9.0, 2.0, seat=1e6))], 1e6),
    "a stiff cubic spring": ([spring(law=flexmb.expression("-1e9*x - 1e15*x**3"))], 1e9),
    "a kink at a distance of 1e-7": ([spring(law=flexmb.expression("-9*x - 1e8*max(x - 1e-7, 0)"))], 9.0),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_laws_with_a_derivative_cause_no_warning(name):
    """The stiffness is that of both sides."""
    add, stiffness = SOUND[name]
    K = linearise(sliding(*add)).reduced()[2]
    assert K[0, 0] == pytest.approx(stiffness, rel=1e-6)


def taut(t, relative, states, parameters, stiffness, damping):
    """The tangent of `pull`; that of its taut side at the kink."""
    stiffness[0, 0] = parameters[0] if relative.d[0] >= 0.0 else 0.0


def test_a_law_that_gives_its_tangent_says_which_derivative_is_its_own():
    """Beside another element, whose kink is told."""
    chosen = flexmb.law(parameters=("k",), tangent=taut)(pull.function)
    with pytest.warns(flexmb.SensitivityWarning) as told:
        K = linearise(sliding(between(chosen(k=9.0)), spring(law=gap_spring(2.0)))).reduced()[2]
    assert K[0, 0] == pytest.approx(9.0 + 1.0)
    assert ["'spring'" in str(x.message) and "'law'" not in str(x.message) for x in told] == [True]


@pytest.mark.parametrize("name", [name for name in SMOOTH if name != "regularised friction"])
def test_smooth_elements_cause_no_warning(name):
    linearise(SMOOTH[name](1.0))


@pytest.mark.parametrize("stiffness", [1e4, 1e7, 1e10, 1e13])
def test_a_ball_that_a_stiff_contact_carries_causes_no_warning(stiffness):
    """The contact is compressed by 1e-2 to 1e-8 of the radius."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.004,) * 3), position=(0, 0, 0.1))
    system.prismatic("rail", system.ground, ball, axis=(0, 0, 1), at=ORIGIN)
    law = power_law(stiffness, restitution=0.5, speed=1.0)
    system.contact("contact", Plane().on(system.ground.at(ORIGIN)), Sphere(0.1).on(ball.at(ORIGIN)), law=law)
    with warnings.catch_warnings():
        warnings.simplefilter("error", flexmb.SensitivityWarning)
        linearise(equilibrium(system))


def test_a_filter_at_zero_beside_pressures_causes_no_warning():
    """A step of a millionth of a pressure takes the command of the servo to its limit, far from the state."""
    system = flexmb.System()
    load = system.add(flexmb.rigid_body("load", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 0.3))
    system.prismatic("guide", system.ground, load, axis=(0, 0, 1), at=(0, 0, 0))
    cylinder = flexmb.forces.hydraulic_cylinder(
        area_a=2e-3, area_b=1e-3, stroke=0.6, bulk_modulus=1e9, supply=2e7, tank=1e5, flow=1e-7, target=0.4, gain=2.0,
        dead_volume=2e-4, laminar=1e5, initial={"pressure a": 1e7, "pressure b": 1.8e7},
    )  # fmt: skip
    system.force("cylinder", system.ground.at((0, 0, 0)), load.at((0, 0, 0)), cylinder)
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("axle", system.ground, wheel, axis=(0, 0, 1), at=(0, 0, 0))
    servo = controllers.pid(4e5, 4e5, 6e4, filter=0.01, lower=-3e5, upper=3e5)
    inputs = {"measured": "coordinate:axle", "reference": 0.01}
    system.controller("servo", servo, inputs=inputs, outputs={"command": "effort:axle"})
    found = np.linalg.eigvals(linearise(system).state_matrix())
    for root in np.roots([0.01, 1, 6e4 + 4e5 * 0.01, 4e5 + 4e5 * 0.01, 4e5]):
        assert np.abs(found - root).min() < 1e-6 * abs(root)


@flexmb.control_law(inputs=("place", "height"), commands=("here", "ahead"), parameters=("weight", "k"))
def shared(t, inputs, states, parameters, commands, rates):
    """A wheel on a rail, whose force goes to the places before and ahead of it by its distances from them."""
    force = parameters[0] - parameters[1] * inputs[1]
    commands[0] = force * max(1.0 - abs(inputs[0]), 0.0)
    commands[1] = force * max(inputs[0], 0.0)


@pytest.mark.parametrize("driven", [True, False])
def test_a_kink_over_a_place_that_a_driver_holds_causes_no_warning(driven):
    """The trolley stands at a place of the rail, where the shares of its force have kinks. Where a driver holds it, no
    motion crosses them, but for the rounding of positions; commands that act by loads were compared without it."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    parts = {}
    for name, mass, before, axis in (
        ("jib", 10.0, "ground", (0, 1, 0)),
        ("carriage", 1.0, "jib", (1, 0, 0)),
        ("trolley", 100.0, "carriage", (0, 0, 1)),
    ):
        at = (5.0 if name == "jib" else 8.0, 0, 0)
        parts[name] = system.add(flexmb.rigid_body(name, mass=mass, inertia=(1, 1, 1)), position=at)
        joint = system.revolute if name == "jib" else system.prismatic
        joint(f"{name} joint", parts.get(before, system.ground), parts[name], axis=axis, at=at)
    system.joint_spring("slewing", "jib joint", stiffness=1e4)
    if driven:
        system.drive("carriage joint", flexmb.time_functions.constant(0.0))
    else:
        system.joint_spring("buffer", "carriage joint", stiffness=1e4)
    system.load("here", parts["trolley"].at(ORIGIN), force=(0, 0, 1), follower=True)
    system.load("ahead", parts["jib"].at((3, 0, 0)), force=(0, 0, -1), follower=True)
    inputs = {"place": "coordinate:carriage joint", "height": "coordinate:trolley joint"}
    system.controller(
        "rail", shared(weight=981.0, k=1e5), inputs=inputs, outputs={"here": "load:here", "ahead": "load:ahead"}
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        (equilibrium if driven else linearise)(system)
    assert [one.category for one in told] == ([] if driven else [flexmb.SensitivityWarning])


def test_points_that_push_do_not_begin_to_pull_beside_the_state():
    """Whatever the unit of force: of two points, one pushes with 0.3 and one is apart; a third of a coordinate moves it."""
    own = np.array([7.0, 0.3, 0.1, 0.0, 0.0, 0.0, 0.0])
    presses = np.zeros((6, 3))
    presses[0], presses[3] = (0.6, -6.0, 0.0), (9.0, 9.0, 9.0)
    assert _before_parting(own, presses) == pytest.approx([0.05, 0.005, np.inf])
    assert _before_parting(np.zeros(7), presses) == pytest.approx([np.inf] * 3)

"""What new users write first: it works, or is refused with what to write in its place."""

import numpy as np
import pytest

import flexmb
from flexmb.equations.evaluate import energies
from flexmb.errors import JointError, MechanismError, MotionError


def hinged(**placement):
    system = flexmb.System(name="arm")
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0), **placement)
    system.revolute("h", system.ground.at((0, 0, 0)), rod, axis=(0, 0, 1))
    return system, rod


def test_a_system_is_printed_with_what_it_has():
    assert str(flexmb.System()) == "System 'mechanism': empty"
    system, rod = hinged()
    assert str(system) == "System 'arm': bodies 'rod'; joints 'h'"
    system.load("push", rod["end"], force=(1, 0, 0))
    system.wind("gust", rod, [(0, 0, 0), (1, 0, 0)], density=1.2, diameter=0.1, velocity=(0, 1, 0))
    assert str(system) == "System 'arm': bodies 'rod'; joints 'h'; loads 'push', 'gust'"


def test_the_reaction_of_a_motor_is_refused_by_what_it_is():
    system, _ = hinged()
    system.motor("motor", "h", 1.0)
    result = flexmb.simulate(system, 0.01, step=1e-3)
    with pytest.raises(MechanismError, match=r"'motor' is a force element, not a joint.*Joints: 'h'"):
        result.reaction("motor")
    system, rod = hinged()
    system.load("push", rod["end"], force=(1, 0, 0))
    with pytest.raises(MechanismError, match="'push' is a load, not a joint"):
        flexmb.simulate(system, 0.01, step=1e-3).reaction("push")


def test_a_point_says_in_which_frame_it_is():
    system, rod = hinged(position=(0, 0, 0), orientation=(0, 0, np.pi / 2))
    other = system.add(flexmb.uniform_rod("other", mass=1.0, length=1.0), position=(0, 0.5, 0))
    np.testing.assert_allclose(rod.at((0, 0.5, 0), frame="world").point, (0.5, 0, 0), atol=1e-15)
    np.testing.assert_allclose(rod.at((0.5, 0, 0), frame="body").point, rod.at((0.5, 0, 0)).point)
    np.testing.assert_allclose(system.ground.at((1, 2, 3), frame="world").point, (1, 2, 3))
    system.revolute("elbow", rod.at((0, 0.5, 0), frame="world"), other, axis=(0, 0, 1))
    mechanism = system.build()
    assert flexmb.simulate(mechanism, 1e-3, step=1e-3).verdict.drift.opening < 1e-12
    with pytest.raises(MechanismError, match=r"'wrld'.*body.*world"):
        rod.at((0, 0, 0), frame="wrld")
    with pytest.raises(MechanismError, match="ground has one frame"):
        system.ground.at((0, 0, 0), frame="body")


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda s, b: s.drive("h", lambda t: t), MotionError, r"driver of 'h'.*time_functions\.function"),
        (lambda s, b: s.drive("h", 3.0), MotionError, r"driver of 'h'.*found float 3.*time_functions\.constant"),
        (lambda s, b: s.prescribe("p", s.ground, b, x=np.sin, at=(0, 0, 0)), MotionError, "motion of 'p'"),
        (lambda s, b: s.load("l", b["end"], force=(1, 0, 0), factor=np.sin), MotionError, "factor of 'l'"),
        (
            lambda s, b: s.joint_spring("k", b, stiffness=1.0),
            JointError,
            "name of a joint.*found BodyHandle.*Existing: 'h'",
        ),
        (lambda s, b: s.joint_spring("k", "h", stiffness=lambda x: x), MechanismError, r"'k'.*number.*motor"),
        (lambda s, b: s.joint_spring("k", "h", stiffness=1.0, free="x"), MechanismError, "'k'.*free"),
        (lambda s, b: s.set_speed("h", "fast"), MechanismError, "'h'.*speed.*number"),
    ],
)
def test_first_mistakes_are_named(build, error, text):
    with pytest.raises(error, match=text):
        build(*hinged())


def test_a_driver_and_an_initial_speed_that_contradict_each_other_are_refused_where_they_are_given():
    """In either order, and two speeds of one coordinate; the same speed twice is no fault."""
    spin = flexmb.time_functions.constant_speed(2.0)
    system, _ = hinged()
    system.drive("h", spin)
    with pytest.raises(JointError, match=r"'h': set_speed starts its rotation at the speed 3, and the driver .* at 2"):
        system.set_speed("h", 3.0)
    system.set_speed("h", 2.0)
    assert flexmb.simulate(system, 0.01, step=1e-3).w[-1, 5] == pytest.approx(2.0)
    system, _ = hinged()
    system.set_speed("h", 3.0)
    with pytest.raises(JointError, match=r"a driver starts its rotation at the speed 2, and set_speed at 3"):
        system.drive("h", spin)
    with pytest.raises(JointError, match=r"set_speed starts its rotation at the speed -3, and set_speed at 3"):
        system.set_speed("h", -3.0)


def test_a_bushing_over_a_gap_warns_of_its_preload():
    def bushed(**options):
        system = flexmb.System(name="arm")
        rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0), position=(0.3, 0, 0))
        system.bushing(
            "b", system.ground.at((0, 0, 0)), rod["start"], stiffness=(100.0, 0, 0, 1, 1, 1), axis=(0, 0, 1), **options
        )
        return system

    with pytest.warns(flexmb.PreloadWarning, match=r"'b'.*gap of.*0\.3.*force of 30.*free="):
        pulled = bushed()
    assert energies(pulled, pulled.build().initial).springs == pytest.approx(4.5)
    asked = bushed(free=(0, 0, 0))
    assert energies(asked, asked.build().initial).springs == pytest.approx(4.5)
    relaxed = bushed(free="drawn")
    assert energies(relaxed, relaxed.build().initial).springs == pytest.approx(0.0, abs=1e-20)
    np.testing.assert_allclose(flexmb.accelerations(relaxed, relaxed.build().initial)[0], 0.0, atol=1e-12)
    with pytest.raises(MechanismError, match="free"):
        bushed(free=(1, 2))
    with pytest.raises(MechanismError, match="drawn"):
        bushed(free="relaxed")


def test_a_spring_along_a_joint_drawn_apart_warns_of_its_preload():
    def sprung(apart=0.3, **options):
        system = flexmb.System(name="slide")
        mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 0.3))
        system.cylindrical("rail", system.ground.at((0, 0, 0.3 - apart)), mass.at((0, 0, 0)), axis=(0, 0, 1))
        system.joint_spring("k", "rail", stiffness=100.0, dof="translation", **options)
        return system

    with pytest.warns(flexmb.PreloadWarning, match=r"'k' of 'slide'.*'rail'.*0\.3 apart.*force of 30\."):
        pulled = sprung()
    for asked, energy in ((pulled, 4.5), (sprung(free=0), 4.5), (sprung(free="drawn"), 0.0), (sprung(0.0), 0.0)):
        assert energies(asked, asked.build().initial).springs == pytest.approx(energy, abs=1e-20)
    with pytest.raises(MechanismError, match="drawn"):
        sprung(free="relaxed")
    with pytest.raises(MechanismError, match="free"):
        sprung(free=(1, 2))


def test_a_joint_between_turned_bodies_is_drawn_apart_along_its_axis():
    """The rail is fixed in a carrier whose axes are none of the world."""
    axis = np.array([0.36, 0.48, 0.8])

    def sprung(**options):
        system = flexmb.System(name="slide")
        carrier = system.add(flexmb.rigid_body("carrier", mass=1.0, inertia=(1, 1, 1)), orientation=(0.4, -0.7, 1.1))
        mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)), position=0.3 * axis)
        system.prismatic("rail", carrier.at((0, 0, 0)), mass.at((0, 0, 0)), axis=axis)
        system.joint_spring("k", "rail", stiffness=100.0, **options)
        return energies(system, system.build().initial).springs

    assert sprung(free="drawn") == pytest.approx(0.0, abs=1e-20)
    with pytest.warns(flexmb.PreloadWarning, match=r"0\.3 apart.*force of 30\."):
        assert sprung() == pytest.approx(4.5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s, b: s.planar("p", s.ground, b, axis=(0, 0, 1)), r"planar\(\) has no argument axis=; .* normal="),
        (lambda s, b: s.in_plane("p", s.ground, b, axis=(0, 0, 1)), r"in_plane\(\) has no argument axis=; .* normal="),
        (lambda s, b: s.motor("m", "hinge", torque=1.0), r"motor\(\) has no argument torque=; .* effort="),
        (lambda s, b: flexmb.controllers.pid(1.0, Ti=2.0), r"pid\(\) has no argument Ti=; .* ki=, which is kp / Ti"),
        (lambda s, b: flexmb.controllers.pid(1.0, limit=2.0), r"pid\(\) has no argument limit=; .* lower= and upper="),
    ],
)
def test_arguments_of_other_programs_are_named(call, words):
    system = flexmb.System()
    body = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground, body["start"], axis=(0, 0, 1))
    with pytest.raises(TypeError, match=words):
        call(system, body)


def test_a_pid_with_a_rate_and_no_filter_names_the_filter():
    system = flexmb.System()
    body = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground, body["start"], axis=(0, 0, 1))
    given = {"inputs": {"measured": "coordinate:hinge"}, "outputs": {"command": "effort:hinge"}}
    with pytest.raises(flexmb.ControllerError, match=r"needs the inputs 'rate'.*pid\(\.\.\., filter=0\.01\)"):
        system.controller("servo", flexmb.controllers.pid(1.0, kd=0.1), **given)
    system.controller("servo", flexmb.controllers.pid(1.0, kd=0.1, filter=0.01), **given)


def test_one_name_without_a_comma_is_one_name():
    @flexmb.law(states=("force"), parameters=("rate"))
    def lagging(t, relative, states, parameters, wrench, rates):
        wrench[0] = -states[0]
        rates[0] = relative.d[0] - parameters[0] * states[0]

    @flexmb.control_law(inputs=("angle"), commands=("torque"), states="memory", parameters="gain")
    def slow(t, inputs, states, parameters, commands, rates):
        commands[0] = -parameters[0] * states[0]
        rates[0] = inputs[0] - states[0]

    assert (lagging.states, lagging.parameters) == (("force",), ("rate",))
    assert (slow.inputs, slow.commands, slow.states, slow.parameters) == (
        ("angle",), ("torque",), ("memory",), ("gain",),
    )  # fmt: skip


def test_a_law_that_writes_rates_without_states_is_told_of_states():
    @flexmb.law(parameters=("k",))
    def forgetful(t, relative, states, parameters, wrench, rates):
        wrench[0] = -parameters[0] * relative.d[0]
        rates[0] = 1.0

    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    system.force("f", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), forgetful(k=1.0))
    with pytest.raises(flexmb.LawError, match=r"law of 'f' failed.*IndexError.*no states: declare .* by states="):
        flexmb.simulate(system, 0.1, step=0.01)


def test_misspelt_kinds_of_measures_are_named_in_one_sentence():
    system = flexmb.System()
    body = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground, body["start"], axis=(0, 0, 1))
    for text, meant in (("efort:hinge", "effort"), ("Coordinate:hinge", "coordinate"), ("pos:rod:x", "position")):
        with pytest.raises(flexmb.MeasureError, match=rf"^There is no measure named .* Did you mean '{meant}'\?"):
            flexmb.results.measure.measure(text)


def test_columns_of_energies_by_element_are_apart():
    system = flexmb.System(gravity=(0, 0, -9.81))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    name = "a hinge with a long name, which sticks"
    system.revolute(name, system.ground, rod["start"], axis=(0, 1, 0))
    system.drive(name, flexmb.time_functions.constant_speed(1.0))
    lines = str(flexmb.simulate(system, 0.1, step=0.01).energy_by_element()).splitlines()
    assert any(f"{name}  driver " in line for line in lines)
    assert len({len(line) for line in lines}) == 1


def test_a_joint_at_a_point_of_the_world_is_there_on_a_body_that_is_drawn_turned():
    system = flexmb.System()
    body = system.add(
        flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)), position=(1, 2, 3), orientation=(0.3, -0.4, 0.5)
    )
    system.spherical("ball", system.ground, body, at=(2.0, 1.0, 5.0))
    mechanism = system.build()
    still = flexmb.simulate(mechanism, 1e-3, step=1e-3)
    for marker in mechanism.joint("ball").markers:
        name = mechanism.markers[marker].name
        np.testing.assert_allclose(still.position(name)[0], (2.0, 1.0, 5.0), atol=1e-12)
    np.testing.assert_allclose(still.frame("body")[0][0], (1, 2, 3), atol=1e-12)

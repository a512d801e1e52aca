"""The angle of a joint is one continuous number: at the start, under drivers, in springs, in stored and continued motions."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from mechanisms import chosen, double_pendulum, slider_crank

import flexmb
from flexmb.equations.initial_conditions import consistent_state
from flexmb.errors import AssemblyError, MechanismError
from flexmb.linear import equilibrium
from flexmb.mechanism.joints import JOINTS
from flexmb.mechanism.state import State
from flexmb.spatial.lie import rotation_exp

RUNS = [
    ("generalised-alpha", "absolute", {"step": 1e-3}),
    ("generalised-alpha", "joint", {"step": 1e-3}),
    ("hht", "absolute", {"step": 1e-3}),
    ("radau", "absolute", {"tolerance": 1e-8}),
    ("bdf", "absolute", {"tolerance": 1e-7}),
    ("explicit", "absolute", {"tolerance": 1e-8}),
    ("explicit", "joint", {"tolerance": 1e-8}),
    ("energy-momentum", "absolute", {"step": 2e-3}),
]
"""Integrators, their coordinates, and options for motions of some 10 rad/s."""
NAMES = [f"{integrator} {coordinates}" for integrator, coordinates, _ in RUNS]
STARTS = (2.0, -2.0, 3.0, -3.0, 3.5, 10.0, -100.0, 50 * 2 * np.pi + 0.3)


def disc(system, inertia=0.5, **place):
    return system.add(flexmb.rigid_body("disc", mass=2.0, inertia=(inertia, inertia, inertia)), **place)


def spun(speed, **spring):
    """A disc on a hinge about a skew axis that starts with a speed, perhaps against a torsion spring."""
    system = flexmb.System()
    system.revolute("hinge", system.ground.at((0.1, 0.2, 0.3)), disc(system, position=(0.1, 0.2, 0.3)), axis=(1, 2, 2))
    system.set_speed("hinge", speed)
    if spring:
        system.joint_spring("spring", "hinge", **spring)
    return system


def attitude(result, angle, axis):
    """How far the disc is from the attitude of a rotation about an axis by an angle."""
    expected = rotation_exp(angle * np.asarray(axis, float) / np.linalg.norm(axis))
    return np.abs(result.frame("disc")[1][0] - expected).max()


# drivers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", ["revolute", "cylindrical", "planar", "prescribed"])
def test_a_driver_starts_at_its_angle_whatever_that_is(kind, start):
    axis, f = (0.2, -0.5, 1.0), flexmb.time_functions.constant_speed(1.5, start=start)
    system = flexmb.System()
    body = disc(system)
    if kind == "prescribed":
        system.prescribe("j", system.ground.at((0, 0, 0)), body, rotation=f, axis=axis)
    else:
        system.joint(kind, "j", system.ground.at((0, 0, 0)), body, axis=axis)
        system.drive("j", f, "rotation")
        if kind == "cylindrical":
            system.drive("j", flexmb.time_functions.constant_speed(0.2, start=0.4), "translation")
    begin = consistent_state(system.build()).state
    (angle,) = begin.angles
    assert angle == pytest.approx(start, abs=1e-9)
    result = flexmb.simulate(system, 0.01, step=1e-3)
    np.testing.assert_allclose(result.angles[:, 0], start + 1.5 * result.t, atol=1e-9)
    assert attitude(result, start, axis) < 1e-9


@pytest.mark.parametrize("start", [2.0, -2.0, 3.0, 4.5, 10.0])
def test_a_driven_loop_is_assembled_at_the_angle_of_its_crank(start):
    """Closed form of the slider; the rod stays on the side that it was drawn on."""
    system = slider_crank()
    system.drive("bearing", flexmb.time_functions.constant_speed(3.0, start=start))
    result = flexmb.simulate(system, 0.002, step=1e-3)
    np.testing.assert_allclose(result.coordinate("bearing"), start + 3.0 * result.t, atol=1e-9)
    theta = start + 3.0 * result.t
    x = 0.15 * np.cos(theta) + np.sqrt(0.3**2 - (0.15 * np.sin(theta)) ** 2)
    np.testing.assert_allclose(result.frame("slider")[0][:, 0], x, atol=1e-9)


def four_bar(start, lengths=(1.0, 3.0, 2.5, 3.0)):
    """Crank, coupler, rocker and ground in the plane, drawn at a crank angle of 90 degrees, its crank driven; by default
    a crank-rocker."""
    a, b, c, ground = lengths
    A, D = np.array([0.0, a, 0.0]), np.array([ground, 0.0, 0.0])
    B = elbow(A, D, b, c)
    system = flexmb.System(gravity=(0, 0, -9.81))
    bodies = []
    for name, p, q in (("crank", np.zeros(3), A), ("coupler", A, B), ("rocker", D, B)):
        turn = np.arctan2(*(q - p)[1::-1])
        bar = flexmb.uniform_rod(name, mass=1.0, length=float(np.linalg.norm(q - p)), radius=0.05)
        bodies.append(system.add(bar, position=p, orientation=(0, 0, turn)))
    crank, coupler, rocker = bodies
    system.revolute("bearing", system.ground.at((0, 0, 0)), crank, axis=(0, 0, 1))
    system.spherical("pin", crank["end"], coupler)
    system.universal("joint", coupler["end"], rocker, axis=(0, 0, 1), second_axis=(1, 0, 0), at=B)
    system.revolute("pivot", system.ground.at(D), rocker, axis=(0, 0, 1))
    system.drive("bearing", flexmb.time_functions.constant_speed(1.0, start=start))
    return system, lambda angle: elbow(a * np.array([-np.sin(angle), np.cos(angle), 0.0]), D, b, c)


def elbow(A, D, b, c):
    """Where circles about two points meet, above their line."""
    d = np.linalg.norm(D - A)
    along = (b * b - c * c + d * d) / (2 * d)
    x = (D - A) / d
    return A + along * x + np.sqrt(b * b - along * along) * np.array([-x[1], x[0], 0.0])


@pytest.mark.parametrize("start", [2.0, -2.0, 3.1, 8.0])
def test_a_driven_four_bar_keeps_its_branch(start):
    assert_on_its_branch(*four_bar(start), start)


def test_a_crank_goes_round_the_other_way_where_it_cannot_pass():
    """The crank of this double rocker turns up to 108 degrees to both sides of the ground: from 90 degrees to -100, which
    is 170 degrees the shorter way, it goes by zero."""
    start = -np.radians(190.0)
    assert_on_its_branch(*four_bar(start, (2.0, 2.0, 3.0, 4.0)), start)


def assert_on_its_branch(system, place, start):
    mechanism = system.build()
    begin = consistent_state(mechanism).state
    still = flexmb.results.result.result_of_states(
        mechanism, np.zeros(1), begin.q[None], begin.w[None], begin.w[None], np.zeros((1, mechanism.joint_rows))
    )
    np.testing.assert_allclose(still.position("coupler.end")[0], place(start), atol=1e-9)


def test_a_driver_says_the_angle_of_a_joint_that_a_spring_is_wound_around():
    """A driver at 20 rad winds the spring by 20 rad: its torque is what the driver has to give."""
    system = flexmb.System()
    system.revolute("hinge", system.ground.at((0, 0, 0)), disc(system), axis=(0, 0, 1))
    system.joint_spring("spring", "hinge", stiffness=3.0)
    system.drive("hinge", flexmb.time_functions.constant_speed(100.0, start=20.0))
    result = flexmb.simulate(system, 0.5, step=0.05)  # five radians a step
    np.testing.assert_allclose(result.drive_effort("hinge"), 3.0 * (20.0 + 100.0 * result.t), rtol=1e-9)


def test_an_equilibrium_at_a_later_time_has_the_angle_of_the_driver_then():
    for t in (1.0, 2.0, 5.0, 60.0):
        system = double_pendulum()
        system.joint_spring("spring", "elbow", stiffness=40.0)
        system.drive("hinge", flexmb.time_functions.constant_speed(1.0, start=1.2))
        found = equilibrium(system, t).result
        assert found.coordinate("hinge")[0] == pytest.approx(1.2 + t, abs=1e-9)
        R = found.frame("first")[1][0]
        assert np.arctan2(R[1, 0], R[0, 0]) == pytest.approx((1.2 + t + np.pi) % (2 * np.pi) - np.pi, abs=1e-9)


@pytest.mark.parametrize("kind", ["fixed", "prismatic", "revolute", "cylindrical", "planar"])
@pytest.mark.parametrize("turned", [(np.pi, 0, 0), (0, np.pi, 0), (0, 0, np.pi)])
def test_joints_do_not_close_turned_round(kind, turned):
    """Half a turn fulfils perpendicularity too; about the axis of a joint that turns it is a motion of that joint."""
    system = flexmb.System()
    body = disc(system)
    system.joint(kind, "j", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    mechanism = system.build()
    q = mechanism.initial.q.copy()
    q[3:7] = [0.0, *(np.array(turned) / np.pi)]
    mechanism = replace(mechanism, initial=replace(mechanism.initial, q=q))
    if turned[2] and "rotation" in JOINTS[kind].dofs:
        assert np.abs(consistent_state(mechanism).state.angles[0]) == pytest.approx(np.pi)
    else:
        with pytest.raises(AssemblyError, match="opposite directions"):
            consistent_state(mechanism)


# springs, laws, ledgers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("integrator", "coordinates", "options"), RUNS, ids=NAMES)
def test_a_torsion_spring_winds_up_over_many_turns_and_goes_on_from_a_stored_state(integrator, coordinates, options):
    """Closed form: 60 rad/s against 4 N m/rad winds a disc of 0.5 kg m2 up by 21.2 rad; the run is cut where it is wound up."""
    stiffness, inertia, speed = 4.0, 0.5, 60.0
    omega = np.sqrt(stiffness / inertia)
    options = options | {"method": integrator} | chosen(coordinates) | {"output_step": 0.25}
    system = spun(speed, stiffness=stiffness)
    first = flexmb.simulate(system, 0.75, **options)
    second = flexmb.simulate(replace(first.mechanism, initial=first.state(-1), start_rows=()), 0.75, **options)
    t = np.concatenate([first.t, second.t])
    angle = np.concatenate([first.coordinate("hinge"), second.coordinate("hinge")])
    np.testing.assert_allclose(angle, speed / omega * np.sin(omega * t), atol=2e-3)
    for result in (first, second):
        spring = 0.5 * stiffness * result.coordinate("hinge") ** 2
        np.testing.assert_allclose(result.ledger.springs, spring, rtol=1e-9)
        assert np.abs(result.ledger.residual).max() < 1e-3 * result.ledger.total[0]


@pytest.mark.parametrize(("integrator", "coordinates", "options"), RUNS, ids=NAMES)
def test_an_angle_is_right_at_any_spacing_of_stored_times_and_any_step(integrator, coordinates, options):
    """100 rad at 400 rad/s, stored at two times; steps turn by 0.8 to 4 rad, and more where they adapt."""
    longest = 2e-3 if coordinates == "absolute" and "step" in options else 1e-2  # the iteration of longer ones diverges
    options = {key: longest if key == "step" else value for key, value in options.items()}
    run = flexmb.simulate(spun(400.0), 0.25, output_step=0.25, method=integrator, **options, **chosen(coordinates))
    np.testing.assert_allclose(run.coordinate("hinge"), 400.0 * run.t, atol=1e-5)


def test_a_law_of_a_motor_sees_turns_in_steps_of_more_than_half_a_turn():
    """Four radians a step. Slopes of laws are taken at the beginning of a step, with the time of its end."""
    system = spun(400.0)
    seen = []

    def law(t, angle, speed):
        if angle != 0.0:  # the law is sampled for features of time at the angle of the start, too
            seen.append(angle - 400.0 * t)
        return 0.0

    system.motor("watch", "hinge", law)
    flexmb.simulate(system, 0.2, step=1e-2, coordinates="joint")
    assert np.abs(seen).max() < 4.01


def test_every_joint_counts_its_own_turns():
    """A shaft turned by a driver carries a disc on a hinge of its own that a spring holds: angles of both, and of a chain of hinges."""
    system = flexmb.System()
    shaft = system.add(flexmb.rigid_body("shaft", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("bearing", system.ground.at((0, 0, 0)), shaft, axis=(0, 0, 1))
    rotor = disc(system)
    system.revolute("rotor", shaft, rotor, axis=(0, 0, -1), at=(0, 0, 0))
    system.drive("bearing", flexmb.time_functions.constant_speed(70.0))
    system.set_speed("rotor", 30.0)
    result = flexmb.simulate(system, 1.0, step=2e-3, output_step=1.0)
    assert result.coordinate("bearing")[-1] == pytest.approx(70.0)
    assert result.coordinate("rotor")[-1] == pytest.approx(30.0)


# what is stored -------------------------------------------------------------------------------------------------------


def test_angles_are_stored_in_files_histories_and_pickles(tmp_path):
    from flexmb.files import load_result, save_result

    result = flexmb.simulate(spun(100.0), 1.0, step=1e-2, output_step=0.5, history=tmp_path / "history")
    back = load_result(save_result(result, tmp_path / "result.h5"))
    again = pickle.loads(pickle.dumps(result.state(-1)))
    for angles in (result.angles[-1], back.angles[-1], again.angles, back.state(-1).angles):
        assert angles == pytest.approx([100.0])
    assert back.coordinate("hinge")[-1] == pytest.approx(100.0)
    on = flexmb.simulate(replace(back.mechanism, initial=back.state(-1), start_rows=()), 0.1, step=1e-2)
    assert on.coordinate("hinge")[-1] == pytest.approx(110.0)


def test_a_state_with_angles_of_another_mechanism_is_refused():
    mechanism = spun(1.0).build()
    q, w = mechanism.initial.q, mechanism.initial.w
    with pytest.raises(MechanismError, match="1 angles"):
        consistent_state(replace(mechanism, initial=State(0.0, q, w, np.zeros(2))))
    with pytest.raises(MechanismError, match="finite"):
        consistent_state(replace(mechanism, initial=State(0.0, q, w, np.array([np.nan]))))


def test_a_place_beyond_a_turn_winds_the_joint_up():
    from flexmb.analyses.kinematics import assemble_at

    state = assemble_at(spun(0.0, stiffness=1.0), {"hinge": 9.0})
    assert state.angles == pytest.approx([9.0])

"""Equilibrium and small motions with exact contacts: points that touch and stick are joints, those that could not hold are named."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import flexmb
from flexmb import solids
from flexmb.cli.main import app
from flexmb.contact import Box, Capsule, Cylinder, Plane, Sphere, mesh, power_law
from flexmb.errors import EquilibriumError, MechanismError
from flexmb.linear import equilibrium, linearise

G, EDGES = 9.81, (0.4, 0.3, 0.2)


def standing(tilt=0.0, friction=0.3, push=(0.0, 0.0, 0.0), shape=None, along=None):
    """A box on a slope, and a mass on a spring that a slider guides along z of the box."""
    normal = np.array([0, np.sin(tilt), np.cos(tilt)])
    system = flexmb.System(gravity=(0, 0, -G))
    turn = (-tilt, 0, 0)
    box = system.add(
        flexmb.rigid_body("box", mass=2.0, inertia=(0.1, 0.12, 0.15)), position=0.1 * normal, orientation=turn
    )
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=normal)
    system.contact("floor", floor, (shape or Box(*EDGES)).on(box.at((0, 0, 0)), axis=along), friction=friction)
    top = system.add(flexmb.rigid_body("top", mass=0.5, inertia=(0.01,) * 3), position=0.3 * normal, orientation=turn)
    system.prismatic("guide", box.at((0, 0, 0.2)), top.at((0, 0, 0)), axis=normal)
    system.joint_spring("spring", "guide", stiffness=200.0)
    system.load("push", box.at((0, 0, 0.1)), force=push)
    return system


@pytest.mark.parametrize("shape", [Box(*EDGES), mesh(solids.box(EDGES))], ids=["box", "mesh"])
def test_a_box_stands_and_what_is_on_it_vibrates(shape):
    rest = equilibrium(standing(shape=shape))
    assert rest.stable
    names = [joint.name for joint in rest.mechanism.joints if joint.name.startswith("floor.")]
    forces = [rest.result.reaction(name)[0] for name in names]
    assert len(forces) == 4
    np.testing.assert_allclose(np.sum(forces, axis=0)[:3], (0, 0, 2.5 * G), atol=1e-9)
    np.testing.assert_allclose(rest.result.effort("spring"), 0.5 * G, rtol=1e-9)  # carries the mass
    np.testing.assert_allclose(rest.result.stretch("spring"), -0.5 * G / 200.0, rtol=1e-9)
    small = linearise(rest)
    assert small.degrees_of_freedom == 1
    np.testing.assert_allclose(small.modes().frequencies, np.sqrt(200.0 / 0.5) / (2 * np.pi), rtol=1e-9)


@pytest.mark.parametrize(
    ("part", "friction", "weight"), [(0.99, 0.3, 1.0), (1.01, 0.3, 1.0), (1.01, 0.3, 1e-8), (0.99, (0.3, 0.1), 1.0)]
)
def test_it_slides_above_the_angle_of_friction(part, friction, weight):
    """Of static friction, however small its weight is."""
    system = standing(tilt=float(np.arctan(0.3 * part)), friction=friction).build()
    system = replace(system, gravity=weight * system.gravity)
    if part < 1:
        assert equilibrium(system).stable
    else:
        with pytest.raises(
            EquilibriumError, match=r"no equilibrium with the contacts that touch: the point 'floor\.\d' slides"
        ):
            equilibrium(system)


@pytest.mark.parametrize("part", [0.98, 1.02])
def test_it_tips_when_the_push_has_the_moment_of_its_weight(part):
    """About the edge at y = 0.15, with the push at the top, 0.2 above it."""
    push = part * 2.5 * G * 0.15 / 0.2
    system = standing(friction=2.0, push=(0, push, 0))
    if part < 1:
        assert equilibrium(system).stable
    else:
        with pytest.raises(EquilibriumError, match=r"the point 'floor\.\d' opens"):
            equilibrium(system)


@pytest.mark.parametrize("shape", [Capsule(0.1, 0.5), Cylinder(0.1, 0.5)], ids=["capsule", "cylinder"])
def test_what_lies_without_friction_slides_on_springs(shape):
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("rod", mass=2.0, inertia=(0.1, 0.12, 0.05)), position=(0, 0, 0.1))
    lying = shape.on(body.at((0, 0, 0)), axis=(1, 0, 0))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), lying)
    system.bushing(
        "springs", system.ground.at((0, 0, 0.1)), body.at((0, 0, 0)), stiffness=(800.0, 50.0, 0, 3.0, 0, 7.0)
    )
    small = linearise(equilibrium(system))
    expected = np.sqrt([50.0 / 2, 7.0 / 0.05, 3.0 / 0.1, 800.0 / 2]) / (2 * np.pi)
    np.testing.assert_allclose(small.modes().frequencies, np.sort(expected), rtol=1e-8)


CAN = Cylinder(0.15, 0.2)


@pytest.mark.parametrize("along", [(0, 0, 1), (0, 0, -1)], ids=["upright", "upside down"])
def test_a_cylinder_stands_on_its_rim_and_what_is_on_it_vibrates(along):
    rest = equilibrium(standing(shape=CAN, along=along))
    assert rest.state.q[2] == pytest.approx(0.1, abs=1e-12)
    forces = [rest.result.reaction(j.name)[0] for j in rest.mechanism.joints if j.name.startswith("floor.")]
    np.testing.assert_allclose(np.sum(forces, axis=0)[:3], (0, 0, 2.5 * G), atol=1e-9)
    np.testing.assert_allclose(linearise(rest).modes().frequencies, np.sqrt(200.0 / 0.5) / (2 * np.pi), rtol=1e-9)
    tilted = standing(tilt=0.1, shape=CAN)
    run = flexmb.simulate(tilted, 0.01, step=1e-3)
    assert linearise(tilted, run.state(-1)).degrees_of_freedom == 1


@pytest.mark.parametrize("angle", [0.0, 0.05, 2.0])
def test_a_cylinder_tips_about_its_rim_in_every_direction(angle):
    """With the push at the top, 0.2 above the floor; the rim of the equilibrium is a polygon of 60 points."""
    push = 2.5 * G * 0.15 / 0.2 * np.array([np.cos(angle), np.sin(angle), 0.0])
    assert equilibrium(standing(friction=2.0, push=0.998 * push, shape=CAN)).stable
    with pytest.raises(EquilibriumError, match=r"the point 'floor\.\d+' opens"):
        equilibrium(standing(friction=2.0, push=1.001 * push, shape=CAN))


@pytest.mark.parametrize("shape", [Capsule(0.1, 0.5), Cylinder(0.1, 0.5)], ids=["capsule", "cylinder"])
def test_what_lies_rolls_with_friction(shape):
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("rod", mass=2.0, inertia=(0.1, 0.12, 0.05)), position=(0, 0, 0.1))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("floor", floor, shape.on(body.at((0, 0, 0)), axis=(1, 0, 0)), friction=0.3)
    with pytest.raises(MechanismError, match=r"cylinders that stand.*without friction.*cylinders that lie.*it rolls"):
        linearise(system)


def test_a_state_of_a_simulation_keeps_its_contacts():
    system = standing(tilt=0.1)
    run = flexmb.simulate(system, 0.01, step=1e-3)
    small = linearise(system, run.state(-1))
    assert small.degrees_of_freedom == 1
    rest = equilibrium(replace(system.build(), initial=run.state(-1), start_rows=()))
    np.testing.assert_allclose(rest.state.q[:7], run.state(-1).q[:7], atol=1e-9)


def ball(friction, other=None):
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("ball", mass=0.5, inertia=(0.002,) * 3), position=(0, 0, 0.1))
    floor = (other or Plane()).on(system.ground.at((0, 0, 0 if other is None else -0.1)))
    system.contact("floor", floor, Sphere(0.1).on(body.at((0, 0, 0))), friction=friction)
    system.bushing("springs", system.ground.at((0, 0, 0.1)), body.at((0, 0, 0)), stiffness=(8.0, 8.0, 8.0, 1, 1, 1))
    return system


def test_what_is_no_joint_is_refused_by_name():
    with pytest.raises(MechanismError, match=r"'floor' of a plane and a sphere touches, .* it rolls"):
        equilibrium(ball(0.3))
    assert equilibrium(ball(0.0)).stable
    with pytest.raises(MechanismError, match=r"'floor' of a box and a sphere .* moves on both of them.*law="):
        linearise(ball(0.3, Box(1, 1, 0.2)))
    sliding = standing(tilt=0.5)
    run = flexmb.simulate(sliding, 0.01, step=1e-3)
    with pytest.raises(MechanismError, match="'floor' slides at the state"):
        linearise(sliding, run.state(-1))


def test_contacts_that_are_apart_hold_nothing():
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("ball", mass=0.5, inertia=(0.002,) * 3), position=(0, 0, 0.2))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), Sphere(0.1).on(body.at((0, 0, 0))))
    with pytest.raises(EquilibriumError):
        equilibrium(system)


@pytest.mark.parametrize("size", [1e-3, 1e3])
@pytest.mark.parametrize("gap", [3e-7, 1e-4])
def test_gaps_are_compared_with_the_size_of_the_mechanism(size, gap):
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("box", mass=0.5, inertia=(size**2,) * 3), position=(0, 0, (0.5 + gap) * size))
    box = Box(size, size, size).on(body.at((0, 0, 0)))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), box, friction=0.5)
    if gap < 1e-6:
        assert equilibrium(system).stable
    else:
        with pytest.raises(EquilibriumError, match="found no equilibrium"):
            equilibrium(system)


@pytest.mark.parametrize("shape", [Sphere(0.1), Box(0.1, 0.1, 0.2), Cylinder(0.1, 0.2), Capsule(0.05, 0.1)])
@pytest.mark.parametrize(("height", "depth"), [(0.12, None), (0.11, "0.00962")])
def test_what_sags_into_a_floor_that_it_did_not_touch_has_no_equilibrium(shape, height, depth):
    """A spring lets it down by m g / k = 0.01962."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("load", mass=2.0, inertia=(0.02,) * 3), position=(0, 0, height))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), shape.on(body.at((0, 0, 0))))
    system.bushing(
        "springs", system.ground.at((0, 0, height)), body.at((0, 0, 0)), stiffness=(90.0, 90.0, 1000.0, 1, 1, 1)
    )
    if depth is None:
        assert equilibrium(system).stable
    else:
        with pytest.raises(EquilibriumError, match=rf"'floor' would be {depth} deep .* apart as drawn"):
            equilibrium(system)


def test_a_rod_that_leans_does_not_lie_down_through_the_floor():
    system = flexmb.System(gravity=(0, 0, -G))
    lean, radius, length = 0.01, 0.1, 0.3
    body = system.add(
        flexmb.rigid_body("rod", mass=2.0, inertia=(0.02, 0.02, 0.01)),
        position=(0, 0, radius * np.cos(lean) + length / 2 * np.sin(lean)),
        orientation=(0, np.pi / 2 - lean, 0),
    )
    rod = Cylinder(radius, length).on(body.at((0, 0, 0)))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), rod)
    hold = system.ground.at((0, 0, radius))
    system.bushing("hold", hold, body.at((0, 0, 0)), stiffness=(100.0, 150.0, 0, 300.0, 100.0, 300.0))
    with pytest.raises(EquilibriumError, match=r"would be 0\.0059\d* deep inside each other"):
        equilibrium(system)


def askew(angle, friction, lying, radius=0.1, length=0.3):
    """A cylinder on springs that stands or lies but for an angle, with the lowest point of its rim at the floor."""
    system = flexmb.System(gravity=(0, 0, -G))
    from_level = angle if lying else np.pi / 2 - angle
    height = radius * np.cos(from_level) + 0.5 * length * np.sin(from_level)
    can = flexmb.rigid_body("can", mass=2.0, inertia=(0.02, 0.02, 0.01))
    body = system.add(can, position=(0, 0, height), orientation=(0, np.pi / 2 - from_level, 0))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("floor", floor, Cylinder(radius, length).on(body.at((0, 0, 0))), friction=friction)
    system.bushing("hold", system.ground.at((0, 0, height)), body.at((0, 0, 0)), stiffness=(100.0, 150.0, 0, 7, 0, 7))
    return system


@pytest.mark.parametrize(
    ("friction", "lying", "error", "match"),
    [
        (0.5, False, MechanismError, r"'floor' .* axis is 1e-05 rad from upright.* rim of its end -z.*draw it upright"),
        (0.0, False, EquilibriumError, r"of 'floor' is askew: .* 1e-05 rad from upright.* end -z.*draw it upright"),
        (0.0, True, EquilibriumError, r"of 'floor' is askew: .* 1e-05 rad from lying.* end -z.*draw it level"),
    ],
)
def test_cylinders_drawn_askew_are_named_with_the_angle(friction, lying, error, match):
    assert equilibrium(askew(0.0, friction, lying)).stable
    with pytest.raises(error, match=match):
        equilibrium(askew(1e-5, friction, lying))


def test_a_slope_without_friction_is_named():
    with pytest.raises(
        EquilibriumError, match=r"plane of 'floor' slopes by 0.1 rad, .* no friction.*Give it friction="
    ):
        equilibrium(standing(tilt=0.1, friction=0.0))
    with pytest.raises(EquilibriumError, match="nothing restrains") as level:
        equilibrium(standing(friction=0.0))
    assert "slopes" not in str(level.value)


@pytest.mark.parametrize("depth", [1e-4, 5e-3])
def test_small_motions_of_shapes_drawn_inside_each_other_are_refused(depth):
    mechanism = standing().build()
    q = mechanism.initial.q.copy()
    q[2] -= depth
    inside = replace(mechanism, initial=replace(mechanism.initial, q=q))
    with pytest.raises(
        MechanismError, match=rf"the plane and the box of 'floor' are {depth} deep .*\(equilibrium\(system"
    ):
        linearise(inside)


def ladder():
    """A ladder of half-width 0.5 and half-height 1.2 on a floor and a wall, with small boxes as feet."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = flexmb.rigid_body("ladder", mass=10.0, inertia=(7.5, 7.5, 0.1))
    body = system.add(body, position=(0.52, 0, 1.22))
    for name, axis, x in (("floor", (0, 0, 1), 0.5), ("wall", (1, 0, 0), -0.5)):
        plane = Plane().on(system.ground.at((0, 0, 0)), axis=axis)
        system.contact(name, plane, Box(0.04, 0.4, 0.04).on(body.at((x, 0, -2.4 * x))), friction=0.3)
    return system


def test_the_forces_of_redundant_points_push_and_stay_within_their_cones():
    """Those of least norm of all, without the cones, would pull at the wall and hold the ladder by friction alone."""
    rest = equilibrium(ladder())
    result, normals, wrench = rest.result, {"floor": 2, "wall": 0}, np.zeros(6)
    for joint in rest.mechanism.joints:
        force, normal = result.reaction(joint.name)[0], normals[joint.name.partition(".")[0]]
        assert force[normal] > 1.0
        assert np.linalg.norm(np.delete(force[:3], normal)) <= 0.3 * force[normal] + 1e-9
        place = rest.mechanism.markers[joint.markers[1]].point
        wrench += np.concatenate([force[:3], np.cross(place, force[:3])])
    np.testing.assert_allclose(wrench, (0, 0, 10.0 * G, 0, 0, 0), atol=1e-9)


def test_the_forces_of_a_closed_contact_are_printed_and_its_name_says_where_they_are(tmp_path, monkeypatch):
    rest = equilibrium(ladder()).result
    with pytest.raises(MechanismError, match=r"points of the contact 'wall' are joints.*reaction\('wall.0'\)"):
        rest.contact("wall")
    monkeypatch.chdir(tmp_path)
    flexmb.files.save_result(rest, "rest.h5")
    done = CliRunner().invoke(app, ["contact", "rest.h5"])
    assert done.exit_code == 0, done.output
    assert "contact 'floor': held at 4 points, force on 'ladder' (" in done.output


def test_friction_that_creeps_holds_nothing_at_rest():
    system = flexmb.System(gravity=(0, 0, -G))
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1e-3,) * 3), position=(0, 0, 0.05))
    floor, own = Plane().on(system.ground.at((0, 0, 0))), Sphere(0.05).on(ball.at((0, 0, 0)))
    system.contact("floor", floor, own, law=power_law(1e6), friction=0.5, slip_speed=1e-3)
    with pytest.raises(EquilibriumError, match=r"5 motion\(s\) that nothing restrains.*friction of 'floor' creeps"):
        equilibrium(system)

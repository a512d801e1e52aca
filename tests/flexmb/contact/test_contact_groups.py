"""Contact among all shapes of a group: against single contacts, momenta, pairs by brute force, files, refusals."""

import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from model_files import model_of
from typer.testing import CliRunner

import flexmb
from flexmb.cli.main import app
from flexmb.contact import Bore, Box, Capsule, Cylinder, Plane, Socket, Sphere, permanent_indentation, power_law
from flexmb.errors import LawError, MechanismError
from flexmb.kernels.base.data import make_marker_kinematics, make_workspace
from flexmb.kernels.calls import group_wrenches, place_markers
from flexmb.kernels.equations.contact_groups import SKIN
from flexmb.mechanism.compile import compiled

LAW = power_law(1e5, restitution=0.5, speed=0.5)
FRICTION = {"friction": 0.2, "slip_speed": 0.05}


def three(group):
    """A ball, a box and a capsule that meet in the air and above a plane, as a group or with single contacts."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    drawn = [
        ("ball", Sphere(0.1), (0, 0, 0.11), (0.5, 0, 0)),
        ("box", Box(0.2, 0.3, 0.2), (0.3, 0.02, 0.15), (-0.5, 0.1, -0.5)),
        ("rod", Capsule(0.05, 0.3), (0.1, 0.0, 0.32), (0, 0, -1)),
    ]
    surfaces = [Plane().on(system.ground.at((0, 0, 0)))]
    for name, shape, position, velocity in drawn:
        body = system.add(
            flexmb.rigid_body(name, mass=1.0, inertia=(0.004, 0.005, 0.006)), position=position, velocity=velocity
        )
        surfaces.append(shape.on(body.at((0, 0, 0)), axis=(1, 0, 0) if name == "rod" else None))
    if group:
        system.contact_group("all", surfaces, law=LAW, **FRICTION)
    else:
        for i in range(4):
            for j in range(i):
                system.contact(f"{j}-{i}", surfaces[j], surfaces[i], law=LAW, **FRICTION)
    return system


@pytest.fixture(scope="module")
def together():
    return flexmb.simulate(three(True), 0.15, method="explicit", tolerance=1e-9, output_step=1e-3)


def test_a_group_moves_as_with_single_contacts(together):
    alone = flexmb.simulate(three(False), 0.15, method="explicit", tolerance=1e-9, output_step=1e-3)
    np.testing.assert_allclose(together.q[-1], alone.q[-1], atol=1e-6)
    assert together.contact_group("all").count.max() >= 3
    heat = sum(element.heat for element in alone.energy_by_element().elements)
    np.testing.assert_allclose(together.energy_by_element()["all"].heat[-1], heat[-1], rtol=1e-2)
    assert abs(together.ledger.residual).max() < 1e-3 * together.ledger.exchange
    np.testing.assert_allclose(together.ledger.damper_heat, alone.ledger.damper_heat, atol=1e-4)


def test_implicit_methods_agree_where_they_resolve_the_contact(together):
    implicit = flexmb.simulate(three(True), 0.15, tolerance=1e-7)
    np.testing.assert_allclose(implicit.q[-1], together.q[-1], atol=2e-3)


def test_momenta_are_conserved():
    system = flexmb.System()
    rng, surfaces = np.random.default_rng(2), []
    for k in range(6):
        body = system.add(
            flexmb.rigid_body(f"b{k}", mass=1.0 + k, inertia=(0.01, 0.01, 0.01)),
            position=0.25 * np.array([k % 2, k // 2 % 2, k // 4]),
            velocity=-0.5 * np.array([k % 2, k // 2 % 2, k // 4]) + 0.1 * rng.normal(size=3),
            angular_velocity=rng.normal(size=3),
        )
        surfaces.append((Sphere(0.1) if k % 2 else Box(0.15, 0.15, 0.15)).on(body.at((0, 0, 0))))
    system.contact_group("all", surfaces, law=LAW, **FRICTION)
    result = flexmb.simulate(system, 0.3, method="explicit", tolerance=1e-9, output_step=0.01)
    assert result.contact_group("all").count.any()
    masses = 1.0 + np.arange(6)
    p = sum(m * result.velocity(f"b{k}") for k, m in enumerate(masses))
    np.testing.assert_allclose(p, np.tile(p[0], (len(p), 1)), atol=1e-12)
    L = sum(
        m * np.cross(result.position(f"b{k}"), result.velocity(f"b{k}")) + 0.01 * result.angular_velocity(f"b{k}")
        for k, m in enumerate(masses)
    )
    np.testing.assert_allclose(L, np.tile(L[0], (len(L), 1)), atol=1e-6)


def test_the_pairs_within_reach_are_those_of_brute_force():
    rng = np.random.default_rng(0)
    system = flexmb.System()
    surfaces = [Plane().on(system.ground.at((0, 0, -1)))]
    kinds = (Sphere(0.1), Cylinder(0.1, 0.3), Box(0.1, 0.2, 0.6), Capsule(0.05, 0.1))
    for k in range(80):
        place = 0.7 * np.array([k % 5, k // 5 % 4, k // 20]) + 0.05 * rng.uniform(size=3)
        body = system.add(flexmb.rigid_body(f"b{k}", mass=1.0, inertia=(1, 1, 1)), position=place)
        surfaces.append(kinds[rng.integers(4)].on(body.at((0, 0, 0))))
    system.contact_group("all", surfaces, law=LAW)
    mechanism = system.build()
    flat = compiled(mechanism)
    kinematics, workspace = make_marker_kinematics(flat), make_workspace(flat)
    place_markers(flat, mechanism.initial.q, kinematics)
    group_wrenches(flat, mechanism.initial.w, kinematics, workspace)
    count = int(workspace.group_count[0]) - 1
    found = {tuple(map(int, pair)) for pair in workspace.group_pairs[:count]}
    x, reach = kinematics.position[flat.group_marker], flat.group_reach
    n, skin = len(x), SKIN * reach[1:].mean()
    expected = {(i, j) for j in range(n) for i in range(j) if np.linalg.norm(x[i] - x[j]) < reach[i] + reach[j] + skin}
    assert found == expected
    assert 60 < count < 1000


def test_a_result_file_and_the_command_keep_the_group(together, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flexmb.files.save_result(together, "all.h5")
    again = flexmb.files.load_result("all.h5")
    np.testing.assert_array_equal(again.contact_group("all").load, together.contact_group("all").load)
    moved = flexmb.simulate(again.mechanism, 0.02, method="explicit", tolerance=1e-9)
    np.testing.assert_allclose(moved.q[-1], flexmb.simulate(three(True), 0.02, method="explicit", tolerance=1e-9).q[-1])
    done = CliRunner().invoke(app, ["contact", "all.h5"])
    assert done.exit_code == 0, done.output
    assert "contacts 'all':" in done.output
    done = CliRunner().invoke(app, ["contact", "all.h5", "--plot", "all.png", "--table", "all.csv"])
    assert done.exit_code == 0, done.output
    table = np.genfromtxt("all.csv", delimiter=",", names=True)
    np.testing.assert_allclose(table["sum_of_forces_force"], together.contact_group("all").load)
    assert Path("all.png").stat().st_size > 0
    with pytest.raises(MechanismError, match=r"'all' is a group of contacts, of which result.contact_group\('all'\)"):
        again.contact("all")


def test_planes_of_the_ground_have_numbers():
    """The floor and the walls of a box would all be the same in the list of pairs."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.01,) * 3), position=(0, 0, 0.0999))
    planes = [Plane().on(system.ground.at((x, 0, 0)), axis=axis) for x, axis in ((-1, (1, 0, 0)), (0, (0, 0, 1)))]
    system.contact_group("box", [*planes, Sphere(0.1).on(ball.at((0, 0, 0)))], law=power_law(1e4))
    pair = flexmb.simulate(system, 1e-3, method="explicit", tolerance=1e-6).contact_group("box").pairs[0][0]
    assert (pair.a, pair.b) == ("plane 2 on the ground", "sphere on 'ball'")


MODEL = """
gravity = [0.0, 0.0, -9.81]
simulation = { duration = 0.05, method = "explicit", tolerance = 1e-8 }

[bodies]
one = { kind = "rigid", mass = 1.0, inertia = [0.01, 0.01, 0.01], position = [0.0, 0.0, 0.1] }
two = { kind = "rigid", mass = 1.0, inertia = [0.01, 0.01, 0.01], position = [0.0, 0.0, 0.31] }

[[contact_groups]]
name = "pile"
shapes = [
    { place = "ground", shape = "plane", axis = [0.0, 0.0, 1.0] },
    { place = "one", shape = "sphere", radius = 0.1 },
    { place = "two", shape = "sphere", radius = 0.1 },
]
law = { kind = "power-law", stiffness = 1e4, restitution = 0.5, speed = 1.0 }
"""


def test_a_model_file_makes_a_group(tmp_path):
    model = model_of(tmp_path, MODEL)
    result = flexmb.simulate(model.system, model.duration, **model.options)
    assert result.contact_group("pile").count.max() > 0


def test_groups_that_cannot_be_are_refused():
    system = three(True)
    body = system.add(flexmb.rigid_body("more", mass=1.0, inertia=(1, 1, 1)), position=(5, 0, 0.0))
    there = Sphere(0.1).on(body.at((0, 0, 0)))
    ground = system.ground.at((5, 0, 0))
    with pytest.raises(MechanismError, match="name 'all' is taken"):
        system.contact_group("all", [there, there], law=LAW)
    with pytest.raises(MechanismError, match="at least two shapes at places; found 1"):
        system.contact_group("c", [there], law=LAW)
    with pytest.raises(MechanismError, match="expected a shape at a place"):
        system.contact_group("c", [there, Sphere(0.1)], law=LAW)
    with pytest.raises(MechanismError, match="have laws without memory"):
        system.contact_group("c", [there, Plane().on(ground)], law=permanent_indentation(1.0, 0.7))
    with pytest.raises(MechanismError, match=r"sphere are drawn inside each other, 0.1 deep|drawn inside each other"):
        system.contact_group("c", [there, Plane().on(ground)], law=LAW)
    with pytest.raises(MechanismError, match="no contact of a socket with a bore"):
        system.contact_group("c", [Socket(1.0).on(body.at((0, 0, 0))), Bore(1.0, 1.0).on(ground)], law=LAW)
    with pytest.raises(MechanismError, match="needs slip_speed"):
        system.contact_group("c", [there, Plane().on(ground)], law=LAW, friction=0.2)


@pytest.mark.parametrize(
    ("shape", "reach", "size"),
    [
        (Plane(), np.inf, np.inf),
        (Sphere(2.0), 2.0, 2.0),
        (Socket(2.0), np.inf, 2.0),
        (Cylinder(3.0, 8.0), 5.0, 3.0),
        (Cylinder(3.0, 4.0), np.sqrt(13.0), 2.0),
        (Bore(3.0, 8.0), 5.0, 3.0),
        (Capsule(1.0, 4.0), 3.0, 1.0),
        (Box(4.0, 6.0, 12.0), 7.0, 2.0),
    ],
)
def test_balls_about_shapes_hold_them(shape, reach, size):
    """The corners of boxes, rims and ends; half-spaces and what is around a hollow have no end."""
    assert (shape.reach, shape.size) == (pytest.approx(reach, rel=1e-15), size)


@pytest.mark.parametrize("group", [False, True])
def test_balls_outside_of_their_sockets_are_refused(group):
    """However far they are drawn from them: all around a socket is its body."""
    system = flexmb.System()
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.1,) * 3), position=(0.5, 0.0, 0.0))
    surfaces = [Socket(0.1).on(system.ground.at((0, 0, 0))), Sphere(0.02).on(ball.at((0, 0, 0)))]
    add = (
        (lambda: system.contact_group("c", surfaces, law=LAW))
        if group
        else lambda: system.contact("c", *surfaces, law=LAW)
    )
    with pytest.raises(MechanismError, match="drawn inside each other"):
        add()


@pytest.mark.parametrize("method", ["radau", "bdf", "energy-momentum"])
def test_methods_without_groups_refuse_them_by_name(method):
    options = {"step": 1e-3} if method == "energy-momentum" else {}
    with pytest.raises(MechanismError, match=r"does not include contacts of groups, and .* has 'all'"):
        flexmb.simulate(three(True), 0.01, method=method, **options)
    with pytest.raises(MechanismError, match="Linearisation does not include contacts of groups"):
        flexmb.linear.linearise(three(True))


def test_shapes_that_pass_into_each_other_are_named():
    system = flexmb.System()
    made = [
        system.add(flexmb.rigid_body(n, mass=1.0, inertia=(1, 1, 1)), position=(x, 0, 0), velocity=(v, 0, 0))
        for n, x, v in (("left", -0.3, 1.0), ("right", 0.3, -1.0))
    ]
    system.contact_group("soft", [Sphere(0.1).on(body.at((0, 0, 0))) for body in made], law=power_law(1e-6))
    with pytest.raises(
        LawError, match=r"sphere on 'left' and the sphere on 'right' overlap by .* more than their size"
    ):
        flexmb.simulate(system, 1.0, method="explicit", step=1e-2)


@pytest.mark.long
def test_a_pile_of_two_hundred_balls_comes_to_rest():
    rng, r = np.random.default_rng(0), 0.05
    system = flexmb.System(gravity=(0, 0, -9.81))
    walls = [((0, 0, 0), (0, 0, 1)), ((-0.25, 0, 0), (1, 0, 0)), ((0.25, 0, 0), (-1, 0, 0))]
    walls += [((0, -0.25, 0), (0, 1, 0)), ((0, 0.25, 0), (0, -1, 0))]
    surfaces = [Plane().on(system.ground.at(point), axis=axis) for point, axis in walls]
    for k in range(200):
        x, y = (np.array([k % 4, k // 4 % 4]) - 1.5) * 0.115 + rng.uniform(-0.005, 0.005, 2)
        body = system.add(
            flexmb.rigid_body(f"b{k}", mass=1.0, inertia=(0.001,) * 3),
            position=(
                x,
                y,
                0.055 + k // 16 * 0.115,
            ),
        )
        surfaces.append(Sphere(r).on(body.at((0, 0, 0))))
    system.contact_group(
        "pile", surfaces, law=power_law(1e6, restitution=0.3, speed=0.5), friction=0.3, slip_speed=0.02
    )
    result = flexmb.simulate(system, 1.0, method="explicit", tolerance=1e-5, output_step=0.1)
    assert result.ledger.kinetic[-1] < 1e-3 * result.ledger.damper_heat[-1]
    pairs = result.contact_group("pile").pairs[-1]
    upwards = sum(pair.force[2] for pair in pairs if "plane" in pair.a or "plane" in pair.b)
    rising = sum(result.acceleration(f"b{k}")[-1, 2] for k in range(200))
    assert upwards == pytest.approx(200 * 9.81 + rising, rel=1e-9)


def spheres(radii, places):
    """A system without contacts, and spheres of these radii along x, each on a body of its own."""
    system, surfaces = flexmb.System(), []
    for k, (radius, x) in enumerate(zip(radii, places, strict=True)):
        body = system.add(flexmb.rigid_body(f"b{k}", mass=1.0, inertia=(1, 1, 1)), position=(x, 0, 0))
        surfaces.append(Sphere(radius).on(body.at((0, 0, 0))))
    return system, surfaces


def test_shapes_of_one_body_and_planes_may_be_drawn_inside_each_other():
    system, (ball, other) = spheres((0.1, 0.1), (0.0, 1.0))
    ground = Plane().on(system.ground.at((0, 0, -1.0)))
    beside = Sphere(0.1).on(replace(ball.place, point=np.array([0.05, 0, 0])))
    side = Plane().on(other.place, axis=(-1, 0, 0))
    system.contact_group("all", [ball, beside, other, side, ground], law=LAW)


@pytest.mark.parametrize("radius", [1e110, 1e101])
def test_shapes_beyond_all_distances_are_refused(radius):
    system, surfaces = spheres((0.1, radius), (0.0, 1.0))
    with pytest.raises(MechanismError, match="distances cannot be computed"):
        system.contact_group("all", surfaces, law=LAW)


@pytest.mark.parametrize(
    "radii", [(0.1, 0.1, 0.1, 0.1, 3.0, 2.0), (3.0, 2.0, 0.1, 0.1, 0.1, 0.1), (0.1, 0.2, 0.3, 0.2)]
)
def test_any_two_shapes_that_are_drawn_inside_each_other_are_named(radii):
    """Large shapes are compared with all others, small ones with their neighbours."""
    apart = 10.0 * np.arange(len(radii))
    system, surfaces = spheres(radii, apart)
    system.contact_group("all", surfaces, law=LAW)
    for i, j in combinations(range(len(radii)), 2):
        places = apart.copy()
        places[j] = places[i] + radii[i] + radii[j] - 0.5 * min(radii[i], radii[j])
        system, surfaces = spheres(radii, places)
        with pytest.raises(
            MechanismError, match=r"shape \d, a sphere, and shape \d, a sphere, are drawn inside"
        ) as told:
            system.contact_group("all", surfaces, law=LAW)
        assert {f"shape {i},", f"shape {j},"} == set(re.findall(r"shape \d,", str(told.value)))


def test_forces_of_pairs_are_in_world_axes():
    """A ball is pressed on a plane that is inclined and turned about its normal, whose axes are none of the world."""
    up = np.array([0.6, 0.0, 0.8])
    system = flexmb.System()
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.004,) * 3), position=0.095 * up)
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=up)
    system.contact_group("all", [floor, Sphere(0.1).on(ball.at((0, 0, 0)))], law=power_law(1e3))
    ((pair,), *_) = flexmb.simulate(system, 1e-4, step=1e-4).contact_group("all").pairs
    assert (pair.a, pair.b) == ("plane on the ground", "sphere on 'ball'")
    assert pair.depth == pytest.approx(0.005)
    size = np.linalg.norm(pair.force)
    assert size > 0
    np.testing.assert_allclose(pair.force, size * up, atol=1e-12 * size)

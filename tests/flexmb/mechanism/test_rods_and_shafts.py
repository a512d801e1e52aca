"""Rods without mass, points in planes and on lines, constant-velocity joints, against closed forms."""

import numpy as np
import pytest
from scipy.special import ellipk

import flexmb
from flexmb.analyses.mobility import mobility
from flexmb.errors import JointError
from flexmb.files.results.result_file import load_result, save_result
from flexmb.linear.equilibrium import equilibrium
from flexmb.linear.linearise import linearise
from flexmb.study import adjoint_gradient

METHODS = [
    ("generalised-alpha", {"step": 1e-3}),
    ("generalised-alpha", {"step": 1e-3, "coordinates": "joint"}),
    ("radau", {"tolerance": 1e-9}),
    ("bdf", {"tolerance": 1e-9}),
    ("explicit", {"tolerance": 1e-9}),
    ("energy-momentum", {"step": 2e-3}),
]
LENGTH = 0.8


def ball(length=LENGTH, mass=1.3, **options):
    """A mathematical pendulum: a mass on a rod without mass, drawn horizontal. Its attitude is free."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(flexmb.rigid_body("mass", mass=mass, inertia=(0.1, 0.2, 0.3)), position=(LENGTH, 0, 0))
    system.distance("rod", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), length=length, **options)
    return system


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_a_mass_on_a_rod_is_a_mathematical_pendulum(method, options):
    quarter = np.sqrt(LENGTH / 9.81) * ellipk(0.5)  # from horizontal to vertical
    result = flexmb.simulate(ball(), quarter, method=method, output_step=quarter / 4, **options)
    x = result.position("mass", point=(0, 0, 0))
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), LENGTH, rtol=1e-9)
    np.testing.assert_allclose(x[-1], (0, 0, -LENGTH), atol=2e-5)
    np.testing.assert_allclose(result.reaction("rod")[-1], (0, 0, 3 * 1.3 * 9.81, 0, 0, 0), atol=2e-3)
    assert result.ledger.imbalance < 1e-5


def test_a_rod_is_one_equation_and_its_reaction_is_named():
    found = mobility(ball())
    assert (found.rigid, found.redundancy) == (5, 0)
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)), position=(LENGTH, 0, 0))
    for name in ("rod", "again"):
        system.distance(name, system.ground.at((0, 0, 0)), body.at((0, 0, 0)))
    assert mobility(system).not_unique["rod"] == ("force along the rod",)


def test_a_hanging_rod_swings_with_the_frequency_of_its_length():
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(flexmb.rigid_body("mass", mass=1.3, inertia=(0.1, 0.2, 0.3)), position=(0, 0, -LENGTH))
    system.distance("rod", system.ground.at((0, 0, 0)), body.at((0, 0, 0)))
    system.bushing("level", system.ground, body.at((0, 0, 0)), stiffness=(0, 0, 0, 5, 5, 5), free="drawn")
    rest = equilibrium(system)
    found = np.unique(np.round(np.abs(linearise(rest).modes().eigenvalues), 6))
    expected = [np.sqrt(9.81 / LENGTH), *np.sqrt(5 / np.array([0.3, 0.2, 0.1]))]
    np.testing.assert_allclose(found, np.round(sorted(expected), 6), atol=2e-6)


def test_a_rod_whose_length_is_driven_lifts_as_a_cylinder_does():
    lift = flexmb.time_functions.harmonic(0.1, 1.0, phase=0.0, offset=LENGTH)
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)), position=(0, 0, LENGTH))
    system.prismatic("guide", system.ground, body, axis=(0, 0, 1), at=(0, 0, LENGTH))
    system.distance("cylinder", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), length=lift)
    result = flexmb.simulate(system, 0.5, step=1e-3, output_step=0.1)
    t = np.array(result.t)
    np.testing.assert_allclose(result.coordinate("guide"), 0.1 * np.sin(2 * np.pi * t), atol=1e-9)
    push = 2.0 * (9.81 - 0.1 * (2 * np.pi) ** 2 * np.sin(2 * np.pi * t))
    np.testing.assert_allclose(result.drive_effort("cylinder"), push, rtol=1e-4)
    assert result.ledger.imbalance < 1e-5


def test_the_adjoint_with_a_rod():
    def model(length, mass):
        return ball(length=length, mass=mass)

    given = {"step": 2e-3, "output_step": 2e-3, "newton_tolerance": 1e-12}

    def height(result):
        return result.position("mass", point=(0, 0, 0))[:, 2]

    at = {"length": LENGTH, "mass": 1.3}
    found = adjoint_gradient(model, at, 0.3, height, over="final", **given).of("result")
    far, near = (
        (height(flexmb.simulate(model(LENGTH + d, 1.3), 0.3, **given))[-1] - height(flexmb.simulate(model(LENGTH - d, 1.3), 0.3, **given))[-1]) / (2 * d)
        for d in (2e-4, 1e-4)
    )  # fmt: skip
    np.testing.assert_allclose(found, [(4 * near - far) / 3, 0.0], rtol=1e-6, atol=1e-8)


def test_wrong_rods_are_refused_by_name():
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(JointError, match="'rod': its places coincide"):
        system.distance("rod", system.ground.at((0, 0, 0)), body.at((0, 0, 0)))
    with pytest.raises(JointError, match="'rod' needs two places"):
        system.distance("rod", system.ground, body)
    for length in (0.0, -1.0):
        with pytest.raises(JointError, match="'rod': the length of the rod must be positive"):
            system.distance("rod", system.ground.at((0, 0, 0)), body.at((1, 0, 0)), length=length)


def test_a_table_on_three_points_in_a_plane_slides_and_turns():
    """Three points in one plane leave a planar motion; each carries a third of the weight in the middle."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    table = system.add(
        flexmb.rigid_body("table", mass=3.0, inertia=(1, 1, 2)), velocity=(0.5, 0.1, 0), angular_velocity=(0, 0, 2.0)
    )
    for k, angle in enumerate(2 * np.pi * np.arange(3) / 3):
        foot = table.at((np.cos(angle), np.sin(angle), 0))
        system.in_plane(f"foot {k}", system.ground, foot, normal=(0, 0, 1))
    assert mobility(system).rigid == 3
    result = flexmb.simulate(system, 1.0, step=1e-2, output_step=0.25)
    t = np.array(result.t)
    np.testing.assert_allclose(result.position("table", point=(0, 0, 0)), np.outer(t, (0.5, 0.1, 0)), atol=1e-9)
    for k in range(3):
        np.testing.assert_allclose(result.reaction(f"foot {k}")[0], (0, 0, 9.81, 0, 0, 0), atol=1e-8)


def test_a_bead_in_line_falls_with_the_slope():
    system = flexmb.System(gravity=(0, 0, -9.81))
    bead = system.add(flexmb.rigid_body("bead", mass=1.0, inertia=(1, 1, 1)))
    system.in_line("wire", system.ground, bead, axis=(3, 0, -4), at=(0, 0, 0))
    result = flexmb.simulate(system, 1.0, step=1e-2, output_step=0.5)
    np.testing.assert_allclose(result.coordinate("wire"), 0.5 * 9.81 * 0.8 * np.array(result.t) ** 2, rtol=1e-9)


BEND = np.deg2rad(40)
AHEAD = np.array([0, np.sin(BEND), np.cos(BEND)])


def shafts(kind, torque=0.0):
    """Two shafts that intersect at an angle of 40 degrees, joined where they meet; a bearing holds each."""
    system = flexmb.System()
    first = system.add(flexmb.rigid_body("first", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    second = system.add(flexmb.rigid_body("second", mass=1.0, inertia=(0.2, 0.2, 0.2)))
    system.revolute("in", system.ground, first, axis=(0, 0, 1), at=(0, 0, 0))
    system.in_line("out", system.ground, second, axis=AHEAD, at=AHEAD)
    if kind == "constant-velocity":
        system.constant_velocity("bend", first, second, axis=(0, 0, 1), second_axis=AHEAD, at=(0, 0, 0))
    else:
        system.universal("bend", first, second, axis=(1, 0, 0), second_axis=np.cross(AHEAD, (1, 0, 0)), at=(0, 0, 0))
    if torque:
        system.load("load", second.at((0, 0, 0)), moment=torque * AHEAD)
    return system


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_a_constant_velocity_joint_turns_both_shafts_alike(method, options):
    system = shafts("constant-velocity")
    system.motor("engine", "in", 0.6)
    result = flexmb.simulate(system, 0.8, method=method, output_step=0.2, **options)
    expected = 0.5 * 0.6 / 0.3 * np.array(result.t) ** 2
    np.testing.assert_allclose(result.coordinate("in"), expected, rtol=2e-5)
    speed = np.outer(result.coordinate_rate("in"), AHEAD)
    np.testing.assert_allclose(result.angular_velocity("second"), speed, atol=2e-5 * speed.max())
    np.testing.assert_allclose(result.axes("bend.b")[:, :, 2], np.tile(AHEAD, (len(speed), 1)), atol=1e-9)


def test_the_moment_of_a_constant_velocity_joint_is_along_the_bisector():
    system = shafts("constant-velocity", torque=-5.0)
    system.drive("in", flexmb.time_functions.constant_speed(3.0))
    result = flexmb.simulate(system, 1.0, step=5e-3, output_step=0.25)
    bisector = np.array([0, np.sin(BEND / 2), np.cos(BEND / 2)])
    expected = 5.0 / np.cos(BEND / 2) * bisector
    np.testing.assert_allclose(result.reaction("bend")[:, 3:], np.tile(expected, (5, 1)), atol=1e-6)
    np.testing.assert_allclose(result.drive_effort("in"), 5.0, rtol=1e-8)


@pytest.mark.parametrize("degrees", [30.0, 90.0, 120.0, 170.0])
def test_the_shafts_of_a_constant_velocity_joint_are_as_drawn_at_any_angle(degrees):
    """Their axes turn by the shortest way: about the direction across both."""
    bend = np.deg2rad(degrees)
    first, second, across = (0, 0, 2.0), 3.0 * np.array([np.sin(bend), 0, np.cos(bend)]), (0, 1, 0)
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("shaft", mass=1.0, inertia=(1, 1, 1)))
    system.constant_velocity("bend", system.ground, body, axis=first, second_axis=second, at=(0, 0, 0))
    a, b = (marker.axes for marker in system.build().markers)
    np.testing.assert_allclose(b[:, 2], second / 3.0, atol=1e-15)
    np.testing.assert_allclose(b.T @ across, a.T @ across, atol=1e-15)


def test_a_universal_joint_in_its_place_would_not():
    system = shafts("universal")
    system.drive("in", flexmb.time_functions.constant_speed(1.0))
    result = flexmb.simulate(system, 1.0, step=5e-3, output_step=0.5)
    assert np.ptp(result.angular_velocity("second") @ AHEAD) > 0.1


def test_wrong_shafts_are_refused_by_name():
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("shaft", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(JointError, match="'bend': its shafts have nearly opposite directions"):
        system.constant_velocity("bend", system.ground, body, axis=(0, 0, 1), second_axis=(0, 0.01, -1), at=(0, 0, 0))
    with pytest.raises(JointError, match="'bend', second_axis has no direction"):
        system.constant_velocity("bend", system.ground, body, axis=(0, 0, 1), second_axis=(0, 0, 0), at=(0, 0, 0))


FILE = """
gravity = [0, 0, -9.81]
[simulation]
duration = 0.2
step = 1e-3
output_step = 0.1
[bodies.mass]
kind = "rigid"
mass = 1.3
inertia = [0.1, 0.2, 0.3]
position = [0.8, 0, 0]
points = { middle = [0, 0, 0] }
[bodies.shaft]
kind = "rigid"
mass = 1.0
inertia = [1, 1, 1]
[[joints]]
name = "rod"
kind = "distance"
a = "ground"
b = "mass.middle"
at = [0, 0, 0]
[[joints]]
name = "bend"
kind = "constant-velocity"
a = "ground"
b = "shaft"
at = [0, 0, 0]
axis = [0, 0, 1]
second_axis = [0, 1, 1]
"""


def test_rods_and_shafts_in_model_and_result_files(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(FILE)
    read = flexmb.files.load_model(path)
    result = flexmb.simulate(read.mechanism(), read.duration, **read.options)
    same = flexmb.simulate(ball(), 0.2, step=1e-3, output_step=0.1)
    np.testing.assert_allclose(result.reaction("rod"), same.reaction("rod"), atol=1e-6)
    stored = load_result(save_result(result, tmp_path / "result.h5"))
    np.testing.assert_array_equal(stored.reaction("rod"), result.reaction("rod"))
    path.write_text(FILE.replace("at = [0, 0, 0]\n[[joints]]", "at = [0, 0, 0]\nlength = -1\n[[joints]]"))
    with pytest.raises(flexmb.ModelFileError, match="length"):
        flexmb.files.load_model(path)

"""Wheels and balls that roll, knife edges: against closed forms, with every integrator that takes them."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexmb
from flexmb.analyses.mobility import mobility
from flexmb.errors import JointError, MechanismError
from flexmb.files.results.result_file import load_result, save_result
from flexmb.linear import steady_motion

G, RADIUS = 9.81, 0.5
ACROSS, ABOUT = 0.25 * RADIUS**2, 0.5 * RADIUS**2
"""Moments of inertia of a thin disc of unit mass."""
METHODS = [
    ("generalised-alpha", {"step": 1e-3}),
    ("generalised-alpha", {"step": 1e-3, "coordinates": "joint"}),
    ("hht", {"step": 1e-3}),
    ("radau", {"tolerance": 1e-9}),
    ("bdf", {"tolerance": 1e-9}),
    ("explicit", {"tolerance": 1e-9}),
]


def steady(theta, p):
    """The rate about its axis of a disc whose plane is at `theta` to the ground and that circles at `p`, and the square of
    the frequency of its wobble: from the equation of the tilt and the two integrals of the motion (Routh)."""
    s, c = np.sin(theta), np.cos(theta)
    first, third, u = ACROSS + RADIUS**2, ABOUT + RADIUS**2, p * s
    n = (ACROSS * p * p * s * c - G * RADIUS * c) / (third * u)
    du, dn = ABOUT * n / ACROSS - u * c / s, RADIUS**2 * u / third
    square = (ACROSS * u * u / s**2 - 2 * ACROSS * u * du * c / s + third * (du * n + u * dn) - G * RADIUS * s) / first
    return n, square


def disc(theta, p, n, tilting=0.0):
    """A thin disc whose contact begins at the origin; `tilting` is the rate of theta."""
    s, c = np.sin(theta), np.cos(theta)
    B, w = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]), np.array([tilting, p * s, n])
    system = flexmb.System(gravity=(0, 0, -G))
    body = flexmb.rigid_body("disc", mass=1.0, inertia=(ACROSS, ACROSS, ABOUT), points={"centre": (0, 0, 0)})
    wheel = system.add(
        body, position=RADIUS * B[:, 1], orientation=B, angular_velocity=B @ w, velocity=B @ np.cross(w, [0, RADIUS, 0])
    )
    system.rolling("contact", system.ground, wheel["centre"], radius=RADIUS, axis=B[:, 2])
    return system


def tilt(result):
    return result.axes("contact.b")[:, 2, 2]  # cosine of theta


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_a_disc_rolls_on_its_steady_circle(method, options):
    theta, p = 1.1, 3.0
    n, _ = steady(theta, p)
    assert n == pytest.approx(-1.992303, abs=1e-6)
    result = flexmb.simulate(disc(theta, p, n), 1.0, method=method, output_step=0.1, **options)
    np.testing.assert_allclose(tilt(result), np.cos(theta), atol=2e-5)
    centre = result.position("disc.centre")
    np.testing.assert_allclose(centre[:, 2], RADIUS * np.sin(theta), atol=1e-5)
    axis = result.axes("contact.b")[:, :, 2]
    ahead = np.arctan2(axis[:, 1], axis[:, 0])
    np.testing.assert_allclose(np.unwrap(ahead), ahead[0] + p * np.array(result.t), atol=5e-5)
    assert np.ptp(result.ledger.total) < 1e-5 * result.ledger.total[0]
    down = np.array([0, 0, 1.0]) - axis[:, 2:] * axis
    arm = -RADIUS * down / np.linalg.norm(down, axis=1, keepdims=True)
    slip = result.velocity("disc.centre") + np.cross(result.angular_velocity("disc"), arm)
    np.testing.assert_allclose(slip, 0.0, atol=1e-5)
    np.testing.assert_allclose((result.position("disc.centre") + arm)[:, 2], 0.0, atol=1e-9)


def test_the_wobble_of_a_disc_has_the_frequency_of_routh():
    theta, p = 1.1, 3.0
    n, square = steady(theta, p)
    frequency = np.sqrt(square)
    start = disc(theta, p, n, tilting=1e-3)
    duration = 3 * np.pi / frequency
    result = flexmb.simulate(start, duration, step=2e-3, output_step=duration / 600)
    theta_t = np.arccos(tilt(result)) - theta
    rate = np.gradient(theta_t, result.t)
    k = np.flatnonzero(rate[:-1] * rate[1:] < 0)
    zeros = result.t[k] + np.diff(result.t)[0] * rate[k] / (rate[k] - rate[k + 1])
    assert np.pi * (len(zeros) - 1) / (zeros[-1] - zeros[0]) == pytest.approx(frequency, rel=1e-3)


def test_generalised_alpha_is_of_second_order_for_a_rolling_disc():
    begin = (1.1, 3.0, steady(1.1, 3.0)[0], 0.5)
    exact = flexmb.simulate(disc(*begin), 0.5, method="radau", tolerance=1e-11, output_step=0.25)
    errors = []
    for step in (4e-3, 2e-3):
        found = flexmb.simulate(disc(*begin), 0.5, step=step, output_step=0.25, newton_tolerance=1e-10)
        parts = ("position", "velocity")
        errors.append(
            [np.abs(getattr(found, x)("disc.centre") - getattr(exact, x)("disc.centre")).max() for x in parts]
            + [np.abs((found.multipliers - exact.multipliers)[1:]).max()]
        )
    np.testing.assert_allclose(np.log2(np.divide(*errors)), 2.0, atol=0.25)


def test_a_ball_rolls_down_a_slope_with_five_sevenths_of_its_pull():
    slope = 0.3
    normal, down = (np.sin(slope), 0, np.cos(slope)), np.array([np.cos(slope), 0, -np.sin(slope)])
    system = flexmb.System(gravity=(0, 0, -G))
    ball = flexmb.rigid_body("ball", mass=2.0, inertia=(0.4 * 2.0 * 0.01,) * 3, points={"centre": (0, 0, 0)})
    handle = system.add(ball, position=0.1 * np.array(normal))
    system.rolling("contact", system.ground, handle["centre"], radius=0.1, normal=normal)
    result = flexmb.simulate(system, 1.0, step=1e-2, output_step=0.5)
    way = (result.position("ball.centre") - result.position("ball.centre")[0]) @ down
    np.testing.assert_allclose(way, 0.5 * 5 / 7 * G * np.sin(slope) * np.array(result.t) ** 2, rtol=1e-6, atol=1e-12)
    force = result.reaction("contact")[-1]
    np.testing.assert_allclose(force[:3] @ normal, 2.0 * G * np.cos(slope), rtol=1e-6)
    np.testing.assert_allclose(force[:3] @ down, -2 / 7 * 2.0 * G * np.sin(slope), rtol=1e-5)


@pytest.mark.parametrize("axis", [None, (0.0, 1.0, 0.0), (0.0, 0.8, 0.6)])
def test_a_plane_of_a_body_that_is_drawn_turned_is_below_the_wheel(axis):
    """The plane is a body of any place and attitude, which falls with the wheel or ball: nothing moves against it."""
    R = Rotation.from_rotvec((0.7, -0.4, 1.1)).as_matrix()
    up, centre = R @ (0.0, 0.0, 1.0), np.array([0.3, -0.2, 0.5])
    system = flexmb.System(gravity=(0, 0, -G))
    plank = system.add(
        flexmb.rigid_body("plank", mass=1.0, inertia=(1, 1, 1)), position=(2.0, 1.0, -3.0), orientation=R.T
    )
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(ACROSS, ACROSS, ABOUT)), position=centre)
    own = None if axis is None else R @ axis
    system.rolling("contact", plank, wheel.at((0, 0, 0)), radius=RADIUS, axis=own, normal=up)
    reach = 1.0 if axis is None else np.linalg.norm(np.cross(own, up))
    result = flexmb.simulate(system, 0.1, step=1e-2, output_step=0.1)
    fall = np.array([0.0, 0.0, -0.5 * G * 0.01])
    np.testing.assert_allclose(result.position("contact.a")[0], centre - RADIUS * reach * up, atol=1e-14)
    np.testing.assert_allclose(result.position("wheel")[-1], centre + fall, atol=1e-9)
    np.testing.assert_allclose(result.axes("contact.a")[0][:, 2], up, atol=1e-14)


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_a_knife_edge_on_a_slope_drifts_sideways_on_its_cycloid(method, options):
    slope, spin, mass = 0.3, 2.0, 1.5
    pull = G * np.sin(slope)
    system = flexmb.System(gravity=(pull, 0, -G * np.cos(slope)))
    body = flexmb.rigid_body("skate", mass=mass, inertia=(1, 1, 1), points={"edge": (0, 0, 0)})
    skate = system.add(body, angular_velocity=(0, 0, spin))
    system.planar("ice", system.ground, skate["edge"], normal=(0, 0, 1))
    system.knife_edge("edge", system.ground, skate["edge"], heading=(1, 0, 0))
    result = flexmb.simulate(system, 2.0, method=method, output_step=0.25, **options)
    t = np.array(result.t)
    x = pull / (2 * spin**2) * np.sin(spin * t) ** 2
    y = pull / (2 * spin**2) * (spin * t - 0.5 * np.sin(2 * spin * t))
    np.testing.assert_allclose(result.position("skate.edge")[:, :2], np.column_stack([x, y]), atol=1e-5)
    force = result.reaction("edge")[:, :3]
    np.testing.assert_allclose(np.linalg.norm(force, axis=1), np.abs(2 * mass * pull * np.sin(spin * t)), atol=1e-3)


def test_a_rolling_disc_has_three_independent_velocities():
    found = mobility(disc(1.1, 3.0, -2.0))
    assert (found.rigid, found.redundancy) == (3, 0)
    assert found.is_unique("contact")


def test_analyses_that_need_positions_refuse_rolling_by_name():
    system = disc(1.1, 3.0, -2.0)
    for analysis in (steady_motion, lambda s: flexmb.simulate(s, 0.1, method="energy-momentum", step=1e-2)):
        with pytest.raises(MechanismError, match=r"restrict velocities .*'contact'"):
            analysis(system)


def test_wrong_wheels_are_refused_by_name():
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)))
    for radius in (0.0, -1.0):
        with pytest.raises(JointError, match="'contact': the radius must be positive"):
            system.rolling("contact", system.ground, body, radius=radius, axis=(0, 1, 0), at=(0, 0, 0))
    with pytest.raises(JointError, match="'contact': the wheel is drawn flat"):
        system.rolling("contact", system.ground, body, radius=1.0, axis=(0, 0, 1), at=(0, 0, 0))
    with pytest.raises(JointError, match=r"'edge': the heading .* is along the normal"):
        system.knife_edge("edge", system.ground, body, heading=(0, 0, 2), at=(0, 0, 0))


def test_rolling_in_a_result_file(tmp_path):
    result = flexmb.simulate(disc(1.1, 3.0, -2.0), 0.1, step=1e-2)
    read = load_result(save_result(result, tmp_path / "disc.h5"))
    np.testing.assert_array_equal(read.reaction("contact"), result.reaction("contact"))


FILE = """
gravity = [2.0, 0, -9.81]
[simulation]
duration = 0.5
step = 5e-3
output_step = 0.25
[bodies.ball]
kind = "rigid"
mass = 2.0
inertia = [0.008, 0.008, 0.008]
position = [0, 0, 0.1]
points = { centre = [0, 0, 0] }
[bodies.sled]
kind = "rigid"
mass = 1.0
inertia = [1, 1, 1]
points = { blade = [0, 0, 0] }
[[joints]]
name = "contact"
kind = "rolling"
a = "ground"
b = "ball.centre"
radius = 0.1
[[joints]]
name = "ice"
kind = "planar"
a = "ground"
b = "sled.blade"
axis = [0, 0, 1]
[[joints]]
name = "edge"
kind = "knife-edge"
a = "ground"
b = "sled.blade"
heading = [3, 4, 0]
"""


def test_rolling_in_a_model_file(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(FILE)
    read = flexmb.files.load_model(path)
    result = flexmb.simulate(read.mechanism(), read.duration, **read.options)
    t = np.array(result.t)
    np.testing.assert_allclose(result.position("ball.centre")[:, 0], 0.5 * 5 / 7 * 2.0 * t**2, rtol=1e-6, atol=1e-12)
    ahead = 0.5 * 2.0 * 0.6 * t**2
    np.testing.assert_allclose(result.position("sled.blade")[:, :2], np.outer(ahead, (0.6, 0.8)), atol=1e-9)
    path.write_text(FILE.replace("radius = 0.1", "radius = 0.0"))
    with pytest.raises(flexmb.ModelFileError, match="radius"):
        flexmb.files.load_model(path)

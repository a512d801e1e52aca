"""Steady running with constant joint rates: a disc on its circle, a car with tyres, and what is not steady."""

from pathlib import Path

import numpy as np
import pytest
from test_rolling import RADIUS, G, disc, steady
from typer.testing import CliRunner

import flexmb
from flexmb.cli.main import app
from flexmb.errors import EquilibriumError
from flexmb.forces import linear_tyre
from flexmb.linear import campbell, linearise, steady_running


def test_a_disc_finds_its_circle():
    """From rates that do not fit together; the circle is that of the closed form."""
    theta, p = 1.1, 3.0
    found = steady_running(disc(theta, p, -2.1))
    axis = found.result.axes("contact.b")[0, :, 2]
    omega = found.result.angular_velocity("disc")[0]
    tilt, spin = np.arccos(axis[2]), omega @ axis
    turning = (omega - spin * axis)[2] / (1 - axis[2] ** 2)
    assert spin == pytest.approx(steady(tilt, turning)[0], rel=1e-9)
    assert abs(tilt - theta) < 0.05
    assert "runs steadily" in str(found)
    frequency = np.sqrt(steady(tilt, turning)[1])
    assert np.abs(linearise(found).modes().eigenvalues.imag - frequency).min() < 1e-8


def single_track(speed, steer):
    """A body on a steered front wheel and a driven rear wheel, which a guide keeps upright; the tyres carry 300 N each."""
    system = flexmb.System(gravity=(0, 0, -9.81), name="bicycle car")
    moves = (speed, 0, 0)
    body = system.add(flexmb.rigid_body("body", mass=60.0, inertia=(5, 5, 9)), position=(0, 0, 0.3), velocity=moves)
    system.planar("road", system.ground, body, normal=(0, 0, 1), at=(0, 0, 0.3))
    for name, x in (("front", 0.6), ("rear", -0.5)):
        carrier = body
        if name == "front":
            fork = flexmb.rigid_body("fork", mass=1.0, inertia=(1e-2,) * 3)
            carrier = system.add(fork, position=(x, 0, 0.3), velocity=moves)
            system.revolute("steering", body, carrier, axis=(0, 0, 1), at=(x, 0, 0.3))
            system.drive("steering", flexmb.time_functions.constant(steer))
        wheel = system.add(
            flexmb.rigid_body(f"{name} wheel", mass=2.0, inertia=(0.05, 0.1, 0.05)),
            position=(x, 0, 0.3),
            velocity=moves,
            angular_velocity=(0, speed / 0.3, 0),
        )
        system.revolute(f"{name} axle", carrier, wheel, axis=(0, 1, 0), at=(x, 0, 0.3))
        tyre = linear_tyre(
            radius=0.31, vertical_stiffness=3e4, slip_stiffness=4e3, cornering_stiffness=3e3, relaxation=0.1
        )
        system.force(f"{name} tyre", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre)
    system.drive("rear axle", flexmb.time_functions.constant_speed(speed / 0.31))
    return system


def test_a_car_with_tyres_turns_as_its_single_track_model():
    steer = 1e-3
    found = steady_running(single_track(8.0, steer))
    speed = np.linalg.norm(found.result.velocity("body")[0, :2])
    turning = found.result.angular_velocity("body")[0, 2]
    mass, centre = 65.0, (0.6 * 3.0 - 0.5 * 2.0) / 65.0
    front, rear = 0.6 - centre, 0.5 + centre
    understeer = mass * (rear - front) / (1.1 * 3e3)
    assert turning / steer == pytest.approx(speed / (1.1 + understeer * speed**2), rel=1e-5)
    vibration = linearise(found).modes()
    assert vibration.stable
    assert vibration.ignorable.any()
    kept = flexmb.simulate(found.mechanism, 0.02, step=1e-3, initial_state=found)
    np.testing.assert_allclose(kept.angular_velocity("body")[:, 2], turning, rtol=1e-5)


def test_a_diagram_over_the_speed_of_a_disc():
    """The wobble of a disc that rolls straight, at every speed of its centre."""
    speeds = np.array([2.0, 3.0, 4.0])
    diagram = campbell(lambda v: disc(np.pi / 2, 0.0, v / RADIUS), speeds, count=8)
    wobble = np.sqrt(2.4 * (speeds / RADIUS) ** 2 - 0.8 * G / RADIUS) / (2 * np.pi)
    np.testing.assert_allclose(diagram.frequencies.max(axis=1), wobble, rtol=1e-8)
    assert diagram.stable.all()


def bicycle(speed):
    """The benchmark bicycle of Meijaard, Papadopoulos, Ruina and Schwab (Proc. R. Soc. A 463 (2007) 1955-1982)."""
    given = {"velocity": (speed, 0, 0)}
    system = flexmb.System(gravity=(0, 0, -9.81), name="bicycle")

    def part(name, mass, inertia, position, radius=np.inf):
        body = flexmb.rigid_body(name, mass=mass, inertia=inertia)
        return system.add(body, position=position, angular_velocity=(0, speed / radius, 0), **given)

    rear = part("rear wheel", 2.0, (0.0603, 0.12, 0.0603), (0, 0, 0.3), 0.3)
    front = part("front wheel", 3.0, (0.1405, 0.28, 0.1405), (1.02, 0, 0.35), 0.35)
    frame = part("frame", 85.0, [[9.2, 0, -2.4], [0, 11.0, 0], [-2.4, 0, 2.8]], (0.3, 0, 0.9))
    fork = part("fork", 4.0, [[0.05892, 0, 0.00756], [0, 0.06, 0], [0.00756, 0, 0.00708]], (0.9, 0, 0.7))
    system.revolute("rear hub", frame, rear, axis=(0, 1, 0), at=(0, 0, 0.3))
    system.revolute("front hub", fork, front, axis=(0, 1, 0), at=(1.02, 0, 0.35))
    tilt = np.pi / 10
    system.revolute("steering", frame, fork, axis=(-np.sin(tilt), 0, np.cos(tilt)), at=(1.1, 0, 0))
    system.rolling("rear contact", system.ground, rear, radius=0.3, axis=(0, 1, 0), at=(0, 0, 0.3))
    system.rolling("front contact", system.ground, front, radius=0.35, axis=(0, 1, 0), at=(1.02, 0, 0.35))
    return system


def lean_and_steer(speed):
    """The eigenvalues on and above the real axis by the matrices of the benchmark, its equations (A 1)."""
    M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
    C1 = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
    K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
    K2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])
    lower = [-np.linalg.solve(M, 9.81 * K0 + speed**2 * K2), -np.linalg.solve(M, speed * C1)]
    found = np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], lower]))
    return np.sort_complex(found[found.imag >= 0])


@pytest.mark.parametrize("speeds", [(0.5, 1.0), (1.0, 0.5)])
def test_aperiodic_motions_that_become_a_vibration_are_followed(speeds):
    """Two aperiodic motions become the weave at 0.684 m/s: four motions in lean and steer below, three above."""
    diagram = campbell(bicycle, speeds)
    for speed, found in zip(speeds, diagram.eigenvalues, strict=True):
        apart = np.isnan(found)
        assert apart.sum() == (speed == 1.0)
        np.testing.assert_array_equal(np.isnan(diagram.frequencies[speeds.index(speed)]), apart)
        moving = found[~apart & ~(np.abs(found) < 1e-6)]
        np.testing.assert_allclose(np.sort_complex(moving), lean_and_steer(speed), rtol=1e-8)
    assert "nan" in str(diagram)


DISC = """
name = "disc"
gravity = [0, 0, -9.81]

[simulation]
duration = 1.0

[bodies.disc]
kind = "rigid"
mass = 1.0
inertia = [0.0625, 0.125, 0.0625]
position = [0, 0, 0.5]
velocity = [3.0, 0, 0]
angular_velocity = [0, 6.0, 0]

[[joints]]
kind = "rolling"
name = "contact"
a = "ground"
b = "disc"
at = [0, 0, 0.5]
axis = [0, 1, 0]
radius = 0.5
"""


def test_the_command_line_linearises_about_steady_running(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("disc.toml").write_text(DISC)
    found = CliRunner().invoke(app, ["modes", "disc.toml", "--running"])
    assert found.exit_code == 0, found.output
    assert f"{np.sqrt(2.4 * 36 - 0.8 * G / RADIUS) / (2 * np.pi):.6g}" in found.output
    assert "ignorable: disc x, disc y" in found.output
    both = CliRunner().invoke(app, ["modes", "disc.toml", "--running", "--start"])
    assert both.exit_code != 0


def test_a_mechanism_that_changes_its_shape_does_not_run_steadily():
    system = flexmb.System(name="crank")
    crank = system.add(flexmb.rigid_body("crank", mass=1.0, inertia=(0.1,) * 3), position=(0.1, 0, 0))
    slider = system.add(flexmb.rigid_body("slider", mass=1.0, inertia=(0.1,) * 3), position=(0.5, 0, 0))
    system.revolute("shaft", system.ground, crank, axis=(0, 0, 1), at=(0, 0, 0))
    system.prismatic("guide", system.ground, slider, axis=(1, 0, 0), at=(0.5, 0, 0))
    system.distance("rod", crank.at((0.1, 0, 0)), slider.at((0, 0, 0)))
    system.drive("shaft", flexmb.time_functions.constant_speed(5.0))
    with pytest.raises(EquilibriumError, match="'crank'"):
        steady_running(system)


def test_what_is_steady_for_an_instant_only_does_not_run_steadily():
    """A driver without acceleration now, but before and after; and one of constant speed."""
    for cubic, message in ((0.0, ""), (1.0, "does not run steadily")):
        system = flexmb.System()
        rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
        system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
        system.drive("hinge", flexmb.time_functions.polynomial(0.0, 2.0, 0.0, cubic))
        if message:
            with pytest.raises(EquilibriumError, match=message):
                steady_running(system)
        else:
            assert steady_running(system).result.coordinate_rate("hinge")[0] == pytest.approx(2.0, rel=1e-9)

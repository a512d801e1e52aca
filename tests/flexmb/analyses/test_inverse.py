"""Inverse dynamics: efforts that, put into the forward simulation, give back the prescribed motion."""

import contextlib
import csv
from dataclasses import replace

import numpy as np
import pytest
from mechanisms import double_pendulum
from test_cli import is_picture
from typer.testing import CliRunner

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.analyses.inverse_dynamics import Servo, inverse_dynamics, with_efforts
from flexmb.cli.main import app
from flexmb.errors import FileError, InverseError, MechanismError

Z = (0.0, 0.0, 1.0)


def link(name, length, side):
    alu = fem.Material.isotropic(7e10, 0.3, 2700.0)
    model = fem.Model(line((0, 0, 0), (length, 0, 0), 6), fem.Beam(alu, fem.Section.rectangle(side, side)))
    model = model.with_interfaces(root="start", tip="end")
    return flexmb.flexible_body(
        model, reduction.craig_bampton(model, 2, reference_frame="root"), name=name, modal_damping=0.005
    )


def arm(rigid=False):
    """Two flexible links in the plane, motors in shoulder and elbow."""
    system = flexmb.System(gravity=(0, -9.81, 0), name="arm")
    upper, fore = link("upper", 0.6, 0.015), link("fore", 0.6, 0.012)
    first = system.add(upper.rigid() if rigid else upper)
    second = system.add(fore.rigid() if rigid else fore, position=(0.6, 0, 0), orientation=(0, 0, 1.2))
    system.revolute("shoulder", system.ground.at((0, 0, 0)), first["root"], axis=Z)
    system.revolute("elbow", first["tip"], second["root"], axis=Z)
    system.motor("shoulder motor", "shoulder", 0.0)
    system.motor("elbow motor", "elbow", 0.0)
    return system


def servos(duration=0.6):
    move = flexmb.time_functions.smooth_step
    return [Servo("fore.tip", "x", move(0.0, duration, -0.3)), Servo("fore.tip", "y", move(0.0, duration, 0.2))]


MOTORS = ("shoulder motor", "elbow motor")


def off_path(result, wanted, start):
    """Largest distance of the tip from its path."""
    path = np.array([[s.motion.value(t) for s in wanted] for t in result.t])
    return np.abs(result.position("fore.tip")[:, :2] - start - path).max()


@pytest.mark.long
def test_the_tip_of_a_flexible_arm_follows_its_path():
    """Inverse, then forward: the prescribed motion to 1e-6; with the efforts of a rigid arm it is off by millimetres."""
    wanted = servos()
    found = inverse_dynamics(arm(), wanted, MOTORS, 0.6, 4e-3, before=0.2, after=0.2)
    start = found.result.position("fore.tip")[0, :2]
    forward = flexmb.simulate(found.forward(), 1.0, step=5e-5, output_step=4e-3)
    assert off_path(forward, wanted, start) < 1e-6
    np.testing.assert_allclose(forward.elastic("fore"), found.result.elastic("fore"), atol=1e-6)
    rigid = inverse_dynamics(arm(rigid=True), wanted, MOTORS, 0.6, 1e-2, before=0.2, after=0.2)
    naive = with_efforts(found.result.mechanism, {name: rigid.effort(name) for name in MOTORS})
    naive = flexmb.simulate(replace(naive, initial=found.result.state(0)), 1.0, step=5e-5, output_step=4e-3)
    assert off_path(naive, wanted, start) > 1e-3
    assert "effort of elbow motor" in str(found)


def test_a_rigid_arm_needs_the_efforts_of_its_drivers():
    """The same motion by drivers in the joints: their efforts, to the fourth order of the step."""
    wanted = servos()
    found = inverse_dynamics(arm(rigid=True), wanted, MOTORS, 0.6, 2e-3)
    angles = [found.result.coordinate(joint) for joint in ("shoulder", "elbow")]
    driven = arm(rigid=True)
    for joint, angle in zip(("shoulder", "elbow"), angles, strict=True):
        driven.drive(joint, flexmb.time_functions.table(found.t, angle))
    driven = flexmb.simulate(driven, 0.6, step=2e-4, output_step=2e-3)
    inside = slice(10, -10)  # the spline's second derivatives are free at its ends
    for joint, effort in zip(("shoulder", "elbow"), found.efforts.T, strict=True):
        np.testing.assert_allclose(driven.drive_effort(joint)[inside], effort[inside], atol=2e-3 * np.abs(effort).max())


def test_collocated_inverse_and_forward_dynamics_agree():
    """A double pendulum with driven hinges; its drivers' efforts as motors make the same motion."""
    system = double_pendulum()
    system.drive("hinge", flexmb.time_functions.smooth_step(0.0, 1.0, 0.8))
    system.drive("elbow", flexmb.time_functions.smooth_step(0.0, 1.0, -1.1))
    driven = flexmb.simulate(system, 1.0, step=2e-4, output_step=2e-3)
    free = double_pendulum()
    for joint in ("hinge", "elbow"):
        free.motor(f"motor {joint}", joint, flexmb.time_functions.table(driven.t, driven.drive_effort(joint)))
    moved = flexmb.simulate(free, 1.0, step=2e-4, output_step=2e-3)
    np.testing.assert_allclose(moved.position("second.end"), driven.position("second.end"), atol=1e-6)
    with pytest.raises(MechanismError, match="0 driven motions"):
        moved.drive_effort("hinge")


def test_a_jack_needs_the_moments_of_its_spring_over_all_turns_and_of_its_inertia():
    """Two turns of a screw against a torsion spring, as `(J + m (lead / 2 pi)^2) alpha + k theta`, and rest before and
    after; the speed with which the joint would start otherwise does not count."""
    spin, mass, lead, k = 0.02, 3.0, 0.05, 1.5
    system = flexmb.System()
    shaft = system.add(flexmb.rigid_body("shaft", mass=1.0, inertia=(1, 1, spin)))
    load = system.add(flexmb.rigid_body("load", mass=mass, inertia=(1, 1, 1), points={"top": (0, 0, 0)}))
    system.revolute("bearing", system.ground, shaft, axis=Z, at=(0, 0, 0))
    system.prismatic("guide", system.ground, load, axis=Z, at=(0, 0, 0))
    system.screw("thread", "bearing", "guide", lead=lead)
    system.joint_spring("spring", "bearing", stiffness=k)
    system.motor("motor", "bearing", 0.0)
    system.set_speed("bearing", 5.0)
    rise = flexmb.time_functions.smooth_step(0.0, 0.29, 2 * lead, derivatives=6)
    found = inverse_dynamics(system, [Servo("load.top", "z", rise)], ["motor"], 0.29, 0.01, before=0.11, after=0.17)
    np.testing.assert_allclose(found.t, np.linspace(-0.11, 0.46, 58), atol=1e-12)
    x, _, acceleration = rise.over(found.t).T
    turn = 2 * np.pi / lead
    expected = k * turn * x + (spin + mass / turn**2) * turn * acceleration
    np.testing.assert_allclose(found.efforts[1:-1, 0], expected[1:-1], atol=1e-3 * np.abs(expected).max())
    np.testing.assert_allclose(found.result.coordinate("bearing"), turn * x, atol=1e-9)
    forward = flexmb.simulate(found.forward(), 0.57, step=5e-4, output_step=0.01)
    np.testing.assert_allclose(forward.coordinate("guide"), x, atol=1e-3 * lead)


def test_an_arm_that_does_not_move_keeps_its_sag():
    """The deformation at rest is not what is made least: the motor holds the weight at all times."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    arm = system.add(link("arm", 0.6, 0.01))
    system.revolute("shoulder", system.ground.at((0, 0, 0)), arm["root"], axis=Z)
    system.motor("motor", "shoulder", 0.0)
    still = Servo("arm.tip", "y", flexmb.time_functions.constant(0.0))
    found = inverse_dynamics(system, [still], ["motor"], 0.05, 0.005)
    holding = 2700 * 0.01**2 * 0.6 * 9.81 * 0.3
    np.testing.assert_allclose(found.efforts, holding, rtol=1e-4)
    sag = found.result.elastic("arm")
    assert np.ptp(sag, axis=0).max() < 1e-9 * np.abs(sag).max()


def test_bad_requests_are_told():
    with pytest.raises(InverseError, match="must be equal"):
        inverse_dynamics(arm(), servos(), MOTORS[:1], 0.6, 4e-3)
    with pytest.raises(InverseError, match=r"no actuator named 'motor'"):
        inverse_dynamics(arm(), servos(), ("motor", "elbow motor"), 0.6, 4e-3)
    with pytest.raises(InverseError, match="step smaller"):
        inverse_dynamics(arm(), servos(), MOTORS, 0.6, 1.0)
    far = [Servo("fore.tip", "x", flexmb.time_functions.smooth_step(0.0, 0.6, 5.0)), servos()[1]]
    with pytest.raises(flexmb.ConvergenceError, match="cannot rest at"):
        inverse_dynamics(arm(rigid=True), far, MOTORS, 0.6, 0.02)


MODEL = """
units = "SI"
name = "arm"
simulation = { duration = 0.5 }
bodies.upper = { kind = "rigid", mass = 1, inertia = [0.01, 0.1, 0.1], centre = [0.5, 0, 0], points = { tip = [1, 0, 0] } }
bodies.fore = { kind = "rigid", mass = 1, inertia = [0.01, 0.1, 0.1], centre = [0.5, 0, 0], points = { tip = [1, 0, 0] }, position = [1, 0, 0], orientation = [0, 0, 1.2] }
joints = [
  { name = "shoulder", kind = "revolute", a = "ground", b = "upper", at = [0, 0, 0] },
  { name = "elbow", kind = "revolute", a = "upper.tip", b = "fore" },
]
motors = [{ name = "m1", joint = "shoulder", effort = 0.0 }, { name = "m2", joint = "elbow", effort = 0.0 }]
servos = [
  { marker = "fore.tip", axis = "x", motion = { kind = "smooth-step", duration = 0.5, height = -0.2 } },
  { marker = "fore.tip", axis = "y", motion = { kind = "smooth-step", duration = 0.5, height = 0.1 } },
]
"""


@pytest.mark.parametrize("order", [None, 2])
def test_the_search_for_efforts_tells_its_progress(order, tmp_path, monkeypatch):
    """Also to the bar of the verb: fractions that grow to one, in small steps but for the last, where no iteration is left."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.toml").write_text(MODEL)
    shown = []

    def say(what, done):
        shown.append((what, done))

    @contextlib.contextmanager
    def bars():
        yield say

    monkeypatch.setattr("flexmb.cli.screen.bars", bars)
    words = ["inverse", "arm.toml", "--actuator", "m1", "--actuator", "m2", "--step", "0.02"]
    CliRunner().invoke(app, [*words, *(() if order is None else ("--order", "2"))], catch_exceptions=False)
    assert {what for what, _ in shown} == {"efforts"}
    done = np.array([0.0, *(fraction for _, fraction in shown)])
    assert done[-1] == pytest.approx(1.0)
    steps = np.diff(done)
    assert steps.min() >= 0.0
    assert steps[:-1].max() < 0.1
    assert len(shown) > 26  # more than one for each time


def test_the_verb_writes_efforts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.toml").write_text(MODEL)
    words = ["inverse", "arm.toml", "--actuator", "m1", "--actuator", "m2", "--step", "0.01"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "effort of m1" in done.output
    assert np.loadtxt(tmp_path / "arm.inverse.csv", delimiter=",", skiprows=1).shape == (51, 3)
    assert (tmp_path / "arm.inverse.csv").read_text().startswith("t [s],m1 [N m],m2 [N m]\n")
    assert is_picture(tmp_path / "arm.inverse.png")
    done = CliRunner().invoke(app, [*words, "--order", "2", "--after", "0.1"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    times = np.loadtxt(tmp_path / "arm.inverse.csv", delimiter=",", skiprows=1)[:, 0]
    np.testing.assert_allclose(times, np.linspace(0.0, 0.6, 61), atol=1e-12)
    with pytest.raises(FileError, match=r"Cannot write the table .*gone"):
        CliRunner().invoke(app, [*words, "--table", str(tmp_path / "gone" / "arm.csv")], catch_exceptions=False)
    assert not (tmp_path / "gone").exists()
    (tmp_path / "arm.toml").write_text(MODEL.replace('"m1"', '"m1, left"'))
    CliRunner().invoke(app, [word.replace("m1", "m1, left") for word in words], catch_exceptions=False)
    with (tmp_path / "arm.inverse.csv").open(newline="") as file:
        assert next(csv.reader(file)) == ["t [s]", "m1, left [N m]", "m2 [N m]"]

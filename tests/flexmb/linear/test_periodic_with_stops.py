"""Periodic motions between stops: their impacts are part of the motion, and of its multipliers."""

import math

import numpy as np
import pytest
from typer.testing import CliRunner

import flexmb
from flexmb.cli.main import app
from flexmb.errors import InverseError, LinearError
from flexmb.linear import periodic_motion
from flexmb.simulation.events import Event, Lock, Terminate, stop

DAMPING, RESTITUTION, SHAKEN = 0.3, 0.6, 2.8


def slider(law, place, rate):
    system = flexmb.System()
    body = flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1))
    mass = system.add(body, position=(place, 0, 0), velocity=(rate, 0, 0))
    system.prismatic("guide", system.ground.at((0, 0, 0)), mass.at((0, 0, 0)), axis=(1, 0, 0))
    system.motor("law", "guide", law)
    return system


def shaken(t, x, v):
    return -x - DAMPING * v + math.cos(SHAKEN * t + 1.0)


def wall(limit=0.1):
    return stop("wall", "guide", limit, upper=True, restitution=RESTITUTION)


@pytest.mark.long
def test_a_shaken_mass_that_strikes_a_wall():
    """An impact multiplies areas of phase space by the square of its restitution, whatever its time; between impacts,
    damping multiplies them by exp(-c T). The product of the multipliers is that of both (Liouville)."""
    period = 4 * math.pi / SHAKEN
    found = periodic_motion(slider(shaken, -0.30505388, 0.45927566), period, steps=600, events=[wall()])
    struck = len(found.result.happened)
    assert struck == 1
    assert found.result.coordinate("guide").max() < 0.1 + 1e-6
    product = RESTITUTION ** (2 * struck) * math.exp(-DAMPING * period)
    assert np.prod(found.multipliers).real == pytest.approx(product, rel=2e-3)


@pytest.mark.long
def test_an_oscillator_that_strikes_a_wall_finds_its_period():
    """That of a long simulation; without the wall it is 6.66."""

    def law(t, x, v):
        return -x + (1 - x * x) * v

    events = [stop("wall", "guide", 1.0, upper=True, restitution=0.9)]
    long = flexmb.simulate(slider(law, 0.0, 1.0), 60.0, step=2e-3, events=events)
    found = periodic_motion(slider(law, 0.0, 1.5), 5.0, steps=800, events=events)
    assert found.period == pytest.approx(np.diff([record.t for record in long.happened])[-1], rel=1e-5)


@pytest.mark.parametrize(("action", "said"), [(Terminate(), "'high' ends the motion"), (Lock("guide"), "changed the")])
def test_events_after_which_the_end_is_no_deviation_from_the_start_are_refused(action, said):
    event = Event("high", lambda result: result.coordinate("guide") - 0.05, action)
    with pytest.raises(LinearError, match=said):
        periodic_motion(slider(shaken, 0.0, 0.4), 2 * math.pi / SHAKEN, steps=400, events=[event])


MODEL = """[simulation]
duration = 1.0
step = 1e-3
[bodies.mass]
kind = "rigid"
mass = 1.0
inertia = [1, 1, 1]
[[joints]]
kind = "prismatic"
name = "guide"
a = "ground"
b = "mass"
at = [0, 0, 0]
axis = [1, 0, 0]
[[joint_springs]]
name = "spring"
joint = "guide"
stiffness = 1.0
damping = 0.3
[[motors]]
name = "shaker"
joint = "guide"
effort = { kind = "harmonic", amplitude = 1.0, frequency = FREQUENCY }
[[stops]]
name = "wall"
joint = "guide"
upper = LIMIT
restitution = 0.6
"""


@pytest.mark.long
def test_the_command_includes_stops(tmp_path, monkeypatch):
    """At a wall that the motion does not reach, nothing changes; at one that it would pass, another motion."""
    monkeypatch.chdir(tmp_path)
    said = []
    for limit in (10.0, 0.05):
        text = MODEL.replace("FREQUENCY", repr(SHAKEN / (2 * math.pi))).replace("LIMIT", repr(limit))
        (tmp_path / "model.toml").write_text(text)
        told = CliRunner().invoke(app, ["periodic", "model.toml", "--period", repr(2 * math.pi / SHAKEN)])
        said.append((told.exit_code, told.output))
    assert said[0][0] == 0, said[0][1]
    assert "repeats itself" in said[0][1]
    assert said[0][1] != said[1][1]


def test_a_motion_that_is_asked_of_motors_may_not_pass_a_stop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    step = 'motion = { kind = "smooth-step", start = 0.2, duration = 0.6, height = 0.5 }\n'
    servo = '[[servos]]\nmarker = "guide.b"\naxis = "x"\n' + step
    for limit in (0.6, 0.4):
        text = MODEL.replace("FREQUENCY", "1.0").replace("LIMIT", repr(limit))
        text = text.replace('effort = { kind = "harmonic", amplitude = 1.0, frequency = 1.0 }', "effort = 0.0") + servo
        (tmp_path / "model.toml").write_text(text)
        words = ["inverse", "model.toml", "--actuator", "shaker", "--step", "0.01"]
        if limit > 0.5:
            told = CliRunner().invoke(app, words)
            assert told.exit_code == 0, told.output
        else:
            with pytest.raises(InverseError, match=r"passes the stop 'wall', by 0\.1 "):
                CliRunner().invoke(app, words, catch_exceptions=False)


def test_events_that_analyses_leave_out_are_named(tmp_path, monkeypatch):
    """A latch acts in simulations only; stops are examined, or named where nothing examines them."""
    monkeypatch.chdir(tmp_path)
    text = MODEL.replace("FREQUENCY", "0.0").replace("LIMIT", "5.0")
    latch = '[[events]]\nname = "latch"\nmeasure = "coordinate:guide"\nabove = 2.0\nlock = "guide"\n'
    (tmp_path / "model.toml").write_text(text + latch)
    vary = ["--vary", "joint_springs.spring.stiffness=1,2"]
    response = ["--input", "shaker", "--output", "position:mass:x", "--band", "1:10:3"]
    commands = (
        ["equilibrium"],
        ["modes"],
        ["modes", "--start"],
        ["mobility"],
        ["campbell", "--rest", *vary],
        ["response", *response],
    )
    for verb, *words in commands:
        told = CliRunner().invoke(app, [verb, "model.toml", *words], catch_exceptions=False)
        examined = verb != "mobility" and "--start" not in words
        names = "'latch'" if examined else "'wall', 'latch'"
        assert f"left out, as they act in simulations only: {names}" in told.output, told.output

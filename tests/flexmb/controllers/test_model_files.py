"""Controllers in model files, and in result files."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from model_files import model_of

import flexmb
from flexmb.errors import ModelFileError
from flexmb.files import load_result, save_result
from flexmb.files.models.model_file import load_model
from flexmb.plots.result_plots import plot_controller

MODEL = """
name = "servo"
[simulation]
duration = 0.2
step = 0.005
[bodies.rotor]
kind = "rigid"
mass = 1.0
inertia = [1.0, 1.0, 0.5]
[[joints]]
kind = "revolute"
name = "pivot"
a = "ground"
b = "rotor"
at = [0, 0, 0]
axis = [0, 0, 1]
[[controllers]]
name = "servo"
law = {law}
inputs = {{ measured = "coordinate:pivot", reference = {{ kind = "smooth-step", duration = 0.1, height = 1.0 }} }}
outputs = {{ command = "effort:pivot" }}
"""


def read(tmp_path, law):
    path = tmp_path / "servo.toml"
    path.write_text(MODEL.format(law=law))
    return load_model(path)


@pytest.mark.parametrize("sampling", ["", ", sample_time = 0.01"])
def test_a_model_file_gives_the_controller_of_python(tmp_path, sampling):
    model = read(
        tmp_path, '{ kind = "pid", kp = 40.0, ki = 5.0, kd = 8.0, filter = 0.02, upper = 9.0' + sampling + " }"
    )
    result = flexmb.simulate(model.system, model.duration, step=0.005, output_step=0.005)
    system = flexmb.System()
    rotor = system.add(flexmb.rigid_body("rotor", mass=1.0, inertia=(1, 1, 0.5)))
    system.revolute("pivot", system.ground.at((0, 0, 0)), rotor, axis=(0, 0, 1))
    law = flexmb.controllers.pid(40.0, 5.0, 8.0, filter=0.02, upper=9.0, sample_time=0.01 if sampling else None)
    target = flexmb.time_functions.smooth_step(0.0, 0.1, 1.0)
    inputs = {"measured": "coordinate:pivot", "reference": target}
    system.controller("servo", law, inputs=inputs, outputs={"command": "effort:pivot"})
    same = flexmb.simulate(system, 0.2, step=0.005, output_step=0.005)
    assert np.array_equal(result.q, same.q)
    loaded = load_result(save_result(result, tmp_path / "servo.h5"))
    assert np.allclose(loaded.effort("servo.command"), result.effort("servo.command"), rtol=0, atol=1e-12)
    again = flexmb.simulate(loaded.mechanism, 0.2, step=0.005, output_step=0.005)
    assert np.allclose(again.q, result.q, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("law", "made"),
    [
        ('{ kind = "pid", kp = 4.0 }', flexmb.controllers.pid(4.0)),
        ('{ kind = "pid", kp = 4.0, ki = 2.0, initial = 0.5 }', flexmb.controllers.pid(4.0, 2.0, initial=0.5)),
        ('{ kind = "pid", kp = 4.0, ki = 2.0, upper = 3.0 }', flexmb.controllers.pid(4.0, 2.0, upper=3.0)),
        ('{ kind = "pid", kp = 4.0, ki = 2.0, upper = 3.0, anti_windup = "none" }', flexmb.controllers.pid(4.0, 2.0, upper=3.0, anti_windup=None)),
        ('{ kind = "linear", numerator = [1.0], denominator = [1.0, 2.0], inputs = ["measured"], sample_time = 0.01 }', flexmb.controllers.linear(([1.0], [1.0, 2.0]), inputs=["measured"], sample_time=0.01)),
        ('{ kind = "linear", numerator = [1.0], denominator = [1.0, -0.5], inputs = ["measured"], sample_time = 0.01, discrete = true }', flexmb.controllers.linear(flexmb.controllers.discrete(([1.0], [1.0, -0.5]), 0.01), inputs=["measured"], sample_time=0.01)),
        ('{ kind = "state-feedback", K = [[2.0]], inputs = ["measured"] }', flexmb.controllers.state_feedback([[2.0]], inputs=["measured"], commands=["command"])),
        ('{ kind = "gain-schedule", points = [0.0, 1.0], gains = [[[2.0]], [[3.0]]], inputs = ["measured"] }', flexmb.controllers.gain_schedule([0.0, 1.0], [[[2.0]], [[3.0]]], inputs=["measured"], commands=["command"])),
    ],
    ids=["proportional", "integral", "limited", "winds up", "linear", "discrete", "state feedback", "gain schedule"],
)  # fmt: skip
def test_numbers_that_a_law_of_a_file_leaves_out_are_those_of_python(law, made, tmp_path):
    text = MODEL if made.law.name == "pid" else re.sub(", reference = .* }}", " }}", MODEL)
    if made.law.name == "gain-schedule":
        text = text.replace('measured = "coordinate:pivot"', 'measured = "coordinate:pivot", schedule = 0.5')
    path = tmp_path / "servo.toml"
    path.write_text(text.format(law=law))
    (controller,) = load_model(path).system.build().controllers
    assert tuple(controller.parameters) == made.parameters
    assert tuple(controller.begin) == made.initial
    assert controller.sample_time == made.sample_time


def test_limits_of_a_linear_controller_of_a_file(tmp_path):
    law = (
        '{ kind = "linear", numerator = [40.0], denominator = [1.0], inputs = ["measured"], lower = -3.0, upper = 2.0 }'
    )
    path = tmp_path / "servo.toml"
    path.write_text(re.sub(", reference = .* }}", " }}", MODEL).format(law=law))
    (controller,) = load_model(path).system.build().controllers
    made = flexmb.controllers.linear(([40.0], [1.0]), inputs=["measured"], lower=-3.0, upper=2.0)
    assert tuple(controller.parameters) == made.parameters


def test_a_run_draws_its_controllers_and_lists_their_signals(tmp_path, monkeypatch, capsys):
    from flexmb.cli.motion.run import command

    monkeypatch.chdir(tmp_path)
    read(tmp_path, '{ kind = "pid", kp = 40.0, kd = 8.0, filter = 0.02, sample_time = 0.01 }')
    command(tmp_path / "servo.toml")
    assert (tmp_path / "servo.servo.png").stat().st_size > 10_000
    assert "input reference" in capsys.readouterr().out
    _, axes = plot_controller(load_result(tmp_path / "servo.result.h5"), "servo")
    assert [axis.get_ylabel() for axis in axes] == ["moment", "angle (rad)", "state"]
    plt.close("all")


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ('{ kind = "pid", kp = 1.0, lower = 2.0, upper = 1.0 }', "lower < upper"),
        ('{ kind = "pid", kp = 1.0, sample_time = -0.1 }', "sample_time"),
        ('{ kind = "linear", A = [[0.0]] }', "either A, B, C and D, or numerator"),
        ('"mine"', "control law 'mine'"),
        ('{ kind = "PID", kp = 1.0 }', r"There is no kind named 'PID'\. Did you mean 'pid'\?"),
    ],
)
def test_a_wrong_law_is_refused_by_its_key(tmp_path, law, message):
    with pytest.raises(ModelFileError, match=message):
        read(tmp_path, law)


def test_a_file_keeps_the_commands_of_a_function_of_the_user(tmp_path):
    @flexmb.control_law(inputs=("angle",), commands=("torque",), parameters=("gain",))
    def law(t, inputs, states, parameters, commands, rates):
        commands[0] = -parameters[0] * inputs[0]

    system = flexmb.System()
    rotor = system.add(flexmb.rigid_body("rotor", mass=1.0, inertia=(1, 1, 0.5)))
    system.revolute("pivot", system.ground.at((0, 0, 0)), rotor, axis=(0, 0, 1))
    system.set_speed("pivot", 1.0)
    system.controller("c", law(gain=3.0), inputs={"angle": "coordinate:pivot"}, outputs={"torque": "effort:pivot"})
    result = flexmb.simulate(system, 0.1, step=0.01)
    loaded = load_result(save_result(result, tmp_path / "own.h5"))
    assert np.allclose(loaded.effort("c.torque"), -3.0 * result.coordinate("pivot"), rtol=1e-12, atol=1e-15)
    with pytest.raises(flexmb.LawError, match="is not in the file"):
        flexmb.simulate(loaded.mechanism, 0.1, step=0.003)


def test_a_curve_comes_from_a_file(tmp_path):
    """A periodic force of gas over the crank angle, with a header and units; faults by line."""
    text = """
[simulation]
duration = 1.0
step = 2e-3
[bodies.crank]
kind = "rigid"
mass = 1.0
inertia = [1, 1, 0.02]
[[joints]]
name = "shaft"
kind = "revolute"
a = "ground"
b = "crank"
axis = [0, 0, 1]
at = [0, 0, 0]
speed = 20.0
[[controllers]]
name = "gas"
law = { kind = "curve", csv = "gas.csv", columns = ["angle", "torque"], period = 12.566370614359172, scale = 2.0 }
inputs = { input = "coordinate:shaft" }
outputs = { command = "effort:shaft" }
"""
    rows = "0;9;0\n1,0;9;0,8\n2,5;9;0,2\n6,0;9;-0,15\n9,5;9;-0,05\n11,5;9;-0,1\n"
    (tmp_path / "gas.csv").write_text("angle [rad];pressure [bar];torque [N m]\n" + rows)
    system = model_of(tmp_path, text).system
    result = flexmb.simulate(system, 1.0, step=2e-3)
    expected = flexmb.controllers.curve([0, 1, 2.5, 6, 9.5, 11.5], [0, 1.6, 0.4, -0.3, -0.1, -0.2], period=4 * np.pi)
    assert system.build().controllers[0].parameters == pytest.approx(expected.parameters)
    assert result.effort("gas.command").max() == pytest.approx(1.6, rel=1e-2)
    assert result.coordinate("shaft")[-1] > 4 * np.pi
    with pytest.raises(ModelFileError, match="either x and y, or csv"):
        model_of(tmp_path, text, 'csv = "gas.csv"', "x = [0, 1]")
    (tmp_path / "gas.csv").write_text("angle;pressure;torque\n0;9;0\n0;9;0,8\n")
    with pytest.raises(ModelFileError, match=r"gas\.csv, line 3: expected increasing numbers x"):
        model_of(tmp_path, text)

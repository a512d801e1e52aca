"""Command lines that are refused: each with its message, beside the nearest one that is accepted."""

import json

import numpy as np
import pytest
from mechanisms import double_pendulum
from typer.testing import CliRunner

import fem
import flexmb
import reduction
import validation
from fem.errors import FlexmbError, MaterialError, MatrixError
from fem.files.mesh_files import write_mesh
from fem.mesh.structured_meshes import block
from flexmb.cli.main import app
from flexmb.contact import Plane, Sphere
from flexmb.errors import FileError, InverseError, MechanismError, ModelFileError, StressError, StudyError
from flexmb.files import save_body, save_result


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    return run


def refuses(command, error, message, *words):
    with pytest.raises(error) as found:
        command(*words)
    assert (type(found.value), str(found.value)) == (error, message)


def test_campbell_varies_one_value_or_two(command):
    words = [word for key in ("a", "b", "c") for word in ("--vary", f"{key}=1,2")]
    message = "A diagram varies one value, a map two; found 3: ['a', 'b', 'c']."
    refuses(command, StudyError, message, "campbell", "model.toml", *words)
    with pytest.raises(ModelFileError, match=r"model\.toml"):
        command("campbell", "model.toml", *words[:4])


def test_a_feedforward_begins_with_the_motion(command):
    words = ("inverse", "model.toml", "--actuator", "motor", "--step", "0.01", "--order", "2")
    message = "A feedforward (--order 2) does not begin before the motion: omit --before."
    refuses(command, InverseError, message, *words, "--before", "0.1")
    with pytest.raises(ModelFileError, match=r"model\.toml"):
        command(*words, "--before", "0")


def test_reports_that_cannot_be_written(command, monkeypatch, tmp_path):
    row = validation.Row("good", "mass", 1.0, "exact", 1.01, 0.01, 0.1)
    monkeypatch.setattr(validation, "CASES", {"good": lambda: [row]})
    (tmp_path / "file").write_text("")
    message = r"^Cannot write {}file/x: .*Not a directory"
    with pytest.raises(FileError, match=message.format("")):
        command("validate", "good", "--json", "file/x")
    monkeypatch.setattr("validation.story", lambda name: "")
    with pytest.raises(FlexmbError, match=message.format("the report into ")):
        command("validate", "good", "--report", "file/x")
    command("validate", "good", "--json", "rows.json")
    assert json.loads((tmp_path / "rows.json").read_text())[0]["case"] == "good"


def test_a_body_is_converted_to_a_known_format(command, tmp_path):
    save_body(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), tmp_path / "ball.h5")
    with pytest.raises(FileError, match=r"^No format has the ending of 'ball\.txt'; the known endings are .*\.h5.*\.$"):
        command("convert", "ball.h5", "ball.txt")
    command("convert", "ball.h5", "ball.NPZ")


def test_a_plot_of_errors_of_a_reduction_needs_a_band(command):
    message = "--plot shows the error over a band: give --band as well."
    words = (
        "reduce",
        "part.msh",
        "-o",
        "body.h5",
        "--material",
        "steel",
        "--interface",
        "root=x0",
        "--modes",
        "3",
        "--plot",
    )
    refuses(command, MatrixError, message, *words, "errors.png")
    with pytest.raises(FlexmbError, match=r"part\.msh"):
        command(*words, "errors.png", "--band", "100")


def test_stresses_need_a_body_that_has_them(command, tmp_path):
    save_result(flexmb.simulate(double_pendulum(), 1e-3, step=1e-3), tmp_path / "swing.h5")
    message = "No body in swing.h5 has stresses: they need a flexible body made from a mesh."
    refuses(command, StressError, message, "stress", "swing.h5")


def test_one_contact_is_plotted_at_a_time(command, tmp_path):
    system = flexmb.System(gravity=(0, 0, -9.81))
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    for k, name in enumerate(("left", "right")):
        ball = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(1, 1, 1)), position=(k, 0, 0.1))
        system.contact(f"under {name}", floor, Sphere(0.1).on(ball.at((0, 0, 0))))
    save_result(flexmb.simulate(system, 2e-3, step=1e-3), tmp_path / "balls.h5")
    message = "There are several contacts; name one of: 'under left', 'under right'."
    refuses(command, MechanismError, message, "contact", "balls.h5", "--table", "t.csv")
    assert "under right" in command("contact", "balls.h5")
    command("contact", "balls.h5", "--name", "under left", "--table", "t.csv")
    assert np.genfromtxt(tmp_path / "t.csv", delimiter=",", skip_header=1).shape[0] == 3


@pytest.fixture(scope="module")
def bars(tmp_path_factory):
    """A result of two bars with stresses."""
    path = tmp_path_factory.mktemp("bars") / "bars.h5"
    part = fem.Model(block("hexahedron", (1.0, 0.1, 0.1), (4, 1, 1)), fem.Material.steel()).with_interfaces(start="x0")
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=2), name="bar")
    system = flexmb.System(gravity=(0, -9.81, 0))
    for k, name in enumerate(("left", "right")):
        bar = system.add(body, name=name, position=(0, 0, k))
        system.fixed(f"clamp {name}", system.ground, bar["start"])
    save_result(flexmb.simulate(system, 2e-3, step=1e-3), path)
    return path


def test_points_and_pictures_of_stresses_name_their_body(command, bars):
    having = "Bodies with stresses: ['left', 'right']."
    words = ("stress", bars, "--no-picture")
    message = f"--point is in the frame of a body; name it with --body. {having}"
    refuses(command, StressError, message, *words, "--point", "tip=1,0.05,0.05")
    message = f"--picture is of one body; name it with --body. {having}"
    refuses(command, StressError, message, "stress", bars, "--picture", "bars.png")
    for wrong in ("tip=1,2", "=1,0,0", "tip=1,2,x", "1,0,0"):
        message = f"--point expects NAME=X,Y,Z; found {wrong!r}."
        refuses(command, StressError, message, *words, "--body", "left", "--point", wrong)
    assert "table: " in command(*words, "--body", "left", "--point", "tip=1,0.05,0.05")


def test_the_materials_of_a_file_are_there_where_they_are_asked_for(command):
    write_mesh(block("hexahedron", (1.0, 0.1, 0.1), (2, 1, 1)), "bar.vtu")
    with pytest.raises(MaterialError):
        command("inspect", "bar.vtu", "--material", "file")
    assert "mass" in command("inspect", "bar.vtu", "--material", "steel")
    command("inspect", "bar.vtu")

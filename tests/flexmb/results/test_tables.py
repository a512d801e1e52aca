"""Results as tables: pandas, polars, xarray and CSV files with a header row and units."""

import csv
import sys

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum
from test_cli import is_picture
from typer.testing import CliRunner

import flexmb
from flexmb.cli.main import app
from flexmb.controllers import pid
from flexmb.errors import FileError, MeasureError, PictureError, UnitError
from flexmb.files import save_result
from flexmb.forces import plastic_hinge
from flexmb.linear.response import Response
from flexmb.units import DIMENSIONS, unit_of

MEASURES = ["acceleration:second.end:size", "rate:elbow", "attitude:second:quaternion:w", "momentum:*:y"]


@pytest.fixture(scope="module")
def swinging():
    return flexmb.simulate(double_pendulum(), 0.1, step=1e-3, output_step=0.01)


def test_a_data_frame_has_names_and_units(swinging):
    frame = swinging.to_dataframe(units="mm-t-s")
    np.testing.assert_array_equal(frame["elbow rotation rate"], swinging.coordinate_rate("elbow"))
    np.testing.assert_array_equal(frame.index, swinging.t)
    units = frame.attrs["units"]
    assert units["hinge force x"] == "N"
    assert units["elbow rotation rate"] == "rad/s"
    assert units["energy kinetic"] == "mJ"
    assert units["t"] == "s"
    chosen = swinging.to_dataframe(MEASURES)
    assert list(chosen.columns) == MEASURES
    assert chosen.attrs["units"]["momentum:*:y"] == "momentum"
    np.testing.assert_array_equal(chosen["momentum:*:y"], swinging.linear_momentum()[:, 1])


def test_the_table_of_everything_has_the_deformation_of_flexible_bodies(swinging):
    result = flexmb.simulate(flexible_pendulum(np.random.default_rng(5)), 0.02, step=1e-3)
    columns, (body,) = result.columns(), result.mechanism.bodies
    for interface in body.interfaces:
        name = f"{body.name}.{interface}"
        for what, values in (("position", result.position(name)), ("deflection", result.deflection(name))):
            found = [columns[f"{name} {what} {part}"] for part in "xyz"]
            assert {column.dimension for column in found} == {"length"}
            np.testing.assert_array_equal(np.column_stack([column.values for column in found]), values)
    for k, eta in enumerate(result.elastic(body.name).T, 1):
        np.testing.assert_array_equal(columns[f"{body.name} eta {k}"].values, eta)
    assert np.ptp(columns[f"{body.name} eta 1"].values) > 0
    assert not any("deflection" in name or "eta" in name for name in swinging.columns())


def test_columns_of_the_table_of_everything_are_the_measures_of_their_names():
    """With their dimensions: of joints that turn and that slide, force elements, a law with a state, a controller."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    cart = system.add(flexmb.rigid_body("cart", mass=1.0, inertia=(1, 1, 1)))
    arm = system.add(flexmb.uniform_rod("arm", mass=1.0, length=1.0))
    system.prismatic("rail", system.ground, cart, axis=(1, 0, 0), at=(0, 0, 0))
    system.revolute("hinge", cart, arm["start"], axis=(0, 0, 1))
    system.joint_spring("coil", "hinge", stiffness=2.0, damping=0.1)
    system.spring_damper("strut", system.ground.at((0, 1, 0)), arm["end"], stiffness=5.0)
    system.force("leaf", cart.at((0, 0, 0)), arm["start"], plastic_hinge(stiffness=100.0, limit=1.0))
    law = pid(kp=3.0, ki=1.0)
    system.controller("servo", law, inputs={"measured": "coordinate:rail", "reference": 0.1}, outputs={"command": "effort:rail"})  # fmt: skip
    result = flexmb.simulate(system, 0.2, step=1e-2)
    measures = {
        "cart frame x": "position:cart:x", "arm.end position y": "position:arm.end:y", "rail translation": "coordinate:rail",
        "rail translation rate": "rate:rail", "hinge rotation": "coordinate:hinge", "hinge rotation rate": "rate:hinge",
        "hinge force y": "force:hinge:y", "rail moment x": "moment:rail:x", "rail moment z": "moment:rail:z",
        "coil stretch": "stretch:coil", "coil effort": "effort:coil", "coil power": "power:coil", "strut stretch": "stretch:strut",
        "strut effort": "effort:strut", "strut power": "power:strut", "leaf state plastic": "state:leaf:plastic",
        "servo input measured": "input:servo:measured", "servo command command": "command:servo:command", "servo state integral": "state:servo:integral",
    }  # fmt: skip
    columns = result.columns()
    for name, text in measures.items():
        expected = result.columns([text])[text]
        assert columns[name].dimension == expected.dimension, name
        np.testing.assert_array_equal(columns[name].values, expected.values, err_msg=name)
        assert np.ptp(expected.values) > 0 or name == "rail moment x", name
    assert "servo t" not in columns


def test_every_dimension_has_a_unit():
    for dimension in DIMENSIONS:
        assert "{" not in unit_of(dimension, "cm-kg-s")
    assert unit_of("moment", "cm-kg-s") == "kg cm^2/s^2"
    assert unit_of("moment", "m-kg-s") == "N m"
    assert unit_of("moment") == "moment"
    with pytest.raises(UnitError, match=r"length, mass .* and time.*'mm'"):
        unit_of("length", "mm")


def test_a_data_frame_of_polars(swinging, monkeypatch):
    polars = pytest.importorskip("polars")
    frame = swinging.to_dataframe(MEASURES, library="polars")
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == ["t", *MEASURES]
    np.testing.assert_array_equal(frame["rate:elbow"].to_numpy(), swinging.coordinate_rate("elbow"))


@pytest.mark.parametrize("library", ["pandas", "polars", "xarray"])
def test_a_library_that_is_missing_is_named(swinging, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(FileError, match=f"pip install {library}"):
        swinging.to_xarray() if library == "xarray" else swinging.to_dataframe(library=library)


def test_an_unknown_library_or_measure_is_refused(swinging):
    with pytest.raises(FileError, match=r"'spark'.*pandas"):
        swinging.to_dataframe(library="spark")
    with pytest.raises(MeasureError, match="A measure is"):
        swinging.to_dataframe(["elbow"])


def test_a_dataset_has_units(swinging):
    data = swinging.to_xarray(MEASURES)
    assert data["rate:elbow"].attrs["units"] == "angular velocity"
    np.testing.assert_array_equal(data["rate:elbow"], swinging.coordinate_rate("elbow"))
    np.testing.assert_array_equal(data.coords["t"], swinging.t)


def test_a_csv_file_has_a_header_with_units_and_all_digits(swinging, tmp_path):
    path = swinging.to_csv(tmp_path / "swing.csv", [*MEASURES, "acceleration:second@0.1,0,0:x"], units="m-kg-s")
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header[:3] == ["t [s]", "acceleration:second.end:size [m/s^2]", "rate:elbow [rad/s]"]
    assert header[-1] == "acceleration:second@0.1,0,0:x [m/s^2]"
    np.testing.assert_array_equal(np.array(rows, dtype=float)[:, 2], swinging.coordinate_rate("elbow"))
    with pytest.raises(FileError, match="Cannot write"):
        swinging.to_csv(tmp_path / "nowhere" / "x.csv")


def test_the_command_line_writes_the_measures_that_are_named(swinging, tmp_path):
    save_result(swinging, tmp_path / "swing.h5")
    out, plot = tmp_path / "out.csv", tmp_path / "out.png"
    arguments = ["view", str(tmp_path / "swing.h5"), "--table", str(out), "--units", "mm-t-s", "--plot", str(plot)]
    for text in MEASURES[:2]:
        arguments += ["--measure", text]
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 0, told.output
    assert out.read_text().splitlines()[0] == "t [s],acceleration:second.end:size [mm/s^2],rate:elbow [rad/s]"
    assert is_picture(plot)


def test_a_result_is_plotted_in_one_call(swinging, tmp_path):
    figure, axes = swinging.plot(["rate:elbow", "coordinate:hinge", "rate:hinge"], tmp_path / "rates.png")
    assert is_picture(tmp_path / "rates.png")
    assert [axis.get_ylabel() for axis in axes] == ["angular velocity (rad per unit of time)", "angle (rad)"]
    assert figure.axes == axes
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), swinging.coordinate_rate("elbow"))
    _, (axis,) = swinging.plot("acceleration:second.end:size", tmp_path / "tip.png", units="m-kg-s")
    assert axis.get_ylabel() == "acceleration (m/s^2)"
    assert axis.get_xlabel() == "time (s)"
    _, (axis,) = swinging.plot(path=tmp_path / "joints.png")
    assert [line.get_label() for line in axis.lines] == ["coordinate:hinge:rotation z", "coordinate:elbow:rotation z"]
    free = flexmb.System()
    free.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    with pytest.raises(PictureError, match="position:rod:x"):
        flexmb.simulate(free, 0.01, step=1e-3).plot()


def test_tables_quote_names_with_commas_and_say_where_they_cannot_be_written(tmp_path):
    """Those of responses and stresses, too, whose names may be places: "velocity:rod@0.1,0,0:y"."""
    values = np.array([[[1 + 1j]], [[-2.0]]])
    response = Response(np.array([1.0, 2.0]), values, ("motor",), ("velocity:rod@0.1,0,0:y",))
    with response.write_csv(tmp_path / "rod.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["frequency", "|velocity:rod@0.1,0,0:y / motor|", "phase of velocity:rod@0.1,0,0:y / motor"]
    np.testing.assert_allclose(np.array(rows, dtype=float), [[1, np.sqrt(2), 45], [2, 2, 180]], rtol=1e-15)
    with pytest.raises(FileError, match=r"Cannot write the table .*gone"):
        response.write_csv(tmp_path / "gone" / "rod.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["rod.csv"]

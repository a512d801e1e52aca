"""Plots: figures with axes that name quantities and units, nothing cut off, names beside their curves."""

import inspect
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.signal
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from mechanisms import double_pendulum, flexible_pendulum
from test_cli import is_picture
from typer.testing import CliRunner

import fem
import flexmb
import reduction
from flexmb.analyses.compare import Comparison
from flexmb.analyses.inverse_dynamics import Inverse
from flexmb.analyses.kinematics import joint_sweep
from flexmb.analyses.work_precision import Precision
from flexmb.cli.main import app
from flexmb.contact import Plane, Sphere, power_law
from flexmb.errors import MeasureError, PictureError, StudyError, UnitError
from flexmb.files import save_result
from flexmb.linear import campbell, equilibrium, frequency_response, linearise
from flexmb.linear.eigenvalue_loci import EigenvalueLoci, StabilityMap
from flexmb.linear.response import Response
from flexmb.linear.vibration import Vibration
from flexmb.plots import linear_plots, pictures, precision_plots, reduction_plots, result_plots, study_plots
from flexmb.plots.axes import BLUE, GREY, apart, name_curves, subplots
from flexmb.plots.curves import curves
from flexmb.plots.scene import MovingScene
from flexmb.results.measure import measure
from flexmb.results.result import result_of_states
from flexmb.results.stress import largest_stress
from flexmb.study.gradients.sensitivity import Gradient
from flexmb.study.table import Row, Study

MODULES = (linear_plots, precision_plots, reduction_plots, result_plots, study_plots)
PLOTS = {name: f for m in MODULES for name, f in vars(m).items() if name.startswith("plot_")}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result():
    system = double_pendulum()
    system.units = "mm-t-s"
    system.motor("push", "hinge", lambda t, angle, speed: -0.01 * angle)
    return flexmb.simulate(system, 0.05, step=1e-3, output_step=1e-3)


@pytest.fixture(scope="module")
def bar():
    box = fem.structured_meshes.block("hexahedron", (0.3, 0.02, 0.01), (6, 1, 1))
    return fem.Model(box, fem.Material.steel()).with_interfaces(root="x0", tip="x1")


@pytest.fixture(scope="module")
def basis(bar):
    return reduction.craig_bampton(bar, 3, reference_frame="root")


@pytest.fixture(scope="module")
def bent(bar, basis):
    """A clamped bar in two bent states, half a second apart."""
    system = flexmb.System(name="bar", units="mm-t-s")
    body = system.add(flexmb.flexible_body(bar, basis, name="bar"))
    system.fixed("clamp", system.ground, body["root"])
    mechanism = system.build()
    q = np.repeat(mechanism.initial.q[None], 3, axis=0)
    q[1:, 7] = 1e-5, 2e-5
    none = np.zeros((3, len(mechanism.initial.w)))
    return result_of_states(mechanism, 0.5 * np.arange(3), q, none, none, np.zeros((3, mechanism.joint_rows)))


def vibration(growth=(-1.0, -20.0, -300.0, -1e8), frequencies=(2.0, 30.0, 31.0, 0.0)):
    growth, frequencies = np.array(growth), np.array(frequencies)
    values = growth + 2j * np.pi * frequencies
    return Vibration(values, np.eye(len(values)), np.full(len(values), 1e-9), "m-kg-s")


def loci(count=3, **given):
    """Vibrations at 1, 2, ... Hz, over speeds up to 100 rad/s."""
    speeds = np.linspace(0, 100, 5)
    f = np.arange(1, count + 1) * np.ones((5, 1))
    values = -0.5 * f + 2j * np.pi * f
    given = {"units": "m-kg-s", "dimension": "angular velocity"} | given
    return EigenvalueLoci(
        "speed", speeds, values, f + 0.01 * speeds[:, None], np.full(5, -0.5), np.full(5, True), **given
    )


def response(outputs=5, inputs=4):
    f = np.geomspace(1, 100, 30)
    names = [tuple(f"{kind} {k + 1}" for k in range(n)) for kind, n in (("in", inputs), ("out", outputs))]
    gains = 10.0 ** np.arange(outputs * inputs).reshape(outputs, inputs)
    values = gains / (1 - (f / 10) ** 2 + 0.1j * f / 10)[:, None, None]
    return Response(f, values, *names, units="m-kg-s")


def runs(count=10):
    """Runs of many methods; the more accurate ones take longer."""
    return [
        Precision({"method": f"method {k}", "step": h, "rho_inf": 0.8}, 0.1 / h * (k + 1), h**2)
        for k in range(count)
        for h in (1e-2, 1e-3)
    ]


STABLE = StabilityMap("speed", "seal", *np.arange(6.0).reshape(2, 3), *np.ones((2, 3, 3)), np.full((3, 3), True), "SI")
STUDY = Study(
    tuple(Row({"mass": m, "length": x}, {"force in pin": 1000 * m * x, "score": m}) for m in (1, 2) for x in (1, 2))
)
GRADIENT = Gradient(
    {"mass": 1.0, "length": 2.0},
    {"force in pin": 3.0},
    {"force in pin": np.array([3.0, 1.5])},
    {"force in pin": np.zeros(2)},
)


@pytest.fixture(scope="module")
def arguments(result, bent, bar, basis):
    """What each plot shows."""
    sprung = flexmb.System(gravity=(0, 0, -9.81))
    mass = sprung.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, -1))
    sprung.spring_damper("spring", sprung.ground.at((0, 0, 0)), mass.at((0, 0, 0)), stiffness=50.0, damping=1.0)
    swung = flexmb.simulate(sprung, 0.5, step=1e-3)
    held = double_pendulum()
    signals = {"measured": "coordinate:hinge", "reference": 0.1}
    held.controller("servo", flexmb.controllers.pid(3.0, 1.0), inputs=signals, outputs={"command": "effort:hinge"})
    held = flexmb.simulate(held, 0.05, step=1e-3)
    falling = flexmb.System(gravity=(0, 0, -9.81))
    ball = falling.add(flexmb.rigid_body("ball", mass=0.1, inertia=(1e-5,) * 3), position=(0, 0, 0.0101))
    falling.contact(
        "floor", Plane().on(falling.ground.at((0, 0, 0))), Sphere(0.01).on(ball.at((0, 0, 0))), law=power_law(1e6)
    )
    bounced = flexmb.simulate(falling, 0.01, step=1e-5).contact("floor")
    errors = [reduction.response_error(bar, basis, (0, 1000.0))]
    gramian = SimpleNamespace(options={"singular_values": 10.0 ** -np.arange(9)}, n_modes=4, method="Gramian")
    pushed = Inverse(("push",), result.t, np.sin(result.t)[:, None], result, 3)
    return {
        "plot_eigenvalues": [vibration()],
        "plot_eigenvalue_loci": [loci()],
        "plot_response": [response(5, 1)],
        "plot_stability": [STABLE],
        "plot_multipliers": [SimpleNamespace(multipliers=np.array([0.9, 1.2, 0.5j]))],
        "plot_joint_sweep": [joint_sweep(result.mechanism, "hinge", np.linspace(0, 1, 5))],
        "plot_inverse": [pushed],
        "plot_work_precision": [runs()],
        "plot_response_errors": [errors],
        "plot_frequency_responses": [[reduction.frequency_response(bar, np.linspace(10, 900, 9), basis=basis)]],
        "plot_singular_values": [gramian],
        "plot_measures": [result],
        "plot_energy": [result],
        "plot_energy_by_element": [swung.energy_by_element()],
        "plot_controller": [held, "servo"],
        "plot_contact": [bounced],
        "plot_comparison": [Comparison({"rigid": result, "flexible": result})],
        "plot_stress": [largest_stress(bent, "bar")],
        "plot_study": [STUDY],
        "plot_gradient": [GRADIENT],
    }


def names_of(axis):
    return [text for text in axis.texts if isinstance(text, Annotation) and text.get_text()]


@pytest.mark.parametrize("name", PLOTS)
def test_plots_return_figure_and_axes_that_are_labelled_and_whole(arguments, name, tmp_path):
    figure, axes = PLOTS[name](*arguments[name], path=tmp_path / "plot.png")  # which draws it
    assert is_picture(tmp_path / "plot.png")
    assert isinstance(figure, Figure)
    assert isinstance(axes, list)
    assert axes == [axis for axis in figure.axes if axis.get_label() != "<colorbar>"]
    assert axes[-1].get_xlabel()
    assert axes[0].get_ylabel() or axes[0].get_title(loc="left") or axes[0].get_yticklabels()
    width, height = figure.bbox.size
    for axis in figure.axes:
        box = axis.get_tightbbox()
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -2, f"{name} is cut off"
        boxes = sorted((Text.get_window_extent(t) for t in names_of(axis)), key=lambda box: box.y0)
        if name != "plot_eigenvalues":  # where names are beside points
            assert all(above.y0 > below.y1 - 2.5 for below, above in pairwise(boxes)), f"{name}: names overlap"


def test_a_plot_that_cannot_be_written_is_told(arguments, tmp_path):
    with pytest.raises(PictureError, match="cannot be written"):
        linear_plots.plot_eigenvalues(vibration(), tmp_path / "missing" / "plot.png")


def test_a_plot_for_a_file_is_unknown_to_pyplot(arguments, tmp_path):
    """No window opens, whatever the backend, and it may be drawn in a thread; the picture is the same."""
    before = plt.get_fignums()
    figure, _ = result_plots.plot_energy(*arguments["plot_energy"], tmp_path / "file.png")
    assert plt.get_fignums() == before
    shown, _ = result_plots.plot_energy(*arguments["plot_energy"])
    assert plt.get_fignums() != before
    plt.close(shown)
    shown.savefig(tmp_path / "shown.png", dpi=130)
    assert np.array_equal(*(plt.imread(tmp_path / name) for name in ("file.png", "shown.png")))
    assert isinstance(figure, Figure)


def test_every_plot_is_tried(arguments):
    assert set(arguments) == set(PLOTS)
    for name, function in PLOTS.items():
        assert inspect.signature(function).parameters["path"].default is None, name


# units ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("plot_measures", ["angle (rad)", "time (s)"]),
        ("plot_energy", ["energy (mJ)", "time (s)"]),
        ("plot_comparison", ["force (N)", "amplitude (N)", "frequency (Hz)", "distance (mm)"]),
        ("plot_stress", ["largest von Mises stress (MPa)", "time (s)"]),
        ("plot_inverse", ["moment (N mm)", "time (s)"]),
        ("plot_joint_sweep", ["x (mm)", "joint 'hinge' (rad)"]),
        ("plot_eigenvalues", ["frequency (Hz)", "growth rate (1/s)"]),
        ("plot_eigenvalue_loci", ["frequency (Hz)", "growth rate (1/s)", "speed (rad/s)"]),
        ("plot_response", ["frequency (Hz)"]),
    ],
)
def test_labels_have_the_units_of_the_model(arguments, name, labels):
    _, axes = PLOTS[name](*arguments[name])
    assert set(labels) <= {text for axis in axes for text in (axis.get_xlabel(), axis.get_ylabel())}


def test_without_names_of_units_labels_are_neutral(arguments):
    plain = [
        linear_plots.plot_eigenvalues(replace(vibration(), units=None))[1][0].get_xlabel(),
        reduction_plots.plot_response_errors(*arguments["plot_response_errors"])[1][0].get_ylabel(),
        linear_plots.plot_eigenvalue_loci(loci(units=None))[1][1].get_xlabel(),
    ]
    assert plain == ["frequency (cycles per unit of time)", "displacement per force", "speed (rad per unit of time)"]
    _, axes = reduction_plots.plot_response_errors(*arguments["plot_response_errors"], units="mm-t-s")
    assert axes[0].get_ylabel() == "displacement per force (mm/N)"


def test_plots_convert_to_the_requested_units(result):
    _, (axis,) = result.plot("coordinate:hinge", unit=("deg", "ms"))
    x, y = axis.lines[0].get_data()
    np.testing.assert_allclose(y, np.degrees(result.coordinate("hinge")), rtol=1e-12)
    np.testing.assert_allclose(x, 1e3 * result.t, rtol=1e-12)
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("time (ms)", "angle (deg)")
    _, (axis,) = result.plot("force:hinge:x", unit="kN", units="m-kg-s")
    np.testing.assert_allclose(axis.lines[0].get_ydata(), 1e-3 * result.reaction("hinge")[:, 0], rtol=1e-12)
    _, (top, _) = result_plots.plot_energy(result, unit="J")
    drawn = {line.get_label(): line.get_ydata() for line in top.lines}
    np.testing.assert_allclose(drawn["kinetic"], 1e-3 * result.ledger.kinetic, rtol=1e-12)  # mJ in mm-t-s
    _, (axis, _) = study_plots.plot_study(STUDY, measures=["force in pin", "score"], unit="kN", units="SI")
    assert axis.get_title(loc="left") == "force in pin (kN)"
    np.testing.assert_allclose(sorted(y for line in axis.lines for y in line.get_ydata()), [1, 2, 2, 4])
    with pytest.raises(UnitError, match=r"no quantity with the unit 'kN'.*angle"):
        result.plot("coordinate:hinge", unit="kN")


def test_measures_are_drawn_over_another_one(result):
    _, (axis,) = result.plot("rate:hinge", over="coordinate:hinge", unit="deg")
    x, y = axis.lines[0].get_data()
    np.testing.assert_allclose(x, np.degrees(result.coordinate("hinge")), rtol=1e-12)
    np.testing.assert_allclose(y, result.columns(["rate:hinge"])["rate:hinge"].values, rtol=1e-12)
    assert axis.get_xlabel() == "coordinate:hinge: angle (deg)"
    with pytest.raises(MeasureError, match="nothing"):
        result.plot("rate:hinge", over="nothing")


def test_pages_and_the_viewer_name_units(result):
    assert list(curves(result)) == ["energies (mJ)", "hinge: rotation (rad)", "elbow: rotation (rad)"]


def test_the_command_line_takes_units(result, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = save_result(result, tmp_path / "swing.h5")
    drawn = []
    monkeypatch.setattr("flexmb.plots.result_plots.plot_energy", lambda *a, **k: drawn.append(k))
    told = CliRunner().invoke(app, ["view", str(path), "--energy", "e.png", "--unit", "J", "--unit", "ms"])
    assert told.exit_code == 0, told.output
    assert drawn == [{"unit": ["J", "ms"], "units": None}]
    told = CliRunner().invoke(app, ["view", str(path), "--energy", "e.png", "--unit", "Joule"])
    assert told.exit_code == 2
    assert "no unit named 'Joule'" in told.output


# Campbell diagrams ----------------------------------------------------------------------------------------------------


def test_a_campbell_diagram_in_rpm_names_modes_and_orders():
    figure, (upper, lower) = linear_plots.plot_eigenvalue_loci(loci(), orders=(1, 2), names=["a", "b", "c"], unit="rpm")
    assert lower.get_xlabel() == "speed (rpm)"
    assert upper.get_ylabel() == "frequency (Hz)"
    lines = {line.get_label(): line for line in upper.lines}
    rpm, f = lines["2x"].get_data()
    np.testing.assert_allclose(f, 2 * rpm / 60, rtol=1e-12)  # two excitations in each revolution
    np.testing.assert_allclose(rpm[-1], 100 * 60 / (2 * np.pi), rtol=1e-12)
    assert {t.get_text() for t in names_of(upper)} >= {"a", "b", "c", "1x"}
    assert {t.get_text() for t in names_of(lower)} == {"a", "b", "c"}
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    assert told == ["in the axes of the bodies", "seen from the ground", "excitations per revolution"]
    _, (upper, _) = linear_plots.plot_eigenvalue_loci(loci(), orders=(1,), unit=("rpm", "cpm"))
    lines = {line.get_label(): line.get_data() for line in upper.lines}
    np.testing.assert_allclose(lines["1x"][1], lines["1x"][0], rtol=1e-12)
    np.testing.assert_allclose(lines["mode 2"][1], 120.0, rtol=1e-12)
    with pytest.raises(PictureError, match="follows 3 modes; found 1 names: a"):
        linear_plots.plot_eigenvalue_loci(loci(), names=["a"])
    with pytest.raises(UnitError, match="'speed' cannot be shown in 'rpm'"):
        linear_plots.plot_eigenvalue_loci(loci(dimension=None), unit="rpm")
    with pytest.raises(UnitError, match="units of the model must be known"):
        linear_plots.plot_eigenvalue_loci(loci(units=None), unit="rpm")


@pytest.mark.parametrize(
    ("plot", "nothing"), [("plot_eigenvalues", vibration((), ())), ("plot_eigenvalue_loci", loci(0))]
)
def test_motions_that_are_prescribed_have_no_diagram(plot, nothing):
    with pytest.raises(PictureError, match="no motion to plot"):
        PLOTS[plot](nothing)


def rotor(speed):
    system = flexmb.System(name="rotor", units="m-kg-s")
    spindle = system.add(flexmb.rigid_body("spindle", mass=1.0, inertia=(0.01, 0.01, 0.01)))
    disc = system.add(flexmb.rigid_body("disc", mass=2.0, inertia=(0.02, 0.02, 0.04)))
    system.revolute("bearing", system.ground.at((0, 0, 0)), spindle, axis=(0, 0, 1))
    system.drive("bearing", flexmb.time_functions.constant_speed(speed))
    shaft = {"stiffness": (800, 800, 1e5, 1e4, 1e4, 1e5), "damping": (4, 4, 20, 0.5, 0.5, 1)}
    system.bushing("shaft", spindle.at((0, 0, 0)), disc.at((0, 0, 0)), **shaft)
    return system


def test_a_speed_is_known_where_a_body_turns_with_it():
    found = campbell(rotor, [0.0, 30.0])
    assert (found.dimension, found.units) == ("angular velocity", "m-kg-s")
    assert campbell(lambda v: rotor(2 * v), [0.0, 30.0]).dimension is None


# eigenvalues and responses --------------------------------------------------------------------------------------------


def test_one_fast_motion_does_not_hide_the_others():
    _, (axis,) = linear_plots.plot_eigenvalues(vibration())
    places = axis.transAxes.inverted().transform(axis.transData.transform(np.column_stack(axis.lines[0].get_data())))
    assert (places > 0).all()
    assert (places < 1).all()
    heights = np.sort(places[:, 1])
    assert np.diff(heights).min() > 0.05
    assert [t.get_text() for t in names_of(axis)] == ["1", "2", "3", "4"]
    coarse = replace(vibration(), errors=np.array([1e-9, 1e-9, 1e-9, 1e3]))  # the error of the fast one says nothing
    _, (axis,) = linear_plots.plot_eigenvalues(coarse)
    assert axis.yaxis.get_transform().linthresh == 1.0
    even = vibration(growth=(-1.0, -2.0), frequencies=(1.0, 2.0))
    _, (axis,) = linear_plots.plot_eigenvalues(even)
    assert (axis.get_xscale(), axis.get_yscale()) == ("linear", "linear")
    many = vibration(growth=-np.ones(4), frequencies=(5.0, 5.0, 5.0, 6.0))
    _, (axis,) = linear_plots.plot_eigenvalues(many)
    assert [t.get_text() for t in names_of(axis)] == ["1-3", "4"]


def test_many_responses_have_a_panel_each():
    given = response()
    _, axes = linear_plots.plot_response(given)
    assert len(axes) == 2 * 5 * 4
    assert [axis.get_title() for axis in axes[:4]] == [f"unit of in {k}" for k in (1, 2, 3, 4)]
    assert [axes[8 * k].get_ylabel() for k in range(5)] == [f"out {k}\namplitude" for k in (1, 2, 3, 4, 5)]
    np.testing.assert_array_equal(axes[8 * 2 + 3].lines[0].get_ydata(), np.abs(given.of("out 3", "in 4")))
    np.testing.assert_array_equal(axes[8 * 2 + 7].lines[0].get_ydata(), np.degrees(np.angle(given.of("out 3", "in 4"))))
    _, axes = linear_plots.plot_response(given, outputs=["out 2", "out 5"], inputs=["in 3"], unit="rad/s")
    assert [t.get_text() for t in names_of(axes[0])] == ["out 2 / in 3", "out 5 / in 3"]
    np.testing.assert_allclose(axes[1].lines[0].get_xdata(), 2 * np.pi * given.frequencies, rtol=1e-12)
    with pytest.raises(PictureError, match=r"no output named 'out 9'.*'out 1'"):
        linear_plots.plot_response(given, outputs=["out 9"])


@pytest.mark.parametrize(
    ("units", "length", "moment"), [("m-kg-s", "m", "N m"), ("mm-t-s", "mm", "N mm"), (None, "", "")]
)
def test_responses_have_the_units_of_measures_and_inputs(units, length, moment):
    """On axes of their own, and in names of curves on axes that they share; none for functions of the user."""
    system = flexmb.System(gravity=(0, 0, -9.81), units=units)
    arm = system.add(flexmb.uniform_rod("arm", mass=2.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), arm["start"], axis=(0, 1, 0))
    system.joint_spring("hold", "hinge", stiffness=60.0, damping=0.5)
    system.load("shake", arm["end"], force=(0, 0, 1), factor=0.0)
    outputs = {text: measure(text) for text in ("position:arm.end:z", "coordinate:hinge")}
    outputs["own"] = lambda result: result.position("arm.end")[:, 2]
    small = linearise(equilibrium(system))
    given = frequency_response(small, [0.1, 1.0, 10.0], ["shake", "hold"], outputs)
    what, of_hold = {"own": "", "coordinate:hinge": "", "position:arm.end:z": ""}, "unit of hold"
    if units is not None:
        what |= {"coordinate:hinge": " (rad)", "position:arm.end:z": f" ({length})"}
        of_hold = f"1 {moment} of hold"
    _, axes = linear_plots.plot_response(given)
    assert [axis.get_ylabel() for axis in axes[::4]] == [f"{name}\namplitude{what[name]}" for name in outputs]
    assert [axis.get_title() for axis in axes[:2]] == ["unit of shake", of_hold]
    _, axes = linear_plots.plot_response(given, outputs=["position:arm.end:z"], inputs=["hold"])
    assert axes[0].get_ylabel() == f"amplitude{what['position:arm.end:z']} for a\n{of_hold}"
    _, axes = linear_plots.plot_response(given, inputs=["shake"])
    assert {t.get_text() for t in names_of(axes[0])} == {f"{name}{what[name]} / shake" for name in outputs}
    if units is None:
        return
    _, axes = linear_plots.plot_response(given, outputs=["coordinate:hinge"], inputs=["hold"], unit="deg")
    assert axes[0].get_ylabel() == f"amplitude (deg) for a\n{of_hold}"
    values = np.degrees(np.abs(given.of("coordinate:hinge", "hold")))
    np.testing.assert_allclose(axes[0].lines[0].get_ydata(), values, rtol=1e-12)


# names, legends, colour bars ------------------------------------------------------------------------------------------


def test_names_keep_their_order_and_distance():
    np.testing.assert_allclose(apart([0.1, 0.5, 0.9], 0.1), [0.1, 0.5, 0.9])
    np.testing.assert_allclose(apart([0.5, 0.5, 0.5], 0.1), [0.5, 0.6, 0.7])
    np.testing.assert_allclose(apart([0.98, 0.99, 1.0], 0.1), [0.8, 0.9, 1.0])
    assert len(apart([], 0.1)) == 0


def test_names_of_curves_are_at_the_last_points_in_view():
    """At their heights there, whatever the order of the curves at their beginning."""
    _, axis = subplots("unseen.png", figsize=(6, 6))
    ends = {"down": (1.0, 0.5), "up": (1.0, 2.5), "short": (0.5, 1.5), "gap": (0.8, 2.0), "leaves": (0.75, 3.0)}
    axis.plot([0, 1], [2, 0.5], label="down")
    axis.plot([0, 1], [0, 2.5], label="up")
    axis.plot([0, 0.5], [1.2, 1.5], label="short")
    axis.plot([0, 0.4, 0.8, 1.0], [0.1, 0.2, 2.0, np.nan], label="gap")
    axis.plot([0, 0.75, 1.0], [0.3, 3.0, 5.0], label="leaves")
    axis.set(xlim=(-1, 2), ylim=(0, 3))
    name_curves(axis)
    named = {text.get_text(): text for text in names_of(axis)}
    assert named.keys() == ends.keys()
    for name, (x, y) in ends.items():
        np.testing.assert_allclose(named[name].xy, ((x + 1) / 3, y / 3), atol=1e-12)
    heights = {name: text.get_position()[1] for name, text in named.items()}
    assert sorted(heights, key=heights.get) == ["down", "short", "gap", "up", "leaves"]


def test_comparisons_name_their_curves_beside_them(arguments):
    _, axes = result_plots.plot_comparison(*arguments["plot_comparison"])
    for axis in axes[:2]:
        assert {t.get_text() for t in names_of(axis)} == {"rigid", "flexible"}
        assert axis.get_legend() is None


def test_comparisons_draw_each_fidelity_against_the_last_one():
    """Forces, their spectra, distances of paths in metres, and elastic energies, by their definitions."""
    system = flexible_pendulum(np.random.default_rng(5))
    system.units = "mm-t-s"
    found = flexmb.compare(system, 0.04, ("rigid", 1, "flexible"), step=1e-3, output_step=2e-3)
    results = found.results
    _, (force, spectrum, paths, energy) = result_plots.plot_comparison(found, joint="hinge", unit="m")
    drawn = [
        {line.get_label(): line.get_data() for line in axis.lines if line.get_label()[0] != "_"}
        for axis in (force, spectrum, paths, energy)
    ]
    assert [set(lines) for lines in drawn] == [
        {*results},
        {*results},
        {"random.end, rigid", "random.end, 1 modes"},
        {*results},
    ]
    forces = {name: np.linalg.norm(r.reaction("hinge")[:, :3], axis=1) for name, r in results.items()}
    end = {name: r.position("random.end") for name, r in results.items()}
    for name, result in results.items():
        f, power = scipy.signal.periodogram(forces[name], 500.0, "hann", detrend="linear", scaling="spectrum")
        np.testing.assert_allclose(drawn[0][name], (result.t, forces[name]), rtol=1e-12)
        np.testing.assert_allclose(drawn[1][name], (f[1:], np.sqrt(2 * power[1:])), rtol=1e-9)
        np.testing.assert_allclose(drawn[3][name], (result.t, result.ledger.elastic), rtol=1e-12)
    largest = 0.0
    for name in ("rigid", "1 modes"):
        off = 1e-3 * np.linalg.norm(end[name] - end["flexible"], axis=1)
        largest = max(largest, off.max())
        np.testing.assert_allclose(drawn[2][f"random.end, {name}"], (found.t[1:], off[1:]), rtol=1e-12)
    assert paths.get_ylim() == pytest.approx((1e-6 * largest, 2 * largest))
    assert (paths.get_ylabel(), energy.get_ylabel()) == ("distance (m)", "energy (mJ)")
    for axis in (force, spectrum, energy):
        colours = {line.get_label(): line.get_color() for line in axis.lines}
        assert (colours["rigid"], colours["flexible"]) == (GREY, BLUE)
        assert colours["1 modes"] not in (GREY, BLUE)


def test_more_curves_than_fit_have_a_legend(result):
    places = ("first.start", "first.end", "second.start", "second.end", "first", "second")
    _, (axis,) = result.plot([f"position:{place}:{x}" for place in places for x in ("x", "y", "z", "size")])
    assert len(axis.get_legend().get_texts()) == 24


def test_work_precision_runs_from_small_to_large_errors_and_explains_each_line():
    _, (axis,) = precision_plots.plot_work_precision(runs())
    low, high = axis.get_xlim()
    assert low < 1e-6
    assert high > 1e-4
    told = [text.get_text() for text in axis.get_legend().get_texts()]
    assert told == [f"method {k}: step 0.001 to 0.01, rho_inf 0.8" for k in range(10)]
    assert len(axis.lines) == 10
    given = [Precision({"method": flexmb.Radau(tolerance=x)}, 1.0, x) for x in (1e-4, 1e-6)]
    _, (axis,) = precision_plots.plot_work_precision([*given, Precision({}, 1.0, 0.1)])
    told = [text.get_text() for text in axis.get_legend().get_texts()]
    assert told == ["radau: tolerance 1e-06 to 0.0001", "generalised-alpha"]


def test_colour_bars_of_stresses_are_whole_and_name_the_unit(bent, tmp_path):
    plotter = flexmb.show(bent, stress=True, window=False)
    ((title, bar),) = plotter.scalar_bars.items()
    assert "MPa" in title
    x, y = bar.GetPosition()
    assert x + bar.GetWidth() < 1
    assert y + bar.GetHeight() < 1
    _whole(plotter.screenshot(return_img=True))
    plotter.close()
    path = pictures.picture_result(bent, tmp_path / "bent.png", stress=True)
    _whole((255 * plt.imread(path)[..., :3]).round().astype(int))


def _whole(image):
    """The margin of a picture is the background alone: its rows have one colour."""
    margin = image[20:, -6:].astype(int)
    assert np.abs(margin - margin[:, :1]).max() <= 3
    assert np.abs(np.diff(margin[:, 0], axis=0)).max() <= 3


def test_curves_of_a_study_are_named_by_the_other_parameters():
    """One curve needs no name."""
    _, axes = study_plots.plot_study(STUDY, against="mass")
    assert [sorted(text.get_text() for text in names_of(axis)) for axis in axes] == 2 * [["length 1", "length 2"]]
    rows = tuple(Row({"mass": m}, {"score": m}) for m in (1, 2, 3))
    _, (axis,) = study_plots.plot_study(Study(rows))
    assert len(axis.lines) == 1
    assert not names_of(axis)


def test_errors_are_drawn_over_their_band_in_any_unit(arguments):
    (errors, *_) = arguments["plot_response_errors"]
    band = errors[0].frequencies
    for unit, factor in (("Hz", 1.0), ("rad/s", 2 * np.pi)):
        _, (top, bottom) = reduction_plots.plot_response_errors(errors, units="SI", unit=unit)
        np.testing.assert_allclose(bottom.get_xlim(), (0.0, factor * band[-1]))
        np.testing.assert_allclose(top.lines[0].get_xdata(), factor * band)


def test_lines_of_a_study_run_along_its_parameter():
    """In whatever order its variants were given."""
    order = (3.0, 1.0, 2.0, 5.0)
    found = Study(tuple(Row({"mass": m, "kind": k}, {"score": m**2}) for m in order for k in ("a", "b")))
    _, (axis,) = study_plots.plot_study(found)
    assert len(axis.lines) == 2
    for line in axis.lines:
        np.testing.assert_array_equal(line.get_xdata(), sorted(order))
        np.testing.assert_array_equal(line.get_ydata(), np.square(sorted(order)))


def test_bars_of_a_gradient_and_their_errors_are_in_per_cent():
    """Of the measure, for one per cent of the parameter; errors have no sign."""
    at, outcome = np.array([2.0, -0.5]), {"force in pin": 4.0, "kinetic energy": -0.1}
    slopes = {"force in pin": np.array([3.0, 8.0]), "kinetic energy": np.array([0.2, 0.4])}
    errors = {"force in pin": np.array([0.2, 0.4]), "kinetic energy": np.array([0.01, 0.02])}
    found = Gradient(dict(zip(("mass", "length"), at.tolist(), strict=True)), outcome, slopes, errors)
    _, (axis,) = study_plots.plot_gradient(found)
    bars = {bar.get_label(): bar for bar in axis.containers if bar.get_label() in outcome}
    assert list(bars) == list(outcome)
    for name, bar in bars.items():
        expected = slopes[name] * at / outcome[name]
        np.testing.assert_allclose([patch.get_width() for patch in bar.patches], expected)
        ends = np.array(bar.errorbar.lines[2][0].get_segments())[:, :, 0]
        np.testing.assert_allclose(ends.mean(axis=1), expected)
        np.testing.assert_allclose(0.5 * np.ptp(ends, axis=1), np.abs(errors[name] * at / outcome[name]))


def test_studies_without_numbers_are_refused():
    with pytest.raises(StudyError, match="No parameter of the study is a number"):
        study_plots.plot_study(Study((Row({"method": "a"}, {"x": 1.0}),)))


def test_the_heat_of_an_energy_plot_is_that_of_bodies_and_dampers():
    system = flexible_pendulum(np.random.default_rng(2), damping=0.2)
    system.joint_spring("damper", "hinge", damping=0.05)
    result = flexmb.simulate(system, 0.2, step=1e-3)
    ledger = result.ledger
    assert min(ledger.modal_heat[-1], ledger.damper_heat[-1]) > 1e-6
    _, (top, bottom) = result_plots.plot_energy(result)
    (heat,) = (line for line in top.lines if line.get_label() == "heat")
    np.testing.assert_allclose(heat.get_ydata(), ledger.modal_heat + ledger.damper_heat, rtol=1e-12)
    (size,) = (line for line in bottom.lines if line.get_label() == "|residual|")
    np.testing.assert_allclose(size.get_ydata(), np.abs(ledger.residual[1:]), rtol=1e-12)
    assert np.ptp(np.sign(ledger.residual[1:])) == 2 or ledger.residual.max() <= 0


def test_colours_of_a_film_reach_to_the_largest_stress_of_all_times(bent, tmp_path, monkeypatch):
    """Also between the stored times that the frames show."""
    between = result_of_states(
        bent.mechanism, bent.t, bent.q[[0, 2, 0]], bent.w, bent.w, np.zeros((3, bent.mechanism.joint_rows))
    )
    ends = []
    show = MovingScene.show_stress
    monkeypatch.setattr(
        MovingScene, "show_stress", lambda scene, on: ends.append(scene.largest_stress) or show(scene, on)
    )
    pictures.animate(between, tmp_path / "bar.gif", frames=2, stress=True)
    assert ends == [pytest.approx(largest_stress(bent, "bar").values.max())]

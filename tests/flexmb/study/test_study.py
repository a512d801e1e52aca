"""Many variants: the same numbers as one at a time, whatever dies on the way."""

import csv
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
import types
from pathlib import Path

import numba
import numpy as np
import pytest
from mechanisms import random_flexible_body
from test_cli import is_picture
from typer.testing import CliRunner

import flexmb
from fem.errors import FlexmbError
from flexmb.cli.main import app
from flexmb.cli.vary import values_of
from flexmb.errors import ChangeError, ModelFileError, StudyError
from flexmb.files.models.changes import changed, number_at
from flexmb.files.models.model_file import load_model
from flexmb.mechanism.compile import compiled
from flexmb.plots.study_plots import plot_study
from flexmb.study import direct_gradient
from flexmb.study.identity import identity
from flexmb.study.kept import KeptOutcomes
from flexmb.study.workers import one_thread

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "slider-crank.toml"


def pendulum(length=1.0, mass=2.0):
    """A point mass on a hinged rod, released from the horizontal."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    inertia = (1e-6 * mass,) * 3
    bob = system.add(flexmb.rigid_body("bob", mass=mass, inertia=inertia, centre=(length, 0, 0)))
    system.revolute("hinge", system.ground.at((0, 0, 0)), bob, axis=(0, 0, 1))
    return system


def numbered(directory):
    """A model function that leaves a file for each variant it was called for, and numbers."""

    def variant(x, y=0):
        with (Path(directory) / f"{x}-{y}").open("a") as file:
            file.write("+")
        return {"sum": x + y}

    return variant


def calls(directory):
    return {file.name: len(file.read_text()) for file in Path(directory).iterdir()}


def test_full_factorial_in_order():
    variants = flexmb.full_factorial(a=[1, 2], b=(x for x in "pq"))
    assert variants == [{"a": 1, "b": "p"}, {"a": 1, "b": "q"}, {"a": 2, "b": "p"}, {"a": 2, "b": "q"}]


def test_a_study_equals_its_simulations_one_by_one():
    """The largest force in the hinge of a pendulum released from the horizontal: 3 m g, whatever its length."""
    variants = flexmb.full_factorial(length=[0.5, 1.0], mass=[1.0, 3.0])
    done = []
    study = flexmb.parameter_study(pendulum, variants, 1.0, step=1e-3, workers=2, progress=done.append)
    assert study.parameter("mass") == [1.0, 3.0, 1.0, 3.0]
    force = study.measure("force in hinge")
    assert force == pytest.approx(3 * 9.81 * np.array([1.0, 3.0, 1.0, 3.0]), rel=1e-4)
    for variant, value in zip(variants, force, strict=True):
        assert flexmb.study.peaks(flexmb.simulate(pendulum(**variant), 1.0, step=1e-3))["force in hinge"] == value
    assert done == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert str(study).startswith("4 variants")


def test_the_peak_of_a_residual_is_its_largest_size():
    energies = types.SimpleNamespace(
        kinetic=np.array([0.0, 3.0]), elastic=np.array([2.0, 1.0]), residual=np.array([0.1, -0.4])
    )
    nothing = types.SimpleNamespace(joints=(), bodies=())
    found = flexmb.study.peaks(types.SimpleNamespace(mechanism=nothing, ledger=energies))
    assert found == {"kinetic energy": 3.0, "elastic energy": 2.0, "energy residual": 0.4}


def test_a_failed_variant_tells_why_and_the_others_go_on(tmp_path):
    """A rod without mass cannot be simulated; a bug of the user's function is named by its kind."""

    def model(mass):
        return {"speed": 1 / 0} if mass == 7.0 else pendulum(mass=mass)

    study = flexmb.parameter_study(model, [{"mass": m} for m in (1.0, -1.0, 7.0)], 0.1, step=1e-2, threads=True)
    assert [row.error is None for row in study.rows] == [True, False, False]
    assert "mass" in study.rows[1].error
    assert "ZeroDivisionError" in study.rows[2].error
    assert np.isnan(study.measure("kinetic energy")).tolist() == [False, True, True]
    with study.write_csv(tmp_path / "study.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["kinetic energy"]) == study.measure("kinetic energy")[0]
    assert rows[1]["error"] == study.rows[1].error


def test_variants_may_have_different_measures_and_the_first_one_none():
    told = {2: {"a": 5.0}, 3: {"b": 7.0, "a": 6.0}}
    study = flexmb.parameter_study(lambda x: told[x], [{"x": x} for x in (1, 2, 3)], threads=True)
    assert study.measures == ["a", "b"]
    np.testing.assert_array_equal(study.measure("a"), [np.nan, 5.0, 6.0])
    np.testing.assert_array_equal(study.measure("b"), [np.nan, np.nan, 7.0])


@pytest.mark.parametrize(
    ("parameters", "options", "words"),
    [
        ([], {}, "at least one"),
        ([{"x": 1}, {"z": 1}], {}, "same parameters"),
        ([{"x": 1}], {"step": 1e-3}, "duration"),
        ([{"x": object()}], {"checkpoint": "kept.jsonl"}, "numbers"),
        ([{"x": 1}], {"measure": "coordinate:pin"}, "must be a function of a result.*found 'coordinate:pin'"),
    ],
)
def test_a_study_that_cannot_be_is_refused(tmp_path, monkeypatch, parameters, options, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StudyError, match=words):
        flexmb.parameter_study(lambda x: {"x": 1.0}, parameters, **options)


def test_all_variants_failing_is_an_error():
    with pytest.raises(StudyError, match=r"All 2 variants failed.*mass"):
        flexmb.parameter_study(pendulum, [{"mass": -1.0}, {"mass": -2.0}], 0.1, threads=True)
    with pytest.raises(StudyError, match="give the duration"):
        flexmb.parameter_study(pendulum, [{"mass": 1.0}], workers=1)


@pytest.mark.parametrize(
    ("made", "found"), [(2.0, "found float"), ({"x": np.zeros(3)}, r"found an array of \(3,\) for 'x'")]
)
def test_a_measure_that_returns_no_numbers_by_name_is_told(made, found):
    with pytest.raises(StudyError, match=f"numbers by name.*{found}"):
        flexmb.parameter_study(lambda x: made, [{"x": 1}], threads=True)
    with pytest.raises(StudyError, match=f"numbers by name.*{found}"):
        direct_gradient(pendulum, {"mass": 1.0}, 0.01, step=1e-3, measure=lambda r: made)


def test_names_that_do_not_exist_are_told():
    study = flexmb.parameter_study(lambda x: {"double": 2 * x}, [{"x": 1}, {"x": 2}], threads=True)
    assert study.columns["double"].tolist() == [2.0, 4.0]
    with pytest.raises(StudyError, match="double"):
        study.measure("duble")
    with pytest.raises(StudyError, match="x"):
        study.parameter("y")


def test_a_killed_process_loses_nothing_and_repeats_nothing_finished(tmp_path):
    """One process is killed once, in variant 5: every variant has its outcome, and none that was finished was made again."""
    (tmp_path / "calls").mkdir()
    variant, mark = numbered(tmp_path / "calls"), tmp_path / "killed"

    def deadly(x):
        if x == 5 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return variant(x)

    kept = tmp_path / "kept.jsonl"
    study = flexmb.parameter_study(deadly, [{"x": x} for x in range(12)], workers=2, checkpoint=kept)
    assert not study.failed
    assert study.measure("sum").tolist() == list(range(12))
    again = [name for name, count in calls(tmp_path / "calls").items() if count > 1]
    assert len(again) <= 3  # at work in the other process, or waiting in its queue
    assert len(kept.read_text().splitlines()) == 1 + 12


@pytest.mark.long
def test_a_variant_that_kills_its_process_fails_alone(tmp_path):
    def deadly(x):
        if x == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"x": x}

    study = flexmb.parameter_study(deadly, [{"x": x} for x in range(8)], workers=2)
    assert [row.parameters["x"] for row in study.failed] == [3]
    assert "process died" in study.failed[0].error


def test_a_study_goes_on_from_what_it_kept(tmp_path):
    """Also after its file was cut off in the middle of a line; another study's file is refused."""
    (tmp_path / "calls").mkdir()
    kept, variant = tmp_path / "kept.jsonl", numbered(tmp_path / "calls")
    flexmb.parameter_study(variant, [{"x": x} for x in range(4)], threads=True, checkpoint=kept)
    lost = json.loads(json.loads(kept.read_text().splitlines()[-1])["variant"])["x"]  # that of the slowest thread
    kept.write_text(kept.read_text()[:-9])
    study = flexmb.parameter_study(variant, [{"x": np.int64(x)} for x in range(6)], threads=True, checkpoint=kept)
    assert study.measure("sum").tolist() == list(range(6))
    assert calls(tmp_path / "calls") == {f"{x}-0": 2 if x == lost else 1 for x in range(6)}
    flexmb.parameter_study(variant, [{"x": x} for x in range(6)], threads=True, checkpoint=kept)
    assert sum(calls(tmp_path / "calls").values()) == 7
    with pytest.raises(StudyError, match="another study"):
        flexmb.parameter_study(pendulum, [{"mass": 1.0}], 0.1, checkpoint=kept)
    with pytest.raises(StudyError, match="cannot be stored"):
        flexmb.parameter_study(variant, [{"x": 1}], checkpoint=tmp_path / "nowhere" / "kept.jsonl")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of Dask's own, at its end
def test_a_dask_cluster_that_loses_a_worker_loses_no_variant(tmp_path):
    """A real scheduler and two worker processes; one is killed in the middle."""
    distributed = pytest.importorskip("distributed")
    (tmp_path / "calls").mkdir()
    variant, mark = numbered(tmp_path / "calls"), tmp_path / "killed"

    def deadly(x):
        time.sleep(0.05)
        if x == 9 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return variant(x)

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        distributed.LocalCluster(local_directory=str(tmp_path), silence_logs=50, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor(pure=False)
        study = flexmb.parameter_study(deadly, [{"x": x} for x in range(30)], executor=executor)
    assert not study.failed
    assert study.measure("sum").tolist() == list(range(30))
    made = calls(tmp_path / "calls")
    assert len(made) == 30
    assert sum(made.values()) <= 31  # the other worker's variants were left alone


def test_a_study_of_reductions():
    """How a frequency converges with the modes, by the same call."""
    import fem
    import reduction

    def variant(modes):
        part = fem.Model(fem.structured_meshes.block("hexahedron20", (1.0, 0.1, 0.1), (8, 1, 1)), fem.Material.steel())
        basis = reduction.craig_bampton(part.with_interfaces(a="x0", b="x1"), modes)
        return {"frequency": float(basis.frequencies[0])}

    found = flexmb.parameter_study(variant, flexmb.full_factorial(modes=[0, 2, 6]), threads=True).measure("frequency")
    assert found[0] > found[1] > found[2]
    assert found[1] == pytest.approx(found[2], rel=1e-2)


def test_keys_of_a_model_file_are_changed():
    loaded = load_model(EXAMPLE, {"joints.bearing.drive.speed": 100.0, "bodies.crank.mass": 4.0})
    mechanism = loaded.system.build()
    assert mechanism.bodies[mechanism.body_index("crank")].invariants.mass == 4.0
    with pytest.raises(ModelFileError, match=r"bearing.*crank pin"):
        load_model(EXAMPLE, {"joints.baering.drive.speed": 1.0})
    with pytest.raises(ModelFileError, match="mas"):
        load_model(EXAMPLE, {"bodies.crank.mas": 1.0})
    data = {"a": {"b": 1}}
    assert changed(data, {"a.c": 2}) == {"a": {"b": 1, "c": 2}}
    assert data == {"a": {"b": 1}}
    with pytest.raises(ChangeError, match="is a value"):
        changed(data, {"a.b.c": 1})
    listed = {"bodies": [{"name": "disc", "velocity": [1.0, 2.0, 3.0]}], "none": []}
    assert changed(listed, {"bodies.disc.velocity.1": 5.0})["bodies"][0]["velocity"] == [1.0, 5.0, 3.0]
    assert number_at(listed, "bodies.disc.velocity.2") == 3.0
    for wrong in ("3", "-1", "x"):
        with pytest.raises(ChangeError, match=r"'bodies.disc.velocity': the entries are 0 to 2; found"):
            changed(listed, {f"bodies.disc.velocity.{wrong}": 1.0})
    with pytest.raises(ChangeError, match="none"):
        changed(listed, {"none.0": 1.0})
    both = {"left": {"effort": 1.0}, "right": {"effort": 2.0, "speed": 3.0}}
    assert changed(both, {"left.effort, right.effort": 7.0}) == {
        "left": {"effort": 7.0},
        "right": {"effort": 7.0, "speed": 3.0},
    }
    with pytest.raises(ChangeError, match=r"'left.effort' is to change 2 times"):
        changed(both, {"left.effort,right.effort": 7.0, "left.effort": 8.0})
    with pytest.raises(ChangeError, match=r"'left.effort' is to change 2 times"):
        changed(both, {"left.effort,'left'.effort": 7.0})


@pytest.mark.parametrize("name", ["left, upper", "v1.2", "k=5", "driver's, own", 'the "old", one', "a", "it's"])
def test_keys_have_names_in_quotes(name):
    """On the command line and in `load_model`, beside a name that is the beginning of the other."""
    data = {"joints": [{"name": name, "k": 1.0}, {"name": "left", "k": 2.0}], "a": {name: 3.0}}
    quote = "'" if '"' in name else '"'
    key = f"joints.{quote}{name}{quote}.k"
    text, values = values_of(f"{key},a.{quote}{name}{quote}=5:7:2")
    assert values == [5.0, 7.0]
    assert changed(data, {text: 7.0}) == {
        "joints": [{"name": name, "k": 7.0}, {"name": "left", "k": 2.0}],
        "a": {name: 7.0},
    }
    assert number_at(data, key) == 1.0
    with pytest.raises(ChangeError, match="are 2 keys; a sensitivity needs one"):
        number_at(data, f"{key},joints.left.k")
    if set(name) & set(",."):
        with pytest.raises(ChangeError, match=f"in quotes: {quote}{re.escape(name)}{quote}"):
            changed(data, {f"joints.{name}.k": 7.0})


def test_names_without_a_comma_need_no_quotes():
    data = {"joints": [{"name": "it's left", "k": 1.0}, {"name": 'a "b"', "k": 2.0}]}
    text, _ = values_of('joints.it\'s left.k, joints.a "b".k=1,2')
    assert [joint["k"] for joint in changed(data, {text: 7.0})["joints"]] == [7.0, 7.0]


def test_values_of_a_key_may_be_materials_with_units():
    assert values_of("bodies.rod.material=steel:mm,aluminium:mm") == (
        "bodies.rod.material",
        ["steel:mm", "aluminium:mm"],
    )


@pytest.mark.parametrize("verb", ["study", "campbell"])
def test_a_key_that_is_varied_twice_is_refused(verb, tmp_path, monkeypatch):
    """The last values took the place of the others, and a map over one key twice showed these only."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.toml").write_text(EXAMPLE.read_text())
    words = [verb, "model.toml", "--vary", "bodies.crank.mass=1,2", "--vary", "bodies.crank.mass=3,4"]
    with pytest.raises(StudyError, match=r"--vary has 'bodies\.crank\.mass' twice"):
        CliRunner().invoke(app, words, catch_exceptions=False)


@pytest.mark.long
def test_the_verb_writes_table_and_plot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = EXAMPLE.read_text().replace("duration = 0.05", "duration = 2e-3")
    (tmp_path / "model.toml").write_text(text)
    words = ["study", "model.toml", "--vary", "joints.bearing.drive.speed=100:300:3", "--vary", "bodies.crank.mass=1,2"]
    done = CliRunner().invoke(app, [*words, "--checkpoint", "kept.jsonl", "--workers", "1"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "6 variants" in done.output
    with (tmp_path / "model.study.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["joints.bearing.drive.speed"]) for row in rows] == [100, 100, 200, 200, 300, 300]
    force = [float(row["force in bearing"]) for row in rows]
    assert force[0] < force[2] < force[4]
    assert is_picture(tmp_path / "model.study.png")
    for wrong in ("speed", "a=1:2:x"):
        with pytest.raises(StudyError, match="vary"):
            CliRunner().invoke(app, ["study", "model.toml", "--vary", wrong], catch_exceptions=False)


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--checkpoint", "kept.jsonl"], "kept.jsonl has the finished ones"), ([], "--checkpoint FILE keeps them")],
)
def test_an_interrupted_verb_says_what_is_kept(words, told, tmp_path, monkeypatch):
    def interrupted(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("flexmb.study.parameter_study", interrupted)
    shutil.copy(EXAMPLE, "model.toml")
    done = CliRunner().invoke(app, ["study", "model.toml", "--vary", "bodies.crank.mass=1,2", *words])
    assert done.exit_code == 130
    assert told in " ".join(done.output.split())


SLIDING = """
gravity = [2.0, 0.0, -9.81]
simulation = { duration = 0.5, step = 1e-2 }

[bodies.box]
kind = "rigid"
mass = 1.0
inertia = [0.004, 0.004, 0.004]
position = [0.0, 0.0, 0.05]

[[contacts]]
name = "floor"
a = { place = "ground", shape = "plane" }
b = { place = "box", shape = "box", x = 0.1, y = 0.1, z = 0.1 }
friction = 0.1
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--measure", "stretch:spring"], "There is no force element named 'spring'"),
        (["--measure", "position:box:x", "--unit", "kN"], "no quantity with the unit 'kN'"),
    ],
)
def test_measures_and_units_that_do_not_exist_are_told_before_anything_runs(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "box.toml").write_text(SLIDING)
    monkeypatch.setattr("flexmb.study.parameter_study", None)
    with pytest.raises(FlexmbError, match=told):
        CliRunner().invoke(
            app, ["study", "box.toml", "--vary", "contacts.floor.friction=0,0.1", *words], catch_exceptions=False
        )


def test_the_plot_of_the_verb_converts_measures_that_are_named(tmp_path, monkeypatch):
    """Their units are those of the model, but for the mean of squares, which has none that a plot names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "box.toml").write_text('units = "SI"\n' + SLIDING)
    titles = []
    monkeypatch.setattr(
        "flexmb.plots.study_plots.finished", lambda figure, axes, path: titles.append(axes[0].get_title(loc="left"))
    )
    words = ["study", "box.toml", "--vary", "contacts.floor.friction=0,0.1", "--workers", "1", "--measure"]
    for further in (["position:box:x", "--unit", "mm"], ["position:box:x", "--over", "mean square"]):
        done = CliRunner().invoke(app, [*words, *further], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert titles == ["position:box:x (mm)", "position:box:x"]


def test_the_verbs_add_measures_that_are_named(tmp_path, monkeypatch):
    """A box that slides: its place after half a second is (2 - mu g) / 8."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "box.toml").write_text(SLIDING)
    key, told = "contacts.floor.friction", ["--measure", "position:box:x", "--over", "final"]
    words = ["study", "box.toml", "--vary", f"{key}=0,0.1", *told, "--measure", "friction-force:floor"]
    done = CliRunner().invoke(app, [*words, "--workers", "1"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    with (tmp_path / "box.study.csv").open() as file:
        rows = list(csv.DictReader(file))
    for mu, row in zip((0.0, 0.1), rows, strict=True):
        assert float(row["position:box:x"]) == pytest.approx((2.0 - 9.81 * mu) / 8.0)
        assert float(row["friction-force:floor"]) == pytest.approx(9.81 * mu)
    for how in (["--workers", "1", *told], ["--direct", *told], ["--of", "position:box:x", "--over", "final"]):
        done = CliRunner().invoke(app, ["sensitivity", "box.toml", "--by", key, *how], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        slope = next(line for line in done.output.splitlines() if line.startswith("position:box:x"))
        assert float(slope.split()[1]) == pytest.approx(-9.81 / 8.0, rel=1e-4)
    with pytest.raises(StudyError, match="value over time named 'last'"):
        CliRunner().invoke(app, [*words[:4], "--over", "last"], catch_exceptions=False)


def test_a_plot_needs_a_number(tmp_path):
    study = flexmb.parameter_study(lambda kind: {"length": len(kind)}, [{"kind": "a"}, {"kind": "bb"}], threads=True)
    with pytest.raises(StudyError, match="number"):
        plot_study(study, tmp_path / "study.png")


# what a kept study is about -------------------------------------------------------------------------------------------

GLOBAL = 1.0


class Table:
    def __init__(self, values):
        self.values = np.asarray(values)

    def __call__(self, x):
        return {"y": float(self.values @ [1.0, x])}


def with_default(x, y=1.0, *, z=1.0):
    return {"y": x * y * z}


def of_closure(held):
    return lambda x: {"y": x * held(x) if callable(held) else float(np.sum(held)) * x}


def reading(path):
    return lambda x: {"y": x * float(Path(path).read_text().split()[0])}


def using_global(x):
    return {"y": GLOBAL * x}


def edited(name, value):
    """A copy of `with_default` with other defaults."""
    f = types.FunctionType(with_default.__code__, with_default.__globals__, argdefs=with_default.__defaults__)
    f.__kwdefaults__ = dict(with_default.__kwdefaults__)
    if name == "y":
        f.__defaults__ = (value,)
    else:
        f.__kwdefaults__[name] = value
    return f


KINDS = {
    "constant": (lambda x: {"y": 2.0 * x}, lambda x: {"y": 3.0 * x}),
    "code": (lambda x: {"y": 2.0 * x}, lambda x: {"y": 2.0 + x}),
    "name in a module": (lambda x: {"y": np.sin(x)}, lambda x: {"y": np.cos(x)}),
    "attribute": (lambda x: {"y": x.real}, lambda x: {"y": x.imag}),
    "inner constant": (lambda x: {"y": sum(2.0 for _ in range(x))}, lambda x: {"y": sum(3.0 for _ in range(x))}),
    "number in a closure": (of_closure(2.0), of_closure(3.0)),
    "array in a closure": (of_closure(np.arange(5.0)), of_closure(np.arange(5.0) * (1 + 1e-15))),
    "function in a closure": (of_closure(lambda x: x), of_closure(lambda x: -x)),
    "compiled law": (of_closure(numba.njit(lambda x: 2.0 * x)), of_closure(numba.njit(lambda x: 3.0 * x))),
    "error model": (of_closure(numba.njit(lambda x: 2.0 / x)), of_closure(numba.njit(error_model="numpy")(lambda x: 2.0 / x))),
    "function of time": (of_closure(flexmb.time_functions.harmonic(1.0, 2.0).value), of_closure(flexmb.time_functions.harmonic(1.0, 3.0).value)),
    "table of time": (of_closure(flexmb.time_functions.table([0, 1, 2, 3], [0, 1, 2, 0]).value), of_closure(flexmb.time_functions.table([0, 1, 2, 3], [0, 1, 3, 0]).value)),
    "default": (with_default, edited("y", 2.0)),
    "keyword default": (with_default, edited("z", 2.0)),
    "object": (Table([1.0, 2.0]), Table([1.0, 3.0])),
    "bound method": (Table([1.0, 2.0]).__call__, Table([1.0, 3.0]).__call__),
    "partial": (functools.partial(with_default, y=1.0), functools.partial(with_default, y=2.0)),
    "set": (of_closure(lambda x, s=frozenset({"a", "b"}): len(s)), of_closure(lambda x, s=frozenset({"a", "c"}): len(s))),
    "number type": (of_closure(1), of_closure(True)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_kept_study_of_another_model_is_refused(kind, tmp_path):
    """By content: a name that is the same says nothing."""
    kept, (one, other) = tmp_path / "kept.jsonl", KINDS[kind]
    assert identity(model=one) == identity(model=one)
    assert identity(model=one)["model"] != identity(model=other)["model"]
    KeptOutcomes(kept, identity(model=one)).put({"x": 1}, {"y": 2.0})
    before = kept.read_bytes()
    with pytest.raises(StudyError, match="outcomes of another study: model differs"):
        KeptOutcomes(kept, identity(model=other))
    assert KeptOutcomes(kept, identity(model=one)).get({"x": 1}) == {"y": 2.0}
    assert kept.read_bytes() == before


class Lazy:
    def __init__(self, value):
        self.value = value

    @functools.cached_property
    def twice(self):
        return 2 * self.value


def test_what_is_computed_and_kept_beside_does_not_change_a_digest():
    mechanism, lazy = pendulum().build(), Lazy(3.0)

    def model(x):
        return {"y": float(compiled(mechanism).mass[0]) * lazy.twice}

    before = identity(model=model)
    flexmb.simulate(mechanism, 0.01, step=1e-2)
    model(1.0)
    assert identity(model=model) == before
    lazy.value = 4.0
    assert identity(model=model) != before


def test_digests_are_those_of_every_process(tmp_path):
    """Dictionaries and sets of texts are ordered differently in every process."""
    script = tmp_path / "told.py"
    script.write_text(
        "from flexmb.study.identity import identity\nimport numpy as np\nscale = {'b': 1, 'a': 2}\nnames = {'p', 'q', 'r', 's'}\n"
        "def inner(x): return inner(x - 1) if x else scale['a']\n"
        "def model(x): return {'y': np.sin(x) * inner(x) * len(names) if 'p' in {'p', 'z', 'y'} else 0}\nprint(identity(model=model))\n"
    )
    told = {subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": str(k)}).stdout for k in range(2)}  # fmt: skip
    assert len(told) == 1


def test_a_kept_study_is_about_its_measure_options_files_and_globals(tmp_path, monkeypatch):
    kept, mesh = tmp_path / "kept.jsonl", tmp_path / "part.inp"
    mesh.write_text("*INCLUDE, INPUT=rest.inc\n")
    (tmp_path / "rest.inc").write_text("1.0")
    one = [{"mass": 1.0}]

    def model(mass):
        return pendulum(mass=mass * len(mesh.read_text()))

    def run(model=model, measure=lambda r: {"y": 1.0}, duration=0.1, step=1e-2):
        return flexmb.parameter_study(model, one, duration, measure=measure, step=step, checkpoint=kept, threads=True)

    run()
    run()
    for changed_part, options in (
        ("measure", {"measure": lambda r: {"y": 2.0}}), ("options", {"step": 2e-2}), ("duration", {"duration": 0.2}), ("model", {"model": pendulum}),
    ):  # fmt: skip
        with pytest.raises(StudyError, match=f"another study: {changed_part} differs"):
            run(**options)
    (tmp_path / "rest.inc").write_text("2.0")
    with pytest.raises(StudyError, match="model differs"):
        run()
    (tmp_path / "rest.inc").write_text("1.0")
    run()
    before = identity(model=using_global)
    monkeypatch.setitem(globals(), "GLOBAL", 2.0)
    assert identity(model=using_global) != before
    monkeypatch.setattr("flexmb.study.identity._code", lambda: "newer")
    with pytest.raises(StudyError, match="flexmb differs"):
        run()


def test_a_file_that_keeps_no_study_is_left_alone(tmp_path):
    path = tmp_path / "thesis.txt"
    for content in ("precious\n", "{}\n", "[1]\n", '{"model": 1}'):
        path.write_text(content)
        with pytest.raises(StudyError, match="another study"):
            flexmb.parameter_study(using_global, [{"x": 1.0}], checkpoint=path, threads=True)
        assert path.read_text() == content


def test_damaged_rows_of_a_kept_study_are_computed_again(tmp_path):
    kept, about = tmp_path / "kept.jsonl", identity(model=using_global)
    store = KeptOutcomes(kept, about)
    for x in range(5):
        store.put({"x": x}, {"y": 1.0 * x})
    lines = kept.read_text().splitlines()
    lines[2] = lines[2].replace('"y": 1.0', '"y": 7.0')
    lines[3] = lines[3][:-9]
    del store  # which alone may use the file
    kept.write_text("\n".join(lines))
    again = KeptOutcomes(kept, about)
    assert [again.get({"x": x}) for x in range(5)] == [{"y": 0.0}, None, None, {"y": 3.0}, {"y": 4.0}]


def test_outcomes_of_files_that_have_changed_are_computed_again(tmp_path, monkeypatch):
    """Whoever names the file, and however: a parameter, parts of a path, a file that names another in any spelling, a module that is imported inside."""
    folder = tmp_path / "parts"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    (folder / "helper_of_a_kept_study.py").write_text("from deeper_of_a_kept_study import FACTOR\n")
    (folder / "deeper_of_a_kept_study.py").write_text("FACTOR = 2.0\n")
    for name, text in (("soft.txt", "1"), ("stiff.txt", "10"), ("joined.txt", "100"), ("listed.csv", "1000")):
        (folder / name).write_text(text)
    (folder / "case.toml").write_text("tables = ['listed.csv']\n")

    def model(part):
        from helper_of_a_kept_study import FACTOR

        named = [folder / f"{part}.txt", folder / "joined.txt", *(folder / x for x in tomllib.loads((folder / "case.toml").read_text())["tables"])]  # fmt: skip
        (tmp_path / "scratch.txt").write_text(part)
        return {"y": FACTOR * sum(float(p.read_text()) for p in named), "own": len((tmp_path / "scratch.txt").read_text())}  # fmt: skip

    done = []

    def run():
        done.clear()
        kept = tmp_path / "kept.jsonl"
        variants = flexmb.study.full_factorial(part=["soft", "stiff"])
        return (
            flexmb.parameter_study(model, variants, checkpoint=kept, workers=1, progress=done.append)
            .measure("y")
            .tolist()
        )

    assert run() == [2202.0, 2220.0]
    assert run() == [2202.0, 2220.0]
    assert not done  # both are kept
    (folder / "stiff.txt").write_text("20")
    assert run() == [2202.0, 2240.0]
    assert len(done) == 1
    (folder / "joined.txt").write_text("200")
    assert run() == [2402.0, 2440.0]
    (folder / "listed.csv").write_text("2000")
    assert run() == [4402.0, 4440.0]
    (folder / "deeper_of_a_kept_study.py").write_text("FACTOR = 3.125\n")
    assert run() == [3.125 * 2201, 3.125 * 2220]
    assert run() == [3.125 * 2201, 3.125 * 2220]
    assert not done


def test_a_file_that_this_process_writes_between_studies_in_threads_is_read_again(tmp_path):
    """As a notebook does; a file that a variant writes for itself is none of its inputs."""
    folder, kept = tmp_path, tmp_path / "kept.jsonl"

    def model(part):
        (folder / "own.txt").write_text(part)
        return {"y": float((folder / f"{part}.txt").read_text()) + 0.0 * len((folder / "own.txt").read_text())}

    done, found = [], []
    for soft in ("1", "1", "2", "3"):  # both variants are computed again: values cached in a process may serve all
        for name, text in (("soft", soft), ("stiff", "10")):
            (folder / f"{name}.txt").write_text(text)
        done.clear()
        variants = flexmb.study.full_factorial(part=["soft", "stiff"])
        study = flexmb.parameter_study(model, variants, checkpoint=kept, threads=True, workers=1, progress=done.append)
        found.append((*study.measure("y"), len(done)))
    assert found == [(1.0, 10.0, 2), (1.0, 10.0, 0), (2.0, 10.0, 2), (3.0, 10.0, 2)]


def test_threads_give_the_bits_of_one_simulation_at_a_time():
    """Also with one model function that shares a flexible body, and with laws in Python; failed variants say why."""
    bar = random_flexible_body(np.random.default_rng(3))

    def variant(mass, stiffness):
        system = flexmb.System(gravity=(0, -9.81, 0))
        rod = system.add(bar)
        bob = system.add(flexmb.rigid_body("bob", mass=mass, inertia=(1.0, 1.0, 1.0)), position=(1.0, 0, 0))
        system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
        system.joint("spherical", "ball", rod["end"], bob)
        system.motor("motor", "hinge", lambda t, x, xdot: -stiffness * x - 0.1 * xdot)
        return system

    variants = [*flexmb.full_factorial(mass=[0.5, 1.0, 2.0], stiffness=[0.0, 30.0]), {"mass": -1.0, "stiffness": 0.0}]
    found = flexmb.parameter_study(variant, variants, 0.2, step=1e-3, workers=3, threads=True)
    assert [row.parameters for row in found.failed] == [variants[-1]]
    assert "mass" in found.failed[0].error
    for row in found.rows[:-1]:
        alone = flexmb.study.peaks(flexmb.simulate(variant(**row.parameters), 0.2, step=1e-3))
        assert row.outcome == alone


def test_steps_of_two_threads_run_at_the_same_time():
    """While a long compiled call works, another thread of Python runs: it counts, where it would wait for the lock."""
    counted, done = [], threading.Event()

    def count():
        while not done.wait(1e-3):
            counted.append(time.perf_counter())

    system = pendulum()
    flexmb.simulate(system, 1e-2, step=1e-4)
    counter = threading.Thread(target=count)
    counter.start()
    begin = time.perf_counter()
    flexmb.simulate(system, 20.0, step=1e-5, output_step=20.0)
    end = time.perf_counter()
    done.set()
    counter.join()
    assert len(counted) > 20
    assert max(np.diff([begin, *counted, end])) < 0.5 * (end - begin)


def test_threads_stop_when_their_study_does(tmp_path):
    """An error where outcomes are read ends the variants that run, at their next progress, and starts no other."""
    started = []

    def variant(mass):
        started.append(mass)
        return pendulum(mass=mass)

    def fail(done):
        raise KeyboardInterrupt

    masses = flexmb.full_factorial(mass=list(np.linspace(1.0, 2.0, 40)))
    with pytest.raises(KeyboardInterrupt):
        flexmb.parameter_study(variant, masses, 2.0, step=1e-4, workers=2, threads=True, progress=fail)
    assert len(started) < 6
    with pytest.raises(StudyError, match="threads=True or executor="):
        flexmb.parameter_study(pendulum, masses, 1.0, threads=True, executor=object())


def test_threads_and_processes_keep_the_same_outcomes(tmp_path):
    """A study that threads began goes on in processes."""
    kept, masses = tmp_path / "kept.jsonl", flexmb.full_factorial(mass=[1.0, 2.0, 3.0])
    some = flexmb.parameter_study(pendulum, masses[:2], 0.2, step=1e-3, threads=True, workers=2, checkpoint=kept)
    whole = flexmb.parameter_study(pendulum, masses, 0.2, step=1e-3, workers=1, checkpoint=kept)
    assert [row.outcome for row in whole.rows[:2]] == [row.outcome for row in some.rows]
    assert len(kept.read_text().splitlines()) == 1 + 3


def test_the_environment_is_as_before_when_variants_have_had_one_thread(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = dict(os.environ)
    with one_thread():
        assert (os.environ["OPENBLAS_NUM_THREADS"], os.environ["MKL_NUM_THREADS"]) == ("1", "1")
    assert dict(os.environ) == before

"""Many variants: the same numbers as one at a time, whatever dies on the way."""

import csv
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from test_cli import is_picture
from typer.testing import CliRunner

import flexmb
from flexmb.cli.main import app
from flexmb.files.changes import ChangeError, changed
from flexmb.files.model_file import ModelFileError, load_model
from flexmb.study.parameters import StudyError
from flexmb.study_plots import plot_study

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "slider-crank.toml"


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


def test_every_combination_in_order():
    variants = flexmb.every_combination(a=[1, 2], b=(x for x in "pq"))
    assert variants == [{"a": 1, "b": "p"}, {"a": 1, "b": "q"}, {"a": 2, "b": "p"}, {"a": 2, "b": "q"}]


def test_a_study_equals_its_simulations_one_by_one():
    """The largest force in the hinge of a pendulum released from the horizontal: 3 m g, whatever its length."""
    variants = flexmb.every_combination(length=[0.5, 1.0], mass=[1.0, 3.0])
    done = []
    study = flexmb.simulate_many(pendulum, variants, 1.0, step=1e-3, workers=2, progress=done.append)
    assert study.parameter("mass") == [1.0, 3.0, 1.0, 3.0]
    force = study.measure("force in hinge")
    assert force == pytest.approx(3 * 9.81 * np.array([1.0, 3.0, 1.0, 3.0]), rel=1e-4)
    for variant, value in zip(variants, force, strict=True):
        assert flexmb.study.peaks(flexmb.simulate(pendulum(**variant), 1.0, step=1e-3))["force in hinge"] == value
    assert done == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert str(study).startswith("4 variants")


def test_a_failed_variant_tells_why_and_the_others_go_on(tmp_path):
    """A rod without mass cannot be simulated; a bug of the user's function is named by its kind."""

    def model(mass):
        return {"speed": 1 / 0} if mass == 7.0 else pendulum(mass=mass)

    study = flexmb.simulate_many(model, [{"mass": m} for m in (1.0, -1.0, 7.0)], 0.1, step=1e-2, workers=1)
    assert [row.error is None for row in study.rows] == [True, False, False]
    assert "mass" in study.rows[1].error
    assert "ZeroDivisionError" in study.rows[2].error
    assert np.isnan(study.measure("kinetic energy")).tolist() == [False, True, True]
    with study.write_csv(tmp_path / "study.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["kinetic energy"]) == study.measure("kinetic energy")[0]
    assert rows[1]["error"] == study.rows[1].error


@pytest.mark.parametrize(
    ("parameters", "options", "words"),
    [
        ([], {}, "at least one"),
        ([{"x": 1}, {"z": 1}], {}, "same parameters"),
        ([{"x": 1}], {"step": 1e-3}, "duration"),
        ([{"x": object()}], {"keep": "kept.jsonl"}, "numbers"),
    ],
)
def test_a_study_that_cannot_be_is_refused(tmp_path, monkeypatch, parameters, options, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StudyError, match=words):
        flexmb.simulate_many(lambda x: {"x": 1.0}, parameters, **options)


def test_all_variants_failing_is_an_error():
    with pytest.raises(StudyError, match=r"All 2 variants failed.*mass"):
        flexmb.simulate_many(pendulum, [{"mass": -1.0}, {"mass": -2.0}], 0.1, workers=1)
    with pytest.raises(StudyError, match="how long"):
        flexmb.simulate_many(pendulum, [{"mass": 1.0}], workers=1)


def test_names_that_do_not_exist_are_told():
    study = flexmb.simulate_many(lambda x: {"double": 2 * x}, [{"x": 1}, {"x": 2}], workers=1)
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
    study = flexmb.simulate_many(deadly, [{"x": x} for x in range(12)], workers=2, keep=kept)
    assert not study.failed
    assert study.measure("sum").tolist() == list(range(12))
    again = [name for name, count in calls(tmp_path / "calls").items() if count > 1]
    assert len(again) <= 3  # at work in the other process, or waiting in its queue
    assert len(kept.read_text().splitlines()) == 1 + 12


def test_a_variant_that_kills_its_process_fails_alone(tmp_path):
    def deadly(x):
        if x == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"x": x}

    study = flexmb.simulate_many(deadly, [{"x": x} for x in range(8)], workers=2)
    assert [row.parameters["x"] for row in study.failed] == [3]
    assert "process died" in study.failed[0].error


def test_a_study_goes_on_from_what_it_kept(tmp_path):
    """Also after its file was cut off in the middle of a line; another study's file is refused."""
    (tmp_path / "calls").mkdir()
    kept, variant = tmp_path / "kept.jsonl", numbered(tmp_path / "calls")
    flexmb.simulate_many(variant, [{"x": x} for x in range(4)], workers=1, keep=kept)
    kept.write_text(kept.read_text()[:-9])
    study = flexmb.simulate_many(variant, [{"x": np.int64(x)} for x in range(6)], workers=1, keep=kept)
    assert study.measure("sum").tolist() == list(range(6))
    assert calls(tmp_path / "calls") == {"0-0": 1, "1-0": 1, "2-0": 1, "3-0": 2, "4-0": 1, "5-0": 1}
    flexmb.simulate_many(variant, [{"x": x} for x in range(6)], workers=1, keep=kept)
    assert sum(calls(tmp_path / "calls").values()) == 7
    with pytest.raises(StudyError, match="another study"):
        flexmb.simulate_many(pendulum, [{"mass": 1.0}], 0.1, keep=kept)
    with pytest.raises(StudyError, match="cannot be kept"):
        flexmb.simulate_many(variant, [{"x": 1}], keep=tmp_path / "nowhere" / "kept.jsonl")


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
        study = flexmb.simulate_many(deadly, [{"x": x} for x in range(30)], executor=executor)
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
        part = fem.Model(fem.mesh_shapes.block("hexahedron20", (1.0, 0.1, 0.1), (8, 1, 1)), fem.Material.steel())
        basis = reduction.craig_bampton(part.with_interfaces(a="x0", b="x1"), modes)
        return {"frequency": float(basis.frequencies[0])}

    found = flexmb.simulate_many(variant, flexmb.every_combination(modes=[0, 2, 6]), workers=1).measure("frequency")
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
    with pytest.raises(ChangeError, match="holds a value"):
        changed(data, {"a.b.c": 1})


def test_the_verb_writes_table_and_plot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = EXAMPLE.read_text().replace("duration = 0.05", "duration = 2e-3")
    (tmp_path / "model.toml").write_text(text)
    words = ["study", "model.toml", "--vary", "joints.bearing.drive.speed=100:300:3", "--vary", "bodies.crank.mass=1,2"]
    done = CliRunner().invoke(app, [*words, "--keep", "kept.jsonl", "--workers", "1"], catch_exceptions=False)
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


def test_a_plot_needs_a_number(tmp_path):
    study = flexmb.simulate_many(lambda kind: {"length": len(kind)}, [{"kind": "a"}, {"kind": "bb"}], workers=1)
    with pytest.raises(StudyError, match="number"):
        plot_study(study, tmp_path / "study.png")

"""The command line: every verb on small cases, what it prints and writes; errors as a paragraph and exit code 2."""

import inspect
import json
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from mechanisms import double_pendulum
from typer.testing import CliRunner

import fem.linear_algebra.factor
import flexmb
import meshes
import reduction
import validation
from fem.files.mesh_files import write_mesh
from fem.material import Material
from fem.mesh.structured_meshes import block
from flexmb import demo
from flexmb.cli.main import _DEBUG, app, main
from flexmb.cli.screen import say_text
from flexmb.errors import FileError, MechanismError, PictureError
from flexmb.files import load_body, load_result, save_result
from flexmb.plots.animation import require_writable
from validation import Row

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "slider-crank.toml"
CONROD = str(meshes.path("conrod.msh"))
VERBS = ("inspect", "frequencies", "reduce", "run", "compare", "view", "validate", "demo")
PENDULUM = """
name = "pendulum"
gravity = [0, -9.81, 0]
simulation = { duration = 0.1, step = 1e-2 }
bodies.rod = { kind = "rigid", mass = 1, inertia = [0.01, 0.1, 0.1], centre = [0.5, 0, 0] }
[[joints]]
name = "hinge"
kind = "revolute"
a = "ground"
b = "rod"
at = [0, 0, 0]
"""


@pytest.fixture
def flexmb_command(tmp_path, monkeypatch):
    """Runs a command line in an empty folder; returns what it printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pendulum.toml").write_text(PENDULUM)

    def run(*words, code=0):
        result = CliRunner().invoke(app, [str(w) for w in words], catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result.output

    return run


def is_picture(path):
    """A PNG whose pixels are not all the same."""
    import matplotlib.image

    pixels = matplotlib.image.imread(path)
    return pixels.size > 10_000 and pixels.std() > 0


def test_help_names_every_verb(flexmb_command):
    text = flexmb_command("--help")
    for verb in VERBS:
        assert verb in text
        assert "Usage" in flexmb_command(verb, "--help")


def test_help_keeps_what_it_quotes(flexmb_command):
    """Square brackets would be read as markup."""
    assert "`servos`" in " ".join(flexmb_command("inverse", "--help").split())
    assert "`viewer`" in flexmb_command("view", "--help")
    for verb in VERBS:
        assert "[]" not in flexmb_command(verb, "--help")


HINGE = """[simulation]
duration = 2.0
step = 1e-3
[bodies.door]
kind = "rigid"
mass = 1.0
inertia = [1, 1, 0.5]
[[joints]]
name = "hinge"
kind = "revolute"
a = "ground"
b = "door"
at = [0, 0, 0]
speed = 2.0
[[forces]]
name = "leaf"
a = "ground"
at = [0, 0, 0]
b = "door"
law = "plastic-hinge"
parameters = { stiffness = 100.0, limit = 2.0 }
"""


def test_a_run_goes_on_from_a_result_with_the_states_of_its_laws(flexmb_command):
    """And their states, such as a plastic angle, are measures: M^2 / (2 k) + M p = J w^2 / 2."""
    Path("door.toml").write_text(HINGE)
    flexmb_command("run", "door.toml", "-o", "whole.h5")
    flexmb_command("run", "door.toml", "--duration", "0.3", "-o", "first.h5")
    flexmb_command("run", "door.toml", "--duration", "1.7", "--start", "first.h5", "-o", "second.h5")
    ends = []
    for result in ("whole", "second"):
        measures = ("--measure", "coordinate:hinge", "--measure", "state:leaf:plastic")
        flexmb_command("view", f"{result}.h5", *measures, "--table", f"{result}.csv")
        ends.append([float(x) for x in Path(f"{result}.csv").read_text().split()[-1].split(",")])
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)
    assert ends[0][2] == pytest.approx((1.0 - 2.0**2 / 200.0) / 2.0, rel=1e-4)
    Path("other.toml").write_text(HINGE.replace('kind = "revolute"', 'kind = "fixed"').replace("speed = 2.0", ""))
    with pytest.raises(MechanismError, match="state of another mechanism"):
        flexmb_command("run", "other.toml", "--start", "first.h5")


def test_a_mistyped_start_is_told_from_a_file(flexmb_command):
    """It was said to be a result file that is not there."""
    Path("door.toml").write_text(HINGE)
    with pytest.raises(
        FileError, match=r"--start expects 'drawn', 'equilibrium' or a result .*Did you mean 'equilibrium'\?"
    ):
        flexmb_command("run", "door.toml", "--start", "Equilibirum")
    with pytest.raises(FileError, match=r"found 'rest\.h5', which is none of them\. Files are looked for in"):
        flexmb_command("run", "door.toml", "--start", "rest.h5")


PRESSED = """
simulation = { duration = 0.1, step = 1e-3 }
[bodies.head]
kind = "rigid"
mass = 2.0
inertia = [0.1, 0.1, 0.1]
[[joints]]
name = "guide"
kind = "prismatic"
a = "ground"
b = "head"
at = [0.0, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
[[joint_springs]]
name = "spring"
joint = "guide"
stiffness = 1e3
[[loads]]
name = "press"
place = "head"
force = [0.0, 0.0, -50.0]
factor = { kind = "polynomial", coefficients = [1.0, 2.0, 3.0] }
"""


def test_a_run_starts_from_an_equilibrium_under_functions_of_time(flexmb_command):
    """The file has one time, between whose values no polynomial could be laid."""
    Path("press.toml").write_text(PRESSED)
    flexmb_command("equilibrium", "press.toml", "-o", "rest.h5")
    rest = load_result("rest.h5")
    factor = next(f for f in rest.mechanism.functions if "polynomial" in f.description)
    assert [each(0.0) for each in (factor.value, factor.rate, factor.acceleration)] == [1.0, 2.0, 6.0]
    assert rest.position("head")[0, 2] == pytest.approx(-0.05)
    flexmb_command("run", "press.toml", "--start", "rest.h5", "-o", "moved.h5")
    assert load_result("moved.h5").position("head")[0, 2] == pytest.approx(-0.05)


def test_an_equilibrium_is_that_of_the_time_that_is_asked_for(flexmb_command):
    Path("press.toml").write_text(PRESSED)
    flexmb_command("equilibrium", "press.toml", "--time", "2.0", "-o", "rest.h5")
    assert load_result("rest.h5").position("head")[0, 2] == pytest.approx(-0.05 * (1.0 + 2.0 * 2.0 + 3.0 * 4.0))


def test_the_module_is_the_command_line():
    """`python -m flexmb`, also where the script is not on the path, under the same name."""
    found = subprocess.run([sys.executable, "-m", "flexmb", "--help"], capture_output=True, text=True, check=True)
    assert re.search(r"Usage:\s+flexmb \[OPTIONS\]", found.stdout)
    wrong = subprocess.run([sys.executable, "-m", "flexmb", "inspect", "no.inp"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert "no.inp" in wrong.stderr


def test_inspect_tells_elements_sets_and_mass(flexmb_command):
    text = flexmb_command("inspect", CONROD, "--material", "steel", "--picture", "mesh.png")
    for word in ("6510 nodes", "3190 tetra10", "'BIG_END': 138", "'SMALL_END': 136", "'ROD'", "scaled Jacobian"):
        assert word in text
    volume = float(re.search(r"volume (\S+),", text)[1])
    mass = float(re.search(r"mass (\S+),", text)[1])
    assert mass == pytest.approx(7850 * volume, rel=1e-4)  # curved edges: the two quadratures differ a little
    assert is_picture("mesh.png")


def test_inspect_takes_materials_and_sections_of_a_deck(flexmb_command):
    deck = Path(__file__).parents[2] / "fem" / "nastran_decks" / "solid_bending.bdf"
    text = flexmb_command("inspect", str(deck), "--material", "file")
    assert float(re.search(r"mass (\S+),", text)[1]) == pytest.approx(6.0)
    assert flexmb_command("inspect", str(deck)).endswith(text[text.index("mass ") :])  # without being asked for
    other = flexmb_command("inspect", str(deck), "--material", "steel")
    assert "not in this mass: MAT1, line" in other  # of the deck, whose density is another
    told = flexmb_command("inspect", str(deck), "--material", "steel", "--ignore", "MAT1")
    assert "mass 47100" in told
    assert "not in this mass" not in told


def test_frequencies_of_a_part_held_or_free(flexmb_command):
    """The same as `fem.natural_modes`, and those of the body whose frame is at the hole that is held."""
    import fem
    import reduction

    text = flexmb_command(
        "frequencies", CONROD, "--material", "steel", "--support", "BIG_END", "--modes", 3, "--table", "m.csv",
        "--picture", "m.png",
    )  # fmt: skip
    part = fem.Model(fem.read_mesh(CONROD), fem.Material.steel()).with_interfaces(big="BIG_END")
    body = reduction.craig_bampton(part, 3, reference_frame="big")
    assert "held by 'BIG_END'" in text
    assert f"{body.frequencies[0]:.6g}" in text
    table = np.genfromtxt("m.csv", delimiter=",", names=True)
    np.testing.assert_allclose(table["frequency"], body.frequencies, rtol=1e-6)
    assert is_picture("m.png")


def test_frequencies_obeys_supports_of_a_deck(flexmb_command):
    from validation import decks

    Path("bar.inp").write_text(decks.cantilever("C3D20R"))
    held = flexmb_command("frequencies", "bar.inp", "--ignore", "STEP", "--modes", 3)
    assert "held by its constraints" in held
    assert f"{decks.SAMPLE['C3D20'][1]:.5g}" in held  # by CalculiX
    free = flexmb_command("frequencies", "bar.inp", "--ignore", "STEP", "--free", "--modes", 7)
    assert "free, 6 of them motions without stiffness" in free
    again = flexmb_command("frequencies", "bar.inp", "--ignore", "STEP", "--free", "--support", "FIX:012", "--modes", 3)
    assert f"{decks.SAMPLE['C3D20'][1]:.5g}" in again


@pytest.fixture(scope="module")
def rod_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rod") / "rod.h5"
    words = ["reduce", CONROD, "--material", "steel", "--interface", "big=BIG_END", "--interface", "small=SMALL_END"]
    done = CliRunner().invoke(
        app, [*words, "--modes", "4", "--damping", "0.01", "-o", str(path)], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return path, done.output


def test_reduce_attaches_the_frame_to_an_interface(tmp_path):
    """Whose shapes vanish there; without it, they have no coupling with the rigid motion."""
    mesh = write_mesh(block("hexahedron", (1.0, 0.1, 0.1), (4, 1, 1)), tmp_path / "bar.vtu")
    words = ["reduce", str(mesh), "--material", "steel", "--interface", "root=plane/0,0,0/1,0,0", "--modes", "3"]
    words += ["-o", str(tmp_path / "bar.h5"), "--geometric-stiffness", "none"]
    for further in ([], ["--reference-frame", "root"]):
        done = CliRunner().invoke(app, [*words, *further], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        body = load_body(tmp_path / "bar.h5")
        scale = body.deflection.max()
        assert (np.abs(body.interfaces["root"].rows[:3]).max() < 1e-9 * scale) == bool(further)
        assert (np.abs(body.invariants.S1).max() < 1e-9 * scale) != bool(further)


@pytest.mark.long
def test_reduce_finds_the_smallest_body_for_a_tolerance(tmp_path):
    words = ["reduce", CONROD, "--material", "steel", "--interface", "big=BIG_END", "--interface", "small=SMALL_END"]
    words += [
        "--method",
        "choose",
        "--band",
        "3000",
        "--tolerance",
        "0.02",
        "-o",
        str(tmp_path / "rod.h5"),
        "--plot",
        str(tmp_path / "error.png"),
    ]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert "0.02 was asked for" in text
    assert "Craig-Chang:" in text
    assert load_body(tmp_path / "rod.h5").modes <= 18
    assert is_picture(tmp_path / "error.png")


def test_reduce_writes_the_body_and_tells_its_quality(rod_file):
    path, text = rod_file
    body = load_body(path)
    assert list(body.interfaces) == ["big", "small"]
    assert body.modes == 4 + 6  # fixed-interface modes, and twelve interface motions less six rigid ones
    assert body.damping == pytest.approx(2 * 0.01 * np.sqrt(body.stiffness))
    assert str(path) in text
    assert "MAC" in text
    for frequency in body.frequencies[:3]:
        assert any(abs(float(x) / frequency - 1) < 1e-3 for x in re.findall(r"\d+\.?\d*(?:e[+-]?\d+)?", text)), (
            frequency
        )


def test_a_reduction_is_resumed_and_what_it_kept_removed(tmp_path, monkeypatch):
    """The first run fails while it writes; the second has its solutions already."""
    words = ["reduce", CONROD, "--material", "steel", "--interface", "big=BIG_END", "--modes", "4"]
    words += ["-o", str(tmp_path / "rod.h5"), "--checkpoint", str(tmp_path / "run"), "--geometric-stiffness", "none"]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("not the command's")
    monkeypatch.setattr(
        "flexmb.files.bodies.body_file.save_body", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full"))
    )
    assert CliRunner().invoke(app, words).exit_code != 0
    kept = sorted((tmp_path / "run").rglob("*.npy"))
    assert kept
    monkeypatch.undo()
    made = []
    plain = fem.linear_algebra.factor._made
    monkeypatch.setattr("fem.linear_algebra.factor._made", lambda *given: made.append(1) or plain(*given))
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert load_body(tmp_path / "rod.h5").modes == 4
    assert made == []
    assert [left.name for left in (tmp_path / "run").iterdir()] == ["mine.txt"]
    (tmp_path / "run" / "mine.txt").unlink()
    assert CliRunner().invoke(app, words).exit_code == 0
    assert not (tmp_path / "run").exists()


def test_a_body_file_replaces_its_mesh_in_a_model(flexmb_command, rod_file, tmp_path):
    """The example with the reduced rod from a file equals the example that reduces it itself."""
    text = EXAMPLE.read_text()
    start, end = text.index('mesh = "flexmb:'), text.index("[bodies.piston]")
    saved = f'file = "{rod_file[0].as_posix()}"\nposition = [0.075, 0, 0]\n\n'
    (tmp_path / "saved.toml").write_text(text[:start] + saved + text[end:])
    meshed = text.replace("modes = 10", "modes = 4").replace("modal_damping = 0.005", "modal_damping = 0.01")
    meshed = re.sub(r"\{ set = (\"\w+\"), point = \[[^\]]*\] \}", r"\1", meshed)
    (tmp_path / "meshed.toml").write_text(meshed)
    for name in ("saved", "meshed"):
        flexmb_command("run", f"{name}.toml", "--duration", "1e-3", "--step", "2e-5")
    a, b = (load_result(f"{name}.result.h5") for name in ("saved", "meshed"))
    assert len(a.t) == 51
    assert np.abs(a.position("rod.small") - b.position("rod.small")).max() < 1e-9
    assert np.abs(a.ledger.elastic - b.ledger.elastic).max() < 1e-6 * a.ledger.elastic.max()


def test_run_writes_result_and_energies(flexmb_command):
    text = flexmb_command("run", "pendulum.toml")
    assert "10 steps" in text
    assert "residual" in text
    result = load_result("pendulum.result.h5")
    assert result.t[-1] == pytest.approx(0.1)
    assert is_picture("pendulum.energy.png")


def test_run_does_not_replace_what_is_no_result(flexmb_command, rod_file):
    """A body and a model of the same name lie in the same folder; and results do replace results."""
    shutil.copy(rod_file[0], "pendulum.h5")
    before = Path("pendulum.h5").read_bytes()
    flexmb_command("run", "pendulum.toml")
    flexmb_command("run", "pendulum.toml")
    assert Path("pendulum.h5").read_bytes() == before
    with pytest.raises(FileError, match="exists already and is a flexmb body"):
        flexmb_command("run", "pendulum.toml", "-o", "pendulum.h5")
    assert Path("pendulum.h5").read_bytes() == before
    Path("notes.txt").write_text("mine")
    with pytest.raises(FileError, match="file of another program"):
        flexmb_command("run", "pendulum.toml", "-o", "notes.txt")
    assert Path("notes.txt").read_text() == "mine"


def test_run_takes_duration_step_and_output(flexmb_command):
    text = flexmb_command("run", "pendulum.toml", "--duration", "0.2", "--step", "0.005", "-o", "x.h5")
    assert "40 steps" in text
    assert load_result("x.h5").t[-1] == pytest.approx(0.2)
    assert is_picture("x.energy.png")


def test_view_draws_plots_and_exports(flexmb_command, rod_file, tmp_path):
    (tmp_path / "rod.toml").write_text(
        PENDULUM.replace("duration = 0.1, step = 1e-2", "duration = 1e-4, step = 5e-5").replace(
            '{ kind = "rigid", mass = 1, inertia = [0.01, 0.1, 0.1], centre = [0.5, 0, 0] }',
            f'{{ kind = "flexible", file = "{rod_file[0].as_posix()}" }}',
        ).replace('b = "rod"\nat = [0, 0, 0]', 'b = "rod.big"')
    )  # fmt: skip
    flexmb_command("run", "rod.toml")
    words = ("--picture", "p.png", "--time", "0.0", "--energy", "e.png", "--animation", "a.gif", "--paraview", "vtk")
    words += ("--gltf", "g.glb", "--max-targets", "8", "--page", "page.html")
    text = flexmb_command("view", "rod.result.h5", *words, "--magnification", "10")
    assert "'pendulum'" in text
    for name in ("p.png", "e.png", "a.gif", "vtk", "g.glb", "8 morph targets", "page.html"):
        assert name in text
    assert is_picture("p.png")
    assert is_picture("e.png")
    assert Path("a.gif").read_bytes()[:4] == b"GIF8"
    assert Path("g.glb").read_bytes()[:4] == b"glTF"
    assert len(list(Path("vtk").glob("*.vtu"))) == 3


@pytest.mark.parametrize(("words", "index"), [((), -1), (("--time", "0.021"), 2), (("--time", "9"), -1)])
def test_a_picture_is_of_the_nearest_stored_time(words, index, flexmb_command, monkeypatch):
    """Of the times 0, 0.01, ..., 0.1; by default the last one."""
    drawn = []
    Path("pendulum.toml").write_text(PENDULUM)
    flexmb_command("run", "pendulum.toml")
    monkeypatch.setattr("flexmb.plots.pictures.picture_result", lambda result, path, k, *_: drawn.append(result.t[k]))
    flexmb_command("view", "pendulum.result.h5", "--picture", "p.png", *words)
    assert drawn == [pytest.approx(np.linspace(0.0, 0.1, 11)[index])]


DRAWN = {
    "--picture p.png": ("plots.pictures.picture_result", {"magnification": 1.0, "stress": False, "labels": False, "pressure": False}),
    "--picture p.png --magnification 3 --stress": ("plots.pictures.picture_result", {"magnification": 3.0, "stress": True, "labels": False, "pressure": False}),
    "--picture p.png --pressure": ("plots.pictures.picture_result", {"magnification": 1.0, "stress": False, "labels": False, "pressure": True}),
    "--picture p.png --labels": ("plots.pictures.picture_result", {"magnification": 1.0, "stress": False, "labels": True, "pressure": False}),
    "--animation p.gif --magnification 3 --stress": ("plots.pictures.animate", {"magnification": 3.0, "stress": True, "labels": False, "pressure": False}),
    "--animation p.gif --pressure --labels": ("plots.pictures.animate", {"magnification": 1.0, "stress": False, "labels": True, "pressure": True}),
    "--gltf p.glb": ("files.results.gltf_file.write_gltf", {"magnification": 1.0, "metres": 1.0, "speed": 1.0, "max_targets": None}),
    "--gltf p.glb --magnification 3 --metres 0.01 --speed 0.5 --max-targets 8": ("files.results.gltf_file.write_gltf", {"magnification": 3.0, "metres": 0.01, "speed": 0.5, "max_targets": 8}),
    "--energy p.png": ("plots.result_plots.plot_energy", {"unit": None, "units": None}),
    "--energy p.png --unit J --units mm-t-s": ("plots.result_plots.plot_energy", {"unit": ["J"], "units": "mm-t-s"}),
    "--plot p.png": ("results.result.Result.plot", {"measures": (), "over": None, "unit": None, "units": None}),
    "--plot p.png --measure rate:elbow --over rate:hinge --unit rpm --units mm-t-s": ("results.result.Result.plot", {"measures": ["rate:elbow"], "over": "rate:hinge", "unit": ["rpm"], "units": "mm-t-s"}),
    "--table p.csv": ("files.results.table_file.write_table", {"measures": (), "units": None}),
    "--table p.csv --measure rate:elbow --units mm-t-s": ("files.results.table_file.write_table", {"measures": ["rate:elbow"], "units": "mm-t-s"}),
    "--page p.html": ("plots.page.write_page", {"magnification": 1.0, "speed": None, "max_targets": None}),
    "--page p.html --magnification 3 --speed 0.5 --max-targets 8": ("plots.page.write_page", {"magnification": 3.0, "speed": 0.5, "max_targets": 8}),
}  # fmt: skip


@pytest.fixture(scope="module")
def bar_file(tmp_path_factory):
    """A bar that swings about one of its ends, with stresses."""
    path = tmp_path_factory.mktemp("bar") / "bar.h5"
    block = fem.structured_meshes.block("hexahedron", (1.0, 0.1, 0.1), (4, 1, 1))
    part = fem.Model(block, Material.steel()).with_interfaces(start="x0")
    system = flexmb.System(gravity=(0, -9.81, 0))
    bar = system.add(
        flexmb.flexible_body(part, reduction.craig_bampton(part, modes=4, inputs=["start", "rotation"]), name="bar")
    )
    system.revolute("hinge", system.ground.at(part.interfaces["start"].point), bar["start"], axis=(0, 0, 1))
    save_result(flexmb.simulate(system, 0.01, step=1e-3), path)
    return str(path)


@pytest.mark.parametrize(
    ("words", "picture"),
    [((), "bar.bar.stress.picture.png"), (("--picture", "p.png"), "p.png"), (("--no-picture",), None)],
)
def test_stress_draws_the_picture_that_is_asked_for(words, picture, bar_file, flexmb_command, monkeypatch):
    drawn = []
    monkeypatch.setattr("flexmb.plots.pictures.picture_result", lambda result, path, *_, **__: drawn.append(path))
    for body in (("--body", "bar"), ()):  # which is the only one
        assert "largest von Mises stress of 'bar'" in flexmb_command("stress", bar_file, *body, *words)
    assert drawn == ([] if picture is None else [Path(picture)] * 2)


def test_a_table_of_stresses_without_points_is_refused(bar_file, flexmb_command):
    """It was not written, without a word."""
    with pytest.raises(
        flexmb.StressError, match=r"--table t\.csv holds the histories at points; .* --point NAME=X,Y,Z"
    ):
        flexmb_command("stress", bar_file, "--table", "t.csv")


@pytest.fixture(scope="module")
def swing_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("swing") / "swing.h5"
    save_result(flexmb.simulate(double_pendulum(), 0.01, step=1e-3), path)
    return str(path)


@pytest.mark.parametrize("words", DRAWN)
def test_view_draws_with_the_options_that_are_given(words, swing_file, flexmb_command, monkeypatch):
    """Each option reaches the argument of the same name."""
    place, expected = DRAWN[words]
    arguments, given = inspect.signature(pkgutil.resolve_name(f"flexmb.{place}")), []
    monkeypatch.setattr(f"flexmb.{place}", lambda *values, **named: given.append(arguments.bind(*values, **named)))
    flexmb_command("view", swing_file, *words.split())
    (call,) = given
    call.apply_defaults()
    assert call.arguments.items() >= {"path": Path(words.split()[1]), **expected}.items()


def test_compare_prints_and_plots_the_differences(flexmb_command):
    text = flexmb_command("compare", EXAMPLE, "--duration", "2e-4", "--joint", "crank pin", "--picture", "c.png")
    for word in ("rigid", "flexible", "force in crank pin", "path of rod.small", "elastic energy", "c.png"):
        assert word in text
    assert is_picture("c.png")


def test_compare_takes_another_step(flexmb_command, monkeypatch):
    compared = []

    def compare(*given, **options):
        compared.append(flexmb.compare(*given, **options))
        return compared[0]

    monkeypatch.setattr("flexmb.analyses.compare.compare", compare)
    variable = Path("variable.toml")
    variable.write_text(EXAMPLE.read_text().replace("step = 2e-6", "max_step = 2e-5\ntolerance = 1e-5"))
    for model in (EXAMPLE, variable):
        flexmb_command("compare", model, "--duration", "2e-4", "--step", "1e-5")
    assert [len(result.t) for comparison in compared for result in comparison.results.values()] == [21] * 4


@pytest.mark.long
def test_demo_writes_everything_it_promises(flexmb_command):
    text = flexmb_command("demo", "out")
    promised = re.search(r"Written to .*: (.*)", text)[1].split(", ")
    assert len(promised) == 6
    for name in promised:
        assert (Path("out") / name).stat().st_size > 1000, name


def test_what_fails_beside_the_pictures_of_the_demo_is_told(monkeypatch, tmp_path):
    """The plots and the result are written in a second thread."""
    drawn = []
    for name, instead in {
        "connecting_rod": lambda: "rod",
        "build": lambda: None,
        "compare": lambda *args, **options: SimpleNamespace(flexible=SimpleNamespace(ledger="")),
        "_draw_rod": lambda *args: drawn.append(args),
        "_animate": lambda *args, **options: drawn.append(args),
        "_write": lambda *args: require_writable(Path("energy.avi")),
    }.items():
        monkeypatch.setattr(demo, name, instead)
    with pytest.raises(PictureError, match=r"energy\.avi"):
        demo.run(tmp_path, report=lambda text: None)
    assert len(drawn) == 2


# validate -----------------------------------------------------------------------------------------------------------

ROWS = {
    "good": lambda: [Row("good", "mass", 1.0, "exact", np.float64(1.01), np.float64(0.01), 0.1)],
    "bad": lambda: [Row("bad", "mass", 1.0, "paper", 2.0, 1.0, 0.1)],
    "lost": lambda: [Row("lost", "mass", 1.0, "paper", float("nan"), float("nan"), 0.1)],
}


@pytest.mark.parametrize(("cases", "code", "rows"), [(["good"], 0, 1), (["bad"], 1, 1), (["lost"], 1, 1), ([], 1, 3)])
def test_validate_fails_with_code_1_when_a_row_fails(cases, code, rows, flexmb_command, monkeypatch):
    monkeypatch.setattr(validation, "CASES", ROWS)
    text = flexmb_command("validate", *cases, "--json", "rows.json", code=code)
    written = json.loads(Path("rows.json").read_text())
    assert len(written) == rows
    assert all(row["passed"] == (row["case"] == "good") for row in written)
    assert text.count("FAILED") == sum(not row["passed"] for row in written)
    assert set(written[0]) == {"case", "quantity", "reference", "kind", "ours", "error", "allowed", "passed"}


def test_validate_lists_the_cases(flexmb_command):
    assert flexmb_command("validate", "--list").split() == list(validation.CASES)


# errors -------------------------------------------------------------------------------------------------------------

ERRORS = {
    "unknown case": (["validate", "two-lnk"], ["no validation case named 'two-lnk'", "Did you mean 'two-link'?"]),
    "absent model": (["run", "absent.toml"], ["no model file", "absent.toml"]),
    "wrong model": (["run", "wrong[1].toml"], ["wrong[1].toml", "key 'bodies.rod'", "no key named 'and more in [brackets]'"]),
    "no duration": (["run", "pendulum.toml", "--duration", "0"], ["duration must be positive", "found 0"]),
    "rigid model": (["compare", "pendulum.toml"], ["No body of 'pendulum' is flexible"]),
    "absent mesh": (["inspect", "absent.msh"], ["absent.msh"]),
    "material": (["inspect", CONROD, "--material", "stel"], ["no material named 'stel'", "Did you mean 'steel'?"]),
    "interface": (["reduce", CONROD, "--material", "steel", "--interface", "big", "-o", "x.h5"], ["NAME=SET", "'big'"]),
    "set": (["reduce", CONROD, "--material", "steel", "--interface", "a=BIG", "-o", "x.h5"], ["'BIG'", "'BIG_END'"]),
    "no interface": (["reduce", CONROD, "--material", "steel", "-o", "x.h5"], ["--method craig-bampton needs an interface", "--interface NAME=SET", "--method modal"]),
    "no surface": (["reduce", CONROD, "--material", "steel", "--method", "contact", "-o", "x.h5"], ["needs a surface", "--surface NAME=SET"]),
    "no band": (["reduce", CONROD, "--method", "irka", "-o", "x.h5"], ["--method irka needs --modes and --band as well"]),
    "method": (["reduce", CONROD, "--material", "steel", "--method", "modl", "-o", "x.h5"], ["'modl'", "Did you mean 'modal'?"]),
    "kind": (["reduce", CONROD, "--material", "steel", "--interface", "a=BIG_END:soft", "-o", "x.h5"], ["'soft'", "'average'"]),
    "absent result": (["view", "absent.h5"], ["no result file", "absent.h5"]),
    "foreign result": (["view", "pendulum.toml"], ["pendulum.toml", "not an HDF5 file"]),
    "colours of nothing": (["view", "absent.h5", "--gltf", "x.glb", "--pressure"], ["--pressure colours pictures", "give --picture or --animation"]),
    "frequencies of a mechanism": (["frequencies", "pendulum.toml"], ["flexmb modes MODEL.toml"]),
    "modes of a mesh": (["modes", "part.inp"], ["flexmb frequencies part.inp"]),
    "support": (["frequencies", CONROD, "--material", "steel", "--support", "BIG_END:xy"], ["SET:COMPONENTS", "x0:012"]),
    "place": (["run", "pendulum.toml", "-o", "nowhere/x.h5"], ["Cannot write", "nowhere"]),
}  # fmt: skip


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_is_one_paragraph_and_exit_code_2(kind, debug, tmp_path, monkeypatch, capsys):
    words, expected = ERRORS[kind]
    monkeypatch.chdir(tmp_path)
    Path("pendulum.toml").write_text(PENDULUM)
    Path("wrong[1].toml").write_text(PENDULUM.replace("mass = 1,", '"and more in [brackets]" = 1,'))
    monkeypatch.setenv("COLUMNS", "10000")
    monkeypatch.setattr(sys, "argv", ["flexmb", *(["--debug"] if debug else []), *words])
    if debug:
        with pytest.raises(Exception, match=re.escape(expected[0].strip("'"))) as caught:
            main()
        assert "FlexmbError" in [c.__name__ for c in type(caught.value).__mro__]
        return
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    text = capsys.readouterr().err
    assert "Traceback" not in text
    for word in expected:
        assert word in text


def test_a_defect_of_the_program_is_not_hidden(monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr("flexmb.cli.main.app", broken)
    monkeypatch.setitem(_DEBUG, "on", False)
    with pytest.raises(ZeroDivisionError):
        main()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("steel", Material.steel()),
        ("steel:mm", Material.steel("mm")),
        ("aluminium", Material.aluminium()),
        ("2e5,0.25,8e-9", Material.isotropic(2e5, 0.25, 8e-9)),
    ],
)
def test_materials_as_words(text, expected):
    from flexmb.cli.parts.materials import material_from

    found = material_from(text)
    assert np.array_equal(found.elasticity, expected.elasticity)
    assert found.density == expected.density


def test_the_command_line_itself_loads_no_verb():
    """`flexmb --help` answers at once: the verbs import meshes, solvers and pictures only when they run."""
    code = "import sys, flexmb; before = set(sys.modules); import flexmb.cli.main; print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "pyvista",
        "matplotlib",
        "h5py",
        "pydantic",
        "validation",
        "meshes",
        "flexmb.files",
        "flexmb.plots.pictures",
    }
    assert "typer" in loaded
    assert heavy.isdisjoint(loaded), heavy & set(loaded)


def test_the_version_is_that_of_the_package():
    """One source: pyproject.toml."""
    stated = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    assert flexmb.__version__ == stated
    told = CliRunner().invoke(app, ["--version"]).output.splitlines()
    assert told[0] == f"flexmb {stated}"
    assert "the time step" in told[1]
    citation = (Path(__file__).parents[3] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {stated}\n" in citation


def test_names_between_colons_are_printed_as_they_are(capsys, monkeypatch):
    """Consoles make pictures of some: `position:brick:x` became a brick between two words."""
    say_text("position:brick:x")
    monkeypatch.setattr("sys.argv", ["flexmb", "view", "position:key:x.h5"])
    with pytest.raises(SystemExit):
        main()
    told = capsys.readouterr()
    assert "position:brick:x" in told.out
    assert "position:key:x.h5" in told.err

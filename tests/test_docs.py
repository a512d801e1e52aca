"""The examples of the documentation run as they stand."""

import contextlib
import csv
import re
import shlex
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.integrate
import typer
from recorded import cases, record, summary

import flexmb
from benchmarks import REGISTRY
from flexmb.cli.main import app
from flexmb.linear import equilibrium

DOCS = Path(__file__).parents[1] / "docs"


def names_of(page):
    """What the examples of a page define, as it was recorded where the page is in a record."""
    names = cases.names_of(page)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = record.differences(record.recorded(f"pages/{page}"), summary.seen_of(cases.shown(names)))
    assert not told, f"python -m tests.recorded pages/{page}\n" + "\n".join(told[:10])
    return names


@pytest.mark.long
def test_the_reduction_of_the_manual_meets_its_tolerance():
    names = names_of("reduction.md")
    assert names["rod"].modes == names["basis"].n_modes
    assert names["basis"].options["error"] <= 0.01


@pytest.mark.long
def test_the_gears_of_the_readme_carry_their_load():
    """The torque of 5 over the base radius, on two flanks or one; friction takes some of the work."""
    names = names_of("../README.md")
    over, teeth = names["over"], names["teeth"]
    carried = over.normal_force[20:].sum(axis=1)
    np.testing.assert_allclose(carried, 5.0 / teeth.base_radius, rtol=0.06)
    assert (over.pressure > 0).any(axis=0).sum() > 20  # the contact runs over the flank
    assert over.wear_power.max() > 0
    assert names["turned"].ledger.strain_ratio < 0.1  # no noise


@pytest.mark.long
def test_the_study_of_the_manual_gives_three_times_the_weight(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = names_of("studies.md")
    weight = 9.81 * np.array(names["study"].parameter("mass"))
    np.testing.assert_allclose(names["force"], 3 * weight, rtol=1e-3)
    assert (tmp_path / "study.png").stat().st_size > 10_000
    assert names["slopes"].relative("kinetic energy")[0] == pytest.approx(
        1.0, rel=1e-6
    )  # by the mass, which the motion does not see
    assert abs(names["back"].of("result")[0]) < 1e-9
    assert names["forth"].relative("force in hinge")[0] == pytest.approx(1.0, rel=1e-6)


@pytest.fixture(scope="module")
def small_motions(tmp_path_factory):
    """What the examples of the page on small motions define, and the folder of their pictures."""
    folder = tmp_path_factory.mktemp("linear")
    with contextlib.chdir(folder):
        return names_of("linear.md"), folder


@pytest.mark.long
def test_the_arm_of_the_manual_rests_and_vibrates(small_motions):
    """A uniform arm on a controller: torques balance, and the frequency is that of one degree of freedom."""
    names, _ = small_motions
    rest, vibration = names["rest"], names["vibration"]
    w, _, y, _ = rest.state.q[3:7]
    angle, inertia = 2 * np.arctan2(y, w), rest.mechanism.bodies[0].invariants.J0[1, 1]
    from_start = angle - 0.5
    assert rest.stable
    stiffness = 60.0 + 2.0 * 9.81 * 0.5 * np.sin(angle)  # the weight has less and less arm
    np.testing.assert_allclose(60.0 * from_start, 2.0 * 9.81 * 0.5 * np.cos(angle), rtol=1e-6)
    np.testing.assert_allclose(np.abs(vibration.eigenvalues[0]), np.sqrt(stiffness / inertia), rtol=1e-6)
    np.testing.assert_allclose(vibration.eigenvalues[0].real, -0.25 / inertia, rtol=1e-6)


def test_the_diagrams_of_the_manual_are_drawn_and_right(small_motions):
    """The response of one degree of freedom at rest is its compliance; the rotor's border of stability as the text says."""
    names, folder = small_motions
    response, rest = names["response"], names["rest"]
    w, _, y, _ = rest.state.q[3:7]
    angle = 2 * np.arctan2(y, w)
    stiffness = 60.0 + 2.0 * 9.81 * 0.5 * np.sin(angle)
    np.testing.assert_allclose(abs(response.of("tip", "shake")[0]), np.cos(angle) ** 2 / stiffness, rtol=0.01)
    chart = names["chart"]
    expected = [[speed <= 20 * (1 + seal / 4) for speed in chart.x] for seal in chart.y]
    np.testing.assert_array_equal(chart.stable, expected)
    for picture in ("response", "campbell", "stability"):
        assert (folder / f"{picture}.png").stat().st_size > 10_000


def test_the_four_bar_of_the_manual_is_placed_and_counted(tmp_path, monkeypatch):
    """The coupler keeps its length and the output its end, by the law of cosines."""
    monkeypatch.chdir(tmp_path)
    names = names_of("kinematics.md")
    found = names["mobility"](names["system"])
    assert (found.degrees_of_freedom, found.redundancy) == (1, 3)
    pin = np.array([3 * np.cos(np.pi / 2 + 0.5), 3 * np.sin(np.pi / 2 + 0.5)])
    np.testing.assert_allclose(names["state"].q[7:9], pin, atol=1e-10)
    far = names["path"].result.position("coupler.end")[:, :2]
    np.testing.assert_allclose(np.linalg.norm(far - [4, -1], axis=1), 4.0, atol=1e-10)


def test_plots_of_the_manual_show_other_units(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = names_of("plots.md")
    result, axes = names["result"], names["axes"]
    assert [axis.get_ylabel() for axis in axes] == ["angle (deg)", "force (kN)"]
    force = np.linalg.norm(result.reaction("shoulder")[:, :3], axis=1)  # in N, of mm, t and s
    np.testing.assert_allclose(axes[1].lines[0].get_ydata(), 1e-3 * force)
    for picture in ("arm", "energy"):
        assert (tmp_path / f"{picture}.png").stat().st_size > 10_000


def test_the_gate_of_the_manual_bounces_is_latched_and_let_go():
    """Its energy is accounted for; while it is latched it stands still."""
    names = names_of("events.md")
    result = names["result"]
    assert {"buffer", "latch", "open"} <= {h.event for h in result.happened}
    assert np.abs(result.ledger.residual).max() < 1e-4 * result.ledger.exchange
    held = (result.t > 3.01) & (result.t < 3.5)
    assert np.ptp(result.coordinate("hinge")[held]) < 1e-9
    assert np.abs(names["force"]).max() >= 0


def test_the_arm_of_the_manual_follows_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = names_of("inverse.md")
    tip = names["check"].position("fore.end")
    np.testing.assert_allclose((tip[-1] - tip[0])[:2], [-0.3, 0.2], atol=1e-6)
    assert np.abs(names["torque"]).max() > 1.0


def test_the_bar_of_the_manual_is_shown_and_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = names_of("viewer.md")
    assert (tmp_path / "bar.glb").read_bytes()[:4] == b"glTF"
    assert "three.js" in names["page"].read_text(encoding="utf-8")
    assert (tmp_path / "bar.png").stat().st_size > 10_000
    assert len(names["few"].targets["bar"]) == 8 < len(names["written"].targets["bar"])
    assert 0 < names["left_out"] < 0.01


READERS = sorted(p.name for p in (DOCS / "readers").glob("*.md") if p.name != "index.md")


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg:UserWarning")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.long) if page in ("tutorial.md", "readers/robot-arm.md") else page
        for page in ["index.md", "tutorial.md", *(f"readers/{name}" for name in READERS)]
    ],
)
def test_pages_of_readers_run(page, tmp_path, monkeypatch):
    """What a page asserts at its end holds; its simulations are resolved."""
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    names = names_of(page)
    plt.close("all")
    ledgers = [
        value.ledger
        for value in names.values()
        if isinstance(value, flexmb.Result) and any(b.modes for b in value.mechanism.bodies)
    ]
    assert all(np.abs(each.residual).max() < 1e-3 * each.elastic.max() for each in ledgers)


def test_there_is_a_page_for_each_reader():
    assert {"robot-arm.md", "blade.md", "engine.md", "matrices.md", "classroom.md"} <= set(READERS)


def test_the_gallery_has_pictures_enough():
    """The build runs them."""
    assert len(list((DOCS / "examples").glob("*/plot_*.py"))) >= 20


def test_every_benchmark_is_described():
    described = (DOCS.parent / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert [name for name in REGISTRY if f"`{name}`" not in described] == []


def test_charts_show_the_figures_that_were_measured():
    """Every number of a chart stands in the text of the benchmarks, and its command exists."""
    said = (DOCS.parent / "benchmarks" / "README.md").read_text(encoding="utf-8")
    with (DOCS / "benchmarks.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for number in (row["ours"], row["peer"]):
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", said), f"benchmarks/README.md has no {number}"
        assert row["command"] in REGISTRY


def test_links_and_pictures_exist():
    for page in [*DOCS.glob("*.md"), *DOCS.glob("readers/*.md"), DOCS.parent / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            made = target.startswith("generated/")  # by the build
            assert made or (page.parent / target).exists(), f"{page.name} points to {target}"


CITING = [
    p
    for room in ("fem", "reduction", "flexmb", "validation", "tests", "benchmarks")
    for p in sorted((DOCS.parent / room).rglob("*.py"))
]


def test_commands_of_the_manual_have_the_options_that_they_are_given():
    """Those of the blocks of the shell; the words are parsed, and nothing runs."""
    verbs, tried = typer.main.get_command(app).commands, 0
    for page in (DOCS.parent / "README.md", *DOCS.rglob("*.md")):
        blocks = re.findall(
            r"^```([^\n]*)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        for block in (text for kind, text in blocks if kind in ("sh", "")):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True) if line.startswith("flexmb ") else []
                if words and words[1] in verbs and "--help" not in words:
                    verbs[words[1]].make_context(f"{page.name}: {line}", words[2:])
                    tried += 1
    assert tried > 8


def test_names_of_the_glossary_exist():
    """`System.belt`, `flexmb.forces.drag`, `Result.drive_effort`, ..., and its words are in order."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:flexmb|System|Result)\.[\w.]+)", text)
    assert len(names) > 40
    for name in names:
        value = flexmb
        for part in name.removeprefix("flexmb.").split("."):
            value = getattr(value, part)
    words = re.findall(r"^\| (.*?) \|", text, flags=re.MULTILINE)[1:]
    assert words == sorted(words, key=str.lower)


@pytest.mark.parametrize(
    "path",
    [p for p in CITING if "theory" in (text := p.read_text(encoding="utf-8")) or "docs/" in text],
    ids=lambda p: p.name,
)
def test_pages_and_sections_that_code_cites_exist(path):
    """A section is cited by its title, `docs/theory.md, "One body"`: titles survive where numbers do not."""
    text = " ".join(path.read_text(encoding="utf-8").split())
    assert not re.search(r"(?<!docs/)\btheory\.md|\bdocs/theory(?!\.md)", text), "cite docs/theory.md"
    for page, title in re.findall(r"\bdocs/([\w-]+\.md)(?:, \"([^\"]+)\")?", text):
        assert (DOCS / page).is_file(), page
        assert not title or re.search(
            rf"^#+ {re.escape(title)}$", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE
        ), f"{page} has no section {title!r}"
    assert not re.search(r"\bdocs/[\w-]+\.md,? \(?(?:section|chapter|[0-9])", text), "cite sections by their titles"


def test_elements_of_the_manual_are_as_stiff_as_its_table_says():
    pytest.importorskip("gmsh")  # which meshes the drawn section
    excess = names_of("choosing.md")["excess"]
    table = {"tetra": 0.83, "tetra10": 0.003, "hexahedron": 0.004, "hexahedron20": 0.002}
    for kind, value in table.items():
        assert excess[kind] == pytest.approx(value, abs=0.0006 if value < 0.1 else 0.006)


def test_bodies_of_the_manual_go_to_other_programs_and_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = names_of("interchange.md")
    np.testing.assert_allclose(names["again"].frequencies, names["body"].frequencies, rtol=1e-12)
    assert {path.suffix for path in tmp_path.iterdir()} == {".mat", ".SID_FEM", ".fem", ".mtx", ".npz"}
    assert names["plate_again"].ndof == names["plate"].ndof
    assert names["small"].inputs[0] == "tip Fx"
    result, frame = names["result"], names["frame"]
    np.testing.assert_array_equal(frame["bar.tip position z"], result.position("bar.tip")[:, 2])
    np.testing.assert_array_equal(names["dataset"](result)["hinge force x"], result.reaction("hinge")[:, 0])
    assert frame.index.name == "t"
    assert names["part"].ndof == 3 * len(names["bar"].points) + 6 - 3 * 6
    assert names["held"].dof_map.holding == ("a symmetry",)


def test_failing_examples_of_the_manual_fail_as_it_says():
    names = names_of("limits.md")
    assert "Divide the body into several" in str(names["told"][0].message)
    tips = [names[name].position(f"line {k}.tip")[-1] for name, k in (("bent", 1), ("right", 4))]
    assert np.linalg.norm(tips[0] - tips[1]) == pytest.approx(0.04, abs=0.005)
    noise, resolved = (np.abs(run.ledger.residual).max() / run.ledger.elastic.max() for run in (names["coarse"], names["fine"]))  # fmt: skip
    assert noise > 0.05
    assert resolved < 1e-3


def test_every_page_of_the_documentation_is_on_the_site():
    """Where the tools for the site are installed CI builds it; here only that nothing is forgotten."""
    listed = {DOCS / "index.md"}
    for page in DOCS.rglob("*.md"):
        for tree in re.findall(r"```{toctree}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
            for line in tree.splitlines():
                entry = re.sub(r".*<(.*)>$", r"\1", line)
                listed |= set(page.parent.glob(f"{entry}.*")) if entry and not entry.startswith(":") else set()
    pages = [p for p in DOCS.rglob("*.md") if not {"generated", "_ext", "_static", "gallery"} & set(p.parts)]
    assert not [page for page in pages if page not in listed]


@pytest.mark.long
def test_the_force_laws_of_the_manual_do_as_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = names_of("force-laws.md")
    assert "column 10: expected one of the functions" in names["message"]
    assert names["bounce"].verdict.sound
    assert "bump stop, point 3: expected increasing numbers x" in names["message_of_table"]
    assert names["gas"](0.0, 1.0 + 4 * np.pi, 0.0) == pytest.approx(80.0, rel=1e-12)
    assert "no force element named 'strutt'. Did you mean 'strut'" in names["message_of_name"]
    assert names["energies"]["strut"].work[-1] == pytest.approx(
        names["bounce"].ledger.load_work[-1], abs=1e-3 * names["bounce"].ledger.exchange
    )
    assert "is not a node of 'hose'" in names["message_of_line"]
    assert names["flutter"] > 0
    pushed = names["luffed"].element_states @ (5e-3, -3e-3)  # areas of the chambers
    np.testing.assert_allclose(np.linalg.norm(names["luffed"].force("ram")[:, :3], axis=1), np.abs(pushed), rtol=1e-9)
    assert names["luffed"].position("jib.end")[-1, 2] > 0.1
    assert names["landed"].coordinate("guide").min() == pytest.approx(-0.05, abs=1e-9)
    assert "is beyond its stroke" in names["message_of_stroke"]
    assert names["detent"](0.0, 0.1, 0.0) < -2.0 < names["detent"](0.0, 1e-4, 0.0)


def test_the_controllers_of_the_manual_hold_their_targets():
    names = names_of("controllers.md")
    assert names["result"].coordinate("shoulder")[-1] == pytest.approx(1.2, abs=0.02)
    assert np.abs(names["result"].effort("servo.command")).max() <= 8.0
    assert names["drifted"].coordinate("pivot")[-1] == pytest.approx(1.0, abs=0.1)
    assert "algebraic loop. Give the law a sample_time" in names["message"]
    assert all(names["linearise"](names["rest"]).modes().eigenvalues.real < 0)


@pytest.mark.long
def test_the_winch_and_the_trolley_of_the_manual_carry_their_loads():
    names = names_of("controllers.md")
    # the drum has wound up the rope by 11 rad; its stretch falls with the length that is left of it
    hoisted, weight = names["hoisted"], 500.0 * 9.81
    left = 10.0 - 0.25 * 11.0
    np.testing.assert_allclose(hoisted.coordinate("guide")[-1], 10.0 - left - weight * left / 2e6, atol=2e-4)
    np.testing.assert_allclose(names["sag"], crossing_sag(names["crossing"]), rtol=2e-3)

    # at rest between two interfaces: the deflection of a simply supported beam under a force, with its shear
    bending, shear = GIRDER["bending"], GIRDER["shear"]
    for place in (2.5, 10.0):
        rest = equilibrium(names["hall"](flexmb.time_functions.constant(place)))
        other, force = 20.0 - place, 9.81 * 5000.0
        sinks = force * place * other / 20.0 * (place * other / (3 * bending) + 1 / shear) + force / 5e6
        np.testing.assert_allclose(rest.result.coordinate("lift"), -sinks, rtol=2e-3)


GIRDER = {"bending": 2.1e11 * 0.3 * 0.5**3 / 12, "shear": 5 / 6 * 2.1e11 / 2.6 * 0.15, "mass": 7850.0 * 0.15}
"""Stiffnesses and mass per length of the bridge in the manual: steel, 0.3 by 0.5."""


def crossing_sag(result):
    """The lowest place of the middle of a simply supported beam over time, by its vibrations under a mass on a spring
    that crosses it: independent of any finite element."""
    length, speed, mass, spring, line_mass = 20.0, 20.0, 5000.0, 5e6, GIRDER["mass"]
    n = np.arange(1, 15)
    wave = n * np.pi / length
    squares = wave**4 * GIRDER["bending"] / line_mass / (1 + wave**2 * GIRDER["bending"] / GIRDER["shear"])

    def rates(t, y):
        q, v, z, fall = y[:14], y[14:28], y[28], y[29]
        shape = np.sin(wave * speed * t)
        push = -spring * (z - shape @ q)
        return np.concatenate([v, -squares * q - 2 * push * shape / (line_mass * length), [fall, push / mass - 9.81]])

    begin = np.concatenate([np.zeros(28), [-9.81 * mass / spring, 0.0]])
    crossed = scipy.integrate.solve_ivp(rates, (0, 1), begin, t_eval=result.t, rtol=1e-9, atol=1e-12)
    return (np.sin(n * np.pi / 2) @ crossed.y[:14]).min()


def test_the_ball_of_the_manual_bounces():
    names = names_of("contact.md")
    np.testing.assert_allclose(names["rebound"][2], 0.8, rtol=2e-2)
    assert 0 < names["rebound"][0] < 0.5
    assert "0.0199 deep (length; at most 0.002" in names["message"]
    np.testing.assert_allclose(names["held"].velocities, 0, atol=1e-8)
    assert names["slips"].velocities[1] > 0
    np.testing.assert_allclose(names["carried"], 1.5 * 9.81, rtol=1e-2)
    assert names["dropped"].touching.any()
    assert names["grains"].count[-1] >= 9
    np.testing.assert_allclose(names["slowed"], 1 - 5 / 7 * 9.81 * 2e-3 / 0.1 * 0.2, rtol=1e-3)
    assert "does not include contacts of groups" in names["refused_group"]
    assert names["climbed"].velocity("marble")[-1, 0] < 0 < names["climbed"].velocity("marble")[0, 0]
    assert "is open: 3 of its edges border a hole" in names["message_of_mesh"]
    np.testing.assert_allclose(names["stands"].position("case")[-1], (1.5, 1.2, 0.5), atol=3e-3)
    assert names["kept"] < 1e-11
    assert names["corner"][2] == pytest.approx(58.0 * 9.81 / 4)
    assert len(names["standing_modes"].frequencies) == 1
    assert "opens" in names["message_of_tipping"]
    assert "block 1 closes with 1" in names["message_of_cones"]
    assert names["slid"].happened[0].t == pytest.approx(np.sqrt(2 * 0.25 / 9.81), rel=1e-9)
    assert names["slid"].ledger.imbalance < 1e-4
    assert "begin inside each other, 0.01 deep" in names["message_of_overlap"]
    assert names["pressed"] == pytest.approx(np.pi / 4 * 0.008**2 * 7850 * 9.81, rel=1e-2)


@pytest.mark.long
def test_the_surfaces_of_the_manual_have_exact_statics():
    names = names_of("flexible-contact.md")
    assert "no face of the skin has all of its nodes in the given nodes" in names["message"]
    assert "a flexible surface has no law=, restitution=" in names["refused"]
    assert names["result"].ledger.imbalance < 0.05
    assert names["chosen"].options["error"] <= 0.03
    assert len(names["residual"].nodes) == len(names["surface"].nodes) == 36
    assert names["held"].moment[0, 2] == pytest.approx(-0.9 * names["grip"], rel=1e-4)
    assert "'fit' slide or tip: all of their points slip" in names["turns"]


def test_the_joints_of_the_manual_push_lift_and_turn_as_they_must():
    names = names_of("joints.md")
    rotor = 20 / 0.1  # angle per height
    inertia = 30 + 0.08 * 100 + 1e-3 * rotor**2
    acceleration = (2.0 * rotor - 30 * 9.81) / inertia
    np.testing.assert_allclose(names["height"], 0.5 * acceleration, rtol=1e-8)
    np.testing.assert_allclose(names["tooth_force"], 30 * (9.81 + acceleration), rtol=1e-6)
    np.testing.assert_allclose(names["speed"], 2.0, rtol=1e-10)
    static = 200 * 9.81 * np.sqrt(5)  # the push acts where the weight does, at an angle of atan(1/2) to the boom
    assert names["push"] == pytest.approx(static, rel=0.02)  # it moves at 0.1 a second
    assert "spherical joint" in names["refused_rod"]
    path, force = names["path"], names["contact_force"]
    assert path[-1, 0] > 5
    assert 1e-3 < np.abs(path[:, 1]).max() < 1
    assert (force[:, 2] > 0).all()
    assert "'contact'" in names["refused_method"]
    for name in ("sun (driven)", "arm (driven)", "sun and planet", "planet and ring"):
        assert repr(name) in names["refused"]

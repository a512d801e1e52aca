"""The doors of docs/extending.md: the page runs as it stands, what it registers is found by every road, and what cannot be is refused."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import dense
import numpy as np
import pytest
from mechanisms import double_pendulum
from scipy.special import gamma
from test_docs import DOCS, names_of

import fem
import flexmb
import reduction
from fem.elements import CELLS, ELEMENTS, element, register_element
from fem.elements.hexahedron import HEX8
from fem.errors import MeshError, MeshWarning
from fem.files import mesh_files
from flexmb.errors import FileError, IntegratorError, LawError
from flexmb.files.bodies import body_file
from flexmb.files.models.model_file import load_model
from flexmb.integrators import method
from flexmb.mechanism import force_law, joints
from reduction import method as reduction_method

REGISTRIES = (
    ELEMENTS, CELLS, joints._REGISTERED, force_law._REGISTERED, method._REGISTERED, reduction_method._REGISTERED, mesh_files._READERS, mesh_files._WRITERS,
    body_file._READERS, body_file._WRITERS,
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _only_here():
    """What these tests register is forgotten after them."""
    before = [dict(registry) for registry in REGISTRIES]
    yield
    for registry, content in zip(REGISTRIES, before, strict=True):
        registry.clear()
        registry.update(content)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The names that the page defines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        return names_of("extending.md")


def test_the_yoke_moves_as_the_cosine(page):
    np.testing.assert_allclose(page["stroke"], 0.1 * np.cos(5 * page["turning"].t), atol=1e-9)
    assert page["refused"].endswith("Each equation must block an axis of its own.")
    assert "twice" not in joints.JOINTS


def test_the_spring_of_the_law_keeps_its_energy_and_has_its_period(page):
    """100 x^4 = v^2 / 2; the period of a cubic spring by Jacobi's elliptic functions: 4 K(1/sqrt 2) / (amplitude sqrt k)."""
    swing, amplitude = page["swing"], (2.0**2 / 2 / 100.0) ** 0.25
    assert page["amplitude"] == pytest.approx(amplitude, rel=1e-5)
    x = swing.coordinate("rail")
    ups = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
    crossings = swing.t[ups] - x[ups] * np.diff(swing.t)[ups] / (x[ups + 1] - x[ups])
    period = gamma(0.25) ** 2 / np.sqrt(np.pi) / (amplitude * np.sqrt(400.0))
    assert np.diff(crossings).mean() == pytest.approx(period, rel=1e-5)


def test_the_integrator_is_of_order_one_and_keeps_the_promises_of_a_method(page):
    coarse, fine = page["errors"]
    assert coarse / fine == pytest.approx(2.0, abs=0.1)
    result = flexmb.simulate(double_pendulum(), 0.4, method="semi-implicit-euler", step=2e-4, output_step=0.05)
    assert np.abs(result.ledger.residual).max() < 2e-3 * np.ptp(result.ledger.kinetic)
    with pytest.raises(IntegratorError, match="needs a fixed step"):
        flexmb.simulate(double_pendulum(), 0.1, method="semi-implicit-euler")


def test_the_reduction_keeps_its_promises_and_is_tried_by_choose(page):
    """Tolerance met, static response exact, options refused; a number of shapes too."""
    model, basis = page["beam"], page["ritz_basis"]
    assert basis.options["error"] <= 0.02
    loads = dense.all_motions(model)
    R = dense.rigid_columns(model.points, model.centre_of_mass)
    loads = loads - model.M @ R @ np.linalg.solve(R.T @ (model.M @ R), R.T @ loads)
    response = dense.without_rigid_motion(model, basis.Psi @ ((basis.Psi.T @ loads) / basis.eigenvalues[:, None]))
    full = dense.static_shapes(model, loads, np.zeros((0, model.ndof)), np.zeros((0, loads.shape[1])))
    full = dense.without_rigid_motion(model, full)
    assert np.abs(response - full).max() < 1e-8 * np.abs(full).max()
    assert reduction.reduce(model, "ritz", 5).n_modes == 12 + 5
    with pytest.raises(fem.MatrixError, match=r"'ritz' has no option 'shifts'.* belongs to krylov"):
        reduction.reduce(model, "ritz", shifts=[0])
    chosen = reduction.choose(model, band=(0, 1000), tolerance=0.02, methods=["ritz"])
    assert chosen.method == "ritz"
    assert chosen.n_modes == basis.n_modes


def test_the_element_locks_as_it_should_and_goes_through_files(page, tmp_path):
    """A slender beam of standard hexahedra, two over its height, is too stiff in bending; hex8 of flexmb is not. Files hold hexahedra, decks may name the new element."""
    stiff, right = page["bending"]
    assert 1.05 < stiff / right < 3
    assert set(page["trilinear"].mesh.kinds) == {"trilinear"}
    for ending in (".msh", ".vtu", ".inp"):
        with pytest.warns(MeshWarning, match="trilinear are hexahedron there"):
            fem.write_mesh(page["trilinear"].mesh, tmp_path / f"beam{ending}")
        again = fem.read_mesh(tmp_path / f"beam{ending}")
        assert set(again.kinds) == {"hexahedron"}
        assert len(again.points) == len(page["trilinear"].mesh.points)
    path = tmp_path / "beam.inp"
    path.write_text(re.sub(r"TYPE=\w+", "TYPE=C3D8S", path.read_text(), flags=re.IGNORECASE))
    assert set(fem.read_mesh(path).kinds) == {"trilinear"}
    assert fem.Model(fem.read_mesh(path), fem.Material.steel()).K.trace() == pytest.approx(page["trilinear"].K.trace())


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"kind": "tetra"}, "There is an element 'tetra' already"), ({"kind": "x"}, "C3D8, CHEXA, gmsh 5, vtk 12 belongs to 'hexahedron'"),
     ({"kind": "x", "cell": "hexa", "abaqus": ()}, "there is no cell 'hexa' with 8 nodes"), ({"mirrored": (0, 1)}, "mirrored is an order of its 8 nodes"),
     ({"faces": ((0, 8, 2, 1),)}, "faces are of nodes 0 to 7")],
)  # fmt: skip
def test_elements_that_cannot_be_are_refused(changes, said):
    with pytest.raises(MeshError, match=said):
        register_element(replace(HEX8, **({"cell": ""} | changes)))
    assert element("hexahedron") is HEX8


def test_the_reader_reads_and_says_what_it_cannot_read(page, tmp_path):
    assert fem.Model(page["corner"], fem.Material.isotropic(1.0, 0.3, 6.0)).mass == pytest.approx(1.0)
    np.testing.assert_array_equal(page["corner"].node_ids, [10, 20, 30, 40])
    for text, said in (
        ("triangle 1 2 3\n", "line 1: expected a node or a tetra"),
        ("tetra 1 2 3 4\n", "cannot be read: ValueError: "),
    ):
        (tmp_path / "wrong.lines").write_text(text)
        with pytest.raises(MeshError, match=f"wrong.lines.*{said}"):
            fem.read_mesh(tmp_path / "wrong.lines")


MODEL = """
simulation = {{ duration = 0.5, method = "{method}", step = 1e-3 }}
[bodies.crank]
kind = "rigid"
mass = 1
inertia = [0.01, 0.01, 0.01]
points = {{ pin = [0.1, 0, 0] }}
[bodies.slider]
kind = "rigid"
mass = 2
inertia = [0.01, 0.01, 0.01]
position = [0.1, 0, 0]
[[joints]]
name = "shaft"
kind = "revolute"
a = "ground"
b = "crank"
at = [0, 0, 0]
speed = 5
[[joints]]
name = "guide"
kind = "prismatic"
a = "ground"
b = "slider"
at = [0.1, 0, 0]
axis = [1, 0, 0]
[[joints]]
name = "slot"
kind = "{joint}"
a = "slider"
b = "crank.pin"
axis = [1, 0, 0]
[[motors]]
name = "spring"
joint = "guide"
{effort}
"""
LAW = 'law = "hardening spring"'


@pytest.mark.usefixtures("page")
def test_model_files_name_what_is_registered(tmp_path):
    """The pin stays in the slot, and the energy of the law is accounted for."""
    path = tmp_path / "yoke.toml"
    path.write_text(MODEL.format(method="semi-implicit-euler", joint="in-plane", effort=LAW))
    model = load_model(path)
    result = flexmb.simulate(model.system, model.duration, **model.options)
    np.testing.assert_allclose(result.coordinate("guide") + 0.1, result.position("crank.pin")[:, 0], atol=1e-9)
    assert np.ptp(result.coordinate("guide")) > 0.1


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"joint": "in-plan"}, "Did you mean 'in-plane'"), ({"effort": 'law = "hardning spring"'}, "Did you mean 'hardening spring'.*Register it in the program"),
     ({"effort": LAW + "\neffort = 2"}, "either effort = .* or law"), ({"effort": ""}, "either effort = .* or law"), ({"method": "euler"}, "euler")],
)  # fmt: skip
@pytest.mark.usefixtures("page")
def test_names_that_are_not_registered_are_refused(changes, said, tmp_path):
    path = tmp_path / "yoke.toml"
    path.write_text(MODEL.format(**({"method": "semi-implicit-euler", "joint": "in-plane", "effort": LAW} | changes)))
    with pytest.raises(flexmb.ModelFileError, match=f"(?s){said}"):
        load_model(path)


@pytest.mark.parametrize(
    ("register", "error", "said"),
    [
        (lambda: mesh_files.register_reader([".MSH"], print), MeshError, "'.msh' already"),
        (lambda: mesh_files.register_writer("xyz", print), MeshError, "An ending is a point and letters"),
        (lambda: body_file.register_body_reader([".mat"], print), FileError, "'.mat' already"),
        (lambda: body_file.register_body_writer(["."], print), FileError, "An ending is a point and letters"),
        (lambda: force_law.register_law("hardening spring")(np.sin), LawError, "There is a law 'hardening spring' already"),
        (lambda: force_law.register_law("")(np.sin), LawError, "A law needs a name and a function"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("page")
def test_endings_and_names_that_cannot_be_are_refused(register, error, said):
    with pytest.raises(error, match=said):
        register()


def test_formats_of_users_are_written_and_read(tmp_path, recwarn):
    """A writer of meshes says whether it keeps sets; a body goes to a file of its own and back."""
    mesh = fem.structured_meshes.block("tetra", (1.0, 1.0, 1.0), (1, 1, 1))
    mesh_files.register_writer([".count"], lambda mesh, path: path.write_text(str(len(mesh.points))))
    with pytest.warns(fem.MeshWarning, match=r"\.count files keep no sets; lost: 'x0'"):
        fem.write_mesh(mesh, tmp_path / "mesh.count")
    assert (tmp_path / "mesh.count").read_text() == "8"
    mesh_files.register_reader([".count"], lambda path: path)
    with pytest.raises(MeshError, match="gives a RawMesh; found"):
        fem.read_mesh(tmp_path / "mesh.count")

    def write(body, path):
        path.write_text(repr(body.invariants.mass))
        return path

    body_file.register_body_writer([".mass"], write)
    body_file.register_body_reader(
        [".mass"], lambda path: flexmb.rigid_body("point", mass=float(path.read_text()), inertia=(1, 1, 1))
    )
    path = body_file.save_body(flexmb.rigid_body("b", mass=2.5, inertia=(1, 1, 1)), tmp_path / "b.mass")
    assert body_file.load_body(path).invariants.mass == 2.5
    path.write_text("heavy")
    with pytest.raises(FileError, match="cannot be read as a body"):
        body_file.load_body(path)


def test_a_verb_is_found_by_its_entry_point_and_one_that_fails_is_named(tmp_path):
    """As the page writes it; `flexmb` goes on when another extension cannot be imported."""
    text = (DOCS / "extending.md").read_text(encoding="utf-8")
    module = re.search(r'```python title="weigh.py"\n(.*?)```', text, flags=re.DOTALL)[1]
    points = re.search(r'```toml\n\[project.entry-points."flexmb.extensions"\]\n(.*?)```', text, flags=re.DOTALL)[1]
    (tmp_path / "weigh.py").write_text(module)
    (tmp_path / "broken.py").write_text("raise OSError('no such valve')")
    info = tmp_path / "weigh-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weigh\nVersion: 1.0\n")
    lines = points.replace('"', "") + "broken = broken\n"
    (info / "entry_points.txt").write_text("[flexmb.extensions]\n" + lines)
    fem.write_mesh(fem.structured_meshes.block("tetra", (1.0, 1.0, 1.0), (1, 1, 1)), tmp_path / "cube.msh")
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from flexmb.cli.main import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), "weigh", str(tmp_path / "cube.msh"), "--density", "3"],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert run.stdout == "mass: 3\n"
    assert "the extension broken = broken cannot be imported: OSError: no such valve" in run.stderr


def test_the_command_line_lists_the_reductions():
    from typer.testing import CliRunner

    from flexmb.cli.main import app

    said = CliRunner().invoke(app, ["reduce", "--methods"]).output
    for name in reduction.METHODS:
        assert name[:10] in said


def _from_another_file(thing):
    """The same name, defined elsewhere."""
    thing.__module__ = "another"
    return thing


@pytest.mark.parametrize(
    ("register", "error", "said"),
    [
        (lambda: joints.register_joint(joints.JointKind("event", (("translation", 2),))), flexmb.JointError, "'event' already: a coordinate that an event locks"),
        (lambda: joints.register_joint(joints.JointKind("locked", (("translation", 2),))), flexmb.JointError, "'locked' already"),
        (lambda: joints.register_joint(joints.JointKind("", (("translation", 2),))), flexmb.JointError, "needs a name"),
        (lambda: method.register("radau five")(flexmb.Radau), IntegratorError, "Radau is the method 'radau' already"),
        (lambda: method.register("radau")(_from_another_file(type("Radau", (flexmb.Radau,), {}))), IntegratorError, "'radau' already: flexmb"),
        (lambda: reduction_method.register_reduction("guyan", coordinates="", exact_for="nothing", cost="")(_from_another_file(_guyan())), fem.MatrixError, "'guyan' already: reduction.methods"),
    ],
)  # fmt: skip
def test_names_that_are_taken_are_refused(register, error, said):
    """A kind of joint called "event" was taken for what an event holds, a method under a second name lost its first, and a plug-in with a function of the same name replaced ours."""
    with pytest.raises(error, match=said):
        register()
    assert flexmb.Radau.name == "radau"


def _guyan():
    def guyan(model, reference_frame=None, inputs=None):
        """Never called."""

    guyan.__qualname__ = "guyan"
    return guyan

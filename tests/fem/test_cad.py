"""Parts of STEP files, meshed by Gmsh: volumes, labels of faces and solids, units, refusals."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import fem
from fem.errors import MeshError
from flexmb.cli.main import app

NAMES = ("left", "front", "top", "back", "bottom", "right", "BORE")
VOLUME = 30 * 20 * 10 - np.pi * 4**2 * 10


@pytest.fixture(scope="module")
def step(tmp_path_factory):
    """A block of 30 x 20 x 10 mm with a bore of 8 mm, its faces with labels, as CAD programs write it."""
    gmsh = pytest.importorskip("gmsh")
    path = tmp_path_factory.mktemp("cad") / "block.step"
    gmsh.initialize(readConfigFiles=False)
    gmsh.option.setNumber("General.Verbosity", 0)
    occ = gmsh.model.occ
    occ.cut([(3, occ.addBox(0, 0, 0, 30, 20, 10))], [(3, occ.addCylinder(15, 10, -1, 0, 0, 12, 4))])
    occ.synchronize()
    gmsh.write(str(path))
    gmsh.finalize()
    names = iter(NAMES)
    path.write_text(re.sub(r"ADVANCED_FACE\(''", lambda _: f"ADVANCED_FACE('{next(names)}'", path.read_text()))
    return path


def test_a_part_is_meshed_in_one_call(step):
    mesh = fem.mesh_cad(step)
    assert list(mesh.kinds) == ["tetra10"]
    assert set(NAMES) <= set(mesh.face_sets)
    model = fem.Model(mesh, fem.Material.steel("mm"))
    assert model.mass == pytest.approx(7.85e-9 * VOLUME, rel=2e-4)
    bore = mesh.points[mesh.nodes("BORE")]
    np.testing.assert_allclose(np.hypot(bore[:, 0] - 15, bore[:, 1] - 10), 4.0, rtol=1e-6)
    for name, axis, value in (("left", 0, 0), ("right", 0, 30), ("front", 1, 0), ("top", 2, 10)):
        np.testing.assert_allclose(mesh.points[mesh.nodes(name)][:, axis], value, atol=1e-9)
    assert "coordinates are in mm" in mesh.warnings[0]
    assert model.with_interfaces(bore="BORE", foot="left").interfaces.keys() == {"bore", "foot"}


def test_size_order_and_units(step):
    coarse, fine = (fem.mesh_cad(step, size=size, order=1, units="m") for size in (10e-3, 2e-3))
    assert list(coarse.kinds) == ["tetra"]
    assert np.ptp(fine.points, axis=0) == pytest.approx([0.03, 0.02, 0.01])
    for mesh, size in ((coarse, 10e-3), (fine, 2e-3)):
        x = mesh.points[mesh.cells[0].connectivity]
        assert np.linalg.norm(x[:, :, None] - x[:, None], axis=3).max() < 2 * size


def test_labels_follow_the_faces_and_not_their_order(step, tmp_path):
    """Faces listed in another order keep their labels; those without get a number; lost ones are told."""
    text = step.read_text()
    shell = re.search(r"CLOSED_SHELL\('',\(([^)]*)\)\)", text)
    turned = ",".join(reversed(re.sub(r"\s", "", shell[1]).split(",")))
    other = tmp_path / "turned.stp"
    other.write_text(text.replace(shell[1], turned).replace("'left'", "''"))
    mesh = fem.read_mesh(other)
    np.testing.assert_allclose(mesh.points[mesh.nodes("right")][:, 0], 30, atol=1e-9)
    unnamed = [name for name in mesh.face_sets if re.fullmatch(r"face \d+", name)]
    assert len(unnamed) == 1
    np.testing.assert_allclose(mesh.points[mesh.nodes(unnamed[0])][:, 0], 0, atol=1e-9)


def test_inspect_shows_it(step):
    done = CliRunner().invoke(app, ["inspect", str(step), "--material", "steel:mm"])
    assert done.exit_code == 0, done.output
    assert "tetra10" in done.output
    assert "BORE" in done.output


def test_what_is_refused(step, tmp_path, monkeypatch):
    wrong = tmp_path / "wrong.step"
    wrong.write_text("solid\n")
    with pytest.raises(MeshError, match="ISO-10303-21"):
        fem.read_mesh(wrong)
    cut = tmp_path / "cut.step"
    cut.write_text(step.read_text()[:2000])
    with pytest.raises(MeshError, match=r"cut.step"):
        fem.mesh_cad(cut)
    with pytest.raises(MeshError, match="no CAD file"):
        fem.mesh_cad(tmp_path / "none.step")
    for options, words in (({"size": -1.0}, "size"), ({"order": 3}, "order 3"), ({"units": "in"}, "units")):
        with pytest.raises(MeshError, match=words):
            fem.mesh_cad(step, **options)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("ImportError", "needs Gmsh, which is not installed: pip install"),
        ("OSError('libGLU.so.1: cannot open shared object file')", r"needs Gmsh, which cannot be loaded \(libGLU"),
    ],
)
def test_gmsh_that_is_missing_is_named(step, trouble, words, tmp_path, monkeypatch):
    """Gmsh meshes in a process of its own, which does not find it."""
    (tmp_path / "gmsh.py").write_text(f"raise {trouble}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(MeshError, match=rf"CAD part block.step {words}"):
        fem.read_mesh(step)


def test_a_damaged_file_ends_the_process_that_meshes_it_only(step, tmp_path, monkeypatch):
    """Errors of syntax are told, as losses; what crashes Gmsh is named."""
    damaged = tmp_path / "damaged.step"
    damaged.write_text(step.read_text().replace("DATA;", "DATA;\n#99999 = NONSENSE(;", 1))
    with pytest.warns(fem.MeshWarning, match=r"Open CASCADE could not read \(StepFile : Incorrect Syntax, 1 times\)"):
        mesh = fem.mesh_cad(damaged, size=20.0)
    assert set(NAMES) <= set(mesh.face_sets)
    circle = re.search(r"#(\d+) = EDGE_LOOP\('',\((#\d+)", step.read_text())
    damaged.write_text(step.read_text().replace(circle[0], f"#{circle[1]} = EDGE_LOOP('',(#{circle[1]}"))
    with pytest.raises(MeshError, match=r"damaged.step"):
        fem.mesh_cad(damaged, size=20.0)


def test_a_model_of_gmsh_that_is_open_stays(step):
    """Users mesh with Gmsh themselves: their model, their options and the program itself are theirs afterwards."""
    gmsh = pytest.importorskip("gmsh")
    gmsh.initialize(readConfigFiles=False)
    try:
        gmsh.option.setNumber("General.Verbosity", 0)
        gmsh.option.setNumber("Mesh.MeshSizeMax", 0.125)
        gmsh.model.add("mine")
        gmsh.model.occ.addBox(0, 0, 0, 1, 1, 1)
        gmsh.model.occ.synchronize()
        assert fem.mesh_cad(step).kinds == {"tetra10": 2600}
        fem.drawn_section([(0, 0), (0.1, 0), (0.1, 0.1)])
        assert gmsh.isInitialized()
        assert gmsh.model.getCurrent() == "mine"
        assert len(gmsh.model.getEntities(3)) == 1
        assert gmsh.option.getNumber("Mesh.MeshSizeMax") == 0.125
        assert gmsh.model.list() == ["", "mine"]
    finally:
        gmsh.finalize()

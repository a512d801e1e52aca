"""Shells in files: groups of triangles and quadrilaterals, decks with shell sections, omission by name."""

import warnings

import numpy as np
import pytest

import fem
import reduction
from fem.errors import MeshError, MeshWarning
from fem.mesh.structured_meshes import sheet
from flexmb.files.models.model_file import load_model
from validation.shells import held

DECK = """*NODE
1, 0, 0, 0
2, 1, 0, 0
3, 1, 1, 0
4, 0, 1, 0
5, 2, 0, 0
6, 2, 1, 0
*ELEMENT, TYPE=S4R, ELSET=plate
1, 1, 2, 3, 4
*ELEMENT, TYPE=S3, ELSET=end
2, 2, 5, 3
3, 5, 6, 3
*NSET, NSET=root
1, 4
*MATERIAL, NAME=alu
*ELASTIC
7e10, 0.3
*DENSITY
2700
*SHELL SECTION, ELSET=plate, MATERIAL=alu, OFFSET=SPOS
0.02
*SHELL SECTION, ELSET=end, MATERIAL=alu
0.01
"""


def written(folder, text):
    path = folder / "plate.inp"
    path.write_text(text)
    return path


def test_shells_that_differ_in_their_offset_are_two(tmp_path):
    deck = DECK.replace("0.01\n", "0.02\n")
    assert deck != DECK
    model = fem.Model(fem.read_mesh(written(tmp_path, deck)))
    assert [(s.thickness, s.offset) for s in model.materials] == [(0.02, -0.01), (0.02, 0.0)]


def test_a_deck_gives_cells_thickness_and_material(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", MeshWarning)
        mesh = fem.read_mesh(written(tmp_path, DECK + "*BOUNDARY\nroot, 1, 6\n"), supports="keep")
    assert mesh.kinds == {"quad": 1, "triangle": 2}
    model = fem.Model(mesh)
    assert [(s.thickness, s.offset) for s in model.materials] == [(0.02, -0.01), (0.01, 0.0)]
    assert model.mass == pytest.approx(2700 * 0.03)
    assert model.ndof == 24
    plain = fem.Model(fem.read_mesh(written(tmp_path, DECK)))
    fixed = held(plain, "root", range(6))
    kept = np.setdiff1d(np.arange(plain.ndof), fixed)
    np.testing.assert_allclose(model.K.toarray(), plain.K[kept][:, kept].toarray(), rtol=1e-12)
    assert len(reduction.modal(plain, 3).frequencies) == 3


def test_shells_and_beams_of_reduced_integration_are_noted_as_solids_are(tmp_path):
    """C3D8R had a note, S4R none; where no section makes shells of them, they mark places and have none."""
    note = "elements of type {} are integrated in full, not reduced"
    mesh = fem.read_mesh(written(tmp_path, DECK))
    assert note.format("S4R") in mesh.warnings
    assert not any("S3" in text for text in fem.read_mesh(written(tmp_path, DECK.replace("=S3,", "=S3R,"))).warnings)
    expanded = fem.read_mesh(written(tmp_path, DECK), expand=True)
    assert not any("S4R" in text for text in expanded.warnings)
    line = "*ELEMENT, TYPE=B31R, ELSET=rib\n9, 1, 2\n*BEAM SECTION, ELSET=rib, MATERIAL=alu, SECTION=RECT\n0.1, 0.1\n0, 0, 1\n"
    assert note.format("B31R") in fem.read_mesh(written(tmp_path, DECK + line)).warnings


def test_another_thickness_than_that_of_the_deck_is_refused(tmp_path):
    mesh = fem.read_mesh(written(tmp_path, DECK))
    alu = fem.Material.isotropic(7e10, 0.3, 2700.0)
    model = fem.Model(mesh, fem.Shell(alu, 0.01))
    with pytest.raises(MeshError, match=r"thickness = 0.02, offset = -0.01\) is not the shell of the model"):
        model.require_obeyed()
    fem.Model(mesh, {"plate": fem.Shell(alu, 0.02, -0.01), "end": fem.Shell(alu, 0.01)}).require_obeyed()


@pytest.mark.parametrize(
    ("change", "keyword"),
    [
        (("*SHELL SECTION, ELSET=end, MATERIAL=alu\n0.01\n", ""), "ELEMENT TYPE=S3"),
        (("ELSET=end, MATERIAL=alu\n", "ELSET=end, MATERIAL=alu, ORIENTATION=o\n"), "SHELL SECTION"),
        (("ELSET=end, MATERIAL=alu\n", "ELSET=end, COMPOSITE\n"), "SHELL SECTION"),
    ],
)
def test_shells_without_a_section_that_is_read_are_named(change, keyword, tmp_path):
    with pytest.warns(MeshWarning, match=f"not obeyed: .*{keyword}, line"):
        mesh = fem.read_mesh(written(tmp_path, DECK.replace(*change)))
    assert mesh.kinds == {"quad": 1}


def test_a_section_for_no_element_is_told_where_no_shell_has_one(tmp_path):
    """A set that is spelt wrongly, or a thickness of zero: the message says that no section is for the elements."""
    sheets = DECK.replace("ELSET=plate, MATERIAL", "ELSET=plat, MATERIAL").replace(
        "ELSET=end, MATERIAL=alu\n0.01", "ELSET=end, MATERIAL=alu\n0.0"
    )
    with pytest.raises(MeshError, match=r"\(element \d+ has no \*SHELL SECTION with a thickness\)"):
        fem.read_mesh(written(tmp_path, sheets))


def test_shells_of_a_deck_can_be_left_out(tmp_path):
    with pytest.raises(MeshError, match=r'no solid cells .*shells="all"'):
        fem.read_mesh(written(tmp_path, DECK), ignore=["ELEMENT"])


def test_groups_of_surface_cells_become_shells(tmp_path):
    mesh = sheet("triangle", (2.0, 1.0), (4, 2))
    path = fem.write_mesh(mesh, tmp_path / "sheet.msh")
    again = fem.read_mesh(path, shells=["all"])
    assert again.kinds == mesh.kinds
    np.testing.assert_array_equal(again.cell_sets["all"], mesh.cell_sets["all"])
    assert fem.read_mesh(path, shells="all").kinds == mesh.kinds
    nine = sheet("quad9", (2.0, 1.0), (2, 1))
    curved = fem.read_mesh(fem.write_mesh(nine, tmp_path / "nine.msh"), shells="all")
    np.testing.assert_array_equal(curved.cells[0].connectivity, nine.cells[0].connectivity)
    with pytest.raises(MeshError, match="no group of surface cells named 'skin'"):
        fem.read_mesh(path, shells=["skin"])
    with pytest.raises(MeshError, match=r'shells="all"'):
        fem.read_mesh(path)


def test_a_model_file_makes_bodies_of_shells(tmp_path):
    """From the deck's own section, and from a mesh with a thickness: as in Python."""
    deck = written(tmp_path, DECK)
    fem.write_mesh(sheet("quad", (1.0, 0.5), (4, 2)), tmp_path / "sheet.msh")
    text = """simulation = { duration = 1 }
[bodies.a]
kind = "flexible"
mesh = "plate.inp"
material = "file"
interfaces = { root = "root" }
reduction = { modes = 2 }
[bodies.b]
kind = "flexible"
mesh = "sheet.msh"
shells = ["all"]
material = { youngs_modulus = 7e10, poissons_ratio = 0.3, density = 2700, thickness = 0.01, offset = 0.002 }
reduction = { method = "modal", modes = 2 }
"""
    (tmp_path / "model.toml").write_text(text)
    a, b = load_model(tmp_path / "model.toml").system.build().bodies
    part = fem.Model(fem.read_mesh(deck)).with_interfaces(root="root")
    np.testing.assert_allclose(a.stiffness, reduction.craig_bampton(part, modes=2).eigenvalues, rtol=1e-9)
    assert b.invariants.mass == pytest.approx(2700 * 0.005)
    assert b.invariants.s0[2] == pytest.approx(2700 * 0.005 * 0.002)


@pytest.mark.parametrize(("given", "kind"), [("S6", "triangle6"), ("S8", "quad8"), ("S8R", "quad8")])
def test_quadratic_shells_of_decks(tmp_path, given, kind):
    mesh = sheet(kind, (2.0, 1.0), (2, 1))
    rows = [f"{k + 1}, {x:.17g}, {y:.17g}, {z:.17g}" for k, (x, y, z) in enumerate(mesh.points)]
    cells = [", ".join(map(str, [k + 1, *(c + 1)])) for k, c in enumerate(mesh.cells[0].connectivity)]
    text = "\n".join(["*NODE", *rows, f"*ELEMENT, TYPE={given}, ELSET=all", *cells, ""])
    text += "*MATERIAL, NAME=alu\n*ELASTIC\n7e10, 0.3\n*DENSITY\n2700\n"
    text += "*SHELL SECTION, ELSET=all, MATERIAL=alu\n0.01\n"
    model = fem.Model(fem.read_mesh(written(tmp_path, text)))
    assert model.mesh.cells[0].kind == kind
    assert model.mass == pytest.approx(2.0 * 0.01 * 2700)
    ours = fem.Model(mesh, fem.Shell(fem.Material.isotropic(7e10, 0.3, 2700.0), 0.01))
    assert abs(model.K - ours.K).max() < 1e-9 * abs(ours.K).max()


LAYERS = """*MATERIAL, NAME=SOFT
*ELASTIC
7e4, 0.3
*DENSITY
2.7e-9
*MATERIAL, NAME=FIBRE
*ELASTIC, TYPE=ENGINEERING CONSTANTS
1.35e5, 9e3, 9e3, 0.3, 0., 0., 5e3, 5e3,
3.5e3
*DENSITY
1.6e-9
"""


def layered(folder, section, normal="0., 0., 1."):
    sheet = fem.structured_meshes.sheet("quad8", (4.0, 1.0), (2, 1))
    lines = ["*NODE", *(f"{k}, {x!r}, {y!r}, 0." for k, (x, y, _) in enumerate(sheet.points.tolist(), 1))]
    lines += ["*ELEMENT, TYPE=S8R, ELSET=ALL"]
    lines += [f"{k}, " + ", ".join(map(str, nodes + 1)) for k, nodes in enumerate(sheet.cells[0].connectivity, 1)]
    axes = "*ORIENTATION, NAME=AX\n0., 1., 0., -1., 0., 0.\n3, 20.\n*ORIENTATION, NAME=UP\n0., 0., 1., 0., 1., 0.\n"
    axes += "*ORIENTATION, NAME=IN\n0., 1., 0., -1., 0., 0.\n3, 60.\n"
    (folder / "deck.inp").write_text("\n".join(lines) + "\n" + LAYERS + axes + section)
    return sheet


def test_layers_and_orientations_of_shell_sections(tmp_path):
    """Layers from the bottom, with angles from an orientation that is turned by 20 degrees about the normal."""
    soft = fem.Material.isotropic(7e4, 0.3, 2.7e-9)
    fibre = fem.Material.orthotropic((1.35e5, 9e3, 9e3), (0.3, 0, 0), (5e3, 3.5e3, 5e3), 1.6e-9)
    angle = np.deg2rad(110.0)
    x = (float(np.cos(angle)), float(np.sin(angle)), 0.0)
    cases = {
        "*SHELL SECTION, ELSET=ALL, COMPOSITE, OFFSET=.5\n0.01,, SOFT\n0.03,, SOFT\n": fem.Shell.layup(
            [fem.Ply(soft, 0.01), fem.Ply(soft, 0.03)], offset=-0.02
        ),
        "*SHELL SECTION, ELSET=ALL, COMPOSITE, ORIENTATION=AX\n0.01,, SOFT\n0.02, 3, FIBRE, 45.\n": fem.Shell.layup(
            [fem.Ply(soft, 0.01), fem.Ply(fibre, 0.02, 45.0)], x
        ),
        "*SHELL SECTION, ELSET=ALL, COMPOSITE\n0.02,, FIBRE, AX\n0.01,, SOFT\n0.02,, FIBRE, IN\n": fem.Shell.layup(
            [fem.Ply(fibre, 0.02), fem.Ply(soft, 0.01), fem.Ply(fibre, 0.02, 40.0)], x
        ),
        "*SHELL SECTION, ELSET=ALL, COMPOSITE, ORIENTATION=IN\n0.02,, FIBRE, AX\n0.01,, FIBRE\n": fem.Shell.layup(
            [fem.Ply(fibre, 0.02, -40.0), fem.Ply(fibre, 0.01)], (-(0.75**0.5), 0.5, 0.0)
        ),
        "*SHELL SECTION, ELSET=ALL, MATERIAL=FIBRE, ORIENTATION=AX\n0.02\n": fem.Shell.layup([fem.Ply(fibre, 0.02)], x),
    }
    for section, shell in cases.items():
        sheet = layered(tmp_path, section)
        found = fem.Model(fem.read_mesh(tmp_path / "deck.inp"))
        same = fem.Model(sheet, shell)
        assert abs(found.K - same.K).max() < 1e-9 * abs(same.K).max()
        assert abs(found.M - same.M).max() < 1e-9 * abs(same.M).max()
        assert found.unread == ()
    for section, words in (
        ("*SHELL SECTION, ELSET=ALL, MATERIAL=FIBRE, ORIENTATION=UP\n0.02\n", "along the normal"),
        ("*SHELL SECTION, ELSET=ALL, COMPOSITE\n0.02,, FIBRE\n", "is not isotropic"),
        ("*SHELL SECTION, ELSET=ALL, COMPOSITE\n0.02,, FIBRE, AX\n0.02,, FIBRE\n", "is not isotropic"),
        ("*SHELL SECTION, ELSET=ALL, COMPOSITE\n0.02,, FIBRE, AX\n0.02,, FIBRE, UP\n", "along the normal"),
        ("*SHELL SECTION, ELSET=ALL, COMPOSITE\n0.02,, FIBRE, AX\n0.02,, FIBRE, NO\n", "no orientation 'NO'"),
        ("*SHELL SECTION, ELSET=ALL, COMPOSITE\n0.02,, STEEL\n", "has no constants"),
    ):
        layered(tmp_path, section)
        with pytest.warns(fem.MeshWarning, match=words):
            mesh = fem.read_mesh(tmp_path / "deck.inp", shells="all")
        assert any(words in u.text for u in mesh.unread)

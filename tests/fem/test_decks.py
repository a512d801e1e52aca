"""Decks of solvers: what they say beside the mesh is obeyed, or named and refused; every spelling of a card is read."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from test_mesh_files import DECK, deck

import fem
import flexmb
import reduction
from fem.errors import MeshError, MeshWarning
from fem.mesh.unread import canonical

# what decks say beside the mesh ----------------------------------------------------------------------------------------

ISO = "*MATERIAL, NAME=m\n*ELASTIC\n210000., 0.3\n*DENSITY\n7.85e-9\n*SOLID SECTION, ELSET=both, MATERIAL=m\n"
OTHER = ISO.replace("NAME=m", "NAME=o").replace("MATERIAL=m", "MATERIAL=o")
OBEYED = DECK.split("*MATERIAL")[0]
STEEL = fem.Material.isotropic(210000.0, 0.3, 7.85e-9, "steel")
CHANGING = {
    "unknown node": ("*EQUATION\n2\n901, 1, 1., 103, 1, -1.\n", "EQUATION"),
    "removed equation": ("*EQUATION, REMOVE\n101, 1\n", "EQUATION"),
    "rotation of a solid": ("*EQUATION\n2\n101, 4, 1., 103, 1, -1.\n", "EQUATION"),
    "mpc": ("*MPC\nMEANROT, 101, 102, 103\n", "MPC"),
    "ambiguous mpc": ("*MPC\nELBOW, 101, 102\n", "MPC"),
    "rigid body": ("*RIGID BODY, ANALYTICAL SURFACE=a, REF NODE=101\n", "RIGID BODY"),
    "blanks do not count": ("* RigidBody , NSET=rot, REF NODE=101\n", "RIGIDBODY"),
    "cyclic tie": ("*TIE, NAME=t, CYCLIC SYMMETRY\nskin, end face\n", "TIE"),
    "tie": ("*TIE, NAME=t\na, b\n", "TIE"),
    "coupling of no kind": ("*COUPLING, REF NODE=101, SURFACE=skin, CONSTRAINT NAME=c\n", "COUPLING"),
    "support that moves": ("*BOUNDARY\nroot, 1, 3, 0.1\n", "BOUNDARY"),
    "pre-tension": ("*PRE-TENSION SECTION, SURFACE=skin, NODE=101\n", "PRE-TENSION SECTION"),
    "transform of an equation": ("*TRANSFORM, NSET=rot, TYPE=C\n0, 0, 0, 0, 0, 1\n*EQUATION\n2\n101, 1, 1., 103, 1, -1.\n", "EQUATION"),
    "support": ("*BOUNDARY\nroot, 1, 3\n", "BOUNDARY"),
    "temperature at the start": ("*INITIAL CONDITIONS, TYPE=STRESS\n", "INITIAL CONDITIONS"),
    "lumped inertia": ("*ELEMENT, TYPE=ROTARYI, ELSET=lump\n9, 101\n*ROTARY INERTIA, ELSET=lump\n1.0\n", "ROTARY INERTIA"),
    "mass of no value": ("*ELEMENT, TYPE=MASS, ELSET=lump\n9, 101\n", "ELEMENT TYPE=MASS"),
    "mass by direction": ("*ELEMENT, TYPE=MASS, ELSET=lump\n9, 101\n*MASS, ELSET=lump, TYPE=ANISOTROPIC\n1., 2., 3.\n", "MASS"),
    "spring of no stiffness": ("*ELEMENT, TYPE=SPRINGA, ELSET=s\n9, 101, 103\n", "ELEMENT TYPE=SPRINGA"),
    "nonlinear spring": ("*ELEMENT, TYPE=SPRINGA, ELSET=s\n9, 101, 103\n*SPRING, ELSET=s, NONLINEAR\n\n0., 0.\n5., 1.\n", "SPRING"),
    "damper by frequency": ("*ELEMENT, TYPE=DASHPOTA, ELSET=s\n9, 101, 103\n*DASHPOT, ELSET=s\n\n10., 1.\n20., 2.\n", "DASHPOT"),
    "orthotropic": (ISO.replace("*ELASTIC\n210000., 0.3", "*ELASTIC, TYPE=ENGINEERING CONSTANTS\n1., 1., 1., .3, .3, .3, 1., 1.\n1."), "MATERIAL"),
    "hot": (ISO.replace("210000., 0.3", "210000., 0.3, 20.\n180000., 0.3, 300."), "ELASTIC"),
    "plastic": (ISO.replace("*DENSITY", "*PLASTIC\n200., 0.\n*DENSITY"), "PLASTIC"),
    "oriented section": (ISO.replace("MATERIAL=m\n", "MATERIAL=m, ORIENTATION=o\n"), "SOLID SECTION"),
    "another modulus": (ISO.replace("210000", "70000"), "MATERIAL"),
    "another density": (ISO.replace("7.85e-9", "7.85e-6"), "MATERIAL"),
    "another Poisson's ratio": (ISO.replace("0.3", "0.33"), "MATERIAL"),
    "two materials": (ISO.replace("both", "first") + OTHER.replace("both", "second").replace("210000", "70000"), "MATERIAL"),
    "load in a step": ("*STEP\n*STATIC\n*CLOAD\n103, 1, 5.\n*END STEP\n", "CLOAD"),
    "nobody knows it": ("*WARP DRIVE, FACTOR=9\n1., 2.\n", "WARP DRIVE"),
}  # fmt: skip


def quietly(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        return fem.read_mesh(path, **options)


def hinged(mesh, material=STEEL):
    return fem.Model(mesh, material).with_interfaces(root="root", tip="tip")


@pytest.mark.parametrize("case", CHANGING)
def test_what_a_deck_says_and_is_not_obeyed_is_named_and_refused(case, tmp_path):
    """By name and line; by every road to a body; until the user accepts it by name."""
    text, keyword = CHANGING[case]
    path = deck(tmp_path, OBEYED + text)
    lines = path.read_text().splitlines()
    part = hinged(quietly(path))
    found = next(u for u in part.unread if u.keyword == keyword)
    assert canonical(lines[found.line - 1]).startswith(canonical(keyword.split()[0]))
    assert found.file == "part.inp"
    accepted = quietly(path, ignore=[u.keyword for u in part.unread])
    basis = reduction.craig_bampton(hinged(accepted), modes=2)
    assert flexmb.flexible_body(hinged(accepted), basis).modes == basis.n_modes
    with pytest.raises(MeshError, match="ignore=") as error:
        flexmb.flexible_body(part, basis)
    assert f"{keyword}, line {found.line} of part.inp" in str(error.value)
    for method, options in (("craig-bampton", {"modes": 2}), ("modal", {"modes": 2}), ("herting", {"modes": 2})):
        with pytest.raises(MeshError, match=re.escape(keyword)):
            reduction.reduce(part, method, **options)
        with pytest.raises(MeshError, match=re.escape(keyword)):
            reduction.METHODS[method](part, **options)


@pytest.mark.parametrize(
    "text",
    [
        ISO, ISO.replace("*ELASTIC\n", "*ELASTIC, TYPE=ISOTROPIC\n"), ISO.replace("7.85e-9", "7.85D-09"), ISO.replace("*DENSITY\n7.85e-9\n", ""),
        ISO.replace("both", "first") + OTHER.replace("both", "second"), ISO + OTHER.replace("both", "none of these").replace("210000", "1"),
        "*AMPLITUDE, NAME=a\n0., 1.\n*NODE PRINT, NSET=root\nU\n*STEP, NLGEOM\n*STATIC\n*NODEFILE\nU\n*END STEP\n",
        ISO.replace("*DENSITY", "*EXPANSION\n1e-5\n*CONDUCTIVITY\n50.\n*DENSITY"),
    ],
)  # fmt: skip
def test_what_does_not_change_the_part_is_passed_over(text, tmp_path):
    part = hinged(fem.read_mesh(deck(tmp_path, OBEYED + text)))
    assert part.unread == ()
    reduction.modal(part, modes=2)


def test_two_materials_of_a_deck_given_as_two_are_right(tmp_path):
    first = ISO.replace("both", "first")
    second = OTHER.replace("both", "second").replace("210000", "70000")
    path = deck(tmp_path, OBEYED + "*ELSET, ELSET=first\n1\n" + first + second)
    soft = fem.Material.isotropic(70000.0, 0.3, 7.85e-9, "soft")
    reduction.modal(hinged(fem.read_mesh(path), {"first": STEEL, "second": soft}), modes=2)
    with pytest.raises(
        MeshError,
        match=r"MATERIAL, line .*m of the file \(E = 210000, nu = 0.3, density = 7.85e-09\) is not the material 'soft'",
    ):
        reduction.modal(hinged(fem.read_mesh(path), {"first": soft, "second": STEEL}), modes=2)


def test_all_that_is_in_steps_is_accepted_by_one_word(tmp_path):
    step = "*STEP\n*STATIC\n*BOUNDARY\nroot, 1, 3\n*CLOAD\n103, 1, 5.\n*END STEP\n"
    path = deck(tmp_path, OBEYED + "*BOUNDARY\nroot, 3\n" + step)
    mesh = quietly(path, ignore=["step"])
    assert [(u.keyword, u.group) for u in mesh.unread] == [("BOUNDARY", "")]
    assert any("not obeyed, as accepted: CLOAD" in note for note in mesh.warnings)
    assert quietly(path, ignore=["STEP", "Boundary"]).unread == ()


def test_what_is_not_obeyed_stays_with_a_mesh_that_is_changed(tmp_path):
    mesh = quietly(deck(tmp_path, OBEYED + CHANGING["tie"][0]))
    for changed in (
        fem.merge_nodes(mesh),
        fem.fix_orientation(mesh),
        fem.drop_unused_nodes(mesh),
        replace(mesh, name="x"),
    ):
        assert changed.unread == mesh.unread
    part = hinged(mesh)
    assert fem.join({"a": part, "b": hinged(two_cubes(tmp_path))}, {"weld": ("a tip", "b root")}).unread == mesh.unread
    with pytest.warns(MeshWarning, match=r"not obeyed: TIE, line \d+ of part.inp: \*TIE, NAME=t"):
        fem.read_mesh(deck(tmp_path, OBEYED + CHANGING["tie"][0]))


def two_cubes(tmp_path):
    (tmp_path / "plain").mkdir()
    return fem.read_mesh(deck(tmp_path / "plain", OBEYED))


def unread_of(text, folder, material=STEEL):
    return [(u.keyword, u.line) for u in hinged(quietly(deck(folder, text)), material).unread]


def test_options_are_read_in_any_spelling(tmp_path):
    """Blanks in the names of options, sections over several lines, quoted names: the second material is seen in all."""
    soft = OTHER.replace("210000", "70000")
    for k, section in enumerate((
        "*SOLID SECTION, ELSET=both, MATERIAL=o\n", "* Solid Section , El Set = both , Material = o\n", "*solid section,\nelset=BOTH,\nmaterial=O\n",
        '*SOLID SECTION, MATERIAL="o", ELSET="both"\n', "*SOLID SECTION, ELSET=inst-1.both, MATERIAL=o\n", "*SOLID SECTION, ELSET=both, MATERIAL=o,\n1.0\n",
    )):  # fmt: skip
        (tmp_path / str(k)).mkdir()
        text = OBEYED + soft.split("*SOLID SECTION")[0] + section
        assert [keyword for keyword, _ in unread_of(text, tmp_path / str(k))] == ["MATERIAL"], section


def test_a_comma_at_the_end_of_a_keyword_swallows_nothing(tmp_path):
    """The next line goes on with the keyword if it names an option; elements and constraints are none."""
    text = OBEYED.replace("*ELEMENT, type=C3D8R, elset=Cubes\n", "*ELEMENT, type=C3D8R, elset=Cubes,\n")
    text += "*SOLID SECTION, ELSET=both, MATERIAL=m,\n*BOUNDARY\nroot, 1, 3\n"
    assert len(quietly(deck(tmp_path, text)).cells[0]) == 2
    assert [keyword for keyword, _ in unread_of(text, tmp_path)] == ["BOUNDARY"]


def test_included_files_are_found_beside_the_deck_and_over_two_lines(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "first.inc").write_text("*INCLUDE, INPUT=inner/second.inc\n")
    (tmp_path / "inner" / "second.inc").write_text("*BOUNDARY\nroot, 1, 3\n")
    assert unread_of(OBEYED + "*Include,\n  Input = inner/first.inc\n", tmp_path) == [("BOUNDARY", 1)]


def test_sections_without_their_set_or_material_are_not_passed_over(tmp_path):
    sections = (
        "*SOLID SECTION, ELSET=second, MATERIAL=a\n*ELSET, ELSET=first\n1\n*SOLID SECTION, ELSET=first, MATERIAL=b\n"
    )
    assert [keyword for keyword, _ in unread_of(OBEYED + sections, tmp_path)] == ["MATERIAL"]  # a and b are unknown
    part = fem.Model(quietly(tmp_path / "part.inp"), {"second": STEEL, "first": replace(STEEL, name="other")})
    assert part.unread == ()
    assert unread_of(OBEYED + sections.replace("=b", "=A"), tmp_path) == []
    found = unread_of(OBEYED + ISO.replace("ELSET=both, ", ""), tmp_path)
    assert [keyword for keyword, _ in found] == ["SOLID SECTION"]


def test_an_element_that_is_given_twice_is_one(tmp_path):
    again = "*ELEMENT, TYPE=C3D8, ELSET=again\n2, 102, 103, 106, 105, 108, 109, 112, 111\n"
    mesh = quietly(deck(tmp_path, OBEYED + again))
    assert len(mesh.cells[0]) == 2
    assert mesh.cell_sets["again"].tolist() == mesh.cell_sets["second"].tolist()
    with pytest.raises(MeshError, match="element 2 is given twice"):
        quietly(deck(tmp_path, OBEYED + again.replace("102, 103", "103, 102")))


# Nastran --------------------------------------------------------------------------------------------------------------

POINTS = [(0, 0, 0), (2, 0, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (0, 2, 2)]
WEDGE = [*POINTS, (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (2, 0, 1), (0, 2, 1), (1, 0, 2), (1, 1, 2), (0, 1, 2)]
GRIDS = "".join(f"GRID    {k:8d}        {x:8.3f}{y:8.3f}{z:8.3f}\n" for k, (x, y, z) in enumerate(WEDGE, 1))
FIRST = "CPENTA         1       7       1       2       3       4       5       6"
PENTAS = {
    "blank": f"{FIRST}\n               7       8       9      10      11      12      13      14\n              15\n",
    "plus": f"{FIRST}+\n+              7       8       9      10      11      12      13      14+\n+             15\n",
    "named": f"{FIRST}+A1\n+A1            7       8       9      10      11      12      13      14+A2\n+A2           15\n",
    "blank after a name": f"{FIRST}+A1\n               7       8       9      10      11      12      13      14\n              15\n",
    "large": "CPENTA*" + "".join(f"{k:16d}" for k in (1, 7, 1, 2)).rjust(65) + "*\n*       " + "".join(f"{k:16d}" for k in (3, 4, 5, 6)) + "*\n*       "
    + "".join(f"{k:16d}" for k in (7, 8, 9, 10)) + "*\n*       " + "".join(f"{k:16d}" for k in (11, 12, 13, 14)) + "*\n*       " + f"{15:16d}\n",
    "free": "CPENTA,1,7,1,2,3,4,5,6,+\n+,7,8,9,10,11,12,13,14,+\n+,15\n",
    "free, blank": "CPENTA,1,7,1,2,3,4,5,6\n,7,8,9,10,11,12,13,14\n,15\n",
    "free, large": "cpenta*,1,7,1,2,*\n*,3,4,5,6,*\n*,7,8,9,10\n*,11,12,13,14\n*,15\n",
    "small and large": f"{FIRST}\n*       " + "".join(f"{k:16d}" for k in (7, 8, 9, 10)) + "\n*       " + "".join(f"{k:16d}" for k in (11, 12, 13, 14)) + "\n,15\n",
    "tabs": "CPENTA\t1\t7\t1\t2\t3\t4\t5\t6\n\t7\t8\t9\t10\t11\t12\t13\t14\n\t15\n",
    "comments": f"{FIRST}   $ a wedge\n$ and\n\n               7       8       9      10      11      12      13      14\n              15 $\n",
}  # fmt: skip


@pytest.mark.parametrize("how", PENTAS)
@pytest.mark.parametrize("frame", ["{}", "SOL 103\nCEND\nTITLE = x\nBEGIN BULK\n{}ENDDATA\nnonsense\n"])
def test_every_way_to_continue_a_card_of_nastran(how, frame, tmp_path):
    (tmp_path / "part.bdf").write_text(frame.format(GRIDS + PENTAS[how]))
    mesh = fem.read_mesh(tmp_path / "part.bdf")
    assert mesh.kinds == {"wedge15": 1}
    assert fem.check_mesh(mesh).findings == ()
    assert fem.check_mesh(mesh).volume == pytest.approx(4.0)
    np.testing.assert_array_equal(mesh.cell_sets["property 7"], [0])


WRONG_CARDS = {
    "a node too few": ("CPENTA,1,7,1,2,3,4,5\n", "a CPENTA has 6 to 15 nodes; found 5"),
    "out of order": (PENTAS["named"].replace("\n+A1", "\n+A3"), r"continuation '\+A3' does not follow"),
    "nothing to continue": ("+,1,2\n" + PENTAS["free"], "none comes before it"),
    "text for a node": (PENTAS["free"].replace(",14,", ",x,"), "must be a whole number; found 'x'"),
    "more fields than a line has": ("CPENTA,1,7,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n", "8 fields and a mark"),
    "two places of a node": (PENTAS["free"] + "GRID,3,,9.,9.,9.\n", "node 3 is given twice"),
    "missing node": (PENTAS["free"].replace(",15", ",99"), r"does not define \(first: 99\)"),
}


@pytest.mark.parametrize("case", WRONG_CARDS)
def test_wrong_cards_are_refused_by_line(case, tmp_path):
    text, words = WRONG_CARDS[case]
    first = "nothing" in case
    (tmp_path / "part.bdf").write_text(text + GRIDS if first else GRIDS + text)
    with pytest.raises(MeshError, match=words):
        fem.read_mesh(tmp_path / "part.bdf")


NASTRAN_MATERIAL = "PSOLID,7,3\nMAT1,3,2.1+5,,.3,7.85-9\n"
CHANGING_CARDS = {
    "SPC": "SPC,1,1,123\n",
    "SPC1": "SPC1           1     123       1       2\n",
    "CBUSH": "CBUSH,9,9,1,2\n",
    "FORCE": "FORCE,1,1,,1.,1.,0.,0.\n",
    "MAT3": "MAT3,4\n",
    "MAT1": NASTRAN_MATERIAL.replace("2.1+5", "2.1+11"),
    "MAT1 GE": NASTRAN_MATERIAL.replace("7.85-9", "7.85-9,,,.02"),
    "MAT1 G": NASTRAN_MATERIAL.replace(",,.3", ",5.+4,.3"),
    "PARAM G": "PARAM,G,.02\n",
    "TABDMP1": "TABDMP1,3,CRIT\n,0.,.02,1000.,.02,ENDT\n",
    "GRID PS": "GRID,99,,9.,9.,9.,,123\n",
    "CQUAD4": "CQUAD4,9,8,1,2,5,4\nPSHELL,8,3,.1\n",
    "MPC": "MPC,1,1,4,1.,2,1,-1.\n",
    "RBE2": "RBE2,9,1,12,2,77\n",
    "RBE3": "RBE3,9,,1,123,1.,12,2,3\n",
    "CONM2": "CONM2,9,1,,2.0,.1\n",
    "CELAS1": "CELAS1,9,10,1,1,2,1\n",
    "CBAR": "CBAR,9,8,1,2,0.,0.,1.\n",
    "WARP": "WARP,1\n",
}
HARMLESS_CARDS = [
    NASTRAN_MATERIAL, NASTRAN_MATERIAL.replace(",,.3", ",80769.230769230769,"), "PARAM,POST,-1\nPARAM,WTMASS,1.0\n", "EIGRL,1,,,10\n", "CQUAD4,9,8,1,2,5,4\n", "CORD2C,1,0,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\n",
]  # fmt: skip


@pytest.mark.parametrize("name", CHANGING_CARDS)
def test_cards_of_nastran_that_are_not_obeyed_are_named(name, tmp_path):
    path = tmp_path / "part.bdf"
    path.write_text(GRIDS + PENTAS["blank"] + CHANGING_CARDS[name])
    part = fem.Model(quietly(path), STEEL)
    found = next(u for u in part.unread if u.keyword == name)
    assert path.read_text().splitlines()[found.line - 1].upper().startswith(name.split()[0])
    with pytest.raises(MeshError, match=name):
        reduction.modal(part, modes=2)
    reduction.modal(fem.Model(quietly(path, ignore=[name]), STEEL), modes=2)


@pytest.mark.parametrize("cards", HARMLESS_CARDS)
def test_cards_of_nastran_that_change_nothing_are_passed_over(cards, tmp_path):
    (tmp_path / "part.bdf").write_text(GRIDS + PENTAS["blank"] + cards)
    assert fem.Model(fem.read_mesh(tmp_path / "part.bdf"), STEEL).unread == ()


@pytest.mark.filterwarnings("ignore:.*cells have the corners of others")
def test_two_materials_that_a_deck_of_nastran_does_not_define_are_told_apart(tmp_path):
    second = PENTAS["blank"].replace("CPENTA         1       7", "CPENTA         2       8")
    path = tmp_path / "part.bdf"
    path.write_text(GRIDS + PENTAS["blank"] + second + "PSOLID,7,1\nPSOLID,8,2\n")
    assert [u.keyword for u in fem.Model(quietly(path), STEEL).unread] == ["PSOLID"]
    path.write_text(path.read_text().replace("PSOLID,8,2", "PSOLID,8,1"))
    assert fem.Model(quietly(path), STEEL).unread == ()
    path.write_text(GRIDS + PENTAS["blank"] + PENTAS["blank"])
    with pytest.raises(MeshError, match="CPENTA 1 is given twice, first in line 16"):
        quietly(path)


def test_included_files_of_nastran_are_read(tmp_path):
    (tmp_path / "grids.inc").write_text(GRIDS)
    (tmp_path / "part.bdf").write_text(f"BEGIN BULK\nINCLUDE 'grids.inc'\n{PENTAS['blank']}CVISC,9,1,2\nENDDATA\n")
    mesh = quietly(tmp_path / "part.bdf")
    assert mesh.unread[0].line == 6
    (tmp_path / "grids.inc").unlink()
    with pytest.raises(MeshError, match=r"'grids.inc' that the deck includes does not exist"):
        fem.read_mesh(tmp_path / "part.bdf")


def test_names_of_included_files_of_nastran_go_on_to_their_quote(tmp_path):
    """As MSC Nastran and preprocessors write long names; a name without its quote is refused."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "grids.inc").write_text(GRIDS)
    for name in ("'inner/\ngrids.inc'", "'inner\n   /grids\n.inc'", '"inner/grids.inc"'):
        (tmp_path / "part.bdf").write_text(f"BEGIN BULK\nINCLUDE {name}\n{PENTAS['blank']}ENDDATA\n")
        assert len(quietly(tmp_path / "part.bdf").points) == 15
    (tmp_path / "part.bdf").write_text(f"BEGIN BULK\nINCLUDE 'inner/grids.inc\n{PENTAS['blank']}ENDDATA\n")
    with pytest.raises(MeshError, match=r"part.bdf, line 2: the name of the file that INCLUDE begins with ' has no '"):
        fem.read_mesh(tmp_path / "part.bdf")


# Gmsh -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parametric", [0, 1])
def test_empty_blocks_of_a_gmsh_file_are_no_damage(parametric, tmp_path):
    """Entities without nodes or cells: the format allows them, of every dimension and type."""
    nodes = "".join(f"{k}\n" for k in range(1, 5)) + "0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
    text = (
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
        f"$Nodes\n4 4 1 4\n0 1 0 0\n1 1 {parametric} 0\n3 1 0 4\n{nodes}2 1 {parametric} 0\n$EndNodes\n"
        "$Elements\n4 1 1 1\n2 1 2 0\n3 1 4 1\n1 1 2 3 4\n3 2 5 0\n1 1 0 0\n$EndElements\n"
    )
    (tmp_path / "part.msh").write_text(text)
    mesh = fem.read_mesh(tmp_path / "part.msh")
    assert mesh.kinds == {"tetra": 1}
    np.testing.assert_array_equal(mesh.points[1], [1, 0, 0])


def test_contact_pairs_name_their_surfaces(tmp_path):
    """Bodies are parts of their own: the surfaces keep their names, and the contact is one of the mechanism."""
    part = quietly(deck(tmp_path, DECK + "*CONTACT PAIR, INTERACTION=dry\nskin, other side\n"))
    (pair,) = [u for u in part.unread if u.keyword == "CONTACT PAIR"]
    assert "'skin' with 'other side'" in pair.text
    assert "System.contact" in pair.text


def test_sets_and_surfaces_of_the_same_name_are_apart(tmp_path):
    """A surface of nodes with the name of a set of nodes leaves the set as it is, also for supports (as CalculiX
    does), and may name this set itself."""
    text = DECK.split("*SURFACE")[0] + "*SURFACE, NAME=ROOT, TYPE=NODE\n{},\n*BOUNDARY\nROOT, 1, 3\n"
    for members, called in (("tip", "root (surface)"), ("root", "root")):
        mesh = quietly(deck(tmp_path, text.format(members)), supports="keep")
        root, tip = np.array([0, 3, 6, 9]), np.array([2, 5, 8, 11])
        np.testing.assert_array_equal(mesh.nodes("root"), root)
        np.testing.assert_array_equal(np.unique([c.nodes[0] for c in mesh.constraints]), root)
        np.testing.assert_array_equal(mesh.nodes(called), tip if members == "tip" else root)
        assert any("'root (surface)'" in note for note in mesh.warnings) == (members == "tip")


HEAD = "*NODE\n1, 0,0,0\n2, 1,0,0\n3, 0,1,0\n4, 0,0,1\n5, 1,1,1\n*ELEMENT, TYPE=C3D4, ELSET=EALL\n1, 1,2,3,4\n"
CONSTANTS = "*MATERIAL, NAME=S\n*ELASTIC\n2e11, 0.3\n*DENSITY\n6.\n*SOLID SECTION, ELSET=EALL, MATERIAL=S\n"


@pytest.mark.parametrize(
    ("old", "new", "told", "mass"),
    [
        ("*DENSITY\n6.\n", "*DENSITY\n6.\n*DENSITY\n9.\n", "DENSITY, line .*has this keyword twice, and the first one", 1),
        ("*DENSITY\n", "*ELASTIC\n1e11, 0.3\n*DENSITY\n", "ELASTIC, line .*has this keyword twice, and the first one", 1),
        ("*DENSITY\n", "*ELASTIC\n2e11, 0.3\n*DENSITY\n", "", 1),
        ("*MATERIAL", "*SURFACE, NAME=A\nEALL, S1\n*SURFACE, NAME=A\nEALL, S2\n*MATERIAL", "SURFACE, line 11 .*this surface twice and differently; the last", 1),
        ("*MATERIAL", "*SURFACE, NAME=A\nEALL, S1\n*SURFACE, NAME=a\nEALL, S1\n*MATERIAL", "", 1),
        (HEAD, "*NODE\n2, 3,0,0\n" + HEAD, "NODE, line 5 .*node 2 is given twice and differently; the last place counts", 1),
        (HEAD, "*NODE\n2, 1,0,0\n" + HEAD, "", 1),
    ],
)  # fmt: skip
def test_nodes_and_constants_that_are_given_twice_and_differently_are_named(old, new, told, mass, tmp_path):
    """The last ones were taken without a word."""
    path = tmp_path / "part.inp"
    path.write_text((HEAD + CONSTANTS).replace(old, new))
    if not told:
        mesh = quietly(path)
    else:
        with pytest.warns(MeshWarning, match=told):
            mesh = fem.read_mesh(path, ignore=())
        mesh = fem.read_mesh(path, ignore=[u.keyword for u in mesh.unread])
    assert fem.Model(mesh).mass == pytest.approx(mass)


def test_members_that_are_not_there_and_ranges_that_end_early_are_noted(tmp_path):
    path = tmp_path / "part.inp"
    path.write_text(
        HEAD + "*NSET, NSET=A\n1, 99\n*NSET, NSET=B, GENERATE\n1, 4, 2\n1, 3, 2\n*ELSET, ELSET=C\n1, 77\n" + CONSTANTS
    )
    mesh = quietly(path)
    assert [mesh.nodes(name).tolist() for name in "AB"] == [[0], [0, 2]]
    assert "the set C names 1 elements that the deck does not define (first: 77)" in mesh.warnings
    assert "the set A names 1 nodes that the deck does not define (first: 99)" in mesh.warnings
    noted = [note for note in mesh.warnings if "GENERATE" in note]
    assert noted == ["GENERATE, line 12 of part.inp: '1, 4, 2' does not reach its last number and ends at 3"]
    path.write_text(HEAD + "*NSET, NSET=A, GENERATE\n4, 1\n" + CONSTANTS)
    with pytest.raises(MeshError, match="line 10: GENERATE runs from the lower number to the higher one; found '4, 1'"):
        fem.read_mesh(path)


def test_names_in_the_encoding_of_windows_stay_apart(tmp_path):
    """Their umlauts were replaced by one and the same sign, so that two sets were one."""
    text = HEAD + "*NSET, NSET=Ä\n1\n*NSET, NSET=Ö\n2, 3\n" + CONSTANTS
    for encoding in ("cp1252", "utf-8", "utf-8-sig"):
        (tmp_path / "part.inp").write_bytes(text.encode(encoding))
        mesh = quietly(tmp_path / "part.inp")
        assert {name: rows.tolist() for name, rows in mesh.node_sets.items()} == {"Ä": [0], "Ö": [1, 2]}

"""What is said of typing errors in decks: the keyword, its line, what was expected and found."""

import warnings

import numpy as np
import pytest

import fem
from fem.errors import MaterialError, MeshError, MeshWarning

BEAM = """BEGIN BULK
GRID,1,,0.,0.,0.
GRID,2,,1.,0.,0.
CBAR,1,1,1,2,0.,0.,1.
PBAR,1,1,1.-3,1.-6,2.-6,1.-8
{}
"""
MAT1 = "MAT1,1,2.1+11,,.3,7850."
SHELL = """*NODE
1,0,0,0
2,1,0,0
3,1,1,0
4,0,1,0
*ELEMENT,TYPE=S4R,ELSET=E
1,1,2,3,4
*ELEMENT,TYPE={},ELSET=E
2,1,2,3,4
*SHELL SECTION,ELSET=E,MATERIAL=S
0.01
*MATERIAL,NAME=S
*ELASTIC
2.1E11,.3
"""


def read(path, text, **options):
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        return fem.read_mesh(path, **options)


@pytest.mark.parametrize(
    ("card", "reason"),
    [
        ("SPC1,1,123456,1x", "a number of a node is needed, found '1x'"),
        ("SPC1,1,12x,2", "components are digits from 1 to 6; found '12x'"),
        ("SPC1,1,123,99", "the deck has no node 99"),
        ("SPC1,1,123,50,THRU,60", "the deck has none of the nodes 50 to 60"),
        ("SPC1,1,123", "it names no node"),
        ("SPC,1,1x,123", "field 2 of SPC must be a whole number; found '1x'"),
        ("RBE2,9,1,123,x", "field 4 of RBE2 must be a number; found 'x'"),
    ],
)
def test_a_constraint_of_nastran_with_a_typing_error_is_named_once_with_its_line(card, reason, tmp_path):
    (found,) = read(tmp_path / "part.bdf", BEAM.format(f"{MAT1}\n{card}"), supports="keep").unread
    assert found.label == f"{card.partition(',')[0]}, line 7 of part.bdf"
    assert found.text == f"{card} (not obeyed: {reason})"


def test_ranges_of_spc1_may_have_gaps(tmp_path):
    mesh = read(tmp_path / "part.bdf", BEAM.format(f"{MAT1}\nSPC1,1,1,2,THRU,60"), supports="keep")
    assert mesh.unread == ()
    assert len(mesh.constraints) == 1


def test_sets_of_supports_with_a_typing_error_are_refused(tmp_path):
    with pytest.raises(MeshError, match=r"line 7: field 3 of SPCADD must be a whole number; found 'x'"):
        read(tmp_path / "part.bdf", BEAM.format(f"{MAT1}\nSPCADD,5,1,x"))


@pytest.mark.parametrize(("field", "card"), [(2, "MAT1,1,2.1e+1l,,.3,7850."), (5, "MAT1,1,2.1+11,,.3,78S0.")])
def test_a_typing_error_in_a_material_is_named_at_its_own_line(field, card, tmp_path):
    with pytest.raises(MeshError, match=rf"line 6: field {field} of MAT1 must be a number; found"):
        read(tmp_path / "part.bdf", BEAM.format(card))


def test_a_poisson_ratio_in_the_field_of_the_shear_modulus_is_named(tmp_path):
    (found,) = read(tmp_path / "part.bdf", BEAM.format("MAT1,1,2.1+11,.3,,7850.")).unread
    assert found.label == "MAT1 G, line 6 of part.bdf"
    assert "belongs into field 4" in found.text


@pytest.mark.parametrize(
    ("card", "said"),
    [
        ("MAT1,1,-2.1+11,,.3,7850.", r"MAT1, line 6 of part\.bdf, cannot be used: .*Young's modulus must be positive"),
        ("MAT1,1,2.1+11,,.7,7850.", r"MAT1, line 6 of part\.bdf, cannot be used: .*found 0\.7\. Correct"),
        ("MAT1,2,2.1+11,,.3,7850.", r"undefined material 1 of the file .*PBAR, line 5"),
    ],
)
def test_a_material_that_cannot_be_is_named_with_its_line(card, said, tmp_path):
    with pytest.raises(MaterialError, match=said):
        fem.Model(read(tmp_path / "part.bdf", BEAM.format(card)))


def test_cells_without_a_material_say_why_their_section_is_not_obeyed(tmp_path):
    """A warping constant that varies is not read, and the beam has no section then."""
    beam = "CBEAM,2,2,1,2,0.,0.,1.\nPBEAM,2,1,1.-3,1.-6,2.-6,0.,1.-8,0.\n+\n+,1.,1.,,,,,1.-9,2.-9"
    text = BEAM.replace("CBAR,1,1,1,2,0.,0.,1.\n", "").format(f"{MAT1}\n{beam}")
    mesh = read(tmp_path / "part.bdf", text)
    with pytest.raises(MaterialError, match=r"not obeyed:\s+CBEAM, line 6 .*a warping constant that varies"):
        fem.Model(mesh)


@pytest.mark.parametrize(
    ("given", "said"), [("S4F", "did you mean S4?"), ("C3D40R", "did you mean C3D4?"), ("FOO", "")]
)
def test_an_unknown_element_type_of_abaqus_is_said_to_be_unknown(given, said, tmp_path):
    (tmp_path / "part.inp").write_text(SHELL.format(given))
    with pytest.warns(MeshWarning, match="does not know this element type"):
        mesh = fem.read_mesh(tmp_path / "part.inp")
    (found,) = mesh.unread
    assert found.label == f"ELEMENT TYPE={given}, line 8 of part.inp"
    assert said in found.text
    assert mesh.kinds == {"quad": 1}


def panel(tmp_path):
    """Three offset stiffeners in a row below a plate."""
    text = "BEGIN BULK\n"
    for k in range(4):
        text += f"GRID,{10 + k},,{k}.,0.,0.\nGRID,{20 + k},,{k}.,1.,0.\n"
    for k in range(3):
        text += f"CQUAD4,{k + 1},1,{10 + k},{11 + k},{21 + k},{20 + k}\n"
    for k in range(3):
        text += f"CBAR,{k + 7},2,{10 + k},{11 + k},0.,0.,1.\n+,,,0.,0.,-.1,0.,0.,-.1\n"
    for k in range(3):
        text += f"RBE2,{k + 30},{20 + k},123,{21 + k}\n"
    return read(tmp_path / "panel.bdf", text + f"PSHELL,1,1,.01,1,,1\nPBAR,2,1,1.-3,1.-6,2.-6,1.-8\n{MAT1}\n")


def test_many_constraints_of_one_kind_are_one_line(tmp_path):
    shown = [line for line in str(panel(tmp_path)).splitlines() if "constraint: " in line]
    assert shown == [
        "  constraint: RBE2, line 19 of panel.bdf, RBE2, line 20 of panel.bdf, RBE2, line 21 of panel.bdf",
        "  constraint: CBAR, line 13 of panel.bdf, CBAR, line 15 of panel.bdf, CBAR, line 17 of panel.bdf",
    ]


def test_ends_of_offset_beams_at_one_node_are_not_said_to_be_apart(tmp_path):
    assert "coincide" not in str(fem.check_mesh(panel(tmp_path)))


def test_nodes_are_found_by_their_number_in_the_file(tmp_path):
    mesh = panel(tmp_path)
    np.testing.assert_array_equal(mesh.points[mesh.numbered(21, 10)], [[1, 1, 0], [0, 0, 0]])
    with pytest.raises(MeshError, match="no node has the number 99 in the file; numbers run from 10 to"):
        mesh.numbered(99)

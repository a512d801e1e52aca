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


CUBE = (
    "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 1, 1, 0\n4, 0, 1, 0\n5, 0, 0, 1\n6, 1, 0, 1\n7, 1, 1, 1\n8, 0, 1, 1\n9, 2, 0, 0\n10, 3, 0, 0\n"
    "*ELEMENT, TYPE=C3D8, ELSET=E\n1, 1, 2, 3, 4, 5, 6, 7, 8\n*SOLID SECTION, ELSET=E, MATERIAL=M\n"
    "*MATERIAL, NAME=M\n*ELASTIC\n2.1e5, .3\n"
)  # fmt: skip
SPRING = "*ELEMENT, TYPE=SPRING2, ELSET=L\n50, 1, 9\n*SPRING, ELSET=L\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("*EQUATION\nx\n1, 1, 1., 9, 1, -1.\n", "a whole number is needed, found 'x'"),
        ("*EQUATION\n2\n1, 1, y, 9, 1, -1.\n", "a number is needed, found 'y'"),
        ("*COUPLING, REF NODE=9\n*KINEMATIC\n", "its option SURFACE=... is missing"),
        ("*COUPLING, SURFACE=S\n*KINEMATIC\n", "its option REFNODE=... is missing"),
        (
            "*SURFACE, NAME=S\nE, S1\n*COUPLING, SURFACE=S, REF NODE=9, CONSTRAINT NAME=C\n*DISTRIBUTING\n3, 2\n",
            "the dofs 3 to 2 are none; write the lower one first",
        ),
        ("*TIE, NAME=T\nS\n", "data line 1 needs the slave and the master surface; found S"),
        ("*TRANSFORM\n1, 0, 0, 0, 1, 0\n*EQUATION\n2\n1, 1, 1., 9, 1, -1.\n", "its option NSET=... is missing"),
        (
            "*ORIENTATION, NAME=O, DEFINITION=NODES\n1, 2\n*SURFACE, NAME=S\nE, S1\n"
            "*COUPLING, SURFACE=S, REF NODE=9, CONSTRAINT NAME=C, ORIENTATION=O\n*KINEMATIC\n1\n",
            "*ORIENTATION by NODES; points by coordinates are read",
        ),
        (SPRING, "data line 1 needs dofs; found no line"),
        (SPRING + "x, 1\n5.\n", "a whole number is needed, found 'x'"),
        ("*ELEMENT, TYPE=MASS, ELSET=L\n50, 9\n*MASS, ELSET=L\n", "data line 1 needs the mass; found no line"),
        (
            "*MPC\nPIN, 1, 9\nFOO, 2, 10\n",
            "FOO with 2 nodes; PLANE, STRAIGHT, MEANROT, PIN, TIE, LINK and BEAM are read",
        ),
        ("*MATERIALS, NAME=N\n", "flexmb knows no keyword *MATERIALS; did you mean *MATERIAL?"),
        ("*EQUATIONS\n1\n1, 1, 1.\n", "flexmb knows no keyword *EQUATIONS; did you mean *EQUATION?"),
    ],
)
def test_what_is_wrong_with_a_keyword_of_abaqus_is_said_in_words(text, reason, tmp_path):
    found = read(tmp_path / "part.inp", CUBE + text).unread
    assert reason in found[-1].text


@pytest.mark.parametrize("keyword", ["NODE", "ELEMENT"])
def test_a_keyword_of_the_mesh_with_a_typing_error_is_refused(keyword, tmp_path):
    with pytest.raises(MeshError, match=rf"line \d+: flexmb knows no keyword \*{keyword}S; did you mean \*{keyword}\?"):
        read(tmp_path / "part.inp", CUBE.replace(f"*{keyword}", f"*{keyword}S"))


def test_every_line_of_mpc_is_one_and_sets_are_paired(tmp_path):
    """Lines that begin with a node go on with the list of the line before, as in CalculiX."""
    sets = "*NSET, NSET=A\n1, 2\n*NSET, NSET=B\n9, 10\n"
    for text in ("PIN, 1, 9\nPIN, 2, 10\n", "PIN, A, B\n", "PIN, 1, 0, 9\nPIN, 2,\n10\n"):
        mesh = read(tmp_path / "part.inp", CUBE + sets + "*MPC\n" + text)
        assert mesh.unread == ()
        where = {int(n): k for k, n in enumerate(mesh.node_ids)}
        pairs = {tuple(c.nodes.tolist()) for c in mesh.constraints}
        assert pairs == {(where[1], where[9]), (where[2], where[10])}
        assert len(mesh.constraints) == 6
    (lost,) = read(tmp_path / "part.inp", CUBE + sets + "*NSET, NSET=C\n3, 4, 5\n*MPC\nPIN, A, C\n").unread
    assert "PIN of sets of 2 and 3 nodes" in lost.text


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ("CIRC\n.1, .2", "SECTION=CIRC takes the radius; found 2 sizes"),
        ("PIPE\n.1", "SECTION=PIPE takes the radius and the wall; found 1 sizes"),
        ("PIPE\n.1, .2", "A tube's inner diameter must be from 0 to the outer one, 0.2; found -0.2"),
        ("BOX\n.1, .2, .01, .02, .01, .01", "a box whose opposite walls differ"),
        ("BOX\n.1, .2, .05, .02, .05, .02", "has no hollow"),
        ("I\n.1, .2, .1, .1, .1, .1, .01", "a web between the flanges"),
        ("L\n.1, .2, .01, .01", "a section L; RECT, CIRC, PIPE, BOX, I are read"),
    ],
)
def test_sections_of_beams_that_are_not_read_say_why(section, reason, tmp_path):
    beam = "*ELEMENT, TYPE=B31, ELSET=B\n60, 2, 9\n*BEAM SECTION, ELSET=B, MATERIAL=M, SECTION={}\n0., 1., 0.\n"
    found = read(tmp_path / "part.inp", CUBE + beam.format(section)).unread
    assert any(reason in u.text for u in found)
    thick = read(tmp_path / "part.inp", CUBE + beam.format("PIPE\n.1, .09"))
    assert any("is the thickness of the wall, not the inner radius" in text for text in thick.warnings)


def test_weights_of_nodes_count_in_distributing_couplings(tmp_path):
    surface = "*SURFACE, NAME=S, TYPE=NODE\n1, 2.\n2, 3.\n3\n*COUPLING, CONSTRAINT NAME=C, SURFACE=S, REF NODE=9\n"
    mesh = read(tmp_path / "part.inp", CUBE + surface + "*DISTRIBUTING\n")
    (mean,) = mesh.constraints
    assert dict(zip(mesh.node_ids[mean.nodes].tolist(), mean.weights.tolist(), strict=True)) == {1: 2, 2: 3, 3: 1}


@pytest.mark.parametrize(
    ("text", "label", "reason"),
    [
        ("*SURFACE, NAME=S, COMBINE=UNION\nA, B\n", "SURFACE", "unknown options COMBINE"),
        ("*ELEMENT, TYPE=C3D8, ELSTE=F\n2, 1, 2, 3, 4, 5, 6, 7, 8\n", "ELEMENT", "unknown options ELSTE; known are ELSET, INPUT, TYPE"),
        ("*MPC, USER\nPIN, 1, 9\n", "MPC", "unknown options USER"),
        ("*SURFACE, NAME=S, TYPE=REVOLUTION\nSTART, 1., 0.\n", "SURFACE", "its type REVOLUTION is not read"),
        ("*ORIENTATION, NAME=O\n1, 0, 0, 0, 1, 0\n*ORIENTATION, NAME=o\n0, 1, 0, 1, 0, 0\n", "ORIENTATION", "defines it twice"),
        ("*NODE\n11, 0, 0, 2, 0., 0., 1.\n*ELEMENT, TYPE=S3, ELSET=F\n70, 1, 2, 11\n*SHELL SECTION, ELSET=F, MATERIAL=M\n.1\n", "NODE", "normals of shells and beams"),
    ],
)  # fmt: skip
def test_what_is_not_read_of_surfaces_axes_and_normals_is_named(text, label, reason, tmp_path):
    found = [u for u in read(tmp_path / "part.inp", CUBE + text).unread if u.keyword == label]
    assert any(reason in u.text for u in found)


def test_elements_of_two_sections_and_names_of_parameters_are_named(tmp_path):
    two = "*MATERIAL, NAME=N\n*ELASTIC\n7e4, .3\n*SOLID SECTION, ELSET=E, MATERIAL=N\n"
    mesh = read(tmp_path / "part.inp", CUBE + two)
    assert any("1 elements have this section and that of SOLID SECTION, line 14" in text for text in mesh.warnings)
    with pytest.raises(MeshError, match=r"ELASTIC cannot be read: a number is needed, found '<E>'; write the values"):
        read(tmp_path / "part.inp", CUBE.replace("2.1e5", "<E>"))


def test_elements_with_more_numbers_than_nodes_are_noted(tmp_path):
    mesh = read(tmp_path / "part.inp", CUBE.replace("6, 7, 8\n", "6, 7, 8, 9, 10\n"))
    said = "ELEMENT, line 12 of part.inp: elements of type C3D8 have 8 nodes, and 1 lines have more numbers"
    assert any(text.startswith(said) and "first: line 13" in text for text in mesh.warnings)


SETS = (
    "*NSET, NSET=TWO\n1, 2\n*NSET, NSET=THREE\n1, 2, 3\n*NSET, NSET=Q\n3, 4\n*SURFACE, NAME=S\nE, S1\n"
    "*SURFACE, NAME=L, TYPE=NODE\n1\n2\n"
)
COUPLED = "*COUPLING, CONSTRAINT NAME=C, SURFACE=S, REF NODE=10{}\n*KINEMATIC\n"
TURNED = "*TRANSFORM, NSET=TWO{}\n{}\n*EQUATION\n2\n1, 1, 1., 9, 1, -1.\n"
ROTATIONS = "*RIGID BODY, NSET=TWO, REF NODE=9, ROT NODE=10\n*EQUATION\n2\n10, {}, 1., 3, 1, -1.\n"
ORIENTED = "*ORIENTATION, NAME=O{}\n1, 0, 0, 0, 1, 0\n{}" + COUPLED.format(", ORIENTATION=O") + "1\n"
AXES_OF = "rectangular and cylindrical axes of 6 are read, and rectangular orientations of 9"
ELEMENT_OF = "*NODE\n11, 0, 0, 0\n*ELEMENT, TYPE={}, ELSET=X\n50, {}\n*{}, ELSET=X\n{}\n{}\n"
AT_ONE = "the ends of an axial {} coincide, and it has no direction"
ON_LINE, ON_AXIS = "their two points lie on one line with the origin", "it lies on their axis, or this has no direction"


@pytest.mark.parametrize(
    ("refused", "reason", "taken"),
    [
        (TURNED.format("", "0, 0, 0, 0, 1, 0"), f"its axes are not defined at [0.0, 0.0, 0.0]: {ON_LINE}", TURNED.format("", "1, 0, 0, 0, 1, 0")),
        (TURNED.format("", "1, 2, 3, 2, 4, 6"), f"its axes are not defined at [0.0, 0.0, 0.0]: {ON_LINE}", TURNED.format("", "1, 2, 3, 2, 4, 6.000001")),
        (TURNED.format("", ".1, .2, .3, .3, .6, .9"), f"its axes are not defined at [0.0, 0.0, 0.0]: {ON_LINE}", TURNED.format("", ".1, .2, .3, .3, .6, .8")),
        (TURNED.format(", TYPE=C", "0, 0, 0, 0, 0, 1"), f"its axes are not defined at [0.0, 0.0, 0.0]: {ON_AXIS}", TURNED.format(", TYPE=C", "0, 1e-6, 0, 0, 1e-6, 1")),
        (TURNED.format(", TYPE=C", "-.1, -.2, -.3, .3, .6, .9"), f"its axes are not defined at [0.0, 0.0, 0.0]: {ON_AXIS}", ""),
        (TURNED.format(", TYPE=C", "5, 0, 0, 5, 0, 0"), f"its axes are not defined at [0.0, 0.0, 0.0]: {ON_AXIS}", TURNED.format(", TYPE=C", "5, 0, 0, 5, 0, 1")),
        (TURNED.format("", "1, 0, 0, 0, 1"), f"*TRANSFORM of type 'R' with 5 numbers; {AXES_OF}", ""),
        (TURNED.format(", TYPE=S", "1, 0, 0, 0, 1, 0"), f"*TRANSFORM of type 'S' with 6 numbers; {AXES_OF}", ""),
        (ORIENTED.format(", SYSTEM=Z RECTANGULAR", ""), f"*ORIENTATION of type 'Z RECTANGULAR' with 6 numbers; {AXES_OF}", ORIENTED.format(", SYSTEM=RECTANGULAR", "")),
        (ORIENTED.format("", "4, 30.\n"), "the orientation 'O' is turned about an axis 1 to 3; found '4'", ORIENTED.format("", "3, 30.\n")),
        (COUPLED.format(", INFLUENCE RADIUS=3."), "its option INFLUENCE RADIUS is not supported", COUPLED.format("")),
        ("*MPC\nMEANROT, 1, 1, 1, 2, 2, 2, 3, 3, 3, 1\n", "the coordinates of its last node, the direction of the axis, are zero", "*MPC\nMEANROT, 1, 1, 1, 2, 2, 2, 3, 3, 3, 5\n"),
        ("*NODE\n11, 0, 0, 0\n*MPC\nLINK, 1, 11\n", "LINK of two nodes at one place, which has no direction", "*NODE\n11, 0, 0, 1e-9\n*MPC\nLINK, 1, 11\n"),
        ("*MPC\nPLANE, 1, 2, 9, 10\n", "its nodes lie on one line", "*MPC\nPLANE, 1, 2, 9, 3\n"),
        ("*NODE\n11, 0, 0, 0\n*MPC\nSTRAIGHT, 1, 11, 9\n", "its first two nodes, which give the straight line, are at one place", "*MPC\nSTRAIGHT, 1, 2, 9\n"),
        ("*EQUATION\n3\n1, 1, 1., 9, 1, -1.\n", "3 terms were announced, and 2 follow", "*EQUATION\n2\n1, 1, 1., 9, 1, -1.\n"),
        ("*EQUATION\n0\n", "0 terms were announced, and 0 follow", "*EQUATION\n1\n1, 1, 1.\n"),
        ("*EQUATION\n2\nTWO, 1, 1., THREE, 1, -1.\n", "its sets have different numbers of nodes", "*EQUATION\n2\nTWO, 1, 1., Q, 1, -1.\n"),
        ("*EQUATION\n2\n1, 7, 1., 9, 1, -1.\n", "there is no dof 7 of a node", COUPLED.format("") + "*EQUATION\n2\n10, 6, 1., 9, 1, -1.\n"),
        ("*EQUATION\n2\n1, 0, 1., 9, 1, -1.\n", "there is no dof 0 of a node", ""),
        (ROTATIONS.format(4), "a rotational node of a rigid body has dofs 1 to 3", ROTATIONS.format(3)),
        ("*RIGID BODY, NSET=TWO, REF NODE=THREE\n", "one node is needed, and the set 'THREE' has 3", "*NSET, NSET=ONE\n9\n*RIGID BODY, NSET=TWO, REF NODE=ONE\n"),
        ("*BOUNDARY\n1, ,\n", "no dof in '1, '", "*BOUNDARY\n1, , 1\n"),
        ("*TIE, NAME=T, TIED NSET=X\nL, S\n", "TIEDNSET of a tie is not read", "*TIE, NAME=T, NO ROTATION\n11, S\n*NODE\n11, .5, .5, 0.\n"),
        ("*TIE, NAME=T, TYPE=WHAT\nL, S\n", "TYPE of a tie is not read", "*TIE, NAME=T, TYPE=NODE TO SURFACE\n11, S\n*NODE\n11, .5, .5, 0.\n"),
        (ELEMENT_OF.format("SPRING2", "1, 9", "DASHPOT", "1, 1", "5."), "its elements are of type SPRING2", ELEMENT_OF.format("SPRING2", "1, 9", "SPRING", "1, 1", "5.")),
        (ELEMENT_OF.format("SPRINGA", "1, 11", "SPRING", "", "5."), AT_ONE.format("spring"), ELEMENT_OF.format("SPRINGA", "1, 9", "SPRING", "", "5.")),
        (ELEMENT_OF.format("DASHPOTA", "1, 11", "DASHPOT", "", "5."), AT_ONE.format("damper"), ELEMENT_OF.format("DASHPOTA", "1, 9", "DASHPOT", "", "5.")),
        (ELEMENT_OF.format("SPRING2", "1, 9", "SPRING", "1", "5."), "a SPRING2 needs 2 dofs", ELEMENT_OF.format("SPRING1", "1", "SPRING", "1", "5.")),
        (ELEMENT_OF.format("SPRING1", "1", "SPRING", "1, 2", "5."), "a SPRING1 needs 1 dofs", ""),
        (ELEMENT_OF.format("SPRING2", "1, 99", "SPRING", "1, 1", "5."), "element 50 is at nodes that the deck does not define", ""),
    ],
)  # fmt: skip
def test_constraints_and_elements_of_abaqus_that_cannot_be_say_why(refused, reason, taken, tmp_path):
    found = read(tmp_path / "part.inp", CUBE + SETS + refused, supports="keep").unread
    assert [u.text.partition("(not obeyed: ")[2] for u in found if "not obeyed" in u.text] == [f"{reason})"]
    if taken:
        assert read(tmp_path / "part.inp", CUBE + SETS + taken, supports="keep").unread == ()


@pytest.mark.parametrize(
    ("refused", "said", "taken"),
    [
        ("*NSET, NSET=G, GENERATE\n1\n", "line 19: GENERATE needs first, last and a positive increment; found '1'.", "*NSET, NSET=G, GENERATE\n1, 1\n"),
        ("*NSET, NSET=G, GENERATE\n1, 5, 0\n", "line 19: GENERATE needs first, last and a positive increment; found '1, 5, 0'.", "*NSET, NSET=G, GENERATE\n1, 5, 1\n"),
        ("*NSET, NSET=G, GENERATE\n1, 5, 1, 1\n", "line 19: GENERATE needs first, last and a positive increment; found '1, 5, 1, 1'.", ""),
        ("*NODE, SYSTEM=C\n11, 1., 90., 0.\n", "line 19: *NODE, SYSTEM=C is not supported. Write rectangular coordinates.", "*NODE, SYSTEM=R\n11, 1., 90., 0.\n"),
        ("*NSET\n1\n", "line 18: the name is missing, NSET=... is needed.", "*NSET, NSET=A\n1\n"),
        ("*SURFACE, NAME=\nE, S1\n", "line 18: the name is missing, NAME=... is needed.", "*SURFACE, NAME=A\nE, S1\n"),
        ("*PART, NAME=a\n*END PART\n*PART, NAME=A\n*END PART\n", "line 20: the deck defines the part 'A' twice.", "*PART, NAME=a\n*END PART\n*PART, NAME=b\n*END PART\n"),
    ],
)  # fmt: skip
def test_keywords_of_abaqus_without_which_there_is_no_mesh_are_refused(refused, said, taken, tmp_path):
    with pytest.raises(MeshError) as error:
        read(tmp_path / "part.inp", CUBE + refused)
    assert str(error.value).endswith(said)
    if taken:
        assert read(tmp_path / "part.inp", CUBE + taken).unread == ()


WARM = "*INITIAL CONDITIONS, TYPE=TEMPERATURE\n1, 0.\n*STEP\n*STATIC\n*TEMPERATURE\n1, 5.{}\n*END STEP\n"
EXPANSION = "*EXPANSION, TYPE=ORTHO\n1e-5, {}, 1e-5\n"
AXES = "*ORIENTATION, NAME=O\n1, 0, 0, 0, 1, 0\n"
ALONG = CUBE.replace("ELSET=E, MATERIAL", "ELSET=E, ORIENTATION=O, MATERIAL")
TWO_WARM = "*ELASTIC, TYPE=ENGINEERING CONSTANTS\n1.4e5, 1e4, 1e4, .3, .3, .4, 5e3, 5e3\n3.5e3, 0.\n1.5e5, 1e4, 1e4, .3, .3, .4, 5e3, 5e3\n3.5e3, 100.\n"
OTHER = "*MATERIAL, NAME=N\n{}*STEP\n*STATIC\n*CHANGE SOLID SECTION, ELSET={}, MATERIAL=N\n*END STEP\n"
ELASTIC = "*ELASTIC\n1e5, .3\n"
STEP = "*STEP\n*STATIC\n{}\n*END STEP\n"
SHELL_BESIDE = (
    "*ELEMENT, TYPE=S4, ELSET=H\n80, 5, 6, 7, 8\n*SHELL SECTION, ELSET=H, MATERIAL=M\n.1\n*ELSET, ELSET=ALL\nE, H\n"
)
BEAM_BESIDE = (
    "*ELEMENT, TYPE=B31, ELSET=B\n90, 9, 10\n*BEAM SECTION, ELSET=B, MATERIAL=M, SECTION=RECT\n.1, .1\n0., 1., 0.\n"
)
FAMILIES = "pressures on a set of elements of several families"
CUT = "*SURFACE, NAME=CUT\n{}\n*PRE-TENSION SECTION, SURFACE=CUT, NODE={}\n"
NOT_ONE_LINE = "*COUPLING, CONSTRAINT NAME=C, SURFACE={}, REF NODE=10\n*DISTRIBUTING\n4, 4\n"


@pytest.mark.parametrize(
    ("base", "refused", "reason", "taken"),
    [
        (CUBE, STEP.format("*CLOAD, SECTOR=2\n1, 1, 1."), "options SECTOR", STEP.format("*CLOAD, OP=NEW\n1, 1, 1.")),
        (CUBE, STEP.format("*DSLOAD\nNO, P, 1."), "there is no surface 'NO'", STEP.format("*DSLOAD\nS, P, 1.")),
        (CUBE, WARM.format(", 2."), "temperatures that vary through a thickness", WARM.format("")),
        (CUBE, OTHER.format(ELASTIC + "*DENSITY\n5.\n", "E"), "the material has another density", OTHER.format(ELASTIC, "E")),
        (CUBE, OTHER.format(ELASTIC, "NO"), "no section is that of the set 'NO'", ""),
        (CUBE, OTHER.format("", "E"), "the material 'N' has no elastic constants that are read", ""),
        (ALONG, EXPANSION.format("2e-5") + AXES + WARM.format(""), "an expansion along the axes of an orientation", EXPANSION.format("1e-5") + AXES + WARM.format("")),
        (CUBE, "", "", EXPANSION.format("2e-5") + WARM.format("")),
        (ALONG.replace("*ELASTIC\n2.1e5, .3\n", TWO_WARM), AXES + WARM.format(""), "constants along the axes of an orientation that depend on temperature or step", ""),
        (CUBE.replace("*ELASTIC\n2.1e5, .3\n", TWO_WARM), "", "", WARM.format("")),
        (CUBE, SHELL_BESIDE + STEP.format("*DLOAD\nALL, P, 1."), FAMILIES, SHELL_BESIDE + STEP.format("*DLOAD\nH, P, 1.")),
        (CUBE, BEAM_BESIDE + SHELL_BESIDE + "*ELSET, ELSET=ALL\nB\n" + STEP.format("*DLOAD\nALL, P1, 1."), FAMILIES, BEAM_BESIDE + STEP.format("*DLOAD\nB, P1, 1.")),
        (CUBE, BEAM_BESIDE + "*BEAM GENERAL SECTION, ELSET=B, SECTION=RECT\n.1, .1\n0., 1., 0.\n2.1e5, 8e4\n", "a section with constants of its own has no solid; read the deck without expand=True", BEAM_BESIDE),
        (CUBE, "*NODE\n11, 0, 0, 0\n*MPC\nBEAM, 1, 11\n", "BEAM of two nodes at one place, which has no direction", "*MPC\nBEAM, 1, 9\n"),
        (CUBE, NOT_ONE_LINE.format("L"), "its nodes lie on one line, and the mean rotation about it is not defined", NOT_ONE_LINE.format("S")),
        (CUBE, CUT.format("E, S1", 99), "the deck has no node 99", CUT.format("E, S1", 9)),
        (CUBE, CUT.format("E, S1", "x"), "a whole number is needed, found 'x'", CUT.format("E, S6", 9)),
        (CUBE, CUT.format("E, S1", 9).replace(", NODE=9", ""), "its option NODE=... is missing", ""),
        (CUBE, CUT.format("E, S1", 9).replace(", SURFACE=CUT", ""), "its option SURFACE=... is missing", ""),
        (CUBE, CUT.format("E, S1", 9).replace("SURFACE=CUT", "SURFACE=NO"), "the deck has no surface 'NO'", ""),
        (CUBE, CUT.format("5, S1", 9), "the deck has no element 5, which the surface 'CUT' names", CUT.format("1, S1", 9)),
        (CUBE, "*ELSET, ELSET=Z\n" + CUT.format("Z, S1", 9), "there are no faces of elements in the surface 'CUT'", ""),
        (CUBE, "*PRE-TENSION SECTION, ELEMENT=1, NODE=9\n", "the deck has no beam 1", BEAM_BESIDE + "*PRE-TENSION SECTION, ELEMENT=90, NODE=1\n"),
        (CUBE, SHELL_BESIDE + "*PRE-TENSION SECTION, ELEMENT=80, NODE=9\n", "the deck has no beam 80", ""),
    ],
)  # fmt: skip
def test_what_steps_of_abaqus_do_not_obey_says_why(base, refused, reason, taken, tmp_path):
    """As solids, so that beams and shells carry pressures."""

    def not_obeyed(text):
        (tmp_path / "part.inp").write_text(base + SETS + text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MeshWarning)
            mesh, steps = fem.read_steps(tmp_path / "part.inp", expand=True)
        found = [*mesh.unread, *(u for step in steps for u in step.unread)]
        return [u.text.partition("(not obeyed: ")[2] for u in found if "not obeyed" in u.text]

    if refused:
        assert not_obeyed(refused) == [f"{reason})"]
    if taken:
        assert not_obeyed(taken) == []


PLANE = CUBE[: CUBE.index("*ELEMENT")] + "*ELEMENT, TYPE=CPS4, ELSET=E\n1, 1, 2, 3, {}\n" + CUBE[CUBE.index("*SOLID") :]
PLANE = PLANE.replace("MATERIAL=M\n", "MATERIAL=M\n.1\n", 1)


def test_faces_of_plane_elements_at_a_cut_are_counted_from_one(tmp_path):
    """Side 0 of element 1 was the element's number, taken for a node."""
    for side, refused in (("S1", False), ("S4", False), ("S0", True), ("", True)):
        (tmp_path / "part.inp").write_text(PLANE.format(4) + CUT.format(f"E, {side}" if side else "E", 9))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MeshWarning)
            found = fem.read_steps(tmp_path / "part.inp")[0].unread
        told = [f"element 1 of the surface 'CUT' has the faces S1 to S4; found {side!r})"] if refused else []
        assert [u.text.partition("(not obeyed: ")[2] for u in found] == told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLANE.format(99), "ELEMENT TYPE=CPS4, line 12 of part.inp: element on node 99, which the deck does not define."),
        (CUBE + SHELL_BESIDE.replace("7, 8", "7, 99"), "ELEMENT TYPE=S4, line 18 of part.inp: element 80 is on nodes that the deck does not define."),
        (CUBE + BEAM_BESIDE.replace("RECT\n.1, .1", "CIRC\n.1"), "BEAM SECTION, line 20 of part.inp: a beam of two nodes with a round section has no solid. Use beams of three nodes, or read the deck without expand=True."),
    ],
)  # fmt: skip
def test_elements_that_have_no_solid_are_refused_by_line(text, said, tmp_path):
    (tmp_path / "part.inp").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        with pytest.raises(MeshError) as error:
            fem.read_steps(tmp_path / "part.inp", expand=True)
    assert str(error.value) == said

"""Rules of Nastran decks: which card counts where several could, and what a blank or a zero means."""

import re

import numpy as np
import pytest
from test_nastran import MAT, PLATE, SECTIONS, STEEL, bar, plate, read

import fem
from fem.errors import MeshError


def controlled(folder, control, cards):
    plate(folder)
    body = (folder / "part.bdf").read_text()
    return read(folder, f"SOL 103\nCEND\n{control}BEGIN BULK\n{body}{cards}", loud=False, supports="keep")


@pytest.mark.parametrize(
    ("control", "cards", "count", "lost"),
    [
        ("SPC = 5\n", "SPC1,4,3,16\n", 0, ["SPC, line 3 of part.bdf: the deck has no set 5 of SPC; it has [4]"]),
        ("MPC = 5\n", "", 0, ["MPC, line 3 of part.bdf: the deck has no set 5 of MPC; it has none"]),
        ("SPC=9\n", "SPC1,4,3,16\nSPCADD,9,4,6\n", 1, ["SPCADD, line 40 of part.bdf: the deck has no set 6 of SPC"]),
        ("MPC=9\n", "MPC,3,1,1,1.,2,1,-1.\nMPCADD,9,8\nMPCADD,8,3\n", 0, ["MPCADD, line 40 of part.bdf: the deck has no set 8 of MPC, and a MPCADD adds no other one"]),
        ("SPC=4\n", "SPC1,4,3,16\nSPC1,7,3,15\nSPC1,7,3,14\nSPCADD,4,7\n", 2, []),  # the union counts alone
        ("MPC(STRUCTURE) = 3\n", "MPC,3,1,1,1.,2,1,-1.\n", 1, []),
        ("SPC=0\n", "SPC1,4,3,16\n", 0, []),
    ],
)  # fmt: skip
def test_sets_that_are_selected_exist_and_unions_count_before_sets(control, cards, count, lost, tmp_path):
    mesh = controlled(tmp_path, control, cards)
    assert len(mesh.constraints) == count
    assert len(mesh.unread) == len(lost)
    for u, words in zip(mesh.unread, lost, strict=True):
        where, _, why = words.partition(": ")
        assert u.label == where
        assert why in u.text


@pytest.mark.parametrize(
    ("card", "words"),
    [
        ("PSHELL,5,1,.05,1,0.,1\n", "12I/T**3 is not above zero; leave it blank for 1.0"),
        ("PSHELL,5,1,.05,1,,1,0.\n", "TS/T is not above zero; leave it blank for .833333"),
        ("PSHELL,5,1,.05,1,,1,-.5\n", "TS/T is not above zero"),
        ("PSHELL,5,1,.05,1,,1,,,+\n+,,,,,.01\n", "fields after MID4"),
    ],
)
def test_zeros_of_pshell_are_named(card, words, tmp_path):
    with pytest.raises(MeshError, match=rf"CQUAD4, line 21 of part.bdf: .*{re.escape(words)}"):
        plate(tmp_path, section=card)


def test_properties_of_other_elements_may_have_the_same_number(tmp_path):
    """A CBAR, a CBEAM and a shell of property 5: each takes that of its kind."""
    PBAR, PBEAM = (SECTIONS[name][1] for name in ("PBAR", "PBEAM"))
    thick = PBEAM.replace(".08,", ".16,")
    both = bar(tmp_path, thick + "CBEAM,9,5,1,2,0.,1.,0.\n", PBAR)
    assert fem.Model(both).mass == pytest.approx((10 * 0.08 + 2.5 * 0.16) * STEEL.density, rel=1e-9)
    mesh = plate(tmp_path, "CBAR,900,5,1,2,0.,0.,1.\n" + PBAR)
    length = np.linalg.norm(PLATE.points[1] - PLATE.points[0])
    assert fem.Model(mesh).mass == pytest.approx((0.6 * 0.05 + length * 0.08) * STEEL.density, rel=1e-9)
    (lost,) = bar(tmp_path, section=PBEAM, card="CBAR,{},5,{},{},0.,1.,0.\n", loud=False).unread[:1]
    assert "its property 5 is a PBEAM, which is none of CBAR" in lost.text
    with pytest.raises(MeshError, match="property 5 of CBAR is given twice"):
        bar(tmp_path, section=PBAR + SECTIONS["PBARL"][1])


def test_lumps_with_inertia_at_nodes_of_rigid_elements_follow_the_independent_node(tmp_path):
    """The nodes of solids have no rotations of their own; RBE2 turns them with its independent node."""
    cube = "".join(f"GRID,{k},,{x}.,{y}.,{z}.\n" for k, (x, y, z) in enumerate(
        [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)], 1))  # fmt: skip
    cube += "CHEXA,1,1,1,2,3,4,5,6,+\n+,7,8\nPSOLID,1,1\n" + MAT + "GRID,9,,.5,.5,2.\nRBE2,20,9,123456,5,6,7,8\n"
    lump = "CONM2,30,{},,2.,{},,+\n+,3.,,4.,,,5.\n"
    at_node = fem.Model(read(tmp_path, cube + lump.format(7, "0.,0.,0.")))
    beside = fem.Model(read(tmp_path, cube + lump.format(9, ".5,.5,-1.")))
    np.testing.assert_allclose(at_node.M.toarray(), beside.M.toarray(), rtol=1e-12, atol=1e-12)
    loose = cube.replace("123456", "123") + lump.format(7, "0.,0.,0.")
    (lost,) = read(tmp_path, loose, loud=False).unread
    assert "an offset or inertia at a node without rotations" in lost.text


@pytest.mark.parametrize(
    ("card", "words"),
    [
        ("CROD,900,7,1,2,,,.5\nPROD,7,1,.1\n", "it has 4 fields, and '.5' stands beyond them"),
        ("CELAS2,60,5.+3,1,3,2,3,,,+\n+,7.\n", "it has 8 fields, and '7.' stands beyond them"),
    ],
)
def test_fields_beyond_those_of_a_card_are_named(card, words, tmp_path):
    (lost,) = plate(tmp_path, card, loud=False).unread
    assert words in lost.text


def test_solids_of_fluid_are_named(tmp_path):
    solid = "GRID,1,,0.,0.,0.\nGRID,2,,1.,0.,0.\nGRID,3,,0.,1.,0.\nGRID,4,,0.,0.,1.\nCTETRA,1,1,1,2,3,4\nPSOLID,1,1,,,,,{}\n"
    assert read(tmp_path, solid.format("SMECH") + MAT).unread == ()
    (lost,) = read(tmp_path, solid.format("PFLUID") + MAT, loud=False).unread
    assert "its elements are of the kind PFLUID, not SMECH" in lost.text


def test_nodes_may_be_repeated_but_not_with_other_axes_or_supports(tmp_path):
    again = plate(tmp_path, "GRID,3,,{},{},0.\n".format(*PLATE.points[2, :2].tolist()))
    assert again.unread == ()
    for other in ("GRID,3,,{},{},0.,,123\n", "GRID,3,,{},{},1.\n"):
        with pytest.raises(MeshError, match="node 3 is given twice"):
            plate(tmp_path, other.format(*PLATE.points[2, :2].tolist()))


def test_solids_of_reduced_integration_are_noted(tmp_path):
    solid = (
        "GRID,1,,0.,0.,0.\nGRID,2,,1.,0.,0.\nGRID,3,,0.,1.,0.\nGRID,4,,0.,0.,1.\nCTETRA,1,1,1,2,3,4\nPSOLID,1,1,,,,{}\n"
    )
    for isop, noted in (("REDUCED", True), ("FULL", False), ("", False)):
        mesh = read(tmp_path, solid.format(isop) + MAT)
        assert any("integrated in full, not reduced" in text for text in mesh.warnings) == noted


BARS = "GRID,1,,0.,0.,0.\nGRID,2,,1.,0.,0.\nGRID,3,,2.,0.,1.\nGRID,9,,0.,0.,4.\nPBAR,5,1,.02,1.-5,4.-5,2.-5\nPBEAM,5,1,.02,1.-5,4.-5,,2.-5\nMAT1,1,2.1+5,,.3,7.85-9\n"


@pytest.mark.parametrize("card", ["CBAR", "CBEAM"])
@pytest.mark.parametrize(
    ("vector", "flag"), [("0.,1.,.5", ""), ("9,,", ""), ("0.,1.,.5", "GGO"), ("0.,1.,.5", "1"), ("9,,", "2")]
)
def test_defaults_of_beams(card, vector, flag, tmp_path):
    """BAROR and BEAMOR hold the property, the vector and the offset axes of beams that leave them blank, also where they
    come after these; a beam with a vector of its own keeps it. Older decks say in the place of the offset axes how the
    vector is given."""
    overall = {"CBAR": "BAROR", "CBEAM": "BEAMOR"}[card]
    offset = ",+\n+,,,,,,.1,.2,.3\n"
    own = f"{card},11,5,2,3,1.,0.,0.\n"
    whole = read(tmp_path, BARS + f"{card},10,5,1,2,{vector},{'' if flag in '12' else flag}{offset}" + own)
    short = read(
        tmp_path, BARS + f"{card},10,,1,2,,,,{offset}{card},11,,2,3,1.,0.,0.\n{overall},,5,,,{vector},{flag}\n"
    )
    assert short.unread == ()
    np.testing.assert_array_equal(short.points, whole.points)
    given, same = fem.Model(short), fem.Model(whole)
    assert abs(given.K - same.K).max() == 0
    assert given.mass == same.mass
    other = read(tmp_path, BARS + f"{card},10,5,1,2,0.,1.,0.{',' + offset}" + own)
    assert abs(fem.Model(other).K - same.K).max() > 1e-3 * abs(same.K).max()


def test_defaults_of_beams_that_complete_a_vector_are_refused(tmp_path):
    text = BARS + "BAROR,,5,,,0.,1.,.5\nCBAR,10,,1,2,,1.\n"
    with pytest.raises(MeshError, match=r"line 9: CBAR 10 gives some components of the vector .* BAROR \(line 8"):
        read(tmp_path, text)
    with pytest.raises(MeshError, match="BAROR is given twice"):
        read(tmp_path, BARS + "BAROR,,5,,,0.,1.,.5\nBAROR,,5,,,0.,1.,.6\nCBAR,10,,1,2\n")


def test_marks_of_continuations_have_no_case(tmp_path):
    text = "GRID,1,,0.,0.,0.\nGRID,2,,1.,0.,0.\nCBAR    7       5       1       2       0.      1.      0.              +Ab1\n+aB1                            .1\nPBAR,5,1,.02,1.-5,4.-5,2.-5\n"
    assert fem.Model(read(tmp_path, text + MAT)).centre_of_mass[1] == pytest.approx(0.05)


@pytest.mark.parametrize("line", ["BEGIN SUPER = 2", "begin bulk super=2", "BEGIN AUXMODEL=1"])
def test_superelements_of_one_deck_are_not_put_together(line, tmp_path):
    """Their nodes have numbers of their own, and Nastran connects those at one place."""
    with pytest.raises(MeshError, match=r"line 4: '.*' begins another part .* Give each as a deck of its own"):
        read(tmp_path, f"SOL 101\nCEND\nBEGIN BULK\n{line}\nGRID,1,,0.,0.,0.\nENDDATA\n")


@pytest.mark.parametrize("line", ["BEGIN SUPER = 2", "begin bulk super=2", "BEGIN AUXMODEL=1"])
@pytest.mark.parametrize("rest", ["BEGIN BULK\n", ""])
def test_superelements_before_the_bulk_data_are_not_passed_over(line, rest, tmp_path):
    """One before BEGIN BULK was left out in silence, and one whose line begins BEGIN BULK was the part."""
    with pytest.raises(MeshError, match=r"line 3: '.*' begins another part .* Give each as a deck of its own"):
        read(tmp_path, f"SOL 101\nCEND\n{line}\nGRID,1,,0.,0.,0.\n{rest}GRID,2,,0.,0.,0.\nENDDATA\n")


def test_what_says_how_nastran_solves_does_not_change_the_part(tmp_path):
    cards = ["ASET1,123456,1,4", "OMIT,2,123", "QSET1,1,90001", "BNDFIX1,123,1", "SEQGP,1,4", "DTI,UNITS,1,MGG,N,MM,S"]
    assert plate(tmp_path, "\n".join(cards) + "\n").unread == ()
    other = plate(tmp_path, "DTI,MATALL,1,2.\n", loud=False)
    assert [u.keyword for u in other.unread] == ["DTI"]


def test_means_with_other_dependent_dofs_and_thermal_expansion(tmp_path):
    """UM of RBE3 exchanges dofs of the same equations; ALPHA acts with temperatures alone."""
    mean = "GRID,90,,1.2,.3,.1\nRBE3,81,,90,123456,1.,123,1,5,+\n+,16,20"
    (plain,), (other,) = (
        plate(tmp_path, mean + tail).constraints for tail in ("\n", ",UM,1,123,5,23,+\n+,16,3,ALPHA,1.-5\n")
    )
    assert (plain.reference, plain.components) == (other.reference, other.components)
    np.testing.assert_array_equal(plain.nodes, other.nodes)
    np.testing.assert_array_equal(plain.weights, other.weights)


SQUARE = "".join(
    f"GRID,{k},,{x},{y},0.\n"
    for k, (x, y) in enumerate(
        [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0), (1.0, 0.0), (2.0, 1.0), (1.0, 2.0), (0.0, 1.0), (1.0, 1.0)], 1
    )
)
SHEET = "PSHELL,1,1,0.1,1,,1\nMAT1,1,2.1e11,,0.3,7800.\n"


@pytest.mark.parametrize(
    ("quadratic", "linear"),
    [
        ("CQUAD8,1,1,1,2,3,4", "CQUAD4,1,1,1,2,3,4"),
        ("CQUAD8,1,1,1,2,3,4,,,\n,,,,,,,30.,0.01", "CQUAD4,1,1,1,2,3,4,30.,0.01"),
        ("CTRIA6,1,1,1,2,4", "CTRIA3,1,1,1,2,4"),
        ("CTRIA6,1,1,1,2,4,0,0,0,\n,,0.02", "CTRIA3,1,1,1,2,4,,0.02"),
    ],
)
def test_shells_without_any_node_on_their_sides_are_linear_ones(quadratic, linear, tmp_path):
    """With the angle and the offset of their own fields."""
    made = []
    for card in (quadratic, linear):
        mesh = read(tmp_path, SQUARE + card + "\n" + SHEET, loud=False)
        assert mesh.unread == ()
        made.append(fem.Model(mesh))
    for name in ("K", "M"):
        np.testing.assert_array_equal(getattr(made[0], name).toarray(), getattr(made[1], name).toarray())


@pytest.mark.parametrize("card", ["CQUAD8,1,1,1,2,3,4,5,6,\n,,8", "CTRIA6,1,1,1,2,4,5,,8"])
def test_shells_without_some_nodes_on_their_sides_are_named(card, tmp_path):
    """If these followed the ends of their sides, a strip would be three times as stiff in bending."""
    with pytest.raises(MeshError, match=r"CQUAD8, line|CTRIA6, line") as told:
        fem.Model(read(tmp_path, SQUARE + card + "\n" + SHEET, loud=False))
    assert "some nodes on its sides are left out" in str(told.value)


FRAME = (
    "GRID,1,,0.,0.,0.\nGRID,2,,1.,0.,0.\nGRID,3,,2.,0.,0.\nGRID,4,,1.,0.,0.\n"
    "GRID,11,,5.,0.,0.\nGRID,12,,6.,0.,0.\nGRID,13,,5.,1.,0.\nGRID,14,,5.,0.,1.\n"
    "CBAR,1,5,1,2,0.,1.,0.\nCBAR,2,5,2,3,0.,1.,0.\nCBAR,3,5,4,3,0.,1.,0.\nPBAR,5,1,.02,1.-5,4.-5,2.-5\n"
    "CTETRA,9,6,11,12,13,14\nPSOLID,6,1\nMAT1,1,2.1+5,,.3,7.85-9\nSPOINT,91,92\n"
)
"""Beams at the nodes 1 to 4, of which 2 and 4 are at one place, and a solid, whose nodes 11 to 14 have no rotations."""
BEAM = "CBEAM,70,7,1,2,0.,1.,0.{}\nPBEAM,7,{},.02,1.-5,4.-5,,2.-5,,+\n+,,,,,,,,,+\n+,"
TAPER = BEAM.format("", "{}") + "NO,{},{},{},5.-5,,3.-5"
PLAIN, WARPED = (BEAM.format(ends, 1) for ends in ("", ",,+\n+,,,,,,,,,+\n+,{},{}"))
SHEAR = "CBAR,70,7,1,2,0.,1.,0.\nPBAR,7,1,{},1.-5,4.-5,2.-5,,,+\n+,,,,,,,,,+\n+,{}"
SHAPE = "CBAR,70,7,1,2,0.,1.,0.\nPBARL,7,1,,{},,,,,+\n+,{}"
LAYERS = "CTRIA3,70,7,11,12,13{}\nMAT1,2,1.+5,,.3\nPCOMP,7,,{},,,,{},{}\n+,{},.05,0.,,2,.05,0."
TURNS = (
    "a bushing that turns nodes without rotations, such as those of solids: end it at the reference node of an RBE2 or "
)
TURNS += "RBE3, or leave out K4 to K6, and let it lie at its nodes"
ALONG, AT_ONE = "a bushing whose vector is along its line", "its ends are at one place, or its vector runs along it"
OFFSETS = ",GOO,+\n+,,,0.,1.,0.,0.,1.,0."


@pytest.mark.parametrize(
    ("refused", "reason", "taken"),
    [
        ("SPC1,1,1,1,THRU,x", "THRU needs a number after it, found 'x'", "SPC1,1,1,1,THRU,2"),
        ("SPC1,1,1,1,THRU", "a number of a node is needed, found 'THRU'", "SPC1,1,1,1,THRU,1"),
        ("SPC,1,1,1,.5", "a component is held at 0.5, not at zero", "SPC,1,1,1,0."),
        ("SPC,1,1,1,,2,1,-2.", "a component is held at -2, not at zero", "SPC,1,1,1,,2,1,0."),
        ("RBE2,70,1,123,2,1.-5", "thermal expansion of a rigid element", "RBE2,70,1,123,2,0."),
        ("RBE2,70,1,123,3,1", "its independent node 1 is among the dependent ones", "RBE2,70,1,123,3,2"),
        ("RBE3,70,,3,123,1,123,1,2", "a weight is needed in the place of '1'", "RBE3,70,,3,123,1.,123,1,2"),
        ("RBE3,70,,3,123,1.,123,1,2.", "components and nodes are missing after the weight '2.'", "RBE3,70,,3,123,1.,123,1,2.,+\n+,123,2"),
        ("RBE3,70,,3,123,1.,123", "it names no node", "RBE3,70,,3,123,1.,123,1"),
        ("CONM2,70,1,,0.,,,,,+\n+,1.,,1.,,,1.", "a moment of inertia without a mass", "CONM2,70,1,,1.-9,,,,,+\n+,1.,,1.,,,1."),
        ("CONM2,70,1,,0.,1.", "a moment of inertia without a mass", "CONM2,70,1,,1.-9,1."),
        ("CELAS2,70,5.,1,1,2,1,.01", "structural damping (GE) of a spring", "CELAS2,70,5.,1,1,2,1,0."),
        ("CELAS1,70,7,1,1,2,1\nPELAS,7,5.,.01", "structural damping (GE) of a spring", "CELAS1,70,7,1,1,2,1\nPELAS,7,5.,0.,.01"),
        ("CVISC,70,7,2,4\nPVISC,7,5.", "its ends coincide, and it has no direction", "CVISC,70,7,1,4\nPVISC,7,5."),
        ("CVISC,70,7,11,12\nPVISC,7,,1.", "a damper of the twist of nodes without rotations", "CVISC,70,7,11,12\nPVISC,7,5.,0."),
        ("CVISC,70,7,1,12\nPVISC,7,5.,1.", "a damper of the twist of nodes without rotations", "CVISC,70,7,1,2\nPVISC,7,5.,1."),
        ("CBUSH,70,7,1,2,0.,1.,0.,,+\n+,.5,0,.1\nPBUSH,7,K,5.", "a bushing with an offset (OCID)", "CBUSH,70,7,1,2,0.,1.,0.,,+\n+,.5,-1,.1\nPBUSH,7,K,5."),
        ("CBUSH,70,7,11,12,0.,1.,0.\nPBUSH,7,K,5.,,,5.", TURNS, "CBUSH,70,7,11,12,0.,1.,0.\nPBUSH,7,K,5."),
        ("CBUSH,70,7,1,12,0.,1.,0.\nPBUSH,7,K,5.,5.", TURNS, "CBUSH,70,7,1,2,0.,1.,0.\nPBUSH,7,K,5.,5.,,5."),
        ("CBUSH,70,7,1,2\nPBUSH,7,K,5.,5.", "a bushing that acts across its line, without a vector or a coordinate system", "CBUSH,70,7,1,2\nPBUSH,7,K,5.,,,5."),
        ("CBUSH,70,7,1,2,1.,0.,0.\nPBUSH,7,K,5.", ALONG, "CBUSH,70,7,1,2,1.,.001,0.\nPBUSH,7,K,5."),
        ("CBUSH,70,7,1,2,12\nPBUSH,7,K,5.", ALONG, "CBUSH,70,7,1,2,13\nPBUSH,7,K,5."),
    ],
)  # fmt: skip
def test_constraints_springs_and_lumps_that_cannot_be_are_named(refused, reason, taken, tmp_path):
    require_refused_by_name(tmp_path, refused, reason, taken)


@pytest.mark.parametrize(
    ("refused", "reason", "taken"),
    [
        ("CBAR,70,5,1,2,99", "its vector is given by node 99, which the deck does not define", "CBAR,70,5,1,2,13"),
        ("CBAR,70,5,1,2", "the vector of its first plane is missing", "CBAR,70,5,1,2,,,1."),
        ("CBAR,70,5,1,2,1.,0.,0.", AT_ONE, "CBAR,70,5,1,2,1.,.001,0."),
        ("CBAR,70,5,2,4,0.,1.,0.", AT_ONE, "CBAR,70,5,1,4,0.,1.,0."),
        ("CBAR,70,5,1,2,1.,0.,0." + OFFSETS, AT_ONE, "CBAR,70,5,1,2,1.,.001,0." + OFFSETS),
        ("CBAR,70,5,2,4,0.,1.,0." + OFFSETS, AT_ONE, "CBAR,70,5,1,4,0.,1.,0." + OFFSETS),
        ("CBAR,70,5,1,2,0.,1.,0.,,+\n+,17", "releases '17', which are digits from 1 to 6", "CBAR,70,5,1,2,0.,1.,0.,,+\n+,16"),
        ("CBAR,70,5,1,2,0.,1.,0.,,+\n+,,05", "releases '05', which are digits from 1 to 6", "CBAR,70,5,1,2,0.,1.,0.,,+\n+,0,5"),
        ("CTUBE,70,7,1,2\nPTUBE,7,1,.2,.02,,.3", "a tube whose diameter varies", "CTUBE,70,7,1,2\nPTUBE,7,1,.2,.02,,.2"),
        ("CTUBE,70,7,1,2\nPTUBE,7,1,.2,.02,,.1", "a tube whose diameter varies", "CTUBE,70,7,1,2\nPTUBE,7,1,.2,.02,,0."),
        ("CTUBE,70,7,1,2\nPTUBE,7,1,.2,.11", "a tube of the diameter 0.2 and the wall 0.11, of which one cannot be", "CTUBE,70,7,1,2\nPTUBE,7,1,.2,.1"),
        ("CTUBE,70,7,1,2\nPTUBE,7,1,.2,-.01", "a tube of the diameter 0.2 and the wall -0.01, of which one cannot be", "CTUBE,70,7,1,2\nPTUBE,7,1,.2,0."),
        ("CTUBE,70,7,1,2\nPTUBE,7,1,0.,0.", "a tube of the diameter 0 and the wall 0, of which one cannot be", "CTUBE,70,7,1,2\nPTUBE,7,1,.2"),
        (PLAIN + "1.,1.,,,.5", "inertia of its own or a place of its own of NSM, or shear relief", PLAIN + "1.,1.,,,0."),
        (SHEAR.format(".02", ".8"), "shear in one direction only (K1, K2)", SHEAR.format(".02", ".8,.8")),
        (SHEAR.format(".02", "0.,.8"), "shear in one direction only (K1, K2)", SHEAR.format(".02", "0.,0.")),
        (SHEAR.format("-.02", ""), "A section's area must be positive and finite; found -0.02.", SHEAR.format("1.-9", "")),
        (TAPER.format(1, 1.5, ".03", "2.-5"), "stations of a beam outside of its length", TAPER.format(1, 1.0, ".03", "2.-5")),
        (TAPER.format(1, -0.5, ".03", "2.-5"), "stations of a beam outside of its length", TAPER.format(1, "", ".03", "2.-5")),
        (TAPER.format(1, 0.5, ".03", "2.-5"), "stations of a beam that do not reach its end B (X/XB of 1.)", ""),
        (TAPER.format(3, 1.0, ".03", "2.-5"), "its PBEAM has no constants: undefined material 3", ""),
        (TAPER.format(2, 1.0, ".03", "2.-5") + "\nMAT1,2,-5.,,.3", "its PBEAM has no constants: MAT1 2 (Material 'isotropic': Young's modulus must be positive and finite; found -5.0.)", TAPER.format(2, 1.0, ".03", "2.-5") + "\nMAT1,2,5.,,.3,1."),
        (TAPER.format(2, 1.0, ".03", "2.-5") + "\nMAT1,2,5.,,.3", "a beam whose section varies, of a material without a density: MAT1 2", ""),
        (TAPER.format(1, 1.0, ".03", "-2.-5"), "A section's Iz must be positive and finite; found -5e-06.", ""),
        (TAPER.format(1, 1.0, ".03", "-.5-5"), "PBEAM 7: the stiffness matrix at station 1 (position 1) is not symmetric and positive definite. Check the order of its rows: forces x, y, z, then moments x, y, z.", TAPER.format(1, 1.0, ".03", ".5-5")),
        (SHAPE.format("HEXA", ".1,.1,.1"), "a section of the type 'HEXA'; ROD, TUBE, TUBE2, BAR, I, I1, CHAN, CHAN1, CHAN2, T, T1, T2, CROSS, H, BOX, BOX1, HAT are read", SHAPE.format("ROD", ".1")),
        (SHAPE.format("TUBE", ".1,.2"), "a section TUBE whose walls do not fit: DIM2, 0.2, is more than DIM1, 0.1", SHAPE.format("TUBE", ".1,0.")),
        ("CBEAM,70,7,1,2,0.,1.,0.\nPBEAML,7,1,,CHAN,,,,,+\n+,.06,.1,.004,.006,,NO,1.,.03,+\n+,.1,.004,.006", "a section (CHAN) that varies and whose shear centre is not its centroid", "CBEAM,70,7,1,2,0.,1.,0.\nPBEAML,7,1,,I1,,,,,+\n+,.06,.01,.08,.1,,NO,1.,.03,+\n+,.01,.08,.1"),
        (WARPED.format(91, 92) + "NO,1.,.03,2.-5,5.-5,,3.-5", "warping of the ends of a beam that varies", WARPED.format(0, 0) + "NO,1.,.03,2.-5,5.-5,,3.-5"),
        (WARPED.format("9x", 92) + "1.,1.,,,,,.1", "scalar points 9x and 92 for the warping of its ends, which are whole numbers", WARPED.format(91, 92) + "1.,1.,,,,,.1"),
        (LAYERS.format(",,,+\n+,,,.1,.1,.1", "", "", "", 1), "thicknesses of its own (T1 to T4) with PCOMP", LAYERS.format(",,,+\n+,,,0.,0.,0.", "", "", "", 1)),
        (LAYERS.format("", "2.", "", "SMEAR", 1), "plies without a density beside others, and a mass of its own (NSM)", LAYERS.format("", "0.", "", "SMEAR", 1)),
        (LAYERS.format("", "2.", "", "MEM", 1), "plies without a density beside others, and a mass of its own (NSM)", LAYERS.format("", "2.", "", "MEM", 2)),
        (LAYERS.format("", "", ".01", "", 1), "structural damping (GE) of PCOMP", LAYERS.format("", "", "0.", "", 1)),
    ],
)  # fmt: skip
def test_beams_rods_and_shells_that_cannot_be_are_named(refused, reason, taken, tmp_path):
    require_refused_by_name(tmp_path, refused, reason, taken)


def require_refused_by_name(folder, refused, reason, taken):
    """The first of the cards that are `refused` is named with its line and the reason, alone; those that are `taken`,
    which differ little from them, are obeyed."""
    (lost,) = read(folder, FRAME + refused + "\n", loud=False, supports="keep").unread
    assert lost.label == f"{refused.partition(',')[0]}, line 17 of part.bdf"
    assert lost.text == f"{refused.partition(chr(10))[0]} (not obeyed: {reason})"
    if taken:
        assert read(folder, FRAME + taken + "\n", loud=False, supports="keep").unread == ()


def test_coordinate_systems_by_nodes_that_have_none_are_refused(tmp_path):
    turned = "GRID,20,7,0.,0.,0.\nGRID,21,8,5.,0.,1.\nCORD2R,8,,0.,0.,0.,0.,0.,1.,+\n+,1.,0.,0.\nCORD1R,7,11,12,{}\n"
    for node in (99, 21):
        said = f"line 21: CORD1R is given by node {node}, which the deck does not define in basic coordinates"
        with pytest.raises(MeshError, match=said):
            read(tmp_path, FRAME + turned.format(node))
    assert read(tmp_path, FRAME + turned.format(13)).unread == ()

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

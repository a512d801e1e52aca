"""CONM1 and CONM2 of Nastran decks in coordinate systems, against the mass, the centre and the inertia of the lump."""

import re

import numpy as np
import pytest
from test_nastran import PLATE, STEEL, plate

import fem

NODE = "GRID,90,,1.2,.3,.1\nRBE2,80,90,123456,5,10,15,20\n"
POINT = np.array([1.2, 0.3, 0.1])
_Z, _Y = np.array([1.0, 1.0, 0.0]) / 2**0.5, np.array([0.0, 0.0, -1.0])
SYSTEMS = {
    0: ("", np.eye(3)),
    4: ("CORD2R,4,,5.,6.,7.,6.,7.,7.,+\n+,6.,5.,7.\n", np.stack([np.cross(_Y, _Z), _Y, _Z])),
    6: ("CORD2C,6,,1.2,-.1,0.,1.2,-.1,1.,+\n+,2.,-.1,0.\n", np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])),
}
"""Cards of a system, and its axes, in rows, at the node: those of the cylinder are radial (y), tangential (-x), axial."""
MASS, CENTRE = 2e-4, np.array([0.1, 0.2, 0.3])
J = np.array([[3e-4, -1e-5, -2e-5], [-1e-5, 4e-4, 3e-5], [-2e-5, 3e-5, 5e-4]])


def require_lump(model, centre, inertia, mass=MASS):
    """The plate with a lump has its mass, centre and inertia."""
    bare = fem.Model(PLATE, fem.Shell(STEEL, 0.05))
    moved = inertia + mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    assert model.mass == pytest.approx(bare.mass + mass, rel=1e-9)
    both = (bare.mass * bare.centre_of_mass + mass * centre) / (bare.mass + mass)
    np.testing.assert_allclose(model.centre_of_mass, both, rtol=1e-9)
    np.testing.assert_allclose(model.inertia((0, 0, 0)), bare.inertia((0, 0, 0)) + moved, rtol=1e-8, atol=1e-12)


def conm2(number, x=CENTRE):
    return f"CONM2,70,90,{number},2.-4,{','.join(map(repr, map(float, x)))},,+\n+,3.-4,1.-5,4.-4,2.-5,-3.-5,5.-4\n"


def conm1(number, M):
    lines = [f"{v:.12g}" for v in M[np.tril_indices(6)]]
    rest = [",".join(lines[k : k + 8]) for k in (5, 13)]
    return f"CONM1,70,90,{number},{','.join(lines[:5])},+\n+,{rest[0]},+\n+,{rest[1]}\n"


@pytest.mark.parametrize("number", SYSTEMS)
def test_lumps_are_in_the_axes_of_their_system_at_the_node(number, tmp_path):
    A = SYSTEMS[number][1]
    model = fem.Model(plate(tmp_path, SYSTEMS[number][0] + NODE + conm2(number)))
    require_lump(model, POINT + A.T @ CENTRE, A.T @ J @ A)


def test_the_centre_of_a_lump_may_be_a_place(tmp_path):
    """CID = -1: coordinates in the basic system, axes of the inertia parallel to it, whatever the system of the node."""
    node = NODE.replace("GRID,90,,1.2,.3,.1", "GRID,90,6,.4,90.,.1,6") + SYSTEMS[6][0]
    require_lump(fem.Model(plate(tmp_path, node + conm2(-1, (0.7, -0.4, 0.2)))), np.array([0.7, -0.4, 0.2]), J)


@pytest.mark.parametrize("number", SYSTEMS)
def test_mass_matrices_of_lumps_are_those_of_rigid_bodies(number, tmp_path):
    A = SYSTEMS[number][1]
    M = fem.PointMass(MASS, J, CENTRE).matrix("lump")
    model = fem.Model(plate(tmp_path, SYSTEMS[number][0] + NODE + conm1(number, M)))
    require_lump(model, POINT + A.T @ CENTRE, A.T @ J @ A)
    heavy = fem.Model(plate(tmp_path, SYSTEMS[number][0] + NODE + conm1(number, M) + "PARAM,WTMASS,2.\n"))
    np.testing.assert_allclose(heavy.inertia(), 2 * model.inertia(), rtol=1e-12)


def test_a_mass_matrix_of_a_mass_alone_needs_no_rotations(tmp_path):
    mesh = plate(tmp_path, "CONM1,70,5,,1.-4,,1.-4,,,+\n+,1.-4\n")
    assert [(m.node, m.mass) for m in mesh.masses] == [(4, 1e-4)]
    assert len(mesh.points) == len(PLATE.points)


def test_matrices_of_no_lump_are_named(tmp_path):
    M = fem.PointMass(MASS, J, CENTRE).matrix("lump")
    directed, twisting, massless = M.copy(), M.copy(), M.copy()
    directed[1, 1] *= 1.1
    twisting[3, 0] = 1e-4
    massless[:3] = massless[:, :3] = 0
    for wrong, words in (
        (directed, "masses that differ with the direction of motion"),
        (twisting, "a motion that turns it with a force along that motion"),
        (massless, "a moment of inertia without a mass"),
        (np.zeros((6, 6)), "no mass"),
    ):
        (lost,) = plate(tmp_path, NODE + conm1(0, wrong), loud=False).unread
        assert (lost.keyword, words in lost.text) == ("CONM1", True), lost.text
    for card in (conm2(4), conm2(-2), conm1(4, M)):
        (lost,) = plate(tmp_path, NODE + card, loud=False).unread
        assert "is not defined in the deck" in lost.text


def test_mass_matrices_of_short_fields_are_rounded(tmp_path):
    """Fields of eight characters hold five digits, and four beside a minus sign; a mass beside its node without inertia
    of its own remains one."""
    M = fem.PointMass(1.2347e-4, offset=(0.1234, 0.2347, 0.3456)).matrix("lump")
    digits = np.where(M < 0, 4, 5)
    short = np.vectorize(lambda v, d: float(f"{v:.{d - 1}e}"))(M, digits)
    assert np.abs(short - short.T).max() == 0 < np.abs(short[3:, :3] + short[3:, :3].T).max()
    model, exact = (fem.Model(plate(tmp_path, NODE + conm1(0, each))) for each in (short, M))
    np.testing.assert_allclose(model.centre_of_mass, exact.centre_of_mass, rtol=1e-4)
    there = exact.inertia(POINT)  # the plate has a millionth of it
    np.testing.assert_allclose(model.inertia(POINT), there, rtol=0, atol=5e-4 * np.abs(there).max())


def test_a_lump_is_one_thing_in_what_a_mesh_says(tmp_path):
    """Not the six point masses that stand for it, whose nodes the deck does not know."""
    mesh = plate(tmp_path, NODE + conm2(0) + "CONM2,71,5,,3.-4\n")
    said, bare = str(mesh), len(mesh.points) - 6
    assert said.startswith(f"mesh {mesh.name!r}: {bare} nodes")
    assert said.count("point mass") == 1
    assert "rigid lump: 0.0002 with inertia at node" in said
    assert "constraint: CONM2" not in said
    assert len(mesh.lump_nodes) == 6
    assert f"{bare} nodes" in str(fem.Model(mesh))


@pytest.mark.parametrize("cards", [
    "CMASS2,71,2.-4,90,1\nCMASS2,72,2.-4,90,2\nCMASS2,73,2.-4,90,3\n",
    "CMASS1,71,7,90,1\nCMASS1,72,7,90,3\nCMASS1,73,7,90,2\nPMASS,6,1.-4,7,2.-4\n",
    "CMASS2,71,1.-4,90,1\nCMASS2,72,2.-4,90,2\nCMASS1,73,7,90,3\nCMASS2,74,1.-4,90,1\nPMASS,7,2.-4\n",
])  # fmt: skip
def test_equal_masses_of_three_translations_are_a_point_mass(cards, tmp_path):
    model = fem.Model(plate(tmp_path, NODE + cards))
    require_lump(model, POINT, np.zeros((3, 3)))
    assert model.unread == ()


@pytest.mark.parametrize(("cards", "reason"), [
    ("CMASS2,71,2.-4,90,1\nCMASS2,72,2.-4,90,2\n", r"the masses of components \[1, 2\] of its node"),
    ("CMASS2,71,2.-4,90,1\nCMASS2,72,2.-4,90,2\nCMASS2,73,3.-4,90,3\n", "which no lump has"),
    ("CMASS2,71,2.-4,90,4\n", "a mass of a rotation"),
    ("CMASS2,71,2.-4,90,1,5,1\n", "between two components"),
    ("CMASS1,71,7,90,1\n", "the deck has no PMASS 7"),
])  # fmt: skip
def test_masses_of_single_components_are_not_obeyed(cards, reason, tmp_path):
    mesh = plate(tmp_path, NODE + cards, loud=False)
    assert re.search(reason, mesh.unread[0].text)
    assert len(mesh.unread) == cards.count("CMASS")
    assert mesh.masses == ()

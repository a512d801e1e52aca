"""Structures of Nastran decks: shells, beams, constraints, lumps and coordinate systems, against the same part made in Python."""

import warnings

import numpy as np
import pytest
import scipy.linalg as sl

import fem
import reduction
from fem.errors import MatrixError, MeshError, MeshWarning

MAT = "MAT1,1,2.1+5,,.3,7.85-9\n"
STEEL = fem.Material.isotropic(2.1e5, 0.3, 7.85e-9)


def read(folder, text, loud=True, **options):
    (folder / "part.bdf").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if loud else "ignore", MeshWarning)
        return fem.read_mesh(folder / "part.bdf", **options)


def grids(points, cp=""):
    return "".join(f"GRID,{k},{cp},{x!r},{y!r},{z!r}\n" for k, (x, y, z) in enumerate(np.asarray(points).tolist(), 1))


def values(model):
    """Eigenvalues, the masses of drilling rotations being zero."""
    K, M = model.K.toarray(), model.M.toarray()
    shift = 1e-6 * np.trace(K) / np.trace(M)
    inverse = sl.eigh(M, K + shift * M, eigvals_only=True)[::-1]
    return 1 / inverse[inverse > 1e-12 * inverse[0]] - shift


def bar(
    folder,
    extra="",
    section="PBAR,5,1,.08,1.066666667e-03,2.666666667e-04,7.317813831e-04\n,,,,,,,,\n,.8333333,.8333333\n",
    card="CBAR,{},5,{},{},0.,1.,0.\n",
    **options,
):
    points = [(2.5 * k, 0, 0) for k in range(5)]
    cells = "".join(card.format(k, k, k + 1) for k in range(1, 5))
    return read(folder, grids(points) + cells + section + MAT + extra, **options)


SECTIONS = {
    "PBAR": ("CBAR", "PBAR,5,1,.08,1.066666667e-03,2.666666667e-04,7.317813831e-04\n,,,,,,,,\n,.8333333,.8333333\n"),
    "PBARL": ("CBAR", "PBARL,5,1,,BAR,,,,,+\n+,.2,.4\n"),
    "PBEAM": ("CBEAM", "PBEAM,5,1,.08,1.066666667e-03,2.666666667e-04,,7.317813831e-04,,+\n+,,,,,,,,,+\n+,.8333333,.8333333\n"),
    "PBEAML": ("CBEAM", "PBEAML,5,1,,BAR,,,,,+\n+,.2,.4\n"),
    "two stations": ("CBEAM", "PBEAM,5,1,.08,1.066666667e-03,2.666666667e-04,,7.317813831e-04,,+\n+,,,,,,,,,+\n+,NO,1.,.08,1.066666667e-03,2.666666667e-04,,7.317813831e-04,,+\n+,.8333333,.8333333\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", SECTIONS)
def test_bars_and_beams_have_their_section(name, tmp_path):
    """I1 bends in the plane of the vector: 0.4 along y, 0.2 along z."""
    kind, section = SECTIONS[name]
    mesh = bar(tmp_path, section=section, card=kind + ",{},5,{},{},0.,1.,0.\n")
    model = fem.Model(mesh)
    same = fem.Beam(STEEL, fem.Section.rectangle(0.4, 0.2), y_axis=(0, 1, 0))
    np.testing.assert_allclose(values(model)[6:], values(fem.Model(mesh, same))[6:], rtol=2e-4)
    assert fem.Model(mesh).unread == ()
    turned = bar(tmp_path, section=section, card=kind + ",{},5,{},{},0.,0.,1.\n")
    assert abs(values(fem.Model(turned))[6] / values(model)[6] - 1) < 1e-6  # the same motions, about other axes
    pinned = bar(tmp_path, section=section, card=kind + ",{},5,{},{},0.,1.,0.,,+\n+,56\n", loud=False)
    assert {u.keyword for u in pinned.unread} == {kind}
    with pytest.raises(MeshError, match="released"):
        reduction.modal(fem.Model(pinned, same), 2)


def test_a_bar_without_shear_factors_does_not_shear(tmp_path):
    mesh = bar(tmp_path, section="PBAR,5,1,.08,1.066666667e-03,2.666666667e-04,7.317813831e-04\n")
    assert {m.theory for m in fem.Model(mesh).materials} == {"euler-bernoulli"}


def test_vectors_by_nodes_and_in_turned_axes(tmp_path):
    by_node = bar(tmp_path, "GRID,9,,0.,5.,0.\n", card="CBAR,{},5,{},{},9\n")
    assert fem.Model(by_node).materials[0].y_axis == (0.0, 1.0, 0.0)
    system = "CORD2R,3,,0.,0.,0.,0.,1.,0.,+\n+,1.,0.,0.\n"  # its z is y
    text = (
        (tmp_path / "part.bdf")
        .read_text()
        .replace("GRID,1,,0.0,0.0,0.0", "GRID,1,,0.,0.,0.,3")
        .replace("CBAR,1,5,1,2,9", "CBAR,1,5,1,2,0.,0.,1.")
    )
    turned = fem.Model(read(tmp_path, text + system))
    np.testing.assert_allclose(turned.materials[0].y_axis, (0, 1, 0), atol=1e-12)


PLATE = fem.structured_meshes.sheet("quad", (1.0, 0.6), (4, 3))


def plate(folder, extra="", section="PSHELL,5,1,.05,1,,1\n", tail="", **options):
    cells = "".join(
        f"CQUAD4,{k},5,{a},{b},{c},{d}{tail}\n" for k, (a, b, c, d) in enumerate(PLATE.cells[0].connectivity + 1, 1)
    )
    return read(folder, grids(PLATE.points) + cells + section + MAT + extra, **options)


def test_shells_have_their_thickness_and_offset(tmp_path):
    for tail, offset in (("", 0.0), (",,.01", 0.01)):
        model = fem.Model(plate(tmp_path, tail=tail))
        same = fem.Model(PLATE, fem.Shell(STEEL, 0.05, offset))
        np.testing.assert_allclose(values(model)[6:12], values(same)[6:12], rtol=1e-6)
        assert len(reduction.modal(model, 3).frequencies) == 3


@pytest.mark.parametrize(
    ("section", "tail", "words"),
    [
        ("PSHELL,5,1,.05\n", "", "bending of its own"), ("PSHELL,5,1,.05,1,2.0,1\n", "", "bending of its own"), ("PSHELL,5,1,.05,1,,1,.7\n", "", "shear of its own"),
        ("PSHELL,5,1,.05,1,,1,,2.-9\n", "", "not structural"), ("PCOMP,5\n,1,.05,0.\n", "", "PCOMP, layers"), ("PSHELL,5,1,.05,1,,1\n", ",,,,,.05,.05,.05,.06", "thicknesses of its own"),
    ],
)  # fmt: skip
def test_sections_that_say_more_are_named_by_line(section, tail, words, tmp_path):
    tail = tail.replace(",,,,,.05", ",,\n,,,.05") if tail else tail
    solid = "GRID,91,,9.,0.,0.\nGRID,92,,9.,1.,0.\nGRID,93,,9.,0.,1.\nGRID,94,,8.,0.,0.\nCTETRA,99,7,91,92,93,94\nPSOLID,7,1\n"
    mesh = plate(tmp_path, solid, section=section, tail=tail, loud=False)
    assert {u.keyword for u in mesh.unread} == {"CQUAD4"}
    assert words in mesh.unread[0].text
    assert mesh.unread[0].line == 21


def test_constraints_say_what_their_cards_say(tmp_path):
    """RBE2 with a range, RBE3 with two weights (a node in both has their sum), MPC in turned axes."""
    text = "GRID,90,,1.2,.3,.1\nGRID,91,,-.2,.3,0.\nRBE2,80,90,123456,5,THRU,20,5\nRBE3,81,,91,123456,1.,123,1,5,+\n+,2.5,123,11,16,5\n"
    text = text.replace("5,THRU,20,5", "5,10,15,20")
    axes = "CORD2C,4,,0.,0.,0.,0.,0.,1.,+\n+,1.,0.,0.\n"
    mesh = plate(tmp_path, axes + text + "GRID,92,,0.,2.,0.,4\nMPC,3,92,1,1.,1,2,-1.\n")
    link, mean, equation = mesh.constraints
    label = {int(n): k for k, n in enumerate(mesh.node_ids)}
    assert (link.nodes.tolist(), link.reference) == ([label[n] for n in (5, 10, 15, 20)], label[90])
    assert mean.reference == label[91]
    np.testing.assert_array_equal(mean.weights, [1, 3.5, 2.5, 2.5])
    assert (equation.nodes.tolist(), equation.components.tolist()) == ([label[92], label[1]], [1, 1])  # radial there: y
    np.testing.assert_allclose(equation.coefficients, [1, -1])
    assert mesh.unread == ()
    model = fem.Model(mesh)
    same = fem.Model(mesh, fem.Shell(STEEL, 0.05))
    np.testing.assert_allclose(values(model)[6:12], values(same)[6:12], rtol=1e-9)


def test_lumped_masses_with_offset_and_inertia(tmp_path):
    """Mass, centre and inertia of the whole, in units of weight too."""
    lump = "GRID,90,,1.2,.3,.1\nRBE2,80,90,123456,5,10,15,20\nCONM2,70,90,,2.-4,.1,.2,.3,,+\n+,3.-4,1.-5,4.-4,2.-5,-3.-5,5.-4\n"
    model, bare = fem.Model(plate(tmp_path, lump)), fem.Model(PLATE, fem.Shell(STEEL, 0.05))
    centre, m = np.array([1.3, 0.5, 0.4]), 2e-4
    assert model.mass == pytest.approx(bare.mass + m, rel=1e-9)
    np.testing.assert_allclose(
        model.centre_of_mass, (bare.mass * bare.centre_of_mass + m * centre) / (bare.mass + m), rtol=1e-9
    )
    J = np.array([[3e-4, -1e-5, -2e-5], [-1e-5, 4e-4, 3e-5], [-2e-5, 3e-5, 5e-4]])
    np.testing.assert_allclose(
        model.inertia((0, 0, 0)),
        bare.inertia((0, 0, 0)) + J + m * (centre @ centre * np.eye(3) - np.outer(centre, centre)),
        rtol=1e-8,
        atol=1e-12,
    )
    heavy = fem.Model(plate(tmp_path, lump + "PARAM,WTMASS,2.0\n"))
    np.testing.assert_allclose(heavy.inertia(), 2 * model.inertia(), rtol=1e-12)
    wrong = plate(tmp_path, lump.replace("5.-4\n", "5.-2\n"), loud=False)
    assert "exceeds the sum" in wrong.unread[0].text


def test_springs_and_supports(tmp_path):
    """CELAS2 and CELAS1; SPC1 with a range, SPC and GRID PS, which case control selects; kept on demand."""
    springs = "CELAS2,60,5.+3,1,3,20,3\nCELAS1,61,8,6,2\nPELAS,8,7.+2\n"
    held = "SPC1,4,123456,1,THRU,5\nSPC,4,20,3,0.\nSPC1,5,3,16\n"
    control = "SOL 103\nCEND\nSPC = 4\nBEGIN BULK\n"
    mesh = plate(tmp_path, springs)
    assert [(s.stiffness, s.components.tolist()) for s in mesh.springs] == [(5e3, [2, 2]), (7e2, [1])]
    body = (tmp_path / "part.bdf").read_text()
    kept = read(tmp_path, control + body + held + "ENDDATA\n", supports="keep")
    model, free = fem.Model(kept), fem.Model(mesh)
    assert free.ndof - model.ndof == 31
    with pytest.raises(MatrixError, match="held in space"):
        reduction.modal(model, 2)
    assert len(read(tmp_path, control + body + held + "ENDDATA\n", loud=False).unread) == 2
    both = read(tmp_path, body + held, loud=False)
    assert all("sets [4, 5], and one must be selected" in u.text for u in both.unread)


def test_coordinate_systems_in_chains(tmp_path):
    """A cylindrical system in a rectangular one that is shifted and turned; spherical; by three nodes."""
    systems = "CORD2R,1,,10.,0.,0.,10.,0.,1.,+\n+,10.,1.,0.\nCORD2C,2,1,0.,0.,0.,0.,0.,1.,+\n+,1.,0.,0.\nCORD2S,3,,0.,0.,0.,0.,0.,1.,+\n+,1.,0.,0.\nCORD1R,4,1,2,3\n"
    nodes = "GRID,1,,0.,0.,0.\nGRID,2,,0.,0.,2.\nGRID,3,,0.,3.,0.\nGRID,4,2,2.,90.,5.\nGRID,5,3,2.,90.,90.\nGRID,6,4,1.,2.,3.\n"
    cells = "CTETRA,1,7,1,2,3,4\nCTETRA,2,7,1,2,5,4\nCTETRA,3,7,1,2,6,4\nPSOLID,7,1\n"
    mesh = read(tmp_path, systems + nodes + cells + MAT)
    np.testing.assert_allclose(mesh.points[3:], [[8, 0, 5], [0, 2, 0], [-2, 1, 3]], atol=1e-12)
    for bad, words in (("CORD2R,1,2", "refers to itself"), ("CORD2R,9,", "coordinate system 1 is not defined")):
        with pytest.raises(MeshError, match=words):
            read(tmp_path, systems.replace("CORD2R,1,", bad, 1) + nodes + cells + MAT)
    with pytest.raises(MeshError, match="lie on a line"):
        read(tmp_path, systems.replace("+,10.,1.,0.", "+,10.,0.,2.", 1) + nodes + cells + MAT)


def test_bars_that_are_rigid_and_bushings(tmp_path):
    """RBAR in both directions; CBUSH in a turned system between nodes at one place."""
    x, y, _ = PLATE.points[4].tolist()
    text = f"GRID,90,,1.2,.3,.1\nGRID,91,,{x!r},{y!r},0.\nRBAR,80,90,5,123456\nRBAR,82,10,90,,123456\nCORD2R,3,,0.,0.,0.,0.,1.,0.,+\n+,1.,0.,0.\n"
    mesh = plate(tmp_path, text + "CBUSH,70,9,91,5,,,,3\nPBUSH,9,K,3.+3,,5.+3\n", loud=False)
    label = {int(n): k for k, n in enumerate(mesh.node_ids)}
    assert [(c.nodes.tolist(), c.reference) for c in mesh.constraints] == [
        ([label[5]], label[90]),
        ([label[10]], label[90]),
    ]
    assert mesh.unread == ()
    assert [s.stiffness for s in mesh.springs] == [3e3, 5e3]
    for spring, direction in zip(mesh.springs, ([1, 0, 0], [0, 1, 0]), strict=True):
        row = np.zeros((len(mesh.points), 3))
        np.add.at(row, (spring.nodes, spring.components), spring.coefficients)
        np.testing.assert_allclose(row[label[91]] * np.sign(row[label[91]].sum()), direction, atol=1e-12)
        np.testing.assert_allclose(row[label[91]], -row[label[5]], atol=1e-12)
    apart = plate(tmp_path, text + "CBUSH,70,9,91,4,,,,3\nPBUSH,9,K,3.+3\n", loud=False)
    assert "nodes are apart" in apart.unread[0].text


def test_beams_take_both_moduli(tmp_path):
    """Also where they make no Poisson's ratio of a solid; shells and solids refuse such a material."""
    mesh = bar(tmp_path, card="CBAR,{},5,{},{},0.,1.,0.\n")
    text = (tmp_path / "part.bdf").read_text().replace(MAT, "MAT1,1,2.1+5,2.+4,,7.85-9\n")
    assert fem.Model(read(tmp_path, text, loud=False)).materials[0].moduli == pytest.approx((2.1e5, 2e4))
    assert mesh.kinds == {"line": 4}


def test_ranges_of_nodes_may_be_long(tmp_path):
    """SPC1 passes over numbers without a node, however many; RBE2 does not, and no range runs backwards."""
    mesh = plate(tmp_path, "SPC1,1,3,1,THRU,999999999\n", loud=False)
    assert [u.keyword for u in mesh.unread] == ["SPC1"]
    wrong = "GRID,90,,1.2,.3,.1\nRBE2,80,90,123456,1,THRU,999999999\nSPC1,1,3,5,THRU,1\n"
    texts = [u.text for u in plate(tmp_path, wrong, loud=False).unread]
    assert any("the deck has no node" in text for text in texts)
    assert any("5 THRU 1 has no numbers" in text for text in texts)

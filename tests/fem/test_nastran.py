"""Structures of Nastran decks: shells, beams, constraints, lumps and coordinate systems, against the same part made in Python."""

import re
import warnings

import numpy as np
import pytest
import scipy.linalg as sl

import fem
import reduction
from fem.errors import MatrixError, MeshError, MeshWarning
from fem.files.nastran.cards import Card
from fem.files.nastran.sections import beam
from fem.files.nastran.systems import Systems

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
    warped = bar(tmp_path, section=section, card=kind + ",{},5,{},{},0.,1.,0.,,+\n+,,,,,,,,,+\n+,91\n", loud=False)
    assert {u.keyword for u in warped.unread} == {kind}
    with pytest.raises(MeshError, match="warping"):
        reduction.modal(fem.Model(warped, same), 2)


def test_sections_that_differ_in_their_fibres_or_theory_are_two(tmp_path):
    """Two PBAR of the same area and moments: each bar has the stresses at its own points, and its own shear."""
    common = "1,.08,1.066666667e-03,2.666666667e-04,7.317813831e-04,,,+\n"
    points = "+,{0},{0},-{0},{0},-{0},-{0},{0},-{0},+\n"
    two = f"PBAR,5,{common}{points.format('.1')}+,.8333333,.8333333\n"
    two += f"PBAR,6,{common}{points.format('.2')}+,.8333333,.8333333\n"
    two += f"PBAR,7,{common}{points.format('.1')}"
    cells = "".join(f"CBAR,{k},{4 + k},{k},{k + 1},0.,1.,0.\n" for k in (1, 2, 3))
    model = fem.Model(read(tmp_path, grids([(k, 0, 0) for k in range(4)]) + cells + two + MAT))
    made = [model.materials[k] for k in model.elements.material_of]
    assert [beam.section.fibres[0] for beam in made] == [(0.1, 0.1), (0.2, 0.2), (0.1, 0.1)]
    assert [beam.theory for beam in made] == ["timoshenko", "timoshenko", "euler-bernoulli"]


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
        ("PSHELL,5,1,.05,-1\n", "", "plane strain"), ("PSHELL,5,1,.05,9,,1\n", "", "material 9, which is neither"),
        ("PCOMP,5,,,,,,,BEND\n,1,.05,0.\n", "", "LAM = BEND"), ("PCOMP,5\n", "", "without plies"), ("PSHELL,5,1,.05,1,,1\n", ",,,,,.05,.05,.05,.06", "thicknesses of its own"),
        ("PCOMP,5\n,1,0.,0.\n", "", "thickness must be positive"), ("PSHELL,5,1,.05,1,,1\n", ",3\nCORD2C,3,,0.,0.,0.,0.,0.,1.,+\n+,1.,0.,0.", "not rectangular"),
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
    assert mesh.springs[0].coefficients.tolist() == [1.0, -1.0]  # it is as long as its ends are apart
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
    """A cylindrical system in a rectangular one that is shifted and turned; spherical; two by three nodes each on one card."""
    systems = "CORD2R,1,,10.,0.,0.,10.,0.,1.,+\n+,10.,1.,0.\nCORD2C,2,1,0.,0.,0.,0.,0.,1.,+\n+,1.,0.,0.\nCORD2S,3,,0.,0.,0.,0.,0.,1.,+\n+,1.,0.,0.\nCORD1R,4,1,2,3,8,1,3,2\n"
    nodes = "GRID,1,,0.,0.,0.\nGRID,2,,0.,0.,2.\nGRID,3,,0.,3.,0.\nGRID,4,2,2.,90.,5.\nGRID,5,3,2.,30.,60.\nGRID,6,4,1.,2.,3.\nGRID,7,8,1.,2.,3.\n"
    cells = "CTETRA,1,7,1,2,3,4\nCTETRA,2,7,1,2,5,4\nCTETRA,3,7,1,2,6,4\nCTETRA,4,7,1,2,7,4\nPSOLID,7,1\n"
    mesh = read(tmp_path, systems + nodes + cells + MAT)
    np.testing.assert_allclose(
        mesh.points[3:], [[8, 0, 5], [0.5, np.sqrt(0.75), np.sqrt(3)], [-2, 1, 3], [2, 3, 1]], atol=1e-12
    )
    for bad, words in (("CORD2R,1,2", "refers to itself"), ("CORD2R,9,", "coordinate system 1 is not defined")):
        with pytest.raises(MeshError, match=words):
            read(tmp_path, systems.replace("CORD2R,1,", bad, 1) + nodes + cells + MAT)
    with pytest.raises(MeshError, match="lie on a line"):
        read(tmp_path, systems.replace("+,10.,1.,0.", "+,10.,0.,2.", 1) + nodes + cells + MAT)


@pytest.mark.parametrize("kind", ["CORD2R", "CORD2C", "CORD2S"])
def test_axes_of_a_system_are_the_directions_in_which_its_coordinates_grow(kind):
    points = "3,,1.,2.,3.,2.,2.,3.,1.,2.,4."
    systems = Systems({3: Card(kind, points.split(","), "part.bdf", 1, points)}, {})
    at = np.array([2.0, 40.0, 25.0])
    moved = [systems.place(3, at + d, "") - systems.place(3, at - d, "") for d in 1e-4 * np.eye(3)]
    along = np.array([d / np.linalg.norm(d) for d in moved])
    np.testing.assert_allclose(systems.axes_at(3, systems.place(3, at, ""), ""), along, atol=1e-9)


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
    without = plate(tmp_path, text + "CBUSH,70,9,91,5\nPBUSH,9,K,3.+3\n", loud=False)
    assert "without a coordinate system" in without.unread[0].text


@pytest.mark.parametrize(
    ("tail", "stiffness"),
    [("0.,0.,1.", "3.+3,2.+3,5.+3,7.+2,8.+2,9.+2"), (",,,0", "3.+3,2.+3,5.+3,7.+2,8.+2,9.+2"), ("", "3.+3,,,7.+2"), ("1\n,.25", "3.+3,4.+3"),
     ("1,,,\n,.25,-1,.1,.2,.3", "3.+3,4.+3")],
)  # fmt: skip
def test_bushings_between_nodes_that_are_apart(tail, stiffness, tmp_path):
    """Rigid motions of both nodes take no energy; a relative one takes that of the springs at the point between."""
    text = f"GRID,90,,1.2,.3,.4\nRBE2,80,90,123456,5,10\nCBUSH,70,9,90,11,{tail}\nPBUSH,9,K,{stiffness}\n"
    mesh = plate(tmp_path, text)
    assert mesh.unread == ()
    label = {int(n): k for k, n in enumerate(mesh.node_ids)}
    x = mesh.points
    ends = label[90], label[11]
    where = 0.25 if ",.25" in tail else 0.5
    place = (1 - where) * x[ends[0]] + where * x[ends[1]]
    values = [float(w.replace("+", "e")) if w else 0.0 for w in stiffness.split(",")]
    line = (x[ends[1]] - x[ends[0]]) / np.linalg.norm(x[ends[1]] - x[ends[0]])
    rng = np.random.default_rng(4)
    for both in (True, False):
        moved = {n: np.zeros(6) for n in range(len(x))}
        u, theta = rng.normal(size=(2, 3))
        for n in ends if both else ends[:1]:
            moved[n] = np.concatenate([u + np.cross(theta, x[n] - x[ends[0]]), theta])
        energy = sum(
            s.stiffness
            * sum(v * moved[n][d] for n, d, v in zip(s.nodes, s.components, s.coefficients, strict=True)) ** 2
            for s in mesh.springs
        )
        at = u + np.cross(theta, place - x[ends[0]])
        if both:
            assert energy < 1e-18
        elif tail == "":
            assert energy == pytest.approx(values[0] * (at @ line) ** 2 + values[3] * (theta @ line) ** 2)
        elif tail == ",,,0":
            assert energy == pytest.approx(np.dot(values, np.concatenate([at, theta]) ** 2))
        else:
            v = np.array([0, 0, 1.0]) if tail == "0.,0.,1." else x[label[1]] - x[ends[0]]
            z = np.cross(line, v)
            z /= np.linalg.norm(z)
            R = np.stack([line, np.cross(z, line), z])
            both_moves = np.concatenate([R @ at, R @ theta])[: len(values)]
            assert energy == pytest.approx(np.dot(values, both_moves**2))


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


CARBON = "MAT8,2,1.35+5,9.+3,.3,5.+3,4.5+3,3.5+3,1.6-9\n"
PLY = fem.Material.orthotropic((1.35e5, 9e3, 9e3), (0.3, 0, 0), (5e3, 3.5e3, 4.5e3), 1.6e-9)


def test_layups_of_pcomp(tmp_path):
    """Angles from the first side, and from a coordinate system; symmetric layups; a bottom and a mass of its own."""
    angles = (30.0, -45.0, 90.0)
    cards = {
        "PCOMP,5,-.03,4.-11\n,2,.01,30.,,2,.02,-45.\n,2,.01,90.\n": (0.01, 0.02, 0.01),
        "PCOMP,5,-.03,4.-11\n,2,.01,30.,,,.02,-45.\n,,.01,90.\n": (0.01, 0.02, 0.01),
        "PCOMPG,5,-.03,4.-11\n,1,2,.01,30.\n,2,2,.02,-45.\n,3,2,.01,90.\n": (0.01, 0.02, 0.01),
    }
    for section, thicknesses in cards.items():
        plies = [fem.Ply(PLY, t, a) for t, a in zip(thicknesses, angles, strict=True)]
        for tail, x in (("", (1, 0, 0)), (",20.", (np.cos(np.pi / 9), np.sin(np.pi / 9), 0)), (",3", (0, 1, 0))):
            system = "CORD2R,3,,0.,0.,0.,0.,0.,1.,+\n+,0.,1.,0.\n"
            model = fem.Model(plate(tmp_path, CARBON + system, section=section, tail=tail))
            same = fem.Model(PLATE, fem.Shell.layup(plies, x, offset=-0.01, added_mass=4e-11))
            np.testing.assert_allclose(values(model)[6:14], values(same)[6:14], rtol=1e-6)
            assert model.mass == pytest.approx(0.6 * (0.04 * 1.6e-9 + 4e-11))
            assert fem.Model(model.mesh).unread == ()
            assert len(model.ply_stresses(np.zeros((model.ndof, 1)))[0].ply) == 6
    half = fem.Model(plate(tmp_path, CARBON, section="PCOMP,5,,,,,,,SYM\n,2,.01,30.,,2,.02,-45.\n"))
    whole = fem.Model(plate(tmp_path, CARBON, section="PCOMP,5\n,2,.01,30.,,2,.04,-45.\n,2,.01,30.\n"))
    np.testing.assert_allclose(values(half)[6:14], values(whole)[6:14], rtol=1e-6)
    other = fem.Model(half.mesh, fem.Shell.layup([fem.Ply(PLY, 0.06)], (1, 0, 0)))
    assert "is not the shell of the model" in other.unread[0].text
    solid = "GRID,91,,9.,0.,0.\nGRID,92,,9.,1.,0.\nGRID,93,,9.,0.,1.\nGRID,94,,8.,0.,0.\nCTETRA,99,7,91,92,93,94\nPSOLID,7,2\n"
    with pytest.raises(fem.MaterialError, match="a material of shells"):
        fem.Model(plate(tmp_path, CARBON + solid, loud=False))


def test_shells_whose_bending_shear_and_mass_are_others(tmp_path):
    """12 I / T**3, MID2, MID3, TS/T and NSM; a shell without MID3 does not shear."""
    soft = "MAT1,2,7.+4,,.3\n"
    cases = (
        ("PSHELL,5,1,.05,1,3.0,1\n", {"bending_ratio": 3.0}), ("PSHELL,5,1,.05,2,3.0,1\n", {"bending_ratio": 1.0}),
        ("PSHELL,5,1,.05,1,,2,.5\n", {"shear_ratio": 0.2}), ("PSHELL,5,1,.05,1,,1,,4.-10\n", {"added_mass": 4e-10}),
    )  # fmt: skip
    for section, own in cases:
        model = fem.Model(plate(tmp_path, soft, section=section))
        same = fem.Model(PLATE, fem.Shell(STEEL, 0.05, **own))
        np.testing.assert_allclose(values(model)[6:14], values(same)[6:14], rtol=1e-6)
        assert model.mass == pytest.approx(0.6 * (0.05 * 7.85e-9 + own.get("added_mass", 0.0)))
    core = "MAT8,2,1.,1.,,1.,7.+3,3.5+3\n"
    sandwich = fem.Model(plate(tmp_path, core, section="PSHELL,5,1,.05,1,,2\n", tail=",90."))
    G = 2.1e5 / 2.6
    same = fem.Model(PLATE, fem.Shell(STEEL, 0.05, x_axis=(0, 1, 0), shear_ratio=(7e3 / G, 3.5e3 / G)))
    np.testing.assert_allclose(values(sandwich)[6:14], values(same)[6:14], rtol=1e-6)
    stiff, plain = (fem.Model(plate(tmp_path, section=f"PSHELL,5,1,.2,1{tail}\n")) for tail in ("", ",,1"))
    thick, same = (values(fem.Model(PLATE, fem.Shell(STEEL, 0.2, shear_ratio=r)))[6:12] for r in (1e6, 1.0))
    np.testing.assert_allclose(values(stiff)[6:12], thick, rtol=1e-3)
    np.testing.assert_allclose(values(plain)[6:12], same, rtol=1e-6)
    assert (thick > 1.02 * same).any()
    with pytest.raises(fem.MaterialError, match="without stiffness"):
        fem.Shell.layup([fem.Ply(STEEL, 0.01), fem.Ply(fem.Material.isotropic(2e3, 0.3), 0.01)]).__class__(
            STEEL,
            0.02,
            plies=(fem.Ply(STEEL, 0.01), fem.Ply(fem.Material.isotropic(2e3, 0.3), 0.01)),
            bending_ratio=0.1,
        )
    for name in ("bending_ratio", "shear_ratio"):
        with pytest.raises(fem.MaterialError, match=name):
            fem.Shell(STEEL, 0.1, **{name: 0.0})
    with pytest.raises(fem.MaterialError, match="added_mass"):
        fem.Shell(STEEL, 0.1, added_mass=-1.0)


@pytest.mark.parametrize(
    ("kind", "card", "angle", "flag"), [("quad8", "CQUAD8", 15, 17), ("triangle6", "CTRIA6", 9, 14)]
)
def test_quadratic_shells(kind, card, angle, flag, tmp_path):
    """With an offset; TFLAG, behind the offset or T1 to T3, would make thicknesses relative."""
    sheet = fem.structured_meshes.sheet(kind, (1.0, 0.6), (2, 2))

    def made(offset, relative=""):
        cells = ""
        for k, nodes in enumerate(sheet.cells[0].connectivity + 1, 1):
            words = [card, str(k), "5", *map(str, nodes)] + [""] * 18
            words[angle], words[angle + 1], words[flag] = "0.", f"{offset}", relative
            cells += ",".join(words[:9]) + "\n," + ",".join(words[9:17]) + "\n," + words[17] + "\n"
        return read(tmp_path, grids(sheet.points) + cells + "PSHELL,5,1,.05,1,,1\n" + MAT)

    for offset in (0.0, 0.01):
        same = fem.Model(sheet, fem.Shell(STEEL, 0.05, offset))
        np.testing.assert_allclose(values(fem.Model(made(offset)))[6:12], values(same)[6:12], rtol=1e-6)
    with pytest.raises(fem.MeshError, match=r"relative to that of the property \(TFLAG\)"):
        made(0.0, "1")


def test_ends_of_beams_beside_their_nodes(tmp_path):
    """Offsets are arms; with equal ones across the beam it is that of fem.Beam. In the axes of the nodes, too."""
    card = "CBAR,{},5,{},{},0.,1.,0.,,+\n+,,,0.,.1,.2,0.,.1,.2\n"
    mesh = bar(tmp_path, card=card)
    section = fem.Section.rectangle(0.4, 0.2)
    points = np.array([(2.5 * k, 0, 0) for k in range(5)])
    lines = fem.Mesh(points, (fem.CellBlock("line", np.column_stack([np.arange(4), np.arange(1, 5)])),))
    same = fem.Model(lines, fem.Beam(STEEL, section, (0, 1, 0), offset=(0.1, 0.2)))
    np.testing.assert_allclose(values(fem.Model(mesh))[6:16], values(same)[6:16], rtol=3e-4)
    assert fem.Model(mesh).unread == ()
    system = "CORD2R,3,,0.,0.,0.,0.,1.,0.,+\n+,1.,0.,0.\n"  # its y is -z, its z is y
    text = (
        (tmp_path / "part.bdf")
        .read_text()
        .replace(",0.,.1,.2,0.,.1,.2", ",0.,-.2,.1,0.,-.2,.1")
        .replace("0.,1.,0.,,+", "0.,0.,1.,,+")
    )
    for k in range(1, 6):
        text = text.replace(f"GRID,{k},,{2.5 * (k - 1)!r},0.0,0.0", f"GRID,{k},,{2.5 * (k - 1)!r},0.0,0.0,3")
    turned = fem.Model(read(tmp_path, text + system))
    np.testing.assert_allclose(values(turned)[6:16], values(fem.Model(mesh))[6:16], rtol=1e-9)


def test_released_ends_are_hinges(tmp_path):
    """A beam clamped at both ends with a hinge in the middle: its symmetric modes are those of a cantilever of half
    its length, the antisymmetric ones those of one that is clamped and supported."""
    n, length, area, inertia = 16, 1.0, 1e-4, 1e-9
    points = [(length * k / n, 0, 0) for k in range(n + 1)]
    cells = "".join(f"CBAR,{k},5,{k},{k + 1},0.,1.,0.,,+\n+,,{6 if k == n // 2 else ''}\n" for k in range(1, n + 1))
    section = f"PBAR,5,1,{area!r},{inertia!r},1.e-6,1.e-6\n"
    held = f"SPC1,4,123456,1,{n + 1}\nSPC1,4,1345,2,THRU,{n}\n"
    mesh = read(tmp_path, grids(points) + cells + section + MAT + held, loud=False, supports="keep")
    found = np.sqrt(values(fem.Model(mesh)))[:3]
    half = length / 2
    unit = np.sqrt(2.1e5 * inertia / (7.85e-9 * area)) / half**2
    np.testing.assert_allclose(found, np.array([3.5160, 15.4182, 22.0345]) * unit, rtol=2e-3)


def test_rods_stretch_and_twist(tmp_path):
    """CROD, CONROD and CTUBE are trusses, which twist between nodes that turn, and have a mass beside their own."""
    rods = "CROD,90,8,5,1\nPROD,8,1,.01,2.-5,,3.-9\nCONROD,91,5,2,1,.02,,,1.-9\nCTUBE,92,9,5,3\nPTUBE,9,1,.2,.02\n"
    mesh = plate(tmp_path, "GRID,5000,,9.,9.,9.\n" + rods)
    model, bare = fem.Model(mesh), fem.Model(PLATE, fem.Shell(STEEL, 0.05))
    assert mesh.kinds["truss"] == 3
    tube = np.pi / 4 * (0.2**2 - 0.16**2)
    lengths = [np.linalg.norm(PLATE.points[4] - PLATE.points[k]) for k in range(3)]
    own = 7.85e-9 * np.dot(lengths, [0.01, 0.02, tube]) + 3e-9 * lengths[0] + 1e-9 * lengths[1]
    assert model.mass == pytest.approx(bare.mass + own, rel=1e-9)
    twist, ring = sorted(s.stiffness for s in mesh.springs)
    G = 2.1e5 / 2.6
    assert twist == pytest.approx(G * 2e-5 / lengths[0])
    assert ring == pytest.approx(G * np.pi / 32 * (0.2**4 - 0.16**4) / lengths[2])
    R = model.rigid_body_modes()
    assert np.abs(model.K @ R).max() < 1e-10 * np.abs(model.K).max()  # twist is the difference of both ends
    assert model.unread == ()
    bad = plate(tmp_path, "CROD,90,8,5,1\nPROD,8,1,0.\n", loud=False)
    assert "without an area" in bad.unread[0].text
    lump = "GRID,5000,,9.,9.,9.\nCROD,90,8,5,5000\nPROD,8,1,.01\nCONM2,95,5000,,2.,.1,0.,0.\n"
    (lost,) = plate(tmp_path, lump, loud=False).unread  # nodes of rods alone do not turn
    assert "an offset or inertia at a node without rotations" in lost.text


def test_masses_per_length_of_bars(tmp_path):
    section = "PBAR,5,1,.08,1.066666667e-03,2.666666667e-04,7.317813831e-04,2.-9\n"
    assert fem.Model(bar(tmp_path, section=section)).mass == pytest.approx(10 * (0.08 * 7.85e-9 + 2e-9), rel=1e-9)
    assert fem.Model(bar(tmp_path, section="PBARL,5,1,,BAR,,,,,+\n+,.2,.4,2.-9\n")).mass == pytest.approx(
        10 * (0.08 * 7.85e-9 + 2e-9), rel=1e-9
    )


def test_sets_that_are_added_and_defaults_of_nodes(tmp_path):
    """SPCADD of selected sets; GRDSET gives coordinate systems and supports where a GRID has none."""
    held = "SPC1,4,123456,1,THRU,5\nSPC1,6,3,16\nSPC1,7,3,18\nSPCADD,10,4,6\n"
    plate(tmp_path)
    body = (tmp_path / "part.bdf").read_text()
    control = "SOL 103\nCEND\nSPC = 10\nBEGIN BULK\n"
    kept = fem.Model(read(tmp_path, control + body + held + "ENDDATA\n", supports="keep"))
    assert 6 * 20 - kept.ndof == 31
    defaults = "CORD2R,3,,0.,0.,5.,0.,0.,6.,+\n+,1.,0.,5.\nGRDSET,,3,,,,,126\n"
    moved = read(tmp_path, body + defaults, supports="keep")
    np.testing.assert_allclose(moved.points[:, 2], 5.0)
    assert fem.Model(moved).ndof == 6 * 20 - 60


def test_loads_are_accepted_together(tmp_path):
    mesh = plate(tmp_path, "FORCE,3,1,,1.,0.,0.,1.\nPLOAD4,3,1,2.\nGRAV,3,,9.8,0.,0.,-1.\n", loud=False)
    assert {u.keyword for u in mesh.unread} == {"FORCE", "PLOAD4", "GRAV"}
    assert read(tmp_path, (tmp_path / "part.bdf").read_text(), ignore=["LOAD"]).unread == ()


SHAPES = {  # dimensions; area, moments of inertia about y and z
    "I": ("1.,.5,.4,.05,.1,.08", 0.5 * 0.1 + 0.4 * 0.08 + 0.82 * 0.05, (0.1 * 0.5**3 + 0.08 * 0.4**3 + 0.82 * 0.05**3) / 12),
    "I1": (".4,.1,.8,1.", 0.1 * 0.8 + 0.2 * 0.5, (0.2 * 0.5**3 + 0.8 * 0.1**3) / 12),
    "CHAN": (".5,1.,.05,.1", 2 * 0.5 * 0.1 + 0.8 * 0.05, None), "CHAN1": (".45,.05,.8,1.", 2 * 0.5 * 0.1 + 0.8 * 0.05, None),
    "CHAN2": (".1,.1,.5,1.", 2 * 0.05 + 0.8 * 0.1, None), "T": (".6,.8,.1,.05", 0.06 + 0.7 * 0.05, (0.1 * 0.6**3 + 0.7 * 0.05**3) / 12),
    "T1": (".6,.5,.1,.05", 0.06 + 0.5 * 0.05, None), "T2": (".6,.8,.1,.05", 0.06 + 0.7 * 0.05, (0.1 * 0.6**3 + 0.7 * 0.05**3) / 12),
    "CROSS": (".6,.1,.8,.05", 0.08 + 0.6 * 0.05, (0.75 * 0.1**3 + 0.05 * 0.7**3) / 12), "H": (".5,.2,.8,.1", 0.16 + 0.05, None),
    "BOX": (".6,.8,.1,.05", 0.48 - 0.5 * 0.6, (0.8 * 0.6**3 - 0.6 * 0.5**3) / 12), "BOX1": (".6,.8,.1,.1,.05,.05", 0.48 - 0.5 * 0.6, (0.8 * 0.6**3 - 0.6 * 0.5**3) / 12),
    "HAT": (".5,.05,.4,.2", 0.4 * 0.05 + 2 * 0.4 * 0.05 + 2 * 0.25 * 0.05, None), "TUBE2": (".5,.1", np.pi * (0.25 - 0.16), np.pi * (0.5**4 - 0.4**4) / 4),
}  # fmt: skip


IMPOSSIBLE = {
    "ROD": {".0": "DIM1 is 0; it must be positive"}, "BAR": {".2,-.4": "DIM2 is -0.4; it must be positive"},
    "TUBE": {".4,.5": "DIM2, 0.5, is more than DIM1, 0.4"}, "TUBE2": {".4,.5": "DIM2, 0.5, is more than DIM1, 0.4"},
    "I": {"1.,.5,.4,.05,.6,.5": "DIM5 and DIM6, 1.1, is more than DIM1, 1", "1.,.5,.4,.45,.1,.1": "DIM4, 0.45, is more than DIM3, 0.4", "1.,.4,.5,.45,.1,.1": "DIM4, 0.45, is more than DIM2, 0.4"},
    "I1": {".4,.1,1.1,1.": "DIM3, 1.1, is more than DIM4, 1"}, "CHAN1": {".4,.1,1.1,1.": "DIM3, 1.1, is more than DIM4, 1"},
    "CHAN": {".5,1.,.05,.6": "twice DIM4, 1.2, is more than DIM2, 1", ".5,1.,.6,.1": "DIM3, 0.6, is more than DIM1, 0.5"},
    "CHAN2": {".6,.1,.5,1.": "twice DIM1, 1.2, is more than DIM4, 1", ".1,.6,.5,1.": "DIM2, 0.6, is more than DIM3, 0.5"},
    "T": {".6,.8,.9,.05": "DIM3, 0.9, is more than DIM2, 0.8", ".6,.8,.1,.7": "DIM4, 0.7, is more than DIM1, 0.6"},
    "T1": {".6,.5,.1,.7": "DIM4, 0.7, is more than DIM1, 0.6"},
    "T2": {".6,.8,.9,.05": "DIM3, 0.9, is more than DIM2, 0.8", ".6,.8,.1,.7": "DIM4, 0.7, is more than DIM1, 0.6"},
    "CROSS": {".6,.1,.8,.9": "DIM4, 0.9, is more than DIM3, 0.8"}, "H": {".5,.2,.8,.9": "DIM4, 0.9, is more than DIM3, 0.8"},
    "BOX": {".6,.8,.5,.05": "twice DIM3, 1, is more than DIM2, 0.8", ".6,.8,.1,.4": "twice DIM4, 0.8, is more than DIM1, 0.6"},
    "BOX1": {".6,.8,.5,.4,.05,.05": "DIM3 and DIM4, 0.9, is more than DIM2, 0.8", ".6,.8,.1,.1,.4,.3": "DIM5 and DIM6, 0.7, is more than DIM1, 0.6"},
    "HAT": {".5,.6,1.4,.2": "DIM2, 0.6, is more than DIM1, 0.5", ".5,.25,.4,.2": "twice DIM2, 0.5, is more than DIM3, 0.4"},
}  # fmt: skip
"""Dimensions that no section has, by type, and what is said of them; the union of overlapping walls was taken."""


@pytest.mark.parametrize("shape", IMPOSSIBLE)
def test_dimensions_that_no_section_has_are_refused_by_name(shape):
    assert set(IMPOSSIBLE) >= set(SHAPES)
    for sizes, said in IMPOSSIBLE[shape].items():
        fields = ["5", "1", "", shape, "", "", "", "", *sizes.split(",")]
        for name in ("PBARL", "PBEAML"):
            with pytest.raises(MeshError, match=f"^a section {shape} .*{re.escape(said)}$"):
                beam(Card(name, fields, "part.bdf", 1, ""))


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_sections(shape, tmp_path):
    """PBARL: area, and the moment of inertia about y where it has a plain formula; unsymmetric PBEAML is refused."""
    sizes, area, inertia = SHAPES[shape]
    words = sizes.split(",")
    first, rest = ",".join(words[:8]), ",".join(words[8:])
    section = f"PBARL,5,1,,{shape},,,,,+\n+,{first}\n" + (f",{rest}\n" if rest else "")
    model = fem.Model(bar(tmp_path, section=section))
    found = model.materials[0].section
    assert found.area == pytest.approx(area, rel=1e-9)
    if inertia is not None:
        assert found.Iy == pytest.approx(inertia, rel=1e-9)
    assert found.shear_centre == (0.0, 0.0)
    beams = bar(tmp_path, section=section.replace("PBARL", "PBEAML"), card="CBEAM,{},5,{},{},0.,1.,0.\n", loud=False)
    beside = shape in ("CHAN", "CHAN1", "CHAN2", "T", "T1", "T2", "HAT", "I")
    assert (fem.Model(beams, fem.Beam(STEEL, found)).unread != ()) == beside


@pytest.mark.parametrize("card", ["PBAR", "PBEAM"])
def test_products_of_inertia_turn_the_principal_axes(card, tmp_path):
    """A rectangle that is turned by its product of inertia is the rectangle with a vector turned as much; beside a
    product of inertia, PBAR has no shear strain."""
    a = np.deg2rad(25.0)
    s = fem.Section.rectangle(0.4, 0.2)
    R = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    (I1, I12), (_, I2) = R @ np.diag([s.Iz, s.Iy]) @ R.T
    if card == "PBAR":
        text = f"PBAR,5,1,{s.area},{I1:.9e},{I2:.9e},{s.J:.9e},,,+\n+,,,,,,,,,+\n+,.8333333,.8333333,{I12:.9e}\n"
    else:
        text = f"PBEAM,5,1,{s.area},{I1:.9e},{I2:.9e},{I12:.9e},{s.J:.9e},,+\n+,,,,,,,,,+\n+,.8333333,.8333333\n"
    kind = "CBAR" if card == "PBAR" else "CBEAM"
    model = fem.Model(bar(tmp_path, section=text, card=kind + ",{},5,{},{},0.,1.,0.\n"))
    y = (0.0, float(np.cos(a)), float(np.sin(a)))
    theory = "euler-bernoulli" if card == "PBAR" else "timoshenko"
    same = fem.Model(model.mesh, fem.Beam(model.materials[0].material, s, y_axis=y, theory=theory))
    assert abs(model.K - same.K).max() < 1e-6 * abs(same.K).max()
    if card == "PBAR":
        return
    wrong = text.replace(".8333333,.8333333", ".8333333,.7")
    refused = bar(tmp_path, section=wrong, card=kind + ",{},5,{},{},0.,1.,0.\n", loud=False)
    assert "different factors of shear" in refused.unread[0].text


@pytest.mark.parametrize("vector", ["0.,0.6,0.8", "9"])
def test_offsets_in_the_axes_of_the_line(vector, tmp_path):
    """OFFT GGO: the offset of the second end is along the line, in its first plane, and across it."""
    points = np.array([(0.0, 0, 0), (2.0, 1.0, 2.0)])
    x = points[1] / 3.0
    v = np.array([0.0, 0.6, 0.8])
    z = np.cross(x, v) / np.linalg.norm(np.cross(x, v))
    arm = 0.1 * x + 0.2 * np.cross(z, x) - 0.3 * z
    other = "GRID,9,,0.,0.6,0.8\n" if vector == "9" else ""
    tail = {"9": "9,,", "0.,0.6,0.8": vector}[vector]
    text = grids(points) + other + "PBAR,5,1,.08,1.066666667e-03,2.666666667e-04,7.317813831e-04\n" + MAT
    own = read(tmp_path, text + f"CBAR,7,5,1,2,{tail},GGO,+\n+,,,,,,.1,.2,-.3\n")
    given = ",".join(f"{c:.12g}" for c in arm)
    same = read(tmp_path, text + f"CBAR,7,5,1,2,{tail},GGG,+\n+,,,,,,{given}\n")
    np.testing.assert_allclose(own.points, same.points, atol=1e-9)
    assert abs(fem.Model(own).K - fem.Model(same).K).max() < 1e-8 * abs(fem.Model(same).K).max()
    for end, options in (
        (",,,.3,.1,.2", "BGG"),
        (",,,.3,.1,.2", "GGG"),
    ):  # the node of the vector is seen from the node
        own = read(tmp_path, text + f"CBAR,7,5,1,2,{tail},{options},+\n+{end}\n")
        same = read(tmp_path, text + f"CBAR,7,5,1,2,0.,0.6,0.8,GGG,+\n+{end}\n")
        assert abs(fem.Model(own).K - fem.Model(same).K).max() < 1e-8 * abs(fem.Model(same).K).max()
    assert "offset axes" in read(tmp_path, text + f"CBAR,7,5,1,2,{tail},GGE,+\n+,,,,,,.1\n", loud=False).unread[0].text


@pytest.mark.parametrize("card", ["PBAR,5,1,.08,1.0-3,2.0-4\n", "PBEAM,5,1,.08,1.0-3,2.0-4\n"])
def test_beams_without_torsion_constant_do_not_resist_twist(card, tmp_path):
    """A blank J is zero, as in Nastran, and a note says so; a section of the model may supply it."""
    kind = "CBAR" if card.startswith("PBAR") else "CBEAM"
    mesh = bar(tmp_path, section=card, card=kind + ",{},5,{},{},0.,1.,0.\n")
    assert [
        note for note in mesh.warnings if "its 4 beams do not resist twist" in note and "line 10 of part.bdf" in note
    ]
    model = fem.Model(mesh)
    assert model.materials[0].section.J == 0.0
    twist = np.zeros(model.ndof)
    twist[model.dof_map.rotations(np.arange(5))[:, 0]] = np.random.default_rng(0).normal(size=5)
    assert not (model.K @ twist).any()
    own = fem.Beam(STEEL, fem.Section(0.08, 2e-4, 1e-3, 5e-4), y_axis=(0, 1, 0), theory="euler-bernoulli")
    fem.Model(mesh, own).require_obeyed()
    with pytest.raises(MeshError, match="not the beam of the model"):
        fem.Model(mesh, fem.Beam(STEEL, fem.Section(0.09, 2e-4, 1e-3, 5e-4))).require_obeyed()


def test_the_factor_of_masses_may_stand_in_case_control(tmp_path):
    """PARAM,WTMASS before BEGIN BULK; another value in the bulk data is refused."""
    bare = fem.Model(plate(tmp_path)).mass
    body = "BEGIN BULK\n" + (tmp_path / "part.bdf").read_text()
    for control in ("  PARAM,WTMASS,2.+0\n", "param*  wtmass          2.0\n"):
        heavy = read(tmp_path, "SOL 103\nCEND\n" + control + body + "PARAM,WTMASS,2.\n")
        assert fem.Model(heavy).mass == pytest.approx(2 * bare, rel=1e-12)
        with pytest.raises(MeshError, match=r"WTMASS is given twice.*in line 3"):
            read(tmp_path, "SOL 103\nCEND\n" + control + body + "PARAM,WTMASS,3.\n")
    assert "PARAM G" in {u.keyword for u in read(tmp_path, "CEND\nPARAM,G,.02\n" + body, loud=False).unread}


def test_damping_of_modes_is_named_where_case_control_selects_it(tmp_path):
    """SDAMPING of a TABDMP1, of another one, of none; two tables for two subcases."""
    plate(tmp_path)
    body = "BEGIN BULK\nTABDMP1,25,CRIT\n,0.,.01,300.,.01,ENDT\n" + (tmp_path / "part.bdf").read_text()
    for command in ("SDAMP = 25", "  sdamping(structure) = 25"):
        (named,) = read(tmp_path, f"SOL 111\nCEND\n{command}\n{body}", loud=False).unread
        assert named.keyword == "TABDMP1"
        assert "modal_damping" in named.text
    (lost,) = read(tmp_path, f"SOL 111\nCEND\nSDAMPING = 26\n{body}", loud=False).unread
    assert "no set 26 of SDAMP" in lost.text
    idle = read(tmp_path, f"SOL 111\nCEND\n{body}")
    assert idle.unread == ()
    assert any("selects no SDAMP" in note for note in idle.warnings)


def test_the_factor_of_masses_scales_what_beams_that_vary_carry(tmp_path):
    """The mean of the masses per length of both ends, and that of the material."""
    taper = "PBEAM,5,1,.08,1.-3,2.-4,,7.-4,2.-9\n,,,,,,,,\n,NO,1.,.04,1.-3,2.-4,,7.-4,4.-9\n"
    shaped = "PBEAML,5,1,,BAR\n,.2,.4,2.-9,NO,1.,.2,.2,4.-9\n"
    for section in (taper, shaped):
        mesh = bar(tmp_path, "PARAM,WTMASS,.01\n", section, "CBEAM,{},5,{},{},0.,1.,0.\n")
        assert fem.Model(mesh).mass == pytest.approx(10 * 0.01 * (0.06 * 7.85e-9 + 3e-9), rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [("", "*"), ("*G1", "*G1")])
def test_a_name_of_the_continuation_leaves_the_fields_wide(first, second, tmp_path):
    """A continuation in large fields begins with an asterisk; a name may follow it."""
    wide = "GRID*   {:<16}{:<16}{:<16.3f}{:<16.3f}{:<8}\n{:<8}{:<16.3f}\n"
    points = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.25), (0.0, 2.0, 0.5), (0.0, 0.0, 3.0)]
    nodes = "".join(wide.format(k, "", x, y, first, second, z) for k, (x, y, z) in enumerate(points, 1))
    mesh = read(tmp_path, nodes + "CTETRA,7,7,1,2,3,4\nPSOLID,7,1\n" + MAT)
    np.testing.assert_array_equal(mesh.points, points)


@pytest.mark.parametrize(
    ("part", "section"),
    [
        (plate, "PSHELL,5,1,.05,1,,1,,2.-9\n"),
        (plate, "PCOMP,5,,2.-9\n,1,.02,0.,,1,.03,0.\n"),
        (bar, "PBAR,5,1,.08,1.-3,2.-4,7.-4,2.-9\n"),
        (bar, "PBARL,5,1,,BAR\n,.2,.4,2.-9\n"),
    ],
)
def test_the_factor_of_masses_scales_what_shells_and_bars_carry(part, section, tmp_path):
    bare, carrying = (
        fem.Model(part(tmp_path, section=section.replace("2.-9", added))).mass for added in ("0.", "2.-9")
    )
    assert carrying > 1.001 * bare
    heavy = fem.Model(part(tmp_path, "PARAM,WTMASS,3.\n", section)).mass
    assert heavy == pytest.approx(3.0 * carrying, rel=1e-12)


def test_solids_without_a_property_number_have_that_of_their_own(tmp_path):
    """A blank PID is the number of the element."""
    tetra = grids(np.vstack([np.zeros(3), np.eye(3)])) + "CTETRA,7,{},1,2,3,4\nPSOLID,7,1\n" + MAT
    blank, given = (read(tmp_path, tetra.format(number)) for number in ("", "7"))
    assert "property 7" in blank.cell_sets
    assert fem.Model(blank).mass == pytest.approx(fem.Model(given).mass, rel=1e-12)


def test_elements_name_their_property_or_have_its_number(tmp_path):
    """A blank PID is the number of the element; a shell without its property is not obeyed, and is named."""
    bare = fem.Model(plate(tmp_path)).mass
    text = (tmp_path / "part.bdf").read_text()
    blank = text.replace("CQUAD4,12,5", "CQUAD4,12,")
    mesh = read(tmp_path, blank + "PSHELL,12,1,.05,1,,1\n")
    assert fem.Model(mesh).mass == pytest.approx(bare, rel=1e-12)
    assert len(mesh.cell_sets["property 12"]) == 1
    for wrong in (blank, text.replace("CQUAD4,12,5", "CQUAD4,12,77")):
        lost = read(tmp_path, wrong, loud=False)
        number = 77 if "77" in wrong else 12
        assert [u.keyword for u in lost.unread] == ["CQUAD4"]
        assert f"property {number} is no PSHELL" in lost.unread[0].text
        with pytest.raises(MeshError, match="CQUAD4, line 32"):
            fem.Model(lost).require_obeyed()
    assert "property 12" not in read(tmp_path, blank, loud=False).cell_sets
    beams = bar(tmp_path, card="CBAR,{},,{},{},0.,1.,0.\n", section="".join(SECTIONS["PBAR"][1].replace("PBAR,5", f"PBAR,{k}") for k in range(1, 5)))  # fmt: skip
    assert fem.Model(beams).mass == pytest.approx(10 * 0.08 * 7.85e-9, rel=1e-9)


@pytest.mark.parametrize(
    ("dofs", "read_"),
    [("123", True), ("456", True), ("123456", True), ("12346", False), ("1235", False), ("135", False)],
)
@pytest.mark.parametrize(
    "card", ["RBE2,80,5,{},90,10", "RBE3,80,,90,{},1.,123,1,5", "RBAR,80,5,90,123456,,,{}", "RBAR,80,90,5,,123456,{}"]
)
def test_rigid_elements_with_some_components_of_turned_nodes_are_refused(card, dofs, read_, tmp_path):
    """All three of a translation or rotation are the same in any axes; without axes of the node, any are read."""
    turned = "CORD2R,3,,0.,0.,0.,1.,0.,0.,+\n+,0.,1.,0.\nGRID,90,,1.2,.3,.1,3\n"
    mass = "CONM2,81,90,,1.-4\n"
    mesh = plate(tmp_path, turned + card.format(dofs) + "\n" + mass, loud=False)
    assert [u.keyword for u in mesh.unread if "turned" in u.text] == ([] if read_ else [card.partition(",")[0]])
    assert len(mesh.constraints) == read_
    (link,) = plate(tmp_path, "GRID,90,,1.2,.3,.1\n" + card.format(dofs) + "\n" + mass, loud=False).constraints
    assert link.components == tuple(int(d) - 1 for d in dofs)


@pytest.mark.parametrize("given", ["", "0", "123456"])
def test_a_bar_that_is_rigid_without_dependent_components_has_all(given, tmp_path):
    (link,) = plate(tmp_path, f"GRID,90,,1.2,.3,.1\nRBAR,80,90,5,123456,,,{given}\n").constraints
    assert link.components == (0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize("independent", ["123456,6", "1235,46", ",12345", ","])
def test_bars_that_are_rigid_have_their_independent_components_at_one_end(independent, tmp_path):
    (lost,) = plate(tmp_path, f"GRID,90,,1.2,.3,.1\nRBAR,80,90,5,{independent}\n", loud=False).unread
    assert "its independent components are not 123456 at one end" in lost.text


@pytest.mark.parametrize(
    ("card", "words"),
    [
        ("CELAS2,60,5.+3,1,3,900\nSPOINT,900\n", "scalar point 900"),
        ("CDAMP2,60,5.+3,900,,1,3\nSPOINT,900\n", "scalar point 900"),
        ("CELAS2,60,5.+3,1,3,2\n", "no component 0 of a node"), ("CELAS2,60,5.+3,1,3,900,1\n", "no node 900"),
        ("MPC,3,1,,1.,2,1,-1.\n", "no component 0 of a node"),
    ],
)  # fmt: skip
def test_ends_of_springs_are_not_grounded_in_silence(card, words, tmp_path):
    mesh = plate(tmp_path, card, loud=False)
    assert mesh.springs == ()
    assert mesh.constraints == ()
    assert words in mesh.unread[0].text
    assert len(plate(tmp_path, "CELAS2,60,5.+3,1,3\n").springs[0].nodes) == 1  # to the ground


def test_sets_act_where_case_control_selects_them(tmp_path):
    """Case control without SPC and MPC selects none, and a note says so; bulk data alone act."""
    plate(tmp_path)
    body = (tmp_path / "part.bdf").read_text() + "MPC,3,1,1,1.,2,1,-1.\nSPC1,4,3,16\n"
    assert len(read(tmp_path, body, supports="keep").constraints) == 2
    for control, count, notes in (
        ("METHOD = 1\n", 0, ["selects no SPC, and the sets [4] (SPC1, line 40", "selects no MPC, and the sets [3]"]),
        ("MPC = 3\n", 1, ["selects no SPC"]),
        ("SPC 4\nMPC=0\n", 1, ["selects no MPC, and the sets [3] (MPC, line 40 of part.bdf"]),
        ("SPC = 4\nMPC = 3\n", 2, []),
    ):
        mesh = read(tmp_path, "SOL 103\nCEND\n" + control + "BEGIN BULK\n" + body, supports="keep")
        assert len(mesh.constraints) == count
        found = [note for note in mesh.warnings if "case control" in note]
        assert len(found) == len(notes)
        assert all(words in note for words, note in zip(notes, found, strict=True))


TWICE = {
    "property 5 of shells": "PSHELL,5,1,.06,1,,1\n", "material 1": "MAT1,1,2.1+5,,.3,1.-9\n", "PARAM,WTMASS": "PARAM,WTMASS,.1\nPARAM,WTMASS,.2\n",
    "coordinate system 3": "CORD2R,3,,0.,0.,0.,0.,0.,1.,+\n+,1.,0.,0.\nCORD2R,3,,0.,0.,0.,0.,1.,0.,+\n+,1.,0.,0.\n",
    "PELAS 8": "PELAS,8,7.+2,,,9,1.\nPELAS,8,7.+3\n", "PBUSH 9": "PBUSH,9,K,3.+3\nPBUSH,9,K,4.+3\n", "SPCADD 9": "SPCADD,9,1,2\nSPCADD,9,1,3\n",
    "GRDSET": "GRDSET,,,,,,,456\nGRDSET,,,,,,,6\n",
    "CQUAD4 3": "CQUAD4,3,5,1,2,7,6\n", "CONM2 7": "CONM2,7,1,,1.-4\nCONM2,7,1,,1.-4\n",
    "CONROD 12": "CONROD,12,1,2,1,.1\nCONROD,12,1,2,1,.1\n",
}  # fmt: skip


@pytest.mark.parametrize("what", TWICE)
def test_cards_that_are_given_twice_are_refused(what, tmp_path):
    with pytest.raises(MeshError, match=rf"part.bdf, line \d+: {what} is given twice"):
        plate(tmp_path, TWICE[what])


def test_elements_of_different_cards_may_have_one_number(tmp_path):
    """Nastran looks for duplicates among the elements of one card."""
    mesh = plate(tmp_path, "CTRIA3,3,5,1,2,3\nCONROD,12,1,2,1,.1\nCONROD,13,1,2,1,.1\n", loud=False)
    assert mesh.unread == ()
    assert [len(block.connectivity) for block in mesh.cells] == [12, 1, 2]
    (note,) = [text for text in mesh.warnings if "different card" in text]
    assert note.startswith("2 elements have the number of another one")
    assert "CQUAD4 3, line 23 of part.bdf, and CTRIA3, line 35" in note


def test_cards_may_be_repeated(tmp_path):
    mesh = plate(tmp_path, "PSHELL,5,1,0.05,1,,1,,\n" + MAT + "PELAS,8,7.+2,,,9,1.\nPELAS,8,700.\n")
    assert mesh.unread == ()


def test_fabrics_have_the_axes_of_their_elements(tmp_path):
    """Moduli that are equal leave the shear of a MAT8 on its own: at 45 degrees its fibres carry it."""
    fabric = "MAT8,2,7.+4,7.+4,.05,4.+3,3.+3,3.+3,1.6-9\n"
    made = fem.Material.orthotropic((7e4, 7e4, 7e4), (0.05, 0, 0), (4e3, 3e3, 3e3), 1.6e-9)
    for angle, x in (("0.", (1, 0, 0)), ("45.", (1, 1, 0))):
        model = fem.Model(plate(tmp_path, fabric, "PSHELL,5,2,.05,2,,2\n", f",{angle}"))
        same = fem.Model(PLATE, fem.Shell(made, 0.05, x_axis=x))
        np.testing.assert_allclose(values(model)[6:12], values(same)[6:12], rtol=1e-6)

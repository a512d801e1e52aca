"""Sections of beams and shells and rigid links of Abaqus decks, against closed forms and the same part said in another way."""

import warnings

import numpy as np
import pytest

import fem
from fem.errors import MeshError, MeshWarning

ROD = "*NODE\n1, 0., 0., 0.\n2, 1., 0., 0.\n*ELEMENT, TYPE=B31, ELSET=E\n1, 1, 2\n"
STEEL = "*MATERIAL, NAME=M\n*ELASTIC\n2.1e11, 0.3\n*DENSITY\n7850.\n"


def read(folder, text, **options):
    (folder / "part.inp").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        return fem.read_mesh(folder / "part.inp", **options)


def section_of(folder, kind, sizes):
    """The model of a rod along x with its first axis along y, and its beam."""
    text = ROD + f"*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION={kind}\n{sizes}\n0., 1., 0.\n" + STEEL
    mesh = read(folder, text)
    assert mesh.unread == ()
    model = fem.Model(mesh)
    return model, model.materials[0]


def moments(rectangles):
    """Area, centroid and moments about it of rectangles (y, z, width along y, width along z) by the parallel axes."""
    y, z, b, h = np.array(rectangles).T
    A = b * h
    cy, cz = A @ y / A.sum(), A @ z / A.sum()
    Iy = (A * h**2 / 12 + A * (z - cz) ** 2).sum()
    Iz = (A * b**2 / 12 + A * (y - cy) ** 2).sum()
    return A.sum(), (cy, cz), Iy, Iz


def test_an_i_has_its_flanges_web_and_place(tmp_path):
    """The node is 0.02 above the foot; the centroid of the unequal flanges lies beside it."""
    model, beam = section_of(tmp_path, "I", ".02, .10, .06, .04, .008, .006, .005")
    parts = [(0, 0.004 - 0.02, 0.06, 0.008), (0, 0.097 - 0.02, 0.04, 0.006), (0, 0.008 + 0.043 - 0.02, 0.005, 0.086)]
    A, centre, Iy, Iz = moments(parts)
    assert beam.section.area == pytest.approx(A, rel=1e-9)
    assert (beam.section.Iy, beam.section.Iz) == pytest.approx((Iy, Iz), rel=1e-6)
    np.testing.assert_allclose(beam.offset, centre, atol=1e-9)
    np.testing.assert_allclose(model.centre_of_mass, (0.5, *centre), atol=1e-9)
    thin = sum(long * wall**3 / 3 for long, wall in ((0.06, 0.008), (0.04, 0.006), (0.093, 0.005)))
    assert abs(beam.section.J / thin - 1) < 0.06  # the joints and ends of walls of this thickness


def test_an_i_without_a_flange_is_a_t(tmp_path):
    _, beam = section_of(tmp_path, "I", "0., .10, 0., .04, 0., .006, .005")
    A, centre, Iy, Iz = moments([(0, 0.097, 0.04, 0.006), (0, 0.047, 0.005, 0.094)])
    assert (beam.section.area, beam.section.Iy, beam.section.Iz) == pytest.approx((A, Iy, Iz), rel=1e-6)
    np.testing.assert_allclose(beam.offset, centre, atol=1e-9)


def test_a_box_may_have_two_walls(tmp_path):
    """The first and the third wall are across the first axis, y; torsion by Bredt."""
    _, beam = section_of(tmp_path, "BOX", ".04, .06, .002, .003, .002, .003")
    A, _, Iy, Iz = moments([(0.019, 0, 0.002, 0.06), (-0.019, 0, 0.002, 0.06), (0, 0.0285, 0.036, 0.003), (0, -0.0285, 0.036, 0.003)])  # fmt: skip
    assert (beam.section.area, beam.section.Iy, beam.section.Iz) == pytest.approx((A, Iy, Iz), rel=1e-6)
    assert beam.offset == (0.0, 0.0)
    for share, error in ((1.0, 0.03), (0.25, 0.0075)):  # corners make a share of wall over width
        t, s = 0.002 * share, 0.003 * share
        _, beam = section_of(tmp_path, "BOX", f".04, .06, {t}, {s}, {t}, {s}")
        bredt = 4 * ((0.04 - t) * (0.06 - s)) ** 2 / (2 * (0.06 - s) / t + 2 * (0.04 - t) / s)
        assert 0 < beam.section.J / bredt - 1 < error


def test_products_of_inertia_bend_aside(tmp_path):
    """A cantilever under a force: E [[I22, I12], [I12, I11]] and the shear of k = 1."""
    A, I11, I12, I22 = 2e-4, 6e-9, 1e-9, 2e-9
    text = (
        ROD
        + f"*BEAM GENERAL SECTION, ELSET=E, SECTION=GENERAL\n{A}, {I11}, {I12}, {I22}, 3e-9\n0., 1., 0.\n2e11, 5e10\n"
    )
    model = fem.Model(read(tmp_path, text))
    moved = [
        fem.solve_static(model, fem.point_force(model, [1], np.eye(3)[k]), supports=[0]).displacements[1, 1:3]
        for k in (1, 2)
    ]
    expected = np.linalg.inv([[I22, I12], [I12, I11]]) / (3 * 2e11) + np.eye(2) / (5e10 * A)
    np.testing.assert_allclose(moved, expected, rtol=1e-9)


TWO = (
    "*NODE\n1, 0., 0., 0.\n2, 1., 0., 0.\n3, 1.2, .1, .3\n4, 2.2, .1, .3\n*ELEMENT, TYPE=B31, ELSET=E\n1, 1, 2\n2, 3, 4\n"
    "*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT\n.02, .01\n0., 1., 0.\n" + STEEL
)


def test_a_beam_of_mpc_is_a_rigid_link(tmp_path):
    """As of *RIGID BODY of two nodes; sets pair their nodes, and one node may lead several."""
    link = read(tmp_path, TWO + "*MPC\nBEAM, 3, 2\n")
    assert "BEAM is a rigid link, as in Abaqus" in " ".join(link.warnings)
    ((one,),) = [link.constraints]
    assert (one.nodes.tolist(), one.reference) == ([2], 1)
    model = fem.Model(link)
    rigid = fem.Model(read(tmp_path, TWO)).with_constraints(fem.RigidLink([2], reference=1))
    np.testing.assert_allclose(model.K.toarray(), rigid.K.toarray(), rtol=1e-12)
    body = fem.Model(read(tmp_path, TWO + "*NSET, NSET=S\n3\n*RIGID BODY, NSET=S, REF NODE=2\n"))
    assert abs(model.K - body.K).max() < 1e-9 * abs(body.K).max()
    sets = read(tmp_path, TWO + "*NSET, NSET=S\n3, 4\n*MPC\nBEAM, S, 2\n")
    assert [(c.nodes.tolist(), c.reference) for c in sets.constraints] == [([2], 1), ([3], 1)]


def test_a_beam_of_mpc_keeps_a_distance_in_calculix(tmp_path):
    (found,) = read(tmp_path, TWO + "*MPC\nBEAM, 3, 2\n", elements="file").constraints
    (link,) = read(tmp_path, TWO + "*MPC\nLINK, 3, 2\n").constraints
    assert isinstance(found, fem.Equation)
    np.testing.assert_array_equal(found.coefficients, link.coefficients)


SHELL = (
    "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 1, 1, 0\n4, 0, 1, 0\n*ELEMENT, TYPE=S4, ELSET=E\n1, 1, 2, 3, 4\n"
    "*ORIENTATION, NAME=O\n1., 1., 0., -1., 1., 0.\n" + STEEL
)


@pytest.mark.parametrize(
    "section", ["MATERIAL=M, OFFSET=0.1\n.01\n", "COMPOSITE, ORIENTATION=O\n.01, 3, M, 0.\n.02, 3, M, 90.\n"]
)
def test_general_sections_of_shells_with_a_material_are_sections(section, tmp_path):
    """Abaqus integrates them before the analysis, without points of integration in layers."""
    plain = fem.Model(read(tmp_path, SHELL + "*SHELL SECTION, ELSET=E, " + section))
    mesh = read(tmp_path, SHELL + "*SHELL GENERAL SECTION, ELSET=E, " + section.replace(", 3,", ",,"))
    assert mesh.unread == ()
    assert abs(fem.Model(mesh).K - plain.K).max() == 0


def test_general_sections_of_shells_by_constants_are_named(tmp_path):
    with pytest.raises(MeshError, match="a stiffness of its own"):
        read(tmp_path, SHELL + "*SHELL GENERAL SECTION, ELSET=E, DENSITY=78.5\n1., .3, 1., 0., 0., .35\n")


@pytest.mark.parametrize("kind", ["B31", "B31H", "PIPE31", "B33", "B33H"])
def test_beams_of_abaqus_have_their_theory(kind, tmp_path):
    """P L^3 / 3 E I, and P L / k G A with shear; those of one section may be of both theories."""
    text = ROD.replace("B31", kind).replace("2, 1., 0., 0.", "2, .2, 0., 0.\n3, .2, .2, 0.")
    text += "*ELEMENT, TYPE=B31, ELSET=E\n2, 2, 3\n*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=PIPE\n.03, .005\n0., 0., 1.\n"
    mesh = read(tmp_path, text + STEEL)
    assert mesh.unread == ()
    part = fem.Model(mesh)
    tip = fem.solve_static(part, fem.point_force(part, [1], (0, 0, 1e3)), [[0]]).displacements[1, 2]
    pipe = fem.Section.tube(0.06, 0.05)
    shear = 0.0 if kind.startswith("B33") else 0.2 / (pipe.shear_y * 2.1e11 / 2.6 * pipe.area)
    assert tip == pytest.approx(1e3 * (0.2**3 / (3 * 2.1e11 * pipe.Iy) + shear), rel=1e-9)
    theories = {"timoshenko"} | ({"euler-bernoulli"} if kind.startswith("B33") else set())
    assert {beam.theory for beam in part.materials} == theories


def test_beams_of_two_theories_in_instances(tmp_path):
    """Elements keep their type where the reader numbers them anew."""
    part = ROD.replace("B31", "B33") + "*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT\n.1, .2\n0., 1., 0.\n"
    text = f"*PART, NAME=P\n{part}*END PART\n*PART, NAME=Q\n{part.replace('B33', 'B31')}*END PART\n*ASSEMBLY, NAME=A\n"
    text += "*INSTANCE, NAME=a, PART=P\n*END INSTANCE\n*INSTANCE, NAME=b, PART=Q\n0., 1., 0.\n*END INSTANCE\n*END ASSEMBLY\n"
    model = fem.Model(read(tmp_path, text + STEEL))
    assert [m.theory for m in model.materials] == ["euler-bernoulli", "timoshenko"]


def test_beams_that_calculix_does_not_know_are_named_there(tmp_path):
    text = ROD.replace("B31", "B33") + "*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT\n.1, .2\n0., 1., 0.\n" + STEEL
    with pytest.raises(MeshError, match=r"TYPE=B33.*does not know this element type"):
        read(tmp_path, text, expand=True)


@pytest.mark.parametrize("options", ["temperature=GRADIENTS", "poisson=0.3, temperature=VALUES"])
def test_beam_sections_as_abaqus_cae_writes_them(options, tmp_path):
    """What counts with temperatures and large strains only changes nothing."""
    text = ROD + f"*Beam Section, elset=E, material=M, {options}, section=RECT\n.1, .2\n0., 1., 0.\n" + STEEL
    mesh = read(tmp_path, text)
    assert mesh.unread == ()
    (beam,) = fem.Model(mesh).materials
    assert beam.section == fem.Section.rectangle(0.1, 0.2)

"""Nodal forces against resultants, moments and work in closed form."""

from dataclasses import replace

import numpy as np
import pytest

import fem
from fem.elements import ELEMENTS
from fem.errors import MatrixError, MeshError
from fem.loads import gravity, line_load, point_force, pressure
from fem.material import Material
from fem.mesh.structured_meshes import block, line, sheet
from fem.model import Model

MATERIAL = Material.isotropic(200.0, 0.3, 2.0)
SIZE = np.array([1.0, 1.2, 0.8])


def part(kind):
    return Model(block(kind, tuple(SIZE), (2, 2, 2)), MATERIAL)


@pytest.mark.parametrize("kind", ELEMENTS)
def test_gravity_has_the_weight_and_its_moment(kind):
    model = part(kind)
    g = np.array([0.3, -9.81, 2.0])
    wrench = model.rigid_body_modes().T @ gravity(model, g)
    weight = 2.0 * SIZE.prod() * g
    np.testing.assert_allclose(wrench, [*weight, *np.cross(SIZE / 2, weight)], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("side", ["x0", "x1", "y0", "y1", "z0", "z1"])
def test_pressure_pushes_inwards_and_works_on_linear_fields(kind, side):
    """Its work in the field u = G x is -p n . G (int x dA), exactly."""
    model = part(kind)
    axis, end = "xyz".index(side[0]), int(side[1])
    normal = np.zeros(3)
    normal[axis] = 2 * end - 1
    centre = SIZE / 2
    centre[axis] = SIZE[axis] * end
    area = SIZE.prod() / SIZE[axis]
    f = pressure(model, side, 3.0)
    np.testing.assert_allclose(f.reshape(-1, 3).sum(axis=0), -3.0 * area * normal, atol=1e-12)
    G = np.random.default_rng(0).normal(size=(3, 3))
    assert (model.points @ G.T).ravel() @ f == pytest.approx(-3.0 * area * normal @ G @ centre, rel=1e-11)


def test_pressure_acts_on_the_faces_of_every_block_of_a_mesh():
    """The cells of a box are in one block, or in four of two cells each."""
    model = part("hexahedron")
    (cells,) = model.mesh.cells
    blocks = tuple(fem.CellBlock("hexahedron", own) for own in np.split(cells.connectivity, 4))
    apart = Model(replace(model.mesh, cells=blocks), MATERIAL)
    for side in ("x1", "y0", "z1"):
        np.testing.assert_allclose(pressure(apart, side, 3.0), pressure(model, side, 3.0), atol=1e-15)


@pytest.mark.parametrize("kind", ["tetra10", "hexahedron20", "wedge15", "pyramid13"])
def test_pressure_works_on_quadratic_fields(kind):
    """u_x = x y^2 on the side x = 1 of a box: work -p int y^2 dA."""
    model = part(kind)
    u = np.zeros_like(model.points)
    u[:, 0] = model.points[:, 0] * model.points[:, 1] ** 2
    assert u.ravel() @ pressure(model, "x1", 5.0) == pytest.approx(-5.0 * SIZE[1] ** 3 / 3 * SIZE[2], rel=1e-12)


@pytest.mark.parametrize("kind", ELEMENTS)
def test_a_closed_skin_under_pressure_is_in_balance_curved_or_not(kind):
    model = part(kind)
    moved = model.points + 0.03 * np.random.default_rng(2).normal(size=model.points.shape) * SIZE / 4
    model = Model(replace(model.mesh, points=moved), MATERIAL)
    wrench = model.rigid_body_modes().T @ pressure(model, model.mesh.boundary_faces, 1.0)
    assert np.abs(wrench).max() < 1e-13 * len(moved)


def beams_of(kind):
    """A line load works on the line of the centroids, or of the nodes of a table."""
    if kind == "truss":
        return fem.Truss(MATERIAL, 0.02)
    section = replace(fem.Section.rectangle(0.1, 0.2), angle=20.0, shear_centre=(0.03, -0.01), warping=1e-6)
    if kind == "table":
        return fem.BeamTable.of_sections(MATERIAL, [0, 2.5], [section, section], (0, 0, 1), along=(3, 4, 0))
    torsion = "vlasov" if kind == "vlasov" else "saint-venant"
    offset = (0.05, -0.02) if kind == "offset" else (0.0, 0.0)
    return fem.Beam(MATERIAL, section, (0, 0, 1), offset, "timoshenko", torsion)


@pytest.mark.parametrize("kind", ["beam", "offset", "vlasov", "table", "truss"])
def test_a_line_load_is_the_weight_of_that_mass_per_length(kind):
    model = Model(line((0, 0, 0), (0.9, 1.2, 0), 3, kind="truss" if kind == "truss" else "line"), beams_of(kind))
    g = np.array([0.3, -9.81, 2.0])
    found = line_load(model, "all", 2.0 * 0.02 * g)
    expected = gravity(model, g)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose((model.rigid_body_modes().T @ found)[:3], 0.06 * g, rtol=1e-12)


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
def test_a_uniform_load_bends_a_cantilever_as_in_textbooks(theory):
    """w L^4 / 8 E I, and w L^2 / 2 k G A with shear, whatever the number of cells."""
    beam = fem.Beam(MATERIAL, fem.Section.rectangle(0.1, 0.2), theory=theory)
    model = Model(line((0, 0, 0), (2, 0, 0), 3), beam)
    tip = fem.solve_static(model, line_load(model, "all", (0, 0, -0.01)), "start").displacements[-1, 2]
    shear = 0.01 * 2**2 / (2 * 5 / 6 * 200 / 2.6 * 0.02) if theory == "timoshenko" else 0.0
    assert tip == pytest.approx(-0.01 * 2**4 / (8 * 200 * 0.1 * 0.2**3 / 12) - shear, rel=1e-9)


def test_line_loads_on_other_cells_are_refused():
    with pytest.raises(MeshError, match="hexahedron cells; a line load acts on beams"):
        line_load(part("hexahedron"), "all", (0, 0, 1))
    model = Model(line((0, 0, 0), (1, 0, 0), 2), beams_of("beam"))
    with pytest.raises(MeshError, match="no cell set named 'deck'"):
        line_load(model, "deck", (0, 0, 1))
    with pytest.raises(MatrixError, match="with 3 components"):
        line_load(model, "all", 5.0)
    with pytest.raises(MeshError, match=r"line cells; a pressure acts on faces or shells, and fem\.line_load on beams"):
        pressure(model, "all", 1.0)
    with pytest.raises(MeshError, match="quad cells; a line load"):
        line_load(Model(sheet("quad", (1, 1), (1, 1)), fem.Shell(MATERIAL, 0.1)), "all", (0, 0, 1))


def test_point_forces_add_up():
    model = part("tetra10")
    f = point_force(model, "x1", [1.0, 2.0, 3.0]).reshape(-1, 3)
    np.testing.assert_allclose(f.sum(axis=0), [1, 2, 3], rtol=1e-13)
    assert not f[model.points[:, 0] < 0.99].any()
    f = point_force(model, [4, 1, 4], [[1.0, 0, 0], [0, 2.0, 0], [3.0, 0, 0]]).reshape(-1, 3)
    assert f[4].tolist() == [4, 0, 0]
    assert f[1].tolist() == [0, 2, 0]
    assert point_force(model, 7, (0, 0, 1.0))[3 * 7 + 2] == 1.0


BAD = {
    "face set": (lambda m: pressure(m, "x2", 1.0), MeshError, "no face set named 'x2'"),
    "face number": (lambda m: pressure(m, np.array([[0, 9]]), 1.0), MeshError, "cell 0, a tetra, has no face 9"),
    "cell number": (lambda m: pressure(m, np.array([[99, 0]]), 1.0), MeshError, "there is no cell 99"),
    "node": (lambda m: point_force(m, [99], (0, 0, 1)), MatrixError, "Nodes run from 0 to 26"),
    "forces": (lambda m: point_force(m, "x1", np.ones((9, 3))), MatrixError, "has shape"),
    "gravity": (lambda m: gravity(m, [1.0, 2.0]), MatrixError, "3 components"),
    "text": (lambda m: gravity(m, "down"), MatrixError, "must be numbers"),
    "no mesh": (
        lambda m: pressure(Model.from_matrices(m.M, m.K, m.points), "x1", 1.0),
        MeshError,
        "made from matrices and has no mesh",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_loads_are_refused(case):
    make, kind, words = BAD[case]
    with pytest.raises(kind, match=words):
        make(part("tetra"))

"""Shapes of rigid bodies: mass, centre and inertia of closed surfaces, by closed forms and by the finite element mass
matrix; surfaces that enclose nothing are refused; files, model files and pictures hold the shape."""

from dataclasses import replace

import meshio
import numpy as np
import pytest

import fem
import flexmb
from fem.errors import MatrixError, MeshError
from fem.mesh.raw_mesh import RawMesh
from flexmb import solids
from flexmb.bodies.shape import Shape
from flexmb.drawn.surface import body_surface
from flexmb.files import export_vtk, load_body, load_model, save_body

TURN = (0.3, -0.5, 0.2)


def open_box():
    shape = solids.box((1.0, 2.0, 3.0), (0.5, 0.0, 0.0))
    return Shape(shape.points, shape.triangles[1:])


def test_a_box_and_its_turned_copy_have_the_inertia_of_a_box():
    edges, centre, density = np.array([0.4, 0.2, 0.1]), np.array([3.0, -2.0, 1.0]), 7800.0
    R = flexmb.lie.rotation_exp(np.array(TURN))
    body = flexmb.rigid_body("block", mesh=solids.box(edges).moved(centre, TURN), density=density)
    mass = density * edges.prod()
    about = mass / 12 * np.diag((edges**2).sum() - edges**2)
    inv = body.invariants
    assert inv.mass == pytest.approx(mass, rel=1e-12)
    np.testing.assert_allclose(body.centre, centre, rtol=1e-12)
    central = inv.J0 - mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    np.testing.assert_allclose(central, R @ about @ R.T, atol=1e-10 * about.max() + 1e-13 * mass * centre @ centre)


@pytest.mark.parametrize(
    ("shape", "volume", "moments"),
    [
        (solids.sphere(2.0), 4 / 3 * np.pi * 8, [1.6] * 3),
        (solids.cylinder((0, 0, -1.5), (0, 0, 1.5), 2.0), np.pi * 12, [1.75, 1.75, 2.0]),
        (solids.cylinder((0, 0, -1.5), (0, 0, 1.5), 2.0, inner=1.0), np.pi * 9, [2.0, 2.0, 2.5]),
    ],
)
def test_round_solids_have_their_own_integrals_and_those_of_their_triangles_are_near(shape, volume, moments):
    """Moments per mass: 2/5 r^2 of a sphere; (R^2 + r^2)/2 and (3 (R^2 + r^2) + h^2)/12 of a cylinder."""
    there = shape.moved((1.0, 2.0, 3.0), TURN).scaled(0.1)
    inside = there.integrals()
    assert inside.volume == pytest.approx(1e-3 * volume, rel=1e-12)
    np.testing.assert_allclose(inside.centre, [0.1, 0.2, 0.3], rtol=1e-12)
    R = flexmb.lie.rotation_exp(np.array(TURN))
    np.testing.assert_allclose(inside.inertia, 1e-5 * volume * R @ np.diag(moments) @ R.T, rtol=1e-10, atol=1e-15)
    drawn = replace(there, exact=None).integrals()
    assert 0.98 < drawn.volume / inside.volume < 1
    assert np.abs(drawn.inertia - inside.inertia).max() < 0.02 * np.abs(inside.inertia).max()


def test_the_skin_of_a_mesh_has_the_mass_of_its_elements():
    mesh = fem.structured_meshes.block("tetra10", (0.3, 0.2, 0.1), (2, 2, 1))
    mesh = replace(mesh, points=mesh.points + 0.2 * mesh.points[:, [1, 2, 0]])  # sheared
    model = fem.Model(mesh, fem.Material.steel())
    body = flexmb.rigid_body("block", mesh=mesh, density=model.elements.materials[0].density)
    assert body.invariants.mass == pytest.approx(model.mass, rel=1e-10)
    np.testing.assert_allclose(body.centre, model.centre_of_mass, rtol=1e-10)
    np.testing.assert_allclose(body.invariants.J0, model.inertia((0, 0, 0)), rtol=1e-9)


def test_a_cavity_is_subtracted_and_parts_together_add():
    outer, hole = solids.box((2.0, 2.0, 2.0)), solids.box((1.0, 1.0, 1.0), (0.2, 0, 0))
    hollow = solids.together(outer, Shape(hole.points, hole.triangles[:, ::-1]))
    assert hollow.integrals().volume == pytest.approx(7.0)
    np.testing.assert_allclose(hollow.integrals().centre, [-0.2 / 7, 0, 0], atol=1e-14)
    ball = solids.sphere(1.0, (5.0, 0, 0))
    both = solids.together(outer, ball).integrals()
    assert both.volume == pytest.approx(8 + 4 / 3 * np.pi)
    assert both.centre[0] == pytest.approx(5 * 4 / 3 * np.pi / both.volume)


def flipped(shape, rows=slice(None)):
    triangles = shape.triangles.copy()
    triangles[rows] = triangles[rows, ::-1]
    return Shape(shape.points, triangles)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (open_box(), r"'part' is open: 3 of its edges border a hole, as at .*Close the holes"),
        (flipped(solids.box((1, 1, 1))), r"'part' is inside out: the volume inside is -1, expected a positive.*flip"),
        (flipped(solids.box((1, 1, 1)), slice(0, 2)), r"'part' face different sides.*Make the normals consistent"),
        (solids.together(solids.box((3, 3, 3)), flipped(solids.box((1, 1, 1), (9, 0, 0)))), "no cavity of another"),
        (Shape([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [2, 1, 0]]), "encloses no volume"),
    ],
)
def test_surfaces_of_no_solid_are_refused(shape, words):
    with pytest.raises(MeshError, match=words):
        flexmb.rigid_body("part", mesh=shape, density=1.0)
    drawn = flexmb.rigid_body("part", mesh=shape, mass=1.0, inertia=(1, 1, 1))  # for pictures only
    np.testing.assert_array_equal(drawn.shape.triangles, shape.triangles)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"density": 1.0}, "found no mesh"),
        ({"density": 1.0, "mesh": solids.box((1, 1, 1)), "mass": 2.0}, "found mass beside it"),
        ({"density": -1.0, "mesh": solids.box((1, 1, 1))}, "density should be above zero; found -1"),
        ({"mesh": solids.box((1, 1, 1))}, "mass is missing"),
        ({"mass": 1.0}, "inertia is missing"),
    ],
)
def test_mass_comes_from_one_source(given, words):
    with pytest.raises(MatrixError, match=words):
        flexmb.rigid_body("part", **given)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: solids.box((1, 0, 1)), "needs edges above zero"),
        (lambda: solids.box((1, 1)), "3 finite numbers"),
        (lambda: solids.cylinder((0, 0, 0), (0, 0, 0), 1.0), "needs length above zero"),
        (lambda: solids.cylinder((0, 0, 0), (1, 0, 0), 1.0, 1.0), "from 0 to that of the cylinder"),
        (lambda: solids.prism([(0, 0), (0, 1), (1, 0)], 0, 1), "convex and counter-clockwise"),
        (lambda: solids.prism([(0, 0), (2, 0), (2, 2), (1, 0.5)], 0, 1), "convex and counter-clockwise"),
        (lambda: solids.together(), "at least one shape"),
        (lambda: solids.box((1, 1, 1)).scaled(0.0), "positive number; found 0"),
        (lambda: solids.shape_of(3, "part"), "found int"),
        (lambda: solids.shape_of(fem.structured_meshes.line((0, 0, 0), (1, 0, 0), 2)), "lines have no surface"),
        (lambda: solids.shape_of("there is none.stl"), "There is no mesh file"),
        (lambda: Shape([[0, 0, 0]], [[0, 0, 1]]), "refers to point 1, but points run from 0 to 0"),
    ],
)
def test_shapes_that_cannot_be_are_refused(make, words):
    with pytest.raises(MeshError, match=words):
        make()


@pytest.mark.parametrize("ending", ["stl", "ply", "obj", "vtk", "vtu", "off"])
def test_shapes_are_read_from_files(tmp_path, ending):
    shape = solids.box((0.4, 0.2, 0.1), (1.0, 0.0, 0.0))
    path = tmp_path / f"block.{ending}"
    meshio.write(path, meshio.Mesh(shape.points, [("triangle", shape.triangles)]))
    body = flexmb.rigid_body("block", mesh=path, density=1000.0)
    assert body.invariants.mass == pytest.approx(8.0, rel=1e-6)
    np.testing.assert_allclose(body.centre, [1.0, 0, 0], atol=1e-6)


def test_files_of_solid_cells_give_their_skin_and_others_are_told(tmp_path, monkeypatch):
    mesh = fem.structured_meshes.block("hexahedron", (0.4, 0.2, 0.1), (2, 2, 2))
    path = fem.write_mesh(mesh, tmp_path / "block.vtu")
    assert flexmb.rigid_body("block", mesh=path, density=1.0).invariants.mass == pytest.approx(0.008)
    meshio.write(tmp_path / "line.vtk", meshio.Mesh([[0, 0, 0], [1, 0, 0]], [("line", np.array([[0, 1]]))]))
    with pytest.raises(MeshError, match=r"holds no surface that flexmb knows .*1 line\. Write triangles"):
        solids.shape_of(tmp_path / "line.vtk")
    box = solids.box((0.4, 0.2, 0.1))
    blocks = ("tetra", np.zeros((0, 4), dtype=int)), ("triangle", box.triangles)  # as of a set without elements
    monkeypatch.setattr("flexmb.bodies.solids.read_raw", lambda path: RawMesh(box.points, np.arange(8), blocks, {}))
    assert len(solids.shape_of("box.msh").triangles) == 12


def test_shapes_are_saved_and_drawn(tmp_path):
    shape = solids.cylinder((0, 0, 0), (0.3, 0, 0), 0.05)
    body = flexmb.rigid_body("shaft", mesh=shape, density=7800.0, points={"end": (0.3, 0, 0)})
    kept = load_body(save_body(body, tmp_path / "shaft.h5"))
    np.testing.assert_array_equal(kept.shape.points, shape.points)
    np.testing.assert_array_equal(kept.shape.triangles, shape.triangles)
    surface = body_surface(kept)
    assert np.abs(np.linalg.norm(surface.points[:, 1:], axis=1).max() - 0.05) < 1e-15
    system = flexmb.System(gravity=(0, 0, -9.81), name="falling")
    system.add(body, position=(0, 0, 1.0))
    result = flexmb.simulate(system, 0.1, step=0.01)
    motion = export_vtk(result, tmp_path / "vtk", every=100)
    drawn = meshio.read(motion.parent / "body0_000000.vtu")
    np.testing.assert_allclose(drawn.points, shape.points + np.array([0, 0, 1.0]), atol=1e-6)
    np.testing.assert_array_equal(drawn.cells_dict["triangle"], shape.triangles)


MODEL = """
gravity = [0, 0, -9.81]
simulation = { duration = 0.1, step = 0.01 }
[bodies.crank]
kind = "rigid"
points = { pin = [0.1, 0, 0] }
"""


def test_model_files_hold_shapes(tmp_path):
    path = tmp_path / "crank.toml"
    block = solids.box((400.0, 200.0, 100.0))
    meshio.write(tmp_path / "block.stl", meshio.Mesh(block.points, [("triangle", block.triangles)]))
    ball = 8 / 3 * np.pi
    for keys, mass, centre in (
        ('mesh = { file = "block.stl", scale = 0.001 }\ndensity = 1000.0', 8.0, (0, 0, 0)),
        ('mesh = { file = "block.stl" }\ndensity = 1e-6', 8.0, (0, 0, 0)),
        ('mesh = "block.stl"\ndensity = 1e-6', 8.0, (0, 0, 0)),
        ("mesh = [{ box = [1, 2, 3] }, { sphere = 1, centre = [5, 0, 0] }]\ndensity = 2.0", 12 + ball, (5 * ball / (12 + ball), 0, 0)),
        ("mesh = { box = [1, 2, 3], centre = [0, 4, 0] }\ndensity = 2.0", 12.0, (0, 4, 0)),
        ("mesh = { sphere = 1 }\ndensity = 2.0", ball, (0, 0, 0)),
        ("mesh = { cylinder = 0.1, start = [0, 0, 0], end = [1, 0, 0], inner = 0.05 }\ndensity = 1.0", 0.0075 * np.pi, (0.5, 0, 0)),
        ("mesh = { cylinder = 0.1, start = [0, 0, 0], end = [0, 0, 1] }\ndensity = 1.0", 0.01 * np.pi, (0, 0, 0.5)),
        ("mesh = { box = [1, 1, 1], centre = [2, 0, 0] }\nmass = 3.0\ninertia = [1, 1, 1]", 3.0, (0, 0, 0)),
    ):  # fmt: skip
        path.write_text(MODEL + keys)
        body = load_model(path).system.build().bodies[0]
        assert body.invariants.mass == pytest.approx(mass, rel=1e-6)
        assert body.centre == pytest.approx(centre, abs=1e-6)
        assert body.shape is not None
    for keys, words in (
        ("mesh = { box = [1, 1, 1] }", "needs mass and inertia, or mesh"),
        ("density = 1.0", "mesh is missing"),
        ("mesh = { box = [1, 1, 1] }\ndensity = 1.0\nmass = 1.0", "remove mass, or density"),
        ("mesh = { ball = 1 }\ndensity = 1.0", "'bodies.crank.mesh': expected the path of a file, or"),
        ("mesh = { box = [1, -1, 1] }\ndensity = 1.0", r"'bodies.crank.mesh.box\[2\]'"),
        ('mesh = "none.stl"\ndensity = 1.0', "'bodies.crank': There is no mesh file"),
    ):
        path.write_text(MODEL + keys)
        with pytest.raises(flexmb.ModelFileError, match=words):
            load_model(path)


def test_a_shape_is_printed_in_a_line():
    shape = solids.box((1.0, 2.0, 3.0), (0.5, 0.0, 0.0))
    assert str(shape) == f"shape of 8 points and {len(shape.triangles)} triangles, box (0, -1, -1.5) to (1, 1, 1.5)"
    assert repr(shape) == f"<Shape: {shape}>"

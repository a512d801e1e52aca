"""Meshes divided into convex pieces, and smooth surfaces through coarse meshes."""

import sys

import numpy as np
import pytest
import scipy
from model_files import model_of
from test_contact_meshes import angle_mesh, hull_of, points

import flexmb
from fem.errors import MeshError
from flexmb import solids
from flexmb.contact import Box, Sphere, convex_pieces, mesh, power_law
from flexmb.errors import ModelFileError


def angle():
    shape = angle_mesh()
    return flexmb.Shape(shape.points, shape.triangles)


def icosahedron(parts=1):
    """A regular icosahedron with the radius one, or its faces divided and projected to the sphere."""
    g = 0.5 * (1 + np.sqrt(5))
    p = np.array([(0, s, t * g) for s in (-1, 1) for t in (-1, 1)])
    corners = np.concatenate([p, p[:, [1, 2, 0]], p[:, [2, 0, 1]]]) / np.hypot(1, g)
    found = hull_of(corners)
    if parts > 1:
        divided = np.concatenate(
            [
                (i * t[0] + j * t[1] + (parts - i - j) * t[2])[None]
                for t in found.points[found.triangles]
                for i in range(parts + 1)
                for j in range(parts + 1 - i)
            ]
        )
        found = hull_of(divided / np.linalg.norm(divided, axis=1, keepdims=True))
    return flexmb.Shape(found.points, found.triangles)


def wheel(sides):
    """A prism with a regular outline of the radius one about y."""
    a = 2 * np.pi * (np.arange(sides) + 0.5) / sides
    ring = np.column_stack([np.cos(a), np.sin(a)])
    shape = solids.prism([tuple(xy) for xy in ring], -0.5, 0.5)
    return flexmb.Shape(shape.points[:, [1, 2, 0]], shape.triangles)


def test_an_angle_becomes_two_boxes():
    pytest.importorskip("coacd")
    pieces = convex_pieces(angle())
    assert len(pieces) == 2
    assert all(piece.convex for piece in pieces)
    assert sum(piece.hull.volume for piece in pieces) == pytest.approx(3.0, rel=0.01)
    assert [piece.name for piece in pieces] == ["mesh 0", "mesh 1"]
    ends = np.array([(piece.points.min(axis=0), piece.points.max(axis=0)) for piece in pieces])
    np.testing.assert_allclose((ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)), ((0, 0, 0), (2, 2, 1)), atol=0.02)


def test_pieces_touch_what_the_mesh_does_not():
    """A box lies in the corner of the angle, on one arm: the whole mesh would refuse it, its hull would hold it up."""
    pytest.importorskip("coacd")
    law = power_law(1e6, restitution=0.1, speed=0.1)
    system = flexmb.System(gravity=(0, -9.81, 0))
    box = system.add(flexmb.rigid_body("box", mass=3.0, inertia=(0.1,) * 3), position=(1.5, 1.205, 0.5))
    held = Box(0.4, 0.4, 0.4).on(box.at((0, 0, 0)))
    parts = [piece.on(system.ground.at((0, 0, 0))) for piece in convex_pieces(angle())]
    system.contact_group("corner", [*parts, held], law=law, friction=0.5, slip_speed=0.01)
    result = flexmb.simulate(system, 0.3, method="explicit", tolerance=1e-6, output_step=0.1)
    assert result.position("box")[-1, 1] == pytest.approx(1.2, abs=2e-3)
    assert result.contact_group("corner").load[-1] == pytest.approx(3 * 9.81, rel=0.02)


def test_a_convex_mesh_is_its_own_piece():
    (piece,) = convex_pieces(solids.box((1, 2, 3)), scale=0.1)
    assert piece.hull.volume == pytest.approx(0.006)


def test_pieces_that_cannot_be_are_refused(monkeypatch):
    with pytest.raises(MeshError, match=r"concavity .* from 0.01 to 1; found 2.0"):
        convex_pieces(angle(), concavity=2.0)
    with pytest.raises(MeshError, match="at least 1; found 0"):
        convex_pieces(angle(), most=0)
    with pytest.raises(MeshError, match="is open"):
        convex_pieces(flexmb.Shape(angle().points, angle().triangles[1:]))
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(MeshError, match=r"needs the program CoACD: pip install \"flexmb\[contact\]\""):
        convex_pieces(angle())


@pytest.mark.parametrize("parts", [2, 3])
def test_patches_are_nearer_to_the_sphere_than_triangles(parts):
    flat, smooth = (mesh(icosahedron(parts), smooth=n) for n in (1, 4))
    middles = flat.points[flat.triangles].mean(axis=1)
    away = 1 - np.linalg.norm(middles, axis=1).min()
    assert np.abs(np.linalg.norm(smooth.points, axis=1) - 1).max() < away / 20


def test_rims_become_circles_and_edges_of_boxes_stay():
    drum = mesh(wheel(12), smooth=8)
    radius = np.hypot(drum.points[:, 0], drum.points[:, 2])
    wall = np.abs(drum.points[:, 1]) < 0.5 - 1e-9
    assert np.abs(radius[wall] - 1).max() < 7e-4
    assert flexmb.Shape(drum.points, drum.triangles).integrals("drum").volume == pytest.approx(np.pi, rel=1e-4)
    assert np.abs(drum.points[:, 1]).max() == pytest.approx(0.5)
    box = mesh(solids.box((1, 2, 3)), smooth=3)
    assert len(box.triangles) == 9 * 12
    assert box.convex
    assert len(box.hull.corners) == 8


def test_rounded_boxes_do_not_depend_on_the_diagonals_of_their_sides():
    """A corner has the direction of the diagonal of the cube, though up to two triangles of each side meet there."""
    cube = mesh(solids.box((1, 1, 1)), smooth=2, sharp=3.0)
    middles = cube.points[(np.abs(cube.points) > 0.25).sum(axis=1) == 2]
    assert len(middles) == 12
    np.testing.assert_allclose(np.linalg.norm(middles, axis=1), np.linalg.norm(middles[0]), rtol=1e-12)


def test_a_ball_feels_the_surface_and_not_the_edges():
    """Depth and normal at a sphere of triangles, against those of a sphere."""
    rng = np.random.default_rng(3)
    u = rng.normal(size=(100, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    for parts, depth, angle in ((1, 0.07, 0.35), (8, 3e-3, 0.06)):
        ball = mesh(icosahedron(2), smooth=parts)
        found = np.concatenate([points(ball, Sphere(0.3), 1.29 * x)[:1] for x in u])
        assert np.abs(found[:, 6] - 0.01).max() < depth
        assert np.arccos(np.clip((found[:, 3:6] * u).sum(axis=1), -1, 1)).max() < angle


@pytest.mark.long
def test_a_ball_rolls_over_a_coarse_wheel_as_over_a_cylinder():
    """Without friction, down a wheel of 24 sides: the speed follows from the height, and the force from the speed."""
    g, r, v, m, stiffness = 9.81, 0.1, 0.3, 1.0, 2e4

    def rolled(source):
        system = flexmb.System(gravity=(0, 0, -g))
        ball = flexmb.rigid_body("ball", mass=m, inertia=(0.004,) * 3)
        height = 1 + r - (m * (g - v**2 / (1 + r)) / stiffness)
        ball = system.add(ball, position=(0, 0, height), velocity=(v, 0, 0))
        law = power_law(stiffness, 1.0, restitution=0.3, speed=0.05)
        system.contact("wheel", source.on(system.ground.at((0, 0, 0))), Sphere(r).on(ball.at((0, 0, 0))), law=law)
        return flexmb.simulate(system, 0.4, step=1e-3)

    def errors(result):
        x, w = result.position("ball"), result.velocity("ball")
        angle = np.arctan2(x[:, 0], x[:, 2])
        square = v**2 + 2 * g * (1 + r) * (1 - np.cos(angle))
        force = m * (g * np.cos(angle) - square / (1 + r))
        found = result.contact("wheel").normal_force
        return np.abs((w**2).sum(axis=1) / square - 1).max(), np.abs(found / force - 1)[20:].max()

    coarse, smooth = errors(rolled(mesh(wheel(24)))), errors(rolled(mesh(wheel(24), smooth=8)))
    assert coarse[1] > 0.9  # it bounces from edge to edge
    assert smooth[0] < 0.05
    assert smooth[1] < 0.3


def test_smooth_meshes_that_cannot_be_are_refused():
    box = solids.box((1, 1, 1))
    with pytest.raises(MeshError, match="from 1 to 64 parts; found 0"):
        mesh(box, smooth=0)
    with pytest.raises(MeshError, match="between 0 and pi rad; found -1"):
        mesh(box, smooth=2, sharp=-1)
    with pytest.raises(MeshError, match="is open"):
        mesh(flexmb.Shape(box.points, box.triangles[1:]), smooth=4)
    with pytest.raises(MeshError, match="crosses itself"):
        mesh(solids.together(box, solids.box((1, 1, 1), centre=(0.5, 0.5, 0.5))), smooth=4)


MODEL = """
simulation = { duration = 0.1, step = 1e-3 }

[bodies.ball]
kind = "rigid"
mass = 1.0
inertia = [0.1, 0.1, 0.1]
position = [1.5, 1.5, 0.5]

[[contacts]]
name = "corner"
a = { place = "ground", shape = "mesh", file = "angle.stl", KEYS }
b = { place = "ball", shape = "sphere", radius = 0.1 }
law = { kind = "power-law", stiffness = 1e5 }
"""


def test_model_files_have_pieces_and_smooth_meshes(tmp_path):
    pytest.importorskip("coacd")
    shape = angle()
    corners = shape.points[shape.triangles]
    text = ["solid angle"]
    for t in corners:
        text += ["facet normal 0 0 0", "outer loop", *(f"vertex {x} {y} {z}" for x, y, z in t), "endloop", "endfacet"]
    (tmp_path / "angle.stl").write_text("\n".join([*text, "endsolid angle"]))
    made = model_of(tmp_path, MODEL.replace("KEYS", "pieces = 0.05"))
    assert [force.name for force in made.system.build().frame_forces] == ["corner 0", "corner 1"]
    made = model_of(tmp_path, MODEL.replace("KEYS", "smooth = 4"))
    (force,) = made.system.build().frame_forces
    assert force.name == "corner"
    (touching,) = force.meshes.values()
    assert len(touching.triangles) == 16 * len(shape.triangles)  # each edge in four parts
    edges = np.ptp(shape.points, axis=0)
    for keys in ("hull = true", "smooth = 2", "pieces = 0.05"):
        forces = model_of(tmp_path, MODEL.replace("KEYS", f"{keys}, scale = 0.1")).system.build().frame_forces
        points = np.concatenate([mesh.points for force in forces for mesh in force.meshes.values()])
        np.testing.assert_allclose(np.ptp(points, axis=0), 0.1 * edges, rtol=1e-3)
    with pytest.raises(ModelFileError, match="give one of these keys"):
        model_of(tmp_path, MODEL.replace("KEYS", "smooth = 4, hull = true"))
    with pytest.raises(ModelFileError, match="smooth and pieces belong to a mesh"):
        model_of(tmp_path, MODEL.replace(", KEYS", "").replace("radius = 0.1", "radius = 0.1, smooth = 2"))


def test_solids_that_are_apart_are_divided_one_by_one():
    """As one mesh, two boxes with a thin gap took CoACD more than four minutes."""
    boxes = solids.box((0.4, 0.4, 0.1)), solids.box((0.2, 0.4, 0.1), centre=(0.1, 0, 0.1001))
    pieces = convex_pieces(solids.together(*boxes))
    assert [piece.name for piece in pieces] == ["mesh 0", "mesh 1"]
    for piece, box in zip(pieces, boxes, strict=True):
        np.testing.assert_allclose(np.sort(piece.points, axis=0), np.sort(box.points, axis=0), atol=1e-12)
        assert piece.convex
    three = convex_pieces(solids.together(angle(), solids.box((1, 1, 1), centre=(5, 0, 0))))
    assert len(three) == 3
    volumes = np.array([scipy.spatial.ConvexHull(piece.points).volume for piece in three])
    assert np.abs(volumes - 1.0).min() < 1e-12
    assert volumes.sum() == pytest.approx(4.0, rel=1e-3)
    # beside a solid far away, the concavity of 0.05 of half of the whole is more than half of the angle
    two = convex_pieces(solids.together(angle(), solids.box((1, 1, 1), centre=(60, 0, 0))))
    assert [piece.name for piece in two] == ["mesh 0", "mesh 1"]
    inner = solids.box((0.5, 0.5, 0.5))
    hollow = solids.together(solids.box((1, 1, 1)), flexmb.Shape(inner.points, inner.triangles[:, ::-1]))
    assert len(convex_pieces(hollow, concavity=1.0)) >= 1  # the cavity alone would be inside out

"""Surfaces in motion: displacements and stresses of the body, normals by differences, boxes with its inertia."""

from dataclasses import replace

import meshio
import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.matrices.stress import von_mises
from fem.mesh.structured_meshes import line
from flexmb.bodies.subspace import in_subspace
from flexmb.drawn.simple_shapes import box, box_of_inertia, shape_of_inertia, together
from flexmb.drawn.surface import body_surface, faces_outwards, ground_shape, world_points
from flexmb.files import export_vtk, load_body, save_body
from flexmb.results.stress import nodal_von_mises


@pytest.fixture(scope="module")
def body():
    model = fem.Model(fem.structured_meshes.block("tetra10", (1.0, 0.1, 0.06), (6, 1, 1)), fem.Material.steel())
    model = model.with_interfaces(root="x0", tip="x1")
    return flexmb.flexible_body(model, reduction.craig_bampton(model, 4, reference_frame="root"), name="bar")


@pytest.fixture(scope="module")
def beam():
    part = fem.Beam(fem.Material.steel(), fem.Section.circle(0.02))
    model = fem.Model(fem.structured_meshes.line((0, 0, 0), (1, 0, 0), 8), part).with_interfaces(root=[0], tip=[8])
    return flexmb.flexible_body(model, reduction.craig_bampton(model, 3, reference_frame="root"), name="beam")


def coordinates(body, size=2e-3, seed=5):
    return size * np.random.default_rng(seed).normal(size=body.modes) * body.stiffness[0] ** 0.5 / body.stiffness**0.5


def test_a_surface_moves_with_the_nodes(body):
    surface, eta = body_surface(body), coordinates(body)
    expected = body.displacements(eta)[surface.node]
    assert np.abs(surface.displacements(eta) - expected).max() < 1e-6 * np.abs(expected).max()
    assert len(surface.shape_names) == surface.shapes.shape[1] == body.modes + len(surface.pairs)
    assert len(surface.pairs)


def test_stresses_of_a_surface_are_those_of_the_nodes(body):
    surface, eta = body_surface(body), coordinates(body)
    expected = nodal_von_mises(body, eta)[surface.node]
    assert np.isfinite(expected).all()
    assert np.abs(surface.stress(eta) - expected).max() < 1e-5 * expected.max()


def test_normals_are_units_and_their_shapes_are_derivatives(body):
    surface, h = body_surface(body), 1e-4
    size = np.ptp(surface.points) / np.abs(surface.shapes).max()
    np.testing.assert_allclose(np.linalg.norm(surface.normals, axis=1), 1.0, rtol=1e-12)
    for k in range(surface.shapes.shape[1]):
        u = surface.shapes[:, k].reshape(-1, 3).astype(float)
        there, back = (replace(surface, points=surface.points + s * h * size * u).normals for s in (1, -1))
        slope = (there - back) / (2 * h * size)
        assert np.abs(surface.normal_shape(k) - slope).max() < 1e-5 * np.abs(slope).max() + 1e-9 / size


def test_a_closed_surface_faces_outwards(body, beam):
    """Its faces are then hidden where they are seen from behind; of an open one, a turned one and a cavity they are not."""
    points, triangles = box((0.0, 0.0, 0.0), np.full(3, 0.1), np.eye(3))
    assert faces_outwards(points, triangles)
    assert faces_outwards(points[triangles].reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3))  # as of STL
    assert not faces_outwards(points, triangles[:-1])
    assert not faces_outwards(points, triangles[:, ::-1])
    assert not faces_outwards(points, np.vstack([triangles[:-1], triangles[-1:, ::-1]]))
    assert not faces_outwards(points, np.zeros((0, 3), dtype=np.int64))
    assert not faces_outwards(*together([(points, triangles), (points / 2, triangles[:, ::-1])]))
    assert faces_outwards(*together([(points, triangles), (points + 1.0, triangles)]))
    assert body_surface(body).closed


def test_a_box_has_the_inertia_of_its_body():
    """A homogeneous box turned in its frame: its edges come back."""
    turn = flexmb.lie.rotation_exp(np.array([0.3, -0.5, 0.2]))
    a, b, c = 0.5, 0.2, 0.1
    inertia = turn @ np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) @ turn.T * 3.0 / 12
    body = flexmb.rigid_body("block", mass=3.0, inertia=inertia, centre=(0.1, 0.2, 0.3))
    points, _ = box_of_inertia(body)
    np.testing.assert_allclose(points.mean(axis=0), [0.1, 0.2, 0.3], atol=1e-12)
    extent = np.ptp(points @ turn, axis=0)
    np.testing.assert_allclose(extent, [a, b, c], rtol=1e-9)


def test_bars_reach_the_markers_outside_of_the_box():
    body = flexmb.rigid_body("block", mass=1.0, inertia=(0.01, 0.01, 0.01))
    alone, _ = shape_of_inertia(body, [np.array([0.05, 0, 0])])
    reaching, triangles = shape_of_inertia(body, [np.array([1.0, 0, 0])])
    assert len(alone) == 8
    assert reaching[:, 0].max() == pytest.approx(1.0)
    assert triangles.max() == len(reaching) - 1


def test_a_beam_is_drawn_with_its_section_which_turns_with_it(beam):
    """Rings at nodes: their middle moves with the node, second order too, and their points stay in a circle around
    it to first order."""
    surface, eta = body_surface(beam), coordinates(beam, 1e-3)
    assert np.linalg.norm(surface.points[:, 1:], axis=1).max() == pytest.approx(0.01)
    first = surface.shapes[:, : beam.modes].astype(float) @ eta
    for node in (0, 3, 8):
        x = beam.mesh.points[node, 0]
        ring = np.flatnonzero(np.isclose(surface.points[:, 0], x) & (np.abs(surface.points[:, 1:]).max(axis=1) > 0))
        moved = surface.displacements(eta)[ring]
        expected = beam.displacements(eta, np.array([node]))[0]
        largest = np.abs(beam.displacements(eta)).max()
        assert np.abs(moved.mean(axis=0) - expected).max() < 1e-4 * largest
        u, arm = first.reshape(-1, 3)[ring], surface.points[ring] - [x, 0, 0]
        stretched = np.einsum("vk,vk->v", u - u.mean(axis=0), arm)
        assert np.abs(stretched).max() < 1e-6 * largest * 0.01, "the section turns, and does not stretch"


def test_beams_show_their_stress(beam):
    """Between the Gauss points, where the fibres have it, the stress of the surface is that of the same forces."""
    surface, eta = body_surface(beam), coordinates(beam, 1e-3)
    at_fibres = von_mises(np.einsum("pim,m->pi", np.asarray(beam.stress.rows, float), eta))
    shown = surface.stress(eta)
    assert at_fibres.max() < 1.001 * shown.max() < 1.5 * at_fibres.max()
    for x, value in zip(beam.stress.x[::7], at_fibres[::7], strict=True):
        around = np.abs(np.linalg.norm(surface.points[:, 1:] - x[1:], axis=1)) < 1e-6
        before = around & (surface.points[:, 0] <= x[0]) & (surface.points[:, 0] > x[0] - 0.025)
        after = around & (surface.points[:, 0] >= x[0]) & (surface.points[:, 0] < x[0] + 0.025)
        low, high = (shown[before | after].min(), shown[before | after].max())
        assert low - 0.02 * shown.max() < value < high + 0.02 * shown.max()


def test_the_surface_of_beams_is_saved_and_reduced_with_its_body(beam, tmp_path):
    kept, T = load_body(save_body(beam, tmp_path / "beam.h5")), np.eye(beam.modes)[:, :2]
    for name in ("points", "triangles", "nodes", "along", "shapes", "rows"):
        np.testing.assert_array_equal(getattr(kept.beams, name), getattr(beam.beams, name))
    eta = 1e-4 * np.array([1.0, -2.0])
    fewer, all_ = body_surface(in_subspace(beam, T)), body_surface(beam)
    np.testing.assert_allclose(fewer.stress(eta), all_.stress(T @ eta), rtol=1e-4)
    assert body_surface(beam.rigid()).shapes.shape == (3 * len(all_.points), 0)


@pytest.mark.filterwarnings("ignore::flexmb.TruncatedStressWarning")  # three shapes, and just released
def test_paraview_gets_the_sections_of_beams(beam, tmp_path):
    system = flexmb.System(gravity=(0, 0, -9.81), name="beam")
    placed = system.add(beam)
    system.fixed("clamp", system.ground, placed["root"])
    result = flexmb.simulate(system, 2e-3, step=1e-5, output_step=1e-3)
    file = meshio.read(export_vtk(result, tmp_path).parent / "body0_000002.vtu")
    surface, eta = body_surface(beam), result.elastic("beam")[-1]
    n = len(beam.mesh.points)
    np.testing.assert_array_equal(file.cells_dict["line"], beam.mesh.cells[0].connectivity)
    np.testing.assert_array_equal(file.cells_dict["triangle"], surface.triangles + n)
    np.testing.assert_allclose(file.point_data["von_mises"][n:], surface.stress(eta), rtol=1e-6)
    shown = world_points(result.mechanism, 0, surface, result.q[-1])
    np.testing.assert_allclose(file.points[n:], shown, atol=1e-6)
    assert file.point_data["von_mises"][n:].max() > 0


def test_the_ground_has_axles_rails_and_cubes():
    system = flexmb.System(name="ground")
    block = system.add(flexmb.rigid_body("block", mass=1.0, inertia=(0.1,) * 3, points={"end": (1.0, 0, 0)}))
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(0.1,) * 3), position=(0, 5.0, 0))
    system.prismatic("rail", system.ground.at((0, 0, 0)), block, axis=(1, 0, 0))
    system.revolute("axle", system.ground.at((0, 5.0, 0)), wheel, axis=(0, 0, 1))
    sleeve = system.add(flexmb.rigid_body("sleeve", mass=1.0, inertia=(0.1,) * 3), position=(0, -5.0, 0))
    system.cylindrical("rod", system.ground.at((0, -5.0, 0)), sleeve, axis=(0, 0, 1))
    system.spring_damper("spring", system.ground.at((3.0, 0, 0)), block["end"], stiffness=1.0)
    mechanism = system.build()
    points, edge = ground_shape(mechanism)[0], 0.04 * mechanism.length
    spans_of = {(0, 0, 0): (20, 1, 1), (0, 5.0, 0): (1, 1, 4), (0, -5.0, 0): (1, 1, 20), (3.0, 0, 0): (1, 1, 1)}
    for centre, spans in spans_of.items():
        near = points[np.linalg.norm(points - centre, axis=1) < 11 * edge]
        np.testing.assert_allclose(np.ptp(near, axis=0) / edge, spans, atol=0.1)


def test_the_ground_of_bodies_in_flight_is_nothing(beam):
    system = flexmb.System(name="flight")
    system.add(beam)
    assert ground_shape(system.build()) is None


def test_each_of_several_sections_has_its_own_triangles():
    """A bar of two sections: the surfaces of both are closed, and hold the volumes of the bars within."""
    mesh = line((0, 0, 0), (1, 0, 0), 6)
    mesh = replace(mesh, cell_sets={"thick": np.arange(2), "thin": np.arange(2, 6)})
    sections = {"thick": fem.Section.rectangle(0.2, 0.3), "thin": fem.Section.rectangle(0.1, 0.05)}
    beams = {name: fem.Beam(fem.Material.steel(), section) for name, section in sections.items()}
    model = fem.Model(mesh, beams).with_interfaces(root="start")
    drawn = flexmb.flexible_body(model, reduction.craig_bampton(model, 2), geometric_stiffness="none").beams
    corners = drawn.points[drawn.triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max()
    assert longest < 1.01 * np.hypot(1 / 6, 0.3)  # none reaches from one bar into the other
    volume = np.linalg.det(corners).sum() / 6
    assert volume == pytest.approx(0.2 * 0.3 / 3 + 0.1 * 0.05 * 2 / 3, rel=0.02)

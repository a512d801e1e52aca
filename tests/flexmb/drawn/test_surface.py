"""Surfaces in motion: displacements and stresses of the body, normals by differences, boxes with its inertia."""

from dataclasses import replace

import numpy as np
import pytest

import fem
import flexmb
import reduction
from flexmb.drawn.simple_shapes import box_of_inertia, shape_of_inertia
from flexmb.drawn.surface import body_surface
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


@pytest.mark.parametrize("which", ["body", "beam"])
def test_a_surface_moves_with_the_nodes(which, request):
    body = request.getfixturevalue(which)
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

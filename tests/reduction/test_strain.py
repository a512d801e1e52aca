"""Strain at a point of a reduced body."""

import numpy as np
import pytest

import fem
import reduction
from fem.mesh.structured_meshes import block, line
from reduction.strain import strain_modes

STEEL = fem.Material.steel()


def strain_of(model, field, point):
    """Place and strain of a displacement field, which all modes of a part hold but for its rigid motion."""
    basis = reduction.modal(model, model.ndof - 6)
    place, rows = strain_modes(model, basis, point)
    return place, rows @ (basis.Psi.T @ (model.M @ field))


def test_a_uniform_strain_is_that_of_its_gradient():
    G = 1e-3 * np.random.default_rng(0).normal(size=(3, 3))
    model = fem.Model(block("hexahedron", (1.0, 0.8, 0.6), (2, 2, 1)), STEEL)
    place, strain = strain_of(model, (model.points @ G.T).ravel(), (0.9, 0.1, 0.5))
    E = (G + G.T) / 2
    np.testing.assert_allclose(strain, [E[0, 0], E[1, 1], E[2, 2], E[0, 1], E[1, 2], E[2, 0]], rtol=1e-7)
    inside = 0.5 + 0.5 * (1 + 1 / np.sqrt(3)) / 2, 0.4 * (1 - 1 / np.sqrt(3)) / 2, 0.6 * (1 + 1 / np.sqrt(3)) / 2
    np.testing.assert_allclose(place, inside)  # the nearest point of integration


def test_the_strain_of_a_bent_beam_is_that_at_its_fibre():
    """The nearest one, in the middle of a cell or at its ends."""
    beam = fem.Beam(STEEL, fem.Section.rectangle(0.1, 0.2), y_axis=(0, 1, 0))
    model = fem.Model(line((0, 0, 0), (1.0, 0, 0), 2), beam)
    curvature = 1e-2
    x = model.points[:, 0]
    field = np.zeros(model.ndof)
    field[1 : 3 * len(x) : 3] = curvature * x**2 / 2
    field[3 * len(x) + 2 :: 3] = curvature * x
    place, strain = strain_of(model, field, (0.4, 0.05, 0.1))
    np.testing.assert_allclose(place[1:], [0.05, 0.1])
    assert strain[0] == pytest.approx(-curvature * 0.05)
    for wrong in ((0.0, 0.0), (0.0, np.nan, 0.0)):
        with pytest.raises(fem.MeshError, match="three finite coordinates"):
            strain_of(model, field, wrong)

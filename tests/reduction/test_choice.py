"""The promise of `choose`, on many parts: the true error, by direct solves of the full model, is within the tolerance and within the estimate."""

from functools import partial

import numpy as np
import pytest
import pyvista.examples

import fem
import reduction
from fem.mesh.structured_meshes import block, line, tube
from meshes import path

STEEL, ALUMINIUM = fem.Material.steel(), fem.Material.aluminium()
TONNE = fem.Material.isotropic(2.1e5, 0.3, 7.85e-9)  # mm, t, s
WOOD = fem.Material.isotropic(1.2e10, 0.35, 600.0)


def solid(mesh, material=STEEL, **interfaces):
    return fem.Model(mesh(), material).with_interfaces(**interfaces)


def soft(nodes):
    return fem.Interface(nodes, kind="average")


def shaft():
    return line((0, 0, 0), (1.2, 0.3, 0.1), 24)


def framed():
    beam = fem.Beam(ALUMINIUM, fem.Section.tube(0.04, 0.03))
    return fem.Model(shaft(), beam).with_interfaces(a="start", b="end")


def welded():
    a = solid(partial(block, "hexahedron20", (0.5, 0.05, 0.05), (8, 1, 1)), root="x0", tip="x1")
    raised = block("hexahedron20", (0.05, 0.05, 0.4), (1, 1, 6))
    b_mesh = fem.Mesh(
        raised.points + np.array([0.5, 0.0, 0.0]),
        raised.cells,
        face_sets=raised.face_sets,
        cell_sets=raised.cell_sets,
        name="post",
    )
    b = fem.Model(b_mesh, ALUMINIUM).with_interfaces(root="z0", top="z1")
    return fem.join({"arm": a, "post": b}, {"corner": ("arm tip", "post root")})


def loaded():
    part = solid(partial(block, "hexahedron", (0.8, 0.1, 0.02), (16, 2, 1)), a="x0", b="x1")
    part = part.with_point_masses({"b": fem.PointMass(3.0, (0.01, 0.01, 0.01), (0.02, 0.0, 0.0))})
    return part.with_springs([fem.Spring("a", "b", [1e5] * 3 + [1e2] * 3)])


def imported():
    part = solid(partial(block, "hexahedron20", (0.6, 0.1, 0.05), (6, 2, 1)))
    nodes = {name: part.mesh.nodes(name) for name in ("x0", "x1")}
    return fem.Model.from_matrices(part.M, part.K, part.points).with_interfaces(a=nodes["x0"], b=nodes["x1"])


PARTS = {
    "bar": partial(solid, partial(block, "hexahedron20", (1.0, 0.05, 0.03), (12, 1, 1)), a="x0", b="x1"),
    "bar, soft ends": partial(solid, partial(block, "tetra10", (1.0, 0.05, 0.03), (12, 1, 1)), a=soft("x0"), b=soft("x1")),
    "bar, one end": partial(solid, partial(block, "hexahedron", (0.7, 0.1, 0.05), (14, 2, 1)), ALUMINIUM, a="x0"),
    "bar in mm": partial(solid, partial(block, "wedge15", (300.0, 20.0, 10.0), (8, 2, 1)), TONNE, a="x0", b=soft("x1")),
    "lump": partial(solid, partial(block, "hexahedron20", (0.2, 0.15, 0.1), (3, 2, 2)), a="x0", b=soft("z1")),
    "plate": partial(solid, partial(block, "hexahedron20", (0.6, 0.5, 0.008), (8, 7, 1)), a=soft("x0"), b=soft("x1")),
    "plate, three edges": partial(solid, partial(block, "hexahedron20", (0.6, 0.5, 0.01), (8, 6, 1)), a="x0", b=soft("x1"), c=soft("y1")),
    "wooden plate": partial(solid, partial(block, "hexahedron20", (0.4, 0.1, 0.02), (8, 3, 1)), WOOD, a="x0", b=soft("z1")),
    "pipe": partial(solid, partial(tube, "hexahedron20", (0.045, 0.05), 0.5, (1, 10, 8)), a="z0", b="z1"),
    "thin pipe, soft": partial(solid, partial(tube, "hexahedron20", (0.098, 0.1), 0.3, (1, 14, 6)), a=soft("z0"), b=soft("z1")),
    "ring": partial(solid, partial(tube, "hexahedron20", (0.1, 0.12), 0.03, (1, 16, 1)), ALUMINIUM, a="z0"),
    "pyramids": partial(solid, partial(block, "pyramid", (0.5, 0.1, 0.1), (8, 2, 2)), a="x0", b="x1"),
    "tetrahedra": partial(solid, partial(block, "tetra", (0.5, 0.1, 0.1), (10, 2, 2)), a="x0", b=soft("x1")),
    "shaft": framed,
    "welded": welded,
    "with a lump and a spring": loaded,
    "matrices": imported,
    "connecting rod": lambda: fem.Model(fem.read_mesh(path("conrod.msh")), STEEL).with_interfaces(big="BIG_END", small="SMALL_END"),
    "connecting rod, soft": lambda: fem.Model(fem.read_mesh(path("conrod.msh")), STEEL).with_interfaces(big=soft("BIG_END"), small=soft("SMALL_END")),
    "foreign hexahedra": lambda: fem.Model(fem.read_mesh(pyvista.examples.hexbeamfile), WOOD).with_interfaces(
        a=fem.on_plane((0, 0, 0), (0, 0, 1)), b=soft(fem.on_plane((0, 0, 5), (0, 0, 1)))
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize(("tolerance", "reach"), [(0.05, 5.0), (0.003, 2.5)])
def test_the_true_error_is_within_tolerance_and_estimate(name, tolerance, reach):
    """`reach`: the band over the first natural frequency."""
    model = PARTS[name]()
    band = (0, reach * float(reduction.modal(model, 1).frequencies[0]))
    basis = reduction.choose(model, band=band, tolerance=tolerance)
    reduction.check(basis, model)
    estimate = reduction.response_error(model, basis, band, tolerance=0.02 * tolerance)
    picked = np.unique(
        np.concatenate(
            [np.argsort(estimate.relative)[-4:], np.linspace(1, len(estimate.frequencies) - 1, 8).astype(int)]
        )
    )
    f, told = estimate.frequencies[picked], estimate.relative[picked]
    full, reduced = reduction.frequency_response(model, f), reduction.frequency_response(model, f, basis=basis)
    true = np.linalg.norm(full.elastic - reduced.elastic, axis=(1, 2)) / full.magnitude
    assert true.max() <= tolerance
    assert (told >= 0.9 * true - 1e-9).all()
    seen = true > 0.02 * tolerance  # what the estimate can resolve
    assert (told[seen] <= 10 * true[seen]).all()

"""The parts of a reduction against dense brute force: static shapes, fixed-interface modes, pins, admissible inverses."""

import dense
import numpy as np
import pytest
import scipy.sparse as sp
from test_reduction import ELEMENTS, SETUPS, part

import fem
from fem.errors import FactorisationError, InterfaceError
from fem.interface import Interface
from reduction import craig_bampton, modal
from reduction.solutions.fixed_interfaces import constraint_modes, fix_interfaces, fixed_interface_displacement
from reduction.solutions.statics import inertia_relief_solution, statics

PARTS = [*((setup, "hexahedron") for setup in SETUPS), *(("average-rigid", element) for element in ELEMENTS)]
parts = pytest.mark.parametrize(("setup", "element"), PARTS)


@parts
def test_constraint_modes_are_the_least_energy_shapes(setup, element):
    model = part(setup, element)
    ours = constraint_modes(fix_interfaces(statics(model)))
    n = 6 * len(model.interfaces)
    exact = dense.static_shapes(model, np.zeros((model.ndof, n)), dense.all_motions(model).T, np.eye(n))
    assert np.abs(ours - exact).max() < 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("kinds", [("average", "average", "rigid"), ("average", "rigid", "rigid")])
def test_constraint_modes_are_in_the_order_of_three_interfaces(kinds):
    """Rigid ones are solved first. In the columns of an interface its motion is one and that of the others is zero."""
    mesh = fem.structured_meshes.block("hexahedron", (1.0, 0.3, 0.2), (5, 2, 2))
    nodes = [np.flatnonzero(np.isclose(mesh.points[:, 0], x)) for x in (0.0, 0.4, 1.0)]
    ends = {f"end {k}": Interface(own, kind) for k, (own, kind) in enumerate(zip(nodes, kinds, strict=True))}
    model = fem.Model(mesh, fem.Material.steel()).with_interfaces(**ends)
    ours = constraint_modes(fix_interfaces(statics(model)))
    B = sp.hstack([i.interface_matrix(model) for i in model.interfaces.values()])
    np.testing.assert_allclose(B.T @ ours, np.eye(18), rtol=0, atol=1e-9)


@parts
def test_fixed_interface_displacement_solves_the_constrained_problem(setup, element):
    model = part(setup, element)
    F = np.random.default_rng(3).standard_normal((model.ndof, 4))
    ours = fixed_interface_displacement(fix_interfaces(statics(model)), F)
    B = dense.all_motions(model)
    exact = dense.static_shapes(model, F, B.T, np.zeros((B.shape[1], 4)))
    assert np.abs(ours - exact).max() < 1e-9 * np.abs(exact).max()
    assert np.abs(B.T @ ours).max() < 1e-11 * np.abs(ours).max()


@parts
def test_free_displacement_is_inertia_relief(setup, element):
    model = part(setup, element)
    F = np.random.default_rng(4).standard_normal((model.ndof, 4))
    ours = inertia_relief_solution(statics(model), F)
    R = dense.rigid_columns(model.points, model.centre_of_mass)
    MR = model.M @ R
    balanced = F - MR @ np.linalg.solve(R.T @ MR, R.T @ F)
    exact = dense.static_shapes(model, balanced, np.zeros((0, model.ndof)), np.zeros((0, 4)))
    exact = dense.without_rigid_motion(model, exact)
    assert np.abs(ours - exact).max() < 1e-9 * np.abs(exact).max()


@parts
def test_inverses_are_symmetric(setup, element):
    model = part(setup, element)
    body = statics(model)
    fixed = fix_interfaces(body)
    F = np.random.default_rng(5).standard_normal((model.ndof, 5))
    for U in (fixed_interface_displacement(fixed, F), inertia_relief_solution(body, F)):
        work = F.T @ U
        assert np.abs(work - work.T).max() < 1e-10 * np.abs(work).max()
        assert np.linalg.eigvalsh(work)[0] > 0


@pytest.mark.parametrize("setup", SETUPS)
def test_fixed_interface_frequencies_are_those_of_the_held_body(setup):
    model = part(setup)
    found = craig_bampton(model, 10).options["shape_frequencies"]
    exact = np.sqrt(dense.eigenvalues(model, list(model.interfaces))[:10]) / (2 * np.pi)
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_pins_react_to_nothing_and_hold_everything():
    model = part("average-average")
    body = statics(model)
    assert body.pinned
    pinned = np.setdiff1d(np.arange(model.ndof), body.interior)
    assert len(pinned) == 6
    R = dense.rigid_columns(model.points, model.centre_of_mass)[pinned]
    assert np.linalg.cond(R) < 50
    touched = np.concatenate([i.nodes for i in model.interfaces.values()])
    assert not np.isin(pinned // 3, touched).any()
    u = inertia_relief_solution(body, np.random.default_rng(6).standard_normal((model.ndof, 1)))
    residual = model.K @ u
    balance = dense.rigid_columns(model.points, np.zeros(3)).T @ residual
    assert np.abs(balance).max() < 1e-9 * np.abs(residual).sum()


def test_pins_on_the_interface_itself_do_no_harm():
    """A part of one cell: every node belongs to an average interface, three of them are pinned too."""
    model = fem.Model(fem.structured_meshes.block("hexahedron", (1, 1, 1), (1, 1, 1)), fem.Material.steel())
    model = model.with_interfaces(all=Interface(np.arange(8), "average"))
    basis = craig_bampton(model, 18)
    np.testing.assert_allclose(basis.eigenvalues, dense.eigenvalues(model)[6:], rtol=1e-9)


def test_an_average_interface_may_share_nodes_with_a_rigid_one():
    box = fem.structured_meshes.block("hexahedron", (4.0, 1.0, 0.5), (4, 2, 1))
    model = fem.Model(box, fem.Material.steel()).with_interfaces(big="x0", top=Interface("z1", "average"))
    ours = constraint_modes(fix_interfaces(statics(model)))
    exact = dense.static_shapes(model, np.zeros((model.ndof, 12)), dense.all_motions(model).T, np.eye(12))
    assert np.abs(ours - exact).max() < 1e-9 * np.abs(exact).max()


def test_interfaces_on_the_same_nodes_are_named():
    model = part("average").with_interfaces(
        first=Interface("x0", "average"), twin=Interface("x0", "average"), other=Interface("x1", "average")
    )
    with pytest.raises(InterfaceError, match=r"interfaces 'first', 'twin' are not independent"):
        craig_bampton(model, 4)
    assert modal(model, 4).n_modes == 4
    inside = part("average").with_interfaces(weld="x0", spot=Interface("x0", "average"), end="x1")
    with pytest.raises(InterfaceError, match=r"'spot' are not independent of each other and of"):
        craig_bampton(inside, 4)


def two_blocks(gap, **interfaces):
    """Two cells side by side, `gap` apart along x, with no node in common."""
    box = fem.structured_meshes.block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1))
    points = np.vstack([box.points, box.points + np.array([1.0 + gap, 0.0, 0.0])])
    cells = np.vstack([box.cells[0].connectivity, 8 + box.cells[0].connectivity])
    mesh = fem.Mesh(points, (fem.CellBlock("hexahedron", cells),), name="halves")
    return fem.Model(mesh, fem.Material.steel()).with_interfaces(**interfaces)


@pytest.mark.parametrize("reduce", [craig_bampton, modal])
def test_parts_are_counted_unless_a_rigid_interface_joins_them(reduce):
    right = np.flatnonzero(two_blocks(0.5).points[:, 0] > 2)
    with pytest.raises(
        fem.MatrixError, match=r"'halves' falls into 2 parts .*8 with node 0, 8 with node 8.*rigid interface"
    ):
        reduce(two_blocks(0.5, end=Interface(right, "rigid")), 3)
    with pytest.raises(fem.MatrixError, match="falls into 2 parts"):
        reduce(two_blocks(0.5, seam=Interface(np.arange(4, 12), "average")), 3)
    seam = np.flatnonzero(abs(two_blocks(0.5).points[:, 0] - 1.25) < 0.3)
    joined = two_blocks(0.5, seam=Interface(seam, "rigid"))
    assert reduce(joined, 3).n_modes == 3


def test_a_hinge_is_reported():
    """Two cells that share one edge turn freely about it."""
    box = fem.structured_meshes.block("hexahedron", (2.0, 2.0, 1.0), (2, 2, 1))
    centres = box.points[box.cells[0].connectivity].mean(axis=1)
    diagonal = (centres[:, 0] < 1) == (centres[:, 1] < 1)
    used, cells = np.unique(box.cells[0].connectivity[diagonal], return_inverse=True)
    mesh = fem.Mesh(box.points[used], (fem.CellBlock("hexahedron", cells.reshape(-1, 8)),), name="hinged")
    model = fem.Model(mesh, fem.Material.steel())
    with pytest.raises(FactorisationError, match=r"'hinged'.*hinge"):
        modal(model, 3)
    with pytest.raises(FactorisationError, match=r"'hinged'.*hinge"):
        craig_bampton(model.with_interfaces(end=np.flatnonzero(mesh.points[:, 0] == 0)), 3)


def test_a_body_on_soft_springs_is_reported():
    source = part("average")
    ground = sp.diags_array(np.where(np.arange(source.ndof) % 3 == 2, 1e-7 * source.K.diagonal().max(), 0.0))
    model = fem.Model.from_matrices(source.M, source.K + ground, source.points)
    with pytest.raises(fem.MatrixError, match=r"rigid motion is not free of stiffness.*held softly"):
        modal(model, 4)


def test_nothing_is_left_to_deform():
    model = part("rigid").with_interfaces(all=np.arange(len(part("rigid").points)))
    with pytest.raises(InterfaceError, match="every node belongs to a rigid interface"):
        modal(model, 3)

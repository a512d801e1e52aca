"""Trusses: closed forms, geometric stiffness, integrals and stresses, in a frame and across solids; refusals."""

import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.errors import MaterialError
from fem.mesh.steps import BodyForce, Support
from fem.mesh.structured_meshes import block, line
from fem.mesh.unread import Unread
from flexmb.bodies.dynamics import mass_matrix

STEEL = fem.Material.isotropic(2.0e11, 0.3, 7800.0)
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0], [1, 1, 1]])
RODS = np.array([[a, b] for a in range(5) for b in range(a)])


def tower():
    """Five nodes, every two of them with a rod."""
    mesh = fem.Mesh(CORNERS, (fem.CellBlock("truss", RODS),), node_sets={"root": np.arange(3)})
    return fem.Model(mesh, fem.Truss(STEEL, 1e-4))


def test_nodes_of_rods_are_selected_by_their_place():
    np.testing.assert_array_equal(tower().mesh.nodes(fem.nearest(CORNERS[3])), [3])
    rods = line((0, 0, 0), (2.0, 0, 0), 4, kind="truss")
    np.testing.assert_array_equal(rods.nodes(fem.on_plane((1.0, 0, 0), (1, 0, 0))), [2])


def test_a_rod_has_its_stiffness_and_mass():
    model = fem.Model(line((0, 0, 0), (2.0, 0, 0), 1, kind="truss"), fem.Truss(STEEL, 1e-4))
    assert model.ndof == 6
    assert model.K[3, 3] == pytest.approx(2.0e11 * 1e-4 / 2)
    assert model.mass == pytest.approx(7800 * 1e-4 * 2)
    assert model.inertia()[1, 1] == pytest.approx(model.mass * 4 / 12)
    nodes, places, stress = model.stresses(np.array([[0, 0, 0, 1e-3, 0, 0.0]]).T)
    assert nodes.tolist() == [-1]
    np.testing.assert_allclose(places, [[1, 0, 0]])
    np.testing.assert_allclose(stress[0, :, 0], [2e11 * 5e-4, 0, 0, 0, 0, 0])


def test_geometric_stiffness_turns_with_the_frame():
    """`K_G(u) r = a x f`, r a rigid rotation a and f the internal forces of u; its forms agree."""
    model, rng = tower(), np.random.default_rng(0)
    u, V = rng.standard_normal(model.ndof), rng.standard_normal((model.ndof, 3))
    a = np.array([0.3, -0.5, 0.8])
    K_G = model.geometric_stiffness(u)
    wanted = np.cross(a, (model.K @ u).reshape(-1, 3)).ravel()
    np.testing.assert_allclose(K_G @ (model.rigid_body_modes()[:, 3:] @ a), wanted, atol=1e-9 * abs(wanted).max())
    np.testing.assert_allclose(model.projected_geometric_stiffness(u[:, None], V)[0], V.T @ K_G @ V, rtol=1e-9)
    pairs = np.array([[0, 1], [2, 2]])
    np.testing.assert_allclose(u @ model.quadratic_strain_loads(V, pairs), [(V.T @ K_G @ V)[i, j] for i, j in pairs])


def test_a_frame_of_rods_is_a_body():
    model = tower().with_interfaces(root="root")
    basis = reduction.craig_bampton(model, modes=3, reference_frame="root")
    body = flexmb.flexible_body(model, basis)
    whole = np.column_stack([model.rigid_body_modes(), basis.Psi])
    expected = whole.T @ model.M.toarray() @ whole
    np.testing.assert_allclose(mass_matrix(body, np.zeros(3)), expected, atol=1e-9 * np.abs(expected).max())


def test_a_rod_braces_solids():
    """Two bricks, joined by a rod between nodes: the pull of the rod is the force of the relative motion."""
    a, b = block("hexahedron", (1, 1, 1), (1, 1, 1)), block("hexahedron", (1, 1, 1), (1, 1, 1))
    points = np.vstack([a.points, b.points + np.array([3.0, 0, 0])])
    ends = [int(np.flatnonzero((points == p).all(axis=1))[0]) for p in ([1.0, 0, 0], [3.0, 0, 0])]
    blocks = (fem.CellBlock("hexahedron", np.vstack([a.cells[0].connectivity, b.cells[0].connectivity + 8])),)
    mesh = fem.Mesh(points, (*blocks, fem.CellBlock("truss", np.array([ends]))), cell_sets={"s": [0, 1], "r": [2]})
    model = fem.Model(mesh, {"s": STEEL, "r": fem.Truss(STEEL, 1e-3)})
    u = np.zeros(model.ndof)
    u[24::3] = 1e-3  # the second brick moves along x
    force = (model.K @ u).reshape(-1, 3)
    assert force[ends[1], 0] == pytest.approx(2e11 * 1e-3 * 1e-3 / 2)
    np.testing.assert_allclose(force.sum(axis=0), 0, atol=1e-3)


def test_refusals():
    mesh = line((0, 0, 0), (1.0, 0, 0), 1, kind="truss")
    with pytest.raises(MaterialError, match=r"truss cells need a fem\.Truss"):
        fem.Model(mesh, STEEL).K  # noqa: B018
    with pytest.raises(MaterialError, match="area must be positive"):
        fem.Truss(STEEL, 0.0)
    points = np.array([[0.0, 0, 0], [0, 0, 0], [1, 0, 0]])
    rods = fem.CellBlock("truss", np.array([[0, 1], [1, 2]]))
    with pytest.raises(fem.MeshError, match="has no length"):
        fem.Model(fem.Mesh(points, (rods,)), fem.Truss(STEEL, 1.0)).K  # noqa: B018


def test_the_weight_of_a_step_acts_on_rods():
    """A hanging rod lengthens by rho g L^2 / 2 E, as half of its weight is on the free node."""
    mesh = line((0, 0, 0), (2.0, 0, 0), 1, kind="truss")
    held = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)]
    supports = tuple(Support(fem.Equation([n], [k], [1.0]), 0.0) for n, k in held)
    weight = BodyForce(np.array([0]), gravity=np.array([9.81, 0, 0]))
    step = fem.Step(1, "STATIC", Unread("STEP", "deck.inp", 1, "*STEP"), supports=supports, bodies=(weight,))
    result = fem.solve_step(fem.Model(mesh, fem.Truss(STEEL, 1e-4)), step)
    assert result.displacements[1, 0] == pytest.approx(7800 * 9.81 * 2.0**2 / (2 * 2.0e11), rel=1e-9)

"""K_G(u) against a St. Venant-Kirchhoff body written here: brute force, cell by cell, incompatible modes of hex8 included."""

from dataclasses import replace

import numpy as np
import pytest

from fem.elements import ELEMENTS
from fem.errors import MatrixError
from fem.material import Material
from fem.mesh.constraints import RigidLink
from fem.mesh.mesh import Mesh
from fem.mesh.structured_meshes import block
from fem.model import Model

ORTHOTROPIC = Material.orthotropic((200.0, 90.0, 50.0), (0.3, 0.2, 0.1), (40.0, 30.0, 20.0), 1.0)
VOIGT = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))


def part(kind):
    """A block of distorted cells of an orthotropic material, two cubes long."""
    mesh = block(kind, (1.0, 0.6, 0.5), (2, 1, 1))
    moved = mesh.points + 0.03 * np.random.default_rng(5).uniform(-1, 1, mesh.points.shape)
    return Model(replace(mesh, points=moved), ORTHOTROPIC)


class SaintVenantKirchhoff:
    """Strain energy of a mesh as a plain loop over cells and points; hex8 with its incompatible displacement gradients."""

    def __init__(self, mesh):
        shape = ELEMENTS[mesh.cells[0].kind]
        self.mesh, self.points = mesh, []  # per cell: gradients (nodes and modes) and weight at each point
        for cell in mesh.cells[0].connectivity:
            x = mesh.points[cell]
            J0 = x.T @ shape.gradient(np.zeros((1, 3)))[0]  # dx_i / dxi_k
            rows = []
            for xi, w in zip(*shape.stiffness_rule, strict=True):
                local = shape.gradient(xi[None])[0]
                J = x.T @ local
                G = local @ np.linalg.inv(J)
                if shape.kind == "hexahedron":
                    modes = np.diag(-2 * xi) @ np.linalg.inv(J0) * np.linalg.det(J0) / np.linalg.det(J)
                    G = np.vstack([G, modes])
                rows.append((G, w * np.linalg.det(J)))
            self.points.append(rows)

    def cell_force(self, number, values):
        """Derivative of a cell's energy by the nodal (and mode) displacements `values` (m, 3)."""
        force = np.zeros_like(values)
        for G, dV in self.points[number]:
            F = np.eye(3) + values.T @ G
            E = (F.T @ F - np.eye(3)) / 2
            s = ORTHOTROPIC.elasticity @ [E[i, j] if i == j else 2 * E[i, j] for i, j in VOIGT]
            S = np.array([[s[0], s[3], s[5]], [s[3], s[1], s[4]], [s[5], s[4], s[2]]])
            force += G @ (F @ S).T * dV
        return force

    def modes_for(self, number, nodal):
        """Incompatible modes in equilibrium with the nodes (Newton iteration on a numerical tangent)."""
        modes = np.zeros((3, 3))

        def residual(a):
            return self.cell_force(number, np.vstack([nodal, a.reshape(3, 3)]))[-3:].ravel()

        for _ in range(6):
            h = 1e-6
            unit = np.eye(9) * h
            tangent = np.stack([(residual(modes.ravel() + e) - residual(modes.ravel() - e)) / (2 * h) for e in unit], 1)
            modes = modes - np.linalg.solve(tangent, residual(modes.ravel())).reshape(3, 3)
        return modes

    def force(self, u):
        """Internal forces of nodal displacements `u` (ndof,)."""
        u = u.reshape(-1, 3)
        total = np.zeros_like(u)
        for number, cell in enumerate(self.mesh.cells[0].connectivity):
            values = u[cell]
            if self.mesh.cells[0].kind == "hexahedron":
                values = np.vstack([values, self.modes_for(number, u[cell])])
            total[cell] += self.cell_force(number, values)[: len(cell)]
        return total.ravel()


@pytest.mark.parametrize("kind", [kind for kind in ELEMENTS if kind != "hexahedron-reduced"])
def test_internal_force_expands_into_stiffness_and_geometric_stiffness(kind):
    """f(h u) = h K u + h^2/2 K_G(u) u + O(h^3): the two orders from odd and even differences, extrapolated to h^4.

    Without incompatible modes f is a cubic polynomial and both differences are exact for any h.
    """
    model = part(kind)
    body = SaintVenantKirchhoff(model.mesh)
    u = np.random.default_rng(6).normal(size=model.ndof)
    h, tolerance = (1e-3, 1e-5) if kind == "hexahedron" else (0.02, 1e-10)
    odd, even = [], []
    for step in (h, h / 2):
        plus, minus = body.force(step * u), body.force(-step * u)
        odd.append((plus - minus) / (2 * step))
        even.append((plus + minus) / step**2)
    for (coarse, fine), matrix in ((odd, model.K), (even, model.geometric_stiffness(u, initial_displacement=True))):
        np.testing.assert_allclose((4 * fine - coarse) / 3, matrix @ u, atol=tolerance * np.abs(matrix @ u).max())


@pytest.mark.parametrize("kind", ELEMENTS)
def test_whole_derivative_is_symmetric_in_all_three_arguments(kind):
    """v . K_G(u) w is a third derivative of an energy: any exchange of u, v, w leaves it (docs/theory.md, "Geometric stiffness")."""
    model = part(kind)
    u, v, w = np.random.default_rng(7).normal(size=(3, model.ndof))
    value = v @ model.geometric_stiffness(u, initial_displacement=True) @ w
    for a, b, c in ((v, u, w), (w, v, u), (u, w, v)):
        assert b @ model.geometric_stiffness(a, initial_displacement=True) @ c == pytest.approx(value, rel=1e-10)


def turned(axis, field):
    """Nodal vectors after an infinitesimal turn about an axis."""
    return np.cross(np.eye(3)[axis], field.reshape(-1, 3)).ravel()


@pytest.mark.parametrize("kind", ELEMENTS)
def test_rigid_motion_of_a_stressed_part(kind):
    """Objectivity, differentiated: K_G(u) t = 0 and K_G(u) r = r x f - K (r x u), for a translation t, a rotation r, and f = K u."""
    model = part(kind)
    u = np.random.default_rng(8).normal(size=model.ndof)
    R = model.rigid_body_modes()
    whole, stress = model.geometric_stiffness(u, initial_displacement=True), model.geometric_stiffness(u)
    scale = np.abs(whole).max()
    assert np.abs(whole @ R[:, :3]).max() < 1e-11 * scale
    assert np.abs(stress @ R[:, :3]).max() < 1e-11 * scale
    assert np.abs(model.geometric_stiffness(R[:, 4])).max() < 1e-11 * scale  # no stress
    for axis in range(3):
        expected = turned(axis, model.K @ u) - model.K @ turned(axis, u)
        np.testing.assert_allclose(whole @ R[:, 3 + axis], expected, atol=1e-10 * scale)


def test_rigid_links_have_a_geometric_stiffness():
    """The assembled matrix and the one that is never assembled agree: moments of forces at links turn with them."""
    mesh = block("hexahedron", (1.0, 0.3, 0.2), (2, 1, 1))
    tip = np.flatnonzero(mesh.points[:, 0] == 1.0)
    mesh = Mesh(np.vstack([mesh.points, [[1.2, 0.1, 0.3]]]), mesh.cells)
    model = Model(mesh, ORTHOTROPIC).with_constraints(RigidLink(tip, len(mesh.points) - 1))
    random = np.random.default_rng(6)
    U, V = random.standard_normal((model.ndof, 2)), random.standard_normal((model.ndof, 3))
    found = model.projected_geometric_stiffness(U, V)
    exact = np.array([V.T @ (model.geometric_stiffness(u) @ V) for u in U.T])
    np.testing.assert_allclose(found, exact, atol=1e-12 * np.abs(exact).max())


def test_stress_part_of_a_bar_in_tension_is_its_string_stiffness():
    """Sigma_xx = s alone: a transverse field u_y = x has the energy s * volume / 2."""
    model = Model(block("hexahedron20", (2.0, 0.5, 0.4), (3, 1, 1)), Material.isotropic(100.0, 0.25))
    x, y, z = model.points.T
    stretch = np.column_stack([x, -0.25 * y, -0.25 * z]).ravel() * 0.02  # uniaxial stress 2
    swing = np.column_stack([0 * x, x, 0 * x]).ravel()
    K_G = model.geometric_stiffness(stretch)
    assert swing @ K_G @ swing == pytest.approx(2.0 * 0.4, rel=1e-12)


def test_models_from_matrices_have_no_geometric_stiffness():
    model = part("tetra")
    imported = Model.from_matrices(model.M, model.K, model.points)
    with pytest.raises(MatrixError, match="needs its elements"):
        imported.geometric_stiffness(np.zeros(model.ndof))
    with pytest.raises(MatrixError, match="displacements of 36 dofs"):
        model.geometric_stiffness(np.zeros(7))

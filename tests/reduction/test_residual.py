"""The residual compliance of surfaces against dense statics of the full model, for free, rigidly and softly held parts."""

import dense
import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.errors import MatrixError
from fem.mesh.structured_meshes import block
from flexmb.bodies.subspace import in_subspace
from reduction.residual import lifted

STEEL = fem.Material.steel()


def free():
    return fem.Model(block("hexahedron", (0.3, 0.1, 0.05), (4, 2, 1)), STEEL).with_surfaces(top="z1", end="x1")


def rigid():
    return free().with_interfaces(a="x0", b="x1")  # nodes of the surface "end" move as one


def one_rigid():
    return free().with_interfaces(a="x0")


def soft():
    return free().with_interfaces(a=fem.Interface("x0", kind="average"), b="y0")


def linked():
    part = fem.Model(block("hexahedron", (0.3, 0.1, 0.05), (4, 2, 1)), STEEL)
    nodes = part.mesh.nodes("x1").tolist()
    return part.with_constraints(fem.RigidLink(nodes[1:3], nodes[0])).with_surfaces(top="z1", end="x1")


PARTS = {"free": free, "one rigid": one_rigid, "rigid": rigid, "soft": soft, "linked": linked}


def compliance(part, nodes):
    """Displacements of `nodes` in mean axes under balanced unit forces there, by dense statics."""
    select = np.zeros((part.dof_map.size_of_all, 3 * len(nodes)))
    select[(3 * nodes[:, None] + np.arange(3)).ravel(), np.arange(3 * len(nodes))] = 1.0
    N = part.dof_map.gather(select)
    R = part.rigid_body_modes(part.centre_of_mass)
    balanced = N - part.M @ R @ np.linalg.solve(R.T @ (part.M @ R), R.T @ N)
    U = dense.static_shapes(part, balanced, np.zeros((0, part.ndof)), np.zeros((0, N.shape[1])))
    U -= R @ np.linalg.solve(R.T @ (part.M @ R), R.T @ (part.M @ U))
    return N, N.T @ U


@pytest.mark.parametrize("name", PARTS)
def test_basis_and_residual_make_the_dense_statics(name):
    """And C is positive definite, symmetric and falls with the number of shapes."""
    part = PARTS[name]()
    diagonal = []
    for modes in (3, 12):
        basis = reduction.modal(part, modes)
        C = reduction.residual_compliance(part, basis)
        np.testing.assert_array_equal(C.nodes, np.union1d(part.mesh.nodes("z1"), part.mesh.nodes("x1")))
        N, full = compliance(part, C.nodes)
        B = N.T @ basis.Psi
        scale = np.abs(full).max()
        assert np.abs((B / basis.eigenvalues) @ B.T + C.matrix - full).max() < 1e-11 * scale
        np.testing.assert_array_equal(C.matrix, C.matrix.T)
        assert np.linalg.eigvalsh(C.matrix)[0] > 0
        assert C.lifted <= 1e-12 * scale
        diagonal.append(np.diag(C.matrix))
    assert (diagonal[1] <= diagonal[0] + 1e-13 * scale).all()


def test_the_reference_frame_does_not_matter():
    """The rigid motion of a shape is the frame's, not the residual's."""
    part = one_rigid()
    mean, attached = (reduction.craig_chang(part, 8, frame) for frame in (None, "a"))
    a, b = (reduction.residual_compliance(part, basis).matrix for basis in (mean, attached))
    assert np.abs(a - b).max() < 1e-11 * compliance(part, np.unique(part.surfaces["top"].nodes))[1].max()


def test_residual_displacements_of_surfaces_are_those_of_the_residual_compliance():
    """The displacements of the whole part, at the nodes of its surfaces."""
    part = one_rigid()
    basis = reduction.craig_bampton(part, 6, "a")
    C = reduction.residual_compliance(part, basis)
    forces = np.random.default_rng(1).standard_normal((len(C.nodes), 3, 2))
    u = part.displacements(reduction.residual_displacements(part, basis, C.nodes, forces))[C.nodes]
    exact = (C.matrix @ forces.reshape(-1, 2)).reshape(forces.shape)
    np.testing.assert_allclose(u, exact, atol=1e-8 * np.abs(exact).max())


@pytest.mark.parametrize("frame", [None, "a"])
def test_static_deflection_of_the_body_is_that_of_the_full_model(frame):
    """Under any forces at the nodes of its surfaces; also after its elastic coordinates were confined."""
    part = one_rigid()
    basis = reduction.craig_bampton(part, 6, frame)
    body = flexmb.flexible_body(part, basis)
    force = np.random.default_rng(1).standard_normal(3 * len(body.compliance.nodes))
    _, full = compliance(part, body.compliance.nodes)
    exact = full @ force
    T = np.linalg.qr(np.random.default_rng(2).standard_normal((body.modes, 4)))[0]
    for one in (body, in_subspace(body, T)):
        rows = np.zeros((len(one.compliance.nodes), 3, one.modes))
        for surface in one.surfaces.values():
            rows[surface.places] = surface.rows
        B = rows.reshape(-1, one.modes)
        x = part.points[one.compliance.nodes]
        R = dense.rigid_columns(x, part.centre_of_mass)
        G = np.linalg.inv(
            dense.rigid_columns(part.points, part.centre_of_mass).T
            @ part.M
            @ dense.rigid_columns(part.points, part.centre_of_mass)
        )
        inv = one.invariants
        centre = part.centre_of_mass
        carried = np.vstack([inv.S1, inv.h0 - np.cross(centre, inv.S1.T).T])
        eta = ((B - R @ (G @ carried)).T @ force) / one.stiffness
        u = (B - R @ (G @ carried)) @ eta + one.compliance.matrix @ force
        assert np.abs(u - exact).max() < 1e-9 * np.abs(exact).max()


def test_second_order_motion_of_a_surface_is_that_of_its_nodes():
    part = one_rigid()
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, 6))
    eta = 1e-3 * np.random.default_rng(3).standard_normal(body.modes)
    for surface in body.surfaces.values():
        u = surface.displacements(eta)
        assert np.abs(u - body.displacements(eta, surface.nodes)).max() < 1e-6 * np.abs(u).max()
        d = np.random.default_rng(4).standard_normal(body.modes)
        step = 1e-6
        slope = (surface.displacements(eta + step * d) - surface.displacements(eta - step * d)) / (2 * step)
        assert np.abs(surface.jacobian(eta) @ d - slope).max() < 1e-8 * np.abs(slope).max()
    assert body.rigid().compliance is None
    assert [*body.rigid().surfaces] == ["top", "end"]


def test_files_and_model_files_hold_surfaces(tmp_path):
    from flexmb.files.bodies.body_file import load_body, save_body

    part = one_rigid()
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, 6))
    again = load_body(save_body(body, tmp_path / "part.h5"))
    np.testing.assert_array_equal(again.compliance.matrix, body.compliance.matrix)
    for name, surface in body.surfaces.items():
        for key, value in vars(surface).items():
            np.testing.assert_array_equal(getattr(again.surfaces[name], key), value)
    fem.write_mesh(part.mesh, tmp_path / "part.msh")
    (tmp_path / "model.toml").write_text(
        '[bodies.part]\nkind = "flexible"\nmesh = "part.msh"\nmaterial = "steel"\ninterfaces = { a = "x0" }\n'
        'surfaces = { top = "z1", end = "plane/0.3,0,0/1,0,0" }\n[simulation]\nduration = 1.0\nstep = 0.1\n'
    )
    system = flexmb.files.load_model(tmp_path / "model.toml").system
    made = system.build().bodies[0]
    assert {k: len(s.nodes) for k, s in made.surfaces.items()} == {k: len(s.nodes) for k, s in body.surfaces.items()}


def test_what_has_no_residual_compliance_is_refused():
    part = one_rigid()
    basis = reduction.modal(part, 4)
    with pytest.raises(MatrixError, match="has no surface"):
        reduction.residual_compliance(fem.Model(part.mesh, STEEL), basis)
    soft = fem.Model(part.mesh, fem.Material.aluminium()).with_interfaces(a="x0").with_surfaces(top="z1", end="x1")
    with pytest.raises(MatrixError, match="softer than the part"):
        reduction.residual_compliance(part, reduction.modal(soft, 4))
    with pytest.raises(MatrixError, match=r"finite numbers; found shape \(3, 3\)"):
        lifted(np.arange(2), np.eye(3), 1.0, "part")


def test_what_is_added_to_a_diagonal_is_what_is_said():
    """Round-off that needs more than the least: 1e-14 of the scale, then ten times as much."""
    made = lifted(np.arange(1), np.diag([1.0, 0.5, -5e-14]), 1.0, "part")
    assert made.lifted == pytest.approx(1e-13)
    np.testing.assert_allclose(made.matrix[2, 2], 5e-14, rtol=1e-9)


def test_the_schur_complement_gives_the_same_compliance_as_solves(monkeypatch):
    """Where the matrix is factorised by PARDISO; the choice between both is one of cost."""
    from fem.linear_algebra import inverse_block as module
    from fem.linear_algebra.factorisations import pardiso
    from reduction.solutions.free_compliance import _compliance, nodal_forces, surface_nodes
    from reduction.solutions.statics import statics

    if pardiso.missing() is not None:
        pytest.skip(pardiso.missing())
    for name in ("free", "one rigid"):
        part = PARTS[name]()
        with reduction.prepared(part):
            body, found = statics(part), []
            N = nodal_forces(part, surface_nodes(part))
            for least in (0, 1000):
                monkeypatch.setattr(module, "LEAST", least)
                found.append(_compliance(body, N))
        assert np.abs(found[0] - found[1]).max() < 1e-11 * np.abs(found[1]).max()
        assert found[0].max() > 0
        assert (found[0] != found[1]).any()


def test_the_command_line_inspects_and_reduces_surfaces(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from flexmb.cli.main import app
    from flexmb.files.bodies.body_file import load_body

    monkeypatch.chdir(tmp_path)
    fem.write_mesh(free().mesh, "part.msh")
    said = CliRunner().invoke(app, ["inspect", "part.msh", "--surface", "z1"]).output
    assert "area 0.03" in said
    assert "flat" in said
    made = CliRunner().invoke(
        app, ["reduce", "part.msh", "--material", "steel", "--interface", "a=x0", "--surface", "top=z1", "--modes", "4",
              "--method", "contact", "-o", "part.h5"]
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert [*load_body("part.h5").surfaces] == ["top"]
    refused = CliRunner().invoke(app, ["reduce", "part.msh", "--material", "steel", "--surface", "top", "-o", "b.h5"])
    assert "--surface expects NAME=SET" in str(refused.exception) + refused.output

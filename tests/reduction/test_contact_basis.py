"""The basis for contact: its span against the massless elimination in dense matrices, statics, and refusals."""

from functools import partial

import dense
import numpy as np
import pytest
from impact import impact, normal_rows
from scipy.linalg import eigh, null_space, subspace_angles

import fem
import flexmb
import reduction
from fem.errors import MatrixError
from fem.linear_algebra.eigen import lowest_modes
from fem.mesh.structured_meshes import block
from reduction.build import reduction_context, size_spec
from reduction.solutions.held_surfaces import held_displacement, hold_surfaces

STEEL = fem.Material.steel()


def part(**interfaces):
    model = fem.Model(block("hexahedron", (0.3, 0.1, 0.05), (5, 2, 1)), STEEL).with_surfaces(face="x1")
    return model.with_interfaces(**interfaces) if interfaces else model


def massless(model, modes, frictionless):
    """Shapes of the massless elimination, by dense matrices: fixed modes, constraint modes, the condensed nodes."""
    K, M = model.K.toarray(), model.M.toarray()
    surface = model.surfaces["face"]
    D = np.zeros((model.ndof, len(surface.nodes) * (1 if frictionless else 3)))
    if frictionless:
        for k, (node, normal) in enumerate(zip(surface.nodes, surface.normals, strict=True)):
            D[3 * node : 3 * node + 3, k] = normal
    else:
        D[(3 * surface.nodes[:, None] + np.arange(3)).ravel(), np.arange(D.shape[1])] = 1.0
    Z = null_space(D.T)
    values, V = eigh(Z.T @ K @ Z, Z.T @ M @ Z)
    still = values < 1e-9 * values[-1]
    values, Phi = values[~still][:modes], (Z @ V)[:, ~still][:, :modes]
    n, d = D.shape
    scale = K.diagonal().max()
    kkt = np.block([[K / scale, D], [D.T, np.zeros((d, d))]])
    Psi = np.linalg.lstsq(kkt, np.vstack([np.zeros((n, d)), np.eye(d)]), rcond=1e-13)[0][:n]
    P, L = Phi.T @ M @ Psi, np.diag(values)
    U = np.linalg.lstsq(Psi.T @ K @ Psi + P.T @ L @ P, P.T @ L, rcond=1e-12)[0]
    return np.hstack([dense.rigid_columns(model.points, model.centre_of_mass), Phi - Phi @ P @ U + Psi @ U])


@pytest.mark.parametrize("frictionless", [False, True])
def test_the_span_is_that_of_the_massless_elimination(frictionless):
    """Released modes are responses to the inertia forces of the held modes, in balanced combinations."""
    model = part()
    made = reduction.contact_basis(model, 8, frictionless=frictionless)
    reduction.check(made, model)
    assert made.n_modes == 8
    held = 3 if frictionless else 6
    S = massless(model, 8 + held, frictionless)
    ours = np.hstack([dense.rigid_columns(model.points, model.centre_of_mass), made.Psi])
    root = np.linalg.cholesky(model.M.toarray()).T
    assert subspace_angles(root @ ours, root @ S).max() < 1e-5


def test_modes_without_resultants_are_all_taken_into_account():
    """Between two held faces, symmetry leaves modes whose inertia forces have no moments or forces: more combinations
    are balanced than wanted, and the lowest are taken in any unit."""

    def made(unit):
        material = fem.Material.isotropic(1e7 / unit, 0.3, 1000.0 / unit**3)
        sizes = (0.3 * unit, 0.2 * unit, 0.1 * unit)
        model = fem.Model(block("hexahedron", sizes, (3, 2, 2)), material).with_surfaces(below="z0", above="z1")
        return reduction.contact_basis(model, 6)

    metres, millimetres = made(1.0), made(1000.0)
    np.testing.assert_allclose(millimetres.frequencies, metres.frequencies, rtol=1e-9)
    assert (
        metres.frequencies[0] < 137.0
    )  # of nine balanced combinations; six of them chosen by rounding have 142 or 143


def test_static_responses_at_interfaces_are_in_the_basis():
    model = part(a="x0", b=fem.Interface("z1", kind="average"))
    made = reduction.contact_basis(model, 5, "a")
    reduction.check(made, model)
    loads = dense.all_motions(model)
    R = dense.rigid_columns(model.points, model.centre_of_mass)
    loads = loads - model.M @ R @ np.linalg.solve(R.T @ (model.M @ R), R.T @ loads)
    response = dense.without_rigid_motion(model, made.Psi @ ((made.Psi.T @ loads) / made.eigenvalues[:, None]))
    full = dense.static_shapes(model, loads, np.zeros((0, model.ndof)), np.zeros((0, loads.shape[1])))
    full = dense.without_rigid_motion(model, full)
    assert np.abs(response - full).max() < 1e-8 * np.abs(full).max()


def bar():
    """Length 1, so slender that its ninth axial mode is below those of its section; nu = 0: waves along it are plane."""
    material = fem.Material.isotropic(2.1e11, 0.0, 7850.0)
    return fem.Model(block("hexahedron", (1.0, 0.1, 0.1), (100, 1, 1)), material).with_surfaces(face="x0")


def axial(model, basis):
    """Which shapes move sections along the bar without turning them."""
    x = model.points[:, 0]
    sections = (np.abs(x[:, None] - np.unique(np.round(x, 9))) < 1e-6).astype(float)
    A = np.kron(sections, np.array([[1.0], [0.0], [0.0]]))
    along = (model.M @ A).T @ basis.Psi
    return np.einsum("ik,ij,jk->k", along, np.linalg.inv(A.T @ (model.M @ A)), along) > 0.99


def bar_impact(model, basis, step):
    """Force over rho c v A, leaving speed over v and energy over that before, of a bar that hits a wall at `speed`."""
    body = flexmb.flexible_body(model, basis, geometric_stiffness="none")
    wave, speed, mass = np.sqrt(2.1e11 / 7850.0), 1.0, body.invariants.mass
    unit = 1.0 / wave  # the time a wave takes along the bar
    rows, C, along = normal_rows(body, "face", np.array([1.0, 0.0, 0.0]))
    gap = np.full(len(rows), 0.5 * unit * speed)
    done = impact(rows, C, body.stiffness, gap, along, speed, 4 * unit, step * unit)
    return done.t / unit - 0.5, done.force / (mass * speed * wave), done.velocity[-1] / speed, done.energy


def test_a_bar_leaves_a_wall_with_its_speed_and_the_constant_force():
    """With nine elastic shapes along the bar: the force is that of d'Alembert's waves, without spikes as h falls."""
    model = bar()
    held, free = reduction.contact_basis(model, 68, frictionless=True), reduction.modal(model, 61)
    assert axial(model, held).sum() == 9
    assert axial(model, free).sum() == 9
    errors, peaks = {}, []
    for name, basis, step in (("held", held, 1e-3), ("fine", held, 2.5e-4), ("free", free, 1e-3)):
        t, force, speed, energy = bar_impact(model, basis, step)
        inside = (t > 0.2) & (t < 1.8)
        errors[name] = np.sqrt(((force[inside] - 1) ** 2).mean())
        peaks.append(force.max())
        assert speed > 0.99
        assert abs(energy[-1] / energy[0] - 1) < 2e-3
    assert errors["held"] < 0.03
    assert errors["held"] < 0.1 * errors["free"]
    assert peaks[1] < 1.05 * peaks[0] < 1.6  # where the front arrives; it does not grow with 1 / h


def falling_block():
    """Two by one and thin; time in units in which waves take 1/31.6 for a length."""
    material = fem.Material.isotropic(2.1e11, 0.3, 7850.0)
    return fem.Model(block("hexahedron", (2.0, 1.0, 0.1), (20, 10, 1)), material).with_surfaces(below="y0")


def in_plane(model, basis):
    """Which shapes are mirrored at the middle of the thickness."""
    place = {tuple(np.round(x, 6)): k for k, x in enumerate(model.points)}
    other = [place[x, y, round(0.1 - z, 6)] for x, y, z in np.round(model.points, 6)]
    shapes = basis.Psi.reshape(-1, 3, basis.n_modes)
    mirrored = shapes[other] * np.array([1.0, 1.0, -1.0])[:, None]
    return np.einsum("nkm,nkm->m", shapes, mirrored) > 0.9 * np.einsum("nkm,nkm->m", shapes, shapes)


def full_block(model, gaps, unit, step, duration):
    """Force on the ground in the full model: all its modes, a stiff spring at each node, velocity Verlet."""
    w2, V = eigh(model.K.toarray(), model.M.toarray())
    w2 = np.maximum(w2, 0.0)
    surface = model.surfaces["below"]
    rows = V[3 * surface.nodes + 1]
    spring = 20 * 2.1e11 * 0.1
    q, v = np.zeros(len(w2)), -(V.T @ (model.M @ model.rigid_body_modes()[:, 1]))
    a, found = np.zeros(len(w2)), []
    for k in range(round(duration / step)):
        v = v + 0.5 * step * a
        q = q + step * v
        push = spring * np.maximum(-(gaps + rows @ q), 0.0)
        a = push @ rows - w2 * q
        v = v + 0.5 * step * a
        found.append(((k + 1) * step, push.sum()))
    return np.array(found).T


@pytest.mark.long
@pytest.mark.parametrize("tilt", [0.0, 0.02])
def test_a_block_that_falls_on_its_face_meets_the_force_of_the_full_model(tilt):
    """Averaged over 0.02, within 2 % of the peak, rms, with some 48 shapes in the plane of the block."""
    model = falling_block()
    unit = np.sqrt(1000.0) / np.sqrt(2.1e11 / 7850.0)
    basis = reduction.contact_basis(model, 112, frictionless=True)
    assert 46 <= in_plane(model, basis).sum() <= 50
    body = flexmb.flexible_body(model, basis, geometric_stiffness="none")
    rows, C, up = normal_rows(body, "below", np.array([0.0, 1.0, 0.0]))
    gaps = (0.02 + tilt * body.surfaces["below"].points[:, 0]) * unit
    done = impact(rows, C, body.stiffness, gaps, up, 1.0, 1.2 * unit, 1e-3 * unit)
    t, force = full_block(model, gaps, unit, 5e-5 * unit, 1.2 * unit)
    fine = np.interp(done.t, t, np.convolve(force, np.full(400, 1 / 400), "same"))
    mean = np.convolve(done.force, np.full(20, 1 / 20), "same")
    assert np.sqrt(((mean - fine) ** 2).mean()) < 0.02 * fine.max()
    assert abs(done.energy[-1] / done.energy[0] - 1) < 5e-3


def test_a_part_without_surfaces_is_refused():
    model = fem.Model(block("hexahedron", (0.3, 0.1, 0.05), (5, 2, 1)), STEEL)
    with pytest.raises(MatrixError, match="has no surface"):
        reduction.contact_basis(model)
    with pytest.raises(
        MatrixError, match=r"surfaces \('a', 'b'\) held, no node is left to move: they hold 24 of 24 dofs"
    ):
        reduction.contact_basis(
            fem.Model(block("hexahedron", (1, 1, 1), (1, 1, 1)), STEEL).with_surfaces(a="x1", b="x0")
        )


@pytest.mark.parametrize("thickness", [0.01, 0.004])
def test_modes_of_flat_parts_held_at_one_side_are_those_of_the_remaining_nodes(thickness):
    """The part bends a hundred thousand times as far as it moves with this side at rest."""
    mesh = block("hexahedron20", (0.4, 0.3, thickness), (6, 5, 1))
    model = fem.Model(mesh, fem.Material.steel()).with_surfaces(top="z1")
    context = reduction_context(model, size_spec(4, None, None, least=1), None, None)
    held = hold_surfaces(context.body, frictionless=False)
    free = np.setdiff1d(np.arange(model.ndof), (3 * model.surfaces["top"].nodes[:, None] + np.arange(3)).ravel())
    exact = eigh(*(A[free][:, free].toarray() for A in (model.K, model.M)), eigvals_only=True)
    found = lowest_modes(partial(held_displacement, held), model.M, 300)
    assert found.eigenvalues == pytest.approx(exact[:300], rel=1e-6)
    assert np.abs(held.D.T @ found.vectors).max() < 1e-6 * np.abs(found.vectors).max()
    assert reduction.contact_basis(model, modes=300).n_modes == 300


def test_released_modes_that_are_static_shapes_are_not_taken_twice():
    """Twisting a block of two layers of cells is both the static response to a moment and a released mode."""
    mesh = block("hexahedron", (0.1, 0.1, 0.1), (2, 2, 2))
    part = fem.Model(mesh, fem.Material.isotropic(1e6, 0.3, 1000.0))
    part = part.with_interfaces(load="z1").with_surfaces(bottom="z0")
    basis = reduction.contact_basis(part, 4)
    assert basis.n_modes == 6 + 4
    twist = reduction.craig_chang(part, 6)  # the span of its static shapes is in the basis
    gram = basis.Psi.T @ (part.M @ twist.Psi)
    statics = np.linalg.svd(gram)[1]
    assert (statics > 1 - 1e-9).sum() >= 6

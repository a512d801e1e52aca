"""Damping that couples elastic coordinates, and gyroscopic forces, in bodies and their motion."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.sparse as sp

import fem
import flexmb
import flexmb.linear
import reduction
from fem.errors import ConvergenceError, MatrixError
from fem.mesh.structured_meshes import block
from flexmb.bodies.subspace import in_subspace
from flexmb.errors import FileError, MechanismError, StudyError
from flexmb.files import load_body, save_body
from flexmb.results.elements.energy import energy_by_element
from flexmb.spatial.lie import skew

METHODS = {
    "generalised-alpha": lambda step: flexmb.GeneralisedAlpha(step=step),
    "hht": lambda step: flexmb.HHT(step=step / 2),
    "radau": lambda step: flexmb.Radau(tolerance=1e-9),
    "bdf": lambda step: flexmb.BDF(tolerance=1e-9),
    "explicit": lambda step: flexmb.Explicit(),
}


def bar(damping=None):
    own = fem.Model(block("hexahedron", (1.0, 0.1, 0.06), (6, 1, 1)), fem.Material.steel())
    made = fem.Model.from_matrices(own.M, own.K, own.points, "bar", damping=None if damping is None else damping(own))
    return made.with_interfaces(root=fem.on_plane((0, 0, 0), (1, 0, 0)), tip=fem.on_plane((1, 0, 0), (1, 0, 0)))


def three_points(own):
    """A damper that resists bending of three nodes, along y and z at once."""
    at = [int(np.argmin(np.linalg.norm(own.points - [x, 0, 0], axis=1))) for x in (0, 0.5, 1.0)]
    row = sp.lil_matrix((1, own.K.shape[0]))
    for node, factor in zip(at, (1.0, -2.0, 1.0), strict=True):
        row[0, 3 * node + 1], row[0, 3 * node + 2] = factor, 0.5 * factor
    return 5e3 * (row.T @ row)


@pytest.fixture(scope="module")
def damped():
    model = bar(three_points)
    return flexmb.flexible_body(model, reduction.modal(model, 4))


def test_the_matrix_of_a_model_is_that_of_its_body(damped):
    model = bar(three_points)
    Psi = reduction.modal(model, 4).Psi
    D = Psi.T @ (model.D @ Psi)
    np.testing.assert_allclose(np.diag(damped.damping) + damped.velocity_matrix[6:, 6:], D, atol=1e-9 * abs(D).max())
    assert not damped.velocity_matrix[:6].any()
    proportional = bar(lambda own: 1e-5 * own.K)
    body = flexmb.flexible_body(proportional, reduction.modal(proportional, 4))
    assert body.velocity_matrix is None
    np.testing.assert_allclose(body.damping, 1e-5 * body.stiffness, rtol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_a_free_body_decays_as_its_matrices_say(name, damped):
    """At small amplitudes, in the axes of mean motion, `eta'' + D eta' + K eta = 0` exactly; the ledger closes."""
    T = 2.0 / damped.frequencies[0]
    system = flexmb.System()
    eta = 1e-5 * np.array([1.0, 0.4, -0.3, 0.2])
    system.add(damped, eta=eta)
    result = flexmb.simulate(system, T, method=METHODS[name](T / 1600))
    m = damped.modes
    D = np.diag(damped.damping) + damped.velocity_matrix[6:, 6:]
    A = np.block([[np.zeros((m, m)), np.eye(m)], [-np.diag(damped.stiffness), -D]])
    exact = scipy.linalg.expm(A * T) @ np.concatenate([eta, np.zeros(m)])
    assert abs(result.elastic("bar")[-1] - exact[:m]).max() < 5e-3 * abs(eta).max()
    assert abs(result.ledger.residual).max() < 2e-2 * result.ledger.total[0]
    heat = energy_by_element(result, result.multipliers, result.ledger)["bar"].heat
    np.testing.assert_allclose(heat[-1], result.ledger.modal_heat[-1], rtol=2e-2)


def gyrostat(H):
    C = np.zeros((6, 6))
    C[3:, 3:] = -skew(H)
    return replace(flexmb.rigid_body("satellite", mass=2.0, inertia=(0.3, 0.5, 0.7)), velocity_matrix=C)


@pytest.mark.parametrize("name", ["generalised-alpha", "radau", "explicit"])
def test_a_wheel_in_a_body_turns_it_as_euler_says(name):
    """A gyrostat: `J omega' = -omega x (J omega + H)`; H is constant in the body."""
    H, omega = np.array([0.2, -0.1, 0.5]), np.array([0.3, 1.0, -0.4])
    system = flexmb.System()
    system.add(gyrostat(H), angular_velocity=omega)
    result = flexmb.simulate(system, 2.0, method=METHODS[name](2e-3))
    J = np.diag([0.3, 0.5, 0.7])
    exact = scipy.integrate.solve_ivp(
        lambda t, w: np.linalg.solve(J, -np.cross(w, J @ w + H)), (0, 2.0), omega, rtol=1e-11, atol=1e-12
    ).y[:, -1]
    assert abs(result.w[-1, 3:6] - exact).max() < 2e-5
    assert abs(result.ledger.residual).max() < 1e-5 * result.ledger.kinetic[0]


@pytest.mark.parametrize(("size", "modes"), [(1.0, 3), (1e-2, 1)])
def test_gyroscopic_forces_of_a_model_act_in_rigid_motion(size, modes):
    """A wheel at a node of shells gives the moment `-omega x H` of the whole body, and couples its coordinates, beside
    damping of the material and in tiny parts, too."""
    mesh = fem.structured_meshes.sheet("quad", (0.4 * size, 0.3 * size), (4, 3))
    own = fem.Model(mesh, fem.Shell(fem.Material.steel(), 0.01 * size))
    n = len(mesh.points)
    at = np.argwhere(np.ones((n, 6)))
    order = np.hstack([np.arange(3 * n).reshape(n, 3), 3 * n + np.arange(3 * n).reshape(n, 3)]).ravel()
    H = np.array([0.3, 0.2, 0.6]) * size**5
    G = sp.lil_matrix((6 * n, 6 * n))
    G[63:66, 63:66] = -skew(H)  # the rotations of node 10
    M, K = (A[order][:, order] for A in (own.M, own.K))
    part = fem.Model.from_matrices(M, K, mesh.points, dofs=at, damping=1e-6 * K + G)
    basis = reduction.modal(part, modes)
    body = flexmb.flexible_body(part, basis)
    np.testing.assert_allclose(body.velocity_matrix[3:6, 3:6], -skew(H), atol=1e-9 * abs(H).max())
    turns = part.dof_map.expand(basis.Psi)[part.dof_map.rotations(10)]
    np.testing.assert_allclose(
        body.velocity_matrix[3:6, 6:], -skew(H) @ turns, atol=1e-9 * abs(H).max() * abs(turns).max()
    )
    forces = 1e-9 * np.sqrt(part.mass) * body.damping.max()
    assert abs(body.velocity_matrix[:3]).max() < forces


def test_small_motions_include_it(damped):
    system = flexmb.System()
    system.add(damped)
    values = flexmb.linear.linearise(system).modes().eigenvalues
    D = np.diag(damped.damping) + damped.velocity_matrix[6:, 6:]
    m = damped.modes
    exact = np.linalg.eigvals(np.block([[np.zeros((m, m)), np.eye(m)], [-np.diag(damped.stiffness), -D]]))
    for value in exact[exact.imag > 0]:
        assert abs(values - value).min() < 1e-6 * abs(value)


@pytest.mark.parametrize("ending", ["h5", "npz", "mat", "SID_FEM", "fem"])
def test_files_keep_it(ending, damped, tmp_path):
    path = tmp_path / f"bar.{ending}"
    save_body(damped, path)
    again = load_body(path)
    D, E = (np.diag(b.damping) + b.velocity_matrix[6:, 6:] for b in (damped, again))
    np.testing.assert_allclose(abs(E), abs(D), atol=1e-6 * abs(D).max())  # signs of modes are free
    turning = replace(damped, velocity_matrix=_with_wheel(damped))
    if ending in ("SID_FEM", "fem"):
        with pytest.raises(FileError, match="gyroscopic forces in rigid motion"):
            save_body(turning, path)
    else:
        save_body(turning, path)
        np.testing.assert_array_equal(load_body(path).velocity_matrix, turning.velocity_matrix)


def _with_wheel(body):
    C = body.velocity_matrix.copy()
    C[3:6, 3:6] = -skew([0.0, 1.0, 0.0])
    return C


def test_it_follows_the_coordinates(damped):
    turning = replace(damped, velocity_matrix=_with_wheel(damped))
    T = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 2)))[0]
    small = in_subspace(turning, T)
    assert small.velocity_matrix.shape == (8, 8)
    np.testing.assert_allclose(small.velocity_matrix[3:6, 3:6], -skew([0.0, 1.0, 0.0]))
    np.testing.assert_allclose(turning.rigid().velocity_matrix, turning.velocity_matrix[:6, :6])


def test_methods_without_it_refuse_it(damped):
    system = flexmb.System()
    system.add(damped)
    with pytest.raises(MechanismError, match="energy-momentum' does not include damping that couples"):
        flexmb.simulate(system, 1e-3, step=1e-5, method="energy-momentum")

    def model(mass):
        made = flexmb.System()
        made.add(replace(gyrostat([0, 0, 1.0]), name="a"))
        return made

    with pytest.raises((MechanismError, StudyError), match="does not include damping that couples"):
        flexmb.study.adjoint_gradient(model, {"mass": 1.0}, 0.1, lambda result: result.t, step=1e-2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda C: C[:-1], r"shape \(9, 10\)"),
        (lambda C: np.where(np.eye(10), np.nan, C), "finite"),
        (lambda C: C + np.diag([1.0] * 6 + [0.0] * 4), "damps rigid motion"),
        (lambda C: C - 1e5 * np.diag([0.0] * 6 + [1.0] * 4), "would supply energy"),
    ],
)
def test_wrong_matrices_are_refused(change, words, damped):
    with pytest.raises(MatrixError, match=words):
        replace(damped, velocity_matrix=change(damped.velocity_matrix))


@pytest.mark.parametrize(("method", "step"), [("generalised-alpha", 1e-3), ("hht", 1e-3), ("generalised-alpha", 2e-4)])
def test_steps_that_fail_by_strongly_coupled_damping_name_it(method, step, damped):
    """A damper across all coordinates, of which the iteration has the diagonal only: Radau's method has all of it."""
    across = np.array([0.6, 0.5, -0.5, 0.4])
    whole = 1e7 * np.outer(across, across)
    C = np.zeros((10, 10))
    C[6:, 6:] = whole - np.diag(np.diag(whole))
    system = flexmb.System()
    body = system.add(replace(damped, name="bar", damping=np.diag(whole).copy(), velocity_matrix=C))
    system.load("push", body["tip"], force=(0.3, 1.0, 2.0), factor=flexmb.time_functions.pulse(0.0, 0.02, 1.0))
    with pytest.raises(ConvergenceError, match=r"damping of 'bar' couples elastic coordinates.*'radau' or 'bdf'"):
        flexmb.simulate(system, 0.02, method=method, step=step)
    result = flexmb.simulate(system, 0.02, method="radau", output_step=1e-3)
    assert result.verdict.sound

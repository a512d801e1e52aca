"""One body: reference equations against brute force over points, compiled kernels against the reference."""

import numpy as np
import pytest
from mechanisms import invariants_of_points

from flexmb.bodies.body import Body
from flexmb.bodies.dynamics import first_moment, inertia_force, mass_matrix
from flexmb.kernels.base.data import FIRST_ORDER, SECOND_ORDER, scratch_size
from flexmb.kernels.equations.bodies import body_terms
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.spatial.lie import rotation_exp, skew

RNG = np.random.default_rng(7)


def point_cloud(n=12, m=4, second_order=True):
    """Random point masses with random modes and a random second-order field; mass-orthonormal modes."""
    mass = RNG.uniform(0.5, 1.5, n)
    X = RNG.normal(size=(n, 3))
    Psi = RNG.normal(size=(n, 3, m))
    L = np.linalg.cholesky(np.einsum("p,pki,pkj->ij", mass, Psi, Psi))
    Psi = np.einsum("pki,ij->pkj", Psi, np.linalg.inv(L).T)
    g = RNG.normal(size=(n, 3, m, m)) * (0.3 if second_order else 0.0)
    return mass, X, Psi, g + g.transpose(0, 1, 3, 2)


def body_of(mass, X, Psi, g):
    """The body record of a point cloud, every integral a plain sum over points."""
    m = Psi.shape[2]
    invariants = invariants_of_points(mass, X, Psi, g)
    return Body("cloud", invariants, stiffness=np.full(m, 10.0), damping=np.zeros(m), deflection=np.ones(m))


@pytest.fixture(params=[True, False], ids=["second-order", "first-order"])
def cloud(request):
    data = point_cloud(second_order=request.param)
    return data, body_of(*data)


def test_kinetic_energy_equals_the_sum_over_points_to_second_order(cloud):
    (mass, X, Psi, g), body = cloud
    v, omega = RNG.normal(size=3), RNG.normal(size=3)
    eta, rate = RNG.normal(size=4), RNG.normal(size=4)
    errors = []
    for scale in (1e-2, 5e-3):
        e, de = scale * eta, scale * rate
        c = X + Psi @ e + 0.5 * np.einsum("pkij,i,j->pk", g, e, e)
        cdot = Psi @ de + np.einsum("pkij,i,j->pk", g, e, de)
        velocity = v + np.cross(omega, c) + cdot
        exact = 0.5 * mass @ (velocity**2).sum(axis=1)
        w = np.concatenate([v, omega, de])
        errors.append(abs(0.5 * w @ mass_matrix(body, e) @ w - exact) / exact)
    if g.any():  # truncated at third order in the deformation
        assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.2)
    else:
        assert max(errors) < 1e-14


def test_inertia_force_is_the_lagrangian_derivative_of_the_kinetic_energy(cloud):
    """`bias` against differences of the momenta along a motion, with momentum balance in world axes."""
    _, body = cloud
    m = body.modes
    eta, w, wdot = 0.1 * RNG.normal(size=m), RNG.normal(size=6 + m), RNG.normal(size=6 + m)
    r, theta = RNG.normal(size=3), RNG.normal(size=3)
    R0 = rotation_exp(theta)
    omega = w[3:6]
    h = 1e-5

    def world(s):
        """World momentum, angular momentum about the origin and elastic momentum at time s (motion known to second order)."""
        R = R0 @ rotation_exp(s * omega + 0.5 * s * s * wdot[3:6])
        position = r + R0 @ (s * w[:3] + 0.5 * s * s * (wdot[:3] + skew(omega) @ w[:3]))
        e = eta + s * w[6:] + 0.5 * s * s * wdot[6:]
        p = mass_matrix(body, e) @ (w + s * wdot)
        linear = R @ p[:3]
        return np.concatenate([linear, R @ p[3:6] + np.cross(position, linear), p[6:]])

    rate = (world(h) - world(-h)) / (2 * h)

    def T(e):
        return 0.5 * w @ mass_matrix(body, e) @ w

    dT = np.array([(T(eta + h * d) - T(eta - h * d)) / (2 * h) for d in np.eye(m)])
    force = R0.T @ rate[:3]
    moment = R0.T @ (rate[3:6] - np.cross(r, rate[:3]))
    expected = np.concatenate([force, moment, rate[6:] - dT])
    found = mass_matrix(body, eta) @ wdot + inertia_force(body, eta, w)
    assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()


def test_compiled_body_terms_equal_the_reference(cloud):
    _, body = cloud
    m = body.modes
    start = State(0.0, np.array([0, 0, 0, 1.0, 0, 0, 0] + [0.0] * m), np.zeros(6 + m))
    flat = compiled(Mechanism("one", np.zeros(3), (body,), (), (), (), {}, (), (), start))
    assert flat.slices[0] == (SECOND_ORDER if body.invariants.SG.any() else FIRST_ORDER)
    eta, w = RNG.normal(size=m), RNG.normal(size=6 + m)
    Mrr, Mre, bias = np.zeros((6, 6)), np.zeros((6, m)), np.zeros(6 + m)
    kinetic, s = body_terms(
        flat, 0, eta, w, np.zeros(scratch_size(m)), Mrr, np.zeros((6, 6)), Mre, np.zeros((2, 6)), bias
    )
    np.testing.assert_allclose(s, first_moment(body, eta), atol=1e-13)
    M = mass_matrix(body, eta)
    np.testing.assert_allclose(Mrr, M[:6, :6], atol=1e-13)
    np.testing.assert_allclose(Mre, M[:6, 6:], atol=1e-13)
    np.testing.assert_allclose(bias, inertia_force(body, eta, w), atol=1e-11)
    assert kinetic == pytest.approx(0.5 * w @ M @ w, rel=1e-13)


def test_first_moment_is_the_coupling_block(cloud):
    _, body = cloud
    eta = RNG.normal(size=body.modes)
    np.testing.assert_allclose(mass_matrix(body, eta)[3:6, :3], skew(first_moment(body, eta)), atol=1e-14)

"""The explicit integrator: its order, its projection, its agreement with the others."""

import numpy as np
import pytest
from mechanisms import double_pendulum, slider_crank, turning_loop

import flexmb
from fem.errors import ConvergenceError
from flexmb.equations.evaluation import Equations
from flexmb.kernels.calls import displace
from flexmb.mechanism.compile import compiled

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("make", [double_pendulum, turning_loop])
def test_order_is_five_in_positions_velocities_and_reactions(make):
    mechanism = make().build()
    exact = flexmb.simulate(mechanism, 0.4, method="radau", tolerance=1e-13, output_step=0.1)
    steps, errors = np.array([0.02, 0.01, 0.005]), []
    for step in steps:
        result = flexmb.simulate(mechanism, 0.4, method="explicit", step=step, output_step=0.1)
        joint = mechanism.joints[0].name
        pairs = ((result.q, exact.q), (result.w, exact.w), (result.reaction(joint), exact.reaction(joint)))
        errors.append([np.abs(a - b).max() / np.abs(b).max() for a, b in pairs])
    orders = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    np.testing.assert_array_less(
        4.7, orders
    )  # order 5; the finest is close to the accuracy of the accelerations (1e-10)


def test_it_agrees_with_radau_and_keeps_joints_and_energy():
    mechanism = turning_loop().build()
    ours, theirs = (flexmb.simulate(mechanism, 1.0, method=name, tolerance=1e-9, output_step=0.01) for name in ("explicit", "radau"))  # fmt: skip
    assert np.abs(ours.q - theirs.q).max() < 1e-7
    assert np.abs(ours.ledger.residual).max() < 1e-7 * ours.ledger.exchange
    e = Equations(mechanism, ours.q[0])
    for k in range(0, len(ours.t), 10):
        functions = mechanism.function_values(ours.t[k])
        e.residual(functions, ours.q[k], ours.w[k], ours.wdot[k], ours.multipliers[k])
        assert np.abs(e.workspace.values[: e.flat.joint_rows]).max() < 1e-13
        assert np.abs(e.broken_rates(functions, ours.w[k])).max() < 1e-12


def test_the_projection_is_orthogonal_in_the_metric_of_the_mass():
    """Invariants of the projectors of Sofer, Bach and Brauchli: idempotent, self-adjoint in the mass, and kinetic energy splits into that of both parts."""
    mechanism = slider_crank().build()
    q = mechanism.initial.q.copy()
    nv = len(mechanism.initial.w)
    moved = np.empty_like(q)
    displace(compiled(mechanism), q, 1e-3 * RNG.normal(size=nv), moved)
    e = Equations(mechanism, moved)
    functions = mechanism.function_values(0.0)
    e.residual(functions, moved, np.zeros(nv), np.zeros(nv), np.zeros(mechanism.joint_rows))
    M = e.mass().toarray()

    def allowed(w):
        return w - e.mass_weighted_projection(e.broken_rates(functions, w))

    alpha = np.array([allowed(unit) for unit in np.eye(nv)]).T
    beta = np.eye(nv) - alpha
    np.testing.assert_allclose(alpha @ alpha, alpha, atol=1e-9)
    np.testing.assert_allclose(alpha @ beta, 0, atol=1e-9)
    np.testing.assert_allclose(M @ alpha, (M @ alpha).T, atol=1e-9 * np.abs(M).max())
    assert np.linalg.matrix_rank(alpha, tol=1e-6) == nv - np.linalg.matrix_rank(beta, tol=1e-6)
    for _ in range(5):
        w = RNG.normal(size=nv)
        parts = [0.5 * x @ M @ x for x in (alpha @ w, beta @ w)]
        assert sum(parts) == pytest.approx(0.5 * w @ M @ w, rel=1e-10)
        assert parts[0] <= 0.5 * w @ M @ w * (1 + 1e-12)


def test_positions_far_from_the_joints_are_put_back_by_the_least_motion():
    """Put back twice is put back; velocities that were allowed stay as they are."""
    mechanism = double_pendulum().build()
    begin = flexmb.simulate(mechanism, 1e-3, step=1e-3)
    q, w = begin.q[-1], begin.w[-1]
    e = Equations(mechanism, q)
    none = np.zeros(mechanism.joint_rows)
    again, same = e.project(begin.t[-1], q, w, begin.wdot[-1], none)
    np.testing.assert_allclose(again, q, atol=1e-12)
    off = e.displaced(q, 1e-4 * RNG.normal(size=len(w)))
    back, _ = e.project(begin.t[-1], off, w, begin.wdot[-1], none)
    twice, _ = e.project(begin.t[-1], back, w, begin.wdot[-1], none)
    np.testing.assert_allclose(twice, back, atol=1e-13)
    assert (
        np.abs(same - w).max() < 1e-4 * np.abs(w).max()
    )  # generalised-alpha's velocities break joints by its own error


def test_a_stiff_mechanism_is_refused_with_a_reason():
    system = flexmb.System()
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
    system.joint_spring("stiff", "hinge", stiffness=1e12, damping=1e7)
    system.set_speed("hinge", 1.0)
    with pytest.raises(ConvergenceError, match=r"^The integration of .* fails at t .*Stiff springs need very small"):
        flexmb.simulate(system, 1.0, method="explicit", step=1e-3)

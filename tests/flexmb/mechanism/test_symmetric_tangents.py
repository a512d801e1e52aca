"""Symmetric, positive tangents of laws between frames are compliances in the matrix of the rows: against the general
form of the matrix, by linear algebra and by motions."""

import warnings

import numpy as np
import pytest

import flexmb
from flexmb.equations.evaluation import Equations
from flexmb.kernels.steps.coupled import NEGLIGIBLE, YIELDING, add_compliances

LOWER = np.tril_indices(6)


@flexmb.law(parameters={"k": 0.0, "c": 0.0, "turn": 0.0, "across": 0.0})
def tie(t, relative, states, parameters, wrench, rates):
    """A spring and damper along the direction (1, 2, 2) / 3, with a tangent of rank one; moments of the sine of the
    rotation, whose tangent is symmetric without rotation only; forces across the displacement, whose tangent has no
    symmetric part."""
    k, c, turn, across = parameters
    d, v, S, omega = relative.d, relative.v, relative.S, relative.omega
    effort = -k * (d[0] + 2 * d[1] + 2 * d[2]) / 3 - c * (v[0] + 2 * v[1] + 2 * v[2]) / 3
    wrench[0], wrench[1], wrench[2] = effort / 3 - across * d[1], 2 * effort / 3 + across * d[0], 2 * effort / 3
    for i in range(3):
        p, q = (i + 1) % 3, (i + 2) % 3
        wrench[3 + i] = -0.5 * turn * (S[q, p] - S[p, q]) - 0.01 * turn * omega[i]


def box(system, name, **options):
    return system.add(flexmb.rigid_body(name, mass=2.0, inertia=(0.1, 0.2, 0.3)), **options)


@pytest.fixture(scope="module")
def equations():
    system = flexmb.System()
    system.force("tie", system.ground.at((0, 0, 0)), box(system, "box").at((0, 0, 0)), tie())
    mechanism = system.build()
    return Equations(mechanism, mechanism.initial.q)


def with_compliances(equations, W, K):
    """`W + C` (6, 6) for the matrix `W` of the rows and the tangent `K`; None if `K` is refused."""
    flat, workspace = equations.flat, equations.workspace
    workspace.S[:] = workspace.L[:] = W[LOWER]
    workspace.tangents[0] = K
    if not add_compliances.py_func(flat, workspace):
        return None
    full = np.zeros((6, 6))
    full[LOWER] = workspace.L
    return full + np.tril(full, -1).T


def scaled(seed):
    """A matrix `W` of rows with unlike units, and the square roots of the inverse of its diagonal."""
    random = np.random.default_rng(seed)
    A, units = random.normal(size=(6, 9)), 10.0 ** np.array([-7, -7, -6, -3, -3, -2])
    W = units[:, None] * (A @ A.T) * units
    return random, W, 1.0 / np.sqrt(np.diag(W))


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_compliances_solve_the_general_form(equations, rank):
    """`(W + C)^-1 = K (I + W K)^-1`, to the stiffness that is added."""
    random, W, size = scaled(rank)
    B = size[:, None] * random.normal(size=(6, rank))
    K = B @ B.T
    found = np.linalg.inv(with_compliances(equations, W, K))
    general = K @ np.linalg.inv(np.eye(6) + W @ K)
    assert found / np.outer(size, size) == pytest.approx(general / np.outer(size, size), abs=20 * YIELDING)


def test_what_couples_little_is_neglected(equations):
    _, W, size = scaled(0)
    K, beside = np.diag(size**2), np.outer(size, size) * (np.eye(6, k=1) + np.eye(6, k=-1))
    for part in (0.9, 1.1):
        found = with_compliances(equations, W, K + part * NEGLIGIBLE * beside) - W
        found[np.diag_indices(6)] -= 1 / (size**2 * (1 + YIELDING))
        beyond = np.abs(found * np.outer(size, size)).max()
        assert beyond < 1e-13 if part < 1.0 else 0.9 * NEGLIGIBLE < beyond < 2 * NEGLIGIBLE


def test_what_is_not_symmetric_or_positive_is_refused(equations):
    random, W, size = scaled(0)
    B = size[:, None] * random.normal(size=(6, 6))
    K, across = B @ B.T, np.outer(size, size) * (np.eye(6, k=1) - np.eye(6, k=-1))
    assert with_compliances(equations, W, K + 0.9 * NEGLIGIBLE * across) is not None
    assert with_compliances(equations, W, K + 1.1 * NEGLIGIBLE * across) is None
    assert with_compliances(equations, W, -1e-3 * np.diag(size**2)) is None
    assert with_compliances(equations, W, K - 2.0 * np.linalg.norm(B) ** 2 * np.diag(size**2)) is None
    assert with_compliances(equations, W, np.nan * K) is None


def loop(unsymmetric):
    """Plane bars in a loop, with redundant joint equations, that laws pull; with a body at rest on a swirl, whose
    tangent gives the matrix of the whole mechanism the general form."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    ends = [(0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0)]
    before = system.ground
    for k in range(3):
        middle = (np.array(ends[k]) + ends[k + 1]) / 2
        body = box(system, f"bar {k}", position=tuple(middle))
        system.revolute(f"pin {k}", before, body, axis=(0, 0, 1), at=ends[k])
        system.force(f"pull {k}", system.ground.at(tuple(middle)), body.at((0, 0, 0)), tie(k=500.0, c=20.0))
        system.force(f"turn {k}", system.ground.at(tuple(middle)), body.at((0, 0, 0)), tie(turn=300.0))
        before = body
    system.revolute("pin 3", before, system.ground, axis=(0, 0, 1), at=ends[3])
    system.set_speed("pin 0", 2.0)
    still = box(system, "still")
    system.fixed("hold", system.ground, still, at=(0, 0, 0))
    law = tie(across=1e9) if unsymmetric else tie(k=1e9)
    system.force("film", system.ground.at((0, 0, 0)), still.at((0, 0, 0)), law)
    return system


def test_motions_are_those_of_the_general_form():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", flexmb.RedundantConstraintWarning)
        own, general = (flexmb.simulate(loop(unsymmetric), 0.2, step=1e-3) for unsymmetric in (False, True))
    assert np.abs(own.q - own.q[0]).max() > 0.02
    assert own.q == pytest.approx(general.q, abs=1e-8)
    assert own.w == pytest.approx(general.w, abs=1e-6)
    assert own.statistics.iterations <= general.statistics.iterations + 5

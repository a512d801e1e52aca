"""Pushes of frictionless contacts: the conditions themselves, least norm, other solvers, cases known by heart."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import nnls

from flexmb.errors import UnilateralError
from flexmb.simulation.unilateral import complementary


def by_enumeration(W, b, both):
    """The velocities of the solution, found by trying every set of rows that carry."""
    n, size = len(b), np.abs(b).max()
    for carried in product([False, True], repeat=n):
        rows = np.array(carried) | both
        p = np.zeros(n)
        if rows.any():
            p[rows] = np.linalg.lstsq(W[np.ix_(rows, rows)], -b[rows], rcond=1e-12)[0]
        v = W @ p + b
        if (
            (p[~both] >= -1e-10).all()
            and (v[~both] >= -1e-9 * size).all()
            and np.abs(v[rows]).max(initial=0) < 1e-9 * size
        ):
            return v
    return None


@pytest.mark.parametrize("seed", range(60))
def test_the_conditions_are_met_and_the_velocities_are_unique(seed):
    """Regular and redundant problems, with rows of both sorts and responses over eight decades."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    rank = int(rng.integers(1, n + 3))
    scale = 10.0 ** rng.uniform(-4, 4, size=n)
    G = scale[:, None] * rng.normal(size=(n, rank))
    W, b = G @ G.T, G @ rng.normal(size=rank)
    both = rng.uniform(size=n) < 0.3
    push, velocity = complementary(W, b, both)
    size = scale * np.linalg.norm(b / scale)
    assert (push[~both] >= 0).all()
    assert (velocity[~both] >= -1e-10 * size[~both]).all()
    assert (np.abs(velocity[both]) <= 1e-10 * size[both]).all()
    assert not (push * velocity)[~both].any()
    np.testing.assert_allclose((W @ push + b) / size, velocity / size, atol=1e-9)
    expected = by_enumeration(W / np.outer(scale, scale), b / scale, both)
    np.testing.assert_allclose(velocity / scale, expected, atol=1e-8 * np.abs(b / scale).max())


@pytest.mark.parametrize("seed", range(20))
def test_many_redundant_contacts_share_their_load_with_the_least_norm(seed):
    """A slab on forty points of three-dimensional contact: the pushes against a bounded quadratic program."""
    rng = np.random.default_rng(seed)
    n = 40
    points = rng.uniform(-1, 1, size=(n, 2))
    G = np.column_stack([np.ones(n), points])
    W = G @ np.diag([1.0, 3.0, 2.0]) @ G.T
    b = G @ np.diag([1.0, 3.0, 2.0]) @ [-1.0, *rng.uniform(-0.2, 0.2, 2)]
    push, velocity = complementary(W, b)
    assert velocity.min() >= 0
    wrench = G.T @ push
    d = np.sqrt(np.diag(W))
    stiff = np.vstack([1e4 * G.T / d, np.eye(n)])  # least norm of the scaled pushes under a weighty wrench
    reference, _ = nnls(stiff, np.append(1e4 * wrench, np.zeros(n)), maxiter=1000)
    assert np.linalg.norm(d * push) <= np.linalg.norm(reference) * (1 + 1e-7)


def test_a_table_presses_evenly_and_a_leg_without_load_is_not_pulled():
    G = np.array([[1, x, y] for x, y in product((-1.0, 1.0), (-1.0, 1.0))])
    W = G @ G.T
    np.testing.assert_allclose(complementary(W, -9.81 * np.ones(4)).push, 9.81 / 4, rtol=1e-14)
    push = complementary(W, G @ [-1.0, -0.9, -0.9]).push  # a load outside of the table's edge
    assert push.min() >= 0
    assert push[0] == 0


def test_a_mass_at_rest_on_its_floor_leaves_it_when_hit_from_below():
    """An equality would hold it on the floor and stop the hammer."""
    W = np.array([[1.0, 1.0], [1.0, 2.0]])  # gaps: mass over floor, mass over hammer; both masses one
    push, velocity = complementary(W, np.array([0.0, -1.0]))
    np.testing.assert_allclose(push, [0.0, 0.5], atol=1e-15)
    np.testing.assert_allclose(velocity, [0.5, 0.0], atol=1e-15)


def test_what_has_no_solution_is_refused():
    with pytest.raises(UnilateralError, match="rows 0, 1"):
        complementary(np.ones((2, 2)), np.array([1.0, -1.0]), np.array([True, True]))
    with pytest.raises(UnilateralError, match="rows 0"):
        complementary(np.zeros((1, 1)), np.array([-1.0]))
    noise = np.full(2, 1e-12)  # of rates that have been large
    coupled = np.array([[1.0, -1.0], [-1.0, 1.0]])
    met = complementary(coupled, np.array([1e-16, -5e-17]), np.array([True, True]), noise)
    assert np.abs(met.push).max() < 1e-15
    with pytest.raises(UnilateralError, match="rows 0, 1"):
        complementary(coupled, np.array([1.0, -0.9]), np.array([True, True]), noise)
    assert complementary(np.zeros((0, 0)), np.zeros(0)).push.shape == (0,)
    assert complementary(np.zeros((1, 1)), np.array([1.0])).velocity[0] == 1.0

"""Hundreds of modes in slices of the spectrum: all of them, counted by inertia, whatever holds the body."""

from contextlib import contextmanager

import numpy as np
import pytest
from scipy.linalg import inv

import fem
import fem.linear_algebra.slicing
from fem.errors import ConvergenceError, FactorisationError, MatrixError
from fem.linear_algebra.eigen import Modes, lowest_modes
from fem.linear_algebra.factor import factor
from fem.linear_algebra.slicing import ShiftedProblem, extend_modes
from fem.mesh.structured_meshes import block
from reduction import count_modes
from reduction.solutions import vibration
from reduction.solutions.fixed_interfaces import fix_interfaces
from reduction.solutions.statics import statics
from reduction.solutions.vibration import fixed_vibration, free_vibration, select_modes
from tests.dense import eigenvalues

AVERAGE = fem.Interface("x1", kind="average")
INTERFACES = {
    "rigid": {"a": "x0", "b": "x1"},
    "mixed": {"a": "x0", "b": AVERAGE},
    "average": {"a": fem.Interface("x0", kind="average"), "b": AVERAGE},
    "none": {},
}
CASES = [(kind, fixed) for kind in INTERFACES for fixed in (False, True) if not (fixed and kind == "none")]


def part(kind):
    return fem.Model(block("hexahedron", (1.0, 0.3, 0.3), (8, 3, 3)), fem.Material.steel()).with_interfaces(
        **INTERFACES[kind]
    )


def problem_of(model, fixed):
    body = statics(model)
    return fixed_vibration(fix_interfaces(body)) if fixed else free_vibration(body)


@pytest.mark.parametrize(("kind", "fixed"), CASES)
def test_slices_hold_every_mode(kind, fixed, monkeypatch):
    """A square bar has its bending modes in pairs. Against dense matrices with the constraints as equations."""
    monkeypatch.setattr(vibration, "SLICED", 24)
    monkeypatch.setattr(vibration, "SMALL", 1)
    monkeypatch.setattr(fem.linear_algebra.slicing, "AHEAD", 15)
    model = part(kind)
    expected = eigenvalues(model, list(model.interfaces) if fixed else ())[0 if fixed else 6 :]
    values, shapes = select_modes(problem_of(model, fixed), 90, 0.0)
    np.testing.assert_allclose(values, expected[:90], rtol=1e-9)
    np.testing.assert_allclose(shapes.T @ (model.M @ shapes), np.eye(90), atol=1e-6)
    residual = np.abs(shapes.T @ (model.K @ shapes) - np.diag(values)) / values[-1]
    assert residual.max() < 1e-7
    f = np.sqrt(expected[70] * (1 + 1e-9)) / (2 * np.pi)
    values, _ = select_modes(problem_of(model, fixed), None, f)
    np.testing.assert_allclose(values, expected[expected <= (2 * np.pi * f) ** 2], rtol=1e-9)


@pytest.mark.parametrize(("kind", "fixed"), CASES)
def test_modes_are_counted_without_an_eigensolver(kind, fixed):
    model = part(kind)
    expected = eigenvalues(model, list(model.interfaces) if fixed else ())[0 if fixed else 6 :]
    gaps = np.flatnonzero(np.diff(expected, prepend=0.0) > 1e-3 * expected)
    for k in gaps[[0, 2, 7, 40]]:
        below = expected[k - 1] if k else 0.0
        f = np.sqrt((below + expected[k]) / 2) / (2 * np.pi)
        assert count_modes(model, f, fixed) == int((expected < (2 * np.pi * f) ** 2).sum())
    with pytest.raises(MatrixError, match="A band is"):
        count_modes(model, -1.0)


def dense(values):
    """K, M with given eigenvalues, and the problem at a shift."""
    n = len(values)
    Q, _ = np.linalg.qr(np.random.default_rng(5).standard_normal((n, n)))
    M = np.diag(np.linspace(1.0, 3.0, n))
    root = np.sqrt(M)
    K = root @ (Q * values) @ Q.T @ root

    @contextmanager
    def shift(s):
        inverse = inv(K - s * M)
        yield ShiftedProblem(s, lambda F: np.asfortranarray(inverse @ F), int((values < s).sum()))

    return K, M, shift


def test_a_mode_that_the_first_run_missed_is_found():
    """The lowest modes are given without the fifth and the ninth: the inertia tells, and they are found."""
    values = np.sort(np.random.default_rng(6).uniform(1.0, 400.0, 500))
    K, M, shift = dense(values)
    lowest = lowest_modes(lambda F: np.asfortranarray(np.linalg.solve(K, F)), M, 40)
    seen = np.delete(np.arange(40), [4, 8])
    first = Modes(lowest.eigenvalues[seen], lowest.vectors[:, seen].copy(), lowest.residuals[seen], 0)
    found = extend_modes(first, shift, M, count=150)
    np.testing.assert_allclose(found.eigenvalues, values[:150], rtol=1e-9)
    np.testing.assert_allclose(found.vectors.T @ M @ found.vectors, np.eye(150), atol=1e-7)


def test_a_gap_and_a_crowd_of_modes():
    """The spacing of the first modes says nothing about the next ones."""
    values = np.concatenate([np.linspace(1.0, 2.0, 60), np.linspace(50.0, 50.5, 300), np.linspace(90.0, 400.0, 140)])
    K, M, shift = dense(values)
    first = lowest_modes(lambda F: np.asfortranarray(np.linalg.solve(K, F)), M, 30)
    found = extend_modes(first, shift, M, cutoff=95.0)
    np.testing.assert_allclose(found.eigenvalues, values[values <= 95.0], rtol=1e-9)
    found = extend_modes(first, shift, M, cutoff=values[370] * (1 - 1e-7))
    np.testing.assert_allclose(
        found.eigenvalues, values[:370], rtol=1e-9
    )  # none of those between it and the last shift


def test_an_inertia_that_contradicts_the_modes_is_told():
    values = np.sort(np.random.default_rng(9).uniform(1.0, 100.0, 300))
    K, M, shift = dense(values)

    @contextmanager
    def wrong(s):
        with shift(s) as at:
            yield ShiftedProblem(s, at.solve, at.below - 3)

    first = lowest_modes(lambda F: np.asfortranarray(np.linalg.solve(K, F)), M, 30)
    with pytest.raises(ConvergenceError, match=r"modes more were found below .* than K - s M has negative pivots"):
        extend_modes(first, wrong, M, count=100)


def test_a_shift_on_an_eigenvalue_is_moved():
    model = part("rigid")
    body = statics(model)
    problem = fixed_vibration(fix_interfaces(body))
    values = eigenvalues(model, ["a", "b"])
    k = (
        np.flatnonzero((np.diff(values[:-1]) > 0.01 * values[1:-1]) & (np.diff(values[1:]) > 0.01 * values[1:-1]))[0]
        + 1
    )
    value = values[k]
    with problem.shifted(value) as at:
        assert value <= at.shift <= 1.002 * value
        assert at.below in (k, k + 1)


def test_without_inertia_slices_are_refused(monkeypatch):
    model = part("rigid")
    problem = fixed_vibration(fix_interfaces(statics(model)))
    plain = factor

    def without(*args, **options):
        made = plain(*args, **options)
        made.record = fem.linear_algebra.factorisations.FactorRecord(**{**made.record.__dict__, "inertia": None})
        return made

    monkeypatch.setattr(vibration, "factor", without)
    with pytest.raises(FactorisationError, match=r"inertia .* is not certain"), problem.shifted(1e6):
        pass

"""Block Lanczos: all modes asked for, with their copies, to the accuracy asked for, against dense and ARPACK solutions."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh, solve_triangular
from scipy.sparse.linalg import LinearOperator, eigsh

import fem.linear_algebra.eigen
from fem import Material, Model, structured_meshes
from fem.errors import ConvergenceError, MatrixError
from fem.linear_algebra.eigen import lowest_modes
from fem.linear_algebra.factor import factor
from fem.linear_algebra.krylov import KrylovSpace

ACCURACY = 1e-9


def with_eigenvalues(values, seed=0):
    """Dense K, M with these eigenvalues and a mass matrix that is not diagonal."""
    n = len(values)
    rng = np.random.default_rng(seed)
    L = np.tril(rng.standard_normal((n, n)), -1) / n + np.diag(rng.uniform(0.5, 2.0, n))
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    K = L @ (Q * values) @ Q.T @ L.T
    return 0.5 * (K + K.T), L @ L.T


@cache
def clamped_block(size, divisions):
    """A tet10 block clamped at x = 0: K and M of the free dofs."""
    model = Model(structured_meshes.block("tetra10", size, divisions), Material.steel())
    free = np.flatnonzero(np.repeat(model.points[:, 0] > 1e-9, 3))
    return model.K[free][:, free].toarray(), model.M[free][:, free].toarray()


CLUSTER = np.concatenate([[1.0, 1.0 + 1e-7, 1.0 + 2e-7, 2.0, 2.0 + 1e-4], np.arange(3.0, 300.0)])
PROBLEMS = {
    # name: (K and M, count)
    "one equation": (lambda: with_eigenvalues([3.0]), 1),
    "two equations, all modes": (lambda: with_eigenvalues([3.0, 4.0]), 2),
    "smaller than a block": (lambda: with_eigenvalues(np.arange(1.0, 6.0)), 3),
    "spread": (lambda: with_eigenvalues(np.arange(1.0, 301.0) ** 2), 12),
    "a single mode of many": (lambda: with_eigenvalues(np.arange(1.0, 801.0)), 1),
    "nine decades": (lambda: (np.diag(np.logspace(0, 9, 200)), np.eye(200)), 10),
    "all modes": (lambda: with_eigenvalues(np.linspace(1.0, 40.0, 120)), 120),
    "all modes over five decades": (lambda: (np.diag(np.logspace(0, 5, 60)), np.eye(60)), 60),
    "all modes but one": (lambda: with_eigenvalues(np.linspace(1.0, 40.0, 120)), 119),
    "many modes, with restarts": (lambda: with_eigenvalues(np.arange(1.0, 601.0)), 150),
    "clusters": (lambda: with_eigenvalues(CLUSTER), 8),
    "count between two copies": (lambda: with_eigenvalues(np.repeat(np.arange(1.0, 101.0), 2)), 7),
    "one eigenvalue only": (lambda: with_eigenvalues(np.ones(60)), 20),
    "9 copies": (lambda: with_eigenvalues(np.concatenate([np.ones(9), np.arange(2.0, 400.0)])), 12),
    "30 copies": (lambda: with_eigenvalues(np.concatenate([np.ones(30), np.arange(2.0, 400.0)])), 40),
    "30 copies, sharply apart": (lambda: (np.diag(np.r_[np.ones(30), np.arange(2.0, 1000.0)]), np.eye(1028)), 40),
    "10 copies of each": (lambda: with_eigenvalues(np.repeat(np.arange(1.0, 21.0), 10)), 45),
    "10 copies, asked for 5": (lambda: with_eigenvalues(np.repeat(np.arange(1.0, 21.0), 10)), 5),
    "beam": (lambda: clamped_block((1.0, 0.13, 0.1), (8, 1, 1)), 20),
    "square beam (close pairs)": (lambda: clamped_block((1.0, 0.1, 0.1), (8, 2, 2)), 20),
}


def solve_with(K):
    triangle = cho_factor(K)
    return lambda B: cho_solve(triangle, B)


def dense_eigenvalues(K, M):
    """Ascending, by LAPACK on C^-1 M C^-T with K = C C^T: accurate for the low ones, which eigh(K, M) is not."""
    C = cholesky(K, lower=True)
    A = solve_triangular(C, solve_triangular(C, M, lower=True).T, lower=True)
    return 1.0 / np.linalg.eigvalsh(0.5 * (A + A.T))[::-1]


def require_modes_of(K, M, modes, expected):
    """Eigenvalues, M- and K-orthogonality, and K x = lambda M x measured through K^-1."""
    lam, X = modes.eigenvalues, modes.vectors
    np.testing.assert_allclose(lam, expected, rtol=ACCURACY)
    np.testing.assert_allclose(X.T @ M @ X, np.eye(len(lam)), atol=1e-12)
    scale = np.sqrt(np.outer(lam, lam))
    np.testing.assert_allclose(X.T @ K @ X / scale, np.eye(len(lam)), atol=1e-9)
    R = np.linalg.solve(K, M @ X) * lam - X
    assert np.sqrt(np.sum(R * (M @ R), axis=0)).max() < 1e-8
    assert modes.residuals.max() < 1e-8


@pytest.mark.parametrize("name", PROBLEMS)
def test_modes_are_those_of_a_dense_solution(name):
    make, count = PROBLEMS[name]
    K, M = make()
    expected = dense_eigenvalues(K, M)[:count]
    require_modes_of(K, M, lowest_modes(solve_with(K), M, count), expected)


def test_cube_held_at_its_corner_planes_has_triple_modes():
    """A cube on sliding planes x = 0, y = 0, z = 0 keeps its threefold symmetry up to the mesh; hexahedra keep it."""
    model = Model(structured_meshes.block("hexahedron", (1.0, 1.0, 1.0), (4, 4, 4)), Material.steel())
    free = np.flatnonzero(model.points.ravel() > 1e-9)
    K, M = model.K[free][:, free].toarray(), model.M[free][:, free].toarray()
    expected = dense_eigenvalues(K, M)[:12]
    assert np.sum(np.diff(expected) < 1e-9 * expected[:-1]) >= 3  # the case is what it says
    require_modes_of(K, M, lowest_modes(solve_with(K), M, 12), expected)


def test_an_eigenvalue_has_more_copies_than_a_start_has_vectors():
    """A Krylov space of eight vectors holds eight copies; none of the nine may be taken for missing."""
    values = np.array([1.0] * 9 + [float(k) for k in range(2, 52)])
    modes = lowest_modes(lambda F: F / values[:, None], np.eye(len(values)), 10)
    np.testing.assert_allclose(modes.eigenvalues, values[:10], rtol=1e-9)


def test_sparse_modes_are_those_of_arpack_and_of_a_sturm_count():
    model = Model(structured_meshes.block("tetra10", (1.0, 0.2, 0.1), (14, 3, 2)), Material.steel())
    free = np.flatnonzero(np.repeat(model.points[:, 0] > 1e-9, 3))
    K, M = model.K[free][:, free], model.M[free][:, free]
    with factor(K) as inverse:
        modes = lowest_modes(inverse.solve, M, 20)
        operator = LinearOperator(K.shape, matvec=inverse.solve, dtype=float)
        expected = np.sort(eigsh(K, 20, M, sigma=0, OPinv=operator, return_eigenvectors=False))
    np.testing.assert_allclose(modes.eigenvalues, expected, rtol=ACCURACY)
    residual = K @ modes.vectors - M @ modes.vectors * modes.eigenvalues
    assert (np.linalg.norm(residual, axis=0) < 1e-7 * np.linalg.norm(K @ modes.vectors, axis=0)).all()
    for k in (5, 19):
        between = 0.5 * (modes.eigenvalues[k - 1] + modes.eigenvalues[k])
        with factor(K - between * M, "symmetric") as shifted:
            assert shifted.inertia == (K.shape[0] - k, k, 0)


STARTS = {
    "zero": np.zeros((300, 3)),
    "one vector, three times": np.ones((300, 3)),
    "no column": np.zeros((300, 0)),
    "tiny": 1e-200 * np.eye(300)[:, :4],
    "without any wanted part": np.eye(300)[:, 100:112],
    "the solution": np.eye(300)[:, :10],
}


@pytest.mark.parametrize("name", STARTS)
def test_any_start_gives_the_modes(name):
    K, M = np.diag(np.arange(1.0, 301.0)), np.eye(300)
    start = STARTS[name].copy()
    modes = lowest_modes(solve_with(K), M, 10, start=start)
    require_modes_of(K, M, modes, np.arange(1.0, 11.0))
    np.testing.assert_array_equal(start, STARTS[name])


def test_a_good_start_saves_solves():
    K, M = np.diag(np.arange(1.0, 301.0)), np.eye(300)
    solves = [lowest_modes(solve_with(K), M, 10, start=start).solves for start in (None, STARTS["the solution"])]
    assert solves[1] < 0.5 * solves[0]


def test_work_comes_in_blocks_and_few_of_them():
    """20 modes of a beam: at most 20 calls of the inverse, each with 8 right-hand sides in Fortran order; a last one measures the residual."""
    K, M = clamped_block((1.0, 0.13, 0.1), (8, 1, 1))
    solve, widths = solve_with(K), []

    def inverse(B):
        assert B.flags.f_contiguous
        widths.append(B.shape[1])
        return solve(B)

    modes = lowest_modes(inverse, M, 20)
    assert min(widths[:-1]) >= 8
    assert len(widths) <= 20
    assert sum(widths) == modes.solves


def test_twice_the_same():
    K, M = clamped_block((1.0, 0.13, 0.1), (8, 1, 1))
    first, second = (lowest_modes(solve_with(K), M, 10) for _ in range(2))
    np.testing.assert_array_equal(first.vectors, second.vectors)
    assert not first.vectors.flags.writeable


def test_looser_tolerance_costs_less_and_keeps_its_promise():
    K, M = with_eigenvalues(np.arange(1.0, 601.0))
    solve = solve_with(K)
    tight, loose = (lowest_modes(solve, M, 10, tolerance=tolerance) for tolerance in (1e-12, 1e-3))
    assert loose.solves < tight.solves
    assert loose.residuals.max() < 1e-2
    np.testing.assert_allclose(tight.eigenvalues, np.arange(1.0, 11.0), rtol=1e-12)
    np.testing.assert_allclose(loose.eigenvalues, np.arange(1.0, 11.0), rtol=1e-2)
    assert loose.residuals.max() > 1e-8  # it did stop early


def projected():
    """K's inverse between constraints B^T x = 0: the modes are those of the null space of B^T, dense."""
    K, M = with_eigenvalues(np.arange(1.0, 81.0))
    B = np.random.default_rng(4).standard_normal((80, 6))
    KiB = np.linalg.solve(K, B)
    inverse = np.linalg.inv(K) - KiB @ np.linalg.solve(B.T @ KiB, KiB.T)
    N = np.linalg.svd(B.T)[2][6:].T
    return inverse, M, B, eigh(N.T @ K @ N, N.T @ M @ N, eigvals_only=True)


@pytest.mark.parametrize("count", [1, 20, 73, 74])
def test_modes_under_constraints(count):
    inverse, M, B, expected = projected()
    modes = lowest_modes(lambda F: inverse @ F, M, count)
    np.testing.assert_allclose(modes.eigenvalues, expected[:count], rtol=ACCURACY)
    assert np.abs(B.T @ modes.vectors).max() < 1e-10 * np.abs(modes.vectors).max()


def test_massless_dofs():
    """M singular: as many modes as masses, and massless dofs follow statically."""
    K, _ = with_eigenvalues(np.arange(1.0, 41.0))
    M = np.diag(np.r_[np.zeros(10), np.ones(30)])
    condensed = K[10:, 10:] - K[10:, :10] @ np.linalg.solve(K[:10, :10], K[:10, 10:])
    modes = lowest_modes(solve_with(K), M, 30)
    np.testing.assert_allclose(modes.eigenvalues, np.linalg.eigvalsh(condensed), rtol=ACCURACY)
    assert np.abs((K @ modes.vectors)[:10]).max() < 1e-9 * np.abs(K @ modes.vectors).max()
    with pytest.raises(ConvergenceError, match=r"Only 30 modes exist.*asked for 31"):
        lowest_modes(solve_with(K), M, 31)


def test_more_modes_than_the_constraints_leave():
    inverse, M, _, _ = projected()
    with pytest.raises(ConvergenceError, match="Only 74 modes exist"):
        lowest_modes(lambda F: inverse @ F, M, 75)


def diagonal():
    return np.diag(np.arange(1.0, 41.0)), np.eye(40)


BAD = {
    "count 0": (lambda F: F, 0, MatrixError, "between 1 and 40 modes; asked for 0"),
    "count 41": (lambda F: F, 41, MatrixError, "between 1 and 40 modes; asked for 41"),
    "wrong shape": (lambda F: F[:-1], 3, MatrixError, r"shape \(40, 8\).*got shape\s+\(39, 8\)"),
    "NaN": (lambda F: np.nan * F, 3, MatrixError, "320 values not finite"),
    "negative": (lambda F: -F, 3, MatrixError, "not positive"),
    "indefinite": (lambda F: F / (np.arange(40.0) - 3.5)[:, None], 3, MatrixError, "not positive"),
    "not symmetric": (lambda F: F + np.roll(F, 1, axis=0), 3, MatrixError, "not symmetric"),
    "zero": (lambda F: 0.0 * F, 3, ConvergenceError, "Only 0 modes exist"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_explained(name):
    inverse, count, error, message = BAD[name]
    with pytest.raises(error, match=message):
        lowest_modes(inverse, np.eye(40), count)


def test_slow_convergence_is_reported(monkeypatch):
    monkeypatch.setattr(fem.linear_algebra.eigen, "MAX_CALLS", 3)
    K, M = with_eigenvalues(np.arange(1.0, 601.0))
    with pytest.raises(ConvergenceError, match=r"did not reach .* 1e-08 in 3 calls.*worst: \d"):
        lowest_modes(solve_with(K), M, 10)


def test_inaccurate_inverse_is_reported():
    """An inverse that changes from call to call cannot give the accuracy that its own numbers promise."""
    K, M = with_eigenvalues(np.arange(1.0, 301.0))
    solve, calls = solve_with(K), []

    def inverse(B):
        calls.append(B.shape)
        return solve(B) * (1 + 1e-6 * (-1) ** len(calls))

    with pytest.raises(ConvergenceError, match="does not give the same answer twice"):
        lowest_modes(inverse, M, 10)


GRADED = np.random.default_rng(7).standard_normal((8, 40))
BLOCKS = {
    "random": GRADED,
    "four decades": GRADED[0] + np.logspace(0, -4, 8)[:, None] * GRADED,
    "twelve decades": GRADED[0] + np.logspace(0, -12, 8)[:, None] * GRADED,
    "two directions": np.vstack([GRADED[:2]] * 4),
}


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("decades", [0, 6])
def test_space_stays_orthonormal(name, decades):
    """V M V^T = I to round-off whatever the conditioning of the blocks, and never more vectors than dimensions."""
    M = np.diag(np.logspace(0, decades, 40))
    space = KrylovSpace(lambda B: B, M, 60)
    assert space.add(BLOCKS[name]) == {"two directions": 2}.get(name, 8)
    rng = np.random.default_rng(8)
    while not space.closed:
        space.expand()
        require_orthonormal(space, M)
        space.add(rng.standard_normal((3, 40)))
    assert space.done == 40


def require_orthonormal(space, M):
    V = space._V[: space.done]
    np.testing.assert_allclose(V @ M @ V.T, np.eye(space.done), atol=1e-12)


def test_mass_may_be_anything_that_multiplies():
    K, M = with_eigenvalues(np.arange(1.0, 101.0))
    for mass in (sp.csr_matrix(M), sp.csc_array(M), LinearOperator(M.shape, matvec=lambda x: M @ x, dtype=float)):
        np.testing.assert_allclose(lowest_modes(solve_with(K), mass, 5).eigenvalues, np.arange(1.0, 6.0), rtol=1e-9)


def test_rounding_does_not_decide_the_sign_of_a_symmetric_mode():
    """The largest entries of a mode of a symmetric part are equal but for rounding, here of either sense."""
    mode = np.array([0.1, -0.5, 0.5, -0.2])
    for change in (1e-12, -1e-12):
        nearly = mode * (1.0 + change * np.array([0.0, 1.0, -1.0, 0.0]))
        assert fem.linear_algebra.eigen.signs_of(np.column_stack([nearly, -nearly])).tolist() == [-1.0, 1.0]
    assert fem.linear_algebra.eigen.signs_of(np.array([[0.5], [-0.6], [0.5]])) == [-1.0]

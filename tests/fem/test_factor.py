"""Factorisations: every backend and matrix kind solves, counts eigenvalues, explains failures and frees its memory."""

import gc
import os

import numpy as np
import pytest
import scipy.sparse as sp

from fem.errors import FactorisationError, MatrixError
from fem.linear_algebra.factor import factor
from fem.linear_algebra.factorisations import BACKENDS, matrix
from fem.linear_algebra.factorisations.matrix import prepare

AVAILABLE = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(module.missing() is not None, reason=str(module.missing())),
    )
    for name, module in BACKENDS.items()
    if name != "petsc"  # see test_petsc.py
]
EACH_BACKEND = pytest.mark.parametrize("backend", AVAILABLE)


def grid(n=12, held=True):
    """Stiffness of an n x n grid of unit springs with 1 dof a node; held at one side, or free."""
    chain = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n)).tolil()
    chain[-1, -1] = 1.0
    free = chain.copy()
    free[0, 0] = 1.0
    one = sp.identity(n)
    return (sp.kron(chain if held else free, one) + sp.kron(one, free)).tocsr()


def saddle():
    """Springs with 6 constraints by Lagrange multipliers: zeros on the diagonal."""
    K, B = grid(), sp.random(6, 144, 0.1, random_state=1) + sp.eye(6, 144)
    return sp.csr_matrix(sp.block_array([[K, B.T], [B, None]]))


MATRICES = {
    "stiffness": ("positive-definite", grid),
    "diagonal": ("positive-definite", lambda: sp.diags([1.0, 2.0, 1e6]).tocsr()),
    "one equation": ("positive-definite", lambda: sp.csr_matrix([[4.0]])),
    "shifted": ("symmetric", lambda: grid() - 1.3 * sp.identity(144)),
    "saddle point": ("symmetric", saddle),
    "swap": ("symmetric", lambda: sp.csr_matrix([[0.0, 1.0], [1.0, 0.0]])),
    "tiny diagonal": ("symmetric", lambda: sp.csr_matrix([[1e-15, 1.0], [1.0, 1e-15]])),
    "damped at a frequency": ("complex-symmetric", lambda: (1 + 0.1j) * grid() - (1.3 - 0.2j) * sp.identity(144)),
    "real as complex": ("complex-symmetric", grid),
    "convection": ("general", lambda: grid() + 0.7 * sp.eye(144, k=1) - 0.2 * sp.eye(144, k=-7)),
    "complex general": ("general", lambda: grid() + 1j * sp.eye(144, k=2)),
    "cyclic permutation": ("general", lambda: sp.csr_matrix(np.roll(np.eye(5), 1, axis=0))),
}


@EACH_BACKEND
@pytest.mark.parametrize("name", MATRICES)
def test_solution_is_that_of_dense_lu(name, backend):
    kind, make = MATRICES[name]
    A = make()
    n = A.shape[0]
    rng = np.random.default_rng(3)
    with factor(A, kind, backend) as inverse:
        for shape in ((n,), (n, 1), (n, 7), (n, 0)):
            for B in (rng.standard_normal(shape), rng.standard_normal(shape) + 1j * rng.standard_normal(shape)):
                X = inverse.solve(B)
                assert X.shape == shape
                expected = np.linalg.solve(A.toarray(), B)
                np.testing.assert_allclose(X, expected, rtol=0, atol=1e-12 * np.abs(expected).max(initial=1.0))
        assert inverse.record.residual < 1e-13


@EACH_BACKEND
@pytest.mark.parametrize(
    "store",
    [sp.csc_matrix, sp.coo_matrix, sp.csr_array, sp.lil_matrix, lambda A: A.toarray()],
    ids=["csc", "coo", "csr_array", "lil", "dense"],
)
def test_storage_does_not_matter(store, backend):
    A = MATRICES["convection"][1]()
    b = np.arange(144.0)
    expected = np.linalg.solve(A.toarray(), b)
    np.testing.assert_allclose(factor(store(A), "general", backend).solve(b), expected, rtol=1e-11)


def unsorted_with_duplicates():
    """grid() with each value split into two entries and the columns of each row reversed."""
    A = grid()
    rows = np.repeat(np.arange(144), np.diff(A.indptr))
    columns, data = np.repeat(A.indices, 2), np.repeat(A.data / 2, 2)
    order = np.lexsort((-columns, np.repeat(rows, 2)))
    return sp.csr_matrix((data[order], columns[order], 2 * A.indptr), shape=A.shape)


@EACH_BACKEND
@pytest.mark.parametrize("kind", ["positive-definite", "symmetric", "complex-symmetric", "general"])
def test_unsorted_duplicates_are_summed_and_arguments_left_alone(kind, backend):
    A = unsorted_with_duplicates()
    before = [x.copy() for x in (A.data, A.indices, A.indptr)]
    B = np.asfortranarray(np.random.default_rng(0).standard_normal((144, 3)))
    B_before = B.copy()
    for array in (A.data, A.indices, A.indptr, B):
        array.setflags(write=False)
    X = factor(A, kind, backend).solve(B)
    np.testing.assert_allclose(X, np.linalg.solve(grid().toarray(), B), rtol=0, atol=1e-11 * np.abs(X).max())
    for now, then in zip((A.data, A.indices, A.indptr, B), (*before, B_before), strict=True):
        np.testing.assert_array_equal(now, then)


@EACH_BACKEND
@pytest.mark.parametrize("kind", ["positive-definite", "general"])
def test_factor_outlives_changes_of_the_matrix(kind, backend):
    A, b = grid(), np.ones(144)
    inverse = factor(A, kind, backend)
    first = inverse.solve(b)
    A.data *= 3.0
    np.testing.assert_array_equal(inverse.solve(b), first)


@EACH_BACKEND
@pytest.mark.parametrize("shift", [-0.1, 0.4, 1.3, 3.9, 9.0])
def test_inertia_counts_eigenvalues_below_the_shift(shift, backend):
    values = np.linalg.eigvalsh(grid().toarray())
    inverse = factor(grid() - shift * sp.identity(144), "symmetric", backend)
    below = int((values < shift).sum())
    if inverse.inertia is None:
        assert backend == "superlu"  # rows were exchanged: no statement
    else:
        assert inverse.inertia == (144 - below, below, 0)


@EACH_BACKEND
@pytest.mark.parametrize("shift", [1e-3, 1e-6, 3e-8])
def test_free_body_held_by_a_small_shift(shift, backend):
    """K + s M of a free body has a tiny last pivot, which must be used as it is: x = mean(b) / s for constant b."""
    inverse = factor(free_body() + shift * sp.identity(144), "symmetric", backend)
    np.testing.assert_allclose(inverse.solve(np.ones(144)), 1.0 / shift, rtol=1e-14 / shift)
    assert inverse.inertia in ((144, 0, 0), None)


@EACH_BACKEND
def test_inertia_of_a_saddle_point(backend):
    inertia = factor(saddle(), "symmetric", backend).inertia
    assert inertia in ((144, 6, 0), None)
    assert inertia is not None or backend == "superlu"


@EACH_BACKEND
def test_inertia_by_kind(backend):
    assert factor(grid(), "positive-definite", backend).inertia == (144, 0, 0)
    for name in ("damped at a frequency", "convection"):
        assert factor(MATRICES[name][1](), MATRICES[name][0], backend).inertia is None


@EACH_BACKEND
def test_record_states_size_and_cost(backend):
    n = 90
    A = grid(n)
    inverse = factor(A, "positive-definite", backend)
    record = inverse.record
    triangle = sp.triu(A).nnz
    assert (record.backend, record.kind, record.equations) == (backend, "positive-definite", n**2)
    assert (inverse.backend, inverse.nnz, inverse.nbytes) == (backend, record.entries, record.nbytes)
    assert record.matrix_entries == A.nnz
    assert triangle < record.entries < n**4 // 2
    assert 8 * triangle < record.nbytes < 100 * 8 * record.entries
    assert record.seconds > 0
    assert record.perturbed_pivots == 0
    if backend != "superlu":  # a banded factor needs n^2 rows of n^2 operations, dissection fewer
        assert 0 < record.flops < n**4
    assert "positive-definite" in repr(inverse)


@EACH_BACKEND
def test_symmetric_storage_halves_the_entries(backend):
    if backend == "superlu":
        pytest.skip("SuperLU factorises every kind as a general matrix")
    whole = factor(grid(30), "general", backend).record.entries
    assert factor(grid(30), "positive-definite", backend).record.entries < 0.65 * whole


def free_body():
    return grid(held=False)


def two_parts():
    return sp.block_diag([grid(), free_body()]).tocsr()


def indefinite():
    A = sp.identity(8).tolil()
    A[3, 6] = A[6, 3] = 2.0
    return A.tocsr()


def with_value(i, j, value):
    A = grid().tolil()
    A[i, j] = value
    return A.tocsr()


BAD = {
    # name: (matrix, kind, error, what the message must say)
    "not square": (lambda: sp.csr_matrix(np.ones((2, 3))), "general", MatrixError, ["square", r"\(2, 3\)"]),
    "empty": (lambda: sp.csr_matrix((0, 0)), "general", MatrixError, ["not empty"]),
    "NaN": (lambda: with_value(17, 3, np.nan), "general", MatrixError, ["NaN", "row 17"]),
    "infinite": (lambda: with_value(5, 5, np.inf), "positive-definite", MatrixError, ["infinite", "row 5"]),
    "text": (lambda: np.array([["a"]], dtype=object), "general", MatrixError, ["must hold numbers", "object"]),
    "asymmetric": (
        lambda: with_value(7, 90, 1e-6), "symmetric", MatrixError, ["not symmetric", r"A\[7, 90\]|A\[90, 7\]"],
    ),
    "upper triangle": (lambda: sp.triu(grid()), "positive-definite", MatrixError, ["not one triangle"]),
    "complex as real": (lambda: 1j * grid(), "symmetric", MatrixError, ["complex-symmetric"]),
    "unknown kind": (grid, "symetric", MatrixError, ["'symetric'", "Did you mean 'symmetric'", "general"]),
    "zero row": (lambda: with_value(0, 0, 0.0)[:, 1:] @ sp.eye(143, 144), "general", FactorisationError, ["singular"]),
    "dof without stiffness": (
        lambda: sp.block_diag([grid(), sp.csr_matrix((1, 1))]), "positive-definite", FactorisationError,
        ["rows are zero", "first: 144", "has no stiffness"],
    ),
    "negative diagonal": (
        lambda: with_value(9, 9, -1.0), "positive-definite", FactorisationError, ["equation 9", "inverted elements"],
    ),
    "indefinite": (indefinite, "positive-definite", FactorisationError, ["not positive definite", "equation [36] of 8"]),
    "free body": (free_body, "positive-definite", FactorisationError, ["free to move", "hold it at an interface"]),
    "free body, symmetric": (free_body, "symmetric", FactorisationError, ["singular", "free to move"]),
    "free body, general": (free_body, "general", FactorisationError, ["singular", "free to move"]),
    "loose part": (
        two_parts, "positive-definite", FactorisationError, ["2 unconnected parts", "first equation of each: 0, 144"],
    ),
    "loose part, symmetric": (two_parts, "symmetric", FactorisationError, ["2 unconnected parts"]),
}  # fmt: skip


@EACH_BACKEND
@pytest.mark.parametrize("name", BAD)
def test_bad_matrix_is_explained(name, backend):
    make, kind, error, sentences = BAD[name]
    with pytest.raises(error) as caught:
        factor(make(), kind, backend)
    for sentence in sentences if backend != "mumps" else sentences[:1]:  # MUMPS does not say where
        assert caught.match(sentence)


def test_too_many_entries_are_refused(monkeypatch):
    monkeypatch.setattr(matrix, "MAX_ENTRIES", 100)
    with pytest.raises(MatrixError, match=r"more than 100 stored entries.*coarser mesh"):
        factor(grid())


@pytest.mark.parametrize("kind", ["positive-definite", "symmetric", "general"])
def test_a_part_of_a_matrix_needs_no_matrix_of_its_own(kind, monkeypatch):
    """Rows and columns `keep`, a slice at a time: the same as the submatrix."""
    monkeypatch.setattr(matrix, "SLICE", 500)
    A = grid().tocsr()
    keep = np.flatnonzero(np.random.default_rng(3).random(A.shape[0]) > 0.3)
    expected = A[keep][:, keep]
    np.testing.assert_array_equal(prepare(A, kind, keep).whole().toarray(), expected.toarray())
    np.testing.assert_array_equal(prepare(A, kind).whole().toarray(), A.toarray())
    B = np.random.default_rng(4).standard_normal((len(keep), 3))
    np.testing.assert_allclose(factor(A, kind, keep=keep).solve(B), np.linalg.solve(expected.toarray(), B), rtol=1e-9)


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth_over_cycles(cycles, A, kind, backend):
    """Resident memory gained by factorising and dropping, in units of one factor."""
    size = factor(A, kind, backend).nbytes
    for _ in range(5):
        factor(A, kind, backend)
    gc.collect()
    before = resident_bytes()
    for _ in range(cycles):
        factor(A, kind, backend)
    gc.collect()
    return (resident_bytes() - before) / size


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="resident memory is read from /proc (Linux)")
@pytest.mark.parametrize("cycles", [50, pytest.param(1000, marks=pytest.mark.long)])
@EACH_BACKEND
@pytest.mark.parametrize("kind", ["positive-definite", "symmetric"])
def test_dropped_factors_leave_no_memory(kind, backend, cycles):
    assert growth_over_cycles(cycles, grid(60), kind, backend) < 3


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="resident memory is read from /proc (Linux)")
@pytest.mark.parametrize("kind", ["positive-definite", "symmetric"])
def test_failed_factors_leave_no_memory(kind):
    A, size = grid(60, held=False), factor(grid(60)).nbytes

    def fail(times):
        for _ in range(times):
            with pytest.raises(FactorisationError):
                factor(A, kind)
        gc.collect()

    fail(5)
    before = resident_bytes()
    fail(50)
    assert (resident_bytes() - before) / size < 5


@pytest.mark.parametrize("kind", ["symmetric", "general"])
def test_libraries_get_every_diagonal_entry_and_their_own_copy(kind):
    """The manual asks for diagonals of symmetric matrices even where they are zero; later solves may read values again."""
    A = saddle()
    prepared = prepare(A, kind)
    assert not np.shares_memory(prepared.part.data, A.data)
    if kind == "symmetric":
        np.testing.assert_array_equal(prepared.part.indices[prepared.part.indptr[:-1]], np.arange(150))
    np.testing.assert_array_equal(prepared.whole().toarray(), A.toarray())

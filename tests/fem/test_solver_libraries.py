"""Which library factorises: the order of choice, its name and licence in the record, and MUMPS called without compiling."""

import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from test_factor import EACH_BACKEND, grid

from fem.errors import FactorisationError, SlowSolverWarning
from fem.linear_algebra import factor as factoring
from fem.linear_algebra.factor import factor
from fem.linear_algebra.factorisations import BACKENDS, mumps, mumps_library, pardiso
from fem.linear_algebra.factorisations.matrix import prepare
from fem.linear_algebra.factorisations.storage import SolverOptions

NEEDS_MUMPS = pytest.mark.skipif(mumps.missing() is not None, reason=str(mumps.missing()))
LICENCES = {"pardiso": "Intel Simplified Software License", "mumps": "CeCILL-C", "superlu": "BSD-3-Clause"}


def without(monkeypatch, *names):
    """Backends whose library is said not to be installed."""
    for name in names:
        monkeypatch.setattr(BACKENDS[name], "missing", lambda: "it was taken away.")


@EACH_BACKEND
def test_the_record_names_library_version_and_licence(backend):
    library = factor(grid(), backend=backend).record.library
    assert library.endswith(f", {LICENCES[backend]}")
    assert any(figure.isdigit() for figure in library)


@NEEDS_MUMPS
def test_without_mkl_mumps_is_chosen(monkeypatch):
    without(monkeypatch, "pardiso")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setattr(factoring, "LARGE", 1)
        assert factor(grid()).backend == "mumps"


def test_without_both_superlu_says_once_that_it_is_slow(monkeypatch):
    without(monkeypatch, "pardiso", "mumps")
    factoring._warn_of_superlu.cache_clear()
    assert factor(grid()).backend == "superlu"  # small: nothing to be said
    monkeypatch.setattr(factoring, "LARGE", 144)
    factor(grid(), solver=SolverOptions(backend="superlu"))  # asked for
    with pytest.warns(SlowSolverWarning, match=r"neither MKL nor MUMPS .*pip install casadi.*CeCILL-C"):
        factor(grid())
    factor(grid())
    factoring._warn_of_superlu.cache_clear()


def test_what_is_missing_is_told_with_the_remedy(monkeypatch):
    monkeypatch.setattr(mumps_library, "library", lambda letter: None)
    with pytest.raises(FactorisationError, match=r"'mumps' is not available: .*pip install casadi.*libmumps-seq-dev"):
        factor(grid(), backend="mumps")


HEADER = """
#define MUMPS_VERSION_MAX_LEN 30   /* not a field; */
typedef struct {
    MUMPS_INT      sym, par, job;
    DMUMPS_REAL    cntl[15];
    MUMPS_INT8     nnz;
    /* MUMPS_INT   removed; */
    MUMPS_INT      *irn, *jcn;
    DMUMPS_COMPLEX *a;
    MUMPS_INT      info[80],infog[80];
    char version_number[MUMPS_VERSION_MAX_LEN + 1 + 1];
} DMUMPS_STRUC_C;
"""


def test_the_structure_is_that_of_the_header():
    made = mumps_library._structure("d", HEADER)
    assert [name for name, _ in made._fields_] == [
        "sym", "par", "job", "cntl", "nnz", "irn", "jcn", "a", "info", "infog", "version_number",
    ]  # fmt: skip
    offsets = {name: (getattr(made, name).offset, getattr(made, name).size) for name, _ in made._fields_}
    assert offsets["cntl"] == (16, 15 * 8)
    assert offsets["nnz"] == (136, 8)
    assert offsets["a"] == (160, 8)
    assert offsets["infog"] == (168 + 80 * 4, 80 * 4)
    assert offsets["version_number"] == (168 + 160 * 4, 32)


@NEEDS_MUMPS
def test_a_header_of_another_version_is_not_trusted(tmp_path):
    library = mumps_library.library("d")
    header = next(header for file, header in mumps_library._candidates("d") if file == library.file)
    other = tmp_path / "dmumps_c.h"
    other.write_text(header.read_text().replace(f'MUMPS_VERSION "{library.version}"', 'MUMPS_VERSION "4.0.0"'))
    assert mumps_library._opened("d", library.file, header).version == library.version
    assert mumps_library._opened("d", library.file, other) is None


@NEEDS_MUMPS
@pytest.mark.parametrize("kind", ["complex-symmetric", "general"])
def test_complex_matrices_as_real_ones(kind, monkeypatch):
    """The wheel's library has real numbers only; the answer is that of complex arithmetic."""
    real = mumps_library.library("d")
    monkeypatch.setattr(mumps_library, "library", lambda letter: real if letter == "d" else None)
    A = (1 + 0.3j) * grid() - (1.3 - 0.2j) * sp.identity(144)
    if kind == "general":
        A = (A + 2j * sp.eye(144, k=3)).tocsr()
    rng = np.random.default_rng(5)
    B = rng.standard_normal((144, 3)) + 1j * rng.standard_normal((144, 3))
    inverse = factor(A, kind, "mumps")
    assert inverse.record.residual < 1e-13
    np.testing.assert_allclose(inverse.solve(B), np.linalg.solve(A.toarray(), B), rtol=0, atol=1e-12)


@NEEDS_MUMPS
def test_working_arrays_that_fall_short_are_enlarged(monkeypatch):
    """Threshold pivoting puts off pivots, beyond MUMPS's estimate, where diagonals are zero."""
    monkeypatch.setattr(mumps, "RELAXATION", 1)
    rng = np.random.default_rng(0)
    B = sp.random(600, 600, 0.02, random_state=1) + sp.eye(600)
    A = sp.block_array([[None, B.T], [B, 1e-3 * sp.eye(600)]]).tocsr()
    inverse, b = factor(A, "symmetric", "mumps"), rng.standard_normal(1200)
    np.testing.assert_allclose(A @ inverse.solve(b), b, rtol=0, atol=1e-9)
    assert inverse.inertia == (600, 600, 0)


@NEEDS_MUMPS
@pytest.mark.parametrize(("budget", "exceeds"), [("2.9GB", True), ("3.1GB", False)])
def test_estimates_beyond_two_gigabytes_are_compared_with_the_budget(budget, exceeds, monkeypatch):
    """MUMPS counts megabytes in 32 bits; bytes need more."""
    monkeypatch.setattr(mumps, "resident", lambda: 0)
    analysed = mumps.analyse(prepare(grid(), "symmetric"), SolverOptions(memory=budget))
    analysed._instance.infog[17] = 3000
    assert analysed._exceeds() is exceeds


@NEEDS_MUMPS
def test_threads_take_turns():
    """MUMPS keeps data of its own beside its instances."""
    matrices = [grid(40) + shift * sp.identity(1600) for shift in (0.1, 1.0, 10.0, 100.0)]
    found = [None] * 4

    def work(k):
        for _ in range(5):
            found[k] = factor(matrices[k], backend="mumps").solve(np.ones(1600))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for A, x in zip(matrices, found, strict=True):
        np.testing.assert_allclose(A @ x, 1.0, rtol=1e-10)


@pytest.mark.skipif(pardiso.missing() is not None, reason=str(pardiso.missing()))
def test_with_mkl_pardiso_is_chosen():
    assert factor(grid()).backend == "pardiso"

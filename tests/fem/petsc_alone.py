"""What a single process does with PETSc, for `test_petsc.py`, which calls each function in a process of its own."""

import shutil
import subprocess

import numpy as np
import psutil
import pytest

import fem
from fem.errors import FactorisationError, MatrixError
from fem.linear_algebra.factor import factor
from fem.linear_algebra.factorisations import petsc
from fem.mesh.structured_meshes import block

assert petsc.missing() is None


def one_process_solves_counts_and_frees():
    part = fem.Model(block("hexahedron", (1.0, 0.2, 0.1), (10, 3, 2)), fem.Material.steel())
    keep = np.arange(30, part.ndof)
    B = np.random.default_rng(0).standard_normal((len(keep), 4))
    X = factor(part.K, keep=keep, backend="petsc").solve(B)
    np.testing.assert_allclose(X, factor(part.K, keep=keep).solve(B), rtol=0, atol=1e-9 * np.abs(X).max())
    general = factor(part.K + part.M, "general", "petsc").solve(B[:1] * np.ones((part.ndof, 1)))
    assert np.isfinite(general).all()
    before = psutil.Process().memory_info().rss
    for _ in range(30):
        made = factor(part.K, keep=keep, backend="petsc")
    assert psutil.Process().memory_info().rss - before < 10 * made.nbytes


def python_survives_a_pipe_that_is_closed():
    """PETSc's handler of signals would end it."""
    done = subprocess.run([shutil.which("false")], input="x" * 10**7, capture_output=True, text=True)
    assert done.returncode == 1


def what_petsc_cannot_do_is_told():
    K = fem.Model(block("hexahedron", (1.0, 0.2, 0.1), (4, 2, 2)), fem.Material.steel()).K
    with pytest.raises(MatrixError, match="PETSc was built for real numbers"):
        factor(1j * K, "complex-symmetric", "petsc")
    with pytest.raises(
        FactorisationError,
        match=r"not positive definite: \d+ of its eigenvalues are negative|could not factorise|singular",
    ):
        factor(
            K - 1e9 * fem.Model(block("hexahedron", (1.0, 0.2, 0.1), (4, 2, 2)), fem.Material.steel()).M,
            backend="petsc",
        )

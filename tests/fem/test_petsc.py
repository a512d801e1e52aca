"""The PETSc backend under MPI: two processes, one factor, the answer of one process."""

import os
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import psutil
import pytest

import fem
import reduction
from fem.errors import FactorisationError, MatrixError
from fem.linear_algebra.factor import factor
from fem.linear_algebra.factorisations import petsc
from fem.mesh.structured_meshes import block

pytestmark = pytest.mark.skipif(
    petsc.missing() is not None or shutil.which("mpiexec") is None, reason="needs petsc4py and mpiexec"
)

SCRIPT = """
    import sys
    import numpy as np
    from petsc4py import PETSc
    import fem, reduction
    from fem.mesh.structured_meshes import block
    from fem.linear_algebra.factor import factor

    part = fem.Model(block("tetra10", (1.0, 0.2, 0.1), (10, 3, 2)), fem.Material.steel())
    part = part.with_interfaces(a="x0", b="x1").with_solver(backend="petsc", memory={memory!r}, scratch={scratch!r})
    basis = reduction.craig_bampton(part, 10)
    assert factor(part.K, keep=np.arange(40), solver=part.solver).backend == "petsc"
    shifted = factor(part.K - 1e6 * part.M, "symmetric", solver=part.solver)
    size, rank = PETSc.COMM_WORLD.size, PETSc.COMM_WORLD.rank
    assert (size, shifted.inertia, shifted.record.disk > 0) == (2, (part.ndof - 6, 6, 0), {memory!r} is not None)
    np.save({out!r} + str(rank), basis.eigenvalues)
"""


@pytest.mark.parametrize("memory", [None, "2GiB"])
def test_two_processes_give_what_one_gives(memory, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    script = tmp_path / "reduce.py"
    script.write_text(textwrap.dedent(SCRIPT.format(memory=memory, scratch=str(scratch), out=str(tmp_path / "found"))))
    command = ["mpiexec", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, str(script)]
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI", "PMI", "MPI"))}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=outside)
    assert done.returncode == 0, done.stderr
    part = fem.Model(block("tetra10", (1.0, 0.2, 0.1), (10, 3, 2)), fem.Material.steel()).with_interfaces(
        a="x0", b="x1"
    )
    expected = reduction.craig_bampton(part, 10).eigenvalues
    for rank in (0, 1):
        np.testing.assert_allclose(np.load(tmp_path / f"found{rank}.npy"), expected, rtol=1e-9)
    assert list(scratch.iterdir()) == []


def test_one_process_solves_counts_and_frees():
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


def test_what_petsc_cannot_do_is_told():
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

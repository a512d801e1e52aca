"""A run that was killed goes on with the solutions it had."""

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

import fem
import fem.linear_algebra.factor
import reduction
from fem.errors import FactorisationError
from fem.linear_algebra.factor import factor
from fem.linear_algebra.factorisations import solution_cache
from fem.mesh.structured_meshes import block


def part(tmp_path, **solver):
    model = fem.Model(block("tetra10", (1.0, 0.3, 0.1), (10, 3, 2)), fem.Material.steel())
    return model.with_interfaces(a="x0", b="x1").with_solver(checkpoint=tmp_path / "kept", **solver)


@pytest.fixture
def work(monkeypatch):
    """Counts factorisations and solutions that are really made."""
    made = {"factors": 0, "solves": 0}
    plain = fem.linear_algebra.factor._made

    def counted(matrix, backend, solver):
        factorisation = plain(matrix, backend, solver)
        made["factors"] += 1
        solve = factorisation.solve

        def counted_solve(B):
            made["solves"] += 1
            return solve(B)

        factorisation.solve = counted_solve
        return factorisation

    monkeypatch.setattr(fem.linear_algebra.factor, "_made", counted)
    return made


KILLED = """
    import os, signal
    import fem, fem.linear_algebra.factor, reduction
    from fem.mesh.structured_meshes import block
    plain, solves = fem.linear_algebra.factor._made, []

    def deadly(matrix, backend, solver):
        made = plain(matrix, backend, solver)
        solve = made.solve
        def counted(B):
            solves.append(1)
            if len(solves) == {after}:
                os.kill(os.getpid(), signal.SIGKILL)
            return solve(B)
        made.solve = counted
        return made

    fem.linear_algebra.factor._made = deadly
    model = fem.Model(block("tetra10", (1.0, 0.3, 0.1), (10, 3, 2)), fem.Material.steel())
    model = model.with_interfaces(a="x0", b="x1").with_solver(checkpoint={kept!r})
    reduction.krylov(model, shifts=(500.0, 1500.0, 2500.0), moments=1)
"""


def test_kept_solutions_that_are_not_finite_are_solved_again(tmp_path, work):
    A, B = sp.diags([2.0, 4.0, 8.0], format="csc"), np.ones((3, 1))
    for _ in range(2):
        made = factor(A, solver=fem.SolverOptions(checkpoint=tmp_path))
        np.testing.assert_allclose(made.solve(B)[:, 0], [0.5, 0.25, 0.125])
        kept = sorted(tmp_path.glob("*/*.npy"))
        assert kept
        for file in kept:
            np.save(file, np.full_like(np.load(file), np.nan))


def reduced(model):
    return reduction.krylov(model, shifts=(500.0, 1500.0, 2500.0), moments=1)


def test_a_killed_run_repeats_no_finished_factorisation(tmp_path, work):
    """Killed within the last factorisation of a Krylov reduction: the second run makes only that one, the third none."""
    plain = reduced(part(tmp_path).with_solver())
    total = dict(work)
    assert total["factors"] == 4  # K, and three shifts
    script = textwrap.dedent(KILLED.format(kept=str(tmp_path / "kept"), after=total["solves"]))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr
    for left in ({"factors": 1, "solves": 1}, {"factors": 0, "solves": 0}):
        work.update(factors=0, solves=0)
        basis = reduced(part(tmp_path))
        assert work == left
        meant = plain.eigenvalues < (2 * np.pi * 2500.0) ** 2  # above the shifts, the space depends on round-off
        assert meant.sum() >= 5
        np.testing.assert_allclose(basis.eigenvalues[meant], plain.eigenvalues[meant], rtol=1e-9)
        assert basis.options["factor_entries"] == plain.options["factor_entries"]


def test_modes_go_on_within_one_factorisation(tmp_path, work):
    """Block Lanczos: what it had solved is replayed, whatever the order of the blocks."""
    reduction.craig_bampton(part(tmp_path), 10)
    before = dict(work)
    work.update(factors=0, solves=0)
    reduction.craig_bampton(part(tmp_path), 25)
    assert work["factors"] == 1
    assert work["solves"] < before["solves"]
    work.update(factors=0, solves=0)
    reduction.craig_bampton(part(tmp_path).with_interfaces(a="x0"), 10)  # held elsewhere: another matrix
    assert work["factors"] == 1


def test_a_place_that_cannot_be_written_to_is_told(tmp_path):
    (tmp_path / "kept").write_text("a file")
    with pytest.raises(FactorisationError, match=r"Solutions cannot be kept in .*kept.*SolverOptions\(checkpoint"):
        reduction.craig_bampton(part(tmp_path), 4)


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    model, full = part(tmp_path), [False]
    b = np.ones((model.ndof - 30, 1))
    keep = np.arange(30, model.ndof)
    inverse = factor(model.K, keep=keep, solver=model.solver)
    x = inverse.solve(b)
    save = np.save

    def failing(file, array):
        file.write(b"half a file")
        if full[0]:
            raise OSError(28, "No space left on device")
        save(file, array)

    monkeypatch.setattr(solution_cache.np, "save", failing)
    full[0] = True
    with pytest.raises(
        FactorisationError, match=r"could not be kept .* No space left on device.*What was kept before stays"
    ):
        inverse.solve(2 * b)
    monkeypatch.undo()
    (directory,) = (path for path in (tmp_path / "kept").iterdir() if path.is_dir())
    assert sorted(file.suffix for file in directory.iterdir()) == [".json", ".npy"]
    np.testing.assert_array_equal(factor(model.K, keep=keep, solver=model.solver).solve(b), x)

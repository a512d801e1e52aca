"""Factors on disk: the same answers within a memory budget, and nothing left behind."""

import gc
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import fem
import reduction
from fem.errors import FactorisationError, MatrixError
from fem.linear_algebra.factor import factor
from fem.linear_algebra.factorisations import BACKENDS, forecast, mkl, mumps_library, storage
from fem.linear_algebra.factorisations.storage import PREFIX, SolverOptions, call_inside
from fem.mesh.structured_meshes import block
from fem.user_files import owner

ON_DISK = [
    pytest.param(
        name, marks=pytest.mark.skipif(BACKENDS[name].missing() is not None, reason=f"{name} is not installed")
    )
    for name in ("pardiso", "mumps")
]
EACH = pytest.mark.parametrize("backend", ON_DISK)
MEGABYTE = 2**20


@cache
def stiffness():
    """8,316 equations of a clamped block; a factor of 34 MB."""
    model = fem.Model(block("tetra10", (1.0, 0.3, 0.2), (14, 5, 4)), fem.Material.steel())
    clamped = np.unique((3 * model.mesh.nodes("x0")[:, None] + np.arange(3)).ravel())
    free = np.setdiff1d(np.arange(model.ndof), clamped)
    return model.K[free][:, free].tocsr() / 1e11


def matrix(kind="positive-definite"):
    A, one = stiffness(), sp.identity(stiffness().shape[0])
    if kind == "symmetric":
        return (A - 1e-3 * one).tocsr()
    if kind == "complex-symmetric":
        return ((1 + 0.1j) * A - 1e-3 * one).tocsr()
    return A if kind == "positive-definite" else (A + 1e-3 * sp.eye(len(A.indptr) - 1, k=1)).tocsr()


ROOM = {"positive-definite": 20, "symmetric": 21, "complex-symmetric": 42, "general": 38}
"""MiB that are enough on disk and too few in memory, with one thread or several (each takes a buffer)."""
AS_REAL = {"complex-symmetric": 80}
"""The same for a library of real numbers, which factorises a real matrix of twice the size."""


def tight(monkeypatch, backend, scratch, room=20 * MEGABYTE, needed=True):
    """A solver whose budget leaves little `room`: the process is said to hold nothing, so that the test does not depend on it."""
    module = BACKENDS[backend]
    monkeypatch.setattr(module, "resident", lambda: 0)
    return SolverOptions(memory=room if needed else 10**12, backend=backend, scratch=scratch)


@EACH
@pytest.mark.parametrize("kind", ["positive-definite", "symmetric", "complex-symmetric", "general"])
def test_the_answer_is_that_of_memory(backend, kind, tmp_path, monkeypatch):
    A = matrix(kind)
    B = np.random.default_rng(0).standard_normal((A.shape[0], 5))
    expected = factor(A, kind, backend).solve(B)
    room = (ROOM | AS_REAL if backend == "mumps" and mumps_library.library("z") is None else ROOM)[kind]
    inverse = factor(A, kind, solver=tight(monkeypatch, backend, tmp_path, room * MEGABYTE))
    assert inverse.record.disk > 0
    (directory,) = tmp_path.iterdir()
    assert directory.name.startswith(f"{PREFIX}{owner()}-")
    np.testing.assert_allclose(inverse.solve(B), expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    inverse.release()
    assert list(tmp_path.iterdir()) == []


@EACH
def test_two_factors_on_disk_leave_each_other_alone(backend, tmp_path, monkeypatch):
    solver = tight(monkeypatch, backend, tmp_path)
    A = matrix()
    b = np.ones(A.shape[0])
    first, second = factor(A, solver=solver), factor(2.0 * A, solver=solver)
    x = factor(A, backend=backend).solve(b)
    for _ in range(2):
        np.testing.assert_allclose(first.solve(b), x, rtol=0, atol=1e-10 * np.abs(x).max())
        np.testing.assert_allclose(second.solve(b), x / 2, rtol=0, atol=1e-10 * np.abs(x).max())
    assert len(list(tmp_path.iterdir())) == 2
    del first
    gc.collect()
    np.testing.assert_allclose(second.solve(b), x / 2, rtol=0, atol=1e-10 * np.abs(x).max())
    assert len(list(tmp_path.iterdir())) == 1


@EACH
def test_what_fits_stays_in_memory(backend, tmp_path, monkeypatch):
    inverse = factor(matrix(), solver=tight(monkeypatch, backend, tmp_path, needed=False))
    assert inverse.record.disk == 0
    assert list(tmp_path.iterdir()) == []
    assert factor(matrix(), backend=backend).record.disk == 0  # no budget: the machine's memory


@EACH
def test_a_budget_too_small_is_answered_with_one_that_works(backend, tmp_path, monkeypatch):
    with pytest.raises(FactorisationError, match="too small for this factorisation") as caught:
        factor(matrix(), solver=tight(monkeypatch, backend, tmp_path, MEGABYTE // 2))
    assert list(tmp_path.iterdir()) == []
    advice = str(caught.value).split("Give at least ")[1].rstrip(".")
    inverse = factor(matrix(), solver=SolverOptions(memory=advice, backend=backend, scratch=tmp_path))
    assert inverse.record.disk > 0


@EACH
def test_a_full_disk_is_told_before_the_work(backend, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(FactorisationError, match=r"needs .* on disk, and .* has 1000B free.*FLEXMB_SCRATCH"):
        factor(matrix(), solver=tight(monkeypatch, backend, tmp_path))
    assert list(tmp_path.iterdir()) == []


@EACH
def test_a_place_that_does_not_exist_is_told(backend, tmp_path, monkeypatch):
    with pytest.raises(FactorisationError, match=r"cannot be written to .*nowhere.*SolverOptions\(scratch"):
        factor(matrix(), solver=tight(monkeypatch, backend, tmp_path / "nowhere"))


@pytest.mark.skipif(any(BACKENDS[name].missing() for name in ("pardiso", "mumps")), reason="needs both libraries")
def test_mumps_takes_over_where_a_factor_goes_to_disk(tmp_path, monkeypatch):
    for name in ("pardiso", "mumps"):
        monkeypatch.setattr(BACKENDS[name], "resident", lambda: 0)
    assert factor(matrix(), solver=SolverOptions(20 * MEGABYTE, scratch=tmp_path)).backend == "mumps"
    assert factor(matrix(), solver=SolverOptions(10**12, scratch=tmp_path)).backend == "pardiso"


def test_superlu_refuses_a_budget():
    with pytest.raises(FactorisationError, match="cannot keep to a memory budget"):
        factor(matrix(), solver=SolverOptions(memory="1GiB", backend="superlu"))


@pytest.mark.parametrize("memory", ["much", "", -1, 0, "0B"])
def test_senseless_budgets_are_refused(memory):
    with pytest.raises(MatrixError, match="memory budget is a number of bytes"):
        SolverOptions(memory=memory)


def test_budgets_are_read():
    assert SolverOptions(memory="4GiB").budget == 4 * 2**30
    assert SolverOptions(memory="800MB").budget == 800 * 10**6
    assert SolverOptions(memory=12345).budget == 12345
    assert SolverOptions().budget > 2**28


@EACH
def test_a_killed_process_leaves_nothing_after_the_next_start(backend, tmp_path, monkeypatch):
    script = f"""
        import os, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_out_of_core import matrix, BACKENDS, SolverOptions, factor
        BACKENDS[{backend!r}].resident = lambda: 0
        inverse = factor(matrix(), solver=SolverOptions(20 * 2**20, {backend!r}, {str(tmp_path)!r}))
        assert inverse.record.disk
        os.kill(os.getpid(), 9)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    left = list(tmp_path.iterdir())
    assert len(left) == 1
    inverse = factor(matrix(), solver=tight(monkeypatch, backend, tmp_path))
    assert left[0] not in tmp_path.iterdir()
    assert len(list(tmp_path.iterdir())) == 1
    inverse.release()


@EACH
def test_a_reduction_within_a_budget_is_the_same_body(backend, tmp_path, monkeypatch):
    part = fem.Model(block("tetra10", (1.0, 0.2, 0.1), (20, 5, 4)), fem.Material.steel()).with_interfaces(
        a="x0", b=fem.Interface("x1", kind="average")
    )
    monkeypatch.setattr(BACKENDS[backend], "resident", lambda: 0)
    lean = part.with_solver(memory=32 * MEGABYTE, backend=backend, scratch=tmp_path)
    for method in (lambda m: reduction.craig_bampton(m, 8), lambda m: reduction.krylov(m, shifts=[500.0], moments=1)):
        expected, found = method(part), method(lean)
        np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-9)
    assert found.options["factor_on_disk"] > 0
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@EACH
def test_what_is_about_to_be_done_is_told(backend, tmp_path, monkeypatch, caplog):
    """Entries and place come from the analysis, before the work; the forecast of the time is right within an order of magnitude."""
    monkeypatch.setattr(forecast, "SHORT", 0.0)
    with caplog.at_level("INFO", logger="fem"):
        inverse = factor(matrix(), solver=tight(monkeypatch, backend, tmp_path))
    (message,) = caplog.messages
    assert message.startswith(f"factorising {matrix().shape[0]} equations: factor of ")
    assert " on disk, about " in message
    expected = inverse._factorisation.forecast
    assert expected.flops == pytest.approx(inverse.record.flops, rel=0.2)
    assert 0.1 * expected.seconds < inverse.record.seconds < 100 * expected.seconds + 1.0
    assert forecast._duration(59.0) == "59 s"
    assert forecast._duration(600.0) == "10 min"


@pytest.mark.skipif(BACKENDS["pardiso"].missing() is not None, reason="needs PARDISO")
def test_pardiso_is_given_its_directory_in_no_way_that_spoils_memory(tmp_path, monkeypatch):
    """With a name in the environment oneMKL 2025 to 2026.2 writes a byte beyond the end of its buffer."""
    monkeypatch.setenv("MKL_PARDISO_OOC_PATH", str(tmp_path / "elsewhere"))
    named, real = [], mkl.pardiso

    def watched(handle, mtype, phase, *rest):
        if phase == mkl.FACTORISE:
            named.append([name for name in mkl.OUT_OF_CORE_PLACES if name in os.environ])
        return real(handle, mtype, phase, *rest)

    monkeypatch.setattr(mkl, "pardiso", watched)
    inverse = factor(matrix(), solver=tight(monkeypatch, "pardiso", tmp_path))
    assert named
    assert not any(named)
    assert os.environ["MKL_PARDISO_OOC_PATH"] == str(tmp_path / "elsewhere")
    assert inverse.record.disk == sum(file.stat().st_size for file in next(tmp_path.iterdir()).iterdir())


@pytest.mark.parametrize("own", [True, False])
def test_a_call_inside_a_directory(own, tmp_path, monkeypatch):
    """Where a thread can have a working directory of its own, others keep theirs."""
    if not own:
        monkeypatch.setattr(storage, "_own_directory", lambda: False)
    elif not sys.platform.startswith("linux"):
        pytest.skip("only Linux gives a thread a working directory")
    before, go, seen = Path.cwd(), threading.Event(), threading.Event()
    others = []

    def other():
        go.wait()
        others.append(Path.cwd())
        seen.set()

    threading.Thread(target=other).start()

    def work():
        go.set()
        seen.wait()
        return Path.cwd()

    assert call_inside(tmp_path, work) == tmp_path
    assert others == [before if own else tmp_path]
    assert Path.cwd() == before
    with pytest.raises(ZeroDivisionError):
        call_inside(tmp_path, lambda: 1 // 0)
    assert Path.cwd() == before

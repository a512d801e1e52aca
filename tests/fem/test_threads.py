"""Threads of the numerical libraries: those that help, and none that waits for another."""

import inspect
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import fem
import flexmb
import reduction
from fem.linear_algebra import threads
from fem.linear_algebra.factor import factor
from fem.linear_algebra.factorisations import mkl
from fem.linear_algebra.threads import LARGE, Use, one_openblas_thread, taken_by_others, threads_for
from fem.matrices import assembly

WITH_MKL = pytest.mark.skipif(mkl.library() is None, reason="MKL is not installed")


@pytest.fixture
def undecided(monkeypatch):
    """No variable decides; three cores, and a function that says how many of them others use from now on."""
    for name in threads.DECIDED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(threads, "own_cores", lambda: [0, 1, 2])
    others = threads._Others()
    monkeypatch.setattr(threads, "_others", others)

    def use(cores):
        monkeypatch.setattr(others, "look", lambda: cores)

    return use


@pytest.mark.parametrize(("others", "count"), [(0.0, 3), (0.4, 3), (0.6, 2), (1.0, 2), (1.4, 2), (2.0, 1), (3.0, 1)])
def test_a_large_factorisation_takes_the_cores_that_are_free(undecided, others, count):
    undecided(others)
    assert threads_for(LARGE, 3) == count
    assert threads_for(LARGE, 2) == min(count, 2)  # MKL has only two
    assert threads_for(LARGE - 1, 3) == 1


@pytest.mark.parametrize("name", threads.DECIDED)
def test_a_user_decides_by_the_environment(undecided, monkeypatch, name):
    undecided(3.0)
    monkeypatch.setenv(name, "2")
    assert threads_for(10, 2) == threads_for(10 * LARGE, 2) == 2


def test_what_others_take_is_without_our_own_share():
    assert taken_by_others(Use(10.0, 100.0, 7.0), Use(12.0, 103.0, 8.5)) == pytest.approx(0.75)
    assert taken_by_others(Use(10.0, 100.0, 7.0), Use(12.0, 101.0, 8.5)) == 0.0  # clocks of different steps


def test_busy_neighbours_are_seen(monkeypatch):
    """A program on every core: a factorisation keeps to one thread. What this process does itself is no neighbour."""
    for name in threads.DECIDED:
        monkeypatch.delenv(name, raising=False)
    cores = len(threads.own_cores())
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
    try:
        time.sleep(0.5)
        assert threads._Others().look() > 0.4 * cores
        monkeypatch.setattr(threads, "_others", threads._Others())
        assert threads_for(LARGE, cores) <= max(1, cores // 2)
    finally:
        for process in busy:
            process.kill()
            process.wait()


@WITH_MKL
def test_mkl_gets_the_number_and_gives_it_back(monkeypatch):
    """The factorisation and its solutions run with it, whatever it is, and agree."""
    library, seen = mkl.library(), []
    before = library.MKL_Get_Max_Threads()
    inner = library.pardiso

    def counting(*arguments):
        seen.append(library.MKL_Get_Max_Threads())
        inner(*arguments)

    monkeypatch.setattr(library, "pardiso", counting)
    K = np.diag(np.arange(1.0, 51.0)) + 0.1
    found = []
    for count in (1, 2):
        monkeypatch.setattr(mkl, "threads_for", lambda equations, most, count=count: count)
        seen.clear()
        with factor(K) as inverse:
            found.append(inverse.solve(np.ones(50)))
        assert set(seen) == {min(count, os.cpu_count() or 1)}
    assert np.abs(found[0] - found[1]).max() <= 1e-14 * np.abs(found[0]).max()
    assert library.MKL_Get_Max_Threads() == before


@WITH_MKL
def test_idle_threads_of_mkl_sleep_and_the_environment_is_as_before():
    code = (
        "import ctypes, os\n"
        "from fem.linear_algebra.factorisations import mkl\n"
        "from threadpoolctl import threadpool_info\n"
        "mkl.library()\n"
        "openmp = [entry['filepath'] for entry in threadpool_info() if entry['prefix'] == 'libiomp']\n"
        "print(mkl.IDLE in os.environ, *[ctypes.CDLL(path).kmp_get_blocktime() for path in openmp])\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != mkl.IDLE}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["False", "0"]


def openblas():
    return {entry["num_threads"] for entry in threadpool_info() if entry["internal_api"] == "openblas"}


def test_reductions_and_bodies_use_one_thread_of_openblas(monkeypatch):
    """Its threads would wait for each other by spinning: the second-order field took ten times its CPU time with two."""
    seen = []
    inner = assembly.projected_stress_part

    def looking(*arguments):
        seen.append(openblas())
        return inner(*arguments)

    monkeypatch.setattr(assembly, "projected_stress_part", looking)
    before = openblas()
    part = fem.Model(fem.structured_meshes.block("tetra10", (1.0, 0.1, 0.1), (4, 1, 1)), fem.Material.steel())
    part = part.with_interfaces(a="x0", b="x1")
    flexmb.flexible_body(part, reduction.craig_bampton(part, 2))
    assert seen
    assert all(found == {1} for found in seen)
    assert openblas() == before


def test_the_limit_decorates_functions_that_call_each_other():
    @one_openblas_thread()
    def outer():
        """Says how many."""
        inside = inner()
        return inside, openblas()

    @one_openblas_thread()
    def inner():
        return openblas()

    before = openblas()
    assert outer() == ({1}, {1})
    assert openblas() == before
    assert outer.__doc__ == "Says how many."
    assert list(inspect.signature(reduction.craig_bampton).parameters)[:2] == ["model", "modes"]

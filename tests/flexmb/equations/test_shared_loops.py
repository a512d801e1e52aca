"""Loops over bodies that threads share: the same numbers as in one thread, whoever else runs."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from mechanisms import random_flexible_body

import flexmb
from flexmb.equations import evaluation
from flexmb.equations.evaluation import Equations
from flexmb.kernels.base.library import choice

pytestmark = pytest.mark.skipif(
    choice().library is None or not choice().library.SHARE, reason="threads belong to the library"
)


def net(count=24):
    """A chain of different flexible and rigid bodies with struts, loads, a bushing, a relation and a closed loop."""
    rng = np.random.default_rng(5)
    system = flexmb.System(gravity=(0, 0.5, -9.81))
    before, bodies = system.ground.at((0, 0, 0)), []
    for k in range(count):
        if k % 5 == 3:
            part = flexmb.uniform_rod(f"rod {k}", mass=1.0, length=1.0)
        else:
            part = random_flexible_body(rng, modes=2 + k % 4, name=f"part {k}", second_order=k % 2 == 0, damping=0.1)
        body = system.add(part, position=(float(k), 0, 0))
        system.joint("revolute" if k % 3 else "spherical", f"hinge {k}", before, body["start"], **({"axis": (0, 1, 0)} if k % 3 else {}))  # fmt: skip
        before = body["end"]
        bodies.append(body)
    system.spring_damper("strut", bodies[2]["end"], bodies[9]["start"], stiffness=40.0, damping=1.0)
    system.bushing(
        "bushing", bodies[4]["end"], bodies[12]["start"], stiffness=[50.0] * 6, damping=[0.5] * 6, free="drawn"
    )
    system.load("push", bodies[7]["end"], force=(1.0, 0.5, 2.0), follower=True)
    system.spherical("end", system.ground.at((float(count), 0, 0)), before)
    return system.build()


@pytest.fixture
def threads(monkeypatch):
    """Let so many threads share the loops of every mechanism from 16 bodies on."""

    def chosen(count):
        monkeypatch.setattr(evaluation, "WORTHWHILE", 0)
        for name in ("MKL_NUM_THREADS", "OMP_NUM_THREADS"):
            monkeypatch.setenv(name, str(count))

    return chosen


def same(a, b):
    for name in ("q", "w", "wdot", "multipliers"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(a.ledger.kinetic, b.ledger.kinetic)
    np.testing.assert_array_equal(a.ledger.gravity, b.ledger.gravity)


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_threads_change_no_bit(threads, coordinates):
    mechanism, options = net(), {"step": 2e-3, "coordinates": coordinates}
    threads(1)
    alone = flexmb.simulate(mechanism, 0.04, **options)
    for count in (2, 5):
        threads(count)
        same(flexmb.simulate(mechanism, 0.04, **options), alone)


def test_several_simulations_at_once(threads):
    """One of them has the pool, the others work alone."""
    mechanism = net()
    threads(1)
    alone = flexmb.simulate(mechanism, 0.04, step=2e-3)
    threads(3)
    with ThreadPoolExecutor(3) as pool:
        for result in pool.map(lambda k: flexmb.simulate(mechanism, 0.04, step=2e-3), range(3)):
            same(result, alone)


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own(threads):
    mechanism = net()
    threads(2)
    before = flexmb.simulate(mechanism, 0.02, step=2e-3)
    child = os.fork()
    if child == 0:
        after = flexmb.simulate(mechanism, 0.02, step=2e-3)
        os._exit(0 if np.array_equal(before.q, after.q) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_are_for_large_mechanisms_and_free_cores(threads, monkeypatch):
    def count(mechanism):
        equations = Equations(mechanism, mechanism.initial.q)
        equations.share_loops()
        return int(equations.workspace.pool[1])

    threads(2)
    assert count(net()) == 2
    assert count(net(15)) == 0
    threads(1)
    assert count(net()) == 0
    monkeypatch.undo()
    assert count(net()) == 0

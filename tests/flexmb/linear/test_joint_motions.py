"""Independent coordinates of open trees by recursion, against the null space of the joint equations."""

import time

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum, slider_crank
from test_explicit_tree import branched

import flexmb
from benchmarks.chain import chain
from flexmb.equations.tangent import allowed_motions
from flexmb.linear import linearise
from flexmb.mechanism.compile import compiled
from flexmb.spatial.configuration import difference
from flexmb.spatial.lie import quaternion_from_rotation, rotation_exp, rotation_from_quaternion


@pytest.mark.parametrize("make", [branched, double_pendulum, lambda: flexible_pendulum(np.random.default_rng(1), second_order=True)])  # fmt: skip
def test_they_span_what_the_joints_allow(make):
    linear = linearise(make())
    N, weight = linear.N, compiled(linear.mechanism).weight
    assert len(linear.coordinates) == N.shape[1] == len(set(linear.coordinates))
    np.testing.assert_allclose(linear.G @ N, 0.0, atol=1e-9)
    null = allowed_motions(linear.G.toarray(), weight)
    assert N.shape == null.shape
    assert np.linalg.matrix_rank(np.hstack([N, null]) * weight[:, None], tol=1e-9) == N.shape[1]


def test_matrices_are_those_of_the_double_pendulum_in_its_angles():
    """Two rods of 1 m and 1 kg hang down: textbook matrices in relative angles."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    rods = [system.add(flexmb.uniform_rod(n, mass=1.0, length=1.0), position=(0, -k, 0), orientation=(0, 0, -np.pi / 2)) for k, n in enumerate("ab")]  # fmt: skip
    system.revolute("hinge", system.ground.at((0, 0, 0)), rods[0], axis=(0, 0, 1))
    system.revolute("elbow", rods[0]["end"], rods[1], axis=(0, 0, 1))
    linear = linearise(system)
    assert linear.coordinates == ("hinge about z", "elbow about z")
    M, _, K = linear.reduced()
    bend = 1 / 3 + 1 / 2
    np.testing.assert_allclose(
        M, [[1 / 3 + 1 + 2 * 1 / 2 + 1 / 3, bend], [bend, 1 / 3]], rtol=1e-3
    )  # rods of some thickness
    np.testing.assert_allclose(K, 9.81 * np.array([[0.5 + 1.5, 0.5], [0.5, 0.5]]), rtol=1e-7, atol=1e-7)


def test_motions_of_the_whole_are_among_those_that_are_likely_to_change_nothing():
    """Translations and rotations of a free chain as one body, about the axes of the world and wherever it is drawn."""
    system = flexmb.System()
    rods = [
        system.add(flexmb.uniform_rod(name, mass=1.0, length=1.0), position=(3.0 + k, 2.0, -1.0), orientation=(0.4 * k, 0, 0))
        for k, name in enumerate("ab")
    ]  # fmt: skip
    system.revolute("elbow", rods[0]["end"], rods[1]["start"], axis=(0, 0, 1))
    linear = linearise(system)
    flat, q = compiled(linear.mechanism), linear.state.q
    whole = []
    for k in range(6):
        unit, moved = 1e-6 * np.eye(3)[k % 3], q.copy()
        R = rotation_exp(unit if k > 2 else np.zeros(3))
        for s in flat.q_start[:-1]:
            moved[s : s + 3] = R @ q[s : s + 3] + (unit if k < 3 else 0.0)
            moved[s + 3 : s + 7] = quaternion_from_rotation(R @ rotation_from_quaternion(q[s + 3 : s + 7]))
        whole.append(1e6 * difference(flat, q, moved))
    likely = linear.N @ linear.independent.likely_symmetries
    for motion in whole:
        assert np.abs(likely - motion[:, None]).max(axis=0).min() < 1e-5


def test_loops_keep_displacements():
    linear = linearise(slider_crank())
    assert linear.coordinates == ("motion 1",)


def test_a_long_chain_is_quick():
    """Three hundred bars: 1,500 joint equations."""
    linear = linearise(chain(300))
    begin = time.process_time()
    assert linear.N.shape == (1800, 300)
    assert time.process_time() - begin < 2.0

"""The six rows of an element, which share their directions, against the same rows one by one."""

from itertools import pairwise

import numpy as np
import pytest

import flexmb
from flexmb.equations.evaluation import Equations
from flexmb.kernels import calls
from tests.mechanisms import random_flexible_body

TURN = (0.3, -0.5, 0.2)


@flexmb.law
def nothing(t, relative, states, parameters, wrench, rates):
    """No force."""


@pytest.mark.parametrize("second_order", [False, True])
def test_rows_of_an_element_are_those_of_single_rows(second_order):
    random = np.random.default_rng(5)
    system = flexmb.System()
    soft = system.add(
        random_flexible_body(random, second_order=second_order), position=(0.3, -0.2, 0.5), orientation=TURN
    )
    stiff = system.add(flexmb.rigid_body("box", mass=2.0, inertia=(0.1, 0.2, 0.3)), position=(0.1, 0.6, 0.2))
    tip, place = soft["end"], stiff.at((0.1, -0.3, 0.2))
    ends = [(tip, place), (place, tip), (system.ground.at((1, 2, 3)), tip), (place, system.ground.at((1, 2, 3)))]
    for k, (a, b) in enumerate(ends):
        system.force(f"element {k}", a, b, nothing())
    mechanism = system.build()
    q = mechanism.initial.q.copy()
    q[7:10] = 0.1 * random.normal(size=3)
    equations = Equations(mechanism, q)
    flat, workspace, kinematics = equations.flat, equations.workspace, equations.kinematics
    functions = np.zeros((1, 3))
    calls.place_markers(flat, q, kinematics)

    def rows(pieces):
        workspace.G[:] = 0.0
        workspace.values[:] = np.nan
        for first, end in pairwise(pieces):
            calls.rows_of(flat, functions, equations.expected, kinematics, workspace, first, end, 0)
        return workspace.values.copy(), workspace.G.copy()

    count = len(workspace.values)
    (values, found), (single_values, expected) = rows([0, count]), rows(list(range(count + 1)))
    assert values == pytest.approx(single_values, rel=1e-14, abs=1e-15)
    assert np.abs(expected[:, :, 6:]).max() > 0.1
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-14)

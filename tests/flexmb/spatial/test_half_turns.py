"""Logarithms and quaternions of half turns, where the dominant column of `R + I` gives the axis: each of its three branches."""

import numpy as np
import pytest

from flexmb.spatial.lie import quaternion_from_rotation, rotation_from_quaternion

AXES = [
    (1, 0, 0),
    (0, 1, 0),
    (0, 0, 1),
    (3, 1, 2),
    (1, 3, 2),
    (1, 2, 3),
    (2, 1, 3),
    (2.1, 0.1, 2.2),
    (0.1, 2.1, 2.2),
    (-1, -2, -3),
    (1e-9, 0, 1),
]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("missing", [0.0, 1e-9, 1e-8])
def test_a_half_turn_comes_back(axis, missing):
    axis = np.array(axis) / np.linalg.norm(axis)
    given = np.array([np.sin(missing / 2), *(np.cos(missing / 2) * axis)])
    R = rotation_from_quaternion(given)
    assert np.abs(rotation_from_quaternion(quaternion_from_rotation(R)) - R).max() < (2e-7 if missing else 1e-14)
    found = quaternion_from_rotation(R)
    assert abs(abs(found @ given) - 1) < 1e-14

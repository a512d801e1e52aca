"""A law that fails only where the iteration has run away is no fault of the law."""

import math

import numba
import numpy as np
import pytest

import flexmb
from flexmb.errors import ConvergenceError, LawError


def slider(law):
    system = flexmb.System()
    body = flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1))
    mass = system.add(body, position=(0.3, 0, 0), velocity=(2.0, 0, 0))
    system.prismatic("guide", system.ground.at((0, 0, 0)), mass.at((0, 0, 0)), axis=(1, 0, 0))
    system.motor("push", "guide", law)
    return system


@numba.njit
def growing(t, x, v):
    return np.inf if x > 700.0 else np.exp(x) - 1.0


@pytest.mark.parametrize("law", [lambda t, x, v: math.exp(x) - 1.0, growing])
@pytest.mark.parametrize("method", ["generalised-alpha", "hht"])
def test_an_iteration_that_runs_away_does_not_converge(law, method):
    """exp(x) pushes along x and overflows where no motion is; the cause is kept."""
    with pytest.raises(ConvergenceError, match=r"diverges at t = .* moves the coordinate of 'push' by") as told:
        flexmb.simulate(slider(law), 3.0, step=0.05, method=method)
    assert isinstance(told.value.__cause__, LawError)


@flexmb.law
def pushing(t, relative, states, parameters, wrench, rates):
    wrench[0] = np.exp(relative.d[0]) - 1.0


@flexmb.law
def pushing_in_python(t, relative, states, parameters, wrench, rates):
    wrench[0] = (math.exp(relative.d[0]) - 1.0) * float("1")  # which numba does not compile


@pytest.mark.parametrize("law", [pushing, pushing_in_python])
def test_frames_that_an_iteration_moves_far_do_not_blame_their_law(law):
    """The same between two frames."""
    system = flexmb.System()
    body = flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1))
    mass = system.add(body, position=(0.3, 0, 0), velocity=(2.0, 0, 0))
    system.prismatic("guide", system.ground.at((0, 0, 0)), mass.at((0, 0, 0)), axis=(1, 0, 0))
    system.force("push", system.ground, mass, law(), at=(0, 0, 0), axis=(0, 0, 1))
    with pytest.raises(ConvergenceError, match=r"diverges at t = .* moves the frames of 'push' by") as told:
        flexmb.simulate(system, 3.0, step=0.2)
    assert isinstance(told.value.__cause__, LawError)


def test_a_law_that_the_motion_leaves_is_named():
    with pytest.raises(LawError, match="push"):
        flexmb.simulate(slider(lambda t, x, v: math.sqrt(0.5 - x)), 3.0, step=0.01)

"""Feedforward of flexible mechanisms: closed forms of a linear system, the rigid limit, and what is refused."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import flexmb
from flexmb.analyses.feedforward import feedforward
from flexmb.analyses.inverse_dynamics import Servo
from flexmb.errors import FeedforwardWarning, InverseError, MotionError
from flexmb.mechanism.time_functions import smooth_step
from validation.feedforward import cart

STIFFNESS, STROKE, STEP = 400.0, 0.01, 0.02
TIP = "cantilever.tip"


def derivative(order, t, k=9):
    """Of the normalised integral of t^k (1 - t)^k."""
    rise = (Polynomial([0, 1]) * Polynomial([1, -1])) ** k
    return rise.deriv(order - 1)(t) / rise.integ()(1.0)


@pytest.mark.parametrize("order", [0, 2])
def test_the_efforts_of_a_linear_system_are_those_of_the_expansion(order):
    """`J s'' + b d'' = u`, `b s'' + m d'' + k d = 0`, `y = s + d`: with `d = 0`, then with `d = -b y'' / k`."""
    found = feedforward(cart(STIFFNESS), [Servo(TIP, "y", smooth_step(0, 1, STROKE, derivatives=9))], ["motor"], 1.0, STEP, order=order)  # fmt: skip
    J, b = 1 / 3 + 0.2, 0.25
    y2, y4 = derivative(2, found.t), derivative(4, found.t)
    exact = STROKE * (J * y2 + (order > 0) * (J - b) * b * y4 / STIFFNESS)
    np.testing.assert_allclose(found.efforts[:, 0], exact, atol=3e-3 * np.abs(exact).max())  # differences over 0.02
    assert found.iterations == order // 2 + 1


def test_a_rigid_mechanism_needs_no_expansion():
    """Order 0 is the inverse dynamics of a pendulum whose end rises: torque `J a'' + m g l cos a`, which holds its
    weight in the time after the motion."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0, radius=1e-6))
    system.revolute("hinge", system.ground, rod["start"], axis=(0, 0, 1))
    system.motor("motor", "hinge", 0.0)
    path = smooth_step(0.0, 1.0, 0.5, derivatives=6)
    found = feedforward(system, [Servo("rod.end", "y", path)], ["motor"], 1.0, 0.01, order=0, after=0.3)
    assert found.t[[0, -1]] == pytest.approx([0.0, 1.3])
    y, rate, acceleration = path.over(found.t).T
    angle, cosine = np.arcsin(y), np.sqrt(1 - y**2)
    torque = (acceleration + (rate / cosine) ** 2 * y) / cosine / 3 + 9.81 / 2 * np.cos(angle)
    np.testing.assert_allclose(found.efforts[:, 0], torque, atol=1e-5 * np.abs(torque).max())


def test_an_expansion_that_does_not_converge_is_told():
    servo = Servo(TIP, "y", smooth_step(0, 1, STROKE, derivatives=9))
    with pytest.warns(FeedforwardWarning, match="does not converge"):
        feedforward(cart(8.0), [servo], ["motor"], 1.0, 0.05, order=2)


def test_bad_requests_are_told():
    servo = Servo(TIP, "y", smooth_step(0, 1, STROKE, derivatives=4))
    for order in (-2, 1):
        with pytest.raises(InverseError, match="even number"):
            feedforward(cart(STIFFNESS), [servo], ["motor"], 1.0, STEP, order=order)
    with pytest.raises(InverseError, match="after must be finite and not negative"):
        feedforward(cart(STIFFNESS), [servo], ["motor"], 1.0, STEP, after=-1.0)
    with pytest.raises(MotionError, match="two to 30"):
        smooth_step(0, 1, 1, derivatives=1)


def test_smoother_steps_have_their_derivatives():
    path = smooth_step(1.0, 2.0, 3.0, derivatives=5)
    t = np.linspace(1.0, 3.0, 21)
    exact = np.array([3 * derivative(n, (t - 1) / 2, 5) / 2**n for n in (1, 2)])
    np.testing.assert_allclose(path.over(t)[:, 1:].T, exact, atol=1e-12)
    assert path.value(3.0) == 3.0
    assert path.value(1.0) == 0.0

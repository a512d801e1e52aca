"""Buffers, cables and preloaded springs against closed forms of the motion of one mass."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

import flexmb
from flexmb.errors import LawError
from flexmb.forces import cable, gap_spring, preloaded_spring

MASS, SPEED = 2.0, 3.0


def thrown(law, speed=SPEED):
    """A mass on a rail that leaves x = 0 with a speed."""
    system = flexmb.System()
    body = flexmb.rigid_body("mass", mass=MASS, inertia=(1, 1, 1), points={"middle": (0, 0, 0)})
    mass = system.add(body)
    system.prismatic("rail", system.ground, mass["middle"], axis=(1, 0, 0))
    system.set_speed("rail", speed)
    system.joint_spring("element", "rail", law=law)
    return system


def moved(law, duration, speed=SPEED, tolerance=1e-9):
    run = flexmb.simulate(thrown(law, speed), duration, method="radau", tolerance=tolerance, output_step=duration / 50)
    return run.t, run.coordinate("rail"), run.coordinate_rate("rail")


@pytest.mark.parametrize("opening", [False, True])
def test_a_buffer_behind_a_gap_throws_back_after_half_a_period(opening):
    """Free flight through the gap, half a period of the oscillator, free flight back."""
    k, gap, sign = 800.0, 0.3, 1.0 if opening else -1.0
    law = gap_spring(k, gap, opening=opening)
    w, arrival = np.sqrt(k / MASS), gap / SPEED
    t, x, v = moved(law, 0.4, sign * SPEED)
    inside = np.clip(t - arrival, 0.0, np.pi / w)
    depth = SPEED / w * np.sin(w * inside)
    flown = np.minimum(t, arrival) - np.maximum(t - arrival - np.pi / w, 0.0)
    np.testing.assert_allclose(sign * x, SPEED * flown + depth, atol=1e-6)
    assert v[-1] == pytest.approx(-sign * SPEED, rel=1e-6)


@pytest.mark.parametrize("opening", [False, True])
def test_a_buffer_with_damping_returns_the_speed_of_hunt_and_crossley(opening):
    """`v dv = -d^1.5 (1 + c v) dd`: `v/c - log(1 + c v)/c^2` is the same before and after, and gives the depth."""
    c = 0.75

    def lost(v):
        return v / c - np.log(1 + c * v) / c**2

    sign = -1.0 if opening else 1.0
    x, v = sign * np.array(moved_unit(gap_spring(1.0, exponent=1.5, damping=c, opening=opening), speed=-sign))
    assert v[-1] == pytest.approx(-brentq(lambda v: lost(v) - lost(1.0), -0.99, -0.1), abs=1e-6)
    assert v[-1] == pytest.approx(0.6630, abs=5e-5)  # as published for a wanted restitution of 0.5
    assert -x.min() == pytest.approx((2.5 * lost(1.0)) ** 0.4, abs=1e-5)


def moved_unit(law, speed=-1.0):
    """A mass and a speed of one, towards the buffer."""
    system = flexmb.System()
    body = flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1), points={"middle": (0, 0, 0)})
    system.prismatic("rail", system.ground, system.add(body)["middle"], axis=(1, 0, 0))
    system.set_speed("rail", speed)
    system.joint_spring("element", "rail", law=law)
    run = flexmb.simulate(system, 4.0, method="radau", tolerance=1e-9, output_step=0.002)
    return run.coordinate("rail"), run.coordinate_rate("rail")


def test_a_cable_holds_once_and_lets_go():
    """At first the damping is limited to the force of the spring: twice the stiffness, until `c x' = k x`. Then the
    cable is a damped oscillator, and lets go where that has no acceleration."""
    k, c = 800.0, 24.0
    twice = np.sqrt(2 * k / MASS)
    first = np.arctan(c * twice / k) / twice
    begin = np.array([SPEED / twice * np.sin(twice * first), SPEED * np.cos(twice * first)])
    A = np.array([[0.0, 1.0], [-k / MASS, -c / MASS]])
    last = brentq(lambda t: (A @ expm(t * A) @ begin)[1], 0.1 * np.pi / twice, 2 * np.pi / twice)
    speed = (expm(last * A) @ begin)[1]
    t, x, v = moved(cable(k, damping=c), 0.3)
    np.testing.assert_allclose(x[t < first], SPEED / twice * np.sin(twice * t[t < first]), atol=1e-6)
    held = (t > first) & (t < first + last)
    assert held.sum() > 5
    np.testing.assert_allclose(x[held], [(expm((tau - first) * A) @ begin)[0] for tau in t[held]], atol=1e-6)
    assert t[-1] > first + last + 0.05
    assert v[-1] == pytest.approx(speed, rel=1e-6)


def test_a_slack_cable_does_not_act():
    law = cable(800.0, damping=24.0)
    np.testing.assert_array_equal(
        law.over(0.0, np.array([-0.1, -0.1, 0.0, 0.1]), np.array([9.0, -9.0, 9.0, -9.0])), 0.0
    )
    assert law(0.0, 0.1, 1.0) == -104.0
    assert law(0.0, 0.1, 9.0) == -160.0  # the damping is at most the force of the spring
    assert cable(800.0)(0.0, 0.1, -5.0) == -80.0


def test_a_hanging_mass_stretches_its_cable():
    system = flexmb.System(gravity=(0, 0, -9.81))
    mass = system.add(flexmb.rigid_body("mass", mass=MASS, inertia=(1, 1, 1)), position=(0, 0, -1))
    system.spring_damper(
        "rope", system.ground.at((0, 0, 0)), mass.at((0, 0, 0)), length=1.2, law=cable(5000.0, damping=300.0)
    )
    run = flexmb.simulate(system, 2.0, tolerance=1e-7)
    assert -run.position("mass")[-1, 2] - 1.2 == pytest.approx(MASS * 9.81 / 5000.0, rel=1e-4)


def test_a_preloaded_spring_turns_where_its_energy_does():
    """`m v^2 / 2 = F s / 2 + F d + k d^2 / 2` beyond the seat of stiffness F / s, to both sides."""
    k, preload, seat = 50.0, 40.0, 4000.0
    s = preload / seat
    law = preloaded_spring(k, preload, seat=seat)
    np.testing.assert_allclose(
        law.over(0.0, np.array([0.0, s, -s, 0.11, -0.11]), 0.0), [0, -40, 40, -45, 45], rtol=1e-12
    )
    left = MASS * SPEED**2 / 2 - preload * s / 2
    furthest = s + (-preload + np.sqrt(preload**2 + 2 * k * left)) / k
    _, x, v = moved(law, 0.35, tolerance=1e-10)
    potential = np.where(
        np.abs(x) < s, seat * x**2 / 2, preload * s / 2 + preload * (np.abs(x) - s) + k * (np.abs(x) - s) ** 2 / 2
    )
    np.testing.assert_allclose(MASS * v**2 / 2 + potential, MASS * SPEED**2 / 2, rtol=1e-6)
    assert v.min() < 0.0 < furthest
    assert x.max() <= furthest * (1 + 1e-9)
    assert x.max() == pytest.approx(furthest, rel=1e-2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gap_spring(-1.0), "needs a stiffness that is finite and not negative; found -1.0"),
        (lambda: gap_spring(1.0, float("inf")), "needs a finite gap; found inf"),
        (lambda: gap_spring(1.0, exponent=0.5), "an exponent of at least 1; found 0.5"),
        (lambda: cable(1.0, damping=float("nan")), "needs a damping that is finite"),
        (lambda: preloaded_spring(10.0, 1.0, seat=5.0), "must be stiffer than the spring, 10.0; found 5.0"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(LawError, match=message):
        make()

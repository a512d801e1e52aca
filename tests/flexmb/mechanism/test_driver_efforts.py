"""Efforts of drivers: those of their motions, or a warning."""

import numpy as np
import pytest

import flexmb
from flexmb import DriverEffortWarning
from flexmb import time_functions as tf

MASS = 2.5
METHODS = ("generalised-alpha", "hht")
TIMES = np.linspace(-0.1, 1.4, 61)
WAVE = np.sin(2 * np.pi * TIMES)


def driven(motion, kind="rail"):
    """A mass on a rail, a wheel, or a mass at the end of a rod: the effort of each is MASS times the acceleration."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("mass", mass=MASS, inertia=(2, 2, MASS)))
    if kind == "wheel":
        system.revolute("rail", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    else:
        system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    if kind == "rod":
        length = tf.function(lambda t: 2.0 + motion(t)[0], lambda t: motion(t)[1], lambda t: motion(t)[2])
        system.distance("rod", system.ground.at((-2.0, 0, 0)), body.at((0, 0, 0)), length=length)
    else:
        system.drive("rail", motion)
    return system


def error(motion, result, kind="rail"):
    """The largest error of the effort, relative to the largest effort."""
    effort = result.reaction("rod")[:, 0] if kind == "rod" else result.drive_effort("rail")
    wanted = MASS * motion.over(result.t)[:, 2]
    return np.abs(effort - wanted).max() / np.abs(wanted).max()


@pytest.mark.parametrize("kind", ["rail", "wheel", "rod"])
@pytest.mark.parametrize("method", METHODS)
def test_a_jerk_that_jumps_is_told(method, kind):
    """The quintic step, whose jerk begins with 60: with 100 steps in its rise the effort is wrong by 28 and 14 %."""
    quintic = tf.smooth_step(0.1, 1.0, 1.0)
    name = "rod" if kind == "rod" else "rail"
    with pytest.warns(DriverEffortWarning, match=rf"driver '{name}' of .* errs: at t = .* derivatives=3") as found:
        result = flexmb.simulate(driven(quintic, kind), 1.3, method=method, step=0.01, output_step=0.01)
    wrong = error(quintic, result, kind)
    assert wrong > 0.1
    assert f", {wrong:.0%} of the largest" in str(found[0].message)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "motion",
    [tf.smooth_step(0.1, 1, 1, derivatives=3), tf.spin_up(1, 1), tf.pulse(0.1, 1, 1), tf.harmonic(1, 1), tf.table(TIMES, WAVE),
     tf.constant_speed(3.0), tf.polynomial(0, 0, 0, 1.0)],
    ids=lambda motion: motion.description.partition("(")[0],
)  # fmt: skip
def test_motions_that_are_smooth_have_their_effort(method, motion):
    """Their error is of second order in the step; warnings are errors here."""
    result = flexmb.simulate(driven(motion), 1.3, method=method, step=0.01, output_step=0.01)
    if np.ptp(motion.over(result.t)[:, 2]) > 0:
        assert error(motion, result) < 0.01


def test_an_acceleration_that_jumps_is_told():
    """A monotone table: the effort is wrong by as much as its largest value with steps of any size."""
    motion = tf.table(TIMES, WAVE, monotone=True)
    with pytest.warns(DriverEffortWarning, match="table of 61 points"):
        result = flexmb.simulate(driven(motion), 1.3, tolerance=1e-5)
    assert error(motion, result) > 0.5


@pytest.mark.parametrize("method", ["radau", "bdf", "energy-momentum"])
def test_other_methods_follow_any_driver(method):
    motion = tf.smooth_step(0.1, 1.0, 1.0)
    assert error(motion, flexmb.simulate(driven(motion), 1.3, method=method, step=0.02)) < 1e-6

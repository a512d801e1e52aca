"""Functions of time in straight lines: loads in ramps, and motions whose speed goes in ramps."""

import numpy as np
import pytest

import flexmb
from flexmb import time_functions as tf
from flexmb.analyses.inverse_dynamics import Servo, inverse_dynamics
from flexmb.errors import MotionError

TIMES, VALUES = np.array([0.1, 0.3, 0.35, 0.8]), np.array([1.0, 4.0, -2.0, -2.5])
MASS = 2.5


def lines(t):
    """The definition, from NumPy: constant outside."""
    return np.interp(t, TIMES, VALUES)


ROUNDING = 0.03


def profile(start=0.0):
    return tf.speed_profile(TIMES, VALUES, rounding=ROUNDING, start=start)


def test_lines():
    at = np.random.default_rng(3).uniform(-0.5, 1.5, 500)
    ramps = tf.piecewise_linear(TIMES, VALUES).over(at)
    np.testing.assert_allclose(ramps[:, 0], lines(at), rtol=1e-13, atol=1e-13)
    assert not ramps[:, 2].any()
    slopes = np.diff(VALUES) / np.diff(TIMES)
    np.testing.assert_allclose(tf.piecewise_linear(TIMES, VALUES).over(TIMES)[:, 1], [*slopes, 0.0])  # of what follows


def test_a_speed_profile_is_a_weighted_mean_of_the_lines_over_the_rounding():
    """Its acceleration changes by 3 s^2 - 2 s^3 of each jump of the lines' slope, which a mean with the weights
    6 s (1 - s) gives, also of speed and value."""
    at = np.random.default_rng(4).uniform(-0.5, 1.5, 300)
    inside = (np.arange(2000) + 0.5) / 2000
    weights = 6 * inside * (1 - inside) / 2000
    over = at[:, None] + ROUNDING * (inside - 0.5)
    slopes = np.r_[0.0, np.diff(VALUES) / np.diff(TIMES), 0.0][np.searchsorted(TIMES, over)]
    found = profile(7.0).over(at)
    np.testing.assert_allclose(found[:, 1], lines(over) @ weights, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found[:, 2], slopes @ weights, rtol=0, atol=1e-3 * np.abs(slopes).max())

    fine = np.linspace(-0.5, 1.5, 20001)
    speeds = profile().over(fine)[:, 1]
    covered = np.r_[0.0, np.cumsum((speeds[1:] + speeds[:-1]) / 2 * np.diff(fine))]
    begin = np.interp(TIMES[0] - ROUNDING / 2, fine, covered)
    np.testing.assert_allclose(profile(7.0).over(fine)[:, 0], 7.0 + covered - begin, rtol=0, atol=1e-6)
    assert profile(7.0)(TIMES[0] - ROUNDING / 2)[0] == pytest.approx(7.0, rel=1e-15)


def test_the_jerk_of_a_speed_profile_is_continuous():
    """It jumped, by 200 here; half a millionth of the rounding beside an end it is as small as it can be."""
    jumps, ends = np.diff(np.r_[0.0, np.diff(VALUES) / np.diff(TIMES), 0.0]), []
    for side in (-1, 1):
        at = TIMES + side * ROUNDING / 2
        h = 1e-6 * ROUNDING
        ends.append((profile().over(at + h)[:, 2] - profile().over(at - h)[:, 2]) / (2 * h))
    assert np.abs(ends).max() < 1e-5 * np.abs(jumps).max() / ROUNDING
    middle = (profile().over(TIMES + h)[:, 2] - profile().over(TIMES - h)[:, 2]) / (2 * h)
    np.testing.assert_allclose(middle, 1.5 * jumps / ROUNDING, rtol=1e-6)


def test_moves_one_after_another_end_at_rest():
    """Speeds between and behind moves are zero to the last digit, so that a driver does not creep."""
    times = np.add.outer(np.arange(200.0), [0.1, 0.2, 0.3, 0.45]).ravel()
    speeds = np.tile([0.0, 0.7, -0.9, 0.0], 200)
    moves = tf.speed_profile(times, speeds, rounding=0.03)
    stations = moves.over(np.r_[np.arange(200.0), 1e6])
    assert not stations[:, 1:].any()
    area = 0.05 * 0.7 + 0.05 * -0.2 + 0.075 * -0.9
    np.testing.assert_allclose(stations[:, 0], area * np.r_[np.arange(200.0), 200.0], rtol=1e-12, atol=1e-14)


def test_functions_keep_their_points():
    """Points are copied: a caller that reuses its arrays for the next move changed the motions made of them."""
    times, values = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 3.0, 0.0])
    made = [tf.piecewise_linear(times, values), tf.speed_profile(times, values, rounding=0.1), tf.table(times, values)]
    before = [function(0.5) for function in made]
    times += 1.0
    values *= 2.0
    assert [function(0.5) for function in made] == before


def test_a_trapezoid_travels_its_area():
    trapezoid = tf.speed_profile([0, 1, 4, 5], [0, 2, 2, 0], rounding=0.1)
    assert trapezoid(5.05) == pytest.approx((8.0, 0.0, 0.0), abs=1e-14)
    assert trapezoid(9.0) == pytest.approx((8.0, 0.0, 0.0), abs=1e-14)
    assert trapezoid(0.0)[2] == pytest.approx(1.0)  # half of the acceleration that follows


def test_numbers_give_what_arrays_give():
    for function in (tf.piecewise_linear(TIMES, VALUES), profile()):
        over = function.over(np.array([0.0, 0.1, 0.2, 0.9]))
        np.testing.assert_array_equal([function(t) for t in (0.0, 0.1, 0.2, 0.9)], over)


def moved(factor=None, motion=None):
    """A mass on a rail, pulled by a load or driven."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("mass", mass=MASS, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    if factor is not None:
        system.load("pull", body.at((0, 0, 0)), force=(3.0, 0, 0), factor=factor)
    if motion is not None:
        system.drive("rail", motion)
    return system


@pytest.mark.parametrize("method", ["bdf", "radau"])
def test_variable_steps_end_at_the_points(method):
    """Within a piece the motion is a cubic of the time; a step across a point would miss the sharp fall."""
    result = flexmb.simulate(moved(tf.piecewise_linear(TIMES, VALUES)), 1.0, method=method, tolerance=1e-9)
    for point in TIMES:
        assert np.abs(result.t - point).min() < 1e-12
    fine = np.union1d(np.linspace(0.0, 1.0, 2001), TIMES)  # the trapezoidal rule is exact
    momentum = 3.0 * np.r_[0.0, np.cumsum((lines(fine[1:]) + lines(fine[:-1])) / 2 * np.diff(fine))]
    begun = np.searchsorted(fine, result.t, side="right") - 1
    expected = momentum[begun] + 3.0 * (lines(fine[begun]) + lines(result.t)) / 2 * (result.t - fine[begun])
    expected /= MASS
    np.testing.assert_allclose(result.coordinate_rate("rail"), expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_a_driver_follows_a_speed_profile():
    """The distance is the area, and the force of the driver is mass times acceleration, to second order in the step,
    because the jerk does not jump."""
    motion, errors = tf.speed_profile([0.1, 0.3, 0.7, 0.9], [0.0, 2.0, 2.0, 0.0], rounding=0.05), []
    for step in (0.005, 0.0025, 0.00125):
        result = flexmb.simulate(moved(motion=motion), 1.0, step=step)
        assert result.coordinate("rail")[-1] == pytest.approx(1.2, rel=1e-12)
        expected = MASS * motion.over(result.t)[:, 2]
        errors.append(np.abs(result.drive_effort("rail") - expected).max() / (MASS * 10.0))
        assert errors[-1] < 2.5 * (step / 0.05) ** 2
    assert max(errors[1] / errors[0], errors[2] / errors[1]) < 0.3


def test_steps_that_do_not_resolve_the_rounding_are_told():
    motion = tf.speed_profile([0.1, 0.3, 0.7, 0.9], [0.0, 2.0, 2.0, 0.0], rounding=0.01)
    resolved = pytest.warns(flexmb.UnresolvedWarning, match=r"within 0\.005.*at most 0\.0025")
    with resolved, pytest.warns(flexmb.DriverEffortWarning, match="effort of the driver 'rail'"):
        flexmb.simulate(moved(motion=motion), 1.0, step=0.005)
    for point in (0.095, 0.105, 0.695):
        assert np.abs(flexmb.simulate(moved(motion=motion), 1.0, method="bdf").t - point).min() < 1e-12


def test_points_on_a_straight_line_are_no_corners():
    """The second point of the speed is on the line between its neighbours, where nothing has to be resolved."""
    motion = tf.speed_profile([0.0, 0.1, 0.2, 1.2], [0.0, 0.5, 1.0, 1.0], rounding=0.01)
    assert motion.ahead(0.096).feature == np.inf
    assert motion.ahead(0.196).feature == 0.005


def test_peaks_between_fixed_steps_are_told():
    """The impulse of a force of 3000 over 0.0006 lies between two steps, which saw nothing of it."""
    peak = tf.piecewise_linear([0.5002, 0.5005, 0.5008], [0.0, 1000.0, 0.0])
    with pytest.warns(flexmb.UnresolvedWarning, match="piecewise linear .* of 'pull' rises or falls within 0.0006"):
        flexmb.simulate(moved(peak), 1.0, step=1e-3)
    result = flexmb.simulate(moved(peak), 1.0, step=1e-4)
    assert result.coordinate_rate("rail")[-1] == pytest.approx(3000.0 * 0.0003 / MASS, rel=0.05)
    assert tf.piecewise_linear([0.0, 1e-6, 1.0], [2.0, 2.0, 1.0]).ahead(0.0).feature == np.inf  # a level is no peak


def test_drivers_refuse_a_rate_that_jumps():
    ramps = tf.piecewise_linear(TIMES, VALUES)
    with pytest.raises(MotionError, match=r"driver of 'rail' cannot be a piecewise linear .*speed_profile"):
        moved(motion=ramps)
    system = moved()
    system.motor("motor", "rail", 0.0)
    with pytest.raises(MotionError, match="motion of the servo of 'mass' cannot be"):
        inverse_dynamics(system, [Servo("mass", "x", ramps)], ["motor"], duration=1.0, step=0.01)
    with pytest.raises(MotionError, match="motion of 'held' cannot be"):
        system.prescribe(
            "held",
            system.ground,
            system.add(flexmb.rigid_body("b", mass=1.0, inertia=(1, 1, 1))),
            y=ramps,
            at=(0, 0, 0),
        )


PLAIN = {"lines": tf.piecewise_linear, "speeds": lambda t, v: tf.speed_profile(t, v, rounding=0.1)}


@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize(
    ("times", "values", "found"),
    [
        ([0.0], [1.0], r"shapes \(1,\) and \(1,\)"),
        ([0.0, 0.0], [1.0, 2.0], r"found t = 0 \(point 2\) after t = 0\. Write a jump as a short ramp"),
        ([1.0, 0.0], [1.0, 2.0], r"found t = 0 \(point 2\) after t = 1\. Sort"),
        ([0.0, 1.0], [1.0, np.nan], "found nan at t = 1, which is point 2"),
        ([0, 1], [1], r"shapes \(2,\) and \(1,\)"),
        ([0, 1], ["a", 1], "found .*'a'.*lists of numbers"),
        ([0, 1], [0, 1j], "lists of numbers"),
    ],
)
def test_points_must_be_sound(make, times, values, found):
    with pytest.raises(MotionError, match="at least 2 finite points at strictly increasing times; .*" + found):
        make(times, values)


@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
def test_slopes_are_numbers(make):
    with pytest.raises(MotionError, match=r"rises from 1e\+308 to -1e\+308 within 1: the slope is too large"):
        make([0.0, 1.0], [1e308, -1e308])


@pytest.mark.parametrize(
    ("word", "given"), [("rounding", "0.1"), ("rounding", None), ("start", [1, 2]), ("start", "a")]
)
def test_rounding_and_start_are_numbers(word, given):
    with pytest.raises(
        MotionError, match=f"The {word} of a speed profile must be a number; found {type(given).__name__}"
    ):
        tf.speed_profile(TIMES, VALUES, **{"rounding": 0.01, "start": 0.0} | {word: given})


def test_the_start_is_finite():
    with pytest.raises(MotionError, match="start of a speed profile must be a finite number; found nan"):
        profile(np.nan)


def test_corners_that_rounding_makes_one_are_refused():
    times = np.array([10000.0, 10000.001, 10000.002])
    with pytest.raises(MotionError, match="shorter than the time between any two"):
        tf.speed_profile(times, [0.0, 1.0, 0.0], rounding=np.nextafter(np.diff(times).min(), 0.0))


@pytest.mark.parametrize("rounding", [0.0, -0.1, 0.05, np.nan, np.inf])
def test_the_rounding_is_shorter_than_the_lines(rounding):
    with pytest.raises(MotionError, match=r"shorter than the time between any two of its points, here 0\.05"):
        tf.speed_profile(TIMES, VALUES, rounding=rounding)


def test_a_dense_table_may_tell_its_feature():
    times = np.linspace(0.0, 1.0, 1001)
    assert tf.piecewise_linear(times, np.sin(6 * times)).ahead(0.5).change == pytest.approx(0.501)
    assert tf.piecewise_linear(times, np.sin(6 * times), feature=0.5).ahead(0.5) == tf.Ahead(np.inf, 0.5)
    with pytest.raises(MotionError, match="feature"):
        tf.piecewise_linear(times, times, feature=0.0)

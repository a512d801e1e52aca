"""Functions of time in compiled steps: the values of their definitions, and the same motion as by calls of Python."""

from dataclasses import replace

import numpy as np
import pytest
from mechanisms import slider_crank

import flexmb
from flexmb import time_functions as tf
from flexmb.kernels.calls import functions_over

FORMULAS = {
    "constant": tf.constant(-2.5),
    "cubic": tf.polynomial(0.3, -1.2, 0.7, 2.0),
    "harmonic": tf.harmonic(0.4, 3.1, phase=0.2, offset=-0.1),
    "smooth step": tf.smooth_step(0.1, 0.5, -3.0),
    "spin-up": tf.spin_up(40.0, 0.6),
    "pulse": tf.pulse(0.2, 0.05, 7.0),
    "pulses": tf.pulse(-0.3, 0.05, 7.0, period=0.11),
}
EDGES = (0.0, 0.1, 0.2, 0.25, 0.6, -0.3, -0.25)
ROUNDING = 2e-15
"""Bound of the difference: about ten operations, the functions of the C library and of NumPy being exact to one unit."""


def compiled(function, times):
    out = np.empty((len(times), 2, 3))
    functions_over(
        np.array([function.formula[0], len(function.formula) - 1, *function.formula[1:]], dtype=float), times, out
    )
    assert np.array_equal(out[:, 1], np.column_stack([times, np.ones_like(times), np.zeros_like(times)]))
    return out[:, 0]


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_the_functions(name):
    """At random times and at the ends of their features. Arguments of sines lose accuracy in proportion to their size."""
    times = np.concatenate([np.random.default_rng(1).uniform(-1.0, 1.0, 2000), EDGES])
    expected, found = FORMULAS[name].over(times), compiled(FORMULAS[name], times)
    scale = np.abs(expected).max(axis=0)
    assert (np.abs(found - expected).max(axis=0) <= 20 * ROUNDING * scale).all()
    assert np.abs(expected[:, 0]).max() > 0


def test_functions_without_a_formula_are_called():
    """Functions of users, tables and smoother steps; one of them is enough."""
    user = tf.function(np.sin, np.cos, lambda t: -np.sin(t), arrays=True)
    for function in (user, tf.table([0, 1, 2, 3], [0, 1, 0, 1]), tf.smooth_step(0.0, 1.0, 1.0, derivatives=3)):
        assert function.formula == ()
        driven = slider_crank(speed=2.0).build()
        mixed = replace(driven, functions=(*driven.functions, function))
        assert driven.formulas is not None
        assert mixed.formulas is None
        times = np.array([0.5, 1.5])
        table, same = mixed.function_table(times), driven.function_table(times)
        np.testing.assert_array_equal(table[:, -2], function.over(times))
        np.testing.assert_array_equal(table[:, -1], same[:, -1])  # of time itself
        np.testing.assert_allclose(table[:, :-2], same[:, :-1], rtol=1e-14, atol=0)


def test_pulses_may_follow_each_other_without_a_pause():
    t = np.linspace(0.3, 2.7, 100)
    chain = tf.pulse(0.3, 0.4, 7.0, period=0.4)
    np.testing.assert_allclose(chain.value(t), 7.0 * np.sin(np.pi * (t - 0.3) / 0.4) ** 4, atol=1e-12)
    with pytest.raises(flexmb.MotionError, match=r"period of at least the duration; found 0\.4 and 0\.3"):
        tf.pulse(0.3, 0.4, 7.0, period=0.3)


@pytest.mark.parametrize("method", [flexmb.Radau(step=2e-3), flexmb.BDF(step=5e-4)], ids=["radau", "bdf"])
def test_steps_with_formulas_are_those_that_call_python(method):
    """Fixed steps: without the control of steps, which would amplify round-off of a decision, only round-off is left."""
    system = slider_crank(speed=2.0)
    system.motor("gas", "guide", tf.pulse(0.02, 0.05, -3.0, period=0.1))
    driven = system.build()
    called = replace(driven, functions=tuple(replace(f, formula=()) for f in driven.functions))
    assert driven.formulas is not None
    assert called.formulas is None
    ours, theirs = (flexmb.simulate(m, 0.3, method=method) for m in (driven, called))
    assert ours.statistics.steps == theirs.statistics.steps
    for name in ("q", "w"):
        a, b = getattr(ours, name), getattr(theirs, name)
        assert np.abs(a - b).max() <= 1e-13 * np.abs(b).max(), name


def test_splines_that_swing_are_told():
    """A ramp of a tenth of a second between plateaus: the spline through its corners ran from -38 to 39."""
    times, values = [0.0, 10.0, 10.1, 20.0], [0.0, 0.0, 1.0, 1.0]
    with pytest.warns(flexmb.UnresolvedWarning, match=r"values from 0 to 1 passes -3\d.* at t = .*monotone=True"):
        swinging = tf.table(times, values)
    dense = np.linspace(0.0, 20.0, 5001)
    assert np.ptp(swinging.value(dense)) > 70.0
    ramp = tf.table(times, values, monotone=True)
    assert (ramp.value(dense) >= 0.0).all()
    assert (ramp.value(dense) <= 1.0).all()
    np.testing.assert_array_equal(ramp.value(np.array(times)), values)
    s = 0.3  # between the corners a cubic with zero slopes at both ends
    value, rate, acceleration = ramp(10.0 + 0.1 * s)
    assert value == pytest.approx(3 * s**2 - 2 * s**3, rel=1e-10)
    assert rate == pytest.approx((6 * s - 6 * s**2) / 0.1, rel=1e-10)
    assert acceleration == pytest.approx((6 - 12 * s) / 0.01, rel=1e-10)
    tf.table(np.linspace(0.0, 1.0, 5), [0.0, 1.0, 0.0, 1.0, 0.0])  # a coarse wave passes its peaks a little
    tf.table([0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0])

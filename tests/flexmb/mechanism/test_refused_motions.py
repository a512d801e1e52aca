"""Functions of time that cannot be are refused by each part of their checks alone, and accepted at the bounds."""

import numpy as np
import pytest
from refusals import refused_beside

from flexmb.errors import MotionError
from flexmb.mechanism.motions.time_function import length_of_feature
from flexmb.mechanism.time_functions import (
    function,
    harmonic,
    piecewise_linear,
    polynomial,
    pulse,
    require_inside,
    smooth_step,
    speed_profile,
    spin_up,
    table,
)

TINY = 5e-324
WAVE = (np.sin, np.cos, np.sin)
FOUR = ([0, 1, 2, 3], [0, 1, 0, 1])


def step(duration=1.0, derivatives=2):
    return smooth_step(0.0, duration, 1.0, derivatives=derivatives)


def profile(rounding, times=(0.0, 1.0), start=0.0):
    return speed_profile(list(times), [0.0, 1.0], rounding=rounding, start=start)


REFUSED = {
    "an amplitude without value": (
        "harmonic needs finite numbers; found amplitude = nan.",
        lambda: harmonic(np.nan, 1.0),
        lambda: harmonic(0.0, 1.0),
    ),
    "an offset without end": (
        "harmonic needs finite numbers; found offset = inf.",
        lambda: harmonic(1.0, 1.0, offset=np.inf),
        lambda: harmonic(1.0, 1.0, offset=1e300),
    ),
    "a polynomial of nothing": (
        "A polynomial needs finite coefficients, polynomial(c0, c1, ...); found ().",
        lambda: polynomial(),
        lambda: polynomial(0.0),
    ),
    "a polynomial with a coefficient that is none": (
        "A polynomial needs finite coefficients, polynomial(c0, c1, ...); found (1.0, nan).",
        lambda: polynomial(1.0, np.nan),
        lambda: polynomial(1.0, 0.0),
    ),
    "a step in no time": (
        "smooth_step needs a positive duration; found 0.0.",
        lambda: step(0.0),
        lambda: step(TINY),
    ),
    "a step backwards": (
        "smooth_step needs a positive duration; found -1.0.",
        lambda: step(-1.0),
        lambda: step(1.0),
    ),
    "a step with one derivative": (
        "smooth_step has two to 30 continuous derivatives; found derivatives=1.",
        lambda: step(derivatives=1),
        lambda: step(derivatives=2),
    ),
    "a step with too many derivatives": (
        "smooth_step has two to 30 continuous derivatives; found derivatives=31.",
        lambda: step(derivatives=31),
        lambda: step(derivatives=30),
    ),
    "a step with a fraction of a derivative": (
        "smooth_step has two to 30 continuous derivatives; found derivatives=2.5.",
        lambda: step(derivatives=2.5),
        lambda: step(derivatives=3),
    ),
    "a spin-up in no time": (
        "spin_up needs a positive duration; found 0.0.",
        lambda: spin_up(1.0, 0.0),
        lambda: spin_up(1.0, 1e-9),
    ),
    "a pulse in no time": (
        "pulse needs a positive duration and a period of at least the duration; found 0.0 and None.",
        lambda: pulse(0.0, 0.0, 1.0),
        lambda: pulse(0.0, 1e-9, 1.0),
    ),
    "pulses over each other": (
        "pulse needs a positive duration and a period of at least the duration; found 1.0 and 0.9.",
        lambda: pulse(0.0, 1.0, 1.0, 0.9),
        lambda: pulse(0.0, 1.0, 1.0, 1.0),
    ),
    "pulses of no length over each other": (
        "pulse needs a positive duration and a period of at least the duration; found 0.0 and 1.0.",
        lambda: pulse(0.0, 0.0, 1.0, 1.0),
        lambda: pulse(0.0, 0.5, 1.0, 1.0),
    ),
    "a table of three points": (
        "A table needs at least 4 finite points at strictly increasing times; found shapes (3,) and (3,).",
        lambda: table([0, 1, 2], [0, 1, 0]),
        lambda: table(*FOUR),
    ),
    "a table with too few values": (
        "A table needs at least 4 finite points at strictly increasing times; found shapes (5,) and (4,).",
        lambda: table([0, 1, 2, 3, 4], [0, 1, 0, 1]),
        lambda: table([0, 1, 2, 3, 4], [0, 1, 0, 1, 0]),
    ),
    "a table of rows": (
        "A table needs at least 4 finite points at strictly increasing times; found shapes (4, 1) and (4, 1).",
        lambda: table(np.c_[FOUR[0]], np.c_[FOUR[1]]),
        lambda: table(*map(np.array, FOUR)),
    ),
    "a table of one number": (
        "A table needs at least 4 finite points at strictly increasing times; found shapes () and ().",
        lambda: table(1.0, 1.0),
        lambda: table(*FOUR, monotone=True),
    ),
    "a time without value": (
        "found 0 at t = nan, which is point 3.",
        lambda: table([0, 1, np.nan, 3], FOUR[1]),
        lambda: table([-1, 0, 1, 2], FOUR[1]),
    ),
    "a value without end": (
        "found inf at t = 2, which is point 3.",
        lambda: table(FOUR[0], [0, 1, np.inf, 1]),
        lambda: table(FOUR[0], [0, 1, 1, 1]),
    ),
    "a jump": (
        "found t = 1 (point 3) after t = 1. Write a jump as a short ramp.",
        lambda: piecewise_linear([0, 1, 1], [0, 1, 2]),
        lambda: piecewise_linear([0, 1, 1 + 1e-12], [0, 1, 2]),
    ),
    "times backwards": (
        "found t = 0.5 (point 3) after t = 1. Sort the points by their times.",
        lambda: piecewise_linear([0, 1, 0.5], [0, 1, 2]),
        lambda: piecewise_linear([0, 0.5, 1], [0, 2, 1]),
    ),
    "a spline beyond numbers": (
        "The spline through a table is not finite: its times are from 0 to 3e-320, at least 1e-320 apart",
        lambda: table([0, 1e-320, 2e-320, 3e-320], FOUR[1]),
        lambda: table([0, 1e-100, 2e-100, 3e-100], FOUR[1]),
    ),
    "a ramp beyond numbers": (
        "A piecewise linear function rises from 0 to 1 within 1e-320: the slope is too large for a number.",
        lambda: piecewise_linear([0, 1e-320], [0, 1]),
        lambda: piecewise_linear([0, 1e-300], [0, 1]),
    ),
    "ramps of one point": (
        "A piecewise linear function needs at least 2 finite points at strictly increasing times; found shapes (1,)",
        lambda: piecewise_linear([0.0], [1.0]),
        lambda: piecewise_linear([0.0, 1.0], [1.0, 1.0]),
    ),
    "corners without rounding": (
        "here 1; found 0.0.",
        lambda: profile(0.0),
        lambda: profile(1e-9),
    ),
    "roundings that meet": (
        "here 1; found 1.0.",
        lambda: profile(1.0),
        lambda: profile(0.999),
    ),
    "a rounding that rounding loses": (
        "here 1; found 1e-09.",
        lambda: profile(1e-9, (1e9, 1e9 + 1)),
        lambda: profile(1e-3, (1e9, 1e9 + 1)),
    ),
    "a start without value": (
        "The start of a speed profile must be a finite number; found nan.",
        lambda: profile(0.1, start=np.nan),
        lambda: profile(0.1, start=1e300),
    ),
    "a flag as start": (
        "The start of a speed profile must be a number; found bool True.",
        lambda: profile(0.1, start=True),
        lambda: profile(0.1, start=np.float32(1)),
    ),
    "a text as rounding": (
        "The rounding of a speed profile must be a number; found str '0.1'.",
        lambda: profile("0.1"),
        lambda: profile(np.float64(0.1)),
    ),
    "a feature of no length": (
        "The feature of a function must be a positive length of time; found 0.",
        lambda: length_of_feature(0),
        lambda: length_of_feature(TINY),
    ),
    "a feature without value": (
        "The feature of a function must be a positive length of time; found nan.",
        lambda: length_of_feature(np.nan),
        lambda: length_of_feature(1),
    ),
    "a value that is no function": (
        "A function of time is three functions of t; found 1.0, ",
        lambda: function(1.0, *WAVE[1:]),
        lambda: function(*WAVE),
    ),
    "a rate that is no function": (
        "A function of time is three functions of t; found ",
        lambda: function(np.sin, 1.0, np.sin),
        lambda: function(*WAVE),
    ),
    "an acceleration that is no function": (
        "A function of time is three functions of t; found ",
        lambda: function(np.sin, np.cos, 1.0),
        lambda: function(*WAVE),
    ),
    "a breakpoint without value": (
        "The breakpoints of a function must be finite times; found (0.0, nan).",
        lambda: function(*WAVE, breakpoints=(0.0, np.nan)),
        lambda: function(*WAVE, breakpoints=(0.0, 1.0)),
    ),
    "a text as breakpoint": (
        "The breakpoints of a function must be finite times; found ['noon'].",
        lambda: function(*WAVE, breakpoints=["noon"]),
        lambda: function(*WAVE, breakpoints=[12]),
    ),
    "one breakpoint without list": (
        "The breakpoints of a function must be finite times; found 1.0.",
        lambda: function(*WAVE, breakpoints=1.0),
        lambda: function(*WAVE, breakpoints=np.array([1.0])),
    ),
    "breakpoints in rows": (
        "The breakpoints of a function must be finite times; found [[1.0]].",
        lambda: function(*WAVE, breakpoints=[[1.0]]),
        lambda: function(*WAVE, breakpoints=[]),
    ),
    "a time before a table": (
        "It is defined from t = 0.0 to 1.0 only; it was evaluated at -1e-08.",
        lambda: require_inside(np.array([0.5, -1e-8]), np.array([0.0, 1.0]), "It"),
        lambda: require_inside(np.array([0.5, -1e-9]), np.array([0.0, 1.0]), "It"),
    ),
    "a time behind a table": (
        "It is defined from t = 0.0 to 1.0 only; it was evaluated at 1.00000001.",
        lambda: require_inside(np.array([0.5, 1 + 1e-8]), np.array([0.0, 1.0]), "It"),
        lambda: require_inside(np.array([0.5, 1 + 1e-10]), np.array([0.0, 1.0]), "It"),
    ),
}


@pytest.mark.parametrize(("words", "wrong", "right"), REFUSED.values(), ids=REFUSED)
def test_functions_of_time_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(MotionError, words, wrong, right, monkeypatch)

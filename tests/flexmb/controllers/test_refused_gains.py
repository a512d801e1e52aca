"""Numbers of controllers and studies that cannot be are refused by each part of their checks alone, and accepted at the
bounds."""

import numpy as np
import pytest
import scipy
from refusals import refused_beside

from flexmb.controllers import curve, discrete, gain_schedule, linear, pid, state_feedback
from flexmb.errors import LawError, StudyError
from flexmb.study.gradients.rates import rates_of
from flexmb.study.gradients.sensitivity import gradient
from flexmb.study.parameters import MOST_VARIANTS, checked, checked_values, full_factorial, require_count

ONE = ([[-1.0]], [[1.0]], [[1.0]], [[0.0]])
PAIR = (np.zeros((0, 0)), np.zeros((0, 2)), np.zeros((2, 0)), np.eye(2))


def scheduled(points=(0.0, 1.0), gains=((1.0,), (2.0,)), inputs=("x",), **given):
    return gain_schedule(points, gains, inputs, **given)


def wound(**given):
    return pid(1.0, 1.0, **{"lower": -1.0, "upper": 1.0} | given)


LIMITS = "The limits of a linear controller must satisfy lower < upper; found "
SHAPES = "The limits of a linear controller are one number or "
NAMES = "The system has 2 inputs, which need as many different names; found "
PARTS = "A linear controller has 4 parts (A, B, C, D), or 2 (numerator, denominator); found "
NUMBERS = "The matrices of a linear controller consist of numbers; found "
STEP = "The system has the time step 0.1; found sample_time="
WHEN = "The sample time of a linear controller must be a finite number; found "
MATRIX = "of a linear controller with 1 states, 1 inputs and 1 commands is (1, 1); found "
FEEDBACK = "State feedback of 2 inputs to 1 commands needs gains (1, 2); found "
PID = "The limits of a PID controller must satisfy lower < upper; found "
TRACKING = "The tracking time of back-calculation must be positive; found "
SAMPLED = "The tracking time of a sampled controller must be at least its sample time, 0.5, or the integral oscillates; found "
POINTS = "The points of a curve must be finite, increasing numbers, at least two; found "
VALUES = "A curve through 2 points needs as many finite values; found "
LAWS = {
    "limits that meet": (LIMITS + "1 and 1.", lambda: linear(ONE, lower=1, upper=1), lambda: linear(ONE, lower=1, upper=1.001)),
    "limits without value": (LIMITS, lambda: linear(ONE, lower=np.nan), lambda: linear(ONE, lower=-np.inf)),
    "a second pair of limits that meets": (LIMITS, lambda: linear(PAIR, lower=[0, 1], upper=1), lambda: linear(PAIR, lower=[0, 0.9], upper=1)),
    "three limits": (SHAPES + "2, one for each command; found ", lambda: linear(PAIR, lower=[0, 0, 0]), lambda: linear(PAIR, lower=[0, 0])),
    "limits of words": (SHAPES + "1, one for each command; found 'x'", lambda: linear(ONE, lower="x"), lambda: linear(ONE, lower=[0])),
    "limits in rows": (SHAPES, lambda: linear(ONE, upper=[[1.0]]), lambda: linear(ONE, upper=1.0)),
    "one name of two": (NAMES + "('a',).", lambda: linear(PAIR, inputs="a"), lambda: linear(PAIR, inputs=("a", "b"))),
    "a name twice": (NAMES + "('a', 'a').", lambda: linear(PAIR, inputs=("a", "a")), lambda: linear(PAIR, inputs=["b", "a"])),
    "three parts": (PARTS + "3.", lambda: linear(ONE[:3]), lambda: linear(ONE)),
    "parts of words": (NUMBERS, lambda: linear(("a", "b", "c", "d")), lambda: linear(list(ONE))),
    "parts in rows of two lengths": (NUMBERS, lambda: linear(([[1], [1, 2]], *ONE[1:])), lambda: linear(([1.0], [1.0, 1.0]))),
    "a matrix A of two states": (
        "Matrix B of a linear controller with 2 states",
        lambda: linear((np.eye(2), *ONE[1:])),
        lambda: linear((-np.eye(1), *ONE[1:])),
    ),
    "a row where a column is": (
        "Matrix C of a linear controller with 2 states, 1 inputs and 1 commands is (1, 2); found (2, 1).",
        lambda: linear((-np.eye(2), np.ones((2, 1)), np.ones((2, 1)), [[0.0]])),
        lambda: linear((-np.eye(2), np.ones((2, 1)), np.ones(2), [[0.0]])),
    ),
    "a matrix B too large": ("Matrix B " + MATRIX + "(2, 1).", lambda: linear((ONE[0], np.ones((2, 1)), *ONE[2:])), lambda: linear(ONE)),
    "a matrix without end": (
        "The matrices of a linear controller must be finite.",
        lambda: linear(([[np.inf]], *ONE[1:])),
        lambda: linear(([[1e300]], *ONE[1:])),
    ),
    "another time step": (STEP + "0.2.", lambda: linear(discrete(ONE, 0.1), sample_time=0.2), lambda: linear(discrete(ONE, 0.1), sample_time=0.1)),
    "a time step of a word": (WHEN + "'x'.", lambda: linear(discrete(ONE, 0.1), sample_time="x"), lambda: linear(discrete(ONE, 0.1))),
    "a time step without value": (WHEN + "nan.", lambda: linear(discrete(ONE, 0.1), sample_time=np.nan), lambda: linear(ONE, sample_time=0.1)),
    "a sample time of a word": (WHEN + "'x'.", lambda: linear(ONE, sample_time="x"), lambda: linear(ONE, sample_time=1)),
    "a system that does not tell its time step": (
        "The discrete system does not say its time step; give dt= a number.",
        lambda: linear(scipy.signal.dlti(*ONE)),
        lambda: linear(scipy.signal.dlti(*ONE, dt=0.1)),
    ),
    "feedback with three gains": (FEEDBACK + "(1, 3).", lambda: state_feedback([1, 2, 3], ("a", "b")), lambda: state_feedback([1, 2], ("a", "b"))),
    "feedback to two commands": (FEEDBACK + "(2, 2).", lambda: state_feedback(np.eye(2), ("a", "b")), lambda: state_feedback(np.eye(2), ("a", "b"), commands=("u", "v"))),
    "feedback of words": (FEEDBACK + "(1, 0).", lambda: state_feedback("xy", ("a", "b")), lambda: state_feedback([[1, 2]], ("a", "b"))),
    "a schedule of one point": (
        "The points of a gain schedule must be finite, increasing numbers, at least two; found [0.0].",
        lambda: scheduled(points=[0.0], gains=[[1.0]]),
        scheduled,
    ),
    "a schedule with gains for three": (
        "",
        lambda: scheduled(gains=((1.0,),) * 3),
        lambda: scheduled(gains=((1.0,),) * 2),
    ),
    "a schedule with two gains for one": ("", lambda: scheduled(gains=((1.0, 2.0),) * 2), lambda: scheduled(gains=np.ones((2, 1, 1)))),
    "a schedule for two commands": (
        "",
        lambda: scheduled(commands=("u", "v")),
        lambda: scheduled(gains=np.ones((2, 2, 1)), commands=("u", "v")),
    ),
    "a schedule without value": ("", lambda: scheduled(gains=((1.0,), (np.nan,))), lambda: scheduled(gains=((1.0,), (-1.0,)))),
    "limits of a PID controller that meet": (PID + "1.0 and 1.0.", lambda: wound(lower=1.0), lambda: wound(lower=0.999)),
    "limits of a PID controller of words": (PID + "x and 1.0.", lambda: wound(lower="x"), lambda: wound(lower=-np.inf)),
    "a negative filter": (
        "The filter time of a PID controller must not be negative; found -1.",
        lambda: pid(1.0, filter=-1),
        lambda: pid(1.0, filter=0),
    ),
    "no tracking": (TRACKING + "0.", lambda: wound(tracking_time=0), lambda: wound(tracking_time=1e-9)),
    "tracking by gains of two signs": (
        TRACKING + "-1 = kp / ki; give tracking_time=.",
        lambda: pid(-1.0, 1.0, upper=1.0),
        lambda: pid(-1.0, -1.0, upper=1.0),
    ),
    "tracking of a word": (
        "Tracking_time of a PID controller must be a finite number; found 'x'.",
        lambda: wound(tracking_time="x"),
        lambda: wound(tracking_time=np.float32(1)),
    ),
    "tracking within a sample": (
        SAMPLED + "0.499.",
        lambda: wound(tracking_time=0.499, sample_time=0.5),
        lambda: (wound(tracking_time=0.5, sample_time=0.5), wound(tracking_time=0.499)),
    ),
    "a sample of a word": (
        "Sample_time of a PID controller must be a finite number; found 'x'.",
        lambda: wound(sample_time="x"),
        lambda: wound(sample_time=1),
    ),
    "a curve of one point": (POINTS + "[0.0].", lambda: curve([0.0], [0.0]), lambda: curve([0.0, 1.0], [0.0, 0.0])),
    "a curve of rows": (POINTS + "[[0.0], [1.0]].", lambda: curve([[0.0], [1.0]], [0, 1]), lambda: curve((0.0, 1.0), [0, 1])),
    "a curve without end": (POINTS + "[0.0, inf].", lambda: curve([0, np.inf], [0, 1]), lambda: curve([0, 1e9], [0, 1])),
    "a curve at one place twice": (POINTS + "[0.0, 0.0].", lambda: curve([0, 0], [0, 1]), lambda: curve([0, 1e-9], [0, 1])),
    "a curve with a value too many": (VALUES + "[0.0, 1.0, 2.0].", lambda: curve([0, 1], [0, 1, 2]), lambda: curve([0, 1, 2], [0, 1, 2])),
    "a curve without value": (VALUES + "[0.0, nan].", lambda: curve([0, 1], [0, np.nan]), lambda: curve([0, 1], [0, -1])),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), LAWS.values(), ids=LAWS)
def test_controllers_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(LawError, words, wrong, right, monkeypatch)


def derived(**given):
    return gradient(lambda a: {"y": a**2}, {"a": 2.0}, threads=True, **given)


LIST = "The parameter 'a' needs a list of values; found "
FINITE = "Sensitivities need parameters with finite values; found "
FRACTION = "relative_step is a fraction of each parameter, between 0 and 0.5; found "
STUDIES = {
    "values of a number": (LIST + "3.", lambda: full_factorial(a=3), lambda: full_factorial(a=[3])),
    "values of a text": (LIST + "'xy'.", lambda: full_factorial(a="xy"), lambda: full_factorial(a=["xy"])),
    "values of an array of one number": (LIST + "array(3).", lambda: full_factorial(a=np.array(3)), lambda: full_factorial(a=np.array([3]))),
    "a variant too many": (
        "A study has 1e+06 variants; at most 1000000 are computed. Choose fewer values.",
        lambda: require_count(MOST_VARIANTS + 1, "A study"),
        lambda: require_count(MOST_VARIANTS, "A study"),
    ),
    "no variants": ("A study needs at least one variant; the parameters are empty.", lambda: checked([]), lambda: checked([{}])),
    "variants with other names": (
        "All variants must have the same parameters; the first has ['a'], number 1 has ['b'].",
        lambda: checked([{"a": 1}, {"b": 1}]),
        lambda: checked([{"a": 1}, {"a": 2}]),
    ),
    "variants with further names": (
        "All variants must have the same parameters; the first has ['a'], number 1 has ['a', 'b'].",
        lambda: checked([{"a": 1}, {"a": 1, "b": 1}]),
        lambda: checked([{"b": 1, "a": 1}, {"a": 1, "b": 1}]),
    ),
    "no parameters": (FINITE + "{}.", lambda: checked_values({}), lambda: checked_values({"a": 0})),
    "a parameter without value": (FINITE + "{'a': nan}.", lambda: checked_values({"a": np.nan}), lambda: checked_values({"a": -1e300})),
    "a parameter of a word": (FINITE + "{'a': 'x'}.", lambda: checked_values({"a": "x"}), lambda: checked_values({"a": np.float32(1)})),
    "parameters of a number": (FINITE + "3.", lambda: checked_values(3), lambda: checked_values({"a": 3})),
    "no step": (FRACTION + "0.", lambda: derived(relative_step=0), lambda: derived(relative_step=1e-3)),
    "half a parameter as step": (FRACTION + "0.5.", lambda: derived(relative_step=0.5), lambda: derived(relative_step=0.499)),
    "a step of a word": (FRACTION + "x.", lambda: derived(relative_step="x"), lambda: derived(relative_step=np.float64(0.01))),
    "a step of rates without value": (
        FRACTION + "nan.",
        lambda: rates_of(None, {"a": 1.0}, "a", np.nan, None, np.zeros(1)),
        lambda: derived(relative_step=0.1),
    ),
    "a step of rates of a half": (
        FRACTION + "0.5.",
        lambda: rates_of(None, {"a": 1.0}, "a", 0.5, None, np.zeros(1)),
        lambda: derived(relative_step=0.1),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), STUDIES.values(), ids=STUDIES)
def test_studies_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(StudyError, words, wrong, right, monkeypatch)

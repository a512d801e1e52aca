"""Small motions, periodic motions and measures of results that cannot be are refused by each part of their checks alone."""

from functools import cache

import numpy as np
import pytest
from mechanisms import random_flexible_body
from refusals import refused_beside

import flexmb
from flexmb.contact import Plane, Sphere, power_law
from flexmb.errors import EquilibriumError, JointError, LinearError, MeasureError, MechanismError, StressError
from flexmb.linear import equilibrium, frequency_response, linearise, periodic_motion, steady_motion
from flexmb.linear.eigenvalue_loci import along_motion, root_locus
from flexmb.linear.input_output import require_restrained
from flexmb.linear.response import with_peaks
from flexmb.mechanism.time_functions import harmonic
from flexmb.results.elements.contact import one_of
from flexmb.results.measure import measure
from flexmb.results.stress import stress_at


def wheel(stiffness=100.0):
    """A wheel on a hinge with a spring and a motor, a ball on it between two floors, and a flexible beam."""
    system = flexmb.System(name="m", gravity=(0, -10, 0))
    body = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)), position=(1, 0, 0))
    system.revolute("hinge", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    system.joint_spring("spring", "hinge", stiffness=stiffness, damping=1.0)
    system.motor("motor", "hinge", lambda t, x, xdot: 0.0)
    return system


@cache
def linear():
    return linearise(wheel())


@cache
def vibration():
    return linear().modes()


@cache
def motion():
    """A result of a ball in a bushing above two floors, a rail with a driver, and a beam of three modes."""
    system = flexmb.System(name="m")
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)))
    system.bushing("bush", system.ground, ball, stiffness=(1,) * 6, damping=(1,) * 6, at=(0, 0, 0))
    slider = system.add(flexmb.rigid_body("slider", mass=1.0, inertia=(1, 1, 1)), position=(5, 0, 0))
    system.joint("cylindrical", "rail", system.ground, slider, axis=(1, 0, 0), at=(5, 0, 0))
    system.drive("rail", harmonic(0.1, 1.0), dof="translation")
    system.drive("rail", harmonic(0.1, 1.0), dof="rotation")
    system.add(random_flexible_body(np.random.default_rng(1), name="beam"), position=(0, 0, 20))
    for k in (1, 2):
        floor = Plane().on(system.ground.at((0, 0, -k)))
        system.contact(f"floor {k}", floor, Sphere(0.1).on(ball.at((0, 0, 0))), law=power_law(1e3))
    return flexmb.simulate(system, 0.02, method="generalised-alpha", step=0.01)


def answered(frequencies=(1.0,), inputs="motor", outputs="coordinate:hinge"):
    return frequency_response(linear(), frequencies, inputs, outputs)


def periodic(period=0.1, **given):
    return periodic_motion(wheel(), period, **{"correct": False, "steps": 10} | given)


def locus(values):
    return root_locus(wheel, values, count=1)


TIMES = "Vibrations along a motion are those at one or more stored times; found times="
FOLLOWED = "count is a number of vibrations to follow, at least 1; found "
COUNT = "count is a number of modes, at least 1; found "
NEAR = "near is a frequency, a finite number; found "
FREQUENCIES = "frequencies must be finite and not negative; found "
NEEDED = "Small motions need at least one input and one output; inputs of 'm': ['spring', 'motor']."
OUTPUTS = "Outputs are measures, such as ['position:rod.end:z'], or functions of a result and measures by their names, "
VALUES = "Values of 'parameter' must be finite numbers, at least one; found "
ONE = "must be one finite number for each time of a result, of that time alone"
LINEAR = {
    "no times": (TIMES + "0.", lambda: along_motion(motion(), times=0), lambda: along_motion(motion(), times=1)),
    "half a time": (TIMES + "2.5.", lambda: along_motion(motion(), times=2.5), lambda: along_motion(motion(), times=2)),
    "a word as times": (
        TIMES + "'x'.",
        lambda: along_motion(motion(), times="x"),
        lambda: along_motion(motion(), times=np.int64(1)),
    ),
    "no vibration": (FOLLOWED + "0.", lambda: along_motion(motion(), 0), lambda: along_motion(motion(), 1, 1)),
    "a word as vibrations": (
        FOLLOWED + "'x'.",
        lambda: along_motion(motion(), "x"),
        lambda: along_motion(motion(), 99, 1),
    ),
    "no mode": (COUNT + "0.", lambda: linear().modes(0), lambda: linear().modes(1)),
    "half a mode": (COUNT + "1.5.", lambda: linear().modes(1.5), lambda: linear().modes(None)),
    "a word as modes": (COUNT + "'x'.", lambda: linear().modes("x"), lambda: linear().modes(np.int64(1))),
    "near nothing": (NEAR + "nan.", lambda: linear().modes(1, np.nan), lambda: linear().modes(1, -1.0)),
    "near a word": (NEAR + "'x'.", lambda: linear().modes(1, near="x"), lambda: linear().modes(1, near=0)),
    "frequencies of words": (FREQUENCIES + "'x'.", lambda: answered("x"), lambda: answered(1)),
    "frequencies in rows": (FREQUENCIES + "[[1.0]].", lambda: answered([[1.0]]), lambda: answered([1.0])),
    "no frequency": (FREQUENCIES + "[].", lambda: answered([]), lambda: answered([1.0, 0.5])),
    "a negative frequency": (FREQUENCIES + "[1, -1].", lambda: answered([1, -1]), lambda: answered([1, 0])),
    "a frequency without end": (FREQUENCIES + "[inf].", lambda: answered([np.inf]), lambda: answered([1e9])),
    "no peak": (FREQUENCIES + "[].", lambda: with_peaks([], vibration()), lambda: with_peaks(1.0, vibration())),
    "a peak without value": (
        FREQUENCIES + "[nan].",
        lambda: with_peaks([np.nan], vibration()),
        lambda: with_peaks([0.0], vibration()),
    ),
    "peaks in rows": (
        FREQUENCIES + "[[1, 2]].",
        lambda: with_peaks([[1, 2]], vibration()),
        lambda: with_peaks([1, 2], vibration()),
    ),
    "frequencies that rest": (
        "frequencies must ascend; found [1, 1].",
        lambda: with_peaks([1, 1], vibration()),
        lambda: with_peaks([1, 1.0001], vibration()),
    ),
    "no input": (NEEDED, lambda: answered(inputs=[]), lambda: answered(inputs=["motor"])),
    "no output": (NEEDED, lambda: answered(outputs={}), lambda: answered(outputs=["coordinate:hinge"])),
    "a number as inputs": (
        "Inputs of small motions are one text or a list of texts; found 3.",
        lambda: answered(inputs=3),
        lambda: answered(inputs=("motor", "spring")),
    ),
    "a number as outputs": (
        "Outputs of small motions are one text or a list of texts; found 3.",
        lambda: answered(outputs=3),
        lambda: answered(outputs={"angle": "coordinate:hinge"}),
    ),
    "an output of a number": (
        OUTPUTS + "{'tip': lambda result: ...}; found 3 for 'tip'.",
        lambda: answered(outputs={"tip": 3}),
        lambda: answered(outputs={"tip": lambda r: r.coordinate("hinge")}),
    ),
    "a number as name of an output": (
        "found 'coordinate:hinge' for 3.",
        lambda: answered(outputs={3: "coordinate:hinge"}),
        lambda: answered(outputs={"3": "coordinate:hinge"}),
    ),
    "an output of one number": (
        ONE,
        lambda: answered(outputs={"tip": lambda r: r.coordinate("hinge")[:1]}),
        lambda: answered(outputs={"tip": lambda r: 0.0 * r.t}),
    ),
    "an output without value": (
        "times, with values that are not finite",
        lambda: answered(outputs={"tip": lambda r: np.nan * r.t}),
        lambda: answered(outputs={"tip": lambda r: 1e9 * r.coordinate("hinge")}),
    ),
    "no value of a parameter": (VALUES + "[].", lambda: locus([]), lambda: locus([100.0, 110.0])),
    "a value without end": (VALUES + "[1.0, inf].", lambda: locus([1.0, np.inf]), lambda: locus([100.0, 110.0])),
    "values of words": (VALUES + "['x'].", lambda: locus(["x"]), lambda: locus((100, 110))),
    "values in rows": (VALUES + "[[1.0]].", lambda: locus([[1.0]]), lambda: locus(np.array([100.0, 110.0]))),
    "no period": ("period must be positive and finite; found 0.0.", lambda: periodic(0.0), lambda: periodic(1e-3)),
    "a period without end": ("period must be positive and finite; found inf.", lambda: periodic(np.inf), periodic),
    "a word as period": ("period must be positive and finite; found x.", lambda: periodic("x"), periodic),
    "no tolerance": (
        "tolerance must be positive and finite; found 0.",
        lambda: periodic(tolerance=0),
        lambda: periodic(tolerance=1e-3),
    ),
    "no steps": (
        "steps is a whole number of steps of a period, at least 1; found 0.",
        lambda: periodic(steps=0),
        lambda: periodic(steps=1),
    ),
    "half a step": (
        "steps is a whole number of steps of a period, at least 1; found 2.5.",
        lambda: periodic(steps=2.5),
        lambda: periodic(steps=np.int64(2)),
    ),
    "a motion that nothing restrains": (
        "At the frequency 0 there is no response: a motion that nothing restrains has no place to come to rest.",
        lambda: require_restrained(np.eye(1), np.eye(1)),
        lambda: require_restrained(np.eye(1), 0.999 * np.eye(1)),
    ),
    "a singular matrix": (
        "At the frequency 0 there is no response",
        lambda: require_restrained(np.zeros((1, 1)), np.zeros((1, 1))),
        lambda: require_restrained(np.zeros((0, 0)), np.zeros((0, 0))),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), LINEAR.values(), ids=LINEAR)
def test_small_motions_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(LinearError, words, wrong, right, monkeypatch)


TIME = "The time t of an equilibrium or a steady motion is a finite number; found "
REST = {
    "at a word": (TIME + "'x'.", lambda: equilibrium(wheel(), "x"), lambda: equilibrium(wheel(), 1)),
    "at no time": (TIME + "nan.", lambda: equilibrium(wheel(), np.nan), lambda: equilibrium(wheel(), None)),
    "in steady motion at a word": (TIME + "'x'.", lambda: steady_motion(wheel(), "x"), lambda: steady_motion(wheel(), 1.0)),
    "in steady motion at no time": (TIME + "inf.", lambda: steady_motion(wheel(), np.inf), lambda: steady_motion(wheel())),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), REST.values(), ids=REST)
def test_times_of_rest_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(EquilibriumError, words, wrong, right, monkeypatch)


def seen(text):
    return measure(text)(motion())


MODES = "Body 'beam' has the elastic coordinates 1 to 3; found "
AXIS = "The axis of a measure is x, y, z or size; found "
DRIVEN = "Joint 'rail' has 2 driven motions: 'translation z', 'rotation z'"
RESULTS = {
    "no mode": (MODES + "'elastic:beam:0'.", lambda: seen("elastic:beam:0"), lambda: seen("elastic:beam:1")),
    "a mode too many": (MODES + "'elastic:beam:4'.", lambda: seen("elastic:beam:4"), lambda: seen("elastic:beam:3")),
    "a mode of a word": (
        MODES + "'elastic-rate:beam:x'.",
        lambda: seen("elastic-rate:beam:x"),
        lambda: seen("elastic-rate:beam:2"),
    ),
    "an axis of none": (AXIS + "'w' in 'position:ball:w'.", lambda: seen("position:ball:w"), lambda: seen("position:ball:z")),
    "a place without axis": ("'position:ball'", lambda: seen("position:ball"), lambda: seen("position:ball:size")),
    "an axis without place": ("'position::x'", lambda: seen("position::x"), lambda: seen("position:ball:x")),
    "a place with an empty axis": ("'position:ball:'", lambda: seen("position:ball:"), lambda: seen("position:ball:y")),
    "an unknown measure": (
        "There is no measure named 'postion'. Did you mean 'position'?",
        lambda: seen("postion:ball:x"),
        lambda: seen("velocity:ball:x"),
    ),
    "a part of an attitude too many": (
        "'attitude:ball:quaternion:v'",
        lambda: seen("attitude:ball:quaternion:v"),
        lambda: seen("attitude:ball:quaternion:w"),
    ),
    "two parts of an attitude": (
        "'attitude:ball:quaternion:wx'",
        lambda: seen("attitude:ball:quaternion:wx"),
        lambda: seen("attitude:ball:quaternion:x"),
    ),
    "a scalar part of a vector": (
        "'attitude:ball:rotation-vector:w'",
        lambda: seen("attitude:ball:rotation-vector:w"),
        lambda: seen("attitude:ball:rotation-vector:z"),
    ),
    "an attitude of no place": (
        "'attitude::ZYX:1'",
        lambda: seen("attitude::ZYX:1"),
        lambda: seen("attitude:ball:ZYX:1"),
    ),
    "an angle too many": ("'attitude:ball:ZYX:4'", lambda: seen("attitude:ball:ZYX:4"), lambda: seen("attitude:ball:ZYX:3")),
    "an angle of a sequence that is none": (
        "'attitude:ball:ZZX:1'",
        lambda: seen("attitude:ball:ZZX:1"),
        lambda: seen("attitude:ball:XYZ:1"),
    ),
    "a form of an attitude": (
        "An attitude is given as ",
        lambda: motion().attitude("ball", "ZZX"),
        lambda: motion().attitude("ball", "XYZ"),
    ),
    "a node of a body without mesh": (
        "Body 'ball' has no mesh; found node 0.",
        lambda: motion().position("ball", node=0),
        lambda: motion().position("ball"),
    ),
    "a coordinate of a bushing without name": (
        "Force element 'bush': no coordinate is named. Name one of: ",
        lambda: motion().stretch("bush"),
        lambda: motion().stretch("bush", "translation x"),
    ),
    "a coordinate of a bushing by half": (
        "Force element 'bush': found dof='translation'. Name one of: ",
        lambda: motion().stretch("bush", "translation"),
        lambda: motion().stretch("bush", "rotation z"),
    ),
    "two driven motions": (DRIVEN + ".", lambda: motion().drive_effort("rail"), lambda: motion().drive_effort("rail", "rotation")),
    "a driven motion of none": (
        DRIVEN + "; found dof='twist'.",
        lambda: motion().drive_effort("rail", "twist"),
        lambda: motion().drive_effort("rail", "translation z"),
    ),
    "a coordinate of a joint that is none": (
        "Joint 'rail' (cylindrical): found dof='translation x'. Name one of: ",
        lambda: motion().coordinate("rail", "translation x"),
        lambda: motion().coordinate("rail", "translation"),
    ),
    "several contacts": (
        "There are several contacts; name one of: 'floor 1', 'floor 2'.",
        lambda: one_of(motion().mechanism, None, single=True),
        lambda: motion().contact("floor 1"),
    ),
    "a contact that is none": ("'floor 3'", lambda: motion().contact("floor 3"), lambda: motion().contact("floor 2")),
    "a stress of a body without": (
        "Body 'ball'",
        lambda: stress_at(motion(), "ball", (0, 0, 0)),
        lambda: motion().position("ball"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), RESULTS.values(), ids=RESULTS)
def test_parts_of_results_are_refused_beside_known_ones(words, wrong, right, monkeypatch):
    refused_beside((MeasureError, MechanismError, JointError, StressError), words, wrong, right, monkeypatch)

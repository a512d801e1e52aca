"""Options of methods, times and events that cannot be are refused by each part of their checks alone, and accepted at the bounds."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from refusals import refused_beside

import flexmb
from flexmb.contact import Plane, Sphere
from flexmb.errors import EventError, IntegratorError, KinematicsError, MechanismError
from flexmb.integrators.bdf import BDF
from flexmb.integrators.energy_momentum import EnergyMomentum
from flexmb.integrators.generalised_alpha import GeneralisedAlpha, coefficients
from flexmb.integrators.method import Method, method_of, methods, register
from flexmb.integrators.radau import Radau
from flexmb.mechanism.state import State
from flexmb.mechanism.time_functions import polynomial
from flexmb.simulation.events import Event, stop
from flexmb.simulation.simulate import simulate
from flexmb.simulation.times import MOST_STEPS, SHORTEST, check_times, output_times


@cache
def wheel(contact=False, driven=False, friction=False):
    """A wheel on a hinge, which is driven or rubs, beside a ball above a floor."""
    system = flexmb.System(name="m")
    body = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("hinge", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    if driven:
        system.drive("hinge", polynomial(0.0, 1.0))
    if friction:
        system.friction("rubs", "hinge", coefficient=0.1, radius=0.1, regularised=None if friction == "sticks" else 1.0)
    if contact:
        ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(5, 0, 1))
        system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), Sphere(0.1).on(ball.at((0, 0, 0))))
    return system.build()


def run(model=(), **given):
    return simulate(wheel(**dict(model)), **{"duration": 0.02, "step": 0.01, "method": "generalised-alpha"} | given)


def begun(number, driven=False):
    return run({"driven": driven}, initial_state={"hinge": number})


def state(**given):
    first = wheel().initial
    parts = {"t": first.t, "q": first.q, "w": first.w, "angles": first.angles}
    return run(initial_state=State(**parts | given))


def hit(**given):
    return run({"contact": True}, **given)


def waiting(when):
    return run(events=[Event("look", when)])


class Bare:
    """No method."""


def named(name, base=Method):
    """A method registered under a name."""

    @register(name)
    @dataclass(frozen=True, kw_only=True)
    class Own(base):
        """A method of this test."""

    return Own


STEP = "step must be positive and at most the duration"
RHO = "rho_inf is a spectral radius and must be between 0 and 1; found "
NEWTON = "newton_tolerance is relative to the accelerations and must be above 0 and below 1e-2; found "
TOLERANCE = "tolerance must be between 0 and 1, relative to the length of the mechanism; found "
DURATION = "duration must be positive and finite; found "
OUTPUT = "output_step must be positive and at most the duration 1.0; found "
CONTACT = "'m' has the exact contact 'floor': give a fixed step="
OPTIONS = {
    "no step": (STEP + "; found 0.0.", lambda: Radau(step=0.0), lambda: Radau(step=5e-324)),
    "a step without end": (STEP + "; found inf.", lambda: Radau(step=np.inf), lambda: Radau(step=1e300)),
    "a flag as step": ("Radau: step is a number or None; found True.", lambda: Radau(step=True), lambda: Radau(step=1)),
    "a word as step": ("Radau: step is a number or None; found '1'.", lambda: Radau(step="1"), lambda: Radau(step=None)),
    "a number as flag": (
        "GeneralisedAlpha: project is True or False; found 1.",
        lambda: GeneralisedAlpha(project=1),
        lambda: GeneralisedAlpha(project=True),
    ),
    "no tolerance": (TOLERANCE + "0.", lambda: BDF(tolerance=0), lambda: BDF(tolerance=1e-12)),
    "a tolerance of one": (TOLERANCE + "1.", lambda: BDF(tolerance=1), lambda: BDF(tolerance=0.999)),
    "a tolerance without value": (TOLERANCE + "nan.", lambda: BDF(tolerance=np.nan), lambda: BDF(tolerance=1e-3)),
    "no longest step": ("max_step must be positive; found 0.0.", lambda: BDF(max_step=0.0), lambda: BDF(max_step=1e-9)),
    "a longest step without value": (
        "max_step must be positive; found nan.",
        lambda: BDF(max_step=np.nan),
        lambda: BDF(max_step=np.inf),
    ),
    "fixed steps with a longest one": (
        "max_step=1.0 limits variable steps, and step=0.1 selects fixed steps.",
        lambda: Radau(step=0.1, max_step=1.0),
        lambda: Radau(max_step=1.0),
    ),
    "fixed steps with a tolerance": (
        "tolerance=1e-07 bounds the error of variable steps, and step=0.1 selects fixed steps",
        lambda: Radau(step=0.1, tolerance=1e-7),
        lambda: Radau(step=0.1, tolerance=Radau.tolerance),
    ),
    "variable steps that keep the energy": (
        "The energy-momentum scheme requires fixed steps; give step=.",
        lambda: EnergyMomentum(),
        lambda: EnergyMomentum(step=0.1),
    ),
    "a radius below zero": (RHO + "-1e-09.", lambda: coefficients(-1e-9), lambda: coefficients(0.0)),
    "a radius above one": (RHO + "1.001.", lambda: coefficients(1.001), lambda: coefficients(1.0)),
    "a radius without value": (RHO + "nan.", lambda: coefficients(np.nan), lambda: coefficients(0.5)),
    "a radius of another method": (
        "rho_inf of the HHT method must be between 0.5 and 1; found 0.499.",
        lambda: coefficients(0.499, hht=True),
        lambda: (coefficients(0.5, hht=True), coefficients(0.499)),
    ),
    "no tolerance of Newton": (
        NEWTON + "0.0.",
        lambda: coefficients(0.8, newton_tolerance=0.0),
        lambda: coefficients(0.8, newton_tolerance=1e-15),
    ),
    "a tolerance of Newton too large": (
        NEWTON + "0.01.",
        lambda: coefficients(0.8, newton_tolerance=1e-2),
        lambda: coefficients(0.8, newton_tolerance=9.9e-3),
    ),
    "a method that is none": ("There is no method 'radua'; existing: ", lambda: method_of("radua", {}), lambda: method_of("radau", {})),
    "a number as method": ("There is no method 3; existing: ", lambda: method_of(3, {}), lambda: method_of(Radau(), {})),
    "options beside a record": (
        "'step': give these options in the record, as in Radau(step=1).",
        lambda: method_of(Radau(), {"step": 1}),
        lambda: method_of("radau", {"step": 1}),
    ),
    "a method without name": ("A method must have a name; found ''.", lambda: named(""), lambda: register("radau")(Radau)),
    "a number as name": ("A method must have a name; found 3.", lambda: named(3), lambda: register("radau")(Radau)),
    "a name that is taken": ("There is a method 'radau' already: ", lambda: named("radau"), lambda: register("radau")(Radau)),
    "a class that is no method": (
        "A method must be a frozen dataclass derived from Method; found ",
        lambda: register("bare")(Bare),
        lambda: register("radau")(Radau),
    ),
    "a dataclass that is no method": (
        "A method must be a frozen dataclass derived from Method; found ",
        lambda: register("bare")(dataclass(Bare)),
        lambda: register("radau")(Radau),
    ),
    "a method without fields": (
        "A method must be a frozen dataclass derived from Method; found ",
        lambda: register("bare")(type("Derived", (Radau,), {})),
        lambda: register("radau")(Radau),
    ),
    "a method under another name": (
        "Radau is the method 'radau' already; derive another one for 'other'.",
        lambda: register("other")(Radau),
        lambda: register("radau")(Radau),
    ),
    "no duration": (DURATION + "0.0.", lambda: check_times(0.0, None), lambda: check_times(SHORTEST, None)),
    "a negative duration": (DURATION + "-1.0.", lambda: check_times(-1.0, None), lambda: check_times(1, None)),
    "a duration without end": (DURATION + "inf.", lambda: check_times(np.inf, None), lambda: check_times(1e300, None)),
    "a word as duration": (DURATION + "'1'.", lambda: check_times("1", None), lambda: check_times(np.float32(1), None)),
    "a duration too short": (
        "duration must be at least 1e-100; found 9e-101. Is its unit correct?",
        lambda: check_times(9e-101, None),
        lambda: check_times(SHORTEST, SHORTEST),
    ),
    "a step of no length": (STEP + " 1.0; found 0.0.", lambda: check_times(1.0, 0.0), lambda: check_times(1.0, 1e-9)),
    "a step beyond the duration": (STEP + " 1.0; found 1.001.", lambda: check_times(1.0, 1.001), lambda: check_times(1.0, 1.0)),
    "too many steps": (
        "step = 9.9e-12 makes 1.01e+11 steps in the duration 1.0; at most 1e+11 can be computed.",
        lambda: check_times(1.0, 9.9e-12),
        lambda: check_times(float(MOST_STEPS), 1.0),
    ),
    "too many steps at most": (
        "max_step = 9.9e-12 makes 1.01e+11 steps in the duration 1.0; at most 1e+11 can be computed.",
        lambda: check_times(1.0, None, 9.9e-12),
        lambda: check_times(float(MOST_STEPS), None, 1.0),
    ),
    "no stored step": (OUTPUT + "0.0.", lambda: output_times(1.0, None, 0.0), lambda: output_times(1.0, None, 1e-3)),
    "a stored step too long": (
        OUTPUT + "1.00000001.",
        lambda: output_times(1.0, None, 1.00000001),
        lambda: output_times(1.0, None, 1.0 + 5e-10),
    ),
    "a word as stored step": (OUTPUT + "x.", lambda: output_times(1.0, None, "x"), lambda: output_times(1.0, None, 1)),
    "a stored step without value": (
        OUTPUT + "nan.",
        lambda: output_times(1.0, None, np.nan),
        lambda: output_times(1.0, None, np.float32(0.5)),
    ),
    "too many stored times": (
        "output_step = 9.9e-09 stores 1.01e+08 times in the duration 1.0; at most 1e+08 can be stored.",
        lambda: output_times(1.0, None, 9.9e-9),
        lambda: output_times(1.0, None, 1e-4),
    ),
    "exact contacts with variable steps": (CONTACT, lambda: hit(step=None), lambda: hit(step=0.01)),
    "exact contacts with projections": (CONTACT, lambda: hit(project=True), lambda: hit(project=False)),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), OPTIONS.values(), ids=OPTIONS)
def test_options_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside(IntegratorError, words, wrong, right, monkeypatch)
    assert not {"other", "bare", "", 3} & set(methods())


INITIAL = "The initial value of joint 'hinge' is a finite number, or two, (value, rate); found "
DRIVEN = "Joint 'hinge' is driven: at t = 0 its driver gives the value 0 and the rate 1, the initial state "
SHARED = "exact contacts cannot act in one simulation, and 'm' has the contact 'floor'."
LIST = "events is a list of flexmb.Event and flexmb.stop(...); found "
MEASURE = "Event 'look': its measure must be one finite number for each time of a result; found "
RESTITUTION = "Stop 's': restitution must be between 0 (plastic) and 1 (elastic); found "
LIMIT = "Stop 's': its limit is a finite number; found "
SIZES = "A state of 'm' has 7 coordinates and 6 velocities; found "
STATES = {
    "three values": (INITIAL + "(1, 2, 3).", lambda: begun((1, 2, 3)), lambda: begun((1, 2))),
    "no value": (INITIAL + "().", lambda: begun(()), lambda: begun((1,))),
    "a value of nothing": (INITIAL + "None.", lambda: begun(None), lambda: begun(0)),
    "a value of a word": (INITIAL + "'x'.", lambda: begun("x"), lambda: begun(np.float32(1))),
    "values in rows": (INITIAL + "[[1.0]].", lambda: begun([[1.0]]), lambda: begun([1.0])),
    "a rate without value": (INITIAL + "(1.0, nan).", lambda: begun((1.0, np.nan)), lambda: begun((1.0, -1.0))),
    "a joint that is none": (
        "Initial values of 'm': There is no joint named 'hing'. Did you mean 'hinge'?",
        lambda: run(initial_state={"hing": 0.0}),
        lambda: run(initial_state={"hinge:rotation": 0.0}),
    ),
    "another value than that of a driver": (
        DRIVEN + "0.1 and 1.",
        lambda: begun(0.1, driven=True),
        lambda: begun(0.0, driven=True),
    ),
    "another rate than that of a driver": (
        DRIVEN + "0 and 2.",
        lambda: begun((0.0, 2.0), driven=True),
        lambda: begun((0.0, 1.0), driven=True),
    ),
    "a stop beside an exact contact": (
        "Stops ('s') and " + SHARED,
        lambda: hit(events=[stop("s", "hinge", 1.0)]),
        lambda: run(events=[stop("s", "hinge", 1.0)]),
    ),
    "friction that sticks beside an exact contact": (
        "Friction that sticks in joints ('rubs') and " + SHARED,
        lambda: run({"contact": True, "friction": "sticks"}),
        lambda: run({"contact": True, "friction": "creeps"}),
    ),
    "an event that is none": (LIST + "[3].", lambda: run(events=[3]), lambda: run(events=[])),
    "events of a number": (LIST + "3.", lambda: run(events=3), lambda: run(events=())),
    "an event without list": (
        LIST + "Event(",
        lambda: run(events=stop("s", "hinge", 1.0)),
        lambda: run(events=(stop("s", "hinge", 1.0),)),
    ),
    "a measure of one number": (MEASURE, lambda: waiting(lambda r: 1.0), lambda: waiting(lambda r: 0.0 * r.t - 1.0)),
    "a measure without value": (
        MEASURE,
        lambda: waiting(lambda r: np.nan * r.t),
        lambda: waiting(lambda r: r.coordinate("hinge") - 1.0),
    ),
    "an event that looks at a number": (
        "Event 'look': `when` must be a function of a result",
        lambda: Event("look", 3.0),
        lambda: Event("look", len),
    ),
    "a stop that gives": (
        RESTITUTION + "1.001.",
        lambda: stop("s", "hinge", 0.1, restitution=1.001),
        lambda: stop("s", "hinge", 0.1, restitution=1),
    ),
    "a stop that takes": (
        RESTITUTION + "-1e-09.",
        lambda: stop("s", "hinge", 0.1, restitution=-1e-9),
        lambda: stop("s", "hinge", 0.1, restitution=0),
    ),
    "a restitution without value": (
        RESTITUTION + "nan.",
        lambda: stop("s", "hinge", 0.1, restitution=np.nan),
        lambda: stop("s", "hinge", 0.1, restitution=0.5),
    ),
    "a restitution of a word": (
        RESTITUTION + "x.",
        lambda: stop("s", "hinge", 0.1, restitution="x"),
        lambda: stop("s", "hinge", 0.1, restitution=np.float32(0.5)),
    ),
    "a stop at no value": (LIMIT + "nan.", lambda: stop("s", "hinge", np.nan), lambda: stop("s", "hinge", 0)),
    "a stop at a word": (LIMIT + "'x'.", lambda: stop("s", "hinge", "x"), lambda: stop("s", "hinge", -1e9)),
    "coordinates too many": (SIZES + "8 and 6.", lambda: state(q=np.ones(8)), lambda: state()),
    "velocities too few": (SIZES + "7 and 5.", lambda: state(w=np.zeros(5)), lambda: state(w=np.zeros(6))),
    "angles too many": (
        "A state of 'm' has 1 angles, those of its rotating joints and of its bushings, or none; found 2.",
        lambda: state(angles=np.zeros(2)),
        lambda: (state(angles=np.zeros(1)), state(angles=np.zeros(0))),
    ),
    "states of elements that are none": (
        "The force elements and controllers of 'm' have 0 states; found 1.",
        lambda: state(element_states=np.zeros(1)),
        lambda: state(element_states=np.zeros(0)),
    ),
    "a velocity without end": (
        "A state of 'm' must be finite; found w = ",
        lambda: state(w=np.array([0, 0, 0, 0, 0, np.inf])),
        lambda: state(w=np.array([0, 0, 0, 0, 0, 1.0])),
    ),
    "a time without value": (
        "A state of 'm' must be finite; found t = nan.",
        lambda: state(t=np.nan),
        lambda: state(t=-1.0),
    ),
    "an angle without value": (
        "A state of 'm' must be finite; found angles = [nan].",
        lambda: state(angles=np.array([np.nan])),
        lambda: state(angles=np.array([2 * np.pi])),
    ),
    "an attitude that is none": (
        "The attitude of 'wheel' in a state of 'm' is a quaternion of length 1.1; it must be 1.",
        lambda: state(q=np.array([0, 0, 0, 1.1, 0, 0, 0])),
        lambda: state(q=np.array([0, 0, 0, -1.0, 0, 0, 0])),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), STATES.values(), ids=STATES)
def test_starts_and_events_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside((EventError, KinematicsError, MechanismError), words, wrong, right, monkeypatch)

"""Requests of inverse dynamics, sweeps and adapted bodies that cannot be are refused by each part of their checks alone."""

from functools import cache

import numpy as np
import pytest
from mechanisms import random_flexible_body
from refusals import refused_beside

import flexmb
from flexmb.analyses.adapted import adapted
from flexmb.analyses.feedforward import feedforward
from flexmb.analyses.fidelity import with_fidelity, with_modes
from flexmb.analyses.inverse_dynamics import Servo, inverse_dynamics
from flexmb.analyses.kinematics import joint_sweep
from flexmb.errors import InverseError, KinematicsError, MechanismError


@cache
def mass(name="m", flexible=False):
    """A mass on a rail with a motor, and a flexible beam beside it."""
    system = flexmb.System(name=name)
    body = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    system.motor("motor", "rail", 0.0)
    if flexible:
        system.add(random_flexible_body(np.random.default_rng(1), name="beam"), position=(0, 0, 9))
    return system.build()


@cache
def nominal(flexible=True):
    return flexmb.simulate(mass(flexible=flexible).rigid(), 0.02, method="generalised-alpha", step=0.01)


SERVO = Servo("rail.b", "x", flexmb.time_functions.smooth_step(0.0, 0.1, 0.2, derivatives=5))


def asked(method=inverse_dynamics, servos=(SERVO,), actuators=("motor",), duration=0.1, step=0.02, **given):
    return method(mass(), list(servos), list(actuators), duration, step, **given)


def pushed(**given):
    return asked(feedforward, **{"order": 0} | given)


def sweep(values):
    return joint_sweep(mass(), "rail", values)


def bent(coordinates=1, flexible=True):
    return adapted(mass(flexible=True), nominal(flexible), coordinates)


TIMES = "before and after must be finite and not negative; found "
AFTER = "after must be finite and not negative; found "
ORDER = "The order of a feedforward is an even number, 0, 2, 4, ...; found "
STEP = "duration must be positive and step smaller than it; found "
NUMBERS = "The numbers of actuators and of prescribed coordinates must be equal, and at least one; found "
VALUES = "Values of joint 'rail' must be finite numbers, at least one; found "
COORDINATE = "A flexible body needs at least one coordinate; found "
MODES = "A flexible body needs at least one elastic coordinate; found "
FIDELITY = "A fidelity is one of 'rigid', 'linear', 'flexible', or a whole number of elastic coordinates; found "
REFUSED = {
    "a time before without end": (TIMES + "inf, 0.0.", lambda: asked(before=np.inf), lambda: asked(before=0.01)),
    "a time after without end": (TIMES + "0.0, inf.", lambda: asked(after=np.inf), lambda: asked(after=0.01)),
    "a time before of a word": (TIMES + "x, 0.0.", lambda: asked(before="x"), lambda: asked(before=0)),
    "a negative time after": (TIMES + "0.0, -0.01.", lambda: asked(after=-0.01), lambda: asked(after=0)),
    "a feedforward without end": (AFTER + "inf.", lambda: pushed(after=np.inf), lambda: pushed(after=0)),
    "a feedforward after a word": (AFTER + "x.", lambda: pushed(after="x"), lambda: pushed(after=0.01)),
    "an odd order": (ORDER + "1.", lambda: pushed(order=1), lambda: pushed(order=2)),
    "an order below zero": (ORDER + "-2.", lambda: pushed(order=-2), lambda: pushed(order=0)),
    "an order of a fraction": (ORDER + "2.0.", lambda: pushed(order=2.0), lambda: pushed(order=np.int64(2))),
    "no duration": (STEP + "0.0 and 0.02.", lambda: asked(duration=0.0), lambda: asked(duration=0.1)),
    "a duration without end": (STEP + "inf and 0.02.", lambda: asked(duration=np.inf), lambda: asked(duration=0.2)),
    "a duration of a word": (STEP + "x and 0.02.", lambda: asked(duration="x"), lambda: asked(duration=np.float64(0.1))),
    "no step": (STEP + "0.1 and 0.0.", lambda: asked(step=0.0), lambda: asked(step=0.025)),
    "a step as long as the duration": (STEP + "0.1 and 0.1.", lambda: asked(step=0.1), lambda: asked(step=0.02)),
    "a step of a word": (STEP + "0.1 and x.", lambda: asked(step="x"), lambda: asked(step=np.float64(0.02))),
    "an actuator too many": (NUMBERS + "2 and 1.", lambda: asked(actuators=("motor", "motor")), asked),
    "no servo": (NUMBERS + "0 and 0.", lambda: asked(servos=(), actuators=()), asked),
    "no value": (VALUES + "[].", lambda: sweep([]), lambda: sweep([0.1])),
    "a value without end": (VALUES + "[0.1, inf].", lambda: sweep([0.1, np.inf]), lambda: sweep([0.1, 0.2])),
    "a value of a word": (VALUES + "'x'.", lambda: sweep("x"), lambda: sweep(0.1)),
    "values in rows": (VALUES + "[[0.1]].", lambda: sweep([[0.1]]), lambda: sweep(np.array([0.1]))),
    "no coordinate": (COORDINATE + "0.", lambda: bent(0), lambda: bent(1)),
    "half a coordinate": (COORDINATE + "1.5.", lambda: bent(1.5), lambda: bent(np.int64(1))),
    "coordinates of a word": (COORDINATE + "x.", lambda: bent("x"), lambda: bent(9)),
    "the motion of another mechanism": (
        "The nominal motion is that of another mechanism ('m'): its bodies and joints are ['mass', 'rail'], expected ",
        lambda: bent(flexible=False),
        lambda: bent(flexible=True),
    ),
    "no mode": (MODES + "0.", lambda: with_modes(mass(flexible=True).bodies[1], 0), lambda: with_modes(mass(flexible=True).bodies[1], 1)),
    "a flag as fidelity": (FIDELITY + "True.", lambda: with_fidelity(mass(flexible=True), True), lambda: with_fidelity(mass(flexible=True), 1)),
    "a fraction as fidelity": (FIDELITY + "1.5.", lambda: with_fidelity(mass(flexible=True), 1.5), lambda: with_fidelity(mass(flexible=True), np.int64(2))),
    "a word as fidelity": (
        "There is no fidelity named 'soft'.",
        lambda: with_fidelity(mass(flexible=True), "soft"),
        lambda: [with_fidelity(mass(flexible=True), name) for name in ("rigid", "linear", "flexible")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), REFUSED.values(), ids=REFUSED)
def test_analyses_are_refused_beside_accepted_ones(words, wrong, right, monkeypatch):
    refused_beside((InverseError, KinematicsError, MechanismError), words, wrong, right, monkeypatch)

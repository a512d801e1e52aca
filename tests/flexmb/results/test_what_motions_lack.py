"""What a result refuses: histories that only simulated motions have, and parts that do not exist."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from mechanisms import double_pendulum
from refusals import refused

import flexmb
from flexmb import controllers
from flexmb.contact import Plane, Sphere
from flexmb.errors import ControllerError, LawError, MeasureError, MechanismError
from flexmb.results.measure import measure


@flexmb.law(states=("z",), parameters=("k",))
def lag(t, relative, states, parameters, wrench, rates):
    rates[0] = relative.d[0] - states[0]
    wrench[0] = -parameters[0] * states[0]


@cache
def simulated(with_contact):
    """A wheel with a controller and a force element with a state, and either a ball on a floor or dry friction."""
    system = flexmb.System(gravity=(0, 0, -9.81), name="m")
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)), position=(2, 0, 0))
    system.revolute("hinge", system.ground, wheel, axis=(0, 1, 0), at=(2, 0, 0))
    inputs = {"measured": "coordinate:hinge", "reference": 1.0}
    system.controller("servo", controllers.pid(1.0, 1.0), inputs=inputs, outputs={"command": "effort:hinge"})
    system.force("element", system.ground, wheel, lag(k=1.0), at=(2, 0, 0))
    if with_contact:
        ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 0.1))
        floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
        system.contact("floor", floor, Sphere(0.1).on(ball.at((0, 0, 0))))
    else:
        system.friction("rub", "hinge", 0.1, radius=0.1)
    return flexmb.simulate(system, 2e-3, step=1e-3)


DOORS = {
    "contact": (
        MechanismError,
        "The motion does not have the forces of the contact 'floor'; only simulated motions have them.",
        lambda result: result.contact("floor").normal_force,
    ),
    "controller": (
        ControllerError,
        "The motion does not have the states of controller 'servo'; simulated motions do.",
        lambda result: result.controller("servo").commands["command"].values,
    ),
    "state": (
        MeasureError,
        "The motion does not have the states of 'element'; simulated motions do.",
        measure("state:element:z"),
    ),
    "force": (
        MechanismError,
        "The motion does not have the states of 'element'; only simulated motions have them.",
        measure("force:element:x"),
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_motions_without_states_say_so(door):
    error, message, call = DOORS[door]
    whole = simulated(with_contact=True)
    assert np.isfinite(call(whole)).all()
    refused(error, message, call, replace(whole, element_states=np.zeros((len(whole.t), 0))))


@pytest.mark.parametrize("lost", [{"topologies": ()}, {"multipliers": np.zeros((3, 0))}])
def test_motions_without_modes_or_reactions_have_no_dry_friction(lost):
    whole = simulated(with_contact=False)
    assert np.isfinite(whole.effort("rub")).all()
    refused(
        MechanismError,
        "The motion does not have the modes and reactions that determine the friction 'rub'; only simulated motions have "
        "them.",
        replace(whole, **lost).effort, "rub",
    )  # fmt: skip


def test_parts_that_do_not_exist():
    result = simulated(with_contact=True)
    refused(
        MechanismError, "There is no group of contacts named 'stones'. Existing: none.", result.contact_group, "stones"
    )
    surface = "There is no contact of a flexible surface named 'floor'. Existing: none."
    refused(MechanismError, surface, result.surface_contact, "floor")
    joint = "'hinge' is a joint (revolute), not a relation between joints. Its forces are those of reaction()."
    refused(MechanismError, joint, result.relation_effort, "hinge", "elbow")
    refused(
        MeasureError,
        "There is no controller or force element with states named 'servos'. Did you mean 'servo'? Existing: 'element', "
        "'servo'.",
        measure("state:servos:integral"), result,
    )  # fmt: skip
    assert measure("state:servo:integral")(result)[-1] > 0.0


def test_the_angular_velocity_under_its_old_name_is_refused():
    refused(
        MeasureError,
        "'rotation:first:x' is now 'angular-velocity:first:x', the angular velocity. Angles are attitudes, such as "
        "'attitude:first:ZYX:1', or those of joints, coordinate:JOINT.",
        measure, "rotation:first:x",
    )  # fmt: skip
    assert measure("angular-velocity:first:z")(flexmb.simulate(double_pendulum(), 1e-3, step=1e-3)).shape == (2,)


def test_laws_that_fail_at_stored_times_are_named():
    failing = []

    def command(t, inputs, states, parameters, commands, rates):
        if failing:
            raise ValueError("closed")
        commands[0] = -inputs[0]

    def wrench(t, relative, states, parameters, force, rates):
        if failing:
            raise ValueError("closed")
        force[0] = -relative.d[0]

    system = double_pendulum()
    law = flexmb.control_law(command, inputs=("angle",), commands=("torque",))
    system.controller("servo", law(), inputs={"angle": "coordinate:hinge"}, outputs={"torque": "effort:hinge"})
    free = system.add(flexmb.rigid_body("free", mass=1.0, inertia=(1, 1, 1)))
    system.force("element", system.ground, free, flexmb.law(wrench)(), at=(0, 0, 0))
    run = flexmb.simulate(system, 1e-3, step=1e-3)
    calls = (lambda: run.controller("servo"), "servo"), (lambda: measure("force:element:x")(run), "element")
    failing.append(True)
    for call, name in calls:
        with pytest.raises(LawError, match=rf"^The law of '{name}' failed at t = 0, .*: ValueError: closed\."):
            call()
    failing.clear()
    for call, _ in calls:
        call()

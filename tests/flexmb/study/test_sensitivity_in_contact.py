"""Derivatives of motions in exact contact: bodies that rest and slide without friction; switches are refused."""

import numpy as np
import pytest

import flexmb
from flexmb.contact import Box, Plane, Sphere
from flexmb.errors import MechanismError, StudyError
from flexmb.study import adjoint_gradient, direct_gradient

pytestmark = pytest.mark.filterwarnings("ignore::flexmb.RedundantConstraintWarning")
G, STEP = 9.81, 2e-3


def carrier(length=0.3, mass=0.2, free=0.3, *, friction=0.6, height=0.0):
    """A box on the ground that carries a pendulum with a spring."""
    system = flexmb.System(gravity=(0, 0, -G))
    box = system.add(flexmb.rigid_body("box", mass=5.0, inertia=(0.1, 0.1, 0.1)), position=(0, 0, 0.1 + height))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("floor", floor, Box(0.6, 0.4, 0.2).on(box.at((0, 0, 0))), friction=friction)
    bob = system.add(flexmb.rigid_body("bob", mass=mass, inertia=(1e-4,) * 3), position=(0, 0.3, 0.5 + height - length))
    system.revolute("pin", box.at((0, 0.3, 0.4)), bob.at((0, 0, length)), axis=(0, 1, 0))
    system.joint_spring("spring", "pin", stiffness=0.3, free=free)
    return system


def pushed(force=3.0, mass=2.0):
    """A ball without friction that a spring pulls along the floor."""
    system = flexmb.System(gravity=(0, 0, -G))
    ball = system.add(flexmb.rigid_body("ball", mass=mass, inertia=(0.01,) * 3), position=(0, 0, 0.1))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), Sphere(0.1).on(ball.at((0, 0, 0))))
    system.load("push", ball.at((0, 0, 0)), force=(force, 0, 0))
    return system


def along(name):
    return lambda result: result.position(name)[:, 0]


@pytest.mark.parametrize(
    ("model", "name", "at"),
    [
        (carrier, "bob", {"length": 0.3, "mass": 0.2, "free": 0.3}),
        (lambda **v: carrier(friction=0.0, **v), "bob", {"length": 0.3, "mass": 0.2}),
        (pushed, "ball", {"force": 3.0, "mass": 2.0}),
    ],
    ids=["rests", "slides without friction", "ball"],
)
def test_derivatives_are_those_of_simulations_with_the_contact(model, name, at):
    found = adjoint_gradient(model, at, 0.3, along(name), step=STEP, over="final")
    other = direct_gradient(model, at, 0.3, step=STEP, measure=lambda r: {"result": r.position(name)[-1, 0]})
    for k, (key, value) in enumerate(at.items()):
        small = 1e-4 * value
        ends = [
            flexmb.simulate(model(**{**at, key: value + sign * small}), 0.3, step=STEP).position(name)[-1, 0]
            for sign in (-1, 1)
        ]
        difference = (ends[1] - ends[0]) / (2 * small)
        assert found.derivatives["result"][k] == pytest.approx(difference, rel=1e-6, abs=1e-6)
        assert other.derivatives["result"][k] == pytest.approx(difference, rel=1e-6, abs=1e-6)


def test_switches_are_refused_with_the_contact_and_the_time():
    with pytest.raises(StudyError, match=r"contact 'floor' has an impact at t = 0\.04[45]"):
        adjoint_gradient(lambda length: carrier(length, height=0.01), {"length": 0.3}, 0.1, along("bob"), step=STEP)
    with pytest.raises(StudyError, match="turns while more points slide than carry it"):
        adjoint_gradient(lambda length: carrier(length, friction=1e-3), {"length": 0.3}, 0.1, along("bob"), step=STEP)
    flying = lambda length: carrier(length, height=1.0)  # noqa: E731 - apart throughout
    assert np.isfinite(adjoint_gradient(flying, {"length": 0.3}, 0.1, along("bob"), step=STEP).derivatives["result"])


def test_what_slides_back_is_refused():
    """A stiff spring draws a box that hardly rubs to and fro: it is at rest for an instant, at which friction turns.
    Another box, whose states of contact come first, stays at rest."""

    def sprung(stiffness):
        system = flexmb.System(gravity=(0, 0, -G))
        floor = Plane().on(system.ground.at((0, 0, 0)))
        still = system.add(flexmb.rigid_body("still", mass=2.0, inertia=(0.02,) * 3), position=(0.3, 1.0, 0.1))
        system.contact("other", floor, Box(0.4, 0.4, 0.2).on(still.at((0, 0, 0))), friction=0.05)
        box = system.add(flexmb.rigid_body("box", mass=2.0, inertia=(0.02,) * 3), position=(0.3, 0, 0.1))
        system.contact("floor", floor, Box(0.4, 0.4, 0.2).on(box.at((0, 0, 0))), friction=0.05)
        place = system.ground.at((-1, 0, 0.1))
        system.spring_damper("spring", place, box.at((0, 0, 0)), stiffness=stiffness, length=1.0)
        return system

    back = np.pi / np.sqrt(200.0 / 2.0)  # half a period, which friction does not change
    with pytest.raises(StudyError, match=r"contact 'floor' slides back at t = 0\.31[4-8]\."):
        adjoint_gradient(sprung, {"stiffness": 200.0}, 1.2 * back, along("box"), step=STEP)
    before = adjoint_gradient(sprung, {"stiffness": 200.0}, 0.8 * back, along("box"), step=STEP, over="final")
    assert np.isfinite(before.derivatives["result"]).all()


def test_points_that_are_no_joints_are_refused():
    def hanging(mass):
        system = pushed(mass=mass)
        ball = system.add(flexmb.rigid_body("other", mass=1.0, inertia=(0.01,) * 3), position=(1.0, 0, 0.2))
        post = Sphere(0.1).on(system.ground.at((1.0, 0, 0)))
        system.contact("post", post, Sphere(0.1).on(ball.at((0, 0, 0))), friction=0.5)
        return system

    with pytest.raises(MechanismError, match=r"'post' of a sphere and a sphere touches.* moves on both"):
        direct_gradient(hanging, {"mass": 2.0}, 0.01, step=STEP)

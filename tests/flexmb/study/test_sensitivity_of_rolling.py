"""Derivatives with joints that restrict velocities: adjoint and direct method agree with differences of the motion."""

import numpy as np
import pytest
from sensitivities import assert_agrees, at_the_end

import flexmb
from flexmb.study import adjoint_gradient, direct_gradient, gradient

AT = {"theta": 1.1, "p": 3.0, "n": -2.0, "tilting": 0.3, "mass": 1.5, "radius": 0.5, "stiffness": 40.0, "edge": 0.2}


def toys(theta, p, n, tilting, mass, radius, stiffness, edge):
    """A disc that rolls and wobbles, a ball that rolls, both on a turntable, and a sled on a knife edge; springs join
    them."""
    s, c = np.sin(theta), np.cos(theta)
    B, w = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]), np.array([tilting, p * s, n])
    system = flexmb.System(gravity=(0, 0, -9.81))
    table = system.add(flexmb.rigid_body("table", mass=20.0, inertia=(3.0, 3.0, 5.0)))
    system.revolute("bearing", system.ground, table, axis=(0, 0, 1), at=(0, 0, 0))
    disc = flexmb.rigid_body(
        "disc", mass=mass, inertia=mass * np.diag([0.06, 0.07, 0.12]), points={"rim": (0.1, 0, 0.05)}
    )
    disc = system.add(
        disc, position=radius * B[:, 1], orientation=B, angular_velocity=B @ w, velocity=B @ np.cross(w, [0, radius, 0])
    )
    system.rolling("disc contact", table, disc.at((0, 0, 0)), radius=radius, axis=B[:, 2])
    spin = np.array([1.0, 2.0, 0.5])
    ball = flexmb.rigid_body("ball", mass=0.7, inertia=(0.02, 0.03, 0.025), points={"off": (0.05, 0, 0.1)})
    ball = system.add(ball, position=(0.8, 0.2, 0.3), angular_velocity=spin, velocity=np.cross(spin, (0, 0, 0.3)))
    system.rolling("ball contact", table, ball.at((0, 0, 0)), radius=0.3)
    sled = flexmb.rigid_body("sled", mass=1.0, inertia=(0.1, 0.1, 0.1), points={"hook": (0.1, 0.1, 0.1)})
    turn = np.array([0, 0, 0.7])
    sled = system.add(
        sled, position=(0, 1.0, 0), angular_velocity=turn, velocity=np.array([0.5, 0, 0]) - np.cross(turn, (edge, 0, 0))
    )
    system.planar("floor", system.ground, sled, normal=(0, 0, 1), at=(0, 1.0, 0))
    system.knife_edge("edge", system.ground, sled, heading=(1, 0, 0), at=(edge, 1.0, 0))
    system.spring_damper("band", disc["rim"], ball["off"], stiffness=stiffness, damping=0.5)
    system.spring_damper("rope", ball["off"], sled["hook"], stiffness=stiffness, damping=0.5)
    return system


SERIES = {
    "disc": lambda r: r.position("disc.rim")[:, 0],
    "ball": lambda r: r.position("ball.off")[:, 1],
    "sled": lambda r: r.velocity("sled.hook")[:, 1],
    "table": lambda r: r.w[:, 5],
    "force": lambda r: r.reaction("disc contact")[:, 1],
}
OPTIONS = {"step": 1e-3, "output_step": 1e-3, "newton_tolerance": 1e-11}


KEPT = {"force": slice(1, 5)}
"""Parameters that move joints act on reactions by rounding over the square of the step."""


@pytest.fixture(scope="module")
def expected():
    """By extrapolated differences of simulations."""
    options = OPTIONS | {"newton_tolerance": 1e-13}
    return gradient(toys, AT, 0.15, measure=at_the_end(SERIES), relative_step=1e-2, threads=True, **options)


@pytest.mark.long
@pytest.mark.parametrize("name", SERIES)
def test_the_adjoint_of_rolling_gives_the_derivatives_of_the_simulation(expected, name):
    found = adjoint_gradient(toys, AT, 0.15, SERIES[name], over="final", **OPTIONS)
    assert_agrees(found.of("result"), expected, name, AT, KEPT.get(name, slice(None)))


@pytest.mark.long
def test_the_direct_method_gives_them_all(expected):
    found = direct_gradient(toys, AT, 0.15, measure=at_the_end(SERIES), **OPTIONS)
    for name in SERIES:
        assert_agrees(found.of(name), expected, name, AT, KEPT.get(name, slice(None)))


def test_adjoint_and_direct_method_agree_on_a_short_motion():
    at = {"p": 3.0, "mass": 1.5, "edge": 0.2}
    rest = {name: value for name, value in AT.items() if name not in at}

    def model(**values):
        return toys(**values, **rest)

    back = adjoint_gradient(model, at, 0.02, SERIES["table"], over="final", **OPTIONS).of("result")
    forth = direct_gradient(model, at, 0.02, measure=lambda r: {"x": float(SERIES["table"](r)[-1])}, **OPTIONS).of("x")
    assert back == pytest.approx(forth, rel=0, abs=1e-7 * np.abs(forth).max())

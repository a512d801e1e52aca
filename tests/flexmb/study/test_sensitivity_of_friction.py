"""Derivatives of motions with dry friction: exact contacts and joints that slide or stick throughout."""

import numpy as np
import pytest
from mechanisms import random_flexible_body
from typer.testing import CliRunner

import flexmb
from flexmb.cli.main import app
from flexmb.contact import Box, Cylinder, Plane, Sphere
from flexmb.errors import StudyError
from flexmb.study import adjoint_gradient, direct_gradient

pytestmark = pytest.mark.filterwarnings("ignore::flexmb.RedundantConstraintWarning")
G, STEP = 9.81, 1e-3


def floor(system, shape, friction, normal=(0, 0, 1)):
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0)), axis=normal), shape, friction=friction)


def block(angle=0.5, mu=0.3, speed=0.4):
    """A box that slides down a slope."""
    system = flexmb.System(gravity=(0, 0, -G))
    normal, down = np.array([np.sin(angle), 0, np.cos(angle)]), np.array([np.cos(angle), 0, -np.sin(angle)])
    body = flexmb.rigid_body("body", mass=2.0, inertia=(0.01, 0.02, 0.03))
    body = system.add(body, position=0.05 * normal, orientation=(0, angle, 0), velocity=speed * down)
    floor(system, Box(0.2, 0.2, 0.1).on(body.at((0, 0, 0))), mu, normal)
    return system


def ball(mu=0.2, radius=0.1, speed=2.0, spin=3.0):
    """A ball that slides and spins, so that its slip turns."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = flexmb.rigid_body("body", mass=2.0, inertia=(0.008,) * 3)
    body = system.add(body, position=(0, 0, radius), velocity=(speed, 0.5, 0), angular_velocity=(spin, 0, 5.0))
    floor(system, Sphere(radius).on(body.at((0, 0, 0))), mu)
    return system


def disc(mu=0.2, radius=0.1, tilt=0.2, speed=2.0):
    """A disc that slides on its rim and falls over."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = flexmb.rigid_body("body", mass=2.0, inertia=(0.005, 0.005, 0.01))
    height = radius * np.cos(tilt) + 0.005 * np.sin(tilt)
    turned = {"orientation": (np.pi / 2 + tilt, 0, 0), "angular_velocity": (0, 1.0, 2.0)}
    body = system.add(body, position=(0, 0, height), velocity=(speed, 0.3, 0), **turned)
    floor(system, Cylinder(radius, 0.01).on(body.at((0, 0, 0))), mu)
    return system


def rolling(radius=0.1, tilt=0.2, speed=2.0):
    """A disc that rolls on its rim."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = flexmb.rigid_body("body", mass=2.0, inertia=(0.005, 0.005, 0.01))
    height = radius * np.cos(tilt) + 0.005 * np.sin(tilt)
    spin = speed / radius * np.array([0, -np.cos(tilt), -np.sin(tilt)])
    turned = {"orientation": (np.pi / 2 + tilt, 0, 0), "angular_velocity": spin}
    body = system.add(body, position=(0, 0, height), velocity=(-speed, 0, 0), **turned)
    floor(system, Cylinder(radius, 0.01).on(body.at((0, 0, 0))), 5.0)
    return system


def spun(radius=0.01, mu=0.2, mass=1.0):
    """A wheel whose bearing has exact friction, which depends on the weight and on the centrifugal force."""
    system = flexmb.System(gravity=(0, -G, 0))
    wheel = flexmb.rigid_body("body", mass=mass, inertia=(0.01, 0.01, 0.02))
    wheel = system.add(wheel, position=(0.02, 0, 0), angular_velocity=(0, 0, 10.0))
    system.revolute("bearing", system.ground, wheel, axis=(0, 0, 1), at=(0, 0, 0))
    system.friction("rubbing", "bearing", coefficient=mu, radius=radius)
    return system


def sleeve(radius=0.02, mu=0.2, regularised=0.05):
    """A sleeve on a shaft that turns and slides, with regularised friction."""
    system = flexmb.System(gravity=(0, -G, -1.0))
    body = flexmb.rigid_body("body", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
    body = system.add(body, position=(0.01, 0, 0), velocity=(0, 0, 0.1), angular_velocity=(0, 0, 4.0))
    system.cylindrical("shaft", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    system.friction("rubbing", "shaft", coefficient=mu, radius=radius, regularised=regularised)
    return system


def flexible(mu=0.2, speed=1.0, damping=0.5):
    """A flexible body with balls at its interfaces that slides and vibrates."""
    system = flexmb.System(gravity=(0, 0, -G))
    own = random_flexible_body(np.random.default_rng(3), name="body", damping=damping, stiffness=(3000.0, 9000.0))
    body = system.add(own, position=(0, 0, 0.1), velocity=(speed, 0.3, 0), angular_velocity=(0, 0, 1.0))
    plane = Plane().on(system.ground.at((0, 0, 0)))
    for name in ("start", "end"):
        system.contact(name, plane, Sphere(0.1).on(body[name]), friction=mu)
    return system


def moved(result):
    """A number of the motion in which all directions have a part."""
    return result.position("body") @ [1.0, 0.7, 0.3]


CASES = {
    "block": (block, {"angle": 0.5, "mu": 0.3, "speed": 0.4}),
    "block from rest": (lambda **v: block(speed=0.0, **v), {"angle": 0.5, "mu": 0.3}),
    "ball": (ball, {"mu": 0.2, "radius": 0.1, "speed": 2.0, "spin": 3.0}),
    "disc": (disc, {"mu": 0.2, "radius": 0.1, "tilt": 0.2, "speed": 2.0}),
    "rolling disc": (rolling, {"radius": 0.1, "tilt": 0.2, "speed": 2.0}),
    "flexible": (flexible, {"mu": 0.2, "speed": 1.0, "damping": 0.5}),
    "bearing": (spun, {"radius": 0.01, "mu": 0.2, "mass": 1.0}),
    "regularised": (sleeve, {"radius": 0.02, "mu": 0.2, "regularised": 0.05}),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_simulations(name):
    model, at = CASES[name]
    found = adjoint_gradient(model, at, 0.06, moved, step=STEP, over="final").derivatives["result"]
    other = direct_gradient(model, at, 0.06, step=STEP, measure=lambda r: {"result": moved(r)[-1]})
    scale = np.array(list(at.values()))
    known = np.array([_difference(model, at, key) for key in at]) * scale
    assert found * scale == pytest.approx(known, abs=1e-6 * np.abs(known).max())
    assert other.derivatives["result"] * scale == pytest.approx(known, abs=1e-6 * np.abs(known).max())


def _difference(model, at, key):
    """The derivative by differences of the fourth order of simulations."""

    def end(part):
        changed = model(**{**at, key: at[key] * (1 + 1e-3 * part)})
        return moved(flexmb.simulate(changed, 0.06, step=STEP))[-1]

    return (8 * (end(0.5) - end(-0.5)) - (end(1.0) - end(-1.0))) / (6e-3 * at[key])


def test_switches_of_friction_are_refused_with_the_name_and_the_time():
    with pytest.raises(StudyError, match=r"contact 'floor' begins or ceases to slide at t = 0\.0"):
        adjoint_gradient(lambda mu: block(0.2, mu, 0.1), {"mu": 0.5}, 0.1, moved, step=STEP)
    stops = lambda mu: spun(mu=mu, radius=0.1)  # noqa: E731
    with pytest.raises(StudyError, match=r"'rubbing sticks' happens at t = "):
        adjoint_gradient(stops, {"mu": 2.0}, 0.5, moved, step=STEP)


def test_the_command_line_differentiates_forces_of_points(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ball.toml").write_text("""
gravity = [0, 0, -9.81]
simulation = { duration = 0.02, step = 1e-3 }
bodies.ball = { kind = "rigid", mass = 2, inertia = [8e-3, 8e-3, 8e-3], position = [0, 0, 0.1], velocity = [2, 0, 0] }
[[contacts]]
name = "floor"
a = { place = "ground", shape = "plane" }
b = { place = "ball", shape = "sphere", radius = 0.1 }
friction = 0.2
""")
    words = ["sensitivity", "ball.toml", "--by", "bodies.ball.mass", "--by", "contacts.floor.friction"]
    done = CliRunner().invoke(app, [*words, "--of", "force in floor.0"])
    assert done.exit_code == 0, done.output
    line = next(x for x in done.output.splitlines() if x.startswith("force in floor.0"))
    weight, friction = map(float, line.split()[-2:])
    assert weight == pytest.approx(G, rel=1e-4)
    assert abs(friction) < 1e-6
    wrong = CliRunner().invoke(app, [*words, "--of", "force in roof"])
    assert "force in floor.0" in str(wrong.exception)

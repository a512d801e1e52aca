"""Regularised friction in joints: closed forms of bodies with a constant load, and independent integration.

A sliding velocity u with u' = -b tanh(u/e) falls as sinh(u/e) = sinh(u0/e) exp(-b t/e).
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmb
from flexmb.contact import Box, Plane, Sphere
from flexmb.equations.evaluation import Equations
from flexmb.errors import FrictionWarning, MechanismError
from flexmb.files import load_model, load_result, save_result
from flexmb.kernels.calls import friction_change
from flexmb.study import adjoint_gradient

G = 9.81
MASS, INERTIA, RADIUS, MU = 2.0, 0.05, 0.03, 0.2
SPIN = np.array([3.0, -1.0, 2.0])


def ball(regularised):
    """A ball in a socket under its weight; its friction has a constant moment of 0.2 * 0.03 * 2 g."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("ball", mass=MASS, inertia=(INERTIA,) * 3), angular_velocity=SPIN)
    system.spherical("socket", system.ground.at((0, 0, 0)), body)
    system.friction("rub", "socket", MU, radius=RADIUS, regularised=regularised)
    return system


def sleeve(inertia, regularised=0.05, radius=0.1, span=None):
    """A sleeve that slides and turns on a horizontal shaft."""
    system = flexmb.System(gravity=(0, -G, 0))
    body = system.add(
        flexmb.rigid_body("sleeve", mass=MASS, inertia=(1.0, 1.0, inertia)),
        velocity=(0, 0, 1.5),
        angular_velocity=(0, 0, 20.0),
    )
    system.cylindrical("shaft", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    system.friction("rub", "shaft", MU, radius=radius, regularised=regularised, span=span)
    return system


def falling(u0, deceleration, e, t):
    return e * np.arcsinh(np.sinh(u0 / e) * np.exp(-deceleration * t / e))


METHODS = [
    ("generalised-alpha", {"step": 2e-3}, 1e-5),
    ("hht", {"step": 2e-3}, 1e-5),
    ("generalised-alpha", {"tolerance": 1e-7}, 1e-5),
    ("radau", {"tolerance": 1e-8}, 1e-6),
    ("bdf", {"tolerance": 1e-8}, 1e-5),
    ("explicit", {"tolerance": 1e-8}, 1e-6),
]


@pytest.mark.parametrize(("method", "options", "accuracy"), METHODS)
def test_a_spinning_ball_comes_to_rest_with_a_constant_moment(method, options, accuracy):
    result = flexmb.simulate(ball(0.1), 1.9, method=method, output_step=0.1, **options)
    u0, deceleration = np.linalg.norm(SPIN), MU * RADIUS * MASS * G / INERTIA
    expected = falling(u0, deceleration, 0.1, result.t)[:, None] * SPIN / u0
    assert result.w[:, 3:] == pytest.approx(expected, abs=accuracy * u0)
    assert result.ledger.damper_heat[-1] == pytest.approx(0.5 * INERTIA * u0**2, rel=1e-4)
    assert np.abs(result.ledger.residual).max() < 1e-5 * result.ledger.exchange


def test_the_ball_stops_at_the_time_of_exact_friction():
    """The regularising velocity is 1/40,000 of the spin; each step finds the friction in two corrections."""
    stop = np.linalg.norm(SPIN) * INERTIA / (MU * RADIUS * MASS * G)
    result = flexmb.simulate(ball(1e-4), 2.0, step=5e-3, output_step=5e-3)
    speed = np.linalg.norm(result.w[:, 3:], axis=1)
    moving = result.t < stop - 0.01
    assert speed[moving] == pytest.approx(np.linalg.norm(SPIN) * (1 - result.t[moving] / stop), abs=1e-9)
    assert speed[result.t > stop + 0.01].max() < 1e-4
    assert result.statistics.iterations / result.statistics.steps < 2.1
    spoken = result.force("rub")[:, 3:]
    assert np.linalg.norm(spoken[moving], axis=1) == pytest.approx(MU * RADIUS * MASS * G, rel=1e-9)
    assert result.energy_by_element()["rub"].heat[-1] == pytest.approx(0.5 * INERTIA * SPIN @ SPIN, rel=1e-4)


def test_a_sleeve_with_the_inertia_of_a_hoop_slides_along_a_straight_line():
    """With J = m R^2, translation and rotation slow down alike: |u|' = -mu g, with u = (v, R omega)."""
    result = flexmb.simulate(sleeve(MASS * 0.01), 1.5, step=2e-3, output_step=0.1)
    u0 = np.hypot(1.5, 2.0)
    expected = falling(u0, MU * G, 0.05, result.t)
    assert result.coordinate_rate("shaft", "translation") == pytest.approx(0.6 * expected, abs=2e-6)
    assert result.coordinate_rate("shaft", "rotation") == pytest.approx(8.0 * expected, abs=2e-5)
    assert result.effort("rub", "translation z")[0] == pytest.approx(-0.6 * MU * MASS * G)
    assert result.effort("rub", "rotation")[0] == pytest.approx(-0.8 * 0.1 * MU * MASS * G)


@pytest.mark.parametrize(("method", "options", "accuracy"), METHODS[:1] + METHODS[3:6])
def test_another_sleeve_follows_an_independent_integration(method, options, accuracy):
    inertia, e, radius = 0.004, 0.05, 0.1

    def rates(t, y):
        u = np.array([y[0], radius * y[1]])
        size = np.hypot(*u)
        force = -MU * MASS * G * np.tanh(size / e) * u / size
        return [force[0] / MASS, radius * force[1] / inertia]

    found = solve_ivp(rates, (0, 0.6), [1.5, 20.0], rtol=1e-11, atol=1e-12, method="Radau", t_eval=[0.3, 0.6]).y
    result = flexmb.simulate(sleeve(inertia), 0.6, method=method, output_step=0.3, **options)
    assert result.coordinate_rate("shaft", "translation")[1:] == pytest.approx(found[0], rel=10 * accuracy)
    assert result.coordinate_rate("shaft", "rotation")[1:] == pytest.approx(found[1], rel=10 * accuracy, abs=2e-3)


def test_regularised_friction_of_other_joints_approaches_the_exact_one():
    way = {}
    for regularised in (1e-2, 1e-3):
        system = flexmb.System(gravity=(0, -G, 0))
        rotor = system.add(flexmb.rigid_body("rotor", mass=2.0, inertia=(0.05,) * 3))
        system.revolute("pin", system.ground.at((0, 0, 0)), rotor, axis=(0, 0, 1))
        system.set_speed("pin", 6.0)
        system.friction("bearing", "pin", 0.2, radius=0.02, regularised=regularised)
        block = system.add(flexmb.rigid_body("block", mass=3.0, inertia=(0.1,) * 3), velocity=(2.0, 0, 0))
        system.prismatic("guide", system.ground.at((0, 0, 0)), block, axis=(1, 0, 0))
        system.friction("rail", "guide", 0.3, regularised=regularised)
        result = flexmb.simulate(system, 5.0, step=5e-3)
        way[regularised] = np.array([result.coordinate("pin")[-1], result.coordinate("guide")[-1]])
    exact = [0.5 * 6**2 / (0.2 * 0.02 * 2 * G / 0.05), 0.5 * 2**2 / (0.3 * G)]
    assert (np.abs(way[1e-3] - exact) < 0.2 * np.abs(way[1e-2] - exact)).all()


def test_a_span_of_a_sleeve_carries_moments():
    """Its weight at 0.4 beside the sleeve loads the bearings at +-0.1 with m g (1/2 +- 2)."""
    system = flexmb.System(gravity=(0, -G, 0))
    body = system.add(
        flexmb.rigid_body("sleeve", mass=MASS, inertia=(1.0,) * 3), position=(0, 0, 0.4), velocity=(0, 0, 1.5)
    )
    system.cylindrical("shaft", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1), at=(0, 0, 0))
    system.friction("rub", "shaft", MU, radius=0.1, span=0.2, regularised=0.01)
    result = flexmb.simulate(system, 0.01, step=1e-3)
    assert result.effort("rub", "translation")[0] == pytest.approx(-MU * MASS * G * (2.5 + 1.5), rel=1e-9)


@pytest.mark.parametrize(
    ("joint", "options"),
    [
        ("spherical", {"radius": RADIUS}),
        ("cylindrical", {"radius": 0.1, "span": 0.2}),
        ("revolute", {"radius": 0.1, "axial_radius": 0.3, "span": 0.2}),
    ],
)
def test_the_change_of_the_largest_effort_is_its_derivative(joint, options):
    """By differences of fourth order, for changes of each multiplier of the joint and signs of all of them."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=MASS, inertia=(INERTIA,) * 3))
    system.joint(joint, "joint", system.ground.at((0, 0, 0)), body)
    system.friction("rub", "joint", MU, regularised=0.1, **options)
    mechanism = system.build()
    e, rng = Equations(mechanism, mechanism.initial.q), np.random.default_rng(2)
    count = e.flat.joint_rows
    for _ in range(4):
        multipliers, h = rng.choice((-1.0, 1.0), count) * rng.uniform(1.0, 2.0, count), 1e-3
        for change in np.eye(count):

            def bound(s, at=multipliers, along=change):
                return e.friction_bounds(at + s * along)[0]

            expected = (8 * (bound(h) - bound(-h)) - (bound(2 * h) - bound(-2 * h))) / (12 * h)
            found = friction_change(e.flat, 0, multipliers, change)
            assert found == pytest.approx(expected, rel=0, abs=1e-9 * MU)


def test_files_keep_it(tmp_path):
    result = flexmb.simulate(sleeve(0.02), 0.1, step=1e-3, output_step=0.01)
    again = load_result(save_result(result, tmp_path / "sleeve.h5"))
    assert again.mechanism.frictions == result.mechanism.frictions
    assert again.force("rub") == pytest.approx(result.force("rub"))
    (tmp_path / "model.toml").write_text(
        """
gravity = [0.0, 0.0, -9.81]
simulation = { duration = 1.0 }
[bodies.ball]
kind = "rigid"
mass = 2.0
inertia = [0.05, 0.05, 0.05]
[[joints]]
name = "socket"
kind = "spherical"
a = "ground"
b = "ball"
at = [0.0, 0.0, 0.0]
[[frictions]]
name = "rub"
joint = "socket"
coefficient = 0.2
radius = 0.03
regularised = 0.1
"""
    )
    assert load_model(tmp_path / "model.toml").system.build().frictions == ball(0.1).build().frictions


def test_a_simulation_continues():
    whole = flexmb.simulate(ball(0.1), 1.0, step=5e-3, output_step=0.5)
    rest = flexmb.simulate(ball(0.1), 0.5, step=5e-3, initial_state=whole.state(1))
    assert rest.w[-1] == pytest.approx(whole.w[-1], abs=1e-5)


@pytest.mark.parametrize(
    ("joint", "options", "match"),
    [
        ("cylindrical", {"radius": 0.0}, "a positive one of its sleeve"),
        ("cylindrical", {"radius": 0.1, "axial_radius": 0.1, "regularised": 0.1}, "only a revolute joint"),
        ("spherical", {"regularised": 0.1}, "needs the radius"),
        ("spherical", {"radius": 0.1, "span": 0.1, "regularised": 0.1}, "a spherical joint has no span"),
        ("spherical", {"radius": 0.1, "regularised": 0.0}, "regularised must be positive"),
        ("revolute", {"radius": 0.1, "regularised": 0.1, "static": 0.3}, "Omit one of them"),
        ("universal", {"radius": 0.1, "regularised": 0.1}, "'universal', for which there is no law of friction"),
    ],
)
def test_what_cannot_be_is_refused(joint, options, match):
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1.0,) * 3))
    system.joint(joint, "joint", system.ground.at((0, 0, 0)), body)
    with pytest.raises(MechanismError, match=match):
        system.friction("rub", "joint", 0.2, **options)


@pytest.mark.parametrize(
    ("method", "options", "match"),
    [
        ("energy-momentum", {"step": 1e-2}, "The method 'energy-momentum'"),
        ("explicit", {"coordinates": "joint"}, "The explicit method in joint coordinates"),
    ],
)
def test_methods_without_reactions_refuse_it(method, options, match):
    with pytest.raises(MechanismError, match=match + " does not include regularised friction.*'rub'"):
        flexmb.simulate(ball(0.1), 1.0, method=method, **options)


@pytest.mark.parametrize(("method", "options", "accuracy"), METHODS)
def test_a_joint_of_bodies_that_fall_together_does_not_rub(method, options, accuracy):
    """Its reaction is round-off, which is no friction that jams."""
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("body", mass=4.0, inertia=(0.05,) * 3), position=(0, 0, 0.7))
    shank = system.add(
        flexmb.rigid_body("shank", mass=1.0, inertia=(0.01,) * 3), position=(0.1, 0, 0.4), orientation=(0, -0.3, 0)
    )
    system.revolute("knee", body, shank, axis=(0, 1, 0), at=(0.05, 0, 0.6))
    system.friction("rub", "knee", 0.2, radius=0.04, regularised=0.5)
    fall = flexmb.simulate(system, 0.1, method=method, **options)
    assert abs(fall.coordinate("knee")[-1]) < 1e-12
    assert fall.position("body")[-1, 2] == pytest.approx(0.7 - 0.5 * G * 0.1**2, rel=accuracy)


@pytest.mark.parametrize("mu", [0.0, 0.3, 0.8])
def test_friction_of_a_guide_by_the_force_of_an_exact_contact(mu):
    """A body in a vertical guide presses a wedge aside. With the acceleration A of the wedge of mass M, the contact has
    the normal force N = M A / sin a, the guide the reaction N sin a and the friction mu N sin a, so that
    A (m tan a + M (cot a + mu)) = m g."""
    a, m, wedge_mass, duration = 0.6, 2.0, 3.0, 0.1
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("body", mass=m, inertia=(0.02,) * 3))
    wedge = system.add(flexmb.rigid_body("wedge", mass=wedge_mass, inertia=(0.05,) * 3), position=(0, 0, -0.1))
    system.prismatic("guide", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    system.prismatic("rail", system.ground, wedge, axis=(1, 0, 0), at=(0, 0, -0.1))
    system.friction("rub", "guide", mu, regularised=1e-5)
    normal = np.array([-np.sin(a), 0.0, np.cos(a)])
    flank = Plane().on(wedge.at((0, 0, 0.1) - 0.05 * normal), axis=normal)
    system.contact("flank", flank, Sphere(0.05).on(body.at((0, 0, 0))))
    pressed = flexmb.simulate(system, duration, step=1e-3)
    acceleration = m * G / (m * np.tan(a) + wedge_mass * (1 / np.tan(a) + mu))
    assert pressed.coordinate("rail")[-1] == pytest.approx(0.5 * acceleration * duration**2, rel=1e-9)
    assert pressed.contact("flank").normal_force[-1] == pytest.approx(wedge_mass * acceleration / np.sin(a), rel=1e-6)


def arm(contact=True, mu=0.3, mass=1.0):
    """An arm that falls on the hinge of a foot, which stands on the ground or is welded to it."""
    system = flexmb.System(gravity=(0, 0, -G))
    foot = system.add(flexmb.rigid_body("foot", mass=5.0, inertia=(0.05,) * 3), position=(0, 0, 0.05))
    held = system.add(flexmb.rigid_body("arm", mass=mass, inertia=(0.02,) * 3), position=(0.2, 0, 0.2))
    system.revolute("hinge", foot, held, axis=(0, 1, 0), at=(0, 0, 0.2))
    system.friction("rub", "hinge", mu, radius=0.03, regularised=0.3)
    if contact:
        own = Box(0.6, 0.3, 0.1).on(foot.at((0, 0, 0)))
        system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), own, friction=0.9)
    else:
        system.fixed("weld", system.ground, foot, at=(0, 0, 0.05))
    return system


@pytest.mark.filterwarnings("ignore::flexmb.RedundantConstraintWarning")
def test_joints_of_a_body_that_stands_rub_as_those_of_one_that_is_welded():
    """The motions and their derivatives differ by errors of second order in the step."""
    motions, slopes = [], []
    for step in (1e-3, 5e-4):
        on_floor, welded = (flexmb.simulate(arm(contact), 0.2, step=step) for contact in (True, False))
        motions.append(on_floor.coordinate("hinge")[-1] - welded.coordinate("hinge")[-1])
        own, other = (
            adjoint_gradient(
                lambda mu, mass, contact=contact: arm(contact, mu, mass),
                {"mu": 0.3, "mass": 1.0},
                0.2,
                lambda r: r.coordinate("hinge"),
                over="final",
                step=step,
                newton_tolerance=1e-11,
            ).of("result")
            for contact in (True, False)
        )
        slopes.append(np.abs(own - other).max() / np.abs(other).max())
    assert abs(motions[0]) < 1e-4
    assert motions[0] / motions[1] == pytest.approx(4.0, rel=0.05)
    assert max(slopes) < 1e-5


@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_an_impact_of_a_contact_without_impulses_of_friction_is_announced(restitution):
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("body", mass=4.0, inertia=(0.05,) * 3), position=(0, 0, 0.06))
    held = system.add(flexmb.rigid_body("arm", mass=1.0, inertia=(0.02,) * 3), position=(0.2, 0, 0.06))
    system.revolute("hinge", body, held, axis=(0, 1, 0), at=(0, 0, 0.06))
    system.friction("rub", "hinge", 0.2, radius=0.04, regularised=0.5)
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("floor", floor, Sphere(0.05).on(body.at((0, 0, 0))), restitution=restitution)
    with pytest.warns(FrictionWarning, match=r"impact 'floor' .* the friction of 'rub' is not included.* a law= of"):
        flexmb.simulate(system, 0.06, step=1e-3)

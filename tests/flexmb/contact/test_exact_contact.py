"""Exact contacts: rest, sliding, bounces, impacts, momentum, joints, files, restart, refusals."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy
from model_files import model_of

import flexmb
from fem.errors import ConvergenceError
from flexmb.contact import Box, Cylinder, Plane, Sphere, power_law
from flexmb.contact.impacts import algebraic_impact, impact_at_point, impact_impulses
from flexmb.errors import (
    EnergyBalanceWarning,
    IntegratorError,
    MechanismError,
    ModelFileError,
    TunnellingWarning,
)
from flexmb.files import load_result, save_result
from flexmb.results.measure import measure

G = 9.81


def ball(height=0.1, restitution=0.5, friction=0.3, velocity=(0, 0, 0), impact="newton"):
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(
        flexmb.rigid_body("ball", mass=0.5, inertia=(0.002,) * 3), position=(0, 0, 0.1 + height), velocity=velocity
    )
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    own = Sphere(0.1).on(body.at((0, 0, 0)))
    system.contact("floor", floor, own, friction=friction, restitution=restitution, impact=impact)
    return system


def box(tilt=0.0, friction=0.3, gravity=(0, 0, -G)):
    system = flexmb.System(gravity=gravity)
    body = system.add(flexmb.rigid_body("box", mass=2.0, inertia=(0.1, 0.12, 0.15)), position=(0, 0, 0.1))
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, np.sin(tilt), np.cos(tilt)))
    system.contact("floor", floor, Box(0.4, 0.3, 0.2).on(body.at((0, 0, 0))), friction=friction)
    return system


def test_a_ball_bounces_by_its_restitution_and_rests():
    result = flexmb.simulate(ball(), 1.2, step=1e-3)
    fall = np.sqrt(2 * 0.1 / G)
    instants = fall + 2 * fall * np.cumsum([0, 0.5, 0.25, 0.125])
    assert np.allclose([e.t for e in result.happened[:4]], instants, rtol=1e-9)
    lost = [0.5 * G * 0.1 * 0.75 * 0.25**k for k in range(4)]
    assert np.allclose([e.lost for e in result.happened[:4]], lost, rtol=1e-9)
    contact = result.contact("floor")
    assert contact.normal_force[-1] == pytest.approx(0.5 * G, rel=1e-9)
    assert np.abs(result.velocity("ball")[-1]).max() < 1e-12
    assert contact.gap.min() > -1e-11
    assert result.ledger.imbalance < 1e-12
    assert result.force("floor")[-1, 2] == pytest.approx(0.5 * G, rel=1e-9)
    assert measure("force:floor:z")(result)[-1] == result.force("floor")[-1, 2]


def test_steps_between_stored_times_are_not_one_more_by_rounding():
    """0.3 - 0.2 is a little less than 0.1, and 0.4 - 0.3 a little more."""
    result = flexmb.simulate(box(gravity=(0, 0, 0)), 1.1, step=0.1, output_step=0.1)
    assert result.statistics.steps == 11
    assert result.statistics.smallest_step == pytest.approx(0.1, rel=1e-9)


def test_a_sliding_ball_begins_to_roll():
    result = flexmb.simulate(ball(height=0.0, velocity=(1.0, 0.5, 0)), 0.4, step=1e-3)
    inertia = 0.002 / (0.5 * 0.1**2)
    ends = np.hypot(1.0, 0.5) / (0.3 * G * (1 + 1 / inertia))
    assert np.allclose(result.velocity("ball")[-1, :2], np.array([1.0, 0.5]) / (1 + inertia), rtol=1e-6)
    slip = result.contact("floor").slip
    assert slip[result.t > ends + 0.01].max() < 1e-9 < 0.1 < slip[result.t < ends - 0.05].min()
    heat = result.energy_by_element()["floor"].heat[-1]
    assert heat == pytest.approx(0.5 * 0.5 * 1.25 * inertia / (1 + inertia), rel=1e-3)
    assert result.ledger.imbalance < 1e-5


def test_a_block_that_is_driven_to_and_fro_slides_back_at_once():
    """Its load exceeds its friction where its velocity vanishes: v' = a cos(w t) - mu g sign(v), piece by piece. A step
    in which it turns back is divided there, so that errors fall with the square of the step."""
    a, w, mu, v0, end = 8.0, 2 * np.pi * 2.0, 0.2, 0.1, 1.0
    t, x, v, turns = 0.0, 0.0, v0, 0
    while t < end:
        sign = np.sign(v) if v else np.sign(np.cos(w * t))

        def velocity(s, t=t, v=v, sign=sign):
            return v + a / w * (np.sin(w * s) - np.sin(w * t)) - sign * mu * G * (s - t)

        later = np.linspace(t, end, 4001)[1:]
        back = np.flatnonzero(sign * velocity(later) < 0)
        until = end
        if len(back):
            until = scipy.optimize.brentq(velocity, max(later[back[0]] - 1e-3, t + 1e-6), later[back[0]], xtol=1e-14)
            assert abs(a * np.cos(w * until)) > mu * G
            turns += 1
        s = until - t
        x += (
            v * s
            - a / w**2 * (np.cos(w * until) - np.cos(w * t))
            - a / w * np.sin(w * t) * s
            - sign * mu * G * s * s / 2
        )
        t, v = until, 0.0 if len(back) else velocity(end)
    system = flexmb.System(gravity=(0, 0, -G))
    body = flexmb.rigid_body("block", mass=2.0, inertia=(0.1, 0.12, 0.15))
    body = system.add(body, position=(0, 0, 0.1), velocity=(v0, 0, 0))
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    system.contact("floor", floor, Box(1.0, 0.3, 0.2).on(body.at((0, 0, 0))), friction=mu)
    pull = flexmb.time_functions.harmonic(1.0, 2.0, phase=np.pi / 2)
    system.load("pull", body.at((0, 0, 0)), force=(2.0 * a, 0, 0), factor=pull)
    results = [flexmb.simulate(system, end, step=step, output_step=0.1) for step in (4e-3, 2e-3)]
    errors = [np.hypot(r.position("block")[-1, 0] - x, r.velocity("block")[-1, 0] - v) for r in results]
    assert turns == 4
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.3)


def test_forces_of_redundant_corners_are_of_least_norm():
    result = flexmb.simulate(box(), 0.05, step=1e-3)
    states = result.element_states[-1].reshape(-1, 4)
    assert np.allclose(states[states[:, 0] > 0, 1], 2.0 * G / 4, rtol=1e-9)
    assert (states[:, 0] == 2).sum() == 4
    assert np.abs(result.q[-1] - result.q[0]).max() < 1e-12


def test_momentum_is_conserved_through_impacts_with_friction():
    system = flexmb.System(gravity=(0, 0, 0))
    rng, shapes = np.random.default_rng(3), []
    for k in range(4):
        body = flexmb.rigid_body(f"ball {k}", mass=1.0 + k, inertia=(0.004 * (1 + k),) * 3)
        at = (0.35 * k, 0.03 * k, 0.02 * k * k)
        spin = rng.standard_normal(3)
        handle = system.add(body, position=at, velocity=(1.0 - k, 0.1 * k, 0), angular_velocity=spin)
        shapes.append(Sphere(0.1).on(handle.at((0, 0, 0))))
    for k in range(4):
        for j in range(k):
            system.contact(f"{j} {k}", shapes[j], shapes[k], friction=0.4, restitution=0.7, impact="stronge")
    result = flexmb.simulate(system, 0.6, step=2e-3)
    assert len(result.happened) >= 3
    for momentum in (result.linear_momentum(), result.angular_momentum(about=(0, 0, 0))):
        assert np.abs(momentum - momentum[0]).max() < 1e-12 * np.abs(momentum[0]).max() + 1e-13
    assert np.diff(result.ledger.total).max() < 1e-12


def test_contacts_act_with_joints():
    """A rod on a hinge falls on the floor: the hinge and the tip share its weight."""
    system = flexmb.System(gravity=(0, 0, -G))
    rod = system.add(
        flexmb.rigid_body("rod", mass=3.0, inertia=(0.01, 0.25, 0.25)), position=(0.5, 0, 0.3), orientation=(0, 0, 0)
    )
    system.revolute("hinge", system.ground.at((0, 0, 0.3)), rod, axis=(0, 1, 0))
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    system.contact("tip", floor, Sphere(0.1).on(rod.at((0.5, 0, 0))), restitution=0.3)
    result = flexmb.simulate(system, 1.5, step=1e-3)
    lean = np.arcsin(0.2)
    assert np.arcsin(-result.q[-1, 5] * 2 * result.q[-1, 3]) == pytest.approx(-lean, abs=1e-9)
    assert result.force("tip")[-1, 2] == pytest.approx(0.5 * 3.0 * G, rel=1e-6)
    assert result.ledger.imbalance < 1e-4


@pytest.mark.long
def test_a_jointed_pair_tumbles_to_rest_through_hundreds_of_impacts():
    """A box and a cylinder on a ball joint, with a ball: an impact ends where a contact closes by rounding alone."""
    rng, system = np.random.default_rng(1), flexmb.System(gravity=(0, 0, -G))
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    wall = Plane().on(system.ground.at((-0.5, 0, 0)), axis=(1, 0, 0))
    bodies, shapes = [], []
    for k, shape in enumerate((Box(0.3, 0.2, 0.1), Cylinder(0.1, 0.3), Sphere(0.1))):
        body = system.add(
            flexmb.rigid_body(f"body {k}", mass=1.0 + k, inertia=(0.02, 0.03, 0.04)),
            position=(0.5 * k, 0.02 * k, 0.4 + 0.25 * k),
            orientation=rng.standard_normal(3),
            velocity=(-2, 0, 0),
            angular_velocity=3 * rng.standard_normal(3),
        )
        bodies.append(body)
        shapes.append(shape.on(body.at((0, 0, 0))))
        system.contact(f"floor {k}", floor, shapes[-1], friction=0.4, restitution=0.5, impact="poisson")
        system.contact(f"wall {k}", wall, shapes[-1], friction=0.4, restitution=0.5)
    for k in (0, 1):
        system.contact(f"ball {k}", shapes[2], shapes[k], friction=0.2, restitution=0.3)
    system.spherical("joint", bodies[0], bodies[1], at=(0.25, 0.01, 0.5))
    result = flexmb.simulate(system, 1.25, step=1e-3, output_step=0.05)
    assert min(result.contact(f"floor {k}").gap.min() for k in range(3)) > -1e-11
    assert result.ledger.imbalance < 1e-3


def test_a_run_goes_on_from_its_state_and_files_keep_it(tmp_path):
    system = ball(velocity=(0.5, 0, 0))
    whole = flexmb.simulate(system, 0.4, step=1e-3, output_step=1e-2)
    half = flexmb.simulate(system, 0.2, step=1e-3, output_step=1e-2)
    rest = flexmb.simulate(system, 0.2, step=1e-3, output_step=1e-2, initial_state=half)
    assert np.abs(rest.q[-1] - whole.q[-1]).max() < 1e-6
    loaded = load_result(save_result(whole, tmp_path / "ball.h5"))
    assert np.array_equal(loaded.contact("floor").force, whole.contact("floor").force)
    assert loaded.mechanism.contacts == whole.mechanism.contacts
    assert [e.event for e in loaded.happened] == [e.event for e in whole.happened]


def test_laws_of_impact_agree_without_friction_and_never_gain():
    rng = np.random.default_rng(5)
    for _ in range(20):
        A = rng.standard_normal((3, 3))
        W, u = A @ A.T + 0.1 * np.eye(3), rng.standard_normal(3)
        u[0] = -abs(u[0])
        e, mu = rng.uniform(0, 1), rng.uniform(0, 0.3)
        newton = impact_impulses(W, u, [0.0], [e], ["newton"])
        for law in ("poisson", "stronge"):
            assert np.allclose(impact_at_point(W, u, 0.0, e, law), newton, atol=1e-8 * np.abs(newton).max())
            p = impact_at_point(W, u, mu, e, law)
            assert p @ (u + 0.5 * W @ p) <= 1e-9
            assert np.linalg.norm(p[1:]) <= mu * p[0] * (1 + 1e-9)
        p = algebraic_impact(W, u, 0.0, e)
        assert np.allclose(p, newton, atol=1e-8 * np.abs(newton).max())


@pytest.mark.parametrize("law", ["poisson", "stronge"])
def test_impacts_of_points_give_back_no_more_than_was_taken(law):
    """A body hits two edges at once and rebounds from one of them only: with the friction between them, impulses of the
    expansion of `e` times those of the compression would add a third to its energy."""
    places, mu, e = [(0.8, -0.9, -0.5), (0.8, -0.6, -0.6)], [0.3, 0.3], 0.95
    rows = []
    for place, normal in zip(places, [(0.6, 0.4, 0.7), (-1.0, 0.0, 0.2)], strict=True):
        across = np.linalg.svd(np.array([normal]))[2]
        axes = np.vstack([normal / np.linalg.norm(normal), across[1:]])
        rows.append(np.hstack([axes, np.cross(place, axes)]))
    J, M = np.vstack(rows), np.diag([1.0, 1.0, 1.0, 0.4, 0.1, 0.5])
    W, u = J @ np.linalg.solve(M, J.T), J @ [1.5, -0.3, -0.1, 0.3, -1.2, -0.5]
    pressed, p = (impact_impulses(W, u, mu, [0.0, part], [law] * 2) for part in (0.0, e))
    taken, lost = (-r @ (u + 0.5 * W @ r) for r in (pressed, p))
    assert lost == pytest.approx((1 - e**2) * taken, rel=1e-9)
    assert (u + W @ p)[::3].min() > -1e-8
    assert (np.hypot(p[1::3], p[2::3]) <= 0.3 * p[::3] * (1 + 1e-9)).all()
    p = impact_impulses(W, u, mu, [e, e], [law] * 2)
    assert (p[::3] >= (1 + e) * pressed[::3] * (1 - 1e-9)).all()
    assert -p @ (u + 0.5 * W @ p) > (1 - e**2) * taken


@pytest.mark.parametrize("law", ["poisson", "stronge"])
def test_points_that_do_not_act_on_each_other_strike_at_once_as_alone(law):
    """Balls that slip throughout, stop, and stick. Friction that has stopped a slip does not turn it back."""
    W = [np.diag([a, b, b]) for a, b in ((1.0, 3.5), (0.5, 1.2), (2.0, 2.5))]
    before = np.array([(-1.0, 5.0, 2.0), (-2.0, 0.4, 0.3), (-1.0, 0.0, 0.0)])
    mu, e = [0.3, 0.4, 0.2], [0.6, 0.8, 0.5]
    alone = [impact_at_point(*x, law) for x in zip(W, before, mu, e, strict=True)]
    p = impact_impulses(scipy.linalg.block_diag(*W), before.ravel(), mu, e, [law] * 3)
    assert p == pytest.approx(np.concatenate(alone), abs=1e-8)
    slip = (before + np.array([own @ x for own, x in zip(W, p.reshape(-1, 3), strict=True)]))[:, 1:]
    assert slip[0] @ before[0, 1:] > 0.1
    assert np.abs(slip[1:]).max() < 1e-8


def test_impacts_at_a_point_do_not_depend_on_units():
    """An impact in which the point slips, sticks and expands, in units of mass and speed from 1e-18 to 1e12."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        A = rng.standard_normal((3, 3))
        W, u = A @ A.T + 0.1 * np.eye(3), rng.standard_normal(3)
        u[0] = -abs(u[0])
        for law in ("poisson", "stronge"):
            p = impact_at_point(W, u, 0.3, 0.6, law)
            for mass, speed in ((1e-18, 1.0), (1e12, 1.0), (1.0, 1e-9), (1e-12, 1e-6)):
                other = impact_at_point(W / mass, u * speed, 0.3, 0.6, law) / (mass * speed)
                assert np.allclose(other, p, rtol=0, atol=1e-8 * np.abs(p).max())


def test_drivers_work_in_impacts():
    """A wall that a function of time moves hits a ball: it gives the ball twice its speed, and the energy for it."""
    system = flexmb.System()
    wall = system.add(flexmb.rigid_body("wall", mass=1.0, inertia=(0.1,) * 3))
    system.prismatic("guide", system.ground.at((0, 0, 0)), wall.at((0, 0, 0)), axis=(0, 0, 1))
    system.drive("guide", flexmb.time_functions.constant_speed(0.7))
    ball = system.add(
        flexmb.rigid_body("ball", mass=2.0, inertia=(0.1,) * 3), position=(0, 0, 0.2), velocity=(0, 0, -1)
    )
    floor = Plane().on(wall.at((0, 0, 0)))
    system.contact("hit", floor, Sphere(0.1).on(ball.at((0, 0, 0))), restitution=0.8)
    result = flexmb.simulate(system, 0.2, step=1e-3)
    assert result.velocity("ball")[-1, 2] == pytest.approx(0.7 + 0.8 * 1.7, rel=1e-10)
    assert result.ledger.impacts[-1] == pytest.approx(0.5 * 2.0 * 1.7**2 * (1 - 0.8**2), rel=1e-10)
    assert result.ledger.imbalance < 1e-10


def on_plane(shape, mass, inertia, friction, **options):
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("body", mass=mass, inertia=inertia), **options)
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), shape.on(body.at((0, 0, 0))), friction=friction)
    return system


def test_an_upright_cylinder_spins_down():
    """The friction of its rim acts at four points, each with a quarter of the weight."""
    m, r, h = 1.0, 0.2, 0.02
    inertia = (m * (3 * r**2 + h**2) / 12,) * 2 + (m * r**2 / 2,)
    system = on_plane(Cylinder(r, h), m, inertia, 0.3, position=(0, 0, h / 2), angular_velocity=(0, 0, 10))
    result = flexmb.simulate(system, 0.4, step=1e-3)
    spin = np.maximum(10 - 0.3 * m * G * r / inertia[2] * result.t, 0.0)
    assert np.allclose(result.angular_velocity("body")[:, 2], spin, atol=1e-9)


def test_a_tilted_cylinder_rolls_on_its_rim():
    """A thin disc at 1.1 rad to the plane that circles at 3 rad/s (Routh): its tilt is constant, to second order."""
    theta, p, r = 1.1, 3.0, 0.5
    across, about, s, c = 0.25 * r**2, 0.5 * r**2, np.sin(theta), np.cos(theta)
    n = (across * p * p * s * c - G * r * c) / ((about + r**2) * p * s)
    axes, w = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]), np.array([0, p * s, n])
    moving = {"velocity": axes @ np.cross(w, [0, r, 0]), "angular_velocity": axes @ w}
    system = on_plane(
        Cylinder(r, 1e-6), 1.0, (across, across, about), 3.0, position=r * axes[:, 1], orientation=axes, **moving
    )
    errors = []
    for step in (4e-3, 2e-3):
        tilt = np.arccos(flexmb.simulate(system, 0.5, step=step).axes("body")[:, 2, 2])
        errors.append(np.abs(tilt - theta).max())
    assert errors[0] < 2e-4
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("ratio", [1e-3, 1.0, 1e3, 1e6])
def test_stacks_of_unequal_masses_carry_their_weight(ratio):
    system, shapes = flexmb.System(gravity=(0, 0, -G)), [Plane()]
    shapes[0] = shapes[0].on(system.ground.at((0, 0, 0)))
    for k, mass in enumerate((1.0, ratio)):
        body = flexmb.rigid_body(f"box {k}", mass=mass, inertia=(0.1 * mass,) * 3)
        shapes.append(Box(0.2, 0.2, 0.2).on(system.add(body, position=(0, 0, 0.1 + 0.2 * k)).at((0, 0, 0))))
        system.contact(f"pair {k}", *shapes[-2:], friction=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EnergyBalanceWarning)  # nothing moves: what is exchanged is rounding
        result = flexmb.simulate(system, 0.1, step=1e-2)
    for k, weight in enumerate((G * (1 + ratio), G * ratio)):
        assert np.allclose(result.contact(f"pair {k}").normal_force, weight, rtol=1e-5)


def test_driven_bodies_that_meet_are_named():
    system, shapes = flexmb.System(), []
    for k in range(2):
        body = system.add(flexmb.rigid_body(f"ball {k}", mass=1.0, inertia=(0.1,) * 3), position=(0, 0, float(k)))
        system.prismatic(f"guide {k}", system.ground.at((0, 0, k)), body.at((0, 0, 0)), axis=(0, 0, 1))
        system.drive(f"guide {k}", flexmb.time_functions.constant_speed(0.5 - k))
        shapes.append(Sphere(0.1).on(body.at((0, 0, 0))))
    system.contact("pair", *shapes)
    with pytest.raises(ConvergenceError, match=r"t = 0\.8 the bodies of the contact 'pair'.* meet with 1 \(speed\)"):
        flexmb.simulate(system, 1.0, step=1e-2)


def test_what_cannot_be_is_refused():
    system = ball()
    body = system.add(flexmb.rigid_body("other", mass=1.0, inertia=(0.01,) * 3), position=(0, 0, 1))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    other = Sphere(0.1).on(body.at((0, 0, 0)))
    for options, words in (
        ({"friction": (0.2, 0.3)}, "static"),
        ({"restitution": 1.2}, "at most 1"),
        ({"impact": "moreau"}, "impact is one of"),
        ({"friction": -0.1}, "number >= 0"),
        ({"slip_speed": 0.1}, "continuous"),
        ({"law": power_law(1e5), "restitution": 0.3}, "exact contact"),
    ):
        with pytest.raises(MechanismError, match=words):
            system.contact("second", floor, other, **options)
    with pytest.raises(MechanismError, match="taken"):
        system.contact("floor", floor, other)
    with pytest.raises(IntegratorError, match="fixed step"):
        flexmb.simulate(system, 0.1)
    with pytest.raises(MechanismError, match="does not include exact contacts"):
        flexmb.simulate(system, 0.1, method="radau", step=1e-3)
    with pytest.raises(MechanismError, match="does not include exact contacts"):
        flexmb.linear.steady_motion(system)
    with pytest.raises(MechanismError, match="begin inside each other"):
        flexmb.simulate(ball(height=-0.01), 0.1, step=1e-3)


def test_a_body_that_may_pass_through_another_is_named():
    system = flexmb.System()
    plate = system.add(flexmb.rigid_body("plate", mass=1.0, inertia=(0.1, 0.1, 0.2)))
    bullet = system.add(
        flexmb.rigid_body("bullet", mass=0.01, inertia=(1e-6,) * 3), position=(0, 0, -0.35), velocity=(0, 0, 100.0)
    )
    thin = Box(1.0, 1.0, 0.02).on(plate.at((0, 0, 0)))
    system.contact("hit", thin, Sphere(0.01).on(bullet.at((0, 0, 0))), restitution=0.5)
    with pytest.warns(TunnellingWarning, match="'bullet'.*'hit'.*at most 0.0001"):
        flexmb.simulate(system, 0.01, step=1e-3)
    result = flexmb.simulate(system, 0.01, step=1e-4)
    apart = result.velocity("plate")[-1, 2] - result.velocity("bullet")[-1, 2]
    assert apart == pytest.approx(50.0, rel=1e-9)


def test_bodies_that_travel_fast_beside_each_other_do_not_tunnel(recwarn):
    system, shapes = flexmb.System(gravity=(0, 0, 0)), []
    for k in range(2):
        body = flexmb.rigid_body(f"ball {k}", mass=1.0, inertia=(0.1,) * 3)
        shapes.append(Sphere(0.01).on(system.add(body, position=(0, k, 0), velocity=(100, 0, 0)).at((0, 0, 0))))
    system.contact("pair", *shapes)
    flexmb.simulate(system, 0.01, step=1e-3)
    assert not [w for w in recwarn if issubclass(w.category, TunnellingWarning)]


MODEL = """
gravity = [0.0, 0.0, -9.81]
simulation = { duration = 0.2, step = 1e-3 }
bodies.ball = { kind = "rigid", mass = 0.5, inertia = [0.002, 0.002, 0.002], position = [0.0, 0.0, 0.2] }

[[contacts]]
name = "floor"
a = { place = "ground", shape = "plane", axis = [0.0, 0.0, 1.0] }
b = { place = "ball", shape = "sphere", radius = 0.1 }
friction = [0.4, 0.3]
restitution = 0.5
impact = "stronge"
"""


def test_a_model_file_makes_the_same_exact_contact(tmp_path):
    model = model_of(tmp_path, MODEL)
    (made,) = model.system.build().contacts
    assert (made.static, made.friction, made.restitution, made.impact) == (0.4, 0.3, 0.5, "stronge")
    result = flexmb.simulate(model.system, model.duration, **model.options)
    assert result.happened[0].t == pytest.approx(np.sqrt(0.2 / G), rel=1e-9)
    with pytest.raises(ModelFileError, match="impact"):
        model_of(tmp_path, MODEL, "stronge", "moreau")
    for friction, said in (
        ("-0.4", r"friction': input should be greater than or equal to 0; found -0.4"),
        ("[0.4, -0.3]", r"friction\[2\]': input should be greater than or equal to 0; found -0.3"),
    ):
        with pytest.raises(ModelFileError, match=said) as error:
            model_of(tmp_path, MODEL, "[0.4, 0.3]", friction)
        assert "constrained" not in str(error.value)
        assert "valid" not in str(error.value)


@pytest.mark.parametrize("first", ["ground", "anvil"])
def test_an_anvil_on_the_ground_does_not_give_way_to_a_hammer(first):
    """The ground acts in the same impact, whichever of its places is the first, and whichever bodies lie beside."""
    system = flexmb.System(gravity=(0, 0, -G))
    bodies = {
        name: system.add(flexmb.rigid_body(name, mass=2.0, inertia=(0.1,) * 3), position=place)
        for name, place in (("beside", (5, 0, 0.1)), ("anvil", (0, 0, 0.1)), ("hammer", (0, 0, 0.4)))
    }
    own = {name: Sphere(0.1).on(body.at((0, 0, 0))) for name, body in bodies.items()}
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    for name in ("beside", "anvil"):
        pair = (floor, own[name]) if first == "ground" else (own[name], floor)
        system.contact(f"floor of {name}", *pair)
    system.contact("blow", own["anvil"], own["hammer"], restitution=0.5)
    result = flexmb.simulate(system, 0.17, step=1e-3)
    fall = np.sqrt(2 * 0.1 / G)
    assert len({e.t for e in result.happened}) == 1
    assert sum(e.lost for e in result.happened) == pytest.approx(0.75 * 2.0 * G * 0.1, rel=1e-9)
    assert result.velocity("hammer")[-1, 2] == pytest.approx(0.5 * G * fall - G * (0.17 - fall), rel=1e-9)
    assert np.abs(result.velocity("anvil")).max() < 1e-12


def test_points_that_an_impact_opens_carry_nothing():
    """A block falls from one edge to the other."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    turned = scipy.spatial.transform.Rotation.from_rotvec([0, 0.05, 0])
    edge = turned.apply([0.05, 0, -0.1])
    block = system.add(
        flexmb.rigid_body("block", mass=1.0, inertia=(0.01,) * 3), position=-edge, orientation=turned.as_matrix()
    )
    system.contact(
        "floor",
        Plane().on(system.ground.at((0, 0, 0))),
        Box(0.1, 0.1, 0.2).on(block.at((0, 0, 0))),
        friction=0.9,
    )
    result = flexmb.simulate(system, 0.1, step=1e-3)
    assert len(result.happened) == 1
    carried = result.acceleration("block")[:, 2] + 9.81
    assert result.contact("floor").normal_force == pytest.approx(carried, rel=1e-5)


def test_coincident_centres_are_named_where_a_state_begins_with_them():
    system = flexmb.System()
    one = system.add(flexmb.rigid_body("one", mass=1.0, inertia=(0.01,) * 3))
    two = system.add(flexmb.rigid_body("two", mass=1.0, inertia=(0.01,) * 3), position=(1.0, 0, 0))
    system.contact("c", Sphere(0.1).on(one.at((0, 0, 0))), Sphere(0.1).on(two.at((0, 0, 0))))
    mechanism = system.build()
    q = mechanism.initial.q.copy()
    q[7:10] = 0.0
    with pytest.raises(
        MechanismError, match="Exact contacts of 'mechanism' begin where the centres of two round shapes"
    ):
        flexmb.simulate(mechanism, 0.1, step=1e-2, initial_state=replace(mechanism.initial, q=q))


def test_shapes_at_one_place_keep_their_axes():
    """A ball in a groove of two planes through one line presses on both."""
    system, normals = flexmb.System(gravity=(0, 0, -G)), {"left": (1, 0, 1), "right": (-1, 0, 1)}
    ball = system.add(flexmb.rigid_body("ball", mass=0.5, inertia=(0.002,) * 3), position=(0, 0, 0.1 * np.sqrt(2)))
    for name, normal in normals.items():
        system.contact(name, Plane().on(system.ground.at((0, 0, 0)), axis=normal), Sphere(0.1).on(ball.at((0, 0, 0))))
    result = flexmb.simulate(system, 0.02, step=1e-3)
    for name, normal in normals.items():
        np.testing.assert_allclose(result.contact(name).force[-1], 0.25 * G * np.array(normal), rtol=1e-6, atol=1e-8)


def test_slip_is_relative_to_a_body_that_turns():
    """A ball stands still on a turntable without friction, half a metre from its axis."""
    system = flexmb.System(gravity=(0, 0, -G))
    table = system.add(flexmb.rigid_body("table", mass=1.0, inertia=(1, 1, 1)))
    ball = system.add(flexmb.rigid_body("ball", mass=0.5, inertia=(0.002,) * 3), position=(0.3, 0.4, 0.1))
    system.revolute("axle", system.ground.at((0, 0, 0)), table, axis=(0, 0, 1))
    system.drive("axle", flexmb.time_functions.constant_speed(3.0))
    system.contact("rest", Plane().on(table.at((0, 0, 0))), Sphere(0.1).on(ball.at((0, 0, 0))))
    slip = flexmb.simulate(system, 0.02, step=1e-3).contact("rest").slip
    np.testing.assert_allclose(slip[1:], 1.5, rtol=1e-6)

"""Continuous contact: tables of the laws, friction, several points, all methods, results, files, refusals."""

import numpy as np
import pytest
from model_files import model_of
from scipy.integrate import quad, solve_ivp
from typer.testing import CliRunner

import flexmb
from flexmb.cli.main import app
from flexmb.contact import (
    FACTORS,
    Bore,
    Box,
    Capsule,
    Cylinder,
    Plane,
    Socket,
    Sphere,
    TurningFriction,
    effective_modulus,
    elastic_foundation,
    hertz,
    hertz_stiffness,
    line_contact,
    malca,
    permanent_indentation,
    power_law,
    reached_restitution,
)
from flexmb.errors import LawError, MechanismError, ModelFileError
from flexmb.kernels.contact.forces import elastic_force
from flexmb.mechanism.contacts.element import bound_contact
from flexmb.results.measure import measure
from flexmb.simulation.events import Event
from validation.contact_laws import TABLE


def falling(law, speed=1.0, gravity=0.0, height=10.0, tilt=0.0, **friction):
    """A unit mass with a ball of radius 10, just above a plane."""
    system = flexmb.System(gravity=(0, 0, -gravity))
    ball = system.add(
        flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, height), velocity=(tilt, 0, -speed)
    )
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("floor", floor, Sphere(10.0).on(ball.at((0, 0, 0))), law=law, **friction)
    return system


@pytest.mark.parametrize(("wanted", "factor"), [key for key in TABLE if key[0] in (0.9, 0.1)])
def test_a_factor_of_damping_reaches_the_speed_of_the_table(wanted, factor):
    c = FACTORS[factor](wanted)
    assert reached_restitution(c) == pytest.approx(TABLE[wanted, factor][0], abs=1e-4)


@pytest.mark.parametrize("e", [0.999, 0.7, 0.3, 0.05])
def test_the_factor_of_gonthier_reaches_what_is_wanted(e):
    assert reached_restitution(FACTORS["gonthier"](e)) == pytest.approx(e, abs=1e-12)


@pytest.mark.parametrize(
    "method",
    ["generalised-alpha", "hht", "radau", "bdf", "explicit", pytest.param("energy-momentum", marks=pytest.mark.long)],
)
def test_every_method_bounces_alike(method):
    options = {"step": 2e-3} if method in ("generalised-alpha", "hht", "energy-momentum") else {"tolerance": 1e-8}
    law = power_law(1.0, restitution=0.7, speed=1.0)
    result = flexmb.simulate(falling(law), 5.0, method=method, **options)
    assert result.velocity("ball")[-1, 2] == pytest.approx(0.7, abs=2e-5)
    assert result.ledger.load_work[-1] == 0.0
    assert result.ledger.damper_heat[-1] == pytest.approx(0.5 * (1 - 0.49), abs=2e-5)
    assert abs(result.ledger.residual[-1]) < 1e-6
    depth = -result.contact("floor").gap.min()
    assert depth == pytest.approx(
        flexmb.simulate(falling(law), 2.0, step=1e-3).contact("floor").gap.min() * -1, rel=1e-4
    )


@pytest.mark.parametrize("exponent", [1.0, 1.5, 3.0])
def test_a_contact_stores_the_energy_of_the_impact(exponent):
    """Where the ball turns round, all of it is `K d^(n+1) / (n+1)`."""
    result = flexmb.simulate(falling(power_law(1.0, exponent)), 3.0, step=2e-3)
    turned = np.abs(result.velocity("ball")[:, 2]).argmin()
    assert result.energy_by_element()["floor"].stored[turned] == pytest.approx(0.5, rel=1e-5)
    assert -result.contact("floor").gap[turned].min() == pytest.approx(
        (0.5 * (exponent + 1)) ** (1 / (exponent + 1)), rel=1e-5
    )
    assert np.abs(result.ledger.residual).max() < 1e-5


def test_each_impact_has_its_own_restitution():
    """A fast and a slow fall against an integration that begins with the speed of the impact; first order in the step."""
    g, K, e = 10.0, 1e6, 0.6
    for fall, end in ((0.2, 0.25), (0.05, 0.15)):
        speed = np.sqrt(2 * g * fall)

        def rate(t, y, speed=speed):
            depth = max(-y[0], 0.0)
            return [y[1], K * depth**1.5 * max(1 - FACTORS["gonthier"](e) * y[1] / speed, 0.0) - g]

        exact = solve_ivp(rate, (0, end - speed / g), [0, -speed], rtol=1e-10, atol=1e-12, max_step=1e-4).y[1, -1]
        law = power_law(K, restitution=e, speed=1e-3, each_impact=True)
        errors = [
            abs(flexmb.simulate(falling(law, 0.0, g, height=10 + fall), end, step=h).velocity("ball")[-1, 2] - exact)
            for h in (4e-4, 1e-4)
        ]
        assert errors[0] < 0.01 * speed
        assert errors[1] < 0.4 * errors[0]


def test_permanent_indentation_loses_the_same_part_at_every_speed_and_remains():
    law = permanent_indentation(1.0, 0.7)
    for speed in (0.1, 1.0):
        result = flexmb.simulate(falling(law, speed), 8.0 if speed < 1 else 5.0, step=2e-3)
        assert result.velocity("ball")[-1, 2] == pytest.approx(0.7 * speed, rel=1e-5)
        deepest = result.element_states[-1, 0]
        assert -result.contact("floor").gap.min() == pytest.approx(deepest, rel=1e-6)
        leaves = np.flatnonzero(result.force("floor")[:, 2])[-1]
        assert -result.contact("floor").gap[leaves] == pytest.approx((1 - 0.49) * deepest, rel=0.05)


def test_a_free_fall_comes_to_rest_where_the_weight_is_carried():
    law = power_law(4e3, restitution=0.3, speed=0.3)
    result = flexmb.simulate(falling(law, 0.3, 9.81), 2.0, step=1e-3)
    assert result.contact("floor").gap[-1] == pytest.approx(-((9.81 / 4e3) ** (2 / 3)), rel=1e-3)
    assert result.contact("floor").normal_force[-1] == pytest.approx(9.81, rel=1e-3)
    assert abs(result.ledger.residual[-1]) < 1e-4


def test_equilibrium_and_small_motions_include_the_contact():
    """A ball in a socket, whose position is unique: the depth under its weight, and three frequencies about it."""
    g, K, clearance = 9.81, 4e5, 0.1
    system = flexmb.System(gravity=(0, 0, -g))
    ball = system.add(
        flexmb.rigid_body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)), position=(0.01, 0, -clearance - 1e-3)
    )
    cup = Socket(0.3).on(system.ground.at((0, 0, 0)))
    system.contact("cup", cup, Sphere(0.3 - clearance).on(ball.at((0, 0, 0))), law=power_law(K))
    system.bushing("turning", system.ground.at((0, 0, 0)), ball.at((0, 0, 0)), stiffness=(0, 0, 0, 1, 1, 1))
    rest = flexmb.linear.equilibrium(system)
    depth = (g / K) ** (2 / 3)
    np.testing.assert_allclose(rest.state.q[:3], [0, 0, -clearance - depth], atol=1e-9)
    rates = np.sort(2 * np.pi * np.asarray(flexmb.linear.linearise(rest).modes().frequencies))[-3:]
    np.testing.assert_allclose(rates, [np.sqrt(g / (clearance + depth))] * 2 + [np.sqrt(1.5 * g / depth)], rtol=1e-4)


def sliding(mu, static, angle, shape, offset, duration=0.5):
    g = 9.81
    system = flexmb.System(gravity=(g * np.sin(angle), 0, -g * np.cos(angle)))
    body = system.add(flexmb.rigid_body("body", mass=2.0, inertia=(0.1, 0.1, 0.1)), position=(0, 0, offset))
    system.contact(
        "slope",
        Plane().on(system.ground.at((0, 0, 0))),
        shape.on(body.at((0, 0, 0))),
        law=power_law(1e6, restitution=0.1, speed=0.01),
        friction=mu,
        static_friction=static,
        slip_speed=2e-2,
    )
    return flexmb.simulate(system, duration, step=1e-3)


def test_a_box_slides_down_a_slope_with_the_friction_of_its_corners():
    angle, mu = np.arctan(0.5), 0.3
    depth = (2 * 9.81 * np.cos(angle) / 4 / 1e6) ** (2 / 3)  # that of a corner which carries a quarter
    result = sliding(mu, None, angle, Box(0.4, 0.4, 0.1), 0.05 - depth)
    expected = 9.81 * (np.sin(angle) - mu * np.cos(angle))
    t, v = result.t, result.velocity("body")[:, 0]
    assert (v[-1] - v[len(v) // 2]) / (t[-1] - t[len(v) // 2]) == pytest.approx(expected, rel=1e-4)
    touch = result.contact("slope")
    np.testing.assert_allclose(touch.friction_force[-1], mu * touch.normal_force[-1], rtol=1e-6)
    assert touch.slip[-1] == pytest.approx(v[-1], rel=1e-3)
    assert touch.wear_power[-1] == pytest.approx(touch.friction_force[-1] * touch.slip[-1])
    heat = result.energy_by_element()["slope"]
    assert heat.kind == "contact"
    assert heat.heat[-1] == pytest.approx(mu * 2 * 9.81 * np.cos(angle) * result.position("body")[-1, 0], rel=2e-3)


def test_below_the_static_coefficient_it_creeps_slower_than_the_slip_speed():
    result = sliding(0.3, 0.6, np.arctan(0.5), Box(0.4, 0.4, 0.1), 0.05)
    assert 0 < result.velocity("body")[-1, 0] < 2e-2


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.0, 5.0])
def test_friction_follows_the_curve_of_brown_and_mcphee(ratio):
    """`mu_d tanh(4 x) + (mu_s - mu_d) x / (x^2/4 + 3/4)^2` at the slip `x` times the slip speed."""
    slip, speed, mu, static = 0.05 * ratio, 0.05, 0.3, 0.5
    system = falling(
        power_law(1.0), speed=0.0, height=9.0, tilt=slip, friction=mu, static_friction=static, slip_speed=speed
    )
    touch = flexmb.simulate(system, 1e-6, step=1e-6).contact("floor")
    curve = mu * np.tanh(4 * ratio) + (static - mu) * ratio / (0.25 * ratio**2 + 0.75) ** 2
    assert touch.friction_force[0] / touch.normal_force[0] == pytest.approx(curve, rel=1e-6)


def test_slip_is_that_of_the_point_that_touches():
    """A ball that turns backwards and moves on slides with both speeds, wherever it is on the plane."""
    system = flexmb.System()
    ball = flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1))
    spun = system.add(ball, position=(7.0, -5.0, 10.0 - 1e-6), velocity=(2, 0, 0), angular_velocity=(0.5, -0.3, 4.0))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("floor", floor, Sphere(10.0).on(spun.at((0, 0, 0))), law=power_law(1.0))
    slip = flexmb.simulate(system, 1e-9, step=1e-9).contact("floor").slip[0]
    assert slip == pytest.approx(np.hypot(2 + 0.3 * 10, 0.5 * 10), rel=1e-6)


def test_a_ball_that_slides_begins_to_roll():
    """After rolling begins, five sevenths of the speed are left; friction has no say in it."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    inertia, depth = 0.4 * 0.1**2, (9.81 / 1e8) ** (2 / 3)
    ball = system.add(
        flexmb.rigid_body("ball", mass=1.0, inertia=(inertia,) * 3), position=(0, 0, 0.1 - depth), velocity=(1, 0.5, 0)
    )
    floor = Plane().on(system.ground.at((0, 0, 0)))
    law = power_law(1e8, restitution=0.2, speed=0.01)
    system.contact("floor", floor, Sphere(0.1).on(ball.at((0, 0, 0))), law=law, friction=0.3, slip_speed=1e-2)
    result = flexmb.simulate(system, 0.3, step=5e-4)
    np.testing.assert_allclose(result.velocity("ball")[-1, :2], [5 / 7, 5 / 14], rtol=1e-3)


def turning(shape, inertia, group, **start):
    system = flexmb.System(gravity=(0, 0, -9.81))
    depth = (9.81 / 1e7) ** (2 / 3)
    ball = system.add(
        flexmb.rigid_body("ball", mass=1.0, inertia=(inertia,) * 3), position=(0, 0, 0.1 - depth), **start
    )
    surfaces = (Plane().on(system.ground.at((0, 0, 0))), shape.on(ball.at((0, 0, 0))))
    given = {
        "law": power_law(1e7, restitution=0.2, speed=0.01),
        "friction": 0.5,
        "slip_speed": 1e-2,
        "turning_friction": TurningFriction(rolling=2e-3, spinning=1e-3, speed=1e-2),
    }
    if group:
        system.contact_group("floor", surfaces, **given)
        return flexmb.simulate(system, 0.3, method="explicit", tolerance=1e-7)
    system.contact("floor", *surfaces, **given)
    return flexmb.simulate(system, 0.3, step=2e-4)


@pytest.mark.parametrize("group", [False, True], ids=["single", "group"])
def test_friction_of_rolling_slows_a_ball_down(group):
    """The power of the moment `N c` at the angular velocity `v / r` is that lost by `7/10 m v^2`."""
    result = turning(Sphere(0.1), 0.4 * 0.1**2, group, velocity=(1, 0, 0), angular_velocity=(0, 10, 0))
    v, t = result.velocity("ball")[:, 0], result.t
    late = t > 0.1
    rate = np.polyfit(t[late], v[late], 1)[0]
    assert rate == pytest.approx(-5 / 7 * 9.81 * 2e-3 / 0.1, rel=1e-3)
    assert abs(result.ledger.residual).max() < 1e-4


def test_friction_of_spinning_slows_a_top_down_and_stops_it():
    inertia = 0.4 * 0.1**2
    result = turning(Sphere(0.1), inertia, False, angular_velocity=(0, 0, 0.5))
    spin, t = result.angular_velocity("ball")[:, 2], result.t
    slope = 9.81 * 1e-3 / inertia
    early = (t > 0.02) & (t < 0.15)
    assert np.polyfit(t[early], spin[early], 1)[0] == pytest.approx(-slope, rel=1e-3)
    assert 0.5 / slope < 0.25  # it has stopped
    assert abs(spin[-1]) < 1e-2


def test_friction_of_turning_that_cannot_be_is_refused():
    with pytest.raises(LawError, match="friction of rolling is a length >= 0"):
        TurningFriction(rolling=-1.0, speed=1.0)
    with pytest.raises(LawError, match="found neither"):
        TurningFriction(speed=1.0)
    system = flexmb.System()
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 1))
    pair = (Plane().on(system.ground.at((0, 0, 0))), Sphere(0.5).on(ball.at((0, 0, 0))))
    with pytest.raises(MechanismError, match="turning_friction of a continuous contact needs a speed"):
        system.contact("c", *pair, law=power_law(1.0), turning_friction=TurningFriction(rolling=1.0))
    with pytest.raises(MechanismError, match=r"turning_friction is a flexmb.contact.TurningFriction; found 0.1"):
        system.contact("c", *pair, law=power_law(1.0), turning_friction=0.1)


def test_a_capsule_a_cylinder_and_a_box_lie_on_their_sides_at_rest():
    for shape, height in ((Capsule(0.1, 0.4), 0.1), (Cylinder(0.1, 0.4), 0.1)):
        system = flexmb.System(gravity=(0, 0, -9.81))
        body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(0.01, 0.01, 0.005)), position=(0, 0, height))
        floor = Plane().on(system.ground.at((0, 0, 0)))
        law = power_law(1e6, restitution=0.1, speed=0.01)
        system.contact(
            "floor", floor, shape.on(body.at((0, 0, 0)), axis=(1, 0, 0)), law=law, friction=0.2, slip_speed=1e-3
        )
        result = flexmb.simulate(system, 0.2, step=1e-3)
        assert result.contact("floor").normal_force[-1] == pytest.approx(9.81, rel=1e-3)
        assert abs(result.position("body")[-1, 2] - height) < 1e-3


def test_momentum_is_conserved_when_spheres_collide_obliquely():
    system = flexmb.System()
    made = [
        system.add(
            flexmb.rigid_body(name, mass=m, inertia=(m * 0.004,) * 3), position=p, velocity=v, angular_velocity=w
        )
        for name, m, p, v, w in (
            ("a", 1.0, (0, 0, 0), (1, 0, 0), (0, 0, 5)),
            ("b", 2.0, (0.205, 0.05, 0.03), (-1, 0, 0), (3, 0, 0)),
        )
    ]
    shapes = [Sphere(0.1).on(body.at((0, 0, 0))) for body in made]
    system.contact("balls", *shapes, law=power_law(1e7, restitution=0.8, speed=2.0), friction=0.2, slip_speed=0.1)
    result = flexmb.simulate(system, 0.03, step=2e-5)
    assert result.contact("balls").touching.any()
    assert result.contact("balls").gap[-1] > 0
    momenta = result.velocity("a") + 2 * result.velocity("b")
    np.testing.assert_allclose(momenta, np.tile([-1.0, 0, 0], (len(momenta), 1)), atol=1e-11)
    spin = sum(
        m * (np.cross(result.position(n), result.velocity(n)) + 0.004 * result.angular_velocity(n))
        for n, m in (("a", 1.0), ("b", 2.0))
    )
    np.testing.assert_allclose(spin, np.tile(spin[0], (len(spin), 1)), atol=1e-7)


def test_cylinders_follow_the_formulas():
    """Malca's examples (mm, N, MPa), Johnson's logarithm, and the energy as the integral of the force."""
    modulus = 207000 / (2 * (1 - 0.3**2))
    for depth, force, internal, radius in (
        (0.0005, 26.9, True, 0.05), (0.001, 62.5, True, 0.05), (0.002, 145.5, True, 0.05),
        (0.001, 23.5, False, 140.0), (0.01, 292.2, False, 140.0),
    ):  # fmt: skip
        law = malca(modulus, 1.0, radius, internal=internal)
        assert law.stiffness * depth**law.exponent == pytest.approx(force, abs=0.05)
    shapes = (Bore(10.05, 10.0), Cylinder(10.0, 10.0))
    p = np.array(bound_contact("bearing", shapes, line_contact(modulus, 1.0, 0.05), 0.0, None, None, None).parameters)
    for force, depth in ((26.9, 0.000518), (62.5, 0.001057), (145.5, 0.002116)):
        found, energy = elastic_force(depth, p)
        assert found == pytest.approx(force, rel=2e-3)
        assert depth == pytest.approx(
            found / (np.pi * modulus) * (np.log(4 * np.pi * modulus * 0.05 / found) - 1), rel=1e-12
        )
        assert energy == pytest.approx(quad(lambda x: elastic_force(x, p)[0], 0, depth)[0], rel=1e-6)


def test_the_foundation_under_a_sphere_is_the_integral_of_its_pressure():
    law = elastic_foundation(10e6, 0.4, 0.003, 0.02)
    k = 10e6 * 0.6 / (1.4 * 0.2 * 0.003)
    depth = 1e-5
    exact = quad(
        lambda r: 2 * np.pi * r * k * (depth - (0.02 - np.sqrt(0.02**2 - r * r))),
        0,
        np.sqrt(2 * 0.02 * depth - depth**2),
    )[0]
    assert law.stiffness * depth**2 == pytest.approx(exact, rel=1e-3)
    in_socket = elastic_foundation(10e6, 0.4, 0.003, 0.02, -0.025)
    assert in_socket.stiffness == pytest.approx(5 * law.stiffness)


def test_hertz_stiffness_of_materials():
    modulus = effective_modulus(207e9, 0.3, 207e9, 0.3)
    assert hertz_stiffness(modulus, 0.02, 0.02) == pytest.approx(
        2 / 3 * 207e9 / (2 * (1 - 0.09)) * 2 * np.sqrt(0.01), rel=1e-12
    )
    assert hertz_stiffness(modulus, 0.02, -0.04) == pytest.approx(hertz_stiffness(modulus, 0.04))
    with pytest.raises(LawError, match=r"does not fit into a socket of radius 0.02"):
        hertz_stiffness(modulus, 0.03, -0.02)
    with pytest.raises(LawError, match=r"radius of the other surface is positive.* found 0.0"):
        hertz_stiffness(modulus, 0.03, 0.0)
    with pytest.raises(LawError, match=r"Poisson's ratio of a contact is above -1 and at most 1/2; found 2.0"):
        effective_modulus(207e9, 2.0)
    assert hertz_stiffness(np.float32(3.0), np.int64(4)) == 8.0


def test_a_result_file_keeps_the_contact(tmp_path):
    for law in (power_law(1.0, restitution=0.5, speed=1.0), permanent_indentation(1.0, 0.7)):
        result = flexmb.simulate(falling(law), 3.0, step=1e-2)
        path = flexmb.files.save_result(result, tmp_path / "bounce.h5")
        again = flexmb.files.load_result(path)
        np.testing.assert_array_equal(again.contact("floor").gap, result.contact("floor").gap)
        moved = flexmb.simulate(again.mechanism, 3.0, step=1e-2)
        np.testing.assert_array_equal(moved.q, result.q)


def test_measures_a_plot_and_a_verb_tell_of_contacts(tmp_path, monkeypatch):
    result = flexmb.simulate(falling(power_law(1.0, restitution=0.5, speed=1.0)), 3.0, step=1e-2)
    touch = result.contact("floor")
    table = result.columns(
        ["gap:floor", "normal-force:floor", "friction-force:floor", "slip:floor", "wear-power:floor"]
    )
    np.testing.assert_array_equal(table["gap:floor"].values, touch.gap)
    assert table["wear-power:floor"].dimension == "power"
    assert "contact 'floor': closed at" in str(touch)
    with pytest.raises(MechanismError, match="contact named 'flor'"):
        result.contact("flor")
    monkeypatch.chdir(tmp_path)
    flexmb.files.save_result(result, "bounce.h5")
    done = CliRunner().invoke(app, ["contact", "bounce.h5", "--plot", "c.png", "--table", "c.csv"])
    assert done.exit_code == 0, done.output
    assert "closed at" in done.output
    assert (tmp_path / "c.png").stat().st_size > 10_000
    assert (tmp_path / "c.csv").read_text().startswith("t")
    with pytest.raises(MechanismError, match="contact named 'roof'"):
        CliRunner().invoke(app, ["contact", "bounce.h5", "--name", "roof"], catch_exceptions=False)


@pytest.mark.parametrize(
    "law", [power_law(1e4, restitution=0.5, speed=1.0), permanent_indentation(1e4, 0.7)], ids=["c", "dent"]
)
def test_an_event_finds_the_instant_at_which_bodies_touch(law):
    """Also where the contact has a state; a free flight of a tenth."""
    gap, force = measure("gap:floor"), measure("normal-force:floor")
    events = [Event("touches", lambda r: -gap(r)), Event("pushes", lambda r: force(r) - 1.0)]
    result = flexmb.simulate(falling(law, height=10.1), 0.2, step=1e-3, events=events)
    touched, pushed = (next(h.t for h in result.happened if h.event == name) for name in ("touches", "pushes"))
    assert touched == pytest.approx(0.1, abs=1e-11)
    assert touched < pushed < touched + 4e-3


def test_a_contact_with_a_dent_continues_from_a_stored_state():
    system = falling(permanent_indentation(1e2, 0.7), height=10.1)
    whole, half = flexmb.simulate(system, 0.6, step=1e-3), flexmb.simulate(system, 0.3, step=1e-3)
    rest = flexmb.simulate(system, 0.3, step=1e-3, initial_state=half.state(-1))
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-9)
    assert rest.element_states[-1] == pytest.approx(whole.element_states[-1], rel=1e-9)


MODEL = """
simulation = { duration = 3.0, step = 1e-2 }

[bodies.ball]
kind = "rigid"
mass = 1.0
inertia = [1.0, 1.0, 1.0]
position = [0.0, 0.0, 10.0]
velocity = [0.0, 0.0, -1.0]

[[contacts]]
name = "floor"
a = { place = "ground", shape = "plane", axis = [0.0, 0.0, 1.0] }
b = { place = "ball", shape = "sphere", radius = 10.0 }
law = { kind = "power-law", stiffness = 1.0, restitution = 0.5, speed = 1.0 }
"""


def test_a_model_file_makes_the_same_contact(tmp_path):
    read = model_of(tmp_path, MODEL)
    here = flexmb.simulate(falling(power_law(1.0, restitution=0.5, speed=1.0)), 3.0, step=1e-2)
    np.testing.assert_array_equal(flexmb.simulate(read.system, read.duration, **read.options).q, here.q)


def test_a_law_by_materials_has_the_depth_of_hertz(tmp_path):
    """A steel ball of 0.1 m radius at 1 m/s on aluminium: its largest depth is (5 m v^2 / 4 K)^(2/5)."""
    steel, aluminium = (2.1e11, 0.3), (7e10, 0.33)
    own = "young = 2.1e11, poisson = 0.3, radius = 0.1, other_young = 7e10, other_poisson = 0.33"
    text = MODEL.replace(
        'kind = "power-law", stiffness = 1.0, restitution = 0.5, speed = 1.0', f'kind = "hertz", {own}'
    )
    text = text.replace("duration = 3.0, step = 1e-2", "duration = 3e-4, step = 1e-6").replace("10.0", "0.1")
    read = model_of(tmp_path, text)
    modulus = 1 / sum((1 - nu**2) / E for E, nu in (steel, aluminium))
    depth = (5 / (4 * 4 / 3 * modulus * np.sqrt(0.1))) ** 0.4
    assert hertz(*steel, 0.1, other_young=7e10, other_poisson=0.33) == power_law(hertz_stiffness(modulus, 0.1))
    hit = flexmb.simulate(read.system, read.duration, **read.options).contact("floor")
    assert -hit.gap.min() == pytest.approx(depth, rel=1e-4)
    assert hit.normal_force.max() == pytest.approx(4 / 3 * modulus * np.sqrt(0.1) * depth**1.5, rel=1e-4)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('shape = "sphere", ', 'shape = "ball", ', "shape named 'ball'"),
        ("radius = 10.0", "length = 10.0", r"a sphere has the dimensions \['radius'\]; found \['length'\]"),
        ("restitution = 0.5", "restitution = 1.5", "restitution is above 0 and at most 1; found 1.5"),
        (", speed = 1.0", "", "needs the speed of approach"),
        ("[0.0, 0.0, 1.0] }", "[0.0, 0.0, -1.0] }", "drawn inside each other, 20 deep"),
    ],
)
def test_a_model_file_names_what_is_wrong(old, new, said, tmp_path):
    with pytest.raises(ModelFileError, match=said):
        model_of(tmp_path, MODEL, old, new)


def test_contacts_that_cannot_be_are_refused():
    system = flexmb.System()
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)))
    floor, here = Plane().on(system.ground.at((0, 0, -1))), Sphere(1.0).on(ball.at((0, 0, 0)))
    law = power_law(1.0)
    with pytest.raises(MechanismError, match="Without law= the contact is exact"):
        system.contact("c", floor, here, law=1e5)
    with pytest.raises(MechanismError, match=r"expected a shape at a place, .* found Sphere"):
        system.contact("c", floor, Sphere(1.0), law=law)
    for given in ({"law": law}, {"friction": 0.3}):
        with pytest.raises(
            MechanismError, match="Contact 'c': the box and the sphere are both on one body, which cannot"
        ):
            system.contact("c", Box(1, 1, 1).on(ball.at((2, 0, 0))), here, **given)
        with pytest.raises(MechanismError, match=r"Contact 'c'.*: the centres of two round shapes coincide"):
            system.contact("c", Sphere(0.2).on(system.ground.at((0, 0, 0))), here, **given)
    with pytest.raises(MechanismError, match=r"drawn inside each other, 0.5 deep \(length; at most 0.1"):
        system.contact("c", Plane().on(system.ground.at((0, 0, -0.5))), here, law=law)
    with pytest.raises(MechanismError, match="needs slip_speed"):
        system.contact("c", floor, here, law=law, friction=0.3)
    with pytest.raises(MechanismError, match="Contact 'c': friction must not be negative; found -1"):
        system.contact("c", floor, here, law=law, friction=-1)
    with pytest.raises(MechanismError, match=r"static_friction=0.1 must be at least .* 0.3"):
        system.contact("c", floor, here, law=law, friction=0.3, static_friction=0.1, slip_speed=1e-3)
    memory = power_law(1.0, restitution=0.5, speed=1e-3, each_impact=True)
    with pytest.raises(MechanismError, match="has several points, and each_impact has the memory of one"):
        system.contact("c", floor, Box(1, 1, 1).on(ball.at((0, 0, 0))), law=memory)
    with pytest.raises(MechanismError, match="line contact is that of a cylinder in a bore"):
        system.contact("c", floor, here, law=line_contact(1.0, 1.0, 0.1))
    with pytest.raises(LawError, match=r"exponent of a contact law is at least 1; found 0.5"):
        power_law(1.0, 0.5)
    with pytest.raises(LawError, match=r"fitted for radii from 0.05 to 10.0 mm; found 20"):
        malca(1e5, 1.0, 20.0)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan])
@pytest.mark.parametrize("make", [malca, line_contact])
def test_laws_of_cylinders_need_positive_numbers(make, wrong):
    right = {"modulus": 1e5, "length": 1.0, "radius_difference": 0.1}
    make(**right)
    for name in right:
        with pytest.raises(
            LawError, match=f"^The {name.replace('_', ' ')} of a .* must be a positive number; found {wrong}"
        ):
            make(**right | {name: wrong})


def test_a_body_that_runs_through_another_ends_the_simulation_without_a_compilation(monkeypatch):
    monkeypatch.setattr("flexmb.mechanism.frame_law.repeated_law", lambda function: pytest.fail("compiles for 27 s"))
    with pytest.raises(LawError, match=r"'floor' failed .* overlap by more than their size \(\S+ of \S+\)"):
        flexmb.simulate(falling(power_law(1e-3), speed=1.0), 30.0, step=0.1)


def test_states_of_contacts_are_refused_by_name_where_a_method_has_none():
    with pytest.raises(MechanismError, match=r"states at the end of a step.*'floor'"):
        flexmb.simulate(falling(permanent_indentation(1.0, 0.7)), 1.0, method="radau")


@pytest.mark.parametrize("law", [None, power_law(1e5)], ids=["exact", "law"])
def test_an_x_axis_alone_leaves_the_z_axis_of_the_body(law):
    """A box whose x axis is drawn along that of its body is drawn as its body: its lowest corner is where it was."""
    turn = np.array([0.5, -0.8, 1.0])
    gaps = []
    for axes in ({}, {"x_axis": flexmb.spatial.lie.rotation_exp(turn)[:, 0]}):
        system = flexmb.System()
        body = system.add(
            flexmb.rigid_body("box", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 0.35), orientation=turn
        )
        floor = Plane().on(system.ground.at((0, 0, 0)))
        system.contact("floor", floor, Box(0.1, 0.2, 0.4).on(body.at((0, 0, 0)), **axes), law=law)
        gaps.append(flexmb.simulate(system, 1e-3, step=1e-3).contact("floor").gap[0])
    corners = (
        np.stack(np.meshgrid((-0.05, 0.05), (-0.1, 0.1), (-0.2, 0.2)), axis=-1)
        @ flexmb.spatial.lie.rotation_exp(turn).T
    )
    np.testing.assert_allclose(gaps, 0.35 + corners[..., 2].min(), atol=1e-12)

"""Energy, heat and work of force laws in the ledger: stored where a law has a potential, heat where it dissipates."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, quad

import flexmb
from flexmb.files.results.result_file import load_result, save_result
from flexmb.forces.frame.tyres import side_force
from flexmb.forces.scalar.force_map import force_map
from flexmb.forces.scalar.table import table

MASS = 2.0
RISE = np.linspace(-0.4, 0.4, 33)
RATES = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
PROGRESSIVE = -300.0 * RISE - 4e3 * RISE**3
DAMPED = -20.0 * RATES - 3.0 * RATES * np.abs(RATES)
with pytest.warns(flexmb.NegativeHeatWarning, match="drives"):
    MOTOR = table(RATES, -DAMPED, over="xdot")


def slider(law, start=0.0, speed=1.0, duration=0.5, step=5e-4, **options):
    """A body on a rail under a law of one coordinate, which begins at `start`."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=MASS, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    system.set_speed("rail", speed)
    system.joint_spring("law", "rail", law=law, free=-start, **options)
    return flexmb.simulate(system, duration, step=step)


def require_closed(result, name="law", tolerance=1e-4):
    """Kinetic and stored energies and heat balance the work, by element and in total, to the error of the steps."""
    found, scale = result.energy_by_element()[name], result.ledger.exchange
    balance = result.ledger.kinetic + result.ledger.gravity + found.stored + found.heat - found.work
    assert np.ptp(balance) < tolerance * max(scale, np.ptp(result.ledger.kinetic))
    assert result.ledger.imbalance < tolerance
    return found


@pytest.mark.parametrize("outside", ["error", "hold", "extrapolate"])
def test_a_table_over_the_coordinate_stores_energy(outside):
    result = slider(table(RISE, PROGRESSIVE, outside=outside))
    found = require_closed(result)
    assert not found.work.any()
    assert np.abs(found.heat).max() < 1e-12
    x = result.coordinate("rail")
    assert found.stored == pytest.approx(150.0 * x**2 + 1e3 * x**4, abs=2e-3 * found.stored.max())
    assert result.ledger.springs == pytest.approx(found.stored, rel=1e-12, abs=1e-14)
    assert np.abs(result.ledger.damper_heat).max() < 1e-5 * result.ledger.exchange


def test_a_table_beyond_its_points_stores_energy_at_both_ends():
    narrow = np.linspace(-0.02, 0.02, 9)
    for outside, force in (("hold", 6.0), ("extrapolate", None)):
        with pytest.warns(flexmb.TableRangeWarning):
            result = slider(table(narrow, -300.0 * narrow, outside=outside), duration=0.9, step=2e-4)
        found, x = require_closed(result), result.coordinate("rail")
        assert np.abs(x).max() > 0.08
        assert x.min() < -0.08
        linear = 150.0 * x**2
        held = 0.06 + 6.0 * (np.abs(x) - 0.02)
        expected = linear if force is None else np.where(np.abs(x) > 0.02, held, linear)
        assert found.stored == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("outside", ["hold", "extrapolate"])
def test_the_slope_of_a_stored_energy_is_minus_the_effort_beyond_the_points_too(outside):
    law, x = table(RISE, PROGRESSIVE, outside=outside), np.linspace(-0.7, 0.7, 29)
    np.testing.assert_allclose(law.stored.slopes(0.0, x, 0.0)[2], -law.over(0.0, x, 0.0), rtol=1e-12, atol=1e-12)


def test_a_table_over_the_rate_that_opposes_it_makes_heat():
    result = slider(table(RATES, DAMPED, over="xdot"))
    found = require_closed(result)
    assert not found.stored.any()
    assert not found.work.any()
    assert (np.diff(found.heat) > 0).all()
    assert found.heat[-1] == pytest.approx(np.ptp(result.ledger.kinetic), rel=1e-5)


def test_a_damper_without_a_point_at_rest_makes_heat():
    """Unlike forces in compression and rebound: the curve has a small value at rest."""
    law = table([-1.5, -0.5, 0.5, 1.5], [30.0, 12.0, -15.0, -40.0], over="xdot")
    assert law(0.0, 0.0, 0.0) != 0.0
    found = require_closed(slider(law))
    assert found.heat[-1] > 0.9
    assert not found.work.any()


def test_a_map_stores_what_it_exerts_at_rest():
    for rates in (RATES, np.array([-3.0, -1.0, 1.0, 3.0])):
        damped = -20.0 * rates
        result = slider(force_map(RISE, rates, PROGRESSIVE[:, None] + damped))
        found, x = require_closed(result), result.coordinate("rail")
        assert not found.work.any()
        assert (np.diff(found.heat) > -1e-12).all()
        assert found.stored == pytest.approx(150.0 * x**2 + 1e3 * x**4, abs=2e-3 * found.stored.max())
        v = result.coordinate_rate("rail")
        heat = cumulative_trapezoid(20.0 * v**2, result.t, initial=0.0)
        assert found.heat == pytest.approx(heat, abs=2e-3 * heat[-1])


@pytest.mark.parametrize(
    "law",
    [
        MOTOR,
        table(RATES, 5.0 + DAMPED, over="xdot"),
        table([0.0, 1.0], [2.0, 3.0], over="t"),
        table(RISE + 0.4, 1.0 + np.sin(5 * np.pi * RISE / 2), period=0.8),
        force_map(RISE, RATES, PROGRESSIVE[:, None] - DAMPED),
        force_map(RISE, RATES + 5.0, PROGRESSIVE[:, None] + DAMPED),
        table([1.0, 2.0], [-5.0, -10.0], over="xdot", outside="hold"),
        table([-1.0, 3.0], [10.0, -1.0], over="xdot"),
        table([-2.0, -1.0, 0.0, 1.0, 2.0], [2.0, 10.0, 0.0, -10.0, -2.0], over="xdot", outside="extrapolate"),
        force_map(RISE, [0.0, 1.0, 2.0], PROGRESSIVE[:, None] + [0.0, -10.0, -2.0], outside="extrapolate"),
    ],
    ids=[
        "motor",
        "thrust",
        "pulse",
        "gas",
        "map of a motor",
        "map without rest",
        "constant below its points",
        "push at rest",
        "rising beyond its points",
        "map that rises beyond its points",
    ],
)
def test_what_gives_energy_is_work(law):
    """Also where the points resist, but the curve gives energy between them or beyond their ends."""
    assert law.stored is None
    if law.outside == "error" and (getattr(law, "argument", "x") != "x" or law.period):
        found = require_closed(slider(law, speed=0.2, duration=0.2, step=2e-4))
        assert found.work.any()
        assert not found.heat.any()
        assert not found.stored.any()


def test_a_detent_without_a_mean_stores_energy_over_any_number_of_periods():
    angles = np.linspace(0.0, 0.1, 41)
    result = slider(table(angles, -30.0 * np.sin(20 * np.pi * angles), period=0.1), speed=1.3, step=1e-4)
    found, x = require_closed(result), result.coordinate("rail")
    expected = 30.0 * (1 - np.cos(20 * np.pi * x)) / (20 * np.pi)
    assert x.max() > 0.3
    assert found.stored == pytest.approx(expected, abs=2e-3 * expected.max())
    assert not found.work.any()


def test_a_loaded_result_tells_the_same(tmp_path):
    spring = flexmb.expression("-k*x", stored="k*x**2/2", k=300.0)
    for law in (table(RISE, PROGRESSIVE), table(RATES, DAMPED, over="xdot"), spring):
        result = slider(law, duration=0.05)
        path = save_result(result, tmp_path / "slider.h5")
        again = load_result(path).energy_by_element()["law"]
        found = result.energy_by_element()["law"]
        for name in ("stored", "heat", "work"):
            assert getattr(again, name) == pytest.approx(getattr(found, name), abs=1e-15)


SOFT = {"radius": 0.3, "vertical_stiffness": 2e5, "slip_stiffness": 4e4, "relaxation": 0.4}
SIDE = dict(enumerate([1.4, -22.0, 1010.0, 1080.0, 1.8, 0.02, 0.0, -0.35]))
TYRES = {
    "linear": flexmb.forces.linear_tyre(**SOFT, cornering_stiffness=5e4),
    "pacejka": flexmb.forces.pacejka_89(**SOFT, **{f"a{k}": value for k, value in SIDE.items()}),
}
LOAD = 3000.0


def rolled(tyre, velocity, spin, duration=0.4, step=5e-4, height=0.3 - LOAD / 2e5):
    """A wheel whose inertia keeps it upright; at the default height it carries its weight."""
    system = flexmb.System(gravity=(0, 0, -10.0))
    wheel = system.add(
        flexmb.rigid_body("wheel", mass=LOAD / 10.0, inertia=(1e6, 4.0, 1e6)),
        position=(0, 0, height),
        velocity=velocity,
        angular_velocity=(0, spin, 0),
    )
    system.force("law", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre)
    return flexmb.simulate(system, duration, step=step)


@pytest.mark.parametrize("tyre", sorted(TYRES))
def test_a_tyre_that_only_springs_makes_no_heat(tyre):
    """It bounces on the road, also off it, and swings sideways at a standstill on the spring of its tread."""
    bounced = rolled(TYRES[tyre], (0, 0, 0), 0.0, height=0.35)
    found = require_closed(bounced)
    z = bounced.position("wheel")[:, 2]
    assert found.stored == pytest.approx(1e5 * np.maximum(0.3 - z, 0.0) ** 2, abs=1e-9 * found.stored.max())
    assert (found.stored == 0).any()
    assert np.abs(found.heat).max() < 1e-4 * found.stored.max()
    swung = rolled(TYRES[tyre], (0, 0.3, 0), 0.0)
    found = require_closed(swung)
    assert np.ptp(found.stored) == pytest.approx(0.5 * 300.0 * 0.3**2, rel=1e-3)
    assert np.abs(found.heat).max() < 1e-4 * np.ptp(found.stored)
    assert not found.work.any()
    assert not swung.ledger.load_work.any()


@pytest.mark.parametrize("slip", [2.0, 10.0, 45.0, -70.0, 80.0])
def test_a_tyre_stores_the_integral_of_its_side_force_at_any_slip(slip):
    deflection = 0.4 * np.tan(np.radians(slip))
    tyre = replace(TYRES["pacejka"], initial=(0.0, float(deflection)))
    stored = rolled(tyre, (0, 0, 0), 0.0, duration=1e-4, step=1e-4).energy_by_element()["law"].stored[0]
    numbers = np.array([*SIDE.values(), *[0.0] * 6])
    integral = quad(
        lambda u: side_force(np.degrees(np.arctan(u / 0.4)), 0.0, 1e-3 * LOAD, numbers),
        0.0, deflection, points=[0.02 * np.sign(slip)] if abs(slip) > 5.0 else None, limit=200,
    )[0]  # fmt: skip
    assert stored - 22.5 == pytest.approx(integral, rel=2e-4)


@pytest.mark.parametrize("tyre", sorted(TYRES))
def test_the_heat_of_a_tyre_is_its_slip_power(tyre):
    """`|V| force u / relaxation`, in each direction of the road; a wheel that drifts and brakes."""
    result = rolled(TYRES[tyre], (20.0, 2.0, 0), 66.0)
    found = require_closed(result)
    states, ahead = result.element_states, result.velocity("wheel")[:, 0]
    power = -ahead * (result.force("law")[:, :2] * states).sum(axis=1) / 0.4
    heat = cumulative_trapezoid(power, result.t, initial=0.0)
    assert found.heat == pytest.approx(heat, abs=2e-3 * heat[-1])
    assert (np.diff(found.heat) > 0).all()
    assert not found.work.any()


def test_the_squeezed_film_of_a_bearing_makes_heat():
    film = flexmb.forces.journal_bearing(viscosity=0.02, radius=0.05, length=0.03, clearance=1e-4)
    system = flexmb.System()
    shaft = system.add(flexmb.rigid_body("shaft", mass=5.0, inertia=(0.01,) * 3), velocity=(0.05, 0, 0))
    system.force("law", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), film)
    result = flexmb.simulate(system, 2e-3, step=2e-6)
    found = require_closed(result)
    assert (np.diff(found.heat) >= 0).all()
    assert not found.stored.any()
    assert not found.work.any()
    assert found.heat[-1] == pytest.approx(np.ptp(result.ledger.kinetic), rel=1e-4)


def test_drag_makes_heat_in_air_at_rest_and_work_in_wind():
    """The kinetic energy of a body that slows down: `m v^2 / 2` with `1/v = 1/v0 + density area coefficient t / 2 m`."""
    numbers, speed = {"density": 1.2, "area": 0.5, "coefficient": 1.1}, 30.0
    laws = {"heat": flexmb.forces.still_drag(**numbers), "work": flexmb.forces.drag(**numbers)}
    for sort, law in laws.items():
        system = flexmb.System()
        body = system.add(flexmb.rigid_body("body", mass=MASS, inertia=(1, 1, 1)), velocity=(0, speed, 0))
        system.force("law", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), law)
        result = flexmb.simulate(system, 1.0, step=1e-3)
        found = require_closed(result)
        left = 1 / (1 / speed + 0.5 * 1.2 * 0.5 * 1.1 / MASS * result.t)
        lost = 0.5 * MASS * (speed**2 - left**2)
        assert found.heat - found.work == pytest.approx(lost, abs=1e-5 * lost[-1])
        assert not getattr(found, {"heat": "work", "work": "heat"}[sort]).any()
        assert (np.diff(getattr(found, sort)) * {"heat": 1, "work": -1}[sort] > 0).all()


@flexmb.law(parameters={"gyration": 100.0})
def gyration(t, relative, states, parameters, wrench, rates):
    wrench[0] = -10.0 * relative.d[0] - parameters[0] * relative.v[1]
    wrench[1] = -10.0 * relative.d[1] + parameters[0] * relative.v[0]


def turned_about():
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(0.1, 0.1, 0.1)), velocity=(0.1, 0.05, 0))
    system.force("gyration", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), gyration())
    return system


def sliding():
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    system.set_speed("rail", 1.0)
    return system


def rubbed():
    system = sliding()
    system.joint_spring("law", "rail", law=lambda t, x, xdot: -1e3 * x - 10.0 * xdot)
    return system


def commanded():
    system = sliding()
    gains = flexmb.controllers.linear(([], [], [], [[-1e4, -100.0]]), inputs=("place", "speed"), commands=("force",))
    inputs = {"place": "coordinate:rail", "speed": "rate:rail"}
    system.controller("hold", gains, inputs=inputs, outputs={"force": "effort:rail"})
    return system


@pytest.mark.parametrize("build", [turned_about, rubbed, commanded])
def test_powers_are_those_of_forces_after_the_last_correction(build):
    """Where one correction is enough for the motion, the forces that were evaluated before it are not good enough for
    the energy: the residual of the gyration was 24 times as large."""
    usual, precise = (
        flexmb.simulate(build(), 0.05, step=2e-3, **options).ledger for options in ({}, {"newton_tolerance": 1e-13})
    )
    assert np.abs(usual.residual - precise.residual).max() < 1e-5 * precise.exchange


@pytest.mark.parametrize(
    ("effort", "stored", "place", "found", "wanted"),
    [
        ("-k*x - a*x**3", "k*x**2/2 + a*x**4", "x = 0.970018", "7592.79", "-2116.45"),  # the factor of the power
        ("-k*x", "-k*x**2/2", "x = 0.970018", "-291.005", "-291.005"),  # the sign
        ("-k*max(x, 0)", "k*x**2/2", "x = -0.970018", "-291.005", "0"),  # on one side only
        ("-k*x", "0", "x = 0.970018", "0", "-291.005"),
        ("2*k", "k*x**2/2 - 2*k*x", "x = 0.970018", "-308.995", "600"),
    ],
)
def test_a_stored_energy_that_is_not_that_of_the_effort_is_refused(effort, stored, place, found, wanted):
    values = {"k": 300.0, "a": 2e3} if "a*" in effort else {"k": 300.0}
    law = flexmb.expression(effort, stored=stored, **values)
    words = rf"law of 'law' in 'mechanism': .* which is {wanted} at {place}; found .* with the derivative {found}\."
    with pytest.raises(flexmb.ExpressionError, match=words):
        slider(law)


@pytest.mark.parametrize(
    ("effort", "stored"),
    [
        ("-k*x - a*x**3 - c*xdot", "k*x**2/2 + a*x**4/4"),
        ("-k*x - a*x**3 - c*xdot*abs(x)", "0.5*k*x**2 + 500*x**4"),
        ("-a*x*abs(x) - c*xdot - k*sign(xdot)", "0.333*a*abs(x)**3"),  # a factor rounded to three digits
        ("-k*tanh(x/1e-3)- c*xdot - a*xdot**3", "1e-3*k*log(cosh(x/1e-3))"),  # defined where cosh is finite
        ("-k*x*sqrt(x) - c*xdot - a*xdot**3", "k*x**2.5/2.5"),  # on one side only
        ("-k*x + a*sin(t) - c*xdot", "k*x**2/2"),  # driven in time: its heat is judged at the end
        ("-k*x + a*cos(t) - c*xdot", "k*x**2/2"),  # also where it is not zero at the start
    ],
)
def test_a_stored_energy_that_is_that_of_the_effort_is_accepted(effort, stored):
    flexmb.expression(effort, stored=stored, k=300.0, a=2e3, c=1.0).require_stored()


def test_a_law_that_gives_out_heat_is_named_at_the_end():
    words = r"law of 'law' of 'mechanism' has a negative heat of -\d.*Check the sign .*omit stored="
    with pytest.warns(flexmb.NegativeHeatWarning, match=words):
        driven = slider(flexmb.expression("-k*x + c*xdot", stored="k*x**2/2", k=300.0, c=5.0))
    heat = driven.energy_by_element()["law"].heat[-1]
    assert f"of {heat:.4g} by the end" in str(driven.verdict)
    with pytest.warns(flexmb.NegativeHeatWarning, match=words):  # what the time drives is none that is stored
        slider(flexmb.expression("-k*x + c*t", stored="k*x**2/2", k=300.0, c=100.0), duration=0.1)
    slider(flexmb.expression("-k*x + c*xdot", k=300.0, c=5.0))  # what is not declared is work
    damped = slider(flexmb.expression("-k*x - c*xdot", stored="k*x**2/2", k=300.0, c=5.0))
    assert damped.verdict.sound


def test_a_table_over_the_rate_that_drives_is_named():
    words = r"^Table: .* found -87 at xdot = -3, .* this damper drives. Reverse it with scale=-1"
    with pytest.warns(flexmb.NegativeHeatWarning, match=words) as record:
        assert table(RATES, -DAMPED, over="xdot").drives
    assert len(record) == 1
    turned = np.array([1.0, 1.0, -1.0])
    for rates, efforts in (
        (RATES, DAMPED),
        ([1.0, 2.0, 3.0], [5.0, 4.0, 3.0]),  # the torque of a motor that runs
        ([0.0, 1.0, 3.0], [5.0, 4.0, 0.0]),  # and of one that starts
        ([-1.0, 0.0, 1.0], turned),
        ([-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]),
    ):
        assert not table(rates, efforts, over="xdot").drives
    assert not table(RATES, -DAMPED).drives  # over the coordinate


def test_energies_are_zero_at_rest_wherever_periods_begin():
    """The points of the period are from 0.3 on, and zero is not among them."""
    x = 0.3 + np.linspace(0.0, 1.0, 41)
    stored = table(x, -np.sin(2 * np.pi * x), period=1.0).stored
    assert stored(0.0, 0.0, 0.0) == 0.0
    s = np.linspace(-2.0, 2.0, 81)
    np.testing.assert_allclose(stored.over(0.0, s, 0.0), (1 - np.cos(2 * np.pi * s)) / (2 * np.pi), atol=1e-3)


def test_a_map_that_drives_where_it_is_continued_stores_no_energy():
    """It opposes all rates of its points, but its force falls towards their ends, and beyond them has the sign of the rate."""
    x, rates = np.linspace(-1.0, 1.0, 5), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    values = -x[:, None] + np.array([0.1, 1.0, 0.0, -1.0, -0.1])
    assert force_map(x, rates, values, outside="hold").stored is not None
    continued = force_map(x, rates, values, outside="extrapolate")
    assert continued(0.0, 0.0, 4.0) > 0.0
    assert continued.stored is None


def test_a_sampled_command_does_the_same_work_beside_a_stiffness_and_beside_a_law_that_stores():
    works, powers = [], []
    for spring in ({"stiffness": 40.0}, {"law": flexmb.expression("-k*x", k=40.0, stored="k*x**2/2")}):
        system = flexmb.System()
        body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
        system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
        system.joint_spring("spring", "rail", **spring)
        law = flexmb.controllers.pid(kp=5.0, ki=3.0, sample_time=0.05)
        inputs = {"measured": "coordinate:rail", "reference": 0.1}
        system.controller("servo", law, inputs=inputs, outputs={"command": "effort:spring"})
        result = flexmb.simulate(system, 2.0, step=0.005, output_step=0.05)  # stored at the samples, no oftener
        energies = result.energy_by_element()
        assert np.abs(energies.work_apart).max() < 1e-3 * energies["spring"].work.max()
        held, moved = result.controller("servo").commands["command"].values, result.coordinate("rail")
        powers.append(np.append(0.0, np.cumsum(held[:-1] * np.diff(moved))))
        works.append(energies["spring"].work)
    assert works[0] == pytest.approx(powers[0], abs=1e-12)
    assert works[1] == pytest.approx(powers[1], abs=1e-12)

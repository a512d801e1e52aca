"""Dry friction in joints: closed forms, an independent integration with located transitions, order, ledger, files."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import flexmb
from flexmb.errors import ConvergenceError, EventError, FrictionWarning, MechanismError
from flexmb.files.models.model_file import load_model
from flexmb.files.results.result_file import load_result, save_result
from flexmb.linear.equilibrium import equilibrium
from flexmb.results.elements.friction import _at

G = 9.81


def turned(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


def rotor(speed=6.0, **options):
    system = flexmb.System(gravity=(0, -G, 0))
    body = system.add(flexmb.rigid_body("rotor", mass=2.0, inertia=(0.05,) * 3))
    system.revolute("pin", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    system.set_speed("pin", speed)
    system.friction("bearing", "pin", 0.2, radius=0.02, **options)
    return system


M, J, L, MUR, START = 2.0, 0.03, 0.3, 0.025, 0.8


def pendulum(drive=None, mur=MUR):
    """A bar on a pin at distance `L` above its centre, in the moving frame of which the pin has radius 0.1."""
    system = flexmb.System(gravity=(0, -G, 0))
    at = turned(START) @ (0, -L, 0)
    bob = system.add(flexmb.rigid_body("bob", mass=M, inertia=(J,) * 3), position=at, orientation=turned(START))
    system.revolute("pin", system.ground.at((0, 0, 0)), bob, axis=(0, 0, 1), at=(0, 0, 0))
    system.friction("bearing", "pin", mur / 0.1, radius=0.1)
    if drive is not None:
        system.motor("motor", "pin", drive)
    return system


def reaction(angle, rate, acceleration):
    """Force of the pin on the pendulum."""
    x = M * L * (np.cos(angle) * acceleration - np.sin(angle) * rate**2)
    y = M * L * (np.sin(angle) * acceleration + np.cos(angle) * rate**2) + M * G
    return np.hypot(x, y)


def independent(drive, end, mur=MUR):
    """Angle at `end` and instants of transitions, by scipy's integrator with events; the acceleration while sliding is
    the root of its own equation."""
    I = J + M * L * L

    def pulled(t, angle):
        return drive(t) - M * G * L * np.sin(angle)

    def sliding(sign):
        def rates(t, y):
            def open_(a):
                return I * a - pulled(t, y[0]) + sign * mur * reaction(y[0], y[1], a)

            a0 = pulled(t, y[0]) / I
            width = 1.0 + 2 * abs(a0) + y[1] ** 2 + 10 * G
            return [y[1], brentq(open_, a0 - width, a0 + width, xtol=1e-15, rtol=1e-15)]

        return rates

    def stops(t, y):
        return y[1]

    def exceeds(t, y):
        return abs(pulled(t, y[0])) - mur * M * G

    stops.terminal = exceeds.terminal = True
    t, y, found = 0.0, np.array([START, 0.0]), []
    sign = np.sign(pulled(0.0, START))
    options = {"rtol": 1e-12, "atol": 1e-13}
    while t < end:
        if sign:
            stops.direction = -sign
            ahead = min(t + 1e-4, end)
            y = solve_ivp(sliding(sign), (t, ahead), y, **options).y[:, -1]
            run = solve_ivp(sliding(sign), (ahead, end), y, events=stops, **options)
        else:
            exceeds.direction = 1
            run = solve_ivp(lambda t, y: [0.0, 0.0], (t, end), y, events=exceeds, max_step=0.01, **options)
        t, y = run.t[-1], run.y[:, -1]
        if t < end:
            found.append(t)
            holds = sign and exceeds(t, y) <= 0
            sign = 0.0 if holds else np.sign(pulled(t, y[0]))
            y = np.array([y[0], 0.0])
    return y[0], found


def test_a_rotor_on_a_journal_stops_and_stays():
    result = flexmb.simulate(rotor(), 5.0, step=0.01)
    (stop,) = result.happened
    assert stop.event == "bearing sticks"
    assert stop.t == pytest.approx(0.05 * 6 / (0.2 * 0.02 * 2 * G), abs=1e-9)
    assert result.coordinate_rate("pin")[-1] == pytest.approx(0, abs=1e-15)
    assert result.coordinate("pin")[-1] == pytest.approx(0.5 * 6 * stop.t, rel=1e-9)
    assert np.abs(result.ledger.residual).max() < 1e-12
    assert result.ledger.damper_heat[-1] == pytest.approx(0.5 * 0.05 * 36, rel=1e-12)
    efforts = result.effort("bearing")
    assert efforts[0] == pytest.approx(-0.2 * 0.02 * 2 * G)
    assert efforts[-1] == pytest.approx(0, abs=1e-12)
    assert result.energy_by_element()["bearing"].heat[-1] == pytest.approx(0.9, rel=1e-3)


@pytest.mark.parametrize(("drive", "count"), [(None, 4), pytest.param("2.5*sin(1.7*t)", 11, marks=pytest.mark.long)])
def test_second_order_through_sticking_and_sliding(drive, count):
    expected, instants = independent((lambda t: 2.5 * np.sin(1.7 * t)) if drive else (lambda t: 0.0), 8.0)
    errors, late = [], []
    for step in (8e-3, 4e-3):
        result = flexmb.simulate(pendulum(drive and flexmb.expression(drive)), 8.0, step=step, output_step=0.1)
        assert len(result.happened) == len(instants) == count
        errors.append(abs(START + result.coordinate("pin")[-1] - expected))
        late.append(max(abs(e.t - t) for e, t in zip(result.happened, instants, strict=True)))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.2)
    assert late[1] < 2e-4
    assert late[0] / late[1] == pytest.approx(4, rel=0.3)


def test_the_ledger_closes_with_the_square_of_the_step():
    left = [np.abs(flexmb.simulate(pendulum(), 3.0, step=h).ledger.residual).max() for h in (0.01, 0.005)]
    assert left[0] / left[1] == pytest.approx(4, rel=0.1)


def test_strong_friction_converges_with_its_derivative():
    """The friction increases its own reaction by 0.86 of itself."""
    system = pendulum(mur=0.3)
    system.set_speed("pin", 8.0)
    result = flexmb.simulate(system, 0.1, step=2.5e-3)
    assert result.statistics.iterations / result.statistics.steps < 3.5
    system = pendulum(mur=0.5)
    system.set_speed("pin", 8.0)
    with pytest.raises(flexmb.ConvergenceError, match=r"friction of 'bearing'.*jams"):
        flexmb.simulate(system, 0.1, step=2.5e-3)


def slope(angle, **options):
    system = flexmb.System(gravity=(0, 0, -G))
    block = system.add(flexmb.rigid_body("block", mass=3.0, inertia=(0.1,) * 3))
    system.prismatic("guide", system.ground.at((0, 0, 0)), block, axis=(np.cos(angle), 0, -np.sin(angle)))
    system.friction("contact", "guide", 0.3, **options)
    return system


@pytest.mark.parametrize("excess", [-1e-6, 1e-6])
def test_a_block_on_a_slope_slides_beyond_the_angle_of_friction(excess):
    angle = np.arctan(0.3) * (1 + excess)
    moved = flexmb.simulate(slope(angle), 1.0, step=0.01).coordinate("guide")[-1]
    expected = 0.5 * G * (np.sin(angle) - 0.3 * np.cos(angle)) if excess > 0 else 0.0
    assert moved == pytest.approx(expected, rel=1e-6, abs=1e-15)


def test_static_friction_is_larger():
    angle = np.arctan(0.35)
    assert flexmb.simulate(slope(angle, static=0.36), 1.0, step=0.01).coordinate("guide")[-1] == pytest.approx(
        0, abs=1e-15
    )
    sliding = flexmb.simulate(slope(angle, static=0.34), 1.0, step=0.01).coordinate("guide")[-1]
    assert sliding == pytest.approx(0.5 * G * (np.sin(angle) - 0.3 * np.cos(angle)), rel=1e-9)


@pytest.mark.parametrize("down", [(0, -G, 0), (-G, 0, 0), (-0.6 * G, 0.8 * G, 0)])
def test_a_span_carries_the_moments_across_the_axis(down):
    """An overhung rotor: the bearings at +-span/2 carry m g (1/2 +- a/span) each; the farther one pulls upwards."""
    system = flexmb.System(gravity=down)
    body = system.add(flexmb.rigid_body("rotor", mass=2.0, inertia=(0.05,) * 3), position=(0, 0, 0.4))
    system.revolute("pin", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1), at=(0, 0, 0))
    system.set_speed("pin", 6.0)
    system.friction("bearing", "pin", 0.1, radius=0.01, span=0.2)
    result = flexmb.simulate(system, 1.0, step=0.01)
    force = 2 * G * (abs(0.5 + 0.4 / 0.2) + abs(0.5 - 0.4 / 0.2))
    assert result.coordinate_acceleration("pin")[0] == pytest.approx(-0.1 * 0.01 * force / 0.05, rel=1e-12)


@pytest.mark.parametrize("along", [-0.8 * G, 0.8 * G])
def test_a_thrust_bearing_rubs_whichever_way_its_force_acts(along):
    """The weight across the axis rubs at the radius of the journal, that along it at the circle of the thrust bearing."""
    system = flexmb.System(gravity=(0, -0.6 * G, along))
    body = system.add(flexmb.rigid_body("rotor", mass=2.0, inertia=(0.05,) * 3))
    system.revolute("pin", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    system.set_speed("pin", 6.0)
    system.friction("bearing", "pin", 0.1, radius=0.01, axial_radius=0.03)
    result = flexmb.simulate(system, 0.02, step=0.01)
    moment = 0.1 * (0.01 * 2 * 0.6 * G + 0.03 * 2 * 0.8 * G)
    assert result.effort("bearing") == pytest.approx(-moment, rel=1e-12)


def test_two_bearings_of_a_double_pendulum_close_the_ledger():
    system = flexmb.System(gravity=(0, -G, 0))
    bar = flexmb.rigid_body("bar", mass=1.0, inertia=(0.01,) * 3, centre=(0.5, 0, 0), points={"end": (1.0, 0, 0)})
    first = system.add(bar, name="first")
    second = system.add(bar, name="second", position=(1.0, 0, 0))
    system.revolute("a", system.ground.at((0, 0, 0)), first, axis=(0, 0, 1), at=(0, 0, 0))
    system.revolute("b", first["end"], second, axis=(0, 0, 1))
    system.friction("bearing a", "a", 0.3, radius=0.05)
    system.friction("bearing b", "b", 0.3, radius=0.05)
    left = []
    for step in (4e-3, 2e-3):
        result = flexmb.simulate(system, 3.0, step=step, output_step=0.01)
        left.append(np.abs(result.ledger.residual).max())
    assert left[1] < 5e-4 * result.ledger.exchange
    assert left[0] / left[1] == pytest.approx(4, rel=0.5)
    named = result.energy_by_element()
    assert sum(named[n].heat[-1] for n in ("bearing a", "bearing b")) == pytest.approx(
        result.ledger.damper_heat[-1], rel=1e-2
    )


@pytest.mark.parametrize("options", [{}, {"method": "hht", "step": 5e-3}, {"step": 5e-3, "coordinates": "joint"}])
def test_other_options_agree(options):
    expected = independent(lambda t: 0.0, 4.0)[0]
    found = START + flexmb.simulate(pendulum(), 4.0, **options).coordinate("pin")[-1]
    assert found == pytest.approx(expected, abs=2e-4)


def test_a_joint_turns_round_while_another_slides():
    """The start of a method after an event changes velocities by its own error, also those of a joint at rest."""
    system = flexmb.System(gravity=(0, -G, 0.6))
    arm = system.add(flexmb.rigid_body("arm", mass=1.3, inertia=(0.02, 0.03, 0.04)), position=(0.3, 0, 0))
    slide = system.add(flexmb.rigid_body("slide", mass=0.7, inertia=(0.01, 0.015, 0.02)), position=(0.6, 0, 0.1))
    system.revolute("pin", system.ground, arm, axis=(0, 0, 1), at=(0, 0, 0))
    system.prismatic("guide", arm, slide, axis=(1, 0, 0), at=(0.5, 0, 0.05))
    system.joint_spring("spring", "guide", stiffness=30.0)
    system.friction("bearing", "pin", 0.3, radius=0.05)
    system.friction("gib", "guide", 0.2, preload=0.1)
    system.set_speed("pin", 2.0)
    system.motor("motor", "pin", flexmb.time_functions.harmonic(2.5, 7 / (2 * np.pi)))
    instants, angles = [], []
    for step in (2e-3, 1e-3, 5e-4):
        result = flexmb.simulate(system, 0.3, step=step, output_step=0.1)
        assert [e.event for e in result.happened[:3]] == ["gib slides", "bearing slides", "gib slides"]
        instants.append(result.happened[1].t)
        angles.append(result.coordinate("pin")[-1])
    for x in (instants, angles):
        assert 3.6 < (x[0] - x[1]) / (x[1] - x[2]) < 4.4


def test_a_driven_joint_resists_in_the_direction_of_its_motion():
    system = flexmb.System(gravity=(0, -G, 0))
    body = system.add(flexmb.rigid_body("rotor", mass=2.0, inertia=(0.05,) * 3))
    system.revolute("pin", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    system.drive("pin", flexmb.mechanism.time_functions.harmonic(0.5, 3.0))
    system.friction("bearing", "pin", 0.2, radius=0.02)
    result = flexmb.simulate(system, 2.0, step=2e-3)
    moved = np.abs(result.coordinate_rate("pin")) > 0.05
    expected = -0.2 * 0.02 * 2 * G * np.sign(result.coordinate_rate("pin"))
    assert result.effort("bearing")[moved] == pytest.approx(expected[moved], rel=1e-9)


def test_a_driver_that_rests_holds_a_joint_without_friction():
    system = flexmb.System(gravity=(0, -G, 0))
    body = system.add(flexmb.rigid_body("rotor", mass=2.0, inertia=(0.05,) * 3))
    system.revolute("pin", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    system.drive("pin", flexmb.time_functions.smooth_step(0.5, 0.5, 1.0))
    system.friction("bearing", "pin", 0.2, radius=0.02)
    result = flexmb.simulate(system, 1.5, step=2e-3)
    moved = (result.t > 0.55) & (result.t < 0.95)
    assert result.effort("bearing")[moved] == pytest.approx(-0.2 * 0.02 * 2 * G, rel=1e-9)
    assert not result.effort("bearing")[(result.t < 0.5) | (result.t > 1.01)].any()
    assert abs(result.ledger.residual[-1]) < 1e-6 * result.ledger.exchange


def test_a_simulation_continues_with_its_modes():
    drive = flexmb.expression("2.5*sin(1.7*t)")
    whole = flexmb.simulate(pendulum(drive), 6.0, step=0.01, output_step=0.5)
    for at in (5, 8):  # 2.5: slides; 4: slides or sticks
        state = whole.state(at)
        rest = flexmb.simulate(pendulum(drive), 6.0 - state.t, step=0.01, initial_state=state)
        assert rest.coordinate("pin")[-1] == pytest.approx(whole.coordinate("pin")[-1], abs=1e-4)
        expected = whole.wdot[at]
        assert flexmb.accelerations(whole.mechanism, state)[0] == pytest.approx(expected, abs=1e-3)


def test_a_result_file_keeps_modes_and_efforts(tmp_path):
    result = flexmb.simulate(pendulum(), 3.0, step=0.01)
    again = load_result(save_result(result, tmp_path / "friction.h5"))
    assert again.state(-1) == result.state(-1)
    assert again.force("bearing") == pytest.approx(result.force("bearing"))


def test_a_model_file_has_friction(tmp_path):
    (tmp_path / "model.toml").write_text(
        """
gravity = [0.0, -9.81, 0.0]
simulation = { duration = 1.0 }
[bodies.rotor]
kind = "rigid"
mass = 2.0
inertia = [0.05, 0.05, 0.05]
[[joints]]
name = "pin"
kind = "revolute"
a = "ground"
b = "rotor"
at = [0.0, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
speed = 6.0
[[frictions]]
name = "bearing"
joint = "pin"
coefficient = 0.2
radius = 0.02
"""
    )
    mechanism = load_model(tmp_path / "model.toml").system.build()
    assert mechanism.frictions == rotor().build().frictions


def test_what_cannot_be_done_is_refused_by_name():
    for options, match in (
        ({"method": "radau"}, "'radau' does not include dry friction that sticks.*'bearing'"),
        ({"method": "energy-momentum", "step": 1e-2}, "'energy-momentum' does not include dry friction"),
    ):
        with pytest.raises(MechanismError, match=match):
            flexmb.simulate(rotor(), 1.0, **options)
    with pytest.raises(MechanismError, match="An equilibrium does not include dry friction"):
        equilibrium(rotor())
    mechanism = rotor().build()
    with pytest.raises(MechanismError, match="does not say whether 'bearing'"):
        flexmb.accelerations(mechanism, mechanism.initial)
    system = rotor()
    with pytest.raises(MechanismError, match="name 'bearing' is taken"):
        system.friction("bearing", "pin", 0.1, radius=0.1)
    with pytest.raises(MechanismError, match="has the friction 'bearing' already"):
        system.friction("again", "pin", 0.1, radius=0.1)
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("rotor", mass=2.0, inertia=(0.05,) * 3))
    system.revolute("pin", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    with pytest.raises(MechanismError, match="needs the radius"):
        system.friction("again", "pin", 0.1)
    with pytest.raises(MechanismError, match="at least the coefficient"):
        system.friction("again", "pin", 0.1, radius=0.1, static=0.05)
    with pytest.raises(MechanismError, match="span must be positive"):
        system.friction("again", "pin", 0.1, radius=0.1, span=0.0)
    with pytest.raises(EventError, match="bearing sticks"):
        flexmb.simulate(
            rotor(), 1.0, step=0.01, events=[flexmb.simulation.events.Event("bearing sticks", lambda r: r.t)]
        )


def test_friction_that_overflows_is_told():
    system = flexmb.System()
    shaft = system.add(flexmb.rigid_body("shaft", mass=2.0, inertia=(0.02, 0.02, 0.01)))
    system.cylindrical("sleeve", system.ground.at((0, 0, 0)), shaft, axis=(0, 0, 1))
    system.set_speed("sleeve", 3.0, "rotation")
    system.friction("dry", "sleeve", 0.1, radius=0.02, span=0.1, preload=1e300)
    with pytest.raises(ConvergenceError, match=r"friction of 'dry' .* not finite. Reduce preloads"):
        flexmb.simulate(system, 0.05, step=2e-3)


def test_friction_of_shared_reactions_is_announced():
    system = flexmb.System(gravity=(0, -G, 0))
    body = system.add(flexmb.rigid_body("rotor", mass=2.0, inertia=(0.05,) * 3))
    for name, z in (("left", -0.1), ("right", 0.1)):
        system.revolute(name, system.ground.at((0, 0, z)), body, axis=(0, 0, 1), at=(0, 0, z))
        system.friction(f"{name} bearing", name, 0.2, radius=0.02)
    system.set_speed("left", 6.0)
    with pytest.warns(FrictionWarning, match="'left', 'right'"), pytest.warns(flexmb.errors.RedundantConstraintWarning):
        result = flexmb.simulate(system, 0.5, step=0.01)
    assert result.coordinate_acceleration("left")[0] == pytest.approx(-0.2 * 0.02 * 2 * G / 0.05, rel=1e-9)


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_an_impact_without_impulses_of_friction_is_announced(restitution):
    """A rotor meets a stop, also one that loses no energy; its bearing would carry an impulse of friction."""
    stop = flexmb.simulation.events.stop("stop", "pin", 1.0, restitution=restitution)
    with pytest.warns(FrictionWarning, match="The impact 'stop' at t = 0.1.*'bearing'"):
        result = flexmb.simulate(rotor(), 0.3, step=0.01, events=[stop])
    assert result.happened[0].event == "stop"


def test_at_an_instant_of_several_changes_the_last_one_holds():
    changes = [(0.0, "begin"), (1.0, "stick"), (1.0, "slide")]
    assert _at(changes, np.array([0.0, 0.5, 1.0, 2.0])) == ["begin", "begin", "slide", "slide"]

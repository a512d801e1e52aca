"""Exact friction of sleeves and balls: closed forms, independent integration with located transitions, order, restarts.

The sleeve of mass `M` and moment of inertia `J` on a horizontal shaft carries its weight, so that the friction force is
`MU M G` at the radius `R`, opposite to the sliding velocity (v, R omega).
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import flexmb
from flexmb.errors import MechanismError
from flexmb.files import load_model, load_result, save_result
from flexmb.integrators.alpha_run import GeneralisedAlphaRun

G, M, R, MU, J = 9.81, 2.0, 0.1, 0.2, 0.004
BOUND = MU * M * G


def sleeve(inertia=J, speeds=(1.5, 20.0), loads=None, axis=(0.0, 0.0, 1.0), **options):
    """A sleeve that slides and turns on a shaft, with functions of time for the axial force and the moment."""
    turn = Rotation.align_vectors([axis], [(0, 0, 1)])[0].as_matrix()
    system = flexmb.System(gravity=turn @ (0, -G, 0))
    inertia_matrix = turn @ np.diag([0.05, 0.05, inertia]) @ turn.T
    body = system.add(
        flexmb.rigid_body("sleeve", mass=M, inertia=inertia_matrix),
        velocity=speeds[0] * turn[:, 2],
        angular_velocity=speeds[1] * turn[:, 2],
    )
    system.cylindrical("shaft", system.ground.at((0, 0, 0)), body, axis=axis)
    system.friction("rub", "shaft", MU, radius=R, **options)
    if loads is not None:
        system.load("pull", body.at((0, 0, 0)), force=turn[:, 2], factor=loads[0])
        system.load("twist", body.at((0, 0, 0)), moment=turn[:, 2], factor=loads[1])
    return system


def ball(speed=(3.0, -1.0, 2.0), inertia=(0.05,) * 3, **options):
    system = flexmb.System(gravity=(0, 0, -G))
    body = system.add(flexmb.rigid_body("ball", mass=M, inertia=inertia), angular_velocity=speed)
    system.spherical("seat", system.ground.at((0, 0, 0)), body)
    system.friction("rub", "seat", MU, radius=0.03, **options)
    return system


def independent(load, speeds, end, inertia=J):
    """Displacement and angle at `end` and the instants of transitions, by SciPy's integrator with events; `load(t)` is
    the axial force and the moment over the radius."""
    masses = np.array([M, inertia / R**2])

    def begins(force):
        """Direction of an acceleration from rest: `(b + alpha m) d = F`, `|d| = 1`."""
        size = np.linalg.norm(force)
        if size <= BOUND * (1 + 1e-12):
            return force / size
        return force / (
            BOUND
            + masses * brentq(lambda a: np.linalg.norm(force / (BOUND + a * masses)) - 1, 0, 2 * size / masses.min())
        )

    def slides(t, y):
        u = y[2:]
        return [*y[2:], *((load(t) - BOUND * u / np.linalg.norm(u)) / masses)]

    def stops(t, y):
        return np.linalg.norm(y[2:]) - 1e-10

    def exceeds(t, y):
        return np.linalg.norm(load(t)) - BOUND

    stops.terminal = exceeds.terminal = True
    stops.direction, exceeds.direction = -1, 1
    t, y, found, held = 0.0, np.array([0.0, 0.0, *speeds]), [], False
    while t < end - 1e-12:
        if held:
            run = solve_ivp(lambda t, y: 0 * y, (t, end), y, events=exceeds, max_step=2e-3, rtol=1e-12, atol=1e-13)
        else:
            run = solve_ivp(slides, (t, end), y, events=stops, method="DOP853", rtol=1e-12, atol=1e-13)
        t, y = run.t[-1], run.y[:, -1]
        if t < end:
            found.append(t)
            held = not held and np.linalg.norm(load(t)) <= BOUND
            y[2:] = 0.0 if held else 1e-9 * begins(load(t))
    return y[:2] / [1.0, R], found


def steady(force, moment):
    return tuple(flexmb.time_functions.constant(x) for x in (force, moment))


def loads():
    harmonic = flexmb.time_functions.harmonic
    return harmonic(5.0, 3.1 / (2 * np.pi)), harmonic(0.35, 2.3 / (2 * np.pi), 0.7)


def load(t):
    return np.array([5.0 * np.sin(3.1 * t), 0.35 * np.sin(2.3 * t + 0.7) / R])


@pytest.mark.parametrize("axis", [pytest.param((0.0, 0.0, 1.0), marks=pytest.mark.long), (0.48, -0.6, 0.64)])
def test_a_sleeve_with_the_inertia_of_a_hoop_stops_along_a_straight_line(axis):
    """With J = m R^2 the sliding velocity decreases by mu g along its own direction."""
    result = flexmb.simulate(sleeve(M * R * R, axis=axis), 1.6, step=0.01)
    (stop,) = result.happened
    assert stop.event == "rub sticks"
    assert stop.t == pytest.approx(2.5 / (MU * G), abs=1e-8)
    assert result.coordinate("shaft", "translation")[-1] == pytest.approx(0.6 * 2.5**2 / (2 * MU * G), rel=1e-8)
    assert result.coordinate("shaft", "rotation")[-1] == pytest.approx(20.0 * 2.5 / (2 * MU * G), rel=1e-8)
    assert np.abs(result.coordinate_rate("shaft", "rotation")[result.t > stop.t]).max() < 1e-12
    assert result.effort("rub", "translation z")[0] == pytest.approx(-0.6 * BOUND, rel=1e-12)
    assert result.effort("rub", "rotation")[0] == pytest.approx(-0.8 * R * BOUND, rel=1e-12)
    assert result.ledger.damper_heat[-1] == pytest.approx(0.5 * M * 2.5**2, rel=1e-8)
    assert np.abs(result.ledger.residual).max() < 1e-8 * result.ledger.exchange


@pytest.mark.parametrize(
    ("options", "accuracy"),
    [
        ({"step": 0.01}, 1e-8),
        pytest.param({"step": 0.01, "method": "hht"}, 1e-8, marks=pytest.mark.long),
        pytest.param({"step": 0.01, "coordinates": "joint"}, 1e-8, marks=pytest.mark.long),
        pytest.param({}, 1e-6, marks=pytest.mark.long),
    ],
)
def test_a_spinning_ball_stops_and_stays(options, accuracy):
    result = flexmb.simulate(ball(), 2.0, **options)
    (stop,) = result.happened
    assert stop.t == pytest.approx(14**0.5 * 0.05 / (MU * 0.03 * M * G), rel=accuracy)
    assert np.abs(result.w[result.t > stop.t, 3:]).max() < 1e-11
    assert np.abs(result.force("rub")[-1, 3:]).max() < 1e-6 * MU * 0.03 * M * G
    assert result.ledger.damper_heat[-1] == pytest.approx(0.5 * 0.05 * 14, rel=1e-6)
    turned = Rotation.from_quat(result.q[-1, 3:7], scalar_first=True).as_rotvec()
    whole = Rotation.from_rotvec(np.array([3.0, -1.0, 2.0]) * 0.5 * stop.t)
    assert turned == pytest.approx(whole.as_rotvec(), abs=1e-6)


@pytest.mark.long
def test_second_order_through_sticking_and_sliding_of_a_sleeve():
    """The direction of friction turns with a power of the time to rest that is not an integer."""
    expected, instants = independent(load, (1.5, 2.0), 4.0)
    errors, late = [], []
    for step in (0.02, 0.01):
        result = flexmb.simulate(sleeve(loads=loads()), 4.0, step=step, output_step=1.0)
        assert [e.event for e in result.happened] == ["rub sticks", "rub slides"]
        found = [result.coordinate("shaft", dof)[-1] for dof in ("translation", "rotation")]
        errors.append(np.abs(np.array(found) - expected))
        late.append([abs(e.t - t) for e, t in zip(result.happened, instants, strict=True)])
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)
    assert late[1][0] < 5e-6
    assert late[1][1] < 1e-10


CENTRE, INERTIA = np.array([0.1, 0.0, -0.3]), np.diag([0.02, 0.03, 0.014])
TILT, TURN = np.array([0.0, -0.32, 0.0]), np.array([0.5, 0.7, 0.0])


def pendulum(twist=None, **options):
    """A body that hangs on a ball of radius 0.1."""
    system = flexmb.System(gravity=(0, 0, -G))
    bob = system.add(
        flexmb.rigid_body("bob", mass=M, inertia=tuple(INERTIA.diagonal())),
        position=CENTRE,
        orientation=TILT,
        velocity=np.cross(TURN, CENTRE),
        angular_velocity=TURN,
    )
    system.spherical("seat", system.ground.at((0, 0, 0)), bob, at=(0, 0, 0))
    system.friction("rub", "seat", 1.0, radius=0.1, **options)
    if twist is not None:
        system.load("twist", bob.at(CENTRE), moment=(0.3, 1.0, 0.5), factor=twist)
    return system


def stopped_pendulum():
    """Instant and attitude at which the pendulum comes to rest, by SciPy: rotation about a fixed point, with the root of
    the equation for the force of the ball."""
    attitude = Rotation.from_rotvec(TILT)
    r = attitude.inv().apply(CENTRE)
    about_point = INERTIA + M * (r @ r * np.eye(3) - np.outer(r, r))

    def rates(t, y):
        turned, w = Rotation.from_quat(y[:4]), y[4:]
        g = turned.inv().apply((0, 0, -G))

        def acceleration(moment):
            torque = M * np.cross(r, g) - moment * w / np.linalg.norm(w) - np.cross(w, about_point @ w)
            return np.linalg.solve(about_point, torque)

        def excess(moment):
            moved = np.cross(acceleration(moment), r) + np.cross(w, np.cross(w, r))
            return moment - 0.1 * M * np.linalg.norm(moved - g)

        x, s = y[:3], y[3]
        spin = np.concatenate([s * w + np.cross(x, w), [-x @ w]])
        return np.concatenate([0.5 * spin, acceleration(brentq(excess, 0, 100, xtol=1e-14))])

    def stops(t, y):
        return np.linalg.norm(y[4:]) - 1e-9

    stops.terminal = True
    start = np.concatenate([attitude.as_quat(), attitude.inv().apply(TURN)])
    run = solve_ivp(rates, (0, 1), start, events=stops, method="DOP853", rtol=1e-10, atol=1e-11)
    return run.t[-1], Rotation.from_quat(run.y[:4, -1])


@pytest.mark.long
def test_second_order_of_a_pendulum_that_comes_to_rest_in_its_socket():
    instant, attitude = stopped_pendulum()
    late, errors = [], []
    for step in (0.01, 0.005):
        result = flexmb.simulate(pendulum(), 0.4, step=step, output_step=0.1)
        (stop,) = result.happened
        late.append(stop.t - instant)
        reached = Rotation.from_quat(result.q[-1, 3:7], scalar_first=True)
        errors.append(np.linalg.norm((reached * attitude.inv()).as_rotvec()))
    assert late[0] / late[1] == pytest.approx(4, rel=0.05)
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)
    assert errors[1] < 5e-5


def test_static_friction_holds_a_sleeve_in_all_directions():
    """A force at 45 degrees between the bounds of sliding and sticking."""
    for static, holds in ((0.26, True), (0.24, False)):
        size = 0.25 * M * G / 2**0.5
        system = sleeve(M * R * R, (0.0, 0.0), steady(size, R * size), static=static)
        result = flexmb.simulate(system, 1.0, step=0.01)
        moved = 0.0 if holds else 0.5 * 0.05 * G / 2**0.5
        assert result.coordinate("shaft", "translation")[-1] == pytest.approx(moved, rel=1e-7, abs=1e-15)
        assert R * result.coordinate("shaft", "rotation")[-1] == pytest.approx(moved, rel=1e-7, abs=1e-15)
        held = np.hypot(result.effort("rub", "translation"), result.effort("rub", "rotation") / R)
        assert held[-1] == pytest.approx((0.25 if holds else 0.2) * M * G, rel=1e-9)


def test_a_sleeve_begins_to_slide_in_the_direction_of_its_acceleration():
    """With unlike inertias, the direction is not that of the force; then all velocities are proportional to the time."""
    force = 0.25 * M * G * np.array([0.8, 0.6])
    system = sleeve(speeds=(0.0, 0.0), loads=steady(force[0], R * force[1]), static=0.24)
    result = flexmb.simulate(system, 0.5, step=0.01)
    found = np.array(
        [
            result.coordinate_acceleration("shaft", "translation"),
            R * result.coordinate_acceleration("shaft", "rotation"),
        ]
    )
    masses = np.array([M, J / R**2])[:, None]
    assert found[:, -1] == pytest.approx(found[:, 0], rel=1e-6)
    friction = force[:, None] - masses * found
    assert friction / np.linalg.norm(friction, axis=0) == pytest.approx(found / np.linalg.norm(found, axis=0), abs=1e-8)
    assert np.linalg.norm(friction, axis=0) == pytest.approx(BOUND, rel=1e-8)


@pytest.mark.parametrize("part", [0.95, 1.05])
def test_a_nut_on_a_screw_turns_beyond_its_friction(part):
    """One motion is left of the two of a sleeve: its friction acts along the helix, and a moment about the axis turns it
    beyond `force sqrt(radius^2 + (lead / 2 pi)^2)`."""
    radius, rise, force, inertia, mass = 0.02, 0.04, 3.0, 0.01, 2.0
    system = flexmb.System()
    nut = system.add(flexmb.rigid_body("nut", mass=mass, inertia=(0.02, 0.02, inertia)))
    system.cylindrical("sleeve", system.ground.at((0, 0, 0)), nut.at((0, 0, 0)), axis=(0, 0, 1))
    system.screw("thread", "sleeve", lead=2 * np.pi * rise)
    system.friction("dry", "sleeve", 0.1, radius=radius, preload=force)
    arm = np.hypot(radius, rise)
    system.load("turn", nut.at((0, 0, 0)), moment=(0, 0, part * force * arm))
    rate = flexmb.simulate(system, 0.02, step=1e-3).coordinate_rate("sleeve", "rotation")[-1]
    expected = max(part - 1, 0.0) * force * arm / (inertia + mass * rise**2) * 0.02
    assert rate == pytest.approx(expected, rel=1e-5, abs=1e-12)


@pytest.mark.long
def test_a_sleeve_that_turns_is_easily_pushed_along():
    """Turned at R omega, the sleeve gains the speed at which the axial part of friction balances the force."""
    system = sleeve(speeds=(0.0, 0.0), loads=steady(0.5, 0.0))
    system.drive("shaft", flexmb.time_functions.constant_speed(30.0), dof="rotation")
    result = flexmb.simulate(system, 15.0, step=0.01, output_step=0.5)
    assert not result.happened
    assert result.coordinate_rate("shaft", "translation")[-1] == pytest.approx(
        30.0 * R * np.tan(np.arcsin(0.5 / BOUND)), rel=1e-4
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::flexmb.DriverEffortWarning")  # a smoother beginning would be later
def test_a_driver_that_begins_to_turn_a_sleeve_releases_it():
    system = sleeve(speeds=(0.0, 0.0), loads=steady(2.0, 0.0))
    system.drive("shaft", flexmb.time_functions.smooth_step(0.5, 0.5, 1.0), dof="rotation")
    result = flexmb.simulate(system, 1.5, step=0.01)
    assert [e.event for e in result.happened] == ["rub slides", "rub sticks"]
    assert result.happened[0].t == pytest.approx(0.5, abs=1e-4)
    assert result.happened[1].t > 1.0
    still = (result.t < 0.5) | (result.t > result.happened[1].t)
    assert np.abs(result.coordinate_rate("shaft", "translation")[still]).max() < 1e-8
    assert result.effort("rub", "translation")[still] == pytest.approx(-2.0, rel=1e-9)
    assert np.abs(result.ledger.residual).max() < 2e-3 * result.ledger.exchange


@pytest.mark.long
def test_a_simulation_continues_while_a_ball_sticks_and_slides(tmp_path):
    twist = flexmb.time_functions.harmonic(2.5, 0.5)
    whole = flexmb.simulate(pendulum(twist), 2.0, step=5e-3, output_step=0.1)
    assert [e.event for e in whole.happened] == ["rub sticks", "rub slides"]
    again = load_result(save_result(whole, tmp_path / "ball.h5"))
    assert again.force("rub") == pytest.approx(whole.force("rub"))
    assert again.mechanism.frictions == whole.mechanism.frictions
    for at, sticks in ((5, False), (8, True), (15, False)):
        state = again.state(at)
        assert state == whole.state(at)
        assert bool(state.topology.locked) == sticks
        rest = flexmb.simulate(pendulum(twist), 2.0 - state.t, step=5e-3, initial_state=state)
        assert rest.q[-1] == pytest.approx(whole.q[-1], abs=3e-5)
        assert flexmb.accelerations(whole.mechanism, state)[0] == pytest.approx(whole.wdot[at], abs=1e-5)
    moments = np.linalg.norm(whole.force("rub")[:, 3:], axis=1)
    bounds = 0.1 * np.linalg.norm(whole.reaction("seat")[:, :3], axis=1)
    assert moments[[5, 15]] == pytest.approx(bounds[[5, 15]], rel=1e-9)
    assert moments[8] < 0.9 * bounds[8]


def test_exact_and_regularised_friction_act_beside_each_other():
    """A ball with regularised friction, declared first, and a rotor with exact friction."""
    system = ball(regularised=0.1)
    rotor = system.add(flexmb.rigid_body("rotor", mass=2.0, inertia=(0.05,) * 3))
    system.revolute("pin", system.ground.at((0, 0, 0)), rotor, axis=(1, 0, 0))
    system.set_speed("pin", 6.0)
    system.friction("bearing", "pin", 0.2, radius=0.02)
    result = flexmb.simulate(system, 0.5, step=0.01)
    assert result.coordinate_acceleration("pin")[0] == pytest.approx(-0.2 * 0.02 * 2 * G / 0.05, rel=1e-9)
    assert result.coordinate_rate("pin")[-1] == pytest.approx(6 - 0.5 * 0.2 * 0.02 * 2 * G / 0.05, rel=1e-9)


def test_a_model_file_has_it(tmp_path):
    (tmp_path / "model.toml").write_text(
        """
gravity = [0.0, 0.0, -9.81]
simulation = { duration = 1.0 }
[bodies.ball]
kind = "rigid"
mass = 2.0
inertia = [0.05, 0.05, 0.05]
[[joints]]
name = "seat"
kind = "spherical"
a = "ground"
b = "ball"
at = [0.0, 0.0, 0.0]
[[frictions]]
name = "rub"
joint = "seat"
coefficient = 0.2
radius = 0.03
static = 0.3
"""
    )
    assert load_model(tmp_path / "model.toml").system.build().frictions == ball(static=0.3).build().frictions


@pytest.mark.parametrize("method", ["radau", "bdf", "explicit"])
def test_methods_that_cannot_stick_refuse_it(method):
    with pytest.raises(MechanismError, match=f"(?i){method}.*does not include dry friction that sticks.*'rub'"):
        flexmb.simulate(ball(), 1.0, method=method)


@pytest.mark.long
def test_steps_whose_equations_are_not_solved_are_shortened(monkeypatch):
    """Steps of full size fail in a part of the motion."""
    original = GeneralisedAlphaRun.to

    def to(run, target):
        if run.step == 0.01 and 0.3 < target < 0.5:
            raise flexmb.ConvergenceError("no solution")
        return original(run, target)

    monkeypatch.setattr(GeneralisedAlphaRun, "to", to)
    result = flexmb.simulate(sleeve(M * R * R), 1.6, step=0.01)
    assert result.happened[0].t == pytest.approx(2.5 / (MU * G), abs=1e-8)
    assert result.coordinate("shaft", "translation")[-1] == pytest.approx(0.6 * 2.5**2 / (2 * MU * G), rel=1e-8)

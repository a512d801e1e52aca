"""Laws between two frames of the library: closed forms, energies, independent integrations."""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import flexmb
from flexmb.errors import LawError
from flexmb.forces import LIBRARY
from flexmb.forces.frame.tyres import side_force
from flexmb.mechanism.frame_law import FrameLawCall


def answer(bound, d=(0, 0, 0), turned=(0, 0, 0), v=(0, 0, 0), omega=(0, 0, 0), states=None):
    """Wrench (6), energy and rates of a law at a relative motion."""
    states = np.array(bound.initial if states is None else states, dtype=float)
    out, S = np.zeros(7 + len(states)), Rotation.from_rotvec(turned).as_matrix()
    seen = np.concatenate([d, S.ravel(), v, omega]).astype(float)
    FrameLawCall(bound.law, "law").evaluate(0.0, seen, states, np.array(bound.parameters), out)
    return out


def guided(law, mass=1.0, position=(0, 0, 0), velocity=(0, 0, 0), gravity=(0, 0, 0), axis=(0, 0, 1)):
    """A body that slides along z under a law."""
    system = flexmb.System(gravity=gravity)
    body = system.add(flexmb.rigid_body("body", mass=mass, inertia=(1, 1, 1)), position=position, velocity=velocity)
    system.prismatic("guide", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    system.force("law", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), law, axis=axis)
    return system


@pytest.mark.parametrize(
    ("exponent", "count", "expected"),
    [(1.5, 8, 4.3457), (1.5, 16, 4.3681), (1.5, 64, 4.3701), (10 / 9, 8, 4.0770), (10 / 9, 16, 4.0841), (10 / 9, 64, 4.0850)],
)  # fmt: skip
def test_the_largest_load_on_a_rolling_element(exponent, count, expected):
    """Zero clearance: k F / Z, with Stribeck's number."""
    bearing = flexmb.forces.rolling_bearing(elements=count, stiffness=1e9, exponent=exponent)
    out = answer(bearing, d=(1e-5, 0, 0))
    largest = 1e9 * 1e-5**exponent
    assert count * largest / -out[0] == pytest.approx(expected, abs=1e-4)
    work = (answer(bearing, d=(1.01e-5, 0, 0))[6] - answer(bearing, d=(0.99e-5, 0, 0))[6]) / 0.02e-5
    assert work == pytest.approx(-out[0], rel=1e-4)


def test_a_bearing_with_clearance_carries_nothing_within_it_and_its_cage_turns():
    ratio = 0.5 * (1 - 0.2)
    bearing = flexmb.forces.rolling_bearing(elements=8, stiffness=1e9, clearance=2e-5, cage_ratio=ratio)
    assert not answer(bearing, d=(0.99e-5, 0, 0))[:7].any()
    system = flexmb.System()
    shaft = system.add(flexmb.rigid_body("shaft", mass=1.0, inertia=(1, 1, 1)), angular_velocity=(0, 0, 50.0))
    system.force("bearing", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), bearing)
    result = flexmb.simulate(system, 0.2, step=1e-3)
    assert result.element_states[:, 0] == pytest.approx(ratio * 50.0 * result.t, abs=1e-9)


@pytest.mark.parametrize("eccentricity", [0.05, 0.5, 0.9])
def test_a_journal_bearing_carries_the_load_of_ocvirk(eccentricity):
    mu, radius, length, clearance, speed = 0.02, 0.05, 0.03, 5e-5, 300.0
    bearing = flexmb.forces.journal_bearing(viscosity=mu, radius=radius, length=length, clearance=clearance)
    out = answer(bearing, d=(0, -eccentricity * clearance, 0), omega=(0, 0, speed))
    e, unit = eccentricity, mu * speed * radius * length**3 / (4 * clearance**2)
    load = unit * e / (1 - e * e) ** 2 * np.sqrt(16 * e * e + np.pi**2 * (1 - e * e))
    assert np.hypot(out[0], out[1]) == pytest.approx(load, rel=1e-8)
    attitude = np.arctan2(abs(out[0]), out[1])  # between the load line and the line of centres
    assert np.tan(attitude) == pytest.approx(np.pi * np.sqrt(1 - e * e) / (4 * e), rel=1e-8)
    assert out[0] > 0  # the shaft that turns forward moves to the side of its rotation
    squeezed = answer(bearing, d=(e * clearance, 0, 0), v=(0.01, 0, 0))
    x = np.linspace(-np.pi / 2, np.pi / 2, 20001)
    pressure = mu * length**3 * 0.01 * np.cos(x) / (clearance * (1 - e * np.cos(x))) ** 3
    assert -squeezed[0] == pytest.approx(np.trapezoid(pressure * np.cos(x) * radius, x), rel=1e-5)


def test_a_shaft_that_touches_its_housing_is_an_error():
    bearing = flexmb.forces.journal_bearing(viscosity=0.02, radius=0.05, length=0.03, clearance=5e-5)
    system = flexmb.System(gravity=(0, -9.81, 0))
    shaft = system.add(flexmb.rigid_body("shaft", mass=5.0, inertia=(1, 1, 1)), velocity=(0, -1.0, 0))
    system.force("oil", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), bearing)
    with pytest.raises(LawError, match=r"'oil' failed at t = .*touches the housing"):
        flexmb.simulate(system, 0.1, step=1e-3)


def test_the_wrench_of_a_bushing_is_the_gradient_of_its_energy():
    values = {"radial": 3e3, "axial": 1e3, "tilt": 40.0, "twist": 15.0, "progressive": 2e6, "coupling": 150.0}
    bushing = flexmb.forces.nonlinear_bushing(**values)
    rng = np.random.default_rng(4)
    for _ in range(5):
        d, turned = 0.02 * rng.normal(size=3), 0.4 * rng.normal(size=3)
        out, found = answer(bushing, d, turned), np.zeros(6)
        for i in range(3):
            step = 1e-5 * np.eye(3)[i]
            found[i] = -(answer(bushing, d + step, turned)[6] - answer(bushing, d - step, turned)[6]) / 2e-5
            ahead, behind = (
                (Rotation.from_rotvec(sign * step) * Rotation.from_rotvec(turned)).as_rotvec() for sign in (1, -1)
            )
            found[3 + i] = -(answer(bushing, d, ahead)[6] - answer(bushing, d, behind)[6]) / 2e-5
        assert out[:6] == pytest.approx(found, rel=1e-6, abs=1e-6)
    damped = flexmb.forces.nonlinear_bushing(**values, damping=2.0, rotary_damping=0.5)
    out = answer(damped, v=(1, 2, 3), omega=(4, 5, 6))
    assert out[:6] == pytest.approx([-2, -4, -6, -2, -2.5, -3])


def test_a_plastic_hinge_turns_energy_into_heat():
    limit, yielded, energy, inertia = 4644.7, 0.0873, 2000.0, 40.0
    system = flexmb.System()
    bar = system.add(
        flexmb.rigid_body("bar", mass=1.0, inertia=np.diag([30.0, 30.0, inertia])),
        angular_velocity=(0, 0, np.sqrt(2 * energy / inertia)),
    )
    system.revolute("hinge", system.ground.at((0, 0, 0)), bar, axis=(0, 0, 1))
    law = flexmb.forces.plastic_hinge(stiffness=limit / yielded, limit=limit)
    system.force("plastic", system.ground.at((0, 0, 0)), bar, law)
    result = flexmb.simulate(system, 0.12, step=1e-4)
    assert result.coordinate("hinge").max() == pytest.approx(0.474248, abs=2e-5)
    assert result.ledger.damper_heat[-1] == pytest.approx(energy - 0.5 * limit * yielded, rel=1e-4)


def test_a_falling_body_approaches_its_terminal_velocity():
    g, mass = 9.81, 2.0
    law = flexmb.forces.drag(density=1.2, area=0.5, coefficient=1.1, wind_z=3.0)
    terminal = np.sqrt(2 * mass * g / (1.2 * 0.5 * 1.1))
    result = flexmb.simulate(guided(law, mass, velocity=(0, 0, 3.0), gravity=(0, 0, -g)), 2.0, step=1e-3)
    assert result.w[:, 2] == pytest.approx(3.0 - terminal * np.tanh(g * result.t / terminal), abs=1e-5)


def test_a_cylinder_moves_its_load_as_an_independent_integration():
    mass, given = 200.0, {
        "area_a": 2e-3, "area_b": 1.2e-3, "stroke": 0.5, "bulk_modulus": 1e9, "supply": 2e7, "flow": 1e-7,
        "target": 0.3, "gain": 20.0, "dead_volume": 2e-4, "leakage": 1e-12, "laminar": 1e4,
    }  # fmt: skip
    begin = (6e6, 1e7)
    law = flexmb.forces.hydraulic_cylinder(**given, initial=begin)

    def root(drop):
        return drop / np.sqrt(abs(drop) + given["laminar"])

    def rate(t, y):
        x, v, a, b = y
        u = np.clip(given["gain"] * (given["target"] - x), -1, 1)
        if u >= 0:
            qa, qb = u * given["flow"] * root(given["supply"] - a), -u * given["flow"] * root(b)
        else:
            qa, qb = u * given["flow"] * root(a), -u * given["flow"] * root(given["supply"] - b)
        leak, E = given["leakage"] * (a - b), given["bulk_modulus"]
        va, vb = given["dead_volume"] + given["area_a"] * x, given["dead_volume"] + given["area_b"] * (0.5 - x)
        force = a * given["area_a"] - b * given["area_b"]
        return [v, force / mass, E * (qa - leak - given["area_a"] * v) / va, E * (qb + leak + given["area_b"] * v) / vb]

    exact = solve_ivp(rate, (0, 0.2), [0.2, 0, *begin], method="Radau", rtol=1e-9, atol=1e-9).y[:, -1]
    errors = []
    for step in (1e-4, 5e-5):
        result = flexmb.simulate(guided(law, mass, position=(0, 0, 0.2)), 0.2, step=step, output_step=0.2)
        found = np.array([result.q[-1, 2], result.w[-1, 2], *result.element_states[-1]])
        errors.append(np.abs((found - exact) / [0.1, 1.0, 1e7, 1e7]).max())
    assert errors[1] < 1e-4
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


TYRE = {"radius": 0.3, "vertical_stiffness": 2e5, "slip_stiffness": 4e4, "relaxation": 0.4}


def test_a_tyre_relaxes_to_the_force_of_its_slip_angle():
    """Towed by a heavy body at a fixed slip angle; the deflection follows `1 - exp(-V t / relaxation)`."""
    cornering, speed, slip = 5e4, 10.0, 0.05
    ahead, across = speed * np.cos(slip), speed * np.sin(slip)
    system = flexmb.System()
    wheel = system.add(
        flexmb.rigid_body("wheel", mass=1e12, inertia=(1e12, 1e12, 1e12)),
        position=(0, 0, 0.29),
        velocity=(ahead, across, 0),
        angular_velocity=(0, ahead / 0.29, 0),
    )
    tyre = flexmb.forces.linear_tyre(**TYRE, cornering_stiffness=cornering, trail=0.02)
    system.force("tyre", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre)
    result = flexmb.simulate(system, 0.3, step=1e-3)
    expected = 0.4 * across / ahead * (1 - np.exp(-ahead * result.t / 0.4))
    assert result.element_states[:, 1] == pytest.approx(expected, abs=2e-6)
    assert np.abs(result.element_states[:, 0]).max() < 1e-9  # free rolling
    force = result.force("tyre")[-1]
    assert force[1] == pytest.approx(-cornering * expected[-1] / 0.4, rel=1e-4)
    assert force[2] == pytest.approx(2e5 * 0.01, rel=1e-6)


def test_a_cambered_tyre_acts_at_its_contact():
    """The wheel leans by 0.1 rad; the tread slips by the motion of the contact without the spin."""
    camber, cornering, loaded, states = 0.1, 5e4, 0.29, (0.001, 0.004)
    tyre = flexmb.forces.linear_tyre(**TYRE, cornering_stiffness=cornering, trail=0.02)
    axle = np.array([0, np.cos(camber), np.sin(camber)])
    arm = np.array([0, loaded * np.sin(camber), -loaded * np.cos(camber)])
    rolling, leaning = 30.0 * axle, np.array([0.5, 0, 0])
    out = answer(tyre, (0, 0, -arm[2]), (camber, 0, 0), (10.0, 0.2, 0), rolling + leaning, states)
    along, side = -4e4 * states[0] / 0.4, -cornering * states[1] / 0.4
    force = np.array([along, side, 2e5 * (0.3 - loaded)])
    assert out[:3] == pytest.approx(force, rel=1e-9)
    assert out[3:6] == pytest.approx(np.cross(arm, force) + np.array([0, 0, -0.02 * side]), rel=1e-9)
    slip = np.array([10.0, 0.2, 0]) + np.cross(leaning, arm)
    assert out[7] == pytest.approx(slip[0] - 30.0 * loaded - 10.0 * states[0] / 0.4, rel=1e-9)
    assert out[8] == pytest.approx(slip[1] - 10.0 * states[1] / 0.4, rel=1e-9)


def test_the_magic_formula_has_its_stiffness_and_its_peak():
    a = np.array([1.4, -22.0, 1010.0, 1080.0, 1.8, 0.02, 0.0, -0.35, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    load = 4.0
    slope = (side_force(1e-4, 0.0, load, a) - side_force(-1e-4, 0.0, load, a)) / 2e-4
    assert slope == pytest.approx(1080.0 * np.sin(2 * np.arctan(load / 1.8)), rel=1e-6)
    angles = np.linspace(0, 30, 3001)
    forces = np.array([side_force(x, 0.0, load, a) for x in angles])
    assert forces.max() == pytest.approx(-22.0 * load**2 + 1010.0 * load, rel=1e-4)
    # the formula once more, as printed
    D, E = a[1] * load**2 + a[2] * load, a[6] * load + a[7]
    B = a[3] * np.sin(2 * np.arctan(load / a[4])) * (1 - a[5] * 3.0) / (a[0] * D)
    x = 2.0 + a[8] * 3.0
    assert side_force(2.0, 3.0, load, a) == pytest.approx(
        D * np.sin(a[0] * np.arctan(B * x - E * (B * x - np.arctan(B * x))))
    )
    tyre = flexmb.forces.pacejka_89(**TYRE, **{f"a{k}": value for k, value in enumerate(a)})
    out = answer(
        tyre, d=(0, 0, 0.28), v=(10.0, 0, 0), omega=(0, 10.0 / 0.28, 0), states=(0, 0.4 * np.tan(np.radians(2)))
    )
    assert out[1] == pytest.approx(-side_force(2.0, 0.0, load, a), rel=1e-9)
    assert out[2] == pytest.approx(4000.0)


@pytest.mark.parametrize("target", [0.35, 0.05])  # up and down; the valve is full open at first
def test_a_commanded_cylinder_moves_as_one_whose_valve_has_the_law_of_the_controller(target):
    given = {
        "area_a": 2e-3, "area_b": 1.2e-3, "stroke": 0.5, "bulk_modulus": 1e9, "supply": 2e7, "tank": 1e5, "flow": 1e-7,
        "retracted": 0.02, "dead_volume": 2e-4, "leakage": 1e-12, "laminar": 1e4, "initial": (6e6, 1e7),
    }  # fmt: skip
    own = flexmb.forces.hydraulic_cylinder(target=target, gain=20.0, **given)
    expected = flexmb.simulate(guided(own, 200.0, position=(0, 0, 0.2)), 0.2, step=1e-3)
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=200.0, inertia=(1, 1, 1)), position=(0, 0, 0.2))
    system.prismatic("guide", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    inputs = {"measured": "position:body:z", "reference": target}
    system.controller("valve", flexmb.controllers.pid(20.0), inputs=inputs, outputs={})
    law = flexmb.forces.commanded_cylinder(**given)
    inputs = {"opening": "command:valve:command"}
    system.force("law", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), law, axis=(0, 0, 1), inputs=inputs)
    found = flexmb.simulate(system, 0.2, step=1e-3)
    assert np.abs(found.q[:, 2] - expected.q[:, 2]).max() < 1e-9 * np.ptp(expected.q[:, 2])
    names = ("pressure a", "pressure b")
    pressures = [found.columns([f"state:law:{name}"])[f"state:law:{name}"].values for name in names]
    np.testing.assert_allclose(np.transpose(pressures), expected.element_states, rtol=1e-7)


def test_the_laws_of_the_library_have_their_names():
    assert {name: law.name.replace("_", "-") for name, law in LIBRARY.items()} == {name: name for name in LIBRARY}


def test_a_servo_actuator_lags_behind_its_target_by_its_velocity_gain():
    """Without load, leak and damping, in steady state `l' = (flow gain / area) (target - l)`: a first-order lag."""
    lag, turn, amplitude = 0.5e-3 * 20.0 / 1e-3, 2 * np.pi * 0.5, 0.01
    actuator = flexmb.forces.servo_actuator(
        area=1e-3, capacity=1e-13, flow=0.5e-3, gain=20.0, length=1.0, amplitude=amplitude, frequency=0.5, damping=200.0
    )
    result = flexmb.simulate(guided(actuator, mass=10.0, position=(0, 0, 1)), 4.0, step=1e-3)
    found = result.coordinate("guide")[len(result.t) // 2 :]
    assert np.ptp(found) / 2 == pytest.approx(amplitude * lag / np.hypot(lag, turn), rel=1e-4)
    with pytest.raises(LawError, match="no direction"):
        flexmb.simulate(guided(actuator), 0.1, step=1e-3)


def test_a_plastic_hinge_turns_any_number_of_times():
    torque, limit, stiffness, inertia, duration = 5.0, 2.0, 50.0, 1.0, 4.0
    system = flexmb.System()
    rotor = system.add(flexmb.rigid_body("rotor", mass=1.0, inertia=(inertia,) * 3))
    system.revolute("pin", system.ground.at((0, 0, 0)), rotor, axis=(0, 0, 1))
    system.force(
        "hinge", system.ground.at((0, 0, 0)), rotor, flexmb.forces.plastic_hinge(stiffness=stiffness, limit=limit)
    )
    system.motor("motor", "pin", torque)
    result = flexmb.simulate(system, duration, step=1e-3)
    w = np.sqrt(stiffness / inertia)
    yielded = limit / stiffness
    begun = np.arccos(1 - yielded * stiffness / torque) / w  # the elastic motion up to the limit
    speed, left = torque / (inertia * w) * np.sin(w * begun), duration - begun
    expected = yielded + speed * left + 0.5 * (torque - limit) / inertia * left**2  # 24.68, almost four turns
    assert result.coordinate("pin")[-1] == pytest.approx(expected, rel=1e-5)
    assert result.element_states[-1, 0] == pytest.approx(expected - yielded, rel=1e-5)
    heat = limit * (expected - yielded)
    assert result.energy_by_element()["hinge"].heat[-1] == pytest.approx(heat, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"twist": 1.0}, "t = 1.58.*more than a quarter turn"), ({"tilt": 1.0, "coupling": 1.5}, ".*would give energy")],
)
def test_a_bushing_beyond_a_quarter_turn_or_without_a_positive_energy_is_an_error(options, message):
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("pin", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    system.drive("pin", flexmb.time_functions.constant_speed(1.0))
    law = flexmb.forces.nonlinear_bushing(radial=1.0, axial=1.0, **options)
    system.force("rubber", system.ground.at((0, 0, 0)), body, law)
    with pytest.raises(LawError, match=f"The law of 'rubber' failed at {message}"):
        flexmb.simulate(system, 2.0, step=1e-2)


def test_a_wheel_that_spins_in_the_air_lands_with_the_deflection_of_its_tread_at_rest():
    spin, radius, relaxation, slip = 30.0, 0.3, 0.3, 1e4
    system = flexmb.System(gravity=(0, 0, -9.81))
    wheel = flexmb.rigid_body("wheel", mass=10.0, inertia=(0.3, 0.5, 0.3))
    wheel = system.add(wheel, position=(0, 0, 0.7), angular_velocity=(0, spin, 0))
    stiff = {"vertical_stiffness": 1e5, "slip_stiffness": slip, "cornering_stiffness": slip}
    tyre = flexmb.forces.linear_tyre(radius=radius, relaxation=relaxation, **stiff, initial=(0.01, 0.02))
    system.force("tyre", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre)
    landing = np.sqrt(2 * 0.4 / 9.81)
    result = flexmb.simulate(system, 0.99 * landing, step=1e-4)
    left = np.exp(-spin * radius / relaxation * result.t)
    assert np.allclose(result.element_states, left[:, None] * [0.01, 0.02], atol=1e-6)
    assert not result.force("tyre").any()


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_numbers_without_a_meaning_are_refused_by_name(name):
    law = LIBRARY[name]
    sound = dict.fromkeys(law.parameters, 1.0)
    law(**sound)
    assert law.positive or law.non_negative
    for parameter in (*law.positive, *law.non_negative):
        with pytest.raises(
            LawError, match=f"parameter '{parameter}' of the law .* must be (positive|zero or positive); found -1"
        ):
            law(**sound | {parameter: -1.0})
    for parameter in law.positive:
        with pytest.raises(LawError, match="must be positive; found 0"):
            law(**sound | {parameter: 0.0})


@pytest.mark.parametrize("changed", [{"supply": 0.9e5}, {"vapour": 1.1e5}, {"tank": 6e5}])
def test_pressures_of_a_cylinder_that_are_exchanged_are_refused(changed):
    low, high = ("vapour", "tank") if "vapour" in changed else ("tank", "supply")
    with pytest.raises(LawError, match=f"'{low}' of the law 'hydraulic_cylinder' must not be above '{high}'"):
        lowered(**changed)


def test_a_bearing_has_a_whole_number_of_elements():
    with pytest.raises(LawError, match="whole"):
        flexmb.simulate(guided(flexmb.forces.rolling_bearing(elements=7.9, stiffness=1e6)), 0.01, step=1e-3)


def lowered(**changed):
    """A heavy load on a cylinder whose valve lets it down faster than it fills the upper chamber."""
    given = {
        "area_a": 2e-3, "area_b": 1.2e-3, "stroke": 0.5, "bulk_modulus": 1e9, "supply": 5e5, "tank": 1e5, "flow": 1e-7,
        "target": 0.1, "gain": 20.0, "dead_volume": 2e-4, "laminar": 1e4,
    }  # fmt: skip
    begin = {"pressure a": 1.5e7, "pressure b": 1e6}
    law = flexmb.forces.hydraulic_cylinder(**given | changed, initial=begin)
    system = flexmb.System(gravity=(0, 0, -9.81))
    load = system.add(flexmb.rigid_body("load", mass=3000.0, inertia=(1, 1, 1)), position=(0, 0, 0.4))
    system.prismatic("guide", system.ground, load, axis=(0, 0, 1), at=(0, 0, 0))
    system.force("boom", system.ground.at((0, 0, 0)), load.at((0, 0, 0)), law)
    return system


def test_a_chamber_that_cavitates_is_named_with_the_remedy(tmp_path):
    with pytest.warns(
        flexmb.LawRangeWarning, match=r"pressure b of 'boom'.*vapour = 0.*evaporates.*slower valve"
    ) as told:
        result = flexmb.simulate(lowered(), 0.1, step=1e-4, output_step=1e-3)
    assert len([one for one in told if one.category is flexmb.LawRangeWarning]) == 1
    least = result.element_states[:, 1].min()
    assert least < 0
    assert not result.verdict.sound
    assert f"{least:.4g}" in str(told[0].message)
    enough = flexmb.simulate(lowered(vapour=1.01 * least), 0.1, step=1e-4, output_step=1e-3)
    assert enough.verdict.sound


def test_a_linear_tyre_that_spins_on_the_spot_is_named():
    """Its tread would be drawn without end, and its force rise with it; a wheel that rolls says nothing."""
    tyre = flexmb.forces.linear_tyre(
        radius=0.3, vertical_stiffness=2e5, slip_stiffness=4e4, cornering_stiffness=5e4, relaxation=0.4
    )

    def wheel(speed):
        system = flexmb.System(gravity=(0, 0, -10.0))
        wheel = system.add(
            flexmb.rigid_body("wheel", mass=300.0, inertia=(1e6, 4.0, 1e6)),
            position=(0, 0, 0.285),
            velocity=(speed, 0, 0),
            angular_velocity=(0, 40.0, 0),
        )
        system.force("tyre", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre)
        return system

    with pytest.warns(
        flexmb.LawRangeWarning, match=r"forward deflection of 'tyre'.*0.3 relaxation = 0.12.*on the spot"
    ):
        flexmb.simulate(wheel(0.0), 0.02, step=2e-4)
    assert flexmb.simulate(wheel(12.0), 0.02, step=2e-4).verdict.sound


def test_of_several_elements_those_outside_of_their_limits_are_named():
    """Each state is compared with the limits of its own element, in the order of the elements and of their states."""

    @flexmb.law(
        states=("spare", "level"),
        parameters=("least", "most"),
        floors={"level": "least"},
        below="It is empty.",
        limits={"level": ("most", 2.0)},
        beyond="It overflows.",
    )
    def tank(t, relative, states, parameters, wrench, rates):
        rates[:] = 0.0

    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    levels = {"first": 3.0, "second": -1.0, "third": 5.0, "fourth": 9.0}
    for name, level in levels.items():
        law = tank(least=0.0, most=4.0, initial=[-70.0, level])
        system.force(name, system.ground.at((0, 0, 0)), body.at((0, 0, 0)), law)
    with pytest.warns(flexmb.LawRangeWarning) as told:
        flexmb.simulate(system, 0.01, step=1e-3)
    below, beyond = sorted(str(one.message) for one in told)[::-1]
    assert re.match(r"The level of 'second' .* fell to -1 .* down to least = 0\. It is empty\.", below)
    assert re.match(r"The level of 'fourth' .* reached 9 .* up to 2 most = 8\. It overflows\.", beyond)


def test_limits_of_states_are_checked():
    with pytest.raises(flexmb.LawError, match="'pressures'"):
        flexmb.law(
            lambda t, relative, states, parameters, wrench, rates: None, states=("p",), floors={"pressures": "k"}
        )
    with pytest.raises(flexmb.LawError, match="'tread'"):
        flexmb.law(
            lambda t, relative, states, parameters, wrench, rates: None, states=("p",), limits={"p": ("tread", 0.3)}
        )

"""Equilibria with states of force elements and with wheels that roll, against closed forms."""

import numpy as np
import pytest
from scipy.optimize import fsolve

import flexmb
from flexmb.errors import EquilibriumError
from flexmb.linear import equilibrium, linearise

G, MASS = 9.81, 2.0


@flexmb.law(states=("force",), parameters=("k", "tau"))
def lagging(t, relative, states, parameters, wrench, rates):
    """A spring along z whose force lags behind."""
    wrench[2] = -states[0]
    rates[0] = (parameters[0] * relative.d[2] - states[0]) / parameters[1]


@flexmb.law(states=("integral",), parameters=("kp", "ki", "target"))
def regulator(t, relative, states, parameters, wrench, rates):
    """A regulator of the height, with an integral, and damping."""
    kp, ki, target = parameters
    rates[0] = target - relative.d[2]
    wrench[2] = kp * (target - relative.d[2]) + ki * states[0] - 8.0 * relative.v[2]


@flexmb.law(states=("deflection",), parameters=("k",))
def tread(t, relative, states, parameters, wrench, rates):
    """A tread that sticks while it rests: the deflection is what the frame has moved."""
    rates[0] = relative.v[2] - abs(relative.v[0]) * states[0]
    wrench[2] = -parameters[0] * states[0]


@flexmb.law(states=("wear",), parameters=())
def wearing(t, relative, states, parameters, wrench, rates):
    rates[0] = 1.0
    wrench[2] = -100.0 * relative.d[2]


def weight(law, start=0.0):
    """A mass that a law holds against gravity on a vertical guide."""
    system = flexmb.System(gravity=(0, 0, -G), name="weight")
    box = system.add(flexmb.rigid_body("box", mass=MASS, inertia=(1, 1, 1)), position=(0, 0, start))
    system.prismatic("guide", system.ground.at((0, 0, 0)), box, axis=(0, 0, 1))
    system.force("element", system.ground.at((0, 0, 0)), box.at((0, 0, 0)), law)
    return system


@pytest.mark.parametrize(
    ("law", "place", "state", "softest"),
    [
        (lagging(k=300.0, tau=0.1), -MASS * G / 300.0, -MASS * G, 300.0 / MASS),
        (regulator(kp=50.0, ki=20.0, target=0.3), 0.3, MASS * G / 20.0, np.inf),
        (tread(k=400.0), -MASS * G / 400.0, -MASS * G / 400.0, 400.0 / MASS),
    ],
)
def test_states_are_stationary_at_an_equilibrium(law, place, state, softest):
    """States that follow the displacement, that integrate a deviation, and that keep what has moved."""
    rest = equilibrium(weight(law))
    assert rest.state.q[2] == pytest.approx(place, rel=1e-9)
    assert rest.state.element_states == pytest.approx([state], rel=1e-9)
    assert rest.softest == pytest.approx(softest, rel=1e-8)
    assert rest.verdict == "not judged"
    assert rest.result.force("element")[0, 2] == pytest.approx(MASS * G, rel=1e-9)
    begun = flexmb.simulate(rest.mechanism, 0.2, step=1e-2, initial_state=rest.state)
    np.testing.assert_allclose(begun.q[:, 2], place, rtol=1e-9)


def test_a_regulator_has_the_eigenvalues_of_its_cubic():
    """m s^3 + c s^2 + kp s + ki about its equilibrium."""
    vibration = linearise(equilibrium(weight(regulator(kp=50.0, ki=20.0, target=0.3)))).modes()
    exact = np.roots([MASS, 8.0, 50.0, 20.0])
    np.testing.assert_allclose(
        np.sort_complex(vibration.eigenvalues), np.sort_complex(exact[exact.imag >= 0]), rtol=1e-9
    )


def test_a_spring_whose_force_lags_behind_is_not_called_stable():
    """m s^2 (1 + tau s) + k has roots to the right for any lag, though the potential has a minimum."""
    rest = equilibrium(weight(lagging(k=300.0, tau=0.1)))
    exact = np.roots([0.1 * MASS, MASS, 0.0, 300.0])
    found = linearise(rest).modes()
    np.testing.assert_allclose(np.sort_complex(found.eigenvalues), np.sort_complex(exact[exact.imag >= 0]), rtol=1e-8)
    assert not found.stable
    assert not rest.stable
    assert "linearise(...).modes() decides" in str(rest)


def test_a_cylinder_whose_valve_holds_every_motion_is_not_said_to_be_locked():
    """Without leakage the pressures adapt to every motion at once, and the position is that of the closed valve."""
    values = {"area_a": 8e-3, "area_b": 5e-3, "stroke": 0.8, "bulk_modulus": 1.2e9, "supply": 2.1e7, "flow": 6e-7}
    values |= {"target": 0.4, "gain": 20.0, "dead_volume": 2e-4, "laminar": 1e5, "tank": 1e5}
    begin = {"pressure a": 3e6, "pressure b": 1e6}
    law = flexmb.forces.hydraulic_cylinder(**values, initial=begin)
    system = flexmb.System(gravity=(0, 0, -G), name="press")
    box = system.add(flexmb.rigid_body("box", mass=1000.0, inertia=(1, 1, 1)), position=(0, 0, 0.4))
    system.prismatic("guide", system.ground.at((0, 0, 0)), box, axis=(0, 0, 1))
    system.force("cylinder", system.ground.at((0, 0, 0)), box.at((0, 0, 0)), law)
    with pytest.warns(flexmb.SensitivityWarning, match="'cylinder': the slope of its rate of state 'pressure a'"):
        rest = equilibrium(system)
    assert rest.verdict == "not judged"
    assert "states hold every motion" in str(rest)


def test_a_hydraulic_cylinder_finds_its_pressures():
    values = dict(  # noqa: C408
        area_a=2e-3, area_b=1.2e-3, stroke=0.5, bulk_modulus=1.2e9, supply=1.6e7, flow=1e-7, target=0.25, gain=20.0,
        dead_volume=1e-4, leakage=2e-13, laminar=1e4,
    )  # fmt: skip
    law = flexmb.forces.hydraulic_cylinder(**values, initial={"pressure a": 5e6, "pressure b": 6e6})
    system = flexmb.System(gravity=(0, 0, -G), name="press")
    box = system.add(flexmb.rigid_body("box", mass=500.0, inertia=(1, 1, 1)), position=(0, 0, 0.25))
    system.prismatic("guide", system.ground.at((0, 0, 0)), box, axis=(0, 0, 1))
    system.force("cylinder", system.ground.at((0, 0, 0)), box.at((0, 0, 0)), law)
    with pytest.warns(flexmb.SensitivityWarning, match="'cylinder': the slope of its rate of state 'pressure a'"):
        rest = equilibrium(system)  # the valve is at its centre, beside which it connects other lines

    def flows(unknown):
        x, pa, pb = unknown[0], unknown[1] * 1e6, unknown[2] * 1e6
        opening = 20.0 * (0.25 - x)
        root = lambda p: p / np.sqrt(abs(p) + 1e4)  # noqa: E731
        qa = 1e-7 * opening * (root(1.6e7 - pa) if opening >= 0 else root(pa))
        qb = -1e-7 * opening * (root(pb) if opening >= 0 else root(1.6e7 - pb))
        leak = 2e-13 * (pa - pb)
        return [(qa - leak) * 1e9, (qb + leak) * 1e9, (pa * 2e-3 - pb * 1.2e-3 - 500.0 * G) / 1e3]

    exact = fsolve(flows, [0.25, 5.0, 6.0], xtol=1e-13)
    found = [rest.state.q[2], *(rest.state.element_states / 1e6)]
    np.testing.assert_allclose(flows(found), 0.0, atol=1e-6)
    np.testing.assert_allclose(found, exact, rtol=1e-6)


def test_states_without_a_stationary_value_are_named():
    with pytest.raises(EquilibriumError, match=r"'wear' of 'element' of 'weight' has no stationary value"):
        equilibrium(weight(wearing()))


def test_a_motion_without_end_is_named_before_the_states_that_follow_it():
    """A constant force pushes the box away, and the force of a spring that lags behind at its side follows."""
    system = weight(lagging(k=0.0, tau=0.1))
    with pytest.raises(EquilibriumError, match=r"no equilibrium in 100 iterations.*'box' moves most"):
        equilibrium(system)


def test_a_wheel_at_rest_is_held_by_static_friction():
    """A wheel on a slope, with a torque, on a spring along the slope: the contact gives torque over radius."""
    slope, radius, torque, stiffness = 0.2, 0.4, 3.0, 80.0
    pull = MASS * G * np.sin(slope)
    system = flexmb.System(gravity=(G * np.sin(slope), 0, -G * np.cos(slope)), name="wheel")
    wheel = system.add(flexmb.rigid_body("wheel", mass=MASS, inertia=(0.1, 0.2, 0.1)), position=(0, 0, radius))
    system.rolling("contact", system.ground, wheel, radius=radius, axis=(0, 1, 0), at=(0, 0, radius))
    at = wheel.at((0, 0, 0))
    bushing = {"stiffness": (stiffness, 500.0, 0, 0, 0, 0)}
    system.bushing("spring", system.ground.at((0, 0, radius)), at, **bushing)
    system.bushing(
        "stand",
        system.ground.at((0, 0, radius)),
        wheel.at((0, 0, 0)),
        axis=(0, 1, 0),
        stiffness=(0, 0, 0, 50.0, 50.0, 0),
    )
    system.load("torque", at, moment=(0, torque, 0))
    rest = equilibrium(system)
    place = (pull + torque / radius) / stiffness
    assert rest.state.q[0] == pytest.approx(place, rel=1e-9)
    force = rest.result.reaction("contact")[0, :3]
    np.testing.assert_allclose(force, [torque / radius, 0, MASS * G * np.cos(slope)], atol=1e-8 * MASS * G)
    np.testing.assert_allclose(rest.softest, 50.0 / (MASS * radius**2), rtol=2.0)
    kept = flexmb.simulate(rest.mechanism, 0.2, step=1e-2, initial_state=rest.state)
    np.testing.assert_allclose(kept.q[:, 0], place, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::flexmb.errors.SensitivityWarning")  # the valve has other slopes ahead and behind
@pytest.mark.parametrize("commanded", [False, True])
@pytest.mark.parametrize("leakage", [0.0, 2e-12])
def test_a_cylinder_whose_valve_is_closed_carries_its_load(commanded, leakage):
    """By a law of its own, or by a controller, whose integral has no gain and stays at zero. A leak opens the valve by
    as much as it needs; without one, the pressures depend on where the search began."""
    area_a, area_b, mass, target = 5e-3, 3e-3, 3000.0, 0.6
    given = {
        "area_a": area_a, "area_b": area_b, "stroke": 0.8, "bulk_modulus": 1e9, "supply": 2e7, "flow": 1e-6,
        "retracted": 0.5, "dead_volume": 2e-4, "leakage": leakage, "laminar": 1e4, "initial": (7.1e6, 2e6),
    }  # fmt: skip
    system = flexmb.System(gravity=(0, 0, -9.81))
    load = system.add(flexmb.rigid_body("load", mass=mass, inertia=(1, 1, 1)), position=(0, 0, 0.62))
    system.prismatic("guide", system.ground, load, axis=(0, 0, 1), at=(0, 0, 0))
    law, inputs = flexmb.forces.hydraulic_cylinder(target=target, gain=20.0, **given), None
    if commanded:
        measured = {"measured": "position:load:z", "reference": target}
        system.controller("valve", flexmb.controllers.pid(20.0), inputs=measured, outputs={})
        law, inputs = flexmb.forces.commanded_cylinder(**given), {"opening": "command:valve:command"}
    system.force("cylinder", system.ground.at((0, 0, 0)), load.at((0, 0, 0)), law, inputs=inputs)
    rest = equilibrium(system)
    pa, pb, *others = rest.state.element_states
    assert pa * area_a - pb * area_b == pytest.approx(mass * 9.81, rel=1e-9)
    opening = 20.0 * (target - rest.state.q[2])
    assert opening == pytest.approx(0.0, abs=1e-9) or leakage
    for drop in (2e7 - pa, pb):
        assert opening * 1e-6 * drop / np.sqrt(drop + 1e4) == pytest.approx(leakage * (pa - pb), rel=1e-6, abs=1e-12)
    assert not np.any(others)


@pytest.mark.parametrize("opening", [1.0, 0.01, -0.5])
@pytest.mark.parametrize("begin", [(7.1e6, 2e6), (0.0, 0.0), (1e5, 2e7)])
def test_a_cylinder_against_a_spring_finds_its_pressures_from_afar(opening, begin):
    """Through an open valve the chambers reach the pressures of the supply and of the tank. The flow of an orifice has
    the tangent of a root, by which Newton's method goes to and fro between both sides of its zero."""
    area_a, area_b, supply, tank = 5e-3, 3e-3, 2e7, 1e5
    system = flexmb.System()
    load = system.add(flexmb.rigid_body("load", mass=3000.0, inertia=(1, 1, 1)), position=(0, 0, 0.9))
    system.prismatic("guide", system.ground, load, axis=(0, 0, 1), at=(0, 0, 0))
    law = flexmb.forces.commanded_cylinder(
        area_a=area_a, area_b=area_b, stroke=0.8, bulk_modulus=1e9, supply=supply, tank=tank, flow=1e-6, retracted=0.5,
        dead_volume=2e-4, laminar=1e4, initial=begin,
    )  # fmt: skip
    system.force("cylinder", system.ground.at((0, 0, 0)), load.at((0, 0, 0)), law, inputs={"opening": opening})
    system.joint_spring("spring", "guide", stiffness=1e6)
    force = supply * area_a - tank * area_b if opening > 0 else tank * area_a - supply * area_b
    rest = equilibrium(system)
    assert rest.result.force("cylinder")[0, 2] == pytest.approx(force, rel=1e-9)
    assert rest.state.q[2] == pytest.approx(0.9 + force / 1e6, rel=1e-9)


@flexmb.law(states=("warm", "hot"), parameters=("tau",))
def fading(t, relative, states, parameters, wrench, rates):
    """A force that fades away, whatever moves."""
    rates[0] = -states[0] / parameters[0]
    rates[1] = states[0] - 3.0 * states[1]
    wrench[2] = states[0] + states[1] - 100.0 * relative.d[2]


def test_states_that_end_at_zero_are_found():
    """What rounding left of them was their scale, and grew smaller and smaller, until a decomposition failed."""
    rest = equilibrium(weight(fading(tau=0.7, initial={"warm": 3.0, "hot": 1.0})))
    assert not rest.state.element_states.any()
    assert rest.result.position("box")[0, 2] == pytest.approx(-MASS * G / 100.0, rel=1e-12)
    found = linearise(rest).modes()
    assert np.abs(found.eigenvalues + 1.0 / 0.7).min() < 1e-9
    assert found.errors.max() < 1e-9


@pytest.mark.parametrize("sample_time", [None, 0.01])
def test_an_integral_that_holds_nothing_has_no_equilibrium(sample_time):
    """Its error vanishes at a height at which nothing carries the weight; it was said to rest there."""
    system = weight(lagging(k=300.0, tau=0.1))
    law, inputs = flexmb.controllers.pid(0.0, 1.0, sample_time=sample_time), {"measured": "coordinate:guide"}
    system.controller("record", law, inputs=inputs, outputs={})
    with pytest.raises(EquilibriumError, match=r"Where 'integral' of 'record'.*would rest, none of .*'box' moves most"):
        equilibrium(system)


@pytest.mark.parametrize("sample_time", [None, 0.01])
@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (1e-4, 2e-12), (1e3, 1e6)])
def test_integrals_of_any_size_hold_a_load(length, mass, sample_time):
    """A rod on a sprung mass, in units of any size: the reactions of the joints beside that of the integral."""
    system, unit = flexmb.System(gravity=(0, 0, -G * length)), mass * length**2
    base = system.add(flexmb.rigid_body("base", mass=mass, inertia=(unit,) * 3))
    rod = system.add(flexmb.uniform_rod("rod", mass=mass, length=length))
    system.prismatic("guide", system.ground, base, axis=(0, 0, 1), at=(0, 0, 0))
    system.joint_spring("spring", "guide", stiffness=50.0 * mass, damping=mass)
    system.revolute("hinge", base.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    law = flexmb.controllers.pid(20.0 * unit, 5.0 * unit, 2.0 * unit, filter=0.05, sample_time=sample_time)
    inputs = {"measured": "coordinate:hinge", "reference": 0.1}
    system.controller("servo", law, inputs=inputs, outputs={"command": "effort:hinge"})
    rest = equilibrium(system)
    assert rest.result.coordinate("hinge")[0] == pytest.approx(0.1, abs=1e-12)
    assert rest.state.element_states[0] / unit == pytest.approx(-0.5 * G * np.cos(0.1), rel=1e-10)
    slowest = linearise(rest).modes().eigenvalues.real.max()
    assert slowest == pytest.approx(-0.24994664 if sample_time is None else -0.24964358, rel=1e-6)


def test_an_integral_holds_a_body_without_weight():
    """No force acts at rest, so that what rounding leaves is not compared with forces."""
    draw = np.random.default_rng(0)
    for k in range(24):
        mass, kp, ki, kd, delay, place = draw.uniform(0.5, 2.0, 6)
        table = flexmb.System(name="table")
        stage = table.add(flexmb.rigid_body("stage", mass=2 * mass, inertia=(1, 1, 1)))
        axis = draw.standard_normal(3)
        table.prismatic("guide", table.ground.at((0, 0, 0)), stage, axis=tuple(axis))
        law = flexmb.controllers.pid(
            300 * kp, 200 * ki, 30 * kd, filter=0.02 * delay, sample_time=0.01 if k % 2 else None
        )
        inputs = {"measured": "coordinate:guide", "reference": 0.1 * place}
        table.controller("servo", law, inputs=inputs, outputs={"command": "effort:guide"})
        rest = flexmb.linear.equilibrium(table).state.q[:3]
        np.testing.assert_allclose(rest, 0.1 * place * axis / np.linalg.norm(axis), atol=1e-9)

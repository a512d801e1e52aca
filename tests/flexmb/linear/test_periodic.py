"""Periods of mechanisms that depend on time by nothing: self-excited oscillators, clocks, swings with motors and laws."""

import math
import warnings
from dataclasses import replace

import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmb
from flexmb.errors import LawError, LinearError, PeriodicCoefficientsWarning
from flexmb.linear import campbell, linearise, periodic_motion, stability_map, steady_motion, steady_running
from flexmb.linear.periodic import is_autonomous


def slider(law, start, **parts):
    """A unit mass on a slide, with a law for its force."""
    system = flexmb.System(**parts)
    mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)), position=(start, 0, 0))
    system.prismatic("guide", system.ground.at((0, 0, 0)), mass.at((0, 0, 0)), axis=(1, 0, 0))
    system.motor("law", "guide", law)
    return system


def van_der_pol(t, x, v):
    return (1 - x * x) * v - x


def test_van_der_pol_s_oscillator_finds_its_period():
    """6.6632868594 (a hundred sources), and its multiplier, by another integrator; as Python and compiled."""
    end = solve_ivp(lambda t, y: [y[1], van_der_pol(0, y[0], y[1]), 1 - y[0] ** 2], (0, 6.6632868594), [2.0086198608, 0, 0], rtol=1e-11, atol=1e-12)  # fmt: skip
    for law in (van_der_pol, numba.njit(van_der_pol)):
        found = periodic_motion(slider(law, 2.0), 6.5, steps=1500)
        assert found.period == pytest.approx(6.6632868594, rel=5e-6)
        assert found.stable
        np.testing.assert_allclose(np.abs(found.multipliers), [1.0, math.exp(end.y[2, -1])], rtol=0.02)


def clock(**motor):
    """A pendulum with an escapement that pushes it as it passes 0.3 rad in its direction, and drag."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    bob = flexmb.rigid_body("bob", mass=2.0, inertia=(1e-9,) * 3, centre=(0, 0, -0.5))
    system.revolute("hinge", system.ground.at((0, 0, 0)), system.add(bob, orientation=(0, -0.3, 0)), axis=(0, 1, 0))

    def escapement(t, angle, rate):
        return 0.3 * math.tanh(20 * rate) * math.exp(-(((angle - 0.3) / 0.05) ** 2)) - 0.05 * rate

    system.motor("escapement", "hinge", escapement)
    system.motor("train", "hinge", flexmb.time_functions.constant(0.0), **motor)
    return system


def test_a_clock_finds_its_beat():
    """Beside a motor whose torque is a constant function of time; the period of its own motion, simulated long."""
    found = periodic_motion(clock(), 1.4, steps=1000)
    long = flexmb.simulate(clock(), 60.0, step=1e-3)
    x = long.coordinate("hinge") - 0.3
    late = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0) & (long.t[:-1] > 40))
    crossings = long.t[late] - x[late] * np.diff(long.t)[late] / (x[late + 1] - x[late])
    assert found.period == pytest.approx(np.diff(crossings).mean(), rel=2e-5)
    assert found.stable
    assert 0.1 < np.abs(found.multipliers).min() < 0.95


def test_a_law_that_uses_its_time_keeps_the_period_that_is_given():
    """Duffing's oscillator, shaken by its law: the answer has the period of the shaking."""

    def law(t, x, v):
        return -x - 0.2 * x**3 - 0.4 * v + 0.3 * math.cos(1.5 * t)

    period = 2 * math.pi / 1.5
    found = periodic_motion(slider(law, 0.1), period, steps=800)
    assert found.period == period
    assert found.closure_error < 1e-6


@pytest.mark.parametrize(
    ("law", "alone"),
    [
        (van_der_pol, True),
        (lambda t, x, v: -x - v * abs(v), True),
        (lambda t, x, v: -x * (1 + 1e-6 * math.cos(t)), False),
        (lambda t, x, v: -x + 0.1 * math.exp(-(((t - 0.55) / 0.1) ** 2)), False),
    ],
)
def test_dependence_on_time_is_found_by_trying(law, alone):
    result = flexmb.simulate(slider(law, 1.0), 1.0, step=1e-2)
    assert is_autonomous(result) == alone
    system = slider(law, 1.0)
    system.motor("shake", "guide", flexmb.time_functions.harmonic(1.0, 1.0))
    assert not is_autonomous(flexmb.simulate(system, 1.0, step=1e-2))


def test_a_law_that_fails_at_other_times_is_told():
    def law(t, x, v):
        if t > 0.5 and x > 0.99:
            raise ValueError("not at this time")
        return -x

    result = flexmb.simulate(slider(law, 1.0), 1.0, step=1e-2)
    with pytest.raises(LawError, match="not at this time"):
        is_autonomous(result)


@pytest.mark.parametrize("how", ["law", "function", "driver", "driver of a slide", "translation"])
def test_a_period_that_is_not_that_of_the_drivers_is_refused(how):
    """A motion may close in any time; it does not go on as it began."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    place = system.ground.at((0, 0, 0))
    if how == "driver of a slide":
        system.cylindrical("hinge", place, rod["start"], axis=(0, 0, 1))
        system.drive("hinge", flexmb.time_functions.harmonic(0.1, 1 / 1.5), dof="translation")
    elif how == "translation":
        system.prismatic("hinge", place, rod["start"], axis=(0, 0, 1))
        system.drive("hinge", flexmb.time_functions.constant_speed(2 * np.pi))  # goes on and on
    else:
        system.revolute("hinge", place, rod["start"], axis=(0, 0, 1))
        if how == "driver":
            system.drive("hinge", flexmb.time_functions.constant_speed(2 * np.pi / 1.5))
        elif how == "function":
            system.motor("motor", "hinge", flexmb.time_functions.harmonic(0.1, 1 / 1.5), damping=0.3)
        else:
            system.motor("motor", "hinge", lambda t, x, rate: 0.1 * np.cos(2 * np.pi * t / 1.5) - 0.3 * rate)
    if how == "driver":
        found = periodic_motion(system, 1.5, steps=100)
        assert found.closure_error < 1e-9
        assert found.stable  # nothing is free to deviate
        with pytest.raises(LinearError, match=r"does not repeat itself in the period 0\.75"):
            periodic_motion(system, 0.75, steps=100)  # half a revolution
    with pytest.raises(LinearError, match=r"does not repeat itself in the period 1\.49"):
        periodic_motion(system, 1.49, steps=100)


def test_a_table_of_one_period_is_enough():
    times = np.linspace(0, 1.5, 31)
    system = flexmb.System()
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
    system.joint_spring("coil", "hinge", stiffness=3.0, damping=0.3)
    system.motor("motor", "hinge", flexmb.time_functions.table(times, np.sin(2 * np.pi * times / 1.5)))
    assert periodic_motion(system, 1.5, steps=100).stable
    with pytest.raises(LinearError, match="does not repeat itself"):
        periodic_motion(system, 1.4, steps=100)


def test_a_state_is_periodic_with_the_motion():
    """A mass on a spring and a Maxwell element, pushed harmonically: amplitude, state and Floquet multipliers."""

    @flexmb.law(states=("force",), parameters=("k", "tau"))
    def maxwell(t, relative, states, parameters, wrench, rates):
        wrench[0] = -states[0]
        rates[0] = parameters[0] * relative.v[0] - states[0] / parameters[1]

    m, k, series, tau, frequency = 2.0, 50.0, 40.0, 0.2, 1.1
    system = flexmb.System()
    box = system.add(flexmb.rigid_body("box", mass=m, inertia=(1, 1, 1)))
    system.prismatic("guide", system.ground.at((0, 0, 0)), box, axis=(1, 0, 0))
    system.joint_spring("spring", "guide", stiffness=k)
    system.force("mount", system.ground.at((0, 0, 0)), box.at((0, 0, 0)), maxwell(k=series, tau=tau))
    system.load("push", box.at((0, 0, 0)), force=(3, 0, 0), factor=flexmb.time_functions.harmonic(1.0, frequency))
    step = 0.05 / frequency
    found = periodic_motion(system, 1 / frequency, method="radau", step=step, output_step=step)
    s = 2j * np.pi * frequency
    element = series * s / (s + 1 / tau)
    amplitude = abs(3 / (m * s * s + k + element))
    place, force = found.result.q[:-1, 0], found.result.element_states[:-1, 0]
    assert np.sqrt(2) * place.std() == pytest.approx(amplitude, rel=1e-5)
    assert np.sqrt(2) * force.std() == pytest.approx(amplitude * abs(element), rel=1e-5)
    roots = np.roots(np.polyadd(np.polymul([1, 1 / tau], [m, 0, k]), [series, 0]))
    exact = np.exp(roots / frequency)
    np.testing.assert_allclose(np.sort_complex(found.multipliers), np.sort_complex(exact), atol=1e-6)
    assert found.stable


@pytest.mark.parametrize(
    "options", [{"steps": 2000}, {"method": "radau"}, {"method": flexmb.Radau(tolerance=1e-9)}], ids=str
)
def test_floquet_multipliers_of_a_spinning_pendulum(options):
    """Lagrange's top hangs and spins: its tilt p, as a complex number, satisfies A p'' - i C n p' + m g l p = 0. Free
    directions of the three rotations turn with the body. Errors of steps of 1e-9 are 1e-5 over the perturbation."""
    mass, length, across, along, spin = 2.0, 0.5, 0.1, 0.15, 5.0
    system = flexmb.System(gravity=(0, 0, -9.81))
    top = flexmb.rigid_body("top", mass=mass, inertia=(across, across, along), centre=(0, 0, -length))
    hung = system.add(top, angular_velocity=(0, 0, spin))
    system.spherical("hook", system.ground.at((0, 0, 0)), hung.at((0, 0, 0)))
    period = 2 * np.pi / spin
    found = periodic_motion(system, period, correct=False, **options)
    roots = np.roots([across + mass * length**2, -1j * along * spin, mass * 9.81 * length])
    for multiplier in np.exp(np.concatenate([roots, roots.conj()]) * period):
        assert np.abs(found.multipliers - multiplier).min() < 1e-4
    assert np.prod(found.multipliers) == pytest.approx(1.0, abs=1e-4)  # those of the spin and its angle are one


RATE = 15.0
FRAME, BLADE, ARM, OFFSET, SPRING, LAG = 50.0, 2.0, 1.5, 0.3, 4050.0, 40.0


def rotor_on_springs(damping=0.0):
    """Three blades with lag hinges on a hub that turns in a frame on springs; masses of points."""
    system = flexmb.System(name="rotor on springs")
    slide = system.add(flexmb.rigid_body("slide", mass=1e-3, inertia=(1e-3,) * 3))
    frame = system.add(flexmb.rigid_body("frame", mass=FRAME, inertia=(1.0,) * 3))
    hub = system.add(flexmb.rigid_body("hub", mass=1e-3, inertia=(1e-3,) * 3), angular_velocity=(0, 0, RATE))
    system.prismatic("x", system.ground, slide, axis=(1, 0, 0), at=(0, 0, 0))
    system.prismatic("y", slide, frame, axis=(0, 1, 0), at=(0, 0, 0))
    system.revolute("shaft", frame, hub, axis=(0, 0, 1), at=(0, 0, 0))
    system.drive("shaft", flexmb.time_functions.constant_speed(RATE))
    for joint in ("x", "y"):
        system.joint_spring(f"spring {joint}", joint, stiffness=SPRING, damping=damping)
    for k in range(3):
        angle = 2 * np.pi * k / 3
        place = OFFSET * np.array([np.cos(angle), np.sin(angle), 0.0])
        blade = flexmb.rigid_body(f"blade {k}", mass=BLADE, inertia=(1e-6,) * 3, centre=(ARM, 0, 0))
        turning = {"velocity": np.cross((0, 0, RATE), place), "angular_velocity": (0, 0, RATE)}
        hung = system.add(blade, position=place, orientation=(0, 0, angle), **turning)
        system.revolute(f"lag {k}", hub, hung, axis=(0, 0, 1), at=place)
        system.joint_spring(f"hinge {k}", f"lag {k}", stiffness=LAG)
    return system


def ground_resonance():
    """Eigenvalues of the same rotor in the coordinates of Coleman, in which its coefficients are constant, but for the
    motion of all blades alike.

    Source: Coleman, Feingold, NACA Report 1351 (1958)."""
    inertia, moment = BLADE * ARM**2 + 1e-6, BLADE * ARM
    held = LAG + RATE**2 * OFFSET * moment - RATE**2 * inertia
    M = np.diag([FRAME + 2e-3 + 3 * BLADE, FRAME + 1e-3 + 3 * BLADE, inertia, inertia])
    M[0, 3], M[1, 2], M[2, 1], M[3, 0] = -1.5 * moment, 1.5 * moment, moment, -moment
    D, K = np.zeros((4, 4)), np.diag([SPRING, SPRING, held, held])
    D[2, 3], D[3, 2] = 2 * RATE * inertia, -2 * RATE * inertia
    A = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    return np.linalg.eigvals(A)


def test_floquet_multipliers_of_blades_on_a_frame_that_moves():
    """Motions of driven joints turn with the hub: velocities of deviations that close them are found without a change
    of those along the independent motions, whatever the masses are."""
    period = 2 * np.pi / RATE
    found = periodic_motion(rotor_on_springs(), period, steps=500)
    for multiplier in np.exp(ground_resonance() * period):
        assert np.abs(found.multipliers - multiplier).min() < 1e-4
    assert np.abs(found.multipliers).max() == pytest.approx(1.4099, abs=1e-3)  # it shakes itself to pieces
    assert not found.stable


def test_eigenvalues_of_a_rotor_on_a_frame_that_does_not_turn_are_told_to_be_those_of_an_instant():
    steady = steady_motion(rotor_on_springs(damping=1.0))
    with pytest.warns(
        PeriodicCoefficientsWarning, match="rotor on springs.*neither the frequencies nor the stab"
    ) as told:
        found = linearise(steady).modes()
    assert told[0].filename == __file__
    assert found.eigenvalues.real.max() < 1e-9  # none grows at this instant, and the motion does
    with pytest.warns(PeriodicCoefficientsWarning) as told:
        campbell(lambda damping: rotor_on_springs(damping), [1.0, 2.0], count=2)
    assert len(told) == 1
    with pytest.warns(PeriodicCoefficientsWarning) as told:
        stability_map(lambda a, b: rotor_on_springs(a + b), [1.0, 2.0], [0.0, 1.0], moving=True)
    assert len(told) == 1


@pytest.mark.parametrize("softer", [0.0, 0.01])
def test_a_shaft_in_bearings_that_are_softer_in_one_direction_has_periodic_coefficients(softer):
    """Seen from the shaft; those of bearings that are the same all around are constant, and no warning comes."""
    assert changes_told(steady_motion(turning_shaft(softer))) == (softer > 0)


def changes_told(*of):
    """How many warnings of coefficients that change `linearise` gives."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        linearise(*of)
    return [w.category for w in told].count(PeriodicCoefficientsWarning)


def with_lag(system):
    """The system with a continuous controller with a state, so that its small motions are of first order."""
    law = flexmb.controllers.linear(([3.0], [0.1, 1.0]))
    system.controller("lag", law, inputs={"input": "stretch:spring x"}, outputs={"command": "effort:spring x"})
    return system


def turning_shaft(softer):
    """A shaft that turns in a bearing, which is softer in one direction."""
    system = flexmb.System(name="shaft")
    shaft = system.add(flexmb.rigid_body("shaft", mass=2.0, inertia=(0.1, 0.1, 0.02)), angular_velocity=(0, 0, 20.0))
    stiffness = (1e4, (1 - softer) * 1e4, 1e4, 500.0, 500.0, 0.0)
    system.bushing("bearing", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), stiffness=stiffness, damping=(0.0,) * 6)
    return system


def test_changing_coefficients_are_told_of_steady_running_and_of_states_that_move():
    rotor = rotor_on_springs(damping=1.0)
    steady = steady_motion(rotor)
    assert changes_told(steady.mechanism, steady.state) == 1
    assert changes_told(steady_running(rotor)) == 1
    for softer in (0.0, 0.01):
        assert changes_told(turning_shaft(softer)) == (softer > 0)
        assert changes_told(steady_running(turning_shaft(softer))) == (softer > 0)


def test_changing_coefficients_are_told_where_a_table_of_a_driver_ends():
    """The place of a turn before is taken."""
    rotor = rotor_on_springs(damping=1.0)
    steady = steady_motion(rotor)
    turned = flexmb.time_functions.table(np.linspace(0, 1, 5), np.linspace(-RATE, 0, 5))
    mechanism = replace(steady.mechanism, functions=(turned,))
    state = replace(steady.state, t=1.0)
    assert changes_told(mechanism, state) == 1


def test_changing_coefficients_of_equations_of_first_order_are_told():
    assert changes_told(steady_running(with_lag(rotor_on_springs(damping=1.0)))) == 1


def test_constant_coefficients_and_motions_that_are_not_steady_have_no_warning():
    radius = 0.5
    inertia = (radius**2 / 4, radius**2 / 2, radius**2 / 4)
    wheel = flexmb.rigid_body("disc", mass=1.0, inertia=inertia)
    for lean in (0.0, 0.4):
        street = flexmb.System(gravity=(0, 0, -9.81))
        axis, centre = (0.0, np.cos(lean), np.sin(lean)), (0, -radius * np.sin(lean), radius * np.cos(lean))
        moving = {"velocity": (2.0, 0, 0), "angular_velocity": (0, 4.0, 10 * lean)}
        disc = street.add(wheel, position=centre, orientation=(lean, 0, 0), **moving)
        street.rolling("contact", street.ground, disc, radius=radius, axis=axis, at=centre)
        assert changes_told(steady_running(street)) == 0
    thrown = flexmb.System(name="thrown")
    moving = {"velocity": (1.0, 0, 0), "angular_velocity": (0, 0, 20.0)}
    thrown.add(flexmb.rigid_body("body", mass=1.0, inertia=(0.1, 0.08, 0.02)), **moving)
    assert changes_told(thrown) == changes_told(steady_motion(thrown)) == 0
    swing = flexmb.System(gravity=(0, -9.81, 0))
    rod = swing.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    swing.revolute("pivot", swing.ground, rod["start"], axis=(0, 0, 1))
    swing.set_speed("pivot", 3.0)
    assert changes_told(swing) == 0

"""Small motions of mechanisms with element states and with rows for velocities, against closed forms."""

import numpy as np
import pytest
from test_rolling import RADIUS, G, disc, steady

import flexmb
from flexmb.errors import LinearError, MechanismError
from flexmb.linear import frequency_response, input_names, linearise, state_space
from flexmb.linear.vibration import Vibration
from flexmb.results.measure import measure

MASS, STIFFNESS, SERIES, TAU = 2.0, 300.0, 500.0, 0.03
FREQUENCIES = np.array([0.0, 0.5, 2.0, 3.0, 20.0])


@flexmb.law(states=("force",), parameters=("k", "tau"))
def maxwell(t, relative, states, parameters, wrench, rates):
    """A spring and a damper in series, along x."""
    k, tau = parameters
    wrench[0] = -states[0]
    rates[0] = k * relative.v[0] - states[0] / tau


def mounted():
    """A mass on a spring beside a Maxwell element, above a table that may be shaken."""
    system = flexmb.System(name="mounted")
    table = system.add(flexmb.rigid_body("table", mass=1.0, inertia=(1, 1, 1)))
    box = system.add(flexmb.rigid_body("box", mass=MASS, inertia=(1, 1, 1)), position=(1.0, 0, 0))
    system.prescribe("shaker", system.ground.at((0, 0, 0)), table, axis=(1, 0, 0))
    system.prismatic("guide", table.at((0, 0, 0)), box, axis=(1, 0, 0))
    system.joint_spring("spring", "guide", stiffness=STIFFNESS)
    system.force("mount", table.at((1.0, 0, 0)), box.at((0, 0, 0)), maxwell(k=SERIES, tau=TAU))
    system.load("push", box.at((0, 0, 0)), force=(1, 0, 0), factor=flexmb.time_functions.constant(0.0))
    return system


def test_a_maxwell_element_adds_its_eigenvalue():
    """s (m s^2 + k) + k1 m... : the cubic of mass, spring and relaxing element."""
    vibration = linearise(mounted()).modes()
    cubic = np.polyadd(np.polymul([1, 1 / TAU], [MASS, 0, STIFFNESS]), [SERIES, 0])
    exact = np.roots(cubic)
    exact = np.sort_complex(exact[exact.imag >= 0])
    np.testing.assert_allclose(np.sort_complex(vibration.eigenvalues), exact, rtol=1e-10)
    assert (vibration.errors < 1e-8).all()
    assert vibration.verdict == "stable"
    assert linearise(mounted()).state_matrix().shape == (3, 3)
    with pytest.raises(LinearError, match=r"state_matrix\(\)"):
        linearise(mounted()).reduced()


def test_responses_of_a_maxwell_element():
    """Displacement, force of the element and of the table, for a force and for a shaken table."""
    linear = linearise(mounted())
    shaken = next(name for name in input_names(linear.mechanism) if name == "shaker.z")
    outputs = {
        "place": measure("position:guide.b:x"),
        "element": lambda r: r.force("mount")[:, 0],
        "table": measure("force:shaker:x"),
    }
    s = 2j * np.pi * FREQUENCIES
    dynamic = STIFFNESS + SERIES * s / (s + 1 / TAU)
    D = MASS * s**2 + dynamic
    element = SERIES * s / (s + 1 / TAU)
    exact = np.moveaxis(
        np.array(
            [
                [1 / D, dynamic / D],
                [-element / D, -element * (dynamic / D - 1)],
                [-dynamic / D, s**2 + MASS * s**2 * dynamic / D],
            ]
        ),
        2,
        0,
    )
    response = frequency_response(linear, FREQUENCIES, ["push", shaken], outputs)
    np.testing.assert_allclose(response.values, exact, rtol=1e-7, atol=1e-7)
    plant = state_space(linear, ["push", shaken], outputs)
    for k, at in enumerate(s[1:], 1):
        transfer = plant.C @ np.linalg.solve(at * np.eye(len(plant.A)) - plant.A, plant.B) + plant.D
        transfer[:, 1] *= at**2
        np.testing.assert_allclose(transfer, response.values[k], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("motion", "wobble", "turning"),
    [
        ((np.pi / 2, 0.0, 6.0), np.sqrt(2.4 * 36.0 - 0.8 * G / RADIUS), 0.0),
        ((np.pi / 2, 6.0, 0.0), np.sqrt(36.0 - 0.8 * G / RADIUS), 6.0),
        ((1.1, 3.0, steady(1.1, 3.0)[0]), np.sqrt(steady(1.1, 3.0)[1]), 3.0),
    ],
)
def test_small_motions_about_rolling_are_those_of_routh(motion, wobble, turning):
    """Five coordinates, three velocities: a wobble, two steady motions beside, and place, heading and spin."""
    linear = linearise(disc(*motion))
    vibration = linear.modes()
    assert linear.ignorable == ("disc x", "disc y", "disc about y", "disc about z")
    assert linear.state_matrix().shape == (8, 8)
    apart = vibration.eigenvalues[vibration.ignorable]
    np.testing.assert_allclose(np.unique(apart.imag), np.unique([0.0, turning]), atol=1e-9)
    assert not apart.real.any()
    own, errors = vibration.eigenvalues[~vibration.ignorable], vibration.errors[~vibration.ignorable]
    np.testing.assert_allclose(np.sort(own.imag), [0.0, 0.0, wobble], atol=1e-9)
    assert (np.abs(own - np.array([0, 0, 1j * wobble])[np.argsort(own.imag).argsort()]) <= errors).all()
    assert vibration.stable
    assert vibration.verdict == "undecided"
    assert "ignorable" in str(vibration)


def test_a_skate_with_its_mass_behind_the_edge_is_unstable():
    """Chaplygin's sleigh: the edge at a distance a ahead of the mass centre, or behind; growth m a v / (J + m a^2)."""
    for behind, sign in ((0.3, 1), (-0.3, -1)):
        system = flexmb.System()
        body = flexmb.rigid_body("sleigh", mass=2.0, inertia=(1.0, 1.0, 0.5))
        sleigh = system.add(body, velocity=(4.0, 0, 0))
        system.planar("ice", system.ground, sleigh, normal=(0, 0, 1), at=(0, 0, 0))
        system.knife_edge("edge", system.ground, sleigh.at((behind, 0, 0)), heading=(1, 0, 0))
        vibration = linearise(system).modes()
        own = vibration.eigenvalues[~vibration.ignorable].real
        expected = sign * 2.0 * 0.3 * 4.0 / (0.5 + 2.0 * 0.09)
        np.testing.assert_allclose(np.sort(own), np.sort([0.0, expected]), atol=1e-9)
        assert vibration.stable == (sign < 0)


def test_laws_that_return_new_states_are_refused():
    @flexmb.law(states=("slip",), updates=True)
    def plastic(t, relative, states, parameters, wrench, rates):
        rates[0] = states[0]
        wrench[0] = -relative.d[0] + states[0]

    system = flexmb.System()
    box = system.add(flexmb.rigid_body("box", mass=1.0, inertia=(1, 1, 1)))
    system.force("hinge", system.ground.at((0, 0, 0)), box.at((0, 0, 0)), plastic())
    with pytest.raises(MechanismError, match=r"Linearisation does not include laws .* no rates, .* 'hinge'"):
        linearise(system)


def test_the_table_tells_aperiodic_motions_apart():
    values = np.array([-10.0, -82.5, 0.25 + 2j * np.pi])
    lines = str(Vibration(values, np.ones((1, 3), complex), np.zeros(3))).splitlines()
    assert [float(line.split()[3]) for line in lines[1:4]] == [-10.0, -82.5, 0.25]
    assert lines[0].split()[-2:] == ["growth", "rate"]


def test_a_skate_that_turns_in_coordinates_that_do_not():
    """A skate on slides along x and y, at an angle c, which it changes with the rate w. With p = x' the edge makes y' = p tan c, and p' (A + m tan^2 c) = -m p w tan c / cos^2 c if A moves along x and m along y, so that p decays by itself."""
    c, w, light, heavy = 0.4, 1.5, 0.7, 3.0
    ahead = np.array([np.cos(c), np.sin(c), 0.0])
    system = flexmb.System()
    slide, upper = (
        flexmb.rigid_body(name, mass=m, inertia=(1, 1, 1)) for name, m in (("slide", light), ("upper", 1.0))
    )
    slide, upper = system.add(slide, velocity=(2 * ahead[0], 0, 0)), system.add(upper, velocity=2 * ahead)
    skate = flexmb.rigid_body("skate", mass=heavy - 1.0, inertia=(1, 1, 1))
    skate = system.add(skate, orientation=(0, 0, c), velocity=2 * ahead, angular_velocity=(0, 0, w))
    system.prismatic("x", system.ground.at((0, 0, 0)), slide.at((0, 0, 0)), axis=(1, 0, 0))
    system.prismatic("y", slide.at((0, 0, 0)), upper.at((0, 0, 0)), axis=(0, 1, 0))
    system.revolute("pivot", upper.at((0, 0, 0)), skate.at((0, 0, 0)), axis=(0, 0, 1))
    system.knife_edge("edge", system.ground, skate.at((0, 0, 0)), heading=ahead)
    t = np.tan(c)
    decay = -heavy * t * (1 + t**2) * w / (light + heavy + heavy * t**2)
    assert linearise(system).modes().eigenvalues.real.min() == pytest.approx(decay, rel=1e-8)
    system.load("pull", slide.at((0, 0, 0)), force=(1, 0, 0), factor=flexmb.time_functions.constant(0.0))
    of_x, of_y = (lambda r, k=k: r.acceleration("upper")[:, k] for k in range(2))
    found = frequency_response(linearise(system), [0.05, 0.3], ["pull"], {"x": of_x, "y": of_y})
    s = 2j * np.pi * found.frequencies
    p = 1.0 / ((s - decay) * (light + heavy + heavy * t**2))
    np.testing.assert_allclose(found.of("x", "pull"), s * p, atol=1e-8)
    np.testing.assert_allclose(found.of("y", "pull"), s * p * t + p * w * (1 + t**2), atol=1e-8)  # the edge turns
    with pytest.raises(LinearError, match=r"At the frequency 0 .*nothing restrains"):
        frequency_response(linearise(system), [0.0, 0.3], ["pull"], {"y": of_y})

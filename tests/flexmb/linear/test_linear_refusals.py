"""What analyses of small motions refuse: each with its message, word by word, beside the nearest input they accept."""

import numpy as np
import pytest
from refusals import refused

import flexmb
from flexmb.errors import ControllerError, ConvergenceError, EquilibriumError, LawError, LinearError
from flexmb.linear import (
    equilibrium,
    frequency_response,
    linearise,
    periodic_motion,
    root_locus,
    stability_map,
    steady_running,
)


def guided(stiffness, count=1):
    """Masses under gravity on rails; springs, if there are any, hold them."""
    system = flexmb.System(gravity=(0, -9.81, 0), name="m")
    for k in range(round(count)):
        mass = system.add(flexmb.rigid_body(f"mass {k}", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, k))
        system.prismatic(f"rail {k}", system.ground, mass, axis=(0, 1, 0), at=(0, 0, k))
        if stiffness:
            system.joint_spring(f"spring {k}", f"rail {k}", stiffness=stiffness)
    return system


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [float("inf")]])
def test_values_of_a_locus_are_finite_numbers(values):
    message = f"Values of 'stiffness' must be finite numbers, at least one; found {values!r}."
    refused(LinearError, message, root_locus, guided, values, parameter="stiffness")
    assert len(root_locus(guided, [100.0], parameter="stiffness").values) == 1


def test_the_coordinates_of_a_locus_are_always_the_same():
    with pytest.raises(
        LinearError,
        match=r"^The bodies and modes of the mechanism must not depend on 'count'; at 2 it has \d+ coordinates, before \d+\.$",
    ):
        root_locus(lambda count: guided(100.0, count), [1.0, 2.0], parameter="count")
    root_locus(lambda count: guided(100.0, count), [1.0, 1.2], parameter="count")


def test_a_map_has_an_equilibrium_somewhere():
    message = "None of the pairs of values has an equilibrium near its initial state."
    refused(LinearError, message, stability_map, lambda a, b: guided(0.0), [1.0], [1.0, 2.0], names=("a", "b"))
    found = stability_map(lambda a, b: guided(a), [0.0, 100.0], [1.0, 2.0], names=("a", "b"))
    np.testing.assert_array_equal(np.isnan(found.growth), [[True, False]] * 2)


def test_a_response_at_rest_of_what_nothing_restrains_is_refused():
    system = guided(0.0)
    system.motor("motor", "rail 0", 0.0)
    message = (
        "At the frequency 0 there is no response: a motion that nothing restrains has no place to come to rest. Begin at a "
        "small frequency, or restrain it."
    )
    found, outputs = linearise(system), ["coordinate:rail 0"]
    refused(LinearError, message, frequency_response, found, [0.0], ["motor"], outputs)
    assert np.isfinite(frequency_response(found, [0.1], ["motor"], outputs).values).all()


def satellite(thrust, panel=0.0, held=False):
    """A satellite of 12, of which a `panel` may be on a sprung hinge, a quarter of a length beside its middle."""
    system = flexmb.System(gravity=(0, 0, -1.5), name="m")
    bus = system.add(flexmb.rigid_body("bus", mass=12.0 - panel, inertia=(1, 1, 1)))
    system.load("thrust", bus.at((0, 0, 0)), force=(thrust, 0, 0))
    if panel:
        panel = system.add(flexmb.rigid_body("panel", mass=panel, inertia=(1, 1, 1)), position=(0, 1.0, 0))
        system.revolute("hinge", bus.at((0, 0.75, 0)), panel, axis=(0, 0, 1))
        system.joint_spring("spring", "hinge", stiffness=50.0)
    if held:
        system.fixed("clamp", system.ground.at((0, 0, 0)), bus)
    return system


def test_the_error_of_a_body_under_thrust_names_the_acceleration(monkeypatch):
    """Held and accelerated as it says, the joint that holds it has no force, and the spring carries the panel."""
    monkeypatch.setattr("flexmb.linear.rest.search.ITERATIONS", 10)  # for speed
    said = (
        r"Its loads accelerate all of it by \(0\.5, 0, -1\.5\)\. For its steady state in axes that accelerate with it, "
        r"hold one body by a fixed joint to the ground, and give equilibrium this acceleration=\.$"
    )
    with pytest.raises(EquilibriumError, match=said):
        equilibrium(satellite(6.0))
    with pytest.raises(EquilibriumError, match=r"as drawn\.$"):  # it falls
        equilibrium(satellite(0.0))
    result = equilibrium(satellite(6.0, 2.0, held=True), acceleration=(0.5, 0, -1.5)).result
    np.testing.assert_allclose(result.reaction("clamp")[:, :3], 0.0, atol=1e-9)
    turn = abs(result.coordinate("hinge")[0])
    assert 50.0 * turn == pytest.approx(2.0 * 0.5 * 0.25 * np.cos(turn), rel=1e-9)


@flexmb.law(states=("force",))
def relaxing(t, relative, states, parameters, wrench, rates):
    wrench[0] = -states[0]
    rates[0] = relative.v[0] - 30.0 * states[0]


def beside(kind):
    """Three equal masses in a row, with equal springs, one end on the ground and nothing that damps them; and beside
    them a damped mass, with a state or with samples of its own."""
    system = flexmb.System(name="m")
    before = system.ground
    for k in range(3):
        mass = system.add(flexmb.rigid_body(f"mass {k}", mass=2.0, inertia=(1, 1, 1)), position=(k, 0, 0))
        system.prismatic(f"rail {k}", before, mass, axis=(1, 0, 0), at=(k, 0, 0))
        system.joint_spring(f"spring {k}", f"rail {k}", stiffness=300.0)
        before = mass
    other = system.add(flexmb.rigid_body("other", mass=1.0, inertia=(1, 1, 1)), position=(0, 1, 0))
    system.prismatic("apart", system.ground, other, axis=(1, 0, 0), at=(0, 1, 0))
    system.joint_spring("soft", "apart", stiffness=5.0, damping=1.0)
    if kind == "states":
        system.force("mount", system.ground.at((0, 1, 0)), other.at((0, 0, 0)), relaxing())
    if kind == "samples":
        inputs, outputs = {"angle": "coordinate:apart"}, {"torque": "effort:apart"}
        system.controller("servo", two_sided(sample_time=0.07), inputs=inputs, outputs=outputs)
    system.motor("motor", "rail 0", 0.0)
    return linearise(system)


@pytest.mark.parametrize("kind", ["plain", "states", "samples"])
def test_a_response_in_resonance_to_within_rounding_is_refused(kind):
    """Frequencies of a chain of three masses: `2 sqrt(k / m) sin((2 j - 1) pi / 14) / (2 pi)`. The matrix was refused only where
    it is exactly singular, and responses of up to 1e16 times the static one were returned."""
    found, outputs = beside(kind), ["coordinate:rail 0"]
    for j in (1, 2, 3):
        f = np.sqrt(150.0) * np.sin((2 * j - 1) * np.pi / 14) / np.pi
        message = f"At the frequency {f:.6g} the response is infinite: an undamped motion is in resonance."
        refused(LinearError, message, frequency_response, found, [0.1, f], ["motor"], outputs)
        near = frequency_response(found, [f * (1 - 1e-9), f * (1 + 1e-9)], ["motor"], outputs).values
        assert np.abs(near).min() > 1e5 / 300.0


@flexmb.control_law(inputs=("angle",), commands=("torque",))
def one_sided(t, inputs, states, parameters, commands, rates):
    if inputs[0] > 0.0:
        raise ValueError("beyond the table")
    commands[0] = -inputs[0]


@flexmb.control_law(inputs=("angle",), commands=("torque",))
def two_sided(t, inputs, states, parameters, commands, rates):
    commands[0] = -inputs[0]


def sampled(law, source="coordinate:rail 0"):
    system = guided(100.0)
    system.controller("servo", law(sample_time=0.01), inputs={"angle": source}, outputs={"torque": "effort:rail 0"})
    return linearise(system)


def test_sampled_laws_and_their_inputs_have_values_beside_the_sample():
    with pytest.raises(
        LawError, match=r"^The law of 'servo' failed at t = 0, angle = .*: ValueError: beyond the table\.$"
    ):
        sampled(one_sided)
    with pytest.raises(
        ControllerError, match=r"^Controller 'servo', input 'angle': A measure position .*; found 'position:mass 0'\.$"
    ):
        sampled(two_sided, "position:mass 0")
    for source in ("coordinate:rail 0", "position:mass 0:y"):
        sampled(two_sided, source)


def test_steady_running_begins_where_laws_have_values():
    def search(law):
        system = guided(0.0)
        system.joint_spring("own", "rail 0", law=law)
        return steady_running(system)

    def failing(t, x, xdot):
        raise ValueError("no value")

    with pytest.raises(
        EquilibriumError,
        match=r"^The search for steady running of 'm' leaves the places at which its laws have values\. The law of 'own' "
        r"failed at t = 0, x = 0, xdot = 0: ValueError: no value\. It began at t = 0 with 'mass 0' at \[0\.0, 0\.0, 0\.0\]\.",
    ):
        search(failing)
    search(lambda t, x, xdot: 9.81 - 100.0 * x - xdot)


def test_a_motion_that_does_not_close_is_no_periodic_motion():
    with pytest.raises(
        ConvergenceError,
        match=r"^No periodic motion of 'm' was found near its initial state: after 20 corrections the end of one period of "
        r"0\.6\d+ still differs from its start by \d\S* \(lengths of the mechanism, radians\)\. Start nearer to one: ",
    ):
        periodic_motion(guided(100.0), 0.62, step=1e-2, tolerance=1e-40)
    assert periodic_motion(guided(100.0), 0.62, step=1e-2).closure_error <= 1e-7

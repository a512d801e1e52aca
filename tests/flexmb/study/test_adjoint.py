"""Gradients by the adjoint and by the direct method against differences of simulations."""

from dataclasses import replace

import numpy as np
import pytest
from mechanisms import random_flexible_body

import fem
import flexmb
import reduction
from flexmb.errors import IntegratorError, RedundantConstraintWarning, StudyError
from flexmb.results.stress import largest_stress
from flexmb.spatial.lie import rotation_exp
from flexmb.study import adjoint_gradient, direct_gradient, gradient
from flexmb.study.gradients.seeds import OVER

STEP, DURATION = 2e-3, 0.2
AT = {"mass": 2.0, "length": 1.0, "drag": 0.5, "stiffness": 20.0, "start": 0.66, "gravity": 9.81, "speed": 0.3, "damping": 0.4, "pull": 2.0, "lag": 1.0}  # fmt: skip


def arm(mass, length, drag, stiffness, start, gravity, speed, damping, pull, lag):
    """A driven rigid rod and a flexible body behind it, with a spring and a motor in the hinges, a strut, a law and a load that follows: every parameter goes another way into the equations."""
    system = flexmb.System(gravity=(0, 0.3, -gravity))
    rod = system.add(flexmb.uniform_rod("rod", mass=mass, length=length))
    body = random_flexible_body(np.random.default_rng(3), name="body", second_order=True, damping=damping)
    body = system.add(body, position=(length, 0, 0))
    slider = system.add(flexmb.rigid_body("slider", mass=1.0, inertia=(0.1, 0.2, 0.3)), position=(0, 0, 0))
    system.prismatic("guide", system.ground.at((0, 0, 0)), slider, axis=(0, 1, 0))
    system.drive("guide", flexmb.time_functions.harmonic(0.1 * speed, 2.0, phase=lag - 1.0))
    system.revolute("hinge", slider.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    system.universal("elbow", rod["end"], body["start"], axis=(0, 1, 0), second_axis=(0, 0, 1))
    system.motor("motor", "hinge", flexmb.time_functions.harmonic(3.0, 1.0 + speed), damping=drag)
    system.joint_spring("spring", "hinge", stiffness=stiffness, damping=0.3)
    system.spring_damper("strut", system.ground.at((2 * length, 0.2, 1)), body["end"], stiffness=20 + stiffness, damping=0.5, law=lambda t, x, v: -drag * x**3)  # fmt: skip
    system.set_speed("hinge", start)
    system.load("pull", body["end"], force=(1, 0, pull), moment=(0.1, 0.2, 0), follower=True)
    return system


SERIES = {
    "force": lambda r: np.linalg.norm(r.reaction("hinge")[:, :3], axis=1),
    "tip": lambda r: r.position("body.end")[:, 2],
    "eta": lambda r: r.elastic("body")[:, 1],
    "acceleration": lambda r: r.wdot[:, 4],
}
TAKEN = {"largest": np.max, "smallest": np.min, "final": lambda x: x[-1]}


@pytest.fixture(scope="module")
def expected():
    """By extrapolated differences of simulations, and what these are uncertain by."""

    def measure(result):
        return {
            f"{name} {over}": take(series(result)) for name, series in SERIES.items() for over, take in TAKEN.items()
        }

    return gradient(
        arm, AT, DURATION, measure=measure, step=STEP, output_step=STEP, relative_step=1e-2, newton_tolerance=1e-13, threads=True,
    ), measure  # fmt: skip


def assert_agrees(found, expected, name, tolerance=1e-6):
    """To 1e-6 of the largest of the relative derivatives."""
    scale = np.array([abs(v) or 1.0 for v in AT.values()])
    off = np.abs(found - expected.of(name)) * scale
    assert off.max() <= tolerance * np.abs(expected.of(name) * scale).max(), (name, found, expected.of(name))


@pytest.mark.parametrize(("name", "over"), [("force", "largest"), ("tip", "final"), ("eta", "smallest")])
def test_the_adjoint_gives_the_derivatives_of_the_simulation(expected, name, over):
    found = adjoint_gradient(arm, AT, DURATION, SERIES[name], over=over, step=STEP, output_step=STEP, newton_tolerance=1e-11)  # fmt: skip
    assert_agrees(found.of("result"), expected[0], f"{name} {over}")
    assert "+-" not in str(found)


@pytest.mark.long
def test_the_direct_method_gives_them_all(expected):
    """To 2e-6: lengths are moved by a thousandth, little enough for its square and enough for the rounding of positions."""
    found = direct_gradient(arm, AT, DURATION, measure=expected[1], step=STEP, output_step=STEP, newton_tolerance=1e-11)
    for name in found.outcome:
        assert_agrees(found.of(name), expected[0], name, tolerance=2e-6)


@pytest.mark.parametrize("over", OVER)
def test_numbers_over_the_whole_time(over):
    """Adjoint and direct method agree: sums over all instants, and one at the start."""
    means = {"mean": lambda x: np.trapezoid(x, dx=STEP) / DURATION, "mean square": lambda x: np.trapezoid(x**2, dx=STEP) / DURATION, **TAKEN}  # fmt: skip
    some = {name: AT[name] for name in ("mass", "length", "start", "damping")}
    rest = {name: value for name, value in AT.items() if name not in some}

    def model(**values):
        return arm(**values, **rest)

    def height(result):
        return result.velocity("body.end")[:, 2]

    options = {"step": STEP, "output_step": STEP, "newton_tolerance": 1e-11}
    back = adjoint_gradient(model, some, DURATION, height, over=over, **options).of("result")
    forth = direct_gradient(model, some, DURATION, measure=lambda r: {"x": means[over](height(r))}, **options).of("x")
    np.testing.assert_allclose(back, forth, rtol=0, atol=1e-6 * np.abs(forth).max())


def test_the_place_of_the_mass_centre_enters_as_the_direct_method_says():
    """Of a body that tumbles on a spring, whose frame moves: the first moments act in its gyration, too."""

    def model(x, y, z):
        system = flexmb.System(gravity=(0, 0, -9.81))
        body = flexmb.rigid_body("body", mass=2.0, inertia=(0.3, 0.5, 0.6), centre=(x, y, z))
        body = system.add(body, velocity=(1.0, -0.5, 0.7), angular_velocity=(3.0, -2.0, 4.0))
        system.spring_damper(
            "spring", system.ground.at((0, 0, 1)), body.at((0.3, 0.1, 0.2)), stiffness=40.0, damping=1.0
        )
        return system

    def height(result):
        return result.position("body") @ [1.0, 0.7, 0.3]

    at, options = {"x": 0.1, "y": 0.2, "z": -0.3}, {"step": STEP, "output_step": STEP, "newton_tolerance": 1e-11}
    back = adjoint_gradient(model, at, 0.1, height, over="final", **options).of("result")
    forth = direct_gradient(model, at, 0.1, measure=lambda r: {"x": height(r)[-1]}, **options).of("x")
    np.testing.assert_allclose(back, forth, rtol=0, atol=1e-6 * np.abs(forth).max())


def test_a_motion_that_begins_later_has_the_derivatives_of_its_own_times():
    """A force that grows with the time, which is 3 at the beginning: what it moves is in proportion to its growth."""

    def model(growth):
        system = flexmb.System()
        body = system.add(flexmb.rigid_body("body", mass=2.0, inertia=(1, 1, 1)))
        force = flexmb.time_functions.polynomial(0.0, growth)
        system.load("pull", body.at((0, 0, 0)), force=(1, 0, 0), factor=force)
        mechanism = system.build()
        return replace(mechanism, initial=replace(mechanism.initial, t=3.0))

    options = {"step": 1e-2, "output_step": 1e-2}
    back = adjoint_gradient(model, {"growth": 0.7}, 0.2, lambda r: r.position("body")[:, 0], over="final", **options)
    forth = direct_gradient(model, {"growth": 0.7}, 0.2, measure=lambda r: {"x": r.position("body")[-1, 0]}, **options)
    assert back.outcome["result"] == pytest.approx(0.7 / 2.0 * (3.0 * 0.2**2 / 2 + 0.2**3 / 6), rel=1e-3)
    assert back.of("result")[0] == pytest.approx(back.outcome["result"] / 0.7, rel=1e-8)
    assert forth.of("x")[0] == pytest.approx(forth.outcome["x"] / 0.7, rel=1e-8)


@flexmb.law(states=("force",), parameters=("tau",))
def forgotten(t, relative, states, parameters, wrench, rates):
    """A force that decays."""
    wrench[0] = states[0]
    rates[0] = -states[0] / parameters[0]


@pytest.mark.parametrize("over", ["largest", "mean", "mean square"])
def test_states_at_the_beginning_count_in_numbers_over_the_whole_time(over):
    """They are in proportion to the first state, which is the largest, and their squares to its square."""

    def model(begin):
        system = flexmb.System()
        body = system.add(flexmb.rigid_body("body", mass=2.0, inertia=(1, 1, 1)))
        system.force("push", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), forgotten(tau=0.05, initial=(begin,)))
        return system

    found = adjoint_gradient(
        model, {"begin": 3.0}, 0.1, lambda r: r.element_states[:, 0], over=over, step=1e-2, output_step=1e-2
    )
    power = 2 if over == "mean square" else 1
    assert found.of("result")[0] == pytest.approx(power * found.outcome["result"] / 3.0, rel=1e-8)


def test_chains_that_begin_in_any_attitude_have_the_derivatives_of_their_simulations():
    """The second rod is carried by the first one, which is drawn turned, and which a parameter turns further."""

    def model(length, angle):
        system, turned = flexmb.System(gravity=(0, -9.81, 1.0)), rotation_exp((0.3, -0.4, angle))
        first = system.add(flexmb.uniform_rod("first", mass=1.0, length=length), orientation=turned)
        second = flexmb.uniform_rod("second", mass=1.0, length=0.5)
        second = system.add(second, position=turned @ [length, 0, 0], orientation=(0, 0, 0.2))
        system.spherical("top", system.ground.at((0, 0, 0)), first["start"])
        system.spherical("elbow", first["end"], second["start"])
        return system

    def place(result):
        return result.position("second.end") @ [1.0, 0.7, 0.3]

    at, options = {"length": 0.8, "angle": 0.6}, {"step": STEP, "newton_tolerance": 1e-11}
    back = adjoint_gradient(model, at, DURATION, place, over="final", **options).of("result")
    forth = direct_gradient(model, at, DURATION, measure=lambda r: {"x": place(r)[-1]}, **options).of("x")
    for k, (name, value) in enumerate(at.items()):
        low, high = (
            place(flexmb.simulate(model(**{**at, name: value + h}), DURATION, **options))[-1] for h in (-1e-5, 1e-5)
        )
        assert back[k] == pytest.approx((high - low) / 2e-5, abs=1e-6)
        assert forth[k] == pytest.approx((high - low) / 2e-5, abs=1e-6)


def test_redundant_joints_have_the_gradients_of_their_motion():
    """Two hinges on one axis: the tip's derivative by the mass of a driven pendulum is that with one."""

    def model(mass, hinges):
        system = flexmb.System(gravity=(0, 0, -9.81))
        rod = system.add(flexmb.uniform_rod("rod", mass=mass, length=1.0))
        for k in range(hinges):
            place = system.ground.at((0, 0.1 * k, 0))
            system.revolute(f"hinge {k}", place, rod.at((0, 0.1 * k, 0)), axis=(0, 1, 0))
        system.joint_spring("spring", "hinge 0", stiffness=3.0)
        return system

    with pytest.warns(RedundantConstraintWarning):
        found = [
            adjoint_gradient(lambda mass, n=n: model(mass, n), {"mass": 2.0}, 0.3, lambda r: r.position("rod.end")[:, 2], over="final", step=1e-3).of("result")
            for n in (1, 2)
        ]  # fmt: skip
    assert found[0] == pytest.approx(found[1], rel=1e-7)


def test_a_driven_crank_does_not_feel_its_own_inertia():
    """The demo, its wrist pin's force by the crank's mass and inertia: zero to round-off, where differences see the rounding of reactions."""
    from benchmarks import adjoint

    found = adjoint_gradient(adjoint.demo, adjoint.AT, 0.01, adjoint.reaction, step=2e-5)
    slopes = dict(zip(adjoint.AT, found.relative("result"), strict=True))
    for name in ("crank_mass", "crank_Ixx", "crank_Izz", "crank_x", "crank_y"):
        assert abs(slopes[name]) < 1e-11, (name, slopes[name])
    assert slopes["piston_mass"] > 0.1
    assert abs(slopes["modal_damping"]) > 1e-9


def test_bad_requests_are_told():
    at = {"mass": 2.0}

    def model(mass, bodies=1):
        system = flexmb.System(gravity=(0, 0, -9.81))
        for k in range(bodies):
            system.add(flexmb.uniform_rod(f"rod {k}", mass=mass, length=1.0))
        return system

    def ask(series, make=model, **options):
        return adjoint_gradient(make, at, 0.1, series, **{"step": 1e-2, **options})

    with pytest.raises(StudyError, match="one number for each stored time"):
        ask(lambda r: r.position("rod 0.end"))
    with pytest.raises(StudyError, match=r"function of a result.*found 'position:rod 0.end:z'"):
        ask("position:rod 0.end:z")
    with pytest.raises(StudyError, match="not finite"):
        ask(lambda r: r.ledger.kinetic)
    with pytest.raises(StudyError, match="largest, smallest"):
        ask(lambda r: r.w[:, 0], over="median")
    with pytest.raises(StudyError, match="the structure of the mechanism"):
        ask(lambda r: r.w[:, 0], make=lambda mass: model(mass, 1 if mass <= 2.0 else 2))
    with pytest.raises(StudyError, match="System or a Mechanism"):
        ask(lambda r: r.w[:, 0], make=lambda mass: {"mass": mass})
    with pytest.raises(StudyError, match="between 0 and"):
        ask(lambda r: r.w[:, 0], relative_step=0.0)
    with pytest.raises(IntegratorError, match="step"):
        ask(lambda r: r.w[:, 0], step=-1.0)


def test_the_largest_stress_of_stiff_shapes_is_differentiated_within_its_own_scale():
    """A shape that stresses the body much moves it little: steps of the size of the mechanism reached other points."""
    mesh = fem.mesh.structured_meshes.block("hexahedron", (1.0, 0.06, 0.04), (10, 1, 1))
    part = fem.Model(mesh, fem.Material.isotropic(7e10, 0.3, 2700.0)).with_interfaces(root="x0", tip="x1")
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=8), name="arm")

    def hung(stiffness):
        system = flexmb.System(gravity=(0, 0, -9.81))
        own = system.add(body)
        system.revolute("hinge", system.ground, own["root"], axis=(0, 1, 0))
        system.spring_damper("strut", own["tip"], system.ground.at((1, 0.2, 0.5)), stiffness=stiffness, damping=2.0)
        return system

    def series(result):
        return largest_stress(result, "arm").values

    found = adjoint_gradient(hung, {"stiffness": 400.0}, 0.05, series, over="final", step=1e-3)
    above, below = (series(flexmb.simulate(hung(400.0 + by), 0.05, step=1e-3))[-1] for by in (1.0, -1.0))
    assert found.derivatives["result"][0] == pytest.approx((above - below) / 2, rel=1e-6)

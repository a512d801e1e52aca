"""Simulations, comparisons, studies and derivatives that start from the equilibrium of each mechanism."""

import re
from pathlib import Path

import numpy as np
import pytest
from mechanisms import flexible_pendulum
from smooth_elements import maxwell
from typer.testing import CliRunner

import flexmb
from flexmb import controllers
from flexmb.analyses.fidelity import with_fidelity
from flexmb.cli.main import app
from flexmb.contact import Box, Plane, power_law
from flexmb.errors import ControllerError, EquilibriumError, MechanismError, ModelFileError, StudyError
from flexmb.files import load_result
from flexmb.files.models.model_file import load_model
from flexmb.linear import equilibrium, settled
from flexmb.study import adjoint_gradient, direct_gradient, gradient

G = 9.81


def arm(inertia=0.1, centre=(0.0, 0.0, -1.0), tilt=0.0, axis=(0, 1, 0)):
    """A pendulum; its body and its system."""
    system = flexmb.System(gravity=(0, 0, -G), name="pendulum")
    bob = flexmb.rigid_body("bob", mass=1.0, inertia=(inertia,) * 3, centre=centre)
    bob = system.add(bob, orientation=(0, tilt, 0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), bob, axis=axis)
    return system, bob


def hung(k=1000.0, mass=2.0, pull=1.0):
    """A mass on a spring, hung at its free length, under a force that grows from zero."""
    system = flexmb.System(gravity=(0, 0, -G), name="hung")
    ball = system.add(flexmb.rigid_body("ball", mass=mass, inertia=(1, 1, 1)))
    system.prismatic("guide", system.ground, ball, axis=(0, 0, 1), at=(0, 0, 0))
    system.joint_spring("spring", "guide", stiffness=k, damping=5.0)
    growing = flexmb.time_functions.polynomial(0.0, 10.0)
    system.load("pull", ball.at((0, 0, 0)), force=(0, 0, -pull), factor=growing)
    return system


def require_rest(result):
    """Nothing moves but for round-off, and what energy there is at the start is balanced from there on."""
    assert np.abs(result.q - result.q[0]).max() < 1e-12 * max(1.0, np.abs(result.q).max())
    assert np.abs(result.w).max() < 1e-11
    weight = G * sum(body.invariants.mass for body in result.mechanism.bodies)
    assert np.abs(result.ledger.residual).max() < 1e-14 * weight * result.mechanism.length
    assert not result.verdict.findings


def test_every_fidelity_starts_from_its_own_equilibrium():
    system = flexible_pendulum(np.random.default_rng(5), second_order=True)
    system.joint_spring("spring", "hinge", stiffness=20.0, free=0.3)
    fidelities = ("rigid", "linear", 2, "adapted 2", "flexible")
    found = flexmb.compare(system, 0.05, fidelities, step=1e-3, initial_state=settled).results
    for result in found.values():
        require_rest(result)
    starts = np.array([result.position("random.end")[0] for result in found.values()])
    apart = np.linalg.norm(starts[:, None] - starts, axis=2)[~np.eye(len(starts), dtype=bool)]
    assert apart.min() > 1e-6
    for name, key in (("rigid", "rigid"), ("linear", "linear"), (2, "2 modes"), ("flexible", "flexible")):
        expected = equilibrium(with_fidelity(system.build(), name)).result.position("random.end")[0]
        np.testing.assert_allclose(found[key].position("random.end")[0], expected, atol=1e-12)


def test_a_fidelity_without_rest_is_named():
    system = flexible_pendulum(np.random.default_rng(5))
    system.motor("push", "hinge", flexmb.expression("300"))
    with pytest.raises(EquilibriumError, match=r"At the fidelity 'rigid': .* cannot start at rest\. .*'random' moves"):
        flexmb.compare(system, 0.05, step=1e-3, initial_state=settled)


def test_states_of_elements_and_exact_contacts_are_at_rest():
    """A box with friction on the floor, and a mass on it, whose mount has forces with states."""
    system = flexmb.System(gravity=(0, 0, -G), name="stack")
    box = system.add(flexmb.rigid_body("box", mass=1.0, inertia=(0.01,) * 3), position=(0, 0, 0.05))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), Box(0.1, 0.1, 0.1).on(box.at((0, 0, 0))), friction=0.3)  # fmt: skip
    load = system.add(flexmb.rigid_body("load", mass=1.0, inertia=(0.01,) * 3), position=(0, 0, 0.05))
    mount = {"stiffness": (1e3,) * 3 + (10.0,) * 3, "damping": (1.0,) * 6}
    system.bushing("mount", box.at((0, 0, 0)), load.at((0, 0, 0)), **mount)
    system.force("creep", box.at((0, 0, 0)), load.at((0, 0, 0)), maxwell(k=1e3, tau=0.1), axis=(1, 0, 0))
    result = flexmb.simulate(system, 0.05, step=1e-3, initial_state=settled)
    assert result.element_states.size
    require_rest(result)
    assert result.position("load")[0, 2] == pytest.approx(0.05 - G / 1e3)


def test_a_continuous_controller_holds_from_the_start():
    system, _ = arm(centre=(1.0, 0.0, 0.0))
    law = controllers.pid(50.0, 20.0, 5.0)
    inputs = {"measured": "coordinate:hinge", "rate": "rate:hinge"}
    system.controller("hold", law, inputs=inputs, outputs={"command": "effort:hinge"})
    result = flexmb.simulate(system, 0.05, step=1e-3, initial_state=settled)
    require_rest(result)
    assert result.coordinate("hinge")[0] == pytest.approx(0.0, abs=1e-12)


def test_given_velocities_begin_at_the_equilibrium():
    """A speed of a joint there; and in world axes that of a pendulum on a carriage, which hangs and does not swing."""
    system, _ = arm(tilt=2.0)
    system.set_speed("hinge", 0.5)
    result = flexmb.simulate(system, 0.2, step=1e-3, initial_state=settled)
    assert result.coordinate("hinge")[0] == pytest.approx(-2.0)
    assert result.coordinate_rate("hinge")[0] == pytest.approx(0.5)
    assert result.ledger.kinetic[0] == pytest.approx(0.5 * (0.1 + 1.0) * 0.5**2)
    along, point = (5.0, 0.0, 0.0), flexmb.rigid_body("carriage", mass=1.0, inertia=(1, 1, 1))
    system = flexmb.System(gravity=(0, 0, -G))
    carriage = system.add(point, velocity=along)
    bob = flexmb.rigid_body("bob", mass=1.0, inertia=(0.1,) * 3, centre=(0, 0, -1.0))
    bob = system.add(bob, orientation=(0, 1.0, 0), velocity=along)
    system.prismatic("rail", system.ground, carriage, axis=(1, 0, 0), at=(0, 0, 0))
    system.drive("rail", flexmb.time_functions.constant_speed(5.0))
    system.revolute("hinge", carriage.at((0, 0, 0)), bob, axis=(0, 1, 0))
    result = flexmb.simulate(system, 0.2, step=1e-3, initial_state=settled)
    np.testing.assert_allclose(result.velocity("bob"), np.tile(along, (len(result.t), 1)), atol=1e-9)
    assert np.ptp(result.coordinate("hinge")) < 1e-12


def sampled(measured):
    system, _ = arm(centre=(1.0, 0.0, 0.0))
    law = controllers.pid(50.0, 30.0, 5.0, filter=0.02, sample_time=0.01)
    inputs = {"measured": measured, "reference": 0.0}
    system.controller("hold", law, inputs=inputs, outputs={"command": "effort:hinge"})
    return system


def falling():
    system = flexmb.System(gravity=(0, 0, -G), name="falling")
    system.add(flexmb.rigid_body("stone", mass=1.0, inertia=(1, 1, 1)))
    return system


def rubbing():
    system, _ = arm()
    system.friction("rub", "hinge", 0.1, radius=0.05)
    return system


def piled():
    system = flexmb.System(gravity=(0, 0, -G), name="pile")
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 0.1))
    shapes = [Plane().on(system.ground.at((0, 0, 0))), Box(0.2, 0.2, 0.2).on(ball.at((0, 0, 0)))]
    system.contact_group("heap", shapes, law=power_law(1e5, 1.0))
    return system


@pytest.mark.parametrize(
    ("system", "error", "words"),
    [
        (arm(centre=(0, 0, 1.0))[0], EquilibriumError, "'pendulum' cannot start at rest.*unstable.*stiffness -"),
        (arm(axis=(0, 0, 1))[0], EquilibriumError, "cannot start at rest.*1 motion.*nothing restrains .'bob' moves"),
        (falling(), EquilibriumError, "'falling' cannot start at rest.*no equilibrium.*'stone' moves most"),
        (rubbing(), MechanismError, "cannot start at rest.*friction that sticks.*'rub'"),
        (
            sampled("force:hinge:x"),
            ControllerError,
            "cannot start at rest.*'hold'.*'force:hinge:x' depends on reactions",
        ),
        (piled(), MechanismError, "cannot start at rest.*contacts of groups.*'heap'"),
    ],
)
def test_a_mechanism_without_rest_is_refused_by_name(system, error, words):
    with pytest.raises(error, match=words):
        flexmb.simulate(system, 0.05, step=1e-3, initial_state=settled)


def test_a_sampled_controller_starts_at_its_fixed_point():
    result = flexmb.simulate(sampled("coordinate:hinge"), 0.05, step=1e-3, initial_state=settled)
    assert np.abs(result.coordinate("hinge")).max() < 1e-12  # the integral carries the weight


def test_sampled_controllers_see_given_velocities_at_once():
    """The first command of a damper that is sampled; at rest it is zero."""
    system, _ = arm(tilt=0.3)
    system.set_speed("hinge", 0.5)
    law = controllers.state_feedback([[7.0]], ["rate"], commands=["moment"], sample_time=0.01)
    system.controller("damper", law, inputs={"rate": "rate:hinge"}, outputs={"moment": "effort:hinge"})
    result = flexmb.simulate(system, 0.02, step=1e-3, initial_state=settled)
    np.testing.assert_allclose(result.effort("damper.moment")[:10], -7.0 * 0.5, rtol=1e-12)


def test_a_function_may_find_any_state():
    """Also the unstable equilibrium, on demand; what finds none of these is refused."""
    system, _ = arm(centre=(0, 0, 1.0))
    require_rest(flexmb.simulate(system, 0.05, step=1e-3, initial_state=equilibrium))
    result = flexmb.simulate(system, 0.05, step=1e-3, initial_state=lambda mechanism: {"hinge": 0.3})
    assert result.coordinate("hinge")[0] == pytest.approx(0.3)
    with pytest.raises(MechanismError, match=r"flexmb\.linear\.settled; found int"):
        flexmb.simulate(system, 0.05, step=1e-3, initial_state=lambda mechanism: 3)


@pytest.mark.parametrize("where", [{"threads": True}, pytest.param({"workers": 1}, marks=pytest.mark.long)])
def test_every_variant_of_a_study_finds_its_own(where, tmp_path):
    """The start is part of what a checkpoint is about."""
    variants, kept = flexmb.full_factorial(k=[500.0, 1000.0, 2000.0]), tmp_path / "kept.jsonl"

    def run(variants, **start):
        measure = {"measure": lambda r: {"first": r.position("ball")[0, 2]}}
        return flexmb.parameter_study(hung, variants, 0.02, step=1e-3, checkpoint=kept, **measure, **start, **where)

    run(variants[:1], initial_state=settled)
    study = run(variants, initial_state=settled)
    np.testing.assert_allclose(study.measure("first"), -2.0 * G / np.array(study.parameter("k")), rtol=1e-9)
    for other in ({}, {"initial_state": equilibrium}):
        with pytest.raises(StudyError, match="another study: options differs"):
            run(variants, **other)


def test_derivatives_include_that_of_the_start():
    """By the closed form at the first time, -m g / k, and by differences of whole simulations at the last."""
    at = {"k": 1000.0, "mass": 2.0, "pull": 1.0}
    exact = [2.0 * G / 1000.0**2, -G / 1000.0, 0.0]

    def first(result):
        return np.full(len(result.t), result.position("ball")[0, 2])

    def place(result):
        return result.position("ball")[:, 2]

    def measures(result):
        return {"first": place(result)[0], "last": place(result)[-1]}

    given = {"step": 2e-3, "initial_state": settled}
    differences = gradient(hung, at, 0.1, measure=measures, threads=True, **given)
    direct = direct_gradient(hung, at, 0.1, measure=measures, **given)
    last = adjoint_gradient(hung, at, 0.1, place, over="final", **given)
    still = adjoint_gradient(hung, at, 0.1, place, over="largest", **given)  # the first place
    for found in (differences.of("first"), direct.of("first"), still.of("result")):
        np.testing.assert_allclose(found, exact, rtol=1e-7, atol=1e-12)
    for found in (direct.of("last"), last.of("result")):
        np.testing.assert_allclose(found, differences.of("last"), rtol=1e-7)
    drawn = adjoint_gradient(hung, at, 0.1, place, over="final", step=2e-3)
    assert abs(drawn.of("result")[0] / last.of("result")[0] - 1.0) > 0.1


CAR = """
name = "car"
gravity = [0, 0, -9.81]
[simulation]
duration = 0.1
step = 1e-3
start = "equilibrium"
[bodies.body]
kind = "rigid"
mass = 400.0
inertia = [100, 200, 250]
[[joints]]
name = "guide"
kind = "prismatic"
a = "ground"
b = "body"
at = [0, 0, 0]
axis = [0, 0, 1]
[[joint_springs]]
name = "spring"
joint = "guide"
stiffness = 2e4
damping = 100.0
[[loads]]
name = "gust"
place = "body"
force = [0, 0, 50.0]
factor = { kind = "polynomial", coefficients = [0.0, 10.0] }
"""
SAG = -400.0 * G / 2e4


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs a command line in a folder with the model of a car; returns what it printed."""
    monkeypatch.chdir(tmp_path)
    Path("car.toml").write_text(CAR)
    return lambda *words: CliRunner().invoke(app, list(words), catch_exceptions=False).output


def test_a_run_starts_at_rest_and_is_continued(command):
    command("run", "car.toml", "-o", "whole.h5")
    whole = load_result("whole.h5")
    assert whole.position("body")[0, 2] == pytest.approx(SAG)
    assert whole.position("body")[-1, 2] - SAG > 1e-6
    command("run", "car.toml", "--duration", "0.04", "-o", "first.h5")
    command("run", "car.toml", "--duration", "0.06", "--start", "first.h5", "-o", "second.h5")
    second = load_result("second.h5")
    assert (second.t[0], second.t[-1]) == (pytest.approx(0.04), pytest.approx(0.1))
    assert second.position("body")[-1, 2] == pytest.approx(whole.position("body")[-1, 2], rel=1e-7)
    command("run", "car.toml", "--start", "drawn", "-o", "drawn.h5")
    assert load_result("drawn.h5").position("body")[0, 2] == 0.0


def test_the_car_of_the_manual_starts_at_rest_and_falls_without_its_spring(tmp_path):
    """Until the bump at 0.2; without the suspension the error is that which the manual quotes."""
    page = (Path(__file__).parents[3] / "docs" / "model-files.md").read_text(encoding="utf-8")
    text = next(
        block for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if 'start = "equilibrium"' in block
    )
    (tmp_path / "car.toml").write_text(text)
    model = load_model(tmp_path / "car.toml")
    result = flexmb.simulate(model.system, model.duration, **model.options)
    height = result.position("car")[:, 2]
    assert height[0] == pytest.approx(SAG)
    assert np.ptp(height[result.t < 0.2]) < 1e-12
    assert np.ptp(height) > 1e-3
    (tmp_path / "car.toml").write_text(re.sub(r"\[\[joint_springs\]\].*?\n\n", "", text, flags=re.DOTALL))
    model = load_model(tmp_path / "car.toml")
    with pytest.raises(EquilibriumError, match=r"'mechanism' cannot start at rest\. .* found no equilibrium"):
        flexmb.simulate(model.system, model.duration, **model.options)


def test_initial_values_are_where_the_search_begins(tmp_path):
    """Their rates begin at the equilibrium."""
    (tmp_path / "car.toml").write_text(CAR + "[initial_state]\nguide = [0.5, -1.5]\n")
    model = load_model(tmp_path / "car.toml")
    for mechanism in (model.started(), flexmb.simulate(model.system, 1e-3, **model.options).mechanism):
        assert mechanism.initial.q[2] == pytest.approx(SAG)
        assert mechanism.initial.w[2] == pytest.approx(-1.5)
    assert model.mechanism().initial.q[2] == pytest.approx(0.5)


@pytest.mark.parametrize("start", ["rest", "first.h5"])
def test_a_start_that_does_not_exist_is_told(start, command):
    for words in (("compare", "car.toml"), ("study", "car.toml", "--vary", "bodies.body.mass=1,2", "--threads")):
        with pytest.raises(
            (ModelFileError, StudyError), match=rf"simulation.start.*'drawn' or\s+'equilibrium'.*'{start}'"
        ):
            command(*words, "--start", start)


def test_studies_and_sensitivities_of_a_file_start_at_rest(command):
    """Their checkpoints are about the start; sensitivities by all three methods are that of the sag."""
    words = ("study", "car.toml", "--vary", "bodies.body.mass=200,400", "--threads", "--checkpoint", "kept.jsonl")
    words += ("--measure", "coordinate:guide", "--over", "smallest")
    command(*words)
    rows = [line.split(",") for line in Path("car.study.csv").read_text().splitlines()]
    sags = [float(row[rows[0].index("coordinate:guide")]) for row in rows[1:]]
    assert sags == pytest.approx([0.5 * SAG, SAG])
    with pytest.raises(StudyError, match="another study: model differs"):
        command(*words, "--start", "drawn")
    words = ("sensitivity", "car.toml", "--by", "bodies.body.mass", "--over", "smallest")
    of_all = ("--measure", "coordinate:guide", "--workers", "1")
    for method in (of_all, (*of_all, "--direct"), ("--of", "coordinate:guide")):
        line = next(x for x in command(*words, *method).splitlines() if x.startswith("coordinate:guide"))
        assert float(line.split()[1]) == pytest.approx(SAG / 400.0, rel=1e-4)

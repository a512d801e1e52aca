"""Inputs of laws between frames: measures, functions of time and commands that a law reads beside its relative motion."""

import numpy as np
import pytest
from model_files import model_of
from scipy.integrate import solve_ivp

import flexmb
import flexmb.files
from flexmb import linear
from flexmb.errors import ControllerError, LawError, MechanismError, ModelFileError
from flexmb.mechanism.attachments import BodyHandle
from flexmb.mechanism.force_law import register_law
from flexmb.results.measure import column

Z = (0.0, 0.0, 1.0)
MASSES, K, TAU = {"pilot": 1.0, "load": 2.0}, {"pilot": 40.0, "load": 9.0}, 0.05
METHODS = [
    {"step": 5e-4},
    {"method": "hht", "step": 5e-4},
    {"method": "radau", "tolerance": 1e-9},
    {"method": "bdf", "tolerance": 1e-9},
    {"method": "explicit", "tolerance": 1e-10},
]


@flexmb.law(inputs=("pilot", "push"), parameters=("gain", "k"), name="booster")
def booster(t, relative, inputs, states, parameters, wrench, rates):
    """A spring along z whose end follows the pilot with a gain, and a push."""
    gain, k = parameters
    wrench[2] = -k * (relative.d[2] - gain * inputs[0]) + inputs[1]


@flexmb.law(inputs=("pilot", "push"), states=("pressure",), parameters=("gain", "k", "tau"), name="lagging booster")
def lagging(t, relative, inputs, states, parameters, wrench, rates):
    """The same, whose end follows with a lag."""
    gain, k, tau = parameters
    wrench[2] = -k * (relative.d[2] - gain * states[0]) + inputs[1]
    rates[0] = (inputs[0] - states[0]) / tau


def push(t):
    return 3.0 * np.sin(2 * np.pi * t)


def pair(law=None, source="coordinate:pilot", **options):
    """Two bodies on rails: a pilot on a spring, and a load that a law moves after it."""
    system = flexmb.System()
    for k, (name, mass) in enumerate(MASSES.items()):
        body = system.add(flexmb.rigid_body(name, mass=mass, inertia=(1, 1, 1)), position=(k, 0, 0))
        system.prismatic(name, system.ground, body, axis=Z, at=(k, 0, 0))
    system.joint_spring("spring", "pilot", stiffness=K["pilot"])
    system.set_speed("pilot", 1.0)
    motion = flexmb.time_functions.harmonic(3.0, frequency=1.0)
    law = law or booster(gain=1.5, k=K["load"])
    inputs = {"pilot": source, "push": motion} | options
    system.force("booster", system.ground.at((1, 0, 0)), body.at((0, 0, 0)), law, inputs=inputs)
    return system


def exact(t, lag):
    """The places, rates and the state, by an independent integration."""

    def rates(t, x):
        follows = 1.5 * (x[4] if lag else x[0])
        force = -K["load"] * (x[1] - follows) + push(t)
        return [x[2], x[3], -K["pilot"] * x[0], force / 2.0, (x[0] - x[4]) / TAU]

    return solve_ivp(rates, (0, t), [0, 0, 1.0, 0, 0], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]


def places(result):
    return [float(result.coordinate(name)[-1]) for name in MASSES]


@pytest.mark.parametrize("lag", [False, True])
@pytest.mark.parametrize("options", METHODS, ids=lambda o: o.get("method", "alpha"))
def test_every_method_reads_inputs(options, lag):
    law = lagging(gain=1.5, k=K["load"], tau=TAU) if lag else None
    result = flexmb.simulate(pair(law), 1.0, output_step=0.1, **options)
    assert places(result) == pytest.approx(exact(1.0, lag)[:2], abs=3e-6 if "step" in options else 2e-8)
    if lag:
        assert result.element_states[-1, 0] == pytest.approx(exact(1.0, lag)[4], abs=3e-6)
    read = column("command:booster.inputs:pilot", result).values
    assert read == pytest.approx(result.coordinate("pilot"), abs=1e-12)


def test_the_order_is_two_and_the_energy_balances():
    def run(step):
        result = flexmb.simulate(pair(lagging(gain=1.5, k=K["load"], tau=TAU)), 1.0, step=step)
        return np.abs(np.array(places(result)) - exact(1.0, True)[:2]), np.abs(result.ledger.residual).max()

    (coarse, open_), (fine, closed) = run(4e-3), run(2e-3)
    assert (np.log2(coarse / fine) > 1.95).all(), coarse / fine
    assert open_ / closed > 3.8


def test_newton_corrections_contain_the_slopes_of_inputs():
    """A command of a controller is the same force; its corrections converge in as many iterations."""

    @flexmb.law(inputs=("place",), parameters=("gain",))
    def follower(t, relative, inputs, states, parameters, wrench, rates):
        wrench[2] = -parameters[0] * (relative.d[2] - inputs[0]) ** 3

    system = flexmb.System()
    for k, name in enumerate(("one", "other")):
        body = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(1, 1, 1)), position=(k, 0, 0))
        system.prismatic(name, system.ground, body, axis=Z, at=(k, 0, 0))
    system.set_speed("one", 5.0)
    law, place = follower(gain=1e5), system.ground.at((1, 0, 0))
    system.force("follower", place, body.at((0, 0, 0)), law, inputs={"place": "coordinate:one"})
    result = flexmb.simulate(system, 0.5, step=1e-2)
    assert result.statistics.iterations <= 3.5 * result.statistics.steps


def in_order(eigenvalues):
    return eigenvalues[np.argsort(eigenvalues.imag)]


def test_equilibria_and_small_motions_are_those_of_the_coupled_springs():
    system = pair(push=4.5)
    rest = linear.equilibrium(system)
    assert rest.state.q[[2, 9]] == pytest.approx([0.0, 4.5 / K["load"]], abs=1e-10)
    found = linear.linearise(rest).state_matrix()
    M, stiffness = np.diag([1.0, 2.0]), np.array([[K["pilot"], 0.0], [-1.5 * K["load"], K["load"]]])
    expected = np.linalg.eigvals(
        np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, stiffness), np.zeros((2, 2))]])
    )
    assert in_order(np.linalg.eigvals(found)) == pytest.approx(in_order(expected), abs=1e-7)
    lagged = pair(lagging(gain=1.5, k=K["load"], tau=TAU), push=4.5)
    A = linear.linearise(linear.equilibrium(lagged)).state_matrix()
    full = np.zeros((5, 5))
    full[:2, 2:4], full[2, 0], full[3, 1], full[3, 4] = np.eye(2), -40.0, -4.5, 1.5 * 4.5
    full[4, 0], full[4, 4] = 1 / TAU, -1 / TAU
    assert in_order(np.linalg.eigvals(A)) == pytest.approx(in_order(np.linalg.eigvals(full)), abs=1e-7)


def test_small_motions_of_a_law_that_moves_what_it_reads():
    """The load is tied to the pilot, which the state of the booster follows: three motions that feel each other."""
    system, tie = pair(lagging(gain=1.5, k=K["load"], tau=TAU), push=0.0), 20.0
    pilot, load = (BodyHandle(k, body).at((0, 0, 0)) for k, body in enumerate(system._bodies))
    system.bushing("tie", pilot, load, stiffness=(0, 0, tie, 0, 0, 0))
    A = linear.linearise(linear.equilibrium(system)).state_matrix()
    full = np.zeros((5, 5))
    full[:2, 2:4] = np.eye(2)
    full[2, :2], full[3, :2], full[3, 4] = (-40.0 - tie, tie), (tie / 2, -4.5 - tie / 2), 1.5 * 4.5
    full[4, 0], full[4, 4] = 1 / TAU, -1 / TAU
    assert in_order(np.linalg.eigvals(A)) == pytest.approx(in_order(np.linalg.eigvals(full)), abs=1e-7)


def test_commands_of_sampled_controllers_are_inputs():
    """A sampled law sees a reaction, which a continuous one cannot; its command is held."""

    @flexmb.control_law(inputs=("force",), commands=("wanted",))
    def weigh(t, inputs, states, parameters, commands, rates):
        commands[0] = 0.1 * inputs[0]

    system = pair(source="command:scale:wanted")
    system.controller("scale", weigh(sample_time=0.05), inputs={"force": "effort:spring"}, outputs={})
    result = flexmb.simulate(system, 0.2, step=1e-3, output_step=0.01)
    held = column("command:scale:wanted", result).values
    assert len(set(held.round(12))) == 5
    expected = -K["load"] * (result.coordinate("load") - 1.5 * held) + push(result.t)
    inside = np.abs(result.t / 0.05 - np.round(result.t / 0.05)) > 0.1
    assert result.force("booster")[inside, 2] == pytest.approx(expected[inside], abs=1e-9)


def test_energy_momentum_refuses_inputs():
    with pytest.raises(MechanismError, match=r"laws between frames that read inputs.* 'booster'"):
        flexmb.simulate(pair(), 0.1, method="energy-momentum", step=1e-3)


def tied(inputs):
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)))
    system.force("tie", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), booster(gain=1.0, k=1.0), inputs=inputs)


def test_wrong_inputs_are_named():
    with pytest.raises(
        ControllerError, match="Force 'tie': its law needs the inputs 'push'; connect them to a measure"
    ):
        tied({"pilot": 1.0})
    with pytest.raises(ControllerError, match=r"Force 'tie': .*no input .*'pull'.*'push'"):
        tied({"pilot": 1.0, "push": 0.0, "pull": 2.0})
    for source in (flexmb.expression("0.1*t"), np.sin, None, [1.0, 2.0]):
        with pytest.raises(
            ControllerError, match=r"Force 'tie', input 'push' is connected to .* found \w+ .*time_functions\.function"
        ):
            tied({"pilot": 1.0, "push": source})
    with pytest.raises(ControllerError, match="'force:spring' depends on the accelerations or forces"):
        pair(source="force:spring")
    with pytest.raises(LawError, match="function of t, relative, inputs, states, parameters, wrench, rates"):
        flexmb.law(lambda t, relative, states, parameters, wrench, rates: None, inputs=("x",))
    with pytest.raises(LawError, match=r"and the inputs x\. Omit it"):
        flexmb.law(booster.function, inputs=("x",), tangent=lambda t, r, z, p, K, D: None)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_law_that_fails_tells_its_inputs(compiled):
    known = {"limit": 0.05}

    def function(t, relative, inputs, states, parameters, wrench, rates):
        if inputs[0] > (0.05 if compiled else known["limit"]):
            raise ValueError("beyond the stop")

    def stopped(t, relative, inputs, states, parameters, wrench, rates):
        if inputs[0] > 0.05:
            raise ValueError("beyond the stop")

    law = flexmb.law(stopped if compiled else function, inputs=("pilot", "push"), name="stop")
    with pytest.raises(LawError, match=r"'booster' failed at t = 0.05.*, pilot = 0.05.*, push = .*beyond the stop"):
        flexmb.simulate(pair(law()), 0.2, step=1e-3)


def test_inputs_that_may_remain_unconnected_have_their_value():
    @flexmb.law(inputs={"bias": 2.5})
    def pushed(t, relative, inputs, states, parameters, wrench, rates):
        wrench[2] = inputs[0]

    system = flexmb.System()
    body = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)))
    system.force("push", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), pushed)
    assert flexmb.simulate(system, 0.1, step=1e-2).q[-1, 2] == pytest.approx(0.5 * 2.5 * 0.01, rel=1e-12)


register_law("booster")(booster)
MODEL = """
[simulation]
duration = 0.2
step = 1e-3

[bodies.pilot]
kind = "rigid"
mass = 1.0
inertia = [1, 1, 1]

[bodies.load]
kind = "rigid"
mass = 2.0
inertia = [1, 1, 1]
position = [1, 0, 0]

[[joints]]
name = "pilot"
kind = "prismatic"
a = "ground"
b = "pilot"
at = [0, 0, 0]
speed = 1.0

[[joints]]
name = "load"
kind = "prismatic"
a = "ground"
b = "load"
at = [1, 0, 0]

[[forces]]
name = "booster"
a = "ground"
b = "load"
at = [1, 0, 0]
law = "booster"
parameters = { gain = 1.5, k = 9.0 }
inputs = { pilot = "stretch:spring", push = { kind = "harmonic", amplitude = 3.0, frequency = 1.0 } }

[[joint_springs]]
name = "spring"
joint = "pilot"
stiffness = 40.0
"""


def test_model_files_connect_inputs(tmp_path):
    model = model_of(tmp_path, MODEL)
    result, other = (flexmb.simulate(m, 0.2, step=1e-3) for m in (model.system, pair(source="stretch:spring")))
    assert result.q[-1] == pytest.approx(other.q[-1], abs=1e-12)
    with pytest.raises(ModelFileError, match="pilot"):
        model_of(tmp_path, MODEL.replace("stretch:spring", "stretch:springs"))


@pytest.mark.parametrize("registered", [True, False])
def test_result_files_keep_inputs(tmp_path, registered):
    """A law of yours is known at the stored times, its inputs are those of the library: measures and restarts work."""
    system = pair(None if registered else lagging(gain=1.5, k=K["load"], tau=TAU))
    result = flexmb.simulate(system, 0.2, step=1e-3, output_step=0.01)
    flexmb.files.save_result(result, tmp_path / "pair.h5")
    loaded = flexmb.files.load_result(tmp_path / "pair.h5")
    assert loaded.mechanism.frame_forces[0].call.law.inputs == ("pilot", "push")
    assert loaded.force("booster") == pytest.approx(result.force("booster"), abs=1e-12)
    name = "command:booster.inputs:push"
    assert column(name, loaded).values == pytest.approx(push(result.t), abs=1e-12)
    assert loaded.energy_by_element()["booster"].work == pytest.approx(result.energy_by_element()["booster"].work)
    if not registered:
        again = flexmb.simulate(system, 0.2, initial_state=loaded.state(-1), step=1e-3)
        assert places(again) == pytest.approx(exact(0.4, True)[:2], abs=3e-6)

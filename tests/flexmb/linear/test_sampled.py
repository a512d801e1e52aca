"""Equilibria and small motions with sampled controllers: against maps by hand, closed forms and simulated motions."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.signal

import flexmb
from flexmb import controllers
from flexmb.errors import ControllerError, EquilibriumError, LinearError, SensitivityWarning
from flexmb.linear import SampledVibration, equilibrium, frequency_response, linearise, root_locus, state_space
from flexmb.linear.sampled.period import instants
from flexmb.results.measure import measure

Z = (0.0, 0.0, 1.0)


def slider(*, stiffness=0.0, damping=0.0, gravity=0.0, mass=2.0):
    """A mass on a rail, with a spring."""
    system = flexmb.System(gravity=(0, 0, -gravity), name="slider")
    body = system.add(flexmb.rigid_body("mass", mass=mass, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground.at((0, 0, 0)), body, axis=Z)
    if stiffness or damping:
        system.joint_spring("spring", "rail", stiffness=stiffness, damping=damping)
    return system, body


def with_law(law, source="coordinate:rail", reference=0.0, **options):
    system, _ = slider(**options)
    inputs = {"measured": source, "reference": reference}
    system.controller("servo", law, inputs=inputs, outputs={"command": "effort:rail"})
    return system


def held(A, B, T):
    return scipy.signal.cont2discrete((A, B, np.eye(len(A)), np.zeros(B.shape)), T)[:2]


def same_multipliers(vibration, expected, tolerance):
    """Require that the multipliers are the `expected` ones above the real axis that differ from zero."""
    expected = np.asarray(expected, complex)
    above = expected[(expected.imag >= 0) & (np.abs(expected) > 1e-9)]
    found = np.exp(vibration.eigenvalues * vibration.period)
    found = np.where(found.imag < -1e-12, found.conj(), found)  # folded more than half a turn
    assert len(found) == len(above)
    for x in above:
        assert np.abs(found - x).min() < tolerance * max(np.abs(x), 1e-3), (x, found)


def test_a_sampled_pid_rests_where_its_error_is_zero_and_moves_as_its_map_by_hand():
    KP, KI, KD, TF, T, k, m, g = 300.0, 200.0, 30.0, 0.02, 0.01, 40.0, 2.0, 9.81
    law = controllers.pid(KP, KI, KD, filter=TF, sample_time=T)
    system = with_law(law, reference=0.1, stiffness=k, gravity=g)
    rest = equilibrium(system)
    assert abs(rest.result.coordinate("rail")[0] - 0.1) < 1e-12
    integral, derivative, last, begun, command = rest.state.element_states
    assert abs(integral - (m * g + 0.1 * k)) < 1e-9
    assert abs(command - integral) < 1e-9
    assert abs(derivative) < 1e-9
    assert abs(last + 0.1) < 1e-12
    assert begun == 1.0
    assert rest.verdict == "not judged"
    small = linearise(rest)
    vibration = small.modes()
    A, B = held(np.array([[0, 1], [-k / m, 0]]), np.array([[0], [1 / m]]), T)
    M = np.zeros((5, 5))  # place, speed, integral, derivative, last
    summed, changed = np.array([-T * KI, 0, 1, 0, 0]), np.array([-KD, 0, 0, TF, -KD]) / (TF + T)
    M[:2, :2], M[2], M[3], M[4, 0] = A, summed, changed, -1.0
    M[:2] += B @ (np.array([[-KP, 0, 0, 0, 0]]) + summed + changed)
    assert isinstance(vibration, SampledVibration)
    same_multipliers(vibration, np.linalg.eigvals(M), 1e-8)
    assert vibration.verdict == "stable"
    assert vibration.errors.max() < 1e-5
    matrix, period = small.period_matrix()
    assert period == T
    assert matrix.shape == (7, 7)
    assert "samples repeat every 0.01" in str(vibration)


def test_a_sampled_controller_reads_the_command_that_another_gives_in_the_same_sample():
    """A speed loop within a loop of positions, `u = -P2 (v + P1 x)` at each sample, one after the other."""
    T, P1, P2, m = 0.02, 3.0, 8.0, 2.0
    system, _ = slider(mass=m)
    gains = [controllers.state_feedback([[gain]], ["measured"], sample_time=T) for gain in (P1, P2)]
    system.controller("outer", gains[0], inputs={"measured": "coordinate:rail"}, outputs={})
    inputs = {"measured": "rate:rail", "measured reference": "command:outer:command"}
    system.controller("inner", gains[1], inputs=inputs, outputs={"command": "effort:rail"})
    A, B = held(np.array([[0.0, 1], [0, 0]]), np.array([[0], [1 / m]]), T)
    expected = np.linalg.eigvals(A - P2 * B @ np.array([[P1, 1.0]]))
    same_multipliers(linearise(equilibrium(system)).modes(), expected, 1e-8)


def test_a_simulation_that_starts_at_the_equilibrium_stays_there():
    system = with_law(controllers.pid(300.0, 200.0, 30.0, filter=0.02, sample_time=0.01), reference=0.1, gravity=9.81)
    rest = equilibrium(system)
    result = flexmb.simulate(replace(rest.mechanism, initial=rest.state), 0.1, step=0.005)
    assert np.abs(result.coordinate("rail") - 0.1).max() < 1e-12


def test_a_hold_destabilises_what_a_spring_does_not():
    """A mass on a sampled spring has multipliers of magnitude one plus `k T^2 / 2 m`; their product is exact."""
    k, T, m = 4.0, 0.1, 2.0
    vibration = linearise(equilibrium(with_law(controllers.pid(k, sample_time=T)))).modes()
    A, B = held(np.array([[0.0, 1], [0, 0]]), np.array([[0], [1 / m]]), T)
    expected = np.linalg.eigvals(A - B @ np.array([[k, 0.0]]))
    assert abs(np.prod(np.abs(expected)) - (1 + k * T**2 / (2 * m))) < 1e-12
    growing = vibration.of(vibration.growing)
    assert len(growing.eigenvalues) == 1
    assert isinstance(growing, SampledVibration)
    assert np.abs(np.exp(growing.eigenvalues[0] * T) - expected).min() < 1e-9
    assert vibration.verdict == "unstable"


def test_the_growth_of_a_simulated_motion_is_that_of_the_mode():
    T = 0.05
    system = with_law(controllers.pid(60.0, 0.0, 6.0, filter=0.1, sample_time=T), stiffness=20.0, damping=0.5)
    rest = equilibrium(system)
    vibration = linearise(rest).modes()
    slowest = vibration.eigenvalues[vibration.frequencies > 0]
    assert len(slowest) == 1
    q = rest.state.q.copy()
    q[2] += 1e-3
    moved = replace(rest.mechanism, initial=replace(rest.state, q=q))
    x = flexmb.simulate(moved, 4.0, method="radau", tolerance=1e-9, output_step=T).coordinate("rail")[30:]
    table = np.column_stack([x[1:-1], x[:-2]])  # x[k+2] = a x[k+1] + b x[k] for one vibration
    a, b = np.linalg.lstsq(table, x[2:], rcond=None)[0]
    found = np.log(np.roots([1.0, -a, -b]).astype(complex)) / T
    assert np.abs(found - slowest[0]).min() < 2e-3 * abs(slowest[0])


def test_a_delay_of_several_samples_ends_without_a_mode():
    """A command that comes four samples late: its map is a chain, whose multipliers of zero are defective."""
    k, T, m, late = 3.0, 0.05, 2.0, 4
    delay = np.eye(late, k=-1)
    first, last = np.eye(late)[:, :1], np.eye(late)[-1:]
    law = controllers.linear(scipy.signal.dlti(delay, -k * first, last, np.zeros((1, 1)), dt=T), inputs=["measured"])
    system, _ = slider(stiffness=30.0, damping=1.0)
    system.controller("late", law, inputs={"measured": "coordinate:rail"}, outputs={"command": "effort:rail"})
    vibration = linearise(equilibrium(system)).modes()
    A, B = held(np.array([[0, 1], [-30.0 / m, -1.0 / m]]), np.array([[0], [1 / m]]), T)
    M = np.zeros((2 + late, 2 + late))
    M[:2, :2], M[:2, -1], M[2:, 2:], M[2, 0] = A, B[:, 0], delay, -k
    same_multipliers(vibration, np.linalg.eigvals(M), 1e-7)
    assert vibration.stable


def test_a_vibration_faster_than_the_samples_keeps_its_frequency():
    """Its multiplier is folded below half the rate of the samples."""

    def pair(T):
        system = flexmb.System(name="pair")
        bodies = [system.add(flexmb.rigid_body(n, mass=m, inertia=(1, 1, 1))) for n, m in (("a", 1.0), ("b", 2.0))]
        for body in bodies:
            system.prismatic(f"rail {body.body.name}", system.ground.at((0, 0, 0)), body, axis=Z)
        ends = [body.at((0, 0, 0)) for body in bodies]
        system.bushing("link", *ends, stiffness=(0, 0, 9e4, 0, 0, 0), damping=(0, 0, 2.0, 0, 0, 0))
        system.joint_spring("spring", "rail a", stiffness=40.0, damping=0.3)
        if T:
            law = controllers.pid(5.0, 1.0, 0.5, filter=0.05, sample_time=T)
            inputs = {"measured": "coordinate:rail a"}
            system.controller("servo", law, inputs=inputs, outputs={"command": "effort:rail a"})
        return linearise(equilibrium(system)).modes().frequencies.max()

    assert np.abs(np.array([pair(T) for T in (0.1, 0.05, 0.023)]) / pair(None) - 1.0).max() < 1e-4


def test_a_free_body_under_sampled_control_of_its_attitude_and_place():
    system, T = flexmb.System(name="satellite"), 0.1
    system.add(flexmb.rigid_body("sat", mass=10.0, inertia=(3.0, 4.0, 5.0)))
    for axis, angle in zip("xyz", (3, 2, 1), strict=True):
        turn = {"place": f"attitude:sat:ZYX:{angle}", "speed": f"angular-velocity:sat:{axis}"}
        system.controller(
            f"turn {axis}",
            controllers.state_feedback([[2.0, 3.0]], ["place", "speed"], commands=["push"], sample_time=T),
            inputs=turn,
            outputs={"push": f"moment:sat:{axis}"},
        )
        move = {"place": f"position:sat:{axis}", "speed": f"velocity:sat:{axis}"}
        system.controller(
            f"move {axis}",
            controllers.state_feedback([[5.0, 4.0]], ["place", "speed"], commands=["push"], sample_time=T),
            inputs=move,
            outputs={"push": f"force:sat:{axis}"},
        )
    vibration = linearise(equilibrium(system)).modes()
    expected = []
    for inertia, k, c in ((3.0, 2.0, 3.0), (4.0, 2.0, 3.0), (5.0, 2.0, 3.0), *[(10.0, 5.0, 4.0)] * 3):
        A, B = held(np.array([[0.0, 1], [0, 0]]), np.array([[0], [1 / inertia]]), T)
        expected.append(np.linalg.eigvals(A - B @ np.array([[k, c]])))
    same_multipliers(vibration, np.concatenate(expected), 1e-8)


@flexmb.control_law(inputs=("place", "force"), commands=("push",), states=("kept",), updates=True)
def of_acceleration(t, inputs, states, parameters, commands, rates):
    rates[0] = 0.5 * states[0] + inputs[0]
    commands[0] = -0.3 * states[0] - 0.2 * inputs[0] - 0.1 * inputs[1]


def cascade(damping=1.0):
    """Two masses under controllers of two rates, one of which reads an acceleration and others the commands of a
    sampled and a continuous one."""
    system = flexmb.System(gravity=(0, 0, -1.0), name="cascade")
    bodies = [system.add(flexmb.rigid_body(n, mass=m, inertia=(1, 1, 1))) for n, m in (("a", 1.0), ("b", 2.0))]
    for body in bodies:
        system.prismatic(f"rail {body.body.name}", system.ground.at((0, 0, 0)), body, axis=Z)
    system.joint_spring("spring a", "rail a", stiffness=40.0, damping=0.3 * damping)
    system.joint_spring("spring b", "rail b", stiffness=10.0, damping=0.1 * damping)
    ends = [body.at((0, 0, 0)) for body in bodies]
    system.bushing("link", *ends, stiffness=(0, 0, 20.0, 0, 0, 0), damping=(0, 0, 0.1, 0, 0, 0))
    outer = controllers.pid(3.0, 4.0, 1.0, filter=0.05, sample_time=0.09)
    system.controller("outer", outer, inputs={"measured": "coordinate:rail b", "reference": 0.1}, outputs={})
    lag = controllers.linear(([2.0], [0.1, 1.0]))
    system.controller("lag", lag, inputs={"input": "command:outer:command"}, outputs={})
    inputs = {"measured": "rate:rail b", "reference": "command:lag:command", "feedforward": "command:outer:command"}
    inner = controllers.pid(5.0, 2.0, 0.3, filter=0.02, sample_time=0.06)
    system.controller("inner", inner, inputs=inputs, outputs={"command": "effort:rail b"})
    inputs = {"place": "position:a:z", "force": "acceleration:b:z"}
    system.controller("other", of_acceleration(sample_time=0.06), inputs=inputs, outputs={"push": "effort:rail a"})
    return system, bodies


def test_the_period_is_that_after_which_all_samples_come_together_again():
    """Samples each 0.06 and each 0.09 come together after 0.18, at four instants."""
    assert linearise(equilibrium(cascade()[0])).modes().period == pytest.approx(0.18, rel=1e-12)
    assert [len(instant.due) for instant in instants(cascade()[0].build())] == [3, 2, 1, 2]
    lengths = [instant.until_next for instant in instants(cascade()[0].build())]
    assert lengths == pytest.approx([0.06, 0.03, 0.03, 0.06], rel=1e-12)


@pytest.mark.long
def test_multipliers_are_those_of_simulated_periods():
    rest = equilibrium(cascade()[0])
    vibration = linearise(rest).modes()
    assert vibration.period == pytest.approx(0.18, rel=1e-12)
    start, h, columns = rest.state, 1e-3, []
    places, speeds = [2, 9], [2, 8]

    def after(change):
        q, w = start.q.copy(), start.w.copy()
        q[places] += change[:2]
        w[speeds] += change[2:4]
        state = replace(start, q=q, w=w, element_states=start.element_states + change[4:])
        mechanism = replace(rest.mechanism, initial=state)
        end = flexmb.simulate(mechanism, 0.18, method="radau", tolerance=1e-11, output_step=0.18).state(-1)
        return np.concatenate([end.q[places], end.w[speeds], end.element_states])

    for unit in np.eye(4 + len(start.element_states)):
        columns.append((after(h * unit) - after(-h * unit)) / (2 * h))
    expected = np.linalg.eigvals(np.array(columns).T)
    found = vibration.multipliers
    for x in expected[(np.abs(expected) > 1e-2) & (expected.imag >= 0)]:
        assert min(np.abs(found - x).min(), np.abs(found.conj() - x).min()) < 1e-6
    assert (np.abs(found) > 1e-2).sum() == ((np.abs(expected) > 1e-2) & (expected.imag >= 0)).sum()


@pytest.mark.long
@pytest.mark.parametrize("cycles", [0.25, 2.25])
def test_a_response_is_the_part_of_a_simulated_motion_with_the_frequency_of_the_load(cycles):
    f, size, count = cycles / 0.18, 0.01, 100
    system, bodies = cascade(damping=10.0)
    system.load("shake", bodies[1].at((0, 0, 0)), force=Z, factor=flexmb.time_functions.harmonic(size, f))
    rest = equilibrium(system)
    small = linearise(rest)
    places = {"a": measure("position:a:z"), "b": measure("position:b:z")}
    found = frequency_response(small, [f], ["shake"], places)
    settled = 4 * 0.18 * np.ceil(14 / -small.modes().eigenvalues.real.max() / (4 * 0.18))
    begin = replace(rest.mechanism, initial=rest.state)
    result = flexmb.simulate(begin, settled + 0.72, method="radau", tolerance=1e-9, output_step=0.72 / count)
    t = result.t[-count - 1 : -1]
    for name, of in places.items():
        amplitude = 2 * np.mean(of(result)[-count - 1 : -1] * np.exp(-2j * np.pi * f * t)) / (-1j * size)
        assert abs(amplitude - found.of(name, "shake")[0]) < 1e-5 * abs(amplitude)


def test_a_response_is_that_of_a_sampled_loop_in_closed_form():
    """Load and hold act on the plant `P(s)`; the samples see `P` and its discrete map, the hold has its own response."""
    m, k, c, T, gain = 2.0, 30.0, 1.0, 0.1, 8.0
    system, body = slider(stiffness=k, damping=c)
    law, inputs = controllers.pid(gain, sample_time=T), {"measured": "coordinate:rail"}
    system.controller("servo", law, inputs=inputs, outputs={"command": "effort:rail"})
    system.load("shake", body.at((0, 0, 0)), force=Z, factor=flexmb.time_functions.constant(0.0))
    small = linearise(equilibrium(system))
    f = np.array([0.05, 0.3, 0.7, 3.0, 5.0, 8.0, 17.3])
    outputs = {"place": measure("position:mass:z"), "held": measure("effort:servo.command")}
    found = frequency_response(small, f, ["shake", "servo.command"], outputs)
    A, B = np.array([[0, 1], [-k / m, -c / m]]), np.array([[0], [1 / m]])
    A_d, B_d = held(A, B, T)
    s = 2j * np.pi * f
    P = 1 / (m * s**2 + c * s + k)
    discrete = np.array([(np.linalg.solve(np.exp(x * T) * np.eye(2) - A_d, B_d))[0, 0] for x in s])
    seen = P / (1 + gain * discrete)  # at the samples
    hold = (1 - np.exp(-s * T)) / (s * T)
    assert np.abs(found.of("place", "shake") - P * (1 - gain * hold * seen)).max() < 1e-9 * np.abs(P).max()
    assert np.abs(found.of("held", "shake") + gain * hold * seen).max() < 1e-9 * gain * np.abs(P).max()
    assert np.allclose(found.of("place", "shake"), found.of("place", "servo.command"), rtol=1e-9)


def test_kinks_of_sampled_laws_are_told():
    @flexmb.control_law(inputs=("measured",), commands=("command",))
    def relay(t, inputs, states, parameters, commands, rates):
        commands[0] = -1.0 if inputs[0] > 0.0 else 1.0

    system, _ = slider(stiffness=10.0)
    system.controller(
        "relay", relay(sample_time=0.1), inputs={"measured": "coordinate:rail"}, outputs={"command": "effort:rail"}
    )
    with pytest.warns(SensitivityWarning, match="kink or jump of the laws of the sampled controllers 'relay'"):
        linearise(system)


def test_a_root_locus_follows_the_modes_of_a_sampled_loop():
    def of(gain):
        return with_law(controllers.pid(gain, sample_time=0.1), stiffness=100.0, damping=2.0)

    loci = root_locus(of, np.linspace(0.5, 40.0, 5), parameter="gain")
    A, B = held(np.array([[0, 1], [-50.0, -1.0]]), np.array([[0], [0.5]]), 0.1)
    for k, gain in enumerate(loci.values):
        expected = np.abs(np.linalg.eigvals(A - B @ np.array([[gain, 0.0]]))).max()
        assert abs(np.log(max(expected, 1.0)) / 0.1 - max(loci.growth[k], 0.0)) < 1e-6


def test_what_is_not_included_is_refused_by_name():
    system = with_law(controllers.pid(1.0, sample_time=0.1), stiffness=10.0)
    small = linearise(equilibrium(system))
    with pytest.raises(LinearError, match="sampled controllers 'servo' has no state-space model"):
        state_space(small, ["servo.command"], {"x": measure("position:mass:z")})
    with pytest.raises(LinearError, match="period_matrix"):
        small.state_matrix()
    with pytest.raises(LinearError, match="no sampled controllers"):
        linearise(equilibrium(slider(stiffness=1.0)[0])).period_matrix()
    moving = flexmb.simulate(with_law(controllers.pid(1.0, sample_time=0.1), reference=1.0), 0.05, step=0.01)
    with pytest.raises(ControllerError, match=r"Linearisation about a motion does not include .*'servo'"):
        linearise(moving.mechanism, moving.state(-1))
    with pytest.raises(ControllerError, match="input 'force:rail:x' depends on reactions"):
        equilibrium(with_law(controllers.pid(1.0, sample_time=0.1), "force:rail:x", stiffness=10.0))


def test_sample_times_without_a_common_period_are_refused():
    system = with_law(controllers.pid(1.0, sample_time=0.1), stiffness=10.0)
    law = controllers.pid(1.0, sample_time=0.1 * np.sqrt(2.0))
    system.controller("other", law, inputs={"measured": "coordinate:rail"}, outputs={"command": "force:mass:z"})
    rest = equilibrium(system)
    with pytest.raises(ControllerError, match=r"'servo', 'other'.*0.1, 0.141421.*no common period"):
        linearise(rest)


def test_a_controller_that_never_settles_has_no_equilibrium():
    @flexmb.control_law(inputs=("measured",), commands=("command",), states=("count",), updates=True)
    def counts(t, inputs, states, parameters, commands, rates):
        rates[0] = states[0] + 1.0
        commands[0] = -inputs[0]

    system, _ = slider(stiffness=10.0)
    system.controller(
        "counter", counts(sample_time=0.1), inputs={"measured": "coordinate:rail"}, outputs={"command": "effort:rail"}
    )
    with pytest.raises(EquilibriumError, match=r"'count' of 'counter'.*no stationary value"):
        equilibrium(system)


@pytest.mark.parametrize("sample_time", [None, 0.01])
def test_a_controller_at_its_limit_rests_where_its_anti_windup_holds_the_integral(sample_time):
    """The weight is beyond the limit, so that a spring takes the rest: `I' = ki e + (command - wanted) / (kp / ki)`."""
    k, m, kp, most = 100.0, 2.0, 50.0, 5.0
    law = controllers.pid(kp, 20.0, filter=0.02, lower=-most, upper=most, sample_time=sample_time)
    rest = equilibrium(with_law(law, stiffness=k, gravity=9.81))
    error = (m * 9.81 - most) / k
    assert rest.result.coordinate("rail")[0] == pytest.approx(-error, rel=1e-12)
    assert rest.state.element_states[0] == pytest.approx(most, rel=5e-2)  # less than a step of `I` beyond
    result = flexmb.simulate(replace(rest.mechanism, initial=rest.state), 0.05, step=0.005)
    assert np.ptp(result.coordinate("rail")) < 1e-12


def test_accelerometers_alone_close_a_loop():
    """A controller that measures nothing but an acceleration, on an arm that rests obliquely. What its states are
    compared with was rounding, so that they moved nothing, and the loop counted as open."""
    T, at = 0.04, np.array([[0.2, 0.3], [-0.1, 0.4]])
    into, out, through = np.array([[0.5], [1.0]]), np.array([[0.8, -0.6]]), np.array([[-0.4]])

    def arm():
        system = flexmb.System(gravity=(0, 0, -9.81), name="arm")
        rod = system.add(flexmb.uniform_rod("arm", mass=2.0, length=1.0))
        system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
        system.joint_spring("spring", "hinge", stiffness=40.0, damping=0.5)
        return system

    plant, source = arm(), {"y": measure("acceleration:arm.end:z")}
    plant.motor("push", "hinge", flexmb.time_functions.constant(0.0))
    P = state_space(linearise(equilibrium(plant)), ["push"], source)
    M, S = np.zeros((5, 5)), np.eye(5)  # angle, rate, two states, command
    M[:2, :2], M[:2, 4:] = held(P.A, P.B, T)
    M[2:, 2:] = np.eye(3)
    y = np.hstack([P.C[0], [0.0, 0.0], P.D[0]])
    S[2:4], S[4] = into @ y[None], through[0, 0] * y
    S[2:4, 2:4] += at
    S[4, 2:4] += out[0]
    system, law = arm(), controllers.linear(scipy.signal.dlti(at, into, out, through, dt=T), inputs=["measured"])
    inputs = {"measured": "acceleration:arm.end:z"}
    system.controller("servo", law, inputs=inputs, outputs={"command": "effort:hinge"})
    same_multipliers(linearise(equilibrium(system)).modes(), np.linalg.eigvals(M @ S), 1e-8)

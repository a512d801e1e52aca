"""A state is a value: it checks itself, can be compared and copied, and what is evaluated at it obeys the events that had happened."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from mechanisms import double_pendulum, random_flexible_body, slider_crank

import flexmb
from flexmb.analyses.mobility import mobility
from flexmb.equations.evaluate import accelerations, constraint_values, evaluate
from flexmb.errors import ControllerError, LawError, MechanismError
from flexmb.files import load_result, save_result
from flexmb.linear import linearise
from flexmb.mechanism.state import State, Topology
from flexmb.simulation.events import Event, Lock, Release

EVENTS = [
    Event("latch", lambda r: r.coordinate("elbow") - 0.2, Lock("elbow")),
    Event("open", lambda r: r.t - 0.5, Release("latch")),
    Event("break", lambda r: r.t - 0.7, Release("elbow")),
]


@pytest.fixture(scope="module")
def eventful():
    return flexmb.simulate(double_pendulum(), 0.9, step=1e-3, output_step=0.1, events=EVENTS)


def test_a_state_is_a_value(eventful):
    state = eventful.state(3)
    for same in (eventful.state(3), copy.deepcopy(state), pickle.loads(pickle.dumps(state)), replace(state)):
        assert same == state
    changes = {"t": 0.1, "q": 2 * state.q, "w": 2 * state.w, "angles": np.zeros(0), "topology": Topology()}
    for name, value in changes.items():
        assert replace(state, **{name: value}) != state
    assert state != "a state"
    assert State(0, [1, 2], [3]) == State(0.0, np.array([1.0, 2.0]), np.array([3.0]))


@pytest.mark.parametrize("arrays", [{"q": [1j]}, {"q": [[1.0]]}, {"w": ["0"]}, {"angles": 0.0}, {"w": None}])
def test_a_state_of_something_else_than_numbers_is_refused(arrays):
    with pytest.raises(MechanismError, match=rf"State: {next(iter(arrays))} is a row of real numbers; found"):
        State(**{"t": 0.0, "q": [1.0], "w": [1.0]} | arrays)


def _longer(q):
    return np.concatenate([q[:3], 2 * q[3:7], q[7:]])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: replace(s, q=s.q[:-1]), "Is it a state of another mechanism"),
        (lambda s: replace(s, w=s.w[:-1]), "Is it a state of another mechanism"),
        (lambda s: slider_crank().build().initial, "Is it a state of another mechanism"),
        (lambda s: replace(s, angles=np.zeros(7)), "Is it a state of another mechanism"),
        (lambda s: replace(s, q=np.nan * s.q), "must be finite"),
        (lambda s: replace(s, w=np.full_like(s.w, np.inf)), "must be finite"),
        (lambda s: replace(s, t=np.nan), "must be finite"),
        (lambda s: replace(s, q=_longer(s.q)), "'first' .*quaternion of length 2"),
    ],
)
@pytest.mark.parametrize("use", [evaluate, linearise, mobility, lambda m, s: flexmb.simulate(m, 0.1, step=0.01, initial_state=s)], ids=["evaluate", "linearise", "mobility", "simulate"])  # fmt: skip
def test_a_state_that_is_none_of_the_mechanism_is_refused(use, change, said):
    mechanism = double_pendulum().build()
    state = change(mechanism.initial)
    with pytest.raises(MechanismError, match=said):
        use(mechanism, state)


def test_what_events_hold_is_in_force_where_a_state_is_evaluated(eventful, tmp_path):
    """At every stored time, before, during and after the lock and the release: the accelerations and reactions of the simulation."""
    assert len({str(eventful.state(i).topology) for i in range(len(eventful.t))}) == 3
    scale = np.abs(eventful.wdot).max()
    for result in (eventful, load_result(save_result(eventful, tmp_path / "run.h5"))):
        rows = result.mechanism.joint("latch").rows
        for i in range(len(result.t)):
            state = result.state(i)
            found = evaluate(result.mechanism, state)
            np.testing.assert_allclose(found.accelerations, result.wdot[i], atol=1e-6 * scale)
            np.testing.assert_allclose(found.constraint_values, 0.0, atol=1e-9)
            held = len(found.multipliers) - sum(len(j.rows) for j in double_pendulum().build().joints)
            if "latch" in state.topology.locked:
                np.testing.assert_allclose(found.multipliers[-1], result.multipliers[i, rows[0]], rtol=1e-4)
            assert held == (1 if state.topology.locked else -5 if state.topology.released else 0)


def test_a_state_that_is_held_is_not_evaluated_without_what_holds_it(eventful):
    held = eventful.state(3)
    for use in (evaluate, accelerations, constraint_values, linearise, mobility):
        with pytest.raises(MechanismError, match=r"locked by 'latch'.*result\.mechanism"):
            use(double_pendulum(), held)


def test_a_state_after_a_release_needs_no_events(eventful):
    mechanism = double_pendulum().build()
    np.testing.assert_allclose(
        accelerations(mechanism, eventful.state(-1))[0], eventful.wdot[-1], atol=1e-6 * np.abs(eventful.wdot).max()
    )
    assert mobility(mechanism, eventful.state(-1)).degrees_of_freedom == 7


def test_small_motions_and_degrees_of_freedom_are_those_of_the_topology(eventful):
    locked, free = eventful.state(3), eventful.state(6)
    assert [mobility(eventful.mechanism, s).degrees_of_freedom for s in (locked, free)] == [1, 2]
    assert [len(linearise(eventful.mechanism, s).G.toarray()) for s in (locked, free)] == [11, 10]


def test_a_mechanism_that_starts_from_a_held_state_is_refused_by_analyses(eventful):
    """They would leave the lock out."""
    mechanism = replace(double_pendulum().build(), initial=eventful.state(3), start_rows=())
    for use in (mobility, linearise):
        with pytest.raises(MechanismError, match="locked by 'latch'"):
            use(mechanism)


@pytest.mark.parametrize(
    "use",
    [mobility, linearise, lambda m: flexmb.simulate(m, 0.1, step=0.01)],
    ids=["mobility", "linearise", "simulate"],
)
def test_the_mechanism_of_a_result_with_events_is_refused_where_its_locks_would_always_hold(eventful, use):
    with pytest.raises(
        MechanismError, match=r"result with the events 'latch'.*initial_state=result\.state\(-1\) and the same"
    ):
        use(eventful.mechanism)


@pytest.mark.parametrize("law", [lambda t, x, v: 1 / 0, lambda t, x, v: float("nan")], ids=["raises", "no number"])
def test_a_law_that_fails_is_named_where_a_state_is_evaluated(law):
    from flexmb.equations import evaluate as module

    system = double_pendulum()
    system.motor("motor", "hinge", law)
    state = system.build().initial
    for use in (module.evaluate, module.forces, module.accelerations, module.energies):
        with pytest.raises(LawError, match="law of 'motor'"):
            use(system, state)


def test_states_are_found_by_the_name_of_their_element():
    def rest(t, relative, states, parameters, wrench, rates):
        wrench[:] = 0.0

    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    ends = system.ground.at((0, 0, 0)), body.at((0, 0, 0))
    system.force("pair", *ends, flexmb.law(rest, states=("a", "b"))())
    system.force("plain", *ends, flexmb.law(rest)())
    system.force("single", *ends, flexmb.law(rest, states=("c",))(initial={"c": 5.0}))
    mechanism = system.build()
    found = [mechanism.states_of(name) for name in ("pair", "plain", "single")]
    assert found == [slice(0, 2), slice(2, 2), slice(2, 3)]
    assert mechanism.initial_states[mechanism.states_of("single")] == [5.0]
    with pytest.raises(ControllerError, match=r"named 'singel'\. Did you mean 'single'"):
        mechanism.states_of("singel")


def test_other_bodies_keep_the_states_of_elements():
    """A damper of Maxwell's, some time after it was stretched, between rigid or flexible bodies."""

    @flexmb.law(states=("force",), parameters=("k", "tau"))
    def maxwell(t, relative, states, parameters, wrench, rates):
        wrench[0] = -states[0]
        rates[0] = parameters[0] * relative.v[0] - states[0] / parameters[1]

    system = flexmb.System()
    body = system.add(random_flexible_body(np.random.default_rng(3)), velocity=(1, 0, 0))
    system.force("damper", system.ground.at((0, 0, 0)), body["start"], maxwell(k=50.0, tau=0.1))
    state = flexmb.simulate(system, 0.05, step=1e-3).state(-1)
    assert abs(state.element_states[0]) > 1.0
    moved = replace(system.build(), initial=state, start_rows=())
    for other in (moved.rigid(), moved.with_bodies(moved.bodies)):
        np.testing.assert_array_equal(other.initial.element_states, state.element_states)
        np.testing.assert_array_equal(other.initial.q[:7], state.q[:7])

"""What events have changed belongs to the state: a simulation that starts from it goes on with its locks, contacts and releases."""

from dataclasses import replace

import numpy as np
import pytest
from mechanisms import double_pendulum

import flexmb
from flexmb.errors import EventError, MechanismError
from flexmb.files import load_result, save_result
from flexmb.linear import equilibrium, linearise
from flexmb.mechanism.state import Topology
from flexmb.simulation.events import Event, Lock, Release, StopImpact, stop
from flexmb.study import direct_gradient

EVENTS = [
    Event("latch", lambda r: r.coordinate("elbow") - 0.2, Lock("elbow")),
    Event("free", lambda r: r.t - 0.9, Release("latch")),
]


@pytest.mark.parametrize("options", [{"step": 1e-3}, {"method": "radau", "tolerance": 1e-8}], ids=["alpha", "radau"])
def test_a_lock_is_in_force_after_a_new_start(options, tmp_path):
    """Latched at 0.5 s or so, cut at 0.7, let go at 0.9: as in one simulation, from a file too."""
    whole = flexmb.simulate(double_pendulum(), 1.2, output_step=0.1, events=EVENTS, **options)
    first = flexmb.simulate(double_pendulum(), 0.7, output_step=0.1, events=EVENTS, **options)
    assert first.happened[-1].event == "latch"
    assert first.state(0).topology == Topology()
    assert first.state(-1).topology.locked == pytest.approx({"latch": 0.2})
    loaded = load_result(save_result(first, tmp_path / "first.h5"))
    assert loaded.topologies == first.topologies
    for before in (first, loaded):
        second = flexmb.simulate(
            double_pendulum(), 0.5, output_step=0.1, events=EVENTS, initial_state=before.state(-1), **options
        )
        assert [h.event for h in second.happened] == ["free"]
        np.testing.assert_allclose(second.coordinate("elbow")[:2], 0.2, atol=1e-9)
        ahead = whole.position("second.end")[-len(second.t) :]
        np.testing.assert_allclose(second.position("second.end"), ahead, atol=1e-5)


def test_a_contact_lasts_after_a_new_start():
    """A pendulum that rests on its stop; the force there is that of one simulation."""
    floor = stop("floor", "hinge", -0.3, upper=False)
    whole = flexmb.simulate(double_pendulum(), 1.0, step=1e-3, output_step=0.05, events=[floor])
    first = flexmb.simulate(double_pendulum(), 0.5, step=1e-3, output_step=0.05, events=[floor])
    second = flexmb.simulate(
        double_pendulum(), 0.5, step=1e-3, output_step=0.05, events=[floor], initial_state=first.state(-1)
    )
    np.testing.assert_allclose(second.position("second.end")[-1], whole.position("second.end")[-1], atol=1e-4)
    assert second.coordinate("hinge").min() > -0.3 - 1e-6


def test_what_was_released_stays_away():
    gone = Event("break", lambda r: r.t - 0.2, Release("elbow"))
    whole = flexmb.simulate(double_pendulum(), 0.6, step=1e-3, output_step=0.1, events=[gone])
    first = flexmb.simulate(double_pendulum(), 0.3, step=1e-3, output_step=0.1, events=[gone])
    assert first.state(-1).topology.released == {"elbow"}
    second = flexmb.simulate(
        double_pendulum(), 0.3, step=1e-3, output_step=0.1, events=[gone], initial_state=first.state(-1)
    )
    np.testing.assert_allclose(second.position("second.end")[-1], whole.position("second.end")[-1], atol=1e-5)
    begun = replace(double_pendulum().build(), initial=first.state(-1), start_rows=())
    for analysis in (equilibrium, linearise):
        with pytest.raises(MechanismError, match=r"released 'elbow' in the initial state .* at t = 0\.3"):
            analysis(begun)
    with pytest.raises(MechanismError, match="released 'elbow' in the initial state"):
        direct_gradient(lambda g: double_pendulum(), {"g": 1.0}, 0.1, step=0.05, initial_state=first.state(-1))
    assert linearise(double_pendulum(), first.state(-1)).degrees_of_freedom == 7  # a hinge, and a body that flies


def test_a_state_that_is_held_needs_its_events():
    held = flexmb.simulate(double_pendulum(), 0.7, step=1e-3, events=EVENTS).state(-1)
    for events in ([], [EVENTS[1]]):
        with pytest.raises(EventError, match=r"locked by 'latch'.*(give|start from it with) the events"):
            flexmb.simulate(double_pendulum(), 0.1, step=1e-3, initial_state=held, events=events)


def mass_on_rail(force=None, gravity=9.81):
    """A mass that slides along z from 0, pressed and pulled by a function of time."""
    system = flexmb.System(gravity=(0, 0, -gravity))
    mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1), points={"c": (0, 0, 0)}))
    system.prismatic("rail", system.ground, mass["c"], axis=(0, 0, 1))
    if force is not None:
        system.load("pull", mass["c"], force=(0, 0, 1.0), factor=force)
    return system


def test_a_slow_impact_is_slow_beside_the_fastest_one_before_the_new_start(tmp_path):
    """Below 0.3 times the speed of the first impact the ball stays down, wherever the run is cut, and from a file."""
    floor = Event("floor", lambda r: -(r.coordinate("rail") + 0.1), StopImpact("rail", False, 0.8, rest=0.3))
    run = {"step": 1e-3, "output_step": 0.1, "events": [floor]}
    whole = flexmb.simulate(mass_on_rail(), 1.2, **run)
    for cut in (0.1, 0.3, 0.5, 0.9):
        first = flexmb.simulate(mass_on_rail(), cut, **run)
        loaded = load_result(save_result(first, tmp_path / "first.h5"))
        for before in (first, loaded):
            second = flexmb.simulate(mass_on_rail(), 1.2 - cut, initial_state=before.state(-1), **run)
            assert len(first.happened) + len(second.happened) == len(whole.happened)
            assert first.ledger.impacts[-1] + second.ledger.impacts[-1] == pytest.approx(whole.ledger.impacts[-1])
            np.testing.assert_allclose(second.position("mass.c"), whole.position("mass.c")[-len(second.t) :], atol=1e-9)


def test_a_contact_that_is_taken_over_leaves_once():
    """A mass that rests and is lifted by a growing force: cut at any time while it rests, it leaves as in one run."""
    system = mass_on_rail(flexmb.time_functions.harmonic(20.0, 2.0))
    run = {"step": 1e-3, "output_step": 0.1, "events": [stop("floor", "rail", -0.05, upper=False)]}
    whole = flexmb.simulate(system, 0.7, **run)
    assert [h.event for h in whole.happened] == ["floor", "floor"]
    for cut in (0.4076, 0.54):
        first = flexmb.simulate(system, cut, **run)
        second = flexmb.simulate(system, 0.7 - cut, initial_state=first.state(-1), **run)
        assert len(first.happened) + len(second.happened) == 2, cut
        assert second.happened[-1].t == pytest.approx(whole.happened[-1].t, abs=1e-8)


def test_a_contact_that_no_longer_presses_opens_at_the_new_start():
    """The same mass, now pulled upwards: not "beyond the stop"."""
    floor = [stop("floor", "rail", -0.05, upper=False)]
    down = flexmb.simulate(mass_on_rail(), 0.5, step=1e-3, events=floor)
    up = flexmb.simulate(mass_on_rail(gravity=-9.81), 0.2, step=1e-3, events=floor, initial_state=down.state(-1))
    np.testing.assert_allclose(up.coordinate("rail"), -0.05 + 0.5 * 9.81 * (up.t - up.t[0]) ** 2, atol=1e-9)
    assert [h.t for h in up.happened] == [0.5]


def test_a_contact_without_force_is_taken_over():
    """Nothing presses the mass on its floor; the new start neither opens nor closes the contact again."""
    system = mass_on_rail(gravity=0.0)
    system.set_speed("rail", -1.0)
    floor = [stop("floor", "rail", -0.1, upper=False)]
    first = flexmb.simulate(system, 0.3, step=1e-2, events=floor)
    second = flexmb.simulate(system, 0.3, step=1e-2, events=floor, initial_state=first.state(-1))
    assert [len(r.happened) for r in (first, second)] == [1, 0]
    np.testing.assert_allclose(second.coordinate("rail"), -0.1, atol=1e-12)


def test_a_stop_that_was_taken_away_needs_its_event():
    """Otherwise nobody could say what of that name is gone."""
    floor = stop("floor", "rail", -0.1, upper=False)
    gone = Event("gone", lambda r: r.t - 0.3, Release("floor"))
    first = flexmb.simulate(mass_on_rail(), 0.4, step=1e-3, events=[floor, gone])
    second = flexmb.simulate(mass_on_rail(), 0.2, step=1e-3, events=[floor], initial_state=first.state(-1))
    assert second.coordinate("rail")[-1] < -0.2
    with pytest.raises(EventError, match=r"released: 'floor'.*start from it with the events"):
        flexmb.simulate(mass_on_rail(), 0.2, step=1e-3, events=[gone], initial_state=first.state(-1))

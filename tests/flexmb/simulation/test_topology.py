"""What events have changed belongs to the state: a simulation that starts from it goes on with its locks, contacts and releases."""

import numpy as np
import pytest
from mechanisms import double_pendulum

import flexmb
from flexmb.errors import EventError
from flexmb.files import load_result, save_result
from flexmb.mechanism.state import Topology
from flexmb.simulation.events import Event, Lock, Release, stop

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


def test_a_state_that_is_held_needs_its_events():
    held = flexmb.simulate(double_pendulum(), 0.7, step=1e-3, events=EVENTS).state(-1)
    for events in ([], [EVENTS[1]]):
        with pytest.raises(EventError, match=r"locked by 'latch'.*give the events"):
            flexmb.simulate(double_pendulum(), 0.1, step=1e-3, initial_state=held, events=events)

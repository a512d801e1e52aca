"""Random mechanisms before the referee: other units, other observers, other methods, Newton and Euler, Pinocchio (see docs/validated.md)."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from referee.build import build, condition, sound
from referee.description import CLOSING, DOUBLED, TWIN, WEIGHTS, describe
from referee.floor import ROUNDED, gain
from referee.judge import judge
from referee.motion import How, difference, run, scales, seen
from referee.newton_euler import impulses_left
from referee.units import SI, SYSTEMS, Frame

try:
    import pinocchio
except ImportError:  # the package pin, for some platforms only
    pinocchio = None

BATCH = 20


def report(seeds):
    """Faults of the mechanisms of some seeds, and how many could not be moved at all."""
    reports = [judge(seed, pinocchio) for seed in seeds]
    return [fault for r in reports for fault in r.faults], sum("baseline" in r.skipped for r in reports)


@seed(1)  # a text of the test would change what derandomize=True picks
@settings(max_examples=4, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10_000))
def test_random_mechanisms(number):
    """A few of them; the long tests take batches of twenty (five hundred mechanisms; FLEXMB_REFEREE_BATCHES sets another number)."""
    faults, _ = report([number])
    assert not faults, "\n".join(faults)


@pytest.mark.long
@pytest.mark.parametrize("batch", range(int(os.environ.get("FLEXMB_REFEREE_BATCHES", "25"))))
def test_batches_of_random_mechanisms(batch):
    """No disagreement, and few that lock or blow up before the run ends."""
    faults, stopped = report(range(BATCH * batch, BATCH * (batch + 1)))
    assert not faults, "\n".join(faults)
    assert stopped <= BATCH // 5


def test_the_mechanisms_are_of_every_kind():
    """All joints, forces, drivers and events, loops and trees, rigid and flexible bodies."""
    many = [describe(seed) for seed in range(500)]
    joints = {j.kind for d in many for j in d.joints}
    assert joints == {*WEIGHTS, "prescribed"}
    assert {j.kind for d in many for j in d.joints if j.name.startswith("closing")} == set(CLOSING)
    assert {f.kind for d in many for f in d.forces} == {"spring", "bushing", "joint-spring", "motor", "law", "load"}
    assert {e.kind for d in many for e in d.events} == {"stop", "lock", "release"}
    assert {d.function.kind for m in many for d in m.drivers} == {"harmonic", "smooth_step", "pulse", "constant_speed"}
    assert {d.loops for d in many} == {0, 1, 2}
    assert {j.kind for d in many for j in d.joints if j.name.startswith(TWIN)} == set(DOUBLED)
    assert any(d.far for d in many)
    assert {s.dof for d in many for s in d.speeds} == {"rotation", "translation"}
    assert any(not d.grounded for d in many)
    assert any(b.seed is not None and b.second_order for d in many for b in d.bodies)


def test_the_referee_sees_a_wrong_force(monkeypatch):
    """A reaction that is a thousandth off: the sums of forces say so."""
    from flexmb.results.result import Result

    d = sound(describe(11, events=False))
    result = run(d, How("radau", tolerance=1e-9), 0.06, output_step=2.5e-3)
    assert impulses_left(d, result) < 1e-7
    reaction = Result.reaction
    monkeypatch.setattr(Result, "reaction", lambda self, joint: 1.001 * reaction(self, joint))
    assert impulses_left(d, result) > 1e-5


def test_the_floor_of_reactions_is_the_gain_of_the_method():
    """In other units reactions differ by rounding as the recursions of the method say, over a hundredfold range of gains."""
    d = sound(describe(454))
    of_position = []
    for rho in (0.3, 0.6, 0.9, 0.95):
        how = How("generalised-alpha", step=2e-3, rho_inf=rho)
        here = seen(d, run(d, how, 0.4))
        there = [seen(d, run(d, how, 0.4, units=units), units) for units in SYSTEMS[1:]]
        s = scales(here, d.bodies[0].mass)
        apart = [difference(here, motion, s)[1] for motion in there]
        rounding = s.force / s.mass * how.step**2 / gain(False, rho)
        assert np.max(apart) * rounding < condition(d) * ROUNDED
        of_position.append(np.sqrt(np.mean(np.square(apart))) * rounding)
    assert max(of_position) < 4 * min(of_position)


def test_frames_and_units_are_undone():
    """What is built in another unit system and frame is seen as it was described."""
    d = sound(describe(4, events=False))
    frame = Frame.random(np.random.default_rng(0), False)
    here = seen(d, run(d, How("generalised-alpha", step=1e-3), 2e-3))
    for units in SYSTEMS:
        there = seen(d, run(d, How("generalised-alpha", step=1e-3), 2e-3, units=units, frame=frame), units, frame)
        np.testing.assert_allclose(there.position, here.position, atol=1e-13)
        np.testing.assert_allclose(there.attitude, here.attitude, atol=1e-13)
    assert build(d, SI).build().bodies[0].invariants.mass == d.bodies[0].mass

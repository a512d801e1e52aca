"""The verdict that ends every run: sound runs of every integrator have none against them, unsound ones are loud."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from mechanisms import double_pendulum, random_flexible_body

import fem
import flexmb
import reduction
from flexmb.files import load_result, save_result
from flexmb.results.result import EventRecord, Statistics
from flexmb.results.verdict import balance_verdict

METHODS = [
    {"step": 1e-3},
    {"step": 1e-3, "coordinates": "joint"},
    {"step": 1e-3, "method": "hht"},
    {"method": "radau"},
    {"method": "bdf"},
    {"method": "explicit"},
    {"step": 1e-2, "method": "energy-momentum"},
]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: "-".join(str(v) for v in m.values()))
def test_a_sound_run_of_every_integrator_has_a_clean_verdict(method):
    verdict = flexmb.simulate(double_pendulum(), 1.0, **method).verdict
    assert verdict.sound
    assert verdict.imbalance < 1e-3
    assert verdict.drift.opening < 1e-7
    assert "closes" in str(verdict)


@pytest.mark.parametrize("seed", range(4))
def test_rest_on_springs_is_sound(seed):
    """The balance of a body at rest consists of round-off of its springs: 3e-31 of 1.5e-31 is no imbalance."""
    place = np.random.default_rng(seed).normal(size=3)
    system = flexmb.System(gravity=(0, 0, 0))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0), position=place, orientation=(0.1, 0.2, seed))
    system.bushing("mount", system.ground.at(place), rod["start"], stiffness=(1e4,) * 3 + (1e3,) * 3)
    system.spring_damper("spring", system.ground.at((0, 0, 3)), rod["end"], stiffness=1e4)
    result = flexmb.simulate(system, 0.05, step=1e-3)
    assert result.verdict.sound
    assert result.ledger.imbalance < 1e-3


def test_a_rotor_that_exchanges_nothing_is_sound_and_its_scale_is_its_kinetic_energy():
    system = flexmb.System(gravity=(0, 0, 0))
    rotor = system.add(flexmb.rigid_body("rotor", mass=1.0, inertia=(1.0, 2.0, 3.0)), angular_velocity=(5.0, 0.1, 0.0))
    result = flexmb.simulate(system, 1.0, step=1e-3)
    assert result.verdict.sound
    assert result.ledger.exchange == pytest.approx(1e-2 * result.ledger.kinetic.max())
    assert rotor.body.name == "rotor"


def test_free_fall_is_no_noise():
    """A body that falls freely does not deform; the residual was compared with a strain energy of 1e-67."""
    mesh = fem.structured_meshes.block("hexahedron", (0.3, 0.2, 0.1), (3, 2, 1))
    part = fem.Model(mesh, fem.Material.isotropic(1e7, 0.3, 1000.0)).with_surfaces(below="z0")
    body = flexmb.flexible_body(part, reduction.contact_basis(part, modes=6), name="block", modal_damping=0.02)
    system = flexmb.System(gravity=(0, 0, -9.81))
    system.add(body, orientation=(0, 0.1, 0))
    result = flexmb.simulate(system, 0.05, step=1e-4)
    assert 0 < result.ledger.elastic.max() < 1e-16 * result.ledger.exchange
    assert result.verdict.strain_ratio == 0.0
    assert "noise" not in str(result)
    assert "the strain energy is round-off: no body deforms" in str(result)


def test_a_body_that_stays_bent_deforms():
    """A part that rests under its load has no residual at all, which was taken for a strain energy that is round-off."""
    system = flexmb.System(gravity=(0, 0, 0))
    body = system.add(random_flexible_body(np.random.default_rng(3), stiffness=(3e4, 9e4)))
    system.load("pull", body["end"], force=(0, 5.0, 0))
    system.fixed("clamp", system.ground.at(body["start"].point), body["start"])
    result = flexmb.simulate(system, 0.01, step=1e-3, initial_state=flexmb.linear.settled)
    assert result.ledger.elastic.min() > 1e-6
    assert "no body deforms" not in str(result)
    assert "(the elastic motion is resolved)" in str(result)
    still = replace(result.ledger, **{name: np.full(3, values[0]) for name, values in result.ledger.series.items()})
    assert np.abs(still.residual).max() == 0.0
    assert "no body deforms" not in str(still)


def test_a_balance_that_does_not_close_is_loud():
    """Ten steps a period of a stiff bar, struck: the scheme's dissipation is most of the strain energy."""
    rng = np.random.default_rng(3)
    system = flexmb.System(gravity=(0, 0, 0))
    body = system.add(random_flexible_body(rng, stiffness=(3e4, 9e4)))
    system.load("blow", body["end"], force=(0, 5.0, 0), factor=flexmb.time_functions.pulse(0.0, 0.02, 1.0))
    system.fixed("clamp", system.ground, body["start"])
    with pytest.warns(flexmb.EnergyBalanceWarning, match="does not close"):
        result = flexmb.simulate(system, 1.0, step=1e-2, rho_inf=0.1)
    assert not result.verdict.sound
    assert "does not close" in str(result)
    times = "the step, about 4.5 times if the residual falls with its square"  # sqrt(2e-2 / 1e-3)
    assert balance_verdict(2e-2) == f"the energy balance closes coarsely: reduce the tolerance, or {times}"


@pytest.mark.parametrize(
    ("method", "step", "word"),
    [("generalised-alpha", 4e-3, "coarse"), ("generalised-alpha", 2.8e-2, "noise"), ("hht", 4e-3, "coarse")],
)
def test_the_step_that_the_verdict_proposes_resolves_the_elastic_motion(method, step, word):
    """A body swings on a hinge while its vibrations die away; the residual of both methods is of second order."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(random_flexible_body(np.random.default_rng(5), modes=2, stiffness=(3e3, 9e3)))
    system.revolute("hinge", system.ground, body["start"], axis=(0, 1, 0))
    coarse = flexmb.simulate(system, 1.0, step=step, method=method).verdict
    assert f"the elastic motion is {word}: reduce the step, about " in str(coarse)
    smaller = float(re.search(r"about (\S+) times if the residual falls with its square", str(coarse))[1])
    fine = flexmb.simulate(system, 1.0, step=step / smaller, method=method).verdict
    assert 0.5e-3 < fine.strain_ratio < 1.5e-3


def test_an_open_joint_is_named_with_its_time():
    result = flexmb.simulate(double_pendulum(), 0.1, step=1e-3)
    q = result.q.copy()
    q[40, 7:10] += (0.0, 0.0, 2e-3)  # the second rod leaves its elbow
    verdict = replace(result, q=q).verdict
    assert verdict.drift.joint == "elbow"
    assert verdict.drift.opening == pytest.approx(2e-3 / result.mechanism.length, rel=1e-6)
    assert verdict.drift.t == result.t[40]
    assert [category for category, _ in verdict.findings] == [flexmb.JointDriftWarning]


def test_joints_that_an_event_released_are_not_open():
    system = double_pendulum()
    events = [flexmb.simulation.events.Event("break", lambda r: r.t - 0.3, flexmb.simulation.events.Release("elbow"))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = flexmb.simulate(system, 0.6, step=1e-3, events=events)
    assert result.verdict.drift.opening < 1e-9


def test_loads_that_fixed_steps_pass_over_stay_in_the_verdict_and_in_the_file(tmp_path):
    system = double_pendulum()
    system.motor("kick", "hinge", flexmb.time_functions.pulse(0.31, 0.004, 1.0))
    with pytest.warns(flexmb.UnresolvedWarning, match="'kick'"):
        result = flexmb.simulate(system, 1.0, step=1e-2)
    assert [category for category, _ in result.verdict.findings] == [flexmb.UnresolvedWarning]
    assert "'kick'" in str(result)
    again = load_result(save_result(result, tmp_path / "run.h5"))
    assert again.verdict == result.verdict


def test_a_report_tells_the_effort_of_steps_and_the_first_events():
    varied = Statistics(200, 3, 500, 0.01, 1e-4, 1e-3)
    assert str(varied) == "200 steps of 0.0001 to 0.001 (3 rejected), 2.50 iterations and 50 us a step"
    assert str(Statistics(10, 0, 20, 1e-3, 1e-3, 1e-3)) == "10 steps of 0.001, 2.00 iterations and 100 us a step"
    result = flexmb.simulate(double_pendulum(), 0.01, step=1e-3)
    events = tuple(EventRecord(0.1 * k, f"event {k}") for k in range(25))
    told = str(replace(result, happened=events))
    assert "1.9  event 19\n... and 5 more events\n" in told
    assert "more events" not in str(replace(result, happened=events[:20]))

"""Radau IIA: its order, its dense output, its agreement with the other integrator, and what is stored."""

import errno
import json
import os

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum, random_flexible_body, slider_crank, turning_loop
from test_cli import is_picture

import flexmb
from flexmb.analyses.work_precision import work_precision
from flexmb.errors import HistoryError, IntegratorError, MeasureError
from flexmb.kernels.calls import displace, exponential_rates
from flexmb.kernels.implicit.radau import ESTIMATE, LAGRANGE, NODES, REAL, A
from flexmb.mechanism.compile import compiled
from flexmb.plots.precision_plots import plot_work_precision
from flexmb.simulation.history import HEADER

RNG = np.random.default_rng(5)


def test_coefficients_are_those_of_collocation():
    """B(5) and C(3) of the tableau; the estimate integrates polynomials of degree 2 exactly (Hairer and Wanner, IV.5 and IV.8)."""
    for power in range(1, 6):
        assert A[2] @ NODES ** (power - 1) == pytest.approx(1 / power, abs=1e-14)
    for power in range(1, 4):
        np.testing.assert_allclose(A @ NODES ** (power - 1), NODES**power / power, atol=1e-14)
    np.testing.assert_allclose(LAGRANGE @ np.eye(3), np.linalg.inv(np.vander(NODES, 3, increasing=True)))
    for power in range(1, 4):  # y = t^power with y'(0) = (power == 1)
        assert REAL * (power == 1) + ESTIMATE @ NODES**power == pytest.approx(0.0, abs=1e-13)


def test_rates_of_exponential_coordinates_are_the_derivative_on_the_group():
    """`q0 o exp(theta + h thetadot)` moves with `w`."""
    flat = compiled(flexible_pendulum(RNG).build())
    q0 = flexible_pendulum(RNG).build().initial.q
    nv = int(flat.v_start[-1])
    theta, w, rates = 0.2 * RNG.normal(size=nv), RNG.normal(size=nv), np.empty(nv)
    exponential_rates(flat.v_start, theta, w, rates)
    h = 1e-4
    along, moved = [], []
    for s in (-h, h):
        q = np.empty_like(q0)
        displace(flat, q0, theta + s * rates, q)
        along.append(q)
        start, q = np.empty_like(q0), np.empty_like(q0)
        displace(flat, q0, theta, start)
        displace(flat, start, s * w, q)
        moved.append(q)
    np.testing.assert_allclose((along[1] - along[0]) / (2 * h), (moved[1] - moved[0]) / (2 * h), atol=2e-7)


@pytest.mark.parametrize("make", [double_pendulum, turning_loop])
def test_order_is_five_in_positions_velocities_and_reactions(make):
    joint = make().build().joints[0].name

    def run(step):
        result = flexmb.simulate(make(), 0.4, step=step, method="radau", output_step=0.4)
        return result.q[-1], result.w[-1], result.reaction(joint)[-1]

    reference = run(1e-3)
    coarse, fine = run(2e-2), run(1e-2)
    for c, f, r in zip(coarse, fine, reference, strict=True):
        assert np.log2(np.linalg.norm(c - r) / np.linalg.norm(f - r)) == pytest.approx(5.0, abs=0.1)


@pytest.mark.parametrize("second_order", [False, True])
def test_both_integrators_give_the_same_flexible_motion(second_order):
    rng = np.random.default_rng(11)
    system = flexmb.System(gravity=(0, -9.81, 0))
    body = system.add(random_flexible_body(rng, second_order=second_order, damping=0.3))
    system.revolute("hinge", system.ground.at((0, 0, 0)), body["start"], axis=(0, 0, 1))
    system.spring_damper("spring", system.ground.at((1.0, 1.0, 0.0)), body["end"], stiffness=40.0, damping=1.0)
    system.load("push", body["end"], force=(0, 0, 0.2), factor=flexmb.time_functions.harmonic(1.0, 3.0))
    system.motor("motor", "hinge", flexmb.time_functions.smooth_step(0.0, 0.2, 0.5))
    radau = flexmb.simulate(system, 0.3, method="radau", tolerance=1e-9, output_step=0.01)
    alpha = [flexmb.simulate(system, 0.3, step=h, output_step=0.01) for h in (2e-4, 1e-4)]
    for name in ("q", "w", "multipliers"):
        exact, errors = getattr(radau, name), [np.abs(getattr(a, name) - getattr(radau, name)).max() for a in alpha]
        assert errors[1] < 2e-3 * np.abs(exact).max()
        assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.5)
    for energy in ("driver_work", "load_work", "modal_heat", "damper_heat"):
        np.testing.assert_allclose(
            getattr(radau.ledger, energy), getattr(alpha[1].ledger, energy), atol=1e-4 * radau.ledger.exchange
        )
    assert np.abs(radau.ledger.residual).max() < 1e-7 * radau.ledger.exchange


def test_between_its_steps_the_motion_is_as_accurate_as_at_them():
    """Also on the joints, in positions and velocities."""
    exact = flexmb.simulate(double_pendulum(), 1.0, method="radau", tolerance=1e-11, output_step=0.01)
    found = flexmb.simulate(double_pendulum(), 1.0, method="radau", tolerance=1e-5, output_step=0.01)
    assert found.statistics.steps < 100  # fewer than stored times
    error = np.linalg.norm(found.position("second.end") - exact.position("second.end"), axis=1)
    assert error.max() < 1e-4
    assert error.max() < 3 * error[::20].max()
    np.testing.assert_allclose(np.linalg.norm(found.position("first.end"), axis=1), 1.0, atol=1e-12)


def test_a_smaller_tolerance_makes_a_smaller_error():
    exact = flexmb.simulate(double_pendulum(), 0.5, method="radau", tolerance=1e-12, output_step=0.5)
    errors = []
    for tolerance in (1e-4, 1e-6, 1e-8):
        found = flexmb.simulate(double_pendulum(), 0.5, method="radau", tolerance=tolerance, output_step=0.5)
        errors.append(np.abs(found.q - exact.q).max())
        assert errors[-1] < 100 * tolerance
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


@pytest.mark.parametrize("method", ["radau", "bdf", "explicit"])
def test_functions_of_users_act_where_those_of_the_library_do(method):
    """The same function of time with and without a formula for compiled code."""
    known, ends = flexmb.time_functions.harmonic(3.0, 1.3, phase=0.4), []
    own = flexmb.time_functions.function(known.value, known.rate, known.acceleration, feature=0.3)
    for factor in (known, own):
        system = flexmb.System()
        body = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)))
        system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
        system.load("push", body.at((0, 0, 0)), force=(1.0, 0, 0), factor=factor)
        ends.append(flexmb.simulate(system, 1.0, method=method, step=0.05, output_step=0.25).coordinate("rail"))
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-12)


def test_redundant_joints_are_no_obstacle():
    """A four-bar mechanism of revolute joints has three equations too many; its motion is unique."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    names, places = ("left", "coupler", "right"), ((0, 0, 0), (0, 0, 1), (2, 0, 0))
    turns = ((0, -np.pi / 2, 0), (0, 0, 0), (0, -np.pi / 2, 0))
    lengths = (1.0, 2.0, 1.0)
    bars = [
        system.add(flexmb.uniform_rod(n, mass=1.0, length=l, radius=0.02), position=p, orientation=o)
        for n, p, o, l in zip(names, places, turns, lengths, strict=True)
    ]
    system.revolute("A", system.ground.at((0, 0, 0)), bars[0], axis=(0, 1, 0))
    system.revolute("B", bars[0]["end"], bars[1], axis=(0, 1, 0))
    system.revolute("C", bars[1]["end"], bars[2]["end"], axis=(0, 1, 0))
    system.revolute("D", system.ground.at((2, 0, 0)), bars[2], axis=(0, 1, 0))
    system.set_speed("A", 1.0)
    with pytest.warns(flexmb.RedundantConstraintWarning):
        found = flexmb.simulate(system, 0.5, method="radau", tolerance=1e-8, output_step=0.1)
    with pytest.warns(flexmb.RedundantConstraintWarning):
        other = flexmb.simulate(system, 0.5, step=1e-3, output_step=0.1)
    np.testing.assert_allclose(found.q, other.q, atol=1e-5)
    np.testing.assert_allclose(other.multipliers, found.multipliers, atol=1e-3 * np.abs(found.multipliers).max())


def test_a_mechanism_that_locks_says_where():
    system = slider_crank(speed=10.0, crank_length=0.3, rod_length=0.2)
    with pytest.raises(flexmb.ConvergenceError, match=r"fails at t = 0.07.*lock"):
        flexmb.simulate(system, 1.0, method="radau")


def test_an_unknown_integrator_is_told_the_existing_ones():
    with pytest.raises(IntegratorError, match="bdf, energy-momentum, explicit, generalised-alpha, hht, radau"):
        flexmb.simulate(double_pendulum(), 1.0, method="rungekutta")


def test_a_history_in_a_file_is_the_history(tmp_path):
    found = flexmb.simulate(double_pendulum(), 0.1, step=1e-3, history=tmp_path / "run.history")
    plain = flexmb.simulate(double_pendulum(), 0.1, step=1e-3)
    for name in ("t", "q", "w", "wdot", "multipliers"):
        np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))
    np.testing.assert_array_equal(found.ledger.residual, plain.ledger.residual)
    assert isinstance(found.q, np.memmap)
    assert (tmp_path / "run.history").stat().st_size == HEADER + 8 * 101 * (1 + 14 + 12 + 12 + 10 + 4 + 5 + 2 + 1)


def test_a_history_is_the_same_where_files_cannot_be_reserved(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.setattr("flexmb.simulation.history.CHUNK", 1000)
    found = flexmb.simulate(double_pendulum(), 0.1, step=1e-3, history=tmp_path / "run.history")
    np.testing.assert_array_equal(found.q, flexmb.simulate(double_pendulum(), 0.1, step=1e-3).q)
    assert (tmp_path / "run.history").stat().st_size == HEADER + 8 * 101 * (1 + 14 + 12 + 12 + 10 + 4 + 5 + 2 + 1)


def test_a_history_that_does_not_fit_the_disk_is_refused_at_the_start(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(HistoryError, match=r"MB cannot be stored in .*run.history: No space left.*output_step"):
        flexmb.simulate(double_pendulum(), 0.1, step=1e-3, history=tmp_path / "run.history")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("content", [b"precious", b"", b"flexmb histories of 2025", bytes(10000)])
def test_a_history_does_not_replace_a_file_that_is_none(tmp_path, content):
    path = tmp_path / "thesis.docx"
    path.write_bytes(content)
    with pytest.raises(HistoryError, match=r"thesis.docx exists and is not a history.*Name another file"):
        flexmb.simulate(double_pendulum(), 0.1, step=1e-3, history=path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["thesis.docx"]


def test_a_history_does_not_replace_what_is_no_file(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "link"):
        with pytest.raises(HistoryError, match="is not a history"):
            flexmb.simulate(double_pendulum(), 0.1, step=1e-3, history=tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["folder", "link"]


@pytest.mark.parametrize("failing", ["full disk", "law", "interrupt", "foreign file meanwhile"])
def test_a_run_that_fails_leaves_the_older_history_alone(tmp_path, monkeypatch, failing):
    path = tmp_path / "run.history"
    flexmb.simulate(double_pendulum(), 0.1, step=1e-3, history=path)
    content, system = path.read_bytes(), double_pendulum()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def law(t, x, xdot):
        if t > 0.05:
            raise {"law": ZeroDivisionError, "interrupt": KeyboardInterrupt}[failing]
        return 0.0

    def meanwhile(done):
        path.unlink()
        path.write_bytes(b"precious")

    if failing == "full disk":
        monkeypatch.setattr(os, "posix_fallocate", full)
    elif failing == "foreign file meanwhile":
        content = b"precious"
    else:
        system.motor("law", "elbow", law)
    progress = meanwhile if failing == "foreign file meanwhile" else None
    with pytest.raises((flexmb.FlexmbError, KeyboardInterrupt)):
        flexmb.simulate(system, 0.1, step=1e-3, history=path, progress=progress)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["run.history"]


def test_a_newer_history_does_not_change_results_that_live_in_the_older_one(tmp_path):
    """Nor do two runs at once into one file mix: each has its own until it is complete."""
    path = tmp_path / "run.history"
    plain = flexmb.simulate(double_pendulum(), 0.1, step=1e-3)
    first = flexmb.simulate(double_pendulum(), 0.1, step=1e-3, history=path)
    inner = []

    def another(done):
        if not inner:
            inner.append(flexmb.simulate(double_pendulum(), 0.3, step=1e-3, history=path))

    last = flexmb.simulate(double_pendulum(), 0.1, step=1e-3, history=path, progress=another)
    for found in (first, last):
        np.testing.assert_array_equal(found.q, plain.q)
    assert len(inner[0].t) == 301
    assert os.listdir(tmp_path) == ["run.history"]


def test_the_header_of_a_history_tells_its_tables(tmp_path):
    path = tmp_path / "run.history"
    found = flexmb.simulate(double_pendulum(), 0.1, step=1e-3, history=path)
    word, _, line = path.read_bytes()[:HEADER].rstrip(b"\0").partition(b"\n")
    header = json.loads(line)
    assert word == b"flexmb history"
    assert header["times"] == len(found.t)
    t = np.fromfile(path, count=header["times"], offset=HEADER)
    np.testing.assert_array_equal(t, found.t)


def test_work_and_precision(tmp_path):
    settings = [{"step": 2e-3}, {"step": 1e-3}, {"method": "radau", "tolerance": 1e-6}]
    runs = work_precision(double_pendulum(), 0.5, lambda r: r.position("second.end"), settings, output_step=0.1)
    assert runs[0].error / runs[1].error == pytest.approx(4.0, abs=0.3)
    assert runs[2].error < 1e-6
    assert [run.method for run in runs] == ["generalised-alpha", "generalised-alpha", "radau"]
    plot_work_precision(runs, tmp_path / "precision.png")
    assert is_picture(tmp_path / "precision.png")


@pytest.mark.parametrize("reference", [{}, {"step": 2e-3}])
def test_work_and_precision_take_the_reference_that_is_given(reference):
    """Errors are relative to the largest value of its run, whatever the unit."""
    settings, seen = [reference, {"method": "radau", "tolerance": 1e-6}], []

    def observe(result):
        seen.append(1e3 * result.q)
        return seen[-1]

    same, other = work_precision(double_pendulum(), 0.1, observe, settings, output_step=0.1, reference=reference)
    assert same.error == 0.0
    assert other.error == pytest.approx(np.abs(seen[2] - seen[0]).max() / np.abs(seen[0]).max(), rel=1e-12)
    assert 1e-8 < other.error < 1e-3


@pytest.mark.parametrize(
    ("observe", "message"),
    [
        (lambda r: 0.0 * r.q, "zero throughout in the reference run"),
        (lambda r: r.q[:, :0], "zero throughout in the reference run"),
        (lambda r: np.full(3, np.nan), "not finite in the reference run"),
        (
            lambda r: r.q[: 2 + (r.statistics.largest_step != r.statistics.smallest_step)],
            r"shape \(2, 14\) .*and \(3, 14\) in the reference",
        ),
        (
            lambda r: r.q if r.statistics.largest_step != r.statistics.smallest_step else np.nan * r.q,
            r"is not finite with the options \{'step': 0\.002\}",
        ),
    ],
)
def test_what_is_observed_for_work_and_precision_must_have_a_size(observe, message):
    with pytest.raises(MeasureError, match=message):
        work_precision(double_pendulum(), 0.1, observe, [{"step": 2e-3}], output_step=0.05)

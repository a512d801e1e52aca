"""Steps that adapt: they see what functions of time do, their errors follow the tolerance, and redundant joints do not stop them."""

import warnings

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum, slider_crank, turning_loop

import flexmb
from flexmb.equations.time_features import Pace, Source, _parts, curve, sampled, unresolved
from flexmb.errors import IntegratorError, MotionError, RedundantConstraintWarning, UnresolvedWarning
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.time_functions import Ahead
from flexmb.simulation.times import output_times
from flexmb.spatial.configuration import difference
from validation.bricard import build as bricard
from validation.n_four_bar import build as windows

ADAPTIVE = [
    {"method": "generalised-alpha"},
    {"method": "generalised-alpha", "coordinates": "joint"},
    {"method": "hht"},
    {"method": "radau"},
    {"method": "bdf"},
    {"method": "explicit"},
]
TREE = {"method": "explicit", "coordinates": "joint"}


def name(options):
    return " ".join(options.values())


def plain(motion):
    """The same function as a user would write it."""
    return flexmb.time_functions.function(motion.value, motion.rate, motion.acceleration, arrays=True)


def pushed(factor, mass=0.02):
    """A mass on a slide that a force moves."""
    system = flexmb.System()
    block = system.add(flexmb.rigid_body("block", mass=mass, inertia=3 * (0.01 * mass,)))
    system.prismatic("slide", system.ground.at((0, 0, 0)), block, axis=(1, 0, 0))
    system.load("push", block.at((0, 0, 0)), force=(1, 0, 0), factor=factor)
    return system


def momentum(factor, end):
    """Of the push, by a fine sum."""
    t = np.linspace(0, end, 200_001)
    return np.trapezoid(factor.over(t)[:, 0], t)


# what functions of time tell ------------------------------------------------------------------------------------------

FACTORS = {
    "a pulse": (flexmb.time_functions.pulse(3.0, 1.0, 1.0), 10.0),
    "a short pulse": (flexmb.time_functions.pulse(7.31, 0.02, 1.0), 10.0),
    "pulses": (flexmb.time_functions.pulse(2.0, 0.3, 1.0, period=2.5), 10.0),
    "a step": (flexmb.time_functions.smooth_step(6.0, 0.1, 1.0), 10.0),
    "a table": (flexmb.time_functions.table([0, 4, 4.5, 5, 5.5, 10], [0, 0, 0, 1.0, 0, 0], monotone=True), 10.0),
    "fast": (flexmb.time_functions.harmonic(1.0, 40.0, offset=0.1), 1.0),
}


@pytest.mark.parametrize("options", [*ADAPTIVE, TREE], ids=name)
@pytest.mark.parametrize(
    "which", [w if w in ("a short pulse", "a table") else pytest.param(w, marks=pytest.mark.long) for w in FACTORS]
)
def test_no_load_is_stepped_over(options, which):
    factor, end = FACTORS[which]
    result = flexmb.simulate(pushed(factor), end, output_step=end, **options)
    assert result.velocity("push")[-1, 0] == pytest.approx(momentum(factor, end) / 0.02, rel=2e-3)


@pytest.mark.parametrize("options", [*ADAPTIVE, TREE], ids=name)
@pytest.mark.parametrize(
    "which", ["a short pulse", *(pytest.param(w, marks=pytest.mark.long) for w in ("a pulse", "pulses", "a step"))]
)
def test_nor_a_users_function_that_acts_longer_than_a_thousandth_of_the_run(options, which):
    factor, end = FACTORS[which]
    result = flexmb.simulate(pushed(plain(factor)), end, output_step=end, **options)
    assert result.velocity("push")[-1, 0] == pytest.approx(momentum(factor, end) / 0.02, rel=2e-3)


@pytest.mark.parametrize("options", ADAPTIVE, ids=name)
def test_a_driver_turns_what_is_stored_once_a_second(options):
    system = flexmb.System(gravity=(0, -9.81, 0))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
    system.drive("hinge", flexmb.time_functions.smooth_step(0.5, 0.2, 0.75 * np.pi))
    result = flexmb.simulate(system, 4.0, output_step=1.0, **options)
    np.testing.assert_allclose(result.coordinate("hinge")[1:], 0.75 * np.pi, atol=1e-6)
    fastest = 0.75 * np.pi * 1.875 / 0.2
    assert np.abs(result.ledger.residual).max() < 1e-3 * fastest**2 / 6


@pytest.mark.parametrize("options", ADAPTIVE, ids=name)
def test_a_motor_that_is_a_function_of_time_is_seen(options):
    system = flexmb.System()
    rod = system.add(flexmb.uniform_rod("rod", mass=0.03, length=1.0, radius=1e-6))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
    pulse = flexmb.time_functions.pulse(5.0, 0.1, 1.0)
    law = lambda t, x, xdot: float(pulse.value(t))  # noqa: E731
    system.motor("motor", "hinge", law)
    result = flexmb.simulate(system, 8.0, output_step=8.0, **options)
    assert result.angular_velocity("rod.end")[-1, 2] == pytest.approx(momentum(pulse, 8.0) / 0.01, rel=2e-3)


def driven(**parts):
    """A mass on a rail that a motor or a controller pushes."""
    system = flexmb.System()
    mass = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, mass, axis=(1, 0, 0), at=(0, 0, 0))
    if "law" in parts:
        system.motor("push", "rail", parts["law"])
    else:
        system.controller("push", parts["control"], inputs={}, outputs={"force": "effort:rail"})
    return system


@flexmb.control_law(inputs=(), commands=("force",), states=("filtered",))
def timed(t, inputs, states, parameters, commands, rates):
    """A pulse of the impulse 0.2 in a state, and one in a command."""
    rates[0] = ((1.0 - np.cos(np.pi * (t - 3.0) / 0.01)) if 3.0 < t < 3.02 else 0.0) - states[0] / 0.01
    commands[0] = 1000.0 * states[0]
    if 5.0 < t < 5.02:
        commands[0] += 10.0 * (1.0 - np.cos(np.pi * (t - 5.0) / 0.01))


KICK = ([0.0, 60.0003, 60.0004, 60.0005, 100.0], [0.0, 0.0, 1e4, 0.0, 0.0])
"""A pulse of the impulse 1.0 that lasts a 500,000th of a run of 100 s."""


@pytest.mark.parametrize("options", ADAPTIVE, ids=name)
def test_a_table_over_the_time_is_seen_however_short_it_acts(options):
    once, again = flexmb.table(*KICK, over="t"), flexmb.table(KICK[0][:-1], KICK[1][:-1], over="t", period=65.0)
    later = flexmb.table(np.add(KICK[0][:-1], 10.0), KICK[1][:-1], over="t", period=65.0)  # at 5.0004 first
    for law, end, speed in ((once, 100.0, 0.5), (again, 130.0, 1.0), (later, 140.0, 1.5)):
        result = flexmb.simulate(driven(law=law), end, output_step=end, tolerance=1e-7, **options)
        assert result.coordinate_rate("rail")[-1] == pytest.approx(speed, rel=2e-3)


@pytest.mark.parametrize("options", ADAPTIVE, ids=name)
def test_what_a_controller_does_at_a_time_is_seen(options):
    """The states begin at zero, which is no measure of their errors."""
    result = flexmb.simulate(driven(control=timed()), 10.0, output_step=10.0, tolerance=1e-8, **options)
    assert result.coordinate_rate("rail")[-1] == pytest.approx(0.2, rel=2e-3)


def test_fixed_steps_that_miss_a_table_or_a_controller_warn_of_it():
    with pytest.warns(UnresolvedWarning, match="the law of 'push' rises or falls within 0.0002, which"):
        flexmb.simulate(driven(law=flexmb.table(*KICK, over="t")), 100.0, step=0.02)
    with pytest.warns(UnresolvedWarning, match="the command 'force' of the law of 'push' .* the rate of the state"):
        flexmb.simulate(driven(control=timed()), 10.0, step=0.03)


def test_a_dense_table_over_the_time_counts_by_what_it_describes():
    """Not by its points; beyond them it may hold its last value after a rise."""
    t = np.linspace(0.0, 10.0, 5001)
    (slow,) = unresolved(driven(law=flexmb.table(t, np.sin(2 * np.pi * t), over="t")).build(), 10.0, 0.4)
    assert 0.25 < slow.feature < 0.8
    assert not unresolved(driven(law=flexmb.table(t, np.sin(2 * np.pi * t), over="t")).build(), 10.0, 0.1)
    (rise,) = unresolved(driven(law=flexmb.table([1, 1.001], [0, 9], over="t", outside="hold")).build(), 1e4, 0.1)
    assert rise.feature == pytest.approx(2e-3)


@pytest.mark.parametrize("begin", [-7.3, 12.5])
def test_a_curve_that_repeats_itself_may_begin_at_any_time(begin):
    """It tells the same changes as the curve from zero on, so much later."""
    knots, values = np.array([0.0, 1.0, 1.1, 1.2, 3.0]), np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    first, moved = curve(knots, values, 4.0), curve(knots + begin, values, 4.0)
    for t in np.linspace(-9.0, 21.0, 151) + 1e-3:
        expected, found = first(t), moved(t + begin)
        assert found.change - begin == pytest.approx(expected.change, abs=1e-9)
        assert found.feature == pytest.approx(expected.feature)


def test_every_pulse_of_a_period_is_ahead():
    """Before the first, in one, between two, in a later one, and long after: nothing ends with the first."""
    ahead = flexmb.time_functions.pulse(0.1, 0.01, 2.0, period=0.5).ahead
    for t, change, feature in (
        (0.0, 0.1, np.inf), (0.105, 0.11, 0.01), (0.2, 0.6, np.inf), (0.605, 0.61, 0.01), (50.3, 50.6, np.inf)
    ):  # fmt: skip
        assert ahead(t) == pytest.approx((change, feature))


def test_a_piece_that_a_cubic_describes_is_one_feature():
    """Up to a fiftieth of the range; a cubic with another slope at its end does not."""
    t = np.linspace(0.0, 2.0, 401)
    for values in (t**3 - 3 * t**2 + t, t**2, 5 * t - t**3):
        ahead = curve(t, values, None)(0.0)
        assert (ahead.change, ahead.feature) == (pytest.approx(2.0), pytest.approx(4.0))
    assert curve(t, np.sin(6 * t), None)(0.0).change < 1.0


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_a_single_step_does_not_look_beyond_the_run(coordinates):
    """A table that ends with it, as after an event just before the end."""
    factor = flexmb.time_functions.table([0.0, 0.4, 0.7, 1.0], [1.0, 1.0, 1.0, 1.0], feature=9.0)
    result = flexmb.simulate(pushed(factor), 1.0, step=1.0, output_step=1.0, coordinates=coordinates)
    assert result.velocity("push")[-1, 0] == pytest.approx(50.0)
    switch = flexmb.simulation.events.Event("switch", lambda result: result.t - 0.995)
    result = flexmb.simulate(pushed(factor), 1.0, step=0.05, events=[switch], coordinates=coordinates)
    assert result.velocity("push")[-1, 0] == pytest.approx(50.0)


def changes(motion, start, end):
    return [(float(p.change), float(p.feature)) for p in _parts(Source("", motion.ahead), start, end)]


def test_functions_tell_where_they_change_and_how_fast():
    m, far = flexmb.time_functions, np.inf
    assert changes(m.polynomial(1, 2, 3), 0, 9) == [(far, far)]
    assert changes(m.harmonic(2.0, 4.0), 0, 9) == [(far, 0.125)]
    assert changes(m.harmonic(0.0, 4.0), 0, 9) == changes(m.harmonic(1.0, 0.0), 0, 9) == [(far, far)]
    assert changes(m.smooth_step(1.0, 0.5, 3.0), 0, 9) == [(1.0, far), (1.5, 0.5), (far, far)]
    assert changes(m.spin_up(3.0, 2.0), -1, 9) == [(0.0, far), (2.0, 2.0), (far, far)]
    assert changes(m.pulse(1.0, 0.5, 3.0), 0, 9) == [(1.0, far), (1.5, 0.5), (far, far)]
    assert changes(m.pulse(1, 0.5, 3.0, period=2), 0, 4) == [(1.0, far), (1.5, 0.5), (3.0, far), (3.5, 0.5), (5.0, far)]
    assert changes(m.table([0, 1, 3, 4], [0, 1, 0, 0]), 0, 9) == [(1.0, 2.0), (3.0, 4.0), (4.0, 2.0), (far, far)]
    assert changes(m.table([0, 1, 3, 4], [0, 1, 0, 0], feature=7.0), 0, 9) == [(far, 7.0)]


def test_samples_find_what_is_longer_than_a_thousandth():
    rng = np.random.default_rng(3)
    for _ in range(30):
        start, duration = rng.uniform(0, 9), 10 ** rng.uniform(-2, 0)
        motion = flexmb.time_functions.pulse(start, duration, rng.normal())
        ahead = sampled(motion.over, 0.0, 10.0)
        longest = [ahead(t).feature / 2 for t in np.linspace(start, min(start + duration, 10.0), 50)[1:-1]]
        assert max(longest) <= max(duration, 2 * 10 / 2048)
    for ramp in (flexmb.time_functions.polynomial(1.0, 2.0, 3.0, -4.0), flexmb.time_functions.constant(1e9)):
        assert sampled(ramp.over, 0.0, 10.0)(3.0) == (np.inf, np.inf)


def test_samples_bear_a_function_that_ends_before_the_run():
    table = flexmb.time_functions.table(np.linspace(0, 1, 5), [0, 1, 0, 1, 0])
    assert sampled(plain(table).over, 0.0, 4.0)(0.1).feature <= 1.0


@pytest.mark.parametrize("options", [*ADAPTIVE, TREE], ids=name)
def test_steps_end_at_breakpoints_that_a_user_states_and_stay_below_the_feature_and_the_largest_step(options):
    """A force that begins suddenly at a time of the user: exact only for steps that end there."""
    begin = 1.2345
    jump = flexmb.time_functions.function(
        lambda t: 1.0 * (np.asarray(t) >= begin), np.zeros_like, np.zeros_like, arrays=True, breakpoints=[begin]
    )
    result = flexmb.simulate(pushed(jump), 2.0, output_step=2.0, tolerance=1e-7, **options)
    assert result.velocity("push")[-1, 0] == pytest.approx(50 * (2.0 - begin), rel=1e-3)
    stated = flexmb.time_functions.function(np.zeros_like, np.zeros_like, np.zeros_like, arrays=True, feature=0.1)
    assert flexmb.simulate(pushed(stated), 2.0, output_step=1.0, **options).statistics.largest_step <= 0.05 + 1e-12
    still = flexmb.time_functions.constant(0.0)
    assert flexmb.simulate(pushed(still), 2.0, max_step=0.03, **options).statistics.largest_step <= 0.03 + 1e-12


def test_wrong_features_and_largest_steps_are_refused():
    with pytest.raises(MotionError, match="feature"):
        flexmb.time_functions.function(np.sin, np.cos, np.sin, feature=-1.0)
    with pytest.raises(MotionError, match="breakpoints"):
        flexmb.time_functions.function(np.sin, np.cos, np.sin, breakpoints=[np.nan])
    with pytest.raises(IntegratorError, match="max_step must be positive"):
        flexmb.simulate(double_pendulum(), 1.0, max_step=0.0)
    with pytest.raises(IntegratorError, match="limits variable steps"):
        flexmb.simulate(double_pendulum(), 1.0, max_step=0.1, step=0.01)
    with pytest.raises(IntegratorError, match=r"bounds the error of variable steps.* newton_tolerance"):
        flexmb.simulate(double_pendulum(), 1.0, tolerance=1e-8, step=0.01)
    with pytest.raises(IntegratorError, match=r"bounds the error of variable steps.*Omit one of them.$"):
        flexmb.simulate(double_pendulum(), 1.0, method="radau", tolerance=1e-8, step=0.01)


@pytest.mark.parametrize(
    "factor", [FACTORS["a short pulse"][0], plain(FACTORS["a pulse"][0]), flexmb.time_functions.harmonic(1, 30)]
)
@pytest.mark.filterwarnings("ignore::flexmb.EnergyBalanceWarning")  # the run misses what the warning names
def test_a_fixed_step_that_sees_no_feature_warns_by_name(factor):
    with pytest.warns(UnresolvedWarning, match=r"of 'push' rises or falls within .* steps of 0.6"):
        flexmb.simulate(pushed(factor), 9.0, step=0.6)
    system = pushed(factor).build()
    (found,) = unresolved(system, 9.0, 0.6)
    assert 0 < found.feature <= 1.0
    assert not unresolved(system, 9.0, 0.4 * found.feature)


MODEL = """
[simulation]
duration = 4.0
method = "bdf"
{options}
[bodies.rod]
kind = "rigid"
mass = 1.0
inertia = [0.1, 0.1, 0.1]
[[joints]]
kind = "revolute"
name = "hinge"
a = "ground"
b = "rod"
at = [0, 0, 0]
axis = [0, 0, 1]
[[motors]]
name = "motor"
joint = "hinge"
effort = {{ kind = "table", times = [0, 1, 2, 3, 4], values = [0, 0, 1, 0, 0], feature = 0.5 }}
"""


def test_model_files_and_the_command_line_take_the_largest_step(tmp_path):
    from typer.testing import CliRunner

    from flexmb.cli.main import app
    from flexmb.files.models.model_file import load_model

    path = tmp_path / "model.toml"
    path.write_text(MODEL.format(options="max_step = 0.125"))
    model = load_model(path)
    assert model.options["max_step"] == 0.125
    result = flexmb.simulate(model.system, model.duration, **model.options)
    assert 0.1 < result.statistics.largest_step <= 0.125
    path.write_text(MODEL.format(options="step = 0.1"))
    for words, wanted in ((["--max-step", "0.02"], 0), (["--max-step", "0.02", "--step", "0.1"], 1)):
        ran = CliRunner().invoke(app, ["run", str(path), "-o", str(tmp_path / "out.h5"), *words])
        assert (ran.exit_code != 0) == bool(wanted), ran.output
    path.write_text(MODEL.format(options="tolerance = 1e-4\nmax_step = 0.125"))
    ran = CliRunner().invoke(app, ["run", str(path), "-o", str(tmp_path / "out.h5"), "--step", "0.1"])
    assert ran.exit_code == 0, ran.output


# what is stored -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"step": 0.01}, {"step": 0.007}, {}, {"method": "radau"}, {"method": "bdf"}])
def test_multiples_of_the_output_step_are_stored_and_the_end(options):
    result = flexmb.simulate(double_pendulum(), 1.0, output_step=0.3, **options)
    np.testing.assert_allclose(result.t, [0, 0.3, 0.6, 0.9, 1.0], atol=1e-14)
    exact = flexmb.simulate(double_pendulum(), 1.0, output_step=0.1, method="radau", tolerance=1e-9)
    np.testing.assert_allclose(result.q, exact.q[[0, 3, 6, 9, 10]], atol=2e-3)


def test_output_times():
    np.testing.assert_allclose(output_times(1.0, None, 0.1), np.linspace(0, 1, 11), atol=0, rtol=1e-15)
    assert len(output_times(1.0, None, 1.0 / 3.0)) == 4
    for step in (0.7, 0.6):  # the last interval is shorter than half of a step, or longer
        np.testing.assert_allclose(output_times(1.0, None, step), [0, step, 1.0])
    assert len(output_times(1.0, None, None)) == 1001


def test_derivatives_refuse_unequal_steps():
    from flexmb.study import adjoint_gradient

    def system(mass):
        return pushed(flexmb.time_functions.constant(1.0), mass)

    with pytest.raises(IntegratorError, match="equal steps"):
        adjoint_gradient(system, {"mass": 2.0}, 1.0, lambda r: r.position("push")[:, 0], step=0.02, output_step=0.35)


# errors and tolerances ------------------------------------------------------------------------------------------------


def free_body(speed=60.0):
    """A body without symmetry that turns about its unstable axis, disturbed."""
    system = flexmb.System(gravity=(0, -9.81, 0), name="free body")
    body = flexmb.rigid_body("body", mass=1.0, inertia=(0.1, 0.2, 0.3))
    system.add(body, velocity=(1, 0, 0), angular_velocity=(0.1 * speed, speed, 0.05 * speed))
    return system


def travelling_wheel():
    """Fast along and about an axis that is none of its own; disturbed."""
    system = flexmb.System(name="travelling wheel")
    wheel = flexmb.rigid_body("wheel", mass=1.0, inertia=(0.1, 0.2, 0.3), centre=(0.2, 0.1, 0.0))
    system.add(wheel, velocity=(30, 0, 0), angular_velocity=(0.5, 1.0, 100.0))
    return system


def spinning_pendulum(speed=60.0):
    system = flexmb.System(gravity=(0, -9.81, 0), name="spinning pendulum")
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
    system.set_speed("hinge", speed)
    return system


def three_cranks():
    """A bar on three parallel cranks, all joints hinges: many equations too many."""
    system = flexmb.System(gravity=(0, -9.81, 0), name="three cranks")
    bar = system.add(flexmb.uniform_rod("bar", mass=1.0, length=2.0), position=(0, 0.5, 0))
    for k in range(3):
        crank = flexmb.uniform_rod(f"crank {k}", mass=1.0, length=0.5)
        crank = system.add(crank, position=(k, 0, 0), orientation=(0, 0, np.pi / 2))
        system.revolute(f"foot {k}", system.ground.at((k, 0, 0)), crank["start"], axis=(0, 0, 1))
        system.revolute(f"head {k}", crank["end"], bar, axis=(0, 0, 1))
    system.set_speed("foot 0", 2.0)
    return system


def stiff_elbow():
    system = double_pendulum()
    system.joint_spring("stiff", "elbow", stiffness=1e5, damping=1e2)
    return system


def flexible_crank():
    """A driven crank with a flexible rod on it."""
    system = flexible_pendulum(np.random.default_rng(1), second_order=True, damping=0.2)
    system.drive("hinge", flexmb.time_functions.spin_up(6.0, 0.5))
    return system


MECHANISMS = {
    "double pendulum": (double_pendulum, 1.5),
    "driven slider-crank": (lambda: slider_crank(speed=20.0, crank_length=0.15, rod_length=0.4), 1.0),
    "turning loop": (turning_loop, 1.5),
    "free body": (free_body, 0.5),
    "travelling wheel": (travelling_wheel, 0.3),
    "spinning pendulum": (spinning_pendulum, 0.5),
    "three cranks": (three_cranks, 0.6),
    "three windows": (lambda: windows(3), 1.0),
    "bricard": (bricard, 1.0),
    "stiff elbow": (stiff_elbow, 1.0),
    "flexible crank": (flexible_crank, 0.7),
}


QUICK = ("travelling wheel", "spinning pendulum", "three cranks", "bricard")


def motion_of(which, **options):
    make, duration = MECHANISMS[which]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RedundantConstraintWarning)
        return flexmb.simulate(make(), duration, output_step=duration / 20, **options)


def apart(a, b):
    """Largest difference of positions and attitudes, in lengths of the mechanism and radians, over the way of the farthest body (at least one)."""
    flat = compiled(a.mechanism)
    off = max((np.abs(difference(flat, x, y)) * flat.weight).max() for x, y in zip(a.q, b.q, strict=True))
    speed = (np.abs(b.w) * flat.weight).max(axis=1)
    return off / max(1.0, np.trapezoid(speed, b.t))


def check(which, integrator, tolerance, exact, factor):
    result = motion_of(which, method=integrator, tolerance=tolerance)
    assert apart(result, exact) < factor * tolerance
    ledger = result.ledger
    assert np.abs(ledger.residual).max() < 3 * factor * tolerance * max(ledger.exchange, ledger.kinetic.max())
    assert np.abs(ledger.driver_work - exact.ledger.driver_work).max() < 3 * factor * tolerance * ledger.exchange


@pytest.mark.parametrize("which", [w if w in QUICK else pytest.param(w, marks=pytest.mark.long) for w in MECHANISMS])
def test_errors_of_bdf_and_radau_follow_the_tolerance(which):
    """Over the way that the mechanism travels, and of the energy ledger and the work of drivers too; also where joints are redundant, or a body turns often."""
    exact = motion_of(which, method="radau", tolerance=1e-10)
    for integrator, tolerance in (("bdf", 1e-4), ("bdf", 1e-7), ("radau", 1e-5)):
        check(which, integrator, tolerance, exact, 10)


@pytest.mark.long
@pytest.mark.parametrize("which", ["driven slider-crank", "free body", "travelling wheel"])
def test_errors_of_bdf_follow_further_tolerances(which):
    exact = motion_of(which, method="radau", tolerance=1e-11)
    for tolerance in (1e-3, 1e-5):
        check(which, "bdf", tolerance, exact, 20)


def test_positions_between_steps_of_bdf_are_right_at_any_spin():
    """A body that turns sixty radians a second about a free axis: the attitude is known at every stored time."""
    system = flexmb.System()
    system.add(flexmb.rigid_body("top", mass=1.0, inertia=(0.1, 0.1, 0.2)), angular_velocity=(0, 0, 60.0))
    result = flexmb.simulate(system, 1.0, method="bdf", output_step=0.025)
    turned = result.frame("top")[1]
    angle = 60.0 * result.t
    np.testing.assert_allclose(turned[:, 0, 0], np.cos(angle), atol=1e-9)
    np.testing.assert_allclose(turned[:, 1, 0], np.sin(angle), atol=1e-9)


def test_a_fixed_step_of_bdf_that_turns_a_body_too_far_is_refused_by_name():
    with pytest.raises(IntegratorError, match=r"rotates by 3 rad .*'rod'.*smaller step"):
        flexmb.simulate(spinning_pendulum(), 1.0, method="bdf", step=0.05)


def test_redundant_loops_do_not_stall_radau():
    """Bricard's mechanism: beside its joints all their equations together leave it no mobility, which refused half of the steps."""
    result = motion_of("bricard", method="radau", tolerance=1e-6)
    assert result.statistics.rejected <= 3
    assert result.statistics.steps < 60
    assert np.abs(result.ledger.residual).max() < 1e-6 * result.ledger.exchange


@pytest.mark.parametrize("options", [*ADAPTIVE, TREE], ids=name)
def test_steps_that_a_stop_takes_back_are_counted(options):
    """A mass that flies freely meets a stiff spring, which gives it its speed back."""
    system = flexmb.System()
    block = system.add(flexmb.rigid_body("block", mass=0.02, inertia=(1e-4,) * 3))
    system.prismatic("slide", system.ground.at((0, 0, 0)), block, axis=(1, 0, 0))
    system.set_speed("slide", 1.0)
    system.motor("stop", "slide", lambda t, x, v: -1e4 * max(x - 1.0, 0.0))
    result = flexmb.simulate(system, 1.5, output_step=1.5, **options)
    assert result.w[-1, 0] == pytest.approx(-1.0, rel=0.05)
    assert 0 < result.statistics.rejected < result.statistics.steps


def lagging():
    """A mass that a lag of a pulse pushes, long before anything else moves."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    pulse = flexmb.time_functions.pulse(5.003, 0.004, 100.0)
    lag = flexmb.controllers.linear(([1.0], [1.0, 1.0]))
    system.controller("lag", lag, inputs={"input": pulse}, outputs={"command": "effort:rail"})
    return system, lambda r: r.coordinate("rail")


@flexmb.law(states=("swing",))
def swung(t, relative, states, parameters, wrench, rates):
    rates[0] = 30.0 * np.cos(30.0 * t)
    wrench[0] = 1e-3 * states[0]


def beside():
    """A state that swings fast beside a body that hardly moves."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    system.force("swung", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), swung())
    return system, lambda r: r.columns(["state:swung:swing"])["state:swung:swing"].values


@pytest.mark.parametrize("build", [lagging, beside])
@pytest.mark.parametrize("method", ["generalised-alpha", "hht"])
def test_errors_of_states_follow_the_tolerance(method, build):
    """A third of the position was wrong at any tolerance, and a state by 0.17 of 1, when steps followed bodies alone."""
    system, seen = build()
    duration = 10.0 if build is lagging else 2.0
    exact = seen(flexmb.simulate(system, duration, method="radau", tolerance=1e-10, output_step=0.5))
    errors = []
    for tolerance in (1e-4, 1e-6):
        found = seen(flexmb.simulate(system, duration, method=method, tolerance=tolerance, output_step=0.5))
        errors.append(np.abs(found - exact).max() / np.abs(exact).max())
    assert errors[1] < 2e-3
    assert errors[1] < 0.1 * errors[0]


@pytest.mark.parametrize("before", [0.0, 0.5e-12])
def test_at_the_end_of_a_piece_the_pace_is_that_of_the_next(before):
    """A function with jumps at 0.25 and 0.5, whose second piece needs small steps; times within rounding are one."""
    pieces = ((0.25, np.inf), (0.5, 0.02), (np.inf, np.inf))
    pace = Pace([Source("f", lambda t: Ahead(*next(piece for piece in pieces if t < piece[0])))], 0.0, 1.0)
    assert pace.ahead(0.0) == pace.ahead(0.2) == (0.25, np.inf)
    assert pace.ahead(0.25 - before) == (0.5, 0.01)
    assert pace.ahead(0.5 - before) == (1.0, np.inf)

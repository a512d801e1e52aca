"""Force laws: users' functions of a joint coordinate and its rate inside the compiled loop."""

import signal

import numba
import numpy as np
import pytest
from mechanisms import double_pendulum

import flexmb
import flexmb.mechanism.force_law
from flexmb.errors import JointError, LawError, MechanismError
from flexmb.files.results.result_file import load_result, save_result
from flexmb.kernels.base.call import call_law
from flexmb.mechanism.force_law import ForceLaw

STIFFNESS, DAMPING, FREE = 30.0, 0.4, 0.2


def spring(t, x, xdot):
    return -STIFFNESS * (x - FREE) - DAMPING * xdot


@numba.njit
def compiled_spring(t, x, xdot):
    return -STIFFNESS * (x - FREE) - DAMPING * xdot


def by_element():
    system = double_pendulum()
    system.joint_spring("elbow spring", "elbow", stiffness=STIFFNESS, damping=DAMPING, free=FREE)
    return system


def by_law(law):
    system = double_pendulum()
    system.motor("elbow spring", "elbow", law)
    return system


@pytest.mark.parametrize("law", [spring, compiled_spring])
@pytest.mark.parametrize("options", [{"step": 1e-3}, {"step": 1e-3, "coordinates": "joint"}, {"method": "radau"}])
def test_a_law_that_is_a_spring_moves_like_a_spring(law, options):
    """In every integrator; what the element counts as spring energy and heat is work of the law."""
    ours = flexmb.simulate(by_law(law), 1.0, output_step=0.1, **options)
    theirs = flexmb.simulate(by_element(), 1.0, output_step=0.1, **options)
    np.testing.assert_allclose(ours.q, theirs.q, atol=1e-6)
    heat = theirs.ledger.springs - theirs.ledger.springs[0] + theirs.ledger.damper_heat
    np.testing.assert_allclose(-ours.ledger.load_work, heat, atol=2e-5 * theirs.ledger.exchange)


def test_a_law_between_two_places_pushes_its_ends_apart():
    """A nonlinear spring on a line: a mass of 2 hanging on `-k s^3` comes to rest where that carries its weight."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)), position=(0, 0, -1))
    system.spring_damper(
        "cubic", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), length=1.0, damping=20.0, law=lambda t, s, v: -500.0 * s**3
    )  # fmt: skip
    found = flexmb.simulate(system, 8.0, tolerance=1e-7)
    stretch = -found.frame("mass")[0][-1, 2] - 1.0
    assert 500.0 * stretch**3 == pytest.approx(2.0 * 9.81, rel=1e-3)


def test_a_controller_sees_time_and_the_whole_angle():
    """A PD controller turns a rotor three times and holds it there."""

    def follow(t, angle, speed):
        wanted = 6 * np.pi * min(t, 1.0)
        return 400.0 * (wanted - angle) - 30.0 * speed

    system = flexmb.System()
    rotor = system.add(flexmb.rigid_body("rotor", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    system.revolute("bearing", system.ground.at((0, 0, 0)), rotor, axis=(0, 0, 1))
    system.motor("drive", "bearing", follow)
    found = flexmb.simulate(system, 3.0, step=1e-3)
    R = found.frame("rotor")[1]
    turned = np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))
    assert turned[-1] == pytest.approx(6 * np.pi, abs=1e-3)
    assert np.abs(found.ledger.residual).max() < 1e-4 * found.ledger.exchange


def failing(t, x, xdot):
    if t > 0.1:
        raise ZeroDivisionError("no more")
    return 0.0


@pytest.mark.parametrize("options", [{"step": 1e-2}, {"tolerance": 1e-6}, {"method": "radau"}])
def test_a_law_that_fails_ends_the_run_and_is_named(options):
    with pytest.raises(LawError, match=r"law of 'elbow spring' failed at t = 0.1.*ZeroDivisionError: no more"):
        flexmb.simulate(by_law(failing), 1.0, **options)
    with pytest.raises(LawError, match="'elbow spring' returned nan"):
        flexmb.simulate(by_law(lambda t, x, v: float("nan")), 1.0, **options)


def test_a_failure_is_forgotten_in_the_next_run():
    mechanism = by_law(failing).build()
    with pytest.raises(LawError):
        flexmb.simulate(mechanism, 1.0, step=1e-2)
    flexmb.simulate(mechanism, 0.05, step=1e-2)
    assert mechanism.laws[0].failure is None


def test_what_is_no_law_is_refused():
    with pytest.raises(MechanismError, match=r"effort\(t, x, xdot\).*found str"):
        by_law("stiff")
    with pytest.raises(LawError, match="cannot be compiled"):
        flexmb.simulate(by_law(numba.njit(lambda t, x, v: t.nothing)), 0.1, step=1e-2)


def test_a_mechanism_with_a_law_goes_to_other_processes_but_not_into_files(tmp_path):
    study = flexmb.parameter_study(lambda k: by_law(lambda t, x, v: -k * x), [{"k": 1.0}, {"k": 50.0}], 0.3, step=1e-3)
    assert not study.failed
    found = flexmb.simulate(by_law(spring), 0.1, step=1e-3)
    again = load_result(save_result(found, tmp_path / "result.h5"))
    np.testing.assert_array_equal(again.q, found.q)
    with pytest.raises(LawError, match="not in the file"):
        flexmb.simulate(again.mechanism, 0.1, step=1e-3)


def interrupting(t, x, xdot):
    if 0.1 < t < 0.12:
        raise KeyboardInterrupt
    return 0.0


def leaving(t, x, xdot):
    if 0.1 < t < 0.12:
        raise SystemExit(3)
    return 0.0


EVERY_METHOD = [
    {"step": 1e-2},
    {"tolerance": 1e-6, "output_step": 0.02},
    {"step": 1e-2, "coordinates": "joint"},
    {"method": "radau", "output_step": 0.02},
    {"method": "bdf", "output_step": 0.02},
    {"method": "explicit", "output_step": 0.02},
    {"method": "explicit", "coordinates": "joint", "output_step": 0.02},
    {"method": "energy-momentum", "step": 1e-2},
]


@pytest.mark.parametrize("options", EVERY_METHOD)
@pytest.mark.parametrize(("law", "raised"), [(interrupting, KeyboardInterrupt), (leaving, SystemExit)])
def test_an_interrupt_inside_a_law_stops_the_run(law, raised, options):
    """Compiled code cannot pass an exception on: it must be kept and raised as soon as Python has the word again."""
    mechanism = by_law(law).build()
    with pytest.raises(raised) as caught:
        flexmb.simulate(mechanism, 0.3, **options)
    assert caught.traceback[-1].name == law.__name__
    flexmb.simulate(mechanism, 0.05, step=1e-2)  # and the next run is not stopped by it


def test_an_interrupt_at_the_door_of_a_law_stops_the_run(monkeypatch):
    """A signal may arrive before the first line of the function runs; ctypes then drops the exception and returns zero."""
    called = flexmb.mechanism.force_law.ForceLaw.__call__

    def interrupted(self, record, t, x, xdot):
        if 0.1 < t < 0.12:
            raise KeyboardInterrupt
        return called(self, record, t, x, xdot)

    monkeypatch.setattr(flexmb.mechanism.force_law.ForceLaw, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        flexmb.simulate(by_law(lambda t, x, v: 0.0), 0.3, step=1e-2)


def test_a_signal_stops_a_run_with_a_law():
    def law(t, x, xdot):
        if t > 0.1:
            signal.raise_signal(signal.SIGINT)
        return 0.0

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in what runs in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            flexmb.simulate(by_law(law), 0.3, step=1e-2)
    finally:
        signal.signal(signal.SIGINT, before)


@numba.njit
def dividing(t, x, xdot):
    return 1.0 / (0.0 if t > 0.1 else 1.0)


@numba.njit
def refusing(t, x, xdot):
    if t > 0.1:
        raise ValueError("too late")
    return 0.0


@numba.njit
def in_object_mode(t, x, xdot):
    with numba.objmode(y="float64"):
        y = failing(t, x, xdot)
    return y  # noqa: RET504


@pytest.mark.parametrize("options", EVERY_METHOD)
@pytest.mark.parametrize(
    ("law", "cause"),
    [(failing, ZeroDivisionError), (dividing, ZeroDivisionError), (refusing, ValueError), (in_object_mode, ZeroDivisionError)],
)  # fmt: skip
def test_the_exception_of_a_law_is_the_cause_of_the_error(law, cause, options):
    """Of compiled laws too, whose exceptions numba prints and forgets."""
    with pytest.raises(LawError, match=rf"law of 'elbow spring' failed.*{cause.__name__}") as caught:
        flexmb.simulate(by_law(law), 0.3, **options)
    assert isinstance(caught.value.__cause__, cause)


@pytest.mark.parametrize("options", EVERY_METHOD)
def test_a_compiled_law_that_is_not_finite_is_named(options):
    law = numba.njit(lambda t, x, v: np.nan if t > 0.1 else 0.0)
    with pytest.raises(LawError, match=r"'elbow spring' returned nan at t = 0\.1"):
        flexmb.simulate(by_law(law), 0.3, **options)


@numba.njit
def ends_at_a_half(t, x, xdot):
    return -1e-3 * np.sqrt(0.5 - x)


def test_a_compiled_law_is_repeated_at_the_place_where_it_failed():
    """It has values at its rate, 0.4, taken for a place."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    system.set_speed("rail", 0.4)
    system.motor("drag", "rail", ends_at_a_half)
    with pytest.raises(LawError, match=r"'drag' .* t = 1\.2\d*, x = 0\.5\d*, xdot = 0\.39\d*"):
        flexmb.simulate(system, 2.0, step=1e-2)


def test_a_law_keeps_the_error_model_it_was_compiled_with():
    law = numba.njit(error_model="numpy")(lambda t, x, v: 1.0 / (1.0 + np.exp(1.0 / (x - x))))
    flexmb.simulate(by_law(law), 0.05, step=1e-2)


@numba.njit
def called(record, t, x, xdot):
    return call_law(record, t, x, xdot)


def test_formulas_of_one_text_share_their_compiled_function():
    """They differ by the numbers in their records; exponents are constants of the function."""

    def laws(text, *values):
        return [ForceLaw(flexmb.expression(text, **numbers), f"law {k}") for k, numbers in enumerate(values)]

    soft, stiff = laws("-k*x - c*xdot**3", {"k": 2.0, "c": 1.0}, {"k": 5.0, "c": 0.5})
    assert soft.address != stiff.address
    assert soft._callback is stiff._callback
    assert [called(law.address, 0.0, 3.0, 2.0) for law in (soft, stiff)] == [-14.0, -19.0]
    square, cube = laws("-numbers*x**n", {"numbers": 2.0, "n": 2.0}, {"numbers": 2.0, "n": 3.0})
    assert [called(law.address, 0.0, 3.0, 0.0) for law in (square, cube)] == [-18.0, -54.0]
    (root, other) = laws("sqrt(x - gap)", {"gap": 1.0}, {"gap": 0.0})
    assert np.isnan(called(root.address, 0.5, 0.0, 0.0))
    assert called(other.address, 0.5, 0.0, 0.0) == 0.0
    assert other.failure is None
    assert "'law 0' returned nan at t = 0.5, x = 0, xdot = 0" in str(root.failure)


def test_a_law_of_other_arguments_is_refused_where_it_is_given():
    system = flexmb.System()
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod, axis=(0, 1, 0))
    with pytest.raises(MechanismError, match=r"law of 'm' must take three arguments, effort\(t, x, xdot\)"):
        system.motor("m", "hinge", lambda t: 1.0)
    system.motor("m", "hinge", lambda t, x, xdot: -x)


def test_a_second_driver_of_a_joint_is_refused_where_it_is_given():
    system = flexmb.System()
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.cylindrical("guide", system.ground.at((0, 0, 0)), rod, axis=(0, 1, 0))
    system.drive("guide", flexmb.time_functions.constant_speed(1.0), dof="rotation")
    system.drive("guide", flexmb.time_functions.constant_speed(2.0), dof="translation")
    with pytest.raises(JointError, match="its rotation has a driver already"):
        system.drive("guide", flexmb.time_functions.constant_speed(1.0))

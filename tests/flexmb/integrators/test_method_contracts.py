"""What every integration method promises, whichever is registered: order, energy, momentum, reactions, events, going on from a state, refusals."""

from dataclasses import dataclass, fields

import numpy as np
import pytest
from mechanisms import double_pendulum, turning_loop

import flexmb
from flexmb.equations.initial_conditions import consistent_state
from flexmb.equations.time_features import Pace
from flexmb.errors import IntegratorError
from flexmb.integrators.method import AdaptiveMethod, Method, method_of, methods, register
from flexmb.simulation.events import Event, Terminate, stop

METHODS = methods()
STEP = {"explicit": 2e-2, "radau": 1e-2, "bdf": 2e-3}
"""Fixed steps at which a method's errors are far above round-off and follow their order; 4e-3 for others."""


def fixed(name, factor=1.0, **options):
    return METHODS[name](step=factor * STEP.get(name, 4e-3), **options)


@pytest.fixture(scope="module")
def reference():
    return flexmb.simulate(double_pendulum(), 0.4, method="radau", tolerance=1e-12, output_step=0.4)


@pytest.mark.parametrize("name", METHODS)
def test_errors_fall_with_the_order(name, reference):
    exact = reference.position("second.end")[-1]
    steps = (1.0, 0.5)
    errors = [
        np.abs(flexmb.simulate(double_pendulum(), 0.4, method=fixed(name, f), output_step=0.4).position("second.end")[-1] - exact).max()
        for f in steps
    ]  # fmt: skip
    assert np.log2(errors[0] / errors[1]) > METHODS[name].order - 0.35


@pytest.mark.parametrize("name", METHODS)
def test_no_fixed_step_is_longer_than_asked_for(name):
    """Between stored times that are no multiples of it, steps are equal and the next shorter ones."""
    size = 0.6 * STEP.get(name, 4e-3)
    result = flexmb.simulate(double_pendulum(), 3.3 * size, method=METHODS[name](step=size), output_step=3.3 * size)
    assert result.statistics.largest_step == pytest.approx(3.3 / 4 * size)
    assert result.statistics.smallest_step == pytest.approx(3.3 / 4 * size)


@pytest.mark.parametrize("name", METHODS)
def test_the_energy_balance_closes(name):
    result = flexmb.simulate(double_pendulum(), 0.4, method=fixed(name), output_step=0.05)
    assert np.abs(result.ledger.residual).max() < 2e-4 * np.ptp(result.ledger.kinetic)


@pytest.mark.parametrize("name", METHODS)
def test_reactions_carry_the_weight_and_the_inertia(name):
    """Newton's second law of the whole pendulum: the hinge carries what gravity and the acceleration of the mass centre ask for."""
    result = flexmb.simulate(double_pendulum(), 0.2, method=fixed(name, 0.5), output_step=2e-3)
    momentum = np.zeros((len(result.t), 3))
    for body in ("first", "second"):
        centre = 0.5 * (result.position(f"{body}.end") + result.position(f"{body}.start"))
        momentum += np.gradient(centre, result.t, axis=0)
    force = np.gradient(momentum, result.t, axis=0) - 2.0 * np.array([0, -9.81, 0])
    np.testing.assert_allclose(result.reaction("hinge")[10:-10, :3], force[10:-10], atol=0.02 * np.abs(force).max())


@pytest.mark.parametrize("name", METHODS)
def test_a_motion_goes_on_from_a_stored_state(name):
    whole = flexmb.simulate(double_pendulum(), 0.4, method=fixed(name), output_step=0.2)
    first = flexmb.simulate(double_pendulum(), 0.2, method=fixed(name), output_step=0.2)
    second = flexmb.simulate(double_pendulum(), 0.2, method=fixed(name), output_step=0.2, initial_state=first.state(-1))
    assert second.t[0] == first.t[-1]
    np.testing.assert_allclose(second.position("second.end")[-1], whole.position("second.end")[-1], atol=2e-4)


@pytest.mark.parametrize("name", METHODS)
def test_events_end_a_simulation_and_stops_hold(name):
    falls = Event("low", lambda r: -0.5 - r.coordinate("hinge"), Terminate())
    result = flexmb.simulate(double_pendulum(), 1.0, method=fixed(name), events=[falls])
    assert result.coordinate("hinge")[-1] == pytest.approx(-0.5, abs=1e-9)
    floor = stop("floor", "hinge", -0.3, upper=False, restitution=0.5)
    result = flexmb.simulate(double_pendulum(), 0.4, method=fixed(name), events=[floor], output_step=0.01)
    assert result.coordinate("hinge").min() > -0.3 - 1e-6


@pytest.mark.parametrize("name", METHODS)
def test_a_name_stands_for_the_record_and_foreign_options_are_refused(name):
    given = {"step": 1e-3}
    assert method_of(name, given) == METHODS[name](step=1e-3)
    names = [f.name for f in fields(METHODS[name])]
    with pytest.raises(
        IntegratorError, match=rf"Method '{name}' has no option 'speed'; its options are {', '.join(names)}"
    ):
        flexmb.simulate(double_pendulum(), 0.1, method=name, speed=3, **given)
    with pytest.raises(IntegratorError, match="give these options in the record"):
        flexmb.simulate(double_pendulum(), 0.1, method=METHODS[name](**given), step=1e-3)


def test_an_option_of_another_method_says_whose_it_is():
    with pytest.raises(IntegratorError, match=r"no option 'start'.* the argument initial_state= of simulate"):
        flexmb.simulate(double_pendulum(), 0.1, method="radau", start={"hinge": 0.1})
    with pytest.raises(IntegratorError, match=r"'radau' has no option 'rho_inf'.*belongs to generalised-alpha, hht"):
        flexmb.simulate(double_pendulum(), 0.1, method="radau", rho_inf=0.5)
    with pytest.raises(IntegratorError, match="'integrator' is now called 'method': method='radau'"):
        flexmb.simulate(double_pendulum(), 0.1, integrator="radau")


def test_a_method_of_a_user_is_found_by_its_name():
    """One class, in one file of the user's: here Radau with another default."""

    @register("careful")
    @dataclass(frozen=True, kw_only=True)
    class Careful(AdaptiveMethod):
        """Radau IIA, to nine digits unless told otherwise."""

        tolerance: float = 1e-9

        def begin(self, mechanism, start, **options):
            return flexmb.Radau(tolerance=self.tolerance).begin(mechanism, start, **options)

    try:
        assert isinstance(method_of("careful", {}), Method)
        result = flexmb.simulate(double_pendulum(), 0.1, method="careful")
        same = flexmb.simulate(double_pendulum(), 0.1, method="radau", tolerance=1e-9)
        np.testing.assert_array_equal(result.q, same.q)
    finally:
        from flexmb.integrators import method

        del method._REGISTERED["careful"]


@pytest.mark.parametrize("name", methods())
@pytest.mark.parametrize("wrong", ["0.001", "no", [1e-3], 1j, {}, float("nan")], ids=repr)
def test_an_option_of_another_type_is_refused_by_name(name, wrong):
    """Text for a number was an error of Python, and any text or nan for True."""
    numbers = [f for f in fields(methods()[name]) if f.name != "coordinates"]
    for field in numbers:
        with pytest.raises(IntegratorError, match=field.name):
            method_of(name, {field.name: wrong})
    for field in numbers:
        if isinstance(field.default, float) or field.name in ("step", "max_step"):
            with pytest.raises(IntegratorError, match=rf"{field.name} is a number.*; found True"):
                method_of(name, {field.name: True})


def test_numbers_of_numpy_are_numbers():
    method = method_of("generalised-alpha", {"step": np.float32(1e-3), "rho_inf": np.int64(0), "project": np.True_})
    assert method.scheme().alpha_f == 0.0


@pytest.mark.parametrize("method", [["radau"], None, 3, flexmb.Radau])
def test_what_names_no_method_is_refused(method):
    with pytest.raises(IntegratorError, match="There is no method"):
        method_of(method, {})


@pytest.mark.parametrize("name", ["generalised-alpha", "hht"])
def test_reactions_stay_smooth_where_fixed_steps_grow(name):
    """As after an instant that must be met exactly: a step of 2 % of the others, and a longer one again. The reactions
    oscillated, as the velocities of the restart were corrected once more for the ratio of the steps."""
    mechanism, step = turning_loop().build(), 1e-3
    begin = consistent_state(mechanism)
    run = METHODS[name](step=step).begin(mechanism, begin, end=1.0, longest=np.inf, pace=Pace((), begin.state.t, 1.0))
    run.prepare()
    found = []
    for t in (0.02, 0.02 + 0.02 * step, *(0.021 + step * np.arange(8))):
        found.append(run.to(t).multipliers.copy())
    times = [0.02, *(0.021 + step * np.arange(8))]
    smooth = flexmb.simulate(mechanism, 0.03, method=METHODS[name](step=1e-4), output_step=1e-3)
    exact = np.array([smooth.multipliers[int(np.argmin(np.abs(smooth.t - t)))] for t in times])
    assert np.abs(np.array([found[0], *found[2:]]) - exact).max() < 2e-3 * np.abs(exact).max()


@pytest.mark.parametrize(
    ("name", "alpha_m", "alpha_f"),
    [("generalised-alpha", lambda r: (2 * r - 1) / (r + 1), lambda r: r / (r + 1)), ("hht", lambda r: 0.0, lambda r: (1 - r) / (1 + r))],
)  # fmt: skip
def test_an_oscillator_moves_by_the_published_amplification_matrix(name, alpha_m, alpha_f):
    """Positions follow the recurrence of its characteristic polynomial (Cayley and Hamilton); `rho_inf` is its spectral radius at a high frequency, and its local error that by which steps adapt."""
    rho, step, omega = 0.7, 0.1, 3.0
    m, f = alpha_m(rho), alpha_f(rho)
    gamma, beta = 0.5 - m + f, (1 - m + f) ** 2 / 4

    def amplification(frequency):
        """Of displacement, `step` times velocity, and `step^2` times the acceleration of the method."""
        stiffness = (frequency * step) ** 2
        new = np.array([[1, 0, -beta], [0, 1, -gamma], [(1 - f) * stiffness, 0, 1 - m]])
        old = np.array([[1, 1, 0.5 - beta], [0, 1, 1 - gamma], [-f * stiffness, 0, -m]])
        return np.linalg.solve(new, old)

    method = METHODS[name](step=step, rho_inf=rho, newton_tolerance=1e-12)
    assert np.abs(np.linalg.eigvals(amplification(1e6))).max() == pytest.approx(rho, abs=1e-3)
    turn = 1e-2  # in a step; the accelerations of the method are those at the time (alpha_m - alpha_f) step
    after = amplification(turn / step) @ [1, 1j * turn, -(turn**2) * np.exp(1j * (m - f) * turn)]
    assert np.abs(after[0] - np.exp(1j * turn)) / turn**3 == pytest.approx(method.scheme().error_constant, rel=0.02)
    system = flexmb.System()
    block = system.add(flexmb.rigid_body("block", mass=2.0, inertia=(1, 1, 1)))
    system.prismatic("slide", system.ground.at((0, 0, 0)), block, axis=(1, 0, 0))
    system.joint_spring("spring", "slide", stiffness=2.0 * omega**2)
    system.set_speed("slide", 0.3)
    x = flexmb.simulate(system, 1.0, method=method, output_step=step).coordinate("slide")
    left = np.convolve(x, np.poly(amplification(omega)), mode="valid")
    assert np.abs(left).max() < 1e-10

"""Force elements between two frames: closed forms, an independent integration, order, momenta, failures."""

import pickle
from dataclasses import replace

import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import flexmb
import flexmb.files
import flexmb.linear
import flexmb.study
from flexmb.errors import LawError, MechanismError


@flexmb.law(parameters={"k": None, "swirl": 0.0, "c": 0.0, "turn": 0.0})
def film(t, relative, states, parameters, wrench, rates):
    """A fluid film: stiffness, damping and a cross-coupled stiffness in the plane, and stiffness of small rotations."""
    k, swirl, c, turn = parameters
    d, v, S = relative.d, relative.v, relative.S
    wrench[0] = -k * d[0] - swirl * d[1] - c * v[0]
    wrench[1] = -k * d[1] + swirl * d[0] - c * v[1]
    wrench[2] = -k * d[2] - c * v[2]
    wrench[3] = -0.5 * turn * (S[2, 1] - S[1, 2])
    wrench[4] = -0.5 * turn * (S[0, 2] - S[2, 0])
    wrench[5] = -0.5 * turn * (S[1, 0] - S[0, 1])
    return 0.5 * k * (d[0] ** 2 + d[1] ** 2 + d[2] ** 2)


@flexmb.law(states=("force",), parameters=("k", "tau"))
def maxwell(t, relative, states, parameters, wrench, rates):
    """A spring and a damper in series, along x."""
    k, tau = parameters
    wrench[0] = -states[0]
    rates[0] = k * relative.v[0] - states[0] / tau


@flexmb.law(states=("plastic",), parameters=("slope", "limit"), updates=True)
def plastic_hinge(t, relative, states, parameters, wrench, new):
    """An elastic, perfectly plastic moment about z, by return mapping."""
    slope, limit = parameters
    angle = np.arctan2(relative.S[1, 0], relative.S[0, 0])
    trial = slope * (angle - states[0])
    moment = min(max(trial, -limit), limit)
    new[0] = angle - moment / slope
    wrench[5] = -moment


def mass_on(law, m=2.0, velocity=(0.3, -0.2, 0.1), position=(0.01, 0.02, -0.01)):
    system = flexmb.System()
    body = flexmb.rigid_body("mass", mass=m, inertia=np.diag([0.1, 0.2, 0.3]))
    handle = system.add(body, position=position, velocity=velocity)
    system.force("element", system.ground.at((0, 0, 0)), handle.at((0, 0, 0)), law)
    return system


SIDES = {"right": 1.0}


def one_sided(t, relative, states, parameters, wrench, rates):
    """A stop, which writes nothing where the bodies are apart; numba does not compile its dictionary."""
    if SIDES.get("right") * relative.d[0] > 0.0:
        wrench[0] = -parameters[0] * relative.d[0]


def test_what_a_law_in_python_does_not_write_is_zero():
    """A mass meets the stop, and leaves it with the speed with which it came."""
    stop = flexmb.law(one_sided, parameters=("k",), name="stop")
    assert stop.entry is None
    result = flexmb.simulate(mass_on(stop(k=5e3), velocity=(1.0, 0, 0), position=(0, 0, 0)), 0.12, step=1e-3)
    assert result.position("mass")[-1, 0] < -0.05
    assert result.velocity("mass")[-1, 0] == pytest.approx(-1.0, rel=2e-3)


def test_a_cross_coupled_film_moves_a_mass_as_an_independent_integration():
    k, swirl, c, m = 1e4, 8e3, 3.0, 2.0
    system = mass_on(film(k=k, swirl=swirl, c=c), m)

    def rate(t, y):
        x, v = y[:3], y[3:]
        f = np.array([-k * x[0] - swirl * x[1], -k * x[1] + swirl * x[0], -k * x[2]]) - c * v
        return np.concatenate([v, f / m])

    start = np.array([0.01, 0.02, -0.01, 0.3, -0.2, 0.1])
    early, exact = solve_ivp(rate, (0, 0.2), start, t_eval=(0.05, 0.2), rtol=1e-11, atol=1e-13).y[:3].T
    errors = []
    for step in (1e-3, 5e-4):
        result = flexmb.simulate(system, 0.2, step=step)
        errors.append(np.abs(result.q[-1, :3] - exact).max())
        assert result.statistics.iterations / result.statistics.steps < 3.0
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    for method in ("radau", "explicit", "bdf"):
        result = flexmb.simulate(system, 0.05, method=method, tolerance=1e-9)
        assert np.abs(result.q[-1, :3] - early).max() < 1e-7


def test_states_follow_their_own_equation_with_second_order():
    k, tau, m = 500.0, 0.03, 2.0
    system = mass_on(maxwell(k=k, tau=tau), m, velocity=(1.0, 0, 0), position=(0, 0, 0))
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1 / m], [0.0, k, -1 / tau]])
    times = np.linspace(0.0, 0.5, 51)
    exact = np.array([expm(t * A) @ [0.0, 1.0, 0.0] for t in times])
    errors = []
    for step in (2.5e-3, 1.25e-3):
        result = flexmb.simulate(system, 0.5, step=step, output_step=0.01)
        found = np.column_stack([result.q[:, 0], result.w[:, 0], result.element_states[:, 0]])
        errors.append(np.abs(found - exact).max(axis=0))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_a_run_goes_on_from_a_state_with_its_element_states():
    system = mass_on(maxwell(k=500.0, tau=0.03), velocity=(1.0, 0, 0), position=(0, 0, 0))
    whole = flexmb.simulate(system, 0.2, step=1e-3)
    half = flexmb.simulate(system, 0.1, step=1e-3)
    assert half.state(-1).element_states == pytest.approx(half.element_states[-1])
    rest = flexmb.simulate(system, 0.1, step=1e-3, initial_state=half.state(-1))
    assert rest.element_states[-1] == pytest.approx(whole.element_states[-1], rel=1e-5)
    with pytest.raises(MechanismError, match="have 1 states; found 2"):
        flexmb.simulate(
            system, 0.1, step=1e-3, initial_state=flexmb.State(0.0, half.q[0], half.w[0], element_states=[0, 1])
        )


def test_a_plastic_hinge_absorbs_a_given_energy():
    limit, theta, energy, J = 4644.7, 0.0873, 2000.0, 40.0
    system = flexmb.System()
    bar = system.add(
        flexmb.rigid_body("bar", mass=1.0, inertia=np.diag([30.0, 30.0, J])),
        angular_velocity=(0, 0, np.sqrt(2 * energy / J)),
    )
    system.revolute("hinge", system.ground.at((0, 0, 0)), bar, axis=(0, 0, 1))
    system.force("plastic", system.ground.at((0, 0, 0)), bar, plastic_hinge(slope=limit / theta, limit=limit))
    result = flexmb.simulate(system, 0.12, step=2e-5, output_step=2e-5)
    peak = result.coordinate("hinge").max()
    assert peak == pytest.approx(energy / limit + theta / 2, abs=2e-6)


def test_a_force_between_free_bodies_keeps_their_momenta():
    system = flexmb.System()
    box = flexmb.rigid_body("a", mass=1.0, inertia=np.diag([0.1, 0.2, 0.3]))
    a = system.add(box, velocity=(0.1, 0.2, 0.3), angular_velocity=(1, 2, 3))
    b = system.add(box, name="b", position=(0.3, 0.1, 0.2), velocity=(-0.2, 0, 0.1), angular_velocity=(-1, 1, 0.5))
    system.force(
        "film", a.at((0.1, 0, 0)), b.at((0.2, 0.1, 0.1)), film(k=100.0, swirl=30.0, c=1.0, turn=5.0), axis=(1, 1, 0)
    )
    result = flexmb.simulate(system, 1.0, step=1e-3)
    linear = result.linear_momentum()
    assert np.abs(linear - linear[0]).max() < 1e-12 * np.abs(linear).max()
    errors = []
    for step in (2e-3, 1e-3):
        angular = flexmb.simulate(system, 1.0, step=step).angular_momentum()
        errors.append(np.abs(angular - angular[0]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


def four_bar(element):
    """A redundant planar four-bar (three equations too many), with an element between coupler and ground."""
    system, points = flexmb.System(gravity=(0, -9.81, 0)), [(0, 0, 0), (0, 1, 0), (2, 1.5, 0), (2, 0, 0)]
    bars = []
    for k in range(3):
        p, q = np.array(points[k], float), np.array(points[k + 1], float)
        body = flexmb.rigid_body(f"bar {k}", mass=1.0, inertia=np.diag([0.1, 0.1, 0.1]))
        bars.append(system.add(body, position=(p + q) / 2))
    system.revolute("A", system.ground.at(points[0]), bars[0], axis=(0, 0, 1))
    system.revolute("B", bars[0], bars[1], axis=(0, 0, 1), at=points[1])
    system.revolute("C", bars[1], bars[2], axis=(0, 0, 1), at=points[2])
    system.revolute("D", system.ground.at(points[3]), bars[2], axis=(0, 0, 1))
    element(system, system.ground.at((1, 1.25, 0)), bars[1].at((0, 0, 0)))
    return system


@pytest.mark.filterwarnings("ignore:Redundant")
def test_redundant_joints_and_elements_meet_in_one_matrix():
    def law(system, a, b):
        system.force("spring", a, b, film(k=50.0, c=2.0))

    def bushing(system, a, b):
        system.bushing("spring", a, b, stiffness=(50, 50, 50, 0, 0, 0), damping=(2, 2, 2, 0, 0, 0))

    found, expected = (flexmb.simulate(four_bar(x), 0.5, step=1e-3) for x in (law, bushing))
    assert found.q[-1] == pytest.approx(expected.q[-1], abs=1e-9)
    assert found.multipliers[-1] == pytest.approx(expected.multipliers[-1], rel=1e-6, abs=1e-6)


def test_a_law_that_fails_is_named_with_its_time():
    @flexmb.law
    def breaks(t, relative, states, parameters, wrench, rates):
        wrench[0] = 1.0 if t < 0.02 else np.nan

    with pytest.raises(LawError, match=r"'element' (returned|failed).* at t = 0\.0"):
        flexmb.simulate(mass_on(breaks), 0.2, step=1e-3)

    @flexmb.law
    def raises(t, relative, states, parameters, wrench, rates):
        if t > 0.05:
            raise ValueError("no grip")

    with pytest.raises(LawError, match=r"'element' failed at t = 0\.05.*ValueError: no grip"):
        flexmb.simulate(mass_on(raises), 0.2, step=1e-3)


def _writes_states(t, relative, states, parameters, wrench, rates):
    states[0] = 1.0


def _writes_motion(t, relative, states, parameters, wrench, rates):
    relative.d[0] = max(relative.d[0], 0.0)


def _writes_parameters(t, relative, states, parameters, wrench, rates):
    parameters[0] *= 0.5


def _reads_beyond(t, relative, states, parameters, wrench, rates):
    wrench[0] = -parameters[1] * relative.d[0]


def _writes_beyond(t, relative, states, parameters, wrench, rates):
    rates[1] = 1.0


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_writes_states, "read-only"),
        (_writes_motion, "read-only"),
        (_writes_parameters, "read-only"),
        (_reads_beyond, "IndexError"),
        (_writes_beyond, "IndexError"),
    ],
)
def test_a_law_that_writes_to_what_it_is_given_or_beyond_its_arrays_is_named(function, message, compiled):
    if compiled and message == "IndexError":
        function = numba.njit(function)
    law = flexmb.law(function, states=1, parameters=("k",))
    with pytest.raises(LawError, match=rf"The law of 'element' failed at t = 0, d = \[0\.01, .*{message}"):
        flexmb.simulate(mass_on(law(k=1.0)), 0.01, step=1e-3)


def test_ranges_of_parameters_are_declared_by_name():
    limited = {"parameters": ("k", "c"), "positive": ("k",), "non_negative": ("c",)}
    law = flexmb.law(lambda t, relative, states, parameters, wrench, rates: None, **limited)
    law(k=1.0, c=0.0)
    for wrong, message in (({"k": 0.0, "c": 0.0}, "'k' of the law .* positive"), ({"k": 1, "c": -1}, "'c' of the law")):
        with pytest.raises(LawError, match=message):
            law(**wrong)
    law = flexmb.law(lambda t, relative, states, parameters, wrench, rates: None, **limited, increasing=("c", "k"))
    law(k=1.0, c=1.0)
    with pytest.raises(LawError, match=r"'c' of the law .* must not be above 'k'; found 2 and 1"):
        law(k=1.0, c=2.0)
    for kind in ("positive", "increasing"):
        with pytest.raises(LawError, match="'m'"):
            flexmb.law(lambda t, relative, states, parameters, wrench, rates: None, **{kind: ("m",)})


def test_bad_laws_are_refused():
    with pytest.raises(LawError, match="needs values of 'k'"):
        mass_on(film)
    with pytest.raises(LawError, match="stiff"):
        film(k=1.0, stiff=2.0)
    with pytest.raises(LawError, match="finite number"):
        film(k=np.nan)
    with pytest.raises(LawError, match="is a function of t, relative"):
        flexmb.law(lambda t, x: None)
    with pytest.raises(MechanismError, match=r"flexmb\.law"):
        mass_on(lambda t, x, v: 0.0)
    with pytest.raises(LawError, match="1 states; found 2"):
        maxwell(k=1.0, tau=1.0, initial=(1.0, 2.0))


def test_energy_momentum_keeps_the_momentum_of_a_pair_and_its_order():
    system = flexmb.System()
    box = flexmb.rigid_body("a", mass=1.0, inertia=np.diag([0.1, 0.2, 0.25]))
    a = system.add(box, velocity=(0.1, 0.2, 0.3), angular_velocity=(1, 2, 3))
    b = system.add(box, name="b", position=(0.3, 0.1, 0.2), velocity=(-0.2, 0, 0.1), angular_velocity=(-1, 1, 0.5))
    system.force("film", a.at((0.1, 0, 0)), b.at((0.2, 0.1, 0.1)), film(k=20.0, swirl=5.0, c=1.0, turn=2.0))
    result = flexmb.simulate(system, 0.2, step=5e-3, method="energy-momentum")
    momentum = result.linear_momentum()
    assert np.abs(momentum - momentum[0]).max() < 1e-12 * np.abs(momentum).max()
    exact = flexmb.simulate(system, 0.2, method="radau", tolerance=1e-10)
    other = flexmb.simulate(system, 0.2, step=2.5e-3, method="energy-momentum")
    errors = [np.abs(r.q[-1] - exact.q[-1]).max() for r in (result, other)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


def test_a_saved_result_keeps_the_states_and_names_the_missing_code(tmp_path):
    result = flexmb.simulate(mass_on(maxwell(k=500.0, tau=0.03), velocity=(1.0, 0, 0)), 0.02, step=1e-3)
    loaded = flexmb.files.load_result(flexmb.files.save_result(result, tmp_path / "run.h5"))
    assert np.array_equal(loaded.element_states, result.element_states)
    assert loaded.state(3) == result.state(3)
    assert np.array_equal(loaded.force("element"), result.force("element"))
    with pytest.raises(LawError, match="is not in the file"):
        flexmb.simulate(loaded.mechanism, 0.01, step=1e-3)


@pytest.mark.parametrize("options", [{}, {"coordinates": "joint"}])
def test_explicit_steps_take_states_with_order_five(options):
    k, tau, m = 500.0, 0.03, 2.0
    system = mass_on(maxwell(k=k, tau=tau, initial=(5.0,)), m, velocity=(1.0, 0, 0), position=(0, 0, 0))
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1 / m], [0.0, k, -1 / tau]])
    exact, errors = expm(0.4 * A) @ [0.0, 1.0, 5.0], []

    def error_of(**given):
        result = flexmb.simulate(system, 0.4, method="explicit", **options, **given)
        found = np.array([result.q[-1, 0], result.w[-1, 0], result.element_states[-1, 0]])
        return np.abs((found - exact) / [0.1, 1.0, 10.0]).max()

    errors = [error_of(step=step, output_step=0.4) for step in (0.02, 0.01)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(5.0, abs=0.5)
    assert error_of(tolerance=1e-9) < 1e-7
    with pytest.raises(MechanismError, match=r"return the states at the end of a step.*'element'"):
        flexmb.simulate(mass_on(plastic_hinge(slope=1.0, limit=1.0)), 0.1, method="explicit", **options)


@pytest.mark.parametrize("method", ["radau", "bdf"])
@pytest.mark.parametrize(("k", "tau"), [(500.0, 0.03), (1e6, 1e-5)])
def test_implicit_steps_take_states_with_order_five(method, k, tau):
    """Also where the state is far faster than the step."""
    m = 2.0
    system = mass_on(maxwell(k=k, tau=tau, initial=(5.0,)), m, velocity=(1.0, 0, 0), position=(0, 0, 0))
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1 / m], [0.0, k, -1 / tau]])
    exact = expm(0.4 * A) @ [0.0, 1.0, 5.0]

    def error_of(**given):
        result = flexmb.simulate(system, 0.4, method=method, output_step=0.4, **given)
        found = np.array([result.q[-1, 0], result.w[-1, 0], result.element_states[-1, 0]])
        return np.abs((found - exact) / [0.1, 1.0, 10.0]).max()

    coarse = 0.04 if method == "radau" else 0.01
    errors = [error_of(step=step) for step in (coarse, coarse / 2)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(5.0, abs=0.3)
    assert error_of(tolerance=1e-7) < 1e-7


@pytest.mark.parametrize("method", ["radau", "bdf"])
def test_states_between_steps_are_those_of_the_steps(method):
    """Interpolated states, and states on which forces of six components depend, agree with the explicit method."""
    system = mass_on(maxwell(k=500.0, tau=0.03), 2.0, velocity=(1.0, 0, 0), position=(0, 0, 0))
    exact = flexmb.simulate(system, 0.2, method="explicit", tolerance=1e-10, output_step=0.005)
    found = flexmb.simulate(system, 0.2, method=method, tolerance=1e-8, output_step=0.005)
    np.testing.assert_allclose(found.element_states, exact.element_states, atol=1e-6)
    np.testing.assert_allclose(found.ledger.load_work, exact.ledger.load_work, atol=1e-6)


def test_energy_momentum_refuses_states_by_name():
    with pytest.raises(MechanismError, match=r"energy-momentum' does not include the states .*'element'"):
        flexmb.simulate(mass_on(maxwell(k=1.0, tau=1.0)), 0.1, method="energy-momentum", step=1e-3)


def test_the_linearised_film_is_its_own_law():
    k, swirl, c, m = 1e4, 8e3, 3.0, 2.0
    linear = flexmb.linear.linearise(mass_on(film(k=k, swirl=swirl, c=c, turn=1.0), m, (0, 0, 0), (0, 0, 0)))
    assert linear.K.toarray()[:2, :2] == pytest.approx(np.array([[k, swirl], [-swirl, k]]), rel=1e-7)
    assert linear.D.toarray()[:3, :3] == pytest.approx(c * np.eye(3), abs=1e-6)


def test_what_an_element_does_adds_up_to_the_ledger():
    result = flexmb.simulate(mass_on(film(k=1e4, swirl=8e3, c=3.0)), 0.05, step=1e-4, output_step=1e-4)
    d, v = result.q[:, :3], result.w[:, :3]
    force = np.column_stack([-1e4 * d[:, 0] - 8e3 * d[:, 1], -1e4 * d[:, 1] + 8e3 * d[:, 0], -1e4 * d[:, 2]]) - 3.0 * v
    assert result.force("element")[:, :3] == pytest.approx(force, rel=1e-9, abs=1e-9)
    assert result.power("element") == pytest.approx((force * v).sum(axis=1), rel=1e-9, abs=1e-9)
    found = result.energy_by_element()
    assert found["element"].kind == "frame force"
    assert np.abs(found.work_apart).max() < 1e-4 * result.ledger.exchange


@flexmb.law(states=("force",))
def carried(t, relative, states, parameters, wrench, rates):
    """A force along x that is a state and does not change."""
    wrench[0] = states[0]


def test_a_state_is_evaluated_with_its_own_element_states():
    mechanism = mass_on(carried(initial=(4.0,)), velocity=(0, 0, 0)).build()
    state = replace(mechanism.initial, element_states=np.array([10.0]))
    assert flexmb.accelerations(mechanism, mechanism.initial)[0][0] == pytest.approx(2.0)
    assert flexmb.accelerations(mechanism, state)[0][0] == pytest.approx(5.0)
    assert flexmb.evaluate(mechanism, state).forces[0] == pytest.approx(10.0)


def test_states_last_through_an_impact():
    """A contact that lasts is pushed by the state at its time, and the state goes on."""

    @flexmb.law(states=("push",))
    def growing(t, relative, states, parameters, wrench, rates):
        wrench[2] = states[0] - 15.0
        rates[0] = 10.0

    system = flexmb.System()
    body = system.add(flexmb.rigid_body("b", mass=1.0, inertia=(1, 1, 1)))
    system.prismatic("guide", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    system.force("push", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), growing)
    floor = flexmb.simulation.events.stop("floor", "guide", limit=-1.0, upper=False, restitution=0.0)
    result = flexmb.simulate(system, 3.0, step=1e-3, events=[floor], output_step=0.01)
    assert result.element_states[:, 0] == pytest.approx(10.0 * result.t, abs=1e-9)
    assert next(e.event for e in result.happened) == "floor"
    left = result.t[np.argmax((result.q[:, 2] > -1.0 + 1e-6) & (result.t > 1.0))]
    assert left == pytest.approx(1.5, abs=0.05)


def test_adaptive_steps_do_not_pass_over_a_pulse_of_a_law():
    @flexmb.law
    def pulse(t, relative, states, parameters, wrench, rates):
        wrench[1] = 2.0 if 3.0 < t < 3.5 else 0.0

    for method in ("generalised-alpha", "radau"):
        result = flexmb.simulate(mass_on(pulse, velocity=(0, 0, 0)), 10.0, method=method)
        assert result.w[-1, 1] == pytest.approx(0.5, rel=1e-2)


@pytest.mark.parametrize(
    "options", [{"step": 1e-3, "coordinates": "joint"}, {"method": "explicit", "coordinates": "joint"}]
)
def test_joint_coordinates_take_it(options):
    def swinging():
        system = flexmb.System(gravity=(0, 0, -9.81))
        bar = system.add(flexmb.rigid_body("bar", mass=1.0, inertia=(0.1, 0.1, 0.1)), position=(0.5, 0, 0))
        system.revolute("hinge", system.ground.at((0, 0, 0)), bar, axis=(0, 1, 0), at=(0, 0, 0))
        system.force("film", system.ground.at((1, 0, 0)), bar.at((0.5, 0, 0)), film(k=50.0, c=0.5))
        return system

    expected = flexmb.simulate(swinging(), 0.5, method="radau", tolerance=1e-9)
    assert flexmb.simulate(swinging(), 0.5, **options).q[-1] == pytest.approx(expected.q[-1], abs=2e-5)


def test_a_mechanism_with_it_goes_to_other_processes():
    mechanism = mass_on(film(k=100.0)).build()
    again = pickle.loads(pickle.dumps(mechanism))
    assert flexmb.accelerations(again, again.initial)[0] == pytest.approx(
        flexmb.accelerations(mechanism, mechanism.initial)[0]
    )


def test_a_law_beside_its_function_goes_to_other_processes():
    """Its function has kept its own name, by which no law is found."""
    stop = flexmb.law(one_sided, parameters=("k",), name="stop")
    again = pickle.loads(pickle.dumps(stop))
    assert isinstance(again, type(stop))
    assert (again.function, again.parameters, again.name) == (one_sided, ("k",), "stop")
    assert pickle.loads(pickle.dumps(film)) is film


def test_stored_energy_heat_and_work_of_laws_are_apart():
    """A conservative law has no heat, a damped one that of its damper, to the square of the step; the sums close."""
    k, c = 1e3, 3.0
    heats, residuals = [], []
    for step in (2e-3, 1e-3):
        result = flexmb.simulate(mass_on(film(k=k)), 0.2, step=step)
        heats.append(np.abs(result.ledger.damper_heat).max())
        residuals.append(np.abs(result.ledger.residual).max())
    assert result.ledger.springs == pytest.approx(0.5 * k * (result.q[:, :3] ** 2).sum(axis=1), rel=1e-12)
    assert result.ledger.load_work == pytest.approx(0.0, abs=1e-15)
    assert np.log2(heats[0] / heats[1]) == pytest.approx(2.0, abs=0.2)
    assert np.log2(residuals[0] / residuals[1]) == pytest.approx(2.0, abs=0.2)
    damped = flexmb.simulate(mass_on(film(k=k, c=c)), 0.2, step=2e-4, output_step=1e-3)
    expected = np.trapezoid(c * (damped.w[:, :3] ** 2).sum(axis=1), damped.t)
    assert damped.ledger.damper_heat[-1] == pytest.approx(expected, rel=1e-4)
    found = damped.energy_by_element()["element"]
    assert found.heat[-1] == pytest.approx(expected, rel=1e-4)
    assert found.stored == pytest.approx(damped.ledger.springs, rel=1e-12)
    assert not found.work.any()
    assert flexmb.evaluate(damped.mechanism, damped.state(3)).energies.springs == pytest.approx(found.stored[3])
    for method in ("radau", "bdf", "explicit"):
        other = flexmb.simulate(mass_on(film(k=k, c=c)), 0.2, method=method, tolerance=1e-8)
        assert other.ledger.damper_heat[-1] == pytest.approx(expected, rel=1e-4)


def test_elements_of_one_law_share_its_compiled_code():
    """A hundred elements compile once, and a failure is that of its own element."""

    @flexmb.law(parameters=("limit",))
    def brittle(t, relative, states, parameters, wrench, rates):
        wrench[0] = -relative.d[0]
        if relative.d[0] > parameters[0]:
            raise ValueError("broken")

    system = flexmb.System()
    for k in range(100):
        body = system.add(flexmb.rigid_body(f"b{k}", mass=1.0, inertia=(1, 1, 1)), velocity=(1.0, 0, 0))
        limit = 0.05 if k == 7 else 1.0
        system.force(f"bond {k}", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), brittle(limit=limit))
    mechanism = system.build()
    assert len({force.call.address for force in mechanism.frame_forces}) == 1
    with pytest.raises(LawError, match=r"'bond 7' failed at t = 0\.06.*broken"):
        flexmb.simulate(mechanism, 0.2, step=1e-2)


def test_states_that_grow_without_bound_are_named():
    @flexmb.law(states=("z",), parameters=("k",))
    def escaping(t, relative, states, parameters, wrench, rates):
        wrench[0] = -parameters[0] * relative.d[0]
        rates[0] = 1e3 * states[0] ** 3 + 1.0

    system = flexmb.System(name="escape")
    body = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)), position=(0.1, 0, 0))
    system.force("memory", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), escaping(k=1.0))
    with pytest.raises(flexmb.ConvergenceError, match=r"At t = 0\.1 the states of 'memory' of 'escape' have no value"):
        flexmb.simulate(system, 0.5, step=0.01)


def test_elements_find_their_own_states_among_those_of_others():
    """Three elements with two, one and three states, of which each takes its last one as its force."""

    def law(count):
        @flexmb.law(states=count, name=f"of {count}")
        def last(t, relative, states, parameters, wrench, rates):
            wrench[0] = states[len(states) - 1]

        return last

    begin = {"two": (1.0, 2.0), "one": (3.0,), "three": (4.0, 5.0, 6.0)}
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)))
    for name, initial in begin.items():
        system.force(name, system.ground.at((0, 0, 0)), body.at((0, 0, 0)), law(len(initial))(initial=initial))
    result = flexmb.simulate(system, 1e-3, step=1e-3)
    for name, initial in begin.items():
        np.testing.assert_allclose(result.force(name)[:, 0], initial[-1], rtol=1e-12)

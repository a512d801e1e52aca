"""Motion: closed forms, conserved quantities, orders of convergence, reactions, the ledger."""

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum, random_flexible_body, slider_crank
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import flexmb
from flexmb.bodies.dynamics import momenta
from flexmb.equations.initial_conditions import accelerations, row_jacobian, start
from flexmb.integrators.generalised_alpha import GeneralisedAlphaRun, coefficients
from flexmb.kernels.base.algebra import quaternion_product
from flexmb.kernels.steps.step import BEFORE, IntegratorState, integrate_powers
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import body_frame
from flexmb.mechanism.state import State
from flexmb.mechanism.time_functions import harmonic

RINGING = pytest.mark.filterwarnings("ignore::flexmb.RingingReactionsWarning")
"""Of runs without numerical damping in which energies and positions are looked at, not reactions."""


def pendulum(angle=np.pi / 2):
    system = flexmb.System(gravity=(0, -9.81, 0))
    rod = system.add(
        flexmb.uniform_rod("rod", mass=2.0, length=1.0, radius=0.02), orientation=(0, 0, angle - np.pi / 2)
    )
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod, axis=(0, 0, 1))
    return system, rod.body


def test_pendulum_period_is_the_elliptic_integral():
    system, rod = pendulum(angle=2.0)
    inertia = rod.invariants.J0[2, 2]
    period = 4 * np.sqrt(inertia / (2.0 * 9.81 * 0.5)) * ellipk(np.sin(1.0) ** 2)
    errors = []
    for n in (500, 1000):
        result = flexmb.simulate(system, period, step=period / n, rho_inf=1.0)
        errors.append(np.linalg.norm(result.position("rod.end")[-1] - result.position("rod.end")[0]))
    assert errors[1] < 2e-5
    # at the turning point the position error is of second order in the phase error, of fourth order in the step
    mid = [
        np.linalg.norm(
            flexmb.simulate(system, period / 4, step=period / n, rho_inf=0.9).position("rod.end")[-1] - [0, -1, 0]
        )
        for n in (400, 800)
    ]
    assert np.log2(mid[0] / mid[1]) == pytest.approx(2.0, abs=0.1)


def test_free_rigid_body_keeps_its_momenta_and_turns_over():
    """Dzhanibekov: rotation about the middle axis. Energy and momentum errors fall with the square of the step."""
    system = flexmb.System()
    system.add(
        flexmb.rigid_body("wing nut", mass=1.0, inertia=(1.0, 2.0, 2.5), centre=(0.1, 0.2, -0.1)),
        angular_velocity=(1e-2, 5.0, 1e-2),
        velocity=(1, 0, 0),
    )
    errors = []
    for step in (4e-3, 2e-3):
        result = flexmb.simulate(system, 6.0, step=step, rho_inf=1.0)
        errors.append(
            np.abs(
                np.array([_world_momenta(result, k) - _world_momenta(result, 0) for k in range(0, len(result.t), 50)])
            ).max()
        )
        assert result.w[:, 4].min() < -4.5  # it has turned over
    assert errors[1] < 2e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


def _world_momenta(result, k):
    """Linear momentum and angular momentum about the world origin of a single free body."""
    body = result.mechanism.bodies[0]
    state = result.state(k)
    r, R = body_frame(result.mechanism, state, 0)
    linear, angular, _ = momenta(body, state.q[7:], state.w)
    return np.concatenate([R @ linear, R @ angular + np.cross(r, R @ linear)])


@pytest.mark.parametrize("second_order", [False, True])
def test_free_flexible_body_keeps_energy_and_momenta(second_order):
    rng = np.random.default_rng(5)
    system = flexmb.System()
    system.add(
        random_flexible_body(rng, second_order=second_order),
        angular_velocity=(1.0, -0.5, 0.7),
        velocity=(0.2, 0.1, 0),
        eta=[0.02, -0.01, 0.03],
    )
    energy, momentum = [], []
    for step in (2e-3, 1e-3):
        result = flexmb.simulate(system, 1.0, step=step, rho_inf=1.0)
        energy.append(np.abs(result.ledger.residual).max() / result.ledger.total[0])
        momentum.append(np.abs(_world_momenta(result, -1) - _world_momenta(result, 0)).max())
    assert np.log2(energy[0] / energy[1]) == pytest.approx(2.0, abs=0.2)
    assert np.log2(momentum[0] / momentum[1]) == pytest.approx(2.0, abs=0.2)
    assert energy[1] < 1e-4


@pytest.mark.parametrize("second_order", [False, True])
def test_step_agrees_with_an_explicit_integration_of_the_accelerations(second_order):
    """A flexible body on a hinge against DOP853 on `accelerations`, an independent road through the equations."""
    system = flexible_pendulum(np.random.default_rng(11), second_order=second_order, damping=0.5)
    mechanism = system.build()

    def rate(t, x):
        q, w = x[:10].copy(), x[10:]
        q[3:7] /= np.linalg.norm(q[3:7])
        wdot, _ = accelerations(mechanism, State(t, q, w), np.zeros((0, 3)))
        R = flexmb.lie.rotation_from_quaternion(q[3:7])
        turn = 0.5 * np.array(quaternion_product(tuple(q[3:7]), (0.0, *w[3:6])))
        return np.concatenate([R @ w[:3], turn, w[6:], wdot])

    exact = solve_ivp(
        rate,
        (0, 0.5),
        np.concatenate([mechanism.initial.q, mechanism.initial.w]),
        method="DOP853",
        rtol=1e-10,
        atol=1e-12,
    ).y[:10, -1]
    errors = [np.linalg.norm(flexmb.simulate(mechanism, 0.5, step=h).q[-1] - exact) for h in (1e-3, 5e-4)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)
    assert errors[1] < 1e-4


@RINGING
def test_flexible_pendulum_energy_error_falls_with_the_square_of_the_step_to_1e_8():
    system = flexible_pendulum(np.random.default_rng(2))
    errors = []
    for step in (1e-3, 5e-4, 1e-5):
        ledger = flexmb.simulate(system, 0.4, step=step, rho_inf=1.0).ledger
        errors.append(np.abs(ledger.residual).max() / ledger.kinetic.max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    assert errors[2] < 1e-8


@RINGING
def test_damped_flexible_pendulum_loses_exactly_its_heat():
    ledger = flexmb.simulate(
        flexible_pendulum(np.random.default_rng(2), damping=30.0), 1.0, step=1e-4, rho_inf=1.0
    ).ledger
    assert ledger.modal_heat[-1] > 1e-3 * ledger.kinetic.max()
    assert np.abs(ledger.residual).max() < 1e-5 * ledger.modal_heat[-1]


@pytest.mark.parametrize("rho_inf", [0.0, 0.5, 0.9])
def test_generalised_alpha_is_second_order_in_position_velocity_and_reaction(rho_inf):
    def run(step):
        result = flexmb.simulate(double_pendulum(), 0.4, step=step, rho_inf=rho_inf, newton_tolerance=1e-13)
        return result.position("second.end")[-1], result.w[-1], result.reaction("hinge")[-1, :3]

    reference = run(1e-4)
    coarse, fine = run(4e-3), run(2e-3)
    for c, f, r in zip(coarse, fine, reference, strict=True):
        assert np.log2(np.linalg.norm(c - r) / np.linalg.norm(f - r)) == pytest.approx(2.0, abs=0.15)


@RINGING
def test_adaptive_step_meets_its_tolerance():
    exact = flexmb.simulate(double_pendulum(), 1.0, step=5e-5, rho_inf=1.0).position("second.end")[-1]
    errors = []
    for tolerance in (1e-5, 1e-6, 1e-7):
        result = flexmb.simulate(double_pendulum(), 1.0, tolerance=tolerance, output_step=0.1)
        errors.append(np.linalg.norm(result.position("second.end")[-1] - exact))
        assert result.statistics.largest_step > 1.5 * result.statistics.smallest_step
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-3


def test_a_change_of_the_step_leaves_no_trace_in_the_reactions():
    """Half the run at h, half at h/3: the reaction stays within the error of the coarse step."""

    def reactions(steps):
        mechanism = double_pendulum().build()
        begin = start(mechanism, compiled(mechanism))
        run = GeneralisedAlphaRun(mechanism, begin, coefficients(0.9), step=steps[0], tolerance=1.0, longest=1.0)
        run.prepare()
        for h in steps:
            run.fixed(run.t + h, h)
        return run.motion.multipliers.copy()

    fine = reactions([5e-4] * 800)
    coarse = reactions([2e-3] * 200)
    mixed = reactions([2e-3] * 100 + [2e-3 / 3] * 300)
    just_after = reactions([2e-3] * 197 + [2e-3 / 3] * 9)
    error = np.abs(coarse - fine).max()
    assert np.abs(mixed - fine).max() < 2 * error
    assert np.abs(just_after - fine).max() < 3 * error


def test_driven_slider_crank_follows_its_closed_form():
    result = flexmb.simulate(slider_crank(speed=50.0), 0.15, step=1e-4)
    angle = 50.0 * result.t
    x = 0.15 * np.cos(angle) + np.sqrt(0.3**2 - (0.15 * np.sin(angle)) ** 2)
    slider = result.q[:, compiled(result.mechanism).q_start[2]]
    assert np.abs(slider - x).max() < 1e-9


def test_driver_torque_equals_virtual_work():
    """Drive moment of the bearing from the ledger's power against the reaction about the axis."""
    result = flexmb.simulate(slider_crank(speed=50.0), 0.15, step=2e-5)
    power = np.gradient(result.ledger.driver_work, result.t, edge_order=2)
    moment = result.reaction("bearing")[:, 5] * 50.0
    assert np.abs(power - moment)[5:-5].max() < 5e-4 * np.abs(moment).max()
    assert np.abs(result.ledger.residual).max() < 1e-6 * result.ledger.exchange


def test_hanging_chain_reactions_are_weights():
    system = flexmb.System(gravity=(0, 0, -10.0))
    a = system.add(flexmb.rigid_body("a", mass=2.0, inertia=(1, 1, 1)))
    b = system.add(flexmb.rigid_body("b", mass=3.0, inertia=(1, 1, 1)), position=(0, 0, -1))
    system.fixed("upper", system.ground.at((0, 0, 1)), a)
    system.fixed("lower", a, b, at=(0.5, 0, -0.5))
    result = flexmb.simulate(system, 0.1, step=1e-2)
    np.testing.assert_allclose(result.reaction("upper")[-1], [0, 0, 50, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(result.reaction("lower")[-1], [0, 0, 30, 0, 15, 0], atol=1e-9)


def test_spring_mass_and_torsion_spring_frequencies():
    system = flexmb.System()
    mass = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)), position=(1.0, 0, 0))
    system.prismatic("guide", system.ground.at((0, 0, 0)), mass, axis=(1, 0, 0))
    system.spring_damper("spring", system.ground.at((0, 0, 0)), mass.at((0, 0, 0)), stiffness=200.0, length=0.9)
    result = flexmb.simulate(system, 1.0, step=1e-4, rho_inf=1.0)
    np.testing.assert_allclose(result.q[:, 0], 0.9 + 0.1 * np.cos(10.0 * result.t), atol=2e-7)

    system = flexmb.System()
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 0.5)), angular_velocity=(0, 0, 80.0))
    system.revolute("shaft", system.ground.at((0, 0, 0)), wheel, axis=(0, 0, 1))
    system.joint_spring("torsion", "shaft", stiffness=50.0)
    result = flexmb.simulate(system, 1.0, step=1e-4, rho_inf=1.0)  # swings through more than a full turn
    np.testing.assert_allclose(result.w[:, 5], 80.0 * np.cos(10.0 * result.t), atol=2e-4)


def test_motor_and_dampers_enter_the_ledger():
    system = flexmb.System()
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 0.5)))
    system.revolute("shaft", system.ground.at((0, 0, 0)), wheel, axis=(0, 0, 1))
    system.motor("motor", "shaft", 3.0, damping=2.0)
    result = flexmb.simulate(system, 1.0, step=1e-4)
    speed = 1.5 * (1 - np.exp(-4 * result.t))
    np.testing.assert_allclose(result.w[:, 5], speed, atol=1e-6)
    ledger = result.ledger
    np.testing.assert_allclose(ledger.load_work[-1], 3 * 1.5 * (1 - (1 - np.exp(-4)) / 4), rtol=1e-6)
    assert np.abs(ledger.residual).max() < 1e-6 * ledger.kinetic.max()


def test_a_following_load_turns_with_the_body_and_a_fixed_one_does_not():
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=2.0, inertia=(1, 1, 1)), angular_velocity=(0, 0, 3.0))
    system.load("thrust", body.at((0, 0, 0)), force=(4.0, 0, 0), follower=True)
    system.load("wind", body.at((0, 0, 0)), force=(0, 0, 6.0))
    result = flexmb.simulate(system, 1.0, step=1e-3)
    t = result.t
    np.testing.assert_allclose(result.q[:, 0], 2 / 9 * (1 - np.cos(3 * t)), atol=2e-6)
    np.testing.assert_allclose(result.q[:, 2], 1.5 * t**2, atol=1e-9)


def test_velocity_projection_closes_the_velocity_constraints():
    """Of a loop; the velocities of an open chain that turns about parallel axes are closed as they are."""

    def turning():
        system = slider_crank()
        system.set_speed("bearing", 10.0)
        return system

    free, held = (flexmb.simulate(turning(), 0.5, step=2e-3, project=p) for p in (False, True))

    def violation(result):
        flat = compiled(result.mechanism)
        return max(
            np.abs(row_jacobian(result.mechanism, flat, q, np.zeros((0, 3)))[1] @ w).max()
            for q, w in zip(result.q, result.w, strict=True)
        )

    assert violation(free) > 1e-6
    assert violation(held) < 1e-12


def test_a_body_without_modes_moves_like_the_rigid_body():
    system = flexible_pendulum(np.random.default_rng(3))
    mechanism = system.build()
    rigid = mechanism.rigid()
    stiff = flexmb.simulate(rigid, 0.5, step=1e-3)
    inertia = rigid.bodies[0].invariants.J0[2, 2]
    arm = rigid.bodies[0].centre
    mass = rigid.bodies[0].invariants.mass
    swing = solve_ivp(
        lambda t, x: [x[1], -mass * 9.81 * (arm[0] * np.cos(x[0]) - arm[1] * np.sin(x[0])) / inertia],
        (0, 0.5),
        [0, 0],
        rtol=1e-10,
        atol=1e-12,
    )
    angle = 2 * np.arctan2(stiff.q[-1, 6], stiff.q[-1, 3])
    assert angle == pytest.approx(swing.y[0, -1], rel=1e-5)


@pytest.mark.parametrize("step", [1e-3, None])
def test_a_mechanism_that_locks_says_where_and_why(step):
    system = slider_crank(speed=10.0, crank_length=0.3, rod_length=0.2)  # the rod is too short for a full turn
    told = r"If that fails at the same time, .*" if step else r"Longer steps failed, too: .*"
    with pytest.raises(flexmb.ConvergenceError, match=rf"fails at t = 0.07.*{told}lock"):
        flexmb.simulate(system, 1.0, step=step)


def test_a_first_step_that_is_too_long_is_no_growth():
    """A double pendulum that turns by sixty radians in the first step was said to have grown by a law of the wrong
    sign."""
    system = flexmb.System()
    first = system.add(flexmb.uniform_rod("first", mass=1.0, length=1.0))
    second = system.add(flexmb.uniform_rod("second", mass=1.0, length=1.0), position=(1, 0, 0))
    system.revolute("A", system.ground.at((0, 0, 0)), first["start"], axis=(0, 0, 1))
    system.revolute("B", first["end"], second["start"], axis=(0, 0, 1))
    system.set_speed("A", 300.0)
    system.set_speed("B", -500.0)
    with pytest.raises(flexmb.ConvergenceError, match=r"'second', moves by 120 .*step may be too large"):
        flexmb.simulate(system, 1.0, step=0.2)


def test_a_body_does_not_feel_the_iteration_of_another():
    """A tumbling top beside a slider that is driven hard and touches nothing of it: the slider's first corrections, far larger and exact, do not end the iteration of the top too early.

    Corrections end at the tolerance of 1e-13 of 3e4 times the error of a step (5e-5 here): 2e-13 a step at most, which kicks velocities by twice that over the step; 150 kicks of one sign would add up to 4e-9.
    The ratio of the first two corrections alone let 2e-8 pass.
    """

    def attitude(beside):
        system = flexmb.System(gravity=(0.0, 0.0, -9.81))
        body = flexmb.rigid_body("top", mass=1.0, inertia=np.diag([0.02, 0.03, 0.04]), centre=(0.0, 0.0, 0.2))
        top = system.add(body, angular_velocity=(10.0, 2.0, 20.0))
        system.joint("spherical", "foot", system.ground.at((0, 0, 0)), top.at((0, 0, 0)))
        if beside:
            slide = system.add(flexmb.rigid_body("slide", mass=1.0, inertia=0.1 * np.eye(3)), position=(1.0, 0, 0))
            system.joint("prismatic", "rail", system.ground.at((1, 0, 0)), slide.at((0, 0, 0)), axis=(0, 0, 1))
            system.drive("rail", harmonic(0.04, 20.0))
        return flexmb.simulate(system, 0.3, step=2e-3, newton_tolerance=1e-13).frame("top")[1]

    np.testing.assert_allclose(attitude(True), attitude(False), rtol=0, atol=1e-9)


def test_works_are_integrals_of_third_order():
    """A quadratic power over unequal steps is integrated exactly after the first step (which is a trapezoid)."""
    motion = IntegratorState(**dict.fromkeys(IntegratorState._fields, np.zeros(0)))._replace(
        powers=np.zeros((2, 4)), work=np.zeros(4), last=np.zeros(8)
    )
    times = np.array([0.0, 0.1, 0.25, 0.3, 0.6])
    for t, h in zip(times[1:], np.diff(times), strict=True):
        integrate_powers(motion, h, np.full(4, t * t))
        motion.last[BEFORE] = h
    trapezoid_error = 0.1**3 / 6
    np.testing.assert_allclose(motion.work, 0.6**3 / 3 + trapezoid_error, rtol=1e-13)

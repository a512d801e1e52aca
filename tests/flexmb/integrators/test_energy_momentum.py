"""The energy-momentum scheme: balance and momenta to round-off at any step, order two, agreement with the other integrators."""

import numpy as np
import pytest
from mechanisms import double_pendulum, flexible_pendulum, random_flexible_body, slider_crank

import flexmb
from flexmb.bodies.dynamics import momenta
from flexmb.errors import IntegratorError
from flexmb.integrators.energy_momentum import EnergyMomentumRun
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import body_frame


def conserving(system, duration, step, **options):
    return flexmb.simulate(system, duration, step=step, method="energy-momentum", **{"output_step": step} | options)


def total_momenta(result):
    """Linear momentum and that about the origin (nt, 6), in the world."""
    mechanism, flat, found = result.mechanism, compiled(result.mechanism), []
    for k in range(len(result.t)):
        state, total = result.state(k), np.zeros(6)
        for b, body in enumerate(mechanism.bodies):
            r, R = body_frame(mechanism, state, b)
            eta = state.q[flat.q_start[b] + 7 : flat.q_start[b + 1]]
            linear, angular, _ = momenta(body, eta, state.w[flat.v_start[b] : flat.v_start[b + 1]])
            total += np.concatenate([R @ linear, R @ angular + np.cross(r, R @ linear)])
        found.append(total)
    return np.array(found)


def flying_pair(damping=1.0):
    """Two flexible bodies on a ball joint, a spring and damper between them, tumbling freely."""
    system = flexmb.System(name="pair")
    first = system.add(
        random_flexible_body(np.random.default_rng(5), second_order=True),
        name="first",
        angular_velocity=(1.0, 2.0, -1.0),
        eta=(0.05, 0, 0.02),
    )
    second = system.add(
        random_flexible_body(np.random.default_rng(6), second_order=True),
        name="second",
        position=(1, 0.2, 0),
        angular_velocity=(0, 1.0, 3.0),
    )
    system.spherical("ball", first["end"], second["start"])
    system.spring_damper("spring", first["start"], second["end"], stiffness=50.0, damping=damping)
    return system


@pytest.mark.filterwarnings("ignore::flexmb.AssemblyWarning")  # the ball joint of the random bodies is drawn open
@pytest.mark.parametrize("step", [0.05, 0.01])
def test_a_tumbling_pair_keeps_energy_and_momenta(step):
    """What the damper takes is in the ledger; the rest stays, at steps as long as a third of the fastest vibration."""
    result = conserving(flying_pair(), 1.0, step)
    assert result.ledger.damper_heat[-1] > 0.1
    assert np.abs(result.ledger.residual).max() < 1e-13 * result.ledger.kinetic.max()
    found = total_momenta(result)
    assert np.abs(found - found[0]).max() < 1e-12 * np.abs(found[0]).max()


def test_angular_momentum_about_the_moving_mass_centre_is_of_second_order():
    """About a fixed point it stays to round-off; the mass centre of a pair on a bushing leaves its line."""
    box = flexmb.rigid_body("a", mass=1.0, inertia=(0.1, 0.2, 0.25))
    system, changes = flexmb.System(), []
    a = system.add(box, velocity=(0.1, 0.2, 0.3), angular_velocity=(1, 2, 3))
    b = system.add(box, name="b", position=(0.3, 0.1, 0.2), velocity=(-0.2, 0, 0.1), angular_velocity=(-1, 1, 0.5))
    system.bushing("pad", a.at((0.1, 0, 0)), b.at((0.2, 0.1, 0.1)), stiffness=(20, 20, 0, 2, 2, 2), free=(0, 0, 0))
    for step in (2e-2, 1e-2):
        result = conserving(system, 0.4, step)
        fixed, centre = result.angular_momentum(about=(0, 0, 0)), result.angular_momentum()
        assert np.abs(fixed - fixed[0]).max() < 1e-13 * np.abs(fixed).max()
        changes.append(np.abs(centre - centre[0]).max() / np.abs(centre).max())
    assert 1e-6 < changes[0] < 1e-3
    assert np.log2(changes[0] / changes[1]) == pytest.approx(2.0, abs=0.2)


MECHANISMS = {
    "double pendulum": double_pendulum,
    "flexible pendulum": lambda: flexible_pendulum(np.random.default_rng(5), second_order=True, damping=0.5),
    "slider-crank": slider_crank,
    "driven": lambda: driven(),
}


def driven():
    """A driven crank, a motor with a law, a spring that is wound up, a load: everything that does work."""
    system = slider_crank()
    system.drive("bearing", flexmb.time_functions.harmonic(amplitude=0.8, frequency=1.3))
    system.motor("brake", "guide", lambda t, x, v: -3.0 * v - 20.0 * x**3)
    return system


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.long) if n in ("slider-crank", "driven") else n for n in MECHANISMS],
)
def test_the_balance_closes_at_any_step_and_errors_fall_with_its_square(name):
    """Positions, velocities and reactions against Radau; loops, drivers, laws, loads, damped flexible bodies."""
    system = MECHANISMS[name]()
    exact = flexmb.simulate(system, 0.3, method="radau", tolerance=1e-11, output_step=0.03)
    errors = []
    steps = (0.005, 0.0025)
    for step in (0.03, *steps):
        result = conserving(system, 0.3, step, output_step=0.03)
        ledger = result.ledger
        scale = max(ledger.exchange, np.abs(ledger.driver_work).max(), np.abs(ledger.load_work).max())
        assert np.abs(ledger.residual).max() < 2e-12 * scale
        seen = [[r.position(m.name), r.velocity(m.name)] for r in (result, exact) for m in r.mechanism.markers]
        half = len(seen) // 2
        off = np.array(seen[:half]) - np.array(seen[half:])
        reactions = np.abs(result.multipliers - exact.multipliers).max()
        errors.append([np.abs(off[:, 0]).max(), np.abs(off[:, 1]).max(), reactions])
    seen = np.array(errors[2]) > 1e-10  # places of what is driven are exact
    order = np.log2(np.array(errors[1]) / np.array(errors[2]))[seen]
    np.testing.assert_allclose(order, 2.0, atol=0.1)


def hinged_rods(count, velocities, spins, place=(0.0, 0, 0)):
    """Free rods in a row, hinged about z."""
    system = flexmb.System(name="rods")
    rods = [
        system.add(flexmb.uniform_rod(f"rod {k}", mass=1.0, length=1.0), position=np.add(place, (k, 0, 0)), velocity=(0, v, 0), angular_velocity=(0, 0, spin))
        for k, (v, spin) in enumerate(zip(velocities, spins, strict=True))
    ]  # fmt: skip
    for k in range(count - 1):
        system.revolute(f"hinge {k}", rods[k]["end"], rods[k + 1], axis=(0, 0, 1))
    return system


@pytest.mark.parametrize("step", [0.01, 0.1])
@pytest.mark.parametrize("spin", [0.0, 3.0, 3.0 + 1e-9])
def test_hinged_bodies_may_move_alike(step, spin):
    """No relative motion to act along: two rods that turn as one, and almost."""
    system = hinged_rods(2, (1.0, 4.0), (3.0, spin or 3.0)) if spin else hinged_rods(2, (1.0, 1.0), (0.0, 0.0))
    result = conserving(system, 1.0, step)
    assert np.abs(result.ledger.residual).max() < 1e-12 * result.ledger.kinetic.max()
    found = total_momenta(result)
    np.testing.assert_allclose(found, found[:1].repeat(len(found), axis=0), rtol=0, atol=1e-11)


@pytest.mark.parametrize("place", [(0.0, 0, 0), (4000.0, 0, 0)])
def test_a_free_chain_of_four_rods_takes_large_steps(place):
    """0.1 s where the rods turn by half a radian in a step; a thousand lengths from the origin too, to the rounding of positions there."""
    system = hinged_rods(4, (0.0, 3.0, -1.0, 2.0), (3.0, -4.0, 3.0, 1.0), place)
    result = conserving(system, 4.0, 0.1)
    rounding = 1e-12 if place[0] == 0 else 1e-9
    assert np.abs(result.ledger.residual).max() < rounding * result.ledger.kinetic.max()
    momentum = total_momenta(result)[:, :3]
    assert np.abs(momentum - momentum[0]).max() < rounding * np.abs(momentum).max()


@pytest.mark.parametrize("step", [0.01, 0.05])
def test_welded_flexible_bodies_keep_the_balance_too(step):
    system = flexmb.System(gravity=(0, 0, -9.81))
    first = system.add(random_flexible_body(np.random.default_rng(5), second_order=True), name="first")
    second = system.add(random_flexible_body(np.random.default_rng(6), second_order=True), name="second", position=(1, 0, 0))  # fmt: skip
    system.fixed("clamp", system.ground, first["start"])
    system.fixed("weld", first["end"], second["start"])
    result = conserving(system, 0.3, step)
    assert np.abs(result.ledger.residual).max() < 1e-12 * result.ledger.exchange


def test_a_step_without_a_solution_is_told():
    """Thin rods that tumble by several radians in a step; a flexible pair thrown apart: an error with the cause, and nothing else."""
    system = flexmb.System(name="thrown")
    rods = [system.add(flexmb.uniform_rod(f"rod {k}", mass=1.0, length=1.0), position=(k, 0, 0), angular_velocity=(0, 30.0 * k, 20.0)) for k in range(3)]  # fmt: skip
    for k in range(2):
        system.spherical(f"ball {k}", rods[k]["end"], rods[k + 1])
    with pytest.raises(flexmb.ConvergenceError, match=r"rotates by .* rad in it"):
        conserving(system, 2.0, 0.2)


def test_redundant_joints_are_no_obstacle():
    from test_kinematics import four_bar

    system = four_bar()
    system.set_speed("A", 2.0)
    with pytest.warns(flexmb.RedundantConstraintWarning):
        result = conserving(system, 1.0, 0.02)
    assert np.abs(result.ledger.residual).max() < 1e-12 * result.ledger.kinetic.max()
    with pytest.warns(flexmb.RedundantConstraintWarning):
        exact = flexmb.simulate(system, 1.0, step=1e-4, output_step=0.02)
    np.testing.assert_allclose(result.coordinate("A"), exact.coordinate("A"), atol=5e-3)


def test_a_wound_up_spring_counts_its_turns():
    system = flexmb.System()
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("axle", system.ground.at((0, 0, 0)), wheel, axis=(0, 0, 1))
    system.joint_spring("spring", "axle", stiffness=0.04)
    system.set_speed("axle", 4.0)
    result = conserving(system, 20.0, 0.1)
    assert np.abs(result.ledger.residual).max() < 1e-12 * result.ledger.exchange
    assert result.coordinate("axle").max() == pytest.approx(20.0, rel=1e-3)


def test_it_wants_a_step():
    with pytest.raises(IntegratorError, match="requires fixed steps"):
        flexmb.simulate(double_pendulum(), 1.0, method="energy-momentum")


def test_hht_is_of_second_order_with_its_own_damping():
    """Positions, velocities and reactions of a double pendulum; more damping than generalised-alpha of the same radius."""
    exact = flexmb.simulate(double_pendulum(), 0.6, method="radau", tolerance=1e-11, output_step=0.03)
    errors = []
    for step in (2e-3, 1e-3):
        found = flexmb.simulate(double_pendulum(), 0.6, step=step, output_step=0.03, method="hht", rho_inf=0.8)
        errors.append([np.abs(getattr(found, x) - getattr(exact, x)).max() for x in ("q", "w", "multipliers")])
    np.testing.assert_allclose(np.log2(np.array(errors[0]) / np.array(errors[1])), 2.0, atol=0.1)
    system = flexible_pendulum(np.random.default_rng(5))
    lost = [
        -flexmb.simulate(system, 2.0, step=0.02, method=name, rho_inf=0.6).ledger.residual[-1]
        for name in ("generalised-alpha", "hht")
    ]
    assert lost[1] > lost[0] > 0
    with pytest.raises(IntegratorError, match=r"between 0\.5 and 1"):
        flexmb.simulate(system, 1.0, step=0.01, method="hht", rho_inf=0.2)


def test_steps_of_slender_rods_need_no_newton_in_python(monkeypatch):
    """Reactions turn with the rods, whose inertia about their own axes is small: the matrix of generalised-alpha alone
    does not determine the rotation about them."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    rods = [
        system.add(
            flexmb.uniform_rod(f"rod {k}", mass=1.0, length=1.0), position=(k, 0, 0), angular_velocity=(0, 0, spin)
        )
        for k, spin in enumerate((3.0, -3.0))
    ]
    system.revolute("hinge", rods[0]["end"], rods[1], axis=(0, 0, 1))
    fallen = []
    newton = EnergyMomentumRun._newton
    monkeypatch.setattr(EnergyMomentumRun, "_newton", lambda *given: fallen.append(1) or newton(*given))
    result = flexmb.simulate(system, 0.6, method="energy-momentum", step=0.1)
    assert not fallen
    assert np.abs(result.ledger.residual).max() < 2e-12 * result.ledger.exchange

"""Generalised-alpha: free flight is straight, a uniform velocity changes nothing, reactions are of second order from the first step."""

import numpy as np
import pytest
from mechanisms import double_pendulum, random_flexible_body, slider_crank

import flexmb
from flexmb.errors import RingingReactionsWarning
from flexmb.mechanism.compile import compiled
from flexmb.spatial.lie import rotation_from_quaternion

COORDINATES = ("absolute", "joint")


def mass_centre(result):
    """Of all bodies (nt, 3)."""
    mechanism, flat = result.mechanism, compiled(result.mechanism)
    total, mass = np.zeros((len(result.t), 3)), 0.0
    for b, body in enumerate(mechanism.bodies):
        inv, s, m = body.invariants, flat.q_start[b], body.modes
        for k, q in enumerate(result.q):
            eta = q[s + 7 : s + 7 + m]
            first = inv.s0 + inv.S1 @ eta + 0.5 * inv.SG @ eta @ eta
            total[k] += inv.mass * q[s : s + 3] + rotation_from_quaternion(q[s + 3 : s + 7]) @ first
        mass += inv.mass
    return total / mass


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("centre", [(0, 0, 0), (0.2, -0.1, 0.3)])
@pytest.mark.parametrize("integrator", ["generalised-alpha", "hht"])
def test_a_wheel_in_free_flight_keeps_its_path(coordinates, centre, integrator):
    """30 m/s and 100 rad/s at 1 ms: 1.3 m off in body-frame velocities; its mass centre moves on a parabola, wherever its frame is."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    wheel = flexmb.rigid_body("wheel", mass=2.0, inertia=(0.1, 0.1, 0.2), centre=centre)
    start = np.cross((0, 0, 100.0), centre)
    system.add(wheel, velocity=np.array([30.0, 0, 5.0]) - start, angular_velocity=(0, 0, 100.0))
    result = flexmb.simulate(system, 1.0, step=1e-3, output_step=0.1, coordinates=coordinates, method=integrator)
    t = result.t[:, None]
    expected = np.array(centre) + t * [30.0, 0, 5.0] - t**2 * [0, 0, 0.5 * 9.81]
    np.testing.assert_allclose(mass_centre(result), expected, atol=1e-11)


def free_pair(velocity=(0.0, 0, 0), joint="spherical", flexible=False, turned=None):
    """Two bodies on a joint, tumbling; the second flexible if asked."""
    system = flexmb.System(name="free pair")
    velocity = np.array(velocity, dtype=float)
    first = system.add(flexmb.rigid_body("first", mass=1.0, inertia=(0.02, 0.1, 0.11), centre=(0.4, 0.05, 0)), velocity=velocity, angular_velocity=(1.0, 2.0, 5.0))  # fmt: skip
    body = random_flexible_body(np.random.default_rng(3), second_order=True) if flexible else flexmb.rigid_body("second", mass=2.0, inertia=(0.1, 0.3, 0.2), centre=(0.5, 0, 0.1))  # fmt: skip
    spin = np.cross((1.0, 2.0, 5.0), (1.0, 0, 0))
    second = system.add(body, position=(1, 0, 0), velocity=velocity + spin, angular_velocity=(-1.0, 3.0, 8.0))
    at = second["start"] if flexible else second.at((0, 0, 0))
    options = {} if joint == "spherical" else {"axis": (0, 0, 1)}
    getattr(system, joint)("joint", first.at((1, 0, 0)), at, **options)
    return system


def on_a_rail(speed):
    """A crank with a rod on a carriage that travels along a guide."""
    system = flexmb.System(gravity=(0, -9.81, 0), name="on a rail")
    carriage = system.add(flexmb.rigid_body("carriage", mass=5.0, inertia=(1, 1, 1)))
    crank = system.add(flexmb.uniform_rod("crank", mass=1.0, length=0.5))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=0.8), position=(0.5, 0, 0))
    system.prismatic("rail", system.ground.at((0, 0, 0)), carriage, axis=(1, 0, 0))
    system.revolute("bearing", carriage.at((0, 0, 0)), crank, axis=(0, 0, 1))
    system.revolute("pin", crank["end"], rod, axis=(0, 0, 1))
    system.set_speed("rail", speed)
    system.set_speed("bearing", 20.0)
    return system


CARRIED = {
    "free pair": lambda v: free_pair(v * np.array([0.6, -0.64, 0.48])),
    "free hinge": lambda v: free_pair(v * np.array([0.6, -0.64, 0.48]), "revolute"),
    "flexible pair": lambda v: free_pair(v * np.array([0.6, -0.64, 0.48]), flexible=True),
    "on a rail": on_a_rail,
}


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("name", CARRIED)
def test_a_uniform_velocity_changes_no_reaction(name, coordinates):
    """Beyond the rounding of positions, over the square of the step (Galilei)."""
    runs = [flexmb.simulate(CARRIED[name](v), 0.05, step=1e-3, output_step=1e-3, coordinates=coordinates) for v in (0.0, 300.0)]  # fmt: skip
    rest, fast = (r.multipliers for r in runs)
    assert np.abs(rest).max() > 5
    np.testing.assert_allclose(fast, rest, rtol=0, atol=2e-8 * np.abs(rest).max())
    moved = mass_centre(runs[1]) - mass_centre(runs[0])
    direction = moved[-1] / np.linalg.norm(moved[-1])
    np.testing.assert_allclose(moved, 300.0 * runs[0].t[:, None] * direction, atol=1e-10)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("integrator", ["generalised-alpha", "hht"])
@pytest.mark.parametrize("name", ["free pair", "on a rail"])
def test_reactions_are_of_second_order_from_the_first_steps(name, integrator, coordinates):
    """Largest error over the first 20 steps, against Radau: it must fall with the square of the step, at high speed."""
    exact = flexmb.simulate(CARRIED[name](0.0), 0.04, method="radau", tolerance=1e-12, output_step=5e-4)
    errors = []
    for h, every in ((2e-3, 4), (1e-3, 2), (5e-4, 1)):
        found = flexmb.simulate(CARRIED[name](300.0), 20 * h, step=h, output_step=h, method=integrator, coordinates=coordinates)  # fmt: skip
        errors.append(np.abs(found.multipliers - exact.multipliers[: 20 * every + 1 : every]).max())
    assert np.log2(errors[0] / errors[1]) > 1.8
    assert np.log2(errors[1] / errors[2]) > 1.8


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_free_mechanism_moves_on_its_parabola(coordinates):
    """Three hinged bodies, spinning: the mass centre to round-off in absolute coordinates, where every body turns about its own."""
    result = flexmb.simulate(free_pair((3.0, 1.0, 0), flexible=False), 0.5, step=5e-3, output_step=0.1, coordinates=coordinates)  # fmt: skip
    path = mass_centre(result)
    straight = path[0] + (path[1] - path[0]) * (result.t / result.t[1])[:, None]
    off = np.abs(path - straight).max()
    assert off < (1e-11 if coordinates == "absolute" else 1e-3)


def swinging(spin):
    """A wheel that spins at the end of a pendulum."""
    system = flexmb.System(gravity=(0, -9.81, 0), name="swinging")
    arm = system.add(flexmb.uniform_rod("arm", mass=1.0, length=1.0))
    wheel = system.add(flexmb.rigid_body("wheel", mass=2.0, inertia=(0.01, 0.01, 0.02)), position=(1, 0, 0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), arm, axis=(0, 0, 1))
    system.revolute("axle", arm["end"], wheel, axis=(0, 0, 1))
    system.set_speed("axle", spin)
    return system


@pytest.mark.parametrize("spin", [0.0, pytest.param(300.0, marks=pytest.mark.long)])
def test_a_wheel_that_spins_on_a_pendulum_swings_with_it(spin):
    """At 1 ms, against Radau: in axes of the wheel the run fails at this spin, in those of the world the errors are some six times as large."""
    exact = flexmb.simulate(swinging(spin), 2.0, method="radau", tolerance=1e-11, output_step=0.1)
    result = flexmb.simulate(swinging(spin), 2.0, step=1e-3, output_step=0.1)
    assert np.abs(result.coordinate("hinge") - exact.coordinate("hinge")).max() < 1e-5
    assert np.abs(result.ledger.residual).max() < 4e-5


def test_a_welded_part_turns_with_its_wheel_about_the_bearing():
    """Half a radian a step: both go exactly in circles, and the weld carries `m W^2 r`, however the part is drawn."""
    bearing, place, centre, spin = (
        np.array([0.3, 0.1, 0.0]),
        np.array([1.0, 0.4, 0.2]),
        np.array([0.1, 0.05, 0.0]),
        100.0,
    )
    system = flexmb.System()
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(0.02, 0.02, 0.03)), position=bearing)
    vane = flexmb.rigid_body("vane", mass=0.5, inertia=(0.01, 0.01, 0.01), centre=centre)
    vane = system.add(vane, position=place, orientation=(0.3, -0.5, 0.8))
    system.revolute("bearing", system.ground.at(bearing), wheel, axis=(0, 0, 1))
    system.fixed("weld", wheel, vane, at=place)
    system.set_speed("bearing", spin)
    result = flexmb.simulate(system, 0.2, step=5e-3, output_step=0.02)
    (r, R), angle = result.frame("vane"), spin * result.t
    turned = np.moveaxis(
        [
            [np.cos(angle), -np.sin(angle), 0 * angle],
            [np.sin(angle), np.cos(angle), 0 * angle],
            [0 * angle, 0 * angle, 1 + 0 * angle],
        ],
        2,
        0,
    )
    np.testing.assert_allclose(r, bearing + turned @ (place - bearing), atol=1e-10)
    arm = (r + R @ centre - bearing)[:, :2]
    force = np.linalg.norm(result.reaction("weld")[:, :3], axis=1)
    np.testing.assert_allclose(force, 0.5 * spin**2 * np.linalg.norm(arm, axis=1), rtol=1e-7)


def turning_crank():
    """A slider-crank with a crank that turns freely."""
    system = slider_crank()
    system.set_speed("bearing", 10.0)
    return system


@pytest.mark.parametrize("build", [double_pendulum, turning_crank])
def test_what_joints_lead_on_circles_keeps_its_energy(build):
    """As well as in joint coordinates, which move by the joints themselves; 15 % worse and more with pivots' velocities in world axes."""
    carried, joint = (
        np.abs(flexmb.simulate(build(), 2.0, step=1e-3, coordinates=c).ledger.residual).max() for c in COORDINATES
    )
    assert carried == pytest.approx(joint, rel=1e-2)


def test_projected_velocities_leave_the_reactions_alone():
    """`project` is of what is stored: reactions of second order, velocities on the joints."""
    exact = flexmb.simulate(double_pendulum(), 0.4, method="radau", tolerance=1e-11, output_step=0.02)
    errors = [np.abs(flexmb.simulate(double_pendulum(), 0.4, step=h, output_step=0.02, project=True).multipliers - exact.multipliers).max() for h in (2e-3, 1e-3)]  # fmt: skip
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    plain, projected = (flexmb.simulate(double_pendulum(), 0.4, step=2e-3, project=p) for p in (False, True))
    np.testing.assert_array_equal(plain.q, projected.q)


def test_ringing_reactions_are_told_and_named():
    """Without numerical damping the joint equations are weakly unstable: a warning long before the end, and the cause in the error."""
    system = slider_crank()
    system.set_speed("bearing", 5.0)
    with (
        pytest.warns(RingingReactionsWarning, match="rho_inf"),
        pytest.raises(flexmb.ConvergenceError, match="rho_inf = 1"),
    ):
        flexmb.simulate(system, 10.0, step=5e-3, rho_inf=1.0)


def test_a_plain_pendulum_without_numerical_damping_swings_on():
    """It failed at t = 73: a body that turns about a fixed pivot has no multipliers that ring."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod, axis=(0, 0, 1))
    result = flexmb.simulate(system, 200.0, step=2e-2, rho_inf=1.0)
    assert np.abs(result.ledger.residual).max() < 3e-3


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_an_observer_who_is_turned_sees_the_same_adaptive_steps(coordinates):
    """The second body's joint moves along the world's axes: the size of its error is a length, not the largest of three components."""
    runs = []
    for angle in (0.0, 0.7):
        A = rotation_from_quaternion([np.cos(angle / 2), np.sin(angle / 2) * 0.6, 0.0, np.sin(angle / 2) * 0.8])
        system = flexmb.System(gravity=A @ [0, 0, -9.81])
        body = flexmb.rigid_body("top", mass=1.0, inertia=np.diag([0.02, 0.03, 0.02]), centre=(0, 0.25, 0))
        first = system.add(body, name="first", orientation=A, angular_velocity=A @ [0, 0, 3.0])
        start = A @ np.cross([0, 0, 3.0], [0, 0.5, 0])
        second = system.add(body, name="second", position=A @ [0, 0.5, 0], orientation=A, velocity=start)
        system.joint("spherical", "shoulder", system.ground.at((0, 0, 0)), first.at((0, 0, 0)))
        system.joint("spherical", "elbow", first.at((0, 0.5, 0)), second.at((0, 0, 0)))
        runs.append(flexmb.simulate(system, 1.0, tolerance=1e-5, output_step=0.1, coordinates=coordinates))
    there = runs[1].frame("second")[0] @ A
    assert runs[0].statistics.steps == runs[1].statistics.steps
    np.testing.assert_allclose(there, runs[0].frame("second")[0], rtol=0, atol=1e-7)

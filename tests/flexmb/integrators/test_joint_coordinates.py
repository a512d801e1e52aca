"""Joint coordinates: the kinematics along the tree by differences, and the same motion as in absolute coordinates."""

import numpy as np
import pytest
from mechanisms import double_pendulum, random_flexible_body, slider_crank

import flexmb
from flexmb.equations.initial_conditions import start
from flexmb.equations.spanning_tree import tree_of
from flexmb.errors import IntegratorError
from flexmb.integrators.generalised_alpha import GeneralisedAlphaRun, coefficients
from flexmb.kernels.calls import displace, place_bodies
from flexmb.kernels.joint_coordinates.tree import FREE
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import JOINTS

KINDS = [kind.name for kind in JOINTS.values() if kind.axes is not None]


def two_flexible_bodies(kind="spherical", second_order=True, turned=False):
    """A flexible body hinged to the ground and another one behind it; `turned`: the second joint lists its bodies the other way round."""
    rng = np.random.default_rng(11)
    system = flexmb.System(gravity=(0, -9.81, 0))
    one = system.add(random_flexible_body(rng, second_order=second_order, damping=0.3, name="one"))
    two = system.add(random_flexible_body(rng, second_order=second_order, damping=0.3, name="two"), position=(1, 0, 0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), one["start"], axis=(0, 0, 1))
    places = (two["start"], one["end"]) if turned else (one["end"], two["start"])
    axis = {} if kind == "spherical" else {"axis": (0, 1, 1)}
    system.joint(kind, "second", *places, **axis)
    return system


def free_loop():
    """A slider-crank that turns freely: a universal joint and a loop, so two of its joints are equations."""
    system = slider_crank()
    system.set_speed("bearing", 2.0)
    return system


def free_flight():
    """Two bodies tied by a spring, no joint at all."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    rng = np.random.default_rng(2)
    one = system.add(random_flexible_body(rng, name="one"), angular_velocity=(1.0, -2.0, 0.5))
    two = system.add(flexmb.uniform_rod("two", mass=1.0, length=1.0, radius=0.05), position=(2, 0, 0))
    system.spring_damper("spring", one["end"], two["start"], stiffness=20.0, damping=0.5)
    return system


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("turned", [False, True])
def test_velocities_and_accelerations_along_the_tree_are_derivatives(kind, turned):
    """Of the configuration moved by `s v + s^2 vdot / 2`; and the joint velocities are found again in the generalised ones."""
    mechanism = two_flexible_bodies(kind, turned=turned).build()
    run = GeneralisedAlphaRun(
        mechanism, start(mechanism, compiled(mechanism)), coefficients(0.9), step=1.0, tolerance=1.0, longest=1.0, coordinates="joint"
    )  # fmt: skip
    flat, tree, motion = run.flat, run.tree, run.motion
    rng, ny = np.random.default_rng(4), len(run.weight)
    pose, moved = motion.pose.copy(), np.empty_like(motion.pose)
    away, v, vdot = 0.2 * rng.normal(size=ny), rng.normal(size=ny), rng.normal(size=ny)
    q, w, wdot = np.empty_like(motion.q), np.zeros_like(motion.w), np.zeros_like(motion.w)
    place_bodies(flat, tree, pose, motion.q, away, v, vdot, motion.q, moved, q, w, wdot)
    h, places, speeds = 1e-4, [], []
    for s in (-h, h):
        there, speed, _ = np.empty_like(q), np.zeros_like(w), np.zeros_like(w)
        last = np.empty_like(moved)
        place_bodies(flat, tree, moved, q, s * v + 0.5 * s * s * vdot, v + s * vdot, vdot, q, last, there, speed, np.zeros_like(w))  # fmt: skip
        along = np.empty_like(q)
        displace(flat, q, s * w, along)
        places.append(there)
        speeds.append((speed, along))
    np.testing.assert_allclose((places[1] - places[0]) / (2 * h), (speeds[1][1] - speeds[0][1]) / (2 * h), atol=3e-6)
    np.testing.assert_allclose((speeds[1][0] - speeds[0][0]) / (2 * h), wdot, atol=3e-6)
    np.testing.assert_allclose(run._in_joints(q, w), v, atol=1e-12)


@pytest.mark.parametrize("make", [double_pendulum, two_flexible_bodies, free_loop, free_flight])
def test_the_motion_is_the_same_and_converges_with_order_two(make):
    """To that of Radau IIA, in positions, velocities and multipliers; also adaptively, and projected."""
    reference = flexmb.simulate(make(), 0.4, method="radau", tolerance=1e-10, output_step=0.4)

    def errors(**options):
        found = flexmb.simulate(make(), 0.4, output_step=0.4, coordinates="joint", **options)
        pairs = ((getattr(found, name)[-1], getattr(reference, name)[-1]) for name in ("q", "w", "multipliers"))
        return np.array([np.abs(a - b).max(initial=0.0) for a, b in pairs])

    coarse, fine = errors(step=2e-3), errors(step=1e-3)
    for c, f in zip(coarse, fine, strict=True):
        if c > 0:
            assert np.log2(c / f) == pytest.approx(2.0, abs=0.1)
    assert errors(step=1e-3, project=True)[0] < 3 * fine[0]
    assert errors(tolerance=1e-8)[0] < 1e-3


def test_joints_of_the_tree_stay_closed_at_any_step():
    """Ten times coarser than any accuracy would allow: to round-off."""
    found = flexmb.simulate(double_pendulum(), 2.0, step=2e-2, coordinates="joint")
    gap = np.linalg.norm(found.position("first.end"), axis=1) - 1.0
    np.testing.assert_allclose(gap, 0.0, atol=1e-14)
    axes = found.axes("second.end")[:, 2, :2]
    np.testing.assert_allclose(axes, 0.0, atol=1e-14)


def test_the_energy_ledger_closes_as_in_absolute_coordinates():
    makers = {"coordinates": ("absolute", "joint")}
    residuals = [
        np.abs(flexmb.simulate(two_flexible_bodies(), 0.5, step=1e-3, coordinates=c).ledger.residual).max()
        for c in makers["coordinates"]
    ]
    assert max(residuals) < 3e-5


def test_a_driven_joint_follows_its_driver():
    found = flexmb.simulate(slider_crank(speed=8.0), 0.5, step=1e-3, coordinates="joint")
    angle = np.unwrap(np.arctan2(found.axes("crank.end")[:, 1, 0], found.axes("crank.end")[:, 0, 0]))
    np.testing.assert_allclose(angle - angle[0], 8.0 * found.t, atol=1e-10)


def test_the_tree_hangs_bodies_on_groups_of_motions_only():
    mechanism = slider_crank().build()
    tree = tree_of(mechanism)
    assert tree.order.tolist() == [0, 2, 1]  # crank and slider on the ground, then the rod
    assert tree.child[1] != FREE
    assert np.diff(tree.axis_start).tolist() == [
        1,
        3,
        1,
    ]  # revolute, spherical, prismatic; the universal joint closes the loop
    free = tree_of(free_flight().build())
    assert free.parent.tolist() == [FREE, FREE]
    assert np.diff(free.axis_start).tolist() == [6, 6]


def test_joint_coordinates_are_for_generalised_alpha():
    with pytest.raises(
        IntegratorError, match=r"'radau' has no option 'coordinates'.*belongs to explicit, generalised-alpha, hht"
    ):
        flexmb.simulate(double_pendulum(), 1.0, method="radau", coordinates="joint")
    with pytest.raises(IntegratorError, match="'absolute' or 'joint'"):
        flexmb.simulate(double_pendulum(), 1.0, coordinates="natural")

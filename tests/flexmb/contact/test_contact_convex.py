"""Capsules, cylinders and boxes with each other, and tubes: depths against coal and brute force, stacks at rest."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import flexmb
from flexmb.contact import Bore, Box, Capsule, Cylinder, Plane, Sphere, power_law
from flexmb.errors import MechanismError
from flexmb.mechanism.contacts.element import bound_contact, points_of

MAKE = {
    "capsule": lambda rng: Capsule(rng.uniform(0.1, 0.5), rng.uniform(0.2, 1.5)),
    "cylinder": lambda rng: Cylinder(rng.uniform(0.1, 0.5), rng.uniform(0.2, 1.5)),
    "box": lambda rng: Box(*rng.uniform(0.3, 1.5, 3)),
}
PAIRS = [(a, b) for i, a in enumerate(MAKE) for b in list(MAKE)[i:]]


def points(a, b, d, S=None):
    law = bound_contact("touch", (a, b), power_law(1.0), 0.0, None, None, None)
    return points_of(law.parameters, np.asarray(d, float), np.eye(3) if S is None else S)


def turned(*vector):
    return Rotation.from_rotvec(vector).as_matrix()


def reach(shape, n):
    """The support function of a shape, by its definition."""
    match shape:
        case Capsule(r, length):
            return r + 0.5 * length * abs(n[2])
        case Cylinder(r, length):
            return r * np.hypot(n[0], n[1]) + 0.5 * length * abs(n[2])
        case Box(x, y, z):
            return 0.5 * np.abs(n) @ [x, y, z]


def brute(a, b, d, S):
    """The least overlap over directions: a grid over the sphere, refined."""

    def overlap(x):
        n = x / np.linalg.norm(x)
        return reach(a, n) + reach(b, S.T @ n) - n @ d

    k = np.arange(1500) + 0.5
    z, turn = 1 - k / 750, np.pi * (1 + 5**0.5) * k
    grid = np.column_stack([np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z])
    starts = grid[np.argsort([overlap(n) for n in grid])[:3]]
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 2000}
    return min(minimize(overlap, n, method="Nelder-Mead", options=options).fun for n in starts)


def drawn(kinds, seed):
    rng = np.random.default_rng(seed)
    a, b = (MAKE[kind](rng) for kind in kinds)
    u = rng.normal(size=3)
    return a, b, u / np.linalg.norm(u) * rng.uniform(0.5, 1.4), Rotation.random(random_state=rng).as_matrix()


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_the_gap_is_the_least_over_all_directions(kinds):
    for seed in range(4):
        a, b, d, S = drawn(kinds, seed)
        found = points(a, b, d, S)
        if found[:, 6].max() > 0:  # a face: the depth of its corners may be measured along its normal
            assert found[:, 6].max() <= brute(a, b, d, S) / 0.99 + 1e-6
        else:
            assert found[0, 6] == pytest.approx(brute(a, b, d, S), abs=1e-6)


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_distances_and_depths_are_those_of_coal(kinds):
    coal = pytest.importorskip("coal")
    compared = 0
    for seed in range(300):
        a, b, d, S = drawn(kinds, seed)
        made = [
            coal.Box(*x.dimensions)
            if isinstance(x, Box)
            else (coal.Capsule if isinstance(x, Capsule) else coal.Cylinder)(x.radius, x.length)
            for x in (a, b)
        ]
        request, answer = coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance = request.epa_tolerance = 1e-10
        request.gjk_max_iterations = request.epa_max_iterations = 1000
        exact = coal.distance(made[0], coal.Transform3s(), made[1], coal.Transform3s(S, d), request, answer)
        found = points(a, b, d, S)
        if exact > 0:
            assert -found[:, 6].max() == pytest.approx(exact, abs=1e-7)
            compared += 1
        elif exact > -0.05:
            assert found[:, 6].max() <= -exact / 0.99 + 1e-6
            compared += 1
    assert compared > 80


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_forces_of_the_points_are_the_slope_of_their_energy(kinds):
    """The deepest point: its normal is the gradient of its depth, and its arm that of a turn."""
    checked = 0
    for seed in range(30, 60):
        a, b, d, S = drawn(kinds, seed)
        here = points(a, b, d, S)
        if len(here) != 1:
            continue
        here, h = here[0], 1e-6
        slope = [(points(a, b, d + h * e, S)[0, 6] - points(a, b, d - h * e, S)[0, 6]) / (2 * h) for e in np.eye(3)]
        np.testing.assert_allclose(slope, -here[3:6], atol=1e-5)
        turn = [
            (points(a, b, d, turned(*h * e) @ S)[0, 6] - points(a, b, d, turned(*-h * e) @ S)[0, 6]) / (2 * h)
            for e in np.eye(3)
        ]
        np.testing.assert_allclose(turn, -np.cross(here[:3] - d, here[3:6]), atol=1e-5)
        checked += 1
    assert checked > 3


def test_a_box_on_a_box_touches_with_the_corners_of_the_common_area():
    found = points(Box(1, 1, 1), Box(1, 1, 1), (0.3, 0, 0.999))
    np.testing.assert_allclose(found[:, 6], 0.001)
    assert {(round(x, 9), round(y, 9)) for x, y in found[:, :2]} == {(0.5, 0.5), (-0.2, 0.5), (-0.2, -0.5), (0.5, -0.5)}
    twisted = points(Box(1, 1, 1), Box(1, 1, 1), (0.3, 0, 0.999), turned(0, 0, 0.4))
    assert len(twisted) == 6
    assert twisted[:, 7].sum() == pytest.approx(4.0)


def test_the_share_of_a_corner_is_continuous_where_it_splits():
    before, after = (points(Box(1, 1, 1), Box(1, 1, 1), (0, 0, 0.999), turned(0, 0, x)) for x in (0.0, 1e-9))
    for found in (before, after):
        assert found[:, 7].sum() == pytest.approx(4.0)
        assert (found[:, 7] * (found[:, :2] ** 2).sum(axis=1)).sum() == pytest.approx(2.0, abs=1e-6)


def test_parallel_capsules_touch_at_both_ends_and_crossed_ones_at_a_point():
    found = points(Capsule(0.1, 1), Capsule(0.1, 1), (0.199, 0, 0.3))
    np.testing.assert_allclose(np.sort(found[:, 2]), [-0.2, 0.5])
    np.testing.assert_allclose(found[:, 6], 0.001)
    crossed = points(Capsule(0.1, 1), Capsule(0.1, 1), (0.199, 0.1, 0.3), turned(np.pi / 2, 0, 0))
    np.testing.assert_allclose(crossed[:, :3], [[0.0995, 0, 0.3]], atol=1e-9)


@pytest.mark.parametrize("tilt", [0.0, 0.02, 0.05])
def test_a_beam_in_a_tube_touches_where_sampling_finds_it(tilt):
    """Points of the surface of a capsule against the wall, and of the rim of the mouth against the capsule."""
    tube, beam, S, d = Bore(0.5, 2.0), Capsule(0.45, 4.0), turned(0, tilt, 0), np.array([0.03, 0.01, 0.1])
    found = points(tube, beam, d, S)
    assert len(found) == 2
    turn = np.linspace(0, 2 * np.pi, 20001)
    depths = []
    for z in (-1.0, 1.0):
        rim = np.column_stack([0.5 * np.cos(turn), 0.5 * np.sin(turn), np.full_like(turn, z)]) - d
        along = np.clip(rim @ S[:, 2], -2.0, 2.0)
        depths.append((0.45 - np.linalg.norm(rim - along[:, None] * S[:, 2], axis=1)).max())
    np.testing.assert_allclose(np.sort(found[:, 6]), np.sort(depths), atol=2e-4)
    ball = points(tube, Sphere(0.45), (0.06, 0, 0.1))[0]
    np.testing.assert_allclose(ball, [0.505, 0, 0.1, -1, 0, 0, 0.01, 1], atol=1e-12)
    outside = points(tube, Sphere(0.45), (0.2, 0, 1.3))[0]
    assert outside[6] == pytest.approx(0.45 - np.hypot(0.3, 0.3))


@pytest.mark.parametrize("shape", [Box(0.4, 0.3, 0.2), Cylinder(0.15, 0.2), Capsule(0.1, 0.5)], ids=str)
def test_a_stack_of_three_stays(shape):
    system = flexmb.System(gravity=(0, 0, -9.81))
    law, lying = power_law(1e6, restitution=0.1, speed=0.01), isinstance(shape, Capsule)
    top = 0.0
    below = Plane().on(system.ground.at((0, 0, 0)))
    for k in range(2):
        height = 2 * shape.radius if lying else shape.dimensions[2] or shape.dimensions[1]
        body = system.add(
            flexmb.rigid_body(f"body {k}", mass=1.0, inertia=(0.01, 0.01, 0.01)),
            position=(0.02 * k, 0, top + 0.5 * height - 1e-4),
        )
        there = shape.on(body.at((0, 0, 0)), axis=(1, 0, 0)) if lying and k else shape.on(body.at((0, 0, 0)))
        if lying and not k:
            there = Box(0.4, 0.3, 2 * shape.radius).on(body.at((0, 0, 0)))
        system.contact(f"contact {k}", below, there, law=law, friction=0.3, slip_speed=1e-2)
        below, top = there, top + height
    result = flexmb.simulate(system, 0.2, step=1e-3)
    assert result.contact("contact 0").normal_force[-1] == pytest.approx(2 * 9.81, rel=1e-3)
    assert result.contact("contact 1").normal_force[-1] == pytest.approx(9.81, rel=1e-3)
    assert np.abs(result.position("body 1")[-1] - result.position("body 1")[0]).max() < 1e-3
    assert abs(result.ledger.residual).max() < 1e-4


def test_laws_with_a_memory_want_a_single_point():
    memory = power_law(1.0, restitution=0.5, speed=1e-3, each_impact=True)
    with pytest.raises(MechanismError, match="box and box has several points, and each_impact has the memory of one"):
        bound_contact("touch", (Box(1, 1, 1), Box(1, 1, 1)), memory, 0.0, None, None, None)

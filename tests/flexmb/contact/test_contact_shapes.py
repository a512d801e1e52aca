"""Contact points of simple shapes: against distances found by sampling, closed forms, and exchanged sides."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import flexmb
from flexmb.contact import Bore, Box, Capsule, Cylinder, Plane, Socket, Sphere, laws
from flexmb.errors import MechanismError
from flexmb.mechanism.contacts.element import bound_contact, points_of

SOLIDS = {
    "capsule": (Capsule(0.3, 1.0), lambda x: np.linalg.norm(x - np.array([0, 0, np.clip(x[2], -0.5, 0.5)])) - 0.3),
    "cylinder": (Cylinder(0.4, 1.2), lambda x: _product(np.array([np.hypot(x[0], x[1]) - 0.4, abs(x[2]) - 0.6]))),
    "box": (Box(0.6, 1.0, 1.4), lambda x: _product(np.abs(x) - np.array([0.3, 0.5, 0.7]))),
    "sphere": (Sphere(0.5), lambda x: np.linalg.norm(x) - 0.5),
    "socket": (Socket(2.0), lambda x: 2.0 - np.linalg.norm(x)),
}
"""Solids and their signed distances, from the formulas of implicit surfaces."""


def _product(q):
    return np.linalg.norm(np.maximum(q, 0)) + min(q.max(), 0.0)


def points(a, b, d, S=None):
    law = bound_contact("touch", (a, b), laws.power_law(1.0), 0.0, None, None, None)
    return points_of(law.parameters, np.asarray(d, float), np.eye(3) if S is None else S)


@pytest.mark.parametrize("solid", SOLIDS)
@pytest.mark.parametrize("seed", range(8))
def test_a_sphere_touches_a_solid_where_its_distance_says(solid, seed):
    """The gap is the signed distance of the centre less the radius, the normal its gradient, the point on the way."""
    shape, distance = SOLIDS[solid]
    rng = np.random.default_rng(seed)
    d, r = rng.uniform(-1.0, 1.0, 3) * (0.35 if seed % 2 else 1.2), 0.1
    found = points(shape, Sphere(r), d)[0]
    assert -found[6] == pytest.approx(distance(d) - r, abs=1e-12)
    step = 1e-7
    gradient = [(distance(d + step * e) - distance(d - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(found[3:6], gradient, atol=1e-6)
    assert np.linalg.norm(found[3:6]) == pytest.approx(1.0)
    np.testing.assert_allclose(found[:3], d - 0.5 * (distance(d) + r) * found[3:6], atol=1e-12)


@pytest.mark.parametrize("shape", [Sphere(0.3), Capsule(0.2, 0.8), Cylinder(0.3, 0.9), Box(0.4, 0.6, 0.8)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_lowest_point_above_a_plane_is_found(shape, seed):
    """Against the support function of the solid: the least height over its points, by brute force."""
    rng = np.random.default_rng(seed)
    S, d = Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), np.array([0.3, -0.2, 0.9])
    down = S.T @ np.array([0, 0, -1.0])
    match shape:
        case Sphere(r):
            reach = r
        case Capsule(r, length):
            reach = r + 0.5 * length * abs(down[2])
        case Cylinder(r, length):
            reach = r * np.hypot(down[0], down[1]) + 0.5 * length * abs(down[2])
        case Box(x, y, z):
            reach = 0.5 * np.abs(down) @ [x, y, z]
    found = points(Plane(), shape, d, S)
    assert -found[:, 6].max() == pytest.approx(d[2] - reach, abs=1e-12)
    np.testing.assert_array_equal(found[:, 3:6], np.tile([0, 0, 1.0], (len(found), 1)))


@pytest.mark.parametrize("seed", range(4))
def test_a_cylinder_touches_a_plane_with_points_of_its_rims(seed):
    """At quarter turns, one of them the lowest of its rim; a point is halfway between the rim and the plane."""
    rng = np.random.default_rng(seed)
    S, d = Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), np.array([0.3, -0.2, 0.9])
    found = points(Plane(), Cylinder(0.3, 0.9), d, S)
    rim = (found[:, :3] - 0.5 * found[:, 6:7] * found[:, 3:6] - d) @ S
    np.testing.assert_allclose(np.hypot(rim[:, 0], rim[:, 1]), 0.3, rtol=1e-12)
    np.testing.assert_allclose(np.abs(rim[:, 2]), 0.45, rtol=1e-12)
    for end in (rim[:4, :2], rim[4:, :2]):
        np.testing.assert_allclose(end[:2] + end[2:], 0.0, atol=1e-12)
        assert end[0] @ end[1] == pytest.approx(0.0, abs=1e-12)


def test_an_upright_cylinder_stands_on_four_points():
    found = points(Plane(), Cylinder(0.3, 1.0), (0, 0, 0.49))
    np.testing.assert_allclose(np.sort(found[:, 6])[-4:], 0.01, atol=1e-15)


def test_a_shaft_in_a_bore_touches_along_a_line():
    found = points(Bore(0.5, 2.0), Cylinder(0.45, 1.0), (0.06, 0, 0.1))
    np.testing.assert_allclose(found[:, 6], 0.01, atol=1e-15)
    np.testing.assert_allclose(found[:, 3:6], [[-1, 0, 0]] * 2, atol=1e-15)
    np.testing.assert_allclose(found[:, 2], 0.1 + np.array([0.5, -0.5]) / np.sqrt(3))
    assert found[:, 7].sum() == 1.0
    assert not len(points(Bore(0.5, 2.0), Cylinder(0.45, 1.0), (0.06, 0, 5.0)))


@pytest.mark.parametrize(
    "pair", [(Plane(), Box(0.4, 0.6, 0.8)), (Box(0.6, 1.0, 1.4), Sphere(0.2)), (Socket(2.0), Sphere(0.5))], ids=str
)
def test_the_other_order_is_the_same_contact(pair):
    rng = np.random.default_rng(1)
    S, d = Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), np.array([0.3, -0.2, 0.6])
    one, other = points(*pair, d, S), points(*pair[::-1], -S.T @ d, S.T)
    np.testing.assert_allclose(d + other[:, :3] @ S.T, one[:, :3], atol=1e-14)
    np.testing.assert_allclose(-other[:, 3:6] @ S.T, one[:, 3:6], atol=1e-14)
    np.testing.assert_allclose(other[:, 6], one[:, 6], atol=1e-14)


def test_spheres_of_one_centre_have_no_direction():
    with pytest.raises(MechanismError, match="direction of their contact is undefined"):
        points(Sphere(0.1), Sphere(0.2), (0, 0, 0))


@pytest.mark.parametrize("x", [(0.2, 0.4, 0.6000000000000001), (-1, -2, -3), (0, 0, 0)])
def test_axes_of_a_box_along_each_other_are_refused(x):
    """Also up to round-off, from which its attitude would follow."""
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 3))
    box = Box(1, 1, 1).on(body.at((0, 0, 0)), axis=(0.1, 0.2, 0.3), x_axis=x)
    floor = Plane().on(system.ground.at((0, 0, 0)))
    with pytest.raises(MechanismError, match="axis of the box needs a direction, and x_axis another one"):
        system.contact("touch", floor, box, law=flexmb.contact.power_law(1e4))


def test_shapes_that_cannot_be_are_refused():
    with pytest.raises(MechanismError, match="radius of a sphere must be a positive number; found -1"):
        Sphere(-1)
    with pytest.raises(MechanismError, match="no contact of a plane with a plane; expected one of: plane and sphere"):
        points(Plane(), Plane(), (0, 0, 2))
    assert flexmb.contact.Sphere is Sphere


def test_the_nearest_point_of_a_cylinder_is_the_nearest():
    """An optimiser over the solid, instead of a formula."""
    d = np.array([0.9, -0.3, 1.1])
    inside = {"type": "ineq", "fun": lambda x: np.array([0.4**2 - x[0] ** 2 - x[1] ** 2, 0.6**2 - x[2] ** 2])}
    best = minimize(lambda x: ((x - d) ** 2).sum(), [0.1, 0, 0], constraints=[inside], tol=1e-12)
    found = points(Cylinder(0.4, 1.2), Sphere(0.1), d)[0]
    assert -found[6] == pytest.approx(np.sqrt(best.fun) - 0.1, abs=1e-6)

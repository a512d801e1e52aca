"""Mechanisms with enlarged deformation: pins stay in their holes, drivers hold, and nothing moves without need."""

import warnings

import numpy as np
import pytest

import fem
import flexmb
import reduction
from flexmb.drawn import joined as module
from flexmb.drawn.joined import joined
from flexmb.drawn.surface import surfaces_of, world_points
from flexmb.mechanism.compile import compiled

FACTOR = 60.0


@pytest.fixture(scope="module")
def result():
    """A crank drives a flexible rod whose other end carries a slider on a guide, and a soft tail on the slider."""
    mesh = fem.structured_meshes.block("hexahedron", (0.3, 0.02, 0.02), (8, 1, 1))
    model = fem.Model(mesh, fem.Material.steel()).with_interfaces(big="x0", small="x1")
    rod = flexmb.flexible_body(model, reduction.craig_bampton(model, 3), name="rod")
    system = flexmb.System(gravity=(0, 0, -9.81), name="slider-crank")
    crank = system.add(flexmb.rigid_body("crank", mass=1.0, inertia=(1e-3,) * 3, points={"pin": (0.1, 0, 0)}))
    rod = system.add(rod, position=(0.1, -0.01, -0.01))
    slider = system.add(flexmb.rigid_body("slider", mass=0.5, inertia=(1e-4,) * 3), position=(0.4, 0, 0))
    tail = system.add(flexmb.uniform_rod("tail", mass=0.1, length=0.1), position=(0.4, 0, 0))
    system.revolute("bearing", system.ground.at((0, 0, 0)), crank, axis=(0, 0, 1))
    system.revolute("crank pin", crank["pin"], rod["big"], axis=(0, 0, 1))
    system.joint("point-on-line", "wrist pin", slider, rod["small"], axis=(0, 0, 1))
    system.prismatic("guide", system.ground.at((0.4, 0, 0)), slider, axis=(1, 0, 0))
    system.revolute("tail", slider, tail["start"], axis=(0, 1, 0), at=(0.4, 0, 0))
    system.drive("bearing", flexmb.time_functions.constant_speed(200.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return flexmb.simulate(system, 0.03, step=2e-5, output_step=1e-3)


def holes(result, q, magnification):
    """Where the holes of the rod are drawn: the means of the nodes at both ends."""
    surface = surfaces_of(result.mechanism)[1]
    points = world_points(result.mechanism, 1, surface, q, magnification).astype(float)
    x = surface.points[:, 0]
    return [points[np.isclose(x, end)].mean(axis=0) for end in (x.min(), x.max())]


def frame(result, q, body):
    start = int(compiled(result.mechanism).q_start[body])
    return q[start : start + 3], flexmb.lie.rotation_from_quaternion(q[start + 3 : start + 7])


def test_pins_stay_in_their_holes(result):
    apart = []
    for q in result.q[::3]:
        shown = joined(result.mechanism, q, FACTOR)
        (r, R), (s, _) = frame(result, shown, 0), frame(result, shown, 2)
        big, small = holes(result, shown, FACTOR)
        assert np.linalg.norm(big - (r + R @ [0.1, 0, 0])) < 2e-4
        assert np.linalg.norm((small - s)[:2]) < 2e-4
        before = holes(result, q, FACTOR)[1] - frame(result, q, 2)[0]
        apart.append(np.linalg.norm(before[:2]))
    assert max(apart) > 3e-3, "without it the pin leaves its hole"


def test_drivers_guides_and_elastic_coordinates_stay(result):
    flat = compiled(result.mechanism)
    for q in result.q[::5]:
        shown = joined(result.mechanism, q, FACTOR)
        for a, b in zip(frame(result, q, 0), frame(result, shown, 0), strict=True):
            np.testing.assert_allclose(a, b, atol=2e-6)
        (s, R), (t, S) = frame(result, q, 2), frame(result, shown, 2)
        np.testing.assert_allclose((t - s)[1:], 0, atol=2e-6)
        np.testing.assert_allclose(R, S, atol=1e-5)
        k = int(flat.q_start[1]) + 7
        np.testing.assert_array_equal(q[k : k + flat.modes[1]], shown[k : k + flat.modes[1]])
        assert np.linalg.norm(frame(result, shown, 3)[0] - t) < 2e-6, "the tail follows the slider"


def test_without_enlarging_nothing_moves(result):
    q = result.q[7]
    assert joined(result.mechanism, q, 1.0) is q
    rigid = result.mechanism.rigid()
    assert joined(rigid, rigid.initial.q, 100.0) is rigid.initial.q
    near = joined(result.mechanism, result.q[7], 1.0 + 1e-9)
    np.testing.assert_allclose(near, result.q[7], atol=1e-9)


def test_the_motion_is_continuous_in_the_factor(result):
    factors = np.linspace(1, FACTOR, 20)
    paths = np.array([frame(result, joined(result.mechanism, result.q[-1], f), 2)[0] for f in factors])
    steps = np.linalg.norm(np.diff(paths, axis=0), axis=1)
    assert steps.max() < 4 * steps.mean() + 1e-9


def test_a_chain_that_hangs_on_nothing_stays_in_the_middle():
    """Without joints to the ground, the least motion of the bodies leaves their mean where it was."""
    mesh = fem.structured_meshes.block("hexahedron", (0.3, 0.02, 0.02), (4, 1, 1))
    model = fem.Model(mesh, fem.Material.steel()).with_interfaces(a="x0", b="x1")
    system = flexmb.System(name="pair")
    bars = [
        system.add(flexmb.flexible_body(model, reduction.craig_bampton(model, 2), name=name), position=(x, 0, 0))
        for name, x in (("left", 0.0), ("right", 0.3))
    ]
    system.fixed("weld", bars[0]["b"], bars[1]["a"])
    mechanism = system.build()
    flat, q = compiled(mechanism), np.array(mechanism.initial.q)
    for k in range(2):
        q[flat.q_start[k] + 7] = 1e-5 / np.abs(mechanism.bodies[0].Psi[:, 0]).max()
    shown = joined(mechanism, q, 300.0)
    moved = [shown[flat.q_start[k] : flat.q_start[k] + 3] - q[flat.q_start[k] : flat.q_start[k] + 3] for k in range(2)]
    assert np.linalg.norm(moved[0]) > 1e-4
    surfaces = surfaces_of(mechanism)
    ends = []
    for k, x in ((0, 0.3), (1, 0.0)):
        points = world_points(mechanism, k, surfaces[k], shown, 300.0)
        ends.append(points[np.isclose(surfaces[k].points[:, 0], x)].mean(axis=0))
    assert np.linalg.norm(ends[0] - ends[1]) < 2e-5


def test_gaps_that_nothing_closes_are_shared():
    """A bar between two walls that is drawn longer: both ends stand out by the same."""
    mesh = fem.structured_meshes.block("hexahedron", (0.3, 0.02, 0.02), (6, 1, 1))
    model = fem.Model(mesh, fem.Material.steel()).with_interfaces(a="x0", b="x1")
    body = flexmb.flexible_body(model, reduction.craig_bampton(model, 2), name="bar")
    system = flexmb.System(name="walls")
    bar = system.add(body)
    system.fixed("left", system.ground, bar["a"])
    system.fixed("right", system.ground, bar["b"])
    mechanism = system.build()
    ends = np.array([body.interfaces[name].rows for name in "ab"])
    longer = np.linalg.pinv(ends.reshape(12, -1)) @ np.array([-1.0, *[0] * 5, 1.0, *[0] * 5]) * 1e-5
    q = np.concatenate([mechanism.initial.q[:7], longer])
    shown = joined(mechanism, q, 200.0)
    apart = [body.interfaces[name].motion(longer)[0] for name in "ab"]
    assert apart[1] == pytest.approx(-apart[0], rel=1e-3)
    assert apart[1] > 5e-6
    np.testing.assert_allclose(shown[:3], q[:3], atol=2e-5 * 200 * 1e-2)
    assert abs(shown[3]) == pytest.approx(1.0, abs=1e-6)


def test_derivatives_of_the_gaps(result):
    mechanism, q, h = result.mechanism, result.q[-1], 1e-6
    rows, length = module._rows(mechanism), mechanism.length
    of = np.array([marker.body for marker in mechanism.markers])
    centres = np.array([body.centre for body in mechanism.bodies])
    turns = np.array([frame(result, q, k)[1] for k in range(4)])
    middles = np.array([frame(result, q, k)[0] for k in range(4)]) + np.einsum("kab,kb->ka", turns, centres)
    local = module._drawn(mechanism, q, FACTOR)

    def values(step):
        there = np.array([flexmb.lie.rotation_exp(x[3:]) @ R for x, R in zip(step, turns, strict=True)])
        world = module._in_world(of, middles + length * step[:, :3], there, centres, *local)
        return module._values(rows, *world, length), world

    _, (points, axes) = values(np.zeros((4, 6)))
    found = module._jacobian(rows, of, points, axes, middles, length)
    for body in range(4):
        for k in range(6):
            step = np.zeros((4, 6))
            step[body, k] = h
            slope = (values(step)[0] - values(-step)[0]) / (2 * h)
            np.testing.assert_allclose(found[:, body, k], slope, atol=1e-6)


def test_interfaces_are_drawn_turned_by_the_angle_of_their_lines(result):
    """Points x of a face are drawn at (1 + s theta) x, which turns a line across theta by the angle atan(s theta)."""
    mechanism, q, factor, turned = result.mechanism, result.q[-1], 600.0, 0
    _, axes = module._drawn(mechanism, q, factor)
    for k, marker in enumerate(mechanism.markers):
        body = mechanism.bodies[marker.body]
        if marker.interface is None or not body.modes:
            continue
        start = compiled(mechanism).q_start[marker.body] + 7
        theta = factor * body.interfaces[marker.interface].motion(q[start : start + body.modes])[3:]
        cosine = (np.trace(axes[k] @ marker.axes.T) - 1) / 2
        assert np.arccos(cosine) == pytest.approx(np.arctan(np.linalg.norm(theta)), rel=1e-6)
        turned += np.linalg.norm(theta) > 0.1
    assert turned

"""Lines of rods, springs, cables, relations and curves in pictures."""

import numpy as np
import pytest
from mechanisms import random_flexible_body

import flexmb
from flexmb.drawn.links import link_points, links_of
from flexmb.spatial.lie import rotation_from_quaternion


@pytest.fixture(scope="module")
def system():
    system = flexmb.System(gravity=(0, 0, -9.81))
    load = system.add(flexmb.rigid_body("load", mass=3.0, inertia=(1, 1, 1)), position=(1.0, 0, -1.0))
    one, other = system.ground.at((0, 0, 0)), system.ground.at((2.0, 0, 0))
    system.cable("cable", [one, load.at((0, 0, 0.1)), other], stiffness=1e4)
    system.spring_damper("spring", one, load.at((0, 0, 0)), stiffness=10.0, length=1.0)
    system.distance("rod", other, load.at((0.1, 0, 0)))
    system.bushing("bushing", system.ground.at((1.0, 0, -1.0)), load.at((0, 0, 0)), stiffness=[1.0] * 6)
    for name, x in (("first", 3.0), ("second", 4.0)):
        wheel = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(1, 1, 1)), position=(x, 0, 0))
        system.revolute(f"{name} shaft", system.ground, wheel, axis=(0, 1, 0), at=(x, 0, 0))
    system.gear("gear", "first shaft", "second shaft", ratio=-0.5)
    circle = np.linspace(0, 2 * np.pi, 33)
    cam = flexmb.curves.through(0.5 * np.column_stack([np.cos(circle), np.sin(circle)]))
    pin = system.add(flexmb.rigid_body("pin", mass=1.0, inertia=(1, 1, 1)), position=(4.5, 0, 0))
    system.point_on_curve("slot", wheel.at((0, 0, 0)), pin.at((0, 0, 0)), cam, normal=(0, 1, 0), x=(1, 0, 0))
    return system.build()


def test_lines_run_through_their_places_and_move_with_the_bodies(system):
    links = links_of(system)
    sorts = {link.name: link.sort for link in links}
    assert sorts == {"rod": "rod", "gear": "relation", "slot": "curve", "cable": "cable", "spring": "spring", "bushing": "element"}  # fmt: skip
    lines = dict(zip(sorts, link_points(system, links, system.initial.q), strict=True))
    assert lines["cable"] == pytest.approx(np.array([[0, 0, 0], [1, 0, -0.9], [2, 0, 0]]))
    assert lines["rod"] == pytest.approx(np.array([[2, 0, 0], [1.1, 0, -1]]))
    assert lines["gear"] == pytest.approx(np.array([[3, 0, 0], [4, 0, 0]]))
    assert lines["spring"][[0, -1]] == pytest.approx(np.array([[0, 0, 0], [1, 0, -1]]))
    away = lines["spring"] - np.outer(lines["spring"] @ [1, 0, -1] / 2, [1, 0, -1])
    assert np.linalg.norm(away, axis=1).max() == pytest.approx(links[4].radius)
    assert np.hypot(*(lines["slot"] - [4, 0, 0])[:, [0, 2]].T) == pytest.approx(0.5, abs=1e-6)
    q = system.initial.q.copy()
    q[:3] += [0.0, 0.0, 0.5]
    moved = dict(zip(sorts, link_points(system, links, q), strict=True))
    assert moved["cable"][1] == pytest.approx([1, 0, -0.4])
    assert all(len(moved[name]) == len(lines[name]) for name in lines)


def test_a_picture_contains_them(system, tmp_path):
    pyvista = pytest.importorskip("pyvista")
    from flexmb.plots.scene import MovingScene

    plotter = pyvista.Plotter(off_screen=True, window_size=(320, 180))
    scene = MovingScene(plotter, system, system.initial.q)
    q = system.initial.q.copy()
    q[:3] += [0.0, 0.0, 0.5]
    scene.move(q)
    assert {"spring spring", "rod rod", "curve slot"} <= set(plotter.actors)
    assert np.asarray(scene.wires[3].points)[1] == pytest.approx([1, 0, -0.4], abs=1e-6)
    plotter.close()


def test_lines_follow_the_enlarged_deformation_of_their_bodies():
    system = flexmb.System()
    body = random_flexible_body(np.random.default_rng(4), modes=3)
    name = next(iter(body.interfaces))
    beam = system.add(body, position=(0.2, 0.1, 0.0), orientation=(0.3, 0.2, -0.4))
    system.spring_damper("spring", system.ground.at((-1.0, 0, 0)), beam[name], stiffness=1.0)
    mechanism = system.build()
    q, eta = mechanism.initial.q.copy(), np.array([1e-3, -2e-3, 3e-3])
    q[7:] = eta
    moved = rotation_from_quaternion(q[3:7]) @ body.interfaces[name].motion(eta)[:3]
    ends = [link_points(mechanism, links_of(mechanism), q, factor)[0][-1] for factor in (0.0, 1.0, 30.0)]
    assert np.linalg.norm(moved) > 1e-5
    np.testing.assert_allclose(ends[1] - ends[0], moved, rtol=1e-9)
    np.testing.assert_allclose(ends[2] - ends[0], 30.0 * moved, rtol=1e-9)

"""Drawn shapes of contacts: volumes of their triangles, places, walls, bodies with own shapes."""

import numpy as np
import pytest

import fem
import flexmb
import reduction
from flexmb.bodies import solids
from flexmb.contact import Bore, Box, Capsule, Cylinder, Plane, Socket, Sphere, power_law
from flexmb.drawn.contact_shapes import WALL, drawn_shapes, triangles_of
from flexmb.drawn.surface import ground_shape, surfaces_of
from flexmb.files.results.gltf_file import FLOOR_COLOUR, GROUND_COLOUR, ground_colour
from flexmb.kernels.base.data import GROUND

THICK = (1 + WALL) ** 2 - 1
VOLUMES = [
    (Box(0.2, 0.3, 0.4), 0.024),
    (Sphere(0.5), np.pi / 6),
    (Capsule(0.5, 2.0), np.pi / 6 + np.pi / 2),
    (Cylinder(0.5, 2.0), np.pi / 2),
    (Bore(0.5, 2.0), np.pi / 2 * THICK),
    (Socket(0.5), np.pi / 12 * ((1 + WALL) ** 3 - 1)),
]


@pytest.mark.parametrize(("shape", "volume"), VOLUMES, ids=lambda x: getattr(x, "title", ""))
def test_triangles_enclose_the_volume_of_the_shape(shape, volume):
    points, triangles = triangles_of(shape)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    assert np.einsum("ti,ti->", a, np.cross(b, c)) / 6 == pytest.approx(volume, rel=0.05)
    assert np.linalg.norm(points, axis=1).max() <= shape.reach * (1 + WALL) + 1e-12


def test_bodies_without_a_shape_show_those_of_their_contacts():
    system = flexmb.System(gravity=(0, 0, -9.81))
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 1))
    own = flexmb.rigid_body("own", mass=1.0, inertia=(1, 1, 1), mesh=solids.box((1, 1, 1)))
    other = system.add(own, position=(3, 0, 1))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    law = power_law(1e4)
    there = Sphere(0.5).on(ball.at((0.1, 0, 0)))
    system.contact("one", floor, there, law=law)
    system.contact_group("two", [floor, there, Sphere(0.5).on(other.at((0, 0, 0)))], law=law)
    system.contact("exact", floor, Sphere(0.1).on(ball.at((0, 0.4, 0))), friction=0.1)
    mechanism = system.build()
    found = drawn_shapes(mechanism)
    assert {body: len(parts) for body, parts in found.items()} == {GROUND: 1, 0: 2, 1: 1}  # each shape once
    surfaces = surfaces_of(mechanism)
    np.testing.assert_allclose(surfaces[0].points[:, 0].max(), 0.6, rtol=0.02)
    np.testing.assert_allclose(np.abs(surfaces[1].points).max(), 0.5)  # its own box
    points, _ = ground_shape(mechanism)
    assert points[:, 2].max() == 0.0
    assert points[:, 0].max() > 3.0  # the plate is below all bodies


def test_the_plate_of_a_plane_reaches_below_the_whole_of_a_flexible_body():
    """The frame of the bar is at its end."""
    part = fem.Model(fem.structured_meshes.block("hexahedron", (2.0, 0.1, 0.1), (8, 2, 2)), fem.Material.steel())
    part = part.with_surfaces(below="z0")
    system = flexmb.System(gravity=(0, 0, -9.81))
    bar = system.add(
        flexmb.flexible_body(part, reduction.contact_basis(part, modes=4), name="bar"),
        position=(1.0, 0, 0.1),
        orientation=(0, 0, 0.5 * np.pi),
    )
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), bar.surface("below"))
    points, _ = ground_shape(system.build())
    assert points[:, 1].max() > 2.0  # the bar lies along y, from (1, 0) to (1, 2)
    assert points[:, 0].max() > 1.0
    assert points[:, 2].max() == 0.0


def corner(*planes):
    """A ball between planes, given by a point and a normal each."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(0.7, 2, 0.6))
    for k, (point, normal) in enumerate(planes):
        plane = Plane().on(system.ground.at(point), axis=normal)
        system.contact(f"plane {k}", plane, Sphere(0.5).on(ball.at((0, 0, 0))), law=power_law(1e4))
    return system.build()


def area_seen(points, triangles, normal):
    """The area of those triangles that face along a normal."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    across = 0.5 * np.cross(b - a, c - a) @ normal
    return across[across > 0].sum()


@pytest.mark.parametrize("normal", [(0, 1, 0), (1, 0, 0), (0.6, 0.8, 0), (0, 0.8, -0.6)])
def test_a_wall_is_a_lattice_that_is_seen_through(normal):
    """It was not drawn at all, not even beside a floor. A plate would hide what is behind."""
    points, triangles = ground_shape(corner(((0, 0, 0.2), normal)))
    height = (points - [0, 0, 0.2]) @ normal
    assert height.max() == pytest.approx(0.0, abs=1e-12)  # behind the plane
    assert height.min() > -0.05
    up = np.array([0, 0, 1.0]) - normal[2] * np.array(normal)
    along = np.array([np.cross(up, normal), up]) / np.linalg.norm(up)
    low, high = ((points @ along.T).min(axis=0), (points @ along.T).max(axis=0))
    at = along @ [0.7, 2, 0.6]
    assert (low < at - 0.5).all()  # the ball is in front of it
    assert (high > at + 0.5).all()
    bars = area_seen(points, triangles, np.array(normal))
    assert 0.1 < bars / np.prod(high - low) < 0.4  # bars overlap where they cross


def test_a_floor_and_a_wall_are_drawn_together():
    """The wall ends at the floor."""
    floor, wall = ((0, 0, 0.1), (0, 0, 1)), ((0, 0.5, 0), (0, 1, 0))
    alone, both = ground_shape(corner(floor))[0], ground_shape(corner(floor, wall))[0]
    np.testing.assert_allclose(both[: len(alone)], alone)
    added = both[len(alone) :]
    assert added[:, 1].max() == pytest.approx(0.5)
    assert added[:, 2].min() == pytest.approx(0.1)
    assert added[:, 2].max() > 1.1
    below = ground_shape(corner(floor, ((0, 0.5, 0), (0, 0.8, -0.6))))[0][len(alone) :]  # leans over the floor
    assert below[:, 2].min() == pytest.approx(0.1)


def test_the_ground_that_bodies_touch_is_light_enough_for_its_hills():
    """In the dark colour of axles and rails, slopes of a terrain could not be told from its plains."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 1))
    system.spherical("held", system.ground.at((0, 0, 1)), ball.at((0, 0, 0)))
    assert ground_colour(system.build()) == GROUND_COLOUR
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), Sphere(0.5).on(ball.at((0, 0, 0))))
    assert ground_colour(system.build()) == FLOOR_COLOUR

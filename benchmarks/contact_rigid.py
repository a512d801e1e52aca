"""Steps with exact contacts: a box that rests on a plane, and 27 spheres that roll on one, with and without all pairs of spheres. Steps with continuous contacts of convex shapes and meshes."""

from typing import Any

import numpy as np

from benchmarks.growth import cost, costs
from benchmarks.row import Row

COMMAND = "python -m benchmarks contact-rigid"
BOX_US, SPHERES_US, PAIR_US = 8.0, 60.0, 0.2
"""Goals in CPU microseconds a step. Measured on two shared cores: MuJoCo 3.4 (relaxed) 8 for the box and 26 for the spheres, exudyn 130 for the spheres."""
BALLS, RADIUS = 27, 0.1
DIVISIONS = 5


def box() -> Any:
    """A box at rest on a plane: four corners, twice as many forces as needed."""
    import flexmb
    from flexmb.contact import Box, Plane

    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(flexmb.rigid_body("box", mass=2.0, inertia=(0.1, 0.12, 0.15)), position=(0, 0, 0.1))
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    system.contact("floor", floor, Box(0.4, 0.3, 0.2).on(body.at((0, 0, 0))), friction=0.3)
    return system.build()


def spheres(pairs: bool) -> Any:
    """Spheres that roll on a plane beside each other; with `pairs`, contacts between all of them."""
    import flexmb
    from flexmb.contact import Plane, Sphere

    system = flexmb.System(gravity=(0, 0, -9.81))
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    shapes = []
    for k in range(BALLS):
        ball = flexmb.rigid_body(f"ball {k}", mass=1.0, inertia=(0.004,) * 3)
        at = (3 * RADIUS * (k % 6), 3 * RADIUS * (k // 6), RADIUS)
        body = system.add(ball, position=at, velocity=(0.1, 0, 0), angular_velocity=(0, 1.0, 0))
        shapes.append(Sphere(RADIUS).on(body.at((0, 0, 0))))
        system.contact(f"floor {k}", floor, shapes[k], friction=0.3)
    for k in range(BALLS if pairs else 0):
        for j in range(k):
            system.contact(f"{j} and {k}", shapes[j], shapes[k], friction=0.3)
    return system.build()


def brick(meshes: bool) -> Any:
    """A brick that slides on a slab, both boxes or boxes of triangles, with a continuous law."""
    import flexmb
    from flexmb import solids
    from flexmb.contact import Box, mesh, power_law

    system = flexmb.System(gravity=(0, 0, -9.81))
    own = flexmb.rigid_body("brick", mass=2.0, inertia=(0.1, 0.12, 0.15))
    body = system.add(own, position=(0, 0, 0.1), velocity=(1, 0, 0))
    slab, part = (mesh(solids.box(x)) if meshes else Box(*x) for x in ((50.0, 1.0, 0.2), (0.4, 0.3, 0.2)))
    ground, shape = slab.on(system.ground.at((0, 0, -0.1))), part.on(body.at((0, 0, 0)))
    system.contact("slab", ground, shape, law=power_law(1e7), friction=0.3, slip_speed=0.05)
    return system.build()


def marble(meshes: bool) -> Any:
    """A sphere that rolls on a slab, a box or 12,288 triangles, with a continuous law."""
    import flexmb
    from flexmb import solids
    from flexmb.contact import Box, Sphere, mesh, power_law

    system = flexmb.System(gravity=(0, 0, -9.81))
    own = flexmb.rigid_body("marble", mass=1.0, inertia=(0.004,) * 3)
    body = system.add(own, position=(0, 0, 0.1), velocity=(1, 0, 0), angular_velocity=(0, 10, 0))
    edges = (50.0, 1.0, 0.2)
    fine = solids.box(edges)
    for _ in range(DIVISIONS):
        fine = divided(fine)
    ground = (mesh(fine) if meshes else Box(*edges)).on(system.ground.at((0, 0, -0.1)))
    shape = Sphere(0.1).on(body.at((0, 0, 0)))
    system.contact("slab", ground, shape, law=power_law(1e7), friction=0.3, slip_speed=0.05)
    return system.build()


def divided(shape: Any) -> Any:
    """A shape with each triangle divided into four."""
    from flexmb import Shape

    p, t = shape.points, shape.triangles
    middle = 0.5 * (p[t] + p[np.roll(t, -1, axis=1)])
    n = len(p) + np.arange(3 * len(t)).reshape(-1, 3)
    corners = [np.column_stack([t[:, k], n[:, k], n[:, (k + 2) % 3]]) for k in range(3)]
    return Shape(np.concatenate([p, middle.reshape(-1, 3)]), np.concatenate([*corners, n]))


def run() -> list[Row]:
    """CPU time a step against the goals."""
    resting = cost(box(), steps=20000, step=1e-3)[0]
    alone, whole = (spent for spent, _ in costs([spheres(pairs=False), spheres(pairs=True)], steps=4000, step=1e-3))
    pair = (whole - alone) / (BALLS * (BALLS - 1) / 2)
    unit = "us CPU a step"
    bricks, marbles = (
        [spent for spent, _ in costs([make(True), make(False)], steps=20000, step=1e-4, rounds=5)]
        for make in (brick, marble)
    )
    return [
        Row("contact-rigid: a box resting on a plane / goal", resting, BOX_US, 1.0, unit, COMMAND),
        Row("contact-rigid: 27 spheres rolling on a plane / goal", alone, SPHERES_US, 1.0, unit, COMMAND),
        Row("contact-rigid: 27 spheres on a plane, all pairs / goal", whole, SPHERES_US, 1.0, unit, COMMAND),
        Row("contact-rigid: a pair of spheres that is apart / goal", float(np.maximum(pair, 0.0)), PAIR_US, 1.0, unit, COMMAND),
        Row("contact-rigid: a brick of triangles sliding on triangles / boxes", *bricks, 2.0, unit, COMMAND),
        Row("contact-rigid: a marble rolling on 12,288 triangles / a box", *marbles, 2.0, unit, COMMAND),
    ]  # fmt: skip

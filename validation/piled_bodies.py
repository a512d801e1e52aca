"""Bodies that lie and slide on each other: three logs in a pile, two hundred balls in a box, bricks on a slope of boxes, of triangles and of planes, and two stones that collide.

Two logs lie side by side on the ground, and a third one on both. Moments about the axis of a lower log require the same friction above and below, so that the force between two logs is inclined by 15 degrees against their normal: the pile
stands with a friction of at least tan 15 deg = 0.268 between the logs (a third of it on the ground), and every contact of the upper log then carries half of its weight, with a horizontal part of tan 15 deg of that. The contacts are those of a
group of cylinders and a plane. Friction is smooth, so that the logs creep more slowly than its slip speed where they should rest.

Two hundred balls fall into a box, with friction of sliding and rolling, and come to rest: their kinetic energy falls to a hundred thousandth of the heat, and in a further interval every ball creeps more slowly than the slip speed, by less than a
tenth of its radius.

A brick on a slope has the acceleration g (sin a - mu cos a), whether its contact is one of boxes, of convex meshes, of a box and a mesh, or of a mesh and a plane. Two stones, hulls of random points, collide obliquely: the sum of their momenta stays.
"""

import numpy as np

import flexmb
from flexmb import solids
from flexmb.contact import Box, Cylinder, Plane, Sphere, TriangleMesh, TurningFriction, hull, mesh, power_law
from flexmb.results.result import Result
from validation.plot import Plot
from validation.row import Row

CASE = "piled-bodies"
G, RADIUS, LENGTH, MASS = 9.81, 0.1, 0.5, 2.0
SLIP_SPEED, DURATION, STEP = 2e-3, 0.25, 2e-4
BALLS, BALL, SIDE, CREEP, SETTLED = 200, 0.05, 0.5, 0.02, 0.6
"""Number and radius of the balls, side of their box, their slip speed, and the time from which they are to rest."""
OVERLAP = 2e-3
"""Bound of the errors of forces: the logs overlap by 1.2e-3 of their radius, which changes the angles of the pile."""
THRESHOLD = float(np.tan(np.pi / 12))
ANGLE, FRICTION = 0.5, 0.2
BRICK, SLAB = (0.2, 0.1, 0.06), (3.0, 0.4, 0.1)


def logs(friction: float) -> Result:
    """Three logs along y, with one coefficient of friction."""
    system = flexmb.System(gravity=(0, 0, -G), name="three logs")
    across, along = MASS * (3 * RADIUS**2 + LENGTH**2) / 12, 0.5 * MASS * RADIUS**2
    shapes = [Plane().on(system.ground.at((0, 0, 0)))]
    places = {"left": (-RADIUS, RADIUS), "right": (RADIUS, RADIUS), "top": (0.0, (1 + np.sqrt(3)) * RADIUS)}
    for name, (x, z) in places.items():
        log = flexmb.rigid_body(name, mass=MASS, inertia=(across, along, across))
        body = system.add(log, position=((1 + 1e-5) * x, 0, z))
        shapes.append(Cylinder(RADIUS, LENGTH).on(body.at((0, 0, 0)), axis=(0, 1, 0)))
    law = power_law(1e7, restitution=0.1, speed=0.01)
    system.contact_group("pile", shapes, law=law, friction=friction, slip_speed=SLIP_SPEED)
    return flexmb.simulate(system, DURATION, method="explicit", tolerance=1e-9, output_step=0.01)


def balls() -> tuple[Result, np.ndarray]:
    """Two hundred balls that fall into a box, and their speeds (200, nt)."""
    rng, system = np.random.default_rng(0), flexmb.System(gravity=(0, 0, -G), name="two hundred balls")
    half = 0.5 * SIDE
    walls: list[tuple[tuple[float, ...], tuple[float, ...]]]
    walls = [((0, 0, 0), (0, 0, 1)), ((-half, 0, 0), (1, 0, 0)), ((half, 0, 0), (-1, 0, 0))]
    walls += [((0, -half, 0), (0, 1, 0)), ((0, half, 0), (0, -1, 0))]
    shapes = [Plane().on(system.ground.at(point), axis=axis) for point, axis in walls]
    for k in range(BALLS):
        layer, shift = k // 16, (0.25, -0.25)[k // 16 % 2 == 0]
        x, y = (np.array([k % 4, k // 4 % 4]) - 1.5 + shift) * 2.2 * BALL + rng.uniform(-0.08, 0.08, 2) * BALL
        ball = flexmb.rigid_body(f"ball {k}", mass=1.0, inertia=(0.4 * BALL**2,) * 3)
        body = system.add(ball, position=(x, y, (1.1 + 1.6 * layer) * BALL))
        shapes.append(Sphere(BALL).on(body.at((0, 0, 0))))
    turning = TurningFriction(rolling=0.1 * BALL, spinning=0.04 * BALL, speed=CREEP / BALL)
    law = power_law(2e5, restitution=0.3, speed=0.5)
    system.contact_group("pile", shapes, law=law, friction=0.3, slip_speed=CREEP, turning_friction=turning)
    result = flexmb.simulate(system, 1.0, method="explicit", tolerance=1e-5, max_step=0.01, output_step=0.05)
    speeds = np.array([np.linalg.norm(result.velocity(f"ball {k}"), axis=1) for k in range(BALLS)])
    return result, speeds


def sliding(kind: str) -> float:
    """The acceleration of a brick down a slope, from its speed over the second half of its motion."""
    turn = (0, ANGLE, 0)
    down, up = np.array([np.cos(ANGLE), 0, -np.sin(ANGLE)]), np.array([np.sin(ANGLE), 0, np.cos(ANGLE)])
    system = flexmb.System(gravity=(0, 0, -G), name=f"brick on a slope, {kind}")
    brick = system.add(
        flexmb.rigid_body("brick", mass=1.0, inertia=(1e-3, 4e-3, 4e-3)),
        position=0.5 * BRICK[2] * up,
        orientation=turn,
        velocity=0.1 * down,
    )
    own = Box(*BRICK) if kind in ("boxes", "box on mesh") else mesh(solids.box(BRICK))
    surface = {
        "boxes": Box(*SLAB),
        "meshes": mesh(solids.box(SLAB)),
        "box on mesh": mesh(solids.box(SLAB)),
        "mesh on plane": Plane(),
    }[kind]
    at = (0, 0, 0) if kind == "mesh on plane" else -0.5 * SLAB[2] * up
    slope = surface.on(system.ground.at(at), axis=up, x_axis=down)
    law = power_law(1e7, restitution=0.1, speed=0.01)
    system.contact("slope", slope, own.on(brick.at((0, 0, 0))), law=law, friction=FRICTION, slip_speed=SLIP_SPEED)
    result = flexmb.simulate(system, 0.4, step=STEP)
    speed, half = result.velocity("brick") @ down, len(result.t) // 2
    return float((speed[-1] - speed[half]) / (result.t[-1] - result.t[half]))


def _stone(seed: int) -> TriangleMesh:
    cloud = 0.1 * np.random.default_rng(seed).normal(size=(24, 3))
    return hull(flexmb.Shape(cloud, np.array([[0, 1, 2]])))


def collision() -> tuple[float, float]:
    """The change of the momentum of two stones relative to what one gives the other, and their largest depth."""
    system = flexmb.System(name="two stones")
    first = system.add(flexmb.rigid_body("first", mass=1.0, inertia=(0.01, 0.012, 0.009)), position=(0, 0, 0))
    second = system.add(
        flexmb.rigid_body("second", mass=0.5, inertia=(0.004, 0.003, 0.005)),
        position=(0.8, 0.05, 0.02),
        velocity=(-2.0, 0, 0),
        angular_velocity=(1.0, 2.0, 3.0),
    )
    law = power_law(1e6, restitution=0.6, speed=2.0)
    a, b = _stone(1).on(first.at((0, 0, 0))), _stone(2).on(second.at((0, 0, 0)))
    system.contact("stones", a, b, law=law, friction=0.3, slip_speed=0.05)
    result = flexmb.simulate(system, 0.4, step=STEP, output_step=1e-3)
    momenta = [mass * result.velocity(name) for name, mass in (("first", 1.0), ("second", 0.5))]
    given = float(np.linalg.norm(momenta[0][-1] - momenta[0][0]))
    total = momenta[0] + momenta[1]
    return float(np.abs(total - total[0]).max() / given), -float(result.contact("stones").gap.min())


def run() -> list[Row | Plot]:
    """Forces and threshold of the pile, accelerations on slopes, momentum of the stones."""
    rows: list[Row | Plot] = []
    still = logs(0.4)
    weight = MASS * G
    on_top = [p for p in still.contact_group("pile").pairs[-1] if "'top'" in p.a + p.b]
    on_ground = [p for p in still.contact_group("pile").pairs[-1] if "ground" in p.a + p.b]
    for what, reference, ours in (
        ("contacts of the upper log", 2.0, float(len(on_top))),
        ("its vertical force over its weight", 0.5, abs(on_top[0].force[2]) / weight),
        ("its horizontal force over its weight", 0.5 * THRESHOLD, abs(on_top[0].force[0]) / weight),
        ("force on the ground over a weight", 1.5, abs(on_ground[0].force[2]) / weight),
    ):
        rows.append(Row(CASE, f"three logs: {what}", reference, "exact", ours, abs(ours / reference - 1), OVERLAP))
    lines = {}
    for part, holds in ((1.05, True), (0.95, False)):
        pile = logs(part * THRESHOLD)
        lines[f"friction {part} tan 15 deg"] = pile.t, 1e3 * (pile.position("right")[:, 0] - RADIUS)
        ratio = float(np.abs(pile.velocity("right")[-1, 0])) / SLIP_SPEED
        what = f"three logs, friction {part} tan 15 deg: speed over the slip speed, {'below' if holds else 'above'} 1"
        rows.append(Row(CASE, what, 1.0, "exact", ratio, ratio if holds else 1 / ratio, 1.0))
    heap, speeds = balls()
    kinetic, later = heap.ledger.kinetic, heap.t > SETTLED - 1e-9
    part = float(kinetic[later].max() / heap.ledger.damper_heat[-1])
    what = f"two hundred balls: kinetic energy over the heat, from {SETTLED} s on"
    rows.append(Row(CASE, what, 0.0, "exact", part, part, 2e-5))
    fastest = float(speeds[:, later].max()) / CREEP
    what = f"two hundred balls: largest speed over the slip speed, from {SETTLED} s on, below 1"
    rows.append(Row(CASE, what, 1.0, "exact", fastest, fastest, 1.0))
    first = int(np.flatnonzero(later)[0])
    places = np.array([heap.position(f"ball {k}") for k in range(BALLS)])
    moved = float(np.linalg.norm(places[:, -1] - places[:, first], axis=1).max()) / BALL
    rows.append(Row(CASE, "two hundred balls: largest creep in 0.4 s over the radius", 0.0, "exact", moved, moved, 0.1))
    energies = {"flexmb": (heap.t[1:], np.log10(kinetic[1:]))}
    rows.append(Plot("Two hundred balls come to rest", "time (s)", "log10 of the kinetic energy (J)", energies))
    expected = G * (np.sin(ANGLE) - FRICTION * np.cos(ANGLE))
    for kind in ("boxes", "meshes", "box on mesh", "mesh on plane"):
        ours = sliding(kind)
        error = abs(ours / expected - 1)
        rows.append(Row(CASE, f"brick on a slope, {kind}: acceleration (m/s^2)", expected, "exact", ours, error, 1e-6))
    lost, depth = collision()
    rows.append(Row(CASE, "two stones: change of momentum over the impulse", 0.0, "exact", lost, lost, 1e-12))
    met = float(depth > 0)
    rows.append(Row(CASE, "two stones: they touch", 1.0, "exact", met, 1 - met, 0.0))
    rows.append(Plot("A lower log of three", "time (s)", "displacement (mm)", lines))
    return rows

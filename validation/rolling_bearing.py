"""A shaft in a rolling bearing: the load of each element, and the motion as the elements pass below the load.

Without clearance, the largest load on an element is `k F / Z` with Stribeck's number: 4.3457 for 8 balls, 4.3681 for 16, 4.0770 and 4.0841 for rollers (sums over the elements in equilibrium). While the shaft turns slowly, the cage carries the elements past the
load and the shaft rises and falls; the reference solves the equilibrium of the sum at each angle of the cage.

The outer ring is then a thin one of finite elements, held at a foot below, and bends under the elements: by its compliance matrix in the law, and as a reduced body with the elements as springs between its interfaces and the shaft. Both rest where a direct solution of the mesh with the nonlinear elements
rests. While the shaft turns in the ring, the error of the motion falls with the square of the step. The model is that of Zeischka (Euromech 524, 2012), whose data are not printed.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import brentq, fsolve

import fem
import flexmb
import flexmb.forces
import reduction
from fem.mesh.structured_meshes import tube
from flexmb.forces import flexible_ring_bearing, gap_spring, raceway_sectors, ring_compliance
from flexmb.linear import equilibrium
from flexmb.mechanism.attachments import BodyHandle
from validation.plot import Plot
from validation.row import Row

CASE = "rolling-bearing"
MASS, GRAVITY, STIFFNESS = 50.0, 9.81, 1e10
SETTLING, DAMPING = 5e4, 2e3
NUMBERS = {(1.5, 8): 4.3457, (1.5, 16): 4.3681, (10 / 9, 8): 4.0770, (10 / 9, 16): 4.0841}
RATIO, SPIN = 0.4, 2.0
INNER, OUTER, WIDTH, SECTORS, ELEMENTS = 0.05, 0.06, 0.02, 16, 8
FAST, STEPS, FINE = 40.0, (5e-4, 2.5e-4), 3.125e-5
DOWN = -np.pi / 2


def build(
    exponent: float, count: int, spin: float, place: ArrayLike, cage: float, velocity: ArrayLike = (0.0, 0.0)
) -> flexmb.System:
    """The shaft at a place in its bearing, with an element at the angle `cage` from x; strongly damped without spin."""
    damping = DAMPING if spin else SETTLING
    system = flexmb.System(gravity=(0, -GRAVITY, 0), name=CASE)
    shaft = system.add(
        flexmb.rigid_body("shaft", mass=MASS, inertia=(1, 1, 1)),
        position=(*np.asarray(place), 0),
        velocity=(*np.asarray(velocity), 0),
        angular_velocity=(0, 0, spin),
    )
    law = flexmb.forces.rolling_bearing(
        elements=count, stiffness=STIFFNESS, exponent=exponent, cage_ratio=RATIO, damping=damping, initial=(cage,)
    )
    system.force("bearing", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), law)
    return system


def rest(exponent: float, count: int, cage: float) -> np.ndarray:
    """The place of equilibrium (2,) of the weight and the sum over the elements."""
    angles = cage + 2 * np.pi * np.arange(count) / count
    directions = np.array([np.cos(angles), np.sin(angles)])

    def unbalanced(place: np.ndarray) -> np.ndarray:
        loads = STIFFNESS * np.maximum(1e-6 * place @ directions, 0.0) ** exponent
        return np.asarray(directions @ loads / (MASS * GRAVITY) + [0.0, 1.0])

    depth = brentq(lambda y: unbalanced(np.array([0.0, y]))[1], -1e3, -1e-9)
    return np.asarray(1e-6 * fsolve(unbalanced, [0.0, depth], xtol=1e-12))


def meshed_ring() -> tuple[fem.Model, list[str]]:
    """The outer ring of quadratic elements with its foot and the names of its sectors."""
    mesh = tube("hexahedron20", (INNER, OUTER), WIDTH, (1, 40, 1))
    outside = np.hypot(mesh.points[:, 0], mesh.points[:, 1]) > 0.999 * OUTER
    foot = np.flatnonzero(outside & (mesh.points[:, 1] < -0.97 * OUTER))
    model = fem.Model(mesh, fem.Material.steel())
    sectors = raceway_sectors(model, "inner", SECTORS, first=DOWN)
    return model.with_interfaces(foot=foot, **sectors), list(sectors)


def hung(height: float, factor: flexmb.time_functions.TimeFunction | None = None) -> tuple[flexmb.System, BodyHandle]:
    """The shaft on a vertical guide, drawn at a height, with its weight as a load times `factor`: the ring has none."""
    system = flexmb.System(name=CASE)
    shaft = system.add(flexmb.rigid_body("shaft", mass=MASS, inertia=(1, 1, 1)), position=(0, height, 0))
    system.prismatic("guide", system.ground, shaft, axis=(0, 1, 0), at=(0, 0, 0))
    system.load("weight", shaft.at((0, 0, 0)), force=(0, -MASS * GRAVITY, 0), factor=factor)
    return system, shaft


def compliance_of_mesh(model: fem.Model, sectors: list[str]) -> np.ndarray:
    """Radial displacements (16, 16) of the sectors for unit forces on them, solved with the mesh whose foot is fixed."""
    columns = []
    for name, angle in zip(sectors, DOWN + 2 * np.pi * np.arange(SECTORS) / SECTORS, strict=True):
        rows = model.interfaces[name].interface_matrix(model).toarray()[:, :3]
        columns.append(rows @ [np.cos(angle), np.sin(angle), 0.0])
    B = np.column_stack(columns)
    kept = np.setdiff1d(np.arange(len(B)), model.interfaces["foot"].dofs)
    return np.asarray(B[kept].T @ sp.linalg.spsolve(sp.csc_matrix(model.K)[kept][:, kept], B[kept]))


def rest_in_ring(C: np.ndarray) -> tuple[float, np.ndarray]:
    """The place of the shaft at rest and the loads of the elements, which stand at the places of the compliance `C`."""
    up = np.sin(DOWN + 2 * np.pi * np.arange(len(C)) / len(C))

    def carried(compression: np.ndarray) -> np.ndarray:
        return np.asarray(STIFFNESS * np.maximum(1e-6 * compression, 0.0) ** 1.5)

    def unbalanced(y: np.ndarray) -> np.ndarray:  # the place of the shaft and the compressions, in um
        loads = carried(y[1:])
        return np.concatenate([[up @ loads / (MASS * GRAVITY) + 1.0], y[1:] - y[0] * up + 1e6 * C @ loads])

    found, _, done, message = fsolve(unbalanced, np.concatenate([[-12.0], -6.0 * up]), xtol=1e-13, full_output=True)
    if done != 1:
        raise RuntimeError(message)
    return float(1e-6 * found[0]), carried(found[1:])


def in_ring() -> list[Row | Plot]:
    """A shaft at rest in the elastic ring, by the law and by a reduced body, and the order of the motion of one that
    turns in it."""
    model, sectors = meshed_ring()
    C = compliance_of_mesh(model, sectors)
    depth, loads = rest_in_ring(C[::2, ::2])
    basis = reduction.craig_bampton(model, modes=4, reference_frame="foot")
    body = flexmb.flexible_body(model, basis, name="ring", modal_damping=0.1, geometric_stiffness="none")
    ring = ring_compliance(body, sectors, held="foot")
    off = float(np.abs(ring.matrix - C).max() / np.abs(C).max())
    rows: list[Row | Plot] = []
    rows.append(Row(CASE, "compliance of the ring, deviation over the largest", 0.0, "recomputed", off, off, 1e-8))

    system, shaft = hung(1.1 * depth)
    law = {"elements": ELEMENTS, "stiffness": STIFFNESS, "cage_ratio": RATIO, "initial": (DOWN,), **ring.parameters}
    system.force("bearing", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), flexible_ring_bearing(**law))
    found = float(equilibrium(system).state.q[1])
    rows.append(Row(CASE, "place of the shaft in the ring, law (m)", depth, "recomputed", found, abs(found / depth - 1), 1e-8))  # fmt: skip

    system, shaft = hung(0.0, flexmb.time_functions.smooth_step(0.0, 0.05, 1.0))
    outer = system.add(body)
    system.fixed("housing", system.ground, outer["foot"])
    for name in sectors[::2]:
        roller = gap_spring(STIFFNESS, gap=0.0, exponent=1.5)
        system.spring_damper(name, outer[name], shaft.at((0, 0, WIDTH / 2)), length=INNER, law=roller)
    system.joint_spring("brake", "guide", damping=SETTLING)
    settled = flexmb.simulate(system, 0.08, step=2e-4, output_step=2e-3)
    found = float(settled.q[-1, 1])
    rows.append(Row(CASE, "place of the shaft in the ring, reduced body (m)", depth, "recomputed", found, abs(found / depth - 1), 2e-4))  # fmt: skip
    # the springs point to the shaft, the loads of the law to the axis: their directions differ by 2e-4
    carried = np.array([settled.effort(name)[-1] for name in sectors[::2]])
    off = float(np.abs(carried - loads).max() / loads.max())
    rows.append(Row(CASE, "largest load in the ring, reduced body (N)", loads[0], "recomputed", float(carried[0]), off, 2e-4))  # fmt: skip

    paths = {}
    for step in (*STEPS, FINE):
        system = flexmb.System(gravity=(0, -GRAVITY, 0), name=CASE)
        shaft = system.add(
            flexmb.rigid_body("shaft", mass=MASS, inertia=(1, 1, 1)),
            position=(0, depth, 0),
            angular_velocity=(0, 0, FAST),
        )
        bearing = flexible_ring_bearing(**law | {"damping": DAMPING})
        system.force("bearing", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), bearing)
        turning = flexmb.simulate(system, 0.1, step=step, output_step=STEPS[0])
        paths[step] = turning.q[:, :2]
    errors = [float(np.abs(paths[step] - paths[FINE]).max()) for step in STEPS]
    order = float(np.log2(errors[0] / errors[1]))
    rows.append(Row(CASE, "order of the motion in the ring", 2.0, "exact", order, abs(order - 2.0), 0.15))
    places = np.degrees(2 * np.pi * np.arange(ELEMENTS) / ELEMENTS)
    rigid = rest_in_ring(np.zeros((ELEMENTS, ELEMENTS)))[1]
    around = np.argsort((places + 180) % 360)
    angles = (places[around] + 180) % 360 - 180
    lines = {
        "elastic ring, reduced body": (angles, carried[around]),
        "reference (elastic ring, mesh)": (angles, loads[around]),
        "reference (rigid ring)": (angles, rigid[around]),
    }
    rows.append(Plot("Loads of the elements", "angle from the load (deg)", "load (N)", lines))
    lines = {"turning in the elastic ring": (turning.t, 1e6 * paths[FINE][:, 1])}
    rows.append(Plot("Height of the shaft in the elastic ring", "time (s)", "height (um)", lines))
    return rows


def run() -> list[Row | Plot]:
    """Stribeck's numbers of shafts that settle, the motion of one that turns, and the same in an elastic ring."""
    rows: list[Row | Plot] = []
    for (exponent, count), expected in NUMBERS.items():
        settled = flexmb.simulate(build(exponent, count, 0.0, (0.0, 0.0), -np.pi / 2), 0.2, step=2e-5, output_step=0.02)
        largest = STIFFNESS * (-settled.q[-1, 1]) ** exponent
        number = float(count * largest / (MASS * GRAVITY))
        kind = "balls" if exponent == 1.5 else "rollers"
        rows.append(Row(CASE, f"number of Stribeck, {count} {kind}", expected, "recomputed", number, abs(number / expected - 1), 2e-5))  # fmt: skip
    start, ahead = -np.pi / 2, 1e-4
    places = [rest(1.5, 8, start + turned) for turned in (-ahead, 0.0, ahead)]
    velocity = RATIO * SPIN * (places[2] - places[0]) / (2 * ahead)
    system = build(1.5, 8, SPIN, places[1], start, velocity)
    result = flexmb.simulate(system, 2.0, step=1e-3, output_step=0.01)
    cage = result.element_states[:, 0]
    turned = start + RATIO * SPIN * result.t
    rows.append(Row(CASE, "angle of the cage (rad)", float(turned[-1]), "exact", float(cage[-1]), float(np.abs(cage - turned).max()), 1e-9))  # fmt: skip
    path = np.array([rest(1.5, 8, angle) for angle in turned])
    height = result.q[:, 1]
    lift, found = np.ptp(path[:, 1]), np.ptp(height)
    rows.append(Row(CASE, "rise and fall of the shaft (m)", float(lift), "recomputed", float(found), abs(found / lift - 1), 1e-3))  # fmt: skip
    off = float(np.abs(result.q[:, :2] - path).max() / np.ptp(path, axis=0).max())
    rows.append(Row(CASE, "largest deviation over the size of the path", 0.0, "recomputed", off, off, 5e-3))
    lines = {"flexmb": (result.t, 1e6 * height), "reference (equilibrium)": (result.t, 1e6 * path[:, 1])}
    return [*rows, *in_ring(), Plot("Height of the shaft", "time (s)", "height (um)", lines)]

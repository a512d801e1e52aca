"""Boxes on boxes in exact contact: a stack of turned boxes, a slab that overhangs, one that slides over an edge and tips, three boxes that fall on each other.

The boxes of the stack rest; each contact carries the weight above it. A slab of which a quarter hangs over the edge of a table presses on the four corners of the common area, by moments with a tenth and four tenths of its weight on each. A slab whose
middle slides over the edge tips: with the distance s of its middle from the edge along the slab, its angle u and its half thickness h, s'' + h u'' = s u'^2 + g sin u and h s'' + (h^2 + s^2 + J/m) u'' = g (s cos u + h sin u) - 2 s s' u', solved here by
scipy. The three boxes fall with friction and restitution until they lie still.
"""

import numpy as np
from scipy.integrate import solve_ivp

import flexmb
from flexmb.contact import Box, Plane
from flexmb.contact.shape import Surface
from flexmb.results.elements.exact import points_over_time
from flexmb.results.result import Result
from validation.plot import Plot
from validation.row import Row

CASE = "stacked-boxes"
G, MASS = 9.81, 2.0
BRICK, SLAB, TABLE = (0.2, 0.16, 0.12), (0.4, 0.2, 0.1), (0.4, 0.4, 0.4)
EDGE, END = 0.1, 0.22
"""Instant at which the middle of the sliding slab reaches the edge, and the end of its motion."""
STEP = 1e-3


def _inertia(size: tuple[float, float, float]) -> tuple[float, ...]:
    squares = np.array(size) ** 2
    return tuple((MASS / 12 * (squares.sum() - squares)).tolist())


def stack(count: int) -> flexmb.System:
    """Boxes on a block of the ground, each turned and shifted against the one below."""
    system = flexmb.System(gravity=(0, 0, -G), name="stack")
    below = Box(1.0, 1.0, 1.0).on(system.ground.at((0, 0, -0.5)))
    for k in range(count):
        box = flexmb.rigid_body(f"box {k}", mass=MASS, inertia=_inertia(BRICK))
        body = system.add(box, position=(0.01 * k, 0, BRICK[2] * (k + 0.5)), orientation=(0, 0, 0.2 * k))
        own = Box(*BRICK).on(body.at((0, 0, 0)))
        system.contact(f"contact {k}", below, own, friction=0.5)
        below = own
    return system


def slab(position: tuple[float, float, float], speed: float, friction: float) -> flexmb.System:
    """A slab on a table whose edge is at x = 0.2."""
    system = flexmb.System(gravity=(0, 0, -G), name="slab")
    body = system.add(
        flexmb.rigid_body("slab", mass=MASS, inertia=_inertia(SLAB)), position=position, velocity=(speed, 0, 0)
    )
    table = Box(*TABLE).on(system.ground.at((0, 0, -0.5 * TABLE[2])))
    system.contact("table", table, Box(*SLAB).on(body.at((0, 0, 0))), friction=friction)
    return system


def falling(count: int) -> flexmb.System:
    """Boxes that fall on the ground and on each other."""
    system, rng = flexmb.System(gravity=(0, 0, -G), name="falling boxes"), np.random.default_rng(0)
    floor = Plane().on(system.ground.at((0, 0, 0)))
    shapes: list[Surface] = []
    for k in range(count):
        aside, turn = 0.02 * rng.normal(size=2), 0.2 * rng.normal(size=3)
        box = flexmb.rigid_body(f"box {k}", mass=MASS, inertia=_inertia(BRICK))
        body = system.add(box, position=(*aside, 0.15 + 0.2 * k), orientation=turn)
        own = Box(*BRICK).on(body.at((0, 0, 0)))
        system.contact(f"floor {k}", floor, own, friction=0.5, restitution=0.1)
        for j, other in enumerate(shapes):
            system.contact(f"boxes {j} and {k}", other, own, friction=0.5, restitution=0.1)
        shapes.append(own)
    return system


def tipped() -> tuple[float, float]:
    """Distance from the edge and angle of the sliding slab at the end."""
    h, turn = 0.5 * SLAB[2], _inertia(SLAB)[1] / MASS

    def slope(t: float, y: np.ndarray) -> list[float]:
        s, u, v, w = y
        mass = np.array([[1, h], [h, h * h + s * s + turn]])
        a = np.linalg.solve(mass, [s * w * w + G * np.sin(u), G * (s * np.cos(u) + h * np.sin(u)) - 2 * s * v * w])
        return [v, w, *a]

    s, u = solve_ivp(slope, (0.0, END - EDGE), [0, 0, 1.0, 0], rtol=1e-12, atol=1e-14).y[:2, -1]
    return float(s), float(u)


def angle(result: Result) -> float:
    """The angle of the slab at the end."""
    q = result.q[-1]
    return float(2 * np.arctan2(q[5], q[3]))


def run() -> list[Row | Plot]:
    """Forces of the stack and the slab, tipping and its order, rest of the falling boxes."""
    rows: list[Row | Plot] = []
    count = 5
    still = flexmb.simulate(stack(count), 0.1, step=STEP)
    for k in (0, count - 1):
        ours, reference = float(still.contact(f"contact {k}").normal_force[-1]), (count - k) * MASS * G
        rows.append(Row(CASE, f"stack: force below box {k} (N)", reference, "exact", ours, abs(ours / reference - 1), 1e-9))  # fmt: skip
    moved = float(np.abs(still.q - still.q[0]).max())
    rows.append(Row(CASE, "stack: largest motion (m)", 0.0, "exact", moved, moved, 1e-12))
    lying = flexmb.simulate(slab((0.15, 0.02, 0.05), 0.0, 0.5), 0.02, step=STEP)
    shares = np.sort(points_over_time(lying, lying.mechanism.contacts[0]).force[-1, :, 2])[-4:] / (MASS * G)
    for what, reference, ours in (("inner", 0.1, shares[0]), ("outer", 0.4, shares[-1])):
        rows.append(Row(CASE, f"overhanging slab: share of an {what} corner", reference, "exact", float(ours), abs(float(ours) / reference - 1), 1e-9))  # fmt: skip
    s, u = tipped()
    errors = []
    for step in (2 * STEP, STEP):
        over = flexmb.simulate(slab((0.2 - EDGE, 0.0, 0.05), 1.0, 0.0), END, step=step)
        errors.append(abs(angle(over) / u - 1))
    rows.append(Row(CASE, "tipping slab: angle (rad)", u, "recomputed", angle(over), errors[1], 3e-4))
    order = float(np.log2(errors[0] / errors[1]))
    rows.append(Row(CASE, "tipping slab: order in the step", 2.0, "exact", order, abs(2.0 - order), 0.2))
    x = 0.2 + s * np.cos(u) + 0.05 * np.sin(u)
    ours = float(over.position("slab")[-1, 0])
    rows.append(Row(CASE, "tipping slab: position of its middle (m)", x, "recomputed", ours, abs(ours - x), 1e-5))
    fallen = flexmb.simulate(falling(3), 1.2, step=STEP, output_step=0.01)
    speeds = np.abs(fallen.w).max(axis=1)
    gap = min(float(fallen.contact(contact.name).gap.min()) for contact in fallen.mechanism.contacts)
    rows.append(Row(CASE, "falling boxes: largest speed at the end", 0.0, "exact", float(speeds[-1]), float(speeds[-1]), 1e-12))  # fmt: skip
    rows.append(Row(CASE, "falling boxes: largest overlap (m)", 0.0, "exact", -gap, max(-gap, 0.0), 1e-10))
    rows.append(Row(CASE, "falling boxes: energy that is not accounted for", 0.0, "exact", float(fallen.ledger.imbalance), float(fallen.ledger.imbalance), 1e-4))  # fmt: skip
    rows.append(Plot("Falling boxes", "time (s)", "largest rate", {"flexmb": (fallen.t, speeds)}))
    return rows

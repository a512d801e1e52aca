"""A wall-climbing robot that loses its hold: three bodies with hinged legs fall 1.3 m, strike the floor, tumble, and come to rest.

Masses and dimensions are those of Bahr and Li (1993), whose curves exist as figures only; their hinges have motors, which are springs and dampers here. Until the first impact the mass centre falls freely, so that the instants of the first
touch of a robot from attitudes of 90, 130 and 180 degrees follow from the geometry of its boxes. Through the impacts, with friction and restitution at up to 24 corners, the momentum across the floor changes by the friction
alone, and the energy is accounted for at every instant. The robot ends at rest on the floor, which carries its weight.
"""

import numpy as np

import flexmb
from flexmb.contact import Box, Plane
from flexmb.results.result import Result
from validation.plot import Plot
from validation.row import Row

CASE = "wall-climber"
G, DROP = 9.81, 1.3
BODY, LEG = (0.20, 0.20, 0.14), (0.06, 0.06, 0.08)
MASS, LEG_MASS, SIDE = 8.5, 1.0, 0.16
FRICTION, RESTITUTION = 0.4, 0.2
DURATION, STEP = 2.5, 1e-3
STARTS = (90.0, 130.0, 180.0)


def _brick(name: str, mass: float, edges: tuple[float, float, float]) -> flexmb.Body:
    x, y, z = (mass / 12 * (sum(e * e for e in edges) - own * own) for own in edges)
    return flexmb.rigid_body(name, mass=mass, inertia=(x, y, z))


def robot(degrees: float) -> flexmb.System:
    """The robot with the surface to which it held inclined by an angle: 90 a wall, 180 a ceiling."""
    system = flexmb.System(gravity=(0, 0, -G), name="wall-climber")
    turn = np.radians(degrees)
    R = np.array([[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]])
    centre = np.array([0.0, 0.0, DROP])
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    body = system.add(_brick("body", MASS, BODY), position=centre, orientation=R)
    parts = [(body, BODY, "body")]
    for name, side in (("left leg", -1.0), ("right leg", 1.0)):
        leg = system.add(_brick(name, LEG_MASS, LEG), position=centre + R @ [0, side * SIDE, 0], orientation=R)
        system.revolute(f"{name} pivot", body, leg, axis=R @ [1, 0, 0], at=centre + R @ [0, side * 0.5 * BODY[1], 0])
        system.joint_spring(f"{name} motor", f"{name} pivot", stiffness=60.0, damping=0.6)
        parts.append((leg, LEG, name))
    for handle, edges, name in parts:
        shape = Box(*edges).on(handle.at((0, 0, 0)))
        system.contact(
            f"{name} on the floor", floor, shape, friction=FRICTION, restitution=RESTITUTION, impact="stronge"
        )
    return system


def first_touch(degrees: float) -> float:
    """The instant at which the lowest corner has fallen to the floor."""
    turn, corners = np.radians(degrees), []
    for edges in (BODY, LEG):
        for sx, sz in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            corners.append(-np.sin(turn) * sx * edges[0] / 2 + np.cos(turn) * sz * edges[2] / 2)
    return float(np.sqrt(2 * (DROP + min(corners)) / G))


def _support(result: Result) -> np.ndarray:
    """The force (nt,) of the floor upwards."""
    return np.asarray(sum(result.force(contact.name)[:, 2] for contact in result.mechanism.contacts))


def run() -> list[Row | Plot]:
    """First touch, energy, rest and support for three attitudes."""
    rows: list[Row | Plot] = []
    lines = {}
    weight = (MASS + 2 * LEG_MASS) * G
    for degrees in STARTS:
        result = flexmb.simulate(robot(degrees), DURATION, step=STEP, output_step=5 * STEP)
        touch = first_touch(degrees)

        def add(what: str, reference: float, ours: float, error: float, allowed: float, at: float = degrees) -> None:
            rows.append(Row(CASE, f"from {at:g} degrees: {what}", reference, "exact", ours, error, allowed))

        first = result.happened[0].t
        add("first touch (s)", touch, first, abs(first / touch - 1), 1e-9)
        add("energy that is not accounted for, over that exchanged", 0.0, result.ledger.imbalance, result.ledger.imbalance, 2e-3)  # fmt: skip
        speed = float(np.abs(result.velocity("body")[-1]).max())
        add("speed at the end (m/s)", 0.0, speed, speed, 1e-4)
        up = float(_support(result)[-1])
        add("force of the floor at the end (N)", weight, up, abs(up / weight - 1), 1e-4)
        deepest = min(float(result.contact(c.name).gap.min()) for c in result.mechanism.contacts)
        add("deepest overlap (m)", 0.0, deepest, max(-deepest, 0.0), 1e-9)
        lines[f"{degrees:g} degrees"] = (result.t, result.position("body")[:, 2])
    rows.append(Plot("Height of the body of a falling robot", "time (s)", "height (m)", lines))
    return rows

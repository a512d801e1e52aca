"""A block on a slope: exact Coulomb friction of a contact on four corners holds it below the angle of friction, and lets it slide beyond.

A block slides with g (sin a - mu cos a) if tan a > mu, and rests otherwise. Of the four corners that touch, the lower ones carry more, as the moment of the friction about the mass centre requires; forces of more corners than the block
has freedoms are those of least norm. With a larger static coefficient, the block begins to slide beyond that angle, and slides with the other coefficient.
"""

import numpy as np

import flexmb
from flexmb.contact import Box, Plane
from validation.plot import Plot
from validation.row import Row

CASE = "incline"
G, MU, STATIC = 9.81, 0.3, 0.4
HEIGHT, LENGTH, MASS = 0.2, 0.4, 2.0
DURATION, STEP = 0.2, 1e-3


def block(slope: float, friction: float | tuple[float, float] = MU) -> flexmb.System:
    """A box on a plane, in axes along the slope, with gravity inclined by `slope` (rad)."""
    system = flexmb.System(gravity=(G * np.sin(slope), 0, -G * np.cos(slope)), name="block on a slope")
    body = system.add(flexmb.rigid_body("block", mass=MASS, inertia=(0.1, 0.12, 0.15)), position=(0, 0, 0.5 * HEIGHT))
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    system.contact("slope", floor, Box(LENGTH, 0.3, HEIGHT).on(body.at((0, 0, 0))), friction=friction)
    return system


def acceleration(slope: float, friction: float | tuple[float, float] = MU) -> float:
    """The acceleration of the block along the slope, from its velocity at the end."""
    result = flexmb.simulate(block(slope, friction), DURATION, step=STEP)
    return float(result.velocity("block")[-1, 0] / DURATION)


def run() -> list[Row | Plot]:
    """Accelerations on both sides of the angle of friction, and the moment of the forces."""
    rows: list[Row | Plot] = []

    def add(what: str, reference: float, ours: float, allowed: float, scale: float) -> None:
        rows.append(Row(CASE, what, reference, "exact", ours, abs(ours - reference) / scale, allowed))

    def sliding(slope: float) -> float:
        return G * (np.sin(slope) - MU * np.cos(slope))

    below, above = np.arctan(MU * (1 - 1e-6)), np.arctan(MU * (1 + 1e-6))
    add("acceleration just below the angle of friction, over g", 0.0, acceleration(below), 1e-12, G)
    add("acceleration just above it (tan a = 1.000001 mu)", sliding(above), acceleration(above), 1e-6, sliding(above))
    steep = np.arctan(MU + 0.1)
    add("acceleration where tan a = mu + 0.1", sliding(steep), acceleration(steep), 1e-9, sliding(steep))
    stuck, loose = np.arctan(STATIC * (1 - 1e-6)), np.arctan(STATIC * (1 + 1e-6))
    add("static coefficient 0.4: acceleration just below its angle", 0.0, acceleration(stuck, (STATIC, MU)), 1e-12, G)
    add("static coefficient 0.4: just above, sliding with 0.3", sliding(loose), acceleration(loose, (STATIC, MU)), 1e-4, sliding(loose))  # fmt: skip
    result = flexmb.simulate(block(steep), DURATION, step=STEP)
    normal = MASS * G * np.cos(steep)
    moment = result.force("slope")[-1, 4]
    add("moment of the slope about the mass centre (of the normal forces, against that of the friction)", 0.0, float(moment), 1e-9, normal * HEIGHT)  # fmt: skip
    slopes = np.linspace(0.2, 0.45, 11)
    ours = np.array([acceleration(np.arctan(x)) for x in slopes])
    exact = np.array([max(sliding(np.arctan(x)), 0.0) for x in slopes])
    lines = {"flexmb": (slopes, ours), "reference": (slopes, exact)}
    rows.append(Plot("Acceleration of the block, mu = 0.3", "tangent of the slope", "acceleration (m/s2)", lines))
    return rows

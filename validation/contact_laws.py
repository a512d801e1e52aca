"""A unit mass hits a spring of Hertz with four laws of damping; what each reaches of the restitution that is wanted.

`f = d^1.5 (1 + c d'/v)` with the factor `c` of Hunt and Crossley, Lankarani and Nikravesh, Flores, and the exact one of Gonthier: speed, depth and duration were computed with an independent program to 1e-11. The laws agree for a
restitution near one; of the first three, only that of Flores goes to zero with it. Two coaxial cylinders follow the explicit law of Malça and the logarithm of Johnson.
"""

import numpy as np

import flexmb
from flexmb.contact import Plane, Sphere, malca, power_law
from validation.plot import Plot
from validation.row import Row

CASE = "contact-laws"
TABLE = {
    (0.9, "hunt-crossley"): (0.9090, 1.0529, 3.252),
    (0.9, "lankarani-nikravesh"): (0.9132, 1.0548, 3.250),
    (0.9, "flores"): (0.8939, 1.0460, 3.258),
    (0.7, "hunt-crossley"): (0.7680, 0.9872, 3.325),
    (0.7, "lankarani-nikravesh"): (0.7960, 1.0006, 3.308),
    (0.7, "flores"): (0.6832, 0.9456, 3.388),
    (0.5, "hunt-crossley"): (0.6630, 0.9353, 3.405),
    (0.5, "lankarani-nikravesh"): (0.7252, 0.9664, 3.355),
    (0.5, "flores"): (0.4704, 0.8309, 3.655),
    (0.3, "hunt-crossley"): (0.5813, 0.8928, 3.490),
    (0.3, "lankarani-nikravesh"): (0.6842, 0.9461, 3.387),
    (0.3, "flores"): (0.2562, 0.6867, 4.359),
    (0.1, "hunt-crossley"): (0.5158, 0.8570, 3.579),
    (0.1, "lankarani-nikravesh"): (0.6653, 0.9365, 3.403),
    (0.1, "flores"): (0.0694, 0.4563, 7.757),
}
"""Speed after the impact, depth and duration by the wanted restitution and the law."""
DIGITS = 1.0e-4
CYLINDERS = (
    (0.0005, 26.9, True),
    (0.001, 62.5, True),
    (0.002, 145.5, True),
    (0.001, 23.5, False),
    (0.01, 292.2, False),
)
"""Depth (mm), force (N/mm), and whether the cylinder is in a bore."""
RADIUS, STEP = 10.0, 5e-3


def bounce(wanted: float, factor: str, duration: float = 10.0) -> flexmb.Result:
    """The impact of a ball on a plane."""
    system = flexmb.System(name=CASE)
    ball = system.add(
        flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, RADIUS), velocity=(0, 0, -1)
    )
    law = power_law(1.0, restitution=wanted, speed=1.0, factor=factor)
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), Sphere(RADIUS).on(ball.at((0, 0, 0))), law=law)
    return flexmb.simulate(system, duration, method="radau", tolerance=1e-10, output_step=STEP)


def duration_of(result: flexmb.Result) -> float:
    """When the gap opens, by interpolation with the speed."""
    gap, speed = result.contact("floor").gap, result.velocity("ball")[:, 2]
    k = int(np.flatnonzero(gap < 0)[-1]) + 1
    return float(result.t[k] - gap[k] / speed[k])


def run() -> list[Row | Plot]:
    """Speeds, depths and durations of all laws, forces between cylinders, and the hysteresis of one restitution."""
    rows: list[Row | Plot] = []
    lines = {}
    for (wanted, factor), reference in TABLE.items():
        result = bounce(wanted, factor)
        touch = result.contact("floor")
        found = (result.velocity("ball")[-1, 2], -touch.gap.min(), duration_of(result))
        for what, value, ours, digit in zip(("speed", "depth", "duration"), reference, found, (1, 1, 10), strict=True):
            rows.append(Row(CASE, f"{factor} {wanted}: {what}", value, "independent", float(ours), abs(float(ours) - value), digit * DIGITS))  # fmt: skip
        if wanted == 0.5:
            lines[factor] = (-touch.gap[touch.gap < 0], touch.normal_force[touch.gap < 0])
    exact = bounce(0.5, "gonthier")
    speed = float(exact.velocity("ball")[-1, 2])
    rows.append(Row(CASE, "gonthier 0.5: speed", 0.5, "exact", speed, abs(speed / 0.5 - 1), 1e-6))
    modulus = 207000 / (2 * (1 - 0.3**2))
    for depth, force, internal in CYLINDERS:
        law = malca(modulus, 1.0, 0.05 if internal else 140.0, internal=internal)
        ours, kind = law.stiffness * depth**law.exponent, "internal" if internal else "external"
        rows.append(
            Row(CASE, f"{kind} cylinder at {depth} mm (N/mm)", force, "recomputed", ours, abs(ours - force), 0.05)
        )
    rows.append(Plot("Hysteresis, restitution 0.5", "depth", "force", lines))
    return rows

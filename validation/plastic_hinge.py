"""A bar on a plastic hinge absorbs a given energy: elastic to a limit moment, constant beyond (Dias and Pereira, 1993).

With the limit moment `M`, the angle of yield `a` and the energy `E`, the largest angle is `E / M + a / 2`: for 4,644.7 N m, 0.0873 rad and 2 kJ 0.474248 rad, with the derivatives `1 / M`, `-E / M^2` and `1 / 2`.
What the hinge does not store is heat: `E - M a / 2`. The state of the element is its plastic angle, found by return mapping in every step.
"""

import numpy as np

import flexmb
import flexmb.forces
from validation.plot import Plot
from validation.row import Row

CASE = "plastic-hinge"
LIMIT, YIELD, ENERGY, INERTIA = 4644.7, 0.0873, 2000.0, 40.0
STEP, DURATION, CHANGE = 2e-5, 0.12, 0.01


def swing(limit: float = LIMIT, angle: float = YIELD, energy: float = ENERGY) -> flexmb.Result:
    """The bar, started with an energy, until it comes back."""
    system = flexmb.System(name=CASE)
    speed = (0, 0, np.sqrt(2 * energy / INERTIA))
    bar = system.add(flexmb.rigid_body("bar", mass=1.0, inertia=(30.0, 30.0, INERTIA)), angular_velocity=speed)
    system.revolute("hinge", system.ground.at((0, 0, 0)), bar, axis=(0, 0, 1))
    law = flexmb.forces.plastic_hinge(stiffness=limit / angle, limit=limit)
    system.force("plastic", system.ground.at((0, 0, 0)), bar, law)
    return flexmb.simulate(system, DURATION, step=STEP, output_step=STEP)


def largest(**changed: float) -> float:
    """The largest angle."""
    return float(swing(**changed).coordinate("hinge").max())


def run() -> list[Row | Plot]:
    """The largest angle, its derivatives by central differences, the heat, and moment over angle."""
    result = swing()
    angle, exact = result.coordinate("hinge"), ENERGY / LIMIT + YIELD / 2
    found = float(angle.max())
    rows: list[Row | Plot] = [Row(CASE, "largest angle (rad)", exact, "exact", found, abs(found / exact - 1), 1e-5)]
    derivatives = {"energy": (ENERGY, 1 / LIMIT), "limit": (LIMIT, -ENERGY / LIMIT**2), "angle": (YIELD, 0.5)}
    for name, (value, expected) in derivatives.items():
        ahead, behind = (largest(**{name: value * (1 + sign * CHANGE)}) for sign in (1, -1))
        slope, curved = (ahead - behind) / (2 * CHANGE * value), CHANGE**2  # of the difference over a hyperbola
        rows.append(Row(CASE, f"its derivative by the {name}", expected, "exact", slope, abs(slope / expected - 1), 1e-3 + curved))  # fmt: skip
    heat, lost = float(result.ledger.damper_heat[-1]), ENERGY - LIMIT * YIELD / 2
    rows.append(Row(CASE, "heat (J)", lost, "exact", heat, abs(heat / lost - 1), 1e-4))
    moment, there = -result.force("plastic")[:, 5], np.linspace(0, exact, 200)
    lines = {
        "flexmb": (angle, moment),
        "reference, until the largest angle": (there, np.minimum(LIMIT / YIELD * there, LIMIT)),
    }
    return [*rows, Plot("Moment of the hinge", "angle (rad)", "moment (N m)", lines)]

"""Start of the generalised-alpha method on an index-3 pendulum (Arnold): multipliers of second order from the first step.

Consistent initial values leave a first-order error in the multipliers, because the method's own accelerations live elsewhere in the step and its velocities break the joints by an amount that goes
with the square of the step. Arnold, Bruls, Cardona (2015) give the cure; rho_inf = 0.6.
"""

import numpy as np

import flexmb
from validation.plot import Plot
from validation.row import Row

CASE = "restart"


def run() -> list[Row | Plot]:
    """A pendulum released from the horizontal with a speed; largest errors over the first half second, the first steps included."""
    system = flexmb.System(gravity=(0, -9.81, 0), name=CASE)
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
    system.set_speed("hinge", 2.0)
    exact = flexmb.simulate(system, 0.48, method="radau", tolerance=1e-12, output_step=0.02)
    seen = {
        "positions": lambda r: r.position("rod.end"),
        "velocities": lambda r: r.velocity("rod.end"),
        "multipliers": lambda r: r.reaction("hinge"),
    }
    steps = (0.01, 0.005, 0.0025)
    errors: dict[str, list[float]] = {name: [] for name in seen}
    for step in steps:
        result = flexmb.simulate(system, 0.48, step=step, rho_inf=0.6, output_step=0.02)
        for name, measure in seen.items():
            errors[name].append(float(np.abs(measure(result) - measure(exact))[1:].max()))
    rows: list[Row | Plot] = []
    for name, found in errors.items():
        order = float(np.polyfit(np.log(steps), np.log(found), 1)[0])
        rows.append(Row(CASE, f"order of {name}", 2.0, "exact", order, abs(order - 2), 0.1))
    first = flexmb.simulate(system, 0.0025, step=0.0025, rho_inf=0.6, output_step=0.0025)
    after = flexmb.simulate(system, 0.0025, method="radau", tolerance=1e-12, output_step=0.0025)
    jump = float(np.abs(first.reaction("hinge") - after.reaction("hinge"))[-1].max() / np.abs(after.reaction("hinge")[-1]).max())  # fmt: skip
    rows.append(Row(CASE, "error of the reaction after the first step of 0.0025 / reaction", 0.0, "exact", jump, jump, 1e-3))  # fmt: skip
    lines = {name: (np.array(steps), np.array(found)) for name, found in errors.items()}
    lines["reference: second order"] = (np.array(steps), errors["multipliers"][0] * (np.array(steps) / steps[0]) ** 2)
    return [*rows, Plot("Largest error over the step", "step (s)", "error", lines, logarithmic="xy")]

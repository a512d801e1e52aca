"""A force law of a hinge, compiled and in plain Python, beside the spring and damper that does the same; and what a stored time costs."""

from typing import Any

from benchmarks.growth import cost
from benchmarks.row import Row

COMMAND = "python -m benchmarks step-law"


def run() -> list[Row]:
    """CPU time a step."""
    import numba

    def law(t: float, x: float, xdot: float) -> float:
        return -30.0 * x - 0.4 * xdot

    spring = cost(pendulum(None), steps=10_000)[0]
    rows = [
        Row(f"step-law: {name} / joint spring", cost(pendulum(effort), steps=10_000)[0], spring, goal, "us CPU a step", COMMAND)
        for name, effort, goal in (("compiled law", numba.njit(law), 1.1), ("plain law", law, 2.0))
    ]  # fmt: skip
    return [*rows, Row("step-law: a stored time", stored(), 5.0, 1.0, "us CPU", COMMAND)]


def stored() -> float:
    """Microseconds a stored time: a run that stores every step, less one that stores the last only."""
    import flexmb

    mechanism = pendulum(None)
    each, none = (
        min(flexmb.simulate(mechanism, 10.0, step=1e-3, output_step=o).statistics.cpu_seconds for _ in range(5))
        for o in (1e-3, 10.0)
    )
    return 1e2 * (each - none)


def pendulum(effort: Any) -> object:
    """Two bars; the second hinge has a spring and damper, or a motor with the given effort."""
    import flexmb

    system = flexmb.System(gravity=(0, 0, -9.81))
    bars = [system.add(flexmb.uniform_rod(n, mass=1.0, length=1.0), position=(k, 0, 0)) for k, n in enumerate("ab")]
    system.revolute("hinge", system.ground.at((0, 0, 0)), bars[0], axis=(0, 1, 0))
    system.revolute("elbow", bars[0]["end"], bars[1], axis=(0, 1, 0))
    if effort is None:
        system.joint_spring("spring", "elbow", stiffness=30.0, damping=0.4)
    else:
        system.motor("spring", "elbow", effort)
    return system.build()

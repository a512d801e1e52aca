"""Chains of bodies hinged one to the next, swinging under gravity: how the cost of a step grows with their number."""

import numpy as np

from benchmarks.row import Row

BODIES = (5, 20, 80, 320)
LIMIT, GOAL = 1.0, 1.05
STEPS, STEP = 40, 1e-3


def run() -> list[Row]:
    """Exponent of the number of bodies in the CPU time of a step, rigid bodies; 1 is the limit."""
    import flexmb

    times = []
    for count in BODIES:
        mechanism = chain(count)
        flexmb.simulate(mechanism, 2 * STEP, step=STEP)
        runs = [
            flexmb.simulate(mechanism, STEPS * STEP, step=STEP, output_step=STEPS * STEP).statistics for _ in range(3)
        ]
        times.append(min(1e6 * s.cpu_seconds / s.steps for s in runs))
    slope = float(np.polyfit(np.log(BODIES), np.log(times), 1)[0])
    told = ", ".join(f"{t:.0f} us at {n}" for t, n in zip(times, BODIES, strict=True))
    return [
        Row(
            f"chain: exponent of the bodies ({told})",
            slope,
            LIMIT,
            GOAL,
            "CPU time a step",
            "python -m benchmarks chain",
        )
    ]


def chain(count: int) -> object:
    """Bars of length one, hinged at their ends, hanging from the ground at an angle."""
    import flexmb

    system = flexmb.System(gravity=(0, 0, -9.81))
    before = system.ground.at((0, 0, 0))
    for k in range(count):
        bar = flexmb.rigid_body(
            f"bar {k}",
            mass=1.0,
            inertia=(0.01, 0.09, 0.09),
            centre=(0.5, 0, 0),
            points={"a": (0, 0, 0), "b": (1, 0, 0)},
        )
        body = system.add(bar, position=(float(k), 0, 0))
        system.revolute(f"hinge {k}", before, body["a"], axis=(0, 1, 0))
        before = body["b"]
    return system.build()

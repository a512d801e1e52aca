"""The gradient of the demo's largest reaction by 20 parameters: the adjoint method against simulations."""

from dataclasses import replace
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from benchmarks.row import Row

COMMAND = "python -m benchmarks adjoint"
AT = {
    "crank_mass": 2.0, "crank_Ixx": 2e-3, "crank_Iyy": 4e-3, "crank_Izz": 4e-3, "crank_x": 0.02, "crank_y": 0.001, "crank_radius": 0.075, "piston_mass": 0.6, "piston_inertia": 6e-4,
    "piston_x": 0.001, "gravity": 9.81, "speed": 314.15926, "run_up": 0.04, "gas_force": 4e4, "gas_start": 0.06, "gas_duration": 8e-4, "modulus": 1.0, "modal_damping": 0.01,
    "seal_stiffness": 100.0, "seal_damping": 10.0,
}  # fmt: skip


def run() -> list[Row]:
    """CPU time of the gradient, and of the direct method's for one parameter, over that of a simulation; medians of three."""
    from flexmb import simulate
    from flexmb.demo import DURATION, STEP
    from flexmb.study import adjoint_gradient, direct_gradient

    def forward() -> Any:
        return simulate(demo(**AT), DURATION, step=STEP)

    def back(step: float = STEP, duration: float = DURATION) -> Any:
        return adjoint_gradient(demo, AT, duration, reaction, step=step)

    some = {"modulus": 1.0, "piston_mass": 0.6}

    def forth(duration: float = DURATION) -> Any:
        return direct_gradient(
            demo, some, duration, measure=lambda r: {"reaction": float(reaction(r).max())}, step=STEP
        )

    back(duration=10 * STEP)  # compiles
    forth(duration=10 * STEP)
    times = [[_cpu(function) for function in (forward, back, forth)] for _ in range(3)]
    once, adjoint, direct = (median(column) for column in zip(*times, strict=True))
    return [
        Row("adjoint: gradient of the demo's largest reaction by 20 parameters / a simulation", adjoint, once, 3.0, "s CPU", COMMAND),
        Row("adjoint: direct method, a parameter / a simulation", (direct - once) / len(some), once, 4.0, "s CPU", COMMAND),
    ]  # fmt: skip


def demo(**changes: float) -> Any:
    """The demo's slider-crank with a seal on its piston and 20 parameters; the rod's stiffness goes with `modulus`."""
    import flexmb
    from flexmb.demo import ROD, connecting_rod

    p = {**AT, **changes}
    rod, R = connecting_rod(), p["crank_radius"]
    stiffness = rod.stiffness * p["modulus"]
    rod = replace(rod, stiffness=stiffness, damping=2 * p["modal_damping"] * np.sqrt(stiffness))
    system = flexmb.System(gravity=(0, -p["gravity"], 0), name="slider-crank")
    inertia = (p["crank_Ixx"], p["crank_Iyy"], p["crank_Izz"])
    centre = (p["crank_x"], p["crank_y"], 0)
    crank = system.add(
        flexmb.rigid_body("crank", mass=p["crank_mass"], inertia=inertia, centre=centre, points={"pin": (R, 0, 0)})
    )
    moving = system.add(rod, position=(R, 0, 0))
    piston = flexmb.rigid_body(
        "piston", mass=p["piston_mass"], inertia=(p["piston_inertia"],) * 3, centre=(p["piston_x"], 0, 0)
    )
    end = (R + ROD, 0, 0)
    piston = system.add(piston, position=end)
    system.revolute("bearing", system.ground.at((0, 0, 0)), crank, axis=(0, 0, 1))
    system.revolute("crank pin", crank["pin"], moving["big"], axis=(0, 0, 1))
    system.joint("point-on-line", "wrist pin", piston, moving["small"], axis=(0, 0, 1))
    system.prismatic("cylinder", system.ground.at(end), piston, axis=(1, 0, 0))
    system.drive("bearing", flexmb.time_functions.spin_up(p["speed"], p["run_up"]))
    system.bushing(
        "seal", system.ground.at(end), piston.at(end, frame="world"), stiffness=(p["seal_stiffness"], 0, 0, 0, 0, 0), damping=(p["seal_damping"], 0, 0, 0, 0, 0),
    )  # fmt: skip
    firing = flexmb.time_functions.pulse(start=p["gas_start"], duration=p["gas_duration"], height=1.0, period=0.02)
    system.load("gas", piston.at((0, 0, 0)), force=(-p["gas_force"], 0, 0), factor=firing)
    return system


def reaction(result: Any) -> np.ndarray:
    """Force in the wrist pin over time."""
    return np.linalg.norm(result.reaction("wrist pin")[:, :3], axis=1)


def _cpu(function: Any) -> float:
    start = process_time()
    function()
    return process_time() - start

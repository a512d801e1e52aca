"""A slider-crank of two flexible bodies that falls from its stretched position: here and in exudyn. Cost of a step, and of an accuracy.

The same matrices and interface nodes; 20 elastic coordinates each, joints at averaging interfaces of 147 nodes (at the frame node where exudyn has one). Errors are those of the
slider's path against each program's own run with a step that is much smaller. Needs the extra `peers`.
"""

import json
import sys
from typing import Any

import numpy as np

from benchmarks import exudyn_peer
from benchmarks.process import in_own_process
from benchmarks.row import Row
from benchmarks.step_exudyn import GRAVITY, MODES, SIZE, part

DURATION, OUTPUT = 0.2, 0.01
STEP = 1e-4
STEPS = {"flexmb": (8e-4, 4e-4, 2e-4, 1e-4, 5e-5, 2.5e-5), "exudyn": (8e-4, 4e-4, 2e-4, 1e-4, 5e-5)}
FINEST = {"flexmb": 1e-6, "exudyn": 1e-5}
WANTED = 1e-6
REPEATS = {"flexmb": 5, "exudyn": 1}
AGREEMENT = 0.01
SLIDER = 2.0


def run() -> list[Row]:
    """CPU time a step at the same step size, and CPU time to reach an error of 1e-6 of the path."""
    if exudyn_peer.left_out("slider-crank-exudyn"):
        return []
    command = "python -m benchmarks slider-crank-exudyn"
    ours, peer = (in_own_process(__name__, who) for who in ("flexmb", "exudyn"))
    path = np.array(peer["path"])
    apart = np.abs(np.array(ours["path"]) - path).max() / np.ptp(path)
    if not apart < AGREEMENT:
        raise RuntimeError(f"slider-crank-exudyn: the sliders are {apart:.1e} of their path apart.")
    times = [found["cpu"][found["steps"].index(STEP)] / round(DURATION / STEP) * 1e6 for found in (ours, peer)]
    name = f"slider-crank-exudyn, step {STEP}; paths {apart:.0e} apart"
    rows = [Row(name, *times, 1 / 15, "us CPU a step", command)]
    needed = [cost_of(found, WANTED) for found in (ours, peer)]
    name = f"slider-crank-exudyn, CPU to an error of {WANTED}"
    return [*rows, Row(name, *needed, 1 / 30, "CPU s", command)]


def cost_of(found: dict, error: float) -> float:
    """CPU seconds for an error, by a straight line through the logarithms of the two runs nearest to it."""
    x, y = np.log(found["error"]), np.log(found["cpu"])
    near = np.argsort(np.abs(x - np.log(error)))[:2]
    slope = (y[near[1]] - y[near[0]]) / (x[near[1]] - x[near[0]])
    return float(np.exp(y[near[0]] + slope * (np.log(error) - x[near[0]])))


def flexmb_paths() -> Any:
    """A function of the step: CPU seconds and path."""
    import flexmb
    import reduction
    from fem import Interface

    made = part().with_interfaces(hub="x0", tip=Interface("x1", kind="average"))
    basis = reduction.craig_bampton(made, MODES, reference_frame="hub")
    body = flexmb.flexible_body(made, basis, geometric_stiffness="none")
    system = flexmb.System(gravity=GRAVITY)
    crank = system.add(body, name="crank")
    rod = system.add(body, name="rod", position=(SIZE[0], 0, 0))
    slider = system.add(flexmb.rigid_body("slider", mass=SLIDER, inertia=(0.01,) * 3), position=(2 * SIZE[0], 0, 0))
    system.revolute("bearing", system.ground.at((0, 0, 0)), crank["hub"], axis=(0, 1, 0))
    system.revolute("pin", crank["tip"], rod["hub"], axis=(0, 1, 0))
    system.joint("point-on-line", "wrist", slider, rod["tip"], axis=(0, 1, 0))
    system.prismatic("guide", system.ground.at((2 * SIZE[0], 0, 0)), slider, axis=(1, 0, 0))
    mechanism = system.build()
    flexmb.simulate(mechanism, 10 * STEP, step=STEP)

    def one(step: float) -> tuple[float, np.ndarray]:
        result = flexmb.simulate(mechanism, DURATION, step=step, output_step=OUTPUT)
        return result.statistics.cpu_seconds, result.frame("slider")[0][:, 0]

    return one


def exudyn_paths() -> Any:
    """The same in exudyn."""
    import exudyn
    import exudyn.itemInterface as items  # noqa: N813
    from exudyn.FEM import ObjectFFRFreducedOrderInterface
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    made = part()
    fe = exudyn_peer.interface_of(made.points, made.K, made.M)
    ends = [np.flatnonzero(np.abs(made.points[:, 0] - x) < 1e-9) for x in (0.0, SIZE[0])]
    exudyn_peer.craig_bampton(fe, ends, MODES)
    weights = np.full(len(ends[1]), 1 / len(ends[1]))

    def one(step: float) -> tuple[float, np.ndarray]:
        mbs = exudyn.SystemContainer().AddSystem()
        bodies = [ObjectFFRFreducedOrderInterface(fe).AddObjectFFRFreducedOrder(mbs, gravity=list(GRAVITY), positionRef=[x, 0, 0]) for x in (0.0, SIZE[0])]  # fmt: skip
        mass = mbs.CreateRigidBody(
            referencePosition=[2 * SIZE[0], 0, 0],
            inertia=RigidBodyInertia(mass=SLIDER, inertiaTensor=0.01 * np.eye(3)),
            gravity=list(GRAVITY),
        )
        hubs = [mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=body["nRigidBody"])) for body in bodies]
        tips = [mbs.AddMarker(items.MarkerSuperElementRigid(bodyNumber=body["oFFRFreducedOrder"], meshNodeNumbers=ends[1], weightingFactors=weights)) for body in bodies]  # fmt: skip
        ground = mbs.AddObject(items.ObjectGround(referencePosition=[0, 0, 0]))
        fixed = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=ground))
        guide = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=ground, localPosition=[2 * SIZE[0], 0, 0]))
        block = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=mass))
        mbs.AddObject(items.GenericJoint(markerNumbers=[fixed, hubs[0]], constrainedAxes=[1, 1, 1, 1, 0, 1]))
        mbs.AddObject(items.GenericJoint(markerNumbers=[tips[0], hubs[1]], constrainedAxes=[1, 1, 1, 1, 0, 1]))
        mbs.AddObject(items.GenericJoint(markerNumbers=[block, tips[1]], constrainedAxes=[1, 0, 1, 0, 0, 0]))
        mbs.AddObject(items.GenericJoint(markerNumbers=[guide, block], constrainedAxes=[0, 1, 1, 1, 1, 1]))
        sensor = mbs.AddSensor(items.SensorBody(bodyNumber=mass, storeInternal=True, outputVariableType=exudyn.OutputVariableType.Position))  # fmt: skip
        mbs.Assemble()
        return exudyn_peer.solve(mbs, DURATION, step, OUTPUT), mbs.GetSensorStoredData(sensor)[:, 1]

    return one


def main() -> None:
    """In a process of its own: `python -m benchmarks.slider_crank WHO` prints one JSON object."""
    who = sys.argv[1]
    one = flexmb_paths() if who == "flexmb" else exudyn_paths()
    exact = one(FINEST[who])[1]
    cpu, errors = [], []
    for step in STEPS[who]:
        runs = [one(step) for _ in range(REPEATS[who])]
        cpu.append(float(np.median([run[0] for run in runs])))
        errors.append(float(np.abs(runs[0][1] - exact).max() / np.ptp(exact)))
    print(json.dumps({"steps": STEPS[who], "cpu": cpu, "error": errors, "path": exact.tolist()}))


if __name__ == "__main__":
    main()

"""A step of one body with 20 elastic coordinates, hinged to the ground under gravity: here and in exudyn, at the same step size.

The same matrices and interfaces; hinged at the node of its frame, and at an averaging interface of 147 nodes. exudyn has no geometric stiffness; ours is measured with the second-order
field and without. Both must bring the tip to the same place. Needs the extra `peers`.
"""

import json
import sys
from dataclasses import replace

import numpy as np

from benchmarks import exudyn_peer
from benchmarks.process import in_own_process
from benchmarks.row import Row

SIZE, DIVISIONS = (1.0, 0.3, 0.1), (10, 10, 3)
MODES = 14
"""Fixed-interface modes; with the six of the second interface this is 20 elastic coordinates."""
STEP, STEPS, REPEATS = 1e-4, 3000, 5
GRAVITY = (0.0, 0.0, -9.81)
GOALS = {"frame": 1 / 15, "interface": 1 / 250}
AGREEMENT = 0.01
"""Of the tip's path. exudyn's gravity moment on deformed bodies is not exact."""


def run() -> list[Row]:
    """Median CPU time a step."""
    if exudyn_peer.left_out("step-exudyn"):
        return []
    rows = []
    for hinge, goal in GOALS.items():
        peer = in_own_process(__name__, "exudyn", hinge)
        for field in ("second-order", "none"):
            ours = in_own_process(__name__, field, hinge)
            path = np.subtract(ours["tip"], [1.0, 0.0, 0.0])
            apart = np.linalg.norm(np.subtract(ours["tip"], peer["tip"])) / np.linalg.norm(path)
            if not apart < AGREEMENT:
                raise RuntimeError(f"step-exudyn, {hinge}: the tips are {apart:.1e} of their path apart.")
            name = f"step-exudyn, hinged at its {hinge}, {field}: energy error {ours['energy']:.0e}"
            rows.append(Row(name, ours["us"], peer["us"], goal, "us CPU a step", "python -m benchmarks step-exudyn"))
    return rows


def part() -> object:
    """A soft block on the x axis, whose ends have 147 nodes each."""
    from fem import Material, Model, structured_meshes

    material = Material.isotropic(2e7, 0.3, 1000.0, name="rubber")
    mesh = structured_meshes.block("tetra10", SIZE, DIVISIONS)
    return Model(replace(mesh, points=mesh.points - [0.0, SIZE[1] / 2, SIZE[2] / 2]), material)


def flexmb_run(field: str, hinge: str) -> dict:
    """One body, hinged where its frame is, or at an averaging interface of a body in mean axes."""
    import flexmb
    import reduction
    from fem import Interface

    if hinge == "frame":
        made = part().with_interfaces(hub="x0", tip="x1")
        basis = reduction.craig_bampton(made, MODES, reference_frame="hub")
    else:
        made = part().with_interfaces(hub=Interface("x0", kind="average"), tip=Interface("x1", kind="average"))
        basis = reduction.craig_bampton(made, MODES)
    system = flexmb.System(gravity=GRAVITY)
    body = system.add(flexmb.flexible_body(made, basis, name="block", geometric_stiffness=field))
    system.revolute("hinge", system.ground.at(body["hub"].point), body["hub"], axis=(0, 1, 0))
    mechanism = system.build()
    flexmb.simulate(mechanism, 10 * STEP, step=STEP)  # compiles
    times = []
    for _ in range(REPEATS):
        result = flexmb.simulate(mechanism, STEPS * STEP, step=STEP, output_step=STEPS * STEP / 10)
        times.append(1e6 * result.statistics.cpu_seconds / STEPS)
    ledger = result.ledger
    energy = float(np.abs(ledger.residual).max() / ledger.kinetic.max())
    tip = result.position("block.tip")[-1] - result.position("block.tip")[0] + [1.0, 0.0, 0.0]
    return {"us": float(np.median(times)), "tip": tip.tolist(), "energy": energy}


def exudyn_run(hinge: str) -> dict:
    """The same in exudyn."""
    import exudyn
    import exudyn.itemInterface as items  # noqa: N813
    from exudyn.FEM import ObjectFFRFreducedOrderInterface

    made = part()
    fe = exudyn_peer.interface_of(made.points, made.K, made.M)
    ends = [np.flatnonzero(np.abs(made.points[:, 0] - x) < 1e-9) for x in (0.0, SIZE[0])]
    exudyn_peer.craig_bampton(fe, ends, MODES)
    reduced = ObjectFFRFreducedOrderInterface(fe)
    times = []
    for _ in range(REPEATS):
        mbs = exudyn.SystemContainer().AddSystem()
        body = reduced.AddObjectFFRFreducedOrder(mbs, gravity=list(GRAVITY), positionRef=[0, 0, 0])
        ground = mbs.AddObject(items.ObjectGround(referencePosition=[0, 0, 0]))
        fixed = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=ground))
        if hinge == "frame":
            moving = mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=body["nRigidBody"]))
        else:
            weights = np.full(len(ends[0]), 1 / len(ends[0]))
            moving = mbs.AddMarker(items.MarkerSuperElementRigid(bodyNumber=body["oFFRFreducedOrder"], meshNodeNumbers=ends[0], weightingFactors=weights))  # fmt: skip
        mbs.AddObject(items.GenericJoint(markerNumbers=[fixed, moving], constrainedAxes=[1, 1, 1, 1, 0, 1]))
        node = int(np.argmin(np.linalg.norm(made.points - made.points[ends[1]].mean(axis=0), axis=1)))
        place = exudyn.OutputVariableType.Position
        sensor = mbs.AddSensor(items.SensorSuperElement(bodyNumber=body["oFFRFreducedOrder"], meshNodeNumber=node, storeInternal=True, outputVariableType=place))  # fmt: skip
        mbs.Assemble()
        times.append(1e6 * exudyn_peer.solve(mbs, STEPS * STEP, STEP, STEPS * STEP / 10) / STEPS)
    data = mbs.GetSensorStoredData(sensor)[:, 1:]
    tip = data[-1] - made.points[node] + [1.0, 0.0, 0.0]
    return {"us": float(np.median(times)), "tip": tip.tolist()}


def main() -> None:
    """In a process of its own: `python -m benchmarks.step_exudyn WHO HINGE` prints one JSON object."""
    who, hinge = sys.argv[1:]
    print(json.dumps(exudyn_run(hinge) if who == "exudyn" else flexmb_run(who, hinge)))


if __name__ == "__main__":
    main()

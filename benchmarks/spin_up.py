"""Spin-up of a slender beam: here as one reduced body, in exudyn as one body and cut into 4 and 8.

Both programs get the same hex20 matrices and reduce them with Craig and Bampton's modes. The error is that of the largest tip deflection,
-0.5740 m (validation/spin_up.py). A row compares CPU time a simulated second; its name tells both errors. Needs the extra `peers`.
"""

import json
import sys

import numpy as np

from benchmarks import exudyn_peer
from benchmarks.process import in_own_process
from benchmarks.row import Row

BODIES = (1, 4, 8)
REFERENCE = -0.5740
DURATION, STEP = 20.0, 2e-3
MODES = 14
"""Fixed-interface modes; with the six of the second interface this is 20 elastic coordinates, as in exudyn."""
GOAL = 1.0


def run() -> list[Row]:
    """Ours against exudyn with 1, 4 and 8 bodies, each in its own process."""
    if exudyn_peer.left_out("spin-up"):
        return []
    ours = in_own_process("benchmarks.spin_up", "flexmb", "1")
    rows = []
    for bodies in BODIES:
        peer = in_own_process("benchmarks.spin_up", "exudyn", str(bodies))
        name = f"spin-up, one body ({ours['error']:.2%} off) / exudyn, {bodies} bodies ({_told(peer)})"
        command = "python -m benchmarks spin-up"
        rows.append(Row(name, ours["cpu"], peer["cpu"], GOAL, "CPU s a simulated second", command))
    return rows


def _told(result: dict) -> str:
    if result["reached"] < DURATION - 1e-6:
        return f"diverged at {result['reached']:.1f} s"
    return f"{result['error']:.1%} off"


def flexmb_run() -> dict:
    """One body of 40 hex20 cells."""
    import flexmb
    import reduction
    from validation import spin_up

    part = spin_up.solid()
    basis = reduction.craig_bampton(part, modes=MODES, reference_frame="hub")
    system = flexmb.System()
    beam = system.add(flexmb.flexible_body(part, basis))
    system.revolute("hub", system.ground.at((0, 0, 0)), beam["hub"], axis=(0, 0, 1))
    system.drive("hub", flexmb.time_functions.spin_up(spin_up.SPEED, spin_up.RISE))
    result = flexmb.simulate(system, DURATION, step=STEP)
    tip = spin_up.tip_deflection(result)[:, 1].min()
    return {"cpu": result.statistics.cpu_seconds / DURATION, "error": abs(tip / REFERENCE - 1), "reached": DURATION}


def exudyn_run(bodies: int) -> dict:
    """The same beam as `bodies` reduced bodies, welded to each other and to a driven hub."""
    import exudyn
    import exudyn.itemInterface as items  # noqa: N813
    from exudyn.FEM import ObjectFFRFreducedOrderInterface

    import flexmb
    from validation import spin_up

    motion = flexmb.time_functions.spin_up(spin_up.SPEED, spin_up.RISE)
    length = spin_up.LENGTH / bodies
    part = _piece(length, 40 // bodies)
    fe = exudyn_peer.interface_of(part.points, part.K, part.M)
    ends = [np.flatnonzero(np.abs(part.points[:, 0] - x) < 1e-9) for x in (0.0, length)]
    exudyn_peer.craig_bampton(fe, ends, MODES)
    reduced = ObjectFFRFreducedOrderInterface(fe)
    mbs = exudyn.SystemContainer().AddSystem()
    hub_node = mbs.AddNode(items.NodeRigidBody2D())
    hub = mbs.AddObject(items.ObjectRigidBody2D(nodeNumber=hub_node, physicsMass=1, physicsInertia=1))
    fixed = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(items.NodePointGround()), coordinate=0))
    for coordinate in range(3):
        marker = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=hub_node, coordinate=coordinate))
        drive = {"offsetUserFunction": lambda mbs, t, item, offset: float(motion.value(t))} if coordinate == 2 else {}
        mbs.AddObject(items.CoordinateConstraint(markerNumbers=[fixed, marker], **drive))
    previous = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=hub))
    for k in range(bodies):
        body = reduced.AddObjectFFRFreducedOrder(mbs, positionRef=[k * length, 0, 0])["oFFRFreducedOrder"]
        markers = [
            mbs.AddMarker(items.MarkerSuperElementRigid(bodyNumber=body, meshNodeNumbers=e, weightingFactors=np.full(len(e), 1 / len(e))))
            for e in ends
        ]  # fmt: skip
        mbs.AddObject(items.GenericJoint(markerNumbers=[previous, markers[0]], constrainedAxes=[1] * 6))
        previous = markers[1]
    node = int(np.argmin(np.linalg.norm(part.points - [length, 0, 0], axis=1)))
    position = exudyn.OutputVariableType.Position
    sensor = mbs.AddSensor(items.SensorSuperElement(bodyNumber=body, meshNodeNumber=node, storeInternal=True, outputVariableType=position))  # fmt: skip
    mbs.Assemble()
    cpu = exudyn_peer.solve(mbs, DURATION, STEP, DURATION / 1000, sparse=True)
    data = mbs.GetSensorStoredData(sensor)
    t = data[:, 0]
    angle = np.array([motion.value(x) for x in t])
    offset = part.points[node, 1]
    tip = -np.sin(angle) * data[:, 1] + np.cos(angle) * data[:, 2] - offset
    return {"cpu": cpu / t[-1], "error": float(abs(tip.min() / REFERENCE - 1)), "reached": float(t[-1])}


def _piece(length: float, cells: int) -> object:
    from dataclasses import replace

    import fem
    from validation import spin_up

    side = spin_up.SIDE
    mesh = fem.structured_meshes.block("hexahedron20", (length, side, side), (cells, 1, 1))
    return fem.Model(replace(mesh, points=mesh.points - [0, side / 2, side / 2]), spin_up.MATERIAL)


if __name__ == "__main__":
    print(json.dumps(flexmb_run() if sys.argv[1] == "flexmb" else exudyn_run(int(sys.argv[2]))))

"""Three rigid bars hinged one to the next, falling: here and in exudyn, where both are right. The same motion to 1e-6, and the cost of a step."""

import numpy as np

from benchmarks import exudyn_peer
from benchmarks.chain import chain
from benchmarks.row import Row

BARS, DURATION, STEP, REPEATS = 3, 0.5, 1e-4, 3
AGREEMENT = 1e-6
GRAVITY = (0, 0, -9.81)


def run() -> list[Row]:
    """CPU time a step; the benchmark fails where the tips are farther apart."""
    if exudyn_peer.left_out("rigid-exudyn"):
        return []
    (ours, tip), (peer, other) = flexmb_run(), exudyn_run()
    apart = float(np.abs(np.subtract(tip, other)).max())
    if not apart < AGREEMENT:
        raise RuntimeError(f"rigid-exudyn: the tips of three metres of bars are {apart:.1e} m apart.")
    name = f"rigid-exudyn, three hinged bars; tips {apart:.0e} of a metre apart"
    return [Row(name, ours, peer, 1.0, "us CPU a step", "python -m benchmarks rigid-exudyn")]


def flexmb_run() -> tuple[float, np.ndarray]:
    """Microseconds a step, and the end of the last bar."""
    import flexmb

    mechanism = chain(BARS)
    flexmb.simulate(mechanism, 2 * STEP, step=STEP)
    times = []
    for _ in range(REPEATS):
        result = flexmb.simulate(mechanism, DURATION, step=STEP, output_step=DURATION)
        times.append(1e6 * result.statistics.cpu_seconds / result.statistics.steps)
    place, axes = (x[-1] for x in result.frame(f"bar {BARS - 1}"))
    return float(np.median(times)), place + axes[:, 0]


def exudyn_run() -> tuple[float, np.ndarray]:
    """The same in exudyn; bodies about their mass centres."""
    import exudyn
    import exudyn.itemInterface as items  # noqa: N813
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    times = []
    for _ in range(REPEATS):
        mbs = exudyn.SystemContainer().AddSystem()
        before = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=mbs.AddObject(items.ObjectGround())))
        for k in range(BARS):
            inertia = RigidBodyInertia(mass=1.0, inertiaTensor=np.diag([0.01, 0.09, 0.09]))
            body = mbs.CreateRigidBody(referencePosition=[k + 0.5, 0, 0], inertia=inertia, gravity=list(GRAVITY))
            here = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=[-0.5, 0, 0]))
            mbs.AddObject(items.GenericJoint(markerNumbers=[before, here], constrainedAxes=[1, 1, 1, 1, 0, 1]))
            before = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localPosition=[0.5, 0, 0]))
        sensor = mbs.AddSensor(items.SensorBody(bodyNumber=body, localPosition=[0.5, 0, 0], storeInternal=True, outputVariableType=exudyn.OutputVariableType.Position))  # fmt: skip
        mbs.Assemble()
        times.append(1e6 * exudyn_peer.solve(mbs, DURATION, STEP, DURATION) * STEP / DURATION)
    return float(np.median(times)), mbs.GetSensorStoredData(sensor)[-1, 1:]

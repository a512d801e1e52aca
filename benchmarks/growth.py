"""How the cost of a step grows: with the elastic coordinates of a body, the bodies of a chain, the closed loops of a ladder; and with the fastest rigid peer.

The quadratic inertia terms of a body need `2 * 9 m^2` multiplications (`36 m^2` operations) a residual whatever the method; the rest of a step is linear in m. A row compares the exponent measured with that of
a cost `a + b m + c m^2` whose quadratic part runs at the machine's speed, measured by the same loop alone.
"""

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.chain import chain
from benchmarks.row import Row
from flexmb.mechanism.compile import compiled

BODIES = (4, 16, 64, 256, 1000)
MODES = (5, 10, 20, 50, 100, 200)
LADDER = (2, 8, 32, 128)
RIGID = (20, 80, 320)
STEPS, STEP = 400, 1e-4


def cost(mechanism: object, steps: int = STEPS, step: float = STEP, **options: str) -> tuple[float, float]:
    """CPU microseconds a step, and Newton iterations a step; the best of three."""
    return costs([mechanism], steps, step, rounds=3, **options)[0]


def costs(
    mechanisms: Sequence[object], steps: int = STEPS, step: float = STEP, rounds: int = 9, **options: str
) -> list[tuple[float, float]]:
    """CPU microseconds a step and Newton iterations a step of each mechanism: the best of runs that alternate, so that
    other work on the machine slows all of them."""
    import flexmb

    for mechanism in mechanisms:
        flexmb.simulate(mechanism, 2 * step, step=step, **options)
    runs = [
        [
            flexmb.simulate(mechanism, steps * step, step=step, output_step=steps * step, **options).statistics
            for mechanism in mechanisms
        ]
        for _ in range(rounds)
    ]
    best = [min(own, key=lambda s: s.cpu_seconds) for own in zip(*runs, strict=True)]
    return [(1e6 * s.cpu_seconds / s.steps, s.iterations / s.steps) for s in best]


def bodies() -> list[Row]:
    """Exponent of the number of rigid bodies in a chain; 1 is the limit."""
    times = [cost(chain(count), steps=40, step=1e-3)[0] for count in BODIES]
    slope = float(np.polyfit(np.log(BODIES), np.log(times), 1)[0])
    told = ", ".join(f"{t:.0f} us at {n}" for t, n in zip(times, BODIES, strict=True))
    return [Row(f"chain: exponent of the bodies ({told})", slope, 1.0, 1.05, "CPU time a step", "python -m benchmarks chain")]  # fmt: skip


def modes() -> list[Row]:
    """Exponent of the elastic coordinates, below 50 and over all."""
    times = [us / iterations for us, iterations in (cost(pendulum(m)) for m in MODES)]
    told = ", ".join(f"{t:.3g} us at {m}" for t, m in zip(times, MODES, strict=True))
    command = "python -m benchmarks step-growth"
    alone = [products_alone(m) for m in MODES]
    share = ", ".join(f"{a:.2g}" for a in alone)
    x, y = np.log(MODES), np.log(times)
    small, whole = np.polyfit(x[:4], y[:4], 1)[0], np.polyfit(x, y, 1)[0]
    return [
        Row(f"step-growth: exponent of the modes up to 50 ({told})", float(small), 1.0, 1.2, "CPU time a correction", command),
        Row(f"step-growth: exponent of the modes up to 200 (quadratic terms alone: {share} us)", float(whole), 1.0, 1.5, "CPU time a correction", command),
    ]  # fmt: skip


def products_alone(m: int) -> float:
    """Microseconds of the quadratic products of one residual, in a loop of their own."""
    from flexmb.kernels.equations.bodies import _products

    columns, eta = np.random.default_rng(0).normal(size=(m, 9 * m)), np.ones(m)
    P, R = np.zeros(9 * m), np.zeros(9 * m)
    _products(columns, 6 * m, eta, eta, P, R)
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(1000):
            _products(columns, 6 * m, eta, eta, P, R)
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def loops() -> list[Row]:
    """Exponent of the closed loops of a ladder of bars, each rung closing one."""
    times = [cost(ladder(n), step=1e-3, steps=60)[0] for n in LADDER]
    told = ", ".join(f"{t:.3g} us at {n}" for t, n in zip(times, LADDER, strict=True))
    slope = float(np.polyfit(np.log(LADDER), np.log(times), 1)[0])
    return [Row(f"step-loops: exponent of closed loops ({told})", slope, 1.0, 2.0, "CPU time a step", "python -m benchmarks step-loops")]  # fmt: skip


def rigid() -> list[Row]:
    """The accelerations of a rigid chain, and a Newton correction of an implicit step, residual included, beside Pinocchio's articulated-body algorithm (pip install pin)."""
    try:
        import pinocchio as pin
    except ImportError:
        print("step-rigid is left out: it needs Pinocchio (pip install pin)", file=sys.stderr)
        return []
    rows = []
    for n in RIGID:
        us, iterations = cost(chain(n), step=1e-3, steps=100)
        model, parent = pin.Model(), 0
        for k in range(n):
            place = pin.SE3.Identity()
            place.translation = np.array([1.0 if k else 0.0, 0, 0])
            joint = model.addJoint(parent, pin.JointModelRY(), place, f"hinge {k}")
            inertia = pin.Inertia(1.0, np.array([0.5, 0, 0]), np.diag([0.01, 0.0067, 0.0067]))
            model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
            parent = joint
        data, q, v, none = model.createData(), np.zeros(n), np.ones(n), np.zeros(n)
        best = np.inf
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(100):
                pin.aba(model, data, q, v, none)
            best = min(best, (time.perf_counter() - start) * 1e4)
        command = "python -m benchmarks step-rigid"
        name = f"step-rigid, chain of {n} bars: a right-hand side / that of Pinocchio"
        rows.append(Row(name, right_hand_side(n), best, 3.0, "us", command))
        name = f"step-rigid, chain of {n} bars: a correction of an implicit step / a right-hand side of Pinocchio"
        rows.append(Row(name, us / iterations, best, 3.0, "us", command))
    return rows


def right_hand_side(count: int, calls: int = 1000) -> float:
    """Microseconds for the joint accelerations of a chain of hinged bars, by the recursion of the explicit method."""
    from numba import njit

    from flexmb.equations.evaluation import Equations
    from flexmb.equations.spanning_tree import tree_of
    from flexmb.kernels.equations.rows import place_markers
    from flexmb.kernels.joint_coordinates.articulated import make_articulated, tree_accelerations
    from flexmb.kernels.joint_coordinates.tree import joint_poses

    @njit
    def repeat(times, flat, tree, pose, v, bodies, vdot):  # type: ignore[no-untyped-def]
        for _ in range(times):
            bodies.force[:] = 0.0
            tree_accelerations(flat, tree, pose, v, bodies, vdot)

    mechanism: Any = chain(count)
    flat, tree, q = compiled(mechanism), tree_of(mechanism), mechanism.initial.q
    e, pose = Equations(mechanism, q), np.zeros((count, 7))
    place_markers(flat, q, e.kinematics)
    joint_poses(flat, tree, e.kinematics, q, pose)
    given = (flat, tree, pose, np.ones(count), make_articulated(flat, tree), np.zeros(count))
    repeat(1, *given)
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        repeat(calls, *given)
        best = min(best, time.perf_counter() - start)
    return best / calls * 1e6


def pendulum(m: int) -> object:
    """A body with m elastic coordinates, hinged at its frame."""
    import flexmb
    import reduction
    from fem import Material, Model, structured_meshes

    mesh = structured_meshes.block("hexahedron", (1.0, 0.1, 0.1), (20, 3, 3))
    part = Model(mesh, Material.isotropic(2e9, 0.3, 1000.0)).with_interfaces(hub="x0")
    basis = reduction.craig_bampton(part, m, reference_frame="hub")
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(flexmb.flexible_body(part, basis, geometric_stiffness="none"))
    system.revolute("hinge", system.ground.at(body["hub"].point), body["hub"], axis=(0, 1, 0))
    return system.build()


def ladder(rungs: int) -> object:
    """Two rails of hinged bars, tied by a bar at every joint: a net of closed loops that swings; being plane, some of its equations are dependent."""
    import flexmb

    system = flexmb.System(gravity=(0, 0, -9.81))
    ends = [system.ground.at((0, y, 0)) for y in (0.0, 1.0)]

    def bar(name: str, place: tuple, turned: tuple | None = None) -> object:
        rod = flexmb.uniform_rod(name, mass=1.0, length=1.0, radius=0.02)
        return system.add(rod, position=place, **({} if turned is None else {"orientation": turned}))

    for k in range(rungs):
        rails = [bar(f"rail {side} {k}", (float(k), float(side), 0.0)) for side in (0, 1)]
        for side, rail in enumerate(rails):
            system.joint("revolute" if side == 0 else "spherical", f"hinge {side} {k}", ends[side], rail["start"], **({"axis": (0, 1, 0)} if side == 0 else {}))  # fmt: skip
        rung = bar(f"rung {k}", (float(k + 1), 0.0, 0.0), (0.0, 0.0, np.pi / 2))
        system.revolute(f"near {k}", rails[0]["end"], rung["start"], axis=(0, 1, 0))
        system.spherical(f"far {k}", rung["end"], rails[1]["end"])
        ends = [rung["start"], rung["end"]]
    return system.build()

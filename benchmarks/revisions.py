"""This checkout beside an earlier revision of itself: steps, starts of runs, import, first compilation, reduction.

`python -m benchmarks revisions` compares with the revision in `FLEXMB_BENCHMARK_REVISION`, by default that of the
latest round of published figures. Both run in turn, each in processes of its own; the least CPU time of each counts.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.process import THREAD_VARIABLES
from benchmarks.row import Row

BEFORE = os.environ.get("FLEXMB_BENCHMARK_REVISION", "d795318")
ROUNDS = 5
NOISE = 1.05
"""The largest ratio that is not called slower: least CPU times of five alternating runs repeat to a few per cent."""
HERE = Path(__file__).resolve()


def run() -> list[Row]:
    """Least CPU times of both revisions."""
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder, "before")
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", old, BEFORE], cwd=HERE.parents[1], check=True)
        try:
            checkouts = [(HERE.parents[1], Path(folder, "cache-now")), (old, Path(folder, "cache-before"))]
            firsts = [_measure(checkout, cache) for checkout, cache in checkouts]
            rounds = [[_measure(checkout, cache) for checkout, cache in checkouts] for _ in range(ROUNDS)]
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", old], cwd=HERE.parents[1], check=True)
    command = "python -m benchmarks revisions"
    compiling = [float(f["compile"]) for f in firsts]
    rows = [Row(f"revisions ({BEFORE}): first run ever, compiled", *compiling, NOISE, "s CPU", command)]
    for what, unit in UNITS.items():
        ours, theirs = (min(float(r[k][what]) for r in rounds) for k in range(2))
        rows.append(Row(f"revisions ({BEFORE}): {what}", ours, theirs, NOISE, unit, command))
    return rows


def _measure(checkout: Path, cache: Path) -> dict[str, Any]:
    """What `measured` prints in a process that imports one checkout and keeps its compiled code in one place."""
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    environment |= {"PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-P", str(HERE)], env=environment, capture_output=True, text=True, cwd=checkout
    )
    if done.returncode != 0:
        raise RuntimeError(f"The benchmark does not run on {checkout}:\n{done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


UNITS = {
    "import": "s CPU",
    "reduction and body": "s CPU",
    "start of a run": "ms CPU",
    "double pendulum": "us CPU a step",
    "slider-crank": "us CPU a step",
    "Bricard": "us CPU a step",
    "three bars, joint coordinates": "us CPU a step",
    "flexible block": "us CPU a step",
}


def measured() -> dict[str, float]:
    """All figures of the package that this process imports, by the names of `UNITS`; only what both revisions know."""
    begin = time.process_time()
    import flexmb

    figures = {"import": time.process_time() - begin}
    begin = time.process_time()
    flexmb.simulate(_double_pendulum(), 2e-3, step=1e-3)
    figures["compile"] = time.process_time() - begin
    begin = time.process_time()
    block = _block()
    figures["reduction and body"] = time.process_time() - begin
    pendulum = _double_pendulum()
    figures["start of a run"] = 1e3 * min(_start(pendulum) for _ in range(5))
    cases: dict[str, tuple[Any, float, dict[str, str]]] = {
        "double pendulum": (pendulum, 1e-3, {}),
        "slider-crank": (_slider_crank(), 1e-4, {}),
        "Bricard": (_bricard(), 1e-3, {}),
        "three bars, joint coordinates": (_chain(3), 1e-3, {"coordinates": "joint"}),
        "flexible block": (block, 1e-4, {}),
    }
    for name, (mechanism, step, options) in cases.items():
        flexmb.simulate(mechanism, 2 * step, step=step, **options)
        figures[name] = min(_step(mechanism, step, options) for _ in range(3))
    return figures


def _start(mechanism: object) -> float:
    import flexmb

    begin = time.process_time()
    flexmb.simulate(mechanism, 1e-3, step=1e-3)
    return time.process_time() - begin


def _step(mechanism: object, step: float, options: dict[str, str], steps: int = 5000) -> float:
    import flexmb

    result = flexmb.simulate(mechanism, steps * step, step=step, output_step=steps * step / 10, **options)
    return 1e6 * result.statistics.cpu_seconds / result.statistics.steps


def _double_pendulum() -> object:
    return _chain(2)


def _chain(bars: int) -> object:
    """Bars of one metre, hinged one to the next about y, that fall from rest."""
    import flexmb

    system = flexmb.System(gravity=(0, 0, -9.81))
    before: Any = system.ground
    for k in range(bars):
        bar = system.add(flexmb.uniform_rod(f"bar {k}", mass=1.0, length=1.0), position=(k, 0, 0))
        system.revolute(f"hinge {k}", before, bar, axis=(0, 1, 0), at=(k, 0, 0))
        before = bar
    return system.build()


def _slider_crank() -> object:
    """A crank at 1500 rpm, a rod and a piston."""
    import flexmb

    system = flexmb.System(gravity=(0, -9.81, 0))
    crank = system.add(flexmb.uniform_rod("crank", mass=1.0, length=0.1), angular_velocity=(0, 0, 157.0))
    rod = system.add(flexmb.uniform_rod("rod", mass=0.5, length=0.3), position=(0.1, 0, 0))
    piston = system.add(flexmb.uniform_rod("piston", mass=0.7, length=0.05), position=(0.4, 0, 0))
    system.revolute("main", system.ground, crank, axis=(0, 0, 1), at=(0, 0, 0))
    system.revolute("crankpin", crank, rod, axis=(0, 0, 1), at=(0.1, 0, 0))
    system.cylindrical("pin", rod, piston, axis=(0, 0, 1), at=(0.4, 0, 0))
    system.prismatic("guide", system.ground, piston, axis=(1, 0, 0), at=(0.4, 0, 0))
    return system.build()


def _bricard() -> object:
    """Five rods and six hinges along the edges of a cube (validation case `bricard`)."""
    import warnings

    from validation.bricard import build

    warnings.simplefilter("ignore")
    return build().build()


def _block() -> object:
    """A block of 8,000 nodes with 20 elastic coordinates, hinged at one end."""
    import inspect
    from dataclasses import replace

    import fem
    import flexmb
    import reduction

    shapes = getattr(fem, "structured_meshes", None) or fem.mesh_shapes
    mesh = shapes.block("tetra10", (1.0, 0.3, 0.1), (14, 7, 4))
    model = fem.Model(
        replace(mesh, points=mesh.points - [0.0, 0.15, 0.0]), fem.Material.isotropic(2e7, 0.3, 1000.0, name="rubber")
    ).with_interfaces(hub="x0", tip="x1")
    names = inspect.signature(reduction.craig_bampton).parameters
    frame = {"reference_frame" if "reference_frame" in names else "attached_to": "hub"}
    call: Callable[..., Any] = reduction.craig_bampton
    basis = call(model, 14, **frame)
    system = flexmb.System(gravity=(0.0, 0.0, -9.81))
    body = system.add(flexmb.flexible_body(model, basis, name="block"))
    system.revolute("hinge", system.ground.at(body["hub"].point), body["hub"], axis=(0, 1, 0))
    return system.build()


if __name__ == "__main__":
    print(json.dumps(measured()))

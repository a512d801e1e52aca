"""What a process waits for: the first step on a machine, with the library of the package and compiled by numba, and the cost of a step of both."""

import json
import os
import sys
import tempfile
import time
from statistics import median

from benchmarks.process import in_own_process
from benchmarks.row import Row

COMMAND = "python -m benchmarks start-up"
PAIRS = 7


def run() -> list[Row]:
    """Seconds beside the limits set for them, and CPU time of a step beside that of functions compiled by numba."""
    with tempfile.TemporaryDirectory() as empty:
        shipped = in_own_process(__name__, "first", "library", empty)
    with tempfile.TemporaryDirectory() as cache:
        first, second = (in_own_process(__name__, "first", "numba", cache) for _ in range(2))
        steps = [
            {kind: in_own_process(__name__, "step", kind, cache) for kind in ("numba", "library")} for _ in range(PAIRS)
        ]
    return [
        Row("start-up: import and first step ever, library", shipped["import"] + shipped["step"], 1.5, 1.0, "s", COMMAND),
        Row("start-up: first step ever, compiled by numba", first["step"], 60.0, 1.0, "s", COMMAND),
        Row("start-up: first step from numba's cache", second["step"], 1.0, 1.0, "s", COMMAND),
        *(
            Row(f"start-up: a step, library / numba, {name}", *(median(pair[kind][name] for pair in steps) for kind in ("library", "numba")), 1.05, "us CPU", COMMAND)
            for name in steps[0]["numba"]
        ),
    ]  # fmt: skip


def step_costs() -> dict[str, float]:
    """CPU microseconds of a step, the least of seven runs: a pendulum, a chain in joint coordinates, a flexible slider-crank."""
    import flexmb
    from benchmarks.chain import chain
    from flexmb import demo

    found = {}
    for name, system, h, steps, options in (
        ("pendulum", chain(1), 1e-4, 4000, {}),
        ("ten bars in joint coordinates", chain(10), 1e-4, 1500, {"coordinates": "joint"}),
        ("flexible slider-crank", demo.build(), 2e-6, 4000, {}),
    ):
        duration = steps * h
        runs = (flexmb.simulate(system, duration, step=h, output_step=duration, **options) for _ in range(7))
        found[name] = min(1e6 * run.statistics.cpu_seconds / run.statistics.steps for run in runs)
    return found


def main() -> None:
    """In a process of its own: `python -m benchmarks.start_up first|step library|numba CACHE` prints one JSON object."""
    what, os.environ["FLEXMB_KERNELS"], os.environ["NUMBA_CACHE_DIR"] = sys.argv[1:]
    if what == "step":
        print(json.dumps(step_costs()))
        return
    start = time.perf_counter()
    import flexmb

    imported = time.perf_counter()
    from benchmarks.chain import chain

    flexmb.simulate(chain(1), 1e-3, step=1e-3)
    print(json.dumps({"import": imported - start, "step": time.perf_counter() - imported}))


if __name__ == "__main__":
    main()

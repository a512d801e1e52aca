"""`parameter_study` on a local Dask cluster, 1,000 variants of the demo with one worker and with two, and in threads."""

import json
import sys
import time
from contextlib import suppress
from statistics import median
from threading import Event, Thread
from typing import Any

from benchmarks.process import in_own_process
from benchmarks.row import Row

VARIANTS = 1000
STEP = 2e-5
GOAL = 1 / 1.8
WARMING = 20
"""Variants before the clock runs: each worker loads its compiled code and reduces its rod."""


def run() -> list[Row]:
    """Wall seconds with two workers over those with one; every variant's outcome must be the same."""
    import numpy as np

    found = {workers: _study(workers) for workers in (1, 2)}
    one, two = (found[workers][1].measure("force in crank pin") for workers in (1, 2))
    if not np.array_equal(one, two):
        raise RuntimeError("parameter-study: one and two workers do not give the same outcomes.")
    name = f"parameter-study, {VARIANTS} variants of the demo, Dask: 2 workers / 1 worker"
    return [Row(name, found[2][0], found[1][0], GOAL, "s wall", "python -m benchmarks parameter-study")]


THREADS = ("one thread", "two threads", "two processes")
PAIRS, FEW = 5, 24
MEMORY, SPEED = 0.6, 1.1


def in_threads() -> list[Row]:
    """Wall seconds and memory of a study in two threads over those in two processes, medians of alternating runs."""
    runs = [{how: in_own_process(__name__, how) for how in THREADS} for _ in range(PAIRS)]
    if any(run[how]["force"] != run["one thread"]["force"] for run in runs for how in THREADS):
        raise RuntimeError("study-threads: the outcomes differ.")
    rows = []
    for quantity, unit, peer, goal in (
        ("wall", "s", "one thread", 1 / 1.6),
        ("wall", "s", "two processes", SPEED),
        ("memory", "GiB", "two processes", MEMORY),
    ):
        ratio = median(run["two threads"][quantity] / run[peer][quantity] for run in runs)
        base = median(run[peer][quantity] for run in runs)
        name = f"study-threads: {FEW} variants of the demo, two threads / {peer}, {quantity}"
        rows.append(Row(name, ratio * base, base, goal, unit, "python -m benchmarks study-threads"))
    return rows


def main() -> None:
    """In a process of its own: `python -m benchmarks.variants HOW` prints one JSON object."""
    import psutil

    import flexmb
    from flexmb.demo import DURATION, build, connecting_rod

    how, done, peak = sys.argv[1], Event(), [0]
    process = psutil.Process()

    def look() -> None:
        while not done.wait(0.05):
            used = process.memory_full_info().uss
            for child in process.children(recursive=True):
                with suppress(psutil.Error):  # it has ended meanwhile
                    used += child.memory_full_info().uss
            peak[0] = max(peak[0], used)

    connecting_rod()
    watch = Thread(target=look, daemon=True)
    watch.start()
    start = time.perf_counter()
    variants = flexmb.full_factorial(speed=[100.0 + 10 * k for k in range(FEW // 4)], gas_force=[1e4, 2e4, 3e4, 4e4])
    workers = 1 if how == "one thread" else 2
    study = flexmb.parameter_study(build, variants, DURATION, step=2e-6, workers=workers, threads="thread" in how)
    wall = time.perf_counter() - start
    done.set()
    watch.join()
    print(json.dumps({"wall": wall, "memory": peak[0] / 2**30, "force": study.measure("force in crank pin").tolist()}))


def _study(workers: int) -> tuple[float, Any]:
    from distributed import Client, LocalCluster

    import flexmb
    from flexmb.demo import DURATION, build

    speeds = [100.0 + 2 * k for k in range(VARIANTS // 10)]
    variants = flexmb.full_factorial(speed=speeds, gas_force=[4e3 * k for k in range(10)])
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(silence_logs=50, **options) as cluster, Client(cluster) as client:
        executor = client.get_executor(pure=False)
        flexmb.parameter_study(build, variants[:WARMING], DURATION, step=STEP, executor=executor)
        start = time.perf_counter()
        study = flexmb.parameter_study(build, variants, DURATION, step=STEP, executor=executor)
        return time.perf_counter() - start, study


if __name__ == "__main__":
    main()

"""`parameter_study` on a local Dask cluster: 1,000 variants of the demo with one worker and with two."""

import time
from typing import Any

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

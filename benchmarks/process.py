"""Measurements in a process of their own, so that time and peak memory belong to nobody else."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def in_own_process(module: str, *arguments: str, threads: int | None = 1) -> dict[str, Any]:
    """Run `python -m module arguments...`; the JSON object that it printed last.

    One thread by default: CPU time is then work, and not idle threads that spin. None: no variable says how many.
    """
    environment = {name: value for name, value in os.environ.items() if name not in THREAD_VARIABLES}
    if threads is not None:
        environment |= dict.fromkeys(THREAD_VARIABLES, str(threads))
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.strip()[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def measured(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """The result of `work()`, and its CPU and wall seconds and this process's peak memory so far in GiB."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform != "darwin" else 2**30)
    return result, {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "memory": peak,
    }

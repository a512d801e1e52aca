"""What a process waits for: the first compilation of the time step on a machine, and the first step with a filled cache."""

import json
import os
import sys
import tempfile
import time

from benchmarks.process import in_own_process
from benchmarks.row import Row


def run() -> list[Row]:
    """Seconds, beside the limits set for them: half a minute, and one second after the import."""
    command = "python -m benchmarks start-up"
    with tempfile.TemporaryDirectory() as cache:
        first, second = (in_own_process(__name__, cache) for _ in range(2))
    return [
        Row("start-up: first step ever, compiled", first["step"], 30.0, 1.0, "s", command),
        Row(f"start-up: first step from the cache (import {second['import']:.2f} s)", second["step"], 1.0, 1.0, "s", command),
    ]  # fmt: skip


def main() -> None:
    """In a process of its own: `python -m benchmarks.start_up CACHE` prints one JSON object."""
    os.environ["NUMBA_CACHE_DIR"] = sys.argv[1]
    start = time.perf_counter()
    import flexmb

    imported = time.perf_counter()
    from benchmarks.chain import chain

    flexmb.simulate(chain(1), 1e-3, step=1e-3)
    print(json.dumps({"import": imported - start, "step": time.perf_counter() - imported}))


if __name__ == "__main__":
    main()

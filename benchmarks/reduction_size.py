"""Craig-Bampton (2 rigid interfaces) from 10,000 to 1.7 million tet10 dofs: growth of time and memory, memory budgets, factors on disk.

Each size in a process of its own, assembly included in its peak memory but not in its time. Two threads; wall time. The factor goes to disk through MUMPS (the extra `mumps`);
where that is missing, the rows that need it are left out.
"""

import json
import sys
import time

import numpy as np

from benchmarks.parts import steel_block
from benchmarks.process import in_own_process, measured
from benchmarks.row import Row

GROWING = ("10k", "30k", "100k", "300k")
AGREEMENT = 1e-9
GIBIBYTE = 2**30


def at_budget() -> list[Row]:
    """294,000 dofs, 30 modes, within a third of the memory that the same takes in core."""
    if _without_mumps("reduction-budget-300k"):
        return []
    command = "python -m benchmarks reduction-budget-300k"
    core = in_own_process(__name__, "300k", "30", threads=2)
    budget = core["memory"] / 3
    disk = in_own_process(__name__, "300k", "30", str(int(budget * GIBIBYTE)), threads=2)
    difference = np.abs(np.divide(disk["eigenvalues"], core["eigenvalues"]) - 1).max()
    if not (difference < AGREEMENT and disk["disk"]):
        raise RuntimeError(
            f"reduction-budget-300k: eigenvalues differ by {difference:.1e}; {disk['disk']:.1f} GiB on disk."
        )
    return [
        Row("reduction-budget-300k time / in core", disk["wall"], core["wall"], 2.5, "s, 2 threads", command),
        Row("reduction-budget-300k peak / budget", disk["memory"], budget, 1.1, "GiB", command),
    ]


def out_of_core() -> list[Row]:
    """1,666,000 dofs, 20 modes, within 8 GiB: a factor of 27 GB on disk. About 40 minutes."""
    if _without_mumps("reduction-1700k"):
        return []
    found = in_own_process(__name__, "1700k", "20", "8GiB", threads=2)
    told = f"reduction-1700k: {found['wall']:.0f} s, {found['disk']:.1f} GiB on disk; peak / budget"
    return [Row(told, found["memory"], 8.0, 1.0, "GiB", "python -m benchmarks reduction-1700k")]


def growth() -> list[Row]:
    """Exponents of n in flops, fill, time and peak memory, beside nested dissection's limits for solids: 2 for work, 4/3 for fill."""
    found = [in_own_process(__name__, size, "20", threads=1) for size in GROWING]
    rows = []
    for quantity, limit, goal in (("flops", 2, 1.1), ("entries", 4 / 3, 1.1), ("cpu", 2, 1.0), ("memory", 4 / 3, 1.0)):
        n, values = (np.log([f[key] for f in found]) for key in ("dofs", quantity))
        values_told = " ".join(f"{f[quantity]:.3g}" for f in found)
        slope = float(np.polyfit(n, values, 1)[0])
        name = f"reduction-growth: exponent of {quantity} ({values_told} at {', '.join(GROWING)}) / nested dissection's"
        rows.append(Row(name, slope, limit, goal, "1 thread", "python -m benchmarks reduction-growth"))
    return rows


def _without_mumps(name: str) -> bool:
    from fem.linear_algebra.factorisations import BACKENDS

    reason = BACKENDS["mumps"].missing()
    if reason is not None:
        print(f"{name} is left out: {reason}", file=sys.stderr)
    return reason is not None


def main() -> None:
    """In a process of its own: `python -m benchmarks.reduction_size SIZE MODES [BUDGET]` prints one JSON object."""
    import reduction

    size, modes, *budget = sys.argv[1:]
    part = steel_block(size).with_interfaces(a="x0", b="x1")
    if budget:
        part = part.with_solver(memory=budget[0], backend="mumps")
    start = time.perf_counter()
    part.K, part.M  # noqa: B018  assembled on first use
    assembly = time.perf_counter() - start
    basis, cost = measured(lambda: reduction.craig_bampton(part, int(modes)))
    found = {
        "dofs": part.ndof,
        "assembly": assembly,
        "entries": basis.options["factor_entries"],
        "flops": basis.options["factor_flops"],
        "disk": basis.options["factor_on_disk"] / GIBIBYTE,
        "eigenvalues": basis.eigenvalues.tolist(),
    }
    print(json.dumps(found | cost))


if __name__ == "__main__":
    main()

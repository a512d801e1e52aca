"""What every reduction method costs on a tet10 part with 103,000 dofs, in factorisations of its stiffness matrix.

Two rigid interfaces; a band that holds nine natural frequencies, within 1 %. The unit is the CPU time of one factorisation of K (held at its interfaces) in the same
process. Each goal is a bound of what the method's solves should cost; no method solves one vector at a time. Balanced truncation (40 complex factorisations of four times the
cost each) is left out for its time.
"""

import json
import sys
import time

from benchmarks.parts import steel_block
from benchmarks.process import in_own_process
from benchmarks.row import Row

BAND, TOLERANCE, MODES = (0.0, 3000.0), 0.01, 20
GOALS = {
    "craig-bampton": 3.0, "craig-chang": 4.0, "herting": 5.0, "modal": 3.0, "krylov-moments": 3.0, "krylov": 20.0, "gramian": 4.0, "irka": 4.0, "choose": 10.0,
}  # fmt: skip


def run() -> list[Row]:
    """One row a method; ours is its CPU time, the peer one factorisation."""
    command = "python -m benchmarks reduction-methods-100k"
    rows = []
    for method, goal in GOALS.items():
        found = in_own_process(__name__, method)
        name = f"{method}: {found['coordinates']} coordinates" + (
            f", error {found['error']:.1e}" if found["error"] else ""
        )
        rows.append(Row(name, found["method"], found["factor"], goal, "CPU s, 1 thread / factorisation", command))
    return rows


def main() -> None:
    """In a process of its own: `python -m benchmarks.reduction_methods METHOD` prints one JSON object."""
    import reduction
    from reduction.solutions.statics import statics

    part = steel_block("100k").with_interfaces(a="x0", b="x1")
    part.K, part.M  # noqa: B018  assembly is in neither
    start = time.process_time()
    statics(part).release()
    factor = time.process_time() - start
    methods = {
        "craig-bampton": lambda: reduction.craig_bampton(part, MODES),
        "modal": lambda: reduction.modal(part, MODES),
        "krylov-moments": lambda: reduction.krylov(part, MODES),
        "irka": lambda: reduction.irka(part, MODES - 10, band=BAND),
    }
    who = sys.argv[1]
    start = time.process_time()
    basis = methods[who]() if who in methods else reduction.reduce(part, who, band=BAND, tolerance=TOLERANCE)
    method = time.process_time() - start
    print(
        json.dumps(
            {"method": method, "factor": factor, "coordinates": basis.n_modes, "error": basis.options.get("error")}
        )
    )


if __name__ == "__main__":
    main()

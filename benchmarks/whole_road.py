"""From a mesh file of 103,000 dofs to the first picture of its motion: each part of the road, and the limits set for them."""

import json
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.parts import steel_block
from benchmarks.process import in_own_process, measured
from benchmarks.row import Row

COMMAND = "python -m benchmarks whole-road"
MODES = 30
TO_BODY, FIELD = 13.0, 0.3
"""CPU seconds from the file to the body, and the part of the time of the reduction that the second-order field may take."""


def run() -> list[Row]:
    """CPU time of a process of its own with one thread."""
    import fem

    with tempfile.TemporaryDirectory() as folder:
        path = fem.write_mesh(steel_block("100k").mesh, Path(folder) / "block.msh")
        cost = in_own_process(__name__, str(path))
    field = cost.pop("second order")
    whole = sum(cost.values())
    body = sum(cost[part] for part in ("read", "assemble", "reduce", "body"))
    return [
        *(Row(f"whole-road: {part} / all", seconds, whole, float("inf"), "CPU s", COMMAND) for part, seconds in cost.items()),
        Row("whole-road: second-order field / reduction", field, cost["reduce"], FIELD, "CPU s", COMMAND),
        Row("whole-road: mesh file to body / allowed", body, TO_BODY, 1.0, "CPU s", COMMAND),
    ]  # fmt: skip


def main() -> None:
    """In a process of its own: `python -m benchmarks.whole_road MESH` prints one JSON object, CPU seconds of each part."""
    cost: dict[str, float] = {}

    def part(name: str, work: Callable[[], Any]) -> Any:
        result, found = measured(work)
        cost[name] = found["cpu"]
        return result

    def swinging() -> Any:
        system = flexmb.System(gravity=(0, 0, -9.81))
        system.revolute("hinge", system.ground, system.add(body)["root"], axis=(0, 1, 0))
        return flexmb.simulate(system, 0.1, step=1e-4)

    def drawn() -> Path:
        from flexmb.plots.pictures import picture_result

        return picture_result(result, path.with_suffix(".png"))

    fem, reduction, flexmb = part("import", lambda: [import_module(name) for name in ("fem", "reduction", "flexmb")])
    path = Path(sys.argv[1])
    block = part("read", lambda: fem.Model(fem.read_mesh(path), fem.Material.steel()).with_interfaces(root="x0"))
    part("assemble", lambda: (block.K, block.M))
    basis = part("reduce", lambda: reduction.craig_bampton(block, MODES, reference_frame="root"))
    part("second order", lambda: reduction.second_order(block, basis))  # which the body contains: not a part of the sum
    body = part("body", lambda: flexmb.flexible_body(block, basis, name="block"))
    result = part("run", swinging)
    part("picture", drawn)
    print(json.dumps(cost))


if __name__ == "__main__":
    main()

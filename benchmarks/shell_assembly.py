"""Time to assemble mass and stiffness of shells, per dof, beside that of solids of the same order."""

import time
from statistics import median
from typing import Any

from benchmarks.row import Row

COMMAND = "python -m benchmarks shell-assembly"
SOLIDS = {"hexahedron": (24, 16, 12), "hexahedron20": (14, 8, 6)}
SHELLS = {
    "quad": ((70, 40), "hexahedron"),
    "triangle": ((70, 40), "hexahedron"),
    "quad8": ((42, 24), "hexahedron20"),
    "quad9": ((35, 20), "hexahedron20"),
    "triangle6": ((35, 20), "hexahedron20"),
}
"""Divisions of a rectangle into shells, of about 17,000 dofs, and the solids beside them."""


def run() -> list[Row]:
    """CPU time a dof. Tetrahedra of ten nodes take about half the time of hexahedra of twenty."""
    from fem import Material, Shell
    from fem.mesh.structured_meshes import block, sheet

    steel = Material.steel()
    solids = {kind: _cost(block(kind, (1.0, 0.5, 0.3), n), steel) for kind, n in SOLIDS.items()}
    return [
        Row(f"shell-assembly: {kind} / {solid}", _cost(sheet(kind, (1.0, 0.5), n), Shell(steel, 0.01)), solids[solid],
            2.0, "us CPU a dof", COMMAND)
        for kind, (n, solid) in SHELLS.items()
    ]  # fmt: skip


def _cost(mesh: Any, material: Any) -> float:
    """Microseconds a dof, the median of five."""
    from fem import Model

    found = []
    for _ in range(5):
        model = Model(mesh, material)
        start = time.process_time()
        _ = (model.M, model.K)
        found.append(1e6 * (time.process_time() - start) / model.ndof)
    return median(found)

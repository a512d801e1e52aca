"""The integrators beside each other: error of a flexible pendulum's tip, energy residual, CPU time; the figures of docs/time.md.

The peer of every row is generalised-alpha with a step of 2e-3, so that no goal is set: the rows are for reading.
"""

from typing import Any

import numpy as np

from benchmarks.row import Row

COMMAND = "python -m benchmarks integrators"
DURATION, OUTPUT, NO_GOAL = 2.0, 0.02, 1e12
SETTINGS: dict[str, dict[str, Any]] = {
    "generalised-alpha, step 2e-3": {"step": 2e-3},
    "generalised-alpha, step 1e-2": {"step": 1e-2},
    "generalised-alpha, step 2e-4": {"step": 2e-4},
    "hht, step 2e-3": {"step": 2e-3, "method": "hht"},
    "radau, tolerance 1e-5": {"method": "radau", "tolerance": 1e-5},
    "radau, tolerance 1e-7": {"method": "radau", "tolerance": 1e-7},
    "radau, tolerance 1e-9": {"method": "radau", "tolerance": 1e-9},
    "bdf, tolerance 1e-5": {"method": "bdf", "tolerance": 1e-5},
    "bdf, tolerance 1e-7": {"method": "bdf", "tolerance": 1e-7},
    "explicit, tolerance 1e-7": {"method": "explicit", "tolerance": 1e-7},
    "energy-momentum, step 1e-2": {"step": 1e-2, "method": "energy-momentum"},
    "energy-momentum, step 2e-3": {"step": 2e-3, "method": "energy-momentum"},
}


def run() -> list[Row]:
    """Each setting once, after a reference by Radau IIA with a tolerance of 1e-12."""
    import flexmb

    system = pendulum()
    exact = flexmb.simulate(system, DURATION, method="radau", tolerance=1e-12, output_step=OUTPUT)
    found = {}
    for name, options in SETTINGS.items():
        result = flexmb.simulate(system, DURATION, output_step=OUTPUT, **options)
        error = np.abs(result.position("rubber.tip") - exact.position("rubber.tip")).max()
        energy = np.abs(result.ledger.residual).max() / result.ledger.exchange
        found[name] = {"m, error of the tip": error, "of the exchanged energy": energy, "s CPU": result.statistics.cpu_seconds}  # fmt: skip
    peer = next(iter(found.values()))
    return [
        Row(f"integrators: {name}", float(value), float(peer[unit]), NO_GOAL, unit, COMMAND)
        for name, values in found.items()
        for unit, value in values.items()
    ]


def pendulum() -> Any:
    """A rubber-like bar of 1 m that swings from the horizontal, three lowest coordinates, geometric stiffness."""
    import fem
    import flexmb
    import reduction
    from fem.mesh.structured_meshes import block
    from flexmb.analyses.fidelity import with_modes

    soft = fem.Material.isotropic(5e7, 0.45, 1100.0)
    part = fem.Model(block("hexahedron20", (1.0, 0.1, 0.1), (10, 1, 1)), soft, name="rubber")
    part = part.with_interfaces(root="x0", tip="x1")
    body = with_modes(flexmb.flexible_body(part, reduction.craig_bampton(part, 4, reference_frame="root")), 3)
    system = flexmb.System(gravity=(0, 0, -9.81), name="pendulum")
    placed = system.add(body)
    system.revolute("hinge", system.ground, placed["root"], axis=(0, 1, 0))
    return system

"""A time step of a flexible body hinged at an averaging interface of many nodes, against one of few nodes.

The interface is six rows made once, so the ratio must be one whatever the number of nodes.
"""

import numpy as np

from benchmarks.row import Row

REPEATS = 7
GOAL = 1.15


def run() -> list[Row]:
    """Median CPU time a step, the two runs in turn."""
    import flexmb

    bodies = {nodes: _hinged(divisions) for nodes, divisions in (("few", 1), ("many", 8))}
    for mechanism in bodies.values():
        flexmb.simulate(mechanism, 0.001, step=1e-4)  # compiles
    times: dict[str, list[float]] = {key: [] for key in bodies}
    for _ in range(REPEATS):
        for key, mechanism in bodies.items():
            statistics = flexmb.simulate(mechanism, 0.3, step=1e-4, output_step=0.05).statistics
            times[key].append(1e6 * statistics.cpu_seconds / statistics.steps)
    medians = {key: float(np.median(values)) for key, values in times.items()}
    name = f"step-interface-nodes, hinge of {_nodes(8)} / {_nodes(1)} nodes"
    return [
        Row(name, medians["many"], medians["few"], GOAL, "us CPU a step", "python -m benchmarks step-interface-nodes")
    ]


def _nodes(divisions: int) -> int:
    """Nodes of one end face of hex20 cells."""
    corners, edges = (divisions + 1) ** 2, 2 * divisions * (divisions + 1)
    return corners + edges


def _hinged(divisions: int) -> object:
    """A beam of hex20 with `divisions` cells each way in its section, hinged at its averaging end interface."""
    import flexmb
    import reduction
    from fem import Interface, Material, Model, structured_meshes

    mesh = structured_meshes.block("hexahedron20", (1.0, 0.05, 0.05), (10, divisions, divisions))
    part = Model(mesh, Material.steel()).with_interfaces(hinge=Interface("x0", kind="average"))
    body = flexmb.flexible_body(part, reduction.modal(part, modes=20), name="beam")
    system = flexmb.System(gravity=(0, -9.81, 0))
    handle = system.add(body)
    system.revolute("hinge", system.ground.at(handle["hinge"].point), handle["hinge"], axis=(0, 0, 1))
    return system.build()

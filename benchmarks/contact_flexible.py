"""Flexible surfaces in contact: steps of a reduced block that rests on a plane, with 8 and with 32 nodes that carry, of one that is apart, and of one that rests on another flexible block or is apart from it; and the residual compliance of a large part."""

import time
from typing import Any

from benchmarks.growth import cost
from benchmarks.row import Row

COMMAND = "python -m benchmarks contact-flexible"
FEW_US, MANY_US, PAIR_US, APART_US = 25.0, 120.0, 400.0, 0.2
"""Goals in CPU microseconds a step. Siconos takes 8 to 19 for the cone problem of 4 contacts alone, and 330 to 530 for 16 (on two shared cores)."""
MODES = 20
LARGE_S, LARGE_MB = 20.0, 72.0
"""Goals for the residual compliance of 1,000 nodes of a part of 100,000 degrees of freedom: CPU seconds beyond the reduction, and megabytes."""


def block(cells: tuple[int, int, int], height: float, touches: bool = True) -> Any:
    """A block of 20 elastic coordinates on a plane, at a `height` above it."""
    import fem
    import flexmb
    import reduction
    from flexmb.contact import Plane

    mesh = fem.structured_meshes.block("hexahedron", (0.3, 0.1, 0.1), cells)
    part = fem.Model(mesh, fem.Material.isotropic(1e8, 0.3, 1000.0)).with_surfaces(below="z0")
    basis = reduction.contact_basis(part, MODES, frictionless=True)
    body = flexmb.flexible_body(part, basis, name="block", modal_damping=0.1, geometric_stiffness="none")
    system = flexmb.System(gravity=(0, 0, -9.81 if height == 0 else 0.0))
    own = system.add(body, position=(0, 0, height))
    if touches:
        floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
        system.contact("floor", floor, own.surface("below"))
    return system.build()


def pair(gap: float, touches: bool = True) -> Any:
    """A block of 20 elastic coordinates, with 32 nodes, at a `gap` over one that is held, with 24 nodes."""
    import fem
    import flexmb
    import reduction

    material = fem.Material.isotropic(1e8, 0.3, 1000.0)
    upper, lower = (
        fem.Model(fem.structured_meshes.block("hexahedron", (0.3, 0.1, 0.1), cells), material)
        for cells in ((7, 3, 2), (5, 3, 2))
    )
    upper, lower = upper.with_surfaces(face="z0"), lower.with_interfaces(held="z0").with_surfaces(face="z1")
    system = flexmb.System(gravity=(0, 0, -9.81 if gap == 0 else 0.0))
    surfaces = []
    for name, part, modes, z in (("up", upper, MODES, 0.1 + gap), ("low", lower, MODES - 6, 0.0)):
        basis = reduction.contact_basis(part, modes, frictionless=True)
        body = flexmb.flexible_body(part, basis, name=name, modal_damping=0.1, geometric_stiffness="none")
        own = system.add(body, position=(0, 0, z))
        surfaces.append(own.surface("face"))
    system.fixed("bed", system.ground.at(own["held"].point), own["held"])
    if touches:
        system.contact("pair", *surfaces)
    return system.build()


def large() -> tuple[int, int, float, float]:
    """Degrees of freedom and surface nodes of a block of quadratic tetrahedra, CPU seconds of its residual compliance after the reduction, and the megabytes of the matrix."""
    import fem
    import reduction

    mesh = fem.structured_meshes.block("tetra10", (0.3, 0.2, 0.2), (15, 15, 17))
    part = fem.Model(mesh, fem.Material.steel()).with_interfaces(held="x0").with_surfaces(face="z1")
    basis = reduction.craig_bampton(part, MODES)
    before = time.process_time()
    matrix = reduction.residual_compliance(part, basis).matrix
    return part.ndof, len(part.surfaces["face"].nodes), time.process_time() - before, matrix.nbytes / 1e6


def run() -> list[Row]:
    """CPU time a step, and time and memory of the residual compliance, against the goals."""
    few, many = (cost(block(cells, 0.0), steps=4000, step=1e-4)[0] for cells in ((3, 1, 2), (7, 3, 2)))
    apart, free = (cost(block((7, 3, 2), 1.0, touches), steps=20000, step=1e-4)[0] for touches in (True, False))
    both = cost(pair(0.0), steps=2000, step=1e-4)[0]
    distant, alone = (cost(pair(1.0, touches), steps=20000, step=1e-4)[0] for touches in (True, False))
    ndof, nodes, seconds, megabytes = large()
    which = f"contact-flexible: residual compliance of {nodes} nodes of {ndof} dofs, beyond the reduction / goal"
    unit = "us CPU a step"
    return [
        Row("contact-flexible: 20 elastic coordinates, 8 nodes / goal", few, FEW_US, 1.0, unit, COMMAND),
        Row("contact-flexible: 20 elastic coordinates, 32 nodes / goal", many, MANY_US, 1.0, unit, COMMAND),
        Row("contact-flexible: two flexible surfaces of 32 and 24 nodes / goal", both, PAIR_US, 1.0, unit, COMMAND),
        Row("contact-flexible: the same, apart / goal", max(distant - alone, 0.0), APART_US, 1.0, unit, COMMAND),
        Row(which, seconds, LARGE_S, 1.0, "s CPU", COMMAND),
        Row("contact-flexible: its matrix / goal", megabytes, LARGE_MB, 1.0, "MB", COMMAND),
        Row("contact-flexible: a surface of 32 nodes that is apart / goal", max(apart - free, 0.0), APART_US, 1.0, unit, COMMAND),
    ]  # fmt: skip

"""Steps with flexible surfaces in contact: a reduced block that rests on a plane, with 8 and with 32 nodes that carry, one that is apart, and one that rests on another flexible block or is apart from it."""

from typing import Any

from benchmarks.growth import cost
from benchmarks.row import Row

COMMAND = "python -m benchmarks contact-flexible"
FEW_US, MANY_US, PAIR_US, APART_US = 25.0, 120.0, 400.0, 0.2
"""Goals in CPU microseconds a step. Siconos takes 8 to 19 for the cone problem of 4 contacts alone, and 330 to 530 for 16 (on two shared cores)."""
MODES = 20


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


def run() -> list[Row]:
    """CPU time a step against the goals."""
    few, many = (cost(block(cells, 0.0), steps=4000, step=1e-4)[0] for cells in ((3, 1, 2), (7, 3, 2)))
    apart, free = (cost(block((7, 3, 2), 1.0, touches), steps=20000, step=1e-4)[0] for touches in (True, False))
    both = cost(pair(0.0), steps=2000, step=1e-4)[0]
    distant, alone = (cost(pair(1.0, touches), steps=20000, step=1e-4)[0] for touches in (True, False))
    unit = "us CPU a step"
    return [
        Row("contact-flexible: 20 elastic coordinates, 8 nodes / goal", few, FEW_US, 1.0, unit, COMMAND),
        Row("contact-flexible: 20 elastic coordinates, 32 nodes / goal", many, MANY_US, 1.0, unit, COMMAND),
        Row("contact-flexible: two flexible surfaces of 32 and 24 nodes / goal", both, PAIR_US, 1.0, unit, COMMAND),
        Row("contact-flexible: the same, apart / goal", max(distant - alone, 0.0), APART_US, 1.0, unit, COMMAND),
        Row("contact-flexible: a surface of 32 nodes that is apart / goal", max(apart - free, 0.0), APART_US, 1.0, unit, COMMAND),
    ]  # fmt: skip

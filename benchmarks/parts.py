"""The block that most benchmarks reduce, in several sizes."""

from typing import Any

SLAB = (1.0, 0.3, 0.1)
PARTS = {
    "10k": (SLAB, (20, 6, 2)),
    "30k": (SLAB, (32, 10, 3)),
    "80k": (SLAB, (44, 13, 5)),
    "100k": (SLAB, (50, 15, 5)),
    "300k": (SLAB, (72, 22, 7)),
    "1700k": ((1.5, 0.22, 0.2), (150, 22, 20)),
}
"""Edge lengths and divisions; six tetrahedra a brick. The names say about how many dofs."""


def steel_block(size: str) -> Any:
    """A block of quadratic tetrahedra."""
    from fem import Material, Model
    from fem.mesh.structured_meshes import block

    return Model(block("tetra10", *PARTS[size]), Material.steel())

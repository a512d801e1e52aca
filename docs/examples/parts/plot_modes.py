"""
Shapes of a reduced body
========================

The six softest shapes of the rod, with their natural frequencies when it is free.
"""

import fem
import flexmb
import meshes
import reduction
from flexmb.plots.pictures import picture_modes

mesh = fem.read_mesh(meshes.path("conrod.msh"))
part = fem.Model(mesh, fem.Material.steel()).with_interfaces(big="BIG_END", small="SMALL_END")
rod = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=10), name="rod")
picture_modes(rod, "modes.png")

"""
How many shapes does the band ask for?
======================================

The singular values behind a Gramian basis fall fast: where they are cut decides the error.
"""

import fem
import meshes
import reduction
from flexmb.plots.reduction_plots import plot_singular_values

mesh = fem.read_mesh(meshes.path("conrod.msh"))
part = fem.Model(mesh, fem.Material.steel()).with_interfaces(big="BIG_END", small="SMALL_END")
basis = reduction.gramian(part, band=(0, 5000), tolerance=0.01)
plot_singular_values(basis, "values.png")

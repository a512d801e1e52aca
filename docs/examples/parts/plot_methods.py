"""
Methods at the same size
========================

Relative error of the response between the interfaces of the rod, 22 coordinates each.
"""

import fem
import meshes
import reduction
from flexmb.plots.reduction_plots import plot_response_errors

mesh = fem.read_mesh(meshes.path("conrod.msh"))
part = fem.Model(mesh, fem.Material.steel()).with_interfaces(big="BIG_END", small="SMALL_END")
band = (0, 6000)
with reduction.prepared(part):  # one factorisation for all of them
    bases = [
        reduction.craig_bampton(part, modes=16),
        reduction.craig_chang(part, modes=10),
        reduction.krylov(part, modes=10),
        reduction.gramian(part, modes=10, band=band),
    ]
    errors = [reduction.response_error(part, basis, band) for basis in bases]
print([(basis.method, basis.n_modes) for basis in bases])
plot_response_errors(errors, "methods.png", tolerance=0.01)

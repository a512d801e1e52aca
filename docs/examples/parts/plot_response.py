"""
Response of the full and of the reduced part
============================================

Pull at one hole, look at the other: the reduced rod follows the full model through its resonances.
"""

import numpy as np

import fem
import meshes
import reduction
from flexmb.plots.reduction_plots import plot_frequency_responses

mesh = fem.read_mesh(meshes.path("conrod.msh"))
part = fem.Model(mesh, fem.Material.steel()).with_interfaces(big="BIG_END", small="SMALL_END")
with reduction.prepared(part):
    basis = reduction.choose(part, band=(0, 4000), tolerance=0.05)
    frequencies = np.linspace(20, 5000, 250).tolist()
    full = reduction.frequency_response(part, band=(0, 5000))
    small = reduction.frequency_response(part, frequencies, basis=basis)
plot_frequency_responses([full, small], "response.png")

"""
Rigid or average interfaces
===========================

A short thick bar is stiffer when its ends are held rigid (RBE2) than when only their mean moves (RBE3).
"""

import matplotlib.pyplot as plt
import numpy as np

import fem
import reduction

lengths = np.array([0.1, 0.2, 0.4, 0.8])
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for kind in ("rigid", "average"):
    ratio = []
    for length in lengths:
        mesh = fem.structured_meshes.block("hexahedron20", (length, 0.1, 0.1), (max(2, int(length / 0.05)), 3, 3))
        part = fem.Model(mesh, fem.Material.steel())
        part = part.with_interfaces(left=fem.Interface("x0", kind=kind), right=fem.Interface("x1", kind=kind))
        basis = reduction.guyan(part, reference_frame="left")
        B = basis.interface_modes["right"][0]  # motion along the bar, per coordinate
        flexibility = B @ (B / basis.eigenvalues)
        ratio.append(length / (2.1e11 * 0.01) / flexibility)
    axis.plot(lengths / 0.1, ratio, "o-", label=kind)
axis.axhline(1, color="k", lw=0.8, ls=":", label="bar theory")
axis.set(xlabel="length over thickness", ylabel="axial stiffness over E A / L")
axis.legend()
plt.show()

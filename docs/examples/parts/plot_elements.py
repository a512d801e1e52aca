"""
Which element?
==============

First bending frequency of a slender clamped bar, by the kind of its elements, over the value of beam theory. Linear tetrahedra lock.
"""

import matplotlib.pyplot as plt
import numpy as np

import fem
import reduction

kinds = ("tetra", "wedge", "hexahedron", "tetra10", "wedge15", "hexahedron20")
steel = fem.Material.steel()
exact = 1.8751**2 / (2 * np.pi) * np.sqrt(2.1e11 * 0.04**2 / 12 / 7850)  # thickness 0.04 m, length 1 m


def clamped(kind):
    mesh = fem.structured_meshes.block(kind, (1.0, 0.06, 0.04), (20, 2, 2))
    part = fem.Model(mesh, steel).with_interfaces(root=fem.Interface("x0", kind="average"))
    return reduction.craig_bampton(part, modes=1, reference_frame="root").frequencies[0]


excess = [100 * (clamped(kind) / exact - 1) for kind in kinds]
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.barh(kinds, excess, color=["tab:red" if e > 5 else "tab:blue" for e in excess])
for k, value in enumerate(excess):
    axis.text(max(value, 0) + 1, k, f"{value:.1f} %", va="center")
axis.set(xlabel="frequency above beam theory (%)", xlim=(-2, 95))
axis.invert_yaxis()
plt.show()

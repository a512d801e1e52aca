"""
A fold makes a sheet stiff
==========================

A steel sheet of 1 mm, clamped at its left end: flat, and with both edges folded up. Shells of six degrees of freedom a node.
"""

import numpy as np

import fem
import flexmb
import reduction
from flexmb.plots.pictures import picture_modes

flat = fem.structured_meshes.sheet("quad", (0.6, 0.24), (30, 12))
x, y, _ = flat.points.T
beyond = np.maximum(np.abs(y - 0.12) - 0.08, 0.0)  # the outer 40 mm of each side stand upright
points = np.column_stack([x, 0.12 + np.clip(y - 0.12, -0.08, 0.08), beyond])
folded = fem.Mesh(points, flat.cells, flat.node_sets)


def body(mesh, name):
    part = fem.Model(mesh, fem.Shell(fem.Material.steel(), 0.001)).with_interfaces(root="x0")
    return flexmb.flexible_body(part, reduction.craig_bampton(part, modes=6, reference_frame="root"), name=name)


print("first frequencies (Hz): flat", body(flat, "flat").frequencies[:3].round(1))
channel = body(folded, "channel")
print("folded", channel.frequencies[:3].round(1))
picture_modes(channel, "modes.png")

"""
A rubber block on a table
=========================

A block of rubber is thrown onto a table with a tilt. The nodes of its lower face touch one after the other; each
carries the force that keeps it on the table, so that the pressure runs along the face.
"""

import matplotlib.pyplot as plt
import numpy as np

import fem
import flexmb
import reduction
from flexmb.contact import Plane

rubber = fem.Material.isotropic(1e7, 0.3, 1000.0)
part = fem.Model(fem.structured_meshes.block("hexahedron", (0.3, 0.15, 0.1), (12, 6, 3)), rubber)
part = part.with_surfaces(below="z0")
body = flexmb.flexible_body(part, reduction.contact_basis(part, modes=20), name="block", modal_damping=0.02)

system = flexmb.System(gravity=(0, 0, -9.81))
block = system.add(body, position=(0, 0, 0.02), orientation=(0, -0.03, 0), velocity=(1.0, 0, -1.5))
table = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
system.contact("table", table, block.surface("below"), friction=0.4)
result = flexmb.simulate(system, 0.05, step=5e-5, output_step=2e-4)

over = result.surface_contact("table")
total = result.contact("table").normal_force
surface = body.surfaces["below"]
first = int(np.argmax(total > 0.05 * total.max()))
shown = [first, (first + int(total.argmax())) // 2, int(total.argmax())]

figure, axes = plt.subplot_mosaic("fff;012", figsize=(8, 5), layout="constrained", height_ratios=(2, 1))
axes["f"].plot(1e3 * result.t, total)
axes["f"].set(xlabel="time (ms)", ylabel="normal force (N)")
highest = 1e-3 * over.pressure[shown].max()
for axis, k in zip((axes[name] for name in "012"), shown, strict=True):
    axes["f"].plot(1e3 * result.t[k], total[k], "o", color="tab:red")
    x, y = surface.points[:, :2].T
    picture = axis.tripcolor(x, y, 1e-3 * over.pressure[k], shading="gouraud", vmin=0, vmax=highest, cmap="magma_r")
    axis.set(aspect="equal", title=f"{1e3 * result.t[k]:.1f} ms", xlabel="x (m)")
figure.colorbar(picture, ax=[axes[name] for name in "012"], label="pressure (kPa)")
plt.show()

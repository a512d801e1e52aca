"""
Two gears in mesh
=================

A pinion drives a wheel, both of plastic and flexible. The contact runs over the flank of a tooth from its root to its tip; before and
after, the neighbours share the load. The nodes of the flanks have no mass: static shapes come and go with the contact.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import SpurGear, spur_gear

pinion, wheel = (SpurGear(teeth=z, module=2e-3, width=0.01, relief=1e-4) for z in (20, 30))
plastic = fem.Material.isotropic(3e9, 0.38, 1400.0)
system = flexmb.System()
start, speed, handles = -0.75 * pinion.pitch, 10.0, []
bodies = []
for gear, x, angle, name in (
    (pinion, 0.0, start, "pinion"),
    (wheel, pinion.pitch_radius + wheel.pitch_radius, np.pi - 0.5 * wheel.pitch - start * 2 / 3, "wheel"),
):
    mesh = spur_gear(gear, (20, 4, 6, 3, 1), rim=1.5, shown=3)
    part = fem.Model(mesh, plastic)
    part = part.with_interfaces(bore=fem.Interface("bore", point=(0, 0, 0.005))).with_surfaces(teeth="left")
    basis = reduction.contact_basis(part, modes=8, frictionless=True)
    body = flexmb.flexible_body(part, basis, name=name, modal_damping=0.3, geometric_stiffness="none")
    handles.append(system.add(body, position=(x, 0, 0), orientation=(0, 0, angle)))
    system.revolute(f"{name} shaft", system.ground.at((x, 0, 0.005)), handles[-1]["bore"], axis=(0, 0, 1))
    bodies.append(body)
system.drive("pinion shaft", flexmb.time_functions.constant_speed(speed))
system.set_speed("wheel shaft", -speed * 2 / 3)
torque = flexmb.expression("T * min(t / 3e-3, 1) - c * (xdot - rate)", T=5.0, c=0.1, rate=-speed * 2 / 3)
system.motor("load", "wheel shaft", torque)
system.contact("mesh", handles[0].surface("teeth"), handles[1].surface("teeth"))
result = flexmb.simulate(system, 1.5 * pinion.pitch / speed, step=3e-4, output_step=3e-4)

# pressure on the flank of the middle tooth, at its edge z = 0, over the angle of the pinion
over = result.surface_contact("mesh")
at = np.asarray(bodies[0].surfaces["teeth"].points)
line = np.flatnonzero((np.abs(np.arctan2(at[:, 1], at[:, 0])) < 0.5 * pinion.pitch) & (at[:, 2] == 0))
line = line[np.argsort(np.hypot(*at[line, :2].T))]
turned = np.rad2deg(start + speed * result.t)
pressure = 1e-6 * over.pressure[:, line]

figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained", width_ratios=(1, 1.2))
height = 1e3 * (np.hypot(*at[line, :2].T) - pinion.root_radius)
picture = axes[1].pcolormesh(turned, height, pressure.T, shading="gouraud", cmap="magma_r")
axes[1].set(xlabel="angle of the pinion (degrees)", ylabel="height over the root (mm)")
figure.colorbar(picture, ax=axes[1], label="pressure (MPa)")

k = int(np.argmin(np.abs(turned + 90 / pinion.teeth)))
for body in bodies:
    origin, R = (value[k] for value in result.frame(body.name))
    cells = body.mesh.cells[0].connectivity[:, :4]
    points = 1e3 * (origin + body.mesh.points @ R.T)
    axes[0].add_collection(PolyCollection(points[cells][:, :, :2], facecolor="0.93", edgecolor="0.6", linewidth=0.3))
places, loaded = 1e3 * over.point[k], over.normal_force[k] > 0
axes[0].scatter(
    *places[loaded, :2].T,
    c=1e-6 * over.pressure[k, loaded],
    cmap="magma_r",
    s=25,
    zorder=3,
    vmin=0,
    vmax=pressure.max(),
)
axes[0].set(xlim=(16, 24), ylim=(-4.5, 4.5), aspect="equal", xlabel="x (mm)", ylabel="y (mm)")
axes[1].axvline(turned[k], color="tab:blue", linewidth=0.8)
plt.show()

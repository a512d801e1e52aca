"""
A machine foot: from the mesh to a contact that is checked
==========================================================

A machine of 50 kg stands on a pad of polyurethane, which is bonded to its foot and rests on the floor with friction.
How far does the pad yield, and what happens when the foot is set down from a height of 2 mm? Each answer has a check:
statics by hand, the duration of the impact, and the energy ledger.
"""

from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

import fem
import flexmb
import reduction
from flexmb.plots import pictures

# %%
# The face that touches the floor is a surface, the bonded one an interface. The basis has the modes of the pad held at
# the floor; the statics of the surface is exact with any basis.
size, young, mass, g = (0.12, 0.08, 0.04), 5e7, 50.0, 9.81
part = fem.Model(fem.structured_meshes.block("hexahedron", size, (6, 4, 2)), fem.Material.isotropic(young, 0.4, 1200.0))
part = part.with_interfaces(top="z1").with_surfaces(below="z0")
pad = flexmb.flexible_body(part, reduction.contact_basis(part, modes=12), name="pad", modal_damping=0.05)
machine = flexmb.rigid_body("machine", mass=mass, inertia=(0.12,) * 3, centre=(0.06, 0.04, 0.1))


def foot(height):
    """The machine with its pad at a height above the floor."""
    system = flexmb.System(gravity=(0, 0, -g), name="machine foot", units="SI")
    below, above = (system.add(body, position=(0, 0, height)) for body in (pad, machine))
    system.fixed("bond", below["top"], above)
    floor = flexmb.contact.Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    system.contact("floor", floor, below.surface("below"), friction=0.6)
    return system


# %%
# At rest the floor carries the weight. A pad that is free to widen yields by W L / E A; bond and friction hold
# the faces of this one, so that it yields by two thirds of that.
rest = flexmb.linear.equilibrium(foot(0.0)).result
weight, area = g * (mass + pad.invariants.mass), size[0] * size[1]
carried = rest.surface_contact("floor")
sunk = size[2] - rest.position("pad.top")[-1, 2]
free = g * mass * size[2] / (young * area)
print(f"carried {carried.normal_force.sum():.3f} N of {weight:.3f} N")
print(f"yields {1e6 * sunk:.1f} um; free to widen {1e6 * free:.1f} um")
assert np.isclose(carried.normal_force.sum(), weight, rtol=1e-9)
assert 0.6 < sunk / free < 0.7

# %%
# Set down from 2 mm, the machine bounces. A mass on the spring of the pad leaves after half a period, to which the
# vibrations of the pad add a ripple of the force. The verdict on the energies says whether the steps are short enough.
fall = flexmb.simulate(foot(0.002), 0.1, step=1.25e-5, output_step=1e-4)
over, force = fall.surface_contact("floor"), fall.contact("floor").normal_force
touching = fall.t[(force > 0.01 * force.max()) & (fall.t < 0.04)]
half = np.pi * np.sqrt(mass * sunk / (mass * g))
print(fall.ledger)
print(f"in touch for {1e3 * np.ptp(touching):.2f} ms; half a period {1e3 * half:.2f} ms")
assert abs(np.ptp(touching) / half - 1) < 0.1

with TemporaryDirectory() as folder:
    k = int(force.argmax())
    path = pictures.picture_result(fall, f"{folder}/pressed.png", k, magnification=3, pressure=True)
    picture = plt.imread(path)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", width_ratios=(2, 3))
left.plot(1e3 * fall.t, 1e-3 * force)
left.set(xlabel="time (ms)", ylabel="normal force (kN)")
right.imshow(picture)
right.axis("off")
plt.show()

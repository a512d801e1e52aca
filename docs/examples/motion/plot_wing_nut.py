"""
The wing nut that turns over
============================

Free rotation about the axis of middle inertia is unstable; the spin axis flips, and momentum and energy stay.
"""

import matplotlib.pyplot as plt

import flexmb

system = flexmb.System(name="wing nut")
system.add(flexmb.rigid_body("nut", mass=1.0, inertia=(1.0, 2.0, 3.0)), angular_velocity=(1e-3, 6.0, 1e-3))
result = flexmb.simulate(system, 20.0, step=5e-4, output_step=1e-2)
_, axes = result.frame("nut")

figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
for k, name in enumerate("xyz"):
    axis.plot(result.t, axes[:, k, 1], label=f"{name} of the spin axis")
axis.set(xlabel="time (s)", ylabel="direction cosine")
axis.legend(loc="lower left")
plt.show()

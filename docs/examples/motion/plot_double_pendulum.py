"""
A double pendulum
=================

Path of the end of two hinged rods, released from the horizontal.
"""

import matplotlib.pyplot as plt

import flexmb

system = flexmb.System(gravity=(0, -9.81, 0), name="double pendulum")
upper = system.add(flexmb.uniform_rod("upper", mass=1, length=1))
lower = system.add(flexmb.uniform_rod("lower", mass=1, length=0.7), position=(1, 0, 0))
system.revolute("top", system.ground.at((0, 0, 0)), upper["start"], axis=(0, 0, 1))
system.revolute("middle", upper["end"], lower["start"], axis=(0, 0, 1))
result = flexmb.simulate(system, 15.0, step=5e-4, output_step=5e-3)

end = result.position("lower.end")
figure, axis = plt.subplots(figsize=(5, 5), layout="constrained")
shown = axis.scatter(end[:, 0], end[:, 1], c=result.t, s=1.5, cmap="viridis")
axis.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
figure.colorbar(shown, label="time (s)", shrink=0.8)
plt.show()

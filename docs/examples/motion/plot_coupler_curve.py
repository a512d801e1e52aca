"""
Curves of a four-bar linkage
============================

A crank drives a coupler; points of the coupler draw curves, as in Hrones and Nelson's atlas.
"""

import matplotlib.pyplot as plt
import numpy as np

import flexmb

crank_pin, output_pin = np.array([0, 1, 0]), np.array([1.94, 2.04, 0])
system = flexmb.System(name="four-bar")
span = output_pin - crank_pin
turn = np.arctan2(span[1], span[0])
length = float(np.hypot(*span[:2]))
points = {"start": (0, 0, 0), "end": (length, 0, 0), "a": (1, 0.7, 0), "b": (1, 1.4, 0), "c": (2, -0.8, 0)}
crank = system.add(flexmb.uniform_rod("crank", mass=1, length=1), orientation=(0, 0, np.pi / 2))
coupler = flexmb.rigid_body("coupler", mass=1, inertia=(0.1, 0.1, 0.1), points=points)
coupler = system.add(coupler, position=crank_pin, orientation=(0, 0, turn))
rise = output_pin - [2.5, 0, 0]
output = flexmb.uniform_rod("output", mass=1, length=float(np.hypot(*rise[:2])))
output = system.add(output, position=(2.5, 0, 0), orientation=(0, 0, np.arctan2(rise[1], rise[0])))
z = (0, 0, 1)
system.revolute("A", system.ground.at((0, 0, 0)), crank["start"], axis=z)
system.revolute("B", crank["end"], coupler["start"], axis=z)
system.joint("point-on-line", "C", coupler["end"], output["end"], axis=z)  # the loop is held once
system.revolute("D", system.ground.at((2.5, 0, 0)), output["start"], axis=z)
system.drive("A", flexmb.time_functions.constant_speed(2 * np.pi))
result = flexmb.simulate(system, 1.0, step=2e-3, output_step=4e-3)

figure, axis = plt.subplots(figsize=(6, 5), layout="constrained")
for name in ("start", "a", "b", "c", "end"):
    path = result.position(f"coupler.{name}")
    axis.plot(path[:, 0], path[:, 1], label={"start": "crank pin", "end": "output pin"}.get(name, name))
axis.plot([0, 2.5], [0, 0], "k^", ms=8)
axis.set(aspect="equal", xlabel="x", ylabel="y")
axis.legend()
plt.show()

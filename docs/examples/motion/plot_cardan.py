"""
A universal joint runs unevenly
===============================

Two shafts at 40°: the driven one speeds up and slows down twice a turn, by the formula in every textbook.
"""

import matplotlib.pyplot as plt
import numpy as np

import flexmb

bend = np.radians(40)
along = np.array([np.cos(bend), np.sin(bend), 0.0])
system = flexmb.System(name="shafts")
first = system.add(flexmb.uniform_rod("first", mass=1, length=0.3, radius=0.02), position=(-0.3, 0, 0))
second = system.add(flexmb.uniform_rod("second", mass=1, length=0.3, radius=0.02), orientation=(0, 0, bend))
system.revolute("bearing 1", system.ground.at((-0.3, 0, 0)), first["start"], axis=(1, 0, 0))
system.universal("cross", first["end"], second["start"], axis=(0, 0, 1), second_axis=np.cross(along, (0, 0, 1)))
system.cylindrical("bearing 2", system.ground.at(0.3 * along), second["end"], axis=along)
system.drive("bearing 1", flexmb.time_functions.constant_speed(10.0))
result = flexmb.simulate(system, 0.8, step=5e-4)

ratio = result.angular_velocity("second.start") @ along / 10.0
angle = 10.0 * result.t
figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
axis.plot(np.degrees(angle), ratio, lw=3, color="0.7", label="flexmb")
axis.plot(np.degrees(angle), np.cos(bend) / (1 - (np.sin(bend) * np.sin(angle)) ** 2), lw=1, label="formula")
axis.set(xlabel="angle of the first shaft (°)", ylabel="ratio of speeds")
axis.legend()
plt.show()

"""
Singular positions
==================

A four-bar linkage through the range of its crank: where the least singular value is zero, it locks or branches.
"""

import numpy as np

import flexmb
from flexmb.analyses.kinematics import joint_sweep
from flexmb.plots.linear_plots import plot_joint_sweep

system = flexmb.System(gravity=(0, -9.81, 0), name="four-bar", units="SI")
crank = system.add(flexmb.uniform_rod("crank", mass=1.0, length=3.0), orientation=(0, 0, np.pi / 2))
coupler = system.add(flexmb.uniform_rod("coupler", mass=1.0, length=4.0), position=(0, 3, 0))
output = flexmb.uniform_rod("output", mass=1.0, length=4.0)
output = system.add(output, position=(4, -1, 0), orientation=(0, 0, np.pi / 2))
z = (0, 0, 1)
system.revolute("A", system.ground.at((0, 0, 0)), crank["start"], axis=z)
system.revolute("B", crank["end"], coupler["start"], axis=z)
system.revolute("C", coupler["end"], output["end"], axis=z)
system.revolute("D", system.ground.at((4, -1, 0)), output["start"], axis=z)
plot_joint_sweep(joint_sweep(system, "A", np.linspace(0, 2.0, 41)), "sweep.png")

"""
Torques for a path of the hand
==============================

Inverse dynamics of a planar arm whose hand is led along a line.
"""

import flexmb
from flexmb.analyses.inverse_dynamics import Servo, inverse_dynamics
from flexmb.plots.linear_plots import plot_inverse

system = flexmb.System(gravity=(0, -9.81, 0), name="arm", units="SI")
upper = system.add(flexmb.uniform_rod("upper", mass=1.0, length=0.6))
fore = system.add(flexmb.uniform_rod("fore", mass=0.7, length=0.6), position=(0.6, 0, 0), orientation=(0, 0, 1.2))
system.revolute("shoulder", system.ground.at((0, 0, 0)), upper["start"], axis=(0, 0, 1))
system.revolute("elbow", upper["end"], fore["start"], axis=(0, 0, 1))
system.motor("m1", "shoulder", 0.0)
system.motor("m2", "elbow", 0.0)
line = [
    Servo("fore.end", "x", flexmb.time_functions.smooth_step(0.0, 0.6, -0.3)),
    Servo("fore.end", "y", flexmb.time_functions.smooth_step(0.0, 0.6, 0.2)),
]
found = inverse_dynamics(system, line, ["m1", "m2"], duration=0.6, step=1e-2, before=0.1, after=0.1)
plot_inverse(found, "torques.png")

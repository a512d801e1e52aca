"""
A gate that hits its buffer
===========================

Bounces with a coefficient of restitution of 0.4, a latch that holds it, and its release.
"""

import matplotlib.pyplot as plt
import numpy as np

import flexmb
from flexmb.simulation.events import Event, Lock, Release, stop

system = flexmb.System(gravity=(0, 0, -9.81), name="gate")
gate = system.add(flexmb.uniform_rod("gate", mass=4.0, length=1.0), orientation=(0, -1.2, 0))
system.revolute("hinge", system.ground.at((0, 0, 0)), gate["start"], axis=(0, 1, 0))
events = [
    stop("buffer", "hinge", 2.0, restitution=0.4),
    Event("latch", lambda r: r.t - 3.0, Lock("hinge")),
    Event("open", lambda r: r.t - 3.5, Release("latch")),
]
result = flexmb.simulate(system, 5.0, step=1e-3, output_step=5e-3, events=events)

figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
axis.plot(result.t, np.degrees(result.coordinate("hinge")))
axis.axhline(np.degrees(2.0), color="tab:red", ls=":", label="buffer")
axis.axvspan(3.0, 3.5, color="0.9", label="latched")
axis.set(xlabel="time (s)", ylabel="angle of the hinge (°)")
axis.legend()
plt.show()

"""
Response of a mechanism
=======================

An arm held by a controller: its hand is shaken; magnitude and phase of hand and bearing.
"""

import numpy as np

import flexmb
from flexmb.linear import equilibrium, frequency_response, linearise
from flexmb.plots.linear_plots import plot_response
from flexmb.results.measure import measure

system = flexmb.System(gravity=(0, 0, -9.81), name="arm", units="SI")
arm = system.add(flexmb.uniform_rod("arm", mass=2.0, length=1.0, radius=0.02), orientation=(0.0, 0.5, 0.0))
system.revolute("hinge", system.ground.at((0, 0, 0)), arm["start"], axis=(0, 1, 0))
system.motor("hold", "hinge", lambda t, angle, speed: -60.0 * angle - 0.5 * speed)
system.load("shake", arm["end"], force=(0, 0, 1), factor=flexmb.time_functions.constant(0.0))
outputs = {"hand": measure("position:arm.end:z"), "bearing": lambda result: result.reaction("hinge")[:, 2]}
response = frequency_response(linearise(equilibrium(system)), np.geomspace(0.1, 20, 300), ["shake"], outputs)
plot_response(response, "response.png")

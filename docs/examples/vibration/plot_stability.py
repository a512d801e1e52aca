"""
Where a rotor is stable
=======================

Damping in the shaft drives a fast rotor, damping beside it saves it: growth rates over both.
"""

import numpy as np

import flexmb
from flexmb.linear import stability_map
from flexmb.plots.linear_plots import plot_stability


def rotor(speed, seal=2.0):
    system = flexmb.System(name="rotor", units="SI")
    spindle = system.add(flexmb.rigid_body("spindle", mass=1.0, inertia=(0.01, 0.01, 0.01)))
    disc = system.add(flexmb.rigid_body("disc", mass=2.0, inertia=(0.02, 0.02, 0.04)))
    system.revolute("bearing", system.ground.at((0, 0, 0)), spindle, axis=(0, 0, 1))
    system.drive("bearing", flexmb.time_functions.constant_speed(speed))
    shaft = {"stiffness": (800, 800, 1e5, 1e4, 1e4, 1e5), "damping": (4, 4, 20, 0.5, 0.5, 1)}
    system.bushing("shaft", spindle.at((0, 0, 0)), disc.at((0, 0, 0)), **shaft)
    drag = {"stiffness": (0,) * 6, "damping": (seal, seal, 0, 0, 0, 0)}
    system.bushing("seal", system.ground.at((0, 0, 0)), disc.at((0, 0, 0)), **drag)
    return system


speeds, seals = np.linspace(5, 60, 12), np.linspace(0, 6, 7)
chart = stability_map(rotor, speeds, seals, ("speed (rad/s)", "damping of the seal (N s/m)"), moving=True)
plot_stability(chart, "stability.png")

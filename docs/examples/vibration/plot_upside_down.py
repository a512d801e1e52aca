"""
A pendulum that stands upside down
==================================

Its hinge is shaken fast enough: the Floquet multipliers lie on the unit circle. Shaken too slowly, one leaves it.
"""

import numpy as np

import flexmb
from flexmb.linear import periodic_motion
from flexmb.plots.linear_plots import plot_multipliers


def shaken(rate):
    system = flexmb.System(gravity=(0, -9.81, 0), name="pendulum")
    slide = system.add(flexmb.rigid_body("slide", mass=1.0, inertia=(1, 1, 1)))
    bob = flexmb.rigid_body("bob", mass=1.0, inertia=(1e-6,) * 3, centre=(0, 0.2, 0))
    bob = system.add(bob)
    system.prismatic("guide", system.ground.at((0, 0, 0)), slide, axis=(0, 1, 0))
    system.revolute("hinge", slide.at((0, 0, 0)), bob, axis=(0, 0, 1))
    system.drive("guide", flexmb.time_functions.harmonic(amplitude=0.02, frequency=rate / (2 * np.pi)))
    return system


for rate in (60.0, 140.0):
    found = periodic_motion(shaken(rate), 2 * np.pi / rate, correct=False, steps=400)
    print(f"{rate:.0f} rad/s: largest multiplier {np.abs(found.multipliers).max():.3f}")
plot_multipliers(found, "multipliers.png")

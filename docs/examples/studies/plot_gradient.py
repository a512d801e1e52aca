"""
What a number depends on
========================

Change of each result in per cent for one per cent of mass and length of a falling rod.
"""

import flexmb
from flexmb.plots.study_plots import plot_gradient
from flexmb.study import gradient


def falling(mass, length):
    system = flexmb.System(gravity=(0, 0, -9.81))
    rod = system.add(flexmb.uniform_rod("rod", mass=mass, length=length))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    return system


slopes = gradient(falling, {"mass": 2.0, "length": 1.0}, 0.3, step=1e-3)
plot_gradient(slopes, "gradient.png")

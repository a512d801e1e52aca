"""
Joint forces over the speed of an engine
========================================

Inertia forces grow with the square of the speed: a parameter study of the demo, without gas force.
"""

import flexmb
from flexmb import demo
from flexmb.plots.study_plots import plot_study

variants = flexmb.full_factorial(speed=[100.0, 150.0, 200.0, 250.0, 300.0], gas_force=[0.0])
study = flexmb.parameter_study(demo.build, variants, 0.08, step=1e-5, workers=1)
plot_study(study, "study.png", ["force in crank pin", "force in wrist pin"], against="speed")

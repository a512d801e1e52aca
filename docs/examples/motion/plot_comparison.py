"""
Rigid against flexible
======================

Forces, their spectrum, paths and stress of the same mechanism with a rigid and with a flexible rod.
"""

import flexmb
from flexmb import demo
from flexmb.plots.result_plots import plot_comparison

comparison = flexmb.compare(demo.build(), 0.08, step=4e-6)
plot_comparison(comparison, "comparison.png", joint="crank pin")

"""
The energy ledger
=================

What is neither energy, nor work, nor heat is error. Here it stays four decades below the strain energy.
"""

import flexmb
from flexmb import demo
from flexmb.plots.result_plots import plot_energy

result = flexmb.simulate(demo.build(), 0.08, step=2e-6)
print(result.verdict)
plot_energy(result, "energy.png")

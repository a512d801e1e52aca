"""
Physics or noise?
=================

The strain energy of two runs looks alike. Their ledgers do not: the residual of the coarse one is a large part of its strain energy.
"""

import matplotlib.pyplot as plt

import flexmb
from validation import two_link_beam

system = two_link_beam.build()
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
for axis, step in zip(axes, (1e-2, 2e-4), strict=True):
    result = flexmb.simulate(system, 1.0, step=step, output_step=1e-2)
    axis.semilogy(result.t[1:], result.ledger.elastic[1:], label="strain energy")
    axis.semilogy(result.t[1:], abs(result.ledger.residual)[1:], label="|residual|")
    axis.set(title=f"step {step:g} s", xlabel="time (s)")
axes[0].set(ylabel="energy")
axes[0].legend()
plt.show()

"""
Beams stiffen when they turn
============================

A blade at rest and at speed: with the displacement of second order its frequency follows the exact curve, without it the blade would go soft.
"""

import matplotlib.pyplot as plt
import numpy as np

from validation import steady_rotation

speeds = np.linspace(0, 12, 5)
blade, unit = steady_rotation.cantilever(), steady_rotation.UNIT
computed = [steady_rotation.lowest_frequencies(blade, speed * unit)[0] / unit for speed in speeds]
fine = np.linspace(0, 12, 40)
exact = [steady_rotation.exact_flap_frequency(speed) for speed in fine]

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.plot(fine, exact, color="0.6", lw=3, label="exact (Southwell)")
axis.plot(speeds, computed, "o", ms=4, label="flexmb, solid elements")
axis.set(xlabel=r"speed $\Omega\,/\,\sqrt{EI/\rho A L^4}$", ylabel=r"flap frequency $\omega\,/\,\sqrt{EI/\rho A L^4}$")
axis.legend()
plt.show()

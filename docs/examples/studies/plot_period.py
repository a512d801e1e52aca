"""
Period of a pendulum over its amplitude
=======================================

Twenty simulations against the complete elliptic integral.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ellipk

import flexmb


def pendulum(amplitude):
    system = flexmb.System(gravity=(0, -9.81, 0))
    bob = flexmb.rigid_body("bob", mass=1.0, inertia=(1e-9,) * 3, centre=(0, -1, 0))
    bob = system.add(bob, orientation=(0, 0, np.radians(amplitude)))
    system.revolute("hinge", system.ground.at((0, 0, 0)), bob, axis=(0, 0, 1))
    return system


amplitudes = np.linspace(10, 170, 17)
periods = []
for amplitude in amplitudes:
    result = flexmb.simulate(pendulum(amplitude), 2.0, step=5e-4, output_step=1e-3)
    angle = np.radians(amplitude) + result.coordinate("hinge")
    k = int(np.argmax(angle < 0))
    periods.append(4 * (result.t[k - 1] + 1e-3 * angle[k - 1] / (angle[k - 1] - angle[k])))

exact = 4 * np.sqrt(1 / 9.81) * ellipk(np.sin(np.radians(amplitudes) / 2) ** 2)
print(f"largest error {np.abs(np.array(periods) / exact - 1).max():.1e}")
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.plot(amplitudes, exact, color="0.7", lw=3, label="elliptic integral")
axis.plot(amplitudes, periods, "o", ms=4, label="flexmb")
axis.set(xlabel="amplitude (°)", ylabel="period (s)")
axis.legend()
plt.show()

"""
The order of a method
=====================

Halve the step, and the error falls to a quarter: generalised-alpha on a swinging double pendulum.
"""

import matplotlib.pyplot as plt
import numpy as np

import flexmb


def end(step):
    system = flexmb.System(gravity=(0, -9.81, 0), name="double pendulum")
    upper = system.add(flexmb.uniform_rod("upper", mass=1, length=1))
    lower = system.add(flexmb.uniform_rod("lower", mass=1, length=1), position=(1, 0, 0))
    system.revolute("top", system.ground.at((0, 0, 0)), upper["start"], axis=(0, 0, 1))
    system.revolute("middle", upper["end"], lower["start"], axis=(0, 0, 1))
    return flexmb.simulate(system, 1.0, step=step, output_step=1.0).position("lower.end")[-1]


steps = np.array([1e-2, 5e-3, 2.5e-3, 1.25e-3])
reference = end(1e-5)
errors = [np.linalg.norm(end(h) - reference) for h in steps]
figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
axis.loglog(steps, errors, "o-", label="error of the end after 1 s")
axis.loglog(steps, errors[-1] * (steps / steps[-1]) ** 2, "k:", label="second order")
axis.set(xlabel="step (s)", ylabel="error (m)")
axis.legend()
plt.show()

"""
A pendulum that comes to rest
=============================

The friction of its journal depends on the reaction in it: the swings become shorter by nearly the same angle each time,
until the pendulum sticks, off the vertical. Viscous damping, beside it, never stops it.
"""

import matplotlib.pyplot as plt
import numpy as np

import flexmb


def swing(friction):
    """Angle of the pendulum over 14 s (degrees), from 45 degrees."""
    at, start = 0.3, np.pi / 4
    system = flexmb.System(gravity=(0, -9.81, 0))
    bob = flexmb.rigid_body("bob", mass=2, inertia=(0.03, 0.03, 0.03))
    bob = system.add(bob, position=(at * np.sin(start), -at * np.cos(start), 0), orientation=(0, 0, start))
    system.revolute("pin", system.ground.at((0, 0, 0)), bob, axis=(0, 0, 1))
    if friction:
        system.friction("journal", "pin", 0.25, radius=0.05)
    else:
        system.joint_spring("damper", "pin", stiffness=0, damping=0.09)
    result = flexmb.simulate(system, 14.0, step=1e-3, output_step=0.01, newton_tolerance=1e-9)
    x, y, _ = result.position("bob").T
    return result.t, np.degrees(np.arctan2(x, -y))


figure, plot = plt.subplots(figsize=(7, 3.8), layout="constrained")
plot.plot(*swing(friction=False), color="0.7", label="viscous damper")
plot.plot(*swing(friction=True), label="dry friction in the journal")
plot.set(xlabel="time (s)", ylabel="angle (°)")
plot.legend()
plt.show()

"""
A coin that wobbles
===================

A disc rolls without slip. Undisturbed it would run on a circle; given 0.5 rad/s of tilt, it wobbles about it.
"""

import matplotlib.pyplot as plt
import numpy as np

import flexmb

radius, gravity, tilt, turning = 0.5, 9.81, 1.1, 3.0
moments = np.array([0.25, 0.25, 0.5]) * radius**2  # of unit mass
s, c = np.sin(tilt), np.cos(tilt)
spin = (moments[0] * turning**2 * s * c - gravity * radius * c) / ((moments[2] + radius**2) * turning * s)  # steady
axes = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def path(tilting):
    """Where the disc touches the ground, over time."""
    rates = np.array([tilting, turning * s, spin])
    system = flexmb.System(gravity=(0, 0, -gravity))
    disc = flexmb.rigid_body("disc", mass=1, inertia=moments)
    disc = system.add(
        disc,
        position=radius * axes[:, 1],
        orientation=axes,
        angular_velocity=axes @ rates,
        velocity=axes @ np.cross(rates, [0, radius, 0]),
    )
    system.rolling("contact", system.ground, disc.at((0, 0, 0)), radius=radius, axis=axes[:, 2])
    result = flexmb.simulate(system, 6.0, step=1e-3, output_step=5e-3)
    axis = result.axes("contact.b")[:, :, 2]
    down = axis[:, 2:] * axis - [0, 0, 1]
    return result.position("disc") + radius * down / np.linalg.norm(down, axis=1, keepdims=True)


figure, plot = plt.subplots(figsize=(6, 5.5), layout="constrained")
for tilting in (0.0, 0.5):
    x, y, _ = path(tilting).T
    plot.plot(x, y, label=f"{tilting} rad/s of tilt")
plot.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
plot.legend(loc="upper right")
plt.show()

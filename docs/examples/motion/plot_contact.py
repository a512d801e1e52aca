"""
A ball with back spin
=====================

A ball is thrown forwards with back spin. Friction in each impact turns spin into speed, until the ball comes back; what
the impacts cost is in the energy ledger.
"""

import matplotlib.pyplot as plt

import flexmb
from flexmb.contact import Plane, Sphere, power_law

radius, mass = 0.03, 0.05
system = flexmb.System(gravity=(0, 0, -9.81))
ball = flexmb.rigid_body("ball", mass=mass, inertia=(0.4 * mass * radius**2,) * 3)
ball = system.add(ball, position=(0, 0, 0.5), velocity=(0.6, 0, 0), angular_velocity=(0, -120, 0))
floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
law = power_law(2e5, restitution=0.75, speed=3.0)
system.contact("floor", floor, Sphere(radius).on(ball.at((0, 0, 0))), law=law, friction=0.3, slip_speed=0.02)
result = flexmb.simulate(system, 2.5, step=2e-5, output_step=2e-3)

figure, (path, energy) = plt.subplots(2, figsize=(7, 6), layout="constrained")
x, _, z = result.position("ball").T
path.plot(x, z)
path.plot(x[0], z[0], "o", ms=10)
path.set(xlabel="x (m)", ylabel="height (m)")
energy.plot(result.t, result.ledger.kinetic, label="kinetic")
energy.plot(result.t, result.ledger.damper_heat, label="lost in the impacts")
energy.set(xlabel="time (s)", ylabel="energy (J)")
energy.legend()
plt.show()

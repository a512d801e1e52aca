"""
A bicycle that balances itself
==============================

Small motions of the benchmark bicycle (Meijaard, Papadopoulos, Ruina and Schwab 2007) about steady running. Its wheels
roll without slip; place, heading and angles of the wheels are ignorable and not shown. Between 4.3 and 6.0 m/s no
motion grows.
"""

import numpy as np

import flexmb
from flexmb.linear import campbell
from flexmb.plots.linear_plots import plot_eigenvalue_loci

TILT = np.pi / 10


def bicycle(speed):
    system = flexmb.System(gravity=(0, 0, -9.81), name="bicycle", units="SI")

    def part(name, mass, at, inertia, spin=0.0):
        body = flexmb.rigid_body(name, mass=mass, inertia=np.array(inertia))
        return system.add(body, position=at, velocity=(speed, 0, 0), angular_velocity=(0, spin, 0))

    frame = part("frame and rider", 85.0, (0.3, 0, 0.9), [[9.2, 0, -2.4], [0, 11, 0], [-2.4, 0, 2.8]])
    fork = part("fork", 4.0, (0.9, 0, 0.7), [[0.05892, 0, 0.00756], [0, 0.06, 0], [0.00756, 0, 0.00708]])
    rear = part("rear wheel", 2.0, (0, 0, 0.3), np.diag([0.0603, 0.12, 0.0603]), speed / 0.3)
    front = part("front wheel", 3.0, (1.02, 0, 0.35), np.diag([0.1405, 0.28, 0.1405]), speed / 0.35)
    system.revolute("steering", frame, fork, axis=(-np.sin(TILT), 0, np.cos(TILT)), at=(1.1, 0, 0))
    system.revolute("rear axle", frame, rear, axis=(0, 1, 0), at=(0, 0, 0.3))
    system.revolute("front axle", fork, front, axis=(0, 1, 0), at=(1.02, 0, 0.35))
    system.rolling("rear contact", system.ground, rear, radius=0.3, axis=(0, 1, 0), at=(0, 0, 0.3))
    system.rolling("front contact", system.ground, front, radius=0.35, axis=(0, 1, 0), at=(1.02, 0, 0.35))
    return system


loci = campbell(bicycle, np.linspace(1, 10, 10), parameter="speed (m/s)")
plot_eigenvalue_loci(loci, "bicycle.png", names=["forward speed", "capsize", "weave", "castering"])

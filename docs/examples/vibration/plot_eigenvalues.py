"""
Vibrations of a hanging chain
=============================

Five rods under gravity: their frequencies and growth rates.
"""

import flexmb
from flexmb.linear import equilibrium, linearise
from flexmb.plots.linear_plots import plot_eigenvalues

system = flexmb.System(gravity=(0, -9.81, 0), name="chain", units="SI")
place = system.ground.at((0, 0, 0))
for k in range(5):
    rod = flexmb.uniform_rod(f"rod {k}", mass=1.0, length=0.3)
    rod = system.add(rod, position=(0, -0.3 * k, 0), orientation=(0, 0, -1.5707963))
    system.revolute(f"hinge {k}", place, rod["start"], axis=(0, 0, 1))
    system.joint_spring(f"friction {k}", f"hinge {k}", stiffness=0.0, damping=0.02)
    place = rod["end"]
vibration = linearise(equilibrium(system)).modes()
print(vibration)
plot_eigenvalues(vibration, "eigenvalues.png")

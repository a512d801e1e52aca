"""
A sampled controller at its limits
==================================

A PID controller turns an arm to a target under gravity; its torque is limited, and is held for 20 ms.
"""

import flexmb
from flexmb.plots.result_plots import plot_controller

system = flexmb.System(gravity=(0, -9.81, 0), name="arm", units="SI")
arm = system.add(flexmb.uniform_rod("arm", mass=1.0, length=0.8))
system.revolute("shoulder", system.ground.at((0, 0, 0)), arm["start"], axis=(0, 0, 1))
target = flexmb.time_functions.smooth_step(0.1, 0.3, 1.2)
law = flexmb.controllers.pid(30.0, 60.0, 4.0, filter=0.01, lower=-8.0, upper=8.0, sample_time=0.02)
system.controller(
    "servo",
    law,
    inputs={"measured": "coordinate:shoulder", "reference": target},
    outputs={"command": "effort:shoulder"},
)
result = flexmb.simulate(system, 2.0, step=2e-3, output_step=2e-3)
plot_controller(result, "servo", "controller.png", unit="deg")

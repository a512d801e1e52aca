"""
The energy of a car in a corner
===============================

Four wheels on vertical guides, with springs and dampers from tables, tyres with the magic formula, and the drag of the
air at rest. The front wheels are steered; nothing drives the car, so that its kinetic energy becomes the heat of its
tyres, its dampers and the air.
"""

import flexmb
from flexmb.forces import pacejka_89, still_drag
from flexmb.plots.result_plots import plot_energy_by_element

SPEED, RADIUS, STEER = 18.0, 0.3, 0.05
tyre = pacejka_89(
    radius=RADIUS,
    vertical_stiffness=2e5,
    vertical_damping=300.0,
    slip_stiffness=6e4,
    relaxation=0.3,
    a0=1.65,
    a1=-34.0,
    a2=1250.0,
    a3=3036.0,
    a4=12.8,
    a5=0.005,
    a6=-0.021,
    a7=0.77,
)
body_mass, wheel_mass, load = 1300.0, 25.0, 3450.0
weight = body_mass * 9.81 / 4  # the springs carry it as drawn
travel, forces = [-0.15, -0.05, 0.0, 0.05, 0.15], [5200.0, 1300.0, 0.0, -1300.0, -5200.0]
spring = flexmb.table(travel, [force - weight for force in forces])
damper = flexmb.table([-2.0, -0.3, 0.0, 0.3, 2.0], [2400.0, 600.0, 0.0, -900.0, -3000.0], over="xdot")

system = flexmb.System(gravity=(0, 0, -9.81), name="car", units="SI")
height = RADIUS - load / 2e5
moves = (SPEED, 0, 0)
body = flexmb.rigid_body("body", mass=body_mass, inertia=(400.0, 1600.0, 1900.0))
body = system.add(body, position=(0, 0, height + 0.25), velocity=moves)
for end, x in (("front", 1.3), ("rear", -1.3)):
    for side, y in (("left", 0.75), ("right", -0.75)):
        name, at = f"{end} {side}", (x, y, height)
        axle = (-STEER if end == "front" else 0.0, 1.0, 0.0)
        hub = flexmb.rigid_body(f"{name} hub", mass=10.0, inertia=(0.2, 0.2, 0.2))
        hub = system.add(hub, position=at, velocity=moves)
        wheel = flexmb.rigid_body(f"{name} wheel", mass=wheel_mass, inertia=(0.8, 1.2, 0.8))
        wheel = system.add(wheel, position=at, velocity=moves, angular_velocity=(0, SPEED / height, 0))
        system.prismatic(f"{name} guide", body, hub, axis=(0, 0, 1), at=at)
        system.revolute(f"{name} axle", hub, wheel, axis=axle, at=at)
        system.joint_spring(f"{name} spring", f"{name} guide", law=spring)
        system.joint_spring(f"{name} damper", f"{name} guide", law=damper)
        system.force(f"{name} tyre", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre, axle=axle)
air = still_drag(density=1.2, area=2.1, coefficient=0.35)
system.force("air", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), air)
result = flexmb.simulate(system, 2.0, step=1e-3)
print(energies := result.energy_by_element())
plot_energy_by_element(energies, "car.png", units="SI")

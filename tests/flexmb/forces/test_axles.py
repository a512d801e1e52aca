"""Tyres of wheels that are drawn steered: their axle, and the circle on which the car runs."""

import numpy as np
import pytest

import flexmb
from flexmb.linear import steady_running
from flexmb.spatial.lie import rotation_from_quaternion

MASS, YAW, AHEAD, BEHIND, RADIUS, STIFF, CORNERING, SPEED, STEER = 1500.0, 2500.0, 1.2, 1.5, 0.3, 2e5, 4e4, 15.0, 0.005


def car(axle):
    """A car on four tyres without suspension; its front wheels are drawn steered by `STEER`."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = flexmb.rigid_body("car", mass=MASS, inertia=(500, 2000, YAW))
    chassis = system.add(body, position=(0, 0, 0.3), velocity=(SPEED, 0, 0))
    tyre = flexmb.forces.linear_tyre(
        radius=RADIUS, vertical_stiffness=STIFF, vertical_damping=3e3, slip_stiffness=1e5,
        cornering_stiffness=CORNERING, relaxation=0.3,
    )  # fmt: skip
    for name, x, y, share, steer in (
        ("fl", AHEAD, 0.75, BEHIND, STEER), ("fr", AHEAD, -0.75, BEHIND, STEER),
        ("rl", -BEHIND, 0.75, AHEAD, 0.0), ("rr", -BEHIND, -0.75, AHEAD, 0.0),
    ):  # fmt: skip
        z = RADIUS - (MASS * 9.81 * share / (AHEAD + BEHIND) / 2 + 9.81) / STIFF
        across = (-np.sin(steer), np.cos(steer), 0)
        wheel = system.add(
            flexmb.rigid_body(name, mass=1.0, inertia=(0.01, 0.02, 0.01)), position=(x, y, z),
            orientation=(0, 0, steer), velocity=(SPEED, 0, 0), angular_velocity=(0, SPEED / z, 0),
        )  # fmt: skip
        system.revolute(f"{name} hub", chassis, wheel, axis=across, at=(x, y, z))
        options = {"axle": across} if axle and steer else {}
        system.force(f"{name} tyre", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre, **options)
    system.drive("rl hub", flexmb.time_functions.constant_speed(SPEED / z))
    return system


def test_a_car_whose_wheels_are_drawn_steered_runs_on_the_circle_of_the_single_track():
    circle = steady_running(car(axle=True))
    u, yaw = circle.state.w[0], circle.state.w[5]
    gradient = MASS / (AHEAD + BEHIND) * (BEHIND - AHEAD) / (2 * CORNERING)
    assert yaw == pytest.approx(u * STEER / (AHEAD + BEHIND + gradient * u**2), rel=5e-3)  # angles of slip are small
    later = steady_running(car(axle=True), circle.state)
    assert later.iterations == 1
    assert later.state.w == pytest.approx(circle.state.w, rel=1e-8, abs=1e-9)


def test_a_tyre_whose_wheel_turns_about_another_axis_is_refused():
    with pytest.raises(flexmb.MechanismError, match=r"'fl tyre'.*0\.286 degrees.*'fl hub'.*axle=\(-0\.00499997917, "):
        car(axle=False).build()


@pytest.mark.parametrize("across", [(1, 0, 0), (0, 0.8, 0.6)])
def test_the_axle_of_a_tyre_is_that_of_the_joint_nearest_to_it(across):
    """Another joint of the wheel, as that of a link which it carries, is no axle; its hub is."""
    system = flexmb.System()
    wheel, link = (
        system.add(flexmb.rigid_body(name, mass=1.0, inertia=(1, 1, 1)), position=(0, 0, 0.3))
        for name in ("wheel", "link")
    )
    system.revolute("hub", system.ground, wheel, axis=(-np.sin(STEER), np.cos(STEER), 0), at=(0, 0, 0.3))
    system.revolute("pin", wheel, link, axis=across, at=(0, 0, 0.3))
    tyre = flexmb.forces.linear_tyre(
        radius=0.3, vertical_stiffness=1e5, slip_stiffness=0.0, cornering_stiffness=0.0, relaxation=0.3
    )
    system.force("tyre", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre)
    with pytest.raises(flexmb.MechanismError, match=r"'tyre'.*0\.286 degrees.*'hub'"):
        system.build()


@pytest.mark.parametrize(("direction", "camber"), [((0.3, 1.0, 0.2), 0.1), ((0.0, -2.0, 0.0), 0.0)])
def test_the_frame_of_a_tyre_is_about_its_axle(direction, camber):
    system = flexmb.System()
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)), orientation=(camber, 0.2, 0.3))
    tyre = flexmb.forces.linear_tyre(
        radius=0.3, vertical_stiffness=1e5, slip_stiffness=0.0, cornering_stiffness=0.0, relaxation=0.3
    )
    system.force("tyre", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre, axle=direction)
    mechanism = system.build()
    marker = next(m for m in mechanism.markers if m.name == "tyre.b")
    R = rotation_from_quaternion(mechanism.initial.q[3:7]) @ marker.axes
    assert R[:, 1] == pytest.approx(np.array(direction) / np.linalg.norm(direction), abs=1e-12)
    assert pytest.approx(np.eye(3), abs=1e-12) == R.T @ R
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert R[2, 0] == pytest.approx(0.0, abs=1e-12)  # forward is in the road
    assert R[2, 2] > 0.9


def test_an_axle_across_the_road_is_refused():
    system = flexmb.System()
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)))
    tyre = flexmb.forces.linear_tyre(
        radius=0.3, vertical_stiffness=1e5, slip_stiffness=0.0, cornering_stiffness=0.0, relaxation=0.3
    )
    with pytest.raises(flexmb.MechanismError, match=r"'tyre', axle is \(0, 0, 2\), expected a direction across"):
        system.force("tyre", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre, axle=(0, 0, 2))


@pytest.mark.parametrize("step", [2e-4, 5e-5])
def test_a_wheel_that_is_drawn_at_its_radius_rolls(step):
    """The deflections of its tread are zero in the air, which it leaves in the first step: their iteration must end at
    states of zero, whose relative change does not."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    wheel = system.add(
        flexmb.rigid_body("wheel", mass=15.0, inertia=(0.5, 1.0, 0.5)),
        position=(0, 0, 0.3),
        velocity=(2, 0, 0),
        angular_velocity=(0, 2 / 0.3, 0),
    )
    tyre = flexmb.forces.linear_tyre(
        radius=0.3,
        relaxation=0.1,
        vertical_stiffness=2e5,
        vertical_damping=1e4,
        slip_stiffness=2e4,
        cornering_stiffness=3e4,
    )
    system.force("tyre", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre)
    height = flexmb.simulate(system, 0.5, step=step, output_step=0.5).position("wheel")[-1, 2]
    assert height == pytest.approx(0.3 - 15.0 * 9.81 / 2e5, abs=1e-6)

"""A car with four equivalent swing axles and linear tyres: trim, small motions about straight running and in a corner, and the understeer of its single-track model.

The layout is that of Costa and Jones ("Modelling of Automotive Vehicles for Motion Control Studies", NATO ASI 1993): each wheel hangs on the chassis by one hinge, whose place and direction reproduce the measured motion of the wheel as it bumps; spring and damper act in the hinge,
and tyres have a side force proportional to the slip angle, with a relaxation length. Their table of masses and stiffnesses is lost, so that their eigenvalues cannot be compared; the data here are our own, of the size of a family car. The wheels spin; a differential drives the rear ones at a given speed.
In a corner the car runs steadily: a steady motion whose joint rates are constant. With hinges along the car, where bump does not steer, its yaw rate for a small steering angle is that of the single-track model, v/(L + K v^2) with K = m_f/C_f - m_r/C_r. The small motions about a corner are compared with a nonlinear simulation.
"""

import numpy as np
from scipy.linalg import expm

import flexmb
from flexmb.forces import linear_tyre
from flexmb.linear import SteadyRunning, linearise, state_space, steady_running
from validation.plot import Plot
from validation.row import Row

CASE = "vehicle"
G, RADIUS = 9.81, 0.30
HINGES = {
    "front left": ((1.441, 0.303, -0.242), (0.121, -0.447, 0.058), (0.966, 0.257, -0.029)),
    "front right": ((1.441, -0.303, -0.242), (0.121, 0.447, 0.058), (0.966, -0.257, -0.029)),
    "rear left": ((-1.516, 0.105, -0.157), (-0.016, -0.645, 0.143), (0.994, 0.0, 0.113)),
    "rear right": ((-1.516, -0.105, -0.157), (-0.016, 0.645, 0.143), (0.994, 0.0, 0.113)),
}
"""Place of the hinge from the mass centre of the chassis, the same from the centre of the wheel, and its direction."""
CHASSIS, INERTIA = 1100.0, (300.0, 1550.0, 1700.0)
ARM, KNUCKLE, WHEEL, SHAFT = 12.0, 8.0, 30.0, 1.0
"""Masses; the knuckles are those of the front wheels."""
SPRINGS = {"front": (14.2e3, 830.0), "rear": (18.8e3, 1200.0)}
"""Stiffness (N/m) and damping (N s/m) at the wheel."""
TYRE = {
    "vertical_stiffness": 2.7e5,
    "vertical_damping": 650.0,
    "slip_stiffness": 6e4,
    "relaxation": 0.2,
}
CORNERING = {"front": 33e3, "rear": 36e3}


def _masses() -> tuple[float, float]:
    """The masses that the front and the rear axle carry, with those of the wheels."""
    front, rear = 1.32, 1.5
    wheels_front, wheels_rear = 2 * (ARM + KNUCKLE + WHEEL), 2 * (ARM + WHEEL)
    return (
        (CHASSIS + SHAFT) * rear / (front + rear) + wheels_front,
        (CHASSIS + SHAFT) * front / (front + rear) + wheels_rear,
    )


def car(speed: float, steer: float = 0.0, along: bool = False) -> flexmb.System:
    """The car in straight running, its front wheels turned by `steer`; `along`: with hinges along the car."""
    system = flexmb.System(gravity=(0, 0, -G), name=CASE, units="SI")
    loads = dict(zip(("front", "rear"), np.array(_masses()) * G / 2, strict=True))
    loaded = {end: RADIUS - loads[end] / TYRE["vertical_stiffness"] for end in loads}
    height = 0.30 + loaded["rear"]
    moves = (speed, 0, 0)
    chassis = system.add(
        flexmb.rigid_body("chassis", mass=CHASSIS, inertia=INERTIA), position=(0, 0, height), velocity=moves
    )
    shaft = system.add(
        flexmb.rigid_body("shaft", mass=SHAFT, inertia=(0.01,) * 3), position=(0, 0, height), velocity=moves
    )
    system.revolute("engine", chassis, shaft, axis=(0, 1, 0), at=(0, 0, height))
    for corner, (op, hp, direction) in HINGES.items():
        end = corner.split()[0]
        hinge = np.array(op) + np.array((0.0, 0.0, height))
        centre = hinge - np.array(hp)
        centre[2] = loaded[end]
        axis = np.array((1.0, 0.0, 0.0) if along else direction)
        axis /= np.linalg.norm(axis)
        arm = system.add(
            flexmb.rigid_body(f"{corner} arm", mass=ARM, inertia=(0.3, 0.3, 0.3)), position=centre, velocity=moves
        )
        lever = float(axis @ np.cross(centre - hinge, (0, 0, 1)))
        stiffness, damping = SPRINGS[end]
        unsprung = ARM + WHEEL + (KNUCKLE if end == "front" else 0.0)
        preload = -lever * (loads[end] - unsprung * G)
        system.revolute(f"{corner} hinge", chassis, arm, axis=axis, at=hinge)
        system.joint_spring(
            f"{corner} spring", f"{corner} hinge", stiffness=stiffness * lever**2, damping=damping * lever**2,
            free=preload / (stiffness * lever**2),
        )  # fmt: skip
        carrier = arm
        if end == "front":
            carrier = system.add(
                flexmb.rigid_body(f"{corner} knuckle", mass=KNUCKLE, inertia=(0.1,) * 3),
                position=centre,
                velocity=moves,
            )
            system.revolute(f"{corner} steering", arm, carrier, axis=(0, 0, 1), at=centre)
            system.drive(f"{corner} steering", flexmb.time_functions.constant(steer))
        spin = (0, speed / loaded[end], 0)
        wheel = system.add(
            flexmb.rigid_body(f"{corner} wheel", mass=WHEEL, inertia=(0.6, 1.1, 0.6)),
            position=centre,
            velocity=moves,
            angular_velocity=spin,
        )
        system.revolute(f"{corner} axle", carrier, wheel, axis=(0, 1, 0), at=centre)
        tyre = linear_tyre(radius=RADIUS, cornering_stiffness=CORNERING[end], **TYRE)
        system.force(f"{corner} tyre", system.ground.at((0, 0, 0)), wheel.at((0, 0, 0)), tyre)
    system.differential("differential", "rear left axle", "rear right axle", "engine")
    system.drive("engine", flexmb.time_functions.constant_speed(speed / loaded["rear"]))
    return system


def understeer() -> float:
    """The understeer gradient `K` (rad s^2/m) of the single-track model."""
    front, rear = _masses()
    return front / (2 * CORNERING["front"]) - rear / (2 * CORNERING["rear"])


def _running(found: SteadyRunning) -> tuple[float, float]:
    """Speed and yaw rate of the chassis."""
    result = found.result
    return float(np.linalg.norm(result.velocity("chassis")[0, :2])), float(result.angular_velocity("chassis")[0, 2])


def _heading(found: SteadyRunning, end: str) -> float:
    """The mean angle of the wheels of an axle to the chassis, from the directions of their axles."""
    result, angles = found.result, []
    for side in ("left", "right"):
        axle, own = result.axes(f"{end} {side} axle.b")[0, :, 2], result.axes("engine.a")[0, :, 2]
        angles.append(np.arctan2(*(np.array([-1, 1]) * axle[:2])) - np.arctan2(-own[0], own[1]))
    return float(np.mean(angles))


def _corner() -> list[Row | Plot]:
    steer, speeds = 3e-4, np.array([5.0, 10.0, 20.0, 30.0, 40.0])
    base, K = 2.82, understeer()
    gains, exact = [], []
    for speed in speeds:
        v, turning = _running(steady_running(car(speed, steer, along=True)))
        gains.append(turning / steer)
        exact.append(v / (base + K * v * v))
    worst = float(np.abs(np.divide(gains, exact) - 1).max())
    own = steady_running(car(20.0, steer))
    v, turning = _running(own)
    wanted = turning * (base / v + K * v)
    angle = _heading(own, "front") - _heading(own, "rear")
    sharp = steady_running(car(20.0, 0.04))
    turning_sharp = _running(sharp)[1]
    forces = np.sum([sharp.result.force(f"{corner} tyre")[0, :2] for corner in HINGES], axis=0)
    mass = sum(body.invariants.mass for body in sharp.mechanism.bodies)
    momenta = [b.invariants.mass * sharp.result.velocity(b.name)[0, :2] for b in sharp.mechanism.bodies]
    centre = np.sum(momenta, axis=0) / mass
    pushed = float((centre[0] * forces[1] - centre[1] * forces[0]) / np.linalg.norm(centre) / mass)
    v_sharp = float(np.linalg.norm(centre))
    fine = np.linspace(1.0, 42.0, 100)
    return [
        Row(CASE, "hinges along the car: yaw rate over steering angle at 5 to 40 m/s, largest error", 0.0, "exact", worst, worst, 2e-6),
        Row(CASE, "hinges of the source, 20 m/s: angle between front and rear wheels (rad)", wanted, "exact", angle, abs(angle / wanted - 1), 1e-5),
        Row(CASE, "corner with 0.04 rad at 20 m/s: side forces of the tyres over mass and acceleration (m/s^2)", v_sharp * turning_sharp, "exact", pushed, abs(pushed / (v_sharp * turning_sharp) - 1), 1e-8),
        Plot("Yaw rate over steering angle, hinges along the car", "speed (m/s)", "(1/s)", {"car": (speeds, np.array(gains)), "reference: single track": (fine, fine / (base + K * fine**2))}),
    ]  # fmt: skip


def _disturbed() -> list[Row | Plot]:
    """A small change of the yaw rate in the corner: linear and nonlinear motion."""
    corner = steady_running(car(20.0, 0.04))
    mechanism, linear = corner.mechanism, linearise(corner)
    model, vibration = linear.first_order, linear.modes()
    nf, nu, _ = model.sizes
    outputs = {
        "yaw rate": lambda r: r.angular_velocity("chassis")[:, 2],
        "roll": lambda r: np.arcsin(r.axes("engine.a")[:, 2, 2]),
        "load front left": lambda r: r.force("front left tyre")[:, 2],
    }
    plant = state_space(linear, ["front left spring"], outputs)
    start = np.zeros(len(plant.A))
    start[nf : nf + nu] = model.rates[5, nf : nf + nu]  # rates of which the chassis turns about its z axis
    change = model.rates @ start[: len(model.F)]
    change /= change[5]
    start /= model.rates[5] @ start[: len(model.F)]
    errors = []
    for size in (2e-2, 1e-2):
        ends = []
        for sign in (1, -1):
            state = flexmb.State(0.0, corner.state.q, corner.state.w + sign * size * change, corner.state.angles, element_states=corner.state.element_states)  # fmt: skip
            run = flexmb.simulate(mechanism, 0.6, initial_state=state, method="explicit", tolerance=1e-9, output_step=0.01)  # fmt: skip
            ends.append(np.array([output(run) for output in outputs.values()]))
        found = (ends[0] - ends[1]) / (2 * size)
        t = np.array(run.t)
        exact = np.array([plant.C @ expm(plant.A * x) @ start for x in t]).T
        scale = np.abs(exact).max(axis=1, keepdims=True)
        errors.append(np.abs((found - exact) / scale).max())
    order = float(np.log2(errors[0] / errors[1]))
    growing = int(vibration.growing.sum())
    turning = float(corner.result.angular_velocity("chassis")[0, 2])
    # the heading and the wheels, and the place as the turning chassis sees it
    moved = vibration.eigenvalues[vibration.ignorable | vibration.undecided]
    away = np.abs(moved[:, None] - [0, 1j * turning])
    strays = float(max(away.min(axis=0).max(), away.min(axis=1).max()) / turning)
    return [
        Row(CASE, "disturbed in the corner: yaw rate, roll and tyre load from the small motions, relative", 0.0, "exact", float(errors[1]), float(errors[1]), 1e-4),
        Row(CASE, "order in the disturbance of that difference", 2.0, "theory", order, abs(order - 2), 0.2),
        Row(CASE, "the corner: motions that grow", 0.0, "theory", float(growing), float(growing), 0.5),
        Row(CASE, "the corner: eigenvalues of heading and place, 0 and i times the yaw rate, over the yaw rate", 0.0, "exact", strays, strays, 1e-6),
        Plot("Change of the yaw rate after a disturbance in the corner", "time (s)", "over its start", {"simulated": (t, found[0]), "reference: small motions": (t, exact[0])}),
        Plot("Change of the load of the front left tyre in the corner", "time (s)", "(N s)", {"simulated": (t, found[2]), "reference: small motions": (t, exact[2])}),
    ]  # fmt: skip


def run() -> list[Row | Plot]:
    """The single-track model, a corner, a disturbance in it."""
    return [*_corner(), *_disturbed()]

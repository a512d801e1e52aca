"""A spatial test facility: a rigid table on six servohydraulic actuators (Leimbach and Hahn, NATO ASI 1993).

Six coordinates and six differences of pressure move by the equations of the source, with the viscous damping of its actuators, a centre of mass away from the point of reference, and gravity.
The reference integrates these eighteen equations in other coordinates (position and rotation matrix in the world, pressures) by a program of its own. The data are ours, since the source has none.
Each valve follows its own sine of length. As the source found, half and twice the hydraulic capacity hardly change the motion of the table, and four times the capacity changes it more.
"""

import numpy as np
from scipy.integrate import solve_ivp

import flexmb
import flexmb.forces
from validation.plot import Plot
from validation.row import Row

CASE = "test-facility"
MASS, INERTIA, CENTRE = 1500.0, np.array([900.0, 1100.0, 1600.0]), np.array([0.08, -0.05, 0.25])
AREA, CAPACITY, FLOW, LEAKAGE, DRAG, GAIN = 2e-3, 4e-13, 2e-3, 2e-11, 4e3, 12.0
FREQUENCY, GRAVITY, DURATION = 2.0, 9.81, 1.0
TURN = 2 * np.pi / 3 * np.arange(3)
FEET = np.array([[1.8 * np.cos(a + s), 1.8 * np.sin(a + s), 0.0] for a in TURN for s in (-0.15, 0.15)])
JOINTS = np.array([[1.2 * np.cos(a + s), 1.2 * np.sin(a + s), 1.6] for a in TURN for s in (-0.85, 0.85)])
LENGTHS = np.linalg.norm(JOINTS - FEET, axis=1)
AMPLITUDES = np.array([0.02, -0.015, 0.01, 0.02, -0.02, 0.015])
PHASES = np.array([0.0, 0.4, 0.9, 1.5, 2.2, 3.0])
START = MASS * GRAVITY / 6 / AREA / 0.8


def facility(capacity: float = CAPACITY) -> flexmb.System:
    """The table at its point of reference, and six actuators."""
    system = flexmb.System(name=CASE, gravity=(0, 0, -GRAVITY))
    body = flexmb.rigid_body("table", mass=MASS, inertia=np.diag(INERTIA), centre=CENTRE)
    table = system.add(body, position=(0, 0, 1.6))
    for k in range(6):
        actuator = flexmb.forces.servo_actuator(
            area=AREA, capacity=capacity, flow=FLOW, leakage=LEAKAGE, damping=DRAG, gain=GAIN, length=LENGTHS[k],
            amplitude=AMPLITUDES[k], frequency=FREQUENCY, phase=PHASES[k], initial=[START],
        )  # fmt: skip
        system.force(f"actuator {k + 1}", system.ground.at(FEET[k]), table.at(JOINTS[k] - (0, 0, 1.6)), actuator)
    return system


def equations(t: float, s: np.ndarray) -> np.ndarray:
    """Rates of the centre of mass (3), rotation matrix (9), their velocities (3, 3, in the world) and pressures (6)."""
    x, R, v, w, p = s[:3], s[3:12].reshape(3, 3), s[12:15], s[15:18], s[18:]
    arms = (R @ (JOINTS - (0, 0, 1.6) - CENTRE).T).T
    lines = x + arms - FEET
    length = np.linalg.norm(lines, axis=1)
    along = lines / length[:, None]
    speed = ((v + np.cross(w, arms)) * along).sum(axis=1)
    opening = np.clip(GAIN * (LENGTHS + AMPLITUDES * np.sin(2 * np.pi * FREQUENCY * t + PHASES) - length), -1, 1)
    force = (AREA * p - DRAG * speed)[:, None] * along
    J = R @ np.diag(INERTIA) @ R.T
    spin = np.linalg.solve(J, np.cross(arms, force).sum(axis=0) - np.cross(w, J @ w))
    fall = force.sum(axis=0) / MASS - (0, 0, GRAVITY)
    turned = np.cross(w, R, axisb=0, axisc=0)
    pressed = (FLOW * opening - LEAKAGE * p - AREA * speed) / CAPACITY
    return np.concatenate([v, turned.ravel(), fall, spin, pressed])


def moved(capacity: float) -> np.ndarray:
    """The path (nt, 3) of the table after the start."""
    result = flexmb.simulate(facility(capacity), DURATION, step=2e-4, output_step=2e-3)
    return result.q[len(result.t) // 2 :, :3]


def run() -> list[Row | Plot]:
    """Against the equations, the error over the step, and other capacities."""
    precise = flexmb.simulate(facility(), DURATION, method="explicit", tolerance=1e-11, output_step=2e-3)
    start = np.concatenate([CENTRE + np.array([0, 0, 1.6]), np.eye(3).ravel(), np.zeros(6), np.full(6, START)])
    t = precise.t
    known = solve_ivp(equations, (0, DURATION), start, "DOP853", t, rtol=1e-11, atol=1e-12).y
    R = known[3:12].T.reshape(-1, 3, 3)
    place = known[:3].T - R @ CENTRE
    travel, pressures = np.ptp(place, axis=0).max(), np.abs(known[18:]).max()
    error = float(np.abs(precise.q[:, :3] - place).max() / travel)
    apart = float(np.abs(precise.element_states - known[18:].T).max() / pressures)
    coarse = [
        float(
            np.abs(flexmb.simulate(facility(), DURATION, step=h, output_step=0.01).q[:, :3] - place[::5]).max() / travel
        )
        for h in (4e-4, 2e-4)
    ]
    order = float(np.log2(coarse[0] / coarse[1]))
    half, once, twice, four = (moved(factor * CAPACITY) for factor in (0.5, 1.0, 2.0, 4.0))
    size = np.ptp(once, axis=0).max()
    changes = [float(np.abs(other - once).max() / size) for other in (half, twice, four)]
    small = max(changes[:2])
    lines = {"flexmb": (t, 1e3 * (precise.q[:, 2] - 1.6)), "reference": (t, 1e3 * (place[:, 2] - 1.6))}
    lines["flexmb, four times the capacity"] = (t[len(t) // 2 :], 1e3 * (four[:, 2] - 1.6))
    return [
        Row(CASE, "path of the table against the equations, relative", 0.0, "recomputed", error, error, 1e-8),
        Row(CASE, "pressures against the equations, relative", 0.0, "recomputed", apart, apart, 1e-8),
        Row(CASE, "order of generalised-alpha", 2.0, "exact", order, abs(order - 2.0), 0.05),
        Row(CASE, "half and twice the capacity: largest change of the path, relative", 0.0, "paper", small, small, 0.02),
        Row(CASE, "four times the capacity changes it at least 5 times as much (1: yes)", 1, "paper", int(changes[2] > 5 * small), 1 - int(changes[2] > 5 * small), 0),
        Plot("Height of the table's point of reference", "time (s)", "displacement (mm)", lines),
    ]  # fmt: skip

"""A flexible arm under control: closed-loop eigenvalues, the path under a sampled controller, and a rigid joint with a sampled PID controller at its limits.

The arm is a slender beam whose hub turns under a torque `-k theta - c theta' - g y`, with the lateral displacement `y` of the tip, which couples both ends. The exact eigenvalues `s` are zeros of a determinant: `w'''' = b^4 w` with
`b^4 = -rho A s^2 / EI`, `w(0) = 0`, `EI w''(0) = (k + c s + J s^2) w'(0) + g w(L)` with the moment of inertia `J` of the hub, and a free tip, solved in complex numbers.

For the sampled controller, this file contains a program of its own: a beam of cubic elements, assembled here, whose motion between two samples is exact (matrix exponential), and the recursion of the controller. It shares no code with
flexmb. A rotor with a sampled PID controller at its limits moves in parabolas between samples, to round-off; a pendulum is integrated between samples by SciPy. References: Astrom and Wittenmark, Computer-Controlled Systems (1997), section 2.3, for the sampled solution.
"""

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import scipy.linalg as sl
from scipy.integrate import solve_ivp
from scipy.optimize import root

import fem
import flexmb
import reduction
from flexmb import controllers, linear
from flexmb.mechanism.control.law import BoundController
from flexmb.mechanism.control.signals import Source
from validation.plot import Plot
from validation.row import Row

CASE = "controlled-arm"
LENGTH, SIDE, MODULUS, DENSITY = 1.0, 0.005, 7.0e10, 2700.0
EI, MASS = MODULUS * SIDE**4 / 12, DENSITY * SIDE**2
CELLS, MODES = 24, 12
HUB = 0.02
"""Moment of inertia of the hub (kg m^2)."""
GAINS = (0.8, 0.06, -0.25)
"""Torque per angle and rate of the hub, and per displacement of the tip."""
PERIOD, DURATION, TARGET = 0.005, 1.0, 1e-4
"""Sample time and duration (s), and the angle (rad) by which the arm is to turn: a small motion."""
SAMPLED = (1.0, 0.5, 0.3, 0.02)
"""Gains and filter time of the sampled controller of the arm."""
KP, KI, KD, FILTER, LIMIT, INERTIA = 40.0, 30.0, 8.0, 0.02, 10.0, 0.5
SERVO: Mapping[str, Source] = {"measured": "coordinate:pivot", "reference": 1.0}
"""The controller of the rotor, the limit of its torque (N m), the moment of inertia (kg m^2), and the inputs."""


@cache
def beam() -> flexmb.Body:
    """The reduced arm along x."""
    material = fem.Material.isotropic(MODULUS, 0.0, DENSITY, name="aluminium without lateral contraction")
    mesh = fem.structured_meshes.line((0, 0, 0), (LENGTH, 0, 0), CELLS)
    section = fem.Section.rectangle(SIDE, SIDE)
    part = fem.Model(mesh, fem.Beam(material, section, theory="euler-bernoulli"))
    part = part.with_interfaces(hub="start", tip="end")
    return flexmb.flexible_body(part, reduction.reduce(part, "craig-bampton", MODES), name="arm")


def arm(law: BoundController, inputs: Mapping[str, Source]) -> flexmb.System:
    """The arm on its hub, with a controller of the torque."""
    system = flexmb.System(name="controlled arm")
    body = system.add(beam())
    hub = system.add(flexmb.rigid_body("hub", mass=1.0, inertia=(HUB, HUB, HUB)))
    system.revolute("hub", system.ground.at((0, 0, 0)), hub, axis=(0, 0, 1))
    system.fixed("weld", hub, body["hub"])
    system.controller("control", law, inputs=inputs, outputs={law.law.commands[0]: "effort:hub"})
    return system


def fed_back() -> flexmb.System:
    """The arm with continuous feedback of the hub and of the tip."""
    law = controllers.state_feedback([GAINS], ["angle", "rate", "tip"])
    return arm(law, {"angle": "coordinate:hub", "rate": "rate:hub", "tip": "position:arm.tip:y"})


def sampled() -> flexmb.System:
    """The arm with a sampled PID controller of the angle of the hub."""
    law = controllers.pid(*SAMPLED[:3], filter=SAMPLED[3], sample_time=PERIOD)
    return arm(law, {"measured": "coordinate:hub", "reference": TARGET})


def rotor() -> flexmb.System:
    """A rotor with a sampled PID controller that reaches its limits."""
    system = flexmb.System(name="rotor")
    body = system.add(flexmb.rigid_body("rotor", mass=1.0, inertia=(1, 1, INERTIA)))
    system.revolute("pivot", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    law = controllers.pid(KP, KI, KD, filter=FILTER, lower=-LIMIT, upper=LIMIT, sample_time=PERIOD)
    system.controller("servo", law, inputs=SERVO, outputs={"command": "effort:pivot"})
    return system


def pendulum() -> flexmb.System:
    """A rod on a horizontal axis with the sampled PID controller of the rotor."""
    system = flexmb.System(gravity=(0, -9.81, 0), name="pendulum")
    rod = system.add(flexmb.rigid_body("rod", mass=1.0, inertia=(INERTIA,) * 3, centre=(0.5, 0, 0)))
    system.revolute("pivot", system.ground.at((0, 0, 0)), rod, axis=(0, 0, 1))
    law = controllers.pid(KP, KI, KD, filter=FILTER, lower=-LIMIT, upper=LIMIT, sample_time=PERIOD)
    system.controller("servo", law, inputs=SERVO, outputs={"command": "effort:pivot"})
    return system


# independent references ----------------------------------------------------------------------------------------------


def condition(s: complex) -> complex:
    """The determinant of the boundary conditions of the beam for motions `exp(s t)`."""
    b = (-MASS * s**2 / EI + 0j) ** 0.25
    k, c, g = GAINS
    z = b * LENGTH
    even, a, n = np.cosh(z) - np.cos(z), np.sinh(z), np.sin(z)
    turning = (k + c * s + HUB * s**2) * b
    hub = [2 * EI * b**2 - g * even, -turning - g * a, -turning - g * n]
    moment = [np.cosh(z) + np.cos(z), a, -n]
    shear = [a - n, np.cosh(z), -np.cos(z)]
    return complex(np.linalg.det(np.array([hub, moment, shear])) / np.cosh(z.real) ** 2)


def exact_eigenvalue(near: complex) -> complex:
    """The zero of the determinant near an eigenvalue."""

    def parts(x: np.ndarray) -> list[float]:
        value = condition(complex(*x) * abs(near))
        return [value.real, value.imag]

    found = root(parts, [near.real / abs(near), near.imag / abs(near)], tol=1e-14)
    return complex(*found.x) * abs(near)


def own_beam(cells: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Mass and stiffness matrices of a pinned beam of cubic elements: the angle of the hub, then displacements and angles of the nodes."""
    h, n = LENGTH / cells, 2 * (cells + 1)
    m = MASS * h / 420 * np.array([[156, 22 * h, 54, -13 * h], [22 * h, 4 * h**2, 13 * h, -3 * h**2], [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h**2, -22 * h, 4 * h**2]])  # fmt: skip
    k = EI / h**3 * np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2], [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]])  # fmt: skip
    M, K = np.zeros((n, n)), np.zeros((n, n))
    for e in range(cells):
        own = slice(2 * e, 2 * e + 4)
        M[own, own] += m
        K[own, own] += k
    M[1, 1] += HUB
    return M[1:, 1:], K[1:, 1:]


def sampled_path() -> tuple[np.ndarray, np.ndarray]:
    """Angles of the hub and displacements of the tip at the samples, exactly between them, in the lowest modes of the own beam."""
    M, K = own_beam()
    squares, shapes = sl.eigh(K, M, subset_by_index=[0, MODES])
    squares[0] = 0.0
    hub, tip = shapes[0], shapes[-2]
    n = len(squares)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.diag(squares), np.zeros((n, n))]])
    whole = sl.expm(PERIOD * np.block([[A, np.concatenate([np.zeros(n), hub])[:, None]], [np.zeros((1, 2 * n + 1))]]))
    kp, ki, kd, filter_time = SAMPLED
    x, integral, derivative, last = np.zeros(2 * n), 0.0, 0.0, 0.0
    found = []
    for _ in range(round(DURATION / PERIOD) + 1):
        angle = hub @ x[:n]
        found.append((angle, tip @ x[:n]))
        error = TARGET - angle
        integral += PERIOD * ki * error
        derivative = (filter_time * derivative - kd * (angle - last)) / (filter_time + PERIOD)
        last = angle
        x = whole[:-1, :-1] @ x + whole[:-1, -1] * (kp * error + integral + derivative)
    angles, tips = np.array(found).T
    return angles, tips


def rotor_path(count: int) -> np.ndarray:
    """Angle, rate and torque (count, 3) of the rotor at the samples."""

    def parabola(angle: float, rate: float, torque: float) -> tuple[float, float]:
        turned = rate * PERIOD + PERIOD**2 * torque / INERTIA / 2
        return angle + turned, rate + PERIOD * torque / INERTIA

    return _servo_path(parabola, count)


def pendulum_end() -> float:
    """The angle of the pendulum at the end, by SciPy's method of order 8 between the samples."""
    inertia = INERTIA + 0.25  # about the pivot

    def swing(angle: float, rate: float, torque: float) -> tuple[float, float]:
        found = solve_ivp(lambda t, x: [x[1], (torque - 9.81 / 2 * np.cos(x[0])) / inertia], (0, PERIOD), [angle, rate], method="DOP853", rtol=1e-12, atol=1e-14)  # fmt: skip
        return found.y[0, -1], found.y[1, -1]

    return float(_servo_path(swing, round(DURATION / PERIOD) + 1)[-1, 0])


def _servo_path(between: Callable[[float, float, float], tuple[float, float]], count: int) -> np.ndarray:
    """Angle, rate and torque (count, 3) at the samples; `between` moves on by a sample time."""
    angle = rate = integral = derivative = last = 0.0
    found = []
    for _ in range(count):
        error = 1.0 - angle
        integral += PERIOD * KI * error
        derivative = (FILTER * derivative - KD * (angle - last)) / (FILTER + PERIOD)
        last = angle
        wanted = KP * error + integral + derivative
        torque = min(max(wanted, -LIMIT), LIMIT)
        integral += PERIOD * KI / KP * (torque - wanted)
        found.append((angle, rate, torque))
        angle, rate = between(angle, rate, torque)
    return np.array(found)


def run() -> list[Row | Plot]:
    """Eigenvalues, paths and orders against the references."""
    rows: list[Row | Plot] = []

    def add(what: str, kind: str, reference: float, ours: float, allowed: float, scale: float = 0.0) -> None:
        error = abs(ours - reference) / (scale or abs(reference))
        rows.append(Row(CASE, what, reference, kind, ours, float(error), allowed))

    values = linear.linearise(fed_back()).modes().eigenvalues
    lowest = sorted((s for s in values if s.imag > 1e-3 and s.real < -1e-6), key=abs)[:3]
    for number, s in enumerate(lowest, 1):
        exact = exact_eigenvalue(s)
        add(f"closed loop, mode {number}: decay rate (1/s)", "exact", exact.real, s.real, 1e-5, abs(exact))
        add(f"closed loop, mode {number}: angular frequency (rad/s)", "exact", exact.imag, s.imag, 1e-5, abs(exact))
    angles, tips = sampled_path()
    result = flexmb.simulate(sampled(), DURATION, step=PERIOD / 16, output_step=PERIOD)
    tip, hub = result.position("arm.tip")[:, 1], result.coordinate("hub")
    add("sampled arm: tip at the end (m)", "recomputed", tips[-1], tip[-1], 2e-5, TARGET * LENGTH)
    add("sampled arm: hub, largest error (rad)", "recomputed", 0.0, float(np.abs(hub - angles).max()), 2e-5, TARGET)
    reference = pendulum_end()
    errors = []
    for step in (PERIOD / 2, PERIOD / 4):
        swing = flexmb.simulate(pendulum(), DURATION, step=step, output_step=DURATION)
        errors.append(abs(swing.coordinate("pivot")[-1] - reference))
    ours = swing.coordinate("pivot")[-1]
    add("pendulum with sampled PID: angle at the end (rad)", "recomputed", reference, ours, 2e-7)
    add("pendulum with sampled PID: order of the error", "exact", 2.0, float(np.log2(errors[0] / errors[1])), 0.05)
    turned = flexmb.simulate(rotor(), DURATION, step=PERIOD / 2, output_step=PERIOD)
    exact_path = rotor_path(len(turned.t))
    found = np.array([turned.coordinate("pivot"), turned.coordinate_rate("pivot"), turned.effort("servo.command")]).T
    limited = int((np.abs(exact_path[:, 2]) == LIMIT).sum())
    add("rotor: samples at the limit of the torque", "exact", limited, int((np.abs(found[:, 2]) == LIMIT).sum()), 0.0)
    for k, (what, scale) in enumerate((("angle (rad)", 1.0), ("rate (rad/s)", 1.0), ("torque (N m)", LIMIT))):
        add(f"rotor with sampled PID: {what}, largest error", "exact", 0.0, float(np.abs(found - exact_path)[:, k].max()), 1e-11, scale)  # fmt: skip
    lines = {
        "tip": (np.array(result.t), tip / TARGET),
        "reference, tip": (np.array(result.t), tips / TARGET),
        "hub": (np.array(result.t), hub / TARGET),
        "reference, hub": (np.array(result.t), angles / TARGET),
    }
    rows.append(Plot("A sampled controller turns a flexible arm", "time (s)", "displacement over target", lines))
    return rows

"""A planar lumbar spine: discs, ligaments, and contact between the spinous processes (after Morais, Flores and Pimenta Claro).

Sacrum and five vertebrae, with data of our own, as the source has none: the discs are bushings, the ligaments between the processes have two slopes and pull only, and a sphere on each process meets a plane on the next one below, by Hertz
with the damping of Hunt and Crossley. A moment on the uppermost vertebra bends the spine backward, until the processes touch, and forward, until the ligaments are taut. The reference is an independent integration of the
15 planar coordinates from potentials and rates of the distances.
"""

import numpy as np
from scipy.integrate import solve_ivp

import flexmb
from flexmb.contact import Plane, Sphere, power_law
from validation.plot import Plot
from validation.row import Row

CASE = "spine"
COUNT, HEIGHT, MASS, INERTIA, GRAVITY = 5, 0.04, 1.0, 2e-3, 9.81
DISC = (2e5, 6e5, 40.0)
"""Stiffness in shear and compression (N/m) and in bending (N m/rad)."""
DAMPING = (150.0, 400.0, 0.4)
PROCESS, SEAT, BALL, RADIUS = -0.05, 0.012, -0.006, 0.008
"""Distance of the processes behind the middle, height of the plane, and height of the sphere on it (m)."""
SLACK, SLOPES = 0.004, (2e4, 2e5)
"""Stretch up to which the first slope (N/m) of a ligament acts."""
HERTZ, RESTITUTION, SPEED = 2e7, 0.5, 0.2
MOMENT, RATE, DURATION = 12.0, 20.0, 0.4
ACCURACY = 2e-6


def spine() -> flexmb.System:
    """The spine, along y; the sacrum is the ground."""
    system = flexmb.System(gravity=(0, -GRAVITY, 0), name=CASE)
    bodies = [
        system.add(
            flexmb.rigid_body(f"L{COUNT - k}", mass=MASS, inertia=(INERTIA,) * 3), position=(0, HEIGHT * (k + 1), 0)
        )
        for k in range(COUNT)
    ]
    ligament = flexmb.expression(
        "0 if x < 0 else (-a*x if x < s else -a*s - b*(x - s))", a=SLOPES[0], b=SLOPES[1], s=SLACK
    )
    law = power_law(HERTZ, restitution=RESTITUTION, speed=SPEED, factor="hunt-crossley")
    shear, compression, bending = DISC
    stiffness = (shear, compression, shear, bending, bending, bending)
    damping = (DAMPING[0], DAMPING[1], DAMPING[0], DAMPING[2], DAMPING[2], DAMPING[2])
    for k, body in enumerate(bodies):
        below = system.ground if k == 0 else bodies[k - 1]
        name = f"L{COUNT - k}"
        system.bushing(
            f"disc {name}",
            below.at((0, HEIGHT / 2, 0)),
            body.at((0, -HEIGHT / 2, 0)),
            stiffness=stiffness,
            damping=damping,
        )
        system.spring_damper(
            f"ligament {name}", below.at((PROCESS, 0, 0)), body.at((PROCESS, 0, 0)), length=HEIGHT, law=ligament
        )
        seat = Plane().on(below.at((PROCESS, SEAT, 0)), axis=(0, 1, 0))
        system.contact(f"processes {name}", seat, Sphere(RADIUS).on(body.at((PROCESS, BALL, 0))), law=law)
    system.load(
        "bending",
        bodies[-1].at((0, 0, 0)),
        moment=(0, 0, MOMENT),
        factor=flexmb.time_functions.harmonic(1.0, RATE / (2 * np.pi)),
    )
    return system


def reference() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, rotations (nt, 5) and contact forces (nt, 5) of the independent integration."""
    c = 1.5 * (1 - RESTITUTION) / SPEED
    masses = np.tile([MASS, MASS, INERTIA], COUNT)

    def forces(t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q = np.vstack([[0, 0, 0], y[: 3 * COUNT].reshape(-1, 3)])
        v = np.vstack([[0, 0, 0], y[3 * COUNT :].reshape(-1, 3)])
        Q, pushes = np.zeros((COUNT + 1, 3)), np.zeros(COUNT)
        Q[1:, 1] -= MASS * GRAVITY
        Q[-1, 2] += MOMENT * np.sin(RATE * t)

        def turned(k: int, x: float, z: float) -> np.ndarray:
            s, w = np.sin(q[k, 2]), np.cos(q[k, 2])
            return np.array([w * x - s * z, s * x + w * z])

        def pair(k: int, a: np.ndarray, b: np.ndarray, axis: np.ndarray, local: bool) -> tuple[float, float, list]:
            """Coordinate along an axis, its rate and gradients, of the points at arms a and b of bodies k and k + 1."""
            gap = q[k + 1, :2] + b - q[k, :2] - a
            value = float(axis @ gap)
            on_b = np.array([*axis, b[0] * axis[1] - b[1] * axis[0]])
            on_a = -np.array([*axis, a[0] * axis[1] - a[1] * axis[0]])
            if local:  # the axis turns with body k
                on_a[2] += float(np.array([-axis[1], axis[0]]) @ gap)
            return value, float(on_a @ v[k] + on_b @ v[k + 1]), [on_a, on_b]

        def push(k: int, effort: float, gradients: list) -> None:
            Q[k] += effort * gradients[0]
            Q[k + 1] += effort * gradients[1]

        for k in range(COUNT):
            axes = turned(k, 1, 0), turned(k, 0, 1)
            up, down = turned(k, 0, HEIGHT / 2), turned(k + 1, 0, -HEIGHT / 2)
            for i in range(2):
                x, rate, g = pair(k, up, down, axes[i], True)
                push(k, -DISC[i] * x - DAMPING[i] * rate, g)
            bend = DISC[2] * (q[k + 1, 2] - q[k, 2]) + DAMPING[2] * (v[k + 1, 2] - v[k, 2])
            Q[k, 2] += bend
            Q[k + 1, 2] -= bend
            a, b = turned(k, PROCESS, 0), turned(k + 1, PROCESS, 0)
            along = q[k + 1, :2] + b - q[k, :2] - a
            x, _, g = pair(k, a, b, along / np.linalg.norm(along), False)
            stretch = x - HEIGHT
            if stretch > 0:
                first = SLOPES[0] * min(stretch, SLACK)
                push(k, -first - SLOPES[1] * max(stretch - SLACK, 0.0), g)
            x, rate, g = pair(k, turned(k, PROCESS, SEAT), turned(k + 1, PROCESS, BALL), axes[1], True)
            if x < RADIUS:
                pushes[k] = HERTZ * (RADIUS - x) ** 1.5 * max(1 - c * rate, 0.0)
                push(k, pushes[k], g)
        return Q[1:].ravel() / masses, pushes

    start = np.zeros(6 * COUNT)
    start[1 : 3 * COUNT : 3] = HEIGHT * np.arange(1, COUNT + 1)
    times = np.linspace(0, DURATION, 401)

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[3 * COUNT :], forces(t, y)[0]])

    found = solve_ivp(rates, (0, DURATION), start, t_eval=times, rtol=1e-9, atol=1e-11, max_step=5e-4)
    return (
        times,
        found.y[2 : 3 * COUNT : 3].T,
        np.array([forces(t, y)[1] for t, y in zip(times, found.y.T, strict=True)]),
    )


def run() -> list[Row | Plot]:
    """Rotations and contact forces against the independent integration, and that processes and ligaments act."""
    times, angles, pushes = reference()
    result = flexmb.simulate(spine(), DURATION, method="radau", tolerance=1e-8, output_step=DURATION / 400)
    ours = np.column_stack([2 * np.arctan2(result.q[:, 7 * k + 6], result.q[:, 7 * k + 3]) for k in range(COUNT)])
    forces = np.column_stack([result.contact(f"processes L{COUNT - k}").normal_force for k in range(COUNT)])
    apart = float(np.abs(ours - angles).max() / np.abs(angles).max())
    rows: list[Row | Plot] = [Row(CASE, "rotations, relative", 0.0, "independent", apart, apart, ACCURACY)]
    off = float(np.abs(forces - pushes).max() / pushes.max())
    rows.append(Row(CASE, "contact forces, relative", 0.0, "independent", off, off, 20 * ACCURACY))
    closed = float((forces.max(axis=0) > 0).sum())
    rows.append(Row(CASE, "pairs of processes that touch", COUNT, "independent", closed, abs(closed - COUNT), 0.0))
    stretch = max(float(result.stretch(f"ligament L{k}").max()) for k in range(1, COUNT + 1))
    left = float(np.abs(result.ledger.residual).max()) / result.ledger.exchange
    rows.append(Row(CASE, "energy that is missing, relative", 0.0, "exact", left, left, 1e-5))
    lines = {f"L{COUNT - k}": (times, forces[:, k]) for k in range(COUNT)}
    return [
        *rows,
        Plot(f"Forces between processes; ligaments stretch by {1e3 * stretch:.2g} mm", "time (s)", "force (N)", lines),
    ]

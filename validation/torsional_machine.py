"""A torsional test machine (Chace): a motor's pulley, an elastic belt, a four-bar, an elastic shaft and a flywheel; against Lagrange's equations integrated directly.

Five angles and the two equations of the closed four-bar. Belt and shaft are springs between angles; the data are ours.
"""

import numpy as np
from scipy.integrate import solve_ivp

import flexmb
from validation.plot import Plot
from validation.row import Row

CASE = "torsional-machine"
CRANK, COUPLER, ROCKER, GROUND = 0.1, 0.4, 0.3, 0.45
PULLEY, WHEEL = 0.02, 0.05
BELT, SHAFT, TORQUE, DURATION = 40.0, 60.0, 3.0, 1.0
RODS = {"crank": (0.5, CRANK), "coupler": (1.0, COUPLER), "rocker": (0.8, ROCKER)}
Z = (0.0, 0.0, 1.0)


def angles(crank: float) -> np.ndarray:
    """Coupler and rocker of the closed four-bar."""
    pin, pivot = CRANK * np.array([np.cos(crank), np.sin(crank)]), np.array([GROUND, 0.0])
    d = pivot - pin
    length = np.linalg.norm(d)
    at_pin = np.arccos((COUPLER**2 + length**2 - ROCKER**2) / (2 * COUPLER * length))
    coupler = np.arctan2(d[1], d[0]) + at_pin
    joint = pin + COUPLER * np.array([np.cos(coupler), np.sin(coupler)])
    return np.array([coupler, np.arctan2(*(joint - pivot)[::-1])])


def build() -> flexmb.System:
    """Everything turns about z; the belt runs over equal pulleys, so that it is a spring between two angles."""
    system = flexmb.System(name=CASE)
    coupler, rocker = angles(0.5)
    pin = CRANK * np.array([np.cos(0.5), np.sin(0.5), 0.0])

    def rod(name: str, position: np.ndarray, angle: float) -> flexmb.mechanism.attachments.BodyHandle:
        mass, length = RODS[name]
        return system.add(flexmb.uniform_rod(name, mass=mass, length=length), position=position, orientation=(0, 0, angle))  # fmt: skip

    pulley = system.add(flexmb.rigid_body("pulley", mass=1.0, inertia=(0.02, 0.02, PULLEY)), position=(-1, 0, 0))
    first = rod("crank", np.zeros(3), 0.5)
    second = rod("coupler", pin, coupler)
    third = rod("rocker", np.array([GROUND, 0, 0]), rocker)
    wheel = system.add(flexmb.rigid_body("wheel", mass=2.0, inertia=(0.04, 0.04, WHEEL)), position=(GROUND, 0, 0))
    system.revolute("motor shaft", system.ground.at((-1, 0, 0)), pulley, axis=Z)
    system.revolute("A", system.ground.at((0, 0, 0)), first["start"], axis=Z)
    system.revolute("B", first["end"], second["start"], axis=Z)
    system.joint("point-on-line", "C", second["end"], third["end"], axis=Z)
    system.revolute("D", system.ground.at((GROUND, 0, 0)), third["start"], axis=Z)
    system.revolute("shaft bearing", third["start"], wheel, axis=Z)
    system.motor("motor", "motor shaft", TORQUE)
    system.bushing("belt", pulley.at((0, 0, 0)), first["start"], stiffness=(0, 0, 0, 0, 0, BELT))
    system.joint_spring("shaft", "shaft bearing", stiffness=SHAFT)
    return system


def exact(times: np.ndarray) -> np.ndarray:
    """The five angles (nt, 5): pulley, crank, coupler, rocker, wheel, from Lagrange's equations with two multipliers."""
    start = np.array([0.5, 0.5, *angles(0.5), 0.0])
    rest_belt, rest_shaft = start[0] - start[1], start[4] - start[3]
    m = {name: RODS[name][0] for name in RODS}
    end = {name: _about_end(*RODS[name]) for name in RODS}
    half = m["coupler"] * CRANK * COUPLER / 2

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        q, v = y[:5], y[5:]
        _, a, b, c, _ = q
        M = np.diag([PULLEY, end["crank"] + m["coupler"] * CRANK**2, end["coupler"], end["rocker"], WHEEL])
        M[1, 2] = M[2, 1] = half * np.cos(a - b)
        belt, shaft = BELT * (q[0] - q[1] - rest_belt), SHAFT * (q[4] - q[3] - rest_shaft)
        F = np.array([TORQUE - belt, belt - half * np.sin(a - b) * v[2] ** 2, half * np.sin(a - b) * v[1] ** 2, shaft, -shaft])  # fmt: skip
        G = np.array([
            [0, -CRANK * np.sin(a), -COUPLER * np.sin(b), ROCKER * np.sin(c), 0],
            [0, CRANK * np.cos(a), COUPLER * np.cos(b), -ROCKER * np.cos(c), 0],
        ])  # fmt: skip
        value = [
            CRANK * np.cos(a) + COUPLER * np.cos(b) - ROCKER * np.cos(c) - GROUND,
            CRANK * np.sin(a) + COUPLER * np.sin(b) - ROCKER * np.sin(c),
        ]
        gamma = np.array([
            CRANK * np.cos(a) * v[1] ** 2 + COUPLER * np.cos(b) * v[2] ** 2 - ROCKER * np.cos(c) * v[3] ** 2,
            CRANK * np.sin(a) * v[1] ** 2 + COUPLER * np.sin(b) * v[2] ** 2 - ROCKER * np.sin(c) * v[3] ** 2,
        ])  # fmt: skip
        gamma = gamma - 40.0 * (G @ v) - 400.0 * np.array(value)
        K = np.block([[M, G.T], [G, np.zeros((2, 2))]])
        return np.concatenate([v, np.linalg.solve(K, np.concatenate([F, gamma]))[:5]])

    y0 = np.concatenate([start, np.zeros(5)])
    return solve_ivp(rate, (0.0, DURATION), y0, method="DOP853", t_eval=times, rtol=1e-13, atol=1e-13).y[:5].T


def _about_end(mass: float, length: float) -> float:
    """Of flexmb's uniform rod about z at its end, radius included."""
    return mass * (3 * (length / 100) ** 2 + 4 * length**2) / 12


def run() -> list[Row | Plot]:
    """All five angles over a second."""
    result = flexmb.simulate(build(), DURATION, method="radau", tolerance=1e-12)
    reference = exact(np.array(result.t))
    turned = []
    for body in ("pulley", "crank", "coupler", "rocker", "wheel"):
        R = result.frame(body)[1]
        turned.append(np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0])))
    ours = np.array(turned).T
    rows: list[Row | Plot] = []
    for k, body in enumerate(("pulley", "crank", "coupler", "rocker", "wheel")):
        error = float(np.abs((ours - ours[0] - reference + reference[0])[:, k]).max())
        rows.append(Row(CASE, f"angle of the {body}, largest difference", 0.0, "recomputed", error, error, 1e-8))
    swing = float(np.ptp(reference[:, 3]))
    rows.append(Row(CASE, "the rocker swings (rad)", swing, "recomputed", float(np.ptp(ours[:, 3])), abs(float(np.ptp(ours[:, 3])) - swing), 1e-8))  # fmt: skip
    lines = {}
    for name, a, b in (("belt", 0, 1), ("shaft", 4, 3)):
        for label, angles_ in ((f"twist of the {name}", ours), (f"reference: {name}", reference)):
            twist = angles_[:, a] - angles_[:, b]
            lines[label] = (result.t, twist - twist[0])
    return [*rows, Plot("Belt and shaft", "time (s)", "twist (rad)", lines)]

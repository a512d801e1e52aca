"""Andrews' squeezing mechanism: seven small bodies, three closed loops, a motor that runs at ten thousand revolutions a minute within thirty milliseconds.

A standard test of solvers of differential-algebraic equations (Schiehlen, Multibody Systems Handbook (1990); Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section VII.7).
References: angles and velocities at 0.03 s to 14 digits in the Test Set for IVP Solvers (Mazzia, Magherini).
"""

import numpy as np

import flexmb
from validation.plot import Plot
from validation.row import Row

CASE = "andrews-squeezer"
DURATION = 0.03
A, B, C = np.array([-0.06934, -0.00227]), np.array([-0.03635, 0.03273]), np.array([0.014, 0.072])
RR, RA, D, DA, E, EA = 0.007, 0.00092, 0.028, 0.0115, 0.02, 0.01421
SS, SA, SB, SC, SD, TA, TB = 0.035, 0.01874, 0.01043, 0.018, 0.02, 0.02308, 0.00916
U, UA, UB, ZF, ZT, FA = 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421
SPRING, LENGTH, TORQUE = 4530.0, 0.07785, 0.033
START = (-0.0617138900142764496, 0.0, 0.4552798191630703803, 0.2226683901658858847, 0.4873649795438425502, -0.2226683901658858847, 1.2305474445498211925)  # fmt: skip
"""beta, Theta, gamma, Phi, delta, Omega, epsilon"""
ANGLES = (15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304, 0.5347301163226948, 1.048080741042263)  # fmt: skip
RATES = (1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385, 0.5735699284790808, -19.29337464421385, 0.3231791658026955)  # fmt: skip
NAMES = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")


def build() -> flexmb.System:
    """Every body's frame is turned by the angle (or sum of angles) that places it; everything moves in the plane z = 0."""
    beta, theta, gamma, phi, delta, omega, epsilon = START
    system = flexmb.System(name=CASE)

    def body(name: str, mass: float, inertia: float, centre: tuple[float, float], at: np.ndarray, angle: float) -> flexmb.mechanism.attachments.BodyHandle:  # fmt: skip
        made = flexmb.rigid_body(name, mass=mass, inertia=(inertia,) * 3, centre=(*centre, 0))
        return system.add(made, position=(*at, 0), orientation=(0, 0, angle))

    def turned(angle: float, x: float, y: float = 0.0) -> np.ndarray:
        return np.array([x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)])

    pin = turned(beta, RR)
    knee = A + turned(delta, ZT)
    elbow = A + turned(epsilon, 0, -U)
    K1 = body("K1", 0.04325, 2.194e-6, (RA, 0), np.zeros(2), beta)
    K2 = body("K2", 0.00365, 4.410e-7, (-DA, 0), pin, beta + theta)
    K3 = body("K3", 0.02373, 5.255e-6, (SB, -SA), B, gamma)
    K4 = body("K4", 0.00706, 5.667e-7, (0, EA - E), knee, phi + delta)
    K5 = body("K5", 0.07050, 1.169e-5, (TA, TB), A, delta)
    K6 = body("K6", 0.00706, 5.667e-7, (ZF - FA, 0), elbow, omega + epsilon)
    K7 = body("K7", 0.05498, 1.912e-5, (-UB, -UA), A, epsilon)
    z = (0, 0, 1)
    system.revolute("O", system.ground.at((0, 0, 0)), K1.at((0, 0, 0)), axis=z)
    system.revolute("crank pin", K1.at((RR, 0, 0)), K2.at((0, 0, 0)), axis=z)
    system.revolute("B", system.ground.at((*B, 0)), K3.at((0, 0, 0)), axis=z)
    system.revolute("A5", system.ground.at((*A, 0)), K5.at((0, 0, 0)), axis=z)
    system.revolute("A7", system.ground.at((*A, 0)), K7.at((0, 0, 0)), axis=z)
    system.revolute("knee", K5.at((ZT, 0, 0)), K4.at((0, 0, 0)), axis=z)
    system.revolute("elbow", K7.at((0, -U, 0)), K6.at((0, 0, 0)), axis=z)
    for name, other, at in (("P3", K3, (0, -SS, 0)), ("P4", K4, (0, -E, 0)), ("P6", K6, (ZF, 0, 0))):
        system.joint("point-on-line", name, K2.at((-D, 0, 0)), other.at(at), axis=z)
    system.motor("motor", "O", TORQUE)
    system.spring_damper("spring", K3.at((SD, -SC, 0)), system.ground.at((*C, 0)), stiffness=SPRING, length=LENGTH)
    return system


def angles(result: flexmb.Result) -> np.ndarray:
    """The seven angles (nt, 7)."""
    total = {name: np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0])) for name in ("K1", "K2", "K3", "K4", "K5", "K6", "K7") for R in [result.frame(name)[1]]}  # fmt: skip
    found = [total["K1"], total["K2"] - total["K1"], total["K3"], total["K4"] - total["K5"], total["K5"], total["K6"] - total["K7"], total["K7"]]  # fmt: skip
    return np.array([values + 2 * np.pi * np.round((start - values[0]) / (2 * np.pi)) for values, start in zip(found, START, strict=True)]).T  # fmt: skip


def run() -> list[Row | Plot]:
    """Angles and rates at 0.03 s, by Radau and by the default method."""
    exact = flexmb.simulate(build(), DURATION, method="radau", tolerance=1e-11, output_step=1e-4)
    found = angles(exact)
    rows: list[Row | Plot] = []
    for k, name in enumerate(NAMES):
        ours = float(found[-1, k])
        rows.append(Row(CASE, f"{name} at 0.03 s", ANGLES[k], "paper", ours, abs(ours - ANGLES[k]) / max(1, abs(ANGLES[k])), 1e-7))  # fmt: skip
    spin = {name: float(exact.angular_velocity(f"{name}.b")[-1, 2]) for name in ("O", "crank pin", "B")}
    for name, ours, reference in (("beta", spin["O"], RATES[0]), ("Theta", spin["crank pin"] - spin["O"], RATES[1]), ("gamma", spin["B"], RATES[2])):  # fmt: skip
        rows.append(Row(CASE, f"rate of {name} at 0.03 s", reference, "paper", ours, abs(ours / reference - 1), 1e-6))
    plain = flexmb.simulate(build(), DURATION, step=2e-6, output_step=1e-4)
    error = float(np.abs(angles(plain)[-1] - ANGLES).max())
    rows.append(Row(CASE, "generalised-alpha, step 2e-6: largest error of an angle", 0.0, "paper", error, error, 1e-5))
    lines = {name: (exact.t, (found[:, k] + np.pi) % (2 * np.pi) - np.pi) for k, name in enumerate(NAMES) if k > 1}
    lines["reference"] = (np.full(5, DURATION), (np.array(ANGLES[2:]) + np.pi) % (2 * np.pi) - np.pi)
    return [*rows, Plot("Angles of the squeezer", "time (s)", "angle (rad)", lines)]

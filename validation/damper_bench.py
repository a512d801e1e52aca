"""A McPherson strut on a bench, shaken at its hub: transfer functions from records in time, and harmonics of dampers (Pisino, Giacomin, Campanile, NATO ASI 1993).

Lower arm, hub with the outer tube of the strut, and the rod of the strut, whose mount is a bushing; the measured quantity is the vertical force in it. The data are our own, with the resonance of the source, 2.95 Hz.
The excitation is that of the source: lines every 0.125 Hz up to 50 Hz with random phases and a crest factor of 3.95, 512 samples a second, records of 8 s.
Its estimate H1 = S_xy / S_xx, from the second period of the motion, is compared with the transfer function of the linearised mechanism: the periodic motion in steady state of a system that is linear at this level.
At the level of the source, a damper with two slopes changes the estimate near the resonance, and hardly above 20 Hz.

A mass on a spring with a symmetric damper `c v + c3 v^3` answers a sine by odd harmonics alone; they agree with an independent integration of its equation.
"""

import numpy as np
from scipy.integrate import solve_ivp

import flexmb
from flexmb.forces.scalar.expression import Expression
from flexmb.linear import equilibrium, frequency_response, linearise
from flexmb.mechanism.time_functions import TimeFunction
from validation.plot import Plot
from validation.row import Row

CASE = "damper-bench"
PERIOD, RATE, LINES, CREST, STEP = 8.0, 512, 400, 3.95, 1 / 8192
RESONANCE = 2.95
ARM, HUB, TOP = np.array([0, 0.35, 0.2]), np.array([0, 0.7, 0.2]), np.array([0, 0.6, 0.8])
UNSPRUNG, SPRING, DAMPING = 48.4, 20e3, 450.0


def bench(excitation: TimeFunction, damper: Expression | None = None) -> flexmb.System:
    """The strut, its slider as the axis of spring and damper."""
    system = flexmb.System(name=CASE)
    strut = (TOP - HUB) / np.linalg.norm(TOP - HUB)
    arm = system.add(flexmb.rigid_body("arm", mass=4.0, inertia=(0.05, 0.01, 0.05)), position=(ARM + HUB) / 2)
    hub = system.add(
        flexmb.rigid_body("hub", mass=UNSPRUNG, inertia=(1.0, 1.2, 1.0)), position=HUB + np.array([0, 0.03, 0.05])
    )
    rod = system.add(flexmb.rigid_body("rod", mass=2.0, inertia=(0.04, 0.04, 0.002)), position=TOP - 0.2 * strut)
    system.revolute("pivot", system.ground, arm, axis=(1, 0, 0), at=ARM)
    system.spherical("ball", arm, hub, at=HUB)
    system.prismatic("slider", hub, rod, axis=strut, at=TOP - 0.3 * strut)
    given = {"damping": DAMPING} if damper is None else {"law": damper}
    system.joint_spring("spring", "slider", stiffness=SPRING, **given)
    mount = (2e6, 2e6, 1e6, 300.0, 300.0, 300.0), (800.0, 800.0, 600.0, 6.0, 6.0, 6.0)
    system.bushing("mount", system.ground, rod, at=TOP, stiffness=mount[0], damping=mount[1])
    system.load("shaker", hub.at((0, 0, 0)), force=(0, 0, 1), factor=excitation)
    return system


def phases() -> np.ndarray:
    """Random phases (lines,) of the record whose crest factor is nearest to that of the source, of a thousand."""
    records = np.random.default_rng(1).uniform(0, 2 * np.pi, (1000, LINES))
    spectra = np.zeros((1000, RATE * int(PERIOD) // 2 + 1), dtype=complex)
    spectra[:, 1 : LINES + 1] = np.exp(1j * records)
    signals = np.fft.irfft(spectra)
    crests = np.abs(signals).max(axis=1) / signals.std(axis=1)
    return np.asarray(records[np.abs(crests - CREST).argmin()])


def pseudo_random(rms: float) -> TimeFunction:
    """The sum of the lines with equal amplitudes."""
    turn = 2j * np.pi / PERIOD
    lines = np.r_[0, rms * np.sqrt(2 / LINES) * np.exp(1j * phases())]

    def part(order: int):  # type: ignore[no-untyped-def]
        factors = lines * (turn * np.arange(LINES + 1)) ** order
        return lambda t: np.polynomial.polynomial.polyval(np.exp(turn * t), factors).real

    return flexmb.time_functions.function(part(0), part(1), part(2), arrays=True, feature=0.5 * PERIOD / LINES)


def record(system: flexmb.System, load: TimeFunction) -> tuple[np.ndarray, np.ndarray, flexmb.Result]:
    """Spectra of the shaker and of the force in the mount over the second period, and the result."""
    result = flexmb.simulate(system, 2 * PERIOD, step=STEP, output_step=1 / RATE)
    second = slice(-int(PERIOD * RATE), None)
    x, y = load.value(result.t[second]), result.force("mount")[second, 2]
    return np.fft.rfft(x), np.fft.rfft(y), result


def h1(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The estimate `S_xy / S_xx` at the lines."""
    lines = slice(1, LINES + 1)
    return np.asarray((np.conj(x) * y)[lines] / (np.conj(x) * x).real[lines])


def _transfer() -> list[Row | Plot]:
    gentle, strong = pseudo_random(0.5), pseudo_random(500.0)
    signal = gentle.value(np.arange(int(PERIOD * RATE)) / RATE)
    crest = float(np.abs(signal).max() / signal.std())
    f = np.arange(1, LINES + 1) / PERIOD
    linear = linearise(equilibrium(bench(gentle)))
    transfer = frequency_response(linear, f, ["shaker"], {"mount": lambda r: -r.force("mount")[:, 2]}).of(
        "mount", "shaker"
    )
    x, y, result = record(bench(gentle), gentle)
    found = -h1(x, y)
    fine = np.arange(2.0, 4.0, 0.002)
    near = frequency_response(linear, fine, ["shaker"], {"hub": lambda r: r.coordinate("slider")}).of("hub", "shaker")
    top = float(fine[np.abs(near).argmax()])
    error = float((np.abs(found - transfer) / np.abs(transfer)).max())
    first = RATE * int(PERIOD)
    coordinate = result.coordinate("slider")
    steady = float(np.abs(coordinate[first] - coordinate[-1]) / np.ptp(coordinate))
    two_slopes = flexmb.expression("-c*(0.5*xdot if xdot > 0 else 1.5*xdot)", c=DAMPING)
    bent = -h1(*record(bench(strong, two_slopes), strong)[:2])
    apart = np.abs(bent - transfer)
    close, far = float(apart[np.abs(f - RESONANCE) < 0.5].mean()), float(apart[f > 20].mean())
    lines = {
        "reference: transfer function": (f, np.abs(transfer)),
        "H1, linear damper": (f, np.abs(found)),
        "H1, damper of two slopes, 500 N rms": (f, np.abs(bent)),
    }
    return [
        Row(CASE, "crest factor of the excitation", CREST, "paper", crest, abs(crest / CREST - 1), 1e-3),
        Row(CASE, "resonance (Hz)", RESONANCE, "paper", top, abs(top / RESONANCE - 1), 0.01),
        Row(CASE, "change of the slider after a period in steady state, relative", 0.0, "exact", steady, steady, 1e-6),
        Row(CASE, "H1 at 400 lines against the transfer function, largest relative error", 0.0, "exact", error, error, 1e-3),
        Row(CASE, "two slopes: H1 changes at least 3 times as much near the resonance as above 20 Hz (1: yes)", 1, "paper", int(close > 3 * far), 1 - int(close > 3 * far), 0),
        Plot("Force in the mount by a unit force at the hub", "frequency (Hz)", "H1", lines, logarithmic="xy"),
    ]  # fmt: skip


def harmonics(duration: float = 16.0) -> tuple[np.ndarray, np.ndarray]:
    """Magnitudes of the first nine harmonics of the force in spring and damper at 2.5 Hz, ours and of the equation."""
    mass, cubic, force, rate = 58.0, 900.0, 500.0, 2.5
    system = flexmb.System(name=CASE)
    hub = system.add(flexmb.rigid_body("hub", mass=mass, inertia=(1, 1, 1)))
    system.prismatic("guide", system.ground, hub, axis=(0, 0, 1), at=(0, 0, 0))
    law = flexmb.expression("-k*x - c*xdot - c3*xdot**3", k=SPRING, c=DAMPING, c3=cubic)
    system.joint_spring("strut", "guide", law=law)
    system.load("shaker", hub.at((0, 0, 0)), force=(0, 0, force), factor=flexmb.time_functions.harmonic(1.0, rate))
    result = flexmb.simulate(system, duration, method="radau", tolerance=1e-10, output_step=1 / RATE)

    def strut(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return -SPRING * x - DAMPING * v - cubic * v**3

    def motion(t: float, s: np.ndarray) -> list[float]:
        return [s[1], float(force * np.sin(2 * np.pi * rate * t) + strut(s[0], s[1])) / mass]

    second = result.t[-int(PERIOD * RATE) :]
    known = solve_ivp(motion, (0, duration), [0, 0], method="DOP853", t_eval=second, rtol=1e-11, atol=1e-13)
    at = (np.arange(1, 10) * rate * PERIOD).astype(int)
    ours, theirs = (np.abs(np.fft.rfft(y))[at] for y in (result.effort("strut")[-len(second) :], strut(*known.y)))
    return ours, theirs


def run() -> list[Row | Plot]:
    """Transfer functions of the strut, and harmonics of a symmetric damper."""
    ours, theirs = harmonics()
    even = float(ours[1::2].max() / ours[0])
    third = float((np.abs(ours - theirs)[::2] / theirs[0]).max())
    number = np.arange(1, 10)
    return [
        *_transfer(),
        Row(CASE, "symmetric damper: even harmonics over the first", 0.0, "exact", even, even, 1e-7),
        Row(CASE, "symmetric damper: odd harmonics against the equation, over the first", 0.0, "recomputed", third, third, 1e-7),
        Plot("Harmonics of the force in a strut with a symmetric damper, over the first", "harmonic", "ratio", {"flexmb": (number[::2], ours[::2] / ours[0]), "reference": (number[::2], theirs[::2] / theirs[0])}, logarithmic="y"),
    ]  # fmt: skip

"""A slender block that is released on an edge, rocks over, and goes on about the other edge (Housner 1963).

A block of half sizes b, h, released at half of its critical angle alpha = arctan(b/h), falls about one edge. When it stands upright, the other edge strikes. The impulse acts there alone, and the moment of momentum about this edge is kept,
so that the rate falls to 1 - 1.5 sin^2 alpha of its value: a result of the impact, in which no coefficient of restitution but that of a plastic contact is given. The fall is an elliptic integral; the next peak follows from the energy.
"""

import numpy as np
from scipy.integrate import quad

import flexmb
from flexmb.contact import Box, Plane
from flexmb.results.result import Result
from validation.plot import Plot
from validation.row import Row

CASE = "rocking-block"
G, B, H = 9.81, 0.2, 0.6
DURATION, STEP = 0.8, 1e-3
ALPHA = float(np.arctan2(B, H))
BEGIN = 0.5 * ALPHA
SQUARE = 0.75 * G / np.hypot(B, H)
"""The square of the parameter p of the equation of motion, angle'' = -p^2 sin(alpha - angle)."""


def block() -> flexmb.System:
    """A box on one of its lower edges."""
    system = flexmb.System(gravity=(0, 0, -G), name="rocking block")
    edge = np.array([[np.cos(BEGIN), np.sin(BEGIN)], [-np.sin(BEGIN), np.cos(BEGIN)]]) @ [B, -H]
    second = (B * B + H * H) / 3
    body = flexmb.rigid_body("block", mass=1.0, inertia=(second, second, 0.1))
    handle = system.add(body, position=(0, 0, -edge[1]), orientation=(0, BEGIN, 0))
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    system.contact("floor", floor, Box(2 * B, 0.3, 2 * H).on(handle.at((0, 0, 0))), friction=1.0)
    return system


def references() -> tuple[float, float, float, float]:
    """The instant and the rate of the impact, the ratio of rates, and the next peak."""

    def speed(angle: float) -> float:
        return float(np.sqrt(2 * SQUARE * (np.cos(ALPHA - BEGIN) - np.cos(ALPHA - angle))))

    # the angle BEGIN - x^2 removes the singularity of the integrand at rest
    instant = quad(lambda x: 2 * x / speed(BEGIN - x * x), 0, np.sqrt(BEGIN))[0]
    kept = 1 - 1.5 * np.sin(ALPHA) ** 2
    peak = ALPHA - np.arccos(np.cos(ALPHA) + 0.5 * (kept * speed(0.0)) ** 2 / SQUARE)
    return float(instant), speed(0.0), float(kept), float(peak)


def angle(result: Result) -> np.ndarray:
    """The inclination of the block over time."""
    return np.asarray(2 * np.arctan2(result.q[:, 5], result.q[:, 3]))


def run() -> list[Row | Plot]:
    """Impact, restitution and peak, and the order of the peak in the step."""
    found = {step: flexmb.simulate(block(), DURATION, step=step) for step in (8 * STEP, 2 * STEP, STEP)}
    fine, (instant, rate, kept, peak) = found[STEP], references()
    impact = fine.happened[0]
    before, after = (int(np.searchsorted(fine.t, impact.t)) + k for k in (-1, 0))
    rates = [float(fine.w[k, 4] + fine.wdot[k, 4] * (impact.t - fine.t[k])) for k in (before, after)]
    lost = 0.5 * (4 / 3) * (B * B + H * H) * rate**2 * (1 - kept**2)
    peaks = {step: float(-angle(result).min()) for step, result in found.items()}
    rows: list[Row | Plot] = []
    for what, reference, ours, allowed in (
        ("instant of the impact (s)", instant, impact.t, 5e-6),
        ("energy lost in it (J)", lost, sum(x.lost for x in fine.happened if abs(x.t - impact.t) < 1e-9), 1e-5),
        ("rate after over rate before", kept, rates[1] / rates[0], 1e-5),
        ("next peak (rad)", peak, peaks[STEP], 1e-5),
    ):
        rows.append(Row(CASE, what, reference, "exact", float(ours), float(abs(ours / reference - 1)), allowed))
    order = float(np.log2(abs(peaks[8 * STEP] - peak) / abs(peaks[2 * STEP] - peak)) / 2)
    rows.append(Row(CASE, "order of the peak in the step", 2.0, "exact", order, max(2.0 - order, 0.0), 0.5))
    lines = {"flexmb": (fine.t, angle(fine)), "reference: peak": (np.array([fine.t[np.argmin(angle(fine))]]), np.array([-peak]))}  # fmt: skip
    rows.append(Plot("Rocking block", "time (s)", "inclination (rad)", lines))
    return rows

"""A semicircular arch of dry stones under its own weight stands if it is thick enough: a test of the cone solver alone.

Stones of equal angles touch along radial joints, which transmit no tension and do not slide. Such an arch stands for a thickness above 0.10746 of the radius of its middle line (Milankovitch 1907; Heyman 1969), in the
limit of many stones. With 16 stones the limit is lower, because hinges open at joints only: 0.10724, also by linear programming. The rigid stones have 2 contacts and a sliding constraint a joint, 51 rows on 48 freedoms, so
that forces are not unique; an arch that stands has no accelerations, one that falls has.
"""

import numpy as np

from flexmb.contact import Bounded, solve_contacts
from validation.plot import Plot
from validation.row import Row

CASE = "masonry-arch"
STONES = 16
MILANKOVITCH, WITH_16_STONES = 0.10746, 0.10724
BISECTED, STANDS = 1e-7, 1e-8


def joints_and_weights(stones: int, thickness: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Bounded]]:
    """Rows H (3 (n + 1), 3 n) of outer edge, inner edge and sliding of each joint, the weights and masses (3 n,) of
    the stones (x, y, rotation; mass and gravity one), and the laws of the rows. Radius of the middle line one."""
    angle, outer, inner = np.pi / stones, 1 + thickness / 2, 1 - thickness / 2
    centre = 2 / 3 * (outer**3 - inner**3) / (outer**2 - inner**2) * np.sin(angle / 2) / (angle / 2)
    H, blocks = np.zeros((3 * (stones + 1), 3 * stones)), []
    for j in range(stones + 1):
        c, s = np.cos(j * angle), np.sin(j * angle)
        for k, (radius, direction) in enumerate([(outer, (-s, c)), (inner, (-s, c)), (1.0, (c, s))]):
            for stone, sign in ((j, 1), (j - 1, -1)):
                if 0 <= stone < stones:
                    middle = (stone + 0.5) * angle
                    arm = radius * np.array([c, s]) - centre * np.array([np.cos(middle), np.sin(middle)])
                    moment = arm[0] * direction[1] - arm[1] * direction[0]
                    H[3 * j + k, 3 * stone : 3 * stone + 3] += sign * np.array([*direction, moment])
            blocks.append(Bounded() if k < 2 else Bounded(-np.inf))
    second = 0.25 * angle * (outer**4 - inner**4) / (0.5 * angle * (outer**2 - inner**2))  # of a sector, about 0
    masses = np.tile([1.0, 1.0, second - centre**2], stones)
    return H, np.tile([0.0, -1.0, 0.0], stones), masses, blocks


def acceleration(thickness: float, stones: int = STONES) -> float:
    """The largest acceleration of the arch, in gravity."""
    H, weights, masses, blocks = joints_and_weights(stones, thickness)
    found = solve_contacts((H / masses) @ H.T, H @ (weights / masses), blocks)
    moved: np.ndarray = (weights + H.T @ found.impulses) / masses
    return float(np.abs(moved).max())


def run() -> list[Row | Plot]:
    """The thickness at which the arch begins to stand, and accelerations below it."""
    low, high = 0.09, 0.12
    while high - low > BISECTED:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if acceleration(middle) > STANDS else (low, middle)
    thick = np.linspace(0.1, 0.115, 31)
    lines = {f"{STONES} stones": (thick, np.array([acceleration(x) for x in thick]))}
    plot = Plot("Largest acceleration of the arch", "thickness over radius", "acceleration over gravity", lines)
    references = (
        (f"least thickness, {STONES} stones", WITH_16_STONES, "linear programme", 1e-4),
        ("least thickness, many stones", MILANKOVITCH, "Milankovitch", 0.02),
    )
    rows = [Row(CASE, what, value, kind, high, abs(high / value - 1), most) for what, value, kind, most in references]
    return [*rows, plot]

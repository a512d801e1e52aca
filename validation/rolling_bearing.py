"""A shaft in a rolling bearing: the load of each element, and the motion as the elements pass below the load.

Without clearance, the largest load on an element is `k F / Z` with Stribeck's number: 4.3457 for 8 balls, 4.3681 for 16, 4.0770 and 4.0841 for rollers (sums over the elements in equilibrium). While the shaft turns slowly, the cage carries the elements past the
load and the shaft rises and falls; the reference solves the equilibrium of the sum at each angle of the cage. The model is that of Zeischka (Euromech 524, 2012): no ring bends.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, fsolve

import flexmb
import flexmb.forces
from validation.plot import Plot
from validation.row import Row

CASE = "rolling-bearing"
MASS, GRAVITY, STIFFNESS = 50.0, 9.81, 1e10
SETTLING, DAMPING = 5e4, 2e3
NUMBERS = {(1.5, 8): 4.3457, (1.5, 16): 4.3681, (10 / 9, 8): 4.0770, (10 / 9, 16): 4.0841}
RATIO, SPIN = 0.4, 2.0


def build(
    exponent: float, count: int, spin: float, place: ArrayLike, cage: float, velocity: ArrayLike = (0.0, 0.0)
) -> flexmb.System:
    """The shaft at a place in its bearing, with an element at the angle `cage` from x; strongly damped without spin."""
    damping = DAMPING if spin else SETTLING
    system = flexmb.System(gravity=(0, -GRAVITY, 0), name=CASE)
    shaft = system.add(
        flexmb.rigid_body("shaft", mass=MASS, inertia=(1, 1, 1)),
        position=(*np.asarray(place), 0),
        velocity=(*np.asarray(velocity), 0),
        angular_velocity=(0, 0, spin),
    )
    law = flexmb.forces.rolling_bearing(
        elements=count, stiffness=STIFFNESS, exponent=exponent, cage_ratio=RATIO, damping=damping, initial=(cage,)
    )
    system.force("bearing", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), law)
    return system


def rest(exponent: float, count: int, cage: float) -> np.ndarray:
    """The place of equilibrium (2,) of the weight and the sum over the elements."""
    angles = cage + 2 * np.pi * np.arange(count) / count
    directions = np.array([np.cos(angles), np.sin(angles)])

    def unbalanced(place: np.ndarray) -> np.ndarray:
        loads = STIFFNESS * np.maximum(1e-6 * place @ directions, 0.0) ** exponent
        return np.asarray(directions @ loads / (MASS * GRAVITY) + [0.0, 1.0])

    depth = brentq(lambda y: unbalanced(np.array([0.0, y]))[1], -1e3, -1e-9)
    return np.asarray(1e-6 * fsolve(unbalanced, [0.0, depth], xtol=1e-12))


def run() -> list[Row | Plot]:
    """Stribeck's numbers of shafts that settle, and the motion of one that turns."""
    rows: list[Row | Plot] = []
    for (exponent, count), expected in NUMBERS.items():
        settled = flexmb.simulate(build(exponent, count, 0.0, (0.0, 0.0), -np.pi / 2), 0.2, step=2e-5, output_step=0.02)
        largest = STIFFNESS * (-settled.q[-1, 1]) ** exponent
        number = float(count * largest / (MASS * GRAVITY))
        kind = "balls" if exponent == 1.5 else "rollers"
        rows.append(Row(CASE, f"number of Stribeck, {count} {kind}", expected, "recomputed", number, abs(number / expected - 1), 2e-5))  # fmt: skip
    start, ahead = -np.pi / 2, 1e-4
    places = [rest(1.5, 8, start + turned) for turned in (-ahead, 0.0, ahead)]
    velocity = RATIO * SPIN * (places[2] - places[0]) / (2 * ahead)
    system = build(1.5, 8, SPIN, places[1], start, velocity)
    result = flexmb.simulate(system, 2.0, step=1e-3, output_step=0.01)
    cage = result.element_states[:, 0]
    turned = start + RATIO * SPIN * result.t
    rows.append(Row(CASE, "angle of the cage (rad)", float(turned[-1]), "exact", float(cage[-1]), float(np.abs(cage - turned).max()), 1e-9))  # fmt: skip
    path = np.array([rest(1.5, 8, angle) for angle in turned])
    height = result.q[:, 1]
    lift, found = np.ptp(path[:, 1]), np.ptp(height)
    rows.append(Row(CASE, "rise and fall of the shaft (m)", float(lift), "recomputed", float(found), abs(found / lift - 1), 1e-3))  # fmt: skip
    off = float(np.abs(result.q[:, :2] - path).max() / np.ptp(path, axis=0).max())
    rows.append(Row(CASE, "largest deviation over the size of the path", 0.0, "recomputed", off, off, 5e-3))
    lines = {"flexmb": (result.t, 1e6 * height), "reference (equilibrium)": (result.t, 1e6 * path[:, 1])}
    return [*rows, Plot("Height of the shaft", "time (s)", "height (um)", lines)]

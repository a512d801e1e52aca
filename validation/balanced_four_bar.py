"""Balanced four-bar linkages: forces and moments on the ground, which counterweights on crank and rocker, and counter-rotating wheels, make vanish.

The conditions for the shaking force are those of Berkof and Lowen ("A new method for completely force balancing simple linkages", 1969): with the loop equation, the first moment of mass is a combination of
the crank's and the rocker's directions, whose coefficients must be zero. The shaking moment of a balanced linkage with the mass centre of the coupler on its line is a combination of the angular accelerations
(Berkof and Lowen, "Theory of shaking moment optimization of force-balanced four-bar linkages", 1971). If the coupler is a physical pendulum, counter-rotating wheels of the same moments at crank and rocker balance the moment
too, as in the legs of the manipulator of Acevedo, Ceccarelli, Carbone and Cafolla (2012), whose third-order polynomial over 4 s moves the crank here.

All dimensions are ours; the linkage lies in a horizontal plane. The references are closed forms, and for the linkage without counterweights the rates of linear and angular momentum from the closed-form kinematics.
"""

from dataclasses import dataclass

import numpy as np

import flexmb
from flexmb.mechanism.time_functions import TimeFunction, polynomial
from flexmb.results.result import Result
from validation.plot import Plot
from validation.row import Row

CASE = "balanced-four-bar"
CRANK, COUPLER, ROCKER, GROUND = 0.1, 0.35, 0.25, 0.4
START, TURN, DURATION, SPEED = 0.6, 2 * np.pi, 4.0, 20.0
COUNTER = 0.06
"""Distance of the counterweights from their pivots, opposite to the bars."""
THICK = (3 * 0.01**2 + 1) / 12
"""Square of the radius of gyration of the bars about their centre, over the square of their length."""
Z = (0.0, 0.0, 1.0)
Bar = tuple[float, complex, float]
"""Mass, mass centre (complex, along and across the bar, from its first joint) and moment of inertia about it."""


@dataclass(frozen=True)
class Linkage:
    """Crank, coupler and rocker with what is attached to them; `wheels`: moments of the counter-rotating wheels of crank and rocker."""

    crank: Bar
    coupler: Bar
    rocker: Bar
    wheels: tuple[float, float] | None = None

    def kinetic_moments(self) -> np.ndarray:
        """Factors (3,) of the angular speeds in the angular momentum of a force-balanced linkage with an in-line coupler (Berkof and Lowen, for mass centres measured along the bars)."""
        lengths = (CRANK, COUPLER, ROCKER)
        return np.array([J + m * (abs(z) ** 2 - length * z.real) for (m, z, J), length in zip((self.crank, self.coupler, self.rocker), lengths, strict=True)])  # fmt: skip


def bar(mass: float, length: float) -> Bar:
    """A slender bar."""
    return mass, complex(length / 2), mass * length**2 * THICK


def with_counterweight(plain: Bar, moment: complex) -> Bar:
    """The bar with a point mass opposite to `moment`, at the distance `COUNTER`, so that mass times mass centre is `moment`."""
    m, z, J = plain
    missing = moment - m * z
    extra, at = abs(missing) / COUNTER, COUNTER * missing / abs(missing)
    centre = moment / (m + extra)
    return m + extra, centre, J + m * abs(z - centre) ** 2 + extra * abs(at - centre) ** 2


def balanced(coupler: Bar, wheels: bool = False, error: float = 0.0) -> Linkage:
    """Bars with the counterweights of Berkof and Lowen; `error`: relative, of the moment of mass that the crank should have."""
    m, z, _ = coupler
    crank = with_counterweight(bar(0.5, CRANK), -m * CRANK * (1 - z / COUPLER) * (1 + error))
    rocker = with_counterweight(bar(0.9, ROCKER), -m * ROCKER * z / COUPLER)
    plain = Linkage(crank, coupler, rocker)
    first, _, last = plain.kinetic_moments()
    return Linkage(crank, coupler, rocker, (float(first), float(last)) if wheels else None)


UNBALANCED = Linkage(bar(0.5, CRANK), bar(1.5, COUPLER), bar(0.9, ROCKER))
IN_LINE = balanced(bar(1.5, COUPLER))
OFF_LINE = balanced((1.5, 0.4 * COUPLER * np.exp(0.35j), bar(1.5, COUPLER)[2]))
PENDULUM = balanced((1.5, complex(0.4 * COUPLER), 1.5 * 0.4 * 0.6 * COUPLER**2), wheels=True)
INEXACT = balanced(bar(1.5, COUPLER), error=0.01)


def angles(crank: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles of crank, coupler and rocker (nt, 3) with their rates and accelerations, on the open branch."""
    diagonal = GROUND - CRANK * np.exp(1j * crank)
    d = np.abs(diagonal)
    coupler = np.angle(diagonal) + np.arccos((COUPLER**2 + d**2 - ROCKER**2) / (2 * COUPLER * d))
    rocker = np.angle(COUPLER * np.exp(1j * coupler) - diagonal)
    a, b, c = (length * np.exp(1j * q) for length, q in ((CRANK, crank), (COUPLER, coupler), (ROCKER, rocker)))

    def solved(right: np.ndarray) -> np.ndarray:
        """Real x (2, nt) with `i b x[0] - i c x[1] = right`."""
        return np.stack([(-1j * right * np.conj(side)).imag for side in (c, b)]) / (b * np.conj(c)).imag

    v = solved(-1j * a * rate)
    w = solved(-1j * a * acceleration + a * rate**2 + b * v[0] ** 2 - c * v[1] ** 2)
    return (
        np.stack([crank, coupler, rocker], axis=1),
        np.stack([rate, *v], axis=1),
        np.stack([acceleration, *w], axis=1),
    )


def exact(linkage: Linkage, q: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Force (nt,), complex, and moment (nt,) about the crank's pivot on the ground: minus the rates of the momenta."""
    force, moment = np.zeros(len(q), complex), np.zeros(len(q))
    turn = np.exp(1j * q)
    second = 1j * w - v**2
    pin = CRANK * turn[:, 0]
    for k, (m, z, J) in enumerate((linkage.crank, linkage.coupler, linkage.rocker)):
        origin, origin_second = ((0 * pin, 0 * pin), (pin, pin * second[:, 0]), (GROUND + 0 * pin, 0 * pin))[k]
        place, second_rate = origin + z * turn[:, k], origin_second + z * turn[:, k] * second[:, k]
        force -= m * second_rate
        moment -= m * (np.conj(place) * second_rate).imag + J * w[:, k]
    return force, moment


def build(linkage: Linkage, motion: TimeFunction) -> flexmb.System:
    """The linkage with its crank driven by `motion`."""
    system = flexmb.System(name=CASE)
    start = angles(*(np.array([x]) for x in (START, 0.0, 0.0)))[0][0]
    at = (0j, CRANK * np.exp(1j * START), complex(GROUND))
    lengths = (CRANK, COUPLER, ROCKER)
    bodies = []
    for name, (m, z, J), place, angle, length in zip(("crank", "coupler", "rocker"), (linkage.crank, linkage.coupler, linkage.rocker), at, start, lengths, strict=True):  # fmt: skip
        body = flexmb.rigid_body(name, mass=m, inertia=(J, J, J), centre=(z.real, z.imag, 0), points={"start": (0, 0, 0), "end": (length, 0, 0)})  # fmt: skip
        bodies.append(system.add(body, position=(place.real, place.imag, 0), orientation=(0, 0, angle)))
    crank, coupler, rocker = bodies
    pivots = (system.ground.at((0, 0, 0)), system.ground.at((GROUND, 0, 0)))
    system.revolute("crank pivot", pivots[0], crank["start"], axis=Z)
    system.revolute("pin", crank["end"], coupler["start"], axis=Z)
    system.joint("point-on-line", "joint", coupler["end"], rocker["end"], axis=Z)
    system.revolute("rocker pivot", pivots[1], rocker["start"], axis=Z)
    system.drive("crank pivot", motion)
    for name, pivot, k, J in zip(("crank", "rocker"), pivots, (0, 2), linkage.wheels or (), strict=False):
        wheel = system.add(flexmb.rigid_body(f"{name} wheel", mass=1.0, inertia=(J, J, J), points={"hub": (0, 0, 0)}), position=(at[k].real, 0, 0))  # fmt: skip
        system.revolute(f"{name} wheel", pivot, wheel["hub"], axis=Z)
        system.drive(f"{name} wheel", _opposite(motion, k))
    return system


def _opposite(motion: TimeFunction, k: int) -> TimeFunction:
    """Minus the rotation of bar `k`: that of an ideal pair of gears of ratio -1."""

    def along(t: float) -> list[float]:
        return [-float(x[0, k]) for x in angles(*(np.array([x]) for x in (START + motion.value(t), motion.rate(t), motion.acceleration(t))))]  # fmt: skip

    drawn = along(0.0)[0]
    return flexmb.time_functions.function(lambda t: along(t)[0] - drawn, lambda t: along(t)[1], lambda t: along(t)[2])


def shaking(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Force (nt,), complex, and moment (nt,) that all joints exert on the ground, about the crank's pivot."""
    force, moment = np.zeros(len(result.t), complex), np.zeros(len(result.t))
    for joint, x in (("crank pivot", 0.0), ("rocker pivot", GROUND), ("crank wheel", 0.0), ("rocker wheel", GROUND)):
        if joint in [j.name for j in result.mechanism.joints]:
            on_body = result.reaction(joint)
            force -= on_body[:, 0] + 1j * on_body[:, 1]
            moment -= on_body[:, 5] + x * on_body[:, 1]
    return force, moment


POLYNOMIAL = polynomial(0.0, 0.0, 3 * TURN / DURATION**2, -2 * TURN / DURATION**3)
"""A revolution of the crank in 4 s, from rest to rest."""


def _moved(linkage: Linkage, motion: TimeFunction, duration: float) -> tuple[np.ndarray, ...]:
    """Times, force and moment of flexmb, force and moment of the closed form, and angular accelerations."""
    result = flexmb.simulate(build(linkage, motion), duration, method="radau", tolerance=1e-11, output_step=duration / 400)  # fmt: skip
    t = np.array(result.t)
    q, v, w = angles(START + motion.over(t)[:, 0], motion.over(t)[:, 1], motion.over(t)[:, 2])
    return t, *shaking(result), *exact(linkage, q, v, w), w


def run() -> list[Row | Plot]:
    """Each linkage against its closed form, in the scale of the linkage without counterweights."""
    t, force, moment, force0, moment0, _ = _moved(UNBALANCED, POLYNOMIAL, DURATION)
    F, M = float(np.abs(force0).max()), float(np.abs(moment0).max())
    rows: list[Row | Plot] = []

    def add(what: str, kind: str, difference: np.ndarray, scale: float, allowed: float = 1e-9) -> None:
        error = float(np.abs(difference).max() / scale)
        rows.append(Row(CASE, f"{what} / the largest without balance", 0.0, kind, error, error, allowed))

    add("no counterweights: error of the shaking force", "recomputed", force - force0, F)
    add("no counterweights: error of the shaking moment", "recomputed", moment - moment0, M)
    forces = {"no counterweights": (t, np.abs(force)), "reference": (t, np.abs(force0))}
    moments = {"no counterweights": (t, moment), "reference": (t, moment0)}
    _, force, moment, _, _, w = _moved(IN_LINE, POLYNOMIAL, DURATION)
    closed = -w @ IN_LINE.kinetic_moments()
    add("counterweights: shaking force", "exact", force, F)
    add("counterweights: error of the shaking moment", "exact", moment - closed, M)
    forces["counterweights"] = (t, np.abs(force))
    moments |= {"counterweights": (t, moment), "reference, counterweights": (t, closed)}
    add("coupler with its mass centre beside the line: shaking force", "exact", _moved(OFF_LINE, POLYNOMIAL, DURATION)[1], F)  # fmt: skip
    _, force, moment, *_ = _moved(PENDULUM, POLYNOMIAL, DURATION)
    add("counter-rotating wheels: shaking force", "exact", force, F)
    add("counter-rotating wheels: shaking moment", "exact", moment, M)
    forces["and counter-rotating wheels"], moments["and counter-rotating wheels"] = (t, np.abs(force)), (t, moment)
    _, force, *_ = _moved(INEXACT, flexmb.time_functions.constant_speed(SPEED), TURN / SPEED)
    m, z, _ = INEXACT.coupler
    left = float(0.01 * m * CRANK * abs(1 - z / COUPLER) * SPEED**2)
    error = float(np.abs(np.abs(force) - left).max() / left)
    rows.append(Row(CASE, "crank's counterweight 1 % too large, 20 rad/s: shaking force (N)", left, "exact", float(np.abs(force).mean()), error, 1e-6))  # fmt: skip
    return [*rows, Plot("Shaking force", "time (s)", "N", forces), Plot("Shaking moment", "time (s)", "N m", moments)]

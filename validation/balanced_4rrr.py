"""A dynamically balanced planar manipulator of four legs (4-RRR): forces and moments on the ground for motions along its axes of symmetry, and for a motion with rotation.

V. van der Wijk, Krut, Pierrot and Herder measured a prototype ("Experimental results of a high speed dynamically balanced redundant planar 4-RRR parallel manipulator", EUROMECH Colloquium 524, 2012): with counter-masses the shaking forces fall from 300 N to 5 or 6 N at 2.6 g.
Masses and dimensions are not printed; those here are ours, with counter-masses on all links of the legs. The conditions of force balance follow from the linear momentum, in which the loop equations eliminate the directions of the outer links:
with m and p the mass and its centre of a link from its inner joint, L its length, 1 the inner and 2 the outer link of each leg, and M the platform's mass: 4 m2 p2 / L2 + M = 0 and m1 p1 + m2 L1 (1 - p2 / L2) = 0.
Motions along the axes of symmetry turn the links of opposite legs against each other, so that the shaking moment vanishes as well; with rotation it does not.

The references are the conditions (zero), the inertia force of a payload that is not balanced, and the rates of linear and angular momentum from the closed-form kinematics. The platform is driven, which is a load on the ground like the others.
"""

from dataclasses import dataclass

import numpy as np

import flexmb
from flexmb.mechanism.time_functions import TimeFunction, smooth_step
from flexmb.results.result import Result
from validation.plot import Plot
from validation.row import Row

CASE = "balanced-4rrr"
FEET = np.array([0.30 + 0.20j, -0.30 + 0.20j, -0.30 - 0.20j, 0.30 - 0.20j])
CORNERS = np.array([0.05 + 0.03j, -0.05 + 0.03j, -0.05 - 0.03j, 0.05 - 0.03j])
BRANCHES = np.array([1.0, -1.0, 1.0, -1.0])
"""Side of each knee, such that the legs are mirror images of each other."""
INNER, OUTER, COUNTER = 0.22, 0.24, 0.07
"""Lengths of the links, and distance of the counter-masses from the inner joints."""
PLATFORM, PLATFORM_INERTIA, PAYLOAD = 0.8, 0.002, 0.1
STROKE, ACCELERATION = 0.1, 2.6 * 9.81
DURATION = float(np.sqrt(10 / np.sqrt(3) * STROKE / ACCELERATION))
"""In which a quintic step of the stroke reaches the acceleration."""
Z = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Link:
    """Mass, place of its centre along the link from the inner joint, and moment of inertia about it."""

    mass: float
    centre: float
    inertia: float

    def with_counter_mass(self, moment: float) -> "Link":
        """With a point mass behind the inner joint, so that mass times centre is `moment` (negative or zero)."""
        extra = (self.mass * self.centre - moment) / COUNTER
        centre = moment / (self.mass + extra)
        inertia = self.inertia + self.mass * (self.centre - centre) ** 2 + extra * (COUNTER + centre) ** 2
        return Link(self.mass + extra, centre, inertia)


def bar(mass: float, length: float) -> Link:
    """A uniform bar."""
    return Link(mass, length / 2, mass * length**2 / 12)


def balanced() -> tuple[Link, Link]:
    """Inner and outer link that satisfy the conditions."""
    outer = bar(0.2, OUTER).with_counter_mass(-PLATFORM * OUTER / 4)
    inner = bar(0.3, INNER).with_counter_mass(-INNER * (outer.mass - outer.mass * outer.centre / OUTER))
    return inner, outer


UNBALANCED, BALANCED = (bar(0.3, INNER), bar(0.2, OUTER)), balanced()
Path = tuple[TimeFunction, TimeFunction, TimeFunction]
"""Translations and rotation of the platform."""


def rise(height: float) -> TimeFunction:
    """A step of the stroke's time."""
    return smooth_step(0.0, DURATION, height)


ALONG: dict[str, Path] = {"x": (rise(STROKE), rise(0.0), rise(0.0)), "y": (rise(0.0), rise(STROKE), rise(0.0))}
OBLIQUE: Path = (rise(0.8 * STROKE), rise(0.6 * STROKE), rise(0.4))


def angles(leg: int, corner: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> tuple[np.ndarray, ...]:
    """Angles (nt, 2) of both links of a leg with their rates and accelerations, from the motion of its corner (nt,)."""
    reach = corner - FEET[leg]
    d = np.abs(reach)
    inner = np.angle(reach) + BRANCHES[leg] * np.arccos((INNER**2 + d**2 - OUTER**2) / (2 * INNER * d))
    a = INNER * np.exp(1j * inner)
    b = reach - a

    def solved(right: np.ndarray) -> np.ndarray:
        """Real x (nt, 2) with `i a x[0] + i b x[1] = right`."""
        return np.stack([(np.conj(b) * -1j * right).imag / (a * np.conj(b)).imag, (np.conj(a) * -1j * right).imag / (b * np.conj(a)).imag], axis=-1)  # fmt: skip

    v = solved(rate)
    w = solved(acceleration + a * v[:, 0] ** 2 + b * v[:, 1] ** 2)
    return np.stack([inner, np.angle(b)], axis=-1), v, w


def exact(links: tuple[Link, Link], path: Path, t: np.ndarray, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Force (nt,), complex, and moment (nt,) about the centre on the ground: minus the rates of the momenta."""
    x, y, turn = (f.over(t) for f in path)
    P, P1, P2 = (x + 1j * y).T
    theta, theta1, theta2 = turn.T
    force, moment = -mass * P2, -mass * (np.conj(P) * P2).imag - PLATFORM_INERTIA * theta2
    for leg, corner in enumerate(CORNERS):
        c = corner * np.exp(1j * theta)
        q, v, w = angles(leg, P + c, P1 + 1j * theta1 * c, P2 + (1j * theta2 - theta1**2) * c)
        direction, second = np.exp(1j * q), 1j * w - v**2
        knee, knee2 = FEET[leg] + INNER * direction[:, 0], INNER * direction[:, 0] * second[:, 0]
        for k, (link, origin, origin2) in enumerate(zip(links, (FEET[leg] + 0 * P, knee), (0 * P, knee2), strict=True)):
            place, place2 = origin + link.centre * direction[:, k], origin2 + link.centre * direction[:, k] * second[:, k]  # fmt: skip
            force = force - link.mass * place2
            moment = moment - link.mass * (np.conj(place) * place2).imag - link.inertia * w[:, k]
    return force, moment


def build(links: tuple[Link, Link], path: Path, mass: float = PLATFORM) -> flexmb.System:
    """Legs between the ground and the driven platform; one joint of each leg leaves it to the others to hold it in the plane."""
    system = flexmb.System(name=CASE)
    J = PLATFORM_INERTIA
    platform = system.add(flexmb.rigid_body("platform", mass=mass, inertia=(J, J, J), points={"centre": (0, 0, 0)}))
    system.prescribe("path", system.ground, platform["centre"], x=path[0], y=path[1], rotation=path[2])
    for leg, (foot, corner) in enumerate(zip(FEET, CORNERS, strict=True)):
        still = np.array([corner]), np.zeros(1, complex), np.zeros(1, complex)
        first, second = angles(leg, *still)[0][0]
        knee = foot + INNER * np.exp(1j * first)
        made = []
        for name, link, at, angle in (("inner", links[0], foot, first), ("outer", links[1], knee, second)):
            body = flexmb.rigid_body(f"{name} {leg}", mass=link.mass, inertia=(link.inertia,) * 3, centre=(link.centre, 0, 0))  # fmt: skip
            made.append(system.add(body, position=(at.real, at.imag, 0), orientation=(0, 0, angle)))
        system.revolute(f"foot {leg}", system.ground, made[0], axis=Z, at=(foot.real, foot.imag, 0))
        system.revolute(f"knee {leg}", made[0], made[1], axis=Z, at=(knee.real, knee.imag, 0))
        system.joint("point-on-line", f"corner {leg}", made[1], platform, axis=Z, at=(corner.real, corner.imag, 0))
    return system


def shaking(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Force (nt,), complex, and moment (nt,) about the centre that feet and driver exert on the ground."""
    force, moment = np.zeros(len(result.t), complex), np.zeros(len(result.t))
    for joint, place in (("path", result.position("platform.centre")), *((f"foot {k}", f) for k, f in enumerate(FEET))):
        on_body = result.reaction(joint)
        x, y = place[:, :2].T if joint == "path" else (place.real, place.imag)
        force -= on_body[:, 0] + 1j * on_body[:, 1]
        moment -= on_body[:, 5] + x * on_body[:, 1] - y * on_body[:, 0]
    return force, moment


def _moved(links: tuple[Link, Link], path: Path, mass: float = PLATFORM) -> tuple[np.ndarray, ...]:
    """Times, force and moment of flexmb, force and moment of the closed form."""
    result = flexmb.simulate(build(links, path, mass), DURATION, method="radau", tolerance=1e-11, output_step=DURATION / 200)  # fmt: skip
    t = np.array(result.t)
    return t, *shaking(result), *exact(links, path, t, mass)


def run() -> list[Row | Plot]:
    """Both sets of links along the oblique path, the balanced one along the axes, and a payload."""
    rows: list[Row | Plot] = []

    def add(what: str, kind: str, difference: np.ndarray, scale: float) -> None:
        error = float(np.abs(difference).max() / scale)
        rows.append(Row(CASE, what, 0.0, kind, error, error, 1e-9))

    t, force, moment, force0, moment0 = _moved(UNBALANCED, OBLIQUE)
    F, M = float(np.abs(force0).max()), float(np.abs(moment0).max())
    add("no counter-masses, oblique: error of the shaking force / its peak", "recomputed", force - force0, F)
    add("no counter-masses, oblique: error of the shaking moment / its peak", "recomputed", moment - moment0, M)
    forces = {"no counter-masses, oblique": (t, np.abs(force)), "reference": (t, np.abs(force0))}
    moments = {"no counter-masses, oblique": (t, moment), "reference": (t, moment0)}
    _, force, moment, _, closed = _moved(BALANCED, OBLIQUE)
    add("balanced, oblique: shaking force / unbalanced peak", "exact", force, F)
    add("balanced, oblique: error of the shaking moment / unbalanced peak", "recomputed", moment - closed, M)
    forces["balanced, oblique"] = (t, np.abs(force))
    moments |= {"balanced, oblique": (t, moment), "reference, balanced": (t, closed)}
    for axis, path in ALONG.items():
        _, force, moment, *_ = _moved(BALANCED, path)
        add(f"balanced, along {axis} at 2.6 g: shaking force / unbalanced peak", "exact", force, F)
        add(f"balanced, along {axis} at 2.6 g: shaking moment / unbalanced peak", "exact", moment, M)
        forces[f"balanced, along {axis}"], moments[f"balanced, along {axis}"] = (t, np.abs(force)), (t, moment)
    _, force, *_ = _moved(BALANCED, ALONG["x"], PLATFORM + PAYLOAD)
    add("balanced, payload of 0.1 kg: error of the shaking force / its peak", "exact", force + PAYLOAD * ALONG["x"][0].over(t)[:, 2], PAYLOAD * ACCELERATION)  # fmt: skip
    return [*rows, Plot("Shaking force", "time (s)", "N", forces), Plot("Shaking moment", "time (s)", "N m", moments)]

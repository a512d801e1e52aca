"""Kane's double pendulum, whose tip strikes a floor: impulses, velocities and energies for laws of impact with friction.

Two thin unit rods hang at 18 and 30 degrees and swing with -1 and -2 rad/s; the tip arrives with 2.683 along the floor and 1.309 into it. The ten rows are those of the algebraic law of Pereira and Nikravesh (1996), recomputed: Newton's
restitution, with friction that either stops the slip or acts along that before the impact. Eight of them satisfy Coulomb's law with the slip after the impact too. In the last two, the slip reverses: Coulomb's law with Newton's restitution
then gives more energy than there was (as Kane noted), which the ledger shows; the laws of Poisson and Stronge, which follow the slip during the impact, lose energy. In space, with the plane of the pendulum turning, the algebraic law has
the direction of friction that loses most. All impacts act through the joints of a simulated mechanism.
"""

import numpy as np

import flexmb
from flexmb.contact import Plane, Sphere
from flexmb.results.result import Result
from validation.plot import Plot
from validation.row import Row

CASE = "impact-with-friction"
FIRST, SECOND = np.radians([18.0, 30.0])
INSTANT, TIP = 1e-9, 1e-9
TABLE = (
    (0.0, 0.0, -0.7758, 0.0, 0.8216),
    (0.0, 0.2, -0.7365, 0.0, 0.9686),
    (0.2, 0.2, -0.3472, 0.2618, 0.9642),
    (0.3, 0.45, -0.1140, 0.3927, 1.0719),
    (0.35, 0.59, 0.0, 0.4582, 1.1076),
    (0.4, 0.04, 0.0, 0.5236, 0.7390),
    (0.7, 0.0, 0.5594, 0.9163, 0.4190),
    (1.0, 0.0, 1.1316, 1.3090, 0.0),
    (0.5, 0.2, 0.2368, 0.6545, 0.8338),
    (0.7, 0.45, 0.6765, 0.9163, 0.8350),
)
"""Restitution, friction, tip velocity along the floor and away from it after the impact, and the energy lost."""
COULOMB = 8
"""Rows of the table that satisfy Coulomb's law with the slip after the impact."""
OTHERS = (
    (0.5, 0.2, "newton", 0.0706, 0.6545, 0.1754),
    (0.7, 0.45, "newton", 0.0, 0.9163, -2.5042),
    (0.7, 0.45, "poisson", 0.1122, 0.5614, 0.9271),
    (0.7, 0.45, "stronge", 0.1468, 0.5901, 0.8857),
)
"""Rows in which the slip reverses, by other laws; by Routh's method for those of Poisson and Stronge."""


def pendulum(restitution: float, friction: float, law: str, turning: float = 0.0) -> flexmb.System:
    """The pendulum at the instant of the impact, in a plane that turns with the rate `turning` about the vertical."""
    system = flexmb.System(gravity=(0, 0, 0), name="Kane's double pendulum")
    along = [np.array([np.sin(a), 0.0, -np.cos(a)]) for a in (FIRST, SECOND)]
    rates = [np.array([0.0, -w, turning]) for w in (-1.0, -2.0)]
    speeds = [np.cross(w, x) for w, x in zip(rates, along, strict=True)]
    rods = []
    begin, speed = np.zeros(3), np.zeros(3)
    for name, a, x, w, v in zip(("upper", "lower"), (FIRST, SECOND), along, rates, speeds, strict=True):
        rod = flexmb.rigid_body(name, mass=1.0, inertia=(1 / 12, 1 / 12, 1e-9))
        rods.append(
            system.add(rod, position=begin + 0.5 * x, orientation=(0, -a, 0), velocity=speed + 0.5 * v, angular_velocity=w)
        )  # fmt: skip
        begin, speed = begin + x, speed + v
    if turning:
        system.universal("support", system.ground.at((0, 0, 0)), rods[0], axis=(0, 0, 1), second_axis=(0, 1, 0))
    else:
        system.revolute("support", system.ground.at((0, 0, 0)), rods[0], axis=(0, 1, 0))
    system.revolute("elbow", rods[0].at((0, 0, -0.5)), rods[1], axis=(0, 1, 0), at=along[0])
    floor = Plane().on(system.ground.at(begin - [0, 0, TIP]), axis=(0, 0, 1))
    tip = Sphere(TIP).on(rods[1].at((0, 0, -0.5)))
    system.contact("tip", floor, tip, friction=friction, restitution=restitution, impact=law)  # type: ignore[arg-type]
    return system


def struck(restitution: float, friction: float, law: str) -> tuple[Result, np.ndarray]:
    """The result just after the impact, and the velocity of the tip."""
    result = flexmb.simulate(pendulum(restitution, friction, law), INSTANT, step=INSTANT)
    return result, result.velocity("lower", point=(0, 0, -0.5))[-1]


def run() -> list[Row | Plot]:
    """Velocities of the tip and energies for every row, and the impact in space."""
    rows: list[Row | Plot] = []

    def add(what: str, kind: str, reference: float, ours: float, allowed: float = 6e-5) -> None:
        rows.append(Row(CASE, what, reference, kind, ours, abs(ours - reference), allowed))

    def compare(e: float, mu: float, law: str, along: float, away: float, lost: float) -> None:
        result, tip = struck(e, mu, law)
        text = f"{law}, e {e:g}, mu {mu:g}: "
        add(f"{text}tip velocity along the floor (m/s)", "recomputed", along, float(tip[0]))
        add(f"{text}away from it (m/s)", "recomputed", away, float(tip[2]))
        add(f"{text}energy lost (J)", "recomputed", lost, float(result.ledger.impacts[-1]))
        balance = result.ledger.residual[-1] / result.ledger.kinetic[0]
        add(f"{text}energy that is not accounted for", "exact", 0.0, float(balance), 1e-7)

    for k, (e, mu, along, away, lost) in enumerate(TABLE):
        compare(e, mu, "algebraic", along, away, lost)
        if k < COULOMB:
            compare(e, mu, "newton", along, away, lost)
    for e, mu, law, along, away, lost in OTHERS:
        compare(e, mu, law, along, away, lost)
    coefficients = np.linspace(0.0, 0.8, 33)
    lines = {
        law: (coefficients, np.array([struck(0.7, mu, law)[0].ledger.impacts[-1] for mu in coefficients]))
        for law in ("poisson", "stronge", "algebraic")
    }
    rows.append(Plot("Energy lost by the tip, e = 0.7", "coefficient of friction", "energy (J)", lines))
    return rows

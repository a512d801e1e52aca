"""Steel spheres hit simply supported steel beams in the middle, with sub-impacts: Timoshenko's problem of 1913, and the beam of published measurements.

The reference is an independent solution: the modes of a simply supported Timoshenko beam in closed form, both spectra, with Hertz's law, integrated by SciPy to 1e-9.

**Timoshenko's problem.** The radius of the contact is a thirtieth of the spacing of the nodes, so that the contact is local (`flexmb.contact.LocalHertz`). Beam theory is
softer under a point load than the solid: by 0.3 % of the static deflection of the axis (a direct solution of the mesh), which is 1.4 % of Hertz's approach at the largest force. That is why the forces may differ by 2 %. The energies of the modes are compared as parts of that of the sphere: the third mode makes 1.4 oscillations during the contact, near a zero of the spectrum
of the pulse at 1.5, so that 1 % of the duration is 20 % of its small energy.

**The beam of the measurements** (Advances in Mechanical Engineering, doi 10.1177/1687814016668089 and 10.1177/1687814016683351) is 780 mm long, with a section of 60 mm by 27.8 mm, and the sphere of 70 mm is heavier than it. Only the abstracts were at hand: several sub-impacts occur, Hertz's law estimates the duration of the first one well, vibrations influence the later ones, and finite elements, elastic and plastic, agree with the
measurements. They have no numbers to compare with, and that the blow is on the side that is 60 mm wide is a reading of theirs. "Well" can be checked with the closed form of a sphere on a half-space at rest: beam theory is within 18 % of it at 0.3 to 2 m/s. Further rows compare with beam theory, and with the whole finite element model of the same mesh
(`validation/unreduced_beam.py`). Compared are the two sub-impacts of the first 0.9 ms, and the vibration that they leave.

The next ones follow from 3.5 ms on, and errors grow with each of them. In 8 ms at 1 m/s (steps of 2 microseconds), the reduced beam and the whole model have five sub-impacts, of which the first four last as long within 2 % and the fifth 0.438 and 0.354 ms; the sphere leaves with 0.870 and 0.871 m/s (beam theory: five, 0.904 m/s). At 0.3 m/s the first four are alike within 2.3 %, then the
reduced beam lacks one of 0.09 ms, which makes five instead of six (beam theory: five); the sphere leaves with 0.2385 and 0.2399 m/s (0.2390).

The largest force of this solid is 3 to 5 % above that of beam theory. No mode is missing: the whole model has the same force to 0.2 %. (40 shapes in place of 160 make the first sub-impact 2.5 % too short.) The term is the local compliance: under a static load, the solid is stiffer than beam theory by about 1.3e-9 m/N of 448e-9 m/N. The constant of the
coarse mesh, whose fit reaches the edges of the beam, is smaller than that of finer meshes by another 0.14e-9 m/N, which makes 1.6 to 3.1 % of the force in the whole model. The static difference cannot be made good by a spring, because it takes the waves time to develop: with all of it added in the whole model, the force is 10 to 17 % below that of beam theory.
"""

import numpy as np

import flexmb
from validation.plot import Plot
from validation.row import Row
from validation.struck_beam import Impact, StruckBeam
from validation.unreduced_beam import UnreducedBeam

CASE = "sphere-on-beam"
TIMOSHENKO = StruckBeam(
    young=215.8e9, poisson=0.3, density=7960.0, length=0.1535, width=0.01, height=0.01, radius=0.01,
    cells=(62, 4, 4), half_length=0.014, shapes=40, step=1e-6, end=7e-4,
)  # fmt: skip
MEASURED = StruckBeam(
    young=206e9, poisson=0.3, density=7850.0, length=0.78, width=0.06, height=0.0278, radius=0.07,
    cells=(104, 8, 4), half_length=0.0375, shapes=160, step=1e-6, end=1.2e-3,
)  # fmt: skip
SPEED = 0.01
"""Speed of the sphere in Timoshenko's problem (m/s)."""
SPEEDS = (0.3, 1.0, 2.0)
"""Speeds of the sphere on the beam of the measurements (m/s)."""
COMPARED = (1, 3)
"""Numbers of half waves of the modes whose energies are compared."""


def timoshenko() -> list[Row | Plot]:
    """Contact, rebound and modal energies of Timoshenko's problem against beam theory with Hertz's law."""
    exact, (result, ours) = TIMOSHENKO.by_beam_theory(SPEED), TIMOSHENKO.simulated(SPEED, CASE)
    energy = 0.5 * TIMOSHENKO.mass * SPEED**2
    rows: list[Row | Plot] = []

    def add(what: str, reference: float, value: float, allowed: float) -> None:
        rows.append(Row(CASE, what, reference, "recomputed", value, abs(value / reference - 1), allowed))

    add("number of sub-impacts", len(exact.spans()), len(ours.spans()), 0.0)
    for k, (their, own) in enumerate(zip(exact.spans(), ours.spans(), strict=False), 1):
        add(f"duration of sub-impact {k} (s)", their[1] - their[0], own[1] - own[0], 0.01 if k == 1 else 0.03)
    add("largest force (N)", exact.force.max(), ours.force.max(), 0.02)
    add("impulse (N s)", np.trapezoid(exact.force, exact.t), np.trapezoid(ours.force, ours.t), 0.01)
    add("speed of the rebound (m/s)", -exact.speed, -ours.speed, 0.02)
    for order in COMPARED:
        what = f"energy of the mode of {order} half waves, of that of the sphere"
        a, b = (side.energies[order] / energy for side in (exact, ours))
        rows.append(Row(CASE, what, a, "recomputed", b, abs(b - a), 0.01))
    rows.append(_energy_error("", result, energy))
    lines = {"flexmb": (1e6 * ours.t, ours.force), "reference": (1e6 * exact.t, exact.force)}
    rows.append(Plot("Force of a sphere on a beam", "time in microseconds", "force in N", lines))
    return rows


def measured(speed: float, unreduced: UnreducedBeam) -> list[Row | Plot]:
    """The first two sub-impacts on the beam of the measurements, against Hertz, beam theory and the whole model."""
    result, ours = MEASURED.simulated(speed, CASE)
    theory, whole, label = MEASURED.by_beam_theory(speed), unreduced.struck(speed), f"780 mm, {speed:g} m/s"
    energy, first = 0.5 * MEASURED.mass * speed**2, ours.spans()[0]
    rest = 2.868 * (MEASURED.mass**2 / (MEASURED.modulus**2 * MEASURED.radius * speed)) ** 0.2
    took = first[1] - first[0]
    what = f"{label}, duration of sub-impact 1 (s), Hertz at rest"
    rows: list[Row | Plot] = [Row(CASE, what, rest, "exact", took, abs(took / rest - 1), 0.2)]
    rows += _compared(f"{label}, beam theory", theory, ours, energy, (0.025, 0.03, 0.06))
    rows += _compared(f"{label}, whole finite element model", whole, ours, energy, (0.01, 0.02, 0.01))
    rows.append(_energy_error(f"{label}, ", result, energy))
    found = {"flexmb": ours, "beam theory": theory, "whole model": whole}
    lines = {name: (1e6 * impact.t, impact.force) for name, impact in found.items()}
    rows.append(Plot(f"Force of a sphere on a beam, {label}", "time in microseconds", "force in N", lines))
    return rows


def _compared(
    label: str, reference: Impact, ours: Impact, energy: float, allowed: tuple[float, float, float]
) -> list[Row | Plot]:
    """Sub-impacts, force and modal energies; `allowed` of both durations and of the largest force, relative to them."""
    rows: list[Row | Plot] = []

    def add(what: str, a: float, b: float, error: float, most: float) -> None:
        rows.append(Row(CASE, f"{label}: {what}", a, "recomputed", b, error, most))

    theirs, own = reference.spans(), ours.spans()
    add("number of sub-impacts", len(theirs), len(own), abs(len(own) - len(theirs)), 0.0)
    for k, ((a, b), (c, d)) in enumerate(zip(theirs, own, strict=False)):
        add(f"duration of sub-impact {k + 1} (s)", b - a, d - c, abs((d - c) / (b - a) - 1), allowed[min(k, 1)])
    a, b = reference.force.max(), ours.force.max()
    add("largest force (N)", a, b, abs(b / a - 1), allowed[2])
    for order in COMPARED:
        a, b = (side.energies[order] / energy for side in (reference, ours))
        add(f"energy of the mode of {order} half waves, of that of the sphere", a, b, abs(b - a), 0.01)
    return rows


def _energy_error(label: str, result: flexmb.Result, energy: float) -> Row:
    """The residual of the ledger, relative to the `energy` of the sphere."""
    error = float(np.abs(result.ledger.residual).max() / energy)
    return Row(CASE, f"{label}largest error of the energy, of that of the sphere", 0.0, "exact", error, error, 1e-3)


def run() -> list[Row | Plot]:
    """Both beams."""
    unreduced = UnreducedBeam(MEASURED)
    return [*timoshenko(), *(row for speed in SPEEDS for row in measured(speed, unreduced))]

"""An elastic bar hits a rigid wall: its nodes there have no mass, so that the force is that of the waves, at any step.

A bar of length L that moves along its axis with v hits a wall with its face. By d'Alembert, a wave of compression runs to the free end and back with the speed c, in 2 L/c; until then the force on the wall is rho c v A, and after it the bar leaves with its speed, undeformed. The bar is
reduced to nine elastic shapes along its axis (`reduction.contact_basis`), which cannot represent the front of the wave: the force errs there, and the case compares it for 0.2 < t < 1.8 L/c after the impact. Reduced bodies whose contact nodes carry mass lose energy in the impact, and have a
peak of the force that is inversely proportional to the step; here the residual compliance of the nodes takes the place of that mass.
"""

from typing import NamedTuple

import numpy as np

import fem
import flexmb
import reduction
from flexmb.contact import Plane
from validation.plot import Plot
from validation.row import Row

CASE = "bar-impact"
YOUNG, DENSITY, LENGTH, SIDE, SPEED = 2.1e11, 7850.0, 1.0, 0.1, 1.0
WAVE = float(np.sqrt(YOUNG / DENSITY))
UNIT = LENGTH / WAVE
"""The time that a wave takes along the bar."""
GAP = 0.5 * UNIT * SPEED
SHAPES = 68
"""Shapes of which nine are along the axis; the others bend and twist the bar, and rest."""


class Impact(NamedTuple):
    """Times since the impact (nt,) over L/c, forces (nt,) over rho c v A, the speed of leaving over v, and the largest error of the energy over that before."""

    t: np.ndarray
    force: np.ndarray
    leaving: float
    energy: float


def bar() -> flexmb.Body:
    """The reduced bar, without lateral contraction, so that its waves are plane."""
    mesh = fem.structured_meshes.block("hexahedron", (LENGTH, SIDE, SIDE), (100, 1, 1))
    part = fem.Model(mesh, fem.Material.isotropic(YOUNG, 0.0, DENSITY)).with_surfaces(face="x0")
    basis = reduction.contact_basis(part, SHAPES, frictionless=True)
    return flexmb.flexible_body(part, basis, name="bar", geometric_stiffness="none")


def hit(body: flexmb.Body, step: float, method: str = "generalised-alpha") -> Impact:
    """The impact with steps of `step` L/c."""
    system = flexmb.System(name="bar on a wall")
    moving = system.add(body, position=(GAP, 0, 0), velocity=(-SPEED, 0, 0))
    system.contact("wall", Plane().on(system.ground.at((0, 0, 0)), axis=(1, 0, 0)), moving.surface("face"))
    result = flexmb.simulate(system, 4 * UNIT, method=method, step=step * UNIT, output_step=max(step, 1e-3) * UNIT)
    force = result.force("wall")[:, 0] / (DENSITY * WAVE * SPEED * SIDE**2)
    total = result.ledger.total
    leaving = float(result.velocity("bar")[-1, 0] / SPEED)
    return Impact(result.t / UNIT - 0.5, force, leaving, float(np.abs(total / total[0] - 1).max()))


def run() -> list[Row | Plot]:
    """The force, the speed after the impact and the energy, with steps of L/c over 1,000 and over 4,000, and the energy-momentum scheme."""
    body = bar()
    coarse, fine = (hit(body, step) for step in (1e-3, 2.5e-4))
    inside = (coarse.t > 0.2) & (coarse.t < 1.8)
    rows: list[Row | Plot] = []

    def add(what: str, reference: float, ours: float, error: float, allowed: float) -> None:
        rows.append(Row(CASE, what, reference, "exact", ours, error, allowed))

    for name, impact in (("L/c over 1,000", coarse), ("L/c over 4,000", fine)):
        away = float(np.sqrt(((impact.force[inside] - 1) ** 2).mean()))
        add(f"force over rho c v A for 0.2 < t < 1.8, its mean and rms error (step {name})", 1.0, float(impact.force[inside].mean()), away, 0.03)  # fmt: skip
        add(f"speed after the impact over that before (step {name})", 1.0, impact.leaving, 1 - impact.leaving, 0.01)
    growth = float(fine.force.max() / coarse.force.max())
    add("largest force with a quarter of the step, over that with the step", 1.0, growth, growth - 1, 0.02)
    add(
        "largest error of the energy, with the numerical damping of generalised-alpha",
        0.0,
        coarse.energy,
        coarse.energy,
        2e-3,
    )
    kept = hit(body, 2e-3, "energy-momentum")
    add("largest error of the energy, with the energy-momentum scheme", 0.0, kept.energy, kept.energy, 1e-10)
    add("speed after the impact over that before, with this scheme", 1.0, kept.leaving, 1 - kept.leaving, 0.01)
    exact = (np.array([-0.5, 0.0, 0.0, 2.0, 2.0, 3.5]), np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0]))
    lines = {"flexmb": (coarse.t, coarse.force), "reference": exact}
    rows.append(Plot("Force on the wall over rho c v A", "time since the impact over L/c", "force", lines))
    return rows

"""A bar on three parallel cranks (Wojtyra and Fraczek): more pins than the plane needs, so that who carries the load is a question of stiffness.

Rigid, twelve pin equations have rank eleven and no pin force is unique; the smallest set of forces has thirds. With elastic cranks a load along them splits as their stiffnesses do.
"""

import numpy as np

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.analyses.mobility import least_reactions, mobility
from flexmb.linear import equilibrium
from flexmb.mechanism.attachments import BodyHandle
from validation.plot import Plot
from validation.row import Row

CASE = "parallelogram"
LENGTH, LOAD = 0.5, 300.0
Z = (0.0, 0.0, 1.0)
SIDES = (0.010, 0.0141421356, 0.010)  # of the elastic cranks' sections: the middle one is twice as stiff


def build(elastic: bool) -> tuple[flexmb.System, BodyHandle]:
    """Cranks upright, the bar pushed down in its middle; a spring in its first pin so that an equilibrium exists."""
    system = flexmb.System(name=CASE)
    bar = system.add(flexmb.uniform_rod("bar", mass=1.0, length=2.0), position=(0, LENGTH, 0))
    system.planar("plane of bar", system.ground, bar["start"], normal=Z)
    for k, side in enumerate(SIDES):
        crank = system.add(_crank(side) if elastic else flexmb.uniform_rod("crank", mass=1.0, length=LENGTH), name=f"crank {k}", position=(k, 0, 0), orientation=(0, 0, np.pi / 2))  # fmt: skip
        system.planar(f"plane {k}", system.ground, crank["start"], normal=Z)
        system.joint("point-on-line", f"foot {k}", system.ground, crank["start"], axis=Z)
        system.joint("point-on-line", f"head {k}", crank["end"], bar, axis=Z)
    system.load("push", bar.at((1.0, 0, 0)), force=(0, -LOAD, 0))
    system.joint_spring("hold", "plane 0", stiffness=1e4)
    return system, bar


def _crank(side: float) -> flexmb.Body:
    beam = fem.Beam(fem.Material.steel(), fem.Section.rectangle(side, side))
    model = fem.Model(line((0, 0, 0), (LENGTH, 0, 0), 4), beam).with_interfaces(start="start", end="end")
    return flexmb.flexible_body(model, reduction.craig_bampton(model, 4))


def _feet(system: flexmb.System) -> tuple[np.ndarray, int]:
    """Forces along the cranks at their feet, at rest, and the redundancy."""
    rest = equilibrium(system)
    result = least_reactions(rest.result)
    return np.array([result.reaction(f"foot {k}")[0, 1] for k in range(3)]), mobility(rest.mechanism).redundancy


def run() -> list[Row | Plot]:
    """Ranks and splits."""
    found = mobility(build(False)[0])
    rank = 12 - found.redundancy
    shared = sum(not found.is_unique(f"{end} {k}") for k in range(3) for end in ("foot", "head"))
    rigid, _ = _feet(build(False)[0])
    elastic, left = _feet(build(True)[0])
    stiffness = np.array(SIDES) ** 2 / np.sum(np.array(SIDES) ** 2)
    rows = [
        Row(CASE, "rank of the twelve pin equations", 11, "paper", rank, abs(rank - 11), 0),
        Row(CASE, "pins whose forces are not unique", 6, "paper", shared, abs(shared - 6), 0),
        Row(CASE, "redundant equations with elastic cranks", 0, "paper", left, left, 0),
    ]
    for k in range(3):
        rows.append(Row(CASE, f"rigid: part of the load in crank {k}", 1 / 3, "paper", rigid[k] / LOAD, abs(rigid[k] / LOAD - 1 / 3), 1e-9))  # fmt: skip
    for k in range(3):
        rows.append(Row(CASE, f"elastic: part of the load in crank {k}", stiffness[k], "exact", elastic[k] / LOAD, abs(elastic[k] / LOAD - stiffness[k]), 1e-4))  # fmt: skip
    at = np.arange(3)
    lines = {
        "rigid, least": (at, rigid / LOAD),
        "elastic": (at, elastic / LOAD),
        "reference: stiffnesses": (at, stiffness),
    }
    return [*rows, Plot("Part of the load in each crank", "crank", "part", lines)]

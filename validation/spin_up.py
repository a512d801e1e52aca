"""Spin-up of a slender beam as one reduced body: without geometric stiffness it diverges, with it the beam comes back.

Data and published result: Meijaard, "Validation of flexible beam elements in dynamics programs", Nonlinear Dynamics 9 (1996)
21-36, case 4b, after Kane, Ryan, Banerjee (1987): L 10, rho A 1.2, EI 14000, rho I 6e-4, EA 2.8e7, G A k 1e7, hub driven from rest to
6 rad/s in 15 s. Here the beam is a solid of square section with these properties (40 hex20 cells). It is also a chain of beam
elements. The tip is measured from the turning hub. References: paper -0.5739 (four elements) and residual amplitude 0.0037; recomputed -0.5740, 0.0036, and -0.363 at 10 s.
"""

from dataclasses import replace
from functools import cache

import numpy as np

import fem
import flexmb
import reduction
from fem.errors import ConvergenceError
from fem.mesh.structured_meshes import block, line
from flexmb.results.result import Result
from validation.plot import Plot
from validation.row import Row

CASE = "spin-up"
LENGTH, SIDE = 10.0, np.sqrt(0.006)
E, G = 2.8e7 / 0.006, 1e7 / (5 / 6 * 0.006)
SPEED, RISE, DURATION = 6.0, 15.0, 20.0


MATERIAL = fem.Material.isotropic(E, E / (2 * G) - 1, 200.0)


@cache
def solid() -> fem.Model:
    """The beam as a solid, its axis on x."""
    mesh = block("hexahedron20", (LENGTH, SIDE, SIDE), (40, 1, 1))
    mesh = replace(mesh, points=mesh.points - [0, SIDE / 2, SIDE / 2])
    model = fem.Model(mesh, MATERIAL, name="beam")
    return model.with_interfaces(
        hub=fem.Interface("x0", point=(0, 0, 0)), tip=fem.Interface("x1", point=(LENGTH, 0, 0))
    )


@cache
def beams(count: int) -> fem.Model:
    """The beam as `count` beam elements."""
    mesh = line((0, 0, 0), (LENGTH, 0, 0), count)
    model = fem.Model(mesh, fem.Beam(MATERIAL, fem.Section.rectangle(SIDE, SIDE)), name="beam")
    return model.with_interfaces(hub="start", tip="end")


def simulate(
    part: fem.Model, reference_frame: str | None = "hub", geometric_stiffness: str = "second-order", step: float = 2e-3
) -> Result:
    """The beam (12 fixed-interface modes) on its driven hub."""
    basis = reduction.craig_bampton(part, modes=12, reference_frame=reference_frame)
    system = flexmb.System(name=CASE)
    beam = system.add(flexmb.flexible_body(part, basis, geometric_stiffness=geometric_stiffness))
    system.revolute("hub", system.ground.at((0, 0, 0)), beam["hub"], axis=(0, 0, 1))
    system.drive("hub", flexmb.time_functions.spin_up(SPEED, RISE))
    return flexmb.simulate(system, DURATION, step=step)


def tip_deflection(result: Result) -> np.ndarray:
    """Deflection of the tip (nt, 3) seen from the turning hub."""
    axes, arm = result.axes("beam.hub"), result.position("beam.tip") - result.position("beam.hub")
    local = np.einsum("tji,tj->ti", axes, arm)
    return local - local[0]


def run() -> list[Row | Plot]:
    """Solid and beams, both body frames, and the same body without geometric stiffness."""
    rows: list[Row | Plot] = []
    lines = {}
    for name, part, frame in (
        ("solid, frame at the hub", solid(), "hub"),
        ("solid, mean axes", solid(), None),
        ("4 beams, mean axes", beams(4), None),
        ("16 beams, frame at the hub", beams(16), "hub"),
    ):
        result = simulate(part, frame)
        y = tip_deflection(result)[:, 1]
        lines[name] = (result.t, y)
        late = np.abs(y[result.t > RISE + 1]).max()
        at_ten = float(np.interp(10.0, result.t, y))
        ledger = result.ledger
        residual = float(np.abs(ledger.residual).max() / ledger.elastic.max())
        rows += [
            Row(CASE, f"{name}: extreme of the tip", -0.5740, "recomputed", y.min(), abs(y.min() / -0.5740 - 1), 5e-3),
            Row(CASE, f"{name}: residual amplitude", 0.0036, "recomputed", late, abs(late / 0.0036 - 1), 3e-2),
            Row(CASE, f"{name}: tip at 10 s", -0.363, "recomputed", at_ten, abs(at_ten / -0.363 - 1), 1e-2),
            Row(CASE, f"{name}: energy residual / largest strain energy", 0.0, "exact", residual, residual, 1e-4),
        ]
    try:
        diverged = np.abs(tip_deflection(simulate(solid(), geometric_stiffness="none"))[:, 1]).max() > 5.0
    except ConvergenceError:
        diverged = True
    lines["reference"] = (np.array([10.0]), np.array([-0.363]))
    return [
        *rows,
        Row(CASE, "without geometric stiffness it diverges", 1, "exact", diverged, 1 - diverged, 0),
        Plot("Tip of the spinning beam, seen from the hub", "time (s)", "deflection (m)", lines),
    ]

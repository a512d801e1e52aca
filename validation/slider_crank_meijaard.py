"""A slider-crank with a flexible rod (Meijaard; Chu and Pan): the first maximum of the deflection in the middle of the rod.

Crank 0.1524 m at 124.8 rad/s, steel rod of 0.3048 m and 6.35 mm, massless slider, undeformed at dead centre at the start.
"""

import numpy as np

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from validation.plot import Plot
from validation.row import Row

CASE = "slider-crank-meijaard"
CRANK, ROD, SPEED = 0.1524, 0.3048, 124.8
MATERIAL = fem.Material.isotropic(2.06843e11, 0.3, 7834.56)


def build(elements: int) -> flexmb.System:
    """The rod of beams, all of its deformation kept; the slider is a line on which the rod's end stays."""
    model = fem.Model(
        line((0, 0, 0), (ROD, 0, 0), elements),
        fem.Beam(MATERIAL, fem.Section.circle(6.35e-3), theory="euler-bernoulli"),
    )
    model = model.with_interfaces(pin="start", slider="end", middle=[elements // 2])
    rod = flexmb.flexible_body(model, reduction.craig_bampton(model, 6 * (elements - 2)), name="rod")
    system = flexmb.System(name=CASE)
    crank = system.add(flexmb.uniform_rod("crank", mass=1.0, length=CRANK))
    placed = system.add(rod, position=(CRANK, 0, 0))
    system.revolute("bearing", system.ground.at((0, 0, 0)), crank["start"], axis=(0, 0, 1))
    system.revolute("crank pin", crank["end"], placed["pin"], axis=(0, 0, 1))
    system.joint("point-on-line", "slide", system.ground.at((CRANK + ROD, 0, 0)), placed["slider"], axis=(1, 0, 0))
    system.drive("bearing", flexmb.time_functions.constant_speed(SPEED))
    return system


def deflection(elements: int) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the deflection of the middle across the line between the ends, over the rod's length."""
    result = flexmb.simulate(build(elements), 0.012, step=5e-6, output_step=2e-5)
    a, b, m = (result.position(f"rod.{name}") for name in ("pin", "slider", "middle"))
    chord = (b - a) / np.linalg.norm(b - a, axis=1)[:, None]
    off = m - a
    return np.asarray(result.t), (chord[:, 0] * off[:, 1] - chord[:, 1] * off[:, 0]) / ROD


def run() -> list[Row | Plot]:
    """Two and four elements."""
    rows: list[Row | Plot] = []
    lines = {}
    for elements, paper in ((2, 0.00973), (4, 0.00976)):
        t, d = deflection(elements)
        lines[f"{elements} elements"] = (t, d)
        size = np.abs(d)
        peak = next(size[k] for k in range(1, len(size) - 1) if size[k - 1] < size[k] >= size[k + 1] and size[k] > 5e-3)
        rows.append(Row(CASE, f"first maximum of mid-rod deflection / length, {elements} elements", paper, "paper", float(peak), abs(float(peak) - paper) / paper, 0.01))  # fmt: skip
    lines["reference: largest, 4 elements"] = (t[[0, -1]], np.full(2, 0.00976))
    return [*rows, Plot("Deflection in the middle of the rod / length", "time (s)", "deflection / length", lines)]

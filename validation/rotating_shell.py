"""The square plate of the case rotating-plate as a body of shells: its first four vibrations while it turns, against plate theory.

The same reference and the same mechanism; 24 x 24 quadrilaterals with six dofs a node, narrower towards the clamped edge. The centrifugal membrane force stiffens the motion out of the plane through the stress part of the
element's own geometric stiffness.
"""

from dataclasses import replace

import numpy as np

import fem
import flexmb
import reduction
from validation.plot import Plot
from validation.rotating_plate import MATERIAL, SIDE, SPEEDS, THICKNESS, exact, frequencies
from validation.row import Row

CASE = "rotating-shell"
CELLS = 24


def plate() -> flexmb.Body:
    """The plate as one reduced body."""
    mesh = fem.structured_meshes.sheet("quad", (SIDE, SIDE), (CELLS, CELLS))
    mesh = replace(mesh, points=mesh.points ** [1.5, 1, 1])
    model = fem.Model(mesh, fem.Shell(MATERIAL, THICKNESS)).with_interfaces(root="x0")
    return flexmb.flexible_body(model, reduction.craig_bampton(model, modes=16, reference_frame="root"), name="plate")


def run() -> list[Row | Plot]:
    """Four speeds."""
    body = plate()
    ours, reference = (np.array([f(speed) for speed in SPEEDS]) for f in (lambda s: frequencies(body, s), exact))
    rows: list[Row | Plot] = []
    for k, speed in enumerate(SPEEDS):
        for mode in range(4):
            a, b = float(reference[k, mode]), float(ours[k, mode])
            rows.append(Row(CASE, f"frequency {mode + 1} at speed {speed:g}", a, "recomputed", b, abs(b / a - 1), 5e-3))
    lines = {}
    for mode in range(4):
        lines[f"reference {mode + 1}"] = (np.array(SPEEDS), reference[:, mode])
        lines[f"frequency {mode + 1}"] = (np.array(SPEEDS), ours[:, mode])
    return [*rows, Plot("Frequencies of the plate of shells", "speed of rotation (units of the plate)", "frequency (the same)", lines)]  # fmt: skip

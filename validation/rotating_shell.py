"""The square plate of the case rotating-plate as a body of shells: its first four vibrations while it turns, against plate theory.

The same reference and the same mechanism; 24 x 24 quadrilaterals with six dofs a node, narrower towards the clamped edge. The centrifugal membrane force stiffens the motion out of the plane through the stress part of the
element's own geometric stiffness.
"""

from dataclasses import replace

import fem
import flexmb
import reduction
from validation.plot import Plot
from validation.rotating_plate import MATERIAL, SIDE, THICKNESS, compared
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
    return compared(CASE, plate(), "Frequencies of the plate of shells")

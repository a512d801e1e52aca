"""Lateral buckling of a narrow cantilever by a force at its tip, as one reduced body of 1, 2 and 4 beam elements.

Critical force 4.013 sqrt(EI GJ) / l^2 (Prandtl, Michell 1899). Ratios to it with second-order strains: Meijaard, "Validation of
flexible beam elements in dynamics programs", Nonlinear Dynamics 9 (1996) 21-36, table 1. The tip force acts through the interface's motion of
second order; the body buckles where `K - F C_y` is singular.
"""

import numpy as np
import scipy.linalg as sl

import fem
import reduction
from fem.mesh.structured_meshes import line
from validation.plot import Plot, rows_of
from validation.row import Row

CASE = "lateral-buckling"
E, G = 2.0e11, 0.8e11
SECTION = fem.Section.rectangle(0.04, 0.001)
RATIOS = {1: 1.4951, 2: 1.0690, 4: 1.0153}


def critical_force(elements: int) -> float:
    """Smallest force along y at the tip of a cantilever of unit length at which it buckles sideways."""
    beam = fem.Beam(fem.Material.isotropic(E, E / (2 * G) - 1, 7800.0), SECTION, theory="euler-bernoulli")
    part = fem.Model(line((0, 0, 0), (1, 0, 0), elements), beam).with_interfaces(root="start", tip="end")
    basis = reduction.craig_bampton(part, modes=min(6 * (elements - 1), 18), reference_frame="root")
    second = reduction.second_order(part, basis).interfaces["tip"][1]
    return float(1 / np.abs(sl.eigvals(second, np.diag(basis.eigenvalues)).real).max())


def run() -> list[Row | Plot]:
    """One, two and four elements."""
    theory = 4.013 * np.sqrt(E * SECTION.Iy * G * SECTION.J)
    rows: list[Row | Plot] = []
    for elements, reference in RATIOS.items():
        ours = critical_force(elements) / theory
        rows.append(Row(CASE, f"critical force / theory, {elements} elements", reference, "paper", ours, abs(ours - reference), 5e-4))  # fmt: skip
    at = np.array(list(RATIOS))
    lines = {
        "ours": (at, np.array([row.ours for row in rows_of(rows)])),
        "reference: Meijaard": (at, np.array(list(RATIOS.values()))),
    }
    return [*rows, Plot("Critical force / theory", "beam elements", "ratio", lines)]

"""Patches of distorted shell cells under motions of their outer nodes that stand for a membrane strain, a curvature and a transverse shear strain: the inner nodes must follow exactly.

The patch of MacNeal and Harder, "A proposed standard set of problems to test finite element accuracy", Finite Elem. Anal. Des. 1 (1985) 3-20; also bent out of its plane along a fold, with
rigid motions. Constant transverse shear without bending is in equilibrium with moments on the area: they act on the rotations inside cells (the bubble of triangles, the middle of quadrilaterals of eight nodes), and those of the nodes are held.
"""

import numpy as np

import fem
from validation import shells
from validation.plot import Plot
from validation.row import Row

CASE = "patch-tests"


def folded(kind: str) -> float:
    """Largest force of a folded, warped patch under rigid motions, relative to that of its stiffness."""
    model = shells.patch(kind)
    mesh = model.elements.mesh
    x, y, _ = mesh.points.T
    bent = np.column_stack([x, y, np.where(x > 0.1, 2 * (x - 0.1), 0.0) + 3 * (x * y)])
    part = fem.Model(fem.Mesh(bent, mesh.cells), fem.Shell(fem.Material.isotropic(1e6, 0.25, 1.0), 0.001, offset=0.002))
    R = part.rigid_body_modes(bent.mean(axis=0))
    return float(np.abs(part.K @ R).max() / (abs(part.K) @ np.abs(R)).max())


def run() -> list[Row | Plot]:
    """All kinds of cells."""
    rows: list[Row | Plot] = []
    for kind in shells.KINDS:
        for name, error in shells.patch_errors(kind).items():
            allowed = shells.TIED_BUBBLE.get(kind, 1e-8) if name == "transverse shear" else 1e-8
            rows.append(
                Row(CASE, f"{name}, {kind}: motion of the inner nodes", 1.0, "exact", 1.0 + error, error, allowed)
            )
        forces = folded(kind)
        rows.append(Row(CASE, f"rigid motion of a folded patch, {kind}: forces", 0.0, "exact", forces, forces, 1e-10))
    return rows

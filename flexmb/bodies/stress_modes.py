"""Stresses of the shapes of a flexible body: what recovers its stresses from its elastic coordinates."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fem.model import Model
from reduction.basis import Basis


@dataclass(frozen=True, eq=False)
class StressShapes:
    """Stresses `rows` (p, 6, m; xx, yy, zz, xy, yz, zx in body axes) per unit of each elastic coordinate, at `x` (p, 3) in the body frame: `nodes` (p,) of the mesh's skin, -1 at fibres of beams."""

    nodes: Int[np.ndarray, "p"]
    x: Float[np.ndarray, "p 3"]
    rows: Float[np.ndarray, "p 6 m"]


def stress_shapes(model: Model, basis: Basis) -> StressShapes:
    """Of the shapes of `basis` on `model`. Cost: gradients of m fields, once; 24 bytes a skin node and coordinate."""
    nodes, x, rows = model.stresses(np.asarray(basis.Psi))
    return StressShapes(nodes, x, rows.astype(np.float32))

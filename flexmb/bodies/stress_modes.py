"""Stresses of the shapes of a flexible body, from which its stresses follow for given elastic coordinates."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fem.model import Model
from reduction.basis import Basis


@dataclass(frozen=True, eq=False)
class StressShapes:
    """Stresses of the shapes at selected points.

    - `nodes` (p,): the nodes of the skin of the mesh; -1 for points on the fibres of beams.
    - `x` (p, 3): positions in the body frame.
    - `rows` (p, 6, m): stresses xx, yy, zz, xy, yz, zx in body axes per unit of each elastic coordinate.
    """

    nodes: Int[np.ndarray, "p"]
    x: Float[np.ndarray, "p 3"]
    rows: Float[np.ndarray, "p 6 m"]


def stress_shapes(model: Model, basis: Basis) -> StressShapes:
    """The stresses of the shapes of `basis` on `model`.

    Cost: the gradients of m fields, once, and 24 bytes for each skin node and elastic coordinate.
    """
    nodes, x, rows = model.stresses(np.asarray(basis.Psi))
    return StressShapes(nodes, x, rows.astype(np.float32))

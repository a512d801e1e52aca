"""The drawn surface of the beams of a flexible body: displacements and stresses of its shapes there."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int

from fem.model import Model
from reduction.basis import Basis


@dataclass(frozen=True, eq=False)
class BeamShapes:
    """The surface of beams, in the body frame.

    - `points` (v, 3), undeformed; `triangles` (nt, 3), seen from outside counter-clockwise.
    - `nodes` (v, 2): the nodes at the ends of the beam of a vertex; `along` (v,): its place from 0 to 1 between them.
      Displacements of second order are interpolated linearly.
    - `shapes` (3 v, m): displacements per unit of each elastic coordinate.
    - `rows` (6 v, m): stresses xx, yy, zz, xy, yz, zx in body axes per unit of each elastic coordinate.
    """

    points: Float[np.ndarray, "v 3"]
    triangles: Int[np.ndarray, "nt 3"]
    nodes: Int[np.ndarray, "v 2"]
    along: Float[np.ndarray, "v"]
    shapes: Float32[np.ndarray, "n m"]
    rows: Float32[np.ndarray, "s m"]

    def transformed(self, T: Float[np.ndarray, "m k"]) -> "BeamShapes":
        """The same surface in other elastic coordinates z, `eta = T z`, with `T` (m, k)."""
        shapes, rows = ((A @ T).astype(np.float32) for A in (self.shapes, self.rows))
        return BeamShapes(self.points, self.triangles, self.nodes, self.along, shapes, rows)


def beam_shapes(model: Model, basis: Basis) -> BeamShapes | None:
    """The surface of the beams of `model`, for the shapes of `basis`; None without beams.

    Cost: 36 bytes for each vertex and elastic coordinate; a beam has 50 vertices or more.
    """
    parts = model.beam_surfaces(np.asarray(basis.Psi))
    if not parts:
        return None
    first, m = np.cumsum([0, *(len(part.points) for part in parts)]), basis.n_modes
    return BeamShapes(
        points=np.concatenate([part.points for part in parts]),
        triangles=np.concatenate([part.triangles + start for part, start in zip(parts, first, strict=False)]),
        nodes=np.concatenate([part.nodes for part in parts]),
        along=np.concatenate([part.along for part in parts]),
        shapes=np.concatenate([part.displacements.reshape(-1, m) for part in parts]),
        rows=np.concatenate([part.stresses.reshape(-1, m) for part in parts]),
    )

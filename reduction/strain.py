"""Strain at a point of a reduced body as a linear function of the elastic coordinates."""

import numpy as np
from jaxtyping import Float

from fem.axes.limits import floats
from fem.errors import MeshError
from fem.model import Model
from fem.renamed import refuse_old_names
from reduction.basis import Basis


def strain_modes(
    model: Model, basis: Basis, point: Float[np.ndarray, "3"] | list[float] | tuple[float, ...]
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "6 m"]]:
    """The place (3,) of a strain point, and rows such that `rows @ eta` is the strain there.

    Components: xx, yy, zz, xy, yz, zx in the axes of the mesh, tensor components. The place is the quadrature point of
    a solid cell, or the fibre at a beam's Gauss point, nearest to `point` (mesh coordinates). With the second-order
    field this is the Green strain to second order, because the field compensates the quadratic part of the strain. The
    strain does not depend on the body frame. Cost: gradients of m fields.

    Raises `MeshError` when the point is not three finite coordinates.
    """
    at = floats(point)
    if at.shape != (3,) or not np.isfinite(at).all():
        raise MeshError(f"Model {model.name!r}: a strain is asked for at {point!r}; give three finite coordinates.")
    nearest, found, place = np.inf, np.zeros((3, 3, basis.n_modes)), at
    for x, H in model.gradients(basis.Psi):
        distance = np.linalg.norm(x - at, axis=1)
        k = int(distance.argmin())
        if distance[k] < nearest:
            nearest, found, place = float(distance[k]), H[k], x[k]
    E = 0.5 * (found + found.transpose(1, 0, 2))
    return place, np.stack([E[0, 0], E[1, 1], E[2, 2], E[0, 1], E[1, 2], E[2, 0]])


refuse_old_names(__name__)

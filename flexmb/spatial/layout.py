"""The layout of the configuration `q` (nq,) and the velocities `w` (nv,) of a mechanism.

Per body `q` holds position (3), quaternion (4, scalar first) and elastic coordinates (m); `w` holds velocity (3) and
angular velocity (3) in body axes, and elastic rates (m).
"""

import numpy as np
from jaxtyping import Float

from flexmb.kernels.base.data import CompiledModel
from flexmb.spatial.lie import rotation_from_quaternion


def starts_of(modes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first index of each body in `q` and in `w`, followed by the total size, for `modes` (nb,) elastic coordinates
    per body."""
    return np.concatenate([[0], np.cumsum(7 + modes)]), np.concatenate([[0], np.cumsum(6 + modes)])


def pose(flat: CompiledModel, q: Float[np.ndarray, "nq"], body: int) -> tuple[np.ndarray, np.ndarray]:
    """World position (3,) of the frame of a body and its attitude (3, 3), body to world."""
    s = flat.q_start[body]
    return q[s : s + 3], rotation_from_quaternion(q[s + 3 : s + 7])


def elastic_places(flat: CompiledModel) -> tuple[np.ndarray, np.ndarray]:
    """Indices of all elastic rates in `w` and of all elastic coordinates in `q`."""
    rates = [flat.v_start[b] + 6 + np.arange(m) for b, m in enumerate(flat.modes)]
    coordinates = [flat.q_start[b] + 7 + np.arange(m) for b, m in enumerate(flat.modes)]
    return np.concatenate(rates).astype(int), np.concatenate(coordinates).astype(int)

"""Attitudes in the usual parameters: quaternions, rotation vectors, Euler and Tait-Bryan angles.

Reference: Diebel, "Representing attitude: Euler angles, unit quaternions, and rotation vectors" (Stanford, 2006).
"""

import re
import warnings
from itertools import pairwise
from threading import Lock

import numpy as np
import scipy
from jaxtyping import Float

from flexmb.errors import GimbalLockWarning, MeasureError

FORMS = ("matrix", "quaternion", "rotation-vector")
"""Forms of an attitude besides sequences of axes."""
LOCKED = 1e-7
"""Distance of the second angle, in radians, from one at which two axes come together, below which SciPy sets the third
to zero."""
Attitudes = dict[tuple[str, str], np.ndarray]
"""The last attitudes that a simulation read, by name and form, whose turns and signs the next ones continue."""
_FILTERS = Lock()
"""Held while filters of warnings differ, which threads share."""


def attitude_as(
    axes: Float[np.ndarray, "nt 3 3"], form: str, what: str = "frame", before: np.ndarray | None = None
) -> np.ndarray:
    """Rotation matrices `axes` (nt, 3, 3), frame to world, in another form.

    - "matrix": (nt, 3, 3), unchanged.
    - "quaternion": (nt, 4), scalar first (w, x, y, z), of unit norm. The first has w >= 0; the sign of the others is
      that which makes them continuous over the stored times.
    - "rotation-vector": (nt, 3), in radians, at most half a turn long.
    - a sequence of three axes, as in `scipy.spatial.transform.Rotation`: (nt, 3) angles in radians. Capital letters are
      intrinsic rotations, about the axes of the frame as it turns ("ZYX": yaw, pitch, roll; "ZXZ": precession,
      nutation, spin); small letters are extrinsic, about the axes of the world. Angles are continuous over the stored
      times, so that the first and the third count turns.

    `before` (4,) or (3,): quaternion or angles just before the first time, which those of the first time continue.

    Warns with `GimbalLockWarning`, which names `what`, where the second angle makes the first and the third axis
    parallel, so that only their sum is determined. Raises `MeasureError` for another form.
    """
    if form == "matrix":
        return axes
    if form not in FORMS and not is_sequence(form):
        raise MeasureError(
            f"An attitude is given as {', '.join(map(repr, FORMS))} or as a sequence of three axes, such as "
            f"'ZYX' (about the axes of the frame) or 'zyx' (about those of the world), in which neighbours "
            f"differ; found {form!r}."
        )
    rotation = scipy.spatial.transform.Rotation.from_matrix(axes)
    if form == "rotation-vector":
        return rotation.as_rotvec()
    if form == "quaternion":
        p = rotation.as_quat()[:, [3, 0, 1, 2]]
        first = p[0, 0] if before is None else p[0] @ before
        turned = np.concatenate([[1.0 if first >= 0 else -1.0], np.sign((p[1:] * p[:-1]).sum(axis=1))])
        return p * np.cumprod(np.where(turned == 0, 1.0, turned))[:, None]
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Gimbal lock detected", UserWarning)
        angles = rotation.as_euler(form)
        angles = np.unwrap(angles if before is None else np.vstack([before, angles]), axis=0)[-len(axes) :]
    if _is_locked(form, angles[:, 1]):
        warnings.warn(
            f"{what!r}: the angles {form} are not unique where the second brings the axes of the first and the third "
            "together (gimbal lock): the third is set to zero there. Choose another sequence, a quaternion or a "
            "rotation vector.",
            GimbalLockWarning,
            stacklevel=3,
        )
    return angles


def _is_locked(form: str, second: Float[np.ndarray, "nt"]) -> bool:
    """Whether the second angle of a sequence makes the axes of the first and the third parallel at some time."""
    aside = np.sin(second) if form[0] == form[2] else np.cos(second)
    return bool((np.abs(aside) <= LOCKED).any())


def is_sequence(form: str) -> bool:
    """Whether `form` is a sequence of three axes whose neighbours differ."""
    return bool(re.fullmatch("[xyz]{3}|[XYZ]{3}", form)) and all(a != b for a, b in pairwise(form))

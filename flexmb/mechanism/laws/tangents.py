"""Comparison of the tangent that a law between frames gives with differences of the law."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from flexmb.errors import LawError

STEP = 1e-6
"""Step of differences, relative to the motion and to `NEAR` of its scale."""
NEAR = 1e-3
ASIDE = (0.0, 0.02, -0.013)
"""Motions at which the tangent is compared, relative to the scales, beside the initial one."""
WRONG = 1e-4
"""Error of an entry relative to the largest of its block: forces or moments by displacements, rotations, velocities or
angular velocities."""
NOISE = 1e-14
"""Rounding error of a wrench, relative to its force or moment."""
ROWS = [f"{what} {axis}" for what in ("force", "moment") for axis in "xyz"]
COLUMNS = [f"{what} {axis}" for what in ("displacement", "rotation", "velocity", "angular velocity") for axis in "xyz"]
_DIRECTIONS = np.array([0.7, -0.5, 0.6, 0.4, 0.8, -0.3, -0.6, 0.9, 0.5, 0.8, -0.4, 0.7])


def require_tangent(
    what: str,
    wrench: Callable[[np.ndarray], np.ndarray],
    tangent: Callable[[np.ndarray], np.ndarray],
    seen: Float[np.ndarray, "18"],
    length: float,
    rate: float,
) -> None:
    """Raise `LawError` when the tangent of a law differs from differences of its wrench.

    `wrench(seen)` (6,) and `tangent(seen)` (2, 6, 6) belong to relative motions near `seen`; `length` and `rate` are
    their scales. Entries at a kink, where differences forwards and backwards disagree, and motions at which the law
    fails are left out.
    """
    sizes = _sizes(length, rate)
    for aside in ASIDE:
        there = _moved(seen, aside * sizes * _DIRECTIONS)
        with np.errstate(all="ignore"):
            here = wrench(there)
            if not np.isfinite(here).all():
                continue
            own = np.concatenate(list(tangent(there)), axis=1)
            steps = STEP * (NEAR * sizes + np.abs([*there[:3], 0, 0, 0, *there[12:]]))
            ahead, behind = (_slopes(wrench, there, here, sign * steps) for sign in (1.0, -1.0))
        middle = 0.5 * (ahead + behind)
        for i in (0, 3):
            for j in range(0, 12, 3):
                block = np.s_[i : i + 3, j : j + 3]
                noise = NOISE * np.abs(here[i : i + 3]).max() / steps[j : j + 3]
                bound = WRONG * max(np.abs(own[block]).max(), np.nanmax(np.abs(middle[block]))) + noise
                smooth = np.abs(ahead[block] - behind[block]) <= bound
                wrong = smooth & ~(np.abs(own[block] - middle[block]) <= bound)
                if wrong.any():
                    r, c = np.argwhere(wrong)[0] + (i, j)
                    raise LawError(
                        f"{what}: its tangent gives {own[r, c]:.6g} for minus the derivative of {ROWS[r]} with respect "
                        f"to {COLUMNS[c]}, and differences of the law give {middle[r, c]:.6g}, at d = "
                        f"{there[:3].tolist()}, v = {there[12:15].tolist()}. Correct the tangent, or omit it."
                    )


def seems_right(
    wrench: Callable[[np.ndarray], np.ndarray],
    tangent: Callable[[np.ndarray], np.ndarray],
    seen: Float[np.ndarray, "18"],
    length: float,
    rate: float,
) -> bool:
    """Whether a tangent agrees with differences of the law along four directions at `seen`, by five evaluations.

    A wrong entry, or a kink of the law, changes the difference along the direction of its block: then `require_tangent`
    decides. The arguments are those of `require_tangent`; a motion at which the law fails is left out as there.
    """
    with np.errstate(all="ignore"):
        here = wrench(seen)
        if not np.isfinite(here).all():
            return True
        own, values = np.concatenate(list(tangent(seen)), axis=1), np.abs([*seen[:3], 0, 0, 0, *seen[12:]])
        for j, size in zip(range(0, 12, 3), _sizes(length, rate)[::3], strict=True):
            step, change = STEP * (NEAR * size + values[j : j + 3].max()), np.zeros(12)
            change[j : j + 3] = step * _DIRECTIONS[j : j + 3]
            found = (here - wrench(_moved(seen, change))) / step
            apart = np.abs(found - own[:, j : j + 3] @ _DIRECTIONS[j : j + 3])
            for i in (0, 3):
                bound = np.abs(_DIRECTIONS).min() * WRONG * np.abs(own[i : i + 3, j : j + 3]).max()
                if not (apart[i : i + 3] <= bound + NOISE * np.abs(here[i : i + 3]).max() / step).all():
                    return False
    return True


def _sizes(length: float, rate: float) -> Float[np.ndarray, "12"]:
    """Scales of displacements, rotations, velocities and angular velocities."""
    return np.repeat([length, 1.0, length * rate, rate], 3)


def _slopes(
    wrench: Callable[[np.ndarray], np.ndarray],
    seen: Float[np.ndarray, "18"],
    here: Float[np.ndarray, "6"],
    steps: Float[np.ndarray, "12"],
) -> Float[np.ndarray, "6 12"]:
    """Minus the derivatives of a wrench by differences."""
    columns = [-(wrench(_moved(seen, h * e)) - here) / h for h, e in zip(steps, np.eye(12), strict=True)]
    return np.stack(columns, axis=1)


def _moved(seen: Float[np.ndarray, "18"], change: Float[np.ndarray, "12"]) -> Float[np.ndarray, "18"]:
    """A relative motion changed by a displacement, a rotation, a velocity and an angular velocity in axes of `a`."""
    moved = seen.copy()
    moved[:3] += change[:3]
    angle = float(np.linalg.norm(change[3:6]))
    if angle > 0:
        x, y, z = change[3:6]
        N = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) / angle
        R = np.eye(3) + np.sin(angle) * N + 2 * np.sin(0.5 * angle) ** 2 * N @ N
        moved[3:12] = (R @ seen[3:12].reshape(3, 3)).ravel()
    moved[12:] += change[6:]
    return moved
